"""What a data set says of itself in a line; `gladius` says who reads and writes data frames."""

from importlib import import_module
from typing import Any

import numpy as np

from gladius.panel.record import Transitions, action_labels


def __getattr__(name: str) -> Any:
    """Of whatever reads and writes data frames, which is no part of what checks the paper."""
    return getattr(import_module("gladius").frame, name)


def in_words(data: Transitions) -> str:
    """A line on rows, trajectories, states, gaps and shares of actions."""
    number, states = len(np.unique(data.trajectory)), len(np.unique(data.states, axis=0))
    names = action_labels(data)
    shares = np.bincount(data.actions, minlength=len(names)) / len(data)
    taken = ", ".join(f"{name} {share:.0%}" for name, share in zip(names, shares, strict=True))
    lost, ended = np.count_nonzero(~data.followed), np.count_nonzero(data.done)
    return (
        f"<Transitions: {len(data):,} rows of {number:,} trajectories, {states:,} states of"
        f" {', '.join(data.columns)}; {taken}; {ended:,} ends, {lost:,} rows without a next state>"
    )
