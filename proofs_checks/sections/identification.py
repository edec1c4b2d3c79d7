"""Section 3, identification: what CCPs, the kernel and an anchor say of Q* and r."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gladius.checks import Array
from gladius.mdp import TabularMDP, action_values, soft_bellman
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
from proofs_checks.sections.setup import WHY, rounding, small_world, zero
from proofs_checks.sections.state_space import covered
from proofs_checks.worlds import REWARDS, VALUES, tabular_mdps

Actions = NDArray[np.int64]


@dataclass(frozen=True)
class Anchored:
    """A world, the anchor action a_s of each state, and a table (S, A) whose use the check says.

    States among `intervals` stand for an interval entered uniformly, over which everything is
    constant; the others are points.
    """

    mdp: TabularMDP
    anchor: Actions
    table: Array
    intervals: tuple[int, ...] = ()

    @property
    def here(self) -> tuple[Actions, Actions]:
        """Index of the anchor's entries of a table."""
        return np.arange(len(self.anchor)), self.anchor

    @property
    def observed(self) -> ccp.Observed:
        """What identification may use: CCPs from the library, and the anchors' own rewards."""
        found = self.mdp.solution
        log_policy = found.q - found.v[:, None]
        given = self.mdp.reward[self.here]
        return ccp.Observed(log_policy, self.mdp.transition, self.anchor, given, self.mdp.discount)

    @property
    def reached(self) -> NDArray[np.bool_]:
        """(S,) where d*, the expert's law of s, has mass: S-bar, if all states are points."""
        return oracle.reachable(self.mdp.initial, self.mdp.transition)

    @property
    def points(self) -> NDArray[np.bool_]:
        """(S,) S-bar as printed: the states s with Pr(s_h = s) > 0 for some h."""
        return self.reached & ~np.isin(np.arange(len(self.anchor)), self.intervals)


@st.composite
def anchored(
    draw: st.DrawFn, values: st.SearchStrategy[float] = VALUES, discount: float = 0.999
) -> Anchored:
    """Anchors that differ between states, unreached states, choices certain to the last digit."""
    betas = st.sampled_from([0.5, 0.9, discount]) | st.floats(0.01, discount)
    mdp = draw(tabular_mdps(4, 3, discounts=betas))
    states, actions = mdp.reward.shape
    anchor = draw(arrays(np.int64, states, elements=st.integers(0, actions - 1)))
    return Anchored(mdp, anchor, draw(arrays(np.float64, (states, actions), elements=values)))


def _two_anchors() -> Anchored:
    """Two states that follow each other, with different anchors and unequal choices."""
    swap = np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]]])
    mdp = TabularMDP(np.array([[1.0, 0.0], [0.0, 2.0]]), swap, 0.5, np.array([1.0, 0.0]))
    return Anchored(mdp, np.array([0, 1]), np.array([[3.0, -1.0], [0.0, 1.0]]))


# --- any anchor will do


def _rationalised(at: Anchored, reward: Array) -> CheckResult:
    """`reward` has the drawn values at the anchors, and the library the old choices, in logs."""
    found, was = soft_bellman(reward, at.mdp.transition, at.mdp.discount), at.mdp.solution
    new, old = found.q - found.v[:, None], was.q - was.v[:, None]
    gaps = (new - old, reward[at.here] - at.table[at.here])
    return worst([zero(gap, rounding(at.mdp, found.q)) for gap in gaps])


def _with_anchor(at: Anchored) -> Array:
    """(S, A) the reward that has the drawn values at the anchors and explains the choices."""
    seen = at.observed
    given = at.table[at.here]
    invented = ccp.Observed(seen.log_policy, seen.transition, at.anchor, given, seen.discount)
    return ccp.solve(invented)[1]


def _only_the_anchor(at: Anchored) -> Array:
    reward = at.mdp.reward.copy()
    reward[at.here] = at.table[at.here]
    return reward


@claim(
    "asmp:anchor.invariance",
    verdict="holds",
    instances=anchored(REWARDS, discount=0.99),
    control=Control(
        broken="the anchor's reward replaced and the other rewards kept",
        check=lambda at: _rationalised(at, _only_the_anchor(at)),
        make=_two_anchors,
    ),
)
def any_anchor_rationalises(at: Anchored) -> CheckResult:
    """Whatever the anchor actions a_s and whatever (bounded) rewards they are given, some r with
    those values has pi* as its optimal policy.

    Where: Section 3, after Assumption anchor: "the optimal policy remains the same irrespective of
    the choice of the anchor action a_s and the reward value".

    Assumes: pi* is optimal for some bounded reward, P and beta known.

    Decided: V = (I - beta P_a)^-1 (r(., a_s) - log pi*(a_s | .)), Q = V + log pi*, r = Q - beta P V
    has log sum exp Q = V, hence Q solves its Bellman equation. Measured: the library's policy at
    that r, and r at the anchors. Read as "changing r(s, a_s) alone leaves pi*", the sentence is
    wrong: see the control.
    """
    return _rationalised(at, _with_anchor(at))


# --- Lemma MagnacThesmar


def _unique(at: Anchored, seen: ccp.Observed, inside: NDArray[np.bool_]) -> CheckResult:
    """Q and r on `inside` from the equations there, at the solution nearest to a drawn table."""
    mdp = at.mdp
    q = ccp.nearest(at.table, *ccp.system(seen, inside=inside))
    r = q - mdp.discount * np.einsum("aij,j->ia", mdp.transition, np.logaddexp.reduce(q, axis=1))
    tolerance, reason = 10 * rounding(mdp, at.table), WHY + "; least squares, ten times that"
    gaps = (q - mdp.solution.q, r - mdp.reward)
    return worst([zero(inside[:, None] * gap, tolerance, reason) for gap in gaps])


def _recovered(at: Anchored, seen: ccp.Observed) -> CheckResult:
    """Q and r where d* has mass, from what is observed there alone, in two ways."""
    inside = at.reached
    q, r = ccp.solve(seen.restricted(inside))
    gaps = (q - at.mdp.solution.q[inside], r - at.mdp.reward[inside])
    sums = [zero(gap, rounding(at.mdp)) for gap in gaps]
    return worst([*sums, _unique(at, seen, inside), *covered(at.mdp)])


def _wrong_rows(at: Anchored) -> ccp.Observed:
    seen = at.observed
    first = np.broadcast_to(seen.transition[0], seen.transition.shape)
    return replace(seen, transition=first)


def identified_almost_everywhere(at: Anchored) -> CheckResult:
    """If p-hat_Q(. | s) = pi*(. | s) and Q solves the anchor's Bellman equation for d*-almost every
    s, d* the expert's discounted law of s, then Q(s, .) = Q*(s, .) and r(s, .) = Q*(s, .) - beta
    E[V_{Q*}(s') | s, .] for d*-almost every s. Where S is countable: for all s in S-bar.

    Decided: pi* > 0, so for d*-almost every s no action leaves a set that carries d*, and the
    system closes; V(s) = Q(s, a_s) - log pi*(a_s | s) turns it into the affine f = T_f f, a
    contraction. Without "bounded" it fails on infinite S: on s -> s + 1, Q* + beta^-s is a second
    solution. Measured: the library leads from r to Q* and pi*; back to Q and r lead sums over
    periods of what is observed where d* has mass, and the solution there, of all that the linear
    system has, nearest to a drawn table: the same for every table only if there is one.
    """
    return _recovered(at, at.observed)


def _uniform_after_zero() -> Anchored:
    """s_0 = 0, then s' uniform on (0, 1]; one action, r = 0; the table Q = 1 at 0 and 2 beyond."""
    law = np.array([[[0.0, 1.0], [0.0, 1.0]]])
    mdp = TabularMDP(np.zeros((2, 1)), law, 0.5, np.array([1.0, 0.0]))
    at = Anchored(mdp, np.zeros(2, dtype=np.int64), np.array([[1.0], [2.0]]), intervals=(1,))
    assume_stated(0 < mdp.discount < 1, "beta in (0, 1)")
    assume_stated(bool(np.all(at.points == [True, False])), "S-bar = {0}")
    assume_stated(bool(np.all(np.isfinite(at.table))), "Q bounded")
    matrix, right = ccp.system(at.observed, inside=at.points)
    solves = np.array_equal(matrix @ at.table.ravel(), right)
    assume_stated(solves, "Q solves the printed system for all s in S-bar")
    return at


@claim(
    "thm:MagnacThesmar",
    verdict="holds-if",
    condition="S is countable, or the equations hold d*-almost everywhere, not on S-bar alone",
    instances=anchored(),
    counterexample=Counterexample(
        make=_uniform_after_zero,
        text="S = [0, 1], one action, r = 0, beta = 1/2; s_0 = 0, then s' uniform on (0, 1]: "
        "S-bar = {{0}}, Q* = 0.\nOn S-bar the system is Q(0) = E[Q(s')]/2 (the CCP is 1). "
        "Q(0) = 1 and Q = 2 off 0 solve it:\nQ(0) = {observed:g} is not Q*(0) = {bound:g}.",
    ),
    corrected=identified_almost_everywhere,
    control=Control(
        broken="the moves of action 0 in every state, not those of the anchor action",
        check=lambda at: _recovered(at, _wrong_rows(at)),
        make=_two_anchors,
    ),
)
def magnac_thesmar(at: Anchored) -> CheckResult:
    """The CCPs and the anchors' Bellman equations on S-bar determine Q* on S-bar x A, and
    r = Q* - beta E[V_{Q*}(s')] there.

    Where: Section 3, Lemma MagnacThesmar.

    Assumes: pi* optimal, r(s, a_s) known, P and beta known, Q bounded (the set Q of Section 3); S
    any state space, S-bar the states s with Pr(s_h = s) > 0 for some h (Section 3).

    Decided: where the law of s' has a part without atoms, that part lies off S-bar, where the
    printed system leaves Q free, and E[V_Q(s')] with it. The proof writes the system "for all s in
    S", with which the lemma holds; on a countable S it holds as printed (see setup.reachable-set).
    Measured: the solution, of those with the CCPs everywhere, nearest to the instance's table.
    """
    return _unique(at, at.observed, at.points)


@dataclass(frozen=True)
class Pair:
    """A world with anchors, and two functions f (S,)."""

    at: Anchored
    one: Array
    two: Array


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    at = draw(anchored())
    functions = arrays(np.float64, len(at.anchor), elements=VALUES)
    return Pair(at, draw(functions), draw(functions))


def _contraction(pair: Pair, order: float = np.inf) -> CheckResult:
    at, log_anchor = pair.at, pair.at.observed.log_anchor
    world = (at.mdp.reward, at.mdp.transition, at.mdp.discount)
    images = [action_values(*world, f - log_anchor)[at.here] for f in (pair.one, pair.two)]
    scale = max(float(np.max(np.abs(x))) for x in (log_anchor, at.mdp.reward, *images))
    return CheckResult(
        observed=float(np.linalg.norm(images[0] - images[1], order)),
        relation="<=",
        bound=at.mdp.discount * float(np.linalg.norm(pair.one - pair.two, order)),
        tolerance=1e-14 * max(1.0, scale),
        reason="rounding of sums of numbers as large as log pi*, which cancel",
    )


@claim(
    "thm:MagnacThesmar.contraction",
    verdict="holds",
    instances=pairs(),
    control=Control(
        broken="the Euclidean norm over states in place of the sup norm",
        check=lambda pair: _contraction(pair, order=2),
        make=lambda: Pair(
            Anchored(
                TabularMDP(
                    np.zeros((2, 1)),
                    np.array([[[1.0, 0.0], [1.0, 0.0]]]),
                    0.9,
                    np.array([1.0, 0.0]),
                ),
                np.zeros(2, dtype=np.int64),
                np.zeros((2, 1)),
            ),
            np.array([1.0, 0.0]),
            np.zeros(2),
        ),
    ),
)
def anchor_operator_contracts(pair: Pair) -> CheckResult:
    """|T_f f_1 - T_f f_2| <= beta |f_1 - f_2| in sup norm, where
    (T_f f)(s) = r(s, a_s) + beta E[f(s') - log pi*(a_{s'} | s') | s, a_s].

    Where: Technical proofs, proof of Lemma MagnacThesmar.

    Assumes: beta in (0, 1).

    Decided: log pi* cancels in the difference and an average is at most the largest entry; attained
    where f_1 - f_2 is constant. Measured: T_f by the library's Bellman backup on drawn functions.
    """
    return _contraction(pair)


# --- the proof's last step


def _nearest_solution(at: Anchored, leave_out: tuple[int, ...] = ()) -> CheckResult:
    """How far from Q* the solution nearest to a drawn table is; 0 for all tables iff unique."""
    matrix, right = ccp.system(at.observed, leave_out)
    near = ccp.nearest(at.table, matrix, right)
    return zero(
        near - at.mdp.solution.q,
        10 * rounding(at.mdp, at.table),
        WHY + "; least squares by singular values, ten times that",
    )


def fixed_point_with_the_ccps(at: Anchored) -> CheckResult:
    """There is a unique f with T_f f = f, and a unique Q that has Q(s, a_s) = f(s) and the CCPs
    pi*: Q(s, a) = f(s) + log pi*(a | s) - log pi*(a_s | s).

    Decided: f fixes the anchor's column and the CCPs the other columns relative to it. Measured:
    the solution set of both sets of equations, linear in Q, projected on from a drawn table.
    """
    return _nearest_solution(at)


def _same_f_other_q() -> Anchored:
    at = Anchored(small_world([[0.0, 0.0]]), np.array([0]), np.zeros((1, 2)))
    assume_stated(0 < at.mdp.discount < 1, "beta in (0, 1)")
    assume_stated(bool(np.allclose(at.mdp.solution.policy, 0.5)), "pi* is the optimal policy")
    return at


@claim(
    "thm:MagnacThesmar.proof-step",
    verdict="holds-if",
    condition="among Q with the CCPs pi*",
    instances=anchored(discount=0.99),
    counterexample=Counterexample(
        make=_same_f_other_q,
        text="One state, two actions, r = 0, beta = 1/2: f = log 2 solves f = (f + log 2)/2; "
        "Q* = (log 2, log 2).\nQ = (log 2, 0) has the same f_Q(s) = Q(s, a_s), so it satisfies "
        "T_f(f_Q) = f_Q too:\ntwo such Q differ by {observed:.6f}, not {bound:g}.",
    ),
    corrected=fixed_point_with_the_ccps,
    control=Control(
        broken="the CCP equations of the last action left out",
        check=lambda at: _nearest_solution(at, leave_out=(at.mdp.reward.shape[1] - 1,)),
        make=_same_f_other_q,
    ),
)
def fixed_point_alone(at: Anchored) -> CheckResult:
    """There is a unique f_Q with T_f(f_Q) = f_Q, "and by definition of f_Q there exists a unique Q
    that satisfies T_f(f_Q) = f_Q".

    Where: Technical proofs, proof of Lemma MagnacThesmar, last step.

    Assumes: Q in the space of Q functions, f_Q(s) := Q(s, a_s), beta in (0, 1).

    Decided: Q -> f_Q is many-to-one: T_f(f_Q) = f_Q leaves all other actions free. The space is
    "of all Q functions", and the step names no other property of Q; but the proof opens with
    "Suppose that the system [...] is satisfied", whose first line is the CCPs. Among Q with these
    the step is right, and the lemma stands: so a condition left out, not an error. Measured: the
    solution set of T_f(f_Q) = f_Q, linear in Q, projected on from a drawn table.
    """
    return _nearest_solution(at, leave_out=tuple(range(at.mdp.reward.shape[1])))
