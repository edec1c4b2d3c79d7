"""Two ways to the maximum of ML-IRL's concave objective: exact inner solves, or one step each.

For R replications at once, per path, with r = design'theta + offset,

    L(theta) = sum visits r - sum entry V,      grad L = sum visits design - sum occupancy design,

where V is the soft Bellman fixed point and the occupancy that of its policy from the masses
`entry`. With u the states' occupancy and dQ = d Q / d theta, minus the Hessian is
sum_s u(s) Cov_pi(dQ)(s): positive where `entry` is. See ml_irl.py for what goes in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from gladius.baselines.discounted import policy_value, state_occupancy
from gladius.checks import Array
from gladius.mdp import action_values, soft_bellman
from gladius.transitions import Integers

STEP_TOLERANCE = 1e-6  # relative; under separation the gradient vanishes but the step does not
SINGULAR = 1e-12  # smallest eigenvalue of an information matrix scaled to a unit diagonal
HALVINGS = 40
POLICY_TOLERANCE = 1e-10  # Bellman residual of the alternation, relative to max(1, |V|)
SATURATED = 1e-12  # information this small against the features: choices are all but certain
RIDGE = 1e-6  # of the scaled information where it is singular; the step is then cut
FAR = 100.0  # a Newton step that moves a reward by more comes of a singular information
LARGEST_MOVE = 5.0  # of any reward, in such a step, and of the alternation in any
UNIDENTIFIED = "failed: theta is not identified (singular information)"


@dataclass(frozen=True)
class Problem:
    """R objectives.

    Attributes:
        visits: (R, S, A) discounted visits of the paths, per path.
        entry: (R, S) masses from which the model's occupancy starts.
        law: (A, S, S) or (R, A, S, S).
        design: (S, A, k).
        offset: (R, S, A), the known reward and the penalty.
        discount: beta.
        start: (R, k) first theta.
    """

    visits: Array
    entry: Array
    law: Array
    design: Array
    offset: Array
    discount: float
    start: Array

    def take(self, rows: Integers) -> Problem:
        """Some replications."""
        law = self.law[rows] if self.law.ndim == 4 else self.law
        parts = (self.visits[rows], self.entry[rows], law, self.design, self.offset[rows])
        return Problem(*parts, self.discount, self.start[rows])

    def rewards(self, theta: Array) -> Array:
        """(R, S, A) design'theta + offset."""
        return np.asarray(self.offset + np.einsum("sak,rk->rsa", self.design, theta))


@dataclass(frozen=True)
class Found:
    """The maximum of each replication.

    Attributes:
        theta: (R, k).
        information: (R, k, k) minus the Hessian of L.
        dv: (R, S, k) derivative of V.
        objective: (R,) L.
        gradient: (R, k) of L.
        iterations: (R,) steps of theta.
        inner_iterations: (R,) policy steps: Bellman iterations, or one for each step of theta.
        converged: (R,) a small gradient, a short step, a solved policy, a definite Hessian.
        status: R times ok, not_converged or "failed: why".
    """

    theta: Array
    information: Array
    dv: Array
    objective: Array
    gradient: Array
    iterations: Integers
    inner_iterations: Integers
    converged: NDArray[np.bool_]
    status: tuple[str, ...]


def derivatives(problem: Problem, policy: Array) -> tuple[Array, Array, Array, Array]:
    """Gradient (R, k), information and its positive stand-in (R, k, k), and dV (R, S, k).

    Args:
        problem: what is maximised.
        policy: (R, S, A), the soft-optimal one for derivatives of L.
    """
    law, beta = problem.law, problem.discount
    flow = np.einsum("rsa,...ast->rst" if law.ndim == 3 else "rsa,rast->rst", policy, law)
    system = np.eye(flow.shape[1]) - beta * flow
    dv = np.linalg.solve(system, np.einsum("rsa,sak->rsk", policy, problem.design))
    dq = problem.design + beta * np.moveaxis(law @ dv[:, None], 1, 2)
    gradient = np.einsum("rsa,sak->rk", problem.visits, problem.design)
    gradient = gradient - np.einsum("rs,rsk->rk", problem.entry, dv)
    centred = dq - np.einsum("rsa,rsak->rsk", policy, dq)[:, :, None]
    spread = np.einsum("rsa,rsak,rsal->rskl", policy, centred, centred, optimize=True)
    mass = state_occupancy(policy, law, problem.entry, beta)
    positive = state_occupancy(policy, law, np.maximum(problem.entry, 0.0), beta)
    information = np.einsum("rs,rskl->rkl", mass, spread)
    return gradient, information, np.einsum("rs,rskl->rkl", positive, spread), dv


def exact(problem: Problem, tolerance: float, max_iterations: int) -> Found:
    """Newton steps, halved until L rises; every trial solves the soft Bellman equation."""
    sets, k = problem.start.shape
    theta, v = problem.start.copy(), np.zeros(problem.entry.shape)
    policy, objective = np.zeros(problem.visits.shape), np.zeros(sets)
    iterations, inner = np.zeros((2, sets), dtype=np.int64)
    converged, identified, solved = np.zeros(sets, bool), np.ones(sets, bool), np.ones(sets, bool)
    gradient, information = np.zeros((sets, k)), np.zeros((sets, k, k))
    slopes = np.zeros((*v.shape, k))

    def solve(rows: Integers, at: Array, guess: Array) -> tuple[Array, Array, Array]:
        part = problem.take(rows)
        reward = part.rewards(at)
        solution = soft_bellman(reward, part.law, part.discount, guess)
        inner[rows] += solution.iterations
        solved[rows] = solution.converged
        value = np.sum(part.visits * reward, axis=(1, 2)) - np.sum(part.entry * solution.v, axis=1)
        return solution.v, solution.policy, value

    active = np.arange(sets)
    v[:], policy[:], objective[:] = solve(active, theta, v)
    while len(active):
        part = problem.take(active)
        slope, hessian, fisher, dv = derivatives(part, policy[active])
        step, scale, definite, usable, known = newton(part, slope, hessian, fisher)
        gradient[active], information[active], slopes[active] = slope, hessian, dv
        identified[active] = known
        small = np.all(np.abs(slope) <= tolerance * scale, axis=1)
        done = small & _short(step, theta[active]) & definite & solved[active]
        converged[active[done]] = True
        go = ~done & ~(small & ~usable) & (iterations[active] < max_iterations)
        active, step, dv = active[go], step[go], dv[go]
        promised = np.einsum("rk,rk->r", slope[go], step)
        length, todo = np.ones(len(active)), np.arange(len(active))
        for _ in range(HALVINGS):
            if len(todo) == 0:
                break
            rows, move = active[todo], length[todo, None] * step[todo]
            guess = v[rows] + np.einsum("rsk,rk->rs", dv[todo], move)
            new_v, new_policy, value = solve(rows, theta[rows] + move, guess)
            slack = 1e-13 * (1 + np.abs(objective[rows]))  # rounding must not stop the last step
            good = value >= objective[rows] + 1e-4 * length[todo] * promised[todo] - slack
            taken = rows[good]
            theta[taken] += move[good]
            v[taken], policy[taken], objective[taken] = new_v[good], new_policy[good], value[good]
            iterations[taken] += 1
            todo = todo[~good]
            length[todo] /= 2
        active = np.delete(active, todo)  # no step length raises L: give up
    status = statuses(converged, identified)
    return Found(
        theta, information, slopes, objective, gradient, iterations, inner, converged, status
    )


def one_step(
    problem: Problem, tolerance: float, max_iterations: int, learning_rate: float
) -> Found:
    """One soft policy improvement and one step of theta in turn, from the uniform policy."""
    sets, k = problem.start.shape
    actions = problem.visits.shape[2]
    theta, policy = problem.start.copy(), np.full(problem.visits.shape, 1 / actions)
    objective, gradient = np.zeros(sets), np.zeros((sets, k))
    information, slopes = np.zeros((sets, k, k)), np.zeros((*problem.entry.shape, k))
    iterations, inner = np.zeros((2, sets), dtype=np.int64)
    converged, identified = np.zeros(sets, bool), np.ones(sets, bool)
    active = np.arange(sets)
    while len(active):
        part = problem.take(active)
        reward = part.rewards(theta[active])
        v = policy_value(policy[active], reward, part.law, part.discount)
        q = action_values(reward, part.law, part.discount, v)
        better = np.maximum(softmax(q, axis=2), np.finfo(float).tiny)
        residual = np.max(np.abs(logsumexp(q, axis=2) - v), axis=1)
        settled = residual <= POLICY_TOLERANCE * np.maximum(1.0, np.max(np.abs(v), axis=1))
        policy[active] = better
        inner[active] += 1
        slope, hessian, fisher, dv = derivatives(part, better)
        step, scale, definite, usable, known = newton(part, slope, hessian, fisher)
        value = np.sum(part.visits * reward, axis=(1, 2)) - np.sum(part.entry * v, axis=1)
        objective[active], gradient[active], identified[active] = value, slope, known
        information[active], slopes[active] = hessian, dv
        small = np.all(np.abs(slope) <= tolerance * scale, axis=1)
        done = small & _short(step, theta[active]) & definite & settled
        converged[active[done]] = True
        go = ~done & ~(small & ~usable & settled) & (iterations[active] < max_iterations)
        step = learning_rate * step
        step *= np.minimum(1.0, LARGEST_MOVE / np.maximum(_move(part, step), LARGEST_MOVE))[:, None]
        theta[active[go]] += step[go]
        active = active[go]
        iterations[active] += 1
    status = statuses(converged, identified)
    return Found(
        theta, information, slopes, objective, gradient, iterations, inner, converged, status
    )


def newton(
    problem: Problem, slope: Array, information: Array, fisher: Array
) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """(step, scale, is the information definite, is it usable, is theta identified).

    Everything is scaled first, so that units of features do not matter: to a unit diagonal, or,
    where the information is singular (far out, where choices are all but certain, L is all but
    linear), by the size of the features. A step from there follows the gradient, cut.
    """
    root = np.sqrt(np.diagonal(fisher, axis1=1, axis2=2))
    scale = np.where(root > 0, root, 1.0)
    outer = scale[:, :, None] * scale[:, None]
    identified = np.linalg.eigvalsh(fisher / outer)[:, 0] > SINGULAR
    size = np.sqrt(np.einsum("rsa,sak->rk", problem.visits, problem.design**2))
    size = np.where(size > 0, size, 1.0)
    usable = identified & np.all(root**2 > SATURATED * size**2, axis=1)
    definite = usable & (np.linalg.eigvalsh(information / outer)[:, 0] > SINGULAR)
    chosen = np.where(definite[:, None, None], information, fisher)

    def solved(scale: Array, ridge: float) -> Array:
        scaled = chosen / (scale[:, :, None] * scale[:, None]) + ridge * np.eye(slope.shape[1])
        return np.asarray(np.linalg.solve(scaled, (slope / scale)[..., None])[..., 0] / scale)

    safe = solved(size, RIDGE)
    safe *= np.minimum(1.0, LARGEST_MOVE / np.maximum(_move(problem, safe), LARGEST_MOVE))[:, None]
    chosen[~usable] = np.eye(slope.shape[1])  # of which no use is made
    step = solved(np.where(usable[:, None], scale, 1.0), 0.0)
    regular = usable & (_move(problem, step) <= FAR)
    step = np.where(regular[:, None], step, safe)
    return step, np.where(usable[:, None], scale, size), definite, usable, identified


def _move(problem: Problem, step: Array) -> Array:
    """(R,) the largest move of a reward by the steps (R, k)."""
    moves = np.einsum("sak,rk->rsa", problem.design, step)
    return np.asarray(np.max(np.abs(moves), axis=(1, 2)))


def statuses(converged: NDArray[np.bool_], identified: NDArray[np.bool_]) -> tuple[str, ...]:
    """Diagnostics.status of each replication."""
    both = zip(converged, identified, strict=True)
    return tuple("ok" if c else "not_converged" if i else UNIDENTIFIED for c, i in both)


def _short(step: Array, theta: Array) -> NDArray[np.bool_]:
    return np.asarray(np.all(np.abs(step) <= STEP_TOLERANCE * (1 + np.abs(theta)), axis=1))
