"""MPEC against finite differences, dense algebra, value iteration and NFXP."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from strategies import laws

import gladius
from gladius.anchor import Anchor
from gladius.baselines import choice_logit, mpec, nfxp
from gladius.linear_reward import KnownTransitions, LinearReward
from gladius.parametric import make_model
from gladius.transitions import Transitions
from gladius.worlds.bus import BUS_REWARD, BusEngine, bus_design, bus_reward_given

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
FORM: dict[str, Any] = {"reward": BUS_REWARD}
ORACLE: dict[str, Any] = {**FORM, "transition": BUS.known_transitions}
DESIGN = bus_design(MDP.features)
NO_OFFSET = np.zeros((20, 2))
SAMPLES = BUS.simulate(1000, [np.random.default_rng([1000, i]) for i in range(3)])
SMALL = BUS.simulate(50, [np.random.default_rng([50, i]) for i in range(3)])


def extra(estimate: gladius.Estimate, name: str) -> Any:
    return estimate.diagnostics.extra[name]


def thetas(estimates: list[gladius.Estimate]) -> Array:
    return np.array([extra(one, "theta") for one in estimates])


class World(NamedTuple):
    """A small programme and a point (theta, V) that need not be feasible."""

    programme: mpec.Programme
    theta: Array
    v: Array


@st.composite
def worlds(draw: st.DrawFn) -> World:
    states, actions = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    shape = (states, actions)
    quarters = st.integers(-8, 8).map(lambda n: n / 4)
    visits = draw(arrays(np.float64, shape, elements=st.integers(0, 9).map(float)))
    assume(visits.sum() > 0)
    programme = mpec.Programme(
        visits,
        draw(laws((actions, states, states))),
        draw(arrays(np.float64, (*shape, 2), elements=quarters)),
        draw(arrays(np.float64, shape, elements=quarters)),
        draw(st.sampled_from([0.3, 0.8, 0.9])),
    )
    theta = draw(arrays(np.float64, 2, elements=quarters))
    return World(programme, theta, draw(arrays(np.float64, states, elements=quarters)))


def plain(p: mpec.Programme, theta: Array, v: Array) -> tuple[float, Array]:
    """(log-likelihood, c), written with loops."""
    states, actions = p.visits.shape
    total, c = 0.0, np.empty(states)
    for s in range(states):
        q = [
            p.offset[s, a] + p.design[s, a] @ theta + p.discount * p.transition[a, s] @ v
            for a in range(actions)
        ]
        value = max(q) + np.log(sum(np.exp(x - max(q)) for x in q))
        c[s] = value - v[s]
        total += sum(p.visits[s, a] * (q[a] - value) for a in range(actions))
    return float(total), c


def solved(p: mpec.Programme, theta: Array) -> Array:
    """V by value iteration."""
    v = np.zeros(len(p.design))
    for _ in range(int(np.log(1e-16) / np.log(p.discount)) + 1):
        q = p.offset + p.design @ theta
        q = q + p.discount * np.stack([row @ v for row in p.transition], axis=1)
        v = np.log(np.exp(q - q.max(axis=1, keepdims=True)).sum(axis=1)) + q.max(axis=1)
    return np.asarray(v)


def on_the_bus(visits: Array) -> mpec.Programme:
    return mpec.Programme(visits, MDP.transition, DESIGN, NO_OFFSET, 0.95)


# ---- derivatives


@settings(max_examples=60)
@given(worlds())
def test_conditions_are_those_of_finite_differences_and_dense_algebra(w: World) -> None:
    """Gradient and Jacobian by differences of loops; the null space by a dense solve of these."""
    p, k, h = w.programme, len(w.theta), 1e-5
    x = np.concatenate([w.theta, w.v])

    def first(at_x: Array) -> tuple[Array, Array]:
        ends = [
            (plain(p, *np.split(at_x + e, [k])), plain(p, *np.split(at_x - e, [k])))
            for e in h * np.eye(len(x))
        ]
        slope = np.array([(up[0] - down[0]) / (2 * h) for up, down in ends])
        return slope, np.array([(up[1] - down[1]) / (2 * h) for up, down in ends]).T

    point = mpec.conditions(p, w.theta, w.v)
    value, c = plain(p, w.theta, w.v)
    assert p.values(w.theta, w.v)[0] == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(point.violation, c, atol=1e-11)
    gradient, jacobian = first(x)
    scale = 1 + abs(value) + np.abs(gradient).max()
    multipliers = np.linalg.solve(-jacobian[:, k:].T, gradient[k:])
    scale = scale / (1 - p.discount)
    np.testing.assert_allclose(point.multipliers, multipliers, atol=1e-7 * scale)
    tangent = np.linalg.solve(-jacobian[:, k:], jacobian[:, :k])
    np.testing.assert_allclose(point.tangent, tangent, atol=1e-7 * scale)
    null = np.concatenate([np.eye(k), tangent])
    np.testing.assert_allclose(point.gradient, null.T @ gradient, atol=1e-6 * scale)
    np.testing.assert_allclose(jacobian[:, k:] @ point.normal, -c, atol=1e-6 * scale)

    def lagrangian_slope(at_x: Array) -> Array:
        slope, rows = first(at_x)
        return slope + multipliers @ rows

    wide = 1e-3  # differences of differences
    curvature = [
        (lagrangian_slope(x + e) - lagrangian_slope(x - e)) / (2 * wide)
        for e in wide * np.eye(len(x))
    ]
    reduced = null.T @ np.array(curvature) @ null
    scale = scale * (1 + np.abs(multipliers).max()) * (1 + np.abs(tangent).max()) ** 2
    np.testing.assert_allclose(point.hessian, reduced, atol=1e-4 * scale)


def test_on_the_constraints_the_derivatives_are_those_of_nfxp() -> None:
    visits, theta = MDP.occupancy(100) * np.array([1.0, 1.5]), np.array([0.8, 4.0])
    v = solved(on_the_bus(visits), theta)
    q = DESIGN @ theta + 0.95 * (MDP.transition @ v).T
    gradient, hessian, _ = nfxp.derivatives(
        visits[None], MDP.transition, DESIGN, q[None], v[None], 0.95
    )
    point = mpec.conditions(on_the_bus(visits), theta, v)
    np.testing.assert_allclose(point.gradient, gradient[0], rtol=1e-9)
    np.testing.assert_allclose(point.hessian, hessian[0], rtol=1e-8)


def test_the_feasible_set_is_not_convex() -> None:
    """Half-way between two solutions log sum exp lies strictly under its chord: no polyhedron."""
    programme = on_the_bus(MDP.occupancy(100))
    ends = [np.array([1.0, 5.0]), np.array([0.2, 2.0])]
    vs = [solved(programme, theta) for theta in ends]
    for theta, v in zip(ends, vs, strict=True):
        assert np.abs(programme.values(theta, v)[1]).max() < 1e-12
    _, c, _ = programme.values(np.mean(ends, axis=0), np.mean(vs, axis=0))
    assert c.max() < -1e-4
    assert c.min() < -0.1


# ---- known answers and pairs


def test_population_counts_return_theta() -> None:
    theta, v, _ = on_the_bus(1e5 * MDP.occupancy(100)).solve(np.zeros(2), np.zeros(20))
    np.testing.assert_allclose(theta, [1.0, 5.0], atol=1e-6)
    q = DESIGN @ theta + 0.95 * (MDP.transition @ v).T
    known = [-52.53422, -53.83386, -54.97672, -56.03683, -57.06029]
    np.testing.assert_allclose(q[:5, 0], known, atol=1e-5)
    np.testing.assert_allclose(q[:, 1], -54.81507, atol=1e-5)


def violation(estimate: gladius.Estimate) -> float:
    """Largest |r + beta P log sum exp Q - Q| of the functions that a user gets."""
    q, reward = estimate.q(MDP.features), estimate.reward_function(MDP.features)
    v = np.log(np.exp(q).sum(axis=1))
    return float(np.abs(reward + 0.95 * (MDP.transition @ v).T - q).max())


@pytest.mark.parametrize("options", [ORACLE, FORM, {**ORACLE, "reward": bus_reward_given(5.0)}])
def test_mpec_is_nfxp(options: dict[str, Any]) -> None:
    for data in (SMALL, SAMPLES):
        exact = nfxp.fit(data, ANCHOR, 0.95, **options)
        ours = mpec.fit(data, ANCHOR, 0.95, **options)
        assert np.abs(thetas(ours) - thetas(exact)).max() < 1e-9
        for one, other in zip(ours, exact, strict=True):
            assert one.diagnostics.converged
            assert one.diagnostics.status == "ok"
            assert extra(one, "constraint_violation") <= 1e-11
            np.testing.assert_allclose(extra(one, "se"), extra(other, "se"), rtol=1e-5)
            assert extra(one, "inner_iterations") == 0
            assert one.diagnostics.nll == pytest.approx(extra(one, "objective"), abs=1e-9)
            if "transition" in options:
                assert violation(one) <= 1e-9


def test_the_agreement_needs_the_same_discount_and_transitions() -> None:
    exact = thetas(nfxp.fit(SAMPLES, ANCHOR, 0.95, **ORACLE))
    impatient = thetas(mpec.fit(SAMPLES, ANCHOR, 0.94, **ORACLE))
    assert np.abs(impatient - exact).max() > 1e-2
    estimated = thetas(mpec.fit(SAMPLES, ANCHOR, 0.95, **FORM))
    assert np.abs(estimated - exact).max() > 1e-4


def fit(p: mpec.Programme, theta: Array) -> gladius.Estimate:
    """MPEC of hand-made counts, as moves of a path that have no part in it: P is given."""
    states, actions = p.visits.shape
    s, a = (index.ravel() for index in np.indices(p.visits.shape))
    repeat = p.visits.ravel().astype(int)
    s, a = np.repeat(s, repeat), np.repeat(a, repeat)
    following = np.argmax(p.transition[a, s], axis=1)
    form = LinearReward(
        lambda x: p.design[x[:, 0].astype(int)], lambda x: p.offset[x[:, 0].astype(int)]
    )
    data = Transitions(s[:, None] * 1.0, a, following[:, None] * 1.0, number_of_actions=actions)
    known = KnownTransitions(p.transition, np.arange(float(states))[:, None])
    anchor = Anchor(0, lambda x: p.offset[x[:, 0].astype(int), 0])
    return mpec.fit_from(make_model([data], anchor, p.discount, form, known), theta)


@settings(max_examples=30, deadline=None)
@given(worlds())
def test_any_model_ends_at_a_maximum_as_nfxp_does(w: World) -> None:
    p = w.programme
    estimate = fit(p, w.theta)
    theta = extra(estimate, "theta")
    assert estimate.diagnostics.converged == (estimate.diagnostics.status == "ok")
    if estimate.diagnostics.converged:
        best = plain(p, theta, solved(p, theta))[0]
        assert extra(estimate, "log_likelihood") == pytest.approx(best, rel=1e-9, abs=1e-9)
        for direction in ([1, 0], [-1, 0], [0, 1], [0, -1]):
            near = theta + 1e-3 * extra(estimate, "se") * direction
            assert plain(p, near, solved(p, near))[0] <= best + 1e-11 * (1 + abs(best))
    # the likelihood need not be concave, so the two may end apart; but NFXP's end is MPEC's too
    exact = nfxp.fit_counts(p.visits[None], p.transition, p.design, p.offset, p.discount)
    assume(exact.converged[0] and np.abs(exact.theta).max() < 20)
    from_there = fit(p, exact.theta[0])
    assert from_there.diagnostics.converged
    np.testing.assert_allclose(extra(from_there, "theta"), exact.theta[0], rtol=0, atol=1e-7)


@pytest.mark.parametrize("start", [[5.0, 20.0], [10.0, -10.0], [-3.0, 3.0], [0.0, 9.0]])
def test_any_start_reaches_the_same_point(start: list[float]) -> None:
    exact = thetas(nfxp.fit(SMALL, ANCHOR, 0.95, **ORACLE))
    models = [make_model([data], ANCHOR, 0.95, **ORACLE) for data in SMALL]
    ours = [mpec.fit_from(model, np.array(start)) for model in models]
    assert all(one.diagnostics.converged for one in ours)
    np.testing.assert_allclose(thetas(ours), exact, atol=1e-9)
    steps = [one.diagnostics.iterations for one in ours]
    assert steps != [one.diagnostics.iterations for one in mpec.fit(SMALL, ANCHOR, 0.95, **ORACLE)]


# ---- failures


def test_too_few_steps_are_not_convergence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpec, "MAX_ITERATIONS", 3)
    estimate = mpec.fit(SMALL[:1], ANCHOR, 0.95, **FORM)[0]
    assert not estimate.diagnostics.converged
    assert estimate.diagnostics.status == "not_converged"
    assert np.all(np.isnan(extra(estimate, "se")))


def test_no_maximum_is_not_called_convergence() -> None:
    states, after = (np.array(x, dtype=float)[:, None] for x in ([1, 2, 3] * 2, [2, 3, 1] * 2))
    data = Transitions(states, np.array([0, 0, 1] * 2), after)
    estimate = mpec.fit([data], ANCHOR, 0.95, **FORM)[0]
    assert not estimate.diagnostics.converged
    assert estimate.diagnostics.status != "ok"


def test_a_parameter_without_effect_is_reported() -> None:
    def twice(states: Array) -> Array:
        return np.concatenate([bus_design(states), bus_design(states)[:, :, :1]], axis=2)

    estimate = mpec.fit(SMALL[:1], ANCHOR, 0.95, reward=LinearReward(twice))[0]
    assert estimate.diagnostics.status == choice_logit.UNIDENTIFIED
    assert not estimate.diagnostics.converged


def test_a_minimum_of_the_likelihood_is_no_convergence() -> None:
    """State 0 leads to state 1 or ends, as good as; in state 1 the actions are worth +- theta.

    L(theta) is even, so its slope is 0 at 0. State 0 chooses state 1 nine times of ten, for which
    theta must be far from 0 on either side: 0 is a minimum.
    """
    transition = np.zeros((2, 3, 3))
    transition[:, 1:, 2], transition[0, 0, 1], transition[1, 0, 2] = 1.0, 1.0, 1.0
    design = np.zeros((3, 2, 1))
    design[1, :, 0] = [1.0, -1.0]
    visits = np.array([[9.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    programme = mpec.Programme(visits, transition, design, np.zeros((3, 2)), 0.9)

    def likelihood(theta: float) -> float:
        gap = 0.9 * np.log(np.cosh(theta))  # of choosing state 1
        own = np.log(2 * np.cosh(theta))
        return float(-9 * np.log1p(np.exp(-gap)) - np.log1p(np.exp(gap)) - 2 * own)

    worst, best = fit(programme, np.zeros(1)), fit(programme, np.array([0.1]))
    theta = [float(extra(one, "theta")[0]) for one in (worst, best)]
    for one, value in zip((worst, best), theta, strict=True):
        assert extra(one, "log_likelihood") == pytest.approx(likelihood(value))
        assert one.diagnostics.gradient_norm < 1e-9
    assert likelihood(0.0) < min(likelihood(0.01), likelihood(theta[1]) - 0.5)
    assert best.diagnostics.converged
    assert theta[0] == pytest.approx(0.0, abs=1e-12)
    assert not worst.diagnostics.converged
