"""IQ-Learn's loss on rows, minimised by a batched network and Adam.

    loss = mean over rows of  V(s) - Q(s, a) + (Q(s, a) - beta V(s'))^2 / (4 alpha),

V(s') = 0 after an end. The gradient passes through V(s') too (no target network, as in the
original). Only rows (s, a, s') enter: no law and no average over s' is formed. Equal rows are kept
once with their share, which is exact; where few are distinct a step uses all of them.

What had to be decided: see `Training`; ORIGINAL holds the original's numbers. Its steps were not
established for a data set like ours, and here its rate falls to zero where the original's is
constant, so that a gradient can be said to vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gladius.checks import Array, InputError, check_whole, check_widths
from gladius.networks import (
    BENDS,
    Network,
    Parameters,
    Tensor,
    adam,
    networks,
    no_moments,
    norms,
    outputs,
    scaling,
    start,
)
from gladius.transitions import Transitions, index_rows

CHECK_EVERY = 100  # steps between looks at the full gradient
LARGEST_FULL = 1024  # distinct rows; with at most so many every step uses all of them
AT_ONCE = 4096  # rows of a full gradient held in memory together


@dataclass(frozen=True)
class Training:
    """How the network is trained.

    Attributes:
        hidden: widths of the hidden layers; by default those of the paper under check, which
            gives all its networks 2 x 10 units.
        activation: elu (the original's), relu or tanh.
        standardise: scale inputs to mean 0 and variance 1 of the data (off: as they come).
        learning_rate: of Adam, falling linearly to zero over `steps`.
        steps: at most this many.
        batch: rows a step, drawn with replacement; None: all rows where at most LARGEST_FULL are
            distinct, else 256.
        tolerance: stop once no entry of the full gradient per observation exceeds it.
    """

    hidden: tuple[int, ...] = (10, 10)
    activation: str = "elu"
    standardise: bool = False
    learning_rate: float = 0.01
    steps: int = 5000
    batch: int | None = None
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        check_widths("hidden", self.hidden)
        if self.activation not in BENDS:
            raise InputError("activation", self.activation, f"choose one of {sorted(BENDS)}")
        for name in ("learning_rate", "tolerance"):
            if not 0 < getattr(self, name) < np.inf:
                raise InputError(name, getattr(self, name), "give a positive number")
        check_whole("steps", self.steps, 1)
        if self.batch is not None:
            check_whole("batch", self.batch, 1)


ORIGINAL = Training(hidden=(64, 64), learning_rate=1e-4, batch=32, steps=100_000)


@dataclass(frozen=True)
class Outcome:
    """How the training of one network ended.

    Attributes:
        converged: whether the full gradient met the tolerance.
        steps: taken until then.
        gradient_norm: largest entry of the full gradient per observation.
        objective: full loss per observation.
    """

    converged: bool
    steps: int
    gradient_norm: float
    objective: float


@dataclass(frozen=True)
class Rows:
    """Distinct transitions of R replications, padded with share 0.

    Attributes:
        now, after: (R, n, d) scaled features.
        action: (R, n, A) one-hot.
        alive: (R, n) 0 where the path ended, else 1.
        share: (R, n) of the observations.
    """

    now: Tensor
    after: Tensor
    action: Tensor
    alive: Tensor
    share: Tensor

    def take(self, at: Tensor, share: Tensor) -> Rows:
        """Rows (R, m) with new shares."""
        wide = at.unsqueeze(2)
        now, after, action = (
            torch.take_along_dim(x, wide, dim=1) for x in (self.now, self.after, self.action)
        )
        return Rows(now, after, action, torch.take_along_dim(self.alive, at, dim=1), share)

    def slice(self, low: int, high: int) -> Rows:
        """Rows low to high of each replication."""
        parts = (self.now, self.after, self.action, self.alive, self.share)
        return Rows(*(x[:, low:high] for x in parts))


def losses(theta: Parameters, rows: Rows, discount: float, alpha: float, bend: str) -> Tensor:
    """(R,) sum of share * (V(s) - Q(s, a) + (Q(s, a) - beta V(s'))^2 / (4 alpha))."""
    size = rows.now.shape[1]
    table = outputs(theta, torch.cat([rows.now, rows.after], dim=1), bend)
    v = torch.logsumexp(table, dim=2)
    q = (table[:, :size] * rows.action).sum(dim=2)
    reward = q - discount * rows.alive * v[:, size:]
    return (rows.share * (v[:, :size] - q + reward**2 / (4 * alpha))).sum(dim=1)


def train(
    data: Sequence[Transitions],
    discount: float,
    alpha: float,
    how: Training,
    rngs: Sequence[np.random.Generator],
) -> tuple[list[Network], list[Outcome]]:
    """One network for each data set, all in one batched Adam; each stops on its own."""
    scalings = [scaling(one.states, how.standardise) for one in data]
    rows = stack(data, scalings)
    batch = how.batch
    if batch is None and rows.share.shape[1] > LARGEST_FULL:
        batch = 256
    ladder = torch.cumsum(rows.share, dim=1)
    theta = start(rngs, (rows.now.shape[2], *how.hidden, rows.action.shape[2]))
    moments = no_moments(theta)
    active, taken = np.ones(len(data), dtype=bool), np.zeros(len(data), dtype=np.int64)
    norm, loss = np.full(len(data), np.inf), np.full(len(data), np.inf)
    for t in range(how.steps + 1):
        if t % CHECK_EVERY == 0 or t == how.steps:
            full, value = _full(theta, rows, discount, alpha, how)
            norm, loss = np.where(active, norms(full), norm), np.where(active, value, loss)
            active &= (norm > how.tolerance) & np.isfinite(norm)
        if t == how.steps or not np.any(active):
            break
        part = rows if batch is None else _draw(rows, ladder, rngs, batch)
        slope, _ = _gradient(theta, part, discount, alpha, how)
        rate = torch.from_numpy(active * how.learning_rate * (1 - t / how.steps))[:, None, None]
        adam(theta, moments, slope, rate, t + 1)
        taken += active
    return networks(theta, how.activation, scalings), [
        Outcome(bool(g <= how.tolerance), int(n), float(g), float(f))
        for n, g, f in zip(taken, norm, loss, strict=True)
    ]


def _gradient(
    theta: Parameters, rows: Rows, discount: float, alpha: float, how: Training
) -> tuple[Parameters, Array]:
    leaves = [p.detach().requires_grad_() for p in theta]
    each = losses(leaves, rows, discount, alpha, how.activation)
    slope = list(torch.autograd.grad(each.sum(), leaves))
    return slope, np.asarray(each.detach().numpy(), dtype=np.float64)


def _full(
    theta: Parameters, rows: Rows, discount: float, alpha: float, how: Training
) -> tuple[Parameters, Array]:
    """Gradient and loss over all rows, added up in pieces."""
    slope, value = [torch.zeros_like(p) for p in theta], np.zeros(len(rows.share))
    for low in range(0, rows.share.shape[1], AT_ONCE):
        piece = rows.slice(low, low + AT_ONCE)
        more, part = _gradient(theta, piece, discount, alpha, how)
        slope = [a + b for a, b in zip(slope, more, strict=True)]
        value = value + part
    return slope, value


def _draw(rows: Rows, ladder: Tensor, rngs: Sequence[np.random.Generator], size: int) -> Rows:
    draws = torch.from_numpy(np.stack([rng.random(size) for rng in rngs]))
    at = torch.searchsorted(ladder, draws * ladder[:, -1:], right=True)
    return rows.take(at, torch.full(at.shape, 1 / size, dtype=torch.float64))


def stack(data: Sequence[Transitions], scalings: Sequence[tuple[Array, Array]]) -> Rows:
    """Distinct (s, a, s', done) of each data set with their shares, padded."""
    width, actions = data[0].states.shape[1], data[0].number_of_actions
    tables = []
    for one in data:
        tail = np.stack([one.actions, one.done], axis=1).astype(float)
        found, (at,) = index_rows([np.concatenate([one.states, one.next_states, tail], axis=1)])
        tables.append((found, np.bincount(at, minlength=len(found)) / len(one)))
    shape = (len(data), max(len(found) for found, _ in tables))
    now, after = (torch.zeros(*shape, width, dtype=torch.float64) for _ in range(2))
    action = torch.zeros(*shape, actions, dtype=torch.float64)
    alive, share = (torch.zeros(*shape, dtype=torch.float64) for _ in range(2))
    for r, ((found, part), (centre, scale)) in enumerate(zip(tables, scalings, strict=True)):
        n = len(found)
        now[r, :n] = torch.from_numpy((found[:, :width] - centre) / scale)
        after[r, :n] = torch.from_numpy((found[:, width:-2] - centre) / scale)
        action[r, torch.arange(n), torch.from_numpy(found[:, -2].astype(np.int64))] = 1.0
        alive[r, :n] = torch.from_numpy(1.0 - found[:, -1])
        share[r, :n] = torch.from_numpy(part)
    return Rows(now, after, action, alive, share)
