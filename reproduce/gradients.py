"""Algorithm 1 as printed, in tables: the path of its level, and the steps it needs.

`trace` follows the level of V and the Bellman term on data without noise. `requirements` counts the
steps until r is close to the minimiser's, on a data set, for many pairs of steps. With w the shares
of observations, b those of the anchor, and e = r + beta zeta - Q at the anchor, the descent loss
has, for fixed zeta, the gradient

    p (w_x + 2 beta (b e) P) - w_xa,  less 2 b (r + beta P V - Q) at the anchor.

Implementation choices:

- Losses are per observation. `trace` takes the steps of `gladius.algorithm`; `Tables.printed` is
  the same step for two actions and many pairs of steps at once: two million of them take minutes.
- "By visits" divides Q's step by the share of its state and zeta's by that of its pair.
- An action that a state lacks gets half a count, without which the risk has no minimiser.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from gladius.algorithm import BLOW_UP, step
from gladius.anchor import Anchor
from gladius.function_classes import TableIterate
from gladius.objective import conditional_mean, value
from gladius.stability import expected_counts
from gladius.transitions import Counts, Integers, group
from gladius.worlds.bus import BusEngine
from proofs_checks.oracle.risk import Sample
from reproduce.data import data_sets
from reproduce.landscape import centre, sample_of
from reproduce.spec import Array, Cell, Record, Result

FD_STEP = 1e-4  # of the central differences of a step
DIVERGED = 1e4  # relative distance of r at which a run has diverged
CLOSE = 0.01  # relative distance of r that `requirements` asks for
CONVERGED = 1e-11  # distance of r at which a run ends
DECADE = "steps a decade, predicted"
STEPS = f"steps to a distance of {CLOSE:g}"
Step = Callable[[Array], Array]  # of (R, S, 4): Q, then zeta, of maintaining and of the anchor
EXACT, CLOSED, TRUTH = "zeta exact", "zeta exact, level closed", "truth"
LEVEL, BELLMAN = "level at the end", "signed Bellman term of the trace"


# --- the level, iteration by iteration
def names(ratios: Sequence[float]) -> list[str]:
    """The lines of a trace: each step ratio tau_1 / tau_2, then EXACT and CLOSED."""
    return [*(f"ratio {ratio:g}" for ratio in ratios), EXACT, CLOSED]


def trace(cell: Cell) -> Result:
    """Arrays `iteration` (T,), `level` and `bellman` (lines, T), NaN once a run has blown up.

    The printed algorithm at several step ratios, from Q = zeta = 0 with full batches. EXACT has no
    ascent: zeta is E[V(s') | s, a] at every iteration. CLOSED adds to Q, before each descent, the
    constant that makes the anchor's mean Bellman residual zero. The level is V in utils, averaged
    over the states as the data visit them; the record TRUTH is that of V*. The Bellman term is the
    printed one, signed, per observation, before the descent.
    """
    settings, world = cell.settings, BusEngine()
    lines = names(settings["ratios"])
    expected = expected_counts(world.mdp, world.horizon)
    visits, moves = (np.repeat(x, len(lines), axis=0) for x in (expected.visits, expected.moves))
    data = Counts(expected.states, visits, moves)
    share = expected.visits[0].sum(axis=1) / expected.size[0]
    anchor = Anchor(world.anchor_action, world.anchor_reward)
    reward = anchor.values(data.states)
    tau_1, tau_2 = np.array([*settings["ratios"], 0.0, 0.0]), settings["tau_2"]
    q = TableIterate(np.zeros(visits.shape), tau_2)
    zeta = TableIterate(np.zeros(visits.shape), tau_1 * tau_2)
    weight = visits[0, :, anchor.action] / visits[0, :, anchor.action].sum()
    last = settings["iterations"]
    times = np.unique(np.geomspace(1, last, settings["points"]).round().astype(np.int64))
    level, bellman = np.full((2, len(lines), len(times)), np.nan)
    active = np.ones(len(lines), dtype=bool)
    for iteration in range(1, last + 1):
        mean = conditional_mean(value(q.theta), data)
        residual = reward + (world.discount * mean - q.theta)[-1, :, anchor.action]
        q.theta[-1] += weight @ residual / (1 - world.discount)
        v = value(q.theta)
        zeta.theta[-2:] = conditional_mean(v, data)[-2:]
        term = step(q, zeta, data, data, anchor.action, reward, world.discount, active=active)
        active &= np.abs(term) <= BLOW_UP
        if iteration in times:
            k = np.searchsorted(times, iteration)
            level[active, k], bellman[active, k] = (v @ share)[active], term[active]
    records = []
    for line, name in enumerate(lines):
        status = "ok" if active[line] else "diverged"
        for statistic, path in ((LEVEL, level), (BELLMAN, bellman)):
            end = path[line][~np.isnan(path[line])][-1]
            records.append(Record(statistic, float(end), status=status, row=name))
    records.append(Record(LEVEL, float(share @ world.mdp.solution.v), row=TRUTH))
    arrays = {"iteration": times.astype(float), "level": level, "bellman": bellman}
    return Result(tuple(records), arrays=arrays)


# --- descents on a data set
@dataclass(frozen=True)
class Tables:
    """A data set of the bus engine for the steps; action 1 is the anchor.

    Attributes:
        sample: counts, half a count where an action was never taken.
        rows: (S, 2) counts without the halves.
    """

    sample: Sample
    rows: Array

    @classmethod
    def of(cls, cell: Cell) -> list[Self]:
        """The training splits of the cell's data sets."""
        world = BusEngine(discount=cell.settings["beta"])
        data = []
        for train in data_sets(world, cell)[0]:
            raw = sample_of(group([train]), world)
            moves = raw.moves.copy()
            state, action = np.nonzero(raw.visits == 0)
            moves[state, action, state] = 0.5
            data.append(cls(replace(raw, moves=moves), raw.visits))
        return data

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

    def descent(self, both: Array) -> Array:
        """(R, S, 2) gradient in Q of the descent loss, zeta fixed."""
        beta, q = self.sample.discount, both[..., :2]
        v = np.logaddexp(q[..., 0], q[..., 1])
        anchored = self.share[:, 1]
        gap = self.sample.reward - q[..., 1]
        pull = self.share.sum(axis=1)
        pull = pull + 2 * beta * ((anchored * (gap + beta * both[..., 3])) @ self.transition[1])
        slope: Array = np.exp(q - v[..., None]) * pull[..., None] - self.share
        slope[..., 1] -= 2 * anchored * (gap + beta * (v @ self.transition[1].T))
        return slope

    # --- the steps
    def printed(
        self, tau_1: ArrayLike, tau_2: ArrayLike, ascent: ArrayLike, descent: ArrayLike
    ) -> Step:
        """Algorithm 1: ascent in zeta, Q fixed; descent in Q, zeta fixed. (R,) arguments.

        Args:
            tau_1, tau_2: the steps.
            ascent, descent: whether they are by visits.
        """
        up, down, is_up_even, is_down_even = (
            np.atleast_1d(x)[:, None, None] for x in (tau_1, tau_2, ascent, descent)
        )
        rate_1 = 2 * up * np.where(is_up_even, 1.0, self.share)
        rate_2 = down / np.where(is_down_even, self.share.sum(axis=1, keepdims=True), 1.0)
        after = np.concatenate(self.transition).T  # V -> the means of both actions

        def step(both: Array) -> Array:
            q = both[..., :2]
            v = np.logaddexp(q[..., 0], q[..., 1])
            mean = np.swapaxes((v @ after).reshape(len(v), 2, -1), 1, 2)
            new = both.copy()
            new[..., 2:] += rate_1 * (mean - both[..., 2:])
            new[..., :2] -= rate_2 * self.descent(new)
            return new

        return step

    def exact(self, tau: float, level: bool) -> Step:
        """Descent by visits with zeta exact; with `level`, then the shift of least risk."""
        share, discount = self.share.sum(axis=1, keepdims=True), self.sample.discount

        def step(both: Array) -> Array:
            q = both[..., :2] - tau / share * self.descent(both)
            both = self.with_zeta(q)
            if level:
                error = self.sample.reward + discount * both[..., 3] - q[..., 1]
                shift = (error @ self.share[:, 1]) / self.share[:, 1].sum() / (1 - discount)
                both += shift[:, None, None]
            return both

        return step

    def solved(self, both: Array) -> Array:
        """Descent by visits in the log-odds, V solved from the anchor's Bellman equation."""
        odds = both[..., 0] - both[..., 1]
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
        columns.append((step(point + change) - step(point - change)).ravel() / (2 * FD_STEP))
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

    def decade(self) -> float:
        """Steps for a factor of ten, over the last two of them, below CLOSE; else nan."""
        near = self.distance <= 100 * self.distance.min()
        if near.sum() < 3 or self.distance[near].max() > CLOSE:
            return math.nan
        return float(-1 / np.polyfit(self.steps[near], np.log10(self.distance[near]), 1)[0])


def follow(tables: Tables, step: Step, start: Array, last: int) -> Path:
    """A run of at most `last` steps."""
    both, steps, distances = start, [0], [float(tables.distance(start)[0])]
    for mark in marks(last, 24):
        for _ in range(mark - steps[-1]):
            both = step(both)
        steps.append(int(mark))
        distances.append(float(tables.distance(both)[0]))
        if not CONVERGED <= distances[-1] <= DIVERGED:
            break
    return Path(np.array(steps), np.array(distances))


def requirements(cell: Cell) -> Result:
    """Steps of Algorithm 1 as printed until r is CLOSE, for every pair of steps.

    A run that is not close after `direct` steps has diverged if the minimiser repels, and is else
    not_converged. Its linearisation does not give the number: rare states are far from theirs.
    """
    tables, settings = Tables.of(cell)[0], cell.settings
    grid = [
        (kind == "visits", tau, ratio)
        for kind in ("plain", "visits")
        for tau in settings[kind]
        for ratio in settings["ratios"]
    ]
    by_visits, tau, ratio = (np.array(x) for x in zip(*grid, strict=True))

    def step_of(which: Integers) -> Step:
        is_even = by_visits[which]
        return tables.printed((ratio * tau)[which], tau[which], is_even, is_even)

    both = np.zeros((len(grid), *tables.minimiser.shape[1:]))
    needed = np.full(len(grid), np.nan)
    ended = np.full(len(grid), "ok", dtype=object)
    cells, done, step = np.arange(len(grid)), 0, step_of(np.arange(len(grid)))
    with np.errstate(over="ignore", invalid="ignore"):  # blowing up is a result
        for mark in marks(settings["direct"], 200):
            for _ in range(mark - done):
                both = step(both)
            done, distance = int(mark), tables.distance(both)
            ended[cells[~(distance <= DIVERGED)]] = "diverged"  # nan too
            needed[cells] = np.where(distance > CLOSE, np.nan, np.fmin(needed[cells], done))
            # nearer than CLOSE / 10 it converges
            remaining = (distance <= DIVERGED) & (distance > CLOSE / 10)
            if not remaining.all():
                both, cells = both[remaining], cells[remaining]
                step = step_of(cells)
            if not len(cells):
                break
    records = []
    for i, setting in enumerate(grid):
        row = setting_name(*setting)
        slope = decade(tables, step_of(np.array([i])))
        if ended[i] == "ok" and np.isnan(needed[i]):
            ended[i] = "not_converged" if math.isfinite(slope) else "diverged"
        records.append(Record(STEPS, float(needed[i]), status=str(ended[i]), row=row))
        if math.isfinite(slope):
            records.append(Record(DECADE, slope, row=row))
    return Result(tuple(records))


def setting_name(by_visits: bool, tau: float, ratio: float) -> str:
    """The row of a setting of Algorithm 1."""
    return f"{'by visits' if by_visits else 'plain'}, step {tau:g}, ratio {ratio:g}"
