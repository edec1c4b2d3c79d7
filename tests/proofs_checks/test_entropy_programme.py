"""The entropy programme's dual bound against a conic solver."""

import cvxpy as cp
import numpy as np
import pytest

from proofs_checks.sections.equivalence import Programme


@pytest.mark.parametrize(
    ("x", "tau"), [([0.0, 0.0], 1.0), ([1.0, -2.0, 0.5], 2.0), ([3.0, 3.0, -1.0, 0.0], 0.5)]
)
def test_least_dual_bound_is_the_conic_optimum(x, tau):
    q = cp.Variable(len(x))
    programme = cp.Problem(
        cp.Maximize(np.array(x) @ q + tau * cp.sum(cp.entr(q))), [cp.sum(q) == 1]
    )
    programme.solve(solver="CLARABEL")
    drawn = Programme(np.array(x), tau, np.eye(len(x))[0])
    assert drawn.dual(drawn.multiplier()) == pytest.approx(programme.value, abs=1e-6)
