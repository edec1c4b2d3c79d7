"""The exhibit of counterfactuals: its worlds, its cells by a second route, its files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from strategies import laws

import gladius
from gladius import METHODS, BusEngine
from gladius.checks import Array
from gladius.counterfactual import changed
from gladius.metrics import mape
from gladius.transitions import group
from gladius.worlds.bus import MAINTAIN, REPLACE
from reproduce import counterfactuals as work
from reproduce.data import data_sets
from reproduce.exhibits import counterfactual as tables
from reproduce.results import Results
from reproduce.spec import Entry, Result
from tests.reproduce.shown import FAILED, computed, entry_of, resized, written

BUS = BusEngine()
CHANGED = {c.name: c for c in work.CHANGES}
CHEAPER, HALVED, LONGER, USED = CHANGED


def small(column: str) -> Entry:
    """The smoke entry of a source, of two repetitions."""
    return resized(entry_of("counterfactual", "50", column), repetitions=2)


def result_of(entry: Entry) -> Result:
    return computed(entry.cell).result


def new_world(name: str) -> tuple[Array, Array]:
    """Reward and law of a change, built from the words."""
    reward = np.array([[-x, -5.0] for x in range(1, 21)])
    law = np.zeros((2, 20, 20))
    steps = (2, 3, 4, 5) if name == LONGER else (1, 2, 3, 4)
    for x in range(1, 21):
        for step in steps:
            law[0, x - 1, min(x + step, 20) - 1] += 0.25
        law[1, x - 1, 2 if name == USED else 0] = 1.0
    if name == CHEAPER:
        reward[:, 1] = -4
    if name == HALVED:
        reward[:, 0] /= 2
    return reward, law


def best(reward: Array, law: Array, sweeps: int = 1500) -> Array:
    """(20, 2) Q by plain value iteration."""
    q = np.zeros((20, 2))
    for _ in range(sweeps):
        v = np.logaddexp.reduce(q, axis=1)
        q = reward + 0.95 * np.stack([law[a] @ v for a in (0, 1)], axis=1)
    return q


def softmax(q: Array) -> Array:
    share: Array = np.exp(q - np.logaddexp.reduce(q, axis=1)[:, None])
    return share


def loss(name: str, policy: Array) -> float:
    """Of a policy in the new world, by iterating its value."""
    reward, law = new_world(name)
    v = np.zeros(20)
    logs = np.log(np.where(policy > 0, policy, 1))
    for _ in range(1500):
        v = np.sum(policy * (reward - logs + 0.95 * np.stack([p @ v for p in law], axis=1)), axis=1)
    return float(np.logaddexp.reduce(best(reward, law), axis=1)[0] - v[0])


OLD = softmax(best(*new_world("nothing")))


@pytest.mark.parametrize("name", CHANGED)
def test_the_changes_are_what_their_names_say(name: str) -> None:
    world = changed(BUS.mdp, CHANGED[name])
    reward, law = new_world(name)
    np.testing.assert_allclose(world.reward, reward)
    np.testing.assert_allclose(world.transition, law)
    exact = next(line for line in tables.exact() if name in line)
    assert f"keeping the old policy loses {loss(name, OLD):.4f}" in exact
    gain = np.logaddexp.reduce(best(reward, law), axis=1)[0]
    gain -= np.logaddexp.reduce(best(*new_world("nothing")), axis=1)[0]
    assert f"by {gain:+.3f}" in exact


@given(laws((3, 2, 6, 6)))
def test_later_arrivals_keep_the_law_a_law(law: Array) -> None:
    moved = work.later(law, MAINTAIN, 2)
    np.testing.assert_allclose(moved.sum(axis=-1), 1)
    np.testing.assert_array_equal(moved[:, REPLACE], law[:, REPLACE])
    np.testing.assert_allclose(moved[:, MAINTAIN, :, 2:5], law[:, MAINTAIN, :, :3])
    np.testing.assert_allclose(moved[:, MAINTAIN, :, 5], law[:, MAINTAIN, :, 3:].sum(axis=-1))
    assert not np.any(moved[:, MAINTAIN, :, :2])


@pytest.mark.parametrize("smoke", [True, False])
def test_every_source_is_in_every_row_on_table_2_s_data(smoke: bool) -> None:
    entries = tables.EXHIBIT.checked_entries(smoke)
    sizes = {e.row for e in entries} - {work.POPULATION}
    columns = [column for column, _ in tables.SOURCES]
    assert len(set(columns)) == len(columns)  # they name the lines
    for n in sizes:
        here = [e for e in entries if e.row == n]
        assert [e.column for e in here] == columns
        assert {e.cell.seeds for e in here} == {("table_2", n)}
    assert set(tables.SOURCES.values()) - {""} == set(METHODS)  # no method's reward is left out


def test_the_population_says_what_the_paper_s_remark_is_about() -> None:
    entries = {e.column: e for e in tables.entries(True) if e.row == work.POPULATION}
    found = {k: result_of(e).replications for k, e in entries.items()}

    def of(column: str, name: str, solver: str) -> float:
        return found[column][work.label(work.LOSS, name, solver)][0]

    for name in CHANGED:
        kept = loss(name, OLD)
        for column in ("Truth", "BC"):
            assert of(column, name, work.KEPT) == pytest.approx(kept, abs=1e-7)
        assert of("Truth", name, work.ESTIMATED) == pytest.approx(0, abs=1e-7)
        assert of("Truth", name, work.KNOWN) == pytest.approx(0, abs=1e-7)
        # log pi answers an added amount, not a share, and sees no change of P
        said = {CHEAPER: 0.0, HALVED: 1.1116, LONGER: kept, USED: kept}[name]
        assert of("BC", name, work.KNOWN) == pytest.approx(said, abs=1e-4)
    for name in (CHEAPER, HALVED):
        ladder = [of("Truth", name, s) for s in (work.IN_DATA, "CQL .1", "CQL 1", work.KEPT)]
        assert ladder[0] == pytest.approx(0, abs=1e-7)
        assert np.all(np.diff(ladder) > 1e-3)  # the more conservative, the nearer to doing nothing
        assert of("Truth", name, work.SOFT) == pytest.approx(0, abs=1e-7)
    assert not any(
        work.label(work.LOSS, name, s) in found["Truth"]
        for name in (LONGER, USED)
        for s in work.OFFLINE
    )
    covered = found["Truth"][work.label(work.UNCOVERED, HALVED, work.KEPT)]
    assert covered == [0.0]


def test_a_cell_holds_what_a_user_would_get() -> None:
    entry = small("GLADIUS")
    got = result_of(entry)
    train, test = data_sets(BUS, entry.cell)
    fits = gladius.fit(train, anchor_action=1, anchor_reward=-5.0, discount=0.95)
    errors = [mape(e, t, BUS.reward) for e, t in zip(fits, test, strict=True)]
    assert got.replications["MAPE"] == pytest.approx(errors)
    x = np.arange(1.0, 21.0)[:, None]
    for r, (data, fit) in enumerate(zip(train, fits, strict=True)):
        said = {k: v[r] for k, v in got.replications.items()}
        table = np.stack([fit.reward(x, a) for a in (0, 1)], axis=1)
        # planning with the true law, by value iteration
        for name in CHANGED:
            law = new_world(name)[1]
            new = table + np.array([0.0, name == CHEAPER])
            new = new * np.array([0.5 if name == HALVED else 1.0, 1.0])
            q = best(new, law)
            key = [work.label(s, name, work.KNOWN) for s in (work.LOSS, work.VALUE, work.GAIN)]
            assert said[key[0]] == pytest.approx(loss(name, softmax(q)), abs=1e-7)
            v = [np.logaddexp.reduce(z[0]) for z in (q, best(*new_world(name)))]
            assert said[key[1]] == pytest.approx(v[0] - v[1], abs=1e-6)
            before = [
                np.logaddexp.reduce(best(z, new_world("")[1])[0]) for z in (table, new_world("")[0])
            ]
            gain = (v[0] - before[0]) - (v[1] - before[1])
            assert said[key[2]] == pytest.approx(gain, abs=1e-6)
            kept = work.label(work.LOSS, name, work.KEPT)
            assert said[kept] == pytest.approx(loss(name, fit.policy(x)), abs=1e-7)
        # soft Q in the data, by sweeps over rows
        s, t = (z[:, 0].astype(int) - 1 for z in (data.states, data.next_states))
        n = np.zeros((20, 2))
        np.add.at(n, (s, data.actions), 1)
        label = fit.reward(data.states, data.actions) + (data.actions == 1)
        q = np.where(n > 0, 0.0, -np.inf)
        seen = np.flatnonzero(n.sum(axis=1))
        lender = seen[np.argmin(np.abs(np.arange(20)[:, None] - seen), axis=1)]
        for _ in range(700):
            v = np.logaddexp.reduce(q, axis=1)[lender]
            total = np.zeros((20, 2))
            np.add.at(total, (s, data.actions), label + 0.95 * v[t])
            q = np.where(n > 0, total / np.where(n > 0, n, 1), -np.inf)
        learned = work.label(work.LOSS, CHEAPER, work.IN_DATA)
        assert said[learned] == pytest.approx(loss(CHEAPER, softmax(q[lender])), abs=1e-6)
        missed = 100 * _path(CHEAPER)[n == 0].sum()
        logged = [group(data)]
        assert work.uncovered(BUS, CHANGED[CHEAPER], logged)[0] == pytest.approx(missed, abs=1e-6)


def _path(name: str) -> Array:
    """Discounted shares of the pairs under the best new policy, period by period."""
    reward, law = new_world(name)
    policy, state = softmax(best(reward, law)), np.eye(20)[0]
    total = np.zeros((20, 2))
    for t in range(600):
        total += 0.05 * 0.95**t * state[:, None] * policy
        state = np.einsum("s,sa,ast->t", state, policy, law)
    return total


def test_the_planner_s_law_is_the_frequencies_where_there_are_rows() -> None:
    cell = small("Truth").cell
    train, _ = data_sets(BUS, cell)
    given_ = work.on_data(BUS.mdp, train, BUS.mdp.reward, BUS.mdp.solution.policy, ["ok"] * 2)
    for r, data in enumerate(train):
        law = given_.transition[r]
        assert law.shape == (2, 20, 20)
        for a in (0, 1):
            for x in np.unique(data.states[data.actions == a]):
                after = data.next_states[(data.actions == a) & (data.states[:, 0] == x), 0]
                expected = np.bincount(after.astype(int) - 1, minlength=20) / len(after)
                np.testing.assert_allclose(law[a, int(x) - 1], expected)


def test_an_estimate_without_a_number_fails_alone_and_aloud() -> None:
    cell = small("Truth").cell
    train, _ = data_sets(BUS, cell)
    given_ = work.on_data(BUS.mdp, train, BUS.mdp.reward, BUS.mdp.solution.policy, ["ok"] * 2)
    broken = given_.rewards.copy()
    broken[1] = np.nan
    for answer in work.answers(BUS.mdp, replace(given_, rewards=broken)):
        values = work.numbers(BUS, answer)
        if answer.solver == work.KEPT:
            assert np.all(np.isfinite(values[work.LOSS]))
            continue
        assert answer.statuses[0] == "ok"
        assert answer.statuses[1].startswith("failed: ")
        for series in values.values():
            assert math.isfinite(series[0])
            assert math.isnan(series[1])


def texts(results: Results) -> list[tuple[Any, ...]]:
    """The lines of the table of losses."""
    frame = pd.concat([tables.losses(results, which) for which in (False, True)])
    return list(frame.itertuples(name=None))


def test_files_hold_the_cells_numbers(tmp_path: Path) -> None:
    run = [small(c) for c in ("Truth", "Rust", "Plug-in", "GLADIUS")]
    other = [e for e in tables.entries(True) if e.row == work.POPULATION]
    entries = [*other, *run, small("BC")]
    stored = [computed(e.cell) for e in entries[:-1]] + [FAILED]
    results = Results(entries, stored, True, tables.view)
    frame = written(tables.EXHIBIT, results, tmp_path)
    names = {p.name for p in tmp_path.iterdir()}
    assert {"counterfactual.tex", "counterfactual_law.tex", "counterfactual_policies.png"} <= names
    mine = frame[(frame["column"] == "GLADIUS") & (frame["row"] == f"50, {CHEAPER}")]
    means = mine.set_index(["protocol", "statistic"])["value"]
    series = result_of(run[3]).replications
    for solver in work.SOLVERS:
        values = series[work.label(work.LOSS, CHEAPER, solver)]
        key = (f"leak_free smooth, {solver}", work.LOSS)
        assert means[key] == pytest.approx(np.mean(values), rel=1e-8)
    gaps = pd.read_csv(tmp_path / "counterfactual_paired.csv")
    line = gaps[(gaps["row"] == f"50, {USED}") & (gaps["column"] == "GLADIUS - Plug-in")].iloc[0]
    key_ = work.label(work.LOSS, USED, work.ESTIMATED)
    gap = np.diff([result_of(run[i]).replications[key_] for i in (2, 3)], axis=0)[0]
    assert line["value"] == pytest.approx(gap.mean(), rel=1e-8)
    assert line["se"] == pytest.approx(gap.std(ddof=1) / math.sqrt(2), rel=1e-8)
    shown = {line[0]: dict(zip(work.SOLVERS, line[1:], strict=True)) for line in texts(results)}
    assert set(shown[CHEAPER, "50", "BC"].values()) == {"failed"}
    assert shown[USED, "50", "Truth"][work.SOFT] == tables.NOTHING_TO_SHOW
    assert shown[HALVED, work.POPULATION, "Truth"][work.SOFT] == "0"
    assert shown[HALVED, work.POPULATION, "Truth"][work.KEPT] == "2.9"
    assert set(gaps[gaps["column"] == "BC - GLADIUS"]["status"]) == {"not_run"}
    said = tables.verdict(tmp_path)
    share = 1 - np.mean(series[work.label(work.LOSS, HALVED, "CQL 1")]) / loss(HALVED, OLD)
    assert f"{HALVED}: " in said
    assert f"{100 * share:.1f} % CQL 1" in said
    shares = [
        100 * (1 - np.mean(series[work.label(work.LOSS, name, work.IN_DATA)]) / loss(name, OLD))
        for name in (CHEAPER, HALVED)
    ]
    assert f"N = 50: {min(shares):.1f} % (r changes, {work.IN_DATA}), " in said.splitlines()[0]
