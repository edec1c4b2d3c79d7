"""Bus engines with inputs that matter: two features of the reward, and four.

u = s / 10 is an input on {-1, -.9, ..., 1}; all inputs are exogenous, and zeta depends on the
mileage alone. `DESIGNS` maps a name to a function of the number of inputs.
"""

from collections.abc import Callable

import numpy as np

from gladius.designs.bus import DUMMY_LIMIT
from gladius.designs.inputs_bus import InputsBus
from reproduce.engine.nouns import Array

LEVELS = 2 * DUMMY_LIMIT + 1


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
        draw=lambda rng, paths, periods: rng.integers(
            -DUMMY_LIMIT, DUMMY_LIMIT + 1, (paths, periods, count)
        ),
        type_of=lambda relevant: relevant[:, :count] @ signs + DUMMY_LIMIT * count,
        kernel=np.tile(probabilities, (types, 1)),
        effect=np.tile(size * sums / DUMMY_LIMIT, (20, 1)),
        increments=np.full((types, 4), 1 / 4),
    )


DESIGNS: dict[str, Callable[[int], InputsBus]] = {
    "linear": lambda k: several(k, np.array([0.3])),  # .3 u_1 in r
    "three": lambda k: several(k, np.full(3, 0.2)),  # three inputs of .2
}
