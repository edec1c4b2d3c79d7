"""The network's solver: Levenberg-Marquardt in the outputs of a function class, and its risk.

The risk is a function of the M = S A outputs f on the grid; with J the class's Jacobian and
K = J J' the step theta -> theta - J' w, (mu I + H K) w = gradient, costs M^3, not P^3. All
replications move at once. (A damped Newton in theta takes 11 to 21 times as long and fails in half
of the fits.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from gladius.checks import Array, shaped
from gladius.function_classes import FunctionClass
from gladius.objective import closed_form_level, value
from gladius.transition_probabilities import regular_solve
from gladius.transitions import Integers

LIGHT = 1e-8  # nats for a parameter moved by one: damping that only flat directions feel
ROUNDING = 1e-14  # of the trace of H K
LEVEL_SCALE = 10.0  # unit of the level parameter: large, so that damping never holds it back
STARTS = 4  # at most: a replication stops at its first converged one
STAGE = 1e4  # lambda first stops here on its way up: a cold start at 1e7 can stall
PATIENCE = 30  # steps
NEGLIGIBLE = 0.1  # of the tolerance: a predicted decrease below it is none


@dataclass(frozen=True)
class OutputRisk:
    """N R_emp + (lambda / 2) ||D2 r||^2 in the outputs f (R, S, A) on the grid, anchor first.

    Without `bellman_weight`, Q(s, a) = f(s, a) + c(s) with c in closed form from the anchor's
    Bellman equation (zeta exact), V = (I - beta P_0)^-1 (r_0 - log pi_0). The Bellman error is
    zero, so R_emp is the NLL: the minimum of R_emp over every level function. With it, Q = f as it
    stands (its level a parameter like any other), and the Bellman error has that weight; the
    paper's is one.
    """

    visits: Array  # (R, S, A)
    transition: Array  # (R, A, S, S) P-hat
    anchor_reward: Array  # (S,)
    discount: float  # beta
    roughness: Array  # (R, k, S) rows whose squares are penalised, D2
    penalty: Array  # (R,) lambda
    bellman_weight: float | None = None  # a positive number, or None

    def take(self, rows: NDArray[np.generic]) -> OutputRisk:
        """A subset of the replications."""
        return replace(
            self,
            visits=self.visits[rows],
            transition=self.transition[rows],
            roughness=self.roughness[rows],
            penalty=self.penalty[rows],
        )

    def _resolvent(self) -> Array:
        """(R, S, S) (I - beta P_0)^-1."""
        n = self.transition.shape[2]
        return np.linalg.inv(np.eye(n) - self.discount * self.transition[:, 0]).astype(np.float64)

    @shaped
    def tables(
        self, outputs: Float[Array, "R S A"]
    ) -> tuple[Float[Array, "R S A"], Float[Array, "R S"], Float[Array, "R S A"]]:
        """(Q, V, r) of the outputs."""
        q, v = outputs, value(outputs)
        if self.bellman_weight is None:
            log_anchor = outputs[..., 0] - v
            level = np.einsum("rst,rt->rs", self._resolvent(), self.anchor_reward - log_anchor)
            q, v = outputs + (level - v)[..., None], level
        return q, v, q - self.discount * np.einsum("rast,rt->rsa", self.transition, v)

    def _value(self, outputs: Array, reward: Array) -> Array:
        nll = np.sum(self.visits * (value(outputs)[..., None] - outputs), axis=(1, 2))
        rough = np.einsum("rks,rsb->rbk", self.roughness, reward[..., 1:])
        total: Array = nll + 0.5 * self.penalty * np.sum(rough**2, axis=(1, 2))
        if self.bellman_weight is not None:
            residual = self.anchor_reward - reward[..., 0]
            total += self.bellman_weight * np.sum(self.visits[..., 0] * residual**2, axis=1)
        return total

    @shaped
    def evaluate(
        self, outputs: Float[Array, "R S A"]
    ) -> tuple[Float[Array, " R"], Float[Array, "R M"], Float[Array, "R M M"]]:
        """The penalised risk, its gradient in the M = S A outputs and Gauss-Newton Hessian."""
        q, v, reward = self.tables(outputs)
        reps, n, actions = outputs.shape
        states = np.arange(n)
        policy = np.exp(q - v[..., None])
        seen = self.visits.sum(axis=2)
        gradient = (seen[..., None] * policy - self.visits).reshape(reps, -1)
        blocks = policy[..., :, None] * (np.eye(actions) - policy[..., None, :])
        squares = np.zeros((reps, n, actions, n, actions))
        squares[:, states, :, states, :] = np.swapaxes(seen[..., None, None] * blocks, 0, 1)
        hessian = squares.reshape(reps, n * actions, -1)
        slope_v, slope_q = self._slopes(policy)
        slope_r = slope_q - self.discount * (self.transition @ slope_v[:, None])  # (R, A, S, M)
        rough = np.einsum("rks,rsb->rbk", self.roughness, reward[..., 1:]).reshape(reps, -1)
        rows = (self.roughness[:, None] @ slope_r[:, 1:]).reshape(reps, rough.shape[1], n * actions)
        scaled = self.penalty[:, None, None] * rows
        gradient = gradient + np.einsum("rkm,rk->rm", scaled, rough)
        hessian = hessian + np.swapaxes(rows, 1, 2) @ scaled
        if self.bellman_weight is not None:
            residual = self.anchor_reward - reward[..., 0]
            slope = -slope_r[:, 0]
            scaled = (2 * self.bellman_weight * self.visits[..., 0])[..., None] * slope
            gradient = gradient + np.einsum("rsm,rs->rm", scaled, residual)
            hessian = hessian + np.swapaxes(slope, 1, 2) @ scaled
        return self._value(outputs, reward), gradient, hessian

    def _slopes(self, policy: Array) -> tuple[Array, Array]:
        """dV (R, S, M) and dQ (R, A, S, M) by the outputs."""
        reps, n, actions = policy.shape
        states = np.arange(n)
        unit = np.swapaxes(np.eye(n * actions).reshape(n, actions, -1), 0, 1)
        slope_lse = np.zeros((reps, n, n, actions))
        slope_lse[:, states, states] = policy
        if self.bellman_weight is not None:
            slope_v = slope_lse.reshape(reps, n, -1)
            return slope_v, np.broadcast_to(unit, (reps, *unit.shape))
        slope_anchor = slope_lse.copy()  # of -log pi_0, which moves V through the resolvent
        slope_anchor[:, states, states, 0] -= 1.0
        slope_v = self._resolvent() @ slope_anchor.reshape(reps, n, -1)
        return slope_v, unit + (slope_v - slope_lse.reshape(reps, n, -1))[:, None]


@dataclass(frozen=True)
class Fit:
    """Where the solver stopped."""

    theta: Array  # (R, P) parameters
    level: Array  # (R,) scalar level added to every output
    outputs: Array  # (R, S, A)
    value: Array  # (R,) penalised risk, nats
    # (R,) half g'H^-1 g: how far below `value` any function of the state could get, to second
    # order; the class is as good as unrestricted when this is small
    gap: Array
    slope: Array  # (R,) largest entry of the gradient in theta, per observation
    iterations: Integers  # (R,)
    converged: NDArray[np.bool_]  # (R,)

    def improved(self, rows: Integers, other: Fit) -> Fit:
        """With the rows where `other`, a fit of `rows` only, has the lower value or converged."""
        better = other.converged | (other.value < self.value[rows])
        parts = {}
        for name in Fit.__dataclass_fields__:
            parts[name] = getattr(self, name).copy()
            parts[name][rows[better]] = getattr(other, name)[better]
        parts["iterations"] = self.iterations.copy()
        parts["iterations"][rows] += other.iterations
        return Fit(**parts)


@shaped
def fit_network(
    risk: OutputRisk,  # of R replications
    family: FunctionClass,
    x: Float[Array, "R S d"],  # inputs
    size: Float[Array, " R"],  # N
    seed: int,  # of the starts, the same for every replication
) -> Fit:
    """Of up to STARTS starts the first that converges, or else the lowest end."""
    best = _from_start(risk, family, x, size, [seed, 0])
    for start in range(1, STARTS):
        left = np.flatnonzero(~best.converged)
        if len(left) == 0:
            break
        again = _from_start(risk.take(left), family, x[left], size[left], [seed, start])
        best = best.improved(left, again)
    return best


def _from_start(
    risk: OutputRisk, family: FunctionClass, x: Array, size: Array, seed: list[int]
) -> Fit:
    """From the same weights in every replication, with a rest at lambda = STAGE."""
    theta = np.tile(family.init([np.random.default_rng(seed)]), (len(x), 1))
    level = np.zeros(len(x))
    if risk.bellman_weight is not None:
        residual = risk.anchor_reward - risk.tables(family.outputs(theta, x))[2][..., 0]
        level = closed_form_level(residual, risk.visits[..., 0], risk.discount)
    eased = replace(risk, penalty=np.minimum(risk.penalty, STAGE))
    near = levenberg_marquardt(eased, family, theta, x, level, size, 0.1, 40)
    fitted = levenberg_marquardt(risk, family, near.theta, x, near.level, size)
    return replace(fitted, iterations=near.iterations + fitted.iterations)


@shaped
def levenberg_marquardt(
    # of R replications; the level is a parameter too where it has a Bellman weight
    risk: OutputRisk,
    family: FunctionClass,
    theta: Float[Array, "R P"],  # start
    x: Float[Array, "R S d"],  # inputs
    level: Float[Array, " R"],  # start of the scalar level
    size: Float[Array, " R"],  # N, for the gradient per observation
    tolerance: float = 1e-3,  # nats
    max_iterations: int = 1000,  # steps
) -> Fit:
    """Minimise risk(family(theta, x) + level).

    A replication stops, converged, when `gap` falls under the tolerance (nats; a likelihood
    ratio that no test can see), or when the predicted decrease of a step damped by LIGHT is
    NEGLIGIBLE: then no direction of the class leads further down. It stops, not converged, at
    max_iterations or when PATIENCE steps together gained less than a hundredth of the tolerance.
    """
    theta, level = theta.copy(), level.copy()
    reps = len(theta)
    has_level = risk.bellman_weight is not None
    damping = 1e-6 * size
    gap, slope = np.full(reps, np.inf), np.full(reps, np.inf)
    iterations = np.zeros(reps, dtype=np.int64)
    converged = np.zeros(reps, dtype=bool)
    history = np.full((reps, PATIENCE), np.inf)
    outputs = family.outputs(theta, x) + level[:, None, None]
    best, gradient, hessian = risk.evaluate(outputs)
    jacobian = family.jacobian(theta, x)[1].reshape(reps, -1, theta.shape[1]).copy()
    identity = np.eye(hessian.shape[1])
    active = np.arange(reps)
    for _ in range(max_iterations):
        jac, grad, hess = jacobian[active], gradient[active], hessian[active]
        downhill = np.einsum("rmp,rm->rp", jac, grad)
        slope[active] = np.max(np.abs(downhill), axis=1) / size[active]
        gap[active] = 0.5 * np.einsum("rm,rm->r", grad, _solve(hess, grad))
        kernel = jac @ np.swapaxes(jac, 1, 2)
        if has_level:
            kernel = kernel + LEVEL_SCALE**2
        product = hess @ kernel
        floor = ROUNDING * np.trace(product, axis1=1, axis2=2)  # keeps the systems regular
        light = regular_solve((LIGHT + floor)[:, None, None] * identity + product, grad)
        predicted_decrease = 0.5 * np.einsum("rm,rmn,rn->r", grad, kernel, light)
        is_class_that_limits = floor < 100 * LIGHT  # else rounding holds the decrease back
        no_way_down = is_class_that_limits & (predicted_decrease < NEGLIGIBLE * tolerance)
        is_flat = (gap[active] < tolerance) | no_way_down
        converged[active[is_flat]] = True
        stuck = history[active, iterations[active] % PATIENCE] - best[active] < 0.01 * tolerance
        keep = ~is_flat & ~stuck
        if not np.any(keep):
            break
        active, jac, product, grad = active[keep], jac[keep], product[keep], grad[keep]
        held = (damping[active] + floor[keep])[:, None, None]
        w = regular_solve(held * identity + product, grad)
        history[active, iterations[active] % PATIENCE] = best[active]
        iterations[active] += 1
        trial = theta[active] - np.einsum("rmp,rm->rp", jac, w)
        trial_level = level[active] - (LEVEL_SCALE**2 * w.sum(axis=1) if has_level else 0.0)
        raised, trial_jacobian = family.jacobian(trial, x[active])
        raised = raised + trial_level[:, None, None]
        reached, reached_gradient, reached_hessian = risk.take(active).evaluate(raised)
        better = reached < best[active]
        expected = np.einsum("rm,rmn,rn->r", grad, jac @ np.swapaxes(jac, 1, 2), w)
        gain = (best[active] - reached) / np.maximum(expected, 1e-300)
        factor = np.select([~better, gain > 0.4, gain > 0.1], [5.0, 0.1, 1.0], 2.0)
        damping[active] = np.clip(damping[active] * factor, 1e-10, 1e10)
        won = active[better]
        theta[won], level[won], outputs[won] = trial[better], trial_level[better], raised[better]
        best[won], gradient[won] = reached[better], reached_gradient[better]
        hessian[won] = reached_hessian[better]
        jacobian[won] = trial_jacobian.reshape(len(active), -1, theta.shape[1])[better]
    return Fit(theta, level, outputs, best, gap, slope, iterations, converged)


def _solve(hessian: Array, gradient: Array) -> Array:
    """H^-1 g, with a ridge so small that only outputs without any information feel it."""
    scale = np.trace(hessian, axis1=1, axis2=2) / hessian.shape[1]
    ridge = (1e-12 * scale)[:, None, None] * np.eye(hessian.shape[1])
    return regular_solve(hessian + ridge, gradient)
