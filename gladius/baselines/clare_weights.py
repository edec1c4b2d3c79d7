"""Where CLARE trusts its model: the spread of a bootstrap ensemble, and the weights made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gladius.checks import Array
from gladius.transition_probabilities import empirical_transition_probabilities
from gladius.transitions import Counts

KINDS = ("disagreement", "aleatoric")
ROUNDING = 1e-7  # of features over their range: a variance of 1e-14 or less is none


def uncertainty(
    counts: Counts, kind: str, models: int, rngs: Sequence[np.random.Generator]
) -> Array:
    """(R, S, A) in [0, 1], relative to the largest at a pair of the data; 0 off the data.

    Args:
        counts: all data.
        kind: `disagreement`: largest distance of a model's mean next state from the models' mean;
            `aleatoric`: largest norm of a model's standard deviations of the next state. Features
            are divided by their range.
        models: bootstrap samples of the transitions. A pair that is not in a sample has the
            pooled row of its action there (transition_probabilities.py).
        rngs: of each replication.
    """
    found = np.zeros(counts.visits.shape)
    for r, rng in enumerate(rngs):
        own = counts.states[counts.present[r]]
        scale = np.ptp(own, axis=0)
        features = (counts.states - own.min(axis=0)) / np.where(scale > 0, scale, 1.0)
        sampled = _resampled(counts, r, models, rng)
        moments = [_moments(one, features) for one in sampled]  # one law at a time: memory
        mean, deviation = (np.stack(parts) for parts in zip(*moments, strict=True))
        if kind == "disagreement":
            deviation = mean - mean.mean(axis=0)
        each = np.linalg.norm(deviation, axis=3)
        spread = np.where(counts.visits[r] > 0, each.max(axis=0).T, 0.0)
        spread[spread <= ROUNDING] = 0.0
        top = spread.max()
        found[r] = spread / (top if top > 0 else 1.0)
    return found


def conservative(expert: Array, data: Array, spread: Array, u: float) -> tuple[Array, Array]:
    """w d, the masses (R, S, A) that the weights move, and Z (R,).

    With masses in the place of the counts of points, -N/N_E times the expert's share of d is
    -rho_E, taken off where c > u and given back where c < u in proportion to d.

    Args:
        expert: (R, S, A) rho_E.
        data: (R, S, A) d.
        spread: (R, S, A) c.
        u: the threshold.
    """
    removed = np.where(spread > u, expert, 0.0)
    trusted = np.where(spread < u, data, 0.0)
    base = trusted.sum(axis=(1, 2))
    large = removed.sum(axis=(1, 2))
    given = np.where(base > 0, large / np.where(base > 0, base, 1.0), 0.0)
    weighted = given[:, None, None] * trusted - removed
    return weighted, 1.0 + weighted.sum(axis=(1, 2))


def _moments(counts: Counts, features: Array) -> tuple[Array, Array]:
    """(A, S, d) mean and standard deviation of the next state by frequencies."""
    law = empirical_transition_probabilities(counts).law[0]
    # a path that may end has less than all of its mass on next states
    law = law / np.maximum(law.sum(axis=2, keepdims=True), np.finfo(float).tiny)
    mean = law @ features
    return mean, np.sqrt(np.maximum(law @ features**2 - mean**2, 0.0))


def _resampled(counts: Counts, r: int, models: int, rng: np.random.Generator) -> Iterator[Counts]:
    """As many transitions as in the data set, drawn with replacement, `models` times."""
    moves = counts.moves[r]
    ended = counts.visits[r] - moves.sum(axis=2).T
    cells = np.concatenate([moves.ravel(), ended.ravel()])
    total = int(cells.sum())
    kept = np.flatnonzero(cells)
    for _ in range(models):
        drawn = np.zeros(len(cells))
        drawn[kept] = rng.multinomial(total, cells[kept] / total)
        new_moves = drawn[: moves.size].reshape(moves.shape)
        visits = new_moves.sum(axis=2).T + drawn[moves.size :].reshape(ended.shape)
        yield Counts(counts.states, visits[None], new_moves[None])
