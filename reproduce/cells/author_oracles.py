"""The oracles Rust and ML-IRL as the first author's public code ran them.

These are facts about published numbers, not methods of the library. Three things differ from the
paper's text. All N trajectories are fitted, not 80 % of them. ML-IRL is a two-step estimator from
frequencies of choices ("forward" in the public code), not maximum-likelihood IRL. The error in
Table 2 is that of the two parameters, not the MAPE over state-action pairs.
"""

from itertools import chain
from typing import NamedTuple

import numpy as np

from gladius.baselines import nfxp
from gladius.designs.bus import BUS_REWARD, MAINTAIN, REPLACE, BusEngine
from gladius.panel.record import Integers, Transitions
from gladius.validate import Array, InputError
from reproduce.cells.public_data import oracles_data
from reproduce.engine.nouns import Cell, Result, summarise

REACH = 4  # the largest increment of mileage
MOST = 40  # mileages in a fit; a bus that is there is kept with a probability below 1e-14
STEPS, TOLERANCE = 50, 1e-10  # Newton's, of the two-step estimator
TRUTH = (1.0, 5.0)
ESTIMATORS = ML, KNOWN, ESTIMATED = "ML", "two-step, known P", "two-step, estimated P"


def maximum_likelihood(visits: Array) -> Array:
    """(R, 2) theta by maximum likelihood under the known P, from (R, mileages, A) counts."""
    world = BusEngine(max_mileage=visits.shape[1])
    design, offset = BUS_REWARD.tables(world.mdp.features, 2)
    given = (world.mdp.transition, design, offset, world.discount)
    return nfxp.fit_counts(visits, *given, tolerance=TOLERANCE).theta


def two_step(visits: Array, increments: Array | None = None) -> Array:
    """(R, 2) theta of "forward", from (R, mileages, A) counts.

    Replacement leads to mileage 1 from everywhere. So Q(s, keep) - Q(s, replace) is

        -theta_0 s + theta_1 - beta sum_k P(s, s + k) log p(s + k) + beta log p(1),

    where p is the frequency of replacement. theta maximises the likelihood of this logit. Of the
    mileages s + 1 to s + 4 only those that occur are in the sum, and s counts as many times.

    Args:
        visits: at most 4 mileages above a mileage that occurs are looked at.
        increments: (R, mileages, mileages) estimated P of keeping; without it 1/4 each.

    Raises:
        InputError: a mileage at which no bus is replaced, whose logarithm does not exist.
    """
    beta, total = BusEngine().discount, visits.sum(axis=2)
    replaced = visits[:, :, REPLACE]
    if np.any((total > 0) & (replaced == 0)):
        hint = "one replacement or more at each mileage that occurs"
        raise InputError("visits", "a mileage without a replacement", hint)
    log_p = np.log(np.where(total > 0, replaced, 1.0) / np.maximum(total, 1.0))
    difference, times = np.zeros_like(total), np.zeros_like(total)
    for k in range(1, REACH + 1):
        share = 0.25 if increments is None else np.diagonal(increments, k, axis1=1, axis2=2)
        difference[:, :-k] -= beta * share * log_p[:, k:] * (total[:, k:] > 0)
        times[:, :-k] += total[:, k:] > 0
    difference += beta * log_p[:, :1]
    design = np.stack([-np.arange(1.0, total.shape[1] + 1), np.ones(total.shape[1])], axis=1)
    theta = np.tile(TRUTH, (len(visits), 1))
    for _ in range(STEPS):
        p = 1.0 / (1.0 + np.exp(theta @ design.T + difference))
        gradient = (times * (total * p - replaced)) @ design
        weight = times * total * p * (1.0 - p)
        hessian = np.einsum("rs,sk,sl->rkl", weight, design, design)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        theta += step
        if np.abs(step).max() < TOLERANCE:
            return theta
    raise InputError("visits", visits.shape, "the two-step estimator has not converged on these")


def parameter_error(theta: Array) -> Array:
    """The error of Table 2's oracles in per cent: the mean of the two parameters' errors."""
    return np.asarray(100.0 * np.mean(np.abs(theta / TRUTH - 1.0), axis=-1))


class BusCounts(NamedTuple):
    """Counts of the data of the parametric estimators."""

    by_bus: Array  # (N, mileages, A)
    # what the script with estimated transitions counts: the last row of the file is left out, and
    # an increment is seen where the bus has a next row
    without_last: Array  # (1, mileages, A)
    increments: Array  # (1, mileages, mileages) frequencies of keeping


def tables(data: Transitions, mileages: int) -> BusCounts:
    """The counts on mileages 1 to `mileages`."""
    at, next_at = (x[:, 0].astype(np.int64) - 1 for x in (data.states, data.next_states))
    by_bus = np.zeros((int(data.trajectory[-1]) + 1, mileages, 2))
    np.add.at(by_bus, (data.trajectory, at, data.actions), 1.0)
    without_last = by_bus.sum(axis=0, keepdims=True)
    without_last[0, at[-1], data.actions[-1]] -= 1.0
    is_seen = (data.actions == MAINTAIN) & np.append(np.diff(data.trajectory) == 0, False)
    moves = np.zeros((1, mileages, mileages))
    np.add.at(moves, (0, at[is_seen], next_at[is_seen]), 1.0)
    return BusCounts(
        by_bus, without_last, moves / np.maximum(moves.sum(axis=2, keepdims=True), 1.0)
    )


def resamples(trajectories: int, horizon: int, times: int, rng: np.random.RandomState) -> Integers:
    """(times, N) how often each bus is in a resample, as the public code draws them.

    It draws N H numbers below N H and takes those below N as buses. So a resample has a random
    number of buses, N on average.
    """
    size = trajectories * horizon
    drawn = (rng.randint(0, size, size) for _ in range(times))
    counts = [np.bincount(x[x < trajectories], minlength=trajectories) for x in drawn]
    return np.array(counts)


def compute(cell: Cell) -> Result:
    """`theta`, (3, 2): each of ESTIMATORS on all data of one seed.

    Settings: trajectories, seed.
    """
    data = oracles_data(cell.settings["trajectories"], cell.settings["seed"])
    counted = tables(data, MOST)
    visits = counted.by_bus.sum(axis=0, keepdims=True)
    fitted = (maximum_likelihood(visits), two_step(visits))
    estimated = two_step(counted.without_last, counted.increments)
    return Result((), arrays={"theta": np.concatenate([*fitted, estimated])})


def resampled(cell: Cell) -> Result:
    """The errors of resamples by each estimator whose loop the script ran, in its order.

    Settings: trajectories, seed, max_mileage, resampling_seed, repetitions, loops (of ESTIMATORS).
    """
    settings, errors = cell.settings, dict[str, list[float]]()
    cap, number = settings["max_mileage"], settings["trajectories"]
    data = oracles_data(number, settings["seed"], max_mileage=cap)
    by_bus = tables(data, min(cap + REACH, MOST)).by_bus
    rng = np.random.RandomState(settings["resampling_seed"])
    for name in settings["loops"]:
        drawn = resamples(number, len(data) // number, cell.repetitions, rng)
        visits = np.einsum("rn,nsa->rsa", drawn, by_bus)
        theta = maximum_likelihood(visits[:, :cap]) if name == ML else two_step(visits)
        errors[name] = parameter_error(theta).tolist()
    of_each = (summarise(name, x, ["ok"] * len(x)) for name, x in errors.items())
    return Result(tuple(chain.from_iterable(of_each)), errors)
