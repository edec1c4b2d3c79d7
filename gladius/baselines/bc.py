"""Behavioural cloning: a network fitted to the choices alone, and a reward read off from it.

BC minimises the mean of -log softmax(Q(s, .))_a, which does not change when a function c(s) is
added to Q. The reward r = Q - beta E[V(s') | s, a], V = log sum_a exp Q, does change, so the loss
identifies none: every number in a BC column depends on the normalisation of the level:

    network      Q(s, .) as the network gives it
    zero_value   V = 0 in every state, that is r = log pi
    mean_zero    sum_a Q(s, a) = 0 in every state

The paper does not say how its BC column was computed. Our reading is `network`, whose level comes
from the initial weights: the gradient of the loss in the outputs sums to zero over actions.

Where states repeat, every step uses all observations, as counts. Elsewhere it uses a batch, and the
loss of a tenth of the trajectories stops the training. A policy far worse than the frequencies by
state, such as a constant one, is reported as failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy
from torch import Tensor

from gladius.model.estimate import Estimate, Fit, StateFunction, row_estimates
from gladius.panel.anchor import Anchor, NearestState
from gladius.panel.record import Transitions, index_rows
from gladius.solvers import networks as nets
from gladius.solvers.networks import Training
from gladius.validate import Array, InputError, check_choice, generators

TITLE, NEEDS = "BC", ("next",)
# name -> level subtracted from (n, A) outputs of the network
NORMALISATIONS: dict[str, Callable[[Array], Array]] = {
    "network": lambda outputs: np.zeros((len(outputs), 1)),
    "zero_value": lambda outputs: logsumexp(outputs, axis=1, keepdims=True),
    "mean_zero": lambda outputs: outputs.mean(axis=1, keepdims=True),
}
CHECK_EVERY = 50  # steps between two evaluations of the full gradient and of the losses
FEW_STATES = 2_000  # distinct states up to which every step uses all observations
LARGEST_BATCH = 40_000_000  # network inputs of replications trained together, 320 MB
PLATEAU = 0.5  # gain of the log-likelihood that counts, nats: one standard error of one parameter
EVALUATIONS_WITHOUT_GAIN = 10  # of the likelihood or the validation loss: then it stops
T = TypeVar("T")
WORSE = "failed: frequencies by state fit the choices better than the network by far"


def default_training(data: Transitions) -> Training:
    """All observations a step where states repeat, batches and early stopping elsewhere."""
    if len(index_rows([data.states])[0]) <= FEW_STATES:
        return Training()
    held_out = 0.1 if len(np.unique(data.trajectory)) > 4 else 0.0
    return Training(batch=1000, validation=held_out)


def train_in_groups(
    train: Callable[[list[Transitions], Training, list[np.random.Generator]], list[T]],
    data: Sequence[Transitions],
    rngs: Sequence[np.random.Generator],
    training: Training | None,
    default: Callable[[Transitions], Training],
) -> list[T]:
    """Results of `train` for each data set; data sets with one setting are trained together."""
    if training is not None and not isinstance(training, Training):
        raise InputError("training", training, "give a Training")
    groups: dict[Training, list[int]] = defaultdict(list)
    for r, transitions in enumerate(data):
        groups[training or default(transitions)].append(r)
    results: dict[int, T] = {}
    for how, members in groups.items():
        largest = max(2 * data[r].states.size for r in members)
        size = len(members) if how.batch is None else max(1, LARGEST_BATCH // largest)
        for i in range(0, len(members), size):
            some = members[i : i + size]
            trained = train([data[r] for r in some], how, [rngs[r] for r in some])
            results |= dict(zip(some, trained, strict=True))
    return [results[r] for r in range(len(data))]


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    normalisation: str = "network",
    rng: int | Sequence[np.random.Generator] = 0,
    training: Training | None = None,
) -> list[Estimate]:
    """Behavioural cloning of each data set.

    Args:
        normalisation: level of Q from which the reward is read off, one of NORMALISATIONS.
        rng: draws weights, held-out trajectories and batches.
        training: by default `default_training` of each data set.
    """
    check_choice("normalisation", normalisation, tuple(NORMALISATIONS))
    rngs = generators(rng, len(data))
    clones = train_in_groups(train, data, rngs, training, default_training)
    fits = []
    for clone, transitions in zip(clones, data, strict=True):
        q, reward = read_off(clone.network, transitions, discount, normalisation)
        states, choices = count_choices(transitions)
        values = q(states)
        status = "ok" if clone.converged else "not_converged"
        if not np.all(np.isfinite(values)):
            status = "diverged"
        elif clone.converged and is_worse_than_frequencies(values, choices):
            status = WORSE
        fits.append(Fit(q, reward, status, clone.steps, clone.gradient_norm))
    return row_estimates(f"bc[{normalisation}]", fits, data, anchor, discount)


def is_worse_than_frequencies(q: Array, choices: Array) -> bool:
    """Whether choice frequencies by state fit better, net of the Schwarz criterion's penalty.

    `q` is (n, A) at distinct states, `choices` (n, A) the number of observations of each action.
    """
    visits, size = choices.sum(axis=1), choices.sum()
    log_likelihood = np.sum(choices * (q - logsumexp(q, axis=1, keepdims=True)))
    frequencies = xlogy(choices, choices).sum() - xlogy(visits, visits).sum()
    parameters = (np.sum(visits > 0) - 1) * (np.sum(choices.sum(axis=0) > 0) - 1)
    return bool(frequencies - log_likelihood > parameters * np.log(size) / 2)


def normalised(network: StateFunction, normalisation: str, states: Array) -> Array:
    """(n, A) Q in a normalisation."""
    outputs = network(states)
    return np.asarray(outputs - NORMALISATIONS[normalisation](outputs))


def reward_of_q(
    q: StateFunction, next_values: Sequence[NearestState], discount: float, states: Array
) -> Array:
    """(n, A) r = Q - beta mean V(s'), with the means of each action's nearest states."""
    means = np.stack([next_value(states) for next_value in next_values], axis=1)
    return np.asarray(q(states) - discount * means)


def read_off(
    network: StateFunction, data: Transitions, discount: float, normalisation: str
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) in a normalisation, r = Q - beta mean V(s') over the observed s' of (s, a), 0 at ends.

    Pairs never observed take the mean of the nearest state where the action was. An action that
    occurs nowhere, or before no observed state, has reward NaN: its next states are unknown.
    """
    q = partial(normalised, network, normalisation)
    grid, (state, next_state) = index_rows([data.states, data.next_states])
    value = np.where(data.done, 0.0, logsumexp(q(grid), axis=1)[next_state])
    next_values = [NearestState(grid, np.full(len(grid), np.nan))] * data.number_of_actions
    for a in np.unique(data.actions[data.followed]):
        rows = (data.actions == a) & data.followed
        taken, index = np.unique(state[rows], return_inverse=True)
        mean = np.bincount(index, value[rows]) / np.bincount(index)
        next_values[a] = NearestState(grid[taken], mean)
    return q, partial(reward_of_q, q, next_values, discount)


@dataclass(frozen=True)
class Clone:
    """A trained network."""

    network: nets.Network
    converged: bool  # by the gradient, or by EVALUATIONS_WITHOUT_GAIN
    steps: int
    gradient_norm: float  # largest entry of the last gradient over all observations


@dataclass(frozen=True)
class ChoiceSample(nets.Sample):
    """Distinct scaled states with the shares (R, n, A) of the observations, padded with 0."""

    states: Tensor  # (R, n, d)

    @cached_property
    def ladder(self) -> Tensor:
        """(R, n) cumulative shares of the states, on the CPU."""
        return torch.cumsum(self.share.sum(dim=2).cpu(), dim=1)

    def draw(self, rngs: Sequence[np.random.Generator], size: int) -> ChoiceSample:
        """`size` states drawn by their shares, each with its action frequencies."""
        share, states = nets.draw(self.ladder, rngs, size, self.share, self.states)
        return ChoiceSample(share / (share.sum(dim=2, keepdim=True) * size), states)


def train(
    data: Sequence[Transitions], how: Training, rngs: Sequence[np.random.Generator]
) -> list[Clone]:
    """The clone of each data set, all in one batched Adam; each stops on its own."""
    held_out: Sequence[Transitions] = []
    if how.validation:
        splits = zip(data, rngs, strict=True)
        data, held_out = zip(*(d.split(1 - how.validation, rng) for d, rng in splits), strict=True)
    scalings = [nets.scaling(transitions.states) for transitions in data]
    sample = stack(data, scalings)
    validation = stack(held_out, scalings) if held_out else sample
    margin = 0.0 if held_out else PLATEAU / np.array([len(rows) for rows in data])
    theta = nets.start(rngs, (sample.states.shape[2], *nets.HIDDEN, sample.share.shape[2]))
    best = [p.clone() for p in theta]
    is_flat = np.zeros(len(data), dtype=bool)
    lowest, since = np.full(len(data), np.inf), np.zeros(len(data), dtype=np.int64)

    def loss(theta: nets.Parameters, sample: ChoiceSample) -> Tensor:
        """(R,) sum of share * -log softmax(Q)_a."""
        log_policy = torch.log_softmax(nets.outputs(theta, sample.states, how.activation), dim=2)
        return -(sample.share * log_policy).sum(dim=(1, 2))

    def stop_where_flat(active: NDArray[np.bool_]) -> None:
        losses = loss(theta, validation).numpy(force=True)
        is_better = active & (losses < lowest - margin)
        since[...] = np.where(is_better, 0, since + 1)
        lowest[is_better] = losses[is_better]
        for stored, current in zip(best, theta, strict=True):
            stored[is_better] = current[is_better]
        is_flat[active & (since >= EVALUATIONS_WITHOUT_GAIN) & np.isfinite(losses)] = True
        active &= ~is_flat

    end = nets.adam_descent(theta, loss, sample, how, rngs, CHECK_EVERY, stop_where_flat)
    trained = nets.networks(best if held_out else theta, how.activation, scalings)
    converged, steps = (end.converged | is_flat).tolist(), end.steps.tolist()
    ends = zip(trained, converged, steps, end.gradient_norm.tolist(), strict=True)
    return [Clone(*fields) for fields in ends]


def count_choices(data: Transitions) -> tuple[Array, Array]:
    """Distinct states (n, d) and n(s, a), (n, A)."""
    states, (state,) = index_rows([data.states])
    choices = np.zeros((len(states), data.number_of_actions))
    np.add.at(choices, (state, data.actions), 1.0)
    return states, choices


def stack(data: Sequence[Transitions], scalings: Sequence[tuple[Array, Array]]) -> ChoiceSample:
    """The sample of each data set."""
    tables = [count_choices(transitions) for transitions in data]
    shares = nets.pad([choices / choices.sum() for _, choices in tables])
    return ChoiceSample(shares, nets.pad([states for states, _ in tables], scalings))
