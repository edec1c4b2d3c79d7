"""Theorem 12, "global convergence of GLADIUS": what its proof needs, and what it says it needs.

What is right: the profile g-hat_N is PL in theta (Theorem 11) and f-hat_N in phi (Lemma 10). The
cited proof of Yang et al. (2020) uses no more. So "E[g-hat_N - g*] <= nu/(gamma + T)" holds for
iterates in the balls, with two schedules: c/(gamma + t) in theta, 18 l^2/mu_2^2 times it in phi.

What has to be written differently:
- "The two-sided PL structure": for fixed zeta a common shift c of Q adds (1 - 2 beta) c^2 N_BE/N to
  f. For beta > 1/2 f is then not PL in theta at an interior solution, and (Q*, zeta*) is no saddle
  point, though the solution of the min-max problem (E1, E2, E3).
- "Stepsizes c_1/(c_2 + t)" in both blocks: no single schedule has the cited ratio. In the world
  below, with beta = .7, one schedule leads away from the solution (E4).
- "c_qg > 0" on B_Q: not where the ball touches the minimisers. The iterates are not refuted (E16).
- rho is the PL constant in phi, not "the strong-concavity constant" (E20).
The last display, O(1/N), is cited; for a fixed class on continuous states it is empty (E6).
"""

from typing import Any

import numpy as np


def check(text: str, observed: float, relation: str, other: float) -> None:
    """Print a line, and end with an error where the relation that it states is false."""
    same = abs(observed - other) <= 1e-9 * max(abs(observed), abs(other)) + 1e-14
    true = same if relation == "=" else not same and (observed < other) == (relation == "<")
    print(f"{text}: {observed:.8g} {relation} {other:.8g}{'' if true else ' IS FALSE'}")
    if not true:
        raise SystemExit(f"false: {text}")


def hessian(beta: float) -> Any:
    """Of f = ((1 - beta) Q)^2 - beta^2 (Q - phi/2)^2: one state and action, r = 0, so Q* = 0."""
    return 2 * np.diag([(1 - beta) ** 2, 0]) - 2 * beta**2 * np.outer([1, -0.5], [1, -0.5])


def potential(beta: float, noise: float, single: bool) -> tuple[float, float]:
    """E[(g - g*) + (g - f)/10] after 1,000 steps from Q = 1 with gradient noise, and its bound."""
    H, moments, eye = hessian(beta), np.diag([1.0, 0.0]), np.eye(2)
    size, mu_1, mu_2 = np.linalg.norm(H, 2), 2 * (1 - beta) ** 2, beta**2 / 2
    smooth, ratio, c = size + size**2 / mu_2, 18 * size**2 / mu_2**2, 4 / mu_1
    gamma, b = c * ratio * size, 11 * smooth + size + size * ratio**2
    form = mu_1 / 2 * np.diag([1, 0]) + beta**2 / 10 * np.outer([1, -0.5], [1, -0.5])
    nu = max(gamma * form[0, 0], c**2 * noise * b / (10 * mu_1 * c - 20))
    for t in range(1000):
        for block, speed in enumerate((-1.0, 1.0 if single else ratio)):
            tau = speed * c / (gamma + t)
            move = eye + tau * H * eye[:, [block]]
            moments = move @ moments @ move.T + tau**2 * noise * np.diag(eye[block])
    return float(np.sum(form * moments)), float(nu / (gamma + 1000))


def f(q: Any, zeta: float, beta: float) -> Any:
    """f-hat_N with one state, each of two actions observed once, r = -beta log 2, so Q* = 0."""
    V = np.log(np.exp(q).sum())
    return V - q.sum() / 2 + (beta * (V - np.log(2)) - q[0]) ** 2 / 2 - (beta * (V - zeta)) ** 2 / 2


runs = {"two schedules": (0.0, "<"), "with noise": (1.0, "<"), "control: one schedule": (0.0, ">")}
for text, (noise, relation) in runs.items():
    observed, bound = potential(0.7, noise, relation == ">")
    check(f"{text}, potential and its bound", observed, relation, bound)
for text, ratio in (("one schedule", 1.0), ("Algorithm 1, without beta^2", 1 / 0.7**2)):
    flow = np.diag([-1, ratio]) @ hessian(0.7)
    trace, determinant = 2 * 0.4 - ratio * 0.49 / 2, ratio * (0.49**2 - 0.8 * 0.49 / 2)
    rate = (trace + max(trace**2 - 4 * determinant, 0) ** 0.5) / 2
    check(f"growth near the solution, {text}", np.linalg.eigvals(flow).real.max(), "=", rate)

star, here, there = np.log(2), np.zeros(2), np.ones(2)  # zeta*, Q*, and Q* + 1
slope = np.array([f(1e-30j * e, star, 0.95).imag / 1e-30 for e in np.eye(2)])
check("slope of f in Q at (Q*, zeta*)", slope @ slope / 2, "=", 0.0)
check("f(Q* + 1, zeta*), below f(Q*, zeta*)", f(there, star, 0.95), "<", f(here, star, 0.95))
check("the fall", f(there, star, 0.95) - f(here, star, 0.95), "=", (1 - 2 * 0.95) / 2)
# Q = theta_a, beta = 1/2, theta in R^3, |theta|^2 <= 2: minimisers (-1, -1, any), one in the ball
k, r = 10193 / 10209, -(1 + star) / 2  # at (-k, -k, .) V = log 2 - k, and the NLL is least
off = np.array([1 - k, 1 - k, (2 - 2 * k**2) ** 0.5])  # of theta from (-1, -1, 0)
check("R - R*, below .01 dist^2", (r + (star - k) / 2 + k) ** 2, "<", 0.01 * off @ off)
phi = np.array([[0.0, 0], [1, -1], [0.5, -0.5]])  # two ends and their middle; zeta = phi_1 + phi_2
gain = -(0.95**2) * phi.sum(axis=1) ** 2 @ [-0.5, -0.5, 1]
check("gain of the middle, below rho/4", gain, "<", 2 * 0.95**2 * 2 / 4)
