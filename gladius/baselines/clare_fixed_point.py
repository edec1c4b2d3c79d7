"""CLARE's fixed point for a table of rewards: the reward step's minimum at its own optimal policy.

With rho_r the discounted state-action law of the soft-optimal policy of r, d the law of the data,
c = rho_E + w d the target masses and Z a scale, the reward step has the closed form

    t(r) = (c - Z rho_r) / (eta Z (rho_r + d)),           and r is sought with F(r) = r - t(r) = 0.

Where d = 0 (then c = 0) t = -1/eta whatever rho is: the unknowns are the pairs of the data. There

    dF/dr = I + diag[(Z d + c) / (eta Z (rho + d)^2)] K,     K = d rho / d r,

and K is a Hessian (of (1 - beta) E V(s_0)), hence symmetric and positive semi-definite. A positive
diagonal times K has no negative eigenvalue, so dF/dr is regular everywhere; t is bounded, so F is
proper. By Hadamard's theorem F is one-to-one: there is exactly one fixed point, and Newton's
direction reduces |F| from anywhere. Plain iteration r <- t(r), the alternation of the original with
both steps solved, need not converge: |dt/dr| exceeds 1 for small eta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gladius.baselines.discounted import state_occupancy
from gladius.checks import Array
from gladius.mdp import Solution, soft_bellman
from gladius.transitions import Integers

HALVINGS = 50


@dataclass(frozen=True)
class Game:
    """What the reward step weighs, R replications.

    Attributes:
        target: (R, S, A) c, masses of the expert and the weights.
        data: (R, S, A) d, law of the data; positive wherever c is.
        scale: (R,) Z.
        entry: (R, S) law of the first state.
        law: (A, S, S) or (R, A, S, S).
        discount: beta.
        eta: of the regulariser.
    """

    target: Array
    data: Array
    scale: Array
    entry: Array
    law: Array
    discount: float
    eta: float

    def take(self, rows: Integers) -> Game:
        """Some replications."""
        law = self.law[rows] if self.law.ndim == 4 else self.law
        parts = (self.target[rows], self.data[rows], self.scale[rows], self.entry[rows], law)
        return Game(*parts, self.discount, self.eta)

    def answer(self, rho: Array) -> Array:
        """(R, S, A) t, the reward step's minimum at the occupancy rho."""
        z = self.scale[:, None, None]
        total = rho + self.data
        ratio = (self.target - z * rho) / (self.eta * z * np.where(total > 0, total, 1.0))
        return np.asarray(np.where(self.data > 0, ratio, -1 / self.eta))

    def loss(self, reward: Array, rho: Array) -> Array:
        """(R,) what the reward step minimises over r."""
        z = self.scale
        fit = z * np.sum(rho * reward, axis=(1, 2)) - np.sum(self.target * reward, axis=(1, 2))
        half = (rho + self.data) / 2  # as many model points as data points in a batch
        return np.asarray(fit + self.eta * z * np.sum(half * reward**2, axis=(1, 2)))


@dataclass(frozen=True)
class FixedPoint:
    """The answer of each replication.

    Attributes:
        reward: (R, S, A).
        v: (R, S) soft values of the reward.
        rho: (R, S, A) occupancy of its policy.
        residual: (R,) largest |r - t(r)|.
        iterations: (R,) Newton steps.
        inner_iterations: (R,) Bellman iterations of the batches the replication was in.
        converged: (R,) the residual met the tolerance, the Bellman equation its own.
    """

    reward: Array
    v: Array
    rho: Array
    residual: Array
    iterations: Integers
    inner_iterations: Integers
    converged: NDArray[np.bool_]


def fixed_point(game: Game, start: Array, tolerance: float, max_iterations: int) -> FixedPoint:
    """Newton steps from `start` (R, S, A), halved until |F|_2 falls."""
    sets = len(start)
    unknown = game.data > 0
    reward = np.where(unknown, start, -1 / game.eta)
    v, rho = np.zeros(game.entry.shape), np.zeros(reward.shape)
    policy, gap = np.zeros(reward.shape), np.zeros(reward.shape)
    iterations, inner = np.zeros((2, sets), dtype=np.int64)
    solved = np.zeros(sets, dtype=bool)

    def solve(rows: Integers, at: Array) -> tuple[Solution, Array, Array]:
        part = game.take(rows)
        solution = soft_bellman(at, part.law, part.discount, v[rows])
        inner[rows] += solution.iterations
        solved[rows] = solution.converged
        entry = (1 - part.discount) * part.entry
        mass = state_occupancy(solution.policy, part.law, entry, part.discount)
        reached = mass[..., None] * solution.policy
        return solution, reached, at - part.answer(reached)

    active = np.arange(sets)
    solution, rho[:], gap[:] = solve(active, reward)
    v[:], policy[:] = solution.v, solution.policy
    converged = np.zeros(sets, dtype=bool)
    while len(active):
        done = solved[active] & (np.max(np.abs(gap[active]), axis=(1, 2)) <= tolerance)
        converged[active[done]] = True
        active = active[~done & (iterations[active] < max_iterations)]
        if len(active) == 0:
            break
        step = _step(game.take(active), policy[active], rho[active], gap[active], unknown[active])
        size = np.sum(gap[active] ** 2, axis=(1, 2))
        length, todo = np.ones(len(active)), np.arange(len(active))
        for _ in range(HALVINGS):
            if len(todo) == 0:
                break
            rows = active[todo]
            trial = reward[rows] + length[todo, None, None] * step[todo]
            solution, reached, missed = solve(rows, trial)
            good = np.sum(missed**2, axis=(1, 2)) <= (1 - 1e-4 * length[todo]) * size[todo]
            taken = rows[good]
            reward[taken], rho[taken], gap[taken] = trial[good], reached[good], missed[good]
            v[taken], policy[taken] = solution.v[good], solution.policy[good]
            iterations[taken] += 1
            todo = todo[~good]
            length[todo] /= 2
        active = np.delete(active, todo)  # rounding leaves nothing to gain: give up
    residual = np.max(np.abs(gap), axis=(1, 2))
    return FixedPoint(reward, v, rho, residual, iterations, inner, converged)


def _step(game: Game, policy: Array, rho: Array, gap: Array, unknown: NDArray[np.bool_]) -> Array:
    """(R, S, A) Newton's step, zero where r is known."""
    shape = gap.shape
    pairs = np.flatnonzero(unknown.any(axis=0))  # known ones in some replication stay below
    own = unknown.reshape(len(gap), -1)[:, pairs]
    curvature = occupancy_derivative(policy, game.law, rho.sum(axis=2), game.discount, pairs)
    z = game.scale[:, None, None]
    total = np.where(unknown, rho + game.data, 1.0)
    slope = (z * game.data + game.target) / (game.eta * z * total**2)
    slope = slope.reshape(len(gap), -1)[:, pairs]
    jacobian = np.where(own[:, :, None] & own[:, None], slope[:, :, None] * curvature, 0.0)
    jacobian += np.eye(len(pairs))
    right = np.where(own, gap.reshape(len(gap), -1)[:, pairs], 0.0)
    step = np.zeros((len(gap), shape[1] * shape[2]))
    step[:, pairs] = -np.linalg.solve(jacobian, right[..., None])[..., 0]
    return step.reshape(shape)


def occupancy_derivative(
    policy: Array, law: Array, mass: Array, discount: float, pairs: Integers
) -> Array:
    """(R, n, n) d rho / d r among the (flat) pairs, of the soft-optimal policy and its law.

    Args:
        policy: (R, S, A), soft-optimal.
        law: (A, S, S) or (R, A, S, S).
        mass: (R, S) occupancy of the states.
        discount: beta.
        pairs: (n,) s * A + a.
    """
    sets, states, actions = policy.shape
    flow = np.einsum("rsa,...ast->rst" if law.ndim == 3 else "rsa,rast->rst", policy, law)
    at, which = np.divmod(pairs, actions)
    inverse = np.linalg.inv(np.eye(states) - discount * flow)
    dv = inverse[:, :, at] * policy[:, at, which][:, None]  # d V(s) / d r(pair)
    dq = discount * np.moveaxis(law @ dv[:, None], 1, 2)
    dq[:, at, which, np.arange(len(pairs))] += 1.0
    root = np.sqrt(np.maximum(mass, 0.0)[..., None] * policy)
    centred = root[..., None] * (dq - dv[:, :, None])
    flat = centred.reshape(sets, states * actions, -1)
    return np.asarray(np.swapaxes(flat, 1, 2) @ flat)
