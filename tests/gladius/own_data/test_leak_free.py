"""The leak-free estimator: the minimiser it claims to be, blind to the truth, and consistent."""

import numpy as np
import pytest
from bus_engine import KNOWN
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

import gladius
from gladius import BusEngine, Transitions
from gladius.model.frequencies import empirical_transition_probabilities
from gladius.model.risk import grouped_risk
from gladius.own_data.erm.estimator import fit_counts
from gladius.own_data.erm.smooth import PENALTIES, Problem, fit_smooth, roughness_rows
from gladius.own_data.results.inference import FreeErrors
from gladius.panel.anchor import Anchor
from gladius.panel.record import Counts, group

BETA = 0.9


def three_actions(seed):
    """Counts of five states and three actions, every pair visited, from no world in particular."""
    rng = np.random.default_rng(seed)
    visits = rng.integers(3, 40, (1, 5, 3)).astype(float)
    moves = np.zeros((1, 3, 5, 5))
    for a in range(3):
        for s in range(5):
            moves[0, a, s] = rng.multinomial(int(visits[0, s, a]), rng.dirichlet(np.ones(5)))
    return Counts(np.arange(5.0)[:, None], visits, moves)


def problem_of(counts, anchor, reward, discount=BETA):
    p_hat = empirical_transition_probabilities(counts)
    return Problem(counts, p_hat, Anchor(anchor, lambda states: reward), discount)


def second_difference(eta):
    return eta[:-2] - 2 * eta[1:-1] + eta[2:]


def by_scipy(counts, anchor, reward, penalty):
    """min NLL + penalty/2 ||D2 r||^2 over log-odds, V from the anchor's equation, by BFGS."""
    visits, law = counts.visits[0], counts.moves[0] / counts.visits[0].T[:, :, None]
    free = [a for a in range(3) if a != anchor]
    resolvent = np.linalg.inv(np.eye(5) - BETA * law[anchor])

    def solve(flat):
        odds = np.zeros((5, 3))
        odds[:, free] = flat.reshape(2, 5).T
        log_policy = odds - logsumexp(odds, axis=1, keepdims=True)
        v = resolvent @ (reward - log_policy[:, anchor])
        table = log_policy + v[:, None] - BETA * np.stack([law[a] @ v for a in range(3)], axis=1)
        return table, log_policy

    def objective(flat):
        table, log_policy = solve(flat)
        rough = sum(np.sum(second_difference(table[:, a]) ** 2) for a in free)
        return -np.sum(visits * log_policy) + 0.5 * penalty * rough

    found = minimize(objective, np.zeros(10), method="BFGS", options={"gtol": 1e-5})
    return solve(found.x)[0], found.fun


@pytest.mark.parametrize("penalty", [0.1, 30.0])
@pytest.mark.parametrize("anchor", [0, 2])
def test_smooth_is_the_minimiser_an_independent_solver_finds(penalty, anchor):
    counts = three_actions(1)
    reward = np.linspace(-1, 1, 5)
    ours = fit_smooth(problem_of(counts, anchor, reward), np.array([penalty]))
    table, value = by_scipy(counts, anchor, reward, penalty)
    rough = np.sum((roughness_rows(counts)[0] @ ours.tables.reward[0]) ** 2, axis=0)
    rough[anchor] = 0.0  # the given reward is not penalised
    nll = grouped_risk(ours.tables.q, counts, anchor, reward, BETA).nll * counts.size
    np.testing.assert_allclose(nll[0] + 0.5 * penalty * rough.sum(), value, atol=1e-6)
    np.testing.assert_allclose(ours.tables.reward[0], table, atol=1e-3)


def test_without_penalty_it_minimises_the_papers_risk():
    """No Q found by SciPy on the printed R_emp (zeta exact) lies lower; the minimisers agree."""
    counts = three_actions(3)
    reward = np.linspace(0, 1, 5)
    ours = fit_smooth(problem_of(counts, 0, reward), np.array([1e-7]))
    lowest = grouped_risk(ours.tables.q, counts, 0, reward, BETA).total()[0]

    def printed(flat):
        return grouped_risk(flat.reshape(1, 5, 3), counts, 0, reward, BETA).total()[0]

    found = minimize(printed, np.zeros(15), method="BFGS", options={"gtol": 1e-9})
    assert abs(lowest - found.fun) < 1e-7
    np.testing.assert_allclose(found.x.reshape(5, 3), ours.tables.q[0], atol=0.02)


def test_population_counts_give_the_truth():
    world = BusEngine(max_mileage=8)
    law = world.mdp.occupancy(100)
    visits = 1e9 * law[None]
    moves = np.swapaxes(visits, 1, 2)[..., None] * world.mdp.transition
    counts = Counts(world.mdp.features, visits, moves)
    estimate = fit_counts(counts, Anchor(1, -5.0), 0.95)[0]
    at = world.mdp.features[:6]
    np.testing.assert_allclose(estimate.reward(at, 0), world.mdp.reward[:6, 0], atol=2e-3)
    np.testing.assert_allclose(estimate.q(at), world.mdp.solution.q[:6], atol=2e-2)


def test_truth_replaced_by_nan_changes_nothing():
    world = BusEngine()
    data = world.simulate(40, np.random.default_rng(1))
    before = gladius.fit(data, **KNOWN)
    for table in (world.mdp.reward, world.mdp.transition, world.mdp.solution.q):
        table[...] = np.nan
    after = gladius.fit(data, **KNOWN)
    at = np.arange(1.0, 15.0)[:, None]
    np.testing.assert_array_equal(before.reward_function(at), after.reward_function(at))
    np.testing.assert_array_equal(before.q(at), after.q(at))


def minus_two_log_integral(counts, penalty):
    """-2 log of the integral of exp(-NLL - penalty/2 sum ||D2 r_b||^2) over the free rewards.

    By Laplace's method with a numerical Hessian, V by value iteration; three states, anchor 1.
    """
    problem = problem_of(counts, 1, np.zeros(3))
    transition = problem.p_hat.transition[0]
    smooth = fit_smooth(problem, np.array([penalty]))
    free = [a for a in range(counts.visits.shape[2]) if a != 1]
    mode = smooth.tables.reward[0][:, free].T.ravel()
    table = np.zeros((1, 3, len(free) + 1))

    def minus_log(eta):
        rewards = np.repeat(table, len(eta), axis=0)
        rewards[:, :, free] = np.swapaxes(eta.reshape(len(eta), -1, 3), 1, 2)
        v = np.zeros((len(eta), 3))
        for _ in range(300):
            q = rewards + BETA * np.einsum("ast,rt->rsa", transition, v)
            v = np.logaddexp.reduce(q, axis=2)
        nll = np.sum(counts.visits[0] * (v[..., None] - q), axis=(1, 2))
        return nll + 0.5 * penalty * np.sum(np.diff(rewards, 2, axis=1) ** 2, axis=(1, 2))

    h, size = 1e-3, len(mode)
    first, second = (h * np.eye(size)[index] for index in np.indices((size, size)).reshape(2, -1))
    corners = [minus_log(mode + a * first + b * second) for a in (1, -1) for b in (1, -1)]
    up, across, back, down = np.reshape(corners, (4, size, size))
    hessian = (up - across - back + down) / (4 * h * h)
    rank = len(free)  # of the roughness: one second difference of each reward
    log_integral = np.linalg.slogdet(hessian)[1] - rank * np.log(penalty)
    return 2 * minus_log(mode[None])[0] + log_integral, smooth.reml[0]


@pytest.mark.parametrize("actions", [2, 3])
def test_reml_is_the_restricted_likelihood(actions):
    """Differences of the criterion over lambda against Laplace's method from the outside."""
    rng = np.random.default_rng(8)
    visits = rng.integers(60, 200, (1, 3, actions)).astype(float)
    moves = [
        [rng.multinomial(int(visits[0, s, a]), [0.2, 0.3, 0.5]) for s in range(3)]
        for a in range(actions)
    ]
    counts = Counts(np.arange(3.0)[:, None], visits, np.array([moves], dtype=float))
    pairs = [minus_two_log_integral(counts, penalty) for penalty in (0.3, 3.0, 30.0)]
    exact, ours = (np.array(x) for x in zip(*pairs, strict=True))
    np.testing.assert_allclose(np.diff(ours), np.diff(exact), atol=3e-3)
    assert np.ptp(np.diff(exact)) > 0.1  # the criterion moves by far more than the tolerance


@pytest.mark.parametrize("penalty", [1.0, 30.0])
def test_effective_degrees_of_freedom_are_those_of_the_table_of_influences(penalty, hold_lambda):
    """p - lambda tr(H^-1 D2'D2) over the free rewards: there H is computed by another formula."""
    counts, anchor = three_actions(1), Anchor(0, 0.0)
    hold_lambda(penalty)
    (estimate,) = fit_counts(counts, anchor, BETA)
    table = FreeErrors(estimate.basis).table()
    roughness = np.kron(np.eye(2), np.diff(np.eye(5), 2, axis=0))
    expected = 10 - penalty * np.trace(roughness @ table.inverse @ roughness.T)
    assert 4.5 < expected < 9.5  # 4 at two lines, 10 without a penalty
    # a ridge of 1e-8 is on the ends too
    assert estimate.diagnostics.extra["freedom"] == pytest.approx(expected, abs=1e-6)


def test_lambda_is_chosen_as_stated():
    """The lowest REML on the path, a decade lower; the affine end unless REML gains 2.71.

    Intervals take the least lambda whose REML is within 2.71 of the lowest, a decade lower.
    """
    curved = BusEngine(maintenance=lambda x: -0.25 * x**1.7)
    data = [world.simulate(200, np.random.default_rng(4)) for world in (curved, BusEngine())]
    chosen = []
    for one in data:
        counts = group(one)
        problem = problem_of(counts, 1, np.full(len(counts.states), -5.0), 0.95)

        def criterion(penalty, problem=problem):
            return fit_smooth(problem, np.array([penalty])).reml[0]

        path = np.array([criterion(penalty) for penalty in PENALTIES])
        best = int(np.argmin(path))
        stays = path[best] >= path[0] - 2.71
        chosen.append((stays, PENALTIES[0] if stays else PENALTIES[best] / 10))
        found = fit_smooth(problem)
        np.testing.assert_allclose(found.penalty[0], chosen[-1][1])
        near = PENALTIES[path <= path[best] + 2.71]
        assert near.min() < near.max()
        np.testing.assert_allclose(found.interval_penalty[0], near.min() / 10)
    assert [stays for stays, _ in chosen] == [False, True]


@pytest.mark.parametrize("code", [9999.0, 1e5, pytest.param(1e12, marks=pytest.mark.deep)])
def test_a_missing_value_code_does_not_pass_for_a_fit(code):
    """One state of 9999's kind stretches the grid: it is reported, and no fit that is worse than
    chance is `ok`."""
    data = BusEngine().simulate(48, np.random.default_rng(0))
    states = data.states.copy()
    states[0] = code
    spoilt = Transitions(states, data.actions, data.next_states, data.trajectory)
    with np.errstate(all="ignore"), pytest.warns(UserWarning, match="if it is a code"):
        found = gladius.fit(spoilt, **KNOWN).diagnostics
    clean = gladius.fit(data, **KNOWN).diagnostics
    assert clean.converged
    assert found.status == "not_converged" or found.nll < clean.nll + 0.02


def test_several_features_take_pseudo_counts_in_place_of_a_roughness():
    """Next states ignore the choice, so r is the log-odds; nothing is smoothed, and it says so."""
    rng = np.random.default_rng(2)
    states = rng.integers(0, 3, (4000, 2)).astype(float)
    odds = 1 / (1 + np.exp(states[:, 0] - states[:, 1]))
    actions = (rng.random(4000) < odds).astype(int)
    after = np.concatenate([rng.integers(0, 3, (3999, 2)), [[7, 7]]]).astype(float)
    data = Transitions(states, actions, after)
    estimate = gladius.fit(
        data, anchor_action=0, anchor_reward=0.0, discount=0.5, function_class="smooth"
    )
    assert estimate.diagnostics.converged
    assert not estimate.diagnostics.extra["smoothed"]
    grid = np.array([[i, j] for i in range(3) for j in range(3)], dtype=float)
    visits = np.array(
        [[np.sum(actions[np.all(states == s, axis=1)] == a) for a in (0, 1)] for s in grid]
    )
    exact = np.log(visits[:, 1] + 0.5) - np.log(visits[:, 0] + 0.5)
    np.testing.assert_allclose(np.diff(estimate.q(grid), axis=1)[:, 0], exact, atol=1e-10)
    assert np.max(np.abs(estimate.reward(grid, 1) - (grid[:, 1] - grid[:, 0]))) < 0.4


def test_two_states_are_a_table():
    rng = np.random.default_rng(0)
    states = rng.integers(0, 2, 100).astype(float)
    data = Transitions(states, rng.integers(0, 2, 100), np.roll(states, -1))
    diagnostics = gladius.fit(data, anchor_action=0, anchor_reward=0.0, discount=0.5).diagnostics
    assert diagnostics.status == "ok"
    assert diagnostics.extra["penalty"] == 0.0


GAPS = arrays(np.float64, st.integers(2, 8), elements=st.floats(0.1, 10.0))


def counts_at(x: NDArray[np.float64], present: NDArray[np.bool_]) -> Counts:
    visits = present[:, :, None] * np.ones(2)
    return Counts(x[:, None], visits, np.zeros((len(present), 2, len(x), len(x))))


@given(GAPS, st.floats(0.01, 100.0))
def test_it_is_the_second_derivative_of_a_parabola_on_an_uneven_grid(
    gaps: NDArray[np.float64], unit: float
) -> None:
    """In units of the mean spacing: 2 at every inner state, and 0 for a line and at the ends."""
    x = unit * np.concatenate([[0.0], np.cumsum(gaps)])
    (rows,) = roughness_rows(counts_at(x, np.ones((1, len(x)), dtype=bool)))
    u = x / np.mean(np.diff(x))
    inner = np.r_[0.0, np.full(len(x) - 2, 2.0), 0.0]
    scale = np.abs(rows).max() * u[-1] ** 2
    np.testing.assert_allclose(rows @ u**2, inner, atol=1e-12 * scale)
    np.testing.assert_allclose(rows @ (3 * u - 1), 0.0, atol=1e-12 * scale)


def test_states_that_a_replication_never_saw_are_skipped() -> None:
    x = np.array([0.0, 1.0, 3.0, 4.0, 9.0])
    present = np.array([[True] * 5, [True, False, True, True, True]])
    rows = roughness_rows(counts_at(x, present))[1]
    alone = roughness_rows(counts_at(x[present[1]], np.ones((1, 4), dtype=bool)))[0]
    np.testing.assert_allclose(rows[np.ix_(present[1], present[1])], alone)
    assert not rows[1].any()
    assert not rows[:, 1].any()
