"""The roughness of the class `smooth`: divided second differences on any grid."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gladius.smooth import roughness_rows
from gladius.transitions import Counts

GAPS = arrays(np.float64, st.integers(2, 8), elements=st.floats(0.1, 10.0))


def counts(x: NDArray[np.float64], present: NDArray[np.bool_]) -> Counts:
    visits = present[:, :, None] * np.ones(2)
    return Counts(x[:, None], visits, np.zeros((len(present), 2, len(x), len(x))))


@given(GAPS, st.floats(0.01, 100.0))
def test_it_is_the_second_derivative_of_a_parabola_on_an_uneven_grid(
    gaps: NDArray[np.float64], unit: float
) -> None:
    """In units of the mean spacing: 2 at every inner state, and 0 for a line and at the ends."""
    x = unit * np.concatenate([[0.0], np.cumsum(gaps)])
    (rows,) = roughness_rows(counts(x, np.ones((1, len(x)), dtype=bool)))
    u = x / np.mean(np.diff(x))
    inner = np.r_[0.0, np.full(len(x) - 2, 2.0), 0.0]
    scale = np.abs(rows).max() * u[-1] ** 2
    np.testing.assert_allclose(rows @ u**2, inner, atol=1e-12 * scale)
    np.testing.assert_allclose(rows @ (3 * u - 1), 0.0, atol=1e-12 * scale)


def test_states_that_a_replication_never_saw_are_skipped() -> None:
    x = np.array([0.0, 1.0, 3.0, 4.0, 9.0])
    present = np.array([[True] * 5, [True, False, True, True, True]])
    rows = roughness_rows(counts(x, present))[1]
    alone = roughness_rows(counts(x[present[1]], np.ones((1, 4), dtype=bool)))[0]
    np.testing.assert_allclose(rows[np.ix_(present[1], present[1])], alone)
    assert not rows[1].any()
    assert not rows[:, 1].any()
