"""`python -m proofs_checks`: decide the claims and write the ledger."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from gladius.checks import InputError
from proofs_checks import decide, ledger, numbering, pages
from proofs_checks.answer import answer
from proofs_checks.claims import claims, find

app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)


@app.command(epilog="Example: python -m proofs_checks lem:BE_PL --examples 5000")
def main(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help='Claims, or numbers as in "Lemma 8"; all claims by default.'),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="Instances of each claim.")] = decide.CI,
    deep: Annotated[bool, typer.Option("--deep", help=f"{decide.DEEP} instances of each.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    build: Annotated[Path, typer.Option(help="Folder of the finished claims.")] = decide.BUILD,
    out: Annotated[Path, typer.Option(help="Folder of the ledger.")] = ledger.GENERATED,
) -> None:
    """Try every checkable claim of the paper; exit 1 if the evidence contradicts a verdict.

    A run of all claims writes claims.csv, claims.tex, CLAIMS.md and ERRATA.md, a page for each
    section under claims/ and the figure of the theorems.
    """
    console = Console()
    number = decide.DEEP if deep else examples
    try:
        named = [id_ for text in ids or () for id_ in numbering.chosen(text, claims())]
        chosen = [find(id_).id for id_ in dict.fromkeys(named or claims())]
    except InputError as error:
        console.print(f"[red]{error}", soft_wrap=True)
        raise typer.Exit(2) from None
    decisions = {}
    for decision in track(
        decide.decisions(chosen, number, workers, build),
        total=len(chosen),
        description="claims",
        console=console,
        disable=not console.is_terminal,
    ):
        decisions[decision.id] = decision
        if not decision.as_recorded:
            verdicts = f"recorded {decision.recorded}, found {decision.verdict}"
            console.print(f"{decision.id}: {verdicts}", style="red")
            console.print(decision.problem, markup=False, soft_wrap=True)
    decided = [decisions[id_] for id_ in chosen]
    if ids:
        for decision in decided:
            told = Table.grid(padding=(0, 2))
            for name, text in answer(claims()[decision.id], decision).items():
                told.add_row(name, Text(text))
            console.print(told, "")
    else:
        ledger.write(claims(), decided, number, out)
        pages.write(out)
        console.print(ledger.counts(decided))
    if not all(decision.as_recorded for decision in decided):
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
