"""What `rates_corrected` computes: paths of six descents, condition numbers, and PL constants.

Tables on the bus engine's data. An action that a visited mileage lacks gets half a count: without
it there is no minimiser. The descents are those of `gradients`, and one more, Algorithm 1's
smallest mend: the ascent in each cell divided by the cell's visits.
"""

import math
from dataclasses import replace

import numpy as np

from proofs_checks.corrected.search import least_ratio
from proofs_checks.oracle import polyak, separated
from proofs_checks.oracle.risk import Sample
from reproduce.gradients import BY_VISITS, PRINTED, Step, Tables, decade, follow
from reproduce.landscape import centre, log_combined
from reproduce.spec import Array, Cell, Record, Result

ASCENT = "ascent by visits"
COMPARED = ("zeta exact", "level closed", "V closed")
METHODS = (PRINTED, ASCENT, BY_VISITS, *COMPARED)
ANCHORS = ("reset", "lazy walk")
STAY = 0.8  # of the walk, which else moves to either neighbour


# --- condition numbers and rates at the minimiser
def spectra(sample: Sample) -> dict[str, Array]:
    """Curvatures that a descent by visits sees, least first; of V closed those of KL in logits."""
    level, pi = np.sqrt(np.repeat(separated.state_weight(sample), 2)), sample.choices[:, 0]
    full = separated.hessian(sample) / level[:, None] / level
    return {
        "zeta exact": np.asarray(np.linalg.eigvalsh(full)),
        "level closed": np.asarray(np.linalg.eigvalsh(separated.profiled(full, level))[1:]),
        "V closed": np.sort(2 * pi * (1 - pi)),
    }


def after_anchor(name: str, states: int) -> Array:
    """(S, S) law of the move after the anchor: to the first state, or a lazy walk."""
    if name == "reset":
        return np.eye(states)[np.zeros(states, dtype=int)]
    walk = STAY * np.eye(states)
    for x in range(states):
        for y in (max(x - 1, 0), min(x + 1, states - 1)):
            walk[x, y] += (1 - STAY) / 2
    return walk


def conditions(cell: Cell, device: str) -> Result:
    """Condition numbers by discount and anchor; arrays (R, betas, 3) by anchor."""
    betas, sets = cell.settings["betas"], Tables.of(cell)
    arrays = {}
    for anchor in ANCHORS:
        numbers = []
        for sample in (tables.sample for tables in sets):
            moves, states = sample.moves.copy(), len(sample.moves)
            rows = np.arange(states), sample.anchor
            moves[rows] = moves[rows].sum(axis=1)[:, None] * after_anchor(anchor, states)
            versions = (replace(sample, moves=moves, discount=beta) for beta in betas)
            values = [list(spectra(version).values()) for version in versions]
            numbers.append([[x[-1] / x[0] for x in of] for of in values])
        arrays[anchor] = np.array(numbers)
    lines = [
        Record(f"condition number, {name}", float(arrays[anchor][:, k, i].mean()), row=row)
        for anchor in ANCHORS
        for k, beta in enumerate(betas)
        for row in [f"{anchor}, beta {beta:g}"]
        for i, name in enumerate(COMPARED)
    ]
    return Result(tuple(lines), arrays=arrays)


# --- paths
def descents(tables: Tables, tau: float, visits: float) -> dict[str, tuple[Step, Array]]:
    """A step of each method and where it starts, Q = 0; steps `tau`, or `visits` by visits."""
    zero = np.zeros_like(tables.minimiser)
    start = tables.with_zeta(zero[..., :2])
    return {
        PRINTED: (tables.printed(tau, tau, False, False), zero),
        ASCENT: (tables.printed(visits, tau, True, False), zero),
        BY_VISITS: (tables.printed(visits, visits, True, True), zero),
        "zeta exact": (tables.exact(visits, False), start),
        "level closed": (tables.exact(visits, True), start),
        "V closed": (tables.solved, start),
    }


def paths(cell: Cell, device: str) -> Result:
    """Distances of r by method, and the rates near the minimiser, predicted and measured.

    Arrays, by method: `steps` (K,), `distance` (R, K), NaN where a run had ended, and `predicted`
    (R,) steps a decade, of the derivative of a step at the minimiser.
    """
    settings, sets = cell.settings, Tables.of(cell)
    arrays: dict[str, Array] = {}
    lines = []
    for method in METHODS:
        runs, slopes = [], []
        for tables in sets:
            step, start = descents(tables, settings["tau"], settings["visits"])[method]
            runs.append(follow(tables, step, start, settings["most"][method]))
            slopes.append(decade(tables, step))
        longest = max((run.steps for run in runs), key=len)
        distance = np.full((len(runs), len(longest)), math.nan)
        for line, run in zip(distance, runs, strict=True):
            line[: len(run.steps)] = run.distance
        arrays[f"{method} steps"], arrays[f"{method} distance"] = longest.astype(float), distance
        arrays[f"{method} predicted"] = np.array(slopes)
        ratios = np.array(slopes) / [run.decade() for run in runs]
        lines.append(Record("steps a decade, predicted", float(np.mean(slopes)), row=method))
        farthest = ratios[np.argmax(np.abs(ratios - 1))]  # NaN where there is one
        for name, value in (("mean", np.mean(ratios)), ("farthest", farthest)):
            status = "ok" if math.isfinite(value) else "not_converged"
            statistic = f"rate, measured over predicted, {name}"
            told = (float(value), math.nan, len(ratios), status)
            lines.append(Record(statistic, *told, row=method))
    return Result(tuple(lines), arrays=arrays)


# --- PL constants
def constants(cell: Cell, device: str) -> Result:
    """PL below each level: proved, least ratio found, and the appendix's; arrays (R, levels).

    The appendix's is that of its R_Q on the smallest ball around the centre that reaches the worst
    point found: no smaller one with that centre could say anything about that level.
    """
    levels = cell.settings["levels"]
    shape = (cell.repetitions, len(levels))
    proved, found, printed = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for r, sample in enumerate(tables.sample for tables in Tables.of(cell)):
        middle = centre(sample)
        of = polyak.constants(sample, middle)
        for k, level in enumerate(levels):
            proved[r, k] = separated.pl_constant(sample, level)
            found[r, k], worst = least_ratio(sample, level)
            printed[r, k] = log_combined(of, float(np.linalg.norm(worst - middle)))
    lines = []
    for k, level in enumerate(levels):
        ratios, row = found[:, k] / proved[:, k], f"level {level:g}"
        lines += [
            Record("PL proved, mean", float(proved[:, k].mean()), repetitions=len(ratios), row=row),
            Record("found over proved, most", float(ratios.max()), row=row),
            Record("found over proved, least", float(ratios.min()), row=row),
            Record(
                "log10 of found over printed, least",
                float((np.log10(found[:, k]) - printed[:, k]).min()),
                row=row,
            ),
        ]
    return Result(tuple(lines), arrays={"proved": proved, "found": found, "printed": printed})
