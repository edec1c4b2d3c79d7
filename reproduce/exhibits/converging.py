"""Does GLADIUS work if its inner step is exact, and which of its steps makes it work?

The protocol `max_oracle` of GLADIUS is ours: the paper's network and risk with its printed sign,
zeta's head by least squares and the level of Q from the anchor's equation. Here it is run on fresh
data sets, beside profiled ERM, the plug-in and maximum likelihood on the same ones, without any use
of the true reward but in the score. No printed number is compared with it.

The rule of comparison was written before a data set of the stream `inner_step` was drawn. (The
method's defaults were chosen on other data sets.) The public procedure was added when the data sets
up to N = 1,000 had been drawn for the others, and before it had seen one.

- K = 0: SETS data sets at each N of Table 2. K irrelevant inputs, N = 1,000: INPUT_SETS at each K,
  with the same paths of mileage at every K. Another design: INPUT_SETS at N = 1,000.
- The options are the defaults. With all inputs used (`select=False`) held-out trajectories choose
  the number of steps (`stop`), because on development data the error at K = 20 rose from 4 to 7 per
  cent between 200 and 600 steps; trainings are in single precision, which moved it by .003 there.
  The first data sets of each K are fitted, ALL_SETS up to K = FEW and ALL_SETS_ABOVE above it.
- `selected` is given the inputs that the score tests of profiled ERM choose, and uses them all.
  `halving` chooses inputs by its own rule. A fit takes minutes above K = FEW, so that ALL_SETS
  data sets are halved there (decided by time, before one was drawn).
- Of two estimators the differences on the same data sets count, the first ones where one has more.
  The first is no worse if their mean is at most MARGIN per cent of the other's mean error.
- Targets: no worse than the plug-in at each N and on each other design; no worse at each N than the
  last epoch of the public procedure, which starts at the true level of Q; all inputs no worse than
  profiled ERM with a network of all inputs, and `selected` no worse than its class `sparse`, at
  each K. All inputs within TO_DENSE of the bound with a coefficient for each input, `selected`
  within TO_SPARSE of the bound with mileage alone. The slope of log error in log N is between
  SLOPE's ends.
- The verdict on each target is a test of a mean (`targets`), with Holm's correction over all of
  them that were run. A fit that did not converge counts as the others.
- The ablation changes one thing at a time, or what its line names, on the first INPUT_SETS data
  sets of N = 1,000, and on those of `random anchor`. There the anchor's next state varies, so that
  dev is not 0 in its rows, and the sign can matter.
- The rule of the ablation: a line is compared with `as it is` on the same data sets, by the mean of
  the differences with its interval by Student's t, and by their median with that of the sign test,
  which holds however far a training diverges. By the latter a change is SAME where the interval is
  within MARGIN per cent of the mean error as it is, WORSE or BETTER where it lies on one side of 0,
  and OPEN where it does not. These are 95 % intervals, one in twenty misses, and none is a target.
  The rule was written when ten lines had been seen, and before one was run of a rate of .003, of
  the level by Adam from -55, of the sign crossed with the start, or of `random anchor`. Trials of
  such lines on three of the data sets had been seen.
- Inputs that matter (MATTER): ALL_SETS data sets of each of two designs, ALL_SETS_ABOVE for those
  that train networks. They were added last, because all others have inputs that do not matter. What
  is fitted, with which options, and which differences are shown was written before a data set of
  this stream was drawn, and when one fit to another data set had been seen. They are no target.
- The data of the public code's seed had been looked at before, so they are shown and not tested.
- The public procedure's epochs of the least loss, on held-out and on training data, were added when
  its last and best epochs on these data sets had been seen. Their rule is that of
  `public_trainings`, which is older. They are no targets. When their mean errors had been seen, we
  decided to compare them as the last epoch is, and the three epochs that a user can take with
  the plug-in (LATER). Holm's correction is over these comparisons alone, and moves no target.

These cells take hours, and only a run with --long computes them. Without it a short form, on data
sets of its own, has K = 0 alone. `pieces` are in the order of what answers most, and `piece` makes
an exhibit of one, so that they can be run one after the other.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import quantile_test
from scipy.stats import t as student

from reproduce.cells.bus_exact import BOUND, MEASURED, bound_cell, bound_entry, bound_protocol
from reproduce.cells.converging import (
    DESIGNS,
    FIRST,
    MILEAGE,
    SCORES,
    SHORT_STREAM,
    SMOKE_OPTIONS,
    STREAM,
    TRAJECTORIES,
    USED,
    fitting,
    paths_cell,
)
from reproduce.cells.fits import SMOKE_TRAJECTORIES
from reproduce.cells.fits import TRAJECTORIES as SIZES
from reproduce.cells.fits_author import EPOCHS_SHOWN, LEGAL, epoch_records, training
from reproduce.cells.inputs_designs import MATTER
from reproduce.cells.public_trainings import RISK_EVERY
from reproduce.drawing import layout
from reproduce.drawing.notes import notes
from reproduce.engine.nouns import (
    LONG,
    SEVERITY,
    SHORT_FORM,
    Array,
    Cell,
    Entry,
    Exhibit,
    Record,
    Result,
    short_form,
)
from reproduce.engine.view import View, mean_of
from reproduce.exhibits.accuracy import Check, Target, check, counted, write_checks
from reproduce.paper import published
from reproduce.paper.judge import number
from reproduce.paper.targets import interval, verdicts
from reproduce.paper.verdicts import OnTarget

NAME, EXACT_STEP = "converging", "GLADIUS with an exact inner step (ours)"
EPOCHS = f"{NAME}_epochs"  # of the public procedure: a table
SETS, INPUT_SETS, ALL_SETS, ALL_SETS_ABOVE, SHORT_SETS = 40, 20, 10, 5, 5
INPUTS, SMOKE_INPUTS = (2, 5, 20, 50, 100), (4,)
FEW = 20  # inputs up to which a piece is early
MARGIN, TO_DENSE, TO_SPARSE, SLOPE = 5.0, 1.5, 1.3, (-0.6, -0.4)
OF_SLOPE = "slope of log error in log N"
ROUNDING = 1e-6  # of two fits to the same data
COLUMN = "max-oracle"
ORACLE, HALVING = (COLUMN, "fresh"), (f"{COLUMN}, halving", "fresh")
ON_PUBLIC = (COLUMN, published.PUBLIC)
SELECTED = (f"{COLUMN}, selected", "fresh")
SHORT = f"fresh {SHORT_FORM}"
PLUG_IN, LIKELIHOOD = ("Plug-in", "fresh"), ("maximum likelihood", "fresh")
PUBLIC = "public procedure"
PUBLIC_LAST, PUBLIC_BEST = ((PUBLIC, f"fresh {epoch}") for epoch in EPOCHS_SHOWN)
PUBLIC_HELD_OUT, PUBLIC_TRAINED = ((PUBLIC, f"fresh {epoch}") for epoch in LEGAL)
SMOOTH, SPARSE, NETWORK = ((published.OURS, f"fresh {x}") for x in ("smooth", "sparse", "network"))
OF_MILEAGE = (published.OURS, f"fresh {FIRST}")
DENSE_BOUND, SPARSE_BOUND = (BOUND, f"{MEASURED} dense"), (BOUND, f"{MEASURED} sparse")
DEFAULTS: dict[str, Any] = {"protocol": "max_oracle"}
EVERY_INPUT: dict[str, Any] = {"select": False, "stop": True, "single": True}
NETWORK_OPTIONS: dict[str, Any] = {"function_class": "mlp", "restricted": False}
# column and protocol -> method and options
AT_SIZES: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ORACLE: ("gladius", DEFAULTS),
    PLUG_IN: ("plug_in", {}),
    SMOOTH: ("profiled_erm", {}),
    LIKELIHOOD: ("nfxp", {}),
}
ON_DESIGNS, IN_SHORT = (ORACLE, PLUG_IN, SMOOTH), (ORACLE, PLUG_IN)
ABLATION, AS_IT_IS = "ablation", "as it is"
SAME, WORSE, BETTER, OPEN = "same", "worse", "better", "open"
SLOW, LOW = {"rate": 0.003}, {"start_level": -55.0}  # a tenth of the rate; about the true level
# what is changed -> the options that change it
CHANGES: dict[str, dict[str, Any]] = {
    "absolute value in place of the sign": {"absolute": True},
    "zeta: one Adam step": {"ascents": 1},
    "zeta: ten Adam steps": {"ascents": 10},
    "zeta: ten Adam steps, rate .003": {"ascents": 10} | SLOW,
    "rate .003": SLOW,
    "level of Q by Adam": {"closed_level": False},
    "level of Q by Adam, from -55": {"closed_level": False} | LOW,
    "start at level 0": {"start_level": 0.0},
    "start at level -55": LOW,
    "a ridge of .001": {"ridge": 1e-3},
    "one moment for each weight": {"block_moments": False},
}
ALL_ADAM = {"ascents": 1, "closed_level": False, "block_moments": False}
CHANGES |= {
    "all by Adam, printed sign, from 0": ALL_ADAM | {"start_level": 0.0},
    "all by Adam, printed sign, from -55": ALL_ADAM | LOW,
    "all by Adam, absolute value, from 0": ALL_ADAM | {"absolute": True, "start_level": 0.0},
    "all by Adam, absolute value, from -55": ALL_ADAM | {"absolute": True} | LOW,
}
RANDOM_ANCHOR = "random anchor"  # of DESIGNS
ON_RANDOM_ANCHOR = (
    "absolute value in place of the sign",
    "zeta: ten Adam steps, rate .003",
    "level of Q by Adam, from -55",
    "all by Adam, printed sign, from -55",
    "all by Adam, absolute value, from -55",
)
# lines of the figure of paths
PATHS: dict[str, dict[str, Any]] = {
    "both solved for": {},
    "zeta by an Adam step": {"ascents": 1},
    "level by Adam": {"closed_level": False},
    "both by Adam": {"ascents": 1, "closed_level": False},
}
PATHS_ROW, PATHS_COLUMN = "paths", "one data set"


def size_row(trajectories: int) -> str:
    """The row of one N without further inputs."""
    return f"N={trajectories}"


def changed(name: str) -> tuple[str, str]:
    """The column and protocol of a change."""
    return ABLATION, f"fresh {name}"


def oracle(repetitions: int, smoke: bool, changes: Mapping[str, Any], **settings: Any) -> Cell:
    """The cell of GLADIUS with an exact inner step with these options."""
    return fitting("gladius", repetitions, smoke, DEFAULTS | dict(changes), **settings)


def pieces(smoke: bool) -> dict[str, list[Entry]]:
    """The entries in an order in which they can be run, what answers most first."""
    sizes = SMOKE_TRAJECTORIES if smoke else SIZES
    few = [k for k in (SMOKE_INPUTS if smoke else INPUTS) if k <= FEW]
    many = [k for k in (SMOKE_INPUTS if smoke else INPUTS) if k > FEW]
    main = size_row(sizes[0] if smoke else TRAJECTORIES)
    of_sizes = [
        Entry(size_row(n), *which, fitting(method, SETS, smoke, options, trajectories=n))
        for n in sizes
        for which, (method, options) in AT_SIZES.items()
    ]
    given = {"repetitions": SHORT_SETS, "seeds": SHORT_STREAM}
    short = [
        Entry(e.row, e.column, SHORT, short_form(e.cell, **given))
        for e in of_sizes
        if (e.column, e.protocol) in IN_SHORT and not smoke
    ]
    public = [
        Entry(size_row(n), PUBLIC, f"fresh {epoch}", public_training(n, smoke), f"MAPE {epoch}")
        for n in sizes
        for epoch in (*EPOCHS_SHOWN, *LEGAL)
    ]
    on_public = [Entry(size_row(n), *ON_PUBLIC, public_fit(n, 0, smoke)) for n in sizes]
    on_public += [
        Entry(str(k), *ON_PUBLIC, public_fit(TRAJECTORIES, k, smoke)) for k in [*few, *many]
    ]
    bounds = [bound_entry(size_row(n), n) for n in sizes]
    bounds += [
        Entry(str(k), *which, bound_cell(k, which == DENSE_BOUND))
        for k in [*few, *many]
        for which in (SPARSE_BOUND, DENSE_BOUND)
    ]
    ablation = [
        Entry(main, *changed(name), oracle(INPUT_SETS, smoke, changes))
        for name, changes in CHANGES.items()
    ]
    on_random = {"design": RANDOM_ANCHOR}
    ablation += [
        Entry(RANDOM_ANCHOR, *changed(x), oracle(INPUT_SETS, smoke, CHANGES[x], **on_random))
        for x in ON_RANDOM_ANCHOR
    ]
    paths = [Entry(PATHS_ROW, PATHS_COLUMN, "fresh", paths_cell(PATHS, smoke))]
    if not smoke:
        cell = short_form(paths[0].cell, seeds=SHORT_STREAM)
        paths.append(Entry(PATHS_ROW, PATHS_COLUMN, SHORT, cell))
    designs = [
        Entry(design, *which, fitting(method, INPUT_SETS, smoke, dict(options), design=design))
        for design in DESIGNS
        for which, (method, options) in AT_SIZES.items()
        if which in ON_DESIGNS
    ]
    mattering = [entry for design in MATTER for entry in with_mattering(design, smoke)]
    return {
        "K = 0": [*of_sizes, *short, *bounds],
        "inputs that matter": mattering,
        f"chosen inputs, K up to {FEW}": with_inputs(few, smoke),
        "ablation": [*ablation, *paths],
        "other designs": designs,
        "public data": on_public,
        "public procedure": public,
        f"chosen inputs, K above {FEW}": with_inputs(many, smoke),
        f"all inputs, K up to {FEW}": with_all_inputs(few, smoke),
        f"all inputs, K above {FEW}": with_all_inputs(many, smoke),
    }


def public_training(trajectories: int, smoke: bool) -> Cell:
    """The public procedure on the data sets of one N."""
    cell = training(trajectories, smoke)
    own = {"seeds": SHORT_STREAM} if smoke else {"seeds": STREAM, "repetitions": SETS, LONG: True}
    settings = {**cell.settings, **own, "risk_every": RISK_EVERY}
    return replace(cell, settings=settings, label=f"{cell.label}, {STREAM}")


def public_fit(trajectories: int, inputs: int, smoke: bool) -> Cell:
    """The exact inner step with its defaults on the data of the public code's seed."""
    settings = {
        "method": "gladius",
        "options": DEFAULTS | (SMOKE_OPTIONS if smoke else {}),
        "trajectories": trajectories,
        "dummies": inputs,
    }
    settings |= {} if smoke else {LONG: True}
    return Cell("public_fit", settings, f"public data, {COLUMN}, N = {trajectories}, K = {inputs}")


def with_inputs(numbers: Sequence[int], smoke: bool) -> list[Entry]:
    """Fits that choose inputs, at these K."""
    sparse, listed = {"function_class": "sparse"}, list[Entry]()
    for k in numbers:
        chosen = {"inputs": k, "chosen_by": SCORES}
        cells = {
            SELECTED: oracle(INPUT_SETS, smoke, {"select": False}, **chosen),
            HALVING: oracle(INPUT_SETS if k <= FEW else ALL_SETS, smoke, {}, inputs=k),
            SPARSE: fitting("profiled_erm", INPUT_SETS, smoke, sparse, inputs=k),
        }
        listed += [Entry(str(k), *which, cell) for which, cell in cells.items()]
    return listed


def with_all_inputs(numbers: Sequence[int], smoke: bool) -> list[Entry]:
    """Networks of all inputs, at these K."""
    options, listed = NETWORK_OPTIONS | ({"steps": 10} if smoke else {}), list[Entry]()
    for k in numbers:
        sets = ALL_SETS if k <= FEW else ALL_SETS_ABOVE
        cells = {
            ORACLE: oracle(sets, smoke, EVERY_INPUT, inputs=k),
            NETWORK: fitting("profiled_erm", sets, smoke, options, inputs=k),
        }
        listed += [Entry(str(k), *which, cell) for which, cell in cells.items()]
    return listed


def with_mattering(design: str, smoke: bool) -> list[Entry]:
    """Fits where ten inputs matter, and one to the mileage alone, which ignores them."""
    steps = {"steps": 10} if smoke else {}
    fits: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
        ORACLE: ("gladius", DEFAULTS | EVERY_INPUT),
        HALVING: ("gladius", DEFAULTS),
        SPARSE: ("profiled_erm", {"function_class": "sparse"}),
        NETWORK: ("profiled_erm", NETWORK_OPTIONS | steps),
    }
    sets = dict.fromkeys(fits, ALL_SETS_ABOVE) | {SPARSE: ALL_SETS}
    alone = fitting("profiled_erm", ALL_SETS, smoke, {}, design=design, chosen_by=FIRST)
    return [
        *(
            Entry(design, *which, fitting(method, sets[which], smoke, options, design=design))
            for which, (method, options) in fits.items()
        ),
        Entry(design, *OF_MILEAGE, alone),
    ]


def entries(smoke: bool) -> list[Entry]:
    """All pieces."""
    return [entry for piece in pieces(smoke).values() for entry in piece]


def piece(name: str) -> Exhibit:
    """An exhibit of one of `pieces` alone, for `reproduce.run.run` with another folder `out`."""

    def of_piece(smoke: bool) -> list[Entry]:
        return pieces(smoke)[name]

    return Exhibit(NAME, name, of_piece)


# --- targets
def slope(results: View, which: tuple[str, str] = ORACLE) -> Check | None:
    """Of log error in log N: a line through the mean log errors, which have their own variances."""
    rows = {int(row[2:]): results.replications(row, *which) for row in sizes_of(results)}
    if len(rows) < 2 or any(len(x) < 2 for x in rows.values()):
        return None
    x = np.log([*rows])
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    logs = [np.log(errors) for errors in rows.values()]
    value = float(weights @ [y.mean() for y in logs])
    variance = weights**2 @ [y.var(ddof=1) / len(y) for y in logs]
    target = Target(which, "", *SLOPE, ("slope", "in log N"), OF_SLOPE)
    return Check("all N", target, value, math.sqrt(variance), sum(map(len, logs)))


def sizes_of(results: View) -> list[str]:
    """The rows without further inputs."""
    return [row for row in results.rows if row.startswith("N=")]


def to_bound(
    results: View, row: str, which: tuple[str, str], bound: tuple[str, str], most: float
) -> Check | None:
    """The ratio of a mean error to a bound."""
    errors = results.replications(row, *which)
    records = results.get(row, *bound).result.records
    if len(errors) < 2 or not records:
        return None
    target = Target(which, bound[1].partition(" ")[2], -math.inf, most, ("ratio to", bound[1]))
    return Check(row, target, *mean_of(errors / records[0].value))


DIFFERENCES = (
    Target(ORACLE, PLUG_IN, -math.inf, MARGIN, ("minus plug-in", "% of its error")),
    Target(ORACLE, NETWORK, -math.inf, MARGIN, ("minus network", "% of its error")),
    Target(ORACLE, PUBLIC_LAST, -math.inf, MARGIN, ("minus public, last", "% of its error")),
    Target(SELECTED, SPARSE, -math.inf, MARGIN, ("selected minus sparse", "% of its error")),
)

# compared later, by the same rule: the epochs of the public procedure that a user can take
USERS = {PUBLIC_LAST: "last", PUBLIC_HELD_OUT: LEGAL[0], PUBLIC_TRAINED: LEGAL[1]}
LESS_IT, IT_LESS = (
    ("exact inner step minus it", "% of its error"),
    ("it minus plug-in", "% of that"),
)
LATER = (
    *(
        Target(ORACLE, which, -math.inf, MARGIN, LESS_IT, f"paired difference to {USERS[which]}")
        for which in (PUBLIC_HELD_OUT, PUBLIC_TRAINED)
    ),
    *(Target(which, PLUG_IN, -math.inf, MARGIN, IT_LESS) for which in USERS),
)

# shown where inputs matter, and no targets there
SHOWN = (
    DIFFERENCES[1],
    Target(ORACLE, SPARSE, -math.inf, MARGIN, ("minus sparse", "% of its error")),
    Target(HALVING, SPARSE, -math.inf, MARGIN, ("halving minus sparse", "% of its error")),
)


def checks(results: View) -> list[Check]:
    """All targets whose cells were run."""
    rows = [row for row in results.rows if row not in MATTER]
    found = [check(results, row, target) for target, row in product(DIFFERENCES, rows)]
    for row in results.rows:
        if row.isdigit():
            found.append(to_bound(results, row, ORACLE, DENSE_BOUND, TO_DENSE))
            found.append(to_bound(results, row, SELECTED, SPARSE_BOUND, TO_SPARSE))
    return [c for c in [*found, slope(results)] if c is not None]


def interval_text(of: Check) -> str:
    """The number, and its 95 % interval by Student's t."""
    half = float(student.ppf(0.975, max(of.repetitions - 1, 1))) * of.se
    return between_text(of.value, of.value - half, of.value + half)


# --- tables
LAYOUT = (
    layout.Column(*ORACLE, "all inputs"),
    layout.Column(*HALVING, "halving"),
    layout.Column(*SELECTED, "score tests"),
    layout.Column(*ON_PUBLIC, "halving, public data"),
    layout.Column(*SMOOTH, "smooth"),
    layout.Column(*SPARSE, "sparse"),
    layout.Column(*NETWORK, "network"),
    layout.Column(*OF_MILEAGE, "mileage alone"),
    layout.Column(*PUBLIC_BEST, "best epoch by true r"),
    layout.Column(*PUBLIC_LAST, "last epoch"),
    layout.Column(*PUBLIC_HELD_OUT, "least held-out loss"),
    layout.Column(*PUBLIC_TRAINED, "least training loss"),
    layout.Column(*PLUG_IN, "table"),
    layout.Column(*LIKELIHOOD, "form known"),
    layout.Column(BOUND, bound_protocol("iii"), "any r"),
    layout.Column(BOUND, bound_protocol("iv"), "r affine"),
    layout.Column(*SPARSE_BOUND, "mileage alone"),
    layout.Column(*DENSE_BOUND, "every input"),
)


def label_of(row: str) -> tuple[str, str]:
    """Its group and its own label."""
    if row.startswith("N="):
        return "mileage alone", f"N = {int(row[2:]):,}"
    if row in MATTER:
        return "inputs that matter", row
    return ("K irrelevant inputs", f"K = {row}") if row.isdigit() else ("other designs", row)


def render(results: View, out: Path) -> None:
    """The table of errors with verdicts, all checks as a CSV, the ablation and two figures."""
    rows = [row for row in results.rows if row != PATHS_ROW]
    texts = layout.texts(results)
    found = checks(results)
    words = verdicts([c.p for c in found])
    in_short = [w for w in IN_SHORT if any((w[0], SHORT) == key[1:] for key in texts)]
    columns = [*LAYOUT, *(layout.Column(column, SHORT, SHORT_FORM) for column, _ in in_short)]
    table = {
        (c.column, c.header): [texts.get((row, c.column, c.protocol), "") for row in rows]
        for c in columns
    }
    for target in DIFFERENCES:
        said = {
            c.row: f"{interval_text(c)} {word}"
            for c, word in zip(found, words, strict=True)
            if c.target is target
        }
        table[target.header] = [said.get(row, "") for row in rows]
    for target in SHOWN:
        untested = {row: check(results, row, target) for row in rows if row in MATTER}
        said = {row: interval_text(c) for row, c in untested.items() if c is not None}
        tested = table.get(target.header, [""] * len(rows))
        table[target.header] = [said.get(row, x) for row, x in zip(rows, tested, strict=True)]
    index = pd.MultiIndex.from_tuples([*map(label_of, rows)], names=["data", "row"])
    numbers = {
        "sets": SETS,
        "input_sets": INPUT_SETS,
        "all_sets": ALL_SETS,
        "above": ALL_SETS_ABOVE,
    }
    below = notes(NAME, **numbers, margin=MARGIN, short=SHORT_SETS)
    slopes = [c for c in found if c.target.called]
    below += tuple(f"The {OF_SLOPE}: {interval_text(c)}." for c in slopes)
    below += same_errors(results)
    layout.write(pd.DataFrame(table, index), out, NAME, EXHIBIT.title, below)
    write_checks(found, words, out, NAME)
    ablation = [*ablation_lines(results)]
    name, title = f"{NAME}_ablation", f"{EXACT_STEP}: what is changed"
    layout.write_csv(pd.DataFrame(ablation), out / f"{name}.csv")
    under = notes(name, sets=INPUT_SETS, margin=MARGIN)
    layout.write(ablation_table(ablation), out, name, title, under)
    of_epochs = [check(results, row, x) for x, row in product(LATER, sizes_of(results))]
    later = [c for c in of_epochs if c is not None]
    said_later = verdicts([c.p for c in later])
    compared_with = [*zip(found, words, strict=True), *zip(later, said_later, strict=True)]
    write_epochs(results, {(c.row, c.target): (c, word) for c, word in compared_with}, out)
    write_checks(later, said_later, out, EPOCHS)
    is_met = {
        (c.row, c.target.other): word == OnTarget.MET
        for c, word in compared_with
        if c.target.ours == ORACLE
    }
    _draw_sizes(results, is_met, out)
    _draw_inputs(results, out)
    _draw_paths(results, out)


def same_errors(results: View) -> tuple[str, ...]:
    """A note: how many errors of `sparse` are at each K what they are at the first.

    It also counts the data sets in which the score tests drop every input but the mileage.
    """
    errors = {row: results.replications(row, *SPARSE) for row in results.rows if row.isdigit()}
    errors = {row: x for row, x in errors.items() if len(x)}
    same, drops, first = list[str](), list[str](), next(iter(errors), "")
    for row, x in errors.items():
        are_same = np.isclose(x, errors[first][: len(x)], rtol=ROUNDING, atol=0.0)
        same.append(f"{are_same.sum()} of {len(x)} at K = {row}")
        used, mileage = (results.replications(row, *SELECTED, of) for of in (USED, MILEAGE))
        drops.append(f"{np.sum(used == mileage)} of {len(used)} at K = {row}")
    numbers = {"first": first, "same": ", ".join(same[1:]), "drops": ", ".join(drops)}
    return notes(f"{NAME}_same", **numbers) if same[1:] else ()


def write_epochs(
    results: View, of: Mapping[tuple[str, Target], tuple[Check, OnTarget]], out: Path
) -> None:
    """The table of the public procedure's epochs that a user can take."""
    rows, errors = sizes_of(results), layout.texts(results)
    pairs = [*product(rows, USERS)]
    table = {"error": [errors.get((row, *which), "not run") for row, which in pairs]}
    for head, targets in ((LESS_IT, (DIFFERENCES[2], *LATER[:2])), (IT_LESS, LATER[2:])):
        by_epoch = dict(zip(USERS, targets, strict=True))
        said = [of.get((row, by_epoch[which])) for row, which in pairs]
        table[", ".join(head)] = [
            "not run" if x is None else f"{interval_text(x[0])} {x[1]}" for x in said
        ]
    labels = [(label_of(row)[1], USERS[which]) for row, which in pairs]
    index = pd.MultiIndex.from_tuples(labels, names=["data", "epoch"])
    found = [
        (name, slope(results, which))
        for which, name in (USERS | {PUBLIC_BEST: "by true r"}).items()
    ]
    slopes = "; ".join(f"{name} {interval_text(c)}" for name, c in found if c is not None)
    under = notes(EPOCHS, sets=SETS, margin=MARGIN, slope=OF_SLOPE, slopes=slopes or "not run")
    title = f"{PUBLIC.capitalize()}: the epochs that a user can take"
    layout.write(pd.DataFrame(table, index), out, EPOCHS, title, under)


OF_ZERO = 100.0  # the error of r-hat = 0


@dataclass(frozen=True)
class Change:
    """A line of the ablation; differences are those of the errors to those as it is."""

    row: str
    change: str
    repetitions: int = 0
    mean: float = math.nan
    se: float = math.nan
    median: float = math.nan
    converged: int = 0
    above: int = 0  # errors above OF_ZERO
    less: float = math.nan  # mean difference, and the ends of its interval
    less_low: float = math.nan
    less_high: float = math.nan
    median_less: float = math.nan
    median_low: float = math.nan
    median_high: float = math.nan
    verdict: str = ""


def ablation_lines(results: View) -> Iterator[Change]:
    """Of each change on each design: errors, differences on the same data, and how fits ended."""
    main = sizes_of(results)[0] if results.smoke else size_row(TRAJECTORIES)
    for row, names in ((main, tuple(CHANGES)), (RANDOM_ANCHOR, ON_RANDOM_ANCHOR)):
        base = results.replications(row, *ORACLE)[:INPUT_SETS]
        for name, which in {AS_IT_IS: ORACLE, **{x: changed(x) for x in names}}.items():
            errors = results.replications(row, *which)[: len(base)]
            if not len(errors):
                yield Change(row, name)
                continue
            ended = np.array(results.get(row, *which).result.replications["status"])[: len(errors)]
            counts = int(np.sum(ended == SEVERITY.index("ok"))), int(np.sum(~(errors <= OF_ZERO)))
            mean, se, times = mean_of(errors)
            found = Change(row, name, times, mean, se, float(np.median(errors)), *counts)
            if name != AS_IT_IS:
                found = replace(found, **compared(errors, base[:times]))
            yield found


def compared(errors: Array, base: Array) -> dict[str, Any]:
    """The mean and the median difference with their intervals, and the word, as `Change` has them.

    The interval of the median is that of the sign test.
    """
    gaps = errors - base
    of_median = quantile_test(gaps, p=0.5).confidence_interval(0.95)
    low, high = float(of_median.low), float(of_median.high)
    margin = MARGIN / 100 * float(base.mean())
    word = OPEN
    if -margin <= low and high <= margin:
        word = SAME
    elif low > 0 or high < 0:
        word = WORSE if low > 0 else BETTER
    less, median_less = interval(gaps), float(np.median(gaps))
    names = ("less", "less_low", "less_high", "median_less", "median_low", "median_high", "verdict")
    return dict(zip(names, (*less, median_less, low, high, word), strict=True))


def ablation_table(lines: Sequence[Change]) -> pd.DataFrame:
    """As the reader has it."""
    table = list[dict[str, str]]()
    for x in lines:
        texts = dict.fromkeys(HEADS, "not run")
        if x.repetitions:
            counts = (f"{n} of {x.repetitions}" for n in (x.converged, x.above))
            gaps = (x.less, x.less_low, x.less_high), (x.median_less, x.median_low, x.median_high)
            between = ["", ""] if x.change == AS_IT_IS else [between_text(*gap) for gap in gaps]
            mean = layout.estimate(x.mean, x.se) if math.isfinite(x.se) else number(x.mean)
            values = [mean, number(x.median), *between, x.verdict, *counts]
            texts = dict(zip(HEADS, values, strict=True))
        table.append(texts)
    of_rows = [(label_of(x.row)[1], x.change) for x in lines]
    return pd.DataFrame(table, pd.MultiIndex.from_tuples(of_rows, names=["data", "change"]))


HEADS = (
    *("mean error", "median", "mean difference", "median difference", "so it is"),
    *("converged", "error above 100 %"),
)


def between_text(value: float, low: float, high: float) -> str:
    """A number and its interval; what is below 1e-9 is rounding, and 0."""
    value, low, high = (round(x, 9) + 0.0 for x in (value, low, high))
    return f"{number(value)} [{number(low)}, {number(high)}]"


# --- figures
# figure -> column and protocol -> the method whose look it has, and its label
AGAINST_N = {
    ORACLE: ("ML-IRL", "exact inner step\n(ours)"),
    PLUG_IN: ("plug-in", "counting\n(plug-in)"),
    PUBLIC_TRAINED: ("network", "public procedure,\nleast training loss"),
    PUBLIC_LAST: ("GLADIUS", "public procedure,\nlast epoch"),
}
AGAINST_K = {
    ORACLE: ("ML-IRL", "exact inner step,\nall inputs (ours)"),
    HALVING: ("GLADIUS", "the same,\ninputs by halving"),
    SELECTED: ("Rust", "the same,\ninputs by score tests"),
    NETWORK: ("network", "profiled ERM,\nnetwork of all inputs"),
}
FLAT = 1.5  # of errors the largest over the smallest
DODGE = 1.06  # factor between neighbouring markers
TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


def _draw_sizes(results: View, is_met: Mapping[tuple[str, Any], bool], out: Path) -> None:
    """Errors against N; the title says at how many sizes the exact inner step is no worse."""
    rows = sizes_of(results)
    figure, axes, _ = _against(results, rows, AGAINST_N)
    axes.tick_params(axis="x", labelrotation=30)
    layout.words(axes, "trajectories N", "MAPE of the reward (%)")
    layout.label_lines(axes)
    tests = [
        [is_met[row, to] for row in rows if (row, to) in is_met]
        for to in (PLUG_IN, PUBLIC_LAST, PUBLIC_TRAINED)
    ]
    counts = [f"{sum(met)} of {len(met)}" for met in tests]
    said = dict(zip(("counting", "public", "trained"), counts, strict=True))
    said["margin"] = f"{MARGIN:g}"
    layout.save(figure, out, NAME, said if all(map(any, tests)) else None)


def _draw_inputs(results: View, out: Path) -> None:
    """Errors against K."""
    rows = [row for row in results.rows if row.isdigit()]
    figure, axes, errors = _against(results, rows, AGAINST_K)
    layout.words(axes, "number of irrelevant covariates K", "MAPE of the reward (%)")
    layout.label_lines(axes)
    is_flat = [max(y) <= FLAT * min(y) for y in errors.values()]
    is_so = [*errors] == [*AGAINST_K] and is_flat == [False, True, True, False]
    layout.save(figure, out, f"{NAME}_inputs", {} if is_so else None)


def _against(
    results: View, rows: Sequence[str], series: Mapping[tuple[str, str], tuple[str, str]]
) -> tuple[layout.Figure, layout.Axes, dict[tuple[str, str], list[float]]]:
    """A figure of mean errors with intervals, log-log, its panel, and these errors of each."""
    figure = layout.new_figure(layout.WIDTH, 3.8)
    axes, means = figure.add_subplot(), dict[tuple[str, str], list[float]]()
    for shift, (which, (method, label)) in enumerate(series.items()):
        pairs = [(row, results.replications(row, *which)) for row in rows]
        if not any(len(errors) for _, errors in pairs):
            pairs = [(row, results.replications(row, which[0], SHORT)) for row in rows]
        pairs = [(row, errors) for row, errors in pairs if len(errors)]
        if not pairs:
            continue
        x = [int(row.removeprefix("N=")) * DODGE ** (shift - 1) for row, _ in pairs]
        y, half = np.array([half_width(errors) for _, errors in pairs]).T
        layout.points(axes, x, y, half, method, label)
        means[which] = y.tolist()
    layout.log_log(axes, [int(row.removeprefix("N=")) for row in rows], TICKS)
    return figure, axes, means


def half_width(errors: Array) -> tuple[float, float]:
    """Mean, and half of its 95 % interval by Student's t."""
    mean, low, _ = interval(errors)
    return mean, 0.0 if math.isnan(low) else mean - low


DASHES, DECADES = ("-", "--", "-.", ":"), [10.0**k for k in range(-1, 5)]


def _draw_paths(results: View, out: Path) -> None:
    """Error against passes over the data of one data set."""
    figure = layout.new_figure(layout.WIDTH, 3.6)
    axes = figure.add_subplot()
    longest, ends = 1.0, dict[str, float]()
    stored = [s.result.arrays for e, s in results if e.row == PATHS_ROW]
    for (name, arrays), dashes, colour in zip(
        ((n, a[n]) for a in stored for n in PATHS if n in a), DASHES, layout.shades(4), strict=False
    ):
        passes, errors = arrays
        axes.plot(passes, errors, linestyle=dashes, color=colour, linewidth=1.2, label=name)
        longest, ends[name] = max(longest, passes[-1]), float(errors[-1])
    layout.log_log(axes, [x for x in DECADES if 1 <= x <= 2 * longest], DECADES)
    axes.set_ylim(top=min(axes.get_ylim()[1], DECADES[-1]))  # what diverges leaves the panel
    layout.words(axes, "passes over the data", "MAPE of the reward (%)")
    layout.label_lines(axes)
    said, (ours, *others) = None, [*ends.values(), math.inf]
    if len(ends) == len(PATHS) and ours < 0.1 * min(others):
        said = {"ours": number(ours), "others": math.floor(min(others))}
    layout.save(figure, out, f"{NAME}_paths", said)


def view(entry: Entry, result: Result) -> Sequence[Record]:
    """The records of a cell; of the public procedure those of the entry's epoch."""
    epoch = entry.protocol.removeprefix("fresh ")
    if f"MAPE {epoch}" in result.replications:
        return epoch_records(result, epoch)
    return result.records


def verdict(folder: Path) -> str:
    """How many targets are met, or that none was run."""
    words = pd.read_csv(folder / f"{NAME}_checks.csv")["verdict"].tolist()
    if not words:
        return f"{EXACT_STEP}: only a short form was run, no target"
    return counted(words, EXACT_STEP)


EXHIBIT = Exhibit(
    NAME,
    f"{EXACT_STEP}: errors by N and K, and what makes it work",
    entries,
    view=view,
    render=render,
    verdict=verdict,
    tolerance=1e-3,
)
