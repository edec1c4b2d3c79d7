"""Approximate value iteration (Adusumilli and Eckardt 2019, version of 2025; their Algorithm 1).

The recursions of h and g are iterated, each step a regression on (a, x) in a class F:

    h_{j+1} = argmin_{f in F} E_n[(z + beta h_j(a', x') - f(a, x))^2],
    g_{j+1} = argmin_{f in F} E_n[(beta e(a', x') + beta g_j(a', x') - f(a, x))^2],

from h_1 = E_n[z] / (1 - beta), g_1 = beta E_n[e'] / (1 - beta), for J = 20 steps or until the
change eps_j^2 = E_n|h_{j+1} - h_j|^2 / E_n|h_j - E_n h_j|^2 has eps_j < 0.01; theta maximises the
pseudo-likelihood of softmax_a(h'theta + g). r = z'theta is read off.

This evaluates the observed policy, a beta-contraction: with least squares in one-hot functions the
iterates converge to the semi-gradient's solution at rate beta^(J-1).

Needs the form z of the reward, and next periods; no transition law and no anchor.

What had to be decided, besides the list in _td_ccp.py:

- F. The authors' simulations take random forests; here it is a network by default (their theory
  covers networks), or least squares in a basis of _bases.py.
- The regression is of h_j(a', x') alone, with z added back (their note on 3.10). One network has an
  output for each action and each column of h and g, where theirs is a regression for each column.
  It starts from the weights of the step before. See _regressors.Training for its settings.
- Both rules for J together: at most `iterations` (J - 1 regressions), fewer where eps_j is below
  `tolerance` for every column. Only that counts as converged. eps_j compares neighbouring steps; it
  does not bound the distance to the fixed point, which a slow common level may hide. Conversely
  `not_converged` says that eps_j was still above `tolerance` after J steps (at beta = .9 a share
  .9^19 = .14 of an error in the level is left then); theta may be settled all the same. Raise
  `iterations`, to 40 say, and compare.
- lambda is iterated in the same class: lambda_{j+1} = psi + beta (sum over the pairs before of
  lambda_j, per occurrence), from E_n[psi] / (1 - beta). Without stationarity this is the adjoint
  that the moment needs; under it, the paper's conditional mean of the past. Pairs that only occur
  in the last period of their trajectories are left out of it. `converged` speaks of h and g, not
  of lambda, on which the standard errors rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gladius.anchor import Anchor
from gladius.baselines._bases import candidates, make_basis
from gladius.baselines._pseudo_likelihood import Problem
from gladius.baselines._regressors import LeastSquares, Networks, Regressor, Training
from gladius.baselines._td_ccp import FOLDS, Learnt, Options, two_step
from gladius.checks import Array, InputError, check_whole, generators
from gladius.estimate import Estimate, StateFunction
from gladius.parametric import TableFunction
from gladius.transitions import Integers, Transitions

TITLE, NEEDS = "AVI", ("next", "form")
CLASSES = ("network", "auto", "one_hot", "polynomial", "additive")
Step = Callable[[int, Array], Array]


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    design: TableFunction | None = None,
    offset: TableFunction | None = None,
    theta_1_given: bool = False,
    regression: str = "network",
    degree: int = 2,
    iterations: int = 20,
    tolerance: float = 0.01,
    training: Training | None = None,
    rng: int | Sequence[np.random.Generator] = 0,
    choices: str = "logit",
    pseudo_count: float = 0.5,
    standard_errors: str = "locally_robust",
    cross_fit: bool = False,
    start: Array | None = None,
) -> list[Estimate]:
    """The estimator by approximate value iteration of each data set.

    Args:
        data: replications; rows of a trajectory in order of time.
        anchor: used only with `theta_1_given`, and in the diagnostics.
        discount: beta.
        design: maps (n, d) features to (n, A, k), z; by default `bus_design`.
        offset: maps (n, d) features to (n, A), the known part of the reward; by default 0.
        theta_1_given: fix r(x, 1) at the anchor's reward and estimate theta_0 alone.
        regression: network; or least squares in a basis: auto, one_hot, polynomial, additive.
        degree: of a polynomial or additive basis.
        iterations: J, counting the start.
        tolerance: stop once the relative change is below it.
        training: of the networks, by default `Training()`.
        rng: a seed, or one generator for each data set, for the networks.
        choices: logit or frequencies; see _choice_probabilities.py.
        pseudo_count: added to the counts of `frequencies`.
        standard_errors: locally_robust, or plug_in, which takes h and g as known (too small).
        cross_fit: the authors' Algorithm 2, see _td_ccp.py.
        start: (k,) theta from which the (concave) second step begins; by default zero.

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance.
        `iterations` are the value iterations, `inner_iterations` the training steps in them.

    Raises:
        InputError: for bad options, or data in which no period follows another.
    """
    if regression not in CLASSES:
        raise InputError("regression", regression, f"choose one of {CLASSES}")
    check_whole("degree", degree, 1)
    check_whole("iterations", iterations, 2)
    if not 0 < tolerance < np.inf:
        raise InputError("tolerance", tolerance, "give a positive number")
    if training is not None and not isinstance(training, Training):
        raise InputError("training", training, "give a Training")
    rngs = generators(rng, len(data))
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
    learner = ValueIteration(
        regression, degree, iterations, tolerance, training or Training(), tuple(rngs)
    )
    return two_step("avi", data, anchor, discount, learner, how)


@dataclass(frozen=True)
class ValueIteration:
    """The iteration, as the driver's learner; see `fit` for the attributes."""

    regression: str
    degree: int
    iterations: int
    tolerance: float
    training: Training
    rngs: tuple[np.random.Generator, ...]

    def learn(self, problems: Sequence[Problem]) -> list[Learnt]:
        """h - z and g - offset of each data set."""
        starts = []
        for problem in problems:
            level = problem.mean(problem.present) / (1 - problem.discount)
            ahead = problem.discount * problem.data.ahead(problem.gain)
            level[-1] = problem.mean(ahead)[-1] / (1 - problem.discount)
            start = level - problem.present
            start[:, -1] = level[-1]  # g is constant at the start, the offset not in it
            starts.append(start)
        regressor, notes = self._regressor(problems, [p.gain for p in problems])

        def forward(r: int, ahead: Array) -> Array:
            problem = problems[r]
            return problem.discount * problem.data.ahead(problem.gain + ahead)

        ran = iterate(
            problems,
            forward,
            starts,
            [p.present for p in problems],
            regressor,
            self.iterations,
            self.tolerance,
        )
        steps = regressor.steps
        return [
            Learnt(f, bool(c), int(n), int(i), note)
            for f, c, n, i, note in zip(
                ran.functions, ran.converged, ran.steps, steps, notes, strict=True
            )
        ]

    def adjoints(
        self, problems: Sequence[Problem], sources: Sequence[Array]
    ) -> list[StateFunction]:
        """lambda of each data set from psi = (P, k) sources."""
        if not problems:
            return []

        def backward(r: int, values: Array) -> Array:
            return sources[r] + problems[r].discount * problems[r].data.behind(values)

        starts = [
            np.broadcast_to(p.mean(s) / (1 - p.discount), s.shape)
            for p, s in zip(problems, sources, strict=True)
        ]
        regressor, _ = self._regressor(problems, sources)
        nothing = [np.zeros_like(s) for s in sources]
        return iterate(
            problems, backward, starts, nothing, regressor, self.iterations, self.tolerance
        ).functions

    def _regressor(
        self, problems: Sequence[Problem], columns: Sequence[Array]
    ) -> tuple[Regressor, list[str]]:
        """A fresh regressor for columns of about these sizes, and what it is."""
        data = [problem.data for problem in problems]
        if self.regression != "network":
            rungs = [
                candidates(one)[0] if self.regression == "auto" else (self.regression, self.degree)
                for one in data
            ]
            bases = [make_basis(one, *rung) for one, rung in zip(data, rungs, strict=True)]
            return LeastSquares(data, bases), [basis.name for basis in bases]
        scales = []
        for problem, values in zip(problems, columns, strict=True):
            centred = values - problem.mean(values)
            scales.append(np.sqrt(problem.mean(centred**2)))
        # the data sets themselves come first, then the folds of each
        sets = len(self.rngs)
        owners = list(range(sets)) + [r for r in range(sets) for _ in range(FOLDS)]
        if len(problems) != len(owners):
            owners = owners[:sets] if len(problems) == sets else owners[sets:]
        rngs = [self.rngs[r].spawn(1)[0] for r in owners]
        return Networks(data, scales, self.training, rngs), ["network"] * len(data)


@dataclass(frozen=True)
class Ran:
    """R iterations that ended: functions of the state, whether by the rule, and after how many."""

    functions: list[StateFunction]
    converged: NDArray[np.bool_]
    steps: Integers


def iterate(
    problems: Sequence[Problem],
    step: Step,
    starts: Sequence[Array],
    known: Sequence[Array],
    regressor: Regressor,
    iterations: int,
    tolerance: float,
) -> Ran:
    """Fitted iteration f_{j+1} = known + regression of step(f_j - known), each set on its own.

    Args:
        problems: R data sets.
        step: maps r and (P, c) f_j - known at the pairs to the targets of the next regression.
        starts: (P, c) f_1 - known of each.
        known: (P, c) what is added to the regression.
        regressor: of the R data sets.
        iterations: J.
        tolerance: of the relative change.
    """
    current = list(starts)
    active = np.ones(len(problems), dtype=bool)
    converged, steps = ~active, np.zeros(len(problems), dtype=np.int64)
    for _ in range(iterations - 1):
        if not np.any(active):
            break
        targets = [step(r, values) for r, values in enumerate(current)]
        fitted = regressor.fit(targets, active)
        steps += active
        for r in np.flatnonzero(active).tolist():
            change = relative_change(problems[r], known[r] + current[r], fitted[r] - current[r])
            current[r] = fitted[r]
            converged[r] = change < tolerance
            if converged[r] or not np.all(np.isfinite(fitted[r])):
                active[r] = False
    return Ran(regressor.functions(), converged, steps)


def relative_change(problem: Problem, before: Array, change: Array) -> float:
    """The largest eps_j over the columns; infinite where f_j is constant and moves."""
    moved = problem.mean(change**2)
    spread = problem.mean((before - problem.mean(before)) ** 2)
    ratios = np.where(moved > 0, moved / np.where(spread > 0, spread, np.nan), 0.0)
    return float(np.sqrt(np.max(np.where(np.isnan(ratios), np.inf, ratios))))
