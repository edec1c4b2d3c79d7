"""Imitation on gymnasium's environments: demonstrations, three learners, and their returns.

A learner sees the demonstrations' (s, a, s', done) as `Transitions`, and beta. The environment's
rewards score it and are used for nothing else. Profiled ERM's anchor, action 0, gets the reward 0.
All methods share the demonstrations of a training seed (see `demonstrations`).

    bc        V - Q
    iq_learn  V - Q + (Q - beta V')^2 / (4 alpha), the chi-square objective of `iq_learn`, its
              temperature 1: BC and a penalty, bounded below on the expert's observations alone
    profiled_erm    `rows.network`: reward = linear + network, zeta solved for
    the same, not restricted: the network is for the log-odds, and so it is BC

The demonstrated choices have no randomness, so the risk of each method has no minimum: how sharp a
sampled policy is depends on when the training stops. The last iterate is evaluated, after a number
of steps that no return has selected. BC and IQ-learn start from the same weights and draw the same
batches, so they differ in the penalty alone. Profiled ERM and the BC of its class start from the
minimum over linear functions.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.special import softmax

from gladius.baselines import iq_learn
from gladius.designs.gym import Policy, environment, evaluate
from gladius.model.estimate import StateFunction
from gladius.own_data.erm.observations import network as row_networks
from gladius.own_data.erm.observations.network_risk import NetworkRisk
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.solvers import networks as nets
from gladius.solvers.networks import Parameters
from gladius.validate import Array
from reproduce.cells.demonstrations import (
    STREAM,
    demonstrations,
    evaluation_seeds,
    references,
    scored,
    where_installed,
)
from reproduce.engine import seeds
from reproduce.engine.nouns import Cell, Result

# the author's earlier; with the later 1 nothing bounds V where no demonstration ends
DISCOUNT = 0.95
ALPHA = 0.5  # the weight of IQ-learn's penalty, the original's
HIDDEN, RATE, BATCH = (64, 64), 1e-3, 256
ANCHOR = Anchor(0, 0.0)


@dataclass(frozen=True)
class Softmax:
    """(n, A) choice probabilities of (n, d) states: softmax of Q."""

    q: StateFunction

    def __call__(self, states: Array) -> Array:
        return np.asarray(softmax(self.q(states), axis=1))


def imitation_cell(
    method: str,
    name: str,
    trajectories: int,
    repetitions: int,
    steps: int,
    episodes: int,
    restricted: bool = True,
) -> Cell:
    """The cell of a method (bc, iq_learn or profiled_erm) on the demonstrations of an environment.

    Args:
        steps: of training. Profiled ERM after 0 steps is the linear function.
        episodes: on which every policy is scored.
        restricted: of profiled_erm, whether the network is r; otherwise it is BC.
    """
    options: dict[str, object] = {"function_class": "mlp"} if method == "profiled_erm" else {}
    options |= {} if restricted else {"restricted": False}
    settings = {
        "method": method,
        "options": options,
        "environment": name,
        "trajectories": trajectories,
        "repetitions": repetitions,
        "steps": steps,
        "episodes": episodes,
        "seeds": STREAM,
        "seeds_row": f"{name}/{trajectories}",
    }
    label = ", ".join([method, name, str(trajectories)] + ["not restricted"] * (not restricted))
    return Cell("imitation", settings, label)


def learn(
    method: str,
    data: Sequence[Transitions],
    steps: int,
    rngs: Sequence[np.random.Generator],
    restricted: bool = True,
) -> tuple[Sequence[Policy], list[str]]:
    """The policy of every data set, and statuses.

    Every fit ends with its steps: `ok` says no more than that, and `not_converged` that
    profiled ERM could not solve for zeta.
    """
    if method != "profiled_erm":
        alpha = ALPHA if method == "iq_learn" else None
        return clone(data, steps, rngs, alpha), ["ok"] * len(data)
    fits = [
        row_network(transitions, steps, rng, restricted)
        for transitions, rng in zip(data, rngs, strict=True)
    ]
    statuses = ["ok" if converged else "not_converged" for _, converged in fits]
    return [policy for policy, _ in fits], statuses


def gradient(
    theta: Parameters, rows: iq_learn.TransitionSample, alpha: float | None, out: Parameters
) -> None:
    """Derivative of IQ-learn's loss into `out`; without alpha, of behavioural cloning's.

    Written out, for autograd takes a third longer. The loss is that of `iq_learn.losses`.
    """
    size, share = rows.states.shape[1], rows.share.to(theta[0])[:, None]
    x = rows.states if alpha is None else torch.cat([rows.states, rows.next_states], dim=1)
    hidden = [x]
    for i in range(0, len(theta) - 2, 2):
        layer = torch.baddbmm(theta[i + 1], hidden[-1], theta[i])
        below = layer.clamp_max(0.0).exp_().sub_(1.0)
        hidden.append(torch.maximum(layer, below, out=layer))  # elu
    # (R, A, n): sums over the last axis take ten times as long where it is short
    q = torch.baddbmm(theta[-1], hidden[-1], theta[-2]).mT.contiguous()
    v = torch.logsumexp(q, dim=1, keepdim=True)
    down = torch.exp(q - v)
    hot = (rows.actions[:, None] == torch.arange(q.shape[1])[:, None]).to(q)
    current, following = down[..., :size], down[..., size:]
    current -= hot
    if alpha is not None:
        fall = DISCOUNT * rows.continuing[:, None]
        of_chosen = (q[..., :size] * hot).sum(dim=1, keepdim=True)
        reward = (of_chosen - fall * v[..., size:]) / (2 * alpha)
        current += reward * hot
        following *= -share * reward * fall
    current *= share
    down = down.mT.contiguous()
    for i in reversed(range(len(hidden))):
        torch.bmm(hidden[i].mT, down, out=out[2 * i])
        torch.sum(down, dim=1, keepdim=True, out=out[2 * i + 1])
        if i:  # the derivative of elu is 1, or elu + 1 below 0
            down = torch.bmm(down, theta[2 * i].mT).mul_(hidden[i].clamp_max(0.0).add_(1.0))


def clone(
    data: Sequence[Transitions],
    steps: int,
    rngs: Sequence[np.random.Generator],
    alpha: float | None,
) -> list[Softmax]:
    """BC (`alpha` None) or IQ-learn: Adam at a constant rate, all data sets as one batch."""
    scalings = [nets.scaling(transitions.states) for transitions in data]
    rows = iq_learn.stack(
        [
            replace(t, states=(t.states - c) / s, next_states=(t.next_states - c) / s)
            for t, (c, s) in zip(data, scalings, strict=True)
        ]
    )
    inputs = {name: getattr(rows, name).float() for name in ("states", "next_states", "continuing")}
    rows = replace(rows, **inputs)  # shares stay in float64, and with them what is drawn
    widths = (rows.states.shape[2], *HIDDEN, data[0].number_of_actions)
    start = [layer.float() for layer in nets.start(rngs, widths)]
    value = torch.cat([layer.flatten(1) for layer in start], dim=1)[:, None]
    slope, moments, rate = torch.empty_like(value), nets.no_moments([value]), torch.tensor(RATE)
    theta, slopes = (nets.views(flat, start) for flat in (value, slope))
    for step in range(1, steps + 1):
        gradient(theta, rows.draw(rngs, BATCH), alpha, slopes)
        nets.adam([value], moments, [slope], rate, step)
    exact = [layer.double() for layer in theta]
    return [Softmax(network) for network in nets.networks(exact, iq_learn.ACTIVATION, scalings)]


def row_network(
    data: Transitions,
    steps: int,
    rng: np.random.Generator,
    restricted: bool,
) -> tuple[Policy, bool]:
    """The policy of the averaged weights, and whether zeta was solved for. BC needs no zeta."""
    seed = int(rng.integers(2**31))
    options = row_networks.Options(HIDDEN, restricted, learning_rate=RATE, seed=seed)
    risk = NetworkRisk.of(data, ANCHOR, DISCOUNT, restricted)
    fit = row_networks.fit_line(risk, options)
    row_networks.train(fit, steps, options)
    if restricted:
        fit.evaluate()  # zeta at the averaged weights
    reward = row_networks.reward_of(fit, ANCHOR)
    return Softmax(replace(reward, is_q=True) if restricted else reward.outputs), fit.is_solved


@where_installed
def compute(cell: Cell) -> Result:
    """Demonstrate, learn and evaluate for each training seed.

    Records and replications: those of `scored`. Arrays: `episodes` (seeds, episodes) returns;
    `references`. Settings: those of `imitation_cell`.
    """
    settings = cell.settings
    world, episodes = environment(settings["environment"]), settings["episodes"]
    data = [
        demonstrations(world, settings["trajectories"], rng)
        for rng in seeds.generators(cell, "demonstrations")
    ]
    rngs = seeds.generators(cell, "training 0")
    start_time = time.process_time()
    restricted = settings["options"].get("restricted", True)
    policies, statuses = learn(settings["method"], data, settings["steps"], rngs, restricted)
    seconds = (time.process_time() - start_time) / len(data)
    starts = evaluation_seeds(world.name, episodes)
    returns = np.stack([evaluate(world, policy, starts).returns for policy in policies])
    arrays: dict[str, Array] = {
        "references": np.array(references(world.name, episodes)),
        "episodes": returns,
    }
    records, replications = scored(world.name, returns.mean(axis=1), episodes, statuses)
    return Result(tuple(records), replications, arrays, cpu_seconds=seconds)
