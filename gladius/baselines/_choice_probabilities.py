"""First-stage choice probabilities eta(a | s) for two-step estimators.

By default a multinomial logit in a polynomial of the features (Adusumilli and Eckardt recommend
order 2 or 3): the largest of _bases.LADDER with k^2 <= n for its k coefficients. A weak normal
prior, one thousandth of an observation a coefficient, keeps the maximum finite where an action
separates the states. Or the frequencies of each state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from gladius.anchor import nearest
from gladius.baselines._bases import affordable, monomials, orthonormal, terms_of
from gladius.checks import Array, InputError
from gladius.estimate import StateFunction
from gladius.transitions import Integers, Quadruples, index_rows

CHOICES = ("logit", "frequencies")
RIDGE = 1e-3  # weight of the prior on orthonormal functions, in observations
TOLERANCE = 1e-10  # largest gradient entry per observation; the functions have unit variance
STEPS, HALVINGS = 100, 40


@dataclass(frozen=True)
class ChoiceLogit:
    """log eta(a | s) = log softmax of (functions of s) x coefficients."""

    terms: tuple[tuple[int, ...], ...]
    low: Array
    high: Array
    coefficients: Array

    def __call__(self, states: Array) -> Array:
        """(n, A) log choice probabilities."""
        raw = monomials(states, self.low, self.high, self.terms)
        return np.asarray(log_softmax(raw @ self.coefficients, axis=1))


@dataclass(frozen=True)
class ChoiceFrequencies:
    """log of smoothed frequencies of the nearest state seen."""

    states: Array
    log_frequencies: Array

    def __call__(self, states: Array) -> Array:
        """(n, A) log choice probabilities."""
        return self.log_frequencies[nearest(self.states, states)]


def choice_probabilities(
    data: Quadruples, choices: str = "logit", pseudo_count: float = 0.5
) -> StateFunction:
    """log eta as a function of (n, d) features, from all rows of the data.

    Args:
        data: pairs with their numbers of visits.
        choices: one of CHOICES.
        pseudo_count: added to every n(s, a) of the frequencies.
    """
    if choices == "frequencies":
        states, (at,) = index_rows([data.states])
        table = np.full((len(states), data.number_of_actions), pseudo_count)
        np.add.at(table, (at, data.actions), data.visits)
        with np.errstate(divide="ignore"):  # without pseudo-counts a choice never made has -inf
            return ChoiceFrequencies(states, np.log(table / table.sum(axis=1, keepdims=True)))
    width, alternatives = data.states.shape[1], data.number_of_actions - 1
    terms = terms_of(*affordable(width, alternatives, data.visits.sum())[0], width)
    low, high = data.states.min(axis=0), data.states.max(axis=0)
    raw = monomials(data.states, low, high, terms)
    transform = orthonormal(raw, data.visits)
    found = maximise(raw @ transform, data.actions, data.visits, data.number_of_actions)
    return ChoiceLogit(terms, low, high, transform @ found)


def maximise(functions: Array, actions: Integers, weights: Array, number: int) -> Array:
    """(k, A) maximiser of the penalised logit likelihood, the first action's column zero.

    Newton steps on a strictly concave function, halved until it rises.

    Args:
        functions: (n, k) at the observations.
        actions: (n,) what was chosen.
        weights: (n,) how often.
        number: A.

    Raises:
        InputError: where the steps do not end, which rounding alone could cause.
    """
    size, k = weights.sum(), functions.shape[1]
    share, prior = weights / size, RIDGE / size
    chosen = np.eye(number)[actions][:, 1:]
    found = np.zeros((k, number - 1))

    def objective(trial: Array) -> tuple[float, Array]:
        logs = log_softmax(np.pad(functions @ trial, ((0, 0), (1, 0))), axis=1)
        fit = share @ logs[np.arange(len(actions)), actions]
        return float(fit - prior / 2 * np.sum(trial**2)), np.exp(logs)[:, 1:]

    value, p = objective(found)
    for _ in range(STEPS):
        slope = functions.T @ (share[:, None] * (chosen - p)) - prior * found
        if np.max(np.abs(slope)) <= TOLERANCE:
            return np.pad(found, ((0, 0), (1, 0)))
        information = prior * np.eye(k * (number - 1))
        for a in range(number - 1):
            for b in range(a, number - 1):
                spread = share * p[:, a] * ((a == b) - p[:, b])
                block = functions.T @ (spread[:, None] * functions)
                rows, columns = slice(a * k, (a + 1) * k), slice(b * k, (b + 1) * k)
                information[rows, columns] += block
                if a != b:
                    information[columns, rows] += block.T
        step = np.linalg.solve(information, slope.T.ravel()).reshape(number - 1, k).T
        length, promised = 1.0, float(np.sum(slope * step))
        for _ in range(HALVINGS):
            trial, after = objective(found + length * step)
            if trial >= value + 1e-4 * length * promised - 1e-14 * abs(value):
                break
            length /= 2
        found, value, p = found + length * step, trial, after
    raise InputError("choices", "logit", "the choice logit found no maximum: rescale the features")


def check_choices(choices: str, pseudo_count: float) -> None:
    """Raise for a first stage that is none of CHOICES or a negative pseudo-count."""
    if choices not in CHOICES:
        raise InputError("choices", choices, f"choose one of {CHOICES}")
    if isinstance(pseudo_count, bool) or not isinstance(pseudo_count, int | float):
        raise InputError("pseudo_count", pseudo_count, "give a number, 0 or more")
    if not 0 <= pseudo_count < np.inf:
        raise InputError("pseudo_count", pseudo_count, "give a finite number, 0 or more")
