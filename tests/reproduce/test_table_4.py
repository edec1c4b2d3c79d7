"""Table 4: what its learners see, what its seeds decide, and its statistics by other formulas."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from gladius.transitions import Transitions
from gladius.worlds.gym import Acrobot, Acrobots, episode_seeds, evaluate
from reproduce import demonstrations, imitation, seeds
from reproduce import seed_statistics as ss
from reproduce.exhibits import table_4, table_4_films
from reproduce.spec import NOT_RUN, Cell, Result
from tests.reproduce.shown import computed, results_of, stored, written

ACROBOT = "Acrobot-v1"
SAMPLES = arrays(float, st.integers(2, 12), elements=st.integers(-20, 20).map(lambda n: n / 4))


def cell(
    method: str, size: int = 1, times: int = 2, repeat: int = 0, restricted: bool = True
) -> Cell:
    return imitation.fitting(method, ACROBOT, size, times, (2, 4), 3, (1, 2), repeat, restricted)


# Statistics ---------------------------------------------------------------------------------------


@given(SAMPLES)
def test_interval_is_students(x: np.ndarray[Any, Any]) -> None:
    mean, low, high = ss.interval(x)
    assert mean == pytest.approx(np.mean(x))
    if x.std() > 0:
        wanted = stats.ttest_1samp(x, 0.0).confidence_interval(ss.LEVEL)
        assert (low, high) == pytest.approx((wanted.low, wanted.high))


@given(st.integers(1, 5), st.data())
def test_interquartile_mean_without_a_bootstrap_is_scipys(
    quarter: int, data: st.DataObject
) -> None:
    x = data.draw(arrays(float, 4 * quarter, elements=st.integers(-9, 9).map(float)))
    middle, low, high = ss.interquartile_mean([x], np.random.default_rng(0), 20)
    assert middle == pytest.approx(stats.trim_mean(x, 0.25))
    assert min(x) <= low <= high <= max(x)
    # a stratum counts once, however many seeds it has
    other = data.draw(arrays(float, 4, elements=st.integers(-9, 9).map(float)))
    twice = [
        ss.interquartile_mean([x, np.repeat(other, k)], np.random.default_rng(0), 2)[0]
        for k in (1, 3)
    ]
    assert twice[0] == pytest.approx(twice[1])


def test_the_bootstrap_resamples_within_strata() -> None:
    """Strata that differ by far and have no spread of their own leave no doubt."""
    flat = [np.full(10, 0.0), np.full(30, 100.0)]
    parts = ss.interquartile_mean(flat, np.random.default_rng(1), 50)
    assert parts == pytest.approx((50.0, 50.0, 50.0))
    rng = np.random.default_rng(2)
    noisy = rng.normal(size=(400, 1))
    _, low, high = ss.interquartile_mean([noisy[:, 0]], rng)
    assert 0.1 < high - low < 0.35  # about 2 x 1.96 x 1.1 / 20


@given(SAMPLES, SAMPLES)
def test_improvement_counts_pairs(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
    wins = [float(a > b) + 0.5 * float(a == b) for a, b in itertools.product(x, y)]
    assert ss.improvement(x, y) == pytest.approx(np.mean(wins))


def test_paired_is_students_and_takes_ties() -> None:
    x, y = np.array([1.0, 2.0, 4.0, 3.0]), np.array([0.5, 2.5, 1.0, 2.0])
    wanted = stats.ttest_rel(x, y)
    assert ss.paired(x, y) == pytest.approx(((x - y).mean(), stats.sem(x - y), wanted.pvalue))
    assert ss.paired(x, x) == (0.0, 0.0, 1.0)
    assert ss.paired(x, x - 1) == (1.0, 0.0, 0.0)


@given(arrays(float, st.integers(2, 8), elements=st.integers(-8, 8).map(float)))
def test_exchanged_signs_are_all_enumerated(gap: np.ndarray[Any, Any]) -> None:
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(gap))))
    reached = np.abs(signs @ gap) >= abs(gap.sum()) - 1e-9
    assert ss.exchanged(gap, 0 * gap) == pytest.approx(min(1.0, reached.mean()))


def test_lower_bounds_hold_together() -> None:
    """Of five pairs without a difference the least bound is above zero in about 5 % of draws."""
    rng = np.random.default_rng(11)
    above = [
        max(ss.lower_bound(rng.normal(size=8), rng.normal(size=8), 5) for _ in range(5)) > 0
        for _ in range(800)
    ]
    assert 0.03 < np.mean(above) < 0.07


@given(arrays(float, st.integers(1, 8), elements=st.integers(0, 100).map(lambda n: n / 100)))
def test_holm_rejects_what_its_steps_reject(p: np.ndarray[Any, Any]) -> None:
    adjusted = ss.holm(p)
    for level in (0.011, 0.051, 0.203):
        rejected: set[int] = set()
        for step, place in enumerate(np.argsort(p, kind="stable")):  # the procedure as stated
            if p[place] > level / (len(p) - step):
                break
            rejected.add(int(place))
        assert {i for i, value in enumerate(adjusted) if value <= level} == rejected


def test_variances_are_told_apart() -> None:
    rng = np.random.default_rng(3)
    many, few = 4000, 50
    base = rng.normal(scale=3.0, size=many)
    first, second = (base + rng.normal(scale=2.0, size=many) for _ in range(2))
    episodes = rng.normal(scale=5.0, size=(many, few))
    parts = ss.variances(first, second, episodes)
    assert parts == pytest.approx((9.0, 4.0, 25.0 / few), rel=0.1)


# Protocol -----------------------------------------------------------------------------------------


def spied(monkeypatch: pytest.MonkeyPatch, asked: Cell) -> tuple[list[Transitions], list[Any]]:
    """The data sets and the evaluations' seeds of a cell."""
    data: list[Transitions] = []
    starts: list[Any] = []
    learn = imitation.learn

    def watched(method: str, given: Sequence[Transitions], *rest: Any) -> Any:
        assert all(type(part) is Transitions for part in given)  # which have no rewards
        data.extend(given)
        return learn(method, given, *rest)

    def played(world: Any, policy: Any, where: Any, *rest: Any) -> Any:
        starts.append(np.asarray(where).tolist())
        return evaluate(world, policy, where, *rest)

    with monkeypatch.context() as patch:
        patch.setattr("reproduce.imitation.learn", watched)
        patch.setattr("reproduce.imitation.evaluate", played)
        imitation.compute(asked, "cpu")
    return data, starts


def test_demonstrations_are_shared_by_methods_and_fresh_for_each_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = [spied(monkeypatch, cell(method)) for method in ("bc", "iq_learn", "gladius")]
    seen.append(spied(monkeypatch, cell("bc", repeat=1)))
    states = [[part.states for part in data] for data, _ in seen]
    for other in states[1:]:
        for mine, theirs in zip(states[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert not np.array_equal(states[0][0][0], states[0][1][0])  # where the two seeds start
    # every evaluation is on the same episodes, or the first of them
    wanted = demonstrations.evaluation_seeds(ACROBOT, 3).tolist()
    assert {tuple(s) for _, starts in seen for s in starts} == {tuple(wanted), tuple(wanted[:2])}
    demonstrated = {
        seed
        for rng in seeds.generators(cell("bc"), "demonstrations")
        for seed in episode_seeds(rng, 1).tolist()
    }
    assert not demonstrated & set(wanted)


@pytest.mark.parametrize("method", ["bc", "iq_learn", "gladius"])
def test_learners_do_not_depend_on_the_truth(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With other rewards in the world the same episodes give the same policies."""
    rng = np.random.default_rng(4)
    states = rng.normal(size=(30, 6))

    def policies() -> list[Any]:
        data = [demonstrations.demonstrations(Acrobot(), 1, np.random.default_rng(5))]
        (every,), _ = imitation.learn(method, data, (2, 4), [np.random.default_rng(6)])
        return [policy(states) for policy in every]

    before = policies()
    step = Acrobots.step

    def other(self: Any, *given: Any) -> Any:
        moved = step(self, *given)
        return moved._replace(rewards=moved.rewards * 17 + 3)

    monkeypatch.setattr("gladius.worlds.gym.Acrobots.step", other)
    for mine, theirs in zip(before, policies(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_allclose(mine.sum(axis=1), 1.0)


@pytest.mark.parametrize("method", ["bc", "gladius"])
def test_same_seed_same_bytes(method: str) -> None:
    first, second = (imitation.compute(cell(method), "cpu") for _ in range(2))
    assert first.records == second.records
    assert first.replications == second.replications
    for name, array in first.arrays.items():
        assert array.tobytes() == second.arrays[name].tobytes()
    if method == "bc":  # and another training is another
        again = imitation.compute(cell(method, repeat=1), "cpu")
        assert again.replications != first.replications


def test_scores_are_those_of_the_episodes() -> None:
    result = computed(cell("bc")).result
    best, worst = result.arrays["references"]
    returns = result.arrays["episodes"].mean(axis=1)
    assert best > -150 > worst
    assert result.replications["score sampled"] == pytest.approx(
        100 * (returns - worst) / (best - worst)
    )
    shares = {record.statistic: record.value for record in result.records}
    assert shares["% optimality"] == pytest.approx(100 * returns.mean() / -82.80)
    # the curve's last point is the last policy on the first episodes
    wanted = 100 * (result.arrays["episodes"][0, :2].mean() - worst) / (best - worst)
    assert result.arrays["curve sampled"][0, -1] == pytest.approx(wanted)


def toy_rows() -> Transitions:
    rng = np.random.default_rng(7)
    states = rng.normal(size=(200, 2))
    actions = (rng.random(200) < 1 / (1 + np.exp(-2 * states[:, 0]))).astype(int)
    return Transitions(states, actions, states, done=np.ones(200, dtype=bool))


def test_bc_learns_the_frequencies_and_the_penalty_shrinks_q() -> None:
    """Where every path ends at once IQ-learn's penalty is Q^2 / (4 alpha)."""
    rows = toy_rows()
    policies = {
        alpha: imitation.clone([rows], (300,), [np.random.default_rng(8)], alpha)[0][0]
        for alpha in (None, 0.5, 0.05)
    }
    nll = {
        alpha: -np.log(policy(rows.states)[np.arange(200), rows.actions]).mean()
        for alpha, policy in policies.items()
    }
    entropy = np.log1p(np.exp(-2 * rows.states[:, 0] * (2 * rows.actions - 1))).mean()
    assert nll[None] < entropy + 0.02
    assert nll[None] < nll[0.5] < nll[0.05] < np.log(2)


def test_batched_seeds_are_each_as_alone() -> None:
    rows = toy_rows()
    few = rows.take(np.arange(200) < 120)
    both = imitation.clone([rows, few], (5,), [np.random.default_rng(k) for k in (1, 2)], 0.5)
    (alone,) = imitation.clone([few], (5,), [np.random.default_rng(2)], 0.5)
    torch.testing.assert_close(
        torch.from_numpy(both[1][0](rows.states)), torch.from_numpy(alone[0](rows.states))
    )


# The exhibit --------------------------------------------------------------------------------------


def test_cells_are_those_of_the_paper() -> None:
    entries = [e for e in table_4.EXHIBIT.checked_entries(False) if e.is_shown]
    assert len(entries) == 4 * 16
    restricted = [e.cell.settings["options"].get("restricted", True) for e in entries]
    assert restricted.count(False) == 16
    for entry in entries:
        size = entry.cell.settings["trajectories"]
        assert entry.cell.repetitions == (12 if size in (1, 3) else 10)
        assert entry.cell.settings["episodes"] == 100


def test_the_printed_table_is_judged_by_its_deviations() -> None:
    """The two cells and the scores that the claim's own check has."""
    same = {(e.row, e.column): np.zeros(3) for e in table_4.entries(False) if e.is_shown}
    pairs = table_4.judged(same).set_index(["row", "first", "second"])
    z = pairs["paper z"].xs(("BC", "Gladius"), level=("first", "second"))
    assert z["LunarLander-v2/7"] == pytest.approx(2.55, abs=0.01)
    assert z["LunarLander-v2/1"] == pytest.approx(-2.27, abs=0.01)
    assert z.drop(["LunarLander-v2/7", "LunarLander-v2/1"]).abs().max() < 1.48
    assert pairs["p"].eq(1.0).all()
    told = table_4.decided(pairs.reset_index(), 17)
    assert "ahead in 0, behind in 0 of 16 of 17 cells" in told
    assert "no worse by a margin of 5" in told
    assert "not shown" not in told


def test_the_verdict_follows_the_scores() -> None:
    """Each of its words can come out."""
    rng = np.random.default_rng(9)
    level = {k: rng.normal(size=10) for k in (1, 3)}
    known = {(f"{ACROBOT}/{k}", c): level[k] for k in (1, 3) for c in table_4.COLUMNS}

    def moved(size: int, lead: float) -> str:
        for column in ("BC", table_4.SAME_CLASS):
            known[f"{ACROBOT}/{size}", column] = level[size] + lead + 0.1 * rng.normal(size=10)
        return table_4.decided(table_4.judged(known))

    assert "better is not borne out" in table_4.decided(table_4.judged(known))
    told = moved(3, 5.0)
    assert "ahead in 1, behind in 0 of 2 cells" in told
    assert "better is borne out" in told
    assert "no worse by" in told
    told = moved(1, -8.0)
    assert "ahead in 1, behind in 1 of 2 cells" in told
    assert "better is contradicted" in told
    assert "not shown to be no worse" in told


def test_bc_of_gladius_class_has_bcs_minimum_and_gladius_start() -> None:
    """No steps: a linear logit's policy, by another solver; in other classes GLADIUS has r."""
    rows = toy_rows()
    design = np.column_stack([np.ones(200), rows.states])
    theta = np.zeros(3)
    for _ in range(30):  # Newton's steps of the logit
        p = 1 / (1 + np.exp(-design @ theta))
        theta += np.linalg.solve(
            design.T @ (design * (p * (1 - p))[:, None]), design.T @ (rows.actions - p)
        )
    ((start,),), _ = imitation.learn("gladius", [rows], (0,), [np.random.default_rng(1)], False)
    np.testing.assert_allclose(
        start(rows.states)[:, 1], 1 / (1 + np.exp(-design @ theta)), atol=1e-4
    )


@pytest.mark.deep  # 50 s: every method learns on Acrobot
def test_a_smoke_run_writes_what_there_is(tmp_path: Path) -> None:
    """Acrobot needs nothing; elsewhere the CSV says what is missing."""
    entries = [e for e in table_4.entries(True) if e.row.startswith("Acrobot")]
    results = results_of(table_4.EXHIBIT, entries)
    frame = written(table_4.EXHIBIT, results, tmp_path)
    assert set(frame["status"]) == {"ok"}
    assert len(pd.read_csv(tmp_path / "table_4_pairs.csv")) == len(table_4.PAIRS)
    spread = pd.read_csv(tmp_path / "table_4_variances.csv")
    assert spread["column"].tolist() == list(table_4.METHODS)
    assert table_4.verdict(tmp_path).count("of 1 cells") == len(table_4.PAIRS)
    path = tmp_path / "table_4_pairs.csv"
    pairs = pd.read_csv(path).assign(lead=1.0)
    pairs.assign(**{"p Holm": 0.0}).to_csv(path, index=False)
    brief = table_4.verdict(tmp_path).splitlines()[0]
    assert brief.endswith("BC, row network 1 / 0; BC 1 / 0; IQ-learn 0 / 1")


@pytest.mark.skipif(find_spec("gymnasium") is not None, reason="gymnasium is installed")
def test_without_gymnasium_cells_say_so(tmp_path: Path) -> None:
    entries = [e for e in table_4.entries(True) if e.row.startswith("CartPole")]
    results = results_of(table_4.EXHIBIT, entries)
    frame = written(table_4.EXHIBIT, results, tmp_path)
    assert set(frame["status"]) == {NOT_RUN}
    assert frame["statistic"].str.contains("gymnasium is not installed: pip install").all()
    assert table_4.verdict(tmp_path) == "not run"


def test_failed_cells_are_left_out(tmp_path: Path) -> None:
    entries = [e for e in table_4.entries(True) if e.row.startswith("Acrobot")]
    results = results_of(table_4.EXHIBIT, entries)
    broken = [stored(Result(()), "failed: why"), *results.stored[1:]]
    frame = written(table_4.EXHIBIT, replace(results, stored=broken), tmp_path)
    assert frame["status"].iloc[0] == "failed: why"
    assert len(pd.read_csv(tmp_path / "table_4_pairs.csv")) == 1
    assert "failed" in (tmp_path / "table_4.tex").read_text()


def test_films_show_episodes_that_start_alike(tmp_path: Path) -> None:
    entries = [e for e in table_4_films.entries(True) if e.row == ACROBOT]
    results = results_of(table_4_films.EXHIBIT, entries)
    frame = written(table_4_films.EXHIBIT, results, tmp_path)
    assert set(frame["status"]) == {"ok"}
    states = [stored.result.arrays["states"] for _, stored in results]
    for other in states[1:]:
        np.testing.assert_array_equal(states[0][0], other[0])
    assert not np.array_equal(states[0][-1], states[1][-1])
    drawn = table_4_films.lines(ACROBOT, states[0])
    np.testing.assert_allclose(np.linalg.norm(np.diff(drawn, axis=1), axis=2), 1.0, atol=1e-6)
    assert drawn[-1, -1, 1] > 1.0  # the expert's last frame has the tip above the line
    assert np.all(drawn[:-1, -1, 1] <= 1.0 + 1e-6)
