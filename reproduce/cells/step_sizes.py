"""Algorithm 1 as printed, in tables: the path of its level, and the steps it needs.

`trace` follows the level of V and the Bellman term on data without noise. `requirements` counts the
steps until r is close to the minimiser's, on a data set, for many pairs of steps. The map shows
where the stationary point repels. Losses are per observation. See `gladius.paper.table_descent`.

Implementation choices:

- "By visits" divides Q's step by the share of its state and zeta's by that of its pair.
- An action that a state lacks gets half a count, without which the risk has no minimiser.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np
from scipy.special import expit, log_expit

from gladius.designs.bus import BusEngine
from gladius.model.risk import value
from gladius.panel.anchor import Anchor
from gladius.panel.record import Counts, Integers, Transitions, group
from gladius.paper.algorithm import BLOW_UP
from gladius.paper.rows import Batch, of_counts
from gladius.paper.stability import expected_counts, stability
from gladius.paper.table_descent import (
    LEVEL_CLOSED,
    PRINTED,
    ZETA_EXACT,
    descend,
    settle,
)
from proofs_checks.oracle.risk import Sample
from reproduce.cells.data import data_sets
from reproduce.cells.loss_bounds import centre, sample_of
from reproduce.engine.nouns import Array, Cell, Record, Result

FD_STEP = 1e-4  # of the central differences of a step
DIVERGED = 1e4  # relative distance of r at which a run has diverged
CLOSE = 0.01  # relative distance of r that `requirements` asks for
CONVERGED = 1e-11  # distance of r at which a run ends
DECADE = "steps a decade, predicted"
STEPS = f"steps to a distance of {CLOSE:g}"
# so many steps from (R, S, 4): Q, then zeta, of maintaining and of the anchor
Step = Callable[[Array, int], Array]
EXACT, CLOSED, TRUTH = "zeta exact", "zeta exact, level closed", "truth"
TERM = "signed Bellman term at the end"
LEVEL, BELLMAN = "level at the end", "signed Bellman term of the trace"


# --- the level, iteration by iteration
def names(ratios: Sequence[float]) -> list[str]:
    """The lines of a trace: each step ratio tau_1 / tau_2, then EXACT and CLOSED."""
    return [*(f"ratio {ratio:g}" for ratio in ratios), EXACT, CLOSED]


def trace(cell: Cell) -> Result:
    """Arrays `iteration` (T,); `level`, `bellman`, `distance` (lines, T), NaN after a divergence.

    The printed algorithm at several step ratios, from Q = zeta = 0 with full batches. EXACT has no
    ascent: zeta is E[V(s') | s, a] at every iteration. CLOSED adds to Q, before each descent, the
    constant that makes the anchor's mean Bellman residual zero. The level is V in utils, averaged
    over the states as the data visit them; the record TRUTH is that of V*. The Bellman term is the
    printed one, signed, per observation, before the descent. The distance is the mean over
    observations of |r - the true r| / |the true r|, where r = Q - beta zeta.
    """
    settings, world = cell.settings, BusEngine()
    expected = expected_counts(world.mdp, world.horizon)
    pairs = expected.visits[0] / expected.size[0]
    share = pairs.sum(axis=1)
    anchor = Anchor(world.anchor_action, world.anchor_reward)
    data = of_counts(expected, 0, anchor), anchor.action, world.discount
    tau = np.full(len(share), settings["tau_2"])
    lines = [(ratio, PRINTED) for ratio in settings["ratios"]]
    lines += [(0.0, ZETA_EXACT), (0.0, LEVEL_CLOSED)]
    times = np.geomspace(1, settings["iterations"], settings["points"])
    times = np.unique(times.round().astype(np.int64))
    level, bellman, distance = np.full((3, len(lines), len(times)), np.nan)
    records = []
    for line, (name, (ratio, kind)) in enumerate(
        zip(names(settings["ratios"]), lines, strict=True)
    ):
        q, zeta = np.zeros((2, *expected.visits[0].shape))
        if kind != PRINTED:
            settle(q, zeta, *data, kind)
        steps = *data, ratio * tau[:, None] * np.ones(q.shape), tau, 1, kind
        status, before = "diverged", 0
        for k, time in enumerate(times):
            done, _ = descend(q, zeta, *steps, int(time) - 1 - before, BLOW_UP)
            if done < time - 1 - before:
                break
            apart = np.abs((q - world.discount * zeta) / world.mdp.reward - 1.0)
            level[line, k], distance[line, k] = share @ value(q), (pairs * apart).sum()
            done, bellman[line, k] = descend(q, zeta, *steps, 1, BLOW_UP)
            if not done:
                level[line, k], bellman[line, k], distance[line, k] = np.full(3, np.nan)
                break
            before = int(time)
        else:
            status = "ok"
        for statistic, path in ((LEVEL, level), (BELLMAN, bellman)):
            end = path[line][~np.isnan(path[line])][-1]
            records.append(Record(statistic, float(end), status=status, row=name))
    records.append(Record(LEVEL, float(share @ world.mdp.solution.v), row=TRUTH))
    arrays = {"level": level, "bellman": bellman, "distance": distance}
    arrays["iteration"] = times.astype(float)
    return Result(tuple(records), arrays=arrays)


# --- descents on a data set
@dataclass(frozen=True)
class Tables:
    """A data set of the bus engine for the steps; action 1 is the anchor."""

    sample: Sample  # counts, half a count where an action was never taken
    rows: Array  # (S, 2) counts without the halves

    @classmethod
    def of(cls, cell: Cell) -> list[Self]:
        """The training splits of the cell's data sets."""
        world = BusEngine(discount=cell.settings["beta"])
        return [cls.counted(train, world) for train in data_sets(world, cell)[0]]

    @classmethod
    def counted(cls, train: Transitions, world: BusEngine) -> Self:
        """The counts of a data set."""
        raw = sample_of(group([train]), world)
        moves = raw.moves.copy()
        state, action = np.nonzero(raw.visits == 0)
        moves[state, action, state] = 0.5
        return cls(replace(raw, moves=moves), raw.visits)

    @cached_property
    def share(self) -> Array:
        """(S, 2) shares of observations."""
        return self.sample.visits / self.sample.size

    @cached_property
    def transition(self) -> Array:
        """(2, S, S) transition frequencies."""
        return np.swapaxes(self.sample.moves / self.sample.visits[..., None], 0, 1)

    @cached_property
    def resolvent(self) -> Array:
        """(S, S) (I - beta P)^-1 of the anchor."""
        system = np.eye(len(self.rows)) - self.sample.discount * self.transition[1]
        return np.asarray(np.linalg.inv(system))

    @cached_property
    def data(self) -> tuple[Batch, int, float]:
        """The rows, the anchor and the discount factor for the steps."""
        visits, moves = self.sample.visits[None], np.swapaxes(self.sample.moves, 0, 1)[None]
        states = np.arange(len(self.rows), dtype=float)[:, None]
        batch = of_counts(Counts(states, visits, moves), 0, Anchor(1, 0.0))
        reward = np.broadcast_to(self.sample.reward, len(states)).astype(np.float64)
        return batch._replace(reward=reward), 1, self.sample.discount

    @cached_property
    def minimiser(self) -> Array:
        """(1, S, 4)."""
        return self.with_zeta(centre(self.sample)[None])

    def with_zeta(self, q: Array) -> Array:
        """(R, S, 4) from (R, S, 2) Q: zeta exact."""
        v = np.logaddexp(q[..., 0], q[..., 1])
        return np.concatenate(
            [q, np.moveaxis(v @ np.swapaxes(self.transition, 1, 2), 0, 2)], axis=2
        )

    def rewards(self, both: Array) -> Array:
        """(R, S, 2) r = Q - beta zeta."""
        return np.asarray(both[..., :2] - self.sample.discount * both[..., 2:])

    def distance(self, both: Array) -> Array:
        """(R,) mean over observations of |r - the minimiser's| / |that|."""
        apart = np.abs(self.rewards(both) / self.rewards(self.minimiser) - 1.0)
        return np.asarray((apart * self.rows).sum(axis=(1, 2)) / self.rows.sum())

    # --- the steps
    def printed(self, tau_1: float, tau_2: float, ascent: bool, descent: bool) -> Step:
        """Algorithm 1: ascent in zeta, Q fixed; descent in Q, zeta fixed.

        Args:
            tau_1, tau_2: the steps.
            ascent, descent: whether they are by visits.
        """
        up = tau_1 / (self.share if ascent else np.ones_like(self.share))
        down = tau_2 / (self.share.sum(axis=1) if descent else np.ones(len(self.share)))
        return partial(self._descend, up, down, PRINTED)

    def exact(self, tau: float, level: bool) -> Step:
        """Descent by visits with zeta exact; with `level`, then the shift of least risk."""
        kind = LEVEL_CLOSED if level else ZETA_EXACT
        return partial(self._descend, self.share, tau / self.share.sum(axis=1), kind)

    def _descend(self, up: Array, down: Array, kind: int, both: Array, steps: int) -> Array:
        q, zeta = both[..., :2].copy(), both[..., 2:].copy()
        for one_q, one_zeta in zip(q, zeta, strict=True):
            descend(one_q, one_zeta, *self.data, up, down, 1, kind, steps, math.inf)
        return np.concatenate([q, zeta], axis=2)

    def solved(self, both: Array, steps: int) -> Array:
        """Descent by visits in the log-odds, V solved from the anchor's Bellman equation."""
        odds = both[..., 0] - both[..., 1]
        for _ in range(steps):
            odds = odds - 4 * (expit(odds) - self.sample.choices[:, 0])
        v = (self.sample.reward - log_expit(-odds)) @ self.resolvent.T
        return self.with_zeta(v[..., None] + np.stack([log_expit(odds), log_expit(-odds)], axis=2))


# --- along a run
def marks(last: int, each: int) -> Integers:
    """Numbers of steps at which to evaluate, evenly in the logarithm."""
    return np.unique(np.geomspace(1, last, 1 + round(each * math.log10(last))).round().astype(int))


def matrix(step: Step, point: Array) -> Array:
    """(4 S, 4 S) derivative of one step at (1, S, 4), by central differences, one row at a time."""
    columns = []
    for change in FD_STEP * np.eye(point.size).reshape(-1, *point.shape):
        up, down = step(point + change, 1), step(point - change, 1)
        columns.append((up - down).ravel() / (2 * FD_STEP))
    return np.array(columns).T


def decade(tables: Tables, step: Step) -> float:
    """Steps that the slowest mode takes for a factor of ten near the minimiser; inf: it repels."""
    modulus = float(np.abs(np.linalg.eigvals(matrix(step, tables.minimiser))).max())
    return -math.log(10) / math.log(modulus) if modulus < 1 else math.inf


@dataclass(frozen=True)
class Path:
    """Distances of r (K,) after numbers of steps (K,)."""

    steps: Integers
    distance: Array

    def needed(self) -> float:
        """Steps after which the distance stays within CLOSE; nan where it does not."""
        far = int(np.flatnonzero(~(self.distance <= CLOSE))[-1])
        return float(self.steps[far + 1]) if far + 1 < len(self.steps) else math.nan

    def decade(self) -> float:
        """Steps for a factor of ten, over the last two of them, below CLOSE; else nan."""
        near = self.distance <= 100 * self.distance.min()
        if near.sum() < 3 or self.distance[near].max() > CLOSE:
            return math.nan
        return float(-1 / np.polyfit(self.steps[near], np.log10(self.distance[near]), 1)[0])


def follow(
    tables: Tables, step: Step, start: Array, times: Integers, close: float = CONVERGED
) -> Path:
    """A run evaluated after the numbers of steps `times`, until it is `close` or has diverged."""
    both, steps, distances = start, [0], [float(tables.distance(start)[0])]
    for time in times:
        both = step(both, int(time) - steps[-1])
        steps.append(int(time))
        distances.append(float(tables.distance(both)[0]))
        if not close <= distances[-1] <= DIVERGED:
            break
    return Path(np.array(steps), np.array(distances))


def requirements(cell: Cell) -> Result:
    """Steps of Algorithm 1 as printed until r is CLOSE, for every pair of steps.

    A run that is not close after `direct` steps has diverged if the minimiser repels, and is else
    not_converged. Its linearisation does not give the number: rare states are far from theirs.
    """
    tables, settings = Tables.of(cell)[0], cell.settings
    zero, times = np.zeros_like(tables.minimiser), marks(settings["direct"], 200)
    grid = [
        (kind == "visits", tau, ratio)
        for kind in ("plain", "visits")
        for tau in settings[kind]
        for ratio in settings["ratios"]
    ]
    records = []
    for by_visits, tau, ratio in grid:
        step = tables.printed(ratio * tau, tau, by_visits, by_visits)
        with np.errstate(over="ignore", invalid="ignore"):  # blowing up is a result
            path = follow(tables, step, zero, times, CLOSE / 10)
        slope, needed = decade(tables, step), path.needed()
        is_stable = math.isfinite(slope) and path.distance[-1] <= DIVERGED
        status = "not_converged" if is_stable else "diverged"
        status = "ok" if math.isfinite(needed) else status
        row = setting_name(by_visits, tau, ratio)
        records.append(Record(STEPS, needed, status=status, row=row))
        if math.isfinite(slope):
            records.append(Record(DECADE, slope, row=row))
    return Result(tuple(records))


def setting_name(by_visits: bool, tau: float, ratio: float) -> str:
    """The row of a setting of Algorithm 1."""
    return f"{'by visits' if by_visits else 'plain'}, step {tau:g}, ratio {ratio:g}"


# --- the map
def stability_map(cell: Cell) -> Result:
    """Algorithm 1 on expected data: three records for each of (ascents, ratio).

    The status is that of the run from Q = zeta = 0.
    """
    settings = cell.settings
    world = BusEngine(discount=settings["beta"])
    found = stability(
        expected_counts(world.mdp, world.horizon),
        Anchor(world.anchor_action, world.anchor_reward),
        settings["ratios"],
        settings["ascents"],
        [settings["beta"]],
        tau_2=settings["tau_2"],
        iterations=settings["iterations"],
    )
    arrays = {
        name: np.asarray(getattr(found, name)[0], dtype=float)
        for name in ("growth", "bellman", "predicted", "diverged")
    }
    names = {"growth": "growth rate", "bellman": TERM, "predicted": "predicted unstable"}
    lines = []
    for k, ascents in enumerate(settings["ascents"]):
        for i, ratio in enumerate(settings["ratios"]):
            row = f"beta {settings['beta']:g}, ascents {ascents}, ratio {ratio:g}"
            status = "diverged" if found.diverged[0, k, i] else "ok"
            for name, statistic in names.items():
                ended = "ok" if name == "predicted" else status
                lines.append(Record(statistic, float(arrays[name][k, i]), status=ended, row=row))
    return Result(tuple(lines), arrays=arrays)
