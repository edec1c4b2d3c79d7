"""Counterfactuals on the bus engine: a change of the reward and one of P, solved and evaluated.

An estimate answers a change by three solvers: KEPT, its own policy, unchanged; IN_DATA, soft
Q-learning on the observed transitions with r-hat + Delta, which needs no P; and PLANNED, the soft
Bellman equation with r-hat and P-hat (frequencies), each changed as the world is. Each policy is
evaluated in the true new world.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gladius.counterfactual import Change, changed, learn, plan, relabel, welfare_loss
from gladius.mdp import TabularMDP
from gladius.transition_probabilities import empirical_transition_probabilities
from gladius.transitions import Transitions, group
from gladius.worlds.bus import MAINTAIN, REPLACE, BusEngine
from reproduce.data import by_mileage, data_sets, on_grid
from reproduce.spec import Array, Cell, Record, Result, summarise, worst

USED_MILEAGE = 3  # of the engines that replace in the new world
KEPT, IN_DATA, PLANNED = "kept", "soft Q in data", "plan with P-hat"
SOLVERS = (KEPT, IN_DATA, PLANNED)
LOSS = "welfare loss"


def halved(states: Array, table: Array) -> Array:
    """Half of the maintenance is paid: Delta = -r(s, maintain) / 2, of a size taken from r-hat."""
    return np.asarray(table * np.where(np.arange(2) == MAINTAIN, 0.5, 1.0))


def used(transition: Array) -> Array:
    """After a replacement the mileage is higher by USED_MILEAGE - 1, capped."""
    n = transition.shape[-1]
    shift = np.eye(n)[np.minimum(np.arange(n) + USED_MILEAGE - 1, n - 1)]
    new = transition.copy()
    new[..., REPLACE, :, :] = transition[..., REPLACE, :, :] @ shift
    return new


CHANGES = (
    Change("maintenance halved", reward=halved),
    Change(f"replaced by used, mileage {USED_MILEAGE}", transition=used),
)


def label(statistic: str, change: str, solver: str) -> str:
    """The name under which a cell stores the replications of a number."""
    return f"{statistic}, {change}, {solver}"


def solve(
    mdp: TabularMDP,
    data: Sequence[Transitions],
    rewards: Array,
    policies: Array,
    change: Change,
    solver: str,
) -> tuple[Array, list[str]]:
    """(R, S, A) policies of a solver after the change, and how each solution ended.

    Of `mdp` only states and discount are used. `rewards` and `policies` are (R, S, A), those of the
    estimates on R data sets. IN_DATA cannot answer a change of P.
    """
    if solver == KEPT:
        return policies, ["ok"] * len(data)
    if solver == PLANNED:
        # with counts of every state of the world: a planner knows the states
        p_hat = empirical_transition_probabilities(on_grid(mdp, data)).transition
        solution = plan(mdp.features, rewards, p_hat, mdp.discount, change)
        return solution.policy, ["ok" if solution.converged else "not_converged"] * len(data)
    logged = [group(transitions) for transitions in data]
    pairs = zip(logged, rewards, strict=True)
    labels = [relabel(counts, by_mileage(reward), change) for counts, reward in pairs]
    learned = learn(logged, labels, mdp.discount)
    statuses = ["ok" if solution.converged else "not_converged" for solution in learned]
    return np.stack([solution.policy(mdp.features) for solution in learned]), statuses


def evaluate(
    world: BusEngine,
    data: Sequence[Transitions],
    rewards: Array,
    policies: Array,
    statuses: Sequence[str],
) -> Result:
    """Every answer to every change, evaluated in the new world.

    Records: LOSS by change (row) and solver (protocol), a mean over all replications. Arrays: mean
    probability of a replacement by mileage. `rewards` and `policies` are (R, S, A), those of the
    estimates on R data sets; `statuses` are those of the fits.
    """
    records: list[Record] = []
    replications: dict[str, list[float]] = {}
    arrays: dict[str, Array] = {}
    for change in CHANGES:
        new = changed(world.mdp, change)
        for solver in SOLVERS:
            if solver == IN_DATA and change.transition is not None:
                continue  # the data follow the old P
            answers, ends = solve(world.mdp, data, rewards, policies, change, solver)
            losses = [welfare_loss(new, policy) for policy in answers]
            replications[label(LOSS, change.name, solver)] = losses
            worse = [worst(pair) for pair in zip(statuses, ends, strict=True)]
            mean = summarise(LOSS, losses, worse)[0]
            records.append(replace(mean, row=change.name, protocol=solver))
            replacement = answers[..., REPLACE].mean(axis=0)
            arrays[label("replacement", change.name, solver)] = replacement
    return Result(tuple(records), replications, arrays)


def compute(cell: Cell) -> Result:
    """The true reward and policy, answered on the cell's data sets; see counterfactual_fits."""
    world = BusEngine()
    train, _ = data_sets(world, cell)
    tables = world.mdp.reward, world.mdp.solution.policy
    rewards, policies = (np.tile(table, (len(train), 1, 1)) for table in tables)
    return evaluate(world, train, rewards, policies, ["ok"] * len(train))
