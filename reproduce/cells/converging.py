"""Fits for the study of GLADIUS with an exact inner step (ours), and its path to the minimum.

Data sets are simulated and fitted one by one, and scored on the test split. An estimator gets the
training split, the anchor's reward and beta; maximum likelihood also knows the form of r. Paths of
mileage are the same whatever the number of inputs is, and all methods of a row have the same data
sets. DESIGNS changes one thing of the bus engine at a time, and in MATTER ten inputs matter.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gladius.designs.bus import REPLACE, BusEngine
from gladius.designs.inputs_bus import InputsBus
from gladius.designs.metrics import mape
from gladius.model.estimate import StateFunction
from gladius.model.mdp import TabularMDP
from gladius.own_data.erm.observations import sparse
from gladius.panel.anchor import Anchor, make_anchor
from gladius.panel.record import Integers, Transitions
from gladius.paper import max_oracle
from gladius.paper.training import TRUNK, Layout, Learner
from reproduce.cells.data import SHARE, TRUTHS
from reproduce.cells.fits import by_method, options_of, severity
from reproduce.cells.inputs_designs import MATTER
from reproduce.engine import seeds
from reproduce.engine.nouns import LONG, Array, Cell, Record, Result, summarise

# of data sets: of the study, and of smoke runs, short forms and tests, which draw none of its own
STREAM, SHORT_STREAM = "inner_step", "inner_step_short"
BUS, TRAJECTORIES, SMOKE_TRAJECTORIES = "bus", 1000, 50
SMOKE_REPETITIONS = 2
SMOKE_OPTIONS = {"steps": 20, "trial_steps": 10, "starts": 1}
SCORES = "score tests"  # which choose the inputs before the fit
FIRST = "mileage alone"  # the input that a fit is given
USED, MILEAGE, STEPS = "inputs used", "mileage was used", "steps"
ENDS = 0.02  # probability that a path ends after any period
POINTS = 80  # of a path, at logarithmic distances
LAST = "MAPE at the last pass"


# --- worlds
@dataclass(frozen=True)
class Variant:
    """The bus engine with one thing changed; if `has_end` its last state is the end of a path."""

    mdp: TabularMDP
    has_end: bool = False

    anchor_action, anchor_reward = REPLACE, BusEngine().anchor_reward
    discount, horizon = BusEngine().discount, BusEngine().horizon

    def simulate(self, trajectories: int, rng: np.random.Generator) -> Transitions:
        """Expert data; mileages are whole numbers from 1 on."""
        paths = self.mdp.simulate(trajectories, self.horizon, rng)
        visited = np.append(paths.states, paths.next_states[:, -1:], axis=1)
        is_end = visited == (len(self.mdp.reward) - 1 if self.has_end else -1)
        lengths = np.where(is_end.any(axis=1), is_end.argmax(axis=1), self.horizon)
        return Transitions.from_paths(
            [self.mdp.features[x[: n + 1]] for x, n in zip(visited, lengths, strict=True)],
            [a[:n] for a, n in zip(paths.actions, lengths, strict=True)],
            self.mdp.reward.shape[1],
            is_end.any(axis=1).tolist(),
        )

    def reward(self, states: Array, actions: Integers) -> Array:
        """True r."""
        return np.asarray(self.mdp.reward[states[:, 0].astype(np.int64) - 1, actions])


def random_anchor() -> Variant:
    """Replacing sends the mileage to 1, 2, 3 or 4."""
    mdp = BusEngine().mdp
    transition = mdp.transition.copy()
    transition[REPLACE, :, 0] = 0.0
    transition[REPLACE, :, :4] = 0.25
    return Variant(replace(mdp, transition=transition))


def paths_end() -> Variant:
    """After any period a path ends with probability ENDS; V is 0 there, as in the data."""
    mdp = BusEngine().mdp
    actions, n, _ = mdp.transition.shape
    transition = np.zeros((actions, n + 1, n + 1))
    transition[:, :n, :n] = (1 - ENDS) * mdp.transition
    transition[:, :n, n], transition[:, n, n] = ENDS, 1.0
    reward = np.vstack([mdp.reward, np.full(actions, -np.log(actions))])
    features = np.arange(1.0, n + 2)[:, None]
    return Variant(
        TabularMDP(reward, transition, mdp.discount, np.append(mdp.initial, 0.0), features), True
    )


def three_actions() -> Variant:
    """A third action takes two off the mileage, for 3 and a fifth of the mileage."""
    mdp = BusEngine().mdp
    n = len(mdp.reward)
    moves = np.zeros((1, n, n))
    moves[0, np.arange(n), np.maximum(np.arange(n) - 2, 0)] = 1.0
    reward = np.column_stack([mdp.reward, -3.0 - 0.2 * mdp.features[:, 0]])
    return Variant(replace(mdp, reward=reward, transition=np.concatenate([mdp.transition, moves])))


DESIGNS = {
    "curved reward": lambda: Variant(BusEngine(maintenance=TRUTHS["sqrt"]).mdp),
    "random anchor": random_anchor,
    "paths end": paths_end,
    "three actions": three_actions,
}


# --- fits
def fitting(
    method: str,
    repetitions: int,
    smoke: bool,
    options: Mapping[str, Any] | None = None,
    *,
    trajectories: int = TRAJECTORIES,
    inputs: int = 0,
    design: str = BUS,
    chosen_by: str = "",
) -> Cell:
    """The cell of a method on data sets of one kind, which only a run with --long computes.

    Args:
        method, options: of METHODS, and its options as JSON holds them.
        repetitions: data sets.
        smoke: few repetitions, trajectories and steps.
        trajectories, inputs: N and K.
        design: BUS, or of DESIGNS or MATTER.
        chosen_by: SCORES, if tests choose the inputs that the method is given, or FIRST.
    """
    options = dict(options or {})
    row = design if design != BUS else "inputs" if inputs else str(trajectories)
    words = [method, row, f"N = {trajectories}", f"K = {inputs}", *map(str, options.values())]
    if smoke and options.get("protocol") == "max_oracle":
        options |= SMOKE_OPTIONS
    settings = {
        "method": method,
        "options": options,
        "design": design,
        "inputs": inputs,
        "chosen_by": chosen_by,
        "trajectories": SMOKE_TRAJECTORIES if smoke else trajectories,
        "repetitions": SMOKE_REPETITIONS if smoke else repetitions,
        "seeds": SHORT_STREAM if smoke else STREAM,
        "seeds_row": row,
    }
    settings |= {} if smoke else {LONG: True}
    compute_by = "converging_chosen" if chosen_by == SCORES else "converging"
    return Cell(compute_by, settings, ", ".join(filter(None, [*words, chosen_by])))


World = BusEngine | Variant | InputsBus


def world_of(cell: Cell) -> World:
    """What simulates the cell's data."""
    design: str = cell.settings["design"]
    others: dict[str, Callable[[], World]] = {**DESIGNS, **MATTER}
    return BusEngine(dummies=cell.settings["inputs"]) if design == BUS else others[design]()


def compute(cell: Cell) -> Result:
    """Scores of fits to all inputs; of max_oracle also the inputs and the steps of its fits."""
    return scored(cell, first_column if cell.settings["chosen_by"] == FIRST else all_columns)


def compute_chosen(cell: Cell) -> Result:
    """Those of fits to the inputs that the score tests choose.

    It has a name of its own, so that no other cell rests on the code of these tests.
    """
    return scored(cell, by_scores)


def scored(cell: Cell, columns_of: Callable[[Transitions, World], Integers]) -> Result:
    """Scores of the cell's data sets, whose fits have the inputs that `columns_of` gives."""
    world, settings = world_of(cell), cell.settings
    errors, statuses, used, steps = list[float](), list[str](), list[set[int]](), list[float]()
    seconds = 0.0
    streams = zip(seeds.generators(cell), seeds.generators(cell, "weights"), strict=True)
    for replication, (rng, weights) in enumerate(streams):
        train, test = world.simulate(settings["trajectories"], rng).split(SHARE)
        options = options_of(BusEngine(), cell, {})
        if "rng" in options:
            options["rng"] = [options["rng"][replication]]
        start_time = time.process_time()
        if settings["method"] == "gladius":
            options["rngs"] = [weights]
        columns = columns_of(train, world)
        (estimate,) = by_method(world, cell, [of_columns(train, columns)], options)
        seconds += time.process_time() - start_time
        errors.append(mape(OfColumns(estimate.reward_function, columns), test, world.reward))
        statuses.append(estimate.diagnostics.status)
        if "inputs" in estimate.diagnostics.extra:
            own = np.asarray(estimate.diagnostics.extra["inputs"], dtype=np.int64)
            used.append(set(columns[own].tolist()))
            steps.append(float(estimate.diagnostics.iterations))
    records = list(summarise("MAPE", errors, statuses))
    replications = {"MAPE": errors, "status": [severity(s) for s in statuses]}
    if used:
        replications |= {
            USED: [float(len(x)) for x in used],
            MILEAGE: [float(0 in x) for x in used],
            STEPS: steps,
        }
        numbers = ((name, replications[name]) for name in (USED, MILEAGE, STEPS))
        records += [summarise(name, x, ["ok"] * len(x))[0] for name, x in numbers]
    return Result(tuple(records), replications, cpu_seconds=seconds / cell.repetitions)


def all_columns(train: Transitions, world: World) -> Integers:
    """All inputs of a data set."""
    return np.arange(train.states.shape[1])


def first_column(train: Transitions, world: World) -> Integers:
    """The mileage."""
    return np.arange(1)


def of_columns(data: Transitions, columns: Integers) -> Transitions:
    """The data with these inputs alone."""
    states, following = data.states[:, columns], data.next_states[:, columns]
    return replace(data, states=states, next_states=following, feature_names=())


@dataclass(frozen=True)
class OfColumns:
    """A reward of some inputs, (n, d') states -> (n, A), at states with all."""

    function: StateFunction
    columns: Integers

    def reward(self, states: Array, actions: Integers) -> Array:
        """(n,) r-hat."""
        return np.asarray(self.function(states[:, self.columns])[np.arange(len(states)), actions])


def by_scores(train: Transitions, world: World) -> Integers:
    """The inputs that the class `sparse` of profiled ERM chooses for r or zeta; all if none."""
    anchor = make_anchor([train], world.anchor_action, world.anchor_reward, must_occur=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*r-hat does not depend")
        estimate = sparse.fit_rows(train, anchor, world.discount, sparse.Options())
    extra: Mapping[str, Any] = estimate.diagnostics.extra
    chosen = sorted({*map(int, extra["reward_inputs"]), *map(int, extra["zeta_inputs"])})
    return np.array(chosen or range(train.states.shape[1]), dtype=np.int64)


# --- paths
def paths_cell(variants: Mapping[str, Mapping[str, Any]], smoke: bool) -> Cell:
    """The cell of one training for each set of options, on the first data set of K = 0."""
    cell = fitting("gladius", 1, smoke, {"protocol": "max_oracle"})
    settings = {**cell.settings, "repetitions": 1, "variants": variants}
    return Cell("converging_paths", settings, "max_oracle, paths")


def paths(cell: Cell) -> Result:
    """Of each set of options an array (2, points): passes over the data, and the error of r."""
    arrays, records, start_time = dict[str, Array](), list[Record](), time.process_time()
    for name, changes in cell.settings["variants"].items():
        arrays[name], status = path(cell, changes)
        last = float(arrays[name][1, -1])
        records.append(Record(LAST, last, status=status, protocol=f"fresh {name}"))
    seconds = (time.process_time() - start_time) / len(arrays)
    return Result(tuple(records), arrays=arrays, cpu_seconds=seconds)


def path(cell: Cell, changes: Mapping[str, Any]) -> tuple[Array, str]:
    """(2, points) passes and errors on the test split, per cent; and how the training ended."""
    world, settings = BusEngine(), cell.settings
    ((rng,), (weights,)) = (seeds.generators(cell, name) for name in ("data", "weights"))
    train, test = world.simulate(settings["trajectories"], rng).split(SHARE)
    given = {n: x for n, x in settings["options"].items() if n != "protocol"}
    options = max_oracle.Options(**given | dict(changes))
    anchor = Anchor(world.anchor_action, world.anchor_reward)
    inputs = max_oracle.Standardised.of(train, np.arange(1))
    batch = inputs.batch(train, anchor, np.float64)
    layout = Layout(TRUNK, 1, (options.units, options.units), train.number_of_actions)
    start = max_oracle.start_of(layout, batch, world.discount, options, weights)
    at = {0, *np.geomspace(1, options.steps - 1, POINTS).astype(int).tolist()}
    found: list[tuple[float, float]] = []

    def watch(done: int, parameters: Array) -> None:
        one = max_oracle.Trained(layout, parameters, 0.0, 0.0, done, False)
        r = max_oracle.Averaged((one.head(-world.discount),), *inputs)
        error = mape(OfColumns(r, np.arange(1)), test, world.reward)
        found.append(((done + 1) * (1.0 + options.ascents), error))

    def watch_some(done: int, learner: Learner) -> None:
        if done in at:
            watch(done, learner.parameters)

    of = anchor.action, world.discount, options
    with np.errstate(over="ignore", invalid="ignore"):
        trained = max_oracle.train(batch, layout, start, *of, watch=watch_some)
        watch(trained.steps, trained.parameters)
    status = "ok" if trained.converged else "not_converged"
    return np.array(found).T, status if np.isfinite(trained.risk) else "diverged"
