"""Table 4: what its learners see, what its seeds decide, and its comparisons of methods."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pretended_device import pretended_device

from gladius.baselines import iq_learn
from gladius.designs.gym import ACROBOT, Episodes, episode_seeds, evaluate
from gladius.panel.record import Transitions
from gladius.solvers import networks
from reproduce.cells import demonstrations, imitation
from reproduce.engine import seeds
from reproduce.engine.nouns import NOT_RUN, Cell, Result
from reproduce.engine.view import View
from reproduce.exhibits import table_4
from tests.reproduce.smoke_results import computed, stored, written

gymnasium_needed = pytest.mark.skipif(not find_spec("gymnasium"), reason="gymnasium not installed")


def imitation_cell(method: str, restricted: bool = True) -> Cell:
    return imitation.imitation_cell(method, ACROBOT.name, 1, 2, 4, 3, restricted=restricted)


@pytest.mark.parametrize("alpha", [None, 0.3])
def test_the_gradient_of_a_step_is_that_of_the_loss(alpha: float | None) -> None:
    """In float64, against autograd on the definitions; 1e-12 is 5,000 roundings."""
    rng = np.random.default_rng(0)
    shapes = {"share": (2, 9), "states": (2, 9, 3), "next_states": (2, 9, 3), "continuing": (2, 9)}
    columns = {name: torch.tensor(rng.uniform(size=shape)) for name, shape in shapes.items()}
    columns["continuing"] = columns["continuing"].round()
    rows = iq_learn.TransitionSample(actions=torch.tensor(rng.integers(0, 4, (2, 9))), **columns)
    like = networks.start([rng, rng], (3, 6, 5, 4))
    flat = torch.cat([layer.flatten(1) for layer in like], dim=1)[:, None].requires_grad_()
    found = torch.full_like(flat, torch.nan)
    theta, slopes = (networks.views(x, like) for x in (flat, found))
    if alpha is None:
        q = networks.outputs(theta, rows.states, iq_learn.ACTIVATION)
        hot = torch.nn.functional.one_hot(rows.actions, 4)
        loss = -(rows.share[..., None] * hot * torch.log_softmax(q, dim=2)).sum()
    else:
        loss = iq_learn.losses(theta, rows, imitation.DISCOUNT, alpha).sum()
    loss.backward()
    with torch.no_grad():
        imitation.gradient([layer.detach() for layer in theta], rows, alpha, slopes)
    assert flat.grad is not None
    torch.testing.assert_close(found.detach(), flat.grad, rtol=1e-12, atol=1e-12)


# Protocol -----------------------------------------------------------------------------------------


def watched(monkeypatch: pytest.MonkeyPatch, cell: Cell) -> tuple[list[Transitions], list[Any]]:
    """The data sets and the evaluations' seeds of a cell."""
    data: list[Transitions] = []
    starts: list[Any] = []
    learn = imitation.learn

    def watched_learn(method: str, given: Sequence[Transitions], *rest: Any) -> Any:
        assert all(type(transitions) is Transitions for transitions in given)  # without rewards
        data.extend(given)
        return learn(method, given, *rest)

    def watched_evaluate(world: Any, policy: Any, where: Any, *rest: Any) -> Any:
        starts.append(np.asarray(where).tolist())
        return evaluate(world, policy, where, *rest)

    with monkeypatch.context() as patch:
        patch.setattr("reproduce.cells.imitation.learn", watched_learn)
        patch.setattr("reproduce.cells.imitation.evaluate", watched_evaluate)
        imitation.compute(cell)
    return data, starts


@gymnasium_needed
def test_demonstrations_are_shared_by_methods_and_fresh_for_each_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [watched(monkeypatch, imitation_cell(m)) for m in ("bc", "iq_learn")]
    states = [[transitions.states for transitions in data] for data, _ in runs]
    for other in states[1:]:
        for ours, theirs in zip(states[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(states[0][0][0], states[0][1][0])  # the starts of the two seeds
    expected = demonstrations.evaluation_seeds(ACROBOT.name, 3).tolist()
    assert {tuple(s) for _, starts in runs for s in starts} == {tuple(expected)}
    demonstrated = {
        seed
        for rng in seeds.generators(imitation_cell("bc"), "demonstrations")
        for seed in episode_seeds(rng, 1).tolist()
    }
    assert not demonstrated & set(expected)


@gymnasium_needed
@pytest.mark.parametrize("method", ["bc", "iq_learn", "profiled_erm"])
def test_learners_do_not_depend_on_the_truth(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With other rewards in the world the same episodes give the same policies."""
    states = np.random.default_rng(4).normal(size=(30, 6))

    def policies() -> list[Any]:
        data = [demonstrations.demonstrations(ACROBOT, 1, np.random.default_rng(5))]
        learned, _ = imitation.learn(method, data, 4, [np.random.default_rng(6)])
        return [policy(states) for policy in learned]

    before = policies()
    step = Episodes.step

    def other_rewards(self: Any, *given: Any) -> Any:
        next_states, rewards, terminated = step(self, *given)
        return next_states, rewards * 17 + 3, terminated

    monkeypatch.setattr("gladius.designs.gym.Episodes.step", other_rewards)
    for ours, theirs in zip(before, policies(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_allclose(ours.sum(axis=1), 1.0)


@gymnasium_needed
def test_same_seed_same_bytes() -> None:
    first = computed(imitation_cell("bc")).result
    second = imitation.compute(imitation_cell("bc"))
    assert first.records == second.records
    assert first.replications == second.replications
    for name, array in first.arrays.items():
        assert array.tobytes() == second.arrays[name].tobytes()


@gymnasium_needed
@pytest.mark.parametrize("method", ["bc", "iq_learn", "profiled_erm"])
def test_a_pretended_device_gives_the_same_returns(method: str) -> None:
    cell = imitation_cell(method)
    with pretended_device():
        result = imitation.compute(cell)
    expected = computed(cell).result
    assert result.replications == expected.replications
    np.testing.assert_array_equal(result.arrays["episodes"], expected.arrays["episodes"])


@gymnasium_needed
def test_scores_are_those_of_the_episodes() -> None:
    result = computed(imitation_cell("bc")).result
    best, worst = result.arrays["references"]
    returns = result.arrays["episodes"].mean(axis=1)
    assert best > -150 > worst
    assert result.replications["score"] == pytest.approx(100 * (returns - worst) / (best - worst))
    shares = {record.statistic: record.value for record in result.records}
    assert shares["% optimality"] == pytest.approx(100 * returns.mean() / -82.80)


def toy_transitions() -> Transitions:
    rng = np.random.default_rng(7)
    states = rng.normal(size=(200, 2))
    actions = (rng.random(200) < 1 / (1 + np.exp(-2 * states[:, 0]))).astype(int)
    return Transitions(states, actions, states, done=np.ones(200, dtype=bool))


def test_bc_learns_the_frequencies_and_the_penalty_shrinks_q() -> None:
    """Where every path ends at once IQ-learn's penalty is Q^2 / (4 alpha)."""
    data = toy_transitions()
    policies = {
        alpha: imitation.clone([data], 300, [np.random.default_rng(8)], alpha)[0]
        for alpha in (None, 0.5, 0.05)
    }
    nll = {
        alpha: -np.log(policy(data.states)[np.arange(200), data.actions]).mean()
        for alpha, policy in policies.items()
    }
    entropy = np.log1p(np.exp(-2 * data.states[:, 0] * (2 * data.actions - 1))).mean()
    assert nll[None] < entropy + 0.02
    assert nll[None] < nll[0.5] < nll[0.05] < np.log(2)


def test_batched_seeds_are_each_as_alone() -> None:
    data = toy_transitions()
    few = data.take(np.arange(200) < 120)
    both = imitation.clone([data, few], 5, [np.random.default_rng(k) for k in (1, 2)], 0.5)
    (alone,) = imitation.clone([few], 5, [np.random.default_rng(2)], 0.5)
    torch.testing.assert_close(
        torch.from_numpy(both[1](data.states)), torch.from_numpy(alone(data.states))
    )


def test_bc_of_gladius_class_starts_at_the_minimum_of_a_linear_logit() -> None:
    """After no steps its policy is that of Newton's steps."""
    data = toy_transitions()
    design = np.column_stack([np.ones(200), data.states])
    theta = np.zeros(3)
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ theta))
        theta += np.linalg.solve(
            design.T @ (design * (p * (1 - p))[:, None]), design.T @ (data.actions - p)
        )
    (start,), _ = imitation.learn("profiled_erm", [data], 0, [np.random.default_rng(1)], False)
    expected = 1 / (1 + np.exp(-design @ theta))
    np.testing.assert_allclose(start(data.states)[:, 1], expected, atol=1e-4)


# The exhibit --------------------------------------------------------------------------------------


def test_cells_are_those_of_the_paper() -> None:
    entries = [e for e in table_4.EXHIBIT.checked_entries(False) if e.column in table_4.COLUMNS]
    assert len(entries) == 4 * 16
    restricted = [e.cell.settings["options"].get("restricted", True) for e in entries]
    assert restricted.count(False) == 16
    for entry in entries:
        size = entry.cell.settings["trajectories"]
        assert entry.cell.repetitions == (12 if size in (1, 3) else 10)
        assert entry.cell.settings["episodes"] == 100


def test_the_printed_table_is_judged_by_its_deviations() -> None:
    """Two of its comparisons of BC with GLADIUS have |z| above 2."""
    entries = [e for e in table_4.entries(False) if e.column in table_4.COLUMNS]
    pairs = table_4.compare_pairs({(e.row, e.column): np.zeros(3) for e in entries})
    z = pairs.set_index(["row", "first", "second"])["paper z"]
    z = z.xs(("BC", "Gladius"), level=("first", "second"))
    assert z["LunarLander-v2/7"] == pytest.approx(2.55, abs=0.01)
    assert z["LunarLander-v2/1"] == pytest.approx(-2.27, abs=0.01)
    assert z.drop(["LunarLander-v2/7", "LunarLander-v2/1"]).abs().max() < 1.48
    assert pairs["p"].dropna().eq(1.0).all()
    assert set(table_4.counts(pairs).values()) == {(0, 0, 16)}


def test_the_verdict_follows_the_scores(tmp_path: Path) -> None:
    """A pair with a real lead is ahead or behind; one without is neither."""
    rng = np.random.default_rng(9)
    scores = {("Acrobot-v1/1", column): rng.normal(size=10) for column in table_4.COLUMNS}
    for column, lead in (("BC", 9.0), ("IQ-learn", -9.0)):
        scores["Acrobot-v1/1", column] = scores["Acrobot-v1/1", "Profiled ERM"] + rng.normal(
            lead, 0.1
        )
    table_4.compare_pairs(scores).to_csv(tmp_path / "table_4_pairs.csv", index=False)
    brief, *lines = table_4.verdict(tmp_path).splitlines()
    assert brief.startswith(f"{sum('in 1' in line for line in lines)} of {len(lines)} differences")
    assert lines[1].startswith("BC against Profiled ERM: higher in 1, lower in 0 of 1 rows")


def smoke_results(statuses: Sequence[str]) -> View:
    """Acrobot's smoke entries with made-up scores; a status other than ok has no result."""
    rng = np.random.default_rng(3)
    entries = [e for e in table_4.entries(True) if e.column in table_4.COLUMNS]
    cells = []
    for status in statuses:
        records, replications = demonstrations.scored(
            "CartPole-v1", rng.normal(400.0, 9.0, 2), 2, ["ok", "ok"]
        )
        result = Result(tuple(records), replications)
        cells.append(stored(result if status == "ok" else Result(()), status))
    return View(entries, cells, True)


@gymnasium_needed
def test_failed_cells_are_left_out(tmp_path: Path) -> None:
    whole = written(table_4.EXHIBIT, smoke_results(["ok"] * 4), tmp_path)
    assert set(whole["status"]) == {"ok"}
    assert len(pd.read_csv(tmp_path / "table_4_pairs.csv")) == len(table_4.PAIRS)
    frame = written(table_4.EXHIBIT, smoke_results(["failed: why", "ok", "ok", "ok"]), tmp_path)
    assert frame["status"].iloc[0] == "failed: why"
    assert len(pd.read_csv(tmp_path / "table_4_pairs.csv")["p"].dropna()) == 1
    assert "failed" in (tmp_path / "table_4.tex").read_text()


def test_without_gymnasium_cells_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    for compute in (imitation.compute, demonstrations.measure):
        (record,) = compute(imitation_cell("bc")).records
        assert record.status == NOT_RUN
        assert "gymnasium is not installed: pip install" in record.statistic


@gymnasium_needed
def test_the_expert_is_measured_under_each_rule() -> None:
    settings = {"environment": ACROBOT.name, "episodes": 4}
    records = demonstrations.measure(Cell("expert", settings))
    returns = {r.statistic: r.value for r in records.records if r.statistic.startswith("return")}
    assert len(returns) == 4
    assert all(-120 < value < -60 for value in returns.values())
    named = {rule for _, rule in table_4.EXPERTS.values()}
    assert named >= {"sampled, without the normaliser"}
    assert "return, sampled, without the normaliser" in returns
