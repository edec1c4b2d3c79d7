"""Section 2, Related works: the constraints of Su and Judd."""

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st

from gladius.checks import Array
from gladius.mdp import action_values, soft_bellman
from gladius.objective import value
from proofs_checks.claims import CheckResult, at_most, claim, equal, weakest
from proofs_checks.library import WHY
from proofs_checks.worlds import REWARDS, absorbing, tables, tabular_mdps

# The world with the first reward, a second (S, A), what is added to log sum exp of the two (2, S),
# 0 for solutions, and the share of the first in the mixture.
Mixture = namedtuple("Mixture", "mdp reward above share")


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    mdp = draw(tabular_mdps(4, 3))
    states, actions = mdp.reward.shape
    reward = draw(tables((states, actions), REWARDS))
    above = draw(tables((2, states), st.integers(0, 8).map(float)))
    return Mixture(mdp, reward, above, draw(st.sampled_from([0.5, 0.1, 0.0])))


def _mixed(mixture: Mixture, above: Array) -> tuple[Array, Array, Array, float]:
    """(log sum exp of the right side, V, V*) at the mixture of two points, and a tolerance.

    Each point is a reward and the V that solves V = log sum exp(r + beta P V) + above.
    """
    world = (mixture.mdp.transition, mixture.mdp.discount)
    rewards = (mixture.mdp.reward, mixture.reward)
    lifted = [soft_bellman(r + up[:, None], *world).v for r, up in zip(rewards, above, strict=True)]
    r, v = (mixture.share * x + (1 - mixture.share) * y for x, y in (rewards, lifted))
    scale = max(1.0, *(float(np.max(np.abs(x))) for x in lifted))
    right = value(action_values(r, *world, v))
    return right, v, soft_bellman(r, *world).v, 4e-12 * scale / (1 - mixture.mdp.discount)


def inequalities_are_convex(mixture: Mixture, sign: int = 1) -> CheckResult:
    """The soft Bellman inequalities V >= log sum exp(r_theta + beta P V) form a convex set, not a
    polyhedral one, of (theta, V) where r_theta is linear; for each theta its least V is the
    solution. The equations themselves are nonlinear constraints.

    Decided: log sum exp is convex and not piecewise linear; V -> log sum exp(r + beta P V) is
    monotone and a contraction, so all that lies above its image lies above V*. Measured: mixtures
    of points with and without slack satisfy the inequality and lie above V* (library).
    """
    right, v, least, tolerance = _mixed(mixture, mixture.above)
    gaps = (sign * (right - v), least - v)
    return weakest(*(at_most(np.max(gap), 0.0, tolerance, WHY) for gap in gaps))


@claim.fails(
    "related.polyhedral",
    instances=mixtures(),
    counterexample=lambda: Mixture(
        absorbing([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.zeros((2, 1)), 0.5
    ),
    text="One state, two actions, beta = 1/2, r_theta = (theta, 1 - theta). Theta = 1 and 0 "
    "have V = 2 log(1 + e) = {observed:.6f}.\nThe midpoint theta = 1/2 with that V violates "
    "V = log(2 exp(1/2 + V/2)), whose right side is {bound:.6f}.\nWith max for log sum exp "
    "likewise: V = 2, 2, and V = max(1/2, 1/2) + V/2 gives 1.",
    corrected=inequalities_are_convex,
    broken="the inequality the other way, V <= log sum exp(r + beta P V)",
    rejected={"sign": -1},
)
def equations_are_polyhedral(mixture: Mixture) -> CheckResult:
    """The "Bellman equations constitute a convex polyhedral constraint set": in the variables
    (theta, V) of Su and Judd's programme, mixtures of two solutions of the equations
    V = log sum exp(r_theta + beta P V) are solutions.

    Where: Section 2, on Su and Judd (2012), whose programme is nonlinear and is said to be "a
    nested linear programming problem with Bellman equations as constraints of a linear program".

    Assumes: r_theta linear in theta, the case most favourable to the statement; P and beta fixed.

    Decided: the equation is that of the graph of a strictly convex function. For fixed theta the
    set is a single point and the statement empty; V >= max_a(r + beta P V), of the linear programme
    for plain dynamic programming, is polyhedral, but is neither an equation nor the DDC model's.
    """
    right, v, _, tolerance = _mixed(mixture, np.zeros_like(mixture.above))
    return equal(v, right, tolerance, WHY)
