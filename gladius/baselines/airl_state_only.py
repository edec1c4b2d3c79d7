"""AIRL's discriminator with a reward of the state alone, f = u(s) + beta E[phi(s')], u = g - phi.

The form that Fu, Luo and Levine (2018) recommend. Its cross-entropy is convex in (u, phi); (u, phi)
is not unique (a constant added to phi goes into u, for one), which neither f nor the gradient sees.
Rows are pairs (s, a), or triples (s, a, s') if plain.

It is minimised by minimising again and again the quadratic above it that touches it at the current
x = f - ln pi (Jaakkola and Jordan 2000), with the weight tanh(x / 2) / (2 x) in the place of the
second derivative D (1 - D). No step can raise the loss, so none is ever tried and cut: a search by
the loss would not see the cells whose rows are fewer than its rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gladius.baselines.airl_discriminator import NO_END, Rows, cross_entropy, relative
from gladius.checks import Array
from gladius.transitions import Integers

DAMPING = 1e-10  # of a step, relative to a unit diagonal: flat directions do not move
STEPS = 50  # a round of the game; what is left the next round takes up
SINGULAR = 1e-9  # smallest singular value, relative, of the map from (g, phi) to f


@dataclass(frozen=True)
class StateOnly:
    """g(s): the parameters are u = g - phi and phi, (R, 2 S).

    Attributes:
        law: (R, A, S, S) T-hat.
        present: (R, S) states that count; the others are padding.
        discount: beta.
        plain: f(s, a, s') = u(s) + beta h(s') on triples, and no model.
    """

    law: Array
    present: NDArray[np.bool_]
    discount: float
    plain: bool = False

    def start(self, g: Array, phi: Array) -> Array:
        return np.concatenate([g.mean(axis=2) - phi, phi], axis=1)

    def reward(self, parameters: Array) -> Array:
        u, phi = np.split(parameters, 2, axis=1)
        return np.asarray(u[..., None] + self.discount * np.einsum("raij,rj->ria", self.law, phi))

    def gradient(self, parameters: Array, rows: Rows) -> tuple[Array, Array]:
        f, expert, generator, log_policy = self._cells(parameters, rows)
        d = expit(f - log_policy)
        return (
            self._gather(generator * d - expert * (1 - d)),
            self._gather(expert + generator),
        )

    def cross_entropy(self, parameters: Array, rows: Rows) -> Array:
        f, expert, generator, log_policy = self._cells(parameters, rows)
        return cross_entropy(f - log_policy, expert, generator)

    def minimise(self, parameters: Array, rows: Rows, tolerance: float) -> tuple[Array, Integers]:
        p, steps = parameters.copy(), np.zeros(len(parameters), dtype=np.int64)
        for _ in range(STEPS):
            gradient, weight = self.gradient(p, rows)
            going = relative(gradient, weight) > tolerance
            if not np.any(going):
                break
            p[going] -= self._move(p, rows, gradient)[going]
            steps += going
        return p, steps

    def split(self, parameters: Array, g: Array, phi: Array) -> tuple[Array, Array]:
        start = np.concatenate([g.mean(axis=2), phi], axis=1)
        every = zip(self.law, self.present, parameters, start, strict=True)
        found = np.stack([self._nearest(*one) for one in every])
        states, shape = np.split(found, 2, axis=1)
        return np.repeat(states[..., None], self.law.shape[1], axis=2), shape

    def take(self, replications: Integers) -> StateOnly:
        law, present = self.law[replications], self.present[replications]
        return StateOnly(law, present, self.discount, self.plain)

    def _successors(self) -> Array:
        """(R, S, A, S + 1) law with the end of the path, where h is 0, as the last place."""
        law = np.swapaxes(self.law, 1, 2)
        ends = np.maximum(1.0 - law.sum(axis=-1, keepdims=True), 0.0)
        return np.concatenate([law, ends * (ends > NO_END)], axis=-1)

    def _cells(self, parameters: Array, rows: Rows) -> tuple[Array, Array, Array, Array]:
        """f, expert rows, generator rows, log policy: (R, S, A), or (R, S, A, S + 1) if plain."""
        if not self.plain:
            return self.reward(parameters), rows.expert, rows.generator, rows.log_policy
        u, phi = np.split(parameters, 2, axis=1)
        after = self.discount * np.pad(phi, ((0, 0), (0, 1)))
        f = u[:, :, None, None] + after[:, None, None, :]
        law = self._successors()
        expert, generator = (part[..., None] * law for part in (rows.expert, rows.generator))
        return f, expert, generator, rows.log_policy[..., None]

    def _gather(self, cells: Array) -> Array:
        """Sum of cells times df / dparameters."""
        if self.plain:
            after = cells.sum(axis=(1, 2))[:, :-1]
            return np.concatenate([cells.sum(axis=(2, 3)), self.discount * after], axis=1)
        after = np.einsum("ria,raij->rj", cells, self.law)
        return np.concatenate([cells.sum(axis=2), self.discount * after], axis=1)

    def _move(self, parameters: Array, rows: Rows, gradient: Array) -> Array:
        f, expert, generator, log_policy = self._cells(parameters, rows)
        gap = np.maximum(np.abs(f - log_policy), 1e-6)
        hessian = self._hessian((expert + generator) * np.tanh(gap / 2) / (2 * gap))
        scale = np.sqrt(np.einsum("rii->ri", hessian))
        scale = np.where(scale > 0, scale, 1.0)
        unit = hessian / (scale[:, :, None] * scale[:, None, :])
        unit += DAMPING * np.eye(unit.shape[1])
        return np.asarray(np.linalg.solve(unit, (gradient / scale)[..., None])[..., 0] / scale)

    def _hessian(self, weight: Array) -> Array:
        reps, states = weight.shape[:2]
        beta, at = self.discount, np.arange(states)
        hessian = np.zeros((reps, 2 * states, 2 * states))
        hessian[:, at, at] = weight.reshape(reps, states, -1).sum(axis=2)
        if self.plain:
            mixed = beta * weight.sum(axis=2)[..., :-1]
            hessian[:, states + at, states + at] = beta**2 * weight.sum(axis=(1, 2))[:, :-1]
        else:
            mixed = beta * np.einsum("ria,raij->rij", weight, self.law)
            law = self.law * np.swapaxes(weight, 1, 2)[..., None]
            product = np.einsum("raij,raik->rjk", law, self.law, optimize=True)
            hessian[:, states:, states:] = beta**2 * product
        hessian[:, :states, states:] = mixed
        hessian[:, states:, :states] = np.swapaxes(mixed, 1, 2)
        return hessian

    def _nearest(
        self, law: Array, present: NDArray[np.bool_], parameters: Array, start: Array
    ) -> Array:
        """(2 S,) g and phi of one replication."""
        size, beta = law.shape[-1], self.discount
        u, phi = np.split(parameters, 2)
        now, after = np.eye(size)[present], np.eye(size + 1)[:, :size]
        if self.plain:
            ends = law[:, present].sum(axis=-1).min(axis=0) < 1 - NO_END
            reached = np.append((law[:, present] > 0).any(axis=0), ends[:, None], axis=1)
            state, place = np.nonzero(reached)
            here, then = now[state], beta * after[place]
        else:
            here = np.tile(now, (len(law), 1))
            then = beta * law[:, present].reshape(-1, size)
        f = here @ u + then @ phi
        design = np.concatenate([here, then - here], axis=1)
        move = np.linalg.lstsq(design, f - design @ start, rcond=SINGULAR)[0]
        return np.asarray(start + move)
