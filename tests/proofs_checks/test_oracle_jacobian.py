"""Exact ranks, the full-column-rank infimum, laws of small Gram matrices, counts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from proofs_checks.oracle.jacobian import (
    evaluation_points,
    gram_below,
    least_response,
    parameters,
    rank,
    smallest_eigenvalue,
)
from scipy.optimize import minimize

from gladius import BusEngine
from gladius.approximators import MLP

WHOLE = st.integers(-2, 2).map(float)
MATRICES = st.tuples(st.integers(1, 4), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=WHOLE)
)


@given(MATRICES)
def test_rank_is_that_of_the_singular_values(matrix: np.ndarray) -> None:
    assert rank(matrix) == np.linalg.matrix_rank(matrix)


def test_rank_sees_what_rounding_hides() -> None:
    assert rank(np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])) == 2


@given(MATRICES)
def test_smallest_eigenvalue_is_the_least_quadratic_form(matrix: np.ndarray) -> None:
    values = np.linalg.eigvalsh(matrix @ matrix.T)
    np.testing.assert_allclose(smallest_eigenvalue(matrix), values[0], atol=1e-12)


@given(MATRICES)
def test_least_response_is_the_infimum_over_unit_vectors(gradients: np.ndarray) -> None:
    n, d = gradients.shape
    found = least_response(gradients)
    assert (found > 0) == (rank(gradients) == d)
    directions = np.array([h for h in itertools.product(np.linspace(-1, 1, 9), repeat=d) if any(h)])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    responses = np.abs(directions @ gradients.T).max(axis=1)
    assert responses.min() >= found - 1e-9
    singular = np.linalg.svd(gradients, compute_uv=False)[-1] if n >= d else 0.0
    assert singular / math.sqrt(n) - 1e-9 <= found <= singular + 1e-9


def test_least_response_is_attained() -> None:
    gradients = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
    best = minimize(
        lambda x: np.abs(gradients @ [math.cos(x[0]), math.sin(x[0])]).max(),
        x0=[2.2],
        method="Nelder-Mead",
        options={"xatol": 1e-10},
    )
    assert least_response(gradients) == pytest.approx(best.fun, abs=1e-7)


LISTED = [(1, 4, 1 / 3, 1.0), (1, 3, 0.5, 0.5), (2, 4, 1.0, 1.0), (2, 3, 1.0, 0.5)]


@pytest.mark.parametrize(("rows", "columns", "nonzero", "present"), LISTED)
@pytest.mark.parametrize("level", [0.0, 0.7, 1.0, 2.5, 4.0])
def test_gram_below_by_listing_every_matrix(
    rows: int, columns: int, nonzero: float, present: float, level: float
) -> None:
    high = 1 / math.sqrt(nonzero)
    entries = [(high, nonzero / 2), (-high, nonzero / 2)]
    entries += [(0.0, 1 - nonzero)] if nonzero < 1 else []
    switches = [(1 / math.sqrt(present), present)]
    switches += [(0.0, 1 - present)] if present < 1 else []
    total = 0.0
    for drawn in itertools.product(entries, repeat=rows * columns):
        phi = np.array([x for x, _ in drawn]).reshape(rows, columns)
        chance = math.prod(p for _, p in drawn)
        for on in itertools.product(switches, repeat=rows):
            gram = np.array([x for x, _ in on])[:, None] * phi
            least = np.linalg.eigvalsh(gram @ gram.T)[0]
            total += chance * math.prod(p for _, p in on) * (least < level - 1e-9)
    assert gram_below(rows, columns, nonzero, present, level - 1e-9) == pytest.approx(total)


def test_gram_below_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="two rows"):
        gram_below(3, 4, 1.0, 1.0, 1.0)


def test_parameters_are_those_of_the_library() -> None:
    assert parameters(1, (10, 10), 2) == MLP(1, 2).size == 152
    assert parameters(101, (10, 10), 2) == MLP(101, 2).size == 1152
    assert parameters(3, (4,), 1) == MLP(3, 1, (4,)).size


def test_evaluation_points_are_distinct_states_and_all_actions() -> None:
    world = BusEngine(dummies=1)
    kept = world.simulate(3, np.random.default_rng(1))
    after = kept.next_states[kept.actions == world.anchor_action]
    listed = {tuple(row) for row in (*kept.states.tolist(), *after.tolist())}
    assert evaluation_points(kept.states, after, 2) == 2 * len(listed)
