"""Counterfactuals: learners and planners against loops, closed forms and the exact world."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from linear_models import iterated
from strategies import laws, tabular_mdps

from gladius.designs.bus import BusEngine
from gladius.model.mdp import TabularMDP
from gladius.own_data.results import counterfactual
from gladius.own_data.results.counterfactual import Change, learn, plan, relabel
from gladius.panel.record import Counts, Transitions, group
from gladius.validate import Array, InputError

BUS = BusEngine()
NUMBERS = st.integers(-8, 8).map(lambda n: n / 4)
MILD = st.sampled_from([0.3, 0.6])  # few sweeps
NOTHING = Change("nothing")
ALIVE = st.sampled_from([0.0, 0.5, 0.9, 1.0])


def population(mdp: TabularMDP, transition: Array) -> Counts:
    """Infinitely many observations from every state, as shares; rows below one end paths."""
    visits = mdp.solution.policy / len(mdp.initial)
    moves = visits.T[:, :, None] * transition
    return Counts(mdp.features, visits[None], moves[None])


def by_index(table: Array):  # type: ignore[no-untyped-def]
    """A table as a function of states that are their own index."""
    return lambda states: table[states[:, 0].astype(int)]


@settings(max_examples=60)
@given(tabular_mdps(4, 3, MILD, NUMBERS), st.data())
def test_infinite_data_give_the_exact_counterfactual(mdp: TabularMDP, data: st.DataObject) -> None:
    delta = data.draw(arrays(np.float64, mdp.reward.shape, elements=NUMBERS))
    change = Change("coupon", reward=lambda s, r: r + by_index(delta)(s))
    stays = data.draw(arrays(np.float64, mdp.transition.shape[:2], elements=ALIVE))
    transition = mdp.transition * stays[..., None]
    logged = population(mdp, transition)
    labels = relabel(logged, by_index(mdp.reward), change)
    found = learn([logged], [labels], mdp.discount)[0]
    exact = iterated(mdp.reward + delta, transition, mdp.discount)
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


def observed(states: list[int], actions: list[int], following: list[int]) -> Counts:
    features = [np.array(x, dtype=float)[:, None] for x in (states, following)]
    return group(Transitions(features[0], np.array(actions), features[1], number_of_actions=3))


def test_actions_never_taken_are_excluded() -> None:
    # action 2 nowhere, action 0 not in 4, no observation in 9
    learned = learn([observed([1, 1, 4], [0, 1, 1], [4, 1, 9])], [np.zeros((3, 3))], 0.5)[0]
    assert learned.table[1, 0] == learned.table[2, 0] == -np.inf
    assert learned.table[2, 1] == learned.table[1, 1]
    assert learned.policy(np.array([[4.0], [7.0]])).tolist() == [[0, 1, 0], [0, 1, 0]]
    # V(4) = Q(4, 1) alone = beta V(9) = beta V(4): zero
    assert learned.table[1, 1] == pytest.approx(0, abs=1e-9)


# Planning -----------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(tabular_mdps(4, 3, MILD, NUMBERS), st.data())
def test_a_planner_with_the_truth_finds_the_new_world(mdp: TabularMDP, data: st.DataObject) -> None:
    """A row that sums to less than one: the rest of it is an end, after which there is nothing."""
    stays = data.draw(arrays(np.float64, mdp.transition.shape[:2], elements=ALIVE))
    transition = data.draw(laws(mdp.transition.shape)) * stays[..., None]
    change = Change("both", reward=lambda s, r: 2 * r, transition=lambda _: transition)
    found = plan(mdp.features, mdp.reward, mdp.transition, mdp.discount, change)
    exact = iterated(2 * mdp.reward, transition, mdp.discount)
    np.testing.assert_allclose(found.q, exact, rtol=0, atol=1e-8)
    stacked = np.stack([mdp.reward, 2 * mdp.reward])
    batch = plan(mdp.features, stacked, transition, mdp.discount, NOTHING)
    np.testing.assert_allclose(batch.q[1], exact, rtol=0, atol=1e-8)
    alone = iterated(mdp.reward, transition, mdp.discount)
    np.testing.assert_allclose(batch.q[0], alone, rtol=0, atol=1e-8)


def test_too_few_sweeps_are_not_convergence(monkeypatch: pytest.MonkeyPatch) -> None:
    logged = population(BUS.mdp, BUS.mdp.transition)
    labels = [BUS.mdp.reward]
    assert learn([logged], labels, 0.95)[0].converged
    monkeypatch.setattr(counterfactual, "SWEEPS", 100)
    assert not learn([logged], labels, 0.95)[0].converged


# Bad input ----------------------------------------------------------------------------------------


LOGGED = observed([1, 2], [0, 1], [2, 1])
BUS_DATA = BUS.simulate(1, np.random.default_rng(0))
X, R, P = BUS.mdp.features, BUS.mdp.reward, BUS.mdp.transition
ZEROS, WITH_NAN = by_index(np.zeros((3, 3))), np.diag([0.0, np.nan, 0.0])[:2]
MOVES = Change("moves", transition=lambda p: p)
NEGATIVE = Change("negative", transition=lambda p: p - 2)
WRONG: list[tuple[Callable[..., object], tuple[Any, ...], str]] = [
    (learn, ([LOGGED], [], 0.5), "rewards"),
    (learn, ([LOGGED], [np.zeros(3)], 0.5), "rewards"),
    (learn, ([LOGGED], [WITH_NAN], 0.5), "rewards[1, 1]"),
    (learn, ([group([BUS_DATA] * 2)], [np.zeros((2, 2))], 0.5), "logged"),
    (relabel, (BUS_DATA, ZEROS, NOTHING), "logged"),
    (relabel, (LOGGED, ZEROS, MOVES), "change"),
    (relabel, (LOGGED, ZEROS, Change("wide", reward=lambda s, r: r[:, :1])), "change.reward"),
    (relabel, (LOGGED, lambda states: states, NOTHING), "reward"),
    (relabel, (LOGGED, lambda states, actions: states, NOTHING), "reward"),
    (relabel, (LOGGED, lambda states: WITH_NAN, NOTHING), "reward"),
    (plan, (X, R, P, 0.95, Change("bad", transition=lambda p: p[:1])), "change.transition"),
    (plan, (X, R, P, 0.95, Change("bad", transition=lambda p: 2 * p)), "change.transition[0, 0]"),
    (plan, (X, R, P, 0.95, NEGATIVE), "change.transition[0, 0, 0]"),
    (plan, (X[:5], R, P, 0.95, NOTHING), "reward"),
    (plan, (X, R, P[:1], 0.95, NOTHING), "transition"),
    (plan, (X, R, 3 * P, 0.95, MOVES), "transition[0, 0]"),
]


@pytest.mark.parametrize(("function", "arguments", "field"), WRONG)
def test_bad_input_is_named(
    function: Callable[..., object], arguments: tuple[Any, ...], field: str
) -> None:
    with pytest.raises(InputError) as caught:
        function(*arguments)
    assert caught.value.field == field
