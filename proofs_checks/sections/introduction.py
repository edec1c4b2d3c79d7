"""Section 1, Introduction: what is claimed of the reward, the parameter, the saddle point, PL."""

from collections import namedtuple
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import minimize, root

from gladius.model.mdp import TabularMDP, action_values
from gladius.model.risk import Risk, conditional_mean, grouped_risk, value
from gladius.panel.record import Counts
from gladius.validate import Array
from proofs_checks.claims import instances
from proofs_checks.claims.claims import (
    CheckResult,
    assumed,
    at_least,
    at_most,
    claim,
    equal,
    weakest,
)
from proofs_checks.claims.under_check import EPS, descent, population_counts, population_risk, zero
from proofs_checks.oracle.occupancy import expert

# A pair seen `visits` times; its successors have these chances and the values V* = `v`.
Revisit = namedtuple("Revisit", "chances v visits discount")


@st.composite
def revisits(draw: st.DrawFn) -> Revisit:
    width = draw(st.integers(1, 3))
    chances, v = draw(instances.distributions((width,))), draw(instances.tables(width))
    return Revisit(chances, v, draw(st.integers(1, 4)), draw(instances.DISCOUNTS))


def _world(pair: Revisit) -> tuple[TabularMDP, Array]:
    """State 0 and the successors 1, 2, ..., where one stays; at 0 the anchor 0 stays, 1 moves.

    Q* is chosen, equal in both actions so that V* is `v` (zero at 0); r = Q* - beta P V* fits it.
    """
    states = len(pair.v) + 1
    transition = np.tile(np.eye(states), (2, 1, 1))
    transition[1, 0] = np.append(0.0, pair.chances)
    v = np.append(0.0, pair.v)
    q = np.repeat(v[:, None] - np.log(2.0), 2, axis=1)
    reward = q - action_values(np.zeros_like(q), transition, pair.discount, v)
    return TabularMDP(reward, transition, pair.discount, np.eye(states)[0]), q


def _errors(pair: Revisit) -> tuple[float, float]:
    """Mean and mean square of r-hat - r at (0, 1) over all data sets, when Q-hat is Q* itself."""
    mdp, q = _world(pair)
    paths = np.array(list(product(range(len(pair.v)), repeat=pair.visits)))
    chance = pair.chances[paths].prod(axis=1)
    moves = np.zeros((len(paths), *mdp.transition.shape))
    for column in paths.T:
        moves[np.arange(len(paths)), 1, 0, column + 1] += 1.0
    counts = Counts(mdp.features, np.swapaxes(moves.sum(axis=3), 1, 2), moves)
    zeta = conditional_mean(np.tile(value(q), (len(paths), 1)), counts)[:, 0, 1]
    error = q[0, 1] - pair.discount * zeta - mdp.reward[0, 1]
    return float(chance @ error), float(chance @ error**2)


SQUARES = "rounding in squares of V*"


def _tolerance(pair: Revisit) -> float:
    return 1e-13 * (1.0 + 2 * float(np.abs(pair.v).max())) ** 2


def reward_costs_zeta(pair: Revisit, power: float = 1.0) -> CheckResult:
    r"""Given $Q^*$ without error, at a pair with $n(s, a)$ independent observations, the tabular
    $\hat r = Q^* - \beta \hat\zeta$ has mean $r(s, a)$. Its mean squared error there is $\beta^2
    \mathrm{Var}(V^*(s') \mid s, a)/n(s, a)$. There is no further statistical cost where $V^*(s')$
    is certain given $(s, a)$, as under deterministic transitions. Otherwise the cost is that of
    $\hat\zeta$. There is no further computation, since GLADIUS has fitted $\zeta$ already.

    Decided: $\hat\zeta$ is a mean of $n$ independent $V^*(s')$. All data sets are enumerated and
    the library's $\hat\zeta$ compared with the variance in exact arithmetic.
    """
    bias, square = _errors(pair)
    variance = pair.chances @ (pair.v - pair.chances @ pair.v) ** 2
    price = pair.discount ** (2 * power) * variance / pair.visits
    tolerance = _tolerance(pair)
    return weakest(equal(square, price, tolerance, SQUARES), equal(bias, 0.0, tolerance, SQUARES))


def _even_chance() -> Revisit:
    pair = Revisit(np.array([0.5, 0.5]), np.array([0.0, 2.0]), 1, 0.5)
    mdp, q = _world(pair)
    assumed(np.abs(mdp.solution.q - q).max() < 1e-12, "Q-hat is Q* of the world")
    return pair


@claim.holds_if(
    "intro.reward-no-extra-cost",
    condition="$V^*(s')$ is certain given $(s, a)$, as under deterministic transitions",
    instances=revisits(),
    counterexample=_even_chance,
    text=(
        r"$\beta = 1/2$; $(s, a)$, not the anchor, leads to $V^* = 0$ or 2, each with 1/2, and "
        "is seen once.",
        r"$Q^*$ is given exactly, $r = Q^* - 1/2$; $\hat\zeta$ is 0 or 2, so $\hat r - r$ is 1/2 "
        "or -1/2.",
        "Its mean square is {observed:.2f} (1/(4n) after $n$ visits), not {bound:.0f}.",
    ),
    corrected=reward_costs_zeta,
    broken="beta Var(V*(s'))/n: one factor beta is missing",
    rejected={"power": 0.5},
)
def reward_no_extra_cost(pair: Revisit) -> CheckResult:
    r"""Given the estimated $Q^*$, the reward is computed with no extra statistical cost: with $\hat
    Q = Q^*$ the error of $\hat r = \hat Q - \beta \hat\zeta$ is zero.

    Where: Section 1: "the true reward function can be computed from the estimated $Q^*$ with no
    extra statistical or computational cost, given the estimated $Q^*$ function"; Algorithm 1, last
    line.

    Assumes: $\hat\zeta$ is the least-squares $\zeta$ of the data, and $\hat Q = Q^*$.

    Decided: $r$ at a pair other than the anchor's needs $E[V^*(s') \mid s, a]$, which $Q^*$ does
    not tell. The sentence is true of computation and of the number of data used, and the rate stays
    $N^{-1/2}$; it is not true of the error. The mean square over all data sets is enumerated.
    """
    return at_most(_errors(pair)[1], 0.0, _tolerance(pair), SQUARES)


# --- which parameter is found
# Q_theta = features theta on S x A, flattened; theta* is the true one, the start theta_0.
LinearProblem = namedtuple("LinearProblem", "transition discount features truth start")


@st.composite
def linear_problems(draw: st.DrawFn) -> LinearProblem:
    """Classes of full row rank (Assumption nonSingularJac (ii)), with up to two spare columns."""
    states, actions, spare = (draw(st.integers(low, 2)) for low in (1, 1, 0))
    pairs = states * actions
    small = st.integers(-2, 2).map(float)
    mix = np.eye(pairs) + np.triu(draw(instances.tables((pairs, pairs), small)), 1) / 2
    features = mix @ np.hstack([np.eye(pairs), draw(instances.tables((pairs, spare), small))])
    truth, start = (draw(instances.tables(pairs + spare, small)) for _ in range(2))
    return LinearProblem(
        transition=draw(instances.distributions((actions, states, states), self_loops=True)),
        discount=draw(st.sampled_from([0.3, 0.5, 0.8])),
        features=features,
        truth=truth / 2,
        start=start,
    )


def _minimiser(family: LinearProblem) -> Array:
    """The minimiser of R_exp(Q_theta) that gradients lead to from theta_0; every state is visited.

    With zeta at its inner maximum the descent slope of Algorithm 1 is the slope of the risk.
    """
    shape, span = family.transition.shape[1::-1], family.features.T
    q = (family.features @ family.truth).reshape(shape)
    reward = q - action_values(np.zeros(shape), family.transition, family.discount, value(q))
    mdp = TabularMDP(reward, family.transition, family.discount, np.full(len(q), 1 / len(q)))
    data = population_counts(mdp)

    def risk(theta: Array) -> tuple[float, Array]:
        table = (family.features @ theta).reshape(1, *shape)
        zeta = conditional_mean(value(table), data)
        given = 0, reward[:, 0], family.discount
        slope = descent(table, zeta, data, data, *given).slope.ravel()
        return float(grouped_risk(table, data, *given, zeta).total()[0]), span @ slope

    # BFGS from the identity stays, as plain descent does, in theta_0 + the span of the gradients
    theta: Array = minimize(risk, family.start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
    # its line search ends at the rounding of the risk; the root of the slope, in the same set
    end = root(lambda a: span.T @ risk(theta + span @ a)[1], np.zeros(q.size), tol=1e-13).x
    return np.asarray(theta + span @ end)


def _reaches(theta: Array, goal: Array) -> CheckResult:
    why = "a root of gradients with a rounding of 1e-15, and curvatures from 1e-7 upwards"
    return zero(theta - goal, 1e-6, why)


def parameter_if_injective(family: LinearProblem, from_start: float = 1.0) -> CheckResult:
    r"""Up to statistical error the minimisers of the risk have $Q_\theta = Q^*$ on $\bar S \times
    A$. They are the true parameter alone where $\theta \to Q_\theta$ is one-to-one there. Otherwise
    every $\theta$ with $Q_\theta = Q^*$ is as good. Which one is found depends on the start
    $\theta_0$. In a linear class it is the one nearest to $\theta_0$, if descent tends to a
    minimiser.

    Decided: the risk depends on $\theta$ through $Q_\theta$ alone. It is minimised by gradients
    from a drawn start, in classes with as many parameters as pairs or more, and the end compared
    with $\theta_0 + \text{pinv}(\Phi)(Q^* - \Phi \theta_0)$, and with $\theta^*$ where $\Phi$ is
    invertible.
    """
    theta, origin = _minimiser(family), from_start * family.start
    gap = family.features @ (family.truth - origin)
    results = [_reaches(theta, origin + np.linalg.pinv(family.features) @ gap)]
    if np.linalg.matrix_rank(family.features) == len(family.truth):
        results.append(_reaches(theta, family.truth))
    return weakest(*results)


def _twice_the_same(start: tuple[float, float] = (0.0, 0.0)) -> LinearProblem:
    features, truth = np.ones((1, 2)), np.array([2.0, 0.0])
    assumed(features @ truth == 2.0, "realizability: Q_theta* = Q* = 2")
    assumed((features @ features.T)[0, 0] >= 2, "J J' >= mu I with mu = 2")
    return LinearProblem(np.ones((1, 1, 1)), 0.5, features, truth, np.array(start))


@claim.holds_if(
    "intro.true-parameter",
    condition=r"$\theta \to Q_\theta$ is one-to-one on $\bar S \times A$",
    instances=linear_problems(),
    counterexample=_twice_the_same,
    text=(
        r"One state, one action, $r = 1$, $\beta = 1/2$: $Q^* = 2$. $Q = \theta_1 + \theta_2$, "
        "$J J' = 2$.",
        r"The risk $(1 - (\theta_1 + \theta_2)/2)^2$ has equal slopes: (0, 0) is led to (1, 1).",
        r"$\theta^* = (2, 0)$, equally true, is {observed:.0f} off in each entry, not "
        "{bound:.0f}.",
    ),
    corrected=parameter_if_injective,
    broken="the theta of least norm in place of the one nearest to the start",
    rejected={"from_start": 0.0},
    rejected_at=lambda: _twice_the_same(start=(1.0, 0.0)),
    cost=5,
)
def true_parameter(family: LinearProblem) -> CheckResult:
    r"""GLADIUS finds the true parameter $\theta$ for $Q^*$, up to statistical error.

    Where: Section 1, "This method provably finds the true parameter $\theta$ for $Q^*$ estimation
    (up to statistical error ...)"; Section 2, on Table lit's rates, "the estimated parameter
    $\hat\theta$ converges to the true parameter $\theta^*$".

    Assumes: realizability (some $\theta^*$ has $Q_{\theta^*} = Q^*$), the empirical Jacobian
    condition $J J' \geq \mu I$, infinitely much data.

    Decided: the paper avoids the full-column-rank condition on purpose, and its wide networks have
    more parameters than pairs, so that $\theta^*$ is one of many. Theorem linConvergence, which
    bounds the distance to the set of minimisers, says it rightly.
    """
    return _reaches(_minimiser(family), family.truth)


# --- the saddle point
Shifted = tuple[TabularMDP, Array]  # a world, its anchor action 0, and a distance (S, A) from Q*


@st.composite
def shifted(draw: st.DrawFn) -> Shifted:
    mdp = draw(instances.tabular_mdps(3, 2))
    near = st.sampled_from([0.0, 1e-3, -1e-3, 0.1, 1.0]) | instances.VALUES
    return mdp, draw(instances.tables(mdp.reward.shape, near))


def _risk(mdp: TabularMDP, q: Array, fixed_zeta: bool) -> Risk:
    zeta = conditional_mean(mdp.solution.v[None], population_counts(mdp)) if fixed_zeta else None
    return population_risk(mdp, q, zeta)


SQUARED = "Q* is solved to 1e-12 of |V|, and squares of |V| are added and subtracted"


def _above(candidate: Shifted, fixed_zeta: bool = False, power: int = 2) -> CheckResult:
    mdp, shift = candidate
    solved, q = expert(mdp), mdp.solution.q + shift
    risk = _risk(mdp, q, fixed_zeta)
    reach = float(np.abs(q).max() + np.abs(mdp.solution.v).max() + np.abs(mdp.reward).max())
    tolerance = 1e-11 * (1 + reach) + 500 * EPS * (1 + reach + np.ptp(q)) ** 2
    total = (risk.nll + risk.td - mdp.discount**power * risk.deviation)[0]
    return at_least(total, solved.states @ solved.entropy, tolerance, SQUARED)


def minimax(candidate: Shifted) -> CheckResult:
    r"""$Q^*$ is the unique solution on $\bar S$ of $\min_Q \max_\zeta f(Q, \zeta)$. For $\beta >
    1/2$, $(Q^*, \zeta^*)$ is stationary but no saddle point: $f(Q^* + c, \zeta^*)$ is $f(Q^*,
    \zeta^*) + (1 - 2 \beta) c^2 P(a = a_s)$. Then there is no saddle point at all, for the $Q$ of
    one would be $Q^*$ on $\bar S$.

    Decided: $\max_\zeta f(Q, \zeta)$ against the expert's mean entropy on every instance, equal at
    $Q^*$; the shift by $c = 1$ against its closed form.
    """
    mdp, q = candidate[0], candidate[0].solution.q
    star, shifted = (_risk(mdp, q + c, fixed_zeta=True).total()[0] for c in (0, 1))
    reach = float(np.abs(q).max() + np.abs(mdp.reward).max())
    tolerance = 1e-9 + 1e-11 * reach + 500 * EPS * (1 + reach) ** 2
    expected = (1 - 2 * mdp.discount) * expert(mdp).pairs[:, 0].sum()
    return weakest(_above(candidate), equal(shifted - star, expected, tolerance, SQUARED))


def _shift_by_one() -> Shifted:
    mdp = instances.absorbing(np.full((1, 2), -0.95 * np.log(2)), 0.95)
    assumed(np.abs(mdp.solution.q).max() < 1e-11, "Q* = 0 solves the Bellman equation")
    return mdp, np.ones((1, 2))


@claim.fails(
    "intro.unique-saddle",
    instances=shifted(),
    counterexample=_shift_by_one,
    text=(
        r"One state, two actions, $\beta = .95$, $r = -\beta \log 2$ for both: $Q^* = 0$, $V^* = "
        r"\zeta^* = \log 2$, $f(Q^*, \zeta^*) = \log 2 = {bound:.4f}$.",
        r"A saddle point needs $f(Q, \zeta^*) \geq$ that for every $Q$. At $Q = 1$: NLL log 2, "
        r"TD error $(1 - \beta)^2$, $V - \zeta^* = 1$, $P(a = a_s) = 1/2$:",
        r"$f(1, \zeta^*) = \log 2 + (1 - 2 \beta)/2 = {observed:.4f}$.",
    ),
    corrected=minimax,
    broken="beta for beta^2 before the auxiliary term",
    rejected=lambda candidate: _above(candidate, power=1),
    rejected_at=lambda: (
        instances.uniform([[0.0, 1.0], [3.0, 0.0]], 0.9, [1, 0]),
        np.zeros((2, 2)),
    ),
)
def saddle_point(candidate: Shifted) -> CheckResult:
    r"""The true $Q^*$ (with its $\zeta^*$) is the unique saddle point of the min-max problem:
    $f(Q^*, \zeta) \leq f(Q^*, \zeta^*) \leq f(Q, \zeta^*)$ for all $Q$ and $\zeta$.

    Where: Section 1, first contribution: "provably converges to the true $Q^*$, which is the unique
    saddle point of the problem"; the problem is Equation AlgoOpt.

    Assumes: Assumptions IRLoptimaldecision and anchor.

    Decided: $\zeta^*$ fixed, a common shift of $Q$ by $c$ adds $(1 - \beta)^2 c^2 - \beta^2 c^2$ on
    anchor observations; the right-hand inequality fails for $\beta > 1/2$.
    """
    return _above(candidate, fixed_zeta=True)


# --- the sum of two PL functions
# f1 = (y - u(x))^2 and f2 = (y - u(x) - scale (x^2 - root^2))^2, u(x) = tilt x + bow x^2.
# Exact fractions; the two PL inequalities are tried at `point`.
Valleys = namedtuple("Valleys", "scale root tilt bow point")
Point = tuple[Fraction, Fraction]


def _valley(valleys: Valleys, point: Point, rise: bool, curved: bool) -> list[Fraction]:
    """Value, x- and y-derivative of f1, or of f2 (`rise`), whose floor is straight or `curved`.

    The straight floor touches that of f2 in one of the common minimisers, x = root.
    """
    x, y = point
    floor, steep = valleys.tilt * x + valleys.bow * x * x, valleys.tilt + 2 * valleys.bow * x
    if rise and curved:
        floor += valleys.scale * (x * x - valleys.root**2)
        steep += 2 * valleys.scale * x
    elif rise:
        floor += 2 * valleys.scale * valleys.root * (x - valleys.root)
        steep += 2 * valleys.scale * valleys.root
    gap = y - floor
    return [gap * gap, -2 * gap * steep, 2 * gap]


_ZERO, _ONE = Fraction(0), Fraction(1)
_SLOPES = st.fractions(-3, 3, max_denominator=8)
_POSITIVE = st.fractions(Fraction(1, 8), 3, max_denominator=8)


@claim.holds(
    "fn:sum-of-PL",
    instances=st.builds(Valleys, _POSITIVE, _POSITIVE, *[_SLOPES] * 2, st.tuples(_SLOPES, _SLOPES)),
    broken="both valleys straight: the sum of two such quadratics is PL",
    rejected={"curved": False},
    # f1 = y^2 and f2 = (y - x^2 + 1)^2
    rejected_at=lambda: Valleys(_ONE, _ONE, _ZERO, _ZERO, (_ONE, 2 * _ONE)),
)
def sum_of_pl(valleys: Valleys, curved: bool = True) -> CheckResult:
    r"""The sum of two PL functions is not necessarily PL.

    Where: Section 1, footnote to the second contribution.

    Assumes: nothing.

    Decided: $f_1 = y^2$ and $f_2 = (y - x^2 + 1)^2$ have $(1/2)|\nabla f|^2 = 2 f (1 +
    \text{slope}^2) \geq 2 f$, so both are PL with constant 2, and both are zero at (1, 0) and (-1,
    0). At (0, -1/2) the gradients are (0, -1) and (0, 1), so the sum is stationary there. Its value
    there is 1/2, above its least value 0, so no constant will do. Tried on a family of such valleys
    in exact arithmetic.
    """
    why = "exact arithmetic in fractions"
    results = []
    for rise in (False, True):
        height, along, across = _valley(valleys, valleys.point, rise, curved)
        results.append(at_least((along**2 + across**2) / 2, 2 * height, 0.0, why))
    middle = -valleys.scale * valleys.root**2 / 2  # half-way between the floors at x = 0
    first, second = (_valley(valleys, (_ZERO, middle), rise, curved) for rise in (False, True))
    stuck = (first[1] + second[1]) ** 2 + (first[2] + second[2]) ** 2
    results.append(equal(stuck, _ZERO, 0.0, why))
    meeting = valleys.tilt * valleys.root + valleys.bow * valleys.root**2
    least = sum(
        _valley(valleys, (valleys.root, meeting), rise, curved)[0] for rise in (False, True)
    )
    results.append(equal(least, _ZERO, 0.0, why))
    high = first[0] + second[0]
    results.append(equal(high, valleys.scale**2 * valleys.root**4 / 2, 0.0, why))
    return weakest(*results)
