"""Networks trained by Adam, in torch: R of them as one tensor program, each as alone.

`Parameters` are a weight (R, in, out) and a bias (R, 1, out) of each layer in turn, float64.
Adam is batched, with a rate of each replication's own, which torch.optim does not offer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from gladius.checks import (
    Array,
    InputError,
    check_choice,
    check_positive,
    check_whole,
    check_widths,
    shaped,
)
from gladius.transitions import Integers

ADAM = (0.9, 0.999, 1e-8)  # decay of the two moments and the constant, the usual ones
ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu, "elu": torch.nn.functional.elu}

Tensor = torch.Tensor
Parameters = list[Tensor]
Moments = list[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Training:
    """How networks are trained.

    Attributes:
        hidden: widths of the hidden layers; by default those of the paper under check, which
            gives all its networks 2 x 10 units.
        learning_rate: of Adam, falling linearly to zero over `steps`.
        steps: at most this many.
        batch: observations a step, drawn with replacement; None: all of them, as counts.
        tolerance: stop once no entry of the full gradient per observation exceeds it.
    """

    hidden: tuple[int, ...] = (10, 10)
    learning_rate: float = 0.01
    steps: int = 3000
    batch: int | None = None
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        check_widths("hidden", self.hidden)
        for name in ("learning_rate", "tolerance"):
            check_positive(name, getattr(self, name), "give a positive number")
        for name in ("steps", *(["batch"] if self.batch is not None else [])):
            check_whole(name, getattr(self, name), 1)


def check_device(device: str) -> None:
    """Raise where torch cannot compute there."""
    check_choice("device", device, ("cpu", "cuda"))
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("device", device, "no CUDA device is visible: use cpu")


def start(rngs: Sequence[np.random.Generator], widths: Sequence[int]) -> Parameters:
    """Weights and biases uniform on +- 1 / sqrt(fan-in), each replication's by its generator."""
    layers = [(rows, *layer) for layer in pairwise(widths) for rows in (layer[0], 1)]
    every = [
        [rng.uniform(-1, 1, (rows, out)) / np.sqrt(fan_in) for rows, fan_in, out in layers]
        for rng in rngs
    ]
    return [torch.from_numpy(np.stack(parts)) for parts in zip(*every, strict=True)]


@shaped
def signals(theta: Parameters, x: Float[Tensor, "R n d"], activation: str) -> list[Tensor]:
    """Inputs of every layer, then the outputs (R, n, A)."""
    every = [x]
    for i in range(0, len(theta), 2):
        if i:
            every[-1] = ACTIVATIONS[activation](every[-1])
        every.append(torch.baddbmm(theta[i + 1], every[-1], theta[i]))
    return every


@shaped
def outputs(
    theta: Parameters, x: Float[Tensor, "R n d"], activation: str
) -> Float[Tensor, "R n A"]:
    """Of the last layer; tanh, relu or elu between the layers."""
    return signals(theta, x, activation)[-1]


def gradient(theta: Parameters, loss: Callable[[Parameters], Tensor]) -> Parameters:
    """Of the sum of a loss (R,), each replication's in its own parameters."""
    leaves = [p.detach().requires_grad_() for p in theta]
    return list(torch.autograd.grad(loss(leaves).sum(), leaves))


def no_moments(theta: Parameters) -> Moments:
    """Adam's two moments at the start."""
    return [(torch.zeros_like(p), torch.zeros_like(p)) for p in theta]


def adam(
    theta: Parameters, moments: Moments, gradient: Parameters, rate: Tensor, step: int
) -> None:
    """One step in place; a replication with rate zero stays where it is."""
    first, second, constant = ADAM
    for p, (mean, square), g in zip(theta, moments, gradient, strict=True):
        mean.lerp_(g, 1 - first)
        square.lerp_(g * g, 1 - second)
        size = (square / (1 - second**step)).sqrt_().add_(constant)
        p -= rate * (mean / (1 - first**step)) / size


def norms(gradient: Parameters) -> Array:
    """(R,) largest entry of each replication's gradient."""
    norms = torch.stack([g.abs().amax(dim=(1, 2)) for g in gradient]).amax(dim=0)
    return np.asarray(norms.numpy(), dtype=np.float64)


@shaped
def scaling(
    states: Float[Array, "n d"], standardise: bool
) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
    """Centre and scale of the inputs."""
    if not standardise:
        return np.zeros(states.shape[1]), np.ones(states.shape[1])
    spread = states.std(axis=0)
    return states.mean(axis=0), np.where(spread > 0, spread, 1.0)


Refresh = Callable[[NDArray[np.bool_]], None]  # given the replications still active


class Descent(NamedTuple):
    """R trained networks, and (R,) whether each converged, its steps and its gradient's norm."""

    theta: Parameters
    converged: NDArray[np.bool_]
    steps: Integers
    gradient_norm: Array


def adam_descent(
    theta: Parameters,
    full: Callable[[], Parameters],
    drawn: Callable[[], Parameters],
    steps: int,
    learning_rate: float,
    tolerance: float,
    check_every: int,
    refresh: Refresh = lambda active: None,
) -> Descent:
    """Adam on R networks, `theta` in place, the rate falling linearly to zero.

    A replication stops once no entry of its gradient over all rows (`full`) exceeds the tolerance,
    or one is not finite. `refresh` is called before each such check with the replications still
    active, of which it may clear some; `drawn` is the gradient of a step.
    """
    moments, size = no_moments(theta), len(theta[0])
    active, taken = np.ones(size, dtype=bool), np.zeros(size, dtype=np.int64)
    norm = np.zeros(size)
    for t in range(steps + 1):
        if t % check_every == 0 or t == steps:
            refresh(active)
            norm = np.where(active, norms(full()), norm)
            active &= (norm > tolerance) & np.isfinite(norm)
        if t == steps or not np.any(active):
            break
        rate = torch.from_numpy(active * learning_rate * (1 - t / steps))[:, None, None]
        adam(theta, moments, drawn(), rate, t + 1)
        taken += active
    return Descent(theta, norm <= tolerance, taken, norm)


def pad(
    columns: Sequence[NDArray[Any]], scalings: Sequence[tuple[Array, Array]] | None = None
) -> Tensor:
    """(R, n, ...) from R arrays (n_r, ...), each by its (centre, scale) if given; zeros below."""
    if scalings is not None:
        pairs = zip(columns, scalings, strict=True)
        columns = [(column - centre) / scale for column, (centre, scale) in pairs]
    return pad_sequence([torch.from_numpy(column) for column in columns], batch_first=True)


def draw(
    share: Tensor, rngs: Sequence[np.random.Generator], size: int, *columns: Tensor
) -> list[Tensor]:
    """(R, size, ...) rows of (R, n, ...) columns, drawn with replacement by their shares (R, n)."""
    ladder = torch.cumsum(share, dim=1)
    draws = torch.from_numpy(np.stack([rng.random(size) for rng in rngs]))
    index = torch.searchsorted(ladder, draws * ladder[:, -1:], right=True)
    index.clamp_max_(share.shape[1] - 1)
    places = [index[(..., *[None] * (column.dim() - 2))] for column in columns]
    return [torch.take_along_dim(*pair, dim=1) for pair in zip(columns, places, strict=True)]


@dataclass(frozen=True)
class Network:
    """A trained network as a function of (n, d) features, (n, A) outputs."""

    layers: tuple[Array, ...]
    activation: str
    centre: Array
    scale: Array

    def __call__(self, states: Array) -> Array:
        theta = [torch.from_numpy(part[None]) for part in self.layers]
        x = torch.from_numpy((states - self.centre) / self.scale)
        return np.asarray(outputs(theta, x[None], self.activation)[0].numpy())


def networks(
    theta: Parameters, activation: str, scalings: Sequence[tuple[Array, Array]]
) -> list[Network]:
    """The R networks as functions, their inputs scaled as in training."""
    return [
        Network(tuple(p[r].detach().numpy().copy() for p in theta), activation, *scaling)
        for r, scaling in enumerate(scalings)
    ]
