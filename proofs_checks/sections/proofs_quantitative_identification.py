"""Technical proofs, quantitative identification: the anchor's overlap, and C_id."""

import math
from collections import namedtuple

import numpy as np
from hypothesis import strategies as st
from scipy.special import expit, log_softmax

from gladius.model.mdp import TabularMDP
from gladius.validate import Array
from proofs_checks.claims import instances
from proofs_checks.claims.claims import CheckResult, assumed, at_least, at_most, claim
from proofs_checks.oracle.occupancy import Expert, expert

# A world, the anchor (S,) of each state, and H periods of data.
Overlap = namedtuple("Overlap", "mdp anchor horizon", defaults=[1])


@st.composite
def mild_worlds(draw: st.DrawFn) -> TabularMDP:
    """Worlds with a small drawn Q*, r = Q* - beta P V: p_A is then no vanishing number."""
    states, actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    q = draw(instances.tables((states, actions), st.integers(-3, 3).map(float))) / 2
    moves = draw(instances.distributions((actions, states, states), self_loops=True))
    return _world_of(q, moves, draw(instances.DISCOUNTS), draw(instances.distributions((states,))))


def _world_of(q: Array, moves: Array, discount: float, initial: Array) -> TabularMDP:
    v = np.log(np.exp(q).sum(axis=1))
    return TabularMDP(q - discount * np.einsum("ast,t->sa", moves, v), moves, discount, initial)


@st.composite
def overlaps(draw: st.DrawFn) -> Overlap:
    mdp = draw(mild_worlds() | instances.tabular_mdps(4, 3))
    states, actions = mdp.reward.shape
    anchor = draw(instances.anchors(states, actions))
    return Overlap(mdp, anchor, draw(st.integers(1, 6)))


def _least_density(covering: Array, nu: Array, bound: float) -> CheckResult:
    """The least of covering(y) / nu_A(y), over the states to which the anchor leads."""
    there = nu > 1e-6  # below it the ratio is rounding
    shares = covering[there] / nu[there] if np.any(there) else np.array([bound])
    why = "occupancies are solved to 1e-15 and divided by at least 1e-6; the policy to 1e-12"
    return at_least(shares.min(), bound, 1e-10 * bound + 1e-9, why)


def least_choice(solved: Expert) -> float:
    """p_A = exp(-2 B*) / |A| with B* = |Q*|_inf."""
    return float(np.exp(-2 * np.abs(solved.q).max()) / solved.q.shape[1])


def anchor_next(states: Array, problem: Overlap) -> Array:
    """(S,) nu_A: probabilities of s' after the anchor, s drawn from `states`."""
    return np.asarray(states @ problem.mdp.transition[problem.anchor, np.arange(len(states))])


def _chain(logits: Array) -> Overlap:
    """x -> y by action 0, the anchor, x -> z by the others, y -> z; Q*(x, .) = logits, else 0."""
    moves = np.zeros((len(logits), 3, 3))
    moves[0, 0, 1] = 1.0
    moves[1:, 0, 2] = 1.0
    moves[:, 1:, 2] = 1.0
    q = np.vstack([logits, np.zeros((2, len(logits)))])
    return Overlap(_world_of(q, moves, 0.9, np.eye(3)[0]), np.zeros(3, dtype=np.int64))


def _rare_anchor(reach: float) -> Overlap:
    """The anchor is the worst of forty actions, by twice `reach`: exp(-2 B*) then matters."""
    return _chain(np.append(-reach, np.full(39, reach)))


@claim.holds(
    "lem:anchor_overlap_logit",
    instances=overlaps(),
    adversary=instances.tightest(_rare_anchor, "lem:anchor_overlap_logit", 2, 3),
    broken="exp(-B*) for exp(-2 B*) in p_A",
    rejected={"power": 0.5},
    rejected_at=lambda: _chain(np.array([-1.5, 1.5])),
)
def discounted_overlap(problem: Overlap, power: float = 1.0) -> CheckResult:
    r"""$d^*_S(y) \geq \beta p_A \nu_A(y)$ for every $y$, with $p_A = \exp(-2 B^*) / |A|$, $|Q^*|
    \leq B^*$; so $\nu_A \ll d^*_S$.

    Where: Technical proofs, Lemma anchor_overlap_logit; $\nu_A$ is the distribution of $s'$ after
    the anchor, $s$ drawn from the discounted occupancy $d^*_S$.

    Assumes: a finite action set, the logit expert, bounded $Q^*$.

    Decided: the flow identity of the discounted occupancy, as printed. The smallest
    $d^*_S(y)/\nu_A(y)$ of the library against $\beta p_A$ from an independent solution. Attained at
    $Q^* = 0$ on a chain $x \to y \to z$; with forty actions, the anchor the worst, within 2.6 per
    cent whatever $B^*$ is.
    """
    mdp, solved = problem.mdp, expert(problem.mdp)
    states = mdp.discounted_occupancy().sum(axis=1)
    nu, actions = anchor_next(solved.states, problem), mdp.reward.shape[1]
    least = (least_choice(solved) * actions) ** power / actions
    return _least_density(states, nu, mdp.discount * least)


def overlap_with_the_last_state(
    problem: Overlap, after: float = 1.0, per_action: bool = True
) -> CheckResult:
    r"""For $H$ undiscounted periods, $\nu_A(B) \leq (1 / p_A) [d_H(B) + (P(s_H \in B) - P(s_0 \in
    B)) / H]$: $\nu_A$ is covered once the state after the last period is counted, not by $d_H$
    alone.

    Decided: $\sum_{h < H} \text{law}_{h+1} = \sum_{h < H} \text{law}_h + \text{law}_H -
    \text{law}_0$, and $\text{law}_{h+1}$ is at least $p_A$ times what the anchor sends. The
    library's occupancy of $H$ periods on every instance.
    """
    mdp, solved = problem.mdp, expert(problem.mdp)
    flow = np.einsum("sa,ast->st", solved.policy, mdp.transition)
    periods = [mdp.initial]
    for _ in range(problem.horizon):
        periods.append(periods[-1] @ flow)
    nu = anchor_next(np.mean(periods[:-1], axis=0), problem)
    visited = mdp.occupancy(problem.horizon).sum(axis=1)
    covering = visited + after * (periods[-1] - mdp.initial) / problem.horizon
    share = 1 if per_action else mdp.reward.shape[1]
    return _least_density(covering, nu, share * least_choice(solved))


def _one_period() -> Overlap:
    move = np.array([[[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    mdp = TabularMDP(np.full((2, 2), -0.9 * np.log(2)), move, 0.9, np.array([1.0, 0.0]))
    assumed(np.abs(mdp.solution.q).max() < 1e-11, "Q* is bounded: it is zero")
    assumed(np.all(mdp.solution.policy > 0.49), "the expert is logit")
    return Overlap(mdp, np.zeros(2, dtype=np.int64), 1)


@claim.does_not_hold(
    "lem:anchor_overlap_logit.finite-horizon",
    inferred="the lemma speaks of the discounted occupancy; the data are undiscounted periods",
    instances=overlaps(),
    counterexample=_one_period,
    text=(
        r"Two states, start at $x$, the anchor leads $x \to y$, the other action stays; $r = "
        r"-\beta \log 2$, so that $Q^* = 0$, $\pi^* = 1/2 = p_A$.",
        r"One period: $d_1 = (1, 0)$ on $(x, y)$, $\nu_A(y) = 1$: $d_1(y) / \nu_A(y) = "
        r"{observed:.0f}$, not $\geq p_A = {bound:.1f}$.",
        "Likewise the bus engine with `maintain` as anchor: 2 periods from mileage 1 end at up "
        "to 9, where no decision is seen.",
    ),
    corrected=overlap_with_the_last_state,
    broken="the number of actions left out of p_A",
    rejected={"per_action": False},
)
def finite_overlap(problem: Overlap) -> CheckResult:
    r"""The overlap $\nu_A \ll d_S$ holds for the data. Here $d_S$ is the state distribution of $H$
    undiscounted periods. The density is at most $1 / p_A$.

    Where: Lemma anchor_overlap_logit is proved for "the discounted expert state occupancy measure
    used by the population risk". The data of Section 7 are 100 undiscounted periods a trajectory.
    The expectation $E_{\pi^*, \nu_0}$ in Equation mainopt carries no discount.

    Assumes: a finite action set, the logit expert, bounded $Q^*$.

    Decided: a state first reached as the $s'$ of the last period has no share of $d_H$. The
    discounted occupancy has all periods, whence the flow identity; $H$ periods lack the last step.
    The paper's own design (replacement as anchor, 100 periods, mileage capped at 20) has overlap.
    """
    return overlap_with_the_last_state(problem, after=0.0)


# --- quantitative identification
# A world, the anchor (S,) of each state, some Q (S, A), and a C_id to try.
Identified = namedtuple("Identified", "mdp anchor q constant", defaults=[1.0])


SUPPORT = 1e-12  # occupancies from here on are no rounding


@st.composite
def identified(draw: st.DrawFn) -> Identified:
    mdp = draw(instances.tabular_mdps(4, 2, rewards=instances.VALUES))
    shape = mdp.reward.shape
    anchor = draw(instances.anchors(shape[0], shape[1]))
    near = st.sampled_from([0.0, 1e-3, 0.1, -0.1, 1.0]) | instances.VALUES
    return Identified(mdp, anchor, mdp.solution.q + draw(instances.tables(shape, near)))


def inverse_norm(flow: Array, states: Array, discount: float) -> float:
    """kappa = norm of (I - beta P_a)^-1 on L2(d), P_a (S, S) staying in the support of d (S,)."""
    support = states > 0
    root = np.sqrt(states[support])
    system = np.eye(len(root)) - discount * flow[np.ix_(support, support)]
    least = np.linalg.svd(root[:, None] * system / root, compute_uv=False).min()
    return float(1 / least) if least > 0 else float("inf")


def _anchored(problem: Identified, solved: Expert) -> tuple[float, float]:
    """kappa of the anchor's moves on L2(d*_S), and p_A, the least pi*(a_s|s) in its support."""
    support, rows = solved.states > SUPPORT, np.arange(len(problem.q))
    moves = problem.mdp.transition[problem.anchor, rows]
    kappa = inverse_norm(moves, np.where(support, solved.states, 0.0), problem.mdp.discount)
    return kappa, float(solved.policy[rows, problem.anchor][support].min())


def identification_constant(kappa: float, p_anchor: float, reach: float) -> float:
    """C_id of `identification_with_a_bounded_inverse`, `reach` being its l."""
    m = 0.5 if reach < 1e-4 else float((np.expm1(-reach) + reach) / reach**2)
    return _constant(kappa, p_anchor, 1 / m)


def _constant(kappa: float, p_anchor: float, per_m: float) -> float:
    """Infinite where the anchor's probability is 0 to the last digit: then nothing is said."""
    if p_anchor <= 0 or not np.isfinite(kappa):
        return float("inf")
    per_root = kappa / np.sqrt(p_anchor)
    return float(per_root**2 + per_m * (per_root + 1) ** 2)


def _log_ratio(q: Array, solved: Expert) -> Array:
    return np.asarray(log_softmax(q, axis=1) - solved.log_policy)


def excess_risk(problem: Identified, solved: Expert) -> float:
    """R_exp(Q) - R_exp(Q*): mean KL plus the mean squared residual of anchor rows, under d*."""
    ratio, rows = _log_ratio(problem.q, solved), np.arange(len(problem.q))
    anchors = rows, problem.anchor
    # pi_Q - pi adds up to zero; as pi expm1 it is exact where the ratio is near one
    change = solved.policy * np.expm1(np.minimum(ratio, 1.0))
    plain = np.exp(ratio + solved.log_policy) - solved.policy
    kl = np.where(ratio < 1.0, change, plain) - solved.policy * ratio
    v = problem.q[anchors] - (ratio + solved.log_policy)[anchors]
    ahead = problem.mdp.transition[problem.anchor, rows] @ v
    residual = problem.mdp.reward[anchors] + problem.mdp.discount * ahead - problem.q[anchors]
    error = solved.policy[anchors] * residual**2
    return float(solved.states @ (kl.sum(axis=1) + error))


def _identification(problem: Identified, solved: Expert, constant: float) -> CheckResult:
    """|Q - Q*|^2 by the library against C_id times the excess risk by the oracle."""
    distance = problem.q - problem.mdp.solution.q
    norm = float(np.sum(problem.mdp.discounted_occupancy() * distance**2))
    excess = excess_risk(problem, solved)
    reach = 1 + float(np.abs(problem.q).max() + np.abs(solved.q).max())
    noise = 1e-11 * reach * (np.sqrt(max(norm, 0.0)) + 1e-11 * reach)
    tolerance = noise + min(constant, 1e15) * 1e-11 * reach * (np.sqrt(excess) + 1e-11 * reach)
    why = "Q* is solved to 1e-12 of |V| on either route, and enters squares"
    return at_most(norm, constant * excess if np.isfinite(constant) else np.inf, tolerance, why)


def identification_with_a_bounded_inverse(
    problem: Identified, squared: bool = True, share: float = 1.0
) -> CheckResult:
    r"""Let $|(I - \beta P_a)^{-1}| \leq \kappa$ on $L_2(d^*_S)$, $P_a$ the anchor's transitions (so
    for finite $\bar S$, or if $\beta^2 |d \nu_A/d d^*_S|_\infty < 1$). For every $Q$ with $|\log
    \pi_Q - \log \pi^*| \leq l$: $|Q - Q^*|^2 \leq [\kappa^2/p_A + (\kappa/p_A^{1/2} + 1)^2 / m]
    (R_{\exp}(Q) - R_{\exp}(Q^*))$, with $m = (\exp(-l) - 1 + l)/l^2$ and $p_A = \inf \pi^*(a_s|s)$.

    Decided: $Q - Q^* = w + (\log \pi_Q - \log \pi^*)$, $w = V_Q - V^*$, and exactly $(I - \beta
    P_a) w = -b_Q - (\log \pi_Q - \log \pi^*)(\cdot, a_s)$; $\mathrm{KL} \geq m E (\log \pi_Q - \log
    \pi^*)^2$. No class, no compactness and no derivative is needed: $(\exp(x) - 1 - x)/x^2 \geq m$
    for $x \geq -l$. Every drawn finite world, any $Q$.
    """
    solved = expert(problem.mdp)
    kappa, p_anchor = _anchored(problem, solved)
    reach = float(np.abs(_log_ratio(problem.q, solved)[solved.states > SUPPORT]).max())
    used = kappa if squared else np.sqrt(kappa)
    constant = share * identification_constant(used, p_anchor, reach)
    return _identification(problem, solved, constant)


def _aligned(share: float) -> Identified:
    """One state, a rare anchor, beta = .999: residual and misfit push Q the same way.

    log pi_Q - log pi* is .01 at the anchor and the residual `share` of that, where 1/2 is worst.
    """
    p, beta, more = 1e-3, 0.999, 0.01
    mdp = instances.absorbing(np.log([[p, 1 - p]]), beta)  # V* = 0
    ratio = np.array([more, np.log1p(-p * np.expm1(more) / (1 - p))])
    level = -(1 + share) * more / (1 - beta)
    return Identified(mdp, np.array([0]), mdp.solution.q + level + ratio)


def _bounded(y: Array) -> Array:
    """g: smooth, odd, y on [0, .9] and 1 from 1 on."""
    x = np.clip((np.abs(y) - 0.9) / 0.1, 1e-9, 1 - 1e-9)
    share = expit(1 / (1 - x) - 1 / x)  # smooth, from 0 to 1
    return np.asarray(np.sign(y) * ((1 - share) * np.minimum(np.abs(y), 1) + share))


def _growing_direction() -> Identified:
    """The chain with the states from 12 on as one, Q being the same at all of them; t = .9^12."""
    beta, last = 0.9, 12
    n = np.arange(last + 1)
    move = np.zeros((2, last + 1, last + 1))
    move[0, n, np.minimum(n + 1, last)] = 1.0
    move[1, :, 0] = 1.0
    mdp = TabularMDP(np.full((last + 1, 2), -beta * np.log(2)), move, beta, np.eye(last + 1)[0])
    growing = beta ** -np.arange(2.0 * last)  # c
    level = _bounded(beta**last * growing)[: last + 1]
    mass = mdp.discounted_occupancy().sum(axis=1)
    expected = (1 - beta / 2) * (beta / 2) ** n
    assumed(np.abs(mass - expected)[:last].max() < 1e-12, "d*(n) ~ (beta/2)^n")
    assumed(float(np.abs(mdp.solution.q).max()) < 1e-10, "Q* = 0 is Q_theta at theta = 0")
    reach = np.abs(_bounded(np.linspace(-1, 1, 201)[:, None] * growing)).max()
    assumed(float(reach) <= 1, "outputs are bounded by 1 for |t| <= 1, at negative t too")
    # d^2 Q_t / dt^2 is of the size of c^2, and E c^4 = sum (beta/2)^n beta^-4n is finite:
    assumed(beta**3 > 1 / 2, "t -> Q_t is twice continuously differentiable into L2(d*)")
    q = np.broadcast_to(level[:, None], (last + 1, 2)).copy()
    return Identified(mdp, np.zeros(last + 1, dtype=np.int64), q, 1e5)


@claim.holds_if(
    "lem:erm_ddc_quant_identification",
    condition=r"$I - \beta P_a$ has a bounded inverse on $L_2(d^*_S)$: finite $\bar S$, say; the "
    "lemma denies that a finite state space is needed",
    instances=identified(),
    counterexample=_growing_direction,
    text=(
        r"States 0, 1, 2, ..., with start 0. The anchor moves $n \to n + 1$, the other action to "
        r"0. With $r = -\beta \log 2$ and $\beta = .9$: $Q^* = 0$, $\pi^* = 1/2$, $d^*(n) = .55 "
        r"(.45)^n$. Let $Q_t(n, a) = g(t .9^{{-n}})$ for $|t| \leq 1$, where $g$ is smooth and "
        r"odd, $g(y) = y$ on $[0, .9]$ and 1 from 1 on. $Q_t$ is bounded, and $t \to Q_t$ is "
        "$C^2$ into $L_2(d^*)$. Free table parameters at the sampled states, added to $Q_t$, "
        "give Assumption nonSingularJac (ii) as well.",
        "The likelihood has no excess. The function $c(n) = .9^{{-n}}$ is in $L_2(d^*)$, and $c "
        r"- \beta P_a c = 0$. So at $t = .9^N$ the residual is 0 at the states $n < N$, and "
        r"$\beta - 1$ at the others, whose $d^*$ is $.45^N$.",
        f"Hence $|Q_t|^2 > {math.floor(55 / (1 - 0.45 / 0.81)) / 100} (.81)^N - .45^N$, while the "
        r"excess is $.005 (.45)^N$. At $N = 12$: ${observed:.4f} > 10^5$ times the excess, "
        r"{bound:.4f}. $N \to \infty$ refutes any $C_{{\mathrm{{id}}}}$.",
    ),
    corrected=identification_with_a_bounded_inverse,
    broken="kappa for kappa^2",
    rejected={"squared": False},
    rejected_at=lambda: Identified(
        instances.absorbing([[0.0]], 0.99), np.array([0]), np.ones((1, 1))
    ),
    adversary=instances.tightest(_aligned, "lem:erm_ddc_quant_identification", 0.1, 2),
    unproved=r"the +1. To first order $w$ and the log ratio are orthogonal under $\pi^*$, so "
    r"that $\kappa^2 (1 + 1/m) / p_A$ is enough for small deviations. For large "
    "deviations this is neither proved nor refuted",
)
def identification(problem: Identified) -> CheckResult:
    r"""There is a finite $C_{\mathrm{id}}$ with $|Q_\theta - Q^*|^2 \leq C_{\mathrm{id}}
    [R_{\exp}(Q_\theta) - R_{\exp}(Q^*)]$ in $L_2(d^*)$ for all $\theta$ in $B_Q$; "it does not
    require a finite state-space or finite-support assumption".

    Where: Technical proofs, Lemma erm_ddc_quant_identification.

    Assumes: $B_Q$ compact and finite-dimensional, $Q^* = Q_\theta$ at some $\theta$ in $B_Q$,
    finitely many actions, $\theta \to Q_\theta$ of class $C^2$ into $L_2(d^*)$ with uniformly
    bounded outputs.

    Decided: the proof excludes null directions $c = \beta E[c(s') \mid s, a_s]$ by taking suprema
    of a "bounded state function $c$". But derivatives of bounded outputs need only be in
    $L_2(d^*)$. In $L_2(d^*)$ the operator $P_a$ may have norm up to $(\beta p_A)^{-1/2} > 1/\beta$,
    and $c = \beta^{-n}$ is a null direction. The world is computed with the states from $N$ on as
    one.
    """
    return _identification(problem, expert(problem.mdp), problem.constant)


# --- its proof: from derivatives to growth
def second_variation(problem: Identified, solved: Expert) -> float:
    """Half the second derivative of the excess risk at Q* in the direction h = Q - Q*."""
    h, rows = problem.q - problem.mdp.solution.q, np.arange(len(problem.q))
    mean = np.sum(solved.policy * h, axis=1)
    spread = np.sum(solved.policy * (h - mean[:, None]) ** 2, axis=1)
    ahead = problem.mdp.transition[problem.anchor, rows] @ mean
    change = problem.mdp.discount * ahead - h[rows, problem.anchor]
    weight = solved.policy[rows, problem.anchor]
    return float(solved.states @ (spread / 2 + weight * change**2))


def every_direction_curved(problem: Identified, halves: float = 2.0) -> CheckResult:
    r"""Let $|(I - \beta P_a)^{-1}| \leq \kappa$ on $L_2(d^*_S)$, and $C = \kappa^2/p_A + 2
    (\kappa/p_A^{1/2} + 1)^2$. Then half the risk's second variation at $Q^*$ is at least $|h|^2 /
    C$ for every $h$ in $L_2(d^*)$, not only for derivatives of the class. Growth near $Q^*$ needs
    this, as the class may leave $Q^*$ in directions that are no derivatives of it.

    Decided: as $C_{\mathrm{id}}$, with $m = 1/2$. The library's $Q^*$ and occupancy against the
    oracle's variation.
    """
    solved, h = expert(problem.mdp), problem.q - problem.mdp.solution.q
    kappa, p_anchor = _anchored(problem, solved)
    constant = _constant(kappa, p_anchor, halves)
    norm = float(np.sum(problem.mdp.discounted_occupancy() * h**2))
    noise = 1e-11 * (1 + float(np.abs(h).max())) ** 2
    why = "Q* is solved to 1e-12 of |V| on either route, and enters squares"
    bound = constant * second_variation(problem, solved) if np.isfinite(constant) else np.inf
    return at_most(norm, bound, noise * (1 + min(constant, 1e15) * 1e-11), why)


def _flat_parameter() -> Identified:
    problem = _growing_direction()
    level = problem._replace(q=problem.mdp.solution.q + 1.0)  # the derivative in u
    curved = second_variation(level, expert(problem.mdp))
    assumed(curved > 1e-3, "no null direction among the derivatives, multiples of 1")
    return problem


@claim.holds_if(
    "lem:erm_ddc_quant_identification.proof-step",
    condition=r"the second variation is bounded below on all of $L_2(d^*)$, or $Q^* = Q_\theta$ "
    r"at one $\theta$ only, where the derivative is one-to-one",
    instances=identified(),
    counterexample=_flat_parameter,
    text=(
        "The chain of lem:erm_ddc_quant_identification with $Q_{{u, t}} = u + g(t^2 "
        ".9^{{-n}})$: at (0, 0) the derivatives are 1 and 0, and in the direction 1 the second "
        "variation is positive.",
        "Along $(0, t)$ the excess is that of $g(t^2 .9^{{-n}})$: $|Q|^2 = {observed:.4f}$ at "
        "$t^2 = .9^{{12}}$ against",
        r"$10^5$ times the excess = {bound:.4f}; $t \to 0$ leaves no "
        r"$\lambda_{{\mathrm{{id}}}}$.",
    ),
    corrected=every_direction_curved,
    broken="1 for the 2 = 1/m of the likelihood's curvature",
    rejected={"halves": 1.0},
    rejected_at=lambda: _aligned(0.5),
)
def curved_derivatives(problem: Identified) -> CheckResult:
    r"""Let the second variation have no null direction on the image of the derivative of $\theta
    \to Q_\theta$ at $Q^*$. "Consequently" $R_{\exp}(Q_\theta) - R_{\exp}(Q^*) \geq
    \lambda_{\mathrm{id}} |Q_\theta - Q^*|^2$ for all $Q_\theta$ near $Q^*$, with some
    $\lambda_{\mathrm{id}} > 0$.

    Where: Technical proofs, proof of Lemma erm_ddc_quant_identification, "it has a strictly
    positive minimum eigenvalue. Consequently, ...".

    Assumes: as the Lemma; $\theta \to Q_\theta$ is twice continuously differentiable into
    $L_2(d^*)$.

    Decided: the class leaves $Q^*$ also where its derivative vanishes, in directions of the second
    order, on which the sphere of derivatives is silent. The lemma's own defect is another one, the
    null direction itself (lem:erm_ddc_quant_identification); on finite $\bar S$ both are cured.
    """
    return _identification(problem, expert(problem.mdp), problem.constant)
