"""`python -m reproduce.workers`: the same exhibits by one worker, by several, by Dask, interrupted.

Each way computes them from nothing, in folders of its own. Told are the seconds that passed, with
the start of all processes, and whether every file of results has the bytes that one worker gives.
The figure puts beside them how much faster a run of everything would end by what each cell had
taken when it was drawn (the exhibits' manifests).
"""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import joblib
import pandas as pd
import typer
from rich.console import Console

from reproduce import exhibits, layout
from reproduce.progress import finish
from reproduce.provenance import ROOT, sha256
from reproduce.run import GENERATED, in_order

EXHIBITS = ("wide_networks", "tightness")  # many small cells, and two that are not
DRAWN = (1, 2, 4, 8, 16, 32, 64, 128)  # workers in the figure
MIDWAY = 10  # cells, after which a run is interrupted
INTERRUPTED = 130  # exit code

app = typer.Typer(add_completion=False)


def command(names: Sequence[str], folder: Path, options: Sequence[str]) -> list[str]:
    """A run in folders of its own."""
    places = ("--build", str(folder / "cells"), "--out", str(folder / "out"))
    return [sys.executable, "-m", "reproduce", "run", *names, *places, *options]


def complete(line: Sequence[str], _: Path) -> None:
    """Run to the end."""
    subprocess.run(line, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def resume(line: Sequence[str], folder: Path) -> None:
    """Interrupt a run midway and run it again."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background job
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and len(list(folder.glob("cells/*/*.json"))) < MIDWAY:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    if process.returncode != INTERRUPTED:
        fault = f"the run ended with {process.returncode} before its interruption"
        raise RuntimeError(f"{fault} after {MIDWAY} cells (MIDWAY); interrupt it earlier")
    complete(line, folder)


def results(folder: Path) -> dict[str, str]:
    """SHA-256 of the files with results; times differ between any two runs."""
    files = [path for path in sorted((folder / "out").iterdir()) if path.is_file()]
    return {path.name: sha256(path) for path in files if not path.stem.endswith("_timings")}


def cluster(workers: int) -> Any:
    """Dask's scheduler and that many worker processes on this machine."""
    from distributed import LocalCluster

    return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)


def measure(names: Sequence[str], cores: int, console: Console) -> pd.DataFrame:
    """A line for each way: its seconds, and how many of its files are those of one worker."""
    ways: list[tuple[str, int, Callable[[Sequence[str], Path], None]]] = [
        *(("processes", n, complete) for n in sorted({*DRAWN, cores}) if n <= cores),
        ("Dask", cores, complete),
        ("interrupted, run again", cores, resume),
    ]
    lines, first = list[tuple[Any, ...]](), dict[str, str]()
    for way, workers, run in ways:
        console.print(f"{way}, {workers} ...")
        start = time.perf_counter()
        with (
            TemporaryDirectory() as temporary,
            cluster(workers) if way == "Dask" else nullcontext() as scheduler,
        ):
            options = ["--workers", str(workers)]
            if scheduler is not None:
                options = ["--dask", scheduler.scheduler_address]
            run(command(names, Path(temporary), options), Path(temporary))
            seconds, made = time.perf_counter() - start, results(Path(temporary))
        first = first or made
        files = first.keys() | made.keys()
        same = sum(made.get(name) == first.get(name) for name in files)
        lines.append((way, workers, seconds, len(files), same))
    columns = ["way", "workers", "seconds", "files", "same_bytes"]
    frame = pd.DataFrame(lines, columns=pd.Index(columns))
    frame.insert(3, "times_faster", frame["seconds"].iloc[0] / frame["seconds"])
    return frame


def draw(frame: pd.DataFrame, taken: Sequence[float], out: Path) -> None:
    """Times faster than one worker, by the cells' costs and as measured."""
    figure = layout.new_figure(layout.COLUMN_WIDTH, 2.6)
    axes = figure.add_subplot()
    expected = [sum(taken) / finish(taken, size) for size in DRAWN]
    axes.plot(DRAWN, DRAWN, ":", color=layout.GREY, linewidth=0.8, label="as many times as workers")
    label = f"all {len(taken):,} cells, by their processor times"
    axes.plot(DRAWN, expected, "-o", color=layout.BLUE, markersize=3, linewidth=1, label=label)
    processes = frame[frame["way"] == "processes"]
    points: dict[str, Any] = {"color": layout.VERMILION, "markersize": 5, "linestyle": "none"}
    told = f"measured on {', '.join(EXHIBITS)}"
    axes.plot(processes["workers"], processes["times_faster"], "s", label=told, **points)
    layout.log_log(axes, DRAWN, DRAWN)
    layout.words(axes, "workers", "times faster than one worker")
    layout.legend_below(figure, axes, 1)
    layout.save(figure, out, "workers")


@app.command(epilog="Example: python -m reproduce.workers")
def main(
    cores: Annotated[int, typer.Option(min=1, help="Workers at the most.")] = joblib.cpu_count(),
    out: Annotated[Path, typer.Option(help="Where the CSV and the figure go.")] = GENERATED,
) -> None:
    """Time the same exhibits with 1 to CORES workers, and compare every byte (some minutes)."""
    out.mkdir(parents=True, exist_ok=True)
    frame = measure(EXHIBITS, cores, Console(soft_wrap=True, markup=False))
    layout.write_csv(frame, out / "workers.csv", 4)
    everything = [exhibits.load(name) for name in exhibits.names()]
    draw(frame, in_order(everything, GENERATED), out)
    typer.echo(frame.to_string(index=False))
    if bool((frame["same_bytes"] < frame["files"]).any()):
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
