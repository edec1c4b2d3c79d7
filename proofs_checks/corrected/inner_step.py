"""Zeta and the level solved for, and Q descending: where all stand still, and a moving class."""

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st

from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims import instances, under_check
from proofs_checks.claims.claims import CheckResult, claim, equal, weakest
from proofs_checks.claims.instances import full_samples
from proofs_checks.claims.under_check import STEP, Complex, objective_rounding
from proofs_checks.corrected import CHAIN
from proofs_checks.oracle import polyak, separated
from proofs_checks.oracle.risk import Sample

# A data set with every pair in it, a table q (X, A) and a way to move it, features of states (X, X)
# of which zeta's class has the first two, and how these move.
Case = namedtuple("Case", "sample q way features turn")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sample = draw(full_samples(3, 3))
    states, shape = len(sample.anchor), sample.visits.shape
    q, way = (draw(instances.tables(shape, instances.quarters(8))) for _ in range(2))
    below, turn = (
        draw(instances.tables((states, states), instances.quarters(8))) for _ in range(2)
    )
    return Case(sample, q, way, np.eye(states) + np.tril(below, -1), turn)


def standstill() -> Case:
    """All three steps stand still, zeta being a line in h = 0, 1, 2, and P V no line.

    The data are solved for: rewards and choices at which no entry of Q has a slope.
    """
    h, beta, b = np.arange(3.0), 0.9, np.array([4.0, 2.0, 3.0])
    moves = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]])
    q = np.stack([np.zeros(3), h - 1.0], axis=1)
    features = np.stack([np.ones(3), h, h**2], axis=1)
    target = moves @ value(q)
    off = features[:, :2] @ weights(features[:, :2], b, target) - target
    residual = beta**2 * np.linalg.solve(np.eye(3) - beta * moves.T, moves.T @ (b * off))
    anchored = np.exp(-value(q))  # the share of the anchor, whose Q is 0
    visits = (b + 2 * residual * (1 - anchored)) / anchored
    counts = np.stack([b[:, None] * moves, (visits - b)[:, None] * np.eye(3)], axis=1)
    reward = residual / b - beta * target
    turn = np.stack([np.zeros(3), [0.0, 1.0, 0.0], np.zeros(3)], axis=1)
    sample = Sample(counts, np.zeros(3, dtype=np.int64), reward, beta)
    return Case(sample, q, np.zeros_like(q), features, turn)


def weights(h: Complex, b: Array, target: Complex) -> Complex:
    """Of features (X, F): the least squares of a target (X,), by the normal equations."""
    weighted = h.T * b
    return np.asarray(np.linalg.solve(weighted @ h, weighted @ target))


def along(case: Case, features: Array, turn: Array) -> tuple[float, Array, Array]:
    """The slope of the risk, zeta being the best of a class that moves; at 0 zeta and weights."""
    sample, q, way = case[:3]
    b = separated.anchor_weight(sample)

    def best(t: complex) -> tuple[Complex, Complex, Complex]:
        table, h = q + t * way, features + t * turn
        head = weights(h, b, sample.transition @ value(table))
        return table, h @ head, head

    table, zeta, _ = best(1j * STEP)
    slope = float(np.imag(under_check.sample_risk(sample, table, zeta).total()[0]) / STEP)
    _, at, head = best(0.0)
    return slope, at.real, head.real


@claim.holds(
    "corrected.inner-step",
    instances=cases(),
    broken="the derivative through zeta's class left out, where it moves with the step",
    rejected={"moving": False},
    rejected_at=standstill,
    inferred=CHAIN,
)
def inner_step(case: Case, moving: bool = True) -> CheckResult:
    r"""With tables, let $\zeta$ be the least-squares fit of $V$ at the states that follow. It is
    the maximum of $f$ over $\zeta$, and the derivative of $f$ in $Q$ with $\zeta$ fixed is that of
    the profile $g$. A common shift $c$ of $Q$ changes $g$ by a parabola, which is least at $c =
    -\text{mean}(Q - r - \beta \zeta) / (1 - \beta)$ over anchor observations. There the sum of $Q -
    r - \beta \zeta$ is 0. The two and descent in $Q$ with $\zeta$ fixed stand still together only
    where $g$ has no slope: at its one minimiser. If $\zeta$ is $h'w$ with the best $w$, and $h$
    moves with the step, the derivative has one more term, $2 \beta^2 \sum_x b_x (P V - \zeta)(x)
    dh(x)'w$.

    Where: corrected.md, 5.

    Assumes: every action in every state with observations, observations wherever the anchor leads.

    Decided: $f$ is $g$ less $\beta^2 \sum b (\zeta - P V)^2$, whose slope at $\zeta = P V$ is 0. A
    shift takes $(1 - \beta) c$ from each residual. No slope of $g$ is $g = g^*$, by PL on every
    sublevel set. For $h'w$ the normal equations remove what $w$ adds, and not what $h$ adds.
    Measured: the library's step of $Q$ against complex steps through the risk of the best $\zeta$,
    both for tables and for two features. So are $g$ and the gaps after the shift, and the step at
    the minimiser.
    """
    sample, q, way, features, turn = case
    b, beta = separated.anchor_weight(sample), sample.discount
    why = "rounding of the risk, magnified by the sizes of the ways and of the normal equations"
    reach = 1 + float(np.abs(way).max() + np.abs(turn).max() * np.abs(features).max() ** 4)
    tolerance = reach * objective_rounding(sample, q)
    slope, zeta, _ = along(case, features, turn)
    fixed = float(np.sum(way * under_check.descent_slope(sample, q, zeta)))
    few, turned = features[:, :2], turn[:, :2]
    slope_of_few, line, head = along(case, few, turned)
    fixed_of_few = float(np.sum(way * under_check.descent_slope(sample, q, line)))
    extra = 2 * beta**2 * float(b @ ((polyak.zeta_at(sample, q) - line) * (turned @ head)))
    states = np.arange(len(q))
    gap = q[states, sample.anchor] - sample.reward - beta * zeta
    shifted = q - float(b @ gap) / float(b.sum()) / (1 - beta)
    after = shifted[states, sample.anchor] - sample.reward - beta * polyak.zeta_at(sample, shifted)
    higher, least = (under_check.objective(sample, shifted + c) for c in (1.0, 0.0))
    star = polyak.solution(sample)
    still = under_check.descent_slope(sample, star, polyak.zeta_at(sample, star))
    size = objective_rounding(sample, shifted) + objective_rounding(sample, star)
    return weakest(
        equal(zeta, polyak.zeta_at(sample, q), tolerance, why),
        equal(fixed, slope, tolerance, why),
        equal(fixed_of_few + moving * extra, slope_of_few, tolerance, why),
        equal(float(b @ after), 0.0, size, why),
        equal(higher - least, float(b.sum()) * (1 - beta) ** 2, size, why),
        under_check.zero(still, size, why),
    )
