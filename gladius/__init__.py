"""GLADIUS, checked: offline inverse reinforcement learning and dynamic discrete choice.

The library has two halves. These rooms check the paper, from the ground up, and each imports only
those above it in this list:

- `validate`: errors that name the field, the value and what to do;
- `register`: the name of each method, and the module that it stands for;
- `panel`: what was observed, and the anchor's reward;
- `solvers`: Newton steps, networks, compiled loops;
- `model`: the paper's model and its estimated parts;
- `paper`: **the paper's Algorithms 1 and 2, and the author's procedure**; start reading here;
- `baselines`: the other methods of the paper's Table 1;
- `designs`: simulation designs, and whatever else knows the truth; no estimator imports it.

The other half, `gladius.own_data`, is for data of your own and stands on the first: it has our
estimator, `fit`, what a fit says, and the command. Only this module and `gladius.__main__` name it,
so the check of the paper can be read, and runs, without it.

The names below are imported on first use: a program that needs one does not load the others. So are
the modules `gladius.plots` and `gladius.markov`.
"""

from typing import TYPE_CHECKING

from gladius.validate import InputError

if TYPE_CHECKING:
    from gladius.designs.bus import BusEngine
    from gladius.model.estimate import Diagnostics, Estimate
    from gladius.model.increments import PooledIncrements
    from gladius.model.mdp import TabularMDP
    from gladius.model.reward_form import KnownTransitions, LinearReward
    from gladius.own_data import markov as markov
    from gladius.own_data.door import fit
    from gladius.own_data.results import plots as plots
    from gladius.own_data.results.compare import compare
    from gladius.own_data.results.results import Results
    from gladius.own_data.results.saved import load
    from gladius.panel.record import Transitions
    from gladius.register import METHODS
else:
    from importlib import import_module

    MODULES = {
        "BusEngine": "gladius.designs.bus",
        "Diagnostics": "gladius.model.estimate",
        "Estimate": "gladius.model.estimate",
        "KnownTransitions": "gladius.model.reward_form",
        "LinearReward": "gladius.model.reward_form",
        "METHODS": "gladius.own_data",  # which registers its method
        "PooledIncrements": "gladius.model.increments",
        "Results": "gladius.own_data.results.results",
        "TabularMDP": "gladius.model.mdp",
        "Transitions": "gladius.panel.record",
        "compare": "gladius.own_data.results.compare",
        "fit": "gladius.own_data.door",
        "load": "gladius.own_data.results.saved",
    }

    SUBMODULES = {
        "frame": "gladius.own_data.frame",
        "results": "gladius.own_data.results",
        "plots": "gladius.own_data.results.plots",
        "markov": "gladius.own_data.markov",
    }
    SUBMODULES |= {room: f"gladius.{room}" for room in ("designs", "model", "own_data", "panel")}

    def __getattr__(name: str) -> object:
        if name in SUBMODULES:
            return import_module(SUBMODULES[name])
        if name not in MODULES:
            raise AttributeError(f"module 'gladius' has no attribute {name!r}")
        return getattr(import_module(MODULES[name]), name)

    def __dir__() -> list[str]:
        return sorted({*__all__, *SUBMODULES, *(name for name in globals() if name[:2] == "__")})


__version__ = "0.5.0"
__all__ = [
    "METHODS",
    "BusEngine",
    "Diagnostics",
    "Estimate",
    "InputError",
    "KnownTransitions",
    "LinearReward",
    "PooledIncrements",
    "Results",
    "TabularMDP",
    "Transitions",
    "compare",
    "fit",
    "load",
]
