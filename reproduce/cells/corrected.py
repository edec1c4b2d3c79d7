"""The corrected chain on the bus engine: paths of six descents, and PL constants below a level.

Tables on simulated data sets. An action that a visited mileage lacks gets half a count, without
which there is no minimiser. The descents are those of `gradients.Tables`; ASCENT is Algorithm 1
with its smallest correction: the ascent at each pair is divided by the pair's visits.
"""

import math

import numpy as np

from proofs_checks.corrected.search import least_ratio
from proofs_checks.oracle import polyak, separated
from reproduce.cells.loss_bounds import centre, log_combined
from reproduce.cells.step_sizes import DECADE, Step, Tables, decade, follow, marks
from reproduce.engine.nouns import Array, Cell, Record, Result

PRINTED, ASCENT, BY_VISITS = "Algorithm 1 as printed", "ascent by visits", "printed, by visits"
COMPARED = ("zeta exact", "level closed", "V closed")
METHODS = (PRINTED, ASCENT, BY_VISITS, *COMPARED)


def descents(tables: Tables, tau: float, visits: float) -> dict[str, tuple[Step, Array]]:
    """A step of each method and its start, Q = 0; `tau` per observation, `visits` by visits."""
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


def paths(cell: Cell) -> Result:
    """Distances of r by method, and the rates near the minimiser, predicted and measured.

    Arrays, by method: `steps` (K,), `distance` (R, K), NaN where a run had ended, and `predicted`
    (R,) steps a decade, from the derivative of a step at the minimiser.
    """
    settings, data = cell.settings, Tables.of(cell)
    arrays: dict[str, Array] = {}
    records = []
    for method in METHODS:
        runs, predicted = [], []
        for tables in data:
            step, start = descents(tables, settings["tau"], settings["visits"])[method]
            runs.append(follow(tables, step, start, marks(settings["most"][method], 24)))
            predicted.append(decade(tables, step))
        longest = max((run.steps for run in runs), key=len)
        distance = np.full((len(runs), len(longest)), math.nan)
        for line, run in zip(distance, runs, strict=True):
            line[: len(run.steps)] = run.distance
        arrays[f"{method} steps"], arrays[f"{method} distance"] = longest.astype(float), distance
        arrays[f"{method} predicted"] = np.array(predicted)
        ratios = np.array(predicted) / [run.decade() for run in runs]
        records.append(Record(DECADE, float(np.mean(predicted)), row=method))
        farthest = ratios[np.argmax(np.abs(ratios - 1))]  # NaN where there is one
        for name, value in (("mean", np.mean(ratios)), ("farthest", farthest)):
            status = "ok" if math.isfinite(value) else "not_converged"
            statistic = f"rate, measured over predicted, {name}"
            number = Record(statistic, float(value), math.nan, len(ratios), status, row=method)
            records.append(number)
    return Result(tuple(records), arrays=arrays)


def constants(cell: Cell) -> Result:
    """PL below each level: proved, least ratio found, and the appendix's; arrays (R, levels).

    The appendix's is that of its R_Q on the smallest ball around the minimiser that reaches the
    worst point found. No smaller ball with that centre contains the points below the level.
    """
    levels = cell.settings["levels"]
    shape = (cell.repetitions, len(levels))
    proved, found, printed = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for r, sample in enumerate(tables.sample for tables in Tables.of(cell)):
        minimiser = centre(sample)
        of = polyak.constants(sample, minimiser)
        for k, level in enumerate(levels):
            proved[r, k] = separated.pl_constant(sample, level)
            found[r, k], worst = least_ratio(sample, level)
            printed[r, k] = log_combined(of, float(np.linalg.norm(worst - minimiser)))
    records = []
    for k, level in enumerate(levels):
        ratios, row = found[:, k] / proved[:, k], f"level {level:g}"
        records += [
            Record("PL proved, mean", float(proved[:, k].mean()), repetitions=len(ratios), row=row),
            Record("found over proved, most", float(ratios.max()), row=row),
            Record("found over proved, least", float(ratios.min()), row=row),
            Record(
                "log10 of found over printed, least",
                float((np.log10(found[:, k]) - printed[:, k]).min()),
                row=row,
            ),
        ]
    return Result(tuple(records), arrays={"proved": proved, "found": found, "printed": printed})
