"""The min-max objective in the outputs: against sums over rows, differences and hand values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from gladius.checks import Array
from proofs_checks.oracle import saddle as oracle
from proofs_checks.oracle.grouped import Sample
from proofs_checks.sections.guarantees_convergence import full_samples
from proofs_checks.worlds import Empirical, empirical


def over_rows(sample: Sample, q: Array, zeta: Array) -> float:
    """f-hat_N, one observed transition after another."""
    total, number = 0.0, 0
    v = logsumexp(q, axis=1)
    for s, a, t in np.argwhere(sample.moves > 0):
        times = int(sample.moves[s, a, t])
        term = v[s] - q[s, a]
        if a == sample.anchor[s]:
            td = sample.reward[s] + sample.discount * v[t] - q[s, a]
            term += td**2 - sample.discount**2 * (v[t] - zeta[s]) ** 2
        total, number = total + times * term, number + times
    return float(total) / number


def one_state(discount: float = 0.95) -> Sample:
    return Sample(np.ones((1, 2, 1)), np.array([0]), np.array([-discount * math.log(2)]), discount)


@given(empirical(3, 2))
def test_the_profile_is_the_objective_at_its_best_zeta(at: Empirical) -> None:
    best = oracle.zeta_at(at.sample, at.q)
    top = over_rows(at.sample, at.q, best)
    close = {
        "rel": 1e-9,
        "abs": 1e-9 * (1 + np.abs(at.q).max() + np.abs(at.sample.reward).max()) ** 2,
    }
    assert oracle.profile(at.sample, at.q) == pytest.approx(top, **close)
    assert over_rows(at.sample, at.q, best + 1) < top
    assert over_rows(at.sample, at.q, best - 1) < top


@given(full_samples(3, 2))
def test_at_the_solution_both_terms_are_least(sample: Sample) -> None:
    q = oracle.solution(sample)
    scale = 1 + np.abs(q).max()
    assert sample.nll(q) == pytest.approx(sample.entropy(), rel=1e-12, abs=1e-13 * scale)
    assert np.abs(sample.residual(q)).max() < 1e-12 * scale


@given(full_samples(2, 2))
def test_the_hessian_is_that_of_the_sums_over_rows(sample: Sample) -> None:
    q = oracle.solution(sample)
    at = np.concatenate([q.ravel(), oracle.zeta_at(sample, q)])
    step, eye = 1e-3, np.eye(len(at))

    def f(x: Array) -> float:
        return over_rows(sample, x[: q.size].reshape(q.shape), x[q.size :])

    found = np.array(
        [
            [
                (f(at + i + j) - f(at + i - j) - f(at - i + j) + f(at - i - j)) / (4 * step**2)
                for j in step * eye
            ]
            for i in step * eye
        ]
    )
    rounding = 1e-15 * np.abs(at).max() ** 2 / step**2
    assert oracle.output_hessian(sample, q) == pytest.approx(found, abs=1e-5 + rounding)


def test_one_state_by_hand() -> None:
    sample = one_state()
    assert oracle.solution(sample) == pytest.approx(np.zeros((1, 2)), abs=1e-15)
    assert oracle.share(sample) == 0.5
    assert oracle.level_curvature(sample) == pytest.approx(-0.9)  # 2 (1 - 2 x .95) / 2
    assert oracle.strong_concavity(sample) == pytest.approx(0.9025)
    assert oracle.shift_coercivity(sample) == pytest.approx(0.05 / math.sqrt(2))
    expected = [[0.3, -0.725, 0.45125], [-0.725, 0.25, 0.45125], [0.45125, 0.45125, -0.9025]]
    assert oracle.output_hessian(sample, np.zeros((1, 2))) == pytest.approx(np.array(expected))


@given(st.floats(0.01, 0.99))
def test_no_discount_makes_the_objective_two_sided_pl(beta: float) -> None:
    """Rows (x, 0, y), (x, 1, y): at a solution, shifts beta at x and 1 at y lower f by beta^2/2."""
    moves = np.zeros((2, 2, 2))
    moves[0, :, 1] = 1
    sample = Sample(moves, np.array([0, 0]), np.zeros(2), beta)
    q = np.array([[beta * math.log(2)] * 2, [0.0, 0.0]])  # Psi = beta log 2 - q = 0
    zeta = oracle.zeta_at(sample, q)
    gradient = [
        over_rows(sample, q + h * e, zeta) - over_rows(sample, q - h * e, zeta)
        for h in (1e-4,)
        for e in np.eye(4).reshape(4, 2, 2)
    ]
    assert np.abs(gradient).max() < 1e-11
    moved = q + np.array([[beta], [1.0]])
    change = over_rows(sample, moved, zeta) - over_rows(sample, q, zeta)
    assert change == pytest.approx(-(beta**2) / 2, abs=1e-12)


def test_an_action_never_taken_leaves_no_solution() -> None:
    moves = np.array([[[1.0], [0.0]]])
    with pytest.raises(ValueError, match="never taken"):
        oracle.solution(Sample(moves, np.array([0]), np.zeros(1), 0.5))


@given(empirical(3, 3))
def test_the_pl_constant_shrinks_with_the_bellman_weight(at: Empirical) -> None:
    constants = [oracle.pl_constant(at.sample, 0.1, share) for share in (1.0, 0.5, 0.25)]
    assert constants == sorted(constants, reverse=True)
    # never above the appendix's own gamma_perp, which is a lower bound on the one used here
    states = int(np.sum(at.sample.moves.sum(axis=(1, 2)) + at.sample.moves.sum(axis=(0, 1)) > 0))
    least = (1 - at.sample.discount) / math.sqrt(at.q.shape[1] * states)
    assert oracle.shift_coercivity(at.sample) >= least * (1 - 1e-9)
