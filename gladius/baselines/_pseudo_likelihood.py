"""The second step of Adusumilli and Eckardt: theta from h and g, and its locally robust moment.

With v = h'theta + g, pi = softmax_a v and m = h - sum_b pi_b h_b (the score), theta maximises the
pseudo-likelihood E_n[log pi(a | x)] (their 3.9). Its first-order dependence on the errors of h and
g is E[psi dv] with psi = -m at the truth, and dv - beta E[dv' | a, x] is minus the mean of

    delta = z'theta + beta (e' + v') - v,

so with lambda the solution of E[lambda (f - beta f')] = E[psi f] for all f, the moment

    zeta = m(a, x; theta, h, g) + lambda(a, x) delta

does not depend on them (4.2 to 4.6). Its variance gives standard errors that hold although h and g
are estimated: (G' Omega^-1 G)^-1 / n with G = E[dm / dtheta], Omega = E[zeta zeta'] (Theorem 5).
Under the model zeta has mean zero given the past, so that periods of one trajectory may be
treated as independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from gladius.baselines.choice_logit import CERTAIN, has_effect, smallest
from gladius.checks import Array
from gladius.estimate import StateFunction
from gladius.parametric import Tables
from gladius.transitions import ENDED, Integers, Quadruples, Transitions, quadruples

TOLERANCE = 1e-9  # of the gradient, over the root of the information: free of units
STEP_TOLERANCE = 1e-6  # relative; under separation the gradient vanishes but the step does not
SINGULAR = 1e-12  # smallest eigenvalue of an information matrix scaled to a unit diagonal
STEPS, HALVINGS = 100, 40
UNIDENTIFIED = "failed: theta is not identified (singular information)"


@dataclass(frozen=True)
class Problem:
    """One data set with what its recursions are about; k parameters, columns k + 1 for g.

    Attributes:
        source: the rows that they come from.
        data: the quadruples.
        tables: the form of the reward, as functions of features.
        design: (P, A, k) z at the pairs' states.
        offset: (P, A) the known part of the reward there.
        log_choice: log eta, as a function of features.
        present: (P, k + 1) z and the offset at the pairs themselves.
        gain: (P, k + 1) the same with e = -log eta added to the last column.
        discount: beta.
    """

    source: Transitions
    data: Quadruples
    tables: Tables
    design: Array
    offset: Array
    log_choice: StateFunction
    present: Array
    gain: Array
    discount: float

    def own(self, table: Array) -> Array:
        """(P, ...) entries of a (P, A, ...) table at each pair's action."""
        return np.asarray(table[np.arange(len(self.data.actions)), self.data.actions])

    def mean(self, values: Array) -> Array:
        """(c,) mean of (P, c) values over the quadruples' earlier pairs."""
        return np.asarray(self.data.left @ values / self.data.size)


def make_problem(
    source: Transitions,
    tables: Tables,
    log_choice: StateFunction,
    discount: float,
    data: Quadruples | None = None,
) -> Problem:
    """Evaluate the form of the reward and the choice probabilities at the pairs.

    Args:
        source: the data.
        tables: features -> (z, offset).
        log_choice: log eta.
        discount: beta.
        data: the quadruples of `source`, if already known.
    """
    data = quadruples(source) if data is None else data
    design, offset = tables(data.states)
    rows = np.arange(len(data.actions))
    surprise = -log_choice(data.states)[rows, data.actions]
    present = np.column_stack([design[rows, data.actions], offset[rows, data.actions]])
    gain = present.copy()
    gain[:, -1] += surprise
    return Problem(source, data, tables, design, offset, log_choice, present, gain, discount)


@dataclass(frozen=True)
class Second:
    """theta by the pseudo-likelihood, or by the corrected moment.

    Attributes:
        theta: (k,).
        information: (k, k) -G, per observation.
        scores: (P, k) m at the pairs.
        gradient: (k,) of the objective per observation, the correction included.
        objective: minus the pseudo-log-likelihood per observation (without the correction).
        steps: Newton steps.
        converged, status: as in Diagnostics.
    """

    theta: Array
    information: Array
    scores: Array
    gradient: Array
    objective: float
    steps: int
    converged: bool
    status: str

    @property
    def covariance(self) -> Array:
        """(k, k) of theta times n, taking h and g as known: too small where they are estimated."""
        return inverse_or_nan(self.information, self.converged)


def second_step(
    problem: Problem, ahead: Array, start: Array, correction: Array | None = None
) -> Second:
    """Solve E_n[m] + correction = 0 by Newton steps on a concave function.

    Args:
        problem: data and form.
        ahead: (P, A, k + 1) beta E[h' | a, x] and beta E[e' + g' | a, x] of every action.
        start: (k,) of theta.
        correction: (k,) E_n[lambda delta]; zero for the pseudo-likelihood.
    """
    rows = np.flatnonzero(problem.data.left > 0)
    weights = problem.data.left[rows] / problem.data.size
    actions = problem.data.actions
    h, g = problem.design + ahead[..., :-1], problem.offset + ahead[..., -1]
    k = h.shape[2]
    tilt = np.zeros(k) if correction is None else correction
    if not (np.all(np.isfinite(ahead)) and np.all(np.isfinite(tilt))):
        lost = np.full(k, np.nan)
        table, square = np.full((len(actions), k), np.nan), np.full((k, k), np.nan)
        return Second(lost, square, table, lost, float("nan"), 0, False, "diverged")

    def objective(theta: Array) -> tuple[float, float, Array]:
        logs = log_softmax(h[rows] @ theta + g[rows], axis=1)
        fit = float(weights @ logs[np.arange(len(rows)), actions[rows]])
        return fit + float(tilt @ theta), fit, np.exp(logs)

    least = np.einsum("p,pak->k", weights, smallest(h[rows]))
    theta = np.array(start, dtype=np.float64)
    value, fit, policy = objective(theta)
    status, steps = "not_converged", 0
    while True:
        centred = h[rows] - np.einsum("pa,pak->pk", policy, h[rows])[:, None]
        scores = centred[np.arange(len(rows)), actions[rows]]
        slope = weights @ scores + tilt
        spread = (weights[:, None] * policy)[..., None] * centred
        information = np.einsum("pak,pal->kl", spread, centred)
        root = np.sqrt(np.diagonal(information))
        scale = np.where(root > 0, root, 1.0)
        flat = np.linalg.eigvalsh(information / np.outer(scale, scale))[0] <= SINGULAR
        if flat or np.any(root**2 <= least):
            status = CERTAIN if has_effect(weights[None], h[None, rows])[0] else UNIDENTIFIED
            break
        step = np.linalg.solve(information, slope)
        short = np.abs(step) <= STEP_TOLERANCE * (1 + np.abs(theta))
        if np.all(np.abs(slope) <= TOLERANCE * scale) and np.all(short):
            status = "ok"
            break
        length, promised = 1.0, float(slope @ step)
        for _ in range(HALVINGS):
            after = objective(theta + length * step)
            if after[0] >= value + 1e-4 * length * promised - 1e-14 * (1 + abs(value)):
                break
            length /= 2
        else:
            break
        if steps == STEPS:
            break
        theta, steps = theta + length * step, steps + 1
        value, fit, policy = after
    every = np.zeros((len(actions), len(theta)))
    every[rows] = scores
    return Second(theta, information, every, slope, -fit, steps, status == "ok", status)


def residual(problem: Problem, ahead: Array, theta: Array) -> Array:
    """(M,) delta of the quadruples at theta, v and e; v' = e' = 0 after the end of a path."""
    coefficients = np.append(theta, 1.0)
    own = problem.own(ahead) @ coefficients
    following = problem.gain @ coefficients + own  # e + v
    after, now = problem.data.after, problem.data.now
    return np.asarray(np.where(after == ENDED, 0.0, problem.discount * following[after]) - own[now])


def correction(problem: Problem, delta: Array, adjoint: Array) -> Array:
    """(k,) E_n[lambda delta] for (P, k) lambda at the pairs."""
    return np.asarray(
        (problem.data.weights * delta) @ adjoint[problem.data.now] / problem.data.size
    )


def robust_covariance(problem: Problem, second: Second, delta: Array, adjoint: Array) -> Array:
    """(k, k) of theta times n: (G' Omega^-1 G)^-1 with zeta about its mean."""
    now: Integers = problem.data.now
    zeta = second.scores[now] + adjoint[now] * delta[:, None]
    share = problem.data.weights / problem.data.size
    zeta = zeta - share @ zeta
    omega = (share[:, None] * zeta).T @ zeta
    bread = inverse_or_nan(second.information, second.converged)
    return np.asarray(bread @ omega @ bread)


def inverse_or_nan(matrix: Array, usable: bool) -> Array:
    """The inverse, or NaN where nothing was found."""
    if not usable:
        return np.full(matrix.shape, np.nan)
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
