"""The counts of the pages from the CSVs alone: no module of the project computes them here."""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from reproduce.paper import scorecard

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "paper_tables" / "generated"
VERDICTS = pd.read_csv(GENERATED / "verdicts.csv", dtype=str, keep_default_na=False)
OF_RULE = {"feasible": "Profiled ERM/leak_free smooth", "procedure": "GLADIUS/author oracle"}
KEY = ["row", "column", "protocol"]


def converged(exhibit: str) -> pd.DataFrame:
    """MAPE where all fits are ok, or the author's, which never are; affine rows by their size."""
    frame = pd.read_csv(GENERATED / f"{exhibit}.csv", dtype={"row": str})
    is_used = frame["status"].eq("ok") | frame["protocol"].str.startswith("author")
    frame = frame[frame["statistic"].eq("MAPE") & is_used]
    return frame.assign(row=frame["row"].str.removeprefix("affine/"))


def test_gladius_in_table_2_by_students_prediction() -> None:
    """Each printed error as one draw of a law with the mean and deviation of our repetitions."""
    ours = pd.concat([converged("accuracy"), converged("table_2")]).drop_duplicates(KEY)
    printed = VERDICTS[VERDICTS["exhibit"].eq("table_2") & VERDICTS["column"].eq("GLADIUS")]
    printed[["column", "protocol"]] = printed["rule"].map(OF_RULE).str.split("/", expand=True)
    both = printed.merge(ours, on=KEY, suffixes=("", " of ours"))
    assert len(both) == 12
    theirs = both["published"].str.extract(r"(\S+) \(")[0].astype(float)
    value, se, n = both[["value", "se", "repetitions"]].to_numpy(float).T
    draw, rounding = se**2 * n * (1 + 1 / n), 0.01**2 / 12  # two digits are printed
    z = (value - theirs) / np.sqrt(draw + rounding)
    critical = stats.t.ppf(0.975, (draw + rounding) ** 2 / (draw**2 / (n - 1)))
    is_inside = np.abs(z) <= critical
    is_noisy = (critical * se > theirs) & (is_inside | (se * np.sqrt(n) > value))
    is_noisy |= is_inside & (critical * np.sqrt(draw + rounding) > theirs / 4)
    words = np.select([is_noisy, is_inside], ["unclear", "agrees"], "differs")
    assert both["verdict"].tolist() == words.tolist()
    assert set(both[both["rule"].eq("procedure")]["verdict"]) == {"unclear"}
    np.testing.assert_allclose(both["z"].astype(float), z, rtol=1e-3)  # four digits are written


def test_every_quantity_is_in_one_line_of_the_committed_scorecard() -> None:
    readme = (GENERATED / "EXHIBITS.md").read_text()
    counted = VERDICTS[VERDICTS["quantity"].ne("")]
    counted = counted[~counted["verdict"].isin(["given", "not printed"])]
    order, seen = ["not run", "differs", "unclear"], 0
    for group in scorecard.GROUPS:
        mine = counted[counted["exhibit"].isin(list(group.exhibits))]
        mine = mine[mine["column"].isin(group.columns) & mine["rule"].eq(group.rule)]
        seen += len(mine)
        rank = mine["verdict"].map(lambda word: order.index(word) if word in order else len(order))
        worst = mine.assign(rank=rank).sort_values("rank").drop_duplicates("quantity")
        quantities, worst = worst["quantity"], worst["verdict"]
        exact = mine["provenance"].str.startswith("exact").groupby(mine["quantity"]).all()
        is_ours = group.rule == "feasible"  # another estimator: nothing of it is a reproduction
        numbers = [len(worst)] + [exact.sum()] * (not is_ours)
        others = worst[[not exact[name] for name in quantities]]
        numbers += [others.eq("agrees").sum(), others.eq("differs").sum()]
        start = f"| {group.name} | {' | '.join(map(str, numbers))} |"
        assert start in readme
        assert f"| {group.name} | {len(worst) + 1} |" not in readme  # the control
    assert seen == len(counted)


def test_the_numbers_of_tests_in_methods_are_those_of_the_verdicts() -> None:
    methods = (GENERATED / "METHODS.md").read_text("utf-8")
    tests = VERDICTS[VERDICTS["p_holm"].ne("") & VERDICTS["rule"].ne("procedure")]
    least = tests.astype({"p": float, "p_holm": float}).groupby("quantity")[["p", "p_holm"]].min()
    below, significant = (least < 0.05).sum()
    assert f"There are {len(least)} distinct tests" in methods
    assert f"{below} are below 5 %, where {round(len(least) / 20)} would be" in methods
    assert f"{significant} remain significant" in methods


def test_holms_p_is_stepped_down_over_the_quantities_of_a_rule() -> None:
    tests = VERDICTS[VERDICTS["p_holm"].ne("")].astype({"p": float, "p_holm": float})
    for _, family in tests.groupby(tests["rule"] == "procedure"):
        least = family.sort_values("p").drop_duplicates("quantity")
        steps = least["p"] * np.arange(len(least), 0, -1)
        expected = np.minimum(np.maximum.accumulate(steps), 1.0)  # four digits are written
        np.testing.assert_allclose(least["p_holm"], expected, rtol=2e-3)


def test_a_repeated_number_and_a_parameter_are_one_quantity() -> None:
    name = scorecard.quantity
    assert name("table_3", "4", "GLADIUS", "r a0") == name("table_a3", "4", "GLADIUS", "r a0")
    assert name("table_a1", "4", "GLADIUS", "r a0") != name("table_a3", "4", "GLADIUS", "r a0")
    assert name("table_a1", "4", "Rust", "r a0") == name("table_a1", "5", "Rust", "r a0")
    assert name("table_a2", "4", "Rust", "Q a0") == ""
    assert name("table_2", "50", "Rust", "MAPE") != name("table_2", "250", "Rust", "MAPE")
