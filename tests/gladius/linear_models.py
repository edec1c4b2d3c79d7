"""Small models that are linear in their parameters, and the plain oracles of several methods."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import log_softmax
from strategies import laws

from gladius import Estimate, TabularMDP, Transitions

Array = NDArray[np.float64]

QUARTERS = st.integers(-8, 8).map(lambda n: n / 4)
THETAS = arrays(np.float64, 2, elements=st.integers(-6, 6).map(lambda n: n / 4))


class LinearModel(NamedTuple):
    """Q of r = offset + design @ theta, and counts of choices."""

    visits: Array
    transition: Array
    design: Array
    offset: Array
    discount: float


@st.composite
def linear_models(draw: st.DrawFn) -> LinearModel:
    """Two to four states, two or three actions, any counts, two parameters."""
    states, actions = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    shape = (states, actions)
    visits = draw(arrays(np.float64, shape, elements=st.integers(0, 9).map(float)))
    assume(visits.sum() > 0)
    return LinearModel(
        visits,
        draw(laws((actions, states, states))),
        draw(arrays(np.float64, (*shape, 2), elements=QUARTERS)),
        draw(arrays(np.float64, shape, elements=QUARTERS)),
        draw(st.sampled_from([0.3, 0.8, 0.9])),
    )


def iterated(reward: Array, transition: Array, discount: float) -> Array:
    """(S, A) Q by value iteration from 0, an action at a time, until beta^t < 1e-15."""
    v = np.zeros(len(reward))
    for _ in range(int(np.log(1e-15) / np.log(discount)) + 2):
        q = np.stack(
            [r + discount * p @ v for r, p in zip(reward.T, transition, strict=True)], axis=1
        )
        v = np.logaddexp.reduce(q, axis=1)
    return np.asarray(q)


def log_likelihood(theta: Array, model: LinearModel) -> float:
    """Of the choices, where Q solves the Bellman equation of theta."""
    q = iterated(model.offset + model.design @ theta, model.transition, model.discount)
    return float(np.sum(model.visits * log_softmax(q, axis=1)))


def sample(
    world: TabularMDP, trajectories: int, horizon: int, rng: np.random.Generator
) -> Transitions:
    """Data of any world, one trajectory after the other."""
    paths = world.simulate(trajectories, horizon, rng)
    return Transitions(
        world.features[paths.states.ravel()],
        paths.actions.ravel(),
        world.features[paths.next_states.ravel()],
        np.repeat(np.arange(trajectories), horizon),
        number_of_actions=world.reward.shape[1],
    )


def extra(estimate: Estimate, name: str) -> Any:
    return estimate.diagnostics.extra[name]


def thetas(estimates: list[Estimate]) -> Array:
    return np.array([extra(estimate, "theta") for estimate in estimates])
