"""Identification of Q* and r: Lemma 1, Theorems 3 and 5, and Lemma 28.

The data are the expert's: (s, a) ~ d*, its discounted occupancy. The anchor is action 0.
True as printed where S-bar, the states of positive probability, is countable (finite here):
- Lemma 1: the choice probabilities and the anchor's equation identify "Q* up to s in S-bar".
- Theorem 3: "the solution to the expected risk minimization problem uniquely identifies Q*". For
  the risk exceeds R(Q*) by E[KL(pi* || p_Q) + 1{a = a_s} residual^2], which is 0 at Q* alone.
- Theorem 5: the risk is the maximum over zeta of the min-max objective.
- Lemma 28: |Q - Q*|^2 <= C [R(Q) - R(Q*)] in L2(d*). One C is k^2/p + (k/p^(1/2) + 1)^2/m, with
  k = |(I - beta P_a)^-1| on L2(d*), p the least pi*(a_s | s), l the largest |log p_Q - log pi*| and
  m = (exp(-l) - 1 + l)/l^2.
Elsewhere the words need a condition:
- Lemma 1: for continuous states S-bar is empty. Write "d*-almost everywhere" (E8, E9).
- Lemma 28 "does not require a finite state-space": it needs the bounded inverse. On the chain below
  10^5 times the excess is less than |Q - Q*|^2, and longer ones refute any C (E17).
"""

from typing import Any

import numpy as np


def check(text: str, observed: float, relation: str, other: float) -> None:
    """Print a line, and end with an error where the relation that it states is false."""
    same = abs(observed - other) <= 1e-9 * max(abs(observed), abs(other)) + 1e-12
    true = {"=": same, ">": not same and observed > other}[relation]
    print(f"{text}: {observed:.8g} {relation} {other:.8g}{'' if true else ' IS FALSE'}")
    if not true:
        raise SystemExit(f"false: {text}")


def solve(r: Any, P: Any, beta: float) -> tuple[Any, Any, Any]:
    """Q*, log pi* and d* (S, A) for r (S, A) and P (S, A, S), from state 0."""
    q = np.zeros(r.shape)
    for _ in range(2000):
        q = r + beta * P @ np.logaddexp.reduce(q, axis=1)
    pi = np.exp(q - np.logaddexp.reduce(q, axis=1)[:, None])
    flow = np.eye(len(r)) - beta * np.einsum("sa,sat->ts", pi, P)
    return q, np.log(pi), np.linalg.solve(flow, (1 - beta) * np.eye(len(r))[0])[:, None] * pi


def objective(q: Any, d: Any, r: Any, P: Any, beta: float, off: float = 0.0) -> float:
    """The min-max objective of Theorem 5, with zeta at the mean of V_Q(s') plus `off`."""
    v, total = np.logaddexp.reduce(q, axis=1), 0.0
    for s, row in enumerate(P[:, 0]):
        td, deviation = r[s, 0] + beta * v - q[s, 0], v - (row @ v + off)
        total += d[s, 0] * row @ (td**2 - beta**2 * deviation**2) - d[s] @ (q[s] - v[s])
    return float(total)


P = np.array([[[0.5, 0.5, 0], [0, 1, 0]], [[0.2, 0.8, 0], [1, 0, 0]], [[0, 0, 1], [0, 0, 1]]])
r = np.array([[0.0, 1.0], [0.5, -0.5], [3.0, 3.0]])
world = (r, P, 0.8)  # state 2 is not in S-bar
star, log_pi, d = solve(*world)
for text, a, relation in (("Lemma 1", 0, "="), ("control: Lemma 1, moves of action 1", 1, ">")):
    v = np.linalg.solve(np.eye(3) - 0.8 * P[:, a], r[:, 0] - log_pi[:, 0])  # the two equations
    check(f"{text}, error of Q", np.abs(v[:, None] + log_pi - star).max(), relation, 0.0)
    check(f"{text}, error of r", np.abs(v[:, None] + log_pi - 0.8 * P @ v - r).max(), relation, 0.0)
q = star + np.array([[0.5, 0], [0, -1], [9, 0]])
ratio = q - np.logaddexp.reduce(q, axis=1)[:, None] - log_pi
residual = r[:, 0] + 0.8 * P[:, 0] @ np.logaddexp.reduce(q, axis=1) - q[:, 0]
excess, least = d[:, 0] @ residual**2 - np.sum(d * ratio), objective(star, d, *world)
check("Theorem 3, R(Q) - R(Q*)", objective(q, d, *world) - least, "=", excess)
free = objective(star + np.array([[0.0], [0], [9]]), d, *world)
check("Theorem 3, R(Q) where Q = Q* on S-bar", free, "=", least)
check("Theorem 5, best zeta and another", excess, ">", objective(q, d, *world, off=0.1) - least)
root, p, reach = np.sqrt(d[:2].sum(axis=1)), np.exp(log_pi[:2, 0]).min(), np.abs(ratio[:2]).max()
k = 1 / np.linalg.svd(root[:, None] * (np.eye(2) - 0.8 * P[:2, 0, :2]) / root)[1].min()
C = k**2 / p + (k / p**0.5 + 1) ** 2 * reach**2 / (np.exp(-reach) - 1 + reach)
check("Lemma 28, C [R(Q) - R(Q*)]", C * excess, ">", np.sum(d * (q - star) ** 2))
# S = [0, 1], one action, r = 0, beta = 1/2; s' uniform on (0, 1], where Q = 2; so S-bar = {0}
check("Lemma 1 on S-bar alone, Q(0) where Q* = 0", 0.5 * 2.0, ">", 0.0)

n = np.arange(13)  # the anchor n -> n + 1, the other to 0; the states from 12 on are one
P = np.stack([np.eye(13)[np.minimum(n + 1, 12)], np.tile(np.eye(13)[0], (13, 1))], axis=1)
world = (np.full((13, 2), -0.9 * np.log(2)), P, 0.9)  # Q* = 0, d*(n) = .55 (.45)^n
star, log_pi, d = solve(*world)
q = np.repeat(0.9 ** (12.0 - n)[:, None], 2, axis=1)  # t .9^-n at t = .9^12, at most 1
excess = objective(q, d, *world) - objective(star, d, *world)
check("Lemma 28, chain: |Q - Q*|^2 and 10^5 excess", np.sum(d * q**2), ">", 1e5 * excess)
