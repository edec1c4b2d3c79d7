"""Weighted rows: the data that the paper's algorithms train on, and the slopes of their losses.

A batch is the distinct states of its rows and its distinct transitions (state, action, next state,
or the end of the path) with their numbers. Where states repeat, these are the non-zero counts
n(s, a, s'), so that a step costs the same for any N. Where they do not, they are the observations;
most next states are then the state of another row, so that one pass through a network gives Q, zeta
and V(s'). With V(s') = 0 at the end of a path, the losses of Algorithm 1 are

    ascent    sum over B2 of dev^2,  Q fixed,
    descent   sum over B2 of -log pi(a | s)
              + sum over B1 with a = a_s of td^2 - beta^2 dev^2,  zeta fixed,

    td = r + beta V(s') - Q(s, a),  dev = V(s') - zeta(s, a).

The Bellman term is computed as td^2 - beta^2 dev^2 = e g with e = Q - r - beta zeta, which is free
of s', and g = Q - r + beta zeta - 2 beta V(s'). In Algorithm 2, zeta(s, a) is V(s') itself.
"""

from typing import Any, NamedTuple

import numpy as np

from gladius.panel.anchor import Anchor
from gladius.panel.moves import departures, entries
from gladius.panel.record import Counts, Integers, Transitions, index_rows
from gladius.solvers.compiled import compiled
from gladius.validate import Array

ASCENT, CHOICE, BELLMAN = range(3)  # the losses, as places in `share`
PRINTED, ABSOLUTE, DETERMINISTIC = range(3)  # the Bellman term: e g, |e g|, td^2 (Algorithm 2)
END = -1  # in place of the next state
ROUNDING = 1e-9  # of sums of a row of shares


class Batch(NamedTuple):
    """Rows at S distinct states, M distinct transitions."""

    states: Array  # (S, d)
    reward: Array  # (S,) the anchor's
    state: Integers  # (M,) positions of the states
    action: Integers  # (M,)
    following: Integers  # (M,) positions of the next states, or END
    number: Array  # (M,) how often each is in B2, which the ascent and the likelihood use
    anchored: Array  # (M,) how often each is in B1, which the Bellman term uses; 0 if a is not a_s
    share: Array  # (3,) weight of one row in ASCENT, CHOICE, BELLMAN; (B, 3) of B batches


class Batches(NamedTuple):
    """B batches, one after the other."""

    rows: Batch
    state_ends: Integers  # (B + 1,) batch i has the states from state_ends[i] to state_ends[i + 1]
    row_ends: Integers  # (B + 1,), likewise


class Outputs(NamedTuple):
    """Q, zeta and what a step computes from them at S states; written anew by each step."""

    q: Array  # (S, A)
    zeta: Array  # (S, A)
    policy: Array  # (S, A)
    slope: Array  # (S, A) derivative of a loss in the outputs of Q or zeta
    value: Array  # (S,)
    pull: Array  # (S,) derivative of the descent loss in V(s), the likelihood's included


def outputs(states: int, actions: int, dtype: type[np.floating[Any]] = np.float64) -> Outputs:
    """Room for S states."""
    tables, columns = np.zeros((4, states, actions), dtype), np.zeros((2, states), dtype)
    return Outputs(*tables, *columns)


# --- from observations, or from counts, to rows
def of_counts(counts: Counts, replication: int, anchor: Anchor) -> Batch:
    """One replication's counts, or expected shares, as a batch in which the losses are means."""
    moves = counts.moves[replication]
    visits = counts.visits[replication].T
    ended = visits - departures(moves)
    ended[np.abs(ended) <= ROUNDING * visits] = 0.0  # of shares of observations
    (action, state, after), number = entries(moves)
    other, last = np.nonzero(ended)
    action, state = np.append(action, other), np.append(state, last)
    order = np.lexsort((np.arange(len(action)), state, action))  # an end after the moves
    action, state = action[order], state[order]
    after = np.append(after, np.full(len(last), END))[order]
    number = np.append(number, ended[other, last])[order]
    anchored = np.where(action == anchor.action, number, 0.0)
    rows = counts.states, anchor.values(counts.states), state, action, after, number, anchored
    return Batch(*rows, np.full(3, 1 / (float(number.sum()) or 1.0)))


def batches(
    data: Transitions,
    label: Integers,
    anchor: Anchor,
    *,
    per_anchor: bool,
    dtype: type[np.floating[Any]] = np.float64,
) -> Batches:
    """The rows by batch, in which B1 and B2 are the same.

    Args:
        data: the training set.
        label: (n,) each row's batch, numbered from 0.
        anchor: the anchor action and its reward.
        per_anchor: as the public code, the ascent loss is a sum and the Bellman term a mean over
            the batch's anchor rows; else all three are means over the batch.
        dtype: working precision.
    """
    states, (state, after) = index_rows([data.states, data.next_states])
    after = np.where(data.done, END, after)
    joint = np.column_stack([label, data.actions, state, np.where(data.done, len(states), after)])
    (label, action, state, _), first, number = _distinct(joint)
    after, weight = after[first], np.asarray(number, dtype)
    row_ends = np.searchsorted(label, np.arange(label[-1] + 2))
    # the states of each batch: positions among all become positions in the batch
    continues = after != END
    pair = np.concatenate([label, label[continues]]) * len(states)
    pair += np.concatenate([state, after[continues]])
    own, position = np.unique(pair, return_inverse=True)
    state_ends = np.searchsorted(own, np.arange(label[-1] + 2) * len(states))
    position -= state_ends[np.concatenate([label, label[continues]])]
    state, following = position[: len(state)], np.full(len(state), END)
    following[continues] = position[len(state) :]
    own = own % len(states)
    anchored = np.where(action == anchor.action, weight, dtype(0))
    size, uses = (np.add.reduceat(x, row_ends[:-1]) for x in (weight, anchored))
    ones = np.ones_like(size)
    share = (ones, 1 / size, ones / np.maximum(uses, 1)) if per_anchor else (1 / size,) * 3
    reward = anchor.values(states)[own].astype(dtype)
    points, shares = np.ascontiguousarray(states[own], dtype), np.stack(share, axis=1)
    rows = Batch(points, reward, state, action, following, weight, anchored, shares.astype(dtype))
    return Batches(rows, state_ends, row_ends)


def _distinct(joint: Integers) -> tuple[tuple[Integers, ...], Integers, Integers]:
    """The columns of the distinct rows in order, the first place of each, and its number."""
    sizes = joint.max(axis=0) + 1
    if np.prod(sizes.astype(float)) < 2.0**62:
        _, first, number = np.unique(
            np.ravel_multi_index(tuple(joint.T), tuple(sizes)),
            return_index=True,
            return_counts=True,
        )
    else:
        _, first, number = np.unique(joint, axis=0, return_index=True, return_counts=True)
    return tuple(np.ascontiguousarray(joint[first].T)), first, number


def whole_batch(data: Transitions, anchor: Anchor) -> Batch:
    """All rows as one batch, in which the losses are means."""
    label = np.zeros(len(data), dtype=np.int64)
    rows = batches(data, label, anchor, per_anchor=False).rows
    return rows._replace(share=rows.share[0])


def draw(
    whole: Batch,
    ends: Array,
    size: int,
    rng: np.random.Generator,
    *,
    keep_states: bool,
    is_one: bool = False,
) -> Batch:
    """B1 and B2, each of `size` rows drawn from `whole` with replacement, as one batch of means.

    Args:
        whole: the rows to draw from, in which B1 and B2 are the same.
        ends: the cumulative sums of `whole.number`.
        size: rows of each.
        rng: of the draw.
        keep_states: whether the batch has all states, as a table needs, or its own alone.
        is_one: whether B1 is B2, as in Algorithm 2.
    """
    drawn = rng.random((1 if is_one else 2, size)) * ends[-1]
    rows, position = np.unique(np.searchsorted(ends, drawn, side="right"), return_inverse=True)
    numbers = [np.bincount(x, minlength=len(rows)) for x in position.reshape(len(drawn), size)]
    anchored = np.where(whole.anchored[rows] > 0, numbers[0], 0).astype(float)
    weights = numbers[-1].astype(float), anchored, np.full(3, 1.0 / size)
    state, action, following = whole.state[rows], whole.action[rows], whole.following[rows]
    if keep_states:
        return Batch(whole.states, whole.reward, state, action, following, *weights)
    continues = following != END
    joint = np.concatenate([state, following[continues]])
    states, position = np.unique(joint, return_inverse=True)
    state, following = position[: len(state)], np.full(len(state), END)
    following[continues] = position[len(state) :]
    return Batch(whole.states[states], whole.reward[states], state, action, following, *weights)


# --- the slopes of the losses in the outputs
@compiled
def cut(found: Batches, i: int) -> Batch:
    """Batch i."""
    rows = found.rows
    a, b = found.state_ends[i], found.state_ends[i + 1]
    c, d = found.row_ends[i], found.row_ends[i + 1]
    return Batch(
        rows.states[a:b],
        rows.reward[a:b],
        rows.state[c:d],
        rows.action[c:d],
        rows.following[c:d],
        rows.number[c:d],
        rows.anchored[c:d],
        rows.share[i],
    )


@compiled
def room(at: Outputs, states: int) -> Outputs:
    """The part of the room for so many states."""
    return Outputs(
        at.q[:states],
        at.zeta[:states],
        at.policy[:states],
        at.slope[:states],
        at.value[:states],
        at.pull[:states],
    )


@compiled
def choose(at: Outputs) -> None:
    """V and pi of Q, into `at`."""
    for s in range(len(at.value)):
        top, total = at.q[s, 0], at.q[s, 0]
        for a in range(1, at.q.shape[1]):
            top = max(top, at.q[s, a])
        total -= total
        for a in range(at.q.shape[1]):
            at.policy[s, a] = np.exp(at.q[s, a] - top)
            total += at.policy[s, a]
        for a in range(at.q.shape[1]):
            at.policy[s, a] /= total
        at.value[s] = top + np.log(total)


@compiled
def zeta_slope(batch: Batch, at: Outputs) -> None:
    """The derivative of the ascent loss in zeta, (S, A), into `at.slope`; V is given and fixed."""
    at.slope[:] = 0
    weight = batch.share[ASCENT] + batch.share[ASCENT]
    for m in range(len(batch.number)):
        s, a, z = batch.state[m], batch.action[m], batch.following[m]
        gap = at.zeta[s, a]
        if z >= 0:
            gap -= at.value[z]
        at.slope[s, a] += weight * batch.number[m] * gap


@compiled
def q_slope(
    batch: Batch, at: Outputs, anchor: int, beta: float, term: int
) -> tuple[float, float, float]:
    """The descent loss's two terms, and |e g| in place of e g; its slope in Q into `at.slope`.

    V and pi are given, zeta is fixed.

    Args:
        batch, at: the rows, and Q, zeta, V and pi at their states.
        anchor: a_s.
        beta: the discount factor, in the working precision.
        term: PRINTED, ABSOLUTE or DETERMINISTIC.
    """
    at.slope[:], at.pull[:] = 0, 0
    nll, bellman, absolute = 0.0, 0.0, 0.0
    for m in range(len(batch.number)):
        s, a, z = batch.state[m], batch.action[m], batch.following[m]
        weight = batch.share[CHOICE] * batch.number[m]
        at.slope[s, a] -= weight
        at.pull[s] += weight
        nll += weight * (at.value[s] - at.q[s, a])
        weight = batch.share[BELLMAN] * batch.anchored[m]
        if weight == 0:
            continue
        ahead = beta - beta
        if z >= 0:
            ahead = beta * at.value[z]
        e = at.q[s, a] - batch.reward[s]
        g = e - ahead
        if term == DETERMINISTIC:
            e = g
        else:
            expected = beta * at.zeta[s, a]
            g += expected - ahead
            e -= expected
        bellman += weight * e * g
        absolute += weight * abs(e * g)
        if term == ABSOLUTE:
            weight *= np.sign(e) * np.sign(g)
        at.slope[s, a] += weight * (e + g)
        if z >= 0:
            at.pull[z] -= (beta + beta) * weight * e
    for s in range(len(at.value)):
        for a in range(at.q.shape[1]):
            at.slope[s, a] += at.policy[s, a] * at.pull[s]
    return nll, bellman, absolute
