"""Stored cells once more: by the code that computed them, and by today's, on this processor.

    python tests/reproduce/old_code.py DIGEST ...

A digest is the name of a cell's file in the archive. The code that computed it is that of the
commit in its record, in a worktree of its own. Where both codes give the same bits, no change of
code has moved these numbers. Where the stored ones are others all the same, the machine is the
reason. METHODS.md has a table of them, from a file to which a run adds a line for each cell.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
FILE = ROOT / "reproduce" / "templates" / "old_code.csv"
ERRORS = ("MAPE", "% optimality")  # what `furthest` is one of


def cell_of(digest: str) -> Any:
    """The cell, as the code in PYTHONPATH has it."""
    from reproduce import exhibits

    entries = (e for name in exhibits.names() for e in exhibits.load(name).checked_entries(False))
    return next(entry.cell for entry in entries if entry.cell.digest.startswith(digest))


def numbers(result: Any) -> dict[str, list[float]]:
    """Every number of a result, by what it is; a record has its value and standard error."""
    records = {f"{r.statistic} {r.protocol} {r.row}".rstrip(): r for r in result.records}
    lists = {f"replications {name}": x for name, x in result.replications.items()}
    lists |= {f"array {name}": x for name, x in result.arrays.items()}
    lists |= {name: (r.value, r.se) for name, r in records.items()}
    return {name: np.ravel(lists[name]).astype(float).tolist() for name in sorted(lists)}


def computed(digest: str, code: Path) -> dict[str, list[float]]:
    """The numbers by the code of a folder."""
    command = [sys.executable, __file__, "--here", digest]
    environment = {**os.environ, "PYTHONPATH": str(code)}
    done = subprocess.run(command, cwd=code, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def computed_by(digest: str, commit: str) -> dict[str, list[float]]:
    """The numbers by the code of a commit."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with TemporaryDirectory() as folder:
        subprocess.run([*git, "add", "--force", "--detach", folder, commit], check=True)
        try:
            return computed(digest, Path(folder))
        finally:
            subprocess.run([*git, "remove", "--force", folder], check=True)


def line(cell: Any, stored: Any) -> dict[str, object]:
    """What both codes give, beside what is stored."""
    commit, before = stored.provenance["commit"], numbers(stored.result)
    old, new = computed_by(cell.digest, commit), computed(cell.digest, ROOT)
    errors = [x for x in before if x.startswith(ERRORS) and before[x][0]]
    apart = {x: abs(new[x][0] / before[x][0] - 1) for x in errors}
    most = max(apart, key=lambda x: np.nan_to_num(apart[x]))
    return {
        "cell": cell.digest,
        "label": cell.label,
        "commit": commit,
        "same_by_both_codes": repr(old) == repr(new),
        "same_as_stored": repr(new) == repr(before),
        "furthest": most,
        "relative_difference": apart[most],
    }


if __name__ == "__main__":
    os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    if sys.argv[1] == "--here":
        cell = cell_of(sys.argv[2])
        print(json.dumps(numbers(cell.function()(cell))))
        raise SystemExit
    from reproduce.engine.store import Archive
    from reproduce.run import CELLS

    archive = Archive(CELLS)
    for digest in sys.argv[1:]:
        cell = cell_of(digest)
        stored = archive.load(cell)
        if stored is None:
            raise SystemExit(f"{digest}: not in {CELLS.name}")
        lines = pd.read_csv(FILE)
        new = pd.DataFrame([line(cell, stored)])
        lines = pd.concat([lines[lines["cell"] != cell.digest], new]).sort_values("label")
        lines.to_csv(FILE, index=False)
        print(new.T.to_string(header=False))
