"""Lemma EmpLipschitz: a bound on the gradient of the risk."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from proofs_checks.claims import CheckResult, Control, Counterexample, claim
from proofs_checks.sections._curved import (
    Curved,
    assume_realisable,
    curved,
    empirical_risk,
    local_residual,
    one_row,
)
from proofs_checks.sections._slopes import gradient_error, slope


def _steepness(at: Curved, bound: float) -> CheckResult:
    width = at.slopes.shape[2]
    gradient = slope(lambda d: empirical_risk(at, d), np.zeros(width))
    flat = at.slopes.reshape(-1, width)
    return CheckResult(
        observed=float(np.linalg.norm(gradient)),
        relation="<=",
        bound=bound,
        tolerance=math.sqrt(gradient_error(at.sample, at.q, flat)) * 1e-5,
        reason="rounding of a gradient by complex steps",
    )


def _aligned(high: float, reward: float, residual: float, discount: float = 0.95) -> Curved:
    """Q(s, .) = (-theta, theta), Q(s', .) = (theta, theta) at theta = high; one row (s, 0, s')."""
    slopes = np.array([[[-1.0], [1.0]], [[1.0], [1.0]]])
    return one_row(high * slopes[..., 0], slopes, reward, discount, residual)


def _realised() -> Curved:
    """|theta| <= 1, and rewards whose Q* is at theta = -1."""
    beta = 0.95
    at = _aligned(1.0, 1 + beta - beta * math.log(2), 2 * (1 + beta))
    assume_realisable(at, np.array([-2.0]), np.array([[-2.0], [0.0]]))
    return at


def _steepest() -> Curved:
    """The least slack over theta, for which the likelihood's part tends to 2 B."""

    def at(high: float) -> Curved:
        free = _aligned(high, 0.0, 0.0, discount=0.1)
        return _aligned(high, 0.0, local_residual(free.sample, free.q), discount=0.1)

    found = minimize_scalar(
        lambda high: empirical_lipschitz_both(at(high)).slack, bounds=(0, 20), method="bounded"
    )
    return at(float(found.x))


def _without_value(at: Curved) -> CheckResult:
    """M without beta V_max."""
    highest = abs(at.residual - np.abs(at.sample.reward).max() - np.abs(at.q).max())
    sizes = at.sizes
    less = type(sizes)(**{**vars(sizes), "residual": at.residual - highest})
    return _steepness(at, less.lipschitz())


def empirical_lipschitz_both(at: Curved) -> CheckResult:
    """R_emp is Lipschitz in theta with constant (2 + 2 M (1 + beta)) B.

    Decided: the proof's own bounds: 2 B for the likelihood's gradient, 2 M (1 + beta) B for the
    Bellman term's. Sharp: all three inequalities are approached at once.
    """
    return _steepness(at, at.sizes.lipschitz())


@claim(
    "lem:EmpLipschitz",
    verdict="fails",
    instances=curved(),
    counterexample=Counterexample(
        make=_realised,
        text="A = 2, beta = .95, Q(s, .) = (-theta, theta), Q(s', .) = (theta, theta),"
        " |theta| <= 1, B = 1; one row (s, 0, s').\nThe Q* of r(s, 0) = 1 + beta - beta log 2 is"
        " theta = -1; R_max = 1 + beta - beta log 2, V_max = 1 + log 2, Q_max = 1:"
        " M = 2 (1 + beta) = 3.9.\nAt theta = 1 Psi = M, p(1 | s) = .8808:"
        " grad = 2 M (1 + beta) + 2 p(1 | s) = {observed:.4f}; printed: 2 M (1 + beta) + 1 ="
        " {bound:.4f}.",
    ),
    corrected=empirical_lipschitz_both,
    control=Control(
        broken="M = R_max + Q_max, beta V_max left out",
        check=_without_value,
        make=_realised,
    ),
    adversary=_steepest,
    cost=2,
)
def empirical_lipschitz(at: Curved) -> CheckResult:
    """R_emp is Lipschitz in theta with constant (1 + 2 M (1 + beta)) B.

    Where: Technical proofs, Lemma EmpLipschitz.

    Assumes: |grad Q| <= B, M = R_max + beta V_max + Q_max; zeta exact, as R_emp is defined.

    Decided: the proof bounds the likelihood's gradient by 2 B, and then adds B. The instance, whose
    Q* is in the class, has a gradient above the printed constant; a larger range of theta comes as
    close to (2 + 2 M (1 + beta)) B as one likes. The lemma does not assume nonSingularJac (ii);
    adding delta times a parameter of its own to each output gives (ii) with mu = delta^2 and
    changes the numbers by O(delta).
    """
    return _steepness(at, at.sizes.lipschitz(choice=1.0))
