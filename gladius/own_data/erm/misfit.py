"""Whether a fit is to be trusted: do its choices agree with the data, and do they say enough?

A fit is held against frequencies. On counts these are the frequencies of every state; on
observations those of the bins of each input, selected or not, and of the cells of each pair.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, log_softmax, xlogy

from gladius.model.estimate import FAR_OFF
from gladius.panel.record import Counts, Integers, index_rows
from gladius.panel.ties import TIE
from gladius.validate import Array

if TYPE_CHECKING:
    from gladius.own_data.erm.observations.features import Inputs

BINS = 20  # of an input
BINS_OF_PAIR, VALUES = 6, 12  # of an input beside another; values up to which each has its own
BINS_ALONG = 40  # of a sum or difference of two inputs: in 20 a thin band is diluted
MOST_PAIRED = 40  # columns up to which all pairs are tested, and as many pairs with more
BLOCK = 50_000  # rows whose products are formed at once
REPEATS = 4  # observations of a pair of values, from which pairs are looked at and not those
DOUBTFUL = 1e-4  # p-value of a warning, over the number of inputs
REJECTED = 1e-8  # p-value of a status that is not ok
MISFIT = 1e-4  # of chi-square an observation, about .03 of log-odds: less does not matter
BIAS = 0.05  # of log-odds, that an error of zeta makes: less does not matter
PER_COEFFICIENT = 10  # observations that a coefficient of r, and a monomial's action, must have
RARE = "an action is too rare"
MIN_CHOICE_RANDOMNESS = 1e-4  # mean of 1 - sum pi^2 below which choices leave r undetermined


def is_worse_than_frequencies(counts: Counts, q: Array) -> NDArray[np.bool_]:
    """(R,) whether frequencies are likelier than Q (R, S, A) by far more than chance explains.

    Twice the gain is compared with a chi-square that has as many degrees of freedom as there are
    pairs visited beyond one a state.
    """
    visits, seen = counts.visits, counts.seen
    deviance = np.sum(xlogy(visits, visits) - visits * log_softmax(q, axis=2), axis=(1, 2))
    deviance -= np.sum(xlogy(seen, seen), axis=1)
    freedom = np.sum(visits > 0, axis=(1, 2)) - np.sum(seen > 0, axis=1)
    return np.asarray(2 * deviance > freedom + FAR_OFF * np.sqrt(2 * freedom))


def misfit_p_values(
    inputs: Inputs, actions: Integers, policy: Array, others: Sequence[int]
) -> dict[int, float]:
    """For each input the p-value of the choices less the fit along it.

    In bins of an input the choices less their probabilities are squared over their variance, or
    over 1 where that is less: one choice where few are expected is no chi-square. The sum is
    compared with a chi-square with one degree of freedom for each bin and action. An input of up to
    BINS values has a bin for each, any other BINS equally full ones. A sum below MISFIT an
    observation does not matter, and has the p-value 1.

    Args:
        inputs: all of them.
        actions: (n,).
        policy: (n, A) the fit's choice probabilities.
        others: the actions but the anchor.
    """
    choices = deviations(actions, policy, others)
    columns = range(inputs.states.shape[1])
    return {k: p_value(bins_of(inputs, k, BINS, BINS), choices) for k in columns}


@dataclass(frozen=True)
class Deviations:
    """Choices and next values less those of a fit: of each observation, or summed over groups.

    Attributes:
        number: (G,) observations of each group.
        choices: for each of some actions, (G,) sums of what `deviations` says.
        group: (E,) the group of each entry below.
        action: (E,) its action.
        values: of the observations of that group and action with a next state, (E,) their numbers,
            sums of V(s') less zeta, and sums of its square.
        discount: beta.
    """

    number: Array
    choices: Sequence[tuple[Array, Array]]
    group: Integers
    action: Integers
    values: tuple[Array, Array, Array]
    discount: float

    def by(self, of: Integers, size: int) -> Deviations:
        """Those of larger groups, `of` (G,) numbers below `size`."""
        most = int(self.action.max()) + 1
        entry = of[self.group] * most + self.action
        number, total, squares = (_sums(entry, one, size * most) for one in self.values)
        return Deviations(
            _sums(of, self.number, size),
            [(_sums(of, error, size), _sums(of, own, size)) for error, own in self.choices],
            np.repeat(np.arange(size), most),
            np.tile(np.arange(most), size),
            (number, total, squares),
            self.discount,
        )

    def p_of_choices(self, bins: Integers) -> float:
        """The p-value by the (G,) bin of each group, of what exceeds chance."""
        return p_value(bins, self.choices, self.number, excess=True)

    def p_of_values(self, cells: Integers) -> float:
        """The p-value of the next values by the (G,) cell of each group."""
        return value_p_value(cells[self.group], self.action, *self.values, self.discount)


def _sums(code: Integers, weights: Array, size: int = 0) -> Array:
    """Of weights, by code."""
    return np.bincount(code, weights, size).astype(np.float64, copy=False)


def deviations(
    actions: Integers, policy: Array, others: Sequence[int]
) -> list[tuple[Array, Array]]:
    """For each of some actions the (n,) choices less their probabilities, and their variances."""
    return [((actions == a) - policy[:, a], policy[:, a] * (1 - policy[:, a])) for a in others]


def pair_p_values(
    inputs: Inputs,
    columns: Sequence[Sequence[int]],
    of_rows: Deviations,
    sample: slice,
    residuals: Callable[[], Sequence[Array]] = tuple,
    always: Collection[int] = (),
) -> dict[tuple[int, int], float]:
    """For each pair of columns, by position, the least p-value of its tests, times their number.

    They are of cells, one column's bins by the other's: a bin for each of up to VALUES values, else
    BINS_OF_PAIR equally full ones. Choices are tested in BINS by BINS cells too: a thin band of two
    columns is in no coarse cell alone. A fine cell has few observations, and in 10,000 such a band
    was not seen. Two columns with more than VALUES values are therefore tested along `sums` too.

    Beyond MOST_PAIRED columns as many pairs as those have are tested, or all pairs of `always` if
    these are more: first they, then those of the largest `products` with the residuals. A p-value
    below a bar for all pairs is one for those tested, whichever these are.

    Args:
        inputs: all of them.
        columns: features of each column, more than one for a categorical one.
        of_rows: of each observation. Where a pair of values has REPEATS of them, its tests are of
            their sums by the pair, which are taken once.
        sample: which of them are the sample of the inputs.
        residuals: gives (n,) each, of choices and of next values, where pairs are chosen.
        always: columns, by position, whose pairs with each other are all tested.
    """
    n = len(inputs.states)
    coarse = [
        coded(inputs, features, BINS_OF_PAIR, VALUES).astype(np.int32) for features in columns
    ]
    has_many = [len(of) == 1 and len(np.unique(inputs.sample[:, of])) > VALUES for of in columns]
    found, pairs = {}, list(combinations(range(len(columns)), 2))
    most = max(MOST_PAIRED * (MOST_PAIRED - 1) // 2, len(always) * (len(always) - 1) // 2)
    if len(pairs) > most:
        largest = products(coarse, [len(of) > 1 for of in columns], residuals())
        largest[np.ix_(list(always), list(always))] = np.inf
        size_of = np.array([largest[pair] for pair in pairs])
        pairs = [pairs[k] for k in np.sort(np.argsort(-size_of, kind="stable")[:most])]
    chosen = {k for pair in pairs for k in pair}
    levels = {k: index_rows([inputs.states[:, list(columns[k])]]) for k in chosen}
    fine = {k: coded(inputs, columns[k], BINS, BINS).astype(np.int32) for k in chosen}
    for i, j in pairs:
        (x, (of_x,)), (y, (of_y,)) = levels[i], levels[j]
        of, some, times = of_rows, sample, None
        cells, small = (
            x_bins * (y_bins.max() + 1) + y_bins.astype(np.int64)
            for x_bins, y_bins in ((coarse[i], coarse[j]), (fine[i], fine[j]))
        )
        if REPEATS * len(x) * len(y) <= n:
            pair, size = of_x * len(y) + of_y, len(x) * len(y)
            of, some = of_rows.by(pair, size), slice(None)
            times = np.bincount(pair[sample], minlength=size)
            cells, small = (_of_groups(bins, pair, size) for bins in (cells, small))
            of_x, of_y = np.divmod(np.arange(size), len(y))
        tests = [of.p_of_choices(cells), of.p_of_values(cells), of.p_of_choices(small)]
        if has_many[i] and has_many[j]:
            ratio = inputs.scale[columns[i][0]] / inputs.scale[columns[j][0]]
            along = sums(x[of_x, 0], y[of_y, 0], ratio, some, times)
            tests += [of.p_of_choices(bins) for bins in along]
        found[i, j] = min(1.0, len(tests) * min(tests))
    return found


def _of_groups(bins: Integers, group: Integers, size: int) -> Integers:
    """(size,) the bin that all observations of each group are in; 0 where there are none."""
    found: Integers = np.zeros(size, dtype=np.int64)
    found[group] = bins
    return found


def products(
    bins: Sequence[NDArray[np.integer]], is_nominal: Sequence[bool], residuals: Sequence[Array]
) -> Array:
    """(K, K) how far, at most of all residuals e, sums of e f(x_i) g(x_j) are squared above chance.

    In standard deviations of a chi-square with a degree of freedom for each f and g. These have
    mean 0 and variance 1: straight and curved in the number of the bin, or one for each value of a
    categorical column. All pairs take one product of matrices, and the rows are read once.
    """
    features: list[Array] = []  # (bins, functions) of each column
    for codes, nominal in zip(bins, is_nominal, strict=True):
        share = np.bincount(codes) / len(codes)
        powers = np.eye(len(share)) if nominal else np.vander(np.linspace(-1, 1, len(share)), 3)
        root = np.sqrt(share)[:, None]
        basis, size, _ = np.linalg.svd(root * (powers - share @ powers), full_matrices=False)
        features.append(basis[:, size > TIE * max(size[0], 1e-300)] / np.maximum(root, 1e-300))
    widths = np.array([one.shape[1] for one in features])
    of_column = np.repeat(np.eye(len(bins)), widths, axis=0)  # none, if a column has one bin
    total = np.zeros((len(residuals), *[widths.sum()] * 2))
    for start in range(0, len(bins[0]), BLOCK):
        rows = slice(start, start + BLOCK)
        table = np.concatenate([of[x[rows]] for of, x in zip(features, bins, strict=True)], axis=1)
        for of_residual, e in zip(total, residuals, strict=True):
            of_residual += table.T @ (e[rows, None] * table)
    freedom, largest = np.outer(widths, widths), np.full([len(bins)] * 2, -np.inf)
    for of_residual, e in zip(total, residuals, strict=True):
        squares = of_residual**2 / max(float(e @ e), 1e-300)
        blocks = of_column.T @ squares @ of_column
        excess = (blocks - freedom) / np.sqrt(2 * np.maximum(freedom, 1))
        largest = np.maximum(largest, np.where(freedom > 0, excess, -np.inf))
    return largest


def sums(
    x: Array, y: Array, ratio: float, sample: slice, times: Integers | None
) -> Iterator[Integers]:
    """(G,) bins of the sum and of the difference of two inputs, as given and standardised.

    A threshold of |x - y| is one of the difference as given: standardised, a band is a slanted
    one, and blurs. In different units only the standardised mean something.

    Args:
        x, y: (G,) the inputs.
        ratio: of their scales.
        sample: of which the bins are equally full.
        times: how often each of them counts; by default once.
    """
    for slope in (1.0, -1.0, ratio, -ratio):
        along = x + slope * y
        yield equally_full(along, along[sample], BINS_ALONG, times)


def coded(inputs: Inputs, features: Sequence[int], number: int, most: int) -> Integers:
    """(n,) the bin of each observation in some features together; see `bins_of`."""
    codes: Integers = np.zeros(len(inputs.states), dtype=np.int64)
    for k in features:
        bins = bins_of(inputs, k, number, most)
        codes = codes * (bins.max() + 1) + bins
        codes = (np.cumsum(np.bincount(codes) > 0) - 1)[codes]  # without those that do not occur
    return codes


def value_p_value(
    cells: Integers,
    actions: Integers,
    number: Array,
    total: Array,
    squares: Array,
    discount: float,
) -> float:
    """The p-value of V(s') less zeta in cells of the state, for each action.

    The squared sums over their variances are compared with a chi-square. A bias of beta zeta below
    BIAS, as the root of its mean square, does not matter.

    Args:
        cells, actions: (E,) of observations, or of groups of them.
        number, total, squares: (E,) of each: how many, the sum of V(s') less zeta, of its square.
        discount: beta.
    """
    cell, every = cells * (actions.max() + 1) + actions, number.sum()
    noise = np.bincount(actions, squares) / np.maximum(np.bincount(actions, number), 1)
    n, total, squares = (_sums(cell, one) for one in (number, total, squares))
    action, n_seen = np.arange(len(n)) % len(noise), np.maximum(n, 1)
    bias = discount**2 * np.sum((total**2 - squares) / n_seen)
    if not bias > BIAS**2 * every:
        return 1.0
    variance = np.maximum(squares, n * noise[action])
    statistic = np.sum(total[n > 0] ** 2 / np.maximum(variance[n > 0], 1e-300))
    return float(chdtrc(np.count_nonzero(n), statistic))


def bins_of(inputs: Inputs, k: int, number: int, most: int) -> Integers:
    """(n,) the bin of each observation: that of its value, up to `most`, or one of a `number`."""
    x, values = inputs.states[:, k], np.unique(inputs.sample[:, k])
    if len(values) <= most:
        return np.searchsorted(values, x).clip(0, len(values) - 1)
    return equally_full(x, inputs.sample[:, k], number)


def equally_full(x: Array, sample: Array, number: int, times: Integers | None = None) -> Integers:
    """(n,) the bin of each value, of a `number` between the quantiles of a sample.

    A value of the sample counts as many `times` as is said, by default once.
    """
    shares = np.arange(1, number) / number
    if times is None:
        edges = np.quantile(sample, shares, method="inverted_cdf")
    else:
        order = np.argsort(sample)
        below = np.cumsum(times[order])
        at = np.searchsorted(below, np.ceil(below[-1] * shares - 1), side="right")
        edges = sample[order[at]]
    bins = np.searchsorted(edges, x)
    if np.all(np.diff(edges) > 0):
        return bins
    # halfway between both sides: a rare value has a bin apart from the usual one
    return np.asarray((bins + np.searchsorted(edges, x, "right")) // 2)


def p_value(
    bins: Integers,
    choices: Sequence[tuple[Array, Array]],
    number: Array | None = None,
    *,
    excess: bool = False,
) -> float:
    """Of the sum of squares over bins, of `deviations`; see `misfit_p_values`.

    With `excess` what it exceeds its degrees of freedom by must be above MISFIT an observation.
    `number` are the observations of each entry, by default one.
    """
    freedom, statistic = np.count_nonzero(np.bincount(bins, number)) * len(choices), 0.0
    for error, variance in choices:
        errors, variances = np.bincount(bins, error), np.bincount(bins, variance)
        statistic += np.sum(errors**2 / np.maximum(variances, 1.0))
    every = len(bins) if number is None else number.sum()
    matters = statistic - excess * freedom > MISFIT * every
    return float(chdtrc(freedom, statistic)) if matters else 1.0


def of_choices(visits: Array, policy: Array, nll: float) -> dict[str, bool]:
    """Reasons against a fit, and whether each holds: choices too certain, or too unlikely.

    Args:
        visits: (S, A) n(s, a).
        policy: (S, A) the fit's choice probabilities.
        nll: its negative log-likelihood, a sum.
    """
    size, seen = visits.sum(), visits.sum(axis=1)
    randomness = seen @ (1 - np.sum(policy**2, axis=1)) / size
    nll_of_uniform_policy = size * np.log(policy.shape[1]) * (1 + 1e-9)
    return {
        "choices are all but certain": bool(randomness <= MIN_CHOICE_RANDOMNESS),
        "choices are less likely than under the uniform policy": not nll <= nll_of_uniform_policy,
    }
