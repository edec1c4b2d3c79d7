"""The `printed` protocol: the paper's Algorithms 1 and 2 to the letter, a function each.

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
- The text ascends on B1 and descends on B2; the box, which is followed, has D and the likelihood on
  B2 and the Bellman term on B1. Batches are drawn with replacement, afresh at each iteration, or
  are all of D (`batch=None`), which the text allows.
- Losses are sums over the batch. tau_1 and tau_2 below are the printed steps times the batch size,
  so that one value serves every N.
- "Initialize": zero tables, or random weights with zero output biases. Nothing knows the level.
- Algorithm 2's r-hat has a free s': it is the observed successor of (s, a), or the mean of V over
  several.

A replication whose signed Bellman term per transition leaves +-1e6, or is not a number, stops
there with status `diverged`; its last tables are kept as its estimate.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Inexact
from numpy.typing import NDArray

from gladius import checks
from gladius.anchor import Anchor, NearestState
from gladius.estimate import Estimate, StateFunction, conclude
from gladius.function_classes import MLP, FunctionClass, Linear, NetworkOutputs
from gladius.objective import conditional_mean, grouped_risk, value
from gladius.transition_probabilities import (
    Continuation,
    Sum,
    empirical_transition_probabilities,
)
from gladius.transitions import Counts, Transitions, group

BLOW_UP = 1e6  # signed Bellman term per transition
CHECK_EVERY = 100  # iterations between traces and tests of convergence
ADAM = (0.9, 0.999, 1e-8)


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
        choices = {"function_class": ("tabular", "mlp"), "optimiser": ("gradient", "adam")}
        for name, known in choices.items():
            checks.check_choice(name, getattr(self, name), known)
        for name in ("tau_1", "tau_2"):
            checks.check_positive(name, getattr(self, name), "give a positive step")
        for name in ("ascents", "iterations", *(["batch"] if self.batch is not None else [])):
            checks.check_whole(name, getattr(self, name), 1)
        if not self.tolerance >= 0:
            raise checks.InputError(
                "tolerance", self.tolerance, "give zero or a small positive number"
            )


@checks.shaped
def ascent_slope(
    zeta: Inexact[checks.Array, "R S A"], v: Inexact[checks.Array, "R S"], batch: Counts
) -> Inexact[checks.Array, "R S A"]:
    """Derivative in zeta(s, a) of D = sum_B (V(s') - zeta(s, a))^2; V is 0 at ends."""
    ahead = np.swapaxes((batch.moves * v[:, None, None]).sum(axis=3), 1, 2)
    return np.asarray(2.0 * (batch.visits * zeta - ahead))


@dataclass(frozen=True)
class Descent:
    """The descent loss over its batches: sums, and (R, S, A) their derivative in Q(s, a)."""

    nll: checks.Array
    bellman: checks.Array
    slope: checks.Array


@checks.shaped
def descent(
    q: Inexact[checks.Array, "R S A"],
    zeta: Inexact[checks.Array, "R S A"] | None,
    # bellman_batch, likelihood_batch: B1 and B2
    bellman_batch: Counts,
    likelihood_batch: Counts,
    action: int,  # a_s
    reward: Inexact[checks.Array, " S"],  # its reward
    discount: float | Inexact[checks.Array, " R"],  # beta, or one for each replication
) -> Descent:
    """L-bar_NLL + L-bar_BE for fixed zeta; without zeta the Bellman term is Algorithm 2's."""
    beta = np.broadcast_to(discount, len(q))[:, None]
    v = value(q)
    policy = np.exp(q - v[..., None])
    seen = likelihood_batch.visits
    nll = (seen * (v[..., None] - q)).sum(axis=(1, 2))
    slope = seen.sum(axis=2, keepdims=True) * policy - seen
    moves = bellman_batch.moves[:, action]
    used = bellman_batch.visits[:, :, action]
    ended = used - moves.sum(axis=2)
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


def draw(counts: Counts, size: int, rngs: Sequence[np.random.Generator]) -> Counts:
    """A batch drawn with replacement, as counts: multinomial over the observed (s, a, s')."""
    ended = np.swapaxes(counts.visits, 1, 2) - counts.moves.sum(axis=3)
    table = np.concatenate([counts.moves, ended[..., None]], axis=3)
    drawn = np.zeros_like(table)
    for r, rng in enumerate(rngs):
        cells = np.nonzero(table[r])
        drawn[r][cells] = rng.multinomial(size, table[r][cells] / table[r].sum())
    return Counts(counts.states, np.swapaxes(drawn.sum(axis=3), 1, 2), drawn[..., :-1])


def algorithm_1(
    counts: Counts,
    anchor: Anchor,
    discount: float,
    options: Options,
    rngs: Sequence[np.random.Generator],
) -> Run:
    """Algorithm 1 on R replications side by side: ascent in zeta, descent in Q."""
    q = _network(counts, options, rngs, options.tau_2)
    zeta = _network(counts, options, rngs, options.tau_1)
    run = Run(counts, anchor, discount, options, (q, zeta))
    while run.goes_on():
        batch_1, batch_2 = run.batch(rngs), run.batch(rngs)
        for _ in range(options.ascents):
            slope = ascent_slope(zeta.outputs(), value(q.outputs()), batch_2)
            zeta.step_down(slope / batch_2.size[:, None, None], run.moving)
        loss = descent(
            *(q.outputs(), zeta.outputs(), batch_1, batch_2),
            *(anchor.action, run.reward, discount),
        )
        run.accept(loss.bellman / batch_1.size)
        q.step_down(loss.slope / batch_1.size[:, None, None], run.moving)
    return run


def algorithm_2(
    counts: Counts,
    anchor: Anchor,
    discount: float,
    options: Options,
    rngs: Sequence[np.random.Generator],
) -> Run:
    """Algorithm 2, for deterministic transitions: descent in Q alone, the squared TD error."""
    q = _network(counts, options, rngs, options.tau_2)
    run = Run(counts, anchor, discount, options, (q,))
    while run.goes_on():
        batch_1, batch_2 = run.batch(rngs), run.batch(rngs)
        loss = descent(q.outputs(), None, batch_1, batch_2, anchor.action, run.reward, discount)
        run.accept(loss.bellman / batch_1.size)
        q.step_down(loss.slope / batch_1.size[:, None, None], run.moving)
    return run


@dataclass
class Network:
    """The outputs of one function class on the grid, theta_1 or theta_2, with its optimiser."""

    family: FunctionClass  # function class
    inputs: checks.Array  # (S, d) or (R, S, d)
    theta: checks.Array  # (R, P)
    step: float  # tau on losses per transition
    is_adam: bool  # Adam in place of the printed update
    steps: int = 0
    mean: checks.Array = field(init=False)
    square: checks.Array = field(init=False)

    def __post_init__(self) -> None:
        self.mean, self.square = np.zeros_like(self.theta), np.zeros_like(self.theta)

    def outputs(self) -> checks.Array:
        """(R, S, A)."""
        return self.family.outputs(self.theta, self.inputs)

    def gradient(self, slope: checks.Array) -> checks.Array:
        """(R, P) from the slope in the outputs."""
        _, jacobian = self.family.jacobian(self.theta, self.inputs)
        flat = slope.reshape(len(slope), -1, 1)
        rows = jacobian.reshape(*flat.shape[:2], -1)
        return np.asarray((np.swapaxes(rows, 1, 2) @ flat)[..., 0])

    def step_down(self, slope: checks.Array, moving: NDArray[np.bool_]) -> None:
        """A step against the slope in the outputs, in the replications that are still moving."""
        change = self.gradient(slope)
        if self.is_adam:
            first, second, tiny = ADAM
            self.steps += 1
            self.mean += (1 - first) * (change - self.mean)
            self.square += (1 - second) * (change**2 - self.square)
            root = np.sqrt(self.square / (1 - second**self.steps))
            change = self.mean / (1 - first**self.steps) / (root + tiny)
        self.theta[moving] -= self.step * change[moving]


def _network(
    counts: Counts, options: Options, rngs: Sequence[np.random.Generator], step: float
) -> Network:
    states, actions = counts.visits.shape[1:]
    family: FunctionClass
    if options.function_class == "tabular":
        family, inputs = Linear(states, actions), np.eye(states)
    else:
        family = MLP(counts.states.shape[1], actions, options.hidden)
        mean, spread = _scaling(counts)
        inputs = (counts.states - mean) / spread
    return Network(family, inputs, family.init(rngs), step, options.optimiser == "adam")


@dataclass
class Run:
    """R replications of an algorithm: which of them still move, and where they led.

    Attributes:
        counts, anchor, discount, options: as `algorithm_1` takes them.
        networks: Q's, and zeta's in Algorithm 1.
        iteration: (R,) iterations done.
        diverged, converged: (R,).
        gradient: (R,) largest entry of the gradients over all of D, per transition.
        nll: (R,) per transition over all of D.
        trace_bellman: (R,) signed, per transition over all of D, every CHECK_EVERY iterations.
    """

    counts: Counts
    anchor: Anchor
    discount: float
    options: Options
    networks: tuple[Network, ...]

    def __post_init__(self) -> None:
        number = len(self.counts.visits)
        self.reward = self.anchor.values(self.counts.states)
        self.time = -1
        self.diverged, self.converged = np.zeros((2, number), dtype=bool)
        self.iteration = np.zeros(number, dtype=np.int64)
        self.gradient, self.nll = np.full((2, number), np.inf)
        self.trace_bellman: list[checks.Array] = []

    @cached_property
    def q(self) -> checks.Array:
        """(R, S, A) on the grid, at the end."""
        return self.networks[0].outputs()

    @cached_property
    def zeta(self) -> checks.Array:
        """(R, S, A) on the grid, at the end; of Algorithm 2 the observed mean of V(s')."""
        if self.options.deterministic:
            return conditional_mean(value(self.q), self.counts)
        return self.networks[1].outputs()

    @property
    def moving(self) -> NDArray[np.bool_]:
        """(R,)."""
        return ~(self.diverged | self.converged)

    def goes_on(self) -> bool:
        """Count the iteration that begins; test for convergence where it is time."""
        self.time += 1
        is_last = self.time == self.options.iterations
        if self.time % CHECK_EVERY == 0 or is_last:
            self._test_convergence()
        return not is_last and bool(np.any(self.moving))

    def _test_convergence(self) -> None:
        counts, size = self.counts, self.counts.size
        q, *others = self.networks
        dual = others[0].outputs() if others else None
        whole = descent(
            *(q.outputs(), dual, counts, counts),
            *(self.anchor.action, self.reward, self.discount),
        )
        slopes = [q.gradient(whole.slope / size[:, None, None])]
        for zeta in others:
            slope = ascent_slope(zeta.outputs(), value(q.outputs()), counts)
            slopes.append(zeta.gradient(slope / size[:, None, None]))
        self.gradient = np.max([np.abs(s).max(axis=1) for s in slopes], axis=0)
        self.nll = whole.nll / size
        self.trace_bellman.append(whole.bellman / size)
        self.converged |= ~self.diverged & (self.gradient <= self.options.tolerance)

    def batch(self, rngs: Sequence[np.random.Generator]) -> Counts:
        """B1 or B2."""
        size = self.options.batch
        return self.counts if size is None else draw(self.counts, size, rngs)

    def accept(self, bellman: checks.Array) -> None:
        """Stop where the signed Bellman term (R,) has blown up; the others take the step."""
        # `<=` is false of nan, so a replication that is not a number stops too
        self.diverged |= self.moving & ~(np.abs(bellman) <= BLOW_UP)
        self.iteration[self.moving] += 1


def _scaling(counts: Counts) -> tuple[checks.Array, checks.Array]:
    """(R, 1, d) mean and spread of the features over each replication's rows."""
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
    """One Estimate a data set from Algorithm 1, or 2 with `deterministic=True`.

    Args:
        data: R replications, fitted side by side.
        anchor: the anchor action and its reward.
        discount: beta.
        rngs: one generator a replication, for weights and batches; by default from seed 0.
        options: the fields of `Options`.

    Returns:
        Estimates. Status `ok` if the gradients fell below the tolerance, else `not_converged`
        or `diverged`; `diagnostics.extra` has `trace_bellman` (the signed term, per transition,
        every hundredth iteration) and `inner_iterations`: 0 where single steps alternate, the
        ascent steps where there are several to a descent step.
    """
    checks.check_options(Options, options)
    chosen = Options(**options)
    started = time.process_time()
    if rngs is None:
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(0).spawn(len(data))]
    if len(rngs) != len(data):
        raise checks.InputError(
            "rngs", f"{len(rngs)} generators", f"give one for each of {len(data)}"
        )
    counts = group(data)
    algorithm = algorithm_2 if chosen.deterministic else algorithm_1
    with np.errstate(over="ignore", invalid="ignore"):  # a blow-up is a result, and recorded
        result = algorithm(counts, anchor, discount, chosen, rngs)
        risk = grouped_risk(result.q, counts, anchor.action, anchor.values(counts.states), discount)
        functions = [_functions(result, r) for r in range(len(data))]
    seconds = (time.process_time() - started) / len(data)
    several = chosen.ascents > 1 and not chosen.deterministic  # a single ascent is no loop
    estimates = []
    for r in range(len(data)):
        status = "ok" if result.converged[r] else "not_converged"
        estimate = conclude(
            f"gladius (printed, {algorithm.__name__}, {chosen.function_class})",
            *functions[r],
            counts.states.shape[1],
            result.nll[r],
            risk.bellman[r],
            status="diverged" if result.diverged[r] else status,
            iterations=int(result.iteration[r]),
            gradient_norm=float(result.gradient[r]),
            seconds=seconds,
            extra={
                "inner_iterations": several * chosen.ascents * int(result.iteration[r]),
                "trace_bellman": np.stack(result.trace_bellman)[:, r],
            },
        )
        estimates.append(estimate)
    return estimates


def _functions(result: Run, r: int) -> tuple[StateFunction, StateFunction]:
    """(Q, r) of any state; zeta of Algorithm 2 is the mean of V over the observed successors."""
    counts, options, discount = result.counts, result.options, result.discount

    def output(table: checks.Array, network: Network) -> StateFunction:
        if options.function_class == "tabular":
            return NearestState(counts.states, table[r])
        mean, spread = _scaling(counts)
        return NetworkOutputs(network.family, network.theta[r], mean[r, 0], spread[r, 0])

    q = output(result.q, result.networks[0])
    if options.deterministic:
        p_hat = empirical_transition_probabilities(counts)
        return q, Sum(q, Continuation(p_hat, r, value(result.q[r]), discount), -1.0)
    return q, Sum(q, output(result.zeta, result.networks[1]), -discount)
