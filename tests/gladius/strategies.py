"""Hypothesis strategies of the library's tests; those of worlds are the claims' own."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gladius.model.mdp import TabularMDP
from gladius.panel.record import Transitions
from proofs_checks.claims.instances import DISCOUNTS, REWARDS, tabular_mdps
from proofs_checks.claims.instances import distributions as laws

__all__ = ["DISCOUNTS", "REWARDS", "laws", "mdp_batches", "paths", "tabular_mdps", "transitions"]


# 0.1 to 0.3 and their sums are not what they seem in binary; -0.0 equals 0.0 with other bits.
FLOATS = st.sampled_from([-0.0, 0.0, 0.1, 0.2, 0.3, -1.5, 1e-300, 1e15])
WHOLES = st.integers(-3, 3).map(float)


@st.composite
def mdp_batches(draw: st.DrawFn) -> list[TabularMDP]:
    """Two to four worlds of one shape and one discount."""
    states, actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    number, beta = draw(st.integers(2, 4)), draw(DISCOUNTS)
    rewards = draw(arrays(np.float64, (number, states, actions), elements=REWARDS))
    moves = draw(laws((number, actions, states, states), self_loops=True))
    initial = np.full(states, 1 / states)
    return [TabularMDP(r, p, beta, initial) for r, p in zip(rewards, moves, strict=True)]


@st.composite
def transitions(
    draw: st.DrawFn,
    max_rows: int = 25,
    elements: st.SearchStrategy[float] = WHOLES | FLOATS,
    actions: int = 3,
    max_trajectories: int = 4,
    width: int | None = None,
) -> Transitions:
    """Data whose states repeat, with actions that may never occur, ends and mixed trajectories."""
    n = draw(st.integers(1, max_rows))
    d = draw(st.integers(1, 3)) if width is None else width

    def column(dtype: Any, values: st.SearchStrategy[Any]) -> NDArray[Any]:
        return draw(arrays(dtype, n, elements=values))

    return Transitions(
        states=draw(arrays(np.float64, (n, d), elements=elements)),
        actions=column(np.int64, st.integers(0, actions - 1)),
        next_states=draw(arrays(np.float64, (n, d), elements=elements)),
        trajectory=column(np.int64, st.integers(0, max_trajectories - 1)),
        done=column(np.bool_, st.booleans()),
        number_of_actions=actions,
    )


@st.composite
def paths(draw: st.DrawFn) -> Transitions:
    """Some trajectories over few states, in order, cut and ended here and there."""
    number, periods = draw(st.integers(1, 3)), draw(st.integers(2, 8))
    shape = (number, periods)
    states = draw(arrays(np.float64, (number, periods + 1), elements=st.integers(0, 2).map(float)))
    done = draw(arrays(np.bool_, shape, elements=st.booleans()))
    kept = draw(arrays(np.bool_, shape, elements=st.sampled_from([True, True, True, False])))
    kept[0, :2], done[0, 0] = True, False
    rows = kept.ravel()
    return Transitions(
        states[:, :-1].ravel()[rows],
        draw(arrays(np.int64, shape, elements=st.integers(0, 1))).ravel()[rows],
        states[:, 1:].ravel()[rows],
        np.repeat(np.arange(number), periods)[rows],
        done.ravel()[rows],
        2,
    )
