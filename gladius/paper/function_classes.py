"""Function classes for Q and zeta, with a leading replication axis and exact Jacobians.

A class maps parameters and inputs, each replication's own or shared by all, to outputs. `jacobian`
adds d outputs / d parameters, the paper's J_Q(theta; Z_Q).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Inexact

from gladius.validate import Array, shaped

Parameters = Inexact[Array, "R P"]
Inputs = Inexact[Array, "*replications n d"]
Outputs = Inexact[Array, "R n A"]
Jacobian = Inexact[Array, "R n A P"]


@dataclass(frozen=True)
class Linear:
    """Outputs linear in the inputs, one theta for each action; one-hot inputs make a table."""

    inputs: int
    actions: int

    @property
    def size(self) -> int:
        """Parameters of one replication."""
        return self.inputs * self.actions

    @shaped
    def init(self, rngs: Sequence[np.random.Generator]) -> Parameters:
        """Zero parameters, the neutral start."""
        return np.zeros((len(rngs), self.size))

    @shaped
    def outputs(self, theta: Parameters, x: Inputs) -> Outputs:
        """Linear in the inputs."""
        weights = theta.reshape(len(theta), self.actions, self.inputs)
        return x @ np.swapaxes(weights, 1, 2)

    @shaped
    def jacobian(self, theta: Parameters, x: Inputs) -> tuple[Outputs, Jacobian]:
        """Outputs and their Jacobian; the latter does not depend on theta."""
        rows = np.einsum("...nw,ab->...nabw", x, np.eye(self.actions))
        rows = rows.reshape(*x.shape[:-1], self.actions, -1)
        outputs = self.outputs(theta, x)
        return outputs, np.broadcast_to(rows, (*outputs.shape, self.size))


@dataclass(frozen=True)
class MLP:
    """A fully connected tanh network; `hidden=(10, 10)` is the paper's.

    Weights start with variance 1 / fan-in (Glorot's rule for tanh up to a constant), biases
    uniform on (-1, 1) so that the kinks are spread over standardised inputs.
    """

    inputs: int
    actions: int
    hidden: tuple[int, ...] = (10, 10)

    @property
    def layers(self) -> list[tuple[int, int]]:
        """(fan-in, fan-out) of each layer."""
        return list(pairwise((self.inputs, *self.hidden, self.actions)))

    @property
    def size(self) -> int:
        """Parameters of one replication."""
        return sum((fan_in + 1) * fan_out for fan_in, fan_out in self.layers)

    @shaped
    def init(self, rngs: Sequence[np.random.Generator]) -> Parameters:
        """Weights, each replication's from its own generator."""
        rows = []
        for rng in rngs:
            segments = []
            for i, (fan_in, fan_out) in enumerate(self.layers):
                last = i == len(self.layers) - 1
                segments.append(rng.normal(size=fan_in * fan_out) / np.sqrt(fan_in))
                segments.append(np.zeros(fan_out) if last else rng.uniform(-1, 1, fan_out))
            rows.append(np.concatenate(segments))
        return np.stack(rows)

    def _unpack(self, theta: Array) -> list[tuple[Array, Array]]:
        """Weight (R, in, out) and bias (R, out) of each layer."""
        segments = np.split(theta, np.cumsum([(i + 1) * o for i, o in self.layers])[:-1], axis=1)
        shapes = zip(segments, self.layers, strict=True)
        return [(p[:, :-o].reshape(-1, i, o), p[:, -o:]) for p, (i, o) in shapes]

    def _forward(self, theta: Array, x: Array) -> list[Array]:
        """Inputs of every layer, then the outputs."""
        signals = [np.broadcast_to(x, (len(theta), *x.shape[-2:]))]
        for i, (weight, bias) in enumerate(self._unpack(theta)):
            signal = signals[-1] @ weight + bias[:, None]
            signals.append(np.tanh(signal) if i < len(self.hidden) else signal)
        return signals

    @shaped
    def outputs(self, theta: Parameters, x: Inputs) -> Outputs:
        """Of the last layer."""
        return self._forward(theta, x)[-1]

    @shaped
    def jacobian(self, theta: Parameters, x: Inputs) -> tuple[Outputs, Jacobian]:
        """Outputs and their Jacobian, by one backward sweep for all outputs at once."""
        *signals, outputs = self._forward(theta, x)
        shape = (*outputs.shape, self.actions)
        back = np.broadcast_to(np.eye(self.actions), shape)
        blocks: list[Array] = []
        for signal, (weight, _) in reversed(list(zip(signals, self._unpack(theta), strict=True))):
            slope = np.einsum("rni,rnao->rnaio", signal, back)
            blocks = [slope.reshape(*shape[:3], -1), back, *blocks]
            back = back @ np.swapaxes(weight, 1, 2)[:, None] * (1 - signal**2)[:, :, None]
        return outputs, np.concatenate(blocks, axis=-1)


# Functions of any state; `partial` of them can be pickled with an Estimate


def network_outputs(family: MLP, theta: Array, centre: Array, scale: Array, states: Array) -> Array:
    """(n, A) outputs of one network, theta (P,), at (n, d) features scaled by (d,) numbers."""
    return np.asarray(family.outputs(theta[None], (states - centre) / scale)[0])
