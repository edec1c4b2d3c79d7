"""The three findings, in sentences whose every number is read from the generated files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from reproduce import compare, published
from reproduce.exhibits import stability

OURS, PLUG_IN = "leak_free smooth", "leak_free tabular"
CLOSE = "steps to a distance of 0.01"  # of r, of `gradients`


class Finding(NamedTuple):
    """What was found.

    Attributes:
        title: in a line.
        brief: a sentence or two with the numbers that carry it.
        text: with all its numbers, in Markdown.
        figures: PNG files of the folder that show it.
        exhibits: that the numbers are of.
    """

    title: str
    brief: str
    text: str
    figures: tuple[str, ...]
    exhibits: tuple[str, ...]


def findings(folder: Path) -> tuple[Finding, ...]:
    """In the order in which they are told.

    Raises:
        InputError: an exhibit that they rest on has not been run.
    """
    return below_the_bounds(folder), printed_algorithm(folder), inner_maximum(folder)


def below_the_bounds(folder: Path) -> Finding:
    """Published accuracy against the bound of its class, and the author's code by its epoch."""
    bound = _mape(folder, "bounds", "bound", "measured (iv)")
    printed = published.load("table_2")
    is_theirs = (printed["column"] == "GLADIUS") & (printed["statistic"] == "MAPE")
    theirs = printed[is_theirs].set_index("row")["number"]
    shares = (theirs / bound["value"].reindex(theirs.index)).dropna()
    below = shares[shares < 1]
    chosen, last = (
        _mape(folder, "table_2_author", "GLADIUS", f"author {epoch}")["value"]
        for epoch in ("oracle", "last")
    )
    of = ", ".join(f"N = {int(str(n)):,}: {share:.2f}" for n, share in below.items())
    rows = [n for n in below.index if n in chosen.index and n in last.index]
    returns = "; ".join(
        f"N = {int(str(n)):,}: {theirs[n]:g} printed, {chosen[n]:.2g} at that epoch,"
        f" {last[n]:.2g} at the last"
        for n in rows
    )
    at_oracle, at_last = (_span(error[rows] / theirs[rows]) for error in (chosen, last))
    text = (
        f"At {len(below)} of {len(shares)} sample sizes the MAPE printed for GLADIUS in Table 2 is"
        " below the least expected MAPE of any regular estimator that knows the reward to be affine"
        f" ({of} of that bound, which is of first order in the root of N). The first author's"
        " public code, which starts Q near the true level, has"
        f" {at_oracle} times the printed figure when its network is taken"
        " from the epoch with the smallest true test error, which no user knows, and"
        f" {at_last} times at its last epoch ({returns})."
    )
    title = "Published errors are below what the data alone allow"
    brief = (
        f"At {len(below)} of {len(shares)} sample sizes GLADIUS's printed MAPE is {below.min():.2f}"
        f" to {below.max():.2f} of the least expected error of any regular estimator told that r is"
        " affine, its intercept and slope unknown (to first order). The author's public code, its"
        f" level begun near the truth's, has {at_oracle} times the printed"
        " figure at the epoch of least true test error, which no user knows, and"
        f" {at_last} times at its last."
    )
    text += " That start and that epoch use the truth, so that the bound does not bind it."
    known = printed[is_theirs].set_index("row")["se"].astype(float).reindex(shares.index)
    apart = (bound["value"].reindex(shares.index) - theirs.reindex(shares.index)) / known
    times = published.TABLE_2_REPETITIONS["GLADIUS"] ** 0.5
    as_errors, as_deviations = ((apart * k > compare.CRITICAL).sum() for k in (1, times))
    text += (
        f" It is below by more than {compare.CRITICAL} standard errors of the printed mean at"
        f" {as_deviations} sizes if the printed (SE) is a standard deviation over repetitions, and"
        f" at {as_errors} if it is a standard error."
    )
    figures = ("table_2_author_ladder.png", "bounds.png")
    return Finding(title, brief, text, figures, ("bounds", "table_2", "table_2_author"))


def printed_algorithm(folder: Path) -> Finding:
    """How many runs of Algorithm 1 as printed converged, and how many steps its best needs."""
    frame = compare.read("stability", folder)
    runs = frame[frame["statistic"] == "repetitions not ok"]
    total, failed = int(runs["repetitions"].sum()), int(runs["value"].sum())
    diverged = frame[frame["statistic"] == "share diverged"]
    most = int(frame[frame["statistic"] == "iterations"]["value"].max())
    ended = frame[(frame["statistic"] == "MAPE median") & (frame["status"] != "diverged")]
    low, high = ended["value"].min(), ended["value"].max()
    blown = round(float((diverged["value"] * diverged["repetitions"]).sum()))
    steps = compare.read("gradients", folder)
    steps = steps[steps["statistic"].eq(CLOSE) & steps["row"].str.startswith("plain")]
    as_printed = _steps(steps[steps["row"].str.endswith("ratio 1")])
    best = f"In tables, at the printed ratio, {as_printed}"
    told = stability.at_printed(frame).replace(" on data", "").replace(" = 1:", " = 1 (printed):")
    text = (
        f"{total - failed} of {total} runs of Algorithm 1 converged at beta = .95 in {most:,}"
        " iterations (tables, and the paper's network by gradient steps and by Adam, with"
        f" {len(runs)} combinations of these with the ratio of the steps and the number of"
        f" ascents): {blown} diverged, the others met no stopping rule; where none of a"
        f" combination diverged, its median error is {low:,.0f} to {high:,.0f} % of r. With one"
        f" ascent, {told}. {best}; over all ratios"
        f" {_steps(steps)}."
    )
    level = stability.traced(frame)
    if level:
        text += (
            " On data without noise the level of Q is at the end, by the step ratio tau_1 / tau_2:"
            f" {level}."
        )
    title = "Algorithm 1 as printed is far from done when it is stopped, or diverges"
    if failed < total:
        title = f"Algorithm 1 as printed converged in {total - failed} of {total} runs"
    brief = f"In {most:,} iterations at beta = .95 with one ascent a descent, {told}. {best}."
    figures = ("stability.png", "stability_trace.png")
    return Finding(title, brief, text, figures, ("stability", "gradients"))


def _steps(lines: pd.DataFrame) -> str:
    """Of settings of the steps, how many diverge, and what the best needs."""
    gone, reached = lines["status"].eq("diverged").sum(), lines["value"].dropna()
    told = f"{gone} of {len(lines)} settings diverge and "
    if reached.empty:
        return told + "none comes within 1 % of the minimiser's r"
    return told + f"the best comes within 1 % of the minimiser's r in {reached.min():,.0f} steps"


def inner_maximum(folder: Path) -> Finding:
    """The idea with zeta exact, over many data sets."""
    frame = compare.read("accuracy", folder)
    checks = pd.read_csv(folder / "accuracy_checks.csv", dtype={"row": str})
    is_ours = checks["protocol"].eq(OURS) & checks["row"].str.startswith("affine/")
    ratio = checks[is_ours & checks["statistic"].eq("ratio to bound (iv)")]
    low, high = ratio["value"].min(), ratio["value"].max()
    mape = frame[frame["row"].str.startswith("affine/") & (frame["statistic"] == "MAPE")]
    ours = mape[mape["protocol"].eq(OURS)].set_index("row")["value"]
    rust = mape[mape["column"] == "Rust"].set_index("row")["value"]
    times = (ours / rust).dropna()
    errors = frame[(frame["statistic"] == "MAPE") & ~frame["row"].str.startswith("affine/")]
    errors = errors.set_index("row")
    ours, other = (errors[errors["protocol"].eq(p)]["value"] for p in (OURS, PLUG_IN))
    shares = (ours / other).dropna()
    truths = len({str(row).partition("/")[0] for row in shares.index})
    plug_in = f"under {truths} other rewards it has {_span(shares)} times the plug-in's error"
    text = (
        "With the inner maximum exact, the level in closed form and a penalty on the roughness of r"
        f" the empirical risk's minimiser has {low:.2f} to {high:.2f} times the bound of its class"
        f" at every N ({int(ratio['repetitions'].min()):,} data sets each), without a step size and"
        f" without the truth. It does not beat maximum likelihood that is told the transitions and"
        f" that r(., a0) has no intercept, whose error is {_span(times)} times smaller. This truth"
        f" is the limit of the penalty; {plug_in}."
    )
    title = "The idea works where the inner maximum is exact and the level in closed form"
    brief = (
        f"So computed, and with a penalty on the roughness of r, the same risk's minimiser has"
        f" {low:.2f} to {high:.2f} times that bound at every N; maximum likelihood told the"
        f" transitions and that r has no intercept is {_span(times)} times better. That truth is"
        f" the limit of the penalty; {plug_in}."
    )
    return Finding(title, brief, text, (), ("accuracy",))


LIMITS = (
    "One world, the bus engine with an affine reward, which our penalty favours; the exhibit"
    " accuracy has four other rewards.",
    "The rules by which we smooth were settled on three of the five truths of the exhibit"
    " accuracy after errors had been seen there.",
    "A bound of first order says something of expected errors over many data sets, not of a"
    " single table of twenty.",
    "That a printed statement fails says nothing of others; what holds in its place stands in the"
    " corrected chain.",
)


def _mape(folder: Path, exhibit: str, column: str, protocol: str) -> pd.DataFrame:
    """The MAPE of a column under a protocol, by row."""
    frame = compare.read(exhibit, folder)
    is_asked = frame["column"].eq(column) & frame["protocol"].eq(protocol)
    return frame[is_asked & frame["statistic"].eq("MAPE")].set_index("row")


def _span(values: pd.Series) -> str:
    """The least and the largest to two figures, once where they are the same."""
    return " to ".join(dict.fromkeys(f"{value:.2g}" for value in (values.min(), values.max())))
