"""The worlds of gymnasium against gymnasium itself, and what an end is that a time limit is not."""

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from gladius.designs import gym
from gladius.designs.gym import ACROBOT, CARTPOLE, environment, evaluate, rollout
from gladius.validate import Array, InputError

MISSING = [package for package in ("gymnasium", "Box2D") if find_spec(package) is None]
WHY = f"{' and '.join(MISSING)} not installed: the optional extra gym"
gymnasium_needed = pytest.mark.skipif("gymnasium" in MISSING, reason=WHY)
lander_needed = pytest.mark.skipif(bool(MISSING), reason=WHY)
NAMES = [
    pytest.param("CartPole-v1", marks=gymnasium_needed),
    pytest.param("Acrobot-v1", marks=gymnasium_needed),
    pytest.param("LunarLander-v3", marks=lander_needed),
]


def uniform(actions: int) -> Callable[[Array], Array]:
    """The uniform policy."""
    return lambda states: np.full((len(states), actions), 1 / actions)


@pytest.mark.parametrize("name", NAMES)
def test_episodes_are_gymnasiums_to_the_last_bit(name: str) -> None:
    """Those of `gymnasium.make`, wrappers and all."""
    world, seeds = environment(name), [3, 1, 4]
    policy = uniform(world.number_of_actions)
    data, scores = rollout(world, policy, seeds), evaluate(world, policy, seeds)
    reference = import_module("gymnasium").make(name)
    for episode, seed in enumerate(seeds):
        now, _ = reference.reset(seed=seed)
        truncated, rows = False, np.flatnonzero(data.trajectory == episode)
        total = 0.0
        for row in rows:
            np.testing.assert_array_equal(now, data.states[row])
            now, reward, terminated, truncated, _ = reference.step(int(data.actions[row]))
            np.testing.assert_array_equal(now, data.next_states[row])
            total += float(reward)
            assert terminated == data.done[row]
            assert (row == rows[-1]) == (terminated or truncated)
        assert scores.lengths[episode] == len(rows)
        assert scores.returns[episode] == total


# Ends and time limits -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_truncated_episode_is_not_done(name: str) -> None:
    world = replace(environment(name), limit=5)
    data = rollout(world, uniform(world.number_of_actions), [0, 1])
    np.testing.assert_array_equal(data.trajectory, np.repeat([0, 1], 5))
    assert not np.any(data.done)


@gymnasium_needed
def test_an_ended_episode_is_done_in_its_last_row_alone() -> None:
    data = rollout(CARTPOLE, uniform(2), [0, 1, 2])
    last = np.append(np.diff(data.trajectory) > 0, True)
    np.testing.assert_array_equal(data.done, last)
    # the same path, looked at just as long: an end in the last step allowed is an end
    done = data.done[data.trajectory == 0]
    at_limit = rollout(replace(CARTPOLE, limit=len(done)), uniform(2), [0])
    np.testing.assert_array_equal(at_limit.done, done)


# Seeds and policies -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seeds_give_the_same_bytes_alone_or_in_company(name: str) -> None:
    world = replace(environment(name), limit=60)
    policy = uniform(world.number_of_actions)
    first, again, alone = (rollout(world, policy, seeds) for seeds in ([5, 6, 7], [5, 6, 7], [6]))
    company = first.trajectory == 1
    for column in ("states", "actions", "next_states", "done"):
        whole = getattr(first, column)
        assert whole.tobytes() == getattr(again, column).tobytes()
        assert whole[company].tobytes() == getattr(alone, column).tobytes()
    scores = [evaluate(world, policy, seeds).returns for seeds in ([5, 6, 7], [6])]
    assert scores[0][1] == scores[1][0]
    other = rollout(world, policy, [8])  # negative control: seeds matter
    assert not np.array_equal(other.states[0], alone.states[0])


def test_longer_lists_of_seeds_begin_with_the_shorter() -> None:
    few, many = (gym.episode_seeds(np.random.default_rng(2), number) for number in (3, 7))
    np.testing.assert_array_equal(few, many[:3])
    assert len(set(many.tolist())) == 7


def test_actions_are_drawn_by_their_probabilities() -> None:
    shares = np.array([0.0, 0.3, 0.7])

    def policy(states: Array) -> Array:
        return np.tile(shares, (len(states), 1))

    world = replace(ACROBOT, limit=50)
    actions = rollout(world, policy, range(40)).actions
    assert not np.any(actions == 0)
    spread = np.sqrt(0.3 * 0.7 / len(actions))
    assert abs(np.mean(actions == 1) - 0.3) < 5 * spread


# Bad input ----------------------------------------------------------------------------------------


BAD_SHARES: list[list[Any]] = [[0.5, 0.5], [0.5, 0.6, 0.1], [1.5, -0.5, 0.0], ["a", "b", "c"]]
BAD_SHARES += [[np.nan, 0.5, 0.5]]


def act(shares: list[Any]) -> object:
    return rollout(ACROBOT, lambda states: np.array([shares] * len(states)), [0])


@pytest.mark.parametrize(
    ("work", "field", "hint"),
    [
        *[(lambda bad=bad: act(bad), "policy", "") for bad in BAD_SHARES],
        (lambda: environment("Pong-v5"), "environment", "choose one of"),
        (lambda: gym.episode_seeds(np.random.default_rng(0), 0), "number", "at least 1"),
    ],
)
def test_bad_input_is_named(work: Callable[[], object], field: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        work()
    assert caught.value.field.startswith(field)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("absent", "name", "package"),
    [
        ("gymnasium", "CartPole-v1", "gymnasium"),
        ("gymnasium", "LunarLander-v3", "gymnasium"),
        pytest.param("Box2D", "LunarLander-v3", "Box2D", marks=gymnasium_needed),
    ],
)
def test_what_is_not_installed_is_named(
    absent: str, name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(InputError) as caught:
        environment(name)
    assert caught.value.field == "environment"
    assert caught.value.hint == f"{package} is not installed: {gym.EXTRA}"
