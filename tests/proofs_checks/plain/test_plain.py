"""What the plain edition prints is what claims.csv has, and what our checks have of its instances.

A fault planted in a file ends it with an error, or makes it print another number.
"""

import ast
import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gladius.model.mdp import TabularMDP
from proofs_checks.claims import under_check
from proofs_checks.claims.claims import CheckResult, find
from proofs_checks.claims.instances import Empirical, Fitted, absorbing, one_state, population
from proofs_checks.claims.numbering import records
from proofs_checks.oracle import descent, gumbel, polyak
from proofs_checks.oracle.risk import Sample
from proofs_checks.sections import _fits as fits
from proofs_checks.sections import erm_irl_minimax, guarantees_convergence, guarantees_pl
from proofs_checks.sections import proofs_quantitative_identification as quantitative
from proofs_checks.sections.erm_irl_identification import excess_over
from proofs_checks.sections.guarantees_jacobian import Copies, rank_at_the_mean

ROOT = Path(__file__).parents[3]
PLAIN = ROOT / "proofs_checks" / "plain"
FILES = {path.stem: path.read_text("utf-8") for path in sorted(PLAIN.glob("*.py"))}
ALLOWED = {"numpy", "collections", "itertools", "typing"}
LINE = re.compile(r"(.+): (\S+) (?:=|!=|>=|<|>) (\S+)")
Lines = dict[str, tuple[float, float]]


def run(name: str, old: str = "", new: str = "") -> tuple[Any, Lines]:
    """The variables of a file that was run, with a fault if one is given, and what it printed."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(FILES[name].replace(old, new), f"{name}.py", "exec"), namespace)
    matches = [LINE.fullmatch(line) for line in out.getvalue().splitlines()]
    lines = {x[1]: (float(x[2]), float(x[3])) for x in matches if x}
    assert len(lines) == len(matches)  # every line is a comparison, and no two have one text
    return namespace, lines


ran = cache(run)


def test_the_files_are_short_and_import_numpy_alone() -> None:
    assert len(FILES) == 7
    for name, text in FILES.items():
        assert len(text.splitlines()) <= 80, name
        nodes = list(ast.walk(ast.parse(text)))
        found = {alias.name for x in nodes if isinstance(x, ast.Import) for alias in x.names}
        found |= {x.module for x in nodes if isinstance(x, ast.ImportFrom) and x.module}
        assert {module.split(".")[0] for module in found} <= ALLOWED, name
    readme = (PLAIN / "README.md").read_text("utf-8")
    assert re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\) \|", readme, re.MULTILINE) == [*FILES]


def python(path: Path) -> "subprocess.CompletedProcess[str]":
    """The file run alone, without this project on the path."""
    return subprocess.run([sys.executable, "-I", "-S", "-c", ALONE, str(path)], **TEXT)


TEXT: dict[str, Any] = {"capture_output": True, "text": True}
# a path with the standard library and NumPy alone, of which an editable install is no part
ALONE = f"""import runpy, sys
sys.path.append({str(Path(np.__file__).parents[1])!r})
runpy.run_path(sys.argv[1], run_name="__main__")"""


def test_a_file_ends_with_an_error_where_a_line_is_false(tmp_path: Path) -> None:
    done = python(PLAIN / "gumbel.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Lemma 16 as printed: 1.2703628 != 2.2703628" in done.stdout.splitlines()
    fault = tmp_path / "gumbel.py"
    fault.write_text(FILES["gumbel"].replace("GAMMA = np.euler_gamma", "GAMMA = 0.577"), "utf-8")
    done = python(fault)
    assert done.returncode == 1
    assert done.stderr == "false: Corollary 17, k = 1\n"
    assert done.stdout.endswith("IS FALSE\n")


# --- the committed numbers
# file -> line, claim, and what stands left and right: a column of claims.csv, or None
SIDES = ("observed", "bound")
COMMITTED: dict[str, list[tuple[str, str, tuple[str | None, str | None]]]] = {
    "gumbel": [
        ("Lemma 16 as printed", "lem:ExpofLargerGumbel", SIDES),
        ("Corollary 17, third line as printed", "cor:GumbelMaxasProb.proof-step", SIDES),
        ("proof of Lemma 16, x by log z as printed", "lem:ExpofLargerGumbel.proof-step", SIDES),
    ],
    "biconjugate": [
        ("Bellman error of the TD minimiser", "eq:double-sampling", SIDES),
        ("zeta = h - r + Q as printed", "eq:zeta-reparametrisation", SIDES),
        ("anchor-only argmin: its loss over all pairs", "eq:expzeta", SIDES),
    ],
    "pl_constants": [("Lemma 9, eight actions", "lem:NLL_PL", SIDES)],
    "jacobian": [
        ("rank at the four pairs of s = -1 and s = 1", "remark.full-column-rank", SIDES),
        ("K = 2, rank at 400 pairs", "exp.jacobian-condition", ("observed", None)),
    ],
    "identification": [
        ("Lemma 1 on S-bar alone, Q(0) where Q* = 0", "thm:MagnacThesmar", SIDES),
        (
            "Lemma 28, chain: |Q - Q*|^2 and 10^5 excess",
            "lem:erm_ddc_quant_identification",
            SIDES,
        ),
    ],
    "theorem_11": [("least ratio of the sides", "thm:bothPL", ("tightness", None))],
    "theorem_12": [
        (
            "growth near the solution, one schedule",
            "prop:linConvergence.single-stepsize",
            ("observed", None),
        ),
        ("f(Q* + 1, zeta*), below f(Q*, zeta*)", "intro.unique-saddle", SIDES),
        (
            "slope of f in Q at (Q*, zeta*)",
            "prop:linConvergence.two-sided-PL",
            ("observed", None),
        ),
        ("R - R*, below .01 dist^2", "prop:linConvergence.quadratic-growth", SIDES),
        ("gain of the middle, below rho/4", "prop:linConvergence.strong-concavity", SIDES),
    ],
}


@cache
def claims() -> pd.DataFrame:
    path = ROOT / "paper_tables" / "generated" / "claims.csv"
    return pd.read_csv(path, dtype=str).set_index("id")


def differences(name: str, lines: Lines) -> list[str]:
    """The lines that are not those of claims.csv, to the digits that it has."""
    wrong = []
    for text, claim, columns in COMMITTED[name]:
        for number, column in zip(lines[text], columns, strict=True):
            entry = claims()[column][claim].split()[-1] if column else str(number)
            rel = 1e-3 if column == "tightness" else 1e-5  # an optimum over a grid, six digits
            wrong += [text] * (number != pytest.approx(float(entry), rel=rel, abs=1e-15))
    return wrong


@pytest.mark.parametrize("name", FILES)
def test_the_numbers_are_the_committed_ones(name: str) -> None:
    lines = ran(name)[1]
    assert differences(name, lines) == []
    assert any(text.startswith("control") for text in lines)
    moved = {text: (a * 1.001 + 0.001, b * 1.001 + 0.001) for text, (a, b) in lines.items()}
    assert differences(name, moved) != []


def test_the_files_name_the_errata_of_their_numbers() -> None:
    numbers = {row["id"]: row["number"] for row in records("errors")}
    for name, entries in COMMITTED.items():
        named = set(re.findall(r"\bE(\d+)", FILES[name]))
        assert named <= {*numbers.values()}, name
        assert {numbers[claim] for _, claim, _ in entries if claim in numbers} <= named, name


# --- the same instances by the project
def agree(lines: Lines, text: str, check: CheckResult) -> None:
    """A printed line has the sides of a check of ours, which holds."""
    assert check.holds
    assert lines[text] == pytest.approx((float(check.observed), float(check.bound)), rel=1e-6)


def sample_of(file: Any) -> Sample:
    """The data of pl_constants.py and theorem_11.py."""
    return Sample(file["n"], np.zeros(3, dtype=np.int64), np.array([1.0, -0.5, 0.25]), 0.9)


def fit_of(file: Any) -> fits.Fit:
    return fits.Fit(sample_of(file), fits.LinearOutputs(file["phi"], file["theta"]))


def gumbel_by_ours(file: Any, lines: Lines) -> None:
    log_p, mean = gumbel.largest(file["nu"])
    for k in range(3):
        assert lines[f"Corollary 15, k = {k + 1}"] == pytest.approx([np.exp(log_p[k])] * 2)
        assert lines[f"Corollary 17, k = {k + 1}"] == pytest.approx([mean[k]] * 2, rel=1e-7)
    grid = file["x"][500::500]
    assert [float(np.prod(gumbel.cdf(x, file["nu"]))) for x in grid] == pytest.approx(
        file["of_all"][500::500], abs=1e-12
    )


def biconjugate_by_ours(file: Any, lines: Lines) -> None:
    moves, reward = np.swapaxes(file["moves"], 0, 1), file["reward"]
    mdp = TabularMDP(reward, moves, file["beta"], np.eye(3)[0])
    guess = Fitted(mdp, file["Q"])
    model = population(guess)
    bellman, td = model.bellman()[0, 0], model.td()[0, 0]
    assert lines["TD loss"][0] == pytest.approx(td, rel=1e-7)
    assert lines["max over h"] == pytest.approx([bellman] * 2, rel=1e-7)
    assert lines["Lemma 4 (a)"] == pytest.approx([bellman] * 2, rel=1e-7)
    assert file["spread"] == pytest.approx(model.deviation()[0, 0])
    assert file["star"] == pytest.approx(mdp.solution.q)
    for check in (erm_irl_minimax.biconjugate, erm_irl_minimax.our_biconj_a):
        assert check(guess).holds
    assert erm_irl_minimax.our_biconj_b(mdp).holds
    printed = Fitted(absorbing([[0.0]]), np.zeros((1, 1)), np.ones((1, 1)))
    ours = erm_irl_minimax.zeta_reparametrisation(printed)
    assert not ours.holds
    assert lines["zeta = h - r + Q as printed"] == pytest.approx((ours.observed, ours.bound))


def pl_constants_by_ours(file: Any, lines: Lines) -> None:
    fit = fit_of(file)
    agree(lines, "Lemma 8", guarantees_pl.bellman_error_pl(fit))
    agree(lines, "Lemma 9", guarantees_pl.likelihood_pl(fit))
    zeta = fits.LinearOutputs(file["chi"], file["omega"])
    regression = Empirical(fit.sample, fit.table), zeta
    agree(lines, "Lemma 10", guarantees_pl.auxiliary_regression_pl(regression))
    sharp = fits.popular_state(4, 0.99)
    agree(lines, "Lemma 8, four states", guarantees_pl.bellman_error_pl(sharp))
    assert not guarantees_pl.bellman_error_pl(sharp, fewer=1).holds
    seven = fits.tabular(one_state([1, 0, 1, 1, 1, 1, 1, 1], 0.0, 0.9), np.zeros((1, 8)))
    agree(lines, "Lemma 9, eight actions", guarantees_pl.likelihood_pl(seven))


def jacobian_by_ours(file: Any, lines: Lines) -> None:
    network = under_check.MLP(1, 2, (10, 10))
    assert network.size == 152
    for theta, text in ((file["mean"], COPIES), (file["theta"], "K = 0, rank at 40 pairs")):
        rows = network.jacobian(theta[None], file["mileage"])[1].reshape(40, 152)
        plain = file["jacobian"]([1, 10, 10, 2], theta, file["mileage"])
        assert plain == pytest.approx(rows, rel=1e-9, abs=1e-12)
        assert lines[text][0] == np.linalg.matrix_rank(rows, tol=1e-10 * np.linalg.norm(rows))
    assert lines["K = 0, mu_Q"][0] == pytest.approx(polyak.least_eigenvalue(rows), rel=1e-6)
    bound = rank_at_the_mean(Copies(file["mileage"], (10, 10), 2, 0)).bound
    assert lines[COPIES][0] <= bound == lines[COPIES][1] - 1
    assert under_check.MLP(3, 2, (10, 10)).size == lines["K = 2, rank at 400 pairs"][1]
    assert lines["Lemma 6"][0] == pytest.approx(polyak.least_eigenvalue(file["phi"]))


COPIES = "K = 0, the mean of its copies"


def identification_by_ours(file: Any, lines: Lines) -> None:
    claim = find("lem:erm_ddc_quant_identification")
    assert claim.counterexample
    chain = quantitative.identification(claim.counterexample())
    assert not chain.holds
    sides = float(chain.observed), float(chain.bound)
    assert lines["Lemma 28, chain: |Q - Q*|^2 and 10^5 excess"] == pytest.approx(sides, rel=1e-6)
    # the first world, which the second one of the file does not replace
    r, level = file["r"], np.array([[0.5, 0], [0, -1], [9, 0]])
    P = np.array([[[0.5, 0.5, 0], [0.2, 0.8, 0], [0, 0, 1]], [[0, 1.0, 0], [1, 0, 0], [0, 0, 1]]])
    mdp = TabularMDP(r, P, 0.8, np.eye(3)[0])
    q = mdp.solution.q + level
    excess = excess_over(mdp, q)
    difference = lines["Theorem 3, R(Q) - R(Q*)"]
    assert difference == pytest.approx([float(excess.weight @ excess.terms)] * 2, rel=1e-7)
    ours = [float(under_check.population_risk(mdp, x).total()[0]) for x in (q, mdp.solution.q)]
    assert difference[0] == pytest.approx(ours[0] - ours[1], rel=1e-7)
    problem = quantitative.Identified(mdp, np.zeros(3, dtype=np.int64), q)
    bound = quantitative.identification_with_a_bounded_inverse(problem)
    assert bound.holds
    sides = float(bound.bound), float(bound.observed)
    assert lines["Lemma 28, C [R(Q) - R(Q*)]"] == pytest.approx(sides, rel=1e-6)


def theorem_11_by_ours(file: Any, lines: Lines) -> None:
    fit = fit_of(file)
    agree(lines, "Theorem 11", guarantees_pl.empirical_risk_pl(fit))
    profile = under_check.objective(fit.sample, fit.table)
    assert lines["g-hat_N is L_NLL + (N_BE / N) L_BE"] == pytest.approx([profile] * 2, rel=1e-7)
    opposed = guarantees_pl.opposed(0.9, 1.0)
    agree(lines, "opposed gradients", guarantees_pl.empirical_risk_pl(opposed))
    control = guarantees_pl.empirical_risk_pl(opposed, cancelling=False)
    assert not control.holds
    sides = float(control.observed), float(control.bound)
    assert lines["control: without 1 + kappa^2"] == pytest.approx(sides, rel=1e-6)
    sharpest = find("thm:bothPL").adversary
    assert sharpest
    slack = guarantees_pl.empirical_risk_pl(sharpest()).slack
    assert lines["least ratio of the sides"][0] == pytest.approx(slack, rel=1e-3)


def theorem_12_by_ours(file: Any, lines: Lines) -> None:
    sample = one_state([1], discount=0.7)
    length = np.array([1.0, 0.5])  # of zeta's feature
    hessian = polyak.output_hessian(sample, polyak.solution(sample)) * np.outer(length, length)
    assert file["hessian"](0.7) == pytest.approx(hessian, abs=1e-12)
    moduli = guarantees_convergence.constants(guarantees_convergence.Steps(sample, 0.5))
    plan = descent.schedule(moduli)
    start, q = np.array([1.0, 0.0]), np.ones((1, 1))
    # at (Q, phi) = (1, 0): g - g* and g - f by the objective itself; the form has these two terms
    gap, inner = polyak.profile(sample, q), 0.7**2
    assert under_check.objective(sample, q, np.zeros(1)) == pytest.approx(gap - inner)
    form = gap * np.diag([1.0, 0.0]) + descent.WEIGHT * inner * np.outer([1, -0.5], [1, -0.5])
    for text, noise, ratio in (
        ("two schedules", 0.0, moduli.ratio),
        ("with noise", 1.0, moduli.ratio),
        ("control: one schedule", 0.0, 1.0),
    ):
        nu = descent.rate(moduli, plan, float(start @ form @ start), noise)
        steps = plan._replace(ratio=ratio)
        ours = descent.expected_potential(hessian, 1, form, start, steps, noise, 1000)
        printed = lines[f"{text}, potential and its bound"]
        assert printed == pytest.approx((ours, nu / (plan.gamma + 1000)), rel=1e-6)
    for text, ratio in (("one schedule", 1.0), ("Algorithm 1, without beta^2", 1 / 0.49)):
        rate = descent.deterministic_growth(hessian, 1, ratio)
        printed = lines[f"growth near the solution, {text}"]
        assert printed == pytest.approx([rate] * 2, rel=1e-6)
    sample = one_state([1, 1], -0.95 * np.log(2), 0.95)
    q, zeta = polyak.solution(sample), np.array([np.log(2)])
    values = [under_check.objective(sample, x, zeta) for x in (q + 1, q)]
    assert lines["f(Q* + 1, zeta*), below f(Q*, zeta*)"] == pytest.approx(values, rel=1e-7)


OURS: dict[str, Callable[[Any, Lines], None]] = {
    "biconjugate": biconjugate_by_ours,
    "gumbel": gumbel_by_ours,
    "identification": identification_by_ours,
    "jacobian": jacobian_by_ours,
    "pl_constants": pl_constants_by_ours,
    "theorem_11": theorem_11_by_ours,
    "theorem_12": theorem_12_by_ours,
}


@pytest.mark.parametrize("name", FILES)
def test_our_checks_of_the_same_instance_agree(name: str) -> None:
    OURS[name](*ran(name))


# --- planted faults
FAULTS = [
    ("gumbel", "GAMMA = np.euler_gamma", "GAMMA = 0.577"),
    ("gumbel", "np.exp(-np.exp(-(x - nu)))", "np.exp(-np.exp(x - nu))"),
    ("gumbel", "two = np.array([1.0, 1.0])", "two = np.array([0.0, 0.0])"),
    ("biconjugate", "td - beta**2 * spread", "td - 2 * beta**2 * spread"),
    ("biconjugate", "2 * float(P @ delta) * h - h**2", "float(P @ delta) * h - h**2"),
    ("biconjugate", "range(600)", "range(20)"),
    ("biconjugate", "d = np.array([0.5, 0.25, 0.25])", "d = np.array([0.5, 0.3, 0.2])"),
    ("identification", "0.9 ** (12.0 - n)", "0.8 ** (12.0 - n)"),
    ("identification", "np.eye(3) - 0.8 * P[:, a]", "np.eye(3) - 0.8 * P[:, a].T"),
    ("identification", "td**2 - beta**2 * deviation**2", "td**2 - beta * deviation**2"),
    ("identification", "(k / p**0.5 + 1) ** 2 * reach**2", "(k / p**0.5 + 1) * reach**2"),
    ("identification", '"sa,sat->ts"', '"sa,sat->st"'),
    ("jacobian", "152 + 10 * 2", "152 + 10"),
    ("jacobian", "[[1.0, 1], [1, 0], [1, 1]]", "[[1.0, 1], [1, 0], [1, 2]]"),
    ("jacobian", "*wide, np.copy", "*wide, np.sin"),
    ("jacobian", "after[:-1] = after[:-1].mean(axis=0)", "pass"),
    ("pl_constants", "return 2 * mu * gamma**2", "return 4 * mu * gamma**2"),
    ("pl_constants", "np.sqrt(A * X)", "np.sqrt(X)"),
    ("pl_constants", "p_least * rows.min() / 2", "p_least * rows.min()"),
    ("pl_constants", "c_10 = 2 * beta**2", "c_10 = 2 * beta"),
    ("theorem_11", "(2 * (1 + kappa**2))", "(2 * kappa**2)"),
    ("theorem_11", "rows.mean(axis=2, keepdims=True)", "rows.mean(axis=1, keepdims=True)"),
    ("theorem_11", "(V[after] - zeta) ** 2", "(V[after] + zeta) ** 2"),
    ("theorem_11", "bellman / 2), np", "bellman), np"),
    ("theorem_12", "18 * size**2", "size**2"),
    ("theorem_12", "b = c * ratio * size, 11 * smooth", "b = c * ratio * size, smooth"),
    ("theorem_12", "beta**2 / 10 * np.outer", "beta**2 * np.outer"),
    ("theorem_12", "(beta * (V - zeta)) ** 2 / 2", "(V - zeta) ** 2 / 2"),
    ("theorem_12", "k, r = 10193 / 10209", "k, r = 10193 / 10210"),
    ("theorem_12", "2 * 0.95**2 * 2 / 4", "0.95**2 * 2 / 4"),
]


def compared(name: str, file: Any, lines: Lines) -> None:
    """Both comparisons, with the committed numbers and with our checks."""
    assert differences(name, lines) == []
    OURS[name](file, lines)


@pytest.mark.parametrize(("name", "old", "new"), FAULTS)
def test_a_planted_fault_is_noticed(name: str, old: str, new: str) -> None:
    assert FILES[name].count(old) == 1
    with pytest.raises((SystemExit, AssertionError)):
        compared(name, *run(name, old, new))
