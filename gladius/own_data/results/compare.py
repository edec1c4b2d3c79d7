"""Fits side by side: parameters with standard errors, fit statistics, held-out scores.

The difference of two fits' held-out log-likelihoods is taken choice by choice, so that what both
find hard cancels. Its interval is over trajectories, given the fits: it does not have the noise of
the samples that they were fitted to, which for cross-validation makes it somewhat too narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from gladius.model.parametric import FormBasis
from gladius.own_data.results import choices
from gladius.own_data.results.inference import Kind, groups_of, in_words, sum_of_squares
from gladius.own_data.results.results import Results, half_width
from gladius.own_data.results.weights import of_rows
from gladius.panel.record import Transitions
from gladius.validate import Array, InputError

COUNTS = ("observations", "trajectories", "parameters")  # statistics that are whole numbers


@dataclass(frozen=True)
class Comparison:
    """Several fits side by side, a column each.

    Attributes:
        params: theta-hat, a row for each parameter of some fit; NaN where a fit has it not.
        std_errors: likewise.
        statistics: observations, log-likelihood and so on; NaN where one has no meaning.
        status: of each fit.
        differences: held-out score a choice of each further fit less that of the first, with
            standard error, interval and p-value; None where no held-out data were asked for.
        kind: of the standard errors.
    """

    params: pd.DataFrame
    std_errors: pd.DataFrame
    statistics: pd.DataFrame
    status: pd.Series
    differences: pd.DataFrame | None
    kind: Kind

    @property
    def table(self) -> pd.DataFrame:
        """What is printed: estimates over standard errors in brackets, and the statistics."""
        blocks, gap = [], self.params.isna()
        estimates = self.params.map("{:.4g}".format).mask(gap, "")
        errors = self.std_errors.map("({:.3g})".format).mask(self.std_errors.isna(), "")
        for name in self.params.index:
            blocks += [estimates.loc[[name]], errors.loc[[name]].rename({name: ""})]
        blocks.append(self.status.to_frame("status").T)
        for name, row in self.statistics.iterrows():
            form = "{:,.0f}" if name in COUNTS else "{:,.4f}" if abs(row.max()) < 10 else "{:,.1f}"
            blocks.append(row.map(form.format).mask(row.isna(), "").to_frame(name).T)
        return pd.concat(blocks)

    def __str__(self) -> str:
        lines = [self.table.to_string()]
        if len(self.params):
            lines.append(f"Standard errors in brackets: {in_words(self.kind)}.")
        if self.differences is not None:
            first = self.status.index[0]
            lines += ["", f"Held-out log-likelihood a choice, less that of {first}:"]
            lines.append(self.differences.to_string(float_format=lambda x: f"{x:.3g}"))
        return "\n".join(lines)

    def __repr__(self) -> str:
        """As it is printed."""
        return str(self)

    def _repr_html_(self) -> str:
        """The table for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_latex(self) -> str:
        """`table` as a tabular with booktabs rules."""
        text: str = self.table.to_latex()
        return text


def compare(
    fits: Mapping[str, Results] | Sequence[Results],
    *,
    data: Transitions | Sequence[Transitions] | None = None,
    cv: int | None = None,
    rng: int = 0,
    level: float = 0.95,
    kind: Kind = "model",
    verbose: bool | None = None,
) -> Comparison:
    """Fits side by side; with `data` or `cv`, paired differences of held-out scores too.

    Args:
        fits: Results by the name of each column, or a list of them.
        data: choices that no fit has seen; or the same ones for each fit, as its state has them.
        cv: number of folds of trajectories, on which each fit is refitted and scored.
        rng: a seed that shuffles the trajectories; the folds are the same for each fit.
        level: of the intervals.
        kind: of the standard errors, as in `Results.cov`.
        verbose: as in `gladius.fit`.

    AIC and BIC are of fits that maximise the likelihood over parameters: nfxp and mpec.

    Raises:
        InputError: the fits are not of the same choices, as held-out scores need.
    """
    found = _named(fits)
    scores: dict[str, Array] | None = None
    rows = [fit.data for fit in found.values()]
    if data is not None and cv is not None:
        raise InputError("cv", cv, "give data, or a number of folds, and not both")
    if data is not None:
        given = [data] * len(found) if isinstance(data, Transitions) else list(data)
        if len(given) != len(found):
            hint = f"give one data set, or one for each of {len(found)} fits"
            raise InputError("data", len(given), hint)
        pairs = zip(found.values(), given, strict=True)
        rows = [choices.checked(fit, one) for fit, one in pairs]
        _check_same("data", rows)
        pairs_of = zip(found.items(), rows, strict=True)
        scores = {name: fit.score_samples(one) for (name, fit), one in pairs_of}
    elif cv is not None:
        _check_same("fits", rows)
        scores = {name: choices.held_out(fit, cv, rng, verbose)[0] for name, fit in found.items()}
    columns = {name: _column(fit, kind) for name, fit in found.items()}
    params, errors, statistics = (
        pd.DataFrame({name: column[i] for name, column in columns.items()}) for i in range(3)
    )
    order = list(dict.fromkeys(label for fit in columns.values() for label in fit[0].index))
    differences = None
    if scores is not None:
        fit_weights = [
            of_rows(one, fit.weights) for one, fit in zip(rows, found.values(), strict=True)
        ]
        if not all(np.array_equal(one, fit_weights[0]) for one in fit_weights):
            raise InputError("weights", list(found), "give fits with the same weights")
        means = {name: np.average(each, weights=fit_weights[0]) for name, each in scores.items()}
        statistics.loc["held-out score"] = means
        differences = _differences(scores, rows[0], fit_weights[0], level)
    status = pd.Series({name: fit.diagnostics.status for name, fit in found.items()})
    frames = params.reindex(order), errors.reindex(order), statistics
    return Comparison(*frames, status, differences, kind)


def _named(fits: Mapping[str, Results] | Sequence[Results]) -> dict[str, Results]:
    """The fits by name: their methods', with a number where several have one."""
    given: list[Any] = list(fits.values()) if isinstance(fits, Mapping) else list(fits)
    if len(given) < 2 or not all(isinstance(fit, Results) for fit in given):
        hint = "give two Results or more, in a list or by name"
        raise InputError("fits", [type(fit).__name__ for fit in given], hint)
    if isinstance(fits, Mapping):
        return dict(fits)
    methods = [fit.method for fit in given]
    labels = [
        f"{name} ({i + 1})" if methods.count(name) > 1 else name for i, name in enumerate(methods)
    ]
    return dict(zip(labels, given, strict=True))


def _column(fit: Results, kind: Kind) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Estimates, standard errors and statistics of a fit."""
    params, errors = pd.Series(dtype=float), pd.Series(dtype=float)
    is_failed = fit.diagnostics.status.startswith("failed")
    if "theta" in fit.diagnostics.extra:
        params = fit.params
        if fit.has_parameter_errors and not is_failed:
            errors = fit.to_frame(kind=kind)["se"]
    basis, nan = fit.basis, np.nan
    is_likelihood = isinstance(basis, FormBasis) and basis.is_likelihood and fit.weights is None
    return (
        params,
        errors,
        pd.Series(
            {
                "observations": fit.nobs,
                "trajectories": len(np.unique(fit.data.trajectory)),
                "parameters": len(params) or nan,
                "log-likelihood": fit.llf,
                "a choice": fit.score(),
                "pseudo R2": fit.prsquared,
                "AIC": fit.aic if is_likelihood else nan,
                "BIC": fit.bic if is_likelihood else nan,
            },
            dtype=float,
        ),
    )


def _check_same(field: str, rows: Sequence[Transitions]) -> None:
    """Raise where data sets are not the same choices of the same trajectories."""
    for one in rows[1:]:
        names = "actions", "trajectory"
        if not all(np.array_equal(getattr(one, n), getattr(rows[0], n)) for n in names):
            hint = "held-out scores are compared choice by choice: give the same rows to all fits"
            raise InputError(field, [repr(rows[0]), repr(one)], hint)


def _differences(
    scores: Mapping[str, Array], data: Transitions, weights: Array, level: float
) -> pd.DataFrame:
    """Each further fit's (n,) log-likelihoods less the first's: mean, error, interval, p-value."""
    width, label = half_width(level), groups_of(data, "id")
    base, *others = scores
    lines = {}
    for name in others:
        gain = scores[name] - scores[base]
        mean = float(np.average(gain, weights=weights))
        each = (weights * (gain - mean))[:, None] / weights.sum()
        se = float(np.sqrt(sum_of_squares(each, label)[0, 0]))
        p = 2 * norm.sf(np.abs(mean / se)) if se > 0 else np.nan
        lines[name] = [mean, se, mean - width * se, mean + width * se, p]
    columns = ["difference", "se", "low", "high", "p"]
    return pd.DataFrame.from_dict(lines, orient="index", columns=columns)
