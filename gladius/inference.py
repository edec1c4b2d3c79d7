"""Standard errors of parametric estimates on counts: one influence table for all methods.

To first order theta-hat - theta is a sum over observations (s, a, s'). With c = dQ - dV the score
of a choice, I its information, and m(s, a) = beta sum_s' dP_a(s, s') V(s') the error of P-hat,

    theta-hat - theta = I^-1 [ sum over choices of c(s, a) - sum_{s,a} psi(s, a) m(s, a) ],
    psi = n(s) pi c + beta pi u,     u = (1 - beta P_pi')^-1 sum_{s,a} n(s) pi c P_a.

A transition moves the distribution that it is counted in (a `Factor`). Where frequencies estimate
P_a(s, .), its influence is -beta I^-1 psi(s, a) (V(s') - P_a V(s)) / n(s, a). The two sums are
uncorrelated, so the covariance is I^-1 + I^-1 N I^-1, with N that of the second. NFXP, MPEC, NPL
and CCP share these tables: at any consistent theta-hat they have the same first-order errors.

Source: Aguirregabiria and Mira (2002), Proposition 4; Newey and McFadden (1994), Section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from gladius.checks import Array, InputError
from gladius.increments import Factor
from gladius.parametric import Model
from gladius.transitions import Transitions, grid_positions

KINDS = ("model", "cluster", "outer")
LARGEST_CONDITION = 1e12  # of the scaled information


@dataclass(frozen=True)
class Influence:
    """What an observation of each cell adds to theta-hat - theta.

    Attributes:
        choice: (S, A, k) by its choice.
        move: (A, S, S + 1, k) by its transition; the last entry is the end of a path.
        counts: (A, S, S + 1) observations of each cell.
        inverse: (k, k) I^-1, the covariance if P is known.
        unseen: (k, k) variance of transitions that were seen once, and so show none.
    """

    choice: Array
    move: Array
    counts: Array
    inverse: Array
    unseen: Array

    @property
    def covariance(self) -> Array:
        """(k, k) from the model: I^-1 + I^-1 N I^-1."""
        noise = np.einsum("ast,astk,astl->kl", self.counts, self.move, self.move)
        return np.asarray(self.inverse + noise + self.unseen)

    @property
    def outer(self) -> Array:
        """(k, k) the inverse of the outer product of the choices' scores, as in Rust (1987)."""
        scores = np.einsum("sa,sak,sal->kl", self.counts.sum(axis=2).T, self.choice, self.choice)
        return np.asarray(self.inverse @ np.linalg.inv(scores) @ self.inverse)

    def clustered(self, data: Transitions, states: Array) -> Array:
        """(k, k) from sums over trajectories, which may depend on one another within each."""
        s, t = (grid_positions(states, x) for x in (data.states, data.next_states))
        t = np.where(data.done, len(states), t)
        each = self.choice[s, data.actions] + self.move[data.actions, s, t]
        names, label = np.unique(data.trajectory, return_inverse=True)
        if len(names) < 2:
            raise InputError("trajectory", len(names), "clustered errors need two trajectories")
        sums = np.zeros((len(names), each.shape[1]))
        np.add.at(sums, label, each)
        centred = sums - sums.mean(axis=0)
        scale = len(names) / (len(names) - 1)
        return np.asarray(scale * centred.T @ centred + self.unseen)


def influence(
    counts: Array,
    transition: Array,
    design: Array,
    q: Array,
    discount: float,
    factors: Sequence[Factor],
) -> Influence:
    """The table of one data set.

    Args:
        counts: (A, S, S + 1) observations of (s, a, s'), the last of ends of paths.
        transition: (A, S, S) P or P-hat.
        design: (S, A, k) dr / dtheta.
        q: (S, A) at theta-hat.
        discount: beta.
        factors: the distributions that P-hat is made of; none where P is known.

    Raises:
        InputError: the choices do not identify theta.
    """
    v = logsumexp(q, axis=1)
    policy, visits = np.exp(q - v[:, None]), counts.sum(axis=2).T
    system = np.eye(len(v)) - discount * np.einsum("sa,ast->st", policy, transition)
    dv = np.linalg.solve(system, np.einsum("sa,sak->sk", policy, design))
    score = design + discount * np.moveaxis(transition @ dv, 0, 1) - dv[:, None]
    g = visits.sum(axis=1)[:, None, None] * policy[..., None] * score
    information = np.einsum("sak,sal->kl", g, score)
    inverse = inverse_of(information)
    arrivals = np.einsum("sak,ast->tk", g, transition)
    u = np.linalg.solve(system.T, arrivals)
    psi = (g + discount * policy[..., None] * u[:, None]) @ inverse
    psi = -discount * np.swapaxes(psi, 0, 1)  # (A, S, k), I^-1 included
    move, unseen = np.zeros((*counts.shape, len(inverse))), np.zeros_like(inverse)
    for factor in factors:
        move += factor.influence(counts, transition, v, psi)
        unseen += factor.unseen(counts, transition, v, psi)
    return Influence(score @ inverse, move, counts, inverse, unseen)


def inverse_of(information: Array) -> Array:
    """(k, k) I^-1, or an error where theta is not identified."""
    root = np.sqrt(np.diag(information))
    if not np.all(root > 0) or np.linalg.cond(information / np.outer(root, root)) > (
        LARGEST_CONDITION
    ):
        hint = "the choices do not identify theta: leave out a parameter, or add data"
        raise InputError("reward.design", information.shape, hint)
    return np.asarray(np.linalg.inv(information), dtype=float)


def covariance(model: Model, q: Array, data: Transitions, kind: str) -> Array:
    """(k, k) of theta-hat, from one data set and the model that it was fitted with.

    Args:
        model: the grid and the form.
        q: (S, A) on the grid at theta-hat.
        data: the observations.
        kind: `model`; `cluster` for sums over trajectories; `outer` for the outer product of the
            scores of choices, which takes the transition probabilities as known.
    """
    transition = model.transition[0]
    counts = np.zeros((*transition.shape[:2], transition.shape[2] + 1))
    position = model.position
    counts[:, position[:, None], position] = model.counts.moves[0]
    counts[..., -1] = model.visits[0].T - counts.sum(axis=2)
    table = influence(counts, transition, model.design, q, model.discount, model.factors)
    if kind == "cluster":
        return table.clustered(data, model.states)
    return table.covariance if kind == "model" else table.outer
