"""`python -m gladius` on a small file, and the examples of README and your_data.md."""

import re
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from bus_engine import KNOWN

import gladius
from gladius import METHODS, counterfactual
from gladius.__main__ import METHOD_HELP, main
from gladius.methods import needs

KEYS = ["--action", "action", "--id", "id", "--discount", "0.95", "--anchor-reward", "-5"]


@pytest.fixture
def choices(tmp_path):
    data = gladius.BusEngine().simulate(30, np.random.default_rng(0))
    frame = data.to_frame().rename(columns={"s0": "mileage", "next_s0": "after"})
    path = tmp_path / "choices.csv"
    frame.to_csv(path, index=False)
    return data, path


def test_command_writes_what_fit_finds(choices, tmp_path):
    data, path = choices
    out = tmp_path / "results"
    asked = ["--state", "mileage", "--next-state", "after", "--anchor-action", "1"]
    assert main([str(path), *asked, *KEYS, "--out", str(out)]) == 0
    found = pd.read_csv(out / "reward.csv")
    estimate = gladius.fit(data, anchor_action=1, anchor_reward=-5.0, discount=0.95)
    at = found[["mileage"]].to_numpy(dtype=float)
    np.testing.assert_allclose(found["reward"], estimate.reward(at, found["action"].to_numpy()))
    assert found["observations"].sum() == len(data)
    np.testing.assert_allclose(found.groupby("mileage")["probability"].sum(), 1.0)
    names = {"call.txt", "summary.txt", "reward.csv", "reward.png", "choices.png"}
    assert {path.name for path in out.iterdir()} == names


def test_states_where_an_action_never_occurs_are_counted(tmp_path, capsys):
    """At mileage 3 nobody replaces; silence where every pair occurs or r has features or a form."""
    mileage = np.tile([1, 2, 3, 2], 30)
    action = np.tile([0, 1, 0, 0, 1, 0, 0, 1], 15)
    frame = pd.DataFrame({"mileage": mileage, "action": action, "id": 0})
    path, asked = tmp_path / "choices.csv", ["--state", "mileage", "--anchor-action", "1", *KEYS]
    frame.to_csv(path, index=False)
    main([str(path), *asked])
    assert "in 1 of 3 states, the first mileage = 3.0, some action" in capsys.readouterr().err
    for other in (["--function-class", "sparse"], ["--method", "nfxp"]):
        main([str(path), *asked, *other])
        assert "never occur" not in capsys.readouterr().err
    frame.loc[2, "action"] = 1
    frame.to_csv(path, index=False)
    main([str(path), *asked])
    assert "never occur" not in capsys.readouterr().err


def test_bad_input_is_one_line(choices, capsys):
    _, path = choices
    assert main([str(path), "--state", "miles", "--anchor-action", "1", *KEYS]) == 2
    said = capsys.readouterr().err
    assert "miles" in said
    assert "Traceback" not in said
    assert main([f"{path}.none", "--state", "mileage", "--anchor-action", "1", *KEYS]) == 2
    assert "no such file" in capsys.readouterr().err


def test_what_is_a_directory_or_no_number_is_told_before_any_work(choices, tmp_path, capsys):
    """As it stands on the command line: one line, the user's column and what it holds."""
    data, path = choices
    frame = data.to_frame()
    frame.assign(action=frame["action"].map({0: "run", 1: "replace"})).to_csv(tmp_path / "words")
    frame.assign(done="no").to_csv(tmp_path / "no")
    asked = ["--state", "s0", "--anchor-action", "1", "--done", "done", *KEYS]
    for given, start, hint in [
        ([str(path), "--out", str(path)], "out = ", "it is a file"),
        ([str(tmp_path)], "csv = ", "it is a directory"),
        ([str(tmp_path / "words")], "action[0] = 'run': ", "code the actions 0, 1, 2, ..."),
        ([str(tmp_path / "no")], "done[0] = 'no': ", "as booleans or 1 and 0"),
    ]:
        with patch("gladius.__main__.fit", side_effect=AssertionError("work had started")):
            assert main([*given, *asked]) == 2
        shown = capsys.readouterr().err
        assert shown.startswith("python -m gladius: " + start)
        assert hint in shown
        assert shown.count("\n") == 1


def test_a_fit_that_fails_is_no_success(choices, tmp_path):
    data, _ = choices
    frame = data.to_frame()
    frame.loc[0, "s0"] = 1e5
    path = tmp_path / "spoilt.csv"
    frame.to_csv(path, index=False)
    asked = [str(path), "--state", "s0", "--anchor-action", "1", *KEYS]
    with np.errstate(all="ignore"), pytest.warns(UserWarning, match="if it is a code"):
        assert main(asked) == 1


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "python -m gladius choices.csv" in capsys.readouterr().out


def test_help_tells_which_methods_assume_a_form():
    named = set(re.findall(r"\w+", METHOD_HELP)) & set(METHODS)
    assert named == {name for name in METHODS if "form" in needs(name)} | {"gladius"}
    assert "linear in the --state columns" in METHOD_HELP


def test_a_parametric_method_gets_the_form_that_the_help_promises(choices, tmp_path):
    data, path = choices
    out = tmp_path / "results"
    asked = ["--state", "mileage", "--anchor-action", "1", *KEYS, "--method", "nfxp"]
    assert main([str(path), *asked, "--next-state", "after", "--out", str(out)]) == 0
    table = pd.read_csv(out / "reward.csv")
    form = gladius.LinearReward(
        lambda x: np.stack([np.column_stack([np.ones(len(x)), x]), np.zeros((len(x), 2))], axis=1),
        lambda x: np.column_stack([np.zeros(len(x)), np.full(len(x), -5.0)]),
    )
    estimate = gladius.fit(data, "nfxp", reward=form, **KNOWN)
    rewards = estimate.reward(table[["mileage"]].to_numpy(float), table["action"].to_numpy())
    np.testing.assert_allclose(table["reward"], rewards, atol=1e-8)
    parameters = pd.read_csv(out / "parameters.csv", index_col="parameter")
    assert list(parameters.index) == ["constant, action 0", "mileage, action 0"]
    np.testing.assert_allclose(parameters["se"], estimate.to_frame()["se"], rtol=1e-6)
    assert "mileage, action 0" in (out / "summary.txt").read_text("utf-8")
    assert "--method nfxp" in (out / "call.txt").read_text("utf-8")
    assert (out / "reward.png").stat().st_size > (out / "call.txt").stat().st_size


def readme() -> str:
    return (Path(gladius.__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def your_data() -> str:
    return Path(gladius.__file__).with_name("your_data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "number"), [(readme, 1), (your_data, 4)])
def test_examples_of_the_pages_run(page, number, capsys):
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", page(), re.S)
    assert len(blocks) == number
    for code in blocks:
        exec(code, names)
    printed = re.findall(r"```text\n(.*?)```", readme(), re.S)
    assert capsys.readouterr().out.startswith(printed[0])
    estimate = names["estimate"]
    assert isinstance(estimate, gladius.Estimate)
    assert estimate.diagnostics.converged
    np.testing.assert_allclose(estimate.reward(np.array([[1.0]]), 1), -5.0)
    if page is your_data:
        learned = names["learned"]
        assert isinstance(learned, counterfactual.Learned)
        at = np.array([[1.0], [5.0]])
        assert np.all(learned.policy(at)[:, 1] < estimate.policy(at)[:, 1] - 0.01)


def test_the_readme_s_example_is_the_first_of_the_page_it_names():
    (short,) = re.findall(r"```python\n(.*?)```", readme(), re.S)
    assert re.search(r"```python\n(.*?)```", your_data(), re.S)[1].startswith(short)
    assert "(gladius/your_data.md)" in readme()


def test_the_page_sorts_the_methods_by_what_they_need():
    rows = re.findall(r"^\| (the form|the reward|neither).*$", your_data(), re.M)
    assert rows == ["the form", "the reward", "neither"]
    lines = [
        line for line in your_data().splitlines() if line.startswith(tuple("| " + r for r in rows))
    ]
    found = [{m for m in METHODS if f"`{m}`" in line} for line in lines]
    form = {m for m in METHODS if "form" in needs(m)}
    anchor = {m for m in METHODS if "anchor" in needs(m)} - form
    assert found == [form, anchor, set(METHODS) - form - anchor]


def test_shuffled_rows_are_sorted_by_time_and_the_chosen_features_are_named(tmp_path, capsys):
    data = gladius.BusEngine(dummies=2).simulate(60, np.random.default_rng(1))
    frame = data.to_frame().drop(columns=["done", "next_s0", "next_s1", "next_s2"])
    frame["month"] = frame.groupby("id").cumcount()
    path, out = tmp_path / "panel.csv", tmp_path / "results"
    frame.sample(frac=1, random_state=0).to_csv(path, index=False)
    asked = ["--action", "action", "--id", "id", "--time", "month", "--discount", "0.95"]
    states = ["--state", "s0", "--state", "s1", "--state", "s2"]
    anchor = ["--anchor-action", "1", "--anchor-reward", "-5"]
    assert main([str(path), *states, *asked, *anchor, "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert "features chosen for r: s0\n" in said
    assert f"gladius sparse, {len(data) - 60} transitions" in said
    rewards = pd.read_csv(out / "reward.csv").query("action == 0").groupby("s0")["reward"].mean()
    assert rewards[3.0] == pytest.approx(-3.0, abs=0.6)


@pytest.mark.parametrize(
    ("method", "told"), [("nfxp", "parameters"), ("plug_in", ""), ("iq_learn", "no level of r")]
)
def test_parameters_and_a_missing_level_are_told(choices, capsys, method, told):
    _, path = choices
    main([str(path), "--state", "mileage", "--anchor-action", "1", *KEYS, "--method", method])
    said = capsys.readouterr().err
    assert ("parameters" in said) == (told == "parameters")
    assert ("no level of r" in said) == (told == "no level of r")
