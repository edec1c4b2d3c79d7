"""IQ-Learn (Garg et al. 2021), offline with the chi-square penalty: one Q, no anchor, no P-hat.

With V = log sum_a exp Q and the expert's data D it solves

    min_Q  E_D[V(s) - Q(s, a)] + (1/(4 alpha)) E_D[(Q(s, a) - beta E[V(s') | s, a])^2]:

the negative log-likelihood plus an L2 penalty on the reward r = Q - beta E[V(s') | s, a]. The
penalty takes the smallest of the rewards that give the same choices, so a true reward of -1 to -10
is out of reach. The class `table` has Q free in every state that occurs and is solved by Newton's
method; the class `network` is trained by Adam, for states that do not repeat.

Implementation choices:

- Temperature 1 and the given discount, as in the model; alpha = .5 is the original's.
- Network: the penalty is that of the original's code, (Q - beta V(s'))^2 for each observation,
  which adds beta^2 Var V / (4 alpha). The gradient passes through V(s') too (no target network).
- A level that the data do not identify (one observation from 0 to 1 fits any V(0) = beta V(1))
  stays at the log-frequencies, where the steps start; `extra["flat_directions"]` counts these.
- The network has 2 x 10 units and steps of .01 falling to zero on BATCH observations. The
  original's is 64 x 64 with steps of 1e-4 on 32 observations at a constant rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import null_space
from torch import Tensor
from torch.autograd.functional import hessian, jacobian

from gladius.baselines.bc import read_off
from gladius.model.estimate import Estimate, Fit, row_estimates
from gladius.panel.anchor import Anchor, nearest
from gladius.panel.moves import check_square, dense
from gladius.panel.record import (
    Counts,
    Integers,
    Transitions,
    distinct_moves,
    grid_positions,
    group,
)
from gladius.solvers import networks as nets
from gladius.solvers.newton import SINGULAR, Expansion, Minimum, minimise
from gladius.validate import Array, check_choice, generators

TITLE, NEEDS = "IQ-Learn", ("next",)

CLASSES = ("table", "network")
ALPHA = 0.5  # the penalty's weight is 1 / (4 alpha)
PSEUDO_COUNT = 0.5
MAX_STEPS = 200  # of Newton, for the table
LONGEST_STEP = 20.0  # in Q, nats: a guard against overflow, not a tuning constant
ACTIVATION = "elu"  # the original's
TRAINING = nets.Training(steps=5000, tolerance=1e-4, activation=ACTIVATION)
CHECK_EVERY = 100  # steps between two full gradients
LARGEST_FULL = 1024  # distinct observations up to which every step uses all of them
BATCH = 256  # observations a step beyond that


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    function_class: str = "table",
    rng: int | Sequence[np.random.Generator] = 0,
) -> list[Estimate]:
    """IQ-Learn of each data set.

    Args:
        function_class: one of CLASSES; the table needs states few enough to count.
        rng: of the network.
    """
    check_choice("function_class", function_class, CLASSES)
    rngs = generators(rng, len(data))
    if function_class == "table":
        fits = [fit_table(transitions, discount) for transitions in data]
    else:
        fits = fit_networks(data, discount, rngs)
    return row_estimates(f"iq_learn[{function_class}]", fits, data, anchor, discount)


@dataclass(frozen=True)
class Table:
    """The objective of one data set over its S states, nats."""

    choices: Tensor  # (S, A) n(s, a) and the pseudo-count
    visits: Tensor  # (S, A) n(s, a)
    frequencies: Tensor  # (S, A, S) n(s, a, s') / n(s, a), 0 where a pair was never observed
    alpha: float
    discount: float  # beta
    start: Tensor  # (S, A) log-frequencies of the choices
    open_levels: Tensor  # (S, k) orthonormal shifts of V, and with them of Q, that change no reward

    def reward(self, q: Tensor) -> Tensor:
        """(S, A) r = Q - beta mean V(s'); pairs never observed have no penalty."""
        return q - self.discount * (self.frequencies @ torch.logsumexp(q, dim=1))

    def objective(self, q: Tensor) -> Tensor:
        """N times the loss at Q (S, A)."""
        likelihood = (self.choices * (torch.logsumexp(q, dim=1)[:, None] - q)).sum()
        return likelihood + (self.visits * self.reward(q) ** 2).sum() / (4 * self.alpha)

    def anchored_objective(self, x: Tensor) -> Tensor:
        """The objective at x (S A), and half the squared shift of open levels from the start."""
        q = x.reshape(self.start.shape)
        shift = self.open_levels.T @ (q - self.start).mean(dim=1)
        return self.objective(q) + (shift**2).sum() / 2

    def expansion(self, _: Integers, x: Array) -> Expansion:
        """Value, gradient and Hessian of `anchored_objective`, for newton.py."""
        point = torch.as_tensor(x[0])
        value = self.anchored_objective(point)
        gradient = jacobian(self.anchored_objective, point)
        second = hessian(self.anchored_objective, point, vectorize=True)
        return (
            value.numpy(force=True)[None],
            gradient.numpy(force=True)[None],
            second.numpy(force=True)[None],
        )


def make_table(
    counts: Counts, discount: float, alpha: float = ALPHA, pseudo_count: float = PSEUDO_COUNT
) -> Table:
    """The objective from the counts of one data set (whole numbers or expected shares)."""
    visits, moves = counts.visits[0], np.swapaxes(dense(counts.moves[0]), 0, 1)
    frequencies = moves / np.where(visits > 0, visits, 1.0)[..., None]
    choices = visits + pseudo_count
    start = np.log(choices / choices.sum(axis=1, keepdims=True))
    rises = (np.eye(len(visits))[:, None] - discount * frequencies)[visits > 0]
    return Table(
        torch.as_tensor(choices),
        torch.as_tensor(visits),
        torch.as_tensor(frequencies),
        alpha,
        discount,
        torch.as_tensor(start),
        torch.as_tensor(null_space(rises, rcond=SINGULAR)),
    )


def minimum(table: Table, first: Array) -> Minimum:
    """The end of Newton's steps from Q (S, A)."""

    def longest(_: Integers, step: Array) -> Array:
        return np.asarray(LONGEST_STEP / np.maximum(np.abs(step).max(axis=1), LONGEST_STEP))

    start = first.reshape(1, -1)
    return minimise(table.expansion, start, max_iterations=MAX_STEPS, longest=longest)


def fit_table(data: Transitions, discount: float) -> Fit:
    """The fit of the class `table`."""
    counts = group(data)
    hint = "the steps of its table are Newton's in all pairs (s, a): take function_class='network'"
    check_square(counts.visits[0].size, len(counts.states), f"{hint}, or coarsen the features")
    table = make_table(counts, discount)
    end = minimum(table, table.start.numpy(force=True))
    q = partial(look_up, counts.states, end.x.reshape(table.start.shape), counts.seen[0] > 0)
    return Fit(
        *read_off(q, data, discount, "network"),
        status="ok" if end.converged[0] else "not_converged",
        iterations=int(end.iterations[0]),
        gradient_norm=float(np.max(np.abs(end.gradient))) / len(data),
        extra={
            "objective": float(end.value[0]) / len(data),
            "flat_directions": table.open_levels.shape[1],
        },
    )


def look_up(grid: Array, table: Array, is_current: NDArray[np.bool_], states: Array) -> Array:
    """Q of states on the grid; elsewhere that of the nearest state with observed choices."""
    position = grid_positions(grid, states)
    is_new = position < 0
    if np.any(is_new):
        current = np.flatnonzero(is_current)
        position[is_new] = current[nearest(grid[current], states[is_new])]
    return np.asarray(table[position])


@dataclass(frozen=True)
class TransitionSample(nets.Sample):
    """Distinct transitions of R data sets, padded with share 0."""

    states: Tensor  # (R, n, d)
    next_states: Tensor  # (R, n, d)
    actions: Tensor  # (R, n)
    continuing: Tensor  # (R, n) 0 where the path ended, else 1


def stack(data: Sequence[Transitions]) -> TransitionSample:
    """Distinct (s, a, s', done) of each data set with their shares, padded."""
    moves, shares = zip(*(distinct_moves(transitions) for transitions in data), strict=True)
    return TransitionSample(
        nets.pad(shares),
        nets.pad([distinct.states for distinct in moves]),
        nets.pad([distinct.next_states for distinct in moves]),
        nets.pad([distinct.actions for distinct in moves]),
        nets.pad([(~distinct.done).astype(float) for distinct in moves]),
    )


def losses(
    theta: nets.Parameters, sample: TransitionSample, discount: float, alpha: float = ALPHA
) -> Tensor:
    """(R,) sum of share * (V(s) - Q(s, a) + (Q(s, a) - beta V(s'))^2 / (4 alpha))."""
    size = sample.states.shape[1]
    table = nets.outputs(theta, torch.cat([sample.states, sample.next_states], dim=1), ACTIVATION)
    v = torch.logsumexp(table, dim=2)
    q = torch.take_along_dim(table[:, :size], sample.actions[..., None], dim=2)[..., 0]
    reward = q - discount * sample.continuing * v[:, size:]
    return (sample.share * (v[:, :size] - q + reward**2 / (4 * alpha))).sum(dim=1)


def fit_networks(
    data: Sequence[Transitions], discount: float, rngs: Sequence[np.random.Generator]
) -> list[Fit]:
    """The fits of the class `network`, all in one batched Adam; each stops on its own."""
    sample = stack(data)
    width, actions = sample.states.shape[2], data[0].number_of_actions
    theta = nets.start(rngs, (width, *nets.HIDDEN, actions))
    loss = partial(losses, discount=discount)
    is_large = sample.share.shape[1] > LARGEST_FULL
    how = replace(TRAINING, batch=BATCH) if is_large else TRAINING
    end = nets.adam_descent(theta, loss, sample, how, rngs, CHECK_EVERY)
    trained = nets.networks(theta, ACTIVATION, [(np.zeros(width), np.ones(width))] * len(data))
    objectives = loss(theta, sample).tolist()
    fits = []
    for r, transitions in enumerate(data):
        unfinished = "not_converged" if np.isfinite(objectives[r]) else "diverged"
        fitted = Fit(
            *read_off(trained[r], transitions, discount, "network"),
            status="ok" if end.converged[r] else unfinished,
            iterations=int(end.steps[r]),
            gradient_norm=float(end.gradient_norm[r]),
            extra={"objective": objectives[r]},
        )
        fits.append(fitted)
    return fits
