"""The exhibit `stability`: Algorithm 1 against the printed loss by torch, its slopes, its files."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from gladius.designs.bus import BusEngine
from gladius.panel.anchor import Anchor
from gladius.panel.record import Counts
from gladius.paper import rows
from gladius.paper.algorithm import Options, run
from gladius.paper.stability import expected_counts
from gladius.paper.table_descent import PRINTED, descend
from reproduce.cells import step_sizes as gradients
from reproduce.cells.step_sizes import STEPS, Tables, decade, follow, marks
from reproduce.engine.nouns import Cell, Result
from reproduce.exhibits import stability
from tests.reproduce.smoke_results import entry_of, resized, results_of, written

RATIOS, TAU = [0.5, 10.0], 0.1
REQUIREMENTS = entry_of("stability", "requirements", stability.PATHS)


def trace(iterations: int) -> Result:
    settings = {"ratios": RATIOS, "tau_2": TAU, "iterations": iterations, "points": iterations}
    return gradients.trace(Cell("stability_trace", settings))


def by_torch(ratio: float, exact: bool, closed: bool, times: int) -> tuple[float, float]:
    """(level, Bellman term) at the last of so many iterations, by automatic differentiation.

    With zeta exact the gradient goes through zeta too: it is the inner maximiser, so that by the
    envelope theorem nothing changes, which ours takes for granted.
    """
    world = BusEngine()
    moves = torch.tensor(expected_counts(world.mdp, world.horizon).moves[0])
    moves = moves.permute(1, 0, 2) / moves.sum()  # (S, A, S')
    visits, anchor, beta = moves.sum(dim=2), world.anchor_action, world.discount
    q, zeta = (torch.zeros_like(visits, requires_grad=True) for _ in range(2))

    def mean_value(q: torch.Tensor) -> torch.Tensor:
        return (moves * q.logsumexp(1)).sum(dim=2) / visits

    level = bellman = float("nan")
    for _ in range(times):
        if closed:
            with torch.no_grad():
                gap = (world.anchor_reward + beta * mean_value(q) - q)[:, anchor]
                q += (visits[:, anchor] * gap).sum() / visits[:, anchor].sum() / (1 - beta)
        if not exact:
            ascent = (moves * (q.detach().logsumexp(1) - zeta[..., None]) ** 2).sum()
            (slope,) = torch.autograd.grad(ascent, zeta)
            zeta = (zeta - ratio * TAU * slope).detach().requires_grad_()
        dual = mean_value(q) if exact else zeta.detach()
        v = q.logsumexp(1)
        error = world.anchor_reward + beta * v - q[:, None, anchor]
        lag = beta * (v - dual[:, None, anchor])
        term = (moves[:, anchor] * (error**2 - lag**2)).sum()
        loss = -(visits * q.log_softmax(1)).sum() + term
        level, bellman = (visits.sum(dim=1) * v).sum().item(), term.item()
        (slope,) = torch.autograd.grad(loss, q)
        q = (q - TAU * slope).detach().requires_grad_()
    return level, bellman


@pytest.mark.parametrize("line", range(4))
def test_a_trace_is_that_of_the_printed_loss(line: int) -> None:
    result, times = trace(25), 25
    exact, closed = line >= len(RATIOS), line == len(RATIOS) + 1
    expected = by_torch(1.0 if exact else RATIOS[line], exact, closed, times)
    found = [float(result.arrays[name][line, -1]) for name in ("level", "bellman")]
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_slow_ascent_blows_up_and_the_closed_level_is_near_the_truth() -> None:
    result = trace(3000)
    ends = result.arrays["level"][:, -1]
    mdp, horizon = BusEngine().mdp, BusEngine().horizon
    truth = float(mdp.occupancy(horizon).sum(axis=1) @ mdp.solution.v)
    last = next(r.value for r in result.records[::-1] if r.row == gradients.TRUTH)
    assert last == pytest.approx(truth)
    assert np.isnan(ends[0])
    assert abs(ends[-1] - truth) < 1.0
    assert min(abs(ends[1:-1] - truth)) > 40.0  # the control: without it the level is not found
    status = {r.row: r.status for r in result.records}
    expected = dict.fromkeys([*gradients.names(RATIOS), gradients.TRUTH], "ok")
    expected["ratio 0.5"] = "diverged"
    assert status == expected


@cache
def tables(beta: float) -> Tables:
    return Tables.of(resized(REQUIREMENTS, beta=beta, trajectories=200).cell)[0]


@pytest.mark.parametrize("ascents", [1, 3])
def test_the_compiled_steps_are_those_of_the_printed_algorithm(ascents: int) -> None:
    data = tables(0.95)
    sample = data.sample
    moves = np.swapaxes(sample.moves, 0, 1)[None]
    states = np.arange(1.0, len(data.rows) + 1)[:, None]
    counts = Counts(states, sample.visits[None], moves)
    steps = {"tau_1": 0.3, "tau_2": 0.5, "iterations": 40, "tolerance": 0.0}
    options = Options(function_class="tabular", ascents=ascents, **steps)  # type: ignore[arg-type]
    whole = rows.of_counts(counts, 0, Anchor(1, -5.0))
    found = run(whole, 2, 1, 0.95, options, np.random.default_rng(0))
    q, zeta = np.zeros((2, *data.share.shape))
    up, down = np.full(q.shape, 0.3), np.full(len(q), 0.5)
    given = *data.data, up, down, ascents, PRINTED
    assert descend(q, zeta, *given, 40, np.inf)[0] == 40
    np.testing.assert_allclose(q, found.q, atol=1e-12)
    np.testing.assert_allclose(zeta, found.zeta, atol=1e-12)
    if ascents == 1:
        both = data.printed(0.3, 0.5, False, False)(np.zeros_like(data.minimiser), 40)
        np.testing.assert_array_equal(both[0], np.concatenate([q, zeta], axis=1))
    _, bellman = descend(q, zeta, *data.data, 0 * up, *given[4:], 1, np.inf)  # before the descent
    assert bellman == pytest.approx(found.trace[-1], rel=1e-12)


def test_every_step_rests_at_the_minimiser() -> None:
    data = tables(0.95)
    by_visits = ((False, False), (True, False), (True, True))
    steps = [data.printed(0.3, 0.5, ascent, descent) for ascent, descent in by_visits]
    steps += [data.exact(0.3, level) for level in (False, True)]
    for step in (*steps, data.solved):
        np.testing.assert_allclose(step(data.minimiser, 1), data.minimiser, atol=1e-9)
    assert data.distance(data.minimiser)[0] < 1e-12


@pytest.mark.parametrize("kind", ["zeta exact", "level closed", "V closed"])
def test_predicted_slopes_are_those_of_the_paths(kind: str) -> None:
    """Those of the distances along a path; test_constants has the eigenvalues."""
    data, tau = tables(0.8), 0.3
    step = {
        "zeta exact": data.exact(tau, False),
        "level closed": data.exact(tau, True),
        "V closed": data.solved,
    }[kind]
    near = data.minimiser + 0.01 * np.sin(np.arange(data.minimiser.size)).reshape(1, -1, 4)
    if kind == "V closed":  # states are apart, and the slowest is too rare to show beside others
        near = data.minimiser.copy()
        near[0, np.prod(data.sample.choices, axis=1).argmin(), 0] += 0.1
    predicted = decade(data, step)
    start = data.with_zeta(near[..., :2])
    path = follow(data, step, start, marks(int(12 * predicted), 24))
    assert path.decade() == pytest.approx(predicted, rel=0.1)
    assert path.decade() != pytest.approx(2 * predicted, rel=0.1)


def test_the_map_distinguishes_slow_from_fast_ascent(tmp_path: Path) -> None:
    entries = [resized(e, iterations=800) for e in stability.entries(True)[:1]]
    run = next(e for e in stability.entries(True) if e.column == stability.DATA)
    options = {**run.cell.settings["options"], "iterations": 600}
    entries.append(resized(run, options=options))
    entries += stability.entries(True)[-2:]
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
    status = frame[frame["statistic"] == STEPS].set_index("row")["status"]
    assert status["plain, step 0.9, ratio 0.5"] == "diverged"  # below 2 beta - 1
    assert status["by visits, step 0.3, ratio 1"] == "not_converged"  # in 500 steps
    assert "plain: 1 of 2 settings diverge.\n" in stability.verdict(tmp_path)
    names = [*gradients.names(stability.TRACED), gradients.TRUTH]
    assert [text.rsplit(": ")[0] for text in stability.traced(frame).split("; ")] == names


def test_the_verdict_counts_runs() -> None:
    """One of eight runs converged at the printed setting, and one diverged."""
    lines = []
    for ratio, missed, diverged in ((1, 7, 0.125), (0.5, 8, 1.0)):
        line = {"row": "1000", "column": stability.DATA, "status": "ok", "repetitions": 8}
        line["protocol"] = f"printed mlp gradient ascents 1 ratio {ratio:g}"
        lines.append({**line, "statistic": "repetitions not ok", "value": missed})
        lines.append({**line, "statistic": "share diverged", "value": diverged})
    assert stability.at_printed(pd.DataFrame(lines)) == (
        "Step ratio 1: of 8 runs 1 converged, 1 diverged."
        " Step ratio 0.5: of 8 runs 0 converged, 8 diverged"
    )
