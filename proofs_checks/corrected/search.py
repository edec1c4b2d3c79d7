"""The least PL ratio of the profile below a level, searched for in the coordinates (h, e)."""

from collections.abc import Mapping
from itertools import product

import numpy as np
from scipy.linalg import helmert, sqrtm
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax

from proofs_checks.oracle import Array, separated
from proofs_checks.oracle.risk import Sample

SHARES = (0.01, 0.1, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)  # of the level, spent on a state's choices
STARTS = 4  # states, of those that do best alone
Shares = Mapping[tuple[int, int], float]  # (state of the NLL, action that it turns away from)


def _rest(a: Array, c: Array, held: float, room: float) -> Array:
    """u of the least |a + c u|^2 / (held + |u|^2) with |u|^2 <= room.

    An eigenvalue problem in (s, u), s = 1, or, where that u is too long, least squares on a sphere.
    """
    vector = np.linalg.svd(np.column_stack([a / np.sqrt(held), c]), full_matrices=False)[2][-1]
    u = vector[1:] * (np.sqrt(held) / vector[0]) if vector[0] else np.full(c.shape[1], np.inf)
    if u @ u <= room:
        return np.asarray(u)
    basis, singular, right = np.linalg.svd(c, full_matrices=False)
    pull = singular * (basis.T @ a)

    def beyond(shift: float) -> float:
        return float(np.sum((pull / (singular**2 + shift)) ** 2) - room)

    low, high = -(singular[-1] ** 2) * (1 - 1e-9), singular[0] ** 2
    while room > 0 and beyond(high) > 0:
        high *= 10
    if room > 0 and beyond(low) > 0:
        return np.asarray(-right.T @ (pull / (singular**2 + float(brentq(beyond, low, high)))))
    return np.zeros(c.shape[1])


class _Search:
    """One data set, level and metric."""

    def __init__(self, sample: Sample, level: float, visits: bool) -> None:
        self.sample, self.level, self.visits = sample, level, visits
        self.metric = np.ones(1)
        if visits:
            self.metric = np.sqrt(np.repeat(separated.state_weight(sample), sample.visits.shape[1]))
        self.root = np.real(sqrtm(separated.curvatures(sample)))  # of the Hessian in (h, e)
        self.middle: Array = np.zeros(sample.visits.shape)
        self.middle[sample.nll_states] = np.log(sample.choices)

    def table(self, shares: Shares, every: bool) -> Array:
        """q (X, A) with these shares of the level spent on choices, and the rest the best.

        The rest: the residuals, and with `every` the other states' logits, as if KL were quadratic.
        """
        sample, log_p = self.sample, self.middle.copy()
        for (k, action), share in shares.items():
            far = separated.farthest(sample.choices[k], share * self.level / sample.nll_weight[k])
            log_p[sample.nll_states[k]] = far[action]
        residual = np.zeros(len(sample.be_states))
        q = separated.table(sample, log_p, residual)
        held, width = separated.gap(sample, q), log_p.shape[1] - 1
        rows = separated.jacobian(sample, q) / self.metric
        free = np.repeat(every, len(sample.nll_states))
        free[[k for k, _ in shares]] = False
        chosen = np.append(np.repeat(free, width), np.ones(len(residual), dtype=bool))
        c = (2**0.5 * self.root[chosen] @ rows).T
        a = separated.slope(sample, q) @ rows
        u = np.zeros(len(chosen))
        u[chosen] = _rest(a, c, held, max(self.level - held, 0.0))
        step = np.linalg.solve(self.root, 2**0.5 * u)
        logits = step[: -len(residual)].reshape(-1, width) @ helmert(width + 1)
        log_p[sample.nll_states] += logits
        log_p = log_softmax(log_p, axis=1)
        return separated.table(sample, log_p, step[-len(residual) :])

    def ratio(self, q: Array) -> float:
        """Infinite at the minimiser and above the level."""
        inside = 0 < separated.gap(self.sample, q) <= self.level * (1 + 1e-9)
        return separated.ratio(self.sample, q, self.visits) if inside else np.inf

    def flattest(self) -> Array:
        """A small step along the least curvature at the minimiser."""
        q = separated.table(self.sample, self.middle, np.zeros(len(self.sample.be_states)))
        rows = self.root @ separated.jacobian(self.sample, q) / self.metric
        least = np.linalg.solve(self.root, np.linalg.eigh(rows @ rows.T)[1][:, 0])
        step = np.linalg.pinv(separated.jacobian(self.sample, q)) @ least
        return np.asarray(q + 1e-3 * self.level**0.5 * step.reshape(q.shape))


def least_ratio(sample: Sample, level: float, visits: bool = False) -> tuple[float, Array]:
    """The least ratio found where 0 < g - g* <= level, and the table q (X, A) with it.

    One state's choices are moved away from one action, with the best residuals, or the best
    residuals and other choices; then, from the best of these states, one that the anchor leads to
    as well; the shares of the best are refined. Or all are moved a little, along the least
    curvature.
    """
    search, actions = _Search(sample, level, visits), range(sample.visits.shape[1])

    def ratio(start: tuple[Shares, bool]) -> float:
        return search.ratio(search.table(*start))

    states = range(len(sample.nll_states))
    ways = tuple(product(SHARES, actions, (False, True)))
    alone = [min((({(k, a): share}, every) for share, a, every in ways), key=ratio) for k in states]
    ahead = np.flatnonzero(sample.transition[:, sample.nll_states].sum(axis=0)).tolist()
    tried = sorted(alone, key=ratio)[:STARTS]
    tried += [
        ({ray: share * (1 - fraction), (k, a): share * fraction}, every)
        for start, every in tried
        for ray, share in start.items()
        for k, a in product(set(ahead) - {ray[0]}, actions)
        for fraction in SHARES[:-1]
    ]
    best, every = min(tried, key=ratio)

    def refined(x: Array) -> dict[tuple[int, int], float]:
        return dict(zip(best, np.abs(x) / max(1.0, np.abs(x).sum()), strict=True))

    def objective(x: Array) -> float:
        return float(np.log(min(ratio((refined(x), every)), 1e300)))

    start = np.array(list(best.values()))
    end = minimize(objective, start, method="Nelder-Mead", options={"maxiter": 80}).x
    tables = (search.table(best, every), search.table(refined(end), every), search.flattest())
    q = min(tables, key=search.ratio)
    return search.ratio(q), q
