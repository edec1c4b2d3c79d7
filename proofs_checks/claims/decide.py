"""Whether the evidence supports the recorded verdict of a claim, for many claims at once.

The surviving statement is tried on drawn instances, and Hypothesis shrinks a failing one. The
printed statement, if it is another one, must fail at the counterexample. The negative control must
be rejected where the sound check passes.

Implementation choices:
- A reader of the paper records the verdict. Only a reader can tell an error from a misprint.
- An inequality is also tried on instances that Hypothesis changes step by step to lower the slack.
"""

import math
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, target
from joblib.externals.loky import as_completed, get_reusable_executor

from proofs_checks.certificates import derivations, in_coq, kinds
from proofs_checks.claims.claims import OURS, CheckResult, Claim, find
from proofs_checks.claims.verdicts import Verdict

CI, DEEP = 200, 5000  # instances of a claim
TIGHT = 1.1  # slack up to which a constant is called tight
NOT_TIGHT = "not known to be tight"
SEARCHED = ("not refuted", "proof by hand")  # evidence whose tightness a search found
QUIET: dict[str, Any] = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "print_blob": False,
}


class FailureError(Exception):
    """A statement that should hold fails on an instance."""


@dataclass(frozen=True)
class Decision:
    """What the evidence says of a claim."""

    id: str  # of the claim
    verdict: Verdict  # the recorded one, or holds or fails where the evidence contradicts it
    recorded: Verdict  # the one that the claim records
    instances: int  # how many were drawn for the surviving statement
    result: CheckResult  # at the counterexample where there is one, else at the tightest instance
    slack: float  # the smallest over all instances; NaN where it has no meaning
    problem: str  # empty, or what went wrong, with the instance
    how: str  # the evidence of the verdict, such as "certificate", "proof" or "not refuted"
    how_corrected: str  # that of the statement to write instead; empty where there is none
    seconds: float  # time taken

    @property
    def as_recorded(self) -> bool:
        """Whether the evidence supports the recorded verdict, negative control included."""
        return self.verdict == self.recorded and not self.problem


@dataclass
class Survey:
    """How many instances a check has passed, and the result at the tightest of them."""

    number: int = 0
    slack: float = math.nan
    tightest: CheckResult | None = None

    def add(self, result: CheckResult) -> None:
        """Count one result."""
        self.number += 1
        tighter = not math.isnan(result.slack) and not result.slack >= self.slack
        if self.tightest is None or tighter:
            self.tightest, self.slack = result, result.slack


def decide(claim: Claim, examples: int = CI) -> Decision:
    """The decision on a claim from `examples` drawn instances, fewer where one is dear."""
    start = time.perf_counter()
    examples = number_of(claim, examples)
    survey = Survey()
    problems: list[str] = []
    verdict = claim.verdict
    refutation = claim.printed(claim.counterexample()) if claim.counterexample else None
    if refutation and refutation.holds:
        verdict = Verdict.HOLDS
        problems.append(f"the printed statement holds at the counterexample: {refutation}")
    failure = failure_of(claim, survey, examples)
    number = survey.number
    is_searched = claim.adversary is not None or not math.isnan(survey.slack)
    if is_searched and not failure:
        failure = search(claim, survey, max(1, examples // 2))
    if failure:
        verdict = Verdict.FAILS
        problems.append(failure)
    how, how_corrected = evidence(claim, number < examples, survey.slack)
    return Decision(
        id=claim.id,
        verdict=verdict,
        recorded=claim.verdict,
        instances=number,
        result=refutation or survey.tightest or claim.surviving(claim.rejected_at()),
        slack=survey.slack,
        problem="\n".join([*problems, *control_problem(claim)]),
        how=how,
        how_corrected=how_corrected,
        seconds=time.perf_counter() - start,
    )


def number_of(claim: Claim, examples: int) -> int:
    """How many instances of a claim are drawn where `examples` of others are."""
    return max(1, examples // claim.cost)


def evidence(claim: Claim, is_enumerated: bool, slack: float) -> tuple[str, str]:
    """The evidence of the verdict, then of the statement to write instead; empty without one.

    Args:
        claim: which.
        is_enumerated: whether the instances ran out, so that all of them were drawn.
        slack: the smallest over all instances.
    """
    survived = "proof by hand" if claim.id.startswith(OURS) else "not refuted"
    if is_enumerated:
        survived = "enumeration"
    if claim.id in derivations():
        survived = derivations()[claim.id].kind
    theorems = in_coq().get(claim.id, "")
    if theorems and "(" not in theorems:
        survived = "proof"
    elif theorems and survived == "not refuted":
        survived = "derivation + step"
    survived = qualified(survived, claim, slack)
    if claim.counterexample is None:
        return survived, ""
    return kinds().get(claim.id, "counterexample"), survived


def qualified(how: str, claim: Claim, slack: float) -> str:
    """The evidence with the tightness found, and whether the constants are known to be tight."""
    is_searched = how in SEARCHED and not math.isnan(slack)
    if is_searched:
        how = f"{how}, tightness {slack:.3g}"
    if claim.unproved:
        return f"{how}: some constants {NOT_TIGHT}"
    is_loose = slack > TIGHT and is_searched
    return f"{how}: {NOT_TIGHT}" if is_loose else how


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


def failure_of(claim: Claim, survey: Survey, examples: int) -> str:
    """Empty, or the result and the shrunk instance at which the surviving statement fails."""
    last = [""]

    @settings(max_examples=examples, phases=(Phase.generate, Phase.shrink), **QUIET)
    @given(claim.instances)
    def body(instance: Any) -> None:
        result = claim.surviving(instance)
        if not result.holds:
            last[0] = f"{result}\nat the instance {instance!r}"
            raise FailureError
        survey.add(result)

    try:
        body()
    except FailureError:
        return last[0]
    return ""


def search(claim: Claim, survey: Survey, examples: int) -> str:
    """Empty, or the result at an instance of the adversary or of the climb that fails.

    Hypothesis changes what was drawn, one choice at a time, where that lowers the slack.
    """
    failures: list[str] = []

    def attempt(instance: Any) -> CheckResult:
        result = claim.surviving(instance)
        survey.add(result)
        if not result.holds:
            failures.append(f"{result}\nat the adversary's instance {instance!r}")
        return result

    @settings(max_examples=examples, phases=(Phase.generate, Phase.target), **QUIET)
    @given(claim.instances)
    def climb(instance: Any) -> None:
        result = attempt(instance)
        if result.slack > 0:
            target(-math.log(result.slack))

    if claim.adversary is not None:
        attempt(claim.adversary())
    climb()
    return failures[0] if failures else ""


# --- many claims
def decide_by_id(id_: str, examples: int) -> Decision:
    """`decide` by id."""
    try:
        return decide(find(id_), examples)
    except Exception as error:
        text = "".join(traceback.format_exception(error)[-3:])
        raise RuntimeError(f"the check of {id_} stopped: {text}") from None


def decisions(ids: Sequence[str], examples: int, workers: int = 1) -> Iterator[Decision]:
    """Decide claims as they come in.

    Always in processes of their own: Hypothesis also draws constants of the modules that are
    loaded, so that the instances would be others beside the command's modules.
    """
    executor = get_reusable_executor(max_workers=workers)
    tasks = [executor.submit(decide_by_id, id_, examples) for id_ in ids]
    try:
        yield from (task.result() for task in as_completed(tasks))
    finally:
        for task in tasks:
            task.cancel()
        executor.shutdown()  # joblib.Parallel could not use this process's executor afterwards
