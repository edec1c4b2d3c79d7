"""The command that makes the bundled experts; training itself takes an hour and is not run."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from saved_experts import save_normaliser, save_zip, state_dict
from typer.testing import CliRunner

from gladius.checks import InputError
from gladius.worlds.experts import expert
from gladius.worlds.gym import ENVIRONMENTS, Acrobot, episode_seeds, evaluate
from reproduce import __main__ as command
from reproduce import experts
from reproduce.exhibits import table_4_experts
from reproduce.seeds import sequence
from tests.reproduce.shown import results_of, written

gymnasium_needed = pytest.mark.skipif(not find_spec("gymnasium"), reason="gymnasium not installed")
training_needed = pytest.mark.skipif(
    not (find_spec("gymnasium") and find_spec("stable_baselines3")),
    reason="stable_baselines3 not installed: the optional extra experts",
)


@gymnasium_needed
def test_zips_become_weight_files_with_card_and_licence(tmp_path: Path) -> None:
    zoo, out, chosen = tmp_path / "zoo", tmp_path / "out", expert("Acrobot-v1")
    zoo.mkdir()
    save_zip(zoo / "Acrobot-v1.zip", state_dict(chosen.layers))
    saved = save_normaliser(zoo / "Acrobot-v1.vecnormalize.pkl", 6)
    told = ["experts", "Acrobot-v1", "--zoo", str(zoo), "--out", str(out), "--episodes", "2"]
    refused = CliRunner().invoke(command.app, [*told, "--allow-pickle"])
    assert isinstance(refused.exception, InputError)
    assert refused.exception.field == "zoo"  # no licence
    (zoo / "LICENSE").write_text("MIT", "utf-8")
    refused = CliRunner().invoke(command.app, told)
    assert isinstance(refused.exception, InputError)
    assert refused.exception.field == "allow_pickle"
    result = CliRunner().invoke(command.app, [*told, "--allow-pickle"])
    assert result.exit_code == 0, result.exception
    written = expert("Acrobot-v1", folder=out)
    for ours, theirs in zip(written.layers, chosen.layers, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert written.normaliser is not None
    np.testing.assert_array_equal(written.normaliser.scale, saved.scale)
    text = (out / "Acrobot-v1.md").read_text("utf-8")
    assert "network 6 x 64 x 64 x 3" in text
    assert text.count("\n| ") == 6  # heading, rule, four ways to follow it
    assert (out / "LICENSE").read_text("utf-8") == "MIT"


def test_the_table_of_experts_has_the_sources_that_were_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acrobot's, which needs nothing installed, from the package and from a zip of the same."""
    monkeypatch.delenv(table_4_experts.FOLDER, raising=False)
    assert {e.column for e in table_4_experts.entries(True)} == {"bundled"}
    save_zip(tmp_path / "Acrobot-v1.zip", state_dict(expert("Acrobot-v1").layers))
    monkeypatch.setenv(table_4_experts.FOLDER, str(tmp_path))
    entries = [e for e in table_4_experts.entries(True) if e.row == "Acrobot-v1"]
    frame = written(
        table_4_experts.EXHIBIT, results_of(table_4_experts.EXHIBIT, entries), tmp_path / "out"
    )
    values = frame.set_index(["column", "statistic"])["value"]
    assert len(values["bundled"]) == 8
    assert len(values["zoo"]) == 4
    assert (values["bundled"].loc[values["zoo"].index] == values["zoo"]).all()
    teacher = expert("Acrobot-v1", deterministic=True, normalised=False)
    rng = np.random.default_rng(sequence("experts", "Acrobot-v1", 0, "episodes"))
    starts = episode_seeds(rng, table_4_experts.SMOKE_EPISODES)
    wanted = evaluate(Acrobot(), teacher, starts).returns.mean()
    assert values["zoo", "return, deterministic, without the normaliser"] == pytest.approx(wanted)


@training_needed
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what trains, not ours
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_tiny_training_gives_the_same_expert_each_time() -> None:
    recipe = experts.RECIPES["Acrobot-v1"]
    tiny = {**recipe.options, "n_steps": 16, "batch_size": 16, "n_epochs": 1}
    recipe = replace(recipe, steps=64, environments=2, options=tiny)
    first, again = (experts.train("Acrobot-v1", recipe) for _ in range(2))
    assert first.normaliser is not None
    for one, other in zip(first.layers, again.layers, strict=True):
        assert one.tobytes() == other.tobytes()


def test_every_environment_has_a_recipe() -> None:
    assert set(experts.RECIPES) == set(ENVIRONMENTS)


def test_wrong_names_and_what_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="choose one of"):
        list(experts.write(["Pong-v5"], tmp_path, None, False, 10))
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(InputError, match=r"gladius-checked\[experts\]"):
        experts.train("Acrobot-v1")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(InputError, match=r"gladius-checked\[gym\]"):
        list(experts.write(["Acrobot-v1"], tmp_path, None, False, 10))
    assert not any(tmp_path.iterdir())
