"""The soft Bellman operator, and policies' values and visits as sums over periods.

Nothing here solves the equation by Newton's method, as the library does. Arrays: reward (S, A),
transition (A, S, S), policies and Q (S, A), V (S,).
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax, xlogy

from proofs_checks.oracle import Array
from proofs_checks.oracle.gumbel import largest


def backup(q: Array, reward: Array, transition: Array, discount: float) -> Array:
    """TQ(s, a) = r(s, a) + beta sum_s' P_a(s, s') log sum_b exp Q(s', b)."""
    return np.asarray(reward + discount * (transition @ np.logaddexp.reduce(q, axis=1)).T)


def discounted_sum(flow: Array, gain: Array, discount: float) -> Array:
    """(S,) sum_h beta^h flow^h gain: the number of terms is doubled until beta^n is below 1e-20."""
    total, step = gain, discount * flow
    weight = discount
    while weight > 1e-20:
        total, step, weight = total + step @ total, step @ step, weight**2
    return total


def visits(policy: Array, transition: Array, discount: float, initial: Array) -> Array:
    """(S,) (1 - beta) sum_h beta^h Pr(s_h = s) under the policy, summed period by period."""
    flow = np.einsum("ia,aij->ij", policy, transition)
    return (1 - discount) * discounted_sum(flow.T, initial, discount)


def log_likeliest(log_policy: Array, transition: Array, discount: float, initial: Array) -> Array:
    """(S,) log of (1 - beta) beta^h Pr(path), the largest over paths of h moves into the state.

    One path is part of what `visits` sums: a floor under it. -inf where no path leads.
    """
    with np.errstate(divide="ignore"):
        best, moves = np.log(initial), np.log(transition)
    step = np.max(log_policy.T[:, :, None] + moves, axis=0) + np.log(discount)
    for _ in range(len(initial) - 1):  # the likeliest path visits no state twice
        best = np.maximum(best, np.max(best[:, None] + step, axis=0))
    return np.asarray(best + np.log1p(-discount))


def policy_value(
    policy: Array, reward: Array, transition: Array, discount: float, entropy: float = 1.0
) -> Array:
    """(S,) V^pi(s) = E_pi[sum_h beta^h (r + entropy H(pi(.|s_h))) | s_0 = s]."""
    gain = np.sum(policy * reward - entropy * xlogy(policy, policy), axis=1)
    return discounted_sum(np.einsum("ia,aij->ij", policy, transition), gain, discount)


def shortfall(policy: Array, log_best: Array, transition: Array, discount: float) -> Array:
    """(S,) sum_h beta^h E_pi[KL(pi(.|s_h) || best(.|s_h))]: what pi loses against the best."""
    gain = np.sum(xlogy(policy, policy) - policy * log_best, axis=1)
    return discounted_sum(np.einsum("ia,aij->ij", policy, transition), gain, discount)


def best_blind(reward: Array, transition: Array, discount: float) -> Array:
    """(S,) largest E_pi[sum_h beta^h r] over policies, by trying all pure ones."""
    states, actions = reward.shape
    every = product(range(actions), repeat=states)
    pure = (np.eye(actions)[list(choice)] for choice in every)
    values = [policy_value(p, reward, transition, discount, entropy=0.0) for p in pure]
    return np.asarray(np.max(values, axis=0))


def with_noise(
    index: Array, reward: Array, transition: Array, discount: float, location: float
) -> tuple[Array, Array]:
    """Choosing the largest index(s, a) + eps_a, eps_a ~ Gumbel(location, 1), by quadrature.

    Returns:
        (S,) E[sum_h beta^h (r + eps_a_h)] and (S, A) log choice probabilities.
    """
    log_p, noise = np.empty_like(index), np.empty_like(index)
    for s, row in enumerate(index):
        log_p[s], mean = largest(row + location)
        noise[s] = mean - row  # E[eps_a | a chosen]
    p = np.exp(log_p)
    flow = np.einsum("ia,aij->ij", p, transition)
    return discounted_sum(flow, np.sum(p * (reward + noise), axis=1), discount), log_p


def expected_largest(index: Array, location: float) -> Array:
    """(S,) E max_a {index(s, a) + eps_a}, eps_a ~ Gumbel(location, 1), by quadrature."""
    pairs = (largest(row + location) for row in index)
    return np.array([np.exp(log_p) @ mean for log_p, mean in pairs])


def reachable(initial: Array, transition: Array, periods: int | None = None) -> NDArray[np.bool_]:
    """(S,) states with Pr(s_h = s) > 0 for some h <= periods, every action having mass."""
    reached: NDArray[np.bool_] = initial > 0
    step = np.any(transition > 0, axis=0)
    for _ in range(len(initial) if periods is None else periods):
        reached = reached | np.any(step[reached], axis=0)
    return reached


def offline(
    start: Array,
    rows: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Array],
    relabelled: Array,
    discount: float,
    conservatism: float = 0.0,
    sweeps: int = 400,
) -> Array:
    """(S, A) entropy-regularised Q-learning from logged rows, with or without CQL's penalty.

    Minimises, state by state over the data, conservatism (log sum exp Q - E_data Q) + half the
    squared error to the target r + beta V(s'), the target held fixed (Kumar et al. 2020, CQL(H)):
    Q = target - conservatism (pi_Q / pi_data - 1). Pairs without a row keep their start.

    `rows` are s, a, s' and the share of the row in the data, `relabelled` their rewards,
    `conservatism` CQL's alpha and `sweeps` the passes over the data.
    """
    s, a, after, weight = rows
    pair = s * start.shape[1] + a
    size = np.bincount(pair, weight, minlength=start.size).reshape(start.shape)
    seen = size > 0
    behaviour = size[seen] / np.broadcast_to(size.sum(axis=1)[:, None], size.shape)[seen]
    stride = 1 / (1 + conservatism / behaviour.min())  # keeps the penalty's pull stable
    q = start.copy()
    for _ in range(sweeps):
        backed = weight * (relabelled + discount * np.logaddexp.reduce(q, axis=1)[after])
        target = np.bincount(pair, backed, minlength=q.size).reshape(q.shape)[seen] / size[seen]
        pull = conservatism * (softmax(q, axis=1)[seen] / behaviour - 1)
        q[seen] += stride * (target - pull - q[seen])
    return q
