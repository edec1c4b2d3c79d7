"""Offline reinforcement learning on logged moves: soft fitted Q and conservative Q-learning.

A logged move is (s, a, s') with a reward that someone wrote beside it. Soft fitted Q iteration
(Ernst, Geurts and Wehenkel 2005, with the entropy-regularised backup) regresses r + beta V(s') of
the last Q on (s, a), again and again; conservative Q-learning (Kumar, Zhou, Tucker and Levine 2020,
the variant CQL(H)) adds alpha E_data[log sum_a exp Q(s, a) - Q(s, a)] to half the squared error.
In a table both regressions are solved exactly: with targets y and the data's choice shares pi_b,

    Q(s, a) = mean y over the rows of (s, a) - alpha (pi_Q(a | s) / pi_b(a | s) - 1).

For every alpha the sweep is monotone and moves with constants, so it is a beta-contraction in the
largest norm. At alpha = 0 its fixed point is that of the soft Bellman equation of the moves as
logged; as alpha grows the policy goes to pi_b, which is cloning. No transition probabilities are
formed: rows are regressed upon.

Pairs without a row. Nothing in the data speaks of them, and each method has its own answer:
`nearest` (the default without a penalty): Q(s, a) is that of the nearest state where a was taken,
an averager in the sense of Gordon (1995), under which the sweeps still contract. `excluded` (the
only choice with a penalty, whose minimum in a table is Q = -inf there): where a state has rows, its
other actions are never taken and do not enter V. A state with no row at all has the Q of the
nearest one that has some, and an action taken nowhere is excluded under both.

A table needs states that repeat. Where each occurs once (dummies), both rules run and neither is to
be trusted: drop the features that do not matter first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax, wrightomega

from gladius.anchor import nearest
from gladius.checks import Array, InputError, check_choice, check_discount, check_finite
from gladius.objective import value
from gladius.transitions import Counts, Integers, Transitions, distinct_rows, index_rows

UNSEEN = ("nearest", "excluded")
TOLERANCE, SWEEPS = 1e-10, 10_000  # of the gap relative to max(1, |Q|); at most so many
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
        rows, weights = distinct_rows(moves.astype(np.float64))
        s, a, t, ended = rows.astype(np.int64).T
        number = data.number_of_actions
        return cls(states, s, a, t, ended.astype(bool), weights.astype(np.float64), number)

    @classmethod
    def of_counts(cls, counts: Counts) -> Logged:
        """The moves of one data set, grouped, without ends."""
        moves, visits = counts.moves[0], counts.visits[0]
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

    def nearest_states(self, unseen: str, states: Array | None = None) -> Integers:
        """(n, A) the state whose Q(., a) a state takes; -1 where the action is excluded.

        Args:
            unseen: one of UNSEEN.
            states: (n, d) any features; by default those of the data.
        """
        taken = self.visits > 0
        asked = self.states if states is None else states
        if unseen == "nearest":
            places = np.full((len(asked), self.number_of_actions), -1)
            for a in np.flatnonzero(taken.any(axis=0)):
                there = np.flatnonzero(taken[:, a])
                places[:, a] = there[nearest(self.states[there], asked)]
            return places
        seen = np.flatnonzero(taken.any(axis=1))
        place = seen[nearest(self.states[seen], asked)]
        return np.where(taken[place], place[:, None], -1)


@dataclass(frozen=True)
class Learned:
    """What was learned from one data set.

    Attributes:
        logged: the moves.
        unseen: the rule for pairs without a row.
        table: (S, A) Q on the data's states; -inf where an action is excluded.
        sweeps: taken.
        gap: bound on the distance to the fixed point, beta / (1 - beta) x the last sweep's step.
        converged: whether the gap met TOLERANCE.
    """

    logged: Logged
    unseen: str
    table: Array
    sweeps: int
    gap: float
    converged: bool

    def q(self, states: Array) -> Array:
        """(n, A) Q at any (n, d) features."""
        place = self.logged.nearest_states(self.unseen, check_finite("states", states))
        columns = np.arange(self.table.shape[1])
        return np.where(place >= 0, self.table[place, columns], -np.inf)

    def value(self, states: Array) -> Array:
        """(n,) V = log sum_a exp Q."""
        return np.asarray(logsumexp(self.q(states), axis=1))

    def policy(self, states: Array) -> Array:
        """(n, A) choice probabilities, softmax of Q; zero where an action is excluded."""
        return np.asarray(softmax(self.q(states), axis=1))


def learn(
    data: Sequence[Logged],
    rewards: Sequence[Array],
    discount: float,
    *,
    conservatism: float = 0.0,
    unseen: str | None = None,
) -> list[Learned]:
    """Soft fitted Q iteration (or CQL) on each data set.

    Args:
        data: the moves of each data set.
        rewards: for each of them (n,), the reward written beside each move.
        discount: beta.
        conservatism: CQL's alpha; 0 is soft fitted Q.
        unseen: one of UNSEEN; None is `nearest` without a penalty and `excluded` with one.

    Raises:
        InputError: for rewards that are not finite or not one a move, or bad options.
    """
    beta = check_discount(discount)
    alpha = float(check_finite("conservatism", conservatism))
    if alpha < 0:
        raise InputError("conservatism", conservatism, "give a number, 0 or more")
    rule = unseen or ("excluded" if alpha else "nearest")
    check_choice("unseen", rule, UNSEEN)
    if alpha and rule != "excluded":
        raise InputError("unseen", unseen, "the penalty sends Q to -inf there: use 'excluded'")
    if not isinstance(data, Sequence) or not all(isinstance(logged, Logged) for logged in data):
        raise InputError("data", type(data).__name__, "give a list of Logged, one a data set")
    if not data or len(data) != len(rewards):
        raise InputError("rewards", len(rewards), f"give one array for each of {len(data)} sets")
    pairs = [(logged, check_finite("rewards", r)) for logged, r in zip(data, rewards, strict=True)]
    for logged, label in pairs:
        if label.shape != logged.now.shape:
            hint = f"give one for each of {len(logged.now)} moves"
            raise InputError("rewards", label.shape, hint)
    return [_sweep(logged, label, beta, alpha, rule) for logged, label in pairs]


def _sweep(logged: Logged, label: Array, beta: float, alpha: float, unseen: str) -> Learned:
    """One data set; q is a vector over its pairs (s, a) with rows."""
    visits = logged.visits
    number = np.full(visits.shape, -1)  # of each pair, in that vector
    number[visits > 0] = np.arange(np.count_nonzero(visits))
    pair = number[logged.now, logged.actions]
    near = logged.nearest_states(unseen)
    reads = np.where(near >= 0, number[near, np.arange(visits.shape[1])], -1)
    count = visits[visits > 0]
    state = np.unique(np.nonzero(visits)[0], return_inverse=True)[1].reshape(-1)
    share = count / np.bincount(state, count)[state]
    weight = logged.weights / count[pair]
    mean = np.bincount(pair, weight * label)
    moves = csr_array((weight * ~logged.done, (pair, logged.after)), (len(count), len(visits)))

    def full(q: Array) -> Array:
        """(S, A) Q with the rule for pairs without a row."""
        return np.where(reads >= 0, q[reads], -np.inf)

    q, gap, scale, sweeps = np.zeros(len(count)), np.inf, 1.0, 0
    while sweeps < SWEEPS and gap > TOLERANCE * scale:
        target = mean + beta * (moves @ value(full(q)))  # the regression of r + beta V(s')
        new = penalised(target, alpha, q, share, state) if alpha else target
        gap = float(np.max(np.abs(new - q))) * beta / (1 - beta)
        scale = max(1.0, float(np.max(np.abs(new))))
        q, sweeps = new, sweeps + 1
    return Learned(logged, unseen, full(q), sweeps, gap, gap <= TOLERANCE * scale)


def penalised(target: Array, alpha: float, q: Array, share: Array, state: Integers) -> Array:
    """(P,) the minimiser of half the squared error plus CQL's penalty, state by state.

    With Z = log sum exp Q and u = alpha pi_Q / pi_b, Q = y + alpha - u and
    u e^u = (alpha / pi_b) exp(y + alpha - Z), so u is Wright's omega and Z the root of
    sum_a pi_b u = alpha, a convex falling function of Z: Newton's steps cannot pass it twice.

    Args:
        target: (P,) y of each pair with rows.
        alpha: positive.
        q: (P,) the last Q, where Newton's steps start.
        share: (P,) pi_b.
        state: (P,) of each pair, numbered among the states with rows.
    """
    lift = np.log(alpha / share) + target + alpha
    top = np.full(state.max() + 1, -np.inf)
    np.maximum.at(top, state, q)
    z = top + np.log(np.bincount(state, np.exp(q - top[state])))
    for _ in range(NEWTON_STEPS):
        u = wrightomega(lift - z[state])
        excess = np.bincount(state, share * u) - alpha
        step = excess / np.bincount(state, share * u / (1 + u))
        z = z + step
        if np.all(np.abs(step) <= ROUNDING * np.maximum(1.0, np.abs(z))):
            break
    return np.asarray(target + alpha - wrightomega(lift - z[state]))
