"""What a fit is held against: the choices along each input, their certainty, and frequencies."""

from __future__ import annotations

import numpy as np
import pytest

from gladius import trust
from gladius.rows.data import Inputs
from gladius.transitions import Counts


def misfits(states: np.ndarray, actions: np.ndarray, policy: np.ndarray) -> tuple[int, ...]:
    return trust.misfit_inputs(Inputs.of(states), actions, policy, [0])


def test_choices_drawn_from_the_fit_are_no_misfit_and_those_along_an_input_are_one() -> None:
    rng = np.random.default_rng(1)
    states = np.column_stack([rng.normal(size=4_000), rng.integers(0, 16, 4_000)])
    of_first = 1 / (1 + np.exp(-states[:, 0]))
    policy = np.column_stack([of_first, 1 - of_first])
    drawn = (rng.uniform(size=4_000) > of_first).astype(np.int64)
    assert misfits(states, drawn, policy) == ()
    assert misfits(states, drawn, np.full((4_000, 2), 0.5)) == (0,)
    by_parity = (rng.logistic(size=4_000) < np.where(states[:, 1] % 2, 1.0, -1.0)).astype(np.int64)
    assert misfits(states, by_parity, np.full((4_000, 2), 0.5)) == (1,)


@pytest.mark.parametrize("rare", [-1.0, 1.0])
def test_what_a_nearly_constant_input_rarely_is_has_a_bin_apart(rare: float) -> None:
    """Pooled with the usual value, the 180 choices that are all wrong would drown in noise."""
    is_rare = np.arange(6_000) % 33 == 7
    states = np.where(is_rare, rare, 0.0)[:, None]
    actions = np.where(is_rare, 0, np.arange(6_000) % 2)
    assert misfits(states, actions, np.full((6_000, 2), 0.5)) == (0,)


def test_a_misfit_that_does_not_matter_is_not_reported() -> None:
    """Log-odds off by .01 are far from chance in 10^7 observations, and negligible."""
    size = 10_000_000
    states = np.repeat([0.0, 1.0], size // 2)[:, None]
    policy = np.full((size, 2), 0.5)
    for shift, expected in ((0.0025, ()), (0.02, (0,))):
        actions = np.ones(size, dtype=np.int64)
        for start, share in ((0, 0.5 + shift), (size // 2, 0.5 - shift)):
            actions[start : start + int(share * size / 2)] = 0
        assert misfits(states, actions, policy) == expected


def test_choices_that_are_certain_or_worse_than_chance_are_reasons_against_a_fit() -> None:
    visits = np.array([[30.0, 10.0], [20.0, 20.0]])
    for odds, reasons in ((1.0, []), (-2.0, [1]), (20.0, [0, 1])):
        policy = np.array([[1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds))]] * 2)
        nll = -np.sum(visits * np.log(policy))
        holds = list(trust.of_choices(visits, policy, nll).values())
        assert [i for i, is_so in enumerate(holds) if is_so] == reasons


def test_frequencies_beat_a_policy_that_is_far_from_them() -> None:
    visits = np.array([[[80.0, 20.0], [30.0, 70.0], [50.0, 50.0]]])
    counts = Counts(np.arange(3.0)[:, None], visits, np.zeros((1, 2, 3, 3)))
    near = np.log(visits + np.array([2.0, -2.0]))
    assert not trust.is_worse_than_frequencies(counts, near).any()
    assert trust.is_worse_than_frequencies(counts, np.zeros((1, 3, 2))).all()
