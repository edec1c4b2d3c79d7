"""The grouped empirical notation: against hand values, sums over rows, and differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from proofs_checks.oracle.grouped import Sample

from proofs_checks.worlds import Empirical, empirical


def hand_made() -> Sample:
    """Two states, two actions, anchors 0 and 1: six rows, three of them anchor rows at state 0."""
    moves = np.zeros((2, 2, 2))
    moves[0, 0] = 2, 1  # state 0, anchor
    moves[0, 1] = 0, 2
    moves[1, 0] = 1, 0  # state 1, not its anchor
    return Sample(moves, np.array([0, 1]), np.array([1.0, 9.0]), 0.5)


def test_weights_by_hand() -> None:
    at = hand_made()
    assert (at.size, at.be_size) == (6, 3)
    assert at.nll_weight.tolist() == pytest.approx([5 / 6, 1 / 6])
    assert at.choices.tolist() == [[0.6, 0.4], [1.0, 0.0]]
    assert at.be_states.tolist() == [0]
    assert at.be_weight.tolist() == [1.0]
    assert at.law.tolist() == [pytest.approx([2 / 3, 1 / 3])]
    assert at.evaluated.tolist() == [True, True]


def test_terms_by_hand() -> None:
    at, q = hand_made(), np.log(np.array([[1.0, 3.0], [1.0, 1.0]]))
    nll = -(3 * math.log(1 / 4) + 2 * math.log(3 / 4) + math.log(1 / 2)) / 6
    psi = 1 + 0.5 * (2 / 3 * math.log(4) + 1 / 3 * math.log(2))
    assert at.nll(q) == pytest.approx(nll)
    assert at.residual(q).tolist() == pytest.approx([psi])
    assert at.bellman(q) == pytest.approx(psi**2)
    assert at.risk(q) == pytest.approx(nll + psi**2)
    assert at.entropy() == pytest.approx(-5 / 6 * (0.6 * math.log(0.6) + 0.4 * math.log(0.4)))
    y = 2 / 3 * math.log(4) + 1 / 3 * math.log(2)
    assert at.target(q).tolist() == pytest.approx([y])
    assert at.auxiliary(np.array([y + 3]), q) == pytest.approx(0.25 * 9)


def test_a_state_that_only_follows_another_action_is_not_evaluated() -> None:
    moves = np.zeros((2, 2, 2))
    moves[0, 0, 0] = moves[0, 1, 1] = 1
    at = Sample(moves, np.zeros(2, dtype=np.int64), np.zeros(2), 0.5)
    assert at.evaluated.tolist() == [True, False]


def rows(sample: Sample) -> list[tuple[int, int, int]]:
    found = np.argwhere(sample.moves)
    return [
        (int(s), int(a), int(t)) for s, a, t in found for _ in range(int(sample.moves[s, a, t]))
    ]


@given(empirical(max_states=3))
def test_terms_are_the_averages_over_rows(at: Empirical) -> None:
    sample, q = at.sample, at.q
    v = np.log(np.exp(q - q.max()).sum(axis=1)) + q.max()
    each = [v[s] - q[s, a] for s, a, _ in rows(sample)]
    assert sample.nll(q) == pytest.approx(np.mean(each), abs=1e-9)
    total, error = 0, 0.0
    for x in range(len(q)):
        ahead = [v[t] for s, a, t in rows(sample) if s == x and a == sample.anchor[x]]
        if ahead:
            gap = sample.reward[x] + sample.discount * np.mean(ahead) - q[x, sample.anchor[x]]
            total, error = total + len(ahead), error + len(ahead) * gap**2
    assert sample.bellman(q) == pytest.approx(error / total, abs=1e-9)


@given(empirical(max_states=3))
def test_the_entropy_is_the_least_likelihood_loss(at: Empirical) -> None:
    sample = at.sample
    assert sample.nll(at.q) >= sample.entropy() - 1e-9
    best = np.zeros_like(at.q)
    best[sample.nll_states] = np.log(np.maximum(sample.choices, 1e-300))
    assert sample.nll(best) == pytest.approx(sample.entropy(), abs=1e-9)


@given(empirical(max_states=2))
def test_gradients_are_differences(at: Empirical) -> None:
    sample, q = at.sample, at.q
    step = 1e-5
    scale = 1 + np.abs(sample.reward).max() + np.abs(q).max()
    jacobian = sample.residual_jacobian(q)
    for k in range(q.size):
        move = (step * np.eye(q.size)[k]).reshape(q.shape)
        up, down = q + move, q - move
        for loss, gradient in (
            (sample.nll, sample.nll_gradient(q)),
            (sample.bellman, sample.bellman_gradient(q)),
        ):
            difference = (loss(up) - loss(down)) / (2 * step)
            assert difference == pytest.approx(gradient.ravel()[k], abs=1e-8 * scale**2)
        change = (sample.residual(up) - sample.residual(down)) / (2 * step)
        np.testing.assert_allclose(change, jacobian[:, k], atol=1e-8 * scale)


@given(empirical(max_states=3))
def test_columns_of_unevaluated_states_are_empty(at: Empirical) -> None:
    blocks = at.sample.residual_jacobian(at.q).reshape(-1, *at.q.shape)
    assert not np.any(blocks[:, ~at.sample.evaluated])
    assert not np.any(at.sample.nll_gradient(at.q)[~at.sample.evaluated])
