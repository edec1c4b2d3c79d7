"""The paper's risks: hand values, sums over rows, and differences for their derivatives."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proofs_checks.oracle.risk import (
    FixedDesign,
    Population,
    Rows,
    Sample,
    complex_gradient,
    golden_maximum,
    least_squares_zeta,
    log_sum_exp,
    td_minimiser,
    zeta_error,
)
from proofs_checks.worlds import VALUES, Empirical, Fitted, empirical, fitted

COIN = np.array([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def of(drawn: Fitted) -> Population:
    mdp = drawn.mdp
    return Population(np.swapaxes(mdp.transition, 0, 1), mdp.reward, drawn.q, mdp.discount)


def test_hand_values_of_a_coin():
    """V = (1, 0, 2), beta = 1/2, r = 1/4 at state 0: delta is -3/4 or 1/4, each with 1/2."""
    reward, q = np.array([[0.25], [0.0], [0.0]]), np.array([[1.0], [0.0], [2.0]])
    known = Population(COIN[:, None], reward, q, 0.5)
    assert known.v == [1.0, 0.0, 2.0]
    pair = (0, 0)
    assert known.delta()[pair] == -0.25
    assert known.backup()[pair] == 0.75
    assert known.bellman()[pair] == 1 / 16
    assert known.td()[pair] == 5 / 16
    assert known.backup_variance()[pair] == 1 / 4
    np.testing.assert_allclose(known.deviation()[pair], 1.0, atol=1e-15)
    assert known.spread(np.ones((3, 1)))[pair] == 1.0
    assert known.linear(np.ones((3, 1)))[pair] == -1.5


@given(fitted())
def test_least_spread_is_the_variance(drawn):
    known = of(drawn)
    v = np.array(known.v)
    mean = np.einsum("say,y->sa", known.law, v)
    variance = np.einsum("say,say->sa", known.law, (v - mean[:, :, None]) ** 2)
    np.testing.assert_allclose(known.deviation(), variance, atol=1e-9)


@given(arrays(np.float64, 3, elements=VALUES), arrays(np.float64, 3, elements=VALUES))
def test_golden_section_finds_the_top_of_a_parabola(peak, top):
    best = golden_maximum(lambda x: top - (x - peak) ** 2, peak - 7, peak + 3)
    np.testing.assert_allclose(best, top, atol=1e-12)


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_log_sum_exp_of_shifted_values(row):
    assert math.isclose(
        log_sum_exp([x + 700 for x in row]), 700 + math.log(sum(map(math.exp, row))), abs_tol=1e-9
    )


def test_td_minimiser_of_the_coin():
    q = td_minimiser(COIN, np.array([0.0, 0.0, 1.0]), 0.5, np.array([0.5, 0.25, 0.25]))
    np.testing.assert_allclose(q, [0.5, 0.5, 1.5], atol=1e-14)


@given(fitted())
def test_least_squares_over_dummies_is_the_mean(drawn):
    known = of(drawn)
    weight = np.arange(drawn.q.size, dtype=float).reshape(drawn.q.shape)
    zeta = least_squares_zeta(known.law, weight, np.array(known.v))
    np.testing.assert_allclose(zeta[weight > 0], known.mean(lambda _, __, v: v)[weight > 0])
    assert zeta[0, 0] == 0.0


# --- row by row
LOG2 = float(np.log(2.0))
SMALL = st.floats(-3, 3)


def test_hand_values_of_three_rows():
    """V = 0 at state 0 and 2 at state 1; two anchor rows from 0, to 0 and to 1; one other row."""
    rows = Rows(np.array([0, 0, 1]), np.array([0, 0, 1]), np.array([0, 1, 1]), 0, np.ones(2), 0.5)
    q = np.array([[0.0, 0.0], [2.0, 2.0]]) - LOG2
    assert rows.nll(q) == pytest.approx(3 * LOG2)
    assert rows.td(q) == pytest.approx((1 + LOG2) ** 2 + (2 + LOG2) ** 2)
    np.testing.assert_allclose(rows.zeta_bar(q), [[1.0, 0.0], [0.0, 2.0]], atol=1e-15)
    assert rows.spread(q, rows.zeta_bar(q)) == pytest.approx(2.0)
    bellman = 2 * (1.5 + LOG2) ** 2
    assert rows.risk(q) == pytest.approx((3 * LOG2 + bellman) / 3)
    assert rows.algorithm_2(q) == pytest.approx((3 * LOG2 + bellman + 0.5) / 3)


@given(arrays(np.float64, (2, 2), elements=SMALL), arrays(np.float64, (2, 2), elements=SMALL))
def test_complex_gradient_is_that_of_differences(q, zeta):
    rows = Rows(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1, 1, 0]), 0, np.ones(2), 0.9)
    for f in (
        lambda x: rows.f_hat(x.reshape(2, 2), zeta),
        lambda x: rows.risk(x.reshape(2, 2)),
        lambda x: rows.f_hat(q, x.reshape(2, 2)),
    ):
        slope = complex_gradient(f, q.ravel())
        moves = 1e-5 * np.eye(4)
        differences = [(f(q.ravel() + m) - f(q.ravel() - m)) / 2e-5 for m in moves]
        np.testing.assert_allclose(slope, differences, atol=1e-7)


@given(
    arrays(np.float64, (3, 2), elements=st.integers(-3, 3).map(float)),
    arrays(np.float64, 3, elements=SMALL),
)
def test_outcomes_have_the_stated_moments(features, noise):
    design = FixedDesign(features, np.ones(2), noise, np.zeros(3), 0.5)
    seen = design.outcomes()
    assert seen.shape == (8, 3)
    np.testing.assert_allclose(seen.mean(axis=0), design.mean, atol=1e-12)
    centred = seen - design.mean
    np.testing.assert_allclose(centred.T @ centred / 8, np.diag(noise**2), atol=1e-12)
    np.testing.assert_allclose(design.hat @ design.hat, design.hat, atol=1e-9)
    np.testing.assert_allclose(design.hat @ design.mean, design.mean, atol=1e-9)


def test_design_by_hand():
    design = FixedDesign(np.ones((2, 1)), np.array([2.0]), np.array([1.0, 3.0]), np.ones(2), 0.5)
    assert design.bellman() == 4.0
    assert design.td_bias(np.ones(2)) == 0.25 * 5.0
    np.testing.assert_allclose(np.diag(design.hat), [0.5, 0.5])


def test_error_of_zeta_by_hand():
    assert zeta_error(np.array([0.5, 0.5]), np.array([0.0, 2.0]), 2, 0.5) == Fraction(1, 8)
    assert zeta_error(np.array([1.0]), np.array([7.0]), 3, 0.9) == 0


# --- grouped
def hand_made() -> Sample:
    """Two states, two actions, anchors 0 and 1: six rows, three of them anchor rows at state 0."""
    moves = np.zeros((2, 2, 2))
    moves[0, 0] = 2, 1  # state 0, anchor
    moves[0, 1] = 0, 2
    moves[1, 0] = 1, 0  # state 1, not its anchor
    return Sample(moves, np.array([0, 1]), np.array([1.0, 9.0]), 0.5)


def test_weights_by_hand() -> None:
    sample = hand_made()
    assert (sample.size, sample.be_size) == (6, 3)
    assert sample.nll_weight.tolist() == pytest.approx([5 / 6, 1 / 6])
    assert sample.choices.tolist() == [[0.6, 0.4], [1.0, 0.0]]
    assert sample.be_states.tolist() == [0]
    assert sample.be_weight.tolist() == [1.0]
    assert sample.law.tolist() == [pytest.approx([2 / 3, 1 / 3])]
    assert sample.evaluated.tolist() == [True, True]


def test_terms_by_hand() -> None:
    sample, q = hand_made(), np.log(np.array([[1.0, 3.0], [1.0, 1.0]]))
    nll = -(3 * math.log(1 / 4) + 2 * math.log(3 / 4) + math.log(1 / 2)) / 6
    psi = 1 + 0.5 * (2 / 3 * math.log(4) + 1 / 3 * math.log(2))
    assert sample.nll(q) == pytest.approx(nll)
    assert sample.residual(q).tolist() == pytest.approx([psi])
    assert sample.bellman(q) == pytest.approx(psi**2)
    assert sample.risk(q) == pytest.approx(nll + psi**2)
    assert sample.entropy() == pytest.approx(-5 / 6 * (0.6 * math.log(0.6) + 0.4 * math.log(0.4)))
    y = 2 / 3 * math.log(4) + 1 / 3 * math.log(2)
    assert sample.target(q).tolist() == pytest.approx([y])
    assert sample.auxiliary(np.array([y + 3]), q) == pytest.approx(0.25 * 9)


def test_a_state_that_only_follows_another_action_is_not_evaluated() -> None:
    moves = np.zeros((2, 2, 2))
    moves[0, 0, 0] = moves[0, 1, 1] = 1
    sample = Sample(moves, np.zeros(2, dtype=np.int64), np.zeros(2), 0.5)
    assert sample.evaluated.tolist() == [True, False]


def rows(sample: Sample) -> list[tuple[int, int, int]]:
    kinds = np.argwhere(sample.moves)
    return [(s, a, t) for s, a, t in kinds.tolist() for _ in range(int(sample.moves[s, a, t]))]


@given(empirical(max_states=3))
def test_terms_are_the_averages_over_rows(drawn: Empirical) -> None:
    sample, q = drawn.sample, drawn.q
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
def test_the_entropy_is_the_least_likelihood_loss(drawn: Empirical) -> None:
    sample = drawn.sample
    assert sample.nll(drawn.q) >= sample.entropy() - 1e-9
    best = np.zeros_like(drawn.q)
    best[sample.nll_states] = np.log(np.maximum(sample.choices, 1e-300))
    assert sample.nll(best) == pytest.approx(sample.entropy(), abs=1e-9)


@given(empirical(max_states=2))
def test_gradients_are_differences(drawn: Empirical) -> None:
    sample, q = drawn.sample, drawn.q
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
def test_columns_of_unevaluated_states_are_empty(drawn: Empirical) -> None:
    sample, q = drawn.sample, drawn.q
    blocks = sample.residual_jacobian(q).reshape(-1, *q.shape)
    assert not np.any(blocks[:, ~sample.evaluated])
    assert not np.any(sample.nll_gradient(q)[~sample.evaluated])
