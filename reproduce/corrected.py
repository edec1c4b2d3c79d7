"""What `rates_corrected` computes: paths of six descents, condition numbers, and PL constants.

Tables on the bus engine's data. Every replacement leads to mileage 1, and of the maintenance rows
the risk has only the number, so that a data set is n(mileage, action). An action that a visited
mileage lacks gets half a count: without it there is no minimiser.

    printed          Algorithm 1 on all the rows: plain steps of Q and of zeta
    ascent by visits its smallest mend: the ascent in each cell divided by the cell's visits
    steps by visits  the descent too
    zeta exact       the descent by visits on the profile
    level closed     the same, the common level of Q solved for
    V closed         the log-odds alone, the residuals solved for
"""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from scipy.special import expit

from gladius.worlds.bus import MAINTAIN, BusEngine
from proofs_checks.corrected.search import least_ratio
from proofs_checks.oracle import polyak, separated
from proofs_checks.oracle.risk import Sample
from reproduce import seeds
from reproduce.data import splits
from reproduce.landscape import centre, log_combined
from reproduce.spec import Array, Cell, Record, Result

PLAIN = ("printed", "ascent by visits")  # whose descent is not divided by visits
TWO_SCALES = (*PLAIN, "steps by visits")
COMPARED = ("zeta exact", "level closed", "V closed")
METHODS = (*TWO_SCALES, *COMPARED)
NEAR = 1e-2  # a rate is measured below this distance, over the last two decades
DONE = dict.fromkeys(METHODS, 1e-4) | {"level closed": 1e-6, "V closed": 1e-9}  # ends a run
ANCHORS = ("reset", "lazy walk")
STAY = 0.8  # of the walk, which else moves to either neighbour


def samples(cell: Cell) -> list[Sample]:
    """The training splits of the cell's repetitions."""
    world = BusEngine()
    train, _ = splits(
        world.mdp, world.horizon, cell.settings["trajectories"], seeds.generators(cell)
    )
    return [_sample(visits, world) for visits in train.visits]


def _sample(visits: Array, world: BusEngine) -> Sample:
    """Of n(x, a) (S, 2), at the mileages that have rows; mileage 1 is the first of them."""
    seen = visits[visits.sum(axis=1) > 0]
    states = np.arange(len(seen))
    moves = np.zeros((len(seen), 2, len(seen)))
    moves[states, MAINTAIN, states] = seen[:, MAINTAIN]
    moves[:, world.anchor_action, 0] = seen[:, world.anchor_action]
    moves[states, MAINTAIN, states] += 0.5 * (seen[:, MAINTAIN] == 0)
    moves[:, world.anchor_action, 0] += 0.5 * (seen[:, world.anchor_action] == 0)
    anchor = np.full(len(seen), world.anchor_action)
    return Sample(moves, anchor, np.full(len(seen), world.anchor_reward), world.discount)


# --- condition numbers and rates at the minimiser
def hessian(sample: Sample, metric: Array) -> Array:
    """(2 X, 2 X) of the profile at its minimiser, in a (X,) metric."""
    rows = separated.jacobian(sample, polyak.solution(sample))
    root = np.sqrt(np.repeat(metric, 2))
    return np.asarray((rows.T @ separated.curvatures(sample) @ rows) / root[:, None] / root)


def without_level(sample: Sample) -> Array:
    """The same by visits with the common level in closed form; singular along it."""
    weight = separated.state_weight(sample)
    full, level = hessian(sample, weight), np.sqrt(np.repeat(weight, 2))
    shift = full @ level
    return np.asarray(full - np.outer(shift, shift) / (level @ shift))


def spectra(sample: Sample) -> dict[str, Array]:
    """Curvatures that a descent sees, least first; of V closed those of KL in a state's logits."""
    pi = sample.choices[:, 0]
    return {
        "zeta exact": np.asarray(
            np.linalg.eigvalsh(hessian(sample, separated.state_weight(sample)))
        ),
        "level closed": np.asarray(np.linalg.eigvalsh(without_level(sample))[1:]),
        "V closed": np.sort(2 * pi * (1 - pi)),
    }


def predicted(sample: Sample, step: float, plain_step: float) -> dict[str, float]:
    """log10 of the factor by which the distance falls a step, near the minimiser."""
    least = {name: values[0] for name, values in spectra(sample).items()}
    steps = {"zeta exact": step, "level closed": step, "V closed": 2.0}
    factors = {name: 1 - steps[name] * least[name] for name in steps}
    w, b = separated.state_weight(sample), separated.anchor_weight(sample)
    policy = np.exp(separated.log_choices(polyak.solution(sample)))
    beta, eye, nothing = sample.discount, np.eye(len(w)), np.zeros((len(w), 2 * len(w)))
    for name in TWO_SCALES:  # steps on (q, zeta): f = g - beta^2 |zeta - P V|_b^2
        metric, length = (np.ones_like(w), plain_step) if name in PLAIN else (w, step)
        root = np.sqrt(np.repeat(metric, 2))
        ahead = (sample.law[:, :, None] * policy).reshape(len(w), -1) / root
        pull = 2 * beta**2 * length * ahead.T * b
        down = np.eye(2 * len(w)) - length * hessian(sample, metric) + pull @ ahead
        moved = np.hstack([down, -pull])
        follow = ascent(name, length, b)[:, None]
        up = follow * (ahead @ moved) + (1 - follow) * np.hstack([nothing, eye])
        factors[name] = float(np.abs(np.linalg.eigvals(np.vstack([moved, up]))).max())
    return {name: math.log10(factors[name]) for name in METHODS}


def ascent(name: str, length: float, b: Array) -> Array:
    """(..., X) share of the way to P V that zeta goes in a step, b the anchor rows of each cell.

    By visits every cell goes at the rate of a single one with all the anchor rows, which is that of
    the common level of Q in steps by visits.
    """
    return 2 * length * (b if name == "printed" else b.sum(axis=-1, keepdims=True) + 0 * b)


def conditions(cell: Cell, device: str) -> Result:
    """Condition numbers by discount and anchor; arrays (R, betas, 3) by anchor."""
    betas, arrays = cell.settings["betas"], {}
    for anchor in ANCHORS:
        found = []
        for sample in samples(cell):
            moves = sample.moves.copy()
            if anchor != "reset":
                states = len(moves)
                walk = STAY * np.eye(states)
                for x in range(states):
                    for y in (max(x - 1, 0), min(x + 1, states - 1)):
                        walk[x, y] += (1 - STAY) / 2
                rows = np.arange(states), sample.anchor
                moves[rows] = moves[rows].sum(axis=1)[:, None] * walk
            versions = (Sample(moves, sample.anchor, sample.reward, beta) for beta in betas)
            values = [list(spectra(version).values()) for version in versions]
            found.append([[x[-1] / x[0] for x in of] for of in values])
        arrays[anchor] = np.array(found)
    lines = [
        Record(f"condition number, {name}", float(arrays[anchor][:, k, i].mean()), row=row)
        for anchor in ANCHORS
        for k, beta in enumerate(betas)
        for row in [f"{anchor}, beta {beta:g}"]
        for i, name in enumerate(COMPARED)
    ]
    return Result(tuple(lines), arrays=arrays)


# --- paths
class Paths:
    """All data sets side by side, on a common number of mileages; arrays (R, X).

    States without rows have weight zero and stay where they begin.
    """

    def __init__(self, parts: list[Sample], step: float, plain_step: float) -> None:
        shape = (len(parts), max(len(part.anchor) for part in parts))
        self.w, self.b, self.pi = np.ones(shape), np.zeros(shape), np.full(shape, 0.5)
        self.joint, self.target = np.zeros((*shape, 2)), np.zeros((*shape, 2))
        for r, part in enumerate(parts):
            here = slice(len(part.anchor))
            self.w[r, here] = separated.state_weight(part)
            self.b[r, here] = separated.anchor_weight(part)
            self.pi[r, here] = part.choices[:, 1]
            self.joint[r, here] = part.visits / part.size
            self.target[r, here] = polyak.solution(part)
        self.step, self.plain_step = step, plain_step
        self.beta, self.reward = parts[0].discount, float(parts[0].reward[0])
        self.q0, self.q1, self.zeta = np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def distance(self) -> Array:
        """(R,) root mean square over the data of Q - Q*."""
        off = np.stack([self.q0, self.q1], axis=2) - self.target
        return np.asarray(np.sqrt((self.joint * off**2).sum(axis=(1, 2))))

    def value(self) -> Array:
        """(R, 1) V at mileage 1."""
        return np.logaddexp(self.q0[:, :1], self.q1[:, :1])

    def descend(self, closed: bool = False, two_scales: str = "") -> None:
        """A step on the profile, the level perhaps in closed form, or of one of TWO_SCALES."""
        v = self.value()
        if closed:  # a shift by c moves every residual by (beta - 1) c
            mean = (self.b * (self.reward + self.beta * v - self.q1)).sum(axis=1, keepdims=True)
            shift = mean / self.b.sum(axis=1, keepdims=True) / (1 - self.beta)
            self.q0, self.q1, v = self.q0 + shift, self.q1 + shift, v + shift
        is_plain = two_scales in PLAIN
        length = self.plain_step if is_plain else self.step
        p = expit(self.q1 - self.q0)
        off = length * (p - self.pi)
        pull = 2 * length * self.b * (self.reward + self.beta * v - self.q1)
        ahead = self.beta * pull.sum(axis=1)
        if two_scales:
            lag = 2 * length * (self.b * (self.zeta - v)).sum(axis=1)
            ahead = ahead + self.beta**2 * lag
        if is_plain:
            off = self.w * off
        else:
            pull, ahead = pull / self.w, ahead / self.w[:, 0]
        self.q1 = self.q1 - off + pull
        self.q0 = self.q0 + off
        self.q1[:, 0] -= ahead * p[:, 0]
        self.q0[:, 0] -= ahead * (1 - p[:, 0])
        if two_scales:
            self.zeta += ascent(two_scales, length, self.b) * (self.value() - self.zeta)

    def in_closed_form(self) -> None:
        """One step of 2 in the logits, the residuals solved for."""
        p = expit(self.q1 - self.q0)
        self.q1, self.q0 = self.q1 - 2 * (p - self.pi), self.q0 + 2 * (p - self.pi)
        log_p = -np.logaddexp(0.0, self.q0 - self.q1), -np.logaddexp(0.0, self.q1 - self.q0)
        first = (self.reward - log_p[0][:, :1]) / (1 - self.beta)  # V at mileage 1
        v = self.reward + self.beta * first - log_p[0]
        self.q1, self.q0 = v + log_p[0], v + log_p[1]

    def run(self, method: str, most: int, checkpoints: int) -> tuple[Array, Array]:
        """Steps (T,) and distances (R, T), until all are below DONE or `most` steps are done."""
        advance: Mapping[str, Callable[[], None]] = {
            **{name: partial(self.descend, two_scales=name) for name in TWO_SCALES},
            "zeta exact": self.descend,
            "level closed": partial(self.descend, closed=True),
            "V closed": self.in_closed_form,
        }
        places = np.unique(np.geomspace(1, most, checkpoints).astype(int))
        done, distances = 0, []
        for place in places:
            for _ in range(place - done):
                advance[method]()
            done = int(place)
            distances.append(self.distance())
            if distances[-1].max() < DONE[method]:
                break
        return places[: len(distances)].astype(float), np.array(distances).T


def measured(steps: Array, distance: Array, done: float) -> float:
    """log10 of the factor a step between NEAR and `done`, over the last two decades of it.

    NaN where that is under one decade.
    """
    last = int(np.argmax(distance < done)) or len(distance) - 1
    first = int(np.argmax(distance < min(NEAR, 100 * distance[last])))
    if not distance[first] >= 10 * distance[last]:
        return math.nan
    fall = math.log10(distance[last] / distance[first])
    return float(fall / (steps[last] - steps[first]))


def paths(cell: Cell, device: str) -> Result:
    """Distances by method, and the rates near the minimiser, predicted and measured."""
    settings, parts = cell.settings, samples(cell)
    lengths = settings["step"], settings["plain_step"]
    laws = [predicted(part, *lengths) for part in parts]
    arrays: dict[str, Array] = {}
    lines = []
    for method in METHODS:
        run = Paths(parts, *lengths)
        steps, distances = run.run(method, settings["most"][method], settings["checkpoints"])
        arrays[f"{method} steps"], arrays[f"{method} distance"] = steps, distances
        rates = np.array([law[method] for law in laws])
        arrays[f"{method} predicted"] = rates
        ratios = np.array([measured(steps, of, DONE[method]) for of in distances]) / rates
        lines.append(Record("steps a decade, predicted", float(np.mean(-1 / rates)), row=method))
        for name, value in (("mean", np.mean(ratios)), ("farthest", _farthest(ratios))):
            status = "ok" if math.isfinite(value) else "not_converged"
            statistic = f"rate, measured over predicted, {name}"
            repetitions = len(ratios)
            lines.append(Record(statistic, float(value), math.nan, repetitions, status, row=method))
    return Result(tuple(lines), arrays=arrays)


def _farthest(ratios: Array) -> float:
    """The ratio that is farthest from 1."""
    return float(ratios[np.argmax(np.abs(ratios - 1))])


# --- PL constants
def constants(cell: Cell, device: str) -> Result:
    """PL below each level: proved, least ratio found, and the appendix's; arrays (R, levels).

    The appendix's is that of its R_Q on the smallest ball around the centre that reaches the worst
    point found: no smaller ball could say anything about that level.
    """
    levels = cell.settings["levels"]
    shape = (cell.repetitions, len(levels))
    proved, found, printed = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for r, sample in enumerate(samples(cell)):
        middle = centre(sample)
        of = polyak.constants(sample, middle)
        for k, level in enumerate(levels):
            proved[r, k] = separated.pl_constant(sample, level)
            found[r, k], worst = least_ratio(sample, level)
            printed[r, k] = log_combined(of, float(np.linalg.norm(worst - middle)))
    lines = []
    for k, level in enumerate(levels):
        ratios, row = found[:, k] / proved[:, k], f"level {level:g}"
        lines += [
            Record("PL proved, mean", float(proved[:, k].mean()), repetitions=len(ratios), row=row),
            Record("found over proved, most", float(ratios.max()), row=row),
            Record("found over proved, least", float(ratios.min()), row=row),
            Record(
                "log10 of found over printed, least",
                float((np.log10(found[:, k]) - printed[:, k]).min()),
                row=row,
            ),
        ]
    return Result(tuple(lines), arrays={"proved": proved, "found": found, "printed": printed})
