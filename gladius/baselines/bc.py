"""Behavioural cloning: a network fitted to the choices alone, and rewards read off all the same.

BC minimises the mean of -log softmax(Q(s, .))_a, which does not change when a function c(s) is
added to Q. The reward r = Q - beta E[V(s') | s, a], V = log sum exp Q, does, so the loss identifies
none: every number in a BC column depends on the level that somebody chose, the gauge:

    network      the level that the network happens to have, Q as it is
    zero_value   V = 0 in every state, that is r = log pi
    mean_zero    sum_a Q(s, a) = 0 in every state

The paper does not say how its BC column (MAPE 80.55 falling to 46.45 with the trajectories) was
computed. A method that "simply minimizes" the likelihood has no other Q than the network's, so our
reading is `network`. That level is inherited from the initial weights: the gradient of the loss
with respect to the outputs sums to zero over actions, so the sum of the output heads is not trained
(with two actions Adam keeps it exactly; only the hidden layers under it move). A level c moves
every reward by (1 - beta) c: at the true choice probabilities MAPE is 99.8 for the level zero and
81.8 for -55, the output bias in the first author's GLADIUS code (computed in
`test_bc.py::test_the_level_sets_the_size_of_the_column`). The column tells of initialisation and
step counts; a larger sample by itself does not bring it nearer to the truth.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp

from gladius.anchor import Anchor, nearest
from gladius.checks import InputError, check_widths, generators
from gladius.estimate import Diagnostics, Estimate, StateFunction
from gladius.mdp import Array, check_discount, check_finite
from gladius.networks import (
    Network,
    Parameters,
    Tensor,
    adam,
    networks,
    no_moments,
    norms,
    outputs,
    scaling,
    start,
)
from gladius.transitions import Transitions, index_rows

TITLE, NEEDS = "BC", ("next",)
GAUGES = ("network", "zero_value", "mean_zero")
ACTIVATIONS = ("relu", "tanh")
CHECK_EVERY = 50  # steps between looks at the full gradient and the validation loss


@dataclass(frozen=True)
class Training:
    """How the network is trained.

    Attributes:
        hidden: widths of the hidden layers, the paper's (10, 10).
        activation: relu (the first author's code) or tanh.
        output_bias: added to the initial biases of the outputs. The first author's GLADIUS code
            has -55 there, a level taken from the true Q: for explaining the paper, not for use.
        standardise: scale inputs to mean 0 and variance 1 of the data (off: as they come).
        learning_rate: of Adam, falling linearly to zero over `steps`.
        steps: at most this many.
        batch: observations a step, drawn with replacement; None: all of them, as counts.
        tolerance: stop once no entry of the full gradient per observation exceeds it.
        validation: share of the training trajectories held out for early stopping; 0: none.
        patience: looks at the validation loss (one in CHECK_EVERY steps) without a new minimum
            before training stops; the parameters of the minimum are kept.
    """

    hidden: tuple[int, ...] = (10, 10)
    activation: str = "relu"
    output_bias: float = 0.0
    standardise: bool = False
    learning_rate: float = 0.01
    steps: int = 5000
    batch: int | None = None
    tolerance: float = 1e-5
    validation: float = 0.0
    patience: int = 10

    def __post_init__(self) -> None:
        check_widths("hidden", self.hidden)
        if self.activation not in ACTIVATIONS:
            raise InputError("activation", self.activation, f"choose one of {ACTIVATIONS}")
        for name in ("learning_rate", "tolerance"):
            if not 0 < getattr(self, name) < np.inf:
                raise InputError(name, getattr(self, name), "give a positive number")
        check_finite("output_bias", self.output_bias)
        for name in ("steps", "patience", "batch"):
            value = getattr(self, name)
            if (name != "batch" or value is not None) and (int(value) != value or value < 1):
                raise InputError(name, value, "give a whole number of at least 1")
        if not 0 <= self.validation < 1:
            raise InputError("validation", self.validation, "give a share from 0 to below 1")


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    gauge: str = "network",
    rng: int | Sequence[np.random.Generator] = 0,
    training: Training | None = None,
) -> list[Estimate]:
    """Clone the choices of each data set, all networks trained together.

    Args:
        data: replications.
        anchor: not used by the method; the Bellman error of its rows is reported.
        discount: beta, for the read-off.
        gauge: level of Q from which the reward is read off, one of GAUGES.
        rng: a seed, or one generator for each data set: a replication's weights, held-out
            trajectories and batches depend on its own alone.
        training: by default `Training()`.

    One loop of training, nothing nested: `inner_iterations` is 0.

    Raises:
        InputError: for a bad option, or as many generators as there are not data sets.
    """
    started = time.process_time()
    discount = check_discount(discount)
    if gauge not in GAUGES:
        raise InputError("gauge", gauge, f"choose one of {GAUGES}")
    if training is not None and not isinstance(training, Training):
        raise InputError("training", training, "give a Training")
    how = training or Training()
    rngs = generators(rng, len(data))
    fitted, outcomes = train(data, how, rngs)
    functions = [
        read_off(network, one, discount, gauge) for network, one in zip(fitted, data, strict=True)
    ]
    seconds = (time.process_time() - started) / len(data)
    estimates = []
    for one, (q, reward), outcome in zip(data, functions, outcomes, strict=True):
        states, choices = _choices(one)
        anchored = one.states[one.actions == anchor.action]
        error = reward(anchored)[:, anchor.action] - anchor.values(anchored)
        diagnostics = Diagnostics(
            converged=outcome.converged,
            iterations=outcome.steps,
            gradient_norm=outcome.gradient_norm,
            nll=negative_log_likelihood(q(states), choices),
            bellman_error=float(error @ error / len(one)),
            cpu_seconds=seconds,
            status="ok" if outcome.converged else "not_converged",
            extra={
                "inner_iterations": 0,
                "gauge": gauge,
                "validation_nll": outcome.validation_nll,
                "training": how,
            },
        )
        estimates.append(Estimate(f"bc[{gauge}]", q, reward, one.states.shape[1], diagnostics))
    return estimates


def negative_log_likelihood(q: Array, choices: Array) -> float:
    """Mean of -log softmax(q)_a over the observations counted in (n, A) `choices`."""
    return float(np.sum(choices * (logsumexp(q, axis=1, keepdims=True) - q)) / choices.sum())


def read_off(
    network: StateFunction, data: Transitions, discount: float, gauge: str
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) in a gauge, r = Q - beta mean V(s') over the observed s' of (s, a), 0 after the end.

    Pairs never observed take the mean of the nearest state where the action was. An action that
    occurs nowhere has reward NaN: nothing is known of what follows it.
    """

    def q(states: Array) -> Array:
        raw = network(states)
        if gauge == "zero_value":
            return np.asarray(raw - logsumexp(raw, axis=1, keepdims=True))
        return raw - raw.mean(axis=1, keepdims=True) if gauge == "mean_zero" else raw

    grid, (now, after) = index_rows([data.states, data.next_states])
    value = np.where(data.done, 0.0, logsumexp(q(grid), axis=1)[after])
    known = []
    for a in range(data.number_of_actions):
        rows = data.actions == a
        taken = np.bincount(now[rows], minlength=len(grid))
        total = np.bincount(now[rows], weights=value[rows], minlength=len(grid))
        known.append((grid[taken > 0], total[taken > 0] / taken[taken > 0]))

    def reward(states: Array) -> Array:
        following = np.full((len(states), len(known)), np.nan)
        for a, (seen, mean) in enumerate(known):
            if len(seen):
                following[:, a] = mean[nearest(seen, states)]
        return np.asarray(q(states) - discount * following)

    return q, reward


@dataclass(frozen=True)
class Outcome:
    """How the training of one network ended.

    Attributes:
        converged: by the gradient (`tolerance`) or, with a validation share, by `patience`.
        steps: taken until then.
        gradient_norm: largest entry of the gradient of the training loss per observation.
        validation_nll: per held-out observation, NaN without a validation share.
    """

    converged: bool
    steps: int
    gradient_norm: float
    validation_nll: float


def train(
    data: Sequence[Transitions], how: Training, rngs: Sequence[np.random.Generator]
) -> tuple[list[Network], list[Outcome]]:
    """One network for each data set, all in one batched Adam; each stops on its own."""
    held_out = []
    if how.validation:
        splits = [one.split(1 - how.validation, rng) for one, rng in zip(data, rngs, strict=True)]
        data, held_out = [kept for kept, _ in splits], [held for _, held in splits]
    scalings = [scaling(one.states, how.standardise) for one in data]
    x, share = _stack(data, scalings)
    validation = _stack(held_out, scalings) if held_out else None
    widths = (x.shape[2], *how.hidden, share.shape[2])
    theta = start(rngs, widths, how.output_bias)
    best = [p.clone() for p in theta]
    moments = no_moments(theta)
    reps = len(data)
    active, converged = np.ones(reps, dtype=bool), np.zeros(reps, dtype=bool)
    lowest, since = np.full(reps, np.inf), np.zeros(reps, dtype=np.int64)
    taken = np.zeros(reps, dtype=np.int64)
    for t in range(how.steps + 1):
        if t % CHECK_EVERY == 0 or t == how.steps:
            converged |= active & (norms(_gradient(theta, x, share, how)) <= how.tolerance)
            if validation is not None:
                with torch.no_grad():
                    held = _losses(theta, *validation, how).numpy()
                better = active & (held < lowest)
                since = np.where(better, 0, since + 1)
                lowest[better] = held[better]
                _copy(theta, best, better)
                converged |= active & (since >= how.patience)
            active &= ~converged
        if t == how.steps or not np.any(active):
            break
        rows = (x, share) if how.batch is None else _sample(x, share, rngs, how.batch)
        rate = torch.from_numpy(active * how.learning_rate * (1 - t / how.steps))[:, None, None]
        adam(theta, moments, _gradient(theta, *rows, how), rate, t + 1)
        taken += active
    if validation is not None:
        theta = best
    norm = norms(_gradient(theta, x, share, how)).tolist()
    held_nll = [float(v) if held_out else float("nan") for v in lowest]
    ends = zip(converged, taken, norm, held_nll, strict=True)
    return networks(theta, how.activation, scalings), [
        Outcome(bool(c), int(n), g, h) for c, n, g, h in ends
    ]


def _losses(theta: Parameters, x: Tensor, share: Tensor, how: Training) -> Tensor:
    """(R,) sum of share * -log softmax(Q)_a."""
    return -(share * torch.log_softmax(outputs(theta, x, how.activation), dim=2)).sum(dim=(1, 2))


def _gradient(theta: Parameters, x: Tensor, share: Tensor, how: Training) -> Parameters:
    leaves = [p.detach().requires_grad_() for p in theta]
    return list(torch.autograd.grad(_losses(leaves, x, share, how).sum(), leaves))


def _copy(source: Parameters, target: Parameters, rows: NDArray[np.bool_]) -> None:
    mask = torch.from_numpy(rows)
    for p, q in zip(source, target, strict=True):
        q[mask] = p[mask]


def _sample(
    x: Tensor, share: Tensor, rngs: Sequence[np.random.Generator], size: int
) -> tuple[Tensor, Tensor]:
    """Observations drawn with replacement: a state by its share, with its action frequencies."""
    weight = share.sum(dim=2)
    ladder = torch.cumsum(weight, dim=1)
    draws = torch.from_numpy(np.stack([rng.random(size) for rng in rngs]))
    at = torch.searchsorted(ladder, draws * ladder[:, -1:], right=True).unsqueeze(2)
    chosen = torch.take_along_dim(share, at, dim=1)
    chosen = chosen / (chosen.sum(dim=2, keepdim=True) * size)
    return torch.take_along_dim(x, at, dim=1), chosen


def _choices(data: Transitions) -> tuple[Array, Array]:
    """Distinct states (n, d) and n(s, a), (n, A)."""
    states, (at,) = index_rows([data.states])
    shape = (len(states), data.number_of_actions)
    cell = at * shape[1] + data.actions
    return states, np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(float)


def _stack(
    data: Sequence[Transitions], scalings: Sequence[tuple[Array, Array]]
) -> tuple[Tensor, Tensor]:
    """Scaled distinct states (R, n, d) and shares of the observations (R, n, A), padded with 0."""
    tables = [_choices(one) for one in data]
    rows = max(len(states) for states, _ in tables)
    x = torch.zeros(len(data), rows, data[0].states.shape[1], dtype=torch.float64)
    share = torch.zeros(len(data), rows, data[0].number_of_actions, dtype=torch.float64)
    for r, ((states, choices), (centre, scale)) in enumerate(zip(tables, scalings, strict=True)):
        x[r, : len(states)] = torch.from_numpy((states - centre) / scale)
        share[r, : len(states)] = torch.from_numpy(choices / choices.sum())
    return x, share
