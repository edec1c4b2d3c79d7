"""What an estimator returns: functions of the state, diagnostics, and never the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

import numpy as np
from scipy.special import log_softmax, softmax

from gladius.anchor import Anchor
from gladius.checks import Array, InputError, check_finite
from gladius.transitions import Integers, Transitions

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
        cpu_seconds: processor time of the fit divided by the replications fitted together.
        status: ok, not_converged, diverged, or failed: why.
        extra: method-specific results (theta, standard errors, penalty, ...). Every method has
            inner_iterations: steps, in all, of loops nested in the outer iterations (fixed points,
            value iterations, policy optimisations); 0 where nothing is nested.
    """

    converged: bool
    iterations: int
    gradient_norm: float
    nll: float
    bellman_error: float
    cpu_seconds: float
    status: str = "ok"
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """An estimated reward with the Q it comes from.

    Attributes:
        method: name of the estimator, with protocol and class where it has them.
        q_function: maps (n, d) features to (n, A) action values.
        reward_function: maps (n, d) features to (n, A) rewards.
        features: d, the width that the functions take.
        diagnostics: how the fit went.
    """

    method: str
    q_function: StateFunction
    reward_function: StateFunction
    features: int
    diagnostics: Diagnostics

    def q(self, states: Array) -> Array:
        """(n, A) estimated Q* at (n, d) features."""
        return self.q_function(self._check(states))

    def policy(self, states: Array) -> Array:
        """(n, A) estimated choice probabilities, softmax of Q."""
        return np.asarray(softmax(self.q(states), axis=1))

    def reward(self, states: Array, actions: Integers | int) -> Array:
        """(n,) estimated r(s, a)."""
        table = self.reward_function(self._check(states))
        chosen = np.asarray(actions)
        if chosen.shape not in [(), (len(table),)]:
            hint = f"give one action, or one for each of {len(table)} states"
            raise InputError("actions", chosen.shape, hint)
        chosen = np.broadcast_to(chosen, len(table))
        if chosen.dtype.kind not in "iu" or np.any((chosen < 0) | (chosen >= table.shape[1])):
            hint = f"give whole numbers from 0 to {table.shape[1] - 1}"
            raise InputError("actions", actions, hint)
        return np.asarray(table[np.arange(len(table)), chosen])

    def _check(self, states: Array) -> Array:
        array = check_finite("states", states)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != self.features:
            raise InputError("states", array.shape, f"give shape (rows, {self.features})")
        return array


class Outcome(TypedDict):
    """How one fit ended, as in Diagnostics."""

    status: str
    iterations: int
    gradient_norm: float
    seconds: float  # processor time
    extra: Mapping[str, object]


def conclude(
    method: str,
    q: StateFunction,
    reward: StateFunction,
    features: int,
    nll: float,
    bellman_error: float,
    **outcome: Unpack[Outcome],
) -> Estimate:
    """The Estimate of a fit that converged where its status is ok."""
    diagnostics = Diagnostics(
        converged=outcome["status"] == "ok",
        iterations=outcome["iterations"],
        gradient_norm=outcome["gradient_norm"],
        nll=float(nll),
        bellman_error=float(bellman_error),
        cpu_seconds=outcome["seconds"],
        status=outcome["status"],
        extra=outcome["extra"],
    )
    return Estimate(method, q, reward, features, diagnostics)


def assess(
    method: str,
    q: StateFunction,
    reward: StateFunction,
    data: Transitions,
    anchor: Anchor,
    **outcome: Unpack[Outcome],
) -> Estimate:
    """The Estimate of one data set: Q and r with likelihood and Bellman error over its rows.

    The Bellman error of r = Q - beta E[V(s')] is that of r against the anchor's reward.
    """
    pairs = data.pairs()
    log_policy = log_softmax(q(pairs.states), axis=1)
    chosen = log_policy[np.arange(len(pairs.actions)), pairs.actions]
    anchored = data.states[data.actions == anchor.action]
    error = reward(anchored)[:, anchor.action] - anchor.values(anchored)
    nll = -np.average(chosen, weights=pairs.weights)
    squares = float(error @ error) / len(data)
    return conclude(method, q, reward, data.states.shape[1], nll, squares, **outcome)
