"""Our own exhibits: accuracy, bounds, sensitivity, stability."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from strategies import DISCOUNTS, tabular_mdps

import gladius
from gladius import BusEngine, Transitions
from gladius.efficiency import bounds as exact_bounds
from gladius.mdp import TabularMDP
from gladius.metrics import mape
from gladius.transitions import Counts, group
from gladius.worlds.bus import BUS_REWARD, bus_reward_given
from reproduce import data, exhibits, seeds
from reproduce.data import TRUTHS
from reproduce.exact import BOUNDS, protocol
from reproduce.exhibits import accuracy, bounds, sensitivity, stability
from reproduce.exhibits.accuracy import NO, UNDECIDED, YES, check, decide, decided
from reproduce.fits import compute, fitting
from reproduce.results import Results
from reproduce.spec import Cell, Entry, Record, Result, summarise
from tests.reproduce.shown import FAILED, resized, results_of, stored, written

OWN = ("accuracy", "bounds", "sensitivity", "stability")
SMOKE = [e for e in accuracy.entries(True) if (e.column, e.protocol) in accuracy.FITS]


def law_of_tables(mdp: TabularMDP, horizon: int, trajectories: int) -> dict[bytes, float]:
    """The exact law of n(s, a, s') by listing every path of every trajectory."""
    actions, n, _ = mdp.transition.shape
    single: dict[bytes, float] = {}
    for start in range(n):
        for path in itertools.product(range(actions), range(n), repeat=horizon):
            table, state, chance = np.zeros((actions, n, n)), start, float(mdp.initial[start])
            for action, following in zip(path[::2], path[1::2], strict=True):
                chance *= float(mdp.solution.policy[state, action])
                chance *= float(mdp.transition[action, state, following])
                table[action, state, following] += 1
                state = following
            if chance > 0:
                single[table.tobytes()] = single.get(table.tobytes(), 0.0) + chance
    total: dict[bytes, float] = {np.zeros((actions, n, n)).tobytes(): 1.0}
    for _ in range(trajectories):
        grown: dict[bytes, float] = {}
        for (a, p), (b, q) in itertools.product(total.items(), single.items()):
            key = (np.frombuffer(a) + np.frombuffer(b)).tobytes()
            grown[key] = grown.get(key, 0.0) + p * q
        total = grown
    return total


def surprise(law: dict[bytes, float], drawn: list[bytes]) -> float:
    """Chi-square statistic in standard deviations above its mean; infinite for the impossible."""
    seen = Counter(drawn)
    if not set(seen) <= set(law):
        return math.inf
    often = {k: p for k, p in law.items() if p * len(drawn) >= 5}
    rest = (1 - sum(often.values()), len(drawn) - sum(seen[k] for k in often))
    pairs = [*((p, seen[k]) for k, p in often.items()), *([rest] if rest[0] > 1e-9 else [])]
    square = sum((x - len(drawn) * p) ** 2 / (len(drawn) * p) for p, x in pairs)
    return (square - (len(pairs) - 1)) / math.sqrt(2 * (len(pairs) - 1))


def little_world() -> TabularMDP:
    transition = np.array([[[0.7, 0.3], [0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    return TabularMDP(np.array([[0.0, 1.0], [0.5, -0.5]]), transition, 0.9, np.array([0.6, 0.4]))


def test_counts_have_the_law_of_independent_paths() -> None:
    world, rng = little_world(), np.random.default_rng(1)
    drawn = [data.moves(world, 2, (2,), rng)[0].tobytes() for _ in range(6_000)]
    assert surprise(law_of_tables(world, 2, 2), drawn) < 4
    # negative control: two periods of two trajectories are not four periods of one
    assert surprise(law_of_tables(world, 4, 1), drawn) > 20


@given(tabular_mdps(discounts=DISCOUNTS), st.integers(1, 6), st.integers(1, 4))
def test_counts_are_conserved(world: TabularMDP, horizon: int, trajectories: int) -> None:
    table = data.moves(world, horizon, (trajectories, 1), np.random.default_rng(0))
    assert table.sum(axis=(1, 2, 3)).tolist() == [trajectories * horizon, horizon]
    possible = (world.transition > 0) & (world.solution.policy.T[:, :, None] > 0)
    assert not np.any(table[:, ~possible])
    surplus = table.sum(axis=(1, 3)) - table.sum(axis=(1, 2))  # visits as s less visits as s'
    for starts_less_ends, number in zip(surplus, (trajectories, 1), strict=True):
        assert starts_less_ends.sum() == 0
        assert np.abs(starts_less_ends).sum() <= 2 * number


def test_splits_have_the_occupancy_of_the_bus() -> None:
    world = BusEngine()
    train, test = data.splits(world.mdp, world.horizon, 50, generators(200))
    assert np.all(train.size == 40 * world.horizon)
    assert np.all(test.size == 10 * world.horizon)
    share = train.visits.sum(axis=0) / train.size.sum()
    assert np.abs(share - world.mdp.occupancy(world.horizon)).max() < 1e-3
    paths = group([one.split(0.8)[0] for one in world.simulate(50, generators(200))])
    spread = [t.visits[:, :3, 1].std(axis=0) for t in (train, paths)]
    assert spread[0] == pytest.approx(spread[1], rel=0.25)


def generators(number: int) -> list[np.random.Generator]:
    return [np.random.default_rng(s) for s in np.random.SeedSequence(7).spawn(number)]


def transitions_of(counts: Counts, r: int) -> Transitions:
    """A data set with these counts; in what order, and in which trajectories, does not matter."""
    a, s, t = (np.repeat(i, counts.moves[r].ravel().astype(int)) for i in index(counts))
    return Transitions(counts.states[s], a, counts.states[t], number_of_actions=2)


def index(counts: Counts) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return [i.ravel() for i in np.indices(counts.moves.shape[1:])]


@pytest.mark.parametrize("entry", [e for e in SMOKE if e.row in ("affine/50", "sine/50")])
def test_a_cell_scores_what_a_user_would_get(entry: Entry) -> None:
    truth, which = entry.row.split("/")[0], (entry.column, entry.protocol)
    method, _, told = accuracy.FITS[which]
    stream: dict[str, Any] = {"seeds": "accuracy", "seeds_row": f"{truth}/20", "drawn": "counts"}
    cell = fitting(method, 20, True, truth=truth, repetitions=3, **stream, **told)
    got = compute(cell, "cpu")
    world = BusEngine(maintenance=TRUTHS[truth])
    drawn = data.splits(world.mdp, world.horizon, 20, seeds.generators(cell))
    train, test = ([transitions_of(one, r) for r in range(3)] for one in drawn)
    options = dict(told.get("options", {}))
    if "oracle" in told:
        form = bus_reward_given(5.0) if "theta_1_given" in told else BUS_REWARD
        options |= {"transition": world.known_transitions, "reward": form}
    estimates = gladius.fit(
        train, method, anchor_action=1, anchor_reward=-5.0, discount=0.95, **options
    )
    expected = [mape(e, t, world.reward) for e, t in zip(estimates, test, strict=True)]
    # the network stops within 1e-3 nats of its minimum, wherever that leaves it
    close = 2e-3 if options.get("function_class") == "mlp" else 1e-5
    assert got.replications["MAPE"] == pytest.approx(expected, rel=close)
    shown = {r.statistic: r for r in got.records}
    assert shown["MAPE"].value == pytest.approx(np.mean(expected), rel=1e-5)
    assert shown["MAPE"].status == "ok"


@given(st.floats(-10, 10), st.floats(0, 5), st.floats(-10, 10), st.floats(0.1, 5))
def test_verdict_is_the_interval_s(value: float, se: float, low: float, width: float) -> None:
    high, left, right = low + width, value - 1.96 * se, value + 1.96 * se
    said = decide(value, se, low, high)
    inside = [low <= end <= high for end in (left, right)]
    if all(inside):
        assert said == YES
    elif any(inside) or left < low < high < right:
        assert said == UNDECIDED
    else:
        assert said == NO


def test_verdict_without_a_standard_error_or_on_the_edge() -> None:
    assert decide(0.0, 0.0, high=0.0) == YES
    assert decide(1.0, math.nan, high=2.0) == UNDECIDED
    assert decide(math.nan, math.nan, high=2.0) == UNDECIDED


def planted(errors: dict[tuple[str, str], list[float]], bound: float) -> Results:
    """One affine row of the exhibit, with these replications and this bound (iv)."""
    entries, known = [], []
    for which, values in errors.items():
        cell = Cell("reproduce.fits:compute", {"repetitions": len(values)})
        entries.append(Entry("affine/50", *which, cell))
        records = summarise("MAPE", values, ["ok"] * len(values))
        known.append(stored(Result(records, {"MAPE": values})))
    entry = bounds.bound_entry("affine/50", 50)
    record = Record("MAPE", bound, repetitions=0, protocol=protocol("iv"))
    return Results([*entries, entry], [*known, stored(Result((record,)))], True)


def test_a_worse_estimator_fails_the_target_that_a_good_one_meets() -> None:
    to_bound, to_plug_in = accuracy.TARGETS[1], accuracy.TARGETS[3]
    noise = np.abs(np.random.default_rng(3).normal(size=4000))
    noise /= noise.mean()
    good = planted({accuracy.SMOOTH: [*noise], accuracy.PLUG_IN: [*(noise * 1.25)]}, 1.0)
    bad = planted({accuracy.SMOOTH: [*(noise * 1.25)], accuracy.PLUG_IN: [*noise]}, 1.0)
    few = planted({accuracy.SMOOTH: [*noise[:20]], accuracy.PLUG_IN: [*noise[20:40]]}, 1.0)
    for results, verdict in ((good, YES), (bad, NO), (few, UNDECIDED)):
        for target in (to_bound, to_plug_in):
            found = check(results, "affine/50", target)
            assert found is not None
            assert decided([found]) == [verdict]


@given(st.floats(-10, 10), st.floats(0.01, 5), st.floats(-10, 10), st.floats(0.1, 5))
def test_a_single_verdict_is_no_bolder_than_the_interval(
    value: float, se: float, low: float, width: float
) -> None:
    """One check, so that Holm corrects nothing: two one-sided tests at 2.5 % are the interval."""
    target = replace(accuracy.TARGETS[0], low=low, high=low + width)
    single = accuracy.Check("affine/50", target, value, se, 100)
    said, by_interval = decided([single])[0], decide(value, se, low, low + width)
    assert said in (by_interval, UNDECIDED)  # a no is corrected for its two sides
    assert (said == YES) == (by_interval == YES)


def test_holm_asks_more_of_a_check_that_has_company() -> None:
    target = replace(accuracy.TARGETS[0], low=-math.inf, high=0.0)
    edge = accuracy.Check("affine/50", target, -2.1, 1.0, 100)
    company = [accuracy.Check("affine/50", target, 0.0, 1.0, 100)] * 9
    assert decided([edge]) == [YES]
    assert decided([edge, *company]) == [UNDECIDED] * 10
    sure = accuracy.Check("affine/50", target, -5.0, 1.0, 100)
    assert decided([sure, *company]) == [YES] + [UNDECIDED] * 9


def test_two_estimators_that_are_alike_are_no_worse_than_each_other() -> None:
    """What "at most 0" can never show, however many data sets there are."""
    noise = np.abs(np.random.default_rng(3).normal(size=4000)) + 1.0
    other = noise + np.random.default_rng(4).normal(size=4000) / 10
    found = check(
        planted({accuracy.SMOOTH: [*noise], accuracy.PLUG_IN: [*other]}, 1.0),
        "affine/50",
        accuracy.TARGETS[3],
    )
    assert found is not None
    assert decided([found]) == [YES]
    assert decide(found.value, found.se, high=0.0) == UNDECIDED


def test_check_pairs_equal_data_sets_and_takes_the_ratio_to_the_bound() -> None:
    ours, other = [1.0, 2.0, 4.0], [2.0, 2.0, 3.0, 1000.0]
    results = planted({accuracy.NETWORK: ours, accuracy.PLUG_IN: other}, 2.0)
    gap = check(results, "affine/50", accuracy.TARGETS[4])
    ratio = check(results, "affine/50", accuracy.TARGETS[2])
    assert gap is not None
    assert ratio is not None
    unit = 7 / 3 / 100  # a per cent of the other's mean
    assert (gap.value, gap.repetitions) == pytest.approx((0.0, 3))
    assert gap.se == pytest.approx(1 / math.sqrt(3) / unit)
    assert (ratio.value, ratio.repetitions) == pytest.approx((7 / 6, 3))
    assert ratio.se == pytest.approx(np.std(ours, ddof=1) / math.sqrt(3) / 2)
    assert check(results, "affine/50", accuracy.TARGETS[1]) is None  # smooth was not run


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("smoke", [True, False])
def test_specs_are_valid_and_share_the_right_data(name: str, smoke: bool) -> None:
    cells = [e.cell for e in exhibits.load(name).checked_entries(smoke)]
    found = [cell for cell in cells if "seeds" in cell.settings and "method" in cell.settings]
    sources = {"accuracy": {"accuracy"}, "bounds": {"accuracy", "table_2"}}
    assert {cell.seeds[0] for cell in found} <= sources.get(name, {"table_2"})


def test_equal_fits_are_one_cell() -> None:
    """Table 2's network is the reference of `sensitivity`, and the bounds are one cell too."""
    network = {"function_class": "mlp"}
    for exhibit, word in (
        ("table_2", "leak_free mlp"),
        ("sensitivity", "leak_free 2 x 10"),
        ("table_a1", "leak_free mlp"),
        ("table_2_all", "leak_free network"),
    ):
        entries = exhibits.load(exhibit).entries(False)
        known = [e.cell for e in entries if (e.row, e.protocol) == ("50", word)]
        assert fitting("gladius", 50, False, network) in known
    (mine,) = [e.cell for e in bounds.entries(False) if (e.row, e.column) == ("50", bounds.COLUMN)]
    assert mine in [e.cell for e in accuracy.entries(False) if e.row == "affine/50"]


def test_the_bounds_are_beside_the_many_data_sets_of_accuracy() -> None:
    """Not the 20 of Table 2, which are lucky at N = 5,000."""
    mine = {(e.row, e.column, e.protocol): e.cell for e in bounds.entries(False)}
    many = {(e.row, e.column, e.protocol): e.cell for e in accuracy.entries(False)}
    for n, which in itertools.product((50, 5000), (accuracy.SMOOTH, accuracy.RUST)):
        assert mine[str(n), *which] == many[f"affine/{n}", *which]
        assert mine[str(n), *which].repetitions >= 1000


def test_the_end_of_the_runs_at_the_papers_setting_is_told() -> None:
    lines = []
    for ratio, missed, blown in ((1.0, 7.0, 0.125), (0.5, 8.0, 1.0), (10.0, 0.0, 0.0)):
        place = {"row": "1000", "column": stability.DATA, "status": "ok", "repetitions": 8}
        place["protocol"] = f"printed mlp gradient ascents 1 ratio {ratio:g}"
        lines.append({**place, "statistic": "repetitions not ok", "value": missed})
        lines.append({**place, "statistic": "share diverged", "value": blown})
    assert stability.at_printed(pd.DataFrame(lines)) == (
        "tau_1 / tau_2 = 1: of 8 runs on data 1 converged, 1 blew up;"
        " tau_1 / tau_2 = 0.5: of 8 runs on data 0 converged, 8 blew up"
    )


def test_accuracy_writes_its_checks(tmp_path: Path) -> None:
    entries = [
        resized(e, repetitions=3) if e.column != bounds.COLUMN else e
        for e in accuracy.entries(True)
        if e.row in ("affine/50", "power/50")
    ]
    frame = written(accuracy.EXHIBIT, results_of(accuracy.EXHIBIT, entries), tmp_path)
    at = exact_bounds(BusEngine().mdp, 100, [40.0])
    bound = frame[(frame["row"] == "affine/50") & (frame["protocol"] == "measured (iv)")]
    assert bound["value"].item() == pytest.approx(at.affine[0], rel=1e-9)
    # the affine bounds say nothing where r is not affine
    assert set(frame[(frame["row"] == "power/50") & (frame["column"] == "bound")]["protocol"]) == {
        "measured (iii)"
    }
    checks = pd.read_csv(tmp_path / "accuracy_checks.csv")
    assert Counter(checks["row"]) == {"affine/50": 5, "power/50": 2}
    smooth = frame[(frame["protocol"] == "leak_free smooth") & (frame["statistic"] == "MAPE")]
    ratio = checks[(checks["statistic"] == "ratio to bound (iv)")].iloc[0]
    mean = smooth[smooth["row"] == "affine/50"]["value"].item()
    assert ratio["value"] == pytest.approx(mean / at.affine[0], rel=1e-8)
    assert ratio["p of yes"] == pytest.approx(
        stats.norm.cdf((ratio["value"] - ratio["high"]) / ratio["se"]), abs=1e-9
    )
    assert set(checks["verdict"]) <= {YES, NO, UNDECIDED}


def test_bounds_are_those_of_the_training_split_and_fall_with_the_root_of_n(tmp_path: Path) -> None:
    entries = [bounds.bound_entry(str(n), n) for n in (50, 5000)]
    frame = written(bounds.EXHIBIT, results_of(bounds.EXHIBIT, entries), tmp_path)
    series = frame.set_index(["row", "protocol"])["value"]
    at = exact_bounds(BusEngine().mdp, 100, [40.0, 4000.0])
    for numeral, field in BOUNDS.items():
        line = [series[n, f"measured ({numeral})"] for n in ("50", "5000")]
        assert line == pytest.approx(getattr(at, field), rel=1e-9)
        assert line[0] / line[1] == pytest.approx(10.0, rel=1e-8)


def test_sensitivity_counts_fits_that_did_not_converge(tmp_path: Path) -> None:
    asked = ("leak_free weight 1", "leak_free 2 x 10")
    entries = [e for e in sensitivity.entries(True) if e.protocol in asked]
    frame = written(sensitivity.EXHIBIT, results_of(sensitivity.EXHIBIT, entries), tmp_path)
    assert frame[frame["statistic"] == "share converged"]["value"].between(0, 1).all()
    weighted = frame[(frame["column"] == sensitivity.WEIGHT) & (frame["statistic"] == "MAPE")]
    assert np.isfinite(weighted["value"].item())
    statuses = ["ok", "not_converged", "diverged"]
    result = Result(summarise("MAPE", [1.0, 2.0, 6.0], statuses))
    results = Results(entries[:1], [stored(result)], True)
    (line,) = sensitivity.points(results).to_dict("records")
    assert (line["mape"], line["stray"]) == (pytest.approx(3.0), 2)
    (lost,) = sensitivity.points(Results(entries[:1], [FAILED], True)).to_dict("records")
    assert math.isnan(lost["mape"])


def test_stability_map_tells_slow_from_fast_ascent(tmp_path: Path) -> None:
    entries = [
        resized(e, ascents=[1, 5], ratios=[0.1, 10.0], iterations=800)
        for e in stability.entries(True)
        if e.row == "beta 0.95"
    ]
    run = next(e for e in stability.entries(True) if e.column == stability.DATA)
    options = {**run.cell.settings["options"], "iterations": 600}
    entries.append(resized(run, options=options))
    frame = written(stability.EXHIBIT, results_of(stability.EXHIBIT, entries), tmp_path)
    growth = frame[frame["statistic"] == "growth rate"].set_index("row")
    slow, fast = (growth.loc[f"beta 0.95, ascents 1, ratio {x}"] for x in (0.1, 10))
    assert (slow["status"], fast["status"]) == ("diverged", "ok")
    assert slow["value"] > 0.01
    assert fast["value"] < stability.REPELS
    predicted = frame[frame["statistic"] == "predicted unstable"].set_index("row")["value"]
    assert predicted["beta 0.95, ascents 1, ratio 0.1"] == 1
    assert predicted["beta 0.95, ascents 5, ratio 10"] == 0
    share = frame[frame["statistic"] == "share diverged"]["value"].item()
    assert share == 1.0  # ratio .5 is below 2 beta - 1


def test_a_bound_s_name_is_the_same_in_every_exhibit() -> None:
    assert set(bounds.LINES) == set(BOUNDS)
    assert {t.other for t in accuracy.TARGETS if isinstance(t.other, str)} <= set(BOUNDS)
