"""The study of the exact inner step: its data sets, its scores, its rule and its files."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp
from scipy.stats import binom, linregress
from scipy.stats import t as student

import gladius
from gladius import BusEngine
from gladius.designs.metrics import mape
from gladius.model.mdp import TabularMDP
from gladius.panel.anchor import Anchor
from gladius.paper import author, max_oracle
from gladius.paper.training import TRUNK, Layout
from reproduce.cells import converging as cells
from reproduce.cells import fits_author
from reproduce.cells.converging import DESIGNS, SCORES, compute, fitting
from reproduce.cells.data import data_sets
from reproduce.cells.inputs_designs import MATTER
from reproduce.drawing.notes import alt
from reproduce.engine import keys, seeds
from reproduce.engine.digests import Definitions
from reproduce.engine.nouns import LONG, SHORT, Array, Entry, Result, drawn, short_form, summarise
from reproduce.engine.view import View
from reproduce.exhibits import converging as exhibit
from reproduce.paper.verdicts import OnTarget
from tests.reproduce.smoke_results import stored, written

KNOWN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
ORACLE = {"protocol": "max_oracle"}


# --- worlds
@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_s_paths_choose_and_move_as_its_solution_says(name: str) -> None:
    """Actions against softmax of a Q that the data's own rule for ends solves, moves against P."""
    world = DESIGNS[name]()
    data = world.simulate(300, np.random.default_rng(1))
    n = len(world.mdp.reward) - world.has_end
    assert np.all(data.states[:, 0] <= n)
    x, following = (s[:, 0].astype(int) - 1 for s in (data.states, data.next_states))
    np.testing.assert_array_equal(data.done, following >= n)
    reward, p = world.mdp.reward[:n], world.mdp.transition[:, :n, :n]
    v = np.zeros(n)
    for _ in range(600):  # value iteration, where an end is worth 0
        q = reward + world.discount * np.einsum("axy,y->xa", p, v)
        v = logsumexp(q, axis=1)
    policy = np.exp(q - v[:, None])
    for a in range(reward.shape[1]):
        own = data.actions == a
        expected, spread = policy[x, a], np.sqrt(np.sum(policy[x, a] * (1 - policy[x, a])))
        assert abs(own.sum() - expected.sum()) < 4.5 * spread
        for y in range(n):
            chance = p[a, x[own], y]
            error = np.sqrt(np.sum(chance * (1 - chance)))
            assert abs(np.sum(following[own] == y) - chance.sum()) <= 4.5 * error
    np.testing.assert_array_equal(world.reward(data.states, data.actions), reward[x, data.actions])


def test_each_design_changes_one_thing() -> None:
    base = BusEngine().mdp
    worlds: dict[str, TabularMDP] = {name: make().mdp for name, make in DESIGNS.items()}
    curved = worlds["curved reward"]
    np.testing.assert_array_equal(curved.transition, base.transition)
    x = np.arange(1.0, 21.0)
    np.testing.assert_allclose(curved.reward[:, 0], -3 * np.sqrt(x))
    np.testing.assert_array_equal(worlds["random anchor"].reward, base.reward)
    assert (worlds["random anchor"].transition[1] > 0).sum(axis=1).tolist() == [4] * 20
    np.testing.assert_array_equal(worlds["paths end"].reward[:20], base.reward)
    left = worlds["paths end"].transition[:, :20, :20]
    np.testing.assert_allclose(left, 0.98 * base.transition)
    np.testing.assert_array_equal(worlds["three actions"].reward[:, :2], base.reward)
    np.testing.assert_array_equal(worlds["three actions"].transition[:2], base.transition)


def test_the_low_start_is_about_the_true_level_on_the_bus_engine_alone() -> None:
    """As pages say of -55; there V is below -52 in all states, on the other design below -64."""
    for world, least in ((BusEngine(), 3.0), (DESIGNS[exhibit.RANDOM_ANCHOR](), 14.0)):
        mdp, v = world.mdp, np.zeros(20)
        for _ in range(600):
            q = mdp.reward + mdp.discount * np.einsum("axy,y->xa", mdp.transition, v)
            v = logsumexp(q, axis=1)
        gaps = exhibit.LOW["start_level"] - v
        assert np.abs(gaps).max() < least
        assert (gaps.min() > 9) == (world.mdp.transition[1, 0, 0] < 1)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_true_reward_of_a_design_is_what_a_method_finds_in_its_data(name: str) -> None:
    """How often paths end is estimated, and where V is far from 0 that is most of the error."""
    cell = fitting("plug_in", 1, False, trajectories=3000, design=name)
    error = compute(short_form(cell, seeds=cells.SHORT_STREAM)).replications["MAPE"][0]
    assert error < (20.0 if name == "paths end" else 3.0)  # V = 14 at an end would give 100
    for method, options in (("gladius", ORACLE), ("profiled_erm", {})):
        result = compute(fitting(method, 1, True, options, design=name))
        assert np.isfinite(result.replications["MAPE"]).all()


# --- cells
def test_a_cell_scores_what_a_user_would_get() -> None:
    cell = fitting("gladius", 1, True, ORACLE, trajectories=50, inputs=2)
    result = compute(cell)
    for r, (rng, weights) in enumerate(
        zip(seeds.generators(cell), seeds.generators(cell, "weights"), strict=True)
    ):
        world = BusEngine(dummies=2)
        train, test = world.simulate(50, rng).split(0.8)
        options: dict[str, Any] = ORACLE | cells.SMOKE_OPTIONS
        found = gladius.fit(train, "gladius", **KNOWN, **options, rngs=weights)
        assert result.replications["MAPE"][r] == pytest.approx(mape(found, test, world.reward))
        used = np.asarray(found.diagnostics.extra["inputs"])
        assert result.replications[cells.USED][r] == len(used)
        assert result.replications[cells.MILEAGE][r] == float(0 in used)


def test_inputs_chosen_by_score_tests_are_those_of_the_fit_alone() -> None:
    """With mileage alone chosen it is a fit to mileage alone; the true reward is in no fit."""
    cell = fitting("gladius", 1, True, ORACLE | {"select": False}, inputs=4, chosen_by=SCORES)
    result = cell.function()(cell)
    train, test = BusEngine(dummies=4).simulate(50, seeds.generators(cell)[0]).split(0.8)
    assert cells.by_scores(train, BusEngine(dummies=4)).tolist() == [0]
    alone = cells.of_columns(train, np.array([0]))
    options: dict[str, Any] = ORACLE | cells.SMOKE_OPTIONS | {"select": False}
    weights = seeds.generators(cell, "weights")[0]
    found = gladius.fit(alone, "gladius", **KNOWN, **options, rngs=weights)
    error = mape(cells.OfColumns(found.reward_function, np.array([0])), test, BusEngine().reward)
    assert result.replications["MAPE"][0] == pytest.approx(error)
    assert result.replications[cells.USED] == [1.0, 1.0]


def test_only_cells_that_use_our_own_estimator_rest_on_its_code() -> None:
    """A change for users makes no hours of GLADIUS stale; the type of cells has ROW_CLASSES."""
    definitions, found = Definitions(), dict[bool, set[tuple[str, str]]]()
    for entry in exhibit.entries(False):
        names = keys.pieces(definitions, entry.cell, "cpu")
        own = {x for x in names if x.startswith("gladius.own_data.") and "ROW_CLASSES" not in x}
        found.setdefault(bool(own), set()).add((entry.column, entry.protocol))
    users = {exhibit.SMOOTH, exhibit.SPARSE, exhibit.NETWORK, exhibit.SELECTED}
    users |= {exhibit.OF_MILEAGE}
    assert found[True] == users
    assert not users & found[False]


def test_all_methods_of_a_row_have_one_stream_and_the_short_form_another() -> None:
    rows: dict[str, set[tuple[str, str]]] = {}
    for entry in exhibit.entries(False):
        if "seeds" in entry.cell.settings and SHORT not in entry.cell.settings:
            rows.setdefault(entry.row, set()).add(entry.cell.seeds)
            assert entry.cell.seeds[0] == cells.STREAM
    by_k = {rows.pop(str(k)).pop() for k in exhibit.INPUTS}
    assert by_k == {(cells.STREAM, "inputs")}
    assert rows.pop(exhibit.PATHS_ROW) == rows["N=1000"]  # the first data set of that row
    assert all(len(streams) == 1 for streams in rows.values())
    assert len({*by_k, *(stream for (stream,) in rows.values())}) == len(rows) + 1
    short = [e.cell for e in exhibit.entries(False) if SHORT in e.cell.settings]
    short += [e.cell for e in exhibit.entries(True) if "seeds" in e.cell.settings]
    assert {cell.seeds[0] for cell in short} == {cells.SHORT_STREAM}


def test_mileage_paths_are_the_same_at_every_k() -> None:
    data = [
        cells.world_of(cell).simulate(5, seeds.generators(cell)[0])
        for cell in (fitting("plug_in", 1, True, inputs=k) for k in (2, 9))
    ]
    np.testing.assert_array_equal(data[0].states[:, 0], data[1].states[:, 0])


def test_a_path_ends_where_the_training_does() -> None:
    variants = {"solved": {}, "steps": {"ascents": 3, "closed_level": False}}
    cell = cells.paths_cell(variants, True)
    result = cells.paths(cell)
    steps = cells.SMOKE_OPTIONS["steps"]
    assert result.arrays["solved"][0].tolist() == [*map(float, range(1, steps + 2))]
    assert result.arrays["steps"][0, -1] == 4.0 * (steps + 1)
    (rng,), (weights,) = (seeds.generators(cell, name) for name in ("data", "weights"))
    world = BusEngine()
    train, test = world.simulate(50, rng).split(0.8)
    inputs = max_oracle.Standardised.of(train, np.arange(1))
    anchor = Anchor(1, -5.0)
    batch = inputs.batch(train, anchor, np.float64)
    given: dict[str, Any] = {**cells.SMOKE_OPTIONS}
    options = max_oracle.Options(**given)
    shape = Layout(TRUNK, 1, (50, 50), 2)
    start = max_oracle.start_of(shape, batch, 0.95, options, weights)
    one = max_oracle.train(batch, shape, start, 1, 0.95, options)
    r = max_oracle.Averaged((one.head(-0.95),), *inputs)
    pairs = test.pairs()
    table = r(pairs.states)[np.arange(len(pairs.states)), pairs.actions]
    truth = world.reward(pairs.states, pairs.actions)
    error = 100 * np.average(np.abs(table - truth) / np.abs(truth), weights=pairs.weights)
    assert result.arrays["solved"][1, -1] == pytest.approx(error, rel=1e-9)
    assert result.records[0].status == "not_converged"


# --- the exhibit
def test_cells_of_hours_are_long_and_a_short_form_stands_for_k_0() -> None:
    entries = exhibit.EXHIBIT.checked_entries(False)
    others = [e for e in entries if not e.cell.settings.keys() & {LONG, SHORT}]
    assert {e.column for e in others} == {"bound"}
    without = drawn(entries, lambda cell: False)
    rows = [f"N={n}" for n in (50, 250, 500, 1000, 2500, 5000)]
    short = [(e.row, e.column) for e in without if SHORT in e.cell.settings]
    expected = [(row, column) for row in rows for column in (exhibit.COLUMN, "Plug-in")]
    assert short == [*expected, (exhibit.PATHS_ROW, exhibit.PATHS_COLUMN)]
    assert not any(SHORT in e.cell.settings for e in drawn(entries, lambda cell: True))


def test_the_pieces_are_all_entries_and_each_is_an_exhibit() -> None:
    pieces, definitions = exhibit.pieces(False), Definitions()
    assert [e for piece in pieces.values() for e in piece] == exhibit.entries(False)
    for name, piece in pieces.items():
        assert exhibit.piece(name).checked_entries(False) == piece
        assert keys.view(definitions, exhibit.piece(name))  # as a run needs it


def test_the_sizes_are_those_of_the_rule() -> None:
    sets: dict[tuple[str, ...], set[int]] = {}
    for e in exhibit.entries(False):
        if LONG in e.cell.settings and e.row != exhibit.PATHS_ROW:
            sets.setdefault((e.row, e.column, e.protocol), set()).add(e.cell.repetitions)
    for (row, column, protocol), sizes in sets.items():
        is_main = row.startswith("N=") and column != exhibit.ABLATION
        is_all = row.isdigit() and (column, protocol) in (exhibit.ORACLE, exhibit.NETWORK)
        of_all = 10 if row in ("2", "5", "20") else 5
        expected = 40 if is_main else of_all if is_all else 20
        if (column, protocol) == exhibit.HALVING and row in ("50", "100"):
            expected = 10
        if row in MATTER:
            expected = 10 if protocol in ("fresh sparse", "fresh mileage alone") else 5
        is_public = (column, protocol) == exhibit.ON_PUBLIC
        assert sizes == {1 if is_public else expected}, (row, column)
    options = [e.cell.settings["options"] for e in exhibit.with_all_inputs([2], False)]
    assert options[0] == {"protocol": "max_oracle", "select": False, "stop": True, "single": True}


def test_each_change_of_the_ablation_is_what_its_name_says() -> None:
    """One option, two where the name has a comma, and all; the last four cross sign and start."""
    for name, changes in exhibit.CHANGES.items():
        if not name.startswith("all by Adam"):
            assert len(changes) == 1 + name.count(","), name
    crossed = {n: x for n, x in exhibit.CHANGES.items() if n.startswith("all by Adam")}
    found = {(x.get("absolute", False), x["start_level"]) for x in crossed.values()}
    assert len(crossed) == len(found) == 4
    for name, changes in crossed.items():
        options = max_oracle.Options(**changes)
        assert (options.ascents, options.closed_level, options.block_moments) == (1, False, False)
        assert options.absolute is ("absolute" in name)
        assert options.start_level == float(name.rpartition(" ")[2])
    assert exhibit.CHANGES["zeta: ten Adam steps, rate .003"] == {"ascents": 10, "rate": 0.003}
    assert set(exhibit.ON_RANDOM_ANCHOR) < set(exhibit.CHANGES)
    assert exhibit.RANDOM_ANCHOR in DESIGNS
    assert Counter(map(str, exhibit.CHANGES.values())).most_common(1)[0][1] == 1
    for changes in exhibit.CHANGES.values():
        assert max_oracle.Options(**changes) != max_oracle.Options()


def planted(entry: Entry, factor: float = 1.0) -> Result:
    """Made-up errors that fall as N to the power -.5; those of max-oracle times a factor."""
    if entry.column == "bound":
        return entry.cell.function()(entry.cell)
    if entry.row == exhibit.PATHS_ROW:
        path = np.array([[1.0, 10.0], [5.0, 1.0]])
        return Result((), arrays=dict.fromkeys(exhibit.PATHS, path))
    times = entry.cell.repetitions
    n = float(entry.row[2:]) if entry.row.startswith("N=") else 1000.0
    noise = np.random.default_rng(7).lognormal(0.0, 0.1, 40)[:times]
    small = np.random.default_rng(len(entry.column)).lognormal(0.0, 0.01, times)
    errors = 30.0 / math.sqrt(n) * noise * small
    if entry.column.startswith(exhibit.COLUMN):
        errors = factor * errors
    of = "MAPE", "status"
    if entry.column == exhibit.PUBLIC:
        errors, epoch = (
            errors / 2 if entry.protocol.endswith("oracle") else errors,
            entry.protocol[6:],
        )
        of = f"MAPE {epoch}", f"status {epoch}"
    return Result(
        summarise("MAPE", errors.tolist(), ["ok"] * times),
        dict(zip(of, (errors.tolist(), [0.0] * times), strict=True)),
    )


def view(factor: float = 1.0) -> View:
    entries = drawn(exhibit.entries(False), lambda cell: True)
    return View(entries, [stored(planted(e, factor)) for e in entries], False)


@pytest.mark.parametrize(("factor", "word"), [(1.0, OnTarget.MET), (1.5, OnTarget.MISSED)])
def test_the_files_say_what_the_rule_says(factor: float, word: str, tmp_path: Path) -> None:
    results = view(factor)
    frame = written(exhibit.EXHIBIT, results, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    tables = {f"converging{x}.{y}" for x in ("", "_ablation", "_epochs") for y in ("md", "tex")}
    figures = {f"converging{x}.{end}" for x in ("", "_inputs", "_paths") for end in ("pdf", "png")}
    csvs = {f"converging{x}.csv" for x in ("", "_checks", "_ablation", "_epochs_checks")}
    assert names == tables | figures | csvs
    is_titled = alt(tmp_path / "converging.png").startswith("GLADIUS with an exact inner step")
    assert is_titled == (word == OnTarget.MET)  # where no size is met there is no message
    assert not frame["column"].str.contains("GLADIUS").any()
    found = exhibit.checks(results)
    assert len(found) == 6 + 4 + 5 + 5 + 6 + 5 + 5 + 1
    csv = pd.read_csv(tmp_path / "converging_checks.csv")
    paired = csv[csv["statistic"].str.startswith("paired")]
    assert len(paired) == 6 + 4 + 5 + 5 + 6
    assert set(paired["verdict"]) == {word}
    by_hand = [
        planted(e, factor).replications.get("MAPE", ()) for e in results.entries if e.row == "20"
    ]
    columns = [(e.column, e.protocol) for e in results.entries if e.row == "20"]
    ours, theirs = (
        np.array(by_hand[columns.index(which)])[:10] for which in (exhibit.ORACLE, exhibit.NETWORK)
    )
    (line,) = paired[paired["row"].eq("20") & paired["column"].eq("max-oracle")].to_dict("records")
    assert line["value"] == pytest.approx(100 * np.mean(ours - theirs) / np.mean(theirs))
    assert line["repetitions"] == 10
    (line,) = csv[csv["row"].eq("all N")].to_dict("records")
    assert line["statistic"] == "slope of log error in log N"
    assert line["verdict"] == OnTarget.MET  # whatever the factor
    said = exhibit.verdict(tmp_path)
    assert len(said) <= 160
    assert f"{(csv['verdict'] == word).sum()} {word}" in said
    text = (tmp_path / "converging_ablation.md").read_text("utf-8")
    assert "20 of 20" in text
    assert "0 of 20" in text
    assert "not run" not in text


@given(
    errors=arrays(np.float64, 20, elements=st.floats(0.0, 1e6)),
    base=arrays(np.float64, 20, elements=st.floats(0.5, 10)),
)
def test_a_change_is_what_the_sign_test_says(errors: Array, base: Array) -> None:
    """Of 20 differences the 6th and the 15th: each is passed by chance with probability .021."""
    less, low, high, median, *ends, word = exhibit.compared(errors, base).values()
    gaps = np.sort(errors - base)
    assert 0.015 < binom.cdf(5, 20, 0.5) < 0.025 < binom.cdf(6, 20, 0.5)
    np.testing.assert_allclose([median, *ends], [gaps[9:11].mean(), gaps[5], gaps[14]], rtol=1e-9)
    found = student(19).interval(0.95)  # for differences of mean 0 and standard error 1
    found = gaps.mean() + np.array(found) * gaps.std(ddof=1) / np.sqrt(20)
    np.testing.assert_allclose([less, low, high], [gaps.mean(), *found], rtol=1e-6, atol=1e-9)
    margin = 0.05 * base.mean()
    is_small = max(abs(gaps[5]), abs(gaps[14])) <= margin
    expected = "same" if is_small else "worse" if gaps[5] > 0 else "better" if gaps[14] < 0 else ""
    assert word == (expected or "open")


@given(arrays(np.float64, (6, 12), elements=st.floats(0.1, 10).map(lambda x: round(x, 3))))
def test_the_slope_is_that_of_the_line_through_all_log_errors(errors: Array) -> None:
    listed = [e for e in exhibit.pieces(False)["K = 0"] if (e.column, e.protocol) == exhibit.ORACLE]
    results = View(listed, [stored(Result((), {"MAPE": row.tolist()})) for row in errors], False)
    found = exhibit.slope(results)
    assert found is not None
    sizes = np.log([50, 250, 500, 1000, 2500, 5000])
    expected = linregress(np.repeat(sizes, 12), np.log(errors).ravel()).slope
    assert found.value == pytest.approx(expected, abs=1e-9)
    spread = np.log(errors).var(axis=1, ddof=1) / 12
    w = (sizes - sizes.mean()) / ((sizes - sizes.mean()) ** 2).sum()
    assert found.se == pytest.approx(math.sqrt(float(w**2 @ spread)), abs=1e-9)


def test_the_epochs_of_a_user_are_compared_apart_and_a_size_may_be_missing(tmp_path: Path) -> None:
    """Without N = 50 of the public procedure; of 2,500 the last epoch alone is far worse."""
    entries = [
        e
        for e in drawn(exhibit.entries(False), lambda cell: True)
        if e.row.startswith("N=") and (e.row, e.column) != ("N=50", exhibit.PUBLIC)
    ]
    results = [planted(e) for e in entries]
    far = [(e.row, e.column, e.protocol) for e in entries].index(("N=2500", *exhibit.PUBLIC_LAST))
    worse = {"MAPE last": [50.0 + x for x in results[far].replications["MAPE last"]]}
    results[far] = replace(results[far], replications=results[far].replications | worse)
    written(exhibit.EXHIBIT, View(entries, [*map(stored, results)], False), tmp_path)
    csv = pd.read_csv(tmp_path / "converging_epochs_checks.csv")
    assert len(csv) == 5 * 5
    assert set(csv["row"]) == {f"N={n}" for n in (250, 500, 1000, 2500, 5000)}
    (missed,) = csv[csv["verdict"].eq("missed")].to_dict("records")
    assert [missed[x] for x in ("row", "column", "protocol")] == ["N=2500", *exhibit.PUBLIC_LAST]
    theirs, counted = (
        np.array(results[k].replications[of])
        for k, of in (
            (far, "MAPE last"),
            (
                [(e.row, e.column) for e in entries].index(("N=2500", "Plug-in")),
                "MAPE",
            ),
        )
    )
    assert missed["value"] == pytest.approx(100 * np.mean(theirs - counted) / np.mean(counted))
    targets = pd.read_csv(tmp_path / "converging_checks.csv")
    assert not targets["statistic"].str.contains("least").any()
    text = (tmp_path / "converging_epochs.md").read_text("utf-8")
    assert text.count("<td>not run</td>") == 3 * 3
    assert "slope of log error in log N: not run" in text


def test_a_note_counts_the_errors_that_added_inputs_leave_as_they_are() -> None:
    """At K = 5 two of twenty errors differ, and the tests keep an input in one."""
    entries = [e for e in exhibit.entries(False) if e.row.isdigit() and e.row in ("2", "5", "20")]
    results = list[Result]()
    for entry in entries:
        times = entry.cell.repetitions
        errors, used = np.linspace(1.0, 2.0, times) * (1 + 1e-12 * float(entry.row)), [1.0] * times
        if entry.row == "5":
            errors[:2] += 0.5
            used[-1] = 2.0
        of = {"MAPE": errors.tolist(), "status": [0.0] * times}
        if (entry.column, entry.protocol) == exhibit.SELECTED:
            of |= {cells.USED: used, cells.MILEAGE: [1.0] * times}
        results.append(
            Result(summarise("MAPE", errors.tolist(), ["ok"] * times), of)
            if entry.column != "bound"
            else planted(entry)
        )
    (note,) = exhibit.same_errors(View(entries, [*map(stored, results)], False))
    assert "the error is that at K = 2, but for rounding, in 18 of 20 at K = 5, 20 of 20" in note
    assert "drop every added input in 20 of 20 at K = 2, 19 of 20 at K = 5, 20 of 20" in note
    assert exhibit.same_errors(View([], [], False)) == ()


def test_with_the_short_form_alone_no_target_is_said_to_be_run(tmp_path: Path) -> None:
    entries = drawn(exhibit.entries(False), lambda cell: False)
    written(exhibit.EXHIBIT, View(entries, [stored(planted(e)) for e in entries], False), tmp_path)
    assert exhibit.verdict(tmp_path).endswith("only a short form was run, no target")
    text = (tmp_path / "converging.md").read_text("utf-8")
    assert "short form" in text
    assert (tmp_path / "converging_ablation.md").read_text("utf-8").count("not run") == 7 * (16 + 6)


def test_a_user_s_epochs_are_those_of_least_loss_and_move_no_other_number() -> None:
    cell = exhibit.public_training(50, smoke=True)
    found = fits_author.compute(cell).replications
    plain = {name: x for name, x in cell.settings.items() if name != "risk_every"}
    others = fits_author.compute(replace(cell, settings=plain)).replications
    assert others.items() <= found.items()
    assert "MAPE least held-out loss" not in others

    world, settings = BusEngine(), cell.settings
    train, test = data_sets(world, cell)
    for r, one in enumerate(
        author.run(
            train,
            Anchor(world.anchor_action, world.anchor_reward),
            world.discount,
            rngs=seeds.generators(cell, "weights"),
            oracle=author.Oracle(test, world.reward),
            epochs=settings["epochs"],
            risk_every=1,
        )
    ):
        for column, name in enumerate(("training", "held-out")):
            loss = one.risks[::10, column, 0] + one.risks[::10, column, 2]
            assert found[f"MAPE least {name} loss"][r] == one.trace[10 * int(np.argmin(loss))]
