"""The losses' landscapes on the paper's data: worst points in balls, and how loose bounds are.

The class is the tabular one, a parameter for each output, so mu_Q = mu_zeta = 1 and parameters are
outputs. Data: the training split of Table 2's first repetition. Balls are centred at the minimiser
of R_Q. An action that a state lacks gets half a count there: else the likelihood's infimum is not
attained, and no ball contains a minimiser.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, kl_div, log_softmax, softmax

from gladius.designs.bus import BusEngine
from gladius.model.risk import value
from gladius.panel.record import Counts, group
from proofs_checks.oracle import polyak, separated
from proofs_checks.oracle.polyak import Sizes
from proofs_checks.oracle.risk import Sample
from reproduce.cells.data import data_sets
from reproduce.engine import seeds
from reproduce.engine.nouns import Array, Cell, Record, Result

TERMS = ("L_BE", "L_NLL", "R_Q", "F_zeta")
FLAT = 1e-9  # a loss nearer to its infimum than this is rounding
HIGH = 50.0  # logarithm of a ratio where there is none: far above any
FAR = 100.0  # radii from the centre at which a trial step is refused
CONTINUED = 4  # best short descents, which are continued
FROM_ZERO = "log10 of c_R on the ball around Q = 0 that reaches the centre, at most"


def sample_of(counts: Counts, world: BusEngine) -> Sample:
    """One replication's counts in the notation of the appendix."""
    moves = np.swapaxes(counts.moves[0], 0, 1)
    present = counts.present[0]
    moves = moves[present][:, :, present]
    anchor = np.full(len(moves), world.anchor_action, dtype=np.int64)
    return Sample(moves, anchor, np.full(len(moves), world.anchor_reward), world.discount)


def lacking(sample: Sample) -> int:
    """States in which an action is never taken: with one, the likelihood has no minimiser."""
    return int(np.any(sample.choices == 0, axis=1).sum())


def centre(sample: Sample) -> Array:
    """q (X, A): the minimiser of R_Q, with half a count for an action that is never taken."""
    visits = sample.visits[sample.nll_states]
    visits = np.where(visits == 0, 0.5, visits)
    log_p = np.zeros(sample.visits.shape)
    log_p[sample.nll_states] = np.log(visits / visits.sum(axis=1, keepdims=True))
    return separated.table(sample, log_p, np.zeros(len(sample.be_states)))


@dataclass(frozen=True)
class Landscape:
    """A loss of TERMS; its outputs x are q (X A,), or zeta (B,) for `F_zeta`, at q = `fixed`."""

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
            residual: Array = x - sample.target(self.fixed)
            return 2 * sample.discount**2 * sample.be_weight * residual
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
            return np.diag(2 * sample.discount**2 * sample.be_weight)
        q = x.reshape(self.fixed.shape)
        states, actions = self.fixed.shape
        total = np.zeros((states, actions, states, actions))
        every, p = np.arange(states), softmax(q, axis=1)
        spread = p[:, :, None] * (np.eye(actions) - p[:, None, :])  # Hess V of each state
        weight = np.zeros(states)
        if self.term != "L_BE":
            weight[sample.nll_states] += sample.nll_weight
        if self.term != "L_NLL":
            pull = 2 * sample.be_weight * sample.residual(q)
            weight += sample.discount * (pull @ sample.transition)
        total[every, :, every] = weight[:, None, None] * spread
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
        eigenvalues = np.linalg.eigvalsh(self.hessian(self.start))
        return float(eigenvalues[eigenvalues > 1e-10 * eigenvalues[-1]].min())


def points(landscape: Landscape, radius: float, number: int, rng: np.random.Generator) -> Array:
    """(number, P) points of the ball, their distances from the centre uniform."""
    direction = rng.normal(size=(number, landscape.start.size))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    distance: Array = radius * rng.uniform(size=(number, 1))
    return landscape.start + distance * direction


def least_ratio(
    landscape: Landscape, radius: float, starts: Sequence[Array], iterations: int
) -> tuple[float, Array]:
    """The least ratio that descents from these starts reach inside the ball, and its point.

    Short descents from all starts, full ones from where the best CONTINUED of them end. Each is
    done in the coordinates themselves, and in those in which the Hessian at the centre is the
    identity: the loss is a thousand times flatter along some directions than along others.
    """
    middle = landscape.start
    values, vectors = np.linalg.eigh(landscape.hessian(middle))
    stretch = np.maximum(values / values[-1], 1e-8) ** -0.5
    changes = (vectors * stretch / stretch.max(), np.eye(len(middle)))
    best = list(starts)
    for steps in (max(1, iterations // 4), iterations):
        descents = itertools.product(best, changes)
        best += [_descend(landscape, radius, change, start, steps) for start, change in descents]
        best = sorted(best, key=landscape.ratio)[:CONTINUED]
    return landscape.ratio(best[0]), best[0]


def _descend(
    landscape: Landscape, radius: float, change: Array, start: Array, iterations: int
) -> Array:
    """Sequential quadratic programming on the logarithm of the ratio, x = centre + change z."""
    middle = landscape.start

    def objective(z: Array) -> tuple[float, Array]:
        direction = change @ z
        if np.linalg.norm(direction) > FAR * radius:
            return HIGH, np.zeros_like(z)
        x = middle + direction
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
    end = minimize(
        objective,
        np.linalg.solve(change, start - middle),
        jac=True,
        method="SLSQP",
        constraints=[inside],
        options={"maxiter": iterations, "ftol": 1e-10},
    )
    direction = change @ end.x
    return np.asarray(middle + direction / max(1.0, float(np.linalg.norm(direction)) / radius))


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


# --- bounds and what is observed
def protocol(radius: float) -> str:
    """The protocol of a ball's lines in the CSV."""
    return f"measured radius {radius:g}"


def ball(sample: Sample, q: Array, radius: float) -> polyak.Constants:
    """The appendix's constants on the ball around q (X, 2).

    Q_- and Q_+ are the extremes of single outputs, as the paper takes them. |P_parallel A'| is
    convex in the choice probabilities, so it is largest where each is at an end of its range. The
    ends are those of the box around the ball.
    """
    of = polyak.constants(sample, q)
    least = of.least_choice * math.exp(-2 * radius)
    gap = q[:, 0] - q[:, 1]
    ends = expit(np.stack([gap - math.sqrt(2) * radius, gap + math.sqrt(2) * radius]))
    successors = np.flatnonzero(sample.transition.sum(axis=0))
    largest = 0.0
    for which in itertools.product((0, 1), repeat=len(successors)):
        p = np.full(len(q), 0.5)
        p[successors] = ends[list(which), successors]
        logit = np.stack([np.log(p), np.log1p(-p)], axis=1)
        largest = max(largest, polyak.constants(sample, logit).parallel)
    return replace(of, least_choice=least, parallel=largest)


def log_combined(of: polyak.Constants, radius: float) -> float:
    """log10 of c_R on a ball so large that p_- underflows; too large if anything.

    `of` has the centre's p_- and the C_parallel of one point.
    """
    choice = math.log10(of.nll * of.nll_share) - 2 * radius / math.log(10)
    return min(choice, math.log10(of.bellman / 2))


def sizes(sample: Sample, q: Array, radius: float) -> Sizes:
    """B, B_2 and M of the tabular class on the ball: each output moves by at most the radius."""
    residual = np.abs(sample.reward).max() + sample.discount * (np.abs(value(q)).max() + radius)
    residual += np.abs(q).max() + radius
    return Sizes(q.shape[1], sample.discount, 1.0, 0.0, float(residual))


def looseness(sample: Sample, q: Array, of: polyak.Constants, size: Sizes) -> dict[str, float]:
    """Bound over observed (or observed over bound) of each constant at q (X, A)."""
    jacobian = sample.residual_jacobian(q)
    between = jacobian - polyak.within_blocks(jacobian, q.shape[1])
    p = softmax(q, axis=1)[sample.nll_states]
    apart = np.sum((p - sample.choices) ** 2, axis=1) / p.min(axis=1)
    nll, bellman = sample.nll_gradient(q), sample.bellman_gradient(q)
    together = of.nll_share * np.sum(nll**2) + of.bellman * sample.bellman(q)
    share = sample.be_size / sample.size  # R_emp averages over all rows
    curved = [Landscape(sample, term, q).hessian(q.ravel()) for term in ("L_NLL", "L_BE")]
    steep = np.linalg.norm(nll + share * bellman)
    slacks = {
        "gamma_perp": np.linalg.svd(between, compute_uv=False)[-1] / of.gamma,
        "p_-": p.min() / of.least_choice,
        "KL by chi-square": np.min(apart / kl_div(sample.choices, p).sum(axis=1)),
        "a_NLL, a_BE": np.sum((nll + bellman) ** 2) / together,
        "Lipschitz, 2 + 2 M (1 + beta)": size.lipschitz() / steep,
        "curvature of L_NLL": size.choice() / np.linalg.norm(curved[0], 2),
        "L_theta": size.theta() / np.linalg.norm(curved[0] + share * curved[1], 2),
        "L_zeta, 2 beta^2": 1 / (share * sample.be_weight.max()),
    }
    return {name: float(slack) for name, slack in slacks.items()}


def compute(cell: Cell) -> Result:
    """Constants, least ratios and slacks in all balls of one data set.

    The smallest ball is first: its worst points start the next search.
    """
    settings = cell.settings
    world = BusEngine()
    train, _ = data_sets(world, cell)
    sample = sample_of(group(train), world)
    q = centre(sample)
    (rng,) = seeds.generators(cell, "points")
    whole = float(np.linalg.norm(q))
    local = replace(polyak.constants(sample, q), least_choice=1 / q.shape[1])
    records = [
        Record("states", len(q)),
        Record("states that lack an action", lacking(sample)),
        Record(FROM_ZERO, log_combined(local, whole)),
    ]
    arrays: dict[str, Array] = {}
    worst: dict[str, list[Array]] = {term: [] for term in TERMS}
    for radius in settings["radii"]:
        of, size, where = ball(sample, q, radius), sizes(sample, q, radius), protocol(radius)
        ratios: dict[str, list[float]] = {}
        dual = 2 * sample.discount**2 * float(sample.be_weight.min())  # of lem:zeta_empirical_pl
        promised = of.bellman, of.nll, of.combined, dual  # the appendix's constants, mu = 1
        for term, constant in zip(TERMS, promised, strict=True):
            shape = Landscape(sample, term, q)
            drawn = points(shape, radius, settings["points"], rng)
            starts = [*worst[term], *worst_starts(shape, radius, drawn, settings["starts"])]
            if term == "R_Q":  # where its gradient and its gap are the likelihood's
                logs = [log_softmax(x.reshape(q.shape), axis=1) for x in worst["L_NLL"]]
                zero = np.zeros(len(sample.be_states))
                same = [separated.table(sample, log_p, zero) for log_p in logs]
                starts += [x.ravel() for x in same if np.linalg.norm(x - q) <= radius]
            least, point = least_ratio(shape, radius, starts, settings["iterations"])
            worst[term].append(point)
            ratios[f"PL of {term}"] = [shape.ratio(x) / constant for x in drawn]
            records += [
                Record(f"PL of {term}, appendix", constant, protocol=where),
                Record(f"PL of {term}, least found", least, protocol=where),
                Record(f"curvature of {term}", shape.curvature(), protocol=where),
            ]
        for x in points(Landscape(sample, "R_Q", q), radius, settings["points"], rng):
            for name, slack in looseness(sample, x.reshape(q.shape), of, size).items():
                ratios.setdefault(name, []).append(slack)
        for name, slacks in ratios.items():
            arrays[f"{radius:g} {name}"] = np.array(slacks)
            records.append(
                Record(f"slack, {name}", min(slacks), math.nan, len(slacks), protocol=where)
            )
    return Result(tuple(records), arrays=arrays)
