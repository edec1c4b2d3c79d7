"""Networks trained by Adam, in torch: R networks in one batched program.

Each network gets the result of training it alone. `Parameters` are a weight (R, in, out) and a bias
(R, 1, out) of each layer in turn, float64. Adam is batched, with a rate for each replication, which
torch.optim does not offer.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from gladius.panel.record import Integers
from gladius.validate import Array, InputError, check_choice, check_positive, check_whole, shaped

ADAM = (0.9, 0.999, 1e-8)  # decay of the two moments and the constant, the usual ones
NONE = 1e-9  # of the largest entry of a gradient, below which an entry is rounding
HIDDEN = (10, 10)  # widths of the hidden layers, those of the paper under check
LEARNING_RATE = 0.01  # of Adam at the first step
ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu, "elu": torch.nn.functional.elu}

Tensor = torch.Tensor
Parameters = list[Tensor]
Moments = list[tuple[Tensor, Tensor]]
S = TypeVar("S", bound="Sample")


@dataclass(frozen=True)
class Training:
    """How networks are trained.

    Attributes:
        steps: of Adam, at most; its rate falls linearly to zero over them.
        batch: observations a step, drawn with replacement; None: all of them, as counts.
        tolerance: stop once no entry of the full gradient per observation exceeds it.
        activation: of the hidden layers, one of ACTIVATIONS.
        validation: share of the training trajectories held out to stop the training; 0: none.
    """

    steps: int = 3000
    batch: int | None = None
    tolerance: float = 1e-5
    activation: str = "tanh"
    validation: float = 0.0

    def __post_init__(self) -> None:
        check_whole("steps", self.steps, 1)
        if self.batch is not None:
            check_whole("batch", self.batch, 1)
        check_positive("tolerance", self.tolerance, "give a positive number")
        check_choice("activation", self.activation, tuple(ACTIVATIONS))
        if not 0 <= self.validation < 1:
            raise InputError("validation", self.validation, "give a share from 0 to below 1")


def start(rngs: Sequence[np.random.Generator], widths: Sequence[int]) -> Parameters:
    """Weights and biases uniform on +- 1 / sqrt(fan-in), each replication's by its generator."""
    layers = [(rows, *layer) for layer in pairwise(widths) for rows in (layer[0], 1)]
    values = [
        [rng.uniform(-1, 1, (rows, out)) / np.sqrt(fan_in) for rows, fan_in, out in layers]
        for rng in rngs
    ]
    return [torch.as_tensor(np.stack(layer)) for layer in zip(*values, strict=True)]


@shaped
def outputs(
    theta: Parameters, x: Float[Tensor, "R n d"], activation: str
) -> Float[Tensor, "R n A"]:
    """Outputs of the last layer; tanh, relu or elu between the layers."""
    layer = torch.baddbmm(theta[1], x, theta[0])
    for i in range(2, len(theta), 2):
        layer = torch.baddbmm(theta[i + 1], ACTIVATIONS[activation](layer), theta[i])
    return layer


def views(flat: Tensor, like: Parameters) -> Parameters:
    """Layers in the shapes of others, as views of one vector for each network, (R, 1, n)."""
    layers = torch.split(flat[:, 0], [layer[0].numel() for layer in like], dim=1)
    return [layer.view(one.shape) for layer, one in zip(layers, like, strict=True)]


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
    """One step in place; a replication with rate zero stays where it is.

    The first step has the same length in every entry. Those below NONE, which are zero but for
    rounding, take none.
    """
    first, second, constant = ADAM
    if step == 1:
        least = NONE * torch.stack([g.abs().amax(dim=(1, 2)) for g in gradient]).amax(dim=0)
        gradient = [g * (g.abs() > least[:, None, None]) for g in gradient]
    for p, (mean, square), g in zip(theta, moments, gradient, strict=True):
        mean.lerp_(g, 1 - first)
        square.lerp_(g * g, 1 - second)
        size = (square / (1 - second**step)).sqrt_().add_(constant)
        p -= rate * (mean / (1 - first**step)) / size


@contextmanager
def without_denormals() -> Iterator[None]:
    """Within it numbers below the smallest with full precision count as zero on this thread.

    A processor takes many times as long for them, and in float32 (below 1e-38) Adam's second
    moments get there. The caller's setting is restored.
    """
    was_set = bool(torch.tensor(1e-40, dtype=torch.float32, device="cpu") == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(was_set)


@shaped
def scaling(states: Float[Array, "n d"]) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
    """Mean and standard deviation of each input; 1 for an input that is constant."""
    spread = states.std(axis=0)
    return states.mean(axis=0), np.where(spread > 0, spread, 1.0)


@dataclass(frozen=True)
class Sample:
    """Observations of R data sets as tensors (R, n, ...), padded with share 0."""

    share: Tensor  # (R, n) of the observations; sums to one

    @cached_property
    def ladder(self) -> Tensor:
        """(R, n) cumulative shares. They are on the CPU, so that all devices draw the same."""
        return torch.cumsum(self.share.cpu(), dim=1)

    def draw(self, rngs: Sequence[np.random.Generator], size: int) -> Self:
        """`size` observations of each data set, drawn with replacement by their shares."""
        names = [field.name for field in fields(self)]
        drawn = draw(self.ladder, rngs, size, *(getattr(self, name) for name in names))
        columns = dict(zip(names, drawn, strict=True))
        return type(self)(**columns | {"share": torch.full_like(columns["share"], 1 / size)})


@dataclass(frozen=True)
class RegressionSample(Sample):
    """Regressions of R data sets."""

    states: Tensor  # (R, n, d) scaled features
    output: Tensor  # (R, n) index of the network's output
    target: Tensor  # (R, n) or (R, n, c) what that output should be on average


class TrainingResult(NamedTuple):
    """How the training of R networks ended, each (R,)."""

    converged: NDArray[np.bool_]
    steps: Integers
    gradient_norm: Array  # largest entry of the last gradient over the sample


def adam_descent(
    theta: Parameters,
    loss: Callable[[Parameters, S], Tensor],
    sample: S,
    how: Training,
    rngs: Sequence[np.random.Generator],
    check_every: int,
    refresh: Callable[[NDArray[np.bool_]], None] = lambda active: None,
) -> TrainingResult:
    """Adam on R networks, `theta` in place, the rate falling linearly to zero.

    A replication stops once no entry of its gradient over the whole sample exceeds the tolerance,
    or one is not finite.

    Args:
        theta: starting values.
        loss: maps parameters and a sample to the loss of each replication, (R,).
        sample: all observations; a step sees all of them, or `how.batch` drawn ones.
        how: steps, rate, batch and tolerance.
        rngs: a generator for each replication.
        check_every: steps between two gradients over the whole sample.
        refresh: called before each such gradient with the replications still active, (R,); it may
            clear some.
    """
    moments, size = no_moments(theta), len(theta[0])
    active, taken = np.ones(size, dtype=bool), np.zeros(size, dtype=np.int64)
    norm = np.zeros(size)

    def gradient_over(observations: S) -> Parameters:
        return gradient(theta, lambda leaves: loss(leaves, observations))

    for t in range(how.steps + 1):
        if t % check_every == 0 or t == how.steps:
            refresh(active)
            entries = [g.abs().amax(dim=(1, 2)) for g in gradient_over(sample)]
            norm = np.where(active, torch.stack(entries).amax(dim=0).numpy(force=True), norm)
            active &= (norm > how.tolerance) & np.isfinite(norm)
        if t == how.steps or not np.any(active):
            break
        batch = sample if how.batch is None else sample.draw(rngs, how.batch)
        rate = torch.as_tensor(active * LEARNING_RATE * (1 - t / how.steps))
        adam(theta, moments, gradient_over(batch), rate[:, None, None], t + 1)
        taken += active
    return TrainingResult(norm <= how.tolerance, taken, norm)


def pad(
    columns: Sequence[NDArray[Any]], scalings: Sequence[tuple[Array, Array]] | None = None
) -> Tensor:
    """(R, n, ...) from R arrays (n_r, ...), each by its (centre, scale) if given; zeros below."""
    if scalings is not None:
        pairs = zip(columns, scalings, strict=True)
        columns = [(column - centre) / scale for column, (centre, scale) in pairs]
    return pad_sequence([torch.as_tensor(column) for column in columns], batch_first=True)


def draw(
    ladder: Tensor, rngs: Sequence[np.random.Generator], size: int, *columns: Tensor
) -> list[Tensor]:
    """(R, size, ...) rows of (R, n, ...) columns, drawn with replacement.

    `ladder` has the cumulative shares of the rows, (R, n), on the CPU.
    """
    draws = torch.from_numpy(np.stack([rng.random(size) for rng in rngs]))
    index = torch.searchsorted(ladder, draws * ladder[:, -1:], right=True)
    index = index.clamp_max_(ladder.shape[1] - 1).to(columns[0].device)
    expanded = [index[(..., *[None] * (column.dim() - 2))] for column in columns]
    return [torch.take_along_dim(*pair, dim=1) for pair in zip(columns, expanded, strict=True)]


@dataclass(frozen=True)
class Network:
    """A trained network as a function of (n, d) features, (n, A) outputs."""

    layers: tuple[Array, ...]
    activation: str
    centre: Array
    scale: Array

    def __call__(self, states: Array) -> Array:
        theta = [torch.as_tensor(layer[None]) for layer in self.layers]
        x = torch.as_tensor((states - self.centre) / self.scale)
        return np.asarray(outputs(theta, x[None], self.activation)[0].numpy(force=True))


def networks(
    theta: Parameters, activation: str, scalings: Sequence[tuple[Array, Array]]
) -> list[Network]:
    """The R networks as functions, their inputs scaled as in training."""
    return [
        Network(tuple(p[r].numpy(force=True).copy() for p in theta), activation, *scaling)
        for r, scaling in enumerate(scalings)
    ]
