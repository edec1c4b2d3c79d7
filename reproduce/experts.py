"""The bundled experts: trained by PPO as RL-Zoo trains, or converted from RL-Zoo's own zips.

Each becomes a weight file without code in it (`gladius.worlds.experts.write_weights`) and a model
card beside it. Training takes minutes for CartPole and about half an hour of processor time for
either of the others; none of the exhibits does it.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gladius.checks import InputError, check_choice, check_whole
from gladius.worlds.experts import (
    NORMALISED,
    Expert,
    Normaliser,
    expert,
    policy_layers,
    write_weights,
)
from gladius.worlds.gym import (
    ENVIRONMENTS,
    LunarLander,
    environment,
    episode_seeds,
    evaluate,
    installed,
)
from reproduce.demonstrations import where_installed
from reproduce.seeds import sequence
from reproduce.spec import Cell, Record, Result

LICENCE = "LICENSE"
USED = ("stable-baselines3", "gymnasium", "torch")


@dataclass(frozen=True)
class Recipe:
    """RL-Zoo's settings of PPO for one environment (rl-baselines3-zoo, hyperparams/ppo.yml).

    Attributes:
        steps: of all environments together.
        environments: side by side.
        options: of stable_baselines3.PPO.
        falling: options that fall linearly to zero, and where they start.
    """

    steps: int
    environments: int
    options: dict[str, float]
    falling: dict[str, float] = field(default_factory=dict)


RECIPES = {
    "CartPole-v1": Recipe(
        100_000,
        8,
        {"n_steps": 32, "batch_size": 256, "n_epochs": 20}
        | {"gae_lambda": 0.8, "gamma": 0.98, "ent_coef": 0.0},
        {"learning_rate": 0.001, "clip_range": 0.2},
    ),
    "Acrobot-v1": Recipe(
        1_000_000,
        16,
        {"n_steps": 256, "n_epochs": 4, "gae_lambda": 0.94, "gamma": 0.99, "ent_coef": 0.0},
    ),
    "LunarLander-v3": Recipe(
        1_000_000,
        16,
        {"n_steps": 1024, "batch_size": 64, "n_epochs": 4}
        | {"gae_lambda": 0.98, "gamma": 0.999, "ent_coef": 0.01},
    ),
}


def train(name: str, recipe: Recipe | None = None) -> Expert:
    """Train one expert; its seed is fixed by its name.

    Args:
        name: CartPole-v1, Acrobot-v1 or LunarLander-v3.
        recipe: other settings than RL-Zoo's.

    Raises:
        InputError: unknown, or something is not installed.
    """
    environment(name)  # it says what is missing
    if find_spec("stable_baselines3") is None:
        hint = "stable_baselines3 is not installed: pip install 'gladius-checked[experts]'"
        raise InputError("experts", name, hint)
    if name == LunarLander.name:  # with its warnings out of the way, before `make` imports it
        installed(name, "gymnasium.envs.box2d.lunar_lander", "Box2D")
    chosen = recipe or RECIPES[name]
    library = import_module("stable_baselines3")
    make = import_module("stable_baselines3.common.env_util").make_vec_env
    seed = int(sequence("experts", name, 0).generate_state(1)[0])
    worlds = make(name, n_envs=chosen.environments, seed=seed)
    if name in NORMALISED:
        normalise = import_module("stable_baselines3.common.vec_env").VecNormalize
        worlds = normalise(worlds, gamma=chosen.options["gamma"])
    options: dict[str, Any] = {**chosen.options}  # and functions of the share that is left, 1 to 0
    options |= {option: partial(mul, start) for option, start in chosen.falling.items()}
    model = library.PPO("MlpPolicy", worlds, seed=seed, device="cpu", **options)
    model.learn(chosen.steps)
    normaliser = None
    if name in NORMALISED:
        scale = np.sqrt(worlds.obs_rms.var + worlds.epsilon)
        normaliser = Normaliser(worlds.obs_rms.mean, scale, float(worlds.clip_obs))
    return Expert(name, policy_layers(model.policy.state_dict()), normaliser)


def returns(chosen: Expert, episodes: int) -> pd.DataFrame:
    """Mean return, its standard error and mean length in each way to follow an expert."""
    ways = {"sampled": chosen, "deterministic": replace(chosen, deterministic=True)}
    if chosen.normaliser is not None:
        for way, followed in list(ways.items()):
            ways[f"{way}, without the normaliser"] = replace(followed, normaliser=None)
    if chosen.environment == LunarLander.name:
        ways["sampled, both legs down -> action 0"] = replace(chosen, legs_down=True)
    seeds = episode_seeds(
        np.random.default_rng(sequence("experts", chosen.environment, 0, "episodes")), episodes
    )
    rows = []
    for way, policy in ways.items():
        scores = evaluate(environment(chosen.environment), policy, seeds)
        spread = scores.returns.std(ddof=1) / np.sqrt(episodes)
        rows.append((way, scores.returns.mean(), spread, scores.lengths.mean()))
    return pd.DataFrame(rows, columns=["followed", "return", "standard error", "steps"])


def card(chosen: Expert, origin: str, episodes: int) -> str:
    """The model card of an expert, in Markdown; `origin` says where the weights are from."""
    layers = " x ".join(str(weight.shape[0]) for weight in chosen.layers[::2])
    widths = f"{layers} x {chosen.layers[-1].shape[0]}"
    what = f"Policy of {chosen.environment}: logits of the actions, network {widths}, tanh"
    if chosen.normaliser is not None:
        what += ", on normalised observations (centre, scale and clip are in the file)"
    lines = [
        f"# Expert for {chosen.environment}",
        "",
        f"{what}. Read by `gladius.worlds.experts.expert`.",
        "",
        origin,
        "",
        f"Undiscounted returns over {episodes} episodes on common seeds (gymnasium "
        f"{version('gymnasium')}):",
        "",
        "| followed | return | standard error | steps |",
        "| --- | --- | --- | --- |",
    ]
    for row in returns(chosen, episodes).itertuples(index=False):
        lines.append(f"| {row[0]} | {row[1]:.1f} | {row[2]:.1f} | {row[3]:.0f} |")
    return "\n".join(lines) + "\n"


@where_installed
def measure(cell: Cell, device: str) -> Result:
    """Returns of an expert in each way to follow it. Settings: environment, source, episodes, and
    the folder of a `zoo`, whose normaliser, a pickle, is left where it is."""
    told = cell.settings
    name, source = told["environment"], told["source"]
    zoo = {"folder": told["folder"], "normalised": False} if source == "zoo" else {}
    chosen, records = expert(name, source, **zoo), []
    for followed, mean, se, length in returns(chosen, told["episodes"]).itertuples(index=False):
        if source == "zoo" and name in NORMALISED:
            followed += ", without the normaliser"
        records += [
            Record(f"return, {followed}", mean, se, told["episodes"]),
            Record(f"steps, {followed}", length, repetitions=told["episodes"]),
        ]
    return Result(tuple(records))


def write(
    names: Sequence[str], out: Path, zoo: Path | None, allow_pickle: bool, episodes: int
) -> Iterable[Path]:
    """Train the named experts (all, if none is), or convert them; yield the weight files in `out`.

    With `zoo`, a folder of RL-Zoo's zips and their LICENSE, nothing is trained; a normaliser is
    read from a pickle there only with `allow_pickle`. A line of a card is over `episodes`.
    """
    for name in names:
        check_choice("experts", name, tuple(ENVIRONMENTS))
        environment(name)
    check_whole("episodes", episodes, 2)
    installed("model card", "gymnasium")  # the figures say by which version
    if zoo is not None and not (zoo / LICENCE).is_file():
        raise InputError("zoo", str(zoo), f"a file {LICENCE} has to travel with the weights")
    os.makedirs(out, exist_ok=True)
    for name in names or tuple(ENVIRONMENTS):
        if zoo is None:
            chosen = train(name)
            versions = ", ".join(f"{package} {version(package)}" for package in USED)
            origin = f"Trained by `python -m reproduce experts {name}`, PPO with RL-Zoo's settings"
            origin = f"{origin}: `reproduce/experts.py` ({versions})."
        else:
            chosen = expert(name, "zoo", folder=zoo, allow_pickle=allow_pickle)
            origin = "The PPO agent of RL-Zoo (rl-baselines3-zoo, MIT: see LICENSE)"
            if name == LunarLander.name:
                origin += ", trained in LunarLander-v2"
            origin += "; converted by `python -m reproduce experts --zoo`, no number changed."
            shutil.copyfile(zoo / LICENCE, out / LICENCE)
        write_weights(chosen, out / f"{name}.npz")
        (out / f"{name}.md").write_text(card(chosen, origin, episodes), "utf-8")
        yield out / f"{name}.npz"
