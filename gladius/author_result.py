"""What a run of the `author` protocol leaves: tables, networks and their Estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import logsumexp

from gladius.anchor import Anchor
from gladius.author_steps import Network, forward
from gladius.checks import Array, InputError
from gladius.estimate import Diagnostics, Estimate
from gladius.transitions import Counts, Integers


@dataclass(frozen=True)
class Choice:
    """The estimate at one epoch for each of R replications.

    Attributes:
        epoch: (R,) epochs trained before it (0: the untrained network).
        q, zeta, reward: (R, S, A) on the grid of the training states.
        gradient: (R,) largest entry of the gradient of the Q loss over the whole training data.
        blocks: the network's parameters, see `Network`.
    """

    epoch: Integers
    q: Array
    zeta: Array
    reward: Array
    gradient: Array
    blocks: tuple[Array, ...]

    def outputs(self, replication: int, states: Array) -> tuple[Array, Array]:
        """(Q, zeta), each (n, A), at any (n, d) states."""
        net = Network(*(torch.from_numpy(b[replication : replication + 1]) for b in self.blocks))
        x = torch.as_tensor(states[None], dtype=net.weight_1.dtype)
        q, zeta, *_ = forward(net, x)
        return q[0].T.double().numpy(), zeta[0].T.double().numpy()


@dataclass(frozen=True)
class AuthorResult:
    """Where the training led.

    Attributes:
        states: (S, d) grid of the training states.
        counts: the training data over it.
        last: after the last epoch.
        oracle: at the start of the epoch with the smallest test MAPE, or None without an oracle.
        trace_epochs: (T,) every 100th epoch and the end.
        trace: (R, T) test MAPE in per cent then, nan without an oracle.
        cpu_seconds: processor time of the run, over all its resumptions.
    """

    states: Array
    counts: Counts
    last: Choice
    oracle: Choice | None
    trace_epochs: Integers
    trace: Array
    cpu_seconds: float


def estimates(
    result: AuthorResult, anchor: Anchor, discount: float, selection: str
) -> list[Estimate]:
    """The Estimates of one run for `selection` "last" or "oracle" (the leak).

    The status is `diverged` where the tables are not finite. `converged` is always false: the
    code stops at its number of epochs, whatever the gradient.
    """
    choice = {"last": result.last, "oracle": result.oracle}.get(selection)
    if choice is None:
        raise InputError(
            "selection", selection, "choose last, or oracle where the run had an oracle"
        )
    return [_estimate(result, choice, selection, r, anchor, discount) for r in range(len(choice.q))]


def _estimate(
    result: AuthorResult, choice: Choice, selection: str, r: int, anchor: Anchor, discount: float
) -> Estimate:
    visits, moves = result.counts.visits[r], result.counts.moves[r]
    q, zeta = choice.q[r], choice.zeta[r]
    size, at = visits.sum(), anchor.action
    v = logsumexp(q, axis=1)
    used = visits[:, at]
    ahead = moves[at] @ v / np.maximum(used, 1.0)
    bellman = q[:, at] - anchor.values(result.states) - discount * ahead
    finite = bool(np.all(np.isfinite(q)) and np.all(np.isfinite(zeta)))
    diagnostics = Diagnostics(
        converged=False,
        iterations=int(choice.epoch[r]),
        gradient_norm=float(choice.gradient[r]),
        nll=float((visits * (v[:, None] - q)).sum() / size),
        bellman_error=float(used @ bellman**2 / size),
        cpu_seconds=result.cpu_seconds / len(choice.q),
        status="ok" if finite else "diverged",
        extra={"selection": selection, "epoch": int(choice.epoch[r])},
    )

    def q_function(states: Array) -> Array:
        return choice.outputs(r, states)[0]

    def reward_function(states: Array) -> Array:
        q, zeta = choice.outputs(r, states)
        return q - discount * zeta

    name = f"gladius (author, {selection} epoch)"
    return Estimate(name, q_function, reward_function, result.states.shape[1], diagnostics)
