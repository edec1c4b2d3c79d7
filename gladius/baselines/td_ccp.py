"""The two steps that both estimators of Adusumilli and Eckardt share (version of August 2025).

First step: choice probabilities eta, then h and g of the recursions

    h = z + beta E[h(a', x') | a, x],   g = beta E[e(a', x') + g(a', x') | a, x],   e = -log eta,

by one of two learners (avi.py, semi_gradient.py), from SARSA tuples (x, a, x', a') alone. Second
step: theta maximises the pseudo-likelihood E_n[log pi(a | x)] (their 3.9) of the policy
pi = softmax_a(h'theta + g). No transition probabilities are estimated or used.

Implementation choices:

- Only the continuations beta E[h' | a, x] and beta E[e' + g' | a, x] are learned; a given part of
  the reward (`offset`) is carried in g. After the end of a path h' = e' = g' = 0.
- Q is h'theta + g, the value of the observed policy. It is Q* only at the true theta.
- Basis: indicators of the pairs where their number k has k^2 <= n for n observations, after
  Assumption 1(v), k^2 / n -> 0. Elsewhere powers of each feature up to the largest degree with
  k^2 <= n for the k coefficients of all actions.
- eta: frequencies where the basis is indicators, for a logit of a fixed degree is biased at every
  sample size. Elsewhere a logit in powers, with a prior that keeps the maximum finite.
- No cross-fitting (their Algorithm 2): eta, h, g and theta use the same data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import log_softmax

from gladius.baselines.sarsa import SarsaTuples, sarsa_tuples
from gladius.model.estimate import Estimate, Fit, StateFunction, row_estimates
from gladius.model.parametric import check_form, check_level
from gladius.model.reward_form import LinearReward, RewardFunction
from gladius.panel.anchor import Anchor, NearestState
from gladius.panel.record import Integers, Transitions, index_rows
from gladius.solvers.choice_logit import UNIDENTIFIED, maximise
from gladius.solvers.newton import SINGULAR, Expansion, minimise
from gladius.validate import Array, InputError

ONE_HOT = 0  # the degree that stands for indicators of the pairs
LARGEST_DEGREE = 3
COLLINEAR = 1e-10  # share of the Gram matrix's largest eigenvalue below which a function is dropped
RIDGE = 1e-3  # weight of the choice logit's prior on orthonormal functions, in observations
PSEUDO_COUNT = 0.5  # added to each count of the frequencies: takes the 1/n bias from their logs


@dataclass(frozen=True)
class Recursion:
    """The recursions of one data set: columns 1 to k for h, the last one for g."""

    data: SarsaTuples
    degree: int  # of the basis, or ONE_HOT
    design: Array  # (P, A, k) z at the pairs' states
    offset: Array  # (P, A) the given part of the reward there
    flow: Array  # (P, k + 1) z and the offset at the pairs themselves
    gain: Array  # (P, k + 1) the same with e = -log eta added to the last column
    discount: float  # beta

    def backup(self, values: Array | float) -> Array:
        """(P, k + 1) beta times the mean of the gain and (P, k + 1) values over the next pair."""
        return self.discount * self.data.expected_next(self.gain + values)

    def mean(self, values: Array) -> Array:
        """(c,) mean of (P, c) values over the first pairs of the tuples."""
        return np.asarray(self.data.departures @ values / self.data.size)


def make_recursion(
    data: SarsaTuples,
    form: LinearReward,
    discount: float,
    degree: int | None = None,
    log_choice: StateFunction | None = None,
) -> Recursion:
    """The recursions, by default with the largest basis of the rule and eta of the data."""
    if degree is None:
        is_small = int(np.sum(data.departures > 0)) ** 2 <= data.size
        width, actions = data.states.shape[1], data.number_of_actions
        degree = ONE_HOT if is_small else largest_degree(width, actions, data.size)
    if log_choice is None:
        log_choice = choice_probabilities(data, degree)
    design, offset = form.tables(data.states, data.number_of_actions)
    pairs = np.arange(len(data.actions)), data.actions
    flow = np.column_stack([design[pairs], offset[pairs]])
    gain = flow.copy()
    gain[:, -1] -= log_choice(data.states)[pairs]
    return Recursion(data, degree, design, offset, flow, gain, discount)


# --- functions of the state


def largest_degree(width: int, blocks: int, observations: float) -> int:
    """The largest degree with at most sqrt(observations) coefficients in all blocks; at least 1."""
    degrees = range(2, LARGEST_DEGREE + 1)
    small = [p for p in degrees if (blocks * (1 + width * p)) ** 2 <= observations]
    return max(small, default=1)


def basis_name(degree: int) -> str:
    """The name of a basis, as `diagnostics.extra` reports it."""
    return "one_hot" if degree == ONE_HOT else f"polynomial_{degree}"


@dataclass(frozen=True)
class Powers:
    """(n, d) features -> (n, k) orthonormal combinations of 1 and the powers of each feature."""

    low: Array  # (d,) range of the features, outside of which they are clipped
    high: Array
    degree: int
    transform: Array  # (1 + d degree, k)

    def __call__(self, states: Array) -> Array:
        width = np.where(self.high > self.low, self.high - self.low, 1.0)
        scaled = np.clip(2.0 * (states - self.low) / width - 1.0, -1.0, 1.0)
        scaled[:, self.high == self.low] = 0.0  # a constant feature says nothing
        powers = [scaled**p for p in range(1, self.degree + 1)]
        return np.asarray(np.column_stack([np.ones(len(states)), *powers]) @ self.transform)


def make_powers(all_states: Array, states: Array, weights: Array, degree: int) -> Powers:
    """Functions with unit second moments over weighted (n, d) states; zero functions are dropped.

    Features are scaled by their range over all states.
    """
    low, high = all_states.min(axis=0), all_states.max(axis=0)
    raw = Powers(low, high, degree, np.eye(1 + degree * states.shape[1]))(states)
    values, vectors = np.linalg.eigh((raw * (weights / weights.sum())[:, None]).T @ raw)
    is_used = values > COLLINEAR * values[-1]
    return Powers(low, high, degree, vectors[:, is_used] / np.sqrt(values[is_used]))


# --- first step: choice probabilities


def choice_probabilities(data: SarsaTuples, degree: int) -> StateFunction:
    """log eta as a function of (n, d) features, from all observations."""
    width, actions = data.states.shape[1], data.number_of_actions
    if degree == ONE_HOT:
        states, (state,) = index_rows([data.states])
        counts = np.full((len(states), actions), PSEUDO_COUNT)
        np.add.at(counts, (state, data.actions), data.visits)
        return NearestState(states, np.log(counts / counts.sum(axis=1, keepdims=True)))
    degree = largest_degree(width, actions - 1, data.visits.sum())
    powers = make_powers(data.states, data.states, data.visits, degree)
    return partial(log_logit, powers, logit_coefficients(powers(data.states), data))


def log_logit(functions: StateFunction, coefficients: Array, states: Array) -> Array:
    """(n, A) log eta(a | s), log softmax of functions of the state times (k, A) coefficients."""
    return np.asarray(log_softmax(functions(states) @ coefficients, axis=1))


def logit_coefficients(functions: Array, data: SarsaTuples) -> Array:
    """(k, A) maximiser of the likelihood with its prior, the first action's column zero.

    Args:
        functions: (P, k) at the pairs, orthonormal.
        data: the pairs, with their actions and visits.
    """
    others, k = data.number_of_actions - 1, functions.shape[1]
    choices = data.visits[:, None] * np.eye(others + 1)[data.actions]  # (P, A)

    def objective(_: Integers, x: Array) -> Expansion:
        coefficients = x.reshape(others, k)
        logs = log_softmax(np.pad(functions @ coefficients.T, ((0, 0), (1, 0))), axis=1)
        policy = np.exp(logs)[:, 1:]
        value = RIDGE / 2 * np.sum(coefficients**2) - np.sum(choices * logs)
        residual = data.visits[:, None] * policy - choices[:, 1:]
        gradient = residual.T @ functions + RIDGE * coefficients
        covariance = policy[:, :, None] * (np.eye(others) - policy[:, None])
        weight = data.visits[:, None, None] * covariance
        blocks = np.einsum("nab,nk,nl->akbl", weight, functions, functions, optimize=True)
        hessian = blocks.reshape(x.size, x.size) + RIDGE * np.eye(x.size)
        return np.array([value]), gradient.reshape(1, -1), hessian[None]

    minimum = minimise(objective, np.zeros((1, others * k)))
    if not minimum.converged[0]:
        hint = "the logit of the choices found no maximum: rescale the features"
        raise InputError("states", f"{len(functions)} distinct pairs", hint)
    return np.pad(minimum.x.reshape(others, k).T, ((0, 0), (1, 0)))


# --- second step and both steps


@dataclass(frozen=True)
class FirstStep:
    """h - z and g - offset of one data set."""

    continuation: StateFunction  # maps (n, d) features to (n, A, k + 1)
    converged: bool  # whether the learner's own stopping rule was met
    iterations: int  # of its recursion; 0 for a closed form
    inner_iterations: int  # steps of the regressions within them
    learner: str  # name of the basis or of the regression


Learner = Callable[[Sequence[Recursion]], list[FirstStep]]  # solves the recursions of each data set


@dataclass(frozen=True)
class SecondStep:
    """theta by the pseudo-likelihood."""

    theta: Array  # (k,)
    gradient: Array  # (k,) of the objective per observation
    objective: float  # minus the pseudo-log-likelihood per observation
    iterations: int  # Newton steps
    status: str  # as in Diagnostics


def second_step(recursion: Recursion, continuation: Array) -> SecondStep:
    """theta that solves E_n[h(a, x) - sum_b pi_b h_b] = 0, a concave logit.

    Where columns of the design are linearly dependent, so are those of the true h, although those
    of a network are not.

    Args:
        recursion: data and form.
        continuation: (P, A, k + 1) beta E[h' | a, x] and beta E[e' + g' | a, x] of every action.
    """
    parameters = recursion.design.shape[2]
    if not np.all(np.isfinite(continuation)):
        missing = np.full(parameters, np.nan)
        return SecondStep(missing, missing, float("nan"), 0, "diverged")
    h = recursion.design + continuation[..., :-1]
    g = recursion.offset + continuation[..., -1]
    rows = recursion.data.departures > 0
    visits = recursion.data.departures[:, None] * np.eye(g.shape[1])[recursion.data.actions]
    logit = maximise(visits[None, rows], h[None, rows], g[None, rows])
    objective = -float(logit.log_likelihood[0]) / recursion.data.size
    columns = recursion.design[rows].reshape(-1, parameters)
    columns = columns / np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny)
    is_dependent = np.linalg.eigvalsh(columns.T @ columns)[0] <= SINGULAR
    status = UNIDENTIFIED if is_dependent else logit.status[0]
    steps = int(logit.iterations[0])
    return SecondStep(logit.theta[0], logit.gradient[0], objective, steps, status)


def policy_value(reward: RewardFunction, continuation: StateFunction, states: Array) -> Array:
    """Q = h'theta + g at (n, d) features, (n, A)."""
    return np.asarray(reward(states) + continuation(states) @ np.append(reward.theta, 1.0))


def two_step(
    name: str,
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    reward: LinearReward | None,
    learner: Learner,
    degree: int | None,
) -> list[Estimate]:
    """Both steps of either estimator for every data set; `degree` None: by the rule."""
    form = check_form(reward)
    recursions = [make_recursion(sarsa_tuples(rows), form, discount, degree) for rows in data]
    for recursion in recursions:
        check_level(anchor, recursion.data.states, recursion.design, recursion.offset)
    fits = []
    for recursion, first in zip(recursions, learner(recursions), strict=True):
        second = second_step(recursion, first.continuation(recursion.data.states))
        function = RewardFunction(form, second.theta, recursion.data.number_of_actions)
        is_unfinished = second.status == "ok" and not first.converged
        fitted = Fit(
            partial(policy_value, function, first.continuation),
            function,
            status="not_converged" if is_unfinished else second.status,
            iterations=first.iterations or second.iterations,
            gradient_norm=float(np.max(np.abs(second.gradient))),
            inner_iterations=first.inner_iterations,
            extra={
                "theta": second.theta,
                "objective": second.objective,
                "newton_steps": second.iterations,
                "learner": first.learner,
            },
        )
        fits.append(fitted)
    return row_estimates(name, fits, data, anchor, discount)
