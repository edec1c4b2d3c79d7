"""Regressions on functions of a state: polynomials, the multinomial logit, and the ridge of zeta.

The ridge regression of V at s' on functions phi has the coefficients w = H^-1 Phi'V', with
H = Phi'Phi + kappa D. kappa minimises the criterion of generalised cross-validation,

    |V' - Phi w|^2 / (1 - EFFECTIVE tr(H^-1 Phi'Phi) / n)^2.
"""

from itertools import combinations_with_replacement

import numpy as np
import torch
from torch import Tensor

from gladius.panel.ties import EPS
from gladius.solvers.newton import VALUE_ROUNDING

CLIP = 4.0  # standard deviations, of the inputs of a polynomial
DEGREES = (5, 4, 3, 3)  # of the polynomial in 1, 2, 3, 4 inputs; 2 in more
RIDGE = 1e-9  # of a regression, relative to the diagonal of its matrix
LOGIT_STEPS = 25
LOGIT_DECREMENT = 1e-8  # nats an observation
SHORTEST = 1e-6  # share of a step
LINEAR_RIDGE = 0.01  # of the linear terms of zeta in D, relative to the cosines'
CELL_RIDGE = 1e-6  # of cells, which a test has found to matter: one observation's at most
EFFECTIVE = 1.4  # weight of the effective degrees of freedom in cross-validation


def polynomial(z: Tensor) -> Tensor:
    """(n, q) all monomials of (n, c) clipped inputs up to the degree of DEGREES."""
    inputs = z.shape[1]
    z = z.clamp(-CLIP, CLIP)
    degree = DEGREES[inputs - 1] if 0 < inputs <= len(DEGREES) else 2
    columns = [z.new_ones(len(z))]
    for order in range(1, degree + 1):
        for term in combinations_with_replacement(range(inputs), order):
            columns.append(z[:, list(term)].prod(dim=1))
    return torch.stack(columns, dim=1)


def logit(design: Tensor, visits: Tensor, closed: Tensor | float = 0.0) -> Tensor:
    """(q, A) coefficients of the multinomial logit of (n, A) visits, zero for the last action.

    `closed` (n, A) is FORBIDDEN where an action is not available.

    `baselines.choice_logit` refuses collinear columns. Here RIDGE carries them, for they are
    common: the square of an input with two values is one.
    """
    free, total = visits.shape[1] - 1, visits.sum(dim=1)
    theta = design.new_zeros((design.shape[1], free + 1))
    log_policy = torch.log_softmax(design @ theta + closed, dim=1)
    for _ in range(LOGIT_STEPS):
        policy = torch.exp(log_policy)[:, :free]
        gradient = (design.T @ (visits[:, :free] - total[:, None] * policy)).T.reshape(-1)
        weights = total[:, None, None] * choice_information(policy)
        step = solve(moment(design, design, weights), gradient)
        length, value = 1.0, (visits * log_policy).sum()
        while length > SHORTEST:
            trial = theta.clone()
            trial[:, :free] += length * step.reshape(free, -1).T
            log_policy = torch.log_softmax(design @ trial + closed, dim=1)
            if (visits * log_policy).sum() >= value - VALUE_ROUNDING * value.abs():
                theta = trial
                break
            length /= 2
        if length <= SHORTEST or gradient @ step < LOGIT_DECREMENT * total.sum():
            break
    return theta


def choice_information(policy: Tensor) -> Tensor:
    """(n, m, m) covariance of the indicators of (n, m) actions."""
    return torch.diag_embed(policy) - policy[:, :, None] * policy[:, None, :]


def moment(first: Tensor, second: Tensor, weights: Tensor) -> Tensor:
    """(m p, m q) sum over n of weights (n, m, m), each times first (n, p)' second (n, q)."""
    m, p, q = weights.shape[1], first.shape[1], second.shape[1]
    total = first.new_zeros((m, p, m, q))
    for a, c in occupied(weights):
        total[a, :, c] = (first * weights[:, a, c, None]).T @ second
    return total.reshape(m * p, m * q)


def occupied(weights: Tensor) -> list[tuple[int, int]]:
    """The pairs of columns where some (n, m, m) weight is not zero, and the diagonal."""
    is_used = (weights != 0).any(dim=0)
    is_used.fill_diagonal_(True)
    return [(a, c) for a, c in is_used.nonzero().tolist()]


def floor_of(diagonal: Tensor) -> Tensor:
    """A matrix's diagonal, no entry below 1e-12 of the largest."""
    return diagonal.clamp_min(1e-12 * float(diagonal.max()) + 1e-300)


def solve(matrix: Tensor, right: Tensor) -> Tensor:
    """matrix^-1 right for a symmetric matrix, with RIDGE of its diagonal."""
    root = torch.sqrt(floor_of(torch.diagonal(matrix)))
    scaled = matrix / root[:, None] / root[None] + RIDGE * torch.eye(len(matrix)).to(matrix)
    solved: Tensor = torch.linalg.solve(scaled, right.reshape(len(matrix), -1) / root[:, None])
    return (solved / root[:, None]).reshape(right.shape)


def inverse_root(matrix: Tensor) -> Tensor:
    """W with W W' = matrix^-1 for a symmetric matrix, with RIDGE of its diagonal."""
    root = torch.sqrt(floor_of(torch.diagonal(matrix)))
    values, vectors = torch.linalg.eigh(matrix / root[:, None] / root[None])
    inverse: Tensor = vectors / torch.sqrt(values.clamp_min(0.0) + RIDGE) / root[:, None]
    return inverse


def cross_validation(
    gram: Tensor, target: Tensor, square: float, size: float, penalty: Tensor
) -> float:
    """The criterion of the ridge regression with H = gram + diag(penalty).

    `gram` is Phi'Phi, `target` Phi'V', `square` |V'|^2, `size` n, and `penalty` kappa D's diagonal.
    """
    inverse = solve(gram + torch.diag(penalty), torch.eye(len(gram)).to(gram))
    w = inverse @ target
    residual = square - float(2 * w @ target - w @ gram @ w)
    share = EFFECTIVE * float((inverse * gram).sum()) / size
    return max(residual, 0.0) / (1 - share) ** 2 if share < 1 else np.inf


def width(size: int, square: float, total: float) -> float:
    """Rounding of a criterion with p functions, which an exact fit leaves at every kappa.

    It is that of p^2 products and 100 operations more, of the size of |V'|^2, `square`. Of V' the
    last two digits are rounding; `total` is its square if V' is less its mean.
    """
    return (size**2 + 100) * EPS * square + (100 * EPS) ** 2 * total
