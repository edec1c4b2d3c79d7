"""What `gladius.fit` returns: an Estimate with its data, standard errors and a summary to read.

Standard errors are those of `inference`, for methods with a parametric reward on counts (nfxp,
ccp, mpec). Any method has those of a bootstrap over trajectories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2, norm

from gladius.anchor import Anchor
from gladius.baselines import METHODS
from gladius.checks import Array, InputError, check_choice, check_whole
from gladius.estimate import Estimate
from gladius.inference import KINDS, covariance
from gladius.linear_reward import LinearReward
from gladius.parametric import Model, make_model
from gladius.transitions import Transitions

WITH_ERRORS = ("nfxp", "ccp", "mpec")
BATCH = 20  # refits that are in memory together


@dataclass(frozen=True)
class Results(Estimate):
    """An Estimate that knows what it was fitted to.

    Attributes:
        data: the observations.
        anchor: the action whose reward is given.
        discount: beta.
        options: of the method.
        name: of the method in the register.
    """

    data: Transitions
    anchor: Anchor
    discount: float
    options: Mapping[str, Any]
    name: str

    def __repr__(self) -> str:
        """One line: method, status, observations."""
        run = self.diagnostics
        return f"<{self.method}: {run.status}, {len(self.data):,} observations, nll {run.nll:.4f}>"

    @property
    def params(self) -> pd.Series:
        """theta-hat by the name of each parameter."""
        if "theta" not in self.diagnostics.extra:
            raise InputError("method", self.name, "it has no parameters: see `reward`")
        theta = np.asarray(self.diagnostics.extra["theta"], dtype=float)
        form = self.options.get("reward")
        names = form.names if isinstance(form, LinearReward) and form.names else None
        index = names or [f"theta_{i}" for i in range(len(theta))]
        if len(index) != len(theta):
            hint = f"give {len(theta)} names, one for each parameter"
            raise InputError("reward.names", index, hint)
        return pd.Series(theta, index=pd.Index(index))

    @property
    def model(self) -> Model:
        """The grid and the form that it was fitted with."""
        if self.name not in WITH_ERRORS:
            hint = f"standard errors are for {', '.join(WITH_ERRORS)}: use `bootstrap`"
            raise InputError("method", self.name, hint)
        given = (self.options.get(name) for name in ("reward", "transition"))
        return make_model([self.data], self.anchor, self.discount, *given)

    def cov(self, kind: str = "model") -> pd.DataFrame:
        """The covariance of theta-hat; the noise of estimated transition probabilities is in it.

        Args:
            kind: `model`: independent observations of the model; `cluster`: sums over
                trajectories, whose observations may depend on one another; `outer`: the outer
                product of scores, without the noise of transition probabilities.
        """
        check_choice("kind", kind, KINDS)
        params, model = self.params, self.model
        matrix = covariance(model, self.q_function(model.states), self.data, kind)
        return pd.DataFrame(matrix, index=params.index, columns=params.index)

    def to_frame(self, level: float = 0.95, kind: str = "model") -> pd.DataFrame:
        """Estimate, standard error, z, p-value and interval of each parameter."""
        if not 0 < level < 1:
            raise InputError("level", level, "give a probability, such as 0.95")
        params, se = self.params, np.sqrt(np.diag(self.cov(kind)))
        z, half = params / se, norm.ppf((1 + level) / 2) * se
        columns = {"estimate": params, "se": se, "z": z, "p": 2 * norm.sf(np.abs(z))}
        return pd.DataFrame(columns | {"low": params - half, "high": params + half})

    def conf_int(self, level: float = 0.95, kind: str = "model") -> pd.DataFrame:
        """The ends of the interval of each parameter."""
        return self.to_frame(level, kind)[["low", "high"]]

    def to_latex(self, level: float = 0.95, kind: str = "model") -> str:
        """`to_frame` as a tabular with booktabs rules."""
        table: str = self.to_frame(level, kind).to_latex(float_format="%.4g")
        return table

    def summary(self, level: float = 0.95, kind: str = "model") -> str:
        """One screen: the fit, and where there are standard errors the parameters."""
        run, names = self.diagnostics, np.unique(self.data.trajectory)
        beta, a = self.discount, self.anchor.action
        lines = [
            f"{self.method}: {run.status}",
            f"{len(self.data):,} observations, {len(names):,} trajectories, discount {beta:g},"
            f" anchor action {a}",
            f"log-likelihood {-run.nll * len(self.data):,.3f}, {run.iterations} iterations",
        ]
        if self.name in WITH_ERRORS:
            frame = self.to_frame(level, kind)
            lines += ["", frame.to_string(float_format=lambda x: f"{x:.4g}")]
            lines.append(f"Standard errors: {kind}. Interval: {level:.0%}.")
        elif "theta" in run.extra:
            lines += ["", self.params.to_string(float_format=lambda x: f"{x:.4g}")]
        return "\n".join(lines)

    def reward_errors(self, states: Array, kind: str = "model") -> Array:
        """(n, A) standard errors of r-hat at (n, d) features; 0 where the form has no parameter."""
        design, _ = self.model.form.tables(self._check(states), self.data.number_of_actions)
        variance = np.einsum("nak,kl,nal->na", design, self.cov(kind).to_numpy(), design)
        return np.asarray(np.sqrt(variance))

    def wald(self, restrictions: Array, values: Array | float = 0.0, kind: str = "model") -> float:
        """The p-value of R theta = values, for a matrix R with a row for each restriction."""
        matrix = np.atleast_2d(np.asarray(restrictions, dtype=float))
        if matrix.shape[1] != len(self.params):
            hint = f"give {len(self.params)} numbers a row, one for each parameter"
            raise InputError("restrictions", matrix.shape, hint)
        gap = matrix @ self.params.to_numpy() - values
        spread = matrix @ self.cov(kind).to_numpy() @ matrix.T
        return float(chi2.sf(gap @ np.linalg.solve(spread, gap), len(matrix)))

    def bootstrap(
        self,
        statistic: Callable[[Estimate], Array] | None = None,
        draws: int = 200,
        rng: int | np.random.Generator = 0,
    ) -> Array:
        """(draws, ...) a statistic of refits to trajectories drawn with replacement.

        Its standard deviation over draws is a standard error, for every method.

        Args:
            statistic: of an Estimate, such as `lambda e: e.reward(states, 0)`; by default theta.
            draws: number of refits.
            rng: a seed or a generator.
        """
        generator = np.random.default_rng(rng)
        names, label = np.unique(self.data.trajectory, return_inverse=True)
        if len(names) < 2:
            raise InputError("trajectory", len(names), "a bootstrap needs two trajectories or more")
        rows_of = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1])
        fit = import_module(METHODS[self.name]).fit
        found = []
        for start in range(0, check_whole("draws", draws, 2), BATCH):
            samples = []
            for _ in range(min(BATCH, draws - start)):
                drawn = [rows_of[j] for j in generator.integers(len(names), size=len(names))]
                new = np.repeat(np.arange(len(names)), [len(rows) for rows in drawn])
                samples.append(replace(self.data.take(np.concatenate(drawn)), trajectory=new))
            found += fit(samples, self.anchor, self.discount, **self.options)
        if statistic is None:
            assert len(self.params)  # an InputError where there are none
            return np.array([estimate.diagnostics.extra["theta"] for estimate in found])
        return np.array([statistic(estimate) for estimate in found])

    def _check(self, states: Array | pd.DataFrame) -> Array:
        """Columns of a data frame by their names; other arrays as they are."""
        if isinstance(states, pd.DataFrame):
            names = list(self.data.feature_names)
            missing = [name for name in names if name not in states.columns]
            if missing:
                raise InputError("states", list(states.columns), f"give the columns {names}")
            states = states[names].to_numpy()
        return super()._check(np.ascontiguousarray(states))
