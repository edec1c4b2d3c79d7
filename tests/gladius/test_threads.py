"""Small fits run on one thread, and leave the caller's setting as it was."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from threading import Event, Thread
from typing import Any

import cases
import numpy as np
import pytest
import sklearn.cluster  # noqa: F401  # samq loads it within a fit, where it would keep its threads
import torch
from bus_engine import KNOWN
from threadpoolctl import threadpool_info, threadpool_limits

import gladius
from gladius import METHODS, Results
from gladius.designs.bus import BUS_REWARD
from gladius.own_data.results import counterfactual, inference, noise, results
from gladius.panel.anchor import make_anchor
from gladius.solvers import threads
from gladius.solvers.threads import one_thread
from gladius.validate import Array

BUS = gladius.BusEngine()
DATA = BUS.simulate(30, np.random.default_rng(0))
ONE, TWO = {1}, {2}
BUS_FORM = {"reward": BUS_REWARD}
LONG = 60.0  # seconds, after which a thread that waits gives up


def in_use() -> set[int]:
    """Numbers of threads: of every pool that threadpoolctl sees, of torch, and of torch's MKL."""
    own = re.findall(r"get_(?:max|num)_threads\(\) : (\d+)", torch.__config__.parallel_info())
    assert len(own) >= 2
    # a library of cvxpy's was built without threads
    pools = [pool for pool in threadpool_info() if pool.get("threading_layer") != "disabled"]
    return {pool["num_threads"] for pool in pools} | {int(number) for number in own}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """A caller with two threads, whatever the environment says."""
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        assert in_use() == TWO
        yield
        assert in_use() == TWO, "the caller's setting is restored"
    torch.set_num_threads(before)


def watch(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[set[int]]:
    """Numbers of threads as each call of a function begins and ends."""
    function, seen = getattr(module, name), []

    @wraps(function)
    def watched(*given: Any, **options: Any) -> Any:
        seen.append(in_use())
        found = function(*given, **options)
        seen.append(in_use())
        return found

    monkeypatch.setattr(module, name, watched)
    return seen


@pytest.mark.parametrize("name", cases.variants())
def test_every_method_fits_on_one_thread_with_the_same_bits(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its own module finds them where the caller has one thread."""
    module, data = import_module(METHODS[name.split()[0]]), cases.data_sets()["bus"]
    seen = watch(monkeypatch, module, "fit")
    fit = cases.fit("bus", data, name)
    assert seen == [ONE, ONE]
    assert isinstance(fit, Results)
    with threadpool_limits(1):
        torch.set_num_threads(1)
        anchor = make_anchor([data], 1, -5.0, must_occur=False)
        (plain,) = module.fit([data], anchor, fit.discount, **fit.options)
        torch.set_num_threads(2)
    found, expected = cases.numbers(data, fit), cases.numbers(data, plain)
    assert found.keys() == expected.keys()
    for key, numbers in found.items():
        np.testing.assert_array_equal(numbers, expected[key])


FRESH = """
import sys, numpy as np, gladius
rng = np.random.default_rng(0)
states = rng.normal(size=(400, int(sys.argv[1])))
data = gladius.Transitions(states, np.arange(400) % 2, states[::-1].copy(), np.arange(400) // 20)
seen = []
def reward(states):
    if "torch" in sys.modules:
        seen.append(sys.modules["torch"].get_num_threads())
    return np.full(len(states), -1.0)
gladius.fit(data, anchor_action=1, anchor_reward=reward, discount=0.9)
print(seen[-1], sys.modules["torch"].get_num_threads())
"""


@pytest.mark.parametrize("features", [1, 3])
def test_the_first_fit_of_a_process_has_one_thread_too(features: int) -> None:
    """The caller has not imported torch: it is loaded before the limit, or limited as it is.

    The latter is where one feature has states that hardly repeat, which only the fit finds out.
    """
    two = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    told = [sys.executable, "-W", "ignore", "-c", FRESH, str(features)]
    done = subprocess.run(told, env=os.environ | two, capture_output=True, text=True)
    assert done.stdout.split() == ["1", "2"], done.stderr


def halved(states: Array, reward: Array) -> Array:
    return reward / 2


def plan(fit: Results) -> None:
    states, transition = np.arange(2.0)[:, None], np.full((2, 2, 2), 0.5)
    change = counterfactual.Change("halved", halved)
    counterfactual.plan(states, np.zeros((2, 2)), transition, 0.9, change)


AFTER: dict[str, tuple[Any, str, Callable[[Results], object]]] = {
    "cov": (inference, "influence", lambda fit: fit.cov()),
    "shift": (noise, "ahead", lambda fit: fit.shift_by_frequencies()),
    "reward_frame": (inference, "influence", lambda fit: fit.reward_frame()),
    "plan": (counterfactual, "soft_bellman", plan),
    "bootstrap": (results, "replace", lambda fit: fit.bootstrap(draws=2)),
}


@pytest.mark.parametrize("name", AFTER)
def test_what_follows_a_fit_has_one_thread(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method = ("plug_in", {}) if name == "reward_frame" else ("nfxp", BUS_FORM)
    fit = gladius.fit(DATA, method[0], **KNOWN, **method[1])
    module, function, call = AFTER[name]
    seen = watch(monkeypatch, module, function)
    call(fit)
    assert seen
    assert all(numbers == ONE for numbers in seen)


def test_an_exception_restores_the_setting_too() -> None:
    """Of a fit, and of the statistic of a bootstrap; the fixture looks once more."""

    def fail(fit: Results) -> Array:
        assert in_use() == ONE
        raise ZeroDivisionError

    fit = gladius.fit(DATA, "plug_in", **KNOWN)
    with pytest.raises(gladius.InputError, match="ZeroDivisionError"):
        fit.bootstrap(fail, draws=2)
    assert in_use() == TWO
    with pytest.raises(gladius.InputError):
        gladius.fit(DATA, "bc", **KNOWN, normalisation="none")


def test_the_libraries_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in each call, of which every look took 2 ms; but again once a module was loaded."""
    found, looks = threads.ThreadpoolController, []

    def look() -> threads.ThreadpoolController:
        looks.append(len(sys.modules))
        return found()

    monkeypatch.setattr(threads, "ThreadpoolController", look)
    monkeypatch.setitem(sys.modules, "loaded_first", threads)
    for _ in range(5):
        with one_thread():
            assert in_use() == ONE
    monkeypatch.setitem(sys.modules, "loaded_later", threads)
    with one_thread():
        assert in_use() == ONE
    assert looks == [looks[0], looks[0] + 1]


@pytest.mark.parametrize(("above", "expected"), [(0, ONE), (1, TWO)])
def test_a_fit_to_many_distinct_states_has_the_caller_s_threads(
    above: int, expected: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither observations of the same state count nor those of another data set."""
    monkeypatch.setattr(threads, "LARGEST", len(np.unique(DATA.states)) - above)
    seen = watch(monkeypatch, import_module(METHODS["plug_in"]), "fit")
    fits = gladius.fit([DATA, DATA], "plug_in", **KNOWN)
    fits[0].bootstrap(lambda fit: np.zeros(1), draws=2)
    assert seen == [expected] * 4


def test_a_fit_within_another_call_leaves_it_on_one_thread() -> None:
    with one_thread():
        gladius.fit(DATA, "plug_in", **KNOWN)
        assert in_use() == ONE


def test_fits_in_two_threads_leave_the_setting_that_the_first_found() -> None:
    """The second begins within the first and ends after it: it found one thread."""
    entered, left, seen = Event(), Event(), []

    def second() -> None:
        with one_thread():
            entered.set()
            left.wait(LONG)
        seen.append(torch.get_num_threads())

    caller = Thread(target=second)
    with one_thread():
        caller.start()
        assert entered.wait(LONG)
    left.set()
    caller.join()
    assert seen == [2]
    assert in_use() == TWO
