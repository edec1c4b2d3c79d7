"""`python -m proofs_checks`: decide the claims and write the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from gladius.checks import InputError
from proofs_checks import ledger, run
from proofs_checks.decide import CI, DEEP
from proofs_checks.register import claims, find, listed

app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)


@app.command(epilog="Example: python -m proofs_checks lem:BE_PL --examples 5000")
def main(
    ids: Annotated[list[str] | None, typer.Argument(help="Claims; all of them by default.")] = None,
    examples: Annotated[int, typer.Option(min=1, help="Instances of each claim.")] = CI,
    deep: Annotated[bool, typer.Option("--deep", help=f"{DEEP} instances of each.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    build: Annotated[Path, typer.Option(help="Folder of the finished claims.")] = run.BUILD,
    out: Annotated[Path, typer.Option(help="Folder of the ledger.")] = ledger.GENERATED,
    readme: Annotated[bool, typer.Option(help="Rewrite the README's section.")] = True,
) -> None:
    """Decide every checkable claim of the paper; exit 1 if a verdict is not the recorded one.

    A run of all claims writes claims.csv, claims.tex, CLAIMS.md and ERRATA.md.
    """
    console = Console()
    number = DEEP if deep else examples
    try:
        chosen = [find(id_).id for id_ in ids or claims()]
    except InputError as error:
        console.print(f"[red]{error}", soft_wrap=True)
        raise typer.Exit(2) from None
    found = {}
    for one in track(
        run.decisions(chosen, number, workers, build),
        total=len(chosen),
        description="claims",
        console=console,
        disable=not console.is_terminal,
    ):
        found[one.id] = one
        if not one.as_recorded:
            console.print(f"{one.id}: recorded {one.recorded}, found {one.verdict}", style="red")
            console.print(one.problem, markup=False, soft_wrap=True)
    decided = [found[id_] for id_ in chosen]
    if ids:
        for one in decided:
            shown = f"{one.shown.observed} {one.shown.relation} {one.shown.bound}"
            console.print(f"{one.id}: {one.verdict}, {one.instances} instances, {shown}")
    else:
        ledger.write(claims(), decided, number, out)
        if readme:
            ledger.update_readme(claims())
        console.print(f"{len(decided)} claims: {ledger.counts([d.verdict for d in decided])}")
        missing = [id_ for id_ in listed() if id_ not in found]
        if missing:
            console.print(f"without a check: {', '.join(missing)}", style="red")
            raise typer.Exit(1)
    if not all(one.as_recorded for one in decided):
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
