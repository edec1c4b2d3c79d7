"""The `max_oracle` protocol: GLADIUS with an exact inner step (ours), not in the paper.

The network and the risk are the paper's, with its printed sign: one trunk h of two ReLU layers,
heads Q(s, a) = h(s)'u_a + c_a and zeta(s, a) = h(s)'w_a + d_a, and

    min over Q of  the mean over rows of  -log pi(a | s) + 1{a = a_s} (td^2 - beta^2 dev^2).

A step solves for what is easy, and then moves the rest; no step uses the true reward:

1. Q is moved by one number, so that the anchor rows' sum of Q - r - beta zeta will be 0. The term
   is quadratic in it, and the likelihood does not depend on it. Where no path ends, it is minus the
   mean over (1 - beta), at which the term is least. Where paths end, the least term may be at
   another number, because rows that end move by the whole of it and others by 1 - beta;
2. zeta's head is the least-squares regression of V(s') on h, an action at a time: the maximum over
   it, of which an ascent step is a part;
3. one step of Adam moves Q's head and the trunk, zeta fixed as a function.

What is descended is no single function, because the trunk's derivative through zeta's maximum is
left out: with it the trunk would make zeta's class poorer, which raises dev^2. A fit is `ok` where
the gradient of step 3 is below the tolerance after steps 1 and 2, a fixed point of all three. If
zeta ascends by Adam instead, the gradient in its head has to be as small.

That gradient is also 0 where the trunk has lost its inputs, because its units are off in all states
or its outputs do not vary: then Q is constant whatever the data say, and no parameter moves. So
the risk's derivative in Q itself has to be small, too, in the direction of a line of the inputs z,

    mean over rows of  z (pi(b | s) - 1{a = b}),  and the part of the Bellman term,

for each action b, which a minimiser over all Q would have at 0. Each entry must be below LINE times
the tolerance, by default 1 / sqrt(rows). At the true Q the first part has a standard deviation of
at most half of that, since z is standardised and pi (1 - pi) <= 1/4. So a constant Q is `ok` where
choices do not vary with the inputs. No true reward is needed. A Q that is wrong in no direction of
a line is not seen.

Implementation choices:

- Q and zeta start at the level (mean r - log share of a_s) / (1 - beta); inputs are standardised.
- The first layer starts SMALL, and Adam has one second moment for each block of weights instead of
  one for each weight. On development data of the bus engine with 20 inputs that do not matter,
  N = 200, this took the error from 32 and 45 per cent to 9 and 9 on two data sets. We think that
  one moment a weight moves all weights by the rate, those of such inputs too; this was not tested.
- Inputs: trainings on 4/5 of the trajectories, with all inputs, then with the half of them whose
  first-layer weights are largest, and so on to one. Held-out likelihood decides: the fewest inputs
  that are within a standard error of the best (differences by trajectory). The Bellman term is left
  out of the choice, because it is negative where zeta does not fit.
- Where states hardly recur, the network fits noise in the end, so its steps can be few: `stop` has
  trials of FIRST steps on 4/5 of the trajectories, of twice as many, and so on while the held-out
  likelihood gains. The error with 20 inputs that do not matter was least at the same number of
  steps, on both development data sets that were looked at.
- There is no ridge, because one that held-out likelihood chose made the error three to four times
  what it is without, in two of ten development data sets that had no such inputs.
- All trajectories are then trained on, from several starts. Of these the half with the least
  likelihood loss and size of the Bellman term counts; Q and r are its averages. Trials are in
  single precision, the others in double.

A step passes through all rows. Where these are too many, `gladius.paper.batches` has it on batches.

All of this was fixed on development data. What it gives on fresh data is in the exhibit
`converging`, and so is what each part does, on two designs. With zeta by gradient steps it was
worse in every line that was run. The level by Adam was worse from the start above, and no worse was
shown from -55, about the true level. The printed sign matters where the anchor's next state is
random; where it leads to one state, dev is 0 in the anchor's rows after the regression. None of
this shows that other rates, or more steps, would fail.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from gladius import validate as checks
from gladius.model.estimate import Estimate, Fit, row_estimates
from gladius.panel.anchor import Anchor
from gladius.panel.record import Integers, Transitions
from gladius.paper import rows
from gladius.paper.author import ReluHead, initial
from gladius.paper.long_work import Checkpoint, file_of, progress_line
from gladius.paper.training import (
    EPSILON,
    MEMORY_1,
    MEMORY_2,
    TRUNK,
    ZETA,
    Layout,
    Learner,
    Q,
    descend,
    evaluate,
    gradient,
    pull_back,
    read,
    training,
)
from gladius.solvers.compiled import compiled
from gladius.solvers.networks import without_denormals
from gladius.validate import Array, InputError

SMALL = 0.1  # of the usual start, where the first layer starts
HELD_OUT, FEW = 0.2, 5  # share of the trajectories; of fewer than FEW the last rows are held out
CLEAR = 1e-6  # of the mean square of h, added to its second moments in the regression
CHECK_EVERY = 50  # steps between two looks at the tolerance
FIRST = 100  # steps of the first trial of `stop`
LINE = 100.0  # tolerances: of the gradient in a line of the inputs added to Q


@dataclass(frozen=True)
class Options:
    """How GLADIUS with an exact inner step is run. The last five undo it, one change at a time.

    Attributes:
        units: hidden units a layer.
        starts: initial networks, of which the better half is averaged.
        steps: Adam's in the last trainings, at most.
        trial_steps: in those that choose inputs.
        rate: Adam's; it falls to zero by a cosine.
        ridge: half of it times the squared weights of both layers is added to the risk.
        select: whether inputs may be left out.
        stop: whether held-out trajectories choose the number of steps, at most `steps`.
        single: whether the last trainings are in single precision, too.
        tolerance: converged when no entry of the gradient is above this share of 1 / sqrt(rows),
            which is the size of its error by sampling, and in a line of the inputs LINE times that.
        ascents: Adam steps of zeta in place of the regression; 0: the regression.
        closed_level: whether the level is solved for.
        start_level: at which Q and zeta start; None: the anchor's share.
        absolute: |td^2 - beta^2 dev^2|, as in the public code.
        block_moments: whether Adam has one second moment a block, and the first layer starts small.
    """

    units: int = 50
    starts: int = 3
    steps: int = 2000
    trial_steps: int = 200
    rate: float = 0.03
    ridge: float = 0.0
    select: bool = True
    stop: bool = False
    single: bool = False
    tolerance: float = 0.01
    ascents: int = 0
    closed_level: bool = True
    start_level: float | None = None
    absolute: bool = False
    block_moments: bool = True

    def __post_init__(self) -> None:
        for name in ("units", "starts", "steps", "trial_steps"):
            checks.check_whole(name, getattr(self, name), 1)
        checks.check_whole("ascents", self.ascents, 0)
        for name in ("rate", "tolerance"):
            checks.check_positive(name, getattr(self, name))
        for name in ("select", "stop", "single", "closed_level", "absolute", "block_moments"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(name, getattr(self, name), "give true or false")
        ridge = checks.check_finite("ridge", self.ridge)
        if ridge.ndim or ridge < 0:
            raise InputError("ridge", self.ridge, "give a number from 0 on")
        if self.start_level is not None:
            checks.check_finite("start_level", self.start_level)


@dataclass(frozen=True)
class Averaged:
    """(n, d) states -> (n, A) mean of the outputs of networks of some inputs, standardised."""

    networks: tuple[ReluHead, ...]
    inputs: Integers
    centre: Array
    scale: Array

    def __call__(self, states: Array) -> Array:
        z = (np.asarray(states)[:, self.inputs] - self.centre) / self.scale
        return np.asarray(np.mean([network(z) for network in self.networks], axis=0))


class Trained(NamedTuple):
    """A network at the end of its training."""

    layout: Layout
    parameters: Array
    risk: float  # -log pi a row, and the Bellman term's size: it is 0 or more where zeta fits
    gradient: float  # largest entry
    steps: int
    converged: bool
    line: float = math.nan  # largest entry of the gradient in a line of the inputs added to Q

    def head(self, weight: float) -> ReluHead:
        """Q + weight zeta."""
        model = self.layout.blocks(self.parameters.astype(np.float64))
        of_q, of_zeta = model.q, model.zeta
        head, level = of_q.head + weight * of_zeta.head, of_q.level + weight * of_zeta.level
        return ReluHead(*of_q[:4], head, level)


# --- a step
@compiled
def sums(batch: rows.Batch, at: rows.Outputs, number: Array, total: Array) -> None:
    """Rows at each state and action, and their sum of V(s'), both (S, A), in place."""
    number[:] = 0
    total[:] = 0
    for m in range(len(batch.number)):
        s, a, z = batch.state[m], batch.action[m], batch.following[m]
        number[s, a] += batch.number[m]
        if z >= 0:
            total[s, a] += batch.number[m] * at.value[z]


def refit(learner: Learner, batch: rows.Batch, number: Array, total: Array) -> None:
    """Zeta's head: least squares of V(s') on h; an action that no row takes keeps its own."""
    sums(batch, learner.at, number, total)
    features, zeta = learner.hidden.hidden_2, learner.model.zeta
    for a in np.flatnonzero(number.any(axis=0)):
        weight, size = number[:, a], float(number[:, a].sum())
        centre, level = weight @ features / size, float(total[:, a].sum()) / size
        second = ((features * weight[:, None]).T @ features / size).astype(np.float64)
        joint = features.T @ (total[:, a] - level * weight).astype(features.dtype) / size
        ridge = CLEAR * (float(np.trace(second)) / len(second) or 1.0)
        second += ridge * np.eye(len(second)) - np.outer(centre, centre)
        head = np.linalg.solve(second, joint)
        zeta.head[:, a], zeta.level[a] = head, level - centre @ head
    read(zeta, learner.hidden, learner.at.zeta)


def set_level(work: "Work") -> None:
    """Q, V and zeta moved by the number at which the anchor's equation holds on average.

    After the regression the mean of zeta over anchor rows is that of V(s'), which is 0 at an end.
    """
    at, model, batch, anchor = work.learner.at, work.learner.model, work.batch, work.anchor
    continues = np.ones(len(batch.number))
    ahead = at.zeta[batch.state, anchor]
    if not work.options.ascents:
        continues = (batch.following != rows.END).astype(np.float64)
        ahead = continues * at.value[batch.following]
    gap = at.q[batch.state, anchor] - batch.reward[batch.state] - work.discount * ahead
    gap, share = (np.average(x, weights=batch.anchored) for x in (gap, continues))
    for array in (model.q.level, model.zeta.level, at.q, at.zeta, at.value):
        array -= array.dtype.type(gap / (1.0 - work.discount * share))


class Work(NamedTuple):
    """What the steps of a training share."""

    learner: Learner
    batch: rows.Batch
    number: Array  # (S, A), as total, see `sums`
    total: Array
    anchor: int
    discount: float
    options: Options


def descent_slope(work: Work) -> float:
    """The gradient of step 3 into the learner, after steps 1 and 2; returns the risk's size."""
    learner, batch, options = work.learner, work.batch, work.options
    for _ in range(options.ascents):
        gradient(learner, batch, ZETA, work.anchor, work.discount, rows.PRINTED)
        descend(learner, ZETA, options.rate)
    evaluate(learner.model, batch.states, learner.hidden, learner.at, Q)
    if options.closed_level:
        set_level(work)
    if not options.ascents:
        refit(learner, batch, work.number, work.total)
    term = rows.ABSOLUTE if options.absolute else rows.PRINTED
    beta = learner.parameters.dtype.type(work.discount)
    nll, signed, absolute = rows.q_slope(batch, learner.at, work.anchor, beta, term)
    pull_back(learner.model, learner.slopes, batch.states, learner.hidden, learner.at, Q)
    learner.slopes.q.weight_1[:] += options.ridge * learner.model.q.weight_1
    learner.slopes.q.weight_2[:] += options.ridge * learner.model.q.weight_2
    return nll + (absolute if options.absolute else abs(signed))


def block_step(learner: Learner, starts: Integers, rate: float) -> None:
    """A step of Adam in Q's head and the trunk, with one second moment for each block."""
    own = slice(*learner.ends[Q])
    slope, mean, square = (x[own] for x in (learner.gradient, learner.mean[Q], learner.square[Q]))
    learner.done[Q] += 1
    sizes = np.diff([*starts, len(slope)])
    mean += (1.0 - MEMORY_1) * (slope - mean)
    of_block = np.add.reduceat(slope.astype(np.float64) ** 2, starts) / sizes
    square += (1.0 - MEMORY_2) * (np.repeat(of_block, sizes) - square)
    spread = np.sqrt(square / (1.0 - MEMORY_2 ** int(learner.done[Q]))) + EPSILON
    learner.parameters[own] -= rate / (1.0 - MEMORY_1 ** int(learner.done[Q])) * mean / spread


@without_denormals()
def train(
    batch: rows.Batch,
    layout: Layout,
    start: Array,
    anchor: int,
    discount: float,
    options: Options,
    *,
    steps: int = 0,
    checkpoint: Path | None = None,
    progress: str = "",
    watch: Callable[[int, Learner], None] | None = None,
) -> Trained:
    """The training of one network on all of a batch.

    Args:
        batch: the rows, in which the losses are means; its states are the inputs.
        layout, start: sizes, and the vector that it starts from.
        anchor, discount: a_s and beta.
        options: see there.
        steps: at most; by default those of the options.
        checkpoint, progress: as in `gladius.paper.author.train`.
        watch: called with the steps done and the learner, before each further step and at the end.
    """
    learner = training(layout, start, len(batch.states))
    tables = np.zeros((2, len(batch.states), layout.actions), start.dtype)
    work = Work(learner, batch, tables[0], tables[1], anchor, discount, options)
    sizes = [math.prod(shape) for shape in layout.shapes[2:]]
    blocks, steps = np.cumsum([0, *sizes[:-1]]), steps or options.steps
    # steps, the largest gradient, the risk, whether it has ended (an exact level that is solved for
    # once more moves by rounding), and the largest gradient in a line
    outcome = np.array([0.0, math.inf, math.nan, 0.0, math.inf])
    state = {"outcome": outcome, "parameters": learner.parameters, "done": learner.done}
    state |= {"mean": learner.mean, "square": learner.square}
    file = Checkpoint(checkpoint, (*batch, anchor, discount, steps, options, start), state)
    tolerance = options.tolerance / math.sqrt(float(batch.number.sum()))
    with progress_line(progress, steps) as advance:
        while not outcome[3]:
            done = int(outcome[0])
            outcome[2] = descent_slope(work)
            outcome[1] = np.abs(learner.gradient).max()  # that of zeta's head too, if it ascends
            if watch is not None:
                watch(done, learner)
            is_small = done % CHECK_EVERY == 0 and outcome[1] <= tolerance
            if done == steps or is_small or not math.isfinite(outcome[2]):
                outcome[3:] = 1.0, np.abs(batch.states.T @ learner.at.slope).max()
                break
            rate = options.rate * (1.0 + math.cos(math.pi * done / steps)) / 2
            if options.block_moments:
                block_step(learner, blocks, rate)
            else:
                descend(learner, Q, rate)
            outcome[0] += 1
            file.write()
            advance(1)
    file.write(at_once=True)
    risk, steepest, line = float(outcome[2]), float(outcome[1]), float(outcome[4])
    ended = int(outcome[0]), steepest <= tolerance and line <= LINE * tolerance, line
    return Trained(layout, learner.parameters.copy(), risk, steepest, *ended)


# --- a fit
class Standardised(NamedTuple):
    """Some inputs of a data set, standardised."""

    columns: Integers
    centre: Array
    scale: Array

    @classmethod
    def of(cls, data: Transitions, columns: Integers) -> "Standardised":
        """By mean and standard deviation; a constant is left as it is."""
        states = data.states[:, columns]
        scale = states.std(axis=0)
        return cls(columns, states.mean(axis=0), np.where(scale > 0, scale, 1.0))

    def batch(self, data: Transitions, anchor: Anchor, kind: type[np.floating[Any]]) -> rows.Batch:
        """The rows of these inputs; the anchor's reward may depend on all."""
        states, after = data.states[:, self.columns], data.next_states[:, self.columns]
        given = _given(data, anchor)
        keys = np.column_stack([states, given[0]]), np.column_stack([after, given[1]])
        joint = replace(data, states=keys[0], next_states=keys[1], feature_names=(), categories={})
        label = np.zeros(len(data), np.int64)
        last = Anchor(anchor.action, _last)
        found = rows.batches(joint, label, last, per_anchor=False, dtype=np.float64).rows
        states = (found.states[:, :-1] - self.centre) / self.scale
        numbers = {n: getattr(found, n).astype(kind) for n in ("reward", "number", "anchored")}
        share = found.share[0].astype(kind)
        return found._replace(states=states.astype(kind), share=share, **numbers)


def _given(data: Transitions, anchor: Anchor) -> tuple[Array, Array]:
    return anchor.values(data.states), anchor.values(data.next_states)


def _last(states: Array) -> Array:
    return states[:, -1]


def start_of(
    layout: Layout, batch: rows.Batch, discount: float, options: Options, rng: np.random.Generator
) -> Array:
    """Initial weights in the precision of the batch."""
    level = options.start_level
    if level is None:
        share = batch.anchored.sum() / batch.number.sum()
        reward = np.average(batch.reward[batch.state], weights=batch.anchored)
        level = float(reward - np.log(share)) / (1.0 - discount)
    start = initial(layout, level, rng)
    model = layout.blocks(start)
    model.q.bias_1[:] = rng.uniform(-1.0, 1.0, layout.units[0])
    if options.block_moments:
        model.q.weight_1[:] *= SMALL
    return start.astype(batch.states.dtype)


class HeldOutChoice(NamedTuple):
    """What held-out trajectories chose."""

    inputs: Integers
    tried: tuple[tuple[int, float], ...]  # (inputs, held-out -log pi)


@dataclass(frozen=True)
class Trainer:
    """Trainings of one data set."""

    anchor: Anchor
    discount: float
    options: Options
    seed: int
    folder: Path | None  # of checkpoints
    progress: str

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
        """One training, a trial in single precision; its name is its file's number."""
        kind = np.float32 if is_trial or self.options.single else np.float64
        batch = inputs.batch(data, self.anchor, kind)
        units = self.options.units, self.options.units
        layout = Layout(TRUNK, len(inputs.columns), units, data.number_of_actions)
        rng = np.random.default_rng([self.seed, start])
        first = start_of(layout, batch, self.discount, self.options, rng)
        of = self.anchor.action, self.discount, self.options
        files = {"checkpoint": file_of(self.folder, name), "progress": self.progress}
        return train(batch, layout, first, *of, steps=steps, **files)  # type: ignore[arg-type]  # a path and a text

    def trial(
        self, data: Transitions, columns: Integers, name: int, steps: int
    ) -> tuple[Trained, Array]:
        """A training on 4/5 of the trajectories, and the losses of the others."""
        training_set, held = hold_out(data, self.anchor.action, self.seed)
        inputs = Standardised.of(training_set, columns)
        one = self.train(training_set, inputs, name, steps, is_trial=True)
        return one, held_out_losses(one, inputs, held)

    def choose(self, data: Transitions) -> HeldOutChoice:
        """Inputs by held-out trajectories, of which half are left out again and again."""
        columns = np.arange(data.states.shape[1])
        if len(columns) == 1 or not self.options.select:
            return HeldOutChoice(columns, ())
        candidates, losses = list[Integers](), list[Array]()
        while True:
            one, loss = self.trial(data, columns, len(candidates), self.options.trial_steps)
            candidates.append(columns)
            losses.append(loss)
            if len(columns) == 1:
                break
            size = np.linalg.norm(one.head(0.0).weight_1, axis=1)
            order = np.argsort(-size, kind="stable")
            columns = np.sort(columns[order[: (len(columns) + 1) // 2]])
        totals = [float(np.nan_to_num(x.sum(), nan=np.inf)) for x in losses]
        best = int(np.argmin(totals))
        gaps = [x - losses[best] for x in losses]
        errors = [np.sqrt(len(gap)) * float(np.std(gap)) for gap in gaps]
        chosen = max(i for i, gap in enumerate(gaps) if i == best or gap.sum() <= errors[i])
        tried = zip(map(len, candidates), totals, strict=True)
        return HeldOutChoice(candidates[chosen], tuple(tried))

    def stop(self, data: Transitions, columns: Integers, name: int) -> int:
        """The number of steps with the least held-out loss; the trials' first name is given."""
        steps, least = min(FIRST, self.options.steps), math.inf
        while steps <= self.options.steps:
            loss = float(self.trial(data, columns, name, steps)[1].sum())
            if not loss < least:
                break
            name, steps, least = name + 1, 2 * steps, loss
        return max(steps // 2, 1)

    def fit(self, data: Transitions) -> Fit:
        """Q and r of one data set."""
        choice = self.choose(data)
        options, inputs = self.options, Standardised.of(data, choice.inputs)
        used, starts, steps = len(choice.tried), range(options.starts), options.steps
        if options.stop:
            steps = self.stop(data, choice.inputs, used + options.starts)
        trained = [self.train(data, inputs, used + k, steps, start=k) for k in starts]
        counted = sorted(trained, key=lambda one: np.nan_to_num(one.risk, nan=np.inf))
        counted = counted[: (options.starts + 1) // 2]
        q, reward = (
            Averaged(tuple(one.head(weight) for one in counted), *inputs)
            for weight in (0.0, -self.discount)
        )
        steepest = max(one.gradient for one in counted)
        is_finite = all(np.isfinite(one.parameters).all() for one in counted)
        status = "ok" if all(one.converged for one in counted) else "not_converged"
        extra = {"inputs": tuple(choice.inputs.tolist()), "tried": choice.tried}
        extra |= {f"{name}s": tuple(getattr(x, name) for x in trained) for name in ("risk", "line")}
        return Fit(
            q,
            reward,
            status=status if is_finite else "diverged",
            iterations=max(one.steps for one in counted),
            gradient_norm=steepest,
            extra=extra,
        )


def hold_out(data: Transitions, anchor: int, seed: int) -> tuple[Transitions, Transitions]:
    """(training, held out): a fifth of the trajectories; the last rows where these are few."""
    if len(pd.unique(data.trajectory)) >= FEW:
        training_set, held = data.split(1 - HELD_OUT, np.random.default_rng([seed, 2]))
    else:
        is_training = np.arange(len(data)) < (1 - HELD_OUT) * len(data)
        training_set, held = data.take(is_training), data.take(~is_training)
    if not np.any(training_set.actions == anchor) or not len(held):
        hint = "it is too rare to hold out rows: give select=False"
        raise InputError("anchor_action", anchor, hint)
    return training_set, held


def held_out_losses(one: Trained, inputs: Standardised, held: Transitions) -> Array:
    """The sum of -log pi over each held-out trajectory."""
    q = Averaged((one.head(0.0),), *inputs)(held.states)
    loss = logsumexp(q, axis=1) - q[np.arange(len(q)), held.actions]
    return np.bincount(pd.factorize(held.trajectory)[0], loss).astype(np.float64)


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
    """Estimates from GLADIUS with an exact inner step; options are those of `Options`.

    The status is `ok` where the gradients of all networks that count fell below the tolerance, and
    none of these has lost its inputs.

    Args:
        data, anchor, discount: see `gladius.paper.protocols.fit`.
        rngs: a seed, a generator, or one a data set, for weights and held-out trajectories.
        checkpoint: a folder, in which interrupted trainings go on, to the same numbers.
        progress: whether lines show it; needs rich.
        options: In `extra` are the `inputs` that were kept, what was `tried` (number of inputs,
            held-out loss), the `risks` of the starts, and their `lines`: the largest entries of the
            gradients in a line of the inputs added to Q.
    """
    checks.check_options(Options, options)
    settings, streams = Options(**options), checks.generators(rngs, len(data))
    checks.check_discount(discount)
    fits = []
    for r, (one, rng) in enumerate(zip(data, streams, strict=True)):
        folder = None if file_of(checkpoint, r) is None else Path(str(checkpoint)) / f"data_{r}"
        seed, name = int(rng.integers(2**63)), f"data set {r}" * progress
        with np.errstate(over="ignore", invalid="ignore"):  # a blow-up is a result, and recorded
            fits.append(Trainer(anchor, discount, settings, seed, folder, name).fit(one))
    with np.errstate(over="ignore", invalid="ignore"):
        return row_estimates("gladius (max_oracle)", fits, data, anchor, discount)
