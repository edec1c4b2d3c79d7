"""NFXP against finite differences, an independent optimiser, Monte Carlo and known answers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import minimize
from strategies import laws

import gladius
from gladius.anchor import Anchor
from gladius.baselines import nfxp
from gladius.baselines.choice_logit import CERTAIN
from gladius.checks import InputError
from gladius.parametric import bus_design
from gladius.mdp import TabularMDP, soft_bellman
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
ORACLE: dict[str, Any] = {"transition": MDP.transition, "grid": MDP.features}
DESIGN = bus_design(MDP.features)
NO_OFFSET = np.zeros((20, 2))


def extra(estimate: gladius.Estimate, name: str) -> Array:
    value = estimate.diagnostics.extra[name]
    assert isinstance(value, np.ndarray)
    return value


def plain_log_likelihood(
    theta: Array, visits: Array, law: Array, design: Array, offset: Array, beta: float
) -> float:
    """The likelihood written plainly: value iteration state by state, nothing batched."""
    states, actions = visits.shape
    reward = offset + design @ theta
    v = np.zeros(states)
    for _ in range(int(np.log(1e-15) / np.log(beta)) + 1):
        q = np.stack([reward[:, a] + beta * law[a] @ v for a in range(actions)], axis=1)
        v = np.log(np.exp(q - q.max(axis=1)[:, None]).sum(axis=1)) + q.max(axis=1)
    q = np.stack([reward[:, a] + beta * law[a] @ v for a in range(actions)], axis=1)
    log_policy = q - q.max(axis=1)[:, None]
    log_policy -= np.log(np.exp(log_policy).sum(axis=1))[:, None]
    return float(np.sum(visits * log_policy))


class Model(NamedTuple):
    visits: Array
    law: Array
    design: Array
    offset: Array
    beta: float


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Small linear-in-parameters models with any counts, two parameters."""
    states, actions = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    shape = (states, actions)
    quarters = st.integers(-8, 8).map(lambda n: n / 4)
    visits = draw(arrays(np.float64, shape, elements=st.integers(0, 9).map(float)))
    assume(visits.sum() > 0)
    return Model(
        visits,
        draw(laws((actions, states, states))),
        draw(arrays(np.float64, (*shape, 2), elements=quarters)),
        draw(arrays(np.float64, shape, elements=quarters)),
        draw(st.sampled_from([0.3, 0.8, 0.9])),
    )


THETAS = arrays(np.float64, 2, elements=st.integers(-6, 6).map(lambda n: n / 4))


def analytic(model: Model, theta: Array) -> tuple[Array, Array, Array]:
    solution = soft_bellman(model.offset + model.design @ theta, model.law, model.beta)
    slope, hessian, fisher, _ = nfxp.derivatives(
        model.visits[None], model.law, model.design, solution.q[None], solution.v[None], model.beta
    )
    return slope[0], hessian[0], fisher[0]


@given(models(), THETAS)
def test_gradient_is_the_finite_difference_of_the_plain_likelihood(
    model: Model, theta: Array
) -> None:
    slope, _, _ = analytic(model, theta)
    h = 1e-5
    numeric = [
        (plain_log_likelihood(theta + e, *model) - plain_log_likelihood(theta - e, *model))
        / (2 * h)
        for e in h * np.eye(2)
    ]
    # error of the quotient: h^2 times third derivatives, plus rounding of the likelihood over h
    scale = max(1.0, float(np.abs(slope).max()), abs(plain_log_likelihood(theta, *model)))
    np.testing.assert_allclose(slope, numeric, rtol=0, atol=1e-6 * scale)


@given(models(), THETAS)
def test_hessian_is_the_finite_difference_of_the_gradient(model: Model, theta: Array) -> None:
    _, hessian, fisher = analytic(model, theta)
    h = 1e-5
    numeric = [
        (analytic(model, theta + e)[0] - analytic(model, theta - e)[0]) / (2 * h)
        for e in h * np.eye(2)
    ]
    scale = max(1.0, float(np.abs(hessian).max()), float(np.abs(fisher).max()))
    np.testing.assert_allclose(hessian, numeric, rtol=0, atol=1e-5 * scale)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-9 * scale)


def test_hessian_is_minus_the_information_where_choices_follow_the_model() -> None:
    visits = MDP.occupancy(100)[None]
    s = MDP.solution
    _, hessian, fisher, _ = nfxp.derivatives(
        visits, MDP.transition, DESIGN, s.q[None], s.v[None], BUS.discount
    )
    np.testing.assert_allclose(-hessian, fisher, rtol=1e-9)
    tilted = visits * np.array([1.0, 1.5])  # control: with other choices they differ
    _, hessian, fisher, _ = nfxp.derivatives(
        tilted, MDP.transition, DESIGN, s.q[None], s.v[None], BUS.discount
    )
    assert np.max(np.abs(-hessian - fisher)) > 1e-2 * np.max(fisher)


def test_population_counts_return_theta() -> None:
    found = nfxp.fit_counts(MDP.occupancy(100)[None], MDP.transition, DESIGN, NO_OFFSET, 0.95)
    np.testing.assert_allclose(found.theta[0], [1.0, 5.0], atol=1e-8)
    assert found.converged[0]
    assert found.status == ("ok",)
    np.testing.assert_allclose(found.q[0], MDP.solution.q, atol=1e-6)


@settings(max_examples=30)
@given(models(), THETAS)
def test_population_counts_of_any_model_return_its_theta(model: Model, theta: Array) -> None:
    truth = TabularMDP(
        model.offset + model.design @ theta,
        model.law,
        model.beta,
        np.full(len(model.visits), 1 / len(model.visits)),
    )
    visits = 1e3 * truth.solution.policy
    s = truth.solution
    _, _, fisher, _ = nfxp.derivatives(
        visits[None], model.law, model.design, s.q[None], s.v[None], model.beta
    )
    assume(np.linalg.eigvalsh(fisher[0])[0] > 1.0)
    found = nfxp.fit_counts(visits[None], model.law, model.design, model.offset, model.beta)
    # the likelihood need not be concave: a stationary point elsewhere must not be better
    if found.converged[0] and np.max(np.abs(found.theta[0] - theta)) > 1e-6:
        best = plain_log_likelihood(theta, *model._replace(visits=visits))
        assert found.log_likelihood[0] <= best + 1e-9 * abs(best)
    else:
        assert found.converged[0]


def test_agrees_with_an_independent_optimiser_and_likelihood() -> None:
    data = BUS.simulate(40, np.random.default_rng(7))
    fitted = nfxp.fit([data], ANCHOR, 0.95, **ORACLE)[0]
    visits = np.zeros((20, 2))
    np.add.at(visits, (data.states[:, 0].astype(int) - 1, data.actions), 1.0)

    def loss(theta: Array) -> float:
        value = plain_log_likelihood(theta, visits, MDP.transition, DESIGN, NO_OFFSET, 0.95)
        return float(-value / visits.sum())

    other = minimize(
        loss, [0.5, 2.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-14}
    )
    # a minimum found by values alone is known to the root of their rounding
    np.testing.assert_allclose(extra(fitted, "theta"), other.x, atol=2e-6)
    np.testing.assert_allclose(fitted.diagnostics.nll, other.fun, rtol=1e-12)
    h = 1e-3
    curvature = np.empty((2, 2))
    for i, a in enumerate(h * np.eye(2)):
        for j, b in enumerate(h * np.eye(2)):
            signs = [(a + b), (a - b), (b - a), (-a - b)]
            w = [loss(other.x + step) for step in signs]
            curvature[i, j] = visits.sum() * (w[0] - w[1] - w[2] + w[3]) / (4 * h * h)
    se = np.sqrt(np.diagonal(np.linalg.inv(curvature)))
    np.testing.assert_allclose(extra(fitted, "se"), se, rtol=1e-3)


def test_standard_errors_match_the_spread_over_400_data_sets() -> None:
    rngs = [np.random.default_rng([400, i]) for i in range(400)]
    paths = MDP.simulate(30, 100, rngs)
    cell = (np.arange(400)[:, None, None] * 20 + paths.states) * 2 + paths.actions
    visits = np.bincount(cell.ravel(), minlength=400 * 40).reshape(400, 20, 2).astype(float)
    found = nfxp.fit_counts(visits, MDP.transition, DESIGN, NO_OFFSET, 0.95)
    assert np.all(found.converged)
    spread = found.theta.std(axis=0, ddof=1)
    stated = np.sqrt(np.mean(found.se**2, axis=0))
    # the sd of 400 normal draws is off by 1/sqrt(800) = 3.5 %: four of these, and some skewness
    np.testing.assert_allclose(stated / spread, 1.0, atol=0.16)
    inside = np.mean(np.abs(found.theta - [1.0, 5.0]) <= 1.96 * found.se, axis=0)
    assert np.all(np.abs(inside - 0.95) <= 4 * np.sqrt(0.95 * 0.05 / 400) + 0.01)


@pytest.mark.parametrize("options", [ORACLE, {}, {"theta_1_given": True}])
def test_replications_together_are_as_alone(options: dict[str, Any]) -> None:
    data = BUS.simulate(8, [np.random.default_rng([8, i]) for i in range(5)])
    together = nfxp.fit(data, ANCHOR, 0.95, **options)
    reached = {len(np.unique(np.concatenate([d.states, d.next_states]))) for d in data}
    assert len(reached) > 1, "the data sets must differ in their grids for this test to bite"
    for one, batch in zip(data, together, strict=True):
        alone = nfxp.fit([one], ANCHOR, 0.95, **options)[0]
        grid = MDP.features if options else one.states
        np.testing.assert_allclose(
            batch.reward_function(grid), alone.reward_function(grid), atol=1e-8
        )
        np.testing.assert_allclose(batch.q(grid), alone.q(grid), atol=1e-8)
        assert batch.diagnostics.iterations == alone.diagnostics.iterations


def test_the_estimate_solves_its_own_bellman_equation() -> None:
    data = BUS.simulate(30, np.random.default_rng(3))
    estimate = gladius.fit(
        data, "nfxp", anchor_action=1, anchor_reward=-5.0, discount=0.95, **ORACLE
    )
    v = np.log(np.exp(estimate.q(MDP.features)).sum(axis=1))
    expected = estimate.reward_function(MDP.features) + 0.95 * (MDP.transition @ v).T
    np.testing.assert_allclose(estimate.q(MDP.features), expected, atol=1e-9)
    replaced = data.actions == 1
    residual = -5.0 + 0.95 * v[data.next_states[replaced, 0].astype(int) - 1]
    residual -= estimate.q(data.states[replaced])[:, 1]
    share = np.sum(residual**2) / len(data)  # after replacement s' = 1 for sure
    np.testing.assert_allclose(estimate.diagnostics.bellman_error, share, rtol=1e-6)
    assert estimate.diagnostics.bellman_error > 0


def test_theta_1_given_takes_the_reward_of_replacement_from_the_anchor() -> None:
    data = BUS.simulate(30, np.random.default_rng(4))
    estimate = nfxp.fit([data], Anchor(1, -4.0), 0.95, theta_1_given=True, **ORACLE)[0]
    theta = extra(estimate, "theta")
    assert theta.shape == (1,)
    np.testing.assert_array_equal(estimate.reward(MDP.features, 1), -4.0)
    np.testing.assert_allclose(estimate.reward(MDP.features, 0), -theta[0] * MDP.features[:, 0])
    same = nfxp.fit(
        [data],
        Anchor(1, -4.0),
        0.95,
        design=lambda s: bus_design(s)[:, :, :1],
        offset=lambda s: np.broadcast_to([0.0, -4.0], (len(s), 2)),
        **ORACLE,
    )[0]
    np.testing.assert_array_equal(extra(same, "theta"), theta)


def test_units_of_a_feature_do_not_matter() -> None:
    visits = MDP.occupancy(100)[None] * 1e4
    large = DESIGN * np.array([1e5, 1.0])
    found = nfxp.fit_counts(visits, MDP.transition, large, NO_OFFSET, 0.95)
    assert found.converged[0]
    np.testing.assert_allclose(found.theta[0] * [1e5, 1.0], [1.0, 5.0], atol=1e-7)


@pytest.mark.parametrize("tolerance", [1e-9, 1e-3])
def test_no_maximum_is_not_called_convergence(tolerance: float) -> None:
    visits = np.zeros((1, 20, 2))
    visits[0, :5, 0] = 10.0  # nobody ever replaces: theta_1 runs off, its gradient vanishes
    known = -MDP.features * np.array([1.0, 0.0])
    found = nfxp.fit_counts(
        visits,
        MDP.transition,
        DESIGN[:, :, 1:],
        known,
        0.95,
        tolerance=tolerance,
        max_iterations=30,
    )
    assert not found.converged[0]
    assert found.status == ("not_converged",)
    assert np.all(np.isnan(found.covariance))
    assert np.max(np.abs(found.gradient)) < 1e-9, "the gradient alone would have called it"


def test_a_parameter_without_effect_is_reported() -> None:
    twice = np.concatenate([DESIGN, DESIGN[:, :, :1]], axis=2)
    found = nfxp.fit_counts(MDP.occupancy(100)[None], MDP.transition, twice, NO_OFFSET, 0.95)
    assert not found.converged[0]
    assert found.status == (nfxp.UNIDENTIFIED,)


def test_too_few_steps_are_not_convergence() -> None:
    visits = MDP.occupancy(100)[None]
    found = nfxp.fit_counts(visits, MDP.transition, DESIGN, NO_OFFSET, 0.95, max_iterations=3)
    assert found.iterations[0] == 3
    assert not found.converged[0]


def test_bootstrap_counts_are_those_of_the_trajectories_drawn() -> None:
    data = BUS.simulate(6, np.random.default_rng(2)).take(np.arange(7, 590))  # ragged at both ends
    counts = nfxp.bootstrap_counts(data, 5, np.random.default_rng(1), MDP.features)
    weights = np.random.default_rng(1).multinomial(6, np.full(6, 1 / 6), size=5)
    assert np.any(weights > 1)
    assert np.any(weights == 0)
    for b, times in enumerate(weights):
        expected = np.zeros((20, 2))
        for state, action, label in zip(
            data.states[:, 0].astype(int), data.actions, data.trajectory, strict=True
        ):
            expected[state - 1, action] += times[label]
        np.testing.assert_array_equal(counts[b], expected)


def test_bootstrap_spread_is_near_the_standard_error() -> None:
    data = BUS.simulate(200, np.random.default_rng(12))
    visits = nfxp.bootstrap_counts(data, 100, np.random.default_rng(0), MDP.features)
    boot = nfxp.fit_counts(visits, MDP.transition, DESIGN, NO_OFFSET, 0.95)
    se = extra(nfxp.fit([data], ANCHOR, 0.95, **ORACLE)[0], "se")
    # 100 draws: 7 % on the sd, four of these; both estimate the same spread
    np.testing.assert_allclose(boot.theta.std(axis=0, ddof=1) / se, 1.0, atol=0.3)


DATA = BUS.simulate(4, np.random.default_rng(5))
COUNTS = np.ones((1, 20, 2))
THREE = Transitions(DATA.states, DATA.actions, DATA.next_states, number_of_actions=3)


def constant(*shape: int) -> Any:
    return lambda states: np.ones((len(states), *shape))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"grid": MDP.features}, "transition"),
        ({"transition": MDP.transition}, "grid"),
        ({**ORACLE, "grid": MDP.features[:5], "transition": MDP.transition[:, :5, :5]}, "grid"),
        ({**ORACLE, "grid": np.ones((20, 1))}, "grid"),
        ({**ORACLE, "grid": np.ones((20, 2))}, "grid"),
        ({**ORACLE, "transition": MDP.transition[:1]}, "transition"),
        ({**ORACLE, "transition": 2 * MDP.transition}, "transition[0, 0]"),
        ({"design": constant(2)}, "design"),
        ({"design": constant(3, 2)}, "design"),
        ({"offset": constant(3)}, "offset"),
        ({"theta_1_given": True, "design": constant(2, 1)}, "theta_1_given"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        nfxp.fit([DATA], ANCHOR, 0.95, **options)
    assert caught.value.field == field


def test_bad_anchor_actions_and_states_name_the_field() -> None:
    with pytest.raises(InputError) as caught:
        nfxp.fit([DATA], Anchor(0, -1.0), 0.95, theta_1_given=True)
    assert caught.value.field == "anchor_action"
    with pytest.raises(InputError) as caught:
        nfxp.fit([THREE], ANCHOR, 0.95)
    assert caught.value.field == "design"
    estimate = nfxp.fit([DATA], ANCHOR, 0.95, **ORACLE)[0]
    with pytest.raises(InputError) as caught:
        estimate.q(np.array([[2.5]]))
    assert caught.value.field == "grid"
    assert np.all(np.isfinite(estimate.reward(np.array([[2.5]]), 0)))  # r is linear anywhere


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"visits": COUNTS[0]}, "visits"),
        ({"visits": -COUNTS}, "visits"),
        ({"visits": 0 * COUNTS}, "visits"),
        ({"transition": MDP.transition[:, :3]}, "transition"),
        ({"design": DESIGN[:3]}, "design"),
        ({"offset": NO_OFFSET[:3]}, "offset"),
        ({"discount": 1.0}, "discount"),
    ],
)
def test_bad_counts_name_the_field(change: dict[str, Any], field: str) -> None:
    good: dict[str, Any] = {
        "visits": COUNTS,
        "transition": MDP.transition,
        "design": DESIGN,
        "offset": NO_OFFSET,
        "discount": 0.95,
    }
    with pytest.raises(InputError) as caught:
        nfxp.fit_counts(**(good | change))
    assert caught.value.field == field


def test_bootstrap_needs_repetitions_and_a_grid_that_holds_the_data() -> None:
    with pytest.raises(InputError) as caught:
        nfxp.bootstrap_counts(DATA, 0, np.random.default_rng(0))
    assert caught.value.field == "repetitions"
    with pytest.raises(InputError) as caught:
        nfxp.bootstrap_counts(DATA, 1, np.random.default_rng(0), MDP.features[:2])
    assert caught.value.field == "grid"


def test_the_maximum_does_not_depend_on_the_start() -> None:
    data = BUS.simulate(50, np.random.default_rng(4))
    starts = np.array([[0.0, 0.0], [5.0, 20.0], [-2.0, 1.0], [0.1, -9.0]])
    found = nfxp.fit([data] * 4, ANCHOR, 0.95, start=starts)
    assert all(e.diagnostics.converged for e in found)
    theta = np.stack([extra(e, "theta") for e in found])
    np.testing.assert_allclose(theta, np.broadcast_to(theta[0], theta.shape), atol=1e-6)
    assert len({e.diagnostics.iterations for e in found}) > 1, "the start was not used"


def test_starts_at_which_choices_are_certain_are_left() -> None:
    """There the information is zero to the last digit, and no Newton step exists."""
    data = BUS.simulate(50, np.random.default_rng(4))
    starts = np.array([[0.0, 0.0], [1000.0, 5.0], [-1000.0, 5.0], [1e6, 1e6], [-50.0, 50.0]])
    found = nfxp.fit([data] * 5, ANCHOR, 0.95, start=starts)
    assert [e.diagnostics.status for e in found] == ["ok"] * 5
    theta = np.stack([extra(e, "theta") for e in found])
    np.testing.assert_allclose(theta, np.broadcast_to(theta[0], theta.shape), atol=1e-6)


def test_a_start_is_left_only_where_the_choices_observed_are_certain() -> None:
    def fit(visits: Array, design: Array, start: list[float]) -> nfxp.NfxpFit:
        states, actions = visits.shape
        law = np.full((actions, states, states), 1 / states)  # so that choices are static
        none, at = np.zeros(visits.shape), np.array([start])
        return nfxp.fit_counts(visits[None], law, design, none, 0.5, start=at)

    # one state of three choices tells of two parameters: at the maximum nothing moves
    theta = np.array([1.0, -0.5])
    design = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    shares = np.exp(design @ theta) / np.exp(design @ theta).sum()
    found = fit(100 * shares, design, [1.0, -0.5])
    assert found.status == ("ok",)
    assert found.iterations[0] == 0
    # choices open in a state that is never seen tell nothing; the maximum is at 0
    design = np.array([[[1.0], [0.0]], [[0.0], [0.0]]])
    found = fit(np.array([[5.0, 5.0], [0.0, 0.0]]), design, [1e5])
    assert found.status == ("ok",)
    np.testing.assert_allclose(found.theta, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.log_likelihood, 10 * np.log(0.5))


@pytest.mark.parametrize("start", [0.0, 7.0])
def test_no_information_is_not_called_a_lack_of_identification(start: float) -> None:
    """A known part of the reward makes choices certain at theta = 0 and the likelihood flat."""
    visits = np.zeros((1, 20, 2))
    visits[0, :5, 0] = 10.0
    never = np.zeros((20, 2))
    never[:, 1] = -1e4

    def status(design: Array) -> str:
        at = np.full((1, design.shape[2]), start)
        return nfxp.fit_counts(visits, MDP.transition, design, never, 0.95, start=at).status[0]

    assert status(DESIGN) == CERTAIN
    assert status(np.concatenate([DESIGN, DESIGN[:, :, :1]], axis=2)) == nfxp.UNIDENTIFIED
    assert status(np.ones((20, 2, 1))) == nfxp.UNIDENTIFIED  # a constant of all rewards


def test_a_start_of_the_wrong_shape_is_an_error() -> None:
    with pytest.raises(InputError, match=r"start = \(3,\): give shape \(1, 2\)"):
        nfxp.fit([BUS.simulate(5, np.random.default_rng(4))], ANCHOR, 0.95, start=np.zeros(3))
