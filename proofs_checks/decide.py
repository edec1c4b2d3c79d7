"""From a claim's evidence to its verdict, and many claims at once.

The statement that survives is tried on drawn instances (Hypothesis shrinks a failing one); the
printed statement, if another, must fail at the counterexample; the negative control must be
rejected where the sound check passes. What comes out is compared with the recorded verdict.
Many claims are decided in parallel; finished ones are kept, so that an interrupted run resumes.
"""

from __future__ import annotations

import hashlib
import math
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
from hypothesis import HealthCheck, Phase, given, settings

from proofs_checks.claims import CheckResult, Claim, Verdict, find

CI, DEEP = 200, 5000  # instances of a property
ROOT = Path(__file__).parents[1]
BUILD = ROOT / ".cells" / "claims"


class RejectedError(Exception):
    """A statement that should hold fails on an instance."""


@dataclass(frozen=True)
class Decision:
    """What the evidence says of a claim."""

    id: str  # of the claim
    verdict: Verdict  # the one that follows from the evidence
    recorded: Verdict  # the one the claim records
    instances: int  # how many were drawn for the statement that survives
    shown: CheckResult  # the result to show: at the counterexample, else at the tightest instance
    slack: float  # the smallest over all instances, NaN where it has no meaning
    problem: str  # empty, or what went wrong, with the instance
    seconds: float  # time taken

    @property
    def as_recorded(self) -> bool:
        """Whether the evidence supports the recorded verdict, negative control included."""
        return self.verdict == self.recorded and not self.problem


@dataclass
class _Survey:
    """Running account of the instances a check has passed."""

    number: int = 0
    slack: float = math.nan
    shown: CheckResult | None = None

    def add(self, result: CheckResult) -> None:
        self.number += 1
        tighter = not math.isnan(result.slack) and not result.slack >= self.slack
        if self.shown is None or tighter:
            self.shown, self.slack = result, result.slack


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
    if claim.adversary is not None and not failure:
        instance = claim.adversary()
        result = claim.surviving(instance)
        if not result.holds:
            verdict = "fails"
            problems.append(f"{result}\nat the adversary's instance {instance!r}")
        survey.add(result)
    problems += control_problem(claim)
    shown = refutation if refutation is not None else survey.shown
    return Decision(
        id=claim.id,
        verdict=verdict,
        recorded=claim.verdict,
        instances=survey.number,
        shown=shown if shown is not None else claim.surviving(claim.rejected_at()),
        slack=survey.slack,
        problem="\n".join(problems),
        seconds=time.perf_counter() - began,
    )


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

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
    )
    @given(claim.instances)
    def body(instance: Any) -> None:
        result = check(instance)
        if not result.holds:
            last[0] = f"{result}\nat the instance {instance!r}"
            raise RejectedError
        survey.add(result)

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
    for library in ("numpy", "scipy", "hypothesis", "torch", "cvxpy", "mpmath"):
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
    """Decide claims as they come in; finished ones are kept in `build` and not decided again."""
    kept, digest = joblib.Memory(build, verbose=0).cache(decide_by_id), source()
    tasks = (joblib.delayed(kept)(id_, examples, digest) for id_ in ids)
    parallel = joblib.Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1)
    yield from parallel(tasks)
