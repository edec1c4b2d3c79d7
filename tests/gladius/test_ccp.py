"""CCP against series written out, refits, independent optimisers, NFXP and known answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import THETAS, LinearModel, extra, linear_models, thetas
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from gladius.anchor import Anchor
from gladius.baselines import ccp, choice_logit, nfxp
from gladius.checks import InputError
from gladius.linear_reward import KnownTransitions
from gladius.mdp import TabularMDP
from gladius.parametric import Model, make_model
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
POPULATION = MDP.occupancy(100)[None]
SAMPLES = BUS.simulate(1000, [np.random.default_rng([1000, i]) for i in range(4)])


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


# ---- the second step


def own_frequencies(visits: Array) -> Array:
    """Frequencies, 1/A where nothing was seen."""
    total = visits.sum(axis=1, keepdims=True)
    found: Array = np.where(total > 0, visits / np.maximum(total, 1.0), 1 / visits.shape[1])
    return found


@settings(max_examples=40)
@given(linear_models())
def test_two_steps_leave_no_slope_of_the_plain_pseudo_likelihood(w: LinearModel) -> None:
    policy = own_frequencies(w.visits)
    found = ccp.nested_pseudo_likelihood(
        w.visits[None], policy[None], w.transition, w.design, w.offset, w.discount
    )
    assume(found.logit.converged[0] and np.abs(found.logit.theta).max() < 20)

    def loss(theta: Array) -> float:
        index = plain_index(theta, policy, w.transition, w.design, w.offset, w.discount)
        return float(-np.sum(w.visits * log_softmax(index, axis=1)))

    at, h = found.logit.theta[0], 1e-5
    slope = [(loss(at + e) - loss(at - e)) / (2 * h) for e in h * np.eye(2)]
    np.testing.assert_allclose(slope, 0.0, atol=1e-5 * (1 + abs(loss(at))))
    np.testing.assert_allclose(-found.logit.log_likelihood[0], loss(at), rtol=1e-9, atol=1e-9)
    far = at + np.array([0.3, -0.2])  # control: the slope is zero nowhere else
    assert loss(far) > loss(at)


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
        return float(-np.sum(visits * log_softmax(index, axis=1)) / visits.sum())

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
    found = ccp.nested_pseudo_likelihood(
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
    first = ccp.frequencies(MDP.solution.policy[None], MDP.features)
    found = ccp.renewed(model, first)
    np.testing.assert_allclose(found.logit.theta[0], [1.0, 5.0], atol=1e-9)
    np.testing.assert_allclose(found.v[0], MDP.solution.v, atol=1e-7)
    blunt = ccp.frequencies(MDP.solution.policy[None], MDP.features, 0.05)  # control
    off = ccp.renewed(model, blunt)
    assert np.max(np.abs(off.logit.theta[0] - [1.0, 5.0])) > 0.01


@settings(max_examples=60)
@given(linear_models(), THETAS)
def test_population_counts_of_any_world_return_its_theta(w: LinearModel, theta: Array) -> None:
    reward = w.offset + w.design @ theta
    truth = TabularMDP(reward, w.transition, w.discount, np.full(len(reward), 1 / len(reward)))
    policy = truth.solution.policy
    visits = 1e3 * policy[None]
    two = ccp.nested_pseudo_likelihood(
        visits, policy[None], w.transition, w.design, w.offset, w.discount
    )
    scale = np.sqrt(np.diagonal(two.logit.covariance[0]))
    assume(two.logit.converged[0] and scale.max() < 1.0)
    np.testing.assert_allclose(two.logit.theta[0], theta, atol=1e-7)


# ---- the pairs with NFXP


@pytest.mark.parametrize("options", [ORACLE, FORM, {"reward": bus_reward_given(5.0)}])
def test_the_limit_of_npl_is_nfxp(options: dict[str, Any]) -> None:
    exact = nfxp.fit(SAMPLES, ANCHOR, 0.95, **options)
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
    exact = thetas(nfxp.fit(SAMPLES, ANCHOR, 0.95, **ORACLE))
    model = make_model(SAMPLES, ANCHOR, 0.95, **ORACLE)
    gaps = []
    for stages in (1, 2, 3, 4):
        half = np.full((4, 20, 2), 0.5)
        found = ccp.nested_pseudo_likelihood(
            model.visits, half, MDP.transition, DESIGN, NO_OFFSET, 0.95, stages=stages
        )
        gaps.append(np.abs(found.logit.theta - exact).max())
    assert 0.1 < gaps[0] < 2.0  # choices of 1/2 are far from the truth, 8e-1 on one sample
    assert np.all(np.array(gaps[1:]) < [4e-3, 5e-6, 1e-9])  # 4e-4, 5e-8, 2e-12 on one sample


def monte_carlo(number: int, trajectories: int) -> Array:
    rngs = [np.random.default_rng([number, i]) for i in range(number)]
    paths = MDP.simulate(trajectories, 100, rngs)
    cell = (np.arange(number)[:, None, None] * 20 + paths.states) * 2 + paths.actions
    return np.bincount(cell.ravel(), minlength=number * 40).reshape(number, 20, 2).astype(float)


@pytest.mark.parametrize("renewal", [False, True])
def test_standard_errors_match_the_spread_over_400_data_sets(renewal: bool) -> None:
    visits = monte_carlo(400, 60)
    if renewal:
        first = ccp.frequencies(visits, MDP.features, 0.5)
        model = replace(population_model(), visits=visits)
        found = ccp.renewed(model, first)
    else:
        first = ccp.frequencies(visits, MDP.features)
        found = ccp.nested_pseudo_likelihood(
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
        first = ccp.frequencies(counts[None], states, c)
        x, known = ccp.renewal_regressors(
            np.log(first.policy[:, :, 2]), law, design, offset, beta, 2
        )
        fitted = choice_logit.maximise(counts[None], x, known, tolerance=1e-9)
        covariance = ccp.sandwich(counts[None], first, x, fitted, law, beta, 2)
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
    first = ccp.frequencies(visits, grid)
    np.testing.assert_array_equal(first.policy[0], [[0.75, 0.25]] * 2 + [[0.0, 1.0]] * 2)
    np.testing.assert_array_equal(first.nearest_seen[0], [0, 0, 3, 3])
    smoothed = ccp.frequencies(visits, grid, 0.5)
    np.testing.assert_allclose(smoothed.policy[0, [0, 3]], [[0.7, 0.3], [1 / 6, 5 / 6]])


# ---- the whole method


def test_every_variant_runs_on_the_data_alone_and_finds_the_reward() -> None:
    data = BUS.simulate(50, [np.random.default_rng([50, i]) for i in range(3)])
    variants: list[dict[str, Any]]
    variants = [{}, {"finite_dependence": True}, {"stages": None}]
    for options in variants:
        for one, estimate in zip(data, ccp.fit(data, ANCHOR, 0.95, **options, **FORM), strict=True):
            assert estimate.diagnostics.status == "ok"
            states = np.concatenate([one.states, one.next_states])
            assert np.all(np.isfinite(estimate.q(states)))
            # four standard errors of theta_1 at N = 50, 0.14 each
            truth = BUS.mdp.reward[:8]
            reward = estimate.reward_function(MDP.features[:8])
            assert np.max(np.abs(reward - truth) / np.abs(truth)) < 0.12


def test_all_variants_have_one_limit() -> None:
    exact = nfxp.fit(SAMPLES, ANCHOR, 0.95, **ORACLE)
    for one, other in zip(ccp.fit(SAMPLES, ANCHOR, 0.95, **ORACLE), exact, strict=True):
        np.testing.assert_allclose(extra(one, "se"), extra(other, "se"), rtol=0.01)
    renewed = ccp.fit(SAMPLES, ANCHOR, 0.95, finite_dependence=True, **ORACLE)
    for one, other in zip(renewed, exact, strict=True):
        gap = np.abs(extra(one, "theta") - extra(other, "theta"))
        assert np.all(gap < 2 * extra(one, "se"))
        assert gap.max() > 1e-3, "another weighting of the choices"


def test_steps_are_told_apart_as_outer_and_inner() -> None:
    one = ccp.fit(SAMPLES[:1], ANCHOR, 0.95, **FORM)[0]
    assert (extra(one, "stages"), extra(one, "inner_iterations")) == (1, 0)
    assert one.diagnostics.iterations >= 3  # Newton steps of one concave problem
    more = ccp.fit(SAMPLES[:1], ANCHOR, 0.95, stages=None, **FORM)[0]
    assert more.diagnostics.iterations == extra(more, "stages") >= 3
    assert extra(more, "inner_iterations") > one.diagnostics.iterations


# ---- failures


def test_too_few_stages_are_not_convergence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ccp.fit(SAMPLES[:1], ANCHOR, 0.95, stages=2, **FORM)[0].diagnostics.converged
    monkeypatch.setattr(ccp, "MAX_STAGES", 2)
    estimate = ccp.fit(SAMPLES[:1], ANCHOR, 0.95, stages=None, **FORM)[0]
    assert not estimate.diagnostics.converged
    assert estimate.diagnostics.status == "not_converged"


def rows(states: list[int], actions: list[int], following: list[int], **more: Any) -> Transitions:
    now, after = (np.array(x, dtype=float)[:, None] for x in (states, following))
    return Transitions(now, np.array(actions), after, **more)


def test_no_maximum_is_not_called_convergence() -> None:
    # replaced at 3 always, elsewhere never
    data = rows([1, 2, 3, 1, 2, 3], [0, 0, 1, 0, 0, 1], [2, 3, 1, 2, 3, 1])
    assert not ccp.fit([data], ANCHOR, 0.95, **FORM)[0].diagnostics.converged
    # three short paths: far out every score rounds to zero, which is not a maximum found
    short = BusEngine(horizon=6).simulate(3, np.random.default_rng(46))
    assert ccp.fit([short], ANCHOR, 0.95, **FORM)[0].diagnostics.status == choice_logit.CERTAIN


def nearly() -> KnownTransitions:
    law = MDP.transition.copy()
    law[1, 7, :2] = [1 - 1e-6, 1e-6]
    return KnownTransitions(law, MDP.features)


ENDS = rows([1, 2, 1, 2], [0, 1, 1, 0], [2, 1, 1, 2], done=np.array([0, 0, 0, 1]))
NEVER = rows([1, 2, 1, 2], [0, 0, 0, 0], [2, 1, 1, 2], number_of_actions=2)


@pytest.mark.parametrize(
    ("data", "action", "options", "field"),
    [
        (SAMPLES[0], 0, {"transition": BUS.known_transitions}, "anchor_action"),
        (SAMPLES[0], 0, {}, "anchor_action"),
        (SAMPLES[0], 1, {"transition": nearly()}, "anchor_action"),
        (NEVER, 1, {}, "anchor_action"),
        (ENDS, 1, {}, "finite_dependence"),
    ],
)
def test_finite_dependence_needs_a_renewal(
    data: Transitions, action: int, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(InputError) as caught:
        ccp.fit([data], Anchor(action, 0.0), 0.95, finite_dependence=True, **FORM, **options)
    assert caught.value.field == field


def test_an_empty_cell_needs_no_smoothing_by_the_user() -> None:
    data = rows([1, 2, 3, 1, 2, 3, 1, 2], [0, 0, 0, 1, 1, 0, 1, 0], [2, 3, 3, 1, 1, 3, 1, 3])
    for renewal in (False, True):
        found = ccp.fit([data], ANCHOR, 0.9, finite_dependence=renewal, **FORM)[0]
        assert np.all(np.isfinite(found.q(data.states)))


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
    said = [choice_logit.CERTAIN if moves else choice_logit.UNIDENTIFIED for moves in some]
    np.testing.assert_array_equal(found.status, said)
    uncertain = choice_logit.maximise(visits, x, np.zeros((2, 3, 3)))
    said = ["ok" if moves else choice_logit.UNIDENTIFIED for moves in some]
    np.testing.assert_array_equal(uncertain.status, said)
