"""Function classes: rewards, networks, and linear classes with fewer parameters than outputs."""

from collections import namedtuple
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from mpmath import iv
from scipy.integrate import solve_ivp
from scipy.special import log_softmax

from gladius.model.mdp import TabularMDP
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
from proofs_checks.claims.instances import full_samples, one_state
from proofs_checks.corrected import CHAIN
from proofs_checks.corrected.polyak_lojasiewicz import classes, profile_pl
from proofs_checks.oracle import polyak, separated
from proofs_checks.sections import _fits as fits


class Rewards(namedtuple("Rewards", "counts transition reward way discount")):
    """n(s, a) (S, A), the averages P-tilde (A, S, S), and rewards r + t way (S, A)."""

    @property
    def excess(self) -> Array:
        """u = w - beta w+ (S,), as shares of all rows."""
        onward = np.einsum("sa,ast->t", self.counts, self.transition)
        return np.asarray((self.counts.sum(axis=1) - self.discount * onward) / self.counts.sum())

    def value(self, t: float) -> Array:
        """V (S,) of Q = r + t way + beta P-tilde V, by the library."""
        states = len(self.counts)
        reward = self.reward + t * self.way
        mdp = TabularMDP(reward, self.transition, self.discount, np.full(states, 1 / states))
        return np.asarray(mdp.solution.v)

    def likelihood(self, t: float) -> float:
        """The mean of -log p over the rows."""
        v = self.value(t)
        q = self.reward + t * self.way + self.discount * (self.transition @ v).T
        return float(np.sum(self.counts * (v[:, None] - q)) / self.counts.sum())


@st.composite
def rewards(draw: st.DrawFn) -> Rewards:
    """Counts with the u >= 0 that is drawn, w = u (I - beta P-tilde_pi)^-1; or any counts."""
    states, actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    transition = draw(instances.distributions((actions, states, states)))
    discount = draw(st.sampled_from([0.5, 0.9, 0.95, 0.99]))
    policy = draw(instances.distributions((states, actions)))
    u = draw(instances.tables(states, st.integers(0, 4).map(float)))
    flow = np.einsum("sa,ast->st", policy, transition)
    w = np.linalg.solve(np.eye(states) - discount * flow.T, u + (u.sum() == 0))
    counts = np.abs(w)[:, None] * policy
    if draw(st.booleans()):
        counts = draw(instances.tables((states, actions), st.integers(0, 4).map(float)))
        counts[0, 0] += counts.sum() == 0
    table = instances.tables((states, actions), instances.MILD)
    return Rewards(counts, transition, draw(table), draw(table), discount)


def one_period() -> Rewards:
    """One row: the action that leads to 1, seldom the best, was taken in 0."""
    transition = np.zeros((2, 3, 3))
    transition[0, 0, 1] = transition[1, 0, 2] = transition[:, 1, 1] = transition[:, 2, 2] = 1.0
    reward, way, counts = np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 2))
    reward[0, 1], way[1, 0], counts[0, 0] = 10.0, 1.0, 1.0
    return Rewards(counts, transition, reward, way, 0.9)


@claim.holds(
    "corrected.reward-convex",
    instances=rewards(),
    broken="u >= 0 left out",
    rejected={"needed": False},
    rejected_at=one_period,
    inferred=CHAIN,
)
def reward_convex(family: Rewards, needed: bool = True) -> CheckResult:
    r"""Let $Q = r_\theta + \beta \tilde P V_Q$, with $r$ linear in $\theta$ and $\tilde P$ any
    averages. Then the mean negative log-likelihood is $\sum_s u(s) V_\theta(s) - \langle n / N,
    r_\theta \rangle$. Here $u = w - \beta w_+$ and $w_+(t) = \sum n(s, a) \tilde P_a(s, t) / N$.
    Where $u \geq 0$ the mean is convex in $\theta$.

    Where: corrected.md, 7. If $\tilde P$ is the data's frequency at the anchor pairs, and
    $r_\theta(x, a_x) = r(x, a_x)$ for every $\theta$, the Bellman term is zero and this is the
    risk.

    Assumes: rows of $\tilde P$ non-negative with sum 1; $\zeta$ exact.

    Decided: $-\log p = V - Q$, and $V$, a soft optimal value, is convex in $r$: its Hessian is $(I
    - \beta \tilde P_\pi)^{-1} \mathrm{Var}_\pi(\nabla Q)$. Observed: the formula at any counts;
    where $u \geq 0$, second differences along lines, by the library's solution. With the data's
    frequencies at all pairs discounted observations have $u = (1 - \beta) \nu_0$; undiscounted ones
    $(1 - \beta) w + \beta (\nu_0 - \nu_H) / H$, to be checked. Without $u \geq 0$ no convexity is
    claimed.
    """
    u = family.excess
    scale = 1 + np.abs(family.reward).max() + np.abs(family.way).max()
    tolerance = 1e-11 * float(scale) / (1 - family.discount) ** 2
    why = "the library's V to a relative 1e-12, which 1 / (1 - beta) magnifies"
    middle = family.likelihood(0.0)
    linear = np.sum(family.counts * family.reward) / family.counts.sum()
    results = [equal(middle, u @ family.value(0.0) - linear, tolerance, why)]
    if not needed or u.min() >= -1e-12:
        curvature = family.likelihood(1.0) + family.likelihood(-1.0) - 2 * middle
        results.append(at_least(curvature, 0.0, tolerance, why))
    return weakest(*results)


# --- networks
@st.composite
def paths(draw: st.DrawFn) -> fits.Fit:
    sample = draw(full_samples(3, 2, top=0.95))
    states, actions = sample.visits.shape
    if draw(st.booleans()):
        return fits.Fit(sample, draw(fits.network_outputs(states, actions)))
    return fits.Fit(sample, draw(fits.linear_outputs(np.zeros((states, actions)))))


def lifted(fit: fits.Fit) -> tuple[Array, float, float]:
    """theta at the end of a lifted path, the path's length in outputs, and the least mu on it.

    The log-odds and the residuals go straight to the minimiser's: q(s), and theta' = J^+ q'. Where
    mu falls below 1e-6 the path is given up.
    """
    sample, start = fit.sample, fit.table
    off = log_softmax(start, axis=1) - np.log(sample.choices)
    residual = sample.residual(start)

    def outputs(s: float) -> Array:
        log_p = log_softmax(np.log(sample.choices) + (1 - s) * off, axis=1)
        return separated.table(sample, log_p, (1 - s) * residual).ravel()

    def velocity(s: float) -> Array:
        return (outputs(s + 1e-5) - outputs(s - 1e-5)) / 2e-5

    def jacobian(theta: Array) -> Array:
        return np.asarray(fit.q._replace(theta=theta).jacobian())

    def lift(s: float, theta: Array) -> Array:
        rows = jacobian(theta)
        # the second part draws back to the path what rounding and the solver lose
        lost = outputs(s) - fit.q.outputs(theta[None])[0]
        return np.asarray(np.linalg.pinv(rows) @ (velocity(s) + 30 * lost))

    def lost_rank(s: float, theta: Array) -> float:
        return polyak.least_eigenvalue(jacobian(theta)) - 1e-6

    lost_rank.terminal = True  # type: ignore[attr-defined]  # as solve_ivp asks
    theta = fit.q.theta
    if lost_rank(0.0, theta) <= 0:
        return theta, np.inf, 0.0
    path = solve_ivp(lift, (0.0, 1.0), theta, rtol=1e-7, atol=1e-9, events=lost_rank)
    if path.status != 0:
        return path.y[:, -1], np.inf, 0.0
    least = min(polyak.least_eigenvalue(jacobian(theta)) for theta in path.y.T)
    nodes = np.linspace(0.0, 1.0, 201)
    length = np.linalg.norm(np.diff([outputs(s) for s in nodes], axis=0), axis=1).sum()
    return path.y[:, -1], float(length), least


@claim.holds(
    "corrected.network-path",
    instances=paths(),
    broken="no farther than the outputs, mu left out",
    rejected={"power": 0.0},
    rejected_at=lambda: fits.Fit(  # Q = theta / 2
        one_state([1], 1.0), fits.LinearOutputs(np.eye(1) / 2, np.zeros(1))
    ),
    cost=10,
    inferred=CHAIN,
)
def network_path(fit: fits.Fit, power: float = 0.5) -> CheckResult:
    r"""Let the outputs follow a path $q(s)$ of length $l$ to the minimising table. The path is
    straight in $(h, e)$, and $\theta' = J^+ q'$. While $J J' \geq \mu$ along $\theta$ the lift
    exists; it ends at a global minimiser over all tables, at most $l / \mu^{1/2}$ from where it
    began.

    Where: corrected.md, 8.

    Assumes: every action in every state of the data; $J J' \geq \mu$ on the path, which the ball of
    radius $l / \mu^{1/2}$ implies.

    Decided: $|\theta'| \leq |q'| / \mu^{1/2}$, and $J \theta' = q'$. No ball has to hold a
    minimiser, so that permuted copies are no matter, and no PL constant enters. Linear classes, and
    networks of the library; of a path on which $\mu$ falls below 1e-6 (two equal hidden units)
    nothing is claimed.
    """
    end, length, least = lifted(fit)
    if not least > 0:
        return at_least(0.0, 0.0, 0.0, "no path with J J' >= mu: nothing is claimed")
    size = np.linalg.norm(end - fit.q.theta)
    table = fit.q.outputs(end[None])[0].reshape(fit.table.shape)
    why = "a solver with relative steps of 1e-7, drawn back to the path"
    return weakest(
        at_most(size, length / least**power, 1e-4 * (size + 1e-3), why),
        at_most(separated.gap(fit.sample, table), 0.0, 1e-8 * (1 + length) ** 2, why),
    )


# --- fewer parameters than outputs
class Line(namedtuple("Line", "shares feature anchor discount ends")):
    """One state with rational choice shares; Q = Q* + theta feature; an interval of theta."""

    def at_interval(self, theta: Any) -> tuple[Any, Any]:
        """g - g* and its slope over an interval of theta, enclosed."""
        pi, way = ([iv.mpf(x.numerator) / x.denominator for x in y] for y in self[:2])
        beta = iv.mpf(self.discount.numerator) / self.discount.denominator
        masses = [p * iv.exp(theta * f) for p, f in zip(pi, way, strict=True)]
        total, drift = sum(masses), sum(p * f for p, f in zip(pi, way, strict=True))
        mean = sum(m * f for m, f in zip(masses, way, strict=True)) / total
        residual = beta * iv.log(total) - theta * way[self.anchor]
        weight = pi[self.anchor]
        gap = iv.log(total) - theta * drift + weight * residual**2
        slope = mean - drift + 2 * weight * residual * (beta * mean - way[self.anchor])
        return gap, slope


def _line() -> Line:
    shares, feature = (Fraction(1, 100), Fraction(99, 100)), (Fraction(1), Fraction(932, 1000))
    ends = Fraction(13465, 100), Fraction(13467, 100)
    line = Line(shares, feature, 1, Fraction(19, 20), ends)
    sample = one_state([1, 99], 0.0, 0.95, anchor=1)
    star = polyak.solution(sample)
    assumed(abs(separated.gap(sample, star)) < 1e-12, "theta = 0 is realisable and minimal")
    q = star + 134.66 * np.array([[1.0, 0.932]])
    gap = line.at_interval(iv.mpf("134.66"))[0]
    assumed(abs(separated.gap(sample, q) - float(gap.mid)) < 1e-9, "g is that of the data (1, 99)")
    return line


@claim.does_not_hold(
    "errata.linear-classes",
    instances=classes().filter(lambda fit: isinstance(fit.q, fits.LinearOutputs)),
    counterexample=_line,
    text=(
        r"One absorbing state, observations $(s,0)$ once and $(s,1)$ 99 times, anchor 1, $\beta "
        r"= .95$, $Q = Q^* + \theta (1, .932)$: the class has $Q^*$, at $\theta = 0$.",
        r"Interval arithmetic: the slope of the risk is below 0 at $\theta = 134.65$ and above 0 "
        "at 134.67: it has a local minimum between.",
        r"There the risk exceeds its minimum by {observed:.2f} or more, not $\leq {bound:.0f}$.",
    ),
    corrected=profile_pl,
    broken="1.15 times the constant",
    rejected={"factor": 1.15},
    rejected_at=lambda: fits.tabular(one_state([1], 1.0), np.zeros((1, 1))),
    inferred="our own example of what fewer parameters do. Lemma linPolyNonsingular has the Gram"
    ' condition. The remark is on the Bellman error alone, and is hedged: "may be useful for'
    ' establishing"',
)
def linear_classes(line: Line) -> CheckResult:
    """Gradient-based minimisation of the risk is globally convergent for linear and polynomial
    classes that contain $Q^*$. That is, every local minimum is a global one.

    Where: beside Section 6, last remark: "combined with a suitable distributional assumption, may
    be useful for establishing that gradient-based offline RL is globally convergent for important
    function classes, including tabular, linear, polynomial, and neural-network classes".

    Assumes: Assumption realizability.

    Decided: with fewer parameters than outputs a spurious local minimum is possible. It occurs for
    one state, two actions and one parameter, in rational data. Interval arithmetic with 80 bits of
    precision encloses it.
    """
    previous, iv.prec = iv.prec, 80
    try:
        low, high = (iv.mpf(end.numerator) / end.denominator for end in line.ends)
        assumed(line.at_interval(low)[1].b < 0, "g falls where the interval begins")
        assumed(line.at_interval(high)[1].a > 0, "g rises where it ends")
        least = line.at_interval(iv.mpf([low.a, high.b]))[0].a
    finally:
        iv.prec = previous
    return at_most(float(least), 0.0, 0.0, "an enclosure: exact")
