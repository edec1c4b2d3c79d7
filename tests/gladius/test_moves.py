"""Sparse tables of moves against arrays, and every method on both forms of the same data."""

import tracemalloc
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import sample
from scipy.sparse.linalg import splu

import gladius
from gladius import Transitions
from gladius.baselines.ccp import RenewalBasis, renewed
from gladius.baselines.nfxp import fit_counts
from gladius.designs.bus import BUS_REWARD
from gladius.model import resolvent
from gladius.model.mdp import TabularMDP
from gladius.model.parametric import FormBasis
from gladius.model.resolvent import Resolvent
from gladius.model.reward_form import LinearReward
from gladius.own_data import door
from gladius.own_data.results import noise as noise_module
from gladius.own_data.results.inference import FormErrors
from gladius.own_data.results.noise import Near, Noise
from gladius.panel import moves
from gladius.panel.moves import Moves
from gladius.validate import Array, InputError

ENTRIES = st.sampled_from([0.0, 0.0, 0.25, 1.0, 3.0])
NUMBERS = st.floats(-4, 4)


def sparse(table: Array, shared: Any = ()) -> Moves:
    """The form by entries, in which rows of `shared` are the first of them, stored once."""
    flat = table.reshape(-1, table.shape[-1])
    index = np.nonzero(flat)
    ends = np.append(0, np.cumsum(np.count_nonzero(flat, axis=1)))
    row = np.arange(len(flat))
    row[list(shared)] = min(shared, default=0)
    return Moves(flat[index], index[1], ends, row.reshape(table.shape[:-1]), table.shape[-1])


@settings(max_examples=50)
@given(
    arrays(float, (2, 3, 4, 4), elements=ENTRIES),
    st.sets(st.integers(0, 23), max_size=8),
    arrays(float, (2, 4, 3), elements=NUMBERS),
    arrays(float, (2, 4, 3, 2), elements=NUMBERS),
)
def test_both_forms_have_the_same_sums(table: Array, shared: Any, x: Array, weight: Array) -> None:
    if shared:
        table.reshape(-1, 4)[list(shared)] = table.reshape(-1, 4)[min(shared)]
    own = sparse(table, sorted(shared))
    assert own.shape == table.shape
    for one, other in (
        (moves.ahead(own, x), np.einsum("rast,rtm->rasm", table, x)),
        (moves.following(own, x[..., 0]), np.einsum("rast,rt->ras", table, x[..., 0])),
        (moves.arrivals(own, weight), np.einsum("rsam,rast->rtm", weight, table)),
        (moves.arrivals(own[1], weight), np.einsum("rsam,ast->rtm", weight, table[1])),
        (moves.ahead(own[0], x), np.einsum("ast,rtm->rasm", table[0], x)),
        (own[1] @ x[0], table[1] @ x[0]),
        (moves.departures(own), table.sum(axis=3)),
        (moves.dense(own[:, 1:, ::2]), table[:, 1:, ::2]),
        (
            moves.squares(own[:, 2], x[..., 0], x[..., 1]),
            np.einsum("rst,rst->r", table[:, 2], (x[:, :, None, 0] + x[:, None, :, 1]) ** 2),
        ),
    ):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    for one, other in zip(moves.entries(own)[0], np.nonzero(table), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(moves.entries(own)[1], table[np.nonzero(table)])
    both = moves.replaced(moves.stacked([own[0], own[1]]), (0, [1, 2], 3), own[1, 0, :2])
    expected = table.copy()
    expected[0, [1, 2], 3] = table[1, 0, :2]
    np.testing.assert_array_equal(moves.dense(both), expected)


@settings(max_examples=50)
@given(
    arrays(float, (3, 5, 5), elements=st.sampled_from([0.0, 0.0, 1.0, 2.0])),
    st.sets(st.integers(0, 14), max_size=8),
    arrays(float, (5, 3), elements=st.floats(0.1, 1)),
    arrays(float, (5, 2), elements=NUMBERS),
    st.floats(0.1, 0.99),
)
def test_discounted_sums_solve_the_system(
    table: Array, shared: Any, policy: Array, right: Array, beta: float
) -> None:
    """Also where rows are shared, whose means are unknowns of their own."""
    if shared:
        table.reshape(-1, 5)[list(shared)] = table.reshape(-1, 5)[min(shared)]
    table = table / np.maximum(table.sum(axis=2, keepdims=True), 1.0)
    policy = policy / policy.sum(axis=1, keepdims=True)
    system = np.eye(5) - beta * np.einsum("sa,ast->st", policy, table)
    found = Resolvent.of(policy, sparse(table, sorted(shared)), beta)
    # its condition is at most 2 / (1 - beta) = 200, the right side at most 4
    for one, matrix in ((found.solve(right), system), (found.solve_transposed(right), system.T)):
        np.testing.assert_allclose(one, np.linalg.solve(matrix, right), rtol=0, atol=1e-9)


def world(states: int = 12, seed: int = 0) -> TabularMDP:
    """A chain with moves up to two states up, and by action 1 down; some paths are long."""
    rng, x = np.random.default_rng(seed), np.arange(states)
    transition = np.zeros((2, states, states))
    for sign, table in zip((1, -1), transition, strict=True):
        for step, chance in enumerate(rng.dirichlet(np.full(3, 5.0))):
            table[x, np.clip(x + sign * step, 0, states - 1)] += chance
    reward = np.stack([-2.0 * x / states, np.full(states, -1.0)], axis=1)
    return TabularMDP(
        reward, transition, 0.9, np.full(states, 1 / states), x[:, None].astype(float)
    )


def design(states: Array) -> Array:
    table = np.zeros((len(states), 2, 2))
    table[:, 0, 0], table[:, 1, 1] = -states[:, 0], -1.0
    return table


GIVEN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -1.0, "discount": 0.9}
FORM: dict[str, Any] = {"reward": LinearReward(design)}
DATA = sample(world(), 300, 20, np.random.default_rng(1))
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "nfxp": ("nfxp", FORM),
    "ccp": ("ccp", FORM),
    "mpec": ("mpec", FORM),
    "ml_irl": ("ml_irl", FORM),
    "plug_in": ("plug_in", {}),
    "smooth": ("profiled_erm", {"function_class": "smooth"}),
    "increments": ("nfxp", FORM | {"transition": gladius.PooledIncrements()}),
}


def holed(data: Transitions) -> Transitions:
    """Without action 1 in three states, so that it borrows moves there; and with ends of paths."""
    kept = (data.actions == 0) | (data.states[:, 0] < 9)
    last = np.append(data.trajectory[1:] != data.trajectory[:-1], True)
    return Transitions(data.states, data.actions, data.next_states, data.trajectory, last).take(
        kept
    )


@pytest.mark.filterwarnings("ignore::UserWarning")  # of what is borrowed
@pytest.mark.parametrize("name", [*METHODS, *(f"{name}, holed" for name in METHODS)])
def test_every_method_has_the_same_numbers_on_both_forms(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Estimate, errors by two kinds, what the noise of frequencies moves, and a change's effect."""
    method, options = METHODS[name.removesuffix(", holed")]
    data = sample(world(), 300, 20, np.random.default_rng(1))
    if name.endswith("holed"):
        if method == "ml_irl":
            return  # which needs whole paths
        data = holed(data)
    at, found = np.arange(12.0)[:, None], list[list[Array]]()
    grid = np.arange(12.0)[:, None] + 0.75 * (name != "mpec")  # between states, and beyond
    for small in (100, 0):
        monkeypatch.setattr(moves, "SMALL", small)
        fit = gladius.fit(data, method, **GIVEN, **options)
        assert fit.diagnostics.status == "ok"
        found.append([fit.q(grid), fit.reward_function(grid)])
        found[-1] += [fit.reward_errors(at, kind) for kind in ("model", "robust")]
        if method != "plug_in" and "transition" not in options and options.get("reward"):
            shifts = [fit.shift_by_frequencies(), fit.shift_by_frequencies(is_borrowed=True)]
            found[-1] += [shift.fillna(0.0).to_numpy() for shift in shifts]
            effect = fit.counterfactual(reward={"action 0": 0.2}, draws=5)
            found[-1] += [effect[["before", "after", "se"]].to_numpy()]
    for one, other in zip(*found, strict=True):
        # the last steps of a search are a millionth of a standard error
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


LARGE = {
    "iq_learn": "an array of 24 by 24 entries is too large: .*function_class='network'",
    "clare": "an array of 24 by 24 entries is too large: CLARE's steps are Newton's",
    "profiled_erm": "an array of 12 by 12 entries is too large: take function_class='sparse'",
}


@pytest.mark.parametrize("method", LARGE)
def test_what_takes_a_square_array_says_so_where_it_is_too_large(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the pairs (s, a), the observed ones or those but the anchor's: which method takes what."""
    monkeypatch.setattr(moves, "SMALL", 0)
    monkeypatch.setattr(moves, "LARGEST_TABLE", 143)
    given = GIVEN | ({"function_class": "smooth"} if method == "profiled_erm" else {})
    with pytest.raises(InputError, match=LARGE[method]):
        gladius.fit(DATA, method, **given)
    assert gladius.fit(DATA, "airl", **GIVEN).diagnostics.status == "ok"


@pytest.mark.parametrize("name", ["airl", "airl anchored", "clare"])
def test_imitation_has_the_same_numbers_on_both_forms(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with ends of paths, and where rows of P-hat are borrowed."""
    method, _, anchored = name.partition(" ")
    options: dict[str, Any] = {"anchored": True} if anchored else {}
    for data in (DATA, holed(DATA)) if name == "airl" else (DATA,):
        found = []
        for small in (100, 0):
            monkeypatch.setattr(moves, "SMALL", small)
            fit = gladius.fit(data, method, **GIVEN, **options)
            grid = np.arange(12.0)[:, None]
            found.append([fit.q(grid), fit.reward_function(grid)])
        # the last steps of a game stop at gradients of a millionth
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def moved_along(own: Array, noise: Array) -> Array:
    """An error of P: in each row, noise from its second entry to its first."""
    other = np.zeros_like(own)
    for a, s in np.ndindex(own.shape[:2]):
        to = np.flatnonzero(own[a, s])[:2]
        if len(to) == 2:
            other[a, s, to] = [noise[a, s], -noise[a, s]]
    return other


@dataclass(frozen=True)
class Given:
    """A direction of errors, as `noise.Noise` gives them."""

    error: Array  # (A, S, S)

    def along(self, x: Array, mean: Array) -> Array:
        return np.moveaxis(moves.ahead(self.error, x), 1, 2)


NOISE = arrays(float, (2, 12), elements=st.floats(-1, 1))
RENEWAL = np.stack([world().transition[0], np.tile(np.eye(12)[0], (12, 1))])
RENEWED = sample(replace(world(), transition=RENEWAL), 100, 20, np.random.default_rng(1))


def near(fit: gladius.Results) -> Near:
    errors = FormErrors(cast(FormBasis, fit.basis), fit.q_function)
    return Near.of(errors.basis, fit.params.to_numpy(), *errors._at()[:2])


@settings(max_examples=10, deadline=None)
@given(NOISE)
def test_a_step_is_that_of_a_solution_from_scratch(noise: Array) -> None:
    """Up to the third order in the noise."""
    at = near(gladius.fit(DATA, "nfxp", **GIVEN, **FORM))
    own = at.model.transition[0]
    for size in (0.02, -0.02):
        moved = own + size * moved_along(own, noise)
        given = moved[None], at.model.design, at.model.offset, 0.9
        one_step: dict[str, Any] = {"start": at.theta[None], "max_iterations": 1}
        exact = fit_counts(at.visits[None], *given, **one_step).theta - at.theta
        gap = np.abs(at.step(moved[None]) - exact).max()
        assert gap <= 0.02 * np.abs(exact).max() + 1e-6


@pytest.mark.parametrize("method", ["nfxp", "ml_irl", "finite dependence"])
@settings(max_examples=10, deadline=None)
@given(NOISE)
def test_the_bias_is_half_the_second_derivative_of_theta(method: str, noise: Array) -> None:
    """By refits to P-hat with an error, with both signs and three sizes of it."""
    is_renewal = method == "finite dependence"
    more = {"stages": 1, "finite_dependence": True} if is_renewal else {}
    name, rows = ("ccp", RENEWED) if is_renewal else (method, DATA)
    fit = gladius.fit(rows, name, **GIVEN, **FORM, **more, check_transitions=False)
    at, basis = near(fit), fit.basis
    own = at.model.transition[0]
    error = moved_along(own, noise)

    def refit(size: float) -> Array:
        moved = (own + size * error)[None]
        if isinstance(basis, RenewalBasis):
            p_hat = replace(basis.model.p_hat, transition=moved)
            found = renewed(replace(basis.model, p_hat=p_hat), basis.policy, basis.action)
            return found.logit.theta[0]
        given = moved, at.model.design, at.model.offset, 0.9
        return fit_counts(at.visits[None], *given, start=at.theta[None], tolerance=1e-12).theta[0]

    def curvature(size: float) -> Array:
        return np.asarray((refit(size) + refit(-size) - 2 * refit(0)) / (2 * size**2))

    exact = (4 * curvature(0.01) - curvature(0.02)) / 3  # without the next term
    gap = np.abs(at.bias(cast(Noise, Given(error)))[0] - exact).max()
    assert gap <= 0.002 * np.abs(exact).max() + 1e-5


@settings(max_examples=20, deadline=None)
@given(arrays(float, 12, elements=st.floats(-4, 4)), st.sampled_from([10**6, 1, 7]))
def test_the_directions_have_the_covariance_of_frequencies(x: Array, most: int) -> None:
    """Of P-hat x, the variances are exact with a direction a move, and else in the mean."""
    fit = gladius.fit(DATA, "nfxp", **GIVEN, **FORM)
    basis = cast(FormBasis, fit.basis)
    cells = FormErrors(basis, fit.q_function)._at()[2]
    own = basis.model.transition[0]
    noise = Noise.of(cells, cells, most)
    assert noise.number == min(most, len(cells.number))
    mean = own @ x
    along = noise.along(x[None, :, None], mean[None, ..., None])[..., 0]
    expected = ((own @ x**2 - mean**2) / cells.total).T
    if most > len(cells.number):
        np.testing.assert_allclose((along**2).sum(axis=0), expected, atol=1e-9)
    else:  # a sum of squares over independent rows, less what signs leave
        assert (along**2).sum() <= 3 * expected.sum() + 1e-9
    borrowed = Noise.borrowed(replace(cells, number=np.where(cells.row == 0, 0.0, 1.0)), own)
    spread = (borrowed.each(x[None, :, None], mean[None, ..., None]) ** 2).sum()
    np.testing.assert_allclose(spread, own[0, 0] @ x**2 - mean[0, 0] ** 2, atol=1e-9)


def test_directions_are_added_until_their_signs_matter_little() -> None:
    """By 200 sets of signs: what the directions add differs at least by what signs do."""
    fit = gladius.fit(DATA, "nfxp", **GIVEN, **FORM)
    at, cells = near(fit), FormErrors(cast(FormBasis, fit.basis), fit.q_function)._at()[2]
    errors, rng = fit.bse.to_numpy(), np.random.default_rng(0)
    exact = at.bias(Noise.of(cells, cells, len(cells.number))).sum(axis=0) / errors
    noise, totals, spreads = Noise.of(cells, cells, 4), [], []
    for _ in range(200):
        sign = rng.choice([-1.0, 1.0], len(noise.scale))
        found = at.bias(replace(noise, scale=sign * noise.scale)) / errors
        totals.append(found.sum(axis=0))
        spreads.append(4 * found.var(axis=0, ddof=1))
    error = np.std(totals, axis=0)
    assert np.all(np.abs(np.mean(totals, axis=0) - exact) <= 4 * error / np.sqrt(200))
    assert np.all(np.mean(spreads, axis=0) >= 0.9 * error**2)
    assert np.all(error <= np.sqrt(2 / 4) * np.abs(exact))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise_module, "PRECISION", np.inf)
        few = at.shift(cells, cells, errors)
        np.testing.assert_allclose(few, at.bias(noise).sum(axis=0) / errors, rtol=1e-12)
        patch.setattr(noise_module, "PRECISION", 0.0)
        np.testing.assert_allclose(at.shift(cells, cells, errors), exact, rtol=1e-12)
    assert np.abs(few - exact).max() > 1e-4, "control"
    assert np.abs(at.shift(cells, cells, errors) - exact).max() <= noise_module.PRECISION


@pytest.mark.parametrize("name", ["nfxp", "ccp", "ml_irl", "plug_in", "airl"])
def test_no_fit_takes_memory_with_the_square_of_the_states(name: str) -> None:
    """An array of moves of 1,500 states and two actions takes 36 MB, and each copy as much."""
    rng, states = np.random.default_rng(0), 1_500
    state, paths, actions = rng.integers(states, size=400), [], []
    for _ in range(100):
        paths.append(state)
        actions.append(rng.integers(2, size=400))
        up = np.where(actions[-1] == 0, 1, -1) * rng.integers(4, size=400)
        state = np.clip(state + up, 0, states - 1)
    path = np.stack([*paths, state], axis=1)[..., None] / states
    data = Transitions.from_paths(path, np.stack(actions, axis=1))
    method, options = METHODS.get(name, (name, {}))
    tracemalloc.start()
    fit = gladius.fit(data, method, **GIVEN, **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fit.diagnostics.status == "ok"
    assert peak < 36e6


def test_states_that_lead_almost_anywhere_are_refused() -> None:
    """Pairs repeat 16 times, but moves do not: two dummies are drawn anew in each period."""
    data = gladius.BusEngine(dummies=2).simulate(1_000, np.random.default_rng(0))
    known: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    for method, options in (("nfxp", {"reward": BUS_REWARD}), ("plug_in", {})):
        with pytest.raises(InputError, match=r"moves \(s, a, s'\) in 100000 rows.*1\.\d rows each"):
            gladius.fit(data, method, **known, **options)


def test_the_warning_of_transitions_factors_one_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """All directions and the errors share it; a draw of P would take a solution of its own."""
    monkeypatch.setattr(moves, "SMALL", 0)
    fit = gladius.fit(holed(DATA), "nfxp", **GIVEN, **FORM, check_transitions=False)
    calls = []
    monkeypatch.setattr(resolvent, "splu", lambda system: calls.append(splu(system)) or calls[-1])
    with pytest.warns(UserWarning, match="borrow moves"):
        door._warn_of_transitions(fit, "")
    assert len(calls) == 1
