"""The form of r in the class `sparse`: its monomials, and then its curved terms.

Monomials enter by score tests. They leave by BIC or, where n is large, at the level STAYS. Curved
terms are cosines of one or two inputs with a ridge, whose lambda REML chooses by the quadratic
model of the NLL with gradient g and information I at the current theta: with h = I theta - g,
H = I + lambda and S0 the block without the curve,

    2 REML(lambda) = h'H^-1 h - log det H + k log lambda - (h'S0^-1 h - log det S0).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri
from torch import Tensor

from gladius.own_data.erm.observations.features import (
    SUPPORT,
    Features,
    Inputs,
    Rows,
    make_cells,
    make_features,
)
from gladius.own_data.erm.observations.regression import solve
from gladius.own_data.erm.observations.risk import ObservationRisk, Point, RiskMinimum, minimise
from gladius.own_data.erm.smooth import LEAVES_FIXED_FORM, UNDERSMOOTHING_STEPS
from gladius.panel.record import Integers
from gladius.panel.ties import near_least, ranking

LAMBDAS = 10.0 ** np.arange(4.0, -2.25, -0.5)
FEW = 2  # inputs up to which all products are tried and two may be curved together
MOST_CROSSED = 5  # inputs up to which intervals allow for all products
TERM = 0.001  # level of the test of a product, where there are more inputs than FEW
SHARE = 0.1  # of the ridge of zeta, at which a second fit shows what the ridge does
OWN = 15  # cosines of one input among more than FEW
STAYS = 0.01  # level of the likelihood ratio at which a monomial is not dropped
COLLINEAR = 1e-6  # share of a product's information beside the other terms, below which it is none
MOST_VALUES = 25_000_000  # of new functions at all states at once: 200 MB
OF_CELL = 0.1  # penalty of cells in intervals
FEW_VALUES = 20  # of a column, up to which each has a cell in intervals
Block = tuple[Features, NDArray[np.float64]]  # functions, and what is removed of each
SAME = 1e-3  # difference of statistics that no chi-square sees, and no stop or rounding reaches


def fit_form(
    rows: Rows,
    inputs: Inputs,
    of_reward: Sequence[int],
    zeta: Sequence[int],
    together: Sequence[tuple[int, ...]] = (),
) -> RiskMinimum:
    """The minimum with the monomials of r: inputs and products that pass, thinned out by BIC."""
    pairs = list(combinations(range(len(of_reward)), 2))
    functions = make_zeta(rows, inputs, zeta, together)
    reward = make_features(of_reward, inputs, pairs if len(of_reward) <= FEW else ())
    fit = fit_unpenalised(ObservationRisk(rows, reward, functions))
    if len(of_reward) > FEW:
        passing = significant_products(fit, pairs)
        if passing:
            reward = make_features(of_reward, inputs, passing)
            fit = fit_unpenalised(ObservationRisk(rows, reward, functions))
    return drop_terms(fit)


def fit_unpenalised(risk: ObservationRisk) -> RiskMinimum:
    """The minimum without a penalty, the ridge of zeta by the V of a first minimum.

    Where the steps to the first did not converge, the one after it is the first if they did there:
    what led to a minimum does not matter.
    """
    risk, theta, zeta, _ = risk.start()
    first = minimise(risk, torch.zeros_like(theta), theta, zeta)
    if not first.converged:
        second = with_own_ridge(first)
        first = second._replace(is_sound=True) if second.converged else second
    return with_own_ridge(first)


def with_own_ridge(fit: RiskMinimum) -> RiskMinimum:
    """The minimum with the ridge of zeta chosen by the V of this fit."""
    risk = fit.risk.with_ridge(fit.v)
    return minimise(risk, fit.penalty, fit.point.theta, risk.regress(fit.v), fit)


def make_zeta(
    rows: Rows, inputs: Inputs, columns: Sequence[int], together: Sequence[tuple[int, ...]] = ()
) -> tuple[Features, ...]:
    """The functions of zeta(., a) for each action, clipped to where the action was taken.

    Inputs that matter `together` have cosines of their own, beside those of all. So has each of
    more than FEW inputs: a bend along one of them is sharp, and those of all are too few for it.
    Ends that many rows have are cells, for next values may jump there.
    """
    columns = [int(k) for k in columns]
    z = (rows.states[:, columns].numpy(force=True) - inputs.center[columns]) / inputs.scale[columns]
    features = []
    for visits in rows.followed.T.numpy(force=True):
        box = np.empty((2, len(columns)))
        for k, values in enumerate(z.T):
            order = np.argsort(values, kind="stable")
            share = np.cumsum(visits[order]) / visits.sum()
            box[:, k] = values[order][np.searchsorted(share, SUPPORT).clip(0, len(z) - 1)]
        bounds = box[0], box[1]
        every = make_features(columns, inputs, curved=columns, box=bounds)
        for k in columns if len(columns) > FEW else ():
            every = every.with_block(make_features(columns, inputs, curved=[k], most=OWN))
        for curved in together:
            every = every.with_block(make_features(columns, inputs, curved=curved, in_cells=True))
        for end in inputs.ends(columns):
            every = every.with_block(make_cells(columns, inputs, end))
        features.append(every)
    return tuple(features)


def significant_products(
    fit: RiskMinimum, pairs: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Products of two inputs whose score passes at TERM."""
    reward, actions = fit.risk.reward, len(fit.risk.rows.estimated)
    terms = (*reward.terms, *pairs)
    wider = replace(reward, terms=terms, removed=np.zeros((len(terms), 0)))
    point = extend(fit, fit.risk.with_reward(wider))
    columns = torch.arange(actions * len(terms)).reshape(actions, -1)
    old, passing = columns[:, : len(reward.terms)].flatten(), []
    for j, pair in enumerate(pairs, len(reward.terms)):
        new, information = columns[:, j], point.information
        cross = information[old][:, new]
        variance = information[new][:, new] - cross.T @ solve(information[old][:, old], cross)
        score, own = point.gradient[new], torch.diagonal(information[new][:, new])
        if torch.any(torch.diagonal(variance) <= COLLINEAR * own):
            continue
        if chdtrc(actions, float(score @ solve(variance, score))) <= TERM:
            passing.append(pair)
    return passing


def extend(fit: RiskMinimum, wider: ObservationRisk) -> Point:
    """The fit's theta as a point of a risk whose r has further functions, zero there."""
    actions = len(wider.rows.estimated)
    table = fit.point.theta.new_zeros((actions, wider.reward.size))
    table[:, positions(fit.risk.reward, wider.reward)] = fit.point.theta.reshape(actions, -1)
    return wider.point(table.reshape(-1), fit.point.zeta)


def positions(reward: Features, wider: Features) -> Integers:
    """Where functions stand among those of a wider class: new cosines are before its cells."""
    at = np.arange(reward.size)
    is_cell = at >= len(reward.terms) + len(reward.phases)
    return at + is_cell * (len(wider.phases) - len(reward.phases))


def drop_terms(fit: RiskMinimum) -> RiskMinimum:
    """Drop the monomial with the smallest Wald statistic while BIC falls; 1 always stays.

    So does what the likelihood ratio finds at STAYS: in large samples BIC drops terms that are
    several standard errors from 0. Of terms that follow from one another the last goes first.
    """
    while True:
        risk, point = fit.risk, fit.point
        actions, size = len(risk.rows.estimated), risk.reward.size
        price = min(actions * risk.rows.log_size, float(chdtri(actions, STAYS)))
        covariance = solve(point.information, torch.eye(risk.free).to(point.theta))
        walds = []
        for j in range(1, size):
            columns = [c * size + j for c in range(actions)]
            theta = point.theta[columns]
            walds.append(float(theta @ solve(covariance[columns][:, columns], theta)))
        if not walds or min(walds) > 2 * price:
            return fit
        remaining = [j for j in range(size) if j != 1 + near_least(walds, SAME)[-1]]
        columns = [c * size + j for c in range(actions) for j in remaining]
        terms = tuple(risk.reward.terms[j] for j in remaining)
        reward = replace(risk.reward, terms=terms, removed=risk.reward.removed[remaining])
        smaller = risk.with_reward(reward)
        trial = minimise(smaller, fit.penalty[columns], point.theta[columns], point.zeta, fit)
        if 2 * (trial.point.nll - point.nll) >= price:
            return fit
        fit = trial


def add_curvature(
    fit: RiskMinimum, inputs: Inputs, together: Sequence[tuple[int, ...]] = ()
) -> RiskMinimum:
    """The fit with cosines of one or two inputs, a block at a time while REML gains enough.

    Of more than FEW inputs only the sets in `together` are curved together, in cells if they have
    few values.

    LEAVES_FIXED_FORM is for one set of inputs. More sets have to gain more, and BIC's price is paid
    for each input beyond the first or without a term in r so far: where zeta is curved in it, noise
    has zeta's error to add to.
    """
    rows, columns = fit.risk.rows, fit.risk.reward.inputs
    sizes = (1, 2) if len(columns) <= FEW else (1,)
    sets = [curved for size in sizes for curved in combinations(columns, size)]
    sets += [curved for curved in together if set(curved) <= set(columns)]
    monomials = fit.risk.reward(rows.states)
    weighted = monomials * rows.seen[:, None]
    gram = weighted.T @ monomials
    blocks = {}
    for curved in sets:
        block = make_features(columns, inputs, curved=curved, in_cells=curved in together)
        cosines = block(rows.states)[:, len(block.terms) :]
        blocks[curved] = block, solve(gram, weighted.T @ cosines).numpy(force=True)
    while sets:
        used = set(reward_inputs(fit.risk.reward))
        further = [max(len(curved) - 1, len(set(curved) - used)) for curved in sets]
        prices = [rows.log_size * number + 2 * float(np.log(len(sets))) for number in further]
        best, fit = with_best_block(fit, [blocks[curved] for curved in sets], prices)
        if best is None:
            break
        sets = [curved for curved in sets if not set(curved) <= set(sets[best])]
    return fit


def add_ends(fit: RiskMinimum, inputs: Inputs) -> RiskMinimum:
    """The fit with cells at ends of columns, one at a time while REML gains enough.

    They come after the curves: a cell that takes what is a bend near an end leaves the rest of the
    bend without a curve.
    """
    reward, rows, remaining = fit.risk.reward, fit.risk.rows, inputs.ends(fit.risk.reward.inputs)
    monomials = reward(rows.states)[:, : len(reward.terms)]
    blocks = {end: cells_beside(reward, monomials, rows, inputs, end) for end in remaining}
    while remaining:
        prices = [2 * float(np.log(len(remaining)))] * len(remaining)
        best, fit = with_best_block(fit, [blocks[end] for end in remaining], prices)
        if best is None:
            break
        remaining = [end for end in remaining if end != remaining[best]]
    return fit


def with_best_block(
    fit: RiskMinimum, blocks: Sequence[Block], prices: Sequence[float]
) -> tuple[int | None, RiskMinimum]:
    """The block by which REML gains most above LEAVES_FIXED_FORM and its price, with its fit.

    Blocks are fitted in the order of what the quadratic model says, and none that by it gains less
    than one that is fitted. Without a block that gains enough it is the fit as it was.
    """
    largest, best, trial = 0.0, None, fit
    modelled = modelled_gains(fit, blocks)
    excess = [gain - LEAVES_FIXED_FORM - by for gain, by in zip(modelled, prices, strict=True)]
    for i in ranking([-one for one in excess]).tolist():
        if modelled[i] <= LEAVES_FIXED_FORM or (best is not None and excess[i] <= largest):
            continue
        wider = fit.risk.with_reward(fit.risk.reward.with_block(*blocks[i]))
        gain, other = fit_penalised(fit, wider)
        gain -= LEAVES_FIXED_FORM + prices[i]
        if gain > largest + (SAME if best is not None else 0.0):
            largest, best, trial = gain, i, other
    return best, trial


def modelled_gains(fit: RiskMinimum, blocks: Sequence[Block]) -> list[float]:
    """What twice REML gains by each block and its best lambda, by the quadratic model at the fit.

    One point serves many blocks. Only where the model finds most is a fit worth its time.
    """
    reward, actions = fit.risk.reward, len(fit.risk.rows.estimated)
    widths = [block.removed.shape[1] for block, _ in blocks]
    most = max(1, MOST_VALUES // (len(fit.risk.rows.states) * max(widths)))
    gains = [0.0] * len(blocks)
    ordered = sorted(range(len(blocks)), key=lambda i: bool(blocks[i][0].cells))
    for start in range(0, len(ordered), most):
        batch = ordered[start : start + most]
        wider = reward
        for i in batch:
            wider = wider.with_block(*blocks[i])
        point = extend(fit, fit.risk.with_reward(wider))
        own = positions(reward, wider)
        new = np.setdiff1d(np.arange(wider.size), own)
        ends = np.cumsum([widths[i] for i in batch])
        for i, end in zip(batch, ends, strict=True):
            some = np.concatenate([own, new[end - widths[i] : end]])
            columns = torch.as_tensor(np.add.outer(np.arange(actions) * wider.size, some).ravel())
            is_new = (torch.arange(len(some)) >= len(own)).repeat(actions)
            gains[i] = max(model_gains(fit, restricted(point, columns), is_new))
    return gains


def restricted(point: Point, columns: Tensor) -> Point:
    """The point as one of some coefficients, the others zero."""
    return point._replace(
        theta=point.theta[columns],
        gradient=point.gradient[columns],
        information=point.information[columns][:, columns],
    )


def cells_beside(
    reward: Features, monomials: Tensor, rows: Rows, inputs: Inputs, group: tuple[float, ...]
) -> Block:
    """The cells of a group, and their regression on the monomials of r."""
    block = make_cells(reward.inputs, inputs, group)
    cells = block(rows.states)[:, len(block.terms) :]
    weighted = monomials * rows.seen[:, None]
    return block, solve(weighted.T @ monomials, weighted.T @ cells).numpy(force=True)


def fit_penalised(fit: RiskMinimum, wider: ObservationRisk) -> tuple[float, RiskMinimum]:
    """The fit in the wider class at REML's lambda, and what twice REML gains over infinity.

    lambda is that of the new functions; the penalty of the others does not change.
    """
    is_new = torch.ones(wider.reward.size, dtype=torch.bool)
    is_new[positions(fit.risk.reward, wider.reward)] = False
    is_new = is_new.repeat(len(wider.rows.estimated))
    old = with_zeros(fit.penalty, is_new)
    point, tried, best = extend(fit, wider), [], fit
    while True:
        gains = model_gains(fit, point, is_new)
        strength = float(LAMBDAS[int(np.argmax(gains))])
        if max(gains) <= LEAVES_FIXED_FORM:
            return max(gains), best
        has_converged = strength in tried
        tried.append(strength)
        if has_converged:
            strength = float(LAMBDAS[strength >= LAMBDAS][: UNDERSMOOTHING_STEPS + 1][-1])
        penalty = old + strength * is_new.double()
        best = minimise(wider, penalty, point.theta, point.zeta, best)
        if has_converged:
            return max(gains), best
        point = best.point


def with_zeros(penalty: Tensor, is_new: Tensor) -> Tensor:
    """(M,) a penalty, and 0 where functions are new."""
    wider = penalty.new_zeros(len(is_new))
    wider[~is_new] = penalty
    return wider


def model_gains(fit: RiskMinimum, point: Point, is_new: Tensor) -> list[float]:
    """What twice REML gains by new functions at each of LAMBDAS, the penalty of others as it is."""
    old = with_zeros(fit.penalty, is_new)
    return [reml_gain(point, is_new, old, strength) for strength in LAMBDAS]


def reml_gain(point: Point, is_new: Tensor, old: Tensor, strength: float) -> float:
    """Twice the restricted log-likelihood at lambda less that at infinity, by the quadratic model.

    The model of the NLL is its gradient and Fisher's information at the point; `old` is the penalty
    of the functions that are not new.
    """
    working = point.information @ point.theta - point.gradient
    information = point.information + torch.diag(old)  # its inverse times `working` is the minimum

    def criterion(matrix: Tensor, right: Tensor) -> float:
        return float(right @ solve(matrix, right) - torch.linalg.slogdet(matrix)[1])

    straight = criterion(information[~is_new][:, ~is_new], working[~is_new])
    curved = criterion(information + torch.diag(strength * is_new.double()), working)
    return curved + float(is_new.sum()) * float(np.log(strength)) - straight


def widened(
    fit: RiskMinimum,
    rows: Rows,
    inputs: Inputs,
    columns: Sequence[int],
    of_further: float = 0.0,
) -> RiskMinimum:
    """The minimum with further inputs in r and, of up to MOST_CROSSED inputs, terms of degree two.

    Intervals come from it: those of a class that the data chose take what was left out to be zero.

    Args:
        fit: of the chosen class.
        rows: the data, grouped by its inputs and `columns`.
        inputs: standardised.
        columns: what r may depend on.
        of_further: penalty of what the fit lacks.
    """
    reward, actions, size = (
        fit.risk.reward,
        len(fit.risk.rows.estimated),
        len(fit.risk.reward.terms),
    )
    new = [k for k in columns if k not in reward.inputs]
    every = range(len(reward.inputs) + len(new))
    terms: list[tuple[int, ...]] = [(i,) for i in every]
    if len(every) <= MOST_CROSSED:
        names = (*reward.inputs, *new)
        curved = [i for i in every if len(torch.unique(rows.states[:, names[i]])) > 2]
        terms += [*combinations(every, 2), *((i, i) for i in curved)]
    further = [term for term in terms if term not in reward.terms]
    if not further:
        return fit
    removed = np.zeros((len(further), reward.removed.shape[1]))
    unbounded = np.full(len(new), np.inf)
    wider = replace(
        reward,
        inputs=(*reward.inputs, *new),
        center=np.append(reward.center, inputs.center[new]),
        scale=np.append(reward.scale, inputs.scale[new]),
        frequencies=np.pad(reward.frequencies, ((0, len(new)), (0, 0))),
        low=np.append(reward.low, -unbounded),
        high=np.append(reward.high, unbounded),
        terms=(*reward.terms, *further),
        removed=np.concatenate([reward.removed, removed]),
    )

    def spread(values: Tensor, new: float) -> Tensor:
        table = values.reshape(actions, -1)
        added = torch.full((actions, len(further)), new).to(table)
        return torch.cat([table[:, :size], added, table[:, size:]], dim=1).reshape(-1)

    theta, penalty = spread(fit.point.theta, 0.0), spread(fit.penalty, of_further)
    same = fit.risk.with_reward(wider)
    risk = replace(same, rows=rows) if new else same
    return minimise(risk, penalty, theta, fit.point.zeta, fit)


def with_all_cells(fit: RiskMinimum, inputs: Inputs) -> RiskMinimum:
    """The minimum with a cell for each value of a column that has few, by the penalty OF_CELL.

    Of any other column the ends are cells. Intervals come from it: r may jump where a curve does
    not, and that no test finds a jump does not show that there is none.
    """
    columns, actions = fit.risk.reward.inputs, len(fit.risk.rows.estimated)
    values = {k: np.unique(inputs.sample[:, k]) for k in columns}
    few = {k for k in columns if 2 < len(values[k]) <= FEW_VALUES}
    groups = [(k, *values[k].tolist()) for k in sorted(few)]
    groups += [end for end in inputs.ends(columns) if end[0] not in few]
    if not groups:
        return fit
    theta, penalty = (one.reshape(actions, -1) for one in (fit.point.theta, fit.penalty))
    reward, rows = fit.risk.reward, fit.risk.rows
    monomials = reward(rows.states)[:, : len(reward.terms)]
    for group in groups:
        reward = reward.with_block(*cells_beside(reward, monomials, rows, inputs, group))
        new = theta.new_zeros((actions, len(group) - 1))
        theta, penalty = torch.cat([theta, new], dim=1), torch.cat([penalty, new + OF_CELL], dim=1)
    wider = fit.risk.with_reward(reward)
    return minimise(wider, penalty.reshape(-1), theta.reshape(-1), fit.point.zeta, fit)


def ridge_shift(fit: RiskMinimum) -> Tensor:
    """(M,) what theta moves by where zeta has SHARE of its ridge.

    It is of the size of what the ridge and the choice of it add to the error of theta.
    """
    risk = fit.risk.with_share_of_ridge(SHARE)
    other = minimise(risk, fit.penalty, fit.point.theta, risk.regress(fit.v), fit)
    return other.point.theta - fit.point.theta


def reward_inputs(reward: Features) -> tuple[int, ...]:
    """The inputs on which r depends."""
    positions = {i for term in reward.terms for i in term}
    positions |= set(np.flatnonzero(np.any(reward.frequencies != 0, axis=1)).tolist())
    positions |= {i for cells, _ in reward.cells for i in cells}
    return tuple(sorted(reward.inputs[i] for i in positions))
