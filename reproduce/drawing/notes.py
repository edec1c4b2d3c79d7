"""The words of tables and figures: notes (`templates/notes.md`), alternative texts (`alts.csv`)."""

import csv
from pathlib import Path

FILE = Path(__file__).parents[1] / "templates" / "notes.md"
ALTS = FILE.with_name("alts.csv")


def notes(exhibit: str, **numbers: float | str) -> tuple[str, ...]:
    """The notes of an exhibit, with these numbers in the places of their names."""
    _, _, section = FILE.read_text("utf-8").partition(f"\n# {exhibit}\n")
    lines = section.partition("\n# ")[0].splitlines()
    return tuple(line[2:].format(**numbers) for line in lines if line.startswith("- "))


def caption(figure: str) -> str:
    """The caption of a figure, by its file's name."""
    return " ".join(notes(f"figure {Path(figure).stem}"))


def alt(figure: str) -> str:
    """What stands for a figure where it cannot be seen, by its file's name: title, and what it has.

    The titles are those that are drawn.
    """
    return " ".join(filter(None, _described(figure)))


def title(figure: str) -> str:
    """The message of a figure, by its file's name; "" where none is written."""
    return _described(figure)[0].removesuffix(".")


def _described(figure: str) -> tuple[str, str]:
    with ALTS.open(encoding="utf-8", newline="") as file:
        texts = {line["file"]: (line["title"], line["alt"]) for line in csv.DictReader(file)}
    return texts[f"{Path(figure).stem}.png"]
