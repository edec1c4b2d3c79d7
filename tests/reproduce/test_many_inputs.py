"""Figure 1 and the worlds with inputs that matter: solutions, pairing, scores, drawing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from gladius import BusEngine, methods
from gladius.metrics import mape
from gladius.worlds.inputs_bus import InputsBus
from reproduce.exact import bound_cell, with_inputs
from reproduce.exhibits import figure_1, relevant_inputs
from reproduce.inputs_worlds import VARIANTS
from reproduce.many_inputs import FALSE, RIGHT, compute, fitting, make_world
from reproduce.results import Results
from reproduce.seeds import generators
from tests.reproduce.shown import FAILED, computed, results_of, written

TABLES = [name for name, variant in VARIANTS.items() if "continuous" not in name]


@pytest.mark.parametrize("name", TABLES)
def test_a_world_s_solution_solves_its_bellman_equation(name: str) -> None:
    """Looped over states and actions, on random pairs; laws are laws."""
    world = VARIANTS[name].make(31)
    assert isinstance(world, InputsBus)
    q, v = world.q_table, logsumexp(world.q_table, axis=-1)
    np.testing.assert_allclose(world.kernel.sum(axis=1), 1.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, g = rng.integers(20), rng.integers(len(world.kernel))
        for a in range(world.number_of_actions):
            moves = world.moves[a, g, x]
            assert moves.sum() == pytest.approx(1.0)
            ahead = sum(moves[y] * (world.kernel[g] @ v[y]) for y in np.flatnonzero(moves))
            target = world.reward_table[x, g, a] + world.discount * ahead
            assert q[x, g, a] == pytest.approx(target, abs=1e-7)


@pytest.mark.parametrize("name", ["linear", "persistent", "lag", "three actions", "eight"])
def test_paths_choose_with_the_expert_s_probabilities(name: str) -> None:
    """Counts of actions by what the policy expects of them, and of types by their kernel."""
    world = VARIANTS[name].make(31)
    assert isinstance(world, InputsBus)
    data = world.simulate(100, np.random.default_rng(1))
    x = data.states[:, 0].astype(int) - 1
    now, after = (
        world.type_of(np.rint(part[:, 1:]).astype(np.int64))
        for part in (data.states, data.next_states)
    )
    policy = softmax(world.q_table, axis=-1)[x, now]
    for a in range(world.number_of_actions):
        error = np.sqrt(np.sum(policy[:, a] * (1 - policy[:, a])))
        assert abs(np.sum(data.actions == a) - policy[:, a].sum()) < 4.5 * error
    assert np.all(world.kernel[now, after] > 0)
    chance = world.moves[data.actions, now, x, data.next_states[:, 0].astype(int) - 1]
    assert np.all(chance > 0)


def test_mileage_paths_are_the_same_whatever_the_number_of_inputs() -> None:
    for world in ("bus", "linear", "continuous"):
        few, many = (make_world(world, k).simulate(5, np.random.default_rng(2)) for k in (3, 40))
        np.testing.assert_array_equal(few.states[:, 0], many.states[:, 0])
        np.testing.assert_array_equal(few.actions, many.actions)


def test_a_cell_scores_what_a_user_would_get() -> None:
    cell = fitting("gladius", "linear", 4, 2, True, {"function_class": "sparse"})
    result = compute(cell, "cpu")
    world = VARIANTS["linear"].make(4)
    for place, rng in enumerate(generators(cell)):
        train, test = world.simulate(cell.settings["trajectories"], rng).split(0.8)
        estimate = methods.fit(
            train,
            anchor_action=1,
            anchor_reward=-5.0,
            discount=0.95,
            function_class="sparse",
        )
        assert result.replications["MAPE"][place] == pytest.approx(
            mape(estimate, test, world.reward)
        )
        chosen = set(np.asarray(estimate.diagnostics.extra["reward_inputs"]).tolist())
        assert result.replications[RIGHT][place] == float({0, 1} <= chosen)
        assert result.replications[FALSE][place] == float(not chosen <= {0, 1})


def test_the_truth_is_used_by_the_scores_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a truth of NaN where the scores ask for it, every estimate is the same."""
    cell = fitting("gladius", "bus", 3, 2, True, {"function_class": "sparse"})
    seen: list[np.ndarray] = []

    def kept(estimate, test, truth):  # type: ignore[no-untyped-def]  # as mape is called
        seen.append(estimate.reward(test.states[:50], 0))
        return 0.0

    monkeypatch.setattr("reproduce.many_inputs.mape", kept)
    compute(cell, "cpu")
    honest = list(seen)
    seen.clear()
    poison = lambda self, states, actions: np.full(len(states), np.nan)  # noqa: E731 (a method)
    monkeypatch.setattr(BusEngine, "reward", poison)
    compute(cell, "cpu")
    np.testing.assert_array_equal(honest, seen)


def test_bounds_grow_with_the_inputs_that_get_a_coefficient() -> None:
    values = [with_inputs(bound_cell(k, True), "cpu").records[0].value for k in (0, 2, 20, 100)]
    alone = with_inputs(bound_cell(100, False), "cpu").records[0].value
    assert values[0] == alone == pytest.approx(1.01, abs=0.005)
    assert values == sorted(values)
    squares = np.square(values)  # a single cell's would be affine in K; the sum over cells nearly
    assert (squares[2] - squares[0]) / (squares[1] - squares[0]) == pytest.approx(10, rel=0.25)


def test_figure_1_is_drawn_with_and_without_results(tmp_path: Path) -> None:
    entries = [e for e in figure_1.entries(True) if e.column in ("GLADIUS", "bound")]
    everything = figure_1.entries(True)
    shown = [computed(e.cell) if e in entries else FAILED for e in everything]
    frame = written(
        figure_1.EXHIBIT, Results(everything, shown, True, figure_1.EXHIBIT.view), tmp_path
    )
    paired = frame[(frame["column"] == "GLADIUS") & (frame["statistic"] == "MAPE")]
    protocols = paired.groupby("row")["protocol"].agg(set)
    wherever = {"author oracle", "leak_free dense network", "leak_free sparse"}
    assert protocols["5"] == wherever
    assert protocols["2"] == wherever | {"author level-0 last"}


def test_relevant_inputs_is_drawn(tmp_path: Path) -> None:
    kept = ("linear", "moves", f"{relevant_inputs.ALONE}, affine")
    entries = [e for e in relevant_inputs.entries(True) if e.row in kept]
    frame = written(relevant_inputs.EXHIBIT, results_of(relevant_inputs.EXHIBIT, entries), tmp_path)
    assert set(frame["row"]) == set(kept)
    oracle = frame[(frame["protocol"] == "fresh inputs given") & (frame["statistic"] == RIGHT)]
    assert oracle.empty
    assert relevant_inputs.verdict(tmp_path).startswith("within 1.25 of the oracle in")
    worse = frame.copy()
    errors = worse["statistic"] == "MAPE"
    worse.loc[errors, "value"] = 1.0
    worse.loc[errors & (worse["protocol"] == relevant_inputs.OURS[1]), "value"] = 2.0
    worse.loc[worse["statistic"] == RIGHT, "value"] = 0.5
    worse.loc[worse["statistic"] == FALSE, "value"] = 1.0
    worse.to_csv(tmp_path / "relevant_inputs.csv", index=False)
    said = relevant_inputs.verdict(tmp_path)
    assert said == (
        "within 1.25 of the oracle in 0 of 2 worlds that it sees;"
        " inputs of r all found in 1 of 2, a false one in 4 of 4"
    )
