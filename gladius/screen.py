"""Which inputs matter: score tests that need no fit of what they test.

An input that a model leaves out shows in the model's residuals e. For the choices these are
1{a} - pi(a | s) of a logit on the inputs chosen so far; for the transitions V(s') less its
regression on them, action by action. An input z_k not yet chosen is tried in the directions

    {z_k, z_k^2 - 1} x {1, z_j for each chosen j},

the gradient of the likelihood in the first-layer weights of an input that is not yet connected.
Its statistic is the score with the chosen inputs' polynomial projected out and with robust
variance; its p-value is three times the least of that of z_k alone, of the block (chi-square), and
of the best direction (Bonferroni over the directions). It is computed for a short list, which is
ranked by the plain score: two matrix products over all rows and inputs, in chunks.

Inputs enter by Benjamini and Hochberg (1995) for the choices, those chosen before counted as
discoveries, and by Bonferroni for the transitions; each is re-tested given those that entered
before it in the same round: a noisy copy of a chosen input has nothing to add. Where none enters,
pairs of inputs that matter for the choice only together are tried: the score of every product
z_j z_k, Bonferroni over all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import chi2
from torch import Tensor

from gladius.checks import Array

ALPHA = 0.001
CHUNK = 10_000_000  # numbers of a chunk of standardised inputs: 80 MB
CLIP = 4.0  # standard deviations, of the inputs of a polynomial
DEGREES = (5, 4, 3, 3)  # of the polynomial in 1, 2, 3, 4 inputs; 2 in more
MOST_INPUTS = 12
SHORT_LIST = 8  # inputs, or pairs, whose statistic is computed exactly in each round
ALWAYS = 3  # of the short list, however small their scores
NEAR = 8.0  # rough squared t, less than half of what the least threshold asks
COLUMNS = 250  # of a block of the matrix of pairs
LOGIT_STEPS = 25
LOGIT_DECREMENT = 1e-8  # nats a row
RIDGE = 1e-9  # of a regression, relative to the diagonal of its matrix


@dataclass(frozen=True)
class Inputs:
    """The inputs of a data set, standardised chunk by chunk on the device that computes.

    Attributes:
        states: (n, K) features, in memory or memory-mapped.
        center, scale: (K,) their mean and standard deviation, 1 for an input that is constant.
        varies: (K,) whether it is not; one that is constant is never chosen.
        device: cpu or cuda.
    """

    states: Array
    center: Array
    scale: Array
    varies: NDArray[np.bool_]
    device: str = "cpu"

    @classmethod
    def of(cls, states: Array, device: str = "cpu") -> Inputs:
        """Standardised by the rows themselves."""
        step = max(1, CHUNK // states.shape[1])
        parts = [states[i : i + step] for i in range(0, len(states), step)]
        center = np.sum([part.sum(axis=0) for part in parts], axis=0) / len(states)
        square = np.sum([np.square(part - center).sum(axis=0) for part in parts], axis=0)
        scale = np.sqrt(square / len(states))
        varies = scale > 1e-12 * np.maximum(1.0, np.abs(center))
        return cls(states, center, np.where(varies, scale, 1.0), varies, device)

    def columns(self, chosen: Sequence[int]) -> Tensor:
        """(n, len(chosen)) standardised columns of all rows."""
        index = list(chosen)
        part = (self.states[:, index] - self.center[index]) / self.scale[index]
        return torch.tensor(part).to(self.device)

    def chunks(self) -> Iterator[tuple[slice, Tensor]]:
        """All inputs, so many rows at a time; kept where they are one chunk."""
        if self.states.size <= CHUNK:
            yield slice(None), self._all
            return
        step = max(1, CHUNK // self.states.shape[1])
        for start in range(0, len(self.states), step):
            rows = slice(start, start + step)
            part = (self.states[rows] - self.center) / self.scale
            yield rows, torch.tensor(part).to(self.device)

    @cached_property
    def sizes(self) -> Tensor:
        """(2, K) sums over the rows of z^2 and (z^2 - 1)^2."""
        total = torch.zeros(2, self.states.shape[1], dtype=torch.float64, device=self.device)
        for _, z in self.chunks():
            square = z * z
            total[0] += square.sum(dim=0)
            total[1] += ((square - 1.0) ** 2).sum(dim=0)
        return total

    @cached_property
    def _all(self) -> Tensor:
        return self.columns(range(self.states.shape[1]))


class Residuals(NamedTuple):
    """What is left of an outcome of m columns after a model on the chosen inputs.

    Attributes:
        design: (n, q) the model's polynomial.
        errors: (n, m).
        information: (n, m, m) weight of each row in the information matrix.
    """

    design: Tensor
    errors: Tensor
    information: Tensor


Outcome = Callable[[Tensor], Residuals]


@dataclass(frozen=True)
class Selection:
    """The inputs chosen, in the order in which they entered, and their p-values."""

    inputs: tuple[int, ...] = ()
    p_values: dict[int, float] = field(default_factory=dict)


def polynomial(z: Tensor) -> Tensor:
    """(n, q) all monomials of the clipped inputs up to the degree of DEGREES."""
    inputs = z.shape[1]
    z = z.clamp(-CLIP, CLIP)
    degree = DEGREES[inputs - 1] if 0 < inputs <= len(DEGREES) else 2
    columns = [z.new_ones(len(z))]
    for order in range(1, degree + 1 if inputs else 1):
        for term in combinations_with_replacement(range(inputs), order):
            columns.append(z[:, list(term)].prod(dim=1))
    return torch.stack(columns, dim=1)


def logit(design: Tensor, visits: Tensor) -> Tensor:
    """(q, A) coefficients of the multinomial logit of (n, A) visits, zero for the last action."""
    free = visits.shape[1] - 1
    total = visits.sum(dim=1)
    theta = design.new_zeros((design.shape[1], free + 1))

    def likelihood(theta: Tensor) -> tuple[float, Tensor]:
        log_policy = torch.log_softmax(design @ theta, dim=1)
        return float((visits * log_policy).sum()), torch.exp(log_policy)

    value, policy = likelihood(theta)
    for _ in range(LOGIT_STEPS):
        surplus = (visits - total[:, None] * policy)[:, :free]
        slope = (design.T @ surplus).T.reshape(-1)
        information = total[:, None, None] * _information(policy[:, :free])
        step = solve(_moment(design, design, information), slope).reshape(free, -1).T
        rise, length = float(slope @ step.T.reshape(-1)), 1.0
        while length > 1e-6:
            moved = theta.clone()
            moved[:, :free] += length * step
            trial, policy = likelihood(moved)
            if trial >= value:
                theta, value = moved, trial
                break
            length /= 2
        if rise < LOGIT_DECREMENT * float(total.sum()) or length <= 1e-6:
            break
    return theta


def choice_outcome(actions: Tensor, number_of_actions: int, anchor: int) -> Outcome:
    """The outcome "which action": residuals of the multinomial logit with base `anchor`."""
    order = [*(a for a in range(number_of_actions) if a != anchor), anchor]
    taken = torch.stack([actions == a for a in order], dim=1).double()

    def fit(z: Tensor) -> Residuals:
        design = polynomial(z)
        policy = torch.softmax(design @ logit(design, taken), dim=1)[:, :-1]
        return Residuals(design, taken[:, :-1] - policy, _information(policy))

    return fit


def next_value_outcome(value: Tensor, actions: Tensor, number_of_actions: int) -> Outcome:
    """The outcome V(s'), a column for each action: residuals of least squares in its rows."""
    taken = torch.stack([actions == a for a in range(number_of_actions)], dim=1).double()

    def fit(z: Tensor) -> Residuals:
        design = polynomial(z)
        errors = torch.zeros_like(taken)
        for a in range(number_of_actions):
            weighted = design * taken[:, [a]]
            theta = solve(weighted.T @ design, weighted.T @ value)
            errors[:, a] = (value - design @ theta) * taken[:, a]
        return Residuals(design, errors, torch.diag_embed(taken))

    return fit


def select(inputs: Inputs, outcome: Outcome, *, of_choice: bool) -> Selection:
    """Choose inputs until nothing that is left out passes its test.

    Args:
        inputs: all K.
        outcome: residuals of the model on given inputs.
        of_choice: whether ALPHA bounds the share of false ones among those that enter (Benjamini
            and Hochberg) and pairs are tried, or the probability of any false one (Bonferroni).
    """
    chosen: list[int] = []
    p_values: dict[int, float] = {}
    total = inputs.states.shape[1]
    while len(chosen) < min(MOST_INPUTS, total):
        residuals = outcome(inputs.columns(chosen))
        p = {
            k: _p_of_input(inputs, residuals, chosen, k)
            for k in _short_list(_scores(inputs, residuals, chosen), chosen)
        }
        ranked = sorted(p, key=lambda k: p[k])
        before = len(chosen) if of_choice else 0
        ranks = [i for i, k in enumerate(ranked, before + 1) if p[k] <= i * ALPHA / total]
        limit = (max(ranks, default=before + 1) if of_choice else 1) * ALPHA / total
        entered = 0
        for k in ranked:
            if p[k] > limit or len(chosen) == MOST_INPUTS:
                break
            if entered:  # given those that entered before it in this round
                residuals = outcome(inputs.columns(chosen))
                p[k] = _p_of_input(inputs, residuals, chosen, k)
            if p[k] <= limit:
                chosen.append(k)
                p_values[k] = p[k]
                entered += 1
        if not entered:
            pair, smallest = _best_pair(inputs, residuals) if of_choice else ((), 1.0)
            new = [k for k in pair if k not in chosen]
            if smallest > ALPHA or not new:
                break
            chosen += new
            p_values |= dict.fromkeys(new, smallest)
    return Selection(tuple(chosen), p_values)


def robust_test(residuals: Residuals, directions: Tensor) -> tuple[float, Tensor]:
    """The p-value of (n, p) further directions as a block, and each one's squared t (m p,).

    The score with the design projected out; its variance is that of its summands.
    """
    design, errors, information = residuals
    inner = _moment(design, design, information)
    carried = solve(inner, _moment(design, directions, information))  # (m q, m p)
    influence = _outer(errors, directions) - _outer(errors, design) @ carried
    score, variance = influence.sum(dim=0), influence.T @ influence
    block = float(chi2.sf(float(score @ solve(variance, score)), len(score)))
    return block, score**2 / torch.diagonal(variance).clamp_min(1e-300)


def solve(matrix: Tensor, right: Tensor) -> Tensor:
    """matrix^-1 right for a symmetric matrix, with RIDGE of its diagonal."""
    diagonal = torch.diagonal(matrix)
    root = torch.sqrt(diagonal.clamp_min(1e-12 * float(diagonal.max()) + 1e-300))
    scaled = matrix / root[:, None] / root[None]
    scaled = scaled + RIDGE * torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    inside = right.reshape(len(matrix), -1) / root[:, None]
    solved: Tensor = torch.linalg.solve(scaled, inside) / root[:, None]
    return solved.reshape(right.shape)


def inverse_root(matrix: Tensor) -> Tensor:
    """W with W W' = matrix^-1 for a symmetric matrix, with RIDGE of its diagonal."""
    diagonal = torch.diagonal(matrix)
    root = torch.sqrt(diagonal.clamp_min(1e-12 * float(diagonal.max()) + 1e-300))
    scaled = matrix / root[:, None] / root[None]
    values, vectors = torch.linalg.eigh(scaled)
    inverse: Tensor = vectors / torch.sqrt(values.clamp_min(0.0) + RIDGE) / root[:, None]
    return inverse


def _p_of_input(inputs: Inputs, residuals: Residuals, chosen: Sequence[int], k: int) -> float:
    z, others = inputs.columns([k]), inputs.columns(chosen).clamp(-CLIP, CLIP)
    base = torch.cat([z, z**2 - 1.0], dim=1)
    directions = [base, *(base * others[:, [j]] for j in range(others.shape[1]))]
    block, squared = robust_test(residuals, torch.cat(directions, dim=1))
    best = len(squared) * float(chi2.sf(float(squared.max()), 1))
    outcomes, each = residuals.errors.shape[1], len(squared) // residuals.errors.shape[1]
    linear = outcomes * float(chi2.sf(float(squared[::each].max()), 1))
    return min(1.0, 3 * min(linear, block, best))


def _scores(inputs: Inputs, residuals: Residuals, chosen: Sequence[int]) -> Array:
    """(K,) the largest score^2 of each input's directions over its variance if all independent."""
    others = inputs.columns(chosen).clamp(-CLIP, CLIP)
    factors = torch.cat([others.new_ones((len(others), 1)), others], dim=1)
    weights = _outer(residuals.errors, factors)
    width = inputs.states.shape[1]
    score = weights.new_zeros((2, width, weights.shape[1]))
    for rows, z in inputs.chunks():
        score[0] += z.T @ weights[rows]
        score[1] += (z * z).T @ weights[rows] - weights[rows].sum(dim=0)
    variance = (weights**2).mean(dim=0) * inputs.sizes[..., None]
    largest = (score**2 / variance.clamp_min(1e-300)).amax(dim=(0, 2)).cpu().numpy()
    return np.where(inputs.varies, largest, 0.0)


def _short_list(scores: Array, chosen: Sequence[int]) -> list[int]:
    """The inputs with the largest scores; beyond ALWAYS those that come near a threshold."""
    ranked = [int(k) for k in np.argsort(-scores) if k not in chosen and scores[k] > 0]
    return [k for i, k in enumerate(ranked[:SHORT_LIST]) if i < ALWAYS or scores[k] > NEAR]


def _best_pair(inputs: Inputs, residuals: Residuals) -> tuple[tuple[int, ...], float]:
    """The pair of inputs whose product has the smallest p-value, times the number of pairs."""
    width = inputs.states.shape[1]
    count = width * (width - 1) // 2
    if count == 0:
        return (), 1.0
    candidates: list[tuple[float, int, int]] = []
    for errors in residuals.errors.T:
        score = errors.new_zeros((width, width))
        for rows, z in inputs.chunks():
            weighted = errors[rows, None] * z
            for start in range(0, width, COLUMNS):  # the upper triangle, by blocks of rows
                block = slice(start, start + COLUMNS)
                score[block, start:] += z[:, block].T @ weighted[:, start:]
        score = torch.triu(score.abs(), diagonal=1)
        largest = score.flatten().topk(min(SHORT_LIST, count))
        for value, place in zip(largest.values.tolist(), largest.indices.tolist(), strict=True):
            candidates.append((value, place // width, place % width))
    best: tuple[tuple[int, ...], float] = ((), 1.0)
    for _, j, k in candidates:
        p, _ = robust_test(residuals, inputs.columns([j]) * inputs.columns([k]))
        if count * p < best[1]:
            best = ((j, k), count * p)
    return best


def _outer(errors: Tensor, design: Tensor) -> Tensor:
    """(n, m q) products of each row's errors and design."""
    return (errors[:, :, None] * design[:, None, :]).reshape(len(errors), -1)


def _moment(left: Tensor, right: Tensor, information: Tensor) -> Tensor:
    """(m p, m q) sum over rows of information (x) left right'."""
    size = range(information.shape[1])
    rows = [[(left * information[:, a, c, None]).T @ right for c in size] for a in size]
    return torch.cat([torch.cat(row, dim=1) for row in rows], dim=0)


def _information(policy: Tensor) -> Tensor:
    return torch.diag_embed(policy) - policy[:, :, None] * policy[:, None, :]
