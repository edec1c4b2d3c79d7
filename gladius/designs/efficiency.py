"""Asymptotic bounds on the expected MAPE of an estimated reward.

With n = N H observed transitions of an expert, sqrt(n) (r-hat - r)(s, a) tends to a normal
distribution with standard deviation sd(s, a), hence

    E[MAPE] ~ 100 sqrt(2 / (pi n)) sum_{s,a} d_H(s, a) sd(s, a) / |r(s, a)|,

d_H being the occupancy of H periods, and N the number of training trajectories. The choices depend
on the reward and on P only through m = dr + beta w, with w(s, a) = sum_s' dP_a(s, s') V*(s'), and
to first order d log pi = G m for one matrix G. Frequencies of choices in s have the covariance
(diag(1/pi) - 1 1') / (n d(s)); those of transitions give w the variance Var(V*(s') | s, a) /
(n d(s, a)), independently over cells. The error of each choice and transition has mean zero given
the past, so information adds up as if periods were independent draws from d_H.

The bounds are first-order, and hold for regular estimators of the stated class.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gladius.model.mdp import TabularMDP
from gladius.validate import Array, InputError, check_finite, shaped

LARGEST_CONDITION = 1e12  # of the scaled information; beyond it half of all digits are lost
SPAN_TOLERANCE = 1e-9  # relative distance of the reward from a class that counts as membership


@dataclass(frozen=True)
class Linearisation:
    """The response of the expert's choices to reward and transitions, to first order."""

    world: TabularMDP  # the model, cut down to the S' states in which choices are observed
    occupancy: Array  # (S', A) d_H(s, a), positive
    response: Array  # (S' A, S' A) the matrix G: d log pi(a | s) for a unit of m(s', a')
    spread: Array  # (S', A) Var(V*(s') | s, a)


@dataclass(frozen=True)
class Bounds:
    """Asymptotic expected MAPE in per cent, one entry for each number of training trajectories.

    An entry is nan where the world's reward is not in that class, since its parameters would then
    stand for something else. "Slope", "affine": in x, the first feature, for each action but
    the anchor.

    Attributes:
        known_p_both: P known; r(s, a) = slope_a x, anchor reward an unknown constant: maximum
            likelihood of both (Rust's oracle).
        known_p_slope: the same, anchor reward given.
        affine_known_p: P known, anchor reward given, r(s, a) = intercept_a + slope_a x.
        affine: the same with P unknown, P-hat from the transitions alone and then put into the
            likelihood of the choices (partial maximum likelihood).
        tabular: P and r unknown in every cell, anchor reward given. All regular estimators agree
            to first order, since the class fits choices and moves exactly.
    """

    known_p_both: Array
    known_p_slope: Array
    affine_known_p: Array
    affine: Array
    tabular: Array


def linearise(world: TabularMDP, horizon: int) -> Linearisation:
    """The first-order response of the expert in a model, observed for `horizon` periods.

    Raises:
        InputError: a state is only reached by the last transition, so that no choice is observed
            there and its value is not identified; or an action has probability zero.
    """
    full = world.occupancy(horizon)
    is_observed = full.sum(axis=1) > 0
    last = np.any(world.transition[:, is_observed] > 0, axis=(0, 1)) & ~is_observed
    if np.any(last):
        hint = f"state {np.argmax(last)} is reached but never acted in: lengthen it"
        raise InputError("horizon", horizon, hint)
    occupancy = full[is_observed]
    if np.any(occupancy == 0):
        s, a = (int(i) for i in np.argwhere((full == 0) & is_observed[:, None])[0])
        raise InputError(f"reward[{s}, {a}]", world.reward[s, a], "the expert never does this")
    cut = TabularMDP(
        world.reward[is_observed],
        world.transition[:, is_observed][:, :, is_observed],
        world.discount,
        world.initial[is_observed],
        world.features[is_observed],
    )
    policy, v = cut.solution.policy, cut.solution.v
    n, k = cut.reward.shape
    averaging = (np.eye(n)[:, :, None] * policy).reshape(n, n * k)
    of_v = np.linalg.solve(np.eye(n) - cut.discount * cut.flow(), averaging)
    transition = np.swapaxes(cut.transition, 0, 1).reshape(n * k, n)
    of_q = np.eye(n * k) + cut.discount * transition @ of_v
    mean = cut.transition @ v  # (A, S)
    spread = np.einsum("aij,aij->ia", cut.transition, (v - mean[..., None]) ** 2)
    return Linearisation(cut, occupancy, of_q - np.repeat(of_v, k, axis=0), spread)


@shaped
def linear_covariance(
    expert: Linearisation, basis: Float[Array, "S A K"], is_known: bool
) -> Float[Array, "K K"]:
    """Covariance of sqrt(n) (theta-hat - theta) where r = offset + basis @ theta.

    In the scale in which choices have unit noise, theta-hat is least squares: on the design
    sqrt(d) G basis, with noise I when P is known, and I + K K' when an estimated P enters,
    K = beta sqrt(d) G sqrt(Var(V') / d); two-step estimation is ordinary least squares under
    that noise (the sandwich).

    Raises:
        InputError: the choices do not identify theta.
    """
    d = expert.occupancy.reshape(-1, 1)
    design = np.sqrt(d) * (expert.response @ basis.reshape(len(d), -1))
    condition = float(np.linalg.cond(design / np.linalg.norm(design, axis=0).clip(1e-300)) ** 2)
    if not condition < LARGEST_CONDITION:
        raise InputError("basis", basis.shape, "the choices do not identify these rewards")
    covariance = np.asarray(np.linalg.inv(design.T @ design), dtype=float)
    if not is_known:
        shock = np.sqrt(expert.spread.reshape(1, -1) / d.T)
        nuisance = expert.world.discount * np.sqrt(d) * expert.response * shock
        leak = covariance @ design.T @ nuisance
        covariance += leak @ leak.T
    return covariance


@shaped
def linear_deviation(
    expert: Linearisation, basis: Float[Array, "S A K"], is_known: bool
) -> Float[Array, "S A"]:
    """Standard deviation of sqrt(n) (r-hat - r) of the theta-hat of `linear_covariance`."""
    covariance = linear_covariance(expert, basis, is_known)
    variance: Array = np.einsum("sak,kl,sal->sa", basis, covariance, basis)
    return np.sqrt(variance)


@shaped
def tabular_deviation(expert: Linearisation, anchor_action: int) -> Float[Array, "S A"]:
    """Standard deviation of sqrt(n) (r-hat - r) of the plug-in with the anchor's reward given.

    V = (I - beta P_b)^-1 (r_b - log pi_b) for the anchor b, and r_a = V + log pi_a - beta P_a V, so
    with M_a = (I - beta P_a)(I - beta P_b)^-1

        dr_a = d log pi_a - beta w_a + M_a (beta w_b - d log pi_b),

    zero for a = b. The covariances of the module's docstring give its variance cell by cell.
    """
    world, d, b = expert.world, expert.occupancy, anchor_action
    n, k = d.shape
    beta, eye = world.discount, np.eye(n)
    state = d.sum(axis=1)
    level = np.linalg.inv(eye - beta * world.transition[b])
    choice = 1.0 / d - 1.0 / state[:, None]  # n Var(d log pi)
    move = beta**2 * expert.spread / d
    deviation = np.zeros_like(d)
    for a in set(range(k)) - {b}:
        m = (eye - beta * world.transition[a]) @ level
        between = 2.0 * np.diagonal(m) / state  # Cov(d log pi_a, d log pi_b) = -1 / (n d(s))
        variance = choice[:, a] + between + move[:, a] + m**2 @ (choice[:, b] + move[:, b])
        deviation[:, a] = np.sqrt(variance)
    return deviation


@shaped
def expected_mape(
    expert: Linearisation, deviation: Float[Array, "S A"], transitions: Float[Array, "*sizes"]
) -> Float[Array, "*sizes"]:
    """E[MAPE] in per cent for each number n of training transitions; see the module's docstring."""
    reward = expert.world.reward
    if np.any(reward == 0):
        raise InputError("reward", 0.0, "MAPE is undefined where the true reward is zero")
    coefficient = np.sum(expert.occupancy * deviation / np.abs(reward))
    return np.asarray(100.0 * np.sqrt(2.0 / (np.pi * transitions)) * float(coefficient))


def bounds(
    world: TabularMDP,
    horizon: int,
    trajectories: Sequence[float] | Array,
    anchor_action: int = 1,
) -> Bounds:
    """The asymptotic expected MAPE of each class of `Bounds`.

    Args:
        world: the simulation model; no estimator may call this.
        horizon: H, periods of a trajectory.
        trajectories: numbers of training trajectories, 0.8 N for the paper's N.
        anchor_action: the action whose reward is given (replacement in the bus engine).
    """
    number = np.atleast_1d(check_finite("trajectories", trajectories))
    if np.any(number <= 0):
        raise InputError("trajectories", float(number[number <= 0][0]), "give positive numbers")
    actions = world.reward.shape[1]
    expert = linearise(world, horizon)
    reward = expert.world.reward
    each = np.broadcast_to(np.eye(actions), (*reward.shape, actions))  # [s, a, parameter]
    level, intercepts = each[..., [anchor_action]], np.delete(each, anchor_action, axis=-1)
    slopes = expert.world.features[:, 0, None, None] * intercepts
    transitions = horizon * number

    def linear(basis: Array, *, given: bool = True, p_known: bool = True) -> Array:
        """The bound of the class offset + basis @ theta; nan where the reward is not in it."""
        target = (reward - given * reward * (np.arange(actions) == anchor_action)).ravel()
        matrix = basis.reshape(reward.size, -1)
        residual = target - matrix @ np.linalg.lstsq(matrix, target, rcond=None)[0]
        scale = max(1.0, float(np.max(np.abs(target))))
        if np.max(np.abs(residual)) > SPAN_TOLERANCE * scale:
            return np.full(len(number), np.nan)
        return expected_mape(expert, linear_deviation(expert, basis, p_known), transitions)

    affine = np.concatenate([slopes, intercepts], axis=-1)
    return Bounds(
        known_p_both=linear(np.concatenate([slopes, level], axis=-1), given=False),
        known_p_slope=linear(slopes),
        affine_known_p=linear(affine),
        affine=linear(affine, p_known=False),
        tabular=expected_mape(expert, tabular_deviation(expert, anchor_action), transitions),
    )


def irrelevant_input_variance(expert: Linearisation) -> float:
    """tau^2: of sqrt(n) (r-hat - r) for each input that does not matter, if it gets coefficients.

    An input of unit variance, independent of all else, in a reward with two actions and a given
    anchor. The coefficient of r is that of the log-odds, whose variance is 1 / E[pi_0 pi_1], less
    beta times the difference of zeta's in the two actions, each the coefficient of a regression of
    V(s') with variance E[Var(V' | s, a)] / P(a); the three are independent.
    """
    world, d = expert.world, expert.occupancy
    policy = world.solution.policy
    logit = 1.0 / float(np.sum(d.sum(axis=1) * policy[:, 0] * policy[:, 1]))
    taken = d.sum(axis=0)
    regressions = np.sum(d * expert.spread, axis=0) / taken**2
    return logit + world.discount**2 * float(regressions.sum())
