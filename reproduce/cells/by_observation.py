"""The first author's training on observations, in torch: slow, and as anyone would write it.

It is the counterpart of the public code's arithmetic, float32 by observation, and the only form
where states do not repeat (dummies). `gladius.paper.author` has the losses.
"""

import time
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from gladius.designs.bus import BusEngine
from gladius.panel.record import Transitions
from gladius.paper.author_network import AuthorNetwork, Layout
from reproduce.cells import public_trainings
from reproduce.cells.public_data import networks_data
from reproduce.engine.nouns import Cell, Result

UNITS = public_trainings.UNITS
FLOAT = {"float32": torch.float32, "float64": torch.float64}
RATE, DECAY, WEIGHT_DECAY, CLIP = 1e-3, 5e-4, 1e-4, 1.0


class Network(torch.nn.Module):
    """Q and zeta with one trunk, from the blocks of `Layout`."""

    def __init__(self, net: AuthorNetwork, dtype: torch.dtype) -> None:
        super().__init__()
        blocks = {name: torch.tensor(x, dtype=dtype) for name, x in net._asdict().items()}
        self.of = torch.nn.ParameterDict(blocks)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """(n, A) Q and zeta at (n, d) states."""
        of, hidden = self.of, states
        for i in (1, 2):
            hidden = torch.relu(hidden @ of[f"weight_{i}"] + of[f"bias_{i}"])
        q, zeta = (hidden @ of[f"{head}_weight"].T + of[f"{head}_bias"].T for head in ("q", "zeta"))
        return q, zeta


def loss(
    net: Network, rows: Sequence[Tensor], odd: bool, world: BusEngine, absolute: bool = True
) -> Tensor:
    """The loss of a batch of rows (states, actions, next states); odd batches step Q."""
    states, actions, following = rows
    q, zeta = net(states)
    ahead: Tensor = torch.logsumexp(net(following)[0], dim=1)
    chosen: Tensor = zeta.gather(1, actions[:, None])[:, 0]
    if not odd:
        return ((ahead.detach() - chosen) ** 2).sum()
    td: Tensor = q.gather(1, actions[:, None])[:, 0] - world.anchor_reward - world.discount * ahead
    term = td**2 - world.discount**2 * (ahead - chosen.detach()) ** 2
    term = term[actions == world.anchor_action]
    return cross_entropy(q, actions) + (term.abs() if absolute else term).mean()


def rows_of(data: Transitions, dtype: torch.dtype) -> list[Tensor]:
    """The rows as tensors (states, actions, next states)."""
    states, following = (torch.tensor(x, dtype=dtype) for x in (data.states, data.next_states))
    return [states, torch.tensor(data.actions), following]


def train(
    net: Network,
    data: Transitions,
    epochs: int,
    trajectories: int,
    world: BusEngine,
    absolute: bool = True,
    repetitions: int = 1,
) -> Iterator[int]:
    """Train the network in place; each epoch's number comes before its steps.

    A repetition continues from the weights and moments of the one before.
    """
    label = torch.tensor(pd.factorize(data.trajectory)[0] // trajectories)
    whole = rows_of(data, net.of["q_bias"].dtype)
    batches = [[x[label == i] for x in whole] for i in range(int(label.max()) + 1)]
    parameters = list(net.parameters())
    steppers = [torch.optim.AdamW(parameters, RATE, weight_decay=WEIGHT_DECAY) for _ in range(2)]
    for epoch in [*range(epochs)] * repetitions:
        yield epoch
        for i, rows in enumerate(batches):
            net.zero_grad()
            loss(net, rows, i % 2 == 1, world, absolute).backward()
            if i % 2 == 1:
                torch.nn.utils.clip_grad_value_(parameters, CLIP)
            steppers[i % 2].param_groups[0]["lr"] = RATE / (1 + DECAY * epoch)
            steppers[i % 2].step()


def compute(cell: Cell) -> Result:
    """What `public_trainings.result_of` has; always on the CPU.

    The test MAPE is the mean over batches of their means, as in the public code.
    """
    settings, world = cell.settings, BusEngine(dummies=cell.settings["dummies"])
    data, test = networks_data(settings["trajectories"], world.dummies)
    batch, dtype = public_trainings.batch_of(settings["trajectories"]), FLOAT[settings["precision"]]
    layout = Layout(1 + world.dummies, (UNITS, UNITS), data.number_of_actions)
    start = public_trainings.initial_weights(settings["seed"], layout.features)
    net = Network(layout.blocks(start), dtype)
    states, actions, _ = rows_of(test, dtype)
    truth = torch.tensor(world.reward(test.states, test.actions))
    label = pd.factorize(test.trajectory)[0] // batch
    share = torch.tensor(1.0 / np.bincount(label)[label] / (label.max() + 1))
    start_time, trace = time.process_time(), np.empty(settings["epochs"])
    for epoch in train(net, data, len(trace), batch, world):
        with torch.no_grad():
            q, zeta = net(states)
            reward = (q - world.discount * zeta).gather(1, actions[:, None])[:, 0].double()
        trace[epoch] = 100.0 * float(share @ ((reward - truth) / truth).abs())
    return public_trainings.result_of([trace], {}, time.process_time() - start_time)
