"""The text of a fit: status and its reasons, parameters, and the reward along its features.

`results` is always a `gladius.Results`, whose module imports this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gladius.model.estimate import Diagnostics
from gladius.model.state_anchor import StateAnchor
from gladius.own_data.results.inference import Kind, in_words
from gladius.panel.anchor import nearest
from gladius.panel.record import Transitions, action_labels
from gladius.validate import Array, InputError

OFF_CENTRE = (
    "Intervals allow for what r-hat smooths or leaves out, so that it may not be in the middle."
)
VALUES = 5  # of a feature with more, the reward is shown at as many quantiles


def line_of(data: Transitions, column: str) -> tuple[list[Any], Array]:
    """(values, states): the observed values of a column of the table, or its labels.

    Other features are those of the observed state that is nearest to their medians.

    Raises:
        InputError: the data have no such column.
    """
    if column not in data.columns:
        raise InputError("feature", column, f"choose one of {list(data.columns)}")
    own, levels = list(data.features_of_columns[column]), data.categories.get(column, ())
    middle = data.states[nearest(data.states, np.median(data.states, axis=0)[None])]
    if levels:  # the first has no feature of its own
        states = np.repeat(middle, len(levels), axis=0)
        states[:, own] = np.eye(len(levels))[:, 1:]
        return list(levels), states
    values = np.unique(data.states[:, own[0]])
    states = np.repeat(middle, len(values), axis=0)
    states[:, own[0]] = values
    return values.tolist(), states


def lines_of(data: Transitions, most: int, columns: Sequence[str] = ()) -> tuple[list[str], Array]:
    """`column = value`, and states, along columns, by default all; `most` values of each."""
    index, blocks = list[str](), list[Array]()
    for column in columns or data.columns:
        values, states = line_of(data, column)
        chosen = np.unique(np.linspace(0, len(values) - 1, most).round().astype(int))
        index += [f"{column} = {_short(values[i])}" for i in chosen]
        blocks.append(states[chosen])
    return index, np.concatenate(blocks)


def text_of(results: Any, level: float, kind: Kind) -> str:
    """One screen."""
    run, data = results.diagnostics, results.data
    anchor = "by state"
    if results.exchange is None and not isinstance(results.anchor, StateAnchor):
        anchor = str((data.action_names or range(data.number_of_actions))[results.anchor.action])
    counted = ", by counts without smoothing" if run.extra.get("smoothed") is False else ""
    lines = [
        f"{results.method}{counted}: {status_of(run)}",
        f"{len(data):,} observations, {len(np.unique(data.trajectory)):,} trajectories, discount"
        f" {results.discount:g}, anchor action {anchor}",
        f"log-likelihood {results.llf:,.3f}, {run.iterations} iterations",
        *_selection(results),
    ]
    word = "robust" if results.weights and kind == "model" else kind
    if results.weights:
        lines[-1:] = [lines[-1], f"sampling weights: {results.weights}"]
    has_errors = results.has_reward_errors and not run.status.startswith("failed")
    if has_errors and results.has_parameter_errors:
        frame = results.to_frame(level=level, kind=kind)
        lines += ["", frame.to_string(float_format=lambda x: f"{x:.4g}")]
        lines.append(f"Standard errors: {in_words(word)}. Interval: {level:.0%}.")
    elif "theta" in run.extra:
        lines += ["", results.params.to_string(float_format=lambda x: f"{x:.4g}")]
    if not run.status.startswith("failed"):
        table, missing = reward_table(results, level, kind, has_errors)
        has_errors &= not missing.all()  # else a warning has said why there are none
        lines += ["", table.to_string()]
        brackets = f"In brackets: {level:.0%} intervals ({in_words(word)})" if has_errors else ""
        lines.append(f"Reward: other features near their medians. {brackets}".rstrip())
        if has_errors and missing.any():
            lines.append("[none]: too few choices are observed there for an interval.")
        if has_errors and (run.extra.get("smoothed") or "reward_inputs" in run.extra):
            lines.append(OFF_CENTRE)
    return "\n".join(lines)


def status_of(run: Diagnostics) -> str:
    """The status, with what it is not ok because of."""
    reasons = run.extra.get("not_ok_because")
    if not isinstance(reasons, tuple) or not reasons:
        return run.status
    return f"{run.status}, because {'; '.join(map(str, reasons))}"


def _selection(results: Any) -> Iterator[str]:
    """Which features a fit on observations selected, and what contradicts it most."""
    extra, names = results.diagnostics.extra, results.data.feature_names
    for key, what in (("reward_inputs", "r"), ("zeta_inputs", "what comes next")):
        chosen = extra.get(key)
        if isinstance(chosen, tuple):
            yield f"features of {what}: {', '.join(names[k] for k in chosen) or 'none'}"
    misfit = extra.get("misfit_p_values")
    if isinstance(misfit, dict) and misfit:
        worst = min(misfit, key=lambda key: float(misfit[key]))
        yield f"least p-value of misfit: {misfit[worst]:.2g}, along {_named(worst, names)}"


def _named(key: Any, names: tuple[str, ...]) -> str:
    """One feature by its number, or columns by their names."""
    if isinstance(key, tuple):
        return " and ".join(key) if len(key) == 2 else f"a sum of {len(key)} columns"
    return str(names[key])


def reward_table(
    results: Any, level: float, kind: Kind, has_errors: bool
) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """r-hat of each action along columns of the table, with intervals where there are some.

    They are those on which r-hat depends, where a fit selects them, and otherwise all. The second
    table says which intervals are missing.
    """
    data = results.data
    inputs = results.diagnostics.extra.get("reward_inputs", range(len(data.feature_names)))
    columns = [name for name, own in data.features_of_columns.items() if {*own} & {*inputs}]
    index, states = lines_of(data, VALUES, columns or data.columns[:1])
    texts = np.vectorize("{:.3g}".format, otypes=[object])(results.reward_function(states))
    missing = np.zeros(texts.shape, dtype=bool)
    if has_errors:
        low, high = results.interval(states, level=level, kind=kind)
        for at in map(tuple, np.argwhere(high > low)):
            texts[at] = f"{texts[at]} [{low[at]:.3g}, {high[at]:.3g}]"
        missing = np.isnan(high)
        texts[missing & (not missing.all())] += " [none]"
    return pd.DataFrame(texts, index=index, columns=list(action_labels(data))), missing


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
