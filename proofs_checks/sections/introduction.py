"""Two sentences of the introduction: what the reward costs, and which parameter is found."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from gladius.checks import Array
from gladius.mdp import TabularMDP, action_values
from gladius.objective import conditional_mean, grouped_risk, value
from gladius.printed_steps import descent
from gladius.transitions import Counts
from proofs_checks.claims import CheckResult, Control, Counterexample, assume_stated, claim, worst
from proofs_checks.oracle.empirical import zeta_error
from proofs_checks.worlds import DISCOUNTS, VALUES, laws


# --- what the reward costs
@dataclass(frozen=True)
class Revisit:
    """A pair seen `visits` times; its successors follow `law` and have the values V* = `v`."""

    law: Array
    v: Array
    visits: int
    discount: float


@st.composite
def revisits(draw: st.DrawFn) -> Revisit:
    width = draw(st.integers(1, 3))
    return Revisit(
        draw(laws((width,))),
        draw(arrays(np.float64, width, elements=VALUES)),
        draw(st.integers(1, 4)),
        draw(DISCOUNTS),
    )


def _world(at: Revisit) -> tuple[TabularMDP, Array]:
    """State 0 and the successors 1, 2, ..., where one stays; at 0 the anchor 0 stays, 1 moves.

    Q* is chosen, equal in both actions so that V* is `v` (zero at 0); r = Q* - beta P V* fits it.
    """
    states = len(at.v) + 1
    transition = np.tile(np.eye(states), (2, 1, 1))
    transition[1, 0] = np.append(0.0, at.law)
    v = np.append(0.0, at.v)
    q = np.repeat(v[:, None] - np.log(2.0), 2, axis=1)
    reward = q - action_values(np.zeros_like(q), transition, at.discount, v)
    return TabularMDP(reward, transition, at.discount, np.eye(states)[0]), q


def _errors(at: Revisit) -> tuple[float, float]:
    """Mean and mean square of r-hat - r at (0, 1) over all data sets, when Q-hat is Q* itself."""
    mdp, q = _world(at)
    paths = np.array(list(product(range(len(at.v)), repeat=at.visits)))
    chance = at.law[paths].prod(axis=1)
    moves = np.zeros((len(paths), *mdp.transition.shape))
    for column in paths.T:
        moves[np.arange(len(paths)), 1, 0, column + 1] += 1.0
    counts = Counts(mdp.features, np.swapaxes(moves.sum(axis=3), 1, 2), moves)
    zeta = conditional_mean(np.tile(value(q), (len(paths), 1)), counts)[:, 0, 1]
    error = q[0, 1] - at.discount * zeta - mdp.reward[0, 1]
    return float(chance @ error), float(chance @ error**2)


def _tolerance(at: Revisit) -> float:
    return 1e-13 * (1.0 + 2 * float(np.abs(at.v).max())) ** 2


def _priced(at: Revisit, beta: float) -> CheckResult:
    bias, square = _errors(at)
    bound, reason = zeta_error(at.law, at.v, at.visits, beta), "rounding in squares of V*"
    return worst(
        [
            CheckResult(square, "==", float(bound), _tolerance(at), reason),
            CheckResult(bias, "==", 0.0, _tolerance(at), reason),
        ]
    )


def reward_costs_zeta(at: Revisit) -> CheckResult:
    """Given Q* without error, r-hat = Q* - beta zeta-hat has mean r(s, a) and mean squared error
    beta^2 Var(V*(s') | s, a)/n(s, a) at a pair seen n(s, a) times: no further statistical cost
    where V*(s') is certain given (s, a), as under deterministic transitions, and otherwise that of
    zeta-hat; no further computation, since GLADIUS has fitted zeta already.

    Decided: zeta-hat is a mean of n independent V*(s'). All data sets are enumerated and the
    library's zeta-hat compared with the variance in exact arithmetic.
    """
    return _priced(at, at.discount)


def _even_chance() -> Revisit:
    at = Revisit(np.array([0.5, 0.5]), np.array([0.0, 2.0]), 1, 0.5)
    mdp, q = _world(at)
    assume_stated(bool(np.abs(mdp.solution.q - q).max() < 1e-12), "Q-hat is Q* of the world")
    return at


@claim(
    "intro.reward-no-extra-cost",
    verdict="holds-if",
    condition="V*(s') is certain given (s, a), as under deterministic transitions",
    instances=revisits(),
    counterexample=Counterexample(
        make=_even_chance,
        text="beta = 1/2; (s, a), not the anchor, leads to V* = 0 or 2, each with 1/2, and is seen "
        "once.\nQ* is given exactly, r = Q* - 1/2; zeta-hat is 0 or 2, so r-hat - r is 1/2 or "
        "-1/2.\nIts mean square is {observed:.2f} (1/(4n) after n visits), not {bound:.0f}.",
    ),
    corrected=reward_costs_zeta,
    control=Control(
        broken="beta Var(V*(s'))/n: one factor beta is missing",
        check=lambda at: _priced(at, at.discount**0.5),
        make=_even_chance,
    ),
)
def reward_no_extra_cost(at: Revisit) -> CheckResult:
    """Given the estimated Q*, the reward is computed with no extra statistical cost: with Q-hat
    = Q* the error of r-hat = Q-hat - beta zeta-hat is zero.

    Where: Section 1: "the true reward function can be computed from the estimated Q* with no extra
    statistical or computational cost, given the estimated Q* function"; Algorithm 1, last line.

    Assumes: zeta-hat is the least-squares zeta of the data, and Q-hat = Q*.

    Decided: r at a pair other than the anchor's needs E[V*(s') | s, a], which Q* does not tell.
    The sentence is true of computation and of the number of data used, and the rate stays
    N^(-1/2); it is not true of the error. The mean square over all data sets is enumerated.
    """
    reason = "rounding in squares of V*"
    return CheckResult(_errors(at)[1], "<=", 0.0, _tolerance(at), reason)


# --- which parameter is found
@dataclass(frozen=True)
class LinearClass:
    """Q_theta = features theta on S x A, flattened; the truth is theta*, the start theta_0."""

    transition: Array
    discount: float
    features: Array
    truth: Array
    start: Array


@st.composite
def linear_classes(draw: st.DrawFn) -> LinearClass:
    """Classes of full row rank (Assumption nonSingularJac (ii)), with up to two spare columns."""
    states, actions, spare = (draw(st.integers(low, 2)) for low in (1, 1, 0))
    pairs = states * actions
    small = st.integers(-2, 2).map(float)
    mix = np.eye(pairs) + np.triu(draw(arrays(np.float64, (pairs, pairs), elements=small)), 1) / 2
    more = draw(arrays(np.float64, (pairs, spare), elements=small))
    truth, start = (draw(arrays(np.float64, pairs + spare, elements=small)) for _ in range(2))
    return LinearClass(
        transition=draw(laws((actions, states, states), self_loops=True)),
        discount=draw(st.sampled_from([0.3, 0.5, 0.8])),
        features=mix @ np.hstack([np.eye(pairs), more]),
        truth=truth / 2,
        start=start,
    )


def _found(at: LinearClass) -> Array:
    """The minimiser of R_exp(Q_theta) that gradients lead to from theta_0; every state is visited.

    With zeta at its inner maximum the descent slope of Algorithm 1 is the slope of the risk.
    """
    actions, states = at.transition.shape[:2]
    shape = (states, actions)
    q = (at.features @ at.truth).reshape(shape)
    reward = q - action_values(np.zeros(shape), at.transition, at.discount, value(q))
    mdp = TabularMDP(reward, at.transition, at.discount, np.full(states, 1 / states))
    weight = mdp.discounted_occupancy()
    data = Counts(mdp.features, weight[None], (weight.T[:, :, None] * mdp.transition)[None])

    def risk(theta: Array) -> tuple[float, Array]:
        table = (at.features @ theta).reshape(1, *shape)
        zeta = conditional_mean(value(table), data)
        given = 0, reward[:, 0], at.discount
        total = grouped_risk(table, data, *given, zeta).total()
        slope = descent(table, zeta, data, data, *given).slope
        return float(total[0]), at.features.T @ slope.ravel()

    # BFGS from the identity stays, as plain descent does, in theta_0 + the span of the gradients
    theta: Array = minimize(risk, at.start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
    return theta


def _distance(at: LinearClass, goal: Array, found: Array | None = None) -> CheckResult:
    miss = (_found(at) if found is None else found) - goal
    return CheckResult(
        observed=float(np.abs(miss).max()),
        relation="==",
        bound=0.0,
        tolerance=1e-4,
        reason="a minimiser found to gradients of 1e-9, with curvatures from 1e-4 upwards",
    )


def _nearest(at: LinearClass) -> Array:
    """The theta with Q_theta = Q* that is nearest to theta_0."""
    gap = at.features @ (at.truth - at.start)
    nearest: Array = at.start + np.linalg.pinv(at.features) @ gap
    return nearest


def _parameter(at: LinearClass, goal: Array) -> CheckResult:
    """The minimiser is `goal`; and theta* itself where Q_theta tells the parameters apart."""
    found = _found(at)
    results = [_distance(at, goal, found)]
    if np.linalg.matrix_rank(at.features) == len(at.truth):
        results.append(_distance(at, at.truth, found))
    return worst(results)


def parameter_if_injective(at: LinearClass) -> CheckResult:
    """Up to statistical error the minimisers of the risk have Q_theta = Q* on S-bar x A; they are
    the true parameter alone where theta -> Q_theta is one-to-one there. Otherwise every theta with
    Q_theta = Q* is as good, and which one is found depends on the start theta_0: in a linear class
    the one nearest to theta_0.

    Decided: the risk depends on theta through Q_theta alone. It is minimised by gradients from a
    drawn start, in classes with as many parameters as pairs or more, and the end compared with
    theta_0 + pinv(Phi)(Q* - Phi theta_0), and with theta* where Phi is invertible.
    """
    return _parameter(at, _nearest(at))


def _twice_the_same() -> LinearClass:
    at = LinearClass(np.ones((1, 1, 1)), 0.5, np.ones((1, 2)), np.array([2.0, 0.0]), np.zeros(2))
    assume_stated(bool(at.features @ at.truth == 2.0), "realizability: Q_theta* = Q* = 2")
    assume_stated(float((at.features @ at.features.T)[0, 0]) >= 2, "J J' >= mu I with mu = 2")
    return at


@claim(
    "intro.true-parameter",
    verdict="holds-if",
    condition="theta -> Q_theta is one-to-one on S-bar x A",
    instances=linear_classes(),
    counterexample=Counterexample(
        make=_twice_the_same,
        text="One state, one action, r = 1, beta = 1/2: Q* = 2. Q = theta_1 + theta_2, J J' = 2.\n"
        "The risk (1 - (theta_1 + theta_2)/2)^2 has equal slopes: (0, 0) is led to (1, 1).\n"
        "theta* = (2, 0), equally true, is {observed:.0f} off in each entry, not {bound:.0f}.",
    ),
    corrected=parameter_if_injective,
    control=Control(
        broken="the theta of least norm in place of the one nearest to the start",
        check=lambda at: _parameter(at, np.linalg.pinv(at.features) @ (at.features @ at.truth)),
        make=lambda: LinearClass(
            np.ones((1, 1, 1)), 0.5, np.ones((1, 2)), np.array([2.0, 0.0]), np.array([1.0, 0.0])
        ),
    ),
    cost=5,
)
def true_parameter(at: LinearClass) -> CheckResult:
    """GLADIUS finds the true parameter theta for Q*, up to statistical error.

    Where: Section 1, "This method provably finds the true parameter theta for Q* estimation (up to
    statistical error ...)"; Section 2, on Table lit's rates, "the estimated parameter theta-hat
    converges to the true parameter theta*".

    Assumes: realizability (some theta* has Q_theta* = Q*), the empirical Jacobian condition
    J J' >= mu I, infinitely much data.

    Decided: the paper avoids the full-column-rank condition on purpose, and its wide networks have
    more parameters than pairs, so that theta* is one of many. Theorem linConvergence, which bounds
    the distance to the set of minimisers, says it rightly.
    """
    return _distance(at, at.truth)
