"""Seeds by key, specs that refuse what they do not know, records that drop nothing."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gladius.validate import InputError
from reproduce import run as runner
from reproduce.engine import seeds
from reproduce.engine.nouns import Cell, Entry, Exhibit, Record, Result, summarise, worst
from reproduce.engine.store import Store, Stored, decode, encode
from tests.reproduce.toys import toy

CELL = Cell("tests.reproduce.toys:compute", {"repetitions": 5})
MADE: dict[str, Any] = {"finished": "2026-11-28T12:00:00+00:00", "cpu_seconds": 1.0, "versions": {}}
MADE |= {"machine": {"cores": 2}, "threads": 1, "device": "cpu"}

texts = st.text(min_size=1, max_size=8)
keys = st.tuples(texts, texts, st.integers(0, 1000), texts)


@given(st.lists(keys, min_size=2, max_size=6, unique=True))
def test_different_keys_have_different_streams(several: list[tuple[str, str, int, str]]) -> None:
    states = [tuple(seeds.sequence(*key).generate_state(4)) for key in several]
    assert len(set(states)) == len(several)
    assert states == [tuple(seeds.sequence(*key).generate_state(4)) for key in several]


def test_the_seed_is_the_stated_function_of_the_key() -> None:
    digests = [hashlib.sha256(text).digest() for text in (b"table_2", b"50", b"data")]
    words = [np.frombuffer(digest[:4], dtype="<u4").item() for digest in digests]
    expected = np.random.SeedSequence(seeds.ROOT, spawn_key=(*words, 3))
    found = seeds.sequence("table_2", "50", 3)
    assert found.generate_state(8).tolist() == expected.generate_state(8).tolist()


def test_a_cell_names_its_stream_and_no_method_is_in_the_key() -> None:
    shared = {"repetitions": 2, "seeds": "table_2", "trajectories": 50}
    cells = [
        Cell("fit", {**shared, "method": "nfxp"}),
        Cell("elsewhere:compute", {**shared, "method": "bc", "seeds_row": "50"}),
        Cell("fit", {**shared, "trajectories": 250}),
    ]
    draws = [[g.random() for g in seeds.generators(cell)] for cell in cells]
    assert draws[0] == draws[1] != draws[2]
    assert draws[0][0] != draws[0][1]
    with pytest.raises(InputError, match=r"settings\.seeds"):
        seeds.generators(Cell("fit"))


GOOD: dict[Any, dict[str, Any]] = {
    Cell: {"compute": "fit", "settings": {"method": "nfxp"}},
    Entry: {"row": "1", "column": "A", "protocol": "fresh", "cell": CELL},
    Exhibit: {"name": "toy", "title": "A toy", "entries": toy().entries},
}


@pytest.mark.parametrize(
    ("kind", "changes", "field"),
    [
        (Cell, {"compute": "no function"}, "compute"),
        (Cell, {"settings": {"method": "gladus"}}, "settings.method"),
        (Cell, {"settings": {"repetitions": 0}}, "settings.repetitions"),
        (Cell, {"settings": {"seeds": "table 2"}}, "settings.seeds"),
        (Cell, {"settings": {"x": math.nan}}, "settings"),
        (Cell, {"settings": {"x": object()}}, "settings"),
        (Entry, {"row": ""}, "row"),
        (Entry, {"row": 50}, "row"),
        (Entry, {"protocol": "leak_fre"}, "protocol"),
        (Exhibit, {"name": "Table 2"}, "name"),
        (Exhibit, {"tolerance": math.nan}, "tolerance"),
    ],
)
def test_a_bad_spec_is_refused_by_name(kind: Any, changes: dict[str, Any], field: str) -> None:
    kind(**GOOD[kind])
    with pytest.raises(InputError) as caught:
        kind(**{**GOOD[kind], **changes})
    assert caught.value.field == field


def test_the_label_is_no_part_of_a_cell() -> None:
    named = Cell("tests.reproduce.toys:compute", {"b": 1, "a": [2]}, "a label")
    other = Cell("tests.reproduce.toys:compute", {"a": (2,), "b": 1})
    assert named == other
    assert named.digest == other.digest
    assert named != CELL
    assert named.id.startswith("a label [")


def test_two_entries_of_one_place_are_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        toy(columns=("A", "A")).checked_entries(False)


@pytest.mark.parametrize("options", [{"workers": -1}, {"device": "tpu"}])
def test_bad_options_are_refused_before_any_work(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"workers|device"):
        runner.run([toy(tmp_path / "log")], build=tmp_path, out=tmp_path, **options)
    assert not (tmp_path / "log").exists()


statuses = st.sampled_from(["ok", "not_converged", "diverged", "failed: x"])


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), statuses), min_size=2, max_size=8))
def test_summaries_drop_nothing_and_count_what_is_not_ok(pairs: list[tuple[float, str]]) -> None:
    values, statuses = [v for v, _ in pairs], [s for _, s in pairs]
    records = {r.statistic: r for r in summarise("MAPE", values, statuses)}
    assert records["MAPE"].value == pytest.approx(sum(values) / len(values), rel=1e-9, abs=1e-6)
    assert records["MAPE"].repetitions == len(values)
    good = [v for v, s in pairs if s == "ok"]
    assert records["repetitions not ok"].value == len(values) - len(good)
    assert (records["MAPE"].status == "ok") == (len(good) == len(values))
    assert ("MAPE of those ok" in records) == (0 < len(good) < len(values))
    if "MAPE of those ok" in records:
        expected = sum(good) / len(good)
        assert records["MAPE of those ok"].value == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_a_divergence_is_not_averaged_away() -> None:
    records = {r.statistic: r for r in summarise("MAPE", [1.0, math.inf], ["ok", "diverged"])}
    assert records["MAPE"].value == math.inf
    assert math.isnan(records["MAPE"].se)
    assert records["MAPE"].status == "diverged"
    assert records["MAPE of those ok"].value == 1.0


def test_the_gravest_status_wins() -> None:
    assert worst(["ok", "not_converged", "ok"]) == "not_converged"
    assert worst(["diverged", "not_converged"]) == "diverged"
    assert worst(["diverged", "failed: a", "ok"]) == "failed: a"
    for unknown in ("fine", "failed: "):
        with pytest.raises(InputError, match="status"):
            Record("MAPE", 1.0, status=unknown)


anything = st.floats(allow_nan=True, allow_infinity=True)


@given(anything, anything, st.lists(anything, min_size=1, max_size=4))
def test_a_stored_cell_reads_back_as_it_was(value: float, se: float, many: list[float]) -> None:
    arrays = {"r": np.array(many)}
    record = Record("MAPE", value, se, 3, "diverged")
    result = Result((record,), {"MAPE": many}, arrays, value)
    text = encode(CELL, Stored(result, "ok", "key", MADE))

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    assert set(json.loads(text, parse_constant=refuse)) == {"checksum", "cell"}
    back = decode(text, CELL)
    (record,) = back.result.records
    assert np.array_equal([record.value, record.se], [value, se], equal_nan=True)
    assert np.array_equal(back.result.replications["MAPE"], many, equal_nan=True)
    assert np.array_equal(back.result.arrays["r"], many, equal_nan=True)
    assert (back.status, back.key) == ("ok", "key")


@given(st.data())
def test_any_changed_character_is_noticed(data: st.DataObject) -> None:
    text = encode(CELL, Stored(Result((Record("MAPE", 1.25),)), "ok", "key", MADE))
    i = data.draw(st.integers(0, len(text) - 1))
    character = data.draw(st.characters(codec="ascii").filter(lambda c: c != text[i]))
    with pytest.raises(ValueError, match="checksum"):
        decode(text[:i] + character + text[i + 1 :], CELL)


def test_the_file_of_another_cell_is_no_result_of_this_one(tmp_path: Path) -> None:
    store, other = Store(tmp_path), Cell("tests.reproduce.toys:compute", {"repetitions": 2})
    path = store.path(CELL)
    path.parent.mkdir(parents=True)
    path.write_text(encode(other, Stored(Result((Record("MAPE", 1.0),)), "ok", "key", MADE)))
    with pytest.warns(UserWarning, match="another cell"):
        assert store.load(CELL) is None
