"""The words of tables and figures: notes (`templates/notes.md`), titles of figures (`alts.csv`)."""

import csv
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from gladius.validate import InputError

FILE = Path(__file__).parents[1] / "templates" / "notes.md"
ALTS = FILE.with_name("alts.csv")
DESCRIPTION = "Description"  # of a picture: PNG's own key for a text


def notes(exhibit: str, **numbers: float | str) -> tuple[str, ...]:
    """The notes of an exhibit, with these numbers in the places of their names."""
    _, _, section = FILE.read_text("utf-8").partition(f"\n# {exhibit}\n")
    lines = section.partition("\n# ")[0].splitlines()
    return tuple(line[2:].format(**numbers) for line in lines if line.startswith("- "))


def caption(figure: str) -> str:
    """The caption of a figure, by its file's name."""
    return " ".join(notes(f"figure {Path(figure).stem}"))


def described(figure: str, said: Mapping[str, object] | None) -> tuple[str, str]:
    """The title of a figure by its name, and what stands for it where it cannot be seen.

    The title is the figure's message with the numbers of `said`, and begins the second text. It is
    "" where nothing is said, as what was drawn does not show it.
    """
    with ALTS.open(encoding="utf-8", newline="") as file:
        texts = {line["file"]: (line["title"], line["alt"]) for line in csv.DictReader(file)}
    title, alt = texts[f"{figure}.png"]
    title = "" if said is None else title.format(**said)
    return title, f"{title}. {alt}" if title else alt


def alt(picture: Path) -> str:
    """What stands for a picture where it cannot be seen, as `layout.save` wrote it into the file.

    Raises:
        InputError: there is no such picture.
    """
    if not picture.is_file():
        exhibit = f"python -m reproduce run {picture.stem}"
        raise InputError("picture", picture.name, f"not drawn yet: {exhibit}, or of its exhibit")
    with Image.open(picture) as image:
        return str(image.info[DESCRIPTION])
