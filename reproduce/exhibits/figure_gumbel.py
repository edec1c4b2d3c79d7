"""The unnumbered figure of the appendix: the density of Gumbel(-gamma, 1), the taste shocks' law.

The paper prints the density and the distribution function of Gumbel(nu, 1) and says that its mean
is nu + gamma. Checked here: the printed density integrates to one, to the printed distribution
function, and to mean 0 and variance pi^2 / 6; it is SciPy's; NumPy's draws follow it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from reproduce import layout, seeds
from reproduce.results import Results
from reproduce.spec import Array, Cell, Entry, Exhibit, Record, Result

NAME = "figure_gumbel"
ROW, COLUMN = "-gamma", "Gumbel(-gamma, 1)"
DRAWS, SMOKE_DRAWS = 100_000, 10_000
LEFT, RIGHT = -8.0, 60.0  # from nu; the mass outside is below 1e-25
BINS = np.linspace(-4.0, 8.0, 61)
TITLE = "Gumbel(-gamma, 1): density of the taste shocks"


def printed_density(x: Array, nu: float) -> Array:
    """f(x; nu) as the paper prints it."""
    return np.asarray(np.exp(-((x - nu) + np.exp(-(x - nu)))))


def printed_distribution(x: Array, nu: float) -> Array:
    """F(x; nu) as the paper prints it."""
    return np.asarray(np.exp(-np.exp(-(x - nu))))


def integral(power: int, nu: float, upto: float = math.inf) -> float:
    """Integral of x^power f(x; nu) from nu + LEFT to the smaller of nu + RIGHT and `upto`."""
    from scipy.integrate import quad

    end = min(nu + RIGHT, upto)
    points = [x for x in (nu - 2.0, nu, nu + 5.0) if x < end]
    told = {"points": points or None, "epsabs": 1e-13, "epsrel": 1e-13, "limit": 500}
    return float(quad(lambda x: x**power * printed_density(x, nu), nu + LEFT, end, **told)[0])


def entries(smoke: bool) -> list[Entry]:
    """One: the law, and draws of it."""
    draws = SMOKE_DRAWS if smoke else DRAWS
    settings = {"draws": draws, "seeds": NAME, "seeds_row": ROW}
    return [Entry(ROW, COLUMN, "measured", Cell(f"{__name__}:compute", settings, NAME), "mean")]


def compute(cell: Cell, device: str) -> Result:
    """Moments by quadrature, largest differences on a grid, and a sample."""
    from scipy import stats

    nu, n = -float(np.euler_gamma), int(cell.settings["draws"])
    grid = np.linspace(nu - 6.0, nu + 20.0, 2601)
    scipys = np.abs(printed_density(grid, nu) - stats.gumbel_r.pdf(grid, loc=nu))
    some = grid[::100]
    accumulated = np.array([integral(0, nu, x) for x in some])
    apart = np.abs(accumulated - printed_distribution(some, nu)).max()
    mean, second = integral(1, nu), integral(2, nu)
    sample = seeds.generators(cell)[0].gumbel(nu, 1.0, n)
    squares = (sample - sample.mean()) ** 2
    errors = [float(x.std(ddof=1) / math.sqrt(n)) for x in (sample, squares)]
    distance = stats.kstest(sample, lambda x: printed_distribution(x, nu))
    counts, _ = np.histogram(sample, BINS)
    return Result(
        (
            Record("mass", integral(0, nu)),
            Record("mean", mean),
            Record("variance", second - mean**2),
            Record("variance - pi^2 / 6", second - mean**2 - math.pi**2 / 6),
            Record("largest |printed density - SciPy's|", float(scipys.max())),
            Record("largest |printed distribution - integral of printed density|", float(apart)),
            Record("sample mean", float(sample.mean()), errors[0], n),
            Record("sample variance", float(sample.var(ddof=1)), errors[1], n),
            Record("sample Kolmogorov distance", float(distance.statistic), math.nan, n),
            Record("sample Kolmogorov p-value", float(distance.pvalue), math.nan, n),
        ),
        arrays={"edges": BINS, "density of draws": counts / (n * np.diff(BINS))},
    )


def render(results: Results, out: Path) -> list[Path]:
    """The printed density over a histogram of the draws, with the mean."""
    result = results.get(ROW, COLUMN, "measured").result
    if not result.records:
        return []
    found = {r.statistic: r for r in result.records}
    nu = -float(np.euler_gamma)
    x = np.linspace(BINS[0], BINS[-1], 1201)
    figure = layout.new_figure(layout.PAGE, 4.4)
    axes = figure.subplots()
    draws = f"{found['sample mean'].repetitions:,} draws"
    heights, edges = result.arrays["density of draws"], result.arrays["edges"]
    axes.stairs(heights, edges, fill=True, color="0.85", label=draws)
    axes.plot(x, printed_density(x, nu), color="tab:blue", label="density as printed")
    mean = found["mean"].value
    black: dict[str, Any] = {"color": "black", "linewidth": 1.0}
    axes.axvline(mean, label=f"mean {round(mean, 3) + 0.0:.3f}", **black)
    axes.axvline(nu, linestyle=":", label=rf"mode $-\gamma$ = {nu:.3f}", **black)
    title = rf"Gumbel distribution $G(-\gamma, 1)$, variance {found['variance'].value:.4f}"
    layout.words(axes, r"taste shock $\epsilon$ (utils)", "density", title)
    axes.set_xlim(BINS[0], BINS[-1])
    axes.legend(fontsize=layout.FONT)
    return layout.save(figure, out, NAME)


EXHIBIT = Exhibit(NAME, TITLE, entries, cost=0.1, render=render)
