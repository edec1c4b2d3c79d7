"""Section 4: the minimisers of the expected risk, and of sums at large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from gladius.checks import Array
from gladius.mdp import TabularMDP
from gladius.objective import Risk, grouped_risk
from gladius.transitions import Counts
from proofs_checks.claims import CheckResult, Control, claim, worst
from proofs_checks.oracle import ccp
from proofs_checks.oracle import soft_bellman as oracle
from proofs_checks.sections.setup import WHY, rounding, small_world
from proofs_checks.sections.state_space import covered
from proofs_checks.worlds import VALUES, tabular_mdps

# --- Lemma sharingsol


@dataclass(frozen=True)
class TwoFunctions:
    """f_1 and f_2 on the same finite set, whole numbers."""

    one: NDArray[np.int64]
    two: NDArray[np.int64]


@st.composite
def sharing(draw: st.DrawFn) -> TwoFunctions:
    """Functions with a minimiser in common, ties and constants among them."""
    size = draw(st.integers(1, 6))
    one, two = (draw(arrays(np.int64, size, elements=st.integers(-3, 3))) for _ in range(2))
    at = draw(st.integers(0, size - 1))
    one[at], two[at] = one.min(), two.min()
    return TwoFunctions(one, two)


def _minimisers(f: NDArray[np.int64]) -> NDArray[np.bool_]:
    lowest: NDArray[np.bool_] = f == min(f.tolist())
    return lowest


def _implies(premise: NDArray[np.bool_], conclusion: NDArray[np.bool_]) -> CheckResult:
    """No point has the premise without the conclusion."""
    return CheckResult(float(np.sum(premise & ~conclusion)), "==", 0.0, 0.0, "a count of points")


def _converse(at: TwoFunctions) -> CheckResult:
    return _implies(_minimisers(at.one), _minimisers(at.one + at.two))


@claim(
    "lem:sharingsol",
    verdict="holds",
    instances=sharing(),
    control=Control(
        broken="the converse: a minimiser of f_1 minimises the sum",
        check=_converse,
        make=lambda: TwoFunctions(np.array([0, 0, 1]), np.array([0, 1, 2])),
    ),
)
def shared_minimisers(at: TwoFunctions) -> CheckResult:
    """If argmin f_1 and argmin f_2 meet, then argmin(f_1 + f_2) lies in both.

    Where: Technical proofs, Lemma sharingsol.

    Assumes: f_1, f_2 real functions on a common domain whose minimisers meet; finite here.

    Decided: at a common minimiser the sum is m_1 + m_2, so a minimiser of the sum exceeds neither
    minimum. Measured, exactly: by listing the minimisers.
    """
    both = _minimisers(at.one) & _minimisers(at.two)
    if not np.any(both):
        return _implies(both, both)  # the lemma says nothing
    return _implies(_minimisers(at.one + at.two), both)


# --- the expected risk


def population(mdp: TabularMDP, q: Array, anchor: int = 0) -> Risk:
    """The library's risk of Q when the data are the expert's discounted occupancy itself."""
    visits = mdp.discounted_occupancy()
    moves = visits.T[:, :, None] * mdp.transition
    data = Counts(mdp.features, visits[None], moves[None])
    return grouped_risk(q[None], data, anchor, mdp.reward[:, anchor], mdp.discount)


@dataclass(frozen=True)
class Excess:
    """How a table Q differs from Q*: in the likelihood and in the anchor's Bellman equation.

    Attributes:
        weight: (S,) the expert's occupancy, summed period by period.
        floor: (S,) the chance of the likeliest path, discounted: weight is no less.
        reached: (S,) S-bar.
        choices: (S, A) pi*.
        fitted: (S, A) p-hat_Q.
        log_ratio: (S, A) log p-hat_Q - log pi*.
        residual: (S,) TQ - Q at the anchor, action 0 in every state.
    """

    weight: Array
    floor: Array
    reached: NDArray[np.bool_]
    choices: Array
    fitted: Array
    log_ratio: Array
    residual: Array

    @classmethod
    def of(cls, mdp: TabularMDP, q: Array) -> Excess:
        log_policy = log_softmax(mdp.solution.q, axis=1)
        world = (mdp.transition, mdp.discount, mdp.initial)
        target = oracle.backup(q, mdp.reward, mdp.transition, mdp.discount)
        return cls(
            weight=oracle.visits(mdp.solution.policy, *world),
            floor=np.exp(oracle.log_likeliest(log_policy, *world)),
            reached=oracle.reachable(mdp.initial, mdp.transition),
            choices=mdp.solution.policy,
            fitted=softmax(q, axis=1),
            log_ratio=log_softmax(q, axis=1) - log_policy,
            residual=(target - q)[:, 0],
        )

    @property
    def divergence(self) -> Array:
        """(S,) KL(pi* || p-hat_Q)."""
        kl: Array = -np.sum(self.choices * self.log_ratio, axis=1)
        return kl

    @property
    def parts(self) -> Array:
        """(S,) what each state adds to the risk above its value at Q*, per unit of weight."""
        return self.divergence + self.choices[:, 0] * self.residual**2

    @property
    def distance(self) -> Array:
        """(S,) sum_a |p-hat_Q - pi*|."""
        apart: Array = np.sum(np.abs(self.fitted - self.choices), axis=1)
        return apart


@dataclass(frozen=True)
class Moved:
    """A world, a change of Q* and a common change of all actions' values in a state.

    Attributes:
        mdp: the world.
        change: (S, A) added to Q*.
        level: (S,) added to Q*(s, .).
        intervals: states that stand for an interval entered uniformly, over which reward, law and
            Q are constant; the others are points.
    """

    mdp: TabularMDP
    change: Array
    level: Array
    intervals: tuple[int, ...] = ()

    @property
    def charged(self) -> NDArray[np.bool_]:
        """(S,) where d* has mass."""
        return oracle.reachable(self.mdp.initial, self.mdp.transition)

    @property
    def points(self) -> NDArray[np.bool_]:
        """(S,) S-bar as printed: the states s with Pr(s_h = s) > 0 for some h."""
        return self.charged & ~np.isin(np.arange(len(self.level)), self.intervals)

    @property
    def shifted(self) -> Array:
        """Q* + level where d* has mass, and anything elsewhere."""
        return self.shifted_on(self.charged)

    def shifted_on(self, inside: NDArray[np.bool_]) -> Array:
        """Q* + level on the states `inside`, and anything elsewhere."""
        best = self.mdp.solution.q
        return np.where(inside[:, None], best + self.level[:, None], best + self.change)


@st.composite
def solved_in_part(draw: st.DrawFn, mdp: TabularMDP, q: Array) -> Array:
    """`q`, or what solves the CCP and anchor equations in some states and is `q` in the others."""
    part = draw(st.sampled_from(["none", "first states", "any"]))
    if part == "none":
        return q
    inside = mdp.initial > 0 if part == "first states" else draw(arrays(np.bool_, len(q)))
    found, anchor = mdp.solution, np.zeros(len(q), dtype=np.int64)
    log_policy = found.q - found.v[:, None]
    seen = ccp.Observed(log_policy, mdp.transition, anchor, mdp.reward[:, 0], mdp.discount)
    return ccp.extended(seen, q, inside)


@st.composite
def moved(draw: st.DrawFn) -> Moved:
    """Changes that include constants, which are the hardest to see, and none at all.

    Where the equations are solved in the first states alone, only later ones tell Q from Q*.
    """
    mdp = draw(tabular_mdps(4, 3))
    change = draw(arrays(np.float64, mdp.reward.shape, elements=VALUES))
    best = mdp.solution.q
    change = draw(solved_in_part(mdp, best + change)) - best
    return Moved(mdp, change, draw(arrays(np.float64, len(change), elements=VALUES)))


def off_track() -> Moved:
    """Two absorbing states of which the second is never reached, and a Q that is wrong there."""
    mdp = small_world([[0.0, 0.0], [0.0, 0.0]])
    mdp = TabularMDP(mdp.reward, mdp.transition, mdp.discount, np.array([1.0, 0.0]))
    return Moved(mdp, np.array([[0.0, 0.0], [0.0, 2.0]]), np.ones(2))


def _identified(at: Moved, everywhere: bool = False) -> CheckResult:
    mdp, best = at.mdp, at.mdp.solution.q
    other = best + at.change
    tolerance = rounding(mdp, other)
    excess = Excess.of(mdp, other)
    least, found = population(mdp, best), population(mdp, other)
    gain = float((found.nll + found.bellman - least.nll - least.bellman)[0])
    inside = excess.reached
    ratio = float(np.max(np.abs(excess.log_ratio[inside])))
    residual = float(np.max(np.abs(excess.residual[inside])))
    claimed = np.ones_like(inside) if everywhere else inside
    squared = float(np.max(np.abs(other)) + np.max(np.abs(mdp.reward)) + 1) ** 2
    apart = tolerance + 1e-13 * squared
    why = WHY + "; squares of residuals, which come as a difference of squares"
    return worst(
        [
            *covered(mdp),
            CheckResult(gain, "==", float(excess.weight @ excess.parts), apart, why),
            CheckResult(gain, ">=", float(np.max(excess.floor * excess.parts)), apart, why),
            CheckResult(
                observed=float(np.max(np.abs(at.change[claimed]))),
                relation="<=",
                bound=(residual + ratio) / (1 - mdp.discount) + ratio,
                tolerance=tolerance / (1 - mdp.discount),
                reason=WHY,
            ),
        ]
    )


def _as_far_as_can_be() -> Moved:
    """One state: no anchor residual, log p-hat - log pi* = (-1, 1), and so Q - Q* = 2 + (-1, 1)."""
    first = np.expm1(1) / (2 * np.sinh(1))  # pi*(0): exp(-1) pi*(0) + exp(1) pi*(1) = 1
    mdp = small_world([[float(np.log(first)), float(np.log1p(-first))]])  # V* = 0
    return Moved(mdp, np.array([[1.0, 3.0]]), np.zeros(1))


@claim(
    "thm:mainopt",
    verdict="holds",
    instances=moved(),
    adversary=_as_far_as_can_be,
    control=Control(
        broken="Q* claimed off S-bar as well",
        check=lambda at: _identified(at, everywhere=True),
        make=off_track,
    ),
)
def expected_risk_identifies(at: Moved) -> CheckResult:
    """The minimiser of the expected risk E[-log p-hat_Q(a | s) + 1{a = a_s} (TQ - Q)(s, a)^2] is
    Q* on S-bar x A, and r = Q - beta E[V_Q(s')] there.

    Where: Section 4, Theorem mainopt.

    Assumes: Assumptions IRLoptimaldecision and anchor, Q bounded; S any state space; here finite
    and the anchor action 0 (relabel the actions state by state).

    Decided: the risk exceeds its value at Q* by E[KL(pi* || p-hat_Q) + pi*(a_s | s) Psi^2], Psi the
    anchor's residual, zero only if Psi and D = max|log p-hat_Q - log pi*| vanish d*-almost
    everywhere; and |Q - Q*| <= (|Psi| + D)/(1 - beta) + D there, since V_Q - V* solves v = beta
    P_a v - Psi - log(p-hat/pi*). The states of S-bar are the atoms of d*, so S need not be
    countable, though the proof's steps (MagnacThesmar, minMLE) need it. Measured: both, the risk by
    the library; S-bar is what d* charges, each s at least with its likeliest path. r follows.
    """
    return _identified(at)
