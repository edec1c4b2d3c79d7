"""The `max_oracle_batches` protocol: GLADIUS with an exact inner step (ours), on batches of rows.

The risk, the network and the three parts of a step are those of `gladius.paper.max_oracle`. A step
there passes through all rows at once. Here it passes through some batches of them, one after the
other, so that of all rows only the data are held in memory, and the hidden layers of one batch.
What is solved for depends on the rows by means alone: with x = (h(s), 1), for each action

    x x',    x V(s'),    x 1{the path goes on},

and over the anchor's rows Q - r - beta V(s') and 1{the path goes on}. A step has two passes through
its batches: one for these means, as running averages, and one for the gradient at what they give.

- A step takes (first rate) / rate batches, at most all. So the noise falls with the rate, and the
  last steps are those of `max_oracle`, up to rounding.
- No mean is kept from one step to the next, because three of six trainings in which the averages
  ran on over steps ended with errors above 100 per cent (one development data set, 4 or 20 batches,
  averages over a pass, a half or a quarter of it). We think that zeta lags where V(s') grows, and
  that td^2 - beta^2 dev^2 then rewards a Q that grows further; this was not tested. Where the
  averages ran longer as the rate fell, trainings ended far from the minimum, too.
- Batches are cut from the trajectories in random order, once; a pass takes them in a new order.
- After the last step the gradient is that of all rows. The fit is `ok` where it is below the
  tolerance of full batches, because the gradient of a few batches is mostly noise. So is that in a
  line of the inputs.
- There are fewer steps by default than in `max_oracle`, and single precision: so 10^6 rows with 5
  inputs, of which two were kept, took 50 seconds of one core and 1.5 GB.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gladius import validate as checks
from gladius.model.estimate import Estimate, row_estimates
from gladius.panel.anchor import Anchor
from gladius.panel.record import Integers, Transitions
from gladius.paper import max_oracle, rows
from gladius.paper.long_work import Checkpoint, file_of, progress_line
from gladius.paper.max_oracle import CLEAR, LINE, Standardised, Trained, block_step, start_of, sums
from gladius.paper.training import (
    TRUNK,
    Layout,
    Learner,
    Q,
    evaluate,
    hidden_room,
    pull_back,
    read,
    training,
)
from gladius.solvers.networks import without_denormals
from gladius.validate import Array, InputError

FIXED = {"ascents": 0, "closed_level": True, "block_moments": True}  # no ablation on batches


@dataclass(frozen=True)
class Options(max_oracle.Options):
    """Those of `max_oracle`, with other defaults and without three ablations.

    Attributes:
        batch: rows of a step, about.
    """

    steps: int = 400
    single: bool = True
    batch: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.check_whole("batch", self.batch, 1)
        for name, value in FIXED.items():
            if getattr(self, name) != value:
                hint = "leave it out, or give protocol='max_oracle', which takes all rows at once"
                raise InputError(name, getattr(self, name), hint)


class Means(NamedTuple):
    """Running averages over batches; x is (h(s), 1)."""

    square: Array  # (A, H' + 1, H' + 1) of x x'
    value: Array  # (A, H' + 1) of x V(s')
    ahead: Array  # (A, H' + 1) of x 1{the path goes on}
    anchor: Array  # (3,) over the anchor's rows of Q - r - beta V(s'), of 1{goes on}, and of 1
    rows: Array  # (1,) how many rows they are averages of


class BatchWork(NamedTuple):
    """What the steps of a training share."""

    learner: Learner  # with room for the largest batch
    means: Means
    tables: Array  # (2, S, A), see `sums`
    line: Array  # (d, A) gradient in a line of the inputs added to Q
    anchor: int
    discount: float
    options: Options


def prepared(
    batches: Sequence[rows.Batch],
    layout: Layout,
    start: Array,
    anchor: int,
    discount: float,
    options: Options,
) -> BatchWork:
    """Before the first step."""
    states, actions, width = max(len(b.states) for b in batches), layout.actions, layout.units[1]
    shapes = ((actions, width + 1, width + 1), *[(actions, width + 1)] * 2, (3,), (1,))
    means, tables = Means(*map(np.zeros, shapes)), np.zeros((2, states, actions), start.dtype)
    line, of = np.zeros((layout.features, actions)), (anchor, discount, options)
    return BatchWork(training(layout, start, states), means, tables, line, *of)


def at_batch(work: BatchWork, batch: rows.Batch) -> Learner:
    """The learner with Q, zeta and V at the batch's states."""
    learner, size = work.learner, len(batch.states)
    hidden, at = hidden_room(learner.hidden, size), rows.room(learner.at, size)
    evaluate(learner.model, batch.states, hidden, at, Q)
    return learner._replace(hidden=hidden, at=at)


def average(work: BatchWork, learner: Learner, batch: rows.Batch) -> None:
    """Adds a batch to the means, with its share of the rows so far."""
    at, features = learner.at, learner.hidden.hidden_2
    number, total = work.tables[:, : len(features)]
    sums(batch, at, number, total)
    ends, own = batch.following == rows.END, float(batch.number.sum())
    ended = np.zeros_like(number)
    np.add.at(ended, (batch.state[ends], batch.action[ends]), batch.number[ends])
    work.means.rows[:] += own
    share = own / work.means.rows[0]
    for mean in work.means[:-1]:
        mean *= 1.0 - share
    for a in range(number.shape[1]):
        taken = np.flatnonzero(number[:, a])
        x = np.column_stack([features[taken], np.ones(len(taken), features.dtype)])
        weight = number[taken, a] / own
        work.means.square[a] += share * ((x * weight[:, None]).T @ x)
        work.means.value[a] += share * (total[taken, a] / own @ x)
        work.means.ahead[a] += share * ((weight - ended[taken, a] / own) @ x)
    weight, continues = batch.anchored / own, (~ends).astype(np.float64)
    ahead = continues * at.value[batch.following]
    gap = at.q[batch.state, work.anchor] - batch.reward[batch.state] - work.discount * ahead
    work.means.anchor[:] += share * np.array([weight @ gap, weight @ continues, weight.sum()])


def solve(work: BatchWork, learner: Learner) -> None:
    """The level and zeta's head from the means; Q, zeta and V of the batch follow."""
    model, at, means = learner.model, learner.at, work.means
    gap, continues, anchored = means.anchor
    if anchored > 0:
        shift = -gap / (anchored - work.discount * continues)
        means.anchor[0], means.value[:] = 0.0, means.value + shift * means.ahead
        for array in (model.q.level, model.zeta.level, at.q, at.value):
            array += array.dtype.type(shift)
    for a in np.flatnonzero(means.square[:, -1, -1]):
        second = means.square[a] / means.square[a, -1, -1]
        joint = means.value[a] / means.square[a, -1, -1]
        centre, level = second[-1, :-1], joint[-1]
        second, joint = second[:-1, :-1], joint[:-1] - level * centre
        ridge = CLEAR * (float(np.trace(second)) / len(second) or 1.0)
        matrix = second + ridge * np.eye(len(second)) - np.outer(centre, centre)
        head = np.linalg.solve(matrix, joint)
        model.zeta.head[:, a], model.zeta.level[a] = head, level - centre @ head
    read(model.zeta, learner.hidden, at.zeta)


def batch_slope(work: BatchWork, learner: Learner, batch: rows.Batch) -> Array:
    """The gradient on a batch into the learner, zeta fixed; (2,) -log pi and the Bellman term."""
    term = rows.ABSOLUTE if work.options.absolute else rows.PRINTED
    beta = learner.parameters.dtype.type(work.discount)
    nll, *bellman = rows.q_slope(batch, learner.at, work.anchor, beta, term)
    pull_back(learner.model, learner.slopes, batch.states, learner.hidden, learner.at, Q)
    learner.slopes.q.weight_1[:] += work.options.ridge * learner.model.q.weight_1
    learner.slopes.q.weight_2[:] += work.options.ridge * learner.model.q.weight_2
    return np.array([nll, bellman[int(work.options.absolute)]])


def slope(work: BatchWork, batches: Sequence[rows.Batch]) -> float:
    """As `descent_slope` of `max_oracle`, on some batches."""
    work.means.rows[:] = 0.0
    for batch in batches:
        learner = at_batch(work, batch)
        average(work, learner, batch)
    solve(work, learner)
    gradient, losses = np.zeros(len(learner.gradient)), np.zeros(2)
    work.line[:] = 0.0
    shares = np.array([float(batch.number.sum()) for batch in batches])
    for batch, share in zip(batches, shares / shares.sum(), strict=True):
        if len(batches) > 1:
            learner = at_batch(work, batch)
        losses += share * batch_slope(work, learner, batch)
        gradient += share * learner.gradient
        work.line[:] += share * (batch.states.T @ learner.at.slope)
    learner.gradient[:] = gradient
    return float(losses[0] + abs(losses[1]))


def turns(number: int, steps: int, seed: Sequence[int]) -> Iterator[tuple[float, Integers]]:
    """For each step the rate's share of the first one, and which batches it takes."""
    position = 0
    for done in range(steps):
        fall = (1.0 + math.cos(math.pi * done / steps)) / 2
        positions = position + np.arange(min(number, math.ceil(1.0 / fall)))
        position = int(positions[-1]) + 1
        orders = [
            np.random.default_rng([*seed, turn]).permutation(number)
            for turn in range(positions[0] // number, positions[-1] // number + 1)
        ]
        yield fall, np.concatenate(orders)[positions - positions[0] // number * number]


@without_denormals()
def train(
    batches: Sequence[rows.Batch],
    layout: Layout,
    start: Array,
    anchor: int,
    discount: float,
    options: Options,
    *,
    seed: Sequence[int] = (0,),
    steps: int = 0,
    checkpoint: Path | None = None,
    progress: str = "",
) -> Trained:
    """The training of one network on batches.

    Args:
        batches: in each of which the losses are means.
        layout, start, anchor, discount, options, steps, checkpoint, progress: as in `max_oracle`.
        seed: of the order of the batches in each pass.
    """
    work = prepared(batches, layout, start, anchor, discount, options)
    learner, steps = work.learner, steps or options.steps
    sizes = [math.prod(shape) for shape in layout.shapes[2:]]
    blocks = np.cumsum([0, *sizes[:-1]])
    count, risk = np.zeros(1), 0.0
    state = {"count": count, "parameters": learner.parameters, "done": learner.done}
    state |= {"mean": learner.mean, "square": learner.square}
    data = [array for batch in batches for array in batch]
    file = Checkpoint(checkpoint, (*data, anchor, discount, steps, options, start, *seed), state)
    with progress_line(progress, steps) as advance:
        for fall, taken in islice(turns(len(batches), steps, seed), int(count[0]), None):
            risk = slope(work, [batches[i] for i in taken])
            if not math.isfinite(risk):
                break
            block_step(learner, blocks, options.rate * fall)
            count[0] += 1
            file.write()
            advance(1)
    file.write(at_once=True)
    risk = slope(work, batches)
    steepest, total = float(np.abs(learner.gradient).max()), work.means.rows[0]
    tolerance, line = options.tolerance / math.sqrt(total), float(np.abs(work.line).max())
    ended = int(count[0]), steepest <= tolerance and line <= LINE * tolerance, line
    return Trained(layout, learner.parameters.copy(), risk, steepest, *ended)


def cut(
    data: Transitions,
    inputs: Standardised,
    anchor: Anchor,
    kind: type[np.floating[Any]],
    size: int,
    rng: np.random.Generator,
) -> list[rows.Batch]:
    """Batches of at most so many rows: the trajectories in random order, cut into equal parts."""
    label, names = pd.factorize(data.trajectory)
    order = np.argsort(rng.permutation(len(names))[label], kind="stable")
    batches = np.array_split(order, math.ceil(len(data) / size))
    return [inputs.batch(data.take(rows_of_one), anchor, kind) for rows_of_one in batches]


def all_rows(batches: Sequence[rows.Batch]) -> rows.Batch:
    """One batch of all rows, whose states are left out, for `start_of`."""
    reward = np.concatenate([batch.reward[batch.state] for batch in batches])
    return batches[0]._replace(
        reward=reward,
        state=np.arange(len(reward)),
        number=np.concatenate([batch.number for batch in batches]),
        anchored=np.concatenate([batch.anchored for batch in batches]),
    )


@dataclass(frozen=True)
class BatchTrainer(max_oracle.Trainer):
    """Trainings of one data set on batches."""

    options: Options

    def train(
        self,
        data: Transitions,
        inputs: Standardised,
        name: int,
        steps: int,
        *,
        start: int = 0,
        is_trial: bool = False,
    ) -> Trained:
        """As that of `max_oracle`."""
        options = self.options
        kind = np.float32 if is_trial or options.single else np.float64
        cuts = np.random.default_rng([self.seed, start, 3])
        batches = cut(data, inputs, self.anchor, kind, options.batch, cuts)
        units = options.units, options.units
        layout = Layout(TRUNK, len(inputs.columns), units, data.number_of_actions)
        rng = np.random.default_rng([self.seed, start])
        first = start_of(layout, all_rows(batches), self.discount, options, rng)
        return train(
            batches,
            layout,
            first,
            self.anchor.action,
            self.discount,
            options,
            seed=(self.seed, start, 4),
            steps=steps,
            checkpoint=file_of(self.folder, name),
            progress=self.progress,
        )


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    rngs: int | np.random.Generator | Sequence[np.random.Generator] = 0,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
    **options: Any,
) -> list[Estimate]:
    """Estimates from GLADIUS with an exact inner step on batches of rows.

    The inputs, the number of steps and the starts are chosen as in `max_oracle`.

    Args:
        data, anchor, discount, rngs, checkpoint, progress: see `gladius.paper.max_oracle.fit`.
        options: those of `Options`; `extra` holds what it does there.
    """
    checks.check_options(Options, options)
    settings, streams = Options(**options), checks.generators(rngs, len(data))
    checks.check_discount(discount)
    fits = []
    with np.errstate(over="ignore", invalid="ignore"):  # a blow-up is a result, and recorded
        for r, (one, rng) in enumerate(zip(data, streams, strict=True)):
            folder = None if file_of(checkpoint, r) is None else Path(str(checkpoint)) / f"data_{r}"
            seed, name = int(rng.integers(2**63)), f"data set {r}" * progress
            fits.append(BatchTrainer(anchor, discount, settings, seed, folder, name).fit(one))
        return row_estimates("gladius (max_oracle_batches)", fits, data, anchor, discount)
