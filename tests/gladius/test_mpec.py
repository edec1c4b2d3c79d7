"""MPEC against finite differences, dense algebra, value iteration, SciPy and NFXP."""

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
from gladius.baselines import mpec, mpec_newton, mpec_scipy, nfxp
from gladius.baselines.mpec_problem import Programme
from gladius.checks import InputError
from gladius.parametric import bus_design
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
ORACLE: dict[str, Any] = {"transition": MDP.transition, "grid": MDP.features}
DESIGN = bus_design(MDP.features)
NO_OFFSET = np.zeros((20, 2))
SAMPLES = BUS.simulate(1000, [np.random.default_rng([1000, i]) for i in range(3)])
SMALL = BUS.simulate(50, [np.random.default_rng([50, i]) for i in range(3)])
SCIPY = ["trust-constr", "slsqp"]


def extra(estimate: gladius.Estimate, name: str) -> Any:
    return estimate.diagnostics.extra[name]


def thetas(found: list[gladius.Estimate]) -> Array:
    return np.array([extra(one, "theta") for one in found])


class World(NamedTuple):
    """A small programme and a point (theta, V) that need not be feasible."""

    visits: Array
    law: Array
    design: Array
    offset: Array
    beta: float
    theta: Array
    v: Array

    @property
    def programme(self) -> Programme:
        return Programme(self.visits[None], self.law, self.design, self.offset, self.beta)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    states, actions = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    shape = (states, actions)
    quarters = st.integers(-8, 8).map(lambda n: n / 4)
    visits = draw(arrays(np.float64, shape, elements=st.integers(0, 9).map(float)))
    assume(visits.sum() > 0)
    return World(
        visits,
        draw(laws((actions, states, states))),
        draw(arrays(np.float64, (*shape, 2), elements=quarters)),
        draw(arrays(np.float64, shape, elements=quarters)),
        draw(st.sampled_from([0.3, 0.8, 0.9])),
        draw(arrays(np.float64, 2, elements=quarters)),
        draw(arrays(np.float64, states, elements=quarters)),
    )


def plain(w: World, theta: Array, v: Array) -> tuple[float, Array]:
    """(log-likelihood, c), written with loops."""
    states, actions = w.visits.shape
    total, c = 0.0, np.empty(states)
    for s in range(states):
        q = [
            w.offset[s, a] + w.design[s, a] @ theta + w.beta * w.law[a, s] @ v
            for a in range(actions)
        ]
        value = max(q) + np.log(sum(np.exp(x - max(q)) for x in q))
        c[s] = value - v[s]
        total += sum(w.visits[s, a] * (q[a] - value) for a in range(actions))
    return float(total), c


def solved(theta: Array, law: Array, design: Array, offset: Array, beta: float) -> Array:
    """V by value iteration."""
    v = np.zeros(len(design))
    for _ in range(int(np.log(1e-16) / np.log(beta)) + 1):
        q = offset + design @ theta + beta * np.stack([p @ v for p in law], axis=1)
        v = np.log(np.exp(q - q.max(axis=1, keepdims=True)).sum(axis=1)) + q.max(axis=1)
    return np.asarray(v)


# ---- derivatives


@settings(max_examples=40)
@given(worlds())
def test_dense_derivatives_are_finite_differences(w: World) -> None:
    dense = mpec_scipy.Dense(w.programme)
    unit = np.concatenate([np.ones(2), np.full(len(w.v), dense.unit)])
    x = np.concatenate([w.theta, w.v]) / unit
    size, h = w.visits.sum(), 1e-5

    def values(at: Array) -> tuple[float, Array]:
        likelihood, c = plain(w, at[:2], (at * unit)[2:])
        return -likelihood / size, c

    loss, c = values(x)
    assert dense.loss(x) == pytest.approx(loss, abs=1e-11)
    np.testing.assert_allclose(dense.constraint(x), c, atol=1e-11)
    steps = h * np.eye(len(x))
    ends = [(values(x + e), values(x - e)) for e in steps]
    scale = max(1.0, abs(loss)) * dense.unit**3
    slope = [(up[0] - down[0]) / (2 * h) for up, down in ends]
    np.testing.assert_allclose(dense.gradient(x), slope, atol=1e-7 * scale)
    jacobian = np.array([(up[1] - down[1]) / (2 * h) for up, down in ends]).T
    np.testing.assert_allclose(dense.jacobian(x), jacobian, atol=1e-7 * scale)
    weight = np.arange(1.0, len(w.v) + 1)
    curve = [(dense.gradient(x + e) - dense.gradient(x - e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(dense.hessian(x), curve, atol=1e-7 * scale)
    bend = [weight @ (dense.jacobian(x + e) - dense.jacobian(x - e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(dense.constraint_hessian(x, weight), bend, atol=1e-7 * scale)


@settings(max_examples=60)
@given(worlds())
def test_the_step_solves_the_dense_kkt_system(w: World) -> None:
    point = w.programme.point(w.theta[None], w.v[None])
    assume(point.definite[0])
    assume(np.abs(point.step_theta).max() < 1e3)
    dense, size = mpec_scipy.Dense(w.programme), w.visits.sum()
    unit = np.concatenate([np.ones(2), np.full(len(w.v), dense.unit)])
    x = np.concatenate([w.theta, w.v]) / unit
    jacobian = dense.jacobian(x) / unit
    gradient = -size * dense.gradient(x) / unit
    multipliers = np.linalg.solve(-jacobian[:, 2:].T, gradient[2:])
    np.testing.assert_allclose(
        point.multipliers[0], multipliers, atol=1e-8 * (1 + np.abs(multipliers).max())
    )
    null = np.concatenate([np.eye(2), np.linalg.solve(-jacobian[:, 2:], jacobian[:, :2])])
    np.testing.assert_allclose(
        point.reduced[0], null.T @ gradient, atol=1e-9 * (1 + np.abs(gradient).max())
    )
    outer = np.outer(unit, unit)
    curved = dense.constraint_hessian(x, point.multipliers[0]) - size * dense.hessian(x)
    hessian = curved / outer
    free = np.zeros((len(w.v), len(w.v)))
    bordered = np.block([[hessian, jacobian.T], [jacobian, free]])
    step = np.linalg.solve(bordered, -np.concatenate([gradient, dense.constraint(x)]))
    found = np.concatenate([point.step_theta[0], point.step_v[0]])
    condition = np.linalg.cond(null.T @ hessian @ null)
    scale = 1e-10 * condition * (1 + np.abs(found).max())
    np.testing.assert_allclose(found, step[: len(found)], atol=scale)
    np.testing.assert_allclose(point.rise[0], gradient @ found, atol=scale * size * 100)


def test_on_the_constraints_the_derivatives_are_those_of_nfxp() -> None:
    visits = MDP.occupancy(100)[None] * np.array([1.0, 1.5])
    theta = np.array([0.8, 4.0])
    v = solved(theta, MDP.transition, DESIGN, NO_OFFSET, 0.95)
    q = DESIGN @ theta + 0.95 * (MDP.transition @ v).T
    slope, hessian, _, _ = nfxp.derivatives(visits, MDP.transition, DESIGN, q[None], v[None], 0.95)
    programme = Programme(visits, MDP.transition, DESIGN, NO_OFFSET, 0.95)
    point = programme.point(theta[None], v[None])
    np.testing.assert_allclose(point.reduced, slope, rtol=1e-9)
    assert point.definite[0]
    np.testing.assert_allclose(point.covariance, np.linalg.inv(-hessian), rtol=1e-8)


def test_the_feasible_set_is_not_convex() -> None:
    """Half-way between two solutions log sum exp lies strictly under its chord: no polyhedron."""
    ends = [np.array([1.0, 5.0]), np.array([0.2, 2.0])]
    vs = [solved(t, MDP.transition, DESIGN, NO_OFFSET, 0.95) for t in ends]
    one = Programme(MDP.occupancy(100)[None], MDP.transition, DESIGN, NO_OFFSET, 0.95)
    for theta, v in zip(ends, vs, strict=True):
        assert np.abs(one.values(theta[None], v[None])[1]).max() < 1e-12
    _, c = one.values(np.mean(ends, axis=0)[None], np.mean(vs, axis=0)[None])
    assert c.max() < -1e-4
    assert c.min() < -0.1


# ---- known answers and pairs


@pytest.mark.parametrize("solver", ["newton", *SCIPY])
def test_population_counts_return_theta(solver: str) -> None:
    programme = Programme(1e5 * MDP.occupancy(100)[None], MDP.transition, DESIGN, NO_OFFSET, 0.95)
    if solver == "newton":
        found = mpec_newton.solve(
            programme, np.zeros((1, 2)), np.zeros((1, 20)), tolerance=1e-9, max_iterations=100
        )
        assert found.converged[0]
        theta, v = found.theta[0], found.v[0]
    else:
        theta, v, _ = mpec_scipy.solve(programme, np.zeros(2), np.zeros(20), solver, 1000)
    np.testing.assert_allclose(theta, [1.0, 5.0], atol=1e-8 if solver == "newton" else 1e-6)
    q = DESIGN @ theta + 0.95 * (MDP.transition @ v).T
    known = [-52.53422, -53.83386, -54.97672, -56.03683, -57.06029]
    np.testing.assert_allclose(q[:5, 0], known, atol=1e-5)
    np.testing.assert_allclose(q[:, 1], -54.81507, atol=1e-5)


def violation(estimate: gladius.Estimate) -> float:
    """Largest |r + beta P log sum exp Q - Q| of the functions that a user gets."""
    q, reward = estimate.q(MDP.features), estimate.reward_function(MDP.features)
    v = np.log(np.exp(q).sum(axis=1))
    return float(np.abs(reward + 0.95 * (MDP.transition @ v).T - q).max())


@pytest.mark.parametrize("solver", ["newton", *SCIPY])
@pytest.mark.parametrize("options", [ORACLE, {}, {"theta_1_given": True, **ORACLE}])
def test_mpec_is_nfxp(options: dict[str, Any], solver: str) -> None:
    for data in (SMALL, SAMPLES):
        exact = nfxp.fit(data, ANCHOR, 0.95, tolerance=1e-11, **options)
        found = mpec.fit(data, ANCHOR, 0.95, solver=solver, **options)
        gap = np.abs(thetas(found) - thetas(exact)).max()
        assert gap < (1e-8 if solver == "newton" else 1e-6)
        for one, other in zip(found, exact, strict=True):
            assert one.diagnostics.converged
            assert one.diagnostics.status == "ok"
            assert extra(one, "constraint_violation") <= 1e-8
            np.testing.assert_allclose(extra(one, "se"), extra(other, "se"), rtol=1e-5)
            assert extra(one, "inner_iterations") == 0
            assert one.diagnostics.nll == pytest.approx(extra(one, "objective"), abs=1e-9)
            if "grid" in options:
                assert violation(one) <= 1e-8


def test_the_agreement_needs_the_same_discount_and_law() -> None:
    exact = thetas(nfxp.fit(SAMPLES, ANCHOR, 0.95, **ORACLE))
    impatient = thetas(mpec.fit(SAMPLES, ANCHOR, 0.94, **ORACLE))
    assert np.abs(impatient - exact).max() > 1e-2
    estimated = thetas(mpec.fit(SAMPLES, ANCHOR, 0.95))
    assert np.abs(estimated - exact).max() > 1e-4


def test_the_solution_is_a_maximum_along_the_constraints() -> None:
    one = mpec.fit(SMALL[:1], ANCHOR, 0.95, **ORACLE)[0]
    visits = np.zeros((20, 2))
    np.add.at(visits, (SMALL[0].states[:, 0].astype(int) - 1, SMALL[0].actions), 1.0)
    theta = extra(one, "theta")

    def likelihood(at: Array) -> float:
        v = solved(at, MDP.transition, DESIGN, NO_OFFSET, 0.95)
        w = World(visits, MDP.transition, DESIGN, NO_OFFSET, 0.95, at, v)
        return plain(w, at, v)[0]

    best = likelihood(theta)
    assert extra(one, "log_likelihood") == pytest.approx(best, rel=1e-11)
    for direction in np.random.default_rng(0).normal(size=(8, 2)):
        assert likelihood(theta + 1e-3 * direction) < best


@settings(max_examples=40)
@given(worlds())
def test_any_model_ends_at_a_maximum_as_nfxp_does(w: World) -> None:
    settings_of_both: dict[str, Any] = {"tolerance": 1e-9, "max_iterations": 40}
    found = mpec_newton.solve(w.programme, w.theta[None], w.v[None], **settings_of_both)
    if found.converged[0]:
        v = solved(found.theta[0], w.law, w.design, w.offset, w.beta)
        np.testing.assert_allclose(found.v[0], v, atol=1e-9 * (1 + np.abs(v).max()))
        best = plain(w, found.theta[0], v)[0]
        error = np.sqrt(np.diagonal(found.point.covariance[0]))
        for direction in ([1, 0], [-1, 0], [0, 1], [0, -1]):
            near = found.theta[0] + 1e-3 * error * direction
            at = solved(near, w.law, w.design, w.offset, w.beta)
            assert plain(w, near, at)[0] <= best + 1e-11 * (1 + abs(best))
    # the likelihood need not be concave, so the two may end apart; but NFXP's end is MPEC's too
    exact = nfxp.fit_counts(w.visits[None], w.law, w.design, w.offset, w.beta, **settings_of_both)
    assume(exact.converged[0] and np.abs(exact.theta).max() < 20)
    from_there = mpec_newton.solve(w.programme, exact.theta, exact.v, **settings_of_both)
    assert from_there.converged[0]
    np.testing.assert_allclose(from_there.theta, exact.theta, rtol=0, atol=1e-5)


# ---- starts


@pytest.mark.parametrize(
    ("start", "level"), [([0.0, 0.0], 0.0), ([5.0, 20.0], -100.0), ([10.0, -10.0], 50.0)]
)
def test_any_start_reaches_the_same_point(start: list[float], level: float) -> None:
    exact = thetas(nfxp.fit(SMALL, ANCHOR, 0.95, tolerance=1e-11, **ORACLE))
    for given_start in (np.array(start), np.tile(start, (3, 1))):
        found = mpec.fit(SMALL, ANCHOR, 0.95, start=given_start, start_v=level, **ORACLE)
        assert all(one.diagnostics.converged for one in found)
        np.testing.assert_allclose(thetas(found), exact, atol=1e-8)


def test_twenty_random_starts_reach_one_point_and_tell_how() -> None:
    found = mpec.fit(SMALL, ANCHOR, 0.95, starts=20, rng=3)
    for one in found:
        starts = extra(one, "starts")
        assert starts["theta"].shape == (20, 2)
        assert starts["converged"].all()
        np.testing.assert_allclose(starts["theta"], [extra(one, "theta")] * 20, atol=1e-7)
        assert len(set(starts["iterations"].tolist())) > 1, "the starts differ"
        assert one.diagnostics.iterations == starts["iterations"].sum()
    again = mpec.fit(SMALL, ANCHOR, 0.95, starts=20, rng=3)
    np.testing.assert_array_equal(thetas(again), thetas(found))


def test_replications_together_are_as_alone() -> None:
    data = BUS.simulate(8, [np.random.default_rng([8, i]) for i in range(5)])
    assert len({len(np.unique(d.states)) for d in data}) > 1, "the grids must differ"
    for options in ({}, {"starts": 3}, {"theta_1_given": True}):
        rngs = [np.random.default_rng([7, i]) for i in range(5)]
        together = mpec.fit(data, ANCHOR, 0.95, rng=rngs, **options)
        for i, (one, batch) in enumerate(zip(data, together, strict=True)):
            rng = [np.random.default_rng([7, i])]
            alone = mpec.fit([one], ANCHOR, 0.95, rng=rng, **options)[0]
            np.testing.assert_allclose(batch.q(one.states), alone.q(one.states), atol=1e-7)
            assert batch.diagnostics.converged == alone.diagnostics.converged


# ---- failures


@pytest.mark.parametrize("solver", ["newton", *SCIPY])
def test_too_few_steps_are_not_convergence(solver: str) -> None:
    found = mpec.fit(SMALL[:1], ANCHOR, 0.95, solver=solver, max_iterations=3)[0]
    assert not found.diagnostics.converged
    assert found.diagnostics.status == "not_converged"
    assert np.all(np.isnan(extra(found, "se")))


def test_no_maximum_is_not_called_convergence() -> None:
    states, after = (np.array(x, dtype=float)[:, None] for x in ([1, 2, 3] * 2, [2, 3, 1] * 2))
    data = Transitions(states, np.array([0, 0, 1] * 2), after)
    found = mpec.fit([data], ANCHOR, 0.95)[0]
    assert not found.diagnostics.converged
    assert found.diagnostics.status in {"not_converged", "diverged"}


def test_a_parameter_without_effect_is_reported() -> None:
    def twice(states: Array) -> Array:
        return np.concatenate([bus_design(states), bus_design(states)[:, :, :1]], axis=2)

    found = mpec.fit(SMALL[:1], ANCHOR, 0.95, design=twice)[0]
    assert found.diagnostics.status == mpec.UNIDENTIFIED
    assert not found.diagnostics.converged


def test_a_stationary_point_must_be_feasible_and_a_maximum() -> None:
    found = mpec.fit(SMALL[:1], ANCHOR, 0.95, **ORACLE)[0]
    visits = np.zeros((1, 20, 2))
    np.add.at(visits[0], (SMALL[0].states[:, 0].astype(int) - 1, SMALL[0].actions), 1.0)
    programme = Programme(visits, MDP.transition, DESIGN, NO_OFFSET, 0.95)
    theta = extra(found, "theta")[None]
    v = solved(theta[0], MDP.transition, DESIGN, NO_OFFSET, 0.95)[None]

    def judged(at: Array, value: Array) -> bool:
        point = programme.point(at, value)
        flags = mpec_newton.stationary(point, at, value, programme.size, 1e-9, 1e-12)
        return bool(flags[0])

    assert judged(theta, v)
    assert not judged(theta, v + 1e-8)
    assert not judged(theta + 1e-5, v)
    near = theta + 1e-5
    assert not judged(near, solved(near[0], MDP.transition, DESIGN, NO_OFFSET, 0.95)[None])


def test_a_minimum_of_the_likelihood_is_no_convergence() -> None:
    """State 0 leads to state 1 or ends, as good as; in state 1 the actions are worth +- theta.

    L(theta) is even, so its slope is 0 at 0. State 0 chooses state 1 nine times of ten, for which
    theta must be far from 0 on either side: 0 is a minimum.
    """
    law = np.zeros((2, 3, 3))
    law[:, 1:, 2], law[0, 0, 1], law[1, 0, 2] = 1.0, 1.0, 1.0
    design = np.zeros((3, 2, 1))
    design[1, :, 0] = [1.0, -1.0]
    visits = np.array([[[9.0, 1.0], [1.0, 1.0], [0.0, 0.0]]])
    programme = Programme(visits, law, design, np.zeros((3, 2)), 0.9)

    def likelihood(theta: float) -> float:
        gap = 0.9 * np.log(np.cosh(theta))  # of choosing state 1
        own = np.log(2 * np.cosh(theta))
        return float(-9 * np.log1p(np.exp(-gap)) - np.log1p(np.exp(gap)) - 2 * own)

    def from_start(theta: float) -> mpec_newton.Solutions:
        at = np.array([[theta]])
        return mpec_newton.solve(programme, at, np.zeros((1, 3)), tolerance=1e-9, max_iterations=50)

    worst, best = from_start(0.0), from_start(0.1)
    for found in (worst, best):
        assert found.log_likelihood[0] == pytest.approx(likelihood(found.theta[0, 0]))
        assert abs(found.point.reduced[0, 0]) < 1e-9
        assert np.abs(found.point.violation).max() < 1e-9
    assert likelihood(0.0) < min(likelihood(0.01), likelihood(best.theta[0, 0]) - 0.5)
    assert best.converged[0]
    assert worst.theta[0, 0] == 0.0
    assert not worst.converged[0]


def test_theta_1_given_takes_the_reward_of_replacement_from_the_anchor() -> None:
    estimate = mpec.fit(SMALL[:1], Anchor(1, -4.0), 0.95, theta_1_given=True)[0]
    assert extra(estimate, "theta").shape == (1,)
    np.testing.assert_array_equal(estimate.reward(MDP.features, 1), -4.0)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"solver": "knitro"}, "solver"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"starts": 0}, "starts"),
        ({"start": [1.0]}, "start"),
        ({"start_v": [1.0]}, "start_v"),
        ({"rng": -1}, "rng"),
        ({"rng": []}, "rng"),
        ({"rng": True}, "rng"),
        ({"grid": MDP.features}, "transition"),
        ({"theta_1_given": True, "offset": lambda s: np.zeros((len(s), 2))}, "theta_1_given"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        mpec.fit(SMALL[:1], ANCHOR, 0.95, **options)
    assert caught.value.field == field
