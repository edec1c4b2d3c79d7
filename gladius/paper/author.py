"""The `author` protocol: our re-implementation of the first author's public code, bus engine.

Facts from github.com/Enoch-H-Kang/DDC-DPT, commit 71f8c08 of 2025-04-24, which states no licence;
no line is carried over. It measures what the published numbers owe to three uses of the true
reward, each a switch: the level (`level_from_truth`: both output layers start at -55, Q* lies in
-60 to -52), the absolute value in place of the printed sign (`absolute`), and the epoch (`Oracle`).

The procedure: one network, two hidden ReLU layers, heads Q(s, .) and zeta(s, .), Xavier-normal
weights, hidden biases 0, raw features. Batches are 32 whole trajectories in file order. Even
batches (0, 2, ...) step zeta on sum (V(s') - zeta(s, a))^2, V detached; odd batches step Q on

    mean -log pi(a | s) + mean over anchor observations of |td^2 - beta^2 dev^2|,
    td = Q(s, a) - r - beta V(s'),  dev = V(s') - zeta(s, a) with zeta detached,

each gradient entry clipped to [-1, 1]. Each kind of step has its own AdamW over its head and the
trunk (weight decay 1e-4), with learning rate 1e-3 / (1 + 5e-4 epoch). With a single batch an epoch
(32 trajectories or fewer) Q takes no step, and moves with the trunk alone. r-hat = Q - beta zeta.

The steps are those of the public code, the numbers are not: its float32 leaves the same training in
float64 by 1 % after 50 to 60 epochs on its own data, and both then wander. Where the public code
knows no ends of paths, V(s') is 0 here, as in Algorithm 1. Where all states are positive, units
that are off in each of them for good are left out, so that r-hat at a state with negative features
is not that of the public code's network.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gladius.model.estimate import Estimate, Fit, row_estimates
from gladius.panel.anchor import Anchor
from gladius.panel.record import Integers, Transitions
from gladius.paper import rows
from gladius.paper.long_work import Checkpoint, file_of, progress_line
from gladius.paper.training import (
    TRUNK,
    Layout,
    Learner,
    Q,
    alternate,
    gradient,
    look,
    training,
)
from gladius.solvers.networks import without_denormals
from gladius.validate import (
    Array,
    InputError,
    check_choice,
    check_discount,
    check_options,
    check_whole,
    generators,
    needs_torch,
)

Truth = Callable[[Array, Integers], Array]

LARGEST_SINGLE = 2.0**24  # from here on float32 does not tell whole numbers apart
LEVEL = -55.0  # of the output biases, where the truth sets the level
LEARNING_RATE, DECAY, WEIGHT_DECAY, CLIP = 1e-3, 5e-4, 1e-4, 1.0


@dataclass(frozen=True)
class Oracle:
    """What the choice of the epoch by true error uses."""

    test: Sequence[Transitions]  # a test split for each data set
    truth: Callable[[Array, Integers], Array]  # the true r of (n, d) features and (n,) actions


@dataclass(frozen=True)
class Options:
    """How the public procedure is run.

    Attributes:
        level_from_truth: output biases start at -55 (leak), else at 0.
        absolute: |td^2 - beta^2 dev^2| as in the code, else the paper's signed term.
        epochs: passes over the data.
        units: hidden units a layer (50 in the code's configuration, 10 in the paper).
        batch_trajectories: trajectories a batch.
        dtype: working precision; float32 in the code.
        repetitions: trainings, each from the weights and moments of the one before; the learning
            rate starts anew.
        risk_every: epochs between two evaluations of the losses; 0: never.
    """

    level_from_truth: bool = True
    absolute: bool = True
    epochs: int = 20_000
    units: int = 50
    batch_trajectories: int = 32
    dtype: type[np.floating[Any]] = np.float32
    repetitions: int = 1
    risk_every: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "units", "batch_trajectories", "repetitions"):
            check_whole(name, getattr(self, name), 1)
        check_whole("risk_every", self.risk_every, 0)
        if self.dtype is not np.float32 and self.dtype is not np.float64:
            raise InputError("dtype", self.dtype, "give numpy.float32 or numpy.float64")


@dataclass(frozen=True)
class ReluHead:
    """(n, d) states -> (n, A) outputs of two hidden ReLU layers and one head."""

    weight_1: Array
    bias_1: Array
    weight_2: Array
    bias_2: Array
    head: Array
    level: Array

    def __call__(self, states: Array) -> Array:
        hidden = np.maximum(states @ self.weight_1 + self.bias_1, 0.0)
        hidden = np.maximum(hidden @ self.weight_2 + self.bias_2, 0.0)
        return np.asarray(hidden @ self.head + self.level)


@dataclass(frozen=True)
class Selection:
    """The network at one epoch."""

    epoch: int  # epochs trained before it (0: the untrained network)
    gradient: float  # largest entry of the gradient of the Q loss over the whole training data
    layout: Layout
    parameters: Array

    def combination(self, weight: float) -> ReluHead:
        """Q + weight zeta as a function of any state; both are heads of one trunk."""
        model = self.layout.blocks(self.parameters.astype(np.float64))
        of_q, of_zeta = model.q, model.zeta
        head, level = of_q.head + weight * of_zeta.head, of_q.level + weight * of_zeta.level
        return ReluHead(*of_q[:4], head, level)


@dataclass(frozen=True)
class Pass:
    """One training of one network."""

    # (epochs,) test MAPE before each epoch, per cent; zeros without a true reward
    trace: Array
    last: Selection  # after the last epoch
    before_last: Selection  # at the last of `trace`
    best: Selection | None  # at the smallest of `trace`, the first; None without a true reward
    # (L, 2, 3) before each `risk_every`-th epoch, over the training and the test split: mean
    # -log pi, and over anchor observations the mean Bellman term, signed and in absolute value
    risks: Array
    cpu_seconds: float  # processor time


class Tested(NamedTuple):
    """A test split in batches, and its distinct transitions' true rewards and weights."""

    found: rows.Batches
    truth: Array
    weight: Array


@without_denormals()  # dead units have them; all trainings compared had the same bits
def train(
    data: Transitions,
    anchor: Anchor,
    discount: float,
    options: Options,
    start: Array,
    *,
    test: Transitions | None = None,
    truth: Truth | None = None,
    checkpoint: Path | None = None,
    progress: str = "",
) -> list[Pass]:
    """The training of one network on one data set; a pass for each repetition.

    Args:
        data: the training set, trajectories in file order.
        anchor: the anchor action and its reward.
        discount: beta.
        options: of the procedure.
        start: initial weights, a vector of `layout_of`.
        test: a split on which the losses are evaluated, and with `truth` the error; by default the
            training set, so that there are no losses of held-out data.
        truth: the true reward (leak).
        checkpoint: a file from which an interrupted training goes on, to the same numbers.
        progress: the name of the line that shows it; without a name there is none.

    Raises:
        InputError: for a bad option, or data that the code cannot train on.
    """
    beta: float = options.dtype(check_discount(discount))  # type: ignore[assignment]  # in its precision
    layout = layout_of(data, options)
    if np.shape(start) != (layout.size,):
        raise InputError("start", np.shape(start), f"give a vector of {layout.size} numbers")
    if options.dtype is np.float32 and np.abs(data.states).max() >= LARGEST_SINGLE:
        hint = "features of 2**24 and more run together in it: rescale them, or give numpy.float64"
        raise InputError("dtype", "float32", hint)
    found = _batches(data, anchor, options)
    uses = np.add.reduceat(found.rows.anchored, found.row_ends[:-1])[1::2]
    if np.any(uses == 0):
        batch = f"batch {2 * int(np.argmin(uses)) + 1}"
        hint = f"action {anchor.action} never occurs there: use larger batches"
        raise InputError("data", batch, hint)
    tested = _tested(data if test is None else test, truth, anchor, options)
    parameters = np.array(start, options.dtype)
    if min(one.rows.states.min() for one in (found, tested.found)) > 0:
        layout, parameters = without_dead_units(layout, parameters)
    states = max(int(np.diff(one.state_ends).max()) for one in (found, tested.found))
    learner = training(layout, parameters, states, decay=WEIGHT_DECAY, clip=CLIP)
    epochs, times, every = options.epochs, options.repetitions, options.risk_every
    networks = np.zeros((times, 3, len(parameters)), options.dtype)  # best, before the last, last
    chosen, position = np.zeros(times, np.int64), np.zeros(1, np.int64)
    trace, seconds = np.zeros((times, epochs)), np.zeros(times)
    risks = np.zeros((times, -(-epochs // every) if every else 0, 2, 3))
    state = {"networks": networks, "chosen": chosen, "position": position, "trace": trace}
    state |= {
        "seconds": seconds,
        "risks": risks,
        "parameters": learner.parameters,
        "mean": learner.mean,
    }
    state |= {"square": learner.square, "done": learner.done}
    depends = data.states, data.actions, data.next_states, data.done, _label(data, options)
    more = *tested.found.rows, tested.truth, found.rows.reward, start
    file = Checkpoint(checkpoint, (*depends, *more, anchor.action, discount, options), state)
    term = rows.ABSOLUTE if options.absolute else rows.PRINTED
    of_loss = anchor.action, beta, term
    with progress_line(progress, epochs * times) as advance:
        for step in range(int(position[0]), epochs * times):
            start_time, (k, i) = time.process_time(), divmod(step, epochs)
            looks = [found, tested.found] if every and i % every == 0 else []
            if looks:
                risks[k, i // every] = [risk(learner, one, anchor.action, beta) for one in looks]
            if truth is not None:  # the code looks before each epoch, so never at the end
                trace[k, i] = look(learner, *tested, anchor.action, beta)[3]
            if i == 0 or trace[k, i] < trace[k, chosen[k]]:
                networks[k, 0], chosen[k] = learner.parameters, i
            networks[k, 1] = learner.parameters
            alternate(learner, found, *of_loss, LEARNING_RATE / (1.0 + DECAY * i))
            networks[k, 2] = learner.parameters
            seconds[k] += time.process_time() - start_time
            position[0] = step + 1
            file.write(at_once=step + 1 == epochs * times)
            advance(1)
    passes = []
    for k in range(times):
        ends = (int(chosen[k]), epochs - 1, epochs)
        best, before, last = (
            Selection(epoch, _steepest(learner, one, found, *of_loss), layout, one)
            for epoch, one in zip(ends, networks[k], strict=True)
        )
        chosen_one = None if truth is None else best
        passes.append(Pass(trace[k], last, before, chosen_one, risks[k], float(seconds[k])))
    return passes


def risk(learner: Learner, found: rows.Batches, anchor: int, beta: float) -> Array:
    """(3,) mean -log pi, and the mean Bellman term of anchor rows, signed and absolute."""
    none = np.zeros(0, learner.parameters.dtype)
    nll, signed, absolute, _ = look(learner, found, none, none, anchor, beta)
    uses = max(float(found.rows.anchored.sum()), 1.0)
    return np.array([nll / found.rows.number.sum(), signed / uses, absolute / uses])


def layout_of(data: Transitions, options: Options) -> Layout:
    """The vector of parameters for the data: zeta's head, the trunk, Q's head."""
    units = options.units, options.units
    return Layout(TRUNK, data.states.shape[1], units, data.number_of_actions)


def initial(layout: Layout, level: float, rng: np.random.Generator) -> Array:
    """The vector of Xavier-normal weights, zero hidden biases, output biases `level`."""
    parameters = np.zeros(layout.size)
    model = layout.blocks(parameters)
    for block in (model.zeta.head.T, model.q.weight_1, model.q.weight_2, model.q.head.T):
        block[:] = rng.normal(0.0, np.sqrt(2.0 / sum(block.shape)), block.shape)
    model.zeta.level[:], model.q.level[:] = level, level
    return parameters


def without_dead_units(layout: Layout, parameters: Array) -> tuple[Layout, Array]:
    """The network without the first layer's units that are off at every positive state.

    Such a unit has no positive weight and no positive bias. Its gradient is zero, and weight decay
    does not change the sign of its weights, so that it stays off.
    """
    model = layout.blocks(parameters)
    is_on = np.asarray((model.q.weight_1 > 0).any(axis=0)) | (model.q.bias_1 > 0)
    is_on[0] |= not is_on.any()
    smaller = replace(layout, units=(int(is_on.sum()), layout.units[1]))
    alive = np.empty(smaller.size, parameters.dtype)
    for mine, of in zip(smaller.blocks(alive)[2:], model[2:], strict=True):
        mine.weight_1[:], mine.bias_1[:] = of.weight_1[:, is_on], of.bias_1[is_on]
        mine.weight_2[:], mine.bias_2[:] = of.weight_2[is_on], of.bias_2
        mine.head[:], mine.level[:] = of.head, of.level
    return smaller, alive


def _label(data: Transitions, options: Options) -> Integers:
    """(n,) the batch of each row: whole trajectories in file order."""
    return np.asarray(pd.factorize(data.trajectory)[0] // options.batch_trajectories)


def _batches(data: Transitions, anchor: Anchor, options: Options) -> rows.Batches:
    label = _label(data, options)
    return rows.batches(data, label, anchor, per_anchor=True, dtype=options.dtype)


def _tested(test: Transitions, truth: Truth | None, anchor: Anchor, options: Options) -> Tested:
    """A test split; the code averages the means of test batches, of which the last may be smaller.

    Without a true reward there is no error, and no transition has a weight.
    """
    found, none = _batches(test, anchor, options), np.zeros(0, options.dtype)
    if truth is None:
        return Tested(found, none, none)
    sizes = np.add.reduceat(found.rows.number.astype(float), found.row_ends[:-1])
    batch = np.repeat(np.arange(len(sizes)), np.diff(found.row_ends))
    states = found.rows.states[found.state_ends[batch] + found.rows.state].astype(float)
    right = np.asarray(truth(states, found.rows.action))
    if np.any(right == 0):
        raise InputError("oracle.truth", 0.0, "MAPE is undefined where the true reward is zero")
    weight = 100.0 * found.rows.number / sizes[batch] / len(sizes) / np.abs(right)
    return Tested(found, right.astype(options.dtype), weight.astype(options.dtype))


def _steepest(
    learner: Learner, parameters: Array, found: rows.Batches, anchor: int, beta: float, term: int
) -> float:
    """The largest entry of the gradient of the Q loss over all batches together."""
    learner.parameters[:] = parameters
    sizes = [1.0, *(max(float(x.sum()), 1.0) for x in (found.rows.number, found.rows.anchored))]
    share = np.tile(1 / np.array(sizes, parameters.dtype), (len(found.rows.share), 1))
    whole = found._replace(rows=found.rows._replace(share=share))
    total = np.zeros(len(parameters))
    for i in range(len(share)):
        gradient(learner, rows.cut(whole, i), Q, anchor, beta, term)
        own = slice(*learner.ends[Q])
        total[own] += learner.gradient[own]
    return float(np.abs(total).max())


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    oracle: Oracle | None = None,
    rngs: int | np.random.Generator | Sequence[np.random.Generator] = 0,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
    device: str = "cpu",
    **options: Any,
) -> list[Estimate]:
    """Estimates of the oracle's epoch if an oracle is given, else of the last.

    The status is `diverged` where Q or zeta is not finite, else `not_converged`: the code stops at
    its number of epochs, whatever the gradient. A data set of a single batch is warned of.

    Args:
        data, anchor, discount: see `train`.
        oracle: what the choice of the epoch by true error uses (leak), or None.
        rngs: a seed, a generator, or one a data set, for its initial weights (nothing else is
            random).
        checkpoint: a folder, in which an interrupted training is kept and goes on, to the same
            numbers.
        progress: whether lines show it; needs rich.
        device: "cpu", or "cuda" for one stack of all data sets on a GPU, which needs torch; see
            `gladius.paper.stack`.
        options: those of `Options`. The losses that `risk_every` asks for are in `extra`, under
            `risks`, as `Pass` has them. Without an oracle there is no test split, and both rows are
            those of the training set.

    Raises:
        InputError: for a bad option, or data that the code cannot train on, before any work.
    """
    check_choice("device", device, ("cpu", "cuda"))
    check_options(Options, options)
    settings = Options(**options)
    _check_rows(data, anchor, settings)
    if device != "cpu":
        with needs_torch("device", device):
            stack = import_module("gladius.paper.stack")  # by its name: it imports this module
        given = {"oracle": oracle, "checkpoint": checkpoint, **options}
        on_device: list[Pass] = stack.run(
            data, anchor, discount, settings, rngs, device, progress, given
        )
        return estimates(data, on_device, anchor, discount, "last")
    trained = run(
        data,
        anchor,
        discount,
        oracle=oracle,
        rngs=rngs,
        checkpoint=checkpoint,
        progress=progress,
        **options,
    )
    return estimates(data, trained, anchor, discount, "last" if oracle is None else "oracle")


def _check_rows(data: Sequence[Transitions], anchor: Anchor, options: Options) -> None:
    """Raise for data that `train` refuses, before it has trained others; warn of a single batch."""
    for r, one in enumerate(data):
        label, name = _label(one, options), f"data set {r}"
        if label.max() == 0:
            text = f"{name} is one batch, so that Q takes no step and moves with the trunk alone"
            warnings.warn(f"{text}: give a smaller batch_trajectories", stacklevel=3)
        uses = np.bincount(label[one.actions == anchor.action], minlength=label.max() + 1)[1::2]
        if np.any(uses == 0):
            hint = f"action {anchor.action} never occurs there: use larger batches"
            raise InputError("data", f"{name}, batch {2 * int(np.argmin(uses)) + 1}", hint)
        if options.dtype is np.float32 and np.abs(one.states).max() >= LARGEST_SINGLE:
            hint = "features of 2**24 and more run together in it: rescale, or give numpy.float64"
            raise InputError("dtype", f"float32, {name}", hint)


def run(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    oracle: Oracle | None = None,
    rngs: int | np.random.Generator | Sequence[np.random.Generator] = 0,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
    **options: Any,
) -> list[Pass]:
    """The training of each data set, its last repetition; see `fit`."""
    check_options(Options, options)
    settings = Options(**options)
    streams = generators(rngs, len(data))
    if oracle is not None and not isinstance(oracle, Oracle):
        raise InputError("oracle", type(oracle).__name__, "give an Oracle, or leave it out")
    if oracle is not None and len(oracle.test) != len(data):
        raise InputError("oracle.test", f"{len(oracle.test)} splits", f"give {len(data)}")
    level, trained = LEVEL if settings.level_from_truth else 0.0, []
    for r, (one, rng) in enumerate(zip(data, streams, strict=True)):
        passes = train(
            one,
            anchor,
            discount,
            settings,
            initial(layout_of(one, settings), level, rng),
            test=None if oracle is None else oracle.test[r],
            truth=None if oracle is None else oracle.truth,
            checkpoint=file_of(checkpoint, r),
            progress=f"data set {r}" * progress,
        )
        trained.append(passes[-1])
    return trained


def estimates(
    data: Sequence[Transitions],
    trained: Sequence[Pass],
    anchor: Anchor,
    discount: float,
    selection: str,
) -> list[Estimate]:
    """The Estimates of trainings for `selection` "last" or "oracle" (the leak)."""
    fits = []
    for one in trained:
        chosen = {"last": one.last, "oracle": one.best}.get(selection)
        if chosen is None:
            hint = "choose last, or oracle where the run had an oracle"
            raise InputError("selection", selection, hint)
        is_finite = bool(np.isfinite(chosen.parameters).all())
        fits.append(
            Fit(
                chosen.combination(0.0),
                chosen.combination(-discount),
                status="not_converged" if is_finite else "diverged",
                iterations=chosen.epoch,
                gradient_norm=chosen.gradient,
                extra={"selection": selection, "risks": one.risks},
            )
        )
    with np.errstate(over="ignore", invalid="ignore"):  # a blow-up is a result, and recorded
        return row_estimates(f"gladius (author, {selection} epoch)", fits, data, anchor, discount)
