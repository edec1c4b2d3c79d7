"""Whether the evidence supports a claim's recorded verdict, for many claims at once.

The statement that survives is tried on drawn instances (Hypothesis shrinks a failing one); the
printed statement, if another, must fail at the counterexample; the negative control must be
rejected where the sound check passes. A verdict is recorded by a reader of the paper, who alone
can tell an error from a misprint or a condition left out; the evidence contradicts it or does not.
Many claims are decided in parallel; finished ones are kept, so that an interrupted run resumes.
"""

from __future__ import annotations

import hashlib
import math
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import joblib
from hypothesis import Phase, given, settings
from joblib.externals.loky import as_completed, get_reusable_executor

from proofs_checks.claims import CheckResult, Claim, Verdict, find
from proofs_checks.derivations import derivation
from proofs_checks.mutation import QUIET, Pinned, hunt, pinned

CI, DEEP = 200, 5000  # instances of a property
KEPT = 12  # of the tightest ones, at which constants are changed
TIGHT = 1.1  # slack up to which a constant is called tight
ROOT = Path(__file__).parents[1]
BUILD = ROOT / ".cells" / "claims"


class RejectedError(Exception):
    """A statement that should hold fails on an instance."""


@dataclass(frozen=True)
class Decision:
    """What the evidence says of a claim."""

    id: str  # of the claim
    verdict: Verdict  # the recorded one, or holds or fails where the evidence contradicts it
    recorded: Verdict  # the one the claim records
    instances: int  # how many were drawn for the statement that survives
    shown: CheckResult  # the result to show: at the counterexample, else at the tightest instance
    slack: float  # the smallest over all instances, NaN where it has no meaning
    problem: str  # empty, or what went wrong, with the instance
    how: str  # certificate, certificate + step, proof, adversary, sampled, ...
    how_corrected: str  # the same of the statement to write instead; empty where there is none
    mutants: Pinned  # which changes of the surviving statement's constants are rejected
    seconds: float  # time taken

    @property
    def as_recorded(self) -> bool:
        """Whether the evidence supports the recorded verdict, negative control included."""
        return self.verdict == self.recorded and not self.problem


@dataclass
class _Survey:
    """Running account of the instances a check has passed, and the tightest of them."""

    number: int = 0
    slack: float = math.nan
    shown: CheckResult | None = None
    kept: list[tuple[float, int, Any]] = field(default_factory=list)

    def add(self, result: CheckResult, instance: Any) -> None:
        self.number += 1
        tighter = not math.isnan(result.slack) and not result.slack >= self.slack
        if self.shown is None or tighter:
            self.shown, self.slack = result, result.slack
        rank = math.inf if math.isnan(result.slack) else result.slack
        # of equal ones the later, which is rarely the simplest
        self.kept = sorted([*self.kept, (rank, -self.number, instance)], key=lambda k: k[:2])[:KEPT]


def decide(claim: Claim, examples: int = CI) -> Decision:
    """Try a claim on `examples` drawn instances (fewer where one is dear: see Claim.cost)."""
    began = time.perf_counter()
    survey = _Survey()
    problems: list[str] = []
    verdict: Verdict = claim.verdict
    refutation = None
    if claim.counterexample is not None:
        refutation = claim.printed(claim.counterexample())
        if refutation.holds:
            verdict = "holds"
            problems.append(f"the printed statement holds at the counterexample: {refutation}")
    failure = _failure(claim, survey, max(1, examples // claim.cost))
    if failure:
        verdict = "fails"
        problems.append(failure)
    number = survey.number
    searched = claim.adversary is not None or not math.isnan(survey.slack)
    if searched and not failure:
        hunted: list[tuple[CheckResult, Any]] = []
        if claim.adversary is not None:
            instance = claim.adversary()
            hunted.append((claim.surviving(instance), instance))
        hunt(claim, max(1, examples // claim.cost // 2), lambda *pair: hunted.append(pair))
        for result, instance in hunted:
            survey.add(result, instance)
            if not result.holds:
                verdict = "fails"
                problems.append(f"{result}\nat the adversary's instance {instance!r}")
                break
    proof = derivation(claim.id)
    if proof is not None and not proof.holds:
        problems.append("a step of the derivation does not hold")
    problems += control_problem(claim)
    shown = refutation if refutation is not None else survey.shown
    all_cases = number < examples // claim.cost
    survived = _how(proof is not None, searched, survey.slack, all_cases)
    refuted = certificate(claim.id) or "counterexample"
    tight = [claim.rejected_at(), *(instance for _, _, instance in survey.kept)]
    return Decision(
        id=claim.id,
        verdict=verdict,
        recorded=claim.verdict,
        instances=number,
        shown=shown if shown is not None else claim.surviving(claim.rejected_at()),
        slack=survey.slack,
        problem="\n".join(problems),
        how=survived if refutation is None else refuted,
        how_corrected="" if refutation is None else survived,
        mutants=pinned(claim.surviving, tight if not problems else []),
        seconds=time.perf_counter() - began,
    )


def certificate(id_: str) -> str | None:
    """`certificate` or `certificate + step`, where the package of certificates has one."""
    # INTEGRATOR: the one line that knows of proofs_checks.certificates and of its `kind(id)`
    name = "proofs_checks.certificates"
    kind: str | None = import_module(name).kind(id_) if find_spec(name) else None
    return kind


def _how(proved: bool, searched: bool, slack: float, all_cases: bool) -> str:
    """How a statement that stands is decided: by the strongest evidence there is."""
    if proved:
        return "proof"
    if all_cases:
        return "every case"
    if not searched:
        return "sampled"
    if math.isnan(slack):
        return "adversary"
    tightness = f"adversary, tightness {slack:.3g}"
    return tightness if slack <= TIGHT else f"{tightness}: not known to be tight"


def control_problem(claim: Claim) -> list[str]:
    """Why the negative control proves nothing; empty where it does its work."""
    instance = claim.rejected_at()
    sound, broken = claim.surviving(instance), claim.rejected(instance)
    problems = []
    if not sound.holds:
        problems.append(f"the sound check fails at the control's instance: {sound}")
    if broken.holds:
        problems.append(f"the control ({claim.broken}) is not rejected: {broken}")
    return problems


def _failure(claim: Claim, survey: _Survey, examples: int) -> str:
    """Empty, or the result and the shrunk instance at which the surviving statement fails."""
    check: Callable[[Any], CheckResult] = claim.surviving
    last: list[str] = [""]

    @settings(max_examples=examples, phases=(Phase.generate, Phase.shrink), **QUIET)
    @given(claim.instances)
    def body(instance: Any) -> None:
        result = check(instance)
        if not result.holds:
            last[0] = f"{result}\nat the instance {instance!r}"
            raise RejectedError
        survey.add(result, instance)

    try:
        body()
    except RejectedError:
        return last[0]
    return ""


# --- many claims
def source() -> str:
    """Digest of all that a decision rests on: the code, the printed tables, the libraries."""
    digest = hashlib.sha256()
    files = [
        *(ROOT / "proofs_checks").rglob("*.py"),
        *(ROOT / "gladius").rglob("*.py"),
        *(ROOT / "paper_tables" / "published").glob("*.csv"),
    ]
    for path in sorted(files):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    for library in ("numpy", "scipy", "hypothesis", "torch", "cvxpy", "mpmath", "sympy"):
        digest.update(f"{library}=={version(library)}".encode())
    return digest.hexdigest()


def decide_by_id(id_: str, examples: int, source: str) -> Decision:
    """`decide` by id; `source` only tells stored results of other code apart."""
    try:
        return decide(find(id_), examples)
    except Exception as error:
        text = "".join(traceback.format_exception(error)[-3:])
        raise RuntimeError(f"the check of {id_} stopped: {text}") from None


def decisions(
    ids: Sequence[str], examples: int, workers: int = 1, build: Path = BUILD
) -> Iterator[Decision]:
    """Decide claims as they come in; finished ones are kept in `build` and not decided again.

    Always in processes of their own: Hypothesis also draws constants of the modules that are
    loaded, so that the instances would be others beside the command's modules.
    """
    kept, digest = joblib.Memory(build, verbose=0).cache(decide_by_id), source()
    executor = get_reusable_executor(max_workers=workers)
    tasks = [executor.submit(kept, id_, examples, digest) for id_ in ids]
    try:
        yield from (task.result() for task in as_completed(tasks))
    finally:
        for task in tasks:
            task.cancel()
