"""Profiled ERM's class `smooth`, on counts: Q is free in every state, and r is held smooth.

The coordinates are the log-odds eta(s, a) = log pi(a | s) - log pi(a_s | s). With P-hat the grouped
counts, and the anchor's Bellman equation solved for the level,

    V = (I - beta P_A)^-1 (r_A - log pi_A),   Q = V + log pi,   r = Q - beta P-hat V.

Every eta has Bellman error zero, so R_emp is the negative log-likelihood of eta. The estimator is

    min over eta of  NLL(eta) + (lambda / 2) ||D2 r(eta)||^2,

D2 the divided second differences along the feature in units of its mean spacing.

Implementation choices:
- lambda rises by half decades to the affine end. Restricted maximum likelihood (REML, Laplace's
  approximation in r) chooses it.
- The affine end stays unless REML gains LEAVES_FIXED_FORM over it. Nominally this is the 5 % point
  of the boundary test of an infinite lambda, a mixture of half a point mass at 0 and half a
  chi-square.
- Otherwise lambda is UNDERSMOOTHING_STEPS (a decade) below REML's choice, so that the bias stays
  below the plug-in's sampling error.
- Both rules were tuned on other seeds than the exhibits use, but on three of their true rewards,
  -x, -x - .6 sin x and -.25 x^1.7. The exhibit `accuracy` has two others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gladius.model.frequencies import TransitionProbabilities, anchored_value, regular_solve
from gladius.own_data.erm.level import Level, level_of
from gladius.own_data.erm.misfit import is_worse_than_frequencies
from gladius.panel.anchor import Anchor
from gladius.panel.moves import check_square, dense
from gladius.panel.record import Counts, Integers
from gladius.solvers.newton import minimise
from gladius.validate import Array

PSEUDO_COUNT = 0.5
LEAVES_FIXED_FORM = 2.71  # of twice the restricted log-likelihood, to leave the fixed form
UNDERSMOOTHING_STEPS = 2  # half decades
PENALTIES = 10.0 ** np.arange(7.0, -1.25, -0.5)
RIDGE = 1e-8  # identifies r where the data say nothing and the roughness is silent
DECREMENT = 1e-5  # nats: a thousandth of what one observation can move the likelihood by
LAST_STEP = 3e-3  # standard errors
MAX_STEPS = 60  # at each lambda


@dataclass(frozen=True)
class Problem:
    """What every class is fitted to: counts, P-hat on their states, the anchor and beta."""

    counts: Counts
    p_hat: TransitionProbabilities
    anchor: Anchor
    discount: float
    closed: Array | float = 0.0  # (S, A) FORBIDDEN where an action is not available, else 0

    @property
    def anchor_reward(self) -> Array:
        """(S,) r(s, a_s)."""
        return self.anchor.values(self.counts.states)

    @property
    def order(self) -> list[int]:
        """The actions, the anchor first; np.argsort of it leads back."""
        free = (a for a in range(self.counts.visits.shape[2]) if a != self.anchor.action)
        return [self.anchor.action, *free]


def check_smooth_size(states: int, actions: int) -> None:
    """Raise where the array of all pairs but the anchor's would be too large."""
    hint = "take function_class='sparse', or coarsen the feature"
    check_square(states * (actions - 1), states, hint)


@dataclass(frozen=True)
class SmoothRisk:
    """The penalised risk in the log-odds eta (R, F S), F = A - 1 actions beside the anchor.

    With L = log pi(anchor | .) and B_b = beta (P_A - P_b)(I - beta P_A)^-1,

        r_b = Q_b - beta P_b V = eta_b + r_A + B_b (r_A - L),

    linear in eta but for L. Newton's steps are taken in coordinates u_b = C r_b of the reward: its
    scaled second differences, and its values at the two ends. There the roughness is diagonal, so
    that no lambda spoils the condition, and the likelihood is nearly quadratic.

    Attributes:
        visits: (R, A, S), anchor first.
        influence: (R, F, S, S) B.
        anchor_reward: (R, F, S) r_A + B r_A.
        coordinates: (R, S, S) C.
        inverse: (R, S, S) C^-1.
        weights: (R, S) of u_b^2 in ||D2 r||^2.
        closed: (F, S) FORBIDDEN where an action is not available. eta is there what it would be
            if it were, so that r is smooth in all states; choices and V are those of the sets.
    """

    visits: Array
    influence: Array
    anchor_reward: Array
    coordinates: Array
    inverse: Array
    weights: Array
    closed: Array

    @classmethod
    def of(cls, problem: Problem) -> SmoothRisk:
        """The risk of a problem with one feature."""
        check_smooth_size(len(problem.counts.states), len(problem.order))
        transition = dense(problem.p_hat.transition)[:, problem.order]
        system = np.eye(transition.shape[2]) - problem.discount * transition[:, 0]
        influence = transition[:, :1] - transition[:, 1:]
        influence = problem.discount * influence @ np.linalg.inv(system)[:, None]
        rows = roughness_rows(problem.counts)
        scale = np.max(np.abs(rows), axis=2)
        is_free = scale == 0  # the two ends, and states that only other replications hold
        coordinates = rows / np.where(is_free, 1.0, scale)[..., None]
        coordinates[is_free] = np.broadcast_to(np.eye(rows.shape[1]), rows.shape)[is_free]
        return cls(
            visits=np.swapaxes(problem.counts.visits[..., problem.order], 1, 2),
            influence=influence,
            anchor_reward=problem.anchor_reward + influence @ problem.anchor_reward,
            coordinates=coordinates,
            inverse=np.linalg.inv(coordinates).astype(np.float64),
            weights=scale**2,
            closed=np.broadcast_to(problem.closed, problem.counts.visits.shape[1:]).T[
                problem.order[1:]
            ],
        )

    def rewards(self, rows: Integers, eta: Array, log_anchor: Array) -> Array:
        """(n, F, S) r_b at (n, F, S) log-odds, of which (n, S) L follows."""
        drop = (self.influence[rows] @ log_anchor[:, None, :, None])[..., 0]
        return np.asarray(eta + self.anchor_reward[rows] - drop)

    def choices(self, flat: Array) -> tuple[Array, Array, Array]:
        """eta (n, F, S), L (n, S) and the probabilities of the free actions (n, F, S)."""
        eta = flat.reshape(len(flat), -1, self.visits.shape[2])
        log_anchor = -np.logaddexp.reduce(eta + self.closed, axis=1, initial=0.0)
        return eta, log_anchor, np.exp(eta + self.closed + log_anchor[:, None])

    def expand(self, rows: Integers, flat: Array, penalty: Array) -> tuple[Array, Array, Array]:
        """Value (n,), gradient (n, p) and Fisher's Hessian (n, p, p) in u at (n, p = F S) eta."""
        visits, weights = self.visits[rows], penalty[:, None] * self.weights[rows]
        eta, log_anchor, policy = self.choices(flat)
        seen = visits.sum(axis=1)
        value = -np.sum(visits[:, 1:] * eta, axis=(1, 2)) - np.sum(seen * log_anchor, axis=1)
        coordinates = np.swapaxes(self.coordinates[rows], 1, 2)
        differences = self.rewards(rows, eta, log_anchor) @ coordinates
        roughness_gradient = weights[:, None] * differences
        value += 0.5 * np.sum(roughness_gradient * differences, axis=(1, 2))
        jacobian, anchor_jacobian = self._jacobians(rows, policy)
        expected = seen[:, None] * policy
        surplus = (expected - visits[:, 1:]).reshape(len(rows), 1, -1)
        gradient = (surplus @ jacobian)[:, 0] + roughness_gradient.reshape(flat.shape)
        hessian = np.swapaxes(jacobian, 1, 2) @ (expected.reshape(*flat.shape, 1) * jacobian)
        hessian -= np.swapaxes(anchor_jacobian, 1, 2) @ (seen[..., None] * anchor_jacobian)
        diagonal = np.arange(flat.shape[1])
        hessian[:, diagonal, diagonal] += np.tile(weights, (1, eta.shape[1])) + RIDGE
        return value, gradient, hessian

    def _jacobians(self, rows: Integers, policy: Array) -> tuple[Array, Array]:
        """d eta / d u (n, F S, F S) and d(-L) / d u (n, S, F S); see step_to for the latter."""
        replications, actions, states = policy.shape
        inverse, influence = self.inverse[rows], self.influence[rows]
        shares = np.swapaxes(policy[..., None] * inverse[:, None], 1, 2)
        anchor_jacobian = self._resolvent(rows, policy) @ shares.reshape(replications, states, -1)
        jacobian = -(influence @ anchor_jacobian[:, None])
        for b in range(actions):
            jacobian[:, b, :, b * states : (b + 1) * states] += inverse
        return jacobian.reshape(replications, actions * states, -1), anchor_jacobian

    def _resolvent(self, rows: Integers, policy: Array) -> Array:
        """(n, S, S) (I + sum_b pi_b B_b)^-1, which is (I - beta P_A)(I - beta P_pi)^-1."""
        mean_influence = np.sum(policy[..., None] * self.influence[rows], axis=1)
        return np.asarray(np.linalg.inv(np.eye(policy.shape[2]) + mean_influence))

    def tables(self, problem: Problem, flat: Array) -> Tables:
        """r, Q and V of all replications at (R, p) eta."""
        eta, log_anchor, _ = self.choices(flat)
        transition = problem.p_hat.transition[:, problem.anchor.action]
        v = anchored_value(log_anchor, transition, problem.anchor_reward, problem.discount)
        odds = np.concatenate([np.zeros_like(eta[:, :1]), eta + self.closed], axis=1)
        reward = np.broadcast_to(problem.anchor_reward, odds.shape).copy()
        reward[:, 1:] = self.rewards(np.arange(len(flat)), eta, log_anchor)
        q, back = odds + log_anchor[:, None] + v[:, None], np.argsort(problem.order)
        return Tables(np.swapaxes(reward[:, back], 1, 2), np.swapaxes(q[:, back], 1, 2), v)

    def step_to(self, rows: Integers, flat: Array, step: Array) -> Array:
        """The log-odds whose rewards are C^-1 step away, to second order in the step.

        d eta_b = d r_b + B_b dL and dL = -sum_b pi_b d eta_b give dL to first order; at the point
        that this leads to L is off by `miss`, and the same system corrects it once.
        """
        eta, log_anchor, policy = self.choices(flat)
        resolvent, influence = self._resolvent(rows, policy), self.influence[rows]
        target = eta + step.reshape(eta.shape) @ np.swapaxes(self.inverse[rows], 1, 2)
        rise = resolvent @ np.sum(policy * (target - eta), axis=1)[..., None]  # of -L
        trial = target - (influence @ rise[:, None])[..., 0]
        of_trial = np.logaddexp.reduce(trial + self.closed, axis=1, initial=0.0)
        miss = rise[..., 0] - log_anchor - of_trial
        trial += (influence @ (resolvent @ miss[..., None])[:, None])[..., 0]
        return np.asarray(trial.reshape(flat.shape))


class Tables(NamedTuple):
    """r and Q (R, S, A) and V (R, S) on the states of the data."""

    reward: Array
    q: Array
    v: Array


@dataclass(frozen=True)
class Smooth:
    """Fits of R replications.

    Attributes:
        tables: r-hat with its Q and V.
        penalty: (R,) lambda.
        interval: the fit at which intervals are centred.
        interval_penalty: (R,) its lambda: the least whose REML is within LEAVES_FIXED_FORM of the
            lowest, undersmoothed by a decade. It never stays at the affine end by chance.
        roughness: (R, S, S) second derivative of the penalty of `interval` on an action's reward.
        reml: (R,) criterion at lambda, up to a constant (twice a log-likelihood; lower is better).
        decrement: (R,) Newton decrement at the end, nats.
        slope: (R,) largest entry of the penalised gradient at the end.
        iterations: (R,) Newton steps over the whole path of lambda.
        freedom: (R,) effective degrees of freedom.
        underfits: (R,) whether the path ended before the data could be fitted. A stray state far
            away (a code of missing values) does this, for it stretches the unit of the roughness.
        level: (R) tests of the level of V; see `gladius.own_data.erm.level`.
    """

    tables: Tables
    penalty: Array
    interval: Tables
    interval_penalty: Array
    roughness: Array
    reml: Array
    decrement: Array
    slope: Array
    iterations: Integers
    freedom: Array
    underfits: NDArray[np.bool_]
    level: tuple[Level, ...]


def fit_smooth(problem: Problem, penalties: Array = PENALTIES) -> Smooth:
    """Fit every replication along the path of lambda and choose by REML and the two rules.

    Args:
        problem: with one feature, and three states or more in each replication.
        penalties: lambda from the affine end down, by one ratio; a single one is not chosen.
    """
    risk, everyone = SmoothRisk.of(problem), np.arange(len(problem.counts.visits))
    path = penalties
    if len(penalties) > 1:
        ratio, steps = penalties[-1] / penalties[-2], np.arange(1, UNDERSMOOTHING_STEPS + 1)
        path = np.append(penalties, penalties[-1] * ratio**steps)
    start = np.log(risk.visits + PSEUDO_COUNT)
    eta = (start[:, 1:] - start[:, :1]).reshape(len(everyone), -1)
    iterations = np.zeros(len(everyone), dtype=np.int64)
    fits, reml = np.empty((len(path), *eta.shape)), np.empty((len(path), len(everyone)))
    rank = (len(problem.order) - 1) * np.sum(risk.weights > 0, axis=1)
    for i in reversed(range(len(path))):

        def objective(rows: Integers, flat: Array, i: int = i) -> tuple[Array, Array, Array]:
            return risk.expand(rows, flat, np.full(len(rows), path[i]))

        minimum = minimise(
            objective,
            eta,
            tolerance=LAST_STEP,
            short_step=np.inf,
            max_iterations=MAX_STEPS,
            step_to=risk.step_to,
        )
        eta = fits[i] = minimum.x
        iterations += minimum.iterations
        value, _, hessian = objective(everyone, eta)
        reml[i] = 2 * value + np.linalg.slogdet(hessian)[1] - rank * np.log(path[i])
    lowest = np.argmin(reml[: len(penalties)], axis=0)
    is_curved = (reml[lowest, everyone] < reml[0] - LEAVES_FIXED_FORM) & (lowest > 0)
    index = np.where(is_curved, lowest + UNDERSMOOTHING_STEPS, 0)
    flat, penalty = fits[index, everyone], path[index]
    rise = reml[: len(penalties)] - reml[lowest, everyone]
    least = len(penalties) - 1 - np.argmax(rise[::-1] <= LEAVES_FIXED_FORM, axis=0)
    _, gradient, hessian = risk.expand(everyone, flat, penalty)
    weights = np.tile(penalty[:, None] * risk.weights, (1, len(problem.order) - 1)) + RIDGE
    penalised = np.sum(weights * np.diagonal(np.linalg.inv(hessian), 0, 1, 2), axis=1)
    tables = risk.tables(problem, flat)
    wider = least + len(path) - len(penalties)
    rows, interval = risk.coordinates, path[wider][:, None] * risk.weights + RIDGE
    return Smooth(
        tables=tables,
        penalty=penalty,
        interval=risk.tables(problem, fits[wider, everyone]),
        interval_penalty=path[wider],
        roughness=np.swapaxes(rows, 1, 2) @ (interval[..., None] * rows),
        reml=reml[index, everyone],
        decrement=0.5 * np.sum(gradient * regular_solve(hessian, gradient), axis=1),
        slope=np.max(np.abs(gradient), axis=1),
        iterations=iterations,
        freedom=flat.shape[1] - penalised,
        underfits=(len(path) > 1) & is_worse_than_frequencies(problem.counts, tables.q),
        level=level_tests(problem, risk, flat, hessian, weights),
    )


def level_tests(
    problem: Problem, risk: SmoothRisk, flat: Array, hessian: Array, weights: Array
) -> tuple[Level, ...]:
    """The tests of the level of V at (R, p) eta; the penalty's `weights` are in the Hessian."""
    everyone = np.arange(len(flat))
    _, log_anchor, policy = risk.choices(flat)
    _, minus_slope = risk._jacobians(everyone, policy)
    seen, taken = problem.counts.seen, risk.visits[:, 0]
    share = seen / seen.sum(axis=1, keepdims=True)
    transition = dense(problem.p_hat.transition[:, problem.anchor.action])
    system = np.eye(seen.shape[1]) - problem.discount * np.swapaxes(transition, 1, 2)
    found = regular_solve(system, share), seen, taken, np.exp(log_anchor), -minus_slope
    information = [h - np.diag(w) for h, w in zip(hessian, weights, strict=True)]
    return tuple(level_of(*one) for one in zip(*found, information, hessian, strict=True))


def roughness_rows(counts: Counts) -> Array:
    """(R, S, S) rows D2 of each replication: divided second differences over its own states.

    Distances are in units of the mean spacing. Row s is centred at state s and is zero at the
    two ends and at states that the replication never saw.
    """
    states, present = counts.states, counts.present
    rows = np.zeros((*present.shape, len(states)))
    for pattern in np.unique(present, axis=0):
        columns = np.flatnonzero(pattern)
        x = states[columns, 0]
        gap = np.diff(x) / np.mean(np.diff(x))
        before, middle, after = columns[:-2], columns[1:-1], columns[2:]
        width = 2.0 / (gap[:-1] + gap[1:])
        block = np.zeros((len(states), len(states)))
        block[middle, before] = width / gap[:-1]
        block[middle, after] = width / gap[1:]
        block[middle, middle] = -block[middle, before] - block[middle, after]
        rows[np.all(present == pattern, axis=1)] = block
    return rows
