"""MPEC's programme: the likelihood of (theta, V) jointly, with the Bellman equation as constraints.

    max   L = sum_{s,a} n(s, a) log softmax_a(Q)(s)
    s.t.  c(s) = log sum_a exp Q(s, a) - V(s) = 0,

    Q(s, a) = r(s, a; theta) + beta P_a V (s), linear in (theta, V): dQ = D = [design, beta P_a].

With p = softmax(Q), D-bar(s) = sum_a p D, Cov(s) the covariance of D(s, .) under p, and e_s the
unit vector of V(s),

    grad L = sum n (D - D-bar),      Hess L = -sum_s n(s) Cov(s),
    grad c(s) = D-bar(s) - e_s,      Hess c(s) = Cov(s).

The Jacobian in V is -M, M = I - beta P_p, always regular. So with T = M^-1 sum_a p design the null
space of the Jacobian is spanned by Z = [I; T], the Newton step of the constraints is t = M^-1 c,
the multipliers of L + lambda'c are lambda = M'^-1 grad_V L, the reduced gradient is Z' grad L and
the reduced Hessian of the Lagrangian sum_s (lambda(s) - n(s)) Cov_p(D Z)(s); on the constraints
these are the gradient and Hessian of NFXP's likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gladius.checks import Array

SINGULAR = 1e-12  # smallest eigenvalue of an information matrix scaled to a unit diagonal
WEAK = 1e-10  # smallest share of the largest possible information that a Newton step may rest on


class Point(NamedTuple):
    """The programme at (theta, V) of B problems, and the step that Newton's method takes there.

    Attributes:
        violation: (B, S) c.
        reduced: (B, k) reduced gradient Z' grad L, a sum over observations.
        multipliers: (B, S) lambda.
        scale: (B, k) root of the diagonal of the Fisher information sum_s n(s) Cov_p(D Z)(s).
        covariance: (B, k, k) inverse of minus the reduced Hessian; where that is not positive
            definite, of the Fisher information; near singular, of its bound (`_bound`).
        definite: (B,) whether minus the reduced Hessian is positive definite.
        usable: (B,) whether a step could be computed: numbers are finite and theta is identified.
        step_theta, step_v: (B, k), (B, S) the solution of the quadratic programme.
        rise: (B,) directional derivative of L along the step.
        curvature: (B,) minus the second derivative of the step's model along it.
        system: (B, S, S) M.
    """

    violation: Array
    reduced: Array
    multipliers: Array
    scale: Array
    covariance: Array
    definite: NDArray[np.bool_]
    usable: NDArray[np.bool_]
    step_theta: Array
    step_v: Array
    rise: Array
    curvature: Array
    system: Array

    def take(self, rows: NDArray[Any]) -> Point:
        """The problems of some rows."""
        return Point(*(np.asarray(part)[rows] for part in self))


@dataclass(frozen=True)
class Programme:
    """B programmes of one shape.

    Attributes:
        visits: (B, S, A) n(s, a).
        law: (A, S, S) or (B, A, S, S).
        design: (S, A, k), offset: (S, A): the reward's form.
        discount: beta.
    """

    visits: Array
    law: Array
    design: Array
    offset: Array
    discount: float

    @property
    def size(self) -> Array:
        """(B,) N."""
        return np.asarray(self.visits.sum(axis=(1, 2)))

    def take(self, rows: NDArray[Any]) -> Programme:
        """The problems of some rows."""
        law = self.law[rows] if self.law.ndim == 4 else self.law
        return Programme(self.visits[rows], law, self.design, self.offset, self.discount)

    def values(self, theta: Array, v: Array) -> tuple[Array, Array]:
        """(B,) L and (B, S) c."""
        _, log_p, c = self._policy(theta, v)
        return np.sum(self.visits * log_p, axis=(1, 2)), c

    def point(self, theta: Array, v: Array) -> Point:
        """Derivatives and the step at (B, k) theta and (B, S) v."""
        beta, n, seen = self.discount, self.visits, self.visits.sum(axis=2)
        law = np.broadcast_to(self.law, (len(n), *self.law.shape[-3:]))
        _, log_p, c = self._policy(theta, v)
        p = np.exp(log_p)
        system = np.eye(v.shape[1]) - beta * np.einsum("bsa,bast->bst", p, law)
        now = np.einsum("bsa,sak->bsk", p, self.design)
        both = np.linalg.solve(system, np.concatenate([now, c[..., None]], axis=2))
        tangent, normal = both[..., :-1], both[..., -1]
        following = beta * np.moveaxis(law @ both[:, None], 1, 2)
        along = self.design + following[..., :-1] - tangent[:, :, None]  # centred D Z
        across = following[..., -1] - (normal - c)[..., None]  # centred D (0, t)
        reduced = np.einsum("bsa,bsak->bk", n, along)
        arrivals = beta * np.einsum("bsa,bast->bt", n, law)
        back = np.swapaxes(system, 1, 2)
        excess = np.linalg.solve(back, (arrivals - seen)[..., None])[..., 0]  # lambda - n
        fisher = _covariance(seen, p, along, along)
        information = _covariance(-excess, p, along, along)
        bound = _bound(seen, along)
        finite = np.isfinite(information).all(axis=(1, 2)) & np.isfinite(bound).all(axis=(1, 2))
        bound[~finite] = np.eye(theta.shape[1])
        usable = _regular(bound, bound, SINGULAR) & finite
        definite = _regular(information, bound, WEAK) & usable
        regular = _regular(fisher, bound, WEAK) & usable
        chosen = np.where(regular[:, None, None], fisher, bound)
        chosen[definite] = information[definite]
        chosen[~usable] = np.eye(theta.shape[1])
        inverse = _inverse(chosen)
        root = np.sqrt(np.diagonal(fisher, axis1=1, axis2=2))
        weight = np.where(definite[:, None], -excess, seen)
        mixed = _covariance(weight, p, along, across[..., None])[..., 0]
        step = np.einsum("bkl,bl->bk", inverse, reduced - mixed)
        moved = across + np.einsum("bsak,bk->bsa", along, step)
        return Point(
            violation=c,
            reduced=reduced,
            multipliers=excess + seen,
            scale=np.where(root > 0, root, 1.0),
            covariance=inverse,
            definite=definite,
            usable=usable,
            step_theta=step,
            step_v=normal + np.einsum("bsk,bk->bs", tangent, step),
            rise=np.sum(n * moved, axis=(1, 2)),
            curvature=np.einsum("bs,bsa,bsa->b", weight, p, moved**2),
            system=system,
        )

    def _policy(self, theta: Array, v: Array) -> tuple[Array, Array, Array]:
        reward = self.offset + np.einsum("sak,bk->bsa", self.design, theta)
        following = (self.law @ v[:, None, :, None])[..., 0]
        q = reward + self.discount * np.swapaxes(following, 1, 2)
        total = logsumexp(q, axis=2)
        return q, q - total[..., None], total - v


def _covariance(weight: Array, p: Array, left: Array, right: Array) -> Array:
    """(B, k, l) sum_s weight(s) sum_a p left right', the factors centred."""
    flat = (len(p), p[0].size)
    heavy = (weight[..., None] * p)[..., None] * left
    return np.asarray(
        np.swapaxes(heavy.reshape(*flat, left.shape[-1]), 1, 2)
        @ right.reshape(*flat, right.shape[-1])
    )


def _bound(seen: Array, along: Array) -> Array:
    """(B, k, k) A/2 times the information of uniform choices.

    It bounds the Fisher information at any choice probabilities from above (Bohning 1992), so a
    step with it rises where choices that are certain to the last digit leave no information. Where
    it is singular too, theta has no effect on choices.
    """
    centred = along - along.mean(axis=2, keepdims=True)
    return _covariance(seen, np.full(along.shape[:3], 0.5), centred, centred)


def _regular(matrix: Array, reference: Array, least: float) -> NDArray[np.bool_]:
    """(B,) is the smallest eigenvalue above `least`, in units of the reference's diagonal?"""
    diagonal = np.diagonal(reference, axis1=1, axis2=2)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = matrix / (scale[:, :, None] * scale[:, None])
    scaled[~np.isfinite(scaled).all(axis=(1, 2))] = 0.0
    return np.asarray(np.linalg.eigvalsh(scaled)[:, 0] > least)


def _inverse(matrix: Array) -> Array:
    """Inverse of positive definite matrices whatever the units of their rows."""
    scale = np.sqrt(np.diagonal(matrix, axis1=1, axis2=2))
    outer = scale[:, :, None] * scale[:, None]
    return np.asarray(np.linalg.inv(matrix / outer) / outer)
