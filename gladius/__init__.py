"""GLADIUS, checked: offline inverse reinforcement learning and dynamic discrete choice."""

from gladius.errors import InputError
from gladius.estimate import Diagnostics, Estimate
from gladius.mdp import TabularMDP
from gladius.methods import METHODS, fit
from gladius.transitions import Transitions
from gladius.worlds.bus import BusEngine

__version__ = "0.1.0"
__all__ = [
    "METHODS",
    "BusEngine",
    "Diagnostics",
    "Estimate",
    "InputError",
    "TabularMDP",
    "Transitions",
    "fit",
]
