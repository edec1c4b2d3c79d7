"""The traces of `stability` against the printed loss differentiated by torch; the two figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from gladius.stability import expected_counts
from gladius.worlds.bus import BusEngine
from reproduce import exhibits, level_trace
from reproduce.exhibits import stability, table_2_author
from reproduce.spec import Cell, Result
from tests.reproduce.shown import failed, results_of, stored, written

RATIOS, TAU = [0.5, 10.0], 0.1


def trace(iterations: int) -> Result:
    settings = {"ratios": RATIOS, "tau_2": TAU, "iterations": iterations, "points": iterations}
    return level_trace.compute(Cell("reproduce.level_trace:compute", settings), "cpu")


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

    def mean_ahead(q: torch.Tensor) -> torch.Tensor:
        return (moves * q.logsumexp(1)).sum(dim=2) / visits

    level = bellman = float("nan")
    for _ in range(times):
        if closed:
            with torch.no_grad():
                gap = (world.anchor_reward + beta * mean_ahead(q) - q)[:, anchor]
                q += (visits[:, anchor] * gap).sum() / visits[:, anchor].sum() / (1 - beta)
        if not exact:
            ascent = (moves * (q.detach().logsumexp(1) - zeta[..., None]) ** 2).sum()
            (slope,) = torch.autograd.grad(ascent, zeta)
            zeta = (zeta - ratio * TAU * slope).detach().requires_grad_()
        dual = mean_ahead(q) if exact else zeta.detach()
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
    wanted = by_torch(1.0 if exact else RATIOS[line], exact, closed, times)
    shown = [float(result.arrays[name][line, -1]) for name in ("level", "bellman")]
    assert shown == pytest.approx(wanted, rel=1e-8, abs=1e-12)


def test_slow_ascent_blows_up_and_the_closed_level_is_near_the_truth() -> None:
    result = trace(3000)
    ends = result.arrays["level"][:, -1]
    mdp, horizon = BusEngine().mdp, BusEngine().horizon
    truth = float(mdp.occupancy(horizon).sum(axis=1) @ mdp.solution.v)
    last = next(r.value for r in result.records[::-1] if r.row == level_trace.TRUTH)
    assert last == pytest.approx(truth)
    assert np.isnan(ends[0])
    assert abs(ends[-1] - truth) < 1.0
    assert min(abs(ends[1:-1] - truth)) > 40.0  # the control: without it the level is not found
    status = {r.row: r.status for r in result.records}
    wanted = dict.fromkeys([*level_trace.names(RATIOS), level_trace.TRUTH], "ok")
    wanted["ratio 0.5"] = "diverged"
    assert status == wanted


def test_stability_draws_the_traces(tmp_path: Path) -> None:
    entries = [e for e in stability.entries(True) if e.column == stability.TRACE]
    frame = written(stability.EXHIBIT, results_of(stability.EXHIBIT, entries), tmp_path)
    assert (tmp_path / "stability_trace.png").is_file()
    names = [*level_trace.names(stability.TRACED), level_trace.TRUTH]
    assert [part.rsplit(": ")[0] for part in stability.traced(frame).split("; ")] == names
    ended = frame[frame["row"].eq("ratio 1") & frame["statistic"].eq(level_trace.LEVEL)]
    assert f"ratio 1: {ended['value'].item():.1f}" in stability.traced(frame)


def test_the_ladder_is_drawn_and_told_where_all_its_uses_of_the_truth_are() -> None:
    rows = []
    for row, known in (("50", 4), ("250", 4), ("1000", 3)):
        for k, protocol in enumerate(list(table_2_author.LADDER)[:known]):
            rows.append({"row": row, "protocol": protocol, "statistic": "MAPE", "value": 10.0**k})
    frame = pd.DataFrame(rows)
    told = "N = 50: none 1, level 10, epoch 100, both 1e+03, printed 3.44"
    assert table_2_author.seen(frame) == told


def test_the_ladder_stands_with_and_without_results(tmp_path: Path) -> None:
    exhibit = exhibits.load("table_2_author")
    shown = exhibit.checked_entries(True)
    records = table_2_author.summarise("MAPE", [1.0, 3.0], ["not_converged"] * 2)
    results = table_2_author.Results(shown, [stored(Result(records))] * len(shown), True)
    for folder, given in (("some", results), ("none", failed(exhibit))):
        frame = written(exhibit, given, tmp_path / folder)
        assert (tmp_path / folder / "table_2_author_ladder.png").is_file()
        assert set(frame["column"]) == {"GLADIUS"}  # the bounds are drawn and not listed
