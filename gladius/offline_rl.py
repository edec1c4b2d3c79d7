"""Offline reinforcement learning on logged moves: soft fitted Q and conservative Q-learning.

A logged move is (s, a, s') with a reward that someone wrote beside it. Soft fitted Q iteration
(Ernst, Geurts and Wehenkel 2005, with the entropy-regularised backup) regresses r + beta V(s') of
the last Q on (s, a), again and again; conservative Q-learning (Kumar, Zhou, Tucker and Levine 2020,
the variant CQL(H)) adds alpha E_data[log sum_a exp Q(s, a) - Q(s, a)] to half the squared error.
In a table both regressions are solved exactly: with targets y and the data's choice shares pi_b,

    Q(s, a) = mean y over the rows of (s, a) - alpha (pi_Q(a | s) / pi_b(a | s) - 1).

For every alpha the sweep is monotone and moves with constants (the penalty is unchanged when a
constant is added to Q(s, .), and the Jacobian of its minimiser is the inverse of an M-matrix), so
it is a beta-contraction in the largest norm: one fixed point, which the sweeps approach at rate
beta. At alpha = 0 it is the soft Bellman equation of the moves as logged; as alpha grows the policy
goes to pi_b, which is cloning. No transition law is formed: rows are regressed upon.

Pairs without a row. Nothing in the data speaks of them, and each method has its own answer:
`nearest` (the default without a penalty): Q(s, a) is that of the nearest state where a was taken,
an averager in the sense of Gordon (1995), under which the sweeps still contract. `excluded` (the
only choice with a penalty, whose minimum in a table is Q = -inf there): where a state has rows, its
other actions are never taken and do not enter V. A state with no row at all has the Q of the
nearest one that has some, and an action taken nowhere is excluded under both.

A table needs states that repeat. Where each occurs once (dummies), `excluded` leaves every state
its logged action, which clones, and `nearest` is regression on a single neighbour: both run,
neither is to be trusted there. Drop the features that do not matter first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax, wrightomega

from gladius.anchor import nearest
from gladius.checks import Array, InputError, check_discount, check_finite, check_whole
from gladius.transitions import Counts, Integers, Transitions, index_rows

UNSEEN = ("nearest", "excluded")
NEWTON_STEPS = 100  # of the penalised regression; it takes three or four
ROUNDING = 1e-14


@dataclass(frozen=True)
class Logged:
    """Distinct moves of one data set, and how often each was seen.

    Attributes:
        states: (S, d) distinct features among s and s'.
        now, actions, after: (n,) s, a and s' of each distinct move, states by their position.
        done: (n,) whether the path ended there.
        weights: (n,) how often the move occurs; expected numbers do as well.
        number_of_actions: size of the action set.
    """

    states: Array
    now: Integers
    actions: Integers
    after: Integers
    done: NDArray[np.bool_]
    weights: Array
    number_of_actions: int

    @classmethod
    def of(cls, data: Transitions) -> Logged:
        """The moves of a data set."""
        states, (now, after) = index_rows([data.states, data.next_states])
        moves = np.stack([now, data.actions, after, data.done.astype(np.int64)], axis=1)
        found, (at,) = index_rows([moves.astype(np.float64)])
        s, a, t, ended = found.astype(np.int64).T
        weights = np.bincount(at, minlength=len(found)).astype(np.float64)
        return cls(states, s, a, t, ended.astype(bool), weights, data.number_of_actions)

    @classmethod
    def of_counts(cls, counts: Counts, replication: int = 0) -> Logged:
        """The moves of one replication of grouped data without ends."""
        moves = counts.moves[replication]
        visits = counts.visits[replication]
        if not np.allclose(moves.sum(axis=2).T, visits, rtol=1e-9, atol=0):
            raise InputError("counts", "moves that end a path", "give them as Transitions")
        a, s, t = np.nonzero(moves)
        ended = np.zeros(len(a), dtype=bool)
        return cls(counts.states, s, a, t, ended, moves[a, s, t], visits.shape[1])

    @cached_property
    def visits(self) -> Array:
        """(S, A) how often each action was taken in each state."""
        shape = (len(self.states), self.number_of_actions)
        cell = self.now * shape[1] + self.actions
        total = np.bincount(cell, self.weights, minlength=shape[0] * shape[1])
        return total.astype(np.float64, copy=False).reshape(shape)

    def lenders(self, unseen: str, states: Array | None = None) -> Integers:
        """(n, A) the state whose Q(., a) a state has; -1 where the action is excluded.

        Args:
            unseen: one of UNSEEN.
            states: (n, d) any features; by default those of the data.
        """
        taken = self.visits > 0
        asked = self.states if states is None else states
        if unseen == "nearest":
            found = np.full((len(asked), self.number_of_actions), -1)
            for a in np.flatnonzero(taken.any(axis=0)):
                there = np.flatnonzero(taken[:, a])
                found[:, a] = there[nearest(self.states[there], asked)]
            return found
        seen = np.flatnonzero(taken.any(axis=1))
        lender = seen[nearest(self.states[seen], asked)]
        return np.where(taken[lender], lender[:, None], -1)


@dataclass(frozen=True)
class Learned:
    """What was learned from one data set.

    Attributes:
        logged: the moves.
        unseen: the rule for pairs without a row.
        table: (S, A) Q on the data's states; -inf where an action is excluded.
        sweeps: taken.
        gap: bound on the distance to the fixed point, beta / (1 - beta) x the last sweep's step.
        converged: whether the gap met the tolerance.
    """

    logged: Logged
    unseen: str
    table: Array
    sweeps: int
    gap: float
    converged: bool

    def q(self, states: Array) -> Array:
        """(n, A) Q at any (n, d) features."""
        lender = self.logged.lenders(self.unseen, check_finite("states", states))
        columns = np.arange(self.table.shape[1])
        return np.where(lender >= 0, self.table[lender, columns], -np.inf)

    def value(self, states: Array) -> Array:
        """(n,) V = log sum_a exp Q."""
        v: Array = logsumexp(self.q(states), axis=1)
        return v

    def policy(self, states: Array) -> Array:
        """(n, A) choice probabilities, softmax of Q; zero where an action is excluded."""
        probabilities: Array = softmax(self.q(states), axis=1)
        return probabilities


def learn(
    data: Sequence[Logged],
    rewards: Sequence[Array],
    discount: float,
    *,
    conservatism: float = 0.0,
    unseen: str | None = None,
    tolerance: float = 1e-10,
    max_sweeps: int = 10_000,
) -> list[Learned]:
    """Soft fitted Q iteration (or CQL) on each data set, all in one batch.

    Args:
        data: the moves of each data set.
        rewards: for each of them (n,), the reward written beside each move.
        discount: beta.
        conservatism: CQL's alpha; 0 is soft fitted Q.
        unseen: one of UNSEEN; None is `nearest` without a penalty and `excluded` with one.
        tolerance: on the gap, relative to max(1, |Q|).
        max_sweeps: at most this many.

    Raises:
        InputError: for rewards that are not finite or not one a move, or bad options.
    """
    beta = check_discount(discount)
    alpha = float(check_finite("conservatism", conservatism))
    if alpha < 0:
        raise InputError("conservatism", conservatism, "give a number, 0 or more")
    rule = unseen or ("excluded" if alpha else "nearest")
    if rule not in UNSEEN:
        raise InputError("unseen", unseen, f"choose one of {UNSEEN}, or None")
    if alpha and rule != "excluded":
        raise InputError("unseen", unseen, "the penalty sends Q to -inf there: use 'excluded'")
    if not 0 < tolerance < np.inf:
        raise InputError("tolerance", tolerance, "give a positive number")
    check_whole("max_sweeps", max_sweeps, 1)
    if not isinstance(data, Sequence) or not all(isinstance(one, Logged) for one in data):
        raise InputError("data", type(data).__name__, "give a list of Logged, one a data set")
    if not data or len(data) != len(rewards):
        raise InputError("rewards", len(rewards), f"give one array for each of {len(data)} sets")
    labels = [check_finite("rewards", r) for r in rewards]
    for one, label in zip(data, labels, strict=True):
        if label.shape != one.now.shape:
            raise InputError("rewards", label.shape, f"give one for each of {len(one.now)} moves")
    stack = _Stack(data, labels, rule)
    q, steps, scale, sweeps = stack.start(), np.full(len(data), np.inf), np.ones(len(data)), 0
    while sweeps < max_sweeps and np.any(steps * beta / (1 - beta) > tolerance * scale):
        target = stack.targets(q, beta)
        new = stack.penalised(target, alpha, q) if alpha else target
        steps = stack.largest(np.abs(new - q))
        scale = np.maximum(1.0, stack.largest(np.abs(new)))
        q, sweeps = new, sweeps + 1
    gap = steps * beta / (1 - beta)
    return [
        Learned(one, rule, table, sweeps, float(g), bool(g <= tolerance * s))
        for one, table, g, s in zip(data, stack.tables(q), gap, scale, strict=True)
    ]


class _Stack:
    """Data sets one after another: Q is one vector over all pairs with rows."""

    def __init__(self, data: Sequence[Logged], labels: Sequence[Array], rule: str) -> None:
        actions = data[0].number_of_actions
        sizes = np.array([len(one.states) for one in data])
        first = np.cumsum(sizes) - sizes
        visits = np.concatenate([one.visits for one in data])
        number = np.full(visits.shape, -1)
        number[visits > 0] = np.arange(np.count_nonzero(visits))
        self.sizes, self.label = sizes, np.concatenate(labels)
        self.weight = np.concatenate([one.weights for one in data])
        now = np.concatenate([one.now + i for one, i in zip(data, first, strict=True)])
        self.after = np.concatenate([one.after + i for one, i in zip(data, first, strict=True)])
        self.goes_on = np.concatenate([~one.done for one in data])
        self.pair = number[now, np.concatenate([one.actions for one in data])]
        self.count = visits[visits > 0]
        # the pair that each (s, a) reads its Q from, -1 where it is excluded
        reads = []
        for one, i in zip(data, first, strict=True):
            lender = one.lenders(rule)
            found = number[lender + i, np.arange(actions)]
            reads.append(np.where(lender >= 0, found, -1))
        self.reads = np.concatenate(reads)
        state, _ = np.nonzero(visits)
        self.state = np.unique(state, return_inverse=True)[1].reshape(-1)  # of each pair
        self.share = self.count / np.bincount(self.state, self.count)[self.state]
        self.block = np.repeat(np.arange(len(data)), sizes)[state]  # data set of each pair

    def start(self) -> Array:
        """Q = 0; where it starts does not matter."""
        return np.zeros(len(self.count))

    def full(self, q: Array) -> Array:
        """(all states, A) Q with the rule for pairs without a row."""
        return np.where(self.reads >= 0, q[self.reads], -np.inf)

    def tables(self, q: Array) -> list[Array]:
        """Q of each data set."""
        return np.split(self.full(q), np.cumsum(self.sizes)[:-1])

    def targets(self, q: Array, beta: float) -> Array:
        """The regression: mean of r + beta V(s') over the rows of each pair."""
        table = self.full(q)
        top = table.max(axis=1)
        v = top + np.log(np.exp(table - top[:, None]).sum(axis=1))
        backed = self.label + beta * np.where(self.goes_on, v[self.after], 0.0)
        mean: Array = np.bincount(self.pair, self.weight * backed) / self.count
        return mean

    def penalised(self, target: Array, alpha: float, q: Array) -> Array:
        """The minimiser of half the squared error plus CQL's penalty, state by state.

        With Z = log sum exp Q and u = alpha pi_Q / pi_b, Q = y + alpha - u and
        u e^u = (alpha / pi_b) exp(y + alpha - Z), so u is Wright's omega and Z the root of
        sum_a pi_b u = alpha, a convex falling function of Z: Newton's steps cannot pass it twice.
        """
        lift = np.log(alpha / self.share) + target + alpha
        z = self._log_sum_exp(q)
        for _ in range(NEWTON_STEPS):
            u = wrightomega(lift - z[self.state])
            excess = np.bincount(self.state, self.share * u) - alpha
            slope = np.bincount(self.state, self.share * u / (1 + u))
            step = excess / slope
            z = z + step
            if np.all(np.abs(step) <= ROUNDING * np.maximum(1.0, np.abs(z))):
                break
        return np.asarray(target + alpha - wrightomega(lift - z[self.state]))

    def _log_sum_exp(self, q: Array) -> Array:
        top = np.full(self.state.max() + 1, -np.inf)
        np.maximum.at(top, self.state, q)
        return np.asarray(top + np.log(np.bincount(self.state, np.exp(q - top[self.state]))))

    def largest(self, of_pairs: Array) -> Array:
        """(R,) the largest entry of each data set."""
        found = np.zeros(len(self.sizes))
        np.maximum.at(found, self.block, of_pairs)
        return found
