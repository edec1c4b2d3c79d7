"""Section 3, the set-up: the entropy-regularised agent, its value and its Bellman equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy.special import logsumexp

from gladius.checks import Array
from gladius.mdp import TabularMDP, action_values
from gladius.objective import value
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
    worst,
)
from proofs_checks.oracle import soft_bellman as oracle
from proofs_checks.worlds import Fitted, fitted, laws, tabular_mdps

WHY = "the library solves for V to a relative residual of 1e-12, which 1/(1 - beta) magnifies"


def rounding(mdp: TabularMDP, q: Array | None = None) -> float:
    """Tolerance for quantities of the size of V (and of Q, where given): see WHY."""
    scale = max(1.0, float(np.max(np.abs(mdp.solution.v))))
    if q is not None:
        scale = max(scale, float(np.max(np.abs(q))))
    return 4e-12 * scale / (1 - mdp.discount)


def zero(gap: Array, tolerance: float, reason: str = WHY) -> CheckResult:
    """That an array of differences vanishes."""
    return CheckResult(float(np.max(np.abs(gap))), "==", 0.0, tolerance, reason)


def small_world(reward: list[list[float]], discount: float = 0.5) -> TabularMDP:
    """Every state absorbing, each as likely as the others to be the first."""
    states, actions = np.shape(reward)
    stay = np.broadcast_to(np.eye(states), (actions, states, states))
    return TabularMDP(np.array(reward, float), stay, discount, np.full(states, 1 / states))


# --- the entropy-regularised agent


@dataclass(frozen=True)
class Rival:
    """A world and another policy (S, A)."""

    mdp: TabularMDP
    policy: Array


@st.composite
def rivals(draw: st.DrawFn) -> Rival:
    """Policies anywhere, pure ones included, or within 1e-3 of the best."""
    mdp = draw(tabular_mdps(4, 3))
    share = draw(st.sampled_from([1.0, 1e-3]))
    other = draw(laws(mdp.reward.shape))
    return Rival(mdp, share * other + (1 - share) * mdp.solution.policy)


def _optimal(at: Rival, entropy: float = 1.0) -> CheckResult:
    mdp, found = at.mdp, at.mdp.solution
    world = (mdp.transition, mdp.discount)
    own = oracle.policy_value(found.policy, mdp.reward, *world, entropy)
    other = oracle.policy_value(at.policy, mdp.reward, *world)
    loss = oracle.shortfall(at.policy, found.q - found.v[:, None], *world)
    tolerance = rounding(mdp, loss)
    gain = CheckResult(float(np.max(other - found.v)), "<=", 0.0, tolerance, WHY)
    return worst([zero(own - found.v, tolerance), gain, zero(found.v - other - loss, tolerance)])


@claim(
    "setup.softmax-policy",
    verdict="holds",
    instances=rivals(),
    control=Control(
        broken="the return of pi* counted without its entropy",
        check=lambda at: _optimal(at, entropy=0.0),
        make=lambda: Rival(small_world([[1.0, 0.0]]), np.array([[0.5, 0.5]])),
    ),
)
def softmax_policy(at: Rival) -> CheckResult:
    """V*(s) = log sum_a exp Q*(s, a) and pi*(a | s) = exp(Q*(s, a) - V*(s)) solve the
    entropy-regularised problem (lambda = 1).

    Where: Section 3, set-up of MaxEnt-IRL, "Further, we can show that".

    Assumes: finitely many actions, beta in (0, 1); here finitely many states.

    Decided: V* - V^pi = E_pi sum_h beta^h KL(pi || pi*) for every stationary pi (sum the definition
    of Q* along the path), so no policy is better from any state, and from nu_0 the maximiser is
    unique on the states it reaches (off them any policy is a maximiser; the paper means this one).
    Measured: returns of pi* and of drawn policies, summed period by period, against the library.
    """
    return _optimal(at)


def _fixed_point(
    at: Fitted, operator: Callable[[Array, Array, Array, float], Array], steps: int = 300
) -> CheckResult:
    mdp, best = at.mdp, at.mdp.solution.q
    world = (mdp.reward, mdp.transition, mdp.discount)
    tolerance = rounding(mdp, at.q)
    results = [zero(operator(best, *world) - best, tolerance)]
    q = at.q
    for _ in range(steps):
        q = operator(q, *world)
    for n, then in ((1, operator(at.q, *world)), (steps, q)):
        far = mdp.discount**n * float(np.max(np.abs(at.q - best)))
        results.append(
            CheckResult(float(np.max(np.abs(then - best))), "<=", far, tolerance, WHY),
        )
    return worst(results)


def _swapped(q: Array, reward: Array, transition: Array, discount: float) -> Array:
    """The Bellman operator with log sum exp outside the expectation."""
    mean = np.einsum("aij,jb->iab", transition, q)
    swapped: Array = reward + discount * logsumexp(mean, axis=2)
    return swapped


@claim(
    "eq:QBellman",
    verdict="holds",
    instances=fitted(),
    cost=3,
    control=Control(
        broken="log sum exp taken of the expected Q(s', .)",
        check=lambda at: _fixed_point(at, _swapped),
        make=lambda: Fitted(
            TabularMDP(
                np.array([[0.0, 1.0], [1.0, 0.0]]),
                np.full((2, 2, 2), 0.5),
                0.5,
                np.array([1.0, 0.0]),
            ),
            np.zeros((2, 2)),
        ),
    ),
)
def soft_bellman_equation(at: Fitted) -> CheckResult:
    """Q*(s, a) = r(s, a) + beta E[log sum_b exp Q*(s', b) | s, a], and Q* is its only bounded
    solution.

    Where: Section 3, Equation (QBellman), and "Q* is the unique solution to TQ - Q = 0".

    Assumes: beta in (0, 1), Q bounded and r bounded, without which no bounded solution need exist
    (the paper takes Q* in Q from Rust; see setup.Q-star-bounded); here finitely many states.

    Decided: T is a beta-contraction in sup norm. Measured: the library's Q* (Newton's method) is a
    fixed point of T written anew, and T^n of an arbitrary table comes within beta^n of its first
    distance from it, n = 1 and 300.
    """
    return _fixed_point(at, oracle.backup)


# --- the value function of the appendix


@dataclass(frozen=True)
class Period:
    """A world and a period h'."""

    mdp: TabularMDP
    now: int


def _recursion(at: Period, weight: Callable[[int, int], int]) -> CheckResult:
    """V(s_h') of the definition against the right side of the Bellman equation.

    `weight(h, h')` is the exponent of beta in the definition; it grows with h by one.
    """
    mdp, policy = at.mdp, at.mdp.solution.policy
    ahead = oracle.policy_value(policy, mdp.reward, mdp.transition, mdp.discount)

    def defined(now: int) -> Array:
        following: Array = mdp.discount ** weight(now, now) * ahead
        return following

    left = defined(at.now)
    right = value(action_values(mdp.reward, mdp.transition, mdp.discount, defined(at.now + 1)))
    s = int(np.argmax(np.abs(left - right)))
    return CheckResult(float(left[s]), "==", float(right[s]), rounding(mdp), WHY)


def value_from_its_own_period(at: Period) -> CheckResult:
    """V(s) = E_pi*[sum_{h >= h'} beta^(h - h') (r(s_h, a_h) + H(pi*(. | s_h))) | s_h' = s].

    Decided: counted from its own period the value does not depend on h', and splitting off the
    first term gives the Bellman equation. Measured: the sum against one step of the equation.
    """
    return _recursion(at, lambda h, now: h - now)


def _one_state() -> Period:
    at = Period(small_world([[1.0]]), 1)
    assume_stated(0 < at.mdp.discount < 1, "beta in (0, 1)")
    return at


@claim(
    "app.value-function-discount",
    verdict="misprint",
    instances=st.builds(Period, tabular_mdps(), st.integers(0, 5)),
    counterexample=Counterexample(
        make=_one_state,
        text="One state, one action, r = 1, beta = 1/2, h' = 1: V(s_1) = 1/2 + 1/4 + ... = "
        "{observed:g}.\nThe Bellman equation asks r + beta V(s_2) = 1 + (1/4 + 1/8 + ...)/2 = "
        "{bound:g}.",
    ),
    corrected=value_from_its_own_period,
    control=Control(
        broken="discounting from the period after h' on: beta^(h - h' + 1)",
        check=lambda at: _recursion(at, lambda h, now: h - now + 1),
        make=_one_state,
    ),
)
def value_discounted_from_zero(at: Period) -> CheckResult:
    """V(s_h') = E_pi*[sum_{h >= h'} beta^h (r(s_h, a_h) + H(pi*(. | s_h)))] satisfies
    V(s) = max_q {E_q[r + beta E V(s')] + H(q)}.

    Where: Appendix B, IRL with entropy regularisation and (with eps for H) single-agent DDC;
    Section 3 defines V* for h' = 0 only, where the two agree.

    Assumes: beta in (0, 1), pi* optimal; finite states (stated there).

    Decided: the printed sum is beta^h' V*(s): another function in every period, and no solution of
    the equation for any of them, since V(s_{h'+1}) on the right carries beta^(h'+1).
    """
    return _recursion(at, lambda h, now: h)


# --- Lemma expTD=BE


def _temporal_difference(at: Fitted, power: int = 1) -> CheckResult:
    """E over s' of the TD error, term by term, to a power, against the library's Bellman error."""
    mdp, q = at.mdp, at.q
    v = logsumexp(q, axis=1)
    mean = np.zeros_like(q)
    for a, law in enumerate(mdp.transition):
        for after, p in enumerate(law.T):
            sampled = mdp.reward[:, a] + mdp.discount * v[after]
            mean[:, a] += p * (sampled - q[:, a]) ** power
    error = action_values(mdp.reward, mdp.transition, mdp.discount, value(q)) - q
    scale = float(np.max(np.abs(mdp.reward)) + 2 * np.max(np.abs(q)) + 2) ** power
    return zero(mean - error**power, 1e-14 * scale, "rounding of sums of numbers of this size")


@claim(
    "lem:expTD=BE",
    verdict="holds",
    instances=fitted(),
    control=Control(
        broken="both sides squared: the mean squared TD error against the squared Bellman error",
        check=lambda at: _temporal_difference(at, power=2),
        make=lambda: Fitted(
            TabularMDP(np.zeros((2, 1)), np.full((1, 2, 2), 0.5), 0.5, np.array([1.0, 0.0])),
            np.array([[0.0], [1.0]]),
        ),
    ),
)
def mean_td_error(at: Fitted) -> CheckResult:
    """E_{s'}[T-hat Q(s, a, s')] = TQ(s, a) and E_{s'}[delta_Q(s, a, s')] = TQ(s, a) - Q(s, a).

    Where: Section 3, Lemma expTD=BE.

    Assumes: s' from P(. | s, a), Q bounded.

    Decided: the expectation is linear and r and Q do not depend on s'. Measured: the TD errors
    averaged successor by successor against the library's Bellman operator.
    """
    return _temporal_difference(at)
