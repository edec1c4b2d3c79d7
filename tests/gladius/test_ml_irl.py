"""ML-IRL against the weighted likelihood, Monte Carlo and known answers."""

from typing import Any

import numpy as np
import pytest
from bus_engine import ANCHOR, BUS, Array
from hypothesis import given
from hypothesis import strategies as st
from linear_models import extra, iterated
from scipy.optimize import minimize
from scipy.special import log_softmax

from gladius.baselines import ccp, ml_irl
from gladius.baselines.discounted import discounted_paths
from gladius.designs.bus import BUS_REWARD
from gladius.model.frequencies import empirical_transition_probabilities
from gladius.panel.record import Transitions, group
from gladius.validate import InputError

ORACLE: dict[str, Any] = {"transition": BUS.known_transitions}


def fitted(data: Transitions, **options: Any) -> Any:
    return ml_irl.fit([data], ANCHOR, 0.95, **{"reward": BUS_REWARD, **options})[0]


def test_the_maximum_is_that_of_an_independent_optimiser() -> None:
    """The likelihood of the paths, walked one by one, in SciPy's hands."""
    data = BUS.simulate(30, np.random.default_rng(9))
    counts = group(data)
    moves = empirical_transition_probabilities(counts).transition[0]
    state = np.searchsorted(counts.states[:, 0], data.states[:, 0])
    weight = 0.95 ** np.tile(np.arange(100), 30)
    design = BUS_REWARD.design(counts.states)

    def loss(theta: Array) -> float:
        logs = log_softmax(iterated(design @ theta, moves, 0.95), axis=1)
        return -float(weight @ logs[state, data.actions])

    best = minimize(loss, [1.0, 5.0], method="BFGS", options={"gtol": 1e-4})
    ours = fitted(data)
    assert ours.diagnostics.converged
    np.testing.assert_allclose(extra(ours, "theta"), best.x, atol=1e-4)
    np.testing.assert_allclose(ours.diagnostics.extra["objective"] * weight.sum(), best.fun)


@pytest.mark.parametrize("options", [{}, ORACLE])
def test_finite_dependence_is_the_ccp_estimator_and_not_ml_irl(options: dict[str, Any]) -> None:
    data = BUS.simulate(50, np.random.default_rng([10, 0]))
    short = fitted(data, inner="finite_dependence", **options)
    same = ccp.fit(
        [data], ANCHOR, 0.95, reward=BUS_REWARD, finite_dependence=True, stages=1, **options
    )[0]
    assert short.method == "ml_irl[finite_dependence]"
    np.testing.assert_array_equal(extra(short, "theta"), extra(same, "theta"))
    assert np.max(np.abs(extra(short, "theta") - extra(fitted(data, **options), "theta"))) > 1e-3


PATHS = st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=6), min_size=1, max_size=4)


@given(PATHS, st.lists(st.booleans(), min_size=4, max_size=4), st.randoms(use_true_random=False))
def test_discounted_sums_are_those_of_a_plain_loop(
    paths: list[list[int]], over: list[bool], random: Any
) -> None:
    visits, first, beyond = np.zeros((4, 2)), np.zeros(4), 0.0
    rows = []
    for i, path in enumerate(paths):
        for t in range(len(path) - 1):
            action = (path[t] + t + i) % 2
            ended = over[i] and t == len(path) - 2
            rows.append((path[t], action, path[t + 1], i, ended))
            visits[path[t], action] += 0.5**t
        first[path[0]] += 1
        beyond += 0.0 if over[i] else 0.5 ** (len(path) - 1)
    labels = [f"path {i}" for i in random.sample(range(9), len(paths))]
    grid = np.arange(4.0)[:, None]
    data = Transitions(
        np.array([[float(r[0])] for r in rows]),
        np.array([r[1] for r in rows]),
        np.array([[float(r[2])] for r in rows]),
        np.array([labels[r[3]] for r in rows]),
        np.array([r[4] for r in rows]),
        2,
    )
    ours = discounted_paths(data, grid, 0.5)
    np.testing.assert_allclose(ours.visits, visits / len(paths))
    np.testing.assert_allclose(ours.first, first / len(paths))
    np.testing.assert_allclose(ours.beyond.sum(), beyond)


def test_interleaved_trajectories_and_paths_after_an_end() -> None:
    x = np.array([[1.0], [5.0], [2.0], [6.0], [1.0], [7.0]])
    after = np.array([[2.0], [6.0], [3.0], [7.0], [2.0], [5.0]])
    done = np.array([False, False, True, False, False, False])
    data = Transitions(x, np.zeros(6, int), after, np.array([0, 1, 0, 1, 0, 1]), done, 2)
    ours = discounted_paths(data, np.arange(1.0, 8.0)[:, None], 0.5)
    assert len(ours.opens) == 3  # trajectory 0 starts anew after its end
    np.testing.assert_allclose(ours.visits[:, 0] * 3, [2.0, 0.5, 0, 0, 1.0, 0.5, 0.25])
    np.testing.assert_allclose(np.sort(ours.beyond), [0.0, 0.125, 0.5])


def test_rows_that_are_no_path_are_refused() -> None:
    data = BUS.simulate(4, np.random.default_rng(5))
    shuffled = data.take(np.random.default_rng(0).permutation(len(data)))
    with pytest.raises(InputError, match=r"^trajectory ="):
        fitted(shuffled)
