"""Tests of many inputs together: they see what no pair shows, and nothing where nothing is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

import gladius
from gladius.own_data.erm import misfit as trust
from gladius.own_data.erm.together import p_value_of_many, principal_directions
from gladius.panel.record import Transitions

HALF = np.arange(8_000) % 2 == 0


def p_value(z: np.ndarray, actions: np.ndarray, fitted: np.ndarray, gap: np.ndarray) -> float:
    """Of choices with probabilities `fitted` of action 1, and of next values that are `gap` off."""
    policy = np.column_stack([1 - fitted, fitted])
    ((error, variance),) = trust.deviations(actions, policy, [1])

    def of(asked: np.ndarray) -> trust.Deviations:
        own, e = np.ones(asked.sum()), gap[asked]
        choices = [(error[asked], variance[asked])]
        moves = np.arange(len(e)), actions[asked], (own, e, e**2)
        return trust.Deviations(own, choices, *moves, 0.95)

    outcomes = [actions.astype(float), gap, error, gap]
    log_odds = np.log(np.maximum(fitted, 1e-300)) - np.log1p(-fitted)
    return p_value_of_many(z, HALF, outcomes, [log_odds], of)


@given(
    signs=arrays(np.int8, 8, elements=st.sampled_from([-1, 1])),
    units=arrays(np.float64, 8, elements=st.floats(0.1, 10)),
)
@settings(max_examples=15, deadline=None)
def test_the_direction_of_a_bend_is_found(signs: np.ndarray, units: np.ndarray) -> None:
    """Oracle: the weights by which the index was made, whatever units its inputs are given in."""
    z = np.random.default_rng(3).normal(size=(8_000, 8))
    y = np.abs(z @ signs) + z[:, 0]
    first = principal_directions(z * units, [y])[:, 0] * units
    assert abs(first @ signs) > 0.95 * np.linalg.norm(first) * np.sqrt(8)


def w_shaped(z: np.ndarray) -> np.ndarray:
    """A function of the sum that its quadratic regression on all inputs says nothing of."""
    index = z.sum(axis=1)
    bend = np.abs(index)
    terms = np.column_stack([np.ones(len(z)), index, index**2])
    return np.asarray(bend - terms @ np.linalg.lstsq(terms, bend, rcond=None)[0])


@pytest.mark.parametrize("seed", [1, 2])
def test_an_index_that_no_pair_shows_is_a_misfit_of_choices_and_of_next_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(8_000, 8))
    left, even = w_shaped(z), 0.4 * (z.sum(axis=1) ** 2 / 8 - 1)
    fitted, true = expit(even), expit(even + 1.5 * left)
    drawn = (rng.random(8_000) < true).astype(np.int64)
    noise = rng.normal(size=8_000)
    assert p_value(z, drawn, fitted, noise) < trust.REJECTED
    assert p_value(z, drawn, true, noise) > trust.DOUBTFUL  # the true choices
    own = rng.permutation(drawn)
    off = noise + 2 * left  # of next values alone
    share = np.full(8_000, own.mean())
    assert p_value(z, own, share, off + z.sum(axis=1) ** 2 / 8 - 1) < trust.REJECTED
    assert p_value(z, own, share, noise) > trust.DOUBTFUL


def test_an_index_that_bends_nowhere_shows_along_the_log_odds() -> None:
    """Of a steep function of a sum a logit has the slope, and not the shape."""
    rng = np.random.default_rng(4)
    z = rng.normal(size=(8_000, 8)) / np.sqrt(8)
    index = z.sum(axis=1)
    true, fitted = np.where(index > 0, 0.8, 0.2), expit(1.2 * index)
    drawn = (rng.random(8_000) < true).astype(np.int64)
    assert p_value(z, drawn, fitted, rng.normal(size=8_000)) < trust.REJECTED


def test_what_the_search_finds_in_one_half_is_no_misfit_in_the_other() -> None:
    """With forty inputs of noise the largest direction of one half is many standard errors off."""
    rng = np.random.default_rng(5)
    z, fitted = rng.normal(size=(8_000, 40)), np.full(8_000, 0.02)
    drawn = (rng.random((20, 8_000)) < fitted).astype(np.int64)
    found = [p_value(z, one, fitted, rng.normal(size=8_000)) for one in drawn]
    assert min(found) > 0.001  # of 20, times some 50 tests
    error = drawn[0] - fitted
    along = z @ principal_directions(z, [error])[:, 0]  # the search in all rows
    bins = trust.equally_full(along, along, trust.BINS)
    assert trust.p_value(bins, [(error, fitted * (1 - fitted))]) < 0.05


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_reward_of_one_sum_of_six_inputs_is_not_ok() -> None:
    """Every pair had a p-value of 1, and beside this one only the level of V was not ok."""
    rng = np.random.default_rng(1)
    states = rng.integers(-2, 3, (4_000, 6)) / 2
    r = 2 - 2 * np.minimum(np.abs(states.sum(axis=1)), 2)
    data = Transitions(states, (rng.random(4_000) < expit(r)).astype(np.int64), states[::-1])
    given = {"anchor_action": 0, "anchor_reward": 0.0, "discount": 0.5}
    run = gladius.fit(data, function_class="sparse", **given).diagnostics
    pairs = [p for key, p in run.extra["misfit_p_values"].items() if np.size(key) == 2]
    assert run.status == "not_converged"
    assert run.extra["misfit_inputs"] == (tuple(f"s{k}" for k in range(6)),)
    assert min(pairs) > trust.DOUBTFUL
