"""The counts that the pages print, recomputed with pandas from verdicts.csv and claims.csv.

`python tests/reproduce/counts.py` prints each and whether its page has it. A printed number counts
once, the one in brackets too. A quantity counts once, by the column `quantity`, and so does a test.
"""

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "paper_tables" / "generated"
WORDS = ["exact", "agrees", "differs", "unclear", "open"]
OWNERS = {  # column -> whose number it is
    **dict.fromkeys(["GLADIUS", "Gladius"], "GLADIUS, the paper's method"),
    **dict.fromkeys(["Rust", "ML-IRL"], "Rust and ML-IRL"),
    **dict.fromkeys(["SAmQ", "IQ-learn", "BC"], "SAmQ, IQ-learn and BC"),
    **dict.fromkeys(["True reward", "Ground Truth"], "True rewards and Q of the design"),
    "Frequency": "Frequencies of its states and actions",
}


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(GENERATED / name, dtype=str, keep_default_na=False)


def printed(verdicts: pd.DataFrame) -> pd.DataFrame:
    """A line for each printed number: `owner`, `provenance`, and `word`, which is one of WORDS."""
    is_counted = verdicts["exhibit"].ne("table_3") & verdicts["verdict"].ne("not printed")
    lines = verdicts[is_counted & verdicts["rule"].ne("feasible")]
    p, half, yardstick = (pd.to_numeric(lines[x]) for x in ("p", "half_width", "yardstick"))
    word = pd.Series("agrees", lines.index).mask(half > yardstick / 4, "unclear")
    word = word.mask(p < 0.05, "differs").where(lines["verdict"].isin(WORDS), "open")
    within = lines[lines["provenance_of_bracket"].ne("")].assign(word="open", is_bracket=True)
    within["provenance"], within["quantity"] = within["provenance_of_bracket"], within.index
    both = pd.concat([lines.assign(word=word, is_bracket=False), within], ignore_index=True)
    word = both["word"].mask(both["provenance"].str.startswith("exact"), "exact")
    return both.assign(word=word, owner=both["column"].map(OWNERS))


def of_numbers(verdicts: pd.DataFrame) -> list[tuple[str, str]]:
    """What README, METHODS and RESPONSE say of the printed numbers."""
    both, entries = printed(verdicts), read("table_1_verdicts.csv")
    table = pd.crosstab(both["owner"], both["word"]).reindex(columns=WORDS, fill_value=0)
    table.loc["all"] = table.sum()
    said = [
        ("README", f"| {name} | {sum(line)} | {' | '.join(map(str, line))} |")
        for name, line in zip(table.index, table.to_numpy(), strict=True)
    ]
    exact, *tested, missing = table.loc[OWNERS["GLADIUS"]]
    numbers = f"Of GLADIUS's {exact + sum(tested) + missing} numbers {exact}"
    end = f"are compared, and {missing} are not."
    said += [("README", f"{numbers} come out to the last digit, {sum(tested)} {end}")]
    said += [("RESPONSE", f"{numbers} do, and {sum(tested)} are compared, at the epoch")]
    agree, differ, unclear = tested
    said += [("RESPONSE", f"{agree} agree, {differ} differ, and {unclear} tests cannot tell.")]
    said += [("RESPONSE", f"{table.loc['all', 'exact']} of {len(both)} printed numbers come out")]

    exhibit, column = both["exhibit"], both["column"]
    is_exact = both["word"].eq("exact") & exhibit.str.startswith("table_a")
    exact_by = pd.crosstab(both["owner"], is_exact)[True]
    is_chosen = column.eq("Frequency") & exhibit.isin(["table_a3", "table_a4"])
    is_chosen |= column.eq("ML-IRL") | column.eq("Ground Truth") & both["statistic"].str.match("Q")
    frequencies, fitted = column.eq("Frequency").sum(), exact_by[OWNERS["Rust"]]
    found = both["provenance"].str.startswith("exact, found").sum()
    twice = f"The frequencies are {frequencies // 2}, each printed twice, and {fitted} numbers"
    said += [
        ("README", f"{twice} follow from five pairs of estimates. We used {found} of the numbers")
    ]
    said += [
        ("README", f"For {(is_exact & is_chosen).sum()} numbers, some of which are among these,")
    ]
    true = exact_by[OWNERS["Ground Truth"]]
    said += [("RESPONSE", f"{true} are true values, {fitted} follow from five pairs")]
    said += [("RESPONSE", f"{found} helped to find")]

    own = entries["verdict"].ne("not printed").sum()  # in Table 1
    exact = both[both["word"].eq("exact") & both["quantity"].ne("")]
    kinds = exact["verdict"].where(exact["verdict"].eq("given"), "scored")
    each = exact["quantity"].groupby(kinds.mask(exact["is_bracket"], "bracket")).nunique()
    scored = f"{each.sum()} quantities to the last digit, where these lines have {each['scored']}"
    said += [("EXHIBITS", f"{scored}, because {each['bracket']} in brackets and {each['given']}")]
    all_ = f"The paper prints {len(both)} numbers in Tables 2 to 4 and A1 to A4 and in Figure 1"
    all_ += f", {both['is_bracket'].sum()} of them in brackets. Table 1 has {own} entries"
    counted = both[both["quantity"].ne("")].groupby("provenance")["quantity"].nunique()
    for name, n in both["provenance"].value_counts().items():
        more = own if name == "our data" else 0
        said += [("METHODS", f"| **{name}** | {n + more} | {counted[name] + more} |")]
    return [*said, ("METHODS", all_)]


def of_tests(verdicts: pd.DataFrame) -> list[tuple[str, str]]:
    """What is said of tests: how many, and how many reject or cannot tell."""
    tests = verdicts[verdicts["p_holm"].ne("")].astype({"p": float, "p_holm": float})
    is_public = tests["rule"].eq("procedure")
    public, least = (
        tests[of].groupby("quantity")[["p", "p_holm"]].min() for of in (is_public, ~is_public)
    )
    below, significant = (least < 0.05).sum()
    below_5, remaining = (public < 0.05).sum()
    few = f"Of {len(public)} tests of the author's code {below_5} are below 5 %, where"
    of_public = f"{len(public)} tests with a p-value, of which {below_5} are below 5 %"
    by_holm = f"{round(len(public) / 20)} would be by chance, and {remaining} after Holm's"
    chance = f"{below} are below 5 %, where {round(len(least) / 20)} would be expected by chance."
    procedure = verdicts[verdicts["rule"].eq("procedure")]
    games = procedure[procedure["exhibit"].eq("table_4")]["verdict"].value_counts()
    errors = procedure[procedure["exhibit"].eq("table_2")]["verdict"]
    levels = procedure[procedure["statistic"].str.startswith("Q")]["verdict"].eq("unclear")
    of_games = f"{games['agrees']} of {games.sum()} ({games['unclear']} cannot tell)"
    of_errors = f"{errors.eq('unclear').sum()} of"
    return [
        ("METHODS", f"There are {len(least)} distinct tests, not counting those of the author's"),
        ("METHODS", f"{chance} After Holm's correction {significant} remain significant."),
        ("METHODS", f"{few} {round(len(public) / 20)} would be, and {remaining} after"),
        ("README", f"These have {of_public}, where {by_holm} correction."),
        ("README", f"agree with the printed ones in {of_games}."),
        ("README", f"{of_errors} {len(errors)} tests cannot tell it from ours at the epoch"),
        ("EXHIBITS", f"So {of_errors} these {len(errors)} tests cannot tell."),
        ("EXHIBITS", f"Neither can {levels.sum()} of {len(levels)} tests of Q"),
    ]


def of_claims(claims: pd.DataFrame) -> list[tuple[str, str]]:
    """What is said of the paper's statements and of the errata."""
    lines = claims[claims["printed"].eq("yes")]
    n, is_wrong = lines["verdict"].value_counts(), lines["verdict"].eq("fails")
    of_means = (lines["verdict"].eq("holds") & lines["severity"].eq("conclusion")).sum()
    reach = lines[is_wrong]["severity"].value_counts()
    errata = claims[claims["verdict"].ne("holds")]["severity"].value_counts()
    severe = errata.drop("cosmetic")
    holds = f"Of {len(lines)} statements in the paper, {n['holds']} hold as printed"
    others = f"{n['imprecise']} imprecise about other work, {n['vacuous']} vacuous on named data"
    wrong = f"{reach['constant']} a constant, {reach['conclusion']} a conclusion from data"
    points = f"{severe['theorem']} concern a theorem's proof or reach ({reach['theorem']} false, "
    points += f"none a theorem), {severe['conclusion']} a conclusion from data ("
    return [
        ("README", f"{holds} ({of_means} of them for the printed means alone)."),
        ("README", f"means alone). {n['holds-if']} need a condition"),
        ("README", f"{n['fails']} are false as printed, {n['misprint']} misprints, {others}"),
        ("README", f"named data, {n['undecidable']} undecidable. Of the false, {reach['theorem']}"),
        ("README", f"{wrong}, {reach['cosmetic']} none of these."),
        ("RESPONSE", f"We have checked {len(lines)} statements of your paper"),
        ("RESPONSE", f"{n['holds']} hold as printed, {n['holds-if']} under a condition, and"),
        ("RESPONSE", f"condition, and {n['fails']} are false as printed."),
        ("RESPONSE", f"has {severe.sum() + errata['cosmetic']} points. {points}"),
        ("RESPONSE", f"and {severe['constant']} a constant or a rate. Each of the {severe.sum()}"),
    ]


def counts(verdicts: pd.DataFrame, claims: pd.DataFrame) -> list[tuple[str, str]]:
    """(page, text) of every count."""
    return [*of_numbers(verdicts), *of_tests(verdicts), *of_claims(claims)]


def page(name: str) -> str:
    folder = ROOT if name in ("README", "RESPONSE") else GENERATED
    return (folder / f"{name}.md").read_text("utf-8")


if __name__ == "__main__":
    for name, text in counts(read("verdicts.csv"), read("claims.csv")):
        print(f"{name}{'' if text in page(name) else ', OTHERWISE THERE'}: {text}")
