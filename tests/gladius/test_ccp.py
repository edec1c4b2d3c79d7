"""CCP against series written out, refits, independent optimisers, NFXP and known answers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from bus_engine import ANCHOR, BUS, FORM, MDP, ORACLE, Array
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import LinearModel, extra, linear_models, thetas
from scipy.special import log_softmax

from gladius.baselines import ccp, nfxp
from gladius.designs.bus import BusEngine, bus_reward_given
from gladius.model.inversion import choice_frequencies
from gladius.model.parametric import make_model
from gladius.model.reward_form import KnownTransitions
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.solvers import choice_logit
from gladius.validate import InputError

SAMPLES = BUS.simulate(1000, [np.random.default_rng([1000, i]) for i in range(4)])


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


@settings(max_examples=40)
@given(linear_models())
def test_two_steps_leave_no_slope_of_the_plain_pseudo_likelihood(w: LinearModel) -> None:
    total = w.visits.sum(axis=1, keepdims=True)
    policy = np.where(total > 0, w.visits / np.maximum(total, 1.0), 1 / w.visits.shape[1])
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


# ---- populations


@pytest.mark.parametrize("stays", [1.0, 0.9])
def test_population_counts_return_theta_by_finite_dependence(stays: float) -> None:
    """Where every path ends with chance .1 a period, beta is in effect .9 times as large."""
    data, world = BUS.simulate(1, np.random.default_rng(0)), replace(MDP, discount=0.95 * stays)
    model = make_model([data], ANCHOR, 0.95, **ORACLE)
    p_hat = replace(model.p_hat, transition=stays * model.p_hat.transition)
    model = replace(model, p_hat=p_hat, visits=world.occupancy(100)[None])
    policy = world.solution.policy[None]
    found = ccp.renewed(model, policy, 1)
    np.testing.assert_allclose(found.logit.theta[0], [1.0, 5.0], atol=1e-9)
    np.testing.assert_allclose(found.v[0], world.solution.v, atol=1e-7)
    blunt = choice_frequencies(policy, MDP.features, 0.05)  # control
    off = ccp.renewed(model, blunt, 1)
    assert np.max(np.abs(off.logit.theta[0] - [1.0, 5.0])) > 0.01


# ---- the pairs with NFXP


@pytest.mark.parametrize("options", [ORACLE, FORM, {"reward": bus_reward_given(5.0)}])
def test_the_limit_of_npl_is_nfxp(options: dict[str, Any]) -> None:
    exact = nfxp.fit(SAMPLES, ANCHOR, 0.95, **options)
    found = ccp.fit(SAMPLES, ANCHOR, 0.95, stages=None, **options)
    np.testing.assert_allclose(thetas(found), thetas(exact), rtol=0, atol=1e-8)
    for one, other in zip(found, exact, strict=True):
        assert one.diagnostics.converged
        np.testing.assert_allclose(one.q(MDP.features[:6]), other.q(MDP.features[:6]), atol=1e-6)
    first = thetas(ccp.fit(SAMPLES, ANCHOR, 0.95, stages=1, **options))
    gap = np.abs(first - thetas(exact)).max(axis=1)
    assert np.all(gap > 1e-6), "one stage is another estimator"
    assert np.all(gap < 7e-4)


# ---- the whole method


def test_steps_are_told_apart_as_outer_and_inner() -> None:
    one = ccp.fit(SAMPLES[:1], ANCHOR, 0.95, stages=1, **FORM)[0]
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
    assert ccp.fit([short], ANCHOR, 0.95, **FORM)[0].diagnostics.status == choice_logit.UNIDENTIFIED


NEARLY = MDP.transition.copy()
NEARLY[1, 7, :2] = [1 - 1e-6, 1e-6]
ENDS = rows([1, 2, 1, 2], [0, 1, 1, 0], [2, 1, 1, 2], done=np.array([0, 0, 0, 1]))
NEVER = rows([1, 2, 1, 2], [0, 0, 0, 0], [2, 1, 1, 2], number_of_actions=2)


@pytest.mark.parametrize(
    ("data", "action", "options", "field"),
    [
        (SAMPLES[0], 0, {"transition": BUS.known_transitions}, "anchor_action"),
        (SAMPLES[0], 0, {}, "anchor_action"),
        (SAMPLES[0], 1, {"transition": KnownTransitions(NEARLY, MDP.features)}, "anchor_action"),
        (NEVER, 1, {}, "anchor_action"),
        (ENDS, 1, {}, "finite_dependence"),
    ],
)
def test_finite_dependence_needs_a_renewal(
    data: Transitions, action: int, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(InputError) as caught:
        ccp.fit(
            [data], Anchor(action, 0.0), 0.95, finite_dependence=True, stages=1, **FORM, **options
        )
    assert caught.value.field == field


TENTHS = st.integers(-40, 40).map(lambda n: n / 10)  # whose means round


@given(arrays(np.float64, (2, 3, 1), elements=TENTHS), arrays(np.float64, (3, 3), elements=TENTHS))
def test_regressors_that_move_no_choice_are_not_identified(level: Array, contrast: Array) -> None:
    visits = np.ones((2, 3, 3))
    x = np.stack([level[0] + 0 * contrast, contrast])[..., None]
    some = [False, bool(np.any(contrast != contrast[:, :1]))]  # do actions differ anywhere
    uncertain = choice_logit.maximise(visits, x, np.zeros((2, 3, 3)))
    said = ["ok" if moves else choice_logit.UNIDENTIFIED for moves in some]
    np.testing.assert_array_equal(uncertain.status, said)
