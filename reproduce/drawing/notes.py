"""The notes under the exhibits' tables, from `templates/notes.md`."""

from pathlib import Path

FILE = Path(__file__).parents[1] / "templates" / "notes.md"


def notes(exhibit: str, **numbers: float | str) -> tuple[str, ...]:
    """The notes of an exhibit, with these numbers in the places of their names."""
    _, _, section = FILE.read_text("utf-8").partition(f"\n# {exhibit}\n")
    lines = section.partition("\n# ")[0].splitlines()
    return tuple(line[2:].format(**numbers) for line in lines if line.startswith("- "))


def caption(figure: str) -> str:
    """The caption of a figure, by its file's name."""
    return " ".join(notes(f"figure {Path(figure).stem}"))
