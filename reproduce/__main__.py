"""`python -m reproduce`: list, run, compare and check the exhibits, write the README's sections."""

import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

try:
    import typer
    from rich.console import Console
    from rich.table import Table

    from gladius.validate import InputError
    from reproduce import exhibits
    from reproduce import run as runner
    from reproduce.engine.nouns import Exhibit
    from reproduce.engine.output import costs, read_manifest
    from reproduce.engine.progress import duration
    from reproduce.engine.provenance import ROOT
    from reproduce.engine.worker import one_thread
except ModuleNotFoundError as error:
    raise SystemExit(f"{error.name} is missing: pip install --group checks (pip>=25.1)") from None

app = typer.Typer(
    help="The paper's tables and figures, recomputed and compared with the published numbers.",
    epilog="Example: python -m reproduce run table_2 --workers 2",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
Names = Annotated[list[str] | None, typer.Argument(help="Exhibits; all of them by default.")]
Smoke = Annotated[bool, typer.Option("--smoke", help="A tiny run whose numbers mean nothing.")]
Workers = Annotated[int, typer.Option(help="Processes; 0 computes in this one.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of the results; by default paper_tables/generated, or .smoke."),
]
FILE_WIDTH = 180  # columns, where the output is not a terminal
SHORT_FORMS = "it has short forms of trainings, so that no page was compared"
FAULT, INTERRUPTED = 2, 130  # exit codes; 1: something failed, or was made by other code


def _load(names: list[str] | None = None, kind: str = "all") -> list[Exhibit]:
    if names and kind != "all":
        raise InputError("exhibits", kind, "name exhibits or choose a kind, not both")
    return [exhibits.load(name) for name in dict.fromkeys(names or exhibits.of_kind(kind))]


@app.command("list", epilog="Example: python -m reproduce list")
def list_() -> None:
    """The exhibits, and what the last full run of each took."""
    table = Table("exhibit", "title", "cells", "processor time")
    for name in exhibits.names():
        manifest = read_manifest(runner.GENERATED, name)  # importing the exhibit takes seconds
        if manifest:
            cells, spent = sum(manifest["cells"].values()), duration(manifest["cpu_seconds"])
            table.add_row(name, manifest["title"], str(cells), spent)
        else:
            table.add_row(name, exhibits.load(name).title, "", "not run")
    Console().print(table)


@app.command(epilog="Example: python -m reproduce run table_2 --workers 2 --smoke")
def run(
    names: Names = None,
    kind: Annotated[
        str, typer.Option("--exhibits", help="Without names: paper, own or all.")
    ] = "all",
    smoke: Smoke = False,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    workers: Workers = 1,
    build: Annotated[Path, typer.Option(help="Folder of the finished cells.")] = runner.BUILD,
    out: Out = None,
    recompute_other_versions: Annotated[
        bool, typer.Option("--recompute-other-versions", help="Also what other versions made.")
    ] = False,
    long: Annotated[bool, typer.Option("--long", help="Also what takes hours.")] = False,
    cells: Annotated[
        str, typer.Option(help="I/N: the I-th of N shares of the cells, and no files.")
    ] = runner.WHOLE,
) -> None:
    """Compute the cells that are missing or stale and write the exhibits' files."""
    console, start = Console(), time.monotonic()
    if smoke:
        full = duration(sum(costs(runner.GENERATED).values()))
        console.print(f"A full run took {full} of processor time on the machine in the README.")
    options: dict[str, Any] = {"device": device, "workers": workers}
    options |= {"recompute_other_versions": recompute_other_versions, "long": long, "cells": cells}
    try:
        outcome = runner.run(_load(names, kind), smoke=smoke, build=build, out=out, **options)
    except KeyboardInterrupt:
        console.print("Interrupted. Finished cells are stored; the same command continues.")
        raise typer.Exit(INTERRUPTED) from None
    took = duration(time.monotonic() - start)
    console.print(f"Cells computed: {len(outcome.computed)}, reused: {outcome.reused}, in {took}.")
    if outcome.restored:
        line = f"{outcome.restored} of these are trainings of hours, from {runner.CELLS.name}."
        console.print(line, soft_wrap=True)
    for name, status in outcome.not_ok.items():
        console.print(f"  {status}: {name}", markup=False, soft_wrap=True)
    if cells == runner.WHOLE:
        console.print("Written:", *sorted({str(path.parent) for path in outcome.files}))
    else:
        line = f"This was share {cells}, in {build}. When all are computed, copy their folders"
        console.print(f"{line} into one, and run without --cells.", soft_wrap=True)
    for name, why in outcome.unchanged.items():
        line = f"{name}: no cell has a number ({why}), so its files are still those of before"
        console.print(line, markup=False, soft_wrap=True, style="yellow")
    if outcome.failed:
        console.print(f"Failed ({len(outcome.failed)}):", style="bold red")
        for name, why in outcome.failed.items():
            console.print(f"  {name}: {why}", markup=False, soft_wrap=True)
        raise typer.Exit(1)


@app.command(epilog="Example: python -m reproduce compare table_2")
def compare(
    names: Names = None,
    smoke: Smoke = False,
    other: Annotated[
        Path | None,
        typer.Option("--with", help="Our numbers in this folder, in place of the published ones."),
    ] = None,
    out: Out = None,
) -> None:
    """Published number, ours, standard errors and a verdict, column by column.

    The counterpart of each printed number comes first and is counted; variants follow.
    """
    from reproduce.paper import compare as comparison

    folder = out or (runner.SMOKE if smoke else runner.GENERATED)
    console = Console(width=None if sys.stdout.isatty() else FILE_WIDTH)
    if other is not None:
        compare_with(_load(names), folder, other)
        return
    for exhibit in [exhibit for exhibit in _load(names) if exhibit.published]:
        if not names and not (folder / f"{exhibit.name}.csv").is_file():
            console.print(f"{exhibit.name}: not run yet", style="dim")
            continue
        frame = comparison.compare(exhibit, folder)
        console.print(comparison.table(frame, exhibit.title, smoke))
        console.print("\n".join(comparison.summary(frame)), "\n")


def compare_with(loaded: list[Exhibit], folder: Path, other: Path) -> None:
    """Print our numbers in `other` that differ from those in `folder`; exit 1 if there are any."""
    from reproduce.paper import differences

    lines = differences.compare_folders(loaded, folder, other)
    print(lines.to_string(index=False) if len(lines) else "No number differs.")
    if len(lines):
        raise typer.Exit(1)


@app.command(epilog="Example: python -m reproduce check")
def check(out: Out = None) -> None:
    """Draw all exhibits and pages again, and exit 1 if a committed one is another, or older."""
    from reproduce.engine import check as checks
    from reproduce.pages import readme as writer

    folder, loaded, console = out or runner.GENERATED, _load(), Console(soft_wrap=True)
    is_committed = (
        folder.resolve() == runner.GENERATED
    )  # another folder has other cells, and no pages
    findings = checks.check(loaded, folder, runner.CELLS if is_committed else None)
    short = writer.with_short_forms(loaded, folder) if is_committed else []
    findings += [checks.Finding(name, others=(SHORT_FORMS,)) for name in short]
    if is_committed and not short:
        pages = writer.outdated(ROOT / "README.md", loaded, findings, folder)
        for path in pages:
            name = path.relative_to(folder) if path.is_relative_to(folder) else path.name
            findings.append(checks.Finding(str(name), others=(checks.STALE,)))
    for finding in findings:
        result = "; ".join([*finding.problems, *finding.others]) or "of this tree"
        notes = f" ({', '.join(finding.notes)})" if finding.notes else ""
        console.print(f"{finding.name}: {result}{notes}", markup=False, highlight=False)
    if any(finding.problems or finding.others for finding in findings):
        raise typer.Exit(1)


@app.command(epilog="Example: python -m reproduce readme")
def readme() -> None:
    """Write the README's sections, EXHIBITS.md and verdicts.csv, a line a printed number."""
    from reproduce.engine import check as checks
    from reproduce.pages import readme as writer

    loaded = _load()
    if names := writer.with_short_forms(loaded, runner.GENERATED):
        line = f"{', '.join(names)} with short forms of trainings of hours: pages stay as they are."
        Console().print(line, "The trainings are those of run --long.", soft_wrap=True)
        return
    findings = checks.check(loaded, runner.GENERATED)
    changed = writer.update(ROOT / "README.md", loaded, findings, runner.GENERATED)
    Console().print("\n".join(f"{p.name} updated." for p in changed) or "All up to date.")


def main() -> None:
    """Run the command; a bad input is one line, not a traceback."""
    console = Console(stderr=True, soft_wrap=True)

    def warn(message: Warning | str, *where: Any, **more: Any) -> None:
        console.print(f"Warning: {message}", markup=False, style="yellow")

    warnings.showwarning = warn
    # joblib's word on a worker whose memory grew by an import: another takes its place
    warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
    one_thread()
    try:
        app()
    except InputError as error:
        console.print(f"Error: {error}", markup=False, style="red")
        raise SystemExit(FAULT) from None


if __name__ == "__main__":
    main()
