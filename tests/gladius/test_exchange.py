"""An anchor action that depends on the state, against the plug-in's formula written out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import gladius
from gladius import InputError, TabularMDP, Transitions

Array = NDArray[np.float64]
GRID = np.arange(5.0)[:, None]
OWN = np.array([0, 2, 2, 1, 2])  # a_s
TRUE = np.random.default_rng(5).normal(size=(5, 3))
BETA = 0.9
WORLD = TabularMDP(
    TRUE, np.random.default_rng(6).dirichlet(np.ones(5), size=(3, 5)), BETA, np.full(5, 0.2), GRID
)


def own(states: Array) -> Array:
    return np.asarray(OWN[states[:, 0].astype(int)])


def known(states: Array) -> Array:
    return np.asarray(TRUE[states[:, 0].astype(int), own(states)])


KNOWN: dict[str, Any] = {"anchor_reward": known, "discount": BETA}


def observed(paths: int) -> Transitions:
    found = WORLD.simulate(paths, 40, np.random.default_rng(7))
    visited = np.append(found.states, found.next_states[:, -1:], axis=1)
    return Transitions.from_paths(GRID[visited], found.actions, 3)


def by_formula(data: Transitions, extra: float) -> Array:
    """r = log pi + V - beta P V, and V from the Bellman equation of a_s, by frequencies."""
    s, t = data.states[:, 0].astype(int), data.next_states[:, 0].astype(int)
    moves = np.zeros((3, 5, 5))
    np.add.at(moves, (data.actions, s, t), 1.0)
    visits = moves.sum(axis=2)
    assert visits.min() > 0
    chances, rows = moves / visits[:, :, None], np.arange(5)
    log_policy = np.log((visits + extra) / (visits + extra).sum(axis=0)).T
    level = TRUE[rows, OWN] - log_policy[rows, OWN]
    v = np.linalg.solve(np.eye(5) - BETA * chances[OWN, rows], level)
    return np.asarray(log_policy + v[:, None] - BETA * (chances @ v).T)


def test_the_plug_in_solves_the_equations_of_each_anchor() -> None:
    data = observed(100)
    fit = gladius.fit(data, "plug_in", anchor_action=own, **KNOWN)
    np.testing.assert_allclose(fit.reward_function(GRID), by_formula(data, 0.5), atol=1e-9)
    np.testing.assert_allclose(fit.reward(GRID, OWN), known(GRID), atol=1e-9)
    one = gladius.fit(data, "plug_in", anchor_action=2, **KNOWN)  # the error of a common anchor
    assert np.max(np.abs(one.reward_function(GRID) - by_formula(data, 0.5))) > 0.3


def test_gladius_without_a_penalty_has_the_same_limit() -> None:
    data = observed(400)
    fit = gladius.fit(data, anchor_action=own, penalty=1e-7, **KNOWN)
    np.testing.assert_allclose(fit.reward_function(GRID), by_formula(data, 0.0), atol=2e-3)
    chosen = gladius.fit(data, anchor_action=own, **KNOWN)
    assert np.mean(np.abs(chosen.reward_function(GRID) - TRUE)) < 0.3
    assert "anchor action by state" in chosen.summary()


def test_an_anchor_is_named_in_four_ways() -> None:
    data = observed(100)
    wide = Transitions(
        np.column_stack([data.states, own(data.states)]),
        data.actions,
        np.column_stack([data.next_states, own(data.next_states)]),
        data.trajectory,
        feature_names=("x", "anchor"),
    )
    expected = gladius.fit(data, "plug_in", anchor_action=own, **KNOWN).reward_function(GRID)
    rows = gladius.fit(data, "plug_in", anchor_action=own(data.states), **KNOWN)
    np.testing.assert_allclose(rows.reward_function(GRID), expected)
    column = gladius.fit(wide, "plug_in", anchor_action="anchor", **KNOWN)
    found = column.reward_function(np.column_stack([GRID, OWN]))
    np.testing.assert_allclose(found, expected)
    constant = gladius.fit(data, "plug_in", anchor_action=np.full(len(data), 2), **KNOWN)
    same = gladius.fit(data, "plug_in", anchor_action=2, **KNOWN)
    np.testing.assert_allclose(constant.reward_function(GRID), same.reward_function(GRID))


def test_its_intervals_and_its_bootstrap_agree(tmp_path: Path) -> None:
    data = observed(100)
    fit = gladius.fit(data, "plug_in", anchor_action=own, **KNOWN)
    errors = fit.reward_errors(GRID)
    assert np.all(errors[np.arange(5), OWN] == 0)
    drawn = fit.bootstrap(lambda e: e.reward_function(GRID), 200)
    spread = drawn.std(axis=0)
    free = np.arange(3) != OWN[:, None]
    assert np.all(np.abs(np.log(errors[free] / spread[free])) < 0.4)
    assert np.max(spread[~free]) < 1e-9
    fit.save(tmp_path)
    copy = gladius.load(tmp_path)
    np.testing.assert_array_equal(copy.reward_function(GRID), fit.reward_function(GRID))


@pytest.mark.parametrize(
    ("method", "action", "message"),
    [
        ("nfxp", own, "an anchor that depends on the state is for plug_in, profiled_erm"),
        ("plug_in", lambda s: s[:, 0] - 9, "give one whole number from 0 to 2 for each state"),
        ("plug_in", lambda s: s[:, 0] / 2, "give one whole number from 0 to 2 for each state"),
        ("plug_in", np.array([0, 1]), "give a number, a function, or"),
        ("plug_in", "s1", "name one of s0, or carry the column"),
        ("plug_in", None, "give a whole number from 0 to 2"),
        ("plug_in", lambda s: np.full(len(s), "keep"), "give one whole number from 0 to 2"),
    ],
)
def test_other_anchors_are_refused(method: str, action: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^anchor_action = .*{message}"):
        gladius.fit(observed(20), method, anchor_action=action, **KNOWN)


def test_an_action_that_is_missing_in_a_state_is_refused() -> None:
    """The plug-in borrowed the choices of another action from a neighbour, `ok`."""
    data = observed(100)
    rare = data.take(np.flatnonzero((data.states[:, 0] != 3) | (data.actions != 1)))
    with pytest.raises(InputError, match=r"action 1 never occurs in state \[3.0\]"):
        gladius.fit(rare, "plug_in", anchor_action=own, **KNOWN)
    with pytest.raises(InputError, match="function_class = 'sparse'"):
        gladius.fit(data, anchor_action=own, function_class="sparse", **KNOWN)
