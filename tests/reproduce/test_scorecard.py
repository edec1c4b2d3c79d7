"""The counts of the pages from the CSVs alone: no module of the project computes them here."""

import re
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


OWNER = {"GLADIUS": "GLADIUS", "Gladius": "GLADIUS", "Rust": "Rust", "ML-IRL": "Rust"}
OWNER |= dict.fromkeys(["SAmQ", "IQ-learn", "BC"], "SAmQ") | {"Frequency": "Frequencies"}
OWNER |= dict.fromkeys(["True reward", "Ground Truth"], "True rewards")
KINDS = ["exact", "agrees", "differs", "unclear", "open"]


def printed_numbers() -> pd.DataFrame:
    """A line for each printed number, brackets too: whose it is, and what came out (KINDS)."""
    is_counted = VERDICTS["exhibit"].ne("table_3") & VERDICTS["verdict"].ne("not printed")
    lines = VERDICTS[is_counted & VERDICTS["rule"].ne("feasible")]
    p, half, yardstick = (pd.to_numeric(lines[x]) for x in ("p", "half_width", "yardstick"))
    is_test = lines["verdict"].isin(["agrees", "differs", "unclear"])
    word = pd.Series("agrees", lines.index).mask(half > yardstick / 4, "unclear")
    word = word.mask(p < 0.05, "differs").where(is_test, "open")
    values = lines.assign(word=word.mask(lines["provenance"].str.startswith("exact"), "exact"))
    brackets = lines[lines["provenance_of_bracket"].ne("")].assign(word="open", is_bracket=True)
    is_exact = brackets["provenance_of_bracket"].str.startswith("exact")
    brackets["word"] = brackets["word"].mask(is_exact, "exact")
    both = pd.concat([values.assign(is_bracket=False), brackets])
    return both.assign(owner=both["column"].map(OWNER))


def test_the_account_of_the_readme_is_that_of_the_verdicts() -> None:
    readme, both = (ROOT / "README.md").read_text("utf-8"), printed_numbers()
    table = pd.crosstab(both["owner"], both["word"]).reindex(columns=KINDS, fill_value=0)
    rows = re.findall(r"^\| (\w[^|]*)((?: \| \d+){6}) \|$", readme, re.MULTILINE)
    numbers = {name: [int(x) for x in re.findall(r"\d+", text)] for name, text in rows}
    assert numbers.pop("all") == [len(both), *table.sum()]
    assert len(both) == 592
    assert len(numbers) == len(table) == 5
    for name, (total, *counts) in numbers.items():
        assert counts == table.loc[next(x for x in table.index if name.startswith(x))].tolist()
        assert total == sum(counts)
    exact, *compared, missing = table.loc["GLADIUS"]
    assert (exact, sum(compared), missing) == (0, 101, 31)
    text = (
        f"{exact} come out to the last digit, {sum(compared)} are compared, and {missing} are not"
    )
    assert f"Of GLADIUS's {exact + sum(compared) + missing} numbers {text}" in readme


def test_the_first_screen_names_the_exhibits_for_which_gladius_was_not_run() -> None:
    readme, both = (ROOT / "README.md").read_text("utf-8"), printed_numbers()
    values = both[both["owner"].eq("GLADIUS") & ~both["is_bracket"]]
    words = values.groupby("exhibit")["verdict"].agg(set)
    names = " and ".join(x.replace("_", " ").title() for x in words[words == {"not run"}].index)
    first = readme.partition("\n## ")[0]
    assert ("We did not run GLADIUS" in first) == bool(names)
    assert not names or f"We did not run GLADIUS for {names}." in first
    for name in words[["same data" in x for x in words]].index:
        title = name.replace("_", " ").title()
        assert f"in {title}, where one training of ours stands beside each" in readme


def test_the_other_counts_of_the_pages_are_those_of_the_verdicts() -> None:
    readme, both = (ROOT / "README.md").read_text("utf-8"), printed_numbers()
    exact = both[both["word"].eq("exact") & both["exhibit"].str.startswith("table_a")]
    of_two = exact[exact["owner"].eq("Rust")]
    is_chosen = exact["exhibit"].isin(["table_a3", "table_a4"]) & exact["column"].eq("Frequency")
    is_chosen |= exact["exhibit"].eq("table_a4") & exact["column"].eq("Ground Truth")
    is_chosen |= exact["column"].eq("ML-IRL") | (
        exact["exhibit"].eq("table_a2") & exact["column"].eq("Ground Truth")
    )
    found = both["provenance"].where(~both["is_bracket"], both["provenance_of_bracket"])
    for text in (
        f"and {len(of_two)} numbers follow from five pairs",
        f"We used {found.str.startswith('exact, found').sum()} to find",
        f"For {is_chosen.sum()}, some the same,",
        f"The frequencies are {both['column'].eq('Frequency').sum() // 2}, each printed twice",
    ):
        assert text in readme


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
