"""`python -m gladius` on a small file, and the examples of README and your_data.md."""

import re
import sys
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import hypothesis
import numpy as np
import pandas as pd
import pytest
from bus_engine import KNOWN
from hypothesis import strategies as st

import gladius
from gladius import METHODS, InputError, Transitions
from gladius.own_data.command import GRID_VALUES, METHOD_HELP, _read, main
from gladius.register import needs

KEYS = ["--action", "action", "--id", "id", "--time", "period", "--discount", "0.95"]
KEYS += ["--anchor-reward", "-5"]


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
    mileage = np.tile([1, 2] * 18 + [3, 2], 6)  # so rare that the level of V does not rest on it
    action = np.where(mileage == 3, 0, np.tile([0, 1, 1, 0], 57))
    frame = pd.DataFrame({"mileage": mileage, "action": action, "id": 0, "period": range(228)})
    path, asked = tmp_path / "choices.csv", ["--state", "mileage", "--anchor-action", "1", *KEYS]
    frame.to_csv(path, index=False)
    main([str(path), *asked])
    assert "in 1 of 3 states, the first mileage = 3.0, some action" in capsys.readouterr().err
    for other in (["--function-class", "sparse"], ["--method", "nfxp"]):
        main([str(path), *asked, *other])
        assert "never occur" not in capsys.readouterr().err
    frame.loc[frame["mileage"].eq(3).idxmax(), "action"] = 1
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
    frame.assign(low=frame["s0"]).to_csv(tmp_path / "low")
    asked = ["--state", "s0", "--anchor-action", "1", "--done", "done", *KEYS]
    for given, start, hint in [
        ([str(path), "--out", str(path)], "out = ", "it is a file"),
        ([str(path), "--out", str(tmp_path / "no-such" / "r")], "out = ", "does not exist"),
        ([str(tmp_path / "low"), "--state", "low"], "state = 'low'", "rename it in the file"),
        ([str(tmp_path)], "table = ", "it is a directory"),
        ([str(tmp_path / "words")], "action[0] = 'run': ", "code the actions 0, 1, 2, ..."),
        ([str(tmp_path / "no")], "done[0] = 'no': ", "as booleans or 1 and 0"),
    ]:
        with patch("gladius.own_data.command.fit", side_effect=AssertionError("work had started")):
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
    assert named == {name for name in METHODS if "form" in needs(name)} | {"profiled_erm"}
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
    return (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


def your_data() -> str:
    return (Path(gladius.__file__).parent / "own_data/your_data.md").read_text(encoding="utf-8")


def run(page: str) -> dict[str, object]:
    """What the examples of a page define."""
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(code, names)
    return names


NUMBER = r"-?\d[\d,]*(?:\.\d+)?"


def starts_with(shown: str, block: str) -> bool:
    """Whether an output begins with a block: its words, and decimals to a unit of their last."""
    texts = "".join(shown.splitlines(keepends=True)[: block.count("\n")]), block
    words = [re.sub(NUMBER, "#", text).split() for text in texts]
    found, stated = (re.findall(NUMBER, text) for text in texts)
    digits = np.array([len(x.partition(".")[2]) for x in stated])
    values = [np.array([float(x.replace(",", "")) for x in of]) for of in (found, stated)]
    near = np.where(digits, 1.001 * 10.0**-digits, 0.0)  # a count is the same
    return words[0] == words[1] and bool(np.all(np.abs(values[0] - values[1]) <= near))


@pytest.mark.parametrize("page", [readme, your_data])
def test_examples_of_the_pages_run(page, capsys):
    names = run(page())
    shown = capsys.readouterr().out
    blocks = re.findall(r"```text\n(.*?)```", page(), re.S)
    renew = "python -m reproduce readme writes README's block, of which your_data.md has the start"
    assert starts_with(shown, blocks[0]), f"{renew}:\n{shown}"
    assert shown.count("\n") == blocks[0].count("\n") or page is your_data  # it is all of it
    wrong = re.sub(r"\.(\d)", lambda x: f".{(int(x[1]) + 2) % 10}", blocks[0], count=1)
    assert not any(starts_with(shown, x) for x in (wrong, blocks[0].replace("action", "choice")))
    estimate = names["estimate"]
    assert estimate.diagnostics.converged
    np.testing.assert_allclose(estimate.reward(np.array([[1.0]]), 1), -5.0)
    if page is your_data:
        assert starts_with(shown[shown.index(blocks[1].partition("\n")[0]) :], blocks[1]), shown
        np.testing.assert_allclose(names["fit"].params.sort_index(), [-5.0, -1.0], rtol=0.1)
        after, before = names["after"](estimate)[1], estimate.predict([[5.0]])[1][0]
        assert after < before - 0.01


@pytest.mark.skipif(find_spec("econirl") is None, reason="econirl has the data")
def test_rust_s_example_has_the_numbers_of_table_ix():
    head = your_data().split("## What the reward is for")[0]
    names = run(head)
    (code,) = re.findall(r"```python rust\n(.*?)```", your_data(), re.S)
    with pytest.warns(UserWarning, match="increments are not the same in all states"):
        exec(code, names)
    found = names["zurcher"].to_frame(kind="outer").sort_index()
    np.testing.assert_allclose(found["estimate"], [10.075, 2.293], rtol=0.02)
    np.testing.assert_allclose(found["se"], [1.582, 0.639], rtol=0.05)
    assert names["common"].p_value(names["buses"]) < 1e-10


def test_the_readme_s_example_is_the_first_of_the_page_it_names():
    (short,) = re.findall(r"```python\n(.*?)```", readme(), re.S)
    assert re.search(r"```python\n(.*?)```", your_data(), re.S)[1].startswith(short)
    assert "(gladius/own_data/your_data.md)" in readme()


def test_the_page_sorts_the_methods_by_what_they_need():
    found: dict[str, set[str]] = {}
    with_errors: set[str] = set()
    for line in your_data().splitlines():
        if line.startswith(("| the form", "| the reward", "| neither")):
            given, _, _, errors = (cell.strip() for cell in line.strip("|").split("|"))
            methods = {m for m in METHODS if f"`{m}`" in line.split("|")[2]}
            found[given] = found.get(given, set()) | methods
            with_errors |= methods if errors in ("`summary()`", "`reward_frame()`") else set()
    form = {m for m in METHODS if "form" in needs(m)}
    anchor = {m for m in METHODS if "anchor" in needs(m)} - form
    assert list(found.values()) == [form, anchor, set(METHODS) - form - anchor]
    assert with_errors == {"nfxp", "ccp", "mpec", "ml_irl", "plug_in", "profiled_erm"}


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
    assert f"profiled_erm sparse, {len(data):,} observations" in said
    states = len(np.unique(data.states, axis=0))
    assert states > 1000
    assert f"{states:,} states are too many to read" in said
    table = pd.read_csv(out / "reward.csv")
    assert len(table) <= 2 * 3 * GRID_VALUES
    assert set(table["s0"]) == set(np.unique(data.states[:, 0]))
    rewards = table.query("action == 0").groupby("s0")["reward"].mean()
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


NO_ARROW = "Parquet needs pyarrow, which the extra `parquet` installs"


def test_without_pyarrow_a_parquet_file_is_refused_in_a_line(tmp_path, capsys, monkeypatch):
    path = tmp_path / "choices.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main([str(path), "--state", "mileage", "--anchor-action", "1", *KEYS]) == 2
    said = capsys.readouterr().err
    assert "Parquet needs pyarrow: pip install pyarrow, or the extra `parquet`" in said
    assert said.count("\n") == 1


def test_a_parquet_file_is_read_as_a_table_of_commas_is(choices, tmp_path, capsys):
    pytest.importorskip("pyarrow", reason=NO_ARROW)
    _, path = choices
    asked = ["--state", "mileage", "--anchor-action", "1", *KEYS]
    frame = pd.read_csv(path)
    outputs, indexed = [], frame.set_index(["id", "period"]).rename_axis(columns="of")
    for number, table in enumerate(
        (frame, indexed, frame.assign(id="bus " + frame.id.astype(str)))
    ):
        other = tmp_path / f"choices {number}.parquet"
        table.to_parquet(other, row_group_size=1_000)
        for file in (path, other):
            assert main([str(file), *asked]) == 0
            outputs.append(capsys.readouterr().out)
    assert len(set(outputs)) == 1


def test_columns_of_a_parquet_file_are_not_copied(choices, tmp_path):
    pytest.importorskip("pyarrow", reason=NO_ARROW)
    path = tmp_path / "choices.pq"
    choices[0].to_frame().to_parquet(path)
    found = _read(path, None)
    for name in ("id", "period", "s0", "action"):
        assert not found[name].to_numpy().flags.owndata
        assert not found[name].to_numpy().flags.writeable  # the memory is pyarrow's
    names = {"state": ["s0"], "action": "action", "id": "id", "time": "period"}
    table = pytest.importorskip("pyarrow.parquet").read_table(path)
    data = Transitions.from_frame(table, **names)
    np.testing.assert_array_equal(data.states, Transitions.from_frame(found, **names).states)


@hypothesis.settings(max_examples=200)
@hypothesis.given(st.data())
def test_a_parquet_file_that_is_not_whole_is_refused(drawn):
    """Bytes of it changed, at its end above all, which says what is in it; or its end cut off."""
    pytest.importorskip("pyarrow", reason=NO_ARROW)
    buffer = BytesIO()
    table = {"a": np.arange(9), "b": np.arange(9.0), "c": pd.Categorical([*"abc"] * 3)}
    pd.DataFrame(table).to_parquet(buffer)
    content = bytearray(buffer.getvalue())
    places = st.integers(0, len(content) - 1) | st.integers(-2_000, -1)
    for place, byte in drawn.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=5)):
        content[place] = byte
    content = content[: drawn.draw(st.just(len(content)) | st.integers(0, len(content)))]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        path.write_bytes(content)
        said = "table: this is no Parquet file"
        try:
            assert len(_read(path, None).columns) < 100
        except InputError as error:
            said = f"{error.field}: {error.hint}"
    assert said.startswith("table: this is no Parquet file")


def lawful(paths):
    """Buses that have to be replaced at mileage 4, with a column that says so, and names."""
    data = gladius.BusEngine(dummies=2).simulate(paths, np.random.default_rng(0))
    frame = data.to_frame().query("s0 < 5").rename(columns={"s0": "mileage"})
    frame["may"] = (frame["mileage"] < 4).astype(int)
    frame["choice"] = np.where(frame["action"] * frame["may"] < frame["may"], "keep", "replace")
    return frame


@pytest.mark.filterwarnings("ignore:.*gaps", "ignore:.*never seen to be followed")
def test_available_names_the_column_of_an_action(tmp_path, capsys):
    path, frame = tmp_path / "choices.csv", lawful(60)
    asked = ["--state", "mileage", "--categorical", "choice", "--anchor-action", "replace"]
    asked += [*KEYS[2:], "--action", "choice", "--method", "nfxp", "--weights", "w"]
    frame.assign(w=1.0 + frame["id"] % 2).to_csv(path, index=False)
    names = {"state": ["mileage"], "action": "choice", "id": "id", "time": "period"}
    data = Transitions.from_frame(
        pd.read_csv(path), **names, categorical=["choice"], carry=["may", "w"]
    )
    known = KNOWN | {"anchor_action": "replace", "available": {"keep": "may"}, "weights": "w"}
    form = gladius.model.reward_form.linear_in_features(2, 1, -5.0, ["mileage"])
    expected = gladius.fit(data, "nfxp", reward=form, **known)
    for action in ("keep", "0"):
        assert main([str(path), *asked, "--available", f"{action}=may"]) == 0
        printed, _ = capsys.readouterr()
        table = pd.read_csv(StringIO(printed))
        at = table[["mileage"]].to_numpy(dtype=float)
        np.testing.assert_allclose(table["reward"], expected.reward(at, table["action"].to_numpy()))
        last = table.query("mileage == 4 and action == 0")
        assert last["probability"].tolist() == [0.0]
    for wrong, hint in (("may", "ACTION=COLUMN"), ("keep=might", "might"), ("sell=may", "sell")):
        assert main([str(path), *asked, "--available", wrong]) == 2
        assert hint in capsys.readouterr().err
    assert main([str(path), *asked, "--available", "keep=may", "--available", "0=w"]) == 2
    assert "0=w" in capsys.readouterr().err  # of one action the last would have counted


@pytest.mark.filterwarnings("ignore:.*gaps", "ignore:.*never seen to be followed")
def test_available_with_many_states_tells_of_observed_ones(tmp_path, capsys):
    path, frame = tmp_path / "choices.csv", lawful(20)
    asked = ["--state", "mileage", "--state", "s1", "--state", "s2", "--anchor-action", "1"]
    asked += [*KEYS[2:], "--action", "taken", "--available", "0=may"]
    frame.assign(taken=(frame["choice"] == "replace").astype(int)).to_csv(path, index=False)
    assert main([str(path), *asked]) in (0, 1)
    printed, said = capsys.readouterr()
    assert "states are too many to read" in said
    table = pd.read_csv(StringIO(printed))
    assert 20 < len(table) / 2 <= 3 * GRID_VALUES
    columns = ["mileage", "s1", "s2"]
    assert len(table.merge(frame[columns].drop_duplicates(), on=columns)) == len(table)


def test_weights_are_columns_of_the_table(choices, tmp_path, capsys):
    _, path = choices
    frame = pd.read_csv(path)
    twice = pd.concat([frame, frame[frame["id"] < 9].assign(id=lambda x: x["id"] + 99)])
    asked = ["--state", "mileage", "--anchor-action", "1", *KEYS, "--method", "nfxp"]
    outputs = []
    frame["w"] = 1 + (frame["id"] < 9)
    for table, more in ((frame, ["--weights", "w"]), (frame, ["--freq-weights", "w"]), (twice, [])):
        table.to_csv(path, index=False)
        assert main([str(path), *asked, *more]) == 0
        outputs.append(re.search("parameters: (.*)", capsys.readouterr().err)[1])
    assert len(set(outputs)) == 1, outputs


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"gladius-checked {gladius.__version__}\n"
