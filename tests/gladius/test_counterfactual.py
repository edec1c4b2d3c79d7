"""Counterfactuals: learners and planners against loops, closed forms and the exact world."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import iterated
from numpy.typing import NDArray
from strategies import laws, tabular_mdps, transitions

from gladius import offline_rl
from gladius.checks import InputError
from gladius.counterfactual import Change, changed, judge, plan, relabel, welfare
from gladius.estimate import Diagnostics, Estimate
from gladius.mdp import TabularMDP
from gladius.offline_rl import learn, nearest_states
from gladius.transitions import Counts, Transitions, group
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
NUMBERS = st.integers(-8, 8).map(lambda n: n / 4)
MILD = st.sampled_from([0.3, 0.6])  # few sweeps
NOTHING = Change("nothing")
CHEAPER = Change("replacement costs 4", reward=lambda s, r: r + np.array([0.0, 1.0]))
HALVED = Change("maintenance halved", reward=lambda s, r: r * np.array([0.5, 1.0]))
ALIVE = st.sampled_from([0.0, 0.5, 0.9, 1.0])
ALPHAS = st.sampled_from([0.01, 0.3, 1.0, 7.0])


def population(mdp: TabularMDP) -> Counts:
    """Infinitely many rows from every state, as shares."""
    visits = mdp.solution.policy / len(mdp.initial)
    moves = visits.T[:, :, None] * mdp.transition
    return Counts(mdp.features, visits[None], moves[None])


def by_index(table: Array):  # type: ignore[no-untyped-def]
    """A table as a function of states that are their own index."""
    return lambda states: table[states[:, 0].astype(int)]


def mileage(table: Array):  # type: ignore[no-untyped-def]
    return lambda states: table[states[:, 0].astype(int) - 1]


# Soft fitted Q ------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(tabular_mdps(4, 3, MILD, NUMBERS), st.data())
def test_infinite_data_give_the_exact_counterfactual(mdp: TabularMDP, data: st.DataObject) -> None:
    delta = data.draw(arrays(np.float64, mdp.reward.shape, elements=NUMBERS))
    change = Change("coupon", reward=lambda s, r: r + by_index(delta)(s))
    logged = population(mdp)
    labels = relabel(logged, by_index(mdp.reward), change)
    found = learn([logged], [labels], mdp.discount)[0]
    exact = iterated(mdp.reward + delta, mdp.transition, mdp.discount)
    np.testing.assert_allclose(found.table, exact, rtol=0, atol=1e-8)
    policy = np.exp(exact - np.logaddexp.reduce(exact, axis=1)[:, None])
    np.testing.assert_allclose(found.policy(mdp.features), policy, rtol=0, atol=1e-8)
    value = np.logaddexp.reduce(exact, axis=1)
    np.testing.assert_allclose(found.value(mdp.features), value, rtol=0, atol=1e-8)
    assert found.converged
    # negative control: the data without the coupon give another answer
    assume(np.ptp(delta) > 0 or delta[0, 0] != 0)
    old = learn([logged], [relabel(logged, by_index(mdp.reward), NOTHING)], mdp.discount)[0]
    assert np.abs(old.table - exact).max() > 1e-3


def mean_by_pair(data: Transitions, rewards: Array) -> Array:
    """(S, A) means of the rewards beside the rows, NaN where a pair has none."""
    logged = group(data)
    total = np.zeros(logged.visits.shape[1:])
    place = np.searchsorted(logged.states[:, 0], data.states[:, 0])
    np.add.at(total, (place, data.actions), rewards)
    return total / np.where(logged.visits[0] > 0, logged.visits[0], np.nan)


def plain(
    data: Transitions, labels: dict[tuple[float, int, float, bool], float], beta: float, rule: str
) -> dict[tuple[float, int], float]:
    """Q of every state of the data, in one dimension, with dictionaries and loops."""
    rows = list(
        zip(
            data.states[:, 0].tolist(),
            data.actions.tolist(),
            data.next_states[:, 0].tolist(),
            data.done.tolist(),
            strict=True,
        )
    )
    taken = defaultdict(set)
    for s, a, *_ in rows:
        taken[s].add(a)
    states = sorted({s for s, *_ in rows} | {t for *_, t, _ in rows})
    low, span = states[0], (states[-1] - states[0]) or 1.0

    def near(s: float, among: list[float]) -> float:
        return min(among, key=lambda x: (abs((x - low) / span - (s - low) / span), x))

    source: dict[tuple[float, int], float] = {}
    for s in states:
        for a in range(data.number_of_actions):
            if rule == "nearest":
                there = [x for x in states if a in taken[x]]
                if there:
                    source[s, a] = near(s, there)
            else:
                whole = near(s, [x for x in states if taken[x]])
                if a in taken[whole]:
                    source[s, a] = whole
    q = {(s, a): 0.0 for s in states for a in taken[s]}
    for _ in range(60):
        v = {
            s: np.logaddexp.reduce(
                [q[source[s, a], a] for a in range(data.number_of_actions) if (s, a) in source]
            )
            for s in states
        }
        sums: dict[tuple[float, int], list[float]] = defaultdict(list)
        for s, a, t, done in rows:
            sums[s, a].append(labels[s, a, t, done] + (0.0 if done else beta * v[t]))
        q = {pair: float(np.mean(of)) for pair, of in sums.items()}
    return {(s, a): q[source[s, a], a] for s, a in source}


@settings(max_examples=60)
@given(
    # no state is as near to one neighbour as to another
    transitions(max_rows=12, elements=st.sampled_from([0.0, 1.0, 3.3, 8.7, 20.9]), width=1),
    arrays(np.float64, 3, elements=NUMBERS),
    st.sampled_from(["nearest", "excluded"]),
)
def test_agrees_with_plain_loops(data: Transitions, scale: Array, rule: str) -> None:
    logged = group(data)
    pieces = [data.states[:, 0], data.actions, data.next_states[:, 0]]
    rewards = scale[0] * pieces[0] / 10 + scale[1] * pieces[1] + scale[2] * pieces[2] / 10
    keys = zip(*(p.tolist() for p in pieces), data.done.tolist(), strict=True)
    expected = plain(data, dict(zip(keys, rewards.tolist(), strict=True)), 0.5, rule)
    labels = mean_by_pair(data, rewards)
    found = learn([logged], [labels], 0.5, unseen=rule)[0].table
    table = np.full(found.shape, -np.inf)
    at = {s: i for i, s in enumerate(logged.states[:, 0].tolist())}
    for (s, a), q in expected.items():
        table[at[s], a] = q
    np.testing.assert_allclose(found, table, rtol=0, atol=1e-8)


def rows(states: list[int], actions: list[int], following: list[int]) -> Counts:
    now, after = (np.array(x, dtype=float)[:, None] for x in (states, following))
    return group(Transitions(now, np.array(actions), after, number_of_actions=3))


def test_pairs_without_a_row_take_the_nearest_or_are_excluded() -> None:
    logged = rows(
        [1, 1, 4], [0, 1, 1], [4, 1, 9]
    )  # action 2 nowhere, action 0 not in 4, no row in 9
    near, cut = (
        learn([logged], [np.zeros((3, 3))], 0.5, unseen=u)[0] for u in ("nearest", "excluded")
    )
    assert near.table[1, 0] == near.table[0, 0]  # of state 1
    assert near.table[2].tolist() == [near.table[0, 0], near.table[1, 1], -np.inf]
    assert cut.table[1, 0] == cut.table[2, 0] == -np.inf
    assert cut.table[2, 1] == cut.table[1, 1]
    assert cut.policy(np.array([[4.0], [7.0]])).tolist() == [[0, 1, 0], [0, 1, 0]]
    assert near.policy(np.array([[4.0]]))[0, 2] == 0
    # V(4) = Q(4, 1) alone = beta V(9) = beta V(4): zero
    assert cut.table[1, 1] == pytest.approx(0, abs=1e-9)


# Conservative Q-learning --------------------------------------------------------------------------


def objective(q: Array, target: Array, behaviour: Array, alpha: float) -> float:
    """Of one state: CQL(H)'s penalty and half the squared error, as printed."""
    penalty = np.logaddexp.reduce(q) - behaviour @ q
    return float(alpha * penalty + 0.5 * behaviour @ (q - target) ** 2)


@settings(max_examples=60)
@given(tabular_mdps(3, 3, MILD, NUMBERS), st.data(), ALPHAS)
def test_cql_minimises_its_objective(mdp: TabularMDP, data: st.DataObject, alpha: float) -> None:
    shape = mdp.reward.shape
    label = data.draw(arrays(np.float64, shape, elements=NUMBERS))
    step = data.draw(arrays(np.float64, shape, elements=NUMBERS))
    logged = population(mdp)
    found = learn(
        [logged], [relabel(logged, by_index(label), NOTHING)], mdp.discount, conservatism=alpha
    )[0]
    v = np.logaddexp.reduce(found.table, axis=1)
    target = label + mdp.discount * np.stack([p @ v for p in mdp.transition], axis=1)
    for s, behaviour in enumerate(mdp.solution.policy):
        at = objective(found.table[s], target[s], behaviour, alpha)
        for sign in (-1e-3, 1e-3, 1.0):  # a convex function: near is enough, far is free
            moved = objective(found.table[s] + sign * step[s], target[s], behaviour, alpha)
            assert moved >= at - 1e-9 * max(1.0, abs(at))
    assert found.converged


@settings(max_examples=60)
@given(tabular_mdps(4, 3, MILD, NUMBERS), ALPHAS)
def test_cql_answers_a_change_of_nothing(mdp: TabularMDP, alpha: float) -> None:
    logged = population(mdp)
    labels = relabel(logged, by_index(mdp.reward), NOTHING)
    found = learn([logged], [labels], mdp.discount, conservatism=alpha)[0]
    np.testing.assert_allclose(found.table, mdp.solution.q, rtol=0, atol=1e-7)


def test_cql_goes_from_soft_q_to_cloning() -> None:
    data = BUS.simulate(30, np.random.default_rng(6))
    logged = group(data)
    labels = relabel(logged, mileage(BUS.mdp.reward), HALVED)
    visits = logged.visits[0]
    seen = visits.sum(axis=1) > 0
    cloned = visits[seen] / visits[seen].sum(axis=1, keepdims=True)

    def policy(alpha: float, unseen: str | None = "excluded") -> Array:
        found = learn([logged], [labels], 0.95, conservatism=alpha, unseen=unseen)[0]
        return found.policy(logged.states[seen])

    free, little, some, much = (policy(a) for a in (0.0, 1e-6, 1.0, 1e6))
    assert np.abs(little - free).max() < 1e-4
    assert np.abs(much - cloned).max() < 1e-4
    assert np.abs(some - free).max() > 0.05
    assert np.abs(some - cloned).max() > 0.05
    assert np.abs(policy(0.0, "nearest") - free).max() > 0.05


# What the reward must be known up to --------------------------------------------------------------


@settings(max_examples=60)
@given(
    transitions(max_rows=12, elements=st.integers(0, 3).map(float), width=1),
    arrays(np.float64, 4, elements=NUMBERS),
    arrays(np.float64, (4, 3), elements=NUMBERS),
    st.just(0.0) | ALPHAS,
)
def test_a_potential_moves_q_and_no_policy(
    data: Transitions, potential: Array, table: Array, alpha: float
) -> None:
    logged, beta = group(data), 0.6
    at = logged.states[:, 0].astype(int)
    # a state without rows has the nearest one's V, so it must have its potential
    phi = potential[at][nearest_states(logged, "excluded").max(axis=1)]
    labels = table[at]
    ahead = np.einsum("ast,t->sa", logged.moves[0], phi)
    ahead /= np.where(logged.visits[0] > 0, logged.visits[0], 1.0)
    shaped = labels + phi[:, None] - beta * ahead
    options = {"conservatism": alpha, "unseen": "excluded"}
    one, other = learn([logged, logged], [labels, shaped], beta, **options)  # type: ignore[arg-type]
    np.testing.assert_allclose(other.table, one.table + phi[:, None], rtol=0, atol=1e-7)


def test_log_pi_answers_what_is_added_and_not_what_is_scaled() -> None:
    mdp, logged = BUS.mdp, population(BUS.mdp)
    clone = mileage(np.log(mdp.solution.policy))
    loss, gain = {}, {}
    for change in (CHEAPER, HALVED):
        old, new = (
            learn([logged], [relabel(logged, clone, c)], 0.95)[0] for c in (NOTHING, change)
        )
        world = changed(mdp, change)
        first = mdp.features[:1]
        loss[change.name] = judge(world, new.policy(mdp.features), 100).loss
        gain[change.name] = float((new.value(first) - old.value(first))[0])
        gain[change.name] -= world.solution.v[0] - mdp.solution.v[0]
    assert loss[CHEAPER.name] == pytest.approx(0, abs=1e-8)
    assert gain[CHEAPER.name] == pytest.approx(0, abs=1e-6)
    assert loss[HALVED.name] > 1
    assert gain[HALVED.name] < -9


@given(laws((2, 20, 20)))
def test_log_pi_sees_no_change_of_the_transitions(transition: Array) -> None:
    old = BUS.mdp.solution.policy
    change = Change("another world", transition=lambda _: transition)
    found = plan(BUS.mdp.features, np.log(old), BUS.mdp.transition, 0.95, change)
    np.testing.assert_allclose(found.policy, old, rtol=0, atol=1e-8)


# Planning, welfare, judgement ---------------------------------------------------------------------


@settings(max_examples=60)
@given(tabular_mdps(4, 3, MILD, NUMBERS), st.data())
def test_a_planner_with_the_truth_finds_the_new_world(mdp: TabularMDP, data: st.DataObject) -> None:
    transition = data.draw(laws(mdp.transition.shape))
    change = Change("both", reward=lambda s, r: 2 * r, transition=lambda _: transition)
    found = plan(mdp.features, mdp.reward, mdp.transition, mdp.discount, change)
    exact = iterated(2 * mdp.reward, transition, mdp.discount)
    np.testing.assert_allclose(found.q, exact, rtol=0, atol=1e-8)
    world = changed(mdp, change)
    np.testing.assert_array_equal(world.transition, transition)
    np.testing.assert_array_equal(world.reward, 2 * mdp.reward)
    assert judge(world, found.policy, 5).loss == pytest.approx(0, abs=1e-8)
    stacked = np.stack([mdp.reward, mdp.reward + 1.0])
    batch = plan(mdp.features, stacked, mdp.transition, mdp.discount, change)
    np.testing.assert_allclose(batch.v[0], found.v, atol=1e-9)
    np.testing.assert_allclose(batch.v[1] - found.v, 2 / (1 - mdp.discount), atol=1e-8)


@settings(max_examples=60)
@given(tabular_mdps(4, 3, MILD, NUMBERS), st.data())
def test_welfare_is_the_sum_over_periods_and_at_most_v(
    mdp: TabularMDP, data: st.DataObject
) -> None:
    policy = data.draw(laws(mdp.reward.shape))
    state, total = mdp.initial.copy(), 0.0
    distance, visits = 0.0, mdp.initial.copy()
    for t in range(70):
        for s, mass in enumerate(state):
            for a, p in enumerate(policy[s]):
                if p > 0:
                    total += mdp.discount**t * mass * p * (mdp.reward[s, a] - np.log(p))
        apart = 0.5 * np.abs(policy - mdp.solution.policy).sum(axis=1)
        distance += (1 - mdp.discount) * mdp.discount**t * visits @ apart
        state = np.einsum("s,sa,ast->t", state, policy, mdp.transition)
        visits = np.einsum("s,sa,ast->t", visits, mdp.solution.policy, mdp.transition)
    assert welfare(mdp, policy) == pytest.approx(total, abs=1e-9)
    found = judge(mdp, policy, 3)
    assert found.loss >= -1e-9
    assert found.loss == pytest.approx(mdp.initial @ mdp.solution.v - total, abs=1e-8)
    assert found.distance == pytest.approx(distance, abs=1e-9)
    assert found.frequencies.sum() == pytest.approx(1)
    assert found.frequencies == pytest.approx(mdp.occupancy(3, policy).sum(axis=0))


def test_data_sets_together_are_as_alone() -> None:
    sets = BUS.simulate(8, [np.random.default_rng([8, i]) for i in range(3)])
    logged = [group(data) for data in sets]
    labels = [relabel(moves, mileage(BUS.mdp.reward), CHEAPER) for moves in logged]
    for alpha in (0.0, 0.5):
        together = learn(logged, labels, 0.95, conservatism=alpha)
        for moves, label, batch in zip(logged, labels, together, strict=True):
            alone = learn([moves], [label], 0.95, conservatism=alpha)[0]
            np.testing.assert_allclose(batch.table, alone.table, atol=1e-7)


def test_too_few_sweeps_are_not_convergence(monkeypatch: pytest.MonkeyPatch) -> None:
    logged = population(BUS.mdp)
    labels = relabel(logged, mileage(BUS.mdp.reward), NOTHING)
    assert learn([logged], [labels], 0.95)[0].converged
    monkeypatch.setattr(offline_rl, "SWEEPS", 100)
    short = learn([logged], [labels], 0.95)[0]
    assert (short.converged, short.sweeps) == (False, 100)
    error = np.abs(short.table - BUS.mdp.solution.q).max()
    assert 1e-3 < error <= short.gap  # the gap bounds it


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"conservatism": -1.0}, "conservatism"),
        ({"conservatism": float("nan")}, "conservatism"),
        ({"unseen": "zero"}, "unseen"),
        ({"unseen": "nearest", "conservatism": 1.0}, "unseen"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], field: str) -> None:
    logged = rows([1], [0], [1])
    with pytest.raises(InputError) as caught:
        learn([logged], [np.zeros((1, 3))], 0.5, **options)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_bad_labels_and_changes_are_named() -> None:
    logged = rows([1, 2], [0, 1], [2, 1])
    for labels in ([], [np.zeros(3)]):
        with pytest.raises(InputError, match="rewards"):
            learn([logged], labels, 0.5)
    with pytest.raises(InputError, match=r"rewards\[1, 1\]"):
        learn([logged], [np.diag([0.0, np.nan, 0.0])[:2]], 0.5)
    silent = np.zeros((3, 3))
    silent[2, 1] = np.nan
    with pytest.raises(InputError, match=r"state \[2.0\], action 1"):
        relabel(logged, by_index(silent), NOTHING)
    silent[2, 1], silent[2, 0] = 0.0, np.nan  # where there is no row nothing need be known
    np.testing.assert_array_equal(relabel(logged, by_index(silent), NOTHING), silent[1:])
    with pytest.raises(InputError, match="use `plan`"):
        relabel(logged, by_index(silent), Change("moves", transition=lambda p: p))
    wide = Change("wide", reward=lambda s, r: r[:, :1])
    with pytest.raises(InputError, match=r"change\.reward"):
        relabel(logged, by_index(np.zeros((3, 3))), wide)
    for transition in (lambda p: p[:1], lambda p: 2 * p):
        with pytest.raises(InputError, match=r"change\.transition"):
            changed(BUS.mdp, Change("bad", transition=transition))


def test_a_reward_is_an_estimate_or_a_function_of_the_states() -> None:
    def table(states: Array) -> Array:
        return np.tile([1.0, 2.0, 3.0], (len(states), 1))

    logged = rows([1, 2], [0, 1], [2, 1])
    diagnostics = Diagnostics(True, 1, 0.0, 0.0, 0.0, 0.0)
    estimate = Estimate("test", lambda states: 0 * table(states), table, 1, diagnostics)
    for right in (estimate, estimate.reward_function):
        assert relabel(logged, right, NOTHING).tolist() == [[1, 2, 3]] * 2
    for wrong in (estimate.reward, table(logged.states), lambda states: states):
        with pytest.raises(InputError) as caught:
            relabel(logged, wrong, NOTHING)  # type: ignore[arg-type]
        assert caught.value.field == "reward"


LOGGED = rows([1, 2], [0, 1], [2, 1])
BUS_DATA = BUS.simulate(1, np.random.default_rng(0))
MODEL = (BUS.mdp.features, BUS.mdp.reward, BUS.mdp.transition)


WRONG: list[tuple[Callable[..., object], tuple[Any, ...], str]] = [
    (learn, (LOGGED, [np.zeros((2, 3))], 0.5), "data"),
    (learn, ([np.zeros(2)], [np.zeros(2)], 0.5), "data"),
    (learn, ([group([BUS_DATA] * 2)], [np.zeros((2, 2))], 0.5), "data"),
    (relabel, (BUS_DATA, mileage(BUS.mdp.reward), NOTHING), "logged"),
    (relabel, (LOGGED, by_index(np.zeros((3, 3))), "coupon"), "change"),
    (Change, ("coupon", 1.0), "change.reward"),
    (Change, ("coupon", None, BUS.mdp.transition), "change.transition"),
    (changed, (BUS.mdp, None), "change"),
    (plan, (*MODEL, 0.95, "x"), "change"),
    (plan, (MODEL[0][:5], *MODEL[1:], 0.95, NOTHING), "reward"),
]


@pytest.mark.parametrize(("function", "arguments", "field"), WRONG)
def test_what_is_none_of_its_kind_is_named(
    function: Callable[..., object], arguments: tuple[Any, ...], field: str
) -> None:
    with pytest.raises(InputError) as caught:
        function(*arguments)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("transition", "field"),
    [
        (BUS.mdp.transition[:1], "transition"),
        (BUS.mdp.transition[0], "transition"),
        (np.where(np.eye(20) > 0, np.nan, BUS.mdp.transition), "transition[0, 0, 0]"),
        (3 * BUS.mdp.transition, "transition[0, 0]"),
        (BUS.mdp.transition - np.eye(20) + np.eye(20)[::-1], "transition[0, 0, 0]"),
    ],
)
def test_no_probabilities_are_refused_whatever_the_change(transition: Array, field: str) -> None:
    for change in (NOTHING, Change("another", transition=lambda _: BUS.mdp.transition)):
        with pytest.raises(InputError) as caught:
            plan(BUS.mdp.features, BUS.mdp.reward, transition, 0.95, change)
        assert caught.value.field == field


@settings(max_examples=20)
@given(tabular_mdps(3, 2, MILD, NUMBERS), st.data())
def test_the_planner_knows_ends(mdp: TabularMDP, data: st.DataObject) -> None:
    """A row that sums to less than one: the rest of it is an end, after which there is nothing."""
    stays = data.draw(arrays(np.float64, mdp.transition.shape[:2], elements=ALIVE))
    ends = mdp.transition * stays[..., None]
    exact = iterated(mdp.reward, ends, mdp.discount)
    exits = Change("exits", transition=lambda _: ends)
    for before, change in [(ends, NOTHING), (mdp.transition, exits)]:
        found = plan(mdp.features, mdp.reward, before, mdp.discount, change)
        np.testing.assert_allclose(found.q, exact, rtol=0, atol=1e-8)
    bad = Change("bad", transition=lambda p: p - 2)
    with pytest.raises(InputError, match=r"change\.transition\[0, 0, 0\]"):
        plan(mdp.features, mdp.reward, ends, mdp.discount, bad)
