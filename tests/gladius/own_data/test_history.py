"""Choices against the history: types, memory, and that a wrong form of r is neither."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from attack import known, read
from bus_engine import BUS, KNOWN
from designs import hidden, mileage
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit
from scipy.stats import norm
from worlds import Array

import gladius
from gladius import LinearReward, Transitions
from gladius.own_data.door import has_last_action
from gladius.own_data.erm import history as history_module
from gladius.own_data.erm.history import (
    FEWEST_PATHS,
    OfHistory,
    cells_of,
    mean_of_others,
    of_history,
    path_of,
    some_paths,
    trend,
)

PATHS, PERIODS = 60, 25


def said(data: Transitions, method: str = "profiled_erm", **given: Any) -> gladius.Results:
    """The fit, without what it says of next states that were never seen."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*never seen to be followed|.*estimated transition")
        warnings.filterwarnings("ignore", "r-hat does not depend on")
        return gladius.fit(data, method, **given)


def choices(
    rng: np.random.Generator, spread: float = 0.0, memory: float = 0.0, level: float = -1.0
) -> Transitions:
    """Choices that follow from a state that follows from them, from a type, and from the last."""
    types = rng.normal(0, spread, PATHS) if spread else np.zeros(PATHS)
    x, last, rows = np.zeros(PATHS), np.zeros(PATHS), []
    for _ in range(PERIODS):
        taken = rng.random(PATHS) < expit(level + 0.4 * x + types + memory * last)
        rows.append((x, taken))
        x, last = np.where(taken, 0.0, np.minimum(x + rng.integers(0, 2, PATHS), 6)), 1.0 * taken
    states, actions = (np.stack(one, axis=1).ravel() for one in zip(*rows, strict=True))
    return of_paths(states, actions.astype(np.int64), np.repeat(np.arange(PATHS), PERIODS))


def of_paths(states: Array, actions: Any, path: Any) -> Transitions:
    return Transitions(states, actions, np.roll(states, -1, axis=0), trajectory=path)


def history(data: Transitions, policy: Any = None) -> OfHistory:
    found = of_history(data, policy, 0)
    assert found is not None
    return found


small = st.integers(0, 3)


@given(
    arrays(float, 14, elements=st.floats(-3, 3)),
    arrays(np.int64, 14, elements=small),
    arrays(np.int64, 14, elements=small),
)
def test_the_mean_of_others_leaves_out_the_own_path(values: Array, cell: Any, path: Any) -> None:
    for many in (history_module.MANY, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(history_module, "MANY", many)
            found = mean_of_others(values, cell, path)
        for i in range(14):
            others = values[(cell == cell[i]) & (path != path[i])]
            assert found[i] == pytest.approx(others.mean() if len(others) else values[i], abs=1e-9)


@given(arrays(np.int64, 12, elements=small))
def test_paths_are_numbered_in_order_of_their_labels(labels: Any) -> None:
    expected = [sorted(set(labels.tolist())).index(label) for label in labels.tolist()]
    assert path_of(labels).tolist() == path_of(labels.astype(str)).tolist() == expected


def test_of_many_rows_whole_paths_are_asked_that_show_what_matters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = choices(np.random.default_rng(4), spread=1.5)
    mixed = data.take(np.random.default_rng(0).permutation(len(data)))
    for most, number in ((PATHS * PERIODS, PATHS), (600, 24), (601, 25), (1, FEWEST_PATHS)):
        monkeypatch.setattr(history_module, "MOST_ROWS", most)
        for rows in (data, mixed):
            asked = np.bincount(some_paths(rows).trajectory, minlength=PATHS)
            assert sorted(asked) == [0] * (PATHS - number) + [PERIODS] * number
        if number == 24:
            assert history(data).types_p < 1e-3
            assert np.flatnonzero(asked).max() > 24  # they are not the first


@given(
    arrays(float, 40, elements=st.floats(-3, 3)),
    arrays(np.int64, 40, elements=st.integers(0, 1)),
    arrays(np.int64, 40, elements=small),
)
def test_z_is_mantels_whatever_is_added_in_a_cell(h: Array, taken: Any, cell: Any) -> None:
    """Its mean and variance over all orders of the choices in a cell; pi by cell cancels."""
    score, variance = 0.0, 0.0
    for c in range(4):
        own, a = h[cell == c], taken[cell == c]
        if len(a) > 1:
            score += float(own @ a - len(a) * own.mean() * a.mean())
            variance += len(a) ** 2 / (len(a) - 1) * float(own.var() * a.var())
    assume(variance > 1e-3)
    z, p = trend(h, taken.astype(float), cell)
    assert z == pytest.approx(score / np.sqrt(variance), abs=1e-7)
    assert 0 <= p <= 1
    assert trend(h + 5.0 * cell, taken - 0.3 * cell, cell)[0] == pytest.approx(z, abs=1e-7)
    assert trend(-h, taken.astype(float), cell)[0] == pytest.approx(-z, abs=1e-7)


@pytest.mark.parametrize("share", [0.3, 0.02])
def test_p_is_that_over_the_orders_of_choices_in_a_cell_where_an_action_is_rare_too(
    share: float,
) -> None:
    """For each of some histories, against 4,000 orders; the normal p-value is off by a factor."""
    rng = np.random.default_rng(0)
    cell = np.repeat(np.arange(3), 100)
    h = rng.exponential(1.0, 300) ** 2
    taken = np.zeros(300)
    for c in range(3):
        taken[100 * c : 100 * c + int(100 * share)] = 1.0
    orders = np.array(
        [np.concatenate([rng.permutation(taken[cell == c]) for c in range(3)]) for _ in range(4000)]
    )
    sums = orders @ h
    ratios, normal = [], []
    for exceeded in (0.1, 0.03, 0.01):
        order = orders[np.argsort(sums)[int(4000 * (1 - exceeded))]]
        z, p = trend(h, order, cell)
        ratios.append(p / exceeded)
        normal.append(norm.sf(z) / exceeded)
    assert min(ratios) > 0.55
    assert max(ratios) < (1.6 if share > 0.1 else 3.5)  # too large is the harmless side
    if share < 0.1:
        assert min(normal) < 0.4


def test_z_of_the_history_is_standard_normal_where_the_state_is_all() -> None:
    rng = np.random.default_rng(0)
    for level, bias in ((-1.0, 0.0), (-3.5, 0.25)):  # 9 % of 1,500 choices are of the action
        found = [history(choices(rng, level=level)) for _ in range(200)]
        for z in ([one.types_z for one in found], [one.memory_z for one in found]):
            assert abs(np.mean(z)) < 0.22 + bias  # 3 standard errors
            assert np.std(z) == pytest.approx(1.0, abs=0.16)
        assert sum(min(one.types_p, one.memory_p) < 0.02 for one in found) <= 8


def test_few_rows_a_cell_do_not_bias_z() -> None:
    """Six rows in each cell; with means over all paths z is at -3.8 and -1.8."""
    rng = np.random.default_rng(0)
    z = []
    for _ in range(60):
        state = np.repeat(rng.integers(0, 50, 50), 6).astype(float)  # each path stays in its own
        found = history(of_paths(state, rng.integers(0, 2, 300), np.repeat(np.arange(50), 6)))
        z.append((found.types_z, found.memory_z))
    assert np.abs(np.mean(z, axis=0)).max() < 0.5


def test_types_and_memory_are_told_apart() -> None:
    rng = np.random.default_rng(1)
    typed = [history(choices(rng, spread=1.0)) for _ in range(5)]
    assert min(one.types_z for one in typed) > 5
    assert max(one.types_p for one in typed) < min(one.memory_p for one in typed)
    after = [history(choices(rng, memory=1.5)) for _ in range(5)]
    assert min(one.memory_z for one in after) > 5
    assert max(one.memory_p for one in after) < min(one.types_p for one in after)


def test_rows_of_a_path_need_not_stand_together() -> None:
    data = choices(np.random.default_rng(2), spread=0.5)
    mixed = np.argsort(np.tile(np.arange(PERIODS), PATHS), kind="stable")
    assert history(data.take(mixed)) == pytest.approx(history(data))


def test_what_says_nothing() -> None:
    """Paths of one row, few paths, and states that do not repeat without a policy."""
    data = choices(np.random.default_rng(2), spread=2.0)
    alone = history(replace(data, trajectory=np.arange(len(data))))
    assert alone == (0.0, 0.0, 1.0, 1.0)
    few = data.trajectory < FEWEST_PATHS - 1
    assert of_history(data.take(few), None, 0) is None
    assert of_history(data.take(data.trajectory < FEWEST_PATHS), None, 0) is not None
    fresh = replace(data, states=data.states + np.arange(len(data))[:, None] / 1e6)
    assert of_history(fresh, None, 0) is None


def test_states_that_do_not_repeat_are_held_against_the_fit_in_bins() -> None:
    rng = np.random.default_rng(3)

    def policy(states: Array) -> Array:
        pi = expit(-1 + 0.4 * states[:, 0])
        return np.column_stack([1 - pi, pi])

    def with_noise(data: Transitions) -> Transitions:
        states = np.column_stack([data.states, rng.normal(size=len(data))])
        return of_paths(states, data.actions, data.trajectory)

    right = [history(with_noise(choices(rng)), policy) for _ in range(40)]
    assert abs(np.mean([one.types_z for one in right])) < 0.5
    assert min(min(one.types_p, one.memory_p) for one in right) > 1e-3
    assert history(with_noise(choices(rng, spread=1.0)), policy).types_p < 1e-6
    assert history(with_noise(choices(rng, memory=1.5)), policy).memory_p < 1e-4


def test_cells_are_as_fine_as_rows_allow() -> None:
    rng = np.random.default_rng(0)
    pi = rng.random(1000)
    for number, cells in ((1, 20), (2, 100), (12, 40)):
        code = cells_of([*rng.normal(size=(number - 1, 1000)), pi], pi)
        assert len(np.unique(code)) == cells


@pytest.mark.parametrize(
    ("kind", "size", "text"),
    [
        ("types", (1600, 6), "choices of a path go together"),
        ("last", (600, 40), "a choice depends on the choice before"),
    ],
)
def test_what_the_state_lacks_is_reported_once_and_not_ok(
    kind: str, size: tuple[int, int], text: str
) -> None:
    world = hidden(kind, size)
    with pytest.warns(UserWarning, match=text) as caught:
        fit = said(read(world), **known(world))
    assert len(caught) == 1
    assert fit.diagnostics.status == "not_converged"
    assert any(text in one for one in fit.diagnostics.extra["not_ok_because"])  # type: ignore[attr-defined]
    assert not fit.diagnostics.converged


def test_who_has_the_last_action_is_not_asked_for_it() -> None:
    """Types alone, in short paths whose state is the last action: memory has the larger z."""
    rng = np.random.default_rng(2)
    types = rng.normal(0, 2, 600)
    actions = 1 * (rng.random((8, 600)) < expit(types - 1)).T
    last, taken = actions[:, :-1].ravel()[:, None], actions[:, 1:].ravel()
    rows = Transitions(1.0 * last, taken, 1.0 * taken[:, None], np.repeat(np.arange(600), 7))
    assert has_last_action(rows)
    assert not has_last_action(choices(rng))
    three = rng.integers(3, size=99)
    for after, has in ((three, True), (three == 2, False), (np.roll(three, 1), False)):
        rows_of_three = Transitions(np.roll(1.0 * after, 1)[:, None], three, 1.0 * after[:, None])
        assert has_last_action(rows_of_three) is has
    with pytest.warns(UserWarning, match="which has the last action"):
        fit = gladius.fit(rows, anchor_action=0, anchor_reward=0.0, discount=0.9)
    (why,) = fit.diagnostics.extra["not_ok_because"]  # type: ignore[attr-defined]
    assert "which has the last action" in why
    assert "add the last action" not in why


@pytest.mark.parametrize("method", ["nfxp", "ccp", "plug_in"])
def test_another_method_warns_alone(method: str) -> None:
    world = hidden("types", (1600, 6))
    form = {} if method == "plug_in" else {"reward": "0 + x:action_0 + action_1"}
    with pytest.warns(UserWarning, match="choices of a path go together"):
        fit = said(read(world), method, **form, **known(world))
    assert fit.diagnostics.status == "ok"
    assert float(fit.diagnostics.extra["types_z"]) > 5  # type: ignore[arg-type]


def test_a_wrong_form_of_r_is_no_memory() -> None:
    """Residuals of it had z = -77 in Rust's data, where the state explains choices."""
    data = BUS.simulate(150, rng=0)

    def flat(states: Array) -> Array:  # replacing has a cost, and mileage none
        return np.tile([[[0.0], [1.0]]], (len(states), 1, 1))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = gladius.fit(data, "nfxp", reward=LinearReward(flat), **KNOWN)
    assert abs(float(fit.diagnostics.extra["memory_z"])) < 3  # type: ignore[arg-type]
    assert abs(float(fit.diagnostics.extra["types_z"])) < 3  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"weights": np.ones(3000)}, {"freq_weights": np.ones(3000)}])
def test_weighted_rows_are_not_asked(given: dict[str, Any]) -> None:
    """Copies, and rows that were chosen for their action, have histories of another kind."""
    fit = said(BUS.simulate(30, rng=0), "plug_in", **given, **KNOWN)
    assert len(fit.data) == 3000
    assert "types_z" not in fit.diagnostics.extra


def test_a_right_world_has_no_word_of_its_history() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = gladius.fit(BUS.simulate(100, rng=0), **KNOWN)
    assert abs(float(fit.diagnostics.extra["memory_z"])) < 3  # type: ignore[arg-type]


def test_a_column_on_which_nothing_depends_hides_no_type() -> None:
    for world, is_typed in ((mileage(), False), (hidden("types"), True)):

        def widen(f: Any, rng: np.random.Generator) -> Any:
            return f.assign(z=rng.normal(size=len(f)))

        wide = replace(world, edit=widen, seen=["x", "z"])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = said(read(wide), **known(world))
        assert any("choices of a path" in str(one.message) for one in caught) == is_typed
        assert fit.diagnostics.converged != is_typed
