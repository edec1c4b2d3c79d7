"""`python -m gladius`: r-hat from a table of choices.

Example:
    python -m gladius choices.csv --state mileage --action replace --id bus \\
        --time month --anchor-action 1 --anchor-reward -5 --discount 0.95 --out reward.csv
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gladius.baselines import METHODS
from gladius.checks import InputError
from gladius.estimate import Estimate
from gladius.linear_reward import linear_in_features
from gladius.methods import fit, needs
from gladius.transitions import Transitions, distinct_rows, grid_positions

METHOD_HELP = (
    "by default gladius; the methods that need the form of the reward (nfxp, ccp, mpec, avi,"
    " semi_gradient, rp, samq, ml_irl) get one that is linear in the --state columns, with a"
    " constant and slopes for each action but the anchor: other forms are for Python"
)


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    made = argparse.ArgumentParser(
        prog="python -m gladius",
        description="Estimate the reward behind observed choices from a CSV file.",
        epilog=(__doc__ or "").split("\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("csv", type=Path, help="one row a period, in order of time or with --time")
    made.add_argument("--state", action="append", required=True, help="a column of s; repeat it")
    made.add_argument("--action", required=True, help="the column of a, whole numbers from 0")
    made.add_argument("--id", required=True, help="the column that tells the trajectories apart")
    made.add_argument("--time", help="the column that numbers the periods; rows are sorted by it")
    made.add_argument("--next-state", action="append", help="a column of s'; by default next row")
    made.add_argument("--done", help="a column that says whether the path ended after the row")
    made.add_argument("--anchor-action", type=int, required=True, help="the action a_s")
    made.add_argument("--anchor-reward", type=float, required=True, help="its reward, known")
    made.add_argument("--discount", type=float, required=True, help="beta")
    made.add_argument("--method", default="gladius", choices=sorted(METHODS), help=METHOD_HELP)
    made.add_argument(
        "--function-class", help="of gladius: smooth, mlp, sparse or mlp_rows (on rows)"
    )
    made.add_argument("--out", type=Path, help="CSV to write; by default standard output")
    return made


def table(data: Transitions, estimate: Estimate) -> pd.DataFrame:
    """A row for each observed state and action: count, r-hat, Q-hat and choice probability."""
    states, _ = distinct_rows(data.states)
    actions = data.number_of_actions
    pairs = data.pairs()
    each = np.repeat(np.arange(len(states)), actions)
    chosen = np.tile(np.arange(actions), len(states))
    seen = np.column_stack([pairs.states, pairs.actions])
    place = grid_positions(seen, np.column_stack([states[each], chosen]))
    columns = {name: states[each, i] for i, name in enumerate(data.feature_names)}
    return pd.DataFrame(
        columns
        | {
            "action": chosen,
            "observations": np.where(place >= 0, pairs.weights[place], 0),
            "reward": estimate.reward(states[each], chosen),
            "q": estimate.q(states).ravel(),
            "probability": estimate.policy(states).ravel(),
        }
    )


def _tell_of_missing_actions(rows: pd.DataFrame, state: list[str]) -> None:
    """Say in how many states an action never occurs: only there r-hat is extrapolated."""
    least = rows.groupby(state)["observations"].min()
    if (least == 0).any():
        where = least.index[least == 0][0]
        print(
            f"in {np.count_nonzero(least == 0)} of {len(least)} states, the first"
            f" {', '.join(state)} = {where}, some action never occurs (observations is 0): choices"
            " there do not identify r-hat, which is extrapolated for all their actions; pool these"
            " states with others, or use --function-class sparse",
            file=sys.stderr,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; exit code 2 for bad input (one line), 1 for a fit that did not converge."""
    given = parser().parse_args(arguments)
    try:
        data = Transitions.from_frame(
            _read(given.csv, given.out),
            state=given.state,
            action=given.action,
            id=given.id,
            time=given.time,
            next_state=given.next_state,
            done=given.done,
        )
        options: dict[str, object] = {}
        if given.function_class is not None:
            options["function_class"] = given.function_class
        if "form" in needs(given.method):
            known = given.anchor_action, given.anchor_reward
            options["reward"] = linear_in_features(data.number_of_actions, *known)
        estimate = fit(
            data,
            given.method,
            anchor_action=given.anchor_action,
            anchor_reward=given.anchor_reward,
            discount=given.discount,
            **options,
        )
    except InputError as error:
        print(f"python -m gladius: {error}", file=sys.stderr)
        return 2
    rows = table(data, estimate)
    text = rows.to_csv(index=False)
    if given.out is None:
        print(text, end="")
    else:
        given.out.write_text(text, encoding="utf-8")
    diagnostics = estimate.diagnostics
    is_by_state = "reward_inputs" not in diagnostics.extra and "form" not in needs(given.method)
    if is_by_state:  # else features or a form carry r to states with few choices
        _tell_of_missing_actions(rows, list(data.feature_names))
    for name, what in (("reward_inputs", "r"), ("zeta_inputs", "what comes next")):
        if name in diagnostics.extra:
            places = np.asarray(diagnostics.extra[name], dtype=int)
            chosen = ", ".join(data.feature_names[k] for k in places) or "none"
            print(f"features chosen for {what}: {chosen}", file=sys.stderr)
    if "theta" in diagnostics.extra and "se" in diagnostics.extra:
        theta, errors = (np.asarray(diagnostics.extra[name]) for name in ("theta", "se"))
        told = ", ".join(f"{t:.4g} ({e:.2g})" for t, e in zip(theta, errors, strict=True))
        print(f"parameters (standard errors): {told}", file=sys.stderr)
    if "anchor" not in needs(given.method) and "form" not in needs(given.method):
        print(f"{given.method} identifies no level of r: compare within a state", file=sys.stderr)
    print(
        f"{diagnostics.status}: {estimate.method}, {len(data)} transitions,"
        f" {diagnostics.iterations} iterations, {diagnostics.nll:.4f} nats per choice,"
        f" {diagnostics.cpu_seconds:.3f} s",
        file=sys.stderr,
    )
    return 0 if diagnostics.status == "ok" else 1


def _read(path: Path, out: Path | None) -> pd.DataFrame:
    if not path.exists():
        raise InputError("csv", str(path), "there is no such file")
    for name, file in [("csv", path), ("out", out)]:
        if file is not None and file.is_dir():
            raise InputError(name, str(file), "it is a directory: name a file in it")
    if out is not None and not out.resolve().parent.is_dir():
        raise InputError("out", str(out), "its folder does not exist")
    if out is not None and not os.access(out if out.exists() else out.resolve().parent, os.W_OK):
        raise InputError("out", str(out), "it cannot be written: name a file in a folder of yours")
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:  # those of pandas are of the latter kind
        raise InputError("csv", str(path), f"this is no table of commas: {error}") from None


if __name__ == "__main__":
    warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
    sys.exit(main())
