"""Experts: trained policies for the environments of `gym`, from weight files of this package.

The paper's experts (Section 7, Table 4) are RL-Zoo's PPO agents, sampled: on Acrobot without the
normaliser of observations, on LunarLander with the override `legs_down`. Each file has a card
beside it with its origin and the SHA-256 of the weights, which is checked on reading. Reading
executes no code from the file and needs neither gymnasium nor a library of reinforcement learning.
"""

import hashlib
import io
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import softmax

from gladius.designs.gym import ENVIRONMENTS, LUNAR_LANDER
from gladius.validate import Array, InputError, check_choice

WEIGHTS = Path(__file__).parent / "expert_weights"
PUBLISHED_AS = {LUNAR_LANDER.name: "LunarLander-v2"}  # its expert is older than v3
DIGEST = re.compile(r"SHA-256 of the weights: `([0-9a-f]{64})`")
LEGS = (LUNAR_LANDER.features.index("left_leg"), LUNAR_LANDER.features.index("right_leg"))


@dataclass(frozen=True)
class Normaliser:
    """x -> (x - centre) / scale, clipped at +- clip."""

    centre: Array
    scale: Array
    clip: float

    def __call__(self, states: Array) -> Array:
        scaled = (states - self.centre) / self.scale
        return np.clip(scaled, -self.clip, self.clip)


@dataclass(frozen=True)
class Expert:
    """A policy: (n, d) observations -> (n, A) probabilities."""

    environment: str  # whose
    # weight (in, out) and bias (out,) of each layer in turn, tanh between them
    layers: tuple[Array, ...]
    normaliser: Normaliser | None = None  # of the observations, or None
    deterministic: bool = False  # whether the most probable action is always taken
    # whether action 0 is taken as soon as both legs stand on the ground (LunarLander). The sampled
    # expert otherwise fires a side engine now and then and never comes to rest
    legs_down: bool = False

    def __call__(self, states: Array) -> Array:
        width = self.layers[0].shape[0]
        if states.ndim != 2 or states.shape[1] != width:
            hint = f"this is an expert for {self.environment}: give (n, {width}) observations"
            raise InputError("states", states.shape, hint)
        signal = states if self.normaliser is None else self.normaliser(states)
        for i in range(0, len(self.layers), 2):
            signal = (np.tanh(signal) if i else signal) @ self.layers[i] + self.layers[i + 1]
        probabilities, certain = np.asarray(softmax(signal, axis=1)), np.eye(signal.shape[1])
        if self.deterministic:
            probabilities = certain[signal.argmax(axis=1)]
        if self.legs_down:
            probabilities[np.all(states[:, LEGS] == 1.0, axis=1)] = certain[0]
        return probabilities


def expert(environment: str, *, deterministic: bool = False, normalised: bool = True) -> Expert:
    """The expert of an environment.

    Args:
        environment: CartPole-v1, Acrobot-v1 or LunarLander-v3.
        deterministic: as in Expert.
        normalised: with the normaliser of its training, if any; the paper left it out.

    Raises:
        InputError: unknown, or the weights are not those of the card.
    """
    check_choice("environment", environment, tuple(ENVIRONMENTS))
    stored = read_weights(WEIGHTS / f"{environment}.npz", environment)
    normaliser = stored.normaliser if normalised else None
    return replace(stored, normaliser=normaliser, deterministic=deterministic)


def read_weights(path: Path, environment: str) -> Expert:
    """The expert of a weight file; its SHA-256 must be that of the card beside it.

    Raises:
        InputError: a file is missing, or the digests differ.
    """
    card = path.with_suffix(".md")
    for file in (path, card):
        if not file.is_file():
            hint = "there is no such file: install the package again"
            raise InputError("expert", str(file), hint)
    content = path.read_bytes()
    if DIGEST.findall(card.read_text("utf-8")) != [hashlib.sha256(content).hexdigest()]:
        hint = f"its SHA-256 is not that of {card.name}: install the package again"
        raise InputError("expert", str(path), hint)
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    number = sum(name.startswith("layer_") for name in arrays)
    layers = tuple(arrays[f"layer_{i}"].astype(np.float64) for i in range(number))
    if "centre" not in arrays:
        return Expert(environment, layers)
    centre, scale, clip = (arrays[name].astype(float) for name in ("centre", "scale", "clip"))
    return Expert(environment, layers, Normaliser(centre, scale, float(clip)))
