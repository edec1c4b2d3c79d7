"""Speed and accuracy beside the PyPI package econirl, on one data set, in one process, on one core.

Every choice that could favour a side:

Data. 50 trajectories of our bus engine (mileage 1 to 20, theta = (1, 5), beta = .95, H = 100); the
first 80 % train both libraries, the rest score both, by `gladius.metrics.mape`. It is one data
set, so small differences mean nothing.

Clock. One process, pinned to one core where the system can, BLAS, torch and XLA held to one
thread. Processor time is the measure, wall time is beside it. The first call of each fit is kept
apart (it pays for imports and for XLA's compilation); the others give the median: at least 3, then
until `--budget` seconds are spent, at most 200. Each call gets a fresh container of the data, whose
making is not timed, so neither library profits from what it cached there.

econirl GLADIUS. The public class with every documented default (3 x 128 units, 500 epochs at most,
batches of 512, patience 50, Bellman weight 0.1, output bias 0, no standard errors, no transition
matrix). It gets the anchor as its documentation asks, in all 20 states, which are the codes 0 to
19. The last next state of each trajectory is passed as observed; from a data frame the package
would guess it. Both of its objectives run: `paper_minimax`, its default and the paper's algorithm
(with the first author's absolute value), and `anchor_moment`.

econirl NFXP. The class with its defaults, which include robust standard errors, and, so that those
are not held against it, the same estimator for the point estimate alone. Both get the true
transition probabilities (by default the package would fit increments of 0 to 2, wrong for this
bus) and the features of the true linear reward, and so estimate (theta_0, theta_1).

Ours. GLADIUS under the `leak_free` protocol with the same anchor, in two function classes at their
defaults. These penalise the roughness of r, by an amount chosen from the training data, and the
true r is affine in mileage: a point in our favour, so the smooth class also runs with about the
least penalty of its search. NFXP gets the same true transition probabilities and features; it
always computes standard errors (inverse information).

With inputs. Last, 1,000 trajectories with 20 inputs that do not matter: our estimator on rows at
its defaults, and econirl GLADIUS, which gets the standardised inputs of each distinct state by its
`state_encoder`. Two calls each, for they are long.

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

Array = NDArray[np.float64]
Fit = tuple[RewardFunction, bool]  # and whether the library says that it converged

VERSION = "0.1.1"
# one command: resolved apart, torch may be replaced by a build several gigabytes larger
INSTALL = f"pip install torch==2.13.0 econirl=={VERSION}"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ONE_THREAD |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS": "cpu"}
RESTARTED = "REPRODUCE_SPEED_ON_ONE_CORE"
TRAJECTORIES, SEED = 50, 0  # of the data set
INPUTS, MANY, FEW_CALLS = 20, 1_000, 1  # and of the one with inputs; its calls after the first
LEAST, MOST = 3, 200  # repetitions after the first call
OBJECTIVES = ("paper_minimax", "anchor_moment")  # of econirl's GLADIUS
COLUMNS = ["row", "column", "protocol", "statistic", "value", "se"]
COLUMNS += ["repetitions", "status", "cpu_seconds"]
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
    row: str = str(TRAJECTORIES)


@dataclass(frozen=True)
class Measured:
    """MAPE, and processor and wall seconds of n calls after the first, whose own are `first`."""

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
        """Whether this is econirl's fit by the same method, the first word of the column."""
        a, b = self.contender, ours.contender
        same = (a.row, a.column.partition(",")[0]) == (b.row, b.column.partition(",")[0])
        return same and b.ours and not (a.ours or self.failed or ours.failed)


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


def ours(train: Transitions, world: BusEngine) -> list[Contender]:
    """Our fits; NFXP is lent the true P too."""
    base: dict[str, Any] = {"method": "gladius", "protocol": "leak_free"}
    known = {"method": "nfxp", "transition": world.known_transitions, "reward": BUS_REWARD}
    smooth = base | {"function_class": "smooth"}
    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("GLADIUS, ours (smooth)", "leak_free", smooth),
        ("GLADIUS, ours (smooth, least penalty)", "leak_free", smooth | {"penalty": 0.1}),
        ("GLADIUS, ours (mlp)", "leak_free", base | {"function_class": "mlp"}),
        ("NFXP, ours (with standard errors)", "true P", known),
    ]
    copies = partial(replace, train)
    return [Contender(a, b, True, copies, partial(own_fit, world, told)) for a, b, told in rows]


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


def theirs(train: Transitions, world: BusEngine) -> list[Contender]:
    """The fits of econirl, imported here so that the rest works without it."""
    econirl: Any = importlib.import_module("econirl")
    estimation: Any = importlib.import_module("econirl.estimation")
    states, actions = world.mdp.reward.shape
    transition = world.mdp.transition
    features = np.zeros((states, actions, 2))
    features[:, 0, 0], features[:, 1, 1] = -np.arange(1.0, states + 1), -1.0
    spec = econirl.RewardSpec(features, names=["theta_0", "theta_1"])

    def nested(data: Any) -> Fit:
        model = econirl.NFXP(
            n_states=states, n_actions=actions, discount=world.discount, utility=spec
        ).fit(data, transitions=transition)
        return reward_table(features @ np.asarray(model.coef_)), bool(model.converged_)

    def nested_point(data: Any) -> Fit:
        result = estimation.NFXPEstimator(compute_hessian=False).estimate(
            panel=data,
            utility=spec.to_linear_utility(),
            problem=econirl.DDCProblem(states, actions, world.discount, 1.0),
            transitions=transition,
        )
        return reward_table(features @ np.asarray(result.parameters)), bool(result.converged)

    def table(model: Any) -> Reward:
        return reward_table(np.asarray(model.reward_))

    minimax, moment = (
        partial(neural_fit, world, states, table, {"objective": name}) for name in OBJECTIVES
    )
    rows: list[tuple[str, str, Callable[[Any], Fit]]] = [
        ("GLADIUS, econirl (paper_minimax)", "econirl default", minimax),
        ("GLADIUS, econirl (anchor_moment)", "econirl", moment),
        ("NFXP, econirl (with standard errors)", "true P, econirl default", nested),
        ("NFXP, econirl (point estimate)", "true P, econirl", nested_point),
    ]
    data = partial(panel, train, mileage_codes(train.states), mileage_codes(train.next_states))
    return [Contender(column, protocol, False, data, fit) for column, protocol, fit in rows]


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
    contender: Contender,
    score: Callable[[RewardFunction], float],
    budget: float,
    least: int = LEAST,
) -> Measured:
    """Fit once, then again until the budget of processor seconds is spent (at most MOST times)."""
    error, status = np.nan, ""
    cpu, wall = list[float](), list[float]()  # the first call's too
    try:
        while len(cpu) <= least or (sum(cpu[1:]) < budget and len(cpu) <= MOST):
            data = contender.prepare()
            processor, clock = time.process_time(), time.perf_counter()
            estimate, converged = contender.fit(data)
            cpu.append(time.process_time() - processor)
            wall.append(time.perf_counter() - clock)
            if not status:
                error, status = score(estimate), "ok" if converged else "not_converged"
    except Exception as problem:  # whatever goes wrong in either library is a result, and stored
        error, status = np.nan, f"failed: {type(problem).__name__}: {problem}"
    first = cpu[0] if cpu else np.nan
    return Measured(contender, error, status, first, np.array(cpu[1:]), np.array(wall[1:]))


def ratios(slow: Measured, fast: Measured) -> tuple[float, float]:
    """CPU time of `slow` over that of `fast`: of the medians, and fastest call over slowest."""
    middle = np.median(slow.cpu) / np.median(fast.cpu)
    return float(middle), float(slow.cpu.min() / fast.cpu.max())


def long_frame(results: Sequence[Measured]) -> pd.DataFrame:
    """The exhibit as a long table: one line for each statistic of each contender.

    Only the mean processor time has a standard error; `cpu_seconds` is the cost of all calls.
    """
    lines: list[tuple[object, ...]] = []
    for m in results:
        values = {"mape": m.error}
        if not m.failed:
            values |= {"converged": m.status == "ok", "cpu_first_call": m.first}
            values |= {"cpu_median": np.median(m.cpu), "cpu_mean": m.cpu.mean()}
            values |= {"cpu_fastest": m.cpu.min(), "cpu_slowest": m.cpu.max()}
            values |= {"wall_median": np.median(m.wall)}
        for ours in filter(m.is_rival_of, results):
            name, (middle, least) = ours.contender.column, ratios(m, ours)
            values |= {f"cpu_ratio_to {name}": middle}
            values |= {f"cpu_ratio_fastest_to_slowest {name}": least}
        label = (m.contender.row, m.contender.column, m.contender.protocol)
        told = (len(m.cpu), m.status, m.first + m.cpu.sum())
        for statistic, value in values.items():
            is_mean = statistic == "cpu_mean" and len(m.cpu) > 1
            se = m.cpu.std(ddof=1) / np.sqrt(len(m.cpu)) if is_mean else None
            lines.append((*label, statistic, float(value), se, *told))
    return pd.DataFrame(lines, columns=COLUMNS)


def installed_version() -> str | None:
    """The version of econirl here, or None."""
    try:
        return importlib.metadata.version("econirl")
    except importlib.metadata.PackageNotFoundError:
        return None


@app.command(epilog="Example: python -m reproduce.speed --budget 2 --out speed.csv")
def main(
    budget: Annotated[float, typer.Option(help="CPU seconds of repetitions for each fit.")] = 10.0,
    out: Annotated[Path, typer.Option(help="Where the long CSV goes.")] = OUT,
) -> None:
    """Compare processor time and MAPE with econirl on one bus data set (about 6 minutes)."""
    version = installed_version()
    if version != VERSION:
        fault = "is not installed" if version is None else f"{version} is installed, not {VERSION}"
        typer.echo(f"econirl {fault}. Install it with: {INSTALL}", err=True)
        raise typer.Exit(2)
    console = Console(soft_wrap=True, markup=False)
    world, wide = BusEngine(), BusEngine(dummies=INPUTS)
    train, test = world.simulate(TRAJECTORIES, np.random.default_rng(SEED)).split(0.8)
    many, held_out = wide.simulate(MANY, np.random.default_rng(SEED)).split(0.8)
    importlib.import_module("torch").set_num_threads(1)
    versions = (f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "torch", "jax"))
    console.print(f"python {platform.python_version()}, econirl {version}, {', '.join(versions)}")
    results = []
    plan = [(who, test, budget, LEAST) for who in [*ours(train, world), *theirs(train, world)]]
    plan += [(who, held_out, 0.0, FEW_CALLS) for who in with_inputs(many, wide)]
    for contender, scored, seconds, least in plan:
        console.print(f"{contender.row}: {contender.column} ...")
        score = partial(mape, test=scored, truth=wide.reward)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # "not converged" is in the table
            results.append(measure(contender, score, seconds, least))
    frame = long_frame(results)
    shown = frame[["column", "statistic", "value", "repetitions", "status"]]
    console.print(shown.to_string(index=False, float_format="{:,.4g}".format))
    out.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(out, index=False)
    console.print(f"wrote {out}")
    if any(m.failed for m in results):
        raise typer.Exit(1)


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
