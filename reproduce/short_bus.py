"""What `rates` computes: errors against T and N on a short bus engine.

The world is the bus engine with MILEAGES states, whose log-odds of maintaining are affine in the
mileage, so that Q* is in a class of three parameters. Data are drawn as counts (data.py).
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded

from gladius.algorithm import ascent_slope, descent
from gladius.anchor import Anchor
from gladius.newton import minimise
from gladius.objective import conditional_mean, grouped_risk, value
from gladius.stability import expected_counts, stationary_point
from gladius.transitions import Counts, Integers
from gladius.worlds.bus import BusEngine
from reproduce import data, seeds
from reproduce.spec import Array, Cell, Record, Result, summarise, worst

MILEAGES = 5
ODDS = (3.0, 1.0)  # Q*(x, maintain) - Q*(x, replace) = 3 - x
HORIZON = 100
ANCHOR = 1  # replacement
REWARD = -5.0
BLOW_UP = 1e6  # gap at which a run has diverged
CHUNK = 500  # steps whose batches are drawn at once
EXCESS, L2 = "excess risk", "L2(d*) error"
GAP = "gap"


def world(discount: float) -> BusEngine:
    """The engine whose Q* is affine in the mileage: rewards follow from the Bellman equation."""
    x = np.arange(1, MILEAGES + 1, dtype=float)
    odds = ODDS[0] - ODDS[1] * x
    # replacing leads to mileage 1: q = r + beta (q + log(1 + exp odds(1)))
    replace = (REWARD + discount * np.log1p(np.exp(odds[0]))) / (1 - discount)
    v = replace + np.log1p(np.exp(odds))
    reached = np.minimum(np.arange(MILEAGES)[:, None] + np.arange(1, 5), MILEAGES - 1)
    reward = replace + odds - discount * v[reached].mean(axis=1)
    return BusEngine((1.0, -REWARD), discount, MILEAGES, 0, HORIZON, lambda _: reward)


def log_slope(x: Array, values: Array) -> tuple[float, float]:
    """Least-squares slope of log mean(values) on log x, and its standard error.

    Args:
        x: (K,).
        values: (R, K) of R repetitions, which may be correlated along K. The error is that of the
            mean of each repetition's share in the slope, to first order.
    """
    apart = np.log(x) - np.log(x).mean()
    weight = apart / np.sum(apart**2)
    mean = values.mean(axis=0)
    shares = (values / mean) @ weight
    return float(weight @ np.log(mean)), float(shares.std(ddof=1) / np.sqrt(len(values)))


# --- the error against T
def gram(features: int, seed: int) -> Array:
    """(M, M) features features', Gaussian rows of expected length one; the identity for 0."""
    size = 2 * MILEAGES
    if not features:
        return np.eye(size)
    rows = np.random.default_rng(seed).normal(size=(size, features)) / np.sqrt(features)
    return np.asarray(rows @ rows.T)


def step_constants(engine: BusEngine, p_hat: Array) -> tuple[float, float]:
    """(c_1, c_2) from the expected data: c_1 = 4 / mu, and c_1 / c_2 = 1 / l.

    mu and l are the least positive and the largest eigenvalue of the Hessian of g in theta at its
    minimiser, so that c_1 exceeds the 2 / mu that the rate needs.
    """
    anchor = Anchor(ANCHOR, REWARD)
    counts = expected_counts(engine.mdp, HORIZON)
    q = stationary_point(counts, anchor, np.array([engine.discount]))[0][0]
    size, nudge = q.size, 1e-5
    tables = q + nudge * np.concatenate([np.eye(size), -np.eye(size)]).reshape(-1, *q.shape)
    many = Counts(
        counts.states,
        np.repeat(counts.visits, 2 * size, axis=0),
        np.repeat(counts.moves, 2 * size, axis=0),
    )
    ahead, reward = conditional_mean(value(tables), many), anchor.values(counts.states)
    slope = descent(tables, ahead, many, many, ANCHOR, reward, engine.discount).slope
    slope = slope.reshape(2 * size, -1)
    hessian = (slope[:size] - slope[size:]) / (2 * nudge)
    # the Hessian in theta has the non-zero eigenvalues of Hessian x p_hat
    eigenvalues = np.linalg.eigvals(hessian @ p_hat).real
    c_1 = 4 / float(eigenvalues.min())
    return c_1, c_1 * float(eigenvalues.max())


def descend(
    engine: BusEngine,
    rngs: Sequence[np.random.Generator],  # one generator a repetition, for its data and its batches
    *,
    trajectories: int,  # N of a repetition
    batch: int,  # transitions in each of B1, B2
    checkpoints: Sequence[int],  # increasing T at which the gap is measured
    features: int,  # of the random linear class, or 0 for tables
    zeta_scale: float,  # length of zeta's features
    # zeta's step over Q's (1: as printed); infinite: zeta exact, the profiled descent. With a ratio
    # of at least one, c_2 is that many times larger, so that no step is longer
    ratio: float,
) -> tuple[Array, NDArray[np.bool_], tuple[float, float]]:
    """Algorithm 1 with eta_t = c_1 / (c_2 + t), Q and zeta starting at zero.

    Returns:
        (R, K) gap g(theta_T) - g*, infinite once diverged; which diverged; (c_1, c_2).
    """
    kernels = [gram(features, seed) for seed in (1, 2)]
    c_1, c_2 = step_constants(engine, kernels[0])
    faster = ratio if np.isfinite(ratio) else 1.0
    c_2 *= faster
    train = _counts(engine, trajectories, rngs)
    reward = np.full(MILEAGES, REWARD)
    shares = (train.moves / train.size[:, None, None, None]).reshape(len(rngs), -1)
    least = _entropy(train)
    q, zeta = np.zeros((2, *train.visits.shape))
    gaps = np.full((len(rngs), len(checkpoints)), np.inf)
    gone = np.zeros(len(rngs), dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):  # blowing up is a result
        for t in range(checkpoints[-1]):
            if t % CHUNK == 0:
                drawn = _batches(rngs, shares, batch, train.moves.shape[1:])
            first, second = (data.counted(engine.mdp, drawn[t % CHUNK, k]) for k in (0, 1))
            eta = c_1 / (c_2 + t)
            if np.isfinite(ratio):
                rise = ascent_slope(zeta, value(q), second) / batch
                zeta = zeta - ratio * eta * zeta_scale**2 * _through(kernels[1], rise)
            else:
                zeta = conditional_mean(value(q), train)
            loss = descent(q, zeta, first, second, ANCHOR, reward, engine.discount)
            q = q - eta * _through(kernels[0], loss.slope / batch)
            if t + 1 in checkpoints:
                gap = grouped_risk(q, train, ANCHOR, reward, engine.discount).total() - least
                gone |= ~(gap <= BLOW_UP)
                gaps[~gone, list(checkpoints).index(t + 1)] = gap[~gone]
                q[gone], zeta[gone] = 0.0, 0.0  # of no further interest
                if np.all(gone):
                    break
    return gaps, gone, (c_1, c_2)


def _counts(engine: BusEngine, trajectories: int, rngs: Sequence[np.random.Generator]) -> Counts:
    moves = [data.moves(engine.mdp, HORIZON, (trajectories,), rng)[0] for rng in rngs]
    return data.counted(engine.mdp, np.stack(moves))


def _entropy(counts: Counts) -> Array:
    """(R,) the least risk: every pair occurs, so that the NLL is that of the frequencies."""
    share = counts.visits / counts.visits.sum(axis=2, keepdims=True)
    return np.asarray(-(counts.visits * np.log(share)).sum(axis=(1, 2)) / counts.size)


def _batches(
    rngs: Sequence[np.random.Generator], shares: Array, batch: int, shape: tuple[int, ...]
) -> Array:
    """(CHUNK, 2, R, A, S, S) batches with replacement, as counts."""
    drawn = [
        rng.multinomial(batch, p, size=(CHUNK, 2)) for rng, p in zip(rngs, shares, strict=True)
    ]
    return np.stack(drawn, axis=2).reshape(CHUNK, 2, len(rngs), *shape).astype(float)


def _through(p_hat: Array, slope: Array) -> Array:
    return np.asarray((slope.reshape(len(slope), -1) @ p_hat).reshape(slope.shape))


# --- the error against N
def population_errors(engine: BusEngine, q: Array, weight: Array | None = None) -> Array:
    """(R, 2) excess risk and squared L2(d*) error, d* that of HORIZON undiscounted periods.

    Args:
        engine: the world.
        q: (R, S, n, 2) Q at n kinds of each mileage.
        weight: (R, S, n) probability of each kind, independent of the past; by default one kind.
    """
    d = engine.mdp.occupancy(HORIZON)
    star, policy = engine.mdp.solution.q, engine.mdp.solution.policy
    weight = np.ones(q.shape[:3]) if weight is None else weight
    v = value(q)
    log_p = q - v[..., None]
    kl = (policy[:, None] * (np.log(policy)[:, None] - log_p)).sum(axis=3)
    ahead = np.einsum("st,rtk,rtk->rs", engine.mdp.transition[ANCHOR], weight, v)
    residual = REWARD + engine.discount * ahead[:, :, None] - q[..., ANCHOR]
    excess = np.einsum("s,rsk,rsk->r", d.sum(axis=1), weight, kl)
    excess += np.einsum("s,rsk,rsk->r", d[:, ANCHOR], weight, residual**2)
    squared = np.einsum("sa,rsk,rska->r", d, weight, (q - star[:, None]) ** 2)
    return np.stack([excess, squared], axis=1)


def tabular_minimisers(counts: Counts, discount: float, limit: float) -> Array:
    """(R, S, A) least risk over the tables with log-odds within +-limit; zero where never seen."""
    seen = counts.visits
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.nan_to_num(np.log(seen[..., 0]) - np.log(seen[..., ANCHOR]), nan=0.0)
    odds = np.clip(odds, -limit, limit)
    rows = counts.moves[:, ANCHOR]
    number = rows.sum(axis=2, keepdims=True)
    p_hat = np.where(number > 0, rows / np.maximum(number, 1), np.eye(rows.shape[1]))
    # V = Q(anchor) + log(1 + exp odds) and Q(anchor) = r + beta P-hat V
    system = np.eye(rows.shape[1]) - discount * p_hat
    v = np.linalg.solve(system, (REWARD + np.logaddexp(0, odds))[..., None])[..., 0]
    q = v - np.logaddexp(0, odds)
    return np.stack([q + odds, q], axis=2)


def linear_minimisers(counts: Counts, discount: float) -> tuple[Array, NDArray[np.bool_]]:
    """(R, S, A) least risk over Q(x, 0) = t_0 + t_1 x, Q(x, 1) = t_2; and whether each converged.

    Newton steps on the risk with zeta exact, Gauss-Newton in the Bellman term.
    """
    states, seen = counts.states[:, 0], counts.visits
    design = np.zeros((len(states), 2, 3))
    design[:, 0, 0], design[:, 0, 1], design[:, 1, 2] = 1.0, states, 1.0
    moves = counts.moves[:, ANCHOR]
    number, total = moves.sum(axis=2), seen.sum(axis=2)
    p_hat = moves / np.maximum(number, 1)[..., None]

    def risk(rows: Integers, theta: Array) -> tuple[Array, Array, Array]:
        q = np.einsum("sap,rp->rsa", design, theta)
        v = value(q)
        p = np.exp(q - v[..., None])
        mean = np.einsum("rsa,sap->rsp", p, design)
        residual = REWARD + discount * np.einsum("rst,rt->rs", p_hat[rows], v) - q[..., ANCHOR]
        slope = discount * p_hat[rows] @ mean - design[:, ANCHOR]
        loss = np.sum(seen[rows] * (v[..., None] - q), axis=(1, 2))
        loss += np.sum(number[rows] * residual**2, axis=1)
        gradient = np.einsum("rs,rsp->rp", total[rows], mean)
        gradient -= np.einsum("rsa,sap->rp", seen[rows], design)
        gradient += 2 * np.einsum("rs,rs,rsp->rp", number[rows], residual, slope)
        hessian = np.einsum("rs,rsa,sap,saq->rpq", total[rows], p, design, design)
        hessian -= np.einsum("rs,rsp,rsq->rpq", total[rows], mean, mean)
        hessian += 2 * np.einsum("rs,rsp,rsq->rpq", number[rows], slope, slope)
        return loss, gradient, hessian

    minimum = minimise(risk, np.zeros((len(seen), 3)))
    return np.einsum("sap,rp->rsa", design, minimum.x), minimum.converged


def interpolating_errors(
    engine: BusEngine, trajectories: int, limit: float, rng: np.random.Generator
) -> Array:
    """(2,) errors of the interpolating minimiser where the state has a second, continuous part.

    To the mileage comes u, uniform on [0, 1], fresh in each period and of no effect: no state
    repeats. The class has one pair of entries for each sampled state, the nearest in u of the same
    mileage (one for each pair is what condition (ii) asks for), and log-odds within +-limit. The
    least risk is then attained with log-odds +-limit by the action taken, and Q(s, a_s) = r + beta
    V(s') on every anchor row; of these tables the one of least norm is taken, as gradient steps
    from zero would.
    """
    paths = engine.mdp.simulate(trajectories, HORIZON, rng)
    chain = np.concatenate([paths.states, paths.next_states[:, -1:]], axis=1)
    acted = np.zeros(chain.shape)  # log-odds of maintaining; 0 where no decision was seen
    acted[:, :-1] = np.where(paths.actions == ANCHOR, -limit, limit)
    level = _levels(paths.actions == ANCHOR, acted, engine.discount)
    half = acted / 2
    tables = np.stack([level + half, level - half], axis=2).reshape(-1, 2)
    u, mileage = rng.random(chain.size), chain.ravel()
    return _nearest_errors(engine, tables, mileage, u)


def _levels(anchored: NDArray[np.bool_], odds: Array, discount: float) -> Array:
    """(N, H + 1) means m of the two entries of each sampled state, of least norm.

    V = m + log(2 cosh(odds/2)); on an anchor row m_i - odds_i/2 = r + beta V_{i+1}. Rows of
    consecutive periods share a level, hence a tridiagonal system.
    """
    spread = np.log(2 * np.cosh(odds / 2))
    right = REWARD + discount * spread[:, 1:] + odds[:, :-1] / 2
    joined = anchored[:, :-1] & anchored[:, 1:]
    diagonal = np.where(anchored, 1 + discount**2, 1.0)
    off = np.zeros_like(diagonal)
    off[:, 1:] = np.where(joined, -discount, 0.0)
    banded = np.stack([off.ravel(), diagonal.ravel()])
    weight = solveh_banded(banded, np.where(anchored, right, 0.0).ravel()).reshape(anchored.shape)
    level = np.zeros_like(odds)
    level[:, :-1] += weight
    level[:, 1:] -= discount * weight
    return level


def _nearest_errors(
    engine: BusEngine, tables: Array, mileage: NDArray[np.int64], u: Array
) -> Array:
    """Population errors of the table entries, each serving the u nearest to its own."""
    most = int(np.bincount(mileage, minlength=MILEAGES).max())
    q, weight = np.zeros((1, MILEAGES, most, 2)), np.zeros((1, MILEAGES, most))
    for x in range(MILEAGES):
        here = np.flatnonzero(mileage == x)
        if not len(here):
            weight[0, x, 0] = 1.0  # nothing seen: Q stays zero
            continue
        here = here[np.argsort(u[here])]
        middle = (u[here][1:] + u[here][:-1]) / 2
        weight[0, x, : len(here)] = np.diff(np.concatenate([[0.0], middle, [1.0]]))
        q[0, x, : len(here)] = tables[here]
    return np.asarray(population_errors(engine, q, weight)[0])


# --- cells
def against_t(cell: Cell, device: str) -> Result:
    """The gap at checkpoints, and the slope of its logarithm on that of T in the last decade."""
    settings, began = cell.settings, time.process_time()
    marks = np.unique(
        np.geomspace(10, settings["last"], settings["checkpoints"]).round().astype(int)
    )
    gaps, gone, (c_1, c_2) = descend(
        world(settings["beta"]),
        seeds.generators(cell),
        trajectories=settings["trajectories"],
        batch=settings["batch"],
        checkpoints=marks.tolist(),
        features=settings["features"],
        zeta_scale=settings["zeta"],
        ratio=float(settings["ratio"]),
    )
    status = "diverged" if np.any(gone) else "ok"
    late, times = marks >= settings["last"] / 10, len(gaps)
    slope = (math.nan, math.nan)
    if status == "ok":
        slope = log_slope(marks[late].astype(float), gaps[:, late])
    lines = [
        Record(f"slope of {GAP}", *slope, times, status),
        Record("share diverged", float(gone.mean()), math.nan, times, status),
        Record("c_1", c_1, status=status),
        Record("c_2", c_2, status=status),
    ]
    for mark, column in zip(marks, gaps.T, strict=True):
        if mark in (marks[0], marks[-1]):
            lines.append(_mean(GAP, column, status, f"T {mark}"))
    arrays = {"x": marks.astype(float), GAP: gaps}
    return Result(tuple(lines), arrays=arrays, cpu_seconds=(time.process_time() - began) / times)


def _mean(statistic: str, values: Array, status: str, row: str) -> Record:
    """Mean and standard error over all repetitions; infinite if one has diverged."""
    return replace(summarise(statistic, values.tolist(), [status] * len(values))[0], row=row)


def against_n(cell: Cell, device: str) -> Result:
    """Both errors at each size, and the slope of their logarithms on that of N over all sizes."""
    settings, began = cell.settings, time.process_time()
    engine, rngs = world(settings["beta"]), seeds.generators(cell)
    errors = np.empty((len(rngs), len(settings["sizes"]), 2))
    statuses = ["ok"]
    for k, size in enumerate(settings["sizes"]):
        if settings["family"] == "never repeats":
            draws = (interpolating_errors(engine, size, settings["limit"], rng) for rng in rngs)
            errors[:, k] = np.array(list(draws))
            continue
        counts = _counts(engine, size, rngs)
        if settings["family"] == "linear":
            q, converged = linear_minimisers(counts, settings["beta"])
            statuses += ["ok" if np.all(converged) else "not_converged"]
        else:
            q = tabular_minimisers(counts, settings["beta"], settings["limit"])
        errors[:, k] = population_errors(engine, q[:, :, None])
    x = np.array(settings["sizes"], dtype=float) * HORIZON
    status, times = worst(statuses), len(rngs)
    lines = []
    for j, statistic in enumerate((EXCESS, L2)):
        root = 1.0 if statistic == EXCESS else 0.5  # the L2 error is the root of a mean square
        slope, se = log_slope(x, errors[:, :, j])
        lines.append(Record(f"slope of {statistic}", root * slope, root * se, times, status))
    for k, size in enumerate(x):
        row = f"N {size:g}"
        lines.append(_mean(EXCESS, errors[:, k, 0], status, row))
        squared = _mean(L2, errors[:, k, 1], status, row)
        value = math.sqrt(squared.value)
        lines.append(Record(L2, value, squared.se / (2 * value), times, status, row=row))
    arrays = {"x": x, EXCESS: errors[:, :, 0], L2: errors[:, :, 1]}
    return Result(tuple(lines), arrays=arrays, cpu_seconds=(time.process_time() - began) / times)
