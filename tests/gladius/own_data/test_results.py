"""What a fit says, in a statsmodels user's words: labels in and out, one screen, one change."""

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from scipy.stats import norm

import gladius
from gladius import InputError, Transitions
from gladius.designs.bus import BUS_REWARD, BusEngine
from gladius.own_data.results.plots import plot_choices, plot_reward
from gladius.own_data.results.summary import VALUES, line_of, lines_of

KNOWN: dict[str, Any] = {"anchor_action": "repair", "anchor_reward": -2.0, "discount": 0.9}
STATE = ["wear", "price", "brand"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Machines whose wear grows until a repair; the price of a repair is drawn anew."""
    rng, rows = np.random.default_rng(0), []
    for machine in range(120):
        wear, brand = 0, ["acme", "bolt", "core"][machine % 3]
        for week in range(20):
            price = int(rng.integers(0, 3))
            keep, repair = -0.3 * wear + rng.gumbel(), -2 - 0.3 * price + rng.gumbel()
            choice = "repair" if repair > keep else "keep"
            rows.append((f"m{machine}", week, wear, price, brand, choice))
            wear = 0 if choice == "repair" else min(wear + int(rng.integers(0, 2)), 8)
    return pd.DataFrame(rows, columns=["machine", "week", *STATE, "choice"])


@pytest.fixture(scope="module")
def data(frame: pd.DataFrame) -> Transitions:
    keys = {"id": "machine", "time": "week", "action": "choice"}
    return Transitions.from_frame(frame, state=STATE, categorical=["brand", "choice"], **keys)


@pytest.fixture(scope="module")
def free(data: Transitions) -> gladius.Results:
    return gladius.fit(data, **KNOWN)


@pytest.fixture(scope="module")
def bus() -> gladius.Results:
    data = BusEngine().simulate(100, np.random.default_rng(3))
    known = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    return gladius.fit(data, "nfxp", reward=BUS_REWARD, **known)


def test_names_of_a_statsmodels_user(bus: gladius.Results) -> None:
    likelihood = np.log(bus.policy(bus.data.states)[np.arange(len(bus.data)), bus.data.actions])
    assert bus.nobs == 10_000
    assert bus.llf == pytest.approx(likelihood.sum())
    assert bus.aic == pytest.approx(4 - 2 * likelihood.sum())
    assert bus.bic == pytest.approx(2 * np.log(10_000) - 2 * likelihood.sum())
    np.testing.assert_allclose(bus.bse, np.sqrt(np.diag(bus.cov_params())))
    np.testing.assert_allclose(bus.tvalues, bus.params / bus.bse)
    np.testing.assert_allclose(bus.pvalues, 2 * norm.sf(np.abs(bus.tvalues)))
    with pytest.raises(TypeError):
        bus.conf_int(0.05)  # type: ignore[misc]  # alpha there, and a 5 % interval here


def test_what_a_fit_does_not_have_is_no_attribute(free: gladius.Results) -> None:
    for name in ("params", "bse", "tvalues", "pvalues", "aic", "bic"):
        assert not hasattr(free, name)
        with pytest.raises(InputError, match=r"reward_frame\(\)"):
            getattr(free, name)
    assert "llf" in dict(inspect.getmembers(free))


def test_actions_by_label(free: gladius.Results, frame: pd.DataFrame) -> None:
    at = frame[STATE].head(4)
    assert free.reward(at, "repair").tolist() == [-2.0] * 4
    mixed = free.reward(at, ["keep", "repair", "keep", "repair"])
    assert mixed.tolist() == free.reward(at, np.array([0, 1, 0, 1])).tolist()
    with pytest.raises(InputError, match="actions = 'mend': name one of keep, repair"):
        free.reward(at, "mend")


def test_one_screen_shows_the_reward_and_what_contradicts_it(free: gladius.Results) -> None:
    text = free.summary()
    assert "features of r: wear, price" in text
    worst = min(free.diagnostics.extra["misfit_p_values"].values())  # type: ignore[attr-defined]
    assert f"least p-value of misfit: {worst:.2g}, along" in text
    states = line_of(free.data, "wear")[1]
    line = free.reward_frame(states).query("action == 0").iloc[-1]
    expected = f"{line['reward']:.3g} [{line['low']:.3g}, {line['high']:.3g}]"
    (shown,) = (row for row in text.splitlines() if row.startswith("wear = 8"))
    assert expected in shown
    assert shown.endswith(" -2")  # given, so without an interval
    assert "brand = " not in text  # r-hat does not depend on it
    assert free._repr_html_().startswith("<pre>profiled_erm sparse: ok")


def test_a_status_that_is_not_ok_has_its_reason(bus: gladius.Results) -> None:
    extra = {**bus.diagnostics.extra, "not_ok_because": ("it rained", "it snowed")}
    told = replace(bus.diagnostics, status="not_converged", extra=extra)
    text = replace(bus, diagnostics=told).summary()
    assert text.startswith("nfxp: not_converged, because it rained; it snowed\n")


def test_a_reward_without_an_interval_says_so(bus: gladius.Results) -> None:
    data = gladius.BusEngine().simulate(8, rng=0)
    few = gladius.fit(data, "plug_in", anchor_action=1, anchor_reward=-5.0, discount=0.95)
    states = lines_of(data, VALUES)[1]
    missing = np.isnan(few.interval(states)[1])
    shown = [line.count("[none]") for line in few.summary().splitlines() if "s0 = " in line]
    assert shown == [int(line.any()) for line in missing]
    assert 0 < sum(shown) < len(shown)
    assert "too few choices" in few.summary()
    assert "[none]" not in bus.summary()
    one = replace(few, data=data.take(data.trajectory == data.trajectory[0]))
    with pytest.warns(UserWarning, match="no intervals: "):
        text = one.summary(kind={"cluster": "id"})
    assert "[none]" not in text  # for another reason there are none at all
    assert "In brackets" not in text


def test_a_column_of_labels_is_drawn_by_its_labels(free: gladius.Results) -> None:
    labels, states = line_of(free.data, "brand")
    assert labels == ["acme", "bolt", "core"]
    brands = [free.data.feature_names.index(f"brand={name}") for name in ("bolt", "core")]
    assert states[:, brands].tolist() == [[0, 0], [1, 0], [0, 1]]
    axes = plot_reward(free, feature="brand")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == labels
    assert axes.get_xlabel() == "brand"
    for call in (plot_reward, plot_choices):
        with pytest.raises(InputError, match="feature = 'colour'"):
            call(free, feature="colour")


def test_new_axes_are_those_of_a_figure_that_a_notebook_shows(bus: gladius.Results) -> None:
    import matplotlib.pyplot as plt

    axes = plot_reward(bus)
    assert axes.figure.number in plt.get_fignums()  # type: ignore[union-attr]
    plt.close("all")


def test_a_change_of_the_reward_in_one_call(bus: gladius.Results) -> None:
    """Against value iteration of its own, written out."""
    found = bus.counterfactual(reward={"action 1": 2.0}, states=np.array([[5.0], [9.0]]), draws=400)
    law = bus.form_errors.basis.model.transition[0]
    grid = bus.form_errors.basis.model.states

    def policy(theta: Any) -> Any:
        reward = np.column_stack([-theta[0] * grid[:, 0], np.full(len(grid), -theta[1])])
        q = np.zeros_like(reward)
        for _ in range(2000):
            q = reward + 0.95 * (law @ np.log(np.exp(q).sum(axis=1))).T
        return softmax(q, axis=1)

    theta = bus.params.to_numpy()
    at = [int(np.flatnonzero(grid[:, 0] == x)[0]) for x in (5, 9)]
    after = policy(theta - [0.0, 2.0])
    np.testing.assert_allclose(found["before"], policy(theta)[at].ravel(), atol=1e-8)
    np.testing.assert_allclose(found["after"], after[at].ravel(), atol=1e-8)
    step, slope = 1e-5, []
    for one in np.eye(2) * step:
        moved = policy(theta + one - [0.0, 2.0]) - policy(theta + one)
        slope.append((moved - after + policy(theta))[at].ravel() / step)
    delta = np.sqrt(np.einsum("ki,kl,li->i", slope, bus.cov().to_numpy(), slope))
    # a standard deviation of 400 draws has an error of 3.5 %; the rest is curvature
    np.testing.assert_allclose(found["se"], delta, rtol=0.15)


def test_a_change_of_what_follows_and_bad_names(bus: gladius.Results) -> None:
    same = bus.counterfactual(draws=2)
    np.testing.assert_array_equal(same["before"], same["after"])
    slow = bus.counterfactual(transition=lambda law: 0.5 * law + 0.5 * law[1:], draws=2)
    assert np.abs(slow["after"] - slow["before"]).max() > 0.01
    with pytest.raises(InputError, match=r"reward = \['mend'\]: name some of action 0"):
        bus.counterfactual(reward={"mend": 1.0})


def test_without_parameters_a_change_has_no_errors(frame: pd.DataFrame) -> None:
    keys = {"id": "machine", "time": "week", "action": "choice"}
    worn = Transitions.from_frame(frame, state=["wear"], categorical=["choice"], **keys)
    free = gladius.fit(worn, **KNOWN)
    found = free.counterfactual(reward={"repair": -1.0})
    assert "se" not in found
    chosen = found.query("label == 'repair'")
    assert (chosen["after"] < chosen["before"]).all()


@pytest.mark.filterwarnings("ignore:states = 138 pairs")
def test_a_simulated_table_can_be_read_again(free: gladius.Results, data: Transitions) -> None:
    for table in (data.to_frame(), free.simulate(30, 6, rng=1).to_frame()):
        assert set(table["brand"]) <= {"acme", "bolt", "core"}
        after = [f"next_{name}" for name in STATE]
        again = Transitions.from_frame(
            table,
            id="id",
            time="period",
            state=STATE,
            action="action",
            next_state=after,
            done="done",
            categorical=["brand", "action"],
        )
        assert again.action_names == ("keep", "repair")
        assert again.feature_names == data.feature_names
        pd.testing.assert_frame_equal(again.to_frame(), table)


def test_frames_of_other_shapes(frame: pd.DataFrame, data: Transitions) -> None:
    """Index levels, dates by week and by month, and a library whose frames become pandas'."""

    class Foreign:
        def to_pandas(self) -> pd.DataFrame:
            return frame

    weeks = pd.Timestamp("2020-01-06") + pd.to_timedelta(7 * frame["week"], unit="D")
    months = [pd.Timestamp("2020-01-31") + pd.offsets.MonthEnd(k) for k in frame["week"]]
    periods = pd.PeriodIndex(months, freq="M")
    keys = {"id": "machine", "time": "week", "action": "choice"}
    for given in (
        frame.set_index(["machine", "week"]),
        frame.assign(week=weeks),
        frame.assign(week=weeks.dt.date),
        frame.assign(week=months),
        frame.assign(week=periods),
        Foreign(),
    ):
        found = Transitions.from_frame(
            given,  # type: ignore[arg-type]
            state=STATE,
            categorical=["brand", "choice"],
            **keys,
        )
        np.testing.assert_array_equal(found.states, data.states)
        np.testing.assert_array_equal(found.followed, data.followed)


def test_labels_without_a_word_are_told_what_to_do(frame: pd.DataFrame) -> None:
    keys = {"id": "machine", "time": "week", "action": "choice"}
    with pytest.raises(InputError, match=r"choice\[0\] = 'keep'.*categorical=\['choice'\]"):
        Transitions.from_frame(frame, state=["wear"], **keys)
    with pytest.raises(InputError, match=r"brand\[0\] = 'acme'.*categorical"):
        Transitions.from_frame(frame, state=["brand"], categorical=["choice"], **keys)


def test_data_in_words(data: Transitions) -> None:
    keep = np.mean(data.actions == 0)
    assert repr(data).startswith("<Transitions: 2,400 rows of 120 trajectories, 75 states of wear")
    assert f"keep {keep:.0%}" in repr(data)
    assert "0 ends, 120 rows without a next state" in repr(data)


def test_episodes_of_unequal_length() -> None:
    states = [np.array([[0.0], [1.0], [2.0]]), np.array([[5.0], [6.0]])]
    actions = [np.array([0, 1]), np.array([1])]
    found = Transitions.from_paths(states, actions, done=[False, True])
    assert found.states[:, 0].tolist() == [0, 1, 5]
    assert found.next_states[:, 0].tolist() == [1, 2, 6]
    assert found.done.tolist() == [False, False, True]
    assert found.trajectory.tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="a state more than actions"):
        Transitions.from_paths([states[0][:2], states[1]], actions)


def test_a_seed_or_a_generator_everywhere() -> None:
    bus = BusEngine()
    first, same = bus.simulate(20, 7), bus.simulate(20, np.random.default_rng(7))
    np.testing.assert_array_equal(first.states, same.states)
    split, again = first.split(0.8, 3), first.split(0.8, np.random.default_rng(3))
    np.testing.assert_array_equal(split[0].states, again[0].states)
    known: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    fits = [gladius.fit(first, "bc", rng=np.random.default_rng(k), **known) for k in (1, 1, 2)]
    nll = [fit.diagnostics.nll for fit in fits]
    assert nll[0] == nll[1] != nll[2]
    for bad in (-1, True, "1"):
        with pytest.raises(InputError, match="rng"):
            bus.simulate(20, bad)  # type: ignore[call-overload]


LINE: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -2.0, "discount": 0.9}


def chain(paths: int, rng: np.random.Generator, states: int = 6, leave: float = 0.1) -> Transitions:
    """Paths of a design with noisy frequencies, which end by chance when action 0 is taken."""
    rows = []
    for path in range(paths):
        x = int(rng.integers(states))
        for t in range(12):
            action = int(rng.random() < 0.2 + 0.1 * x)
            is_end = action == 0 and rng.random() < leave
            rows.append((path, t, x, action, is_end))
            if is_end:
                break
            x = int(rng.integers(states)) if action else min(x + int(rng.integers(3)), states - 1)
    frame = pd.DataFrame(rows, columns=["id", "t", "x", "action", "gone"])
    given = {"id": "id", "time": "t", "action": "action", "done": "gone"}
    return Transitions.from_frame(frame, state=["x"], **given)


@pytest.mark.deep
def test_errors_of_a_change_have_the_noise_of_what_follows() -> None:
    """As large as those of a bootstrap; draws of theta alone give less than half of them here."""
    data = chain(1000, np.random.default_rng(4))
    fit = gladius.fit(data, "nfxp", reward="0 + I(-x):action_0 + action_0", **LINE)
    change: dict[str, Any] = {"reward": {"action 0": 1.0}, "states": np.array([[1.0], [4.0]])}
    found = fit.counterfactual(**change, draws=2000)["se"].to_numpy()

    def move(one: gladius.Results) -> Any:
        frame = one.counterfactual(**change, draws=2)
        return (frame["after"] - frame["before"]).to_numpy()

    drawn = fit.bootstrap(move, draws=100, rng=1).std(axis=0, ddof=1)
    # Three standard errors: that of a standard deviation of n draws is 1 / sqrt(2 n) of it. What
    # the two differ by in truth is of second order: 15 % at 60 paths, some 2 % at these 1,000.
    np.testing.assert_allclose(found, drawn, rtol=3 * (1 / 200 + 1 / 4000) ** 0.5)


def test_a_fit_in_a_list_is_the_one_alone() -> None:
    """Beside a data set of two states, where no roughness is defined."""
    one = chain(60, np.random.default_rng(1))
    two = one.take(np.isin(one.states[:, 0], (0, 1)) & np.isin(one.next_states[:, 0], (0, 1)))
    alone = gladius.fit(one, **LINE)
    beside, other = gladius.fit([one, two], **LINE)
    assert alone.diagnostics.extra["smoothed"] is beside.diagnostics.extra["smoothed"] is True
    assert other.diagnostics.extra["smoothed"] is False
    at = np.unique(one.states, axis=0)
    np.testing.assert_allclose(beside.reward_function(at), alone.reward_function(at), atol=1e-9)
    frames = [fit.reward_frame(at)[["low", "high"]] for fit in (alone, beside)]
    np.testing.assert_allclose(*frames, rtol=1e-6)


@pytest.mark.parametrize("method", ["plug_in", "profiled_erm"])
def test_an_action_that_a_data_set_lacks_has_no_invented_reward(method: str) -> None:
    one = chain(40, np.random.default_rng(2))
    actions = np.where(one.trajectory == 0, 2 * one.actions, one.actions)
    three = replace(one, actions=actions, number_of_actions=3)
    without = three.take(three.trajectory > 0)
    with pytest.raises(InputError, match="actions = 2: data set 1 never takes it"):
        gladius.fit([three, without], method, **LINE)
    fit = gladius.fit(three, method, **LINE)
    with pytest.warns(UserWarning, match="failed and are NaN"):
        draws = fit.bootstrap(lambda e: e.reward(np.array([[1.0]]), 2), draws=20, rng=3)
    assert 0.1 < np.isnan(draws).mean() < 0.7  # 1/e of the resamples lack its only path


def test_ends_and_labels_are_checked() -> None:
    paths = [np.zeros((3, 1)), np.ones((3, 1))], [np.array([0, 1]), np.array([1, 0])]
    for bad in (["False", "True"], [2, 0], [True]):
        with pytest.raises(InputError, match="done"):
            Transitions.from_paths(*paths, done=bad)  # type: ignore[arg-type]
    frame = pd.DataFrame({"id": 0, "x": [0, 1, 2], "a": [0, 1, 0], "end": [False, True, False]})
    late, told = "the path ended, but has further rows", "in the order of the table"
    with pytest.warns(UserWarning, match=told), pytest.raises(InputError, match=late):
        Transitions.from_frame(frame, state=["x"], action="a", id="id", done="end")
    with pytest.raises(InputError, match="names that are text"):
        Transitions.from_frame(frame.rename(columns={"x": 7}), state=[7], action="a", id="id")  # type: ignore[list-item]


def test_labels_that_are_numbers_stay_numbers_and_are_no_positions() -> None:
    data = chain(30, np.random.default_rng(0))
    frame = data.to_frame().assign(action=np.where(data.actions, 10, 2))
    keys = {"id": "id", "time": "period", "action": "action", "done": "done"}
    read = Transitions.from_frame(frame, state=["x"], categorical=["action"], **keys)
    assert read.action_names == ("2", "10")
    again = Transitions.from_frame(read.to_frame(), state=["x"], categorical=["action"], **keys)
    np.testing.assert_array_equal(again.actions, data.actions)
    shifted = Transitions.from_frame(
        frame.assign(action=data.actions + 1), state=["x"], categorical=["action"], **keys
    )
    fit = gladius.fit(shifted, "plug_in", **LINE | {"anchor_action": "2"})
    assert fit.reward(np.array([[1.0]]), "2") == pytest.approx(-2.0)
    with pytest.raises(InputError, match="a number or a label"):
        fit.reward(np.array([[1.0]]), 1)


def test_days_of_a_place_have_no_gap_at_summer_time(frame: pd.DataFrame) -> None:
    days = pd.Timestamp("2020-03-20") + pd.to_timedelta(frame["week"], unit="D")
    keys = {"id": "machine", "time": "week", "action": "choice"}
    places = [days.dt.tz_localize("Europe/Berlin"), days + pd.Timedelta(hours=9)]
    for given in places:
        found = Transitions.from_frame(
            frame.assign(week=given), state=["wear"], categorical=["choice"], **keys
        )
        assert np.count_nonzero(~found.followed) == 120  # the last row of each machine
    bad = frame.assign(week=days.where(frame.index != 7))
    with pytest.raises(InputError, match=r"week\[7\]"):
        Transitions.from_frame(bad, state=["wear"], categorical=["choice"], **keys)


def test_a_change_that_depends_on_an_open_level_is_refused(bus: gladius.Results) -> None:
    fit = gladius.fit(bus.data, "bc", rng=0, **LINE | {"discount": 0.95})
    assert "after" in fit.counterfactual(reward={"action 1": 1.0})
    for change in ({"reward": lambda s, r: r / 2}, {"transition": lambda law: law}):
        with pytest.raises(InputError, match="leaves the level of r open"):
            fit.counterfactual(**change)
    for wrong in (2.0, {"action 1": np.nan}):
        with pytest.raises(InputError, match="reward"):
            bus.counterfactual(reward=wrong)  # type: ignore[arg-type]


# --- held out


def test_folds_hold_whole_trajectories_and_their_scores_are_of_refits(
    bus: gladius.Results,
) -> None:
    scores = bus.cross_val_score(3, rng=5)
    order = np.random.default_rng(5).permutation(100) % 3  # as folds are drawn
    _, label = np.unique(bus.data.trajectory, return_inverse=True)
    known = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    for k, score in enumerate(scores):
        train, test = (bus.data.take(rows) for rows in (order[label] != k, order[label] == k))
        again = gladius.fit(train, "nfxp", reward=BUS_REWARD, **known)
        assert score == pytest.approx(again.score(test), abs=1e-9)
        assert set(train.trajectory).isdisjoint(test.trajectory)
    assert np.ptp(scores) > 1e-4
    assert scores.mean() < bus.score() + 1e-3


def test_folds_need_a_trajectory_each(bus: gladius.Results) -> None:
    few = replace(bus, data=bus.data.take(np.arange(150)))
    with pytest.raises(InputError, match="cv = 3: each fold needs a trajectory, and there are 2"):
        few.cross_val_score(3)


def test_a_fold_whose_refit_fails_has_no_score(bus: gladius.Results) -> None:
    """One of two trajectories alone takes action 1."""
    data = bus.data.take(np.isin(bus.data.trajectory, [0, 1]))
    data = replace(data, actions=np.where(data.trajectory == 0, 0, data.actions))
    known = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    found = gladius.fit(data, "plug_in", **known)
    with pytest.warns(UserWarning, match="1 of 2 refits are not ok; scores of those that failed"):
        assert np.isnan(found.cross_val_score(2)).sum() == 1
