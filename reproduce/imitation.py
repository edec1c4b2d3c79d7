"""Imitation on gymnasium's environments: demonstrations, three learners, and their returns.

What a learner sees is `Transitions`, the demonstrations' (s, a, s', done), and beta. Rewards of the
environment score it and nothing else; GLADIUS's anchor, action 0, is given the reward 0.

Demonstrations are whole episodes of the deterministic expert, as in the first author's code (on
Acrobot without the normaliser, as there). They are drawn anew for each training seed, and all the
methods share them. Choices without chance are no logit's: the risk of each method falls without
bound, so that how sharp a sampled policy is depends on when the training stops.

    bc        V - Q
    iq_learn  V - Q + (Q - beta V')^2 / (4 alpha), the chi-square objective of `iq_learn`, its
              temperature 1: BC and a penalty, bounded below on the expert's rows alone
    gladius   `row_networks`: reward = line + network, zeta solved for, from the minimum over lines
    bc, not restricted    the same with the network for the log-odds: BC, as GLADIUS is trained

Networks are 2 x 64, inputs standardised. BC and IQ-learn start from the same weights and draw the
same rows, all the seeds of a cell as one batch, so that the penalty is all that tells them apart.
So do GLADIUS and the BC of its class, from a line each, where few demonstrations leave nothing to
learn: a class of networks that starts at random is behind it there however it goes on.
The last iterate is evaluated, at three budgets that no return has chosen.

Three variances are told apart where a second training has the same demonstrations (`repeat`): of
the demonstrations, of the training and of the evaluation's episodes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import torch

from gladius import networks as nets
from gladius import row_networks
from gladius.anchor import Anchor
from gladius.baselines import iq_learn
from gladius.checks import Array, InputError
from gladius.estimate import Estimate
from gladius.network_risk import NetworkRisk
from gladius.networks import Parameters, Tensor
from gladius.transitions import Integers, Transitions
from gladius.worlds.experts import PUBLISHED_AS, expert
from gladius.worlds.gym import Environment, Policy, environment, episode_seeds, evaluate, rollout
from reproduce import seeds
from reproduce.soft_q import Softmax
from reproduce.spec import NOT_RUN, Cell, Record, Result, summarise

STREAM = "imitation"
# the author's earlier; with the later 1 nothing bounds V where no demonstration ends
DISCOUNT = 0.95
ALPHA = 0.5  # the weight of IQ-learn's penalty, the original's
HIDDEN, RATE, BATCH = (64, 64), 1e-3, 256
ANCHOR = Anchor(0, 0.0)
SAMPLED, GREEDY = "sampled", "greedy"
POLICIES = {SAMPLED: False, GREEDY: True}
# returns by which the paper divides (Section 7); on Acrobot less than 100 is better
DENOMINATORS = {"CartPole-v1": 500.0, "Acrobot-v1": -82.80, "LunarLander-v3": 232.77}


def fitting(
    method: str,
    name: str,
    trajectories: int,
    repetitions: int,
    budgets: Sequence[int],
    episodes: int,
    curve: tuple[int, int],
    repeat: int = 0,
    restricted: bool = True,
) -> Cell:
    """The cell of a method on so many demonstrations of an environment.

    Args:
        method: bc, iq_learn or gladius.
        name: the environment's.
        trajectories: demonstrations of each training seed.
        repetitions: training seeds.
        budgets: steps, ascending; the last one's policy is scored on all episodes. Gladius after 0
            steps is the line.
        episodes: of an evaluation.
        curve: training seeds and episodes on which the other budgets' policies are scored.
        repeat: 1 for a second training on the same demonstrations, scored sampled only.
        restricted: of gladius, whether the network is r; otherwise it is BC.
    """
    options: dict[str, object] = {"function_class": "mlp_rows"} if method == "gladius" else {}
    options |= {} if restricted else {"restricted": False}
    told = {
        "method": method,
        "options": options,
        "environment": name,
        "trajectories": trajectories,
        "repetitions": repetitions,
        "budgets": list(budgets),
        "episodes": episodes,
        "curve": list(curve),
        "repeat": repeat,
        "seeds": STREAM,
        "seeds_row": f"{name}/{trajectories}",
    }
    words = [method, name, str(trajectories)]
    words += ["not restricted"] * (not restricted) + ["again"] * repeat
    return Cell(f"{__name__}:compute", told, ", ".join(words))


def demonstrations(world: Environment, trajectories: int, rng: np.random.Generator) -> Transitions:
    """Whole episodes of the deterministic expert, without their rewards."""
    teacher = expert(world.name, deterministic=True, normalised=False)
    return rollout(world, teacher, episode_seeds(rng, trajectories)).data


def evaluation_seeds(name: str, episodes: int) -> Integers:
    """(episodes,) the same for whatever is evaluated in an environment."""
    return episode_seeds(
        np.random.default_rng(seeds.sequence(STREAM, name, 0, "evaluation")), episodes
    )


@cache
def references(name: str, episodes: int) -> tuple[float, float]:
    """Mean returns of the expert that demonstrates, and of actions drawn evenly."""
    world, starts = environment(name), evaluation_seeds(name, episodes)
    teacher = expert(name, deterministic=True, normalised=False)

    def even(states: Array) -> Array:
        return np.full((len(states), world.number_of_actions), 1 / world.number_of_actions)

    first, last = (evaluate(world, p, starts).returns.mean() for p in (teacher, even))
    return float(first), float(last)


def learn(
    method: str,
    data: Sequence[Transitions],
    budgets: Sequence[int],
    rngs: Sequence[np.random.Generator],
    restricted: bool = True,
) -> tuple[list[list[Policy]], list[str]]:
    """The policies of every data set at every budget, [data set][budget], and how each fit ended.

    All end by their budget, which is the protocol: `ok` says no more than that, and
    `not_converged` that GLADIUS could not solve for zeta.
    """
    if method != "gladius":
        alpha = ALPHA if method == "iq_learn" else None
        cloned = clone(data, budgets, rngs, alpha)
        return [[*every] for every in cloned], ["ok"] * len(data)
    fits = [
        row_network(part, budgets, rng, restricted=restricted)
        for part, rng in zip(data, rngs, strict=True)
    ]
    statuses = ["ok" if settled else "not_converged" for _, settled in fits]
    return [[estimate.policy for estimate in every] for every, _ in fits], statuses


def losses(theta: Parameters, rows: iq_learn.Rows, alpha: float | None) -> Tensor:
    """(R,) IQ-learn's; without alpha, behavioural cloning's."""
    if alpha is not None:
        return iq_learn.losses(theta, rows, DISCOUNT, alpha)
    table = torch.log_softmax(nets.outputs(theta, rows.now, iq_learn.ACTIVATION), dim=2)
    chosen = torch.take_along_dim(table, rows.action[..., None], dim=2)[..., 0]
    return -(rows.share * chosen).sum(dim=1)


def clone(
    data: Sequence[Transitions],
    budgets: Sequence[int],
    rngs: Sequence[np.random.Generator],
    alpha: float | None,
) -> list[list[Softmax]]:
    """BC (`alpha` None) or IQ-learn: Adam at a constant rate, all data sets as one batch."""
    scalings = [nets.scaling(part.states, True) for part in data]
    rows = iq_learn.stack(
        [
            replace(part, states=(part.states - c) / s, next_states=(part.next_states - c) / s)
            for part, (c, s) in zip(data, scalings, strict=True)
        ]
    )
    theta = nets.start(rngs, (rows.now.shape[2], *HIDDEN, data[0].number_of_actions))
    moments, rate = nets.no_moments(theta), torch.full((len(data), 1, 1), RATE).double()
    policies: list[list[Softmax]] = [[] for _ in data]
    for step in range(1, budgets[-1] + 1):
        loss = partial(losses, rows=iq_learn.draw(rows, rngs, BATCH), alpha=alpha)
        nets.adam(theta, moments, nets.gradient(theta, loss), rate, step)
        if step in budgets:
            trained = nets.networks(theta, iq_learn.ACTIVATION, scalings)
            for kept, network in zip(policies, trained, strict=True):
                kept.append(Softmax(network))
    return policies


def row_network(
    data: Transitions,
    budgets: Sequence[int],
    rng: np.random.Generator,
    anchor: Anchor = ANCHOR,
    restricted: bool = True,
) -> tuple[list[Estimate], bool]:
    """GLADIUS at each budget, and whether zeta was solved for.

    From budget to budget Adam goes on anew, from its averaged weights.
    """
    seed = int(rng.integers(2**31))
    options = row_networks.Options(HIDDEN, restricted, learning_rate=RATE, seed=seed)
    fit = row_networks.begin(NetworkRisk.of(data, anchor, DISCOUNT, restricted, "cpu"), options)
    estimates: list[Estimate] = []
    for budget in budgets:
        row_networks.train(fit, budget - fit.steps, options)
        unheld = row_networks.Course([0.0], ended=False)
        estimates.append(row_networks.estimate(fit, anchor, unheld, 0.0))
    return estimates, fit.settled


def compute(cell: Cell, device: str) -> Result:
    """Demonstrate, learn and evaluate for each training seed.

    Records: `score`, 100 (R - random) / (expert - random) of the sampled and the greedy policy at
    the last budget, and the paper's `% optimality`, 100 R / (the expert's return as printed).
    Replications: score and return of each seed. Arrays: `episodes` (seeds, episodes) returns of the
    sampled policy; `curve sampled` and `curve greedy` (seeds, budgets) mean returns on the first
    episodes. Settings: those of `fitting`.
    """
    told = cell.settings
    try:
        world = environment(told["environment"])
    except InputError as missing:  # no failure, for all else that was asked can be run
        return Result((Record(f"not run: {missing.hint}", np.nan, status=NOT_RUN, repetitions=0),))
    data = [
        demonstrations(world, told["trajectories"], rng)
        for rng in seeds.generators(cell, "demonstrations")
    ]
    rngs = seeds.generators(cell, f"training {told['repeat']}")
    began = time.process_time()
    restricted = told["options"].get("restricted", True)
    policies, statuses = learn(told["method"], data, told["budgets"], rngs, restricted)
    seconds = (time.process_time() - began) / len(data)
    starts = evaluation_seeds(world.name, told["episodes"])
    best, worst = references(world.name, told["episodes"])
    few, short = told["curve"]
    records: list[Record] = []
    replications: dict[str, list[float]] = {}
    arrays: dict[str, Array] = {}
    for name, greedy in POLICIES.items():
        if greedy and told["repeat"]:
            continue
        returns = np.stack(
            [evaluate(world, every[-1], starts, greedy).returns for every in policies]
        )
        means = returns.mean(axis=1)
        replications[f"return {name}"] = means.tolist()
        scores = 100 * (means - worst) / (best - worst)
        replications[f"score {name}"] = scores.tolist()
        records += summarise(f"score, {name}", scores.tolist(), statuses)[:1]
        if name == SAMPLED:
            arrays["episodes"] = returns
            share = 100 * means / DENOMINATORS[world.name]
            records += summarise("% optimality", share.tolist(), statuses)[:1]
        lines = []
        for every, last in zip(policies[:few], returns, strict=False):
            earlier = [evaluate(world, p, starts[:short], greedy).returns for p in every[:-1]]
            lines.append([r.mean() for r in (*earlier, last[:short])])
        arrays[f"curve {name}"] = (
            100 * (np.array(lines).reshape(-1, len(told["budgets"])) - worst) / (best - worst)
        )
    arrays["references"] = np.array([best, worst])
    return Result(tuple(records), replications, arrays, cpu_seconds=seconds)


def film(cell: Cell, device: str) -> Result:
    """One episode of the policy learned from the first seed's demonstrations, or of the expert's.

    Records: its return and steps. Arrays: `states` (steps + 1, d). Settings: environment, method
    (none: the expert), trajectories, budget, seeds.
    """
    told = cell.settings
    try:
        world = environment(told["environment"])
    except InputError as missing:  # no failure, for all else that was asked can be run
        return Result((Record(f"not run: {missing.hint}", np.nan, status=NOT_RUN, repetitions=0),))
    policy: Policy = expert(world.name, deterministic=True, normalised=False)
    if "method" in told:
        (rng,) = seeds.generators(cell, "demonstrations")
        data = [demonstrations(world, told["trajectories"], rng)]
        training = seeds.generators(cell, "training 0")
        ((policy,),), _ = learn(told["method"], data, [told["budget"]], training)
    data_of, _, scores = rollout(world, policy, evaluation_seeds(world.name, 1))
    states = np.concatenate([data_of.states, data_of.next_states[-1:]])
    records = Record("return", float(scores.returns[0])), Record("steps", float(scores.lengths[0]))
    return Result(records, arrays={"states": states})


def row(name: str, trajectories: int) -> str:
    """A row's label in the paper's Table 4."""
    return f"{PUBLISHED_AS.get(name, name)}/{trajectories}"
