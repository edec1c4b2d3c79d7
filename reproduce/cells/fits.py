"""The one kind of cell that fits: a method on data sets of the bus engine, stored for every table.

A fit is computed once; tables and figures are views of what is stored here. `fitting` makes the
cell, so that two exhibits with the same fit list an equal cell. An estimator gets the training
split, the anchor's reward and the discount factor. A method whose reward is linear in parameters
gets the form too, and an oracle the transition probabilities. Only the scores use the true reward.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from gladius import register
from gladius.designs.bus import BUS_REWARD, BusEngine, bus_reward_given
from gladius.designs.metrics import mape, percentage_error
from gladius.model.estimate import Estimate
from gladius.panel.anchor import Anchor, make_anchor
from gladius.panel.record import Counts, Transitions
from gladius.register import METHODS
from reproduce.cells.data import data_sets, make_world, on_grid, splits
from reproduce.engine import seeds
from reproduce.engine.nouns import FAILED, SEVERITY, Array, Cell, Record, Result, summarise

TRAJECTORIES, SMOKE_TRAJECTORIES = (50, 250, 500, 1000, 2500, 5000), (50, 250)  # Table 2's rows
REPETITIONS, SMOKE_REPETITIONS = 20, 2
BOOTSTRAP, SMOKE_BOOTSTRAP = 100, 8
SMOKE_ITERATIONS = 300  # of Algorithm 1
BATCH = 100  # data sets drawn as counts that are fitted together: 100 MB
RUNS = ("iterations", "inner iterations", "converged")  # of every fit, beside its score


def fitting(
    method: str,
    trajectories: int,
    smoke: bool,
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Cell:
    """The cell of a method on data sets of one size; settings at their defaults are left out.

    Args:
        method: of METHODS.
        trajectories: N.
        smoke: fewer repetitions, and few steps of Algorithm 1.
        options: of the method, as JSON holds them.
        settings: any of `repetitions`; `seeds` and `seeds_row` (the stream of data sets); `truth`
            (of TRUTHS); `oracle` (knows the transition probabilities); `theta_1_given` (knows the
            anchor's reward, so one parameter remains); `streams` (option -> stream of its random
            generators); `bootstrap` (resamples of the first data set); `drawn="counts"` (data sets
            drawn as counts, with scores only).
    """
    options, repetitions = dict(options or {}), SMOKE_REPETITIONS if smoke else REPETITIONS
    if smoke and options.get("protocol") == "printed":
        options["iterations"] = SMOKE_ITERATIONS
    given = {"method": method, "trajectories": trajectories, "repetitions": repetitions}
    given |= {"seeds": "table_2", "options": options} | settings
    if "bootstrap" in given:  # resamples of one data set are no repetitions
        given |= {"repetitions": 1, "bootstrap": SMOKE_BOOTSTRAP if smoke else BOOTSTRAP}
    defaults: dict[str, Any] = {"options": {}, "oracle": False, "theta_1_given": False}
    given = {k: v for k, v in given.items() if k not in defaults or v != defaults[k]}
    words = [method, f"N = {trajectories}", *map(str, options.values())]
    return Cell("fit", given, ", ".join(words))


def compute(cell: Cell) -> Result:
    """Fit and score the cell's data sets.

    Records are those of `summarise`. Of each repetition the result has `MAPE` (per cent), `status`
    (see `severity`) and RUNS; and as arrays (R, S, A) on the world's grid `reward`, `q` and
    `visits` of the training split, and `theta` (R, k) if there is one.
    """
    world = make_world(cell)
    if cell.settings.get("drawn") == "counts":
        return _on_counts(cell, world)
    train, test = data_sets(world, cell)
    if "bootstrap" in cell.settings:
        return _on_resamples(cell, world, train[0], test[0])
    estimates, grid = fit(world, cell, train), world.mdp.features
    errors = [mape(e, split, world.reward) for e, split in zip(estimates, test, strict=True)]
    diagnostics = [estimate.diagnostics for estimate in estimates]
    statuses = [run.status for run in diagnostics]
    replications = {
        "MAPE": errors,
        "status": [severity(status) for status in statuses],
        "iterations": [float(run.iterations) for run in diagnostics],
        "inner iterations": [float(np.asarray(d.extra["inner_iterations"])) for d in diagnostics],
        "converged": [float(run.converged) for run in diagnostics],
    }
    if all("trace_bellman" in run.extra for run in diagnostics):
        ends = [float(np.asarray(run.extra["trace_bellman"])[-1]) for run in diagnostics]
        replications["signed Bellman term"] = ends
    arrays = {
        "reward": np.array([e.reward_function(grid) for e in estimates]),
        "q": np.array([e.q_function(grid) for e in estimates]),
        "visits": on_grid(world.mdp, train).visits,
    }
    if all("theta" in run.extra for run in diagnostics):
        arrays["theta"] = np.array([run.extra["theta"] for run in diagnostics], dtype=float)
    seconds = float(np.mean([run.cpu_seconds for run in diagnostics]))
    return Result(summarise("MAPE", errors, statuses), replications, arrays, seconds)


def fit(world: BusEngine, cell: Cell, train: Sequence[Transitions], **given: Any) -> list[Estimate]:
    """The cell's method on all repetitions; `given` are further options."""
    return by_method(world, cell, train, options_of(world, cell, given))


def by_method(
    world: Any, cell: Cell, train: Sequence[Transitions], options: Mapping[str, Any]
) -> list[Estimate]:
    """The cell's method with these options; its diagnostics have the CPU seconds of a data set."""
    method = cell.settings["method"]
    is_needed = "anchor" in register.needs(method)
    anchor = make_anchor(train, world.anchor_action, world.anchor_reward, must_occur=is_needed)
    start_time = time.process_time()
    estimates = register.method(method)(train, anchor, world.discount, **options)
    seconds = (time.process_time() - start_time) / len(train)
    return [
        replace(one, diagnostics=replace(one.diagnostics, cpu_seconds=seconds)) for one in estimates
    ]


def options_of(world: BusEngine, cell: Cell, given: Mapping[str, Any]) -> dict[str, Any]:
    """The cell's options as the method takes them, with what it is given of the world.

    Where a method draws random numbers each repetition has its own generator.
    """
    settings = cell.settings
    method = settings["method"]
    options: dict[str, Any] = {**settings.get("options", {}), **given}
    if "training" in options:  # as JSON holds it
        options["training"] = import_module(METHODS[method]).Training(**options["training"])
    if settings.get("oracle"):
        options["transition"] = world.known_transitions
    if "form" in register.needs(method):
        # a method that needs both gets the anchor's reward within the form
        is_given = settings.get("theta_1_given") or "anchor" in register.needs(method)
        options["reward"] = bus_reward_given(-world.anchor_reward) if is_given else BUS_REWARD
    if register.takes(method, "rng") and "rng" not in options:
        options["rng"] = seeds.generators(cell, register.title(method))
    for option, stream in settings.get("streams", {}).items():
        options[option] = seeds.generators(cell, stream)
    return options


def severity(status: str) -> float:
    """Index of a status in SEVERITY, one more where the fit failed."""
    return float(len(SEVERITY) if status.startswith(FAILED) else SEVERITY.index(status))


def _on_resamples(cell: Cell, world: BusEngine, train: Transitions, test: Transitions) -> Result:
    """Scores of resamples of one data set, as the paper's note describes its oracles.

    `se` is the standard deviation over resamples / sqrt(resamples). It omits the variation between
    data sets, so it understates the error of the number.
    """
    start_time, times = time.process_time(), int(cell.settings["bootstrap"])
    (rng,) = seeds.generators(cell, "bootstrap")
    estimates = [fit(world, cell, [one])[0] for one in resamples(train, times, rng)]
    errors = [mape(e, test, world.reward) for e in estimates]
    statuses = [e.diagnostics.status for e in estimates]
    seconds = (time.process_time() - start_time) / times
    records = summarise("MAPE", errors, statuses)
    return Result(records, {"MAPE of resamples": errors}, cpu_seconds=seconds)


def resamples(data: Transitions, times: int, rng: np.random.Generator) -> Iterator[Transitions]:
    """Samples of the trajectories with replacement; observations are in no order."""
    names, label = np.unique(data.trajectory, return_inverse=True)
    weights = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=times)
    for weight in weights:
        rows = np.repeat(np.arange(len(data)), weight[label])
        yield Transitions(
            data.states[rows],
            data.actions[rows],
            data.next_states[rows],
            number_of_actions=data.number_of_actions,
        )


def _on_counts(cell: Cell, world: BusEngine) -> Result:
    """Scores of hundreds of data sets, drawn as counts, BATCH at a time."""
    rngs = seeds.generators(cell)
    errors: list[float] = []
    statuses: list[str] = []
    seconds = 0.0
    for start in range(0, len(rngs), BATCH):
        batch = rngs[start : start + BATCH]
        train, test = splits(world.mdp, world.horizon, cell.settings["trajectories"], batch)
        start_time = time.process_time()
        rewards, ends = _fit_counts(world, cell, train)
        seconds += time.process_time() - start_time
        for reward, visits in zip(rewards, test.visits, strict=True):
            errors.append(percentage_error(reward, world.mdp.reward, visits))
        statuses += ends
    records = summarise("MAPE", errors, statuses)
    return Result(records, {"MAPE": errors}, cpu_seconds=seconds / len(rngs))


def _fit_counts(world: BusEngine, cell: Cell, train: Counts) -> tuple[Array, list[str]]:
    """((R, S, A) rewards, R statuses) of the methods that take counts."""
    options = options_of(world, cell, {})
    module = import_module(METHODS[cell.settings["method"]])
    if cell.settings["method"] == "nfxp":
        design, offset = options["reward"].tables(train.states, train.visits.shape[2])
        fitted = module.fit_counts(
            train.visits, world.mdp.transition, design, offset, world.discount
        )
        return offset + np.einsum("sak,rk->rsa", design, fitted.theta), list(fitted.status)
    anchor = Anchor(world.anchor_action, world.anchor_reward)
    estimates = module.fit_counts(train, anchor, world.discount, **options)
    rewards = np.stack([one.reward_function(train.states) for one in estimates])
    return rewards, [one.diagnostics.status for one in estimates]


def means(result: Result, statistics: Sequence[str]) -> tuple[Record, ...]:
    """A record for the mean of each of these numbers of every repetition."""
    values = ((statistic, result.replications[statistic]) for statistic in statistics)
    status = result.records[0].status
    return tuple(Record(s, float(np.mean(x)), math.nan, len(x), status) for s, x in values)
