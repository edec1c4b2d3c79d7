"""Bad arguments of what a user calls on data and on a fit are InputErrors, as in test_bad_input."""

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bus_engine import BUS, KNOWN

import gladius
from gladius.designs.bus import BUS_REWARD
from gladius.own_data import markov
from gladius.own_data.results import plots
from gladius.panel.record import Transitions
from gladius.validate import InputError

DATA: Any = BUS.simulate(30, np.random.default_rng(0))
FRAME: pd.DataFrame = DATA.to_frame()
FIT: Any = gladius.fit(DATA, "nfxp", reward=BUS_REWARD, **KNOWN)
LIBRARY: Any = gladius
MARKOV: Any = markov
PLOTS: Any = plots
COLUMNS: dict[str, Any] = {"state": ["s0"], "action": "action", "id": "id", "time": "period"}
LABELS = np.array(["go", "stay", "turn"])[np.random.default_rng(0).integers(3, size=len(FRAME))]
THREE = {"act": LABELS, "copy": LABELS}
DAYS = [datetime.date(2020, 1, 1), *["later"] * (len(FRAME) - 1)]


def read(**changes: Any) -> Transitions:
    table = FRAME.assign(**changes.pop("columns", {}))
    return Transitions.from_frame(table, **COLUMNS | changes)


def with_own_action(how: str) -> Transitions:
    """States that tell the action of their own row, in a column or in two together."""
    s, taken = DATA.states[:, 0], DATA.actions
    columns = [s, taken] if how == "plainly" else [s, (s + taken) % 2]
    states = np.column_stack(columns)
    continues = (DATA.trajectory == np.roll(DATA.trajectory, -1))[:, None]
    following = np.where(continues, np.roll(states, -1, axis=0), states)
    return Transitions(states, taken, following, trajectory=DATA.trajectory)


CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: read(state=None), "state"),
    (lambda: read(next_state=[]), "next_state"),
    (lambda: read(categorical=None), "categorical"),
    (lambda: read(categorical="s0"), "categorical"),
    (lambda: read(categorical=[["s0"]]), "categorical"),
    (lambda: read(carry="done"), "carry"),
    (lambda: read(columns={"period": pd.Series(DAYS, dtype=object)}), "period"),
    (lambda: read(columns={"id": [[1]] * len(FRAME)}), "id"),
    (lambda: read(state=["s0", "action"]), "state"),
    (lambda: read(columns={"copy": 3 - FRAME["action"]}, state=["copy"]), "state"),
    (
        lambda: read(
            columns=THREE, action="act", state=["s0", "copy"], categorical=["act", "copy"]
        ),
        "state",
    ),
    (lambda: read(columns={"s0": FRAME["s0"].mask(FRAME.index == 7)}), "s0[7]"),
    (lambda: read(columns={"g": ["a", None] * (len(FRAME) // 2)}, carry=["g"]), "g[1]"),
    (lambda: DATA.split("half"), "fraction"),
    (lambda: DATA.split(0.5, rng="x"), "rng"),
    (lambda: DATA.discretise([2]), "bins"),
    (lambda: LIBRARY.Transitions.from_paths(None, None), "states"),
    (lambda: LIBRARY.Transitions.from_paths([1, 2], [1]), "states"),
    (lambda: LIBRARY.Transitions([[1.0]], [0], [[1.0]], feature_names="x"), "feature_names"),
    (lambda: LIBRARY.Transitions([[1.0]], [0], [[1.0]], action_names=3), "action_names"),
    (lambda: LIBRARY.fit(DATA, ["bc"], **KNOWN), "method"),
    (lambda: LIBRARY.fit(DATA, **KNOWN | {"anchor_reward": "-5.0"}), "anchor_reward"),
    (lambda: LIBRARY.fit(DATA, **KNOWN | {"anchor_action": "repair"}), "anchor_action"),
    (lambda: LIBRARY.fit(with_own_action("plainly"), **KNOWN), "states"),
    (lambda: LIBRARY.fit(with_own_action("by parity"), "plug_in", **KNOWN), "states"),
    (lambda: MARKOV.check_markov(FRAME, **KNOWN), "data"),
    (lambda: FIT.interval(None), "states[0]"),
    (lambda: FIT.interval([["a"]]), "states[0, 0]"),
    (lambda: FIT.conf_int(level="95%"), "level"),
    (lambda: FIT.counterfactual(reward={0: 1.0, "mend": 2.0}), "reward"),
    (lambda: FIT.counterfactual(reward=lambda s: s), "change.reward"),
    (lambda: FIT.counterfactual(reward=lambda s, r: "a"), "change.reward"),
    (lambda: FIT.counterfactual(reward=lambda s, r: r * np.nan), "change.reward[0, 0, 0]"),
    (lambda: FIT.counterfactual(transition=np.eye(3)), "change.transition"),
    (lambda: FIT.counterfactual(rng=-1), "rng"),
    (lambda: FIT.simulate(3, 3, rng=1.5), "rng"),
    (lambda: FIT.bootstrap(draws=2, rng="x"), "rng"),
    (lambda: FIT.bootstrap(3, draws=2), "statistic"),
    (lambda: FIT.bootstrap(lambda e: e.nothing, draws=2), "statistic"),
    (lambda: FIT.bootstrap(lambda e: "a", draws=2), "statistic"),
    (lambda: FIT.bootstrap(lambda e: [[1], [1, 2]], draws=2), "statistic"),
    (lambda: FIT.bootstrap(lambda e: np.zeros(1 + (e is FIT)), draws=2), "statistic"),
    (lambda: FIT.wald([[1, 2], [1]]), "restrictions"),
    (lambda: FIT.wald({FIT.params.index[0]: "a"}), "restrictions[0]"),
    (lambda: FIT.wald(np.eye(2), "a"), "values"),
    (lambda: FIT.likelihood_ratio("x"), "smaller"),
    (lambda: FIT.save(3), "folder"),
    (lambda: LIBRARY.load(3), "folder"),
    (lambda: PLOTS.plot_reward(FIT, "s0"), "axes"),
]


@pytest.mark.parametrize(("call", "field"), CALLS)
def test_a_bad_argument_is_named(call: Callable[[], object], field: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.field == field
    assert len(caught.value.hint) > 10


def test_the_calls_are_right_without_the_fault() -> None:
    """Control: what is named above is the only fault."""
    assert len(read()) == len(DATA)
    before = FRAME.groupby("id")["action"].shift(fill_value=0)
    assert len(read(columns={"last": before}, state=["s0", "last"])) == len(DATA)
    two = {"act": LABELS, "is_go": 1.0 * (LABELS == "go")}  # which leaves a choice of two
    assert read(columns=two, action="act", state=["s0", "is_go"], categorical=["act"])
    few = FRAME[:24].assign(action=np.arange(24) % 5 < 2)  # ten rows of an action
    few["s0"] = few["action"] + 1.0
    assert len(Transitions.from_frame(few[:21], **COLUMNS)) == 21
    with pytest.raises(InputError, match="so that nobody chooses"):
        Transitions.from_frame(few, **COLUMNS)
    assert len(read(columns={"s0": FRAME["s0"].mask(FRAME.index == 7, 1.0)})) == len(DATA)
    one = np.flatnonzero(DATA.actions == 1)[0]
    other = with_own_action("plainly")
    states = np.array(other.states)
    states[one, 1] = 0
    other = Transitions(states, other.actions, other.next_states, trajectory=other.trajectory)
    with pytest.raises(InputError, match="was never taken") as caught:
        LIBRARY.fit(other, "plug_in", **KNOWN)
    same = Transitions(DATA.states[:60] > 2, 0 * DATA.actions[:60], DATA.next_states[:60] > 2)
    with pytest.raises(InputError, match="of data set 1"):
        LIBRARY.fit([DATA, same], **KNOWN)
    assert caught.value.field == "anchor_action"  # one other choice, and nobody is refused for it
    assert FIT.wald({FIT.params.index[0]: 0.0}) < 1
    assert FIT.bootstrap(lambda e: np.zeros(2), draws=2, rng=1).shape == (2, 2)
    assert len(FIT.counterfactual(reward=lambda s, r: r, rng=1, draws=2)) > 2


def test_states_of_one_action_are_refused_from_five_rows_a_state_on() -> None:
    for rows, field in ((20, "states"), (19, "anchor_action")):
        states = np.arange(rows)[:, None] % 4.0
        data = Transitions(states, states[:, 0].astype(int) % 2, states)
        with pytest.raises(InputError) as caught:
            LIBRARY.fit(data, "plug_in", **KNOWN)
        assert caught.value.field == field


def test_a_number_as_text_a_name_and_a_date_are_told_as_they_were_given() -> None:
    with pytest.raises(InputError, match="'repair': actions are 0, 1; if"):
        LIBRARY.fit(DATA, **KNOWN | {"anchor_action": "repair"})
    with pytest.raises(InputError, match="without quotation marks"):
        LIBRARY.fit(DATA, **KNOWN | {"anchor_action": "1"})
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(FRAME["period"], unit="D")
    days[1] = days[0]
    with pytest.raises(InputError, match=r"2020-01-01.* two rows at this time"):
        read(columns={"period": days})
    with pytest.raises(InputError, match="which is 1 for True"):
        LIBRARY.fit(DATA, **KNOWN | {"anchor_action": True})
