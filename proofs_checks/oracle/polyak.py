"""The constants of Section 6's lemmas in the outputs of a data set, and what they are made of.

PL constants as the appendix has them, and the sharper ones of the min-max objective f-hat_N; the
smoothness bounds of Lemmas EmpLipschitz and lipsSmooth. Everything is in output space: q (X, A),
M = |X_Q| |A| coordinates, and the auxiliary zeta (X,) at the anchor pairs. A PL constant in
parameter space is that in output space times mu, the least eigenvalue of the Jacobian's Gram
matrix. f-hat_N divides both of its terms by N; `Sample` divides the Bellman term by N_BE.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.special import softmax

from proofs_checks.oracle import Array
from proofs_checks.oracle.risk import Sample

# of u^2 + 3 sin^2 u, which is not convex; the largest possible is .17553, met near u = 2.2017
WAVE = 0.17


@dataclass(frozen=True)
class Constants:
    """The appendix's constants, at one point or for a whole ball."""

    actions: int  # |A|
    states: int  # |X_Q|
    discount: float  # beta
    nll_least: float  # omega_NLL,min
    be_least: float  # omega_BE,min
    be_most: float  # omega_BE,max
    least_choice: float  # p_-, a lower bound of every softmax probability
    parallel: float  # C_parallel, the largest ||P_parallel A'||

    @property
    def gamma(self) -> float:
        """gamma_perp = (1 - beta) / sqrt(|A| |X_Q|)."""
        return (1 - self.discount) / math.sqrt(self.actions * self.states)

    @property
    def kappa(self) -> float:
        """kappa_perp = C_parallel / gamma_perp."""
        return self.parallel / self.gamma

    @property
    def bellman(self) -> float:
        """PL constant of L_BE."""
        return 2 * self.gamma**2 * self.be_least**2 / self.be_most

    @property
    def nll(self) -> float:
        """alpha_NLL, PL constant of L_NLL."""
        return self.least_choice * self.nll_least / 2

    @property
    def nll_share(self) -> float:
        """a_NLL = 1 / (2 (1 + kappa^2))."""
        return 1 / (2 * (1 + self.kappa**2))

    @property
    def combined(self) -> float:
        """alpha_R, PL constant of L_NLL + L_BE."""
        return min(self.nll * self.nll_share, self.bellman / 2)


def constants(sample: Sample, q: Array) -> Constants:
    """The constants with p_- and C_parallel at the outputs q (X, A) alone: the largest possible."""
    return Constants(
        actions=q.shape[1],
        states=int(sample.evaluated.sum()),
        discount=sample.discount,
        nll_least=float(sample.nll_weight.min()),
        be_least=float(sample.be_weight.min()),
        be_most=float(sample.be_weight.max()),
        least_choice=softmax_bound(q[sample.evaluated]),
        parallel=float(np.linalg.norm(within_blocks(sample.residual_jacobian(q), q.shape[1]), 2)),
    )


def softmax_bound(q: Array) -> float:
    """p_- = exp(Q_-) / (|A| exp(Q_+)) of the outputs q (X, A)."""
    return float(np.exp(q.min() - q.max()) / q.shape[1])


def within_blocks(rows: Array, actions: int) -> Array:
    """P_parallel of each row of (n, X A): what sums to zero over the actions of a state."""
    blocks = rows.reshape(len(rows), -1, actions)
    return np.asarray((blocks - blocks.mean(axis=2, keepdims=True)).reshape(rows.shape))


def least_eigenvalue(jacobian: Array) -> float:
    """mu, the least eigenvalue of J J'; zero where there are more outputs than parameters."""
    rows, width = jacobian.shape
    least = 0.0 if rows > width else np.linalg.svd(jacobian, compute_uv=False)[-1]
    return float(least**2)


# --- the min-max objective f-hat_N
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
    system = np.eye(len(rows)) - sample.discount * sample.transition
    v = np.linalg.solve(system, sample.reward - log_pi[rows, sample.anchor])
    return np.asarray(v[:, None] + log_pi)


def zeta_at(sample: Sample, q: Array) -> Array:
    """(X,) the maximiser: the mean of V(s') over a state's anchor rows; 0 without any."""
    zeta = np.zeros(len(q))
    zeta[sample.be_states] = sample.target(q)
    return zeta


def output_hessian(sample: Sample, q: Array) -> Array:
    """(X A + B, X A + B) Hessian of f-hat_N in (q, zeta) at a solution (zero Bellman error).

    With e = r + beta zeta - q_a each row adds e^2 + 2 beta e (V' - zeta), where e = 0 on average
    and zeta is the mean of V': the curvature of V' is multiplied by e = 0.
    """
    beta, p, eye = sample.discount, softmax(q, axis=1), np.eye(len(sample.be_states))
    shares = sample.visits.sum(axis=1) / sample.size
    nll = (n * (np.diag(row) - np.outer(row, row)) for n, row in zip(shares, p, strict=True))
    ahead = np.reshape(sample.transition[:, :, None] * p, (-1, q.size))
    anchored = beta * ahead - sample.residual_jacobian(q)
    slope, lag = np.hstack([-anchored, beta * eye]), np.hstack([ahead, -eye])
    weighted = share(sample) * sample.be_weight[:, None] * slope
    cross = beta * weighted.T @ lag
    return np.asarray(block_diag(*nll, 0 * eye) + 2 * (weighted.T @ slope + cross + cross.T))


def strong_concavity(sample: Sample) -> float:
    """2 beta^2 min_j m_j / N: the modulus of f-hat_N in the outputs zeta, Q fixed."""
    return float(2 * sample.discount**2 * share(sample) * sample.be_weight.min())


def shift_coercivity(sample: Sample) -> float:
    """Smallest singular value of P_perp A', exactly; the appendix bounds it by gamma_perp.

    P_perp A' u is constant over each action block, (beta T u - E u)_x / |A| there, whatever Q is.
    """
    matrix = sample.discount * sample.transition.T
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
    spread = 1.0 + sample.discount * float(np.sqrt((sample.transition**2).sum(axis=1).max()))
    kappa = spread * np.sqrt(len(sample.be_states)) / gamma if sample.moves.shape[1] > 1 else 0.0
    weight = bellman_share * sample.be_weight
    nll = least_p * float(sample.nll_weight.min()) / (4 * (1 + kappa**2))
    bellman = gamma**2 * float(weight.min()) ** 2 / float(weight.max())
    # with one action the NLL is constant and Lemma BE_PL's constant, twice as large, applies
    return float(2 * bellman if sample.moves.shape[1] == 1 else min(nll, bellman))


# --- Lemmas EmpLipschitz and lipsSmooth, as printed and as they follow
@dataclass(frozen=True)
class Sizes:
    """What the bounds are made of."""

    actions: int  # |A|
    discount: float  # beta
    slope: float  # B, bound of |grad Q|
    curvature: float  # B_2, bound of |Hess Q|
    residual: float  # M = R_max + beta V_max + Q_max

    def lipschitz(self, choice: float = 2.0) -> float:
        """(2 + 2 M (1 + beta)) B; printed with 1 in the place of the first 2."""
        return (choice + 2 * self.residual * (1 + self.discount)) * self.slope

    @property
    def choice_printed(self) -> float:
        """2 B_2 + |A| B^2 / 4."""
        return 2 * self.curvature + self.actions / 4 * self.slope**2

    def choice(self, variance: float = 1.0) -> float:
        """2 B_2 + B^2."""
        return 2 * self.curvature + variance * self.slope**2

    @property
    def theta_printed(self) -> float:
        """L_theta as printed.

        2 B_2 + |A| B^2 / 4 + 2 (1 + 2 beta) M B_2 + (2 (1 + beta)^2 + beta |A| M / 2) B^2.
        """
        beta, m = self.discount, self.residual
        linear = 2 * (1 + 2 * beta) * m * self.curvature
        square = 2 * (1 + beta) ** 2 + beta * self.actions / 2 * m
        return self.choice_printed + linear + square * self.slope**2

    def theta(self, product: float = 2.0) -> float:
        """2 B_2 + B^2 + 2 (1 + beta)^2 B^2 + 2 M ((1 + beta) B_2 + beta B^2)."""
        beta = self.discount
        of_residual = (1 + beta) * self.curvature + beta * self.slope**2
        square = 2 * (1 + beta) ** 2 * self.slope**2
        return self.choice() + square + product * self.residual * of_residual
