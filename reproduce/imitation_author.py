"""Table 4's GLADIUS by the first author's public code, which the paper describes otherwise.

One network, two hidden layers of 64 ReLU units, Xavier-normal weights, raw observations, and two
heads Q(s, .) and zeta(s, .) behind a softplus, so that neither is ever negative; their biases start
at LEVELS. beta is 1, and V(s') is 0 at the end of a path, time limits included. Each epoch deals
the rows out in shuffled batches; even batches (0, 2, ...) step zeta, odd ones Q, each by an AdamW
of its own over what has a gradient, entries clipped to [-1, 1]:

    zeta    mean (V(s') - zeta(s, a))^2,    V detached
    Q       10 x mean -log pi(a | s) + mean |td^2 - (V(s') - zeta(s, a))^2|,    zeta detached,
            td = Q(s, a) - r - V(s'), over the rows of the anchor action and those that end a path

with the environment's own reward r there. With one batch an epoch Q would never move.

In the code Q(s, a) and zeta(s, a) are columns (n, 1) while V(s') and r are vectors (n,), so that
every difference is an (n, n) table: zeta of each row is drawn to the V(s') of all the batch, hence
to one number, and the Bellman term sets each Q against every other row's r + V(s'). `own_rows` is
the loss without that, each row against its own.

LunarLander's demonstrations stop where both legs touch the ground, as action 0 with reward 100. The
paper's row 1 was logged with two trajectories, in batches of 64. Its epochs were picked by hand;
here the last of 10,000 is played. Rate, decay, clipping and epochs are those of the last committed
configuration; an earlier evaluation names a LunarLander network of rate 1e-3, decay 1e-4, without
clipping, after 5,000 epochs, which is the number that the paper has.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from gladius.checks import Array
from gladius.transitions import Transitions
from gladius.worlds.experts import LEGS, expert
from gladius.worlds.gym import (
    Environment,
    LunarLander,
    environment,
    episode_seeds,
    evaluate,
    rollout,
)
from reproduce import seeds
from reproduce.demonstrations import SAMPLED, STREAM, evaluation_seeds, scored, where_installed
from reproduce.soft_q import Softmax
from reproduce.spec import Cell, Result

HIDDEN, WEIGHT = 64, 10.0
RATE, DECAY, CLIP = 5e-4, 1e-3, 1.0  # rate / (1 + decay epoch)
LEVELS = {"LunarLander-v3": 100.0, "CartPole-v1": 1.0, "Acrobot-v1": -10.0}
ANCHORS = {"LunarLander-v3": 2, "CartPole-v1": 0, "Acrobot-v1": 0}
BATCHES = {2: 64, 15: 512}  # trajectories: rows, where the code's configuration names them
LANDED, PRIZE = 0, 100.0

Head = tuple[Tensor, Tensor]


def training(
    name: str, trajectories: int, repetitions: int, epochs: int, episodes: int, own_rows: bool
) -> Cell:
    """The cell of so many trainings, each on demonstrations of its own."""
    told = {
        "environment": name,
        "trajectories": trajectories,
        "repetitions": repetitions,
        "epochs": epochs,
        "batch": BATCHES[trajectories],
        "episodes": episodes,
        "own_rows": own_rows,
        "seeds": STREAM,
        "seeds_row": f"{name}/{trajectories}",
    }
    words = ["author's code", name, str(trajectories), *(["own rows"] if own_rows else [])]
    return Cell(f"{__name__}:compute", told, ", ".join(words))


def demonstrations(
    world: Environment, trajectories: int, rng: np.random.Generator
) -> tuple[Transitions, Array]:
    """The expert's episodes as the code stores them, with their rewards; `done` at time limits."""
    teacher = expert(world.name, deterministic=True, normalised=False)
    data, rewards, _ = rollout(world, teacher, episode_seeds(rng, trajectories))
    actions, done, last = data.actions.copy(), data.done.copy(), []
    for label in np.unique(data.trajectory):
        rows = np.flatnonzero(data.trajectory == label)
        if world.name == LunarLander.name:
            landed = np.flatnonzero(np.all(data.states[rows][:, LEGS] == 1.0, axis=1))[:1]
            actions[rows[landed]], rewards[rows[landed]] = LANDED, PRIZE
            rows = rows[: int(landed[0]) + 1] if len(landed) else rows
        done[rows[-1]] = True
        last.append(rows)
    kept = np.concatenate(last)
    return replace(data, actions=actions, done=done).take(kept), rewards[kept]


def zeta_loss(zeta: Tensor, value: Tensor, own_rows: bool) -> Tensor:
    """From (n,) zeta(s, a) and V(s')."""
    return ((value - (zeta if own_rows else zeta[:, None])) ** 2).mean()


def bellman_loss(
    q: Tensor, reward: Tensor, value: Tensor, zeta: Tensor, counts: Tensor, own_rows: bool
) -> Tensor:
    """From (n,) Q(s, a), r, V(s') and zeta(s, a), over the rows that count; 0 where none does.

    Of an empty mean the code's network would be NaN for good.
    """
    if not own_rows:
        q, zeta = q[:, None], zeta[:, None]
    terms = ((q - reward - value) ** 2 - (value - zeta) ** 2)[counts]
    return terms.abs().sum() / max(1, terms.numel())


def train(
    data: Transitions,
    rewards: Array,
    anchor: int,
    level: float,
    epochs: int,
    batch: int,
    rng: np.random.Generator,
    own_rows: bool,
) -> Callable[[Array], Array]:
    """(n, d) observations -> (n, A) Q after the last epoch."""
    draws = torch.Generator().manual_seed(int(rng.integers(2**31)))
    sizes = [(data.states.shape[1], HIDDEN), (HIDDEN, HIDDEN)]
    sizes += [(HIDDEN, data.number_of_actions)] * 2
    layers = [
        (torch.nn.init.xavier_normal_(torch.empty(size), generator=draws), torch.zeros(size[1]))
        for size in sizes
    ]
    (*trunk, of_q, of_zeta) = layers
    for _, bias in (of_q, of_zeta):
        bias += level
    for weight, bias in layers:
        weight.requires_grad_(), bias.requires_grad_()

    def outputs(states: Tensor, head: Head) -> Tensor:
        for weight, bias in trunk:
            states = torch.relu(states @ weight + bias)
        return torch.nn.functional.softplus(states @ head[0] + head[1])

    steppers = [
        torch.optim.AdamW(
            [p for layer in (*trunk, head) for p in layer], lr=RATE, weight_decay=1e-4
        )
        for head in (of_zeta, of_q)
    ]
    now, after, gained = (
        torch.from_numpy(part).float() for part in (data.states, data.next_states, rewards)
    )
    action, done = torch.from_numpy(data.actions)[:, None], torch.from_numpy(data.done)
    counts = done | (action[:, 0] == anchor)
    for epoch in range(epochs):
        order = torch.randperm(len(data), generator=draws)
        for i, rows in enumerate(torch.split(order, batch)):
            value = torch.logsumexp(outputs(after[rows], of_q), dim=1) * ~done[rows]
            zeta = outputs(now[rows], of_zeta).gather(1, action[rows])[:, 0]
            if i % 2 == 0:
                loss = zeta_loss(zeta, value.detach(), own_rows)
            else:
                q, zeta = outputs(now[rows], of_q), zeta.detach()
                chosen = q.gather(1, action[rows])[:, 0]
                bellman = bellman_loss(chosen, gained[rows], value, zeta, counts[rows], own_rows)
                loss = WEIGHT * torch.nn.functional.cross_entropy(q, action[rows, 0]) + bellman
            stepper = steppers[i % 2]
            stepper.param_groups[0]["lr"] = RATE / (1 + DECAY * epoch)
            stepper.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_value_(stepper.param_groups[0]["params"], CLIP)
            stepper.step()

    def q_function(states: Array) -> Array:
        with torch.no_grad():
            return np.asarray(outputs(torch.from_numpy(states).float(), of_q).double().numpy())

    return q_function


@where_installed
def compute(cell: Cell, device: str) -> Result:
    """Demonstrate, train and evaluate for each training seed, one after the other on the CPU.

    Records and replications: those of `scored`, of the sampled policy. Settings: those of
    `training`.
    """
    told = cell.settings
    name, episodes = told["environment"], told["episodes"]
    world, starts = environment(name), evaluation_seeds(name, episodes)
    began, returns = time.process_time(), []
    streams = (seeds.generators(cell, part) for part in ("demonstrations", "weights"))
    for of_data, of_weights in zip(*streams, strict=True):
        data, rewards = demonstrations(world, told["trajectories"], of_data)
        q = train(
            data,
            rewards,
            ANCHORS[name],
            LEVELS[name],
            told["epochs"],
            told["batch"],
            of_weights,
            told["own_rows"],
        )
        returns.append(float(evaluate(world, Softmax(q), starts).returns.mean()))
    statuses = ["not_converged"] * len(returns)  # so many epochs, and no stopping rule
    records, known = scored(name, np.array(returns), episodes, SAMPLED, statuses)
    seconds = (time.process_time() - began) / len(returns)
    return Result(tuple(records), known, cpu_seconds=seconds)
