"""Every method and variant on four small data sets: what tests/golden/frozen.npz holds.

The file was written once, before the library was rebuilt, with the keys 'data set/variant/quantity'
and is not written again: test_golden.py compares with it, and names each number that has moved
since, by how much and why. Its processor was an Intel Xeon. Where single precision or a flat
direction leaves the last digits to the processor, elsewhere.npz holds what the same code gives on
an AMD EPYC (`python tests/golden/cases.py` there); a number is either, to the same tolerance.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gladius
from gladius import BusEngine, Estimate, KnownTransitions, LinearReward, Transitions
from gladius.mdp import TabularMDP
from gladius.methods import needs
from gladius.worlds.bus import BUS_REWARD, bus_design

Array = NDArray[np.float64]

FROZEN, ELSEWHERE = (Path(__file__).with_name(f"{name}.npz") for name in ("frozen", "elsewhere"))
DISCOUNT = 0.95
ENDS = 30  # of the paths of `three`
STATES = 10  # r and Q are compared at the first ten states


def curved(x: Array) -> Array:
    """A maintenance cost that is not linear in the mileage."""
    return -x - 0.6 * np.sin(x)


def three_actions() -> TabularMDP:
    """Six states in a row, three actions, paths that end: the last action's reward is -1."""
    rng = np.random.default_rng(3)
    reward = rng.normal(0.0, 1.0, (6, 3))
    reward[:, 2] = -1.0
    return TabularMDP(
        reward,
        rng.dirichlet(np.ones(6), (3, 6)),
        0.9,
        np.full(6, 1 / 6),
        np.arange(1.0, 7.0)[:, None],
    )


def three_action_data() -> Transitions:
    """120 paths of 12 periods, of which every fourth ends after its last one."""
    world = three_actions()
    paths = world.simulate(120, 12, [np.random.default_rng([7, 3])])
    done = np.zeros((120, 12), dtype=bool)
    done[::4, -1] = True
    return Transitions(
        states=world.features[paths.states[0].ravel()],
        actions=paths.actions[0].ravel(),
        next_states=world.features[paths.next_states[0].ravel()],
        trajectory=np.repeat(np.arange(120), 12),
        done=done.ravel(),
        number_of_actions=3,
    )


def saturated(states: Array) -> Array:
    """(n, 3, 4) intercept and slope of each action but the anchor."""
    table = np.zeros((len(states), 3, 4))
    for a in (0, 1):
        table[:, a, 2 * a] = 1.0
        table[:, a, 2 * a + 1] = states[:, 0]
    return table


def constants(states: Array) -> Array:
    """(n, 3, 2) a constant for each action but the anchor."""
    return saturated(states)[:, :, ::2]


def constants_and_costs(states: Array) -> Array:
    """(n, 3, 4) the same, and minus a cost of each action but the first: not identified."""
    table = np.concatenate([constants(states), np.zeros((len(states), 3, 2))], axis=2)
    table[:, 1, 2] = table[:, 2, 3] = -1.0
    return table


def level(states: Array) -> Array:
    """(n, 3) the anchor's reward, -1."""
    table = np.zeros((len(states), 3))
    table[:, 2] = -1.0
    return table


def maintenance(states: Array) -> Array:
    """(n, 2, 1) the slope of the bus engine's maintenance alone."""
    return bus_design(states)[:, :, :1]


def replacement(states: Array) -> Array:
    """(n, 2) the bus engine's replacement, -5."""
    return np.tile([0.0, -5.0], (len(states), 1))


def data_sets() -> dict[str, tuple[Transitions, int, float]]:
    """name -> (data, anchor action, anchor reward)."""
    return {
        "bus": (BusEngine().simulate(40, np.random.default_rng([7, 0])), 1, -5.0),
        "curved": (
            BusEngine(maintenance=curved).simulate(400, np.random.default_rng([7, 1])),
            1,
            -5.0,
        ),
        "dummy": (BusEngine(dummies=1).simulate(12, np.random.default_rng([7, 2])), 1, -5.0),
        "three": (three_action_data(), 2, -1.0),
    }


def variants() -> dict[str, tuple[str, dict[str, Any]]]:
    """name -> (method, options); networks are trained for a few steps only."""
    from gladius.baselines import iq_learn
    from gladius.baselines.bc import Training

    brief = Training(activation="relu", standardise=True, steps=20)
    author = {"protocol": "author", "epochs": 2, "batch_trajectories": 4}
    printed = {"protocol": "printed", "iterations": 20}
    known = {"known": True}  # the true transition law, added for each data set
    return {
        "gladius": ("gladius", {}),
        "gladius mlp": ("gladius", {"function_class": "mlp"}),
        "gladius mlp scalar": ("gladius", {"function_class": "mlp", "level": "scalar"}),
        "gladius tabular": ("gladius", {"function_class": "smooth"}),
        "gladius penalty": ("gladius", {"penalty": 3.0}),
        "gladius author": ("gladius", author),
        "gladius printed": ("gladius", printed),
        "gladius printed tabular": ("gladius", {**printed, "function_class": "tabular"}),
        "gladius printed ascents": ("gladius", {**printed, "ascents": 2}),
        "gladius printed deterministic": ("gladius", {**printed, "deterministic": True}),
        "nfxp": ("nfxp", {}),
        "nfxp known": ("nfxp", known),
        "ccp": ("ccp", {}),
        "ccp known": ("ccp", known),
        "ccp npl": ("ccp", {"stages": None}),
        "ccp finite dependence": ("ccp", {"finite_dependence": True}),
        "mpec": ("mpec", {}),
        "mpec known": ("mpec", known),
        "avi": ("avi", {"steps": 20}),
        "avi one-hot": ("avi", {"regression": "one_hot"}),
        "semi_gradient": ("semi_gradient", {}),
        "semi_gradient polynomial": ("semi_gradient", {"basis": "polynomial"}),
        "semi_gradient linear": ("semi_gradient", {"basis": "polynomial", "degree": 1}),
        "rp": ("rp", {}),
        "pqr": ("pqr", {"training": brief}),
        "samq": ("samq", {"training": brief}),
        "samq 5 cells": ("samq", {"cells": 5, "training": brief}),
        "plug_in": ("plug_in", {}),
        "bc": ("bc", {"training": brief}),
        "iq_learn": ("iq_learn", {}),
        "iq_learn network": (
            "iq_learn",
            {"function_class": "network", "training": iq_learn.Training(steps=20)},
        ),
        "clare": ("clare", {}),
        "clare known": ("clare", known),
        "ml_irl": ("ml_irl", {}),
        "ml_irl known": ("ml_irl", known),
        "ml_irl finite dependence": ("ml_irl", {"inner": "finite_dependence"}),
        "airl": ("airl", {}),
        "airl known": ("airl", known),
        "airl anchored": ("airl", {"anchored": True}),
    }


def outcome(variant: str, name: str, data: Transitions, anchor: int, reward: float) -> Any:
    """The Estimate of a variant on a data set, or the error that refuses it."""
    method, options = variants()[variant]
    options = dict(options)
    if options.pop("known", False):
        if name == "dummy":
            return None
        world = {"bus": BusEngine().mdp, "curved": BusEngine().mdp, "three": three_actions()}[name]
        goes_on = 1 - ENDS / len(data) if name == "three" else 1.0
        options["transition"] = KnownTransitions(goes_on * world.transition, world.features)
    if name == "dummy" and variant.startswith("gladius mlp"):
        return None  # 45 seconds
    if "form" in needs(method):
        three = LinearReward(saturated, level)
        if method == "rp":  # it added the costs itself; now they stand in the form
            three = LinearReward(constants_and_costs)
        told = method == "samq"  # the replacement cost, as its authors' code is
        bus = LinearReward(maintenance, replacement) if told else BUS_REWARD
        options["reward"] = three if name == "three" else bus
    discount = 0.9 if name == "three" else DISCOUNT
    try:
        return gladius.fit(
            data, method, anchor_action=anchor, anchor_reward=reward, discount=discount, **options
        )
    except gladius.InputError as error:
        return error


def numbers(data: Transitions, estimate: Estimate) -> dict[str, Array]:
    """theta where there is one, r and Q at the first states of the data."""
    grid = np.unique(data.states, axis=0)[:STATES]
    actions = range(data.number_of_actions)
    reward = np.stack([estimate.reward(grid, np.full(len(grid), a)) for a in actions], axis=1)
    found = {"r": reward, "q": estimate.q(grid)}
    if "theta" in estimate.diagnostics.extra:
        found["theta"] = np.asarray(estimate.diagnostics.extra["theta"], dtype=float)
    return found


def processor_dependent() -> dict[str, Array]:
    """What single precision and a flat direction leave to the processor, as this one has it."""
    data, frozen = data_sets(), np.load(FROZEN, allow_pickle=False)
    names = {"gladius author": ("bus", "curved", "dummy"), "gladius mlp scalar": ("bus",)}
    found: dict[str, Array] = {}
    for variant, of_it in names.items():
        for name in of_it:
            estimate = outcome(variant, name, *data[name])
            for quantity, new in numbers(data[name][0], estimate).items():
                key = f"{name}/{variant}/{quantity}"
                if not np.array_equal(new, frozen[key]):
                    found[key] = new
    return found


if __name__ == "__main__":
    np.savez_compressed(ELSEWHERE, **processor_dependent())
