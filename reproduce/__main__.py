"""`python -m reproduce`: list, run and compare the exhibits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from gladius.checks import InputError
from reproduce import comparison, engine, exhibits, tasks
from reproduce import readme as readme_
from reproduce.provenance import ROOT

app = typer.Typer(
    help="The paper's tables and figures, recomputed and compared with the published numbers.",
    epilog="Example: python -m reproduce run table_2 --workers 2",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
Names = Annotated[list[str] | None, typer.Argument(help="Exhibits; all of them by default.")]
Smoke = Annotated[bool, typer.Option("--smoke", help="A tiny run whose numbers mean nothing.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of the results; by default paper_tables/generated, or .smoke."),
]
FILE_WIDTH = 180  # columns, where the output is not a terminal


@app.command("list", epilog="Example: python -m reproduce list")
def list_() -> None:
    """The exhibits, and how many cells each has."""
    table = Table("exhibit", "title", "cells", "depends on")
    for name in exhibits.names():
        one = exhibits.load(name)
        number = sum(not c.not_run for c in one.checked_cells(False))
        table.add_row(name, one.title, str(number), ", ".join(one.depends))
    Console().print(table)


@app.command(epilog="Example: python -m reproduce run table_2 --workers 2 --smoke")
def run(
    names: Names = None,
    smoke: Smoke = False,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    workers: Annotated[int, typer.Option(help="Processes; 0 computes in this one.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="Run on a Dask cluster: a scheduler's address, or `local`.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Leave out an exhibit.")] = None,
    build: Annotated[Path, typer.Option(help="Folder of the finished cells.")] = engine.BUILD,
    out: Out = None,
) -> None:
    """Compute the cells that are missing or stale and write the exhibits' files."""
    console = Console()
    left_out = {exhibits.load(name).name for name in skip or ()}
    chosen = exhibits.with_dependencies([n for n in names or exhibits.names() if n not in left_out])
    mine = {e.name for e in chosen}
    shown = [exhibits.load(s) for e in chosen for s in e.shows if s not in mine]
    outcome = engine.run(
        chosen,
        shown=shown,
        smoke=smoke,
        device=device,
        workers=workers,
        dask=dask,
        build=build,
        out=out,
    )
    console.print(f"Cells computed: {len(outcome.computed)}, reused: {outcome.reused}.")
    for name, status in outcome.not_ok.items():
        console.print(f"  {status}: {name}", markup=False)
    if outcome.stale:
        console.print("Not shown, since their sources have changed:")
        console.print(*(f"  {name}" for name in outcome.stale), sep="\n", markup=False)
    console.print("Written:", *sorted({str(path.parent) for path in outcome.files}))
    if outcome.failed:
        console.print(f"Failed ({len(outcome.failed)}):", style="bold red")
        for name, why in outcome.failed.items():
            console.print(f"  {name}: {why}", markup=False)
        raise typer.Exit(1)


@app.command(epilog="Example: python -m reproduce compare table_2")
def compare(names: Names = None, smoke: Smoke = False, out: Out = None) -> None:
    """Published number, ours, standard errors and a verdict for every cell."""
    folder = out or (engine.SMOKE if smoke else engine.GENERATED)
    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    chosen = [exhibits.load(n) for n in names or exhibits.names()]
    chosen = [e for e in chosen if e.published]
    for exhibit in chosen:
        frame = comparison.compare(exhibit, folder)
        console.print(comparison.table(frame, exhibit.title, smoke))
        console.print(comparison.summary(frame), "\n")


@app.command(epilog="Example: python -m reproduce readme")
def readme() -> None:
    """Write the README's table of exhibits."""
    changed = readme_.update(ROOT / "README.md", engine.GENERATED)
    Console().print("README.md", "updated." if changed else "was up to date.")


def main() -> None:
    """Run the command; a bad input is one line, not a traceback."""
    tasks.one_thread()
    try:
        app()
    except InputError as error:
        Console(stderr=True).print(f"Error: {error}", markup=False, style="red")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
