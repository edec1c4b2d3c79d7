"""Instances: strategies that draw the arrays themselves, so that a failure shrinks to one.

Tabular MDPs come from whole-number weights: few and small ones make absorbing states, moves of
probability zero, certain moves and ties likely, and a shrunk example readable. Rewards reach
100 either way, which makes choices certain to the last digit; beta reaches 0.999.
"""

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from gladius.model.mdp import TabularMDP
from gladius.validate import Array
from proofs_checks.claims.claims import find
from proofs_checks.oracle.risk import Population, Sample


def quarters(most: int) -> st.SearchStrategy[float]:
    """Multiples of 1/4 up to most / 4 either way."""
    return st.integers(-most, most).map(lambda n: n / 4)


MILD = quarters(12)  # rewards that leave no choice out of reach
REWARDS = quarters(12) | st.integers(-100, 100).map(float)
VALUES = quarters(12) | st.floats(-20, 20)
DISCOUNTS = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]) | st.floats(0.01, 0.999)


@cache  # a strategy is validated once, which takes as long as a draw
def tables(
    shape: int | tuple[int, ...], elements: st.SearchStrategy[Any] = VALUES
) -> st.SearchStrategy[Array]:
    """Arrays of drawn numbers."""
    return arrays(np.float64, shape, elements=elements)


@cache
def whole_numbers(shape: int | tuple[int, ...], most: int) -> st.SearchStrategy[NDArray[np.int64]]:
    """Arrays of numbers from 0 to `most`."""
    return arrays(np.int64, shape, elements=st.integers(0, most))


def anchors(states: int, actions: int) -> st.SearchStrategy[NDArray[np.int64]]:
    """The anchor action of each state."""
    return whole_numbers(states, actions - 1)


@cache
@st.composite
def distributions(draw: st.DrawFn, shape: tuple[int, ...], self_loops: bool = False) -> Array:
    """Rows of probabilities; a row of zero weights is certain: its own state, or the first."""
    weights = draw(whole_numbers(shape, 4)).astype(float)
    rows = weights.reshape(-1, shape[-1])
    empty = np.flatnonzero(rows.sum(axis=1) == 0)
    rows[empty, empty % shape[-1] if self_loops else 0] = 1.0
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


@st.composite
def tabular_mdps(
    draw: st.DrawFn,
    max_states: int = 5,
    max_actions: int = 3,
    discounts: st.SearchStrategy[float] = DISCOUNTS,
    rewards: st.SearchStrategy[float] = REWARDS,
) -> TabularMDP:
    """Worlds of one state and one action upwards."""
    states, actions = draw(st.integers(1, max_states)), draw(st.integers(1, max_actions))
    return TabularMDP(
        reward=draw(tables((states, actions), rewards)),
        transition=draw(distributions((actions, states, states), self_loops=True)),
        discount=draw(discounts),
        initial=draw(distributions((states,))),
    )


# A tabular world, some Q (S, A) on it, not its solution, and where a check needs it a number for
# each pair: h, zeta, or a step away from rho*.
Fitted = namedtuple("Fitted", "mdp q dual", defaults=[np.zeros(1)])


@st.composite
def fitted(draw: st.DrawFn, max_states: int = 4, max_actions: int = 3) -> Fitted:
    """Worlds with an arbitrary Q."""
    mdp = draw(tabular_mdps(max_states, max_actions))
    return Fitted(mdp, draw(tables(mdp.reward.shape)))


def population(guess: Any) -> Population:
    """The oracle's risks by pair of the Q of an instance, on its world."""
    mdp = guess.mdp
    return Population(np.swapaxes(mdp.transition, 0, 1), mdp.reward, guess.q, mdp.discount)


# A grouped data set and some outputs q (X, A) on its states.
Empirical = namedtuple("Empirical", "sample q")


@st.composite
def empirical(draw: st.DrawFn, max_states: int = 4, max_actions: int = 3) -> Empirical:
    """Data sets with at least one anchor row, whose states all occur, and outputs on them.

    States only seen as s', actions never taken, certain moves, states without anchor are drawn.
    """
    states, actions = draw(st.integers(1, max_states)), draw(st.integers(1, max_actions))
    shape = (states, actions, states)
    moves = draw(whole_numbers(shape, 3)).astype(float)
    anchor = draw(anchors(states, actions))
    present = moves.sum(axis=(1, 2)) + moves.sum(axis=(0, 1)) > 0
    moves[0, anchor[0], ~present] += 1  # a state that does not occur is not evaluated
    moves[0, anchor[0], 0] += moves[np.arange(states), anchor].sum() == 0
    reward = draw(tables(states, REWARDS))
    sample = Sample(moves, anchor, reward, draw(DISCOUNTS))
    return Empirical(sample, draw(tables((states, actions))))


@st.composite
def full_samples(draw: st.DrawFn, max_states: int, max_actions: int, top: float = 0.99) -> Sample:
    """Data sets in which every action was taken in every state: f-hat_N has a solution."""
    states, actions = draw(st.integers(1, max_states)), draw(st.integers(1, max_actions))
    shape = (states, actions, states)
    moves = draw(whole_numbers(shape, 3)).astype(float)
    always = draw(whole_numbers(shape[:2], states - 1))
    np.put_along_axis(
        moves, always[..., None], np.take_along_axis(moves, always[..., None], 2) + 1, 2
    )
    anchor = draw(anchors(states, actions))
    reward = draw(tables(states))
    discount = draw(st.sampled_from([0.3, 0.5, 0.9, 0.95]) | st.floats(0.05, top))
    return Sample(moves, anchor, reward, discount)


# --- worlds and data sets that counterexamples and controls are made of
def absorbing(reward: ArrayLike, discount: float = 0.5) -> TabularMDP:
    """Every state absorbing, each as likely as the others to be the first; rewards (S, A)."""
    table = np.array(reward, dtype=float)
    states, actions = table.shape
    stay = np.broadcast_to(np.eye(states), (actions, states, states))
    return TabularMDP(table, stay, discount, np.full(states, 1 / states))


def uniform(reward: ArrayLike, discount: float, initial: ArrayLike) -> TabularMDP:
    """Every state equally likely to follow, whatever was done; rewards (S, A)."""
    table = np.array(reward, dtype=float)
    states, actions = table.shape
    moves = np.full((actions, states, states), 1 / states)
    return TabularMDP(table, moves, discount, np.array(initial, dtype=float))


def coin(actions: int) -> TabularMDP:
    """The last action leads from 0 to 1 or 2, each with 1/2; else one stays; r = 0, beta = 1/2."""
    moves = np.tile(np.eye(3), (actions, 1, 1))
    moves[-1, 0] = [0.0, 0.5, 0.5]
    return TabularMDP(np.zeros((3, actions)), moves, 0.5, np.eye(3)[0])


def leaving_zero(actions: int) -> TabularMDP:
    """s_0 = 0, then state 1 for ever; r = 0, beta = 1/2.

    Where state 1 stands for (0, 1], entered uniformly, only s = 0 has positive probability.
    """
    moves = np.array([[[0.0, 1.0], [0.0, 1.0]]] * actions)
    return TabularMDP(np.zeros((2, actions)), moves, 0.5, np.array([1.0, 0.0]))


def one_state(
    choices: list[int], reward: float = 0.0, discount: float = 0.5, anchor: int = 0
) -> Sample:
    """A data set on one absorbing state with n(a) `choices`."""
    moves = np.array(choices, dtype=float).reshape(1, -1, 1)
    return Sample(moves, np.array([anchor]), np.array([reward]), discount)


def tightest(make: Callable[[float], Any], id_: str, low: float, high: float) -> Callable[[], Any]:
    """An adversary of a claim: the instance of a family in one number with the least slack."""

    def search() -> Any:
        check = find(id_).surviving
        least = minimize_scalar(
            lambda x: check(make(x)).slack, bounds=(low, high), method="bounded"
        )
        return make(float(least.x))

    return search
