"""The paper's trainings as anyone would write them in torch: raw rows, autograd, its optimisers.

It is the oracle of `gladius.paper.training`, and shares no line with it but the vector's layout.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.paper.training import SEPARATE, TABLES, TRUNK, Layout

RATE, DECAY, WEIGHT_DECAY, CLIP = 1e-3, 5e-4, 1e-4, 1.0


class Rows(NamedTuple):
    """Raw observations."""

    states: Tensor
    actions: Tensor
    next_states: Tensor
    done: Tensor
    reward: Tensor  # the anchor's, at the states


def rows_of(data: Transitions, anchor: Anchor, dtype: torch.dtype = torch.float64) -> Rows:
    states, following, reward = (
        torch.tensor(x, dtype=dtype)
        for x in (data.states, data.next_states, anchor.values(data.states))
    )
    return Rows(states, torch.tensor(data.actions), following, torch.tensor(data.done), reward)


def outputs(layout: Layout, theta: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
    """(n, A) zeta and Q; the states of tables are one-hot."""
    sizes = [int(np.prod(shape)) for shape in layout.shapes]
    blocks = [x.view(*s) for x, s in zip(theta.split(sizes), layout.shapes, strict=True)]
    if layout.kind == TABLES:
        return states @ blocks[0], states @ blocks[1]
    bent = torch.tanh if layout.is_tanh else torch.relu

    def hidden(w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
        return bent(bent(states @ w1 + b1) @ w2 + b2)

    if layout.kind == TRUNK:
        trunk = hidden(*blocks[2:6])
        return trunk @ blocks[0] + blocks[1], trunk @ blocks[6] + blocks[7]
    assert layout.kind == SEPARATE
    zeta, q = (hidden(*b[:4]) @ b[4] + b[5] for b in (blocks[:6], blocks[6:]))
    return zeta, q


def ahead(layout: Layout, theta: Tensor, rows: Rows) -> Tensor:
    """V(s'), zero at ends."""
    v = torch.logsumexp(outputs(layout, theta, rows.next_states)[1], dim=1)
    return torch.where(rows.done, torch.zeros_like(v), v)


def ascent(layout: Layout, theta: Tensor, rows: Rows) -> Tensor:
    """(n,) (V(s') - zeta(s, a))^2, V detached."""
    chosen = outputs(layout, theta, rows.states)[0].gather(1, rows.actions[:, None])[:, 0]
    return (ahead(layout, theta, rows).detach() - chosen) ** 2


def descent(
    layout: Layout, theta: Tensor, rows: Rows, anchor: Anchor, beta: float, kind: str
) -> tuple[Tensor, Tensor]:
    """(n,) -log pi(a | s), and (u,) the Bellman term of the anchor's rows, zeta detached."""
    zeta, q = outputs(layout, theta, rows.states)
    at = rows.actions[:, None]
    v, own = ahead(layout, theta, rows), q.gather(1, at)[:, 0]
    term = (rows.reward + beta * v - own) ** 2
    if kind != "deterministic":
        term = term - beta**2 * (v - zeta.gather(1, at)[:, 0].detach()) ** 2
    term = term.abs() if kind == "absolute" else term
    return torch.logsumexp(q, dim=1) - own, term[rows.actions == anchor.action]


def train(
    layout: Layout,
    theta: Tensor,
    data: Transitions,
    anchor: Anchor,
    beta: float,
    trajectories: int,
    epochs: int,
    kind: str = "absolute",
    repetitions: int = 1,
) -> Iterator[int]:
    """The public procedure, in place; each epoch's number comes before its steps.

    A parameter that a loss does not reach has no gradient, and its optimiser leaves it alone.
    """
    label = torch.tensor(pd.factorize(data.trajectory)[0] // trajectories)
    rows = rows_of(data, anchor, theta.dtype)
    batches = [Rows(*(x[label == i] for x in rows)) for i in range(int(label.max()) + 1)]
    own = [slice(*ends) for ends in layout.ends]
    moving = [theta[part].clone().requires_grad_() for part in own]
    steppers = [torch.optim.AdamW([x], RATE, weight_decay=WEIGHT_DECAY) for x in moving]
    for epoch in [*range(epochs)] * repetitions:
        yield epoch
        for i, batch in enumerate(batches):
            mine, part = moving[i % 2], own[i % 2]
            with torch.no_grad():
                mine.copy_(theta[part])
            whole = torch.cat([theta[: part.start], mine, theta[part.stop :]])
            if i % 2 == 0:
                loss = ascent(layout, whole, batch).sum()
            else:
                nll, term = descent(layout, whole, batch, anchor, beta, kind)
                loss = nll.mean() + term.mean()
            steppers[i % 2].zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
            if i % 2 == 1:
                torch.nn.utils.clip_grad_value_([mine], CLIP)
            steppers[i % 2].param_groups[0]["lr"] = RATE / (1 + DECAY * epoch)
            steppers[i % 2].step()
            theta[part] = mine.detach()
