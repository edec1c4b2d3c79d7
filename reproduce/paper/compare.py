"""Our numbers beside the published ones: z and a verdict for every printed number.

A printed number has one counterpart among our lines (`published.COUNTERPARTS`). Beside the printed
GLADIUS stands our own estimator too (`BESIDE`), whose difference from it is no failed reproduction.
Other lines of ours are variants, which are compared and not counted; short forms are in no line.

A printed number is one draw: one data set and one training, as in the public code. The test is
Student's prediction interval from our repetitions over data sets of our own. An oracle's draw is a
mean over resamples of one data set (`bus_exact.resampled`). Without a standard deviation our number
must round to the printed digits.

A test is two-sided at 5 %, with the rounding of the printed digits as a further, uniform error.
It `differs` where it rejects, and `agrees` only if it could have rejected: half the width of the
numbers that pass is at most a quarter (`judge.POWER`) of a yardstick, which `published.yardstick`
has with its reason for each kind of quantity. Else it is `unclear`, shown as "cannot tell". So it
is where the error of our own mean exceeds the printed number, and the test does not reject, or is
no guide since our standard deviation exceeds our mean. A verdict is the word of the test, or why
nothing is compared:

- `not identified`: the method leaves the level of r open, so an error of r is no evidence;
- `not comparable`: only another variant of the method was run;
- `given`: an input of the simulation or of our estimator;
- `same data`: one training on the public code's data, which has no distribution;
- `not printed`, `not run`: one of the two numbers is missing.

If at most a share FEW of our fits did not converge, the verdict rests on the others. Where more did
not, all are judged, and the reason says how many.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table

from gladius.validate import InputError
from reproduce.cells.bus_exact import RESAMPLED, RESAMPLES
from reproduce.engine.nouns import NOT_RUN, SHORT_FORM, Exhibit
from reproduce.engine.view import COLUMNS
from reproduce.paper import published
from reproduce.paper.judge import Judgement, Reference, judge, number
from reproduce.paper.targets import LEVEL
from reproduce.paper.verdicts import CANNOT_TELL, Comparison, in_words

FEW = 0.25  # share of fits without convergence up to which the others decide
NOT_OK = "repetitions not ok"  # statistic beside the score
KEY = ["row", "column", "protocol", "statistic"]
TESTS = ["z", "p", "half_width", "yardstick"]
# `column` is ours, and `beside` the printed one
COMPARED = [*KEY, "beside", "counted", "rule", "published", "published_spread", "published_se"]
COMPARED += ["ours", "ours_se", "repetitions", "status", "reference", *TESTS, "verdict", "reason"]
VERDICTS = ["exhibit", "row", "column", "statistic", "rule", "published", "ours", "reference"]
VERDICTS += [*TESTS, "verdict", "reason"]
# in the order of a summary; any other word comes after them, and ABSENT last
PLURALS: dict[str, str] = {
    Comparison.AGREES: "agree",
    Comparison.IN_PART: "agree in part",
    Comparison.DIFFERS: "differ",
    Comparison.UNCLEAR: CANNOT_TELL,
}
PLURALS |= {
    word: word
    for word in (
        Comparison.LEVEL_OPEN,
        Comparison.OTHER_VARIANT,
        Comparison.GIVEN,
        Comparison.BLANK,
    )
}
COLOURS = {Comparison.AGREES: "green", Comparison.UNCLEAR: "yellow", Comparison.DIFFERS: "red"}
Key = tuple[str, str, str, str]
Line = Mapping[Any, Any]
Lines = Mapping[Key, Line]


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
        frame = frame[frame["counted"]].assign(exhibit=exhibit.name, column=frame["beside"])
        texts = []
        for line in frame.to_dict("records"):
            is_mean = line["column"] in exhibit.averaged
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
    logged = published.LOGGED_AS.get(exhibit.name, {})
    ours = {key: line for key, line in ours.items() if key[0] not in logged} | {
        (row, *key[1:]): line
        for row, used in logged.items()
        for key, line in ours.items()
        if key[0] == used
    }
    counterparts = published.COUNTERPARTS.get(exhibit.name, {})
    lines = []
    for printed in published.with_errors(published.load(exhibit.published)).to_dict("records"):
        row, column, statistic = printed["row"], printed["column"], printed["statistic"]
        if statistic.endswith(published.DEVIATION):
            continue
        is_gladius, rules = column in published.GLADIUS, dict[Key, str]()
        if is_gladius and counterparts:
            key = (row, published.OURS, published.BESIDE[exhibit.name], statistic)
            rules[key] = published.FEASIBLE
        if counterparts:
            key = (row, column, counterparts[column], statistic)
            rules[key] = published.PROCEDURE if is_gladius else ""
        names = (column, published.OURS) if is_gladius else (column,)
        run = [k for k in ours if (k[0], k[3]) == (row, statistic) and k[1] in names]
        run = [k for k in run if SHORT_FORM not in k[2]]
        for key in [*(k for k in rules if k not in run), *run]:
            line = _line(exhibit, printed, key, ours, larger)
            if row in logged:
                line["reason"] += f"; ours is {logged[row]}, as the experiment was logged"
            lines.append({**line, "counted": key in rules, "rule": rules.get(key, "")})
    return pd.DataFrame(lines, columns=pd.Index(COMPARED))


def _line(exhibit: Exhibit, printed: Line, key: Key, ours: Lines, larger: Lines) -> dict[str, Any]:
    """One line of COMPARED, all but `counted` and `rule`."""
    row, column, protocol, statistic = key
    beside, mine = printed["column"], ours.get(key)
    numbers = {"value": math.nan, "se": math.nan, "repetitions": math.nan, "status": NOT_RUN}
    numbers |= dict(mine or {})
    test = Judgement(math.nan, Comparison.NOTHING)
    verdict: str = Comparison.ABSENT
    reference, notes = Reference(math.nan), list[str]()
    if mine is not None:
        used, status, notes = _converged(ours, key)
        resampled = (row, column, RESAMPLED, statistic)
        is_resampled = protocol == "fresh" and resampled in larger  # an oracle
        if is_resampled or (not status and key in larger):
            many, _, _ = _converged(larger, resampled if is_resampled else key)
            used = many if many["repetitions"] > used["repetitions"] else used
        is_mean = beside in exhibit.averaged  # else `se` is that of one draw
        sd = float(used["se"]) * (math.sqrt(used["repetitions"]) if is_mean else 1.0)
        reference = Reference(float(used["value"]), sd, float(used["repetitions"]))
        is_own = printed["se"] != printed["spread"]  # its error over its episodes
        own_error = float(pd.to_numeric(printed["se"] if is_own else ""))
        yardstick = published.yardstick(exhibit.published, statistic, printed["value"])
        test = judge(reference, printed["value"], own_error, yardstick)
        if is_resampled:
            notes.append(f"by the distribution of a mean of {RESAMPLES} resamples")
        verdict = status or test.verdict
    if printed["value"] == published.MISSING:
        verdict = Comparison.BLANK
    elif mine is not None and (column, statistic) in published.GIVEN:
        test, verdict = Judgement(math.nan, Comparison.NOTHING), Comparison.GIVEN
    elif mine is not None and protocol.startswith((published.PUBLIC, published.PRINTED)):
        test, verdict = Judgement(math.nan, Comparison.NOTHING), Comparison.SAME_DATA
    elif exhibit.name in published.OF_THE_REWARD and test.verdict != Comparison.NOTHING:
        verdict = published.NO_EVIDENCE.get(beside, verdict)
    reasons = [_why(verdict, test), *notes, exhibit.reason(row, column, protocol)]
    return {
        **dict(zip(KEY, key, strict=True)),
        "beside": beside,
        "published": printed["value"],
        "published_se": printed["se"],
        "published_spread": printed["spread"],
        "ours": numbers["value"],
        "ours_se": numbers["se"],
        "repetitions": numbers["repetitions"],
        "status": str(numbers["status"]),
        "reference": "" if mine is None else reference.text,
        "z": test.z,
        "p": test.p,
        "half_width": test.half_width,
        "yardstick": test.yardstick,
        "verdict": verdict,
        "reason": "; ".join(filter(None, reasons)),
    }


def _converged(lines: Lines, key: Key) -> tuple[Line, str, list[str]]:
    """(the line that decides, a verdict if none does, notes).

    The mean of the converged fits decides if FEW did not converge; else the line itself.
    """
    line = lines[key]
    status = str(line["status"])
    if status == "ok":
        return line, "", []
    counted = lines.get((*key[:3], NOT_OK), {"value": math.nan})["value"]
    times = f"{'some' if math.isnan(counted) else f'{counted:.0f}'} of {line['repetitions']:.0f}"
    others = lines.get((*key[:3], f"{key[3]} of those ok"))
    if others is not None and counted <= FEW * line["repetitions"]:
        return others, "", [f"{times} fits did not converge and are not in the comparison"]
    is_run = status in ("not_converged", "diverged")
    if is_run:
        return line, "", [f"{times} of our fits {status.replace('not_', 'have not ')}"]
    return line, status.partition(":")[0], [status]


def _why(verdict: str, test: Judgement) -> str:
    """What the verdict rests on, in words."""
    fixed = {str(word): word.rule for word in (Comparison.GIVEN, Comparison.BLANK)}
    fixed |= {Comparison.ABSENT: Comparison.ABSENT}
    if verdict in fixed or test.verdict == Comparison.NOTHING:
        return fixed.get(verdict, "")
    if test.verdict == Comparison.UNCLEAR:
        if not test.is_weak or test.p < 1 - LEVEL:
            return "our mean is too noisy to decide"
        within = f"any number within {number(test.half_width)} of ours would pass"
        return f"{within}, which is more than a quarter of {number(test.yardstick)}"
    if math.isnan(test.z):
        return "compared digit by digit"
    side = (
        "" if verdict == Comparison.AGREES else f"ours is {'higher' if test.z > 0 else 'lower'}, "
    )
    return f"{side}z = {test.z:+.1f} against one draw"


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
                f"[{COLOURS.get(line['verdict'], 'dim')}]{in_words(line['verdict'])}[/]",
                "; ".join(filter(None, [status, line["reason"]])),
            )
        printed.add_section()
    return printed


def summary(frame: pd.DataFrame) -> list[str]:
    """A line for each column and rule with the counts of its verdicts; the number of variants."""
    by_rule = frame[frame["counted"]].groupby(["column", "rule"], sort=False)["verdict"]
    lines = [f"{c}{f', {rule}' if rule else ''}: {counts(words)}" for (c, rule), words in by_rule]
    if variants := int((~frame["counted"]).sum()):
        lines.append(f"{variants} comparisons of variants are not counted")
    return lines


def counts(verdicts: Iterable[str]) -> str:
    """How often each verdict occurs, without those that do not."""
    times = Counter(str(verdict) for verdict in verdicts)
    texts = [f"{times.pop(verdict)} {word}" for verdict, word in PLURALS.items() if times[verdict]]
    others = sorted(times, key=lambda verdict: (verdict == Comparison.ABSENT, verdict))
    return ", ".join([*texts, *(f"{times[verdict]} {verdict}" for verdict in others)])


def _with_error(text: str, error: str, is_mean: bool = True) -> str:
    """`mean (standard error)`; the standard deviation of one data set's number is named."""
    return text if error in ("", "-") else f"{text} ({error if is_mean else f'sd {error}'})"
