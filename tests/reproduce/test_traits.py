"""The measurements behind Table 1, on estimates and processes whose answer is known."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gladius
from gladius import METHODS, BusEngine, Diagnostics, Estimate, author
from gladius.anchor import Anchor
from gladius.checks import InputError
from gladius.methods import KNOWLEDGE, needs, title
from gladius.transition_probabilities import TransitionProbabilities
from gladius.transitions import Counts
from reproduce.exhibits import _limits, _traits, table_1, table_2_all
from reproduce.results import Results
from reproduce.spec import Cell, Result
from reproduce.store import Stored

WORLD = BusEngine()
DATA = WORLD.simulate(8, np.random.default_rng(1))


def fit(method: str, **options: Any) -> Estimate:
    return gladius.fit(DATA, method, **options, anchor_action=1, anchor_reward=-5.0, discount=0.95)


def truth(shift: float = 0.0, objective: float = 0.0) -> Estimate:
    """The true r, and the true Q shifted by a number."""
    mdp = WORLD.mdp

    def at(states: Any) -> Any:
        return states[:, 0].astype(int) - 1

    extra = {"objective": objective, "inner_iterations": 0}
    looks = Diagnostics(True, 4, 0.0, 0.0, 0.0, 0.0, extra=extra)
    return Estimate(
        "truth",
        lambda states: mdp.solution.q[at(states)] + shift,
        lambda states: mdp.reward[at(states)],
        1,
        looks,
    )


@pytest.mark.parametrize(
    ("method", "law", "counts"),
    [
        ("nfxp", True, True),
        ("gladius", True, True),
        ("semi_gradient", False, False),
        ("bc", False, False),
        ("iq_learn", False, True),
    ],
)
def test_what_a_run_forms_is_noticed_and_its_absence_too(
    method: str, law: bool, counts: bool
) -> None:
    assert _traits.forms(TransitionProbabilities, lambda: fit(method)) == law
    assert _traits.forms(Counts, lambda: fit(method)) == counts
    assert fit("nfxp").diagnostics.converged, "the guard was not lifted"


def test_algorithm_1_forms_no_law() -> None:
    def train() -> None:
        rngs = [np.random.default_rng(0)]
        author.run([DATA], Anchor(1, -5.0), 0.95, rngs=rngs, epochs=1, batch_trajectories=4)

    assert not _traits.forms(
        TransitionProbabilities, lambda: fit("gladius", protocol="printed", iterations=10)
    )
    assert not _traits.forms(TransitionProbabilities, train)
    assert _traits.forms(Counts, train)  # of a batch: its rows


def test_other_errors_pass_through_the_guard() -> None:
    with pytest.raises(InputError):
        _traits.forms(TransitionProbabilities, lambda: fit("no such method"))


def test_inner_steps_are_counted_for_each_outer_one() -> None:
    one = truth()
    many = replace(one.diagnostics, iterations=4, extra={"inner_iterations": 10})
    closed = replace(one.diagnostics, iterations=0, extra={"inner_iterations": 3})
    found = _traits.inner_steps(
        [one, replace(one, diagnostics=many), replace(one, diagnostics=closed)]
    )
    assert found.tolist() == [0.0, 2.5, 3.0]
    silent = replace(one, diagnostics=replace(one.diagnostics, extra={}))
    with pytest.raises(InputError, match="inner_iterations"):
        _traits.inner_steps([one, silent])


def test_bellman_errors_of_the_truth_and_of_a_shifted_q() -> None:
    own, anchored = _traits.bellman_errors(WORLD, [truth(), truth(shift=2.0)])
    # Q + 2 violates every equation by 2 (1 - beta)
    np.testing.assert_allclose(own, [0.0, 0.1], atol=1e-9)
    np.testing.assert_allclose(anchored, [0.0, 0.1], atol=1e-9)


def test_spread_is_the_range_over_starts() -> None:
    one = truth(objective=1.0)
    other = replace(
        truth(objective=1.5), reward_function=lambda s: one.reward_function(s) + np.array([0, 3])
    )
    objective, reward = _traits.spread(WORLD, [one, other, one])
    share = WORLD.mdp.occupancy(100)[:, 1].sum()
    assert objective == 0.5
    assert reward == pytest.approx(3.0 * math.sqrt(share))
    assert _traits.spread(WORLD, [one, one]) == (0.0, 0.0)


def test_limits_of_time_and_memory_hold() -> None:
    def busy(seconds: float) -> str:  # functions of a function travel to the process by value
        import time

        while time.process_time() < seconds:
            pass
        return "ok"

    def hungry(gibibytes: float) -> str:
        bytearray(int(gibibytes * 2**30))
        return "not_converged"

    assert _limits.within((60.0, 4.0), hungry, 0.1)[0] == "not_converged"
    assert _limits.within((60.0, 1.0), hungry, 2.0)[0] == _limits.MEMORY
    assert _limits.within((1.0, 4.0), busy, 1e9) == (_limits.TIME, 1.0)


def test_the_largest_rung_is_found_with_its_reason() -> None:
    def choosy(rung: int, settings: dict[str, int]) -> str:
        if rung > settings["most"]:
            raise InputError("rung", rung, "give less")
        return ["not_converged", "ok"][rung == 5] if rung else "diverged"

    most, ends = _limits.largest(choosy, [0, 2, 5, 10], {"most": 5}, (60.0, 4.0))
    assert most == 5
    assert ends[5][0] == "ok"
    assert ends[10][0] == "failed: rung = 10: give less"
    assert _limits.largest(choosy, [0, 2], {"most": 2}, (60.0, 4.0))[0] == 2  # not converged
    assert _limits.largest(choosy, [0, 2], {"most": 0}, (60.0, 4.0))[0] == -1  # diverged


def test_methods_say_who_they_are_and_what_they_use() -> None:
    for name in METHODS:
        assert title(name)
        assert set(needs(name)) <= set(KNOWLEDGE)
    assert {line.method for line in table_1.LINES} <= set(METHODS)


def test_the_extended_table_has_every_method_at_every_size() -> None:
    found = {(c.settings["method"], c.row) for c in table_2_all.EXHIBIT.checked_cells(False)}
    assert {(m, str(n)) for m in METHODS for n in table_2_all.TRAJECTORIES} <= found


def test_a_further_method_is_a_file_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("fourteenth")
    calls: list[int] = []

    def fit(data: Any, anchor: Any, discount: float, *, level: float = 2.0) -> list[Estimate]:
        calls.append(len(data))
        return [truth(shift=level) for _ in data]

    vars(module).update(TITLE="Fourteenth", NEEDS=("next",), fit=fit)
    monkeypatch.setitem(sys.modules, "fourteenth", module)
    monkeypatch.setitem(METHODS, "fourteenth", "fourteenth")
    (cell,) = [c for c in table_2_all.cells(True) if c.column == "Fourteenth" and c.row == "50"]
    result = table_2_all.compute(cell, "cpu")
    assert calls == [2]
    assert {r.statistic: r.value for r in result.records}["MAPE"] == 0.0
    assert {r.statistic: r.value for r in result.records}["iterations"] == 4.0


def results_of(methods: dict[str, float]) -> Results:
    """Cells of `table_2_all` at one N whose rewards are a number each."""
    cells, stored = [], []
    for method, level in methods.items():
        cells.append(Cell("table_2_all", "50", title(method), "leak_free", {"method": method}))
        arrays = {"reward": np.full((2, 2, 10), level), "seen": np.ones((2, 2, 10))}
        arrays["seen"][:, 0, 9] = 0.0
        arrays["reward"][:, 0, 9] += level  # differs where no data set has the pair: no matter
        stored.append(Stored(Result((), {}, arrays), "ok", "", {}))
    return Results(cells, stored, False)


def test_agreement_is_judged_by_the_rewards_at_the_pairs_seen() -> None:
    results = results_of({"nfxp": 1.0, "mpec": 1.0 + 1e-6, "rp": 1.1})
    pair = (("nfxp", ""), ("mpec", ""))
    assert table_2_all._equal(results, "50", *pair, 1e-5) == "1e-06 yes"
    assert table_2_all._equal(results, "50", *pair, 1e-7) == "1e-06 NO"
    assert table_2_all._equal(results, "50", ("nfxp", ""), ("rp", ""), 1e-5) == "1e-01 NO"
