"""Which inputs matter: score tests that need no fit of the input that they test.

A model on the inputs selected so far has residuals e. For the choices e is 1{a} - pi(a | s) of a
multinomial logit; for the transitions it is V(s') less its regression on those inputs, action by
action. With x the model's polynomial and I its information, directions d of a further input have

    score U = sum e (x) d*,  d* = d - x I_xx^-1 I_xd,   U' var(U)^-1 U ~ chi-square,

var(U) the sum of the squared summands or the model's expectation of it, whichever says less for the
input. The directions are {z_k, z_k^2 - 1} x {1, z_j for each selected j}.

Implementation choices:
- An input's p-value is three times the least of that of z_k alone, of the block, and of the best
  direction (Bonferroni over the directions).
- Inputs enter by Benjamini and Hochberg (1995) for the choices, those selected before counted as
  discoveries, and by Bonferroni for the transitions. Each is tested again given those that entered
  before it in the round: a noisy copy of an input has nothing to add.
- Where none enters, pairs that matter for the choice only together are tried, by the score of every
  product z_j z_k and Bonferroni over all pairs.
- Of two inputs that say the same, such as both of a pair of dummies, the first is selected.
- Observations with equal values of the inputs are grouped, unless few repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import chdtrc
from torch import Tensor

from gladius.own_data.erm.observations.features import Inputs, factorised
from gladius.own_data.erm.observations.regression import (
    CLIP,
    choice_information,
    logit,
    moment,
    occupied,
    polynomial,
    solve,
)
from gladius.panel.ties import TIE, ranking
from gladius.validate import Array

FALSE_SHARE = 0.005  # of the inputs selected for the choices, expected
ALPHA = 0.001  # probability of any false input of the transitions, or pair of the choices
TESTS_PER_INPUT = 3  # the smallest p-value counts
MOST_INPUTS = 12
BLOCK = 20_000  # groups whose directions are computed at once
SHORT_LIST = 8  # inputs, or pairs, whose test is computed in each round
MIN_SHORT_LIST = 3  # of them, however small their scores
MIN_ROUGH_T2 = 8.0  # rough squared t of the others, less than half of what the least bar asks


class Groups(NamedTuple):
    """The observations grouped by the values of some inputs."""

    z: Tensor  # (g, c) the standardised values of each group
    group: Tensor  # (n,) the group of each observation
    parent: Tensor  # (g,) the group in the inputs without the last


def group_rows(inputs: Inputs, columns: Sequence[int], groups: Groups | None = None) -> Groups:
    """The observations grouped by some columns, within groups where they are given.

    Where few values of a column repeat, each observation is a group: sorting them saves little.
    """
    if groups is None:
        index = torch.zeros(len(inputs.states), dtype=torch.long)
        groups = Groups(torch.zeros((1, 0), dtype=torch.float64), index, index[:1])
    for k in columns:
        values, codes = inputs.codes(k)
        if 2 * len(values) > len(codes):
            z = torch.cat([groups.z[groups.group], values[codes, None]], dim=1)
            groups = Groups(z, torch.arange(len(codes)), groups.group)
            continue
        joint = (groups.group * len(values) + codes).numpy(force=True)
        index, occurring = map(torch.as_tensor, factorised(joint))
        parent = occurring // len(values)
        z = torch.cat([groups.z[parent], values[occurring % len(values), None]], dim=1)
        groups = Groups(z, index, parent)
    return groups


class Moments(NamedTuple):
    """Sums over the observations of each of g groups, of an outcome of m columns."""

    errors: Tensor  # (g, m) residuals of a model
    squares: Tensor  # (g, m, m) products of those residuals
    information: Tensor  # (g, m, m) weight in the information matrix
    expected: Tensor  # (g, m, m) the products that the model expects


@dataclass(frozen=True)
class Choice:
    """The outcome "which action": all but the last of `order`, its model a multinomial logit."""

    actions: Tensor  # (n,) of the observations
    order: tuple[int, ...]  # all A actions, the logit's base last

    def fit(self, design: Tensor, groups: Groups) -> Tensor:
        """(g, m) choice probabilities, for (g, q) polynomials."""
        counts = self._counts(groups)
        return torch.softmax(design @ logit(design, counts), dim=1)[:, :-1]

    def moments(self, groups: Groups, fitted: Tensor) -> Moments:
        """Moments of each group, given the (g, m) fit there."""
        counts = self._counts(groups)
        indicator = torch.eye(len(self.order)).to(counts)[:, :-1]
        residual = indicator - fitted[:, None, :]  # (g, A, m) of an observation by its action
        weighted = counts[..., None] * residual
        information = counts.sum(dim=1)[:, None, None] * choice_information(fitted)
        squares = weighted.transpose(1, 2) @ residual
        return Moments(weighted.sum(dim=1), squares, information, information)

    def errors(self, rows: slice, fitted: Tensor) -> Tensor:
        """(n', m) 1{a} less its probability, of some observations."""
        indicator = torch.stack([self.actions[rows] == a for a in self.order[:-1]], dim=1)
        return indicator.double() - fitted

    def _counts(self, groups: Groups) -> Tensor:
        once = torch.ones_like(self.actions).double()
        return tally(groups, self.actions, len(self.order), once)[0][:, list(self.order)]


@dataclass(frozen=True)
class NextValue:
    """The outcome V(s'), a column for each action: least squares in the action's observations."""

    values: Tensor  # (n,) V(s'), zero where the path ended
    actions: Tensor  # (n,) of the observations
    followed: Tensor  # (n,) 1 where V(s') or the path's end was observed, else 0
    number_of_actions: int  # A

    def fit(self, design: Tensor, groups: Groups) -> Tensor:
        """(g, A) for each action the regression on the groups in which it was taken."""
        counts, sums = self._tally(groups, self.values)
        fitted = torch.zeros_like(sums)
        for a in range(self.number_of_actions):
            gram = (design * counts[:, [a]]).T @ design
            fitted[:, a] = design @ solve(gram, design.T @ sums[:, a])
        return fitted

    def moments(self, groups: Groups, fitted: Tensor) -> Moments:
        """A residual belongs to the column of its action and is zero in the others."""
        residual = self.followed * (self.values - fitted[groups.group, self.actions])
        counts, sums, squares = self._tally(groups, residual, residual**2)
        expected = counts * (squares.sum(dim=0) / counts.sum(dim=0).clamp_min(1))
        return Moments(sums, *map(torch.diag_embed, (squares, counts, expected)))

    def errors(self, rows: slice, fitted: Tensor) -> Tensor:
        """(n', A) V(s') less its fit, in the column of the action."""
        actions = range(self.number_of_actions)
        indicator = torch.stack([self.actions[rows] == a for a in actions], dim=1)
        return (self.values[rows, None] - fitted) * indicator * self.followed[rows, None]

    def _tally(self, groups: Groups, *weights: Tensor) -> Tensor:
        return tally(groups, self.actions, self.number_of_actions, self.followed, *weights)


def tally(groups: Groups, actions: Tensor, number_of_actions: int, *weights: Tensor) -> Tensor:
    """(w, g, A) sums of (n,) weights over the observations of each group and action."""
    code, size = groups.group * number_of_actions + actions, len(groups.z) * number_of_actions
    sums = torch.zeros(len(weights), size, dtype=torch.float64)
    for total, weight in zip(sums, weights, strict=True):
        total.index_add_(0, code, weight)  # unlike `bincount`, the same sum each time on a GPU
    return sums.reshape(len(sums), -1, number_of_actions)


class Residuals(NamedTuple):
    """An outcome of m columns with its model on the selected inputs."""

    outcome: Choice | NextValue  # choices or next values
    groups: Groups  # g groups of the selected inputs
    design: Tensor  # (g, q) the model's polynomial
    fitted: Tensor  # (g, m)
    information: Tensor  # (m q, m q) of the model's coefficients

    @classmethod
    def of(cls, outcome: Choice | NextValue, groups: Groups) -> Residuals:
        """The model on the groups' inputs."""
        design = polynomial(groups.z)
        fitted = outcome.fit(design, groups)
        information = moment(design, design, outcome.moments(groups, fitted).information)
        return cls(outcome, groups, design, fitted, information)

    def errors(self, rows: slice) -> Tensor:
        """(n', m) of some of the observations."""
        return self.outcome.errors(rows, self.fitted[self.groups.group[rows]])


@dataclass(frozen=True)
class InputSelection:
    """The inputs selected, in the order in which they entered, and their p-values."""

    inputs: tuple[int, ...] = ()
    p_values: dict[int, float] = field(default_factory=dict)


def select_inputs(
    inputs: Inputs, outcome: Choice | NextValue, given: Sequence[int] | None = None
) -> InputSelection:
    """Add inputs until nothing that is left out passes its test; `given` ones are not tested."""
    if given is not None:
        return InputSelection(tuple(given))
    of_choice, total = isinstance(outcome, Choice), inputs.states.shape[1]
    selected: list[int] = []
    p_values: dict[int, float] = {}
    level = (FALSE_SHARE if of_choice else ALPHA) / total
    while len(selected) < min(MOST_INPUTS, total):
        residuals = Residuals.of(outcome, group_rows(inputs, selected))
        candidates = short_list(rough_scores(inputs, residuals), selected)
        p = {k: p_of_input(inputs, residuals, k) for k in candidates}
        ranked = [candidates[i] for i in ranking(list(p.values()))]
        discoveries = len(selected) if of_choice else 0
        ranks = [i for i, k in enumerate(ranked, discoveries + 1) if p[k] <= i * level]
        limit = (max(ranks, default=discoveries + 1) if of_choice else 1) * level
        entered: list[int] = []
        for k in ranked:
            if p[k] > limit or len(selected) == MOST_INPUTS:
                break
            if entered:  # given those that entered before it in this round
                residuals = Residuals.of(outcome, group_rows(inputs, selected))
                p[k] = p_of_input(inputs, residuals, k)
            if p[k] <= limit:
                selected.append(k)
                entered.append(k)
                p_values[k] = p[k]
        if not entered:
            pair, smallest = best_pair(inputs, residuals) if of_choice else ((), 1.0)
            new = [k for k in pair if k not in selected]
            if smallest > ALPHA or not new:
                break
            selected += new
            p_values |= dict.fromkeys(new, smallest)
    return InputSelection(tuple(selected), p_values)


def score_test(
    residuals: Residuals, finer: Groups, directions: Callable[[Tensor], Tensor]
) -> tuple[float, Tensor]:
    """The p-value of p directions as a block, and the squared t of each, (m p,).

    The sums go block by block: over as many groups as observations, matrices as wide as the
    polynomial would fill the memory.

    Args:
        residuals: of the model.
        finer: its groups split by further inputs, with `parent` among them.
        directions: (g', p) at some of the finer groups' (g', c) inputs.
    """
    fitted = residuals.fitted[finer.parent]
    moments = residuals.outcome.moments(finer, fitted)
    columns = range(fitted.shape[1])

    def blocks() -> Iterator[tuple[Tensor, Tensor, Moments]]:
        for start in range(0, len(finer.z), BLOCK):
            rows = slice(start, start + BLOCK)
            of_rows = Moments(*(sums[rows] for sums in moments))
            yield residuals.design[finer.parent[rows]], directions(finer.z[rows]), of_rows

    cross = [moment(x, d, of_rows.information) for x, d, of_rows in blocks()]
    carried = solve(residuals.information, torch.stack(cross).sum(dim=0))
    score, size = carried.new_zeros(carried.shape[1]), carried.shape[1] // len(columns)
    variances = score.new_zeros((2, len(score), len(score)))
    for x, d, of_rows in blocks():
        projected = []  # a column of the outcome at a time, (g', m p): d* of the module's formula
        for a, coefficients in enumerate(carried.split(x.shape[1])):
            projected.append(-x @ coefficients)
            projected[a][:, a * size : (a + 1) * size] += d
            score += of_rows.errors[:, a] @ projected[a]
        for variance, weights in zip(variances, (of_rows.squares, of_rows.expected), strict=True):
            for a, c in occupied(weights):
                variance += projected[a].T @ (weights[:, a, c, None] * projected[c])
    chi_square = min(float(score @ solve(variance, score)) for variance in variances)
    largest = torch.diagonal(variances, dim1=1, dim2=2).amax(dim=0)
    return float(chdtrc(len(score), chi_square)), score**2 / largest.clamp_min(1e-300)


def p_of_input(inputs: Inputs, residuals: Residuals, k: int) -> float:
    """The p-value of input k: TESTS_PER_INPUT times the least of three."""
    finer = group_rows(inputs, [k], residuals.groups)

    def directions(z: Tensor) -> Tensor:
        base = torch.stack([z[:, -1], z[:, -1] ** 2 - 1.0], dim=1)
        others = z[:, :-1].clamp(-CLIP, CLIP)
        return torch.cat([base, *(base * other[:, None] for other in others.T)], dim=1)

    block, squared = score_test(residuals, finer, directions)
    best = len(squared) * float(chdtrc(1, float(squared.max())))
    columns = residuals.fitted.shape[1]
    linear = columns * float(chdtrc(1, float(squared[:: len(squared) // columns].max())))
    return min(1.0, TESTS_PER_INPUT * min(linear, block, best))


def rough_scores(inputs: Inputs, residuals: Residuals) -> Array:
    """(K,) the largest score^2 of each input's directions over its variance if all independent."""
    z = residuals.groups.z.clamp(-CLIP, CLIP)
    factors = torch.cat([z.new_ones((len(z), 1)), z], dim=1)
    size = residuals.fitted.shape[1] * factors.shape[1]
    score, square = z.new_zeros((2, inputs.states.shape[1], size)), z.new_zeros(size)
    sizes = score.new_zeros(score.shape[:2])
    for rows, chunk in inputs.chunks():
        errors, index = residuals.errors(rows), residuals.groups.group[rows]
        weights = (errors[:, :, None] * factors[index][:, None, :]).flatten(1)
        square += (weights**2).sum(dim=0)
        for i, direction in enumerate((chunk, chunk**2 - 1.0)):
            score[i] += direction.T @ weights
            sizes[i] += (direction**2).sum(dim=0)
    variance = square / len(inputs.states) * sizes[..., None]
    largest = (score**2 / variance.clamp_min(1e-300)).amax(dim=(0, 2)).numpy(force=True)
    return np.where(inputs.varies, largest, 0.0)


def short_list(scores: Array, selected: Sequence[int]) -> list[int]:
    """The inputs with the largest scores; beyond MIN_SHORT_LIST those above MIN_ROUGH_T2."""
    ranked = [int(k) for k in ranking(-scores) if k not in selected and scores[k] > 0]
    first, others = ranked[:MIN_SHORT_LIST], ranked[MIN_SHORT_LIST:SHORT_LIST]
    return [*first, *(k for k in others if scores[k] > MIN_ROUGH_T2)]


def best_pair(inputs: Inputs, residuals: Residuals) -> tuple[tuple[int, ...], float]:
    """The pair of inputs whose product has the smallest p-value, times the number of pairs."""
    width = inputs.states.shape[1]
    count = width * (width - 1) // 2
    score = residuals.fitted.new_zeros((residuals.fitted.shape[1], width, width))
    for rows, z in inputs.chunks():
        for total, errors in zip(score, residuals.errors(rows).T, strict=True):
            total += z.T @ (errors[:, None] * z)
    best: tuple[tuple[int, ...], float] = ((), 1.0)
    for total in torch.triu(score.abs(), diagonal=1):
        ranked = ranking(-total.flatten().numpy(force=True))
        for index in ranked[: min(SHORT_LIST, count)].tolist():
            pair = index // width, index % width
            first = group_rows(inputs, pair[:1], residuals.groups)
            finer = group_rows(inputs, pair[1:], first)
            finer = finer._replace(parent=first.parent[finer.parent])
            p, _ = score_test(residuals, finer, lambda z: z[:, -2:-1] * z[:, -1:])
            if count * p < best[1] * (1 - TIE):
                best = pair, count * p
    return best
