"""The risk in coordinates that separate it, and the constants that follow (corrected/corrected.md).

With l = log p_Q and the residual e = r + beta P V_Q - Q at the anchor pairs, the profile is

    g-hat_N = entropy + sum_x w_x KL(pi-hat_x || p_x) + sum_j b_j e_j^2,

w_x = n(x) / N and b_j = n(j, a_j) / N: no term has both, and V solves V = r + beta P V - l_a - e.
Gradients in outputs are G' y with y the gradient in (h, e), h the logits of a state in an
orthonormal basis of the vectors that sum to zero, G = d(h, e) / dq. PL constants are Euclidean in
the outputs, or in the metric of visits, sum_x w_x |dq(x, .)|^2. Shares no code with the library.
"""

import heapq
from functools import cache
from itertools import product

import numpy as np
from scipy.linalg import block_diag, helmert
from scipy.optimize import brentq
from scipy.special import lambertw, log_softmax, softmax

from proofs_checks.oracle import Array
from proofs_checks.oracle.polyak import share, solution
from proofs_checks.oracle.risk import Sample


def anchor_weight(sample: Sample) -> Array:
    """b (B,): m_j / N."""
    return np.asarray(share(sample) * sample.be_weight)


def state_weight(sample: Sample) -> Array:
    """w (X,): n(x) / N."""
    return np.asarray(sample.visits.sum(axis=1) / sample.size)


def table(sample: Sample, log_p: Array, residual: Array, rest: Array | float = 0.0) -> Array:
    """q (X, A) from l (X, A) and e (B,); states without an anchor row have V = `rest`."""
    rows = sample.be_states
    system, right = np.eye(len(log_p)), np.zeros(len(log_p)) + rest
    system[rows] -= sample.discount * sample.transition
    right[rows] = sample.reward[rows] - log_p[rows, sample.anchor[rows]] - residual
    return np.asarray(log_p + np.linalg.solve(system, right)[:, None])


def divergence(pi: Array, log_p: Array) -> Array:
    """(...) KL(pi || p) = sum pi (exp(d) - 1 - d), d = log p - log pi: no large terms cancel."""
    with np.errstate(divide="ignore", invalid="ignore"):
        d = log_p - np.log(pi)
        terms = np.where(pi > 0, pi * (np.expm1(d) - d), np.exp(log_p))
    return np.asarray(terms.sum(axis=-1))


def gap(sample: Sample, q: Array) -> float:
    """g-hat_N above its infimum over all tables."""
    off = divergence(sample.choices, log_softmax(q[sample.nll_states], axis=1))
    return float(sample.nll_weight @ off + anchor_weight(sample) @ sample.residual(q) ** 2)


def slope(sample: Sample, q: Array) -> Array:
    """y (K (A - 1) + B,): gradient of the profile in (h, e)."""
    basis = helmert(q.shape[1])
    apart = softmax(q[sample.nll_states], axis=1) - sample.choices
    of_choices = sample.nll_weight[:, None] * (apart @ basis.T)
    return np.concatenate([of_choices.ravel(), 2 * anchor_weight(sample) * sample.residual(q)])


def jacobian(sample: Sample, q: Array) -> Array:
    """G (K (A - 1) + B, X A)."""
    choices = np.kron(np.eye(len(q))[sample.nll_states], helmert(q.shape[1]))
    return np.vstack([choices, sample.residual_jacobian(q)])


def curvatures(sample: Sample) -> Array:
    """Hessian of g-hat_N in (h, e) at its minimiser, square."""
    weighted = zip(sample.nll_weight, sample.choices, strict=True)
    of_choices = (weight * _spread(pi) for weight, pi in weighted)
    return np.asarray(block_diag(*of_choices, np.diag(2 * anchor_weight(sample))))


def hessian(sample: Sample) -> Array:
    """(X A, X A) of g-hat_N at its minimiser, in outputs."""
    rows = jacobian(sample, solution(sample))
    return np.asarray(rows.T @ curvatures(sample) @ rows)


def profiled(full: Array, way: Array) -> Array:
    """A Hessian less its part along a direction, along which the minimum is then taken."""
    shift = full @ way
    return np.asarray(full - np.outer(shift, shift) / (way @ shift))


def _spread(pi: Array) -> Array:
    """(A - 1, A - 1) variance of pi in the basis of h."""
    basis = helmert(len(pi))
    return np.asarray(basis @ (np.diag(pi) - np.outer(pi, pi)) @ basis.T)


# --- how flat KL(pi-hat || p) gets below a level
def farthest(pi: Array, level: float) -> Array:
    """(A, A) log p, row a that of the least p(a) among p with KL(pi || p) <= level; pi positive.

    The other actions keep their proportions: KL is then that of the two events {a} and not {a},
    and never less.
    """

    def row(a: int) -> Array:
        logs = np.log1p(-pi[a]), np.log(pi[a])

        def above(t: float) -> float:
            return float(np.logaddexp(logs[0], logs[1] + t) - pi[a] * t - level)

        far = (logs[0] - level) / pi[a] - 1
        t = float(brentq(above, far, 0.0, xtol=1e-13 * min(1.0, -far)))
        return np.asarray(log_softmax(np.log(pi) + t * np.eye(len(pi))[a]))

    if len(pi) == 1:
        return np.zeros((1, 1))
    return np.array([row(a) for a in range(len(pi))])


def curvature(pi: Array) -> float:
    """lambda_0: least Var_pi(v) over |v| = 1 with sum 0; 2 pi (1 - pi) for two actions."""
    return float(np.linalg.eigvalsh(_spread(pi))[0]) if len(pi) > 1 else np.inf


def alpha_bound(pi: Array, level: float, half: float = 0.5) -> float:
    """Closed form at most alpha: lambda_0 (1 - exp(-T)) / (2 T), exp(-T) - 1 + T = 2 level /
    lambda_0.
    """
    if len(pi) == 1:
        return np.inf
    least = curvature(pi)
    d = 2 * level / least
    t = np.sqrt(2 * d) + d / 3  # of small d, where the branches of Lambert's W meet
    if d > 1e-8:
        t = float(np.real(1 + d + lambertw(-np.exp(-1 - d))))
    return float(half * least * (-np.expm1(-t) / t if t > 0 else 1.0))


def alpha(pi: Array, level: float) -> float:
    """Inf of |p - pi|^2 / (2 KL(pi || p)) over 0 < KL <= level; for over two actions, the closed
    form below it.

    With two actions the ratio falls along one way from pi and rises, then falls, along the other:
    the infimum is at an end, or lambda_0, at pi.
    """
    if len(pi) != 2 or level <= 0:
        return alpha_bound(pi, level) if len(pi) != 2 else curvature(pi)
    ends = pi - np.exp(np.diag(farthest(pi, level)))
    return float(min(curvature(pi), ends.min() ** 2 / level))


# --- the PL constant
CLOSE, SPLITS, ROUNDS = 2e-3, 60, 8  # of the branch and bound; of the multipliers


def pl_constant(sample: Sample, level: float, visits: bool = False) -> float:
    """c with (1/2)|gradient|^2 >= c (g - g*) at all tables with g - g* <= level.

    c = inf over the shares of the level that the states have, sup over mu >= 0, of (1 + share' mu)
    lambda_min(D^-1/2 G M^-1 G' D^-1/2), D = diag((1 + mu) / (w alpha), 1 / (2 b)) and M the metric.
    Zero where a seen state lacks an action. Outputs at states without rows are free, not given.

    By branch and bound, from below, and within CLOSE where SPLITS suffice: D and the choices that G
    depends on grow with a share, so that a box of shares is bounded by its two ends.
    """
    if np.any(sample.choices == 0):
        return 0.0
    shared, each = _Shared(sample, level, visits), np.eye(len(sample.nll_states))
    possible = max(shared.bound(share, share) for share in each)
    least, most = 0 * each[0], each.sum(axis=0)
    boxes = [(-shared.bound(least, most), 0, least, most)]  # a number of its own breaks ties
    for number in range(1, 2 * SPLITS, 2):
        bound, _, least, most = boxes[0]
        if -bound <= (1 + CLOSE) * possible:
            break
        middle = (least + most) / 2
        below = np.where(each, middle, most)
        split = int(np.argmin([shared.bound(least, high) for high in below]))
        above = np.where(each[split], middle, least)
        heapq.heappop(boxes)
        for new, (low, high) in enumerate(((least, below[split]), (above, most))):
            if low.sum() <= 1:
                high = np.minimum(high, 1 - low.sum() + low)
                heapq.heappush(boxes, (-shared.bound(low, high), number + new, low, high))
                possible = max(possible, shared.bound(low, low))
    return float(-1 / boxes[0][0])


class _Shared:
    """1 / c of the states' shares of a level.

    G has a right inverse that is affine in the choice probabilities where the anchor leads, so
    that its norm is largest at corners of a box around them.
    """

    def __init__(self, sample: Sample, level: float, visits: bool) -> None:
        (states, actions), basis = sample.visits.shape, helmert(sample.visits.shape[1])
        seen, rows = sample.nll_states, sample.be_states
        self.sample, self.levels = sample, level / sample.nll_weight
        self.of_residuals = 0.5 / anchor_weight(sample)
        self.ahead = np.flatnonzero(sample.transition[:, seen].sum(axis=0) > 0)
        self.metric = np.sqrt(np.repeat(state_weight(sample), actions)) if visits else np.ones(1)
        self.spread = np.kron(np.eye(states)[:, seen], basis.T)  # h -> q
        self.inner = np.linalg.pinv(sample.discount * sample.transition - np.eye(states)[rows])
        self.flat, self.hull = cache(self.flatness), cache(self.corners)  # shares recur
        self.inverses = cache(self.right_inverses)

    def bound(self, least: Array, most: Array) -> float:
        """The least of 1 / c over some mu, where every state has a share between these."""
        width, mu, smallest = self.sample.visits.shape[1] - 1, 0 * least, np.inf
        flat = np.array([self.flat(k, share) for k, share in enumerate(most.tolist())])
        inverses = self.inverses(tuple(most[self.ahead].tolist()))
        for _ in range(ROUNDS):
            of_choices = np.repeat((1 + mu) * flat, width)
            root = np.sqrt(np.concatenate([of_choices, self.of_residuals]))
            _, sizes, ways = np.linalg.svd(inverses * root, full_matrices=False)
            norms = sizes[:, 0] ** 2
            smallest = min(smallest, float(norms.max() / (1 + least @ mu)))
            squares = (ways[np.argmax(norms), 0, : len(of_choices)] ** 2).reshape(len(mu), width)
            # at the best mu a state's part of y' D y is what its share asks for
            asked = least * (1 + mu) / (1 + least @ mu)
            mu = np.maximum((1 + mu) * asked / np.maximum(squares.sum(axis=1), 1e-12), 1) - 1
            if not mu.any():
                break
        return float(smallest)

    def flatness(self, k: int, share: float) -> float:
        """1 / (w alpha) of a state of the NLL below its share of the level."""
        of_state = alpha(self.sample.choices[k], share * self.levels[k])
        return 1 / (float(self.sample.nll_weight[k]) * of_state)

    def corners(self, k: int, share: float) -> Array:
        """(A, A) whose hull holds a state's choice probabilities below its share of the level."""
        pi = self.sample.choices[k]
        least = np.exp(np.diag(farthest(pi, share * self.levels[k]))) if share else pi
        return np.asarray(least + (1 - least.sum()) * np.eye(len(pi)))

    def right_inverses(self, shares: tuple[float, ...]) -> Array:
        """(C, X A, K (A - 1) + B): those of G, in the metric, at the corners that the shares of the
        states where the anchor leads allow.
        """
        sample, (states, actions) = self.sample, self.sample.visits.shape
        rows = sample.be_states
        corners = list(product(*map(self.hull, self.ahead.tolist(), shares)))
        p = np.zeros((len(corners), states, actions))
        p[:, sample.nll_states[self.ahead]] = np.reshape(corners, (len(p), len(shares), actions))
        slope = sample.discount * sample.transition[:, :, None] * p[:, None]
        slope = slope.reshape(len(p), len(rows), -1)
        slope[:, np.arange(len(rows)), rows * actions + sample.anchor[rows]] -= 1.0
        of_level = np.broadcast_to(self.inner, (len(p), *self.inner.shape))
        shifts = np.concatenate([-self.inner @ slope @ self.spread, of_level], axis=2)
        inverses = np.repeat(shifts, actions, axis=1)  # (h, e) -> levels
        inverses[:, :, : self.spread.shape[1]] += self.spread
        return np.asarray(inverses * np.reshape(self.metric, (-1, 1)))


def ratio(sample: Sample, q: Array, visits: bool = False) -> float:
    """(1/2)|gradient|^2 / (g - g*) at q (X, A)."""
    gradient = jacobian(sample, q).T @ slope(sample, q)
    metric = np.repeat(state_weight(sample), q.shape[1]) if visits else 1.0
    return float(np.sum(gradient**2 / metric) / (2 * gap(sample, q)))
