"""The worlds of gymnasium against gymnasium itself, and what an end is that a time limit is not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp

from gladius.checks import Array, InputError
from gladius.methods import fit
from gladius.transitions import Integers
from gladius.worlds import gym
from gladius.worlds.gym import Acrobot, CartPole, Moved, environment, evaluate, rollout

MISSING = [package for package in ("gymnasium", "Box2D") if find_spec(package) is None]
WHY = f"{' and '.join(MISSING)} not installed: the optional extra gym"
gymnasium_needed = pytest.mark.skipif("gymnasium" in MISSING, reason=WHY)
lander_needed = pytest.mark.skipif(bool(MISSING), reason=WHY)
NAMES = [
    pytest.param("CartPole-v1", marks=gymnasium_needed),
    "Acrobot-v1",
    pytest.param("LunarLander-v3", marks=lander_needed),
]
AGAINST_GYMNASIUM = [
    pytest.param("CartPole-v1", {}, marks=gymnasium_needed),
    pytest.param("CartPole-v1", {"pole": 1.0}, marks=gymnasium_needed),
    pytest.param("Acrobot-v1", {}, marks=gymnasium_needed),
    pytest.param("Acrobot-v1", {"mass_2": 2.0}, marks=gymnasium_needed),
    pytest.param("LunarLander-v3", {}, marks=lander_needed),
    pytest.param("LunarLander-v3", {"wind": 15.0}, marks=lander_needed),
]


def evenly(actions: int) -> Callable[[Array], Array]:
    """All actions alike."""
    return lambda states: np.full((len(states), actions), 1 / actions)


def gymnasiums(name: str, changes: dict[str, float]) -> Any:
    """The environment of `gymnasium.make`, wrappers and all."""
    environment(name)  # imports it without the warnings of SWIG
    make = import_module("gymnasium").make
    if "wind" in changes:
        return make(name, enable_wind=True, wind_power=changes["wind"])
    made = make(name)
    if "pole" in changes:
        made.unwrapped.length = changes["pole"]
        made.unwrapped.polemass_length = changes["pole"] * made.unwrapped.masspole
    if "mass_2" in changes:
        made.unwrapped.LINK_MASS_2 = changes["mass_2"]
    return made


@pytest.mark.parametrize(("name", "changes"), AGAINST_GYMNASIUM)
def test_episodes_are_gymnasiums_to_the_last_bit(name: str, changes: dict[str, float]) -> None:
    world, seeds = environment(name, **changes), [3, 1, 4]
    data, rewards, scores = rollout(world, evenly(world.number_of_actions), seeds)
    reference = gymnasiums(name, changes)
    for episode, seed in enumerate(seeds):
        now, _ = reference.reset(seed=seed)
        truncated, rows = False, np.flatnonzero(data.trajectory == episode)
        for row in rows:
            np.testing.assert_array_equal(now, data.states[row])
            now, reward, terminated, truncated, _ = reference.step(int(data.actions[row]))
            np.testing.assert_array_equal(now, data.next_states[row])
            assert (reward, terminated) == (rewards[row], data.done[row])
            assert (row == rows[-1]) == (terminated or truncated)
        assert scores.lengths[episode] == len(rows)
        assert scores.returns[episode] == sum(rewards[rows].tolist())
        assert scores.terminated[episode] == terminated


@gymnasium_needed
@pytest.mark.parametrize("mass_2", [1.0, 2.0])
def test_acrobots_equations_are_gymnasiums_in_random_states(mass_2: float) -> None:
    """At any speed, where an episode hardly comes; x * x for a square shows in 1 state of 400."""
    rng = np.random.default_rng(11)
    most = np.array([np.pi, np.pi, 4 * np.pi, 9 * np.pi])
    states, actions = rng.uniform(-most, most, (2000, 4)).T, rng.integers(0, 3, 2000)
    after = gym.acrobot_step(states, actions, mass_2)
    seen = gym.acrobot_observations(after)
    reference = gymnasiums("Acrobot-v1", {"mass_2": mass_2}).unwrapped
    for i in range(2000):
        reference.state = states[:, i].copy()
        observed, *_ = reference.step(int(actions[i]))
        np.testing.assert_array_equal(reference.state, after[:, i])
        np.testing.assert_array_equal(observed, seen[i])


angles, speeds = st.floats(-np.pi, np.pi), st.floats(-12.0, 12.0)


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.tuples(
            arrays(float, (2, n), elements=angles),
            arrays(float, (2, n), elements=speeds),
            arrays(np.int64, n, elements=st.integers(0, 2)),
        )
    )
)
def test_acrobot_mirrored_moves_as_its_mirror_image(drawn: tuple[Array, Array, Integers]) -> None:
    """Left and right are alike; angles up to whole turns. Needs no gymnasium."""
    state = np.concatenate(drawn[:2])
    one, other = gym.acrobot_step(state, drawn[2]), -gym.acrobot_step(-state, 2 - drawn[2])
    np.testing.assert_allclose(np.exp(1j * one[:2]), np.exp(1j * other[:2]), atol=1e-9)
    np.testing.assert_allclose(one[2:], other[2:], atol=1e-9)


# Ends and time limits -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_truncated_episode_is_not_done(name: str) -> None:
    world = environment(name, limit=5)
    data, _, scores = rollout(world, evenly(world.number_of_actions), [0, 1])
    np.testing.assert_array_equal(scores.lengths, [5, 5])
    assert not np.any(data.done)
    assert not np.any(scores.terminated)


@gymnasium_needed
def test_an_ended_episode_is_done_in_its_last_row_alone() -> None:
    data, _, scores = rollout(CartPole(), evenly(2), [0, 1, 2])
    last = np.append(np.diff(data.trajectory) > 0, True)
    np.testing.assert_array_equal(data.done, last)
    assert np.all(scores.terminated)
    # the same path, looked at just as long: an end in the last step allowed is an end
    at_limit = rollout(CartPole(limit=int(scores.lengths[0])), evenly(2), [0])
    np.testing.assert_array_equal(at_limit.data.done, data.done[data.trajectory == 0])


@dataclass
class Waiting:
    """One state, any two actions, nothing ever ends."""

    limit: int = 2
    name: ClassVar[str] = "waiting"
    features: ClassVar[tuple[str, ...]] = ("x",)
    number_of_actions: ClassVar[int] = 2

    def begin(self, seeds: Integers) -> Waiting:
        self.observations = np.zeros((len(seeds), 1))
        return self

    def step(self, episodes: Integers, actions: Integers) -> Moved:
        rows = len(episodes)
        return Moved(np.zeros((rows, 1)), np.zeros(rows), np.zeros(rows, dtype=bool))


@pytest.mark.parametrize("anchor", [0, 1])
def test_what_it_costs_to_take_a_time_limit_for_an_end(anchor: int) -> None:
    """Two steps, action 0 and then 1, over and over, both worth nothing: V = log 2 / (1 - beta).

    Called an end, the limit makes action 1 one that ends everything. With action 0 as the anchor V
    stays and r-hat(1) has to make up for beta V, ten standard deviations of a taste shock; with
    action 1, V falls to log 2.
    """
    times = iter([0, 1])
    right = rollout(Waiting(), lambda states: np.eye(2)[[next(times)] * len(states)], range(6)).data
    wrong = replace(right, done=right.actions == 1)
    other, state, beta = 1 - anchor, np.zeros((1, 1)), 0.95
    told: dict[str, Any] = {"anchor_action": anchor, "anchor_reward": 0.0, "discount": beta}
    estimates = [fit(data, "plug_in", **told) for data in (right, wrong)]
    values = [float(logsumexp(estimate.q(state))) for estimate in estimates]
    rewards = [float(estimate.reward(state, other)[0]) for estimate in estimates]
    truth, log_2 = np.log(2) / (1 - beta), np.log(2)
    assert values == pytest.approx([truth, truth if anchor == 0 else log_2], abs=1e-8)
    assert rewards == pytest.approx([0, beta * truth if anchor == 0 else -beta * log_2], abs=1e-8)


# Seeds and policies -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seeds_give_the_same_bytes_alone_or_in_company(name: str) -> None:
    world = environment(name, limit=60)
    policy = evenly(world.number_of_actions)
    first, again, alone = (rollout(world, policy, seeds) for seeds in ([5, 6, 7], [5, 6, 7], [6]))
    company = first.data.trajectory == 1
    for column in ("states", "actions", "next_states", "done"):
        whole = getattr(first.data, column)
        assert whole.tobytes() == getattr(again.data, column).tobytes()
        assert whole[company].tobytes() == getattr(alone.data, column).tobytes()
    assert first.rewards.tobytes() == again.rewards.tobytes()
    scores = evaluate(world, policy, [5, 6, 7])
    assert scores.returns.tobytes() == first.scores.returns.tobytes()
    other = rollout(world, policy, [8]).data  # negative control: seeds matter
    assert not np.array_equal(other.states[0], alone.data.states[0])


def test_longer_lists_of_seeds_begin_with_the_shorter() -> None:
    few, many = (gym.episode_seeds(np.random.default_rng(2), number) for number in (3, 7))
    np.testing.assert_array_equal(few, many[:3])
    assert len(set(many.tolist())) == 7


def test_actions_are_drawn_by_their_probabilities_and_greedy_takes_the_likeliest() -> None:
    shares = np.array([0.0, 0.3, 0.7])

    def policy(states: Array) -> Array:
        return np.tile(shares, (len(states), 1))

    world = Acrobot(limit=50)
    actions = rollout(world, policy, range(40)).data.actions
    assert not np.any(actions == 0)
    spread = np.sqrt(0.3 * 0.7 / len(actions))
    assert abs(np.mean(actions == 1) - 0.3) < 5 * spread
    assert np.all(rollout(world, policy, [0], greedy=True).data.actions == 2)
    assert np.all(rollout(world, evenly(3), [0], greedy=True).data.actions == 0)


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("work", "field", "hint"),
    [
        (lambda: environment("Pong-v5"), "environment", "choose one of"),
        (lambda: environment("LunarLander-v2"), "environment", "give LunarLander-v3"),
        (lambda: environment("Acrobot-v1", pole=1.0), "option", "choose from"),
        (lambda: Acrobot(mass_2=0.0), "mass_2", "positive"),
        (lambda: Acrobot(limit=0), "limit", "at least 1"),
        (lambda: CartPole(pole=-1.0), "pole", "positive"),
        (lambda: gym.LunarLander(wind=21.0), "wind", "0 to 20"),
        (lambda: gym.episode_seeds(np.random.default_rng(0), 0), "number", "at least 1"),
    ],
)
def test_wrong_settings(work: Callable[[], object], field: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        work()
    assert caught.value.field == field
    assert hint in caught.value.hint


@pytest.mark.parametrize("seeds", [[], [-1], [0.5], [[1, 2]], [2**31], ["a"], 3])
def test_wrong_seeds(seeds: Any) -> None:
    with pytest.raises(InputError) as caught:
        evaluate(Acrobot(), evenly(3), seeds)
    assert caught.value.field == "seeds"


@pytest.mark.parametrize(
    "shares", [[0.5, 0.5], [0.5, 0.6, 0.1], [1.5, -0.5, 0.0], [np.nan, 0.5, 0.5], ["a", "b", "c"]]
)
def test_wrong_policies(shares: list[Any]) -> None:
    with pytest.raises(InputError) as caught:
        rollout(Acrobot(), lambda states: np.array([shares] * len(states)), [0])
    assert caught.value.field.startswith("policy")


@pytest.mark.parametrize(
    ("absent", "name", "package"),
    [
        ("gymnasium", "CartPole-v1", "gymnasium"),
        ("gymnasium", "LunarLander-v3", "gymnasium"),
        pytest.param("Box2D", "LunarLander-v3", "Box2D", marks=gymnasium_needed),
    ],
)
def test_what_is_not_installed_is_named_and_the_rest_works(
    absent: str, name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(InputError) as caught:
        environment(name)
    assert caught.value.field == "environment"
    assert caught.value.hint == f"{package} is not installed: {gym.EXTRA}"
    works = partial(environment, "Acrobot-v1" if absent == "gymnasium" else "CartPole-v1")
    assert evaluate(works(limit=3), evenly(works().number_of_actions), [0]).lengths[0] == 3
