"""What a recovered reward is for: taken to a changed environment and followed there anew.

A source names a reward, and its cell plays it in an environment and in the changed one:

    gladius    r-hat, r(s, anchor) = 0 (on the bus engine the replacement cost, as is given there)
    bc         log pi of the clone. V = log sum exp(log pi) = 0 solves the soft Bellman equation of
               any law with it, so that its agents do in every world what the clone does
    iq_learn   r = Q - beta E[V(s')], V(s') a mean over the rows nearest; an action without a row
               has the mean of the others
    truth      the environment's, its discount nearer to one and its temperature lower (PATIENT)
    truth as estimated    the environment's at the estimators' own beta and temperature
    distance   exp(-d), d the distance of the state to the nearest demonstrated, standardised; it
               has no scale of its own, and follows PATIENT as the truth does
    constant   0: agents who want nothing but to choose at random for as long as they may

`carried` is the policy that was learned with the reward, taken over as it is (beside the truth: the
demonstrator's); `re-optimised` follows the reward by `soft_q`, at the estimators' beta and
temperature. Whether that has ended is seen by its score after half of the rounds: `not_converged`
where it is more than SETTLED away. On the bus engine, where r-hat is identified and the changed law
known, `exact` solves the new world by `counterfactual.plan`: that is the positive control, of the
rewards and of soft_q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree

from gladius.anchor import Anchor
from gladius.baselines.bc import at_level, read_off
from gladius.checks import Array
from gladius.counterfactual import Change, changed, plan, welfare
from gladius.estimate import StateFunction
from gladius.mdp import TabularMDP
from gladius.networks import scaling
from gladius.transitions import Integers, Transitions
from gladius.worlds.bus import BusEngine
from gladius.worlds.experts import expert
from gladius.worlds.gym import (
    Environment,
    Moved,
    Policy,
    environment,
    episode_seeds,
    evaluate,
    rollout,
)
from reproduce import imitation, seeds, soft_q
from reproduce.counterfactuals import CHANGES, NOTHING
from reproduce.data import by_mileage
from reproduce.demonstrations import STREAM, demonstrations, evaluation_seeds, where_installed
from reproduce.spec import Cell, Record, Result, summarise

BUS = "bus engine"
LAW: Change = CHANGES[-1]  # a replacement is by a used engine
CHANGED: dict[str, tuple[str, dict[str, Any]]] = {
    BUS: (LAW.name, {}),
    "CartPole-v1": ("pole x 2", {"pole": 1.0}),
    "Acrobot-v1": ("second link's mass x 2", {"mass_2": 2.0}),
}
ESTIMATED = ("gladius", "iq_learn", "bc")
# discount, and what the reward is multiplied by, not on the bus engine: settled on seeds of no
# exhibit, so that the environment's own reward is a ceiling (at .98 and 4 it was none on Acrobot)
PATIENT = (0.99, 20.0)
AS_ESTIMATED = "truth as estimated"
SETTLED = 0.1  # of the score
NLL, SPREAD = "negative log-likelihood a row", "standard deviation of r over the rows"
CARRIED, ANEW, EXACT = "carried", "re-optimised", "exact"
RETURN, SHARE = "return", "% of the welfare between even draws and the best"


def playing(
    source: str,
    name: str,
    trajectories: int,
    repetitions: int,
    budgets: dict[str, int],
    rounds: int,
    episodes: int,
) -> Cell:
    """The cell of a source in an environment and in the changed one.

    Args:
        source: one of ESTIMATED, distance, truth, AS_ESTIMATED or constant.
        name: of CHANGED.
        trajectories: demonstrations of each seed; on the bus engine ten times as many.
        repetitions: seeds.
        budgets: steps of each estimator.
        rounds: of soft_q; 0: nothing is re-optimised.
        episodes: of an evaluation.
    """
    told: dict[str, Any] = {"method": source} if source in ESTIMATED else {}
    told |= {"options": {"function_class": "mlp_rows"}} if source == "gladius" else {}
    told |= {
        "source": source,
        "environment": name,
        "trajectories": trajectories * (10 if name == BUS else 1),
        "repetitions": repetitions,
        "budget": budgets.get(source, 0),
        "rounds": rounds,
        "episodes": episodes,
        "seeds": STREAM,
        "seeds_row": f"{name}/{trajectories}",
    }
    return Cell(f"{__name__}:compute", told, f"{source}, {name}")


# The bus engine as an environment -----------------------------------------------------------------


@dataclass(frozen=True)
class Bus:
    """A finite process to be played; it never ends."""

    mdp: TabularMDP
    limit: int = 100
    name: ClassVar[str] = BUS
    features: ClassVar[tuple[str, ...]] = ("mileage",)
    number_of_actions: ClassVar[int] = 2

    def begin(self, seeds: Integers) -> Buses:
        """From mileage 1, the law's draws by the seed."""
        luck = np.stack([np.random.default_rng([seed, 2]).random(self.limit) for seed in seeds])
        state = np.zeros(len(seeds), dtype=np.int64)
        return Buses(self.mdp, luck, state, self.mdp.features[state])


@dataclass
class Buses:
    """Episodes at (n,) states, with (n, H) draws."""

    mdp: TabularMDP
    luck: Array
    state: Integers
    observations: Array
    period: int = 0

    def step(self, episodes: Integers, actions: Integers) -> Moved:
        """See gym.Running."""
        now = self.state[episodes]
        ladder = np.cumsum(self.mdp.transition[actions, now], axis=1)
        passed = ladder[:, :-1] <= self.luck[episodes, self.period, None]
        self.state[episodes] = passed.sum(axis=1)
        self.period += 1
        after = self.mdp.features[self.state[episodes]]
        return Moved(after, self.mdp.reward[now, actions], np.zeros(len(now), dtype=bool))


@cache
def worlds(name: str) -> dict[str, Environment]:
    """Row of the table -> environment, unchanged and changed."""
    label, changes = CHANGED[name]
    if name == BUS:
        mdp = BusEngine().mdp
        return {name: Bus(mdp), f"{name}, {label}": Bus(changed(mdp, LAW))}
    return {name: environment(name), f"{name}, {label}": environment(name, **changes)}


def score(world: Environment, policy: Policy, episodes: int) -> float:
    """Mean return on common seeds; of the bus engine SHARE, exactly."""
    if not isinstance(world, Bus):
        starts = evaluation_seeds(world.name, episodes)
        return float(evaluate(world, policy, starts).returns.mean())
    mdp = world.mdp
    even = welfare(mdp, np.full(mdp.reward.shape, 1 / mdp.reward.shape[1]))
    best = float(mdp.initial @ mdp.solution.v)
    return 100 * (welfare(mdp, policy(mdp.features)) - even) / (best - even)


# Rewards ------------------------------------------------------------------------------------------

Reward = StateFunction | float  # a number: so many times the environment's
Source = tuple[Policy | None, Reward]  # what was learned with it, if anything was


def sources(
    source: str,
    old: Environment,
    data: Sequence[Transitions],
    budget: int,
    rngs: Sequence[np.random.Generator],
) -> tuple[list[Source], list[str]]:
    """What each data set gives, and how the fits ended."""
    on_bus, statuses = isinstance(old, Bus), ["ok"] * len(data)
    if source == AS_ESTIMATED:
        return [(None, 1.0)] * len(data), statuses
    if source == "truth":
        if isinstance(old, Bus):
            teacher: Policy = by_mileage(old.mdp.solution.policy)
        else:
            teacher = expert(old.name, deterministic=True, normalised=False)
        return [(teacher, 1.0 if on_bus else PATIENT[1])] * len(data), statuses
    if source == "constant":
        return [(None, partial(constant, old.number_of_actions))] * len(data), statuses
    if source == "distance":
        multiple = 1.0 if on_bus else PATIENT[1]
        made = (Nearness.of(part, old.number_of_actions, multiple) for part in data)
        return [(None, near) for near in made], statuses
    if source == "gladius":
        bus = BusEngine()
        given = Anchor(bus.anchor_action, bus.anchor_reward) if on_bus else imitation.ANCHOR
        pairs = zip(data, rngs, strict=True)
        fits = [imitation.row_network(part, (budget,), rng, given) for part, rng in pairs]
        statuses = ["ok" if settled else "not_converged" for _, settled in fits]
        return [(e.policy, e.reward_function) for (e,), _ in fits], statuses
    alpha = imitation.ALPHA if source == "iq_learn" else None
    policies = [policy for (policy,) in imitation.clone(data, (budget,), rngs, alpha)]
    if alpha is None:
        return [(p, partial(at_level, p.q, "zero_value")) for p in policies], statuses
    return [(p, implied(p.q, part)) for p, part in zip(policies, data, strict=True)], statuses


def constant(actions: int, states: Array) -> Array:
    """(n, A) zeros."""
    return np.zeros((len(states), actions))


@dataclass(frozen=True)
class Nearness:
    """(n, d) states -> (n, A) a multiple of exp(-d), d the distance to the nearest demonstrated."""

    demonstrated: cKDTree
    centre: Array
    scale: Array
    actions: int
    multiple: float = 1.0

    @classmethod
    def of(cls, data: Transitions, actions: int, multiple: float = 1.0) -> Nearness:
        """Of states standardised by the demonstrations."""
        centre, scale = scaling(data.states, True)
        return cls(cKDTree((data.states - centre) / scale), centre, scale, actions, multiple)

    def __call__(self, states: Array) -> Array:
        far, _ = self.demonstrated.query((states - self.centre) / self.scale)
        return np.repeat(self.multiple * np.exp(-far)[:, None], self.actions, axis=1)


def implied(q: StateFunction, data: Transitions) -> StateFunction:
    """r = Q - beta E[V(s')] of IQ-learn, with a number for every action."""
    _, reward = read_off(q, data, imitation.DISCOUNT, "network")

    def known(states: Array) -> Array:
        table = reward(states)
        return np.where(np.isnan(table), np.nanmean(table, axis=1, keepdims=True), table)

    return known


# Playing them -------------------------------------------------------------------------------------


def anew(
    world: Environment,
    rewards: Sequence[Reward],
    data: Sequence[Transitions],
    rounds: int,
    discount: float,
    rngs: Sequence[np.random.Generator],
) -> tuple[list[soft_q.Softmax], list[soft_q.Softmax]]:
    """The policies that follow the rewards there by soft_q, after half of the rounds and all."""
    even = soft_q.Softmax(partial(constant, world.number_of_actions))
    scalings = []
    for part, rng in zip(data, rngs, strict=True):
        other = rollout(world, even, episode_seeds(rng, soft_q.EPISODES)).data
        scalings.append(scaling(np.concatenate([part.states, other.states]), True))
    return soft_q.learn(world, rewards, scalings, discount, rounds, rngs)


def exact(mdp: TabularMDP, reward: Reward) -> Policy:
    """The policy that follows a reward in a finite process."""
    table = mdp.reward if isinstance(reward, float) else reward(mdp.features)
    solved = plan(mdp.features, table, mdp.transition, mdp.discount, NOTHING)
    return by_mileage(solved.policy)


def fit_of(source: Source, data: Transitions) -> tuple[float, float]:
    """(NLL, SPREAD) of a policy and its reward on the rows that they were learned from.

    Where the choices have no chance left the likelihood fixes no scale of r, and that of r-hat is
    where the training ended: which, at temperature 1, decides what its agents do.
    """
    policy, reward = source
    if policy is None or isinstance(reward, float):
        return np.nan, np.nan
    rows = np.arange(len(data))
    chosen = policy(data.states)[rows, data.actions]
    return float(-np.log(chosen).mean()), float(reward(data.states)[rows, data.actions].std())


@where_installed
def compute(cell: Cell, device: str) -> Result:
    """Score what a source gives, in both environments, in each way to use it.

    Records: a mean for each row and way (protocol). Replications: each seed's, with those after
    half of the rounds (`<row>, half`), NLL and SPREAD.
    """
    told = cell.settings
    source, name, size = told["source"], told["environment"], told["trajectories"]
    places = worlds(name)
    old, rngs = places[name], seeds.generators(cell, "demonstrations")
    if isinstance(old, Bus):
        data = BusEngine().simulate(size, rngs)
    else:
        data = [demonstrations(old, size, rng) for rng in rngs]
    fitting = seeds.generators(cell, f"{source}, fit")
    given, statuses = sources(source, old, data, told["budget"], fitting)
    carried, rewards = zip(*given, strict=True)
    records: list[Record] = []
    replications: dict[str, list[float]] = {}
    if source in ESTIMATED:
        fits = [fit_of(*pair) for pair in zip(given, data, strict=True)]
        replications |= dict(zip((NLL, SPREAD), map(list, zip(*fits, strict=True)), strict=True))
    is_patient = source in ("truth", "distance") and not isinstance(old, Bus)
    discount = PATIENT[0] if is_patient else imitation.DISCOUNT
    for place, world in places.items():
        answers: dict[str, Sequence[Policy]] = {}
        ended = {ANEW: statuses}
        if carried[0] is not None:
            answers[CARRIED] = carried
        if told["rounds"]:
            playing_rngs = seeds.generators(cell, f"{source}, {place}")
            half, answers[ANEW] = anew(world, rewards, data, told["rounds"], discount, playing_rngs)
            before = [score(world, policy, told["episodes"]) for policy in half]
            replications[f"{place}, half"] = before
        if isinstance(world, Bus):
            answers[EXACT] = [exact(world.mdp, reward) for reward in rewards]
        for how, policies in answers.items():
            values = [score(world, policy, told["episodes"]) for policy in policies]
            replications[f"{place}, {how}"] = values
            if how == ANEW:
                moved = np.abs(np.subtract(values, before)) > SETTLED * np.abs(values)
                ended[ANEW] = [
                    "not_converged" if far else status
                    for far, status in zip(moved, statuses, strict=True)
                ]
            shown = SHARE if name == BUS else RETURN
            mean = summarise(shown, values, ended.get(how, statuses))[0]
            kind = "leak_free" if source in ESTIMATED else "measured"
            records.append(replace(mean, row=place, protocol=f"{kind} {how}"))
    return Result(tuple(records), replications)
