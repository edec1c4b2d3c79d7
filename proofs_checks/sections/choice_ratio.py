"""The two places where the choice probability is printed without exp."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from gladius.checks import Array
from gladius.mdp import TabularMDP
from gladius.objective import sampled_risk, value
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
    worst,
)
from proofs_checks.oracle import gumbel
from proofs_checks.sections.gumbel import LOCATIONS, QUADRATURE, rounding
from proofs_checks.worlds import tabular_mdps


def _ratio(q: Array) -> Array:
    """Q(s, a) / sum_a' Q(s, a'), over the last axis."""
    ratio: Array = q / q.sum(axis=-1, keepdims=True)
    return ratio


def _optimal(mdp: TabularMDP, policy: Array) -> CheckResult:
    """A policy (S, A) against the probability that Q(s, a) + epsilon_a is largest."""
    q = mdp.solution.q
    size = float(np.max(np.abs(q)))
    return worst(
        CheckResult(
            observed=float(policy[s, a]),
            relation="==",
            bound=float(np.exp(log_p)),
            tolerance=1e-12 + 8 * size * float(np.finfo(float).eps),
            reason="quadrature leaves 1e-13, and Q - V rounds at 1e-16 of Q's size",
        )
        for s in range(len(q))
        for a, log_p in enumerate(gumbel.largest(q[s])[0])
    )


def optimal_policy(mdp: TabularMDP) -> CheckResult:
    """pi*(a | s) = exp(Q(s, a)) / sum_a' exp(Q(s, a')).

    Decided: the agent takes the action with the largest Q(s, a) + epsilon_a (Equation VBellman);
    the probability of that by quadrature in every state, against the library's policy. The
    paper's Equation DDCopt, a few lines above, has this formula.
    """
    return _optimal(mdp, mdp.solution.policy)


def _exact_q() -> TabularMDP:
    """State 1 is absorbing with V(1) = 0, and both actions of state 0 lead there: Q(0, .) = r."""
    log_half = float(np.log(0.5))
    mdp = TabularMDP(
        reward=np.array([[1.0, -2.0], [log_half, log_half]]),
        transition=np.array([[[0.0, 1.0], [0.0, 1.0]]] * 2),
        discount=0.5,
        initial=np.array([1.0, 0.0]),
    )
    assume_stated(
        mdp.solution.residual < 1e-12, "Q solves the Bellman equation with delta = -gamma"
    )
    return mdp


@claim(
    "app.pi-star-ratio",
    verdict="misprint",
    instances=tabular_mdps(max_states=3),
    counterexample=Counterexample(
        make=_exact_q,
        text="Both actions of state 0 lead to the absorbing state 1, r(1, .) = log(1/2), so V(1) = "
        "0; r(0, .) = (1, -2) = Q(0, .).\n"
        "Printed: 1/(1 - 2) = -1 and -2/(1 - 2) = 2: no probabilities.\n"
        "With exp: e/(e + e^-2) = 0.9526 and 0.0474. (Shown: {observed:.0f}, not {bound:.4f}.)",
    ),
    corrected=optimal_policy,
    control=Control(
        broken="normalised over the states in place of the actions",
        check=lambda mdp: _optimal(mdp, softmax(mdp.solution.q, axis=0)),
        make=_exact_q,
    ),
)
def policy_as_ratio(mdp: TabularMDP) -> CheckResult:
    """pi*(s, a) = Q(s, a) / sum_a' Q(s, a').

    Where: Appendix B, the line under Equation DDCBellman_new.

    Assumes: finite state and action spaces; Q solves the Bellman equation; delta = -gamma.

    Decided: exp is missing, twice: the ratio of the Q themselves may be negative, exceed one or
    divide by zero, and it reverses the order of the actions where all Q are negative.
    """
    return _optimal(mdp, _ratio(mdp.solution.q))


def _likelihood(q: Array, probability: Array) -> CheckResult:
    """Claimed p-hat of one state's Q (A,) against the probability that Q + epsilon is largest."""
    log_p, _ = gumbel.largest(q)
    return worst(
        CheckResult(float(claimed), "==", float(np.exp(found)), 1e-12, QUADRATURE)
        for claimed, found in zip(probability, log_p, strict=True)
    )


def _library_nll(q: Array, action: int) -> float:
    row = q[None]
    one, zero = np.array([action]), np.zeros(1)
    return float(sampled_risk(row, row, one, zero, 0, zero, 0.5, zero).nll)


def exponential_choice(q: Array) -> CheckResult:
    """p-hat_Q(a | s) = exp(Q(s, a)) / sum_a' exp(Q(s, a')).

    Decided: -log p-hat is what the library's empirical risk takes as the negative log-likelihood
    of one row; compared, for every action, with -log of the probability that Q(s, a) plus Gumbel
    noise is largest, by quadrature. The paper's own p-hat under its empirical risk in Section 6
    has exp.
    """
    log_p, _ = gumbel.largest(q)
    return worst(
        CheckResult(_library_nll(q, a), "==", -float(found), rounding(q), QUADRATURE)
        for a, found in enumerate(log_p)
    )


def _bounded() -> Array:
    q = np.array([1.0, -2.0])
    assume_stated(bool(np.all(np.isfinite(q))), "Q is a bounded function")
    return q


@claim(
    "eq:BC.p-hat",
    verdict="misprint",
    instances=LOCATIONS,
    counterexample=Counterexample(
        make=_bounded,
        text="One state, Q(s, .) = (1, -2): the printed p-hat is (1/(-1), -2/(-1)) = (-1, 2), "
        "and log(-1) in Equation BC is undefined.\n"
        "With exp: e/(e + e^-2) = 0.9526 and 0.0474. (Shown: {observed:.0f}, not {bound:.4f}.)\n"
        "For Q(s, .) = (1, -1) the printed ratio divides by zero.",
    ),
    corrected=exponential_choice,
    control=Control(
        broken="the largest Q subtracted against overflow in the numerator only",
        check=lambda q: _likelihood(q, np.exp(q - np.max(q) - value(q))),
        make=lambda: np.array([1.0, -2.0]),
    ),
)
def ratio_of_q(q: Array) -> CheckResult:
    """p-hat_Q(a | s) = Q(s, a) / sum_a' Q(s, a').

    Where: Section 4, the line under Equation BC.

    Assumes: Q is a bounded function on S x A.

    Decided: p-hat is a law of actions whose negative log-likelihood Equation BC minimises, and
    under which Lemma minMLE recovers differences of Q; the ratio is neither. Read as a slip for
    the definition in Section 6, it is a misprint.
    """
    return _likelihood(q, _ratio(q))
