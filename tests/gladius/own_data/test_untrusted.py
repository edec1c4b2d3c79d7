"""What `gladius.load` does with a folder of somebody else: it runs none of its code.

Each attack writes, or would write, the file `ran`; the checksums are the attacker's own.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gladius
from gladius.model.reward_form import LinearReward
from gladius.own_data.formula import FormulaDesign
from gladius.own_data.results import trusted
from gladius.own_data.results.saved import FILES, save
from gladius.validate import InputError

DATA = gladius.BusEngine().simulate(9, np.random.default_rng(0))
KNOWN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}


def design_of(states: Any) -> Any:
    return np.stack([states, -np.ones_like(states)], axis=1)


@dataclass(frozen=True)
class Scaled:
    """A design of a user."""

    by: float

    def __call__(self, states: Any) -> Any:
        return self.by * design_of(states)


class Other:
    """No data class, whose making runs code."""

    def __init__(self, file: str = "ran") -> None:
        Path(file).touch()

    def __post_init__(self) -> None:
        Path("ran").touch()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved fit, in a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    gladius.fit(DATA, "plug_in", **KNOWN).save(tmp_path / "fit")
    return tmp_path / "fit"


def with_value(folder: Path, value: Any) -> Path:
    """The folder with another value, and checksums that agree with it."""
    text = json.dumps({"format": 3, "value": value})
    return rewritten(folder, lambda _: text)


def rewritten(folder: Path, change: Callable[[str], str]) -> Path:
    """The folder with another results.json, and checksums that agree with it."""
    json_file = folder / "results.json"
    json_file.write_text(change(json_file.read_text("utf-8")), "utf-8")
    sums = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in FILES]
    (folder / "SHA256SUMS").write_text("".join(sums), "utf-8")
    return folder


def name(text: str) -> dict[str, str]:
    return {"name": text}


def called(function: str, *given: Any, **named: Any) -> dict[str, Any]:
    entries = [[key, value] for key, value in named.items()]
    return {"partial": [name(function), {"tuple": list(given)}, {"dict": entries}]}


SHELL = {"args": "touch ran", "shell": True}
DESIGN = "gladius.own_data.formula:FormulaDesign"
OWN = __name__
ATTACKS = {
    "a command": {"object": "subprocess:run", "fields": SHELL},
    "code in a text": {"object": "timeit:timeit", "fields": {"stmt": "open('ran', 'w')"}},
    "an import": name("written_by_attacker:x"),
    "a class of another module": {"object": "written_by_attacker:X", "fields": {}},
    "a function of another package": called("os:system", "touch ran"),
    "a module of ours": name("gladius.own_data.results.saved:np"),
    "another package through ours": name("gladius.own_data.results.saved:np.load"),
    "a function that ours imports": name("gladius:import_module"),
    "an answer of __getattr__": name("gladius:fit"),
    "a function that writes": called("gladius.own_data.results.saved:save", folder="ran"),
    "a function that loads": called("gladius.own_data.results.saved:load", trust={"tuple": ["os"]}),
    "a function that reads formulas": called("gladius.own_data.formula:linear_reward", "{1}", []),
    "a class of formulas, to be called": called(DESIGN, "{1}"),
    "a class that is no data class": {"object": "gladius.designs.gym:CartPoles", "fields": {}},
    "a simulator": {"object": "gladius.designs.gym:Environment", "fields": {"module": "x"}},
    "an error": {"object": "gladius.validate:InputError", "fields": {}},
    "a function as a class": {"object": "gladius.own_data.formula:read_restrictions", "fields": {}},
    "what all classes have": name("gladius.panel.anchor:Anchor.__class__"),
    "the globals of a method": name("gladius.panel.anchor:Anchor.values.__globals__"),
    "a path": name("gladius/../written_by_attacker:x"),
    "a method": {
        "method": [{"object": "gladius.model.estimate:Refit", "fields": {}}, "__reduce__"]
    },
    "an array of another folder": {"array": "../../other/array_0"},
    "an unknown kind": {"eval": "open('ran', 'w')"},
    "nothing": {},
    "a list for a dict": {"object": [], "fields": 3},
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_file_runs_no_code(attack: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from pathlib import Path\nPath('ran').touch()\nX = x = Path\n"
    Path("written_by_attacker.py").write_text(code)
    monkeypatch.syspath_prepend(str(Path.cwd()))
    with pytest.raises(InputError, match=r"results\.json"):
        gladius.load(with_value(folder, ATTACKS[attack]))
    assert not Path("ran").exists()
    assert "written_by_attacker" not in sys.modules


FORMULAS = [
    "{__import__('os').system('touch ran')}",
    "{open('ran', 'w')}:s0",
    "I(().__class__.__base__.__subclasses__()):s0",
    "np.save('ran', s0)",
    "np.log.__class__(s0)",
    "np.log(s0, **{'out': s0})",
    "C(s0, _state={})",
    # formulaic puts the text of a call into code of its own
    'C(s0, levels=[\'"] or open("ran", "w") or ["\'])',
    "`__builtins__`",
    "{self}",
    "{9**9**9**9}:s0",
    "{(lambda: s0)()}",
    "{[s0 for s0 in (1, 2)][0]}",
    "s0 ~ s0",
    "s0 + (",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_of_a_file_is_arithmetic(formula: str, folder: Path) -> None:
    design = FormulaDesign(formula, ("s0",), ("action_0", "action_1"), DATA.states[:3], "none")
    save(LinearReward(design), folder)
    with pytest.raises(InputError, match=r"results\.json has a formula .* trust=\('formulaic',\)"):
        gladius.load(folder)
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    "formula",
    [
        "0 + s0:action_0 + action_1",
        "0 + I(-s0 / 1000):action_0 + I(-action_1)",
        "0 + np.log(`a b` + 1):action_0 + center(s0)*action_0 + poly(s0, degree=2, raw=True)",
        "0 + C(s0, levels=[1, 2, 3]):action_0 + (s0 + action_0)**2 + I((s0 > 2) & (s0 <= 3))",
        "0 + bs(s0, df=4):action_0 + np.where(s0 > 2, s0 ** 2, -s0) + {s0 + 1}",
    ],
)
def test_a_formula_of_arithmetic_is_loaded(formula: str, folder: Path) -> None:
    states = np.column_stack([np.tile([1.0, 2.0, 3.0], 4), np.arange(12.0)])
    design = FormulaDesign(formula, ("s0", "a b"), ("action_0", "action_1"), states, "none")
    save(LinearReward(design), folder)
    np.testing.assert_array_equal(gladius.load(folder).design(states), design(states))


def test_any_formula_is_loaded_by_who_trusts_it(folder: Path) -> None:
    design = FormulaDesign("0 + s0.clip(2)", ("s0",), ("action_0",), DATA.states[:3], "none")
    save(LinearReward(design), folder)
    with pytest.raises(InputError, match="trust"):
        gladius.load(folder)
    assert gladius.load(folder, trust=["formulaic"]).design.formula == design.formula


def test_a_user_s_own_functions_and_classes_are_loaded_from_a_trusted_module(folder: Path) -> None:
    for design in (design_of, Scaled(2.0), Scaled(2.0).__call__):
        fit = gladius.fit(DATA, "nfxp", reward=LinearReward(design), **KNOWN)
        fit.save(folder)
        with pytest.raises(InputError, match=rf"results\.json names {OWN}:.* trust=\('{OWN}',\)"):
            gladius.load(folder)
        copy = gladius.load(folder, trust=(OWN,))
        expected = fit.reward_function(DATA.states)
        np.testing.assert_array_equal(copy.reward_function(DATA.states), expected)


def test_a_trusted_module_does_not_open_what_it_imports(folder: Path) -> None:
    for value in (
        name(f"{OWN}:os.system"),
        name(f"{OWN}:np"),
        name(f"{OWN}:json.loads"),
        {"object": f"{OWN}:Other", "fields": {}},
        {"object": f"{OWN}x:Scaled", "fields": {}},
    ):
        with pytest.raises(InputError, match=r"results\.json"):
            gladius.load(with_value(folder, value), trust=(OWN,))
    assert not Path("ran").exists()
    with pytest.raises(InputError, match="give a list of modules"):
        gladius.load(folder, trust=OWN)


class Pickled:
    """Runs a command where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("touch ran",)


def test_a_pickle_in_an_array_is_not_read(folder: Path) -> None:
    np.savez(folder / "arrays.npz", array_0=np.array([Pickled()], dtype=object))
    with pytest.raises(InputError, match=r"arrays\.npz is not as `save` wrote it"):
        gladius.load(rewritten(folder, str))
    assert not Path("ran").exists()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def edited(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1] + b" ")


@pytest.mark.parametrize("damage", [cut, edited, Path.unlink])
@pytest.mark.parametrize("file", [*FILES, "SHA256SUMS"])
def test_a_file_that_is_cut_or_edited_or_missing_is_named(
    file: str, damage: Callable[[Path], None], folder: Path
) -> None:
    damage(folder / file)
    if (file, damage) == ("SHA256SUMS", edited):  # its last character is a newline
        assert gladius.load(folder).name == "plug_in"
        return
    with pytest.raises(InputError, match=f"no {file}|{file} is not as `save` wrote it"):
        gladius.load(folder)


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_0_4_that_is_cut_is_named(file: str, folder: Path) -> None:
    """Those folders have no checksums."""
    text = (folder / "results.json").read_text("utf-8")
    (folder / "results.json").write_text(text.replace('"format": 3', '"format": 2'), "utf-8")
    (folder / "SHA256SUMS").unlink()
    assert gladius.load(folder).name == "plug_in"
    cut(folder / file)
    with pytest.raises(InputError, match=f"{file} is not as `save` wrote it"):
        gladius.load(folder)


@pytest.mark.parametrize("number", ["NaN", "1e999", "-0.5", "9" * 5000, "null", "[" * 10**5])
def test_a_discount_factor_that_is_none_is_refused(number: str, folder: Path) -> None:
    with pytest.raises(InputError, match=r"results\.json is not as `save` wrote it"):
        gladius.load(rewritten(folder, lambda text: text.replace("0.95", number)))


def test_the_checksums_are_those_of_sha256sum(folder: Path) -> None:
    lines = (folder / "SHA256SUMS").read_text("utf-8").splitlines()
    digests = [hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in FILES]
    assert lines == [f"{d}  {f}" for d, f in zip(digests, FILES, strict=True)]
    (folder / "results.json").write_text(
        (folder / "results.json").read_text("utf-8").replace("0.95", "0.5"), "utf-8"
    )
    with pytest.raises(InputError, match=r"results\.json .* checksum differs"):
        gladius.load(folder)


def test_the_functions_that_a_file_may_name_are_defined() -> None:
    for text in trusted.ALLOWED - {"numpy:float32", "numpy:float64"}:
        assert callable(trusted.defined(text))


def test_a_fit_is_not_saved_onto_a_file(folder: Path) -> None:
    fit, file = gladius.load(folder), folder / "results.json"
    for where in (file, file / "below"):
        with pytest.raises(InputError, match="name a folder, which may be new"):
            fit.save(where)
