"""The register of methods. To add one, write its module and a line in METHODS.

Whoever fits finds each method by its name. Code that stands on this half of the library adds its
methods to METHODS when it is imported; `gladius.METHODS` has them all.
"""

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any

from gladius.validate import InputError

# name -> module whose `fit(data, anchor, discount, **options)` returns one Estimate per data set or
# raises InputError for options that do not fit together or the data. `anchor` is the action whose
# reward is given; `rng` is a seed, or one generator for each data set. TITLE is the method's name
# in the paper's Table 1, and NEEDS (words of KNOWLEDGE) is what it uses besides states,
# actions and the discount factor.
METHODS = {
    "gladius": "gladius.paper.protocols",
    "nfxp": "gladius.baselines.nfxp",
    "ccp": "gladius.baselines.ccp",
    "mpec": "gladius.baselines.mpec",
    "avi": "gladius.baselines.avi",
    "semi_gradient": "gladius.baselines.semi_gradient",
    "rp": "gladius.baselines.rp",
    "pqr": "gladius.baselines.pqr",
    "samq": "gladius.baselines.samq",
    "plug_in": "gladius.model.inversion",
    "bc": "gladius.baselines.bc",
    "iq_learn": "gladius.baselines.iq_learn",
    "clare": "gladius.baselines.clare",
    "ml_irl": "gladius.baselines.ml_irl",
    "airl": "gladius.baselines.airl",
}

# protocols of "gladius" -> module with a `fit` of the same form
PROTOCOLS = {
    "printed": "gladius.paper.algorithm",
    "author": "gladius.paper.author",
    "max_oracle": "gladius.paper.max_oracle",
    "max_oracle_batches": "gladius.paper.batches",
}

KNOWLEDGE = {
    "next": "the observed next states",
    "transitions": "transition probabilities, given or estimated",
    "form": "the reward up to finitely many parameters",
    "anchor": "the reward of one action",
}


def method(name: str) -> Callable[..., list[Any]]:
    """The fitting function of a method, by its name."""
    function: Callable[..., list[Any]] = _module(name).fit
    return function


def title(name: str) -> str:
    """A method's name in the paper's Table 1 (or ours, where it is not there)."""
    return str(_module(name).TITLE)


def needs(name: str) -> tuple[str, ...]:
    """What a method uses besides states, actions and the discount factor: words of KNOWLEDGE."""
    return tuple(_module(name).NEEDS)


def takes(name: str, option: str) -> bool:
    """Whether an option is among the method's named ones."""
    return option in inspect.signature(method(name)).parameters


def _module(name: str) -> ModuleType:
    if not isinstance(name, str) or name not in METHODS:
        close = get_close_matches(str(name), METHODS, n=1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        raise InputError("method", name, f"{guess}choose one of {sorted(METHODS)}")
    return import_module(METHODS[name])
