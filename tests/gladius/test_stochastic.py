"""The two steps on mini-batches: the minimum of full passes, or a plain word that it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sparse_fits import fit_sparse

import gladius
from gladius import sparse
from gladius.anchor import Anchor
from gladius.checks import Array, InputError
from gladius.rows import Minimum, Risk, Rows, make_features, minimise
from gladius.screen import Inputs
from gladius.sparse import extend, make_zeta, settle
from gladius.stochastic import LEVERAGE, Observations, refit
from gladius.transitions import Transitions

ANCHOR = Anchor(1, -5.0)


def exact(data: Transitions, curved: Sequence[int] = ()) -> Minimum:
    """Full passes: r affine in the mileage, or with cosines under a penalty of 10."""
    fit = settle(plain_risk(data).start())
    if not curved:
        return fit
    reward = make_features([0], Inputs.of(data.states), fit.risk.reward.terms, curved=curved)
    wider = replace(fit.risk, reward=reward)
    held = 10.0 * (torch.arange(wider.free) >= fit.risk.free).double()
    point = extend(fit, wider)
    return minimise(wider, held, point.theta, point.zeta)


def plain_risk(data: Transitions) -> Risk:
    scaling = Inputs.of(data.states)
    rows = Rows.of(data, [0], ANCHOR, 0.95, "cpu")
    reward = make_features([0], scaling, [(), (0,)])
    return Risk(rows, reward, make_zeta(rows, scaling, [0]))


def apart(fit: Minimum, other: Minimum, *, each: bool = False) -> float:
    """Mean over visits of |difference of r(., 0)| over that of |r|; `each`: of their ratios."""
    visits = fit.risk.rows.visits.sum(dim=1).numpy()
    ours, theirs = ((fit.risk.block.psi @ m.point.theta).numpy() for m in (fit, other))
    if each:  # stricter where r is small in places
        return float(np.average(np.abs(theirs / ours - 1), weights=visits))
    return float(visits @ np.abs(theirs - ours) / (visits @ np.abs(ours)))


def bus(trajectories: int, ended: float = 0.0) -> Transitions:
    data = gladius.BusEngine().simulate(trajectories, np.random.default_rng(21))
    done = np.random.default_rng(22).uniform(size=len(data)) < ended
    return Transitions(data.states, data.actions, data.next_states, data.trajectory, done, 2)


@pytest.mark.parametrize("ended", [0.0, 0.1])
@pytest.mark.parametrize("curved", [(), (0,)])
def test_one_batch_of_all_rows_finds_the_minimum(curved: tuple[int, ...], ended: float) -> None:
    """Nothing is random then, and the steps contract."""
    fit = exact(bus(15, ended), curved)
    result = refit(fit, seed=3, rounds=((0.5, 200),))
    assert result.status == "ok"
    assert apart(fit, result.minimum, each=True) < 1e-4  # full passes stop within 1e-6 nats


@pytest.mark.parametrize("curved", [(), (0,)])
def test_batches_find_the_minimum_and_say_how_far_it_is(curved: tuple[int, ...]) -> None:
    fit = exact(bus(100), curved)
    result = refit(fit, seed=3, batch=500)
    assert result.status == "ok"
    assert apart(fit, result.minimum) < 0.002
    assert apart(fit, result.minimum, each=True) < 0.002
    coarse = refit(fit, seed=3, batch=500, rounds=((0.5, 20),))  # so that there is a way to go
    assert coarse.change == pytest.approx(apart(fit, coarse.minimum), rel=0.2)
    more = coarse.minimum.value - fit.value  # a parabola: half the square of standard errors
    assert coarse.distance == pytest.approx((2 * more) ** 0.5, rel=0.2)


@pytest.mark.parametrize("rate", [1.5, 2.5, 20.0])
def test_a_step_that_is_too_large_does_not_pass(rate: float) -> None:
    fit = exact(bus(100))
    result = refit(fit, seed=3, rounds=((rate, 100),))
    assert result.status != "ok"
    assert apart(fit, result.minimum) > 0.002


def test_what_diverges_is_stopped_at_the_round_before() -> None:
    fit = exact(bus(100))
    result = refit(fit, seed=3, rounds=((1e3, 100),))
    assert result.status == "diverged"
    assert torch.isfinite(result.minimum.point.theta).all()
    assert result.batches < 140


@settings(max_examples=20)
@given(
    arrays(np.int64, (200, 2), elements=st.integers(0, 3)),
    arrays(np.int64, 200, elements=st.integers(0, 1)),
    arrays(np.bool_, 200),
    st.integers(60, 220),
)
def test_an_epoch_has_every_row_once(states: Array, actions: Array, done: Array, size: int) -> None:
    actions[:2], done[:2], states[:4, 0] = (0, 1), False, np.arange(4)
    now, after = states.astype(float).T
    data = Transitions(now[:, None], actions, after[:, None], np.arange(200), done, 2)
    risk = plain_risk(data).start().risk
    rows, dealt = risk.rows, Observations.of(risk, size)
    stream, number = dealt.stream(size, seed=0), dealt.batches(size)
    table = torch.zeros(len(rows.states), 2, len(rows.states) + 1, dtype=torch.float64)
    for _ in range(number):
        which, weight = next(stream)
        target = torch.where(dealt.going, dealt.target, len(rows.states))[which]
        place = (dealt.origin[which], dealt.action[which], target)
        table.index_put_(place, weight / number, accumulate=True)
    expected = np.zeros(table.shape)
    ends = np.where(done, len(rows.states), rows.next_place.numpy())
    np.add.at(expected, (rows.place.numpy(), actions, ends), 1.0)
    np.testing.assert_allclose(table.numpy(), expected, atol=1e-9)
    for a, phi in enumerate(risk.block.phi):  # no part is heavy in the regression of its batch
        mine = dealt.going & (dealt.action == a)
        here = dealt.origin[mine]
        leverage = (phi[here] ** 2).sum(dim=1)
        heavy = leverage * dealt.weight[mine] * number
        assert len(heavy) == 0 or float(heavy.max()) <= max(1.5 * LEVERAGE, float(leverage.max()))


def test_a_user_asks_for_it() -> None:
    data = gladius.BusEngine(dummies=3).simulate(300, np.random.default_rng(23))
    full = fit_sparse(data)
    ours, again = (fit_sparse(data, solver="stochastic", seed=5) for _ in range(2))
    other = fit_sparse(data, solver="stochastic", seed=6)
    extra = ours.diagnostics.extra
    assert (ours.diagnostics.status, extra["solver"]) == ("ok", "stochastic")
    assert 0 < float(str(extra["change_left"])) <= 0.001
    assert full.diagnostics.extra["solver"] == "full"
    rewards = [e.reward(data.states, 0) for e in (ours, again, other, full)]
    np.testing.assert_array_equal(rewards[0], rewards[1])
    assert not np.array_equal(rewards[0], rewards[2])
    assert np.mean(np.abs(rewards[0] / rewards[3] - 1)) < 0.002


def test_what_it_cannot_do_is_refused() -> None:
    data = bus(20)
    with pytest.raises(InputError, match="solver = 'adam'"):
        fit_sparse(data, solver="adam")
    with pytest.raises(InputError, match="seed"):
        fit_sparse(data, solver="stochastic", seed=-1)


def test_where_it_would_cost_more_full_passes_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bus(20)
    full = fit_sparse(data)
    monkeypatch.setattr(sparse, "WIDEST", 1)
    with pytest.warns(UserWarning, match="cost more than full passes"):
        wide = fit_sparse(data, solver="stochastic")
    assert wide.diagnostics.extra["solver"] == "full"
    np.testing.assert_array_equal(wide.reward(data.states, 0), full.reward(data.states, 0))
