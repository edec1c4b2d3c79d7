"""What the pages say: a changed number in a CSV changes the fact and its sentence.

Each fact is computed once more here, from the CSV's text by other means.
"""

import csv
import json
import math
import shutil
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gladius.paper import author
from reproduce import exhibits
from reproduce.engine import check
from reproduce.engine.provenance import ROOT
from reproduce.pages import facts, findings, readme, trainings
from reproduce.pages.numbers import Numbers
from reproduce.pages.trainings import Errors, Size
from reproduce.run import GENERATED
from tests.reproduce.smoke_results import with_pictures

Line = dict[str, str]
Change = Callable[[Line], object]
LEDGER = "claims"
READ = (
    *(
        "accuracy",
        "converging",
        "converging_ablation",
        "converging_checks",
        "converging_epochs_checks",
        "double_sampling",
        "figure_1",
        "figure_gumbel",
        "stability",
    ),
    *("table_1", "table_2", "table_2_author", "table_4", LEDGER),
)


def lines(exhibit: str, folder: Path = GENERATED, **wanted: str) -> list[Line]:
    """The lines of a CSV with these texts in its columns; `*` ends a beginning."""
    with (folder / f"{exhibit}.csv").open(encoding="utf-8", newline="") as file:
        return [line for line in csv.DictReader(file) if is_of(line, wanted)]


def is_of(line: Line, wanted: Line) -> bool:
    pairs = ((line[name], text) for name, text in wanted.items())
    return all(x.startswith(y[:-1]) if y.endswith("*") else x == y for x, y in pairs)


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., Path]:
    """A copy of the CSVs in which the lines with these texts were changed."""
    for name in READ:
        shutil.copy(GENERATED / f"{name}.csv", tmp_path)

    with_pictures(tmp_path)

    def plant(exhibit: str, change: Change, /, **wanted: str) -> Path:
        every = lines(exhibit, tmp_path)
        changed = [line for line in every if is_of(line, wanted)]
        assert changed
        for line in changed:
            change(line)
        pd.DataFrame(every).to_csv(tmp_path / f"{exhibit}.csv", index=False)
        return tmp_path

    return plant


def times(factor: float) -> Change:
    """Multiplies the value of a line."""

    def change(line: Line) -> None:
        line["value"] = repr(factor * float(line["value"]))

    return change


def page(folder: Path, template: str = "findings.md", **about: Any) -> str:
    return findings.environment(folder).get_template(template).render({"link": ".", **about})


def finding(folder: Path, number: int) -> str:
    """One finding, with what stands below it."""
    text = page(folder)
    return text.partition(f"## {number}. ")[2].partition(f"## {number + 1}. ")[0]


# --- finding 1
def is_reached(error: float, printed: str) -> bool:
    """Whether it would be printed as that number or a smaller one, rounded or cut."""
    digits = [Decimal(error).quantize(Decimal(printed), r) for r in (ROUND_HALF_UP, ROUND_FLOOR)]
    return min(digits) <= Decimal(printed)


errors = st.lists(st.integers(1, 40_000).map(lambda k: (k + 0.5) / 10**4), min_size=1, max_size=4)
sizes = st.lists(
    st.tuples(st.sampled_from(["3.44", "0.84", "0.5", "0.13"]), *(errors,) * 4),
    min_size=1,
    max_size=6,
)


# at one size ours alone reaches the printed error, at the other a last epoch alone
@example([("0.5", [9.0], [9.0], [0.1], [0.1]), ("0.5", [9.0], [0.1], [9.0], [0.1])])
@given(sizes)
def test_the_sizes_that_finding_1_names_are_those_of_the_rule(drawn: list[Any]) -> None:
    """Reached: some run would be printed as the number or less. Above: none would."""
    made = []
    for k, (printed, best, last, ours, others) in enumerate(drawn):
        values = (best, last, best[:1], last[:1], [100 * x for x in others[1:]])
        of = [Errors(tuple(x), printed) for x in values]
        by_rule = Errors(tuple(others), printed), Errors(tuple(ours), printed)
        made.append(Size(k, printed, *of, 0.0, 0.0, Errors((ours[0],), printed), *by_rule))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainings, "sizes", lambda folder: made)
        patch.setattr(facts, "figure_1", lambda numbers: facts.Figure1(*[[]] * 6))
        for name in ("agreeing", "time"):
            patch.setattr(Numbers, name, lambda *key: "")
        found = facts.table_2(Numbers(GENERATED))

    def where(rule: Callable[..., bool]) -> tuple[int, ...]:
        return tuple(k for k, given in enumerate(drawn) if rule(*given))

    assert found.reached == where(lambda p, best, *_: any(is_reached(x, p) for x in best))
    assert found.above == where(lambda p, best, *_: not any(is_reached(x, p) for x in best))
    assert found.above_last == where(lambda p, b, last, *_: not any(is_reached(x, p) for x in last))
    assert found.ours_above == where(lambda p, b, x, ours, _: not is_reached(ours[0], p))
    assert found.ours_is_alike == (found.above_last == found.ours_above)
    for text, i in ((found.reach, 1), (found.reach_trained, 3), (found.reach_held_out, 4)):
        tried = [(x, given[0]) for given in drawn for x in given[i]]
        rounded = [Decimal(x).quantize(Decimal(p), ROUND_HALF_UP) <= Decimal(p) for x, p in tried]
        assert text == f"{sum(rounded)} of {len(tried)}"

    def is_far(printed: str, best: object, last: list[float], *_: object) -> bool:
        unit = Decimal(1).scaleb(Decimal(printed).as_tuple().exponent)  # type: ignore[arg-type]
        return Decimal(min(last)) >= 2 * (Decimal(printed) + unit)

    assert tuple(size.n for size in found.far) == where(is_far)
    assert found.near == where(lambda *given: not is_far(*given))
    assert found.one_start == where(lambda p, best, *_: len(best) == 1)
    assert found.lost == where(lambda p, b, x, o, others: any(y > 1 for y in others[1:]))
    are_on = where(lambda p, b, x, o, others: len(others) > 1)
    assert [size.n for size in found.continued] == [n for n in are_on if n in found.above]
    least = [min(drawn[k][2]) - float(drawn[k][0]) for k in found.above_last]
    assert found.excess_last == [f"{x:.2f}" for x in least]


def reached(folder: Path) -> list[int]:
    """The sizes that a first training reaches at its best epoch, from the CSV."""
    printed = lines("table_2", ROOT / "paper_tables/published", column="GLADIUS")
    found = []
    for text in printed:
        runs = lines("table_2_author", folder, row=text["row"], column="procedure")
        runs = [x for x in runs if x["statistic"] == "MAPE best" and "pass" not in x["protocol"]]
        runs = [x for x in runs if "observation" not in x["protocol"]]
        if any(is_reached(float(run["value"]), text["value"]) for run in runs):
            found.append(int(text["row"]))
    return found


def test_finding_1_counts_the_sizes_that_a_training_reaches(planted: Callable[..., Path]) -> None:
    before = reached(GENERATED)
    assert facts.table_2(Numbers(GENERATED)).reached == tuple(before)
    lost = before[0]
    of_size = {"row": str(lost), "column": "procedure", "statistic": "MAPE best"}
    folder = planted("table_2_author", times(1000.0), **of_size)
    found = facts.table_2(Numbers(folder))
    assert found.reached == tuple(reached(folder)) == tuple(before[1:])
    assert lost in found.above
    for source, sizes in ((GENERATED, before), (folder, before[1:])):
        assert f"Table 2: at {len(sizes)} of 6 sizes some of our" in finding(source, 1)
    above = "; ".join(f"{n:,}" for n in found.above)
    assert f"At {above} all are above." in finding(folder, 1)


def test_finding_1_says_where_our_own_estimator_is_alike(planted: Callable[..., Path]) -> None:
    before = facts.table_2(Numbers(GENERATED))
    assert ("does not reach it there either" in finding(GENERATED, 1)) == before.ours_is_alike
    ours = {"column": "same split", "protocol": "leak_free ours", "statistic": "MAPE"}
    folder = planted("table_2_author", times(0.0), **ours)
    assert facts.table_2(Numbers(folder)).ours_above == ()
    assert "does not reach it at 0." in finding(folder, 1)


def test_finding_1_counts_the_printed_errors_that_agree(planted: Callable[..., Path]) -> None:
    """Those of two sizes are ours to the last digit, and the others are far from them."""
    last = {"column": "GLADIUS", "protocol": "author last", "statistic": "MAPE"}
    planted("table_2", lambda line: line.update(value="1e6", se="1e-3", status="ok"), **last)
    for row in ("50", "250"):
        key = {"row": row, "column": "GLADIUS", "statistic": "MAPE"}
        (text,) = [x["value"] for x in lines("table_2", ROOT / "paper_tables/published", **key)]
        change = {"value": text, "se": "0.001"}
        folder = planted("table_2", lambda line, new=change: line.update(new), **(last | key))
    found = facts.table_2(Numbers(folder))
    assert (found.agree, found.differ, found.unclear) == ("2 of 6", "4 of 6", "0 of 6")
    words = "2 of 6 tests find it like the last epoch's, 4 of 6 find it different"
    assert words in finding(folder, 1)
    assert words not in finding(GENERATED, 1)


def test_figure_1_is_in_times_of_the_printed_errors(planted: Callable[..., Path]) -> None:
    printed = lines("figure_1", ROOT / "paper_tables/published", column="GLADIUS", statistic="MAPE")
    printed_of = {line["row"]: float(line["value"]) for line in printed}
    fields = {
        "best": ("GLADIUS", "author public best"),
        "held_out": ("GLADIUS", "author public held-out"),
        "ours": ("Profiled ERM", "leak_free sparse"),
    }
    folder = planted("figure_1", times(7.0), row="100", statistic="MAPE")
    for source in (GENERATED, folder):
        found = facts.figure_1(Numbers(source))
        for field, (column, protocol) in fields.items():
            key = {"column": column, "protocol": protocol, "statistic": "MAPE"}
            mine = {x["row"]: float(x["value"]) for x in lines("figure_1", source, **key)}
            rows = [row for row in mine if row in printed_of]
            assert getattr(found, field) == [mine[row] / printed_of[row] for row in rows]
            assert len(rows) > 3
    again = {x: {"column": "GLADIUS", "protocol": f"author public seed 2 {x}"} for x in fields}
    again["held_out"]["protocol"] = "author public seed 2 held-out"
    (best,) = lines("figure_1", statistic="MAPE", **again["best"])
    (held_out,) = lines("figure_1", statistic="MAPE", **again["held_out"])
    assert found.again_at == [int(best["row"])]
    ratios = [float(x["value"]) / printed_of[best["row"]] for x in (best, held_out)]
    assert [*found.best_again, *found.held_out_again] == ratios
    assert f" to {max(found.held_out):.2g} times the printed errors" in finding(folder, 1)
    assert f" to {max(found.held_out):.2g} times" not in finding(GENERATED, 1)


def test_a_public_training_of_fewer_epochs_is_not_beside_figure_1(
    planted: Callable[..., Path],
) -> None:
    public = {"column": "GLADIUS", "protocol": "author public*"}
    folder = planted("figure_1", lambda line: line.update(protocol="author public short"), **public)
    found = facts.figure_1(Numbers(folder))
    assert (found.best, found.held_out) == ([], [])
    assert found.ours == facts.figure_1(Numbers(GENERATED)).ours
    assert "In Figure 1 the least held-out loss" in finding(GENERATED, 1)
    assert "In Figure 1 the least held-out loss" not in finding(folder, 1)
    old, new = (outcome(x, "figure_1").strip() for x in (GENERATED, folder))
    assert old.startswith("Reward error with dummy variables, of one training")
    assert new.startswith("The public procedure was trained for too few epochs")
    assert old.partition("The errors of")[2] == new.partition("The errors of")[2] != ""


# --- finding 2
def test_finding_2_counts_runs_and_steps(planted: Callable[..., Path]) -> None:
    def of(folder: Path, statistic: str) -> list[tuple[float, float]]:
        found = lines("stability", folder, row="1000", column="GLADIUS", protocol="printed*")
        found = [x for x in found if x["protocol"].endswith("ascents 1 ratio 1")]
        found = [x for x in found if x["statistic"] == statistic]
        return [(float(x["value"]), float(x["repetitions"])) for x in found]

    planted("stability", times(0.5), statistic="iterations")
    fewer = planted(
        "stability",
        lambda line: line.update(value="1.0"),
        row="1000",
        protocol="printed*",
        statistic="repetitions not ok",
    )
    for folder in (GENERATED, fewer):
        found = facts.descent(Numbers(folder))
        failed = of(folder, "repetitions not ok")
        assert found.runs == sum(n for _, n in failed) > 0
        assert found.converged == round(sum(n - x for x, n in failed))
        assert found.diverged == round(sum(x * n for x, n in of(folder, "share diverged")))
        assert found.iterations == max(x for x, _ in of(folder, "iterations"))
        counts = f"{found.converged} of {found.runs} runs from Q = 0 converge"
        assert f"{counts} in {found.iterations:,.0f} iterations" in finding(folder, 2)
        assert counts not in finding(GENERATED if folder == fewer else fewer, 2)


def test_finding_2_rounds_iterations_and_names_what_became_of_a_step(
    planted: Callable[..., Path],
) -> None:
    until = {"column": "Algorithm 1", "statistic": "steps to a distance of 0.01"}
    planted("table_2_author", times(1.7), protocol="printed from 0", **until)
    rows = {"row": "plain, step *", "protocol": "measured"}
    folder = planted("stability", lambda line: line.update(status="ok"), **rows, **until)
    old, found = (facts.descent(Numbers(x)) for x in (GENERATED, folder))
    exact = [float(x["value"]) for x in lines("table_2_author", folder, **until)]
    from_zero = [
        float(x["value"])
        for x in lines("table_2_author", folder, protocol="printed from 0", **until)
    ]
    assert len(exact) == 2 * len(from_zero)
    assert found.from_zero == tuple(float(Decimal(f"{x:.1e}")) for x in from_zero) != old.from_zero
    assert found.from_level == old.from_level
    assert list(found.by_status) == ["ok"]
    steps = [x["row"].split("step ")[1] for x in lines("stability", folder, **rows, **until)]
    steps = [x.split(",")[0] for x in steps if x.endswith(", ratio 1")]
    assert found.by_status["ok"] == steps
    assert set(steps) == {x for of in old.by_status.values() for x in of}
    span = f"{min(found.from_zero):,.0f} to {max(found.from_zero):,.0f} iterations from Q = 0"
    assert span in finding(folder, 2)
    assert span not in finding(GENERATED, 2)


def test_finding_2_names_the_largest_ratio_that_diverges(planted: Callable[..., Path]) -> None:
    maps = {"column": "printed map", "protocol": "printed", "statistic": "growth rate"}
    maps |= {"row": "beta 0.95, ascents 1, ratio *"}
    every = {x["row"].split()[-1]: x["row"] for x in lines("stability", **maps)}
    largest = max(every, key=float)
    change = {"status": "diverged"}
    folder = planted(
        "stability", lambda line: line.update(change), **maps | {"row": every[largest]}
    )
    for source in (GENERATED, folder):
        diverged = [x for x in lines("stability", source, **maps) if x["status"] == "diverged"]
        found = facts.descent(Numbers(source)).unstable
        assert float(found) == max(float(x["row"].split()[-1]) for x in diverged)
        assert f"At a ratio of {found} it diverges even with small steps" in finding(source, 2)
    assert found == largest != facts.descent(Numbers(GENERATED)).unstable


@given(st.integers(1, 2000).map(lambda k: 5 * k))
def test_every_other_batch_of_the_public_code_is_for_q(n: int) -> None:
    batch = 5 if n == 50 else 32
    batches = range(0, n - n // 5, batch)  # of the training split, the last one smaller
    of_q = sum(1 for number, _ in enumerate(batches) if number % 2 == 1)
    assert facts.descents(n) == author.Options().epochs * of_q


# --- finding 3
def left(folder: Path, protocol: str) -> list[float]:
    key = {"column": "zeta", "protocol": protocol, "statistic": "share left"}
    return [float(line["value"]) for line in lines("double_sampling", folder, **key)]


@pytest.mark.parametrize("share", [71.5, 12.0])
def test_finding_3_says_what_zeta_removes_and_leaves(
    planted: Callable[..., Path], share: float
) -> None:
    five = {"protocol": "fresh free, K = 5", "statistic": "share left", "row": "250"}
    planted("double_sampling", lambda line: line.update(value=str(share)), **five)
    folder = planted("double_sampling", times(3.0), protocol="fresh by mileage")
    found = facts.double_sampling(Numbers(folder))
    assert min(left(folder, "fresh free, K = 5")) == share
    assert found.removed == int((100 - Decimal(share)).to_integral_value(ROUND_CEILING))
    assert found.most_by_mileage == max(left(folder, "fresh by mileage"))
    assert found.free_of_two == left(folder, "fresh free, K = 2")
    assert found.trajectories == (50, 250, 1000, 5000)
    text = finding(folder, 3)
    assert f"removes at most {found.removed} %" in text
    assert f"removes all but {found.most_by_mileage:.2f} %" in text
    assert f"removes at most {found.removed} %" not in finding(GENERATED, 3)


def test_double_sampling_says_the_costs_of_the_largest_size(planted: Callable[..., Path]) -> None:
    at = {"row": "5000", "column": "zeta", "statistic": "theta_1"}
    planted("double_sampling", lambda x: x.update(value="7.25"), protocol="fresh by mileage", **at)
    key = at | {"protocol": "fresh free, K = 5"}
    folder = planted("double_sampling", lambda x: x.update(value="2.75"), **key)
    found = facts.double_sampling(Numbers(folder))
    assert (found.cost_by_mileage, found.cost_free) == (7.25, 2.75)
    assert found.td_loss < 1e-20
    assert "5 dummies the best replacement cost is 2.75, not 5." in finding(folder, 3)
    text = outcome(folder, "double_sampling")
    assert "is 7.25 for zeta by mileage, and 2.75 for free zeta with 5 dummies" in text
    for k in (1, 2, 3, 5):
        shares = ", ".join(f"{x:.2f}" for x in left(folder, f"fresh free, K = {k}") if x >= 0.01)
        assert f"Free zeta with K = {k} leaves {shares}" in text
    assert "2.75" not in finding(GENERATED, 3) + outcome(GENERATED, "double_sampling")


def test_the_farthest_difference_is_the_largest_in_standard_errors(
    planted: Callable[..., Path],
) -> None:
    key = {"statistic": "measured minus derived", "protocol": "fresh*"}
    at = lines("double_sampling", **key)[2]
    where = {name: at[name] for name in ("row", "column", "protocol", "statistic")}
    folder = planted("double_sampling", lambda line: line.update(value="-0.5", se="0.01"), **where)
    for source in (GENERATED, folder):
        every = [
            (float(x["value"]), float(x["se"])) for x in lines("double_sampling", source, **key)
        ]
        ratio = max(abs(x) / se for x, se in every)
        (expected,) = {abs(x) for x, se in every if math.isclose(abs(x) / se, ratio)}
        assert facts.double_sampling(Numbers(source)).farthest == expected
    assert expected == 0.5


# --- sentences that are right as long as the results say so
@pytest.mark.parametrize("claim", facts.CONVERGENCE)
def test_finding_4_stops_where_the_ledger_says_otherwise(
    claim: str, planted: Callable[..., Path]
) -> None:
    assert "Theorem 11 (PL) holds" in finding(GENERATED, 4)
    folder = planted(LEDGER, lambda line: line.update(verdict="vacuous"), id=claim)
    with pytest.raises(ValueError, match=f"{claim}: {facts.CONVERGENCE[claim]}; it is vacuous"):
        page(folder)


def test_finding_3_stops_where_the_public_anchor_has_a_bias(planted: Callable[..., Path]) -> None:
    assert "there is no bias at the true Q" in " ".join(finding(GENERATED, 3).split())
    of = {"protocol": "fresh replace", "statistic": "TD loss at Q*", "row": "250"}
    folder = planted("double_sampling", lambda line: line.update(value="1e-3"), **of)
    with pytest.raises(ValueError, match="no bias; it is a bias"):
        page(folder)


# --- other pages
def mape(folder: Path, **key: str) -> dict[str, float]:
    found = lines("accuracy", folder, statistic="MAPE", **key)
    return {line["row"]: float(line["value"]) for line in found}


def outcome(folder: Path, name: str) -> str:
    module: Any = findings.environment(folder).get_template("outcomes.md").module
    about = {"name": name, "files": ["a.csv"], "verdicts": ["a verdict"], "title": "a title"}
    return str(module.outcome(about))


def test_accuracy_is_in_ratios_to_the_bound_and_to_the_plug_in(
    planted: Callable[..., Path],
) -> None:
    ours = {"column": "Profiled ERM", "protocol": "leak_free smooth"}
    planted("accuracy", times(9.0), row="step/250", statistic="MAPE", **ours)
    folder = planted("accuracy", times(0.25), row="affine/1000", statistic="MAPE", **ours)
    for source in (GENERATED, folder):
        found = facts.accuracy(Numbers(source))
        mine, plug_in = (
            mape(source, **ours),
            mape(source, column="Plug-in", protocol="leak_free t*"),
        )
        bound = mape(source, column="bound", protocol="measured (iv)")
        assert found.to_bound == [mine[row] / bound[row] for row in mine if row in bound]
        others = {row: mine[row] / plug_in[row] for row in mine if not row.startswith("affine")}
        assert sorted(found.to_plug_in) == sorted(others.values())
        assert found.rewards == len({row.split("/")[0] for row in others})
        assert found.linear_at_1000 == mine["affine/1000"] / plug_in["affine/1000"]
        assert sorted(found.others_at_1000) == sorted(others[r] for r in others if "/1000" in r)
        text = outcome(source, "accuracy")
        assert f"is {min(others.values()):.2f} to {max(others.values()):.2f} times" in text
        row = f"{found.linear_at_1000:.3f} for a linear reward, "
        assert row in page(source, "deviations.md")
    assert text != outcome(GENERATED, "accuracy")
    assert row not in page(GENERATED, "deviations.md")


def test_what_surrounds_se_is_a_coefficient_of_variation(planted: Callable[..., Path]) -> None:
    rust = {"row": "affine/50", "column": "Rust", "protocol": "fresh", "statistic": "MAPE"}
    folder = planted("accuracy", lambda line: line.update(se="0.5", repetitions="7"), **rust)
    found = facts.accuracy(Numbers(folder))
    every = lines("accuracy", folder, **(rust | {"row": "affine/*"}))
    spreads = [float(x["se"]) * float(x["repetitions"]) ** 0.5 / float(x["value"]) for x in every]
    assert found.variation == pytest.approx(spreads, rel=1e-14)
    assert found.data_sets == 7
    assert f"Ours is {min(spreads):.2f} to {max(spreads):.2f} over 7 data sets" in page(
        folder, "deviations.md"
    )


def test_the_printed_algorithm_says_how_many_fits_failed(planted: Callable[..., Path]) -> None:
    key = {"row": "1000", "column": "GLADIUS", "protocol": "printed"}
    planted("table_2", lambda line: line.update(value="17"), statistic="repetitions not ok", **key)
    folder = planted("table_2", lambda line: line.update(value="3.25"), statistic="MAPE", **key)
    found = facts.as_printed(Numbers(folder))
    (line,) = lines("table_2", folder, statistic="MAPE", **key)
    assert (found.error, found.not_ok, found.fits) == (3.25, 17, float(line["repetitions"]))
    text = f"3.25 as printed (17 of {found.fits:.0f} fits without convergence)"
    assert text in page(folder, "deviations.md")
    printed = lines("table_2", ROOT / "paper_tables/published", column="Rust", statistic="MAPE")
    assert facts.brackets(Numbers(folder)) == [float(x["se"]) / float(x["value"]) for x in printed]


def test_the_exact_step_s_numbers_are_the_study_s(planted: Callable[..., Path]) -> None:
    main, columns = {"row": "N=1000"}, ("public procedure", "max-oracle", "Plug-in")
    before = facts.exact_step(Numbers(GENERATED))
    for number, column in enumerate(columns):
        change = {"value": f"{40 + number}", "se": ".25"}
        key = main | {"column": column, "protocol": "fresh*", "statistic": "MAPE"}
        folder = planted("converging", lambda x, new=change: x.update(new), **key)
    key = main | {"column": "max-oracle", "statistic": "repetitions not ok"}
    folder = planted("converging", lambda x: x.update(value="31"), **key)
    absolute = {"row": "N=1000", "change": "absolute*"}
    changed = {"converged": "17", "mean": "7", "se": ".5", "median_less": ".01", "median_low": "-1"}
    folder = planted("converging_ablation", lambda x: x.update(changed), **absolute)
    lost = {"column": "max-oracle", "statistic": "paired difference to public*", "verdict": "met"}
    folder = planted("converging_checks", lambda x: x.update(verdict="missed"), row="N=50", **lost)
    found = facts.exact_step(Numbers(folder))
    assert [x.error for x in found.users] == ["40.00 (0.25)"] * len(found.users)
    assert (found.ours, found.plug_in) == ("41.00 (0.25)", "42.00 (0.25)")
    assert not found.is_behind
    texts = [f"{x} (0.25)" for x in ("40.00", "40.00", "40.00", "40.00", "42.00", "41.00")]
    assert found.sizes[3] == ["1,000", *texts, before.sizes[3][-1]]
    assert [x for x in found.sizes if x[0] != "1,000"] == [
        x for x in before.sizes if x[0] != "1,000"
    ]
    failed = lines("converging", folder, column="max-oracle", protocol="fresh")
    failed = [x for x in failed if x["row"][:2] == "N=" and x["statistic"] == "repetitions not ok"]
    good = sum(float(x["repetitions"]) - float(x["value"]) for x in failed)
    assert found.converged == f"{good:.0f} of 240"
    assert found.median_below == "6 of 6"
    key = {"column": "public procedure", "protocol": "fresh oracle", "statistic": "MAPE median"}
    folder = planted("converging", lambda x: x.update(value="0.6"), row="N=1000", **key)
    assert facts.exact_step(Numbers(folder)).median_below == "5 of 6"  # 0.52 is printed
    assert found.overview[1][1:3] == ["40.00 (0.25)", before.overview[1][2]]
    (median,) = lines("converging", row="N=5000", **key)
    assert before.overview[1][4] == f"{float(median['value']):.2f}"
    line = ["7.00 (0.50)", "0.01 [-1.00, 0.00]", "same", "17 of 20"]
    assert found.changes[1] == ["absolute value in place of the sign", *line]
    assert found.error_of[found.changes[1][0]] == "7.00 (0.50)"
    assert found.changes[0] == before.changes[0]
    assert found.changes[0][2:] == ["", "", "20 of 20"]
    assert found.changes[2:] == before.changes[2:]
    assert found.on_random == before.on_random
    assert found.error_on_random[found.on_random[1][0]] == before.on_random[1][1]
    assert (before.users[0].to_ours, found.users[0].to_ours) == ("6 of 6", "5 of 6")
    assert found.users[2].to_ours == before.users[2].to_ours
    assert found.to_plug_in == before.to_plug_in
    of_network = lines("converging_checks", column="max-oracle", verdict="met")
    of_network = [x for x in of_network if x["statistic"].startswith("paired difference to Prof")]
    assert found.to_network == f"{len(of_network)} of 5"
    assert found.difference_of["level of Q by Adam"] == before.changes[6][2]
    assert found.converged_of["absolute value in place of the sign"] == "17 of 20"
    assert f"| the same, the last epoch | {' | '.join(found.overview[2][1:])} |" in page(
        folder, "summary.md"
    )
    assert "computed exactly (ours) | 41.00 (0.25) |" in page(folder, "summary.md")
    few = {"row": "curved reward", "column": "max-oracle", "statistic": "repetitions not ok"}
    for failed, rarely in (("10", before.rarely), ("11", "4 of 4")):
        folder = planted("converging", lambda x, n=failed: x.update(value=n), **few)
        assert facts.exact_step(Numbers(folder)).rarely == rarely
    worse = {"row": "N=1000", "change": "zeta: ten Adam steps, rate .003"}
    folder = planted("converging_ablation", lambda x: x.update(verdict="open"), **worse)
    with pytest.raises(ValueError, match="it is open"):
        facts.exact_step(Numbers(folder))


EPOCHS = {
    "fresh last": "the last epoch",
    "fresh least held-out loss": "the epoch of the least held-out loss",
    "fresh least training loss": "the epoch of the least training loss",
}


@settings(max_examples=20)
@given(
    st.lists(st.tuples(*(st.floats(0.05, 20),) * 3), min_size=6, max_size=6),
    st.lists(st.sampled_from(["met", "missed", "undecided"]), min_size=36, max_size=36),
    st.sets(st.sampled_from(list(EPOCHS)[1:])),
)
def test_a_user_s_epochs_are_said_by_the_files(
    drawn: list[tuple[float, ...]], words: list[str], absent: set[str]
) -> None:
    """Synthetic errors and verdicts, and epochs without a cell: facts and words follow them."""
    sizes = ("50", "250", "500", "1000", "2500", "5000")
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("converging_ablation", "converging_checks"):
            shutil.copy(GENERATED / f"{file}.csv", folder)
        every = lines("converging")
        mine = {"column": "public procedure", "statistic": "MAPE"}
        every = [x for x in every if not (is_of(x, mine) and x["protocol"] in EPOCHS)]
        checks = list[Line]()
        said = iter(words)
        given = dict(zip(sizes, drawn, strict=True))
        for n in sizes:
            for protocol, error in zip(EPOCHS, given[n], strict=True):
                if protocol in absent:
                    continue
                number = {"value": repr(error), "se": "0.25", "repetitions": "40", "status": "ok"}
                every.append({"row": f"N={n}", "protocol": protocol} | mine | number)
                line = {"row": f"N={n}", "verdict": next(said)}
                line |= {"column": "public procedure", "protocol": protocol}
                checks.append(line | {"statistic": "paired difference to Plug-in, per cent"})
                ours = {"row": f"N={n}", "column": "max-oracle", "protocol": "fresh"}
                ours |= {"verdict": next(said)}
                of = f"paired difference to {protocol.removeprefix('fresh ')}"
                checks.append(ours | {"statistic": of})
        pd.DataFrame(every).to_csv(folder / "converging.csv", index=False)
        pd.DataFrame(checks).to_csv(folder / "converging_epochs_checks.csv", index=False)
        found = facts.exact_step(Numbers(folder))
    printed = lines("table_2", ROOT / "paper_tables/published", column="GLADIUS", statistic="MAPE")
    of_paper = {x["row"]: float(x["value"]) for x in printed}
    assert [x.rule for x in found.users] == [EPOCHS[x] for x in EPOCHS if x not in absent]
    for place, protocol in enumerate(EPOCHS):
        mine = [x for x in checks if x["protocol"] == protocol]
        of = [x for x in found.users if x.rule == EPOCHS[protocol]]
        if not of:
            continue
        errors = {n: given[n][place] for n in sizes}
        above = sum(errors[n] - 0.5 > of_paper[n] for n in sizes)
        missed = sum(x["verdict"] == "missed" for x in mine)
        assert of[0].value == errors["1000"]
        assert (of[0].to_plug_in, of[0].to_printed) == (f"{missed} of 6", f"{above} of 6")
        ending = f"to {protocol.removeprefix('fresh ')}"
        of_ours = [x["verdict"] for x in checks if x["statistic"].endswith(ending)]
        if protocol != "fresh last":  # a target of the study, with a file of its own
            assert of[0].to_ours == f"{of_ours.count('met')} of 6"
    assert found.best_user.value == min(x.value for x in found.users)
    missing = [x for x in found.users if x.to_printed != "6 of 6"]
    assert found.is_printed_missed == (not missing)


def test_the_pages_name_the_rules_and_change_their_words_with_the_numbers(
    planted: Callable[..., Path],
) -> None:
    before = facts.exact_step(Numbers(GENERATED))
    assert before.is_behind
    assert before.is_printed_missed
    assert before.best_user.rule in page(GENERATED, "summary.md")
    assert "behind counting by every rule" in page(GENERATED, "answers_page.md", mark="")
    small = {"column": "public procedure", "protocol": "fresh least held-out*"}
    folder = planted("converging", times(1e-3), statistic="MAPE", **small)
    found = facts.exact_step(Numbers(folder))
    assert found.best_user.rule == "the epoch of the least held-out loss"
    assert not found.is_behind
    assert not found.is_printed_missed
    assert "not behind counting by every rule" in page(folder, "answers_page.md", mark="")
    assert "does not get at every size the printed" in page(folder, "summary.md")


def test_inputs_that_matter_are_said_as_far_as_they_are_stored(
    planted: Callable[..., Path],
) -> None:
    folder = planted("converging", lambda line: None)
    every = [x for x in lines("converging", folder) if not x["row"].startswith("ten inputs")]
    pd.DataFrame(every).to_csv(folder / "converging.csv", index=False)
    assert facts.exact_step(Numbers(folder)).matter == []
    text = page(folder, "answers_page.md", mark="")
    assert "not computed yet" in text
    assert "fit to the mileage alone" not in text
    key = {"row": "ten inputs, additive", "column": "Profiled ERM", "protocol": "fresh sparse"}
    number = {"se": "0.5", "repetitions": "10", "status": "ok"}
    every.append(key | number | {"statistic": "MAPE", "value": "3.25"})
    every.append(key | number | {"statistic": "repetitions not ok", "value": "4"})
    pd.DataFrame(every).to_csv(folder / "converging.csv", index=False)
    (line,) = facts.exact_step(Numbers(folder)).matter
    assert line[0] == "ten inputs, additive"
    assert line.count("not run") == 5
    assert line[3] == "3.25 (0.50)"
    assert line[-2] == "6 of 10"
    text = page(folder, "answers_page.md", mark="")
    assert "not computed yet" not in text
    assert "| ten inputs, additive | not run | not run | 3.25 (0.50) |" in text


def test_the_tests_of_profiled_erm_drop_inputs_where_every_fit_has_one(
    planted: Callable[..., Path],
) -> None:
    key = {"column": "max-oracle, selected", "statistic": "inputs used"}
    kept = {x["row"] for x in lines("converging", **key) if float(x["value"]) > 1}
    before = facts.exact_step(Numbers(GENERATED)).dropped
    assert [str(k) for k in before] == [k for k in ("2", "5", "20", "50", "100") if k not in kept]
    folder = planted("converging", lambda x: x.update(value="1.05"), row="100", **key)
    assert facts.exact_step(Numbers(folder)).dropped == [k for k in before if k != 100]


def test_all_methods_stand_side_by_side_with_their_data_sets(planted: Callable[..., Path]) -> None:
    def cells(folder: Path) -> dict[str, list[str]]:
        return {name: of for name, *of in facts.side_by_side(Numbers(folder))}

    before = cells(GENERATED)
    key = {"row": "100", "column": "Profiled ERM", "protocol": "fresh sparse", "statistic": "MAPE"}
    (line,) = lines("converging", **key)
    value, se = float(line["value"]), float(line["se"])
    expected = f"{value:.2f} ({se:.2f}; {line['repetitions']})"
    assert before["profiled ERM, our default"][3] == expected
    key = {"row": "20", "column": "GLADIUS", "protocol": "author public held-out"}
    (line,) = lines("figure_1", **key, statistic="MAPE")
    held_out = "public procedure, least held-out loss"
    assert before[held_out][2] == f"{float(line['value']):.2f}† (one training)"
    assert [name for name, of in before.items() if "refused" in of] == list(before)[:2]
    planted("figure_1", lambda x: x.update(protocol="author public short form"), **key)
    at_0 = {"row": "N=1000", "column": "Plug-in", "statistic": "MAPE"}
    change = {"value": "7.5", "se": ".25", "status": "not_converged", "repetitions": "31"}
    after = cells(planted("converging", lambda x: x.update(change), **at_0))
    assert after[held_out][2] == "not run"
    assert after["counting, the plug-in"][0] == "7.50† (0.25; 31)"
    assert sum(after[name] != of for name, of in before.items()) == 2


@pytest.mark.parametrize(
    ("gap", "words"), [("1e-12", "equals"), ("-1e-12", "equals"), ("0.1", "is not")]
)
def test_the_printed_density_is_scipys_but_for_rounding(
    planted: Callable[..., Path], gap: str, words: str
) -> None:
    (at,) = [x for x in lines("figure_gumbel") if "density - SciPy" in x["statistic"]]
    folder = planted("figure_gumbel", lambda x: x.update(value=gap), statistic=at["statistic"])
    assert facts.gumbel(Numbers(folder)) == (words == "equals")
    assert f"the taste shocks {words} SciPy's" in outcome(folder, "figure_gumbel")


def test_the_ledger_is_counted_by_verdict_and_by_what_an_error_reaches(
    planted: Callable[..., Path],
) -> None:
    assert "findings 3 and 4" in page(GENERATED, "claims.md", is_older=False)
    assert "the right minimiser (Theorem 5)" in page(GENERATED, "summary.md")
    folder = planted(LEDGER, lambda line: line.update(verdict="fails"), id="thm:algoEQ")
    planted(LEDGER, lambda line: line.update(severity="theorem"), id="thm:algoEQ")
    found, claims = facts.ledger(Numbers(folder)), lines(LEDGER, folder, printed="yes")
    claims = [line for line in claims if not line["id"].startswith("ours")]
    assert found.statements == len(claims) == sum(found.verdicts.values())
    for verdict in {line["verdict"] for line in claims}:
        assert found.verdicts[verdict] == sum(line["verdict"] == verdict for line in claims)
    wrong = [line["severity"] for line in claims if line["verdict"] == "fails"]
    assert dict(found.severities) == {word: wrong.count(word) for word in set(wrong)}
    assert wrong.count("theorem") == 4
    text = page(folder, "claims.md", is_older=False)
    assert f"{len(wrong)} are false as printed" in text
    assert "4 affect a theorem's proof or reach," in text  # and no longer those of findings 3 and 4
    assert "the right minimiser" not in page(folder, "summary.md")


@pytest.mark.parametrize("claim", facts.LETTER)
def test_the_letter_stops_where_the_ledger_says_otherwise(
    claim: str, planted: Callable[..., Path]
) -> None:
    assert facts.letter(Numbers(GENERATED)).theorem_11 == "holds"
    folder = planted(LEDGER, lambda line: line.update(verdict="fails"), id=claim)
    with pytest.raises(ValueError, match=f"{claim}: holds; it is fails"):
        facts.letter(Numbers(folder))


def test_digits_and_accounts_are_those_of_the_list_of_verdicts() -> None:
    """From the text of verdicts.csv, where the printed GLADIUS has a line for each rule."""
    every = [x for x in lines("verdicts") if x["exhibit"] != "table_3"]
    key = ("exhibit", "row", "column", "statistic")
    once = {tuple(x[name] for name in key): x for x in every if x["verdict"] != "not printed"}
    values = [x["provenance"] for x in once.values()]
    brackets = [x["provenance_of_bracket"] for x in once.values() if x["provenance_of_bracket"]]
    entries = sum(x["exhibit"] == "table_1" for x in once.values())
    found = facts.digits(Numbers(GENERATED))
    assert found.exact == sum(x.startswith("exact") for x in values + brackets) > found.found > 0
    assert found.found == (values + brackets).count("exact, found from it")
    assert found.brackets == len(brackets)
    *owners, total = facts.accounts(Numbers(GENERATED))
    assert total.numbers == sum(line.numbers for line in owners)
    assert (total.agree, total.open) == tuple(sum(x[k] for x in owners) for k in (2, 5))
    assert found.printed == len(values) - entries + len(brackets)
    table = page(GENERATED, "exhibits_table.md", older=0, exhibits=[])
    assert f"| all | {total.numbers} | {total.exact} |" in table
    assert "Older code" not in table
    assert "Older code computed 2 of 3" in page(
        GENERATED, "exhibits_table.md", older=2, exhibits=[1, 2, 3]
    )


def test_scores_on_lunar_lander_are_those_of_the_verdicts() -> None:
    key = {"row": "LunarLander*", "rule": "procedure"}
    games = [x for x in lines("verdicts", **key) if x["exhibit"] == "table_4"]
    means = [[x[y].split()[0] for x in games] for y in ("published", "ours")]
    found = facts.lunar_lander(Numbers(GENERATED))
    assert [found.printed, found.ours] == [list(map(float, of)) for of in means]
    assert len(found.ours) == 5
    key = {"row": "LunarLander*", "column": "Gladius"}
    epochs = {x: f"author table {x}" for x in ("best", "last")}
    best, last = (
        lines("table_4", **key, statistic="% optimality", protocol=x) for x in epochs.values()
    )
    medians = lines("table_4", **key, statistic="% optimality median", protocol=epochs["best"])
    assert [line["row"] for line in best[:2]] == ["LunarLander-v2/1", "LunarLander-v2/2"]
    shown = [found.alone, *found.ours], found.last, found.medians
    for values, of in zip(shown, (best, last[1:], medians[1:]), strict=True):
        assert values == pytest.approx([float(line["value"]) for line in of], abs=0.005)


def test_the_scorecard_keeps_our_own_estimator_apart() -> None:
    scored, ours = facts.scored(Numbers(GENERATED)), facts.ours_scored(Numbers(GENERATED))
    assert {part.rule for part in ours} == {"feasible"}
    assert {part.rule for part in scored} == {"procedure", ""}
    text = page(GENERATED, "exhibits.md", exhibits=[], run={}, mark="")
    before, _, after = text.partition("and not of the paper, beside the printed GLADIUS")
    assert all(f"| {' | '.join(map(str, (x.name, *x[2:])))} |\n" in before for x in scored)
    assert all(f"| {' | '.join(map(str, (x.name, x.quantities, *x[4:])))} |" in after for x in ours)
    assert findings.links(["a.md", "b.csv"]) == "[a.md](a.md), [b.csv](b.csv)"


verdict = st.sampled_from(["agrees", "differs", "unclear"])
width = st.one_of(st.sampled_from([math.nan, 4.0]), st.floats(0.1, 9.0))
tested = st.tuples(
    st.sampled_from(["table_2", "table_3", "table_a2", "figure_1", "table_4"]),
    st.sampled_from(["procedure", "feasible", ""]),
    st.sampled_from(["MAPE", "Q a0", "r a0"]),
    st.integers(1, 10),
    width,
    verdict,
)


@given(st.lists(tested, max_size=12))
def test_the_tests_of_the_procedure_are_counted_by_its_rule(drawn: list[Any]) -> None:
    names = ["exhibit", "rule", "statistic", "row", "half_width", "verdict"]
    frame = pd.DataFrame(drawn, columns=pd.Index(names)).assign(yardstick=4.0)
    frame = frame.assign(quantity=frame["row"], p=0.04, p_holm=frame["half_width"] / 100)
    frame = frame.astype({"statistic": str, "row": str, "half_width": float})
    numbers = Numbers(GENERATED)
    numbers.__dict__["verdicts"] = frame
    found = facts.procedure(numbers)
    ours = [x for x in drawn if x[1] == "procedure"]
    errors = [x for x in ours if x[0] == "table_2" and not math.isnan(x[4])]
    assert (found.errors, found.with_zero) == (len(errors), sum(x[4] >= 4.0 for x in errors))
    assert found.unclear_errors == sum(x[5] == "unclear" for x in errors)
    levels = [x for x in ours if x[2] == "Q a0"]
    assert (found.levels, found.unclear_levels) == (
        len(levels),
        sum(x[5] == "unclear" for x in levels),
    )
    far = [x for x in ours if x[0] in ("table_3", "table_a2") and x[5] == "differs"]
    assert found.far == list(dict.fromkeys(x[0] for x in far))
    assert found.far_mileages == [x[3] for x in far]
    least = dict[int, float]()
    for _, _, _, row, p_holm, _ in (x for x in ours if not math.isnan(x[4])):
        least[row] = min(least.get(row, math.inf), p_holm / 100)
    by_holm = sum(p < 0.05 for p in least.values())
    counts = {"tests": len(least), "below": len(least), "by_chance": round(len(least) / 20)}
    assert found.tests == {**counts, "by_holm": by_holm}


@pytest.mark.parametrize(("distance", "shown"), [("0.1201", 0.13), ("0.4", 0.4), ("1.999", 2.0)])
def test_a_distance_to_table_a1_is_rounded_up(
    planted: Callable[..., Path], distance: str, shown: float
) -> None:
    statistic = "largest distance from Table A1, mileages 1 to 5"
    at = {"row": "50", "protocol": "author", "statistic": statistic}
    folder = planted("table_2_author", lambda line: line.update(value=distance), **at)
    assert facts.table_a1(Numbers(folder)).often == shown
    assert facts.table_a1(Numbers(folder)).rare == facts.table_a1(Numbers(GENERATED)).rare


def test_an_expert_is_as_many_errors_off_as_both_returns_vary(planted: Callable[..., Path]) -> None:
    at = {"row": "Acrobot-v1", "column": "Expert", "statistic": "return, sampled, without*"}
    change = {"value": "-90", "se": "0.5", "repetitions": "400"}
    folder = planted("table_4", lambda line: line.update(change), **at)
    found = {expert.game: expert for expert in facts.experts(Numbers(folder))}
    assert found["CartPole"].is_equal
    assert [name for name, x in found.items() if x.is_other_version] == ["LunarLander"]
    acrobot = found["Acrobot"]
    assert acrobot.printed == ("-82.80", "27.55")
    assert (acrobot.mean, acrobot.sd, acrobot.episodes) == (-90.0, 10.0, 400.0)
    assert acrobot.z == pytest.approx((-90 + 82.80) / (0.25 + 27.55**2 / 400) ** 0.5)
    rules = {x["statistic"] for x in lines("table_4", folder, **(at | {"statistic": "return, *"}))}
    assert acrobot.tried == len(rules)


def test_how_far_ours_scale_is_the_largest_that_ran(planted: Callable[..., Path]) -> None:
    at = {"column": "SAmQ", "protocol": "leak_free ward 5", "statistic": "MAPE"}
    sizes = sorted(int(x["row"]) for x in lines("table_2", **at) if x["status"] == "ok")
    planted("table_2", lambda line: line.update(status="out of memory"), row=str(sizes[-1]), **at)
    key = {"column": "Scalability", "statistic": "largest K"}
    folder = planted("table_1", lambda line: line.update(value="2"), row="ML-IRL", **key)
    before, found = (facts.scale(Numbers(x)) for x in (GENERATED, folder))
    assert (before.samq, found.samq) == (sizes[-1], sizes[-2])
    assert found.dummies == [before.dummies[0], 2.0] != before.dummies


def test_the_longest_exhibit_and_the_kinds_are_those_of_the_manifests() -> None:
    names = ("table_3", "stability", "exact", "ledger")  # which is no study
    manifests = {n: json.loads((GENERATED / f"manifests/{n}.json").read_text()) for n in names}
    problems = [check.Finding("exact", ("older code",))]
    about = readme.describe([exhibits.load(name) for name in names], problems, GENERATED)
    assert about["slowest"]["name"] == max(names, key=lambda n: manifests[n]["cpu_seconds"])
    assert (about["kinds"], about["older"]) == ({"paper": 1, "own": 2}, 1)
    assert list(about["run"]) == list(names)
    for described in about["exhibits"]:
        files = list(manifests[described["name"]]["files"])
        assert described["pictures"] == [x for x in files if Path(x).suffix == ".png"]
        assert described["linked"] == [x for x in files if Path(x).suffix not in (".tex", ".pdf")]


def test_a_benchmark_is_in_times_of_reading_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        "what,size,fit,rows,read,cpu",
        "rows,1000,nfxp,1000,0.1,0.25",
        "rows,2000,ccp,2000,0.02,3",
    ]
    (tmp_path / "benchmarks.csv").write_text("\n".join([*lines, "states,20,BC,40000,1,0.5"]))
    monkeypatch.setattr(facts, "BENCHMARKS", tmp_path / "benchmarks.csv")
    assert facts.benchmarks(Numbers(GENERATED)) == [
        ["rows", "1,000", "1,000", "nfxp", "0.25", "2.5"],
        ["", "2,000", "2,000", "ccp", "3", "150"],
        ["states", "20", "40,000", "BC", "0.5", "0.5"],
    ]


def test_a_sample_of_stored_cells_is_a_table_only_as_long_as_its_sentences_are_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = {
        "cell": ["0123456789abcdef", "fedcba9876543210"],
        "label": ["fit", f"{facts.PUBLIC_K}2"],
        "same_by_both_codes": [True, True],
        "same_as_stored": [False, False],
        "furthest": ["MAPE", "MAPE best"],
        "relative_difference": [0.0123, 1.0],
    }
    monkeypatch.setattr(facts, "OLD_CODE", tmp_path / "old_code.csv")

    def told(**changed: list[object]) -> list[list[str]]:
        pd.DataFrame(lines | changed).to_csv(facts.OLD_CODE, index=False)
        return facts.old_code(Numbers(GENERATED))

    assert told() == [
        ["fedcba987654", f"{facts.PUBLIC_K}2", "MAPE best", "100"],
        ["0123456789ab", "fit", "MAPE", "1.2"],
    ]
    faults = [
        {"same_by_both_codes": [True, False]},
        {"same_as_stored": [True, False]},
        {"relative_difference": [1.0, 0.99]},
    ]
    for fault in faults:
        with pytest.raises(ValueError, match="write it anew"):
            told(**fault)
