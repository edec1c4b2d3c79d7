"""The titles of the committed figures beside the committed numbers, and titles that must go."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gladius.designs.bus import BusEngine
from reproduce.cells.gym_trainings import BEST, TABLE
from reproduce.drawing import notes
from reproduce.engine.nouns import Result
from reproduce.engine.view import View
from reproduce.exhibits import converging, figure_a1, table_3, table_4
from reproduce.pages import facts
from reproduce.pages.numbers import Numbers
from reproduce.run import GENERATED
from tests.reproduce.smoke_results import stored

NUMBERS = Numbers(GENERATED)


def csv(name: str, **key: str) -> pd.DataFrame:
    frame = pd.read_csv(GENERATED / f"{name}.csv", dtype={"row": str})
    for column, value in key.items():
        frame = frame[frame[column].eq(value)]
    return frame


def of_accuracy() -> dict[str, Any]:
    bound = NUMBERS.series("accuracy", "affine/*", "bound", "measured (iv)")
    table = pd.read_csv(GENERATED.parent / "published" / "table_2.csv", dtype=str)
    printed = table[table["column"].eq("GLADIUS") & table["statistic"].eq("MAPE")]
    errors = dict(zip(printed["row"], printed["value"].astype(float), strict=True))
    assert errors.keys() == bound.keys()
    assert all(errors[n] < bound[n] for n in bound)
    return {}


def of_converging() -> dict[str, Any]:
    checks = csv("converging_checks", column=converging.COLUMN)
    checks = checks[checks["row"].str.startswith("N=")]
    said = {"margin": "5"}
    for name, other in (("counting", "Plug-in"), ("public", "public procedure")):
        words = checks[checks["statistic"].eq(f"paired difference to {other}, per cent")]["verdict"]
        said[name] = f"{words.eq('met').sum()} of {len(words)}"
    epochs = csv("converging_epochs_checks", column=converging.COLUMN)
    words = epochs[epochs["statistic"].str.endswith("least training loss")]["verdict"]
    said["trained"] = f"{words.eq('met').sum()} of {len(words)}"
    frame = csv("converging", statistic="MAPE")
    frame = frame[frame["row"].str.startswith("N=")]
    table = frame.pivot_table(index="row", columns=["column", "protocol"], values="value")
    ours, counting, between, above = (table[key].to_numpy() for key in converging.AGAINST_N)
    assert len(table) == 6
    assert (np.maximum(ours, counting) < between).all()  # as the alternative text says
    assert (between < above).all()
    return said


def of_inputs() -> dict[str, Any]:
    frame = csv("converging", statistic="MAPE")
    frame = frame[frame["row"].str.isdigit()]
    spread = frame.groupby(["column", "protocol"])["value"].agg(lambda x: x.max() / x.min())
    flat = {key for key, ratio in spread.items() if ratio <= 1.5}
    assert {converging.HALVING, converging.SELECTED} < flat
    assert not flat & {converging.ORACLE, converging.NETWORK}
    return {}


def of_double_sampling() -> dict[str, Any]:
    finding = facts.double_sampling(NUMBERS)
    return {"least": 100 - finding.removed, "most": f"{finding.most_by_mileage:.2f}"}


def of_figure_1() -> dict[str, Any]:
    public = csv("figure_1", column="GLADIUS", statistic="MAPE")
    public = public.assign(row=pd.to_numeric(public["row"]))
    table = public.pivot_table(index="row", columns="protocol", values="value")
    held_out, best = table["author public held-out"], table["author public best"]
    assert list(held_out.index) == [2, 5, 20, 50, 100]
    assert held_out.is_monotonic_increasing
    assert held_out[100] > max(10 * held_out[2], 2 * best[100])
    return {}


def of_figure_a1() -> dict[str, Any]:
    distance = facts.table_a1(NUMBERS)
    printed = pd.read_csv(GENERATED.parent / "published" / "table_a1.csv")
    r = printed[printed["statistic"].eq("r a0")].pivot(index="row", columns="column")["value"]
    least = (r["GLADIUS"].astype(float) - r["Ground Truth"].astype(float)).min()
    return {"gap": f"{max(distance.often, distance.rare):.2f}", "least": f"{least:.1f}"}


def of_panels() -> dict[str, Any]:
    frame, far = csv("figure_a1"), dict[bool, float]()
    for (column, action), errors in figure_a1.published_errors("table_a1").items():
        lines = frame[frame["column"].eq(column) & frame["statistic"].eq(f"error a{action}")]
        lines = lines[~lines["protocol"].str.startswith("author public")]  # its se is a deviation
        z = (np.abs(errors - lines["value"]) / lines["se"]).max()
        far[column == "GLADIUS"] = max(far.get(column == "GLADIUS", 0.0), z)
    return {"gladius": f"{far[True]:.1f}", "others": f"{far[False]:.1f}"}


def of_stability() -> dict[str, Any]:
    growth = csv("stability", column="printed map", statistic="growth rate")
    growth = growth[growth["row"].str.startswith("beta 0.95, ascents 1,")]
    ratio = growth["row"].str.rpartition(" ")[2].astype(float)
    out = ratio[growth["status"].eq("diverged")]
    assert out.max() < 1.0
    assert 1.0 in set(ratio)
    return {"ratio": f"{out.max():.2g}"}


def of_table_2() -> dict[str, Any]:
    finding = facts.table_2(NUMBERS)
    of = len(finding.sizes)
    return {"best": len(finding.reached), "last": of - len(finding.above_last), "of": of}


OF_NUMBERS: dict[str, Callable[[], dict[str, Any]]] = {
    "accuracy": of_accuracy,
    "converging": of_converging,
    "converging_inputs": of_inputs,
    "double_sampling": of_double_sampling,
    "figure_1": of_figure_1,
    "figure_a1": of_figure_a1,
    "figure_a1_panels": of_panels,
    "stability": of_stability,
    "table_2_author": of_table_2,
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_a_title_says_what_the_committed_numbers_say(name: str) -> None:
    title, text = notes.described(name, OF_NUMBERS[name]())
    assert title
    assert notes.alt(GENERATED / f"{name}.png") == text


@pytest.mark.parametrize(("apart", "follows"), [(0.05, True), (0.2, True), (0.2, False)])
def test_a_title_that_a_training_follows_goes_where_it_does_not(
    apart: float, follows: bool
) -> None:
    """Within a tenth of the largest error, here 1 util, or not."""
    printed = -np.arange(10.0) / 9
    errors = np.stack([printed + apart * (np.arange(10) == 4), np.zeros(10)], axis=1)
    reward = BusEngine().mdp.reward[:10] + errors
    entries = [
        e for e in figure_a1.EXHIBITS["figure_a1"].entries(True) if e.column == table_3.PUBLIC[0]
    ]
    arrays = {table_3.PUBLIC[1]: {"reward best": reward[None]}}
    cells = [stored(Result((), arrays=arrays.get(e.protocol, {}))) for e in entries]
    results = View(entries, cells, True)
    _, said = figure_a1._draw_public(results, entries[0].row, printed, follows)
    is_near = apart < 0.1
    assert said == ({"gap": f"{apart:.2f}", "least": "-1.0"} if is_near == follows else None)


@pytest.mark.parametrize("of_gladius", [40.0, 50.0])
def test_scores_of_returns_are_those_of_the_other_methods_line(
    of_gladius: float, tmp_path: Path
) -> None:
    """Score = 2 return, so that a return of 50 is the expert's, and then the title goes."""
    entries, cells = table_4.entries(False), list[Any]()
    for entry in entries:
        found: dict[str, list[float]] = {}
        if entry.column in table_4.METHODS:
            found = {"return": [48.0, 50.0], "score": [96.0, 100.0]}
        elif entry.protocol == f"author {TABLE}":
            found = {f"return {BEST}": [of_gladius]}
        cells.append(stored(Result((), found)))
    results = View(entries, cells, False)
    scores = table_4.strips(results)
    of = scores[scores["column"].eq(table_4.GLADIUS)]
    rows = {(e.row, e.protocol) for e in entries if e.protocol == f"author {TABLE}"}
    assert of["score"].tolist() == pytest.approx([2 * of_gladius] * len(rows))
    assert scores["column"].value_counts()["BC"] == 2 * len(rows)
    table_4._draw(results, tmp_path)
    text = notes.alt(tmp_path / "table_4.png")
    title = "With 3 demonstrations or more 72 of 72 repetitions of BC, IQ-learn and profiled ERM"
    is_said = f"{title} score 95 or more, of GLADIUS on LunarLander 0 of 4. " in text
    assert is_said == (of_gladius < 47.5)
