"""ML-IRL against finite differences, the weighted likelihood, Monte Carlo and known answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from gladius.baselines.ml_irl_solver import UNIDENTIFIED, Problem, derivatives, exact, one_step
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import minimize
from strategies import laws

import gladius
from gladius.anchor import Anchor
from gladius.baselines import ccp, ml_irl, nfxp
from gladius.baselines.discounted import discounted
from gladius.checks import InputError
from gladius.mdp import soft_bellman
from gladius.parametric import bus_design, make_model
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
ORACLE: dict[str, Any] = {"transition": MDP.transition, "grid": MDP.features}
DESIGN = bus_design(MDP.features)


def extra(estimate: gladius.Estimate, name: str) -> Array:
    value = estimate.diagnostics.extra[name]
    assert isinstance(value, np.ndarray)
    return value


def weighted_choices(policy: Array, horizon: int) -> tuple[Array, Array]:
    """(visits, last) of the population: sums over periods, written as a loop over periods."""
    law, visits = MDP.initial, np.zeros((20, 2))
    flow = np.einsum("sa,ast->st", policy, MDP.transition)
    for t in range(horizon):
        visits += 0.95**t * law[:, None] * policy
        law = law @ flow
    return visits, 0.95**horizon * law


def population(policy: Array, horizon: int, tail: bool = True, start: Any = (0, 0)) -> Problem:
    visits, last = weighted_choices(policy, horizon)
    entry = MDP.initial - last if tail else MDP.initial
    first = np.array([start], dtype=float)
    return Problem(
        visits[None], entry[None], MDP.transition, DESIGN, np.zeros((1, 20, 2)), 0.95, first
    )


class Model(NamedTuple):
    visits: Array
    entry: Array
    law: Array
    design: Array
    offset: Array
    beta: float


def plain_objective(theta: Array, model: Model) -> float:
    """L written plainly: value iteration state by state, nothing batched."""
    reward = model.offset + model.design @ theta
    v = np.zeros(len(model.entry))
    for _ in range(int(np.log(1e-15) / np.log(model.beta)) + 1):
        q = np.stack([r + model.beta * p @ v for r, p in zip(reward.T, model.law, strict=True)])
        v = np.log(np.exp(q - q.max(axis=0)).sum(axis=0)) + q.max(axis=0)
    return float(np.sum(model.visits * reward) - model.entry @ v)


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Small linear models; masses of entry of either sign, as a tail makes them."""
    states, actions = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    shape = (states, actions)
    quarters = st.integers(-8, 8).map(lambda n: n / 4)
    return Model(
        draw(arrays(np.float64, shape, elements=st.integers(0, 9).map(float))),
        draw(arrays(np.float64, states, elements=quarters)),
        draw(laws((actions, states, states))),
        draw(arrays(np.float64, (*shape, 2), elements=quarters)),
        draw(arrays(np.float64, shape, elements=quarters)),
        draw(st.sampled_from([0.3, 0.7])),
    )


THETAS = arrays(np.float64, 2, elements=st.integers(-6, 6).map(lambda n: n / 4))


def analytic(model: Model, theta: Array) -> tuple[Array, Array]:
    """(gradient, minus the Hessian) of L."""
    problem = Problem(
        model.visits[None],
        model.entry[None],
        model.law,
        model.design,
        model.offset[None],
        model.beta,
        theta[None],
    )
    solution = soft_bellman(problem.rewards(theta[None]), model.law, model.beta)
    slope, information, _, _ = derivatives(problem, solution.policy)
    return slope[0], information[0]


@given(models(), THETAS)
def test_gradient_is_the_finite_difference_of_the_plain_objective(
    model: Model, theta: Array
) -> None:
    slope, _ = analytic(model, theta)
    h = 1e-5
    numeric = [
        (plain_objective(theta + e, model) - plain_objective(theta - e, model)) / (2 * h)
        for e in h * np.eye(2)
    ]
    # error of the quotient: h^2 times third derivatives, plus rounding of L over h
    scale = max(1.0, float(np.abs(slope).max()), abs(plain_objective(theta, model)))
    np.testing.assert_allclose(slope, numeric, rtol=0, atol=1e-6 * scale)


@given(models(), THETAS)
def test_information_is_minus_the_finite_difference_of_the_gradient(
    model: Model, theta: Array
) -> None:
    _, information = analytic(model, theta)
    h = 1e-5
    numeric = [
        -(analytic(model, theta + e)[0] - analytic(model, theta - e)[0]) / (2 * h)
        for e in h * np.eye(2)
    ]
    scale = max(1.0, float(np.abs(information).max()))
    np.testing.assert_allclose(information, numeric, rtol=0, atol=1e-5 * scale)


def test_gradient_is_the_difference_of_two_rollouts() -> None:
    """The formula of the paper: expert's discounted features minus the policy's, step by step."""
    theta = np.array([0.7, 3.0])
    problem = population(MDP.solution.policy, 100, tail=False)
    solution = soft_bellman(problem.rewards(theta[None]), MDP.transition, 0.95)
    slope = derivatives(problem, solution.policy)[0][0]
    own, _ = weighted_choices(solution.policy[0], 1500)  # .95^1500 = 4e-34
    expected = np.einsum("sa,sak->k", problem.visits[0] - own, DESIGN)
    np.testing.assert_allclose(slope, expected, rtol=1e-9)


@pytest.mark.parametrize("horizon", [10, 100])
def test_population_returns_theta_at_any_horizon(horizon: int) -> None:
    problem = population(MDP.solution.policy, horizon)
    for found in (exact(problem, 1e-9, 100), one_step(problem, 1e-9, 500, 1.0)):
        assert found.converged[0]
        np.testing.assert_allclose(found.theta[0], [1.0, 5.0], atol=1e-7)


def test_without_a_tail_the_limit_is_not_theta() -> None:
    """Negative control and the size of the bias that the module's docstring states."""
    problem = population(MDP.solution.policy, 100, tail=False)
    found = exact(problem, 1e-9, 100)
    assert found.converged[0]
    np.testing.assert_allclose(found.theta[0], [1.068, 5.341], atol=5e-4)
    share = MDP.occupancy(100)
    error = np.abs(DESIGN @ found.theta[0] / MDP.reward - 1)
    np.testing.assert_allclose(100 * np.sum(share * error), 6.8, atol=0.05)
    # .6 % of the gradient: what the model visits after H over all that it visits
    slope = derivatives(problem, MDP.solution.policy[None])[0][0]
    whole, _ = weighted_choices(MDP.solution.policy, 1500)
    np.testing.assert_allclose(
        np.abs(slope / np.einsum("sa,sak->k", whole, DESIGN)), 0.95**100, rtol=0.05
    )
    longer = exact(population(MDP.solution.policy, 400, tail=False), 1e-9, 100)
    np.testing.assert_allclose(longer.theta[0], [1.0, 5.0], atol=1e-6)


CHOICES = arrays(np.float64, (20, 2), elements=st.integers(1, 9).map(float))


@settings(max_examples=40)
@given(CHOICES)
def test_population_of_any_expert_maximises_the_weighted_likelihood(weights: Array) -> None:
    """Also where no theta fits the expert: the two are one function, not only one maximum.

    The likelihood is not concave, so its value there is compared with that of L's maximiser.
    """
    policy = weights / weights.sum(axis=1, keepdims=True)
    problem = population(policy, 30)
    found = exact(problem, 1e-9, 200)
    assume(found.converged[0])
    # from the same start: NFXP on visits beta^t
    reward = problem.rewards(found.theta)
    s = soft_bellman(reward, MDP.transition, 0.95)
    slope, hessian, _, _ = nfxp.derivatives(problem.visits, MDP.transition, DESIGN, s.q, s.v, 0.95)
    scale = np.sqrt(np.diagonal(found.information[0]))
    assert np.all(np.abs(slope[0]) <= 1e-6 * scale)
    np.testing.assert_allclose(-hessian[0], found.information[0], rtol=1e-6, atol=1e-9)
    likelihood = np.sum(problem.visits * np.log(s.policy))
    np.testing.assert_allclose(found.objective[0], likelihood, rtol=1e-9)


def test_discounted_frequencies_make_it_the_weighted_likelihood_of_the_sample() -> None:
    """L telescopes exactly where P-hat weighs each move by beta^t; with another law it does not."""
    data = BUS.simulate(20, np.random.default_rng(0))
    paths = discounted([data], MDP.features, 0.95)
    moves = np.zeros((2, 20, 20))
    period = np.tile(np.arange(100), 20)
    at, to = (z[:, 0].astype(int) - 1 for z in (data.states, data.next_states))
    np.add.at(moves, (data.actions, at, to), 0.95**period)
    total = moves.sum(axis=2, keepdims=True)
    own = np.where(total > 0, moves / np.where(total > 0, total, 1.0), MDP.transition)

    def both(law: Array) -> tuple[Array, Array]:
        problem = Problem(
            paths.visits,
            paths.first - paths.last,
            law,
            DESIGN,
            np.zeros((1, 20, 2)),
            0.95,
            np.zeros((1, 2)),
        )
        ours = exact(problem, 1e-10, 100)
        theirs = nfxp.fit_counts(paths.visits, law, DESIGN, np.zeros((20, 2)), 0.95)
        assert ours.converged[0]
        assert theirs.converged[0]
        return ours.theta[0], theirs.theta[0]

    np.testing.assert_allclose(*both(own), atol=1e-7)
    ours, theirs = both(MDP.transition)
    assert np.max(np.abs(ours - theirs)) > 1e-3


def test_it_is_not_nfxp_on_a_sample_though_both_are_near_the_truth() -> None:
    data = BUS.simulate(2000, np.random.default_rng(1))
    found = ml_irl.fit([data], ANCHOR, 0.95, **ORACLE)[0]
    rust = nfxp.fit([data], ANCHOR, 0.95, **ORACLE)[0]
    ours, theirs = extra(found, "theta"), extra(rust, "theta")
    assert np.max(np.abs(ours - theirs)) > 1e-4
    assert np.all(np.abs(ours - [1.0, 5.0]) <= 4 * extra(found, "se"))
    assert np.all(extra(found, "se") > 1.5 * extra(rust, "se"))  # a path counts as 20 periods
    assert found.diagnostics.converged
    assert rust.diagnostics.converged


def test_standard_errors_are_the_spread_over_samples() -> None:
    data = BUS.simulate(50, [np.random.default_rng([4, i]) for i in range(300)])
    found = ml_irl.fit(data, ANCHOR, 0.95, **ORACLE)
    assert all(one.diagnostics.converged for one in found)
    theta = np.stack([extra(one, "theta") for one in found])
    se = np.stack([extra(one, "se") for one in found])
    # 300 draws: 4 % on the sd, and a sandwich of 50 paths is a little small
    np.testing.assert_allclose(theta.std(axis=0) / se.mean(axis=0), 1.0, atol=0.2)
    inside = np.mean(np.abs(theta - [1.0, 5.0]) <= 1.96 * se, axis=0)
    assert np.all(np.abs(inside - 0.95) <= 4 * np.sqrt(0.95 * 0.05 / 300) + 0.02)


@pytest.mark.parametrize("options", [{}, ORACLE, {"theta_1_given": True}, {"penalty": 1.0}])
def test_alternation_and_exact_solves_meet(options: dict[str, Any]) -> None:
    data = BUS.simulate(50, [np.random.default_rng([5, i]) for i in range(3)])
    nested = ml_irl.fit(data, ANCHOR, 0.95, **options)
    for one, other in zip(
        nested, ml_irl.fit(data, ANCHOR, 0.95, inner="one_step", **options), strict=True
    ):
        np.testing.assert_allclose(extra(one, "theta"), extra(other, "theta"), atol=1e-6)
        np.testing.assert_allclose(extra(one, "se"), extra(other, "se"), rtol=1e-5)
        assert one.diagnostics.status == other.diagnostics.status == "ok"
        assert other.diagnostics.extra["inner_iterations"] == other.diagnostics.iterations + 1
        inner = one.diagnostics.extra["inner_iterations"]
        assert isinstance(inner, int)
        assert inner > one.diagnostics.iterations


@pytest.mark.parametrize("inner", ["exact", "one_step"])
def test_the_start_does_not_matter(inner: str) -> None:
    data = BUS.simulate(50, np.random.default_rng(6))
    best = extra(ml_irl.fit([data], ANCHOR, 0.95)[0], "theta")
    starts = np.random.default_rng(7).normal(0, 10, (20, 2))
    found = ml_irl.fit([data] * 20, ANCHOR, 0.95, inner=inner, start=starts)
    for one in found:
        assert one.diagnostics.converged
        np.testing.assert_allclose(extra(one, "theta"), best, atol=1e-6)


def test_the_penalty_moves_theta_and_not_the_read_off() -> None:
    data = BUS.simulate(50, np.random.default_rng(8))
    plain, shy = (ml_irl.fit([data], ANCHOR, 0.95, penalty=p)[0] for p in (0.0, 2.0))
    assert np.max(np.abs(extra(plain, "theta") - extra(shy, "theta"))) > 1e-2
    for one in (plain, shy):
        theta, x = extra(one, "theta"), np.array([[1.0], [4.0]])
        np.testing.assert_allclose(one.reward_function(x)[:, 0], -theta[0] * x[:, 0])
        np.testing.assert_allclose(one.reward_function(x)[:, 1], -theta[1])


def test_the_maximum_with_a_penalty_is_that_of_an_independent_optimiser() -> None:
    data = BUS.simulate(30, np.random.default_rng(9))
    grid = np.unique(np.concatenate([data.states, data.next_states]))
    at, to = (np.searchsorted(grid, z[:, 0]) for z in (data.states, data.next_states))
    n = np.zeros((2, len(grid), len(grid)))
    np.add.at(n, (data.actions, at, to), 1.0)
    assume_seen = n.sum(axis=2) > 0
    model = make_model([data], ANCHOR, 0.95)  # for the rows never seen
    law = np.where(
        assume_seen[..., None], n / np.maximum(n.sum(axis=2), 1)[..., None], model.law[0]
    )
    visits, entry = np.zeros((len(grid), 2)), np.zeros(len(grid))
    for path in range(30):
        rows = np.flatnonzero(data.trajectory == path)
        entry[at[rows[0]]] += 1 / 30
        entry[to[rows[-1]]] -= 0.95**100 / 30
        for t, row in enumerate(rows):
            visits[at[row], data.actions[row]] += 0.95**t / 30
    shy = -2.0 / np.sqrt(1 + n.sum(axis=2).T)
    plain = Model(visits, entry, law, bus_design(grid[:, None]), shy, 0.95)
    best = minimize(lambda theta: -plain_objective(theta, plain), [1.0, 5.0], method="BFGS")
    found = ml_irl.fit([data], ANCHOR, 0.95, penalty=2.0)[0]
    np.testing.assert_allclose(extra(found, "theta"), best.x, atol=1e-3)
    objective = found.diagnostics.extra["objective"]
    assert isinstance(objective, float)
    np.testing.assert_allclose(objective * visits.sum(), best.fun, rtol=1e-8)


@pytest.mark.parametrize("options", [{}, ORACLE])
def test_finite_dependence_is_the_ccp_estimator_and_not_ml_irl(options: dict[str, Any]) -> None:
    data = BUS.simulate(50, [np.random.default_rng([10, i]) for i in range(2)])
    short = ml_irl.fit(data, ANCHOR, 0.95, inner="finite_dependence", **options)
    same = ccp.fit(data, ANCHOR, 0.95, finite_dependence=True, **options)
    proper = ml_irl.fit(data, ANCHOR, 0.95, **options)
    for one, two, three in zip(short, same, proper, strict=True):
        assert one.method == "ml_irl[finite_dependence]"
        np.testing.assert_array_equal(extra(one, "theta"), extra(two, "theta"))
        assert np.max(np.abs(extra(one, "theta") - extra(three, "theta"))) > 1e-3


def test_finite_dependence_at_the_population_returns_theta() -> None:
    """Independent logit: ln p1/p0 = th0 x - th1 + b {E_0[ln p1(x')] - ln p1(1)}."""
    log_p = np.log(MDP.solution.policy)
    offset = 0.95 * (MDP.transition[0] @ log_p[:, 1] - log_p[0, 1])
    left = log_p[:, 1] - log_p[:, 0] - offset
    x = np.stack([MDP.features[:, 0], -np.ones(20)], axis=1)
    np.testing.assert_allclose(np.linalg.lstsq(x, left, rcond=None)[0], [1.0, 5.0], atol=1e-10)
    data = BUS.simulate(1000, np.random.default_rng(11))
    found = ml_irl.fit([data], ANCHOR, 0.95, inner="finite_dependence", **ORACLE)[0]
    assert np.all(np.abs(extra(found, "theta") - [1.0, 5.0]) <= 4 * extra(found, "se"))


@pytest.mark.parametrize("inner", ml_irl.INNER)
def test_replications_together_are_as_alone(inner: str) -> None:
    data = BUS.simulate(8, [np.random.default_rng([8, i]) for i in range(5)])
    reached = {len(np.unique(np.concatenate([d.states, d.next_states]))) for d in data}
    assert len(reached) > 1, "the data sets must differ in their grids for this test to bite"
    together = ml_irl.fit(data, ANCHOR, 0.95, inner=inner)
    for one, batch in zip(data, together, strict=True):
        alone = ml_irl.fit([one], ANCHOR, 0.95, inner=inner)[0]
        np.testing.assert_allclose(
            batch.reward_function(one.states), alone.reward_function(one.states), atol=1e-7
        )
        np.testing.assert_allclose(batch.q(one.states), alone.q(one.states), atol=1e-7)
        assert batch.diagnostics.converged == alone.diagnostics.converged


def test_the_estimate_solves_its_own_bellman_equation_without_the_penalty() -> None:
    data = BUS.simulate(30, np.random.default_rng(3))
    estimate = ml_irl.fit([data], ANCHOR, 0.95, **ORACLE)[0]
    v = np.log(np.exp(estimate.q(MDP.features)).sum(axis=1))
    expected = estimate.reward_function(MDP.features) + 0.95 * (MDP.transition @ v).T
    np.testing.assert_allclose(estimate.q(MDP.features), expected, atol=1e-9)


PATHS = st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=6), min_size=1, max_size=4)


@given(PATHS, st.lists(st.booleans(), min_size=4, max_size=4), st.randoms(use_true_random=False))
def test_discounted_sums_are_those_of_a_plain_loop(
    paths: list[list[int]], over: list[bool], random: Any
) -> None:
    visits, first, last = np.zeros((4, 2)), np.zeros(4), np.zeros(4)
    rows, sums = [], []
    for i, path in enumerate(paths):
        total = 0.0
        for t in range(len(path) - 1):
            action = (path[t] + t + i) % 2
            ended = over[i] and t == len(path) - 2
            rows.append((path[t], action, path[t + 1], i, ended))
            visits[path[t], action] += 0.5**t
            total += 0.5**t * (path[t] + 10 * action)
        first[path[0]] += 1
        last[path[-1]] += 0.0 if over[i] else 0.5 ** (len(path) - 1)
        sums.append(total)
    labels = [f"path {i}" for i in random.sample(range(9), len(paths))]
    grid = np.arange(4.0)[:, None]
    data = Transitions(
        np.array([[float(r[0])] for r in rows]),
        np.array([r[1] for r in rows]),
        np.array([[float(r[2])] for r in rows]),
        np.array([labels[r[3]] for r in rows]),
        np.array([r[4] for r in rows]),
        2,
    )
    table = (grid + 10 * np.arange(2.0))[..., None]
    found = discounted([data], grid, 0.5, table)
    np.testing.assert_allclose(found.visits[0], visits / len(paths))
    np.testing.assert_allclose(found.first[0], first / len(paths))
    np.testing.assert_allclose(found.last[0], last / len(paths))
    np.testing.assert_allclose(np.sort(found.ends[0].sums[:, 0]), np.sort(sums))
    np.testing.assert_allclose(found.ends[0].weight.sum(), last.sum())


def test_interleaved_trajectories_and_paths_after_an_end() -> None:
    x = np.array([[1.0], [5.0], [2.0], [6.0], [1.0], [7.0]])
    after = np.array([[2.0], [6.0], [3.0], [7.0], [2.0], [5.0]])
    done = np.array([False, False, True, False, False, False])
    data = Transitions(x, np.zeros(6, int), after, np.array([0, 1, 0, 1, 0, 1]), done, 2)
    found = discounted([data], np.arange(1.0, 8.0)[:, None], 0.5)
    assert len(found.ends[0].first) == 3  # trajectory 0 starts anew after its end
    np.testing.assert_allclose(found.visits[0, :, 0] * 3, [2.0, 0.5, 0, 0, 1.0, 0.5, 0.25])
    np.testing.assert_allclose(found.last[0] * 3, [0, 0.5, 0, 0, 0.125, 0, 0])


def test_rows_that_are_no_path_are_refused() -> None:
    data = BUS.simulate(4, np.random.default_rng(5))
    shuffled = data.take(np.random.default_rng(0).permutation(len(data)))
    with pytest.raises(InputError) as caught:
        ml_irl.fit([shuffled], ANCHOR, 0.95)
    assert caught.value.field == "trajectory"


def test_no_maximum_is_not_called_convergence() -> None:
    """An expert that never replaces: theta_1 runs off while its gradient vanishes."""
    problem = population(np.tile([1.0, 0.0], (20, 1)), 100)
    for found in (exact(problem, 1e-9, 60), one_step(problem, 1e-9, 60, 1.0)):
        assert not found.converged[0]
        assert found.status == ("not_converged",)


def test_a_parameter_without_effect_is_reported() -> None:
    twice = lambda states: np.concatenate([bus_design(states)] * 2, axis=2)  # noqa: E731
    found = ml_irl.fit([BUS.simulate(9, np.random.default_rng(0))], ANCHOR, 0.95, design=twice)[0]
    assert found.diagnostics.status == UNIDENTIFIED
    assert not found.diagnostics.converged


def test_too_few_steps_are_not_convergence() -> None:
    data = BUS.simulate(9, np.random.default_rng(0))
    for inner in ("exact", "one_step"):
        found = ml_irl.fit([data], ANCHOR, 0.95, inner=inner, max_iterations=3)[0]
        assert found.diagnostics.status == "not_converged"
        assert found.diagnostics.iterations == 3
        assert np.all(np.isnan(extra(found, "se")))


@pytest.mark.parametrize(("tail", "horizon"), [("model", 40), ("none", 100)])
def test_the_covariance_is_that_of_the_paths_own_finite_differences(
    tail: str, horizon: int
) -> None:
    """L path by path, each V by plain value iteration; beta^40 = .13, so that the tail weighs."""
    data = BusEngine(horizon=horizon).simulate(15, np.random.default_rng(8))
    ended = np.zeros((15, horizon), dtype=bool)
    ended[:3, -1] = tail == "model"  # these paths end with their last row: no tail
    data = replace(data, done=ended.ravel())
    law = MDP.transition * (0.999 if tail == "model" else 1.0)  # it knows of ends where some end
    found = ml_irl.fit([data], ANCHOR, 0.95, tail=tail, transition=law, grid=MDP.features)[0]
    assert found.diagnostics.converged
    at, to = (z[:, 0].astype(int).reshape(15, -1) - 1 for z in (data.states, data.next_states))
    actions = data.actions.reshape(15, -1)

    def objective(theta: Array) -> Array:
        reward, v = DESIGN @ theta, np.zeros(20)
        for _ in range(700):
            q = reward + 0.95 * np.stack([p @ v for p in law], axis=1)
            v = np.logaddexp(q[:, 0], q[:, 1])
        own = reward[at, actions] @ 0.95 ** np.arange(horizon) - v[at[:, 0]]
        rest = 0.95**horizon * v[to[:, -1]] * ~ended[:, -1]
        return np.asarray(own + rest if tail == "model" else own)

    theta, h = extra(found, "theta"), 1e-3
    steps = h * np.eye(2)
    scores = np.stack([objective(theta + e) - objective(theta - e) for e in steps], axis=1)
    scores = scores / (2 * h)
    hessian = [
        [
            np.mean(
                objective(theta + d + e)
                - objective(theta + d - e)
                - objective(theta - d + e)
                + objective(theta - d - e)
            )
            for e in steps
        ]
        for d in steps
    ]
    bread = np.linalg.inv(-np.array(hessian) / (4 * h**2))
    expected = bread @ (scores.T @ scores) @ bread / 15**2
    # h^2 times third derivatives of V
    np.testing.assert_allclose(extra(found, "covariance"), expected, rtol=1e-4)


def test_as_many_paths_as_parameters_have_no_standard_errors() -> None:
    found = ml_irl.fit([BUS.simulate(2, np.random.default_rng(0))], ANCHOR, 0.95)[0]
    assert found.diagnostics.converged
    assert np.all(np.isnan(extra(found, "se")))


DATA = BUS.simulate(4, np.random.default_rng(5))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"inner": "twice"}, "inner"),
        ({"tail": "cut"}, "tail"),
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": 1.0, **ORACLE}, "penalty"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": 2.0}, "learning_rate"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"start": np.zeros(3)}, "start"),
        ({"start": np.array([0.0, np.nan])}, "start[1]"),
        ({"grid": MDP.features}, "transition"),
        ({"inner": "finite_dependence", "penalty": 1.0}, "penalty"),
        ({"inner": "finite_dependence", "tail": "none"}, "tail"),
        ({"inner": "finite_dependence", "start": np.zeros(2)}, "start"),
        ({"inner": "finite_dependence", "learning_rate": 0.5}, "learning_rate"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        ml_irl.fit([DATA], ANCHOR, 0.95, **options)
    assert caught.value.field == field
