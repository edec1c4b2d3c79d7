"""Weights of observations, of two kinds that differ in what they say of the errors.

- Frequency weights are whole numbers: the row was observed so often. The data get it so often, so
  that every method takes them, and every number is that of the longer table.
- Sampling weights say how many of a population a row stands for, as in a survey that oversampled.
  The estimate maximises sum_i w_i log pi(a_i | s_i), at transition probabilities that are weighted
  frequencies. Only ratios matter: the mean weight is set to one. The errors are those of the
  sandwich: observation i adds w_i times its influence to theta-hat - theta. Where there are choice
  sets, pi is the probability within that of s.

Source: Cameron and Trivedi (2005), Section 24.3; Wooldridge (1999), Econometrica 67, 1385-1406.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gladius.baselines import ccp, mpec, nfxp
from gladius.model import inversion
from gladius.model.choice_sets import OfSet, fits_within_sets, plug_in, sets_of
from gladius.model.estimate import Estimate, Fit
from gladius.model.frequencies import check_support, empirical_transition_probabilities
from gladius.model.increments import PooledIncrements
from gladius.model.inversion import FreeBasis
from gladius.model.parametric import FormBasis, Grid, Model, check_start, make_grid, make_model
from gladius.model.state_anchor import StateAnchor
from gladius.own_data.erm.indexed import Indexed
from gladius.panel.anchor import Anchor
from gladius.panel.moves import tabulated
from gladius.panel.record import Counts, Transitions, grid_positions, group
from gladius.register import method, takes
from gladius.validate import Array, InputError, check_finite

TAKE = ("nfxp", "mpec", "ccp", "plug_in")  # methods with sampling weights
UNIT = 2.0**-30  # of a weight, so that sums of many are exact, and equal in any order
LARGEST = 100_000_000  # rows of data with frequency weights


@dataclass(frozen=True, kw_only=True)
class SampledForm(FormBasis):
    """A `FormBasis` with weighted counts, and those without weights."""

    rows: Counts


@dataclass(frozen=True, kw_only=True)
class SampledFree(FreeBasis):
    """A `FreeBasis` with weighted counts, and those without weights."""

    rows: Counts


def named(data: Transitions, given: object, field: str) -> tuple[Transitions, str]:
    """The rows whose weight is not zero, and the name of the column that they carry it in.

    Args:
        data: the observations.
        given: the name of a carried column, or (n,) numbers in the order of the rows.
        field: what errors call them.

    Raises:
        InputError: a weight is negative or no number, or all are zero.
    """
    if isinstance(given, str):
        if given not in data.carried:
            hint = f"carry the column: from_frame(..., carry=[{given!r}])"
            raise InputError(field, given, hint)
        name, values = given, check_finite(field, data.carried[given])
    else:
        name, values = field, check_finite(field, given)  # type: ignore[arg-type]  # or it raises
    if values.shape != (len(data),):
        hint = f"give a carried column's name, or {len(data)} numbers, one for each row"
        raise InputError(field, values.shape, hint)
    if not isinstance(given, str) and data.is_moved:
        hint = "from_frame sorted the rows, so that an array may have another order: name a column"
        raise InputError(field, values.shape, f"{hint}, carried by from_frame(..., carry=[column])")
    if np.any(values < 0) or not np.any(values > 0):
        hint = "give weights of zero or more, not all zero"
        raise InputError(field, float(values.min()), hint)
    return replace(data, carried={**data.carried, name: values}).take(values > 0), name


def repeated(data: Transitions, given: object) -> Transitions:
    """Each row as often as its frequency weight says; its copies are of trajectories of their own.

    Raises:
        InputError: a weight is no whole number; or the rows would be too many.
    """
    rows, name = named(data, given, "freq_weights")
    times = rows.carried[name]
    if np.any(times != np.floor(times)):
        worst = float(times[times != np.floor(times)][0])
        hint = "give whole numbers of times; `weights=` takes those of a survey"
        raise InputError("freq_weights", worst, hint)
    if times.sum() > LARGEST:
        hint = f"the data get each row so often, and at most {LARGEST:,} rows in all"
        raise InputError("freq_weights", float(times.sum()), hint)
    number = times.astype(np.int64)
    row = np.repeat(np.arange(len(rows)), number)
    copy = np.arange(len(row)) - np.repeat(np.cumsum(number) - number, number)
    path = np.unique(rows.trajectory, return_inverse=True)[1]
    order = np.lexsort((row, copy))
    label = (path[row] + (path.max() + 1) * copy)[order]
    return replace(rows.take(row[order]), trajectory=label)


def of_rows(data: Transitions, name: str | None) -> Array:
    """(n,) sampling weights with mean one, or ones; `name` is that of the column.

    Raises:
        InputError: the data do not carry the column.
    """
    if name is None:
        return np.ones(len(data))
    if name not in data.carried:
        hint = f"the fit has weights, so these data need theirs: carry the column {name!r}"
        raise InputError("weights", list(data.carried), hint)
    values = check_finite(name, data.carried[name])
    return np.asarray(np.round(values / values.mean() / UNIT) * UNIT)


def counts_of(data: Transitions, states: Array, name: str) -> Counts:
    """The weighted counts of one data set, on a grid that has its states."""
    weights = of_rows(data, name)
    s, t = (grid_positions(states, x) for x in (data.states, data.next_states))
    visits, followed = np.zeros((2, len(states), data.number_of_actions))
    shape = (1, data.number_of_actions, len(states), len(states))
    seen, continues = data.followed, data.followed & ~data.done
    np.add.at(visits, (s, data.actions), weights)
    np.add.at(followed, (s[seen], data.actions[seen]), weights[seen])
    pair = (data.actions * len(states) + s)[continues]
    moves = tabulated(pair, t[continues], weights[continues], shape)
    return Counts(states, visits[None], moves, followed[None])


def fits_with_weights(
    name: str,
    weights: str | None,
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    options: Mapping[str, Any],
    indexed: Sequence[Indexed] = (),
) -> list[Estimate]:
    """The estimates of a method, by its own `fit`, or with sampling weights.

    Args:
        name: of the method in the register.
        weights: the name of the column that the data carry them in; None without.
        data: replications.
        anchor: the anchor action and its reward.
        discount: beta.
        options: of the method.
        indexed: the data by their states, for methods whose `fit` has a parameter of this name.

    Raises:
        InputError: the method takes no sampling weights.
    """
    if weights is None:
        function = method(name)

        def of_states(*three: Any, **options: Any) -> list[Estimate]:
            found: list[Estimate] = function(*three, indexed, **options)
            return found

        own = of_states if takes(name, "indexed") else function
        return fits_within_sets(name, own, data, anchor, discount, options)
    is_taker = name in TAKE and not options.get("finite_dependence")
    if not is_taker or isinstance(anchor, StateAnchor):
        hint = f"sampling weights are for {', '.join(TAKE)}, without finite_dependence and with"
        hint += " one anchor action; freq_weights= for every method"
        raise InputError("weights", weights, f"{hint}, if the weights are whole numbers of rows")
    if name == "plug_in":
        return [_plug_in(rows, weights, anchor, discount) for rows in data]
    return fits_within_sets(name, partial(_forms, name, weights), data, anchor, discount, options)


def _forms(
    name: str,
    weights: str,
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    **options: Any,
) -> list[Estimate]:
    """The estimates of a method with a form of the reward."""
    form = {key: options.get(key) for key in ("reward", "transition")}
    estimates, start = [], options.get("start")
    for r, rows in enumerate(data):
        model = make_model([rows], anchor, discount, **form)
        model = replace(model, **changes(model, rows, weights))
        first = check_start(start, (len(data), model.design.shape[2]))[r]
        fitted = _fit(name, model, first, options.get("stages", ccp.STAGES))
        basis = SampledForm(model, name != "ccp", rows=group(rows))
        estimates += model.estimates(name, [replace(fitted, basis=basis)], anchor)
    return estimates


def _fit(name: str, model: Model, start: Array, stages: int | None) -> Fit:
    """A method's fit to a model, which has all that weights change."""
    if name == "mpec":
        return mpec.fit_from(model, start)
    given = model.transition, model.design, model.offset, model.discount
    if name == "nfxp":
        return nfxp.fit_counts(model.visits, *given, start=start[None]).fit(0, model)
    frequencies = inversion.choice_frequencies(model.visits, model.states)
    policy = ccp.within(frequencies, model.offset)
    most = ccp.MAX_STAGES if stages is None else stages
    fitted = ccp.nested_pseudo_likelihood(model.visits, policy, *given, stages=most)
    return fitted.fit(model, stages)


def _plug_in(data: Transitions, name: str, anchor: Anchor, discount: float) -> Estimate:
    """The plug-in of one data set."""
    rows = group(data)
    check_support(rows)
    counts, sets = counts_of(data, rows.states, name), sets_of(data)
    if sets is None:
        (found,) = inversion.fit_counts(counts, anchor, discount)
    else:
        (found,) = plug_in(counts, anchor, discount, sets)
        found = replace(found, q_function=OfSet(found.q_function, sets, -np.inf))
    assert isinstance(found.basis, FreeBasis)
    return replace(found, basis=SampledFree(**vars(found.basis), rows=rows))


def changes(grid: Grid, data: Transitions, name: str) -> dict[str, Any]:
    """What weights change of a grid: its counts, and the probabilities that follow from them."""
    counts, option = counts_of(data, grid.counts.states, name), grid.transition_model
    p_hat = grid.p_hat
    if option is None:
        p_hat = empirical_transition_probabilities(counts)
    elif isinstance(option, PooledIncrements):
        p_hat = option.estimate(counts)
    visits = np.zeros_like(grid.visits)
    visits[:, grid.position] = counts.visits
    return {"counts": counts, "p_hat": p_hat, "visits": visits}


def grid_of(results: Any) -> Grid:
    """The grid of a fit's data, with its weights if it has some."""
    given = [results.data], results.discount, results.options.get("transition")
    grid = make_grid(*given)
    if results.weights is None:
        return grid
    return replace(grid, **changes(grid, results.data, results.weights))
