"""Finite dependence through a renewal action (Arcidiacono and Miller 2011): CCPs without inversion.

If action j leads to the same law F of the next state from everywhere, then with
V(s) = r(s, j) + beta F V - log pi(j | s) the choice of any action now, followed by j, leads to the
same state in law, and the unknown F V cancels from every comparison of actions:

    Q(s, a) - Q(s, j) = r(s, a) - r(s, j) + beta (P_a - F)[ r(., j) - log pi(j | .) ](s).

So with known pi the likelihood is a logit in theta with an offset, and with an anchored r(., j) the
reward itself is read off (`renewal_rewards`). On the bus engine, with replacement,

    r(x, 0) = r(x, 1) - log[pi(1|x) / pi(0|x)] + beta { E_0[log pi(1|x')] - log pi(1|1) }
              - beta { E_0[r(x', 1)] - r(1, 1) }        (the last line is 0 for a constant r(., 1)).

`anchored_rewards` is the other display, for any anchor and by inversion: V = (I - beta P_j)^-1
(r_j - log pi_j), Q = V + log pi, r = Q - beta P V; it is what the method `plug_in` computes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gladius.checks import Array, InputError
from gladius.transition_probabilities import anchored_value
from gladius.transitions import Integers

LAW_TOLERANCE = 1e-12  # two rows this close are one law: sums of probabilities differ by rounding


def check_renewal(
    law: Array, action: int, present: NDArray[np.bool_] | None, visits: Array
) -> None:
    """Raise unless the action's law is the same from every state (and no path ends otherwise).

    Args:
        law: (A, S, S) given, or (R, A, S, S) estimated.
        action: j.
        present: (R, S) states that each replication holds; None: all.
        visits: (R, S, A), to tell of an action that was never taken and has no law at all.
    """
    rows = law if law.ndim == 4 else law[None]
    never = np.flatnonzero(visits[:, :, action].sum(axis=1) == 0)
    if len(never):
        hint = f"it is never taken in data set {never[0]}: nothing tells of its law"
        raise InputError("renewal_action", action, hint)
    for r, table in enumerate(rows):
        own = np.ones(len(table[0]), bool) if present is None else present[r]
        renewal = table[action, own]
        if np.any(np.abs(renewal - renewal[0]) > LAW_TOLERANCE):
            where = "" if law.ndim == 3 else f" in data set {r}"
            hint = (
                f"its law of the next state{where} depends on the state, so it is no renewal: "
                "name one that is, give its true law, or do without finite_dependence"
            )
            raise InputError("renewal_action", action, hint)
        mass = table[:, own].sum(axis=-1)
        if np.any(np.abs(mass - mass[action, 0]) > LAW_TOLERANCE):
            hint = "the chance that a path ends depends on state or action: F V does not cancel"
            raise InputError("finite_dependence", True, hint)


def regressors(
    log_policy: Array, law: Array, design: Array, offset: Array, discount: float, action: int
) -> tuple[Array, Array]:
    """Regressors (R, S, A, k) and offset (R, S, A) of the logit, up to a level per state.

    Args:
        log_policy: (R, S) log pi(j | s), finite.
        law: (A, S, S) or (R, A, S, S).
        design: (S, A, k), offset: (S, A): the reward's form.
        discount: beta.
        action: j.
    """
    x = design + discount * np.moveaxis(law @ design[:, action], -3, -2)
    now = offset[:, action] - log_policy
    ahead = (law @ now[:, None, :, None])[..., 0]
    return (
        np.broadcast_to(x, (len(log_policy), *design.shape)),
        offset + discount * np.moveaxis(ahead, 1, 2),
    )


def value(log_policy: Array, reward: Array, law: Array, discount: float, action: int) -> Array:
    """(R, S) V = r(., j) - log pi(j | .) + beta F V, from (R, S) log pi(j | .) and r(., j)."""
    rows = law if law.ndim == 4 else law[None]
    now = reward - log_policy
    renewal = rows[:, action, 0]
    mass = renewal.sum(axis=1)
    level = np.sum(np.where(renewal > 0, renewal * now, 0.0), axis=1) / (1 - discount * mass)
    return np.asarray(now + discount * level[:, None])


def sandwich(
    visits: Array,
    cells: Array,
    lender: Integers,
    x: Array,
    policy: Array,
    inverse: Array,
    law: Array,
    discount: float,
    action: int,
) -> Array:
    """(R, k, k) covariance of theta with the sampling error of frequency CCPs in it.

    theta solves g(theta, n) = 0, g the score, whose offset holds log pi-hat(j | s') =
    log[(n(s', j) + c) / (n(s') + c A)] =: l(s'). By the delta method theta moves with n(s, a) by
    psi(s, a) = H^-1 [ x-centred(s, a) + (d g / d l(s)) (d l(s) / d n(s, a)) ], and given n(s) the
    counts of a state are multinomial, so that only differences between actions matter: of
    d l(s) / d n(s, a) = 1[a = j] / (n(s, j) + c) - 1 / (n(s) + c A) the first term. The transition
    law is taken as known.

    Args:
        visits: (R, S, A) n(s, a).
        cells: (R, S, A) n(s, a) + c of the states seen (others are not read).
        lender: (R, S) the state whose frequencies stand for each state's.
        x: (R, S, A, k) the logit's regressors.
        policy: (R, S, A) fitted choice probabilities.
        inverse: (R, k, k) inverse information of the logit.
        law: (A, S, S) or (R, A, S, S).
        discount: beta.
        action: j.
    """
    laws = np.broadcast_to(law, (len(visits), *law.shape[-3:]))
    seen = visits.sum(axis=2)
    centred = x - np.einsum("rsa,rsak->rsk", policy, x)[:, :, None]
    # d g / d log pi(j | s'): the offset holds -beta P_a log pi(j | .), the score minus the
    # choices it predicts
    pull = discount * np.einsum("rsa,rsak,rast->rtk", seen[..., None] * policy, centred, laws)
    at_lender = np.zeros_like(pull)
    for r, lent in enumerate(lender):
        np.add.at(at_lender[r], lent, pull[r])
    chosen = np.arange(visits.shape[2]) == action
    slope = np.where(chosen, 1 / np.where(cells > 0, cells, np.inf), 0.0)
    psi = np.einsum("rkl,rsal->rsak", inverse, centred + slope[..., None] * at_lender[:, :, None])
    psi = psi - np.einsum("rsa,rsak->rsk", policy, psi)[:, :, None]
    weight = seen[..., None] * policy
    return np.asarray(np.einsum("rsa,rsak,rsal->rkl", weight, psi, psi))


def renewal_rewards(
    policy: Array, law: Array, anchor_reward: Array, discount: float, action: int
) -> Array:
    """(S, A) r from CCPs (S, A), P (A, S, S) and r(., j) (S,): the display, without inversion."""
    log_policy = np.log(policy)
    now = anchor_reward - log_policy[:, action]
    ahead = discount * ((law - law[action]) @ now).T
    return np.asarray(anchor_reward[:, None] + log_policy - log_policy[:, [action]] - ahead)


def anchored_rewards(
    policy: Array, law: Array, anchor_reward: Array, discount: float, action: int
) -> Array:
    """(S, A) r from the same, for any action whose reward is known: the display by inversion."""
    v = anchored_value(policy[:, action], law[action], anchor_reward, discount)
    return np.asarray(v[:, None] + np.log(policy) - discount * (law @ v).T)
