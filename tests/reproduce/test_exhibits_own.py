"""Our own exhibits: accuracy with the counts that it draws, tests of means."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bus_engine import rngs
from hypothesis import given
from hypothesis import strategies as st
from strategies import DISCOUNTS, tabular_mdps

import gladius
from gladius import BusEngine, Transitions
from gladius.designs.bus import BUS_REWARD, bus_reward_given
from gladius.designs.efficiency import bounds as exact_bounds
from gladius.designs.metrics import mape
from gladius.model.mdp import TabularMDP
from gladius.panel.record import Counts, group
from reproduce import exhibits
from reproduce.cells import data
from reproduce.cells.bus_exact import (
    BOUND,
    BOUNDS,
    bound_entry,
    bound_protocol,
    resampled,
    resampled_cell,
)
from reproduce.cells.data import TRUTHS
from reproduce.cells.fits import compute, fitting, resamples
from reproduce.engine import seeds
from reproduce.engine.nouns import Cell, Entry, Record, Result, summarise
from reproduce.engine.view import View
from reproduce.exhibits import accuracy, table_2
from reproduce.exhibits.accuracy import check
from reproduce.paper.targets import (
    ONE_SIDED,
    holm,
    interval,
    paired,
    repetitions,
    target_test,
    verdicts,
)
from reproduce.paper.verdicts import OnTarget
from tests.reproduce.smoke_results import resized, results_of, stored, written


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
    """And the spread of independent paths."""
    world = BusEngine()
    train, test = data.splits(world.mdp, world.horizon, 50, rngs(200, 7))
    assert np.all(train.size == 40 * world.horizon)
    assert np.all(test.size == 10 * world.horizon)
    share = train.visits.sum(axis=0) / train.size.sum()
    assert np.abs(share - world.mdp.occupancy(world.horizon)).max() < 1e-3
    paths = group([one.split(0.8)[0] for one in world.simulate(50, rngs(200, 7))])
    spread = [t.visits[:, :3, 1].std(axis=0) for t in (train, paths)]
    assert spread[0] == pytest.approx(spread[1], rel=0.25)


def transitions_of(counts: Counts, r: int) -> Transitions:
    """A data set with these counts; in what order, and in which trajectories, does not matter."""
    a, s, t = (np.repeat(i, counts.moves[r].ravel().astype(int)) for i in index(counts))
    return Transitions(counts.states[s], a, counts.states[t], number_of_actions=2)


def index(counts: Counts) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return [i.ravel() for i in np.indices(counts.moves.shape[1:])]


@pytest.mark.parametrize("which", list(accuracy.FITS))
def test_a_cell_scores_what_a_user_would_get(which: tuple[str, str]) -> None:
    truth = "affine" if which in accuracy.ORACLES else "sine"
    method, options, settings = table_2.FITS[which]
    stream: dict[str, Any] = {"seeds": "accuracy", "seeds_row": f"{truth}/20", "drawn": "counts"}
    cell = fitting(method, 20, True, options, truth=truth, repetitions=3, **stream, **settings)
    result = compute(cell)
    world = BusEngine(maintenance=TRUTHS[truth])
    drawn = data.splits(world.mdp, world.horizon, 20, seeds.generators(cell))
    train, test = ([transitions_of(one, r) for r in range(3)] for one in drawn)
    if which in accuracy.ORACLES:
        form = bus_reward_given(5.0) if "theta_1_given" in settings else BUS_REWARD
        options = options | {"transition": world.known_transitions, "reward": form}
    estimates = gladius.fit(
        train, method, anchor_action=1, anchor_reward=-5.0, discount=0.95, **options
    )
    expected = [mape(e, t, world.reward) for e, t in zip(estimates, test, strict=True)]
    assert result.replications["MAPE"] == pytest.approx(expected, rel=1e-5)
    records = {r.statistic: r for r in result.records}
    assert records["MAPE"].value == pytest.approx(np.mean(expected), rel=1e-5)
    assert records["MAPE"].status == "ok"


# --- tests of means
@given(st.floats(-10, 10), st.floats(0.01, 5), st.floats(-10, 10), st.floats(0.1, 5))
def test_a_single_verdict_is_that_of_the_95_per_cent_interval(
    value: float, se: float, low: float, width: float
) -> None:
    high, below, above = low + width, value - 1.959964 * se, value + 1.959964 * se
    (word,) = verdicts([target_test(value, se, low, high)])
    assert (word == OnTarget.MET) == (low <= below and above <= high)
    if word == OnTarget.MISSED:  # corrected for its two sides
        assert above < low or below > high


def test_means_without_a_standard_error_are_decided_by_their_value() -> None:
    cases = [(0.0, 0.0, OnTarget.MET), (1.0, 0.0, OnTarget.MISSED)]
    cases += [(0.0, math.nan, OnTarget.UNDECIDED), (math.nan, 1, OnTarget.UNDECIDED)]
    for mean, se, word in cases:
        assert verdicts([target_test(mean, se, -math.inf, 0.0)]) == [word]


def test_a_p_value_of_exactly_the_level_decides() -> None:
    assert verdicts([(ONE_SIDED, 1.0)]) == [OnTarget.MET]
    assert verdicts([(1.0, ONE_SIDED)]) == [OnTarget.MISSED]


def test_holm_asks_more_of_a_check_that_has_company() -> None:
    edge, null = target_test(-2.1, 1.0, -math.inf, 0.0), target_test(0.0, 1.0, -math.inf, 0.0)
    assert verdicts([edge]) == [OnTarget.MET]
    assert verdicts([edge, *[null] * 9]) == [OnTarget.UNDECIDED] * 10
    sure = target_test(-5.0, 1.0, -math.inf, 0.0)
    assert verdicts([sure, *[null] * 9]) == [OnTarget.MET] + [OnTarget.UNDECIDED] * 9
    assert holm(np.array([0.03, 0.01, 0.5])) == pytest.approx([0.06, 0.03, 0.5])


@given(st.floats(0.5, 10), st.floats(0.1, 0.4), st.integers(1, 10))
def test_so_many_repetitions_decide_a_verdict_and_one_less_does_not(
    sd: float, margin: float, tests: int
) -> None:
    enough, null = repetitions(sd, margin, tests), (1.0, 1.0)
    for times, word in ((enough, OnTarget.MET), (enough - 1, OnTarget.UNDECIDED)):
        target = target_test(-margin * (1 + 1e-12), sd / math.sqrt(times), -math.inf, 0.0)
        assert verdicts([target, *[null] * (tests - 1)])[0] == word


def test_interval_and_paired_difference_by_hand() -> None:
    x, y = np.array([1.0, 2.0, 4.0]), np.array([2.0, 2.0, 3.0])
    mean, low, high = interval(x)
    assert (mean, high - mean) == pytest.approx((7 / 3, 4.302653 * x.std(ddof=1) / math.sqrt(3)))
    assert low == pytest.approx(2 * mean - high)
    assert paired(x, y) == pytest.approx((0.0, 1 / math.sqrt(3), 1.0))
    assert paired(x, x + 1.0) == (-1.0, 0.0, 0.0)
    assert math.isnan(interval(x[:1])[1])


# --- accuracy
def planted(errors: dict[tuple[str, str], list[float]], bound: float) -> View:
    """One affine row of the exhibit, with these replications and this bound (iv)."""
    entries, cells = [], []
    for which, values in errors.items():
        cell = Cell("fit", {"repetitions": len(values)})
        entries.append(Entry("affine/50", *which, cell))
        records = summarise("MAPE", values, ["ok"] * len(values))
        cells.append(stored(Result(records, {"MAPE": values})))
    entry = bound_entry("affine/50", 50)
    record = Record("MAPE", bound, repetitions=0, protocol=bound_protocol("iv"))
    return View([*entries, entry], [*cells, stored(Result((record,)))], True)


TO_BOUND, TO_PLUG_IN = accuracy.TARGETS[1:]


def test_a_worse_estimator_fails_the_target_that_a_good_one_meets() -> None:
    noise = np.abs(np.random.default_rng(3).normal(size=4000))
    noise /= noise.mean()
    good = planted({accuracy.SMOOTH: [*noise], accuracy.PLUG_IN: [*(noise * 1.25)]}, 1.0)
    bad = planted({accuracy.SMOOTH: [*(noise * 1.25)], accuracy.PLUG_IN: [*noise]}, 1.0)
    few = planted({accuracy.SMOOTH: [*noise[:20]], accuracy.PLUG_IN: [*noise[20:40]]}, 1.0)
    for results, word in ((good, OnTarget.MET), (bad, OnTarget.MISSED), (few, OnTarget.UNDECIDED)):
        for target in (TO_BOUND, TO_PLUG_IN):
            result = check(results, "affine/50", target)
            assert result is not None
            assert verdicts([result.p]) == [word]


def test_two_equal_estimators_are_no_worse_than_each_other() -> None:
    """A margin of 0 can never show it, however many data sets there are."""
    noise = np.abs(np.random.default_rng(3).normal(size=4000)) + 1.0
    other = noise + np.random.default_rng(4).normal(size=4000) / 10
    errors = {accuracy.SMOOTH: [*noise], accuracy.PLUG_IN: [*other]}
    result = check(planted(errors, 1.0), "affine/50", TO_PLUG_IN)
    assert result is not None
    assert verdicts([result.p]) == [OnTarget.MET]
    assert verdicts([target_test(result.value, result.se, -math.inf, 0.0)]) == [OnTarget.UNDECIDED]


def test_check_pairs_equal_data_sets_and_takes_the_ratio_to_the_bound() -> None:
    ours, other = [1.0, 2.0, 4.0], [2.0, 2.0, 3.0, 1000.0]
    results = planted({accuracy.SMOOTH: ours, accuracy.PLUG_IN: other}, 2.0)
    difference = check(results, "affine/50", TO_PLUG_IN)
    ratio = check(results, "affine/50", TO_BOUND)
    assert difference is not None
    assert ratio is not None
    unit = 7 / 3 / 100  # a per cent of the other's mean
    assert (difference.value, difference.repetitions) == pytest.approx((0.0, 3))
    assert difference.se == pytest.approx(1 / math.sqrt(3) / unit)
    assert (ratio.value, ratio.repetitions) == pytest.approx((7 / 6, 3))
    assert ratio.se == pytest.approx(np.std(ours, ddof=1) / math.sqrt(3) / 2)
    assert check(results, "affine/50", accuracy.TARGETS[0]) is None  # Rust was not run


@pytest.mark.parametrize("smoke", [True, False])
def test_accuracy_has_data_sets_of_its_own_and_shares_the_bounds(smoke: bool) -> None:
    entries = accuracy.EXHIBIT.checked_entries(smoke)
    fits = [e for e in entries if "method" in e.cell.settings]
    assert {e.cell.seeds for e in fits} == {(accuracy.SEEDS, e.row) for e in fits}
    bounds = {e.cell for e in entries if e.column == BOUND and e.row.startswith("affine/")}
    theirs = exhibits.load("table_2").checked_entries(smoke)
    assert bounds == {e.cell for e in theirs if e.column == BOUND}


def test_accuracy_writes_its_checks_and_its_figure(tmp_path: Path) -> None:
    entries = [
        resized(e, repetitions=3) if e.column != BOUND else e
        for e in accuracy.entries(True)
        if e.row in ("affine/50", "power/50") and e.is_shown
    ]
    frame = written(accuracy.EXHIBIT, results_of(accuracy.EXHIBIT, entries), tmp_path)
    assert (tmp_path / "accuracy.png").is_file()
    at = exact_bounds(BusEngine().mdp, 100, [40.0])
    series = frame[frame["column"] == BOUND].set_index(["row", "protocol"])["value"]
    for numeral, field in BOUNDS.items():
        exact = float(getattr(at, field)[0])
        assert series["affine/50", bound_protocol(numeral)] == pytest.approx(exact, rel=1e-9)
    assert set(series["affine/50"].index) == {bound_protocol(numeral) for numeral in BOUNDS}
    # the affine bounds say nothing where r is not affine
    assert list(series["power/50"].index) == [bound_protocol("iii")]
    checks = pd.read_csv(tmp_path / "accuracy_checks.csv")
    assert Counter(checks["row"]) == {"affine/50": 3, "power/50": 1}
    smooth = frame[(frame["protocol"] == "leak_free smooth") & (frame["statistic"] == "MAPE")]
    ratio = checks[(checks["statistic"] == "ratio to bound (iv)")].iloc[0]
    mean = smooth[smooth["row"] == "affine/50"]["value"].item()
    assert ratio["value"] == pytest.approx(mean / at.affine[0], rel=1e-8)
    p = target_test(ratio["value"], ratio["se"], ratio["low"], ratio["high"])
    assert (ratio["p of met"], ratio["p of missed"]) == pytest.approx(p, abs=1e-9)
    words = Counter(checks["verdict"])
    counted = ", ".join(f"{words[w]} {w}" for w in OnTarget)
    assert accuracy.verdict(tmp_path) == f"Of 4 targets for the accuracy: {counted}"


def test_an_oracles_printed_number_is_a_mean_over_resamples_of_one_data_set() -> None:
    """Against maximum likelihood fitted to resampled trajectories of many data sets."""
    world, n, times = BusEngine(), 200, 12
    rngs = [np.random.default_rng([7, i]) for i in range(24)]
    means = []
    for rng, train in zip(rngs, world.simulate(n, rngs), strict=True):
        fits = gladius.fit(
            list(resamples(train, times, rng)),
            "nfxp",
            reward=BUS_REWARD,
            transition=world.known_transitions,
            anchor_action=1,
            anchor_reward=-5.0,
            discount=0.95,
        )
        errors = [mape(estimate, train, world.reward) for estimate in fits]
        means.append(np.mean(errors))
    cell = resampled_cell(250, True, False)  # of which 200 are for training
    records = {record.statistic: record for record in resampled(cell).records}
    error = np.std(means, ddof=1) / math.sqrt(len(means))
    assert records["MAPE"].value == pytest.approx(np.mean(means), abs=3.5 * error)
    law = records["MAPE"].value
    at = exact_bounds(world.mdp, 100, [float(n)])
    assert law == pytest.approx(math.sqrt(2) * at.known_p_both[0], rel=0.03)
