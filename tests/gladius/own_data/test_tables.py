"""Tables of choices as people have them: labels, categories, bins, formulas, and saved results."""

import warnings
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bus_engine import KNOWN
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import gladius
from gladius import InputError, LinearReward, Transitions
from gladius.own_data import frame
from gladius.own_data.command import main
from gladius.own_data.results.plots import plot_choices

LABELS = {"state": ["mileage", "brand"], "action": "choice", "id": "bus", "time": "period"}


def panel(seed: int = 0, paths: int = 60) -> pd.DataFrame:
    """Buses of three brands; a Volvo costs 1.5 more a period, and choices have names."""
    rng = np.random.default_rng(seed)
    brands = {"DAF": 0.0, "MAN": 0.0, "Volvo": 1.5}
    frames = []
    for i, (brand, cost) in enumerate(brands.items()):
        engine = gladius.BusEngine(maintenance=lambda x, c=cost: -x - c)
        frame = engine.simulate(paths, rng).to_frame().rename(columns={"s0": "mileage"})
        frames.append(frame.assign(bus=frame["id"] + paths * i, brand=brand))
    table = pd.concat(frames, ignore_index=True)
    return table.assign(choice=np.where(table["action"] == 1, "replace", "keep"))


def read(frame: pd.DataFrame, **names: Any) -> Transitions:
    return Transitions.from_frame(frame, **LABELS | names)


def test_a_category_is_a_feature_for_each_level_but_the_first() -> None:
    frame = panel()
    data = read(frame, categorical=["brand", "choice"])
    assert data.feature_names == ("mileage", "brand=MAN", "brand=Volvo")
    assert data.action_names == ("keep", "replace")
    np.testing.assert_array_equal(data.states[:, 2] == 1, frame["brand"] == "Volvo")
    np.testing.assert_array_equal(data.actions == 1, frame["choice"] == "replace")
    by_dtype = read(frame.astype({"brand": "category", "choice": "category"}))
    np.testing.assert_array_equal(by_dtype.states, data.states)
    again = {"state": data.columns, "action": "action", "id": "id", "time": "period"}
    reread = Transitions.from_frame(data.to_frame(), categorical=["brand", "action"], **again)
    assert reread.feature_names == data.feature_names


def test_a_fit_takes_labels_and_answers_in_them() -> None:
    data = read(panel(), categorical=["brand", "choice"])
    fit = gladius.fit(data, anchor_action="replace", anchor_reward=-5.0, discount=0.95)
    asked = pd.DataFrame({"brand": ["MAN", "Volvo"], "mileage": [3.0, 3.0]})
    low, high = fit.reward(asked, 0)
    assert low - high == pytest.approx(1.5, abs=0.4)
    assert list(fit.predict(asked).columns) == ["keep", "replace"]
    labels = [text.get_text() for text in plot_choices(fit).get_legend().get_texts()]
    assert labels == ["keep", "replace"]
    with pytest.raises(InputError, match=r"brand = 'Scania': its levels are DAF, MAN, Volvo"):
        fit.reward(asked.assign(brand="Scania"), 0)
    with pytest.raises(InputError, match=r"states = \['mileage'\]: give the columns"):
        fit.reward(asked[["mileage"]], 0)
    with pytest.raises(InputError, match=r"anchor_action = 'sell': actions are keep, replace; if"):
        gladius.fit(data, anchor_action="sell", anchor_reward=-5.0, discount=0.95)


def test_text_is_no_category_until_it_is_declared() -> None:
    with pytest.raises(InputError, match=r"brand\[0\] = 'DAF'"):
        read(panel(), categorical=["choice"])
    with pytest.raises(InputError, match=r"categorical = \['bus'\]"):
        read(panel(), categorical=["bus"])
    with pytest.raises(InputError, match=r"brand = \('DAF',\): it has one level"):
        read(panel().assign(brand="DAF"), categorical=["brand", "choice"])
    with pytest.raises(InputError, match=r"brand = None: remove rows with missing"):
        read(panel().assign(brand=None), categorical=["brand", "choice"])


@pytest.mark.filterwarnings("ignore:choices of a path go together")  # without the brand
def test_a_formula_is_the_form_written_by_hand() -> None:
    data = read(panel(), state=["mileage"], categorical=["choice"])

    def design(states):
        table = np.zeros((len(states), 2, 3))
        table[:, 0, 0], table[:, 0, 1] = states[:, 0], states[:, 0] ** 2
        table[:, 1, 2] = 1.0
        return table

    formula = "0 + mileage:keep + I(mileage ** 2):keep + replace"
    fit = gladius.fit(data, "nfxp", reward=formula, **KNOWN)
    assert list(fit.params.index) == ["mileage:keep", "I(mileage ** 2):keep", "replace"]
    by_hand = gladius.fit(data, "nfxp", reward=LinearReward(design), **KNOWN)
    np.testing.assert_allclose(fit.params, by_hand.params, rtol=1e-6)
    with pytest.raises(InputError, match=r"the variables are mileage, keep, replace"):
        gladius.fit(data, "nfxp", reward="0 + milage:keep", **KNOWN)
    centred = gladius.fit(data, "nfxp", reward="0 + keep + center(mileage):keep + replace", **KNOWN)
    at = data.states[:1]  # the mean is that of the data, not of the states asked for
    assert centred.reward(at, 0) == pytest.approx(centred.reward_function(data.states)[:1, 0])


@pytest.mark.filterwarnings("ignore:choices of a path go together")  # without the brand
def test_restrictions_are_given_by_name() -> None:
    """Terms were put into another order, so that a restriction by position tested another one."""
    data = read(panel(), state=["mileage"], categorical=["choice"])
    fit = gladius.fit(data, "nfxp", reward="0 + mileage:keep + replace", **KNOWN)
    assert list(fit.params.index) == ["mileage:keep", "replace"]
    p = fit.wald([[1, 0]], -1.1)
    z = (fit.params.iloc[0] + 1.1) / fit.to_frame()["se"].iloc[0]
    assert p == pytest.approx(2 * norm.sf(abs(z)))
    assert fit.wald({"mileage:keep": -1.1}) == pytest.approx(p)
    assert fit.wald("`mileage:keep` = -1.1") == pytest.approx(p)
    both = fit.wald([[1, 0], [1, -2]], [-1.1, 9.0])
    assert fit.wald("`mileage:keep` = -1.1, `mileage:keep` - 2 * replace = 9") == both
    # p is exp(-W / 2); another order of two equations moves W, about 150, in its last digits
    in_order = pytest.approx(fit.wald(np.eye(2), [-1.1, -5]), rel=1e-10, abs=0)
    assert fit.wald({"replace": -5, "mileage:keep": -1.1}) == in_order
    for wrong in ("mileage = 1", "replace =", {"mileage": 1.0}, {}):
        with pytest.raises(InputError, match=r"^restrictions = .*mileage:keep"):
            fit.wald(wrong)


@pytest.mark.filterwarnings("ignore:choices of a path go together")  # without the brand
def test_a_formula_is_saved_and_a_function_that_cannot_be_imported_is_refused(
    tmp_path: Path,
) -> None:
    data = read(panel(), state=["mileage"], categorical=["choice"])
    fit = gladius.fit(data, "nfxp", reward="0 + mileage:keep + replace", **KNOWN)
    fit.save(tmp_path / "saved")
    copy = gladius.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(copy.to_frame(), fit.to_frame())
    local = gladius.fit(data, anchor_action=1, anchor_reward=lambda s: s[:, 0] - 9, discount=0.95)
    with pytest.raises(InputError, match="it cannot be imported by name"):
        local.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()
    with pytest.raises(InputError, match=r"it has no results\.json"):
        gladius.load(tmp_path / "other")


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=30),
    st.integers(1, 5) | st.lists(st.floats(-2e3, 2e3), min_size=2, max_size=6),
)
@example([0.0] * 4, [0.0, 11.0, 1e-5])  # a bin as narrow as the next one's rounding
def test_bins_hold_their_values(values: list[float], bins: Any) -> None:
    x = np.array(values)[:, None]
    data = Transitions(x, np.arange(len(x)) % 2, x[::-1])
    if isinstance(bins, list) and (min(values) < min(bins) or max(values) > max(bins)):
        with pytest.raises(InputError, match=r"^bins\[s0\] ="):
            data.discretise({"s0": bins})
        return
    found = data.discretise({"s0": bins}).states[:, 0]
    number = bins if isinstance(bins, int) else len(bins) - 1
    edges = np.linspace(min(values), max(values), bins + 1) if isinstance(bins, int) else bins
    assert len(np.unique(found)) <= number
    widest = np.max(np.diff(np.sort(edges)))
    assert np.all(np.abs(found - x[:, 0]) <= widest / 2 * (1 + 1e-9) + 1e-9)
    assert np.all(np.diff(found[np.argsort(x[:, 0], kind="stable")]) >= 0)


@settings(max_examples=150)
@given(st.data())
def test_a_frame_of_anything_is_read_or_refused_by_name(draw: st.DataObject) -> None:
    """Every cell may be anything that pandas holds: the answer is data or an InputError."""
    cells = st.one_of(
        st.integers(-3, 3),
        st.floats(),
        st.text(max_size=2),
        st.none(),
        st.booleans(),
        st.just(pd.Timestamp(0)),
        st.complex_numbers(),
    )
    size = draw.draw(st.integers(0, 5))
    columns = {n: draw.draw(st.lists(cells, min_size=size, max_size=size)) for n in "xyait"}
    frame = pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in columns.items()})
    names: dict[str, Any] = {"state": ["x"], "action": "a", "id": "i"}
    names |= draw.draw(st.sampled_from([{}, {"time": "t"}, {"next_state": ["y"]}, {"done": "t"}]))
    names |= draw.draw(st.sampled_from([{}, {"categorical": ["x"]}, {"categorical": ["x", "a"]}]))
    with warnings.catch_warnings(), suppress(InputError):
        warnings.simplefilter("ignore")
        data = Transitions.from_frame(frame, **names)
        assert len(data) <= size
        assert np.all(np.isfinite(data.states))


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.floats() | st.text(max_size=2), max_size=4),
    st.just(np.ones(99)),
    st.just(lambda states: states),
    st.just(lambda states: -states[:, 0]),
)


@settings(max_examples=150, deadline=None)
@given(ANYTHING, ANYTHING, ANYTHING, st.sampled_from(["plug_in", "profiled_erm", "nfxp"]))
def test_a_fit_of_anything_is_an_answer_or_an_input_error(
    action: Any, reward: Any, discount: Any, method: str
) -> None:
    data = gladius.BusEngine().simulate(1, np.random.default_rng(0))
    given_form = {"reward": reward} if method == "nfxp" else {}
    known = {"anchor_action": action, "anchor_reward": reward, "discount": discount}
    with warnings.catch_warnings(), suppress(InputError):
        warnings.simplefilter("ignore")
        fit = gladius.fit(data, method, **known, **given_form)
        assert np.all(np.isfinite(fit.reward_function(data.states)))


@pytest.mark.parametrize("method", ["plug_in", "nfxp"])
def test_the_command_takes_labels(tmp_path: Path, method: str) -> None:
    panel().to_csv(tmp_path / "panel.csv", index=False)
    asked = "--state mileage --state brand --action choice --id bus --time period --discount .95"
    labels = "--categorical brand --categorical choice --anchor-action replace --anchor-reward -5"
    given = [str(tmp_path / "panel.csv"), *asked.split(), *labels.split(), "--method", method]
    assert main([*given, "--out", str(tmp_path / "out")]) == 0
    table = pd.read_csv(tmp_path / "out" / "reward.csv")
    at = table[(table["action"] == 0) & (table["mileage"] == 1)].set_index("brand=Volvo")["reward"]
    assert at[0].mean() - at[1].mean() == pytest.approx(1.5, abs=0.3)


def numbered(labels: tuple[str, str]) -> Transitions:
    """The panel with other names of the actions."""
    frame = panel(paths=30)
    frame["choice"] = frame["choice"].map({"keep": labels[0], "replace": labels[1]})
    return read(frame, state=["mileage"], categorical=["choice"])


@pytest.mark.filterwarnings("ignore:choices of a path go together")  # without the brand
def test_a_number_that_is_also_a_label_is_no_anchor() -> None:
    """`--anchor-action 1` was the action with the label 2, `ok`."""
    data = numbered(("1", "2"))
    with pytest.raises(InputError, match="a number or a label"):
        gladius.fit(data, "plug_in", **KNOWN)
    fit = gladius.fit(data, "plug_in", **KNOWN | {"anchor_action": "2"})
    assert set(fit.reward_frame().query("action == 1")["label"]) == {"2"}
    with pytest.raises(InputError, match="1 is a name: give it letters"):
        gladius.fit(data, "nfxp", reward="0 + mileage:1", **KNOWN | {"anchor_action": "2"})


def test_data_sets_of_a_batch_have_one_set_of_names() -> None:
    """An anchor by name was another action in the second data set, `ok`."""
    both = [numbered(("keep", "replace")), numbered(("a", "keep"))]
    with pytest.raises(InputError, match=r"action_names = .*give all data sets the same"):
        gladius.fit(both, "plug_in", **KNOWN | {"anchor_action": "keep"})


@pytest.mark.filterwarnings("ignore:choices of a path go together")  # without the brand
def test_parts_of_labelled_data_keep_their_labels() -> None:
    data = numbered(("keep", "replace"))
    part = data.take(np.flatnonzero(data.actions == 0))
    assert part.action_names == ("keep", "replace")
    fit = gladius.fit(data, "nfxp", reward="0 + mileage:keep + replace", **KNOWN)
    assert fit.simulate(5, 9).action_names == ("keep", "replace")
    fit = gladius.fit(data, "nfxp", reward="0 + mileage:keep", **KNOWN)
    np.testing.assert_allclose(fit.reward(data.states, 1), -5.0)  # the anchor's, as given


def test_a_failed_fit_has_no_standard_errors() -> None:
    """One without identification had an interval of +- .14, and a Wald test p = 1."""
    data = numbered(("keep", "replace"))
    twice = "0 + replace + mileage:keep + I(2 * mileage):keep"
    fit = gladius.fit(data, "nfxp", reward=twice, **KNOWN)
    assert fit.diagnostics.status.startswith("failed")
    with pytest.raises(InputError, match="status = 'failed'"):
        fit.conf_int()
    assert "failed" in fit.summary()


def test_a_constant_term_is_refused_with_a_formula_that_has_none() -> None:
    data = numbered(("keep", "replace"))
    for formula in ("mileage", "keep + mileage:keep"):
        with pytest.raises(InputError, match=r"Intercept is the same.*0 \+.* mileage:replace"):
            gladius.fit(data, "nfxp", reward=formula, **KNOWN)


def test_features_with_the_names_of_the_table_are_refused() -> None:
    data = gladius.BusEngine().simulate(9, np.random.default_rng(0))
    fit = gladius.fit(replace(data, feature_names=("low",)), "plug_in", **KNOWN)
    with pytest.raises(InputError, match="rename the features"):
        fit.reward_frame()


def halved(states: Any) -> Any:
    return -states[:, 0] / 2


@wraps(halved)
def doubled(states: Any) -> Any:
    return -states[:, 0] * 2


def test_a_function_under_another_s_name_is_not_saved(tmp_path: Path) -> None:
    data = gladius.BusEngine().simulate(9, np.random.default_rng(0))
    fit = gladius.fit(data, "plug_in", **KNOWN | {"anchor_reward": doubled})
    with pytest.raises(InputError, match="it cannot be imported by name"):
        fit.save(tmp_path)


def test_a_frame_of_interleaved_paths_has_their_periods() -> None:
    data = gladius.BusEngine(horizon=5).simulate(3, np.random.default_rng(0))
    mixed = data.take(np.argsort(np.tile(np.arange(5), 3), kind="stable"))
    assert mixed.to_frame()["period"].tolist() == np.repeat(np.arange(5), 3).tolist()


def test_the_order_of_an_ordered_category_counts() -> None:
    frame = panel(paths=20)
    order = pd.CategoricalDtype(["replace", "keep"], ordered=True)
    frame["choice"] = frame["choice"].astype(order)
    assert read(frame, state=["mileage"]).action_names == ("replace", "keep")


def test_bins_ignore_what_stands_in_for_a_state_after_an_end() -> None:
    data = gladius.BusEngine().simulate(20, np.random.default_rng(0))
    after = np.where(np.arange(len(data))[:, None] % 100 == 99, -9999.0, data.next_states)
    ended = replace(data, next_states=after, done=after[:, 0] < 0)
    assert len(np.unique(ended.discretise({"s0": 3}).states)) == 3


def test_codes_among_many_rows_are_found_as_among_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quantiles of a sample say where to look, and the warning is by those of all rows.

    Every 100th row, as a sample at equal distances would have it, says nothing of the third column.
    """
    rng = np.random.default_rng(0)
    usual, flat = rng.normal(size=(2, 100_000))
    first = np.where(np.arange(100_000) % 100 == 0, 0.0, 1_000 + usual)
    states = np.column_stack([usual, np.append(flat[:-1], 999.0), first, flat > 1])
    told = []
    for number in (frame.QUANTILE_ROWS, len(states)):
        monkeypatch.setattr(frame, "QUANTILE_ROWS", number)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            frame.warn_of_codes(states, ("a", "b", "c", "d"), {})
        told.append([str(warning.message) for warning in caught])
    assert told[0] == told[1]
    assert [message[:2] for message in told[0]] == ["b:", "c:"]
