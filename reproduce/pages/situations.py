"""The errors of all methods side by side, by the number of inputs that do not matter."""

from gladius.validate import InputError
from reproduce.cells.converging import TRAJECTORIES
from reproduce.exhibits import converging
from reproduce.pages.numbers import Numbers
from reproduce.paper.judge import number
from reproduce.paper.published import PUBLIC

INPUTS = (0, 2, 20, 100)
NOT_RUN, REFUSED = "not run", "refused"
Source = tuple[str, str, str, str] | str  # exhibit, row, column, protocol; or why there is none


def of_study(which: tuple[str, str]) -> dict[int, Source]:
    """The sources of a line of `converging`."""
    rows = {k: str(k) if k else converging.size_row(TRAJECTORIES) for k in INPUTS}
    return {k: (converging.NAME, row, *which) for k, row in rows.items()}


def of_figure(column: str, protocol: str) -> dict[int, Source]:
    """The sources of a line of Figure 1, without 0, which is in Table 2."""
    return {k: ("figure_1", str(k), column, protocol) for k in INPUTS[1:]}


def of_tables(column: str, at_0: str) -> dict[int, Source]:
    """The sources in Table 2 and in Figure 1."""
    return {0: ("table_2", str(TRAJECTORIES), column, at_0)} | of_figure(column, "leak_free")


def without_inputs(which: tuple[str, str]) -> dict[int, Source]:
    """The source in `converging`, of a method on frequencies, which refuses more inputs."""
    return dict.fromkeys(INPUTS, REFUSED) | {0: of_study(which)[0]}


LINES = {
    "maximum likelihood, form of r known": without_inputs(converging.LIKELIHOOD),
    "counting, the plug-in": without_inputs(converging.PLUG_IN),
    "profiled ERM, our default": of_study(converging.SPARSE) | {0: of_study(converging.SMOOTH)[0]},
    "profiled ERM, a network of all inputs": of_study(converging.NETWORK),
    "GLADIUS with an exact inner step (ours), all inputs": of_study(converging.ORACLE),
    "the same, inputs by halving": of_study(converging.HALVING),
    "public procedure, last epoch": of_study(converging.PUBLIC_LAST)
    | of_figure("GLADIUS", f"{PUBLIC} last"),
    "public procedure, least held-out loss": of_study(converging.PUBLIC_HELD_OUT)
    | of_figure("GLADIUS", f"{PUBLIC} held-out"),
    "public procedure, least training loss": of_study(converging.PUBLIC_TRAINED)
    | of_figure("GLADIUS", f"{PUBLIC} trained"),
    "public procedure, epoch by the true r": of_study(converging.PUBLIC_BEST)
    | of_figure("GLADIUS", f"{PUBLIC} best"),
    "SAmQ, form of r and r of replacing known": of_tables("SAmQ", "leak_free"),
    "IQ-learn": of_tables("IQ-learn", "leak_free"),
    "BC": of_tables("BC", "leak_free network"),
}


def side_by_side(numbers: Numbers) -> list[list[str]]:
    """Method, and its error for each of INPUTS: `mean (standard error; data sets)`.

    A dagger stands where a fit did not converge, and NOT_RUN or REFUSED where there is no number.
    """
    return [
        [name, *(written(numbers, of.get(k, NOT_RUN)) for k in INPUTS)]
        for name, of in LINES.items()
    ]


def written(numbers: Numbers, source: Source) -> str:
    """One error with its standard error and its number of data sets."""
    if isinstance(source, str):
        return source
    try:
        line = numbers.line(*source)
    except InputError:
        return NOT_RUN
    mark = "" if line["status"] == "ok" else "†"
    n = line["repetitions"]
    spread = f"{number(line['se'])}; {n:.0f}" if n > 1 else "one training"
    return f"{number(line['value'])}{mark} ({spread})"
