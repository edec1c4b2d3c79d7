"""What the two estimators of Adusumilli and Eckardt (version of August 2025) share: the driver.

First step: choice probabilities eta, then h and g of the recursions

    h = z + beta E[h(a', x') | a, x],   g = beta E[e(a', x') + g(a', x') | a, x],   e = -log eta,

by one of two learners, from quadruples (x, a, x', a') alone: no transition law is estimated or
used. Second step: _pseudo_likelihood.py.

What had to be decided:

- z is known, so what is learnt is the part ahead, beta E[h' | a, x]; z is added back. The authors
  recommend this for AVI; in the semi-gradient it is the same where the basis spans z.
- Euler's constant is left out of e: it moves g by a constant, which drops out of the likelihood,
  and without it h'theta + g is Q in this project's normalisation (shocks of mean zero).
- A known part of the reward (`offset`) is carried in the recursion of g.
- A path that ends has h' = e' = g' = 0 afterwards; the last period of one that goes on is dropped
  from all means, as in the paper, but counts in eta.
- The read-off r = z'theta + offset holds at any state. Q is h'theta + g, the value of the observed
  policy: it is Q* only at the truth, and does not solve the Bellman equation of the estimated r.
- Standard errors are the locally robust ones. theta is that of the pseudo-likelihood unless
  `cross_fit` asks for the authors' Algorithm 2: two folds of trajectories, theta of each from the
  corrected moment with everything else from the other fold, and the mean of the two. (Their own
  simulations show no gain from it, and for the semi-gradient without folds the correction is zero
  identically.) V is the mean of the two folds', over all n. Folds are every second trajectory.
  A pair that is rare in one fold makes its lambda, and so theta, erratic: the paper's assumption
  that choice probabilities are bounded away from zero is needed here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from gladius.anchor import Anchor
from gladius.baselines._choice_probabilities import check_choices, choice_probabilities
from gladius.baselines._pseudo_likelihood import (
    Problem,
    Second,
    correction,
    make_problem,
    residual,
    robust_covariance,
    second_step,
)
from gladius.checks import Array, InputError, check_discount, check_finite
from gladius.estimate import Diagnostics, Estimate, StateFunction
from gladius.parametric import TableFunction, Tables, check_level, make_tables
from gladius.transitions import Transitions, index_rows, quadruples

STANDARD_ERRORS = ("locally_robust", "plug_in")
FOLDS = 2  # of Algorithm 2


@dataclass(frozen=True)
class Learnt:
    """beta E[h' | a, x] and beta E[e' + g' | a, x] of one data set.

    Attributes:
        ahead: maps (n, d) features to (n, A, k + 1).
        converged: whether the learner's own stopping rule was met.
        iterations: of its recursion; 0 for a closed form.
        inner_iterations: steps of the regressions within them.
        note: what was learnt with.
    """

    ahead: StateFunction
    converged: bool
    iterations: int
    inner_iterations: int
    note: str


class Learner(Protocol):
    """Solves the recursions, and their adjoint for lambda, for several data sets."""

    def learn(self, problems: Sequence[Problem]) -> list[Learnt]: ...
    def adjoints(
        self, problems: Sequence[Problem], sources: Sequence[Array]
    ) -> list[StateFunction]: ...


@dataclass(frozen=True)
class Options:
    """The options that both estimators take; see their `fit`."""

    design: TableFunction | None
    offset: TableFunction | None
    theta_1_given: bool
    choices: str
    pseudo_count: float
    standard_errors: str
    cross_fit: bool
    start: Array | None

    def check(self) -> None:
        """Raise for values out of range."""
        check_choices(self.choices, self.pseudo_count)
        if self.standard_errors not in STANDARD_ERRORS:
            hint = f"choose one of {STANDARD_ERRORS}"
            raise InputError("standard_errors", self.standard_errors, hint)
        if self.cross_fit and self.standard_errors != "locally_robust":
            hint = "cross-fitting solves the locally robust moment"
            raise InputError("standard_errors", self.standard_errors, hint)
        if self.cross_fit and self.choices == "frequencies" and self.pseudo_count == 0:
            hint = (
                "a choice that one fold lacks would have probability zero: give a positive number"
            )
            raise InputError("pseudo_count", self.pseudo_count, hint)


@dataclass(frozen=True)
class Theta:
    """(k,) theta with its covariance and the second step that it comes from."""

    theta: Array
    covariance: Array
    steps: Sequence[Second]


def two_step(
    name: str,
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    learner: Learner,
    how: Options,
) -> list[Estimate]:
    """Both steps for every data set; `name` is the method's."""
    started = time.process_time()
    beta = check_discount(discount)
    how.check()
    size = data[0].number_of_actions
    tables = make_tables(how.design, how.offset, anchor if how.theta_1_given else None, size)
    for one in data:
        check_level(anchor, one.states, *tables(one.states))
    whole = [_problem(one, tables, beta, how) for one in data]
    first = _start(how.start, whole[0].design.shape[2])
    halves: list[tuple[Problem, Problem]] = []
    if how.cross_fit:
        halves = [_fold(one, f, tables, beta, how) for one in data for f in range(FOLDS)]
    fitted = [*whole, *(rest for rest, _ in halves)]
    learnt = learner.learn(fitted)
    ahead = [one.ahead(problem.data.states) for one, problem in zip(learnt, fitted, strict=True)]
    plain = [second_step(p, q, first) for p, q in zip(fitted, ahead, strict=True)]
    robust = how.standard_errors == "locally_robust"
    used = slice(len(data), None) if how.cross_fit else slice(0, len(data) if robust else 0)
    sources = [-second.scores for second in plain[used]]
    adjoints = learner.adjoints(fitted[used], sources)
    results = []
    for r in range(len(data)):
        if how.cross_fit:
            at = range(FOLDS * r, FOLDS * (r + 1))
            results.append(
                _cross_fitted(
                    [halves[i] for i in at],
                    [learnt[len(data) + i].ahead for i in at],
                    [plain[len(data) + i] for i in at],
                    [adjoints[i] for i in at],
                )
            )
        elif robust:
            results.append(_robust(whole[r], ahead[r], plain[r], adjoints[r]))
        else:
            results.append(
                Theta(plain[r].theta, plain[r].covariance / whole[r].data.size, [plain[r]])
            )
    seconds = (time.process_time() - started) / len(data)
    return [
        _estimate(name, *parts, tables, anchor, beta, how, seconds)
        for parts in zip(data, whole, learnt[: len(data)], results, strict=True)
    ]


def _problem(data: Transitions, tables: Tables, discount: float, how: Options) -> Problem:
    grouped = quadruples(data)
    log_choice = choice_probabilities(grouped, how.choices, how.pseudo_count)
    return make_problem(data, tables, log_choice, discount, grouped)


def _fold(
    data: Transitions, fold: int, tables: Tables, discount: float, how: Options
) -> tuple[Problem, Problem]:
    """(the rest with its own eta, the fold with the rest's eta)."""
    _, label = np.unique(data.trajectory, return_inverse=True)
    held = label % FOLDS == fold
    if np.all(held) or not np.any(held):
        raise InputError("cross_fit", True, f"it needs {FOLDS} trajectories in each data set")
    rest = _problem(data.take(~held), tables, discount, how)
    return rest, make_problem(data.take(held), tables, rest.log_choice, discount)


def _robust(problem: Problem, ahead: Array, second: Second, adjoint: StateFunction) -> Theta:
    """theta of the pseudo-likelihood with its locally robust covariance."""
    delta = residual(problem, ahead, second.theta)
    at_pairs = problem.own(adjoint(problem.data.states))
    covariance = robust_covariance(problem, second, delta, at_pairs) / problem.data.size
    return Theta(second.theta, covariance, [second])


def _cross_fitted(
    halves: Sequence[tuple[Problem, Problem]],
    ahead: Sequence[StateFunction],
    plain: Sequence[Second],
    adjoints: Sequence[StateFunction],
) -> Theta:
    """Algorithm 2: each fold's theta from the corrected moment, the rest from the other fold."""
    found, covariances, size = [], [], 0.0
    for (_, held), function, before, adjoint in zip(halves, ahead, plain, adjoints, strict=True):
        values = function(held.data.states)
        delta = residual(held, values, before.theta)
        at_pairs = held.own(adjoint(held.data.states))
        second = second_step(held, values, before.theta, correction(held, delta, at_pairs))
        found.append(second)
        covariances.append(robust_covariance(held, second, delta, at_pairs))
        size += held.data.size
    theta = np.mean([second.theta for second in found], axis=0)
    return Theta(theta, np.mean(covariances, axis=0) / size, [*plain, *found])


def _estimate(
    name: str,
    data: Transitions,
    problem: Problem,
    learnt: Learnt,
    result: Theta,
    tables: Tables,
    anchor: Anchor,
    discount: float,
    how: Options,
    seconds: float,
) -> Estimate:
    coefficients = np.append(result.theta, 1.0)

    def reward(states: Array) -> Array:
        design, offset = tables(states)
        return np.asarray(design @ result.theta + offset)

    def q(states: Array) -> Array:
        return np.asarray(reward(states) + learnt.ahead(states) @ coefficients)

    bad = next((second for second in result.steps if not second.converged), None)
    converged = bad is None and learnt.converged and bool(np.all(np.isfinite(result.theta)))
    status = "ok" if converged else "not_converged" if bad is None else bad.status
    last = result.steps[-1]
    diagonal = np.diagonal(result.covariance)
    diagnostics = Diagnostics(
        converged=converged,
        iterations=learnt.iterations or last.steps,
        gradient_norm=float(max(np.max(np.abs(second.gradient)) for second in result.steps)),
        nll=_negative_log_likelihood(q, problem),
        bellman_error=_bellman_error(q, data, anchor, discount),
        cpu_seconds=seconds,
        status=status,
        extra={
            "theta": result.theta,
            "se": np.sqrt(np.where(diagonal >= 0, diagonal, np.nan)),
            "covariance": result.covariance,
            "standard_errors": how.standard_errors,
            "cross_fit": how.cross_fit,
            "objective": last.objective,
            "inner_iterations": learnt.inner_iterations,
            "newton_steps": sum(second.steps for second in result.steps),
            "learner": learnt.note,
        },
    )
    return Estimate(name, q, reward, data.states.shape[1], diagnostics)


def _negative_log_likelihood(q: StateFunction, problem: Problem) -> float:
    """Mean of -log softmax(Q)_a over all rows of the data."""
    values = q(problem.data.states)
    loss = logsumexp(values, axis=1) - problem.own(values)
    return float(problem.data.visits @ loss / problem.data.visits.sum())


def _bellman_error(q: StateFunction, data: Transitions, anchor: Anchor, discount: float) -> float:
    """Squared error of the anchor's Bellman equation, V(s') averaged over the rows of a state."""
    rows = data.actions == anchor.action
    if not np.any(rows):  # the method does without them
        return 0.0
    states, (now, after) = index_rows([data.states[rows], data.next_states[rows]])
    values = q(states)
    following = np.where(data.done[rows], 0.0, logsumexp(values, axis=1)[after])
    visits = np.bincount(now, minlength=len(states))
    mean = np.bincount(now, weights=following, minlength=len(states)) / np.maximum(visits, 1)
    gap = anchor.values(states) + discount * mean - values[:, anchor.action]
    return float(visits @ gap**2 / len(data))


def _start(start: Array | None, k: int) -> Array:
    """theta from which the second step begins; zero by default."""
    if start is None:
        return np.zeros(k)
    given = check_finite("start", start)
    if given.shape != (k,):
        raise InputError("start", given.shape, f"give {k} numbers")
    return given
