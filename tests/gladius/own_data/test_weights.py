"""Frequency weights are rows written again; sampling weights have the errors of a sandwich."""

import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import gladius
from gladius import BusEngine, InputError, PooledIncrements, Transitions
from gladius.baselines import nfxp
from gladius.designs.bus import BUS_REWARD
from gladius.model import inversion
from gladius.own_data.results.weights import TAKE, fits_with_weights
from gladius.panel.anchor import Anchor
from gladius.panel.record import group
from gladius.validate import Array

ENGINE = BusEngine()
KNOWN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
NAMES: dict[str, Any] = {"state": ["s0"], "action": "action", "id": "id", "time": "period"}
FORM: dict[str, Any] = {"reward": BUS_REWARD}
STATES = np.arange(1.0, 6.0)[:, None]


def table(buses: int = 40, seed: int = 5) -> pd.DataFrame:
    """Buses, of which each third stands for two; rows, of which some are left out."""
    frame = ENGINE.simulate(buses, np.random.default_rng(seed)).to_frame()
    rows = np.random.default_rng(1).integers(0, 4, len(frame))
    return frame.assign(path=1.0 + (frame["id"] % 3 == 0), row=rows.astype(float))


FRAME = table()
DATA = Transitions.from_frame(FRAME, **NAMES, carry=["path", "row"])


def written(column: str) -> Transitions:
    """The table with each row as often as its weight, a copy with an id of its own."""
    times = FRAME[column].to_numpy().astype(int)
    after = np.where(DATA.followed, DATA.next_states[:, 0], np.nan)
    frame = FRAME.assign(next_s0=after)  # DATA has its order
    copies = [frame[times > k].assign(id=frame["id"] + 1000 * k) for k in range(times.max())]
    again = pd.concat(copies, ignore_index=True)
    return Transitions.from_frame(again, **NAMES, next_state=["next_s0"])


def same(first: gladius.Results, second: gladius.Results, atol: float = 1e-8) -> None:
    """Two fits with the same numbers."""
    np.testing.assert_allclose(first.q(STATES), second.q(STATES), rtol=0, atol=atol)
    expected = second.reward_function(STATES)
    np.testing.assert_allclose(first.reward_function(STATES), expected, rtol=0, atol=atol)
    assert first.diagnostics.nll == pytest.approx(second.diagnostics.nll, abs=1e-9)
    assert first.diagnostics.status == second.diagnostics.status


METHODS: dict[str, dict[str, Any]] = {"profiled_erm": {}, "plug_in": {}, "rp": FORM}
METHODS |= dict.fromkeys(["nfxp", "mpec", "ccp", "ml_irl", "semi_gradient"], FORM)


@pytest.mark.parametrize(
    ("method", "column"), [(m, c) for m in METHODS for c in ("path", "row") if m + c != "ml_irlrow"]
)
def test_frequency_weights_are_rows_written_so_often(method: str, column: str) -> None:
    weighted = gladius.fit(DATA, method, **KNOWN, **METHODS[method], freq_weights=column)
    twice = gladius.fit(written(column), method, **KNOWN, **METHODS[method])
    same(weighted, twice)
    assert weighted.nobs == twice.nobs <= FRAME[column].sum()  # some need every next state
    assert weighted.llf == pytest.approx(twice.llf)
    if weighted.has_parameter_errors:
        kinds = ("model", "robust", "cluster") + ("outer",) * (method != "ml_irl")
        for kind in kinds:
            np.testing.assert_allclose(weighted.cov(kind), twice.cov(kind), rtol=1e-6)
    elif weighted.has_reward_errors:
        one, two = (fit.reward_errors(STATES) for fit in (weighted, twice))
        np.testing.assert_allclose(one, two, rtol=1e-6)


@pytest.mark.parametrize("transition", [None, PooledIncrements({1: 1.0})])
@pytest.mark.parametrize("column", ["path", "row"])
@pytest.mark.parametrize("method", ["nfxp", "mpec", "ccp"])
def test_sampling_weights_have_the_estimate_of_rows_written_so_often(
    method: str, column: str, transition: Any
) -> None:
    options = FORM | {"transition": transition}
    weighted = gladius.fit(DATA, method, **KNOWN, **options, weights=column)
    same(weighted, gladius.fit(written(column), method, **KNOWN, **options))
    assert weighted.score() == pytest.approx(-weighted.diagnostics.nll)
    plain = gladius.fit(DATA, method, **KNOWN, **options)
    assert np.max(np.abs(plain.params - weighted.params)) > 1e-3, "control"


def lawful(buses: int = 20) -> pd.DataFrame:
    """Nobody may go on from mileage 7; each third bus stands for two."""
    frame = ENGINE.simulate(buses, np.random.default_rng(2)).to_frame()
    frame = frame[frame["s0"] < 8].assign(may=lambda f: f["s0"] < 7)
    frame["action"] = np.where(frame["may"], frame["action"], 1)
    return frame.assign(path=1.0 + (frame["id"] % 3 == 0))


def within(frame: pd.DataFrame, method: str, **options: Any) -> gladius.Results:
    """A fit in choice sets; a step to a mileage of 8 is left out."""
    names = NAMES | {"carry": ["may", "path"]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*gaps|.*no next state follows|.*never seen to be")
        data = Transitions.from_frame(frame, **names)
        form = {} if method == "plug_in" else FORM
        return gladius.fit(data, method, available={0: "may"}, **KNOWN, **form, **options)


@pytest.mark.parametrize("method", TAKE)
def test_sampling_weights_in_choice_sets_have_the_estimate_of_rows_written_so_often(
    method: str,
) -> None:
    frame = lawful()
    weighted = within(frame, method, weights="path")
    if method == "plug_in":  # whose pseudo-counts are beside weights with mean one
        mean = float(frame["path"].mean())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(inversion, "PSEUDO_COUNT", inversion.PSEUDO_COUNT * mean)
            twice = within(frame, method, freq_weights="path")
    else:
        twice = within(frame, method, freq_weights="path")
    same(weighted, twice)
    np.testing.assert_array_equal(weighted.q(STATES + 2)[:, 0] == -np.inf, STATES[:, 0] == 5)
    plain = within(frame, method)
    assert np.max(np.abs(plain.q(STATES) - weighted.q(STATES))) > 1e-3, "control"
    equal = within(frame, method, weights=np.full(len(frame), 3.0))
    errors = equal.reward_errors(STATES), plain.reward_errors(STATES, kind="robust")
    np.testing.assert_allclose(*errors, rtol=1e-6)


def test_errors_of_weights_in_choice_sets_are_those_of_a_jackknife() -> None:
    """Sums over buses of the squared change of theta-hat with the weight of a bus."""
    frame, step, total = lawful(80), 1e-3, 0.0
    for bus in frame["id"].unique():
        own = step * (frame["id"] == bus)
        more, less = (
            within(frame.assign(path=frame["path"] * (1 + h)), "nfxp", weights="path").params
            for h in (own, -own)
        )
        slope = (more - less) / (2 * step)
        total += np.outer(slope, slope)
    cov = within(frame, "nfxp", weights="path").cov("cluster")
    np.testing.assert_allclose(cov * 79 / 80, total, rtol=0.01)  # six rows of a rare pair


def test_the_plug_in_with_sampling_weights_is_that_of_weighted_counts() -> None:
    """Its pseudo-counts are beside weights with mean one, so beside rows with mean m m times it."""
    weighted = gladius.fit(DATA, "plug_in", **KNOWN, weights="path")
    mean = float(FRAME["path"].mean())
    anchor, counts = Anchor(1, -5.0), group(written("path"))
    (expected,) = inversion.fit_counts(counts, anchor, 0.95, pseudo_count=0.5 * mean)
    np.testing.assert_allclose(weighted.q(STATES), expected.q(STATES), rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", TAKE)
def test_equal_sampling_weights_change_nothing(method: str) -> None:
    options = {} if method == "plug_in" else FORM
    plain = gladius.fit(DATA, method, **KNOWN, **options)
    weighted = gladius.fit(DATA, method, **KNOWN, **options, weights=np.full(len(DATA), 2.0))
    same(weighted, plain)
    errors = [fit.reward_errors(STATES, kind="cluster") for fit in (plain, weighted)]
    np.testing.assert_allclose(errors[1], errors[0], rtol=1e-6)
    robust = plain.reward_errors(STATES, kind="robust")
    np.testing.assert_allclose(weighted.reward_errors(STATES), robust, rtol=1e-6)
    assert weighted.llf == pytest.approx(plain.llf)
    assert weighted.llnull == pytest.approx(plain.llnull)


def jackknife(column: str, groups: Array, borrowed: Array) -> Array:
    """(k, k) sums over groups of the derivative of theta-hat in the log weight of each group.

    `borrowed` (A, S, S) is P where a pair was never followed.
    """

    def theta(weights: Array) -> Array:
        moves = np.zeros((1, 2, len(grid), len(grid)))
        visits = np.zeros((1, len(grid), 2))
        np.add.at(visits[0], (s, DATA.actions), weights)
        seen = DATA.followed
        np.add.at(moves[0], (DATA.actions[seen], s[seen], t[seen]), weights[seen])
        total = moves.sum(axis=3, keepdims=True)
        transition = np.where(total > 0, moves / np.where(total > 0, total, 1.0), borrowed)
        design = BUS_REWARD.design(grid)
        found = nfxp.fit_counts(visits, transition, design, np.zeros((len(grid), 2)), 0.95)
        return np.asarray(found.theta[0])

    both = np.unique(np.concatenate([DATA.states, DATA.next_states]), return_inverse=True)
    grid = both[0][:, None]
    s, t = np.split(both[1].ravel(), 2)
    weights = FRAME[column].to_numpy() / FRAME[column].mean()
    names = np.unique(groups)
    step = 1e-3
    ends = [
        [theta(weights * (1 + sign * step * (groups == name))) for sign in (1, -1)]
        for name in names
    ]
    sums = np.array([(up - down) / (2 * step) for up, down in ends])
    centred = sums - sums.mean(axis=0)
    return np.asarray(len(names) / (len(names) - 1) * centred.T @ centred)


def test_errors_with_sampling_weights_are_the_jackknife_over_paths() -> None:
    """The slopes have the Hessian, and the table its expectation: some percent in 4,000 choices."""
    found = gladius.fit(DATA, "nfxp", **KNOWN, **FORM, weights="path")
    borrowed = found.form_errors.basis.model.transition[0]
    expected = jackknife("path", np.asarray(DATA.trajectory), borrowed)
    np.testing.assert_allclose(
        np.sqrt(np.diag(found.cov("cluster"))), np.sqrt(np.diag(expected)), rtol=0.1
    )
    plain = gladius.fit(DATA, "nfxp", **KNOWN, **FORM)
    assert np.all(np.diag(found.cov()) > 1.02 * np.diag(plain.cov("robust"))), "weights cost"


def test_what_a_weighted_fit_says() -> None:
    found = gladius.fit(DATA, "nfxp", **KNOWN, **FORM, weights="row")
    text = found.summary()
    assert "sampling weights: row" in text
    assert "Standard errors: robust." in text
    frame = found.counterfactual(reward={"action 0": 0.5}, states=STATES)
    assert np.all(frame["after"][frame["action"] == 0] > frame["before"][frame["action"] == 0])
    assert "se" not in frame or frame["se"].isna().all()
    draws = found.bootstrap(draws=20, rng=2)
    np.testing.assert_allclose(draws.std(axis=0), np.sqrt(np.diag(found.cov("cluster"))), rtol=0.6)
    assert found.cross_val_score(2).mean() == pytest.approx(found.score(), abs=0.05)
    for attribute in ("aic", "bic"):
        assert not hasattr(found, attribute)
    with pytest.raises(InputError, match="weights"):
        found.likelihood_ratio(found)
    with pytest.raises(InputError, match=r"^kind = 'outer'"):
        found.cov("outer")
    with pytest.raises(InputError, match="carry the column 'row'"):
        found.score(ENGINE.simulate(3, np.random.default_rng(0)))


def test_a_weighted_fit_is_saved_with_its_errors(tmp_path: Any) -> None:
    found = gladius.fit(DATA, "nfxp", **KNOWN, **FORM, weights="path")
    found.save(tmp_path)
    again = gladius.load(tmp_path)
    np.testing.assert_allclose(again.cov(), found.cov(), rtol=1e-9)
    assert again.weights == "path"


@pytest.mark.parametrize(
    "method", [name for name in gladius.METHODS if name not in TAKE and name != "gladius"]
)
def test_a_method_without_sampling_weights_names_those_that_take_them(method: str) -> None:
    form = FORM if "form" in gladius.register.needs(method) else {}
    with pytest.raises(InputError, match="weights are for nfxp, mpec, ccp, plug_in") as caught:
        gladius.fit(DATA, method, **KNOWN, **form, weights="path")
    assert caught.value.field == "weights"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"weights": "age"}, "weights"),
        ({"weights": np.ones(3)}, "weights"),
        ({"weights": -np.ones(len(DATA))}, "weights"),
        ({"weights": np.zeros(len(DATA))}, "weights"),
        ({"weights": np.full(len(DATA), np.nan)}, r"weights\[0\]"),
        ({"freq_weights": np.full(len(DATA), 0.5)}, "freq_weights"),
        ({"freq_weights": np.full(len(DATA), 1e6)}, "freq_weights"),
        ({"weights": "path", "finite_dependence": True, "stages": 1}, "weights"),
    ],
)
def test_bad_weights_are_named(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=f"^{field} ="):
        gladius.fit(DATA, "ccp", **KNOWN, **FORM, **given)


def test_rows_in_another_order_are_weighted_by_name() -> None:
    """A shuffled table has its weights moved with it."""
    shuffled = FRAME.sample(frac=1.0, random_state=3)
    data = Transitions.from_frame(shuffled, **NAMES, carry=["row"])
    for kind in ("weights", "freq_weights"):
        one, two = (gladius.fit(d, "nfxp", **KNOWN, **FORM, **{kind: "row"}) for d in (data, DATA))
        same(one, two)


def test_an_array_of_weights_has_to_be_in_the_order_of_the_rows() -> None:
    moved = replace(DATA, is_moved=True)
    with pytest.raises(InputError, match="name a column"):
        gladius.fit(moved, "plug_in", **KNOWN, weights=np.ones(len(DATA)))


def test_a_method_gets_the_data_by_states_if_its_fit_has_a_parameter_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    def with_states(data: Any, anchor: Any, discount: Any, indexed: Any = (), /) -> list[Any]:
        seen.append(indexed)
        return []

    def without(data: Any, anchor: Any, discount: Any) -> list[Any]:
        seen.append(None)
        return []

    given: Any = [object()]
    for function, expected in ((with_states, given), (without, None)):
        monkeypatch.setitem(gladius.METHODS, "mine", "mine")
        monkeypatch.setitem(sys.modules, "mine", cast(Any, SimpleNamespace(fit=function)))
        fits_with_weights("mine", None, [DATA], Anchor(1, -5.0), 0.9, {}, given)
        assert seen[-1] is expected
