"""Figure 1 and the worlds with inputs that matter: solutions, pairing, scores, drawing."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from gladius.designs.bus import REPLACE, BusEngine
from gladius.designs.inputs_bus import InputsBus
from gladius.designs.metrics import mape
from gladius.own_data import door
from reproduce.cells.bus_exact import bound_cell, with_inputs
from reproduce.cells.inputs_designs import DESIGNS
from reproduce.cells.many_inputs import FALSE, RIGHT, compute, fitting
from reproduce.drawing import layout
from reproduce.drawing.notes import alt
from reproduce.engine.nouns import Result, summarise
from reproduce.engine.seeds import generators
from reproduce.engine.view import View
from reproduce.exhibits import figure_1
from tests.reproduce.smoke_results import stored, written


@pytest.mark.parametrize("name", DESIGNS)
def test_a_world_s_solution_solves_its_bellman_equation(name: str) -> None:
    """Looped over actions at random states; probabilities sum to one."""
    world = DESIGNS[name](31)
    q, v = world.q_table, logsumexp(world.q_table, axis=-1)
    np.testing.assert_allclose(world.kernel.sum(axis=1), 1.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, g = rng.integers(20), rng.integers(len(world.kernel))
        for a in range(world.number_of_actions):
            p = world.transition[a, g, x]
            assert p.sum() == pytest.approx(1.0)
            expected = sum(p[y] * (world.kernel[g] @ v[y]) for y in np.flatnonzero(p))
            target = world.reward_table[x, g, a] + world.discount * expected
            assert q[x, g, a] == pytest.approx(target, abs=1e-7)


@pytest.mark.parametrize("name", DESIGNS)
def test_paths_choose_with_the_expert_s_probabilities(name: str) -> None:
    """Counts of actions by what the policy expects of them, and of types by their kernel."""
    world = DESIGNS[name](31)
    data = world.simulate(100, np.random.default_rng(1))
    x, next_x = (s[:, 0].astype(int) - 1 for s in (data.states, data.next_states))
    types, next_types = (
        world.type_of(np.rint(s[:, 1:]).astype(np.int64)) for s in (data.states, data.next_states)
    )
    policy = softmax(world.q_table, axis=-1)[x, types]
    for a in range(world.number_of_actions):
        error = np.sqrt(np.sum(policy[:, a] * (1 - policy[:, a])))
        assert abs(np.sum(data.actions == a) - policy[:, a].sum()) < 4.5 * error
    assert np.all(world.kernel[types, next_types] > 0)
    assert np.all(world.transition[data.actions, types, x, next_x] > 0)
    assert np.all(next_x[data.actions == REPLACE] == 0)  # whatever the table says


def test_mileage_paths_are_the_same_whatever_the_number_of_inputs() -> None:
    makers: list[Callable[[int], BusEngine | InputsBus]] = [*DESIGNS.values()]
    makers.append(lambda k: BusEngine(dummies=k))
    for make in makers:
        few, many = (make(k).simulate(5, np.random.default_rng(2)) for k in (3, 40))
        np.testing.assert_array_equal(few.states[:, 0], many.states[:, 0])
        np.testing.assert_array_equal(few.actions, many.actions)


def test_a_cell_scores_what_a_user_would_get(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = fitting("profiled_erm", 4, 1, True, {"function_class": "sparse"})
    result = compute(cell)
    world, (rng,) = BusEngine(dummies=4), generators(cell)
    train, test = world.simulate(cell.settings["trajectories"], rng).split(0.8)
    given: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    estimate = door.fit(train, **given, function_class="sparse")
    error = mape(estimate, test, world.reward)
    assert result.replications["MAPE"] == pytest.approx([error])
    chosen = set(np.asarray(estimate.diagnostics.extra["reward_inputs"]).tolist())
    assert result.replications[RIGHT] == [float(0 in chosen)]
    assert result.replications[FALSE] == [float(bool(chosen - {0}))]
    # the true reward is used by the scores alone: without it the estimate is the same
    rewards = []

    def score(estimate: Any, test: Any, truth: Any) -> float:
        rewards.append(estimate.reward(train.states, train.actions))
        return 0.0

    monkeypatch.setattr("reproduce.cells.many_inputs.mape", score)
    monkeypatch.setattr(BusEngine, "reward", lambda *given: np.nan)
    compute(cell)
    np.testing.assert_array_equal(rewards[0], estimate.reward(train.states, train.actions))


def test_bounds_grow_with_the_inputs_that_get_a_coefficient() -> None:
    values = [with_inputs(bound_cell(k, True)).records[0].value for k in (0, 2, 20, 100)]
    alone = with_inputs(bound_cell(100, False)).records[0].value
    assert values[0] == alone == pytest.approx(1.01, abs=0.005)
    assert values == sorted(values)
    squares = np.square(values)  # those of a single pair would be affine in K
    assert (squares[2] - squares[0]) / (squares[1] - squares[0]) == pytest.approx(10, rel=0.25)


def test_figure_1_is_drawn(tmp_path: Path) -> None:
    entries = figure_1.EXHIBIT.checked_entries(True)
    result = Result(summarise("MAPE", [1.0, 2.0], ["ok"] * 2), {"MAPE": [1.0, 2.0]})
    results = View(entries, [stored(result) for _ in entries], True)
    frame = written(figure_1.EXHIBIT, results, tmp_path)
    assert {"figure_1.png", "figure_1.pdf"} <= {path.name for path in tmp_path.iterdir()}
    protocols = set(frame[frame["column"] == "Profiled ERM"]["protocol"])
    assert protocols == {figure_1.OURS[1], figure_1.NETWORK[1]}
    assert alt(tmp_path / "figure_1.png").startswith("Error of the reward")  # one K shows no rise
    assert "0.00 (0.00)" in (tmp_path / "figure_1.tex").read_text("utf-8")


def test_figure_1_has_the_paper_s_axes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries, saved = figure_1.EXHIBIT.checked_entries(True), list[Any]()
    result = Result(summarise("MAPE", [1.0, 2.0], ["ok"] * 2), {"MAPE": [1.0, 2.0]})
    monkeypatch.setattr(layout, "save", lambda figure, *_: saved.append(figure))
    figure_1._draw(View(entries, [stored(result) for _ in entries], True), tmp_path)
    (axes,) = saved[0].axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    texts = {text.get_text(): text for text in axes.texts}
    texts = dict(sorted(texts.items(), key=lambda item: item[1].get_position()[1]))
    assert set(texts) == set(axes.get_legend_handles_labels()[1])
    assert 1 < len(texts) <= 4
    boxes = [text.get_window_extent() for text in texts.values()]
    assert all(low.y1 <= high.y0 for low, high in pairwise(boxes))  # none covers another
    assert axes.get_legend() is None
