"""The class `mlp` on observations (s, a, s'): a network for a handful of continuous inputs z.

The reward r_theta(., a) of every action but the anchor is a line in z plus a tanh network. phi are
functions of zeta (1, z, cosines of z, each clipped to where its action was taken), and

    zeta_Q(., a) = phi_0'w_0 + phi_a'w_a,     (w_0, w_a) = argmin over w of
        sum over observations of (V_Q(s') - zeta(s, a))^2 + kappa_0 |w_0|^2 + kappa_1 sum_a |w_a|^2,
    Q = r_theta + beta zeta_Q,     V_Q(s') = logsumexp Q(s', .), and 0 where the path ended there.

As in `sparse` the risk is the negative log-likelihood; `network_risk` has its derivative and
chooses kappa. With `restricted=False` the network is that of the log-odds, and r the plug-in's: the
minimum of the risk over all r. Neither beta nor s' enters its policy.

Implementation choices:
- w_0, shared by the actions, keeps zeta(., a) from extremes where a is hardly ever taken.
- Training starts at the minimum over lines, by Fisher scoring. Adam's weights are averaged.
- A fifth of the trajectories is held out to choose the number of steps. The risk there must gain
  MARGIN nats an input, otherwise r is the line. All trajectories are then fitted with that number,
  the last after which no more than SLIP of the gain is lost.
- Constants were tuned on bus engines, on other seeds than the exhibits use.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from gladius.model.estimate import Estimate, Fit
from gladius.own_data.erm import misfit as trust
from gladius.own_data.erm.observations.features import Features, Rows
from gladius.own_data.erm.observations.network_risk import (
    ZETA_STEPS,
    Evaluation,
    NetworkRisk,
    network,
    standardise,
    zeta_of,
)
from gladius.own_data.erm.observations.regression import (
    logit,
    solve,
)
from gladius.own_data.erm.smooth import LEAVES_FIXED_FORM
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.solvers.networks import (
    Parameters,
    adam,
    no_moments,
    start,
    views,
    without_denormals,
)
from gladius.validate import Array, InputError, check_positive, check_whole, check_widths

# at the minimum over lines, twice the nats that a further step would gain: an observation, in all
DECREMENT, LEAST = 1e-6, 1e-3
LINE_STEPS = 100
LENGTHS = tuple(2.0**k for k in range(3, -20, -1))  # shares of such a step that are tried
HELD_OUT = 0.2  # of the trajectories
FEW = 5  # trajectories; of fewer the last observations are held out
BATCH = 2048  # distinct states a step
STEPS_IN = torch.float32  # numbers of the steps; averages, zeta and the risk are in float64
REFRESH = 50  # steps
REFRESHES_WITHOUT_GAIN = 20  # then it stops
GAIN = 0.1  # nats on the held-out observations that count as one
MARGIN = LEAVES_FIXED_FORM  # nats an input by which a network has to beat its line
SLIP = LEAVES_FIXED_FORM / 2  # nats of the gain that may be lost
AVERAGE = 0.98  # decay of the average of the weights


@dataclass(frozen=True)
class Options:
    """The options of a user.

    Attributes:
        hidden: widths of the network's hidden layers.
        restricted: whether the network is r; otherwise it is the log-odds, and r the plug-in's.
        steps: of Adam, at most.
        learning_rate: Adam's.
        seed: of the weights, the held-out trajectories and the batches.
    """

    hidden: tuple[int, ...] = (64, 64)
    restricted: bool = True
    steps: int = 4000
    learning_rate: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        check_widths("hidden", self.hidden)
        check_whole("steps", self.steps, 0)
        check_positive("learning_rate", self.learning_rate)
        check_whole("seed", self.seed, 0)
        if not isinstance(self.restricted, bool):
            raise InputError("restricted", self.restricted, "give true or false")


# Training -----------------------------------------------------------------------------------------


@dataclass
class NetworkFit:
    """A network with its zeta on the way to the minimum."""

    risk: NetworkRisk  # that is minimised
    theta: Parameters  # layers, and last the line's slopes, each with a leading axis of one
    factor: Tensor  # of H
    w: Tensor  # coefficients of zeta
    steps: int = 0  # of Adam
    inner: int = 0  # Newton steps for w, in all
    is_solved: bool = True  # whether zeta was solved for at the last theta

    def evaluate(self) -> Evaluation:
        """The risk at theta."""
        with torch.no_grad():
            at = self.risk.evaluate(self.risk.table(self.theta), self.w, self.factor)
        self.inner += at.steps
        self.is_solved = at.steps <= ZETA_STEPS
        self.w = at.w if self.is_solved else self.w
        return at

    @property
    def line(self) -> Tensor:
        """(1 + d, A - 1) constants and slopes."""
        return torch.cat([layer[0] for layer in self.theta[-2:]])

    @line.setter
    def line(self, line: Tensor) -> None:
        self.theta = [*self.theta[:-2], line[None, :1], line[None, 1:]]

    @property
    def q(self) -> Tensor:
        """(S, A) at theta and w."""
        return self.risk.table(self.theta) + self.risk.rows.discount * self.risk.zeta(self.w)

    def descend(self, line: Tensor, design: Tensor) -> None:
        """The minimum over lines in (S, 1 + d) columns, from one of them, by Fisher scoring.

        A step is as long as is best where Q is linear in it, or half as long, until the risk falls.
        """
        risk, others, self.line = self.risk, self.risk.rows.others, line
        at, size = self.evaluate(), float(risk.rows.seen.sum())
        for _ in range(LINE_STEPS):
            gradient = (design.T @ risk.output_gradient(at)[:, others]).flatten()
            of_w, of_q, information = risk.by_line(at, design, self.factor)
            step = -solve(information, gradient)
            if not -float(gradient @ step) > min(DECREMENT * size, LEAST):
                return
            line, w, q, of_step = self.line, self.w, self.q, of_q @ step
            best = int(np.argmin([risk.nll(q + length * of_step) for length in LENGTHS]))
            for length in LENGTHS[best:]:
                self.line = line + length * step.view_as(line)
                self.w = w + length * (of_w @ step).view_as(w)
                trial = self.evaluate()
                if self.is_solved and trial.nll < at.nll:
                    break
            else:
                self.line, self.w, self.is_solved = line, w, at.steps <= ZETA_STEPS
                return
            at = trial

    def nll(self, other: NetworkRisk) -> float:
        """NLL of another data set, a sum: the risk there, whose Bellman term is zero."""
        with torch.no_grad():
            q = other.table(self.theta)
            if other.restricted:
                q = q + other.rows.discount * zeta_of(other.phi, self.w)
            return other.nll(q)


def fit_line(risk: NetworkRisk, options: Options) -> NetworkFit:
    """The minimum over lines, from the plug-in of a linear logit; the network adds nothing yet."""
    rows, anchor = risk.rows, risk.rows.anchor
    design = torch.cat([torch.ones_like(risk.z[:, :1]), risk.z], dim=1)
    widths = (risk.z.shape[1], *options.hidden, len(rows.others))
    layers = start([np.random.default_rng(options.seed)], widths)
    theta = [layer.to(risk.z) for layer in (*layers, torch.zeros(1, widths[0], widths[-1]))]
    theta[-3].zero_()
    fit = NetworkFit(risk, theta, risk.z.new_zeros(0), risk.z.new_zeros(0))
    line = logit(design, rows.visits[:, [*rows.others, anchor]])[:, :-1]
    fit.theta = [*theta[:-2], line[None, :1], line[None, 1:]]
    if not risk.restricted:
        return fit
    odds = design @ line
    odds = torch.cat([odds[:, :anchor], 0 * odds[:, :1], odds[:, anchor:]], dim=1)
    fit.factor, fit.w, _, reward = risk.plug_in(odds)
    weighted = design * rows.seen[:, None]
    line = solve(weighted.T @ design, weighted.T @ reward[:, rows.others])
    fit.descend(line, design)
    fit.factor = risk.ridge(torch.logsumexp(fit.q, dim=1))
    fit.descend(fit.line, design)
    return fit


class History(NamedTuple):
    """Held-out NLL, a sum, before each refresh; whether training ended since it had no GAIN."""

    losses: Sequence[float] = (0.0,)
    has_ended: bool = False


@without_denormals()
def train(
    fit: NetworkFit, steps: int, options: Options, held_out: NetworkRisk | None = None
) -> History:
    """Adam on the risk, zeta and c renewed every REFRESH steps; `fit` ends at averaged weights.

    With held-out observations it ends when they have had no GAIN for REFRESHES_WITHOUT_GAIN
    refreshes.
    """
    states, losses = len(fit.risk.z), []
    flat = torch.cat([layer.flatten() for layer in fit.theta])[None, None]
    value, average = (flat.to(kind, copy=True) for kind in (STEPS_IN, torch.float64))
    slope, moments = torch.empty_like(value), no_moments([value])
    theta, fit.theta, slopes = (views(x, fit.theta) for x in (value, average, slope))
    rate, rng = torch.tensor(options.learning_rate), np.random.default_rng([options.seed, 1])
    for step in range(steps + 1):
        if step % REFRESH == 0 or step == steps:
            at = fit.evaluate()
            if held_out is not None:
                losses.append(fit.nll(held_out))
                if len(losses) - last_gain(losses) > REFRESHES_WITHOUT_GAIN:
                    return History(losses, has_ended=True)
            if step == steps or not fit.is_solved:
                break
            columns = Columns.of(fit.risk, at, value)
        batch: Tensor | slice = slice(None)
        if states > BATCH:
            batch = torch.as_tensor(rng.integers(0, states, BATCH))
        columns.gradient(theta, batch, slopes)
        fit.steps += 1
        adam([value], moments, [slope], rate, step + 1)
        average.lerp_(value.double(), 1 - AVERAGE)
    return History(losses)


class Columns(NamedTuple):
    """The risk at all states with zeta and its weights as they were solved for.

    Per observation it is sum over s of (n + c) logsumexp(r + beta zeta) - n (r + beta zeta).
    """

    z: Tensor  # (S, d)
    given: Tensor  # (A, S) beta zeta, at the anchor with its reward
    weights: Tensor  # (S,) n + c
    visits: Tensor  # (A, S)
    others: Sequence[int]  # the actions with outputs of the network

    @classmethod
    def of(cls, risk: NetworkRisk, at: Evaluation, like: Tensor) -> Self:
        """The columns in the kind of numbers of a tensor."""
        given = risk.rows.discount * at.zeta
        if risk.restricted:
            given[:, risk.rows.anchor] += risk.rows.anchor_reward
        tensors = (x.to(like) for x in (risk.z, given.T, at.weights, risk.rows.visits.T))
        z, given, weights, visits = (x.contiguous() for x in tensors)
        return cls(z, given, weights, visits, risk.rows.others)

    def gradient(self, theta: Parameters, batch: Tensor | slice, out: Parameters) -> None:
        """Derivative at some states an observation, into `out`; autograd takes twice as long."""
        z, given = self.z[batch], self.given[:, batch]
        weights, visits = self.weights[batch], self.visits[:, batch]
        *layers, line = (layer[0] for layer in theta)
        *slopes, of_line = (layer[0] for layer in out)
        hidden = [z]
        for w, b in zip(layers[:-2:2], layers[1:-2:2], strict=True):
            hidden.append(torch.addmm(b, hidden[-1], w).tanh_())
        q = given.clone()
        q[self.others] += (torch.addmm(layers[-1], hidden[-1], layers[-2]) + z @ line).T
        excess = (weights * torch.softmax(q, dim=0) - visits).div_(weights.sum())
        down = excess[self.others].T.contiguous()
        torch.mm(z.T, down, out=of_line)
        for i in reversed(range(len(hidden))):
            torch.mm(hidden[i].T, down, out=slopes[2 * i])
            torch.sum(down, dim=0, keepdim=True, out=slopes[2 * i + 1])
            if i:
                down = down @ layers[2 * i].T * (1 - hidden[i] ** 2)


def last_gain(losses: Sequence[float]) -> int:
    """Index of the last loss that is GAIN lower than the one that counted before it."""
    index = 0
    for i, loss in enumerate(losses):
        if loss < losses[index] - GAIN:
            index = i
    return index


def hold_out(data: Transitions, seed: int) -> tuple[Transitions, Transitions]:
    """(training, held out): a fifth of the trajectories; the last rows where these are few."""
    if len(np.unique(data.trajectory)) >= FEW:
        return data.split(1 - HELD_OUT, np.random.default_rng([seed, 2]))
    is_training = np.arange(len(data)) < (1 - HELD_OUT) * len(data)
    return data.take(is_training), data.take(~is_training)


# The estimator ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowNetwork:
    """(n, d) states -> (n, A): r, or Q = r + beta zeta where `is_q`."""

    theta: tuple[Array, ...]  # the network's parameters
    center: Array  # center, scale: (d,) of its inputs
    scale: Array
    anchor: Anchor  # action and reward
    restricted: bool  # whether the network is r, or the log-odds
    features: Features  # functions of zeta
    w: Array  # their coefficients
    discount: float  # beta
    is_q: bool = False  # whether the values are Q

    def outputs(self, states: Array) -> Array:
        """(n, A) outputs of the network, 0 at the anchor: unrestricted, the log-odds of choices."""
        tensor = torch.tensor(states, dtype=torch.float64)
        theta = [torch.as_tensor(layer) for layer in self.theta]
        values = network(theta, standardise(tensor, self.center, self.scale)).numpy(force=True)
        return np.insert(values, self.anchor.action, 0.0, axis=1)

    def __call__(self, states: Array) -> Array:
        values = self.outputs(states)
        phi = self.features(torch.tensor(states, dtype=torch.float64))
        zeta = self.discount * zeta_of(phi, torch.as_tensor(self.w)).numpy(force=True)
        if not self.restricted:  # r = log-odds + r_A - beta (zeta - zeta_A)
            values += self.anchor.values(states)[:, None] + zeta[:, [self.anchor.action]] - zeta
        values[:, self.anchor.action] = self.anchor.values(states)
        return np.asarray(values + zeta if self.is_q else values)


def fit_rows(data: Transitions, anchor: Anchor, discount: float, options: Options) -> Estimate:
    """The estimate of one data set, trained for as long as was best on held-out trajectories."""
    settings = anchor, discount, options.restricted
    training, held_out = hold_out(data, options.seed)
    trial = fit_line(NetworkRisk.of(training, *settings), options)
    rows = Rows.of(held_out, range(data.states.shape[1]), anchor, discount)
    history = train(trial, options.steps, options, replace(trial.risk, rows=rows))
    losses = np.array(history.losses)
    fit = fit_line(NetworkRisk.of(data, *settings), options)
    fit.inner += trial.inner
    best = int(np.flatnonzero(losses <= losses.min() + SLIP)[-1])
    margin = MARGIN * data.states.shape[1] if options.restricted else 0.0
    if best and losses[0] - losses.min() > margin:
        train(fit, best * REFRESH, options)
    return estimate(fit, anchor, history)


def reward_of(fit: NetworkFit, anchor: Anchor) -> RowNetwork:
    """The network as a function of states."""
    risk, theta = fit.risk, tuple(layer.numpy(force=True) for layer in fit.theta)
    zeta = risk.features, fit.w.numpy(force=True), risk.rows.discount
    return RowNetwork(theta, risk.center, risk.scale, anchor, risk.restricted, *zeta)


def estimate(fit: NetworkFit, anchor: Anchor, history: History) -> Estimate:
    """The fit as an Estimate."""
    risk, rows, size = fit.risk, fit.risk.rows, float(fit.risk.rows.seen.sum())
    if not risk.restricted:
        fit.factor, fit.w, value, _ = risk.plug_in(risk.table(fit.theta))
    at = fit.evaluate()
    if risk.restricted:
        value = torch.logsumexp(risk.table(fit.theta) + rows.discount * risk.zeta(fit.w), dim=1)
    leaves = [layer.clone().requires_grad_() for layer in fit.theta]
    gradient = torch.autograd.grad(risk.table(leaves), leaves, risk.output_gradient(at))
    reasons = {
        "zeta was not solved for": not fit.is_solved,
        "training did not end by itself": not history.has_ended,
        **trust.of_choices(rows.visits.numpy(force=True), at.policy.numpy(force=True), at.nll),
    }
    not_ok = tuple(reason for reason, holds in reasons.items() if holds)
    gain = history.losses[0] - min(history.losses)
    reward = reward_of(fit, anchor)
    found = Fit(
        replace(reward, is_q=True),
        reward,
        status="not_converged" if not_ok else "ok",
        iterations=fit.steps,
        gradient_norm=max(float(g.abs().max()) for g in gradient) / size,
        inner_iterations=fit.inner,
        extra={"held_out_gain": gain, "not_ok_because": not_ok},
    )
    bellman = risk.bellman(value, fit.w, fit.factor) / size
    return found.estimate("profiled_erm mlp", len(risk.center), at.nll / size, bellman)
