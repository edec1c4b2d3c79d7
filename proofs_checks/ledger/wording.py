"""What the pages say in words: formulas as code, evidence and verdicts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from proofs_checks.claims.claims import OURS
from proofs_checks.claims.decide import NOT_TIGHT
from proofs_checks.claims.numbering import as_printed, records
from proofs_checks.claims.verdicts import Verdict

GREEK = (
    "beta|zeta|theta|pi|phi|mu|nu|rho|tau|gamma|lambda|kappa|sigma|omega|eps|eta|delta|Delta|alpha"
    "|psi|Psi|Phi"
)
NAMES = (
    "log|exp|sum|min|max|inf|sup|lim|argmin|argmax|Var|Cov|KL|NLL|Hess|grad|int|oo|TQ|softmax|sign"
    "|dist|rank|tanh|sqrt|Gumbel|BE|diag|infinity|dx|dz|ds|dq"
)
# what makes a token a formula, and what a token beside a formula consists of
CORE = re.compile(
    rf"[_^|*<>={{}}\[\]\\~]|(?<![A-Za-z-])(?:{GREEK})(?![A-Za-z-])|\b(?:[A-Za-z]|{NAMES})'?\("
    r"|\b[A-Za-z]+-(?:hat|bar|tilde)\b"
)
BESIDE = re.compile(rf"(?:[\d()+\-/.,':%]|(?<![A-Za-z])(?:[A-Za-z]|{GREEK}|{NAMES})(?![A-Za-z]))+")
END = ' .,;:?!"'  # of a sentence's part, not of a formula


def words(table: str) -> dict[str, str]:
    """Code to words, of a table of words.csv."""
    return {row["key"]: row["text"] for row in records("words") if row["table"] == table}


def verdicts(found: Iterable[str]) -> str:
    """How many there are of each verdict, in words."""
    count = Counter(found)
    return ", ".join(f"{count[v]} {v}" for v in Verdict if count[v])


def counts(by_id: Mapping[str, str]) -> str:
    """How many claims have each verdict, in words; the corrected chain is counted apart."""
    chain = [id_ for id_ in by_id if id_.startswith(OURS)]
    paper = [id_ for id_ in by_id if id_ not in chain]
    groups = {"claims": paper, "of the corrected chain, which is ours": chain}
    texts = (
        f"{len(ids)} {n}: {verdicts(by_id[i] for i in ids)}" for n, ids in groups.items() if ids
    )
    return ". ".join(texts)


def kind(how: str, table: str = "evidence") -> str:
    """The kind of evidence in a code of the ledger, such as "not refuted, tightness 1.01"."""
    return next((name for name in words(table) if how.startswith(name)), "")


def evidence(how: str, instances: str) -> str:
    """A code of the ledger in words."""
    text = words("evidence")[kind(how)].format(instances)
    for ratio in re.findall(r"tightness ([\d.e+]+)", how):
        text += ", nor by a search for the tightest one"
        text += f". The smallest ratio of the two sides was {ratio}"
    what = ("The bound is", "Some constants are")["some constants" in how]
    return text + f". {what} {NOT_TIGHT}" * (NOT_TIGHT in how)


def marked(text: str) -> str:
    """With the PDF's numbers, and formulas as code, so that Markdown takes nothing out of them."""
    text = as_printed(text).replace("[...]", "...")
    text = re.sub(r"(?<!`)\beq:[\w-]+", r"`\g<0>`", text)  # a name without a number in the PDF
    pieces = re.split(r"(`[^`]*`)", text)
    text = "".join(piece if piece[:1] == "`" else _formulas(piece) for piece in pieces)
    return text.replace("`d*-almost`", "`d*`-almost")


def _formulas(text: str) -> str:
    """The same of a text without code: runs of formula-like tokens become code."""
    found: list[str] = []
    run = ""
    for token in re.finditer(r"'s\b\s*|\S+?(?='s\b)|\S+\s*|\s+", text):
        word = token[0].strip()
        depth = _depth(run)
        is_beside = BESIDE.fullmatch(word.strip(END)) or word in ("..", "...")
        if word == "'s" or not (CORE.search(word) or is_beside):
            opened = run.rfind(" (") + 1 if " (" in run else 0
            if depth > 0 and run[opened] == "(" and _depth(run[opened:]) == depth:
                rest = _formulas(run[opened + 1 :] + text[token.start() :])
                return "".join([*found, _code(run[:opened]), "(", rest])
            if depth <= 0 or not CORE.search(run):
                found += [_code(run), _code(token[0])]
                run = ""
                continue
        run += token[0]
        if word[-1:] in END and _depth(run) <= 0 and not word.endswith(".."):
            found.append(_code(run))
            run = ""
    return "".join([*found, _code(run)])


def _depth(text: str) -> int:
    """Brackets that are open at its end."""
    return sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))


def _code(run: str) -> str:
    """A run of tokens: its formula as code, and what belongs to the sentence as it is."""
    before, formula, after = "", run, ""
    while CORE.search(formula):
        depth, article = _depth(formula), re.match(r"[aA] (?![=<>(*+-])", formula)
        leading = formula[0] in " \"'=" or article or (formula[0] == "(" and depth > 0)
        trailing = (formula[-1] in END and formula[-2:] != "..") or (
            formula[-1] == ")" and depth < 0
        )
        trailing = trailing or bool(re.search(r" [=+ax-]$|-(?:bar|hat)'$", formula))
        if leading:
            before, formula = before + formula[0], formula[1:]
        elif trailing:
            formula, after = formula[:-1], formula[-1] + after
        else:
            return f"{before}`{formula}`{after}"
    return re.sub(r"([*_\[\]<>|])", r"\\\1", run)
