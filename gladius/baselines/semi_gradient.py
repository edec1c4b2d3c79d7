"""Linear semi-gradient temporal differences (Adusumilli and Eckardt 2019, version of 2025).

The limit of semi-gradient steps with basis functions phi(a, x) is the fixed point of the projected
recursion, found by one matrix solve: with phi' = phi(a', x') and means over quadruples,

    h = z + phi'w,   w = E_n[phi (phi - beta phi')']^-1 E_n[phi beta z'],
    g = rr'xi,       xi = E_n[rr (rr - beta rr')']^-1 E_n[rr beta e'],

and theta maximises the pseudo-likelihood of softmax_a(h'theta + g). r = z'theta is read off.

Needs the form z of the reward, and next periods; no transition law and no anchor.

What had to be decided, besides the list in _td_ccp.py:

- phi and rr are one basis, in which every action has coefficients of its own: _bases.py, with the
  rule for its size. The authors' first-order polynomial is `basis="polynomial", degree=1`.
- w is that of h - z. Where the basis spans z (it does for the default form) h is the paper's,
  E_n[phi (phi - beta phi')']^-1 E_n[phi z]; elsewhere z is kept exact instead of projected.
- `basis="hold_out"` chooses the size by the mean squared temporal-difference error on the last
  fifth of the trajectories, the sum over h and g of each error over that of the smallest basis.
  The noise of h' is in that error, which favours flat functions; the paper proposes it so.
- lambda has a closed form, phi'c with E_n[(phi - beta phi') phi'] c = E_n[phi psi], which needs no
  stationarity. With it E_n[lambda delta] = 0: without folds the corrected theta is the plain one.
- eta is estimated from the same data, without the folds that Assumption 2(vi) asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gladius.anchor import Anchor
from gladius.baselines._bases import Basis, Combination, candidates, check_basis, make_basis
from gladius.baselines._pseudo_likelihood import Problem, make_problem
from gladius.baselines._td_ccp import Learnt, Options, two_step
from gladius.checks import Array
from gladius.estimate import Estimate, StateFunction
from gladius.parametric import TableFunction
from gladius.transitions import ENDED, Quadruples, Transitions

TITLE, NEEDS = "Semi-gradient", ("next", "form")
HELD_OUT = 0.2  # share of the trajectories for `hold_out`


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    design: TableFunction | None = None,
    offset: TableFunction | None = None,
    theta_1_given: bool = False,
    basis: str = "auto",
    degree: int = 2,
    choices: str = "logit",
    pseudo_count: float = 0.5,
    standard_errors: str = "locally_robust",
    cross_fit: bool = False,
    start: Array | None = None,
) -> list[Estimate]:
    """The linear semi-gradient estimator of each data set.

    Args:
        data: replications; rows of a trajectory in order of time.
        anchor: used only with `theta_1_given`, and in the diagnostics.
        discount: beta.
        design: maps (n, d) features to (n, A, k), z; by default `bus_design`.
        offset: maps (n, d) features to (n, A), the known part of the reward; by default 0.
        theta_1_given: fix r(x, 1) at the anchor's reward and estimate theta_0 alone.
        basis: auto, hold_out, one_hot, polynomial or additive; see _bases.py.
        degree: of a polynomial or additive basis.
        choices: logit or frequencies; see _choice_probabilities.py.
        pseudo_count: added to the counts of `frequencies`.
        standard_errors: locally_robust, or plug_in, which takes h and g as known (too small).
        cross_fit: the authors' Algorithm 2, see _td_ccp.py.
        start: (k,) theta from which the (concave) second step begins; by default zero.

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance and the
        basis (`learner`). `iterations` are the Newton steps of the second step.

    Raises:
        InputError: for bad options, or data in which no period follows another.
    """
    check_basis(basis, degree)
    how = Options(
        design,
        offset,
        theta_1_given,
        choices,
        pseudo_count,
        standard_errors,
        cross_fit,
        start,
    )
    return two_step("semi_gradient", data, anchor, discount, SemiGradient(basis, degree), how)


@dataclass(frozen=True)
class SemiGradient:
    """The closed form, as the driver's learner."""

    basis: str = "auto"
    degree: int = 2

    def learn(self, problems: Sequence[Problem]) -> list[Learnt]:
        """One matrix solve for each data set."""
        learnt = []
        for problem in problems:
            functions = self._functions(problem)
            ahead = combine(functions, solve(functions, problem))
            learnt.append(Learnt(ahead, True, 0, 0, functions.name))
        return learnt

    def adjoints(
        self, problems: Sequence[Problem], sources: Sequence[Array]
    ) -> list[StateFunction]:
        """lambda of each data set from psi = (P, k) sources."""
        found: list[StateFunction] = []
        for problem, source in zip(problems, sources, strict=True):
            functions = self._functions(problem)
            gram, cross = second_moments(functions, problem.data)
            system = (gram - problem.discount * cross).T
            right = moments(functions, problem.data, source)
            found.append(combine(functions, _regular(system, right)))
        return found

    def _functions(self, problem: Problem) -> Basis:
        if self.basis == "auto":
            return make_basis(problem.data, *candidates(problem.data)[0])
        if self.basis == "hold_out":
            return make_basis(problem.data, *self._chosen(problem))
        return make_basis(problem.data, self.basis, self.degree)

    def _chosen(self, problem: Problem) -> tuple[str, int]:
        """The candidate of the least squared temporal-difference error on held-out trajectories."""
        parts = problem.source.split(1 - HELD_OUT)
        kept, held = (
            make_problem(part, problem.tables, problem.log_choice, problem.discount)
            for part in parts
        )
        rungs = candidates(kept.data)
        bases = [make_basis(kept.data, *rung) for rung in rungs]
        errors = np.stack([td_errors(combine(one, solve(one, kept)), held) for one in bases])
        least = np.where(errors[-1] > 0, errors[-1], 1.0)
        return rungs[int(np.argmin((errors / least).sum(axis=1)))]


def combine(basis: Basis, coefficients: Array) -> Combination:
    """The functions with (K, c) coefficients, the actions' blocks one after another."""
    ends = np.cumsum(basis.widths)[:-1]
    return Combination(basis, tuple(np.split(coefficients, ends)))


def solve(basis: Basis, problem: Problem) -> Array:
    """(K, k + 1) coefficients of the projected fixed point, the actions' blocks one by one."""
    gram, cross = second_moments(basis, problem.data)
    beta = problem.discount
    right = moments(basis, problem.data, beta * problem.data.ahead(problem.gain))
    return _regular(gram - beta * cross, right)


def td_errors(ahead: StateFunction, problem: Problem) -> Array:
    """(k + 1,) mean squared temporal-difference errors of h and g over the quadruples."""
    data = problem.data
    own = problem.own(ahead(data.states))
    target = problem.discount * (problem.gain + own)
    following = np.where((data.after == ENDED)[:, None], 0.0, target[data.after])
    errors = following - own[data.now]
    return np.asarray(data.weights @ errors**2 / data.size)


def second_moments(basis: Basis, data: Quadruples) -> tuple[Array, Array]:
    """E_n[phi phi'] and E_n[phi(a, x) phi(a', x')'], (K, K) each."""
    rows = [np.flatnonzero(data.actions == a) for a in range(data.number_of_actions)]
    blocks = [basis.block(a, data.states[at]) for a, at in enumerate(rows)]
    ends = np.concatenate([[0], np.cumsum(basis.widths)])
    gram, cross = np.zeros((ends[-1], ends[-1])), np.zeros((ends[-1], ends[-1]))
    for a, one in enumerate(blocks):
        here = slice(ends[a], ends[a + 1])
        gram[here, here] = (one * data.left[rows[a], None]).T @ one
        for b, other in enumerate(blocks):
            there = slice(ends[b], ends[b + 1])
            cross[here, there] = one.T @ (data.follows[rows[a]][:, rows[b]] @ other)
    return gram / data.size, cross / data.size


def moments(basis: Basis, data: Quadruples, values: Array) -> Array:
    """(K, c) E_n[phi values] for (P, c) values at the pairs."""
    weighted = data.left[:, None] * values / data.size
    parts = []
    for a in range(data.number_of_actions):
        rows = data.actions == a
        parts.append(basis.block(a, data.states[rows]).T @ weighted[rows])
    return np.concatenate(parts)


def _regular(system: Array, right: Array) -> Array:
    """The solution of a linear system; least squares where rounding makes it singular."""
    try:
        return np.asarray(np.linalg.solve(system, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0], dtype=np.float64)
