"""The exhibit of counterfactuals: its worlds, its losses by a second route, its texts and files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gladius import BusEngine
from gladius.checks import Array
from gladius.counterfactual import Change, changed, learn
from gladius.transitions import group
from reproduce import counterfactuals as work
from reproduce.exhibits import counterfactual
from reproduce.spec import Entry
from tests.reproduce.smoke_results import computed, failed, resized, results_of, written

BUS = BusEngine()
HALVED, USED = work.CHANGES
ENTRIES = [resized(entry, repetitions=2) for entry in counterfactual.entries(True)]


def new_world(name: str) -> tuple[Array, Array]:
    """Reward and transition probabilities after a change, from its words."""
    reward = np.array([[-x, -5.0] for x in range(1, 21)])
    transition = np.zeros((2, 20, 20))
    for x in range(1, 21):
        for step in (1, 2, 3, 4):
            transition[0, x - 1, min(x + step, 20) - 1] += 0.25
        transition[1, x - 1, 2 if name == USED.name else 0] = 1.0
    if name == HALVED.name:
        reward[:, 0] /= 2
    return reward, transition


def best(reward: Array, transition: Array) -> Array:
    """(20, 2) Q by plain value iteration."""
    q = np.zeros((20, 2))
    for _ in range(1500):
        v = np.logaddexp.reduce(q, axis=1)
        q = reward + 0.95 * np.stack([transition[a] @ v for a in (0, 1)], axis=1)
    return q


def loss(name: str, policy: Array) -> float:
    """Welfare loss of a policy in the new world, by iterating its value."""
    reward, transition = new_world(name)
    v = np.zeros(20)
    logs = np.log(np.where(policy > 0, policy, 1))
    for _ in range(1500):
        following = np.stack([p @ v for p in transition], axis=1)
        v = np.sum(policy * (reward - logs + 0.95 * following), axis=1)
    return float(np.logaddexp.reduce(best(reward, transition), axis=1)[0] - v[0])


@pytest.mark.parametrize("change", work.CHANGES)
def test_the_changes_are_what_their_names_say(change: Change) -> None:
    world, (reward, transition) = changed(BUS.mdp, change), new_world(change.name)
    np.testing.assert_allclose(world.reward, reward)
    np.testing.assert_allclose(world.transition, transition)
    (sentence,) = (text for text in counterfactual.exact() if change.name in text)
    old_loss = loss(change.name, BUS.mdp.solution.policy)
    assert f"keeping the old policy loses {old_loss:.4f}" in sentence


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.column)
def test_losses_are_those_of_the_policies(entry: Entry) -> None:
    """With a single data set the mean policy is the policy."""
    result = computed(resized(entry, repetitions=1).cell).result
    losses = {(r.row, r.protocol): r.value for r in result.records if r.statistic == work.LOSS}
    assert len(losses) == 5  # no observed transition follows a new P
    for (change, solver), value in losses.items():
        replacing = result.arrays[work.label("replacement", change, solver)]
        expected = loss(change, np.column_stack([1 - replacing, replacing]))
        assert value == pytest.approx(expected, abs=1e-7)


def test_soft_q_meets_its_tolerance() -> None:
    """One more sweep changes Q by less than 1e-10 (1 - beta) / beta of its size."""
    counts = group(BUS.simulate(20, np.random.default_rng(0)))
    visits, moves = counts.visits[0], counts.moves[0]
    reward = np.tile([-1.0, -5.0], (len(visits), 1))
    (learned,) = learn([counts], [reward], BUS.discount)
    assert learned.converged
    taken = visits > 0
    following = (moves @ np.logaddexp.reduce(learned.table, axis=1)).T[taken] / visits[taken]
    sweep = reward[taken] + BUS.discount * following
    assert np.abs(sweep - learned.table[taken]).max() < 1e-11 * np.abs(sweep).max()


@pytest.mark.parametrize(
    ("value", "se", "status", "expected"),
    [
        (0.12345, 0.0123, "ok", "0.123 (0.012)"),
        (0.12345, 0.0123, "not_converged", "0.123 (0.012)*"),
        (math.nan, math.nan, "ok", "failed"),
        (0.12345, math.nan, "ok", "0.123"),
        (4.9e-7, 4.9e-7, "ok", "0"),  # the rounding of V
        (-4.9e-7, 5.1e-7, "ok", "0 (5.1e-07)"),
        (5.1e-7, 1e-8, "ok", "5.1e-07 (1e-08)"),
        (2.0, 1.9e-9, "ok", "2"),  # equal numbers up to rounding
        (2.0, 2.1e-9, "ok", "2 (2.1e-09)"),
    ],
)
def test_a_loss_is_rounded_where_it_is_rounding(
    value: float, se: float, status: str, expected: str
) -> None:
    line = pd.Series({"value": value, "se": se, "status": status})
    assert counterfactual.text(line) == expected


def test_files_and_their_numbers(tmp_path: Path) -> None:
    frame = written(counterfactual.EXHIBIT, results_of(counterfactual.EXHIBIT, ENTRIES), tmp_path)
    assert (tmp_path / "counterfactual_policies.png").is_file()
    table = counterfactual.losses(frame)
    texts = dict(zip(table.index, table.to_numpy().tolist(), strict=True))
    assert texts[USED.name, work.IN_DATA] == ["-"] * 4
    assert "-" not in texts[HALVED.name, work.IN_DATA]
    assert "maintenance halved 89.1 %" in counterfactual.verdict(tmp_path)
    lost = frame.assign(value=frame["value"].where(frame["statistic"] != work.LOSS, 100.0))
    lost.to_csv(tmp_path / "counterfactual.csv", index=False)  # the control: a useless answer
    assert "maintenance halved -33" in counterfactual.verdict(tmp_path)


def test_failed_cells_are_named(tmp_path: Path) -> None:
    frame = written(counterfactual.EXHIBIT, failed(counterfactual.EXHIBIT), tmp_path)
    assert frame["value"].isna().all()
    assert counterfactual.verdict(tmp_path) == "GLADIUS's share of the gain: not run"
