"""Section 6.2, Global convergence: the profile, strong concavity, stepsizes, the rate."""

from collections import namedtuple
from functools import cache

import numpy as np
from hypothesis import strategies as st

from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims import under_check
from proofs_checks.claims.claims import CheckResult, assumed, at_least, at_most, claim, weakest
from proofs_checks.claims.instances import empirical, full_samples, one_state, tables, tightest
from proofs_checks.oracle import descent as steps
from proofs_checks.oracle import polyak as oracle

# A data set, outputs q (X, A), features (B, d) of the anchor pairs and two phi (d,).
Auxiliary = namedtuple("Auxiliary", "sample q features phi other")


@st.composite
def auxiliaries(draw: st.DrawFn) -> Auxiliary:
    data = draw(empirical(3, 2))
    pairs, width = len(data.sample.be_states), draw(st.integers(1, 4))
    shapes = ((pairs, width), (width,), (width,))
    drawn = (draw(tables(shape, st.integers(-3, 3))) for shape in shapes)
    return Auxiliary(data.sample, data.q, *drawn)


def _midpoint(
    regression: Auxiliary, modulus: float, apart: float, level: bool = False
) -> CheckResult:
    """How far f-hat_N at the midpoint is above its mean at the ends, against modulus/8 apart; with
    `level` that mean is added to both sides, which then depend on Q.
    """
    sample, q, features, *ends = regression
    zeta = np.stack([*ends, sum(ends) / 2]) @ features.T
    spread = under_check.risk_at_anchors(sample, q, zeta).deviation
    first, second, middle = (0.0 - sample.discount**2 * x for x in spread)
    mean, rise = (first + second) / 2, modulus / 8 * apart
    return at_least(
        middle if level else middle - mean,
        mean + rise if level else rise,
        100 * under_check.EPS * (1 + max(spread) + apart),
        "100 eps times the squares that are added up",
    )


def concave_in_outputs(regression: Auxiliary, over_all_rows: bool = True) -> CheckResult:
    r"""For fixed $\theta$, $\hat f_N$ is $2 \beta^2 \min_j m_j / N$ strongly concave in the outputs
    of $\zeta$ at the anchor pairs. In $\phi$ it is PL with $\rho = \mu_\zeta$ times that. It is
    $\rho$-strongly concave in $\phi$ if $\phi \to$ outputs is affine with $\dim \phi = G$. It is
    not if $\dim \phi > G$ and some $\phi$ in the ball fits the means. Read $\rho$ in the bound as
    the PL constant, or assume the affine case.

    Decided: $-(\beta^2) \sum_j (m_j / N) (\zeta_j - \text{mean})^2$ plus a constant: the midpoint
    inequality with the library's term on every instance, in the outputs, and in $\phi$ where the
    features are square; with equality where one pair occurs. At a fit the Hessian in $\phi$ is zero
    on the kernel of $J_\zeta$. PL is Lemma zeta_empirical_pl.
    """
    sample, apart = regression.sample, regression.features @ (regression.phi - regression.other)
    modulus = oracle.strong_concavity(sample) / (1 if over_all_rows else oracle.share(sample))
    results = [_midpoint(regression, modulus, float(apart @ apart))]
    if regression.features.shape[0] == regression.features.shape[1]:
        results.append(strong_concavity(regression))
    return weakest(*results)


def _one_pair_two_parameters() -> Auxiliary:
    sample = one_state([1], discount=0.95)
    features = np.ones((1, 2))
    assumed(np.linalg.eigvalsh(features @ features.T)[0] >= 2, "(iii): J J' >= 2 I_G")
    return Auxiliary(sample, np.zeros((1, 1)), features, np.zeros(2), np.array([1.0, -1.0]))


@claim.misprint(
    "prop:linConvergence.strong-concavity",
    instances=auxiliaries(),
    counterexample=_one_pair_two_parameters,
    text=(
        r"One pair, $\zeta = \phi_1 + \phi_2$: $J = (1, 1)$, $J J' = 2$, so (iii) holds with "
        r"$\mu = 2$.",
        r"Along (1, -1), $\zeta$ does not move: $f$ is constant there.",
        r"The midpoint of $\phi = 0$ and (1, -1) gains {observed:.1f} on the ends' mean; $\rho$ "
        r"asks for $(\rho/8)|(1, -1)|^2 = \rho/4 > 0$, {bound:.4f} for $\rho = 2 \beta^2 \mu = 4 "
        "(.95)^2$.",
    ),
    corrected=concave_in_outputs,
    broken="the smallest weight taken as m_j / N_BE, f-hat_N dividing by N",
    rejected={"over_all_rows": False},
    rejected_at=lambda: Auxiliary(
        one_state([1, 1], discount=0.9), np.zeros((1, 2)), np.ones((1, 1)), np.zeros(1), np.ones(1)
    ),
)
def strong_concavity(regression: Auxiliary) -> CheckResult:
    r"""Under (iii) $\hat f_N(\theta, \cdot)$ is $\rho$-strongly concave in $\phi$ for some $\rho >
    0$, the $\rho$ that divides $L$ in the bound of Theorem linConvergence.

    Where: Theorem linConvergence: "$\rho$ is the strong-concavity constant of the auxiliary
    regression problem", in $(1 + L/\rho) G \epsilon$.

    Assumes: Assumption nonSingularJac (iii), $J_\zeta J_\zeta' \geq \mu_\zeta I_G$: full row rank.

    Decided: this is a misprint. The appendix has the problem concave "in that empirical output
    vector", and PL in $\phi$. The opening of Section 6 calls it strongly concave and names no
    variable. It is so in the output vector, and PL in $\phi$. Write "PL constant". But $L$ is the
    smoothness of the objective in the parameters, and the steps are taken in $\phi$, so that $\rho$
    is needed there. Full row rank leaves a kernel wherever $\dim \phi > G$, and the Hessian in
    $\phi$ vanishes on it (a non-linear $\zeta$ need not even be concave). Checked with $2 \beta^2
    \mu_\zeta \min_j m_j / N$.
    """
    gram = max(float(np.linalg.eigvalsh(regression.features @ regression.features.T)[0]), 0.0)
    apart = float(np.sum((regression.phi - regression.other) ** 2))
    modulus = oracle.strong_concavity(regression.sample) * gram
    return _midpoint(regression, modulus, apart, level=True)


# --- the steps, linearised at the solution
NUDGE = 1e-5  # of central differences
SCALES = st.sampled_from([0.5, 1.0, 2.0])


# A data set, tables for Q, and zeta = zeta* + scale phi + cubic phi^3, elementwise.
# zeta* belongs to the solution, so that phi = 0 there and J_zeta J_zeta' = scale^2 I.
Steps = namedtuple("Steps", "sample scale cubic", defaults=[0.0])


def hessian(problem: Steps) -> Array:
    """Hessian of f-hat_N in (theta, phi) at the solution, from the library's two gradients.

    The ascent block of Algorithm 1 has neither beta^2 nor the indicator of the anchor; both are
    restored here, since f-hat_N is the objective of the theorem.
    """
    sample = problem.sample
    q = np.take_along_axis(oracle.solution(sample), under_check.anchor_first(sample), axis=1)
    zeta = oracle.zeta_at(sample, oracle.solution(sample))
    size = q.size + zeta.size
    nudges = NUDGE * np.concatenate([np.eye(size), -np.eye(size)])
    tables, phi = q + nudges[:, : q.size].reshape(-1, *q.shape), nudges[:, q.size :]
    aux = zeta + problem.scale * phi + problem.cubic * phi**3
    full = np.repeat(aux[:, :, None], q.shape[1], axis=2)
    many = under_check.sample_counts(sample, 2 * size)
    down = under_check.descent(tables, full, many, many, 0, sample.reward, sample.discount).slope
    up = -(sample.discount**2) * under_check.ascent_slope(full, value(tables), many)[:, :, 0]
    up *= problem.scale + 3 * problem.cubic * phi**2
    gradient = np.concatenate([down.reshape(2 * size, -1), up], axis=1) / sample.size
    return np.asarray(((gradient[:size] - gradient[size:]) / (2 * NUDGE)).T)


def constants(problem: Steps) -> steps.Moduli:
    """l and mu_2 of f-hat_N at the solution; mu_1 of g-hat_N where Q is affine (one action)."""
    sample = problem.sample
    scaling = np.ones(sample.visits.size + len(sample.be_states))
    scaling[sample.visits.size :] = problem.scale
    exact = oracle.output_hessian(sample, oracle.solution(sample)) * np.outer(scaling, scaling)
    system = sample.discount * sample.transition - np.eye(len(sample.be_states))
    root = np.sqrt(oracle.share(sample) * sample.be_weight)[:, None] * system
    return steps.Moduli(
        l=float(np.linalg.norm(exact, 2)),
        mu_1=2 * float(np.linalg.svd(root, compute_uv=False).min() ** 2),
        mu_2=oracle.strong_concavity(sample) * problem.scale**2,
    )


def two_time_scales(problem: Steps, ratio: float | None = None) -> CheckResult:
    r"""Use one schedule a block, $\tau_\theta = c / (\gamma + t)$ and $\tau_\phi = (18 l^2 /
    \mu_2^2) \tau_\theta$, as Theorem 3.3 of Yang et al. (2020) does; the ratio is at least 18.

    Decided: at that ratio the linearised steps at the empirical solution do not grow, on every
    instance (the potential of the cited proof falls, by primal-PL).
    """
    matrix = hessian(problem)
    ratio = constants(problem).ratio if ratio is None else ratio
    return at_most(
        steps.deterministic_growth(matrix, problem.sample.visits.size, ratio),
        0.0,
        1e-8 * (1 + ratio) * (1 + float(np.abs(matrix).max())),
        "central differences, error 1e-10 of the Hessian's size; times the ratio of steps",
    )


# --- an orbit that a ball holds and that does not converge
BETA = 0.7  # of the orbit


@cache
def orbit(c_1: float, c_2: float, times: int) -> Array:
    """(T + 1, 2) of (theta, phi) from (1, 0), exact gradients, one schedule c_1 / (c_2 + t).

    One state, one action (the anchor), r = 0, Q = theta, zeta = phi/2 + phi^3; 0 is the only
    stationary point. The flow is theta' = A theta - B zeta, phi' = B zeta'(phi) (theta - zeta) with
    A = 2 (2 beta - 1) and B = 2 beta^2. A ball attracts it: with m = int 1/zeta', which is bounded,
    E = theta^2/2 + int zeta/zeta' - 2 theta m is coercive and E' = (A - 2 B) theta^2 + 2 B theta
    zeta - B zeta^2 - 2 (A theta - B zeta) m, negative definite but for the last term, as B > A.
    """
    counts = under_check.sample_counts(one_state([1], discount=BETA))
    path = np.zeros((times + 1, 2))
    path[0, 0] = 1.0
    for t, (theta, phi) in enumerate(path[:-1]):
        q, zeta = np.full((1, 1, 1), theta), np.full((1, 1, 1), phi / 2 + phi**3)
        down = under_check.descent(q, zeta, counts, counts, 0, np.zeros(1), BETA).slope.item()
        up = -(BETA**2) * under_check.ascent_slope(zeta, value(q), counts).item()
        move = np.array([-down, (0.5 + 3 * phi**2) * up])
        path[t + 1] = path[t] + c_1 / (c_2 + t) * move
    return path


def assume_orbit(path: Array) -> None:
    """Assert what Assumption nonSingularJac asks of the orbit."""
    assumed(float(np.abs(path).max()) <= 2, "B_Q and B_zeta, radius 2, hold all iterates")
    assumed(np.all(0.5 + 3 * path[:, 1] ** 2 >= 0.5), "(iii) with mu_zeta = 1/4")


def _one_pair() -> Steps:
    problem = Steps(one_state([1], discount=BETA), 0.5, 1.0)
    least = oracle.profile(problem.sample, oracle.solution(problem.sample))
    assumed(abs(least) < 1e-15, "Q* = 0 is in the class")
    assume_orbit(orbit(50.0, 500.0, 3000))
    printed = steps.deterministic_growth(hessian(problem), 1, 1 / BETA**2)
    assumed(abs(printed - 0.15) < 1e-8, "Algorithm 1, with no beta^2, repels too: half of .3")
    return problem


@claim.vacuous(
    "prop:linConvergence.single-stepsize",
    condition=r"$\eta_t$ stands for two schedules, one a block, in the ratio $\tau_\phi / "
    r"\tau_\theta = 18 l^2 / \mu_2^2$ of the cited conditions. On no data has a single "
    "schedule this ratio",
    instances=st.builds(Steps, full_samples(3, 2), SCALES),
    counterexample=_one_pair,
    text=(
        r"One state, one action (the anchor), $r = 0$, $\beta = .7$, $Q = \theta$, $\zeta = "
        r"\phi/2 + \phi^3$: $f = (.3 \theta)^2 - .49 (\theta - \zeta)^2$. A ball holds the "
        "iterates; the only stationary point is 0.",
        r"Near 0, $\theta$ moves along $.8 \theta - .49 \phi$, $\phi$ along $.49 \theta - .245 "
        r"\phi$: trace "
        f"{0.8 - 0.49 / 2:.3f}"
        r", so growth. Algorithm 1's ascent is $1/\beta^2$ as fast: trace "
        f"{0.8 - 1 / 2:.1f}"
        ", "
        f"determinant {0.49 - 0.8 / 2:.2f}, so that it repels too.",
        "Rate ${observed:.3f} > {bound:.0f}$: each step multiplies a mode by 1 + rate $c_1/(c_2 "
        "+ t)$, whose product diverges for all $c_1$, $c_2$. The cited conditions fail here "
        "too; $c_1$ and $c_2$ are free.",
    ),
    corrected=two_time_scales,
    broken="one schedule for both blocks, zeta's features of length 1/2",
    rejected={"ratio": 1.0},
    rejected_at=lambda: Steps(one_state([1, 1], discount=0.95), 0.5),
)
def single_stepsize(problem: Steps) -> CheckResult:
    r"""Stepsizes $\eta_t = c_1 / (c_2 + t)$, one schedule for both blocks, with constants
    satisfying the two-sided-PL SGDA conditions of Yang et al. (2020), suffice.

    Where: Theorem linConvergence ("use stepsizes $\eta_t = c_1/(c_2+t)$ with constants satisfying
    the two-sided-PL SGDA conditions"); Algorithm 1 prints $\tau_1$ in both steps.

    Assumes: Assumptions realizability and nonSingularJac; here exact gradients. In the
    counterexample the cited conditions fail, and $c_1$ and $c_2$ are free.

    Decided: the cited conditions set $\tau_\phi / \tau_\theta = 18 l^2 / \mu_2^2 \geq 18$. So no
    $c_1$, $c_2$ meet them with one $\eta_t$, and the printed clause is empty. A counterexample can
    only show what one schedule does without them. Two-sided PL fails there too, as $\beta > 1/2$
    (prop:linConvergence.two-sided-PL). Where it holds, take a solution inside the balls. The
    Hessian there is at least 0 in $\theta$ and at most 0 in $\phi$. So the linearised steps of one
    schedule do not grow. One schedule is printed twice (here and in lines 7 and 13 of Algorithm 1).
    It may be a slip all the same, since the cited conditions have two. The check is the growth of
    the linearised descent-ascent on $\hat f_N$ at the solution. Take tabular $Q$ on the paper's bus
    engine, with its anchor. With one schedule the steps grow at $\beta = .5$ (rate .038) and .8
    (.0016). They do not grow at .9 and at .95, which is the paper's. With two schedules in the
    ratio $1/\beta^2$, they grow at none of these $\beta$. That is the ratio of Algorithm 1, since
    its ascent lacks $\beta^2$. The numbers are those of
    `tests/proofs_checks/oracle/test_oracle_descent.py`. On a convex-concave quadratic one schedule
    converges.
    """
    return two_time_scales(problem, ratio=1.0)


# --- the rate
# Steps with one action (f-hat_N is then quadratic), noise sigma^2, the distance (2 X,) of
# (theta, phi) from the solution at the start, T.
NoisySteps = namedtuple("NoisySteps", "steps noise start times")


@st.composite
def noisy(draw: st.DrawFn) -> NoisySteps:
    sample = draw(full_samples(2, 1, top=0.9))
    start = draw(tables(2 * len(sample.anchor), st.integers(-3, 3)))
    noise = draw(st.sampled_from([0.0, 0.01, 1.0]))
    scale = draw(SCALES)
    return NoisySteps(Steps(sample, scale), noise, start, draw(st.sampled_from([0, 10, 300])))


def _potential(run: NoisySteps, weight: float) -> Array:
    """(d, d) of (g - g*) + weight (g - f), a form in the distance from the solution."""
    sample = run.steps.sample
    size = len(sample.anchor)
    outer = oracle.share(sample) * sample.be_weight
    ahead = np.hstack([sample.transition, -run.steps.scale * np.eye(size)])
    residual = np.hstack(
        [sample.discount * sample.transition - np.eye(size), np.zeros((size, size))]
    )
    gap = residual.T @ (outer[:, None] * residual)
    inner = sample.discount**2 * ahead.T @ (outer[:, None] * ahead)
    return np.asarray(gap + weight * inner)


def rate_on_two_time_scales(run: NoisySteps, schedules: int = 2, share: float = 1.0) -> CheckResult:
    r"""Let $\hat g_N$ be $\mu_1$-PL and $\hat f_N(\theta, \cdot)$ $\mu_2$-PL (two-sided PL is not
    needed), $\hat f_N$ $l$-smooth, $L = l + l^2/\mu_2$, $\mu_1 \leq L$, $\mu_2 \leq l$, and let the
    iterates stay in $B_Q \times B_\zeta$. Let PL in $\phi$ and smoothness hold on the whole space,
    or on the ball enlarged as in prop:linConvergence.quadratic-growth and a little beyond it in
    $\theta$. Gradients are unbiased with bounded variance, and $\nu$ is some constant. With
    $\tau_\theta = c / (\gamma + t)$, $c > 2 / \mu_1$, $\tau_\phi = (18 l^2 / \mu_2^2) \tau_\theta$,
    and $\gamma$ so large that $\tau_\theta \leq \min(1/L, 1/l)$ and $\tau_\phi \leq 1/l$ from the
    start, $E[\hat g_N - g^*] + E[\hat g_N - \hat f_N] / 10 \leq \nu / (\gamma + T)$.

    Decided: one step shrinks the potential by $1 - \mu_1 \tau_\theta / 2$ and adds noise of order
    $\tau_\theta^2$; induction gives $\nu = \max(\gamma P_0, c^2 \sigma^2 (11 L + l + 324
    l^5/\mu_2^4) / (10 \mu_1 c - 20))$. On quadratic instances (one action; PL and smooth
    everywhere, so any ball will do) $E P_T$ is computed exactly from the library's gradients.
    """
    fixed = constants(run.steps)
    plan = steps.schedule(fixed)
    potential = _potential(run, steps.WEIGHT)
    nu = share * steps.rate(fixed, plan, float(run.start @ potential @ run.start), run.noise)
    if schedules == 1:
        plan = plan._replace(ratio=1.0)
    where = hessian(run.steps), len(run.steps.sample.anchor), potential, run.start
    reached = steps.expected_potential(*where, plan, run.noise, run.times)
    why = "the Hessian, by central differences of an affine gradient, is right to 1e-11"
    return at_most(reached, nu / (plan.gamma + run.times), 1e-9 * (nu / plan.gamma), why)


def _noise_alone(scale: float) -> NoisySteps:
    """One pair at beta = .22, started at the solution: all of nu is the noise's."""
    return NoisySteps(Steps(one_state([1], discount=0.22), scale), 1.0, np.zeros(2), 300)


@claim.vacuous(
    "prop:linConvergence.optimisation-rate",
    condition=r"in the cited conditions $\mu_1$ is the PL constant of $\hat g_N$. As cited, it "
    r"is that of $\hat f_N(\cdot, \phi)$ for every $\phi$. For $\beta > 1/2$ there is "
    "none where an anchor observation and an interior solution exist (every action "
    r"then occurs in every state seen). For smaller $\beta$ it depends on the data",
    instances=noisy(),
    cost=4,
    adversary=tightest(_noise_alone, "prop:linConvergence.optimisation-rate", 1, 5),
    unproved=r"$\nu$ within a factor of 90. The noise of $\phi$ decays at the rate of the fast "
    "block, but the induction uses that of the slow one",
    counterexample=lambda: 1e6,
    text=(
        r"One state, one action (the anchor), $r = 0$, $\beta = .7$: $f = (.3 Q)^2 - .49 (Q - "
        r"\zeta)^2$. At $Q = \zeta = 0$ the gradient in $Q$ is 0, but $f$ at $Q = c$ is lower by "
        r"$.4 c^2$. Half the squared gradient, {observed:.0f}, is at least $\mu_1$ times .4 for "
        r"no $\mu_1 > 0$.",
        r"The cited conditions ask for $c_1 > 2 / \mu_1$. With $c_1 = 10^6$ half the squared "
        "gradient would have to exceed {bound:.1e}.",
        r"With $\beta = 1/4$, $f = (.75 Q)^2 - (Q - \zeta)^2/16$ is two-sided PL with $\mu_1 = "
        r"1$ and $\mu_2 = 1/8$: there they can be met, with one schedule a block.",
    ),
    corrected=rate_on_two_time_scales,
    broken="one schedule for both blocks",
    rejected={"schedules": 1},
    rejected_at=lambda: NoisySteps(
        Steps(one_state([1], discount=0.9), 0.5), 0.0, np.array([1.0, 0.0]), 3000
    ),
)
def optimisation_rate(c_1: float) -> CheckResult:
    r"""$E[\hat g_N(\theta_T) - g^*_N] \leq \nu / (\gamma_0 + T)$ for all $T$, with "stepsizes
    $\eta_t = c_1/(c_2+t)$ with constants satisfying the two-sided-PL SGDA conditions of Yang et al.
    (2020)".

    Where: Theorem linConvergence, first display.

    Assumes: Assumptions realizability and nonSingularJac, bounded gradient noise; that stepsizes
    which satisfy the conditions exist.

    Decided: the conditions ask for $c_1 > 2 / \mu_1$, and no $c_1$ satisfies them where two-sided
    PL fails (claim two-sided-PL): the theorem is then empty, not refuted. It fails for $\beta >
    1/2$ wherever an anchor is observed and an interior solution exists. There (ii) lets all outputs
    of $Q$ shift by $c$, and this changes $f$ by $(1 - 2 \beta) c^2 N_{\mathrm{BE}} / N$. For
    smaller $\beta$ it depends on the data. The proof of the cited theorem uses PL of $\hat g_N$ and
    of $\hat f_N(\theta, \cdot)$ only. So it gives the rate with $\mu_1$ the PL constant of $\hat
    g_N$, at the cited ratio of the two schedules (claim single-stepsize). The authors may have
    meant this $\mu_1$. The check asks for the $\mu_1 = 2 / c_1$ at a solution.
    """
    sample, zero = one_state([1], discount=BETA), np.zeros((1, 1))
    slope = under_check.descent_slope(sample, zero, np.zeros(1)).item()
    here, there = (under_check.objective(sample, zero + c, np.zeros(1)) for c in (0.0, 1.0))
    return at_least(slope**2 / 2, 2 / c_1 * (here - there), 1e-20, "zero to 1e-15, squared")
