"""Experts: files that are whole, of another environment, damaged or hostile; and how they act."""

from __future__ import annotations

import importlib.machinery
import pickle
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from saved_experts import Hostile, save_normaliser, save_zip, state_dict

from gladius.checks import Array, InputError
from gladius.worlds import experts
from gladius.worlds.experts import Expert, expert, read_weights, write_weights
from gladius.worlds.gym import ENVIRONMENTS, Acrobot, CartPole, evaluate

LANDER = "LunarLander-v3"


# The bundled ones ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_bundled_have_their_card_and_licence(name: str) -> None:
    chosen = expert(name)
    assert (chosen.normaliser is not None) == (name in experts.NORMALISED)
    assert expert(name, normalised=False).normaliser is None
    text = (experts.BUNDLED / f"{name}.md").read_text("utf-8")
    assert f"# Expert for {name}" in text
    assert "LICENSE" not in text or (experts.BUNDLED / "LICENSE").is_file()


def test_the_bundled_swing_up_the_acrobot() -> None:
    """Without gymnasium; the paper's expert needs 83 steps on average, chance far over 400."""
    chosen = expert("Acrobot-v1", deterministic=True)
    scores = evaluate(Acrobot(), chosen, range(5))
    assert np.all(scores.terminated)
    assert scores.returns.mean() > -100


@pytest.mark.skipif(not find_spec("gymnasium"), reason="gymnasium is not installed")
def test_the_bundled_balance_the_pole() -> None:
    assert np.all(evaluate(CartPole(), expert("CartPole-v1"), range(3)).returns == 500)


# A policy -----------------------------------------------------------------------------------------

observations = st.integers(1, 5).flatmap(
    lambda n: arrays(float, (n, 8), elements=st.floats(-3, 3).map(round) | st.floats(-3, 3))
)


@given(observations)
def test_probabilities_are_those_of_the_network_in_torch(states: Array) -> None:
    chosen = expert(LANDER)
    network = torch.nn.Sequential()
    for i in range(0, len(chosen.layers), 2):
        layer = torch.nn.Linear(*chosen.layers[i].shape, dtype=torch.float64)
        layer.weight.data = torch.tensor(chosen.layers[i].T)
        layer.bias.data = torch.tensor(chosen.layers[i + 1])
        network.extend([torch.nn.Tanh(), layer] if i else [layer])
    with torch.no_grad():
        theirs = torch.softmax(network(torch.tensor(states)), dim=1).numpy()
    np.testing.assert_allclose(chosen(states), theirs, atol=1e-12)
    firm = expert(LANDER, deterministic=True)(states)
    np.testing.assert_array_equal(firm.argmax(axis=1), theirs.argmax(axis=1))
    assert set(np.unique(firm)) == {0.0, 1.0}


@given(observations)
def test_both_legs_down_means_action_0_and_nothing_else_changes(states: Array) -> None:
    free, bound = expert(LANDER), expert(LANDER, legs_down=True)
    landed = (states[:, 6] == 1) & (states[:, 7] == 1)
    np.testing.assert_array_equal(bound(states)[landed], np.eye(4)[[0] * landed.sum()])
    np.testing.assert_array_equal(bound(states)[~landed], free(states)[~landed])


def test_the_normaliser_centres_scales_and_clips() -> None:
    chosen = expert("Acrobot-v1")
    assert chosen.normaliser is not None
    plain, states = replace(chosen, normaliser=None), np.random.default_rng(0).normal(size=(9, 6))
    scaled = (states - chosen.normaliser.centre) / chosen.normaliser.scale
    np.testing.assert_allclose(chosen(states), plain(scaled), atol=1e-12)
    far = chosen.normaliser.centre + 1e6 * chosen.normaliser.scale
    np.testing.assert_allclose(chosen(far[None]), plain(np.full((1, 6), 10.0)), atol=1e-12)


# Sources ------------------------------------------------------------------------------------------


def test_weight_files_are_read_back_and_have_the_same_bytes_each_time(tmp_path: Path) -> None:
    chosen = expert("Acrobot-v1")
    for name in "ab":
        write_weights(chosen, tmp_path / f"{name}.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    states = np.random.default_rng(1).normal(size=(20, 6))
    np.testing.assert_array_equal(
        read_weights(tmp_path / "a.npz", "Acrobot-v1")(states), chosen(states)
    )


@pytest.mark.parametrize("name", ["LunarLander-v2", "LunarLander-v3"])
def test_zips_give_the_weights_that_were_saved(tmp_path: Path, name: str) -> None:
    """An expert of the v2 serves v3; the critic's weights are none of the policy's."""
    chosen = expert(LANDER)
    save_zip(tmp_path / f"{name}.zip", state_dict(chosen.layers))
    read = expert(LANDER, "zoo", folder=tmp_path)
    for ours, theirs in zip(read.layers, chosen.layers, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_pickled_normaliser_is_read_by_flag_alone(tmp_path: Path) -> None:
    chosen = expert("Acrobot-v1")
    save_zip(tmp_path / "Acrobot-v1.zip", state_dict(chosen.layers))
    saved = save_normaliser(tmp_path / "Acrobot-v1.vecnormalize.pkl", 6)
    with pytest.raises(InputError) as caught:
        expert("Acrobot-v1", "zoo", folder=tmp_path)
    assert caught.value.field == "allow_pickle"
    assert "normalised=False" in caught.value.hint
    assert expert("Acrobot-v1", "zoo", folder=tmp_path, normalised=False).normaliser is None
    read = expert("Acrobot-v1", "zoo", folder=tmp_path, allow_pickle=True).normaliser
    assert read is not None
    np.testing.assert_array_equal(read.centre, saved.centre)
    np.testing.assert_array_equal(read.scale, saved.scale)
    assert read.clip == 10.0
    save_normaliser(tmp_path / "Acrobot-v1.vecnormalize.pkl", 4)
    with pytest.raises(InputError, match=r"normaliser = .*each of 6 features"):
        expert("Acrobot-v1", "zoo", folder=tmp_path, allow_pickle=True)


def test_the_hub_is_asked_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_zip(tmp_path / "ppo-LunarLander-v2.zip", state_dict(expert(LANDER).layers))
    library, asked = ModuleType("huggingface_sb3"), []

    def load_from_hub(repo_id: str, filename: str) -> str:
        asked.append((repo_id, filename))
        if repo_id != "sb3/ppo-LunarLander-v2":
            raise ConnectionError("no network")
        return str(tmp_path / filename)

    library.load_from_hub = load_from_hub  # type: ignore[attr-defined]  # that is how one is made
    library.__spec__ = importlib.machinery.ModuleSpec("huggingface_sb3", None)
    monkeypatch.setitem(sys.modules, "huggingface_sb3", library)
    assert expert(LANDER, "hub").layers[0].shape == (8, 64)
    assert asked == [("sb3/ppo-LunarLander-v2", "ppo-LunarLander-v2.zip")]
    with pytest.raises(InputError, match="ConnectionError: no network"):
        expert("CartPole-v1", "hub")
    monkeypatch.setitem(sys.modules, "huggingface_sb3", None)
    with pytest.raises(InputError, match="pip install huggingface-sb3"):
        expert("CartPole-v1", "hub")


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("Pong-v5",), "environment"),
        (("CartPole-v1", "shop"), "source"),
        (("CartPole-v1", "zoo"), "folder"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], field: str) -> None:
    with pytest.raises(InputError) as caught:
        expert(*arguments)
    assert caught.value.field == field


def test_wrong_options(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave it out for CartPole-v1"):
        expert("CartPole-v1", legs_down=True)
    with pytest.raises(InputError, match="the hub has none"):
        expert("CartPole-v1", "hub", folder=tmp_path)
    with pytest.raises(InputError, match=r"give \(n, 4\) observations"):
        expert("CartPole-v1")(np.zeros((2, 6)))
    with pytest.raises(InputError, match="policy"):  # a policy for another world's actions
        evaluate(Acrobot(), lambda states: expert("CartPole-v1")(states[:, :4]), [0])


@pytest.mark.parametrize("source", ["bundled", "zoo"])
def test_a_missing_file(tmp_path: Path, source: str) -> None:
    with pytest.raises(InputError, match="there is no such file") as caught:
        expert("CartPole-v1", source, folder=tmp_path)
    assert caught.value.field == "expert"
    assert ("python -m reproduce experts" in caught.value.hint) == (source == "bundled")


def test_another_environments_expert(tmp_path: Path) -> None:
    write_weights(expert("Acrobot-v1"), tmp_path / "CartPole-v1.npz")
    with pytest.raises(InputError, match="an expert for Acrobot-v1, asked for CartPole-v1"):
        expert("CartPole-v1", folder=tmp_path)
    save_zip(tmp_path / "CartPole-v1.zip", state_dict(expert("Acrobot-v1").layers))
    with pytest.raises(InputError, match="4 features and 2 actions"):
        expert("CartPole-v1", "zoo", folder=tmp_path)


@pytest.mark.parametrize("damage", ["empty", "text", "half", "other", "hostile"])
def test_a_damaged_weight_file(tmp_path: Path, damage: str) -> None:
    path, trap = tmp_path / "CartPole-v1.npz", tmp_path / "trap"
    write_weights(expert("CartPole-v1"), path)
    whole = path.read_bytes()
    path.write_bytes(
        {"empty": b"", "text": b"weights", "half": whole[: len(whole) // 2]}.get(damage, whole)
    )
    if damage == "other":
        np.savez(path, weights=np.zeros(3))
    if damage == "hostile":
        np.savez(path, environment=np.array([Hostile(trap)], dtype=object))
    with pytest.raises(InputError, match="no weight file, or a damaged one"):
        expert("CartPole-v1", folder=tmp_path)
    assert not trap.exists()


@pytest.mark.parametrize("damage", ["empty", "text", "half", "policy", "keys", "list", "hostile"])
def test_a_damaged_zip(tmp_path: Path, damage: str) -> None:
    path, trap = tmp_path / "CartPole-v1.zip", tmp_path / "trap"
    state = state_dict(expert("CartPole-v1").layers)
    odd: dict[str, object] = {"policy": b"weights", "keys": {"a": torch.zeros(2)}, "list": [1, 2]}
    odd["hostile"] = Hostile(trap)
    save_zip(path, odd.get(damage, state))
    whole = path.read_bytes()
    path.write_bytes(
        {"empty": b"", "text": b"weights", "half": whole[: len(whole) // 2]}.get(damage, whole)
    )
    with pytest.raises(InputError, match="no zip of Stable-Baselines3's PPO") as caught:
        expert("CartPole-v1", "zoo", folder=tmp_path)
    assert caught.value.field == "expert"
    assert not trap.exists()


@pytest.mark.parametrize("damage", ["missing", "empty", "text", "other", "hostile"])
def test_a_damaged_or_hostile_normaliser(tmp_path: Path, damage: str) -> None:
    path, trap = tmp_path / "Acrobot-v1.vecnormalize.pkl", tmp_path / "trap"
    save_zip(tmp_path / "Acrobot-v1.zip", state_dict(expert("Acrobot-v1").layers))
    content = {"empty": b"", "text": b"hello", "other": pickle.dumps({"mean": 1.0})}
    content["hostile"] = pickle.dumps(Hostile(trap))
    if damage != "missing":
        path.write_bytes(content[damage])
    with pytest.raises(InputError) as caught:
        expert("Acrobot-v1", "zoo", folder=tmp_path, allow_pickle=True)
    assert caught.value.field == "normaliser"
    assert not trap.exists()
    if damage == "hostile":  # negative control: read as any pickle it does make one
        pickle.loads(content[damage])
        assert trap.exists()


@pytest.mark.parametrize("fault", ["joint", "number", "nan", "none", "scale"])
def test_layers_that_are_no_network(fault: str) -> None:
    chosen = expert("Acrobot-v1")
    layers, normaliser = list(chosen.layers), chosen.normaliser
    assert normaliser is not None
    if fault == "joint":
        layers[2] = layers[2][:-1]
    elif fault == "number":
        layers = layers[:-1]
    elif fault == "nan":
        layers[0] = np.where(layers[0] == layers[0][0, 0], np.nan, layers[0])
    elif fault == "none":
        layers = []
    else:
        normaliser = replace(normaliser, scale=np.zeros(6))
    with pytest.raises(InputError):
        Expert("Acrobot-v1", tuple(layers), normaliser)
