"""The scorecard from the CSVs alone: no module of the project computes what is compared here."""

import csv
import math
from collections import Counter
from pathlib import Path

import pytest
from scipy import stats

from reproduce import scorecard

ROOT = Path(__file__).parents[2] / "paper_tables"
TABLE_2 = {"GLADIUS feasible": "leak_free smooth", "GLADIUS procedure": "author oracle"}
TABLE_2 |= {"IQ-learn ": "leak_free", "BC ": "leak_free network", "SAmQ ": "leak_free ward 5"}


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def welch(ours: tuple[float, float, int], printed: str, error: float, of: int) -> tuple[float, str]:
    """(z, word) of our (mean, its error, repetitions) and a printed mean with its error."""
    mean, se, repetitions = ours
    step = 10.0 ** -len(printed.partition(".")[2])
    variance = se**2 + error**2 + step**2 / 12
    freedom = variance**2 / (se**4 / (repetitions - 1) + error**4 / (of - 1))
    z, critical = (mean - float(printed)) / math.sqrt(variance), stats.t.ppf(0.975, freedom)
    is_inside, is_noisy = abs(z) <= critical, critical * se > float(printed)
    if is_noisy and (is_inside or se * math.sqrt(repetitions) > mean):
        return z, "unclear"
    return z, "agrees" if is_inside else "differs"


def test_both_readings_of_table_2_by_welch() -> None:
    committed = lines(ROOT / "generated/verdicts.csv")
    ours = {
        (line["row"], line["column"], line["protocol"]): line
        for line in lines(ROOT / "generated/table_2.csv")
        if line["statistic"] == "MAPE"
    }
    more = {
        (line["row"].removeprefix("affine/"), line["column"], line["protocol"]): line
        for line in lines(ROOT / "generated/accuracy.csv")
        if line["statistic"] == "MAPE" and line["row"].startswith("affine/")
    }
    seen = 0
    for line in committed:
        protocol = TABLE_2.get(f"{line['column']} {line['rule']}")
        if line["exhibit"] != "table_2" or protocol is None or line["published"] == "N/A":
            continue
        key = (line["row"], line["column"], protocol)
        used = more.get(key, ours[key])
        if used["status"] != "ok":
            continue
        numbers = float(used["value"]), float(used["se"]), int(used["repetitions"])
        printed, _, bracket = line["published"].rstrip(")").partition(" (")
        errors = {"as_sd": float(bracket) / math.sqrt(20), "as_se": float(bracket)}
        for reading, error in errors.items():
            z, word = welch(numbers, printed, error, 20)
            assert line[reading] == word, (line, z)
        assert float(line["z"]) == pytest.approx(
            welch(numbers, printed, float(bracket) / math.sqrt(20), 20)[0], rel=1e-3
        )
        seen += 1
    assert seen >= 18


def test_the_committed_scorecard_counts_the_committed_verdicts() -> None:
    readme = (ROOT.parent / "README.md").read_text()
    committed = lines(ROOT / "generated/verdicts.csv")
    order = ["-", "differs", "depends on the reading", "unclear", "agrees"]
    mileage = ("table_3", "table_a1", "table_a2", "table_a3", "table_a4")
    wanted = {
        ("Reward error, GLADIUS, Table 2", "feasible"): (("table_2",), ("GLADIUS",)),
        ("Reward error, GLADIUS, Table 2", "procedure"): (("table_2",), ("GLADIUS",)),
        ("Imitation, GLADIUS, Table 4", "feasible"): (("table_4",), ("Gladius",)),
        ("r and Q by mileage, GLADIUS", "feasible"): (mileage, ("GLADIUS",)),
        ("r and Q by mileage, GLADIUS", "procedure"): (mileage, ("GLADIUS",)),
        ("Parameters, Rust and ML-IRL, by mileage", ""): (mileage, ("Rust", "ML-IRL")),
        ("State frequencies by mileage", ""): (mileage, ("Frequency",)),
    }
    for (name, rule), (tables, columns) in wanted.items():
        worst: dict[str, str] = {}
        for line in committed:
            is_mine = line["exhibit"] in tables and line["column"] in columns
            if not is_mine or line["rule"] != rule or not line["quantity"]:
                continue
            if line["verdict"] in ("given", "nothing printed"):
                continue
            before = worst.get(line["quantity"], "agrees")
            worst[line["quantity"]] = min(before, line["verdict"], key=order.index)
        n = Counter(worst.values())
        start = f"| {name} | {rule} | {len(worst)} | {n['agrees']} | {n['differs']} |"
        assert start in readme, start


def test_a_repeated_number_and_a_parameter_are_one_quantity() -> None:
    name = scorecard.quantity
    assert name("table_3", "4", "GLADIUS", "r a0") == name("table_a3", "4", "GLADIUS", "r a0")
    assert name("table_a1", "4", "GLADIUS", "r a0") != name("table_a3", "4", "GLADIUS", "r a0")
    assert name("table_a1", "4", "Rust", "r a0") == name("table_a1", "5", "Rust", "r a0")
    assert name("table_a2", "4", "Rust", "Q a0") == ""
    assert name("table_2", "50", "Rust", "MAPE") != name("table_2", "250", "Rust", "MAPE")
