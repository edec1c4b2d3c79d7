"""Table 1, executable: its measurements on estimates with a known answer, and its pages."""

import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gladius import METHODS, Estimate
from gladius.model.frequencies import TransitionProbabilities, empirical_transition_probabilities
from gladius.panel.record import group
from reproduce.cells import child as limits
from reproduce.cells import table_1_cells as traits
from reproduce.cells.fits import TRAJECTORIES
from reproduce.drawing import tick_reasons
from reproduce.engine.nouns import Array, Cell, Entry, Record, Result
from reproduce.engine.view import View
from reproduce.exhibits import table_1, table_2
from reproduce.paper import published
from reproduce.paper.compare import counts
from reproduce.paper.verdicts import Comparison
from tests.reproduce import toys
from tests.reproduce.estimates import WORLD, planted
from tests.reproduce.smoke_results import FAILED, entry_of, stored, written

Fit = Callable[..., list[Estimate]]
DATA = [WORLD.simulate(8, np.random.default_rng(1))]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a function in the place of a method's `fit`."""

    def put(method: str, fit: Fit, needs: tuple[str, ...] = ()) -> None:
        module = ModuleType("planted")
        vars(module).update(TITLE="Planted", NEEDS=needs, fit=fit)
        monkeypatch.setitem(sys.modules, "planted", module)
        monkeypatch.setitem(METHODS, method, "planted")

    return put


def measure(name: str, column: str) -> dict[str, float]:
    """A smoke entry's records by statistic; computed each time, for the methods are planted."""
    entry = entry_of("table_1", name, column)
    result = entry.cell.function()(entry.cell)
    return {r.statistic: r.value for r in table_1.view(entry, result)}


def test_every_line_and_column_of_the_printed_table_is_measured_or_declared() -> None:
    printed = published.load("table_1")
    names = list(dict.fromkeys(line.printed for line in table_1.LINES))
    assert names == [*dict.fromkeys(printed["row"]), "PQR"]
    assert table_1.printed_tick("PQR", tick_reasons.FREE) == Comparison.NO_ROW
    assert set(tick_reasons.COLUMNS) == set(printed["column"])
    assert {line.method for line in table_1.LINES} <= set(METHODS)
    entries = table_1.EXHIBIT.checked_entries(False)
    measured = {(e.row, e.column) for e in entries if e.is_shown}
    declared = {tick_reasons.GRADIENT, tick_reasons.RATE}
    for line in table_1.LINES:
        for column in tick_reasons.COLUMNS:
            is_undecidable = column in {*declared, *line.undecidable, *line.declared}
            assert ((line.name, column) in measured) != is_undecidable


def test_its_fits_are_to_the_data_of_table_2_and_shared_with_it() -> None:
    theirs = {e.cell for e in table_2.entries(False)}
    entries = [e for e in table_1.entries(False) if e.cell.compute in ("fit", "author", "errors")]
    assert {e.cell.seeds for e in entries} == {("table_2", str(n)) for n in TRAJECTORIES}
    many = {e.cell.settings["repetitions"] for e in entries if e.cell.compute == "errors"}
    assert many == {table_1.MANY, table_1.OURS_MANY}
    assert {e.row for e in entries if e.cell in theirs} > {
        "BC",
        "Ours, profiled ERM",
        "Ours, author's code",
    }


@pytest.mark.parametrize("inner", [0, 3])
def test_one_shot_is_no_inner_step(plant: Callable[..., None], inner: int) -> None:
    plant(
        "nfxp",
        lambda data, anchor, discount, reward=None: planted(np.zeros(len(data)), inner=inner),
    )
    numbers = measure("NFXP", tick_reasons.ONE_SHOT)
    assert numbers == {traits.TICK: float(inner == 0), "inner steps an outer one": inner / 4}


@pytest.mark.parametrize(
    ("forms_p", "counts", "needs"),
    [(True, True, ()), (False, True, ()), (False, False, ("transitions",))],
)
def test_free_of_transition_probabilities_is_declared_and_measured(
    plant: Callable[..., None], forms_p: bool, counts: bool, needs: tuple[str, ...]
) -> None:
    def fit(data: Any, anchor: Any, discount: float) -> list[Estimate]:
        if counts:
            found = group(data)
            if forms_p:
                empirical_transition_probabilities(found)
        return planted(np.zeros(len(data)))

    plant("nfxp", fit, needs)
    found = measure("NFXP", tick_reasons.FREE)
    assert len(empirical_transition_probabilities(group(DATA)).transition), "no guard is left"
    assert found[traits.TICK] == float(not forms_p and not needs)
    assert (found["forms P"], found["forms counts"]) == (forms_p, counts)


@pytest.mark.parametrize(("shift", "tick"), [(0.0, 1.0), (0.04, 1.0), (0.06, 0.0)])
def test_the_bellman_error_is_of_q_against_r(
    plant: Callable[..., None], shift: float, tick: float
) -> None:
    plant("nfxp", lambda data, anchor, discount, reward=None: planted(np.full(len(data), shift)))
    found = measure("NFXP", tick_reasons.BELLMAN)
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
    found = measure("NFXP", tick_reasons.GLOBAL)
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
    assert measure("Clare", tick_reasons.GLOBAL)[traits.TICK] == 1.0
    assert len(starts) == 2
    assert np.abs(starts[0] - starts[1]).min() > 0


def with_errors(name: str, power: float) -> View:
    """Errors N^power times a factor of each data set, of one line."""
    entries, cells = [], []
    for n in (50, 500, 5000):
        entries.append(Entry(name, tick_reasons.RATE, f"measured {n}", Cell("fit")))
        errors = (np.array([1.0, 1.2, 0.8, 1.1]) * n**power).tolist()
        cells.append(stored(Result((), {"MAPE": errors})))
    return View(entries, cells, False)


def test_the_slope_is_that_of_the_errors_of_the_line() -> None:
    def slope(planted: str, asked: str) -> tuple[float, float, int]:
        return table_1.slope(with_errors(planted, -0.5), table_1.BY_NAME[asked])

    assert slope("NFXP", "NFXP") == pytest.approx((-0.5, 0.0, 4), abs=1e-9)
    assert math.isnan(slope("NFXP", "BC")[0])
    assert math.isnan(slope("SAmQ", "SAmQ, 5 cells")[0])


def rate(results: View) -> tuple[float, str]:
    return table_1.measured_tick(
        results, results.frame(), table_1.BY_NAME["NFXP"], tick_reasons.RATE
    )


@pytest.mark.parametrize(("power", "tick"), [(-0.5001, 1.0), (-0.7, 1.0), (-0.49, 0.0), (0.0, 0.0)])
def test_the_rate_is_root_n_or_faster(power: float, tick: float) -> None:
    assert rate(with_errors("NFXP", power))[0] == tick


@pytest.mark.parametrize(("power", "tick"), [(-0.5, math.nan), (-0.9, 1.0), (-0.1, 0.0)])
def test_a_wide_interval_around_root_n_is_no_tick(power: float, tick: float) -> None:
    results = with_errors("NFXP", power)
    noise = np.random.default_rng(0)
    for cell in results.stored:
        errors = np.array(cell.result.replications["MAPE"])
        factors = np.exp(noise.normal(0.0, 0.4, len(errors)))
        cell.result.replications["MAPE"][:] = (errors * factors).tolist()  # type: ignore[index]
    measured, text = rate(results)
    assert measured == pytest.approx(tick, nan_ok=True)
    assert float(text.split("+- ")[1].split(";")[0]) > table_1.WIDE


OPEN = f"failed: {traits.UNDECIDED}"


def planted_cell(entry: Entry) -> Any:
    """Ticks as printed, refuted and open; most cells failed."""
    records = {
        ("Semi-gradient", tick_reasons.FREE): [Record("forms P", 1.0), Record("forms counts", 1.0)],
        ("BC", tick_reasons.FREE): [Record("forms P", 0.0), Record("forms counts", 0.0)],
        ("Ours, profiled ERM", tick_reasons.SCALE): [
            Record("largest K", 2.0),
            Record("finishes K = 2", 1.0, status="not_converged"),
        ],
    }.get((entry.row, entry.column))
    if (entry.row, entry.column) == ("AVI", tick_reasons.SCALE):
        return stored(Result((Record(traits.TICK, math.nan, status=OPEN),)))
    return stored(Result((Record(traits.TICK, 0.0), *records))) if records else FAILED


def test_the_pages_show_ticks_disagreements_and_what_is_not_decided(tmp_path: Path) -> None:
    entries = table_1.entries(False)
    results = View(entries, [planted_cell(e) for e in entries], True, table_1.view)
    frame = written(table_1.EXHIBIT, results, tmp_path)
    assert OPEN in set(frame["status"])
    page = (tmp_path / "table_1.md").read_text("utf-8").replace("&#x27;", "'")
    for text in (
        "yes | no #</td>",
        "<td>means over the s' of a pair, no P</td>",
        "blank | ? (one cell: NFXP)",
        "blank | no (declared: concave logit, values linear in a basis)",
    ):
        assert text in page
    verdicts = pd.read_csv(tmp_path / "table_1_verdicts.csv", keep_default_na=False)
    cells = verdicts.set_index(["method", "column"])
    assert len(cells) == 91
    assert set(cells.index) == set(published.load("table_1").set_index(["row", "column"]).index)
    assert cells["verdict"]["Ours", tick_reasons.SCALE] == Comparison.OTHER_VARIANT
    assert cells["reason"]["Ours", tick_reasons.SCALE] == tick_reasons.TABLES
    assert cells["verdict"]["BC", tick_reasons.FREE] == Comparison.DIFFERS
    assert cells["verdict"]["AVI", tick_reasons.SCALE] == Comparison.UNCLEAR
    assert cells["reason"]["BC", tick_reasons.FREE] == tick_reasons.UNKNOWN
    # the overview and the table say the same
    assert table_1.verdict(tmp_path) == f"Of 91 entries {(counted := counts(cells['verdict']))}"
    assert f"Entries: {counted}." in page
    assert sum(int(text.split()[0]) for text in counted.split(", ")) == 91


def test_the_time_at_the_largest_k_stands_beside_it() -> None:
    entry = entry_of("table_1", "NFXP", tick_reasons.SCALE)
    records = (Record(traits.TICK, 0.0), Record("largest K", 2.0), Record("MAPE there", 3.0))
    result = Result(records, arrays={traits.SECONDS: np.array([1.25])})
    results = View([entry], [stored(result)], True)
    tick = table_1.measured_tick(
        results, results.frame(), table_1.BY_NAME["NFXP"], tick_reasons.SCALE
    )
    assert tick == (0.0, "K = 2, MAPE 3.00, 1.2 CPU-s, given that r depends on mileage alone")


BLANK, YES = "blank", "yes"


@pytest.mark.parametrize(
    ("form", "column", "printed", "sign", "verdict"),
    [
        ("NFXP", tick_reasons.ONE_SHOT, BLANK, "no", Comparison.AGREES),
        ("NFXP", tick_reasons.ONE_SHOT, BLANK, "yes", Comparison.DIFFERS),
        ("CCP", tick_reasons.ONE_SHOT, BLANK, "yes", Comparison.OTHER_VARIANT),
        ("Ours, profiled ERM", tick_reasons.SCALE, YES, "yes", Comparison.AGREES),
        ("Ours, profiled ERM", tick_reasons.SCALE, YES, "no", Comparison.OTHER_VARIANT),
        ("NFXP", tick_reasons.SCALE, BLANK, "no", Comparison.OTHER_VARIANT),
        ("Ours, profiled ERM", tick_reasons.SCALE, YES, "?", Comparison.UNCLEAR),
        ("ML-IRL", tick_reasons.RATE, BLANK, "yes", Comparison.BLANK),
        ("ML-IRL", tick_reasons.GLOBAL, tick_reasons.LINEAR, "yes", Comparison.AGREES),
        ("ML-IRL", tick_reasons.GLOBAL, tick_reasons.LINEAR, "no", Comparison.UNCLEAR),
        ("AVI", tick_reasons.GLOBAL, "conditional (unstable)", "yes", Comparison.UNCLEAR),
        ("Ours, Algorithm 1", tick_reasons.RATE, "1/sqrt(N)", "no", Comparison.UNCLEAR),
        ("PQR", tick_reasons.GLOBAL, Comparison.NO_ROW, "no", Comparison.NO_ROW),
    ],
)
def test_a_measured_tick_is_compared_with_the_printed_one(
    form: str, column: str, printed: str, sign: str, verdict: str
) -> None:
    assert tick_reasons.compare_tick(form, column, printed, sign) == verdict


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ([Comparison.AGREES, Comparison.UNCLEAR], Comparison.AGREES),
        ([Comparison.AGREES, Comparison.DIFFERS], Comparison.IN_PART),
        ([Comparison.UNCLEAR, Comparison.OTHER_VARIANT], Comparison.OTHER_VARIANT),
        ([Comparison.OTHER_VARIANT, Comparison.DIFFERS], Comparison.DIFFERS),
        ([Comparison.UNCLEAR], Comparison.UNCLEAR),
    ],
)
def test_a_cell_has_one_verdict_for_all_forms(words: list[str], verdict: str) -> None:
    assert tick_reasons.fold(words) == verdict
    assert tick_reasons.fold(words[::-1]) == verdict


def test_every_reason_is_for_a_form_of_the_table_and_a_sign() -> None:
    for name, column, sign in tick_reasons.REASONS:
        line = table_1.BY_NAME[name]
        assert sign in (*table_1.SIGNS.values(), "?")
        assert table_1.printed_tick(line.printed, column) != Comparison.NO_ROW
    assert set(tick_reasons.DECIDES.values()) == {"method", "ours", "nothing"}


def test_other_errors_pass_through_the_guard() -> None:
    with pytest.raises(ZeroDivisionError):
        traits.forms(TransitionProbabilities, lambda: 1 / 0)


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
    """For each call, whatever the calls before it took."""
    with limits.limited(60.0, 1.0) as call:
        assert call(toys.hungry, 2.0) == (None, limits.MEMORY)
        assert call(toys.hungry, 0.1) == (("not_converged", 2.0), "")
        assert call(toys.choosy, 10, 5) == (None, "failed: rung = 10: give less")
        assert call(toys.hungry, 0.1) == (("not_converged", 2.0), "")
    with limits.limited(1.0, 4.0) as call:
        assert call(toys.busy, 0.6)[1] == ""
        assert call(toys.busy, 0.6)[1] == ""
        assert call(toys.busy, 1e9) == (None, limits.TIME)


CELL = Cell("scale", {"method": "nfxp", "ladder": [0, 2, 5, 10, 20], "limits": [60.0, 8.0]})


@pytest.mark.parametrize(
    ("most", "stopped", "tick", "is_decided"),
    [
        (-1, "failed: too large", 0.0, True),
        (2, "failed: too large", 0.0, True),
        (2, limits.TIME, math.nan, False),
        (10, limits.TIME, 1.0, False),
        (20, "", 1.0, True),
    ],
)
def test_the_largest_rung_is_found_and_processor_time_decides_no_tick(
    monkeypatch: pytest.MonkeyPatch, most: int, stopped: str, tick: float, is_decided: bool
) -> None:
    def call(run: object, rung: int, cell: Cell) -> Any:
        value = traits.End("not_converged", 1.5, 2.5) if rung <= most else None
        return limits.LimitedRun(value, "" if value else stopped)

    monkeypatch.setattr(limits, "limited", lambda *_: nullcontext(call))
    result = traits.scale(CELL)
    value = {r.statistic: r.value for r in result.records}
    assert value[traits.TICK] == pytest.approx(tick, nan_ok=True)
    assert value.get("largest K") == (most if is_decided else None)
    assert value.get("MAPE there") == (1.5 if is_decided and most >= 0 else None)
    seconds = result.arrays.get(traits.SECONDS)
    assert (None if seconds is None else seconds.item()) == (
        2.5 if is_decided and most >= 0 else None
    )
