"""Files as Stable-Baselines3 saves them, and as somebody hostile would."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gladius.checks import Array
from gladius.worlds.experts import Normaliser


def state_dict(layers: tuple[Array, ...]) -> dict[str, torch.Tensor]:
    """The layers under the names of Stable-Baselines3, the critic's among them."""
    names = [f"mlp_extractor.policy_net.{2 * i}" for i in range(len(layers) // 2 - 1)]
    state = {
        "value_net.weight": torch.zeros(1, 64),
        "mlp_extractor.value_net.0.weight": torch.ones(1),
    }
    for i, name in enumerate([*names, "action_net"]):
        state[f"{name}.weight"] = torch.tensor(layers[2 * i].T, dtype=torch.float32)
        state[f"{name}.bias"] = torch.tensor(layers[2 * i + 1], dtype=torch.float32)
    return state


def save_zip(path: Path, policy: object) -> None:
    """A zip as Stable-Baselines3 saves it; bytes for the policy as they are."""
    stored = io.BytesIO()
    if not isinstance(policy, bytes):
        torch.save(policy, stored)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", "{}")
        archive.writestr("policy.pth", policy if isinstance(policy, bytes) else stored.getvalue())


class VecNormalize:
    """Stands for Stable-Baselines3's of that name."""


class RunningMeanStd:
    """Likewise."""


def save_normaliser(path: Path, width: int) -> Normaliser:
    """A pickled VecNormalize, its classes under the names of Stable-Baselines3's modules."""
    whole, running = VecNormalize(), RunningMeanStd()
    mean, variance = np.arange(width) / 10, np.arange(1.0, 1.0 + width)
    vars(running).update(mean=mean, var=variance)
    vars(whole).update(obs_rms=running, epsilon=np.float64(1e-8), clip_obs=10.0)
    theirs = pickle.dumps(whole, protocol=3)  # in which a class is a line of text
    path.write_bytes(theirs.replace(__name__.encode() + b"\n", b"stable_baselines3.common\n"))
    return Normaliser(mean, np.sqrt(variance + 1e-8), 10.0)


@dataclass
class Hostile:
    """A pickle that makes a file when it is loaded."""

    path: Path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.path),)
