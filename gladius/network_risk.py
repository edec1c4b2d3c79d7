"""The risk of a network's rewards on rows, zeta solved for, and its derivative; see `row_networks`.

Everything is a sum over the distinct states, or a product of matrices whose rows they are:

    H w = X'V,   V = logsumexp(r + beta zeta_w),   X(s', .) = sum over rows that led to s' of phi,

by Newton's iteration, whose matrix J gives the derivative of the NLL in r(s, b) as well:

    (n(s) + c(s)) pi(b | s) - n(s, b),     c = X H^-1 J^-T dNLL/dw,

n counting rows, and c(s') what the rows that led to s' pass on to it through zeta.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gladius.anchor import Anchor
from gladius.checks import Array
from gladius.networks import Parameters, outputs
from gladius.rows import EFFECTIVE, LINEAR_RIDGE, Features, Rows, make_features
from gladius.screen import Inputs
from gladius.sparse import SUPPORT
from gladius.transitions import Transitions

KAPPAS = 10.0 ** np.arange(-1.0, 8.0)
SLACK = 0.1  # of 1 - beta
ZETA_TOLERANCE = 1e-5  # before the last Newton step, which squares it
ZETA_STEPS = 40


class Evaluation(NamedTuple):
    """The risk at one theta.

    Attributes:
        nll: sum over rows.
        weights: (S,) n + c of the derivative.
        policy: (S, A).
        zeta: (S, A) zeta_Q; zero where the network is not r.
        w: (A + 1, p) coefficients of zeta.
        steps: of Newton's iteration for w; more than ZETA_STEPS mean that it did not end.
    """

    nll: float
    weights: Tensor
    policy: Tensor
    zeta: Tensor
    w: Tensor
    steps: int


@dataclass(frozen=True)
class NetworkRisk:
    """The empirical risk as a function of the network's outputs at the distinct states.

    Attributes:
        rows: the data.
        features: functions of zeta, p each: shared by the actions, then each action's.
        center, scale: (d,) of the inputs.
        restricted: whether the network is r.
    """

    rows: Rows
    features: tuple[Features, ...]
    center: Array
    scale: Array
    restricted: bool

    @classmethod
    def of(
        cls, data: Transitions, anchor: Anchor, discount: float, restricted: bool, device: str
    ) -> NetworkRisk:
        """The risk of a data set."""
        scaling = Inputs.of(data.states, device)
        inputs = range(data.states.shape[1])
        rows = Rows.of(data, inputs, anchor, discount, device)
        z = (rows.states.cpu().numpy() - scaling.center) / scaling.scale
        visits = rows.visits.T.cpu().numpy()
        terms = [(), *((i,) for i in inputs)]
        features = []
        for seen in (np.ones(len(z), dtype=bool), *(visits > 0)):
            low, high = np.quantile(z[seen] if seen.any() else z, SUPPORT, axis=0)
            features.append(make_features(inputs, scaling, terms, curved=inputs, box=(low, high)))
        return cls(rows, tuple(features), scaling.center, scaling.scale, restricted)

    def on(self, data: Transitions, anchor: Anchor) -> NetworkRisk:
        """The same functions at the rows of another data set."""
        inputs, device = range(len(self.center)), str(self.rows.states.device)
        return replace(self, rows=Rows.of(data, inputs, anchor, self.rows.discount, device))

    @cached_property
    def z(self) -> Tensor:
        """(S, d) standardised inputs."""
        return standardised(self.rows.states, self.center, self.scale)

    @cached_property
    def seen(self) -> Tensor:
        """(S,) n(s)."""
        return self.rows.visits.sum(dim=1)

    @cached_property
    def phi(self) -> Tensor:
        """(S, A + 1, p) the functions of zeta."""
        return torch.stack([features(self.rows.states) for features in self.features], dim=1)

    @cached_property
    def arrivals(self) -> Tensor:
        """(S, (A + 1) p) X: the functions where the rows that led to s' came from, summed."""
        rows, total = self.rows, torch.zeros_like(self.phi)
        for a in rows.actions:
            part, used = rows.action == a, [0, 1 + a]
            source = self.phi[:, used][rows.origin[part]] * rows.times[part][:, None, None]
            into = total.new_zeros((len(total), *source.shape[1:]))
            total[:, used] += into.index_add_(0, rows.target[part], source)
        return total.flatten(1)

    @cached_property
    def gram(self) -> Tensor:
        """((A + 1) p, (A + 1) p) of the functions at all rows, those that end a path too."""
        blocks, size = self.phi.shape[1:]
        gram = self.phi.new_zeros((blocks, size, blocks, size))
        for a in self.rows.actions:
            weighted = self.phi * self.rows.visits[:, a, None, None]
            for left, right in product((0, 1 + a), repeat=2):
                gram[left, :, right] += weighted[:, left].T @ self.phi[:, right]
        return gram.reshape(blocks * size, -1)

    def ridge(self, value: Tensor) -> Tensor:
        """Cholesky factor of H, kappa by generalised cross-validation of (S,) V at s'.

        Taking one action for ever, zeta -> (regression of zeta(s', a) on the rows), must not
        explode: cross-validation, which sees the actions taken, is blind to what zeta does
        elsewhere. So kappa is the best for which no such map has a spectral radius over 1 +
        SLACK (1 - beta).
        """
        relative = torch.ones_like(self.phi[0])
        relative[:, : len(self.features[0].terms)] = LINEAR_RIDGE
        relative[:, 0] = LINEAR_RIDGE**2  # an action's mean is its own business, however rare
        relative[0, 0] = 0.0
        is_shared = torch.zeros_like(relative)
        is_shared[0] = 1.0
        rows, total = self.rows, float(self.seen.sum())
        target = (self.arrivals.T @ value)[:, None]
        square = float(rows.times @ value[rows.target] ** 2)
        trials: list[tuple[float, Tensor]] = []
        for of_all, of_each in product(KAPPAS, repeat=2):
            kappa = relative * (of_all * is_shared + of_each * (1 - is_shared))
            factor, failed = torch.linalg.cholesky_ex(self.gram + torch.diag(kappa.flatten()))
            if of_each < of_all or failed:
                continue
            w = torch.cholesky_solve(target, factor)
            left = square - float((2 * w * target - w * (self.gram @ w)).sum())
            freedom = float(torch.trace(torch.cholesky_solve(self.gram, factor)))
            share = EFFECTIVE * freedom / total
            trials.append((max(left, 0.0) / (1 - share) ** 2 if share < 1 else np.inf, factor))
        largest = trials[-1][1]
        limit = 1 + SLACK * (1 - rows.discount)
        tame = (
            factor
            for _, factor in sorted(trials, key=itemgetter(0))
            if self.radius(factor) <= limit
        )
        return next(tame, largest)

    def radius(self, factor: Tensor) -> float:
        """The largest spectral radius of the maps of `ridge`, over actions."""
        maps = (torch.cholesky_solve(moved, factor) for moved in self.moved)
        return max(float(torch.linalg.eigvals(square).abs().max()) for square in maps)

    @cached_property
    def moved(self) -> list[Tensor]:
        """Per action, X' times its functions at s'."""
        unit = torch.eye(len(self.rows.actions)).to(self.phi)
        return [self.arrivals.T @ self.mixed(row.expand(len(self.phi), -1)) for row in unit]

    def zeta(self, w: Tensor) -> Tensor:
        """(S, A)."""
        return zeta_of(self.phi, w)

    def mixed(self, shares: Tensor) -> Tensor:
        """(S, (A + 1) p) sum over actions of shares (S, A) times the functions of zeta."""
        every = torch.cat([shares.sum(dim=1, keepdim=True), shares], dim=1)
        return (every[:, :, None] * self.phi).flatten(1)

    def regress(self, factor: Tensor, values: Tensor) -> Tensor:
        """((A + 1) p, m) coefficients of the ridge regression of (S, m) values at s'."""
        return torch.cholesky_solve(self.arrivals.T @ values, factor)

    def table(self, theta: Parameters, part: Tensor | slice = slice(None)) -> Tensor:
        """(S, A) what the network gives at all states, or some; the anchor's is given."""
        rows = self.rows
        given = rows.anchor_reward[part] if self.restricted else 0 * rows.anchor_reward[part]
        columns = list(network(theta, self.z[part]).unbind(dim=1))
        columns.insert(rows.anchor, given)
        return torch.stack(columns, dim=1)

    def nll(self, q: Tensor) -> float:
        """Sum over rows."""
        return -float((self.rows.visits * torch.log_softmax(q, dim=1)).sum())

    def evaluate(self, table: Tensor, w: Tensor, factor: Tensor) -> Evaluation:
        """The risk at (S, A) r, or log-odds; w is sought from `w` by Newton's iteration."""
        zeta = torch.zeros_like(table)
        if not self.restricted:
            policy = torch.softmax(table, dim=1)
            return Evaluation(self.nll(table), self.seen, policy, zeta, w, 0)
        beta, eye, steps = self.rows.discount, torch.eye(len(factor)).to(factor), 0
        moved, zeta = np.inf, self.zeta(w)
        while moved > ZETA_TOLERANCE * (1 + float(zeta.abs().max())) and steps <= ZETA_STEPS:
            value = torch.logsumexp(table + beta * zeta, dim=1, keepdim=True)
            mixed = self.mixed(torch.exp(table + beta * zeta - value))
            solved = self.regress(factor, torch.cat([value, mixed], dim=1))
            system = eye - beta * solved[:, 1:]
            w = w + torch.linalg.solve(system, solved[:, 0] - w.flatten()).reshape(w.shape)
            before, zeta = zeta, self.zeta(w)
            moved, steps = float((zeta - before).abs().max()), steps + 1
        q = table + beta * zeta
        policy = torch.softmax(q, dim=1)
        of_w = beta * self.mixed(self.seen[:, None] * policy - self.rows.visits).sum(dim=0)
        back = torch.cholesky_solve(torch.linalg.solve(system.T, of_w)[:, None], factor)
        weights = self.seen + (self.arrivals @ back)[:, 0]
        return Evaluation(self.nll(q), weights, policy, zeta, w, steps)

    def bellman(self, value: Tensor, w: Tensor, factor: Tensor) -> float:
        """Squared Bellman error of the anchor's rows, a sum: there it is that of zeta at w.

        It is what is left of H w = X'V, (S,) V of the Q in question: rounding and Newton's rest.
        """
        left = self.regress(factor, value[:, None]).reshape(w.shape) - w
        gap = self.rows.discount * self.zeta(left)[:, self.rows.anchor]
        return float(self.rows.visits[:, self.rows.anchor] @ gap**2)

    def slope(self, here: Evaluation) -> Tensor:
        """(S, A) derivative of the risk in the outputs."""
        return here.weights[:, None] * here.policy - self.rows.visits

    def plug_in(self, odds: Tensor, factor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """w, (S,) V and (S, A) r of log-odds: V = r_A - log pi_A + beta zeta_A is linear in w."""
        rows, anchor = self.rows, self.rows.anchor
        log_policy = torch.log_softmax(odds, dim=1)
        drift = rows.anchor_reward - log_policy[:, anchor]
        is_anchor = torch.zeros_like(odds)
        is_anchor[:, anchor] = 1.0
        solved = self.regress(factor, torch.cat([drift[:, None], self.mixed(is_anchor)], dim=1))
        system = torch.eye(len(factor)).to(factor) - rows.discount * solved[:, 1:]
        w = torch.linalg.solve(system, solved[:, 0]).reshape(self.phi.shape[1:])
        zeta = self.zeta(w)
        value = drift + rows.discount * zeta[:, anchor]
        return w, value, value[:, None] + log_policy - rows.discount * zeta


def standardised(states: Tensor, center: Array, scale: Array) -> Tensor:
    """(n, d) inputs of the network."""
    return (states - torch.as_tensor(center).to(states)) / torch.as_tensor(scale).to(states)


def network(theta: Parameters, z: Tensor) -> Tensor:
    """(n, A - 1) of inputs (n, d): layers of one replication, and last the line's slopes."""
    return outputs(theta[:-1], z[None], "tanh")[0] + z @ theta[-1][0]


def zeta_of(phi: Tensor, w: Tensor) -> Tensor:
    """(n, A) zeta from (n, A + 1, p) functions and (A + 1, p) coefficients."""
    every = torch.einsum("skp,kp->sk", phi, w)
    return every[:, 1:] + every[:, :1]
