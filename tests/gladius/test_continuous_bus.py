"""The bus engine with continuous mileage: its solution against quadrature, and its paths."""

import numpy as np
import pytest
from scipy.integrate import quad

from gladius.worlds.continuous_bus import NEW, ContinuousBus

EFFECT = tuple(0.03 * np.arange(-10, 11))


@pytest.mark.parametrize("world", [ContinuousBus(), ContinuousBus(1, EFFECT)])
def test_the_solution_solves_the_bellman_equation(world: ContinuousBus) -> None:
    """zeta(x) is the integral of V over the increments, and V(NEW) is V at NEW."""

    def value(x: float) -> float:
        levels = np.arange(-10.0, 11.0) if len(world.effect) > 1 else np.zeros(1)
        states = np.stack([np.full(len(levels), x), levels], axis=1)[:, : 1 + world.inputs]
        return float(np.logaddexp.reduce(world.q(states), axis=1).mean())

    assert value(NEW) == pytest.approx(world.value_of_new, abs=1e-8)
    for x in (1.0, 2.3, 7.0, 15.0):
        density = lambda e: value(x + e) * np.exp(-e / world.mean) / world.mean  # noqa: E731, B023 (used at once)
        assert quad(density, 0, 60, limit=200)[0] == pytest.approx(
            float(world.zeta(np.array([x]))[0]), abs=1e-6
        )


def test_paths_follow_the_policy_and_the_law() -> None:
    world = ContinuousBus()
    data = world.simulate(400, np.random.default_rng(0))
    replaced = data.actions == 1
    assert np.all(data.next_states[replaced, 0] == NEW)
    grown = (data.next_states - data.states)[~replaced, 0]
    assert grown.min() > 0
    assert grown.mean() == pytest.approx(2.5, abs=4 * 2.5 / np.sqrt(len(grown)))
    q = world.q(data.states)
    chance = 1 / (1 + np.exp(q[:, 0] - q[:, 1]))
    error = np.sqrt(np.sum(chance * (1 - chance)))
    assert abs(np.sum(replaced) - np.sum(chance)) < 4 * error
    wider = ContinuousBus(3).simulate(400, np.random.default_rng(0))
    np.testing.assert_array_equal(wider.states[:, 0], data.states[:, 0])
