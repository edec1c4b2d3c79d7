"""The network of the first author's public code, and the gradients of its two losses.

One trunk of two hidden ReLU layers has a head Q(s, .) and a head zeta(s, .). Gradients are written
out for counts n(s, a, s'): by autograd the same gradient takes 2.6 times as long. See
`gladius.author` for the losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class AuthorNetwork(NamedTuple):
    """The parameters, by block; R replications lead.

    Zeta's head comes first and Q's last, so that the blocks of either optimiser are contiguous.
    """

    zeta_weight: Tensor  # (R, A, H)
    zeta_bias: Tensor  # (R, A, 1)
    weight_1: Tensor  # (R, d, H)
    bias_1: Tensor  # (R, 1, H)
    weight_2: Tensor  # (R, H, H)
    bias_2: Tensor  # (R, 1, H)
    q_weight: Tensor  # (R, A, H)
    q_bias: Tensor  # (R, A, 1)


ZETA, Q = 0, 6  # indices of the heads' weights; a bias follows its weight


@dataclass(frozen=True)
class TrainingProblem:
    """B batches of R replications as counts over S states; tensors of the working precision.

    Attributes:
        states: (R, S, d), the grid, repeated.
        visits: (B, R, A, S) n(s, a).
        moves: (B, R, A, S, S) n(s, a, s').
        size: (B, R, 1, 1) transitions in the batch.
        anchored: (B, R, S, S) n(s, a_s, s') / n(a_s), the weights of the Bellman term.
        reward: (S,) the anchor's.
        anchor: a_s.
        discount: beta.
        absolute: whether the Bellman term is taken in absolute value.
    """

    states: Tensor
    visits: Tensor
    moves: Tensor
    size: Tensor
    anchored: Tensor
    reward: Tensor
    anchor: int
    discount: float
    absolute: bool


def initial(
    features: int,
    units: int,
    actions: int,
    level: float,
    rngs: Sequence[np.random.Generator],
    dtype: torch.dtype,
) -> AuthorNetwork:
    """Xavier-normal weights, zero hidden biases, output biases `level`."""
    head = [(actions, units), (actions, 1)]
    shapes = [*head, (features, units), (1, units), (units, units), (1, units), *head]
    net = AuthorNetwork(*(torch.zeros(len(rngs), *shape, dtype=dtype) for shape in shapes))
    for r, rng in enumerate(rngs):
        for block, shape in zip(net[::2], shapes[::2], strict=True):
            block[r] = torch.from_numpy(rng.normal(0.0, math.sqrt(2.0 / sum(shape)), shape))
    net.zeta_bias.fill_(level)
    net.q_bias.fill_(level)
    return net


def forward(net: AuthorNetwork, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(Q (R, A, S), zeta (R, A, S), first hidden layer (R, S, H), second) at (R, S, d) states."""
    hidden_1 = torch.baddbmm(net.bias_1, states, net.weight_1).clamp_min_(0.0)
    hidden_2 = torch.baddbmm(net.bias_2, hidden_1, net.weight_2).clamp_min_(0.0)
    q = torch.baddbmm(net.q_bias, net.q_weight, hidden_2.mT)
    return q, torch.baddbmm(net.zeta_bias, net.zeta_weight, hidden_2.mT), hidden_1, hidden_2


def zeta_gradient(net: AuthorNetwork, out: AuthorNetwork, problem: TrainingProblem, i: int) -> None:
    """Gradient of sum (V(s') - zeta(s, a))^2, V detached, into zeta's head and the trunk."""
    q, zeta, *hidden = forward(net, problem.states)
    v, _ = _value(q)
    total = (problem.moves[i] * v[:, None]).sum(3)
    slope = torch.mul(problem.visits[i], zeta).sub_(total).mul_(2.0)
    _backward(net, out, problem.states, hidden, slope, ZETA)


def q_gradient(net: AuthorNetwork, out: AuthorNetwork, problem: TrainingProblem, i: int) -> None:
    """Gradient of cross-entropy + Bellman term, zeta detached, into Q's head and the trunk.

    td^2 - beta^2 dev^2 = e g with e = td + beta dev = Q - r - beta zeta, free of s', and
    g = td - beta dev = Q - r + beta zeta - 2 beta V(s').
    """
    q, zeta, *hidden = forward(net, problem.states)
    anchor, discount = problem.anchor, problem.discount
    v, policy = _value(q)
    visits, weights = problem.visits[i], problem.anchored[i]
    slope = (policy * visits.sum(1, keepdim=True)).sub_(visits).div_(problem.size[i])
    own = q[:, anchor] - problem.reward
    e = torch.sub(own, zeta[:, anchor], alpha=discount)[:, :, None]
    g = torch.add(own, zeta[:, anchor], alpha=discount)[:, :, None].sub(v, alpha=2.0 * discount)
    if problem.absolute:
        weights = torch.sign(g).mul_(torch.sign(e)).mul_(weights)
    slope.addcmul_(policy, (weights * e).sum(1, keepdim=True), value=-2.0 * discount)
    slope[:, anchor] += g.add_(e).mul_(weights).sum(2)
    _backward(net, out, problem.states, hidden, slope, Q)


def _value(q: Tensor) -> tuple[Tensor, Tensor]:
    """V (R, 1, S) and pi (R, A, S) of Q (R, A, S); in one pass it is faster than logsumexp."""
    top = q.amax(1, keepdim=True)
    policy = torch.sub(q, top).exp_()
    total = policy.sum(1, keepdim=True)
    return top.add_(torch.log(total)), policy.div_(total)


def _backward(
    net: AuthorNetwork,
    out: AuthorNetwork,
    states: Tensor,
    hidden: Sequence[Tensor],
    slope: Tensor,
    head: int,
) -> None:
    """Gradient blocks from the (R, A, S) derivative in the outputs of one head."""
    first, second = hidden
    torch.bmm(slope, second, out=out[head])
    torch.sum(slope, 2, keepdim=True, out=out[head + 1])
    back = torch.bmm(slope.mT, net[head]).mul_(torch.sign(second))  # second >= 0: sign = ReLU'
    torch.bmm(first.mT, back, out=out.weight_2)
    torch.sum(back, 1, keepdim=True, out=out.bias_2)
    back = torch.bmm(back, net.weight_2.mT).mul_(torch.sign(first))
    torch.bmm(states.mT, back, out=out.weight_1)
    torch.sum(back, 1, keepdim=True, out=out.bias_1)
