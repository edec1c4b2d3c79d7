"""GLADIUS on rows (s, a, s') with a network: the class `mlp` where the data do not fit counts.

For a handful of continuous inputs z, standardised. The reward r_theta(., a) of every action a but
the anchor, whose own is given, is a line in z plus a tanh network. phi are functions of zeta (1, z,
cosines of z, each clipped to where its action was seen), and

    zeta_Q(., a) = phi_0'w_0 + phi_a'w_a,     (w_0, w_a) = argmin over w of
        sum over rows of (V_Q(s') - zeta(s, a))^2 + kappa_0 |w_0|^2 + kappa_1 sum_a |w_a|^2,
    Q = r_theta + beta zeta_Q,     V_Q(s') = logsumexp Q(s', .), and 0 where the path ended there.

What the actions share keeps zeta(., a) in hand where a is hardly ever taken, which matters because
V is a maximum over all of them. kappa_1 >= kappa_0 are chosen by generalised cross-validation among
those under which no action explodes (`NetworkRisk.ridge`). As in `sparse` the inner maximum of the
paper's risk is a linear solve, the Bellman term is zero row by row and the risk is the negative
log-likelihood; its derivative goes through zeta (`network_risk`).

The network starts at the minimum over lines and is trained by Adam, zeta and what the derivative
needs of it renewed every REFRESH steps. How many steps it takes a fifth of the trajectories say,
held out from the data given: the risk there must gain MARGIN nats an input, else the line stands;
and the last step is the one up to which no more than SLIP of the gain is lost again, since r feels
the network's bias more than the likelihood does. All trajectories are then fitted with so many.

With `restricted=False` the network is that of the log-odds, and r the plug-in's: the minimum of the
risk over all r. Its policy is behavioural cloning's, and neither beta nor s' enters it.

The constants were settled on data sets of the bus engine (rewards -x, -x - .6 sin x and -.25 x^1.7;
no, two or five dummies) and of its continuous version, on seeds that no exhibit uses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from gladius.anchor import Anchor
from gladius.checks import (
    Array,
    InputError,
    check_positive,
    check_whole,
    check_widths,
)
from gladius.estimate import Estimate, conclude
from gladius.network_risk import (
    ZETA_STEPS,
    Evaluation,
    NetworkRisk,
    network,
    standardised,
    zeta_of,
)
from gladius.networks import Parameters, check_device, start
from gladius.rows import Features
from gladius.screen import RIDGE, logit, solve
from gladius.smooth import CRITICAL
from gladius.specification import LEAST_DOUBT
from gladius.transitions import Transitions

GRADIENT = 1e-6  # per row, at the minimum over lines
HELD_OUT = 0.2  # of the trajectories
FEW = 5  # trajectories; of fewer the last rows are held out
BATCH = 2048  # distinct states a step
REFRESH = 50  # steps
PATIENCE = 20  # refreshes without a gain
GAIN = 0.1  # nats on the held-out rows that count as one
MARGIN = CRITICAL  # nats an input by which a network has to beat its line
SLIP = CRITICAL / 2  # nats of the gain that are given back
AVERAGE = 0.98  # decay of the average of the weights that is kept
WIDE = (256,)


@dataclass(frozen=True)
class Options:
    """What a user may set.

    Attributes:
        hidden: widths of the network's hidden layers.
        restricted: whether the network is r; otherwise it is the log-odds, and r the plug-in's.
        steps: of Adam, at most.
        learning_rate: Adam's.
        seed: of the weights, the held-out trajectories and the batches.
        device: cpu or cuda.
    """

    hidden: tuple[int, ...] = (64, 64)
    restricted: bool = True
    steps: int = 4000
    learning_rate: float = 1e-3
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_widths("hidden", self.hidden)
        check_whole("steps", self.steps, 0)
        check_positive("learning_rate", self.learning_rate)
        check_whole("seed", self.seed, 0)
        if not isinstance(self.restricted, bool):
            raise InputError("restricted", self.restricted, "give true or false")
        check_device(self.device)


@dataclass
class Fit:
    """A network with its zeta on the way to the minimum.

    Attributes:
        risk: that is minimised.
        theta: layers, and last the line's slopes, each with a leading axis of one.
        factor: of H.
        w: coefficients of zeta.
        steps: of Adam.
        inner: Newton steps for w, in all.
        settled: whether the last of them was short enough.
    """

    risk: NetworkRisk
    theta: Parameters
    factor: Tensor
    w: Tensor
    steps: int = 0
    inner: int = 0
    settled: bool = True

    def evaluate(self) -> Evaluation:
        """The risk at theta."""
        with torch.no_grad():
            here = self.risk.evaluate(self.risk.table(self.theta), self.w, self.factor)
        self.inner += here.steps
        self.settled = here.steps <= ZETA_STEPS
        self.w = here.w if self.settled else self.w
        return here

    def nll(self, other: NetworkRisk) -> float:
        """Sum over the rows of another data set: the risk there, whose Bellman term is zero."""
        with torch.no_grad():
            q = other.table(self.theta)
            if other.restricted:
                q = q + other.rows.discount * zeta_of(other.phi, self.w)
            return other.nll(q)


def begin(risk: NetworkRisk, options: Options) -> Fit:
    """The minimum over lines, from the plug-in of a linear logit; the network adds nothing yet."""
    rows, anchor = risk.rows, risk.rows.anchor
    design = torch.cat([torch.ones_like(risk.z[:, :1]), risk.z], dim=1)
    widths = (risk.z.shape[1], *options.hidden, len(rows.others))
    layers = start([np.random.default_rng(options.seed)], widths)
    theta = [part.to(risk.z) for part in (*layers, torch.zeros(1, widths[0], widths[-1]))]
    theta[-3].zero_()
    nothing = torch.zeros(0).to(risk.z)
    fit = Fit(risk, theta, nothing, nothing)

    def draw(line: Tensor) -> None:
        fit.theta = [*theta[:-2], line[None, :1], line[None, 1:]]

    line = logit(design, rows.visits[:, [*rows.others, anchor]])[:, :-1]
    draw(line)
    if not risk.restricted:
        return fit
    odds = design @ line
    odds = torch.cat([odds[:, :anchor], 0 * odds[:, :1], odds[:, anchor:]], dim=1)
    fit.factor = ridge_of(risk, odds)
    fit.w, _, reward = risk.plug_in(odds, fit.factor)
    weighted = design * risk.seen[:, None]
    line = solve(weighted.T @ design, weighted.T @ reward[:, rows.others])
    size = float(risk.seen.sum())

    def objective(flat: Array) -> tuple[float, Array]:
        draw(torch.as_tensor(flat.reshape(line.shape)).to(line))
        here = fit.evaluate()
        slope = design.T @ risk.slope(here)[:, rows.others]
        return here.nll / size, slope.flatten().cpu().numpy() / size

    policy = torch.softmax(odds, dim=1)[:, rows.others]
    spread = torch.diag_embed(policy) - policy[:, :, None] * policy[:, None]
    information = torch.einsum("nbc,ni,nj->ibjc", risk.seen[:, None, None] * spread, design, design)
    information = information.reshape(line.numel(), -1) / size  # of the logit: zeta held
    first = torch.linalg.inv(information + RIDGE * torch.eye(line.numel()).to(line)).cpu().numpy()
    settings = {"gtol": GRADIENT, "hess_inv0": (first + first.T) / 2}
    for last in (False, True):
        flat = minimize(objective, line.flatten().cpu(), jac=True, options=settings).x
        line = torch.as_tensor(flat.reshape(line.shape)).to(line)
        objective(flat)
        if not last:
            q = risk.table(fit.theta) + rows.discount * risk.zeta(fit.w)
            fit.factor = risk.ridge(torch.logsumexp(q, dim=1))
    return fit


def ridge_of(risk: NetworkRisk, odds: Tensor) -> Tensor:
    """Cholesky factor of H by the plug-in's V of (S, A) log-odds."""
    factor: Tensor = torch.linalg.cholesky(risk.gram + torch.eye(len(risk.gram)).to(risk.gram))
    for _ in range(2):  # the ridge of the second round follows the V of the first
        factor = risk.ridge(risk.plug_in(odds, factor)[1])
    return factor


class Course(NamedTuple):
    """Held-out NLL, a sum, before each refresh; whether training ended by itself."""

    losses: list[float]
    ended: bool


def train(fit: Fit, steps: int, options: Options, held: NetworkRisk | None = None) -> Course:
    """Adam on the risk, zeta and c renewed every REFRESH steps; `fit` ends at averaged weights.

    With held-out rows it ends when they have had no GAIN for PATIENCE refreshes.
    """
    risk, losses = fit.risk, []
    leaves = [part.clone().requires_grad_() for part in fit.theta]
    fit.theta = [part.clone() for part in fit.theta]
    optimiser = torch.optim.Adam(leaves, lr=options.learning_rate)
    rng, states = np.random.default_rng([options.seed, 1]), len(risk.z)
    for step in range(steps + 1):
        if step % REFRESH == 0 or step == steps:
            here = fit.evaluate()
            if held is not None:
                losses.append(fit.nll(held))
                if len(losses) - last_gain(losses) > PATIENCE:
                    return Course(losses, ended=True)
            if step == steps or not fit.settled:
                break
        part: Tensor | slice = slice(None)
        if states > BATCH:
            part = torch.as_tensor(rng.integers(0, states, BATCH), device=risk.z.device)
        q = risk.table(leaves, part) + risk.rows.discount * here.zeta[part]
        loss = here.weights[part] @ torch.logsumexp(q, dim=1) - (risk.rows.visits[part] * q).sum()
        optimiser.zero_grad()
        torch.autograd.backward(loss / here.weights[part].sum())
        optimiser.step()
        fit.steps += 1
        for mean, leaf in zip(fit.theta, leaves, strict=True):
            mean.lerp_(leaf.detach(), 1 - AVERAGE)
    return Course(losses, ended=False)


def last_gain(losses: Sequence[float]) -> int:
    """The place of the last loss that is GAIN lower than the one that counted before it."""
    place = 0
    for i, loss in enumerate(losses):
        if loss < losses[place] - GAIN:
            place = i
    return place


def hold_out(data: Transitions, seed: int) -> tuple[Transitions, Transitions]:
    """(kept, held out): a fifth of the trajectories; the last rows where these are few."""
    if len(np.unique(data.trajectory)) >= FEW:
        return data.split(1 - HELD_OUT, np.random.default_rng([seed, 2]))
    kept = np.arange(len(data)) < (1 - HELD_OUT) * len(data)
    return data.take(kept), data.take(~kept)


# The estimator ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowNetwork:
    """(n, d) states -> (n, A): r, or Q = r + beta zeta where `valued`.

    Attributes:
        theta: the network's parameters.
        center, scale: (d,) of its inputs.
        anchor: action and reward.
        restricted: whether the network is r, or the log-odds.
        features: functions of zeta.
        w: their coefficients.
        discount: beta.
        valued: whether Q is asked for.
    """

    theta: tuple[Array, ...]
    center: Array
    scale: Array
    anchor: Anchor
    restricted: bool
    features: tuple[Features, ...]
    w: Array
    discount: float
    valued: bool = False

    def __call__(self, states: Array) -> Array:
        given = torch.tensor(states, dtype=torch.float64)
        z = standardised(given, self.center, self.scale)
        theta = [torch.from_numpy(part) for part in self.theta]
        values = np.asarray(network(theta, z).numpy())
        values = np.insert(values, self.anchor.action, 0.0, axis=1)
        phi = torch.stack([features(given) for features in self.features], dim=1)
        ahead = self.discount * zeta_of(phi, torch.from_numpy(self.w)).numpy()
        if not self.restricted:  # r = log-odds + r_A - beta (zeta - zeta_A)
            values += self.anchor.values(states)[:, None] + ahead[:, [self.anchor.action]] - ahead
        values[:, self.anchor.action] = self.anchor.values(states)
        return np.asarray(values + ahead if self.valued else values)


def fit_rows(data: Transitions, anchor: Anchor, discount: float, options: Options) -> Estimate:
    """Fit one data set."""
    began = time.process_time()
    fit, course = fit_network(data, anchor, discount, options)
    return estimate(fit, anchor, course, time.process_time() - began)


def fit_network(
    data: Transitions, anchor: Anchor, discount: float, options: Options
) -> tuple[Fit, Course]:
    """Train without the held-out trajectories, then with them for as long as was best."""
    told = anchor, discount, options.restricted, options.device
    kept, held = hold_out(data, options.seed)
    trial = begin(NetworkRisk.of(kept, *told), options)
    course = train(trial, options.steps, options, trial.risk.on(held, anchor))
    losses = np.array(course.losses)
    needed = MARGIN * data.states.shape[1] if options.restricted else 0.0
    best = int(np.flatnonzero(losses <= losses.min() + SLIP)[-1])
    fit = begin(NetworkRisk.of(data, *told), options)
    fit.inner += trial.inner
    if best and losses[0] - losses.min() > needed:
        train(fit, best * REFRESH, options)
    return fit, course


def against_wide_network(
    data: Transitions,
    anchor: Anchor,
    discount: float,
    refit: Callable[[Transitions], Estimate],
    device: str = "cpu",
) -> dict[str, float]:
    """Held-out NLL of an estimator and of a wide network's choices on all inputs, per row.

    Both see the same four fifths of the trajectories. A network that is better by far says that
    the estimator's class leaves something out; nothing is chosen by it.

    Args:
        data: one data set.
        anchor, discount: as the estimator has them.
        refit: the estimator.
        device: where the network is trained.
    """
    kept, held = hold_out(data, 0)
    chosen = np.arange(len(held)), held.actions
    likelihood = np.log(refit(kept).policy(held.states)[chosen]).mean()
    options = Options(hidden=WIDE, restricted=False, device=device)
    wide, _ = fit_network(kept, anchor, discount, options)
    nll = wide.nll(wide.risk.on(held, anchor)) / len(held)
    return {"held_out_nll": -float(likelihood), "wide_network_nll": nll}


def estimate(fit: Fit, anchor: Anchor, course: Course, seconds: float) -> Estimate:
    """The fit as an Estimate."""
    risk, rows, size = fit.risk, fit.risk.rows, float(fit.risk.seen.sum())
    if not risk.restricted:
        table = risk.table(fit.theta)
        fit.factor = ridge_of(risk, table)
        fit.w, value, _ = risk.plug_in(table, fit.factor)
    here = fit.evaluate()
    if risk.restricted:
        value = torch.logsumexp(risk.table(fit.theta) + rows.discount * risk.zeta(fit.w), dim=1)
    leaves = [part.clone().requires_grad_() for part in fit.theta]
    slopes = torch.autograd.grad(risk.table(leaves), leaves, risk.slope(here))
    doubt = float(risk.seen @ (1 - (here.policy**2).sum(dim=1))) / size
    even_odds = size * float(np.log(len(rows.actions))) * (1 + 1e-9)  # a fit that is worse is none
    gain = course.losses[0] - min(course.losses)
    checks = {
        "zeta_settled": fit.settled,
        "training_ended": course.ended,
        "better_than_even_odds": here.nll <= even_odds,
        "choices_in_doubt": doubt > LEAST_DOUBT,
    }
    theta = tuple(part.cpu().numpy() for part in fit.theta)
    scaling, w = (risk.center, risk.scale), fit.w.cpu().numpy()
    reward = RowNetwork(theta, *scaling, anchor, risk.restricted, risk.features, w, rows.discount)
    return conclude(
        "gladius mlp_rows",
        replace(reward, valued=True),
        reward,
        len(risk.center),
        here.nll / size,
        risk.bellman(value, fit.w, fit.factor) / size,
        status="ok" if all(checks.values()) else "not_converged",
        iterations=fit.steps,
        gradient_norm=max(float(slope.abs().max()) for slope in slopes) / size,
        seconds=seconds,
        extra={"inner_iterations": fit.inner, "held_out_gain": gain, **checks},
    )
