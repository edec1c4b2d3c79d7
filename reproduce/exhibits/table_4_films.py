"""Film strips of Table 4: one episode of the expert, of BC and of GLADIUS in each environment.

All three start alike. BC and GLADIUS have learned from one demonstration, the first seed's.
"""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection

from gladius.worlds.gym import ENVIRONMENTS
from reproduce import layout
from reproduce.demonstrations import STREAM
from reproduce.exhibits import table_4
from reproduce.results import Results
from reproduce.spec import Array, Cell, Entry, Exhibit

NAME = "table_4_films"
TOLD: Mapping[str, dict[str, Any]] = {
    "Expert": {},
    "BC": {"method": "bc"},
    "GLADIUS": {"method": "gladius", "options": {"function_class": "mlp_rows"}},
}
FRAMES = 30


def entries(smoke: bool) -> list[Entry]:
    """Environment by environment."""
    listed = []
    for name, (column, told) in product(ENVIRONMENTS, TOLD.items()):
        budgets = (table_4.SMOKE_BUDGETS if smoke else table_4.BUDGETS).get(told.get("method", ""))
        budget = budgets[-1] if budgets else 0
        shared = {"environment": name, "trajectories": 1, "repetitions": 1, "budget": budget}
        named = {**told, **shared, "seeds": STREAM, "seeds_row": f"{name}/1"}
        cell = Cell("reproduce.imitation:film", named, f"{column}, {name}, film")
        protocol = "leak_free" if told else "measured"
        listed.append(Entry(name, column, protocol, cell, "return"))
    return listed


def lines(name: str, states: Array) -> Array:
    """(n, points, 2) what is drawn of each state: pole, both links, or the lander's body."""
    if name == "CartPole-v1":
        x, angle = states[:, 0], states[:, 2]
        joints = [(x, 0 * x), (x + np.sin(angle), np.cos(angle))]
    elif name == "Acrobot-v1":
        first = np.arctan2(states[:, 1], states[:, 0])
        both = first + np.arctan2(states[:, 3], states[:, 2])
        x, y = np.sin(first), -np.cos(first)
        joints = [(0 * x, 0 * x), (x, y), (x + np.sin(both), y - np.cos(both))]
    else:
        (x, y), angle = states[:, :2].T, states[:, 4]
        wing = 0.06 * np.cos(angle), 0.06 * np.sin(angle)
        joints = [(x - wing[0], y - wing[1]), (x + wing[0], y + wing[1])]
    return np.stack([np.stack(joint, axis=1) for joint in joints], axis=1)


def render(results: Results, out: Path) -> None:
    """A row for each environment; from early (dark) to late (bright)."""
    figure = layout.new_figure(layout.PAGE, 6.4)
    panels = figure.subplots(len(results.rows), len(TOLD), squeeze=False)
    places = dict(zip(product(results.rows, TOLD), panels.flat, strict=True))
    for entry, stored in results:
        axes, states = places[entry.row, entry.column], stored.result.arrays.get("states")
        layout.words(axes, title=f"{entry.row}, {entry.column}")
        if states is None:
            continue
        shown = np.linspace(0, len(states) - 1, min(FRAMES, len(states))).astype(int)
        drawn = LineCollection([*lines(entry.row, states[shown])], array=shown, linewidths=1.2)
        axes.add_collection(drawn)
        axes.autoscale_view()
        axes.set_aspect("equal", adjustable="datalim")
        told = ", ".join(f"{r.statistic} {r.value:.0f}" for r in stored.result.records)
        axes.set_xlabel(told, fontsize=layout.FONT)
    layout.save(figure, out, NAME)


EXHIBIT = Exhibit(NAME, "Episodes of Table 4", entries, cost=0.5, render=render)
