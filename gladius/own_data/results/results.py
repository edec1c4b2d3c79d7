"""What `gladius.fit` returns: an Estimate with its data, standard errors and a summary to read.

A method hands its standard errors over; any method has those of a bootstrap over trajectories.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import chi2, norm

from gladius.model.estimate import Estimate, Refit
from gladius.model.mdp import Categorical
from gladius.model.parametric import FormBasis, positions
from gladius.model.reward_form import FORBIDDEN, LinearReward
from gladius.model.state_anchor import Exchange
from gladius.own_data.formula import read_restrictions
from gladius.own_data.frame import features
from gladius.own_data.results import choices
from gladius.own_data.results.inference import (
    Errors,
    FormErrors,
    Kind,
    errors_of,
    groups_of,
    read_kind,
)
from gladius.own_data.results.progress import progress
from gladius.own_data.results.saved import save
from gladius.own_data.results.summary import text_of
from gladius.own_data.results.weights import fits_with_weights, grid_of, of_rows
from gladius.panel.anchor import Anchor
from gladius.panel.moves import dense
from gladius.panel.record import Transitions, distinct_rows, grid_positions
from gladius.register import METHODS
from gladius.solvers.threads import one_thread
from gladius.validate import (
    ROW_SUM_TOLERANCE,
    Array,
    InputError,
    Integers,
    asked,
    check_choice,
    check_discount,
    check_finite,
    check_whole,
    generator,
)

COLUMNS = (
    "before",
    "after",
    "action",
    "label",
    "observations",
    "reward",
    "se",
    "low",
    "high",
    "q",
    "probability",
)
Labels = Integers | int | str | Sequence[str]
SOLVER_GAP = 1e-9  # nats an observation by which two solvers may end apart
MARGIN = 0.1  # of a feature's range, by which a test set may exceed it without a word
BATCH, ROWS = 20, 300_000  # refits, and observations of more than one, in memory together


class NotGivenError(InputError, AttributeError):
    """Raised for what this fit does not offer. It is an AttributeError: `hasattr` is False."""


@dataclass(frozen=True)
class Results(Estimate):
    """An Estimate that knows what it was fitted to.

    Attributes:
        data: the observations.
        anchor: the action whose reward is given.
        discount: beta.
        options: of the method.
        name: of the method in the register.
        exchange: of actions, where the numbers of the basis are exchanged.
        weights: name of the carried column with sampling weights, if the fit has some.
    """

    data: Transitions
    anchor: Anchor
    discount: float
    options: Mapping[str, Any]
    name: str
    exchange: Exchange | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        check_discount(self.discount)  # of a file, too
        check_choice("name", self.name, METHODS)

    def __repr__(self) -> str:
        """One line: method, status, observations."""
        run = self.diagnostics
        return f"<{self.method}: {run.status}, {len(self.data):,} observations, nll {run.nll:.4f}>"

    @property
    def params(self) -> pd.Series:
        """theta-hat by the name of each parameter."""
        if "theta" not in self.diagnostics.extra:
            raise NotGivenError("method", self.name, "it has no parameters: see `reward_frame()`")
        theta = np.asarray(self.diagnostics.extra["theta"], dtype=float)
        form = self.options.get("reward")
        names = form.names if isinstance(form, LinearReward) and form.names else None
        index = names or [f"theta_{i}" for i in range(len(theta))]
        if len(index) != len(theta):
            hint = f"give {len(theta)} names, one for each parameter"
            raise InputError("reward.names", index, hint)
        return pd.Series(theta, index=pd.Index(index))

    @property
    def has_parameter_errors(self) -> bool:
        """Whether there are standard errors of theta-hat."""
        return self._errors is not None and self._errors.has_parameters

    @property
    def has_frequencies(self) -> bool:
        """Whether theta-hat rests on frequencies of the transitions of each state and action."""
        basis = self._basis
        return isinstance(basis, FormBasis) and basis.model.transition_model is None

    @property
    def has_reward_errors(self) -> bool:
        """Whether there are standard errors of r-hat."""
        return self._errors is not None

    @property
    def form_errors(self) -> FormErrors:
        """The errors of theta-hat, with the grid and the form that it was fitted with."""
        if not isinstance(self._errors, FormErrors):
            hint = "it has no standard errors of parameters: use `bootstrap`"
            raise NotGivenError("method", self.method, hint)
        return self._errors

    @property
    def _basis(self) -> object:
        """What the method handed over; that of a loaded fit comes from a refit."""
        if isinstance(self.basis, Refit):
            (again,) = self._refits([self.data], self._options)
            object.__setattr__(self, "basis", again and again.basis)
        return self.basis

    @property
    def _errors(self) -> Errors | None:
        return errors_of(self) if self._basis else None

    @property
    def _options(self) -> dict[str, Any]:
        """The options of a refit."""
        options = {name: value for name, value in self.options.items() if name != "start"}
        if self.method in ("profiled_erm smooth", "profiled_erm sparse"):
            options["function_class"] = self.method.split()[1]
        return options

    def cov(self, kind: Kind = "model") -> pd.DataFrame:
        """The covariance of theta-hat; the noise of estimated transition probabilities is in it.

        Args:
            kind: `model`: independent observations, with sampling weights as `robust`; `robust`:
                squares of what each observation adds, whatever its choice probabilities; `cluster`:
                sums over trajectories; `outer`:
                outer product of scores, without the noise of transition probabilities. Groups of
                other columns are {"cluster": "market"}, or two-way {"cluster": ["id", "market"]}:
                a column of the state, one that `from_frame` was asked to carry, or `id`.
        """
        read_kind(kind, self.data)
        if self.diagnostics.status.startswith("failed"):
            hint = f"{self.diagnostics.status}: a failed fit has no standard errors"
            raise NotGivenError("status", self.diagnostics.status.partition(":")[0], hint)
        params, matrix = self.params, self.form_errors.cov(kind, self.data)
        return pd.DataFrame(matrix, index=params.index, columns=params.index)

    def shift_by_frequencies(self, *, is_borrowed: bool = False) -> pd.Series:
        """How far the noise of estimated transition probabilities moves theta-hat, in its errors.

        It is the bias to second order, were P-hat the truth. With many observed moves it is an
        approximation, in which moves are joined by signs of a fixed seed.

        Args:
            is_borrowed: take the noise of one observation in each pair of a state and an action
                that was never followed, and no other. The answer is then a standard deviation.

        With `finite_dependence` the errors that it is measured in are those of maximum likelihood.
        """
        return self._shifts()["borrowed" if is_borrowed else "noise"]

    def _shifts(self) -> pd.DataFrame:
        """By parameter, the shift by the noise of frequencies and the spread by borrowed rows."""
        basis = self._basis
        if not isinstance(basis, FormBasis) or not self.has_frequencies:
            hint = "it is for a form, with frequencies of transitions: without `transition`"
            raise InputError("method", self.name, hint)
        theta = np.asarray(self.diagnostics.extra["theta"], dtype=float)
        q = basis.q or self.q_function
        shifts = FormErrors(basis, q).shifts(theta)
        # a method on cells has a parameter for each, which no name of the form is for
        names = [f"theta_{i}" for i in range(len(theta))] if basis.q else self.params.index
        return pd.DataFrame(shifts.T, index=names, columns=["noise", "borrowed"])

    cov_params = cov

    @property
    def nobs(self) -> int:
        """Number of observations."""
        return len(self.data)

    @property
    def llf(self) -> float:
        """Log-likelihood of the choices."""
        return -self.diagnostics.nll * len(self.data)

    @property
    def aic(self) -> float:
        """Akaike's criterion: twice the number of parameters less twice `llf`."""
        self._check_likelihood()
        return 2.0 * len(self.params) - 2.0 * self.llf

    @property
    def bic(self) -> float:
        """Schwarz's criterion: parameters times log `nobs`, less twice `llf`."""
        self._check_likelihood()
        return float(len(self.params) * np.log(self.nobs)) - 2.0 * self.llf

    def _check_likelihood(self) -> None:
        """Raise where sampling weights make `llf` no likelihood."""
        if self.weights is not None:
            hint = "a sum of weighted log-likelihoods is no likelihood: compare `cross_val_score`"
            raise NotGivenError("weights", self.weights, hint)

    @property
    def llnull(self) -> float:
        """Log-likelihood of the choices by their shares in the data, whatever the state."""
        shares = np.bincount(self.data.actions, of_rows(self.data, self.weights)) / len(self.data)
        return float(len(self.data) * np.sum(xlogy(shares, shares)))

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R2, 1 - `llf` / `llnull`."""
        return 1.0 - self.llf / self.llnull

    @property
    def resid_response(self) -> pd.DataFrame:
        """(n, A) residuals of the choices: 1 for the action chosen, else 0, less its probability.

        Rows are in the order of `data`.
        """
        return choices.response_residuals(self)

    @property
    def resid_pearson(self) -> pd.DataFrame:
        """(n, A) `resid_response` over the standard deviation of each choice by the fit."""
        policy = self.policy(self.data.states)
        return self.resid_response.div(np.sqrt(policy * (1 - policy)))

    def pred_table(self, data: Transitions | None = None) -> pd.DataFrame:
        """The hit table: choices by the action observed (rows) and the likeliest one (columns).

        Args:
            data: by default those of the fit.
        """
        return choices.hit_table(self, self._given(data))

    def score_samples(self, data: Transitions | None = None) -> Array:
        """(n,) log-likelihood of each choice.

        Args:
            data: by default those of the fit.

        Warns:
            UserWarning: a state lies far outside those of the fit, which has no form of r.
        """
        return choices.log_likelihoods(self, self._given(data))

    def score(self, data: Transitions | None = None) -> float:
        """The mean log-likelihood of a choice; of data that the fit has not seen it compares fits.

        Args:
            data: by default those of the fit.

        Warns:
            UserWarning: a state lies far outside those of the fit, which has no form of r.
        """
        rows = self._given(data)
        weights = of_rows(rows, self.weights)
        return float(np.average(choices.log_likelihoods(self, rows), weights=weights))

    def cross_val_score(
        self, cv: int = 5, rng: int | np.random.Generator = 0, *, verbose: bool | None = None
    ) -> Array:
        """(cv,) `score` of each fold of trajectories by a refit to the other folds.

        Args:
            cv: number of folds. Trajectories are never split between them.
            rng: a seed or a generator that shuffles the trajectories.
            verbose: as in `gladius.fit`.

        Warns:
            UserWarning: refits that are not ok; the score of one that failed is NaN.
        """
        with one_thread(self.data.states):
            values, fold = choices.held_out(self, cv, rng, verbose)
        weights = of_rows(self.data, self.weights)
        means = (np.average(values[fold == k], weights=weights[fold == k]) for k in range(cv))
        return np.array(list(means))

    def _given(self, data: Transitions | None) -> Transitions:
        """Other data than the fit's, whose states it can be asked for; or the fit's own."""
        found = choices.checked(self, data)
        if data is not None:
            self._warn_of_extrapolation(found.states, stacklevel=4)
        return found

    @property
    def bse(self) -> pd.Series:
        """Standard errors of theta-hat."""
        return self.to_frame()["se"]

    @property
    def tvalues(self) -> pd.Series:
        """theta-hat in standard errors; their distribution is normal."""
        return self.to_frame()["z"]

    @property
    def pvalues(self) -> pd.Series:
        """Two-sided p-values of parameters that are zero."""
        return self.to_frame()["p"]

    def to_frame(self, *, level: float = 0.95, kind: Kind = "model") -> pd.DataFrame:
        """Estimate, standard error, z, p-value and interval of each parameter."""
        width, params = half_width(level), self.params
        se = np.sqrt(np.diag(self.cov(kind)))
        z, half = params.to_numpy() / se, width * se
        columns = {"estimate": params, "se": se, "z": z, "p": 2 * norm.sf(np.abs(z))}
        return pd.DataFrame(columns | {"low": params - half, "high": params + half})

    def conf_int(self, *, level: float = 0.95, kind: Kind = "model") -> pd.DataFrame:
        """The ends of the interval of each parameter."""
        return self.to_frame(level=level, kind=kind)[["low", "high"]]

    def to_latex(self, *, level: float = 0.95, kind: Kind = "model") -> str:
        """`to_frame` as a tabular with booktabs rules."""
        table: str = self.to_frame(level=level, kind=kind).to_latex(float_format="%.4g")
        return table

    def summary(self, *, level: float = 0.95, kind: Kind = "model") -> str:
        """One screen: the fit, its parameters, and the reward along its features."""
        return text_of(self, level, kind)

    def _repr_html_(self) -> str:
        """`summary` for a notebook."""
        return f"<pre>{escape(self.summary())}</pre>"

    def reward(self, states: Array | pd.DataFrame, actions: Labels | None = None) -> Array:
        """(n,) estimated r(s, a), actions by number or by name; (n, A) of all without actions.

        Warns:
            UserWarning: a state lies far outside those observed, and the fit has no form of r.
        """
        at = self._check(states)
        self._warn_of_extrapolation(at)
        if actions is None:
            return self.reward_function(at)
        given, names = np.asarray(actions), list(self.data.action_names)
        for number in np.unique(given) if given.dtype.kind in "iu" else ():
            if str(number) in names and names.index(str(number)) != number:
                hint = f"a number or a label? give labels as text, of {', '.join(names)}"
                raise InputError("actions", int(number), hint)
        if given.dtype.kind in "UO" and names:
            unknown = np.setdiff1d(given.astype(str), names)
            if len(unknown):
                raise InputError("actions", unknown[0], f"name one of {', '.join(names)}")
            given = np.vectorize(names.index, otypes=[np.int64])(given.astype(str))
        return super().reward(at, given)

    def _warn_of_extrapolation(self, states: Array, stacklevel: int = 3) -> None:
        """Warn of a feature far from its observed values, unless the user's form says what r is."""
        if "reward" in self.options:
            return
        data = self.data
        both = np.concatenate([data.states, data.next_states[~data.done]])
        ends = zip(data.feature_names, states.T, both.min(axis=0), both.max(axis=0), strict=True)
        for name, x, low, high in ends:
            margin = MARGIN * (high - low)
            outside = x[(x < low - margin) | (x > high + margin)]
            if len(outside):
                message = f"{name}: {outside[0]:g} lies outside the {low:g} to {high:g} observed,"
                message += " where r-hat is extrapolated and can be far off"
                warnings.warn(message, stacklevel=stacklevel)

    def counterfactual(
        self,
        *,
        reward: Mapping[str, float] | Callable[[Array, Array], Array] | None = None,
        transition: Callable[[Array], Array] | None = None,
        states: Array | pd.DataFrame | None = None,
        available: Callable[[Array], Array] | None = None,
        draws: int = 100,
        rng: int | np.random.Generator = 0,
    ) -> pd.DataFrame:
        """Choice probabilities before and after a change.

        See `gladius.own_data.results.counterfactual`.

        Args:
            reward: what is added to the reward of an action, by its name; or a function of
                features (n, d) and rewards (n, A).
            transition: a function of transition probabilities (A, S, S) over the observed states.
            states: which lines to show, by default all observed states.
            available: the choice sets after the change, as a function of the state; by default
                those before it.
            draws: of theta and of transition probabilities, for standard errors.
            rng: a seed or a generator.

        Returns:
            For each state and action `before` and `after`. A fit with parameters has `se` of
            their difference too, unless its transition probabilities are of few parameters; other
            fits have that of `bootstrap`.

        Raises:
            InputError: the method leaves the level of r open, on which the answer depends unless
                numbers are added to rewards; or the states do not repeat.
        """
        from gladius.own_data.results.counterfactual import changed

        number = check_whole("draws", draws, 2)
        at = distinct_rows(self.data.states)[0] if states is None else self._check(states)
        columns = changed(self, self._errors, at, reward, transition, available, number, rng)
        return self._lines(at).assign(**columns)

    def reward_errors(self, states: Array, kind: Kind = "model") -> Array:
        """(n, A) standard errors of r-hat at (n, d) features; 0 for the anchor.

        NaN where too few observations say what r is: without a form, also in other states.
        """
        return self._intervals(self._check(states), kind)[1]

    def interval(
        self, states: Array, *, level: float = 0.95, kind: Kind = "model"
    ) -> tuple[Array, Array]:
        """(n, A) ends of intervals of r at (n, d) features; NaN where the data do not say.

        Warns:
            UserWarning: no intervals, for too many states or parameters that are not identified.
        """
        width, states = half_width(level), self._check(states)
        try:
            centre, errors = self._intervals(states, kind)
        except InputError as error:
            if error.field == "kind":
                raise
            warnings.warn(f"no intervals: {error}", stacklevel=3)  # r-hat is not lost
            centre = errors = np.full((len(states), self.data.number_of_actions), np.nan)
        return centre - width * errors, centre + width * errors

    def _intervals(self, states: Array, kind: Kind) -> tuple[Array, Array]:
        """(n, A) centres of intervals of r, and standard errors."""
        own = self._errors
        if own is None:
            raise InputError("method", self.name, "it has no standard errors: use `bootstrap`")
        read_kind(kind, self.data, own.kinds)
        change, data = self.exchange, self.data
        centre, errors = own.at(states, kind, data if change is None else change.data(data))
        if change is not None and centre is not None:
            centre, errors = (change.table(states, table) for table in (centre, errors))
        return self.reward_function(states) if centre is None else centre, errors

    def reward_frame(
        self,
        states: Array | pd.DataFrame | None = None,
        *,
        level: float = 0.95,
        kind: Kind = "model",
    ) -> pd.DataFrame:
        """A line for each state and action: r-hat, its interval, Q-hat and choice probability.

        Intervals of the class `smooth` are centred at a fit with less smoothing than r-hat's, whose
        bias is small. The class `sparse` takes selected inputs as given; its intervals allow for
        the terms in them that r-hat leaves out.

        Args:
            states: (n, d) features, by default the distinct observed ones.
            level: of the intervals.
            kind: as in `cov`; `model` alone for the class `sparse`.

        Warns:
            UserWarning: no intervals, for too many states or parameters that are not identified.
        """
        at = distinct_rows(self.data.states)[0] if states is None else self._check(states)
        width = half_width(level)
        self._warn_of_extrapolation(at)
        frame = self._lines(at).assign(reward=self.reward_function(at).ravel())
        if self.has_reward_errors:
            low, high = (end.ravel() for end in self.interval(at, level=level, kind=kind))
            frame = frame.assign(se=(high - low) / (2 * width), low=low, high=high)
        return frame.assign(q=self.q(at).ravel(), probability=self.policy(at).ravel())

    def _lines(self, at: Array) -> pd.DataFrame:
        """A line for each of (n, d) states and each action: features, label, action, counts."""
        data, pairs, number = self.data, self.data.pairs(), self.data.number_of_actions
        each, actions = np.repeat(at, number, axis=0), np.tile(np.arange(number), len(at))
        observed = np.column_stack([pairs.states, pairs.actions])
        pair = grid_positions(observed, np.column_stack([each, actions]))
        if set(COLUMNS) & set(data.feature_names):
            hint = f"the table has columns {', '.join(COLUMNS)}: rename the features"
            raise InputError("feature_names", data.feature_names, hint)
        columns: dict[str, NDArray[Any]] = dict(zip(data.feature_names, each.T, strict=True))
        if data.action_names:
            columns["label"] = np.array(data.action_names)[actions]
        counts = np.where(pair >= 0, pairs.weights[pair], 0)
        return pd.DataFrame(columns | {"action": actions, "observations": counts})

    def predict(self, states: Array | pd.DataFrame) -> pd.DataFrame:
        """Choice probabilities: a line for each state, a column for each action."""
        index = states.index if isinstance(states, pd.DataFrame) else None
        names = self.data.action_names or None
        return pd.DataFrame(self.policy(self._check(states)), index=index, columns=names)

    def simulate(
        self, trajectories: int, periods: int, rng: int | np.random.Generator = 0
    ) -> Transitions:
        """Paths by the estimated choices and the estimated transition probabilities.

        They start where observed trajectories start. Counts are needed: states have to repeat.
        """
        number = check_whole("trajectories", trajectories, 1)
        length = check_whole("periods", periods, 1)
        draws = generator(rng)
        grid, weights = grid_of(self), of_rows(self.data, self.weights)
        _, first = np.unique(self.data.trajectory, return_index=True)
        shares = None if self.weights is None else weights[first] / weights[first].sum()
        start, size = positions(grid.states, self.data.states[first]), len(grid.states)
        transition = dense(grid.transition[0])
        ends = 1.0 - transition.sum(axis=2, keepdims=True)
        ends[ends < ROW_SUM_TOLERANCE] = 0.0  # rounding ends no path
        choose = Categorical(self.policy(grid.states))
        move = Categorical(np.concatenate([transition, ends], axis=2).reshape(-1, size + 1))
        state, label = draws.choice(start, size=number, p=shares), np.arange(number)
        blocks = []
        for _ in range(length):
            action = choose(state, draws.random(len(state)))
            after = move(action * size + state, draws.random(len(state)))
            is_end = after == size
            blocks.append((state, action, np.where(is_end, state, after), label, is_end))
            state, label = after[~is_end], label[~is_end]
        s, a, t, names, done = (np.concatenate(block) for block in zip(*blocks, strict=True))
        order = np.argsort(names, kind="stable")
        path = grid.states[s], a, grid.states[t], names, done
        of = self.data
        labels = of.feature_names, of.categories, of.action_names
        return Transitions(*path, of.number_of_actions, *labels).take(order)

    def wald(
        self,
        restrictions: Array | str | Mapping[str, float],
        values: Array | float = 0.0,
        kind: Kind = "model",
    ) -> float:
        """The p-value of restrictions on theta.

        Args:
            restrictions: a value by the name of each parameter that has one; a text of
                restrictions such as "a = 2 * b, c = 1" (needs formulaic); or a matrix R with a row
                for each restriction R theta = values, columns in the order of `params`.
            values: of the matrix alone.
            kind: as in `cov`.
        """
        names, given = list(self.params.index), restrictions
        if isinstance(given, Mapping):
            if not given or not set(given) <= set(names):
                raise InputError("restrictions", list(given), f"the parameters are {names}")
            matrix = np.eye(len(names))[[names.index(name) for name in given]]
            values = check_finite("restrictions", list(given.values()))
        elif isinstance(given, str):
            matrix, values = read_restrictions(given, names)
        else:
            matrix = np.atleast_2d(check_finite("restrictions", given))
        if matrix.shape != (len(matrix), len(self.params)):
            hint = f"give {len(self.params)} numbers a row, one for each parameter"
            raise InputError("restrictions", matrix.shape, hint)
        if np.linalg.matrix_rank(matrix) < len(matrix):
            raise InputError("restrictions", matrix, "give rows of which none follows from others")
        values = check_finite("values", values)
        if values.shape not in [(), (len(matrix),)]:
            raise InputError("values", np.shape(values), f"give one number, or {len(matrix)}")
        gap = matrix @ self.params.to_numpy() - values
        spread = matrix @ self.cov(kind).to_numpy() @ matrix.T
        return float(chi2.sf(gap @ np.linalg.solve(spread, gap), len(matrix)))

    def likelihood_ratio(self, smaller: Results) -> float:
        """The p-value of restrictions, from the fit that has them.

        It takes the transition probabilities as known: `wald` has their noise.

        Args:
            smaller: a fit to the same data with fewer parameters.
        """
        self._check_likelihood()
        if not isinstance(smaller, Results):
            raise InputError("smaller", smaller, "give the Results of a fit with fewer parameters")
        bases = self.form_errors.basis, smaller.form_errors.basis
        if not all(basis.is_likelihood for basis in bases):
            hint = "both must maximise the likelihood: nfxp or mpec"
            raise InputError("smaller.method", smaller.name, hint)
        extra, models = len(self.params) - len(smaller.params), [basis.model for basis in bases]
        names = "states", "visits", "transition", "discount"
        is_same = all(np.array_equal(*(getattr(model, n) for model in models)) for n in names)
        old, new = (model.offset > FORBIDDEN / 2 for model in models)
        if not (is_same and np.array_equal(old, new)):
            hint = "give a fit to the same data, discount, transition probabilities and choice sets"
            raise InputError("smaller.data", repr(smaller), hint)
        gain = 2 * len(self.data) * (smaller.diagnostics.nll - self.diagnostics.nll)
        if extra < 1 or gain < -SOLVER_GAP * len(self.data):
            hint = "it must have fewer parameters and be a case of this fit: it is no less likely"
            raise InputError("smaller", repr(smaller), hint)
        return float(chi2.sf(max(gain, 0.0), extra))

    def bootstrap(
        self,
        statistic: Callable[[Results], Array] | None = None,
        draws: int = 200,
        rng: int | np.random.Generator = 0,
        *,
        holds_inputs: bool = False,
        cluster: str = "id",
        verbose: bool | None = None,
    ) -> Array:
        """(draws, ...) a statistic of refits to trajectories drawn with replacement.

        Its standard deviation over draws, by `np.nanstd`, is a standard error, for every method. A
        refit that fails is NaN, for one to draws in which an action never occurs.

        Args:
            statistic: numbers of Results, such as `lambda e: e.reward(states, 0)`; else theta.
            draws: number of refits.
            rng: a seed or a generator.
            holds_inputs: whether refits of the class `sparse` take the inputs selected here.
            cluster: the column whose groups are drawn, with all their trajectories.
            verbose: as in `gladius.fit`, of which the refits show nothing.

        Raises:
            InputError: there are fewer than two groups, or a trajectory is in several.
        """
        options = self._options
        if holds_inputs:
            if "reward_inputs" not in self.diagnostics.extra:
                raise InputError("holds_inputs", True, f"{self.method} selects no inputs")
            for option, key in (("inputs", "reward_inputs"), ("zeta_inputs", "zeta_inputs")):
                options[option] = self.diagnostics.extra[key]
        random = generator(rng)
        path, label = groups_of(self.data, "id"), groups_of(self.data, cluster)
        groups, paths = int(label.max()) + 1, int(path.max()) + 1
        if groups < 2:
            raise InputError(
                "cluster", cluster, "a bootstrap needs two groups or more, and it has 1"
            )
        if len(np.unique(np.column_stack([path, label]), axis=0)) > paths:
            hint = "the bootstrap draws whole trajectories, and one lies in several of its groups"
            raise InputError("cluster", cluster, hint)
        rows_of = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1])
        statistic = statistic or (lambda fit: fit.params.to_numpy())
        bad = failed = 0
        with (
            one_thread(self.data.states),
            progress(f"bootstrap of {self.method}", draws, verbose) as advance,
        ):
            first = _numbers(statistic, self)
            values = np.full((check_whole("draws", draws, 2), *first.shape), np.nan)
            size = max(1, min(BATCH, ROWS // len(self.data)))
            for start in range(0, draws, size):
                samples = []
                for _ in range(min(size, draws - start)):
                    drawn = [rows_of[j] for j in random.integers(groups, size=groups)]
                    new = np.repeat(paths * np.arange(groups), [len(rows) for rows in drawn])
                    rows = np.concatenate(drawn)
                    samples.append(replace(self.data.take(rows), trajectory=new + path[rows]))
                estimates = self._refits(samples, options)
                advance(len(samples))
                for i, estimate in enumerate(estimates, start):
                    if estimate is None or estimate.diagnostics.status.startswith("failed"):
                        failed += 1
                        continue
                    bad += not estimate.diagnostics.converged
                    own = {"data": samples[i - start]}
                    fit = Results(**vars(self) | vars(estimate) | own)
                    with warnings.catch_warnings():  # a sample has fewer states
                        warnings.filterwarnings("ignore", ".* lies outside the ")
                        values[i] = _numbers(statistic, fit, first.shape)
        if bad or failed:
            message = f"{bad + failed} of {draws} refits are not ok; {failed} failed and are NaN"
            warnings.warn(message, stacklevel=2)
        return values

    def _refits(
        self, samples: Sequence[Transitions], options: Mapping[str, Any]
    ) -> list[Estimate | None]:
        """An estimate of each sample; None where it supports none."""
        try:
            fits = fits_with_weights(
                self.name, self.weights, samples, self.anchor, self.discount, options
            )
        except InputError:
            if len(samples) == 1:
                return [None]
            return [found for one in samples for found in self._refits([one], options)]
        return list(fits)

    def save(self, folder: Path | str) -> None:
        """Write this to a folder, as JSON, npz and checksums; `gladius.load` reads it."""
        save(self, folder)

    def _check(self, states: Array | pd.DataFrame) -> Array:
        """Columns of a data frame by their names; other arrays as they are."""
        if isinstance(states, pd.DataFrame):
            given, names = set(states.columns), list(self.data.feature_names)
            if given >= set(names):
                states = states[names].to_numpy()
            elif given >= set(self.data.columns):
                states = features(states, self.data.columns, self.data.categories)
            else:
                hint = f"give the columns {list(self.data.columns)}"
                raise InputError("states", list(states.columns), hint)
        return super()._check(np.ascontiguousarray(states))


def _numbers(
    statistic: Callable[[Results], Any], fit: Results, shape: tuple[int, ...] | None = None
) -> Array:
    """A statistic of a fit, of a shape where one is given."""
    found = np.asarray(asked("statistic", lambda one: np.asarray(statistic(one)), fit))
    if found.dtype.kind not in "biuf" or shape not in (None, found.shape):
        raise InputError("statistic", found, "return numbers, of the same shape for each fit")
    return found


def half_width(level: float) -> float:
    """Half of an interval of a normal variable, in standard deviations."""
    if not isinstance(level, float | np.floating) or not 0 < level < 1:
        raise InputError("level", level, "give a probability, such as 0.95")
    return float(norm.ppf((1 + level) / 2))
