"""One case a method on small data sets, whose numbers tests/golden/frozen.npz holds.

Its keys are 'data set/method/quantity'. The numbers are those of the library before it was rebuilt,
or of release 0.2.0 where a method has improved in between. This command freezes those of cases
that are new, or whose method has changed on purpose, which the changelog names:

    python tests/golden/cases.py bus/nfxp ...

Beside the numbers are the status, what the method chose, and the amplification of rounding.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import noise
import numpy as np
import pytest

import gladius
from gladius import BusEngine, Estimate, Transitions
from gladius.designs.bus import BUS_REWARD, bus_reward_given
from gladius.model.mdp import TabularMDP
from gladius.model.reward_form import linear_in_features
from gladius.own_data.erm.observations.sparse import RowFunction
from gladius.panel.ties import EPS
from gladius.register import needs
from gladius.solvers.networks import Training
from gladius.validate import Array

DISCOUNT = 0.95
STATES = 10  # r and Q are compared at the first ten states
FILE = Path(__file__).with_name("frozen.npz")
SIZES = 1e-13, 1e-11  # of perturbations of the input
NOISE = 1e-15  # of all results: four times rounding, and less than any width in the library
SEEDS = range(8)  # of the noise, of which the worst counts

# Networks are trained for a few steps only; the author's in double precision.
BRIEF = {"training": Training(activation="relu", steps=20)}
OPTIONS: dict[str, dict[str, Any]] = {
    "profiled_erm": {},
    "gladius author": {"protocol": "author", "epochs": 2, "batch_trajectories": 4},
    "gladius printed": {"protocol": "printed", "iterations": 20},
    "pqr": BRIEF,
    "samq": BRIEF,
    "bc": BRIEF,
    "ccp": {"stages": 1},
}
OPTIONS["gladius author"]["dtype"] = np.float64
# AVI trains the same network again and again, and amplifies rounding in each training.
OPTIONS_OF_ONE: dict[str, dict[str, Any]] = {"three/avi": {"iterations": 3}}
# what a method chooses, beside its numbers
CHOICES = (
    *("inner_iterations", "penalty", "interval_penalty", "reward_inputs", "zeta_inputs", "stages"),
    *("zeta_ridges", "inputs_settled", "misfit_inputs", "cells", "learner", "flat_directions"),
)


def variants() -> dict[str, tuple[str, dict[str, Any]]]:
    """case -> (method, options)."""
    cases = [*gladius.METHODS, "gladius author", "gladius printed"]
    cases.remove("gladius")  # it needs a protocol
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


def perturbed(data: Transitions, size: float) -> tuple[Transitions, Array]:
    """The data in other units, by a share of up to `size`, and two factors for a reward and beta.

    Counts, and what is equal in the data, stay as they are.
    """
    factors = 1 + size * np.random.default_rng(1).uniform(-1, 1, data.states.shape[1] + 2)
    states, after = (x * factors[:-2] for x in (data.states, data.next_states))
    return replace(data, states=states, next_states=after), factors[-2:]


def fit(name: str, data: Transitions, case: str, factors: Sequence[float] = (1.0, 1.0)) -> Estimate:
    """The Estimate of a case on the data set of that name.

    `factors` multiply the anchor's reward and the discount.
    """
    method, options = case.split()[0], dict(OPTIONS.get(case, {}))
    options |= OPTIONS_OF_ONE.get(f"{name}/{case}", {})
    has_three = name == "three"
    anchor, reward, discount = (2, -1.0, 0.9) if has_three else (1, -5.0, DISCOUNT)
    reward, discount = reward * factors[0], discount * factors[1]
    if "form" in needs(method):
        bus = bus_reward_given(-reward) if method == "samq" else BUS_REWARD
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


def choices(estimate: Estimate) -> str:
    """Steps, ridges, inputs and terms, which rounding may not change."""
    run, reward = estimate.diagnostics, estimate.reward_function
    found = {name: run.extra[name] for name in CHOICES if name in run.extra}
    if isinstance(reward, RowFunction):
        found |= {"terms": reward.reward.terms, "cosines": len(reward.reward.phases)}
    if "partition" in run.extra:
        found["splits"] = len(run.extra["partition"])  # type: ignore[arg-type]
    texts = {name: f"{x:.6g}" if isinstance(x, float) else str(x) for name, x in found.items()}
    return "; ".join(f"{name} {x}" for name, x in {"iterations": run.iterations, **texts}.items())


def difference(new: Array, old: Array) -> float:
    """The largest difference, relative to the largest old number or to 1."""
    assert new.shape == old.shape
    same = (new == old) | (np.isnan(new) & np.isnan(old))
    scale = max(1.0, float(np.max(np.abs(old[np.isfinite(old)]), initial=0.0)))
    with np.errstate(invalid="ignore"):
        differences = np.where(same, 0.0, np.abs(new - old))
    return float(np.max(differences, initial=0.0)) / scale


def change(name: str, data: Transitions, case: str, size: float, old: dict[str, Array]) -> float:
    """By how much a perturbation of the input changes old numbers."""
    other, factors = perturbed(data, size)
    new = numbers(other, fit(name, other, case, factors))
    return max(difference(new[k], old[k]) for k in old)


def amplification(
    name: str, data: Transitions, case: str, old: dict[str, Array], seed: int
) -> float:
    """The change of old numbers over the size of what changes them: the input, or all results."""
    with noise.rounding(NOISE, seed):
        estimate = fit(name, data, case)
    new = numbers(data, estimate)
    inside = max(difference(new[k], old[k]) for k in old) / NOISE
    return max(change(name, data, case, SIZES[1], old) / SIZES[1], inside)


def tolerance(amplified: float) -> float:
    """What rounding may change in numbers: on two processors, and with a margin."""
    return 100 * EPS * max(1.0, amplified)


def uncompile(patch: pytest.MonkeyPatch) -> None:
    """All loops of a training in Python; in float64 they need no compilation."""
    from gladius.paper import algorithm, author, rows, training

    for module in (rows, training, algorithm, author):
        for name, thing in vars(module).copy().items():
            patch.setattr(module, name, getattr(thing, "py_func", thing))


def freeze(cases: Sequence[str]) -> None:
    """Write all of some cases; without any, the choices and the amplification of all."""
    frozen, data = dict(np.load(FILE)), data_sets()
    for key in cases or sorted({key.rsplit("/", 1)[0] for key in frozen}):
        name, case = key.split("/")
        estimate = fit(name, data[name], case)
        found: dict[str, Any] = numbers(data[name], estimate)
        amplified = {amplification(name, data[name], case, found, seed): seed for seed in SEEDS}
        more = {"amplification": max(amplified), "seed": amplified[max(amplified)]}
        more["choices"] = choices(estimate)
        found["status"] = estimate.diagnostics.status
        frozen |= {f"{key}/{k}": x for k, x in (more | (found if key in cases else {})).items()}
    np.savez_compressed(FILE, **frozen)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        uncompile(patch)
        freeze(sys.argv[1:])
