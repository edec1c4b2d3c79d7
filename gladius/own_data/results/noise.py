"""How far the noise of P-hat moves theta-hat: the steps and the bias of maximum likelihood.

Along P-hat + t e, with an error e, theta-hat moves by t theta_1 + t^2 theta_2. With g the gradient
of the likelihood and H its Hessian, theta_1 = -H^-1 g_1 is linear in e, so that its mean is zero,
and theta_2 = -H^-1 g_2, where g_2 is the second-order term of g at theta-hat + t theta_1. As
theta_2 is a square in e, its mean is a sum over one direction e for each observed move. The terms
of V and of dV = dV / dtheta along a direction solve systems in I - beta P_pi, all by the same
factors:

    V_1 = W sum_a pi q_1,      q_1 = r_1 + beta (P V_1 + e V),      W = (I - beta P_pi)^-1,
    dV_1 = W sum_a [ beta pi e dV + pi (q_1 - V_1) dQ ],

and the second-order terms of V and dV, which g_2 holds in sums only, are not solved for.

Several moves share a direction, with random signs. The bias is the trace of a matrix Q over moves,
and signs add Q(m, m') of pairs in one direction with either sign. With D directions the variance is
2 / D sum_{m != m'} Q(m, m')^2 if directions are drawn at random, so that the standard deviation is
at most sqrt(2 / D) of the bias where Q is definite, and less by the root of the number of moves
that matter. What the directions add, b_d, are independent, so that

    D / (D - 1) sum_d (b_d - b-bar)^2

has at least that variance as its mean: the b_d differ by more than signs. So it is an estimate that
errs on the large side, by which directions are added until it is small.

Source: Rilstone, Srivastava and Ullah (1996), Journal of Econometrics 75, 369-395, for the bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp, softmax

from gladius.baselines.ccp import RenewalBasis, renewal_value
from gladius.model.mdp import action_values, soft_bellman
from gladius.model.parametric import FormBasis, Model
from gladius.model.resolvent import Resolvent
from gladius.own_data.results.factors import Cells
from gladius.own_data.results.weights import SampledForm
from gladius.panel.moves import Table, ahead, arrivals, departures, entries, replaced, tabulated
from gladius.panel.record import Integers, grid_positions
from gladius.solvers.choice_logit import without_rounding
from gladius.solvers.newton import newton_step
from gladius.validate import Array

LARGEST_TABLE = 50_000_000  # entries of the moves that are drawn together: 400 MB
# of errors, for the bias: first so many, then several times as many until the signs' error is small
DIRECTIONS, TIMES = 4, 4
PRECISION = 0.1  # of the bias by signs, in standard errors of theta-hat, or relative


@dataclass(frozen=True)
class Noise:
    """Errors of P-hat by directions, the sum of whose squares is the covariance of frequencies.

    That of a row (s, a) with n observations is (diag(p) - p p') / n, of independent rows. A move
    (s, a, s') adds to its direction the column sqrt(p / n) (1 at s', less p in the whole row).

    Attributes:
        cells: (M,) moves.
        scale: (M,) sqrt(p / n), where there are more moves than directions with random signs.
        direction: (M,) which direction each move is in. One direction's moves are far apart, so
            that what they do together is little.
        number: of the directions.
    """

    cells: Cells
    scale: Array
    direction: Integers
    number: int

    @classmethod
    def of(cls, cells: Cells, rows: Cells, directions: int) -> Noise:
        """That of the rows in `cells`; `rows` are the same without weights.

        With as many directions as moves each has its own, and no sign matters.
        """
        at = cells.action, cells.state
        return cls._by(cells, cells.number / cells.total[at], rows.total[at], directions)

    @classmethod
    def borrowed(cls, cells: Cells, transition: Table) -> Noise:
        """That of one observation in each row of P-hat that `cells` have none of."""
        a, s = np.nonzero(cells.total == 0)
        rows = transition[a, s]
        (row, after), chance = entries(rows)
        ends = np.maximum(1 - departures(rows), 0.0)  # of a path, where V is 0
        row, chance = np.append(row, np.arange(len(a))), np.append(chance, ends)
        after = np.append(after, np.full(len(a), rows.shape[1]))
        own = Cells(a[row], s[row], after, chance, cells.shape)
        return cls._by(own, chance, np.ones(len(row)), len(row))

    @classmethod
    def _by(cls, cells: Cells, chance: Array, times: Array, directions: int) -> Noise:
        moves, number = len(chance), min(len(chance), directions)
        direction = np.empty(moves, dtype=np.int64)
        order = np.lexsort((cells.after, cells.action, cells.state))
        direction[order] = np.arange(moves) % max(number, 1)
        sign = np.random.default_rng(0).choice([-1.0, 1.0], moves)
        return cls(cells, sign * np.sqrt(chance / times), direction, number)

    def each(self, x: Array, mean: Array) -> Array:
        """(M, m) what each move adds to the errors of P-hat x.

        Args:
            x: (D, S, m) by direction, or (1, S, m).
            mean: (D, A, S, m) P-hat x.
        """
        cells, of = self.cells, self.direction if len(x) > 1 else 0
        value = np.append(x, np.zeros_like(x[:, :1]), axis=1)[of, cells.after]
        return np.asarray(self.scale[:, None] * (value - mean[of, cells.action, cells.state]))

    def along(self, x: Array, mean: Array) -> Array:
        """(D, S, A, m) errors of P-hat x in each direction."""
        actions, states = self.cells.shape
        shape = self.number, states, actions
        at = np.ravel_multi_index((self.direction, self.cells.state, self.cells.action), shape)
        sums = [np.bincount(at, one, int(np.prod(shape))) for one in self.each(x, mean).T]
        return np.stack(sums, axis=-1).reshape(*shape, -1).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Near:
    """Maximum likelihood at transition probabilities near P-hat, by what holds at P-hat.

    The factors of one system, I - beta P-hat_pi, serve all P. With finite dependence V is that of
    the renewal action, whose derivative in theta is given, and no system is solved.

    Attributes:
        visits: (S, A) choices as the criterion counts them.
        theta: (k,) theta-hat.
        v, dv: (S,) V and (S, k) dV / dtheta.
        u, du: (S,) and (S, k) what a change of V adds to the likelihood, and to its gradient.
        policy, slope: (S, A) pi and (S, A, k) dQ / dtheta.
        inverse: (k, k) of minus the Hessian.
        resolvent: of the system.
    """

    model: Model
    visits: Array
    theta: Array
    v: Array
    dv: Array
    u: Array
    du: Array
    policy: Array
    slope: Array
    inverse: Array
    resolvent: Resolvent | None

    @classmethod
    def of(cls, basis: FormBasis, theta: Array, q: Array, resolvent: Resolvent) -> Near:
        """At (k,) theta-hat, whose (S, A) Q-hat, with its resolvent, begins the solution."""
        model, weights = basis.model, basis.weights
        visits = model.visits[0] if weights is None else weights.visits
        transition, beta = model.transition[0], model.discount
        reward = model.offset + model.design @ theta
        n = visits.sum(axis=1)
        if isinstance(basis, RenewalBasis):
            level, dv = renewal_value(model, basis.policy, basis.action)
            v, u = level + dv @ theta, -n
            policy = softmax(action_values(reward, transition, beta, v), axis=1)
        else:
            solved = soft_bellman(reward, transition, beta, logsumexp(q, axis=1))
            v, policy = solved.v, solved.policy
            if solved.iterations:
                resolvent = Resolvent.of(policy, transition, beta)
            dv = resolvent.solve(np.einsum("sa,sak->sk", policy, model.design))
            expected = beta * arrivals(transition, visits[..., None])
            u = resolvent.solve_transposed(expected - n[:, None])[:, 0]
        slope = model.design + beta * np.moveaxis(transition @ dv, 0, 1)
        _, hessian = _derivatives(visits, policy[None], slope[None], u[None])
        hessian = without_rounding(-hessian, n[None], slope[None])
        inverse = newton_step(-np.eye(len(theta)), np.tile(hessian, (len(theta), 1, 1)))[0]
        at = model, visits, theta, v, dv, u, np.zeros_like(dv), policy, slope, inverse
        if isinstance(basis, RenewalBasis):
            return cls(*at, None)
        near = cls(*at, resolvent)
        return replace(near, du=resolvent.solve_transposed(beta * arrivals(transition, near.pull)))

    @property
    def centred(self) -> Array:
        """(S, A, k) dQ less its mean over the choices."""
        return np.asarray(self.slope - np.einsum("sa,sak->sk", self.policy, self.slope)[:, None])

    @property
    def pull(self) -> Array:
        """(S, A, k) what a change of Q adds to the gradient, at the state itself."""
        return (self.policy * self.u[:, None])[..., None] * self.centred

    @property
    def gain(self) -> tuple[Array, Array]:
        """(S, A) and (S, A, k) what errors of P dV and of P V add to the gradient."""
        beta = self.model.discount
        of_v = self.pull + self.policy[..., None] * self.du[:, None]
        return beta * (self.visits + self.policy * self.u[:, None]), beta * of_v

    def spread(self, noise: Noise) -> Array:
        """(k,) standard deviation of theta-hat by noise of P-hat, to first order."""
        x = np.append(self.dv, self.v[:, None], axis=1)
        error_flow = noise.each(x[None], (self.model.transition[0] @ x)[None])
        at = noise.cells.state, noise.cells.action
        of_dv, of_v = (one[at] for one in self.gain)
        first = (of_dv[:, None] * error_flow[:, :-1] + of_v * error_flow[:, -1:]) @ self.inverse
        return np.asarray(np.sqrt(np.sum(first**2, axis=0)))

    def shift(self, cells: Cells, rows: Cells, errors: Array) -> Array:
        """(k,) mean of theta-hat - theta by noise of P-hat, in standard errors, (k,), of theta-hat.

        The standard deviation by signs, which is estimated above, is PRECISION or that share of it,
        or less, but where more directions would not fit into memory.
        """
        number, most = DIRECTIONS, LARGEST_TABLE // self.slope.size
        while True:
            found = self.bias(Noise.of(cells, rows, number)) / errors
            total = found.sum(axis=0)
            if number >= min(len(cells.number), most):
                return np.asarray(total)
            spread = np.sqrt(number) * found.std(axis=0, ddof=1)
            if np.all(spread <= PRECISION * np.maximum(1.0, np.abs(total))):
                return np.asarray(total)
            number *= TIMES

    def bias(self, noise: Noise) -> Array:
        """(D, k) what each direction adds to the mean of theta-hat - theta, to second order."""
        own, beta = self.model.transition[0], self.model.discount
        x = np.append(self.dv, self.v[:, None], axis=1)[None]
        error = noise.along(x, ahead(own, x))
        of_dv, of_v = self.gain
        first = np.einsum("sa,dsak->dk", of_dv, error[..., :-1])
        first = (first + np.einsum("sak,dsa->dk", of_v, error[..., -1])) @ self.inverse
        flow = np.einsum("sak,dk->dsa", self.model.design, first) + beta * error[..., -1]
        if self.resolvent is None:
            v, dv = (first @ self.dv.T)[..., None], np.zeros_like(error[:, :, 0, :-1])
        else:
            v = self._solve(np.einsum("sa,dsa->ds", self.policy, flow)[..., None])
        expected = ahead(own, v)
        q = flow + beta * np.swapaxes(expected[..., 0], 1, 2)
        change = q - np.einsum("sa,dsa->ds", self.policy, q)[..., None]
        if self.resolvent is not None:
            error_flow = beta * error[..., :-1] + change[..., None] * self.slope
            dv = self._solve(np.einsum("sa,dsak->dsk", self.policy, error_flow))
        ahead_dv = ahead(own, dv)
        dq = beta * (np.swapaxes(ahead_dv, 1, 2) + error[..., :-1])
        error = noise.along(np.append(dv, v, axis=2), np.append(ahead_dv, expected, axis=3))
        second = np.einsum("sa,dsak->dk", of_dv, error[..., :-1])
        second += np.einsum("sak,dsa->dk", of_v, error[..., -1] + change**2 / (2 * beta))
        second += np.einsum("dsa,dsak->dk", self.u[:, None] * self.policy * change, dq)
        return np.asarray(second @ self.inverse)

    def _solve(self, right: Array, *, transposed: bool = False) -> Array:
        """(n, S, m) solutions of the system at P-hat, or of its transpose."""
        assert self.resolvent is not None
        flat = np.moveaxis(right, 0, 1).reshape(len(self.v), -1)
        solve = self.resolvent.solve_transposed if transposed else self.resolvent.solve
        return np.moveaxis(solve(flat).reshape(len(self.v), *right[:, 0].shape), 1, 0)

    def step(self, transition: Table) -> Array:
        """(n, k) a step of maximum likelihood from theta-hat at each of (n, A, S, S) P.

        Two corrections by the factors leave an error of third order in P - P-hat in V and dV.
        """
        model, number = self.model, len(transition)
        reward, beta = model.offset + model.design @ self.theta, model.discount
        v, dv, u = (np.tile(x, (number, *[1] * x.ndim)) for x in (self.v, self.dv, self.u))
        for _ in range(2):
            q = action_values(np.tile(reward, (number, 1, 1)), transition, beta, v)
            v = v + self._solve((logsumexp(q, axis=2) - v)[..., None])[..., 0]
        policy = softmax(
            action_values(np.tile(reward, (number, 1, 1)), transition, beta, v), axis=2
        )
        for share in (1, 1, 0):
            slope = model.design + beta * np.moveaxis(ahead(transition, dv), 1, 2)
            dv = dv + share * self._solve(np.einsum("nsa,nsak->nsk", policy, slope) - dv)
        weight = self.visits + policy * u[..., None]
        excess = (
            beta * arrivals(transition, weight[..., None])[..., 0] - self.visits.sum(axis=1) - u
        )
        u = u + self._solve(excess[..., None], transposed=True)[..., 0]
        gradient, hessian = _derivatives(self.visits, policy, slope, u)
        hessian = without_rounding(-hessian, np.tile(self.visits.sum(axis=1), (number, 1)), slope)
        return newton_step(-gradient, hessian)[0]


def _derivatives(visits: Array, policy: Array, slope: Array, u: Array) -> tuple[Array, Array]:
    """Gradient (n, k) and Hessian (n, k, k) of the likelihood, as in `nfxp.derivatives`."""
    centred = slope - np.einsum("nsa,nsak->nsk", policy, slope)[:, :, None]
    gradient = np.einsum("sa,nsak->nk", visits, centred)
    covariance = np.einsum("nsak,nsal->nskl", policy[..., None] * centred, centred)
    return gradient, np.einsum("ns,nskl->nkl", u, covariance)


def row_cells(basis: SampledForm) -> Cells:
    """The observed transitions without their weights, on the grid of the model."""
    model = basis.model
    position = model.position[grid_positions(model.counts.states, basis.rows.states)]
    return Cells.of(basis.rows, position, len(model.states))


def drawn(basis: FormBasis, draws: int, rng: np.random.Generator) -> Iterator[Table]:
    """Blocks of (n, A, S, S) P with the noise of frequencies once more.

    Each draw counts as many transitions of every (s, a) anew, by P-hat.
    """
    model = basis.model
    cells = Cells.of(model.counts, model.position, len(model.states))
    own, total, shape = model.transition[0], cells.total, cells.shape
    times = row_cells(basis).total if isinstance(basis, SampledForm) else total
    is_drawn, size = times[cells.action, cells.state] > 0, int(np.prod(shape))
    others = np.nonzero(times == 0)
    block = max(1, LARGEST_TABLE // max(len(is_drawn), 1))
    chance = np.maximum(cells.number / total[cells.action, cells.state], 0.0)
    for start in range(0, draws, block):
        number = min(block, draws - start)
        counted = _counted(cells, chance, times, number, rng) / times[cells.action, cells.state]
        moves = is_drawn & (cells.after < shape[1])
        row = np.arange(number)[:, None] * size + cells.row[moves]
        column = np.tile(cells.after[moves], number)
        table = tabulated(
            row.ravel(), column, counted[:, moves].ravel(), (number, *shape, shape[1])
        )
        yield replaced(table, (slice(None), *others), own[others])


def _counted(
    cells: Cells, chance: Array, times: Array, number: int, rng: np.random.Generator
) -> Array:
    """(number, M) draws of as many transitions of each pair as `times` (A, S) says."""
    row, found = cells.row, np.zeros((number, len(cells.row)))
    first = np.flatnonzero(np.append(True, np.diff(row) > 0)) if len(row) else row
    length = np.diff(np.append(first, len(row)))
    most = max(1, LARGEST_TABLE // (number * (int(length.max(initial=0)) + 1)))
    for start in range(0, len(first), most):
        begin, size = first[start : start + most], length[start : start + most]
        width = int(size.max()) + 1
        at = np.arange(width - 1)
        is_cell = at < size[:, None]
        cell = np.where(is_cell, begin[:, None] + at, 0)
        shares = np.append(np.where(is_cell, chance[cell], 0.0), np.zeros((len(begin), 1)), axis=1)
        n = times.ravel()[row[begin]].astype(int)
        numbers = rng.multinomial(n, shares, size=(number, len(begin)))
        found[:, cell[is_cell]] = numbers[..., :-1][:, is_cell]
    return found
