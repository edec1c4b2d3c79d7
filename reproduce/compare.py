"""Ours beside the published number: z and a verdict for every cell.

z = (ours - published) / sqrt(se_ours^2 + se_published^2). The paper does not say whether its "(SE)"
is the standard error of the mean or the standard deviation over repetitions, so both readings are
taken: `agrees` needs |z| <= 1.96 under both (Student's quantile where the error is that of few
repetitions of ours, by Welch's degrees of freedom), `unclear` is agreement only if the printed
number is a standard error, or agreement of an estimate of ours so noisy that it could not tell the
published number from zero; `differs` is neither. The rounding of the printed digits counts as a
further, uniform error. Without any standard error, ours must round to the printed digits. A number
of ours whose status is not ok gets no verdict but its status, unless it did not converge under a
protocol whose rule is a fixed budget of epochs.
"""

import math
from collections import Counter
from pathlib import Path

import pandas as pd
from rich.table import Table
from scipy.stats import t as student

from gladius.checks import InputError
from reproduce import published
from reproduce.results import COLUMNS
from reproduce.spec import NOT_RUN, Exhibit

CRITICAL = 1.96  # 5 % two-sided
AGREES, UNCLEAR, DIFFERS, NOTHING = "agrees", "unclear", "differs", "-"
PLACE = ["row", "column", "protocol", "statistic"]
COMPARED = [*PLACE, "published", "published_se", "ours", "ours_se", "repetitions", "status"]
COMPARED += ["z", "verdict", "reason"]


def compare(exhibit: Exhibit, folder: Path) -> pd.DataFrame:
    """One line (COMPARED) for each of our numbers that has a published one, and for each
    published number that we have none for.

    Raises:
        InputError: if the exhibit has not been run, or the paper prints nothing for it.
    """
    if not exhibit.published:
        raise InputError("exhibit", exhibit.name, "the paper prints no numbers for it")
    key, names = ["row", "column", "statistic"], {"value": "published", "se": "published_se"}
    theirs = published.with_errors(published.load(exhibit.published))
    theirs = theirs[[*key, *names]].rename(columns=names)
    ours = read(exhibit.name, folder).rename(columns={"value": "ours", "se": "ours_se"})
    frame = theirs.merge(ours, "left", key)
    frame = frame.fillna({"protocol": NOTHING, "status": NOT_RUN})
    judged = []
    for line in frame.to_dict("records"):
        times = exhibit.published_repetitions.get(line["column"], 1)
        z, verdict = judge(
            line["ours"], line["ours_se"], line["published"], line["published_se"], times,
            draws=line["repetitions"],
        )  # fmt: skip
        is_by_rule = line["protocol"].split()[0] in exhibit.fixed_budget
        is_by_rule &= line["repetitions"] > 1  # one training has no spread to judge it by
        is_judged = line["status"] == "ok" or (is_by_rule and line["status"] == "not_converged")
        if verdict != NOTHING and not is_judged:
            verdict = line["status"]
        is_ours = line["status"] != NOT_RUN
        reason = exhibit.reason(line["row"], line["column"], line["protocol"]) if is_ours else ""
        judged.append({**line, "z": z, "verdict": verdict, "reason": reason})
    return pd.DataFrame(judged, columns=pd.Index(COMPARED))


def read(exhibit: str, folder: Path) -> pd.DataFrame:
    """The long CSV of an exhibit."""
    path = folder / f"{exhibit}.csv"
    if not path.is_file():
        raise InputError("exhibit", exhibit, f"not run yet: python -m reproduce run {exhibit}")
    frame = pd.read_csv(path, dtype={"row": str, "column": str, "statistic": str, "status": str})
    if list(frame.columns) != COLUMNS:
        hint = f"use {','.join(COLUMNS)}"
        raise InputError(f"header of {path.name}", ",".join(frame.columns), hint)
    return frame.fillna({"statistic": "", "row": ""})


def judge(
    value: float,
    se: float,
    printed: str,
    printed_se: str,
    repetitions: int = 1,
    draws: float = math.inf,
) -> tuple[float, str]:
    """(z, verdict) of one number against a printed one; (NaN, "-") where either is missing.

    Args:
        value: ours.
        se: its standard error.
        printed: theirs.
        printed_se: what stands in parentheses; z takes it as printed.
        repetitions: if it were a standard deviation, of how many; 1 where only one reading is open.
        draws: how many repetitions ours is the mean of.
    """
    theirs, spread = (pd.to_numeric(text, errors="coerce") for text in (printed, printed_se))
    if math.isnan(value) or math.isnan(theirs):
        return math.nan, NOTHING
    half_digit = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    gap = value - theirs
    known = [x for x in (se, spread) if not math.isnan(x)]
    if not known or math.isinf(value):
        return math.nan, AGREES if abs(gap) <= half_digit * (1 + 1e-9) else DIFFERS
    rounding = half_digit**2 / 3

    def scored(error: float) -> tuple[float, float]:
        """z and its critical value where the printed number has this error."""
        variance = sum(x * x for x in (se, error) if not math.isnan(x)) + rounding
        z = gap / math.sqrt(variance)
        if not (draws > 1 and se > 0):
            return z, CRITICAL
        return z, float(student.ppf(0.975, (draws - 1) * (variance / se**2) ** 2))

    z, critical = scored(spread)
    if abs(z) > critical:
        return z, DIFFERS
    strict, bar = scored(spread / math.sqrt(repetitions))
    blind = not math.isnan(se) and critical * se > abs(theirs) > 0
    return z, AGREES if abs(strict) <= bar and not blind else UNCLEAR


def table(frame: pd.DataFrame, title: str, smoke: bool = False) -> Table:
    """For the terminal."""
    shown = Table(*PLACE, title=f"{title}{' (smoke run: the numbers mean nothing)' * smoke}")
    for name in ("published (SE)", "ours (SE)", "reps", "z"):
        shown.add_column(name, justify="right")
    shown.add_column("verdict")
    shown.add_column("reason", overflow="fold")
    for line in frame.to_dict("records"):
        colour = {AGREES: "green", UNCLEAR: "yellow", DIFFERS: "red"}.get(line["verdict"], "dim")
        status = "" if line["status"] == "ok" else line["status"]
        shown.add_row(
            *(line[name] for name in PLACE),
            line["published"] + (f" ({line['published_se']})" if line["published_se"] else ""),
            number(line["ours"])
            + ("" if math.isnan(line["ours_se"]) else f" ({number(line['ours_se'])})"),
            "" if math.isnan(line["repetitions"]) else f"{line['repetitions']:.0f}",
            "" if math.isnan(line["z"]) else f"{line['z']:+.1f}",
            f"[{colour}]{line['verdict']}[/]",
            "; ".join(filter(None, [status, line["reason"]])),
        )
    return shown


def summary(frame: pd.DataFrame) -> str:
    """How many comparisons came out how; several of ours may face one published number."""
    times = Counter(frame["verdict"])
    failed = len(frame) - sum(times[known] for known in (AGREES, UNCLEAR, DIFFERS, NOTHING))
    return (
        f"{len(frame)} comparisons: {times[AGREES]} agree, {times[UNCLEAR]} unclear,"
        f" {times[DIFFERS]} differ, {failed} not judged (not converged, diverged or failed),"
        f" {times[NOTHING]} without counterpart."
    )


def number(value: float) -> str:
    """Two decimals, or three figures where that says too little or too much; "-" for NaN."""
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if value == 0 or 0.01 <= abs(value) < 1e4 else f"{value:.3g}"
