"""Sections 2 to 4, three remarks: Su and Judd's constraints, counterfactuals, cloning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gladius.checks import Array
from gladius.mdp import TabularMDP, action_values, soft_bellman
from gladius.objective import value
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
    worst,
)
from proofs_checks.oracle import ccp
from proofs_checks.oracle import soft_bellman as oracle
from proofs_checks.sections.minimiser import Moved, moved, off_track, population
from proofs_checks.sections.setup import WHY, rounding, small_world, zero
from proofs_checks.sections.state_space import MILD
from proofs_checks.worlds import REWARDS, VALUES, tabular_mdps

# --- the constraints of MPEC


@dataclass(frozen=True)
class Mixture:
    """Two rewards on one world's moves, how far V lies above each solution, and a share.

    Attributes:
        mdp: the world with the first reward.
        reward: (S, A) the second.
        above: (2, S) what is added to log sum exp of the two; 0 for solutions.
        share: of the first in the mixture.
    """

    mdp: TabularMDP
    reward: Array
    above: Array
    share: float


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    mdp = draw(tabular_mdps(4, 3))
    states, actions = mdp.reward.shape
    reward = draw(arrays(np.float64, (states, actions), elements=REWARDS))
    above = draw(arrays(np.float64, (2, states), elements=st.integers(0, 8).map(float)))
    return Mixture(mdp, reward, above, draw(st.sampled_from([0.5, 0.1, 0.0])))


def _mixed(at: Mixture, above: Array) -> tuple[Array, Array, Array, float]:
    """(log sum exp of the right side, V, V*) at the mixture of two points, and a tolerance.

    Each point is a reward and the V that solves V = log sum exp(r + beta P V) + above.
    """
    world = (at.mdp.transition, at.mdp.discount)
    rewards = (at.mdp.reward, at.reward)
    lifted = [soft_bellman(r + up[:, None], *world).v for r, up in zip(rewards, above, strict=True)]
    r, v = (at.share * x + (1 - at.share) * y for x, y in (rewards, lifted))
    scale = max(1.0, *(float(np.max(np.abs(x))) for x in lifted))
    right = value(action_values(r, *world, v))
    return right, v, soft_bellman(r, *world).v, 4e-12 * scale / (1 - at.mdp.discount)


def inequalities_are_convex(at: Mixture) -> CheckResult:
    """The soft Bellman inequalities V >= log sum exp(r_theta + beta P V) form a convex set, not a
    polyhedral one, of (theta, V) where r_theta is linear; for each theta its least V is the
    solution. The equations themselves are nonlinear constraints.

    Decided: log sum exp is convex and not piecewise linear; V -> log sum exp(r + beta P V) is
    monotone and a contraction, so all that lies above its image lies above V*. Measured: mixtures
    of points with and without slack satisfy the inequality and lie above V* (library).
    """
    right, v, least, tolerance = _mixed(at, at.above)
    gaps = (right - v, least - v)
    return worst([CheckResult(float(np.max(gap)), "<=", 0.0, tolerance, WHY) for gap in gaps])


def _below(at: Mixture) -> CheckResult:
    """The other inequality, V <= log sum exp(...), at the mixture of two solutions."""
    right, v, _, tolerance = _mixed(at, np.zeros_like(at.above))
    return CheckResult(float(np.max(v - right)), "<=", 0.0, tolerance, WHY)


def _two_rewards() -> Mixture:
    at = Mixture(small_world([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.zeros((2, 1)), 0.5)
    assume_stated(0 < at.mdp.discount < 1, "beta in (0, 1)")
    return at


@claim(
    "related.polyhedral",
    verdict="fails",
    instances=mixtures(),
    counterexample=Counterexample(
        make=_two_rewards,
        text="One state, two actions, beta = 1/2, r_theta = (theta, 1 - theta). Theta = 1 and 0 "
        "have V = 2 log(1 + e) = {observed:.6f}.\nThe midpoint theta = 1/2 with that V violates "
        "V = log(2 exp(1/2 + V/2)), whose right side is {bound:.6f}.\nWith max for log sum exp "
        "likewise: V = 2, 2, and V = max(1/2, 1/2) + V/2 gives 1.",
    ),
    corrected=inequalities_are_convex,
    control=Control(
        broken="the inequality the other way, V <= log sum exp(r + beta P V)",
        check=_below,
        make=_two_rewards,
    ),
)
def equations_are_polyhedral(at: Mixture) -> CheckResult:
    """The "Bellman equations constitute a convex polyhedral constraint set": in the variables
    (theta, V) of Su and Judd's programme, mixtures of two solutions of the equations
    V = log sum exp(r_theta + beta P V) are solutions.

    Where: Section 2, on Su and Judd (2012), whose programme is nonlinear and is said to be "a
    nested linear programming problem with Bellman equations as constraints of a linear program".

    Assumes: r_theta linear in theta, the case most favourable to the statement; P and beta fixed.

    Decided: the equation is that of the graph of a strictly convex function. For fixed theta the
    set is a single point and the statement empty; V >= max_a(r + beta P V), of the linear programme
    for plain dynamic programming, is polyhedral, but is neither an equation nor the DDC model's.
    """
    right, v, _, tolerance = _mixed(at, np.zeros_like(at.above))
    s = int(np.argmax(np.abs(right - v)))
    return CheckResult(float(v[s]), "==", float(right[s]), tolerance, WHY)


# --- counterfactuals from relabelled data


@dataclass(frozen=True)
class Relabelled:
    """The expert's world, an intervention on the reward, and an offline method's settings.

    Attributes:
        mdp: the world that generated the data.
        intervention: (S, A) Delta.
        start: (S, A) first guess of the method, which stays where there are no data.
        conservatism: alpha of conservative Q-learning; 0 without its penalty.
    """

    mdp: TabularMDP
    intervention: Array
    start: Array
    conservatism: float


@st.composite
def relabelled(draw: st.DrawFn) -> Relabelled:
    """Without a penalty; with states the expert never reaches."""
    mdp = draw(tabular_mdps(4, 3, st.sampled_from([0.5, 0.8, 0.9]), MILD))
    intervention = draw(arrays(np.float64, mdp.reward.shape, elements=MILD))
    start = draw(arrays(np.float64, mdp.reward.shape, elements=VALUES))
    return Relabelled(mdp, intervention, start, conservatism=0.0)


Rows = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Array]


def _logged(mdp: TabularMDP) -> tuple[NDArray[np.bool_], Rows]:
    """S-bar, and infinitely many rows as shares: s in S-bar, a from pi*, s' from P(. | s, a)."""
    inside = oracle.reachable(mdp.initial, mdp.transition)
    joint = mdp.solution.policy[:, :, None] * np.swapaxes(mdp.transition, 0, 1)
    s, a, after = np.nonzero((joint > 0) & inside[:, None, None])
    return inside, (s, a, after, joint[s, a, after])


def _counterfactual(at: Relabelled, conservatism: float) -> tuple[Array, Array, float]:
    """The policy an offline method learns and the true one, both (S-bar, A), and a tolerance."""
    mdp = at.mdp
    inside, rows = _logged(mdp)
    seen = ccp.Observed(
        mdp.solution.q - mdp.solution.v[:, None],
        mdp.transition,
        np.zeros(len(inside), dtype=np.int64),
        mdp.reward[:, 0],
        mdp.discount,
    )
    recovered = np.zeros_like(mdp.reward)
    recovered[inside] = ccp.solve(seen.restricted(inside))[1]
    label = (recovered + at.intervention)[rows[0], rows[1]]
    q = oracle.offline(at.start, rows, label, mdp.discount, conservatism)
    truth = soft_bellman(mdp.reward + at.intervention, mdp.transition, mdp.discount)
    learned = np.exp(q - value(q)[:, None])
    tolerance = rounding(mdp, truth.q) + 2 * mdp.discount**400 * float(np.max(np.abs(at.start)))
    return learned[inside], truth.policy[inside], tolerance


WHY_LEARNED = WHY + "; 400 sweeps leave beta^400 of the first distance"


def consistent_offline_learning(at: Relabelled) -> CheckResult:
    """Entropy-regularised Q-learning without a conservatism penalty, on the relabelled data, yields
    the counterfactual optimal policy on S-bar, without an estimate of P, as the rows of each (s, a)
    in S-bar x A become many: pi* > 0 gives all of them mass.

    Decided: no action leaves S-bar, so the fixed point of the logged backups is that of the soft
    Bellman equation there. Measured: fitted iteration on rows (s, a, r-hat + Delta, s') of S-bar,
    r-hat recovered from the same rows, against the library's solution of the changed world.
    """
    learned, truth, tolerance = _counterfactual(at, 0.0)
    return zero(learned - truth, tolerance, WHY_LEARNED)


def _coupon() -> Relabelled:
    mdp = small_world([[0.0, 0.0]])
    assume_stated(bool(np.all(mdp.solution.policy > 0)), "every action has mass on S-bar")
    change = np.array([[1 + np.log(3.0), 0.0]])
    return Relabelled(mdp, change, np.zeros((1, 2)), conservatism=1.0)


def _slightly_conservative(at: Relabelled) -> CheckResult:
    learned, truth, tolerance = _counterfactual(at, 0.01)
    return zero(learned - truth, tolerance, WHY_LEARNED)


@claim(
    "rem:counterfactual-without-P",
    verdict="holds-if",
    condition="the method's fixed point is the soft Bellman equation (no fixed conservatism "
    "penalty, entropy-regularised backups) and every (s, a) of S-bar x A has many rows",
    instances=relabelled(),
    cost=4,
    counterexample=Counterexample(
        make=_coupon,
        text="One state, r = 0, pi* = (1/2, 1/2), beta = 1/2, Delta = (1 + log 3, 0): the new "
        "policy takes action 0 with odds 3e : 1, share {bound:.4f}.\nCQL, alpha = 1, infinite "
        "data: its log-odds x solve x = 1 + log 3 - 2 (2 p(x) - 1) with p(x) = 1/(1 + e^-x),\n"
        "so x = log 3, p(x) = 3/4: share {observed:.4f}.",
    ),
    corrected=consistent_offline_learning,
    control=Control(
        broken="CQL's penalty kept at alpha = 0.01",
        check=_slightly_conservative,
        make=_coupon,
    ),
)
def any_offline_method(at: Relabelled) -> CheckResult:
    """On data relabelled with r-hat + Delta, "any standard modern offline-RL algorithm (e.g.,
    Conservative Q-Learning) can be applied [...] to obtain the counterfactual optimal policy
    without requiring an explicit estimate of the transition function P".

    Where: Section 3, remark "Counterfactual policy optimization without estimating P".

    Assumes: r-hat = r, infinitely many rows, every action with mass on S-bar, P unchanged; CQL in
    its entropy-regularised form, the closest to the model (the greedy one is further off).

    Decided: CQL's stationary point is Q = TQ - alpha (pi_Q/pi_data - 1); averaged over pi_data it
    shows that for no alpha > 0 is pi_Q the counterfactual policy, unless that is pi_data itself.
    That P need not be estimated is right. With finite data the answer is that of the empirical
    kernel, and pairs without a row are left to chance.
    """
    learned, truth, tolerance = _counterfactual(at, at.conservatism)
    at_most = np.unravel_index(np.argmax(np.abs(learned - truth)), truth.shape)
    return CheckResult(float(learned[at_most]), "==", float(truth[at_most]), tolerance, WHY_LEARNED)


# --- cloning


def _superset(at: Moved, factor: float | None = None) -> CheckResult:
    mdp, q = at.mdp, at.shifted
    tolerance = rounding(mdp, q)
    inside = oracle.reachable(mdp.initial, mdp.transition)
    excess = population(mdp, q).nll - population(mdp, mdp.solution.q).nll
    error = action_values(mdp.reward, mdp.transition, mdp.discount, value(q)) - q
    strength = 1 - mdp.discount if factor is None else factor
    return worst(
        [
            zero(excess, tolerance),
            CheckResult(
                observed=float(np.max(np.abs(error[inside, 0]))),
                relation=">=",
                bound=strength * float(np.max(np.abs(at.level[inside]))),
                tolerance=tolerance,
                reason=WHY,
            ),
        ]
    )


@claim(
    "rem:BC-superset",
    verdict="holds",
    instances=moved(),
    control=Control(
        broken="the bound without discounting: |c| for (1 - beta)|c|",
        check=lambda at: _superset(at, factor=1.0),
        make=off_track,
    ),
)
def cloning_has_more_solutions(at: Moved) -> CheckResult:
    """The solution set of behavioural cloning contains that of the IRL/DDC problem, strictly.

    Where: Section 4, remark "Comparison with imitation learning".

    Assumes: as in Theorem mainopt; p-hat_Q the softmax (the display there prints a ratio of Q).

    Decided: cloning is one of the two conditions. It also admits Q* + c(s) for any bounded c, whose
    anchor Bellman error beta E[c(s')] - c(s) is at least (1 - beta) max|c| somewhere on S-bar.
    Measured: likelihood and Bellman error by the library at Q* + c; equality where c is constant.
    """
    return _superset(at)
