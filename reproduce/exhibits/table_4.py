"""Table 4: imitation by GLADIUS, IQ-learn and BC on LunarLander, CartPole and Acrobot.

What is learned from what, and how it is scored, is in `imitation`. A cell has ten training seeds,
thirty where demonstrations are few (1 and 3). The paper's row "1" was logged with two trajectories
by its code, so that LunarLander has both.

Budgets were fixed on seeds of no exhibit, where scores had been seen: BC gained nothing there from
more than 1,500 steps. The rest is processor time. A step of BC or IQ-learn for ten seeds took .006
and .011 CPU-s; GLADIUS took .4 to 8 CPU-s a seed to begin and .002 to .02 a step, each of which
sees up to 2,048 states in place of 256: so it has a quarter as many steps. A hundred episodes took
.3 CPU-s, of LunarLander 1.7 to 4. That makes 1,700 CPU-s of training and 1,800 of evaluation, half
an hour on two cores, if the earlier budgets are scored on few seeds and episodes (CURVE).

The unit is the training seed. Pairs of methods share demonstrations and are compared seed by seed
by Student's t, with Holm's correction over all cells and pairs; over cells stand the interquartile
mean and the probability that a seed of one method beats one of the other. The printed table is put
to the same question: z from its printed deviations over a hundred episodes, as if another training
would have given the same policy, and Holm's correction.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats

from reproduce import layout, published, seeds
from reproduce.compare import CRITICAL
from reproduce.imitation import DENOMINATORS, GREEDY, POLICIES, SAMPLED, fitting, row
from reproduce.results import Results
from reproduce.seed_statistics import (
    LEVEL,
    holm,
    improvement,
    interquartile_mean,
    interval,
    paired,
    variances,
)
from reproduce.spec import Array, Entry, Exhibit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "table_4"
METHODS = {"Gladius": "gladius", "IQ-learn": "iq_learn", "BC": "bc"}
PAIRS = (("BC", "Gladius"), ("BC", "IQ-learn"), ("Gladius", "IQ-learn"))
WORLDS = ("LunarLander-v3", "CartPole-v1", "Acrobot-v1")
LESS_IS_BETTER = "Acrobot"  # of the paper's measure
SIZES = (1, 3, 7, 10, 15)
MORE_SIZES = {"LunarLander-v3": (1, 2, 3, 7, 10, 15)}
SEEDS, MANY, FEW_DEMONSTRATIONS = 10, 30, (1, 3)
BUDGETS = {"gladius": (60, 150, 375), "iq_learn": (240, 600, 1500), "bc": (240, 600, 1500)}
SMOKE_BUDGETS = (2, 4, 8)
EPISODES, CURVE = 100, (5, 10)  # seeds and episodes of the earlier budgets
ONCE, AGAIN = "leak_free", "leak_free again"


def entries(smoke: bool) -> list[Entry]:
    """Environment by environment; then second trainings on the demonstrations of one trajectory."""
    listed = []
    for name in WORLDS:
        for size in (1,) if smoke else MORE_SIZES.get(name, SIZES):
            for column, method in METHODS.items():
                times = 2 if smoke else MANY if size in FEW_DEMONSTRATIONS else SEEDS
                budgets = SMOKE_BUDGETS if smoke else BUDGETS[method]
                episodes, curve = (3, (1, 2)) if smoke else (EPISODES, CURVE)
                cell = fitting(method, name, size, times, budgets, episodes, curve)
                listed.append(Entry(row(name, size), column, ONCE, cell, "% optimality"))
                if size == 1:
                    times = min(times, SEEDS)
                    again = fitting(method, name, size, times, budgets, episodes, (0, 1), repeat=1)
                    listed.append(Entry(row(name, size), column, AGAIN, again, is_shown=False))
    return listed


def scores(results: Results, policy: str = SAMPLED) -> dict[tuple[str, str], Array]:
    """(row, column) -> (seeds,) scores, of the cells that were run."""
    return {
        (entry.row, entry.column): np.array(stored.result.replications[f"score {policy}"])
        for entry, stored in results
        if entry.protocol == ONCE and f"score {policy}" in stored.result.replications
    }


def judged(known: dict[tuple[str, str], Array]) -> pd.DataFrame:
    """Every pair in every cell, ours and the paper's: lead, its error, p and Holm's p."""
    printed = published.load(NAME).pivot(index="row", columns=["column", "statistic"])["number"]
    lines = []
    for place in dict.fromkeys(place for place, _ in known):
        for first, second in PAIRS:
            if not {(place, first), (place, second)} <= set(known):
                continue
            x, y = known[place, first], known[place, second]
            theirs = (np.nan,) * 3
            if place in printed.index:
                theirs = _printed_lead(printed.loc[place], first, second)
            lines.append((place, first, second, *paired(x, y), improvement(x, y), *theirs))
    names = ["row", "first", "second", "lead", "se", "p", "improvement"]
    table = pd.DataFrame(lines, columns=pd.Index([*names, "paper lead", "paper z", "paper p"]))
    for column in ("p", "paper p"):
        table[f"{column} Holm"] = np.nan
        there = table[column].notna()
        table.loc[there, f"{column} Holm"] = holm(table.loc[there, column].to_numpy(float))
    return table


def _printed_lead(line: pd.Series, first: str, second: str) -> tuple[float, float, float]:
    """(lead in % optimality, larger is better; z; p) from a row of the published table."""
    sign = -1.0 if str(line.name).startswith(LESS_IS_BETTER) else 1.0
    lead = sign * float(line[first, "% optimality"] - line[second, "% optimality"])
    both = (line[first, "% optimality sd"], line[second, "% optimality sd"])
    se = float(np.hypot(*both)) / np.sqrt(EPISODES)
    z = lead / se if se > 0 else 0.0  # without spread the printed means are equal
    return lead, z, float(2 * stats.norm.sf(abs(z)))


def summary(known: dict[tuple[str, str], Array]) -> pd.DataFrame:
    """Interquartile mean of each method by environment and over all, and how often pairs win."""
    lines = []
    groups = {name: row(name, 1).partition("/")[0] for name in WORLDS} | {"all": ""}
    for name, start in groups.items():
        places = [place for place in dict.fromkeys(p for p, _ in known) if place.startswith(start)]
        for column in METHODS:
            strata = [known[place, column] for place in places if (place, column) in known]
            if strata:
                rng = np.random.default_rng(seeds.sequence(NAME, name, 0, column))
                lines.append((name, column, "IQM", *interquartile_mean(strata, rng)))
        for first, second in PAIRS:
            chances = [
                improvement(known[place, first], known[place, second])
                for place in places
                if {(place, first), (place, second)} <= set(known)
            ]
            if chances:
                mean = float(np.mean(chances))
                lines.append((name, f"{first} over {second}", "improvement", mean, np.nan, np.nan))
    columns = ["environment", "method", "statistic", "value", "low", "high"]
    return pd.DataFrame(lines, columns=pd.Index(columns))


def sources(results: Results) -> pd.DataFrame:
    """Standard deviation of a seed's mean return at one trajectory, by its three sources."""
    lines = []
    key = f"return {SAMPLED}"
    for entry, again in results:
        once = results.get(entry.row, entry.column, ONCE).result
        second = again.result.replications.get(key, ())
        if entry.protocol != AGAIN or len(second) < 2 or key not in once.replications:
            continue
        first = np.array(once.replications[key][: len(second)])
        parts = variances(first, np.array(second), once.arrays["episodes"][: len(second)])
        lines.append((entry.row, entry.column, *np.sqrt(np.clip(parts, 0.0, None))))
    columns = ["row", "column", "demonstrations", "training", "episodes"]
    return pd.DataFrame(lines, columns=pd.Index(columns))


def render(results: Results, out: Path) -> None:
    """The table; pairs, summary and variances as CSV; the learning curves."""
    known, greedy = scores(results), scores(results, GREEDY)
    printed = published.load(NAME).set_index(["row", "column", "statistic"])["value"].to_dict()
    frame = results.frame()
    frame = frame[frame["statistic"] == "% optimality"]
    ours = {(line["row"], line["column"]): layout.text(line) for _, line in frame.iterrows()}
    rows = results.rows
    table: dict[tuple[str, str], tuple[str, ...]] = {}
    for column in METHODS:
        texts = []
        for place in rows:
            value, sd = (printed.get((place, column, f"% optimality{s}"), "") for s in ("", " sd"))
            line = [f"{value} ({sd})" if value else ""]
            if (place, column) in known:
                line.append(ours[place, column])
                line += [_text(part[place, column]) for part in (known, greedy)]
            texts.append(line + ["not run"] * (4 - len(line)))
        heads = ("paper", "ours", f"score, {SAMPLED}", f"score, {GREEDY}")
        table |= {
            (column, head): part for head, part in zip(heads, zip(*texts, strict=True), strict=True)
        }
    pairs = judged(known)
    frames = {"pairs": pairs, "summary": summary(known), "variances": sources(results)}
    shown = pd.DataFrame(table, index=pd.Index(rows, name="environment/trajectories"))
    layout.write(shown, out, NAME, EXHIBIT.title, (*NOTES, decided(pairs)))
    for name, part in frames.items():
        layout.write_csv(part, out / f"{NAME}_{name}.csv")
    if known:
        layout.save(_curves(results), out, f"{NAME}_curves")


def _text(x: Array) -> str:
    """Mean and its interval."""
    mean, low, high = interval(x)
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def _curves(results: Results) -> Figure:
    """Score against the budget, at the fewest and the most trajectories."""
    figure = layout.new_figure(layout.PAGE, 4.2)
    starts = list(dict.fromkeys(place.partition("/")[0] for place in results.rows))
    panels = figure.subplots(2, len(starts), squeeze=False)
    colours = dict(zip(METHODS, (layout.VERMILION, layout.BLUE, layout.BLACK), strict=True))
    for column_of_panels, start in zip(panels.T, starts, strict=True):
        there = [place for place in results.rows if place.startswith(start)]
        for axes, place in zip(column_of_panels, (there[0], there[-1]), strict=True):
            for (column, colour), policy in ((m, p) for p in POLICIES for m in colours.items()):
                stored = results.get(place, column, ONCE)
                curve = stored.result.arrays.get(f"curve {policy}")
                if curve is None:
                    continue
                budgets = np.array(BUDGETS["bc"]) if not results.smoke else SMOKE_BUDGETS
                se = curve.std(axis=0, ddof=1) / np.sqrt(len(curve)) if len(curve) > 1 else 0.0
                axes.errorbar(
                    budgets, curve.mean(axis=0), yerr=CRITICAL * np.asarray(se), fmt="o",
                    linestyle="-" if policy == SAMPLED else ":", color=colour, markersize=3,
                    linewidth=1.0, label=f"{column}, {policy}",
                )  # fmt: skip
            layout.words(axes, "steps (GLADIUS: a quarter)", "score", place)
    full = max(panels.flat, key=lambda axes: len(axes.get_legend_handles_labels()[0]))
    layout.legend_below(figure, full, 3)
    return figure


def decided(pairs: pd.DataFrame) -> str:
    """`text.bc-consistently-better` on our data, in a line."""
    part = pairs[(pairs["first"] == "BC") & (pairs["second"] == "Gladius")]
    if not len(part):
        return "BC and GLADIUS: not run."
    lead, real = part["lead"], part["p Holm"] <= 1 - LEVEL
    ahead, behind = int((real & (lead > 0)).sum()), int((real & (lead < 0)).sum())
    claim = "holds" if ahead == len(part) else "is not borne out"
    told = (
        f"BC is ahead of GLADIUS in {(lead > 0).sum()} of {len(part)} cells and behind in"
        f" {(lead < 0).sum()}, by Holm's test in {ahead} and {behind}: that it consistently"
        f" outperforms {claim}"
    )
    return told + ("." if behind == 0 else ", nor that it is at least as good.")


def verdict(folder: Path) -> str:
    """The line of the overview."""
    return decided(pd.read_csv(folder / f"{NAME}_pairs.csv"))


NOTES = (
    "Paper: % optimality (standard deviation over 100 episodes of one training); on Acrobot less"
    " is better. Ours in the same measure, mean over training seeds (standard error); scores are"
    " 100 (R - random) / (expert - random), larger is better, with 95 % intervals over seeds.",
    "Demonstrations are the deterministic expert's, fresh for every training seed; 10 seeds, 30"
    " with 1 and 3 trajectories; 100 evaluation episodes on common seeds; last iterate.",
    f"The paper divides by {', '.join(f'{n} {x:g}' for n, x in DENOMINATORS.items())}; we play"
    " LunarLander-v3. Its row 1 was logged with two trajectories.",
    "GLADIUS: row network, anchor reward 0, beta .95; the paper's networks, with softplus heads,"
    " the true anchor reward and beta 1, are not run.",
)


def reason(place: str, column: str, protocol: str) -> str:
    """Why ours is not the paper's."""
    if place.endswith("/1"):
        return "the paper's was logged with two trajectories, one training, epochs picked by hand"
    return "the paper's is one training, its epochs picked by hand; ours a mean over trainings"


EXHIBIT = Exhibit(
    NAME,
    "Table 4: imitation on gymnasium's environments",
    entries,
    cost=58.0,
    render=render,
    published=NAME,
    reason=reason,
    verdict=verdict,
    tolerance=1e-2,
)
