"""Whether a fit on rows is to be trusted: the inputs it leaves out, its choices, its size.

The inputs that no test chose are held against it by the scores of their linear terms, all together;
every input, chosen or not, by how often each action was taken in bins of it. Both take one pass
over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import chdtrc, chdtri
from torch import Tensor

from gladius.checks import Array
from gladius.estimate import FAR_OFF
from gladius.rows import Minimum
from gladius.screen import FALSE_SHARE, TESTS, Inputs

BINS = 20  # of an input, in which choices are held against the fit
GRID = 1024  # steps from below the first edge to above the last, to which edges are rounded
ROUNDING = 1e-9  # of a standardised input: nearer values are the same
MISFIT = 1e-4  # of chi-square a row, about .03 of log-odds
LEAST_DOUBT = 1e-4  # mean of 1 - sum pi^2; below it the choices are all but certain, r anything
ROWS_EACH = (
    10  # rows for each coefficient of r, and of the rarest action for each monomial, or not ok
)


class LeftOut(NamedTuple):
    """The inputs that no test chose, and what their scores say.

    Attributes:
        inputs: K' of them.
        p_value: of all their scores together.
        variance: (A - 1,) of their coefficients per standard deviation, by moments.
        detectable: the coefficient per standard deviation of one more input that the screen would
            find in half of all data sets, for the action where this is hardest.
    """

    inputs: tuple[int, ...]
    p_value: float
    variance: Array
    detectable: float


def examine(
    fit: Minimum, scaling: Inputs, actions: Tensor, chosen: int
) -> tuple[LeftOut, tuple[int, ...]]:
    """What the inputs left out say, and the inputs, any of all, along which choices do not fit.

    Args:
        fit: without the inputs that are left out.
        scaling: all inputs.
        actions: (n,) of the rows.
        chosen: how many inputs the screen of the choices chose.
    """
    rows, bins = fit.risk.rows, Bins.of(scaling)
    policy = torch.softmax(fit.risk.q(fit.risk.block, fit.point.theta, fit.point.zeta), dim=1)
    policy = policy[:, rows.others]
    information = rows.visits.sum(dim=1) @ (policy * (1 - policy))
    score = policy.new_zeros((scaling.states.shape[1], len(rows.others)))
    sums = policy.new_zeros((2, len(rows.others), BINS * len(score)))
    for part, z in scaling.chunks():
        expected = policy[rows.place[part]]
        taken = torch.stack([actions[part] == a for a in rows.others], dim=1)
        errors = taken.double() - expected
        score += z.T @ errors
        bins.add(z, torch.stack([errors, expected * (1 - expected)]), sums)
    rest = left_out(fit, scaling, score.cpu(), information.cpu(), chosen)
    return rest, misfits(sums, len(scaling.states))


class Bins(NamedTuple):
    """BINS of each of K inputs, equally full but for rounding to GRID.

    An input that is constant in most rows has the others apart, on either side of that value.

    Attributes:
        low: (K, 1) the first edge.
        step: (K, 1) from one point of the grid to the next.
        table: (K GRID,) the bin at each point of an input's grid, the first of which stands for
            what is below the edges, the second for the first edge and the last for what is above.
    """

    low: Tensor
    step: Tensor
    table: Tensor

    @classmethod
    def of(cls, scaling: Inputs) -> Bins:
        """By the quantiles of the sample of rows."""
        sample = (scaling.sample - scaling.center) / scaling.scale
        inner = np.quantile(sample, np.arange(1, BINS) / BINS, axis=0, method="inverted_cdf")
        edges = torch.tensor(inner.T.copy(), device=scaling.device)
        low = edges[:, :1]
        least = ROUNDING * (1 + low.abs())  # where all edges are equal
        step = torch.maximum((edges[:, -1:] - low) / (GRID - 3), least)
        points = low + step * (torch.arange(GRID, device=low.device) - 1.5)
        points[:, 1:2] = low
        below, upto = (torch.searchsorted(edges, points, right=after) for after in (False, True))
        first = BINS * torch.arange(len(edges), device=low.device)[:, None]
        return cls(low, step, ((below + upto) // 2 + first).flatten())

    def add(self, z: Tensor, weights: Tensor, sums: Tensor) -> None:
        """Add (w, n, m) weights of rows with (n, K) inputs to (w, m, K BINS) sums over the bins."""
        start = GRID * torch.arange(len(self.low), dtype=torch.int32, device=z.device)[:, None]
        point = ((z.T - self.low) / self.step).ceil_().add_(1).clamp_(0, GRID - 1).int() + start
        place = self.table.index_select(0, point.flatten())
        for total, weight in zip(sums, weights, strict=True):
            for part, values in zip(total, weight.T, strict=True):
                every = values.expand(len(point), -1).flatten()
                part += torch.bincount(place, every, minlength=len(part))


def left_out(
    fit: Minimum, scaling: Inputs, score: Tensor, information: Tensor, chosen: int
) -> LeftOut:
    """Score tests of the inputs that are left out: each one-step coefficient is delta = U / I.

    Args:
        fit: without them.
        scaling: all inputs.
        score: (K, A - 1) U.
        information: (A - 1,) I.
        chosen: how many inputs the screen of the choices chose.
    """
    width, others = score.shape
    rest = [k for k in range(width) if k not in fit.risk.used]
    level = FALSE_SHARE * (1 + chosen) / (TESTS * others * width)  # of the next discovery
    bar = float(chdtri(1, min(1.0, level)))
    detectable = float(torch.sqrt(bar / information).max())
    if not rest:
        return LeftOut((), 1.0, np.zeros(others), detectable)
    delta = score[rest] / information
    statistic = float((delta**2 * information).sum())
    sample = scaling.sample[:, rest]
    varies = sample.std(axis=0) > 0
    together = np.corrcoef(sample[:, varies], rowvar=False) if varies.sum() > 1 else np.eye(1)
    count = float(varies.sum())
    squares = max(count, np.sum(together**2) - count * (count - 1) / len(sample))
    freedom = others * count**2 / squares  # Satterthwaite's, for correlated scores
    p_value = float(chdtrc(freedom, statistic * count / squares)) if count else 1.0
    variance = np.maximum((delta**2 - 1 / information).mean(dim=0).numpy(), 0.0)
    return LeftOut(tuple(rest), p_value, variance, detectable)


def misfits(sums: Tensor, rows: int) -> tuple[int, ...]:
    """The inputs, chosen or not, along which the choices do not fit, by far.

    In BINS of an input the choices less what the fit expects are squared over their variance. The
    sum is compared with a chi-square of as many degrees of freedom; it must also be MISFIT a row,
    lest ten million rows find fault with what does not matter.

    Args:
        sums: (2, A - 1, K BINS) of those errors over the bins, and their variances.
        rows: n.
    """
    left, variance = sums.reshape(2, sums.shape[1], -1, BINS)
    statistic = (left**2 / variance.clamp_min(1e-300)).sum(dim=(0, 2)).cpu().numpy()
    freedom = BINS * sums.shape[1]
    bar = max(freedom + FAR_OFF * np.sqrt(2 * freedom), MISFIT * rows)
    return tuple(int(k) for k in np.flatnonzero(statistic > bar))


def faults(fit: Minimum, converged: bool, settled: bool, misfit: Sequence[int]) -> tuple[str, ...]:
    """Why the fit is not to be trusted, in words; nothing where it is.

    Args:
        fit: the last.
        converged: whether its solver met its stopping rule.
        settled: whether the choice of zeta's inputs did.
        misfit: inputs along which choices are far from the fit.
    """
    risk, rows, point = fit.risk, fit.risk.rows, fit.point
    total = float(rows.visits.sum())
    policy = torch.softmax(risk.q(risk.block, point.theta, point.zeta), dim=1)
    doubt = float(rows.visits.sum(dim=1) @ (1 - (policy**2).sum(dim=1))) / total
    even_odds = total * float(np.log(len(rows.actions))) * (1 + 1e-9)  # a fit that is worse is none
    rarest = float(rows.visits.sum(dim=0).min())
    told = {
        "the steps did not converge": not converged,
        "the steps that chose the form of r did not converge": not fit.is_sound,
        "the choice of zeta's inputs did not settle": not settled,
        "choices are far from the fit along misfit_inputs": bool(misfit),
        "too few rows for the coefficients of r": total < ROWS_EACH * risk.free,
        "an action is too rare": rarest < ROWS_EACH * len(risk.reward.terms),
        "choices are all but certain": doubt <= LEAST_DOUBT,
        "choices are less likely than even odds": not point.nll <= even_odds,
    }
    return tuple(fault for fault, is_so in told.items() if is_so)
