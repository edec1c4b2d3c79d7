"""Behavioural cloning: a network fitted to the choices alone, and rewards read off all the same.

BC minimises the mean of -log softmax(Q(s, .))_a, which does not change when a function c(s) is
added to Q. The reward r = Q - beta E[V(s') | s, a], V = log sum exp Q, does, so the loss identifies
none: every number in a BC column depends on the level that somebody chose, the normalisation:

    network      the level that the network happens to have, Q as it is
    zero_value   V = 0 in every state, that is r = log pi
    mean_zero    sum_a Q(s, a) = 0 in every state

The paper does not say how its BC column (MAPE 80.55 falling to 46.45 with the trajectories) was
computed. A method that "simply minimizes" the likelihood has no other Q than the network's, so our
reading is `network`. That level is inherited from the initial weights, for the gradient of the loss
in the outputs sums to zero over actions. A level c moves every reward by (1 - beta) c: at the true
choice probabilities MAPE is 99.8 for the level zero and 81.8 for -55, the output bias in the first
author's GLADIUS code. The column tells of initialisation and step counts.

Inputs are standardised and units tanh by default: ReLU units on inputs as they come die in every
second draw of the weights. Where states repeat, every step sees all rows, as counts; elsewhere a
batch, and a tenth of the trajectories tells when to stop. Whatever was asked for, a policy that
frequencies by state beat by far, such as a constant one, is reported as a failure.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy
from torch import Tensor

from gladius import networks as nets
from gladius.anchor import Anchor, nearest
from gladius.checks import Array, InputError, check_choice, check_positive, check_whole, generators
from gladius.estimate import Estimate, StateFunction, assess
from gladius.transitions import Transitions, index_rows

TITLE, NEEDS = "BC", ("next",)
NORMALISATIONS = ("network", "zero_value", "mean_zero")
ACTIVATIONS = ("relu", "tanh")
CHECK_EVERY = 50  # steps between two evaluations of the full gradient and of the losses
FEW_STATES = 2_000  # distinct states up to which every step sees all rows
ENTRIES = 40_000_000  # of network inputs held together, 320 MB: replications beyond go in turn
BEATEN = "failed: frequencies by state fit the choices better than the network by far"


@dataclass(frozen=True)
class Training(nets.Training):
    """How the network is trained; beside the fields of networks.py's.

    Attributes:
        activation: tanh, or relu as in the first author's code.
        standardise: scale inputs to mean 0 and variance 1 of the data, or take them as they come.
        plateau: stop once the log-likelihood of the whole sample has not risen by so many nats in
            `patience` evaluations; half a nat is one standard error of one parameter.
        validation: share of the training trajectories held out; 0: none. Training then stops after
            `patience` evaluations of their loss (one in CHECK_EVERY steps) without a new minimum,
            and the parameters of the minimum are kept.
        patience: see there.
    """

    activation: str = "tanh"
    standardise: bool = True
    plateau: float = 0.5
    validation: float = 0.0
    patience: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("activation", self.activation, ACTIVATIONS)
        check_positive("plateau", self.plateau, "give a positive number")
        check_whole("patience", self.patience, 1)
        if not 0 <= self.validation < 1:
            raise InputError("validation", self.validation, "give a share from 0 to below 1")


def default_training(data: Transitions) -> Training:
    """Of a data set: all rows a step where states repeat, batches and early stopping elsewhere."""
    if len(index_rows([data.states])[0]) <= FEW_STATES:
        return Training()
    held_out = 0.1 if len(np.unique(data.trajectory)) > 4 else 0.0
    return Training(batch=1000, validation=held_out)


def batches(
    data: Sequence[Transitions], training: Training | None, default: Callable[..., Training]
) -> list[tuple[Training, list[int]]]:
    """Data sets trained together: of one setting, and small enough to be held together."""
    groups: dict[Training, list[int]] = defaultdict(list)
    for r, transitions in enumerate(data):
        groups[training or default(transitions)].append(r)
    parts = []
    for how, members in groups.items():
        largest = max(2 * data[r].states.size for r in members)
        size = len(members) if how.batch is None else max(1, ENTRIES // largest)
        parts += [(how, members[i : i + size]) for i in range(0, len(members), size)]
    return parts


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    normalisation: str = "network",
    rng: int | Sequence[np.random.Generator] = 0,
    training: Training | None = None,
) -> list[Estimate]:
    """Clone the choices of each data set, all networks of one training together.

    Args:
        data: replications.
        anchor: not used by the method; the Bellman error of its rows is reported.
        discount: beta, for the read-off.
        normalisation: level of Q from which the reward is read off, one of NORMALISATIONS.
        rng: a seed, or one generator for each data set: a replication's weights, held-out
            trajectories and batches depend on its own alone.
        training: by default `default_training` of each data set.

    One loop of training, nothing nested: `inner_iterations` is 0.

    Raises:
        InputError: for a bad option, or as many generators as there are not data sets.
    """
    started = time.process_time()
    check_choice("normalisation", normalisation, NORMALISATIONS)
    if training is not None and not isinstance(training, Training):
        raise InputError("training", training, "give a Training")
    rngs = generators(rng, len(data))
    fits: dict[int, tuple[nets.Network, Outcome, Training]] = {}
    for how, members in batches(data, training, default_training):
        trained = train([data[r] for r in members], how, [rngs[r] for r in members])
        for r, network, outcome in zip(members, *trained, strict=True):
            fits[r] = network, outcome, how
    seconds = (time.process_time() - started) / len(data)
    estimates = []
    for r, rows in enumerate(data):
        network, outcome, how = fits[r]
        q, reward = read_off(network, rows, discount, normalisation)
        states, choices = _choices(rows)
        values = q(states)
        status = "ok" if outcome.converged else "not_converged"
        if not np.all(np.isfinite(values)):
            status = "diverged"
        elif outcome.converged and is_beaten(values, choices):
            status = BEATEN
        estimate = assess(
            f"bc[{normalisation}]",
            q,
            reward,
            rows,
            anchor,
            status=status,
            iterations=outcome.steps,
            gradient_norm=outcome.gradient_norm,
            seconds=seconds,
            extra={
                "inner_iterations": 0,
                "normalisation": normalisation,
                "validation_nll": outcome.validation_nll,
                "training": how,
            },
        )
        estimates.append(estimate)
    return estimates


def negative_log_likelihood(q: Array, choices: Array) -> float:
    """Mean of -log softmax(q)_a over the observations counted in (n, A) `choices`."""
    return float(np.sum(choices * (logsumexp(q, axis=1, keepdims=True) - q)) / choices.sum())


def is_beaten(q: Array, choices: Array) -> bool:
    """Whether the frequencies of the choices by state fit better by more nats than they cost.

    What as many more parameters cost is the criterion of Schwarz; frequencies of states that hardly
    repeat never pay for themselves.

    Args:
        q: (n, A) at distinct states.
        choices: (n, A) how often each action was taken there.
    """
    seen, size = choices.sum(axis=1), choices.sum()
    frequencies = xlogy(choices, choices).sum() - xlogy(seen, seen).sum()
    parameters = (np.sum(seen > 0) - 1) * (np.sum(choices.sum(axis=0) > 0) - 1)
    gain = frequencies + size * negative_log_likelihood(q, choices)
    return bool(gain > parameters * np.log(size) / 2)


def at_level(function: StateFunction, normalisation: str, states: Array) -> Array:
    """(n, A) outputs of a function of the state, moved to a normalisation of their level."""
    raw = function(states)
    if normalisation == "zero_value":
        return np.asarray(raw - logsumexp(raw, axis=1, keepdims=True))
    if normalisation == "mean_zero":
        return np.asarray(raw - raw.mean(axis=1, keepdims=True))
    return raw


def minus_continuation(
    q: StateFunction, known: Sequence[tuple[Array, Array]], discount: float, states: Array
) -> Array:
    """(n, A) r = Q - beta mean V(s').

    `known` has of each action the states in which it was taken and the mean of V(s') after each.
    """
    following = np.full((len(states), len(known)), np.nan)
    for a, (seen, mean) in enumerate(known):
        if len(seen):
            following[:, a] = mean[nearest(seen, states)]
    return np.asarray(q(states) - discount * following)


def read_off(
    network: StateFunction, data: Transitions, discount: float, normalisation: str
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) in a normalisation, r = Q - beta mean V(s') over the observed s' of (s, a), 0 at ends.

    Pairs never observed take the mean of the nearest state where the action was. An action that
    occurs nowhere has reward NaN: nothing is known of what follows it.
    """
    q = partial(at_level, network, normalisation)
    grid, (now, after) = index_rows([data.states, data.next_states])
    value = np.where(data.done, 0.0, logsumexp(q(grid), axis=1)[after])
    known = []
    for a in range(data.number_of_actions):
        rows = data.actions == a
        taken = np.bincount(now[rows], minlength=len(grid))
        total = np.bincount(now[rows], weights=value[rows], minlength=len(grid))
        known.append((grid[taken > 0], total[taken > 0] / taken[taken > 0]))
    return q, partial(minus_continuation, q, known, discount)


@dataclass(frozen=True)
class Outcome:
    """How the training of one network ended."""

    # by the gradient (`tolerance`) or by `patience`, with the loss of the validation share or the
    # `plateau` of the likelihood
    converged: bool
    steps: int  # taken until then
    gradient_norm: float  # largest entry of the gradient of the training loss per observation
    validation_nll: float  # per held-out observation, NaN without a validation share


def train(
    data: Sequence[Transitions], how: Training, rngs: Sequence[np.random.Generator]
) -> tuple[list[nets.Network], list[Outcome]]:
    """One network for each data set, all in one batched Adam; each stops on its own."""
    held_out = []
    if how.validation:
        splits = [rows.split(1 - how.validation, rng) for rows, rng in zip(data, rngs, strict=True)]
        data, held_out = [kept for kept, _ in splits], [held for _, held in splits]
    scalings = [nets.scaling(rows.states, how.standardise) for rows in data]
    x, share = _stack(data, scalings)
    validation = _stack(held_out, scalings) if held_out else None
    widths = (x.shape[2], *how.hidden, share.shape[2])
    theta = nets.start(rngs, widths)
    best = [p.clone() for p in theta]
    rests = np.zeros(len(data), dtype=bool)
    lowest, since = np.full(len(data), np.inf), np.zeros(len(data), dtype=np.int64)
    margin = 0.0 if held_out else how.plateau / np.array([len(rows) for rows in data])

    def gradient(rows: Tensor, chosen: Tensor) -> nets.Parameters:
        return nets.gradient(theta, lambda leaves: _losses(leaves, rows, chosen, how))

    def full() -> nets.Parameters:
        return gradient(x, share)

    def drawn() -> nets.Parameters:
        return full() if how.batch is None else gradient(*_sample(x, share, rngs, how.batch))

    def stop_at_rest(active: NDArray[np.bool_]) -> None:
        with torch.no_grad():
            losses = _losses(theta, *(validation or (x, share)), how).numpy()
        better = active & (losses < lowest - margin)
        since[...] = np.where(better, 0, since + 1)
        lowest[better] = losses[better]
        for kept, current in zip(best, theta, strict=True):
            kept[better] = current[better]
        rests[active & (since >= how.patience) & np.isfinite(losses)] = True
        active &= ~rests

    limits = how.steps, how.learning_rate, how.tolerance
    end = nets.adam_descent(theta, full, drawn, *limits, CHECK_EVERY, stop_at_rest)
    if validation is not None:
        theta = best
    norm = nets.norms(full())
    held_nll = lowest if held_out else np.full(len(data), np.nan)
    ends = (part.tolist() for part in (end.converged | rests, end.steps, norm, held_nll))
    outcomes = [Outcome(*end) for end in zip(*ends, strict=True)]
    return nets.networks(theta, how.activation, scalings), outcomes


def _losses(theta: nets.Parameters, x: Tensor, share: Tensor, how: Training) -> Tensor:
    """(R,) sum of share * -log softmax(Q)_a."""
    return -(share * torch.log_softmax(nets.outputs(theta, x, how.activation), dim=2)).sum(
        dim=(1, 2)
    )


def _sample(
    x: Tensor, share: Tensor, rngs: Sequence[np.random.Generator], size: int
) -> tuple[Tensor, Tensor]:
    """Observations drawn with replacement: a state by its share, with its action frequencies."""
    drawn, chosen = nets.draw(share.sum(dim=2), rngs, size, x, share)
    return drawn, chosen / (chosen.sum(dim=2, keepdim=True) * size)


def _choices(data: Transitions) -> tuple[Array, Array]:
    """Distinct states (n, d) and n(s, a), (n, A)."""
    states, (state,) = index_rows([data.states])
    shape = (len(states), data.number_of_actions)
    cell = state * shape[1] + data.actions
    return states, np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(float)


def _stack(
    data: Sequence[Transitions], scalings: Sequence[tuple[Array, Array]]
) -> tuple[Tensor, Tensor]:
    """Scaled distinct states (R, n, d) and shares of the observations (R, n, A), padded with 0."""
    tables = [_choices(rows) for rows in data]
    x = nets.pad([states for states, _ in tables], scalings)
    return x, nets.pad([choices / choices.sum() for _, choices in tables])
