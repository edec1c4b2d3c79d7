"""Choice sets, against value iteration and formulas written out here with masks."""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from designs import DESIGNS, exits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import expit

import gladius
from gladius import METHODS, InputError, KnownTransitions, LinearReward, Results, Transitions
from gladius.baselines.ccp import within
from gladius.model.choice_sets import (
    TAKERS,
    ChoiceSets,
    sets_of,
    with_choice_sets,
)
from gladius.model.reward_form import FORBIDDEN
from gladius.own_data.erm.anchor_path import share_without_anchor
from gladius.own_data.erm.indexed import Indexed
from gladius.own_data.erm.observations.features import Inputs, Rows, make_features
from gladius.own_data.erm.observations.risk import ObservationRisk
from gladius.own_data.erm.observations.selection import make_zeta
from gladius.own_data.erm.rarity import chances
from gladius.own_data.markov import check_markov
from gladius.own_data.results.inference import FreeErrors
from gladius.panel.anchor import Anchor

Array = NDArray[np.float64]
SIZE, BETA, ANCHOR = 10, 0.9, 2
X = np.arange(float(SIZE))
GRID = X[:, None]
TRUE = np.stack([-0.3 * X, -1 - 0.1 * X, np.full(SIZE, -3.0)], axis=1)
WEAR = np.array([0.3, 0.5, 0.2])  # of 0, 1, 2 more


def moves() -> Array:
    """(A, S, S): action 0 keeps the stock, 1 lowers it by two first, 2 resets it."""
    found = np.zeros((3, SIZE, SIZE))
    for s in range(SIZE):
        for a, start in enumerate((s, max(s - 2, 0), 0)):
            for step, chance in enumerate(WEAR):
                found[a, s, min(start + step, SIZE - 1)] += chance
    return found


P = moves()


def some(states: Array) -> Array:
    """Action 1 needs a stock of two; the anchor is always there."""
    x = np.asarray(states)[:, 0]
    return np.stack([np.ones(len(x)), x >= 2, np.ones(len(x))], axis=1)


def few(states: Array) -> Array:
    """The anchor needs a stock of three, so that it is missing where it leads."""
    x = np.asarray(states)[:, 0]
    return np.stack([x < 8, x >= 2, x >= 3], axis=1).astype(float)


def every(states: Array) -> Array:
    return np.ones((len(states), 3))


def solved(reward: Array, is_open: Array, chances: Array = P) -> tuple[Array, Array]:
    """(log pi, V) by value iteration in which only the set's actions are summed over."""
    v = np.zeros(len(reward))
    for _ in range(600):
        q = reward + BETA * np.stack([chance @ v for chance in chances], axis=1)
        v = np.array(
            [
                np.log(sum(np.exp(x) for x in row[mask]))
                for row, mask in zip(q, is_open, strict=True)
            ]
        )
    return np.where(is_open, q - v[:, None], -np.inf), v


@cache
def paths(sets: Callable[[Array], Array], number: int = 400, seed: int = 0) -> Transitions:
    rng = np.random.default_rng(seed)
    policy = np.exp(solved(TRUE, sets(GRID) > 0)[0])
    states, actions = [rng.integers(0, SIZE, number)], []
    for _ in range(40):
        draws = rng.random((2, number, 1))
        s = states[-1]
        actions.append(np.minimum((draws[0] > policy[s].cumsum(axis=1)).sum(axis=1), 2))
        after = (draws[1] > P[actions[-1], s].cumsum(axis=1)).sum(axis=1)
        states.append(np.minimum(after, SIZE - 1))
    visited = np.stack(states, axis=1)[..., None].astype(float)
    return Transitions.from_paths(visited, np.stack(actions, axis=1), 3)


def design(states: Array) -> Array:
    found = np.zeros((len(states), 3, 4))
    found[:, 0, 0] = found[:, 1, 2] = states[:, 0]
    found[:, 1, 1] = found[:, 2, 3] = 1.0
    return found


FORM = LinearReward(design)
KNOWN: dict[str, Any] = {"anchor_action": ANCHOR, "anchor_reward": -3.0, "discount": BETA}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "nfxp": ("nfxp", {"reward": FORM}),
    "ccp": ("ccp", {"reward": FORM}),
    "npl": ("ccp", {"reward": FORM, "stages": None}),
    "mpec": ("mpec", {"reward": FORM}),
    "ml_irl": ("ml_irl", {"reward": FORM}),
    "plug_in": ("plug_in", {}),
    "smooth": ("profiled_erm", {"function_class": "smooth"}),
    "sparse": ("profiled_erm", {"function_class": "sparse"}),
}


@cache
def fitted(case: str, sets: Callable[[Array], Array] | None = some) -> Results:
    name, options = CASES[case]
    found: Results = quiet(paths(sets or some), name, available=sets, **KNOWN, **options)
    return found


def quiet(*given: Any, **options: Any) -> Any:
    """A fit without its warnings of borrowed moves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gladius.fit(*given, **options)


def frequencies(data: Transitions) -> tuple[Array, Array]:
    """n(s, a), and P-hat, 0 where a pair never occurs."""
    s, t = data.states[:, 0].astype(int), data.next_states[:, 0].astype(int)
    table = np.zeros((3, SIZE, SIZE))
    np.add.at(table, (data.actions, s, t), 1.0)
    visits = table.sum(axis=2)
    return visits.T, table / np.maximum(visits, 1)[:, :, None]


def log_likelihood(theta: Array, visits: Array, is_open: Array, chances: Array) -> float:
    log_policy, _ = solved(design(GRID) @ theta, is_open, chances)
    return float(np.sum(visits * np.where(visits > 0, log_policy, 0.0)))


@pytest.mark.parametrize("sets", [some, few])
@pytest.mark.parametrize("case", ["nfxp", "mpec"])
def test_the_likelihood_is_that_of_value_iteration_and_at_its_maximum(
    case: str, sets: Callable[[Array], Array]
) -> None:
    fit, is_open = fitted(case, sets), sets(GRID) > 0
    visits, chances = frequencies(fit.data)
    theta = fit.params.to_numpy()
    at = log_likelihood(theta, visits, is_open, chances)
    np.testing.assert_allclose(fit.llf, at, rtol=1e-9)
    step = 1e-3
    for k in range(len(theta)):
        up, down = (
            log_likelihood(theta + sign * step * np.eye(len(theta))[k], visits, is_open, chances)
            for sign in (1, -1)
        )
        slope, bend = (up - down) / (2 * step), (up - 2 * at + down) / step**2
        assert bend < 0
        assert abs(slope / np.sqrt(-bend)) < 0.01  # in standard errors
    wrong = fitted(case, None)  # the control: every action always available
    assert np.max(np.abs(wrong.params.to_numpy() - theta) / fit.bse.to_numpy()) > 3


@pytest.mark.parametrize("case", ["npl", "nfxp"])
def test_pseudo_likelihood_ends_at_maximum_likelihood(case: str) -> None:
    np.testing.assert_allclose(fitted(case).params, fitted("mpec").params, atol=1e-5)


def test_standard_errors_are_those_of_the_curvature_where_p_is_known() -> None:
    fit = gladius.fit(
        paths(some),
        "nfxp",
        reward=FORM,
        transition=KnownTransitions(P, GRID),
        available=some,
        **KNOWN,
    )
    visits, _ = frequencies(fit.data)
    theta, step, eye = fit.params.to_numpy(), 2e-3, np.eye(4)

    def at(shift: Array) -> float:
        return log_likelihood(theta + step * shift, visits, some(GRID) > 0, P)

    pairs = [[at(a + b) - at(a - b) - at(b - a) + at(-a - b) for a in eye] for b in eye]
    hessian = np.array(pairs) / (4 * step**2)
    np.testing.assert_allclose(fit.cov().to_numpy(), np.linalg.inv(-hessian), rtol=0.05)


def by_formula(data: Transitions, extra: float) -> Array:
    """The plug-in's r: shares within the set, and V from the anchor's Bellman equation."""
    is_open = some(GRID) > 0
    visits, chances = frequencies(data)
    cells = np.where(is_open, visits + extra, np.nan)
    log_policy = np.log(cells / np.nansum(cells, axis=1, keepdims=True))
    v = np.linalg.solve(np.eye(SIZE) - BETA * chances[ANCHOR], -3.0 - log_policy[:, ANCHOR])
    return np.asarray(log_policy + v[:, None] - BETA * np.stack([p @ v for p in chances], axis=1))


def test_the_plug_in_is_its_formula_within_the_set() -> None:
    fit = fitted("plug_in")
    np.testing.assert_allclose(fit.reward(GRID), by_formula(fit.data, 0.5), atol=1e-9)
    assert np.isnan(fit.reward(GRID)[:2, 1]).all()  # NaN is where the action is not available
    control = fitted("plug_in", None).reward(GRID)  # half a choice of each action in each state
    assert np.nanmax(np.abs(control - by_formula(fit.data, 0.5))) > 1e-5


def test_smooth_without_a_penalty_is_the_plug_in(hold_lambda: Callable[[float], None]) -> None:
    hold_lambda(1e-7)
    fit = gladius.fit(paths(some), function_class="smooth", available=some, **KNOWN)
    expected = by_formula(fit.data, 0.0)
    np.testing.assert_allclose(
        np.where(some(GRID) > 0, fit.reward(GRID), np.nan), expected, atol=5e-3
    )


def test_the_gradient_on_observations_is_that_of_finite_differences() -> None:
    (data,) = with_choice_sets([paths(few)], few)
    rows = Rows.of(data, [0], Anchor(ANCHOR, -3.0), BETA)
    assert torch_equal(rows.closed, np.where(few(rows.states.numpy()) > 0, 0.0, FORBIDDEN))
    inputs = Inputs.of(data.states)
    risk, theta, zeta, _ = ObservationRisk(
        rows, make_features([0], inputs), make_zeta(rows, inputs, [0])
    ).start()

    def exact(at: Any) -> Any:
        point = risk.point(at, zeta)
        for _ in range(20):
            point = risk.point(at, point.zeta)
        return point

    point = exact(theta)
    policy = np.exp(log_softmax(risk.q(risk.block, theta, point.zeta).numpy()))
    assert np.all(policy[few(rows.states.numpy()) == 0] == 0)
    for k in range(len(theta)):
        step = 1e-5
        up, down = theta.clone(), theta.clone()
        up[k] += step
        down[k] -= step
        slope = (exact(up).nll - exact(down).nll) / (2 * step)
        np.testing.assert_allclose(float(point.gradient[k]), slope, rtol=1e-4, atol=1e-2)


def torch_equal(tensor: Any, array: Array) -> bool:
    return bool(np.array_equal(tensor.numpy(), array))


def log_softmax(q: Array) -> Array:
    top = q.max(axis=1, keepdims=True)
    return np.asarray(q - top - np.log(np.exp(q - top).sum(axis=1, keepdims=True)))


ERRORS = {"ml_irl": 0.25}  # most mean error of r over the open pairs; .15 of the others
# least ratio of the error without sets; the plug-in sees that an action is never taken in a state
RATIOS = {"plug_in": 0.9, "smooth": 1.2}


@pytest.mark.parametrize("case", CASES)
def test_each_method_recovers_r_with_the_sets_and_not_without(case: str) -> None:
    is_open = some(GRID) > 0
    is_open[:, ANCHOR] = False
    with_sets, without = (
        np.mean(np.abs(fitted(case, sets).reward_function(GRID) - TRUE)[is_open])
        for sets in (some, None)
    )
    assert fitted(case).diagnostics.status == "ok"
    assert with_sets < ERRORS.get(case, 0.15)
    assert without > RATIOS.get(case, 1.5) * with_sets


@pytest.mark.parametrize("case", [c for c in CASES if c not in ("plug_in", "smooth")])
def test_r_is_found_where_the_anchor_is_missing_on_its_own_path(case: str) -> None:
    is_open = few(GRID) > 0
    error = np.mean(np.abs(fitted(case, few).reward_function(GRID) - TRUE)[is_open])
    assert error < {"ml_irl": 0.8}.get(case, 0.4)
    low, high = fitted(case, few).interval(GRID)
    assert np.mean(((low <= TRUE) & (high >= TRUE))[is_open]) > 0.85


def test_the_default_gives_way_where_the_anchor_is_missing() -> None:
    with pytest.warns(UserWarning, match="96% of what fixes .* rests on the form of r alone"):
        fit = gladius.fit(paths(few), available=few, **KNOWN)
    assert fit.method == "profiled_erm sparse"
    np.testing.assert_array_equal(fit.reward(GRID), fitted("sparse", few).reward(GRID))
    with pytest.raises(InputError, match="smooth does not identify r"):
        quiet(paths(few), available=few, function_class="smooth", **KNOWN)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_method_takes_choice_sets_or_names_those_that_do(method: str) -> None:
    given = {"reward": FORM} if "form" in gladius.register.needs(method) else {}
    if method == "gladius":
        given = {"protocol": "printed"}
    if method not in TAKERS:
        with pytest.raises(InputError, match="it takes none: choice sets are for nfxp, ccp, mpec"):
            gladius.fit(paths(some), method, available=some, **KNOWN, **given)
        return
    fit, closed = (
        gladius.fit(paths(some), method, available=some, **KNOWN, **given),
        some(GRID) == 0,
    )
    assert np.all(fit.q(GRID)[closed] == -np.inf)
    assert np.all(fit.policy(GRID)[closed] == 0.0)
    np.testing.assert_allclose(fit.policy(GRID).sum(axis=1), 1.0)
    chosen = fit.policy(fit.data.states)[np.arange(len(fit.data)), fit.data.actions]
    np.testing.assert_allclose(fit.llf, np.log(chosen).sum(), rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_sets_of_all_actions_change_no_bit(case: str) -> None:
    name, options = CASES[case]
    data = paths(some, 60)
    with_sets, without = (
        quiet(data, name, available=sets, **KNOWN, **options) for sets in (every, None)
    )
    for function in ("reward_function", "q_function"):
        tables = [getattr(fit, function)(GRID) for fit in (with_sets, without)]
        np.testing.assert_array_equal(*tables)
    assert with_sets.llf == without.llf


@pytest.mark.parametrize(
    ("option", "value", "method"),
    [
        ("function_class", "mlp", "profiled_erm"),
        ("inner", "finite_dependence", "ml_irl"),
        ("finite_dependence", True, "ccp"),
    ],
)
def test_options_that_take_no_choice_sets(option: str, value: Any, method: str) -> None:
    given: dict[str, Any] = {option: value}
    given |= {} if method == "profiled_erm" else {"reward": FORM}
    given |= {"stages": 1} if method == "ccp" else {}
    with pytest.raises(InputError, match=f"{option} = .*it takes no choice sets"):
        gladius.fit(paths(some), method, available=some, **KNOWN, **given)


# What a fit says.


@pytest.mark.parametrize("case", ["nfxp", "plug_in", "smooth", "sparse"])
def test_a_fit_is_saved_with_its_choice_sets(case: str, tmp_path: Path) -> None:
    fit = fitted(case)
    fit.save(tmp_path)
    with pytest.raises(InputError, match="test_choice_sets"):  # a user's function is code
        gladius.load(tmp_path)
    back = gladius.load(tmp_path, trust=(__name__,))
    for call in (fit.reward, fit.q, fit.policy, fit.reward_errors):
        again = getattr(back, call.__name__)(GRID)
        np.testing.assert_array_equal(again, call(GRID))


def read(columns: dict[str, Any] | None = None) -> Transitions:
    frame = paths(some, 100).to_frame()
    frame = frame.assign(repairable=frame["s0"] >= 2, always=1, **(columns or {}))
    names: dict[str, Any] = {"state": ["s0"], "action": "action", "id": "id", "time": "period"}
    return Transitions.from_frame(frame, carry=["repairable", "always"], **names)


def test_columns_say_what_a_function_says(tmp_path: Path) -> None:
    data = read()
    by_function = gladius.fit(data, available=some, **KNOWN)
    for columns in (
        {1: "repairable"},
        {"action 1": "repairable"},
        ["always", "repairable", "always"],
    ):
        fit = gladius.fit(data, available=columns, **KNOWN)
        np.testing.assert_array_equal(fit.q(GRID), by_function.q(GRID))
    fit.save(tmp_path)
    np.testing.assert_array_equal(gladius.load(tmp_path).q(GRID), fit.q(GRID))  # nothing to trust
    with pytest.raises(InputError, match=r"in no row .* give available= as a function"):
        fit.predict(np.array([[3.5]]))
    simulated = fit.simulate(150, 20)
    assert np.all(some(simulated.states)[np.arange(len(simulated)), simulated.actions] == 1)
    sets: Any = sets_of(fit.data)
    again = quiet(simulated, "nfxp", reward=FORM, available=sets, **KNOWN)
    assert np.all(again.policy(GRID[:2])[:, 1] == 0)


@given(arrays(np.bool_, (5, 3)), st.permutations(range(5)))
def test_sets_read_from_columns_are_those_of_their_rows(table: Any, order: list[int]) -> None:
    table = table.copy()
    table[:, 0] = True  # which is the action taken
    names = [f"open{a}" for a in range(3)]
    rows = pd.DataFrame(table.astype(float), columns=names).assign(s=range(5), a=0, i=0)
    rows = pd.concat([rows.iloc[order], rows])
    data = Transitions.from_frame(
        rows, state=["s"], action="a", id="i", next_state=["s"], carry=names, number_of_actions=3
    )
    (found,) = with_choice_sets([data], names)
    np.testing.assert_array_equal(found.available(np.arange(5.0)[:, None]), table)


def test_a_counterfactual_keeps_the_sets_or_changes_them() -> None:
    at = GRID[[0, 5]]
    none = fitted("nfxp").counterfactual(reward={"action 0": 0.0}, states=at)
    np.testing.assert_allclose(none["after"], none["before"], atol=1e-10)
    assert none["before"].to_numpy()[1] == 0.0
    fit = fitted("nfxp")
    chances = frequencies(fit.data)[1]
    chances[1, :2] = fit.form_errors.basis.model.transition[0, 1, :2]  # borrowed
    for case in ("nfxp", "sparse"):  # r is known, or extrapolated, where it was not available
        fit = fitted(case)
        found = fit.counterfactual(available=every, states=GRID)["after"].to_numpy()
        expected, _ = solved(fit.reward_function(GRID), every(GRID) > 0, chances)
        np.testing.assert_allclose(found.reshape(-1, 3), np.exp(expected), atol=1e-8)
        assert found[1] > 0.01
    assert np.all(fitted("nfxp").counterfactual(available=every, states=at)["se"] > 0)
    with pytest.raises(InputError, match="identifies no reward of action 1 there"):
        fitted("plug_in").counterfactual(available=every)
    banned = fitted("plug_in").counterfactual(available=without_repair, states=GRID)
    after = banned["after"].to_numpy().reshape(-1, 3)
    reward = np.nan_to_num(fitted("plug_in").reward_function(GRID))
    expected, _ = solved(reward, without_repair(GRID) > 0, chances)
    np.testing.assert_allclose(after, np.exp(expected), atol=1e-8)
    with pytest.raises(InputError, match="available = 3: give a function"):
        fitted("nfxp").counterfactual(available=3)  # type: ignore[arg-type]


def without_repair(states: Array) -> Array:
    return np.tile([1.0, 0.0, 1.0], (len(states), 1))


def test_a_bootstrap_refits_within_the_sets() -> None:
    fit = gladius.fit(read(), "nfxp", reward=FORM, available={1: "repairable"}, **KNOWN)
    draws = fit.bootstrap(draws=20)
    assert np.all(np.abs(draws.std(axis=0) / fit.bse - 1) < 0.6)
    policies = fit.bootstrap(lambda one: one.policy(GRID)[:, 1], draws=3)
    assert np.all(policies[:, :2] == 0)
    assert np.all(policies[:, 2:] > 0)


@pytest.mark.parametrize("case", ["plug_in", "smooth", "sparse", "nfxp"])
def test_tables_and_errors_are_finite_where_an_action_is_available(case: str) -> None:
    frame, is_open = fitted(case).reward_frame(GRID), (some(GRID) > 0).ravel()
    se = frame["se"].to_numpy()
    assert np.all(np.isfinite(se[is_open]))
    assert np.all(np.isfinite(frame["q"].to_numpy()) == is_open)
    assert "action 1" in fitted(case).summary()
    if case == "plug_in":  # a reward that does not exist has no error of its own
        table = FreeErrors(cast("Any", fitted(case).basis)).table()
        assert np.max(np.abs(table.covariance)) < 10
    error = np.abs(frame["reward"] - TRUE.ravel()).to_numpy()[is_open & (se > 0)]
    assert np.mean(error <= 1.96 * se[is_open & (se > 0)]) > 0.75


def own(states: Array) -> Array:
    """The known action: replacing where it can be, else keeping."""
    return np.where(few(states)[:, 2] > 0, 2, 0)


def own_reward(states: Array) -> Array:
    return TRUE[np.asarray(states)[:, 0].astype(int), own(states)]


@pytest.mark.parametrize("options", [{"method": "plug_in"}, {"method": "profiled_erm"}])
def test_an_anchor_by_state_is_in_each_set(options: dict[str, Any]) -> None:
    given = KNOWN | {"anchor_action": own, "anchor_reward": own_reward}
    fit = gladius.fit(paths(few), available=few, **given, **options)
    assert fit.method in ("plug_in", "profiled_erm smooth")
    is_open = few(GRID) > 0
    assert np.mean(np.abs(fit.reward_function(GRID) - TRUE)[is_open]) < 0.25
    assert np.all(fit.policy(GRID)[~is_open] == 0)
    low, high = fit.interval(GRID)
    is_its = is_open & (np.arange(3) != own(GRID)[:, None])
    assert np.mean(((low <= TRUE) & (high >= TRUE))[is_its]) > 0.8


# Bad input.


def test_a_choice_that_was_not_available_is_named() -> None:
    data = paths(some)
    row = int(np.flatnonzero((data.actions == 1) & (data.states[:, 0] == 4))[0])

    def late(states: Array) -> Array:
        found = some(states)
        found[:, 1] = np.asarray(states)[:, 0] > 4
        return found

    with pytest.raises(
        InputError, match=r"action 1 was taken in state \[\d.0\] of \d+, where"
    ) as e:
        gladius.fit(data, available=late, **KNOWN)
    first = int(np.flatnonzero((data.actions == 1) & (data.states[:, 0] <= 4))[0])
    assert e.value.field == f"available[{first}]"
    assert row >= first


def wrong_shape(states: Array) -> Array:
    return np.ones((len(states), 2))


def halves(states: Array) -> Array:
    return np.full((len(states), 3), 0.5)


def no_action(states: Array) -> Array:
    return np.where(np.asarray(states) == 3, 0.0, np.ones(3))


def raises(states: Array) -> Array:
    raise KeyError("mileage")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (wrong_shape, r"return true or false in shape \(\d+, 3\)"),
        (halves, "return true or false"),
        (no_action, r"available = \[3.0\]: no action is available in this state"),
        (raises, "it raised KeyError"),
        ("repairable", "a dict by action, or a list"),
        (3, "a dict by action, or a list"),
        ({}, "a dict by action, or a list"),
        (["repairable"], "give one column for each of 3 actions"),
        ({"repair": "repairable"}, "name actions of action 0, action 1, action 2"),
        ({1: "allowed"}, r"carry the column: from_frame\(..., carry=\['allowed'\]\)"),
        ({1: "half"}, r"half\[0\] = 0.5: give 1 or true where the action is available"),
        ({0: "never"}, "no action is available|was taken in state"),
        ({2: "other"}, r"available = .*: this state is given two different numbers"),
    ],
)
def test_bad_choice_sets_are_refused(given: Any, message: str) -> None:
    data = read()
    n = len(data)
    more = {"half": np.full(n, 0.5), "never": np.zeros(n), "other": np.arange(n) % 2.0}
    carried: Any = {**data.carried, **more}
    data = Transitions(**vars(data) | {"carried": carried})
    with pytest.raises(InputError, match=message):
        gladius.fit(data, available=given, **KNOWN)


def test_a_state_without_choices_has_the_set_of_its_nearest_in_the_plug_in() -> None:
    data = paths(some, 100)
    is_seen = data.states[:, 0] != 1.0  # then state 1, without action 1, only follows
    cut = data.take(is_seen)

    def other(states: Array) -> Array:
        found = some(states)
        found[:, 1] = np.asarray(states)[:, 0] != 1.0
        return found

    with pytest.raises(InputError, match="the nearest state has another choice set"):
        gladius.fit(cut, "plug_in", available=other, **KNOWN)
    fit = quiet(cut, "ccp", reward=FORM, stages=1, available=must_replace_at_one, **KNOWN)
    assert np.all(fit.q(GRID[2:])[:, 0] > -100)  # no V there counts a forbidden action
    policy, offset = np.array([[[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]]), np.zeros((2, 3))
    assert within(policy, offset) is policy
    offset[:, 1] = FORBIDDEN
    expected = [[[0.2 / 0.7, 0, 0.5 / 0.7], [0.5, 0, 0.5]]]
    np.testing.assert_allclose(within(policy, offset), expected)


def must_replace_at_one(states: Array) -> Array:
    found = some(states)
    found[:, 0] = np.asarray(states)[:, 0] != 1.0
    return found


# The anchor's own path.


def by_dense_solution(data: Transitions, without: Sequence[int]) -> float:
    """d = (I - beta P_A)^-T share, of which the states `without` an anchor have a share."""
    visits, chances = frequencies(data)
    flow, pooled = chances[ANCHOR], visits[:, ANCHOR] @ chances[ANCHOR] / visits[:, ANCHOR].sum()
    flow = np.where(visits[:, [ANCHOR]] > 0, flow, pooled)
    d = np.linalg.solve((np.eye(SIZE) - BETA * flow).T, visits.sum(axis=1))
    assert not np.any(visits[without, ANCHOR])
    return float(d[without].sum() / d.sum())


def test_an_anchor_that_is_never_taken_where_it_leads_is_refused() -> None:
    data = paths(few)
    share, states = share_without_anchor(Indexed.of(data), Anchor(ANCHOR, -3.0), BETA)
    np.testing.assert_allclose(share, by_dense_solution(data, [1, 2]), rtol=1e-9)
    np.testing.assert_array_equal(states[:, 0], [1, 2])  # at 0 it could be rare
    (known,) = with_choice_sets([data], few)
    told, _ = share_without_anchor(Indexed.of(known), Anchor(ANCHOR, -3.0), BETA)
    np.testing.assert_allclose(told, by_dense_solution(data, [0, 1, 2]))
    text = r"67% of what fixes the level of V lies in states where the anchor was never taken, such"
    for options in ({}, {"function_class": "sparse"}):
        with pytest.raises(InputError, match=text):
            gladius.fit(data, **KNOWN, **options)
    quiet(data, "nfxp", reward=FORM, **KNOWN)  # its level comes from the form
    assert share_without_anchor(Indexed.of(paths(some)), Anchor(ANCHOR, -3.0), BETA)[0] == 0.0


def test_an_anchor_that_is_rare_is_not_one_that_cannot_be_taken() -> None:
    """Exits were refused in 10 of 10 data sets, with r right: of 20 rows of a state none exited."""
    for world in (exits(), DESIGNS["subscription"]()):
        frame = world.sample(0)
        data = Transitions.from_frame(
            frame, state=list(world.names), action="action", id="id", time="t", done="done"
        )
        cells = frame.assign(is_its=frame["action"] == world.anchor).groupby("state")["is_its"]
        assert np.mean((cells.sum() == 0) & (cells.size() >= 20)) > 0.15
        assert (
            share_without_anchor(Indexed.of(data), Anchor(world.anchor, 1.0), world.discount)[0]
            == 0.0
        )


@given(arrays(float, 6, elements=st.floats(-1.5, 1.5)))
def test_chances_of_the_anchor_are_those_of_a_logit_of_degree_two(theta: Array) -> None:
    x = np.stack(np.meshgrid(np.arange(-2.0, 3), np.arange(-2.0, 3)), axis=-1).reshape(-1, 2) / 2
    z = np.column_stack([np.ones(25), x, x**2, x.prod(axis=1)])
    pi = expit(z @ theta)
    seen = np.full(25, 10**6)
    taken = np.round(seen * pi).astype(np.int64)
    np.testing.assert_allclose(chances(100 + 7 * x, seen, taken), pi, atol=1e-3)


@pytest.mark.parametrize("kind", ["dummies", "one value", "twelve"])
def test_chances_are_found_where_columns_say_the_same_or_are_many(kind: str) -> None:
    rng = np.random.default_rng(0)
    label = np.arange(40) % 3
    states = {
        "dummies": np.column_stack([np.eye(3)[label], np.arange(40)]),
        "one value": np.column_stack([np.ones(40), np.arange(40)]),
        "twelve": rng.normal(size=(40, 12)),
    }[kind]
    seen = np.full(40, 200)
    taken = np.where(label == 0, 0, 20)
    found = chances(states, seen, taken)
    assert np.all((found > 0) & (found < 1))
    np.testing.assert_allclose(seen @ found, taken.sum(), rtol=0.02)  # the constant's score is 0
    if kind == "dummies":  # of a label the anchor is never taken: its choice set has none
        assert found[label == 0].min() > 0.03


def test_a_share_between_the_two_bounds_is_a_warning() -> None:
    data = paths(some)
    data = data.take((data.states[:, 0] != 2) | (data.actions != ANCHOR))
    share = by_dense_solution(data, [2])
    assert 0.05 < share < 0.3
    with pytest.warns(UserWarning, match=f"{share:.0%} of what fixes .* never taken, such as .2.0"):
        gladius.fit(data, "plug_in", **KNOWN)


def test_choice_sets_are_a_function_of_the_state_that_can_be_given_again() -> None:
    sets = ChoiceSets(some, 3)
    (once,) = with_choice_sets([paths(some)], sets)
    assert once.available is sets  # type: ignore[attr-defined]
    assert len(once.take(np.arange(5))) == 5


def two_columns() -> Transitions:
    """The stock and a region of one in three, which matters for nothing; some pairs never occur."""
    frame = paths(some, 150).to_frame()
    frame = frame.assign(repairable=frame["s0"] >= 2, region=frame["id"] % 3 == 0)
    frame = frame[(frame["s0"] < 9) | ~frame["region"]]
    names: dict[str, Any] = {"state": ["s0", "region"], "action": "action", "id": "id"}
    return Transitions.from_frame(
        frame.sort_values("period"), carry=["repairable"], time="period", **names
    )


def with_region(states: Array) -> Array:
    return np.concatenate([design(states), 0.1 * states[:, [1], None] * np.eye(3)[:, [0]]], axis=2)


@pytest.mark.parametrize("case", ["nfxp", "plug_in", "sparse"])
def test_a_summary_needs_no_choice_set_of_a_state_in_no_row(case: str) -> None:
    with pytest.warns(UserWarning, match="gaps, among them"):
        data = two_columns()
    name, options = CASES[case]
    options = options | ({"reward": LinearReward(with_region)} if "reward" in options else {})
    fit = quiet(data, name, available={1: "repairable"}, **KNOWN, **options)
    fit.summary()  # whose line along the stock has states that occur in no row, without a warning
    assert np.isfinite(fit.reward(np.array([[5.5, 0.0]]), 0)).all()
    with pytest.raises(InputError, match="in no row"):
        fit.policy(np.array([[5.5, 0.0]]))


def test_fits_with_different_choice_sets_are_not_compared() -> None:
    smaller = quiet(
        paths(some), "nfxp", reward=LinearReward(without_constant), available=some, **KNOWN
    )
    assert fitted("nfxp").likelihood_ratio(smaller) < 1e-6
    other = quiet(paths(some), "nfxp", reward=LinearReward(without_constant), **KNOWN)
    with pytest.raises(InputError, match=r"same data, .* and choice sets"):
        fitted("nfxp").likelihood_ratio(other)


def without_constant(states: Array) -> Array:
    return design(states)[:, :, [0, 2, 3]]


@pytest.mark.parametrize("available", [some, {1: "repairable"}])
def test_the_past_does_not_matter_within_the_sets(available: Any) -> None:
    found = check_markov(read(), available=available, **KNOWN)
    assert not found.choices
    assert not found.transitions
