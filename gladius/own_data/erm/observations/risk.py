"""The empirical risk on observations over a class of r and zeta, its derivative and its minimum.

With features psi of r and phi of zeta,

    zeta_Q(., a) = phi'w_a,    w_a = (Phi_a'Phi_a + kappa_a D)^-1 Phi_a'V_Q(s'),
    Q = r_theta + beta zeta_Q,    r_theta(., a) = psi'theta_a  (as given at the anchor).

w solves a fixed point. With M_a the regression and J = I - beta M_a diag(pi_c(s')) Phi_c(s'), its
derivative is J dw = M_a [pi_c(s') psi_c(s')], and that of Q is psi + beta phi'dw. Each step of the
minimisation takes theta a step of Fisher scoring and w a Newton step. All are sums over the
distinct states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gladius.own_data.erm.level import Level, level_of
from gladius.own_data.erm.observations.features import Features, Rows
from gladius.own_data.erm.observations.regression import (
    CELL_RIDGE,
    LINEAR_RIDGE,
    cross_validation,
    inverse_root,
    logit,
    polynomial,
    solve,
    width,
)
from gladius.panel.ties import near_least

KAPPAS = 10.0 ** np.arange(-4.0, 6.5, 0.5)  # ridges of zeta that are tried
DECREMENT = 1e-6  # nats that a further step would gain where the steps end
ZETA_TOLERANCE = 1e-6  # of a Newton step for zeta, relative; the error after it is its square
LENGTHS = tuple(0.5**k for k in range(20))  # shares of a step that are tried
LOOSE = 0.1  # of a Newton step for zeta, relative, up to which the risk there is to be trusted
MAX_STEPS = 30
MOST_SLOPES = 1_000_000  # numbers of a derivative at once: 8 MB


class Block(NamedTuple):
    """States with the functions of r and, for each action, of zeta."""

    anchor_reward: Tensor
    is_free: Tensor
    psi: Tensor
    phi: tuple[Tensor, ...]
    closed: Tensor

    def take(self, index: Tensor | slice) -> Block:
        """Some of the states."""
        reward, is_free, psi, phi, closed = self
        own = tuple(p[index] for p in phi)
        return Block(reward[index], is_free[index], psi[index], own, closed[index])


class Point(NamedTuple):
    """The risk at one theta."""

    theta: Tensor  # (M,) coefficients of r, action by action without the anchor
    zeta: Tensor  # (A, p) coefficients of zeta, zeta_Q's but for the square of `miss`
    slope: Tensor  # (A, p, M) their derivative in theta
    nll: float  # negative log-likelihood, a sum over observations
    gradient: Tensor  # (M,) of the NLL
    information: Tensor  # (M, M) Fisher's
    miss: float  # length of the Newton step that led to zeta, relative

    @property
    def is_exact(self) -> bool:
        """Whether zeta is zeta_Q."""
        return self.miss <= ZETA_TOLERANCE


@dataclass(frozen=True)
class ObservationRisk:
    """The empirical risk over the class, as a function of theta."""

    rows: Rows  # the data
    reward: Features  # functions psi of r, m of them
    # functions phi of zeta(., a), p for each action; they differ in the box
    zeta: tuple[Features, ...]
    # per action, (p, p) W with W W' the inverse of Phi'Phi + kappa D. The functions of zeta are
    # taken as Phi W, in which the ridge regression is W'Phi'V and rounding stays small; the cosines
    # themselves are nearly collinear
    factor: tuple[Tensor, ...] = ()
    kappas: tuple[float, ...] = ()  # the ridge of each action; nan where every path ends

    @property
    def free(self) -> int:
        """M, the number of coefficients of r."""
        return len(self.rows.estimated) * self.reward.size

    @cached_property
    def block(self) -> Block:
        """All states."""
        rows = self.rows
        psi = self.reward(rows.states)
        return Block(rows.anchor_reward, rows.is_free, psi, self.phi, rows.closed)

    @cached_property
    def phi(self) -> tuple[Tensor, ...]:
        """Per action, (S, p) the functions of zeta in the coordinates of its ridge."""
        phi = self.functions_of_zeta
        if self.factor:
            phi = tuple(raw @ factor for raw, factor in zip(phi, self.factor, strict=True))
        return phi

    @cached_property
    def functions_of_zeta(self) -> tuple[Tensor, ...]:
        """Per action, (S, p) the functions of zeta as they are defined."""
        return tuple(features(self.rows.states) for features in self.zeta)

    @cached_property
    def moves(self) -> list[tuple[Tensor, Tensor]]:
        """Per action, the states it led to and, for each, the sum of phi over the origins.

        The sum over observations of phi(s) f(s') is then a product of two matrices for every f.
        Where none of the action ends a path, the regression of a constant is this constant: the
        ridge of `inverse_root` would else take a share of it, which the level of V multiplies.
        """
        rows, moves = self.rows, []
        for a in rows.actions:
            of_action = rows.action == a
            reached, index = torch.unique(rows.target[of_action], return_inverse=True)
            weighted = self.phi[a][rows.origin[of_action]] * rows.times[of_action][:, None]
            source = weighted.new_zeros((len(reached), weighted.shape[1]))
            source.index_add_(0, index, weighted)
            times = rows.times[of_action]
            if self.factor and float(rows.followed[:, a].sum() - times.sum()) < 0.5:
                share = weighted.new_zeros(len(reached)).index_add_(0, index, times / times.sum())
                unit = torch.zeros_like(source[0])
                unit[0] = 1.0
                constant = torch.linalg.solve(self.factor[a], unit)
                source += share[:, None] * (constant - source.sum(dim=0))
            moves.append((reached, source))
        return moves

    @cached_property
    def next_blocks(self) -> list[Block]:
        """Per action, the states it led to."""
        return [self.block.take(reached) for reached, _ in self.moves]

    def with_reward(self, reward: Features) -> ObservationRisk:
        """The risk with other functions of r; the arrays of zeta are not computed again."""
        other = replace(self, reward=reward)
        names = ("functions_of_zeta", "phi", "moves")
        vars(other).update({name: vars(self)[name] for name in names if name in vars(self)})
        return other

    def q(self, block: Block, theta: Tensor, zeta: Tensor) -> Tensor:
        """(n, A) Q = r + beta zeta, and FORBIDDEN more where an action is not available."""
        q = torch.stack([block.phi[a] @ zeta[a] for a in self.rows.actions], dim=1)
        q *= self.rows.discount
        of_r, given = self.rows.estimated, self.rows.given
        free, fixed = block.is_free[:, of_r], 1 - block.is_free[:, given]
        q[:, of_r] += free * (block.psi @ theta.reshape(-1, self.reward.size).T)
        q[:, given] += fixed * block.anchor_reward[:, None]
        return q + block.closed

    def with_ridge(self, value: Tensor) -> ObservationRisk:
        """The risk with each action's kappa by generalised cross-validation of (S,) V at s'.

        Among criteria that differ by rounding the largest kappa counts.
        """
        rows, relative, factors, kappas = self.rows, self.relative_ridge, [], []
        for a, phi in enumerate(self.functions_of_zeta):
            of_action = rows.action == a
            times, next_value = rows.times[of_action], value[rows.target[of_action]]
            if len(times) == 0:  # every observation of the action ends the path
                kappas.append(np.nan)
                factors.append(torch.zeros((phi.shape[1], phi.shape[1])).to(phi))
                continue
            gram = phi.T @ (rows.followed[:, [a]] * phi)  # with ends of paths, where V is 0
            total, size = float(times @ next_value**2), float(rows.followed[:, a].sum())
            if size - times.sum() < 0.5:  # no path ends, and the constant is free
                next_value = next_value - times @ next_value / size
            target = phi[rows.origin[of_action]].T @ (times * next_value)
            square = float(times @ next_value**2)
            criteria = [
                cross_validation(gram, target, square, size, kappa * relative) for kappa in KAPPAS
            ]
            kappas.append(float(KAPPAS[near_least(criteria, width(len(gram), square, total))[-1]]))
            factors.append(inverse_root(gram + torch.diag(kappas[-1] * relative)))
        ridged = replace(self, factor=tuple(factors), kappas=tuple(kappas))
        vars(ridged)["functions_of_zeta"] = self.functions_of_zeta
        return ridged

    @property
    def relative_ridge(self) -> Tensor:
        """(p,) the diagonal of D."""
        terms, relative = len(self.zeta[0].terms), torch.ones(self.zeta[0].size).double()
        relative[:terms] = LINEAR_RIDGE
        relative[0] = 0.0
        relative[terms + len(self.zeta[0].phases) :] = CELL_RIDGE
        return relative.to(self.rows.states)

    def with_share_of_ridge(self, share: float) -> ObservationRisk:
        """The risk with a share of each kappa.

        W'(Phi'Phi + kappa D) W = 1, so that the eigenvalues of kappa W'D W are at most 1.
        """
        factors = []
        for factor, kappa in zip(self.factor, self.kappas, strict=True):
            matrix = np.nan_to_num(kappa) * factor.T @ (self.relative_ridge[:, None] * factor)
            values, vectors = torch.linalg.eigh(matrix)
            factors.append(factor @ (vectors / torch.sqrt(1 - (1 - share) * values)))
        kappas = tuple(share * kappa for kappa in self.kappas)
        other = replace(self, factor=tuple(factors), kappas=kappas)
        vars(other)["functions_of_zeta"] = self.functions_of_zeta
        return other

    def regress(self, value: Tensor) -> Tensor:
        """(A, p) coefficients of the ridge regression of (S,) V at s' for each action."""
        return torch.stack([source.T @ value[reached] for reached, source in self.moves])

    def zeta_equations(self, theta: Tensor, zeta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(A p, 1) the regression less `zeta`, (A p, A p) 1 - J, and (A p, M) its slope."""
        rows, size = self.rows, self.zeta[0].size
        coefficients = len(rows.actions) * size
        regression, jacobian, by_theta = [], [], []
        for (_, source), block in zip(self.moves, self.next_blocks, strict=True):
            q = self.q(block, theta, zeta)
            value = torch.logsumexp(q, dim=1)
            policy = torch.exp(q - value[:, None])
            spread = [policy[:, [c]] * block.phi[c] for c in rows.actions]
            odds = policy * block.is_free
            spread += [odds[:, [c]] * block.psi for c in rows.estimated]
            means = source.T @ torch.cat([value[:, None], *spread], dim=1)
            regression.append(means[:, 0])
            jacobian.append(rows.discount * means[:, 1 : 1 + coefficients])
            by_theta.append(means[:, 1 + coefficients :])
        miss = (torch.stack(regression) - zeta).reshape(-1, 1)
        eye = torch.eye(coefficients, dtype=theta.dtype)
        return miss, eye - torch.cat(jacobian), torch.cat(by_theta)

    def newton_step(self, theta: Tensor, zeta: Tensor) -> tuple[Tensor, Tensor]:
        """(A, p) Newton's step from `zeta` to zeta_Q at theta, and zeta_Q's slope (A, p, M)."""
        miss, system, by_theta = self.zeta_equations(theta, zeta)
        solved = torch.linalg.solve(system, torch.cat([miss, by_theta], dim=1))
        return solved[:, 0].reshape(zeta.shape), solved[:, 1:].reshape(*zeta.shape, -1)

    def point(self, theta: Tensor, zeta: Tensor) -> Point:
        """The risk at theta, after a Newton step from `zeta` towards zeta_Q.

        With g = grad Q less that of the anchor, the gradient is the sum of (n(s) pi - n(s, .)) g,
        and Fisher's information the sum of n(s) Var_pi(g).
        """
        rows = self.rows
        step, slope = self.newton_step(theta, zeta)
        zeta = zeta + step
        miss = float(step.abs().max()) / (1 + float(zeta.abs().max()))
        nll, gradient = 0.0, theta.new_zeros(self.free)
        information = theta.new_zeros((self.free, self.free))
        size = max(1, MOST_SLOPES // max(1, self.free))
        for start in range(0, len(rows.seen), size):
            some = slice(start, start + size)
            block, seen, visits = self.block.take(some), rows.seen[some], rows.visits[some]
            log_policy = torch.log_softmax(self.q(block, theta, zeta), dim=1)
            policy = torch.exp(log_policy)
            residual = seen[:, None] * policy - visits
            slopes = self.slopes(slope, block)
            of_anchor = next(slopes)
            mean = torch.zeros_like(of_anchor)
            for c, own in zip(rows.others, slopes, strict=True):
                odds = own.sub_(of_anchor)
                gradient += residual[:, c] @ odds
                information += odds.T @ ((seen * policy[:, c])[:, None] * odds)
                mean += policy[:, [c]] * odds
            information -= mean.T @ (seen[:, None] * mean)
            nll -= float((visits * log_policy).sum())
        return Point(theta, zeta, slope, nll, gradient, information, miss)

    def slopes(self, slope: Tensor, block: Block) -> Iterator[Tensor]:
        """(n, M) dQ / dtheta of each action at a block, the base of log-odds first."""
        rows, size = self.rows, self.reward.size
        for c in (rows.anchor, *rows.others):
            of_q = rows.discount * (block.phi[c] @ slope[c])
            if c in rows.estimated:
                i = rows.estimated.index(c)
                of_q[:, i * size : (i + 1) * size] += block.is_free[:, [c]] * block.psi
            yield of_q

    def anchor_system(self) -> tuple[Tensor, Tensor]:
        """(S, q) the functions of zeta where a_s is each action, and (q, q) the system of V.

        With M the regression of V at s' it is 1 - beta M phi.
        """
        rows = self.rows
        fixed = 1 - rows.is_free
        phi = torch.cat([fixed[:, [a]] * self.block.phi[a] for a in rows.given], dim=1)
        system = torch.eye(phi.shape[1]).to(phi)
        moves = [self.moves[a] for a in rows.given]
        system -= rows.discount * torch.cat([source.T @ phi[at] for at, source in moves])
        return phi, system

    def start(self) -> tuple[ObservationRisk, Tensor, Tensor, Tensor]:
        """The risk with a first ridge, and theta, zeta and (S,) V of the plug-in in this class.

        From a polynomial logit of the choices, V = r_A - log pi_A + beta zeta_A is linear in
        zeta_A, where A is a_s. The rest of Q - beta zeta is regressed on the functions of r.
        """
        rows, block, anchor = self.rows, self.block, self.rows.anchor
        order = [*rows.others, anchor]
        design, closed = polynomial(self.reward.standardised(rows.states)), rows.closed[:, order]
        odds = design @ logit(design, rows.visits[:, order], closed) + closed
        log_policy = torch.log_softmax(odds, dim=1) - closed  # as if each were available
        log_policy = log_policy[:, np.argsort(order)]
        fixed = 1 - rows.is_free  # the row of a_s
        drift = rows.anchor_reward - (fixed * log_policy).sum(dim=1)
        risk, value = self, drift
        for _ in range(2):  # the ridge of the second round follows the V of the first
            risk = risk.with_ridge(value)
            moves = [risk.moves[a] for a in rows.given]
            phi, system = risk.anchor_system()
            right = torch.cat([source.T @ drift[at] for at, source in moves])
            value = drift + rows.discount * (phi @ torch.linalg.solve(system, right))
        risk = risk.with_ridge(value)
        zetas = risk.regress(value)
        theta = []
        for a in rows.estimated:
            weighted = (rows.is_free[:, a] * rows.seen)[:, None] * block.psi
            reward = value + log_policy[:, a] - rows.discount * (risk.block.phi[a] @ zetas[a])
            theta.append(solve(weighted.T @ block.psi, weighted.T @ reward))
        return risk, torch.cat(theta), zetas, value


class RiskMinimum(NamedTuple):
    """Where the steps on a penalised risk ended: a stationary point of it, if they converged."""

    risk: ObservationRisk  # the risk without the penalty
    penalty: Tensor  # (M,) of each squared coefficient, halved
    point: Point  # where the steps ended
    steps: int  # of theta and zeta, those of the fits before included
    decrement: float  # nats that a further step would gain by the quadratic model
    is_sound: bool = True  # whether the fits before, which chose the form of r, converged

    @property
    def converged(self) -> bool:
        """Whether zeta is exact and no step would gain DECREMENT.

        Where all choices are certain the information is rounding, and the decrement may be
        negative.
        """
        return self.point.is_exact and abs(self.decrement) <= DECREMENT

    @property
    def value(self) -> float:
        """The penalised risk."""
        return self.point.nll + 0.5 * float(self.penalty @ self.point.theta**2)

    @property
    def gradient(self) -> Tensor:
        """(M,) of the penalised risk."""
        return self.point.gradient + self.penalty * self.point.theta

    @property
    def q(self) -> Tensor:
        """(S, A) Q at the states of the data."""
        return self.risk.q(self.risk.block, self.point.theta, self.point.zeta)

    @property
    def v(self) -> Tensor:
        """(S,) V at the states of the data."""
        return torch.logsumexp(self.q, dim=1)


def anchor_path(risk: ObservationRisk) -> Tensor:
    """(S,) d: how the mean of V over the data follows r_A - log pi_A in each state."""
    rows = risk.rows
    share = rows.seen / rows.seen.sum()
    phi, system = risk.anchor_system()
    path = share.clone()
    found = torch.linalg.solve(system.T, phi.T @ share)
    for a, y in zip(rows.given, found.split(risk.zeta[0].size), strict=True):
        reached, source = risk.moves[a]
        path.index_add_(0, reached, rows.discount * (source @ y))
    return path


def level_test(fit: RiskMinimum) -> Level:
    """The score test of the level of V; d follows from the regression of zeta, as V does."""
    risk, rows, point = fit.risk, fit.risk.rows, fit.point
    policy, fixed = torch.softmax(fit.q, dim=1), 1 - rows.is_free
    given = risk.slopes(point.slope, risk.block)
    ordered = dict(zip((rows.anchor, *rows.others), given, strict=True))
    slope = torch.zeros_like(ordered[rows.anchor])
    for a in rows.actions:
        slope += (fixed[:, [a]] - policy[:, [a]]) * ordered[a]
    h = point.information + torch.diag(fit.penalty)
    taken, of_anchor = (fixed * rows.visits).sum(dim=1), (fixed * policy).sum(dim=1)
    arrays = anchor_path(risk), rows.seen, taken, of_anchor, slope, point.information, h
    return level_of(*(array.numpy(force=True) for array in arrays))


def covariance(fit: RiskMinimum) -> Tensor:
    """(M, M) of theta-hat, with inputs, functions, ridges and lambda taken as given.

    H^-1 + H^-1 N H^-1: H is the penalised information, and N the noise that zeta_Q brings to the
    score. An observation moves w by (1 - J)^-1 phi (V(s') - phi'w).
    """
    risk, rows, point = fit.risk, fit.risk.rows, fit.point
    policy, v = torch.softmax(fit.q, dim=1), fit.v
    block = risk.block
    given = risk.slopes(point.slope, risk.block)
    ordered = dict(zip((rows.anchor, *rows.others), given, strict=True))
    slopes = [ordered[c] for c in rows.actions]
    mean = sum(policy[:, [c]] * slope for c, slope in enumerate(slopes))
    crossed = [
        rows.discount * (slope - mean).T @ ((rows.seen * policy[:, c])[:, None] * block.phi[c])
        for c, slope in enumerate(slopes)
    ]
    _, system, _ = risk.zeta_equations(point.theta, point.zeta)
    by_zeta = torch.linalg.solve(system.T, torch.cat(crossed, dim=1).T)  # (A p, M)
    noise = torch.zeros_like(point.information)
    for a, weights in enumerate(by_zeta.split(point.zeta.shape[1])):
        expected, is_its = block.phi[a] @ point.zeta[a], rows.action == a
        origin, times = rows.origin[is_its], rows.times[is_its]
        ends = rows.followed[:, a].clone().index_add_(0, origin, -times)
        squares = ends * expected**2
        squares.index_add_(0, origin, times * (v[rows.target[is_its]] - expected[origin]) ** 2)
        shift = block.phi[a] @ weights
        noise += shift.T @ (squares[:, None] * shift)
    inverse = solve(point.information + torch.diag(fit.penalty), torch.eye(len(noise)).to(noise))
    return inverse + inverse @ noise @ inverse


def minimise(
    risk: ObservationRisk,
    penalty: Tensor,
    theta: Tensor,
    zeta: Tensor,
    before: RiskMinimum | None = None,
) -> RiskMinimum:
    """The minimum of the penalised risk by Fisher scoring, each step with a Newton step for zeta.

    theta rests while zeta is LOOSE. A step is halved until the penalised risk falls with a zeta
    that is not loose or, before zeta is exact, until zeta is twice as near; where no length does,
    theta rests too. If theta makes the choices less likely than the uniform policy, 0 is the start.
    `before` is the fit that led here, whose steps count.
    """
    steps = 0 if before is None else before.steps
    is_sound = before is None or (before.is_sound and before.converged)
    point = risk.point(theta, zeta)
    if not point.nll <= float(risk.rows.visits.sum()) * np.log(len(risk.rows.actions)):
        point = risk.point(torch.zeros_like(theta), zeta)
    best = RiskMinimum(risk, penalty, point, steps, np.inf, is_sound)
    most = steps + MAX_STEPS
    while True:
        direction = -solve(best.point.information + torch.diag(penalty), best.gradient)
        best = best._replace(decrement=-0.5 * float(best.gradient @ direction))
        if best.steps == most or best.converged:
            return best
        for length in LENGTHS if best.point.miss <= LOOSE else ():
            step = length * direction
            trial = risk.point(best.point.theta + step, best.point.zeta + best.point.slope @ step)
            candidate = best._replace(point=trial, steps=best.steps + 1)
            if trial.miss <= LOOSE and candidate.value <= best.value:
                break
            if not best.point.is_exact and trial.miss <= max(ZETA_TOLERANCE, best.point.miss / 2):
                break
        else:
            if best.point.is_exact:
                return best
            trial = risk.point(best.point.theta, best.point.zeta)
            candidate = best._replace(point=trial, steps=best.steps + 1)
        best = candidate
