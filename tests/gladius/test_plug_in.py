"""The tabular plug-in: exact at the truth, and equal to plain loops."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import tabular_mdps, transitions

import gladius
from gladius.anchor import Anchor
from gladius.baselines import plug_in
from gladius.checks import InputError
from gladius.mdp import TabularMDP
from gladius.transitions import Counts, Transitions
from gladius.worlds.bus import BusEngine

Array = NDArray[np.float64]

BUS = BusEngine()
ANCHOR = Anchor(1, -5.0)
MILD = st.sampled_from([0.5, 0.9, 0.95])


def rows(states: list[int], actions: list[int], following: list[int]) -> Transitions:
    now, after = (np.array(x, dtype=float)[:, None] for x in (states, following))
    return Transitions(now, np.array(actions), after)


def population(mdp: TabularMDP, share: Array) -> Counts:
    """Counts in exact proportion to share(s) pi(a | s) P(s' | s, a), every n(s, a) above one."""
    visits = share[:, None] * mdp.solution.policy
    visits = visits / min(1.0, visits.min())
    moves = visits.T[:, :, None] * mdp.transition
    return Counts(mdp.features, visits[None], moves[None])


def recovered(mdp: TabularMDP, share: Array, anchor: Anchor) -> tuple[Array, Array]:
    """(Q, r) on the states of a world, from the population's frequencies."""
    counts = population(mdp, share)
    found = plug_in.fit_counts(counts, anchor, mdp.discount, pseudo_count=0)[0]
    return found.q(mdp.features), found.reward_function(mdp.features)


def test_true_frequencies_return_the_true_reward_of_the_bus() -> None:
    mdp = BUS.mdp
    q, reward = recovered(mdp, mdp.occupancy(100).sum(axis=1), ANCHOR)
    np.testing.assert_allclose(reward, mdp.reward, rtol=0, atol=1e-10)
    np.testing.assert_allclose(q, mdp.solution.q, rtol=0, atol=1e-10)
    _, misled = recovered(mdp, np.ones(20), Anchor(1, -4.0))  # control
    np.testing.assert_allclose(misled, mdp.reward + 1.0, rtol=0, atol=1e-10)


@settings(max_examples=60)
@given(tabular_mdps(discounts=MILD))
def test_true_frequencies_return_the_true_reward_of_any_world(mdp: TabularMDP) -> None:
    assume(mdp.reward.shape[1] > 1)
    mild = 3 * np.tanh(mdp.reward / 3)  # so that every action is taken
    mdp = TabularMDP(mild, mdp.transition, mdp.discount, mdp.initial)
    anchor = Anchor(0, lambda s: mdp.reward[s[:, 0].astype(int), 0])
    _, reward = recovered(mdp, np.ones(len(mdp.initial)), anchor)
    # a few units of rounding of V, raised by 1/(1-beta), the norm of the linear system's inverse
    scale = float(np.abs(mdp.solution.q).max()) / (1 - mdp.discount)
    np.testing.assert_allclose(reward, mdp.reward, rtol=0, atol=1e-12 * max(1.0, scale))


def plain(data: Transitions, anchor: Anchor, beta: float, c: float) -> dict[float, list[float]]:
    """The same estimator in one dimension, with dictionaries and loops. state -> rewards."""
    rows = list(
        zip(data.states[:, 0], data.actions, data.next_states[:, 0], data.done, strict=True)
    )
    grid = sorted({s for s, *_ in rows} | {t for *_, t, done in rows if not done})
    actions = range(data.number_of_actions)
    seen = sorted({s for s, *_ in rows})

    def closest(x: float, among: list[float]) -> float:
        return min(among, key=lambda y: abs(x - y))

    number: dict[tuple[float, int], float] = defaultdict(float)
    moves: dict[tuple[float, int], dict[float, float]] = defaultdict(lambda: defaultdict(float))
    for s, a, t, done in rows:
        number[s, a] += 1
        if not done:
            moves[s, a][t] += 1
    borrowed = {}
    for a in actions:
        total = sum(number[s, a] for s in grid)
        shares: dict[bool, dict[float, float]] = {}
        score = {}
        for relative in (True, False):
            share: dict[float, float] = defaultdict(float)
            for s in grid:
                for t, n in moves[s, a].items():
                    share[t - s if relative else t] += n / max(total, 1)
            shares[relative] = share
            score[relative] = sum(
                n * np.log(share[t - s if relative else t])
                for s in grid
                for t, n in moves[s, a].items()
            )
        relative = score[True] >= score[False] - 1e-9
        borrowed[a] = (relative, shares[relative])
    transition = {}
    for s in grid:
        for a in actions:
            if number[s, a]:
                row = {t: n / number[s, a] for t, n in moves[s, a].items()}
            else:
                relative, share = borrowed[a]
                row = defaultdict(float)
                for point, weight in share.items():
                    row[closest(s + point if relative else point, grid)] += weight
            transition[s, a] = row
    log_pi = {}
    for s in grid:
        nearest_seen = closest(s, seen)
        total = sum(number[nearest_seen, a] + c for a in actions)
        for a in actions:
            log_pi[s, a] = np.log((number[nearest_seen, a] + c) / total)
    value = dict.fromkeys(grid, 0.0)
    for _ in range(int(np.log(1e-15) / np.log(beta)) + 1):  # iterated, not solved
        value = {
            s: float(anchor.values(np.array([[s]]))[0])
            - log_pi[s, anchor.action]
            + beta * sum(p * value[t] for t, p in transition[s, anchor.action].items())
            for s in grid
        }
    return {
        s: [
            log_pi[s, a] + value[s] - beta * sum(p * value[t] for t, p in transition[s, a].items())
            for a in actions
        ]
        for s in grid
    }


@settings(max_examples=60)
@given(
    transitions(elements=st.sampled_from([0.0, 1.0, 3.3, 8.7, 20.9]), actions=2, width=1),
    st.sampled_from([0.5, 0.01, 2.0]),
)
def test_agrees_with_plain_loops(data: Transitions, pseudo_count: float) -> None:
    offered = np.isin(data.states[:, 0], data.states[data.actions == 1, 0])
    assume(offered.mean() >= 0.5)  # else the anchor is refused
    anchor = Anchor(1, lambda s: -1.0 - s[:, 0])
    expected = plain(data, anchor, 0.7, pseudo_count)
    estimate = plug_in.fit([data], anchor, 0.7, pseudo_count=pseudo_count)[0]
    grid = np.array(sorted(expected))[:, None]
    np.testing.assert_allclose(
        estimate.reward_function(grid), [expected[s] for s in grid[:, 0]], atol=1e-9
    )


def test_agrees_with_plain_loops_on_the_bus() -> None:
    data = BUS.simulate(5, np.random.default_rng(1))
    expected = plain(data, ANCHOR, 0.95, 0.5)
    estimate = plug_in.fit([data], ANCHOR, 0.95)[0]
    seen = np.unique(data.states)[:, None]
    np.testing.assert_allclose(
        estimate.reward_function(seen), [expected[s] for s in seen[:, 0]], atol=1e-9
    )
    np.testing.assert_allclose(estimate.reward(seen, 1), -5.0, atol=1e-12)


def test_a_higher_anchor_lifts_every_reward_by_as_much() -> None:
    data = BUS.simulate(8, np.random.default_rng(2))
    low, high = (plug_in.fit([data], Anchor(1, r), 0.95)[0] for r in (-5.0, -3.5))
    grid = BUS.mdp.features
    lifted = low.reward_function(grid) + 1.5
    np.testing.assert_allclose(high.reward_function(grid), lifted, atol=1e-10)
    np.testing.assert_allclose(high.policy(grid), low.policy(grid), atol=1e-12)


def test_states_never_seen_take_the_choices_of_the_nearest() -> None:
    data = rows([1, 1, 1, 4], [0, 0, 1, 1], [4, 2, 1, 9])
    estimate = plug_in.fit([data], ANCHOR, 0.9, pseudo_count=0.5)[0]
    near = estimate.policy(np.array([1.0, 2.0, -3.0]))  # 2 is on the grid as s' only
    np.testing.assert_allclose(near, np.broadcast_to([2.5 / 4, 1.5 / 4], (3, 2)))
    np.testing.assert_allclose(estimate.policy(np.array([9.0]))[0], [0.25, 0.75])


def test_diagnostics_are_those_of_the_fit() -> None:
    data = BUS.simulate(20, np.random.default_rng(3))
    estimate = gladius.fit(data, "plug_in", anchor_action=1, anchor_reward=-5.0, discount=0.95)
    picked = estimate.policy(data.states)[np.arange(len(data)), data.actions]
    np.testing.assert_allclose(estimate.diagnostics.nll, -np.log(picked).mean())
    assert estimate.diagnostics.bellman_error < 1e-20


def test_no_pseudo_count_needs_every_action_in_every_state_seen() -> None:
    full = rows([1, 1, 2, 2], [0, 1, 0, 1], [2, 1, 2, 1])
    estimate = plug_in.fit([full], ANCHOR, 0.95, pseudo_count=0)[0]
    np.testing.assert_allclose(estimate.policy(np.array([1.0, 2.0])), 0.5)
    with pytest.raises(InputError, match=r"action 1 never occurs in state \[2.0\]"):
        plug_in.fit([full.take(np.arange(3))], ANCHOR, 0.95, pseudo_count=0)


def test_an_anchor_seldom_offered_is_refused() -> None:
    data = rows([1, 2, 2, 2], [1, 0, 0, 0], [2, 2, 2, 1])
    with pytest.raises(InputError) as caught:
        plug_in.fit([data], ANCHOR, 0.95)
    assert caught.value.field == "anchor_action"
