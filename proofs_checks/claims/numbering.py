"""The paper that is examined, and the numbers of its statements: lem:BE_PL is its Lemma 8.

statements.csv has each statement as LaTeX counts it, and claims about it without its label.
"""

import csv
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gladius.validate import InputError

TITLE = (
    "An Empirical Risk Minimization Approach for Offline Inverse RL and Dynamic Discrete Choice "
    "Model"
)
AUTHORS = "Enoch H. Kang, Hema Yoganarasimhan and Lalit Jain"
SOURCE_SHA256 = "c739619befe1173dda87eaa2bcd75f3467a4ec343b3969f1e41e5e9dc3fb0024"
PAPER = f"{AUTHORS}, *{TITLE}*. We examined the LaTeX source with the SHA-256 `{SOURCE_SHA256}`"


@cache
def records(table: str) -> tuple[dict[str, str], ...]:
    """The rows of a CSV file beside this module."""
    with Path(__file__).with_name(f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


@dataclass(frozen=True)
class Statement:
    """A numbered statement of the paper.

    Attributes:
        label: LaTeX's; empty where it has none.
        kind: Theorem, Lemma, Corollary, Assumption, Definition, Remark or Algorithm.
        number: as printed; theorems, lemmas and corollaries share one count.
        section: "6.1", or "C.2" in the appendices.
        claims: ids, or what ids begin with before a full stop.
    """

    label: str
    kind: str
    number: int
    section: str
    claims: tuple[str, ...]

    @property
    def name(self) -> str:
        """As a reader of the PDF knows it: Lemma 8."""
        return f"{self.kind} {self.number}"

    @property
    def anchor(self) -> str:
        """Of its heading on the page of its section."""
        return self.name.lower().replace(" ", "-")

    def has(self, id_: str) -> bool:
        """Whether the claim is about this statement."""
        return any(id_ == claim or id_.startswith(f"{claim}.") for claim in self.claims)


@cache
def statements() -> tuple[Statement, ...]:
    """All of them, in the order of the paper."""
    return tuple(
        Statement(
            row["label"],
            row["kind"],
            int(row["number"]),
            row["section"],
            tuple(filter(None, [row["label"], *row["claims"].split()])),
        )
        for row in records("statements")
    )


def statement_of(id_: str) -> Statement | None:
    """The statement that a claim is about; None where it has no number."""
    return next((statement for statement in statements() if statement.has(id_)), None)


def as_printed(text: str) -> str:
    """The text with the PDF's numbers for labels: "Lemma sharingsol" becomes "Lemma 23"."""
    by_name = {s.label.split(":")[1]: s for s in statements() if s.label}
    kinds = "|".join(sorted({statement.kind for statement in statements()}))
    label = f"(?:{'|'.join(sorted(map(re.escape, by_name), key=len, reverse=True))})(?!\\w)"
    many = rf"(?:{kinds})s {label}(?:(?:, | and ){label})*"
    text = re.sub(many, lambda m: re.sub(label, lambda n: str(by_name[n[0]].number), m[0]), text)
    return re.sub(f"(?:{kinds}) ({label})", lambda m: by_name[m[1]].name, text)


def ids_of(text: str, ids: Collection[str]) -> list[str]:
    """The claims that a reader names: by an id, a label of the paper or a number ("Lemma 8").

    What is neither a number nor a label is returned as it is.

    Raises:
        InputError: no statement has this number, or no claim is about it.
    """
    if text in ids:
        return [text]
    by_number = re.fullmatch(r"([a-z]+)\s*(\d+)", text.strip(), re.IGNORECASE)
    kinds = {statement.kind for statement in statements()}
    if by_number and by_number[1].capitalize() in kinds:
        name = f"{by_number[1].capitalize()} {int(by_number[2])}"
        named = [statement for statement in statements() if statement.name == name]
        if not named:
            kind = name.split()[0]
            numbers = ", ".join(str(s.number) for s in statements() if s.kind == kind)
            raise InputError("statement", text, f"those called {kind} are {numbers}")
    else:
        named = [statement for statement in statements() if text and statement.label == text]
    about = [id_ for id_ in ids if any(statement.has(id_) for statement in named)]
    if named and not about:
        raise InputError("statement", text, "the paper has it, but no claim is about it")
    return about or [text]
