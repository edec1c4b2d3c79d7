"""Levenberg-Marquardt in the outputs of a function class, all replications at once.

The risk is a function of the M outputs on the grid; with J the class's Jacobian and K = J J'
the step theta -> theta - J' w, (mu I + H K) w = gradient, costs M^3, not P^3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gladius.approximators import FunctionClass
from gladius.mdp import Array
from gladius.output_risk import OutputRisk
from gladius.transition_probabilities import regular_solve

LIGHT = 1e-8  # nats for a parameter moved by one: damping that only flat directions feel
ROUNDING = 1e-14  # of the trace of H K
LEVEL_SCALE = 10.0  # unit of the level parameter: large, so that damping never holds it back


@dataclass(frozen=True)
class Fit:
    """Where the solver stopped.

    Attributes:
        theta: (R, P) parameters.
        level: (R,) scalar level added to every output.
        outputs: (R, S, A).
        value: (R,) penalised risk, nats.
        gap: (R,) half g'H^-1 g: how far below `value` any function of the state could get, to
            second order; the class is as good as unrestricted when this is small.
        slope: (R,) largest entry of the gradient in theta, per observation.
        iterations: (R,).
        converged: (R,).
    """

    theta: Array
    level: Array
    outputs: Array
    value: Array
    gap: Array
    slope: Array
    iterations: Array
    converged: NDArray[np.bool_]

    def improved(self, rows: NDArray[np.int64], other: Fit) -> Fit:
        """With the rows where `other`, a fit of `rows` only, has the lower value or converged."""
        better = other.converged | (other.value < self.value[rows])
        parts = {}
        for name in Fit.__dataclass_fields__:
            parts[name] = getattr(self, name).copy()
            parts[name][rows[better]] = getattr(other, name)[better]
        parts["iterations"] = self.iterations.copy()
        parts["iterations"][rows] += other.iterations
        return Fit(**parts)


def levenberg_marquardt(
    risk: OutputRisk,
    family: FunctionClass,
    theta: Array,
    x: Array,
    level: Array,
    free_level: bool,
    size: Array,
    tolerance: float = 1e-3,
    patience: int = 30,
    max_iterations: int = 1000,
) -> Fit:
    """Minimise risk(family(theta, x) + level).

    A replication stops, converged, when `gap` falls under the tolerance (nats; a likelihood
    ratio that no test can see), or when the step damped by LIGHT promises less than a tenth of
    it: then no direction of the class leads further down. It stops, not converged, at
    max_iterations or when `patience` steps together gained less than a hundredth of it.

    Args:
        risk: of R replications.
        family: function class.
        theta: (R, P) start.
        x: (S, d) or (R, S, d) inputs.
        level: (R,) start of the scalar level.
        free_level: whether the level is a parameter too.
        size: (R,) N, for the gradient per observation.
    """
    theta, level = theta.copy(), level.copy()
    reps = len(theta)
    damping = 1e-6 * size
    gap, slope = np.full(reps, np.inf), np.full(reps, np.inf)
    iterations = np.zeros(reps, dtype=int)
    converged = np.zeros(reps, dtype=bool)
    history = np.full((reps, patience), np.inf)
    outputs = family.outputs(theta, x) + level[:, None, None]
    now = risk.evaluate(outputs)
    best, gradient, hessian = now.value.copy(), now.gradient.copy(), now.hessian.copy()
    jacobian = family.jacobian(theta, x)[1].reshape(reps, -1, theta.shape[1]).copy()
    active = np.arange(reps)
    x = np.broadcast_to(x, (reps, *x.shape[-2:]))
    for _ in range(max_iterations):
        jac, grad, hess = jacobian[active], gradient[active], hessian[active]
        downhill = np.einsum("rmp,rm->rp", jac, grad)
        slope[active] = np.max(np.abs(downhill), axis=1) / size[active]
        gap[active] = 0.5 * np.einsum("rm,rm->r", grad, _solve(hess, grad))
        kernel = jac @ np.swapaxes(jac, 1, 2)
        if free_level:
            kernel = kernel + LEVEL_SCALE**2
        product = hess @ kernel
        floor = ROUNDING * np.trace(product, axis1=1, axis2=2)  # keeps the systems regular
        eye = np.eye(hess.shape[1])
        light = regular_solve((LIGHT + floor)[:, None, None] * eye + product, grad)
        promise = 0.5 * np.einsum("rm,rmn,rn->r", grad, kernel, light)
        telling = floor < 100 * LIGHT  # else the promise is held back by rounding, not by the class
        flat = (gap[active] < tolerance) | (telling & (promise < 0.1 * tolerance))
        converged[active[flat]] = True
        stuck = history[active, iterations[active] % patience] - best[active] < 0.01 * tolerance
        keep = ~flat & ~stuck
        if not np.any(keep):
            break
        active, jac, product, grad = active[keep], jac[keep], product[keep], grad[keep]
        held = (damping[active] + floor[keep])[:, None, None]
        w = regular_solve(held * eye + product, grad)
        history[active, iterations[active] % patience] = best[active]
        iterations[active] += 1
        trial = theta[active] - np.einsum("rmp,rm->rp", jac, w)
        trial_level = level[active] - (LEVEL_SCALE**2 * w.sum(axis=1) if free_level else 0.0)
        raised, full = family.jacobian(trial, x[active])
        raised = raised + trial_level[:, None, None]
        part = risk.take(active)
        fresh = part.evaluate(raised)
        better = fresh.value < best[active]
        expected = np.einsum("rm,rmn,rn->r", grad, jac @ np.swapaxes(jac, 1, 2), w)
        gain = (best[active] - fresh.value) / np.maximum(expected, 1e-300)
        factor = np.select([~better, gain > 0.4, gain > 0.1], [5.0, 0.1, 1.0], 2.0)
        damping[active] = np.clip(damping[active] * factor, 1e-10, 1e10)
        won = active[better]
        theta[won], level[won], outputs[won] = trial[better], trial_level[better], raised[better]
        best[won], gradient[won] = fresh.value[better], fresh.gradient[better]
        hessian[won] = fresh.hessian[better]
        jacobian[won] = full.reshape(len(full), -1, theta.shape[1])[better]
    return Fit(theta, level, outputs, best, gap, slope, iterations, converged)


def _solve(hessian: Array, gradient: Array) -> Array:
    """H^-1 g, with a ridge so small that only outputs without any information feel it."""
    scale = np.trace(hessian, axis1=1, axis2=2) / hessian.shape[1]
    ridge = (1e-12 * scale)[:, None, None] * np.eye(hessian.shape[1])
    return regular_solve(hessian + ridge, gradient)
