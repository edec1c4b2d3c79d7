"""The paper's Algorithm 1 as its box prints it: one data set, tables, NumPy alone.

`gladius.paper.algorithm` is the same with networks, many data sets and machine code; a test holds
the two to the same numbers. States are 0 to S - 1 and actions 0 to A - 1; no path ends. What the
box leaves open is as there: steps are on means, the descent has a step tau_2 of its own where the
box prints tau_1 twice, both tables start at zero, and the whole data may be the batch.
"""

import numpy as np

from gladius.panel.record import Integers
from gladius.validate import Array


def gladius(
    s: Integers,
    a: Integers,
    s_next: Integers,
    reward: Array,
    *,
    anchor: int,
    discount: float,
    actions: int,
    tau_1: float,
    tau_2: float,
    iterations: int,
    batch: int,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array]:
    """(r-hat, Q, zeta), each (S, A), from (n,) observations (s, a, s').

    Args:
        s, a, s_next: the data D.
        reward: (S,) r(s, a_s).
        anchor: a_s.
        discount: beta.
        actions: A.
        tau_1, tau_2: steps on means over the batch.
        iterations: T.
        batch: observations in each of B1 and B2, drawn with replacement; n is all, once each.
        rng: of the draws.
    """
    q, zeta = np.zeros((2, len(reward), actions))

    def draw() -> Integers:
        return np.arange(len(s)) if batch == len(s) else rng.integers(len(s), size=batch)

    for _ in range(iterations):
        b1, b2 = draw(), draw()

        # [ascent] zeta towards V(s') on B2, Q fixed
        v = np.logaddexp.reduce(q, axis=1)
        slope = np.zeros_like(zeta)
        np.add.at(slope, (s[b2], a[b2]), 2 * (zeta[s[b2], a[b2]] - v[s_next[b2]]))
        zeta -= tau_1 * slope / batch

        # [descent] likelihood on B2 and Bellman error of the anchor on B1, zeta fixed
        policy, slope = np.exp(q - v[:, None]), np.zeros_like(q)
        np.add.at(slope, s[b2], policy[s[b2]])
        np.add.at(slope, (s[b2], a[b2]), -1)
        i = b1[a[b1] == anchor]
        td = reward[s[i]] + discount * v[s_next[i]] - q[s[i], anchor]
        dev = v[s_next[i]] - zeta[s[i], anchor]
        np.add.at(slope, (s[i], anchor), -2 * td)
        in_v = 2 * discount * td - 2 * discount**2 * dev
        np.add.at(slope, s_next[i], in_v[:, None] * policy[s_next[i]])
        q -= tau_2 * slope / batch

    return q - discount * zeta, q, zeta
