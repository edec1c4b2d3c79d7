"""Speed and accuracy beside the PyPI package econirl, on the same data, one process and one core.

Every choice that could favour a side:

Data. 50, 250 and 1,000 trajectories of our bus engine (mileage 1 to 20, theta = (1, 5), beta = .95,
H = 100), three data sets of each; the first 80 % train both libraries, the rest score both, by
`gladius.metrics.mape`. A ratio of two libraries is taken on each data set; told are its median and
its range over the three.

Clock. One process, pinned to one core where the system can, BLAS, torch and XLA held to one
thread. Processor time is the measure, wall time is beside it. The first call of each estimator in
the process is kept apart, for it pays for imports; the others give the median on a data set: one at
least, then until `--budget` seconds are spent, 200 at most. econirl defines most of its compiled
functions inside a fit, so that XLA compiles them again in each: a user pays for that, and it is in
the time. Each call gets a fresh container of the data, whose making is not timed, so neither
library profits from what it cached there; that we group the data into counts, and their library
into codes, is timed.

econirl GLADIUS. The public class with every documented default (3 x 128 units, 500 epochs at most,
batches of 512, patience 50, Bellman weight 0.1, output bias 0, no standard errors, no transition
matrix). It gets the anchor as its documentation asks, in all 20 states, which are the codes 0 to
19. The last next state of each trajectory is passed as observed; from a data frame the package
would guess it. Its default objective `paper_minimax` is the paper's algorithm (with the first
author's absolute value); with 50 trajectories and with inputs `anchor_moment` runs too.

econirl NFXP and CCP. The classes with their defaults, which include robust standard errors; and
MPEC, of which there is the estimator alone, with its defaults, asymptotic ones. So that standard
errors are not held against it, all three estimators also run for the point estimate alone. All get
the true transition probabilities (by default the package would fit increments of 0 to 2, wrong for
this bus) and the features of the true linear reward, and so estimate (theta_0, theta_1).

Ours. GLADIUS under the `leak_free` protocol with the same anchor, on counts (smooth, and mlp, a
network of 2 x 10 units) and on rows, each at its defaults. These penalise the roughness of r, by an
amount chosen from the training data, and the true r is affine in mileage: a point in our favour, so
the smooth class also runs with about the least penalty of its search. NFXP, CCP and MPEC get the
same true transition probabilities and features; they always compute standard errors.

With inputs. Last, one data set of 1,000 trajectories with 20 inputs that do not matter: our
estimator on rows at its defaults, and econirl GLADIUS, which gets the standardised inputs of each
distinct state by its `state_encoder`; `paper_minimax` asks for a table of states by states there,
and fails where the memory has no room for it.

Convergence is what each library reports about itself (`converged_`, `converged`).
"""

import importlib
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from rich.console import Console

import gladius
from gladius import BusEngine, Transitions
from gladius.metrics import RewardFunction, mape
from gladius.transitions import Integers, index_rows
from gladius.worlds.bus import BUS_REWARD
from reproduce import layout

Array = NDArray[np.float64]
Fit = tuple[RewardFunction, bool]  # and whether the library says that it converged

VERSION = "0.1.1"
# one command: resolved apart, torch may be replaced by a build several gigabytes larger
INSTALL = f"pip install torch==2.13.0 econirl=={VERSION}"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ONE_THREAD |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS": "cpu"}
RESTARTED = "REPRODUCE_SPEED_ON_ONE_CORE"
TRAJECTORIES, SEEDS = (50, 250, 1_000), (0, 1, 2)  # of the data sets
INPUTS, MANY = 20, 1_000  # and of the one with inputs
MOST = 200  # calls on a data set
OBJECTIVES = ("paper_minimax", "anchor_moment")  # of econirl's GLADIUS; the first by default
STRUCTURAL = ("nfxp", "ccp", "mpec")
COLUMNS = ["row", "column", "protocol", "statistic", "value", "se"]
COLUMNS += ["repetitions", "status", "cpu_seconds"]
TITLE = f"Processor time and error beside econirl {VERSION}"
NOTES = (
    f"Theirs over ours on the same data: the median over {len(SEEDS)} data sets (with inputs one),"
    " in brackets the least and the most; above 1 ours is faster, or nearer to the truth. MAPE in"
    " per cent, their mean.",
    "One process on one core. Each at its defaults but for what stands in brackets; the defaults of"
    " our GLADIUS penalise the roughness of r, and the true r is affine, a point in our favour.",
    "NFXP, CCP and MPEC of both get the true transition probabilities. econirl compiles most of its"
    " functions again in each fit; that is in its time.",
    f"* not on all data sets converged, by the library's own word. {OBJECTIVES[1]} at"
    f" N = {TRAJECTORIES[0]} and with inputs only, for it takes longest; failed: the CSV says why.",
)
OUT = Path(__file__).parents[1] / "paper_tables" / "generated" / "speed.csv"

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Contender:
    """One row of the comparison: how to lay out the data (not timed) and how to fit (timed)."""

    column: str
    protocol: str
    ours: bool
    prepare: Callable[[], Any]
    fit: Callable[[Any], Fit]
    row: str = str(TRAJECTORIES[0])
    seed: int = SEEDS[0]  # of the data set

    def is_rival_of(self, ours: "Contender") -> bool:
        """Whether this is econirl's on data of that size by the method of that column."""
        same = (self.row, self.method) == (ours.row, ours.method)
        return same and ours.ours and not self.ours

    @property
    def method(self) -> str:
        """GLADIUS, NFXP, CCP or MPEC."""
        return self.column.partition(",")[0]


@dataclass(frozen=True)
class Measured:
    """MAPE, and processor and wall seconds of n calls; `first` of one before them, NaN if none."""

    contender: Contender
    error: float
    status: str
    first: float
    cpu: Array  # (n,)
    wall: Array  # (n,)

    @property
    def failed(self) -> bool:
        """Whether a call raised an error."""
        return self.status.startswith("failed")

    def is_rival_of(self, ours: "Measured") -> bool:
        """Whether this is econirl's fit of the same data by the same method."""
        a, b = self.contender, ours.contender
        return a.seed == b.seed and a.is_rival_of(b) and not (self.failed or ours.failed)


@dataclass(frozen=True)
class Reward:
    """A reward as `gladius.metrics.mape` asks for it, of (n, d) states and (n,) actions."""

    reward: Callable[[Array, Integers], Array]


def reward_table(values: Array) -> Reward:
    """A (20, 2) table of rewards by mileage."""
    return Reward(lambda states, actions: np.asarray(values[mileage_codes(states), actions]))


def mileage_codes(states: Array) -> Integers:
    """(n,) codes 0 to 19 of (n, 1) mileages 1 to 20."""
    return np.asarray(states)[:, 0].astype(np.int64) - 1


def own_fit(world: BusEngine, options: dict[str, Any], data: Transitions) -> Fit:
    """Ours. The world lends its anchor and beta; never the reward."""
    estimate = gladius.fit(
        data,
        anchor_action=world.anchor_action,
        anchor_reward=world.anchor_reward,
        discount=world.discount,
        **options,
    )
    return estimate, estimate.diagnostics.converged


def ours(train: Transitions, world: BusEngine, row: str, seed: int) -> list[Contender]:
    """Our fits; those that need P are lent the true one."""
    base: dict[str, Any] = {"method": "gladius", "protocol": "leak_free"}
    smooth = base | {"function_class": "smooth"}
    known = {"transition": world.known_transitions, "reward": BUS_REWARD}
    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("GLADIUS, ours (smooth)", "leak_free", smooth),
        ("GLADIUS, ours (smooth, least penalty)", "leak_free", smooth | {"penalty": 0.1}),
        ("GLADIUS, ours (mlp)", "leak_free", base | {"function_class": "mlp"}),
        ("GLADIUS, ours (on rows)", "leak_free", base | {"function_class": "sparse"}),
        *((f"{name.upper()}, ours", "true P", known | {"method": name}) for name in STRUCTURAL),
    ]
    copies = partial(replace, train)
    return [
        Contender(column, protocol, True, copies, partial(own_fit, world, told), row, seed)
        for column, protocol, told in rows
    ]


def panel(train: Transitions, now: Integers, after: Integers) -> Any:
    """econirl's container, of codes of states."""
    econirl: Any = importlib.import_module("econirl")
    return econirl.TrajectoryPanel.from_numpy(now, train.actions, after, train.trajectory)


def neural_fit(
    world: BusEngine, states: int, reward: Callable[[Any], Reward], options: Any, data: Any
) -> Fit:
    """econirl's GLADIUS on so many states; `reward` reads its reward off the fitted model."""
    econirl: Any = importlib.import_module("econirl")
    model = econirl.GLADIUS(
        n_actions=2,
        discount=world.discount,
        anchor_action=world.anchor_action,
        anchor_rewards=[world.anchor_reward] * states,
        **options,
    ).fit(data)
    return reward(model), bool(model.converged_)


def theirs(train: Transitions, world: BusEngine, row: str, seed: int) -> list[Contender]:
    """The fits of econirl, imported here so that the rest works without it."""
    econirl: Any = importlib.import_module("econirl")
    estimation: Any = importlib.import_module("econirl.estimation")
    states, actions = world.mdp.reward.shape
    transition = world.mdp.transition
    features = np.zeros((states, actions, 2))
    features[:, 0, 0], features[:, 1, 1] = -np.arange(1.0, states + 1), -1.0
    spec = econirl.RewardSpec(features, names=["theta_0", "theta_1"])

    def of_class(named: Any, data: Any) -> Fit:
        size = {"n_states": states, "n_actions": actions, "discount": world.discount}
        model = named(**size, utility=spec).fit(data, transitions=transition)
        return reward_table(features @ np.asarray(model.coef_)), bool(model.converged_)

    def of_estimator(estimator: Any, data: Any) -> Fit:
        result = estimator.estimate(
            panel=data,
            utility=spec.to_linear_utility(),
            problem=econirl.DDCProblem(states, actions, world.discount, 1.0),
            transitions=transition,
        )
        return reward_table(features @ np.asarray(result.parameters)), bool(result.converged)

    def table(model: Any) -> Reward:
        return reward_table(np.asarray(model.reward_))

    def neural(objective: str) -> tuple[str, str, Callable[[Any], Fit]]:
        fit = partial(neural_fit, world, states, table, {"objective": objective})
        return f"GLADIUS, econirl ({objective})", "econirl", fit

    def point(name: str) -> tuple[str, str, Callable[[Any], Fit]]:
        estimator = getattr(estimation, f"{name}Estimator")(compute_hessian=False)
        fit = partial(of_estimator, estimator)
        return f"{name}, econirl (point estimate)", "true P, econirl", fit

    rows: list[tuple[str, str, Callable[[Any], Fit]]] = [
        *map(neural, OBJECTIVES if row == str(TRAJECTORIES[0]) else OBJECTIVES[:1]),
        ("NFXP, econirl", "true P, econirl default", partial(of_class, econirl.NFXP)),
        ("CCP, econirl", "true P, econirl default", partial(of_class, econirl.CCP)),
        ("MPEC, econirl", "true P, econirl default", partial(of_estimator, econirl.MPEC())),
        *map(point, map(str.upper, STRUCTURAL)),
    ]
    data = partial(panel, train, mileage_codes(train.states), mileage_codes(train.next_states))
    return [
        Contender(column, protocol, False, data, fit, row, seed) for column, protocol, fit in rows
    ]


def with_inputs(train: Transitions, world: BusEngine) -> list[Contender]:
    """The neural and row-wise fits of data whose states hardly repeat."""
    jax_numpy: Any = importlib.import_module("jax.numpy")
    row = f"{MANY}, K = {INPUTS}"
    distinct, codes = index_rows([train.states, train.next_states])
    center, scale = distinct.mean(axis=0), distinct.std(axis=0)
    features = jax_numpy.asarray((distinct - center) / scale, dtype=jax_numpy.float32)

    def encoded(model: Any) -> Reward:
        def reward(states: Array, actions: Integers) -> Array:
            given = ((states - center) / scale).astype(np.float32)
            return np.asarray(model.predict_reward_from_features(given, actions), dtype=float)

        return Reward(reward)

    told = {"state_encoder": lambda codes: features[codes], "state_dim": features.shape[1]}
    on_rows, copies = partial(own_fit, world, {}), partial(replace, train)
    found = [Contender("GLADIUS, ours (on rows)", "leak_free", True, copies, on_rows, row)]
    for name in OBJECTIVES:
        fit = partial(neural_fit, world, len(distinct), encoded, told | {"objective": name})
        data = partial(panel, train, *codes)
        found.append(Contender(f"GLADIUS, econirl ({name})", "econirl", False, data, fit, row))
    return found


def measure(
    contender: Contender, score: Callable[[RewardFunction], float], budget: float, is_new: bool
) -> Measured:
    """Fit until the budget of processor seconds is spent, at least once and at most MOST times.

    A new estimator is fitted once before.
    """
    error, status = np.nan, ""
    cpu, wall = list[float](), list[float]()  # the first call's too
    try:
        while len(cpu) <= is_new or (sum(cpu[is_new:]) < budget and len(cpu) < MOST + is_new):
            data = contender.prepare()
            processor, clock = time.process_time(), time.perf_counter()
            estimate, converged = contender.fit(data)
            cpu.append(time.process_time() - processor)
            wall.append(time.perf_counter() - clock)
            if not status:
                error, status = score(estimate), "ok" if converged else "not_converged"
    except Exception as problem:  # whatever goes wrong in either library is a result, and stored
        told = [f"{type(e).__name__}: {e}" for e in (problem, problem.__cause__) if e]
        error, status = np.nan, f"failed: {', by '.join(text.splitlines()[0] for text in told)}"
    first = cpu[0] if cpu and is_new else np.nan
    return Measured(
        contender, error, status, first, np.array(cpu[is_new:]), np.array(wall[is_new:])
    )


def ratios(theirs: Sequence[Measured], ours: Sequence[Measured]) -> tuple[Array, Array]:
    """(D,) median processor time, and MAPE, of theirs over ours, on each data set of both."""
    pairs = [(a, b) for a in theirs for b in ours if a.is_rival_of(b)]
    times = [np.median(a.cpu) / np.median(b.cpu) for a, b in pairs]
    return np.array(times), np.array([a.error / b.error for a, b in pairs])


def grouped(results: Sequence[Measured]) -> dict[tuple[str, str, str], list[Measured]]:
    """What was measured on the data sets of each size, by (row, column, protocol)."""
    groups: dict[tuple[str, str, str], list[Measured]] = {}
    for m in results:
        label = (m.contender.row, m.contender.column, m.contender.protocol)
        groups.setdefault(label, []).append(m)
    return groups


def long_frame(results: Sequence[Measured]) -> pd.DataFrame:
    """The exhibit as a long table: one line for each statistic of each contender.

    MAPE is the mean over data sets, with its standard error; a time the mean of their medians.
    Of a ratio its median, least and most over the data sets. `cpu_seconds` is the cost of all calls
    that ended, and `repetitions` the number of data sets that were fitted.
    """
    groups, lines = grouped(results), list[tuple[object, ...]]()
    for label, of_it in groups.items():
        fitted = [m for m in of_it if not m.failed]
        statuses = sorted({m.status for m in of_it})
        errors = np.array([m.error for m in fitted])
        values: dict[str, Any] = {"mape": errors.mean() if fitted else np.nan}
        if fitted:
            values |= {"converged": np.mean([m.status == "ok" for m in fitted])}
            known = [m.first for m in fitted if not np.isnan(m.first)]
            values |= {"cpu_first_call": np.mean(known)} if known else {}
            values |= {"cpu_median": np.mean([np.median(m.cpu) for m in fitted])}
            values |= {"wall_median": np.mean([np.median(m.wall) for m in fitted])}
            values |= {"calls": sum(len(m.cpu) for m in fitted)}
        for (_, name, _), rivals in groups.items():
            for what, ratio in zip(("cpu", "error"), ratios(of_it, rivals), strict=True):
                if len(ratio):
                    ends = {"": np.median(ratio), "_least": ratio.min(), "_most": ratio.max()}
                    values |= {f"{what}_ratio{end} to {name}": x for end, x in ends.items()}
        cost = sum(np.nansum([m.first, *m.cpu]) for m in of_it)
        for statistic, value in values.items():
            is_mean = statistic == "mape" and len(fitted) > 1
            se = errors.std(ddof=1) / np.sqrt(len(fitted)) if is_mean else None
            told = (len(fitted), "; ".join(statuses), cost)
            lines.append((*label, statistic, float(value), se, *told))
    return pd.DataFrame(lines, columns=COLUMNS)


def comparison(results: Sequence[Measured]) -> pd.DataFrame:
    """The table for readers: each fit of econirl beside ours by the same method."""
    groups, lines = grouped(results), list[tuple[str, ...]]()
    for (row, name, _), theirs_ in groups.items():
        for (_, own, _), ours_ in groups.items():
            if theirs_[0].contender.is_rival_of(ours_[0].contender):
                told = map(with_range, reversed(ratios(theirs_, ours_)))
                lines.append((row, name, own, mean_error(theirs_), mean_error(ours_), *told))
    labels = ["trajectories", "econirl", "ours"]
    columns = ["MAPE, econirl", "MAPE, ours", "ratio of errors", "ratio of processor times"]
    return pd.DataFrame(lines, columns=pd.Index(labels + columns)).set_index(labels)


def mean_error(group: Sequence[Measured]) -> str:
    """Mean MAPE, with a star where a fit did not converge; or that one failed."""
    if any(m.failed for m in group):
        return "failed"
    return f"{np.mean([m.error for m in group]):.3g}" + "*" * any(m.status != "ok" for m in group)


def with_range(values: Array) -> str:
    """Median and, in brackets, least and most; nothing of none."""
    if not len(values):
        return ""
    middle, low, high = (
        f"{float(f'{x:.3g}'):,g}" for x in (np.median(values), values.min(), values.max())
    )
    return f"{middle} [{low}, {high}]"


def installed_version() -> str | None:
    """The version of econirl here, or None."""
    try:
        return importlib.metadata.version("econirl")
    except importlib.metadata.PackageNotFoundError:
        return None


@app.command(epilog="Example: python -m reproduce.speed --budget 5 --out speed.csv")
def main(
    budget: Annotated[float, typer.Option(help="CPU seconds of repetitions for each fit.")] = 2.0,
    out: Annotated[Path, typer.Option(help="Where the long CSV goes.")] = OUT,
) -> None:
    """Compare processor time and MAPE with econirl on ten data sets."""
    version = installed_version()
    if version != VERSION:
        fault = "is not installed" if version is None else f"{version} is installed, not {VERSION}"
        typer.echo(f"econirl {fault}. Install it with: {INSTALL}", err=True)
        raise typer.Exit(2)
    console = Console(soft_wrap=True, markup=False)
    importlib.import_module("torch").set_num_threads(1)
    versions = (f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "torch", "jax"))
    console.print(f"python {platform.python_version()}, econirl {version}, {', '.join(versions)}")
    results, world, wide, seen = [], BusEngine(), BusEngine(dummies=INPUTS), set[str]()
    for trajectories, seed in product(TRAJECTORIES, SEEDS):
        train, test = world.simulate(trajectories, np.random.default_rng(seed)).split(0.8)
        told = (train, world, str(trajectories), seed)
        score = partial(mape, test=test, truth=world.reward)
        results += measured([*ours(*told), *theirs(*told)], score, budget, seen, console)
    train, test = wide.simulate(MANY, np.random.default_rng(SEEDS[0])).split(0.8)
    score = partial(mape, test=test, truth=wide.reward)
    results += measured(with_inputs(train, wide), score, 0.0, seen, console)
    frame, table = long_frame(results), comparison(results)
    console.print(table.reset_index().to_string(index=False))
    out.parent.mkdir(parents=True, exist_ok=True)
    layout.write_csv(frame, out)
    layout.write(table, out.parent, out.stem, TITLE, NOTES)
    console.print(f"wrote {out}")
    if any(m.failed for m in results if m.contender.ours):
        raise typer.Exit(1)


def measured(
    contenders: Sequence[Contender],
    score: Callable[[RewardFunction], float],
    budget: float,
    seen: set[str],
    console: Console,
) -> list[Measured]:
    """One data set's; `seen` are the columns fitted before. What did not converge is in the table,
    and so not warned of."""
    results = []
    for contender in contenders:
        place = f"{contender.row}, data set {contender.seed}"
        console.print(f"{place}: {contender.column} ...")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            results.append(measure(contender, score, budget, contender.column not in seen))
        seen.add(contender.column)
    return results


def on_one_core() -> None:
    """Run the command again on one core with one thread: thread pools take their size at import."""
    if os.environ.get(RESTARTED):
        return
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    command = [sys.executable, *sys.orig_argv[1:]]
    environment = {**os.environ, **ONE_THREAD, RESTARTED: "1"}
    raise SystemExit(subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    on_one_core()
    app()
