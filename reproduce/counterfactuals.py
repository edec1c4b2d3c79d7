"""What `counterfactual` computes: the changes, the solvers, and the judgement of each answer.

The cells here carry the truth through, or what estimates tend to; those that fit a method first are
in counterfactual_fits.py.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gladius.checks import InputError
from gladius.counterfactual import Change, changed, judge, plan, relabel
from gladius.mdp import TabularMDP
from gladius.offline_rl import learn
from gladius.parametric import positions
from gladius.transition_probabilities import empirical_transition_probabilities
from gladius.transitions import Counts, Transitions, group
from gladius.worlds.bus import MAINTAIN, REPLACE, BusEngine
from reproduce.data import by_mileage, counted, data_sets, on_grid
from reproduce.spec import FAILED, Array, Cell, Record, Result, summarise, worst


def cheaper(states: Array, table: Array) -> Array:
    """Replacement costs 4 instead of 5: Delta = 1."""
    return np.asarray(table + np.eye(2)[REPLACE])


def halved(states: Array, table: Array) -> Array:
    """Half of the maintenance is paid: Delta = -r(s, maintain) / 2, of a size read off r-hat."""
    return np.asarray(table * np.where(np.arange(2) == MAINTAIN, 0.5, 1.0))


def later(transition: Array, action: int, by: int) -> Array:
    """Every arrival after the action at a mileage higher by `by`, capped."""
    n = transition.shape[-1]
    new = transition.copy()
    moved = np.eye(n)[np.minimum(np.arange(n) + by, n - 1)]
    new[..., action, :, :] = transition[..., action, :, :] @ moved
    return new


CHANGES = (
    Change("replacement costs 4", reward=cheaper),
    Change("maintenance halved", reward=halved),
    # steps of 2 to 5, the first change of P thought of, hardly move the policy: hence a second
    Change("steps of 2 to 5", transition=lambda old: later(old, MAINTAIN, 1)),
    Change("replaced by used, mileage 3", transition=lambda old: later(old, REPLACE, 2)),
)
NOTHING = Change("nothing")
POPULATION = "population"  # the row of infinitely many data

KEPT, SOFT, IN_DATA = "kept", "soft Q", "soft Q in data"
ESTIMATED, KNOWN = "plan with P-hat", "plan with P"
# alpha is compared with log-odds: one unit of it is large beside those of the bus at mileage 1 to 5
OFFLINE: dict[str, dict[str, Any]] = {
    SOFT: {"unseen": "nearest"},
    IN_DATA: {"unseen": "excluded"},
    "CQL .1": {"conservatism": 0.1},
    "CQL 1": {"conservatism": 1.0},
}
SOLVERS = (KEPT, *OFFLINE, ESTIMATED, KNOWN)
LOSS, DISTANCE, RATE = "welfare loss", "policy distance", "replacement rate"
VALUE, GAIN = "error of V(1)", "error of the gain in V(1)"
UNCOVERED = "uncovered"


def label(statistic: str, change: str, solver: str) -> str:
    """The name under which a cell holds the replications of a number."""
    return f"{statistic}, {change}, {solver}"


@dataclass(frozen=True)
class Given:
    """What the solvers are given, R replications."""

    rewards: Array  # (R, S, A) r-hat on the world's states
    kept: Array  # (R, S, A) the policies of the estimates
    statuses: Sequence[str]  # R, of the fits
    logged: Sequence[Counts]  # R, the moves
    transition: Array  # (R, A, S, S) P-hat on the world's states


@dataclass(frozen=True)
class Answer:
    """One solver's answer to one change, R replications."""

    change: Change
    solver: str
    policies: Array  # (R, S, A); NaN where the estimate lacks a number that the solver needs
    # before and after: (R,) V(1) by the solver without and with the change; NaN if it has none
    before: Array
    after: Array
    statuses: Sequence[str]  # R, the worst of fit and solutions


def population(mdp: TabularMDP, horizon: int, column: str) -> Given:
    """Expected counts, and what the estimates tend to: the truth, or BC's log pi."""
    visits, policy = mdp.occupancy(horizon), mdp.solution.policy
    counts = counted(mdp, (visits.T[:, :, None] * mdp.transition)[None])
    reward = {"Truth": mdp.reward, "BC": np.log(policy)}[column]
    return Given(reward[None], policy[None], ["ok"], [counts], mdp.transition[None])


def on_data(
    mdp: TabularMDP,
    train: Sequence[Transitions],
    rewards: Array,
    kept: Array,
    statuses: Sequence[str],
) -> Given:
    """Rewards and policies, (R, S, A) or one for all, with what the data sets say of P."""
    # a row for every state of the world: a planner knows what there is
    p_hat = empirical_transition_probabilities(on_grid(mdp, train)).transition
    every = np.ones((len(train), 1, 1))
    logged = [group(data) for data in train]
    return Given(every * rewards, every * kept, statuses, logged, p_hat)


def answers(mdp: TabularMDP, given: Given) -> Iterator[Answer]:
    """Every solver's answer to every change that it can answer."""
    everywhere = np.broadcast_to(mdp.transition, given.transition.shape)
    solvers: dict[str, Callable[[Change], tuple[Array, Array, list[str]]]] = {
        **{solver: partial(_learned, mdp, given, options) for solver, options in OFFLINE.items()},
        ESTIMATED: partial(_planned, mdp, given, given.transition),
        KNOWN: partial(_planned, mdp, given, everywhere),
    }
    start = {solver: solve(NOTHING) for solver, solve in solvers.items()}
    nothing = np.full(len(given.logged), math.nan)
    for change in CHANGES:
        yield Answer(change, KEPT, given.kept, nothing, nothing, given.statuses)
        for solver, solve in solvers.items():
            if change.transition is not None and solver in OFFLINE:
                continue  # the logged moves follow the old P
            policies, v, ends = solve(change)
            all_three = zip(given.statuses, start[solver][2], ends, strict=True)
            statuses = [worst(three) for three in all_three]
            yield Answer(change, solver, policies, start[solver][1], v, statuses)


def _learned(
    mdp: TabularMDP, given: Given, options: dict[str, Any], change: Change
) -> tuple[Array, Array, list[str]]:
    policies, v = np.full(given.kept.shape, math.nan), np.full(len(given.logged), math.nan)
    statuses, labels = ["ok"] * len(v), {}
    for r, (logged, reward) in enumerate(zip(given.logged, given.rewards, strict=True)):
        try:
            labels[r] = relabel(logged, by_mileage(reward), change)
        except InputError as error:
            statuses[r] = f"{FAILED}{error}"
    if labels:
        data = [given.logged[r] for r in labels]
        learned = learn(data, list(labels.values()), mdp.discount, **options)
        for r, answer in zip(labels, learned, strict=True):
            policies[r] = answer.policy(mdp.features)
            v[r] = answer.value(mdp.features[:1])[0]
            statuses[r] = "ok" if answer.converged else "not_converged"
    return policies, v, statuses


def _planned(
    mdp: TabularMDP, given: Given, transition: Array, change: Change
) -> tuple[Array, Array, list[str]]:
    tables = given.rewards
    known = np.all(np.isfinite(tables), axis=(1, 2))
    policies, v = np.full(tables.shape, math.nan), np.full(len(tables), math.nan)
    done = "ok"
    if np.any(known):
        answer = plan(mdp.features, tables[known], transition[known], mdp.discount, change)
        policies[known], v[known] = answer.policy, answer.v[:, 0]
        done = "ok" if answer.converged else "not_converged"
    return policies, v, [done if k else f"{FAILED}no reward in some state" for k in known]


def numbers(world: BusEngine, answer: Answer) -> dict[str, Array]:
    """Statistic -> its value in each replication, judged in the true new world.

    LOSS in units of reward; DISTANCE in per cent; RATE a period of the world's horizon; VALUE and
    GAIN, V(1) after the change and its rise by the change, less the exact ones.
    """
    new = changed(world.mdp, answer.change)
    judged = np.full((len(answer.policies), 3), math.nan)
    for line, policy in zip(judged, answer.policies, strict=True):
        if np.all(np.isfinite(policy)):
            said = judge(new, policy, world.horizon)
            line[:] = said.loss, 100 * said.distance, said.frequencies[REPLACE]
    values = dict(zip((LOSS, DISTANCE, RATE), judged.T, strict=True))
    if answer.solver != KEPT:
        exact = new.solution.v[0]
        values[VALUE] = answer.after - exact
        values[GAIN] = answer.after - answer.before - (exact - world.mdp.solution.v[0])
    return values


def uncovered(world: BusEngine, change: Change, logged: Sequence[Counts]) -> Array:
    """(R,) per cent of the best new policy's discounted path at pairs without a row in the data."""
    path = changed(world.mdp, change).discounted_occupancy()
    shares = []
    for data in logged:
        rows = np.zeros(path.shape, dtype=bool)
        rows[positions(world.mdp.features, data.states)] = data.visits[0] > 0
        shares.append(100 * path[~rows].sum())
    return np.array(shares)


def answered(world: BusEngine, given: Given, coverage: bool = False) -> Result:
    """Every change answered by every solver and judged; with `coverage` how much data it has.

    A mean is over all replications, none dropped, by change (row) and solver (protocol).
    """
    records: list[Record] = []
    replications: dict[str, list[float]] = {}
    arrays: dict[str, Array] = {}

    def add(
        statistic: str, change: Change, solver: str, values: Array, statuses: Sequence[str]
    ) -> None:
        series = values.tolist()
        replications[label(statistic, change.name, solver)] = series
        mean = summarise(statistic, series, statuses)[0]
        records.append(replace(mean, row=change.name, protocol=solver))

    for answer in answers(world.mdp, given):
        change, solver = answer.change, answer.solver
        for statistic, values in numbers(world, answer).items():
            add(statistic, change, solver, values, answer.statuses)
        arrays[label("replacement", change.name, solver)] = answer.policies[..., REPLACE].mean(0)
    for change in CHANGES if coverage else ():
        shares = uncovered(world, change, given.logged)
        add(UNCOVERED, change, KEPT, shares, ["ok"] * len(shares))
    return Result(tuple(records), replications, arrays)


def compute(cell: Cell, device: str) -> Result:
    """The population's reward of a column of `population`; else the truth on the cell's data."""
    world, column = BusEngine(), cell.settings.get("population", "Truth")
    mdp = world.mdp
    if "population" in cell.settings:
        given = population(mdp, world.horizon, column)
    else:
        train, _ = data_sets(world, cell)
        given = on_data(mdp, train, mdp.reward, mdp.solution.policy, ["ok"] * len(train))
    return answered(world, given, coverage=column == "Truth")  # it is the same for every source
