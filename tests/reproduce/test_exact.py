"""The exhibit `exact`: printed digits from seeds; the oracles against literal loops."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gladius import InputError
from proofs_checks.claims import printed_tables
from reproduce import exhibits
from reproduce.cells import author_oracles
from reproduce.cells.author_oracles import maximum_likelihood, resamples, tables, two_step
from reproduce.cells.public_data import SEED, oracles_data
from reproduce.engine.nouns import Array, Cell
from reproduce.exhibits import exact
from reproduce.exhibits.exact import SEEDS
from tests.reproduce.smoke_results import results_of, written

AUTHOR = [f / "shared" / "data" / "author" for f in Path(__file__).parents]
LOST = SEEDS["oracles of A1 and A2"]


def drawn(tmp_path: Path) -> pd.DataFrame:
    """The lines of the exhibit's CSV beside the printed texts."""
    exhibit = exhibits.load("exact")
    written(exhibit, results_of(exhibit), tmp_path)
    return exact.compared(tmp_path)


def test_all_printed_numbers_by_mileage_and_of_resamples_are_equal(tmp_path: Path) -> None:
    frame = drawn(tmp_path)
    others = frame[~frame["is_equal"]][["row", "column", "statistic", "value", "printed"]]
    assert others.values.tolist() == [["table_2/5000", "ML-IRL", "MAPE", 0.49, "0.43"]]
    counted = frame.groupby([frame["row"].str.partition("/")[0], "column"]).size()
    by_table = {f"table_a{i}": 80 for i in (1, 2, 3, 4)} | {"table_3": 40, "table_2": 14}
    assert counted.groupby(level=0).sum().to_dict() == by_table
    wanted = printed_tables.load("table_a3").query("column == 'ML-IRL'")["value"].tolist()
    ours = frame[frame["row"].str.startswith("table_a3/") & frame["column"].eq("ML-IRL")]
    assert [f"{x:.3f}" for x in ours["value"]] == wanted
    page = (tmp_path / "exact.md").read_text()
    assert page.count(", ours ") == 1
    assert SEEDS["networks"] == SEED
    assert "90 of 90" in (tmp_path / "exact_seeds.md").read_text()
    expected = "Equal to the last digit: 360 of 360 by mileage, 13 of 14 of Table 2"
    assert exhibits.load("exact").verdict(tmp_path) == expected  # type: ignore[misc]


def test_negative_control_the_next_integer_gives_other_digits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SEEDS, "oracles of A1 and A2", LOST + 1)
    for entry in exact.entries(False):
        if entry.row == "table_a1" and entry.column in ("Rust", "ML-IRL"):
            numbers = [r.value for r in exact.view(entry, entry.cell.function()(entry.cell))]
            texts = printed_tables.load("table_a1").query("column == @entry.column")["value"]
            assert not np.any(np.array(numbers) == texts.astype(float))


def test_the_choice_of_digits_matters_where_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    (entry,) = (e for e in exact.entries(False) if (e.row, e.column) == ("table_a1", "ML-IRL"))
    result = entry.cell.function()(entry.cell)
    texts = printed_tables.load("table_a1").query("column == 'ML-IRL'")["value"].astype(float)
    monkeypatch.setattr(exact, "CUT_THETA", {})
    equal = np.array([r.value for r in exact.view(entry, result)]) == texts
    assert equal.sum() == 17


def literal_two_step(rows: Array, with_transitions: bool) -> Array:
    """theta of the public estimator by loops over states, as its text says, by a search."""
    from scipy.optimize import minimize

    used = rows[:-1] if with_transitions else rows  # columns: bus, mileage, decision
    choices: dict[int, list[int]] = {}
    moves: dict[tuple[int, int], int] = {}
    for i, (bus, x, d) in enumerate(used.astype(int)):
        choices.setdefault(x, [0, 0])[d] += 1
        if d == 0 and i + 1 < len(rows) and rows[i + 1, 0] == bus:
            after = int(rows[i + 1, 1])
            moves[x, after] = moves.get((x, after), 0) + 1
    share = {x: n[1] / sum(n) for x, n in choices.items()}

    def objective(theta: Array) -> float:
        total = 0.0
        for x, n in choices.items():
            near = [x + k for k in (1, 2, 3, 4) if x + k in share]
            leaving = sum(n for (start, _), n in moves.items() if start == x)
            gap = -theta[0] * x + theta[1] + 0.95 * np.log(share[1])
            for y in near:
                p = moves.get((x, y), 0) / max(leaving, 1) if with_transitions else 0.25
                gap -= p * 0.95 * np.log(share[y])
            each = n[0] * np.logaddexp(0, -gap) + n[1] * np.logaddexp(0, gap)
            total += len(near) * each
        return float(total) / len(used)

    options = {"xatol": 1e-9, "fatol": 1e-15, "maxiter": 2000}
    return np.asarray(minimize(objective, [1.0, 5.0], method="Nelder-Mead", options=options).x)


def test_the_two_step_estimator_is_the_literal_one() -> None:
    data = oracles_data(60, 3)
    rows = np.stack([data.trajectory, data.states[:, 0], data.actions], axis=1).astype(float)
    counted = tables(data, 40)
    # Nelder-Mead stops within 1e-9 of theta where the objective, about 0.3, is flat to 1e-15
    known = two_step(counted.by_bus.sum(axis=0, keepdims=True))[0]
    np.testing.assert_allclose(known, literal_two_step(rows, False), atol=1e-6)
    estimated = two_step(counted.without_last, counted.increments)[0]
    np.testing.assert_allclose(estimated, literal_two_step(rows, True), atol=1e-6)
    assert abs(known - estimated).max() > 1e-4


def test_parameters_behind_the_printed_columns() -> None:
    """Six digits, as an implementation of its own gave them."""
    cell = Cell("author_oracles", {"trajectories": 50, "seed": LOST})
    theta = author_oracles.compute(cell).arrays["theta"]
    np.testing.assert_allclose(theta[:2], [[0.965347, 4.812419], [0.958940, 4.777493]], atol=6e-7)


def test_a_resample_has_a_random_number_of_buses() -> None:
    counts = resamples(40, 100, 30, np.random.RandomState(5))
    rng = np.random.RandomState(5)
    for row in counts:
        chosen = rng.randint(0, 4000, size=(4000, 1))
        assert row.tolist() == [int((chosen == bus).sum()) for bus in range(40)]
    assert len(set(counts.sum(axis=1))) > 5


@pytest.mark.parametrize(
    ("file", "row", "name"),
    [
        ("Forward_estimates_bus50", "50", "two-step, known P"),
        ("NFXP_estimates_bus50", "50", "ML"),
        ("forward_estimates_bus250", "250", "ML"),
        ("forward_estimates_bus500", "500", "ML"),
        ("forward_estimates_bus2500", "2500", "ML"),
        ("NFXP_estimates_bus5000", "5000", "ML"),
        ("forward_estimates_bus5000", "5000", "two-step, known P"),
    ],
)
def test_stored_errors_of_resamples(file: str, row: str, name: str) -> None:
    folder = next(filter(Path.is_dir, AUTHOR), None)
    if folder is None:
        pytest.skip("no files of the public repository beside the checkout")
    stored = np.loadtxt(folder / f"{file}.csv", skiprows=1)
    of_row = {e.cell for e in exact.entries(False) if e.row == f"table_2/{row}"}
    (cell,) = (cell for cell in of_row if name in cell.settings["loops"])
    ours = np.array(cell.function()(cell).replications[name])
    # their search stops at a gradient of 1e-5 of a likelihood summed over 5,000 observations
    np.testing.assert_allclose(ours, stored, atol=1e-4)


def test_bad_counts_are_named() -> None:
    visits = np.ones((1, 20, 2))
    visits[0, 3, 1] = 0.0
    with pytest.raises(InputError, match="without a replacement"):
        two_step(visits)
    assert maximum_likelihood(np.ones((1, 20, 2))).shape == (1, 2)
