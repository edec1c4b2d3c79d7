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

from gladius import METHODS, BusEngine, Diagnostics, Estimate
from gladius.transition_probabilities import empirical_transition_probabilities
from gladius.transitions import group
from reproduce import engine, published
from reproduce.exhibits import _table_1_reasons as reasons
from reproduce.exhibits import table_1, table_2_all
from reproduce.results import Results
from reproduce.spec import Array, Cell, Record, Result
from reproduce.store import Stored

WORLD = BusEngine()
Fit = Callable[..., list[Estimate]]


def planted(
    shift: Array, converged: bool = True, inner: int = 0, methods: str = "planted"
) -> list[Estimate]:
    """The true Q and the true r plus a number, one estimate for each number."""
    mdp = WORLD.mdp
    extra = {"objective": 0.0, "inner_iterations": inner}
    looks = Diagnostics(converged, 4, 0.0, 0.0, 0.0, 0.0, extra=extra)

    def at(states: Any) -> Any:
        return states[:, 0].astype(int) - 1

    return [
        Estimate(
            methods,
            lambda states: mdp.solution.q[at(states)],
            lambda states, one=one: mdp.reward[at(states)] + one,
            1,
            looks,
        )
        for one in shift
    ]


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
    """A smoke cell's records by statistic."""
    (cell,) = [c for c in table_1.cells(True) if (c.row, c.column) == (name, column)]
    return {r.statistic: r.value for r in table_1.compute(cell, "cpu").records}


def test_every_line_and_column_of_the_printed_table_is_measured_or_declared() -> None:
    said = published.load("table_1")
    assert list(dict.fromkeys(line.printed for line in table_1.LINES)) == list(
        dict.fromkeys(said["row"])
    )
    assert set(table_1.COLUMNS) == set(said["column"])
    found = {(cell.row, cell.column) for cell in table_1.EXHIBIT.checked_cells(False)}
    declared = {table_1.GRADIENT, table_1.RATE}
    for line in table_1.LINES:
        for column in table_1.COLUMNS:
            silent = column in declared or column in line.silent
            assert ((line.name, column) in found) != silent


def test_the_data_are_those_of_table_2() -> None:
    (cell,) = [c for c in table_2_all.cells(True) if (c.row, c.protocol) == ("50", "leak_free")][:1]
    theirs = table_1._bus.data_sets(WORLD, cell)[0]
    for line in table_1.LINES[:2]:
        (mine,) = [
            c
            for c in table_1.cells(True)
            if (c.row, c.column) == (line.name, "One-shot Optimization")
        ]
        for one, other in zip(table_1._train(WORLD, mine), theirs, strict=True):
            assert np.array_equal(one.states, other.states)
            assert np.array_equal(one.actions, other.actions)


@pytest.mark.parametrize("inner", [0, 3])
def test_one_shot_is_no_inner_step(plant: Callable[..., None], inner: int) -> None:
    plant("nfxp", lambda data, anchor, discount: planted(np.zeros(len(data)), inner=inner))
    found = measure("NFXP", table_1.ONE_SHOT)
    assert found == {table_1.TICK: float(inner == 0), "inner steps an outer one": inner / 4}


@pytest.mark.parametrize(
    ("law", "counts", "needs"), [(True, True, ()), (False, True, ()), (False, False, ("law",))]
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
    assert found[table_1.TICK] == float(not law and not needs)
    assert (found["forms a law"], found["forms counts"]) == (law, counts)


@pytest.mark.parametrize(("shift", "tick"), [(0.0, 1.0), (0.04, 1.0), (0.06, 0.0)])
def test_the_bellman_error_is_of_q_against_r(
    plant: Callable[..., None], shift: float, tick: float
) -> None:
    plant("nfxp", lambda data, anchor, discount: planted(np.full(len(data), shift)))
    found = measure("NFXP", table_1.BELLMAN)
    assert found[table_1.TICK] == tick
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
    assert found[table_1.TICK] == tick
    assert found["spread of r"] == pytest.approx(spread)
    assert found["converged"] == float(converged)


def test_a_start_that_is_a_reward_is_one_function_for_each_fit(plant: Callable[..., None]) -> None:
    starts: list[Array] = []

    def fit(data: Any, anchor: Any, discount: float, *, start: Any, rng: int) -> list[Estimate]:
        assert (len(data), rng) == (1, 0)
        starts.append(start(WORLD.mdp.features))
        return planted(np.zeros(1))

    plant("clare", fit)
    assert measure("Clare", table_1.GLOBAL)[table_1.TICK] == 1.0
    assert len(starts) == 2
    assert np.abs(starts[0] - starts[1]).min() > 0


def with_errors(method: str, word: str, power: float) -> Results:
    """Errors N^power times a factor of each data set."""
    column, protocol = table_2_all.column_of(method, word)
    cells, stored = [], []
    for n in (50, 500, 5000):
        cells.append(Cell("table_2_all", str(n), column, protocol, {"method": method}))
        errors = (np.array([1.0, 1.2, 0.8, 1.1]) * n**power).tolist()
        stored.append(Stored(Result((), {"MAPE": errors}), "ok", "", {}))
    return Results(cells, stored, False)


def test_the_slope_is_that_of_the_errors_of_the_line_s_variant() -> None:
    line = table_1.BY_NAME["NFXP"]
    mean, half, n = table_1.slope(with_errors("nfxp", "", -0.5), line)
    assert (mean, n) == (pytest.approx(-0.5), 4)
    assert half == pytest.approx(0.0, abs=1e-9)
    assert math.isnan(table_1.slope(with_errors("nfxp", "", -0.5), table_1.BY_NAME["BC"])[0])
    samq = table_1.BY_NAME["SAmQ, 5 cells"]
    assert math.isnan(table_1.slope(with_errors("samq", "", -0.5), samq)[0])
    assert table_1.slope(with_errors("samq", "5 cells", -0.2), samq)[0] == pytest.approx(-0.2)


@pytest.mark.parametrize(("power", "tick"), [(-0.5001, 1.0), (-0.7, 1.0), (-0.49, 0.0), (0.0, 0.0)])
def test_the_rate_is_root_n_or_faster(power: float, tick: float) -> None:
    results = with_errors("nfxp", "", power)
    frame = pd.DataFrame(columns=["row", "column"])
    line = table_1.BY_NAME["NFXP"]
    assert table_1._ours(results, frame, line, table_1.RATE)[0] == tick


def latex(path: Path) -> str:
    """A table's text, without what LaTeX escapes."""
    return path.read_text().replace("\\", "")


def test_the_pages_show_ticks_disagreements_and_what_cannot_be_told(tmp_path: Path) -> None:
    """Planted records of two lines: one tick borne out, one refuted, one silent, others not run."""

    def stored(cell: Cell) -> Stored | None:
        records = {
            ("NFXP", table_1.ONE_SHOT): [Record("inner steps an outer one", 6.0)],
            ("BC", table_1.ONE_SHOT): [Record("inner steps an outer one", 2.0)],
            ("Ours", table_1.SCALE): [
                Record("largest K", 2.0),
                Record("CPU seconds at K = 2", 9.0, status="not_converged"),
            ],
        }.get((cell.row, cell.column))
        if records is None:
            return None
        result = Result((Record(table_1.TICK, 0.0), *records))
        return Stored(result, "ok", "", {"started": "", "seconds": 0, "cpu_seconds": 0})

    cells = table_1.cells(True)
    results = Results(cells, [stored(cell) for cell in cells], True)
    written = engine.write_exhibit(table_1.EXHIBIT, results, tmp_path)
    assert {path.suffix for path in written} >= {".csv", ".tex", ".png"}
    page = latex(tmp_path / "table_1.tex")
    assert "blank | no (6.00 inner)" in page
    assert "yes | no # (2.00 inner)" in page
    assert "yes | no # (K = 2, not converged)" in page
    assert "blank | ? (one cell: NFXP)" in page
    why = latex(tmp_path / "table_1_reasons.tex")
    assert reasons.reason("Ours", table_1.SCALE, "no") in why
    assert reasons.UNKNOWN in why  # nobody wrote why BC should have inner steps
    # and the declared ticks of the solvers
    assert reasons.reason("Semi-gradient", table_1.GRADIENT, "no") in why
    assert table_1.verdict(tmp_path) == "3 ticks measured by runs of their own, 2 not as printed"


def test_a_conditional_tick_is_neither_borne_out_nor_refuted() -> None:
    assert not table_1._differ("conditional (unstable)", 0.0)
    assert not table_1._differ("conditional (unstable)", 1.0)
    assert table_1._differ("blank", 1.0)
    assert table_1._differ("yes", 0.0)
    assert not table_1._differ("yes", 1.0)
    assert not table_1._differ("blank", 0.0)
    assert not table_1._differ("yes", math.nan)


def test_reasons_are_for_one_direction() -> None:
    for (name, column, measured), text in reasons.REASONS.items():
        assert measured in table_1.SIGNS.values()
        assert column in table_1.COLUMNS
        assert not name or name in table_1.BY_NAME
        assert text != reasons.UNKNOWN
        if name:  # it explains a difference, or says that and why there is none
            printed = table_1._printed(table_1.BY_NAME[name].printed, column)
            agrees = (printed == "blank") == (measured == "no")
            assert agrees == text.startswith("agrees") or printed.startswith("conditional")
    assert reasons.reason("AVI", table_1.SCALE, "no") == reasons.UNKNOWN
    assert not reasons.known("AVI", table_1.SCALE, "no")
    assert not reasons.known("BC", table_1.ONE_SHOT, "yes")


def test_every_line_has_a_solver() -> None:
    assert list(table_1.SOLVERS) == [line.name for line in table_1.LINES]


def test_wide_fits_say_how_they_ended() -> None:
    (cell,) = [c for c in table_1.cells(True) if (c.row, c.column) == ("RP", table_1.SCALE)]
    coarse = replace(cell, settings={**cell.settings, "options": {"max_cells": 1}})
    assert table_1.wide_fit(2, coarse.spec()) == "ok"
    short = {"max_cells": 1, "max_iterations": 1}
    stopped = replace(cell, settings={**cell.settings, "options": short})
    assert table_1.wide_fit(2, stopped.spec()) == "not_converged"
