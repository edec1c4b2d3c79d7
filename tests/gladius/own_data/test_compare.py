"""Fits side by side, with paired differences of held-out scores."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gladius
from gladius import BusEngine, InputError, LinearReward
from gladius.designs.bus import BUS_REWARD
from gladius.own_data.results.compare import Comparison

ENGINE = BusEngine()
KNOWN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
DATA = ENGINE.simulate(40, np.random.default_rng(4))
TEST = ENGINE.simulate(30, np.random.default_rng(5))
NAMED = LinearReward(BUS_REWARD.design, names=("mileage", "replace"))
FLAT = LinearReward(lambda s: BUS_REWARD.design(s)[:, :, 1:], names=("replace",))


@pytest.fixture(scope="module")
def fits() -> dict[str, gladius.Results]:
    return {
        "both": gladius.fit(DATA, "nfxp", **KNOWN, reward=NAMED),
        "flat": gladius.fit(DATA, "nfxp", **KNOWN, reward=FLAT),
        "free": gladius.fit(DATA, **KNOWN),
    }


@pytest.fixture(scope="module")
def compared(fits: dict[str, gladius.Results]) -> Comparison:
    return gladius.compare(fits, data=TEST)


def test_columns_are_those_of_each_fit(
    fits: dict[str, gladius.Results], compared: Comparison
) -> None:
    both, flat, free = fits.values()
    assert list(compared.params.index) == ["mileage", "replace"]
    np.testing.assert_array_equal(compared.params["both"], both.params)
    assert np.isnan(compared.params.loc["mileage", "flat"])
    np.testing.assert_array_equal(compared.std_errors["both"], both.bse)
    statistics = compared.statistics
    assert statistics.loc["log-likelihood", "free"] == free.llf
    assert statistics.loc["AIC", "flat"] == flat.aic
    assert np.isnan(statistics.loc["AIC", "free"]), "no number of parameters"
    assert statistics.loc["held-out score", "flat"] == pytest.approx(flat.score(TEST))
    text = str(compared)
    assert f"({both.bse['mileage']:.3g})" in text
    assert "Standard errors in brackets: model." in text
    assert "less that of both" in text
    assert "toprule" in compared.to_latex()
    assert compared._repr_html_().startswith("<pre>")
    clustered = gladius.compare(fits, kind="cluster")
    se = flat.to_frame(kind="cluster")["se"]
    np.testing.assert_allclose(clustered.std_errors["flat"].dropna(), se)
    assert clustered.differences is None


def test_differences_are_paired_by_choice_and_their_error_is_over_paths(
    fits: dict[str, gladius.Results], compared: Comparison
) -> None:
    assert compared.differences is not None
    line = compared.differences.loc["flat"]
    gain = fits["flat"].score_samples(TEST) - fits["both"].score_samples(TEST)
    by_path = np.array(
        [gain[TEST.trajectory == name].mean() for name in np.unique(TEST.trajectory)]
    )
    assert line["difference"] == pytest.approx(by_path.mean())  # paths are of one length
    assert line["se"] == pytest.approx(by_path.std(ddof=1) / np.sqrt(len(by_path)))
    assert line["high"] - line["difference"] == pytest.approx(1.959964 * line["se"])
    assert line["high"] < 0, "a cost that does not grow predicts worse"
    assert line["p"] < 1e-6
    assert abs(compared.differences.loc["free", "difference"]) < 0.01


def test_cross_validation_has_the_same_folds_for_each_fit(
    fits: dict[str, gladius.Results],
) -> None:
    found = gladius.compare([fits["both"], fits["both"], fits["flat"]], cv=3)
    assert list(found.status.index) == ["nfxp (1)", "nfxp (2)", "nfxp (3)"]
    assert found.differences is not None
    assert found.differences.loc["nfxp (2)", "difference"] == 0
    assert np.isnan(found.differences.loc["nfxp (2)", "p"])
    gap = found.statistics.loc["held-out score"]
    assert found.differences.loc["nfxp (3)", "difference"] == pytest.approx(
        gap["nfxp (3)"] - gap["nfxp (1)"]
    )
    assert gap["nfxp (1)"] == pytest.approx(fits["both"].cross_val_score(3).mean(), abs=2e-3)


def test_each_fit_may_have_the_test_data_as_its_state_has_them(
    fits: dict[str, gladius.Results],
) -> None:
    coarse, test = (
        replace(one, states=np.ceil(one.states / 2), next_states=np.ceil(one.next_states / 2))
        for one in (DATA, TEST)
    )
    with pytest.warns(UserWarning, match="or too coarse"):  # half of a mileage is no state
        other = gladius.fit(coarse, "plug_in", **KNOWN)
    found = gladius.compare([fits["both"], other], data=[TEST, test])
    assert found.statistics.loc["held-out score", "plug_in"] == pytest.approx(other.score(test))


def test_the_interval_of_a_difference_covers_that_in_many_choices(
    fits: dict[str, gladius.Results],
) -> None:
    """Given the fits: over 100 test sets of 30 paths, for a difference that 3,000 paths show."""
    pair = {name: fits[name] for name in ("both", "flat")}
    many = ENGINE.simulate(3_000, np.random.default_rng(6))
    truth = pair["flat"].score(many) - pair["both"].score(many)
    covered = []
    for k in range(100):
        rows = (many.trajectory >= 30 * k) & (many.trajectory < 30 * (k + 1))
        line = gladius.compare(pair, data=many.take(rows)).differences
        assert line is not None
        covered.append(line.loc["flat", "low"] < truth < line.loc["flat", "high"])
    assert 0.87 < np.mean(covered) < 1.0  # .95 with a binomial error of .022


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"data": TEST, "cv": 3}, "cv"),
        ({"data": [TEST]}, "data"),
        ({"data": [TEST, TEST.take(np.arange(50)), TEST]}, "data"),
        ({"data": "test"}, "data"),
        ({"kind": "white"}, "kind"),
    ],
)
def test_what_cannot_be_compared_is_named(
    fits: dict[str, gladius.Results], change: dict[str, Any], field: str
) -> None:
    with pytest.raises(InputError) as caught:
        gladius.compare(fits, **change)
    assert caught.value.field == field


def test_folds_need_fits_to_the_same_choices(fits: dict[str, gladius.Results]) -> None:
    other = gladius.fit(TEST, **KNOWN)
    for given in ([fits["free"], other], [fits["free"]], [fits["free"], DATA]):
        with pytest.raises(InputError, match=r"^fits ="):
            gladius.compare(given, cv=3)  # type: ignore[arg-type]  # one is no Results
