"""What `gradients` computes: distances to the minimiser, step by step, and what Algorithm 1 needs.

Tables and full batches, from Q = zeta = 0; half a count for an action that a state lacks, without
which the risk has no minimiser. With w the shares of rows and b that of the anchor's, and
e = r + beta zeta - Q at the anchor, the descent loss has, zeta fixed, the gradient

    p (w_x + 2 beta (b e) P) - w_xa,  less 2 b (r + beta P V - Q) at the anchor.

Losses are per row, as in `gladius.algorithm`, whose iterations these are. "By visits" divides Q's
step by the share of its state and zeta's by that of its pair.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from timeit import Timer
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from gladius.newton import minimise
from gladius.transitions import Integers, group
from gladius.worlds.bus import BusEngine
from proofs_checks.oracle.risk import Sample
from reproduce.data import data_sets
from reproduce.landscape import Landscape, centre, sample_of
from reproduce.spec import Array, Cell, Record, Result

NUDGE = 1e-4  # of the central differences of a step
BLOWN_UP = 1e4  # relative distance of r
CLOSE = 0.01  # relative distance of r that the table asks for
LAST = 1e-11  # distance of r at which a run ends
DISTANCE, DECADE, PREDICTED = "distance of r at the end", "steps a decade", "predicted"
STEPS = f"steps to a distance of {CLOSE:g}"
TIMED = 300  # steps
PRINTED, BY_VISITS = "Algorithm 1 as printed", "printed, by visits"
Step = Callable[[Array], Array]  # of (R, S, 4): Q, then zeta, of maintaining and of the anchor


@dataclass(frozen=True)
class Tables:
    """A data set as what the steps need; action 0 is free, action 1 the anchor.

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
        found = []
        for train in data_sets(world, cell)[0]:
            given = world.anchor_action, world.anchor_reward, world.discount
            raw = sample_of(group([train]), *given)
            moves = raw.moves.copy()
            state, action = np.nonzero(raw.visits == 0)
            moves[state, action, state] = 0.5
            found.append(cls(replace(raw, moves=moves), raw.visits))
        return found

    @cached_property
    def share(self) -> Array:
        """(S, 2) of rows."""
        return self.sample.visits / self.sample.size

    @cached_property
    def law(self) -> Array:
        """(2, S, S) frequencies of the moves."""
        return np.swapaxes(self.sample.moves / self.sample.visits[..., None], 0, 1)

    @cached_property
    def resolvent(self) -> Array:
        """(S, S) (I - beta P)^-1 of the anchor."""
        system = np.eye(len(self.rows)) - self.sample.discount * self.law[1]
        return np.asarray(np.linalg.inv(system))

    @cached_property
    def minimiser(self) -> Array:
        """(1, S, 4)."""
        return self.with_zeta(centre(self.sample)[None])

    @cached_property
    def reward(self) -> Array:
        """(1, S, 2) r at the minimiser."""
        return self.rewards(self.minimiser)

    def with_zeta(self, q: Array) -> Array:
        """(R, S, 4) from (R, S, 2) Q: zeta exact."""
        v = np.logaddexp(q[..., 0], q[..., 1])
        return np.concatenate([q, np.moveaxis(v @ np.swapaxes(self.law, 1, 2), 0, 2)], axis=2)

    def rewards(self, both: Array) -> Array:
        """(R, S, 2) r = Q - beta zeta."""
        return np.asarray(both[..., :2] - self.sample.discount * both[..., 2:])

    def distance(self, both: Array) -> Array:
        """(R,) mean over rows of |r - its minimiser's| / |that|."""
        apart = np.abs(self.rewards(both) / self.reward - 1.0)
        return np.asarray((apart * self.rows).sum(axis=(1, 2)) / self.rows.sum())

    def descent(self, both: Array) -> Array:
        """(R, S, 2) gradient in Q of the descent loss, zeta fixed."""
        beta, q = self.sample.discount, both[..., :2]
        v = np.logaddexp(q[..., 0], q[..., 1])
        anchored = self.share[:, 1]
        gap = self.sample.reward - q[..., 1]
        pull = self.share.sum(axis=1)
        pull = pull + 2 * beta * ((anchored * (gap + beta * both[..., 3])) @ self.law[1])
        slope: Array = np.exp(q - v[..., None]) * pull[..., None] - self.share
        slope[..., 1] -= 2 * anchored * (gap + beta * (v @ self.law[1].T))
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
        after = np.concatenate(self.law).T  # V -> the means of both actions

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
                both[..., :2] += shift[:, None, None]
                both[..., 2:] += shift[:, None, None]
            return both

        return step

    def solved(self, both: Array) -> Array:
        """Descent by visits in the log-odds, V solved from the anchor's Bellman equation."""
        odds = both[..., 0] - both[..., 1]
        odds = odds - 4 * (expit(odds) - self.sample.choices[:, 0])
        v = (self.sample.reward - log_expit(-odds)) @ self.resolvent.T
        return self.with_zeta(v[..., None] + np.stack([log_expit(odds), log_expit(-odds)], axis=2))

    def natural(self, rate: float) -> Step:
        """Fisher's metric and Gauss-Newton's of the Bellman error, one table at a time."""
        weight = self.share.sum(axis=1)

        def step(both: Array) -> Array:
            q = both[0, :, :2]
            p = expit(q[:, 0] - q[:, 1])
            spread = (weight * p * (1 - p))[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
            error = self.sample.residual_jacobian(q)
            metric = 2 * (error.T * self.share[:, 1]) @ error
            blocks = metric.reshape(len(q), 2, len(q), 2)
            every = np.arange(len(q))
            blocks[every, :, every] += spread
            way = np.linalg.solve(metric, self.descent(both).ravel())
            return self.with_zeta(q[None] - rate * way.reshape(1, *q.shape))

        return step

    def newton(self, steps: int) -> tuple[Array, int]:
        """The library's damped Newton on R_emp: where it is after so many steps, and their number.

        Steps that it refuses count as none.
        """
        # b_min^2 / b_max apart, R_emp is the appendix's risk with the anchor's share of rows
        anchored = self.share[:, 1].sum()
        nll, bellman = (Landscape(self.sample, term, centre(self.sample)) for term in TERMS)

        def objective(rows: Integers, x: Array) -> tuple[Array, Array, Array]:
            size = self.sample.size  # nats of the whole sample
            parts = [
                [size * (getattr(nll, f)(y) + anchored * getattr(bellman, f)(y)) for y in x]
                for f in ("gap", "gradient", "hessian")
            ]
            value, gradient, hessian = (np.array(part) for part in parts)
            return value, gradient, hessian

        found = minimise(objective, np.zeros((1, self.rows.size)), max_iterations=steps)
        return self.with_zeta(found.x.reshape(1, -1, 2)), int(found.iterations[0])


TERMS = ("L_NLL", "L_BE")


# --- along a run
def marks(last: int, each: int) -> Integers:
    """Numbers of steps after which to look, evenly in the logarithm."""
    return np.unique(np.geomspace(1, last, 1 + round(each * math.log10(last))).round().astype(int))


def matrix(step: Step, point: Array) -> Array:
    """(4 S, 4 S) derivative of one step at (1, S, 4), by central differences, one row at a time."""
    columns = []
    for nudge in NUDGE * np.eye(point.size).reshape(-1, *point.shape):
        columns.append((step(point + nudge) - step(point - nudge)).ravel() / (2 * NUDGE))
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
        part = self.distance <= 100 * self.distance.min()
        if part.sum() < 3 or self.distance[part].max() > CLOSE:
            return math.nan
        return float(-1 / np.polyfit(self.steps[part], np.log10(self.distance[part]), 1)[0])


def follow(tables: Tables, step: Step, start: Array, last: int) -> Path:
    """A run of at most `last` steps."""
    both, done, looked, seen = start, 0, [0], [float(tables.distance(start)[0])]
    for mark in marks(last, 24):
        for _ in range(mark - done):
            both = step(both)
        done = int(mark)
        looked.append(done)
        seen.append(float(tables.distance(both)[0]))
        if not LAST <= seen[-1] <= BLOWN_UP:
            break
    return Path(np.array(looked), np.array(seen))


def seconds_of(step: Step, start: Array) -> float:
    """Processor time of a step, the least of three means over TIMED."""

    def run() -> None:
        both = start
        for _ in range(TIMED):
            both = step(both)

    return min(Timer(run, timer=time.process_time).repeat(3, 1)) / TIMED


def lines(cell: Cell, device: str) -> Result:
    """Six algorithms from the same start: the distance of r against steps and seconds."""
    tables, settings = Tables.of(cell)[0], cell.settings
    zero = np.zeros_like(tables.minimiser)
    start = tables.with_zeta(zero[..., :2])
    runs: dict[str, tuple[Step, Array]] = {
        PRINTED: (tables.printed(settings["tau"], settings["tau"], False, False), zero),
        BY_VISITS: (tables.printed(settings["visits"], settings["visits"], True, True), zero),
        "zeta exact": (tables.exact(settings["visits"], False), start),
        "level closed": (tables.exact(settings["visits"], True), start),
        "V closed": (tables.solved, start),
        "natural gradient": (tables.natural(settings["natural"]), start),
    }
    records, arrays = [], {}
    for name, (step, first) in runs.items():
        long = "direct of printed" if name == PRINTED else "direct"
        path = follow(tables, step, first, settings[long])
        seconds = path.steps * seconds_of(step, first)
        arrays[name] = np.stack([path.steps, path.distance, seconds])
        numbers = {DECADE: path.decade(), f"{DECADE}, {PREDICTED}": decade(tables, step)}
        for statistic, value in (numbers | {DISTANCE: float(path.distance[-1])}).items():
            if math.isfinite(value):
                records.append(Record(statistic, value, row=name))
    began = time.process_time()
    ends = [tables.newton(k) for k in range(settings["newton"])]
    taken = np.unique([steps for _, steps in ends])  # once converged it takes none
    each = (time.process_time() - began) / sum(steps for _, steps in ends)
    far = np.array([float(tables.distance(ends[k][0])[0]) for k in taken])
    arrays["Newton"] = np.stack([taken, far, taken * each])
    records.append(Record(DISTANCE, float(far[-1]), row="Newton"))
    return Result(tuple(records), arrays=arrays)


def requirements(cell: Cell, device: str) -> Result:
    """Algorithm 1 as printed, every ratio and step side by side: how many steps until r is CLOSE.

    A run that is not there after `direct` steps has diverged if the minimiser repels, and is else
    not_converged. Its linearisation would not tell when: rare states are far from theirs.
    """
    tables, settings = Tables.of(cell)[0], cell.settings
    grid = [
        (kind == "visits", tau, ratio)
        for kind in ("plain", "visits")
        for tau in settings[kind]
        for ratio in settings["ratios"]
    ]
    by_visits, tau, ratio = (np.array(x) for x in zip(*grid, strict=True))

    def some(which: Integers) -> Step:
        even = by_visits[which]
        return tables.printed((ratio * tau)[which], tau[which], even, even)

    both = np.zeros((len(grid), *tables.minimiser.shape[1:]))
    needed = np.full(len(grid), np.nan)
    ended = np.full(len(grid), "ok", dtype=object)
    cells, done, step = np.arange(len(grid)), 0, some(np.arange(len(grid)))
    with np.errstate(over="ignore", invalid="ignore"):  # blowing up is a result
        for mark in marks(settings["direct"], 200):
            for _ in range(mark - done):
                both = step(both)
            done, far = int(mark), tables.distance(both)
            ended[cells[~(far <= BLOWN_UP)]] = "diverged"  # nan too
            needed[cells] = np.where(far > CLOSE, np.nan, np.fmin(needed[cells], done))
            kept = (far <= BLOWN_UP) & (far > CLOSE / 10)  # nearer than this it stays
            if not kept.all():
                both, cells = both[kept], cells[kept]
                step = some(cells)
            if not len(cells):
                break
    records = []
    for i, setting in enumerate(grid):
        row = place(*setting)
        slope = decade(tables, some(np.array([i])))
        if ended[i] == "ok" and np.isnan(needed[i]):
            ended[i] = "not_converged" if math.isfinite(slope) else "diverged"
        records.append(Record(STEPS, float(needed[i]), status=str(ended[i]), row=row))
        if math.isfinite(slope):
            records.append(Record(f"{DECADE}, {PREDICTED}", slope, row=row))
    return Result(tuple(records))


def place(by_visits: bool, tau: float, ratio: float) -> str:
    """The row of a setting of Algorithm 1."""
    return f"{'by visits' if by_visits else 'plain'}, step {tau:g}, ratio {ratio:g}"
