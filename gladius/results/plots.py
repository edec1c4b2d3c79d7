"""Two figures of a fit: the reward against a feature, and choices against their frequencies.

Both take matplotlib axes, or make them, and return them.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gladius.panel.anchor import nearest
from gladius.panel.record import index_rows
from gladius.results.results import Results
from gladius.validate import Array, InputError

MOST_POINTS = 60  # states of the observed shares; more are pooled by quantiles of the feature


def _axes(axes: Axes | None) -> Axes:
    return Figure(layout="constrained").subplots() if axes is None else axes


def _column(results: Results, feature: str | None) -> int:
    names = results.data.feature_names
    if feature is not None and feature not in names:
        raise InputError("feature", feature, f"choose one of {list(names)}")
    return 0 if feature is None else names.index(feature)


def _labels(results: Results) -> tuple[str, ...]:
    data = results.data
    return data.action_names or tuple(f"action {a}" for a in range(data.number_of_actions))


def _line(results: Results, column: int) -> Array:
    """Observed values of one feature, the others as in the state nearest to their medians."""
    states = results.data.states
    values = np.unique(states[:, column])
    middle = states[nearest(states, np.median(states, axis=0)[None])]
    line = np.repeat(middle, len(values), axis=0)
    line[:, column] = values
    return line


def plot_reward(results: Results, axes: Axes | None = None, feature: str | None = None) -> Axes:
    """r-hat of each action against a feature, with a 95 % band where there are standard errors.

    Args:
        results: of `gladius.fit`.
        axes: to draw on; new ones by default.
        feature: its name, by default the first. Other features are those of the
            observed state nearest to their medians.

    Raises:
        InputError: the data have no such feature.
    """
    axes, column = _axes(axes), _column(results, feature)
    states, names = _line(results, column), _labels(results)
    reward, x = results.reward_function(states), states[:, column]
    frame = results.reward_frame(states) if results.has_reward_errors else None
    for action in range(reward.shape[1]):
        (line,) = axes.plot(x, reward[:, action], label=names[action])
        if frame is not None:
            band = frame[frame["action"] == action]
            axes.fill_between(
                x, band["low"], band["high"], color=line.get_color(), alpha=0.2, linewidth=0
            )
    axes.set_xlabel(results.data.feature_names[column])
    axes.set_ylabel("estimated reward")
    axes.legend()
    return axes


def plot_choices(results: Results, axes: Axes | None = None, feature: str | None = None) -> Axes:
    """Estimated choice probabilities averaged over observations, and observed shares.

    Args and errors are those of `plot_reward`.
    """
    axes, column = _axes(axes), _column(results, feature)
    data, names = results.data, _labels(results)
    x = data.states[:, column]
    if len(np.unique(x)) > MOST_POINTS:
        edges = np.unique(np.quantile(x, np.linspace(0, 1, MOST_POINTS + 1)))
        x = edges[np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)]
    points, (index,) = index_rows([x[:, None]])
    number = np.bincount(index)
    states, (of_row,) = index_rows([data.states])
    policy = results.policy(states)[of_row]
    for action in range(data.number_of_actions):
        share = np.bincount(index, data.actions == action) / number
        mean = np.bincount(index, policy[:, action]) / number
        (line,) = axes.plot(points[:, 0], mean, label=names[action])
        size = 4 + 60 * number / number.max()
        axes.scatter(points[:, 0], share, s=size, color=line.get_color(), alpha=0.6)
    axes.set_xlabel(data.feature_names[column])
    axes.set_ylabel("probability (points: observed shares)")
    axes.legend()
    return axes
