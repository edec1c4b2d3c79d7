"""The `printed` protocol: the paper's Algorithms 1 and 2 to the letter.

`gladius.paper.box` has Algorithm 1 for one table, to be read beside the paper. Here it runs on any
observations, with tables or networks, in machine code (`gladius.paper.training`). At every
iteration it draws B1 and B2; an ascent step (a step down D),

    theta_1 <- theta_1 - tau_1 grad sum_{B2} (V(s') - zeta(s, a))^2,        Q fixed;

a descent step, zeta fixed,

    theta_2 <- theta_2 - tau_2 grad { sum_{B2} -log pi(a | s)
               + sum_{B1, a = a_s} [(r + beta V(s') - Q(s, a))^2 - beta^2 (V(s') - zeta(s, a))^2] };

then r-hat = Q - beta zeta. Algorithm 2 (`deterministic`) has no zeta: one batch, the squared TD
error alone, r-hat = Q(s, a) - beta V(s'), V averaged over several s'.

Implementation choices:

- Both steps are printed with tau_1. The descent takes its own tau_2. Both are the printed steps
  times the batch size, so that one value serves every N.
- The text ascends on B1 and descends on B2; the box is followed. Batches are drawn with
  replacement, afresh at each iteration, or are all of the data, which the text allows.
- "Initialize" means zero tables, or random weights with zero output biases.
- The ascent is on all actions, as in the box. Where zeta's parameters are shared between actions,
  it is not along the gradient of the empirical objective: erratum E13.
- A fit stops with status `diverged` where its signed Bellman term per transition leaves +-1e6 or
  is not a number. Its last tables are its estimate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from gladius import validate as checks
from gladius.model.estimate import Estimate, Fit, StateFunction, row_estimates
from gladius.model.frequencies import weighted_sum
from gladius.model.risk import value
from gladius.panel.anchor import Anchor, NearestState
from gladius.panel.record import Transitions
from gladius.paper import rows
from gladius.paper.function_classes import MLP, network_outputs
from gladius.paper.long_work import Checkpoint, file_of, progress_line
from gladius.paper.training import (
    SEPARATE,
    TABLES,
    ZETA,
    Layout,
    Learner,
    Q,
    gradient,
    iterate,
    training,
)
from gladius.validate import Array, InputError

BLOW_UP = 1e6  # signed Bellman term per transition
CHECK_EVERY = 100  # iterations between traces and tests of convergence


@dataclass(frozen=True)
class Options:
    """How Algorithm 1 or 2 is run.

    Attributes:
        function_class: "tabular" or "mlp" (tanh, 2 x 10), separate for Q and zeta.
        optimiser: "gradient", the printed update, or "adam".
        tau_1, tau_2: steps of ascent and descent on losses per transition.
        ascents: ascent steps before each descent step (printed: one).
        iterations: T.
        batch: transitions in each of B1 and B2, or None for all of the data.
        tolerance: converged when both gradients over all of the data, per transition, are below it.
        deterministic: Algorithm 2.
    """

    function_class: str = "mlp"
    optimiser: str = "gradient"
    tau_1: float = 0.01
    tau_2: float = 0.01
    ascents: int = 1
    iterations: int = 10_000
    batch: int | None = None
    tolerance: float = 1e-6
    deterministic: bool = False

    def __post_init__(self) -> None:
        checks.check_choice("function_class", self.function_class, ("tabular", "mlp"))
        checks.check_choice("optimiser", self.optimiser, ("gradient", "adam"))
        for name in ("tau_1", "tau_2"):
            checks.check_positive(name, getattr(self, name), "give a positive step")
        for name in ("ascents", "iterations", *(["batch"] if self.batch is not None else [])):
            checks.check_whole(name, getattr(self, name), 1)
        if not isinstance(self.tolerance, int | float) or not self.tolerance >= 0:
            raise InputError("tolerance", self.tolerance, "give zero or a small positive number")

    @property
    def term(self) -> int:
        """The Bellman term of `gladius.paper.rows`."""
        return rows.DETERMINISTIC if self.deterministic else rows.PRINTED


@dataclass(frozen=True)
class Run:
    """The end of a run of an algorithm."""

    q: Array  # (S, A) at the distinct states of the data, as zeta, which Algorithm 2 leaves at 0
    zeta: Array
    parameters: tuple[Array, Array]  # of zeta's network and of Q's, or their tables, flat
    status: str  # ok, not_converged or diverged
    iterations: int
    gradient: float  # largest entry of the gradients over all of the data, per transition
    trace: Array  # (T,) signed Bellman term per transition, every CHECK_EVERY iterations


def run(
    whole: rows.Batch,
    actions: int,
    anchor: int,
    discount: float,
    options: Options,
    rng: np.random.Generator,
    checkpoint: Path | None = None,
    progress: str = "",
) -> Run:
    """Algorithm 1 or 2, until it has converged or diverged, at most T iterations.

    Args:
        whole: all of the data, in which the losses are means; its states are the inputs.
        actions: A.
        anchor: a_s.
        discount: beta.
        options: of the algorithm.
        rng: for weights, Q's first, and for batches; those of iteration i have a generator of
            their own, so that an interrupted run goes on to the same numbers.
        checkpoint, progress: as in `gladius.paper.author.train`.
    """
    is_table = options.function_class == "tabular"
    layout = Layout(TABLES, len(whole.states), (0, 0), actions)
    start = np.zeros(layout.size)
    if not is_table:
        family = MLP(whole.states.shape[1], actions)
        layout = Layout(
            SEPARATE, family.inputs, (family.hidden[0], family.hidden[1]), actions, True
        )
        start = family.init([rng, rng])[::-1].ravel()
    learner = training(layout, start, len(whole.states), is_adam=options.optimiser == "adam")
    ascents = 0 if options.deterministic else options.ascents
    steps = ascents, options.tau_1, options.tau_2
    seed, position = int(rng.integers(2**63)), np.zeros(2, np.int64)  # iterations, traces
    status, ends = "not_converged", np.cumsum(whole.number)
    outcome = np.array([math.nan, 0.0])  # the largest gradient, and whether it has diverged
    trace = np.zeros(options.iterations // CHECK_EVERY + 2)
    state = {"position": position, "trace": trace, "parameters": learner.parameters}
    state |= {"outcome": outcome}
    state |= {"mean": learner.mean, "square": learner.square, "done": learner.done}
    depends = (*whole, actions, anchor, discount, options, start, seed)
    file = Checkpoint(checkpoint, depends, state)
    with progress_line(progress, options.iterations) as advance:
        while not outcome[1]:
            done, size = int(position[0]), 1
            if options.batch is None or done % CHECK_EVERY == 0 or done == options.iterations:
                outcome[0], bellman = steepest(learner, whole, anchor, discount, options)
                trace[-(-done // CHECK_EVERY)] = bellman
                position[1] = -(-done // CHECK_EVERY) + 1
                status = "ok" if outcome[0] <= options.tolerance else "not_converged"
            if status == "ok" or done == options.iterations:
                break
            batch = whole
            if options.batch is None:
                size = min(CHECK_EVERY - done % CHECK_EVERY, options.iterations - done)
            else:
                own = np.random.default_rng([seed, done])
                one = {"keep_states": is_table, "is_one": options.deterministic}
                batch = rows.draw(whole, ends, options.batch, own, **one)
            made, _ = iterate(learner, batch, anchor, discount, options.term, *steps, size, BLOW_UP)
            position[0] += made
            if made < size:
                outcome[1] = 1.0
                break
            file.write()
            advance(made)
        file.write(at_once=True)
    status = "diverged" if outcome[1] else status
    gradient(learner, whole, Q, anchor, discount, options.term)
    half = len(start) // 2
    parameters = learner.parameters[:half].copy(), learner.parameters[half:].copy()
    tables = learner.at.q.copy(), learner.at.zeta.copy()
    return Run(
        *tables, parameters, status, int(position[0]), float(outcome[0]), trace[: position[1]]
    )


def steepest(
    learner: Learner, whole: rows.Batch, anchor: int, discount: float, options: Options
) -> tuple[float, float]:
    """The largest entry of both gradients over all of the data, and the Bellman term there."""
    largest = []
    if not options.deterministic:
        gradient(learner, whole, ZETA, anchor, discount, options.term)
        largest.append(np.abs(learner.gradient[slice(*learner.ends[ZETA])]).max())
    _, bellman, _ = gradient(learner, whole, Q, anchor, discount, options.term)
    largest.append(np.abs(learner.gradient[slice(*learner.ends[Q])]).max())
    return float(np.max(largest)), bellman


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
    """Estimates from Algorithm 1, or 2 with `deterministic=True`; options are those of `Options`.

    `rngs`, a seed, a generator, or one a data set, are for weights and batches. `checkpoint` and
    `progress` are as in `gladius.paper.author.fit`. Status `ok` if the gradients fell below the
    tolerance. `extra` has `trace_bellman` (the signed term, per transition, every
    hundredth iteration); `inner_iterations` are the ascent steps where there are several to a
    descent step. A table's Q, zeta and r at a state that the data do not have are those of the
    nearest that they have.
    """
    checks.check_options(Options, options)
    settings = Options(**options)
    streams = checks.generators(rngs, len(data))
    has_several = settings.ascents > 1 and not settings.deterministic  # a single ascent is no loop
    fits = []
    for r, (one, rng) in enumerate(zip(data, streams, strict=True)):
        whole = rows.whole_batch(one, anchor)
        scaling = one.states.mean(axis=0), one.states.std(axis=0)
        scaling = scaling[0], np.where(scaling[1] > 0, scaling[1], 1.0)
        inputs = whole
        if settings.function_class == "mlp":
            inputs = whole._replace(states=(whole.states - scaling[0]) / scaling[1])
        with np.errstate(over="ignore", invalid="ignore"):  # a blow-up is a result, and recorded
            found = run(
                inputs,
                one.number_of_actions,
                anchor.action,
                discount,
                settings,
                rng,
                file_of(checkpoint, r),
                f"data set {r}" * progress,
            )
        fits.append(
            Fit(
                *_functions(found, whole, scaling, discount, settings),
                status=found.status,
                iterations=found.iterations,
                gradient_norm=found.gradient,
                inner_iterations=settings.ascents * found.iterations if has_several else 0,
                extra={"trace_bellman": found.trace},
            )
        )
    name = f"gladius (printed, algorithm_{1 + settings.deterministic}, {settings.function_class})"
    with np.errstate(over="ignore", invalid="ignore"):
        return row_estimates(name, fits, data, anchor, discount)


def _functions(
    found: Run, whole: rows.Batch, scaling: tuple[Array, Array], discount: float, options: Options
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) of any state."""

    def outputs(parameters: Array, table: Array) -> StateFunction:
        if options.function_class == "tabular":
            return NearestState(whole.states, table)
        family = MLP(whole.states.shape[1], table.shape[1])
        return partial(network_outputs, family, parameters, *scaling)

    zeta, q = (outputs(*x) for x in zip(found.parameters, (found.zeta, found.q), strict=True))
    if not options.deterministic:
        return q, partial(weighted_sum, q, zeta, -discount)
    return q, partial(
        weighted_sum, q, ObservedNext.of(whole, value(found.q), found.q.shape[1]), -discount
    )


@dataclass(frozen=True)
class ObservedNext:
    """The mean of V(s') over the data's rows at (s, a), and at other states the nearest such."""

    means: tuple[NearestState, ...]  # of each action

    @classmethod
    def of(cls, whole: rows.Batch, v: Array, actions: int) -> "ObservedNext":
        """From V (S,) at the states of the data, for A actions."""
        ahead = np.where(whole.following == rows.END, 0.0, v[whole.following])
        means = []
        for action in range(actions):
            at = whole.action == action
            states, position = np.unique(whole.state[at], return_inverse=True)
            total, number = (
                np.bincount(position, x[at]) for x in (whole.number * ahead, whole.number)
            )
            if len(states):
                means.append(NearestState(whole.states[states], total / number))
            else:  # an action that the data never take has a zero, as all its numbers
                means.append(NearestState(whole.states[:1], np.zeros(1)))
        return cls(tuple(means))

    def __call__(self, states: Array) -> Array:
        return np.stack([mean(states) for mean in self.means], axis=1)
