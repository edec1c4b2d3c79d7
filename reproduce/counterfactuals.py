"""What `counterfactual` computes: the changes, the solvers, and the judgement of each answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gladius.checks import InputError
from gladius.counterfactual import Change, changed, judge, plan, relabel
from gladius.estimate import StateFunction
from gladius.mdp import TabularMDP
from gladius.metrics import mape
from gladius.offline_rl import Logged, learn
from gladius.parametric import positions
from gladius.transition_probabilities import empirical_transition_probabilities
from gladius.transitions import Counts, group
from gladius.worlds.bus import MAINTAIN, REPLACE, BusEngine
from reproduce.fits import data_sets, fit
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
OFFLINE: dict[str, dict[str, object]] = {
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
    """What the solvers are given, R replications.

    Attributes:
        rewards: (R, S, A) r-hat on the world's states.
        kept: (R, S, A) the policies of the estimates.
        statuses: R, of the fits.
        logged: R, the moves.
        transition: (R, A, S, S) P-hat on the world's states.
    """

    rewards: Array
    kept: Array
    statuses: Sequence[str]
    logged: Sequence[Logged]
    transition: Array


@dataclass(frozen=True)
class Answer:
    """One solver's answer to one change, R replications.

    Attributes:
        change, solver: which.
        policies: (R, S, A); NaN where the estimate lacks a number that the solver needs.
        before, after: (R,) V(1) by the solver without and with the change; NaN if it has none.
        statuses: R, the worst of fit and solutions.
    """

    change: Change
    solver: str
    policies: Array
    before: Array
    after: Array
    statuses: Sequence[str]


def table_of(table: Array) -> StateFunction:
    """(S, A) rewards of the world's mileages as a function of them."""
    return lambda states: np.asarray(table[states[:, 0].astype(np.int64) - 1])


def population(world: BusEngine, column: str) -> Given:
    """Expected counts, and what the estimates tend to: the truth, or BC's log pi."""
    mdp = world.mdp
    visits, policy = mdp.occupancy(world.horizon), mdp.solution.policy
    counts = Counts(mdp.features, visits[None], (visits.T[:, :, None] * mdp.transition)[None])
    reward = {"Truth": mdp.reward, "BC": np.log(policy)}[column]
    logged = [Logged.of_counts(counts)]
    return Given(reward[None], policy[None], ["ok"], logged, mdp.transition[None])


def on_data(world: BusEngine, cell: Cell) -> tuple[Given, Result | None]:
    """What the cell's estimates and data give, and their score; the truth without a method."""
    mdp = world.mdp
    train, test = data_sets(world, cell)
    logged = [Logged.of(one) for one in train]
    counts = _on_the_grid(group(train), mdp)
    p_hat = empirical_transition_probabilities(counts).transition
    if "method" not in cell.settings:
        copies = np.ones((len(train), 1, 1))
        policies = copies * mdp.solution.policy
        return Given(copies * mdp.reward, policies, ["ok"] * len(train), logged, p_hat), None
    estimates = fit(world, cell, train)
    statuses = [e.diagnostics.status for e in estimates]
    errors = [mape(e, split, world.reward) for e, split in zip(estimates, test, strict=True)]
    seconds = float(np.mean([e.diagnostics.cpu_seconds for e in estimates]))
    score = Result(summarise("MAPE", errors, statuses), {"MAPE": errors}, cpu_seconds=seconds)
    rewards = np.stack([e.reward_function(mdp.features) for e in estimates])
    kept = np.stack([e.policy(mdp.features) for e in estimates])
    return Given(rewards, kept, statuses, logged, p_hat), score


def _on_the_grid(counts: Counts, mdp: TabularMDP) -> Counts:
    """The same counts with a row for every state of the world: a planner knows what there is."""
    n, place = len(mdp.features), positions(mdp.features, counts.states)
    visits = np.zeros((len(counts.visits), n, counts.visits.shape[2]))
    visits[:, place] = counts.visits
    moves = np.zeros((*counts.moves.shape[:2], n, n))
    moves[:, :, place[:, None], place] = counts.moves
    return Counts(mdp.features, visits, moves)


def answers(mdp: TabularMDP, given: Given) -> Iterator[Answer]:
    """Every solver's answer to every change that it can answer."""
    solvers: dict[str, Callable[[Change], tuple[Array, Array, list[str]]]] = {
        solver: lambda change, options=options: _learned(mdp, given, change, options)  # type: ignore[misc]  # mypy infers no lambda with a default
        for solver, options in OFFLINE.items()
    }
    solvers[ESTIMATED] = lambda change: _planned(mdp, given, change, given.transition)
    everywhere = np.broadcast_to(mdp.transition, given.transition.shape)
    solvers[KNOWN] = lambda change: _planned(mdp, given, change, everywhere)
    start = {solver: solve(NOTHING) for solver, solve in solvers.items()}
    nothing = np.full(len(given.logged), math.nan)
    for change in CHANGES:
        yield Answer(change, KEPT, given.kept, nothing, nothing, given.statuses)
        for solver, solve in solvers.items():
            if change.transition is not None and solver in OFFLINE:
                continue  # the logged moves follow the old P
            policies, v, how = solve(change)
            all_three = zip(given.statuses, start[solver][2], how, strict=True)
            statuses = [worst(three) for three in all_three]
            yield Answer(change, solver, policies, start[solver][1], v, statuses)


def _learned(
    mdp: TabularMDP, given: Given, change: Change, options: dict[str, object]
) -> tuple[Array, Array, list[str]]:
    policies, v = np.full(given.kept.shape, math.nan), np.full(len(given.logged), math.nan)
    statuses, labels = [], {}
    for r, (logged, reward) in enumerate(zip(given.logged, given.rewards, strict=True)):
        try:
            labels[r] = relabel(logged, table_of(reward), change)
            statuses.append("ok")
        except InputError as error:
            statuses.append(f"{FAILED}{error}")
    if labels:
        data = [given.logged[r] for r in labels]
        found = learn(data, list(labels.values()), mdp.discount, **options)  # type: ignore[arg-type]  # values of OFFLINE
        for r, one in zip(labels, found, strict=True):
            policies[r] = one.policy(mdp.features)
            v[r] = one.value(mdp.features[:1])[0]
            statuses[r] = "ok" if one.converged else "not_converged"
    return policies, v, statuses


def _planned(
    mdp: TabularMDP, given: Given, change: Change, transition: Array
) -> tuple[Array, Array, list[str]]:
    tables = given.rewards
    known = np.all(np.isfinite(tables), axis=(1, 2))
    policies, v = np.full(tables.shape, math.nan), np.full(len(tables), math.nan)
    done = "ok"
    if np.any(known):
        found = plan(mdp.features, tables[known], transition[known], mdp.discount, change)
        policies[known], v[known] = found.policy, found.v[:, 0]
        done = "ok" if found.converged else "not_converged"
    return policies, v, [done if k else f"{FAILED}no reward in some state" for k in known]


def numbers(world: BusEngine, answer: Answer) -> dict[str, list[float]]:
    """Statistic -> its value in each replication, judged in the true new world.

    LOSS in units of reward; DISTANCE in per cent; RATE a period of the world's horizon; VALUE and
    GAIN, V(1) after the change and its rise by the change, less the exact ones.
    """
    new = changed(world.mdp, answer.change)
    found: dict[str, list[float]] = {LOSS: [], DISTANCE: [], RATE: []}
    for policy in answer.policies:
        one = judge(new, policy, world.horizon) if np.all(np.isfinite(policy)) else None
        found[LOSS].append(one.loss if one else math.nan)
        found[DISTANCE].append(100 * one.distance if one else math.nan)
        found[RATE].append(float(one.frequencies[REPLACE]) if one else math.nan)
    if answer.solver != KEPT:
        exact = new.solution.v[0]
        found[VALUE] = (answer.after - exact).tolist()
        found[GAIN] = (answer.after - answer.before - (exact - world.mdp.solution.v[0])).tolist()
    return found


def uncovered(world: BusEngine, change: Change, logged: Sequence[Logged]) -> list[float]:
    """Per cent of the best new policy's discounted path at pairs without a row in the data."""
    path = changed(world.mdp, change).discounted_occupancy()
    shares = []
    for one in logged:
        rows = np.zeros(path.shape, dtype=bool)
        rows[positions(world.mdp.features, one.states)] = one.visits > 0
        shares.append(100 * float(path[~rows].sum()))
    return shares


def compute(cell: Cell, device: str) -> Result:
    """Fit the cell's replications, answer every change by every solver and judge; on the CPU."""
    world = BusEngine()
    records: list[Record] = []
    replications: dict[str, list[float]] = {}
    seconds = math.nan
    if "population" in cell.settings:
        known = population(world, cell.settings["population"])
    else:
        known, score = on_data(world, cell)
        if score is not None:
            records += score.records
            replications |= {k: list(v) for k, v in score.replications.items()}
            seconds = score.cpu_seconds
    arrays: dict[str, Array] = {}
    for answer in answers(world.mdp, known):
        change, solver = answer.change.name, answer.solver
        for statistic, values in numbers(world, answer).items():
            replications[label(statistic, change, solver)] = values
            records.append(_record(statistic, change, solver, values, answer.statuses))
        arrays[label("replacement", change, solver)] = answer.policies[:, :, REPLACE].mean(axis=0)
    if "method" not in cell.settings and cell.settings.get("population") != "BC":
        # the same for every method of the row
        for one in CHANGES:
            shares = uncovered(world, one, known.logged)
            replications[label(UNCOVERED, one.name, KEPT)] = shares
            ok = ["ok"] * len(shares)
            records.append(_record(UNCOVERED, one.name, KEPT, shares, ok))
    return Result(tuple(records), replications, arrays, seconds)


def _record(
    statistic: str, change: str, solver: str, values: list[float], statuses: Sequence[str]
) -> Record:
    """The mean over all replications, none dropped; by change (row) and solver (protocol)."""
    mean = summarise(statistic, values, statuses)[0]
    return replace(mean, row=change, protocol=solver)
