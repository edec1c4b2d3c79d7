"""Two figures of a fit: the reward against a feature, and choices against their frequencies.

Both take matplotlib axes, or make them, and return them.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from gladius.own_data.results.results import Results
from gladius.own_data.results.summary import line_of
from gladius.panel.record import action_labels, index_rows
from gladius.validate import InputError

MOST_POINTS = 60  # states of the observed shares; more are pooled by quantiles of the feature


def _axes(axes: Axes | None) -> Axes:
    """The axes; without any, those of a new figure, which a notebook shows."""
    if isinstance(axes, Axes):
        return axes
    if axes is not None:
        raise InputError("axes", axes, "give matplotlib axes; a column's name is `feature`")
    import matplotlib.pyplot as plt

    return plt.figure(layout="constrained").subplots()


def _plain(text: object) -> str:
    """A name as it is, in which matplotlib takes no `$` for the begin of a formula."""
    return str(text).replace("$", r"\$")


def plot_reward(results: Results, axes: Axes | None = None, feature: str | None = None) -> Axes:
    """r-hat of each action against a feature, with a 95 % band where there are standard errors.

    Args:
        results: of `gladius.fit`.
        axes: to draw on; new ones by default.
        feature: the column of the table, by default the first. Other features are those of the
            observed state nearest to their medians.

    Raises:
        InputError: the data have no such feature.
    """
    axes, column = _axes(axes), feature or results.data.columns[0]
    x, states = line_of(results.data, column)
    x = list(map(_plain, x)) if column in results.data.categories else x
    names, reward = action_labels(results.data), results.reward_function(states)
    band = results.interval(states) if results.has_reward_errors else None
    for action in range(reward.shape[1]):
        (line,) = axes.plot(x, reward[:, action], label=_plain(names[action]))
        if band is not None:
            low, high = (end[:, action] for end in band)
            axes.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set_xlabel(_plain(column))
    axes.set_ylabel("estimated reward")
    axes.legend()
    return axes


def plot_choices(results: Results, axes: Axes | None = None, feature: str | None = None) -> Axes:
    """Estimated choice probabilities averaged over observations, and observed shares.

    Args and errors are those of `plot_reward`.
    """
    axes, data, names = _axes(axes), results.data, action_labels(results.data)
    column = feature or data.columns[0]
    values, at = line_of(data, column)
    own = list(data.features_of_columns[column])
    x, is_label = data.states[:, own[0]], column in data.categories
    if is_label:  # the number of its label
        x = np.argmax((data.states[:, None, own] == at[:, own]).all(axis=2), axis=1).astype(float)
    elif len(np.unique(x)) > MOST_POINTS:
        edges = np.unique(np.quantile(x, np.linspace(0, 1, MOST_POINTS + 1)))
        x = edges[np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)]
    points, (index,) = index_rows([x[:, None]])
    number = np.bincount(index)
    states, (of_row,) = index_rows([data.states])
    policy = results.policy(states)[of_row]
    for action in range(data.number_of_actions):
        share = np.bincount(index, data.actions == action) / number
        mean = np.bincount(index, policy[:, action]) / number
        at_points = [_plain(values[int(k)]) for k in points[:, 0]] if is_label else points[:, 0]
        (line,) = axes.plot(at_points, mean, label=_plain(names[action]))
        size = 4 + 60 * number / number.max()
        axes.scatter(at_points, share, s=size, color=line.get_color(), alpha=0.6)
    axes.set_xlabel(_plain(column))
    axes.set_ylabel("probability (points: observed shares)")
    axes.legend()
    return axes
