"""Our numbers beside the published ones: z and a verdict for every printed number.

Every printed number has one counterpart among our lines (`published.COUNTERPARTS`), the one that
follows the paper's procedure most closely. It decides the verdict; other lines of ours are
variants, which are compared and not counted. The paper does not say what its "(SE)" is. It is read
as a standard deviation over repetitions (why: `templates/deviations.md`).

The error of a comparison depends on the kind of the printed number:

- A mean of n repetitions with a printed standard deviation has the error SD / sqrt(n) (Welch).
- Any other number is one draw (the oracles, whose repetitions are resamples of one data set;
  Tables 3, A1 to A4; Table 4): Student's prediction interval.
- Without a standard deviation on either side, our number must round to the printed digits.

Verdicts: `agrees` and `differs` by a two-sided test at 5 %, with the rounding of the printed digits
as a further, uniform error. `unclear`: the error of our own mean exceeds the printed number, and
the test does not reject, or is no guide since our standard deviation exceeds our mean. `given`: an
input of the method. `does not converge (k of n)`: more than FEW of our fits did
not; where fewer did not, the converged ones decide.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table
from scipy.stats import t as student

from gladius.checks import InputError
from reproduce import published
from reproduce.results import COLUMNS
from reproduce.spec import NOT_RUN, Exhibit

CRITICAL = 1.96  # two-sided, at 5 %
AGREES, UNCLEAR, DIFFERS, GIVEN = "agrees", "unclear", "differs", "given"
NOTHING, BLANK = "-", "nothing printed"  # the counterpart is not run; the paper prints no number
UNSETTLED = "does not converge"  # and then (k of n)
FEW = 0.25  # share of fits without convergence up to which the others decide
NOT_OK = "repetitions not ok"  # statistic beside the score
KEY = ["row", "column", "protocol", "statistic"]
COMPARED = [*KEY, "counted", "published", "published_spread", "published_se"]
COMPARED += ["ours", "ours_se", "repetitions", "status", "reference", "z", "verdict", "reason"]
VERDICTS = ["exhibit", "row", "column", "statistic", "published", "ours", "reference"]
VERDICTS += ["verdict", "reason"]
PLURALS = {AGREES: "agree", UNCLEAR: "unclear", DIFFERS: "differ", GIVEN: "given"}
PLURALS |= {UNSETTLED: "do not converge"}
COLOURS = {AGREES: "green", UNCLEAR: "yellow", DIFFERS: "red"}
Key = tuple[str, str, str, str]
Line = Mapping[Any, Any]
Lines = Mapping[Key, Line]
Variances = list[tuple[float, float]]  # squared errors, each with its degrees of freedom


@dataclass(frozen=True)
class Reference:
    """What our repetitions predict for a printed number.

    `sd` is the standard deviation of one repetition, NaN where nothing varies.
    """

    mean: float
    sd: float = math.nan
    repetitions: float = math.inf

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.sd / math.sqrt(self.repetitions)

    @property
    def text(self) -> str:
        """For a table."""
        if not self.sd > 0:
            return f"{number(self.mean)}{', one repetition' if self.repetitions == 1 else ''}"
        spread = f"mean {number(self.mean)}, sd {number(self.sd)}"
        return f"{spread}, {self.repetitions:,.0f} repetitions"


# --- one number beside another
def _errors_of_means(reference: Reference, spread: float, of: int) -> Variances:
    """Those of our mean and of theirs; a single run of ours is taken to vary as theirs do."""
    is_measured = reference.sd > 0
    sd, freedom = (reference.sd, reference.repetitions - 1) if is_measured else (spread, of - 1)
    return [(spread**2 / of, of - 1), (sd**2 / reference.repetitions, freedom)]


def _errors_of_a_draw(reference: Reference, spread: float, of: int) -> Variances:
    """Those of a draw (or of a mean of `of` draws) and of our mean, and its own if printed."""
    variances = []
    if reference.sd > 0:
        draw = reference.sd**2 * (1 / of + 1 / reference.repetitions)
        variances.append((draw, reference.repetitions - 1))
    if spread > 0:
        variances.append((spread**2, published.EPISODES - 1))
    return variances


def judge(
    reference: Reference, printed: str, spread: float = math.nan, of: int = 1
) -> tuple[float, str]:
    """(z, verdict) of a printed number; (NaN, "-") where either number is missing.

    Args:
        reference: ours.
        printed: theirs, with its digits.
        spread: its standard deviation over `of` repetitions; for a single one its own error.
        of: number of repetitions whose mean is printed.
    """
    theirs = float(pd.to_numeric(printed, errors="coerce"))
    if math.isnan(reference.mean) or math.isnan(theirs):
        return math.nan, NOTHING
    low, high = rounded(printed)
    errors = _errors_of_means if of > 1 and spread > 0 else _errors_of_a_draw
    variances = errors(reference, spread, of)
    if not variances or math.isinf(reference.mean):
        slack = 1e-9 * (high - low)
        return math.nan, AGREES if low - slack <= reference.mean <= high + slack else DIFFERS
    variance = sum(error for error, _ in variances) + (high - low) ** 2 / 12
    z = (reference.mean - theirs) / math.sqrt(variance)
    inverse_freedom = sum(error**2 / freedom for error, freedom in variances)
    critical = CRITICAL
    if inverse_freedom:
        critical = float(student.ppf(0.975, variance**2 / inverse_freedom))
    is_inside = abs(z) <= critical
    is_noisy = critical * reference.error > abs(theirs) > 0
    if is_noisy and (is_inside or reference.sd > abs(reference.mean)):
        return z, UNCLEAR
    return z, AGREES if is_inside else DIFFERS


def rounded(printed: str) -> tuple[float, float]:
    """(lowest, highest) number that rounds to the printed digits."""
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return float(printed) - half, float(printed) + half


# --- an exhibit beside the paper's
def compare(exhibit: Exhibit, folder: Path) -> pd.DataFrame:
    """A line (COMPARED) for each of our numbers that has a published one.

    Published numbers whose counterpart is not run have a line too.

    Raises:
        InputError: the exhibit has not been run, or the paper prints nothing for it.
    """
    if not exhibit.published:
        raise InputError("exhibit", exhibit.name, "the paper prints no numbers for it")
    return _compared(exhibit, _lines(read(exhibit.name, folder)), folder)


def verdicts(exhibits: Sequence[Exhibit], folder: Path) -> pd.DataFrame:
    """A line (VERDICTS) for each printed number, by its counterpart; also where that is not run.

    An exhibit with the name of a published one is the paper's own table; others are variants.
    """
    frames = [pd.DataFrame(columns=pd.Index(VERDICTS))]
    for exhibit in exhibits:
        if exhibit.name not in published.COUNTERPARTS:
            continue
        is_run = (folder / f"{exhibit.name}.csv").is_file()
        ours = _lines(read(exhibit.name, folder)) if is_run else {}
        frame = _compared(exhibit, ours, folder)
        frame = frame[frame["counted"]].assign(exhibit=exhibit.name)
        texts = []
        for line in frame.to_dict("records"):
            is_mean = line["column"] in exhibit.published_repetitions
            value, se = number(line["ours"]), number(line["ours_se"])
            texts.append("" if value == "-" else _with_error(value, se, is_mean))
        spreads = zip(frame["published"], frame["published_spread"], strict=True)
        printed = [_with_error(value, spread) for value, spread in spreads]
        frames.append(frame.assign(published=printed, ours=texts)[VERDICTS])
    return pd.concat(frames, ignore_index=True)


def _compared(exhibit: Exhibit, ours: Lines, folder: Path) -> pd.DataFrame:
    """COMPARED, from our lines by their key."""
    other, prefix = published.LARGER.get(exhibit.published, ("", ""))
    is_run = bool(other) and (folder / f"{other}.csv").is_file()
    larger = _lines(read(other, folder), prefix) if is_run else {}
    counterparts = published.COUNTERPARTS.get(exhibit.name, {})
    protocols: dict[tuple[str, str, str], list[str]] = {}
    for row, column, protocol, statistic in ours:
        protocols.setdefault((row, column, statistic), []).append(protocol)
    lines = []
    for printed in published.with_errors(published.load(exhibit.published)).to_dict("records"):
        row, column, statistic = printed["row"], printed["column"], printed["statistic"]
        if statistic.endswith(published.DEVIATION):
            continue
        faithful = counterparts.get(column)
        run = protocols.get((row, column, statistic), [])
        missing = [] if faithful is None or faithful in run else [faithful]
        for protocol in [*missing, *run]:
            key = (row, column, protocol, statistic)
            line = _line(exhibit, printed, key, ours, larger)
            lines.append({**line, "counted": protocol == faithful})
    return pd.DataFrame(lines, columns=pd.Index(COMPARED))


def _line(exhibit: Exhibit, printed: Line, key: Key, ours: Lines, larger: Lines) -> dict[str, Any]:
    """One line of COMPARED, all but `counted`."""
    row, column, protocol, _ = key
    of = exhibit.published_repetitions.get(column, 1)
    mine = ours.get(key)
    numbers = {"value": math.nan, "se": math.nan, "repetitions": math.nan, "status": NOT_RUN}
    numbers |= dict(mine or {})
    z, verdict, reference, notes = math.nan, NOTHING, Reference(math.nan), list[str]()
    if mine is not None:
        used, status, notes = _converged(exhibit, ours, key)
        if not status and key in larger:
            many, _, _ = _converged(exhibit, larger, key)
            used = many if many["repetitions"] > used["repetitions"] else used
        is_mean = column in exhibit.published_repetitions  # else `se` is that of one draw
        sd = float(used["se"]) * (math.sqrt(used["repetitions"]) if is_mean else 1.0)
        reference = Reference(float(used["value"]), sd, float(used["repetitions"]))
        z, verdict = judge(reference, printed["value"], _spread(printed, of), of)
        verdict = status or verdict
    if printed["value"] == published.MISSING:
        verdict = BLANK
    elif mine is not None and (column, printed["statistic"]) in published.GIVEN:
        z, verdict = math.nan, GIVEN
    reasons = [_why(verdict, z, of), *notes, exhibit.reason(row, column, protocol)]
    return {
        **dict(zip(KEY, key, strict=True)),
        "published": printed["value"],
        "published_se": printed["se"],
        "published_spread": printed["spread"],
        "ours": numbers["value"],
        "ours_se": numbers["se"],
        "repetitions": numbers["repetitions"],
        "status": str(numbers["status"]),
        "reference": "" if mine is None else reference.text,
        "z": z,
        "verdict": verdict,
        "reason": "; ".join(filter(None, reasons)),
    }


def _spread(printed: Line, of: int) -> float:
    """The printed standard deviation of a mean; of one number its error over its episodes."""
    is_own = of > 1 or printed["se"] != printed["spread"]
    return float(pd.to_numeric(printed["se"] if is_own else ""))


def _converged(exhibit: Exhibit, lines: Lines, key: Key) -> tuple[Line, str, list[str]]:
    """(the line that decides, a verdict if none does, notes).

    The line itself decides if all of its fits converged, or if its rule is a fixed budget; the mean
    of the converged ones if FEW did not.
    """
    line = lines[key]
    status = str(line["status"])
    is_by_rule = key[2].split()[0] in exhibit.fixed_budget and status == "not_converged"
    if status == "ok" or is_by_rule:
        return line, "", []
    counted = lines.get((*key[:3], NOT_OK), {"value": math.nan})["value"]
    times = f"{'some' if math.isnan(counted) else f'{counted:.0f}'} of {line['repetitions']:.0f}"
    others = lines.get((*key[:3], f"{key[3]} of those ok"))
    if others is not None and counted <= FEW * line["repetitions"]:
        return others, "", [f"{times} fits did not converge and are not in the comparison"]
    is_run = status in ("not_converged", "diverged")
    verdict = f"{UNSETTLED} ({times})" if is_run else status.partition(":")[0]
    return line, verdict, [] if status == "not_converged" else [status]


def _why(verdict: str, z: float, of: int) -> str:
    """What the verdict rests on, in words."""
    fixed = {
        GIVEN: "an input, not an estimate",
        BLANK: "the paper prints no number",
        NOTHING: "not run",
        UNCLEAR: "our mean is too noisy to decide",
    }
    if verdict not in (AGREES, DIFFERS):
        return fixed.get(verdict, "")
    if math.isnan(z):
        return "compared digit by digit"
    side = "" if verdict == AGREES else f"ours is {'higher' if z > 0 else 'lower'}, "
    return f"{side}z = {z:+.1f} against {'one draw' if of == 1 else f'a mean of {of}'}"


def _lines(frame: pd.DataFrame, prefix: str = "") -> dict[Key, Line]:
    """Lines of a CSV by their key: the rows with that prefix, which is removed."""
    lines = [line for line in frame.to_dict("records") if line["row"].startswith(prefix)]
    rest = KEY[1:]
    return {(line["row"].removeprefix(prefix), *(line[n] for n in rest)): line for line in lines}


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


# --- texts
def table(frame: pd.DataFrame, title: str, smoke: bool = False) -> Table:
    """For the terminal: column by column, the counterpart first and then the variants."""
    note = " (smoke run: the numbers mean nothing)" if smoke else ""
    printed = Table("", *KEY, title=f"{title}{note}")
    for name in ("published (SD)", "ours (SE)", "reps", "z"):
        printed.add_column(name, justify="right")
    printed.add_column("verdict")
    printed.add_column("reason", overflow="fold")
    for _, lines in frame.groupby("column", sort=False):
        lines = lines.sort_values("counted", ascending=False, kind="stable")
        for line in lines.to_dict("records"):
            status = "" if line["status"] == "ok" else line["status"]
            printed.add_row(
                "" if line["counted"] else "variant",
                *(line[name] for name in KEY),
                _with_error(line["published"], line["published_se"]),
                _with_error(number(line["ours"]), number(line["ours_se"])),
                "" if math.isnan(line["repetitions"]) else f"{line['repetitions']:.0f}",
                "" if math.isnan(line["z"]) else f"{line['z']:+.1f}",
                f"[{COLOURS.get(line['verdict'], 'dim')}]{line['verdict']}[/]",
                "; ".join(filter(None, [status, line["reason"]])),
            )
        printed.add_section()
    return printed


def summary(frame: pd.DataFrame) -> str:
    """The count of verdicts on the counterparts, and the number of variants."""
    counted = frame[frame["counted"]]
    if not len(counted):
        return f"{len(frame)} variants, not counted: {counts(frame['verdict'])}."
    variants = len(frame) - len(counted)
    more = f"; {variants} comparisons of variants are not counted" if variants else ""
    return f"{tally(counted['verdict'])}{more}."


def tally(verdicts: Iterable[str]) -> str:
    """The number of printed numbers, and the count of verdicts on them."""
    printed = [verdict for verdict in verdicts if verdict != BLANK]
    return f"{len(printed)} printed numbers: {counts(printed)}"


def counts(verdicts: Iterable[str]) -> str:
    """How often each verdict occurs, without those that do not."""
    times = Counter(UNSETTLED if str(v).startswith(UNSETTLED) else str(v) for v in verdicts)
    texts = [f"{times.pop(verdict)} {word}" for verdict, word in PLURALS.items() if times[verdict]]
    not_run = times.pop(NOTHING, 0)
    texts += [f"{n} {verdict}" for verdict, n in sorted(times.items()) if n]
    return ", ".join([*texts, *([f"{not_run} not run"] if not_run else [])])


def _with_error(text: str, error: str, is_mean: bool = True) -> str:
    """`mean (standard error)`; the standard deviation of one data set's number is named."""
    return text if error in ("", "-") else f"{text} ({error if is_mean else f'sd {error}'})"


def number(value: float) -> str:
    """Two decimals, or three figures where that says too little or too much; "-" for NaN."""
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if value == 0 or 0.01 <= abs(value) < 1e4 else f"{value:.3g}"
