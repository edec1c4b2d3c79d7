"""The Q and R steps of PQR with networks: batched Adam over replications, rows as counts.

h(s) = Q(s, a_s) is a network with one output, r a network with an output an action. Both losses
are means over observations of half a squared difference; `descend` stops a replication once no
entry of the gradient over all its rows exceeds the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from gladius.baselines.bc import Training
from gladius.checks import Array
from gladius.networks import Parameters, Tensor, adam, no_moments, norms, outputs, start
from gladius.transitions import Integers, Transitions, index_rows

REFRESH = 25  # Adam steps between two targets of the fitted iteration, and between two checks

Loss = Callable[[Parameters, Tensor | None], Tensor]  # (R,), over all rows or those drawn


@dataclass(frozen=True)
class Rows:
    """Distinct transitions of R data sets, padded with rows of weight zero.

    Attributes:
        states, next_states: R arrays (n_r, d) as they come, for functions of the features.
        x, after: (R, n, d) the same, scaled.
        actions: (R, n).
        alive: (R, n) zero where the path ended.
        share: (R, n) share of the observations; sums to one.
    """

    states: list[Array]
    next_states: list[Array]
    x: Tensor
    after: Tensor
    actions: Tensor
    alive: Tensor
    share: Tensor

    def pad(self, columns: Sequence[Array]) -> Tensor:
        """(R, n) from R columns (n_r,)."""
        table = torch.zeros_like(self.share)
        for r, column in enumerate(columns):
            table[r, : len(column)] = torch.from_numpy(np.ascontiguousarray(column))
        return table


@dataclass(frozen=True)
class Outcome:
    """How a step of one replication ended: as in bc.Outcome, with the loss."""

    converged: bool
    diverged: bool
    steps: int
    gradient_norm: float
    loss: float


def distinct(data: Transitions) -> tuple[Array, Array, Integers, NDArray[np.bool_], Integers]:
    """Distinct (s, s', a, done) and how often each occurs."""
    d = data.states.shape[1]
    rest = np.column_stack([data.actions, data.done]).astype(float)
    table, (at,) = index_rows([np.concatenate([data.states, data.next_states, rest], axis=1)])
    times = np.bincount(at, minlength=len(table))
    actions, done = table[:, -2].astype(np.int64), table[:, -1] > 0
    return table[:, :d], table[:, d : 2 * d], actions, done, times


def make_rows(
    data: Sequence[Transitions], scalings: Sequence[tuple[Array, Array]], action: int | None = None
) -> Rows:
    """The rows of every data set, or those of one action only."""
    parts = [distinct(one if action is None else one.take(one.actions == action)) for one in data]
    n, width = max(len(part[0]) for part in parts), data[0].states.shape[1]
    x, after = (torch.zeros(len(data), n, width, dtype=torch.float64) for _ in range(2))
    alive, share = (torch.zeros(len(data), n, dtype=torch.float64) for _ in range(2))
    actions = torch.zeros(len(data), n, dtype=torch.int64)
    for r, ((now, then, chosen, done, times), (centre, scale)) in enumerate(
        zip(parts, scalings, strict=True)
    ):
        m = len(now)
        x[r, :m] = torch.from_numpy((now - centre) / scale)
        after[r, :m] = torch.from_numpy((then - centre) / scale)
        actions[r, :m] = torch.from_numpy(chosen)
        alive[r, :m] = torch.from_numpy(1.0 - done)
        share[r, :m] = torch.from_numpy(times / times.sum())
    return Rows([p[0] for p in parts], [p[1] for p in parts], x, after, actions, alive, share)


def anchor_network(
    rows: Rows,
    constant: Tensor,
    discount: float,
    how: Training,
    rngs: Sequence[np.random.Generator],
    residual: bool,
) -> tuple[Parameters, list[Outcome]]:
    """h with h(s) = E[constant + beta h(s') | s, a_s] over anchor rows.

    Fitted iteration: the target holds h as of the last REFRESH and is not differentiated. With
    `residual` it moves with h and is. At every refresh the level of h is solved for exactly,
    since a fitted iteration by itself takes away only 1 - beta of its error; the fixed point is
    the same (h + c with the mean residual zero, or of least squares).
    """
    theta = start(rngs, (rows.x.shape[2], *how.hidden, 1))
    slack = 1.0 - discount * rows.alive  # by how much a level of one changes a residual
    weight = rows.share * slack if residual else rows.share
    frozen = torch.zeros_like(constant)

    def loss(parameters: Parameters, drawn: Tensor | None) -> Tensor:
        x, after, known, alive, share, target = _drawn(
            drawn, rows.x, rows.after, constant, rows.alive, rows.share, frozen
        )
        if residual:
            following = outputs(parameters, after, how.activation)[..., 0]
            target = known + discount * alive * following
        gap = target - outputs(parameters, x, how.activation)[..., 0]
        return 0.5 * (gap**2 * _weights(drawn, share)).sum(dim=1)

    def refresh(parameters: Parameters, active: NDArray[np.bool_]) -> None:
        following = outputs(parameters, rows.after, how.activation)[..., 0]
        target = constant + discount * rows.alive * following
        gap = target - outputs(parameters, rows.x, how.activation)[..., 0]
        level = (weight * gap).sum(dim=1) / (weight * slack).sum(dim=1)
        level = torch.where(torch.from_numpy(active), level, torch.zeros_like(level))
        parameters[-1] += level[:, None, None]
        frozen.copy_(target + discount * rows.alive * level[:, None])

    return theta, descend(theta, rows.share, loss, refresh, how, rngs)


def reward_network(
    rows: Rows, target: Tensor, actions: int, how: Training, rngs: Sequence[np.random.Generator]
) -> tuple[Parameters, list[Outcome]]:
    """r with r(s, a) = E[target | s, a], from the mean target of each action."""
    theta = start(rngs, (rows.x.shape[2], *how.hidden, actions))
    for a in range(actions):
        share = rows.share * (rows.actions == a)
        theta[-1][:, 0, a] += (share * target).sum(dim=1) / share.sum(dim=1).clamp_min(1e-300)

    def loss(parameters: Parameters, drawn: Tensor | None) -> Tensor:
        x, chosen, aim, share = _drawn(drawn, rows.x, rows.actions, target, rows.share)
        table = outputs(parameters, x, how.activation)
        gap = aim - torch.take_along_dim(table, chosen[..., None], dim=2)[..., 0]
        return 0.5 * (gap**2 * _weights(drawn, share)).sum(dim=1)

    return theta, descend(theta, rows.share, loss, lambda *_: None, how, rngs)


def descend(
    theta: Parameters,
    share: Tensor,
    loss: Loss,
    refresh: Callable[[Parameters, NDArray[np.bool_]], None],
    how: Training,
    rngs: Sequence[np.random.Generator],
) -> list[Outcome]:
    """Adam on `theta` in place, its rate falling linearly to zero over `how.steps`."""
    reps = len(share)
    moments, ladder = no_moments(theta), torch.cumsum(share, dim=1)
    active = np.ones(reps, dtype=bool)
    converged, diverged = np.zeros(reps, dtype=bool), np.zeros(reps, dtype=bool)
    taken, norm = np.zeros(reps, dtype=np.int64), np.zeros(reps)
    for t in range(how.steps + 1):
        if t % REFRESH == 0 or t == how.steps:
            with torch.no_grad():
                refresh(theta, active)
            norm = np.where(active, norms(_gradient(theta, None, loss)), norm)
            converged |= active & (norm <= how.tolerance)
            diverged |= active & ~np.isfinite(norm)
            active &= ~converged & ~diverged
        if t == how.steps or not np.any(active):
            break
        drawn = None
        if how.batch is not None:
            draws = torch.from_numpy(np.stack([rng.random(how.batch) for rng in rngs]))
            drawn = torch.searchsorted(ladder, draws * ladder[:, -1:], right=True)
            drawn = drawn.clamp_max(share.shape[1] - 1)
        rate = torch.from_numpy(active * how.learning_rate * (1 - t / how.steps))[:, None, None]
        adam(theta, moments, _gradient(theta, drawn, loss), rate, t + 1)
        taken += active
    with torch.no_grad():
        final = loss(theta, None).tolist()
    ends = zip(converged, diverged, taken, norm, final, strict=True)
    return [Outcome(bool(c), bool(d), int(n), float(g), value) for c, d, n, g, value in ends]


def _gradient(theta: Parameters, drawn: Tensor | None, loss: Loss) -> Parameters:
    leaves = [p.detach().requires_grad_() for p in theta]
    return list(torch.autograd.grad(loss(leaves, drawn).sum(), leaves))


def _drawn(drawn: Tensor | None, *tables: Tensor) -> list[Tensor]:
    """Rows of (R, n) or (R, n, d) tables."""
    if drawn is None:
        return list(tables)
    return [
        torch.take_along_dim(t, drawn if t.ndim == 2 else drawn[..., None], dim=1) for t in tables
    ]


def _weights(drawn: Tensor | None, share: Tensor) -> Tensor:
    """Rows drawn by their shares count alike."""
    return share if drawn is None else torch.full_like(share, 1.0 / share.shape[1])
