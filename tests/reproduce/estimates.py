"""Estimates with a known error, for tests of what the exhibits measure."""

from collections.abc import Callable
from typing import Any

from gladius import BusEngine, Diagnostics, Estimate
from reproduce.engine.nouns import Array

WORLD = BusEngine()


def planted(
    shift: Array, converged: bool = True, inner: int = 0, objective: float = 0.0
) -> list[Estimate]:
    """The true Q and the true r plus a number, one estimate for each number."""
    mdp = WORLD.mdp
    extra = {"objective": objective, "inner_iterations": inner}
    diagnostics = Diagnostics(converged, 4, 0.0, 0.0, 0.0, 0.0, extra=extra)

    def table(values: Array) -> Callable[[Any], Array]:
        return lambda states: values[states[:, 0].astype(int) - 1]

    q = table(mdp.solution.q)
    return [Estimate("planted", q, table(mdp.reward + x), 1, diagnostics) for x in shift]
