"""The exhibits `rust` and `coverage`: the panel, Table IX, and coverage with a known answer."""

import math
from contextlib import nullcontext
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.stats import norm

import gladius
from gladius import InputError, LinearReward
from gladius.panel.record import Counts
from reproduce.engine.nouns import NOT_RUN
from reproduce.exhibits import coverage, rust

needs_data = pytest.mark.skipif(find_spec("econirl") is None, reason="econirl is not installed")


@needs_data
def test_mileage_is_counted_from_the_last_replacement() -> None:
    frame = rust.buses([4])
    assert frame is not None
    assert set(frame["group"]) == {4}
    assert frame["period"].min() == 2
    bus = frame[frame["bus_id"] == 68].set_index("period")
    assert bus["replaced"][44] == 1
    assert bus["since"][44] == bus["mileage"][44]  # the month of the replacement is before it
    assert bus["since"][46] == pytest.approx(bus["mileage"][46] - bus["mileage"][44])
    assert (bus["since"] // rust.WIDTH == bus["mileage_bin"]).mean() > 0.99


@needs_data
@pytest.mark.filterwarnings("ignore:transition")  # Rust's data reject what Table IX assumes
def test_nfxp_is_near_table_ix_and_free_frequencies_are_not() -> None:
    cells = {e.protocol: e.cell for e in rust.entries(False) if e.row == "group 4"}
    found = {
        kind: {r.statistic: r for r in rust.compute(cells[f"leak_free {kind}"]).records}
        for kind in (rust.COMMON, rust.FREE)
    }
    theta, error, cost, cost_error = rust.TABLE_IX["group 4"]
    common = found[rust.COMMON]
    assert common["theta_11"].value == pytest.approx(theta, abs=0.1 * error)
    assert common["RC"].value == pytest.approx(cost, abs=0.1 * cost_error)
    assert common["theta_11 se outer"].value == pytest.approx(error, rel=0.05)
    assert common["RC se outer"].value == pytest.approx(cost_error, rel=0.05)
    assert found[rust.FREE]["theta_11"].value > theta + 0.3 * error


def test_the_bias_of_free_frequencies_is_reported() -> None:
    """Coverage was .11 in a design like this one, `ok` and without a warning."""
    for name, sets in (("regimes", 800), ("bus", 200), ("rough", 200)):
        design = coverage.designs()[name]
        data = coverage.simulated(design, sets, np.random.default_rng(0))
        given = {"anchor_action": 1, "anchor_reward": -design.theta[1]}
        given |= {"discount": design.world.discount, "reward": LinearReward(design.design)}
        is_biased = name == "regimes"
        expected = pytest.warns(UserWarning, match="noise of estimated transition probabilities")
        with expected if is_biased else nullcontext():
            fit = gladius.fit(data, "nfxp", **given)
        assert (fit.shift_by_frequencies().abs().max() > 0.5) == is_biased
        is_wrong = name == "rough"  # increments differ by state there
        rejected = pytest.warns(UserWarning, match="p_value is")
        with rejected if is_wrong else nullcontext():
            few = gladius.fit(data, "nfxp", transition=design.increments, **given)
        with pytest.raises(InputError, match="without `transition`"):
            few.shift_by_frequencies()


def test_pairs_that_borrow_their_moves_are_counted() -> None:
    design = coverage.designs()["regimes"]
    data = coverage.simulated(design, 60, np.random.default_rng(0))
    seen = {(*state, a) for state, a in zip(data.states.tolist(), data.actions, strict=True)}
    states = np.unique(np.concatenate([data.states, data.next_states]), axis=0)
    given = {"anchor_action": 1, "anchor_reward": -design.theta[1]}
    given |= {"discount": design.world.discount, "reward": LinearReward(design.design)}
    expected = f"; {2 * len(states) - len(seen)} of {2 * len(states)} pairs"
    assert len(seen) < 2 * len(states)
    with pytest.warns(UserWarning, match=expected):
        gladius.fit(data, "nfxp", **given)


def test_without_the_data_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rust, "find_spec", lambda name: None)
    for entry in (rust.entries(True)[0], rust.entries(True)[-1]):
        (record,) = entry.cell.function()(entry.cell).records
        assert (record.status, record.repetitions) == (NOT_RUN, 0)


@pytest.mark.parametrize(("factor", "expected"), [(1.0, 0.95), (0.5, 0.673), (2.0, 0.99991)])
def test_coverage_is_that_of_normal_estimates(factor: float, expected: float) -> None:
    assert expected == pytest.approx(2 * norm.cdf(factor * 1.96) - 1, abs=1e-3)
    rng, times = np.random.default_rng(0), 20_000
    theta = rng.normal([1.0, 2.5], [0.5, 0.1], (times, 2))
    errors = np.broadcast_to(factor * np.array([0.5, 0.1]), (times, 2, 2))
    listed = coverage.records(theta, errors, np.array([1.0, 2.0]), ["ok"] * times)
    found = {record.statistic: record for record in listed}
    share = found["coverage theta_0, model"]
    assert share.value == pytest.approx(expected, abs=0.006)
    assert share.se == pytest.approx(math.sqrt(share.value * (1 - share.value) / times), rel=1e-6)
    assert found["se / sd theta_0, cluster"].value == pytest.approx(factor, rel=0.02)
    assert found["bias / sd theta_1"].value == pytest.approx(5.0, rel=0.02)
    assert found["coverage theta_1, model"].value < 0.2  # five standard deviations off


@pytest.mark.parametrize("name", ["bus", "regimes"])
def test_the_option_of_few_parameters_holds_in_the_design(name: str) -> None:
    """From states that nothing leaves the grid from, it finds the true transition probabilities."""
    design = coverage.designs()[name]
    world = design.world
    inside = np.flatnonzero(world.features[:, 0] < np.quantile(world.features[:, 0], 0.6))
    visits = np.zeros((1, len(world.features), 2))
    visits[:, inside] = 1.0
    moves = visits[0].T[:, :, None] * world.transition
    option = replace(design.increments, grid=world.features)
    p_hat = option.estimate(option.on_grid(Counts(world.features, visits, moves[None])))
    np.testing.assert_allclose(p_hat.transition[0], world.transition, atol=1e-12)
