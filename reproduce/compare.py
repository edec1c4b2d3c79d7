"""Ours beside the published number: z and a verdict for every printed number.

Every printed number has one faithful counterpart (`published.COUNTERPARTS`), which decides its
verdict; other lines of ours are variants, compared and not counted. It is held against a reference
law, ours over as many data sets as there are: 400 or more for Table 2 where a fit costs under a
second (`published.LARGER`), else those of the line itself.

The paper does not say what its "(SE)" is. It is read as a standard deviation over repetitions: over
100 repetitions, a standard error would give Rust's MAPE a coefficient of variation of 1.5 to 6.9,
where ours over 4,000 data sets has .68 to .70; a standard deviation gives .15 to .69. So:

- a printed mean of n repetitions has the error SD / sqrt(n): z = (ours - printed) / root of the sum
  of both squared errors (Welch's);
- a printed number of one data set or training (the oracles', whose repetitions are resamples of one
  data set; Tables 3, A1 to A4; Table 4) is one draw of the law: by its rank in the law where our
  draws are known, else z = (mean - printed) / (sd sqrt(1 + 1/R)), Student's prediction interval;
- where our standard deviation exceeds our mean, normal theory is no guide and the rank decides.

The rounding of the printed digits is a further, uniform error; without any standard deviation ours
must round to the printed digits. `agrees`: inside the 95 %; `differs`: outside; `unclear`: inside,
but the error of our own mean could not tell the printed number from zero; `given`: an input of the
method; `does not converge (k of n)`: more than FEW of our fits did not (else those that did are
judged, and the reason says so). A line whose rule is a fixed budget of epochs never
reports convergence and is judged all the same.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table
from scipy.stats import f as fisher
from scipy.stats import t as student

from gladius.checks import InputError
from reproduce import published
from reproduce.results import COLUMNS
from reproduce.spec import NOT_RUN, Array, Exhibit, Record

CRITICAL = 1.96  # 5 % two-sided
AGREES, UNCLEAR, DIFFERS, GIVEN = "agrees", "unclear", "differs", "given"
NOTHING, BLANK = "-", "nothing printed"  # the counterpart is not run; the paper prints no number
UNSETTLED = "does not converge"  # and then (k of n)
FEW = 0.25  # share of fits without convergence up to which the others are judged
NOT_OK, RANK = "repetitions not ok", "rank of the printed"  # statistics beside the score
MANY, RESAMPLES = 40, 9999  # draws that a rank needs; resampled means
PLACE = ["row", "column", "protocol", "statistic"]
COMPARED = [*PLACE, "counted", "published", "published_spread", "published_se"]
COMPARED += ["ours", "ours_se", "repetitions", "status", "law", "z", "verdict", "reason"]
VERDICTS = ["exhibit", "row", "column", "statistic", "published", "ours", "reference_law"]
VERDICTS += ["verdict", "reason"]
Place = tuple[str, str, str, str]
Lines = Mapping[Place, Mapping[Any, Any]]


@dataclass(frozen=True)
class Reference:
    """What our repetitions say that a printed number should be.

    `sd` is that of one repetition and NaN where nothing varies; `rank` the share of draws below
    the printed number, NaN where the draws are not known.
    """

    mean: float
    sd: float = math.nan
    repetitions: float = math.inf
    rank: float = math.nan

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.sd / math.sqrt(self.repetitions)

    @property
    def text(self) -> str:
        """For a table."""
        if not self.sd > 0:
            return f"{number(self.mean)}{', one repetition' if self.repetitions == 1 else ''}"
        told = f"mean {number(self.mean)}, sd {number(self.sd)}"
        told += f", {self.repetitions:,.0f} repetitions"
        return told if math.isnan(self.rank) else f"{told}, rank {self.rank:.3f}"


def judge(
    reference: Reference, printed: str, spread: float = math.nan, of: int = 1
) -> tuple[float, str]:
    """(z, verdict) of a printed number in a law; (NaN, "-") where either is missing.

    Args:
        reference: ours.
        printed: theirs, with its digits.
        spread: its standard deviation over `of` repetitions; of a single one its own error.
        of: how many repetitions the printed number is the mean of.
    """
    theirs = float(pd.to_numeric(printed, errors="coerce"))
    if math.isnan(reference.mean) or math.isnan(theirs):
        return math.nan, NOTHING
    low, high = rounded(printed)
    gap, parts = reference.mean - theirs, _variances(reference, spread, of)
    if not parts or math.isinf(reference.mean):
        slack = 1e-9 * (high - low)
        return math.nan, AGREES if low - slack <= reference.mean <= high + slack else DIFFERS
    variance = sum(part for part, _ in parts) + (high - low) ** 2 / 12
    unsure = sum(part**2 / freedom for part, freedom in parts)
    z = gap / math.sqrt(variance)
    critical = float(student.ppf(0.975, variance**2 / unsure)) if unsure else CRITICAL
    is_inside = abs(z) <= critical
    if is_ranked(reference, of):
        is_inside = 2 * min(reference.rank, 1 - reference.rank) > 0.05
    if not is_inside:
        return z, DIFFERS
    return z, UNCLEAR if critical * reference.error > abs(theirs) > 0 else AGREES


def spreads_differ(reference: Reference, spread: float, of: int) -> bool:
    """Whether the two standard deviations do, by a two-sided F test at 1 %."""
    if not (reference.sd > 0 and spread > 0):
        return False
    ratio, freedom = (reference.sd / spread) ** 2, (reference.repetitions - 1, of - 1)
    return float(min(fisher.cdf(ratio, *freedom), fisher.sf(ratio, *freedom))) < 0.005


def is_ranked(reference: Reference, of: int) -> bool:
    """Whether the rank decides and not z."""
    return not math.isnan(reference.rank) and (of == 1 or reference.sd > abs(reference.mean))


def _variances(reference: Reference, spread: float, of: int) -> list[tuple[float, float]]:
    """Squared errors of ours less theirs, each with its degrees of freedom."""
    is_known, is_printed = reference.sd > 0, spread > 0
    if of > 1 and is_printed:
        ours = reference.sd if is_known else spread  # a single run of ours varies as theirs do
        freedom = (reference.repetitions if is_known else of) - 1
        return [(spread**2 / of, of - 1), (ours**2 / reference.repetitions, freedom)]
    draw = reference.sd**2 * (1 / of + 1 / reference.repetitions)
    ours_alone = [(draw, reference.repetitions - 1)] if is_known else []
    return ours_alone + ([(spread**2, published.EPISODES - 1)] if is_printed else [])


def rounded(printed: str) -> tuple[float, float]:
    """What rounds to the printed digits."""
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return float(printed) - half, float(printed) + half


def rank(draws: Array, printed: str, of: int = 1) -> float:
    """Share of the law below the printed number, of what rounds to it a half.

    The law is that of means of `of` draws, to which the error of our own mean is added by
    resampling means of `of` R / (`of` + R) of our R draws (9,999 of them, the same in every run).
    """
    if of > 1:
        size = max(1, round(of * len(draws) / (of + len(draws))))
        rng = np.random.default_rng(0)
        draws = rng.choice(draws, (RESAMPLES, size)).mean(axis=1)
    low, high = rounded(printed)
    return float(np.mean(draws < low) + np.mean((low <= draws) & (draws <= high)) / 2)


def ranked(exhibit: str, row: str, column: str, draws: Sequence[float]) -> tuple[Record, ...]:
    """The record of a rank among our draws of Table 2's MAPE; none where there are too few."""
    printed = published.load(exhibit).set_index(["row", "column"])["value"].get((row, column))
    of = published.TABLE_2_REPETITIONS.get(column, 1)
    if printed in (None, published.MISSING) or (of == 1 and len(draws) < MANY):
        return ()
    if not np.all(np.isfinite(draws)):
        return ()
    value = rank(np.asarray(draws, dtype=float), str(printed), of)
    return (Record(RANK, value, repetitions=len(draws)),)


# --- an exhibit beside the paper's
def compare(exhibit: Exhibit, folder: Path) -> pd.DataFrame:
    """One line (COMPARED) for each of our numbers that has a published one, and for each
    published number whose counterpart we have not run.

    Raises:
        InputError: if the exhibit has not been run, or the paper prints nothing for it.
    """
    if not exhibit.published:
        raise InputError("exhibit", exhibit.name, "the paper prints no numbers for it")
    return _beside(exhibit, _lines(read(exhibit.name, folder)), _more(exhibit.published, folder))


def verdicts(exhibits: Sequence[Exhibit], folder: Path) -> pd.DataFrame:
    """One line (VERDICTS) for each printed number, by its counterpart; also where that is not run.

    An exhibit that has the published one's name is the paper's own table; others are variants.
    """
    parts = [pd.DataFrame(columns=pd.Index(VERDICTS))]
    for exhibit in exhibits:
        if exhibit.name not in published.COUNTERPARTS:
            continue
        is_run = (folder / f"{exhibit.name}.csv").is_file()
        lines = _lines(read(exhibit.name, folder)) if is_run else {}
        frame = _beside(exhibit, lines, _more(exhibit.name, folder))
        frame = frame[frame["counted"]]
        ours = [
            ""
            if math.isnan(value)
            else _with_error(number(value), number(se), column in exhibit.published_repetitions)
            for column, value, se in zip(
                frame["column"], frame["ours"], frame["ours_se"], strict=True
            )
        ]
        told = zip(frame["published"], frame["published_spread"], strict=True)
        printed = [_with_error(*texts) for texts in told]
        shown = frame.assign(exhibit=exhibit.name, published=printed, ours=ours)
        parts.append(shown.rename(columns={"law": "reference_law"})[VERDICTS])
    return pd.concat(parts, ignore_index=True)


def _beside(exhibit: Exhibit, ours: Lines, more: Lines) -> pd.DataFrame:
    """COMPARED, from lines by their place."""
    counterparts = published.COUNTERPARTS.get(exhibit.name, {})
    protocols: dict[tuple[str, str, str], list[str]] = {}
    for row, column, protocol, statistic in ours:
        protocols.setdefault((row, column, statistic), []).append(protocol)
    theirs = published.load(exhibit.published)
    theirs = published.with_errors(theirs).assign(printed_se=theirs["se"])
    theirs = theirs[~theirs["statistic"].str.endswith(published.DEVIATION)]
    judged = []
    for printed in theirs.to_dict("records"):
        key = (printed["row"], printed["column"], printed["statistic"])
        faithful = counterparts.get(printed["column"])
        known = protocols.get(key, [])
        if faithful is not None and faithful not in known:
            known = [faithful, *known]
        for protocol in known:
            place = (key[0], key[1], protocol, key[2])
            line = _judged(exhibit, printed, place, ours, more)
            judged.append({**line, "counted": protocol == faithful})
    return pd.DataFrame(judged, columns=pd.Index(COMPARED))


def _judged(
    exhibit: Exhibit, printed: Mapping[Any, Any], place: Place, ours: Lines, more: Lines
) -> dict[str, Any]:
    """One line of COMPARED, all but `counted`."""
    row, column, protocol, statistic = place
    of = exhibit.published_repetitions.get(column, 1)
    told = dict(zip(PLACE, place, strict=True))
    told |= {"published": printed["value"], "published_se": printed["se"]}
    told |= {"published_spread": printed["spread"]}
    mine = ours.get(place)
    if mine is None:
        verdict = BLANK if printed["value"] == published.MISSING else NOTHING
        why = _why(verdict, Reference(math.nan), math.nan, of, "")
        reason = "; ".join(filter(None, [*why, exhibit.reason(row, column, protocol)]))
        nothing = {"status": NOT_RUN, "law": "", "verdict": verdict, "reason": reason}
        return {**told, "ours": math.nan, "ours_se": math.nan, "z": math.nan, **nothing}
    status = str(mine["status"])
    used, missed = _settled(ours, place)
    is_by_rule = protocol.split()[0] in exhibit.fixed_budget and status == "not_converged"
    larger = _settled(more, place)[0] if place in more else None
    verdict, notes = "", []
    times = f"{'some' if math.isnan(missed) else f'{missed:.0f}'} of {mine['repetitions']:.0f}"
    if is_by_rule:
        used = mine
    elif used is None:
        is_run = status in ("not_converged", "diverged")
        verdict = f"{UNSETTLED} ({times})" if is_run else status.partition(":")[0]
        notes, used = [] if status == "not_converged" else [status], mine
    elif missed:
        notes = [f"{times} did not converge: judged by the others"]
    if larger is not None and larger["repetitions"] > used["repetitions"] and not verdict:
        used, ours = larger, more
    is_mean = column in exhibit.published_repetitions  # else `se` is that of one draw
    reference = _reference(used, ours.get((row, column, protocol, RANK)), is_mean)
    spread = pd.to_numeric(printed["se"] if of > 1 or not printed["printed_se"] else "")
    z, judged = judge(reference, printed["value"], float(spread), of)
    if printed["value"] == published.MISSING:
        verdict = BLANK
    elif (column, statistic) in published.GIVEN:
        verdict, z = GIVEN, math.nan
    verdict = verdict or judged
    reasons = [*_why(verdict, reference, z, of, printed["value"]), *notes]
    if verdict in (AGREES, DIFFERS) and of > 1 and spreads_differ(reference, spread, of):
        reasons.append(f"the spreads differ, {printed['se']} against {number(reference.sd)}")
    if verdict in (AGREES, DIFFERS, UNCLEAR) and of > 1 and larger is None:
        reasons.append(_batch(row, statistic, ours, more))
    reasons.append(exhibit.reason(row, column, protocol))
    return {
        **told,
        "ours": mine["value"],
        "ours_se": mine["se"],
        "repetitions": mine["repetitions"],
        "status": status,
        "law": reference.text,
        "z": z,
        "verdict": verdict,
        "reason": "; ".join(filter(None, reasons)),
    }


def _settled(lines: Lines, place: Place) -> tuple[Mapping[Any, Any] | None, float]:
    """(the line to judge by, how many of its fits did not converge).

    The line itself where all did, the mean of those that did where FEW did not, else None. NaN
    where nobody counted.
    """
    line = lines[place]
    if line["status"] == "ok":
        return line, 0.0
    counted = lines.get((*place[:3], NOT_OK))
    missed = math.nan if counted is None else float(counted["value"])
    those_ok = lines.get((*place[:3], f"{place[3]} of those ok"))
    return (those_ok if missed <= FEW * line["repetitions"] else None), missed


def _reference(
    line: Mapping[Any, Any], rank_: Mapping[Any, Any] | None, is_mean: bool
) -> Reference:
    """The law behind a line of a CSV, whose `se` is the mean's or, by mileage, one draw's."""
    times = float(line["repetitions"])
    sd = float(line["se"]) * (math.sqrt(times) if is_mean else 1.0)
    return Reference(float(line["value"]), sd, times, math.nan if rank_ is None else rank_["value"])


def _why(verdict: str, reference: Reference, z: float, of: int, printed: str) -> list[str]:
    """What the verdict rests on, in words."""
    if verdict == GIVEN:
        return ["an input, no estimate"]
    if verdict == BLANK:
        return ["the paper prints no number"]
    if verdict == NOTHING:
        return ["not run"]
    if verdict == UNCLEAR:
        return ["the half width of our mean's 95 % interval exceeds the printed number"]
    if verdict not in (AGREES, DIFFERS):
        return []
    side = f"ours is {'above' if reference.mean > float(printed) else 'below'}, "
    side = side if verdict == DIFFERS else ""
    if math.isnan(z):
        return [f"{side}by the printed digits"]
    measure = f"rank {reference.rank:.3f}" if is_ranked(reference, of) else f"z = {z:+.1f}"
    against = "the law of one repetition" if of == 1 else f"means of {of}"
    return [f"{side}{measure} against {against}"]


def _batch(row: str, statistic: str, ours: Lines, more: Lines) -> str:
    """What other lines tell of a row's few data sets, where these are easy or hard; else empty.

    Lines whose law over many data sets is known share the few with those whose law is not.
    """
    told: list[tuple[float, str]] = []
    for place, law in more.items():
        if (place[0], place[3]) == (row, statistic) and place in ours and law["se"] > 0:
            few, n = ours[place]["value"], ours[place]["repetitions"]
            z = (few - law["value"]) / (law["se"] * math.sqrt(law["repetitions"] / n))
            kind = "easy" if z < 0 else "hard"
            text = f"these {n:.0f} data sets are {kind}: {place[1]} has {number(few)} on them,"
            told.append((abs(z), f"{text} {number(law['value'])} on {law['repetitions']:,.0f}"))
    z, text = max(told, default=(0.0, ""))
    return text if z > CRITICAL else ""


def _lines(frame: pd.DataFrame, prefix: str = "") -> dict[Place, dict[Any, Any]]:
    """Lines of a CSV by their place, of the rows that begin so, without that beginning."""
    rows = [line for line in frame.to_dict("records") if line["row"].startswith(prefix)]
    return {
        (line["row"].removeprefix(prefix), *(line[n] for n in PLACE[1:])): line for line in rows
    }


def _more(name: str, folder: Path) -> Lines:
    """The same lines for more data sets, {} where there are none."""
    other, prefix = published.LARGER.get(name, ("", ""))
    is_run = bool(other) and (folder / f"{other}.csv").is_file()
    return _lines(read(other, folder), prefix) if is_run else {}


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


def table(frame: pd.DataFrame, title: str, smoke: bool = False) -> Table:
    """For the terminal: column by column, its counterpart first and then the variants."""
    shown = Table("", *PLACE, title=f"{title}{' (smoke run: the numbers mean nothing)' * smoke}")
    for name in ("published (SD)", "ours (SE)", "reps", "z"):
        shown.add_column(name, justify="right")
    shown.add_column("verdict")
    colours = {AGREES: "green", UNCLEAR: "yellow", DIFFERS: "red"}
    shown.add_column("reason", overflow="fold")
    for _, part in frame.groupby("column", sort=False):
        part = part.sort_values("counted", ascending=False, kind="stable")
        for line in part.to_dict("records"):
            colour = colours.get(line["verdict"], "dim")
            status = "" if line["status"] == "ok" else line["status"]
            shown.add_row(
                "" if line["counted"] else "variant",
                *(line[name] for name in PLACE),
                _with_error(line["published"], line["published_se"]),
                _with_error(number(line["ours"]), number(line["ours_se"])),
                "" if math.isnan(line["repetitions"]) else f"{line['repetitions']:.0f}",
                "" if math.isnan(line["z"]) else f"{line['z']:+.1f}",
                f"[{colour}]{line['verdict']}[/]",
                "; ".join(filter(None, [status, line["reason"]])),
            )
        shown.add_section()
    return shown


def summary(frame: pd.DataFrame) -> str:
    """How the printed numbers came out by their counterparts, and how many variants are beside."""
    counted = frame[frame["counted"]]
    if not len(counted):
        return f"{len(frame)} variants, not counted: {counts(frame['verdict'])}."
    beside = len(frame) - len(counted)
    told = f"; {beside} comparisons of variants are not counted" if beside else ""
    return f"{tally(counted['verdict'])}{told}."


def tally(said: Iterable[str]) -> str:
    """How many numbers the paper prints, and how they came out."""
    printed = [verdict for verdict in said if verdict != BLANK]
    return f"{len(printed)} printed numbers: {counts(printed)}"


def counts(said: Iterable[str]) -> str:
    """How often each verdict stands, those that do not occur left out."""
    times = Counter(UNSETTLED if str(v).startswith(UNSETTLED) else str(v) for v in said)
    words = {AGREES: "agree", UNCLEAR: "unclear", DIFFERS: "differ", GIVEN: "given"}
    words |= {UNSETTLED: "do not converge"}
    told = [f"{times.pop(verdict)} {word}" for verdict, word in words.items() if times[verdict]]
    nothing = times.pop(NOTHING, 0)
    told += [f"{n} {verdict}" for verdict, n in sorted(times.items()) if n]
    return ", ".join([*told, *([f"{nothing} not run"] if nothing else [])])


def _with_error(text: str, error: str, is_mean: bool = True) -> str:
    """`mean (standard error)`; the standard deviation of one data set's number is named."""
    return text if error in ("", "-") else f"{text} ({error if is_mean else f'sd {error}'})"


def number(value: float) -> str:
    """Two decimals, or three figures where that says too little or too much; "-" for NaN."""
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if value == 0 or 0.01 <= abs(value) < 1e4 else f"{value:.3g}"
