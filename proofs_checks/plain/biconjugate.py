"""The biconjugate of Section 4: a squared mean as a maximum, and zeta in place of it.

Q is any table, V_Q = log sum exp Q, and delta = r(s, a) + beta V_Q(s') - Q(s, a) the TD error.

True as printed:
- "E[L_TD] = L_BE + E[(TQ - T-hat Q)^2]", so that the TD loss alone is biased. In one world below
  its minimiser has a mean squared Bellman error of 1/32.
- "L_BE = E[delta]^2 = max_h 2 E[delta] h - h^2".
- Lemma 4 (a): "L_BE = E[L_TD] - beta^2 min_zeta E[(V_Q(s') - zeta)^2]".
- Lemma 4 (b): "r(s, a) = Q*(s, a) - beta zeta*(s, a)".

Two slips:
- Section 4 has "zeta = h - r + Q", a misprint for (h - r + Q)/beta (E47). Appendix C has it right.
- "zeta-tilde in argmin E[1{a = a_s} (V - zeta)^2]" is not in "argmin E[(V - zeta)^2]" (E27): it is
  free at other actions. The converse is true, and is all that the paper uses.
"""

from collections.abc import Callable

import numpy as np


def check(text: str, observed: float, relation: str, other: float) -> None:
    """Print a line, and end with an error where the relation that it states is false."""
    same = abs(observed - other) <= 1e-9 * max(abs(observed), abs(other)) + 1e-14
    true = {"=": same, "!=": not same}[relation]
    print(f"{text}: {observed:.8g} {relation} {other:.8g}{'' if true else ' IS FALSE'}")
    if not true:
        raise SystemExit(f"false: {text}")


def turn(f: Callable[[float], float]) -> tuple[float, float]:
    """Where a parabola turns, and its value there, from three of its values alone."""
    low, middle, high = f(-1.0), f(0.0), f(1.0)
    at = (low - high) / (2 * (low - 2 * middle + high))
    return at, f(at)


beta = 0.9
P = np.array([0.5, 0.3, 0.2])  # of s' after the pair (0, 0)
Q = np.array([[1.0, -0.5], [0.25, 2.0], [-1.0, 0.5]])
r, V = 0.75, np.log(np.exp(Q).sum(axis=1))
delta = r + beta * V - Q[0, 0]
bellman, td = float(P @ delta) ** 2, float(P @ delta**2)
check("TD loss", td, "=", bellman + float(P @ (beta * (V - P @ V)) ** 2))
check("max over h", turn(lambda h: 2 * float(P @ delta) * h - h**2)[1], "=", bellman)
best, spread = turn(lambda zeta: float(P @ (V - zeta) ** 2))
check("Lemma 4 (a)", td - beta**2 * spread, "=", bellman)
check("Lemma 4, zeta is the mean of V(s')", best, "=", float(P @ V))
check("control: Lemma 4 (a) with beta for beta^2", td - beta * spread, "!=", bellman)

moves = np.array([[P, [0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0], [0.1, 0.1, 0.8]], [[0, 0.5, 0.5], P]])
reward, star = np.array([[r, 0.0], [1.0, -1.0], [0.0, 2.0]]), np.zeros((3, 2))  # (state, action)
for _ in range(600):  # the Bellman equation, solved by its contraction
    star = reward + beta * moves @ np.log(np.exp(star).sum(axis=1))
v_star = np.log(np.exp(star).sum(axis=1))
zeta_star = turn(lambda zeta: float(moves[1, 1] @ (v_star - zeta) ** 2))[0]
check("Lemma 4 (b) at (1, 1)", star[1, 1] - beta * zeta_star, "=", reward[1, 1])

# one action; state 0 leads to 1 or 2, where one stays; r = (0, 0, 1), beta = 1/2, visits d
d = np.array([0.5, 0.25, 0.25])
rows = np.array([[-1, 0.5, 0], [-1, 0, 0.5], [0, -0.5, 0], [0, 0, -0.5]])  # of delta, in Q
weights = np.array([d[0] / 2, d[0] / 2, d[1], d[2]]) ** 0.5
q = np.linalg.lstsq(weights[:, None] * rows, -weights * [0, 0, 0, 1], rcond=None)[0]
error = np.array([(q[1] + q[2]) / 4 - q[0], -q[1] / 2, 1 - q[2] / 2])
check("Bellman error of the TD minimiser", float(d @ error**2), "=", 1 / 32)

# one state and action, r = Q = V = 0, beta = 1/2, zeta = 1: E[L_TD] - beta^2 (V - zeta)^2 = -1/4
half, zeta = 0.5, 1.0
conjugates = {"(h - r + Q)/beta": -((half * zeta) ** 2), "h - r + Q as printed": -(zeta**2)}
for (text, conjugate), relation in zip(conjugates.items(), ("=", "!="), strict=True):
    check(f"zeta = {text}", -(half**2) * zeta**2, relation, conjugate)  # 2 E[delta] h - h^2
# one state, Q = 0 for both actions, V = log 2: zeta-tilde may be log 2 + 1 off the anchor
loss = np.array([0.0, 1.0]) ** 2  # (V - zeta)^2; both actions have probability 1/2
check("anchor-only argmin: its loss over all pairs", 0.5 * loss.sum(), "!=", 0.5 * loss[0])
