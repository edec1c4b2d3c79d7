"""Theorem 11: "R_Q = L_NLL + L_BE satisfies a PL inequality on B_Q", with its proof's constant.

It holds, under Assumption 5 (jacobian.py says for which networks). The constant is
c = mu min{p_- w_NLL / (4 (1 + kappa^2)), gamma^2 w_min^2 / w_max}, with kappa = C_par / gamma.
C_par is the norm of dPsi/dq without its mean over the actions of a state, w_NLL the least share of
a state's rows, and the other letters are those of pl_constants.py.

- The term 1 + kappa^2 is needed, because the gradients of L_NLL and L_BE may cancel. With the
  lesser of both lemmas' constants the inequality is false at one data set below.
- The constant may be improved, by a factor of 1.57 at most.
- Section 6.2 says that the profile g-hat_N is R_Q "up to constants". It is L_NLL + (N_BE / N) L_BE,
  so that it is PL too, with m_j / N for w_j (E19). Both have the same minimisers inside the ball.
"""

from typing import Any

import numpy as np


def check(text: str, observed: float, relation: str, other: float) -> None:
    """Print a line, and end with an error where the relation that it states is false."""
    same = abs(observed - other) <= 1e-9 * max(abs(observed), abs(other)) + 1e-14
    true = {"=": same, ">=": same or observed > other, "<": not same and observed < other}[relation]
    print(f"{text}: {observed:.8g} {relation} {other:.8g}{'' if true else ' IS FALSE'}")
    if not true:
        raise SystemExit(f"false: {text}")


def risk(q: Any, n: Any, r: Any, beta: float, share: float) -> Any:
    """L_NLL + share L_BE at outputs q (X A,), from counts n (X, A, X); the anchor is action 0."""
    q = q.reshape(n.shape[:2])
    V, m = np.log(np.exp(q).sum(axis=1)), n[:, 0].sum(axis=1)
    psi = r + beta * n[:, 0] @ V / m - q[:, 0]
    return np.sum(n.sum(axis=2) * (V[:, None] - q)) / n.sum() + share * m / m.sum() @ psi**2


def sides(theta: Any, phi: Any, n: Any, r: Any, beta: float, share: float = 1.0) -> Any:
    """(1/2) |grad|^2 by complex steps, and the gap times c of Theorem 11, and of Lemmas 9 and 8."""
    (X, A, _), m, visits, q = n.shape, n[:, 0].sum(axis=1), n.sum(axis=2), phi @ theta
    steps = theta + 1e-30j * np.eye(len(theta))
    slope = np.array([risk(phi @ t, n, r, beta, share).imag / 1e-30 for t in steps])
    pi = visits / visits.sum(axis=1, keepdims=True)  # whose entropy is the infimum over all tables
    gap = risk(q, n, r, beta, share) + np.sum(visits * np.log(np.where(pi > 0, pi, 1))) / n.sum()
    p = np.exp(q).reshape(X, A) / np.exp(q).reshape(X, A).sum(axis=1, keepdims=True)
    rows = beta * (n[:, 0] / m[:, None])[:, :, None] * p - np.eye(X)[:, :, None] * np.eye(A)[0]
    within = (rows - rows.mean(axis=2, keepdims=True)).reshape(X, -1)
    w, gamma = share * m / m.sum(), (1 - beta) / np.sqrt(A * X)
    nll = np.exp(q.min() - q.max()) / A * visits.sum(axis=1).min() / n.sum() / 2
    bellman, kappa = 2 * gamma**2 * w.min() ** 2 / w.max(), np.linalg.norm(within, 2) / gamma
    both, mu = min(nll / (2 * (1 + kappa**2)), bellman / 2), np.linalg.eigvalsh(phi @ phi.T)[0]
    return slope @ slope / 2, mu * gap * np.array([both, nll, bellman])


n = np.array([[[2, 1, 0], [0, 3, 1]], [[1, 1, 2], [1, 0, 0]], [[0, 4, 1], [2, 2, 0.0]]])
r, beta, theta = np.array([1.0, -0.5, 0.25]), 0.9, np.array([0.5, -1, 0.25, 1, -0.5, 0.75, 1])
phi, share = np.tril(np.ones((6, 7)), 1), n[:, 0].sum() / n.sum()  # q = phi theta; N_BE / N
for text, s in (("Theorem 11", 1.0), ("Theorem 11 for the profile", share)):
    square, bounds = sides(theta, phi, n, r, beta, s)
    check(text, square, ">=", bounds[0])
# the profile by its definition: every row at the best zeta, which is the mean of V(s')
V = np.log(np.exp(phi @ theta).reshape(3, 2).sum(axis=1))
q, profile = (phi @ theta).reshape(3, 2), 0.0
for s, a, after in np.ndindex(n.shape):
    td, zeta = r[s] + beta * V[after] - q[s, 0], n[s, 0] @ V / n[s, 0].sum()
    bellman = (a == 0) * (td**2 - beta**2 * (V[after] - zeta) ** 2)
    profile += n[s, a, after] / n.sum() * (V[s] - q[s, a] + bellman)
check("g-hat_N is L_NLL + (N_BE / N) L_BE", profile, "=", risk(q, n, r, beta, share))
# one state, Q = 0, shares near (0, 1): the gradients cancel but for their mean over the actions
many = np.array([1.0, 10**6]).reshape(1, 2, 1)
square, bounds = sides(np.zeros(2), np.eye(2), many, np.array([0.5 - beta * np.log(2)]), beta)
check("opposed gradients", square, ">=", bounds[0])
check("control: without 1 + kappa^2", square, "<", min(bounds[1:]))
# one state, the second action never taken, V = 0, beta = .999, and the same for any odds of p
never, best = np.array([1.0, 0.0]).reshape(1, 2, 1), np.inf
for p in 1 / (1 + np.exp(np.linspace(0, 10, 201))):  # of the second action
    reward = np.array([np.log(1 - p) - p / (2 * 0.999 * p + 0.001)])
    square, bounds = sides(np.log([1 - p, p]), np.eye(2), never, reward, 0.999)
    best = min(best, square / bounds[0])
check("least ratio of the sides", best, ">=", 1.0)
