"""What an exhibit is made of: cells (what to compute), records (what came out), the exhibit.

A cell is the smallest unit that is computed, stored and resumed; its replications are an axis
inside it. A spec that names something unknown fails when it is made, before any work starts.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gladius.checks import InputError
from gladius.methods import METHODS

if TYPE_CHECKING:
    from reproduce.results import Results

Array = NDArray[np.float64]

NAME = re.compile(r"[a-z][a-z0-9_]*")
# First word of a protocol. `fresh`: every repetition draws a data set; `bootstrap`: repetitions
# resample one data set; the others as in gladius.gladius; `measured`: nothing is estimated.
PROTOCOLS = ("fresh", "bootstrap", "leak_free", "printed", "author", "measured")
FAILED = "failed: "
NOT_RUN = "not_run"
SEVERITY = ("ok", "not_converged", "diverged", NOT_RUN)  # and worst of all, `failed: why`


def check_status(status: str) -> str:
    """The status if it is one of SEVERITY or `failed: why`."""
    if status in SEVERITY or (status.startswith(FAILED) and len(status) > len(FAILED)):
        return status
    raise InputError("status", status, f"use one of {', '.join(SEVERITY)}, or '{FAILED}why'")


def worst(statuses: Sequence[str]) -> str:
    """The gravest of the statuses; the first failure if there is one."""
    failures = [check_status(s) for s in statuses if s not in SEVERITY]
    return failures[0] if failures else max(statuses, key=SEVERITY.index, default="ok")


@dataclass(frozen=True)
class Cell:
    """One unit of work.

    Attributes:
        exhibit: name of the exhibit it belongs to.
        row: as the paper labels it (N, K, mileage, environment/trajectories, ...).
        column: the method as the paper spells it.
        protocol: a word of PROTOCOLS, more words where one is not enough.
        settings: everything else that decides the numbers; what JSON can hold. Known names:
            `method` (of gladius.METHODS), `repetitions`, `seeds` (the exhibit whose seeds to
            use, by default its own, so that exhibits can share data sets).
        not_run: why this cell is shown but never computed.
        statistic: what the table shows of it, so that a cell without a result has a name for it.
    """

    exhibit: str
    row: str
    column: str
    protocol: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    not_run: str = ""
    statistic: str = "MAPE"

    def __post_init__(self) -> None:
        _name("exhibit", self.exhibit)
        for name in ("row", "column", "protocol"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise InputError(name, value, "give a non-empty string")
        if self.protocol.split()[0] not in PROTOCOLS:
            raise InputError("protocol", self.protocol, f"start with one of {', '.join(PROTOCOLS)}")
        try:
            copied = json.loads(json.dumps(dict(self.settings), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise InputError(
                "settings", self.settings, f"use what JSON can hold ({error})"
            ) from None
        object.__setattr__(self, "settings", copied)
        method = copied.get("method", "gladius")
        if method not in METHODS:
            raise InputError(
                "settings.method", method, f"choose one of {', '.join(sorted(METHODS))}"
            )
        repetitions = copied.get("repetitions", 1)
        if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 1:
            raise InputError(
                "settings.repetitions", repetitions, "give a whole number of at least 1"
            )
        _name("settings.seeds", copied.get("seeds", self.exhibit))

    @property
    def id(self) -> str:
        """Readable and unique within a build."""
        return f"{self.exhibit}/{self.row}/{self.column}/{self.protocol}"

    @property
    def seeds(self) -> str:
        """The exhibit whose seeds it uses."""
        return str(self.settings.get("seeds", self.exhibit))

    @property
    def repetitions(self) -> int:
        """Replications inside the cell."""
        return int(self.settings.get("repetitions", 1))

    def spec(self) -> dict[str, Any]:
        """Everything that decides the numbers, for storage."""
        names = ("exhibit", "row", "column", "protocol")
        return {name: getattr(self, name) for name in names} | {"settings": dict(self.settings)}

    @property
    def digest(self) -> str:
        """SHA-256 of the spec; the same in every process and on every machine."""
        text = json.dumps(self.spec(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Record:
    """One number of a cell.

    Attributes:
        statistic: what it is, with its unit where it has one (`MAPE` is in per cent).
        value: NaN where there is none.
        se: its standard error, NaN where there is none.
        repetitions: how many replications it rests on.
        status: see SEVERITY.
        protocol: if one run gives numbers under several protocols, the record's own.
        row: if one run gives numbers for several rows, the record's own.
    """

    statistic: str
    value: float
    se: float = math.nan
    repetitions: int = 1
    status: str = "ok"
    protocol: str = ""
    row: str = ""

    def __post_init__(self) -> None:
        check_status(self.status)


@dataclass(frozen=True)
class Result:
    """What `compute` returns.

    Attributes:
        records: the numbers to show.
        replications: statistic -> its value in each replication, for paired comparisons.
        arrays: anything larger that another exhibit or a figure needs.
        cpu_seconds: processor time of one repetition's fit (the cell's own time is measured).
    """

    records: tuple[Record, ...]
    replications: Mapping[str, Sequence[float]] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    cpu_seconds: float = math.nan


def summarise(
    statistic: str, values: Sequence[float], statuses: Sequence[str], protocol: str = ""
) -> tuple[Record, ...]:
    """Mean, standard error (standard deviation / sqrt(repetitions)) and median of replications.

    No replication is dropped: the mean is over all. Where some are not ok their number is a
    record, and so is the mean of those that are.
    """
    x = np.asarray(values, dtype=float)
    if len(x) == 0 or len(x) != len(statuses):
        raise InputError(
            "statuses", len(statuses), f"give one for each of the {len(x)} values, 1 or more"
        )
    status, n = worst(statuses), len(x)

    def record(name: str, at: Array, how: str) -> Record:
        finite = bool(np.all(np.isfinite(at)))
        se = float(np.std(at, ddof=1) / math.sqrt(len(at))) if len(at) > 1 and finite else math.nan
        return Record(name, float(np.mean(at)), se, len(at), how, protocol)

    ok = np.array([s == "ok" for s in statuses])
    found = [record(statistic, x, status)]
    found.append(Record(f"{statistic} median", float(np.median(x)), math.nan, n, status, protocol))
    found.append(Record("repetitions not ok", float(n - ok.sum()), math.nan, n, status, protocol))
    if 0 < ok.sum() < n:
        found.append(record(f"{statistic} of those ok", x[ok], "ok"))
    return tuple(found)


def _no_files(results: Results, out: Path) -> list[Path]:
    return []


def _no_reason(row: str, column: str, protocol: str) -> str:
    return ""


@dataclass(frozen=True)
class Exhibit:
    """One table or figure.

    Attributes:
        name: as in the design (`table_2`); its file has the same name.
        title: one line.
        cells: maps whether the run is a smoke run to the cells, in the order of display.
        compute: does a cell on a device; looks at nothing but the cell. It must be importable.
        render: writes the .tex, .pdf, .png (the .csv is written for every exhibit).
        depends: exhibits that are run before, whose cells `render` uses.
        shows: exhibits whose cells are shown beside its own where they exist.
        published: name of the published CSV to compare with, "" for none.
        reason: (row, column, protocol) -> one line on why ours agrees or differs.
        published_repetitions: column -> repetitions behind its published "(SE)", where that may
            be a standard deviation.
        verdict: the folder of the results -> one line for the README; by default the count of
            the comparison with the published numbers.
    """

    name: str
    title: str
    cells: Callable[[bool], list[Cell]]
    compute: Callable[[Cell, str], Result]
    render: Callable[[Results, Path], list[Path]] = _no_files
    depends: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    published: str = ""
    reason: Callable[[str, str, str], str] = _no_reason
    published_repetitions: Mapping[str, int] = field(default_factory=dict)
    verdict: Callable[[Path], str] | None = None

    def __post_init__(self) -> None:
        _name("name", self.name)
        for one in (*self.depends, *self.shows):
            _name("depends", one)

    def checked_cells(self, smoke: bool) -> list[Cell]:
        """Its cells; raises where one belongs elsewhere or two would be stored as one."""
        cells = self.cells(smoke)
        seen: set[str] = set()
        for cell in cells:
            if cell.exhibit != self.name:
                raise InputError("exhibit", cell.exhibit, f"a cell of {self.name} must say so")
            if cell.id in seen:
                raise InputError("cell", cell.id, "it occurs twice: tell the two apart by protocol")
            seen.add(cell.id)
        return cells


def _name(field_: str, value: object) -> None:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise InputError(field_, value, "use lower-case letters, digits and underscores")
