"""The comparison with econirl: the parts that need neither econirl nor its fits."""

import time
from dataclasses import replace
from statistics import median
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from gladius import BusEngine, Transitions
from gladius.metrics import mape
from gladius.worlds.bus import BUS_REWARD
from reproduce import speed

POSITIVE = st.lists(st.floats(1e-4, 1e3), min_size=3, max_size=20)


def contender(fit, ours=True, column="GLADIUS, test"):
    return speed.Contender(column, "none", ours, lambda: None, fit)


def measured(cpu, ours, column, seed=0, error=5.0):
    times = np.array(cpu)
    who = replace(contender(lambda _: None, ours, column), seed=seed)
    return speed.Measured(who, error, "ok", 2.0, times, times)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (None, "is not installed. Install it with: pip install torch==2.13.0 econirl==0.1.1"),
        ("0.0.4", "0.0.4 is installed, not 0.1.1"),
    ],
)
def test_what_keeps_it_from_running_is_said_with_exit_code_2(monkeypatch, tmp_path, version, said):
    monkeypatch.setattr(speed, "installed_version", lambda: version)
    result = CliRunner().invoke(speed.app, ["--out", str(tmp_path / "speed.csv")])
    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "speed.csv").exists()


def test_absent_packages_have_no_version(monkeypatch):
    def absent(name):
        raise speed.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(speed.importlib.metadata, "version", absent)
    assert speed.installed_version() is None


def test_help_has_an_example():
    result = CliRunner().invoke(speed.app, ["--help"])
    assert result.exit_code == 0
    assert "python -m reproduce.speed --budget 5" in result.output


def test_processor_time_counts_work_and_not_sleep():
    fitted = speed.reward_table(np.zeros((20, 2))), True

    def work(_):
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        return fitted

    def sleep(_):
        time.sleep(0.02)
        return fitted

    busy = speed.measure(contender(work), lambda e: 7.0, 0.1, True)
    idle = speed.measure(contender(sleep), lambda e: 7.0, 0.0, False)
    assert (busy.error, busy.status) == (7.0, "ok")
    assert np.all(busy.cpu >= 0.02)
    assert 0.02 <= busy.first < 1.0
    assert 1 <= len(busy.cpu) <= 5  # 5 x 0.02 s fill the budget
    assert len(idle.cpu) == 1
    assert np.isnan(idle.first)
    assert np.median(idle.cpu) < 0.01
    assert np.median(idle.wall) >= 0.02


def test_each_call_gets_data_of_its_own():
    seen = []
    table = speed.reward_table(np.zeros((20, 2))), False
    who = replace(contender(lambda data: seen.append(data) or table), prepare=object)
    result = speed.measure(who, lambda e: 0.0, 0.0, True)
    assert result.status == "not_converged"
    assert len({id(data) for data in seen}) == len(seen) == 2
    assert len(result.cpu) == 1


def test_a_failing_fit_is_stored_with_its_reason():
    def fail(_):
        raise RuntimeError("no luck\nat all") from MemoryError("51 GB")

    result = speed.measure(contender(fail, False), lambda e: 0.0, 0.0, True)
    results = [result, measured([1.0] * 3, True, "GLADIUS, ours")]
    assert speed.comparison(results).iloc[0].tolist() == ["failed", "5", "", ""]
    frame = speed.long_frame(results)
    assert not frame["statistic"].str.contains("ratio").any()
    frame = frame[frame["column"] == "GLADIUS, test"]
    assert set(frame["status"]) == {"failed: RuntimeError: no luck, by MemoryError: 51 GB"}
    assert list(frame["statistic"]) == ["mape"]
    assert frame["value"].isna().all()
    assert list(frame["repetitions"]) == [0]


def test_the_reward_table_scores_like_a_hand_count():
    world = BusEngine()
    states = np.array([[1.0], [3.0], [3.0], [20.0]])
    test = Transitions(states, np.array([0, 0, 1, 1]), np.ones((4, 1)))
    table = np.stack([-1.1 * np.arange(1, 21), np.full(20, -4.0)], axis=1)
    # |r-hat - r| / |r| is 10 % twice and 20 % twice
    assert mape(speed.reward_table(table), test, world.reward) == pytest.approx(15.0)


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=4))
def test_ratios_are_of_medians_on_each_data_set(times):
    theirs = [measured(a, False, "GLADIUS, x", i, 6.0) for i, (a, _) in enumerate(times)]
    own = [measured(b, True, "GLADIUS, y", i, 2.0) for i, (_, b) in enumerate(times)]
    found, errors = speed.ratios(theirs, own[::-1])
    assert found.tolist() == pytest.approx([median(a) / median(b) for a, b in times])
    assert errors.tolist() == pytest.approx([3.0] * len(times))
    assert all(len(ratio) == 0 for ratio in speed.ratios(own, theirs))


def test_the_long_table_pairs_methods_and_keeps_the_columns():
    results = [
        measured([0.1, 0.2, 0.3], True, "GLADIUS, ours (smooth)", 0, 2.0),
        measured([0.1, 0.1, 0.1], True, "GLADIUS, ours (smooth)", 1, 4.0),
        measured([1.0, 1.0, 1.0], True, "NFXP, ours"),
        measured([20.0, 30.0, 40.0], False, "GLADIUS, econirl", 0, 1.0),
        measured([20.0, 40.0, 50.0], False, "GLADIUS, econirl", 1, 12.0),
    ]
    frame = speed.long_frame(results)
    assert ",".join(frame.columns) == (
        "row,column,protocol,statistic,value,se,repetitions,status,cpu_seconds"
    )
    values = frame.set_index(["column", "statistic"])["value"]
    ends = {"": 275.0, "_least": 150.0, "_most": 400.0}
    for end, wanted in ends.items():
        name = f"cpu_ratio{end} to GLADIUS, ours (smooth)"
        assert values[("GLADIUS, econirl", name)] == pytest.approx(wanted)
    assert values[("GLADIUS, econirl", "error_ratio to GLADIUS, ours (smooth)")] == 1.75
    assert not frame["statistic"].str.contains("ratio.*NFXP").any()
    errors = frame[frame["statistic"] == "mape"].set_index("column")
    assert errors["value"].tolist() == [3.0, 5.0, 6.5]
    assert errors["se"]["GLADIUS, econirl"] == pytest.approx(5.5)
    totals = frame.groupby("column")["cpu_seconds"].first()
    assert totals["GLADIUS, econirl"] == pytest.approx(204.0)
    assert set(frame["row"]) == {"50"}
    assert frame.groupby("column")["repetitions"].first().tolist() == [2, 2, 1]
    table = speed.comparison(results)
    assert table.index.tolist() == [("50", "GLADIUS, econirl", "GLADIUS, ours (smooth)")]
    assert table["ratio of processor times"].tolist() == ["275 [150, 400]"]
    assert table["ratio of errors"].tolist() == ["1.75 [0.5, 3]"]
    assert table["MAPE, econirl"].tolist() == ["6.5"]
    results[-1] = replace(results[-1], status="not_converged")
    assert speed.comparison(results)["MAPE, econirl"].tolist() == ["6.5*"]


def test_ours_are_given_the_transition_law_at_most_and_never_the_reward(monkeypatch):
    given_options = []
    estimate = speed.reward_table(np.zeros((20, 2)))
    object.__setattr__(estimate, "diagnostics", SimpleNamespace(converged=True))

    def spy(data, **options):
        given_options.append((data, options))
        return estimate

    monkeypatch.setattr(speed.gladius, "fit", spy)
    world = BusEngine()
    train, _ = world.simulate(5, np.random.default_rng(1)).split(0.8)
    for who in speed.ours(train, world, "5", 1):
        assert who.fit(who.prepare())[1]
    for data, options in given_options:
        assert len(data) == len(train) == 400
        assert (options["anchor_action"], options["anchor_reward"]) == (1, -5.0)
        allowed = {"method", "protocol", "function_class", "penalty", "transition", "reward"}
        assert options.get("reward", BUS_REWARD) is BUS_REWARD  # the form, without its numbers
        assert set(options) <= allowed | {"anchor_action", "anchor_reward", "discount"}
    knows = {options["method"] for _, options in given_options if "transition" in options}
    assert knows == {"nfxp", "ccp", "mpec"}


def test_ours_run_on_the_real_data():
    world = BusEngine()
    train, test = world.simulate(50, np.random.default_rng(3)).split(0.8)
    for who in speed.ours(train, world, "50", 3):
        result = speed.measure(who, lambda e: mape(e, test, world.reward), 0.0, False)
        assert result.status == "ok"
        assert 0.0 < result.error < 30.0  # a reward of zero would score 100
        assert np.all(result.cpu > 0)


def test_only_fits_of_the_same_data_are_compared():
    ours = measured([1.0] * 3, True, "GLADIUS, ours")
    theirs = measured([9.0] * 3, False, "GLADIUS, econirl")
    elsewhere = replace(theirs, contender=replace(theirs.contender, row="1000, K = 20"))
    assert theirs.is_rival_of(ours)
    assert not elsewhere.is_rival_of(ours)
