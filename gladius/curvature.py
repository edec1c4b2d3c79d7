"""Whether the end of a fit on rows is a minimiser: the second derivative of its risk.

With zeta exact, zeta_Q(., a) = P-tilde_a V_Q for the weights P-tilde_a of the ridge regression, the
negative log-likelihood is sum_s u(s) V_theta(s) - <n, r_theta> with

    u = w - beta w+,    w(s) = sum_a n(s, a),    w+(t) = sum_(s, a) n(s, a) P-tilde_a(s, t),

and its second derivative is sum_s u-tilde(s) Var_pi(grad Q(s, .)), where u-tilde = u (I - beta
P-tilde_pi)^-1. If u and P-tilde are nowhere negative it is convex, and a stationary point is its
minimiser over the class (the claim `corrected.reward-convex`). Regressions have negative weights;
where they do, only the second derivative where the fit ended can be checked.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gladius.rows import Minimum, Risk

MINIMISER = "minimiser"  # of the penalised risk over its class
LOCAL = "local minimiser"
STATIONARY = "stationary point"
NOWHERE = "not converged"
NEGATIVE = -1e-9  # of a weight whose rows sum to about 1, or of u / w: less is no rounding
CHUNK = 2_000  # states whose weights are looked at together


class Curvature(NamedTuple):
    """The second derivative of a penalised risk where a fit ended.

    Attributes:
        end: minimiser, local minimiser, stationary point or not converged.
        least_excess: the least u / w over the visited states; below zero, also where a state that
            is not visited has u < 0, the risk need not be convex.
        negative_visits: share of the rows in states with u-tilde < 0.
        least_eigenvalue: of the second derivative, relative to its largest in absolute value.
    """

    end: str
    least_excess: float
    negative_visits: float
    least_eigenvalue: float


def curvature(fit: Minimum, is_stationary: bool) -> Curvature:
    """What can be said of where a fit ended, given whether its solver met its stopping rule."""
    risk, rows, point = fit.risk, fit.risk.rows, fit.point
    visits = rows.visits.sum(dim=1)
    policy = torch.softmax(risk.q(risk.block, point.theta, point.zeta), dim=1)
    excess, weights = weights_of_states(risk, policy)
    visited = visits > 0
    residual = torch.zeros_like(rows.visits)
    _, second = risk.derivatives(policy, point.slope, residual, weights)
    eigenvalues = torch.linalg.eigvalsh((second + second.T) / 2 + torch.diag(fit.penalty))
    least = float(eigenvalues[0] / eigenvalues.abs().max())
    relative = excess[visited] / visits[visited]
    is_convex = bool((relative >= NEGATIVE).all()) and bool((excess[~visited] >= NEGATIVE).all())
    end = STATIONARY
    if not is_stationary:
        end = NOWHERE
    elif is_convex and not has_negative_weights(risk):
        end = MINIMISER
    elif least > 0:
        end = LOCAL
    negative = float(visits[weights < 0].sum() / visits.sum())
    return Curvature(end, float(relative.min()), negative, least)


def weights_of_states(risk: Risk, policy: Tensor) -> tuple[Tensor, Tensor]:
    """(S,) u and (S,) u-tilde at the (S, A) policy, in rows."""
    rows, phi = risk.rows, risk.block.phi
    counted = torch.stack([phi[a].T @ rows.visits[:, a] for a in rows.actions])
    excess = rows.visits.sum(dim=1) - rows.discount * _onward(risk, counted)
    right = torch.stack([phi[c].T @ (excess * policy[:, c]) for c in rows.actions])
    columns = []
    for reached, source in risk.moves:
        spread = [policy[reached][:, [c]] * phi[c][reached] for c in rows.actions]
        columns.append(torch.cat(spread, dim=1).T @ source)
    system = torch.eye(right.numel(), dtype=right.dtype, device=right.device)
    system -= rows.discount * torch.cat(columns, dim=1)
    solved = torch.linalg.solve(system, right.reshape(-1)).reshape(right.shape)
    return excess, excess + rows.discount * _onward(risk, solved)


def _onward(risk: Risk, coefficients: Tensor) -> Tensor:
    """(S,) sum over s, a of f(s, a) P-tilde_a(s, t), for (A, p) sums over s of f(s, a) phi_a(s)."""
    total = torch.zeros_like(risk.rows.anchor_reward)
    for (reached, source), part in zip(risk.moves, coefficients, strict=True):
        total.index_add_(0, reached, source @ part)
    return total


def has_negative_weights(risk: Risk) -> bool:
    """Whether an action's P-tilde has a negative weight in a state of the data."""
    for phi, (_, source) in zip(risk.block.phi, risk.moves, strict=True):
        largest = source.norm(dim=1).max() if len(source) else 0.0
        for part in phi.split(CHUNK):
            scale = part.norm(dim=1, keepdim=True) * largest
            if bool((part @ source.T < NEGATIVE * scale).any()):
                return True
    return False
