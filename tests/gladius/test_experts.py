"""Experts: weight files that are the card's, and how the policies act."""

import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.designs import experts
from gladius.designs.experts import expert
from gladius.designs.gym import ACROBOT, CARTPOLE, ENVIRONMENTS, LUNAR_LANDER, evaluate
from gladius.validate import Array, InputError

gymnasium_needed = pytest.mark.skipif(not find_spec("gymnasium"), reason="gymnasium not installed")


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_each_expert_has_its_card(name: str) -> None:
    assert (expert(name).normaliser is not None) == (name == ACROBOT.name)
    assert expert(name, normalised=False).normaliser is None
    text = (experts.WEIGHTS / f"{name}.md").read_text("utf-8")
    assert f"# Expert for {name}" in text
    assert (experts.WEIGHTS / "LICENSE").is_file()


@gymnasium_needed
def test_the_experts_swing_up_the_acrobot_and_balance_the_pole() -> None:
    """The paper's expert needs 83 steps on average, a random policy more than 400."""
    scores = evaluate(ACROBOT, expert(ACROBOT.name, deterministic=True), range(5))
    assert np.all(scores.lengths < ACROBOT.limit)
    assert scores.returns.mean() > -100
    assert np.all(evaluate(CARTPOLE, expert(CARTPOLE.name), range(3)).returns == 500)


observations = st.integers(1, 5).flatmap(
    lambda n: arrays(float, (n, 8), elements=st.floats(-3, 3).map(round) | st.floats(-3, 3))
)


@given(observations)
def test_probabilities_are_those_of_the_network_in_torch(states: Array) -> None:
    policy = expert(LUNAR_LANDER.name)
    network = torch.nn.Sequential()
    for i in range(0, len(policy.layers), 2):
        inputs, outputs = policy.layers[i].shape
        layer = torch.nn.Linear(inputs, outputs, dtype=torch.float64)
        layer.weight.data = torch.tensor(policy.layers[i].T)
        layer.bias.data = torch.tensor(policy.layers[i + 1])
        network.extend([torch.nn.Tanh(), layer] if i else [layer])
    with torch.no_grad():
        theirs = torch.softmax(network(torch.tensor(states)), dim=1).numpy()
    np.testing.assert_allclose(policy(states), theirs, atol=1e-12)
    greedy = expert(LUNAR_LANDER.name, deterministic=True)(states)
    np.testing.assert_array_equal(greedy.argmax(axis=1), theirs.argmax(axis=1))
    assert set(np.unique(greedy)) == {0.0, 1.0}


@given(observations)
def test_both_legs_down_means_action_0_and_nothing_else_changes(states: Array) -> None:
    free = expert(LUNAR_LANDER.name)
    bound = replace(free, legs_down=True)
    landed = (states[:, 6] == 1) & (states[:, 7] == 1)
    np.testing.assert_array_equal(bound(states)[landed], np.eye(4)[[0] * landed.sum()])
    np.testing.assert_array_equal(bound(states)[~landed], free(states)[~landed])


def test_the_normaliser_centres_scales_and_clips() -> None:
    policy = expert(ACROBOT.name)
    assert policy.normaliser is not None
    plain, states = replace(policy, normaliser=None), np.random.default_rng(0).normal(size=(9, 6))
    scaled = (states - policy.normaliser.centre) / policy.normaliser.scale
    np.testing.assert_allclose(policy(states), plain(scaled), atol=1e-12)
    far = policy.normaliser.centre + 1e6 * policy.normaliser.scale
    np.testing.assert_allclose(policy(far[None]), plain(np.full((1, 6), 10.0)), atol=1e-12)


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["weights scaled", "no card", "no weights", "two digests"])
def test_weights_that_are_not_those_of_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Another number in the file is noticed, as are a file and a card that are missing."""
    path, card = tmp_path / "CartPole-v1.npz", tmp_path / "CartPole-v1.md"
    for file in (path, card):
        shutil.copy(experts.WEIGHTS / file.name, file)
    monkeypatch.setattr(experts, "WEIGHTS", tmp_path)
    assert expert("CartPole-v1")(np.zeros((1, 4))).shape == (1, 2)
    if fault == "weights scaled":
        with np.load(path) as stored:
            layers = {name: stored[name] for name in stored.files}
        layers["layer_0"] = 0.02 * layers["layer_0"]
        np.savez_compressed(path, **layers)
    elif fault == "two digests":
        card.write_text(2 * card.read_text("utf-8"), "utf-8")
    else:
        (card if fault == "no card" else path).unlink()
    with pytest.raises(InputError, match="install the package again") as caught:
        expert("CartPole-v1")
    assert caught.value.field == "expert"


def test_wrong_options() -> None:
    with pytest.raises(InputError, match="choose one of"):
        expert("Pong-v5")
    with pytest.raises(InputError, match=r"give \(n, 4\) observations"):
        expert("CartPole-v1")(np.zeros((2, 6)))
