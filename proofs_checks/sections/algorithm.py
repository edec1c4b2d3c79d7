"""Section 5: the steps of Algorithms 1 and 2 against the gradients of the empirical objectives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gladius.checks import Array
from gladius.mdp import TabularMDP
from gladius.objective import conditional_mean, grouped_risk, value
from gladius.printed_steps import ascent_slope, descent
from gladius.transitions import Counts
from proofs_checks.claims import CheckResult, Control, Counterexample, assume_stated, claim, worst
from proofs_checks.oracle.empirical import Rows, complex_gradient
from proofs_checks.worlds import DISCOUNTS, REWARDS, VALUES


# --- gradient ascent-descent
@dataclass(frozen=True)
class Step:
    """A data set and linear classes: Q = phi theta and zeta = chi eta on S x A, flattened."""

    rows: Rows
    phi: Array
    chi: Array
    theta: Array
    eta: Array

    @property
    def shape(self) -> tuple[int, int]:
        states = len(self.rows.reward)
        return states, len(self.phi) // states


@st.composite
def data_sets(draw: st.DrawFn, states: int, actions: int) -> Rows:
    number = draw(st.integers(1, 6))
    s, after = (draw(arrays(np.int64, number, elements=st.integers(0, states - 1))) for _ in "ab")
    a = draw(arrays(np.int64, number, elements=st.integers(0, actions - 1)))
    reward = draw(arrays(np.float64, states, elements=REWARDS))
    return Rows(s, a, after, draw(st.integers(0, actions - 1)), reward, draw(DISCOUNTS))


@st.composite
def steps(draw: st.DrawFn) -> Step:
    states, actions = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    phi, chi = (
        draw(arrays(np.float64, (states * actions, draw(st.integers(1, 3))), elements=small))
        for small in (st.integers(-2, 2).map(float), st.integers(-2, 2).map(float))
    )
    theta, eta = (draw(arrays(np.float64, x.shape[1], elements=VALUES)) for x in (phi, chi))
    return Step(draw(data_sets(states, actions)), phi, chi, theta, eta)


def counts_of(rows: Rows, shape: tuple[int, int]) -> Counts:
    states, actions = shape
    moves = np.zeros((1, actions, states, states))
    np.add.at(moves[0], (rows.a, rows.s, rows.after), 1.0)
    features = np.arange(states, dtype=float)[:, None]
    return Counts(features, np.swapaxes(moves.sum(axis=3), 1, 2), moves)


def _ascent(at: Step, anchor_rows_only: bool) -> tuple[Array, Array]:
    """(printed direction of eta, -grad of D; gradient of f-hat_N in eta), Q fixed."""
    rows, shape = at.rows, at.shape
    q, zeta = (at.phi @ at.theta).reshape(shape), (at.chi @ at.eta).reshape(shape)
    batch = counts_of(rows, shape)
    if anchor_rows_only:
        kept = (np.arange(shape[1]) == rows.anchor).astype(float)
        batch = Counts(batch.states, batch.visits * kept, batch.moves * kept[:, None, None])
    direction = -at.chi.T @ ascent_slope(zeta[None], value(q)[None], batch).ravel()
    slope = complex_gradient(lambda eta: rows.f_hat(q, (at.chi @ eta).reshape(shape)), at.eta)
    return direction, slope


def _descent(at: Step) -> tuple[Array, Array]:
    """(printed direction of theta; gradient of f-hat_N in theta), zeta fixed."""
    rows, shape = at.rows, at.shape
    q, zeta = (at.phi @ at.theta).reshape(shape), (at.chi @ at.eta).reshape(shape)
    batch = counts_of(rows, shape)
    given = batch, batch, rows.anchor, rows.reward, rows.discount
    direction = -at.phi.T @ descent(q[None], zeta[None], *given).slope.ravel()
    slope = complex_gradient(
        lambda theta: rows.f_hat((at.phi @ theta).reshape(shape), zeta), at.theta
    )
    return direction, slope


def _off_the_ray(at: Step, direction: Array, ray: Array, factor: float | None) -> CheckResult:
    """How far the direction is from factor ray; without a factor, from the whole ray."""
    if factor is None:
        square = float(ray @ ray)
        factor = max(0.0, float(direction @ ray) / square) if square > 0 else 0.0
    size = 1.0 + sum(float(np.abs(x).sum()) for x in (at.theta, at.eta, at.rows.reward))
    entries = float(np.abs(at.phi).sum() + np.abs(at.chi).sum() + 1.0) ** 2
    return CheckResult(
        observed=float(np.abs(direction - factor * ray).max()),
        relation="==",
        bound=0.0,
        tolerance=1e-13 * at.rows.size * size * entries,
        reason="rounding in sums over rows of features times r, Q, V and zeta",
    )


def _gda(at: Step, beta: float) -> CheckResult:
    """Both steps with their factors; for tabular zeta the ascent as printed, at anchor pairs."""
    size, results = at.rows.size, []
    own = replace(at, chi=np.eye(len(at.phi)), eta=at.chi @ at.eta)
    direction, slope = _ascent(own, anchor_rows_only=False)
    there = np.arange(len(at.phi)) % at.shape[1] == at.rows.anchor
    results.append(_off_the_ray(at, direction[there], slope[there], size / beta**2))
    direction, slope = _ascent(at, anchor_rows_only=True)
    results.append(_off_the_ray(at, direction, slope, size / beta**2))
    direction, slope = _descent(at)
    results.append(_off_the_ray(at, direction, -slope, size))
    return worst(results)


def gda_with_indicator(at: Step) -> CheckResult:
    """On B_1 = B_2 = D the descent step is -tau N grad_theta f-hat_N. The ascent step is
    +tau (N/beta^2) grad_phi f-hat_N if D carries the indicator 1{a = a_s}; without it, if the
    parameters of zeta at anchor pairs act at no other pair, and then for those parameters.

    Decided: the library's printed slopes on all of D against complex-step gradients of f-hat_N
    written row by row, for linear classes with shared parameters (indicator) and tabular zeta.
    """
    return _gda(at, at.rows.discount)


def _opposed() -> Step:
    """One state, actions 0 (anchor) and 1, V = 0; zeta = (eta_1, eta_1 + eta_2)."""
    rows = Rows(np.zeros(2, int), np.array([0, 1]), np.zeros(2, int), 0, np.zeros(1), 0.5)
    at = Step(
        rows,
        phi=np.eye(2),
        chi=np.array([[1.0, 0.0], [1.0, 1.0]]),
        theta=np.full(2, -np.log(2.0)),
        eta=np.array([-1.0, 4.0]),
    )
    assume_stated(float(np.linalg.eigvalsh(at.chi @ at.chi.T)[0]) > 0.3, "J J' >= mu I for zeta")
    assume_stated(float(np.linalg.eigvalsh(at.phi @ at.phi.T)[0]) > 0.3, "J J' >= mu I for Q")
    return at


@claim(
    "alg:estimation1.is-GDA",
    verdict="holds-if",
    condition="the parameters of zeta at anchor pairs act at no other pair",
    instances=steps(),
    counterexample=Counterexample(
        make=_opposed,
        text="V = 0; rows (s, 0), the anchor, and (s, 1); zeta's parameters e = (-1, 4): zeta = "
        "(e_1, e_1 + e_2) = (-1, 3).\n"
        "f-hat_N rises with e_1 and ignores e_2; line 5 moves e by -2 tau (-1 + 3, 3): e_1 falls.\n"
        "Largest entry off the ray of the gradient: {observed:.0f}; it must be {bound:.0f}.",
    ),
    corrected=gda_with_indicator,
    control=Control(
        broken="the factor of the ascent taken as N, without 1/beta^2",
        check=lambda at: _gda(at, 1.0),
        make=_opposed,
    ),
    cost=2,
)
def is_gda(at: Step) -> CheckResult:
    """On B_1 = B_2 = D the updates of Algorithm 1 are steps along -grad_theta f-hat_N and
    +grad_phi f-hat_N, up to a positive factor for each block.

    Where: Section 5, Algorithm 1; Section 6.2, Equation empirical_minimax_gladius, "the empirical
    minimax objective optimized by GLADIUS".

    Assumes: D in place of batches, as the text allows; zeta's class has J J' >= mu I on all pairs.

    Decided: sums for means and the missing beta^2 are positive factors of a block and are forgiven.
    D runs over all pairs, f-hat_N's zeta term over anchor pairs: where parameters are shared, the
    printed step can lower f-hat_N. For fixed Q it still converges to the regression over all pairs
    (Definition ERM's zeta-bar), but it is no gradient of f-hat_N, for which the rate is claimed.
    """
    results = [_off_the_ray(at, *_ascent(at, anchor_rows_only=False), None)]
    direction, slope = _descent(at)
    results.append(_off_the_ray(at, direction, -slope, None))
    return worst(results)


# --- Algorithm 2
@dataclass(frozen=True)
class Certain:
    """A world of certain moves, and rows on it; Q is arbitrary."""

    mdp: TabularMDP
    rows: Rows
    q: Array


@st.composite
def certain_worlds(draw: st.DrawFn) -> Certain:
    states, actions = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rows = draw(data_sets(states, actions))
    target = draw(arrays(np.int64, (actions, states), elements=st.integers(0, states - 1)))
    reward = draw(arrays(np.float64, (states, actions), elements=REWARDS))
    return _certain(target, reward, rows, draw(arrays(np.float64, reward.shape, elements=VALUES)))


def _certain(target: NDArray[np.int64], reward: Array, rows: Rows, q: Array) -> Certain:
    states = len(reward)
    mdp = TabularMDP(reward, np.eye(states)[target], rows.discount, np.full(states, 1 / states))
    known = replace(rows, after=target[rows.a, rows.s], reward=reward[:, rows.anchor])
    return Certain(mdp, known, q)


def _algorithm_2(at: Certain, anchored: bool = True) -> CheckResult:
    rows, mdp = at.rows, at.mdp
    data = counts_of(rows, at.q.shape)
    given = rows.anchor, rows.reward, rows.discount
    total = grouped_risk(at.q[None], data, *given).total()
    bound = rows.algorithm_2(at.q)
    step = descent(at.q[None], None, data, data, *given)
    slope = rows.size * complex_gradient(lambda q: rows.risk(q.reshape(at.q.shape)), at.q.ravel())
    if not anchored:
        others = [replace(rows, anchor=a, reward=mdp.reward[:, a]) for a in range(at.q.shape[1])]
        bound = (rows.nll(at.q) + sum(one.td(at.q) for one in others)) / rows.size
    star = mdp.solution
    seen = data.visits[0] > 0
    reward = star.q - rows.discount * conditional_mean(star.v[None], data)[0]
    size = 1.0 + float(np.abs(rows.reward).max()) + 3 * float(np.abs(at.q).max())
    gap = np.abs(step.slope.ravel() - slope).max()
    rounding = "rounding in sums over rows of squares of r, Q and V"
    solved = 1e-11 * (1.0 + float(np.abs(star.q).max()))
    return worst(
        [
            CheckResult(float(total[0]), "==", float(bound), 1e-13 * size**2, rounding),
            CheckResult(float(gap), "==", 0.0, 1e-12 * rows.size * size, rounding),
            CheckResult(
                float(np.abs((reward - mdp.reward)[seen]).max()), "==", 0.0, solved, "Q* to 1e-12"
            ),
        ]
    )


def _swap() -> Certain:
    """Two states; action 0, the anchor, stays, action 1 changes; one row of each action."""
    rows = Rows(np.zeros(2, int), np.array([0, 1]), np.zeros(2, int), 0, np.zeros(2), 0.5)
    target = np.array([[0, 1], [1, 0]])
    reward = np.array([[0.0, 1.0], [0.0, 1.0]])
    return _certain(target, reward, rows, np.array([[0.0, 1.0], [2.0, 0.0]]))


@claim(
    "alg:estimation_deterministic",
    verdict="holds",
    instances=certain_worlds(),
    control=Control(
        broken="the TD error summed over all actions, not over the anchor's rows",
        check=lambda at: _algorithm_2(at, anchored=False),
        make=_swap,
    ),
    cost=2,
)
def algorithm_2(at: Certain) -> CheckResult:
    """Under deterministic transitions R_emp(Q) is the mean of -log p_Q(a | s)
    + 1{a = a_s} (T-hat Q - Q)^2 for every Q, Algorithm 2 descends it, and r = Q* - beta V*(s').

    Where: Section 5, "Special Case: Deterministic Transitions", Algorithm 2.

    Assumes: s' is a function of (s, a); zeta ranges over R^(S x A), as in Definition ERM; r-hat is
    asked for at pairs whose s' is known, those of the data.

    Decided: all rows of a pair have the same V_Q(s'), which is then zeta-bar. Value (the library's
    R_emp against the rows), slope (Algorithm 2's against a complex-step gradient of R_emp, zeta-bar
    included), and r at the observed pairs of a solved world. A restricted class of zeta that does
    not contain V_Q(s'(s, a)) would leave the orange term non-zero. Algorithm 2 shares the loop of
    Algorithm 1, which tests t and counts `iteration`.
    """
    return _algorithm_2(at)
