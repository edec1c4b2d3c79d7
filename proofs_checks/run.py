"""Deciding many claims: in parallel, with results kept so that an interrupted run resumes."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import joblib

from proofs_checks.decide import Decision, decide
from proofs_checks.register import find

ROOT = Path(__file__).parents[1]
BUILD = ROOT / ".cells" / "claims"


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


def decide_one(id_: str, examples: int, source: str) -> Decision:
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
    memory = joblib.Memory(build, verbose=0)
    kept = memory.cache(decide_one)
    digest = source()
    tasks = (joblib.delayed(kept)(id_, examples, digest) for id_ in ids)
    found: Iterator[Decision] = joblib.Parallel(
        n_jobs=workers, return_as="generator_unordered", batch_size=1
    )(tasks)
    yield from found
