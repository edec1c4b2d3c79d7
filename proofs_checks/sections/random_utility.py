"""Section 3, the dynamic discrete choice agent and its equivalence with the entropy-regularised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from gladius.checks import Array
from gladius.mdp import TabularMDP
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
    worst,
)
from proofs_checks.oracle import soft_bellman as oracle
from proofs_checks.sections.setup import WHY, rounding, small_world, zero
from proofs_checks.worlds import Fitted, fitted, tabular_mdps

EULER = float(np.euler_gamma)


def _noise_seen(at: Fitted, location: float = -EULER) -> CheckResult:
    mdp, found = at.mdp, at.mdp.solution
    world = (mdp.reward, mdp.transition, mdp.discount, location)
    best, _ = oracle.with_noise(found.q, *world)
    other, _ = oracle.with_noise(at.q, *world)
    tolerance = rounding(mdp, at.q)
    gain = CheckResult(float(np.max(other - found.v)), "<=", 0.0, tolerance, WHY)
    return worst([zero(best - found.v, tolerance), gain])


def policies_that_see_the_noise(at: Fitted) -> CheckResult:
    """The maximum is over stationary policies that see (s, eps), maps from S x R^A to A; its
    value is V*(s) = E_eps max_a {r(s, a) + eps_a + beta E[V*(s') | s, a]}.

    Decided: dynamic programming on the state (s, eps). For given choice shares pi(. | s) no rule
    has E[eps_a] above H(pi(. | s)), which ties the maximum to the entropy-regularised one.
    Measured: the agent who takes the largest index(s, a) + eps_a earns V* (library) at index Q*
    and no more at a drawn index; shares and mean noise by quadrature, returns summed over periods.
    """
    return _noise_seen(at)


def _coin() -> Fitted:
    at = Fitted(small_world([[0.0, 0.0]]), np.zeros((1, 2)))
    assume_stated(at.mdp.reward.shape[1] == 2, "finitely many actions")
    assume_stated(0 < at.mdp.discount < 1, "beta in (0, 1)")
    return at


@claim(
    "setup.ddc-policy-class",
    verdict="misprint",
    instances=fitted(max_states=3),
    counterexample=Counterexample(
        make=_coin,
        text="One state, two actions, r = 0, beta = 1/2. The displayed Bellman equation gives "
        "V = log 2 + V/2 = {observed:.6f}.\nA policy pi(a | s) draws a without seeing eps, so "
        "E eps_a = 0 in every period\nand each policy is worth {bound:g}.",
    ),
    corrected=policies_that_see_the_noise,
    control=Control(
        broken="noise of mean gamma (delta = 0)",
        check=lambda at: _noise_seen(at, location=0.0),
        make=_coin,
    ),
)
def policies_blind_to_the_noise(at: Fitted) -> CheckResult:
    """max over pi in Delta_A^S of E_pi[sum_h beta^h (r(s_h, a_h) + eps_{a_h}) | s_0 = s] is the
    V*(s) = E_eps max_a {r(s, a) + eps_a + beta E[V*(s') | s, a]} of the displayed equation.

    Where: Section 3, set-up of DDC (twice), and Appendix B, Assumption optimaldecision.

    Assumes: eps_a independent Gumbel(-gamma, 1), of mean 0; a_h drawn from pi(. | s_h) (Section 3).

    Decided: a policy in Delta_A^S depends on s alone, so eps drops out in expectation and the
    maximum is the plain optimum (here by trying all pure policies). The mend is evident: the
    displayed equation maximises inside E_eps.
    """
    mdp = at.mdp
    displayed = mdp.solution.v
    blind = oracle.best_blind(mdp.reward, mdp.transition, mdp.discount)
    s = int(np.argmax(np.abs(displayed - blind)))
    return CheckResult(float(displayed[s]), "==", float(blind[s]), rounding(mdp), WHY)


# --- the equivalence


@dataclass(frozen=True)
class Noisy:
    """A world and the location delta of the DDC agent's Gumbel noise."""

    mdp: TabularMDP
    delta: float


LOCATIONS = st.just(-EULER) | st.integers(-12, 12).map(lambda n: n / 4)


def _shifted(at: Noisy, shift: float) -> CheckResult:
    """Q* + shift solves the DDC agent's equation and makes the library's choices."""
    mdp, found = at.mdp, at.mdp.solution
    q: Array = found.q + shift
    ahead = oracle.expected_largest(q, at.delta)
    following = np.stack([law @ ahead for law in mdp.transition], axis=1)
    tolerance = rounding(mdp, q)
    residual = mdp.reward + mdp.discount * following - q
    _, log_p = oracle.with_noise(q, mdp.reward, mdp.transition, mdp.discount, at.delta)
    return worst(
        [
            zero(residual, tolerance),
            zero(log_p - (found.q - found.v[:, None]), tolerance),
        ]
    )


@claim(
    "sec:DDCIRLequiv",
    verdict="holds",
    instances=st.builds(Noisy, tabular_mdps(3, 3), LOCATIONS),
    control=Control(
        broken="the shift of V, (delta + gamma)/(1 - beta), taken for that of Q",
        check=lambda at: _shifted(at, (at.delta + EULER) / (1 - at.mdp.discount)),
        make=lambda: Noisy(small_world([[0.0, 1.0]]), 0.0),
    ),
)
def equivalence(at: Noisy) -> CheckResult:
    """At lambda = 1 and delta = -gamma the DDC agent has the MaxEnt agent's Q* and pi*; at another
    delta its Q is Q* + beta (delta + gamma)/(1 - beta) and pi* is the same.

    Where: Section 3, "DDC -- MaxEnt-IRL equivalence", and Appendix B.

    Assumes: eps_a independent Gumbel(delta, 1) over actions and periods, seen before acting.

    Decided: E max_a {Q(s, a) + eps_a} = log sum exp Q + delta + gamma, and the chosen a is softmax
    of Q. Measured: both by quadrature over the noise at the library's Q* of the MaxEnt agent.
    """
    return _shifted(at, at.mdp.discount * (at.delta + EULER) / (1 - at.mdp.discount))
