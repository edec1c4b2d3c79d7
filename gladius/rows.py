"""The empirical risk on rows over a class of r and zeta, its derivative and its minimum.

See `sparse` for the estimator. With features psi of r and phi of zeta,

    zeta_Q(., a) = phi'w_a,    w_a = (Phi_a'Phi_a + kappa_a D)^-1 Phi_a'V_Q(s'),
    Q = r_theta + beta zeta_Q,    r_theta(., a) = psi'theta_a  (as given at the anchor),

w solves a fixed point; with J = I - beta M_a diag(pi_c(s')) Phi_c(s') its derivative is J dw = M_a
[pi_c(s') psi_c(s')], and that of Q is psi + beta phi'dw. theta and w are moved together, in one
loop. All are sums over the distinct states: states are grouped in the inputs that are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gladius.anchor import Anchor
from gladius.checks import Array
from gladius.distinct import compress, count_distinct, factorised
from gladius.folder import some_columns
from gladius.screen import Inputs, inverse_root, logit, polynomial, solve
from gladius.transitions import Transitions, index_rows

COSINES = (30, 50, 60)  # for one, two, and more inputs
SPREADS = (0.7, 1.5, 3.0)  # standard deviations of the cosines' frequencies
LINEAR_RIDGE = 0.01  # of the linear terms of zeta, relative to the cosines'
KAPPAS = 10.0 ** np.arange(-4.0, 6.5, 0.5)
EFFECTIVE = 1.4  # weight of the effective degrees of freedom in cross-validation
DECREMENT = 1e-6  # nats
ZETA_TOLERANCE = 1e-6  # of a Newton step for zeta, relative; the error it leaves is its square
SHORTEST = 1e-6  # share of a step
LOOSE = 0.1  # of a Newton step for zeta, relative, up to which the risk there is to be trusted
MAX_STEPS = 30


@dataclass(frozen=True)
class Features:
    """Functions of a state: monomials of standardised inputs, and cosines.

    Attributes:
        inputs: q columns of the state.
        center, scale: (q,) by which they are standardised.
        terms: the monomials, each as positions in `inputs`: () is 1, (i,) an input, (i, j) a
            product.
        frequencies: (q, c), of the cosines.
        phases: (c,).
        low, high: (q,) the box to which standardised inputs are clipped.
        removed: (terms, c) what is taken off the cosines to make them orthogonal to the monomials.
    """

    inputs: tuple[int, ...]
    center: Array
    scale: Array
    terms: tuple[tuple[int, ...], ...]
    frequencies: Array
    phases: Array
    low: Array
    high: Array
    removed: Array

    @property
    def size(self) -> int:
        """How many functions."""
        return len(self.terms) + len(self.phases)

    def standardised(self, states: Tensor) -> Tensor:
        """(n, q) the inputs at (n, d) states, within the box."""
        center, scale, low, high = (
            self._like(states, array) for array in (self.center, self.scale, self.low, self.high)
        )
        z = (states[:, list(self.inputs)] - center) / scale
        return torch.minimum(torch.maximum(z, low), high)

    def __call__(self, states: Tensor) -> Tensor:
        """(n, size) at (n, d) states."""
        z = self.standardised(states)
        monomials = torch.stack([z[:, list(term)].prod(dim=1) for term in self.terms], dim=1)
        if not len(self.phases):
            return monomials
        angles = z @ self._like(z, self.frequencies) + self._like(z, self.phases)
        removed = monomials @ self._like(z, self.removed)
        return torch.cat([monomials, torch.cos(angles) - removed], dim=1)

    @staticmethod
    def _like(states: Tensor, array: Array) -> Tensor:
        return torch.as_tensor(array, dtype=states.dtype, device=states.device)

    def keep(self, terms: Sequence[int]) -> Features:
        """Some of the monomials, and all cosines."""
        kept = tuple(self.terms[j] for j in terms)
        return replace(self, terms=kept, removed=self.removed[list(terms)])


def make_features(
    inputs: Sequence[int],
    scaling: Inputs,
    terms: Iterable[tuple[int, ...]],
    *,
    curved: Sequence[int] = (),
    box: tuple[Array, Array] | None = None,
) -> Features:
    """Monomials of the inputs, and cosines of those among them that are `curved`.

    Frequencies and phases are drawn from one seed, the same in every fit.
    """
    chosen = [int(k) for k in inputs]
    place = [chosen.index(k) for k in curved]
    many = COSINES[min(len(place), len(COSINES)) - 1] if place else 0
    rng = np.random.default_rng(0)
    frequencies = np.zeros((len(chosen), many))
    spread = np.resize(SPREADS, many) / np.sqrt(max(1, len(place)))
    frequencies[place] = rng.standard_normal((len(place), many)) * spread
    everywhere = np.full(len(chosen), np.inf)
    low, high = (-everywhere, everywhere) if box is None else box
    monomials = tuple(terms)
    return Features(
        inputs=tuple(chosen),
        center=scaling.center[chosen],
        scale=scaling.scale[chosen],
        terms=monomials,
        frequencies=frequencies,
        phases=rng.uniform(0, 2 * np.pi, many),
        low=low,
        high=high,
        removed=np.zeros((len(monomials), many)),
    )


@dataclass(frozen=True)
class Rows:
    """A data set in the inputs that are used: distinct states, choices in them and moves between.

    Attributes:
        states: (S, d) distinct among s and s'; inputs that are not used are zero.
        visits: (S, A) how often each action was taken.
        origin, target: (M,) states of the distinct moves (s, a, s') that do not end the path.
        action: (M,) their actions.
        times: (M,) how often each occurs.
        anchor_reward: (S,) r(s, a_s).
        place, next_place: (n,) for each row of the data, which of the states s and s' are.
        going: (n,) whether the path goes on after it.
        anchor: a_s.
        discount: beta.
    """

    states: Tensor
    visits: Tensor
    origin: Tensor
    target: Tensor
    action: Tensor
    times: Tensor
    anchor_reward: Tensor
    place: Tensor
    next_place: Tensor
    going: Tensor
    anchor: int
    discount: float

    @classmethod
    def of(
        cls, data: Transitions, used: Sequence[int], anchor: Anchor, discount: float, device: str
    ) -> Rows:
        """Group a data set by the inputs that are used, and by the anchor's reward."""
        index = list(used)
        parts = data.states, data.next_states
        distinct, (now, after) = index_rows([some_columns(part, index) for part in parts])
        if callable(anchor.reward):
            codes, levels = factorised(np.concatenate([anchor.values(part) for part in parts]))
            codes += np.concatenate([now, after]) * len(levels)
            place, pairs = compress(codes, len(distinct) * len(levels))
            now, after = np.split(place, [len(now)])
            distinct, given = distinct[pairs // len(levels)], levels[pairs % len(levels)]
        else:
            given = anchor.values(distinct)
        states = np.zeros((len(distinct), data.states.shape[1]))
        states[:, index] = distinct
        actions, count = data.number_of_actions, len(states)
        visits = np.bincount(now * actions + data.actions, minlength=count * actions)
        codes = (now * count + after) * actions
        codes += data.actions
        moves, times = count_distinct(codes[~data.done], count**2 * actions)

        def put(array: NDArray[np.generic]) -> Tensor:
            return torch.tensor(array, device=device)

        return cls(
            states=put(states),
            visits=put(visits.reshape(-1, actions).astype(float)),
            origin=put(moves // actions // count),
            target=put(moves // actions % count),
            action=put(moves % actions),
            times=put(times.astype(float)),
            anchor_reward=put(given),
            place=put(now.astype(np.int32)),
            next_place=put(after.astype(np.int32)),
            going=put(~data.done),
            anchor=anchor.action,
            discount=discount,
        )

    def next_values(self, value: Tensor) -> Callable[[slice], Tensor]:
        """(S,) V at the states -> rows of the data -> V(s') in them, zero where a path ended."""
        return lambda rows: value.index_select(0, self.next_place[rows]) * self.going[rows]

    @property
    def actions(self) -> range:
        """All actions."""
        return range(self.visits.shape[1])

    @property
    def others(self) -> list[int]:
        """The actions but the anchor."""
        return [a for a in self.actions if a != self.anchor]

    @property
    def log_size(self) -> float:
        """log n, what BIC asks of a parameter."""
        return float(torch.log(self.visits.sum()))


class Block(NamedTuple):
    """States with the functions of r and, for each action, of zeta."""

    anchor_reward: Tensor
    psi: Tensor
    phi: tuple[Tensor, ...]

    def take(self, places: Tensor) -> Block:
        """Some of the states."""
        return Block(
            self.anchor_reward[places], self.psi[places], tuple(p[places] for p in self.phi)
        )


class Point(NamedTuple):
    """The risk at one theta.

    Attributes:
        theta: (M,) coefficients of r, action by action without the anchor.
        zeta: (A, p) coefficients of zeta, zeta_Q's but for the square of `miss`.
        slope: (A, p, M) their derivative in theta.
        nll: negative log-likelihood, a sum over rows.
        gradient: (M,) of the NLL.
        information: (M, M) Fisher's.
        miss: length of the Newton step that led to zeta, relative.
    """

    theta: Tensor
    zeta: Tensor
    slope: Tensor
    nll: float
    gradient: Tensor
    information: Tensor
    miss: float

    @property
    def exact(self) -> bool:
        """Whether zeta is zeta_Q."""
        return self.miss <= ZETA_TOLERANCE


@dataclass(frozen=True)
class Risk:
    """The empirical risk over the class, as a function of theta.

    Attributes:
        rows: the data.
        reward: functions psi of r, m of them.
        zeta: functions phi of zeta(., a), p for each action; they differ in the box.
        factor: per action, (p, p) W with W W' the inverse of Phi'Phi + kappa D. The functions of
            zeta are taken as Phi W, in which the ridge regression is W'Phi'V and rounding stays
            small; the cosines themselves are nearly collinear.
    """

    rows: Rows
    reward: Features
    zeta: tuple[Features, ...]
    factor: tuple[Tensor, ...] = ()

    @property
    def free(self) -> int:
        """M, how many coefficients r has in all."""
        return len(self.rows.others) * self.reward.size

    @property
    def used(self) -> tuple[int, ...]:
        """The inputs of r and of zeta."""
        return tuple(sorted({*self.reward.inputs, *self.zeta[0].inputs}))

    @cached_property
    def block(self) -> Block:
        """All states."""
        return Block(self.rows.anchor_reward, self.reward(self.rows.states), self.phi)

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
        """Per action, the states it led to and, for each, the sum of phi over where it came from.

        So sum over rows of phi(s) f(s') is a product of two matrices for every f.
        """
        rows, moves = self.rows, []
        for a in rows.actions:
            part = rows.action == a
            reached, place = torch.unique(rows.target[part], return_inverse=True)
            weighted = self.phi[a][rows.origin[part]] * rows.times[part][:, None]
            source = weighted.new_zeros((len(reached), weighted.shape[1]))
            moves.append((reached, source.index_add_(0, place, weighted)))
        return moves

    @cached_property
    def ahead(self) -> list[Block]:
        """Per action, the states it led to."""
        return [self.block.take(reached) for reached, _ in self.moves]

    def with_reward(self, reward: Features) -> Risk:
        """The risk with other functions of r; what belongs to zeta is kept, not computed again."""
        other = replace(self, reward=reward)
        kept = ("functions_of_zeta", "phi", "moves")
        vars(other).update({name: vars(self)[name] for name in kept if name in vars(self)})
        return other

    def q(self, block: Block, theta: Tensor, zeta: Tensor) -> Tensor:
        """(n, A) Q = r + beta zeta."""
        q = torch.stack([block.phi[a] @ zeta[a] for a in self.rows.actions], dim=1)
        q *= self.rows.discount
        q[:, self.rows.others] += block.psi @ theta.reshape(-1, self.reward.size).T
        q[:, self.rows.anchor] += block.anchor_reward
        return q

    def with_ridge(self, value: Tensor) -> Risk:
        """Each action's kappa by generalised cross-validation of (S,) V at s'."""
        rows, size = self.rows, self.zeta[0].size
        relative = torch.ones(size, dtype=value.dtype, device=value.device)
        relative[: len(self.zeta[0].terms)] = LINEAR_RIDGE
        relative[0] = 0.0
        eye = torch.eye(size, dtype=value.dtype, device=value.device)
        factors = []
        for a, phi in enumerate(self.functions_of_zeta):
            part = rows.action == a
            times = rows.times[part]
            after, here = value[rows.target[part]], phi[rows.origin[part]]
            gram = phi.T @ (rows.visits[:, [a]] * phi)  # of rows that end a path too: V is 0 there
            target, total = here.T @ (times * after), float(rows.visits[:, a].sum())
            square = float(times @ after**2)
            if len(times) == 0:  # every row of the action ends the path
                factors.append(torch.zeros_like(eye))
                continue
            best = (np.inf, 0.0)
            for kappa in KAPPAS:
                inverse = solve(gram + torch.diag(kappa * relative), eye)
                coefficients = inverse @ target
                left = square - float(
                    2 * coefficients @ target - coefficients @ gram @ coefficients
                )
                share = EFFECTIVE * float((inverse * gram).sum()) / total
                criterion = max(left, 0.0) / (1 - share) ** 2 if share < 1 else np.inf
                if criterion < best[0] or kappa == KAPPAS[0]:
                    best = (criterion, float(kappa))
            factors.append(inverse_root(gram + torch.diag(best[1] * relative)))
        ridged = replace(self, factor=tuple(factors))
        vars(ridged)["functions_of_zeta"] = self.functions_of_zeta
        return ridged

    def regress(self, value: Tensor) -> Tensor:
        """(A, p) coefficients of the ridge regression of (S,) V at s' for each action."""
        return torch.stack([source.T @ value[reached] for reached, source in self.moves])

    def newton_step(self, theta: Tensor, zeta: Tensor) -> tuple[Tensor, Tensor]:
        """(A, p) Newton's step from `zeta` to zeta_Q at theta, and zeta_Q's slope (A, p, M)."""
        rows, size = self.rows, self.zeta[0].size
        coefficients = len(rows.actions) * size
        reached, jacobian, by_theta = [], [], []
        for a, block in enumerate(self.ahead):
            q = self.q(block, theta, zeta)
            value = torch.logsumexp(q, dim=1)
            policy = torch.exp(q - value[:, None])
            spread = [policy[:, [c]] * block.phi[c] for c in rows.actions]
            spread += [policy[:, [c]] * block.psi for c in rows.others]
            means = self.moves[a][1].T @ torch.cat([value[:, None], *spread], dim=1)
            reached.append(means[:, 0])
            jacobian.append(rows.discount * means[:, 1 : 1 + coefficients])
            by_theta.append(means[:, 1 + coefficients :])
        miss = (torch.stack(reached) - zeta).reshape(-1, 1)
        eye = torch.eye(coefficients, dtype=theta.dtype, device=theta.device)
        right = torch.cat([miss, torch.cat(by_theta)], dim=1)
        solved = torch.linalg.solve(eye - torch.cat(jacobian), right)
        return solved[:, 0].reshape(zeta.shape), solved[:, 1:].reshape(len(rows.actions), size, -1)

    def point(self, theta: Tensor, zeta: Tensor) -> Point:
        """The risk at theta, zeta a Newton step from `zeta` nearer to zeta_Q."""
        rows, block = self.rows, self.block
        step, slope = self.newton_step(theta, zeta)
        zeta = zeta + step
        miss = float(step.abs().max()) / (1 + float(zeta.abs().max()))
        log_policy = torch.log_softmax(self.q(block, theta, zeta), dim=1)
        policy, seen = torch.exp(log_policy), rows.visits.sum(dim=1)
        residual = seen[:, None] * policy - rows.visits
        gradient, information = self.derivatives(policy, slope, residual, seen)
        nll = -float((rows.visits * log_policy).sum())
        return Point(theta, zeta, slope, nll, gradient, information, miss)

    def derivatives(
        self, policy: Tensor, slope: Tensor, residual: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(M,) sum of residuals times grad Q, and (M, M) weighted sum of Var_pi(grad Q).

        Args:
            policy: (S, A).
            slope: (A, p, M) of zeta in theta.
            residual: (S, A), with sum 0 in each state.
            weights: (S,) of the variances.
        """
        rows, block, size = self.rows, self.block, self.reward.size
        of_anchor = rows.discount * (block.phi[rows.anchor] @ slope[rows.anchor])
        gradient, mean = of_anchor.new_zeros(self.free), torch.zeros_like(of_anchor)
        information = of_anchor.new_zeros((self.free, self.free))
        for i, c in enumerate(rows.others):
            odds = rows.discount * (block.phi[c] @ slope[c]) - of_anchor
            odds[:, i * size : (i + 1) * size] += block.psi
            expected = weights * policy[:, c]
            gradient += residual[:, c] @ odds
            information += odds.T @ (expected[:, None] * odds)
            mean += policy[:, [c]] * odds
        information -= mean.T @ (weights[:, None] * mean)
        return gradient, information

    def settled(self, theta: Tensor, zeta: Tensor) -> tuple[Point, int]:
        """The risk at theta with zeta_Q, by Newton from `zeta`, and the steps; or not `exact`."""
        point = self.point(theta, zeta)
        steps = 1
        while not point.exact and steps < MAX_STEPS:
            point = self.point(theta, point.zeta)
            steps += 1
        return point, steps

    def start(self) -> Start:
        """The plug-in in this class, with a first ridge.

        From a polynomial logit of the choices, V = r_A - log pi_A + beta zeta_A is linear in
        zeta_A; what is left of Q - beta zeta is regressed on the functions of r.
        """
        rows, block, anchor = self.rows, self.block, self.rows.anchor
        order = [*rows.others, anchor]
        design = polynomial(self.reward.standardised(rows.states))
        log_policy = torch.log_softmax(design @ logit(design, rows.visits[:, order]), dim=1)
        log_policy = log_policy[:, np.argsort(order)]
        drift = rows.anchor_reward - log_policy[:, anchor]
        risk, value = self, drift
        for _ in range(2):  # the ridge of the second round follows the V of the first
            risk = risk.with_ridge(value)
            reached, source = risk.moves[anchor]
            phi = risk.block.phi[anchor]
            system = torch.eye(phi.shape[1], dtype=drift.dtype, device=drift.device)
            system -= rows.discount * source.T @ phi[reached]
            zeta = torch.linalg.solve(system, source.T @ drift[reached])
            value = drift + rows.discount * (phi @ zeta)
        risk = risk.with_ridge(value)
        zetas = risk.regress(value)
        weighted = rows.visits.sum(dim=1)[:, None] * block.psi
        gram, theta = weighted.T @ block.psi, []
        for a in rows.others:
            reward = value + log_policy[:, a] - rows.discount * (risk.block.phi[a] @ zetas[a])
            theta.append(solve(gram, weighted.T @ reward))
        return Start(risk, torch.cat(theta), zetas, value)


class Start(NamedTuple):
    """Where Fisher scoring starts: the risk, theta, zeta, and V at the states of the data."""

    risk: Risk
    theta: Tensor
    zeta: Tensor
    v: Tensor


class Minimum(NamedTuple):
    """Where the steps on a penalised risk ended: a stationary point of it, if they converged.

    Attributes:
        risk: whose minimum it is.
        penalty: (M,) of each squared coefficient, halved.
        point: where it is.
        steps: of theta and zeta, those of the fits that led here too.
        decrement: what a further step would take off, in nats, by the quadratic model.
        is_sound: whether the fits that led here, which chose the form of r, converged.
    """

    risk: Risk
    penalty: Tensor
    point: Point
    steps: int
    decrement: float
    is_sound: bool = True

    @property
    def converged(self) -> bool:
        """Whether zeta is exact and no step would gain DECREMENT.

        Where all choices are certain the information is rounding, and a decrement below zero.
        """
        return self.point.exact and abs(self.decrement) <= DECREMENT

    @property
    def value(self) -> float:
        """The penalised risk."""
        return self.point.nll + 0.5 * float(self.penalty @ self.point.theta**2)

    @property
    def v(self) -> Tensor:
        """(S,) V at the states of the data."""
        return torch.logsumexp(
            self.risk.q(self.risk.block, self.point.theta, self.point.zeta), dim=1
        )


def minimise(
    risk: Risk, penalty: Tensor, theta: Tensor, zeta: Tensor, before: Minimum | None = None
) -> Minimum:
    """Fisher scoring from theta, with a Newton step for zeta in every step: one loop.

    theta rests while zeta is LOOSE. Its step is halved until the penalised risk falls with a zeta
    that is not or, before zeta is exact, until zeta is twice as near; where no step does, theta
    rests too. A theta whose choices are less likely than even odds is no start: 0 is taken.
    `before` is the fit that led here, whose steps count.
    """
    steps = 0 if before is None else before.steps
    is_sound = before is None or (before.is_sound and before.converged)
    point = risk.point(theta, zeta)
    if not point.nll <= float(risk.rows.visits.sum()) * np.log(len(risk.rows.actions)):
        point = risk.point(torch.zeros_like(theta), zeta)
    best = Minimum(risk, penalty, point, steps, np.inf, is_sound)
    most = steps + MAX_STEPS
    while True:
        point = best.point
        slope = point.gradient + penalty * point.theta
        direction = -solve(point.information + torch.diag(penalty), slope)
        best = best._replace(decrement=-0.5 * float(slope @ direction))
        if best.steps == most or best.converged:
            return best
        length = 1.0 if point.miss <= LOOSE else 0.0
        while length > SHORTEST:
            step = length * direction
            trial = risk.point(point.theta + step, point.zeta + point.slope @ step)
            moved = best._replace(point=trial, steps=best.steps + 1)
            if trial.miss <= LOOSE and moved.value <= best.value:
                break
            if not point.exact and trial.miss <= max(ZETA_TOLERANCE, point.miss / 2):
                break
            length /= 2
        else:
            if point.exact:
                return best
            trial = risk.point(point.theta, point.zeta)
            moved = best._replace(point=trial, steps=best.steps + 1)
        best = moved
