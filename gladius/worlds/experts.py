"""Experts: trained policies for the environments of `gym`, from three sources behind one call.

`bundled` are weight files of this package (.npz); `zoo` are the zips that Stable-Baselines3 saves,
such as RL-Zoo's, in a folder; `hub` are the same zips from Hugging Face. Weights are read without
executing code: of a zip only `policy.pth` is opened, by torch's reader of weights, and neither
Stable-Baselines3 nor gymnasium is needed. A normaliser of observations is a pickle and read only
with `allow_pickle=True`, by a reader that knows NumPy's arrays and nothing else.

The paper's experts (Section 7, Table 4) were RL-Zoo's, sampled: on Acrobot without its normaliser,
on LunarLander with the override `legs_down`.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from gladius.checks import Array, InputError, check_choice
from gladius.worlds.gym import ENVIRONMENTS, LunarLander

SOURCES = ("bundled", "zoo", "hub")
BUNDLED = Path(__file__).parent / "expert_weights"
TRAIN = "train them with `python -m reproduce experts`"
PUBLISHED_AS = {LunarLander.name: "LunarLander-v2"}  # its experts are older than v3
NORMALISED = ("Acrobot-v1",)  # RL-Zoo's that were trained on normalised observations
HIDDEN, HEAD = "mlp_extractor.policy_net", "action_net"  # layers of the zips' MlpPolicy
LEGS = (LunarLander.features.index("left_leg"), LunarLander.features.index("right_leg"))


@dataclass(frozen=True)
class Normaliser:
    """x -> (x - centre) / scale, cut off at +- clip."""

    centre: Array
    scale: Array
    clip: float

    def __call__(self, states: Array) -> Array:
        scaled = (states - self.centre) / self.scale
        return np.clip(scaled, -self.clip, self.clip)


@dataclass(frozen=True)
class Expert:
    """A policy: (n, d) observations -> (n, A) probabilities.

    Attributes:
        environment: whose.
        layers: weight (in, out) and bias (out,) of each layer in turn, tanh between them.
        normaliser: of the observations, or None.
        deterministic: whether the likeliest action has probability 1.
        legs_down: whether action 0 has, as soon as both legs stand on the ground (LunarLander). The
            sampled expert otherwise fires a side engine now and then and never comes to rest.
    """

    environment: str
    layers: tuple[Array, ...]
    normaliser: Normaliser | None = None
    deterministic: bool = False
    legs_down: bool = False

    def __post_init__(self) -> None:
        check_choice("environment", self.environment, tuple(ENVIRONMENTS))
        _check_layers(self.environment, self.layers, self.normaliser)
        if self.legs_down and self.environment != LunarLander.name:
            hint = f"only {LunarLander.name} has legs: leave it out for {self.environment}"
            raise InputError("legs_down", self.legs_down, hint)

    def logits(self, states: Array) -> Array:
        """(n, A) outputs of the network."""
        width = self.layers[0].shape[0]
        if states.ndim != 2 or states.shape[1] != width:
            hint = f"this is an expert for {self.environment}: give (n, {width}) observations"
            raise InputError("states", states.shape, hint)
        signal = states if self.normaliser is None else self.normaliser(states)
        for i in range(0, len(self.layers), 2):
            signal = (np.tanh(signal) if i else signal) @ self.layers[i] + self.layers[i + 1]
        return signal

    def __call__(self, states: Array) -> Array:
        logits = self.logits(states)
        probabilities = np.asarray(softmax(logits, axis=1))
        if self.deterministic:
            probabilities = np.eye(logits.shape[1])[logits.argmax(axis=1)]
        if self.legs_down:
            probabilities[np.all(states[:, LEGS] == 1.0, axis=1)] = np.eye(logits.shape[1])[0]
        return probabilities


def expert(
    environment: str,
    source: str = "bundled",
    *,
    folder: str | os.PathLike[str] | None = None,
    deterministic: bool = False,
    legs_down: bool = False,
    normalised: bool = True,
    allow_pickle: bool = False,
) -> Expert:
    """An expert by its environment.

    Args:
        environment: CartPole-v1, Acrobot-v1 or LunarLander-v3.
        source: bundled, zoo or hub.
        folder: of the files; `bundled` has one of its own, `hub` none.
        deterministic, legs_down: as in Expert.
        normalised: with the normaliser that it was trained with, if any; the paper left it out.
        allow_pickle: whether the normaliser may be read from a pickle (zoo and hub).

    Raises:
        InputError: a file is missing or damaged, is another environment's, or would need a pickle.
    """
    check_choice("environment", environment, tuple(ENVIRONMENTS))
    check_choice("source", source, SOURCES)
    if source == "zoo" and folder is None:
        raise InputError("folder", folder, "give the folder of the zips")
    if source == "hub" and folder is not None:
        raise InputError("folder", folder, "the hub has none: leave it out")
    if source == "bundled":
        chosen = read_weights(Path(folder or BUNDLED) / f"{environment}.npz", environment)
        chosen = chosen if normalised else replace(chosen, normaliser=None)
    else:
        pickled = normalised and environment in NORMALISED
        if pickled and not allow_pickle:
            hint = f"the normaliser of {environment}'s expert is a pickle: trust its source and set"
            hint += " true, or leave the normaliser out by normalised=False, as the paper did"
            raise InputError("allow_pickle", allow_pickle, hint)
        place, beside = _zoo(environment, folder) if folder else _hub(environment, pickled)
        layers = zip_layers(place)
        normaliser = read_normaliser(beside) if pickled else None
        chosen = Expert(environment, layers, normaliser)
    return replace(chosen, deterministic=deterministic, legs_down=legs_down)


# Weight files of this package ---------------------------------------------------------------------


def write_weights(chosen: Expert, path: str | os.PathLike[str]) -> None:
    """An expert's network, as float32, and normaliser in a .npz file, the same bytes each time."""
    arrays: dict[str, NDArray[Any]] = {"environment": np.array(chosen.environment)}
    arrays |= {f"layer_{i}": part.astype(np.float32) for i, part in enumerate(chosen.layers)}
    if chosen.normaliser is not None:
        arrays |= {name: np.asarray(value) for name, value in vars(chosen.normaliser).items()}
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]  # the stub's own keyword


def read_weights(path: Path, environment: str) -> Expert:
    """The expert of a file by `write_weights`, or an error."""
    if not path.is_file():
        raise InputError("expert", str(path), f"there is no such file: {TRAIN}")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        told = str(arrays.pop("environment"))
        number = sum(name.startswith("layer_") for name in arrays)
        layers = tuple(arrays[f"layer_{i}"].astype(np.float64) for i in range(number))
        normaliser = None
        if "centre" in arrays:
            centre, scale, clip = (arrays[key].astype(float) for key in ("centre", "scale", "clip"))
            normaliser = Normaliser(centre, scale, float(clip))
    except Exception as error:  # whatever a damaged file makes its reader raise
        hint = f"no weight file, or a damaged one ({_why(error)}): {TRAIN}"
        raise InputError("expert", str(path), hint) from None
    if told != environment:
        raise InputError("expert", str(path), f"an expert for {told}, asked for {environment}")
    return Expert(environment, layers, normaliser)


# Stable-Baselines3's zips -------------------------------------------------------------------------


def zip_layers(path: Path) -> tuple[Array, ...]:
    """Weights and biases of a PPO `MlpPolicy` in a zip that Stable-Baselines3 saved."""
    import torch  # seconds; the bundled experts do without

    if not path.is_file():
        raise InputError("expert", str(path), "there is no such file")
    try:
        with zipfile.ZipFile(path) as stored:
            policy = io.BytesIO(stored.read("policy.pth"))
        state: Mapping[str, Any] = torch.load(policy, map_location="cpu", weights_only=True)
        return policy_layers(state)
    except Exception as error:  # whatever a damaged file makes its reader raise
        hint = f"no zip of Stable-Baselines3's PPO with an MlpPolicy, or damaged ({_why(error)})"
        raise InputError("expert", str(path), hint) from None


def policy_layers(state: Mapping[str, Any]) -> tuple[Array, ...]:
    """The layers that lead to the actions in the `state_dict` of such a policy."""
    weights = [key.split(".") for key in state if key.endswith(".weight")]
    inner = sorted(int(place) for *part, place, _ in weights if ".".join(part) == HIDDEN)
    names = [*(f"{HIDDEN}.{place}" for place in inner), HEAD]
    pairs = [(state[f"{name}.weight"].T, state[f"{name}.bias"]) for name in names]
    return tuple(part.double().cpu().numpy() for pair in pairs for part in pair)


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:80]}"


def _zoo(environment: str, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Places of the zip and of the normaliser, by the environment's name or its older one."""
    names = [environment, PUBLISHED_AS.get(environment, environment)]
    chosen = next((n for n in names if (Path(folder) / f"{n}.zip").is_file()), names[-1])
    return Path(folder) / f"{chosen}.zip", Path(folder) / f"{chosen}.vecnormalize.pkl"


def _hub(environment: str, normaliser: bool) -> tuple[Path, Path]:
    """The same two, fetched from Hugging Face (the second only if asked for)."""
    if find_spec("huggingface_sb3") is None:
        hint = "huggingface_sb3 is not installed: pip install huggingface-sb3, or choose bundled"
        raise InputError("source", "hub", hint)
    fetch = import_module("huggingface_sb3").load_from_hub
    name = f"ppo-{PUBLISHED_AS.get(environment, environment)}"
    files = [f"{name}.zip", *(["vec_normalize.pkl"] if normaliser else [])]
    try:
        places = [Path(fetch(repo_id=f"sb3/{name}", filename=file)) for file in files]
    except Exception as error:  # of many libraries: no network, no such repository or file
        hint = f"it could not be fetched ({_why(error)}): choose bundled or zoo"
        raise InputError("source", f"sb3/{name} on the hub", hint) from error
    return places[0], places[-1]


# The normaliser of observations, a pickle ---------------------------------------------------------

KNOWN = ("stable_baselines3", "gym", "gymnasium")  # of whose classes nothing is needed


class Ignored:
    """Stands for an object of a pickle whose class is not run; keeps what it was told."""

    def __init__(self, *arguments: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state if isinstance(state, dict) else {})


class ArraysOnly(pickle.Unpickler):
    """Reads NumPy's arrays and numbers; whatever else a `VecNormalize` holds becomes `Ignored`."""

    def find_class(self, module: str, name: str) -> Any:
        """The class of a pickle's entry, if it is one of the harmless ones."""
        core = module.replace("numpy._core", "numpy.core")
        if (core, name) in (("numpy", "dtype"), ("numpy", "ndarray")):
            return getattr(np, name)
        if core == "numpy.core.multiarray" and name in ("_reconstruct", "scalar"):
            return getattr(import_module("numpy._core.multiarray"), name)
        if module == "numpy.random._pickle" or module.split(".")[0] in KNOWN:
            return Ignored
        raise pickle.UnpicklingError(f"{module}.{name} is none of a normaliser's classes")


def read_normaliser(path: Path) -> Normaliser:
    """The observations' normaliser of a pickled `VecNormalize`."""
    if not path.is_file():
        hint = "there is no such file: it belongs to the expert, or set normalised=False"
        raise InputError("normaliser", str(path), hint)
    try:
        with path.open("rb") as stored:
            told = ArraysOnly(stored).load()
        mean, variance = (np.asarray(getattr(told.obs_rms, k), float) for k in ("mean", "var"))
        return Normaliser(mean, np.sqrt(variance + told.epsilon), float(told.clip_obs))
    except Exception as error:  # whatever a damaged file makes its reader raise
        hint = f"no pickled VecNormalize of Stable-Baselines3, or damaged ({_why(error)})"
        raise InputError("normaliser", str(path), hint) from None


def _check_layers(
    environment: str, layers: tuple[Array, ...], normaliser: Normaliser | None
) -> None:
    """Raise unless they lead from the environment's features to its actions."""
    world = ENVIRONMENTS[environment]
    ends = (len(world.features), world.number_of_actions)
    weights, biases = layers[::2], layers[1::2]
    joined = len(weights) == len(biases) > 0 and all(w.ndim == 2 for w in weights)
    joined = joined and all(b.shape == w.shape[1:] for w, b in zip(weights, biases, strict=True))
    joined = joined and all(a.shape[1] == b.shape[0] for a, b in pairwise(weights))
    if not joined or (weights[0].shape[0], weights[-1].shape[1]) != ends:
        hint = f"{environment} has {ends[0]} features and {ends[1]} actions: is it another's expert"
        raise InputError("expert", [part.shape for part in layers], hint + ", or no network?")
    if not all(np.all(np.isfinite(part)) for part in layers):
        raise InputError("expert", environment, "its weights hold numbers that are not finite")
    if normaliser is not None:
        shapes = [normaliser.centre.shape, normaliser.scale.shape]
        fine = all(np.all(np.isfinite(part)) for part in vars(normaliser).values())
        if shapes != [ends[:1], ends[:1]] or not fine or np.any(normaliser.scale <= 0):
            hint = f"give a centre and a positive scale for each of {ends[0]} features"
            raise InputError("normaliser", shapes, hint)
