"""What the guarantees reach: linear classes, other anchors, many actions, smoothness, convexity."""

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax

from gladius.validate import Array
from proofs_checks.claims.claims import (
    CheckResult,
    assumed,
    at_least,
    at_most,
    claim,
    equal,
    weakest,
)
from proofs_checks.claims.instances import DISCOUNTS, MILD, VALUES, distributions, quarters, tables
from proofs_checks.claims.under_check import EPS
from proofs_checks.sections.experiments import ASYMPTOTIC, _bounds

# --- fitted value iteration in one linear feature: phi (S,), moves (S, S), weights (S,) of the fit
Fit = namedtuple("Fit", "phi moves weights discount")


@st.composite
def fits(draw: st.DrawFn) -> Fit:
    states = draw(st.integers(1, 4))
    whole = st.integers(-3, 3).filter(bool).map(float)
    moves = draw(distributions((states, states), self_loops=True))
    weights = draw(distributions((states,)))
    return Fit(draw(tables(states, whole)), moves, weights, draw(DISCOUNTS))


def _factor(fit: Fit) -> float:
    """By what one fit of theta to r + beta P phi theta multiplies the error of theta."""
    ahead = fit.phi * (fit.moves @ fit.phi)
    return float(fit.discount * abs(fit.weights @ ahead) / (fit.weights @ fit.phi**2))


WEIGHTS = "rounding of sums of at most four terms, over weights that add up to one"


def stable_on_policy(fit: Fit, power: int = 1) -> CheckResult:
    r"""With $V$ linear in one feature, one fit multiplies the error of $\theta$ by a factor. It is
    at most $\beta$ where the states are weighted by an invariant distribution of the moves. With
    other weights it may exceed 1, and then the iteration diverges, as the footnote of Section 2
    says.

    Decided: by Cauchy and Schwarz, and Jensen, $|\langle \phi, P \phi \rangle| \leqq |\phi|^2$ in
    $L_2$ of an invariant distribution. Measured with the mean of the first $2^{20}$ distributions
    from the drawn one.
    """
    mean, moves = fit.weights, fit.moves
    for _ in range(20):  # the mean over 1, 2, 4, ... periods
        mean, moves = (mean + mean @ moves) / 2, moves @ moves
    spread = float(fit.phi @ fit.phi) / float(mean @ fit.phi**2)
    tolerance = 4e-6 * spread  # the mean of n distributions moves by 2/n at most
    return at_most(_factor(fit._replace(weights=mean)), fit.discount**power, tolerance, WEIGHTS)


def _two_states(discount: float = 0.95) -> Fit:
    fit = Fit(np.array([1.0, 2.0]), np.array([[0.0, 1.0], [0.0, 1.0]]), np.full(2, 0.5), discount)
    assumed(fit.weights.min() > 0, "every state is fitted; r = phi - beta P phi has V = phi")
    return fit


@claim.imprecise(
    "related.linear-exception",
    instances=fits(),
    counterexample=_two_states,
    text=(
        r"Two states, features 1 and 2, both lead to the second, $r = \phi - \beta P \phi$: $V = "
        r"\phi$ is linear.",
        r"A fit with equal weights takes $\theta$'s error $e$ to $\beta (1 \times 2 + 2 \times "
        r"2) e / (1 + 4) = 1.2 \beta e$.",
        r"At $\beta = .95$ the error grows by {observed:.2f} a step; stable is at most "
        "{bound:.0f}.",
    ),
    corrected=stable_on_policy,
    broken="beta^2 in place of beta",
    rejected={"power": 2},
    rejected_at=lambda: Fit(np.ones(1), np.ones((1, 1)), np.ones(1), 0.5),
)
def linear_is_stable(fit: Fit) -> CheckResult:
    """Approximation with dynamic programming is unstable "except when the value function is linear
    in state": fitted value iteration in a linear class that holds $V$ does not diverge.

    Where: Section 2, "combining approximation with dynamic programming induces unstable convergence
    except when the value function is linear in state"; the note under Table 1.

    Assumes: one action, realizability, all states fitted, exact expectations.

    Decided: the sentence reports other work, and nothing rests on it. Tsitsiklis and Van Roy's
    example. The paper's own footnote in Section 2 quotes that fitted methods "can diverge even
    when" the class is linear, of dimension 1, and realizable.
    """
    return at_most(_factor(fit), 1.0, 1e-12, WEIGHTS)


# --- what a known mean of the rewards of a state identifies
Known = namedtuple("Known", "moves weights discount")  # (A, S, S), (S, A)


@st.composite
def knowns(draw: st.DrawFn) -> Known:
    states, actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    moves = draw(distributions((actions, states, states), self_loops=True))
    return Known(moves, draw(distributions((states, actions))), draw(DISCOUNTS))


def _equations(given: Known) -> Array:
    """(S, S) by what the known means of r = V + log pi* - beta P V depend on V."""
    sums = np.diag(given.weights.sum(axis=1))
    moves = np.einsum("sa,ast->st", given.weights, given.moves)
    return np.asarray(sums - given.discount * moves)


ELIMINATION = "rounding of singular values of a matrix with entries up to 2"


def any_mean_identifies(given: Known, sign: int = 1) -> CheckResult:
    r"""The anchor assumption is sufficient. So is any known mean $\sum_a k(a \mid s) r(s, a)$ with
    weights $k \geq 0$ that add up to one: no singular value of the equations for $V$ is below $(1 -
    \beta)/\sqrt{|S|}$. An anchor is the case of one action.

    Decided: $V + \log \pi^* - \beta P V$ is $r$, so the means are $(I - \beta P_k) V$ plus what is
    known, and $|(I - \beta P_k) x|_{\max} \geq (1 - \beta)|x|_{\max}$.
    """
    weights = given.weights * np.where(np.arange(given.weights.shape[1]) % 2, sign, 1)
    singular = np.linalg.svd(_equations(given._replace(weights=weights)), compute_uv=False)
    floor = (1 - given.discount) / np.sqrt(len(singular))
    return at_least(singular.min(), floor, 100 * EPS, ELIMINATION)


def _even() -> Known:
    return Known(np.ones((2, 1, 1)), np.array([[0.5, 0.5]]), 0.5)


@claim.imprecise(
    "related.necessitates-anchor",
    instances=knowns(),
    counterexample=_even,
    text=(
        r"One state, two actions, $\beta = 1/2$; the mean of the two rewards is known, neither "
        "reward is.",
        r"The choices give $r_0 - r_1 = \log \pi^*_0 - \log \pi^*_1$, and the mean gives the "
        "rest.",
        "Dimensions left open: {observed:.0f}, and not {bound:.0f} or more.",
    ),
    corrected=any_mean_identifies,
    broken="weights of both signs that add up to zero",
    rejected={"sign": -1},
)
def needs_an_anchor(given: Known) -> CheckResult:
    r"""Exact identification of $r$ "necessitates a strong anchor action assumption". (Our reading,
    to the letter: with another linear restriction on the rewards of each state it is not
    identified.)

    Where: Section 2, second paragraph.

    Assumes: $P$, $\beta$ and $\pi^*$ known; the restriction is a known mean of $r(s, \cdot)$, of
    two actions or more.

    Decided: the rank of the equations for $V$. Some restriction is needed, and the anchor is one of
    many. A known mean is a normalisation of the anchor's kind, which the sentence may include.
    """
    several = (given.weights > 0).sum(axis=1).max() > 1
    assumed(several, "the restriction is not an anchor's")
    unknown = len(given.moves[0]) - np.linalg.matrix_rank(_equations(given))
    return at_least(unknown, 1.0, 0, "a number of dimensions")


# --- many actions: pi uniform, p off it by a step for one half of the actions
Tilt = namedtuple("Tilt", "actions step constant")


def tilts() -> st.SearchStrategy[Tilt]:
    sizes = st.sampled_from([2, 4, 10, 100, 1000])
    return st.builds(Tilt, sizes, st.floats(0.1, 2) | st.floats(-2, -0.1), st.just(0.01))


def _sides(tilt: Tilt) -> tuple[float, float, float]:
    """|p - pi|^2, KL(pi || p) and the least p."""
    logits = np.where(np.arange(tilt.actions) % 2, tilt.step, 0.0)
    log_p = logits - logsumexp(logits)
    square = float(((softmax(logits) - 1 / tilt.actions) ** 2).sum())
    return square, float(-np.log(tilt.actions) - log_p.mean()), float(np.exp(log_p.min()))


SUMS = "rounding of sums of up to 1,000 terms below log 1,000 + 2"


def constant_falls_with_actions(tilt: Tilt, power: float = 1.0) -> CheckResult:
    r"""At the uniform $\pi$ the constant of $|p - \pi|^2/2 \geq c \mathrm{KL}(\pi \| p)$ is at
    least $p_-/2$, and at most $1/|A|$ in the limit $p \to \pi$. So it falls to zero as $|A|$ grows,
    and with it the constants of Lemma NLL_PL and Theorem bothPL. They say nothing of infinite
    action spaces.

    Decided: Lemma NLL_PL's inequality $\mathrm{KL} \leq |p - \pi|^2/p_-$, and the second derivative
    of KL at $\pi$, which is $\pi$. Measured at steps of both signs, half of the actions together.
    """
    square, divergence, least = _sides(tilt)
    near, small, _ = _sides(tilt._replace(step=1e-3))
    return weakest(
        at_least(square, least**power * divergence, 1e-12, SUMS),
        # by Taylor: of the order of the step, 1e-3, and rounding of KL, 1e-13 / 1e-7
        at_most(near / (2 * small), 1.002 / tilt.actions, 1e-5, SUMS),
    )


@claim.does_not_hold(
    "intro.infinite-actions",
    instances=tilts(),
    counterexample=lambda: Tilt(1000, 1.0, 0.01),
    text=(
        r"1,000 actions, $\pi$ uniform, $p$ with log-odds 1 for one half: $|p - \pi|^2/2$ is "
        "{observed:.1e}.",
        r"$c \mathrm{{KL}}(\pi \| p)$ with $c = 1/100$ is {bound:.1e}, which is larger.",
        r"For any $c > 0$ take enough actions: the ratio is at most $1/|A|$ as $p$ nears $\pi$.",
    ),
    corrected=constant_falls_with_actions,
    broken="the root of p_- for p_-",
    rejected={"power": 0.5},
    inferred='Section 1 hopes to reach "infinitely large" action spaces, '
    "and Sections 3 and 6 assume finite ones",
)
def constant_for_all_actions(tilt: Tilt) -> CheckResult:
    r"""The guarantees cover infinite action spaces: some $c > 0$ has $|p - \pi|^2/2 \geq c
    \mathrm{KL}(\pi \| p)$ for every number of actions.

    Where: Section 1, "where the state and action space are infinitely large"; Section 9,
    "infinite-size state and action spaces". Section 3 has a finite action space.

    Assumes: $\pi$ uniform, $|\log p(a) - \log p(b)| \leq 2$.

    Decided: at the uniform $\pi$, whose least probability is $1/|A|$.
    """
    square, divergence, _ = _sides(tilt)
    return at_least(square / 2, tilt.constant * divergence, 1e-15, SUMS)


# --- the smoothness of f-hat_N in both blocks, at one anchor observation (s, 0, s'): Q at s and s'
# along one parameter by value, slope and bend (3, 2, A); r; zeta
Bend = namedtuple("Bend", "table reward zeta discount")


@st.composite
def bends(draw: st.DrawFn) -> Bend:
    table = draw(tables((3, 2, draw(st.integers(1, 3))), MILD))
    return Bend(table, draw(MILD), draw(VALUES), draw(DISCOUNTS))


def _second(point: Bend) -> tuple[Array, float, float, float, float]:
    """The Hessian (2, 2) of f-hat_N in (theta, zeta), and B, B_2, |Psi|, |V - zeta|."""
    p = softmax(point.table[0], axis=1)
    v = logsumexp(point.table[0], axis=1)
    slope, mean = (p * point.table[1]).sum(1), (p * point.table[2]).sum(1)
    curve = mean + (p * (point.table[1] - slope[:, None]) ** 2).sum(1)
    q, dq, d2q = point.table[:, 0, 0]
    beta, off = point.discount, v[1] - point.zeta
    error = point.reward + beta * v[1] - q
    td = 2 * (beta * slope[1] - dq) ** 2 + 2 * error * (beta * curve[1] - d2q)
    theta = curve[0] - d2q + td - 2 * beta**2 * (slope[1] ** 2 + off * curve[1])
    mixed = 2 * beta**2 * slope[1]
    hessian = np.array([[theta, mixed], [mixed, -2 * beta**2]])
    b, b2 = (float(np.abs(point.table[i]).max()) for i in (1, 2))
    return hessian, b, b2, abs(float(error)), abs(float(off))


def _block(beta: float, b: float, b2: float, m: float) -> float:
    return 2 * b2 + b**2 + 2 * (1 + beta) ** 2 * b**2 + 2 * m * ((1 + beta) * b2 + beta * b**2)


TERMS = "rounding of a sum of ten terms, each at most the bound"


def joint_bound(point: Bend, corrections: float = 1.0) -> CheckResult:
    r"""The Hessian of $\hat f_N$ in $(\theta, \phi)$ is at most $L_\theta + 2 \beta^2 (B^2 + Z (B_2
    + B^2)) + 2 \beta^2 (B + 1)$. Here $L_\theta$ is the corrected one of Lemma lipsSmooth, $|V_Q -
    \zeta| \leq Z$, and $\zeta$ is a parameter itself. Lemma lipsSmooth bounds the profile, where
    $\zeta$ is the mean of $V_Q$.

    Decided: block by block. The correction term $-\beta^2 (V - \zeta)^2$ adds its own second
    derivatives, and the mixed block has $2 \beta^2 \nabla V$. Measured along one parameter.
    """
    hessian, b, b2, m, z = _second(point)
    beta = point.discount
    extra = 2 * beta**2 * (b**2 + z * (b2 + b**2)) + 2 * beta**2 * (b + 1)
    bound = _block(beta, b, b2, m) + corrections * extra
    return at_most(np.linalg.norm(hessian, 2), bound, 1e-12 * (1 + bound), TERMS)


def _far_zeta(zeta: float = 100.0) -> Bend:
    table = np.array([[[0.0, 0.0]] * 2, [[1.0, -1.0]] * 2, [[0.0, 0.0]] * 2])
    return Bend(table, -0.5 * np.log(2.0), zeta, 0.5)


@claim.does_not_hold(
    "prop:linConvergence.joint-smoothness",
    instances=bends(),
    counterexample=_far_zeta,
    text=(
        r"Two actions, $Q(s, \cdot) = Q(s', \cdot) = (\theta, -\theta)$, $\beta = 1/2$, $r = "
        r"-\beta \log 2$, one observation $(s, 0, s')$: $B = 1$, $B_2 = 0$, and $\Psi = 0$ at "
        r"$\theta = 0$.",
        r"There $V'' = 1$, and $\zeta = 100$ adds $-2 \beta^2 (V - \zeta) V'' = 50$ to the "
        r"Hessian of $\hat f_N$.",
        "It is {observed:.1f}; the two constants of Lemma 30, corrected, add up to {bound:.1f}.",
    ),
    corrected=joint_bound,
    broken="without the terms of the correction beta^2 (V - zeta)^2",
    rejected={"corrections": 0.0},
    inferred='Theorem linConvergence calls $L$ "the smoothness constant of the empirical '
    "objective\"; the appendix bounds the profile's blocks alone",
)
def blocks_are_enough(point: Bend) -> CheckResult:
    r"""The constants of Lemma lipsSmooth bound the Hessian of $\hat f_N$ in $(\theta, \phi)$
    jointly, for all $\zeta$ in the ball: it is at most $L_\theta + L_\zeta$.

    Where: Theorem linConvergence, "$L$ is the smoothness constant of the empirical objective", and
    the cited conditions, which ask for joint smoothness of $\hat f_N$.

    Assumes: $|\Psi| \leq M$, $|\nabla Q| \leq B$, $|\nabla^2 Q| \leq B_2$ at the point; $\zeta$ is
    a parameter itself; the constants as we correct them (E24, E25).

    Decided: by the second derivatives at one observation. The ball of $\zeta$ is compact, so that
    some joint constant exists, and the theorem may mean it. Only its size is open.
    """
    hessian, b, b2, m, _ = _second(point)
    bound = _block(point.discount, b, b2, m) + 2 * point.discount**2
    return at_most(np.linalg.norm(hessian, 2), bound, 1e-12 * (1 + bound), TERMS)


# --- convexity: the Q-block at one state, Q = (0, t), one observation of the first action, at t = 0
Dip = tuple[float, float]  # beta, Psi below -(beta + 1 / (2 beta))


@st.composite
def dips(draw: st.DrawFn) -> Dip:
    beta = draw(st.floats(0.1, 0.999))
    return beta, -(beta + 1 / (2 * beta)) - draw(st.floats(0, 50))


def _dip_risk(t: complex, beta: float, psi: float) -> complex:
    v = np.log(1 + np.exp(t))
    return complex(v + (psi + beta * (v - np.log(2.0))) ** 2)


@claim.holds(
    "sec:GlobalConv.nonconvex",
    instances=dips(),
    broken="a convex point, Psi = 0",
    rejected={"share": 0.0},
    rejected_at=lambda: (0.5, -4.0),
)
def q_block_is_not_convex(dip: Dip, share: float = 1.0) -> CheckResult:
    r""" "The $Q$-block is generally nonconvex because of the Bellman residual term": the profile of
    $\hat f_N$ has points of negative curvature in tables $Q$.

    Where: Section 6, first paragraph.

    Assumes: one state, two actions, one anchor observation.

    Decided: along $Q = (0, t)$ the curvature at $t = 0$ is $1/4 + \beta^2/2 + \beta \Psi/2$. It is
    negative for $\Psi < -(\beta + 1/(2 \beta))$. Measured by a second difference of complex steps.
    """
    beta, psi = dip[0], share * dip[1]
    turn = 1e-3 * np.exp(0.25j * np.pi)  # whose square is 1e-6 i
    curvature = (_dip_risk(turn, beta, psi) + _dip_risk(-turn, beta, psi)).imag * 1e6
    tolerance = 1e-9 * (1 + psi**2)
    why = "1e-12 times a sixth derivative, and rounding of squares of Psi over 1e-6"
    return weakest(
        at_most(curvature, 0.0, tolerance, why),
        equal(curvature, 0.25 + beta**2 / 2 + beta * psi / 2, tolerance, why),
    )


# --- PL and strong convexity: x'Ax/2 with whole numbers, at a point
Bowl = namedtuple("Bowl", "root point")  # A = root root' + 1


@st.composite
def bowls(draw: st.DrawFn) -> Bowl:
    size = draw(st.integers(1, 3))
    root = draw(tables((size, size), st.integers(-3, 3).map(float)))
    return Bowl(root, draw(tables(size, st.integers(-5, 5).map(float))))


@claim.holds(
    "abstract.weaker-than-strong-convexity",
    instances=bowls(),
    broken="four times the constant",
    rejected={"times": 4},
    rejected_at=lambda: Bowl(np.zeros((1, 1)), np.ones(1)),
)
def strong_convexity_gives_pl(bowl: Bowl, times: int = 1) -> CheckResult:
    r"""The PL condition is weaker than strong convexity. A $\mu$-strongly convex $f$ is $\mu$-PL,
    and $y^2$ on the plane is PL and not strongly convex.

    Where: Abstract and Section 9.

    Assumes: $f$ differentiable, with a minimum.

    Decided: derived for any $f$. Measured on quadratic forms with $\mu = 1$, in exact whole
    numbers, and on $(x, y) \to y^2$ plus $\mu = 2$.
    """
    matrix = bowl.root @ bowl.root.T + np.eye(len(bowl.root))
    slope = matrix @ bowl.point
    value = float(bowl.point @ slope) / 2
    y = float(bowl.point[0])
    return weakest(
        at_least(float(slope @ slope) / 2, times * value, 0, "whole numbers and halves"),
        equal((2 * y) ** 2 / 2, 2 * y**2, 0, "whole numbers"),
    )


# --- realizability at the evaluations of the sample, and d* (S,)
Seen = namedtuple("Seen", "visits seen gap")  # gap (S,): Q_theta - Q* at the best theta for these


@st.composite
def seens(draw: st.DrawFn) -> Seen:
    states = draw(st.integers(1, 5))
    seen = draw(st.lists(st.booleans(), min_size=states, max_size=states).map(np.array))
    gap = np.where(seen, 0.0, draw(tables(states, quarters(8))))
    return Seen(draw(distributions((states,))), seen, gap)


def _distance(seen: Seen) -> float:
    return float(np.sqrt(seen.visits @ seen.gap**2))


NORM = "a sum of five squares of quarters"


def realizable_where_it_counts(seen: Seen, power: int = 1) -> CheckResult:
    r"""Lemma erm_ddc_quant_identification and Theorem distributional_q_bound compare with $Q^*$ in
    $L_2(d^*)$. They need $Q_\theta = Q^*$ for $d^*$-almost every $s$, not at the evaluations alone.
    Where it fails off the sample, the squared distance is at most the share of the states not seen,
    times the largest squared gap. Theorem bothPL needs no realizability at all.

    Decided: the two statements name $L_2(d^*)$; Theorem bothPL compares with the least empirical
    risk.
    """
    share = float(seen.visits[~seen.seen].sum())
    bound = share**power * float(np.abs(seen.gap).max()) ** 2
    return at_most(_distance(seen) ** 2, bound, 1e-12, NORM)


@claim.holds_if(
    "asmp:realizability.evaluations",
    condition=r"the sample's states carry $d^*$, or $Q_\theta = Q^*$ for $d^*$-almost every $s$",
    instances=seens(),
    counterexample=lambda: Seen(
        np.array([0.5, 0.5]), np.array([True, False]), np.array([0.0, 1.0])
    ),
    text=(
        "Two states, each with share 1/2 of $d^*$; the sample holds the first.",
        "The class has one member: $Q^*$ at the first state, $Q^* + 1$ at the second. It is "
        "exact at all evaluations.",
        "Its distance from $Q^*$ in $L_2(d^*)$ is {observed:.3f}, not {bound:.0f}.",
    ),
    corrected=realizable_where_it_counts,
    broken="the square of the share",
    rejected={"power": 2},
)
def realizable_at_evaluations(seen: Seen) -> CheckResult:
    r"""Assumption realizability "is used below only through the empirical evaluations generated by
    the observed continuous-state sample". So, given it there, some $\theta$ has $|Q_\theta - Q^*| =
    0$ in the norm of Theorem distributional_q_bound.

    Where: Section 6.1, after Assumption realizability.

    Assumes: $Q_\theta = Q^*$ at all evaluations of the sample, for some $\theta$.

    Decided: at evaluations nothing is said of $Q_\theta$ elsewhere. As the sample grows, the share
    of the states not seen falls, and for a compact class both readings meet.
    """
    return at_most(_distance(seen), 0.0, 0, NORM)


# --- why oracles do not win
def oracle_is_more_accurate(trajectories: int, oracle: str = "known_p_both") -> CheckResult:
    """The least expected MAPE of a regular estimator that knows $P$ and the linear form is small.
    It is less than half of that of one that knows neither, under the same imbalance. So the
    imbalance makes no efficient oracle less accurate than an efficient estimator without its
    knowledge.

    Decided: the same efficiency bounds as for Table 2 (text.below-the-bound), to first order, with
    the paper's design and $d^*$. They scale alike in $N$. The printed numbers are single columns.
    """
    bounds = _bounds(0.8 * trajectories)
    return at_most(2 * getattr(bounds, oracle)[0], bounds.tabular[0], 1e-6, ASYMPTOTIC)


@claim.does_not_hold(
    "text.why-oracles-lose",
    instances=st.sampled_from([50, 250, 500, 1000, 2500, 5000]),
    counterexample=lambda: 1000,
    text=(
        "1,000 trajectories, of which 800 train, in the paper's design, so with its imbalance.",
        "Least first-order expected MAPE of an estimator that knows $P$ and the linear form: "
        "{observed:.3f} %.",
        "Of one that knows neither: {bound:.3f} %.",
    ),
    corrected=oracle_is_more_accurate,
    broken="an intercept for maintenance is free too",
    rejected={"oracle": "affine_known_p"},
    rejected_at=lambda: 1000,
    inferred='Section 7.3 calls the imbalance "the main reason"; whether it can be one for '
    "efficient estimators is our question",
)
def imbalance_hurts_oracles(trajectories: int) -> CheckResult:
    """Let a few states be visited much more often than others. Then an efficient estimator that
    knows $P$ and the linear form of $r$ is less accurate than one that knows neither.

    Where: Section 7.3, "why do the Oracle baselines ... not beat our approach? The main reason for
    this is the imbalance of state-action distribution".

    Assumes: the paper's design; both estimators regular, trained on the same split.

    Decided: by the bounds of both. Neither oracle of the paper projects on a class with respect to
    visits, as the quotation there supposes: both maximise a likelihood with two parameters.
    """
    bounds = _bounds(0.8 * trajectories)
    return at_least(bounds.known_p_both[0], bounds.tabular[0], 1e-6, ASYMPTOTIC)
