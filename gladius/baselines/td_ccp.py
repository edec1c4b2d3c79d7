"""What the two estimators of Adusumilli and Eckardt (version of August 2025) share.

First step: choice probabilities eta, then h and g of the recursions

    h = z + beta E[h(a', x') | a, x],   g = beta E[e(a', x') + g(a', x') | a, x],   e = -log eta,

by one of two learners (avi.py, semi_gradient.py), from SARSA tuples (x, a, x', a') alone: no
transition probabilities are estimated or used. Second step: with v = h'theta + g, pi = softmax_a v
and m = h - sum_b pi_b h_b (the score), theta maximises the pseudo-likelihood E_n[log pi(a | x)]
(their 3.9). Its first-order dependence on the errors of h and g is E[psi dv] with psi = -m at the
truth, and dv - beta E[dv' | a, x] is minus the mean of

    delta = z'theta + beta (e' + v') - v,

so with lambda the solution of E[lambda (f - beta f')] = E[psi f] for all f, the moment

    zeta = m(a, x; theta, h, g) + lambda(a, x) delta

does not depend on them (4.2 to 4.6). Its variance gives standard errors that hold although h and g
are estimated: (G' Omega^-1 G)^-1 / n with G = E[dm / dtheta], Omega = E[zeta zeta'] (Theorem 5).
Under the model zeta has mean zero given the past, so that periods of one trajectory may be
treated as independent.

What had to be decided:

- z is known, so what is learnt is the part ahead, beta E[h' | a, x]; z is added back, as the
  authors recommend for AVI. A known part of the reward (`offset`) is carried in g.
- Euler's constant is left out of e: without it h'theta + g is Q in this project's normalisation.
- A path that ends has h' = e' = g' = 0 afterwards; the last period of one that goes on is dropped
  from all means, as in the paper, but counts in eta.
- Q is h'theta + g, the value of the observed policy: it is Q* only at the truth, and does not solve
  the Bellman equation of the estimated r.
- The size of a basis (semi_gradient.py): of one_hot and LADDER (additive: no interactions) the
  first whose number k of functions, all actions together, has k^2 <= n for n observations, after
  Assumption 1(v), k^2 / n -> 0, and at most MOST_TERMS functions of the state; else the last one.
- eta: frequencies where the basis is one_hot, for a logit of a fixed order is biased at every
  sample size. Elsewhere a logit in a polynomial, of the largest order by the same rule, with a
  prior of a thousandth of an observation a coefficient, which keeps the maximum finite. It is
  estimated from the same data, without the folds that Assumption 2(vi) asks for.
- Not cross-fitted, as their Algorithm 2 is (theta from the corrected moment, everything else from
  another fold): a pair that is rare in one fold makes its lambda, and so theta, erratic.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement
from math import comb
from typing import Protocol

import numpy as np
from scipy.special import log_softmax, logsumexp

from gladius.anchor import Anchor, NearestState
from gladius.baselines.choice_logit import maximise
from gladius.checks import Array, InputError
from gladius.estimate import Estimate, StateFunction, conclude
from gladius.linear_reward import LinearReward, RewardFunction
from gladius.newton import Expansion, minimise
from gladius.parametric import check_form, check_level
from gladius.sarsa import ENDED, SarsaTuples, sarsa_tuples
from gladius.transitions import Integers, Transitions, index_rows

Rung = tuple[str, int]  # name of a basis and its degree

LADDER: tuple[Rung, ...] = (
    ("polynomial", 3),
    ("polynomial", 2),
    ("additive", 3),
    ("additive", 2),
    ("polynomial", 1),
)
ONE_HOT: Rung = ("one_hot", 0)
MOST_TERMS = 250
COLLINEAR = 1e-10  # share of the largest eigenvalue of the Gram matrix: below it, no new function
RIDGE = 1e-3  # weight of the choice logit's prior on orthonormal functions, in observations
PSEUDO_COUNT = 0.5  # added to each count of the frequencies: takes the 1/n bias from their logs


@dataclass(frozen=True)
class Problem:
    """One data set with what its recursions are about; k parameters, columns k + 1 for g."""

    data: SarsaTuples  # the SARSA tuples
    rung: Rung  # the basis that they are given
    design: Array  # (P, A, k) z at the pairs' states
    offset: Array  # (P, A) the known part of the reward there
    present: Array  # (P, k + 1) z and the offset at the pairs themselves
    gain: Array  # (P, k + 1) the same with e = -log eta added to the last column
    discount: float  # beta

    def chosen(self, table: Array) -> Array:
        """(P, ...) entries of a (P, A, ...) table at each pair's action."""
        return np.asarray(table[np.arange(len(self.data.actions)), self.data.actions])

    def mean(self, values: Array) -> Array:
        """(c,) mean of (P, c) values over the tuples' earlier pairs."""
        return np.asarray(self.data.left @ values / self.data.size)


def make_problem(
    data: SarsaTuples,
    form: LinearReward,
    discount: float,
    rung: Rung | None = None,
    log_choice: StateFunction | None = None,
) -> Problem:
    """A problem with the largest basis that the rule allows and eta of the same data by default."""
    rung = largest_rung(data) if rung is None else rung
    log_choice = choice_probabilities(data, rung) if log_choice is None else log_choice
    design, offset = form.tables(data.states, data.number_of_actions)
    pairs = np.arange(len(data.actions)), data.actions
    present = np.column_stack([design[pairs], offset[pairs]])
    gain = present.copy()
    gain[:, -1] -= log_choice(data.states)[pairs]
    return Problem(data, rung, design, offset, present, gain, discount)


# --- polynomials, and how large a basis may be


def monomials(states: Array, low: Array, high: Array, terms: tuple[tuple[int, ...], ...]) -> Array:
    """(n, terms) products of scaled features; a term lists the features it multiplies."""
    width = np.where(high > low, high - low, 1.0)
    scaled = np.clip(2.0 * (states - low) / width - 1.0, -1.0, 1.0)
    scaled[:, high == low] = 0.0  # a constant feature says nothing
    return np.stack([np.prod(scaled[:, list(term)], axis=1) for term in terms], axis=1)


def orthonormal(raw: Array, weights: Array) -> Array:
    """(terms, k) T such that raw T has unit second moments; combinations that vanish are dropped.

    Args:
        raw: (n, terms) functions at the observations.
        weights: (n,) how often each counts.
    """
    values, vectors = np.linalg.eigh((raw * (weights / weights.sum())[:, None]).T @ raw)
    kept = values > COLLINEAR * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def terms_of(name: str, degree: int, width: int) -> tuple[tuple[int, ...], ...]:
    """The monomials of a polynomial basis of `width` features, the constant first."""
    if name == "additive":
        return ((), *((i,) * power for power in range(1, degree + 1) for i in range(width)))
    powers = (combinations_with_replacement(range(width), p) for p in range(degree + 1))
    return tuple(term for group in powers for term in group)


def number_of_terms(name: str, degree: int, width: int) -> int:
    """len(terms_of(...)), without writing them down."""
    return 1 + width * degree if name == "additive" else comb(width + degree, degree)


def affordable(width: int, blocks: int, observations: float) -> Rung:
    """The first rung of LADDER with (blocks x terms)^2 <= observations; the last if none has."""
    most = min(MOST_TERMS, np.sqrt(observations) / blocks)
    return next((rung for rung in LADDER if number_of_terms(*rung, width) <= most), LADDER[-1])


def largest_rung(data: SarsaTuples) -> Rung:
    """The largest basis that the rule allows."""
    if int(np.sum(data.left > 0)) ** 2 <= data.size:
        return ONE_HOT
    return affordable(data.states.shape[1], data.number_of_actions, data.size)


def rung_name(rung: Rung) -> str:
    """Its name, with the degree where it has one."""
    return rung[0] if rung == ONE_HOT else f"{rung[0]}_{rung[1]}"


# --- first step: choice probabilities


def log_logit(
    terms: tuple[tuple[int, ...], ...], low: Array, high: Array, coefficients: Array, states: Array
) -> Array:
    """log eta(a | s), (n, A): log softmax of monomials of s times (terms, A) coefficients."""
    return np.asarray(log_softmax(monomials(states, low, high, terms) @ coefficients, axis=1))


def choice_probabilities(data: SarsaTuples, rung: Rung) -> StateFunction:
    """log eta as a function of (n, d) features, from all rows of the data."""
    width, actions = data.states.shape[1], data.number_of_actions
    if rung == ONE_HOT:
        states, (state,) = index_rows([data.states])
        counts = np.full((len(states), actions), PSEUDO_COUNT)
        np.add.at(counts, (state, data.actions), data.visits)
        return NearestState(states, np.log(counts / counts.sum(axis=1, keepdims=True)))
    terms = terms_of(*affordable(width, actions - 1, data.visits.sum()), width)
    low, high = data.states.min(axis=0), data.states.max(axis=0)
    raw = monomials(data.states, low, high, terms)
    transform = orthonormal(raw, data.visits)
    coefficients = logit_coefficients(raw @ transform, data.actions, data.visits, actions)
    return partial(log_logit, terms, low, high, transform @ coefficients)


def logit_coefficients(functions: Array, actions: Integers, weights: Array, number: int) -> Array:
    """(k, A) maximiser of the logit likelihood with its prior, the first action's column zero.

    Args:
        functions: (n, k) at the observations, orthonormal.
        actions: (n,) what was chosen.
        weights: (n,) how often.
        number: A.
    """
    others, k = number - 1, functions.shape[1]
    chosen = np.eye(number)[actions][:, 1:]

    def objective(_: Integers, x: Array) -> Expansion:
        coefficients = x.reshape(others, k)
        logs = log_softmax(np.pad(functions @ coefficients.T, ((0, 0), (1, 0))), axis=1)
        policy = np.exp(logs)[:, 1:]
        fit = weights @ logs[np.arange(len(actions)), actions]
        slope = (weights[:, None] * (policy - chosen)).T @ functions + RIDGE * coefficients
        spread = policy[:, :, None] * (np.eye(others) - policy[:, None])
        parts = (weights[:, None, None] * spread, functions, functions)
        hessian = np.einsum("nab,nk,nl->akbl", *parts, optimize=True).reshape(2 * (others * k,))
        hessian += RIDGE * np.eye(others * k)
        value = RIDGE / 2 * np.sum(coefficients**2) - fit
        return np.array([value]), slope.reshape(1, -1), hessian[None]

    minimum = minimise(objective, np.zeros((1, others * k)))
    if not minimum.converged[0]:
        hint = "the logit of the choices found no maximum: rescale the features"
        raise InputError("states", f"{len(functions)} distinct pairs", hint)
    return np.pad(minimum.x.reshape(others, k).T, ((0, 0), (1, 0)))


# --- second step: the pseudo-likelihood and its locally robust moment


@dataclass(frozen=True)
class Second:
    """theta by the pseudo-likelihood."""

    theta: Array  # (k,)
    # (k, k) of theta times n, taking h and g as known; NaN where theta is no maximum
    inverse_information: Array
    scores: Array  # (P, k) m at the pairs
    gradient: Array  # (k,) of the objective per observation
    objective: float  # minus the pseudo-log-likelihood per observation
    steps: int  # Newton steps
    status: str  # as in Diagnostics


def second_step(problem: Problem, ahead: Array) -> Second:
    """Solve E_n[m] = 0, a concave logit.

    Args:
        problem: data and form.
        ahead: (P, A, k + 1) beta E[h' | a, x] and beta E[e' + g' | a, x] of every action.
    """
    rows = np.flatnonzero(problem.data.left > 0)
    chosen = np.arange(len(rows)), problem.data.actions[rows]
    h, g = (problem.design + ahead[..., :-1])[rows], (problem.offset + ahead[..., -1])[rows]
    scores = np.zeros((len(problem.data.actions), h.shape[2]))
    if not np.all(np.isfinite(ahead)):
        lost = np.full(h.shape[2], np.nan)
        unknown = np.full((len(lost), len(lost)), np.nan)
        return Second(lost, unknown, scores + np.nan, lost, float("nan"), 0, "diverged")
    visits = np.zeros((1, *g.shape))
    visits[0][chosen] = problem.data.left[rows]
    logit = maximise(visits, h[None], g[None])
    policy = np.exp(logit.log_policy[0])
    scores[rows] = h[chosen] - np.einsum("pa,pak->pk", policy, h)
    return Second(
        theta=logit.theta[0],
        inverse_information=logit.covariance[0] * problem.data.size,
        scores=scores,
        gradient=logit.gradient[0],
        objective=-float(logit.log_likelihood[0]) / problem.data.size,
        steps=int(logit.iterations[0]),
        status=logit.status[0],
    )


def residual(problem: Problem, ahead: Array, theta: Array) -> Array:
    """(M,) delta of the tuples at theta, v and e; v' = e' = 0 after the end of a path."""
    coefficients = np.append(theta, 1.0)
    value = problem.chosen(ahead) @ coefficients
    following = problem.gain @ coefficients + value  # e + v
    after, now = problem.data.after, problem.data.now
    future = np.where(after == ENDED, 0.0, problem.discount * following[after])
    return np.asarray(future - value[now])


def robust_covariance(problem: Problem, second: Second, delta: Array, adjoint: Array) -> Array:
    """(k, k) of theta times n: (G' Omega^-1 G)^-1 with zeta about its mean."""
    now = problem.data.now
    zeta = second.scores[now] + adjoint[now] * delta[:, None]
    share = problem.data.weights / problem.data.size
    zeta = zeta - share @ zeta
    omega = (share[:, None] * zeta).T @ zeta
    return np.asarray(second.inverse_information @ omega @ second.inverse_information)


# --- both steps


@dataclass(frozen=True)
class Learnt:
    """beta E[h' | a, x] and beta E[e' + g' | a, x] of one data set."""

    ahead: StateFunction  # maps (n, d) features to (n, A, k + 1)
    converged: bool  # whether the learner's own stopping rule was met
    iterations: int  # of its recursion; 0 for a closed form
    inner_iterations: int  # steps of the regressions within them
    name: str  # what was learnt with


class Learner(Protocol):
    """Solves the recursions, and their adjoint for lambda, for several data sets."""

    def learn(self, problems: Sequence[Problem]) -> list[Learnt]: ...
    def adjoints(
        self, problems: Sequence[Problem], sources: Sequence[Array]
    ) -> list[StateFunction]: ...


def policy_value(reward: RewardFunction, ahead: StateFunction, states: Array) -> Array:
    """Q = h'theta + g at (n, d) features, (n, A)."""
    return np.asarray(reward(states) + ahead(states) @ np.append(reward.theta, 1.0))


def two_step(
    name: str,
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    reward: LinearReward | None,
    learner: Learner,
    rung: Rung | None,
) -> list[Estimate]:
    """Both steps of either estimator, for every data set."""
    started = time.process_time()
    form = check_form(reward)
    problems = [make_problem(sarsa_tuples(rows), form, discount, rung) for rows in data]
    for problem in problems:
        check_level(anchor, problem.data.states, problem.design, problem.offset)
    learnt = learner.learn(problems)
    aheads = [part.ahead(p.data.states) for part, p in zip(learnt, problems, strict=True)]
    seconds = [second_step(*pair) for pair in zip(problems, aheads, strict=True)]
    adjoints = learner.adjoints(problems, [-second.scores for second in seconds])
    cpu_seconds = (time.process_time() - started) / len(data)
    estimates = []
    for rows, problem, part, ahead, second, adjoint in zip(
        data, problems, learnt, aheads, seconds, adjoints, strict=True
    ):
        delta = residual(problem, ahead, second.theta)
        weight = problem.chosen(adjoint(problem.data.states))
        covariance = robust_covariance(problem, second, delta, weight) / problem.data.size
        variances = np.diagonal(covariance)
        status = second.status
        if status == "ok" and not (part.converged and np.all(np.isfinite(second.theta))):
            status = "not_converged"
        function = RewardFunction(form, second.theta, rows.number_of_actions)
        q = partial(policy_value, function, part.ahead)
        visits, values = problem.data.visits, q(problem.data.states)
        losses = logsumexp(values, axis=1) - problem.chosen(values)
        estimate = conclude(
            name,
            q,
            function,
            rows.states.shape[1],
            visits @ losses / visits.sum(),
            _bellman_error(q, rows, anchor, discount),
            status=status,
            iterations=part.iterations or second.steps,
            gradient_norm=float(np.max(np.abs(second.gradient))),
            seconds=cpu_seconds,
            extra={
                "theta": second.theta,
                "se": np.sqrt(np.where(variances >= 0, variances, np.nan)),
                "covariance": covariance,
                "objective": second.objective,
                "inner_iterations": part.inner_iterations,
                "newton_steps": second.steps,
                "learner": part.name,
            },
        )
        estimates.append(estimate)
    return estimates


def _bellman_error(q: StateFunction, rows: Transitions, anchor: Anchor, discount: float) -> float:
    """Squared error of the anchor's Bellman equation, V(s') averaged over the rows of a state."""
    taken = rows.actions == anchor.action
    if not np.any(taken):  # the method does without them
        return 0.0
    states, (now, after) = index_rows([rows.states[taken], rows.next_states[taken]])
    values = q(states)
    following = np.where(rows.done[taken], 0.0, logsumexp(values, axis=1)[after])
    visits = np.bincount(now, minlength=len(states))
    mean = np.bincount(now, weights=following, minlength=len(states)) / np.maximum(visits, 1)
    gap = anchor.values(states) + discount * mean - values[:, anchor.action]
    return float(visits @ gap**2 / len(rows))
