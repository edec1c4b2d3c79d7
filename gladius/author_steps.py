"""One optimiser step of the `author` protocol: network, batches as counts, written gradients.

The protocol itself, and what it assumes, is described in `gladius.author`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gladius.anchor import Anchor
from gladius.checks import Array, InputError
from gladius.transitions import Counts, Integers, Transitions, group


class Network(NamedTuple):
    """Views of the flat parameter vector, by block; R replications lead.

    Zeta's head comes first and Q's last, so that what either optimiser moves is contiguous.
    """

    zeta_weight: Tensor  # (R, A, H)
    zeta_bias: Tensor  # (R, A, 1)
    weight_1: Tensor  # (R, d, H)
    bias_1: Tensor  # (R, 1, H)
    weight_2: Tensor  # (R, H, H)
    bias_2: Tensor  # (R, 1, H)
    q_weight: Tensor  # (R, A, H)
    q_bias: Tensor  # (R, A, 1)


ZETA, Q = 0, 6  # places of the heads in it


@dataclass(frozen=True)
class Batches:
    """B batches of R replications as counts over S states; tensors of the working precision.

    Attributes:
        states: (R, S, d), the grid, repeated.
        visits: (B, R, A, S) n(s, a).
        moves: (B, R, A, S, S) n(s, a, s').
        size: (B, R, 1, 1) transitions in the batch.
        anchored: (B, R, S, S) n(s, a_s, s') / n(a_s), the weights of the Bellman term.
        reward: (S,) the anchor's.
    """

    states: Tensor
    visits: Tensor
    moves: Tensor
    size: Tensor
    anchored: Tensor
    reward: Tensor


def shapes(features: int, units: int, actions: int) -> list[tuple[int, int]]:
    """Of the blocks of `Network`, without the leading R."""
    head = [(actions, units), (actions, 1)]
    return [*head, (features, units), (1, units), (units, units), (1, units), *head]


def blocks(flat: Tensor, replications: int, form: Sequence[tuple[int, int]]) -> Network:
    """The parameter vector as the network's blocks (views, no copies)."""
    parts = torch.split(flat, [replications * a * b for a, b in form])
    return Network(*(p.view(replications, *s) for p, s in zip(parts, form, strict=True)))


def initial(
    form: Sequence[tuple[int, int]], level: float, rngs: Sequence[np.random.Generator]
) -> Tensor:
    """Flat float64 parameters: Xavier-normal weights, zero hidden biases, output biases `level`."""
    flat = torch.zeros(len(rngs) * sum(a * b for a, b in form), dtype=torch.float64)
    network = blocks(flat, len(rngs), form)
    for r, rng in enumerate(rngs):
        for block in network[::2]:
            shape = block.shape[1:]
            block[r] = torch.from_numpy(rng.normal(0.0, math.sqrt(2.0 / sum(shape)), shape))
    network.zeta_bias.fill_(level)
    network.q_bias.fill_(level)
    return flat


def forward(net: Network, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(Q (R, A, S), zeta (R, A, S), first hidden layer (R, S, H), second) at (R, S, d) states."""
    hidden_1 = torch.baddbmm(net.bias_1, states, net.weight_1).clamp_min_(0.0)
    hidden_2 = torch.baddbmm(net.bias_2, hidden_1, net.weight_2).clamp_min_(0.0)
    q = torch.baddbmm(net.q_bias, net.q_weight, hidden_2.mT)
    return q, torch.baddbmm(net.zeta_bias, net.zeta_weight, hidden_2.mT), hidden_1, hidden_2


def zeta_gradient(net: Network, out: Network, data: Batches, i: int) -> None:
    """Gradient of sum (V(s') - zeta(s, a))^2, V detached, into zeta's head and the trunk."""
    q, zeta, hidden_1, hidden_2 = forward(net, data.states)
    v, _ = _value(q)
    slope = torch.mul(data.visits[i], zeta).sub_((data.moves[i] * v[:, None]).sum(3)).mul_(2.0)
    _backward(net, out, data.states, hidden_1, hidden_2, slope, ZETA)


def q_gradient(
    net: Network, out: Network, data: Batches, i: int, anchor: int, discount: float, absolute: bool
) -> None:
    """Gradient of cross-entropy + Bellman term, zeta detached, into Q's head and the trunk.

    td^2 - beta^2 dev^2 = e g with e = td + beta dev = Q - r - beta zeta, free of s', and
    g = td - beta dev = Q - r + beta zeta - 2 beta V(s').
    """
    q, zeta, hidden_1, hidden_2 = forward(net, data.states)
    v, policy = _value(q)
    visits, weights = data.visits[i], data.anchored[i]
    slope = (policy * visits.sum(1, keepdim=True)).sub_(visits).div_(data.size[i])
    own = q[:, anchor] - data.reward
    e = torch.sub(own, zeta[:, anchor], alpha=discount)[:, :, None]
    g = torch.add(own, zeta[:, anchor], alpha=discount)[:, :, None].sub(v, alpha=2.0 * discount)
    if absolute:
        weights = torch.sign(g).mul_(torch.sign(e)).mul_(weights)
    slope.addcmul_(policy, (weights * e).sum(1, keepdim=True), value=-2.0 * discount)
    slope[:, anchor] += g.add_(e).mul_(weights).sum(2)
    _backward(net, out, data.states, hidden_1, hidden_2, slope, Q)


def _value(q: Tensor) -> tuple[Tensor, Tensor]:
    """V (R, 1, S) and pi (R, A, S) of Q (R, A, S); in one pass it is faster than logsumexp."""
    top = q.amax(1, keepdim=True)
    policy = torch.sub(q, top).exp_()
    total = policy.sum(1, keepdim=True)
    return top.add_(torch.log(total)), policy.div_(total)


def _backward(
    net: Network,
    out: Network,
    states: Tensor,
    first: Tensor,
    second: Tensor,
    slope: Tensor,
    head: int,
) -> None:
    """Gradient blocks from the (R, A, S) slope in the outputs of one head."""
    torch.bmm(slope, second, out=out[head])
    torch.sum(slope, 2, keepdim=True, out=out[head + 1])
    down = torch.bmm(slope.mT, net[head]).mul_(torch.sign(second))  # second >= 0: sign = ReLU'
    torch.bmm(first.mT, down, out=out.weight_2)
    torch.sum(down, 1, keepdim=True, out=out.bias_2)
    down = torch.bmm(down, net.weight_2.mT).mul_(torch.sign(first))
    torch.bmm(states.mT, down, out=out.weight_1)
    torch.sum(down, 1, keepdim=True, out=out.bias_1)


def batch_counts(
    data: Sequence[Transitions], anchor: Anchor, trajectories: int, dtype: torch.dtype
) -> tuple[Counts, Batches]:
    """The training data as counts, whole and by batches of whole trajectories in file order."""
    labels = [order_of_appearance(one.trajectory) // trajectories for one in data]
    number = int(labels[0].max()) + 1
    for r, (one, label) in enumerate(zip(data, labels, strict=True)):
        if int(label.max()) + 1 != number:
            raise InputError(
                f"data[{r}]",
                f"{int(label.max()) + 1} batches",
                f"data[0] has {number}: give equal numbers",
            )
        if np.any(one.done):
            raise InputError(f"data[{r}].done", True, "this protocol knows no ends of paths")
    whole = group(data)
    parts = group(
        [
            one.take(label == b)
            for b in range(number)
            for one, label in zip(data, labels, strict=True)
        ]
    )
    lead = (number, len(data))
    visits = parts.visits.reshape(*lead, *parts.visits.shape[1:])
    moves = parts.moves.reshape(*lead, *parts.moves.shape[1:])
    anchored = moves[:, :, anchor.action]
    uses = anchored.sum(axis=(2, 3), keepdims=True)
    if np.any(uses[1::2] == 0):
        b, r = np.argwhere(uses[1::2, :, 0, 0] == 0)[0]
        raise InputError(
            f"data[{r}]",
            f"batch {2 * b + 1}",
            f"action {anchor.action} never occurs there: use larger batches",
        )

    def tensor(array: Array) -> Tensor:
        return torch.tensor(np.array(array), dtype=dtype)

    states = np.broadcast_to(whole.states, (len(data), *whole.states.shape))
    return whole, Batches(
        tensor(states),
        tensor(np.swapaxes(visits, 2, 3)),
        tensor(moves),
        tensor(visits.sum(axis=(2, 3))[..., None, None]),
        tensor(anchored / np.maximum(uses, 1.0)),
        tensor(anchor.values(whole.states)),
    )


def order_of_appearance(labels: NDArray[np.generic]) -> Integers:
    """Labels as 0, 1, ... in order of appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)
