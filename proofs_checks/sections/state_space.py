"""Section 3, what the state space must be: bounded rewards, the states reached, complete spaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

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
from proofs_checks.worlds import tabular_mdps

MILD = st.integers(-12, 12).map(lambda n: n / 4)  # rewards that leave no choice out of reach

# --- boundedness


@dataclass(frozen=True)
class Window:
    """A closed set of states of a world, and a bound claimed for |Q*| on all of it."""

    mdp: TabularMDP
    claimed: float


def _largest(at: Window, bound: float) -> CheckResult:
    observed = float(np.max(np.abs(at.mdp.solution.q)))
    return CheckResult(observed, "<=", bound, rounding(at.mdp), WHY)


def bounded_rewards_bound_q(at: Window) -> CheckResult:
    """If |r| is bounded, then |Q*| <= (sup|r| + beta log|A|)/(1 - beta).

    Decided: |V_Q| <= |Q| + log|A| in sup norm, so |Q*| <= sup|r| + beta (|Q*| + log|A|); constant
    r >= 0 attains it. The bound does not mention the number of states.
    """
    mdp = at.mdp
    size = float(np.max(np.abs(mdp.reward)))
    actions = mdp.reward.shape[1]
    return _largest(at, (size + mdp.discount * np.log(actions)) / (1 - mdp.discount))


def _state_of_the_line() -> Window:
    mdp = small_world([[1e6]])  # the state s = 10^6 of S = {0, 1, 2, ...}, r(s) = s
    assume_stated(0 < mdp.discount < 1, "beta in (0, 1)")
    assume_stated(bool(np.all(mdp.reward == 1e6)), "r in R^(S x A)")
    return Window(mdp, 1e6)


@claim(
    "setup.Q-star-bounded",
    verdict="holds-if",
    condition="the reward is bounded (as it is where there are finitely many states)",
    instances=tabular_mdps().map(lambda mdp: Window(mdp, np.inf)),
    counterexample=Counterexample(
        make=_state_of_the_line,
        text="S = {{0, 1, 2, ...}}, one action, every state absorbing, r(s) = s, beta = 1/2: "
        "Q*(s) = 2s.\nWhatever bound M is named, the state s = M exceeds it: "
        "for M = {bound:.0f}, Q*(M) = {observed:.0f}.",
    ),
    corrected=bounded_rewards_bound_q,
    control=Control(
        broken="the entropy's share beta log|A| left out",
        check=lambda at: _largest(at, float(np.max(np.abs(at.mdp.reward))) / (1 - at.mdp.discount)),
        make=lambda: Window(small_world([[1.0, 1.0]]), np.inf),
    ),
)
def discounting_bounds_q(at: Window) -> CheckResult:
    """beta < 1 implies that Q* is bounded: some M has |Q*| <= M on S x A.

    Where: Section 3, "By Rust (1994), beta < 1 (discount factor less than one) implies Q* in Q".

    Assumes: S any state space, r in R^(S x A), A finite, beta in (0, 1).

    Decided: a bound on r is needed (Rust assumes one). On the infinite state space named in the
    counterexample no M will do; the claimed M is part of the instance.
    """
    return _largest(at, at.claimed)


# --- where the expert goes


def covered(mdp: TabularMDP) -> list[CheckResult]:
    """The expert's law gives each state of S-bar weight, and no other state.

    The library's occupancy against visits summed period by period, and these against the chance
    of the likeliest path into the state, which is positive on S-bar alone.
    """
    found, world = mdp.solution, (mdp.transition, mdp.discount, mdp.initial)
    law = oracle.visits(found.policy, *world)
    log_floor = oracle.log_likeliest(found.q - found.v[:, None], *world)
    reached = oracle.reachable(mdp.initial, mdp.transition)
    floor = np.exp(log_floor)
    short = (floor > 1e-280) & (law < (1 - 1e-9) * floor)  # below, products underflow
    wrong = float(np.sum(short | (reached != np.isfinite(log_floor))))
    gap = mdp.discounted_occupancy().sum(axis=1) - law
    why = "a linear system of condition 2/(1 - beta)"
    return [
        zero(gap, 1e-13 / (1 - mdp.discount), why),
        CheckResult(wrong, "==", 0.0, 0.0, "a count of states"),
    ]


@dataclass(frozen=True)
class Cells:
    """A world whose states are cells: points, or (spread) unit intervals entered uniformly.

    Reward and law are the same all over an interval, so the cells form a finite world.
    """

    mdp: TabularMDP
    spread: NDArray[np.bool_]


@st.composite
def cells(draw: st.DrawFn) -> Cells:
    mdp = draw(tabular_mdps(rewards=MILD, discounts=st.sampled_from([0.5, 0.9, 0.99])))
    return Cells(mdp, draw(arrays(np.bool_, len(mdp.initial))))


def _carried(at: Cells, carrier: NDArray[np.bool_]) -> CheckResult:
    share = at.mdp.discounted_occupancy().sum(axis=1)
    total = float(np.sum(share[carrier]))
    return CheckResult(total, "==", 1.0, rounding(at.mdp), WHY)


def support_carries_data(at: Cells) -> CheckResult:
    """S-bar = the support of the expert's state law, the smallest closed set of states that holds
    s_0, s_1, ... with probability one; equalities "for all s in S-bar" hold almost everywhere. On
    a countable (discrete) S this is the printed set.

    Decided: the support has full measure by definition. Measured: the expert's occupancy (library,
    one linear system) of the states that a search along possible moves reaches; none has mass 0.
    """
    found = oracle.reachable(at.mdp.initial, at.mdp.transition)
    share = at.mdp.discounted_occupancy().sum(axis=1)
    empty = float(np.sum(share[found] <= 0))
    return worst(
        [_carried(at, found), CheckResult(empty, "==", 0.0, 0.0, "a count")],
    )


def _interval() -> Cells:
    at = Cells(small_world([[0.0, 0.0]]), np.array([True]))
    assume_stated(at.mdp.reward.shape[1] == 2, "finitely many actions")
    assume_stated(bool(np.all(at.mdp.transition == 1)), "P(. | s, a) is a law on S")
    return at


def _chain() -> Cells:
    move = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    mdp = TabularMDP(np.zeros((3, 1)), move, 0.5, np.array([1.0, 0.0, 0.0]))
    return Cells(mdp, np.zeros(3, dtype=bool))


@claim(
    "setup.reachable-set",
    verdict="holds-if",
    condition="the state space is countable (or the expert's state law purely atomic)",
    instances=cells(),
    counterexample=Counterexample(
        make=_interval,
        text="S = [0, 1], s_0 uniform, and s' uniform whatever (s, a): P(s_h = s) = 0 for every s "
        "and h.\nSo S-bar is empty: the data lie in it with probability {observed:g}, not "
        "{bound:g},\nand what is claimed 'for all s in S-bar' claims nothing.",
    ),
    corrected=support_carries_data,
    control=Control(
        broken="only periods 0 and 1 counted",
        check=lambda at: _carried(at, oracle.reachable(at.mdp.initial, at.mdp.transition, 1)),
        make=_chain,
    ),
)
def atoms_carry_data(at: Cells) -> CheckResult:
    """S-bar = {s: P(s_h = s) > 0 for some h >= 0} carries the expert's data: P(s_h in S-bar) = 1.

    Where: Section 3, Definition IRLproblem ("the dataset D only contains information about states
    visited under pi*"), and Section 4; Section 6 is "formulated for continuous state spaces".

    Assumes: S any state space, A finite, the expert plays pi*.

    Decided: P(s_h = s) > 0 holds for at most countably many s; under laws with a density it holds
    for none, and the identification results become empty.
    """
    found = oracle.reachable(at.mdp.initial, at.mdp.transition)
    return _carried(at, found & ~at.spread)


# --- the space of bounded functions

Step = tuple[Fraction, ...]  # a step function on S x A: finitely many values, S x A infinite


@dataclass(frozen=True)
class Series:
    """Q_n = sum_{k < n} ratio^k terms[k mod p]: a Cauchy sequence of step functions.

    Attributes:
        terms: p functions, each by its values on common pieces of S x A.
        ratio: in (0, 1).
        first: n, the member to compare with the limit.
    """

    terms: tuple[Step, ...]
    ratio: Fraction
    first: int

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


def _complete(at: Series, norm: Callable[[Step], Fraction] = _norm) -> CheckResult:
    """|Q - Q_n| <= eps_n := sup_{m > n} |Q_m - Q_n| and |Q| <= |Q_n| + eps_n, eps_n in `norm`."""
    n, ahead = at.first, 12
    apart = max(norm(at.between(n, m)) for m in range(n, n + ahead + 1))
    tail = at.ratio ** (n + ahead) * max(norm(term) for term in at.terms) / (1 - at.ratio)
    limit, member = at.limit(), at.between(0, n)
    left = _norm(tuple(x - y for x, y in zip(limit, member, strict=True)))
    reason = "exact arithmetic"
    return worst(
        [
            CheckResult(left, "<=", apart + tail, 0.0, reason),
            CheckResult(_norm(limit), "<=", _norm(member) + apart + tail, 0.0, reason),
        ]
    )


@claim(
    "lem:completeMetric",
    verdict="holds",
    instances=series(),
    control=Control(
        broken="Cauchy at one pair (s, a) taken for Cauchy in the norm",
        check=lambda at: _complete(at, norm=lambda f: abs(f[0])),
        make=lambda: Series(((Fraction(0), Fraction(1)),), Fraction(1, 2), 1),
    ),
)
def bounded_functions_are_complete(at: Series) -> CheckResult:
    """The bounded functions on S x A with the sup norm form a Banach space.

    Where: Technical proofs, Lemma completeMetric.

    Assumes: S x A any set, and the set Q of Section 3 consists of all bounded functions on it: a
    parametrised class of them, networks of one size say, need not be complete.

    Decided: by proof, which the numbers illustrate. The pointwise limit Q of a Cauchy sequence has
    |Q(x) - Q_n(x)| <= eps_n := sup_{m > n} |Q_m - Q_n| for every x, hence is bounded and the limit
    in norm. The printed proof stops at pointwise convergence and takes sup|Q| = lim sup|Q_n| for
    granted. Measured, exactly: both inequalities on geometric series of step functions on an
    infinite S x A, eps_n from twelve members and a bound on the rest.
    """
    return _complete(at)
