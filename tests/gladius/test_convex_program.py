"""The soft Bellman solution against a convex program over occupancies, which cvxpy solves.

Of all discounted occupancies mu the best one maximises mu'r plus the entropy of choices. Its value
is (1 - beta) times the mean of V, and its choices are the policy (Neu, Jonsson and Gomez, 2017,
"A unified view of entropy-regularized Markov decision processes"). Neither V nor Q is in the
program.
"""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import tabular_mdps

from gladius.model.mdp import TabularMDP
from gladius.validate import Array
from proofs_checks.claims.instances import MILD

# Clarabel's, relative: of the gap to the dual value, and of each of the S constraints, whose price
# is V. Norms there are of mu and of the cones' slacks, of which there are at most four each.
TOLERANCE = 1e-8


def program(world: TabularMDP) -> tuple[float, Array]:
    """The optimal value and the (S, A) occupancy, which sums to one."""
    mu = cp.Variable(world.reward.shape, nonneg=True)
    state = cp.sum(mu, axis=1)
    inflow = sum(p.T @ mu[:, a] for a, p in enumerate(world.transition))
    entropy = -cp.sum(cp.rel_entr(mu, cp.vstack([state] * world.reward.shape[1]).T))
    flow = state == (1 - world.discount) * world.initial + world.discount * inflow
    problem = cp.Problem(cp.Maximize(cp.sum(cp.multiply(world.reward, mu)) + entropy), [flow])
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    return float(problem.value), np.asarray(mu.value)


def bound(world: TabularMDP) -> float:
    """Of the error of the program's value."""
    v = np.abs(world.solution.v)
    return TOLERANCE * (1 + (1 + 4 * v.size) * max(1.0, v.max()))


@settings(max_examples=60)
@given(tabular_mdps(discounts=st.sampled_from([0.5, 0.9, 0.95]), rewards=MILD))
def test_v_and_the_policy_are_those_of_the_best_occupancy(world: TabularMDP) -> None:
    value, mu = program(world)
    gap = bound(world)
    assert abs(value - (1 - world.discount) * world.initial @ world.solution.v) <= gap
    # The value falls short by the visits times the divergence of choices from the policy: Pinsker.
    far = np.abs(mu - mu.sum(axis=1, keepdims=True) * world.solution.policy).sum()
    assert far <= np.sqrt(2 * gap) + 4 * mu.size * TOLERANCE


def test_the_bound_notices_another_discount_factor() -> None:
    """Negative control: one state and two actions, with V in closed form."""
    world = TabularMDP(np.array([[1.0, 0.0]]), np.ones((2, 1, 1)), 0.9, np.ones(1))
    value, mu = program(world)
    assert value == pytest.approx(np.log1p(np.e), abs=bound(world))
    assert abs(value - 0.1 * np.log1p(np.e) / (1 - 0.899)) > 1e4 * bound(world)
    assert np.abs(mu[0] - [0.73, 0.27]).sum() > np.sqrt(2 * bound(world))
