"""Instances: strategies that draw the arrays themselves, so that a failure shrinks to one.

Tabular MDPs come from whole-number weights: few and small ones make absorbing states, moves of
probability zero, certain moves and ties likely, and a shrunk example readable. Rewards reach
100 either way, which makes choices certain to the last digit; beta reaches 0.999.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.checks import Array
from gladius.mdp import TabularMDP
from proofs_checks.oracle.grouped import Sample

REWARDS = st.integers(-12, 12).map(lambda n: n / 4) | st.integers(-100, 100).map(float)
VALUES = st.integers(-12, 12).map(lambda n: n / 4) | st.floats(-20, 20)
DISCOUNTS = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]) | st.floats(0.01, 0.999)


@st.composite
def laws(draw: st.DrawFn, shape: tuple[int, ...], self_loops: bool = False) -> Array:
    """Rows of probabilities; a row of zero weights is certain: its own state, or the first."""
    weights = draw(arrays(np.int64, shape, elements=st.integers(0, 4))).astype(float)
    rows = weights.reshape(-1, shape[-1])
    empty = np.flatnonzero(rows.sum(axis=1) == 0)
    rows[empty, empty % shape[-1] if self_loops else 0] = 1.0
    law: Array = weights / weights.sum(axis=-1, keepdims=True)
    return law


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
        reward=draw(arrays(np.float64, (states, actions), elements=rewards)),
        transition=draw(laws((actions, states, states), self_loops=True)),
        discount=draw(discounts),
        initial=draw(laws((states,))),
    )


@dataclass(frozen=True)
class Fitted:
    """A tabular world and some Q (S, A) on it, not its solution."""

    mdp: TabularMDP
    q: Array


@st.composite
def fitted(draw: st.DrawFn, max_states: int = 4, max_actions: int = 3) -> Fitted:
    """Worlds with an arbitrary Q."""
    mdp = draw(tabular_mdps(max_states, max_actions))
    return Fitted(mdp, draw(arrays(np.float64, mdp.reward.shape, elements=VALUES)))


@dataclass(frozen=True)
class Empirical:
    """A grouped data set and some outputs q (X, A) on its states."""

    sample: Sample
    q: Array


@st.composite
def empirical(draw: st.DrawFn, max_states: int = 4, max_actions: int = 3) -> Empirical:
    """Data sets with at least one anchor row, whose states all occur, and outputs on them.

    States that occur only as s', actions never taken, certain moves and states without an anchor
    row are all drawn.
    """
    states, actions = draw(st.integers(1, max_states)), draw(st.integers(1, max_actions))
    shape = (states, actions, states)
    moves = draw(arrays(np.int64, shape, elements=st.integers(0, 3))).astype(float)
    anchor = draw(arrays(np.int64, states, elements=st.integers(0, actions - 1)))
    present = moves.sum(axis=(1, 2)) + moves.sum(axis=(0, 1)) > 0
    moves[0, anchor[0], ~present] += 1  # a state that does not occur is not evaluated
    moves[0, anchor[0], 0] += moves[np.arange(states), anchor].sum() == 0
    reward = draw(arrays(np.float64, states, elements=REWARDS))
    sample = Sample(moves, anchor, reward, draw(DISCOUNTS))
    return Empirical(sample, draw(arrays(np.float64, (states, actions), elements=VALUES)))
