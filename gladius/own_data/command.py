"""`python -m gladius`: r-hat from a table of choices.

Example:
    python -m gladius choices.csv --state mileage --action replace --id bus \\
        --time month --anchor-action 1 --anchor-reward -5 --discount 0.95 --out results

The folder `results` then holds the summary, r-hat and the choice probabilities, the parameters of a
parametric method with standard errors and intervals, two figures, and the call.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gladius import __version__
from gladius.model.reward_form import linear_in_features
from gladius.model.state_anchor import read_anchor_action
from gladius.own_data.door import fit
from gladius.own_data.results.results import COLUMNS, Results
from gladius.own_data.results.summary import lines_of, status_of
from gladius.panel.anchor import nearest
from gladius.panel.record import Transitions, distinct_rows, index_rows
from gladius.register import METHODS, needs
from gladius.validate import InputError, MissingError, needs_torch

MOST_STATES = 200  # with more, the table has a grid: GRID_VALUES of each column
GRID_VALUES = 20
GRID = (
    "{:,} states are too many to read: the table has up to 20 values of each column, the others"
    " near their medians; `reward_frame()` in Python has all states"
)
METHOD_HELP = (
    "by default profiled_erm; the methods that need the form of the reward (nfxp, ccp, mpec, avi,"
    " semi_gradient, rp, samq, ml_irl) get one that is linear in the --state columns, with a"
    " constant and slopes for each action but the anchor: other forms are for Python"
)


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    cli = argparse.ArgumentParser(
        prog="python -m gladius",
        description="Estimate the reward behind observed choices from a file, CSV or Parquet.",
        epilog=(__doc__ or "").split("\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    cli.add_argument("--version", action="version", version=f"gladius-checked {__version__}")
    helped = "one row a period, in order of time or with --time; Parquet if its name ends so"
    cli.add_argument("table", type=Path, help=f"{helped} (extra `parquet`); else CSV")
    cli.add_argument("--state", action="append", required=True, help="a column of s; repeat it")
    cli.add_argument("--action", required=True, help="the column of a: numbers from 0, or labels")
    cli.add_argument("--id", required=True, help="the column that tells the trajectories apart")
    cli.add_argument("--time", help="the column that numbers the periods; rows are sorted by it")
    cli.add_argument("--next-state", action="append", help="a column of s'; by default next row")
    cli.add_argument("--categorical", action="append", default=[], help="a column of labels")
    cli.add_argument("--done", help="a column that says whether the path ended after the row")
    helped = "the action a_s: its number, or its label, or a column that holds its number"
    cli.add_argument("--anchor-action", required=True, help=helped)
    cli.add_argument("--anchor-reward", type=float, required=True, help="its reward, known")
    cli.add_argument("--discount", type=float, required=True, help="beta")
    helped = "a column of 1 and 0: whether the action, by name or number, is available; repeat it"
    cli.add_argument("--available", action="append", metavar="ACTION=COLUMN", help=helped)
    helped = "a column: how many of a population the row stands for (nfxp, mpec, ccp, plug_in)"
    cli.add_argument("--weights", help=helped)
    cli.add_argument("--freq-weights", help="a column: how often the row was observed")
    cli.add_argument("--method", default="profiled_erm", choices=sorted(METHODS), help=METHOD_HELP)
    cli.add_argument("--function-class", help="of profiled_erm: smooth, sparse or mlp")
    cli.add_argument("--out", type=Path, help="folder to write; by default r-hat is printed as CSV")
    return cli


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; exit code 2 for bad input (one line), 1 for a fit that did not converge."""
    given = parser().parse_args(arguments)
    options: dict[str, Any] = {"anchor_reward": given.anchor_reward, "discount": given.discount}
    names = {name: getattr(given, name) for name in ("state", "action", "id", "time", "done")}
    try:
        frame = _read(given.table, given.out)
        names |= {"next_state": given.next_state, "categorical": given.categorical}
        of_rows = {name: getattr(given, name) for name in ("weights", "freq_weights")}
        options |= of_rows
        sets = [_pair(text) for text in given.available or ()]
        columns = dict.fromkeys([*of_rows.values(), *(name for _, name in sets)])
        names["carry"] = [name for name in columns if name]
        data = Transitions.from_frame(frame, **names)
        if clash := sorted({*COLUMNS} & {*data.feature_names}):
            hint = f"the table of r-hat has columns {', '.join(COLUMNS)}: rename it in the file"
            raise InputError("state", clash[0], hint)
        options["anchor_action"] = _number_or_name(given.anchor_action, data)
        if sets:
            own = dict[int | str, str]()
            for label, name in sets:
                action = _number_or_name(label, data)
                if isinstance(action, str) and action in data.action_names:
                    action = data.action_names.index(action)
                if action in own:
                    hint = "this action has a column already: name one column an action"
                    raise InputError("available", f"{label}={name}", hint)
                own[action] = name
            options["available"] = own
        if given.function_class is not None:
            options["function_class"] = given.function_class
        with needs_torch("method", given.method):
            has_form = "form" in needs(given.method)
        if has_form:
            number, features = data.number_of_actions, data.feature_names
            action, _ = read_anchor_action([data], options["anchor_action"])
            form = number, action, given.anchor_reward, features
            options["reward"] = linear_in_features(*form)
        estimate = fit(data, given.method, **options)
    except InputError as error:
        print(f"python -m gladius: {error}", file=sys.stderr)
        return 2
    states = observed = distinct_rows(data.states)[0]
    if len(states) > MOST_STATES:
        print(GRID.format(len(states)), file=sys.stderr)
        states = distinct_rows(lines_of(data, GRID_VALUES)[1])[0]
        if sets:  # whose columns say nothing of other states
            states = distinct_rows(observed[nearest(observed, states)])[0]
    rewards = estimate.reward_frame(states)
    if given.out is None:
        rewards.to_csv(sys.stdout, index=False)
    else:
        write(given.out, estimate, rewards, sys.argv[1:] if arguments is None else arguments)
    for line in remarks(data, estimate, needs(given.method)):
        print(line, file=sys.stderr)
    return 0 if estimate.diagnostics.converged else 1


def write(folder: Path, results: Results, rewards: pd.DataFrame, arguments: Sequence[str]) -> None:
    """All files of a fit."""
    from matplotlib.figure import Figure

    from gladius.own_data.results.plots import plot_choices, plot_reward

    folder.mkdir(exist_ok=True)
    (folder / "call.txt").write_text(f"python -m gladius {shlex.join(arguments)}\n", "utf-8")
    (folder / "summary.txt").write_text(f"{results.summary()}\n", "utf-8")
    rewards.to_csv(folder / "reward.csv", index=False)
    if results.has_parameter_errors and not results.diagnostics.status.startswith("failed"):
        results.to_frame().to_csv(folder / "parameters.csv", index_label="parameter")
    for plot, name in ((plot_reward, "reward"), (plot_choices, "choices")):
        figure = Figure(layout="constrained")
        plot(results, figure.subplots())
        figure.savefig(folder / f"{name}.png", dpi=150)


def remarks(data: Transitions, estimate: Results, needed: Sequence[str]) -> Iterator[str]:
    """What a user must know of the fit, a line each."""
    diagnostics, state = estimate.diagnostics, list(data.feature_names)
    states, (index,) = index_rows([data.states])
    taken = np.zeros((len(states), data.number_of_actions), dtype=bool)
    taken[index, data.actions] = True
    lacking = np.flatnonzero(~taken.all(axis=1))
    # Else features or a form determine r in states with few choices.
    is_by_state = "reward_inputs" not in diagnostics.extra and "form" not in needed
    if is_by_state and len(lacking):
        yield (
            f"in {len(lacking):,} of {len(states):,} states, the first {', '.join(state)} ="
            f" {', '.join(map(str, states[lacking[0]]))}, some action never occurs: choices there"
            " do not identify r-hat, which is extrapolated for all their actions; pool these states"
            " with others, or use --function-class sparse"
        )
    for key, what in (("reward_inputs", "r"), ("zeta_inputs", "what comes next")):
        if key in diagnostics.extra:
            inputs = np.asarray(diagnostics.extra[key], dtype=int)
            yield f"features chosen for {what}: {', '.join(state[k] for k in inputs) or 'none'}"
    if "theta" in diagnostics.extra:
        named = (f"{name}: {value:.4g}" for name, value in estimate.params.items())
        yield f"parameters: {'; '.join(named)}"
    if "anchor" not in needed and "form" not in needed:
        yield f"{estimate.method} identifies no level of r: compare within a state"
    yield (
        f"{status_of(diagnostics)}: {estimate.method}, {len(data):,} observations,"
        f" {diagnostics.iterations:,} iterations, {diagnostics.nll:.4f} nats per choice,"
        f" {diagnostics.cpu_seconds:.3f} s"
    )


def _pair(text: str) -> tuple[str, str]:
    """The action and the column of `--available`."""
    action, sign, column = text.partition("=")
    if not (action and sign and column):
        hint = "give ACTION=COLUMN, such as replace=allowed; other actions are always available"
        raise InputError("available", text, hint)
    return action, column


def _number_or_name(label: str, data: Transitions) -> int | str:
    """An action as the command was given it."""
    return int(label) if label.isdecimal() and label not in data.action_names else label


def _read(path: Path, out: Path | None) -> pd.DataFrame:
    if path.is_dir():
        raise InputError("table", str(path), "it is a directory: name a file in it")
    if out is not None and out.exists() and not out.is_dir():
        raise InputError("out", str(out), "it is a file: name a folder, which may be new")
    if out is not None and not out.resolve().parent.is_dir():
        raise InputError("out", str(out), "its parent folder does not exist: make it, or name one")
    if out is not None and not os.access(out if out.exists() else out.resolve().parent, os.W_OK):
        raise InputError("out", str(out), "it cannot be written: name a folder of yours")
    is_parquet = path.suffix.lower() in (".parquet", ".pq")
    try:
        return _read_parquet(path) if is_parquet else pd.read_csv(path)
    except FileNotFoundError:
        raise InputError("table", str(path), "there is no such file") from None
    except MissingError:
        raise
    except (OSError, ValueError, MemoryError) as error:  # pandas and pyarrow raise the first two
        what = "Parquet file" if is_parquet else "table of commas (name Parquet .parquet)"
        raise InputError("table", str(path), f"this is no {what}: {error}") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    """Its columns, which share pyarrow's memory where that has them in one piece.

    What the file says of pandas is left out, so that its index is columns as any others, and no
    part of it names a type to be made.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        hint = "Parquet needs pyarrow: pip install pyarrow, or the extra `parquet`"
        raise MissingError("table", str(path), hint) from None
    try:
        with ParquetFile(path) as file:
            table = file.read()
        found: pd.DataFrame = table.to_pandas(ignore_metadata=True, split_blocks=True)
    except ArrowException as error:
        raise ValueError(error) from None
    return found


def command() -> int:
    """`main` for a shell, where a warning is one line."""
    warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
    return main()
