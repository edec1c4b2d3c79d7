"""Which inputs matter: score tests that need no fit of what they test.

An input that a model leaves out shows in the model's residuals e. For the choices these are
1{a} - pi(a | s) of a logit on the inputs chosen so far; for the transitions V(s') less its
regression on them, action by action. An input z_k not yet chosen is tried in the directions

    {z_k, z_k^2 - 1} x {1, z_j for each chosen j},

the gradient of the likelihood in the first-layer weights of an input that is not yet connected.
Its statistic is the score with the chosen inputs' polynomial projected out, over its variance, the
robust or the model's, whichever says less for the input; its p-value is three times the least of
that of z_k alone, of the block (chi-square), and of the best direction (Bonferroni over the
directions). It is computed for a short list, which is ranked by the plain score: two matrix
products over all rows and inputs, in chunks.

A model on the chosen inputs, and the test of one more, are functions of those inputs' values alone:
rows are first grouped by them, exactly, into cells. Where few values occur the cost of both is that
of counting; where no row repeats there is a cell a row.

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
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import chdtrc
from torch import Tensor

from gladius.checks import Array
from gladius.distinct import compress, factorised
from gladius.folder import column, pieces, stored

FALSE_SHARE = 0.005  # of the inputs chosen for the choices, expected
ALPHA = 0.001  # probability of any false input of the transitions, or pair of the choices
TESTS = 3  # of an input, the least of whose p-values counts
KEPT = 10_000_000  # standardised numbers up to which they are kept between passes: 80 MB
CHUNK = 500_000  # numbers of a chunk of standardised inputs: 4 MB
CLIP = 4.0  # standard deviations, of the inputs of a polynomial
DEGREES = (5, 4, 3, 3)  # of the polynomial in 1, 2, 3, 4 inputs; 2 in more
MOST_INPUTS = 12
SAMPLE = 10_000  # rows kept as a sample
SHORT_LIST = 8  # inputs, or pairs, whose statistic is computed exactly in each round
ALWAYS = 3  # of the short list, however small their scores
NEAR = 8.0  # rough squared t, less than half of what the least threshold asks
FEW_CELLS = 4  # rows a cell from which on cells without rows are not sorted out
COLUMNS = 250  # of a block of the matrix of pairs
LOGIT_STEPS = 25
LOGIT_DECREMENT = 1e-8  # nats a row
RIDGE = 1e-9  # of a regression, relative to the diagonal of its matrix


class Cells(NamedTuple):
    """The rows grouped by the values of some inputs.

    Attributes:
        z: (g, c) the standardised values of each cell; cells without a row do no harm.
        place: (n,) the cell of each row.
        parent: (g,) the cell of the inputs without the last.
    """

    z: Tensor
    place: Tensor
    parent: Tensor


@dataclass(frozen=True)
class Inputs:
    """The inputs of a data set, standardised chunk by chunk on the device that computes.

    Attributes:
        states: (n, K) features, in memory or memory-mapped.
        center, scale: (K,) their mean and standard deviation, 1 for an input that is constant.
        varies: (K,) whether it is not; one that is constant is never chosen.
        farthest: (K,) the largest distance from the median in spreads, that is interquartile
            ranges over 1.35, or standard deviations where the middle half is one value.
        sample: (n', K) rows at equal distances, from which quantiles and correlations are taken.
        device: cpu or cuda.
    """

    states: Array
    center: Array
    scale: Array
    varies: NDArray[np.bool_]
    farthest: Array
    sample: Array
    device: str = "cpu"

    @classmethod
    def of(cls, states: Array, device: str = "cpu") -> Inputs:
        """Standardised by the rows themselves."""
        total = np.sum([part.sum(axis=0) for _, part in pieces(states, KEPT)], axis=0)
        center = total / len(states)
        squares, low, high = [], center, center
        for _, part in pieces(states, KEPT):
            low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
            square = part - center
            squares.append(np.square(square, out=square).sum(axis=0))
        scale = np.sqrt(np.sum(squares, axis=0) / len(states))
        varies = scale > 1e-12 * np.maximum(1.0, np.abs(center))
        scale = np.where(varies, scale, 1.0)
        sample = np.array(states[:: max(1, len(states) // SAMPLE)])
        first, middle, third = np.quantile(sample, (0.25, 0.5, 0.75), axis=0)
        spread = np.where(third > first, (third - first) / 1.35, scale)
        farthest = np.maximum(high - middle, middle - low) / spread
        return cls(states, center, scale, varies, farthest, sample, device)

    def cells(self, chosen: Sequence[int]) -> Cells:
        """The rows grouped by the chosen inputs."""
        nothing = torch.zeros(len(self.states), dtype=torch.int32, device=self.device)
        none = torch.zeros((1, 0), dtype=torch.float64, device=self.device)
        cells = Cells(none, nothing, torch.zeros(1, dtype=torch.long, device=self.device))
        for k in chosen:
            cells = self.refined(cells, k)
        return cells

    def refined(self, cells: Cells, k: int) -> Cells:
        """The cells split by one more input."""
        values, codes = self._codes(k)
        span = len(cells.z) * len(values)
        wide = torch.int32 if span < 2**31 else torch.int64
        index = cells.place.to(wide) * len(values)
        index += codes
        if span <= len(index) // FEW_CELLS:
            kept = torch.arange(span, device=self.device)
        else:
            places, distinct = compress(index.cpu().numpy().astype(np.int64), span)
            index, kept = (torch.from_numpy(part).to(self.device) for part in (places, distinct))
        parent = kept // len(values)
        z = torch.cat([cells.z[parent], values[kept % len(values), None]], dim=1)
        return Cells(z, index.to(torch.int32), parent)

    def _codes(self, k: int) -> tuple[Tensor, Tensor]:
        """The standardised values of an input, sorted, and (n,) which of them each row has."""
        if k not in self._known:
            codes, values = factorised(column(self.states, k))
            small = codes.astype(np.uint8 if len(values) <= 256 else np.int32)
            z = (values.astype(np.float64) - self.center[k]) / self.scale[k]
            self._known[k] = torch.tensor(z).to(self.device), torch.tensor(small).to(self.device)
        return self._known[k]

    def chunks(self, least: int = 1) -> Iterator[tuple[slice, Tensor]]:
        """All inputs, so many rows at a time; kept where they are few."""
        step = max(least, CHUNK // self.states.shape[1])
        for start in range(0, len(self.states), step):
            rows = slice(start, start + step)
            is_kept = self.states.size <= KEPT
            yield rows, self._all[rows] if is_kept else self._standardised(rows)

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
        return self._standardised(slice(None))

    def _standardised(self, rows: slice) -> Tensor:
        part = torch.from_numpy(stored(self.states, rows)).to(self.device)
        z = part.T.double()  # an input's values side by side, as they are on disk
        z -= torch.from_numpy(self.center[:, None]).to(self.device)
        z /= torch.from_numpy(self.scale[:, None]).to(self.device)
        return z.T

    @cached_property
    def _known(self) -> dict[int, tuple[Tensor, Tensor]]:
        return {}


class Moments(NamedTuple):
    """Sums over the rows of each of g cells, of an outcome of m columns.

    Attributes:
        errors: (g, m) what a model leaves of the outcome.
        squares: (g, m, m) products of those errors.
        information: (g, m, m) weight of a row in the information matrix.
        expected: (g, m, m) the products that the model expects.
    """

    errors: Tensor
    squares: Tensor
    information: Tensor
    expected: Tensor


class Outcome(Protocol):
    """What is explained: m columns, and their model on a polynomial of the chosen inputs."""

    def fit(self, design: Tensor, cells: Cells) -> Tensor:
        """(g, m) the fitted values in the cells, which have (g, q) polynomials."""

    def moments(self, index: Tensor, fitted: Tensor) -> Moments:
        """Of rows in cells, given what is fitted there."""

    def errors(self, rows: slice, fitted: Tensor) -> Tensor:
        """(n', m) of some of the rows, given what is fitted at them."""


class Residuals(NamedTuple):
    """What is left of an outcome of m columns after a model on the chosen inputs.

    Attributes:
        outcome: what is explained.
        cells: g cells of the chosen inputs.
        design: (g, q) the model's polynomial.
        fitted: (g, m).
    """

    outcome: Outcome
    cells: Cells
    design: Tensor
    fitted: Tensor

    @classmethod
    def of(cls, outcome: Outcome, cells: Cells) -> Residuals:
        """The model on the cells' inputs."""
        design = polynomial(cells.z)
        return cls(outcome, cells, design, outcome.fit(design, cells))

    def errors(self, rows: slice) -> Tensor:
        """(n', m) of some of the rows."""
        return self.outcome.errors(rows, self.fitted.index_select(0, self.cells.place[rows]))


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


@dataclass(frozen=True)
class Choice:
    """The outcome "which action": all but the last of `order`, its model a multinomial logit.

    Attributes:
        actions: (n,) of the rows.
        order: all A actions, the logit's base last.
    """

    actions: Tensor
    order: tuple[int, ...]

    def fit(self, design: Tensor, cells: Cells) -> Tensor:
        """(g, m) choice probabilities."""
        counts = self._counts(cells.place, len(design))
        return torch.softmax(design @ logit(design, counts), dim=1)[:, :-1]

    def moments(self, index: Tensor, fitted: Tensor) -> Moments:
        """From how often each action was taken in each cell."""
        counts = self._counts(index, len(fitted))
        taken = torch.eye(len(self.order), dtype=counts.dtype, device=counts.device)[:, :-1]
        left = taken - fitted[:, None, :]  # (g, A, m) the error of a row by its action
        weighted = counts[..., None] * left
        information = counts.sum(dim=1)[:, None, None] * _information(fitted)
        squares = weighted.transpose(1, 2) @ left
        return Moments(weighted.sum(dim=1), squares, information, information)

    def errors(self, rows: slice, fitted: Tensor) -> Tensor:
        """1{a} less its probability."""
        taken = torch.stack([self.actions[rows] == a for a in self.order[:-1]], dim=1)
        return taken.double() - fitted

    def _counts(self, index: Tensor, cells: int) -> Tensor:
        counts = tally(index, self.actions, cells, len(self.order))[0]
        return counts[:, list(self.order)]


@dataclass(frozen=True)
class NextValue:
    """The outcome V(s'), a column for each action: least squares in the action's rows.

    Attributes:
        values: some rows -> (n',) V(s') in them.
        actions: (n,) of the rows.
        number_of_actions: A.
    """

    values: Callable[[slice], Tensor]
    actions: Tensor
    number_of_actions: int

    def fit(self, design: Tensor, cells: Cells) -> Tensor:
        """(g, A) for each action the regression on the cells in which it was taken."""
        size = len(design), self.number_of_actions
        counts, sums, _ = tally(cells.place, self.actions, *size, lambda rows, _: self.values(rows))
        fitted = torch.zeros_like(sums)
        for a in range(self.number_of_actions):
            gram = (design * counts[:, [a]]).T @ design
            fitted[:, a] = design @ solve(gram, design.T @ sums[:, a])
        return fitted

    def moments(self, index: Tensor, fitted: Tensor) -> Moments:
        """An error belongs to the column of its row's action and is zero in the others."""

        def left(rows: slice, code: Tensor) -> Tensor:  # a difference of sums would lose digits
            return self.values(rows) - fitted.flatten().index_select(0, code)

        size = len(fitted), self.number_of_actions
        counts, sums, squares = tally(index, self.actions, *size, left)
        expected = counts * (squares.sum(dim=0) / counts.sum(dim=0).clamp_min(1))
        return Moments(sums, *map(torch.diag_embed, (squares, counts, expected)))

    def errors(self, rows: slice, fitted: Tensor) -> Tensor:
        """V(s') less its fit, in the column of the action."""
        taken = torch.stack([self.actions[rows] == a for a in range(self.number_of_actions)], dim=1)
        return (self.values(rows)[:, None] - fitted) * taken


def tally(
    index: Tensor,
    actions: Tensor,
    cells: int,
    number_of_actions: int,
    weight: Callable[[slice, Tensor], Tensor] | None = None,
) -> Tensor:
    """(3, cells, A) how many rows each cell has of each action, sums of a weight and its square.

    Args:
        index: (n,) cells of the rows.
        actions: (n,) their actions.
        cells: how many there are.
        number_of_actions: A.
        weight: some rows, and their places in the (cells, A) table -> (n',); without it, zero.
    """
    size, step = cells * number_of_actions, max(CHUNK, cells)
    total = torch.zeros(3, size, dtype=torch.float64, device=index.device)
    for start in range(0, len(index), step):
        rows = slice(start, start + step)
        code = index[rows] * number_of_actions + actions[rows]
        total[0] += torch.bincount(code, minlength=size)
        if weight is not None:
            weights = weight(rows, code)
            total[1] += torch.bincount(code, weights, minlength=size)
            total[2] += torch.bincount(code, weights**2, minlength=size)
    return total.reshape(3, cells, number_of_actions)


def choice_outcome(actions: Tensor, number_of_actions: int, anchor: int) -> Outcome:
    """The outcome "which action" with base `anchor`."""
    return Choice(actions, (*(a for a in range(number_of_actions) if a != anchor), anchor))


def select(inputs: Inputs, outcome: Outcome, *, of_choice: bool) -> Selection:
    """Choose inputs until nothing that is left out passes its test.

    Args:
        inputs: all K.
        outcome: residuals of the model on given inputs.
        of_choice: whether FALSE_SHARE bounds the share of false ones among those that enter
            (Benjamini and Hochberg) and pairs are tried, or ALPHA the probability of any.
    """
    chosen: list[int] = []
    p_values: dict[int, float] = {}
    total = inputs.states.shape[1]
    level = (FALSE_SHARE if of_choice else ALPHA) / total
    while len(chosen) < min(MOST_INPUTS, total):
        residuals = Residuals.of(outcome, inputs.cells(chosen))
        p = {
            k: _p_of_input(inputs, residuals, k)
            for k in _short_list(_scores(inputs, residuals), chosen)
        }
        ranked = sorted(p, key=lambda k: p[k])
        before = len(chosen) if of_choice else 0
        ranks = [i for i, k in enumerate(ranked, before + 1) if p[k] <= i * level]
        limit = (max(ranks, default=before + 1) if of_choice else 1) * level
        entered = 0
        for k in ranked:
            if p[k] > limit or len(chosen) == MOST_INPUTS:
                break
            if entered:  # given those that entered before it in this round
                residuals = Residuals.of(outcome, inputs.cells(chosen))
                p[k] = _p_of_input(inputs, residuals, k)
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


def robust_test(
    residuals: Residuals, finer: Cells, directions: Callable[[Tensor], Tensor]
) -> tuple[float, Tensor]:
    """The p-value of p further directions as a block, and each one's squared t (m p,).

    The score with the design projected out. Its variance is that of its summands or that which the
    model expects, whichever says less for the input: where few rows weigh much and an action
    is rare the summands have hardly any.

    Args:
        residuals: of the model.
        finer: its cells split by further inputs, with `parent` among the model's.
        directions: (g', c) standardised inputs of finer cells -> (g', p).
    """
    moments = residuals.outcome.moments(finer.place, residuals.fitted[finer.parent])
    outcomes = range(residuals.fitted.shape[1])

    def parts() -> Iterator[tuple[Tensor, Tensor, Moments]]:
        step = max(1, CHUNK // residuals.design.shape[1])
        for start in range(0, len(finer.z), step):
            some = slice(start, start + step)
            part = Moments(*(moment[some] for moment in moments))
            yield residuals.design[finer.parent[some]], directions(finer.z[some]), part

    information = [
        (_moment(design, design, part.information), _moment(design, new, part.information))
        for design, new, part in parts()
    ]
    inner, cross = (torch.stack(sums).sum(dim=0) for sums in zip(*information, strict=True))
    carried = solve(inner, cross)  # (m q, m p)
    score = carried.new_zeros(cross.shape[1])
    variances = carried.new_zeros((2, len(score), len(score)))
    for design, new, part in parts():
        # the influence of a row is the sum over outcomes of its error times these
        eye = torch.eye(len(outcomes), dtype=new.dtype, device=new.device)
        rows = torch.einsum("gp,ac->agcp", new, eye).reshape(len(outcomes), len(new), -1)
        rows = rows - design @ carried.reshape(len(outcomes), design.shape[1], -1)
        for a in outcomes:
            score += part.errors[:, a] @ rows[a]
            for c in outcomes:
                for variance, weight in zip(variances, (part.squares, part.expected), strict=True):
                    variance += rows[a].T @ (weight[:, a, c, None] * rows[c])
    chi_square = min(float(score @ solve(variance, score)) for variance in variances)
    largest = torch.diagonal(variances, dim1=1, dim2=2).amax(dim=0)
    return float(chdtrc(len(score), chi_square)), score**2 / largest.clamp_min(1e-300)


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


def _p_of_input(inputs: Inputs, residuals: Residuals, k: int) -> float:
    def directions(z: Tensor) -> Tensor:
        base = torch.stack([z[:, -1], z[:, -1] ** 2 - 1.0], dim=1)
        others = z[:, :-1].clamp(-CLIP, CLIP)
        return torch.cat([base, *(base * other[:, None] for other in others.T)], dim=1)

    block, squared = robust_test(residuals, inputs.refined(residuals.cells, k), directions)
    best = len(squared) * float(chdtrc(1, float(squared.max())))
    outcomes = residuals.fitted.shape[1]
    linear = outcomes * float(chdtrc(1, float(squared[:: len(squared) // outcomes].max())))
    return min(1.0, TESTS * min(linear, block, best))


def _scores(inputs: Inputs, residuals: Residuals) -> Array:
    """(K,) the largest score^2 of each input's directions over its variance if all independent."""
    index, z = residuals.cells.place, residuals.cells.z.clamp(-CLIP, CLIP)
    factors = torch.cat([z.new_ones((len(z), 1)), z], dim=1)
    size = residuals.fitted.shape[1] * factors.shape[1]
    score, square = z.new_zeros((2, inputs.states.shape[1], size)), z.new_zeros(size)
    for rows, chunk in inputs.chunks():
        weights = _outer(residuals.errors(rows), factors.index_select(0, index[rows]))
        score[0] += chunk.T @ weights
        score[1] += (chunk * chunk).T @ weights - weights.sum(dim=0)
        square += (weights**2).sum(dim=0)
    variance = square / len(index) * inputs.sizes[..., None]
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
    for a in range(residuals.fitted.shape[1]):
        score = residuals.fitted.new_zeros((width, width))
        for rows, z in inputs.chunks(least=2 * width):  # so that sums cost less than products
            weighted = residuals.errors(rows)[:, [a]] * z
            for start in range(0, width, COLUMNS):  # the upper triangle, by blocks of rows
                block = slice(start, start + COLUMNS)
                score[block, start:] += z[:, block].T @ weighted[:, start:]
        score = torch.triu(score.abs(), diagonal=1)
        largest = score.flatten().topk(min(SHORT_LIST, count))
        for value, place in zip(largest.values.tolist(), largest.indices.tolist(), strict=True):
            candidates.append((value, place // width, place % width))
    best: tuple[tuple[int, ...], float] = ((), 1.0)
    for _, j, k in candidates:
        half = inputs.refined(residuals.cells, j)
        finer = inputs.refined(half, k)
        finer = finer._replace(parent=half.parent[finer.parent])
        p, _ = robust_test(residuals, finer, lambda z: z[:, -2:-1] * z[:, -1:])
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
