"""The two figures of a fit."""

import numpy as np
import pytest
from bus_engine import BUS, KNOWN
from matplotlib.figure import Figure
from scipy.stats import norm

import gladius
from gladius.designs.bus import BUS_REWARD
from gladius.own_data.results.plots import plot_choices, plot_reward
from gladius.validate import InputError

DATA = BUS.simulate(60, np.random.default_rng(0))
FIT = gladius.fit(DATA, "nfxp", reward=BUS_REWARD, **KNOWN)


def test_the_band_is_the_estimate_and_its_standard_errors() -> None:
    axes = Figure().subplots()
    assert plot_reward(FIT, axes, "s0") is axes
    keep, replace = axes.lines
    x, y = keep.get_data()
    np.testing.assert_allclose(y, FIT.reward(np.asarray(x)[:, None], 0))
    ends = axes.collections[0].get_paths()[0].vertices
    at = ends[np.isclose(ends[:, 0], 3.0), 1]
    half = norm.ppf(0.975) * FIT.reward_errors(np.array([[3.0]]))[0, 0]
    assert at.max() - at.min() == pytest.approx(2 * half)
    np.testing.assert_allclose(replace.get_ydata(), FIT.reward(np.asarray(x)[:, None], 1))


def test_points_are_shares_and_lines_probabilities() -> None:
    axes = plot_choices(FIT)
    x, y = axes.lines[1].get_data()
    np.testing.assert_allclose(y, FIT.policy(np.asarray(x)[:, None])[:, 1])
    points = axes.collections[1].get_offsets()
    at_two = DATA.actions[DATA.states[:, 0] == 2.0]
    assert points[points[:, 0] == 2.0, 1] == pytest.approx(at_two.mean())


def test_many_values_are_pooled_and_an_unknown_feature_is_refused() -> None:
    rng = np.random.default_rng(1)
    many = gladius.Transitions(
        rng.normal(size=(500, 1)), DATA.actions[:500], rng.normal(size=(500, 1))
    )
    fit = gladius.fit(many, "bc", rng=0, **KNOWN)
    assert len(plot_choices(fit).lines[0].get_xdata()) <= 60
    with pytest.raises(InputError, match=r"^feature ="):
        plot_reward(FIT, feature="age")


def test_choices_by_a_column_of_labels_stand_at_its_labels() -> None:
    brands = np.where(DATA.states[:, 0] > 5, "worn", "good")
    table = DATA.to_frame().assign(brand=brands)
    columns = {"state": ["s0", "brand"], "action": "action", "id": "id", "time": "period"}
    data = gladius.Transitions.from_frame(table, **columns, categorical=["brand"])
    fit = gladius.fit(data, "plug_in", **KNOWN)
    axes = plot_choices(fit, Figure().subplots(), feature="brand")
    assert axes.get_xlabel() == "brand"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["good", "worn"]
    kept = data.actions[brands == "worn"] == 0
    assert axes.collections[0].get_offsets()[1, 1] == pytest.approx(kept.mean())
