"""Where users of own data stumbled: each call here once ended in a traceback or in silence."""

import inspect
import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import gladius
from gladius import Transitions, register
from gladius.designs.bus import BUS_REWARD
from gladius.own_data.erm import ROW_CLASSES
from gladius.own_data.results.plots import plot_choices, plot_reward
from gladius.validate import InputError

ROOT = Path(__file__).parents[3]
KNOWN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
BUSES = gladius.BusEngine().simulate(60, rng=0)
FRAME = BUSES.to_frame()
NAMES: dict[str, Any] = {"state": ["s0"], "action": "action", "id": "id", "time": "period"}


def test_a_column_that_is_constant_does_no_harm() -> None:
    """The default raised numpy's error on two columns of which one was constant."""
    alone = gladius.fit(BUSES, function_class="sparse", **KNOWN)
    data = Transitions.from_frame(FRAME.assign(region=3.0), **NAMES | {"state": ["s0", "region"]})
    both = gladius.fit(data, **KNOWN)
    at = np.array([[1.0, 3.0], [5.0, 3.0]])
    # a tenth of a standard error: the covariance allows for one more column
    np.testing.assert_allclose(both.reward(at), alone.reward(at[:, :1]), rtol=0, atol=0.01)


def options_in_the_help() -> dict[str, set[str]]:
    """method, or method and class -> the options that `help(gladius.fit)` lists."""
    text = " ".join((inspect.getdoc(gladius.fit) or "").split("- airl", 1)[1].split())
    items = f"airl{text.split(' It runs')[0]}".split(" - ")
    pairs = (item.split(": ") for item in items)
    return {key: set(names.split(", ")) - {"none"} for key, names in pairs}


def test_the_help_of_fit_lists_every_option() -> None:
    expected = {}
    for name in register.METHODS:
        parameters = inspect.signature(register.method(name)).parameters.values()
        expected[name] = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    expected["profiled_erm"] = {"function_class"}
    expected["profiled_erm, smooth"] = set()
    for name, module in ROW_CLASSES.items():
        own = {field.name for field in fields(import_module(module).Options)}
        expected[f"profiled_erm, {name}"] = own
    for name, path in register.PROTOCOLS.items():
        module = import_module(path)
        own = {field.name for field in fields(module.Options)}
        given = inspect.signature(module.fit).parameters.values()
        expected[f"gladius, {name}"] = own | {p.name for p in given if p.kind is p.KEYWORD_ONLY}
    assert options_in_the_help() == expected


def test_a_wrong_option_points_to_the_list() -> None:
    with pytest.raises(InputError, match=r"^option = 'inptus': .*`help\(gladius\.fit\)` lists"):
        gladius.fit(BUSES, inptus=[0], **KNOWN)


def test_a_state_outside_the_observed_ones_is_reported() -> None:
    fit = gladius.fit(BUSES, **KNOWN)
    high = BUSES.states.max()
    for ask in (fit.reward, fit.reward_frame):
        with pytest.warns(UserWarning, match=rf"^s0: 1e\+06 lies outside the 1 to {high:g} obs"):
            ask(np.array([[2.0], [1e6]]))
    fit.reward_frame(np.array([[1.0], [high + 0.09 * (high - 1)]]))
    with pytest.warns(UserWarning, match="lies outside"):
        fit.reward(np.array([[1.0 - 0.11 * (high - 1)]]))
    few = gladius.fit(gladius.BusEngine().simulate(6, rng=0), "plug_in", **KNOWN)
    last = few.data.states.max(keepdims=True)
    drawn = few.bootstrap(lambda one: one.reward(last + 0.5, 0), 10)  # some never saw the last
    assert drawn.shape == (10, 1)
    form = gladius.fit(BUSES, "nfxp", reward=BUS_REWARD, **KNOWN)
    assert form.reward(np.array([[1e6]]), 0) == pytest.approx(1e6 * form.reward(np.ones((1, 1)), 0))


def test_the_summary_says_why_an_interval_is_not_around_its_estimate() -> None:
    line = "so that it may not be in the middle"
    assert line in gladius.fit(BUSES, **KNOWN).summary()
    assert line in gladius.fit(BUSES, function_class="sparse", **KNOWN).summary()
    assert line not in gladius.fit(BUSES, "plug_in", **KNOWN).summary()


def test_a_form_that_lacks_is_asked_for_without_a_file_that_is_gone() -> None:
    with pytest.raises(InputError, match=r"reward=gladius.LinearReward\(design\)") as caught:
        gladius.fit(BUSES, "nfxp", **KNOWN)
    assert not re.search(r"\w+\.py", caught.value.hint)


MONTHS = pd.period_range("2019-11", periods=int(FRAME["period"].max()) + 1, freq="M")


@pytest.mark.parametrize("text", [MONTHS.strftime("%Y-%m"), MONTHS.strftime("%Y-%m-15")])
def test_months_as_text_are_months(text: pd.Index) -> None:
    frame = FRAME.assign(month=text.to_numpy()[FRAME["period"]]).drop(index=[5])
    with pytest.warns(UserWarning, match="month: 1 gaps"):
        data = Transitions.from_frame(frame, **NAMES | {"time": "month"})
    with pytest.warns(UserWarning, match="period: 1 gaps"):
        expected = Transitions.from_frame(frame, **NAMES)
    np.testing.assert_array_equal(data.states, expected.states)
    np.testing.assert_array_equal(data.followed, expected.followed)


@pytest.mark.parametrize("wrong", ["2020-13", "2020-1", "May", None])
def test_a_text_that_is_no_month_is_refused(wrong: str | None) -> None:
    text = pd.Series(MONTHS.strftime("%Y-%m").to_numpy()[FRAME["period"]], dtype=object)
    text.iloc[7] = wrong
    with pytest.raises(InputError, match=r"month.* = .*number the periods"):
        Transitions.from_frame(FRAME.assign(month=text), **NAMES | {"time": "month"})


def test_a_discount_factor_as_text_is_refused() -> None:
    with pytest.raises(InputError, match=r"^discount = '0\.95': give a number"):
        gladius.fit(BUSES, **KNOWN | {"discount": "0.95"})


@pytest.mark.parametrize("step", [2, 0.5])
def test_periods_that_are_not_one_apart_are_reported(step: float) -> None:
    with pytest.warns(UserWarning, match=f"period: rows are {step:g} apart, which counts as one"):
        data = Transitions.from_frame(FRAME.assign(period=step * FRAME["period"]), **NAMES)
    np.testing.assert_array_equal(data.followed, Transitions.from_frame(FRAME, **NAMES).followed)


def test_the_summary_has_the_columns_on_which_the_reward_depends() -> None:
    rng = np.random.default_rng(0)
    useless = {name: rng.integers(0, 9, len(FRAME)) for name in ("u", "v")}
    frame = FRAME.assign(**useless)
    data = Transitions.from_frame(frame, **NAMES | {"state": ["u", "s0", "v"]})
    fit = gladius.fit(data, **KNOWN)
    assert fit.diagnostics.extra["reward_inputs"] == (1,)
    assert set(re.findall(r"^(\w+) = ", fit.summary(), re.M)) == {"s0"}
    nothing = replace(data, actions=rng.integers(0, 2, len(frame)))
    assert "u = " in gladius.fit(nothing, **KNOWN).summary()


def test_the_names_of_the_package_are_its_own() -> None:
    names = {name for name in dir(gladius) if not name.startswith("__")}
    rooms = {"designs", "model", "own_data", "panel", "results"}
    assert names == {*gladius.__all__, *rooms, "frame", "markov", "plots"}


def test_a_reward_without_actions_is_that_of_all() -> None:
    fit = gladius.fit(BUSES, **KNOWN)
    at = np.array([[1.0], [2.0], [5.0]])
    np.testing.assert_array_equal(fit.reward(at), np.stack([fit.reward(at, a) for a in (0, 1)], 1))


def test_rows_without_order_are_reported() -> None:
    names = NAMES | {"time": None}
    shuffled = FRAME.sample(frac=1, random_state=0)
    # 50 rows are too few to say it
    for frame, number in ((shuffled, 2), (FRAME, 1), (FRAME[:50], 1), (shuffled[:50], 1)):
        with pytest.warns(UserWarning, match="name time") as caught:
            Transitions.from_frame(frame, **names)
        assert len(caught) == number, frame
        assert ("not in order of time" in str(caught[-1].message)) == (number == 2)


@pytest.mark.filterwarnings("ignore:a choice depends on the choice before")  # labels are coarse
@pytest.mark.parametrize("kind", ["plain", "label"])
def test_a_dollar_in_a_name_is_no_formula(kind: str) -> None:
    """matplotlib's parser of formulas raised where a name had two."""
    bad = r"$\input{x}$"
    frame = FRAME.rename(columns={"s0": bad})
    frame["action"] = np.where(frame["action"] == 1, bad, "keep")
    names = NAMES | {"state": [bad], "categorical": ["action"]}
    if kind == "label":
        frame[bad] = np.where(frame[bad] > 3, bad, "low $1$")
        names["categorical"] = ["action", bad]
    fit = gladius.fit(
        Transitions.from_frame(frame, **names), "plug_in", **KNOWN | {"anchor_action": bad}
    )
    for plot in (plot_reward, plot_choices):
        figure = Figure()
        axes = plot(fit, figure.subplots())
        figure.savefig(BytesIO())
        assert axes.get_xlabel().replace(r"\$", "$") == bad


# None in `sys.modules` would not do: scipy asks the module, if it is there, for its classes
BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
"""
WITHOUT_TORCH = f"""{BLOCKED}
import warnings, gladius
from gladius.designs.bus import BUS_REWARD
from gladius.own_data.markov import check_markov
warnings.simplefilter("ignore")
data = gladius.BusEngine().simulate(60, rng=0)
known = dict(anchor_action=1, anchor_reward=-5.0, discount=0.95)
for name in gladius.METHODS:
    options = dict(protocol="printed", iterations=20) if name == "gladius" else dict()
    if name in ("nfxp", "ccp", "mpec", "avi", "semi_gradient", "rp", "samq", "ml_irl"):
        options["reward"] = BUS_REWARD
    try:
        fit = gladius.fit(data, name, **known, **options)
        fit.save(sys.argv[1])
        print(name, gladius.load(sys.argv[1]).diagnostics.status)
    except gladius.InputError as error:
        print(name, error)
for ask in (lambda: gladius.fit(data, function_class="sparse", **known),
            lambda: check_markov(data, **known), lambda: gladius.load(sys.argv[2])):
    try:
        ask()
    except gladius.InputError as error:
        print("error", error)
"""
ALONE = {"nfxp", "ccp", "mpec", "semi_gradient", "rp", "plug_in", "clare", "ml_irl", "airl"}


def test_without_torch_what_needs_it_says_so_in_one_line(tmp_path: Path) -> None:
    data, known = gladius.BusEngine().simulate(60, rng=0), {"anchor_reward": -5.0, "discount": 0.95}
    saved = tmp_path / "sparse"
    gladius.fit(data, function_class="sparse", anchor_action=1, **known).save(saved)
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "fit"), str(saved)]
    plainly = os.environ | {"NUMBA_DISABLE_JIT": "1"}  # to compile Algorithm 1 takes 9 s
    done = subprocess.run(command, cwd=ROOT, env=plainly, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    fits = {name for name, text in lines if text in ("ok", "not_converged")}
    assert fits >= ALONE | {"profiled_erm"}, lines
    needing = set(gladius.METHODS) - fits | {"error"}
    texts = [text for name, text in lines if name in needing]
    assert len(texts) == len(gladius.METHODS) - len(fits) + 3
    assert all("it needs torch, which is not installed: pip install" in text for text in texts)


def test_the_command_without_torch_says_so_in_one_line(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "buses.csv", index=False)
    code = f"{BLOCKED}\nfrom gladius.own_data.command import command\n"
    asked = "--state s0 --action action --id id --time period --anchor-action 1 --method bc"
    arguments = [*asked.split(), "--anchor-reward", "-5", "--discount", "0.95"]
    command = [sys.executable, "-c", f"{code}sys.exit(command())", str(tmp_path / "buses.csv")]
    done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"python -m gladius: method = 'bc': it needs torch.*\n", done.stderr)


def test_the_default_is_sparse_where_the_array_of_smooth_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, known = gladius.BusEngine().simulate(60, rng=0), {"anchor_action": 1, "discount": 0.95}
    monkeypatch.setattr("gladius.panel.moves.LARGEST_TABLE", 20)
    found = gladius.fit(data, anchor_reward=-5.0, **known)
    assert "reward_inputs" in found.diagnostics.extra  # of sparse
    with pytest.raises(InputError, match="coarsen the feature"):
        gladius.fit(data, anchor_reward=-5.0, function_class="smooth", **known)
