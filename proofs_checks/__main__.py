"""`python -m proofs_checks`: decide the claims of the paper, each anew."""

from typing import Annotated

try:
    import typer
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table
    from rich.text import Text

    from gladius.validate import InputError
    from proofs_checks.claims import decide, numbering
    from proofs_checks.claims.claims import claims, find
    from proofs_checks.ledger import ledger, wording
except ModuleNotFoundError as error:
    raise SystemExit(f"{error.name} is missing: pip install --group checks (pip>=25.1)") from None

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
) -> None:
    """Try every checkable claim of the paper; exit 1 if the evidence contradicts a verdict.

    `python -m reproduce run ledger` and then `readme` write the committed ledger and its pages.
    """
    console = Console()
    try:
        named = [id_ for text in ids or () for id_ in numbering.ids_of(text, claims())]
        ids_to_decide = [find(id_).id for id_ in dict.fromkeys(named or claims())]
    except InputError as error:
        console.print(f"[red]{error}", soft_wrap=True)
        raise typer.Exit(2) from None
    decisions = {}
    for decision in track(
        decide.decisions(ids_to_decide, decide.DEEP if deep else examples, workers),
        total=len(ids_to_decide),
        description="claims",
        console=console,
        disable=not console.is_terminal,
    ):
        decisions[decision.id] = decision
        if not decision.as_recorded:
            verdicts = f"recorded {decision.recorded}, found {decision.verdict}"
            console.print(f"{decision.id}: {verdicts}", style="red")
            console.print(decision.problem, markup=False, soft_wrap=True)
    decided = [decisions[id_] for id_ in ids_to_decide]
    if ids:
        for decision in decided:
            facts = Table.grid(padding=(0, 2))
            for name, text in ledger.answer(claims()[decision.id], decision).items():
                facts.add_row(name, Text(text))
            console.print(facts, "")
    else:
        console.print(wording.counts({decision.id: decision.verdict for decision in decided}))
    if not all(decision.as_recorded for decision in decided):
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
