"""Bus engines with inputs that matter: two features of the reward, four, and eleven.

u = s / 10 is an input on {-1, -.9, ..., 1}; all inputs are exogenous, and zeta depends on the
mileage alone. `DESIGNS` maps a name to a function of the number of inputs. In those of `MATTER` no
state recurs and ten inputs matter, so that V after the anchor action is random too. Both rewards
are 3 lower than the paper's, or r would pass zero, where no relative error is defined.
"""

from collections.abc import Callable

import numpy as np

from gladius.designs.bus import DUMMY_LIMIT
from gladius.designs.inputs_bus import InputsBus
from reproduce.engine.nouns import Array

LEVELS = 2 * DUMMY_LIMIT + 1


def several(
    inputs: int,
    coefficients: Array,
    of_sum: Callable[[Array], Array] = lambda z: z,
    anchor_reward: float = -5.0,
) -> InputsBus:
    """A world with f(sum_k c_k u_k), f `of_sum`, in r(., maintain); the c_k differ in sign only.

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
        draw=lambda rng, paths, periods: rng.integers(
            -DUMMY_LIMIT, DUMMY_LIMIT + 1, (paths, periods, count)
        ),
        type_of=lambda relevant: relevant[:, :count] @ signs + DUMMY_LIMIT * count,
        kernel=np.tile(probabilities, (types, 1)),
        effect=np.tile(of_sum(size * sums / DUMMY_LIMIT), (20, 1)),
        increments=np.full((types, 4), 1 / 4),
        anchor_reward=anchor_reward,
    )


DESIGNS: dict[str, Callable[[int], InputsBus]] = {
    "linear": lambda k: several(k, np.array([0.3])),  # .3 u_1 in r
    "three": lambda k: several(k, np.full(3, 0.2)),  # three inputs of .2
}

MATTER: dict[str, Callable[[], InputsBus]] = {
    # r(x, u, maintain) = -3 - x + .3 sum u
    "ten inputs, additive": lambda: several(10, np.full(10, 0.3), lambda z: z - 3, -8.0),
    # -4 - x + min(|sum u|, 3): no sum of functions of the inputs
    "ten inputs, not additive": lambda: several(
        10, np.ones(10), lambda z: np.minimum(np.abs(z), 3.0) - 4, -8.0
    ),
}
