"""Technical proofs of the biconjugate trick, of Lemma MagnacThesmar and of Theorem mainopt."""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import log_softmax

from gladius.model.mdp import TabularMDP, action_values
from proofs_checks.claims.claims import (
    CheckResult,
    assumed,
    at_least,
    at_most,
    claim,
    equal,
    weakest,
)
from proofs_checks.claims.instances import Fitted, absorbing, coin, leaving_zero, tables
from proofs_checks.claims.under_check import WHY, population_risk, rounding, zero
from proofs_checks.oracle import ccp
from proofs_checks.sections.erm_irl_identification import (
    Candidate,
    candidates,
    excess_over,
    off_track,
)
from proofs_checks.sections.erm_irl_minimax import backup, probes, rho_form
from proofs_checks.sections.setup_identification import Anchored, anchored


@claim.holds(
    "eq:SBEED",
    instances=probes(),
    broken="the maximiser is taken to be h* = TQ - Q",
    rejected=lambda probe: rho_form(probe, backup(probe) - probe.q),
    rejected_at=lambda: Fitted(coin(1), np.array([[1.0], [0.0], [2.0]]), np.zeros((3, 1))),
)
def sbeed(probe: Fitted) -> CheckResult:
    r"""$L_{\mathrm{BE}}(Q)(s, a) = \max$ over $\rho$ of $E[(\hat T Q - Q)^2 - (\hat T Q - \rho)^2
    \mid s, a]$, and the unique maximiser is $\rho^* = TQ(s, a)$.

    Where: Technical proofs, Equation SBEED.

    Assumes: $Q$ bounded.

    Decided: the form equals $L_{\mathrm{BE}} - (\rho - TQ)^2$. So the maximum is $L_{\mathrm{BE}}$,
    and no $\rho$ other than TQ attains it. The identity is compared at $\rho = TQ + t$ for
    arbitrary $t$.
    """
    return rho_form(probe, backup(probe))


# --- Lemma MagnacThesmar: the contraction, its space, its last step
# A world with anchors, and two functions f (S,).
Pair = namedtuple("Pair", "problem first second")


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    problem = draw(anchored())
    functions = tables(len(problem.anchor))
    return Pair(problem, draw(functions), draw(functions))


def _both_to_the_first() -> Pair:
    move = np.array([[[1.0, 0.0], [1.0, 0.0]]])
    mdp = TabularMDP(np.zeros((2, 1)), move, 0.9, np.array([1.0, 0.0]))
    problem = Anchored(mdp, np.zeros(2, dtype=np.int64), np.zeros((2, 1)))
    return Pair(problem, np.array([1.0, 0.0]), np.zeros(2))


@claim.holds(
    "thm:MagnacThesmar.contraction",
    instances=pairs(),
    broken="the Euclidean norm over states in place of the sup norm",
    rejected={"order": 2},
    rejected_at=_both_to_the_first,
)
def anchor_operator_contracts(pair: Pair, order: float = np.inf) -> CheckResult:
    r"""$|T_f f_1 - T_f f_2| \leq \beta |f_1 - f_2|$ in sup norm, where $(T_f f)(s) = r(s, a_s) +
    \beta E[f(s') - \log \pi^*(a_{s'} \mid s') \mid s, a_s]$.

    Where: Technical proofs, proof of Lemma MagnacThesmar.

    Assumes: $\beta$ in (0, 1).

    Decided: $\log \pi^*$ cancels in the difference and an average is at most the largest entry;
    attained where $f_1 - f_2$ is constant. Measured: $T_f$ by the library's Bellman backup on drawn
    functions.
    """
    problem, log_anchor = pair.problem, pair.problem.observed.log_anchor
    mdp, functions = problem.mdp, (pair.first, pair.second)
    world = (mdp.reward, mdp.transition, mdp.discount)
    images = [action_values(*world, f - log_anchor)[problem.here] for f in functions]
    scale = max(float(np.max(np.abs(x))) for x in (log_anchor, mdp.reward, *images))
    return at_most(
        np.linalg.norm(images[0] - images[1], order),
        mdp.discount * np.linalg.norm(pair.first - pair.second, order),
        1e-14 * max(1.0, scale),
        "rounding of sums of numbers as large as log pi*, which cancel",
    )


Step = tuple[Fraction, ...]  # a step function on S x A: finitely many values, S x A infinite


@dataclass(frozen=True)
class Series:
    """Q_n = sum_{k < n} ratio^k terms[k mod p]: a Cauchy sequence of step functions."""

    terms: tuple[Step, ...]  # p functions, each by its values on common pieces of S x A
    ratio: Fraction  # in (0, 1)
    first: int  # n, the member to compare with the limit

    def between(self, low: int, high: int) -> Step:
        """Q_high - Q_low."""
        p, pieces = len(self.terms), range(len(self.terms[0]))
        powers = [(self.ratio**k, self.terms[k % p]) for k in range(low, high)]
        return tuple(sum((w * term[x] for w, term in powers), Fraction(0)) for x in pieces)

    def limit(self) -> Step:
        """The pointwise limit of Q_n, by the sum of a geometric series."""
        whole = self.between(0, len(self.terms))
        return tuple(x / (1 - self.ratio ** len(self.terms)) for x in whole)


@st.composite
def series(draw: st.DrawFn) -> Series:
    terms, pieces = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    number = st.integers(-6, 6).map(Fraction)
    step = st.tuples(*[number] * pieces)
    ratio = draw(st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20))
    return Series(draw(st.tuples(*[step] * terms)), ratio, draw(st.integers(0, 6)))


def _norm(f: Step) -> Fraction:
    return max(abs(x) for x in f)


@claim.holds(
    "lem:completeMetric",
    instances=series(),
    broken="Cauchy at one pair (s, a) taken for Cauchy in the norm",
    rejected={"norm": lambda f: abs(f[0])},
    rejected_at=lambda: Series(((Fraction(0), Fraction(1)),), Fraction(1, 2), 1),
)
def bounded_functions_are_complete(
    sequence: Series, norm: Callable[[Step], Fraction] = _norm
) -> CheckResult:
    r"""The bounded functions on $S \times A$ with the sup norm form a Banach space.

    Where: Technical proofs, Lemma completeMetric.

    Assumes: $S \times A$ is any set, and the set $Q$ of Section 3 consists of all bounded functions
    on it. A parametrised class of them, such as networks of one size, need not be complete.

    Decided: by proof, which the numbers illustrate. The pointwise limit $Q$ of a Cauchy sequence
    has $|Q(x) - Q_n(x)| \leq \epsilon_n := \sup_{m > n} |Q_m - Q_n|$ for every $x$, hence is
    bounded and the limit in norm. The printed proof stops at pointwise convergence and takes
    $\sup|Q| = \lim \sup|Q_n|$ for granted. Both inequalities are measured exactly on geometric
    series of step functions on an infinite $S \times A$. There $\epsilon_n$ comes from twelve
    members and a bound on the rest.
    """
    n, ahead = sequence.first, 12
    apart = max(norm(sequence.between(n, m)) for m in range(n, n + ahead + 1))
    largest = max(norm(term) for term in sequence.terms)
    tail = sequence.ratio ** (n + ahead) * largest / (1 - sequence.ratio)
    limit, member = sequence.limit(), sequence.between(0, n)
    remainder = _norm(tuple(x - y for x, y in zip(limit, member, strict=True)))
    reason = "exact arithmetic"
    return weakest(
        at_most(remainder, apart + tail, 0.0, reason),
        at_most(_norm(limit), _norm(member) + apart + tail, 0.0, reason),
    )


def fixed_point_with_the_ccps(problem: Anchored, leave_out: tuple[int, ...] = ()) -> CheckResult:
    r"""There is a unique bounded $f$ with $T_f f = f$, and a unique $Q$ that has $Q(s, a_s) = f(s)$
    and the CCPs $\pi^*$: $Q(s, a) = f(s) + \log \pi^*(a \mid s) - \log \pi^*(a_s \mid s)$.

    Decided: $f$ fixes the anchor's column and the CCPs the other columns relative to it. Measured:
    the solution set of both sets of equations, linear in $Q$, projected on from a drawn table.
    """
    near = ccp.nearest(problem.table, *ccp.system(problem.observed, leave_out))
    tolerance = 10 * rounding(problem.mdp, problem.table)
    why = WHY + "; least squares by singular values, ten times that"
    return zero(near - problem.mdp.solution.q, tolerance, why)


def _same_f_other_q() -> Anchored:
    problem = Anchored(absorbing([[0.0, 0.0]]), np.array([0]), np.zeros((1, 2)))
    assumed(np.allclose(problem.mdp.solution.policy, 0.5), "pi* is the optimal policy")
    return problem


@claim.misprint(
    "thm:MagnacThesmar.proof-step",
    instances=anchored(discount=0.99),
    counterexample=_same_f_other_q,
    text=(
        r"One state, two actions, $r = 0$, $\beta = 1/2$: $f = \log 2$ solves $f = (f + \log "
        r"2)/2$; $Q^* = (\log 2, \log 2)$.",
        r"$Q = (\log 2, 0)$ has the same $f_Q(s) = Q(s, a_s)$, so it satisfies $T_f(f_Q) = f_Q$ "
        "too:",
        "two such $Q$ differ by {observed:.6f}, not {bound:g}.",
    ),
    corrected=fixed_point_with_the_ccps,
    broken="the CCP equations of the last action left out",
    rejected=lambda problem: fixed_point_with_the_ccps(
        problem, leave_out=(problem.mdp.reward.shape[1] - 1,)
    ),
)
def fixed_point_alone(problem: Anchored) -> CheckResult:
    r"""There is a unique $f_Q$ with $T_f(f_Q) = f_Q$, "and by definition of $f_Q$ there exists a
    unique $Q$ that satisfies $T_f(f_Q) = f_Q$".

    Where: Technical proofs, proof of Lemma MagnacThesmar, last step.

    Assumes: $Q$ in the space of $Q$ functions, $f_Q(s) := Q(s, a_s)$, $\beta$ in (0, 1).

    Decided: $Q \to f_Q$ is many-to-one: $T_f(f_Q) = f_Q$ leaves all other actions free. The space
    is "of all $Q$ functions", and the step names no other property of $Q$; but the proof opens with
    "Suppose that the system ... is satisfied", whose first line is the CCPs. Among $Q$ with these
    the step is right, and the lemma stands: a misprint, the hint a page above. Measured: the
    solution set of $T_f(f_Q) = f_Q$, linear in $Q$, projected on from a drawn table.
    """
    return fixed_point_with_the_ccps(problem, leave_out=tuple(range(problem.mdp.reward.shape[1])))


# --- Theorem mainopt: the minimisers of the expected likelihood, and of sums
def minimisers_almost_everywhere(
    candidate: Candidate, alike: bool = False, inside: NDArray[np.bool_] | None = None
) -> CheckResult:
    r"""$\mathrm{argmin}_Q\, E[-\log \hat p_Q(a \mid s)] = \{Q: \hat p_Q = \pi^* \text{ for }
    d^*\text{-almost every } s\} = \{Q: Q(s, a_1) - Q(s, a_2) = Q^*(s, a_1) - Q^*(s, a_2) \text{ for
    } d^*\text{-almost every } s\}$, $d^*$ the expert's discounted state distribution. Where $S$ is
    countable, this is the same as: for all $s$ in $\bar S$.

    Decided: the excess is $E \mathrm{KL}(\pi^* \| \hat p_Q)$, at least $E |\hat p_Q - \pi^*|_1^2 /
    2$ (Pinsker); on a countable $S$ every $s$ in $\bar S$ has weight, at least that of one path
    there. Measured: the library's likelihood under the library's occupancy is unchanged by levels
    $c(s)$ and by anything where $d^*$ has no mass, and exceeds the minimum by Pinsker's bound, with
    visits summed period by period as weights, and by each state's part of it at the weight of its
    likeliest path.
    """
    mdp, best = candidate.mdp, candidate.mdp.solution.q
    level_on = candidate.reached if inside is None else inside
    other, member = best + candidate.change, candidate.shifted_on(level_on)
    tolerance = rounding(mdp, other)
    least, member_nll, other_nll = (population_risk(mdp, q).nll for q in (best, member, other))
    gain, excess = float((other_nll - least)[0]), excess_over(mdp, other)
    pinsker = excess.distance**2 / 2
    weight = np.full(len(pinsker), 1 / len(pinsker)) if alike else excess.weight
    return weakest(
        zero(member_nll - least, tolerance),
        at_least(gain, weight @ pinsker, tolerance, WHY),
        at_least(gain, np.max(excess.floor * pinsker), tolerance, WHY),
    )


def _fits_at_zero() -> Candidate:
    mdp = leaving_zero(actions=2)
    candidate = Candidate(
        mdp, np.array([[0.0, 0.0], [np.log(3), 0.0]]), np.zeros(2), intervals=(1,)
    )
    assumed(np.all(candidate.points == [True, False]), "S-bar = {0}")
    assumed(np.all(np.isfinite(candidate.shifted_on(candidate.points))), "Q bounded")
    fitted = log_softmax(candidate.shifted_on(candidate.points)[0])
    assumed(np.allclose(fitted, np.log(0.5)), "p-hat_Q = pi* on S-bar")
    return candidate


@claim.holds_if(
    "lem:minMLE",
    condition=r"$S$ is countable, or '$d^*$-almost everywhere' stands for 'on $\bar S$'",
    instances=candidates(),
    counterexample=_fits_at_zero,
    text=(
        r"$S = [0, 1]$, $r = 0$, two actions, $\beta = 1/2$; $s_0 = 0$, then $s'$ uniform on "
        r"$(0, 1]$: $\bar S = \{{0\}}$, $\pi^* = 1/2$.",
        r"$Q(0, \cdot) = (0, 0)$ and $Q(s, \cdot) = (\log 3, 0)$ for $s > 0$ is in both "
        "right-hand sets, and in half",
        r"the (discounted) data has $\hat p = (3/4, 1/4)$: it loses $\log(4/3)/4 = "
        "{observed:.6f}$, not {bound:g}.",
    ),
    corrected=minimisers_almost_everywhere,
    broken="all states weighed alike, those never reached included",
    rejected={"alike": True},
    rejected_at=off_track,
)
def minimisers_of_the_likelihood(candidate: Candidate) -> CheckResult:
    r"""$\mathrm{argmin}_Q\, E[-\log \hat p_Q(a \mid s)] = \{Q: \hat p_Q = \pi^* \text{ for all } s
    \in \bar S \text{ a.e.}\} = \{Q: Q(s, a_1) - Q(s, a_2) = Q^*(s, a_1) - Q^*(s, a_2) \text{ for
    all } s \in \bar S\}$.

    Where: Technical proofs, Lemma minMLE; used in Section 4.

    Assumes: $(s, a)$ from the expert's occupancy, $Q$ bounded; $S$ any state space (Section 3),
    $\bar S$ the states $s$ with $\mathrm{Pr}(s_h = s) > 0$ for some $h$.

    Decided: where the distribution of $s_h$ is not purely atomic, $\bar S$ does not carry the data.
    The right-hand sets then leave $Q$ free where there are data. The printed "a.e." quantifies over
    $\bar S$ and does not help. On a countable $S$ the lemma holds as printed.
    """
    return minimisers_almost_everywhere(candidate, inside=candidate.points)


TwoFunctions = tuple[NDArray[np.int64], NDArray[np.int64]]  # f_1 and f_2 on the same finite set


@st.composite
def sharing(draw: st.DrawFn) -> TwoFunctions:
    """Functions with a minimiser in common, ties and constants among them."""
    size = draw(st.integers(1, 6))
    first, second = (draw(arrays(np.int64, size, elements=st.integers(-3, 3))) for _ in range(2))
    common = draw(st.integers(0, size - 1))
    first[common], second[common] = first.min(), second.min()
    return first, second


def _implies(premise: NDArray[np.bool_], conclusion: NDArray[np.bool_]) -> CheckResult:
    """No point has the premise without the conclusion."""
    return equal(np.sum(premise & ~conclusion), 0.0, 0.0, "a count of points")


@claim.holds(
    "lem:sharingsol",
    instances=sharing(),
    broken="the converse: a minimiser of f_1 minimises the sum",
    rejected=lambda pair: _implies(
        pair[0] == pair[0].min(), pair[0] + pair[1] == min(pair[0] + pair[1])
    ),
    rejected_at=lambda: (np.array([0, 0, 1]), np.array([0, 1, 2])),
)
def shared_minimisers(pair: TwoFunctions) -> CheckResult:
    r"""If $\mathrm{argmin}\, f_1$ and $\mathrm{argmin}\, f_2$ meet, then $\mathrm{argmin}(f_1 +
    f_2)$ lies in both.

    Where: Technical proofs, Lemma sharingsol.

    Assumes: $f_1$, $f_2$ real functions on a common domain whose minimisers meet; finite here.

    Decided: at a common minimiser the sum is $m_1 + m_2$, so a minimiser of the sum exceeds neither
    minimum. Measured, exactly: by listing the minimisers.
    """
    first, second = pair
    both = (first == first.min()) & (second == second.min())
    if not np.any(both):
        return _implies(both, both)  # the lemma says nothing
    return _implies(first + second == (first + second).min(), both)
