"""Double sampling: the risk by groups, the derived share over all outcomes, controls, the rule."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from gladius.designs.bus import MAINTAIN, BusEngine
from gladius.model.risk import sampled_risk, value
from gladius.validate import Array
from reproduce.exhibits import double_sampling
from reproduce.exhibits.double_sampling import DERIVED, SHARE, TD_LOSS, WORLD, Sums
from tests.reproduce.smoke_results import computed, failed, results_of, written

# mileage, one of two groups within it, action, less than the increment
OBSERVATION = st.tuples(st.integers(0, 5), *3 * [st.integers(0, 1)])


@given(
    st.lists(OBSERVATION, min_size=1, max_size=8),
    st.lists(st.integers(-8, 8), min_size=40, max_size=40),
)
def test_the_bellman_term_is_the_library_s_with_zeta_the_mean_of_each_group(
    rows: list[tuple[int, ...]], quarters: list[int]
) -> None:
    x, part, actions, more = np.array(rows).T
    group, following, q = 2 * x + part, x + 1 + more, np.reshape(quarters, (20, 2)) / 4
    v, zeta = value(q[following]), np.zeros(len(x))
    for i in range(len(x)):
        zeta[i] = v[(group == group[i]) & (actions == actions[i])].mean()
    never, reward = np.zeros(len(x), dtype=bool), WORLD.mdp.reward[x, MAINTAIN]
    risk = sampled_risk(q[x], q[following], actions, never, MAINTAIN, reward, 0.95, zeta)
    found = double_sampling.bellman(double_sampling.sums(x, actions, following, group), q[None])
    # sums of at most 8 squares of numbers below 20, with a few roundings each
    assert found == pytest.approx([risk.bellman], abs=1e-12)


@example([(0, 0), (0, 0), (0, 1), (2, 0)])
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=1, max_size=2))
def test_the_derived_share_is_the_mean_over_all_outcomes(rows: list[tuple[int, int]]) -> None:
    """Increments 1 to 4 are equally likely, so the outcomes are too."""
    x, part = np.array(rows).T
    actions = np.full(len(x), MAINTAIN)
    outcomes = [
        double_sampling.shares(double_sampling.sums(x, actions, x + steps, 2 * x + part))
        for steps in map(np.array, product(range(1, 5), repeat=len(x)))
    ]
    mean = np.mean([outcome[SHARE] for outcome in outcomes])
    # Q* solves its equation to 1e-9, times a spread of 5e-3, over the least variance, 3e-5
    assert mean == pytest.approx(outcomes[0][DERIVED], rel=1e-6)
    assert outcomes[0][DERIVED] <= 100.0 + 1e-9


def expected(is_free: bool) -> Sums:
    """Of infinitely many observations, no pair of which occurs twice where zeta is free."""
    visits: Array = WORLD.mdp.occupancy(WORLD.horizon)
    moves = visits[:, MAINTAIN, None] * WORLD.mdp.transition[MAINTAIN]
    within = WORLD.mdp.transition[MAINTAIN][:, None] * moves[..., None]
    free = np.einsum("xy,yz->xyz", moves, np.eye(len(moves)))
    return Sums(visits, moves, free if is_free else within, np.zeros(len(moves)))


def test_with_infinitely_many_data_zeta_by_mileage_has_no_bias_and_free_zeta_has_it() -> None:
    """Against a minimisation with one Q-function at a time."""
    exact, limit = (double_sampling.estimated_cost(expected(is_free)) for is_free in (False, True))
    # the parabola's error is at most step^2, of order 1e-4
    assert exact == pytest.approx(5.0, abs=1e-4)

    def risk(cost: float) -> float:
        mdp = BusEngine(theta=(1.0, cost)).mdp
        q, v = mdp.solution.q, mdp.solution.v
        visits = WORLD.mdp.occupancy(WORLD.horizon)
        moves = mdp.transition[MAINTAIN]
        spread = visits[:, MAINTAIN] @ (moves @ v**2 - (moves @ v) ** 2)
        return float(np.sum(visits * (v[:, None] - q)) + 0.95**2 * spread)

    literal = minimize_scalar(risk, bounds=(3.0, 6.0), method="bounded", options={"xatol": 1e-7}).x
    assert limit == double_sampling.limit() == pytest.approx(literal, abs=1e-4)
    assert limit < 4.5


def test_a_certain_next_state_has_no_bias_and_few_groups_hardly_any() -> None:
    (entry,) = double_sampling.EXHIBIT.checked_entries(True)
    records = {(r.protocol, r.statistic): r.value for r in computed(entry.cell).result.records}
    loss = {name: records[f"fresh {name}", TD_LOSS] for name in ("maintain", "replace")}
    # Q* solves its equation to 1e-12 of 55, and the loss is a square
    assert loss["replace"] < 1e-20
    assert loss["maintain"] > 0.05
    shares = [records[protocol, SHARE] for protocol in double_sampling.TITLES]
    assert shares[0] < 0.5 < shares[1] < shares[2] < shares[3] < shares[4]
    assert shares[4] > 90.0


def test_the_rule_rejects_a_difference_that_is_no_chance(tmp_path: Path) -> None:
    frame = written(double_sampling.EXHIBIT, results_of(double_sampling.EXHIBIT), tmp_path)
    times = len(double_sampling.TITLES)
    assert f"agree in {times} of {times}" in double_sampling.verdict(tmp_path)
    is_compared = frame["statistic"].eq(double_sampling.DIFFERENCE)
    edge = 9.9248 * frame["se"]  # of t with 2 degrees of freedom: .05 / 10 on either side
    for factor, number in ((0.999, times), (1.001, 0), (-1.001, 0)):
        planted = frame["value"].mask(is_compared, factor * edge)
        pd.DataFrame(frame.assign(value=planted)).to_csv(
            tmp_path / "double_sampling.csv", index=False
        )
        assert f"agree in {number} of {times}" in double_sampling.verdict(tmp_path)
    written(double_sampling.EXHIBIT, failed(double_sampling.EXHIBIT), tmp_path / "failed")
