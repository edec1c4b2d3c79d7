"""Tables 3 and A1 to A4, Figures A1 and A2 and the Gumbel figure, on their smoke cells."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import gladius
from gladius import BusEngine
from gladius.worlds.bus import BUS_REWARD
from reproduce import compare, exact, exhibits, seeds
from reproduce.compare import AGREES, DIFFERS, GIVEN
from reproduce.exhibits import figure_a1, figure_gumbel, table_3
from reproduce.provenance import ROOT
from reproduce.spec import Record, Result
from tests.reproduce.shown import computed, failed, results_of, written

TABLES = ("table_3", "table_a1", "table_a2", "table_a3", "table_a4")
DRAWN = ("table_3", "table_a2")  # one of each shape: drawing is slow
FIGURES = ("figure_a1", "figure_a2", "figure_gumbel")
TRUTH = ("Ground Truth", "True reward")
FITTED = table_3.ESTIMATORS
Array = NDArray[np.float64]


def find(name: str, column: str, protocol: str) -> tuple[dict[tuple[str, str], Record], Result]:
    """An entry's records by (mileage, statistic), and the whole result of its cell."""
    exhibit = exhibits.load(name)
    for entry in exhibit.checked_entries(True):
        if (entry.column, entry.protocol) == (column, protocol):
            result = computed(entry.cell).result
            return {(r.row, r.statistic): r for r in exhibit.view(entry, result)}, result
    raise AssertionError(f"no entry {column}, {protocol} in {name}")


def printed(name: str) -> dict[tuple[str, str, str], str]:
    """(mileage, column, statistic) -> characters in the published CSV."""
    path = ROOT / "paper_tables" / "published" / f"{name}.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return {(r["row"], r["column"], r["statistic"]): r["value"] for r in csv.DictReader(file)}


@pytest.mark.parametrize("name", TABLES)
def test_the_true_columns_are_the_printed_digits(name: str, tmp_path: Path) -> None:
    frame = results_of(exhibits.load(name)).frame()
    frame.to_csv(tmp_path / f"{name}.csv", index=False, float_format="%.10g")
    frame = compare.compare(exhibits.load(name), tmp_path)
    truth = frame[frame["column"].isin(TRUTH)]
    assert len(truth) == (10 if name == "table_3" else 20)
    is_value = name in ("table_a2", "table_a4")  # r is an input of the world, Q is computed
    assert set(truth["verdict"]) == {AGREES if is_value else GIVEN}
    assert truth["z"].isna().all()
    assert truth["ours"].map("{:.3f}".format).tolist() == truth["published"].tolist()


def test_negative_control_another_world_has_other_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BusEngine", lambda: BusEngine(discount=0.9499))
    exhibit = exhibits.load("table_a2")
    (entry,) = [e for e in exhibit.entries(True) if e.column in TRUTH]
    records = exhibit.view(entry, exact.truth(entry.cell, "cpu"))
    wrong = {(r.row, r.statistic): r.value for r in records}
    digits = {(k[0], k[2]): v for k, v in printed("table_a2").items() if k[1] in TRUTH}
    verdicts = [compare.judge(compare.Reference(wrong[k]), text)[1] for k, text in digits.items()]
    assert verdicts == [DIFFERS] * 20


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("column", "protocol"), FITTED)
def test_records_are_the_law_of_one_data_set(name: str, column: str, protocol: str) -> None:
    records, result = find(name, column, protocol)
    quantity = "Q" if name in ("table_a2", "table_a4") else "r"
    actions = (0,) if name == "table_3" else (0, 1)
    draws = table_3.draws(result, quantity)
    assert draws.shape == (2, 10, 2)
    assert np.all(np.isfinite(draws))
    assert len(records) == 3 * 10 * len(actions)
    for action in actions:
        for mileage in range(1, 11):
            x = draws[:, mileage - 1, action]
            one, mean, first = (
                records[str(mileage), f"{quantity} a{action}{suffix}"]
                for suffix in ("", table_3.MEAN, table_3.ONE)
            )
            assert one.value == mean.value == pytest.approx(sum(x) / len(x))
            assert first.value == x[0]
            assert math.isnan(first.se)
            if protocol.startswith("leak_free") and (quantity, action) == ("r", 1):
                assert one.value == pytest.approx(-5.0, abs=1e-9)  # given, not estimated
                assert math.isnan(one.se)
                assert math.isnan(mean.se)
            else:
                spread = math.sqrt(sum((x - x.mean()) ** 2) / (len(x) - 1))
                assert one.se == pytest.approx(spread)
                assert spread > 1e-4
                assert mean.se == pytest.approx(spread / math.sqrt(len(x)))


@pytest.mark.parametrize("trajectories", [50, 1000])
def test_reward_and_q_of_the_oracle_are_its_two_parameters(trajectories: int) -> None:
    """The first data set alone, by the public door, and the Bellman equation at its theta."""
    r_table, q_table = {50: ("table_a1", "table_a2"), 1000: ("table_a3", "table_a4")}[trajectories]
    world = BusEngine()
    rng = np.random.default_rng(seeds.sequence("table_2", str(trajectories), 0))
    train, _ = world.simulate(trajectories, rng).split(0.8)
    anchor: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    told: dict[str, Any] = {"reward": BUS_REWARD, "transition": world.known_transitions}
    alone = gladius.fit(train, "nfxp", **anchor, **told)
    theta = np.asarray(alone.diagnostics.extra["theta"])
    x = np.arange(1.0, 11.0)
    rewards = table_3.draws(find(r_table, "Rust", "fresh")[1], "r")[0]
    np.testing.assert_allclose(rewards, np.stack([-theta[0] * x, -theta[1] + 0 * x], 1), atol=1e-7)
    theirs = BusEngine(theta=(float(theta[0]), float(theta[1]))).mdp.solution.q[:10]
    q = table_3.draws(find(q_table, "Rust", "fresh")[1], "Q")[0]
    np.testing.assert_allclose(q, theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("figure", "table"), [("figure_a1", "table_a1"), ("figure_a2", "table_a3")]
)
@pytest.mark.parametrize(("column", "protocol"), FITTED)
def test_figures_show_the_tables_less_the_truth(
    figure: str, table: str, column: str, protocol: str
) -> None:
    errors, _ = find(figure, column, protocol)
    rewards, _ = find(table, column, protocol)
    for mileage in range(1, 11):
        for action, truth in ((0, -mileage), (1, -5)):
            error = errors[str(mileage), f"error a{action}"].value
            reward = rewards[str(mileage), f"r a{action}"].value
            assert error == pytest.approx(reward - truth, abs=1e-12)


def exact_counts() -> tuple[Array, Array]:
    """Mean and variance of (mileage, action) counts of one trajectory, from the paper's text."""
    theta, beta, top, periods = (1.0, 5.0), 0.95, 20, 100
    step = np.zeros((2, top, top))
    for x in range(1, top + 1):
        for jump in (1, 2, 3, 4):
            step[0, x - 1, min(x + jump, top) - 1] += 0.25
        step[1, x - 1, 0] = 1.0
    reward = np.stack([-theta[0] * np.arange(1, top + 1), np.full(top, -theta[1])], axis=1)
    v = np.zeros(top)
    for _ in range(2000):
        q = reward + beta * (step @ v).T
        v = np.log(np.exp(q).sum(axis=1))
    choice = np.exp(q - v[:, None])
    flow = np.einsum("sa,ast->st", choice, step)
    laws = [np.eye(top)[0]]
    for _ in range(periods - 1):
        laws.append(laws[-1] @ flow)
    mean = sum(laws)[:, None] * choice
    variance = mean - mean**2
    for a in (0, 1):
        reach = step[a]  # law of later states, given (s, a) now
        after = [np.zeros(top)]
        for _ in range(periods - 1):
            after.append(after[-1] + np.diag(reach))  # expected visits of s after k periods
            reach = reach @ flow
        later = sum(law * after[periods - 1 - h] for h, law in enumerate(laws))
        variance[:, a] += 2 * choice[:, a] ** 2 * later
    return mean[:10], variance[:10]


@pytest.mark.parametrize(("name", "trajectories"), [("table_a2", 50), ("table_a3", 1000)])
def test_frequencies_are_expected_counts_of_the_test_split(name: str, trajectories: int) -> None:
    records, result = find(name, "Frequency", "measured")
    mean, variance = exact_counts()
    size = trajectories // 5
    draws = result.arrays["draws"]
    assert draws.shape == (2, 10, 2)
    rng = np.random.default_rng(seeds.sequence("table_2", str(trajectories), 0))
    _, test = BusEngine().simulate(trajectories, rng).split(0.8)
    for action in (0, 1):
        for i in range(10):
            row, kind = str(i + 1), f"frequency a{action}"
            said, one = records[row, kind], records[row, kind + table_3.ONE]
            assert said.value == pytest.approx(size * mean[i, action], rel=1e-9)
            counted = np.sum((test.states[:, 0] == i + 1) & (test.actions == action))
            assert one.value == counted == draws[0, i, action]
            assert said.se != 0.0  # unseen is no certainty
            if trajectories * len(draws) * mean[i, action] > 500:  # enough to see a spread
                exact = math.sqrt(size * variance[i, action])
                assert said.se == pytest.approx(exact, rel=0.2)
                error = abs(draws[:, i, action].mean() - said.value)
                assert error < 4 * exact / math.sqrt(len(draws))


@pytest.mark.parametrize(("name", "trajectories"), [("table_a1", 50), ("table_a3", 1000)])
def test_the_printed_frequencies_are_a_test_split(name: str, trajectories: int) -> None:
    total = sum(int(v) for k, v in printed(name).items() if k[1] == "Frequency")
    assert total / (trajectories * 100) == pytest.approx(0.2, abs=0.0005)


@pytest.mark.parametrize("name", [*DRAWN, *FIGURES])
def test_files_are_written_and_have_the_same_bytes_again(name: str, tmp_path: Path) -> None:
    files = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        exhibit = exhibits.load(name)
        written(exhibit, results_of(exhibit), folder)
        files.append({p.name: p.read_bytes() for p in folder.iterdir()})
    kinds = {"csv", *(("tex", "html") if name in TABLES else ("pdf", "png"))}
    assert set(files[0]) == {f"{name}.{kind}" for kind in kinds}
    assert files[0] == files[1]
    assert all(len(b) > 200 for b in files[0].values())


@pytest.mark.parametrize("name", DRAWN)
def test_the_table_shows_the_published_line_above_ours(name: str, tmp_path: Path) -> None:
    exhibit = exhibits.load(name)
    exhibit.render(results_of(exhibit), tmp_path)
    tex = (tmp_path / f"{name}.tex").read_text(encoding="utf-8")
    assert "\\toprule" in tex
    assert "not run &" not in tex
    actions = (0,) if name == "table_3" else (0, 1)
    numbers = printed(name)
    quantity = "Q" if name in ("table_a2", "table_a4") else "r"
    for action in actions:
        for column in ("Rust", "ML-IRL", "GLADIUS"):
            line = [numbers[str(m), column, f"{quantity} a{action}"] for m in range(1, 11)]
            assert " & ".join(line[:5]) in tex
            assert " & ".join(line[5:]) in tex


@pytest.mark.parametrize("name", [*DRAWN, *FIGURES])
def test_a_failed_run_is_shown_as_failed(name: str, tmp_path: Path) -> None:
    exhibit = exhibits.load(name)
    frame = written(exhibit, failed(exhibit), tmp_path)
    assert set(frame["status"]) == {"failed: a reason"}
    if name in TABLES:
        assert "failed & failed" in (tmp_path / f"{name}.tex").read_text(encoding="utf-8")


def test_published_errors_by_hand() -> None:
    found = figure_a1.published_errors("table_a1")
    assert found["GLADIUS", 0][[0, 9]] == pytest.approx([-0.074, -3.684])
    assert found["Rust", 1] == pytest.approx([0.188] * 10)
    assert found["ML-IRL", 0][1] == pytest.approx(0.082)


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


@settings(deadline=None, max_examples=25)
@given(st.floats(-5.0, 5.0), st.floats(-2.0, 10.0))
def test_gumbel_printed_formulas_belong_together(nu: float, distance: float) -> None:
    """The density is the slope of the distribution function."""
    h, x = 1e-5, nu + distance
    ends = figure_gumbel.printed_distribution(np.array([x - h, x + h]), nu)
    slope = (ends[1] - ends[0]) / (2 * h)
    assert slope == pytest.approx(figure_gumbel.printed_density(np.array([x]), nu)[0], abs=1e-7)


def test_gumbel_negative_control_the_mirrored_law_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The law of minima has the same mean and variance up to sign, but another shape."""

    def mirrored(x: Array, nu: float) -> Array:
        return np.exp((x - nu) - np.exp(np.minimum(x - nu, 30.0)))

    monkeypatch.setattr(figure_gumbel, "printed_density", mirrored)
    (entry,) = figure_gumbel.entries(True)
    value = {r.statistic: r.value for r in figure_gumbel.compute(entry.cell, "cpu").records}
    assert value["largest |printed density - SciPy's|"] > 0.1
