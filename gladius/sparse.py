"""GLADIUS on rows (s, a, s'): the class `sparse`, for many inputs and states that never repeat.

The inputs A of the reward and A_z of zeta are chosen by score tests (`screen`). With z the
standardised inputs, and zeta(., a) in the class Z_a = span{1, z, cos(w'z + c)} of A_z,

    zeta_Q(., a) = argmin over Z_a of  sum over rows with action a of (V_Q(s') - zeta(s))^2
                   + kappa_a |coefficients|^2,                             V_Q = logsumexp Q,
    Q = r_theta + beta zeta_Q,      r_theta(., a) = fixed(z)'b_a + smooth(z)'u_a,

the anchor's reward as given. The inner maximum of the paper's risk is thus a linear solve, and at
the anchor's rows r + beta V' - Q = beta (V' - zeta): the squared TD error less beta^2 times zeta's
is zero row by row, and the risk is the negative log-likelihood. The estimator is

    min over theta of  NLL(Q) + (lambda / 2) |u|^2,

a restriction of r to a class: over every Q and every zeta the minimum is the plug-in's. It is
reached by Fisher scoring with the exact derivative of zeta_Q, in passes over the data that are sums
over states. With kappa > 0 zeta is the ridge solution, and the point that is reached is stationary;
that it is the global minimum is not shown.

kappa_a is chosen by generalised cross-validation. The monomials of r are thinned out by BIC. lambda
is chosen by restricted maximum likelihood (REML, Laplace's approximation at the current fit,
repeated until lambda rests) and kept at infinity unless REML gains CRITICAL. If the scores of the
inputs left out are significant together, they enter r linearly as one more ridge block, whose
penalty is the inverse of their estimated variance (the dense tail).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import chi2
from torch import Tensor

from gladius.anchor import Anchor
from gladius.checks import Array, InputError, check_choice, check_options
from gladius.estimate import Diagnostics, Estimate
from gladius.screen import (
    Inputs,
    Selection,
    choice_outcome,
    logit,
    next_value_outcome,
    polynomial,
    select,
    solve,
)
from gladius.transitions import Transitions, index_rows

COSINES = (30, 50, 60)  # for one, two, and more inputs
SPREADS = (0.7, 1.5, 3.0)  # standard deviations of the cosines' frequencies
LINEAR_RIDGE = 0.01  # of the linear terms of zeta, relative to the cosines'
SUPPORT = (0.0005, 0.9995)  # quantiles between which an action counts as seen
KAPPAS = 10.0 ** np.arange(-4.0, 6.5, 0.5)
EFFECTIVE = 1.4  # weight of the effective degrees of freedom in cross-validation
LAMBDAS = 10.0 ** np.arange(4.0, -2.25, -0.5)
CRITICAL = 2.71  # of twice the restricted log-likelihood, to leave the fixed form
FEW = 2  # inputs up to which all products are tried and all may bend together
TAIL = 0.01  # level of the test of the inputs left out
TERM = 0.001  # level of the test of a product, where there are more inputs than FEW
DECREMENT = 1e-6  # nats
ZETA_TOLERANCE = 1e-4  # before the last Newton step, which squares it
SHORTEST = 1e-6  # share of a step
MAX_STEPS, ZETA_STEPS, ROUNDS = 30, 30, 4


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

    def __call__(self, states: Tensor) -> Tensor:
        """(n, size) at (n, d) states."""

        def same(array: Array) -> Tensor:
            return torch.as_tensor(array, dtype=states.dtype, device=states.device)

        z = (states[:, list(self.inputs)] - same(self.center)) / same(self.scale)
        z = torch.minimum(torch.maximum(z, same(self.low)), same(self.high))
        monomials = torch.stack([z[:, list(term)].prod(dim=1) for term in self.terms], dim=1)
        if not len(self.phases):
            return monomials
        cosines = torch.cos(z @ same(self.frequencies) + same(self.phases))
        return torch.cat([monomials, cosines - monomials @ same(self.removed)], dim=1)

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
        next_place: (n,) for each row of the data, which of the states s' is.
        going: (n,) 0 where it ends the path, 1 elsewhere.
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
        blocks = [
            np.column_stack([part[:, index], anchor.values(part)])
            for part in (data.states, data.next_states)
        ]
        distinct, (now, after) = index_rows(blocks)
        states = np.zeros((len(distinct), data.states.shape[1]))
        states[:, index] = distinct[:, :-1]
        actions = data.number_of_actions
        visits = np.bincount(now * actions + data.actions, minlength=len(states) * actions)
        going = ~data.done
        codes = (now[going] * len(states) + after[going]) * actions + data.actions[going]
        moves, times = np.unique(codes, return_counts=True)

        def put(array: NDArray[np.generic]) -> Tensor:
            return torch.tensor(array, device=device)

        return cls(
            states=put(states),
            visits=put(visits.reshape(-1, actions).astype(float)),
            origin=put(moves // actions // len(states)),
            target=put(moves // actions % len(states)),
            action=put(moves % actions),
            times=put(times.astype(float)),
            anchor_reward=put(distinct[:, -1]),
            next_place=put(after),
            going=put(going.astype(float)),
            anchor=anchor.action,
            discount=discount,
        )

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
        zeta: (A, p) coefficients of zeta_Q.
        slope: (A, p, M) their derivative in theta.
        nll: negative log-likelihood, a sum over rows.
        gradient: (M,) of the NLL.
        information: (M, M) Fisher's.
        exact: whether zeta_Q solves its equations.
    """

    theta: Tensor
    zeta: Tensor
    slope: Tensor
    nll: float
    gradient: Tensor
    information: Tensor
    exact: bool


@dataclass(frozen=True)
class Risk:
    """The empirical risk over the class, as a function of theta.

    Attributes:
        rows: the data.
        reward: functions psi of r, m of them.
        zeta: functions phi of zeta(., a), p for each action; they differ in the box.
        inverse: per action, (p, p) inverse of Phi'Phi + kappa D.
    """

    rows: Rows
    reward: Features
    zeta: tuple[Features, ...]
    inverse: tuple[Tensor, ...] = ()

    @property
    def free(self) -> int:
        """M, how many coefficients r has in all."""
        return len(self.rows.others) * self.reward.size

    @cached_property
    def block(self) -> Block:
        """All states."""
        states = self.rows.states
        phi = tuple(features(states) for features in self.zeta)
        return Block(self.rows.anchor_reward, self.reward(states), phi)

    @cached_property
    def moves(self) -> list[tuple[Tensor, Tensor]]:
        """Per action, the states it led to and, for each, the sum of phi over where it came from.

        So sum over rows of phi(s) f(s') is a product of two matrices for every f.
        """
        rows, moves = self.rows, []
        for a in rows.actions:
            part = rows.action == a
            reached, place = torch.unique(rows.target[part], return_inverse=True)
            weighted = self.block.phi[a][rows.origin[part]] * rows.times[part][:, None]
            source = weighted.new_zeros((len(reached), weighted.shape[1]))
            moves.append((reached, source.index_add_(0, place, weighted)))
        return moves

    @cached_property
    def ahead(self) -> list[Block]:
        """Per action, the states it led to."""
        return [self.block.take(reached) for reached, _ in self.moves]

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
        inverses = []
        for a in rows.actions:
            part, phi = rows.action == a, self.block.phi[a]
            times = rows.times[part]
            after, here = value[rows.target[part]], phi[rows.origin[part]]
            visits = torch.zeros_like(value).index_add_(0, rows.origin[part], times)
            gram = phi.T @ (visits[:, None] * phi)
            target, total = here.T @ (times * after), float(times.sum())
            square = float(times @ after**2)
            best = (np.inf, eye)
            for kappa in KAPPAS:
                inverse = solve(gram + torch.diag(kappa * relative), eye)
                coefficients = inverse @ target
                left = square - float(
                    2 * coefficients @ target - coefficients @ gram @ coefficients
                )
                share = EFFECTIVE * float((inverse * gram).sum()) / max(total, 1.0)
                criterion = max(left, 0.0) / (1 - share) ** 2 if share < 1 else np.inf
                if criterion < best[0] or kappa == KAPPAS[0]:
                    best = (criterion, inverse)
            inverses.append(best[1])
        return replace(self, inverse=tuple(inverses))

    def solve_zeta(self, theta: Tensor, zeta: Tensor) -> tuple[Tensor, Tensor, bool]:
        """zeta_Q at theta by Newton from `zeta`, its derivative (A, p, M), and whether it is exact.

        A step from within ZETA_TOLERANCE is the last: what is left of the error is its square.
        """
        rows, size = self.rows, self.zeta[0].size
        coefficients = len(rows.actions) * size
        eye = torch.eye(coefficients, dtype=theta.dtype, device=theta.device)
        for _ in range(ZETA_STEPS):
            reached, jacobian, by_theta = [], [], []
            for a, block in enumerate(self.ahead):
                source = self.moves[a][1]
                q = self.q(block, theta, zeta)
                value = torch.logsumexp(q, dim=1)
                policy = torch.exp(q - value[:, None])
                spread = [policy[:, [c]] * block.phi[c] for c in rows.actions]
                spread += [policy[:, [c]] * block.psi for c in rows.others]
                solved = self.inverse[a] @ (source.T @ torch.cat([value[:, None], *spread], dim=1))
                reached.append(solved[:, 0])
                jacobian.append(rows.discount * solved[:, 1 : 1 + coefficients])
                by_theta.append(solved[:, 1 + coefficients :])
            miss = (torch.stack(reached) - zeta).reshape(-1, 1)
            right = torch.cat([miss, torch.cat(by_theta)], dim=1)
            solved = torch.linalg.solve(eye - torch.cat(jacobian), right)
            zeta = zeta + solved[:, 0].reshape(zeta.shape)
            if float(solved[:, 0].abs().max()) <= ZETA_TOLERANCE * (1 + float(zeta.abs().max())):
                return zeta, solved[:, 1:].reshape(len(rows.actions), size, -1), True
        return zeta, solved[:, 1:].reshape(len(rows.actions), size, -1), False

    def point(self, theta: Tensor, zeta: Tensor) -> Point:
        """The risk at theta, zeta_Q sought from `zeta`."""
        rows, block, size = self.rows, self.block, self.reward.size
        zeta, slope, exact = self.solve_zeta(theta, zeta)
        log_policy = torch.log_softmax(self.q(block, theta, zeta), dim=1)
        policy, seen = torch.exp(log_policy), rows.visits.sum(dim=1)
        of_anchor = rows.discount * (block.phi[rows.anchor] @ slope[rows.anchor])
        gradient, mean = torch.zeros_like(theta), torch.zeros_like(of_anchor)
        information = theta.new_zeros((len(theta), len(theta)))
        for i, c in enumerate(rows.others):
            odds = rows.discount * (block.phi[c] @ slope[c]) - of_anchor
            odds[:, i * size : (i + 1) * size] += block.psi
            expected = seen * policy[:, c]
            gradient += (expected - rows.visits[:, c]) @ odds
            information += odds.T @ (expected[:, None] * odds)
            mean += policy[:, [c]] * odds
        information -= mean.T @ (seen[:, None] * mean)
        nll = -float((rows.visits * log_policy).sum())
        return Point(theta, zeta, slope, nll, gradient, information, exact)

    def start(self) -> Start:
        """The plug-in in this class, with a first ridge.

        From a polynomial logit of the choices, V = r_A - log pi_A + beta zeta_A is linear in
        zeta_A; what is left of Q - beta zeta is regressed on the functions of r.
        """
        rows, block, anchor = self.rows, self.block, self.rows.anchor
        order = [*rows.others, anchor]
        scaling = replace(self.reward, terms=tuple((i,) for i in range(len(self.reward.inputs))))
        design = polynomial(replace(scaling, phases=np.zeros(0))(rows.states))
        log_policy = torch.log_softmax(design @ logit(design, rows.visits[:, order]), dim=1)
        log_policy = log_policy[:, np.argsort(order)]
        drift = rows.anchor_reward - log_policy[:, anchor]
        risk, value = self, drift
        reached, source = self.moves[anchor]
        for _ in range(2):  # the ridge of the second round follows the V of the first
            inverse = risk.with_ridge(value).inverse[anchor]
            system = torch.eye(len(inverse), dtype=drift.dtype, device=drift.device)
            system -= rows.discount * inverse @ (source.T @ block.phi[anchor][reached])
            zeta = torch.linalg.solve(system, inverse @ (source.T @ drift[reached]))
            value = drift + rows.discount * (block.phi[anchor] @ zeta)
        risk = risk.with_ridge(value)
        zetas = torch.stack(
            [
                risk.inverse[a] @ (source.T @ value[reached])
                for a, (reached, source) in enumerate(self.moves)
            ]
        )
        weighted = rows.visits.sum(dim=1)[:, None] * block.psi
        gram, theta = weighted.T @ block.psi, []
        for a in rows.others:
            reward = value + log_policy[:, a] - rows.discount * (block.phi[a] @ zetas[a])
            theta.append(solve(gram, weighted.T @ reward))
        return Start(risk, torch.cat(theta), zetas, value)


class Start(NamedTuple):
    """Where Fisher scoring starts: the risk, theta, zeta, and V at the states of the data."""

    risk: Risk
    theta: Tensor
    zeta: Tensor
    v: Tensor


class Minimum(NamedTuple):
    """A stationary point of the penalised risk.

    Attributes:
        risk: whose minimum it is.
        penalty: (M,) of each squared coefficient, halved.
        point: where it is.
        steps: of Fisher scoring.
        decrement: half the last step's predicted decrease, in nats.
    """

    risk: Risk
    penalty: Tensor
    point: Point
    steps: int
    decrement: float

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


def minimise(risk: Risk, penalty: Tensor, theta: Tensor, zeta: Tensor) -> Minimum:
    """Fisher scoring from theta, each step halved until the penalised risk falls."""
    best = Minimum(risk, penalty, risk.point(theta, zeta), 0, np.inf)
    while True:
        point = best.point
        slope = point.gradient + penalty * point.theta
        direction = -solve(point.information + torch.diag(penalty), slope)
        best = best._replace(decrement=-0.5 * float(slope @ direction))
        if best.decrement <= DECREMENT or best.steps == MAX_STEPS:
            return best
        length = 1.0
        while length > SHORTEST:
            step = length * direction
            trial = risk.point(point.theta + step, point.zeta + point.slope @ step)
            moved = best._replace(point=trial, steps=best.steps + 1)
            if trial.exact and moved.value <= best.value:
                break
            length /= 2
        else:
            return best
        best = moved


# The form of r ------------------------------------------------------------------------------------


def fit_form(rows: Rows, scaling: Inputs, inputs: Sequence[int], of_zeta: Sequence[int]) -> Minimum:
    """The monomials of r: all inputs and products that pass, thinned out by BIC."""
    places = range(len(inputs))
    pairs = list(combinations(places, 2))
    terms: list[tuple[int, ...]] = [(), *((i,) for i in places)]
    if len(inputs) <= FEW:
        terms += pairs
    zeta = make_zeta(rows, scaling, of_zeta)
    risk = Risk(rows, make_features(inputs, scaling, terms), zeta)
    fit = settle(risk.start())
    if len(inputs) > FEW:
        passing = significant_products(fit, pairs)
        if passing:
            risk = Risk(rows, make_features(inputs, scaling, [*terms, *passing]), zeta)
            fit = settle(risk.start())
    return drop_terms(fit)


def settle(start: Start) -> Minimum:
    """The minimum without a penalty, the ridge of zeta following the V of a first one."""
    none = torch.zeros_like(start.theta)
    fit = minimise(start.risk, none, start.theta, start.zeta)
    return minimise(fit.risk.with_ridge(fit.v), none, fit.point.theta, fit.point.zeta)


def make_zeta(rows: Rows, scaling: Inputs, inputs: Sequence[int]) -> tuple[Features, ...]:
    """The functions of zeta(., a) for each action, clipped to where the action was seen."""
    chosen = [int(k) for k in inputs]
    terms: list[tuple[int, ...]] = [(), *((i,) for i in range(len(chosen)))]
    z = (rows.states[:, chosen].cpu().numpy() - scaling.center[chosen]) / scaling.scale[chosen]
    features = []
    for visits in rows.visits.T.cpu().numpy():
        box = np.empty((2, len(chosen)))
        for k, column in enumerate(z.T):
            order = np.argsort(column, kind="stable")
            share = np.cumsum(visits[order]) / visits.sum()
            box[:, k] = column[order][np.searchsorted(share, SUPPORT).clip(0, len(z) - 1)]
        features.append(make_features(chosen, scaling, terms, curved=chosen, box=(box[0], box[1])))
    return tuple(features)


def significant_products(fit: Minimum, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Products of two inputs whose score passes at TERM, all of them tested."""
    reward = fit.risk.reward
    wider = replace(
        fit.risk,
        reward=replace(
            reward,
            terms=(*reward.terms, *pairs),
            removed=np.zeros((len(reward.terms) + len(pairs), 0)),
        ),
    )
    point = extend(fit, wider)
    size, actions = wider.reward.size, len(fit.risk.rows.others)
    old = [c * size + j for c in range(actions) for j in range(len(reward.terms))]
    passing = []
    for j, pair in enumerate(pairs, len(reward.terms)):
        new = [c * size + j for c in range(actions)]
        left = point.information[new][:, new] - point.information[new][:, old] @ solve(
            point.information[old][:, old], point.information[old][:, new]
        )
        score = point.gradient[new]
        if chi2.sf(float(score @ solve(left, score)), actions) <= TERM:
            passing.append(pair)
    return passing


def extend(fit: Minimum, wider: Risk) -> Point:
    """The fit's theta as a point of a risk whose r has further functions, zero there."""
    actions = len(wider.rows.others)
    table = fit.point.theta.new_zeros((actions, wider.reward.size))
    table[:, : fit.risk.reward.size] = fit.point.theta.reshape(actions, -1)
    return wider.point(table.reshape(-1), fit.point.zeta)


def drop_terms(fit: Minimum) -> Minimum:
    """Drop the monomial with the smallest Wald statistic while BIC falls; 1 always stays."""
    while True:
        risk, point = fit.risk, fit.point
        actions, size = len(risk.rows.others), risk.reward.size
        price = actions * risk.rows.log_size
        eye = torch.eye(risk.free, dtype=point.theta.dtype, device=point.theta.device)
        covariance = solve(point.information, eye)
        walds = []
        for j in range(1, size):
            place = [c * size + j for c in range(actions)]
            part = point.theta[place]
            walds.append(float(part @ solve(covariance[place][:, place], part)))
        if not walds or min(walds) > 2 * price:
            return fit
        kept = [j for j in range(size) if j != 1 + int(np.argmin(walds))]
        smaller = replace(risk, reward=risk.reward.keep(kept))
        place = [c * size + j for c in range(actions) for j in kept]
        trial = minimise(smaller, fit.penalty[place], point.theta[place], point.zeta)
        if 2 * (trial.point.nll - point.nll) >= price:
            return fit
        fit = trial


def bend(fit: Minimum, scaling: Inputs) -> Minimum:
    """The fit, or the best with cosines of one or two inputs, if REML gains enough."""
    rows = fit.risk.rows
    inputs = fit.risk.reward.inputs
    few = len(inputs) <= FEW
    sets = [c for size in (1, 2) if few or size == 1 for c in combinations(inputs, size)]
    best, chosen = 0.0, fit
    for curved in sets:
        old = fit.risk.reward
        reward = make_features(inputs, scaling, old.terms, curved=curved)
        fixed = old(rows.states)
        weighted = fixed * rows.visits.sum(dim=1)[:, None]
        cosines = reward(rows.states)[:, len(old.terms) :]
        removed = solve(weighted.T @ fixed, weighted.T @ cosines).cpu().numpy()
        wider = replace(fit.risk, reward=replace(reward, removed=removed))
        gain, bent = smooth_fit(fit, wider)
        gain -= CRITICAL + rows.log_size * (len(curved) - 1)
        if gain > best:
            best, chosen = gain, bent
    return chosen


def smooth_fit(fit: Minimum, wider: Risk) -> tuple[float, Minimum]:
    """The fit in the wider class at REML's lambda, and what twice REML gains over infinity."""
    actions, size = len(wider.rows.others), wider.reward.size
    is_smooth = torch.arange(size, device=fit.point.theta.device) >= fit.risk.reward.size
    held = is_smooth.repeat(actions)
    point, lambdas, bent = extend(fit, wider), [], fit
    while True:
        gains = [reml_gain(point, held, strength) for strength in LAMBDAS]
        strength = float(LAMBDAS[int(np.argmax(gains))])
        if max(gains) <= CRITICAL or strength in lambdas:
            return max(gains), bent
        lambdas.append(strength)
        bent = minimise(wider, strength * held.double(), point.theta, point.zeta)
        point = bent.point


def reml_gain(point: Point, held: Tensor, strength: float) -> float:
    """Twice the restricted log-likelihood at lambda less that at infinity, by the quadratic model.

    The model of the NLL is its gradient and Fisher's information at the point.
    """
    information = point.information
    working = information @ point.theta - point.gradient  # its minimiser is information^-1 times it

    def criterion(matrix: Tensor, right: Tensor) -> float:
        return float(right @ solve(matrix, right) - torch.linalg.slogdet(matrix)[1])

    free = ~held
    straight = criterion(information[free][:, free], working[free])
    bent = criterion(information + torch.diag(strength * held.double()), working)
    return bent + float(held.sum()) * float(np.log(strength)) - straight


# The estimator ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowFunction:
    """(n, d) states -> (n, A): r, or Q where zeta is given."""

    reward: Features
    theta: Array
    anchor: Anchor
    zeta: tuple[Features, ...] = ()
    coefficients: Array | None = None
    discount: float = 0.0

    def __call__(self, states: Array) -> Array:
        given = torch.tensor(states, dtype=torch.float64)
        values: Array = self.reward(given).numpy() @ self.theta.T
        values[:, self.anchor.action] = self.anchor.values(states)
        if self.coefficients is not None:
            for a, features in enumerate(self.zeta):
                values[:, a] += self.discount * (features(given).numpy() @ self.coefficients[a])
        return values


@dataclass(frozen=True)
class Options:
    """What a user may set.

    Attributes:
        device: where the sums over rows are computed, cpu or cuda.
    """

    device: str = "cpu"

    def __post_init__(self) -> None:
        check_choice("device", self.device, ("cpu", "cuda"))
        if self.device == "cuda" and not torch.cuda.is_available():
            raise InputError("device", self.device, "no CUDA device is visible: use cpu")


def fit(
    data: Sequence[Transitions], anchor: Anchor, discount: float, **options: object
) -> list[Estimate]:
    """Fit every data set by itself.

    Args:
        data: replications.
        anchor: action and reward.
        discount: beta.
        options: the fields of Options.
    """
    check_options(Options, options)
    chosen = Options(**options)  # type: ignore[arg-type]  # the fields check themselves
    return [fit_rows(part, anchor, discount, chosen.device) for part in data]


def fit_rows(data: Transitions, anchor: Anchor, discount: float, device: str = "cpu") -> Estimate:
    """Fit one data set."""
    began = time.process_time()
    scaling = Inputs.of(data.states, device)
    actions = torch.tensor(data.actions, device=device)
    size = data.number_of_actions
    choice = select(scaling, choice_outcome(actions, size, anchor.action), of_choice=True)
    of_zeta, tried = choice.inputs, set[tuple[int, ...]]()
    rows = Rows.of(data, of_zeta, anchor, discount, device)
    terms = [(), *((i,) for i in range(len(of_zeta)))]
    form = make_features(of_zeta, scaling, terms)
    value = Risk(rows, form, make_zeta(rows, scaling, of_zeta)).start().v
    while len(tried) < ROUNDS:
        outcome = next_value_outcome(value[rows.next_place] * rows.going, actions, size)
        transition = select(scaling, outcome, of_choice=False)
        of_zeta = tuple(sorted(transition.inputs))
        if of_zeta in tried:
            break
        tried.add(of_zeta)
        used = sorted({*choice.inputs, *of_zeta})
        rows = Rows.of(data, used, anchor, discount, device)
        minimum = fit_form(rows, scaling, used, of_zeta)
        value = minimum.v
    minimum = bend(minimum, scaling)
    return estimate(minimum, anchor, time.process_time() - began, choice, of_zeta)


def estimate(
    fit: Minimum, anchor: Anchor, seconds: float, choice: Selection, of_zeta: tuple[int, ...]
) -> Estimate:
    """The fit as an Estimate."""
    risk, rows, point = fit.risk, fit.risk.rows, fit.point
    theta = np.zeros((len(rows.actions), risk.reward.size))
    theta[rows.others] = point.theta.reshape(-1, risk.reward.size).cpu().numpy()
    reward = RowFunction(risk.reward, theta, anchor)
    q = replace(
        reward, zeta=risk.zeta, coefficients=point.zeta.cpu().numpy(), discount=rows.discount
    )
    total = float(rows.visits.sum())
    converged = fit.decrement <= DECREMENT and point.exact
    slope = point.gradient + fit.penalty * point.theta
    inputs = risk.reward.inputs
    kept = sorted({inputs[i] for term in risk.reward.terms for i in term})
    diagnostics = Diagnostics(
        converged=converged,
        iterations=fit.steps,
        gradient_norm=float(slope.abs().max()) / total,
        nll=point.nll / total,
        bellman_error=0.0,
        cpu_seconds=seconds,
        status="ok" if converged else "not_converged",
        extra={
            "inner_iterations": 0,
            "reward_inputs": tuple(kept),
            "zeta_inputs": of_zeta,
            "p_values": choice.p_values,
            "terms": risk.reward.terms,
            "penalty": float(fit.penalty.max()),
        },
    )
    return Estimate("gladius sparse", q, reward, rows.states.shape[1], diagnostics)
