"""Alternating descent-ascent on a quadratic: moments, and the rate that primal-PL gives.

Signs and names as in Yang, Kiyavash and He (2020), Theorem 3.3: x descends with tau_1, then y
ascends with tau_2. Only two facts about f enter the rate: g = max_y f is mu_1-PL
((1/2) |grad g|^2 >= mu_1 (g - g*)), and f(x, .) is mu_2-PL for every x.
"""

from collections import namedtuple

import numpy as np

from proofs_checks.oracle import Array

WEIGHT = 0.1  # of the inner gap in the potential P = (g - g*) + WEIGHT (g - f)


class Moduli(namedtuple("Moduli", "l mu_1 mu_2")):
    """f is l-smooth, g is mu_1-PL and f(x, .) is mu_2-PL."""

    @property
    def smooth_g(self) -> float:
        """L = l + l^2 / mu_2, the smoothness of g."""
        return float(self.l + self.l**2 / self.mu_2)

    @property
    def ratio(self) -> float:
        """tau_2 / tau_1 = 18 l^2 / mu_2^2; at least 18, since l >= mu_2."""
        return float(18 * self.l**2 / self.mu_2**2)


# tau_1 = c / (gamma + t) and tau_2 = ratio tau_1
Schedule = namedtuple("Schedule", "c gamma ratio")


def schedule(constants: Moduli) -> Schedule:
    """c = 4 / mu_1, and the least gamma with tau_1 <= 1/L, 1/l and tau_2 <= 1/l from the start."""
    c = 4 / constants.mu_1
    steepest = max(constants.smooth_g, constants.l, constants.ratio * constants.l)
    return Schedule(c, c * steepest, constants.ratio)


def rate(constants: Moduli, steps: Schedule, start: float, noise: float) -> float:
    """nu of E P_t <= nu / (gamma + t).

    Each step gives E P_{t+1} <= (1 - mu_1 tau_1 / 2) E P_t + tau_1^2 noise B / 20 with
    B = 11 L + l + 324 l^5 / mu_2^4; the claim follows by induction for mu_1 c > 2.

    Args:
        constants: of the problem.
        steps: the schedule.
        start: P_0.
        noise: sigma^2, the variance of each block's stochastic gradient.
    """
    b = 11 * constants.smooth_g + constants.l + constants.l * constants.ratio**2
    from_noise = steps.c**2 * noise * b / (10 * constants.mu_1 * steps.c - 20)
    return float(max(steps.gamma * start, from_noise))


def expected_potential(
    hessian: Array,  # (d, d) H of z = (x, y)
    x: int,  # length of x
    potential: Array,  # (d, d) with P = z' potential z
    start: Array,  # (d,) z_0
    steps: Schedule,
    noise: float,  # variance of the gradient noise of each block, isotropic within it
    times: int,  # T
) -> float:
    """E P_T of alternating steps on f(z) = (1/2) z' H z, exactly, by recursion of E z z'."""
    size = len(hessian)
    down, up = np.zeros((2, size, size))
    down[:x], up[x:] = -hessian[:x], hessian[x:]
    noise_x = np.diag(np.r_[np.full(x, noise / x), np.zeros(size - x)])
    noise_y = np.diag(np.r_[np.zeros(x), np.full(size - x, noise / (size - x))])
    moment, eye = np.outer(start, start), np.eye(size)
    for t in range(times):
        tau_1 = steps.c / (steps.gamma + t)
        tau_2 = steps.ratio * tau_1
        first, second = eye + tau_1 * down, eye + tau_2 * up
        moment = first @ moment @ first.T + tau_1**2 * noise_x
        moment = second @ moment @ second.T + tau_2**2 * noise_y
    return float(np.sum(potential * moment))


def deterministic_growth(hessian: Array, x: int, ratio: float) -> float:
    """Largest real part of the eigenvalues of the flow (-grad_x f, ratio grad_y f)."""
    flow = hessian.copy()
    flow[:x] *= -1
    flow[x:] *= ratio
    return float(np.linalg.eigvals(flow).real.max())
