"""Section 3, the dynamic discrete choice agent and its equivalence with the entropy-regularised."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    """A world, and the location delta and scale lambda of the DDC agent's Gumbel noise.

    lambda is also the weight of the MaxEnt agent's entropy.
    """

    mdp: TabularMDP
    delta: float
    scale: float = 1.0

    @property
    def at_one(self) -> TabularMDP:
        """The world with rewards r / lambda, where lambda is one."""
        return replace(self.mdp, reward=self.mdp.reward / self.scale)

    @property
    def ahead(self) -> float:
        """lambda (delta + gamma)/(1 - beta), what the noise's mean is worth from now on."""
        return self.scale * (self.delta + EULER) / (1 - self.mdp.discount)


LOCATIONS = st.just(-EULER) | st.integers(-12, 12).map(lambda n: n / 4)
SCALES = st.sampled_from([1.0, 0.5, 2.0]) | st.floats(0.25, 4.0)


def _equivalent(at: Noisy, shift: float) -> CheckResult:
    """lambda Q* + shift, Q* of the library at r / lambda, solves both agents' problems.

    The MaxEnt agent earns lambda V* and loses lambda KL by another policy (the uniform one); the
    DDC agent's equation holds at lambda Q* + shift, and both make the library's choices.
    """
    mdp, found, scale = at.mdp, at.at_one.solution, at.scale
    world = (mdp.transition, mdp.discount)
    uniform = np.full_like(found.policy, 1 / found.policy.shape[1])
    log_best = found.q - found.v[:, None]
    own, other = (
        oracle.policy_value(policy, mdp.reward, *world, scale) for policy in (found.policy, uniform)
    )
    loss = scale * oracle.shortfall(uniform, log_best, *world)
    q: Array = scale * found.q + shift
    largest = scale * oracle.expected_largest(q / scale, at.delta)
    following = np.stack([law @ largest for law in mdp.transition], axis=1)
    _, log_p = oracle.with_noise(q / scale, mdp.reward, *world, at.delta)
    tolerance = max(1.0, scale) * rounding(at.at_one, np.concatenate([q / scale, loss[:, None]], 1))
    return worst(
        [
            zero(own - scale * found.v, tolerance),
            zero(own - other - loss, tolerance),
            zero(mdp.reward + mdp.discount * following - q, tolerance),
            zero(log_p - log_best, tolerance),
        ]
    )


@claim(
    "sec:DDCIRLequiv",
    verdict="holds",
    instances=st.builds(Noisy, tabular_mdps(3, 3), LOCATIONS, SCALES),
    control=Control(
        broken="the shift of V, (delta + gamma)/(1 - beta), taken for that of Q",
        check=lambda at: _equivalent(at, at.ahead),
        make=lambda: Noisy(small_world([[0.0, 1.0]]), 0.0),
    ),
)
def equivalence(at: Noisy) -> CheckResult:
    """At lambda = 1 and delta = -gamma the DDC agent has the MaxEnt agent's Q* and pi*; at another
    delta its Q is Q* + beta (delta + gamma)/(1 - beta) and pi* is the same; at another lambda all
    of it holds for Q*/lambda and r/lambda, the DDC agent's noise being lambda eps_a.

    Where: Section 3, "DDC -- MaxEnt-IRL equivalence", and Appendix B.

    Assumes: eps_a independent Gumbel(delta, 1) over actions and periods, seen before acting;
    lambda > 0, and "extend directly to any lambda" read as lambda times the noise.

    Decided: E max_a {Q(s, a) + eps_a} = log sum exp Q + delta + gamma, and the chosen a is softmax
    of Q; dividing either objective by lambda leaves the one at lambda = 1. Measured: both by
    quadrature over the noise at lambda times the library's Q* for r/lambda, and that the MaxEnt
    agent's return with lambda H is lambda V*, the uniform policy's less by lambda KL.
    """
    return _equivalent(at, at.mdp.discount * at.ahead)
