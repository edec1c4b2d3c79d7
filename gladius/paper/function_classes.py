"""Function classes for Q and zeta, with a leading replication axis and exact Jacobians.

A class maps parameters and inputs, each replication's own or shared by all, to outputs. `jacobian`
adds d outputs / d parameters, the paper's J_Q(theta; Z_Q).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from jaxtyping import Inexact
from numpy.typing import NDArray

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


# A table or a network with the optimiser of its parameters

ADAM = (0.9, 0.999, 1e-8)  # decay of both moments, and the constant in the denominator


@dataclass
class TableIterate:
    """The tabular class: parameters theta (R, S, A) are the outputs themselves."""

    theta: Array  # theta_1 or theta_2
    tau: float | Array  # its step on losses per transition; a number, or (R,)
    is_adam: bool = False  # whether Adam takes the step, in place of the printed update
    steps: int = field(default=0, init=False)
    mean: Array = field(init=False)
    square: Array = field(init=False)

    def __post_init__(self) -> None:
        self.mean, self.square = np.zeros((2, *self.theta.shape))

    def outputs(self) -> Array:
        """(R, S, A) on the grid."""
        return self.theta

    def gradient(self, slope: Array) -> Array:
        """The gradient in theta, from the derivative in the outputs."""
        return slope

    def descend(self, slope: Array, active: NDArray[np.bool_]) -> None:
        """Step against the derivative in the outputs, in the active replications (R,)."""
        change = self.gradient(slope)
        if self.is_adam:
            first, second, epsilon = ADAM
            self.steps += 1
            self.mean += (1 - first) * (change - self.mean)
            self.square += (1 - second) * (change**2 - self.square)
            root = np.sqrt(self.square / (1 - second**self.steps))
            change = self.mean / (1 - first**self.steps) / (root + epsilon)
        tau = np.reshape(self.tau, (-1, *[1] * (change.ndim - 1)))
        is_active = active.reshape(-1, *[1] * (change.ndim - 1))
        self.theta = np.where(is_active, self.theta - tau * change, self.theta)


@dataclass
class NetworkIterate(TableIterate):
    """A network's outputs at the states `inputs`, (S, d) or (R, S, d); theta is (R, P)."""

    family: MLP = field(kw_only=True)
    inputs: Array = field(kw_only=True)

    def outputs(self) -> Array:
        """(R, S, A) on the grid."""
        return self.family.outputs(self.theta, self.inputs)

    def gradient(self, slope: Array) -> Array:
        """(R, P), by the chain rule."""
        _, jacobian = self.family.jacobian(self.theta, self.inputs)
        flat = slope.reshape(len(slope), -1, 1)
        rows = jacobian.reshape(*flat.shape[:2], -1)
        return np.asarray((np.swapaxes(rows, 1, 2) @ flat)[..., 0])


# Functions of any state; `partial` of them can be pickled with an Estimate


def network_outputs(family: MLP, theta: Array, centre: Array, scale: Array, states: Array) -> Array:
    """(n, A) outputs of one network, theta (P,), at (n, d) features scaled by (d,) numbers."""
    return np.asarray(family.outputs(theta[None], (states - centre) / scale)[0])
