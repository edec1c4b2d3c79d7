"""Table 1, executable: its measurements on estimates whose answer is known, and its pages."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gladius
from gladius import METHODS, BusEngine, Diagnostics, Estimate
from gladius.checks import InputError
from gladius.methods import KNOWLEDGE, needs, title
from gladius.transition_probabilities import (
    TransitionProbabilities,
    empirical_transition_probabilities,
)
from gladius.transitions import Counts, group
from gladius.worlds.bus import BUS_REWARD
from reproduce import fits, published, traits
from reproduce.exhibits import table_1, table_2_all, table_2_author
from reproduce.results import Results
from reproduce.spec import Array, Cell, Entry, Record, Result
from tests.reproduce import toys
from tests.reproduce.shown import FAILED, entry_of, stored, written

WORLD = BusEngine()
Fit = Callable[..., list[Estimate]]


def planted(
    shift: Array, converged: bool = True, inner: int = 0, objective: float = 0.0
) -> list[Estimate]:
    """The true Q and the true r plus a number, one estimate for each number."""
    mdp = WORLD.mdp
    extra = {"objective": objective, "inner_iterations": inner}
    diagnostics = Diagnostics(converged, 4, 0.0, 0.0, 0.0, 0.0, extra=extra)

    def table(values: Array) -> Callable[[Any], Array]:
        return lambda states: values[states[:, 0].astype(int) - 1]

    q = table(mdp.solution.q)
    return [Estimate("planted", q, table(mdp.reward + x), 1, diagnostics) for x in shift]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a function in the place of a method's `fit`."""

    def put(method: str, fit: Fit, needs: tuple[str, ...] = ()) -> None:
        module = ModuleType("planted")
        vars(module).update(TITLE=table_1_title(method), NEEDS=needs, fit=fit)
        monkeypatch.setitem(sys.modules, "planted", module)
        monkeypatch.setitem(METHODS, method, "planted")

    return put


def table_1_title(method: str) -> str:
    return next(line.name for line in table_1.LINES if line.method == method)


def measure(name: str, column: str) -> dict[str, float]:
    """A smoke entry's records by statistic; computed each time, for the methods are planted."""
    entry = entry_of("table_1", name, column)
    result = entry.cell.function()(entry.cell, "cpu")
    return {r.statistic: r.value for r in table_1.view(entry, result)}


def test_every_line_and_column_of_the_printed_table_is_measured_or_declared() -> None:
    said = published.load("table_1")
    shown = list(dict.fromkeys(line.printed for line in table_1.LINES))
    assert shown == [*dict.fromkeys(said["row"]), "PQR"]
    assert table_1._printed("PQR", table_1.FREE) == table_1.NO_ROW
    assert set(table_1.COLUMNS) == set(said["column"])
    entries = table_1.EXHIBIT.checked_entries(False)
    found = {(e.row, e.column) for e in entries if e.is_shown}
    declared = {table_1.GRADIENT, table_1.RATE}
    for line in table_1.LINES:
        for column in table_1.COLUMNS:
            silent = column in declared or column in line.silent
            assert ((line.name, column) in found) != silent


def test_its_fits_are_those_of_the_extended_table() -> None:
    theirs = {e.cell for e in table_2_all.entries(False)}
    theirs |= {e.cell for e in table_2_author.entries(False)}
    for entry in table_1.entries(False):
        cell = entry.cell
        if cell.compute == "reproduce.traits:errors":  # the same fit of more data sets
            assert cell.settings["repetitions"] == table_1.BY_NAME[entry.row].sets >= 200
            told = {"options": {}, **cell.settings, "repetitions": 20}
            assert told in [{"options": {}, **c.settings} for c in theirs]
        elif entry.column in (table_1.ONE_SHOT, table_1.BELLMAN, table_1.RATE):
            assert cell in theirs


@pytest.mark.parametrize("inner", [0, 3])
def test_one_shot_is_no_inner_step(plant: Callable[..., None], inner: int) -> None:
    plant(
        "nfxp",
        lambda data, anchor, discount, reward=None: planted(np.zeros(len(data)), inner=inner),
    )
    found = measure("NFXP", table_1.ONE_SHOT)
    assert found == {traits.TICK: float(inner == 0), "inner steps an outer one": inner / 4}


@pytest.mark.parametrize(
    ("law", "counts", "needs"),
    [(True, True, ()), (False, True, ()), (False, False, ("transitions",))],
)
def test_free_of_a_law_is_declared_and_measured(
    plant: Callable[..., None], law: bool, counts: bool, needs: tuple[str, ...]
) -> None:
    def fit(data: Any, anchor: Any, discount: float) -> list[Estimate]:
        if counts:
            found = group(data)
            if law:
                empirical_transition_probabilities(found)
        return planted(np.zeros(len(data)))

    plant("nfxp", fit, needs)
    found = measure("NFXP", table_1.FREE)
    assert found[traits.TICK] == float(not law and not needs)
    assert (found["forms P"], found["forms counts"]) == (law, counts)


@pytest.mark.parametrize(("shift", "tick"), [(0.0, 1.0), (0.04, 1.0), (0.06, 0.0)])
def test_the_bellman_error_is_of_q_against_r(
    plant: Callable[..., None], shift: float, tick: float
) -> None:
    plant("nfxp", lambda data, anchor, discount, reward=None: planted(np.full(len(data), shift)))
    found = measure("NFXP", table_1.BELLMAN)
    assert found[traits.TICK] == tick
    assert found["Bellman error"] == pytest.approx(shift, abs=1e-9)
    assert found["anchor's Bellman error"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("spread", "converged", "tick"), [(0.0, True, 1.0), (0.01, True, 0.0), (0.0, False, 0.0)]
)
def test_global_is_one_reward_from_every_start_and_every_fit_converged(
    plant: Callable[..., None], spread: float, converged: bool, tick: float
) -> None:
    def fit(data: Any, anchor: Any, discount: float, *, start: Array) -> list[Estimate]:
        assert start.shape == (len(data), 2)
        assert len({tuple(one) for one in start}) == len(start)
        assert all(one is data[0] for one in data)
        return planted(np.linspace(0.0, spread, len(data)), converged)

    plant("nfxp", fit)
    found = measure("NFXP", table_1.GLOBAL)
    assert found[traits.TICK] == tick
    assert found["spread of r"] == pytest.approx(spread)
    assert found["converged"] == float(converged)


def test_a_start_that_is_a_reward_is_one_function_for_each_fit(plant: Callable[..., None]) -> None:
    starts: list[Array] = []

    def fit(data: Any, anchor: Any, discount: float, *, start: Any, rng: int) -> list[Estimate]:
        assert (len(data), rng) == (1, 0)
        starts.append(start(WORLD.mdp.features))
        return planted(np.zeros(1))

    plant("clare", fit)
    assert measure("Clare", table_1.GLOBAL)[traits.TICK] == 1.0
    assert len(starts) == 2
    assert np.abs(starts[0] - starts[1]).min() > 0


def with_errors(name: str, power: float) -> Results:
    """Errors N^power times a factor of each data set, of one line."""
    entries, known = [], []
    for n in (50, 500, 5000):
        entries.append(Entry(name, table_1.RATE, f"measured {n}", Cell("reproduce.fits:compute")))
        errors = (np.array([1.0, 1.2, 0.8, 1.1]) * n**power).tolist()
        known.append(stored(Result((), {"MAPE": errors})))
    return Results(entries, known, False)


def test_the_slope_is_that_of_the_errors_of_the_line() -> None:
    def slope(planted: str, asked: str) -> tuple[float, float, int]:
        return table_1.slope(with_errors(planted, -0.5), table_1.BY_NAME[asked])

    assert slope("NFXP", "NFXP") == pytest.approx((-0.5, 0.0, 4), abs=1e-9)
    assert math.isnan(slope("NFXP", "BC")[0])
    assert math.isnan(slope("SAmQ", "SAmQ, 5 cells")[0])


@pytest.mark.parametrize(("power", "tick"), [(-0.5001, 1.0), (-0.7, 1.0), (-0.49, 0.0), (0.0, 0.0)])
def test_the_rate_is_root_n_or_faster(power: float, tick: float) -> None:
    results = with_errors("NFXP", power)
    line = table_1.BY_NAME["NFXP"]
    assert table_1._ours(results, results.frame(), line, table_1.RATE)[0] == tick


@pytest.mark.parametrize(("power", "tick"), [(-0.5, math.nan), (-0.9, 1.0), (-0.1, 0.0)])
def test_a_wide_interval_around_root_n_is_no_tick(power: float, tick: float) -> None:
    results = with_errors("NFXP", power)
    noise = np.random.default_rng(0)
    for stored_cell in results.stored:
        errors = stored_cell.result.replications["MAPE"]
        errors[:] = (np.array(errors) * np.exp(noise.normal(0.0, 0.4, len(errors)))).tolist()
    line = table_1.BY_NAME["NFXP"]
    found = table_1._ours(results, results.frame(), line, table_1.RATE)
    assert found[0] == pytest.approx(tick, nan_ok=True)
    half = float(found[1].split("+- ")[1].split(";")[0].split(",")[0])
    assert half > table_1.WIDE


OPEN = f"failed: {traits.UNDECIDED}"


def latex(path: Path) -> str:
    """A table's text, without what LaTeX escapes."""
    return path.read_text().replace("\\textbar{}", "|").replace("\\", "")


def test_the_pages_show_ticks_disagreements_and_what_cannot_be_told(tmp_path: Path) -> None:
    """Planted records: ticks borne out, refuted, open and silent, others not run."""

    def planted_(entry: Entry) -> Any:
        records = {
            ("Semi-gradient", table_1.FREE): [Record("forms P", 1.0), Record("forms counts", 1.0)],
            ("BC", table_1.FREE): [Record("forms P", 0.0), Record("forms counts", 0.0)],
            ("Ours", table_1.SCALE): [
                Record("largest K", 2.0),
                Record("finishes K = 2", 1.0, status="not_converged"),
            ],
        }.get((entry.row, entry.column))
        if (entry.row, entry.column) == ("AVI", table_1.SCALE):
            return stored(Result((Record(traits.TICK, math.nan, status=OPEN),)))
        return stored(Result((Record(traits.TICK, 0.0), *records))) if records else FAILED

    entries = table_1.entries(True)
    results = Results(entries, [planted_(e) for e in entries], True, table_1.view)
    frame = written(table_1.EXHIBIT, results, tmp_path)
    assert OPEN in set(frame["status"])
    page = latex(tmp_path / "table_1.tex")
    assert "yes | no # (means over the s' of a pair)" in page
    assert "| ? (not decided in 60 s)" in page
    assert "yes | no (#) (K = 2, not converged)" in page
    assert "blank | ? (one cell: NFXP)" in page
    why = latex(tmp_path / "table_1_reasons.tex")
    assert table_1.reason("Ours", table_1.SCALE, "no") in why
    assert table_1.UNKNOWN in why  # nobody wrote why BC should need P
    # and the declared ticks of the solvers
    assert table_1.reason("Semi-gradient", table_1.GRADIENT, "no") in why
    said = pd.read_csv(tmp_path / "table_1_verdicts.csv")
    assert len(said) == len(table_1.LINES) * len(table_1.COLUMNS)
    named = said.set_index(["line", "column"])["verdict"]
    assert named["Ours", table_1.SCALE] == table_1.IMPLEMENTATION
    assert named["BC", table_1.FREE] == table_1.CONTRADICTED
    assert named["AVI", table_1.SCALE] == table_1.OPEN
    # the overview and the table say the same
    printed = said[said["verdict"] != table_1.NO_ROW]
    assert len(said) - len(printed) == len(table_1.COLUMNS)  # PQR's
    assert table_1.verdict(tmp_path) == f"{len(printed)} ticks: {table_1.counted(said)}"
    assert f"{table_1.counted(said)}." in page


def test_a_conditional_tick_is_neither_borne_out_nor_refuted() -> None:
    words, ticks = ("conditional (unstable)", "blank", "yes"), (0.0, 1.0, math.nan)
    found = [[table_1._differ(word, tick) for tick in ticks] for word in words]
    assert found == [[False] * 3, [False, True, False], [True, False, False]]


def test_what_is_of_our_implementation_has_a_reason() -> None:
    assert set(table_1.REASONS) >= table_1.OF_OURS
    yes, no = 1.0, 0.0
    judged = [
        ("NFXP", table_1.ONE_SHOT, "blank", no, table_1.AS_PRINTED),
        ("NFXP", table_1.ONE_SHOT, "blank", yes, table_1.CONTRADICTED),
        ("Ours", table_1.SCALE, "yes", no, table_1.IMPLEMENTATION),
        ("Ours", table_1.SCALE, "yes", math.nan, table_1.OPEN),
        ("ML-IRL", table_1.GLOBAL, "conditional (Linear only)", no, table_1.OPEN),
        ("PQR", table_1.GLOBAL, table_1.NO_ROW, no, table_1.NO_ROW),
    ]
    for line, column, printed, tick, verdict in judged:
        assert table_1.judge(line, column, printed, tick) == verdict


def test_reasons_are_for_one_direction() -> None:
    for (name, column, measured), text in table_1.REASONS.items():
        assert measured in table_1.SIGNS.values()
        assert column in table_1.COLUMNS
        assert not name or name in table_1.BY_NAME
        assert text != table_1.UNKNOWN
        if (name, column, measured) in table_1.OF_OURS:
            said = table_1._printed(table_1.BY_NAME[name].printed, column)
            tick = {sign: tick for tick, sign in table_1.SIGNS.items()}[measured]
            assert table_1.judge(name, column, said, tick) == table_1.IMPLEMENTATION
        if name:  # it explains a difference, or says that and why there is none
            printed = table_1._printed(table_1.BY_NAME[name].printed, column)
            agrees = (printed == "blank") == (measured == "no")
            assert agrees == text.startswith("agrees") or printed.startswith("conditional")
    assert table_1.reason("AVI", table_1.SCALE, "no") == table_1.UNKNOWN


def test_wide_fits_say_how_they_ended() -> None:
    cell = entry_of("table_1", "RP", table_1.SCALE).cell
    coarse = replace(cell, settings={**cell.settings, "options": {"max_cells": 1}})
    status, error = traits.wide_fit(2, coarse)
    assert status == "ok"
    assert 0 < error < 300


DATA = WORLD.simulate(8, np.random.default_rng(1))


def fit(method: str, **options: Any) -> Estimate:
    if "form" in needs(method):
        options["reward"] = BUS_REWARD
    return gladius.fit(DATA, method, **options, anchor_action=1, anchor_reward=-5.0, discount=0.95)


@pytest.mark.parametrize(
    ("method", "options", "law", "counts"),
    [
        ("nfxp", {}, True, True),
        ("gladius", {}, True, True),
        ("gladius", {"protocol": "printed", "iterations": 10}, False, True),
        ("semi_gradient", {}, False, False),
        ("bc", {}, False, False),
        ("iq_learn", {}, False, True),
    ],
)
def test_what_a_run_forms_is_noticed_and_its_absence_too(
    method: str, options: dict[str, Any], law: bool, counts: bool
) -> None:
    for kind, is_formed in ((TransitionProbabilities, law), (Counts, counts)):
        assert traits.forms(kind, lambda: fit(method, **options)) == is_formed
    assert fit("nfxp").diagnostics.converged, "the guard was not lifted"


def test_other_errors_pass_through_the_guard() -> None:
    with pytest.raises(InputError):
        traits.forms(TransitionProbabilities, lambda: fit("no such method"))


def test_a_method_without_inner_steps_is_refused(plant: Callable[..., None]) -> None:
    def fit(data: Any, anchor: Any, discount: float, reward: Any = None) -> list[Estimate]:
        found = planted(np.zeros(len(data)))
        return [replace(e, diagnostics=replace(e.diagnostics, extra={})) for e in found]

    plant("nfxp", fit)
    with pytest.raises(KeyError, match="inner_iterations"):
        measure("NFXP", table_1.ONE_SHOT)


def test_bellman_errors_of_the_truth_and_of_a_shifted_q() -> None:
    mdp = WORLD.mdp
    q = np.stack([mdp.solution.q, mdp.solution.q + 2.0])
    found, anchored = traits.bellman_errors(WORLD, q, np.stack([mdp.reward] * 2))
    # Q + 2 violates every equation by 2 (1 - beta)
    np.testing.assert_allclose(found, [0.0, 0.1], atol=1e-9)
    np.testing.assert_allclose(anchored, [0.0, 0.1], atol=1e-9)


def test_spread_is_the_range_over_starts() -> None:
    (one,) = planted(np.zeros(1), objective=1.0)
    (same,) = planted(np.zeros(1), objective=1.5)
    other = replace(same, reward_function=lambda s: one.reward_function(s) + np.array([0, 3]))
    objective, reward = traits.spread(WORLD, [one, other, one])
    share = WORLD.mdp.occupancy(100)[:, 1].sum()
    assert objective == 0.5
    assert reward == pytest.approx(3.0 * math.sqrt(share))
    assert traits.spread(WORLD, [one, one]) == (0.0, 0.0)


def test_limits_of_time_and_memory_hold() -> None:
    assert traits.within((60.0, 4.0), toys.hungry, 0.1) == ("not_converged", 2.0)
    assert traits.within((60.0, 1.0), toys.hungry, 2.0)[0] == traits.MEMORY
    assert traits.within((1.0, 4.0), toys.busy, 1e9)[0] == traits.UNDECIDED


def test_the_largest_rung_is_found_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = (60.0, 4.0)
    most, ends = traits.largest(toys.choosy, [2, 5, 10], 5, limits)
    assert (most, ends[5], ends[10][0]) == (5, ("ok", 3.0), "failed: rung = 10: give less")
    monkeypatch.setattr(traits, "within", lambda limits, run, *given: run(*given))
    assert traits.largest(toys.choosy, [0, 2], 2, limits)[0] == 2  # not converged
    assert traits.largest(toys.choosy, [0], 0, limits)[0] == -1  # diverged


@pytest.mark.parametrize(
    ("most", "stopped", "tick", "is_told"),
    [(2, 5, math.nan, False), (10, 20, 1.0, False), (2, None, 0.0, True), (20, None, 1.0, True)],
)
def test_processor_time_decides_no_tick(
    monkeypatch: pytest.MonkeyPatch, most: int, stopped: int | None, tick: float, is_told: bool
) -> None:
    def within(limits: object, run: object, rung: int, cell: Cell) -> traits.End:
        if rung <= most:
            return "ok", 1.5
        return (traits.UNDECIDED if stopped else "failed: too large"), math.nan

    monkeypatch.setattr(traits, "within", within)
    cell = Cell("reproduce.traits:scale", {"ladder": [0, 2, 5, 10, 20], "limits": [60.0, 8.0]})
    value = {r.statistic: r.value for r in traits.scale(cell, "cpu").records}
    assert value[traits.TICK] == pytest.approx(tick, nan_ok=True)
    assert value.get("MAPE there") == (1.5 if is_told else None)
    assert ("largest K" in value) == is_told  # how far it came in 60 seconds is the machine's


def test_methods_say_who_they_are_and_what_they_use() -> None:
    for name in METHODS:
        assert title(name)
        assert set(needs(name)) <= set(KNOWLEDGE)
    assert {line.method for line in table_1.LINES} <= set(METHODS)


def test_the_extended_table_has_every_method_at_every_size() -> None:
    entries = table_2_all.EXHIBIT.checked_entries(False)
    found = {(e.cell.settings["method"], e.row) for e in entries}
    assert {(m, str(n)) for m in METHODS for n in fits.TRAJECTORIES} <= found


def test_a_further_method_is_a_file_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("fourteenth")
    calls: list[int] = []

    def fit(data: Any, anchor: Any, discount: float, *, level: float = 0.0) -> list[Estimate]:
        calls.append(len(data))
        return planted(np.full(len(data), level))

    vars(module).update(TITLE="Fourteenth", NEEDS=("next",), fit=fit)
    monkeypatch.setitem(sys.modules, "fourteenth", module)
    monkeypatch.setitem(METHODS, "fourteenth", "fourteenth")
    (entry,) = [e for e in table_2_all.entries(True) if e.column == "Fourteenth" and e.row == "50"]
    records = table_2_all.view(entry, fits.compute(entry.cell, "cpu"))
    assert calls == [2]
    value = {r.statistic: r.value for r in records}
    assert (value["MAPE"], value["iterations"]) == (0.0, 4.0)


def rewards_of(methods: dict[str, float]) -> Results:
    """Entries of `table_2_all` at one N whose rewards are a number each."""
    entries, known = [], []
    for method, level in methods.items():
        cell = Cell("reproduce.fits:compute", {"method": method})
        entries.append(Entry("50", title(method), "leak_free", cell))
        arrays = {"reward": np.full((2, 20, 2), level), "visits": np.ones((2, 20, 2))}
        arrays["visits"][:, 9, 0] = 0.0
        arrays["reward"][:, 9, 0] += level  # differs where no data set has the pair: no matter
        known.append(stored(Result((), {}, arrays)))
    return Results(entries, known, False)


def test_agreement_is_judged_by_the_rewards_at_the_pairs_seen() -> None:
    results = rewards_of({"nfxp": 1.0, "mpec": 1.0 + 1e-6, "rp": 1.1})
    cases = (("mpec", 1e-5, "1e-06 yes"), ("mpec", 1e-7, "1e-06 NO"), ("rp", 1e-5, "1e-01 NO"))
    for other, tolerance, said in cases:
        assert table_2_all._equal(results, "50", ("nfxp", ""), (other, ""), tolerance) == said
