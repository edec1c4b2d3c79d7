"""MPEC against finite differences, dense algebra, value iteration and NFXP."""

from typing import Any

import numpy as np
import pytest
from bus_engine import ANCHOR, BUS, FORM, MDP, ORACLE, Array
from hypothesis import assume, given, settings
from linear_models import (
    THETAS,
    LinearModel,
    extra,
    linear_models,
    log_likelihood,
    thetas,
)
from scipy.special import logsumexp

import gladius
from gladius.baselines import mpec, nfxp
from gladius.designs.bus import bus_reward_given
from gladius.model.reward_form import KnownTransitions, LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions

SAMPLES = BUS.simulate(1000, [np.random.default_rng([1000, i]) for i in range(3)])
SMALL = BUS.simulate(50, [np.random.default_rng([50, i]) for i in range(3)])


# ---- known answers and pairs


@pytest.mark.parametrize("options", [ORACLE, FORM, {**ORACLE, "reward": bus_reward_given(5.0)}])
def test_mpec_is_nfxp(options: dict[str, Any]) -> None:
    for data in (SMALL, SAMPLES):
        exact = nfxp.fit(data, ANCHOR, 0.95, **options)
        ours = mpec.fit(data, ANCHOR, 0.95, **options)
        assert np.abs(thetas(ours) - thetas(exact)).max() < 1e-9
        for one in ours:
            assert one.diagnostics.converged
            assert one.diagnostics.status == "ok"
            assert extra(one, "constraint_violation") <= 1e-11
            assert extra(one, "inner_iterations") == 0
            assert one.diagnostics.nll == pytest.approx(extra(one, "objective"), abs=1e-9)
            if "transition" in options:
                q, reward = one.q(MDP.features), one.reward_function(MDP.features)
                v = logsumexp(q, axis=1)
                expected = reward + 0.95 * (MDP.transition @ v).T
                np.testing.assert_allclose(q, expected, rtol=0, atol=1e-9)


def test_twenty_thousand_states_are_few_steps_of_sparse_systems() -> None:
    """A chain with moves of 0 to 3 states, up or down: V has 20,000 entries and I - beta P few.

    The system of all variables and constraints fills in there.
    """
    size, each = 20_000, 8
    x, rng = np.arange(size), np.random.default_rng(0)
    s = np.repeat(x, 2 * each)
    step = np.tile(np.arange(4), len(s) // 4)  # of every action as often

    def design(states: Array) -> Array:
        table = np.zeros((len(states), 2, 2))
        table[:, 0, 0], table[:, 1, 1] = -states[:, 0] / size, -1.0
        return table

    a = np.tile(np.repeat([0, 1], each), size)
    after = np.clip(s + np.where(a == 0, step, -step), 0, size - 1)
    kept = rng.random(len(s)) < np.where(a == 0, 0.5 + 0.4 * s / size, 0.6)
    kept |= step == 0  # so that no pair is without a move
    path = Transitions(s[kept, None] * 1.0, a[kept], after[kept, None] * 1.0)
    anchor, reward = Anchor(1, -1.0), LinearReward(design)
    (ours,) = mpec.fit([path], anchor, 0.95, reward=reward)
    (exact,) = nfxp.fit([path], anchor, 0.95, reward=reward)
    assert ours.diagnostics.status == exact.diagnostics.status == "ok"
    np.testing.assert_allclose(extra(ours, "theta"), extra(exact, "theta"), rtol=0, atol=1e-9)
    assert extra(ours, "constraint_violation") <= 1e-11
    assert ours.diagnostics.iterations <= 20


def test_steps_are_halved_until_the_merit_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    """State 0 may be left for state 1; whole steps of theta, near .4, wander from -4 to 2."""
    transition = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    design = np.array([[[0.0], [-2.0]], [[-2.0], [-1.0]]])
    visits = np.array([[6.0, 1.0], [5.0, 8.0]])
    programme = mpec.Programme(visits, transition, design, np.zeros((2, 2)), 0.9)
    assert fit(programme, np.zeros(1)).diagnostics.converged
    monkeypatch.setattr(mpec, "SUFFICIENT", -np.inf)
    assert not fit(programme, np.zeros(1)).diagnostics.converged, "control"


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
    return mpec.fit([data], anchor, p.discount, reward=form, transition=known, start=theta[None])[0]


@settings(max_examples=25)
@given(linear_models(), THETAS)
def test_any_model_ends_at_a_maximum_as_nfxp_does(w: LinearModel, start: Array) -> None:
    p = mpec.Programme(*w)
    estimate = fit(p, start)
    theta = extra(estimate, "theta")
    if estimate.diagnostics.converged:
        best = log_likelihood(theta, w)
        assert extra(estimate, "log_likelihood") == pytest.approx(best, rel=1e-9, abs=1e-9)
        for direction in ([1, 0], [-1, 0], [0, 1], [0, -1]):
            near = theta + 1e-3 * np.array(direction)
            assert log_likelihood(near, w) <= best + 1e-11 * (1 + abs(best))
    # the likelihood need not be concave, so the two may end apart; but NFXP's end is MPEC's too
    exact = nfxp.fit_counts(p.visits[None], p.transition, p.design, p.offset, p.discount)
    assume(exact.converged[0] and np.abs(exact.theta).max() < 20)
    from_there = fit(p, exact.theta[0])
    assert from_there.diagnostics.converged
    np.testing.assert_allclose(extra(from_there, "theta"), exact.theta[0], rtol=0, atol=1e-7)


# ---- failures


def test_before_the_end_neither_the_constraints_nor_the_maximum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The Bellman equation is not solved within a step, as NFXP does."""
    monkeypatch.setattr(mpec, "MAX_ITERATIONS", 3)
    (short,) = mpec.fit(SAMPLES[:1], ANCHOR, 0.95, **ORACLE)
    assert short.diagnostics.status == "not_converged"
    assert short.diagnostics.iterations == 3
    assert extra(short, "constraint_violation") > 1e-4
    assert short.diagnostics.gradient_norm > 1e-5


def test_no_maximum_is_not_called_convergence() -> None:
    states, after = (np.array(x, dtype=float)[:, None] for x in ([1, 2, 3] * 2, [2, 3, 1] * 2))
    data = Transitions(states, np.array([0, 0, 1] * 2), after)
    estimate = mpec.fit([data], ANCHOR, 0.95, **FORM)[0]
    assert not estimate.diagnostics.converged
    assert estimate.diagnostics.status != "ok"


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
