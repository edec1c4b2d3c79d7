"""What the figures share: colours that the colour-blind tell apart, and files that repeat."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
COLUMN, PAGE = 3.5, 7.0  # inches
FONT = 7.0  # points


def new(width: float, height: float) -> Figure:
    """An empty figure in inches, drawn without a display; no global state is touched."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, out: Path, name: str) -> list[Path]:
    """`<name>.pdf` and `.png`; the same figure gives the same bytes."""
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"{name}.pdf", out / f"{name}.png"]
    figure.savefig(files[0], metadata={"CreationDate": None})
    figure.savefig(files[1], dpi=250)
    return files
