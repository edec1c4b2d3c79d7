"""Imitation on gymnasium's environments: demonstrations, three learners, and their returns.

What a learner sees is `Transitions`, the demonstrations' (s, a, s', done), and beta. Rewards of the
environment score it and nothing else; GLADIUS's anchor, action 0, is given the reward 0.

All methods share the demonstrations of a training seed (see `demonstrations`). Choices without
chance are no logit's: the risk of each method falls without bound, so that how sharp a sampled
policy is depends on when the training stops.

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
from functools import partial

import numpy as np
import torch

from gladius import networks as nets
from gladius import row_networks
from gladius.anchor import Anchor
from gladius.baselines import iq_learn
from gladius.checks import Array
from gladius.estimate import Estimate
from gladius.network_risk import NetworkRisk
from gladius.networks import Parameters, Tensor
from gladius.transitions import Transitions
from gladius.worlds.experts import expert
from gladius.worlds.gym import Policy, environment, evaluate, rollout
from reproduce import seeds
from reproduce.demonstrations import (
    GREEDY,
    SAMPLED,
    STREAM,
    demonstrations,
    evaluation_seeds,
    references,
    score,
    scored,
    where_installed,
)
from reproduce.soft_q import Softmax
from reproduce.spec import Cell, Record, Result

# the author's earlier; with the later 1 nothing bounds V where no demonstration ends
DISCOUNT = 0.95
ALPHA = 0.5  # the weight of IQ-learn's penalty, the original's
HIDDEN, RATE, BATCH = (64, 64), 1e-3, 256
ANCHOR = Anchor(0, 0.0)
POLICIES = {SAMPLED: False, GREEDY: True}


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


@where_installed
def compute(cell: Cell, device: str) -> Result:
    """Demonstrate, learn and evaluate for each training seed.

    Records and replications: those of `scored`, of the sampled and the greedy policy at the last
    budget. Arrays: `episodes` (seeds, episodes) returns of the sampled policy; `curve sampled` and
    `curve greedy` (seeds, budgets) mean scores on the first episodes; `references`. Settings: those
    of `fitting`.
    """
    told = cell.settings
    world, episodes = environment(told["environment"]), told["episodes"]
    data = [
        demonstrations(world, told["trajectories"], rng)
        for rng in seeds.generators(cell, "demonstrations")
    ]
    rngs = seeds.generators(cell, f"training {told['repeat']}")
    began = time.process_time()
    restricted = told["options"].get("restricted", True)
    policies, statuses = learn(told["method"], data, told["budgets"], rngs, restricted)
    seconds = (time.process_time() - began) / len(data)
    starts = evaluation_seeds(world.name, episodes)
    few, short = told["curve"]
    records: list[Record] = []
    replications: dict[str, list[float]] = {}
    arrays: dict[str, Array] = {"references": np.array(references(world.name, episodes))}
    for name, greedy in POLICIES.items():
        if greedy and told["repeat"]:
            continue
        returns = np.stack(
            [evaluate(world, every[-1], starts, greedy).returns for every in policies]
        )
        told_of = scored(world.name, returns.mean(axis=1), episodes, name, statuses)
        records, replications = records + told_of[0], replications | told_of[1]
        if name == SAMPLED:
            arrays["episodes"] = returns
        lines = []
        for every, last in zip(policies[:few], returns, strict=False):
            earlier = [evaluate(world, p, starts[:short], greedy).returns for p in every[:-1]]
            lines.append([r.mean() for r in (*earlier, last[:short])])
        curve = np.array(lines).reshape(-1, len(told["budgets"]))
        arrays[f"curve {name}"] = score(world.name, curve, episodes)
    return Result(tuple(records), replications, arrays, cpu_seconds=seconds)


@where_installed
def film(cell: Cell, device: str) -> Result:
    """One episode of the policy learned from the first seed's demonstrations, or of the expert's.

    Records: its return and steps. Arrays: `states` (steps + 1, d). Settings: environment, method
    (none: the expert), trajectories, budget, seeds.
    """
    told = cell.settings
    world = environment(told["environment"])
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
