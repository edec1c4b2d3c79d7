"""An exhibit's entries, computed in this process and written as a run would write them."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

from reproduce import exhibits
from reproduce.drawing import layout
from reproduce.drawing.notes import alt, caption
from reproduce.engine.nouns import Cell, Entry, Exhibit, Result
from reproduce.engine.store import Stored
from reproduce.engine.view import View
from reproduce.run import GENERATED


def stored(result: Result, status: str = "ok") -> Stored:
    """A result as the store returns it."""
    return Stored(result, status, "", {"seed": {}, "cpu_seconds": 0})


FAILED = stored(Result(()), "failed: a reason")


@cache
def computed(cell: Cell) -> Stored:
    """A cell, computed once."""
    return stored(cell.function()(cell))


def results_of(exhibit: Exhibit, entries: Sequence[Entry] | None = None) -> View:
    """The smoke entries, or these, computed."""
    listed = exhibit.checked_entries(True) if entries is None else entries
    return View(listed, [computed(e.cell) for e in listed], True, exhibit.view)


def failed(exhibit: Exhibit) -> View:
    """Its smoke entries, every cell failed."""
    listed = exhibit.checked_entries(True)
    return View(listed, [FAILED for _ in listed], True, exhibit.view)


def entry_of(name: str, row: str, column: str, protocol: str = "", smoke: bool = True) -> Entry:
    """One entry of an exhibit; without a protocol the first of the column."""
    for entry in exhibits.load(name).checked_entries(smoke):
        if (entry.row, entry.column) == (row, column) and protocol in ("", entry.protocol):
            return entry
    raise AssertionError(f"no entry {row}, {column}, {protocol} in {name}")


def resized(entry: Entry, **settings: Any) -> Entry:
    """The entry with other settings of its cell."""
    return replace(entry, cell=replace(entry.cell, settings={**entry.cell.settings, **settings}))


def with_pictures(folder: Path) -> Path:
    """The folder, with the committed pictures in it: the pages read their texts."""
    for path in GENERATED.glob("*.png"):
        shutil.copy(path, folder)
    return folder


def written(exhibit: Exhibit, results: View, out: Path) -> pd.DataFrame:
    """Write the CSV and what the exhibit draws; all of it is there. The CSV."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{exhibit.name}.csv"
    results.frame().to_csv(path, index=False, float_format="%.10g")
    with patch.object(layout, "save", checked_save):
        exhibit.render(results, out)
    assert all(file.stat().st_size > 0 for file in out.iterdir() if file.is_file())
    return pd.read_csv(path, dtype={"row": str})


SAVE = layout.save
PANELS = {2: "Two", 3: "Three", 8: "Eight"}  # what the alt of a figure of several says
SERIES = 4  # at most


def checked_save(
    figure: Figure, out: Path, name: str, said: Mapping[str, object] | None = None
) -> None:
    """Save a figure that is fit for print and has a caption; its title begins the alt."""
    SAVE(figure, out, name, said)
    assert caption(name), f"no caption of {name}"
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    text, title = alt(out / f"{name}.png"), " ".join(figure.get_suptitle().split())
    assert bool(title) == (said is not None)
    assert layout.mathematics(text).startswith(f"{title}. " if title else "")
    of_alt = re.search(r"\b(\w+) panels", text)
    is_said = (of_alt and of_alt[1]) == PANELS.get(len(panels))
    assert is_said or len(panels) < 2, f"the alt of {name}"  # few where every cell failed
    assert all(len(axes.get_legend_handles_labels()[1]) <= SERIES for axes in panels), name
    assert faults(figure) == []
    assert not is_cut(out / f"{name}.png")


def faults(figure: Figure) -> list[str]:
    """What a journal would send back."""
    texts = [t for t in figure.findobj(Text) if isinstance(t, Text) and t.get_text().strip()]
    found = [f"small: {t.get_text()}" for t in texts if float(t.get_fontsize()) < layout.FONT]
    plain = [re.sub(r"\$.*?\$", "", t.get_text()) for t in texts]
    found += [f"of the code: {text}" for text in plain if re.search(r"_|leak|\^|\w/\w", text)]
    titles = [axes.get_title("left") for axes in figure.axes if axes.get_label() != "<colorbar>"]
    is_lettered = all(title.startswith(f"({'abcdefgh'[i]})") for i, title in enumerate(titles))
    if titles[1:] and not is_lettered:
        found.append("panels without letters")
    if not titles[1:] and any(titles):
        found.append("a title of the only panel")
    return found


def is_cut(picture: Path) -> bool:
    """Whether something was drawn across the border, as words that are too long are."""
    pixels = imread(picture)[:, :, :3]
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    return bool(border.min() < 1)
