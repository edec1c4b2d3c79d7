"""IQ-Learn's objective on a table of Q with exact derivatives, and its minimum by Newton's method.

With visits n, choices n + c (c: pseudo-count), moves M(s, a, s'), V = log sum_a exp Q and N rows,

    f(Q) = (1/N) sum (n + c)(V - Q) + (1/(4 alpha N)) penalty(Q),
    penalty = sum n Q^2 - 2 beta Q'M V + beta^2 V'K V:  a quadratic form in (Q, V).

`K` alone tells the targets apart: M' diag(1/n) M makes the penalty sum n (Q - beta mean V(s'))^2
("mean"), diag(inflow) makes it sum over rows of (Q - beta V(s'))^2 ("sampled").

Where f is convex. The gradient in V is N g_V(s) = choices(s) - (beta/(2 alpha)) sum M(., s) r; the
Hessian of f is a Gram matrix plus sum_s g_V(s) Hess V(s), hence positive semi-definite where
g_V >= 0. Rewards above 2 alpha can make it indefinite. Still, with Q and V free the sum above is
convex, and so is the set V >= log sum_a exp Q. At a stationary point of f with g_V >= 0 its
Karush-Kuhn-Tucker conditions hold there, with g_V as multipliers: a global minimum, of f as well.
`certificate` tests just that. (At a stationary point N g_V(s) = sum_a choices - n r / (2 alpha), so
rewards up to 2 alpha are enough.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from gladius.checks import InputError
from gladius.mdp import Array
from gladius.objective import value
from gladius.transitions import Counts

TARGETS = ("mean", "sampled")
LONGEST_STEP = 20.0  # in Q, nats: a guard against overflow, not a tuning constant
ROUNDING = 1e-13  # of eigenvalues, relative to a Hessian scaled to a diagonal of ones
SLACK = 1e-13  # rise of f that rounding alone can explain, relative to its largest terms
HALVINGS = 40


@dataclass(frozen=True)
class Problem:
    """f of R replications over one grid of S states.

    Attributes:
        choices: (R, S, A) n + c in states that the replication holds, 0 in the padding.
        visits: (R, S, A) n(s, a).
        moves: (R, S, A, S) n(s, a, s').
        kernel: (R, S, S) K.
        size: (R,) N.
        present: (R, S).
        sampled: whether each row is penalised, not each pair.
        alpha: weight of the penalty, 1/(4 alpha).
        discount: beta.
    """

    choices: Array
    visits: Array
    moves: Array
    kernel: Array
    size: Array
    present: NDArray[np.bool_]
    sampled: bool
    alpha: float
    discount: float

    def take(self, rows: NDArray[np.int64]) -> Problem:
        """Some of the replications."""
        names = ("choices", "visits", "moves", "kernel", "size", "present")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


def make_problem(
    counts: Counts, alpha: float, discount: float, target: str, pseudo_count: float
) -> Problem:
    """f from counts (of whole numbers or of expected shares).

    Raises:
        InputError: where a state that occurs lacks an action and the pseudo-count is 0; the
            likelihood then has no maximum.
    """
    present = counts.present
    choices = (counts.visits + pseudo_count) * present[..., None]
    if np.any(present[..., None] & (choices == 0)):
        r, s, a = (int(i) for i in np.argwhere(present[..., None] & (choices == 0))[0])
        where = f"action {a} never occurs in state {counts.states[s].tolist()} of data set {r}"
        raise InputError("pseudo_count", pseudo_count, f"{where}: give a positive number")
    moves = np.swapaxes(counts.moves, 1, 2)
    if target == "mean":
        law = moves / np.where(counts.visits > 0, counts.visits, 1.0)[..., None]
        kernel = np.einsum("rsat,rsau->rtu", moves, law)
    else:
        kernel = moves.sum(axis=(1, 2))[:, :, None] * np.eye(len(counts.states))
    by_row, size = target == "sampled", counts.size
    return Problem(choices, counts.visits, moves, kernel, size, present, by_row, alpha, discount)


def objective(problem: Problem, q: Array) -> Array:
    """(R,) f at q (R, S, A)."""
    v = value(q)
    likelihood = np.sum(problem.choices * (v[..., None] - q), axis=(1, 2))
    following = np.einsum("rsat,rt->rsa", problem.moves, v)
    beta = problem.discount
    penalty = np.sum(problem.visits * q**2 - 2 * beta * q * following, axis=(1, 2))
    penalty = penalty + beta**2 * np.einsum("rs,rst,rt->r", v, problem.kernel, v)
    total: Array = (likelihood + penalty / (4 * problem.alpha)) / problem.size
    return total


def slopes(problem: Problem, q: Array) -> tuple[Array, Array]:
    """(R, S, A) and (R, S) partial derivatives of f in Q and in V, as if these were unrelated."""
    v, beta = value(q), problem.discount
    half = 2 * problem.alpha
    following = np.einsum("rsat,rt->rsa", problem.moves, v)
    in_q = -problem.choices + (problem.visits * q - beta * following) / half
    back = np.einsum("rsat,rsa->rt", problem.moves, q)
    ahead = np.einsum("rst,rt->rs", problem.kernel, v)
    in_v = problem.choices.sum(axis=2) + (beta**2 * ahead - beta * back) / half
    size = problem.size[:, None]
    return in_q / size[..., None], in_v / size


def gradient(problem: Problem, q: Array) -> Array:
    """(R, S, A) gradient of f."""
    in_q, in_v = slopes(problem, q)
    policy: Array = softmax(q, axis=2)
    return in_q + policy * in_v[..., None]


def hessian(problem: Problem, q: Array) -> Array:
    """(R, S A, S A) Hessian of f; pairs in the order of q's last two axes."""
    reps, states, actions = q.shape
    policy: Array = softmax(q, axis=2)
    beta, weight = problem.discount, 1 / (2 * problem.alpha * problem.size)
    cross = problem.moves[..., None] * policy[:, None, None]  # (R, S, A, S, A)
    full = -beta * (cross + np.transpose(cross, (0, 3, 4, 1, 2)))
    full += beta**2 * (
        problem.kernel[:, :, None, :, None]
        * policy[:, :, :, None, None]
        * policy[:, None, None, :, :]
    )
    full *= weight[:, None, None, None, None]
    _, in_v = slopes(problem, q)
    bend = in_v[..., None, None] * (
        policy[..., None] * np.eye(actions) - policy[..., None] * policy[..., None, :]
    )
    at = np.arange(states)
    full[:, at, :, at, :] += np.swapaxes(bend, 0, 1)
    full = full.reshape(reps, states * actions, states * actions)
    diagonal = np.arange(states * actions)
    full[:, diagonal, diagonal] += weight[:, None] * problem.visits.reshape(reps, -1)
    return full


@dataclass(frozen=True)
class Minimum:
    """Where Newton's method stopped; each (R,) but q.

    Attributes:
        q: (R, S, A).
        objective: f.
        gradient_norm: largest entry of the gradient of f.
        step: largest entry of the Newton step at q: how far off Q still is.
        iterations: Newton steps taken.
        converged: step and gradient under their tolerances where no eigenvalue is negative.
        flat: directions along which f does not bend at q: Q is unique where there are none.
    """

    q: Array
    objective: Array
    gradient_norm: Array
    step: Array
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    flat: NDArray[np.int64]


def minimise(
    problem: Problem,
    start: Array,
    tolerance: float = 1e-8,
    max_iterations: int = 200,
) -> Minimum:
    """A minimum of f from (R, S, A) start, each replication on its own.

    Steps are Newton's with absolute eigenvalues (downhill where f is not convex), none along flat
    directions (a level that the rows leave open), and are halved until f falls. A replication has
    converged once the Newton step moves no Q by more than the tolerance (relative to max(1, |Q|))
    and the gradient per observation is below it too.
    """
    q = start.astype(np.float64, copy=True)
    reps = len(q)
    iterations = np.zeros(reps, dtype=np.int64)
    converged, flat = np.zeros(reps, dtype=bool), np.zeros(reps, dtype=np.int64)
    norm, far = np.full(reps, np.inf), np.full(reps, np.inf)
    active = np.arange(reps)
    for t in range(max_iterations + 1):
        part, here = problem.take(active), q[active]
        slope = gradient(part, here)
        step, convex, flat[active] = _newton(part, here, slope)
        norm[active] = np.max(np.abs(slope), axis=(1, 2))
        far[active] = np.max(np.abs(step), axis=(1, 2))
        scale = np.maximum(1.0, np.max(np.abs(here), axis=(1, 2)))
        done = convex & (far[active] <= tolerance * scale) & (norm[active] <= tolerance)
        converged[active[done]] = True
        part, here, step, slope = part.take(~done), here[~done], step[~done], slope[~done]
        active = active[~done]
        if t == max_iterations or len(active) == 0:
            break
        moved, fell = _search(part, here, step, slope)
        q[active] = moved
        iterations[active[fell]] += 1
        active = active[fell]  # no step falls any more: stuck at rounding, and said so
        if len(active) == 0:
            break
    return Minimum(q, objective(problem, q), norm, far, iterations, converged, flat)


def _newton(
    problem: Problem, q: Array, slope: Array
) -> tuple[Array, NDArray[np.bool_], NDArray[np.int64]]:
    """(R, S, A) downhill step, (R,) whether no eigenvalue is negative and how many are zero."""
    reps = len(q)
    full = hessian(problem, q)
    padding = np.repeat(~problem.present, q.shape[2], axis=1)
    at = np.arange(full.shape[1])
    diagonal = full[:, at, at]
    scale = np.where(padding, 1.0, np.sqrt(np.maximum(np.abs(diagonal), 1e-300)))
    full = full / scale[:, :, None] / scale[:, None, :]
    full[:, at, at] += padding
    eigenvalues, vectors = np.linalg.eigh(full)
    flat = np.abs(eigenvalues) <= ROUNDING
    size = np.where(flat, np.inf, np.abs(eigenvalues))
    along = np.einsum("rij,ri->rj", vectors, slope.reshape(reps, -1) / scale) / size
    step = -np.einsum("rij,rj->ri", vectors, along) / scale
    return step.reshape(q.shape), eigenvalues[:, 0] >= -ROUNDING, flat.sum(axis=1)


def _search(
    problem: Problem, q: Array, step: Array, slope: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """q moved along the step, halved until f falls, and (R,) whether it does."""
    before = objective(problem, q)
    terms = np.max(q**2, axis=(1, 2)) / (4 * problem.alpha)  # of the penalty, before they cancel
    slack = SLACK * np.maximum(1.0, np.maximum(np.abs(before), terms))
    promised = np.sum(slope * step, axis=(1, 2))
    length = np.minimum(1.0, LONGEST_STEP / np.maximum(np.max(np.abs(step), axis=(1, 2)), 1e-300))
    good = np.zeros(len(q), dtype=bool)
    for _ in range(HALVINGS):
        trial = q + length[:, None, None] * step
        good = objective(problem, trial) <= before + 1e-4 * length * promised + slack
        if np.all(good):
            break
        length = np.where(good, length, length / 2)
    return np.where(good[:, None, None], q + length[:, None, None] * step, q), good


def certificate(problem: Problem, q: Array) -> NDArray[np.bool_]:
    """(R,) whether a stationary q is proven a global minimum; False proves nothing."""
    return np.asarray(np.all(slopes(problem, q)[1] >= 0, axis=1))


def implied_reward(problem: Problem, q: Array) -> Array:
    """(R, S, A) r = Q - beta mean V(s') over the observed s'; NaN where there are none."""
    following = np.einsum("rsat,rt->rsa", problem.moves, value(q))
    seen = problem.visits > 0
    mean = np.where(seen, following / np.where(seen, problem.visits, 1.0), np.nan)
    reward: Array = q - problem.discount * mean
    return reward
