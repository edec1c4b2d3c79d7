"""The paper's empirical losses on a table of outputs, with two derivatives, and their worst points.

`Landscape` is one of the four losses above its infimum. `least_ratio` looks for the point of a
ball at which (1/2)|gradient|^2 / (loss - infimum) is least: the largest Polyak-Lojasiewicz constant
the loss can have there is at most what it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import kl_div, softmax

from gladius.mdp import Array
from gladius.transitions import Counts
from proofs_checks.oracle.risk import Sample

TERMS = ("L_BE", "L_NLL", "R_Q", "F_zeta")
FLAT = 1e-9  # a loss nearer to its infimum than this is rounding
HIGH = 50.0  # logarithm of a ratio where there is none: far above any
FAR = 100.0  # radii from the centre at which a trial step is refused


def sample_of(counts: Counts, anchor_action: int, anchor_reward: float, discount: float) -> Sample:
    """One replication's counts in the notation of the appendix."""
    moves = np.swapaxes(counts.moves[0], 0, 1)
    there = counts.present[0]
    moves = moves[there][:, :, there]
    states = len(moves)
    anchor = np.full(states, anchor_action, dtype=np.int64)
    return Sample(moves, anchor, np.full(states, anchor_reward), discount)


def lacking(sample: Sample) -> int:
    """States in which an action is never taken: with one, the likelihood has no minimiser."""
    return int(np.any(sample.choices == 0, axis=1).sum())


def centre(sample: Sample) -> Array:
    """q (X, A): the minimiser of R_Q, with half a count for an action that is never taken."""
    seen = sample.visits[sample.nll_states]
    log_p = np.zeros(sample.visits.shape)
    known = np.where(seen == 0, 0.5, seen)
    log_p[sample.nll_states] = np.log(known / known.sum(axis=1, keepdims=True))
    return levelled(sample, log_p)


def levelled(sample: Sample, log_p: Array) -> Array:
    """q (X, A) with these choice probabilities, at the level where the Bellman residual is zero.

    States without an anchor row have no residual, and level zero.
    """
    states, at = len(sample.moves), sample.be_states
    system, right = np.eye(states), np.zeros(states)
    system[at] -= sample.discount * sample.law
    right[at] = sample.reward[at] - log_p[at, sample.anchor[at]]
    q: Array = log_p + np.linalg.solve(system, right)[:, None]
    return q


@dataclass(frozen=True)
class Landscape:
    """A loss of the outputs x: of q (X A,), or of zeta (B,) for `F_zeta`.

    Attributes:
        sample: the data.
        term: of TERMS.
        fixed: q (X, A), on which F_zeta depends.
    """

    sample: Sample
    term: str
    fixed: Array

    @property
    def start(self) -> Array:
        """The centre of the balls."""
        return self.sample.target(self.fixed) if self.term == "F_zeta" else self.fixed.ravel()

    def gap(self, x: Array) -> float:
        """The loss above its infimum over all x; summed without cancellation."""
        if self.term == "F_zeta":
            return self.sample.auxiliary(x, self.fixed)
        q, total = x.reshape(self.fixed.shape), 0.0
        if self.term != "L_NLL":
            total += self.sample.bellman(q)
        if self.term != "L_BE":
            p = softmax(q[self.sample.nll_states], axis=1)
            total += float(self.sample.nll_weight @ kl_div(self.sample.choices, p).sum(axis=1))
        return total

    def gradient(self, x: Array) -> Array:
        """Like x."""
        sample = self.sample
        if self.term == "F_zeta":
            apart = x - sample.target(self.fixed)
            slope: Array = 2 * sample.discount**2 * sample.be_weight * apart
            return slope
        q = x.reshape(self.fixed.shape)
        total = np.zeros_like(q)
        if self.term != "L_NLL":
            total += sample.bellman_gradient(q)
        if self.term != "L_BE":
            total += sample.nll_gradient(q)
        return total.ravel()

    def hessian(self, x: Array) -> Array:
        """Square, in x."""
        sample = self.sample
        if self.term == "F_zeta":
            diagonal = np.eye(len(x)) * (2 * sample.discount**2 * sample.be_weight)
            return diagonal
        q = x.reshape(self.fixed.shape)
        states, actions = self.fixed.shape
        total = np.zeros((states, actions, states, actions))
        at, p = np.arange(states), softmax(q, axis=1)
        spread = p[:, :, None] * (np.eye(actions) - p[:, None, :])  # Hess V of each state
        weight = np.zeros(states)
        if self.term != "L_BE":
            weight[sample.nll_states] += sample.nll_weight
        if self.term != "L_NLL":
            pull = 2 * sample.be_weight * sample.residual(q)
            weight += sample.discount * (pull @ sample.law)
        total[at, :, at] = weight[:, None, None] * spread
        flat = total.reshape(q.size, q.size)
        if self.term != "L_NLL":
            rows = sample.residual_jacobian(q)
            flat = flat + 2 * (rows.T * sample.be_weight) @ rows
        return flat

    def ratio(self, x: Array) -> float:
        """(1/2)|gradient|^2 / gap; infinite where the gap is rounding."""
        gap, gradient = self.gap(x), self.gradient(x)
        return float(gradient @ gradient) / (2 * gap) if gap > FLAT else np.inf

    def curvature(self) -> float:
        """Least eigenvalue of the Hessian at the centre among those that are not zero."""
        found = np.linalg.eigvalsh(self.hessian(self.start))
        return float(found[found > 1e-10 * found[-1]].min())


def points(landscape: Landscape, radius: float, number: int, rng: np.random.Generator) -> Array:
    """(number, P) points of the ball, their distances from the centre uniform."""
    way = rng.normal(size=(number, landscape.start.size))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    distance: Array = radius * rng.uniform(size=(number, 1))
    return landscape.start + distance * way


def least_ratio(
    landscape: Landscape, radius: float, starts: Sequence[Array], iterations: int, kept: int
) -> tuple[float, Array]:
    """The least ratio that descents from these starts reach inside the ball, and its point.

    Short descents from all starts, full ones from where the best `kept` of them end. Each is tried
    in the coordinates themselves, and in those in which the loss is round at the centre: its
    valleys, a thousand times flatter than its walls, are then no hindrance.
    """
    middle = landscape.start
    values, vectors = np.linalg.eigh(landscape.hessian(middle))
    stretch = np.maximum(values / values[-1], 1e-8) ** -0.5
    changes = (vectors * stretch / stretch.max(), np.eye(len(middle)))
    found = [(landscape.ratio(start), start) for start in starts]
    for steps in (max(1, iterations // 4), iterations):
        for _, start in list(found):
            for change in changes:
                reached = _descend(landscape, radius, change, start, steps)
                found.append((landscape.ratio(reached), reached))
        found = sorted(found, key=lambda one: one[0])[:kept]
    return found[0]


def _descend(
    landscape: Landscape, radius: float, change: Array, start: Array, iterations: int
) -> Array:
    """Sequential quadratic programming on the logarithm of the ratio, x = centre + change z."""
    middle = landscape.start

    def objective(z: Array) -> tuple[float, Array]:
        way = change @ z
        if np.linalg.norm(way) > FAR * radius:
            return HIGH, np.zeros_like(z)
        x = middle + way
        gap, gradient = landscape.gap(x), landscape.gradient(x)
        square = float(gradient @ gradient)
        if not FLAT < gap < 1 / FLAT or square < FLAT**2:
            return HIGH, np.zeros_like(z)
        slope = 2 * (landscape.hessian(x) @ gradient) / square - gradient / gap
        return float(np.log(square / (2 * gap))), change.T @ slope

    inside = {
        "type": "ineq",
        "fun": lambda z: 1 - np.sum((change @ z) ** 2) / radius**2,
        "jac": lambda z: -2 * change.T @ (change @ z) / radius**2,
    }
    found = minimize(
        objective,
        np.linalg.solve(change, start - middle),
        jac=True,
        method="SLSQP",
        constraints=[inside],
        options={"maxiter": iterations, "ftol": 1e-10},
    )
    way = change @ found.x
    reached: Array = middle + way / max(1.0, float(np.linalg.norm(way)) / radius)
    return reached


def worst_starts(landscape: Landscape, radius: float, drawn: Array, number: int) -> list[Array]:
    """Where descents begin: the best of the drawn points, and `number` of either of two kinds.

    Along the flattest eigenvectors of the Hessian at the centre, where the ratio is least; and with
    one coordinate far out, because a choice probability near zero or one shapes both losses.
    """
    middle = landscape.start
    scales = radius * np.geomspace(1e-3, 0.99, 10)
    _, vectors = np.linalg.eigh(landscape.hessian(middle))
    starts = [min(drawn, key=landscape.ratio)]
    for axis in vectors.T[:number]:
        along = [middle + sign * scale * axis for sign in (-1, 1) for scale in scales]
        starts.append(min(along, key=landscape.ratio))
    for axis in np.eye(len(middle))[: number // 2]:
        starts += [middle + sign * scales[-1] * axis for sign in (-1, 1)]
    return starts
