"""How loose the appendix's constants are on the paper's own data.

The class is the tabular one, a parameter for each output, so that mu_Q = mu_zeta = 1 and nothing is
lost between outputs and parameters. Data: the training split of Table 2's first repetition. Balls
are centred at the minimiser of R_Q, where an action that a state lacks in the data gets half a
count: with such a state the likelihood's infimum is not attained, and no ball contains a minimiser.

(a) Bound over observed, at points of a ball, one row for each constant: 1 is tight. (b) Constants
of the Polyak-Lojasiewicz inequality: from the appendix; the least (1/2)|gradient|^2 / (loss -
infimum over all tables) found in the ball, by points and by descents, which no constant that holds
exceeds; and the least non-zero curvature at the centre.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit, kl_div, log_softmax, softmax

from gladius import BusEngine
from gladius.objective import value
from gladius.transitions import group
from proofs_checks.oracle import polyak
from proofs_checks.oracle.polyak import Sizes
from proofs_checks.oracle.risk import Sample
from reproduce import layout, seeds
from reproduce.exhibits import _bus, _figures
from reproduce.exhibits._landscape import (
    TERMS,
    Landscape,
    centre,
    lacking,
    least_ratio,
    levelled,
    points,
    sample_of,
    worst_starts,
)
from reproduce.results import Results
from reproduce.spec import Array, Cell, Exhibit, Record, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = "tightness"
TRAJECTORIES, RADII = (50, 1000), (1.0, 10.0)
POINTS, STARTS, ITERATIONS, KEPT = 300, 12, 100, 4
SMOKE_POINTS, SMOKE_STARTS, SMOKE_ITERATIONS = 20, 2, 10
COLUMN, PROTOCOL = "tabular", "measured"
FROM_ZERO = "log10 of c_R on the ball around Q = 0 that reaches the centre, at most"


def cells(smoke: bool) -> list[Cell]:
    """One for each number of trajectories."""
    settings = {
        "radii": RADII,
        "points": SMOKE_POINTS if smoke else POINTS,
        "starts": SMOKE_STARTS if smoke else STARTS,
        "iterations": SMOKE_ITERATIONS if smoke else ITERATIONS,
        "kept": KEPT,
        "seeds": "table_2",
        "repetitions": 1,
    }
    sizes = TRAJECTORIES[:1] if smoke else TRAJECTORIES
    return [
        Cell(NAME, str(n), COLUMN, PROTOCOL, {**settings, "trajectories": n}, statistic="PL")
        for n in sizes
    ]


def protocol(radius: float) -> str:
    """The protocol of a ball's lines in the CSV."""
    return f"{PROTOCOL} radius {radius:g}"


def ball(sample: Sample, q: Array, radius: float) -> polyak.Constants:
    """The constants on the ball around q (X, 2).

    Q_- and Q_+ are the extremes of single outputs, as the paper takes them. |P_parallel A'| is
    convex in the choice probabilities, so that it is largest where each is at an end of its range;
    the ends are those of the box around the ball.
    """
    of = polyak.constants(sample, q)
    least = of.least_choice * math.exp(-2 * radius)
    gap = q[:, 0] - q[:, 1]
    ends = expit(np.stack([gap - math.sqrt(2) * radius, gap + math.sqrt(2) * radius]))
    ahead = np.flatnonzero(sample.law.sum(axis=0))
    largest = 0.0
    for which in itertools.product((0, 1), repeat=len(ahead)):
        p = np.full(len(q), 0.5)
        p[ahead] = ends[list(which), ahead]
        logit = np.stack([np.log(p), np.log1p(-p)], axis=1)
        largest = max(largest, polyak.constants(sample, logit).parallel)
    return replace(of, least_choice=least, parallel=largest)


def promised(sample: Sample, of: polyak.Constants) -> dict[str, float]:
    """The appendix's PL constants; mu = 1."""
    dual = polyak.auxiliary_constant(sample.discount, sample.be_weight)
    found = (of.bellman, of.nll, of.combined, dual)
    return dict(zip(TERMS, found, strict=True))


def log_combined(of: polyak.Constants, radius: float) -> float:
    """log10 of c_R on a ball so large that p_- is no floating-point number.

    `of` has the centre's p_-; its C_parallel, that of any point of the ball, makes this too large.
    """
    choice = math.log10(of.nll * of.nll_share) - 2 * radius / math.log(10)
    return min(choice, math.log10(of.bellman / 2))


def sizes(sample: Sample, q: Array, radius: float) -> Sizes:
    """B, B_2 and M of the tabular class on the ball: each output moves by at most the radius."""
    residual = np.abs(sample.reward).max() + sample.discount * (np.abs(value(q)).max() + radius)
    residual += np.abs(q).max() + radius
    return Sizes(q.shape[1], sample.discount, 1.0, 0.0, float(residual))


def looseness(sample: Sample, q: Array, of: polyak.Constants, size: Sizes) -> dict[str, float]:
    """Bound over observed (or observed over bound) of each constant at q (X, A)."""
    jacobian = sample.residual_jacobian(q)
    between = jacobian - polyak.within_blocks(jacobian, q.shape[1])
    p = softmax(q, axis=1)[sample.nll_states]
    apart = np.sum((p - sample.choices) ** 2, axis=1) / p.min(axis=1)
    nll, bellman = sample.nll_gradient(q), sample.bellman_gradient(q)
    together = of.nll_share * np.sum(nll**2) + of.bellman * sample.bellman(q)
    share = sample.be_size / sample.size  # R_emp averages over all rows
    found = {
        "gamma_perp": np.linalg.svd(between, compute_uv=False)[-1] / of.gamma,
        "p_-": p.min() / of.least_choice,
        "KL by chi-square": np.min(apart / kl_div(sample.choices, p).sum(axis=1)),
        "a_NLL, a_BE": np.sum((nll + bellman) ** 2) / together,
    }
    curved = [Landscape(sample, term, q).hessian(q.ravel()) for term in ("L_NLL", "L_BE")]
    steep = np.linalg.norm(nll + share * bellman)
    found |= {
        "Lipschitz, 2 + 2 M (1 + beta)": size.lipschitz() / steep,
        "curvature of L_NLL": size.choice() / np.linalg.norm(curved[0], 2),
        "L_theta": size.theta() / np.linalg.norm(curved[0] + share * curved[1], 2),
        "L_zeta, 2 beta^2": 1 / (share * sample.be_weight.max()),
    }
    return {name: float(one) for name, one in found.items()}


def compute(cell: Cell, device: str) -> Result:
    """All balls of one data set, the smallest first: its worst points start the next search."""
    at = cell.settings
    world = BusEngine()
    train, _ = _bus.data_sets(world, cell)
    sample = sample_of(group(train), world.anchor_action, world.anchor_reward, world.discount)
    q = centre(sample)
    (rng,) = seeds.generators(cell, "points")
    whole = float(np.linalg.norm(q))
    local = replace(polyak.constants(sample, q), least_choice=1 / q.shape[1])
    lines = [
        Record("states", len(q)),
        Record("states that lack an action", lacking(sample)),
        Record(FROM_ZERO, log_combined(local, whole)),
    ]
    arrays: dict[str, Array] = {}
    worst: dict[str, list[Array]] = {term: [] for term in TERMS}
    for radius in at["radii"]:
        of, size, where = ball(sample, q, radius), sizes(sample, q, radius), protocol(radius)
        loose: dict[str, list[float]] = {}
        for term, constant in promised(sample, of).items():
            shape = Landscape(sample, term, q)
            drawn = points(shape, radius, at["points"], rng)
            starts = [*worst[term], *worst_starts(shape, radius, drawn, at["starts"])]
            if term == "R_Q":  # where its gradient and its gap are the likelihood's
                same = [
                    levelled(sample, log_softmax(x.reshape(q.shape), axis=1))
                    for x in worst["L_NLL"]
                ]
                starts += [x.ravel() for x in same if np.linalg.norm(x - q) <= radius]
            found, point = least_ratio(shape, radius, starts, at["iterations"], at["kept"])
            worst[term].append(point)
            loose[f"PL of {term}"] = [shape.ratio(x) / constant for x in drawn]
            lines += [
                Record(f"PL of {term}, appendix", constant, protocol=where),
                Record(f"PL of {term}, least found", found, protocol=where),
                Record(f"curvature of {term}", shape.curvature(), protocol=where),
            ]
        for x in points(Landscape(sample, "R_Q", q), radius, at["points"], rng):
            for name, slack in looseness(sample, x.reshape(q.shape), of, size).items():
                loose.setdefault(name, []).append(slack)
        for name, slacks in loose.items():
            arrays[f"{radius:g} {name}"] = np.array(slacks)
            lines.append(
                Record(f"slack, {name}", min(slacks), math.nan, len(slacks), protocol=where)
            )
    return Result(tuple(lines), arrays=arrays)


def render(results: Results, out: Path) -> list[Path]:
    """The figure and the table."""
    return [*_draw(results, out), *_table(results, out)]


def _values(results: Results, row: str) -> dict[tuple[str, str], float]:
    """(protocol, statistic) -> value of a data set; empty where it was not run."""
    stored = results.get(row, COLUMN, PROTOCOL)
    lines = () if stored is None else stored.result.records
    return {(line.protocol, line.statistic): line.value for line in lines}


KINDS = {"appendix": "appendix", "least found": "least found", "curvature": "curvature"}


def _constants(results: Results) -> pd.DataFrame:
    """One line for each data set, ball and term, with the three numbers of (b)."""
    lines = []
    for cell in results.cells:
        found = _values(results, cell.row)
        for radius in cell.settings["radii"]:
            for term in TERMS:
                names = [f"PL of {term}, {kind}" for kind in ("appendix", "least found")]
                names.append(f"curvature of {term}")
                numbers = [found.get((protocol(radius), name), math.nan) for name in names]
                lines.append((int(cell.row), radius, term, *numbers))
    heads = ["N", "radius", "loss", *KINDS]
    return pd.DataFrame(lines, columns=pd.Index(heads))


def notes(results: Results) -> list[str]:
    """What a reader of the table must know, with the numbers of this run."""
    said = []
    for cell in results.cells:
        found = {name: x for (where, name), x in _values(results, cell.row).items() if not where}
        if found:
            part = "{:.0f} of {:.0f} states lack an action".format(
                found["states that lack an action"], found["states"]
            )
            log = found[FROM_ZERO]
            said.append(
                f"N = {cell.row}: {part}; on the ball around Q = 0 that reaches the centre, the "
                f"appendix's constant of R_Q is at most 10^{log:.0f}."
            )
    return [
        "Tabular class (mu = 1), training split of Table 2's first data set; ball around the"
        " minimiser, half a count for an action that a state lacks.",
        "least found: (1/2)|gradient|^2 over (loss - infimum over all tables), by points and"
        " descents: no larger constant holds.",
        "curvature: the least non-zero one at the centre, which is no stationary point where"
        " half counts stand in.",
        *said,
    ]


def _table(results: Results, out: Path) -> list[Path]:
    frame = _constants(results)
    frame["found / appendix"] = frame["least found"] / frame["appendix"]
    index = [f"{n}, {r:g}, {t}" for n, r, t in zip(frame.N, frame.radius, frame.loss, strict=True)]
    shown = frame[[*KINDS, "found / appendix"]].map(lambda x: f"{x:.1e}")
    shown.index = pd.Index(index, name="N, radius, loss")
    title = "Constants of the Polyak-Lojasiewicz inequality on the paper's data"
    return layout.write(shown, out, f"{NAME}_pl", title, notes(results))


COLOURS = (_figures.BLUE, _figures.VERMILION)  # a data set each
PALE = (_figures.SKY, _figures.ORANGE)  # the same, for the smaller ball
MARKS = {  # kind of constant -> (label, marker, filled)
    "appendix": ("appendix", "D", True),
    "least found": ("least found in the ball", "o", False),
    "curvature": ("least curvature at the centre", "|", True),
}


def _draw(results: Results, out: Path) -> list[Path]:
    figure = _figures.new(_figures.PAGE, 4.4)
    if all(stored is None for stored in results.stored):
        return _figures.save(figure, out, NAME)  # the CSV says why
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    _slacks(left, results)
    _sides(right, results)
    handles = [*left.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    labels = [*left.get_legend_handles_labels()[1], *right.get_legend_handles_labels()[1]]
    style: dict[str, Any] = {"fontsize": _figures.FONT, "frameon": False}
    figure.legend(handles, labels, loc="outside lower center", ncols=4, **style)
    figure.suptitle(EXHIBIT.title, fontsize=_figures.FONT + 1)
    return _figures.save(figure, out, NAME)


def _slacks(axes: Axes, results: Results) -> None:
    """(a): a row for each constant, in it a strip of points for each data set and ball."""
    names: list[str] = []
    groups = [(cell, radius) for cell in results.cells for radius in cell.settings["radii"]]
    for k, (cell, radius) in enumerate(groups):
        stored = results.get(cell.row, COLUMN, PROTOCOL)
        arrays = {} if stored is None else stored.result.arrays
        part = {n.split(" ", 1)[1]: x for n, x in arrays.items() if n.startswith(f"{radius:g} ")}
        names = names or list(part)
        wide = radius == max(cell.settings["radii"])
        colour = (COLOURS if wide else PALE)[[c.row for c in results.cells].index(cell.row)]
        for i, name in enumerate(names):
            height = i + 0.18 * (k - (len(groups) - 1) / 2)
            style: dict[str, Any] = {"color": colour, "markersize": 2.4, "linestyle": "none"}
            style |= {"marker": "o", "alpha": 0.3, "markeredgewidth": 0}
            if name in part:
                axes.plot(part[name], np.full(len(part[name]), height), rasterized=True, **style)
        label = f"(a) N = {int(cell.row):,}, radius {radius:g}"
        axes.plot([], [], "o", color=colour, markersize=4, label=label)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlim(left=0.5)
    axes.axvline(1.0, color=_figures.BLACK, linewidth=0.8)
    axes.set_xlabel("(a) bound over observed (1 is tight)", fontsize=_figures.FONT)
    axes.tick_params(labelsize=_figures.FONT)
    axes.grid(alpha=0.25, linewidth=0.4, axis="x")


def _sides(axes: Axes, results: Results) -> None:
    """(b): a row for each loss and ball, the three constants side by side."""
    frame = _constants(results).dropna()
    rows = list(dict.fromkeys(zip(frame.loss, frame.radius, strict=True)))
    rows.sort(key=lambda one: (TERMS.index(one[0]), one[1]))
    numbers = sorted(set(frame.N))
    for kind, (label, marker, filled) in MARKS.items():
        for k, n in enumerate(numbers):
            part = frame[n == frame.N].set_index(["loss", "radius"])[kind]
            height = [i + 0.22 * (k - (len(numbers) - 1) / 2) for i in range(len(rows))]
            face = COLOURS[k] if filled else "white"
            style: dict[str, Any] = {"color": COLOURS[k], "markerfacecolor": face}
            axes.plot([part[row] for row in rows], height, marker, markersize=4, **style)
        face = _figures.BLACK if filled else "white"
        style = {"color": _figures.BLACK, "markerfacecolor": face, "label": f"(b) {label}"}
        axes.plot([], [], marker, markersize=4, **style)
    axes.set_yticks(range(len(rows)), [f"{loss}, radius {radius:g}" for loss, radius in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlabel("(b) constant of the PL inequality", fontsize=_figures.FONT)
    axes.tick_params(labelsize=_figures.FONT)
    axes.grid(alpha=0.25, linewidth=0.4, axis="x")


def verdict(folder: Path) -> str:
    """Whether a bound fails at a point, and how far R_Q's constant is from the least found."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    slack = frame[frame["statistic"].str.startswith("slack")]["value"]
    table = frame.pivot_table(index=["row", "protocol"], columns="statistic", values="value")
    apart = (table["PL of R_Q, least found"] / table["PL of R_Q, appendix"]).dropna()
    low, high = math.log10(apart.min()), math.log10(apart.max())
    return (
        f"{int((slack < 1).sum())} of {len(slack)} bounds fail at a point; the PL constant of R_Q"
        f" is 10^{low:.0f} to 10^{high:.0f} times below the least ratio found"
    )


EXHIBIT = Exhibit(
    NAME,
    "How loose the appendix's constants are (bus engine, tables)",
    cells,
    compute,
    render,
    verdict=verdict,
)
