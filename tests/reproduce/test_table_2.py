"""Table 2's entries, its equalities between methods, and its files."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gladius import METHODS
from reproduce.cells import fits
from reproduce.cells.fits_author import EPOCHS_SHOWN
from reproduce.engine.nouns import Entry, Result, summarise
from reproduce.engine.store import Stored
from reproduce.engine.view import Results
from reproduce.exhibits import table_2
from tests.reproduce.estimates import planted
from tests.reproduce.smoke_results import FAILED, stored, written

TABLES = ("table_2", "table_2_author", "table_2_methods", "table_2_paper")


@pytest.mark.parametrize("smoke", [True, False])
def test_every_method_is_fitted_at_every_n_once(smoke: bool) -> None:
    entries = table_2.EXHIBIT.checked_entries(smoke)
    sizes = fits.SMOKE_TRAJECTORIES if smoke else fits.TRAJECTORIES
    cells = {(e.cell.settings.get("method"), e.row) for e in entries}
    assert {(m, str(n)) for m in METHODS for n in sizes} <= cells
    fitted = [e.cell for e in entries if "method" in e.cell.settings]
    assert len(fitted) == len(set(fitted))
    assert {cell.seeds[0] for cell in fitted} == {"table_2"}


def test_a_further_method_is_a_module_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module, calls = ModuleType("sixteenth"), []

    def fit(data: Any, anchor: Any, discount: float) -> Any:
        calls.append(len(data))
        return planted(np.zeros(len(data)))

    vars(module).update(TITLE="Sixteenth", NEEDS=("next",), fit=fit)
    monkeypatch.setitem(sys.modules, "sixteenth", module)
    monkeypatch.setitem(METHODS, "sixteenth", "sixteenth")
    monkeypatch.setitem(table_2.VARIANTS, ("sixteenth", ""), ({}, False))
    (entry,) = (e for e in table_2.entries(True) if e.column == "Sixteenth" and e.row == "50")
    value = {r.statistic: r.value for r in table_2.view(entry, fits.compute(entry.cell))}
    assert calls == [2]
    assert (value["MAPE"], value["iterations"]) == (0.0, 4.0)


def reward_result(level: float) -> Result:
    """A reward of two data sets; mileage 10 under action 0 was never observed."""
    reward, visits = np.full((2, 20, 2), level), np.ones((2, 20, 2))
    visits[:, 9, 0] = 0.0
    reward[:, 9, 0] += level
    return Result((), {}, {"reward": reward, "visits": visits})


@pytest.mark.parametrize(
    ("other", "tolerance", "text"),
    [(1 + 1e-6, 1e-5, "1e-06 yes"), (1 + 1e-6, 1e-7, "1e-06 NO"), (1.1, 1e-5, "1e-01 NO")],
)
def test_equality_is_that_of_rewards_at_observed_pairs(
    other: float, tolerance: float, text: str
) -> None:
    assert table_2.equality(reward_result(1.0), reward_result(other), tolerance) == text
    assert table_2.equality(reward_result(1.0), FAILED.result, tolerance) == "not run"


def planted_result(entry: Entry) -> Stored:
    """What a cell of the exhibit stores, with two errors that did not converge."""
    if entry.column == "bound":
        return stored(entry.cell.function()(entry.cell))
    errors = [3.0, 4.0]
    replications = {name: [1.0, 1.0] for name in fits.RUNS}
    for epoch in EPOCHS_SHOWN if entry.protocol.startswith("author") else ("",):
        replications[f"MAPE {epoch}".strip()] = errors
        replications[f"status {epoch}".strip()] = [1.0, 1.0]
    arrays = {"reward": np.zeros((2, 20, 2)), "visits": np.ones((2, 20, 2))}
    return stored(Result(summarise("MAPE", errors, ["not_converged"] * 2), replications, arrays))


def test_all_files_are_drawn(tmp_path: Path) -> None:
    entries = table_2.EXHIBIT.checked_entries(True)
    cells = [planted_result(e) for e in entries]
    frame = written(table_2.EXHIBIT, Results(entries, cells, True, table_2.view), tmp_path)
    tables = {f"{name}.{kind}" for name in TABLES for kind in ("tex", "html")}
    figure = {"table_2_author.pdf", "table_2_author.png"}
    names = {path.name for path in tmp_path.iterdir()}
    assert names == tables | figure | {"table_2.csv"}
    author = frame[frame["protocol"].eq("author oracle") & frame["statistic"].eq("MAPE")]
    assert author["status"].tolist() == ["not_converged"] * 2
    assert "0e+00 yes" in (tmp_path / "table_2_methods.tex").read_text("utf-8")


def test_reasons_name_the_uses_of_the_truth() -> None:
    assert table_2.reason("50", "GLADIUS", "author level-0 last") == "uses no truth"
    both = table_2.reason("50", "GLADIUS", "author oracle")
    assert both.startswith("uses the truth: level started at the truth, epoch chosen by")
    assert table_2.reason("50", "GLADIUS", "leak_free smooth") == "uses no truth"
    assert table_2.reason("50", "ML-IRL", "leak_free") == "two parameters, P estimated"
