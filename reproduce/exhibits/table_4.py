"""Table 4: imitation by profiled ERM, IQ-learn and BC on LunarLander, CartPole and Acrobot.

What is learned from what is in `imitation`, the scores are in `demonstrations`. The unit is the
training seed, given the 100 episodes on which every policy is evaluated: ten seeds, twelve with one
or three demonstrations. Two methods have the same demonstrations and are compared seed by seed by
Student's t, with Holm's correction over all rows and pairs. The printed table gets the same
question: z from its deviations over a hundred episodes, and Holm's correction.

GLADIUS is the first author's public procedure (`gym_trainings`, whose docstring has the rules of
the comparison). Its numbers take hours: only a run with --long computes those that are not stored.
A short form, which shows that the procedure runs, is compared with nothing.

Implementation choices:

- The paper's row "1" was logged with two trajectories by its code, so LunarLander has both rows.
- Budgets are what half an hour of two cores allows, set on seeds of no exhibit. They are not equal:
  a step of BC or IQ-learn has 256 observations (.0006 and .0011 CPU-s a seed), one of profiled ERM
  up to 2,048 states (.0006 to .006 CPU-s).
- Profiled ERM starts at the minimum over linear rewards, so it is compared with the BC of the same
  class and start (`BC, row network`), and IQ-learn with the BC that is trained as IQ-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from gladius.paper.imitation import WORLDS as WORLDS_OF_CODE
from reproduce.cells.demonstrations import DENOMINATORS, row
from reproduce.cells.gym_trainings import (
    BEST,
    BEST_EPOCH,
    LAST,
    OPTIMALITY,
    ROWS,
    SHORT,
    TABLE,
    optimality,
    training,
)
from reproduce.cells.imitation import imitation_cell
from reproduce.drawing import layout
from reproduce.drawing.notes import notes
from reproduce.engine.nouns import (
    SEVERITY,
    SHORT_FORM,
    Array,
    Cell,
    Entry,
    Exhibit,
    Record,
    Result,
    short_form,
    summarise,
)
from reproduce.engine.view import View
from reproduce.paper import published
from reproduce.paper.published import OURS
from reproduce.paper.targets import LEVEL, holm, interval, paired

NAME = "table_4"
METHODS = {OURS: "profiled_erm", "IQ-learn": "iq_learn", "BC": "bc"}
SAME_CLASS = "BC, row network"
COLUMNS = (*METHODS, SAME_CLASS)
PAIRS = (
    (SAME_CLASS, OURS),
    ("BC", OURS),
    ("BC", "IQ-learn"),
    (OURS, "IQ-learn"),
    ("BC", "Gladius"),  # the paper's alone, as the next: our GLADIUS is chosen by returns
    ("Gladius", "IQ-learn"),
)
WORLDS = ("LunarLander-v3", "CartPole-v1", "Acrobot-v1")
LESS_IS_BETTER = "Acrobot"  # of the paper's measure
SIZES = (1, 3, 7, 10, 15)
MORE_SIZES = {"LunarLander-v3": (1, 2, 3, 7, 10, 15)}
SEEDS, MANY, FEW_DEMONSTRATIONS = 10, 12, (1, 3)
STEPS = {"profiled_erm": 375, "iq_learn": 1500, "bc": 1500}
SMOKE_STEPS = {"profiled_erm": 2, "iq_learn": 4, "bc": 4}
EPISODES = 100
LEARNED, EXPERT, GLADIUS = "leak_free", "Expert", "Gladius"
# protocol of a training -> its loss, and whether it is under the logged configuration
TRAININGS = {
    f"author {loss}{'' if is_logged else ' other'}": (loss, is_logged)
    for is_logged in (True, False)
    for loss in (TABLE, ROWS)
}
SHORT_PROTOCOL = f"author {SHORT_FORM}, {SHORT['epochs']} epochs"
# the columns of GLADIUS: protocol -> heading
SHOWN = {
    f"author {TABLE} {BEST}": "best network",
    f"author {TABLE} {LAST}": "last",
    f"author {ROWS} {BEST}": "row by row",
}
EXPERT_EPISODES, SMOKE_EPISODES = 1000, 2
# the experts' returns that Section 7 prints, with their deviations, and the rule nearest to each
EXPERTS = {
    "LunarLander-v3": ("232.77 (73.77)", "sampled, both legs down -> action 0"),
    "CartPole-v1": ("500.00 (0)", "sampled"),
    "Acrobot-v1": ("-82.80 (27.55)", "sampled, without the normaliser"),
}


def entries(smoke: bool) -> list[Entry]:
    """Environment by environment; then the experts'."""
    listed = []
    for name in WORLDS[1:2] if smoke else WORLDS:
        sizes = MORE_SIZES.get(name, SIZES)
        for size in (1,) if smoke else sizes:
            for column in COLUMNS:
                method = METHODS.get(column, "profiled_erm")
                times = 2 if smoke else MANY if size in FEW_DEMONSTRATIONS else SEEDS
                cell = imitation_cell(
                    method,
                    name,
                    size,
                    times,
                    (SMOKE_STEPS if smoke else STEPS)[method],
                    SMOKE_EPISODES if smoke else EPISODES,
                    restricted=column in METHODS,
                )
                listed.append(Entry(row(name, size), column, LEARNED, cell, OPTIMALITY))
            for protocol, (loss, is_logged) in ({} if smoke else TRAININGS).items():
                cell = training(name, size, loss, is_logged=is_logged)
                listed.append(Entry(row(name, size), GLADIUS, protocol, cell, OPTIMALITY))
        if name == WORLDS[1]:
            cell = short_form(training(name, 1, TABLE), **SHORT)
            listed.append(Entry(row(name, 1), GLADIUS, SHORT_PROTOCOL, cell, OPTIMALITY))
    for name in WORLDS[1:2] if smoke else WORLDS:
        episodes = SMOKE_EPISODES if smoke else EXPERT_EPISODES
        settings = {"environment": name, "episodes": episodes}
        cell = Cell("expert", settings, f"expert, {name}")
        listed.append(Entry(name, EXPERT, "measured", cell, "return"))
    return listed


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The records; of a training those of the chosen network and of the last, and the epoch."""
    if entry.column != GLADIUS or BEST_EPOCH not in result.replications:
        return result.records
    found = []
    for end in (BEST, LAST):
        returns = list(result.replications[f"return {end}"])
        records = optimality(entry.cell.settings["environment"], returns)
        found += [replace(record, protocol=f"{entry.protocol} {end}") for record in records]
    chosen = summarise(BEST_EPOCH, result.replications[BEST_EPOCH], ["ok"] * len(returns))[0]
    return (*found, replace(chosen, protocol=f"{entry.protocol} {BEST}"))


def rows_of(results: View) -> list[str]:
    """The rows with demonstrations."""
    return [label for label in results.rows if "/" in label]


def scores(results: View) -> dict[tuple[str, str], Array]:
    """(row, column) -> (seeds,) scores, of the cells that were run."""
    return {
        (entry.row, entry.column): np.array(stored.result.replications["score"])
        for entry, stored in results
        if "score" in stored.result.replications
    }


def compare_pairs(scores_of: dict[tuple[str, str], Array]) -> pd.DataFrame:
    """Every pair in every row, ours and the paper's: lead, its error, p and Holm's p."""
    printed = published.with_errors(published.load(NAME))
    printed = printed[printed["statistic"] == OPTIMALITY].set_index(["row", "column"])
    lines = []
    for label, pair in product(dict.fromkeys(label for label, _ in scores_of), PAIRS):
        both = [(label, name) for name in pair]
        ours = theirs = (np.nan,) * 3
        if set(both) <= set(printed.index):
            theirs = _printed_lead(label, printed.loc[both])
        if set(both) <= set(scores_of):
            ours = paired(*(scores_of[key] for key in both))
        lines.append((label, *pair, *ours, *theirs))
    names = ["row", "first", "second", "lead", "se", "p", "paper lead", "paper z", "paper p"]
    table = pd.DataFrame(lines, columns=pd.Index(names)).dropna(subset=["p", "paper p"], how="all")
    for column in ("p", "paper p"):
        table[f"{column} Holm"] = np.nan
        present = table[column].notna()
        table.loc[present, f"{column} Holm"] = holm(table.loc[present, column].to_numpy(float))
    return table


def _printed_lead(row: str, printed: pd.DataFrame) -> tuple[float, float, float]:
    """(lead of the first of two lines of the published table, larger is better; z; p)."""
    first, second = printed["number"]
    lead = float(second - first if row.startswith(LESS_IS_BETTER) else first - second)
    se = float(np.hypot(*printed["se"].astype(float)))
    z = lead / se if se > 0 else 0.0  # without spread the printed means are equal
    return lead, z, float(2 * stats.norm.sf(abs(z)))


def render(results: View, out: Path) -> None:
    """The table; pairs as CSV; the scores as strips."""
    of_seeds = scores(results)
    printed = published.load(NAME).set_index(["row", "column", "statistic"])["value"].to_dict()
    frame = results.frame()
    ours = {
        (line["row"], line["column"]): layout.text(line)
        for _, line in frame.iterrows()
        if line["statistic"] == OPTIMALITY or line["status"] not in SEVERITY[:2]
    }
    trained = {
        (line["row"], line["protocol"]): layout.text(line)
        for _, line in frame[frame["column"].eq(GLADIUS)].iterrows()
        if line["statistic"] == OPTIMALITY
    }
    rows = rows_of(results)
    table: dict[tuple[str, str], list[str]] = {}
    for column in (GLADIUS, *COLUMNS):
        head = "GLADIUS" if column == GLADIUS else column
        if column in published.COUNTERPARTS[NAME]:
            both = (
                [printed.get((label, column, f"{OPTIMALITY}{s}"), "") for s in ("", " sd")]
                for label in rows
            )
            table[head, "paper"] = [f"{value} ({sd})" if value else "" for value, sd in both]
        if column == GLADIUS:
            for protocol, heading in SHOWN.items():
                table[head, heading] = [trained.get((r, protocol), "not run") for r in rows]
            continue
        if column != SAME_CLASS:  # it has no printed number; the CSV has its measure
            table[head, "ours"] = [ours.get((label, column), "not run") for label in rows]
        table[head, "score"] = [
            _text(of_seeds[label, column]) if (label, column) in of_seeds else "" for label in rows
        ]
    pairs = compare_pairs(of_seeds)
    split = [(name.partition("-")[0], size) for name, _, size in (r.partition("/") for r in rows)]
    index = pd.MultiIndex.from_tuples(split, names=["environment", "trajectories"])
    lines = pd.DataFrame(table, index)
    divisors = ", ".join(f"{name[:-3]} {x:g}" for name, x in DENOMINATORS.items())
    below = (*notes(NAME, divisors=divisors), *experts(frame), *leads(pairs))
    layout.write(lines, out, NAME, EXHIBIT.title, below)
    layout.write_csv(pairs, out / f"{NAME}_pairs.csv")
    _draw(results, out)


# method -> label of its strip
STRIPS = {GLADIUS: "GLADIUS, public procedure", OURS: "profiled ERM"}
STRIPS |= {"IQ-learn": "IQ-learn", "BC": "BC"}
HIGH, ENOUGH = 95.0, 3  # a score near the expert's; demonstrations


def strips(results: View) -> pd.DataFrame:
    """A line for each repetition of STRIPS: game, size, column, score.

    Those of GLADIUS are of the best networks. A score is affine in the return, so that the methods
    that have both give those of its returns.
    """
    lines = list[tuple[str, int, str, float]]()
    both: dict[str, dict[float, float]] = {}
    for entry, stored in results:
        game, _, size = entry.row.partition("/")
        found = stored.result.replications
        if "score" in found:
            both.setdefault(game, {}).update(zip(found["return"], found["score"], strict=True))
        if entry.column in STRIPS:
            lines += [(game, int(size), entry.column, y) for y in found.get("score", ())]
        scores_of = both.get(game, {})  # a game's trainings come after its other methods
        if entry.protocol == f"author {TABLE}" and f"return {BEST}" in found and len(scores_of) > 1:
            line = np.polyfit([*scores_of], [*scores_of.values()], 1)
            of = np.polyval(line, found[f"return {BEST}"])
            lines += [(game, int(size), GLADIUS, float(y)) for y in of]
    return pd.DataFrame(lines, columns=pd.Index(["game", "size", "column", "score"]))


def _draw(results: View, out: Path) -> None:
    """A panel for each environment; in it a strip of dots for each method and number."""
    frame, labels = strips(results), [label.partition("/") for label in rows_of(results)]
    games = list(dict.fromkeys(game for game, _, _ in labels))
    figure = layout.new_figure(layout.WIDTH, 1.3 + 1.7 * len(games))
    panels = figure.subplots(len(games), 1, squeeze=False)[:, 0]
    for axes, game in zip(panels, games, strict=True):
        sizes = [int(size) for name, _, size in labels if name == game]
        for k, (column, label) in enumerate(STRIPS.items()):
            dots = frame[frame["game"].eq(game) & frame["column"].eq(column)]
            colour, marker = layout.LOOKS["GLADIUS" if column == GLADIUS else column]
            style: dict[str, Any] = {"color": colour, "alpha": 0.6, "markeredgewidth": 0}
            x = [sizes.index(size) + 0.2 * (k - 1.5) for size in dots["size"]]
            axes.plot(x, dots["score"], marker, markersize=3.5, label=label, **style)
        axes.set_xticks(range(len(sizes)), [*map(str, sizes)])
        layout.words(axes, "demonstrations", f"score, {game.partition('-')[0]}")
    layout.legend_below(figure, panels[0], 2)
    many, of_gladius = frame[frame["size"] >= ENOUGH], frame["column"].eq(GLADIUS)
    is_moon = frame["game"].str.startswith("LunarLander")
    high = [many["score"][of] >= HIGH for of in (~of_gladius, of_gladius & is_moon)]
    names = ("others", "moon")
    said = {x: f"{sum(of)} of {len(of)}" for x, of in zip(names, high, strict=True)}
    is_so = high[1].mean() < 0.9 < high[0].mean()  # false where there is none
    said |= {"enough": f"{ENOUGH}", "high": f"{HIGH:g}"}
    layout.save(figure, out, NAME, said if is_so else None)


def _text(x: Array) -> str:
    """Mean and its interval."""
    mean, low, high = interval(x)
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def experts(frame: pd.DataFrame) -> list[str]:
    """A sentence on the experts' returns beside the printed ones, of those that were run."""
    texts = []
    for _, line in frame[frame["column"] == EXPERT].iterrows():
        printed, rule = EXPERTS[line["row"]]
        if line["statistic"] == f"return, {rule}":
            texts.append(f"{line['row']}, {rule}: {layout.text(line)}; printed {printed}")
    return [f"Returns of the experts (standard error). {'. '.join(texts)}."] if texts else []


def counts(pairs: pd.DataFrame) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Pair -> rows in which the first leads, those in which it is behind (Holm's test), and all."""
    is_decided = pairs["p Holm"] <= 1 - LEVEL
    found = {}
    for first, second in PAIRS:
        of_pair = (pairs["first"] == first) & (pairs["second"] == second) & pairs["p"].notna()
        if of_pair.any():
            leads, lags = ((of_pair & is_decided & (s * pairs["lead"] > 0)).sum() for s in (1, -1))
            found[first, second] = int(leads), int(lags), int(of_pair.sum())
    return found


def leads(pairs: pd.DataFrame) -> list[str]:
    """A sentence for each pair, on how often either leads."""
    return [
        f"{first} against {second}: higher in {ahead}, lower in {behind} of {rows} rows, by Holm's"
        f" test over {pairs['p'].count()} comparisons."
        for (first, second), (ahead, behind, rows) in counts(pairs).items()
    ]


def verdict(folder: Path) -> str:
    """How many differences between two methods are significant; then every pair."""
    pairs = pd.read_csv(folder / f"{NAME}_pairs.csv")
    times = sum(ahead + behind for ahead, behind, _ in counts(pairs).values())
    if not (of := pairs["p"].count()):
        return "not run"
    brief = f"{times} of {of} differences between methods are significant by Holm's test"
    return "\n".join([brief, *leads(pairs)])


def reason(label: str, column: str, protocol: str) -> str:
    """Why ours is not the paper's."""
    if column == GLADIUS:
        name = next(x for x in WORLDS if label.startswith(x.partition("-")[0]))
        options = WORLDS_OF_CODE[name].logged
        ours = (
            f"the paper's is one training, its epoch picked by hand; ours the best of"
            f" {options.checkpoints} networks in {options.epochs:,} epochs by 20 episodes, beta"
            f" {options.discount:g}, mean over draws of demonstrations"
        )
        return ours + "; the paper's was logged with two trajectories" * label.endswith("/1")
    if label.endswith("/1"):
        return "the paper's was logged with two trajectories, one training, epochs picked by hand"
    return "the paper's is one training, its epochs picked by hand; ours a mean over trainings"


EXHIBIT = Exhibit(
    NAME,
    "Table 4: imitation on gymnasium's environments",
    entries,
    render=render,
    view=view,
    published=NAME,
    reason=reason,
    averaged=published.AVERAGED[NAME],
    verdict=verdict,
    tolerance=1e-2,
)
