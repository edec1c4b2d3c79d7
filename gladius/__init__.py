"""GLADIUS, checked: offline inverse reinforcement learning and dynamic discrete choice."""

from gladius.baselines import METHODS
from gladius.checks import InputError
from gladius.estimate import Diagnostics, Estimate
from gladius.linear_reward import KnownTransitions, LinearReward
from gladius.mdp import TabularMDP
from gladius.methods import fit
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine

__version__ = "0.1.0"
__all__ = [
    "METHODS",
    "BusEngine",
    "Diagnostics",
    "Estimate",
    "InputError",
    "KnownTransitions",
    "LinearReward",
    "TabularMDP",
    "Transitions",
    "fit",
]
