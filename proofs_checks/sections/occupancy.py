"""Appendix B, IRL with occupancy matching: telescoping and the Lemma on the gap.

Here Q^pi and T^pi carry no entropy, as in that appendix. Worlds of rational numbers are solved
exactly, so tolerances are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from scipy.special import softmax

from gladius.checks import Array
from gladius.mdp import TabularMDP
from proofs_checks.claims import CheckResult, Control, Counterexample, assume_stated, claim
from proofs_checks.oracle import occupancy as oracle
from proofs_checks.oracle.occupancy import Rows, World, shares
from proofs_checks.worlds import laws, tabular_mdps

EXACT = "rational arithmetic"
HALF = Fraction(1, 2)
NUMBERS = st.integers(-12, 12).map(lambda n: Fraction(n, 4)) | st.integers(-100, 100).map(Fraction)
RATES = st.sampled_from([HALF, Fraction(9, 10), Fraction(99, 100), Fraction(999, 1000)]) | (
    st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)
)


@st.composite
def tables(draw: st.DrawFn, states: int, actions: int) -> Rows:
    row = st.lists(NUMBERS, min_size=actions, max_size=actions).map(tuple)
    return tuple(draw(row) for _ in range(states))


@st.composite
def policies(draw: st.DrawFn, states: int, actions: int) -> Rows:
    row = st.lists(st.integers(0, 4), min_size=actions, max_size=actions).map(shares)
    return tuple(draw(row) for _ in range(states))


@st.composite
def rational_worlds(draw: st.DrawFn, outside: int = 0) -> World:
    """Worlds of one state and one action upwards; the last `outside` states are never entered
    from the others, nor first."""
    inside, actions = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    states = inside + outside

    def row(s: int) -> tuple[Fraction, ...]:
        width = inside if s < inside else states
        weights = draw(st.lists(st.integers(0, 4), min_size=width, max_size=width))
        return shares([*weights, *[0] * (states - width)], otherwise=s)

    first = draw(st.lists(st.integers(0, 4), min_size=inside, max_size=inside))
    return World(
        reward=draw(tables(states, actions)),
        moves=tuple(tuple(row(s) for s in range(states)) for _ in range(actions)),
        initial=shares([*first, *[0] * outside]),
        discount=draw(RATES),
    )


# --- Lemma telescoping


@dataclass(frozen=True)
class Function:
    """A world, a policy, a function f[s][a] and a first pair."""

    world: World
    policy: Rows
    f: Rows
    pair: tuple[int, int]


@st.composite
def functions(draw: st.DrawFn) -> Function:
    world = draw(rational_worlds())
    states, actions = len(world.states), len(world.actions)
    pair = (draw(st.integers(0, states - 1)), draw(st.integers(0, actions - 1)))
    policy = draw(policies(states, actions))
    return Function(world, policy, draw(tables(states, actions)), pair)


def _telescope(at: Function, inside: Fraction, factor: Fraction) -> CheckResult:
    """Q^pi - f at the pair, and factor * E of r + inside * E f(s', a') - f under d^pi."""
    s, a = at.pair
    q = oracle.action_values(at.world, at.policy)
    target = oracle.backup(at.world, at.policy, at.f, inside)
    d = oracle.occupancy_given(at.world, at.policy, s, a)
    right = factor * (oracle.average(d, target) - oracle.average(d, at.f))
    return CheckResult(q[s][a] - at.f[s][a], "==", right, 0.0, EXACT)


def _factor(at: Function) -> Fraction:
    return 1 / (1 - at.world.discount)


def telescoping_discounted(at: Function) -> CheckResult:
    """Q^pi(s_0, a_0) - f(s_0, a_0) = (1/(1 - beta)) E_{d^pi}[(T^pi f - f)(s, a) | s_0, a_0] with
    T^pi f(s, a) := r(s, a) + beta E[f(s', a') | s, a].

    Decided: Q^pi solves the evaluation equation and d^pi given the first pair the adjoint one,
    both in rational arithmetic; the two sides are equal to the last digit. The proof writes the
    beta that the statement lacks.
    """
    return _telescope(at, at.world.discount, _factor(at))


def _one_state() -> Function:
    one = ((Fraction(1),),)
    at = Function(World(((Fraction(0),),), (one,), (Fraction(1),), HALF), one, one, (0, 0))
    assume_stated(0 < at.world.discount < 1, "beta in (0, 1)")
    rows = (*at.world.moves[0], *at.policy)
    assume_stated(
        all(sum(row) == 1 and min(row) >= 0 for row in rows), "P and pi are probabilities"
    )
    d = oracle.occupancy_given(at.world, at.policy, *at.pair)
    assume_stated(sum(map(sum, d)) == 1, "d^pi is normalised by 1 - beta")
    return at


@claim(
    "lem:telescoping",
    verdict="misprint",
    instances=functions(),
    counterexample=Counterexample(
        make=_one_state,
        text="One state, one action, r = 0, beta = 1/2, f = 1: Q^pi = 0, so the left side is "
        "{observed}.\n"
        "The printed T^pi f = 0 + 1, so T^pi f - f = 0 and the right side is {bound}.\n"
        "With beta, T^pi f - f = 1/2 - 1 and the right side is 2(-1/2) = -1.",
    ),
    corrected=telescoping_discounted,
    control=Control(
        broken="the factor 1/(1 - beta) left out",
        check=lambda at: _telescope(at, at.world.discount, Fraction(1)),
        make=_one_state,
    ),
)
def telescoping(at: Function) -> CheckResult:
    """Q^pi(s_0, a_0) - f(s_0, a_0) = (1/(1 - beta)) E_{d^pi}[(T^pi f - f)(s, a) | s_0, a_0] with
    T^pi f(s, a) := r(s, a) + E[f(s', a') | s, a].

    Where: Appendix B, Lemma telescoping.

    Assumes: finite states and actions, beta in (0, 1); d^pi normalised by 1 - beta.

    Decided: without beta inside T^pi nothing telescopes: the terms of f at t and t + 1 carry
    beta^t and beta^t in place of beta^t and beta^(t+1).
    """
    return _telescope(at, Fraction(1), _factor(at))


# --- Lemma occp=naiveBE


@dataclass(frozen=True)
class Rival:
    """A world with its expert, another policy (S, A) and a first pair."""

    mdp: TabularMDP
    policy: Array
    pair: tuple[int, int]


@st.composite
def rivals(draw: st.DrawFn) -> Rival:
    mdp = draw(tabular_mdps(max_states=3))
    states, actions = mdp.reward.shape
    pair = (draw(st.integers(0, states - 1)), draw(st.integers(0, actions - 1)))
    return Rival(mdp, draw(laws((states, actions))), pair)


def _mean_reward(at: Rival, policy: Array) -> float:
    """E_{d^policy}[r | s_0, a_0] by the library's occupancy from the law of s_1."""
    s, a = at.pair
    mdp, beta = at.mdp, at.mdp.discount
    later = TabularMDP(mdp.reward, mdp.transition, beta, mdp.transition[a, s])
    rest = float(np.sum(later.discounted_occupancy(policy) * mdp.reward))
    return float((1 - beta) * mdp.reward[s, a] + beta * rest)


def _rational(table: Array) -> Rows:
    return tuple(shares(row) for row in table.tolist())


def _gap(at: Rival, scale: float) -> CheckResult:
    """scale * (the gap of expected rewards) against the average Bellman error of Q^pi."""
    mdp = at.mdp
    expert = softmax(mdp.solution.q, axis=1)  # sums to one to the last digit, however large Q
    world = World(
        tuple(tuple(map(Fraction, row)) for row in mdp.reward.tolist()),
        tuple(_rational(move) for move in mdp.transition),
        shares(mdp.initial.tolist()),
        Fraction(mdp.discount),
    )
    followed = _rational(expert)
    error = oracle.bellman_error(world, followed, oracle.action_values(world, _rational(at.policy)))
    d = oracle.occupancy_given(world, followed, *at.pair)
    rounding = float(np.finfo(float).eps * np.max(np.abs(mdp.reward), initial=1e-300))
    return CheckResult(
        observed=scale * (_mean_reward(at, expert) - _mean_reward(at, at.policy)),
        relation="==",
        bound=float(oracle.average(d, error)),
        tolerance=64 * rounding / (1 - mdp.discount),
        reason="the library solves two systems with condition 2/(1 - beta); the oracle is exact",
    )


def _two_choices() -> Rival:
    mdp = TabularMDP(np.array([[0.0, 1.0]]), np.ones((2, 1, 1)), 0.5, np.ones(1))
    return Rival(mdp, np.array([[1.0, 0.0]]), (0, 0))


@claim(
    "cor:occp=naiveBE",
    verdict="holds",
    instances=rivals(),
    control=Control(
        broken="E_d[r | s_0, a_0] taken as Q(s_0, a_0), as in the proof's first line",
        check=lambda at: _gap(at, 1 / (1 - at.mdp.discount)),
        make=_two_choices,
    ),
)
def gap_is_average_bellman_error(at: Rival) -> CheckResult:
    """E_{d*}[r | s_0, a_0] - E_{d^pi}[r | s_0, a_0] = E_{d*}[(T* Q^pi - Q^pi)(s, a) | s_0, a_0].

    Where: Appendix B, Lemma occp=naiveBE.

    Assumes: finite states and actions; the expert follows the entropy-regularised optimum pi*;
    T* is the Bellman operator of pi*, with the beta that Lemma telescoping lost in print.

    Decided: the left side by the library's occupancies from the law of s_1, the right side from
    exact rational values and occupancies. The statement stands; the proof's first line equates
    E_d[r | s_0, a_0], which is (1 - beta) Q(s_0, a_0), with Q at (s, a). That line is not used.
    """
    return _gap(at, 1.0)
