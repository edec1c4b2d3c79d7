"""Table 2's entries, reasons and files."""

from pathlib import Path

import numpy as np
import pytest

from reproduce.cells import fits, public_baselines
from reproduce.cells.fits_author import EPOCHS_SHOWN
from reproduce.engine.nouns import Entry, Record, Result, summarise
from reproduce.engine.store import Stored
from reproduce.engine.view import View
from reproduce.exhibits import table_2
from tests.reproduce.smoke_results import stored, written

TABLES = ("table_2", "table_2_paper")


@pytest.mark.parametrize("smoke", [True, False])
def test_all_fits_are_to_the_same_data_sets_and_each_is_done_once(smoke: bool) -> None:
    entries = table_2.EXHIBIT.checked_entries(smoke)
    fitted = [e.cell for e in entries if "method" in e.cell.settings]
    assert len(fitted) == len(set(fitted)) > 0
    assert {cell.seeds[0] for cell in fitted} == {"table_2"}


def planted_result(entry: Entry) -> Stored:
    """What a cell of the exhibit stores, with two errors that did not converge."""
    if entry.column == "bound":
        return stored(entry.cell.function()(entry.cell))
    if "baseline" in entry.cell.settings:
        values = {statistic: [3.0] for statistic, _ in public_baselines.ENDS.values()}
        return stored(Result(tuple(Record(name, 3.0) for name in values), values))
    errors = [3.0, 4.0]
    replications = {name: [1.0, 1.0] for name in fits.RUNS}
    epochs = (*EPOCHS_SHOWN, *table_2.ENDS)
    for epoch in epochs if entry.protocol.startswith("author") else ("",):
        replications[f"MAPE {epoch}".strip()] = errors
        replications[f"status {epoch}".strip()] = [1.0, 1.0]
    arrays = {"reward": np.zeros((2, 20, 2)), "visits": np.ones((2, 20, 2))}
    return stored(Result(summarise("MAPE", errors, ["not_converged"] * 2), replications, arrays))


def test_all_files_are_drawn(tmp_path: Path) -> None:
    entries = table_2.EXHIBIT.checked_entries(True)
    cells = [planted_result(e) for e in entries]
    frame = written(table_2.EXHIBIT, View(entries, cells, True, table_2.view), tmp_path)
    tables = {f"{name}.{kind}" for name in TABLES for kind in ("tex", "md")}
    names = {path.name for path in tmp_path.iterdir()}
    assert names == tables | {"table_2.csv"}
    author = frame[frame["protocol"].eq("author oracle") & frame["statistic"].eq("MAPE")]
    assert author["status"].tolist() == ["not_converged"] * 2
    assert frame["protocol"].eq("author public best").sum() == 2 * 3  # GLADIUS, IQ-learn, BC
    table = (tmp_path / "table_2.md").read_text("utf-8")
    assert table.count("public code, before any step") == 2


def test_reasons_name_the_uses_of_the_truth() -> None:
    assert table_2.reason("50", "GLADIUS", "author level-0 last") == "uses no truth"
    both = table_2.reason("50", "GLADIUS", "author oracle")
    assert both.startswith("uses the truth: level started at the truth, epoch chosen by")
    assert table_2.reason("50", "Profiled ERM", "leak_free smooth") == "uses no truth"
    assert table_2.reason("50", "ML-IRL", "fresh") == "two parameters, P known"
