"""From CCPs and an anchor to Q, by hand and where equations are left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax, logsumexp

from proofs_checks.oracle import ccp
from proofs_checks.worlds import VALUES, fitted

WHOLE = st.integers(-5, 5).map(float)


@st.composite
def observations(draw):
    """Any CCPs, kernel and anchor: they need not come from a solved world."""
    drawn = draw(fitted(3, 3))
    states, actions = drawn.q.shape
    return ccp.Observed(
        log_policy=log_softmax(drawn.q, axis=1),
        transition=drawn.mdp.transition,
        anchor=draw(arrays(np.int64, states, elements=st.integers(0, actions - 1))),
        given=draw(arrays(np.float64, states, elements=WHOLE)),
        discount=min(drawn.mdp.discount, 0.99),
    )


@given(observations(), st.data())
def test_nearest_solution_of_the_anchor_rows_keeps_what_they_leave_free(seen, data):
    start = data.draw(arrays(np.float64, seen.log_policy.shape, elements=VALUES))
    actions = seen.log_policy.shape[1]
    matrix, right = ccp.system(seen, leave_out=tuple(range(actions)))
    free = np.ones(start.shape, dtype=bool)
    free[np.arange(len(seen.anchor)), seen.anchor] = False
    nearest = ccp.nearest(start, matrix, right)
    scale = 1e-10 * max(1.0, np.abs(right).max(), np.abs(start).max()) / (1 - seen.discount) ** 2
    assert nearest[free] == pytest.approx(start[free], abs=scale)


@given(observations(), st.data())
def test_extended_solves_the_system_in_some_states_given_the_others(seen, data):
    start = data.draw(arrays(np.float64, seen.log_policy.shape, elements=VALUES))
    inside = data.draw(arrays(np.bool_, len(start)))
    q = ccp.extended(seen, start, inside)
    v = logsumexp(q, axis=1)
    scale = 1e-11 * max(1.0, np.abs(q).max()) / (1 - seen.discount)
    assert np.array_equal(q[~inside], start[~inside])
    log_policy = log_softmax(q, axis=1)[inside]
    assert log_policy == pytest.approx(seen.log_policy[inside], abs=scale)
    anchored = q[np.arange(len(q)), seen.anchor]
    target = seen.given + seen.discount * seen.anchored @ v
    assert anchored[inside] == pytest.approx(target[inside], abs=scale)
