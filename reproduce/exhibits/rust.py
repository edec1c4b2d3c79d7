"""Rust (1987): Harold Zurcher's buses, with standard errors, beside Table IX of that paper.

The data are those in the wheel of econirl 0.1.1, whose code is not used. Rust's own states after a
replacement rest on the odometer at the overhaul, which that file lacks. The last choice of each
bus is left out, since its next state is not observed.
"""

import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

import gladius
from gladius import LinearReward, PooledIncrements, Results, Transitions
from gladius.model.mdp import soft_bellman
from gladius.own_data.frame import read_columns
from gladius.own_data.results.inference import KINDS
from reproduce.drawing import layout
from reproduce.drawing.notes import notes
from reproduce.engine import seeds
from reproduce.engine.nouns import NOT_RUN, Array, Cell, Entry, Exhibit, Record, Result
from reproduce.engine.view import View
from reproduce.paper import published
from reproduce.paper.judge import CRITICAL, number

NAME = "rust"
DATA = "econirl.datasets/rust_bus_original.csv"  # in the wheel
BINS, WIDTH, BETA = 90, 5.0, 0.9999  # of 5,000 miles
GROUPS = {"group 4": (4,), "groups 1-3": (1, 2, 3), "groups 1-4": (1, 2, 3, 4)}
# Table IX at beta = .9999: theta_11 and RC with their errors, which are outer-product. As
# transcribed by Ferrall (niqlow, RustEmet1987); the paper itself was not seen.
TABLE_IX = {
    "group 4": (2.293, 0.639, 10.075, 1.582),
    "groups 1-3": (4.8259, 1.792, 11.727, 2.602),
    "groups 1-4": (2.6275, 0.618, 9.7558, 1.227),
}
COMMON, FREE = "common increments", "frequencies"
# (column, protocol after leak_free) -> method
FITS = {
    ("NFXP", COMMON): "nfxp",
    ("MPEC", COMMON): "mpec",
    ("CCP", COMMON): "ccp",
    ("NFXP", FREE): "nfxp",
}
RAW = (published.OURS, "raw mileage")
DRAWS = 500  # of theta, for the band of the figure
REPLACE = 10.0  # cost of a replacement given to profiled ERM, which reports r above it
POINTS = (0.0, 100.0, 200.0, 300.0)  # thousand miles
BAND, LAST = 10, 80  # bins of one observed share; bins in the figure


def entries(smoke: bool) -> list[Entry]:
    """Every method on every group; profiled ERM on group 4, for the figure."""
    listed = []
    for row, groups in GROUPS.items():
        for (column, kind), method in FITS.items():
            settings: dict[str, Any] = {"method": method, "kind": kind, "groups": list(groups)}
            settings |= {"seeds": NAME, "seeds_row": row}
            cell = Cell(NAME, settings, f"{column}, {row}, {kind}")
            listed.append(Entry(row, column, f"leak_free {kind}", cell, "theta_11"))
    settings = {"method": "profiled_erm", "options": {"function_class": "sparse"}, "groups": [4]}
    cell = Cell("rust_raw", settings, "profiled ERM, group 4")
    return [*listed, Entry("group 4", RAW[0], f"leak_free {RAW[1]}", cell, "nll")]


def buses(groups: Sequence[int]) -> pd.DataFrame | None:
    """The panel without each bus's first month, as in Rust; None if econirl is not installed."""
    package, _, file = DATA.partition("/")
    name, _, folder = package.partition(".")
    found = find_spec(name)
    if found is None or found.origin is None:
        return None
    frame = pd.read_csv(Path(found.origin).parent / folder / file)
    replaced = frame["mileage"].where(frame["replaced"] == 1).groupby(frame["bus_id"])
    start = replaced.ffill().groupby(frame["bus_id"]).shift().fillna(0.0)
    frame["since"] = frame["mileage"] - start
    return frame[frame["group"].isin(groups) & (frame["period"] > 1)]


def panel(frame: pd.DataFrame, state: str) -> Transitions:
    """The observations by mileage since the last replacement."""
    return Transitions(*read_columns(frame, [state], "replaced", "bus_id", "period"))


def design(states: Array) -> Array:
    """(n, 2, 2): keeping costs theta_11 / 1000 for each bin, replacing costs RC."""
    table = np.zeros((len(states), 2, 2))
    table[:, 0, 0], table[:, 1, 1] = -states[:, 0] / 1000, -1.0
    return table


FORM = LinearReward(design, names=("theta_11", "RC"))
ANCHOR: dict[str, Any] = {"anchor_action": 1, "discount": BETA}


def not_installed() -> Result:
    """What stands where there are no data."""
    why = "not run: pip install --no-deps econirl==0.1.1"
    return Result((Record(why, math.nan, status=NOT_RUN, repetitions=0),))


def compute(cell: Cell) -> Result:
    """theta_11 and RC with three standard errors; probabilities of replacement with a band."""
    frame = buses(cell.settings["groups"])
    if frame is None:
        return not_installed()
    grid = np.arange(float(BINS))[:, None]
    common = PooledIncrements(resets={1: 0.0}, common=True, grid=grid)
    given = common if cell.settings["kind"] == COMMON else None
    data = panel(frame, "mileage_bin")
    method = cell.settings["method"]
    fit = gladius.fit(data, method, reward=FORM, transition=given, anchor_reward=0.0, **ANCHOR)
    status = fit.diagnostics.status
    records = [Record("nll", fit.diagnostics.nll * len(data), status=status)]
    errors = {kind: np.sqrt(np.diag(fit.cov(kind))) for kind in KINDS}
    for i, (name, value) in enumerate(zip(FORM.names, fit.params, strict=True)):
        records.append(Record(name, value, float(errors["model"][i]), status=status))
        for kind in KINDS[1:]:
            records.append(Record(f"{name} se {kind}", float(errors[kind][i]), status=status))
    records.append(Record("p of equal increments", common.p_value(data)))
    return Result(tuple(records), arrays=band(fit, data, seeds.generators(cell)[0]))


def band(fit: Results, data: Transitions, rng: np.random.Generator) -> dict[str, Array]:
    """By bin: probability of replacement, a 95 % band over draws of theta, and observed shares."""
    model = fit.form_errors.basis.model
    theta = rng.multivariate_normal(fit.params, fit.cov(), DRAWS)
    rewards = model.offset + np.einsum("sak,rk->rsa", model.design, theta)
    q = soft_bellman(
        rewards, np.broadcast_to(model.transition, (DRAWS, *model.transition.shape[1:])), BETA
    ).q
    drawn = softmax(q, axis=2)[..., 1]
    at = fit.q_function(model.states)
    bins = (data.states[:, 0] // BAND).astype(int)
    observed = np.bincount(bins)
    return {
        "states": model.states[:, 0],
        "probability": softmax(at, axis=1)[:, 1],
        "band": np.quantile(drawn, (0.025, 0.975), axis=0),
        "observations": observed.astype(float),
        "share": np.bincount(bins, data.actions) / np.maximum(observed, 1),
    }


def raw(cell: Cell) -> Result:
    """Profiled ERM on mileage itself: the likelihood, and probabilities of replacement by bin."""
    frame = buses(cell.settings["groups"])
    if frame is None:
        return not_installed()
    data = panel(frame, "since")
    options = cell.settings["options"]
    fit = gladius.fit(data, cell.settings["method"], anchor_reward=-REPLACE, **ANCHOR, **options)
    grid: Array = WIDTH * (np.arange(float(LAST)) + 0.5)[:, None]
    status = fit.diagnostics.status
    records = [Record("nll", fit.diagnostics.nll * len(data), status=status)]
    keep = fit.reward_frame(np.array(POINTS)[:, None]).query("action == 0")
    for mileage, value, error in zip(POINTS, keep["reward"], keep["se"], strict=True):
        name = f"r at {mileage:g} thousand miles"
        records.append(Record(name, value + REPLACE, float(error), status=status))
    return Result(tuple(records), arrays={"probability": fit.policy(grid)[:, 1]})


def render(results: View, out: Path) -> None:
    """The table, group by group, and the figure for group 4."""
    keys = ["row", "column", "protocol", "statistic"]
    frame = results.frame().to_dict("records")
    numbers = {tuple(line[key] for key in keys): line for line in frame}
    body: dict[tuple[str, str], list[str]] = {}
    lines = [(row, name) for row in GROUPS for name in FORM.names]
    for row, name in lines:
        at = 2 * FORM.names.index(name)
        value, error = TABLE_IX[row][at : at + 2]
        body.setdefault(("Table IX", "NFXP"), []).append(layout.estimate(value, error))
        for column, kind in FITS:
            key = (row, column, f"leak_free {kind}")
            line, outer = (numbers.get((*key, n)) for n in (name, f"{name} se outer"))
            text = layout.text(pd.Series(line)) if line else "not run"
            if line and outer:
                text = layout.estimate(line["value"], line["se"], outer["value"])
                text += layout.MARKS.get(line["status"], "")
            body.setdefault((column, kind), []).append(text)
    index = pd.MultiIndex.from_tuples(lines, names=["buses", "parameter"])
    layout.write(pd.DataFrame(body, index=index), out, NAME, EXHIBIT.title, notes(NAME))
    _draw(results, out)


def _draw(results: View, out: Path) -> None:
    """Probability of replacement against mileage, group 4."""
    figure = layout.new_figure(layout.WIDTH, 3.2)
    axes, until = figure.add_subplot(), 0.0
    fit = results.get("group 4", "NFXP", f"leak_free {COMMON}").result.arrays
    if fit:
        colour, _ = layout.LOOKS["Rust"]
        x, drawn = WIDTH * (fit["states"] + 0.5), slice(LAST)
        axes.fill_between(x[drawn], *fit["band"][:, drawn], color=colour, alpha=0.2, linewidth=0)
        axes.plot(
            x[drawn], fit["probability"][drawn], color=colour, label="Rust (NFXP),\n95 % band"
        )
        smooth = results.get("group 4", RAW[0], f"leak_free {RAW[1]}").result.arrays
        label = "profiled ERM\non raw mileage"
        axes.plot(x[drawn], smooth["probability"], color=layout.LOOKS[RAW[0]][0], label=label)
        low, high = fit["band"][:, drawn]
        is_out = (smooth["probability"] < low) | (smooth["probability"] > high)
        until = WIDTH * float(np.append(np.flatnonzero(is_out), LAST)[0])
        n, share = fit["observations"], fit["share"]
        middle = WIDTH * BAND * (np.arange(len(n)) + 0.5)
        error = CRITICAL * np.sqrt(share * (1 - share) / np.maximum(n, 1))
        bars = [np.minimum(error, share), error]
        look: dict[str, Any] = {"fmt": "o", "color": layout.BLACK, "markersize": 3}
        axes.errorbar(middle, share, bars, label="observed shares", elinewidth=0.7, **look)
    layout.words(axes, "thousand miles since the last replacement", "probability of replacement")
    layout.label_lines(axes)
    layout.save(figure, out, NAME, {"until": f"{until:g}"} if until else None)


def verdict(folder: Path) -> str:
    """The estimate for group 4 beside Table IX."""
    frame = pd.read_csv(folder / f"{NAME}.csv")
    lines = frame[(frame["row"] == "group 4") & (frame["protocol"] == f"leak_free {COMMON}")]
    mine = lines[lines["column"] == "NFXP"].set_index("statistic")["value"]
    if "RC" not in mine:
        return "not run: it needs econirl's data"
    pairs = zip(FORM.names, TABLE_IX["group 4"][::2], strict=True)
    texts = (f"{name} {number(mine[name])} (Rust's Table IX: {number(v)})" for name, v in pairs)
    return f"Group 4: {', '.join(texts)}"


EXHIBIT = Exhibit(
    NAME,
    "Rust (1987): replacement of bus engines",
    entries,
    render=render,
    verdict=verdict,
    tolerance=1e-3,
)
