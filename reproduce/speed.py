"""Processor time and error beside the PyPI package econirl, on the same data, on one core.

Three data sets of 50 and of 1,000 trajectories of the bus engine; the first 80 % train both
libraries, the rest score both by `gladius.metrics.mape`. A ratio is theirs over ours on each data
set. Run it in an environment of its own: `tox -e speed`.

Implementation choices:

- Processor time is the measure. The first call of each estimator is not counted, since it pays for
  imports; the others give the median on a data set. Data containers are made anew for each call,
  which is not timed.
- econirl's GLADIUS has every documented default, and the anchor in all 20 states. The true
  transition probabilities go to both NFXP and CCP, with the features of the true reward; econirl's
  compute no standard errors here, as ours do not.
- Our GLADIUS penalises the roughness of r, and the true r is affine in mileage: a point in our
  favour.
- Convergence is what each library reports about itself.
"""

import importlib
import importlib.metadata
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

import gladius
from gladius import BusEngine, Transitions
from gladius.metrics import HasReward, mape
from gladius.transitions import Integers
from gladius.worlds.bus import BUS_REWARD
from reproduce import layout

Array = NDArray[np.float64]
Fit = Callable[[], tuple[HasReward, bool]]  # and whether the library reports convergence

VERSION = "0.1.1"
INSTALL = f"pip install torch==2.13.0 econirl=={VERSION}"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ONE_THREAD |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS": "cpu"}
RESTARTED = "REPRODUCE_SPEED_ON_ONE_CORE"
TRAJECTORIES, SEEDS = (50, 1_000), (0, 1, 2)  # of the data sets
MOST = 50  # calls on a data set
METHODS = ("GLADIUS", "NFXP", "CCP")
TITLE = f"Processor time and error beside econirl {VERSION}"
NOTES = (
    f"Theirs over ours on the same data: the median over {len(SEEDS)} data sets, in brackets the"
    " least and the most. Above 1 ours is faster, or nearer to the true reward.",
    "MAPE: mean over the data sets, in per cent. One process on one core, defaults of both.",
    "NFXP and CCP of both get the true transition probabilities. econirl compiles most functions"
    " again in each fit, which is in its time.",
    "* did not converge on all data sets, as the library reports.",
)
OUT = Path(__file__).parents[1] / "paper_tables" / "generated" / "speed.csv"

app = typer.Typer(add_completion=False)


class RewardTable(NamedTuple):
    """A (20, 2) table of rewards by mileage, as `mape` calls it."""

    values: Array

    def reward(self, states: Array, actions: Integers) -> Array:
        """(n,) rewards of (n, 1) states and (n,) actions."""
        return np.asarray(self.values[mileage_codes(states), actions])


def mileage_codes(states: Array) -> Integers:
    """(n,) codes 0 to 19 of (n, 1) mileages 1 to 20."""
    return np.asarray(states)[:, 0].astype(np.int64) - 1


def ours(world: BusEngine, train: Transitions, method: str) -> Fit:
    """Our fit. Anchor and discount factor are the world's; its reward is not used."""
    options: dict[str, Any] = {"method": method.lower()}
    if method != "GLADIUS":
        options |= {"transition": world.known_transitions, "reward": BUS_REWARD}

    def fit() -> tuple[HasReward, bool]:
        estimate = gladius.fit(
            train,
            anchor_action=world.anchor_action,
            anchor_reward=world.anchor_reward,
            discount=world.discount,
            **options,
        )
        return estimate, estimate.diagnostics.converged

    return fit


def theirs(world: BusEngine, train: Transitions, method: str) -> Fit:
    """econirl's fit; it is imported here, so that the rest works without it."""
    econirl: Any = importlib.import_module("econirl")
    estimation: Any = importlib.import_module("econirl.estimation")
    states, actions = world.mdp.reward.shape
    codes = mileage_codes(train.states), train.actions, mileage_codes(train.next_states)
    panel = econirl.TrajectoryPanel.from_numpy(*codes, train.trajectory)
    features = np.zeros((states, actions, 2))
    features[:, 0, 0], features[:, 1, 1] = -np.arange(1.0, states + 1), -1.0
    utility = econirl.RewardSpec(features, names=["theta_0", "theta_1"])

    def neural() -> tuple[HasReward, bool]:
        model = econirl.GLADIUS(
            n_actions=actions,
            discount=world.discount,
            anchor_action=world.anchor_action,
            anchor_rewards=[world.anchor_reward] * states,
        ).fit(panel)
        return RewardTable(np.asarray(model.reward_)), bool(model.converged_)

    def structural() -> tuple[HasReward, bool]:
        result = getattr(estimation, f"{method}Estimator")(compute_hessian=False).estimate(
            panel=panel,
            utility=utility.to_linear_utility(),
            problem=econirl.DDCProblem(states, actions, world.discount, 1.0),
            transitions=world.mdp.transition,
        )
        return RewardTable(features @ np.asarray(result.parameters)), bool(result.converged)

    return neural if method == "GLADIUS" else structural


def measure(
    prepare: Callable[[], Fit], score: Callable[[HasReward], float], budget: float
) -> tuple[float, float, bool]:
    """(error, median processor seconds, whether it converged) of a fit.

    The first call is not timed. Further ones follow until `budget` seconds are spent.
    """
    estimate, converged = prepare()()
    seconds = list[float]()
    while not seconds or (sum(seconds) < budget and len(seconds) < MOST):
        fit = prepare()
        start = time.process_time()
        fit()
        seconds.append(time.process_time() - start)
    return score(estimate), float(np.median(seconds)), converged


def compare(budget: float) -> Iterator[dict[str, Any]]:
    """A line for each data set, method and library: error, seconds, converged."""
    world = BusEngine()
    for n, seed, method in product(TRAJECTORIES, SEEDS, METHODS):
        train, test = world.simulate(n, np.random.default_rng(seed)).split(0.8)
        score = partial(mape, test=test, truth=world.reward)
        for library, fit in (("econirl", theirs), ("ours", ours)):
            typer.echo(f"N = {n}, data set {seed}: {method}, {library} ...")
            with warnings.catch_warnings():  # of fits that do not converge: the table says so
                warnings.simplefilter("ignore", RuntimeWarning)
                result = measure(partial(fit, world, train, method), score, budget)
            key = {"N": n, "seed": seed, "method": method, "library": library}
            yield key | dict(zip(("error", "seconds", "converged"), result, strict=True))


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """The table for readers: by size and method the errors and the ratios of errors and times."""
    lines = {}
    for key, fits in frame.groupby(["N", "method"], sort=False):
        by_seed = fits.pivot(index="seed", columns="library", values=["error", "seconds"])
        texts = []
        for library in ("econirl", "ours"):
            of_library = fits[fits["library"] == library]
            mark = "" if of_library["converged"].all() else "*"
            texts.append(f"{of_library['error'].mean():.3g}{mark}")
        for number in ("error", "seconds"):
            ratio = by_seed[number]["econirl"] / by_seed[number]["ours"]
            middle, low, high = (f"{x:.3g}" for x in (ratio.median(), ratio.min(), ratio.max()))
            texts.append(f"{middle} [{low}, {high}]")
        lines[key] = texts
    heads = ["MAPE, econirl", "MAPE, ours", "ratio of errors", "ratio of processor times"]
    found = pd.DataFrame.from_dict(lines, orient="index", columns=heads)
    found.index = pd.MultiIndex.from_tuples(found.index, names=["trajectories", "method"])
    return found


def installed_version() -> str | None:
    """The version of econirl here, or None."""
    try:
        return importlib.metadata.version("econirl")
    except importlib.metadata.PackageNotFoundError:
        return None


@app.command(epilog="Example: python -m reproduce.speed --budget 5 --out speed.csv")
def main(
    budget: Annotated[float, typer.Option(help="CPU seconds of repetitions for each fit.")] = 2.0,
    out: Annotated[Path, typer.Option(help="Where the CSV goes.")] = OUT,
) -> None:
    """Compare processor time and MAPE with econirl."""
    version = installed_version()
    if version != VERSION:
        fault = "is not installed" if version is None else f"{version} is installed, not {VERSION}"
        typer.echo(f"econirl {fault}. Install it with: {INSTALL}", err=True)
        raise typer.Exit(2)
    importlib.import_module("torch").set_num_threads(1)
    frame = pd.DataFrame(list(compare(budget)))
    out.parent.mkdir(parents=True, exist_ok=True)
    layout.write_csv(frame, out)
    layout.write(table(frame), out.parent, out.stem, TITLE, NOTES)
    typer.echo(f"wrote {out}")


def on_one_core() -> None:
    """Run the command again on one core with one thread: thread pools take their size at import."""
    if os.environ.get(RESTARTED):
        return
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    environment = {**os.environ, **ONE_THREAD, RESTARTED: "1"}
    command = [sys.executable, *sys.orig_argv[1:]]
    raise SystemExit(subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    on_one_core()
    app()
