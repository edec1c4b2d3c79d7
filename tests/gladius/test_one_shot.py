"""Nothing nested where a method says so: seen from outside, by the solvers that its fit calls."""

import sys
from inspect import unwrap
from types import CodeType, FrameType
from unittest.mock import patch

import numpy as np
import pytest
import scipy.optimize
from bus_engine import KNOWN

import gladius
from gladius import mdp, networks, newton
from gladius.linear_reward import linear_in_features
from gladius.networks import Training
from gladius.rows import risk

SOLVERS = (
    newton.minimise,
    mdp.soft_bellman,
    risk.minimise,
    networks.adam_descent,
    scipy.optimize.minimize,
    scipy.optimize.root,
)
SHORT = {"training": Training(steps=60)}
LINEAR = {"reward": linear_in_features(2, 1, -5.0)}
ONE_SHOT = {
    "gladius": {},
    "gladius sparse": {"function_class": "sparse"},
    "mpec": LINEAR,
    "plug_in": {},
    "pqr": SHORT,
    "iq_learn": {},
    "bc": SHORT,
}
NESTED = {"nfxp": LINEAR, "clare": {}}


def nested_calls(name: str, options: dict[str, object]) -> tuple[int, int, int]:
    """(solvers entered inside another, solvers entered, inner iterations reported) of a fit."""
    data = gladius.BusEngine().simulate(60, np.random.default_rng(3))
    known: set[CodeType] = {unwrap(solver).__code__ for solver in SOLVERS}
    open_calls: list[CodeType] = []
    nested = entered = 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal nested, entered
        if frame.f_code not in known:
            return
        if event == "call":
            nested, entered = nested + bool(open_calls), entered + 1
            open_calls.append(frame.f_code)
        elif event == "return":
            open_calls.pop()

    sys.setprofile(watch)
    try:
        method = name.split()[0]
        with patch("gladius.methods._warn_of_bias"):  # a check after the fit, no part of the method
            estimate = gladius.fit(data, method, **KNOWN, **options)
    finally:
        sys.setprofile(None)
    return nested, entered, int(np.asarray(estimate.diagnostics.extra["inner_iterations"]))


@pytest.mark.parametrize("name", ONE_SHOT)
def test_no_solver_runs_inside_another_where_none_is_reported(name: str) -> None:
    nested, entered, reported = nested_calls(name, ONE_SHOT[name])
    assert reported == 0
    assert nested == 0
    assert entered > 0 or name == "plug_in"  # which is a closed form


@pytest.mark.parametrize("name", NESTED)
def test_the_watch_sees_what_is_nested(name: str) -> None:
    """The control: where inner steps are reported, a solver is seen inside another."""
    nested, entered, reported = nested_calls(name, NESTED[name])
    assert reported > 0
    assert 0 < nested < entered or name == "clare"
