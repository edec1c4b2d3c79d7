"""The corrected chain: its page, its oracle against direct computation, and its instances."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

import proofs_checks
from proofs_checks.claims import under_check
from proofs_checks.claims.claims import OURS, claims
from proofs_checks.claims.instances import one_state, quarters, tables
from proofs_checks.corrected import (
    classes,
    coordinates,
    descent,
    inner_step,
    polyak_lojasiewicz,
    search,
)
from proofs_checks.oracle import polyak, separated
from proofs_checks.oracle.risk import Sample
from proofs_checks.sections import _fits as fits

PAGE = Path(proofs_checks.__file__).parent / "corrected" / "corrected.md"
RESET = polyak_lojasiewicz.reset()
FREE = [7944, 1442, 1071, 582, 269, 29, 9, 2, 0.5, 0.5, 0.5]  # never seen at the last three
REPLACED = [826, 550, 1239, 1945, 2510, 824, 452, 230, 63, 11, 2]
RARE = polyak_lojasiewicz.after_reset(np.column_stack([FREE, REPLACED]))


def test_the_page_states_every_claim_of_the_chain() -> None:
    named = set(re.findall(r"`(corrected\.[a-z-]+)`", PAGE.read_text("utf-8")))
    assert named == {id_ for id_ in claims() if id_.startswith(OURS)}
    assert len(named) == 11


# --- the oracle
@given(coordinates.reached(), st.data())
def test_derivatives_are_those_of_the_library(sample: Sample, data: st.DataObject) -> None:
    q = data.draw(tables(sample.visits.shape, quarters(8)))
    gradient = separated.jacobian(sample, q).T @ separated.slope(sample, q)
    slope = under_check.descent_slope(sample, q).ravel()
    assert gradient == pytest.approx(slope, abs=1e-10 * (1 + np.abs(q).max()) ** 2)


@given(st.floats(0.01, 0.99), st.floats(1e-4, 100.0))
def test_alpha_of_two_actions_is_the_infimum(pi: float, level: float) -> None:
    both = np.array([pi, 1 - pi])
    odds = np.r_[-np.geomspace(1e-3, 2e4, 4000), np.geomspace(1e-3, 2e4, 4000)]
    log_p = log_softmax(np.log(both) + np.stack([odds, 0 * odds], axis=1), axis=1)
    kl = separated.divergence(both, log_p)
    ratio = ((np.exp(log_p) - both) ** 2).sum(axis=1) / (2 * kl)
    within = kl <= level
    found, exact = ratio[within].min(initial=np.inf), separated.alpha(both, level)
    assert found >= exact * (1 - 1e-6)
    assert found <= 1.02 * exact or not within.any() or level < kl.min() * 1.1


def test_the_closed_form_of_alpha_loses_as_much_as_is_said() -> None:
    """Of two actions: a factor of 2 near pi, at most 4.44, where choices are even."""
    grid = [(pi, d) for pi in np.linspace(0.02, 0.5, 13) for d in np.linspace(0.5, 5, 121)]
    lost = [
        separated.alpha(both, d) / separated.alpha_bound(both, d)
        for pi, d in grid
        for both in [np.array([pi, 1 - pi])]
    ]
    assert max(lost) == pytest.approx(4.44, abs=0.01)
    assert grid[int(np.argmax(lost))] == (0.5, pytest.approx(1.5, rel=0.2))
    assert separated.alpha(np.array([0.5, 0.5]), 1e-9) == pytest.approx(
        2 * separated.alpha_bound(np.array([0.5, 0.5]), 1e-9), rel=1e-3
    )


@given(coordinates.reached(max_actions=2), st.floats(1e-3, 3.0), st.data())
@settings(max_examples=60)
def test_no_table_below_the_level_has_a_lesser_ratio(
    sample: Sample, level: float, data: st.DataObject
) -> None:
    """Points of one ray from the minimiser, as far as the level reaches."""
    shape = sample.visits.shape
    way = data.draw(tables(shape, quarters(20)))
    start = separated.table(
        sample,
        np.log(np.where(sample.visits > 0, sample.visits, 1.0)),
        np.zeros(len(sample.transition)),
    )
    constant = separated.pl_constant(sample, level)
    for t in np.geomspace(1e-3, 10, 12):
        q = start + t * way
        if 1e-9 < separated.gap(sample, q) <= level:
            assert separated.ratio(sample, q) >= constant * (1 - 1e-6)


@pytest.mark.parametrize(
    ("sample", "level", "visits"),
    [(RESET, 1e-6, False), (RESET, 1.0, False), (RESET, 1e-2, True), (RARE, 1e-4, False)],
)
def test_the_search_comes_within_a_tenth_of_the_constant(
    sample: Sample, level: float, visits: bool
) -> None:
    least, q = search.least_ratio(sample, level, visits)
    assert separated.gap(sample, q) <= level * (1 + 1e-6)
    ratio = least / separated.pl_constant(sample, level, visits)
    assert 1 <= ratio <= 1.10


@pytest.mark.parametrize("level", [1e-6, 1e-3, 1e-1])
def test_the_flattest_step_stays_inside_the_level(level: float) -> None:
    step = search._Search(RESET, level, False).flattest()
    assert 0 < separated.gap(RESET, step) <= level


def test_the_bound_of_the_hessian_by_hand() -> None:
    """|A| |X| = 4, tau_D = 9/11, and every (state, action) is a quarter of the data."""
    k = 2**0.5 / (1 - 0.99 * 9 / 11)
    bound = descent.schur(descent.walk(10.0)).bound
    assert float(bound) == pytest.approx(1 / (4 * (1 + k) ** 2 + 2 * k**2), rel=1e-12)


def test_multipliers_sharpen_the_constant_where_rare_states_share_the_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without them a state with a small part of y' D y may have the whole level."""
    sharp = separated.pl_constant(RARE, 1e-4)
    monkeypatch.setattr(separated, "ROUNDS", 1)
    assert separated.pl_constant(RARE, 1e-4) < 0.95 * sharp


def test_with_one_action_no_choice_is_far() -> None:
    assert separated.farthest(np.ones(1), 0.1).tolist() == [[0.0]]


def test_a_state_that_lacks_an_action_leaves_no_constant() -> None:
    moves = RESET.moves.copy()
    moves[9, 0] = 0.0
    assert separated.pl_constant(Sample(moves, RESET.anchor, RESET.reward, 0.95), 1.0) == 0.0


def test_outputs_that_are_only_led_to_are_free() -> None:
    """One row x -> y with one action: e moves with q(y) too, G G' = 1 + beta^2."""
    moves = np.zeros((2, 1, 2))
    moves[0, 0, 1] = 1.0
    sample = Sample(moves, np.zeros(2, dtype=np.int64), np.zeros(2), 0.95)
    assert separated.pl_constant(sample, 1.0) == pytest.approx(2 * (1 + 0.95**2))


# --- descents


def test_the_smoothness_bounds_the_step_where_zeta_hardly_matters() -> None:
    """Few anchor rows, rho = 1: the other bound alone is ten times too long for the likelihood."""
    sample = one_state([1, 99], 0.0, 0.9)
    state = descent.State(sample, np.array([[1.0, 0.0]]), np.ones(1), 1.0)
    assert descent.two_time_scales(state).holds
    assert not descent.two_time_scales(state, smoothness=False).holds


def slowest_rate(sample: Sample, metric: np.ndarray, speed: float) -> float:
    """Of the flow of (q, zeta) at the minimiser, f = g - beta^2 |zeta - P V|_b^2.

    The metric of q is (X A,), and `speed` is the rate of zeta.
    """
    star, b = polyak.solution(sample), separated.anchor_weight(sample)
    policy = np.exp(log_softmax(star, axis=1))
    ahead = (sample.transition[:, :, None] * policy).reshape(len(b), -1)  # d (P V) / dq
    pull = 2 * sample.discount**2 * ahead.T * b
    of_q = pull @ ahead - separated.hessian(sample)
    by = metric[:, None]
    flow = np.block([[of_q / by, -pull / by], [speed * ahead, -speed * np.eye(len(b))]])
    return float(np.linalg.eigvals(flow).real.max())


@pytest.mark.parametrize(("rho", "stable"), [(0.58, False), (0.61, True)])
def test_unequal_steps_move_the_edge(rho: float, stable: bool) -> None:
    """Of unequal shares of anchor rows a common shift does not stay common, in visits.

    The rate of zeta is rho times 2 sum b.
    """
    visits = np.repeat(separated.state_weight(RESET), 2)
    speed = 2 * rho * separated.anchor_weight(RESET).sum()
    assert (slowest_rate(RESET, visits, speed) < 0) == stable


@pytest.mark.parametrize(
    ("choices", "rho", "rate"), [([1], 1.0, -0.6), ([1, 1], 1.0, -0.058), ([1, 1], 0.5, -0.093)]
)
def test_plain_steps_of_two_actions_are_not_the_level_s(choices, rho, rate) -> None:
    """Per anchor observation; the numbers are those of the page, to its digits."""
    sample = one_state(choices, 0.0, 0.7)
    metric = np.full(len(choices), polyak.share(sample))
    assert slowest_rate(sample, metric, 2 * rho) == pytest.approx(rate, abs=5e-4)


def test_the_level_s_best_ratio_is_not_where_it_begins_to_be_stable() -> None:
    assert descent.level((0.95, 2.0)).holds
    assert not descent.level((0.95, 2.0), best=lambda beta: 2 * beta - 1).holds


# --- the minimiser's error
def test_the_mean_squared_error_of_drawn_counts_is_v() -> None:
    """The anchor's moves are uncertain, where the claim has no exact expectation."""
    transition = np.array([[0.3, 0.7], [0.6, 0.4]])
    logits, anchor = np.array([[0.0, 0.5], [0.2, 0.0]]), np.array([0, 1])
    design = coordinates.Design(np.array([0.4, 0.6]), logits, transition, anchor, 0.9, 20_000)
    rng, star = np.random.default_rng(0), design.solution(design.policy, transition)
    rows = (design.rows * design.weight).astype(int)
    squares = []
    for _ in range(2000):
        chosen = np.array([rng.multinomial(n, p) for n, p in zip(rows, design.policy, strict=True)])
        size = chosen[[0, 1], anchor]
        ahead = np.array([rng.multinomial(n, p) for n, p in zip(size, transition, strict=True)])
        off = design.solution(chosen / rows[:, None], ahead / size[:, None]) - star
        squares.append(float(np.sum(design.weight[:, None] * design.policy * off**2)))
    mean, se = np.mean(squares), np.std(squares) / len(squares) ** 0.5
    v = coordinates._squares(design)[0]
    assert abs(design.rows * mean / v - 1) < 4 * design.rows * se / v + 0.01


# --- classes
@given(classes.rewards())
@settings(max_examples=30)
def test_the_hessian_of_a_reward_class_is_a_weighted_variance(family: classes.Rewards) -> None:
    """At any counts, any u: d2 NLL / dt2 = ut Var_pi(dQ / dt), ut = u (I - beta P_pi)^-1."""
    beta, step = family.discount, 1e-3
    v = family.value(0.0)
    q = family.reward + beta * (family.transition @ v).T
    policy = np.exp(q - v[:, None])
    flow = np.einsum("sa,ast->st", policy, family.transition)
    resolvent = np.linalg.inv(np.eye(len(v)) - beta * flow)
    way = (
        family.way + beta * (family.transition @ (resolvent @ (policy * family.way).sum(axis=1))).T
    )
    spread = (policy * way**2).sum(axis=1) - (policy * way).sum(axis=1) ** 2
    around = [family.likelihood(t) for t in (step, -step, 0.0)]
    curvature = (around[0] + around[1] - 2 * around[2]) / step**2
    bound = family.excess @ resolvent @ spread
    assert curvature == pytest.approx(bound, rel=1e-2, abs=1e-3 / (1 - beta) ** 2)


def test_the_lifted_path_begins_at_the_start() -> None:
    """V is 0 there, -8.6 at the end and -10 in the mirror image, from which it is not as far."""
    rare = fits.LinearOutputs(np.eye(2), np.array([-5.0, 0.0]))
    assert classes.network_path(fits.Fit(one_state([1, 1], -5.0), rare)).holds


# --- zeta and the level solved for
def test_with_a_shared_trunk_all_steps_stand_still_where_the_profile_has_a_slope() -> None:
    case = inner_step.standstill()
    sample, few, turn = case.sample, case.features[:, :2], case.turn[:, :2]
    slope, line, head = inner_step.along(case, few, turn)
    b, target = separated.anchor_weight(sample), polyak.zeta_at(sample, case.q)
    assert (line - target) @ (b[:, None] * few) == pytest.approx([0, 0], abs=1e-14)  # the fit
    gap = case.q[:, 0] - sample.reward - sample.discount * line
    assert b @ gap == pytest.approx(0, abs=1e-14)  # the level
    assert np.abs(under_check.descent_slope(sample, case.q, line)).max() < 1e-14  # descent
    assert np.abs(line - target).max() > 0.01
    assert sample.visits.min() > 1
    assert slope == pytest.approx(0.016, abs=5e-4)
    # the slope is that of the profile, by differences: the same class, a little turned
    step, values = 1e-4, []
    for t in (-step, step):
        h = few + t * turn
        zeta = h @ np.linalg.lstsq(b[:, None] ** 0.5 * h, b**0.5 * target, rcond=None)[0]
        values.append(under_check.objective(sample, case.q, zeta))
    assert (values[1] - values[0]) / (2 * step) == pytest.approx(slope, rel=1e-6)
    extra = 2 * sample.discount**2 * b @ ((target - line) * (turn @ head))
    assert extra == pytest.approx(slope, rel=1e-9)
