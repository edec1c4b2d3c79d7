"""The bus engine of the paper's Section 7 and its anchor, for the tests of many methods."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gladius.designs.bus import BUS_REWARD, BusEngine
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions

Array = NDArray[np.float64]
BUS = BusEngine()
MDP = BUS.mdp
ANCHOR = Anchor(1, -5.0)
KNOWN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
FORM: dict[str, Any] = {"reward": BUS_REWARD}
ORACLE: dict[str, Any] = {**FORM, "transition": BUS.known_transitions}


def rngs(number: int, seed: int = 0) -> list[np.random.Generator]:
    """Independent generators, one for each replication."""
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(number)]


def with_ends(data: Transitions) -> Transitions:
    """The same with every fifth row the end of its path."""
    done = np.arange(len(data)) % 5 == 4
    return Transitions(data.states, data.actions, data.next_states, data.trajectory, done, 2)
