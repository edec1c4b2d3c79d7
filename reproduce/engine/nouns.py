"""The five nouns of an exhibit: Cell, Entry, Record, Result, Exhibit.

A cell is the smallest unit that is computed, stored and resumed. Its replications are an axis
inside it. It belongs to no exhibit: two exhibits that list an equal cell share it. A specification
that names something unknown fails when it is made, before any work starts.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gladius.own_data.erm import ROW_CLASSES  # and registers profiled_erm
from gladius.register import METHODS
from gladius.validate import Array as Array
from gladius.validate import InputError, check_choice, check_whole
from reproduce.engine.register import FUNCTIONS

NAME = re.compile(r"[a-z][a-z0-9_]*")
FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
# The first word of a protocol. `fresh`: every repetition draws a data set. `bootstrap`: repetitions
# resample one data set. `measured`: nothing is estimated. `leak_free`: without the true reward. The
# last two are those of method="gladius".
KINDS_OF_PROTOCOL = ("fresh", "bootstrap", "leak_free", "printed", "author", "measured")
FAILED = "failed: "
NOT_RUN = "not_run"
LONG = "long"  # the setting of cells that take hours
SHORT = "short"  # the setting of cells that stand in for them
SHORT_FORM = "short form"  # in the protocols of these: no printed number is compared with one
SEVERITY = ("ok", "not_converged", "diverged", NOT_RUN)  # `failed: why` is worse than all of them


def worst(statuses: Sequence[str]) -> str:
    """The most severe status; the first failure if there is one."""
    failures = [status for status in statuses if status not in SEVERITY]
    return failures[0] if failures else max(statuses, key=SEVERITY.index, default="ok")


# computes in this process; Table 1's limits measure a child process on the CPU
ON_DEVICE = ("fit", "many_inputs", "imitation")


@dataclass(frozen=True)
class Cell:
    """One unit of work; its identity is `compute` and `settings`.

    Attributes:
        compute: name of a function cell -> Result in `register.FUNCTIONS`; `module:function` of
            one that is not registered.
        settings: everything that decides the numbers, in types that JSON holds. Checked names:
            `method` (of gladius.METHODS), `repetitions`, `trajectories`, `seeds` (the stream of
            data sets, for example `table_2`), `seeds_row` (the second key of the stream, by
            default the number of trajectories) and `long` (only a run with --long computes it).
        label: readable, for progress and messages; not part of the identity.
    """

    compute: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.compute not in FUNCTIONS and not FUNCTION.fullmatch(self.compute):
            raise InputError("compute", self.compute, "register it, or name it 'module:function'")
        try:
            copied = json.loads(json.dumps(dict(self.settings), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise InputError("settings", self.settings, f"use what JSON holds ({error})") from None
        object.__setattr__(self, "settings", copied)
        if "method" in copied:
            check_choice("settings.method", copied["method"], METHODS)
        check_whole("settings.repetitions", copied.get("repetitions", 1), 1)
        _name("settings.seeds", copied.get("seeds", "none"))

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def id(self) -> str:
        """Readable and unique: the label and the beginning of the digest."""
        return f"{self.label or self.compute} [{self.digest[:8]}]"

    @property
    def seeds(self) -> tuple[str, str]:
        """(name, row): the two keys of its stream of data sets.

        Raises:
            InputError: the settings name no stream, so the cell has no random numbers.
        """
        if "seeds" not in self.settings:
            raise InputError("settings.seeds", None, "name the stream of data sets")
        row = self.settings.get("seeds_row", self.settings.get("trajectories", ""))
        return str(self.settings["seeds"]), str(row)

    @property
    def repetitions(self) -> int:
        """Replications inside the cell."""
        return int(self.settings.get("repetitions", 1))

    def spec(self) -> dict[str, Any]:
        """Everything that decides the numbers, for storage."""
        return {"compute": self.compute, "settings": dict(self.settings)}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the spec; the same in every process and on every machine."""
        text = json.dumps(self.spec(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def takes_device(self) -> bool:
        """Whether its networks and regressions on observations can be on a GPU."""
        options, method = self.settings.get("options", {}), self.settings.get("method")
        on_observations = (
            "environment" in self.settings or options.get("function_class") in ROW_CLASSES
        )
        takes = method in ("bc", "iq_learn", "pqr")
        takes |= method == "profiled_erm" and on_observations
        return takes and self.compute in ON_DEVICE

    def function(self) -> Callable[[Cell], Result]:
        """The function that computes it, imported on demand."""
        module, _, name = FUNCTIONS.get(self.compute, self.compute).partition(":")
        function: Callable[[Cell], Result] = getattr(import_module(module), name)
        return function


@dataclass(frozen=True)
class Entry:
    """One position of an exhibit, and the cell that computes it."""

    row: str  # as the paper labels it (N, K, mileage, environment/trajectories, ...)
    column: str  # the method as the paper spells it
    protocol: str  # a word of KINDS_OF_PROTOCOL, more words where one is not enough
    cell: Cell  # what computes it
    statistic: str = "MAPE"  # the statistic that a cell without a result is reported under
    is_shown: bool = True  # whether the CSV has it; `render` may use the others

    def __post_init__(self) -> None:
        for name in ("row", "column", "protocol"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise InputError(name, value, "give a non-empty string")
        if self.protocol.split()[0] not in KINDS_OF_PROTOCOL:
            raise InputError(
                "protocol", self.protocol, f"start with one of {', '.join(KINDS_OF_PROTOCOL)}"
            )

    @property
    def id(self) -> str:
        """Readable and unique within an exhibit."""
        return f"{self.row}/{self.column}/{self.protocol}"


def short_form(cell: Cell, **settings: Any) -> Cell:
    """The cell that stands in for one of hours where none is stored; `settings` make it short."""
    others = {name: x for name, x in cell.settings.items() if name != LONG}
    label = f"{cell.label or cell.compute}, {SHORT_FORM}"
    return replace(cell, settings={**others, SHORT: True, **settings}, label=label)


def drawn(entries: Sequence[Entry], is_stored: Callable[[Cell], bool]) -> list[Entry]:
    """The entries that are drawn where the cells of hours are those that are stored.

    A short form is drawn where no long cell of its row, column and first word of the protocol is.
    """

    def key(entry: Entry) -> tuple[str, ...]:
        return entry.row, entry.column, entry.protocol.split()[0]

    absent = {e for e in entries if e.cell.settings.get(LONG) and not is_stored(e.cell)}
    long = {key(e) for e in entries if e.cell.settings.get(LONG) and e not in absent}
    short = {e for e in entries if e.cell.settings.get(SHORT) and key(e) in long}
    return [e for e in entries if e not in absent | short]


@dataclass(frozen=True)
class Record:
    """One number of a cell."""

    statistic: str  # its name, with its unit where it has one (`MAPE` is in per cent)
    value: float  # with its standard error `se`; NaN where there is none
    se: float = math.nan
    repetitions: int = 1  # number of replications that it summarises
    status: str = "ok"  # see SEVERITY
    # protocol, row: those of the record, where one cell has several; "" for the entry's
    protocol: str = ""
    row: str = ""

    def __post_init__(self) -> None:
        is_failure = self.status.startswith(FAILED) and len(self.status) > len(FAILED)
        if self.status not in SEVERITY and not is_failure:
            hint = f"use one of {', '.join(SEVERITY)}, or '{FAILED}why'"
            raise InputError("status", self.status, hint)


@dataclass(frozen=True)
class Result:
    """What `compute` returns."""

    records: tuple[Record, ...]  # the numbers of the exhibits
    # statistic -> its value in each replication, for paired comparisons
    replications: Mapping[str, Sequence[float]] = field(default_factory=dict)
    # anything larger that a view or a figure needs
    arrays: Mapping[str, Array] = field(default_factory=dict)
    # processor time of one repetition's fit; the runner measures the cell's own
    cpu_seconds: float = math.nan


def check_result(result: object) -> Result:
    """The result itself, if it is valid: not empty, and finite wherever a status is `ok`.

    Raises:
        TypeError, ValueError: it is not valid; the message says why.
    """
    if not isinstance(result, Result):
        raise TypeError(f"compute returned {type(result).__name__}, not a Result")
    if not result.records and not result.arrays:
        raise ValueError("compute returned neither records nor arrays")
    for record in result.records:
        if record.status == "ok" and (not math.isfinite(record.value) or math.isinf(record.se)):
            numbers = f"value {record.value}, standard error {record.se}"
            raise ValueError(f"{record.statistic!r} has status ok and is not finite: {numbers}")
    return result


def summarise(
    statistic: str, values: Sequence[float], statuses: Sequence[str]
) -> tuple[Record, ...]:
    """Records of mean, standard error (SD / sqrt(repetitions)) and median of replications.

    No replication is dropped: the mean is over all. Where some are not ok, further records have
    their number and the mean of the others.
    """
    sample, ok = np.asarray(values, dtype=float), np.array([s == "ok" for s in statuses])
    if not 0 < len(sample) == len(ok):
        hint = f"give one for each of the {len(sample)} values, 1 or more"
        raise InputError("statuses", len(ok), hint)
    count, status = len(sample), worst(statuses)

    def mean(name: str, values: Array, status: str) -> Record:
        se = math.nan
        if len(values) > 1 and np.all(np.isfinite(values)):
            se = float(np.std(values, ddof=1) / math.sqrt(len(values)))
        return Record(name, float(np.mean(values)), se, len(values), status)

    return (
        mean(statistic, sample, status),
        Record(f"{statistic} median", float(np.median(sample)), math.nan, count, status),
        Record("repetitions not ok", float(count - ok.sum()), math.nan, count, status),
        *([mean(f"{statistic} of those ok", sample[ok], "ok")] if 0 < ok.sum() < count else []),
    )


def as_stored(entry: Entry, result: Result) -> Sequence[Record]:
    """The view of an exhibit that shows a cell's records as they are."""
    return result.records


@dataclass(frozen=True)
class Exhibit:
    """One table or figure: a view of cells.

    Attributes:
        name: as in the design (`table_2`); its file has the same name.
        title: one line.
        entries: is_smoke -> the entries, in the order of display. They name every cell that
            `render` uses.
        render: (results, folder) writes tables as .tex and .md, figures as .pdf and .png.
        view: the records that an entry shows of its cell's result; by default all of them.
        published: name of the published CSV to compare with, "" for none.
        reason: (row, column, protocol) -> one sentence on why ours agrees or differs.
        averaged: columns of which our line is a mean over repetitions.
        verdict: folder of the results -> a sentence for the overview, at most 160 characters;
            further lines add to it. By default the count of the comparison with the paper.
        tolerance: relative difference below which the numbers of two machines agree.
    """

    name: str
    title: str
    entries: Callable[[bool], list[Entry]]
    render: Callable[[Any, Path], None] = lambda results, out: None
    view: Callable[[Entry, Result], Sequence[Record]] = as_stored
    published: str = ""
    reason: Callable[[str, str, str], str] = lambda row, column, protocol: ""
    averaged: Sequence[str] = ()
    verdict: Callable[[Path], str] | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        _name("name", self.name)
        if not self.tolerance >= 0:
            raise InputError("tolerance", self.tolerance, "give a number of at least 0")

    def checked_entries(self, smoke: bool) -> list[Entry]:
        """Its entries.

        Raises:
            InputError: two entries have the same row, column and protocol.
        """
        entries = self.entries(smoke)
        for id_, times in Counter(entry.id for entry in entries).items():
            if times > 1:
                raise InputError("entry", id_, "it occurs twice: give one another protocol")
        return entries


def _name(field_: str, value: object) -> None:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise InputError(field_, value, "use lower-case letters, digits and underscores")
