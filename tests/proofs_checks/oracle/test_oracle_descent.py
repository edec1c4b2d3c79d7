"""Descent-ascent on quadratics: exact moments by enumeration, and the conditions of the steps."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius import BusEngine
from gladius.paper.stability import expected_counts
from gladius.validate import Array
from proofs_checks.oracle import descent as oracle
from proofs_checks.oracle import polyak
from proofs_checks.oracle.risk import Sample

WHOLE = st.integers(-3, 3).map(float)
SMALLEST = np.finfo(np.float64).tiny  # below it rounding is absolute


def symmetric(size: int) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (size, size), elements=WHOLE).map(lambda m: (m + m.T) / 8)


@given(symmetric(2), arrays(np.float64, 2, elements=WHOLE), st.integers(0, 3))
def test_the_expectation_is_that_over_all_signs_of_the_noise(
    hessian: Array, start: Array, times: int
) -> None:
    steps, sigma = oracle.Schedule(0.5, 2.0, 3.0), 0.7
    total = 0.0
    for signs in itertools.product((-1.0, 1.0), repeat=2 * times):
        z = start.copy()
        for t in range(times):
            tau = steps.c / (steps.gamma + t)
            z[0] -= tau * (hessian[0] @ z + sigma * signs[2 * t])
            z[1] += steps.ratio * tau * (hessian[1] @ z + sigma * signs[2 * t + 1])
        total += float(z @ z) / 4**times
    expected = oracle.expected_potential(hessian, 1, np.eye(2), start, steps, sigma**2, times)
    assert expected == pytest.approx(total, rel=1e-9, abs=1e-12)


@given(st.floats(0.1, 10), st.floats(0.01, 1), st.floats(0.01, 1))
def test_the_schedule_meets_the_conditions(size: float, first: float, second: float) -> None:
    constants = oracle.Moduli(l=size, mu_1=first * size, mu_2=second * size)
    steps = oracle.schedule(constants)
    tau_1 = steps.c / steps.gamma
    assert steps.c > 2 / constants.mu_1
    assert steps.ratio >= 18 * (1 - 1e-12)
    assert tau_1 * max(constants.smooth_g, constants.l, steps.ratio * constants.l) <= 1 + 1e-12


@given(st.floats(0.1, 10), st.floats(0.01, 1), st.floats(0.1, 1), st.floats(0, 2), st.floats(0, 2))
def test_the_rate_is_preserved_by_the_recursion(
    size: float, first: float, second: float, start: float, noise: float
) -> None:
    """P <= nu/(gamma + t) implies the same a step later."""
    constants = oracle.Moduli(size, first * size, second * size)
    steps = oracle.schedule(constants)
    nu = oracle.rate(constants, steps, start, noise)
    assert nu >= steps.gamma * start
    extra = (
        noise
        * (11 * constants.smooth_g + constants.l + 324 * constants.l**5 / constants.mu_2**4)
        / 20
    )
    for t in (0, 1, 10, 10**4):
        tau = steps.c / (steps.gamma + t)
        after = (1 - constants.mu_1 * tau / 2) * nu / (steps.gamma + t) + tau**2 * extra
        assert after <= nu / (steps.gamma + t + 1) * (1 + 1e-9) + SMALLEST


@given(symmetric(2), symmetric(2), arrays(np.float64, (2, 2), elements=WHOLE))
def test_one_schedule_contracts_on_a_convex_concave_quadratic(a: Array, d: Array, b: Array) -> None:
    convex, concave = a @ a + 0.1 * np.eye(2), -(d @ d) - 0.1 * np.eye(2)
    hessian = np.block([[convex, b], [b.T, concave]])
    assert oracle.deterministic_growth(hessian, 2, 1.0) <= -0.1 + 1e-9


@pytest.mark.parametrize(("beta", "rate"), [(0.5, 0.038), (0.8, 0.0016), (0.9, 0), (0.95, 0)])
def test_one_schedule_may_repel_on_the_bus_with_tables(beta: float, rate: float) -> None:
    """The numbers in the claim on one schedule for both steps."""
    world = BusEngine(discount=beta)
    moves = np.swapaxes(expected_counts(world.mdp, world.horizon).moves[0], 0, 1)
    anchor = np.full(len(moves), world.anchor_action)
    sample = Sample(moves, anchor, world.mdp.reward[:, world.anchor_action], beta)
    q = polyak.solution(sample)
    hessian = polyak.output_hessian(sample, q)
    growth = oracle.deterministic_growth(hessian, q.size, 1.0)
    assert growth == pytest.approx(rate, rel=0.03, abs=1e-9)
    # Algorithm 1's ascent has no beta^2. The cited theorem asks for a ratio of at least 18.
    for ratio in (1 / beta**2, 18.0):
        assert oracle.deterministic_growth(hessian, q.size, ratio) < 1e-9
