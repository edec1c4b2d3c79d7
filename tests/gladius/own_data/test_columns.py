"""Columns as they come: heavy tails, jumps at ends, rows after the end of paths, last periods."""

import csv
import re
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from attack import COLUMNS, TOLD, attempt, known, markdown, read, run, table
from designs import DESIGNS, OURS, REPORTED, inventory, last_age, mileage, rows_after_exit
from drawn_worlds import drawn_world
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import transitions

import gladius
from gladius.own_data import frame as frame_module
from gladius.own_data.erm import indexed
from gladius.own_data.erm.indexed import Indexed
from gladius.own_data.erm.observations.features import Inputs, Logs, make_cells
from gladius.own_data.erm.observations.sparse import RowFunction
from gladius.panel.record import Counts, Transitions, group
from gladius.validate import Array, InputError

TABLE = Path(__file__).parent / "attack.csv"
NAMES: dict[str, Any] = {"action": "action", "id": "id", "time": "t"}


def rows(states: Array, actions: Any = None) -> Transitions:
    taken = np.arange(len(states)) % 2 if actions is None else actions
    return Transitions(states, taken, np.roll(states, -1, axis=0))


TWO_STATES = transitions(max_rows=90, elements=st.sampled_from([0.0, 1.0]), actions=2, width=1)


@given(TWO_STATES, st.integers(2, 9), arrays(np.int64, 2, elements=st.integers(0, 1)))
def test_counts_of_few_states_are_those_of_groups(data: Transitions, step: int, own: Any) -> None:
    data = replace(data, followed=np.arange(len(data)) % step > 0)
    rows, expected = Indexed.of(data), group(data)
    own = own[: len(rows.states)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed, "PIECE", 4)
        seen, taken = rows.seen(own)
        if len(data) >= 24:  # entries of the tables of two states
            patch.delattr(indexed, "group")
        found = rows.counts()
    for name in ("states", "visits", "moves", "followed"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert isinstance(found, Counts)
    np.testing.assert_array_equal(seen, expected.seen[0])
    np.testing.assert_array_equal(taken, expected.visits[0, np.arange(len(own)), own])


@given(arrays(float, (6, 2), elements=st.floats(0.01, 500)))
def test_logs_stand_beside_positive_columns_that_span_two_orders(states: Array) -> None:
    data = rows(states)
    logs = Logs.of(data)
    assert logs.columns == tuple(
        k for k in range(2) if max(states[:, k]) >= 100 * min(states[:, k])
    )
    wide = logs.of_data(data)
    for i, k in enumerate(logs.columns):
        np.testing.assert_allclose(np.exp(wide.states[:, 2 + i]), states[:, k])
        np.testing.assert_array_equal(wide.states[:, k], states[:, k])
        below = logs.beside(np.full((1, 2), -1.0))  # lower than any seen: as the least of them
        assert below[0, 2 + i] == pytest.approx(np.log(states[:, k].min()))
    assert logs.origins(range(2 + len(logs.columns)), 2) == (0, 1)
    assert logs.with_own([0], 2) == (0, *([2] if 0 in logs.columns else []))


def test_a_column_with_zero_or_negative_values_has_no_log() -> None:
    assert Logs.of(rows(np.array([[0.0], [1.0], [900.0]]))).columns == ()
    assert Logs.of(rows(np.array([[-1.0], [1.0], [900.0]]))).columns == ()


def test_a_reward_of_a_log_is_found_and_asked_for_by_the_column_itself() -> None:
    """Of a size from .2 to 900, r-hat was no better than a guess, and the status was `ok`."""
    world = DESIGNS["log of a size"]()
    with pytest.warns(UserWarning, match="all but never chosen"):
        fit = gladius.fit(read(world), **known(world))
    weights = np.bincount(world.sample(0)["state"], minlength=len(world.x))
    error = np.average(np.abs(fit.reward(world.x, 0) - world.reward[:, 0]), weights=weights)
    assert error < 0.15
    assert fit.diagnostics.extra["reward_inputs"] == (0, 1)
    reward = fit.reward_function
    assert isinstance(reward, RowFunction)
    assert reward.logs.columns == (0,)
    names = {"inputs": ["size", "y"], "zeta_inputs": ["size", "y"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = gladius.fit(read(world), **known(world), **names)
    np.testing.assert_allclose(named.reward(world.x, 0), fit.reward(world.x, 0), atol=0.1)


def test_a_reward_of_the_anchor_gets_the_columns_that_the_user_has() -> None:
    world = DESIGNS["search"]()
    fit = gladius.fit(read(world, done="done"), **known(world))
    np.testing.assert_allclose(fit.reward(world.x, 2), world.reward[:, 2])
    assert fit.reward_frame().shape[0] > 0


def test_an_end_that_many_rows_have_is_a_cell() -> None:
    column = np.r_[np.zeros(30), np.arange(1, 6).repeat(190), np.full(20, 9.0)]
    other = np.arange(1000) % 4  # four values are no column with ends
    inputs = Inputs.of(np.column_stack([column, other]).astype(float))
    assert inputs.ends([0, 1]) == [(0, 0.0, 1.0), (0, 9.0, 5.0)]
    rare = Inputs.of(np.r_[np.zeros(10), np.arange(1, 6).repeat(198)][:, None].astype(float))
    assert rare.ends([0]) == [(0, 5.0, 4.0)]
    block = make_cells((0, 1), inputs, (0, 0.0, 1.0))
    states = np.array([[0.0, 1.0], [0.4, 1.0], [0.6, 2.0], [9.0, 2.0]])
    cells = block(torch.tensor(states)).numpy()[:, 3:]
    np.testing.assert_array_equal(cells, [[1, 0], [1, 0], [0, 1], [0, 1]])


def test_intervals_allow_for_a_jump_that_no_curve_has() -> None:
    """Where an empty stock costs 3, intervals held .80 of the rewards."""
    world = inventory(3.0)
    found = [attempt("inventory, loss 3", number) for number in (0, 1)]
    assert min(float(one["cover"]) for one in found) > 0.9
    fit = gladius.fit(read(world), **known(world))
    assert isinstance(fit.basis, RowFunction)
    cells = {positions: len(values) for positions, values in fit.basis.reward.cells}
    assert cells[(fit.basis.reward.inputs.index(0),)] == 12


def test_intervals_with_few_rows_allow_for_what_is_not_selected() -> None:
    """Two useless-looking columns were dropped from r, and from intervals: .28 were held."""
    assert attempt("sum of two, 30 x 10", 2)["cover"] > 0.9


def test_a_first_minimum_that_is_not_reached_does_not_spoil_the_fit() -> None:
    """One of twelve right fits was not ok, since steps that only chose a ridge ended early."""
    assert attempt("sum of two", 1)["status"] == "ok"


def test_rows_after_the_end_of_a_path_are_refused() -> None:
    with pytest.raises(InputError, match=r"x = -1, y = 0.*never left and has one action \([79]%"):
        read(rows_after_exit())


@pytest.mark.parametrize("change", ["two actions", "nobody came", "few"])
def test_a_state_that_is_not_the_end_of_paths_is_not_refused(change: str) -> None:
    frame = rows_after_exit().sample(0)
    is_end = frame["x"] < 0
    if change == "two actions":
        frame.loc[is_end & (frame["t"] % 2 == 0), "action"] = 1
    elif change == "nobody came":  # a group whose state never changes
        frame.loc[is_end, "id"] += 10_000
        frame = frame.drop_duplicates(["id", "t"])
    else:
        frame = frame[~is_end | (frame.index.isin(frame.index[is_end][:19]))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = Transitions.from_frame(frame, state=["x", "y"], **NAMES)
    assert np.any(data.states[:, 0] < 0)


def test_an_end_where_another_choice_is_all_but_never_made_is_not_the_end_of_paths() -> None:
    """A mileage that stays at the largest, where nobody replaces, was refused."""
    world = drawn_world(924)
    rows = world.sample(10_924)
    last = rows[rows["x"] == rows["x"].max()]
    assert last["action"].nunique() == 1
    assert len(last) > 0.5 * len(rows)
    data = Transitions.from_frame(rows, state=["x"], **NAMES)
    assert len(data) == len(rows)


def test_a_feature_that_never_changes_does_not_hide_the_end_of_paths() -> None:
    frame = rows_after_exit().sample(0).assign(income=lambda f: 1.5 * f["id"])
    with pytest.raises(InputError, match="x = -1, y = 0"):
        Transitions.from_frame(frame, state=["x", "y", "income"], **NAMES)


@given(transitions(max_rows=15, elements=st.sampled_from([0.0, 1.5, 2.0]), actions=2))
def test_ends_are_the_states_that_are_reached_and_never_left(data: Transitions) -> None:
    """By definition, state by state; some rows at a time leave out what is left."""
    now, after, goes_on = data.states, data.next_states, ~data.done
    assume(np.all(np.any(now[goes_on] != after[goes_on], axis=0)))
    ends = []
    for state in np.unique(now, axis=0):
        is_in, is_next = (np.all(x == state, axis=1) for x in (now, after))
        is_left, is_reached = (np.any(x & goes_on & (is_in != is_next)) for x in (is_in, is_next))
        if is_reached and not is_left and is_in.sum() >= 2 and np.ptp(data.actions[is_in]) == 0:
            ends.append(", ".join(f"s{k} = {x:g}" for k, x in enumerate(state)))
    found: AbstractContextManager[Any] = nullcontext()
    if ends:
        found = pytest.raises(InputError, match=rf"^state = '{re.escape(ends[0])}'")
    with pytest.MonkeyPatch.context() as patch, found:
        patch.setattr(frame_module, "PIECE", 4)
        patch.setattr(frame_module, "FEWEST_ROWS", 2)
        patch.setattr(frame_module, "lacks_by_chance", lambda states, *_: np.zeros(len(states)))
        given_rows = now, after, data.actions, data.trajectory, goes_on
        frame_module.check_stationary(*given_rows, data.feature_names)


def test_a_last_period_is_refused() -> None:
    with pytest.raises(InputError, match=r"age = 14.*stationary"):
        read(last_age())


def test_a_count_of_periods_of_paths_of_several_lengths_is_not_refused() -> None:
    frame = replace(mileage(), size=(40, 12)).sample(0)
    frame = frame[frame["t"] < 6 + frame["id"] % 6]
    data = Transitions.from_frame(frame, state=["x", "t"], **NAMES)
    assert len(data) == len(frame)
    whole = frame[frame["t"] < 6]
    with pytest.raises(InputError, match="t = 5"):
        Transitions.from_frame(whole, state=["x", "t"], **NAMES)
    assert len(Transitions.from_frame(whole, state=["x"], **NAMES)) == len(whole)


def test_the_table_has_each_design_before_and_after_and_adds_up() -> None:
    lines = pd.read_csv(TABLE)
    assert list(lines.columns) == list(COLUMNS)
    assert set(lines["design"]) == set(DESIGNS)
    assert (len(REPORTED), len(OURS)) == (35, 10)
    found = table(TABLE)
    kinds = found[["ok", "warned", "not ok", "refused"]].sum(axis=1)
    np.testing.assert_array_equal(kinds, found["sets"])
    assert set(found.reset_index()["version"]) == {"0.4.0", "now", TOLD}


def test_the_manual_prints_the_table() -> None:
    manual = Path(gladius.__file__).parent / "own_data" / "your_data.md"
    assert f"\n{markdown(TABLE)}\n" in manual.read_text("utf-8")


@pytest.mark.parametrize("name", ["mileage", "types, six periods", "rows after the exit"])
def test_a_line_of_the_table_is_what_the_runner_finds(name: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    run(path, "now", 1, [name])
    run(path, "now", 1, [name])  # what it has is left out
    with path.open(encoding="utf-8") as file:
        (fresh,) = csv.DictReader(file)
    with TABLE.open(encoding="utf-8") as file:
        (stored,) = (
            line
            for line in csv.DictReader(file)
            if (line["version"], line["design"], line["set"]) == ("now", name, "0")
        )
    assert fresh["status"] == stored["status"]
    for column in ("error", "cover"):
        assert (fresh[column] == "") == (stored[column] == "")
        if fresh[column]:
            assert float(fresh[column]) == pytest.approx(float(stored[column]), abs=5e-3)
