"""What a reward is for: soft Q-learning against the exact answer, and what sources must give."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from gladius.counterfactual import changed
from gladius.mdp import soft_bellman
from gladius.worlds.bus import REPLACE, BusEngine
from gladius.worlds.gym import Moved, rollout
from reproduce import imitation, soft_q, transfer
from reproduce.data import by_mileage
from reproduce.exhibits import transfer as exhibit
from reproduce.soft_q import Softmax
from tests.reproduce.shown import results_of, written

ROUNDS = 250


@cache
def learned(scale: float) -> list[Softmax]:
    """Two runs in the changed world, of the truth and of a reward without the replacement cost."""
    world = transfer.worlds(transfer.BUS)[f"{transfer.BUS}, {transfer.LAW.name}"]
    assert isinstance(world, transfer.Bus)
    cheap = by_mileage(np.where(np.arange(2) == REPLACE, -1.0, world.mdp.reward))
    rngs = [np.random.default_rng([21, run]) for run in range(2)]
    scalings = [(np.array([6.0]), np.array([4.0]))] * 2
    return soft_q.learn(world, [scale, cheap], scalings, 0.95, ROUNDS, rngs)[1]


def test_soft_q_learning_finds_the_exact_answer() -> None:
    """Where its agents go: the truth's, another reward's, and not the old world's."""
    old = BusEngine().mdp
    new = changed(old, transfer.LAW)
    cheap = np.where(np.arange(2) == REPLACE, -1.0, new.reward)
    for policy, reward in zip(learned(1.0), (new.reward, cheap), strict=True):
        best = soft_bellman(reward, new.transition, 0.95).policy
        visits = new.discounted_occupancy(best).sum(axis=1)
        apart = 0.5 * np.abs(policy(new.features) - best).sum(axis=1)
        assert visits @ apart < 0.02
        from_old = 0.5 * np.abs(old.solution.policy - best).sum(axis=1)
        assert visits @ from_old > 0.05


@dataclass(frozen=True)
class Corridor:
    """Places 0, 1, 2; action 1 goes on, beyond 2 the path ends; action 0 stays. A step costs 1."""

    limit: int = 3
    name: ClassVar[str] = "corridor"
    features: ClassVar[tuple[str, ...]] = ("place",)
    number_of_actions: ClassVar[int] = 2

    def begin(self, seeds: np.ndarray[Any, Any]) -> Corridors:
        return Corridors(np.zeros((len(seeds), 1)))


@dataclass
class Corridors:
    place: np.ndarray[Any, Any]

    @property
    def observations(self) -> np.ndarray[Any, Any]:
        return np.minimum(self.place, 2.0)

    def step(self, episodes: np.ndarray[Any, Any], actions: np.ndarray[Any, Any]) -> Moved:
        self.place[episodes, 0] += actions
        over = self.place[episodes, 0] > 2
        return Moved(self.observations[episodes], -np.ones(len(actions)), over)


def test_soft_q_learning_where_paths_end() -> None:
    """V is 0 after the end and not at the limit: by three scalar equations, solved by iteration."""
    stay = go = np.zeros(3)
    for _ in range(500):
        value = np.logaddexp(stay, go)
        stay, go = -1.0 + 0.9 * value, -1.0 + 0.9 * np.array([*value[1:], 0.0])
    wanted = 1 / (1 + np.exp(stay - go))
    (half,), (policy,) = soft_q.learn(
        Corridor(), [1.0], [(np.ones(1), np.ones(1))], 0.9, 150, [np.random.default_rng(25)]
    )
    learned_odds = policy(np.array([[0.0], [1.0], [2.0]]))[:, 1]
    np.testing.assert_allclose(learned_odds, wanted, atol=0.03)
    endless = 1 / (1 + np.exp(0.0))  # were the end no end, all places would be alike at the last
    assert abs(wanted[2] - endless) > 0.1
    assert half is not policy


@pytest.mark.deep  # 40 s: soft Q is learned twice
def test_a_multiple_of_the_reward_is_a_lower_temperature() -> None:
    sharp, plain = (learned(scale)[0](np.array([[2.0], [9.0]])) for scale in (3.0, 1.0))
    assert sharp.max(axis=1).min() > plain.max(axis=1).min()


def test_the_bus_is_played_by_its_law() -> None:
    """The share of each pair along the paths, and r beside it, against the process's own."""
    world = transfer.worlds(transfer.BUS)[transfer.BUS]
    assert isinstance(world, transfer.Bus)
    data, rewards, scores = rollout(world, by_mileage(world.mdp.solution.policy), range(400))
    assert not data.done.any()
    assert set(scores.lengths) == {world.limit}
    place = data.states[:, 0].astype(int) - 1
    np.testing.assert_array_equal(rewards, world.mdp.reward[place, data.actions])
    share = np.zeros(world.mdp.reward.shape)
    np.add.at(share, (place, data.actions), 1 / len(data))
    np.testing.assert_allclose(share, world.mdp.occupancy(world.limit), atol=4e-3)
    moved = data.next_states[:, 0] - data.states[:, 0]
    kept = (data.actions != REPLACE) & (data.states[:, 0] < 10)
    counts = np.bincount(moved[kept].astype(int), minlength=5)
    np.testing.assert_allclose(counts[1:] / kept.sum(), 0.25, atol=0.01)


@cache
def given(source: str) -> list[transfer.Source]:
    rngs = [np.random.default_rng([22, run]) for run in range(2)]
    data = BusEngine().simulate(100, rngs)
    world = transfer.worlds(transfer.BUS)[transfer.BUS]
    return transfer.sources(source, world, data, 400, rngs)[0]


def welfare_of(source: str, place: str) -> tuple[float, float]:
    """(carried, exactly re-optimised) mean shares of two data sets."""
    world = transfer.worlds(transfer.BUS)[place]
    assert isinstance(world, transfer.Bus)
    carried = [transfer.score(world, policy, 0) for policy, _ in given(source) if policy]
    best = [transfer.score(world, transfer.exact(world.mdp, r), 0) for _, r in given(source)]
    return float(np.mean(carried)), float(np.mean(best))


def test_on_the_bus_an_anchored_reward_transfers_and_a_policy_does_not() -> None:
    """The positive control by the exact answer; log pi gives the clone itself in both worlds."""
    unchanged, new = transfer.worlds(transfer.BUS)
    assert welfare_of("truth", new)[1] == pytest.approx(100.0)
    assert welfare_of("truth", unchanged)[0] == pytest.approx(100.0)
    for place in (unchanged, new):
        carried, best = welfare_of("bc", place)
        assert best == pytest.approx(carried, abs=1e-6)
    assert welfare_of("gladius", unchanged)[1] > 99.0  # it leads its agents back
    carried, best = welfare_of("gladius", new)
    assert best > 99.0
    assert carried < best - 1.0
    assert welfare_of("bc", new)[1] < best - 1.0
    assert abs(carried - welfare_of("truth", new)[0]) < 1.0  # as the old world's own agents


def test_iq_learns_reward_speaks_of_every_action() -> None:
    data = BusEngine().simulate(3, np.random.default_rng(23))
    never = data.take(data.actions != REPLACE)
    table = transfer.implied(lambda states: np.tile([1.0, 2.0], (len(states), 1)), never)
    rewards = table(never.states)
    assert np.all(np.isfinite(rewards))
    np.testing.assert_allclose(rewards[:, 0], rewards[:, 1])
    v = np.logaddexp(1.0, 2.0)
    np.testing.assert_allclose(rewards[:, 0], 1.0 - imitation.DISCOUNT * v)


def test_nearness_to_the_demonstrations_is_one_there_and_falls_with_the_distance() -> None:
    data = BusEngine().simulate(50, np.random.default_rng(24))
    near = transfer.Nearness.of(data, 2)
    np.testing.assert_allclose(near(data.states), 1.0)
    spread, top = data.states.std(), data.states.max()
    away = near(np.array([[top + spread], [top + 3 * spread]]))
    np.testing.assert_allclose(away, np.exp([[-1.0, -1.0], [-3.0, -3.0]]), rtol=1e-6)


def test_a_smoke_run_of_the_bus_and_the_same_bytes(tmp_path: Path) -> None:
    entries = [e for e in exhibit.entries(True) if e.row == transfer.BUS]
    results = results_of(exhibit.EXHIBIT, entries)
    frame = written(exhibit.EXHIBIT, results, tmp_path)
    assert set(frame["status"]) <= {"ok", "not_converged"}  # of one round
    assert set(frame["row"]) == set(transfer.worlds(transfer.BUS))
    ways = frame.groupby("column")["protocol"].nunique()
    assert ways.to_dict() == dict.fromkeys(exhibit.COLUMNS, 3) | dict.fromkeys(
        ("Constant", "Distance", "Truth, beta .95"), 2
    )
    is_truth = frame["column"].eq("Truth") & frame["protocol"].eq("measured re-optimised")
    frame.loc[is_truth, "value"] = 200.0
    frame.to_csv(tmp_path / "transfer.csv", index=False)
    brief, every, why = exhibit.verdict(tmp_path).splitlines()
    assert (brief.count("bus engine"), every.count("bus engine")) == (1, 2)
    three = brief.partition("bus engine ")[2]
    assert every.endswith(three)  # of the changed one
    assert why.endswith("nowhere")
    frame.loc[frame["column"].eq("Distance"), "value"] = 300.0
    frame.to_csv(tmp_path / "transfer.csv", index=False)
    brief, still, why = exhibit.verdict(tmp_path).splitlines()
    assert brief.endswith("not told; true r not the highest mean on bus engine")
    assert len(re.findall(r"truth 200 \(\w+\)(, not converged)?; Distance 300 \(\w+\)", why)) == 2
    assert still == every
    truth = next(e for e in entries if e.column == "Truth")
    again = transfer.compute(truth.cell, "cpu")
    assert again.replications == results.get(truth.row, "Truth", "measured").result.replications


def test_cells_of_the_exhibit() -> None:
    """Every reward is re-optimised in every environment, with as many moves."""
    entries = exhibit.EXHIBIT.checked_entries(False)
    assert len(entries) == 3 * 7
    for entry in entries:
        told = entry.cell.settings
        assert entry.cell.repetitions == 5
        assert told["rounds"] == exhibit.ROUNDS
        assert ("method" in told) == (told["source"] in transfer.ESTIMATED)
