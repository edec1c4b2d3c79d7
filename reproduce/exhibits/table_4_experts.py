"""What the experts of Table 4 are worth: returns over 1,000 episodes beside the paper's.

`bundled` are the weights of this package, RL-Zoo's; `zoo` are zips of Stable-Baselines3 in the
folder that the environment variable EXPERTS_FOLDER names, without their normaliser, a pickle.
"""

import os
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from gladius.worlds.gym import ENVIRONMENTS
from reproduce import layout
from reproduce.demonstrations import DENOMINATORS
from reproduce.results import Results
from reproduce.spec import Cell, Entry, Exhibit

NAME = "table_4_experts"
FOLDER = "EXPERTS_FOLDER"
EPISODES, SMOKE_EPISODES = 1000, 4
DEVIATIONS = {"CartPole-v1": "0", "Acrobot-v1": "27.55", "LunarLander-v3": "73.77"}  # Section 7
NOTES = (
    "Undiscounted return, mean (standard error) over episodes on common seeds; the paper's as"
    " printed (standard deviation), its LunarLander v2.",
    "Table 4's demonstrations are the deterministic expert's, on Acrobot without the normaliser.",
    "bundled: RL-Zoo's weights, as the paper's experts were. Zips of a folder (`zoo`) have a column"
    f" of their own where {FOLDER} names it; those of the hub need a network and are not shown.",
)


def entries(smoke: bool) -> list[Entry]:
    """Environment by environment."""
    listed = []
    named: dict[str, dict[str, str]] = {"bundled": {}}
    if FOLDER in os.environ:
        named["zoo"] = {"folder": os.environ[FOLDER]}
    for name, (source, more) in product(ENVIRONMENTS, named.items()):
        told = {"environment": name, "episodes": SMOKE_EPISODES if smoke else EPISODES}
        cell = Cell("reproduce.experts:measure", {**told, "source": source, **more})
        listed.append(Entry(name, source, "measured", cell, "return"))
    return listed


def render(results: Results, out: Path) -> None:
    """Environments and ways to follow them by sources."""
    frame = results.frame()
    parts = frame["statistic"].str.partition(", ")
    frame = frame.assign(followed=parts[2], text=[layout.text(row) for _, row in frame.iterrows()])
    frame = frame[parts[0] != "steps"]
    index = ["row", "followed"]
    table = frame.pivot_table("text", index, "column", "first", sort=False).fillna("")
    places = table.index.get_level_values("row")
    table["paper"] = [f"{DENOMINATORS[name]:.2f} ({DEVIATIONS[name]})" for name in places]
    table.index.names, table.columns.name = ["environment", "followed"], None
    layout.write(table, out, NAME, EXHIBIT.title, NOTES)


def verdict(folder: Path) -> str:
    """The return of each that comes nearest to the printed one; then how it is followed."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    frame = frame[frame["statistic"].str.startswith("return, ")]
    told, ways = [], []
    for name, part in frame.groupby("row", sort=False):
        printed = DENOMINATORS[str(name)]
        nearest = int(np.argmin(np.abs(part["value"].to_numpy(float) - printed)))
        value, how = part["value"].iloc[nearest], part["statistic"].iloc[nearest]
        told.append(f"{name} {value:.1f} ({printed:g})")
        ways.append(f"{name} {how.removeprefix('return, ')}")
    if not told:
        return "not run"
    return f"nearest to the paper's: {', '.join(told)}\nthese are: {'; '.join(ways)}"


EXHIBIT = Exhibit(
    NAME,
    "The experts of Table 4",
    entries,
    cost=3.0,
    render=render,
    verdict=verdict,
    tolerance=1e-2,
)
