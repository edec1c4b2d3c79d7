"""IQ-Learn (Garg et al. 2021), offline with the chi-square penalty: one Q, no anchor, no P-hat.

With V = log sum_a exp Q, phi(x) = x - x^2/(4 alpha) and the expert's data D the original maximises
E_D[phi(Q(s, a) - beta E V(s'))] - E_D[V(s) - beta V(s')], that is

    min_Q  E_D[V(s) - Q(s, a)] + (1/(4 alpha)) E_D[(Q(s, a) - beta E[V(s') | s, a])^2]:

the negative log-likelihood plus an L2 penalty on the reward that Q implies. The reward is read off
as r = Q - beta V(s'), averaged over the observed s' of a pair. Q solves the Bellman equation of
that r whatever Q is: shaping r by any c(s) - beta E c(s') leaves the choices as they are, the
penalty takes the smallest such reward, and a true reward of -1 to -10 is out of reach.

    table     Q free in every state that occurs, by Newton's method; cost free of N. The mean of
              V(s') is over the s' observed after a pair: transition frequencies are formed for it.
    network   Adam on rows, for states that do not repeat. The penalty is that of the original's
              code, (Q - beta V(s'))^2 row by row, which adds beta^2 Var V / (4 alpha).

What had to be decided:

- Temperature 1 and the given discount, as in the model (the original: .01 or .001, and .99);
  alpha = .5 is the original's.
- PSEUDO_COUNT, 1/2 (Jeffreys) in the likelihood of each cell of the table, not in the penalty: a
  pair never seen would send Q to minus infinity.
- A level that the rows leave open (one row from 0 to 1 fits any V(0) = beta V(1)) stays that of the
  log-frequencies, where the steps start; `extra["flat_directions"]` says how many there are.
- Pairs never seen have no s' of their own: they take the mean V(s') of the nearest state where the
  action was, and states never seen the Q of the nearest one that was.
- The network: see `Training`. The original's is 64 x 64 with steps of 1e-4 on 32 rows at a constant
  rate. The gradient passes through V(s') too (no target network, as in the original).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.special import logsumexp, softmax
from torch import Tensor

from gladius import networks as nets
from gladius.anchor import Anchor, nearest
from gladius.baselines.bc import read_off
from gladius.checks import (
    Array,
    InputError,
    check_choice,
    check_discount,
    check_positive,
    generators,
)
from gladius.estimate import Estimate, StateFunction, assess
from gladius.newton import Expansion, minimise
from gladius.transitions import Counts, Integers, Transitions, distinct_moves, group

TITLE, NEEDS = "IQ-Learn", ("next",)

CLASSES = ("table", "network")
PSEUDO_COUNT = 0.5
MAX_STEPS = 200  # of Newton, for the table
LONGEST_STEP = 20.0  # in Q, nats: a guard against overflow, not a tuning constant
ACTIVATION = "elu"  # the original's
CHECK_EVERY = 100  # steps between two full gradients
LARGEST_FULL = 1024  # distinct rows; with at most so many every step uses all of them
AT_ONCE = 4096  # rows of a full gradient held in memory together


@dataclass(frozen=True)
class Training(nets.Training):
    """How the network is trained; no `batch`: all rows where at most LARGEST_FULL are distinct,
    else 256 a step."""

    steps: int = 5000
    tolerance: float = 1e-4


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    function_class: str = "table",
    alpha: float = 0.5,
    rng: int | Sequence[np.random.Generator] = 0,
    training: Training | None = None,
) -> list[Estimate]:
    """IQ-Learn on each data set.

    Args:
        data: replications.
        anchor: not used by the method; the Bellman error of its rows is reported.
        discount: beta.
        function_class: one of CLASSES.
        alpha: the penalty's weight is 1/(4 alpha).
        rng: network only; a seed, or one generator for each data set.
        training: network only; by default `Training()`.

    Raises:
        InputError: for a bad option; for the table where states are too many to count.
    """
    started = time.process_time()
    discount = check_discount(discount)
    check_choice("function_class", function_class, CLASSES)
    check_positive("alpha", alpha)
    rngs = generators(rng, len(data))
    if function_class == "table":
        if training is not None:
            raise InputError("training", training, "the table takes none: function_class='network'")
        fits = [_fit_table(replication, discount, alpha) for replication in data]
    else:
        how = Training() if training is None else training
        if not isinstance(how, Training):
            raise InputError("training", training, "give a Training")
        fits = train(data, discount, alpha, how, rngs)
    seconds = (time.process_time() - started) / len(data)
    estimates = []
    for fitted, replication in zip(fits, data, strict=True):
        q, reward = read_off(fitted.q, replication, discount, "network")
        unfinished = "not_converged" if np.isfinite(fitted.objective) else "diverged"
        extra = {"alpha": float(alpha), "inner_iterations": 0, "objective": fitted.objective}
        estimate = assess(
            f"iq_learn[{function_class}]",
            q,
            reward,
            replication,
            anchor,
            status="ok" if fitted.converged else unfinished,
            iterations=fitted.iterations,
            gradient_norm=fitted.gradient_norm,
            seconds=seconds,
            extra=extra | fitted.extra,
        )
        estimates.append(estimate)
    return estimates


@dataclass(frozen=True)
class Fitted:
    """One replication's Q and how it was reached, in either class."""

    q: StateFunction  # maps (n, d) features to (n, A)
    converged: bool  # by the rule of newton.py, or of the training
    iterations: int  # Newton's or Adam's steps
    gradient_norm: float  # largest entry of the full gradient per observation
    objective: float  # the loss per observation
    extra: dict[str, object]  # of the class


@dataclass(frozen=True)
class Table:
    """f of one data set over its S states."""

    choices: Array  # (S, A) n + c
    visits: Array  # (S, A) n(s, a)
    moves: Array  # (S, A, S) n(s, a, s')
    mean: Array  # (S, A, S) n(s, a, s') / n(s, a), 0 where a pair was never seen
    alpha: float  # weight of the penalty, 1/(4 alpha)
    discount: float  # beta
    # (S, A) log-frequencies of the choices, to which levels that f leaves open are held
    start: Array
    open_levels: Array  # (S, k) orthonormal: shifts of V, and with them of Q, that change no reward

    @property
    def size(self) -> float:
        """N."""
        return float(self.visits.sum())

    def reward(self, q: Array) -> Array:
        """(S, A) r = Q - beta mean V(s'), of which pairs never seen have no penalty."""
        return np.asarray(q - self.discount * (self.mean @ logsumexp(q, axis=1)))

    def objective(self, q: Array) -> float:
        """N f at q (S, A), nats."""
        likelihood = np.sum(self.choices * (logsumexp(q, axis=1)[:, None] - q))
        return float(likelihood + np.sum(self.visits * self.reward(q) ** 2) / (4 * self.alpha))

    def slopes(self, q: Array) -> tuple[Array, Array]:
        """(S, A) and (S,) partial derivatives of N f in Q and in V, as if these were unrelated."""
        reward = self.reward(q)
        in_q = -self.choices + self.visits * reward / (2 * self.alpha)
        back = np.einsum("sat,sa->t", self.moves, reward)
        return in_q, self.choices.sum(axis=1) - self.discount * back / (2 * self.alpha)

    def gradient(self, q: Array) -> Array:
        """(S, A) gradient of N f."""
        in_q, in_v = self.slopes(q)
        return np.asarray(in_q + softmax(q, axis=1) * in_v[:, None])

    def hessian(self, q: Array) -> Array:
        """(S A, S A) Hessian of N f; pairs in the order of q's two axes."""
        states, actions = q.shape
        policy = softmax(q, axis=1)
        change = -self.discount * self.mean[..., None] * policy  # of r(s, a) by Q(s', b)
        jacobian = np.eye(q.size) + change.reshape(q.size, q.size)
        gram = jacobian.T @ (self.visits.reshape(-1, 1) * jacobian) / (2 * self.alpha)
        _, in_v = self.slopes(q)
        bend = in_v[:, None, None] * (
            policy[..., None] * np.eye(actions) - policy[..., None] * policy[:, None]
        )
        blocks = gram.reshape(states, actions, states, actions)
        state = np.arange(states)
        blocks[state, :, state, :] += bend
        return np.asarray(blocks.reshape(q.size, q.size))

    def held(self, replications: Integers, x: Array) -> Expansion:
        """N f and half the squared shift of the open levels from the start, for newton.py."""
        q = x[0].reshape(self.choices.shape)
        actions = q.shape[1]
        levels = np.repeat(self.open_levels, actions, axis=0) / actions
        shift = levels.T @ (q - self.start).ravel()
        value = self.objective(q) + shift @ shift / 2
        gradient = self.gradient(q).ravel() + levels @ shift
        return np.array([value]), gradient[None], (self.hessian(q) + levels @ levels.T)[None]


def make_table(
    counts: Counts, alpha: float, discount: float, pseudo_count: float = PSEUDO_COUNT
) -> Table:
    """f from the counts of one data set (of whole numbers or of expected shares)."""
    visits, moves = counts.visits[0], np.swapaxes(counts.moves[0], 0, 1)
    mean = moves / np.where(visits > 0, visits, 1.0)[..., None]
    choices = visits + pseudo_count
    log_frequencies = np.log(choices / choices.sum(axis=1, keepdims=True))
    rises = (np.eye(len(visits))[:, None] - discount * mean)[visits > 0]
    open_levels = null_space(rises)
    return Table(choices, visits, moves, mean, alpha, discount, log_frequencies, open_levels)


def minimum(table: Table, first: Array) -> tuple[Array, bool, int]:
    """Q (S, A) from `first`, whether it is a minimum, and Newton's steps."""

    def longest(_: Integers, step: Array) -> Array:
        return np.asarray(LONGEST_STEP / np.maximum(np.abs(step).max(axis=1), LONGEST_STEP))

    end = minimise(table.held, first.reshape(1, -1), max_iterations=MAX_STEPS, longest=longest)
    return end.x[0].reshape(first.shape), bool(end.converged[0]), int(end.iterations[0])


def _fit_table(data: Transitions, discount: float, alpha: float) -> Fitted:
    try:
        counts = group(data)
    except InputError as error:
        if error.field != "states":
            raise
        hint = "too many to count: function_class='network', or coarsen the features"
        raise InputError("states", error.value, hint) from None
    table = make_table(counts, alpha, discount)
    q, converged, iterations = minimum(table, table.start)
    return Fitted(
        partial(look_up, counts.states, q, counts.seen[0] > 0),
        converged,
        iterations,
        float(np.max(np.abs(table.gradient(q)))) / table.size,
        table.objective(q) / table.size,
        {
            "flat_directions": table.open_levels.shape[1],
        },
    )


def look_up(known: Array, table: Array, is_current: NDArray[np.bool_], states: Array) -> Array:
    """Q of known states; of any other, that of the nearest one from which a row starts."""
    position = nearest(known, states)
    unknown = np.any(known[position] != states, axis=1)
    if np.any(unknown):
        current = np.flatnonzero(is_current)
        position[unknown] = current[nearest(known[current], states[unknown])]
    return np.asarray(table[position])


class Rows(NamedTuple):
    """Distinct transitions of R replications, padded with share 0."""

    now: Tensor  # (R, n, d) features
    after: Tensor  # (R, n, d) features
    action: Tensor  # (R, n)
    alive: Tensor  # (R, n) 0 where the path ended, else 1
    share: Tensor  # (R, n) of the observations


def stack(data: Sequence[Transitions]) -> Rows:
    """Distinct (s, a, s', done) of each data set with their shares, padded."""
    moves, shares = zip(*(distinct_moves(replication) for replication in data), strict=True)
    return Rows(
        nets.pad([part.states for part in moves]),
        nets.pad([part.next_states for part in moves]),
        nets.pad([part.actions for part in moves]),
        nets.pad([(~part.done).astype(float) for part in moves]),
        nets.pad(shares),
    )


def draw(rows: Rows, rngs: Sequence[np.random.Generator], size: int) -> Rows:
    """`size` rows of each replication, drawn with replacement by their shares."""
    drawn = Rows(*nets.draw(rows.share, rngs, size, *rows))
    return drawn._replace(share=torch.full_like(drawn.share, 1 / size))


def losses(theta: nets.Parameters, rows: Rows, discount: float, alpha: float) -> Tensor:
    """(R,) sum of share * (V(s) - Q(s, a) + (Q(s, a) - beta V(s'))^2 / (4 alpha))."""
    size = rows.now.shape[1]
    table = nets.outputs(theta, torch.cat([rows.now, rows.after], dim=1), ACTIVATION)
    v = torch.logsumexp(table, dim=2)
    q = torch.take_along_dim(table[:, :size], rows.action[..., None], dim=2)[..., 0]
    reward = q - discount * rows.alive * v[:, size:]
    return (rows.share * (v[:, :size] - q + reward**2 / (4 * alpha))).sum(dim=1)


def train(
    data: Sequence[Transitions],
    discount: float,
    alpha: float,
    how: Training,
    rngs: Sequence[np.random.Generator],
) -> list[Fitted]:
    """One network for each data set, all in one batched Adam; each stops on its own."""
    rows = stack(data)
    size = rows.share.shape[1]
    batch = 256 if how.batch is None and size > LARGEST_FULL else how.batch
    theta = nets.start(rngs, (rows.now.shape[2], *how.hidden, data[0].number_of_actions))
    pieces = [Rows(*(x[:, i : i + AT_ONCE] for x in rows)) for i in range(0, size, AT_ONCE)]

    def gradient(part: Rows) -> nets.Parameters:
        return nets.gradient(theta, lambda leaves: losses(leaves, part, discount, alpha))

    def full() -> nets.Parameters:
        return [torch.stack(parts).sum(dim=0) for parts in zip(*map(gradient, pieces), strict=True)]

    def drawn() -> nets.Parameters:
        return gradient(rows if batch is None else draw(rows, rngs, batch))

    end = nets.adam_descent(
        theta, full, drawn, how.steps, how.learning_rate, how.tolerance, CHECK_EVERY
    )
    loss = torch.stack([losses(theta, piece, discount, alpha) for piece in pieces]).sum(dim=0)
    identity = [nets.scaling(replication.states, False) for replication in data]
    extra: dict[str, object] = {"training": how}
    ends = zip(end.converged, end.steps, end.gradient_norm, loss, strict=True)
    return [
        Fitted(network, bool(converged), int(steps), float(norm), float(objective), extra)
        for network, (converged, steps, norm, objective) in zip(
            nets.networks(theta, ACTIVATION, identity), ends, strict=True
        )
    ]
