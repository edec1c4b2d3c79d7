"""Appendix B, what is concluded from the Lemma on occupancy matching; exact, tolerance zero."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st

from gladius.mdp import TabularMDP
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
    worst,
)
from proofs_checks.oracle import occupancy as oracle
from proofs_checks.oracle.occupancy import Rows, World, shares
from proofs_checks.sections.occupancy import EXACT, HALF, policies, rational_worlds


@dataclass(frozen=True)
class Match:
    """A world, the expert's policy in it, and a policy to follow where the expert never goes."""

    world: World
    expert: Rows
    elsewhere: Rows


@st.composite
def matches(draw: st.DrawFn) -> Match:
    world = draw(rational_worlds(outside=draw(st.integers(0, 2))))
    states, actions = len(world.states), len(world.actions)
    return Match(world, draw(policies(states, actions)), draw(policies(states, actions)))


def _expert_occupancy(at: Match) -> Rows:
    return oracle.occupancy(at.world, at.expert, at.world.initial)


def _matching(at: Match, elsewhere: Rows) -> Rows:
    """A policy with the expert's occupancy d*: d*(s, a)/d*(s) where d*(s) > 0, else as given.

    There is no other: d^pi(s, a) = d^pi(s) pi(a | s).
    """
    d = _expert_occupancy(at)
    policy = tuple(
        shares(row) if any(row) else free for row, free in zip(d, elsewhere, strict=True)
    )
    assume_stated(oracle.occupancy(at.world, policy, at.world.initial) == d, "d^pi = d*")
    return policy


def _errors(at: Match, policy: Rows) -> Iterator[tuple[bool, Fraction]]:
    """(whether the pair is in the support of d*, (T* Q^pi - Q^pi)(s, a)) of all pairs.

    The reward read off by the Bellman equation of pi*, Q^pi - beta E_pi*[Q^pi], misses r by it.
    """
    error = oracle.bellman_error(at.world, at.expert, oracle.action_values(at.world, policy))
    for weights, row in zip(_expert_occupancy(at), error, strict=True):
        yield from ((p > 0, x) for p, x in zip(weights, row, strict=True))


def _on_support(at: Match, policy: Rows) -> CheckResult:
    total = sum((abs(x) for inside, x in _errors(at, policy) if inside), Fraction(0))
    return CheckResult(total, "==", Fraction(0), 0.0, EXACT)


def _left_open(at: Match) -> CheckResult | None:
    """Where the condition is met: an exactly matching policy with a Bellman error somewhere.

    The condition: pi* never visits u, some pair leads to u, and Q^pi*(u, .) is not constant on
    pi*'s own actions. Following the better action at u alone then raises Q^pi there.
    """
    world, d = at.world, _expert_occupancy(at)
    q = oracle.action_values(world, at.expert)
    for u in world.states:
        entered = any(move[s][u] for move in world.moves for s in world.states)
        chosen = [q[u][a] for a in world.actions if at.expert[u][a]]
        if not any(d[u]) and entered and len(set(chosen)) > 1:
            best = q[u].index(max(q[u]))
            greedy = tuple(Fraction(a == best) for a in world.actions)
            policy = _matching(at, (*at.expert[:u], greedy, *at.expert[u + 1 :]))
            wrong = sum(x != 0 for _, x in _errors(at, policy))
            return CheckResult(Fraction(wrong), ">=", Fraction(1), 0.0, EXACT)
    return None


def errors_only_outside_the_support(at: Match) -> CheckResult:
    """If d^pi = d*, then T* Q^pi = Q^pi, and r = Q^pi - beta E_{pi*}[Q^pi(s', a')], at every
    pair in the support of d*; errors can remain only at pairs outside the support, and do for
    some matching pi if a state never visited can be entered and its actions differ in Q^{pi*}.
    Equality of E[r] for the one r, a zero gap in the Lemma, does not make the errors zero.

    Decided: d^pi = d* forces pi = pi* at every visited state, and pairs in the support lead only
    to visited states. Exact solves: no error on the support whatever pi does elsewhere; and where
    the condition is met, a policy better at one unvisited state leaves an error at a pair that
    leads there. The control matches E[r] alone, which leaves errors on the support.
    """
    results = [_on_support(at, _matching(at, at.elsewhere))]
    left_open = _left_open(at)
    return worst([*results, left_open] if left_open else results)


def _alternating() -> Match:
    """Both actions lead to the other state; r(s, .) = (0, log 3), so pi* = (1/4, 3/4).

    `elsewhere` is (3/4, 1/4) and (0, 1): from any first pair with s_0 = 0 it earns E[r] as pi*.
    """
    log3 = Fraction(math.log(3))
    first, second = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    quarter = Fraction(1, 4)
    world = World(((Fraction(0), log3),) * 2, ((second, first),) * 2, first, HALF)
    at = Match(world, ((quarter, 3 * quarter),) * 2, ((3 * quarter, quarter), second))
    mdp = TabularMDP(
        np.array(world.reward, dtype=float),
        np.array(world.moves, dtype=float),
        0.5,
        np.array([1.0, 0.0]),
    )
    gap = float(np.max(np.abs(mdp.solution.policy - np.array(at.expert, dtype=float))))
    assume_stated(gap < 1e-14, "the expert follows the entropy-regularised optimal policy of r")
    return at


def _one_reward_matched(at: Match) -> CheckResult:
    """The corrected statement with E_{d*}[r] = E_{d^pi}[r] for the one r in place of d^pi = d*."""
    q, q_expert = (oracle.action_values(at.world, p) for p in (at.elsewhere, at.expert))
    assume_stated(q[0] == q_expert[0], "E[r | s_0, a_0] is the same")
    return _on_support(at, at.elsewhere)


@claim(
    "sec:occupancy.conclusion",
    verdict="holds-if",
    condition="the pair is outside the support of d*, or only E[r] of the one r is matched",
    instances=matches(),
    counterexample=Counterexample(
        make=_alternating,
        text="Two states, each action leads to the other state, beta = 1/2, s_0 = 0, r(s, .) = "
        "(0, log 3): pi* = (1/4, 3/4), d* = ((1/6, 1/2), (1/12, 1/4)).\n"
        "d^pi = d* forces pi(a | s) = d*(s, a)/d*(s) = pi*(a | s), so T* Q^pi = T^pi Q^pi = Q^pi "
        "and r = Q^pi - beta E_pi*[Q^pi] at all four pairs.\n"
        "Pairs at which r is read off wrongly, the most over all matching policies: "
        "{observed:.0f}; needed: {bound:.0f} or more.",
    ),
    corrected=errors_only_outside_the_support,
    control=Control(
        broken="the expected reward matched, from every first pair with s_0 = 0, not the measure",
        check=_one_reward_matched,
        make=_alternating,
    ),
)
def matching_leaves_errors(at: Match) -> CheckResult:
    """ "r cannot be inferred from Q using the Bellman equation after deriving Q using occupancy
    matching": read off Q^pi, r is wrong at some pair.

    Where: Appendix B, after Lemma occp=naiveBE, "This implies that r cannot be inferred ...".

    Assumes: finite states and actions; the expert follows pi*; d^pi = d*; Q is Q^pi and the
    Bellman operator T*, as in the Lemma.

    Decided: the paper infers it from the sentence before, that matching "does not necessarily imply
    Bellman errors being 0 for every state and action". That one is true, of pairs off the support
    of d* (and of all, if "matching" means a zero gap in the Lemma, the expected reward of the one
    r), but does not carry this one: the paper seeks r on the support (Definition IRLproblem), and
    there exact matching leaves no error, in any world. The check counts the pairs, on the support
    or off it, at which r is read off wrongly: the most over all policies that match, those certain
    of an action where the expert never goes. (Of a Q known only through softmax(Q) = pi, another
    object than the Lemma's Q^pi, a shift by state stays free and r is indeed not identified.)
    """
    certain = [shares([0] * len(at.world.actions), otherwise=a) for a in at.world.actions]
    found = 0
    for elsewhere in product(certain, repeat=len(at.world.states)):
        found = max(found, sum(x != 0 for _, x in _errors(at, _matching(at, elsewhere))))
    return CheckResult(Fraction(found), ">=", Fraction(1), 0.0, EXACT)
