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

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax, wrightomega

from gladius.anchor import nearest
from gladius.checks import Array, InputError, check_choice, check_discount, check_finite
from gladius.objective import value
from gladius.transitions import Counts, Integers

UNSEEN = ("nearest", "excluded")
TOLERANCE, SWEEPS = 1e-10, 10_000  # of the gap relative to max(1, |Q|); at most so many
NEWTON_STEPS = 100  # of the penalised regression; it takes three or four
ROUNDING = 1e-14


def check_logged(field: str, logged: object) -> Counts:
    """The moves of one data set, or an error where they are something else."""
    if not isinstance(logged, Counts) or len(logged.visits) != 1:
        raise InputError(field, type(logged).__name__, "give group(transitions) of one data set")
    return logged


def nearest_states(logged: Counts, unseen: str, states: Array | None = None) -> Integers:
    """(n, A) the state whose Q(., a) a state takes; -1 where the action is excluded.

    Args:
        logged: the moves of one data set.
        unseen: one of UNSEEN.
        states: (n, d) any features; by default those of the data.
    """
    taken = logged.visits[0] > 0
    asked = logged.states if states is None else states
    if unseen == "nearest":
        places = np.full((len(asked), taken.shape[1]), -1)
        for a in np.flatnonzero(taken.any(axis=0)):
            there = np.flatnonzero(taken[:, a])
            places[:, a] = there[nearest(logged.states[there], asked)]
        return places
    seen = np.flatnonzero(taken.any(axis=1))
    place = seen[nearest(logged.states[seen], asked)]
    return np.where(taken[place], place[:, None], -1)


@dataclass(frozen=True)
class Learned:
    """What was learned from one data set.

    Attributes:
        logged: the moves, counted.
        unseen: the rule for pairs without a row.
        table: (S, A) Q on the data's states; -inf where an action is excluded.
        sweeps: taken.
        gap: bound on the distance to the fixed point, beta / (1 - beta) x the last sweep's step.
        converged: whether the gap met TOLERANCE.
    """

    logged: Counts
    unseen: str
    table: Array
    sweeps: int
    gap: float
    converged: bool

    def q(self, states: Array) -> Array:
        """(n, A) Q at any (n, d) features."""
        place = nearest_states(self.logged, self.unseen, check_finite("states", states))
        columns = np.arange(self.table.shape[1])
        return np.where(place >= 0, self.table[place, columns], -np.inf)

    def value(self, states: Array) -> Array:
        """(n,) V = log sum_a exp Q."""
        return np.asarray(logsumexp(self.q(states), axis=1))

    def policy(self, states: Array) -> Array:
        """(n, A) choice probabilities, softmax of Q; zero where an action is excluded."""
        return np.asarray(softmax(self.q(states), axis=1))


def learn(
    data: Sequence[Counts],
    rewards: Sequence[Array],
    discount: float,
    *,
    conservatism: float = 0.0,
    unseen: str | None = None,
) -> list[Learned]:
    """Soft fitted Q iteration (or CQL) on each data set.

    Args:
        data: the moves of each data set, counted (`transitions.group` of one).
        rewards: for each of them (S, A), the mean reward written beside the moves of a pair; NaN or
            any number where there are none.
        discount: beta.
        conservatism: CQL's alpha; 0 is soft fitted Q.
        unseen: one of UNSEEN; None is `nearest` without a penalty and `excluded` with one.

    Raises:
        InputError: for rewards that are not finite at a pair with moves, or bad options.
    """
    beta = check_discount(discount)
    alpha = float(check_finite("conservatism", conservatism))
    if alpha < 0:
        raise InputError("conservatism", conservatism, "give a number, 0 or more")
    rule = unseen or ("excluded" if alpha else "nearest")
    check_choice("unseen", rule, UNSEEN)
    if alpha and rule != "excluded":
        raise InputError("unseen", unseen, "the penalty sends Q to -inf there: use 'excluded'")
    if not isinstance(data, Sequence):
        raise InputError("data", type(data).__name__, "give a list, an entry for each data set")
    if not data or len(data) != len(rewards):
        raise InputError("rewards", len(rewards), f"give one table for each of {len(data)} sets")
    learned = []
    for logged, table in zip(data, rewards, strict=True):
        visits = check_logged("data", logged).visits[0]
        if np.shape(table) != visits.shape:
            raise InputError("rewards", np.shape(table), f"give shape {visits.shape}")
        labels = check_finite("rewards", np.where(visits > 0, table, 0.0))
        learned.append(_sweep(logged, labels, beta, alpha, rule))
    return learned


def _sweep(logged: Counts, labels: Array, beta: float, alpha: float, unseen: str) -> Learned:
    """One data set; q is a vector over its pairs (s, a) with rows."""
    visits = logged.visits[0]
    taken = visits > 0
    number = np.full(visits.shape, -1)  # of each pair, in that vector
    number[taken] = np.arange(np.count_nonzero(taken))
    near = nearest_states(logged, unseen)
    reads = np.where(near >= 0, number[near, np.arange(visits.shape[1])], -1)
    count, mean = visits[taken], labels[taken]
    state = np.unique(np.nonzero(taken)[0], return_inverse=True)[1].reshape(-1)
    share = count / np.bincount(state, count)[state]
    moves = csr_array(np.swapaxes(logged.moves[0], 0, 1)[taken] / count[:, None])

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
