"""The counts of the pages from the CSVs alone: no module of the project computes them here."""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from reproduce.paper import scorecard
from tests.reproduce import counts

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


def by_students_prediction(of_rule: dict[str, str]) -> pd.DataFrame:
    """Table 2's printed GLADIUS, each as one draw of a law like ours: `verdict`, `z` and `word`."""
    ours = pd.concat([converged("accuracy"), converged("table_2")]).drop_duplicates(KEY)
    printed = VERDICTS[VERDICTS["exhibit"].eq("table_2") & VERDICTS["column"].eq("GLADIUS")]
    printed = printed[printed["rule"].isin(list(of_rule))]
    printed[["column", "protocol"]] = printed["rule"].map(of_rule).str.split("/", expand=True)
    both = printed.merge(ours, on=KEY, suffixes=("", " of ours"))
    theirs = both["published"].str.extract(r"(\S+) \(")[0].astype(float)
    value, se, n = both[["value", "se", "repetitions"]].to_numpy(float).T
    draw, rounding = se**2 * n * (1 + 1 / n), 0.01**2 / 12  # two digits are printed
    z = (value - theirs) / np.sqrt(draw + rounding)
    critical = stats.t.ppf(0.975, (draw + rounding) ** 2 / (draw**2 / (n - 1)))
    is_inside = np.abs(z) <= critical
    is_noisy = (critical * se > theirs) & (is_inside | (se * np.sqrt(n) > value))
    is_noisy |= is_inside & (critical * np.sqrt(draw + rounding) > theirs / 4)
    word = np.select([is_noisy, is_inside], ["unclear", "agrees"], "differs")
    return both.assign(z=both["z"].astype(float) / z, word=word)  # the ratio of both z


def test_gladius_in_table_2_by_students_prediction() -> None:
    both = by_students_prediction(OF_RULE)
    assert len(both) == 12
    assert both["verdict"].tolist() == both["word"].tolist()
    assert set(both[both["rule"].eq("procedure")]["verdict"]) == {"unclear"}
    np.testing.assert_allclose(both["z"], 1.0, rtol=1e-3)  # four digits are written


def test_the_tests_of_the_last_epoch_are_counted_in_the_findings() -> None:
    """No line of verdicts.csv has them, as the last epoch is a variant."""
    words = by_students_prediction({"procedure": "GLADIUS/author last"})["word"].value_counts()
    agree, differ, unclear = (words.get(x, 0) for x in ("agrees", "differs", "unclear"))
    text = (GENERATED / "FINDINGS.md").read_text("utf-8")
    last = f"{agree} of {words.sum()} tests find it like the last epoch's"
    differ = f"{differ} of {words.sum()} find it different"
    assert f"{last}, {differ}, and {unclear} of {words.sum()} cannot tell" in text


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


def test_the_pages_have_the_counts_of_the_verdicts_and_of_the_claims() -> None:
    """Those of `counts`, which asks no module of the project; a control has other verdicts."""
    claims = counts.read("claims.csv")
    listed = counts.counts(VERDICTS, claims)
    assert [text for name, text in listed if text not in counts.page(name)] == []
    assert len(listed) > 30
    fewer, twice = VERDICTS.drop(index=VERDICTS.index[::7]), pd.concat([claims, claims])
    others = [pair for pair in counts.counts(fewer, twice) if pair not in listed]
    assert len(others) > 0.8 * len(listed)
    assert [text for name, text in others if text in counts.page(name)] == []


def test_the_first_screen_names_the_exhibits_for_which_gladius_was_not_run() -> None:
    readme, both = (ROOT / "README.md").read_text("utf-8"), counts.printed(VERDICTS)
    values = both[both["column"].str.fullmatch("GLADIUS|Gladius") & ~both["is_bracket"]]
    words = values.groupby("exhibit")["verdict"].agg(set)
    names = " and ".join(x.replace("_", " ").title() for x in words[words == {"not run"}].index)
    first = readme.partition("\n## ")[0]
    assert ("We did not run GLADIUS" in first) == bool(names)
    assert not names or f"We did not run GLADIUS for {names}." in first
    for name in words[["same data" in x for x in words]].index:
        title = name.replace("_", " ").title()
        assert f"in {title}, where one training of ours stands beside each" in readme


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
