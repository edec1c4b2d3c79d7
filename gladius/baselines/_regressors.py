"""Regressions on (a, x) for fitted value iteration: least squares in a basis, or networks.

A regressor serves R data sets at once. It is built on the pairs of each, is given new targets at
every iteration, and a data set that is no longer active keeps what it has learnt. Every pair
counts as often as it is the earlier one of a quadruple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from gladius.baselines._bases import Basis, Combination
from gladius.checks import Array, InputError, check_whole, check_widths
from gladius.estimate import StateFunction
from gladius.networks import (
    BENDS,
    Network,
    adam,
    initial,
    networks,
    no_moments,
    outputs,
    scaling,
)
from gladius.transitions import Integers, Quadruples

Active = NDArray[np.bool_]
FULL_BATCH = 2048  # pairs; up to here every step uses all of them


class Regressor(Protocol):
    """Conditional means given (a, x) of several data sets."""

    def fit(self, targets: Sequence[Array], active: Active) -> list[Array]:
        """(P, c) fitted values at all pairs of each data set from (P, c) targets."""
        ...

    def functions(self) -> list[StateFunction]:
        """What was fitted last, as maps from features to (n, A, c)."""
        ...

    @property
    def steps(self) -> Integers:
        """(R,) gradient steps so far; 0 where the fit is a closed form."""
        ...


class LeastSquares:
    """Weighted least squares in each data set's basis, action by action."""

    def __init__(self, data: Sequence[Quadruples], bases: Sequence[Basis]) -> None:
        self.bases = bases
        self.rows, self.blocks, self.solvers = [], [], []
        for one, basis in zip(data, bases, strict=True):
            rows = [np.flatnonzero(one.actions == a) for a in range(one.number_of_actions)]
            blocks = [basis.block(a, one.states[at]) for a, at in enumerate(rows)]
            weighted = [b * one.left[at, None] for at, b in zip(rows, blocks, strict=True)]
            self.rows.append(rows)
            self.blocks.append(blocks)
            self.solvers.append(
                [np.linalg.pinv(b.T @ w) @ w.T for b, w in zip(blocks, weighted, strict=True)]
            )
        self.coefficients: list[tuple[Array, ...]] = [()] * len(data)

    def fit(self, targets: Sequence[Array], active: Active) -> list[Array]:
        """See Regressor."""
        fitted = []
        for r, target in enumerate(targets):
            if active[r]:
                pairs = zip(self.solvers[r], self.rows[r], strict=True)
                self.coefficients[r] = tuple(solver @ target[at] for solver, at in pairs)
            values = np.empty_like(target)
            for at, block, w in zip(
                self.rows[r], self.blocks[r], self.coefficients[r], strict=True
            ):
                values[at] = block @ w
            fitted.append(values)
        return fitted

    def functions(self) -> list[StateFunction]:
        """See Regressor."""
        return [Combination(b, w) for b, w in zip(self.bases, self.coefficients, strict=True)]

    @property
    def steps(self) -> Integers:
        """See Regressor."""
        return np.zeros(len(self.bases), dtype=np.int64)


@dataclass(frozen=True)
class Training:
    """How the networks are trained.

    Attributes:
        hidden: widths of the hidden layers.
        activation: tanh, relu or elu.
        learning_rate: of Adam, falling linearly to zero over the steps of each regression.
        steps: of each regression, which starts from the weights of the one before.
        batch: observations a step where there are more than FULL_BATCH distinct pairs.
    """

    hidden: tuple[int, ...] = (20, 20)
    activation: str = "tanh"
    learning_rate: float = 0.01
    steps: int = 300
    batch: int = 512

    def __post_init__(self) -> None:
        check_widths("hidden", self.hidden)
        if self.activation not in BENDS:
            raise InputError("activation", self.activation, f"choose one of {sorted(BENDS)}")
        if not 0 < self.learning_rate < np.inf:
            raise InputError("learning_rate", self.learning_rate, "give a positive number")
        check_whole("steps", self.steps, 1)
        check_whole("batch", self.batch, 1)


@dataclass(frozen=True)
class Scaled:
    """A network whose (n, A c) outputs are standardised values, as (n, A, c) values."""

    network: Network
    centre: Array
    scale: Array

    def __call__(self, states: Array) -> Array:
        raw = self.network(states).reshape(len(states), -1, len(self.centre))
        return np.asarray(self.centre + self.scale * raw)


class Networks:
    """One network a data set, all trained as one batch; an output for each action and column.

    Targets are taken about their mean, anew in each fit: the level of a value function moves most
    from one iteration to the next, and the network need not learn it.
    """

    def __init__(
        self,
        data: Sequence[Quadruples],
        scales: Sequence[Array],
        how: Training,
        rngs: Sequence[np.random.Generator],
    ) -> None:
        self.how, self.rngs = how, rngs
        self.sizes = [len(one.actions) for one in data]
        shape, width = (len(data), max(self.sizes)), data[0].states.shape[1]
        self.scalings = [scaling(one.states, True) for one in data]
        self.x = torch.zeros(*shape, width, dtype=torch.float64)
        self.share = torch.zeros(*shape, dtype=torch.float64)
        self.actions = torch.zeros(*shape, dtype=torch.int64)
        for r, (one, (centre, scale)) in enumerate(zip(data, self.scalings, strict=True)):
            self.x[r, : self.sizes[r]] = torch.from_numpy((one.states - centre) / scale)
            self.share[r, : self.sizes[r]] = torch.from_numpy(one.left / one.size)
            self.actions[r, : self.sizes[r]] = torch.from_numpy(one.actions)
        self.scale = np.stack([np.where(s > 0, s, 1.0) for s in scales])
        self.centre = np.zeros_like(self.scale)
        widths = (width, *how.hidden, data[0].number_of_actions * self.scale.shape[1])
        starts = [initial(rng, widths) for rng in rngs]
        self.theta = [torch.stack(parts) for parts in zip(*starts, strict=True)]
        self.taken = np.zeros(len(data), dtype=np.int64)
        self.ladder = torch.cumsum(self.share, dim=1)

    def fit(self, targets: Sequence[Array], active: Active) -> list[Array]:
        """See Regressor."""
        padded = np.zeros((*self.share.shape, self.scale.shape[1]))
        for r, target in enumerate(targets):
            padded[r, : self.sizes[r]] = target
        mean = np.einsum("rn,rnc->rc", self.share.numpy(), padded)
        self.centre[active] = mean[active]
        wanted = torch.from_numpy((padded - self.centre[:, None]) / self.scale[:, None])
        moments = no_moments(self.theta)
        for t in range(self.how.steps):
            x, share, actions, y = self._sample(wanted)
            leaves = [p.detach().requires_grad_() for p in self.theta]
            errors = self._own(outputs(leaves, x, self.how.activation), actions) - y
            loss = (share[..., None] * errors**2).sum()
            gradient = list(torch.autograd.grad(loss, leaves))
            rate = active * self.how.learning_rate * (1 - t / self.how.steps)
            adam(self.theta, moments, gradient, torch.from_numpy(rate)[:, None, None], t + 1)
        self.taken += active * self.how.steps
        with torch.no_grad():
            raw = self._own(outputs(self.theta, self.x, self.how.activation), self.actions)
        values = self.centre[:, None] + self.scale[:, None] * raw.numpy()
        return [values[r, :size] for r, size in enumerate(self.sizes)]

    def functions(self) -> list[StateFunction]:
        """See Regressor."""
        nets = networks([p.clone() for p in self.theta], self.how.activation, self.scalings)
        return [Scaled(*parts) for parts in zip(nets, self.centre, self.scale, strict=True)]

    @property
    def steps(self) -> Integers:
        """See Regressor."""
        return self.taken

    def _own(self, values: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """(R, n, c) outputs of each pair's action from (R, n, A c)."""
        table = values.reshape(*values.shape[:2], -1, self.scale.shape[1])
        at = actions[..., None, None].expand(-1, -1, 1, table.shape[-1])
        return torch.gather(table, 2, at)[:, :, 0]

    def _sample(
        self, wanted: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """All pairs with their shares, or as many as a batch drawn by their shares."""
        if self.x.shape[1] <= FULL_BATCH:
            return self.x, self.share, self.actions, wanted
        size = self.how.batch
        draws = torch.from_numpy(np.stack([rng.random(size) for rng in self.rngs]))
        at = torch.searchsorted(self.ladder, draws * self.ladder[:, -1:], right=True)
        even = torch.full_like(draws, 1 / size)
        rows = at[..., None]
        return (
            torch.take_along_dim(self.x, rows, dim=1),
            even,
            torch.gather(self.actions, 1, at),
            torch.take_along_dim(wanted, rows, dim=1),
        )
