"""CCP against series written out, refits, independent optimisers, NFXP and known answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import minimize
from strategies import laws, tabular_mdps

import gladius
from gladius.anchor import Anchor
from gladius.baselines import ccp, choice_logit, finite_dependence, first_step, nfxp, npl, plug_in
from gladius.checks import InputError
from gladius.parametric import Model, bus_design, make_model
from gladius.mdp import TabularMDP
from gladius.transitions import Counts, Transitions
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
ORACLE: dict[str, Any] = {"transition": MDP.transition, "grid": MDP.features}
DESIGN = bus_design(MDP.features)
NO_OFFSET = np.zeros((20, 2))
POPULATION = MDP.occupancy(100)[None]
SAMPLES = BUS.simulate(1000, [np.random.default_rng([1000, i]) for i in range(4)])
MILD = st.sampled_from([0.5, 0.9, 0.95])


def extra(estimate: gladius.Estimate, name: str) -> Any:
    return estimate.diagnostics.extra[name]


def thetas(found: list[gladius.Estimate]) -> Array:
    return np.array([extra(one, "theta") for one in found])


def population_model() -> Model:
    """The bus with expected counts in the place of data."""
    model = make_model([BUS.simulate(1, np.random.default_rng(0))], ANCHOR, 0.95, **ORACLE)
    return replace(model, visits=POPULATION)


def plain_index(
    theta: Array, policy: Array, law: Array, design: Array, offset: Array, beta: float
) -> Array:
    """h'theta + e by adding up the discounted future under `policy`, period by period."""
    reward = offset + design @ theta
    states, actions = policy.shape
    now = np.zeros(states)
    for s in range(states):
        for a in range(actions):
            if policy[s, a] > 0:
                now[s] += policy[s, a] * (reward[s, a] - np.log(policy[s, a]))
    move = np.array([sum(policy[s, a] * law[a, s] for a in range(actions)) for s in range(states)])
    value, flow = np.zeros(states), now
    for _ in range(int(np.log(1e-17) / np.log(beta)) + 1):
        value = value + flow
        flow = beta * move @ flow
    return reward + beta * np.stack([law[a] @ value for a in range(actions)], axis=1)


def log_softmax(index: Array) -> Array:
    top = index - index.max(axis=1, keepdims=True)
    return np.asarray(top - np.log(np.exp(top).sum(axis=1, keepdims=True)))


# ---- the displays


def test_both_displays_return_the_reward_at_the_true_choices_and_law() -> None:
    policy, given_reward = MDP.solution.policy, np.full(20, -5.0)
    by_renewal = finite_dependence.renewal_rewards(policy, MDP.transition, given_reward, 0.95, 1)
    np.testing.assert_allclose(by_renewal, MDP.reward, rtol=0, atol=1e-13)
    inverted = finite_dependence.anchored_rewards(policy, MDP.transition, given_reward, 0.95, 1)
    np.testing.assert_allclose(inverted, MDP.reward, rtol=0, atol=1e-13)
    # the same display as printed for the bus, by hand
    odds, chosen = np.log(policy[:, 1] / policy[:, 0]), np.log(policy[:, 1])
    by_hand = -5.0 - odds + 0.95 * (MDP.transition[0] @ chosen - chosen[0])
    np.testing.assert_allclose(by_renewal[:, 0], by_hand, rtol=0, atol=1e-12)


def test_the_displays_need_the_right_anchor_and_a_renewal() -> None:
    policy = MDP.solution.policy
    off = finite_dependence.renewal_rewards(policy, MDP.transition, np.full(20, -4.0), 0.95, 1)
    np.testing.assert_allclose(off, MDP.reward + 1.0, atol=1e-12)
    # maintaining is no renewal: with its reward given inversion still works, renewal does not
    wrong = finite_dependence.renewal_rewards(policy, MDP.transition, MDP.reward[:, 0], 0.95, 0)
    assert np.max(np.abs(wrong - MDP.reward)[:6]) > 0.1
    right = finite_dependence.anchored_rewards(policy, MDP.transition, MDP.reward[:, 0], 0.95, 0)
    np.testing.assert_allclose(right, MDP.reward, atol=1e-10)


def test_the_display_by_inversion_is_the_method_plug_in() -> None:
    policy, law = MDP.solution.policy, MDP.transition
    visits = MDP.occupancy(100) + 1e-3
    policy = visits / visits.sum(axis=1, keepdims=True)
    counts = Counts(MDP.features, visits[None], visits.T[None, :, :, None] * law)
    other = plug_in.solve(counts, law[None], ANCHOR, 0.95, 0.0)
    found = finite_dependence.anchored_rewards(policy, law, np.full(20, -5.0), 0.95, 1)
    np.testing.assert_allclose(found, other.reward[0], atol=1e-8)


@settings(max_examples=60)
@given(tabular_mdps(discounts=MILD), st.data())
def test_displays_return_the_reward_of_any_world(mdp: TabularMDP, data: st.DataObject) -> None:
    actions = mdp.reward.shape[1]
    j = data.draw(st.integers(0, actions - 1))
    law = mdp.transition.copy()
    law[j] = law[j, 0]  # a renewal
    world = replace(mdp, transition=law)
    policy = world.solution.policy
    assume(policy.min() > 1e-9)
    chosen = world.reward[:, j]
    # rounding of Q and of the logs, raised by the norm of the inverse
    scale = 1e-13 * max(1.0, float(np.abs(world.solution.q).max())) / (1 - world.discount)
    scale = scale * max(1.0, -float(np.log(policy.min())))
    for display in (finite_dependence.renewal_rewards, finite_dependence.anchored_rewards):
        found = display(policy, law, chosen, world.discount, j)
        np.testing.assert_allclose(found, world.reward, rtol=0, atol=10 * scale)


# ---- the second step


class World(NamedTuple):
    visits: Array
    law: Array
    design: Array
    offset: Array
    beta: float


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Small linear-in-parameters models with any counts, two parameters."""
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
    )


THETAS = arrays(np.float64, 2, elements=st.integers(-6, 6).map(lambda n: n / 4))


def own_frequencies(visits: Array) -> Array:
    """Frequencies, 1/A where nothing was seen."""
    total = visits.sum(axis=1, keepdims=True)
    found: Array = np.where(total > 0, visits / np.maximum(total, 1.0), 1 / visits.shape[1])
    return found


@settings(max_examples=60)
@given(worlds(), THETAS)
def test_valuation_is_the_discounted_sum_of_rewards_and_surprises(w: World, theta: Array) -> None:
    policy = own_frequencies(w.visits)
    slopes, level = npl.valuation(policy[None], w.law, w.design, w.offset, w.beta)
    v = slopes[0] @ theta + level[0]
    index = w.offset + w.design @ theta + w.beta * (w.law @ v).T
    expected = plain_index(theta, policy, w.law, w.design, w.offset, w.beta)
    np.testing.assert_allclose(index, expected, rtol=0, atol=1e-11 * (1 + np.abs(expected).max()))


@settings(max_examples=40)
@given(worlds())
def test_two_steps_leave_no_slope_of_the_plain_pseudo_likelihood(w: World) -> None:
    policy = own_frequencies(w.visits)
    found = npl.nested_pseudo_likelihood(
        w.visits[None], policy[None], w.law, w.design, w.offset, w.beta
    )
    assume(found.logit.converged[0] and np.abs(found.logit.theta).max() < 20)

    def loss(theta: Array) -> float:
        index = plain_index(theta, policy, w.law, w.design, w.offset, w.beta)
        return float(-np.sum(w.visits * log_softmax(index)))

    at, h = found.logit.theta[0], 1e-5
    slope = [(loss(at + e) - loss(at - e)) / (2 * h) for e in h * np.eye(2)]
    np.testing.assert_allclose(slope, 0.0, atol=1e-5 * (1 + abs(loss(at))))
    np.testing.assert_allclose(-found.logit.log_likelihood[0], loss(at), rtol=1e-9, atol=1e-9)
    far = at + np.array([0.3, -0.2])  # control: the slope is zero nowhere else
    assert loss(far) > loss(at)


@settings(max_examples=60)
@given(worlds(), st.randoms(use_true_random=False))
def test_names_of_actions_and_states_do_not_matter(w: World, random: Any) -> None:
    s, a = (list(range(n)) for n in w.visits.shape)
    random.shuffle(s)
    random.shuffle(a)
    policy = own_frequencies(w.visits)
    one = npl.nested_pseudo_likelihood(
        w.visits[None], policy[None], w.law, w.design, w.offset, w.beta, max_iterations=30
    )
    assume(one.logit.converged[0])
    other = npl.nested_pseudo_likelihood(
        w.visits[None, s][:, :, a],
        policy[None, s][:, :, a],
        w.law[a][:, s][:, :, s],
        w.design[s][:, a],
        w.offset[s][:, a],
        w.beta,
        max_iterations=31,
    )
    scale = 1 + float(np.abs(one.logit.theta).max())
    np.testing.assert_allclose(other.logit.theta, one.logit.theta, rtol=0, atol=1e-6 * scale)


def test_two_steps_agree_with_an_independent_optimiser() -> None:
    data = BUS.simulate(40, np.random.default_rng(7))
    fitted = ccp.fit([data], ANCHOR, 0.95, **ORACLE)[0]
    visits = np.zeros((20, 2))
    np.add.at(visits, (data.states[:, 0].astype(int) - 1, data.actions), 1.0)
    seen = np.flatnonzero(visits.sum(axis=1))
    policy = np.array([visits[seen[np.argmin(np.abs(seen - s))]] for s in range(20)])
    policy /= policy.sum(axis=1, keepdims=True)

    def loss(theta: Array) -> float:
        index = plain_index(theta, policy, MDP.transition, DESIGN, NO_OFFSET, 0.95)
        return float(-np.sum(visits * log_softmax(index)) / visits.sum())

    other = minimize(
        loss, [0.5, 2.0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-13}
    )
    # a minimum found by values alone is known to the root of their rounding
    np.testing.assert_allclose(extra(fitted, "theta"), other.x, atol=5e-6)
    assert extra(fitted, "objective") == pytest.approx(other.fun, rel=1e-11)
    np.testing.assert_allclose(fitted.diagnostics.nll, other.fun, rtol=1e-11)
    index = plain_index(extra(fitted, "theta"), policy, MDP.transition, DESIGN, NO_OFFSET, 0.95)
    np.testing.assert_allclose(fitted.q(MDP.features), index, atol=1e-9)


# ---- populations


@pytest.mark.parametrize("stages", [1, 3])
def test_population_counts_return_theta_by_inversion(stages: int) -> None:
    policy = MDP.solution.policy[None]
    found = npl.nested_pseudo_likelihood(
        POPULATION, policy, MDP.transition, DESIGN, NO_OFFSET, 0.95, stages=stages
    )
    np.testing.assert_allclose(found.logit.theta[0], [1.0, 5.0], atol=1e-9)
    np.testing.assert_allclose(found.v[0], MDP.solution.v, atol=1e-7)
    q = DESIGN @ found.logit.theta[0] + 0.95 * (MDP.transition @ found.v[0]).T
    known = [-52.53422, -53.83386, -54.97672, -56.03683, -57.06029]
    np.testing.assert_allclose(q[:5, 0], known, atol=1e-5)
    np.testing.assert_allclose(q[:, 1], -54.81507, atol=1e-5)


def test_population_counts_return_theta_by_finite_dependence() -> None:
    model = population_model()
    first = first_step.frequencies(MDP.solution.policy[None], MDP.features)
    found = ccp.renewed(model, first, 1, True, 1e-9, 100)
    np.testing.assert_allclose(found.logit.theta[0], [1.0, 5.0], atol=1e-9)
    np.testing.assert_allclose(found.v[0], MDP.solution.v, atol=1e-7)
    blunt = first_step.frequencies(MDP.solution.policy[None], MDP.features, 0.05)  # control
    off = ccp.renewed(model, blunt, 1, True, 1e-9, 100)
    assert np.max(np.abs(off.logit.theta[0] - [1.0, 5.0])) > 0.01


@settings(max_examples=60)
@given(worlds(), THETAS)
def test_population_counts_of_any_world_return_its_theta(w: World, theta: Array) -> None:
    reward = w.offset + w.design @ theta
    truth = TabularMDP(reward, w.law, w.beta, np.full(len(reward), 1 / len(reward)))
    policy = truth.solution.policy
    visits = 1e3 * policy[None]
    two = npl.nested_pseudo_likelihood(visits, policy[None], w.law, w.design, w.offset, w.beta)
    scale = np.sqrt(np.diagonal(two.logit.covariance[0]))
    assume(two.logit.converged[0] and scale.max() < 1.0)
    np.testing.assert_allclose(two.logit.theta[0], theta, atol=1e-7)


# ---- the pairs with NFXP


@pytest.mark.parametrize("options", [ORACLE, {}, {"theta_1_given": True}])
def test_the_limit_of_npl_is_nfxp(options: dict[str, Any]) -> None:
    exact = nfxp.fit(SAMPLES, ANCHOR, 0.95, tolerance=1e-11, **options)
    found = ccp.fit(SAMPLES, ANCHOR, 0.95, stages=None, **options)
    np.testing.assert_allclose(thetas(found), thetas(exact), rtol=0, atol=1e-8)
    for one, other in zip(found, exact, strict=True):
        assert one.diagnostics.converged
        np.testing.assert_allclose(one.q(MDP.features[:6]), other.q(MDP.features[:6]), atol=1e-6)
        np.testing.assert_allclose(extra(one, "se"), extra(other, "se"), rtol=1e-3)
    first = thetas(ccp.fit(SAMPLES, ANCHOR, 0.95, **options))
    gap = np.abs(first - thetas(exact)).max(axis=1)
    assert np.all(gap > 1e-6), "one stage is another estimator"
    assert np.all(gap < 7e-4)


def test_the_gap_to_nfxp_falls_from_stage_to_stage() -> None:
    exact = thetas(nfxp.fit(SAMPLES, ANCHOR, 0.95, tolerance=1e-11, **ORACLE))
    model = make_model(SAMPLES, ANCHOR, 0.95, **ORACLE)
    gaps = []
    for stages in (1, 2, 3, 4):
        half = np.full((4, 20, 2), 0.5)
        found = npl.nested_pseudo_likelihood(
            model.visits, half, MDP.transition, DESIGN, NO_OFFSET, 0.95, stages=stages
        )
        gaps.append(np.abs(found.logit.theta - exact).max())
    assert 0.1 < gaps[0] < 2.0  # choices of 1/2 are far from the truth, 8e-1 on one sample
    assert np.all(np.array(gaps[1:]) < [4e-3, 5e-6, 1e-9])  # 4e-4, 5e-8, 2e-12 on one sample


def test_standard_errors_of_two_steps_are_those_of_nfxp_to_first_order() -> None:
    exact = nfxp.fit(SAMPLES, ANCHOR, 0.95, **ORACLE)
    for one, other in zip(ccp.fit(SAMPLES, ANCHOR, 0.95, **ORACLE), exact, strict=True):
        np.testing.assert_allclose(extra(one, "se"), extra(other, "se"), rtol=0.01)


def monte_carlo(number: int, trajectories: int) -> Array:
    rngs = [np.random.default_rng([number, i]) for i in range(number)]
    paths = MDP.simulate(trajectories, 100, rngs)
    cell = (np.arange(number)[:, None, None] * 20 + paths.states) * 2 + paths.actions
    return np.bincount(cell.ravel(), minlength=number * 40).reshape(number, 20, 2).astype(float)


@pytest.mark.parametrize("renewal", [False, True])
def test_standard_errors_match_the_spread_over_400_data_sets(renewal: bool) -> None:
    visits = monte_carlo(400, 60)
    if renewal:
        first = first_step.frequencies(visits, MDP.features, 0.5)
        model = replace(population_model(), visits=visits)
        found = ccp.renewed(model, first, 1, True, 1e-9, 100)
    else:
        first = first_step.frequencies(visits, MDP.features)
        found = npl.nested_pseudo_likelihood(
            visits, first.policy, MDP.transition, DESIGN, NO_OFFSET, 0.95
        )
    assert np.all(found.logit.converged)
    variance = np.diagonal(found.logit.covariance, axis1=1, axis2=2)
    spread = found.logit.theta.std(axis=0, ddof=1)
    # the sd of 400 normal draws is off by 1/sqrt(800) = 3.5 %: four of these
    np.testing.assert_allclose(np.sqrt(variance.mean(axis=0)) / spread, 1.0, atol=0.15)
    bias = np.abs(found.logit.theta.mean(axis=0) - [1.0, 5.0])
    assert np.all(bias < 0.3 * spread)


def test_the_variance_of_finite_dependence_is_that_of_refits() -> None:
    """psi, the effect of one count on theta, from refits of both steps with that count changed."""
    beta, c = 0.9, 0.5
    rng = np.random.default_rng(3)
    law = rng.dirichlet(np.ones(4), (3, 4))
    law[2] = law[2, 0]
    design, offset = rng.normal(size=(4, 3, 2)), rng.normal(size=(4, 3))
    visits = rng.integers(5, 40, (4, 3)).astype(float)
    visits[3] = 0  # never seen: it borrows the frequencies of the state next to it
    states = np.arange(4.0)[:, None]

    def both_steps(counts: Array) -> tuple[choice_logit.LogitFit, Array, Array]:
        first = first_step.frequencies(counts[None], states, c)
        x, known = finite_dependence.regressors(
            np.log(first.policy[:, :, 2]), law, design, offset, beta, 2
        )
        fitted = choice_logit.maximise(counts[None], x, known, tolerance=1e-12)
        covariance = finite_dependence.sandwich(
            counts[None],
            first.cells,
            first.lender,
            x,
            np.exp(fitted.log_policy),
            fitted.covariance,
            law,
            beta,
            2,
        )
        return fitted, covariance[0], np.exp(fitted.log_policy[0])

    fitted, stated, policy = both_steps(visits)
    expected, h = np.zeros((2, 2)), 1e-3
    for s in range(3):
        psi = np.empty((3, 2))
        for a in range(3):
            bump = np.zeros((4, 3))
            bump[s, a] = h
            up, down = both_steps(visits + bump)[0], both_steps(visits - bump)[0]
            psi[a] = (up.theta[0] - down.theta[0]) / (2 * h)
        centred = psi - policy[s] @ psi
        expected += visits[s].sum() * (centred.T * policy[s]) @ centred
    np.testing.assert_allclose(stated, expected, rtol=1e-4)
    assert np.max(np.abs(stated / fitted.covariance[0] - 1)) > 0.05, "first-step noise matters here"


# ---- the first step


def test_frequencies_are_borrowed_from_the_nearest_state_seen() -> None:
    visits = np.array([[[3.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 2.0]]])
    grid = np.array([[0.0], [1.0], [4.0], [6.0]])
    first = first_step.frequencies(visits, grid)
    np.testing.assert_array_equal(first.policy[0], [[0.75, 0.25]] * 2 + [[0.0, 1.0]] * 2)
    np.testing.assert_array_equal(first.lender[0], [0, 0, 3, 3])
    smoothed = first_step.frequencies(visits, grid, 0.5)
    np.testing.assert_allclose(smoothed.policy[0, [0, 3]], [[0.7, 0.3], [1 / 6, 5 / 6]])


@settings(max_examples=60)
@given(arrays(np.float64, (4, 3), elements=st.integers(1, 9).map(float)))
def test_a_saturated_logit_gives_the_frequencies(visits: Array) -> None:
    grid = np.array([[1.0], [2.0], [4.0], [5.0]])
    first = first_step.fitted_choices(visits[None], grid, 3)
    assert first.found[0]
    expected = visits / visits.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(first.policy[0], expected, atol=1e-7)


def test_monomials_up_to_the_degree_in_any_units() -> None:
    points = np.array([[x, 7.0, z] for x, z in [(1, 2), (2, 3), (4, -5), (2, 0), (3, 1), (1, -4)]])
    table = first_step.polynomial(points, 3, 2, points)
    assert table.shape == (6, 3, 2 * 6)  # 1, x, z, xx, xz, zz for actions 1 and 2
    np.testing.assert_array_equal(table[:, 0], 0.0)
    units = points * [10.0, 1.0, 0.1] + [0.0, 3.0, 1.0]
    np.testing.assert_allclose(first_step.polynomial(units, 3, 2, units), table, atol=1e-12)


@settings(max_examples=30)
@given(arrays(np.float64, (8, 2), elements=st.integers(1, 9).map(float)), st.sampled_from([2, 3]))
def test_powers_of_a_dummy_are_no_functions_of_their_own(visits: Array, degree: int) -> None:
    """The first step on x and a dummy d is the logit on powers of x and d times lower powers."""
    grid = np.array([[x, d] for x in (0.0, 1.0, 3.0, 4.0) for d in (0.0, 1.0)])
    x, d = grid.T
    basis = np.stack([d**j * x**i for j in (0, 1) for i in range(degree + 1 - j)], axis=1)
    assert first_step.polynomial(grid, 2, degree, grid).shape == (8, 2, basis.shape[1])
    regressors = np.stack([0 * basis, basis], axis=1)
    first = first_step.fitted_choices(visits[None], grid, degree)
    direct = choice_logit.maximise(visits[None], regressors, np.zeros((8, 2)))
    assert first.found[0]
    np.testing.assert_allclose(first.policy[0], np.exp(direct.log_policy[0]), atol=1e-6)


def test_a_failed_first_step_has_no_standard_errors() -> None:
    fine, short = (
        ccp.fit(SAMPLES[:1], ANCHOR, 0.95, ccps="logit", max_iterations=n)[0] for n in (100, 5)
    )
    assert fine.diagnostics.status == "ok"
    assert np.all(extra(fine, "se") > 0)
    assert short.diagnostics.status == ccp.NO_FIRST_STEP
    assert np.all(np.isnan(extra(short, "se")))
    assert np.all(np.isnan(extra(short, "covariance")))


def test_logit_choices_come_near_the_truth_and_so_does_theta() -> None:
    exact = thetas(nfxp.fit(SAMPLES, ANCHOR, 0.95, **ORACLE))
    smooth = thetas(ccp.fit(SAMPLES, ANCHOR, 0.95, ccps="logit", **ORACLE))
    assert np.max(np.abs(smooth - exact)) < 7e-4
    coarse = thetas(ccp.fit(SAMPLES, ANCHOR, 0.95, ccps="logit", degree=0, **ORACLE))
    assert np.max(np.abs(coarse - exact)) > 1e-3, "a constant is too coarse"


# ---- the whole method


def test_it_runs_on_the_data_alone_and_finds_the_reward() -> None:
    data = BUS.simulate(50, [np.random.default_rng([50, i]) for i in range(3)])
    for options in ({}, {"ccps": "logit"}, {"finite_dependence": True}, {"stages": None}):
        for one, estimate in zip(data, ccp.fit(data, ANCHOR, 0.95, **options), strict=True):
            assert estimate.diagnostics.status == "ok"
            states = np.concatenate([one.states, one.next_states])
            assert np.all(np.isfinite(estimate.q(states)))
            # four standard errors of theta_1 at N = 50, 0.14 each
            truth = BUS.mdp.reward[:8]
            found = estimate.reward_function(MDP.features[:8])
            assert np.max(np.abs(found - truth) / np.abs(truth)) < 0.12


def test_finite_dependence_and_inversion_have_one_limit() -> None:
    exact = nfxp.fit(SAMPLES, ANCHOR, 0.95, **ORACLE)
    found = ccp.fit(SAMPLES, ANCHOR, 0.95, finite_dependence=True, **ORACLE)
    for one, other in zip(found, exact, strict=True):
        gap = np.abs(extra(one, "theta") - extra(other, "theta"))
        assert np.all(gap < 2 * extra(one, "se"))
        assert gap.max() > 1e-3, "another weighting of the choices"


@pytest.mark.parametrize(
    "options",
    [
        ORACLE,
        {},
        {"stages": None},
        {"ccps": "logit"},
        {"finite_dependence": True},
        {"theta_1_given": True},
    ],
)
def test_replications_together_are_as_alone(options: dict[str, Any]) -> None:
    data = BUS.simulate(8, [np.random.default_rng([8, i]) for i in range(5)])
    together = ccp.fit(data, ANCHOR, 0.95, **options)
    assert len({len(np.unique(d.states)) for d in data}) > 1, "the grids must differ"
    for one, batch in zip(data, together, strict=True):
        alone = ccp.fit([one], ANCHOR, 0.95, **options)[0]
        grid = MDP.features if "grid" in options else one.states
        np.testing.assert_allclose(batch.q(grid), alone.q(grid), atol=1e-8)
        np.testing.assert_allclose(extra(batch, "se"), extra(alone, "se"), rtol=1e-6)
        assert batch.diagnostics.iterations == alone.diagnostics.iterations
        assert batch.diagnostics.converged == alone.diagnostics.converged


def test_steps_are_told_apart_as_outer_and_inner() -> None:
    one = ccp.fit(SAMPLES[:1], ANCHOR, 0.95)[0]
    assert (extra(one, "stages"), extra(one, "inner_iterations")) == (1, 0)
    assert one.diagnostics.iterations >= 3  # Newton steps of one concave problem
    more = ccp.fit(SAMPLES[:1], ANCHOR, 0.95, stages=None)[0]
    assert more.diagnostics.iterations == extra(more, "stages") >= 3
    assert extra(more, "inner_iterations") > one.diagnostics.iterations


def test_theta_1_given_takes_the_reward_of_replacement_from_the_anchor() -> None:
    estimate = ccp.fit(SAMPLES[:1], Anchor(1, -4.0), 0.95, theta_1_given=True)[0]
    assert extra(estimate, "theta").shape == (1,)
    np.testing.assert_array_equal(estimate.reward(MDP.features, 1), -4.0)


# ---- failures


def test_too_few_stages_are_not_convergence() -> None:
    estimate = ccp.fit(SAMPLES[:1], ANCHOR, 0.95, stages=None, max_stages=2)[0]
    assert not estimate.diagnostics.converged
    assert estimate.diagnostics.status == "not_converged"
    assert ccp.fit(SAMPLES[:1], ANCHOR, 0.95, stages=2)[0].diagnostics.converged


def rows(states: list[int], actions: list[int], following: list[int], **more: Any) -> Transitions:
    now, after = (np.array(x, dtype=float)[:, None] for x in (states, following))
    return Transitions(now, np.array(actions), after, **more)


def test_no_maximum_is_not_called_convergence() -> None:
    # replaced at 3 always, elsewhere never
    data = rows([1, 2, 3, 1, 2, 3], [0, 0, 1, 0, 0, 1], [2, 3, 1, 2, 3, 1])
    estimate = ccp.fit([data], ANCHOR, 0.95)[0]
    assert not estimate.diagnostics.converged
    smooth = ccp.fit([data], ANCHOR, 0.95, ccps="logit", degree=1)[0]
    assert not smooth.diagnostics.converged
    assert smooth.diagnostics.status == ccp.NO_FIRST_STEP


def test_a_parameter_without_effect_is_reported() -> None:
    def twice(states: Array) -> Array:
        return np.concatenate([bus_design(states), bus_design(states)[:, :, :1]], axis=2)

    estimate = ccp.fit(SAMPLES[:1], ANCHOR, 0.95, design=twice)[0]
    assert estimate.diagnostics.status == ccp.UNIDENTIFIED
    assert not estimate.diagnostics.converged


def test_an_action_that_is_no_renewal_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        ccp.fit(SAMPLES, ANCHOR, 0.95, finite_dependence=True, renewal_action=0, **ORACLE)
    assert caught.value.field == "renewal_action"
    with pytest.raises(InputError) as caught:
        ccp.fit(SAMPLES, ANCHOR, 0.95, finite_dependence=True, renewal_action=0)
    assert caught.value.field == "renewal_action"
    law = MDP.transition.copy()
    law[1, 7, :2] = [1 - 1e-6, 1e-6]  # nearly one
    with pytest.raises(InputError) as caught:
        ccp.fit(SAMPLES, ANCHOR, 0.95, finite_dependence=True, transition=law, grid=MDP.features)
    assert caught.value.field == "renewal_action"


def test_paths_that_end_and_actions_never_taken_are_refused_by_finite_dependence() -> None:
    ends = rows([1, 2, 1, 2], [0, 1, 1, 0], [2, 1, 1, 2], done=np.array([0, 0, 0, 1]))
    with pytest.raises(InputError) as caught:
        ccp.fit([ends], ANCHOR, 0.95, finite_dependence=True)
    assert caught.value.field == "finite_dependence"
    never = rows([1, 2, 1, 2], [0, 1, 1, 0], [2, 1, 1, 2], number_of_actions=3)

    def design(states: Array) -> Array:
        return np.ones((len(states), 3, 1))

    with pytest.raises(InputError) as caught:
        ccp.fit([never], ANCHOR, 0.95, design=design, finite_dependence=True, renewal_action=2)
    assert caught.value.field == "renewal_action"


def test_an_empty_cell_needs_no_smoothing_by_inversion_but_does_by_finite_dependence() -> None:
    data = rows([1, 2, 3, 1, 2, 3, 1, 2], [0, 0, 0, 1, 1, 0, 1, 0], [2, 3, 3, 1, 1, 3, 1, 3])
    assert np.all(np.isfinite(ccp.fit([data], ANCHOR, 0.9)[0].q(data.states)))
    with pytest.raises(InputError) as caught:
        ccp.fit([data], ANCHOR, 0.9, finite_dependence=True, pseudo_count=0)
    assert caught.value.field == "pseudo_count"
    assert np.all(
        np.isfinite(ccp.fit([data], ANCHOR, 0.9, finite_dependence=True)[0].q(data.states))
    )


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"ccps": "kernel"}, "ccps"),
        ({"pseudo_count": -1.0}, "pseudo_count"),
        ({"pseudo_count": True}, "pseudo_count"),
        ({"degree": -1}, "degree"),
        ({"stages": 0}, "stages"),
        ({"stages": None, "max_stages": 0}, "max_stages"),
        ({"stages": 2, "finite_dependence": True}, "stages"),
        ({"renewal_action": 1}, "renewal_action"),
        ({"renewal_action": 2, "finite_dependence": True}, "renewal_action"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"grid": MDP.features}, "transition"),
        ({"theta_1_given": True, "offset": lambda s: np.zeros((len(s), 2))}, "theta_1_given"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        ccp.fit(SAMPLES[:1], ANCHOR, 0.95, **options)
    assert caught.value.field == field


def test_choices_all_but_certain_are_no_convergence() -> None:
    """Three short paths: far out every score rounds to zero, which is not a maximum found."""
    data = BusEngine(horizon=6).simulate(3, np.random.default_rng(46))
    (found,) = ccp.fit([data], Anchor(1, -5.0), 0.95)
    assert not found.diagnostics.converged
    assert found.diagnostics.status == choice_logit.CERTAIN


TENTHS = st.integers(-40, 40).map(lambda n: n / 10)  # whose means round


@given(arrays(np.float64, (2, 3, 1), elements=TENTHS), arrays(np.float64, (3, 3), elements=TENTHS))
def test_regressors_that_move_no_choice_are_told_from_choices_that_are_certain(
    level: Array, contrast: Array
) -> None:
    visits = np.ones((2, 3, 3))
    x = np.stack([level[0] + 0 * contrast, contrast])[..., None]
    some = [False, bool(np.any(contrast != contrast[:, :1]))]  # do actions differ anywhere
    certain = np.zeros((2, 3, 3))
    certain[..., 0] = 1e4
    found = choice_logit.maximise(visits, x, certain)
    assert not np.any(found.regular)
    np.testing.assert_array_equal(found.identified, some)
    uncertain = choice_logit.maximise(visits, x, np.zeros((2, 3, 3)))
    np.testing.assert_array_equal(uncertain.identified, some)
    np.testing.assert_array_equal(uncertain.regular, some)
