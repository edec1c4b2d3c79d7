"""The figure of `counterfactual`: new policies above, welfare losses below, a column a change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gladius import BusEngine
from gladius.counterfactual import Change, changed, welfare
from gladius.worlds.bus import REPLACE
from reproduce.comparison import CRITICAL
from reproduce.exhibits import _figures
from reproduce.exhibits._counterfactual import (
    CHANGES,
    ESTIMATED,
    IN_DATA,
    KEPT,
    LOSS,
    OFFLINE,
    SOFT,
    label,
)
from reproduce.store import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Found = Mapping[tuple[str, str], Stored]  # (N, column)
SHOWN = 12  # mileages; beyond them hardly anyone comes
FLOOR = 1e-5  # losses are drawn no lower
# (name, column, solver, colour, marker), from the worst that the paper expects to the best
LINES = (
    ("BC, kept", "BC", KEPT, _figures.GREY, "X"),
    ("BC (log pi), soft Q in data", "BC", IN_DATA, _figures.PURPLE, "P"),
    ("BC (log pi), plan with P-hat", "BC", ESTIMATED, _figures.PURPLE, "P"),
    ("GLADIUS, CQL 1", "GLADIUS", "CQL 1", _figures.ORANGE, "v"),
    ("GLADIUS, CQL .1", "GLADIUS", "CQL .1", _figures.ORANGE, "^"),
    ("GLADIUS, soft Q", "GLADIUS", SOFT, _figures.VERMILION, "s"),
    ("GLADIUS, soft Q in data", "GLADIUS", IN_DATA, _figures.VERMILION, "o"),
    ("GLADIUS, plan with P-hat", "GLADIUS", ESTIMATED, _figures.BLUE, "D"),
    ("Rust, plan with P-hat", "Rust", ESTIMATED, _figures.SKY, "<"),
    ("Plug-in, soft Q in data", "Plug-in", IN_DATA, _figures.GREEN, "o"),
    ("Plug-in, plan with P-hat", "Plug-in", ESTIMATED, _figures.GREEN, "D"),
)
POLICIES = {  # drawn above, by whether P changes
    False: (LINES[3], LINES[6], LINES[1]),
    True: (LINES[7], LINES[2]),
}


def draw(found: Found, out: Path, name: str) -> list[Path]:
    """Two rows of panels.

    Args:
        found: what is stored for each N and column, of the cells that have a result.
        out: folder of the files.
        name: of the files.
    """
    sizes = sorted({int(row) for row, _ in found if row.isdigit()})
    figure = _figures.new(_figures.PAGE * 1.35, 5.6)
    rows = figure.subplots(2, len(CHANGES), squeeze=False, sharey="row", height_ratios=(1, 1.35))
    for upper, lower, change in zip(*rows, CHANGES, strict=True):
        upper.set_title(change.name, fontsize=_figures.FONT + 1)
        if sizes:
            _policies(upper, found, change, str(sizes[-1]))
            _losses(lower, found, change, [str(n) for n in sizes])
        for axes in (upper, lower):
            axes.tick_params(labelsize=_figures.FONT)
            axes.grid(alpha=0.25, linewidth=0.4)
    rows[0, 0].set_ylabel("probability of replacing", fontsize=_figures.FONT)
    figure.suptitle(
        "Answers to a change of the reward (left two) and of P (right two)",
        fontsize=_figures.FONT + 2,
    )
    return _figures.save(figure, out, name)


def _policies(axes: Axes, found: Found, change: Change, row: str) -> None:
    world = BusEngine()
    x = np.arange(1, SHOWN + 1)
    old, new = world.mdp.solution.policy, changed(world.mdp, change).solution.policy
    axes.plot(x, old[:SHOWN, REPLACE], ":", color="black", linewidth=1, label="old policy")
    axes.plot(x, new[:SHOWN, REPLACE], color="black", linewidth=1.6, label="best new policy")
    for name, column, solver, colour, marker in POLICIES[change.law is not None]:
        stored, key = found.get((row, column)), label("replacement", change.name, solver)
        if stored is not None and key in stored.result.arrays:
            drawn = stored.result.arrays[key][:SHOWN]
            axes.plot(
                x, drawn, color=colour, marker=marker, markersize=3.5, linewidth=0.7, label=name
            )
    axes.set_xticks(range(2, SHOWN + 1, 2))
    axes.set_xlabel(f"mileage (means at N = {int(row):,})", fontsize=_figures.FONT)
    axes.set_ylim(-0.03, 1.03)
    axes.legend(fontsize=_figures.FONT - 1.5, frameon=False, loc="lower right")


def _losses(axes: Axes, found: Found, change: Change, sizes: list[str]) -> None:
    """Filled: the most trajectories; hollow: fewer."""
    for place, (_, column, solver, colour, marker) in enumerate(reversed(LINES)):
        if change.law is not None and solver in OFFLINE:
            axes.text(
                0.03,
                place,
                "no moves of the new P",
                transform=axes.get_yaxis_transform(),
                va="center",
                color="0.5",
                fontsize=_figures.FONT - 1.5,
            )
            continue
        for row in sizes:
            stored = found.get((row, column))
            values = stored and stored.result.replications.get(label(LOSS, change.name, solver))
            if not values or not np.all(np.isfinite(values)):
                continue
            mean = float(np.mean(values))
            half = CRITICAL * float(np.std(values, ddof=1)) / len(values) ** 0.5
            low = min(half, 0.9 * mean) if mean > FLOOR else 0.0
            last = row == sizes[-1]
            axes.errorbar(
                max(mean, FLOOR),
                place + (0.0 if last else 0.22),
                xerr=[[low], [half]],
                color=colour,
                marker=marker,
                markersize=4,
                markerfacecolor=colour if last else "white",
                elinewidth=0.8,
            )
    world = BusEngine()
    new = changed(world.mdp, change)
    kept = float(new.solution.v[0]) - welfare(new, world.mdp.solution.policy)
    axes.axvline(kept, color="black", linestyle=":", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(LINES)), [line[0] for line in reversed(LINES)])
    axes.set_ylim(-0.6, len(LINES) - 0.4)
    few = " and ".join(f"{int(n):,}" for n in sizes[:-1])
    hollow = f"; hollow: {few}" if few else ""
    axes.set_xlabel(
        f"welfare loss (N = {int(sizes[-1]):,}{hollow})\nbars: 95 %; dotted: old policy kept",
        fontsize=_figures.FONT,
    )
