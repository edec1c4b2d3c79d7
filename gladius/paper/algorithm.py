"""The `printed` protocol: the paper's Algorithms 1 and 2 to the letter, a function each.

Algorithm 1, at every iteration: draw B1 and B2; ascent step (a step down D),

    theta_1 <- theta_1 - tau_1 grad sum_{B2} (V(s') - zeta(s, a))^2,        Q fixed;

descent step, zeta fixed,

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
- A replication stops with status `diverged` where its signed Bellman term per transition leaves
  +-1e6 or is not a number. Its last tables are its estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Inexact
from numpy.typing import NDArray

from gladius import validate as checks
from gladius.model.estimate import Estimate, Fit, StateFunction, counts_estimates
from gladius.model.frequencies import continuation, empirical_transition_probabilities, weighted_sum
from gladius.model.risk import conditional_mean, value
from gladius.panel.anchor import Anchor, NearestState
from gladius.panel.record import Counts, Integers, Transitions, group
from gladius.paper.function_classes import MLP, NetworkIterate, TableIterate, network_outputs
from gladius.validate import Array, InputError, shaped

BLOW_UP = 1e6  # signed Bellman term per transition
CHECK_EVERY = 100  # iterations between traces and tests of convergence


@shaped
def ascent_slope(
    zeta: Inexact[Array, "R S A"], v: Inexact[Array, "R S"], batch: Counts
) -> Inexact[Array, "R S A"]:
    """Derivative in zeta(s, a) of D = sum_B (V(s') - zeta(s, a))^2; V is 0 at ends."""
    total = np.swapaxes((batch.moves * v[:, None, None]).sum(axis=3), 1, 2)
    return np.asarray(2.0 * (batch.visits * zeta - total))


@dataclass(frozen=True)
class Descent:
    """The descent loss over its batches: sums, and (R, S, A) their derivative in Q(s, a)."""

    nll: Array
    bellman: Array
    slope: Array


@shaped
def descent(
    q: Inexact[Array, "R S A"],
    zeta: Inexact[Array, "R S A"] | None,
    bellman_batch: Counts,
    likelihood_batch: Counts,
    action: int,
    reward: Inexact[Array, " S"],
    discount: float | Inexact[Array, " R"],
) -> Descent:
    """L-bar_NLL + L-bar_BE for fixed zeta; without zeta the Bellman term is Algorithm 2's.

    The batches are B1 and B2, `action` and `reward` a_s and r(s, a_s).
    """
    beta = np.broadcast_to(discount, len(q))[:, None]
    v = value(q)
    policy = np.exp(q - v[..., None])
    visits = likelihood_batch.visits
    nll = (visits * (v[..., None] - q)).sum(axis=(1, 2))
    slope = visits.sum(axis=2, keepdims=True) * policy - visits
    moves = bellman_batch.moves[:, action]
    ended = bellman_batch.visits[:, :, action] - moves.sum(axis=2)
    gap = reward - q[..., action]
    td = gap[..., None] + (beta * v)[:, None, :]
    bellman = (moves * td**2).sum(axis=(1, 2)) + (ended * gap**2).sum(axis=1)
    slope[..., action] -= 2.0 * ((moves * td).sum(axis=2) + ended * gap)
    pull = moves * td
    if zeta is not None:
        lag = v[:, None, :] - zeta[..., action, None]
        spread = (moves * lag**2).sum(axis=(1, 2)) + (ended * zeta[..., action] ** 2).sum(axis=1)
        bellman = bellman - beta[:, 0] ** 2 * spread
        pull = pull - beta[..., None] * moves * lag
    slope += policy * (2.0 * beta * pull.sum(axis=1))[..., None]
    return Descent(nll, bellman, slope)


def step(
    q: TableIterate,
    zeta: TableIterate | None,
    batch_1: Counts,
    batch_2: Counts,
    action: int,
    reward: Array,
    discount: float | Array,
    ascents: int | Integers = 1,
    active: NDArray[np.bool_] | None = None,
) -> Array:
    """One iteration in place: ascent in zeta, descent in Q. Algorithm 2 has no zeta.

    Args:
        ascents: ascent steps before the descent step, or (R,); printed: one.
        active: (R,) replications that take the step; by default all.

    Returns:
        (R,) the signed Bellman term per transition before the descent. Where it leaves +-BLOW_UP
        no descent step is taken.
    """
    active = np.ones(len(q.theta), dtype=bool) if active is None else active
    if zeta is not None:
        v = value(q.outputs())
        for k in range(np.max(ascents)):
            slope = ascent_slope(zeta.outputs(), v, batch_2)
            zeta.descend(slope / batch_2.size[:, None, None], active & (k < np.asarray(ascents)))
    zeta_table = None if zeta is None else zeta.outputs()
    loss = descent(q.outputs(), zeta_table, batch_1, batch_2, action, reward, discount)
    bellman = loss.bellman / batch_1.size
    is_finite = np.abs(bellman) <= BLOW_UP  # false for nan
    q.descend(loss.slope / batch_1.size[:, None, None], active & is_finite)
    return np.asarray(bellman)


def algorithm_1(
    counts: Counts,
    anchor: Anchor,
    discount: float,
    options: Options,
    rngs: Sequence[np.random.Generator],
) -> Run:
    """Algorithm 1 on R replications: ascent in zeta, descent in Q."""
    q = _initialise(counts, options, rngs, options.tau_2)
    zeta = _initialise(counts, options, rngs, options.tau_1)
    return _iterate(q, zeta, counts, anchor, discount, options, rngs)


def algorithm_2(
    counts: Counts,
    anchor: Anchor,
    discount: float,
    options: Options,
    rngs: Sequence[np.random.Generator],
) -> Run:
    """Algorithm 2, for deterministic transitions: descent in Q alone, the squared TD error."""
    q = _initialise(counts, options, rngs, options.tau_2)
    return _iterate(q, None, counts, anchor, discount, options, rngs)


# Not the paper: options, batches, the test of convergence and the Estimate.


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
        if not self.tolerance >= 0:
            raise InputError("tolerance", self.tolerance, "give zero or a small positive number")


@dataclass(frozen=True)
class Run:
    """The end of R runs of an algorithm."""

    networks: tuple[TableIterate, ...]  # Q's, and zeta's in Algorithm 1
    q: Array  # q, zeta: (R, S, A) on the grid; zeta of Algorithm 2 is the observed mean of V(s')
    zeta: Array
    iteration: Integers  # (R,) iterations done
    diverged: NDArray[np.bool_]  # (R,), as `converged`
    converged: NDArray[np.bool_]
    gradient: Array  # (R,) largest entry of the gradients over all of the data, per transition
    # (T, R) signed, per transition over all of the data, every CHECK_EVERY iterations
    trace_bellman: Array


def draw(counts: Counts, size: int | None, rngs: Sequence[np.random.Generator]) -> Counts:
    """A batch drawn with replacement, multinomial over the observed (s, a, s'); None: all."""
    if size is None:
        return counts
    ended = np.swapaxes(counts.visits, 1, 2) - counts.moves.sum(axis=3)
    table = np.concatenate([counts.moves, ended[..., None]], axis=3)
    batch = np.zeros_like(table)
    for r, rng in enumerate(rngs):
        entries = np.nonzero(table[r])
        batch[r][entries] = rng.multinomial(size, table[r][entries] / table[r].sum())
    return Counts(counts.states, np.swapaxes(batch.sum(axis=3), 1, 2), batch[..., :-1])


def _initialise(
    counts: Counts, options: Options, rngs: Sequence[np.random.Generator], tau: float
) -> TableIterate:
    is_adam = options.optimiser == "adam"
    if options.function_class == "tabular":
        return TableIterate(np.zeros(counts.visits.shape), tau, is_adam)
    family = MLP(counts.states.shape[1], counts.visits.shape[2])
    mean, spread = _scaling(counts)
    inputs = (counts.states - mean) / spread
    return NetworkIterate(family.init(rngs), tau, is_adam, family=family, inputs=inputs)


def _iterate(
    q: TableIterate,
    zeta: TableIterate | None,
    counts: Counts,
    anchor: Anchor,
    discount: float,
    options: Options,
    rngs: Sequence[np.random.Generator],
) -> Run:
    """Iterations until every replication has converged or diverged, at most T."""
    reward, size = anchor.values(counts.states), counts.size
    diverged, converged = np.zeros((2, len(size)), dtype=bool)
    iterations = np.zeros(len(size), dtype=np.int64)
    trace = []
    for iteration in range(options.iterations + 1):
        if iteration % CHECK_EVERY == 0 or iteration == options.iterations:
            gradient, loss = _gradient(q, zeta, counts, anchor.action, reward, discount)
            trace.append(loss.bellman / size)
            converged |= ~diverged & (gradient <= options.tolerance)
        active = ~(diverged | converged)
        if iteration == options.iterations or not np.any(active):
            break
        batches = draw(counts, options.batch, rngs), draw(counts, options.batch, rngs)
        bellman = step(q, zeta, *batches, anchor.action, reward, discount, options.ascents, active)
        diverged |= active & ~(np.abs(bellman) <= BLOW_UP)
        iterations[active & ~diverged] += 1
    q_table = q.outputs()
    zeta_table = conditional_mean(value(q_table), counts) if zeta is None else zeta.outputs()
    networks = (q,) if zeta is None else (q, zeta)
    trace_bellman = np.stack(trace)
    return Run(
        networks, q_table, zeta_table, iterations, diverged, converged, gradient, trace_bellman
    )


def _gradient(
    q: TableIterate,
    zeta: TableIterate | None,
    counts: Counts,
    action: int,
    reward: Array,
    discount: float,
) -> tuple[Array, Descent]:
    """(R,) largest entry of the gradients over all of the data, per transition, and the loss."""
    size = counts.size[:, None, None]
    q_table, zeta_table = q.outputs(), None if zeta is None else zeta.outputs()
    loss = descent(q_table, zeta_table, counts, counts, action, reward, discount)
    gradients = [q.gradient(loss.slope / size)]
    if zeta is not None:
        slope = ascent_slope(zeta.outputs(), value(q_table), counts)
        gradients.append(zeta.gradient(slope / size))
    return np.max([np.abs(g).reshape(len(g), -1).max(axis=1) for g in gradients], axis=0), loss


def _scaling(counts: Counts) -> tuple[Array, Array]:
    """(R, 1, d) mean and spread of the features over each replication's observations."""
    share = (counts.seen / counts.size[:, None])[:, None]
    mean = share @ counts.states
    spread = np.sqrt(np.maximum(share @ counts.states**2 - mean**2, 0.0))
    return mean, np.where(spread > 0, spread, 1.0)


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    rngs: Sequence[np.random.Generator] | None = None,
    **options: Any,
) -> list[Estimate]:
    """Estimates from Algorithm 1, or 2 with `deterministic=True`; options are those of `Options`.

    `rngs`, one generator a replication, are for weights and batches. Status `ok` if the gradients
    fell below the tolerance. `extra` has `trace_bellman` (the signed term, per transition, every
    hundredth iteration); `inner_iterations` are the ascent steps where there are several to a
    descent step.
    """
    checks.check_options(Options, options)
    settings = Options(**options)
    if rngs is None:
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(0).spawn(len(data))]
    if len(rngs) != len(data):
        raise InputError("rngs", f"{len(rngs)} generators", f"give one for each of {len(data)}")
    counts = group(data)
    algorithm = algorithm_2 if settings.deterministic else algorithm_1
    has_several = settings.ascents > 1 and not settings.deterministic  # a single ascent is no loop
    with np.errstate(over="ignore", invalid="ignore"):  # a blow-up is a result, and recorded
        run = algorithm(counts, anchor, discount, settings, rngs)
        fits = []
        for r in range(len(data)):
            status = "ok" if run.converged[r] else "not_converged"
            fit = Fit(
                *_functions(run, counts, discount, r),
                status="diverged" if run.diverged[r] else status,
                iterations=run.iteration[r],
                gradient_norm=run.gradient[r],
                inner_iterations=settings.ascents * run.iteration[r] if has_several else 0,
                extra={"trace_bellman": run.trace_bellman[:, r]},
            )
            fits.append(fit)
        name = f"gladius (printed, {algorithm.__name__}, {settings.function_class})"
        return counts_estimates(name, fits, counts, anchor, discount)


def _functions(
    run: Run, counts: Counts, discount: float, r: int
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) of any state; zeta of Algorithm 2 is the mean of V over the observed successors."""

    def outputs(network: TableIterate) -> StateFunction:
        if not isinstance(network, NetworkIterate):
            return NearestState(counts.states, network.theta[r])
        mean, spread = _scaling(counts)
        return partial(network_outputs, network.family, network.theta[r], mean[r, 0], spread[r, 0])

    q, *others = (outputs(network) for network in run.networks)
    if others:
        return q, partial(weighted_sum, q, others[0], -discount)
    p_hat = empirical_transition_probabilities(counts)
    expected = partial(continuation, p_hat, r, value(run.q[r]), discount)
    return q, partial(weighted_sum, q, expected, -1.0)
