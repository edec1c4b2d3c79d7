"""Bus engines whose inputs matter in the ways that a method on observations must be able to see.

u = s / 10 is an input on {-1, -.9, ..., 1}; all inputs are exogenous. `VARIANTS` maps a name to
what matters in the world, the columns of the state on which r and zeta depend (mileage is 0), and
a function that makes it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gladius.designs.bus import DUMMY_LIMIT
from gladius.designs.continuous_bus import ContinuousBus
from gladius.designs.inputs_bus import InputsBus
from gladius.panel.record import Integers
from reproduce.engine.nouns import Array

LEVELS = 2 * DUMMY_LIMIT + 1
U = np.arange(-DUMMY_LIMIT, DUMMY_LIMIT + 1) / DUMMY_LIMIT
FIRST, SECOND = np.repeat(U, LEVELS), np.tile(U, LEVELS)  # u_1 and u_2 of each type of a pair
SIGNS = np.where(np.arange(30) % 2, -1.0, 1.0)


@dataclass(frozen=True)
class Variant:
    """A world, in words and as a function of the number of inputs."""

    title: str  # what matters, and how
    reward: tuple[int, ...]  # reward, zeta: the columns of the state on which r and zeta depend
    zeta: tuple[int, ...]
    make: Callable[[int], InputsBus | ContinuousBus]  # number of inputs -> world


def pair(inputs: int, effect: Array, **given: Any) -> InputsBus:
    """A world in which the first two inputs matter.

    `effect` (441,) is added to r(., maintain) for each type (u_1, u_2); `given` are attributes of
    the world other than those of independent inputs.
    """
    types = LEVELS**2
    attributes: dict[str, Any] = {
        "draw": independent(2),
        "type_of": lambda relevant: (relevant[:, :2] + DUMMY_LIMIT) @ (LEVELS, 1),
        "kernel": np.full((types, types), 1 / types),
        "increments": np.full((types, 4), 1 / 4),
    }
    attributes |= given
    return InputsBus(inputs, effect=np.broadcast_to(effect, (20, types)), **attributes)


def several(inputs: int, coefficients: Array) -> InputsBus:
    """A world with sum_k c_k u_k in r(., maintain); the c_k differ in sign only.

    The type is the signed sum of the inputs, of which the reward is a function.
    """
    count, size = len(coefficients), float(np.abs(coefficients[0]))
    signs = np.rint(coefficients / size).astype(np.int64)
    uniform = np.full(LEVELS, 1 / LEVELS)
    probabilities = uniform
    for _ in range(count - 1):
        probabilities = np.convolve(probabilities, uniform)
    types = len(probabilities)
    sums = np.arange(types) - DUMMY_LIMIT * count
    return InputsBus(
        inputs,
        draw=independent(count),
        type_of=lambda relevant: relevant[:, :count] @ signs + DUMMY_LIMIT * count,
        kernel=np.tile(probabilities, (types, 1)),
        effect=np.tile(size * sums / DUMMY_LIMIT, (20, 1)),
        increments=np.full((types, 4), 1 / 4),
    )


def independent(count: int) -> Callable[[np.random.Generator, int, int], Integers]:
    """A function that draws inputs independently in every period."""
    return lambda rng, paths, periods: rng.integers(
        -DUMMY_LIMIT, DUMMY_LIMIT + 1, (paths, periods, count)
    )


def lagged(rng: np.random.Generator, paths: int, periods: int) -> Integers:
    """Draws (u_1, u_1 of the period before)."""
    values = rng.integers(-DUMMY_LIMIT, DUMMY_LIMIT + 1, (paths, periods + 1))
    return np.stack([values[:, 1:], values[:, :-1]], axis=-1)


def lagged_world(inputs: int) -> InputsBus:
    """A world in which u_1 of the period before makes large increments of the mileage likelier."""
    kernel: Array = np.zeros((LEVELS, LEVELS, LEVELS, LEVELS))
    for first in range(LEVELS):
        kernel[first, :, :, first] = 1 / LEVELS  # (u_1, u_2) leads to (anything, u_1)
    weight: Array = np.exp(SECOND[:, None] * np.arange(4))
    increments = weight / weight.sum(axis=1, keepdims=True)
    flat = kernel.reshape(LEVELS**2, LEVELS**2)
    return pair(inputs, 0 * FIRST, draw=lagged, kernel=flat, increments=increments)


def correlated(rng: np.random.Generator, paths: int, periods: int) -> Integers:
    """Draws two inputs, each a common component and noise: correlation about .6."""
    common = rng.integers(-6, 7, (paths, periods, 1))
    noise = rng.integers(-4, 5, (paths, periods, 2))
    return common + noise


def correlated_world(inputs: int) -> InputsBus:
    """A world with .3 u_1 + .3 u_2 in r(., maintain), the two inputs correlated."""
    probabilities = np.zeros((LEVELS, LEVELS))
    for common in range(-6, 7):
        block = slice(common - 4 + DUMMY_LIMIT, common + 5 + DUMMY_LIMIT)
        probabilities[block, block] += 1 / (13 * 81)
    kernel = np.tile(probabilities.ravel(), (LEVELS**2, 1))
    return pair(inputs, 0.3 * FIRST + 0.3 * SECOND, draw=correlated, kernel=kernel)


VARIANTS = {
    "linear": Variant(".3 u_1 in r", (0, 1), (0,), lambda k: several(k, np.array([0.3]))),
    "three": Variant(
        "three inputs of .2", tuple(range(4)), (0,), lambda k: several(k, np.full(3, 0.2))
    ),
    "product": Variant(
        ".6 u_1 u_2 in r, no main effect", (0, 1, 2), (0,), lambda k: pair(k, 0.6 * FIRST * SECOND)
    ),
    "lag": Variant("u_1 moves the increments one period later", (0,), (0, 1, 2), lagged_world),
    "correlated": Variant(".3 u_1 + .3 u_2, correlation .6", (0, 1, 2), (0,), correlated_world),
    "thirty": Variant(
        "thirty inputs of .03", tuple(range(31)), (0,), lambda k: several(k, 0.03 * SIGNS)
    ),
    "continuous linear": Variant(
        "continuous mileage, .3 u_1", (0, 1), (0,), lambda k: ContinuousBus(k, tuple(0.3 * U))
    ),
}
