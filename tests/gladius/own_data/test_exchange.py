"""An anchor action that depends on the state, against the plug-in's formula written out."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import gladius
from gladius import InputError, TabularMDP, Transitions
from gladius.model.frequencies import empirical_transition_probabilities
from gladius.own_data.results.inference import FreeErrors, errors_of
from gladius.own_data.results.results import Results
from gladius.panel.record import group

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


def by_formula(data: Transitions, extra: float, chances: Array | None = None) -> Array:
    """r = log pi + V - beta P V, and V from the Bellman equation of a_s, by frequencies."""
    s, t = data.states[:, 0].astype(int), data.next_states[:, 0].astype(int)
    moves = np.zeros((3, 5, 5))
    np.add.at(moves, (data.actions, s, t), 1.0)
    visits = moves.sum(axis=2)
    rows = np.arange(5)
    if chances is None:
        assert visits.min() > 0
        chances = moves / visits[:, :, None]
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


def test_smooth_without_a_penalty_has_the_same_limit(hold_lambda: Callable[[float], None]) -> None:
    data = observed(400)
    chosen = gladius.fit(data, anchor_action=own, **KNOWN)
    hold_lambda(1e-7)
    fit = gladius.fit(data, anchor_action=own, **KNOWN)
    np.testing.assert_allclose(fit.reward_function(GRID), by_formula(data, 0.0), atol=2e-3)
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
    copy = gladius.load(tmp_path, trust=(__name__,))
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


def spread(fit: Results) -> Array:
    """(5, 3) standard errors, those on few observations too."""
    errors = errors_of(fit)
    assert isinstance(errors, FreeErrors)
    assert fit.exchange is not None
    roots = np.sqrt(np.diag(errors.table().covariance)).reshape(2, 5)
    return fit.exchange.table(GRID, np.insert(roots, 0, 0.0, axis=0).T)


@pytest.mark.filterwarnings("ignore:anchor_action. 20% of what fixes:UserWarning")  # state 3
def test_what_is_borrowed_belongs_to_the_same_action() -> None:
    """Refused where some state lacks some action, as at the end of any panel."""
    data = observed(100)
    rare = data.take(np.flatnonzero((data.states[:, 0] != 3) | (data.actions != 1)))
    fit = gladius.fit(rare, "plug_in", anchor_action=own, **KNOWN)
    chances = empirical_transition_probabilities(group(rare)).transition[0]
    np.testing.assert_allclose(fit.reward_function(GRID), by_formula(rare, 0.5, chances), atol=1e-9)
    order = np.array([1, 2, 0])  # the new number of each action
    renamed = replace(rare, actions=order[rare.actions])
    other = gladius.fit(renamed, "plug_in", anchor_action=lambda s: order[own(s)], **KNOWN)
    np.testing.assert_allclose(spread(other)[:, order], spread(fit), rtol=1e-9)
    at = {"anchor_action": lambda s: own(np.clip(s.round(), 0, 4)), "discount": BETA}
    at |= {"anchor_reward": lambda s: known(np.clip(s.round(), 0, 4))}
    first = gladius.fit(rare, "plug_in", **at)
    at["anchor_action"] = lambda s: order[own(np.clip(s.round(), 0, 4))]
    second = gladius.fit(renamed, "plug_in", **at)
    near = np.linspace(-1.0, 5.0, 25)[:, None]  # off the grid too
    np.testing.assert_allclose(second.q(near)[:, order], first.q(near), rtol=1e-9)


def continuous(paths: int) -> tuple[Transitions, Array]:
    """Rewards linear in x at 41 states, and their table."""
    x = np.linspace(0.0, 2.0, 41)
    mean = 0.7 * x + np.array([[0.2], [0.6], [0.0]])
    moves = np.exp(-((x - mean[..., None]) ** 2) / 0.08)
    reward = np.stack([1 - x, x - 1.5, -0.5 * x], axis=1)
    world = TabularMDP(
        reward, moves / moves.sum(axis=2, keepdims=True), BETA, np.full(41, 1 / 41), x[:, None]
    )
    found = world.simulate(paths, 40, np.random.default_rng(8))
    visited = np.append(found.states, found.next_states[:, -1:], axis=1)
    return Transitions.from_paths(x[visited][..., None], found.actions, 3), reward


def regions(states: Array) -> Array:
    """a_s of the world above."""
    return np.asarray(np.digitize(states[:, 0], [0.61, 1.21]) * 2 % 3)


def test_observations_take_an_anchor_by_state() -> None:
    """The class `sparse` refused it; its reward is as exact as with a common anchor."""
    data, truth = continuous(100)
    x = np.linspace(0.0, 2.0, 41)[:, None]

    def given(states: Array) -> Array:
        table = np.stack([1 - states[:, 0], states[:, 0] - 1.5, -0.5 * states[:, 0]], axis=1)
        return np.asarray(table[np.arange(len(states)), regions(states)])

    options: dict[str, Any] = {"function_class": "sparse", "discount": BETA}
    fit = gladius.fit(data, anchor_action=regions, anchor_reward=given, **options)
    common = gladius.fit(data, anchor_action=2, anchor_reward=lambda s: -0.5 * s[:, 0], **options)
    assert (fit.diagnostics.status, common.diagnostics.status) == ("ok", "ok")
    free = np.arange(3) != regions(x)[:, None]
    errors = fit.reward_errors(x)
    assert np.all(errors[~free] == 0)
    assert np.all(errors[free] > 0)
    np.testing.assert_array_equal(fit.reward_function(x)[~free], truth[~free])
    # four standard errors: by Bonferroni over 82 numbers a chance of 1 in 190
    assert np.max(np.abs(fit.reward_function(x) - truth)[free] / errors[free]) < 4
    miss = [np.abs(one.reward_function(x) - truth)[free].mean() for one in (fit, common)]
    assert miss[0] < 1.5 * miss[1]
    assert "anchor action by state" in fit.summary()


def test_a_reward_that_no_choice_shows_is_refused() -> None:
    data, _ = continuous(20)
    shown = data.take(np.flatnonzero((data.actions != 1) | (regions(data.states) == 1)))
    with pytest.raises(InputError, match="action 1 is never taken where its reward is not given"):
        gladius.fit(
            shown,
            anchor_action=regions,
            anchor_reward=0.0,
            discount=BETA,
            function_class="sparse",
        )
