"""What an estimator returns, and the one way from a method's mathematics to its Estimates.

A module of a method holds `fit(data, anchor, discount, *, options)`. It checks its options, groups
its data where it works on counts, and makes one `Fit` for each data set: Q and r as functions of
the state, and how the fit ended. Two functions here make Estimates of them: `counts_estimates` for
methods on counts (`Grid.estimates` in parametric.py calls it), and `row_estimates` for methods
fitted to observations. Both add the likelihood and the anchor's Bellman error of Q. `methods.fit`
checks the names of the options before and measures the processor time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp, softmax

from gladius.model.risk import grouped_risk
from gladius.panel.anchor import Anchor
from gladius.panel.record import Counts, Integers, Transitions, index_rows
from gladius.validate import Array, InputError, check_finite

StateFunction = Callable[[Array], Array]

FAR_OFF = 10.0  # standard deviations of a chi-square by which a fit is beaten, not by chance


@dataclass(frozen=True)
class Diagnostics:
    """How the fit went.

    Attributes:
        converged: whether the stopping rule was met (not merely the step limit).
        iterations: outer iterations.
        gradient_norm: largest entry of the gradient of the objective per observation at the end.
        nll: empirical negative log-likelihood per observation.
        bellman_error: empirical squared Bellman error of the anchor rows, per observation.
        cpu_seconds: processor time of the fit divided by the replications fitted together;
            `own_data.door.fit` measures it, from its call to its return, its warnings included.
        status: ok, not_converged, diverged, or failed: why.
        extra: method-specific results (theta, penalty, ...). Every method has
            inner_iterations: steps, in all, of loops nested in the outer iterations (fixed points,
            value iterations, policy optimisations); 0 where nothing is nested.
    """

    converged: bool
    iterations: int
    gradient_norm: float
    nll: float
    bellman_error: float
    cpu_seconds: float = math.nan
    status: str = "ok"
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Refit:
    """Stands in a file for a basis that is not saved; a refit finds it again."""


@dataclass(frozen=True)
class Estimate:
    """An estimated reward with the Q it comes from.

    Attributes:
        method: name of the estimator, with protocol and class where it has them.
        q_function: maps (n, d) features to (n, A) action values.
        reward_function: maps (n, d) features to (n, A) rewards.
        features: d, the width that the functions take.
        diagnostics: how the fit went.
        basis: what its standard errors follow from (`own_data.results.inference`), if any do.
    """

    method: str
    q_function: StateFunction
    reward_function: StateFunction
    features: int
    diagnostics: Diagnostics
    basis: object = field(default=None, kw_only=True, repr=False, compare=False)

    def q(self, states: Array) -> Array:
        """(n, A) estimated Q* at (n, d) features."""
        return self.q_function(self._check(states))

    def policy(self, states: Array) -> Array:
        """(n, A) estimated choice probabilities, softmax of Q."""
        return np.asarray(softmax(self.q(states), axis=1))

    def reward(self, states: Array, actions: Integers | int) -> Array:
        """(n,) estimated r(s, a)."""
        table = self.reward_function(self._check(states))
        index = np.asarray(actions)
        if index.shape not in [(), (len(table),)]:
            hint = f"give one action, or one for each of {len(table)} states"
            raise InputError("actions", index.shape, hint)
        index = np.broadcast_to(index, len(table))
        if index.dtype.kind not in "iu" or np.any((index < 0) | (index >= table.shape[1])):
            hint = f"give whole numbers from 0 to {table.shape[1] - 1}"
            raise InputError("actions", actions, hint)
        return np.asarray(table[np.arange(len(table)), index])

    def _check(self, states: Array) -> Array:
        array = check_finite("states", states)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != self.features:
            raise InputError("states", array.shape, f"give shape (rows, {self.features})")
        return array


@dataclass(frozen=True)
class Fit:
    """What a method found in one data set.

    Attributes:
        q, reward: map (n, d) features to (n, A) action values and rewards. Both are objects that
            can be pickled.
        status: ok, not_converged, diverged, or "failed: why".
        iterations: outer iterations.
        gradient_norm: as in Diagnostics.
        inner_iterations: steps of loops nested in the outer iterations.
        extra: method-specific results.
        basis: as in Estimate.
    """

    q: StateFunction
    reward: StateFunction
    status: str = "ok"
    iterations: int = 0
    gradient_norm: float = 0.0
    inner_iterations: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)
    basis: object = None

    def estimate(self, method: str, features: int, nll: float, bellman_error: float) -> Estimate:
        """The Estimate, for states of so many features; it converged where its status is ok."""
        diagnostics = Diagnostics(
            converged=self.status == "ok",
            iterations=int(self.iterations),
            gradient_norm=float(self.gradient_norm),
            nll=float(nll),
            bellman_error=float(bellman_error),
            status=self.status,
            extra={"inner_iterations": int(self.inner_iterations), **self.extra},
        )
        given = self.q, self.reward, features, diagnostics
        return Estimate(method, *given, basis=self.basis)


def counts_estimates(
    method: str, fits: Sequence[Fit], counts: Counts, anchor: Anchor, discount: float
) -> list[Estimate]:
    """The Estimates of R fits to the replications of grouped data."""
    q = np.stack([fit.q(counts.states) for fit in fits])
    anchor_reward = anchor.values(counts.states)
    risk = grouped_risk(q, counts, anchor.action, anchor_reward, discount)
    width = counts.states.shape[1]
    return [
        fit.estimate(method, width, nll, error)
        for fit, nll, error in zip(fits, risk.nll, risk.bellman, strict=True)
    ]


def row_estimates(
    method: str, fits: Sequence[Fit], data: Sequence[Transitions], anchor: Anchor, discount: float
) -> list[Estimate]:
    """The Estimates of fits to data sets of observations."""
    estimates = []
    for fit, rows in zip(fits, data, strict=True):
        losses = row_losses(fit.q, rows, anchor, discount)
        estimates.append(fit.estimate(method, rows.states.shape[1], *losses))
    return estimates


def row_losses(
    q: StateFunction, data: Transitions, anchor: Anchor, discount: float
) -> tuple[float, float]:
    """Negative log-likelihood and squared Bellman error of the anchor rows, per observation.

    The Bellman error is that of the mean of V(s') over the anchor rows of a state.
    """
    anchored = (data.actions == anchor.action) & data.followed
    continues = anchored & ~data.done
    states, (state, successor) = index_rows([data.states, data.next_states[continues]])
    values = q(states)
    v = logsumexp(values, axis=1)
    nll = np.mean(v[state] - values[state, data.actions])
    visits = np.bincount(state[anchored], minlength=len(states))
    total = np.bincount(state[continues], weights=v[successor], minlength=len(states))
    mean = total / np.maximum(visits, 1)
    error = anchor.values(states) + discount * mean - values[:, anchor.action]
    return float(nll), float(visits @ error**2 / len(data))
