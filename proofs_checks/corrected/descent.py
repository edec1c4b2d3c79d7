"""Descent in Q with zeta beside it: constant steps, the level, and the level in closed form."""

from collections import namedtuple
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from scipy.linalg import helmert
from scipy.optimize import minimize
from scipy.special import expit

from gladius.model.risk import value
from gladius.paper.stability import level_flow, slowest_rate
from gladius.validate import Array
from proofs_checks.claims import instances, under_check
from proofs_checks.claims.claims import CheckResult, at_least, claim, equal, weakest
from proofs_checks.claims.instances import full_samples
from proofs_checks.claims.under_check import ROUNDING, objective_rounding
from proofs_checks.corrected import CHAIN
from proofs_checks.oracle import polyak, separated
from proofs_checks.oracle.risk import Sample

# A data set with every pair in it, tables q (X, A) and zeta (X,), and rho.
State = namedtuple("State", "sample q zeta rho")


@st.composite
def states(draw: st.DrawFn) -> State:
    sample = draw(full_samples(3, 3))
    q = draw(instances.tables(sample.visits.shape, instances.quarters(20)))
    zeta = polyak.zeta_at(sample, q) + draw(instances.tables(len(q), instances.MILD))
    rho = draw(st.sampled_from([0.01, 0.1, 0.5, 1.0]) | st.floats(0.01, 1.0))
    return State(sample, q, zeta, rho)


def steps(
    sample: Sample, level: float, rho: float, factor: float = 1.0, smoothness: bool = True
) -> tuple[float, float]:
    """tau and nu^2 of the theorem, in the metric of visits, for g - g* + (...) at most `level`.

    The smoothness L on the level set has three parts: the likelihood's 1/2; the residuals' slope;
    and their size times the curvature of V, at most 1/2, by Cauchy-Schwarz. Controls change tau by
    a factor, or leave L out.
    """
    w, b, transition = (
        separated.state_weight(sample),
        separated.anchor_weight(sample),
        sample.transition,
    )
    beta = sample.discount
    nu_squared = float((b @ transition / w).max())
    anchored = float(np.max(b / w[sample.be_states]))
    curvature = float((np.sqrt(b @ transition**2 * level) / w).max())
    smooth = 0.5 + 2 * (beta * nu_squared**0.5 + anchored**0.5) ** 2 + beta * curvature
    lagging = 48**0.5 * beta**2 * nu_squared / rho
    return factor / max(smoothness * smooth, lagging), nu_squared


def _lyapunov(sample: Sample, q: Array, zeta: Array, weight: float) -> float:
    lag = zeta - polyak.zeta_at(sample, q)
    return separated.gap(sample, q) + weight * float(separated.anchor_weight(sample) @ lag**2)


def lagging() -> State:
    """One pair at its solution, zeta 1 off: Q is driven away."""
    return State(instances.one_state([1], 0.0, 0.5), np.zeros((1, 1)), np.ones(1), 0.1)


def slowest() -> State:
    """An adversary: q, zeta and rho of the least slack for two actions in one state."""
    sample = instances.one_state([1, 1], 0.0, 0.05)
    star = polyak.solution(sample)

    def state(x: Array) -> State:
        q = star + x[:2]
        zeta = polyak.zeta_at(sample, q) + x[2:3]
        return State(sample, q, zeta, float(expit(x[3])))

    def loss(x: Array) -> float:
        slack = two_time_scales(state(x)).slack
        return float(np.log(slack)) if np.isfinite(slack) else 50.0  # at the minimiser

    start = np.array([0.01, 0.02, 1e-3, 3.0])
    return state(minimize(loss, start, method="Nelder-Mead", options={"maxiter": 400}).x)


@claim.holds(
    "corrected.two-time-scale",
    instances=states(),
    broken="four times the step of Q",
    rejected={"factor": 4.0},
    rejected_at=lagging,
    adversary=slowest,
    cost=2,
    inferred=CHAIN,
)
def two_time_scales(state: State, factor: float = 1.0, smoothness: bool = True) -> CheckResult:
    r"""Let $q_+ = q - \tau M^{-1} \nabla_q f(q, z)$ and $z_+ = z + \rho (P V_{q_+} - z)$, with $0 <
    \rho \leq 1$ and $\tau \leq \min\{1/L, \rho / (48^{1/2} \beta^2 \nu^2)\}$. Then $W_+ \leq (1 -
    \min(\tau c / 2, \rho / 2)) W$ for $W = g - g^* + (\rho / (8 \nu^2 \tau)) |z - P V_q|_b^2$. Here
    $c$ and $L$ are those of $g$ where $g - g^* \leq W$.

    Where: corrected.md, 4; $M$ the metric of visits, $\nu^2 = \max (b P)(y) / w(y)$.

    Assumes: every action in every state with observations, observations wherever the anchor leads;
    one schedule.

    Decided: inexact descent on $g$, whose gradient is off by $2 \beta^2 \nu |z - P V|$, and a
    contraction of $z - P V$ that is off by $\nu |q+ - q|$. Only PL of $g$ enters, with no $1 -
    \beta$ beside $c$. Observed: $W - W+$ after a step with the library's gradient; $L$ and $c$ by
    their formulas.
    """
    sample, q, zeta, rho = state
    w = separated.state_weight(sample)

    def tuned(level: float) -> tuple[float, float]:
        tau, nu_squared = steps(sample, level, rho, factor, smoothness)
        return tau, rho / (8 * nu_squared * tau)

    # W depends on tau, and tau on W: a level that is at least W
    level = 2 * _lyapunov(sample, q, zeta, tuned(0.0)[1]) + 1e-12
    while _lyapunov(sample, q, zeta, tuned(level)[1]) > level:
        level *= 2
    tau, weight = tuned(level)
    before = _lyapunov(sample, q, zeta, weight)
    updated = q - tau * under_check.descent_slope(sample, q, zeta) / w[:, None]
    target = polyak.zeta_at(sample, updated)
    after = _lyapunov(sample, updated, zeta + rho * (target - zeta), weight)
    rate = min(tau * separated.pl_constant(sample, level, visits=True), rho) / 2
    tolerance = (1 + weight) * objective_rounding(sample, q, zeta)
    return at_least(before - after, rate * before, tolerance, ROUNDING + ", weighted as W")


# --- the level
@claim.holds(
    "corrected.level",
    instances=st.tuples(st.floats(0.05, 0.999), st.floats(0.0, 10.0)),
    broken="one state with two actions and plain steps, which do not keep a common shift common",
    rejected={"actions": 2},
    rejected_at=lambda: (0.7, 1.0),
    inferred=CHAIN,
)
def level(pair: tuple[float, float], best: object = None, actions: int = 1) -> CheckResult:
    r"""Where a common shift stays common, take the flow $(c, z)' = 2 (((2 \beta - 1) c - \beta^2
    z), \rho (c - z))$. The largest real part of its two eigenvalues is least at $\rho = 1$, where
    both are $-2 (1 - \beta)$. It tends to $-2 (1 - \beta)^2$, the rate with $\zeta$ exact, as
    $\rho$ grows.

    Where: corrected.md, 4; $\rho$ the effective rate of $\zeta$ over that of $Q$.

    Assumes: one state with one action, or steps that keep a common shift of $Q$ common.

    Decided: of half the flow the trace is $2 \beta - 1 - \rho$ and the determinant $\rho (1 -
    \beta)^2$, the discriminant $(\rho - 1)(\rho - (2 \beta - 1)^2)$. Below 1 the largest real part
    is half the trace or more, above it rises with $\rho$ to $-(1 - \beta)^2$. Observed: the
    library's flow, and the printed slopes of $Q$ and $\zeta$ on one pair, of one observation.
    """
    beta, rho = pair
    top = best(beta) if callable(best) else 1.0
    # r such that Q* = 0 and V* = log |A|, each action being taken once
    sample = instances.one_state([1] * actions, -beta * np.log(actions), beta)
    columns = []
    for c, z in np.eye(2):
        q, zeta = np.full((1, actions), c), np.full((1, 1), z + np.log(actions))
        fall = under_check.descent_slope(sample, q, zeta[0])[0] * actions  # per anchor observation
        table, counts = np.full((1, 1, actions), zeta), under_check.sample_counts(sample)
        rise = under_check.ascent_slope(table, value(q)[None], counts)[0, 0, 0]
        columns.append([*-fall, -rho * rise])
    of_q, of_z = level_flow(rho, beta)
    exact, fast = -under_check.descent_slope(sample, np.ones((1, actions)))[0, 0] * actions, 1e5
    why = "rounding at a double eigenvalue enters by its square root"
    far = 4 * (1 - beta) ** 2 / fast + 1e-15 * fast
    return weakest(
        equal(
            np.array(columns).T, np.array([*[of_q] * actions, of_z]), 1e-12 * (1 + rho), "rounding"
        ),
        at_least(slowest_rate(level_flow(rho, beta)), -2 * (1 - beta), 1e-6, why),
        under_check.zero(
            np.abs(np.linalg.eigvals(level_flow(top, beta)) + 2 * (1 - beta)), 1e-6, why
        ),
        equal(exact, -2 * (1 - beta) ** 2, 1e-14, "rounding"),
        equal(slowest_rate(level_flow(fast, beta)), exact, far, "the next term in 1 / rho"),
    )


# --- the level in closed form
def profiled(sample: Sample, discount: float) -> Array:
    """Hessian (X A, X A) at the minimiser of g less its part along a common shift."""
    full = separated.hessian(replace(sample, discount=discount))
    return separated.profiled(full, np.ones(len(full)))


def dobrushin(transition: Array) -> float:
    """tau_D: the largest total variation between two rows."""
    return float(np.abs(transition[:, None] - transition[None]).sum(axis=2).max() / 2)


def walk(stay: float) -> Sample:
    """Two states that both actions leave once in 1 + `stay` times."""
    moves = np.array([[[stay, 1.0]] * 2, [[1.0, stay]] * 2])
    return Sample(moves, np.zeros(2, dtype=np.int64), np.zeros(2), 0.99)


@st.composite
def resets(draw: st.DrawFn) -> Sample:
    """The anchor leads to one state from everywhere."""
    sample = draw(full_samples(3, 3))
    moves, states_ = sample.moves.copy(), np.arange(len(sample.moves))
    counts = moves[states_, sample.anchor].sum(axis=1)
    moves[states_, sample.anchor] = 0.0
    moves[states_, sample.anchor, 0] = counts
    return Sample(moves, sample.anchor, sample.reward, sample.discount)


@claim.holds(
    "corrected.schur",
    instances=full_samples(3, 3) | resets(),
    broken="tau_D = 0, as for a reset, where the anchor mixes slowly",
    rejected={"mixing": False},
    rejected_at=lambda: walk(10_000.0),
    inferred=CHAIN,
)
def schur(sample: Sample, mixing: bool = True) -> CheckResult:
    r"""Put the common level of $Q$ in closed form. Then the Hessian at the minimiser is at least
    $1/C$ off the constants. Here $C = (1 + k)^2 / \min(w \hat\pi) + k^2 / (2 \min b)$ with $k =
    (|A| |X| / 2)^{1/2} / (1 - \beta \tau_D)$, and $\tau_D$ is Dobrushin's coefficient of the
    anchor's moves. For a reset $(\tau_D = 0)$ the Hessian does not depend on $\beta$ at all.

    Where: corrected.md, 5.

    Assumes: every action in every state of the data, anchor observations in all.

    Decided: $\text{sp}(P f) \leq \tau_D \text{sp}(f)$ bounds $(I - \beta P)^{-1}$ up to constants
    by $1 / (1 - \beta \tau_D)$; of a reset it is $f$ + a constant. A slowly mixing anchor is not
    cured.
    """
    beta, actions = sample.discount, sample.visits.shape[1]
    mixed = dobrushin(sample.transition) if mixing else 0.0
    off = helmert(sample.visits.size)
    curved = profiled(sample, beta)
    k = (sample.visits.size / 2) ** 0.5 / (1 - beta * mixed)
    joint = separated.state_weight(sample)[:, None] * sample.choices
    bound = (1 + k) ** 2 / joint.min() + k**2 / (2 * separated.anchor_weight(sample).min())
    why = "a difference of Hessians, divided by the level's curvature, (1 - beta)^2 or more"
    tolerance = 1e-15 * actions * len(curved) / (1 - beta) ** 2
    results = []
    if len(curved) > 1:
        least = np.linalg.eigvalsh(off @ curved @ off.T)[0]
        results.append(at_least(least, 1 / bound, min(tolerance, 0.1 / bound), why))
    if dobrushin(sample.transition) == 0.0:
        results.append(equal(curved, profiled(sample, 0.5), 100 * tolerance, why))
    return weakest(*results) if results else equal(0.0, curved[0, 0], tolerance, why)
