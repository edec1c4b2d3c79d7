"""The `printed` protocol: the paper's Algorithms 1 and 2 to the letter.

Algorithm 1, at every iteration: draw B1 and B2; ascent step (a step down D),

    theta_1 <- theta_1 - tau_1 grad sum_{B2} (V(s') - zeta(s, a))^2,        Q fixed;

descent step, zeta fixed,

    theta_2 <- theta_2 - tau_2 grad { sum_{B2} -log pi(a | s)
               + sum_{B1, a = a_s} [(r + beta V(s') - Q(s, a))^2 - beta^2 (V(s') - zeta(s, a))^2] };

then r-hat = Q - beta zeta. Algorithm 2 (`deterministic`) has no zeta: one batch, the squared TD
error alone, r-hat = Q(s, a) - beta V(s').

What had to be settled to run the text:

- The loop tests t <= T but counts `iteration`: they are one counter here.
- Both steps are printed with tau_1: the descent takes its own tau_2.
- The text ascends on B1 and descends on B2; the box has D and the likelihood on B2 and the
  Bellman term on B1. The box is followed.
- Batches: how to draw is not said. Here with replacement, afresh at each iteration, or all of D
  (`batch=None`), which the text allows.
- Losses are sums over the batch. tau_1 and tau_2 below are the printed steps times the batch
  size, so that one value serves every N.
- "Initialize": zero tables, or random weights with zero output biases. Nothing knows the level.
- Algorithm 2's r-hat has a free s': it is the observed successor of (s, a). Where several were
  observed (the transitions are not deterministic) their mean V is taken.

A replication whose signed Bellman term per transition leaves +-1e6, or is not a number, stops
there with status `diverged`; its last tables are kept as its estimate.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gladius.anchor import Anchor, nearest
from gladius.checks import Array, InputError, check_discount, check_whole
from gladius.estimate import Diagnostics, Estimate
from gladius.function_classes import MLP, FunctionClass, Linear
from gladius.objective import conditional_mean, value
from gladius.printed_steps import Block, ascent_slope, descent, draw, standardised
from gladius.transition_probabilities import (
    TransitionProbabilities,
    empirical_transition_probabilities,
)
from gladius.transitions import Counts, Transitions, group

BLOW_UP = 1e6  # signed Bellman term per transition
CHECK_EVERY = 100  # iterations between traces and tests of convergence


@dataclass(frozen=True)
class Options:
    """How Algorithm 1 or 2 is run.

    Attributes:
        function_class: "tabular" or "mlp" (tanh), separate for Q and zeta.
        hidden: widths of the MLP's hidden layers.
        optimiser: "gradient", the printed update, or "adam".
        tau_1, tau_2: steps of ascent and descent on losses per transition.
        ascents: ascent steps before each descent step (printed: one).
        iterations: T.
        batch: transitions in each of B1 and B2, or None for all of D.
        tolerance: converged when both gradients over all of D, per transition, are below it.
        deterministic: Algorithm 2.
    """

    function_class: str = "mlp"
    hidden: tuple[int, ...] = (10, 10)
    optimiser: str = "gradient"
    tau_1: float = 0.01
    tau_2: float = 0.01
    ascents: int = 1
    iterations: int = 10_000
    batch: int | None = None
    tolerance: float = 1e-6
    deterministic: bool = False

    def __post_init__(self) -> None:
        for name, known in [
            ("function_class", ("tabular", "mlp")),
            ("optimiser", ("gradient", "adam")),
        ]:
            if getattr(self, name) not in known:
                raise InputError(name, getattr(self, name), f"choose one of {known}")
        for name in ("tau_1", "tau_2"):
            step = getattr(self, name)
            if not (np.isfinite(step) and step > 0):
                raise InputError(name, step, "give a positive step")
        check_whole("ascents", self.ascents, 1)
        check_whole("iterations", self.iterations, 1)
        if self.batch is not None:
            check_whole("batch", self.batch, 1)
        if not self.tolerance >= 0:
            raise InputError("tolerance", self.tolerance, "give zero or a small positive number")


@dataclass(frozen=True)
class Run:
    """Where the iteration led; R replications lead.

    Attributes:
        q, zeta: (R, S, A) on the grid; zeta of Algorithm 2 is the observed mean of V(s').
        iteration: (R,) iterations done.
        diverged, converged: (R,).
        gradient: (R,) largest entry of both gradients over all of D, per transition.
        trace_iterations: (T,).
        trace_nll, trace_bellman: (R, T) per transition over all of D; the latter signed.
        blocks: the networks, Q's first.
    """

    q: Array
    zeta: Array
    iteration: NDArray[np.int64]
    diverged: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    gradient: Array
    trace_iterations: NDArray[np.int64]
    trace_nll: Array
    trace_bellman: Array
    blocks: tuple[Block, ...]


def run(
    counts: Counts,
    anchor: Anchor,
    discount: float,
    options: Options,
    rngs: Sequence[np.random.Generator],
) -> Run:
    """Iterate Algorithm 1 (or 2) on R replications side by side."""
    reward, size = anchor.values(counts.states), counts.size[:, None, None]
    q_block, zeta_block = (
        _block(counts, options, rngs, step) for step in (options.tau_2, options.tau_1)
    )
    number = len(counts.visits)
    batch_size = counts.size if options.batch is None else np.full(number, float(options.batch))
    diverged, converged = np.zeros(number, dtype=bool), np.zeros(number, dtype=bool)
    iteration = np.zeros(number, dtype=np.int64)
    gradient = np.full(number, np.inf)
    trace: list[tuple[int, Array, Array]] = []
    with np.errstate(over="ignore", invalid="ignore"):  # a blow-up is a result, recorded below
        for t in range(options.iterations + 1):
            q = q_block.outputs()
            zeta = None if options.deterministic else zeta_block.outputs()
            if t % CHECK_EVERY == 0 or t == options.iterations:
                whole = descent(q, zeta, counts, counts, anchor.action, reward, discount)
                slopes = [q_block.gradient(whole.slope / size)]
                if zeta is not None:
                    rise = ascent_slope(zeta, value(q), counts) / size
                    slopes.append(zeta_block.gradient(rise))
                gradient = np.max([np.abs(s).max(axis=1) for s in slopes], axis=0)
                trace.append((t, whole.nll / counts.size, whole.bellman / counts.size))
                converged |= ~diverged & (gradient <= options.tolerance)
            moving = ~(diverged | converged)
            if t == options.iterations or not np.any(moving):
                break
            first, second = (
                counts if options.batch is None else draw(counts, options.batch, rngs)
                for _ in range(2)
            )
            if zeta is not None:
                v = value(q)
                for _ in range(options.ascents):
                    rise = ascent_slope(zeta, v, second) / batch_size[:, None, None]
                    zeta_block.move(rise, moving)
                    zeta = zeta_block.outputs()
            loss = descent(q, zeta, first, second, anchor.action, reward, discount)
            # `<=` is false of nan, so a replication that is not a number stops too
            diverged |= moving & ~(np.abs(loss.bellman / batch_size) <= BLOW_UP)
            moving &= ~diverged
            q_block.move(loss.slope / batch_size[:, None, None], moving)
            iteration[moving] += 1
        known = conditional_mean(value(q), counts) if zeta is None else zeta
    times, nll, bellman = zip(*trace, strict=True)
    return Run(
        q=q,
        zeta=known,
        iteration=iteration,
        diverged=diverged,
        converged=converged,
        gradient=gradient,
        trace_iterations=np.array(times),
        trace_nll=np.stack(nll, axis=1),
        trace_bellman=np.stack(bellman, axis=1),
        blocks=(q_block,) if options.deterministic else (q_block, zeta_block),
    )


def _block(
    counts: Counts, options: Options, rngs: Sequence[np.random.Generator], step: float
) -> Block:
    states, actions = counts.visits.shape[1:]
    family: FunctionClass
    if options.function_class == "tabular":
        family, inputs = Linear(states, actions), np.eye(states)
    else:
        family = MLP(counts.states.shape[1], actions, options.hidden)
        inputs = standardised(counts, counts.states)
    return Block(family, inputs, family.init(rngs), step, options.optimiser == "adam")


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    rngs: Sequence[np.random.Generator] | None = None,
    **options: Any,
) -> list[Estimate]:
    """One Estimate a data set from Algorithm 1, or 2 with `deterministic=True`.

    Args:
        data: R replications, fitted side by side.
        anchor: the anchor action and its reward.
        discount: beta.
        rngs: one generator a replication, for weights and batches; by default from seed 0.
        options: the fields of `Options`.

    Returns:
        Estimates. Status `ok` if the gradients fell below the tolerance, else `not_converged`
        or `diverged`; `diagnostics.extra` has `trace_iterations`, `trace_nll`,
        `trace_bellman` (the signed term, per transition) and `inner_iterations`: 0 where single
        steps alternate, the ascent steps where there are several to a descent step.
    """
    known = {one.name for one in fields(Options)}
    for name in options:
        if name not in known:
            raise InputError("option", name, f"choose from {sorted(known)}")
    chosen = Options(**options)
    check_discount(discount)
    started = time.process_time()
    if rngs is None:
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(0).spawn(len(data))]
    if len(rngs) != len(data):
        raise InputError("rngs", f"{len(rngs)} generators", f"give one for each of {len(data)}")
    counts = group(data)
    result = run(counts, anchor, discount, chosen, rngs)
    p_hat = (
        empirical_transition_probabilities(counts) if chosen.deterministic else None
    )  # zeta is in its place
    cpu = (time.process_time() - started) / len(data)
    given = counts, p_hat, result, anchor, discount, chosen, cpu
    return [_estimate(r, *given) for r in range(len(data))]


def _estimate(
    r: int,
    counts: Counts,
    p_hat: TransitionProbabilities | None,
    result: Run,
    anchor: Anchor,
    discount: float,
    options: Options,
    cpu_seconds: float,
) -> Estimate:
    with np.errstate(over="ignore", invalid="ignore"):
        v = value(result.q[r])
        one = Counts(counts.states, counts.visits[r : r + 1], counts.moves[r : r + 1])
        ahead = conditional_mean(v[None], one)
        gap = anchor.values(counts.states) + discount * ahead[0, :, anchor.action]
        gap = gap - result.q[r, :, anchor.action]
        used = counts.visits[r, :, anchor.action]
        error = float(used @ gap**2 / counts.size[r])
    status = "ok" if result.converged[r] else "not_converged"
    diagnostics = Diagnostics(
        converged=bool(result.converged[r]),
        iterations=int(result.iteration[r]),
        gradient_norm=float(result.gradient[r]),
        nll=float(result.trace_nll[r, -1]),
        bellman_error=error,
        cpu_seconds=cpu_seconds,
        status="diverged" if result.diverged[r] else status,
        extra={
            "inner_iterations": _ascents(options) * int(result.iteration[r]),
            "trace_iterations": result.trace_iterations,
            "trace_nll": result.trace_nll[r],
            "trace_bellman": result.trace_bellman[r],
        },
    )

    def outputs(block: int, states: Array) -> Array:
        if options.function_class == "tabular":
            table = (result.q, result.zeta)[block][r]
            known: Array = table[nearest(counts.states, states)]
            return known
        net = result.blocks[block]
        inputs = standardised(counts, states)[r]
        new: Array = net.family.outputs(net.theta[r : r + 1], inputs)[0]
        return new

    def q(states: Array) -> Array:
        return outputs(0, states)

    def reward(states: Array) -> Array:
        ahead = outputs(1, states) if p_hat is None else (p_hat.rows(r, states) @ v).T
        return q(states) - discount * ahead

    algorithm = 2 if options.deterministic else 1
    name = f"gladius (printed, Algorithm {algorithm}, {options.function_class})"
    return Estimate(name, q, reward, counts.states.shape[1], diagnostics)


def _ascents(options: Options) -> int:
    """Steps of the loop inside an iteration; a single ascent, or none, is no loop."""
    return options.ascents if options.ascents > 1 and not options.deterministic else 0
