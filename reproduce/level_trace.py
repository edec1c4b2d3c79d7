"""Algorithm 1's level and Bellman term, iteration by iteration, on data without noise.

Tables, full batches and plain gradients from Q = zeta = 0, as in the map of `stability`. Beside the
printed algorithm at several step ratios stand two that have no ascent: EXACT, where zeta is
E[V(s') | s, a] at every iteration, so that the descent follows the profiled gradient; and CLOSED,
where besides Q is shifted, before each descent, by the constant that makes the anchor's mean
Bellman residual zero.
"""

from collections.abc import Sequence

import numpy as np

from gladius.algorithm import BLOW_UP, ascent_slope, descent
from gladius.anchor import Anchor
from gladius.objective import conditional_mean, value
from gladius.stability import expected_counts
from gladius.transitions import Counts
from gladius.worlds.bus import BusEngine
from reproduce.spec import Array, Cell, Record, Result

EXACT, CLOSED, TRUTH = "zeta exact", "zeta exact, level closed", "truth"
LEVEL, BELLMAN = "level at the end", "signed Bellman term of the trace"


def names(ratios: Sequence[float]) -> list[str]:
    """Of the lines: a step ratio tau_1 / tau_2 each, then EXACT and CLOSED."""
    return [*(f"ratio {ratio:g}" for ratio in ratios), EXACT, CLOSED]


def compute(cell: Cell, device: str) -> Result:
    """Arrays `iteration` (T,), `level` and `bellman` (lines, T), NaN once a run has blown up.

    The level is V in utils, averaged over the states as the data visit them; the record TRUTH is
    that of V*. The Bellman term is the printed one, signed, per transition, before the descent.
    """
    settings = cell.settings
    world = BusEngine()
    expected = expected_counts(world.mdp, world.horizon)
    lines = names(settings["ratios"])
    data = Counts(
        expected.states,
        np.repeat(expected.visits, len(lines), axis=0) / expected.size[0],
        np.repeat(expected.moves, len(lines), axis=0) / expected.size[0],
    )
    share = data.visits[0].sum(axis=1)
    anchor, beta, tau_2 = world.anchor_action, world.discount, settings["tau_2"]
    reward = Anchor(anchor, world.anchor_reward).values(data.states)
    rate = np.zeros((len(lines), 1, 1))
    rate[:-2, 0, 0] = tau_2 * np.array(settings["ratios"])
    last = settings["iterations"]
    marks = np.unique(np.geomspace(1, last, settings["points"]).round().astype(np.int64))
    level, bellman = np.full((2, len(lines), len(marks)), np.nan)
    q, zeta = np.zeros((2, *data.visits.shape))
    alive = np.ones(len(lines), dtype=bool)
    for iteration in range(1, last + 1):
        q[-1] += _missing_level(q[-1:], data, anchor, reward, beta)
        v = value(q)
        zeta[:-2] -= (rate * ascent_slope(zeta, v, data))[:-2]
        zeta[-2:] = conditional_mean(v, data)[-2:]
        loss = descent(q, zeta, data, data, anchor, reward, beta)
        alive &= np.abs(loss.bellman) <= BLOW_UP
        if iteration in marks:
            k = np.searchsorted(marks, iteration)
            level[alive, k], bellman[alive, k] = (v @ share)[alive], loss.bellman[alive]
        q[alive] -= tau_2 * loss.slope[alive]
        q[~alive], zeta[~alive] = 0.0, 0.0  # no longer read, and no overflow
    truth = float(share @ world.mdp.solution.v)
    arrays = {"iteration": marks.astype(float), "level": level, "bellman": bellman}
    records = []
    for line, name in enumerate(lines):
        status = "ok" if alive[line] else "diverged"
        for statistic, trace in ((LEVEL, level), (BELLMAN, bellman)):
            ended = trace[line][~np.isnan(trace[line])][-1]
            records.append(Record(statistic, float(ended), status=status, row=name))
    records.append(Record(LEVEL, truth, row=TRUTH))
    return Result(tuple(records), arrays=arrays)


def _missing_level(q: Array, data: Counts, anchor: int, reward: Array, beta: float) -> float:
    """The constant that, added to Q, makes the anchor's mean residual zero."""
    ahead = conditional_mean(value(q), data)[0, :, anchor]  # the same in every line
    weight = data.visits[0, :, anchor]
    residual = reward + beta * ahead - q[0, :, anchor]
    return float(weight @ residual / weight.sum() / (1 - beta))
