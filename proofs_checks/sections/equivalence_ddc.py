"""Appendix B, both agents: the value functions, the optimal policy, and what choices say of Q."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from scipy.special import expit, softmax

from gladius.model.mdp import TabularMDP, action_values
from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims.claims import CheckResult, assumed, at_least, claim, equal, weakest
from proofs_checks.claims.instances import absorbing, leaving_zero, tables, tabular_mdps
from proofs_checks.claims.under_check import EPS, WHY, rounding, zero
from proofs_checks.oracle import gumbel
from proofs_checks.oracle import soft_bellman as oracle
from proofs_checks.sections.equivalence import QUADRATURE, quadrature_error

Period = tuple[TabularMDP, int]  # a world and a period h'


def value_from_its_own_period(
    period: Period, exponent: Callable[[int, int], int] = lambda h, start: h - start
) -> CheckResult:
    r"""$V(s) = E_{\pi^*}[\sum_{h \geq h'} \beta^{h - h'} (r(s_h, a_h) + H(\pi^*(\cdot \mid s_h)))
    \mid s_{h'} = s]$.

    Decided: counted from its own period the value does not depend on $h'$, and splitting off the
    first term gives the Bellman equation. Measured: the sum against one step of the equation.
    """
    mdp, start = period
    world = (mdp.reward, mdp.transition, mdp.discount)
    ahead = oracle.policy_value(mdp.solution.policy, *world)
    current, following = (mdp.discount ** exponent(h, h) * ahead for h in (start, start + 1))
    return equal(current, value(action_values(*world, following)), rounding(mdp), WHY)


@claim.misprint(
    "app.value-function-discount",
    instances=st.tuples(tabular_mdps(), st.integers(0, 5)),
    counterexample=lambda: (absorbing([[1.0]]), 1),
    text=(
        r"One state, one action, $r = 1$, $\beta = 1/2$, $h' = 1$: $V(s_1) = 1/2 + 1/4 + \dots = "
        "{observed:g}$.",
        r"The Bellman equation asks $r + \beta V(s_2) = 1 + (1/4 + 1/8 + \dots)/2 = {bound:g}$.",
    ),
    corrected=value_from_its_own_period,
    broken="discounting from the period after h' on: beta^(h - h' + 1)",
    rejected={"exponent": lambda h, start: h - start + 1},
)
def value_discounted_from_zero(period: Period) -> CheckResult:
    r"""$V(s_{h'}) = E_{\pi^*}[\sum_{h \geq h'} \beta^h (r(s_h, a_h) + H(\pi^*(\cdot \mid s_h)))]$
    satisfies $V(s) = \max_q \{E_q[r + \beta E V(s')] + H(q)\}$.

    Where: Appendix B, IRL with entropy regularisation and (with $\epsilon$ for $H$) single-agent
    DDC; Section 3 defines $V^*$ for $h' = 0$ only, where the two agree.

    Assumes: $\beta$ in (0, 1), $\pi^*$ optimal; finite states (stated there).

    Decided: the printed sum is $\beta^{h'} V^*(s)$, which is another function in every period. None
    of these functions solves the equation, since $V(s_{h'+1})$ on the right carries $\beta^{h'+1}$.
    """
    return value_from_its_own_period(period, lambda h, start: h)


# --- the optimal policy
def optimal_policy(mdp: TabularMDP, policy: Array | None = None) -> CheckResult:
    r"""$\pi^*(a \mid s) = \exp(Q(s, a)) / \sum_{a'} \exp(Q(s, a'))$.

    Decided: the agent takes the action with the largest $Q(s, a) + \epsilon_a$ (Equation VBellman);
    the probability of that by quadrature in every state, against the library's policy. The paper's
    Equation DDCopt, a few lines above, has this formula.
    """
    q, claimed = mdp.solution.q, mdp.solution.policy if policy is None else policy
    chance = np.exp([gumbel.largest(row)[0] for row in q])
    tolerance = 1e-12 + 8 * float(np.max(np.abs(q))) * EPS
    why = "quadrature leaves 1e-13, and Q - V rounds at 1e-16 of Q's size"
    return equal(claimed, chance, tolerance, why)


def _exact_q() -> TabularMDP:
    reward = np.array([[1.0, -2.0], np.log([0.5, 0.5])])
    mdp = replace(leaving_zero(2), reward=reward)
    assumed(mdp.solution.residual < 1e-12, "Q solves the Bellman equation with delta = -gamma")
    return mdp


@claim.misprint(
    "app.pi-star-ratio",
    instances=tabular_mdps(max_states=3),
    counterexample=_exact_q,
    text=(
        r"Both actions of state 0 lead to the absorbing state 1, $r(1, \cdot) = \log(1/2)$, so "
        r"$V(1) = 0$; $r(0, \cdot) = (1, -2) = Q(0, \cdot)$.",
        "Printed: $1/(1 - 2) = -1$ and $-2/(1 - 2) = 2$: no probabilities.",
        "With exp: $e/(e + e^{{-2}}) = "
        f"{expit(3):.4f}"
        "$ and "
        f"{expit(-3):.4f}"
        ". (Shown: {observed:.0f}, not {bound:.4f}.)",
    ),
    corrected=optimal_policy,
    broken="normalised over the states in place of the actions",
    rejected=lambda mdp: optimal_policy(mdp, softmax(mdp.solution.q, axis=0)),
)
def policy_as_ratio(mdp: TabularMDP) -> CheckResult:
    r"""$\pi^*(s, a) = Q(s, a) / \sum_{a'} Q(s, a')$.

    Where: Appendix B, the line under Equation `\ref{DDCBellman_new}`.

    Assumes: finite state and action spaces; $Q$ solves the Bellman equation; $\delta = -\gamma$.

    Decided: exp is missing twice. The ratio of the $Q$ themselves may be negative, exceed one or
    divide by zero. It reverses the order of the actions where all $Q$ are negative.
    """
    q = mdp.solution.q
    return optimal_policy(mdp, q / q.sum(axis=-1, keepdims=True))


# --- the value function of the DDC agent, and what choices say of Q
# A world, a period h' and the noise (S, A) seen there.
Noised = tuple[TabularMDP, int, Array]


@st.composite
def noised(draw: st.DrawFn) -> Noised:
    mdp = draw(tabular_mdps(3, 3))
    return mdp, draw(st.integers(0, 5)), draw(tables(mdp.reward.shape))


def ddc_value_given_noise(case: Noised, since: int | None = None, sees: bool = True) -> CheckResult:
    r"""$V(s, \epsilon) = E[\sum_{h \geq h'} \beta^{h - h'} (r(s_h, a_h) + \epsilon_{a_h}) \mid
    s_{h'} = s, \epsilon_{h'} = \epsilon]$, counted from its own period and given the noise too,
    solves the displayed equation.

    Decided: split off the first term. Measured: the sum with later noise by quadrature and period
    by period, the first action being the best at this noise, against $\max_a$ of the library's
    terms.
    """
    mdp, start, eps = case
    q, beta = mdp.solution.q, mdp.discount
    later = oracle.with_noise(q, mdp.reward, mdp.transition, beta, -float(np.euler_gamma))[0]
    ahead = beta * np.einsum("aij,j->ia", mdp.transition, later)
    best = np.argmax(q + eps, axis=1)[:, None]
    taken = np.take_along_axis(mdp.reward + eps + ahead, best, axis=1)[:, 0]
    current, power = taken if sees else later, beta ** (start - (start if since is None else since))
    right = np.max(mdp.reward + eps + power * (q - mdp.reward), axis=1)
    return equal(power * current, right, rounding(mdp, eps), WHY)


@claim.misprint(
    "app.DDC-value-function",
    instances=noised(),
    counterexample=lambda: (absorbing([[0.0]]), 0, np.ones((1, 1))),
    text=(
        r"One state, one action, $r = 0$, $\epsilon_0 = 1$: given $s$ alone $V = E \sum \beta^h "
        r"\epsilon_h = {observed:.3g}$;",
        r"the right side is $\epsilon_0 + \beta E V = {bound:.3g}$. For $h' = 1$ a factor "
        r"$\beta$ is missing too, as in",
        "the value function of the other agent.",
    ),
    corrected=ddc_value_given_noise,
    broken="given s alone, though discounted from its own period",
    rejected={"sees": False},
)
def ddc_value_given_the_state(case: Noised) -> CheckResult:
    r"""$V(s_{h'}, \epsilon_{h'}) = E[\sum_{h \geq h'} \beta^h (r(s_h, a_h) + \epsilon_{a_h}) \mid
    s_{h'}]$ satisfies $V(s, \epsilon) = \max_a \{r(s, a) + \epsilon_a + \beta E[V(s', \epsilon')
    \mid s, a]\}$.

    Where: Appendix B, Single agent DDC, the definition before Equation VBellman.

    Assumes: $\epsilon \sim \mathrm{Gumbel}(-\gamma, 1)$, independent; decisions by Equation
    VBellman.

    Decided: there are two slips. Given $s$ alone, the left side does not depend on $\epsilon$, but
    the right side does. The factor $\beta^h$ from $h = 0$ makes the left side another function in
    every period (see app.value-function-discount).
    """
    return ddc_value_given_noise(case, since=0, sees=False)


@claim.holds(
    "app.Q-minus-log-policy",
    instances=tabular_mdps(max_states=3),
    broken="log pi* added, not subtracted",
    rejected={"sign": 1},
    rejected_at=lambda: absorbing([[0.0, 1.0]]),
)
def q_minus_log_policy(mdp: TabularMDP, sign: int = -1) -> CheckResult:
    r"""$Q(s, a') - \log \pi^*(a' \mid s) = \log \sum_a \exp Q(s, a) = V(s)$ for every $a'$.

    Where: Appendix B, IRL with entropy regularisation, "The last line comes from the fact that".

    Assumes: $\pi^*$ the softmax of $Q$.

    Decided: $\log \pi^* = Q - V$. Measured: $\log \pi^*$ as the probability, by quadrature, that $Q
    + \epsilon$ is largest, at every pair, against the library's $V$.
    """
    q = mdp.solution.q
    log_policy = np.array([gumbel.largest(row)[0] for row in q])
    gap = q + sign * log_policy - mdp.solution.v[:, None]
    return zero(gap, rounding(mdp) + quadrature_error(q), QUADRATURE)


Levels = tuple[TabularMDP, Array]  # a world, and a common change (S,) of Q in each state


def unique_up_to_a_level(case: Levels, strength: float | None = None) -> CheckResult:
    r"""The $Q$ with $\pi^* = \mathrm{softmax}(Q)$ are $Q^* + c(s)$, $c$ any function of the state.
    Only the Bellman equation makes $Q$ unique: $Q^* + c$ misses it by $(1 - \beta) \max|c|$ at
    least somewhere.

    Decided: $\mathrm{softmax}(Q) = \mathrm{softmax}(Q^*)$ says that $Q - Q^*$ does not depend on
    $a$. Measured: choices by quadrature at $Q^* + c$, and the library's Bellman error there.
    """
    mdp, level = case
    q = mdp.solution.q + level[:, None]
    tolerance = rounding(mdp, q) + quadrature_error(q)
    same = [gumbel.largest(row)[0] for row in q] - (mdp.solution.q - mdp.solution.v[:, None])
    error = action_values(mdp.reward, mdp.transition, mdp.discount, value(q)) - q
    share = 1 - mdp.discount if strength is None else strength
    far = share * float(np.max(np.abs(level)))
    return weakest(zero(same, tolerance), at_least(np.abs(error).max(), far, tolerance, WHY))


@claim.misprint(
    "app.Q-unique-from-choices",
    instances=tabular_mdps(max_states=3).flatmap(
        lambda mdp: st.tuples(st.just(mdp), tables(len(mdp.initial)))
    ),
    counterexample=lambda: (absorbing([[0.0, 0.0]]), np.ones(1)),
    text=(
        "One state, two actions: $Q = (0, 0)$ and $Q = (1, 1)$ have the same softmax, (1/2, 1/2).",
        "They differ by {observed:g}; were $Q$ unique, by {bound:g}.",
    ),
    corrected=unique_up_to_a_level,
    broken="the Bellman error of Q* + c taken to be max|c|, without discounting",
    rejected={"strength": 1.0},
)
def unique_by_its_choices(case: Levels) -> CheckResult:
    r"""The $Q$ that satisfies $\pi^* = \mathrm{softmax}(Q)$ (Equation DDCopt) is unique.

    Where: Appendix B, Equivalence, last paragraph: "$Q$ that satisfies $[\text{DDCopt}]$ is
    unique".

    Assumes: $\pi^*$ given; $Q$ a function on $S \times A$.

    Decided: softmax ignores a common shift. A wrong reference: the Bellman equation of the lines
    above is meant, by which the sentence is true.
    """
    mdp, level = case
    return equal(np.abs(level).max(), 0.0, rounding(mdp), WHY)
