"""What the pages say in words: formulas as code, what evidence means, and how grave an error is."""

import re
from collections.abc import Mapping

from proofs_checks.claims import Severity, Verdict
from proofs_checks.decide import NOT_TIGHT
from proofs_checks.numbering import as_printed

KIND: dict[Verdict, str] = {
    "fails": "False as printed",
    "vacuous": "Its hypothesis cannot be met as printed",
    "holds-if": "True under a condition that is not stated",
    "misprint": "Misprint",
}
REACH: dict[Severity, str] = {
    "theorem": "affects a theorem: what it assumes, concludes or covers",
    "constant": "affects a constant or a rate only",
    "cosmetic": "affects neither a theorem nor a constant",
}
EVIDENCE = {  # what a code of the ledger begins with -> in words; {} is the number of instances
    "certificate + step": "a counterexample in exact arithmetic, which `python proofs_checks/"
    "verify.py` verifies up to one step that is argued in words",
    "certificate": "a counterexample in exact arithmetic, which `python proofs_checks/verify.py`"
    " verifies",
    "counterexample": "a counterexample, evaluated in floating point or interval arithmetic",
    "proof": "a derivation that `python proofs_checks/verify.py` verifies",
    "every case": "every case was checked",
    "sampled": "not refuted on {} random instances",
    "adversary": "not refuted on {} random instances, nor by a search for the tightest",
}
GREEK = (
    "beta|zeta|theta|pi|phi|mu|nu|rho|tau|gamma|lambda|kappa|sigma|omega|eps|eta|delta|Delta|alpha"
    "|psi|Psi|Phi"
)
NAMES = (
    "log|exp|sum|min|max|inf|sup|lim|argmin|argmax|Var|Cov|KL|NLL|Hess|grad|int|oo|TQ|softmax|sign"
    "|dist|rank|tanh|sqrt|Gumbel|BE|dx|dz|ds"
)
# what makes a token a formula, and what a token beside a formula consists of
CORE = re.compile(
    rf"[_^|*<>={{}}\[\]\\~]|(?<![A-Za-z-])(?:{GREEK})(?![A-Za-z-])|\b(?:[A-Za-z]|{NAMES})'?\("
    r"|\b[A-Za-z]+-(?:hat|bar|tilde)\b"
)
BESIDE = re.compile(rf"(?:[\d()+\-/.,':%]|(?<![A-Za-z])(?:[A-Za-z]|{GREEK}|{NAMES})(?![A-Za-z]))+")
END = ' .,;:?!"'  # of a sentence's part, not of a formula


def evidence(how: str, instances: str) -> str:
    """A code of the ledger, such as "adversary, tightness 1.01", in words."""
    code = next(code for code in EVIDENCE if how.startswith(code))
    text = EVIDENCE[code].format(instances)
    ratio = re.search(r"tightness ([\d.e+]+)", how)
    if ratio:
        text += f", where the two sides have the ratio {ratio[1]} (1: attained)"
    return f"{text}; {how.split(': ')[1]}" if NOT_TIGHT in how else text


def marked(text: str) -> str:
    """With the PDF's numbers, and formulas as code, so that Markdown takes nothing out of them."""
    text = as_printed(text).replace("[...]", "...")
    parts = re.split(r"(`[^`]*`)", text)
    text = "".join(part if part[:1] == "`" else _formulas(part) for part in parts)
    return text.replace("`d*-almost`", "`d*`-almost")


def _formulas(text: str) -> str:
    """The same of a text without code: runs of formula-like tokens become code."""
    found, run = [], ""
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
        left = formula[0] in " \"'=" or article or (formula[0] == "(" and depth > 0)
        right = (
            formula[-1] in END and not formula.endswith("..") or formula[-1] == ")" and depth < 0
        )
        right = right or re.search(r" [=+ax-]$|-(?:bar|hat)'$", formula)
        if left:
            before, formula = before + formula[0], formula[1:]
        elif right:
            formula, after = formula[:-1], formula[-1] + after
        else:
            return f"{before}`{formula}`{after}"
    return re.sub(r"([*_\[\]<>|])", r"\\\1", run)
