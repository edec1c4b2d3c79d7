"""The risk of a network's rewards on observations, zeta solved for, and its derivative.

Everything is a sum over the distinct states, or a product of matrices whose rows they are:

    H w = X'V,   V = logsumexp(r + beta zeta_w),   X(s', .) = sum of phi over observations to s',

by Newton's iteration. With its matrix J the derivative of the NLL in r(s, b) is

    (n(s) + c(s)) pi(b | s) - n(s, b),     c = X H^-1 J^-T dNLL/dw.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gladius.own_data.erm.observations.features import (
    SUPPORT,
    Features,
    Inputs,
    Rows,
    make_features,
)
from gladius.own_data.erm.observations.regression import EFFECTIVE, LINEAR_RIDGE, width
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.panel.ties import near_least
from gladius.solvers.networks import Parameters, outputs
from gladius.validate import Array

COARSE_KAPPAS = 10.0 ** np.arange(-1.0, 8.0)  # coarser than in `risk`: all pairs of them are tried
SLACK = 0.1  # of 1 - beta, by which a map of one action's zeta may exceed 1
ZETA_TOLERANCE = 1e-5  # before the last Newton step, which squares it
ZETA_STEPS = 40


class Evaluation(NamedTuple):
    """The risk at one theta."""

    nll: float  # sum over observations
    weights: Tensor  # (S,) n + c of the derivative
    policy: Tensor  # (S, A)
    zeta: Tensor  # (S, A) zeta_Q; zero where the network is not r
    w: Tensor  # (A + 1, p) coefficients of zeta
    steps: int  # of Newton's iteration for w; more than ZETA_STEPS if it did not converge
    system: Tensor  # its matrix J, at the w before the last step


@dataclass(frozen=True)
class NetworkRisk:
    """The empirical risk as a function of the network's outputs at the distinct states."""

    rows: Rows  # the data
    features: Features  # the p functions of zeta, in A + 1 boxes: of all actions, then of each
    center: Array  # center, scale: (d,) of the inputs
    scale: Array
    restricted: bool  # whether the network is r

    @classmethod
    def of(
        cls, data: Transitions, anchor: Anchor, discount: float, restricted: bool
    ) -> NetworkRisk:
        """The risk of a data set."""
        inputs, columns = Inputs.of(data.states), range(data.states.shape[1])
        rows = Rows.of(data, columns, anchor, discount)
        z = (rows.states.numpy(force=True) - inputs.center) / inputs.scale
        is_visited = [np.ones(len(z), dtype=bool), *(rows.visits.T.numpy(force=True) > 0)]
        seen = (z[mask] if mask.any() else z for mask in is_visited)
        low, high = np.stack([np.quantile(states, SUPPORT, axis=0) for states in seen], axis=1)
        features = make_features(columns, inputs, curved=columns, box=(low, high))
        return cls(rows, features, inputs.center, inputs.scale, restricted)

    @cached_property
    def z(self) -> Tensor:
        """(S, d) standardised inputs."""
        return standardise(self.rows.states, self.center, self.scale)

    @cached_property
    def phi(self) -> Tensor:
        """(S, A + 1, p) the functions of zeta."""
        return self.features(self.rows.states)

    @cached_property
    def moves(self) -> list[tuple[Tensor, Tensor]]:
        """By action: (M_a,) next states, and (2 p, M_a) functions before them, times how often.

        An observation has two of the A + 1 blocks of functions: of all actions, and of its own.
        """
        rows, moves = self.rows, []
        for a in rows.actions:
            own = rows.action == a
            source = self.phi[:, [0, 1 + a]][rows.origin[own]].flatten(1)
            moves.append((rows.target[own], (source * rows.times[own, None]).T.contiguous()))
        return moves

    def arrived(self, values: Tensor) -> Tensor:
        """((A + 1) p, m) X' times (S, m) values."""
        total = values.new_zeros((*self.phi.shape[1:], values.shape[1]))
        for a, (target, source) in enumerate(self.moves):
            total[[0, 1 + a]] += (source @ values[target]).unflatten(0, (2, -1))
        return total.flatten(0, 1)

    def arrivals(self, w: Tensor) -> Tensor:
        """(S,) X times (A + 1, p) coefficients."""
        total = w.new_zeros(len(self.phi))
        for a, (target, source) in enumerate(self.moves):
            total.index_add_(0, target, w[[0, 1 + a]].flatten() @ source)
        return total

    @cached_property
    def arrived_functions(self) -> list[Tensor]:
        """By action: X' times the blocks of functions that taking it for ever uses."""
        blocks = (self.phi[:, [0, 1 + a]] for a in self.rows.actions)
        return [self.arrived(block.flatten(1)) for block in blocks]

    @cached_property
    def gram(self) -> Tensor:
        """((A + 1) p, (A + 1) p) of the functions at all observations, ends of paths included."""
        blocks, size = self.phi.shape[1:]
        gram = self.phi.new_zeros((blocks, size, blocks, size))
        for a in self.rows.actions:
            weighted = self.phi * self.rows.visits[:, a, None, None]
            for i, j in product((0, 1 + a), repeat=2):
                gram[i, :, j] += weighted[:, i].T @ self.phi[:, j]
        return gram.reshape(blocks * size, -1)

    def ridge(self, value: Tensor) -> Tensor:
        """Cholesky factor of H, kappa by generalised cross-validation of (S,) V at s'.

        Taking one action for ever, zeta -> (regression of zeta(s', a) on the observations), must
        not explode: cross-validation, which sees the actions taken, does not see zeta elsewhere.
        So kappa is the best for which no such map has a spectral radius over 1 + SLACK (1 - beta).
        Among criteria that differ by rounding the largest kappa counts, as in `risk`.
        """
        relative = torch.ones_like(self.phi[0])
        relative[:, : len(self.features.terms)] = LINEAR_RIDGE
        relative[:, 0] = LINEAR_RIDGE**2  # an action's own mean, however rare the action
        relative[0, 0] = 0.0
        rows, size = self.rows, float(self.rows.seen.sum())
        total = float(rows.times @ value[rows.target] ** 2)
        if size - rows.times.sum() < 0.5:  # no path ends, and the constant is free
            value = value - rows.times @ value[rows.target] / size
        target, square = self.arrived(value[:, None]), float(rows.times @ value[rows.target] ** 2)
        trials = cross_validations(self.gram, target[:, 0], square, size, relative)
        bound = 1 + SLACK * (1 - rows.discount)
        maps = [([0, 1 + a], arrived) for a, arrived in enumerate(self.arrived_functions)]
        slack = width(len(self.gram), square, total)
        largest: Tensor = torch.linalg.cholesky(self.gram + torch.diag(trials[-1][1]))
        while trials:
            _, kappa = trials.pop(near_least([one for one, _ in trials], slack)[-1])
            factor: Tensor = torch.linalg.cholesky(self.gram + torch.diag(kappa))
            for n, (used, matrix) in enumerate(maps):
                onto = torch.cholesky_solve(matrix, factor).view(*relative.shape, -1)[used]
                if float(torch.linalg.eigvals(onto.flatten(0, 1)).abs().max()) > bound:
                    maps.insert(0, maps.pop(n))  # it is likely to explode with the next kappa too
                    break
            else:
                return factor
        return largest

    def zeta(self, w: Tensor) -> Tensor:
        """(S, A)."""
        return zeta_of(self.phi, w)

    def mixed(self, shares: Tensor) -> Tensor:
        """(S, (A + 1) p) sum over actions of shares (S, A) times the functions of zeta."""
        every = torch.cat([shares.sum(dim=1, keepdim=True), shares], dim=1)
        return (every[:, :, None] * self.phi).flatten(1)

    def regress(self, factor: Tensor, values: Tensor) -> Tensor:
        """((A + 1) p, m) coefficients of the ridge regression of (S, m) values at s'."""
        return torch.cholesky_solve(self.arrived(values), factor)

    def table(self, theta: Parameters, batch: Tensor | slice = slice(None)) -> Tensor:
        """(S, A) outputs of the network at all states, or some; the anchor's reward is given."""
        reward = self.rows.anchor_reward[batch].to(theta[0])
        columns = list(network(theta, self.z[batch].to(theta[0])).unbind(dim=1))
        columns.insert(self.rows.anchor, reward if self.restricted else torch.zeros_like(reward))
        return torch.stack(columns, dim=1)

    def nll(self, q: Tensor) -> float:
        """Sum over observations."""
        return -float((self.rows.visits * torch.log_softmax(q, dim=1)).sum())

    def evaluate(self, table: Tensor, w: Tensor, factor: Tensor) -> Evaluation:
        """The risk at (S, A) r, or log-odds, by Newton's iteration for w."""
        zeta, seen = torch.zeros_like(table), self.rows.seen
        if not self.restricted:
            return Evaluation(self.nll(table), seen, torch.softmax(table, dim=1), zeta, w, 0, w)
        beta, eye, steps = self.rows.discount, torch.eye(len(factor)).to(factor), 0
        change, zeta = np.inf, self.zeta(w)
        while change > ZETA_TOLERANCE * (1 + float(zeta.abs().max())) and steps <= ZETA_STEPS:
            value = torch.logsumexp(table + beta * zeta, dim=1, keepdim=True)
            mixed = self.mixed(torch.exp(table + beta * zeta - value))
            solved = self.regress(factor, torch.cat([value, mixed], dim=1))
            system = eye - beta * solved[:, 1:]
            w = w + torch.linalg.solve(system, solved[:, 0] - w.flatten()).reshape(w.shape)
            before, zeta = zeta, self.zeta(w)
            change, steps = float((zeta - before).abs().max()), steps + 1
        q = table + beta * zeta
        policy = torch.softmax(q, dim=1)
        of_w = beta * self.mixed(seen[:, None] * policy - self.rows.visits).sum(dim=0)
        adjoint = torch.cholesky_solve(torch.linalg.solve(system.T, of_w)[:, None], factor)
        weights = seen + self.arrivals(adjoint.view_as(w))
        return Evaluation(self.nll(q), weights, policy, zeta, w, steps, system)

    def by_line(
        self, at: Evaluation, design: Tensor, factor: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Derivatives of w ((A + 1) p, M) and of Q (S, A, M) in a line, and Fisher's information.

        The line's M numbers are those of (S, k) columns, of each by action without the anchor.
        """
        rows, policy = self.rows, at.policy[:, :, None]
        of_r = design.new_zeros((*at.policy.shape, design.shape[1], len(rows.others)))
        for i, a in enumerate(rows.others):
            of_r[:, a, :, i] = design
        of_r = of_r.flatten(2)
        of_w = torch.linalg.solve(at.system, self.regress(factor, (policy * of_r).sum(dim=1)))
        every = torch.einsum("skp,kpm->skm", self.phi, of_w.unflatten(0, at.w.shape))
        of_q = of_r + rows.discount * (every[:, 1:] + every[:, :1])
        centred = of_q - (policy * of_q).sum(dim=1, keepdim=True)
        weighted = rows.seen[:, None, None] * policy * centred
        return of_w, of_q, centred.flatten(0, 1).T @ weighted.flatten(0, 1)

    def bellman(self, value: Tensor, w: Tensor, factor: Tensor) -> float:
        """Squared Bellman error of the anchor's observations, a sum: that of zeta at w.

        It is the residual of H w = X'V, for (S,) V of the Q in question.
        """
        residual = self.regress(factor, value[:, None]).reshape(w.shape) - w
        gap = self.rows.discount * self.zeta(residual)[:, self.rows.anchor]
        return float(self.rows.visits[:, self.rows.anchor] @ gap**2)

    def output_gradient(self, at: Evaluation) -> Tensor:
        """(S, A) derivative of the risk in the outputs."""
        return at.weights[:, None] * at.policy - self.rows.visits

    def plug_in(self, odds: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Cholesky factor of H, w, (S,) V and (S, A) r of (S, A) log-odds.

        V = r_A - log pi_A + beta zeta_A is linear in w. The ridge follows the V before it, twice.
        """
        rows, anchor = self.rows, self.rows.anchor
        log_policy = torch.log_softmax(odds, dim=1)
        drift = rows.anchor_reward - log_policy[:, anchor]
        is_anchor = torch.zeros_like(odds)
        is_anchor[:, anchor] = 1.0
        right = self.arrived(torch.cat([drift[:, None], self.mixed(is_anchor)], dim=1))
        eye = torch.eye(len(self.gram)).to(self.gram)
        factor: Tensor = torch.linalg.cholesky(self.gram + eye)
        for is_last in (False, False, True):
            solved = torch.cholesky_solve(right, factor)
            w = torch.linalg.solve(eye - rows.discount * solved[:, 1:], solved[:, 0])
            w = w.reshape(self.phi.shape[1:])
            zeta = self.zeta(w)
            value = drift + rows.discount * zeta[:, anchor]
            if not is_last:
                factor = self.ridge(value)
        return factor, w, value, value[:, None] + log_policy - rows.discount * zeta


def cross_validations(
    gram: Tensor, target: Tensor, square: float, size: float, relative: Tensor
) -> list[tuple[float, Tensor]]:
    """(criterion, (q,) kappa D) of all pairs of kappas, an action's own at least the shared one.

    As `cross_validation`, block by block: functions of two actions meet nowhere in `gram`, (q, q),
    whose first p functions are those of all actions. `relative`, (A + 1, p), is D's diagonal.
    """
    every, p = range(1, len(relative)), relative.shape[1]
    blocks, targets = gram.unflatten(1, (-1, p)).unflatten(0, (-1, p)), target.view(-1, p, 1)
    inner, side = (torch.stack([blocks[a, :, b * a] for a in every]) for b in (1, 0))
    of_own = []
    for own in COARSE_KAPPAS.tolist():
        kappa = own * relative[1:]
        inverse = torch.linalg.inv(inner + torch.diag_embed(kappa))
        bridge, alone = inverse @ side, inverse @ targets[1:]
        schur = blocks[0, :, 0] - (side.mT @ bridge).sum(dim=0)
        drop = targets[0] - (side.mT @ alone).sum(dim=0)
        lost = float((kappa * torch.diagonal(inverse, dim1=1, dim2=2)).sum())
        spread = (bridge.mT @ (kappa[..., None] * bridge)).sum(dim=0)
        of_own.append((kappa, bridge, alone, schur, drop, lost, spread))
    trials = []
    for i, kappa_0 in enumerate(COARSE_KAPPAS.tolist()):
        shared = kappa_0 * relative[0]
        for kappa, bridge, alone, schur, drop, lost, spread in of_own[i:]:
            upper, failed = torch.linalg.cholesky_ex(schur + torch.diag(shared))
            if failed:
                continue
            corner = torch.cholesky_inverse(upper)
            first = corner @ drop
            w = torch.cat([first[None], alone - bridge @ first]).flatten()
            residual = square - float(2 * w @ target - w @ gram @ w)
            # tr(H^-1 gram) = q - tr(H^-1 kappa D)
            used = len(w) - lost - float(torch.diagonal(corner) @ shared + (corner * spread).sum())
            share = EFFECTIVE * used / size
            criterion = max(residual, 0.0) / (1 - share) ** 2 if share < 1 else np.inf
            trials.append((criterion, torch.cat([shared[None], kappa]).flatten()))
    return trials


def standardise(states: Tensor, center: Array, scale: Array) -> Tensor:
    """(n, d) inputs of the network."""
    return (states - torch.as_tensor(center).to(states)) / torch.as_tensor(scale).to(states)


def network(theta: Parameters, z: Tensor) -> Tensor:
    """(n, A - 1) of inputs (n, d): layers of one replication, and last the line's slopes."""
    return outputs(theta[:-1], z[None], "tanh")[0] + z @ theta[-1][0]


def zeta_of(phi: Tensor, w: Tensor) -> Tensor:
    """(n, A) zeta from (n, A + 1, p) functions and (A + 1, p) coefficients."""
    every = torch.einsum("skp,kp->sk", phi, w)
    return every[:, 1:] + every[:, :1]
