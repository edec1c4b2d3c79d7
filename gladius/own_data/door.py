"""The one door for a user: `fit` checks what is given, calls a method and hands over Results."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, cast, overload

import numpy as np

from gladius import register
from gladius.model.choice_sets import (
    Available,
    sets_of,
    with_choice_sets,
)
from gladius.model.estimate import Diagnostics, Estimate
from gladius.model.increments import PooledIncrements
from gladius.model.inversion import FreeBasis
from gladius.model.parametric import FormBasis
from gladius.model.state_anchor import ANSWERS, AnchorAction, StateAnchor, read_anchor_action
from gladius.own_data.erm import ROW_CLASSES
from gladius.own_data.erm.anchor_path import share_without_anchor
from gladius.own_data.erm.history import of_history
from gladius.own_data.erm.indexed import Indexed
from gladius.own_data.erm.misfit import REJECTED
from gladius.own_data.formula import linear_reward
from gladius.own_data.frame import columns_that_tell, complete, warn_of_codes
from gladius.own_data.results.progress import progress
from gladius.own_data.results.results import Results
from gladius.own_data.results.weights import fits_with_weights, named, repeated
from gladius.panel.anchor import Anchor, AnchorReward, make_anchor
from gladius.panel.record import Transitions
from gladius.solvers.threads import one_thread
from gladius.validate import Array, InputError, check_discount, check_options, needs_torch

# methods that also use rows without a next state; the others drop them
CHOICES_ALONE = ("profiled_erm", "plug_in", "nfxp", "ccp", "mpec", "ml_irl", "bc")
# methods that rest on choice probabilities by state alone
BY_STATE = ("profiled_erm", "plug_in", "nfxp", "ccp", "mpec", "ml_irl")
TYPES = (
    "choices of a path go together more than the state explains (z = {:.1f}){}: unobserved types or"
    " a hidden state; r-hat is of no type. Add what differs to state, or fit by group"
)
LONGER = (
    "a choice depends on the choice before beside the state, which has the last action (z ="
    " {:.1f}){}: unobserved types or a longer memory; r-hat is of no type. Add what differs to"
    " state, or fit by group"
)
MEMORY = (
    "a choice depends on the choice before beside the state (z = {:.1f}){}: add the last action to"
    " state, if a column is not measured with error or too coarse"
)
REMEMBERED = 1e-3  # p-value of a warning that choices depend on the history
SHIFT = 0.5  # standard errors
# of what fixes the level of V, in states where the anchor was never taken: warn, raise
WITHOUT, MOST_WITHOUT = 0.05, 0.3
DIFFERENT = 1e-4  # p-value of equal increments
NUMBER = re.compile(r"[+-]?[0-9]+[.]?[0-9]*")
FEWEST = 5  # rows a state, from which one action in each is no accident of few rows


@overload
def fit(
    transitions: Transitions,
    method: str = ...,
    *,
    anchor_action: AnchorAction,
    anchor_reward: AnchorReward,
    discount: float,
    available: Available | None = ...,
    weights: str | Array | None = ...,
    freq_weights: str | Array | None = ...,
    verbose: bool | None = ...,
    check_transitions: bool = ...,
    **options: Any,
) -> Results: ...
@overload
def fit(
    transitions: Sequence[Transitions],
    method: str = ...,
    *,
    anchor_action: AnchorAction,
    anchor_reward: AnchorReward,
    discount: float,
    available: Available | None = ...,
    weights: str | Array | None = ...,
    freq_weights: str | Array | None = ...,
    verbose: bool | None = ...,
    check_transitions: bool = ...,
    **options: Any,
) -> list[Results]: ...
def fit(
    transitions: Transitions | Sequence[Transitions],
    method: str = "profiled_erm",
    *,
    anchor_action: AnchorAction,
    anchor_reward: AnchorReward,
    discount: float,
    available: Available | None = None,
    weights: str | Array | None = None,
    freq_weights: str | Array | None = None,
    verbose: bool | None = None,
    check_transitions: bool = True,
    **options: Any,
) -> Results | list[Results]:
    """Estimate the reward behind observed choices.

    Args:
        transitions: one data set, or a sequence of replications (fitted together as one
            batched programme; each gets the numbers it would get alone, up to rounding).
        method: one of METHODS.
        anchor_action: the action whose reward is given (the paper's a_s), by number or by name;
            it must occur in the data of a method that needs an anchor. Where it depends on the
            state: a feature's name, a function of the features, or a number for each observation;
            see `gladius.model.state_anchor`.
        anchor_reward: its reward: a number, a function of the features, the name of a feature or of
            a column that `from_frame` was asked to carry, or one number for each row of the
            transitions, if these are in the order of the table.
            Methods with a parametric reward take the level of r from their `reward`; for them it
            only has to agree.
        discount: beta in (0, 1).
        available: choice sets, where not every action is always available. Either columns of 1 and
            0 that `from_frame` was asked to carry, as a dict by action (`{"replace": "allowed"}`;
            any other action is always available) or as a list of one for each action; or a function
            of (n, d) features that returns (n, A) true or false. They must follow from the state.
            Columns say nothing of states that are in no row, in which only a function helps. The
            methods that take them are `gladius.model.choice_sets.TAKERS`.
        weights: of sampling, how many of a population a row stands for: the name of a column that
            `from_frame` was asked to carry, or (one data set) a number for each row. Those of paths
            are the same in all their rows. For `nfxp`, `mpec`, `ccp` and `plug_in`; see
            `gladius.own_data.results.weights`.
        freq_weights: whole numbers, how often a row was observed; likewise, for every method. The
            data of the Results have each row so often.
        verbose: with None a bar shows on a terminal after five seconds, if rich is installed. With
            True lines on standard error say when the fit began and ended. False: nothing shows.
        check_transitions: whether to warn where increments differ by state, or where the noise of
            estimated transition probabilities moves a parameter far. A simulation that fits many
            data sets of one design may do without.
        options: of the method, whose module says what they are (`gladius.register.METHODS` has its
            name). The `reward` of a parametric method may be a formula, see
            `gladius.own_data.formula`.

            - airl: transition, anchored, start_spread, rng
            - avi: reward, iterations, tolerance, rng
            - bc: normalisation, rng, training
            - ccp: reward, transition, stages, finite_dependence
            - clare: transition, start, rng
            - gladius: protocol
            - gladius, printed: function_class, optimiser, tau_1, tau_2, ascents, iterations, batch,
              tolerance, deterministic, rngs, checkpoint, progress
            - gladius, author: oracle, rngs, absolute, level_from_truth, epochs, units,
              batch_trajectories, dtype, repetitions, risk_every, checkpoint, progress, device
            - gladius, max_oracle: units, starts, steps, trial_steps, rate, ridge, select, stop,
              single, tolerance, ascents, closed_level, start_level, absolute, block_moments, rngs,
              checkpoint, progress
            - gladius, max_oracle_batches: batch, units, starts, steps, trial_steps, rate, ridge,
              select, stop, single, tolerance, ascents, closed_level, start_level, absolute,
              block_moments, rngs, checkpoint, progress
            - iq_learn: function_class, rng
            - ml_irl: reward, transition, inner, start
            - mpec: reward, transition, start
            - nfxp: reward, transition, start
            - plug_in: none
            - pqr: rng, training
            - profiled_erm: function_class
            - profiled_erm, smooth: none
            - profiled_erm, sparse: inputs, zeta_inputs
            - profiled_erm, mlp: hidden, restricted, steps, learning_rate, seed
            - rp: reward
            - samq: reward, cells, clustering, rng, training
            - semi_gradient: reward, basis, degree

    It runs on one thread unless the data are large: see `gladius.solvers.threads`.

    Returns:
        Results, or a list of them, one for each data set.

    Raises:
        InputError: naming the field, the value and the hint, before any work starts.
    """
    start_time = time.process_time()
    is_single = isinstance(transitions, Transitions)
    data = list(transitions) if isinstance(transitions, Sequence) else [transitions]
    if not data or not all(isinstance(given, Transitions) for given in data):
        hint = "give Transitions, or a sequence of them, one or more"
        raise InputError("transitions", type(transitions).__name__, hint)
    for name in ("feature_names", "action_names", "categories"):
        different = [
            getattr(one, name) for one in data if getattr(one, name) != getattr(data[0], name)
        ]
        if different:
            raise InputError(f"transitions.{name}", different[0], "give all data sets the same")
    if freq_weights is not None:
        data = [repeated(rows, freq_weights) for rows in data]
    column = None
    if weights is not None:
        pairs = [named(rows, weights, "weights") for rows in data]
        data, column = [rows for rows, _ in pairs], pairs[0][1]
    loading = time.process_time()  # which is no part of the fit
    with needs_torch("method", method):
        function = register.method(method)
    default = "smooth" if data[0].states.shape[1] == 1 else "sparse"
    if method == "profiled_erm" and options.get("function_class", default) in [*ROW_CLASSES]:
        with suppress(ModuleNotFoundError):  # which is said below
            import_module(ROW_CLASSES["sparse"])  # loaded below, its torch would keep its threads
    start_time += time.process_time() - loading
    if method not in CHOICES_ALONE or options.get("function_class") == "mlp":
        data = [complete(rows, method) for rows in data]
    if available is not None:
        data = with_choice_sets(data, available)
    action, exchange = read_anchor_action(data, anchor_action)
    own = data
    if exchange is not None:
        if method not in ANSWERS:
            hint = f"an anchor that depends on the state is for {', '.join(ANSWERS)}"
            raise InputError("anchor_action", anchor_action, hint)
        if options.get("function_class") == "mlp":
            hint = "an anchor that depends on the state is for the classes smooth and sparse"
            raise InputError("function_class", options["function_class"], hint)
        own = [exchange.data(rows) for rows in data]
    check_options(function, options)
    is_needed = "anchor" in register.needs(method)
    columns = {*data[0].feature_names, *data[0].carried}
    if (
        isinstance(anchor_reward, str)
        and NUMBER.fullmatch(anchor_reward)
        and anchor_reward not in columns
    ):
        raise InputError("anchor_reward", anchor_reward, "give a number, without quotation marks")
    anchor = make_anchor(own, action, anchor_reward, must_occur=is_needed)
    if exchange is not None:
        anchor = StateAnchor(**vars(anchor), exchange=exchange)
    if isinstance(options.get("reward"), str):
        options["reward"] = linear_reward(options["reward"], data, anchor)
    _check_actions(data)
    for rows in data:
        warn_of_codes(rows.states, rows.feature_names, rows.categories)
    if np.asarray(discount).dtype.kind in "US":
        raise InputError("discount", discount, "give a number, without quotation marks")
    beta = check_discount(discount)
    indexed = [Indexed.of(rows) for rows in data] if is_needed else []
    for i in range(len(indexed)):
        where = "" if is_single else f" of data set {i}"
        _check_choices(indexed[i], where)
        _check_path(indexed[i], anchor, beta, where)
    distinct = [found.states for found in indexed] or [rows.states for rows in data]
    with one_thread(*distinct), needs_torch("method", method):
        try:
            with progress(f"{method}, {sum(map(len, data)):,} observations", None, verbose):
                estimates = fits_with_weights(method, column, data, anchor, beta, options, indexed)
        except InputError as error:
            if error.field != "option":
                raise
            hint = f"{error.hint}; `help(gladius.fit)` lists those of all classes and protocols"
            raise InputError("option", error.value, hint) from None
        indexed.clear()  # which is as large as half of the data
        diagnoses = [estimate.diagnostics for estimate in estimates]
        if method in BY_STATE and weights is None and freq_weights is None:
            for i, rows in enumerate(data):
                where = "" if is_single else f" in data set {i}"
                diagnoses[i] = with_history(estimates[i], rows, action, where)
    results = [
        Results(
            **vars(replace(estimate, diagnostics=diagnostics)),
            data=rows,
            anchor=anchor,
            discount=beta,
            options=options,
            name=method,
            exchange=exchange if isinstance(estimate.basis, FreeBasis) else None,
            weights=column,
        )
        for estimate, diagnostics, rows in zip(estimates, diagnoses, data, strict=True)
    ]
    for i, fitted in enumerate(results if check_transitions else ()):
        _warn_of_transitions(fitted, "" if is_single else f" in data set {i}")
    seconds = (time.process_time() - start_time) / len(data)
    timed = [
        replace(fitted, diagnostics=replace(fitted.diagnostics, cpu_seconds=seconds))
        for fitted in results
    ]
    return timed[0] if is_single else timed


def _check_choices(rows: Indexed, where: str) -> None:
    """Raise where states repeat, and in each of them one action alone is ever taken."""
    states, actions = len(rows.states), rows.data.number_of_actions
    if len(rows.data) < FEWEST * states:
        return
    pair = rows.before * actions + rows.data.actions
    table = np.bincount(pair, minlength=states * actions).reshape(states, actions)
    if np.any(np.count_nonzero(table, axis=1) > 1) or np.count_nonzero(table.any(axis=0)) < 2:
        return
    hint = "one action alone is ever taken in each, so that nobody chooses: does a column of state"
    raise InputError(
        "states",
        f"{states} states{where}",
        f"{hint} tell the action of its row, or is the choice of another period recorded there?",
    )


def _check_path(rows: Indexed, anchor: Anchor, discount: float, where: str) -> None:
    """Raise, or warn, where the level of V rests on states in which the anchor was never taken."""
    share, states = share_without_anchor(rows, anchor, discount)
    if share <= WITHOUT:
        return
    examples = ", ".join(str(state.tolist()) for state in states[:3])
    text = f"{share:.0%} of what fixes the level of V{where} lies in states where the anchor"
    if sets_of(rows.data) is not None:
        text += (
            f" is not available, such as {examples}: there the level rests on the form of r alone"
        )
        warnings.warn(f"anchor_action: {text}", stacklevel=3)
        return
    text += f" was never taken, such as {examples}: give available= if it cannot be, another anchor"
    text += " there, or its reward there by a form"
    if share > MOST_WITHOUT:
        raise InputError("anchor_action", anchor.action, text)
    warnings.warn(f"anchor_action: {text}", stacklevel=3)


def with_history(estimate: Estimate, data: Transitions, base: int, where: str) -> Diagnostics:
    """Diagnostics with the z of the history; see `gladius.own_data.erm.history`.

    The fit warns of the stronger of the two; our own estimator is not ok where p is below REJECTED.
    A fit that is not ok anyhow is not asked.
    """
    diagnostics = estimate.diagnostics
    extra = dict(diagnostics.extra)
    fits_along = estimate.policy if "misfit_p_values" in extra else None
    if diagnostics.status != "ok" or (found := of_history(data, fits_along, base)) is None:
        return diagnostics
    extra |= {"types_z": found.types_z, "memory_z": found.memory_z}
    is_types = found.types_p <= found.memory_p
    p, z = found[2:][not is_types], found[:2][not is_types]
    text = TYPES if is_types else MEMORY
    if not is_types and p < REMEMBERED and has_last_action(data):
        text = LONGER
    if p < REMEMBERED:
        warnings.warn(text.format(z, where), stacklevel=3)
    if not (p < REJECTED and estimate.method.startswith("profiled_erm")):
        return replace(diagnostics, extra=extra)
    reasons = cast("tuple[str, ...]", extra["not_ok_because"])
    extra["not_ok_because"] = (*reasons, text.partition(" (")[0])
    return replace(diagnostics, extra=extra, status="not_converged", converged=False)


def has_last_action(data: Transitions) -> bool:
    """Whether features tell the action of the row before, in all rows that follow one."""
    continues = data.followed & ~data.done
    return bool(columns_that_tell(data.actions[continues], data.next_states[continues]))


def _warn_of_transitions(results: Results, where: str) -> None:
    """Warn where increments differ by state, or the noise of frequencies moves a parameter far."""
    transition = results.options.get("transition")
    if isinstance(transition, PooledIncrements):
        p = transition.p_value(results.data)
        if p < DIFFERENT:
            message = f"transition: increments are not the same in all states{where}"
            message += f" (p_value is {p:.1g}), so that estimates may be wrong: give resets,"
            warnings.warn(f"{message} which may be functions, or leave it out", stacklevel=3)
    basis = results.basis
    if not isinstance(basis, FormBasis) or basis.model.transition_model is not None:
        return
    if not results.diagnostics.converged:
        return
    counts = basis.model.counts
    states = counts.states[counts.present[0]]
    borrows = counts.followed[0][counts.present[0]] == 0
    if (sets := sets_of(results.data)) is not None:
        borrows &= sets(states)
    try:
        shifts = results._shifts().abs()
    except InputError:  # it has no standard errors
        return
    texts = []
    noise, borrowed = shifts["noise"], shifts["borrowed"]
    if noise.max() > SHIFT:
        text = f"{noise.idxmax()}: the noise of estimated transition probabilities moves it by"
        text += f" {noise.max():.1f} standard errors{where}, and its bias may be several times"
        texts.append(f"{text} that")
    if borrows.any() and (texts or borrowed.max() > SHIFT):
        text = f"{borrows.sum()} of {borrows.size} pairs of a state and an action were never seen"
        text += f" to be followed{where} and borrow moves: if these differ by state, that moves"
        texts.append(f"{text} {borrowed.idxmax()} by about {borrowed.max():.1f} standard errors")
    if texts:
        to = "" if register.takes(results.name, "transition") else "nfxp "
        hint = f"if increments are the same in all states, give {to}transition="
        hint += "PooledIncrements(...); else coarsen the states, or add data"
        warnings.warn(f"{'; '.join(texts)}: {hint}", stacklevel=3)


def _check_actions(data: Sequence[Transitions]) -> None:
    """Raise where an action is taken in no data set, for then its reward is not identified."""
    size = data[0].number_of_actions
    taken = np.flatnonzero(sum(np.bincount(rows.actions, minlength=size) for rows in data))
    never = np.setdiff1d(np.arange(size), taken)
    if len(never):
        hint = f"code the actions 0 to A - 1: of 0 to {size - 1}, {never.tolist()} never occur"
        if len(taken) == 1:
            hint = f"a choice needs two actions taken, and only {taken[0]} occurs"
        raise InputError("actions", taken.tolist(), hint)
