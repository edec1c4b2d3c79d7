"""Tables 3 and A1 to A4, Figures A1 and A2 and the Gumbel figure, on their smoke cells."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gladius
from gladius import BusEngine
from gladius.designs.bus import BUS_REWARD
from reproduce import exhibits
from reproduce.cells import bus_exact as exact
from reproduce.drawing import layout
from reproduce.engine import seeds
from reproduce.engine.nouns import Array, Record, Result
from reproduce.engine.provenance import ROOT
from reproduce.exhibits import figure_a1, figure_gumbel, table_3
from reproduce.paper import compare
from reproduce.paper.verdicts import Comparison
from tests.reproduce.smoke_results import computed, results_of, written

TABLES = ("table_3", "table_a1", "table_a2", "table_a3", "table_a4")
DRAWN = ("table_3", "figure_a1", "figure_gumbel")  # one of each kind: drawing is slow
TRUTH = ("Ground Truth", "True reward")


def find(
    name: str, column: str, protocol: str, shown: str = ""
) -> tuple[dict[tuple[str, str], Record], Result]:
    """An entry's records by (mileage, statistic), and the whole result of its cell.

    `shown` is the protocol of the records, where the entry has records of several.
    """
    exhibit = exhibits.load(name)
    entry = next(
        e for e in exhibit.checked_entries(True) if (e.column, e.protocol) == (column, protocol)
    )
    result = computed(entry.cell).result
    records = exhibit.view(entry, result)
    of_one = (r for r in records if not shown or shown in (r.protocol, entry.protocol))
    return {(r.row, r.statistic): r for r in of_one}, result


def printed(name: str) -> dict[tuple[str, str, str], str]:
    """(mileage, column, statistic) -> characters in the published CSV."""
    path = ROOT / "paper_tables" / "published" / f"{name}.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return {(r["row"], r["column"], r["statistic"]): r["value"] for r in csv.DictReader(file)}


@pytest.mark.parametrize("name", TABLES)
def test_the_true_columns_are_the_printed_digits(name: str, tmp_path: Path) -> None:
    exhibit = exhibits.load(name)
    entries = [e for e in exhibit.entries(True) if e.column in TRUTH]
    frame = results_of(exhibit, entries).frame()
    frame.to_csv(tmp_path / f"{name}.csv", index=False, float_format="%.10g")
    frame = compare.compare(exhibit, tmp_path)
    truth = frame[frame["column"].isin(TRUTH)]
    assert len(truth) == (10 if name == "table_3" else 20)
    is_value = name in ("table_a2", "table_a4")  # r is an input of the world, Q is computed
    assert set(truth["verdict"]) == {Comparison.AGREES if is_value else Comparison.GIVEN}
    assert truth["ours"].map("{:.3f}".format).tolist() == truth["published"].tolist()


def test_negative_control_another_world_has_other_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BusEngine", lambda: BusEngine(discount=0.9499))
    exhibit = exhibits.load("table_a2")
    (entry,) = (e for e in exhibit.entries(True) if e.column in TRUTH)
    records = exhibit.view(entry, exact.truth(entry.cell))
    wrong = {(r.row, r.statistic): r.value for r in records}
    digits = {(k[0], k[2]): v for k, v in printed("table_a2").items() if k[1] in TRUTH}
    verdicts = [compare.judge(compare.Reference(wrong[k]), text)[1] for k, text in digits.items()]
    assert verdicts == [Comparison.DIFFERS] * 20


SAMPLED = (*table_3.FITTED, table_3.AUTHOR)


@pytest.mark.parametrize(("column", "protocol"), SAMPLED)
@pytest.mark.parametrize(("name", "quantity"), [("table_a1", "r"), ("table_a2", "Q")])
def test_records_summarise_the_data_sets(
    name: str, quantity: str, column: str, protocol: str
) -> None:
    records, result = find(name, column, protocol)
    estimates = table_3.replications(result, quantity)
    assert estimates.shape == (2, 10, 2)
    for action in (0, 1):
        for mileage in range(1, 11):
            x = estimates[:, mileage - 1, action]
            one, mean = (
                records[str(mileage), f"{quantity} a{action}{suffix}"]
                for suffix in ("", table_3.MEAN)
            )
            assert one.value == mean.value == pytest.approx(sum(x) / len(x))
            if protocol.startswith("leak_free") and (quantity, action) == ("r", 1):
                assert one.value == pytest.approx(-5.0, abs=1e-9)  # given, not estimated
                assert math.isnan(one.se)
            else:
                spread = math.sqrt(sum((x - x.mean()) ** 2) / (len(x) - 1))
                assert one.se == pytest.approx(spread)
                assert mean.se == pytest.approx(spread / math.sqrt(len(x)))


def test_reward_and_q_of_rust_are_its_two_parameters() -> None:
    """The first data set alone, by the public door, and the Bellman equation at its theta."""
    world = BusEngine()
    rng = np.random.default_rng(seeds.sequence("table_2", "50", 0))
    train, _ = world.simulate(50, rng).split(0.8)
    anchor: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    given: dict[str, Any] = {"reward": BUS_REWARD, "transition": world.known_transitions}
    theta = gladius.fit(train, "nfxp", **anchor, **given).diagnostics.extra["theta"]
    slope, level = np.asarray(theta, dtype=float)
    x = np.arange(1.0, 11.0)
    rewards = table_3.replications(find("table_a1", "Rust", "fresh")[1], "r")[0]
    np.testing.assert_allclose(rewards, np.stack([-slope * x, -level + 0 * x], 1), atol=1e-7)
    exact_q = BusEngine(theta=(float(slope), float(level))).mdp.solution.q[:10]
    q = table_3.replications(find("table_a2", "Rust", "fresh")[1], "Q")[0]
    np.testing.assert_allclose(q, exact_q, atol=1e-5)


@pytest.mark.parametrize(("column", "protocol"), [*SAMPLED, table_3.PUBLIC])
def test_the_figure_shows_the_table_minus_the_truth(column: str, protocol: str) -> None:
    ends = (
        [f"{protocol} {end}" for end in table_3.ENDS]
        if (column, protocol) == table_3.PUBLIC
        else [protocol]
    )
    for end in ends:
        errors, _ = find("figure_a1", column, protocol, end)
        rewards, _ = find("table_a1", column, protocol, end)
        for mileage in range(1, 11):
            for action, truth in ((0, -mileage), (1, -5)):
                error = errors[str(mileage), f"error a{action}"].value
                reward = rewards[str(mileage), f"r a{action}"].value
                assert error == pytest.approx(reward - truth, abs=1e-12)


def test_a_training_on_the_public_data_is_shown_at_both_epochs_and_judged_by_no_test(
    tmp_path: Path,
) -> None:
    exhibit = exhibits.load("table_a1")
    _, result = find("table_a1", *table_3.PUBLIC, "author public best")
    for end in table_3.ENDS:
        records, _ = find("table_a1", *table_3.PUBLIC, f"author public {end}")
        shown = [records[str(x), "r a0"].value for x in range(1, 11)]
        assert shown == result.arrays[f"reward {end}"][0, :10, 0].tolist()
    written(exhibit, results_of(exhibit), tmp_path)
    frame = compare.compare(exhibit, tmp_path)
    public = frame[frame["protocol"].str.startswith("author public")]
    assert len(public) == 40
    assert set(public["verdict"]) == {Comparison.SAME_DATA}
    assert not public["counted"].any()
    assert public["z"].isna().all()


def test_printed_errors_of_the_figure() -> None:
    differences = figure_a1.published_errors("table_a1")
    assert differences["GLADIUS", 0][[0, 9]] == pytest.approx([-0.074, -3.684])
    assert differences["Rust", 1] == pytest.approx([0.188] * 10)


@pytest.mark.parametrize(("name", "trajectories"), [("table_a2", 50), ("table_a3", 1000)])
def test_frequencies_are_expected_counts_of_the_test_split(name: str, trajectories: int) -> None:
    records, result = find(name, "Frequency", "measured")
    world = BusEngine()
    mean = 100 * world.mdp.occupancy(100)[:10]
    visits = np.zeros((2000, 20, 2))
    paths = world.simulate(2000, np.random.default_rng(5))
    np.add.at(visits, (paths.trajectory, paths.states[:, 0].astype(int) - 1, paths.actions), 1)
    deviation = visits.std(axis=0, ddof=1)
    size = trajectories // 5
    drawn = result.arrays["draws"]
    rng = np.random.default_rng(seeds.sequence("table_2", str(trajectories), 0))
    _, test = world.simulate(trajectories, rng).split(0.8)
    for action in (0, 1):
        for i in range(10):
            row, kind = str(i + 1), f"frequency a{action}"
            expected = records[row, kind]
            assert expected.value == pytest.approx(size * mean[i, action], rel=1e-9)
            counted = np.sum((test.states[:, 0] == i + 1) & (test.actions == action))
            assert counted == drawn[0, i, action]
            assert expected.se != 0.0  # a pair that was never observed is no certainty
            if trajectories * len(drawn) * mean[i, action] > 500:  # enough for a spread
                sd = math.sqrt(size) * deviation[i, action]
                assert expected.se == pytest.approx(sd, rel=0.2)
                error = abs(drawn[:, i, action].mean() - expected.value)
                assert error < 4 * sd / math.sqrt(len(drawn))
    total = sum(int(v) for k, v in printed(name).items() if k[1] == "Frequency")
    if total:  # the printed frequencies are a test split too
        assert total / (trajectories * 100) == pytest.approx(0.2, abs=0.0005)


@pytest.mark.parametrize("name", DRAWN)
def test_files_are_written_with_the_same_bytes_again(name: str, tmp_path: Path) -> None:
    files = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        exhibit = exhibits.load(name)
        written(exhibit, results_of(exhibit), folder)
        files.append({p.name: p.read_bytes() for p in folder.iterdir()})
    kinds = {"csv", *(("tex", "md") if name in TABLES else ("pdf", "png"))}
    panels = {f"{name}_panels.{kind}" for kind in kinds - {"csv"} if name == "figure_a1"}
    assert set(files[0]) == panels | {f"{name}.{kind}" for kind in kinds}
    assert files[0] == files[1]
    if name in TABLES:
        tex = files[0][f"{name}.tex"].decode()
        for column in ("Rust", "ML-IRL", "GLADIUS"):  # the published line is above ours
            line = [printed(name)[str(m), column, "r a0"] for m in range(1, 11)]
            assert all(f" & {layout.mathematics(text)} " in tex for text in line)


def test_gumbel_records() -> None:
    records, _ = find("figure_gumbel", figure_gumbel.COLUMN, "measured")
    value = {statistic: r.value for (_, statistic), r in records.items()}
    assert value["mean"] == pytest.approx(0.0, abs=1e-10)
    assert value["variance"] == pytest.approx(math.pi**2 / 6, abs=1e-10)
    assert value["largest |printed density - SciPy's|"] < 1e-14
    assert value["largest |printed distribution - SciPy's|"] < 1e-14
    assert value["sample Kolmogorov p-value"] > 1e-3
    for name, true in (("sample mean", 0.0), ("sample variance", math.pi**2 / 6)):
        record = records["", name]
        assert abs(record.value - true) < 4 * record.se < 0.3


def test_gumbel_negative_control_the_mirrored_distribution_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The distribution of minima has the same mean and variance up to sign, but another shape."""

    def mirrored(x: Array, nu: float) -> Array:
        return np.asarray(np.exp((x - nu) - np.exp(np.minimum(x - nu, 30.0))))

    monkeypatch.setattr(figure_gumbel, "printed_density", mirrored)
    (entry,) = figure_gumbel.entries(True)
    value = {r.statistic: r.value for r in figure_gumbel.compute(entry.cell).records}
    assert value["largest |printed density - SciPy's|"] > 0.1
