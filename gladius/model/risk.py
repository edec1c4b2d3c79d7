"""The empirical risk of the paper's Definition ERM, term by term; see notation.md.

In the grouped form Q is a table (..., S, A) on the states of `Counts`, and sums run over counts,
which is exact. In the sampled form Q is given at the observations, (n, A) at s and (n, A) at s'.
Every term is a mean over all N observations, as printed; those of other actions than the anchor
contribute zero to the Bellman terms, as do those whose s' was not observed. Where an observation is
done, V(s') = 0.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Inexact, Int

from gladius.panel.moves import departures, following, squares
from gladius.panel.record import Counts, Integers
from gladius.validate import Array, Booleans, InputError, shaped


@shaped
def value(q: Inexact[Array, "*any A"]) -> Inexact[Array, "*any"]:
    """V_Q(s) = log sum_a exp Q(s, a); drops the last axis."""
    top = q.max(axis=-1)
    return np.asarray(top + np.log(np.exp(q - top[..., None]).sum(axis=-1)))


@dataclass(frozen=True)
class Risk:
    """The terms of R_emp, each (R,) (or a number), per observation."""

    nll: Array  # (1/N) sum of -log p-hat_Q(a | s)
    td: Array  # (1/N) sum over anchor observations of (r + beta V(s') - Q(s, a))^2
    # (1/N) sum over anchor observations of (V(s') - zeta(s, a))^2; the paper's D(Q) where zeta is
    # the conditional mean
    deviation: Array
    discount: float  # beta

    @property
    def bellman(self) -> Array:
        """td - beta^2 deviation: the squared Bellman error when zeta is exact."""
        return self.td - self.discount**2 * self.deviation

    def total(self, weight: float = 1.0) -> Array:
        """NLL + weight x Bellman term; the paper's weight is one."""
        return self.nll + weight * self.bellman


@shaped
def conditional_mean(v: Inexact[Array, "*any S"], counts: Counts) -> Inexact[Array, "_ S A"]:
    """zeta-bar (..., S, A), the least-squares zeta.

    Pairs never visited get zero, which no term reads.
    """
    followed = np.swapaxes(counts.followed, 1, 2)
    total = following(counts.moves, np.broadcast_to(v, counts.seen.shape))
    return np.swapaxes(total / np.where(followed > 0, followed, 1.0), 1, 2)


@shaped
def grouped_risk(
    q: Inexact[Array, "R S A"],
    counts: Counts,
    anchor_action: int,
    anchor_reward: Inexact[Array, " states"],
    discount: float,
    zeta: Inexact[Array, "#R S A"] | None = None,
) -> Risk:
    """Terms of R_emp from counts; zeta is by default the exact inner maximum, the mean of V(s')."""
    if q.shape != counts.visits.shape:
        raise InputError("q", q.shape, f"give shape {counts.visits.shape}")
    v = value(q)
    mean = (conditional_mean(v, counts) if zeta is None else zeta)[..., anchor_action]
    size = counts.size
    moves = counts.moves[:, anchor_action]
    ended = counts.followed[:, :, anchor_action] - departures(moves)
    nll = np.sum(counts.visits * (v[..., None] - q), axis=(1, 2)) / size
    gap = anchor_reward - q[..., anchor_action]
    td = squares(moves, gap, discount * v) + np.sum(ended * gap**2, axis=1)
    spread = squares(moves, -mean, v) + np.sum(ended * mean**2, axis=1)
    return Risk(nll, td / size, spread / size, discount)


@shaped
def sampled_risk(
    q: Inexact[Array, "n A"],
    q_next: Inexact[Array, "n A"],
    actions: Int[Integers, " n"],
    done: Bool[Booleans, " n"],
    anchor_action: int,
    anchor_reward: Inexact[Array, " n"],
    discount: float,
    zeta: Inexact[Array, " n"],
) -> Risk:
    """Terms of R_emp from observations: Q(s, .), Q(s', .), and zeta(s, a) of each."""
    rows = np.arange(len(actions))
    v_next = np.where(done, 0.0, value(q_next))
    anchored = actions == anchor_action
    delta = anchor_reward + discount * v_next - q[rows, actions]
    return Risk(
        nll=np.asarray(np.mean(value(q) - q[rows, actions])),
        td=np.mean(anchored * delta**2),
        deviation=np.mean(anchored * (v_next - zeta) ** 2),
        discount=discount,
    )


def bi_conjugate(delta_mean: Array, h: Array) -> Array:
    """2 E[delta] h - h^2, whose maximum over h is E[delta]^2 (Equation biconjugate)."""
    return 2 * delta_mean * h - h**2
