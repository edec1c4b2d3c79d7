"""The unnumbered figure of the appendix: the density of Gumbel(-gamma, 1), the taste shocks.

The paper prints the density and the distribution function of Gumbel(nu, 1) and says that its mean
is nu + gamma. Both must be SciPy's, with mean 0 and variance pi^2 / 6; NumPy's draws must follow
the printed distribution function.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from reproduce.drawing import layout
from reproduce.engine import seeds
from reproduce.engine.nouns import Array, Cell, Entry, Exhibit, Record, Result
from reproduce.engine.view import View

NAME = "figure_gumbel"
ROW, COLUMN = "-gamma", "Gumbel(-gamma, 1)"
DRAWS, SMOKE_DRAWS = 100_000, 10_000
SAME = 1e-9  # of a density and of a distribution function: rounding alone
BINS = np.linspace(-4.0, 8.0, 61)
TITLE = "Gumbel(-gamma, 1): density of the taste shocks"


def printed_density(x: Array, nu: float) -> Array:
    """f(x; nu) as the paper prints it."""
    return np.asarray(np.exp(-((x - nu) + np.exp(-(x - nu)))))


def printed_distribution(x: Array, nu: float) -> Array:
    """F(x; nu) as the paper prints it."""
    return np.asarray(np.exp(-np.exp(-(x - nu))))


def entries(smoke: bool) -> list[Entry]:
    """One: the distribution, and draws of it."""
    draws = SMOKE_DRAWS if smoke else DRAWS
    settings = {"draws": draws, "seeds": NAME, "seeds_row": ROW}
    return [Entry(ROW, COLUMN, "measured", Cell(NAME, settings, NAME), "mean")]


def compute(cell: Cell) -> Result:
    """Moments of SciPy's distribution, largest differences from it on a grid, and a sample."""
    nu, n = -float(np.euler_gamma), int(cell.settings["draws"])
    gumbel, grid = stats.gumbel_r(loc=nu), np.linspace(nu - 6.0, nu + 20.0, 2601)
    of_density = np.abs(printed_density(grid, nu) - gumbel.pdf(grid)).max()
    of_distribution = np.abs(printed_distribution(grid, nu) - gumbel.cdf(grid)).max()
    sample = seeds.generators(cell)[0].gumbel(nu, 1.0, n)
    squares = (sample - sample.mean()) ** 2
    errors = [float(x.std(ddof=1) / math.sqrt(n)) for x in (sample, squares)]
    distance = stats.kstest(sample, lambda x: printed_distribution(x, nu))
    counts, _ = np.histogram(sample, BINS)
    return Result(
        (
            Record("mean", float(gumbel.mean())),
            Record("variance", float(gumbel.var())),
            Record("largest |printed density - SciPy's|", float(of_density)),
            Record("largest |printed distribution - SciPy's|", float(of_distribution)),
            Record("sample mean", float(sample.mean()), errors[0], n),
            Record("sample variance", float(sample.var(ddof=1)), errors[1], n),
            Record("sample Kolmogorov distance", float(distance.statistic), math.nan, n),
            Record("sample Kolmogorov p-value", float(distance.pvalue), math.nan, n),
        ),
        arrays={"edges": BINS, "density of draws": counts / (n * np.diff(BINS))},
    )


def render(results: View, out: Path) -> None:
    """The printed density over a histogram of the draws, with the mean."""
    result = results.get(ROW, COLUMN, "measured").result
    if not result.records:
        return
    records = {r.statistic: r for r in result.records}
    nu = -float(np.euler_gamma)
    x = np.linspace(BINS[0], BINS[-1], 1201)
    figure = layout.new_figure(layout.WIDTH, 3.6)
    axes = figure.subplots()
    draws = f"{records['sample mean'].repetitions:,} draws"
    heights, edges = result.arrays["density of draws"], result.arrays["edges"]
    axes.stairs(heights, edges, fill=True, color="0.85", label=draws)
    axes.plot(x, printed_density(x, nu), color=layout.BLUE, label="density in the paper")
    mean = records["mean"].value
    black: dict[str, Any] = {"color": "black", "linewidth": 1.0}
    axes.axvline(mean, label=f"mean {round(mean, 3) + 0.0:.3f}", **black)
    axes.axvline(nu, linestyle=":", label=f"mode -gamma = {nu:.3f}", **black)
    layout.words(axes, "taste shock epsilon (utils)", "density")
    axes.set_xlim(BINS[0], BINS[-1])
    layout.legend_below(figure, axes, 2)
    of_printed = [x.value for name, x in records.items() if name.startswith("largest")]
    layout.save(figure, out, NAME, {} if max(of_printed) < SAME else None)


EXHIBIT = Exhibit(NAME, TITLE, entries, render=render)
