"""The one door for a user: `fit`, and the register of methods behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, overload

from gladius.anchor import AnchorReward, make_anchor
from gladius.checks import check_options
from gladius.errors import InputError
from gladius.estimate import Estimate
from gladius.mdp import check_discount
from gladius.transitions import Transitions

# name -> module whose `fit(data, anchor, discount, **options)` returns one Estimate per data set
METHODS = {
    "gladius": "gladius.gladius",
    "nfxp": "gladius.baselines.nfxp",
    "plug_in": "gladius.baselines.plug_in",
    "bc": "gladius.baselines.bc",
}


def method(name: str) -> Callable[..., list[Estimate]]:
    """The fitting function of a method, by its name."""
    if name not in METHODS:
        raise InputError("method", name, f"choose one of {sorted(METHODS)}")
    function: Callable[..., list[Estimate]] = import_module(METHODS[name]).fit
    return function


@overload
def fit(
    transitions: Transitions,
    method: str = ...,
    *,
    anchor_action: int,
    anchor_reward: AnchorReward,
    discount: float,
    **options: Any,
) -> Estimate: ...
@overload
def fit(
    transitions: Sequence[Transitions],
    method: str = ...,
    *,
    anchor_action: int,
    anchor_reward: AnchorReward,
    discount: float,
    **options: Any,
) -> list[Estimate]: ...
def fit(
    transitions: Transitions | Sequence[Transitions],
    method: str = "gladius",
    *,
    anchor_action: int,
    anchor_reward: AnchorReward,
    discount: float,
    **options: Any,
) -> Estimate | list[Estimate]:
    """Estimate the reward behind observed choices.

    Args:
        transitions: one data set, or a sequence of replications (fitted together as one
            batched programme; each gets the numbers it would get alone).
        method: one of METHODS.
        anchor_action: the action whose reward is given (the paper's a_s).
        anchor_reward: its reward: a number, a function of the features, or one number a row.
        discount: beta in (0, 1).
        options: of the method; see its module.

    Returns:
        An Estimate, or a list of them, one for each data set.

    Raises:
        InputError: naming the field, the value and the mend, before any work starts.
    """
    if isinstance(transitions, Transitions):
        data = [transitions]
    else:
        data = list(transitions)
        if not data or not all(isinstance(one, Transitions) for one in data):
            raise InputError(
                "transitions", type(transitions).__name__, "give Transitions, one or more"
            )
    chosen = _find(method)
    check_options(chosen, options)
    anchor = make_anchor(data, anchor_action, anchor_reward)
    estimates = chosen(data, anchor, check_discount(discount), **options)
    return estimates[0] if isinstance(transitions, Transitions) else estimates


_find = method  # `fit` has an argument of that name
