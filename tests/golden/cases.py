"""One case a method on small data sets, whose numbers tests/golden/frozen.npz holds.

The file is never written again. Its keys are 'data set/method/quantity'. The numbers are those of
the library before it was rebuilt, or of release 0.2.0 where a method has improved in between.
"""

from typing import Any

import numpy as np

import gladius
from gladius import BusEngine, Estimate, Transitions
from gladius.checks import Array
from gladius.linear_reward import linear_in_features
from gladius.mdp import TabularMDP
from gladius.methods import needs
from gladius.networks import Training
from gladius.worlds.bus import BUS_REWARD, bus_reward_given

DISCOUNT = 0.95
STATES = 10  # r and Q are compared at the first ten states

# Networks are trained for a few steps only; the author's in double precision.
BRIEF = {"training": Training(activation="relu", steps=20)}
OPTIONS: dict[str, dict[str, Any]] = {
    "gladius": {},
    "gladius author": {"protocol": "author", "epochs": 2, "batch_trajectories": 4},
    "gladius printed": {"protocol": "printed", "iterations": 20},
    "pqr": BRIEF,
    "samq": BRIEF,
    "bc": BRIEF,
    "ccp": {"stages": 1},
}
OPTIONS["gladius author"]["dtype"] = np.float64


def variants() -> dict[str, tuple[str, dict[str, Any]]]:
    """case -> (method, options)."""
    cases = (*gladius.METHODS, "gladius author", "gladius printed")
    return {case: (case.split()[0], OPTIONS.get(case, {})) for case in cases}


def curved(x: Array) -> Array:
    """A maintenance cost that is not linear in the mileage."""
    return -x - 0.6 * np.sin(x)


def three_action_data() -> Transitions:
    """120 paths of 12 periods with three actions; every fourth path ends after its last period."""
    rng = np.random.default_rng(3)
    reward = rng.normal(0.0, 1.0, (6, 3))
    reward[:, 2] = -1.0
    transition = rng.dirichlet(np.ones(6), (3, 6))
    features = np.arange(1.0, 7.0)[:, None]
    world = TabularMDP(reward, transition, 0.9, np.full(6, 1 / 6), features)
    paths = world.simulate(120, 12, [np.random.default_rng([7, 3])])
    done = np.zeros((120, 12), dtype=bool)
    done[::4, -1] = True
    states, actions, successors = paths.states[0], paths.actions[0], paths.next_states[0]
    trajectory = np.repeat(np.arange(120), 12)
    return Transitions(
        features[states.ravel()],
        actions.ravel(),
        features[successors.ravel()],
        trajectory,
        done.ravel(),
    )


def data_sets() -> dict[str, Transitions]:
    """The data sets by name."""
    engines = {
        "bus": (BusEngine(), 40),
        "curved": (BusEngine(maintenance=curved), 400),
        "dummy": (BusEngine(dummies=1), 12),
    }
    data = {
        name: engine.simulate(buses, np.random.default_rng([7, seed]))
        for seed, (name, (engine, buses)) in enumerate(engines.items())
    }
    return {**data, "three": three_action_data()}


def fit(name: str, data: Transitions, case: str) -> Estimate:
    """The Estimate of a case on the data set of that name."""
    method, options = case.split()[0], dict(OPTIONS.get(case, {}))
    has_three = name == "three"
    anchor, reward, discount = (2, -1.0, 0.9) if has_three else (1, -5.0, DISCOUNT)
    if "form" in needs(method):
        bus = bus_reward_given(5.0) if method == "samq" else BUS_REWARD
        options["reward"] = linear_in_features(3, anchor, reward) if has_three else bus
    options |= {"anchor_action": anchor, "anchor_reward": reward, "discount": discount}
    estimate: Estimate = gladius.fit(data, method, **options)
    return estimate


def numbers(data: Transitions, estimate: Estimate) -> dict[str, Array]:
    """theta where there is one, r and Q at the first states of the data."""
    grid = np.unique(data.states, axis=0)[:STATES]
    values = {"r": estimate.reward_function(grid), "q": estimate.q(grid)}
    if "theta" in estimate.diagnostics.extra:
        values["theta"] = np.asarray(estimate.diagnostics.extra["theta"], dtype=float)
    return values
