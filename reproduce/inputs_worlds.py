"""Bus engines whose inputs matter in the ways that a method on rows must be able to see.

u = s / 10 is an input on {-1, -.9, ..., 1}; all inputs are exogenous. `VARIANTS` maps a name to
what it says of the world, the columns of the state on which r and zeta depend (mileage is 0), and
what makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gladius.transitions import Integers
from gladius.worlds.bus import DUMMY_LIMIT
from gladius.worlds.continuous_bus import ContinuousBus
from gladius.worlds.inputs_bus import InputsBus
from reproduce.spec import Array

LEVELS = 2 * DUMMY_LIMIT + 1
U = np.arange(-DUMMY_LIMIT, DUMMY_LIMIT + 1) / DUMMY_LIMIT
X = np.arange(1.0, 21.0)
FIRST, SECOND = np.repeat(U, LEVELS), np.tile(U, LEVELS)  # u_1 and u_2 of each type of a pair
STAYS = 0.9  # of a persistent input


@dataclass(frozen=True)
class Variant:
    """A world, in words and as a function of the number of inputs.

    Attributes:
        title: what matters, and how.
        reward, zeta: the columns of the state on which r and zeta depend.
        make: number of inputs -> world.
    """

    title: str
    reward: tuple[int, ...]
    zeta: tuple[int, ...]
    make: Callable[[int], InputsBus | ContinuousBus]


def single(inputs: int, effect: Array, **changed: Any) -> InputsBus:
    """The first input matters: `effect` (20, 21) is added to r(x, u_1; maintain)."""
    told: dict[str, Any] = {
        "draw": independent(1),
        "type_of": lambda relevant: relevant[:, 0] + DUMMY_LIMIT,
        "kernel": np.full((LEVELS, LEVELS), 1 / LEVELS),
        "increments": np.full((LEVELS, 4), 1 / 4),
    }
    return InputsBus(inputs, effect=np.broadcast_to(effect, (20, LEVELS)), **told | changed)


def double(inputs: int, effect: Array, **changed: Any) -> InputsBus:
    """The first two inputs matter, `effect` (20, 441)."""
    types = LEVELS**2
    told: dict[str, Any] = {
        "draw": independent(2),
        "type_of": lambda relevant: (relevant[:, :2] + DUMMY_LIMIT) @ (LEVELS, 1),
        "kernel": np.full((types, types), 1 / types),
        "increments": np.full((types, 4), 1 / 4),
    }
    return InputsBus(inputs, effect=np.broadcast_to(effect, (20, types)), **told | changed)


def several(inputs: int, coefficients: Array, *, tilt: float = 0.0) -> InputsBus:
    """sum_k c u_k sign_k is added to r(., maintain); with a tilt it moves the increments only."""
    count, size = len(coefficients), float(np.abs(coefficients[0]))
    signs = np.rint(coefficients / size).astype(np.int64)
    share = np.full(LEVELS, 1 / LEVELS)
    law = share
    for _ in range(count - 1):
        law = np.convolve(law, share)
    sums = np.arange(len(law)) - DUMMY_LIMIT * count
    return InputsBus(
        inputs,
        draw=independent(count),
        type_of=lambda relevant: relevant[:, :count] @ signs + DUMMY_LIMIT * count,
        kernel=np.tile(law, (len(law), 1)),
        effect=np.tile((0.0 if tilt else size) * sums / DUMMY_LIMIT, (20, 1)),
        increments=tilted(tilt * sums / DUMMY_LIMIT),
    )


def independent(count: int) -> Callable[[np.random.Generator, int, int], Integers]:
    """Inputs drawn anew in every period."""
    return lambda rng, paths, periods: rng.integers(
        -DUMMY_LIMIT, DUMMY_LIMIT + 1, (paths, periods, count)
    )


def persistent(rng: np.random.Generator, paths: int, periods: int) -> Integers:
    """One input that keeps its value with probability STAYS."""
    values = rng.integers(-DUMMY_LIMIT, DUMMY_LIMIT + 1, (paths, periods))
    stays = rng.uniform(size=values.shape) < STAYS
    for t in range(1, periods):
        values[:, t] = np.where(stays[:, t], values[:, t - 1], values[:, t])
    return values[..., None]


def lagged(rng: np.random.Generator, paths: int, periods: int) -> Integers:
    """(u_1, u_2), u_2 what u_1 was a period ago."""
    values = rng.integers(-DUMMY_LIMIT, DUMMY_LIMIT + 1, (paths, periods + 1))
    return np.stack([values[:, 1:], values[:, :-1]], axis=-1)


def lag_kernel() -> Array:
    """(441, 441): (u_1, u_2) leads to (anything, u_1)."""
    kernel: Array = np.zeros((LEVELS, LEVELS, LEVELS, LEVELS))
    for first in range(LEVELS):
        kernel[first, :, :, first] = 1 / LEVELS
    return kernel.reshape(LEVELS**2, LEVELS**2)


def tilted(tilt: Array) -> Array:
    """(types, 4) probabilities of the moves 1 to 4, the larger ones likelier where tilt is."""
    weight: Array = np.exp(tilt[:, None] * np.arange(4))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def correlated(rng: np.random.Generator, paths: int, periods: int) -> Integers:
    """Two inputs, each a common part and noise: correlation about .6."""
    common = rng.integers(-6, 7, (paths, periods, 1))
    noise = rng.integers(-4, 5, (paths, periods, 2))
    return common + noise


def correlated_world(inputs: int) -> InputsBus:
    """The types' law is that of the draws."""
    law = np.zeros((LEVELS, LEVELS))
    for common in range(-6, 7):
        block = slice(common - 4 + DUMMY_LIMIT, common + 5 + DUMMY_LIMIT)
        law[block, block] += 1 / (13 * 81)
    kernel = np.tile(law.ravel(), (LEVELS**2, 1))
    return double(inputs, 0.3 * FIRST + 0.3 * SECOND, draw=correlated, kernel=kernel)


SIGNS = np.where(np.arange(30) % 2, -1.0, 1.0)
VARIANTS = {
    "linear": Variant(".3 u_1 in r", (0, 1), (0,), lambda k: single(k, 0.3 * U)),
    "moves": Variant(
        "u_1 moves the increments only",
        (0,),
        (0, 1),
        lambda k: single(k, 0 * U, increments=tilted(U)),
    ),
    "slope": Variant(
        "r = -x (1 + .3 u_1)", (0, 1), (0,), lambda k: single(k, -0.3 * np.outer(X, U))
    ),
    "product": Variant(
        ".6 u_1 u_2 in r, no main effect",
        (0, 1, 2),
        (0,),
        lambda k: double(k, 0.6 * FIRST * SECOND),
    ),
    "persistent": Variant(
        ".3 u_1, which stays with .9",
        (0, 1),
        (0, 1),
        lambda k: single(
            k,
            0.3 * U,
            draw=persistent,
            kernel=STAYS * np.eye(LEVELS) + (1 - STAYS) / LEVELS,
        ),
    ),
    "three": Variant(
        "three inputs of .2", (0, 1, 2, 3), (0,), lambda k: several(k, 0.2 * np.ones(3))
    ),
    "even": Variant(
        ".3 (3 u_1^2 - 1.1) / 2 in r, even",
        (0, 1),
        (0,),
        lambda k: single(k, 0.15 * (3 * U**2 - 1.1)),
    ),
    "wave": Variant(
        ".3 sin(5 pi u_1) in r, blind to polynomials",
        (0, 1),
        (0,),
        lambda k: single(k, 0.3 * np.sin(5 * np.pi * U)),
    ),
    "eight": Variant(
        "eight inputs of .1", tuple(range(9)), (0,), lambda k: several(k, 0.1 * SIGNS[:8])
    ),
    "thirty": Variant(
        "thirty inputs of .03", tuple(range(31)), (0,), lambda k: several(k, 0.03 * SIGNS)
    ),
    "five in zeta": Variant(
        "five inputs move the increments only",
        (0,),
        tuple(range(6)),
        lambda k: several(k, np.ones(5), tilt=0.5),
    ),
    "correlated": Variant(".3 u_1 + .3 u_2, correlation .6", (0, 1, 2), (0,), correlated_world),
    "lag": Variant(
        "u_1 moves the increments one period later",
        (0,),
        (0, 1, 2),
        lambda k: double(k, 0 * FIRST, draw=lagged, kernel=lag_kernel(), increments=tilted(SECOND)),
    ),
    "three actions": Variant(
        ".3 u_1 in r, and an action that takes two off the mileage",
        (0, 1),
        (0,),
        lambda k: single(k, 0.3 * U, partial=-3 - 0.2 * X[:, None] - 0.5 * U[None]),
    ),
    "beta .9": Variant(".3 u_1, beta .9", (0, 1), (0,), lambda k: single(k, 0.3 * U, discount=0.9)),
    "beta .99": Variant(
        ".3 u_1, beta .99", (0, 1), (0,), lambda k: single(k, 0.3 * U, discount=0.99)
    ),
    "continuous": Variant("continuous mileage alone", (0,), (0,), ContinuousBus),
    "continuous linear": Variant(
        "continuous mileage, .3 u_1", (0, 1), (0,), lambda k: ContinuousBus(k, tuple(0.3 * U))
    ),
}
STRENGTHS = (0.01, 0.02, 0.05, 0.08)  # beside the .03 of `thirty`


def weak(strength: float) -> Variant:
    """Thirty inputs so strong."""
    return Variant(
        f"thirty inputs of {strength}",
        tuple(range(31)),
        (0,),
        lambda k: several(k, strength * SIGNS),
    )


WEAK = {f"thirty of {strength}": weak(strength) for strength in STRENGTHS}
