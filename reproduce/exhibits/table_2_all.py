"""Table 2 for every method of the paper's Table 1: MAPE, time, iterations and convergence.

The methods are those of `gladius.METHODS`, each as it comes, and VARIANTS of them; the data sets
are Table 2's, so that two methods of a row can be compared pair by pair. A method gets the training
split, the anchor's reward and the discount factor; those with `law known` the true transition law
too. `converged` is each method's own flag, which is about a gradient or a fixed point, never about
having reached a limit of steps.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from gladius import METHODS, BusEngine
from gladius.methods import needs, title
from reproduce import layout
from reproduce.comparison import number
from reproduce.exhibits import _bus
from reproduce.layout import MARKS
from reproduce.results import Results
from reproduce.spec import FAILED, Cell, Exhibit, Record, Result

NAME = "table_2_all"
TRAJECTORIES, SMOKE_TRAJECTORIES = (50, 250, 500, 1000, 2500, 5000), (50, 250)
REPETITIONS, SMOKE_REPETITIONS = 20, 2
PLAIN = "leak_free"  # protocol of a method as it comes
# method, word for the protocol, options, whether the true law is given
VARIANTS: tuple[tuple[str, str, dict[str, object], bool], ...] = (
    ("nfxp", "law known", {}, True),
    ("gladius", "network", {"function_class": "mlp"}, False),
)
MILEAGES = 10  # rewards are stored at the mileages that the paper's tables show
RUNS = ("CPU seconds", "iterations", "inner iterations", "converged")


def cells(smoke: bool) -> list[Cell]:
    """Every method and variant at every N, on the data sets of Table 2."""
    found = []
    every: list[tuple[str, str, dict[str, object], bool]]
    every = [(name, PLAIN, {}, False) for name in METHODS]
    every += [(m, f"{PLAIN} {word}", options, law) for m, word, options, law in VARIANTS]
    for n in SMOKE_TRAJECTORIES if smoke else TRAJECTORIES:
        for method, protocol, options, oracle in every:
            settings: dict[str, object] = {
                "method": method,
                "options": options,
                "oracle": oracle,
                "trajectories": n,
                "repetitions": SMOKE_REPETITIONS if smoke else REPETITIONS,
                "seeds": "table_2",
            }
            found.append(Cell(NAME, str(n), title(method), protocol, settings))
    return found


def compute(cell: Cell, device: str) -> Result:
    """Fit all repetitions in one call and score them; small, so always on the CPU."""
    world = BusEngine()
    train, test = _bus.data_sets(world, cell)
    estimates = _bus.fit(world, cell, train)
    scored = _bus.score(world, estimates, test)
    looks = [e.diagnostics for e in estimates]
    inner = [float(np.asarray(d.extra.get("inner_iterations", 0.0))) for d in looks]
    runs = {
        "CPU seconds": [d.cpu_seconds for d in looks],
        "iterations": [float(d.iterations) for d in looks],
        "inner iterations": inner,
        "converged": [float(d.converged) for d in looks],
    }
    status = scored.records[0].status
    means = [
        Record(k, float(np.mean(v)), repetitions=len(v), status=status) for k, v in runs.items()
    ]
    grid = world.mdp.features[:MILEAGES]
    rewards = [[e.reward(grid, a) for a in (0, 1)] for e in estimates]
    return Result(
        (*scored.records, *means),
        {**scored.replications, **runs},
        {"reward": np.array(rewards)},
        scored.cpu_seconds,
    )


NOTES = (
    "MAPE in per cent over the pairs of the test split, mean over data sets (standard error); the"
    " same data sets for all lines. r = 0 has MAPE 100.",
    "Uses: n the observed next states, l a transition law (estimated by frequencies unless known),"
    " f the form r(x, 0) = -theta_0 x, r(x, 1) = -theta_1, a the anchor's reward.",
    "* some data sets did not converge, ! some diverged: they are in the mean. Methods without form"
    " and anchor identify no reward; theirs is the one that their objective picks.",
)
RUN_NOTES = (
    "Mean over data sets of: processor seconds of one fit; outer iterations (inner ones in"
    " brackets); share of the data sets whose fit converged by the method's own rule.",
)


def render(results: Results, out: Path) -> list[Path]:
    """One table of the errors, one of what the fits took."""
    frame = results.frame()
    rows = list(dict.fromkeys(frame["row"]))
    lines = dict.fromkeys((c.column, c.protocol, str(c.settings["method"])) for c in results.cells)
    errors: dict[tuple[str, str, str], list[str]] = {}
    runs: dict[tuple[str, str, str], list[str]] = {}
    for column, protocol, method in lines:
        word = protocol.removeprefix(PLAIN).strip()
        label = (column, word, "".join(need[0] for need in needs(method)))
        mine = frame[(frame["column"] == column) & (frame["protocol"] == protocol)]
        errors[label] = [_error(mine[mine["row"] == row]) for row in rows]
        runs[label] = [_run(mine[mine["row"] == row]) for row in rows]
    index = pd.Index(rows, name="trajectories")
    table = pd.DataFrame(errors, index=index).T
    taken = pd.DataFrame(runs, index=index).T
    about = "Every method on Table 2's data: time, iterations, convergence"
    return [
        *layout.write(table, out, NAME, EXHIBIT.title, NOTES),
        *layout.write(taken, out, f"{NAME}_runs", about, RUN_NOTES),
    ]


def _error(mine: pd.DataFrame) -> str:
    known = mine[mine["statistic"] == "MAPE"]
    if known.empty:
        return "not run"
    line = known.iloc[0]
    if str(line["status"]).startswith(FAILED) and np.isnan(line["value"]):
        return "failed"
    return f"{number(line['value'])} ({number(line['se'])})" + MARKS.get(str(line["status"]), "")


def _run(mine: pd.DataFrame) -> str:
    value = {str(line["statistic"]): float(line["value"]) for _, line in mine.iterrows()}
    if not set(RUNS) <= set(value):
        return "-"
    inner = f" [{value['inner iterations']:.0f}]" if value["inner iterations"] else ""
    share = f"{100 * value['converged']:.0f} %"
    return f"{number(value['CPU seconds'])} s, {value['iterations']:.0f}{inner}, {share}"


EXHIBIT = Exhibit(
    NAME, "Table 2 extended: MAPE of the reward, every method of Table 1", cells, compute, render
)
