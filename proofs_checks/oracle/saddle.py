"""The min-max objective f-hat_N in the outputs, its solution and its constants, from the paper.

Outputs are tables: q (X, A) and the auxiliary zeta (X,) at the anchor pairs. The objective divides
both terms by N, as f-hat_N does; `grouped.Sample` divides the Bellman term by N_BE.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax

from proofs_checks.oracle.grouped import Array, Sample


def share(sample: Sample) -> float:
    """N_BE / N, the weight of the Bellman term in g-hat_N beside that in R-hat_Q."""
    return sample.be_size / sample.size


def profile(sample: Sample, q: Array) -> float:
    """g-hat_N(q) = max over zeta of f-hat_N = L_NLL + (N_BE / N) L_BE."""
    return sample.nll(q) + share(sample) * sample.bellman(q)


def solution(sample: Sample) -> Array:
    """(X, A) outputs at which the NLL is least and the Bellman error zero at once.

    Every action must have been taken in every state. The logits are log pi-hat, and the levels V
    solve V = r + beta P-hat V - log pi-hat(a_s).
    """
    if np.any(sample.visits == 0):
        raise ValueError("an action never taken: the NLL has no minimiser")
    log_pi = np.log(sample.choices)
    rows = np.arange(len(sample.anchor))
    system = np.eye(len(rows)) - sample.discount * sample.law
    v = np.linalg.solve(system, sample.reward - log_pi[rows, sample.anchor])
    return np.asarray(v[:, None] + log_pi, dtype=np.float64)


def zeta_at(sample: Sample, q: Array) -> Array:
    """(X,) the maximiser: the mean of V(s') over a state's anchor rows; 0 without any."""
    zeta = np.zeros(len(q))
    zeta[sample.be_states] = sample.law @ logsumexp(q, axis=1)
    return zeta


def level_curvature(sample: Sample) -> float:
    """Second derivative of f-hat_N(q + c, zeta) in c for fixed zeta: 2 (1 - 2 beta) N_BE / N.

    V(s') and Q(s, a_s) both move by c, the NLL does not, and
    (1 - beta)^2 - beta^2 = 1 - 2 beta.
    """
    return 2 * (1 - 2 * sample.discount) * share(sample)


def output_hessian(sample: Sample, q: Array) -> Array:
    """(X A + B, X A + B) Hessian of f-hat_N in (q, zeta) at a solution (zero Bellman error).

    With e = r + beta zeta - q_a each row adds e^2 + 2 beta e (V' - zeta), where e = 0 on average
    and zeta is the mean of V': the curvature of V' is multiplied by e = 0.
    """
    states, actions = q.shape
    p = softmax(q, axis=1)
    size = states * actions
    at = sample.be_states
    found = np.zeros((size + len(at), size + len(at)))
    for k, x in enumerate(sample.nll_states):
        block = slice(x * actions, (x + 1) * actions)
        spread = np.diag(p[x]) - np.outer(p[x], p[x])
        found[block, block] += sample.nll_weight[k] * spread
    beta = sample.discount
    for j, x in enumerate(at):
        ahead = np.zeros(size + len(at))
        for y in range(states):
            ahead[y * actions : (y + 1) * actions] = sample.law[j, y] * p[y]
        own, aux = np.zeros_like(ahead), np.zeros_like(ahead)
        own[x * actions + sample.anchor[x]], aux[size + j] = 1.0, 1.0
        slope, lag = beta * aux - own, ahead - aux
        weight = share(sample) * sample.be_weight[j]
        found += weight * 2 * np.outer(slope, slope)
        found += weight * 2 * beta * (np.outer(slope, lag) + np.outer(lag, slope))
    return found


def strong_concavity(sample: Sample) -> float:
    """2 beta^2 min_j m_j / N: the modulus of f-hat_N in the outputs zeta, Q fixed."""
    return float(2 * sample.discount**2 * share(sample) * sample.be_weight.min())


def shift_coercivity(sample: Sample) -> float:
    """Smallest singular value of P_perp A', exactly; the appendix bounds it by gamma_perp.

    P_perp A' u is constant over each action block, (beta T u - E u)_x / |A| there, whatever Q is.
    """
    matrix = sample.discount * sample.law.T
    matrix[sample.be_states, np.arange(len(sample.be_states))] -= 1.0
    least = np.linalg.svd(matrix, compute_uv=False).min()
    return float(least / np.sqrt(sample.moves.shape[1]))


def pl_constant(sample: Sample, least_p: float, bellman_share: float) -> float:
    """Theorem bothPL's constant in the outputs, for NLL + bellman_share x L_BE.

    Args:
        sample: the data.
        least_p: lower bound on p-hat(a | x) over the states of the NLL, where it is to hold.
        bellman_share: 1 for R-hat_Q, N_BE / N for g-hat_N.
    """
    gamma = shift_coercivity(sample)
    # column x of P_par A' is beta sum_y P(y) (p_y - 1/A) - (e_a - 1/A): each part is below one
    spread = 1.0 + sample.discount * float(np.sqrt((sample.law**2).sum(axis=1).max()))
    kappa = spread * np.sqrt(len(sample.be_states)) / gamma if sample.moves.shape[1] > 1 else 0.0
    weight = bellman_share * sample.be_weight
    nll = least_p * float(sample.nll_weight.min()) / (4 * (1 + kappa**2))
    bellman = gamma**2 * float(weight.min()) ** 2 / float(weight.max())
    # with one action the NLL is constant and Lemma BE_PL's constant, twice as large, applies
    return float(2 * bellman if sample.moves.shape[1] == 1 else min(nll, bellman))
