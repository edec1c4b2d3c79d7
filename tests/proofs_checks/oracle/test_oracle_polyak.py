"""PL constants by hand, the min-max objective at its maximiser, and the risk's bounds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gladius.model.mdp import Array
from proofs_checks.claims.instances import Empirical, empirical, full_samples, one_state
from proofs_checks.oracle import polyak
from proofs_checks.oracle.polyak import Sizes
from proofs_checks.oracle.risk import Sample


def by_hand() -> polyak.Constants:
    """gamma = (1/2) / sqrt(4), kappa = 2."""
    return polyak.Constants(
        actions=2,
        states=2,
        discount=0.5,
        nll_least=0.25,
        be_least=0.2,
        be_most=0.8,
        least_choice=0.1,
        parallel=0.5,
    )


def test_constants_by_hand() -> None:
    of = by_hand()
    assert (of.gamma, of.kappa) == (0.25, 2.0)
    assert of.bellman == pytest.approx(2 * 0.0625 * 0.04 / 0.8)
    assert of.nll == pytest.approx(0.0125)
    assert of.nll_share == pytest.approx(0.1)
    # the printed min{p_- omega / (4 (1 + kappa^2)), gamma^2 omega_min^2 / omega_max}
    assert of.combined == pytest.approx(min(0.025 / 20, 0.0625 * 0.04 / 0.8))


def test_wave_has_its_constant() -> None:
    """(1/2) g'^2 >= c g for g = u^2 + 3 sin^2 u: on a grid fine enough, and beyond it."""
    step = 1e-5
    u = np.arange(0, 6, step)
    value, slope = u**2 + 3 * np.sin(u) ** 2, 2 * u + 3 * np.sin(2 * u)
    gap = slope**2 / 2 - polyak.WAVE * value
    # between points of the grid the gap moves by at most (|g''| + c) |g'| step / 2 < 65 step
    assert gap[u > 0.01].min() > 65 * step
    # up to .01: |g'| = 2 u + 3 sin 2u >= 7 u, and g <= 4 u^2
    assert 4 * polyak.WAVE < 7**2 / 2
    # from 6 on: |g'| >= 2 u - 3, and g <= u^2 + 3
    assert (2 * u[-1] - 3) ** 2 / 2 > polyak.WAVE * (u[-1] ** 2 + 3)


def test_the_smoothness_in_theta_by_hand() -> None:
    of = Sizes(actions=2, discount=0.5, slope=2.0, curvature=1.0, residual=3.0)
    assert of.theta() == pytest.approx(6 + 2 * 2.25 * 4 + 6 * (1.5 + 0.5 * 4))


@given(st.integers(4, 9), st.floats(0.01, 0.99), st.floats(0, 5), st.floats(0, 5), st.floats(0, 50))
def test_printed_bounds_are_enough_from_four_actions_on(
    actions: int, discount: float, slope: float, curvature: float, residual: float
) -> None:
    of = Sizes(actions, discount, slope, curvature, residual)
    assert of.choice_printed >= of.choice() * (1 - 1e-12)
    assert of.theta_printed >= of.theta() * (1 - 1e-12)


# --- the min-max objective


def at_pairs(zeta: Array) -> Array:
    """(states, 2) of one number for each state."""
    return np.stack([zeta, zeta], axis=1)


@given(empirical(3, 2))
def test_the_profile_is_the_objective_at_its_best_zeta(drawn: Empirical) -> None:
    sample, q = drawn.sample, drawn.q
    best = polyak.zeta_at(sample, q)
    top = sample.f_hat(q, at_pairs(best))
    scale = (1 + np.abs(q).max() + np.abs(sample.reward).max()) ** 2
    assert polyak.profile(sample, q) == pytest.approx(top, rel=1e-9, abs=1e-9 * scale)
    for step in (1, -1):
        assert sample.f_hat(q, at_pairs(best + step)) < top


def test_an_action_never_taken_leaves_no_solution() -> None:
    moves = np.array([[[1.0], [0.0]]])
    with pytest.raises(ValueError, match="never taken"):
        polyak.solution(Sample(moves, np.array([0]), np.zeros(1), 0.5))


@given(full_samples(2, 2))
def test_the_hessian_is_that_of_the_objective(sample: Sample) -> None:
    q = polyak.solution(sample)
    point = np.concatenate([q.ravel(), polyak.zeta_at(sample, q)])
    step, eye = 1e-3, np.eye(len(point))

    def f(x: Array) -> float:
        return sample.f_hat(x[: q.size].reshape(q.shape), at_pairs(x[q.size :]))

    def slopes(x: Array) -> Array:
        return np.array([f(x + move) - f(x - move) for move in step * eye]) / (2 * step)

    differences = [(slopes(point + m) - slopes(point - m)) / (2 * step) for m in step * eye]
    tolerance = 1e-5 + 1e-15 * np.abs(point).max() ** 2 / step**2
    assert polyak.output_hessian(sample, q) == pytest.approx(np.array(differences), abs=tolerance)


def test_one_state_by_hand() -> None:
    sample = one_state([1, 1], -0.95 * math.log(2), 0.95)
    assert polyak.solution(sample) == pytest.approx(np.zeros((1, 2)), abs=1e-15)
    assert polyak.share(sample) == 0.5
    assert polyak.strong_concavity(sample) == pytest.approx(0.9025)
    assert polyak.shift_coercivity(sample) == pytest.approx(0.05 / math.sqrt(2))
    expected = [[0.3, -0.725, 0.45125], [-0.725, 0.25, 0.45125], [0.45125, 0.45125, -0.9025]]
    assert polyak.output_hessian(sample, np.zeros((1, 2))) == pytest.approx(np.array(expected))
