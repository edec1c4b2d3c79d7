"""Errors that are clustered by any column, one way or two ways."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gladius
from gladius import BusEngine, InputError, KnownTransitions, Transitions
from gladius.designs.bus import BUS_REWARD
from gladius.validate import Array

ENGINE = BusEngine()
GRID = ENGINE.mdp.features
P = ENGINE.mdp.transition
ANCHOR: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
OPTIONS: dict[str, Any] = {"reward": BUS_REWARD, "transition": KnownTransitions(P, GRID)}


def table(buses: int = 60) -> pd.DataFrame:
    """Buses of six garages, in months whose names are numbers."""
    frame = ENGINE.simulate(buses, np.random.default_rng(8)).to_frame()
    garages = np.array(["east", "west", "north", "south", "mid", "far"])
    return frame.assign(garage=garages[frame["id"] % 6], month=frame["period"].astype(float))


@pytest.fixture(scope="module")
def found() -> gladius.Results:
    names: dict[str, Any] = {"state": ["s0"], "action": "action", "id": "id", "time": "period"}
    data = Transitions.from_frame(table(), **names, carry=["garage", "month"])
    return gladius.fit(data, "nfxp", **ANCHOR, **OPTIONS)


def scores_and_information(theta: Array, data: Transitions) -> tuple[Array, Array]:
    """(n, k) scores of choices and (k, k) their information, with slopes by differences."""

    def log_policy(at: Array) -> Array:
        reward, v = (
            np.stack([-at[0] * GRID[:, 0], np.full(len(GRID), -at[1])], axis=1),
            0 * GRID[:, 0],
        )
        for _ in range(1_000):
            q = reward + 0.95 * (P @ v).T
            v = np.log(np.exp(q).sum(axis=1))
        return np.asarray(q - v[:, None])

    steps = 1e-5 * np.eye(2)
    slope = np.stack(
        [(log_policy(theta + h) - log_policy(theta - h)) / 2e-5 for h in steps], axis=2
    )
    at = np.searchsorted(GRID[:, 0], data.states[:, 0])
    policy = np.exp(log_policy(theta))[at]
    information = np.einsum("na,nak,nal->kl", policy, slope[at], slope[at])
    return slope[at, data.actions], information


def sandwich(scores: Array, information: Array, labels: Any) -> Array:
    """(k, k) with sums over groups of a data frame, G / (G - 1)."""
    sums = pd.DataFrame(scores).groupby(list(labels)).sum().to_numpy()
    centred, bread = sums - sums.mean(axis=0), np.linalg.inv(information)
    return np.asarray(bread @ centred.T @ centred @ bread * len(sums) / (len(sums) - 1))


def labels(data: Transitions, column: str) -> Any:
    if column in data.carried:
        return data.carried[column]
    return data.states[:, 0] if column == "s0" else data.trajectory


@pytest.mark.parametrize("column", ["garage", "month", "s0", "id"])
def test_errors_by_a_column_are_the_sandwich_by_hand(found: gladius.Results, column: str) -> None:
    given = scores_and_information(found.params.to_numpy(), found.data)
    expected = sandwich(*given, [labels(found.data, column)])
    np.testing.assert_allclose(found.cov({"cluster": column}), expected, rtol=1e-5)
    np.testing.assert_allclose(found.cov({"cluster": [column]}), expected, rtol=1e-5)


def test_two_way_errors_are_those_of_both_less_those_of_their_crossing(
    found: gladius.Results,
) -> None:
    given = scores_and_information(found.params.to_numpy(), found.data)
    one, two = labels(found.data, "id"), labels(found.data, "month")
    expected = sandwich(*given, [one]) + sandwich(*given, [two]) - sandwich(*given, [one, two])
    assert np.all(np.linalg.eigvalsh(expected) > 0)
    kind = {"cluster": ["id", "month"]}
    np.testing.assert_allclose(found.cov(kind), expected, rtol=1e-5)
    se = found.to_frame(kind=kind)["se"]
    np.testing.assert_allclose(se, np.sqrt(np.diag(expected)), rtol=1e-5)
    assert "Standard errors: cluster by id and month." in found.summary(kind=kind)


def test_two_way_errors_are_never_negative(found: gladius.Results) -> None:
    """Of a column with itself crossed they may be: here 2 V - V, and of few groups less."""
    few = found.data.take(np.arange(180))
    small = gladius.fit(few, "nfxp", **ANCHOR, **OPTIONS)
    variances = np.linalg.eigvalsh(small.cov({"cluster": ["s0", "month"]}))
    assert np.all(variances >= -1e-15)


def test_the_word_cluster_is_by_trajectory(found: gladius.Results) -> None:
    pd.testing.assert_frame_equal(found.cov("cluster"), found.cov({"cluster": "id"}))


@pytest.mark.parametrize("method", ["plug_in", "profiled_erm"])
def test_errors_of_rewards_are_clustered_too(found: gladius.Results, method: str) -> None:
    free = gladius.fit(found.data, method, **ANCHOR)
    states = np.arange(1.0, 6.0)[:, None]
    own = free.reward_errors(states, "cluster")
    np.testing.assert_array_equal(free.reward_errors(states, {"cluster": "id"}), own)
    by_garage = free.reward_errors(states, {"cluster": "garage"})
    assert np.max(np.abs(by_garage[:, 0] / own[:, 0] - 1)) > 0.02
    each = replace(
        found.data, carried={"bus": np.unique(found.data.trajectory, return_inverse=True)[1]}
    )
    renamed = replace(free, data=each)
    np.testing.assert_allclose(renamed.reward_errors(states, {"cluster": "bus"}), own)


def test_a_bootstrap_draws_whole_groups(found: gladius.Results) -> None:
    whole = dict(zip(*np.unique(found.data.carried["garage"], return_counts=True), strict=True))
    times: list[float] = []

    def statistic(fit: gladius.Results) -> Array:
        names, counts = np.unique(fit.data.carried["garage"], return_counts=True)
        times.extend(count / whole[name] for name, count in zip(names, counts, strict=True))
        assert len(np.unique(fit.data.trajectory)) == 60
        return fit.params.to_numpy()

    draws = found.bootstrap(statistic, draws=60, rng=1, cluster="garage")
    assert np.all(np.mod(times, 1) == 0), "each garage comes whole or not at all"
    assert max(times) > 1
    se = np.sqrt(np.diag(found.cov({"cluster": "garage"})))
    np.testing.assert_allclose(draws.std(axis=0), se, rtol=0.5)  # six groups, 60 draws
    np.testing.assert_array_equal(found.bootstrap(draws=3, cluster="id"), found.bootstrap(draws=3))


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ({"cluster": "country"}, "cluster"),
        ({"clusters": "garage"}, "kind"),
        ({"cluster": ["id", "garage", "month"]}, "kind"),
        ({"cluster": 3}, "kind"),
        ({"cluster": []}, "kind"),
        ("garage", "kind"),
    ],
)
def test_bad_groups_are_named(found: gladius.Results, kind: Any, field: str) -> None:
    with pytest.raises(InputError) as caught:
        found.cov(kind)
    assert caught.value.field == field


def test_one_group_is_too_few(found: gladius.Results) -> None:
    east = found.data.take(found.data.carried["garage"] == "east")
    one = gladius.fit(east, "nfxp", **ANCHOR, **OPTIONS)
    for call in (lambda: one.cov({"cluster": "garage"}), lambda: one.bootstrap(cluster="garage")):
        with pytest.raises(InputError, match="cluster"):
            call()
    with pytest.raises(InputError, match="one lies in several of its groups"):
        found.bootstrap(cluster="month")


def test_labels_are_carried_as_text_and_are_no_reward(tmp_path: Any) -> None:
    frame = table().assign(day=pd.Timestamp("2020-01-01"), when=pd.Period("2020-01", "M"))
    names: dict[str, Any] = {"state": ["s0"], "action": "action", "id": "id", "time": "period"}
    data = Transitions.from_frame(frame, **names, carry=["garage", "day", "when"])
    assert {column.dtype.kind for column in data.carried.values()} == {"U"}
    fit = gladius.fit(data, "nfxp", **ANCHOR, **OPTIONS)
    fit.save(tmp_path)
    again = gladius.load(tmp_path).cov({"cluster": "garage"})
    np.testing.assert_allclose(again, fit.cov({"cluster": "garage"}), rtol=1e-6)
    with pytest.raises(InputError):
        gladius.fit(data, "plug_in", **ANCHOR | {"anchor_reward": "garage"})
    missing = frame.assign(garage=frame["garage"].where(frame["id"] > 0))
    with pytest.raises(InputError, match=r"garage\[0\]"):
        Transitions.from_frame(missing, **names, carry=["garage"])
