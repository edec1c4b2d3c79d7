"""Measurements behind Table 1: what a method does inside, what it forms, what it recovers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from gladius import BusEngine, Estimate
from gladius.checks import InputError
from reproduce.spec import Array


class FormedError(Exception):
    """Something was formed under `without`."""


@contextmanager
def without(kind: type) -> Iterator[None]:
    """Inside it, making one of a kind raises, so that whatever runs there has made none.

    A transition law of this library is a `TransitionProbabilities`; `Counts` holds n(s, a, s'), which is the rows of
    the data without their order.
    """

    def refuse(self: object, *args: object, **kwargs: object) -> None:
        raise FormedError(type(self).__name__)

    with patch.object(kind, "__init__", refuse):
        yield


def forms(kind: type, run: Callable[[], object]) -> bool:
    """Whether a run makes one of a kind."""
    with without(kind):
        try:
            run()
        except FormedError:
            return True
    return False


def inner_steps(estimates: Sequence[Estimate]) -> Array:
    """(R,) steps of inner loops for each outer step; those of a closed form have no outer one.

    Raises:
        InputError: for a method that does not report them.
    """
    for one in estimates:
        if "inner_iterations" not in one.diagnostics.extra:
            hint = f"{one.method} must report `inner_iterations`, 0 where there is no inner loop"
            raise InputError("extra", sorted(one.diagnostics.extra), hint)
    looks = [e.diagnostics for e in estimates]
    inner = [float(np.asarray(d.extra["inner_iterations"])) for d in looks]
    outer = np.array([max(1.0, float(d.iterations)) for d in looks])
    return np.asarray(np.array(inner) / outer)


def bellman_errors(world: BusEngine, estimates: Sequence[Estimate]) -> tuple[Array, Array]:
    """(R,) roots of the expected squared Bellman error under the true law and state law.

    The first is of Q against the method's own r, E[(r-hat + beta E V_Q - Q)^2]; the second against
    the given reward of the anchor, at the anchor's pairs, which the first cannot see.
    """
    mdp = world.mdp
    weight, states = mdp.occupancy(world.horizon), mdp.features
    own, anchored = [], []
    for estimate in estimates:
        q = estimate.q(states)
        reward = np.stack([estimate.reward(states, a) for a in range(q.shape[1])], axis=1)
        following = mdp.discount * np.einsum("aij,j->ia", mdp.transition, np.logaddexp.reduce(q, 1))
        seen = weight > 0
        gap = np.where(seen, reward + following - q, 0.0)
        own.append(np.sqrt(np.sum(weight * gap**2)))
        at = world.anchor_action
        gap = np.where(seen[:, at], world.anchor_reward + following[:, at] - q[:, at], 0.0)
        anchored.append(np.sqrt(np.sum(weight[:, at] * gap**2) / weight[:, at].sum()))
    return np.array(own), np.array(anchored)


def spread(world: BusEngine, estimates: Sequence[Estimate]) -> tuple[float, float]:
    """(of the objective, of the reward) over fits of one data set from different starts.

    The objective's largest minus smallest value; the largest range of r-hat at a pair, over pairs
    by their share in the data (root mean square).
    """
    mdp = world.mdp
    weight, states = mdp.occupancy(world.horizon), mdp.features
    rewards = np.stack([np.stack([e.reward(states, a) for a in (0, 1)], axis=1) for e in estimates])
    ranges = np.where(weight > 0, np.ptp(rewards, axis=0), 0.0)
    goals = np.array([_objective(e) for e in estimates])
    return float(np.ptp(goals)), float(np.sqrt(np.sum(weight * ranges**2)))


def _objective(estimate: Estimate) -> float:
    looks = estimate.diagnostics
    goal = looks.extra.get("objective", looks.nll + looks.bellman_error)
    return float(np.asarray(goal))
