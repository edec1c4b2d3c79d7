"""What the pages say in numbers: a class for each passage, made of the results by one function.

A template prints the fields. Where it chooses between sentences, it does so by a field that is true
or false, or that may be empty; the rule stands here. A sentence that is right only as long as the
results say so is guarded by `stated`.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reproduce.cells import public_fits
from reproduce.cells.converging import DESIGNS, TRAJECTORIES, USED
from reproduce.cells.fits import TRAJECTORIES as SIZES
from reproduce.cells.inputs_designs import MATTER
from reproduce.cells.public_trainings import EPOCHS, batch_of
from reproduce.engine.output import DIGITS
from reproduce.engine.provenance import ROOT
from reproduce.exhibits import converging, table_4
from reproduce.exhibits.accuracy import Target
from reproduce.pages import trainings
from reproduce.pages.numbers import Numbers, printed, ratios
from reproduce.pages.situations import NOT_RUN, side_by_side
from reproduce.pages.trainings import Size
from reproduce.paper import compare, origins, scorecard
from reproduce.paper.judge import number
from reproduce.paper.published import FEASIBLE, MILEAGE_TABLES, PROCEDURE
from reproduce.paper.scorecard import Account, Part
from reproduce.paper.verdicts import Comparison, OnTarget

Sizes = tuple[int, ...]  # numbers of trajectories
NO_BIAS, SAME = 1e-20, 1e-9  # of a loss at Q*, and of a density: rounding alone
BENCHMARKS = ROOT / "reproduce" / "templates" / "benchmarks.csv"
PUBLIC_K = "public procedure, N = 1000, K = "  # labels of the trainings of Figure 1
OLD_CODE = BENCHMARKS.with_name("old_code.csv")
LUNAR_LANDER = "LunarLander-v3"  # the paper has version 2, which is withdrawn
# what the letter calls right: Theorem 11, Lemma 8 and Lemma 10
LETTER = ("thm:bothPL", "lem:BE_PL", "lem:zeta_empirical_pl")


def stated(results: Mapping[str, str], said: Mapping[str, str]) -> None:
    """Stop a page whose sentences state other verdicts than the results.

    Raises:
        ValueError: a verdict that is another one, or missing.
    """
    for name, verdict in said.items():
        found = results.get(name, "missing")
        if found != verdict:
            raise ValueError(f"a page states of {name}: {verdict}; it is {found}: write it anew")


# --- the findings
@dataclass(frozen=True)
class Figure1:
    """Errors of r over the printed ones, by number of dummies: one public training, and ours.

    Those of the public trainings are empty where these were not run for all epochs.
    """

    best: list[float]  # at the epoch that the true reward chooses
    held_out: list[float]  # at the epoch with the least held-out loss
    ours: list[float]  # of profiled ERM, means
    # of trainings from another initial network: K, and both ratios
    again_at: list[int]
    best_again: list[float]
    held_out_again: list[float]


def figure_1(numbers: Numbers) -> Figure1:
    """Figure 1 in ratios."""
    name, theirs = "figure_1", printed("figure_1", "GLADIUS")
    ours = numbers.series(name, "*", "Profiled ERM", "leak_free sparse")
    public = numbers.lines(name, "*", "GLADIUS", "*")

    def lines(rule: str) -> pd.DataFrame:
        return public[public["protocol"].str.fullmatch(f"author public {rule}")]

    def times(rule: str) -> list[float]:
        return [x["value"] / theirs[x["row"]] for x in lines(rule).to_dict("records")]

    again = [rf"seed \d+ {rule}" for rule in ("best", "held-out")]
    return Figure1(
        times("best"),
        times("held-out"),
        list(ratios(ours, theirs).values()),
        list(map(int, lines(again[0])["row"])),
        *map(times, again),
    )


@dataclass(frozen=True)
class Table2:
    """Finding 1: at which sizes trainings reach the printed error, by epoch."""

    sizes: list[Size]
    runs: tuple[int, ...]  # first trainings at each size
    reached: Sizes  # at the epoch that the true reward chooses: some run, none, and all below it
    above: Sizes
    below: Sizes
    above_last: Sizes  # at the last epoch: none
    excess_last: list[str]  # by how much the least is above there, percentage points
    ours_above: Sizes  # where our own estimator does not reach it
    far: list[Size]  # every last epoch is far above
    near: Sizes  # the others, and the last epochs from the public start there
    near_spans: list[str]
    continued: list[Size]  # of `above`, those where a network was trained on and on
    lost: Sizes  # where such a training never fits
    one_start: Sizes  # where all runs have the public initial network
    agree: str  # `k of n` printed errors, beside the last epoch on fresh data
    differ: str
    unclear: str
    held_out: list[float]  # times the printed errors of Figure 1, by a user's rule; may be empty
    time: str
    # `k of n` first trainings that reach it, all sizes together: by true r, and by a user's rules
    reach: str
    reach_held_out: str
    reach_trained: str
    reach_last: str

    @property
    def ours_is_alike(self) -> bool:
        """Whether our estimator does not reach it where no last epoch does."""
        return self.ours_above == self.above_last


def table_2(numbers: Numbers) -> Table2:
    """Finding 1, from the trainings on the public data and from those on fresh data."""
    sizes = trainings.sizes(numbers.folder)
    above = [size for size in sizes if size.best.are_above]
    above_last = [size for size in sizes if size.last.are_above]
    near = [size for size in sizes if not size.is_far]
    return Table2(
        sizes=sizes,
        runs=tuple(len(size.best.values) for size in sizes),
        reached=tuple(size.n for size in sizes if not size.best.are_above),
        above=tuple(size.n for size in above),
        below=tuple(size.n for size in sizes if size.best.are_below),
        above_last=tuple(size.n for size in above_last),
        excess_last=[size.last.excess for size in above_last],
        ours_above=tuple(size.n for size in sizes if size.ours.are_above),
        far=[size for size in sizes if size.is_far],
        near=tuple(size.n for size in near),
        near_spans=[size.start_last.span for size in near],
        continued=[size for size in above if size.continued.values],
        lost=tuple(size.n for size in sizes if size.is_lost),
        one_start=tuple(size.n for size in sizes if size.has_one_start),
        agree=numbers.agreeing("table_2", "author last"),
        differ=numbers.agreeing("table_2", "author last", Comparison.DIFFERS),
        unclear=numbers.agreeing("table_2", "author last", Comparison.UNCLEAR),
        held_out=figure_1(numbers).held_out,
        time=numbers.time([trainings.NAME], True),
        reach=trainings.reaching([size.best for size in sizes]),
        reach_held_out=trainings.reaching([size.held_out for size in sizes]),
        reach_trained=trainings.reaching([size.trained for size in sizes]),
        reach_last=trainings.reaching([size.last for size in sizes]),
    )


@dataclass(frozen=True)
class Descent:
    """Finding 2: the steps of Algorithm 1 as printed."""

    runs: int  # on data of our own, from Q = 0
    converged: int
    diverged: int
    iterations: float  # the most
    unstable: str  # the largest ratio of steps that diverges even with small steps
    step: float  # on mean losses, of the two following
    from_zero: tuple[float, ...]  # steps until r is within 1 % of the minimiser's, two figures
    from_level: tuple[float, ...]
    by_status: dict[str, list[str]]  # what came of step sizes per observation: ok, ...
    public: tuple[int, int]  # descent steps of the public code, with 250 and 5,000 trajectories
    time: str


def descent(numbers: Numbers) -> Descent:
    """Finding 2, from the runs of the exhibit `stability` and from the public data."""
    runs = ("1000", "GLADIUS", "printed * ascents 1 ratio 1")
    failed = numbers.lines("stability", *runs, "repetitions not ok")
    diverged = numbers.lines("stability", *runs, "share diverged")
    growth = "beta 0.95, ascents 1, ratio *", "printed map", "printed", "growth rate"
    growth_rates = numbers.lines("stability", *growth)
    diverging = growth_rates["row"][growth_rates["status"].eq("diverged")]
    until = "steps to a distance of 0.01"
    steps = numbers.lines("stability", "plain, step *, ratio 1", "Algorithm 1", "measured", until)
    step_sizes = steps["row"].str.extract("step (.*),", expand=False)

    def until_near(start: str) -> tuple[float, ...]:
        series = numbers.series("table_2_author", "*", "Algorithm 1", f"printed {start}", until)
        return tuple(float(f"{count:.2g}") for count in series.values())

    return Descent(
        runs=int(failed["repetitions"].sum()),
        converged=round((failed["repetitions"] - failed["value"]).sum()),
        diverged=round((diverged["value"] * diverged["repetitions"]).sum()),
        iterations=numbers.lines("stability", *runs, "iterations")["value"].max(),
        unstable=max(diverging.str.split().str[-1], key=float),
        step=public_fits.STEP,
        from_zero=until_near("from 0"),
        from_level=until_near("from -55"),
        by_status={word: list(step_sizes[steps["status"].eq(word)]) for word in steps["status"]},
        public=(descents(250), descents(5000)),
        time=numbers.time(["stability", "table_2_author"]),
    )


def descents(trajectories: int) -> int:
    """Descent steps in a training of the public code: every other batch of an epoch is for Q."""
    trained = trajectories - trajectories // 5
    return EPOCHS * (math.ceil(trained / batch_of(trajectories)) // 2)


@dataclass(frozen=True)
class DoubleSampling:
    """Finding 3: the share of the bias of double sampling that is left, per cent, by N."""

    by_mileage: dict[str, float]  # zeta of mileage alone
    free: dict[int, dict[str, float]]  # number of dummies -> free zeta
    cost_by_mileage: float  # the replacement cost with the least risk, at the largest N
    cost_free: float  # the same for free zeta with 5 dummies
    td_loss: float  # the largest at Q*, with replacing as the anchor
    farthest: float  # of all differences to the derived the largest in standard errors, absolute
    data_sets: int
    time: str

    @property
    def removed(self) -> int:
        """At most so many per cent does free zeta with 5 dummies remove, rounded up."""
        return 100 - math.floor(min(self.free[5].values()))

    @property
    def most_by_mileage(self) -> float:
        """The most that zeta of mileage alone leaves."""
        return max(self.by_mileage.values())

    @property
    def trajectories(self) -> Sizes:
        """The numbers of trajectories, in order."""
        return tuple(map(int, self.free[5]))

    @property
    def free_of_two(self) -> list[float]:
        """What free zeta with 2 dummies leaves, by N."""
        return list(self.free[2].values())


def double_sampling(numbers: Numbers) -> DoubleSampling:
    """Finding 3, from the exhibit of that name.

    Raises:
        ValueError: with replacing as the anchor there is a bias, which the finding excludes.
    """
    name, zeta = "double_sampling", "zeta"
    free = {
        k: numbers.series(name, "*", zeta, f"fresh free, K = {k}", "share left")
        for k in (1, 2, 3, 5)
    }
    largest = list(free[5])[-1]
    td_loss = numbers.lines(name, "*", zeta, "fresh replace", "TD loss at Q*")["value"].max()
    stated({"anchor": "no bias" if td_loss < NO_BIAS else "a bias"}, {"anchor": "no bias"})
    differences = numbers.lines(name, "*", zeta, "fresh*", "measured minus derived")
    in_errors = (differences["value"] / differences["se"]).abs()
    return DoubleSampling(
        by_mileage=numbers.series(name, "*", zeta, "fresh by mileage", "share left"),
        free=free,
        cost_by_mileage=numbers.value(name, largest, zeta, "fresh by mileage", "theta_1"),
        cost_free=numbers.value(name, largest, zeta, "fresh free, K = 5", "theta_1"),
        td_loss=td_loss,
        farthest=abs(differences["value"].iloc[int(in_errors.argmax())]),
        data_sets=int(differences["repetitions"].max()),
        time=numbers.time([name]),
    )


# what finding 4 says of statements of the paper
CONVERGENCE = {
    "thm:bothPL": "holds",
    "prop:linConvergence.two-sided-PL": "fails",
    "intro.unique-saddle": "fails",
}


@dataclass(frozen=True)
class Convergence:
    """Finding 4: verdicts of the ledger, as its sentences say them."""

    theorem_11: str
    two_sided: str
    saddle: str


def convergence(numbers: Numbers) -> Convergence:
    """Finding 4, from the ledger.

    Raises:
        ValueError: the ledger has another verdict.
    """
    ledger = numbers.claims()
    stated(dict(zip(ledger["id"], ledger["verdict"], strict=True)), CONVERGENCE)
    return Convergence(*CONVERGENCE.values())


# --- other pages
@dataclass(frozen=True)
class Accuracy:
    """Errors of r over many data sets: ratios of means."""

    to_bound: list[float]  # profiled ERM, linear reward: over the bound without P, by N
    rewards: int  # non-linear ones
    to_plug_in: list[float]  # under these: over the plug-in, by reward and N
    linear_at_1000: float  # over the plug-in at N = 1,000: linear reward, the others
    others_at_1000: list[float]
    variation: list[float]  # of Rust's error over data sets, standard deviation over mean
    data_sets: float  # the fewest behind it


def accuracy(numbers: Numbers) -> Accuracy:
    """The exhibit of that name, in ratios."""
    name, ours = "accuracy", ("Profiled ERM", "leak_free smooth")

    def to_plug_in(reward: str) -> dict[str, float]:
        plug_in = numbers.series(name, f"{reward}/*", "Plug-in", "leak_free tabular")
        return ratios(numbers.series(name, f"{reward}/*", *ours), plug_in)

    others = [to_plug_in(reward) for reward in ("sine", "power", "step", "sqrt")]
    bound = numbers.series(name, "affine/*", "bound", "measured (iv)")
    rust = numbers.lines(name, "affine/*", "Rust", "fresh")
    return Accuracy(
        to_bound=list(ratios(numbers.series(name, "affine/*", *ours), bound).values()),
        rewards=len(others),
        to_plug_in=[ratio for by_size in others for ratio in by_size.values()],
        linear_at_1000=to_plug_in("affine")["1000"],
        others_at_1000=[by_size["1000"] for by_size in others],
        variation=list(rust["se"] * rust["repetitions"] ** 0.5 / rust["value"]),
        data_sets=rust["repetitions"].min(),
    )


@dataclass(frozen=True)
class AsPrinted:
    """Algorithm 1 as printed, at N = 1,000."""

    error: float
    not_ok: float  # fits without convergence
    fits: float


def as_printed(numbers: Numbers) -> AsPrinted:
    """From Table 2."""
    key = ("table_2", "1000", "GLADIUS", "printed")
    line = numbers.line(*key)
    return AsPrinted(line["value"], numbers.value(*key, "repetitions not ok"), line["repetitions"])


def brackets(_: Numbers) -> list[float]:
    """Table 2's printed (SE) of Rust over the number before it."""
    return list(ratios(printed("table_2", "Rust", of="se"), printed("table_2", "Rust")).values())


def gumbel(numbers: Numbers) -> bool:
    """Whether the printed density of the taste shocks is SciPy's, but for rounding."""
    return numbers.value("figure_gumbel", "*", "*", "*", "*density - SciPy*") < SAME


@dataclass(frozen=True)
class Ledger:
    """The paper's printed statements by verdict, and the false ones by what they affect."""

    verdicts: Counter[str]
    severities: Counter[str]
    of_means: int  # hold of printed means alone
    are_findings: bool  # whether the theorems affected are those of findings 3 and 4
    is_right: bool  # whether Theorem 5 and Theorem 11 hold
    statements: int


# statements that findings 3 and 4 are about
NAMED = {
    "def:ERM.continuous-states",
    "intro.unique-saddle",
    "prop:linConvergence.two-sided-PL",
}
RIGHT = ("thm:algoEQ", "thm:bothPL")


def ledger(numbers: Numbers) -> Ledger:
    """Counts of the ledger's printed claims."""
    claims = numbers.claims()
    claims = claims[claims["printed"].eq("yes")]
    is_wrong = claims["verdict"].eq("fails")
    of_means = claims["verdict"].eq("holds") & claims["severity"].eq("conclusion")
    verdicts = dict(zip(claims["id"], claims["verdict"], strict=True))
    return Ledger(
        verdicts=Counter(claims["verdict"]),
        severities=Counter(claims["severity"][is_wrong]),
        of_means=int(of_means.sum()),
        are_findings=set(claims["id"][is_wrong & claims["severity"].eq("theorem")]) == NAMED,
        is_right=all(verdicts.get(name) == "holds" for name in RIGHT),
        statements=len(claims),
    )


@dataclass(frozen=True)
class Letter:
    """What the letter states beside the ledger's counts."""

    theorem_11: str
    unclear: str  # `k of n` tests of Table 2's errors on fresh data
    time: str  # of `exact`


def letter(numbers: Numbers) -> Letter:
    """The letter's numbers.

    Raises:
        ValueError: a statement that the letter calls right has another verdict.
    """
    unclear = numbers.agreeing("table_2", "author oracle", Comparison.UNCLEAR)
    claims = numbers.claims()
    stated(dict(zip(claims["id"], claims["verdict"], strict=True)), dict.fromkeys(LETTER, "holds"))
    return Letter("holds", unclear, numbers.time(["exact"]))


BUS = converging.size_row(TRAJECTORIES)
# verdicts of the ablation that sentences rest on
SAID_OF_CHANGES = {
    f"{BUS}, absolute value in place of the sign": converging.SAME,
    f"{BUS}, zeta: one Adam step": converging.WORSE,
    f"{BUS}, zeta: ten Adam steps": converging.WORSE,
    f"{BUS}, zeta: ten Adam steps, rate .003": converging.WORSE,
    f"{BUS}, rate .003": converging.OPEN,
    f"{BUS}, level of Q by Adam": converging.WORSE,
    f"{BUS}, level of Q by Adam, from -55": converging.OPEN,
}
SAID_OF_CHANGES |= {f"{BUS}, start at level {level}": converging.SAME for level in ("0", "-55")}
SAID_OF_CHANGES |= {
    f"{BUS}, {change}": converging.WORSE
    for change in converging.CHANGES
    if change.startswith("all by Adam")
}
SAID_OF_CHANGES |= {
    f"{converging.RANDOM_ANCHOR}, {change}": converging.WORSE
    for change in converging.ON_RANDOM_ANCHOR
}


# how the pages call the epochs that a user of the public procedure can take
RULES = {
    converging.PUBLIC_LAST: "the last epoch",
    converging.PUBLIC_HELD_OUT: "the epoch of the least held-out loss",
    converging.PUBLIC_TRAINED: "the epoch of the least training loss",
}


OVERVIEW = {
    "public procedure, the true reward chooses the epoch": converging.PUBLIC_BEST,
    **{f"the same, {rule}": which for which, rule in RULES.items()},
    "counting (plug-in)": converging.PLUG_IN,
    "the paper's risk, zeta's last layer and the level of Q computed exactly (ours)": (
        converging.ORACLE
    ),
}


@dataclass(frozen=True)
class UsersEpoch:
    """An epoch of the public procedure that a user can take, on the study's data sets."""

    rule: str
    value: float  # the mean error at N = TRAJECTORIES; infinite where it was not run
    error: str  # that with its standard error
    at_largest: str  # the error at the largest N
    to_ours: str  # `k of n` sizes at which ours is shown to be at most MARGIN per cent worse
    to_plug_in: str  # at which this is shown to be worse than the plug-in by more than that
    to_printed: str  # at which it is above the printed error by more than two standard errors


@dataclass(frozen=True)
class ExactStep:
    """GLADIUS with an exact inner step (ours) on fresh data. Errors are `mean (standard error)`."""

    sizes: list[list[str]]  # N; public procedure by true r, RULES; plug-in; ours, public data
    inputs: list[list[str]]  # K; profiled ERM: network, sparse; ours: all, halving, public data
    changes: list[list[str]]  # of the ablation: error, median difference, verdict, converged
    on_random: list[list[str]]  # likewise, on the design whose anchor is random
    error_of: dict[str, str]  # change -> its error, median difference, how many converged
    difference_of: dict[str, str]
    converged_of: dict[str, str]
    error_on_random: dict[str, str]
    difference_on_random: dict[str, str]
    ended: list[list[str]]  # another design; ours, the plug-in, how many converged
    rarely: str  # designs of these on which fewer than half do
    to_plug_in: str  # `k of n` sizes at which it is shown to be no worse than the plug-in
    to_network: str  # `k of n` numbers of inputs, likewise, than the network of profiled ERM
    designs_met: str  # designs at which it is
    users: list[UsersEpoch]  # of RULES those that were run
    # what; printed, or an error at N = `trajectories` and at the largest N
    overview: list[list[str]]
    matter: list[list[str]]  # a design where ten inputs matter; errors, of what was run
    # sizes at which a mean is above the printed error by two standard errors: of counting, the
    # epoch that the true reward chooses, the exact step, and likelihood with the form of r known
    counting_above: str
    by_truth_above: str
    median_below: str  # sizes at which the median by the true reward is below the printed error
    ours_above: str
    likelihood_above: str
    # in both designs of `matter`: errors of the exact step, how many of its fits converge, and
    # errors of the network
    with_ten: list[str]
    default_with_ten: list[str]  # those of the default, and how many of its last fits are ok
    dropped: list[int]  # K at which the score tests drop every added input in every data set
    converged: str  # of all fits at K = 0
    margin: str  # per cent of an error, within which it is no worse
    sets: int  # data sets at each N
    input_sets: int  # of each change and design, and the most at a K
    fewest: int  # at a K
    by_truth: str  # of the public procedure by true r, at N = `trajectories`
    by_truth_at_largest: str
    plug_in: str
    ours: str
    trajectories: int

    @property
    def best_user(self) -> UsersEpoch:
        """Of `users` that with the least mean error."""
        return min(self.users, key=lambda epoch: epoch.value)

    @property
    def to_printed(self) -> str:
        """How often the means of `users` are above the printed errors, in words for all."""
        return " or ".join(dict.fromkeys(x.to_printed for x in self.users))

    @property
    def is_printed_missed(self) -> bool:
        """Whether every epoch of `users` is above every printed error."""
        return all(x.to_printed.split()[0] == x.to_printed.split()[-1] for x in self.users)

    @property
    def is_behind(self) -> bool:
        """Whether every epoch of `users` has a larger mean error than the plug-in."""
        return self.best_user.value > float(self.plug_in.partition(" ")[0])


def exact_step(numbers: Numbers) -> ExactStep:
    """What the exact inner step gives, for the authors."""
    frame = numbers.lines(converging.NAME, "*", "*", "*", "*")
    of = {tuple(line[name] for name in compare.KEY): line for line in frame.to_dict("records")}
    names = f"{converging.NAME}_checks.csv", f"{converging.EPOCHS}_checks.csv"
    checks, later = (pd.read_csv(numbers.folder / name) for name in names)
    by_n, of_paper = [converging.size_row(n) for n in SIZES], printed("table_2", "GLADIUS")

    def error(row: str, column: str, protocol: str, statistic: str = "MAPE") -> str:
        if (line := of.get((row, column, protocol, statistic))) is None:
            return NOT_RUN
        text = number(line["value"])
        return f"{text} ({number(line['se'])})" if math.isfinite(line["se"]) else text

    def converged(rows: list[str], column: str, protocol: str) -> str:
        keys = [(row, column, protocol, "repetitions not ok") for row in rows]
        lines = [of[key] for key in keys if key in of]
        fits, failed = (sum(x[name] for x in lines) for name in ("repetitions", "value"))
        return f"{fits - failed:.0f} of {fits:.0f}"

    def times(
        target: Target, rows: Sequence[str], word: OnTarget = OnTarget.MET, among: Any = checks
    ) -> str:
        column, protocol = target.ours
        at_rows = among["column"].eq(column) & among["row"].isin(rows)
        lines = among[at_rows & among["protocol"].eq(protocol)]
        lines = lines[lines["statistic"].eq(target.statistic)]
        return f"{lines['verdict'].eq(word).sum()} of {len(lines)}"

    def above_printed(which: tuple[str, str]) -> str:
        of_sizes = ((of.get((row, *which, "MAPE")), row[2:]) for row in by_n)
        lines = [(line, of_paper[n]) for line, n in of_sizes if line]
        above = [x["value"] - 2 * x["se"] > number_of_paper for x, number_of_paper in lines]
        return f"{sum(above)} of {len(above)}"

    def median(row: str, which: tuple[str, str]) -> float:
        return float(of.get((row, *which, "MAPE median"), {"value": math.inf})["value"])

    def users_epoch(which: tuple[str, str], to_ours: str, to_plug_in: Target) -> UsersEpoch:
        of_main = of.get((main, *which, "MAPE"))
        return UsersEpoch(
            RULES[which],
            of_main["value"] if of_main else math.inf,
            error(main, *which),
            error(by_n[-1], *which),
            to_ours,
            times(to_plug_in, by_n, OnTarget.MISSED, later),
            above_printed(which),
        )

    ours, public = converging.ORACLE, converging.ON_PUBLIC
    at_n = converging.PUBLIC_BEST, *RULES, converging.PLUG_IN, ours, public
    at_k = converging.NETWORK, converging.SPARSE, ours, converging.HALVING, public
    main, mattering = converging.size_row(TRAJECTORIES), list[list[str]]()
    to_plug_in, to_network, to_last, _ = converging.DIFFERENCES
    users = [
        users_epoch(*x)
        for x in zip(
            RULES,
            (times(to_last, by_n), *(times(x, by_n, among=later) for x in converging.LATER[:2])),
            converging.LATER[2:],
            strict=True,
        )
    ]
    for design in MATTER:
        which = converging.ORACLE, converging.HALVING, converging.SPARSE, converging.NETWORK
        errors = [error(design, *x) for x in (*which, converging.OF_MILEAGE)]
        ended = converged([design], *converging.SPARSE) if errors[2] != NOT_RUN else NOT_RUN
        steps = converged([design], *converging.ORACLE) if errors[0] != NOT_RUN else NOT_RUN
        mattering += [[design, *errors, ended, steps]] if {*errors} != {NOT_RUN} else []
    of_networks = [line[k] for k in (1, 7, 4) for line in mattering]
    of_default = [line[3] for line in mattering] + [line[6] for line in mattering[1:]]
    of_tests = {k: of.get((f"{k}", *converging.SELECTED, USED)) for k in converging.INPUTS}
    changes = pd.read_csv(numbers.folder / f"{converging.NAME}_ablation.csv").fillna(
        {"verdict": ""}
    )
    found = {f"{x.row}, {x.change}": str(x.verdict) for x in changes.itertuples()}
    stated(found, SAID_OF_CHANGES)

    def changed(row: str) -> list[list[str]]:
        table = list[list[str]]()
        for line in changes[changes["row"].eq(row)].to_dict("records"):
            x = converging.Change(**{str(name): value for name, value in line.items()})
            gap = x.median_less, x.median_low, x.median_high
            texts = converging.between_text(*gap) if x.verdict else "", x.verdict
            mean = f"{number(x.mean)} ({number(x.se)})"
            table.append([x.change, mean, *texts, f"{x.converged} of {x.repetitions}"])
        return table

    ends = main, by_n[-1]
    below = [median(row, converging.PUBLIC_BEST) < of_paper[row[2:]] for row in by_n]
    overview = [["Table 2, printed", *(x for row in ends for x in (number(of_paper[row[2:]]), ""))]]
    for what, key in OVERVIEW.items():
        of_it = ((error(row, *key), number(median(row, key))) for row in ends)
        overview.append([what, *(text for pair in of_it for text in pair)])
    on_main, on_random = changed(main), changed(converging.RANDOM_ANCHOR)
    on_designs = [
        [
            design,
            *(error(design, *which) for which in (ours, converging.PLUG_IN)),
            converged([design], *ours),
        ]
        for design in DESIGNS
    ]
    counts = [tuple(map(int, line[-1].split(" of "))) for line in on_designs]
    return ExactStep(
        sizes=[
            [f"{n:,}", *(error(converging.size_row(n), *which) for which in at_n)] for n in SIZES
        ],
        inputs=[[f"{k}", *(error(f"{k}", *which) for which in at_k)] for k in converging.INPUTS],
        changes=on_main,
        on_random=on_random,
        error_of={line[0]: line[1] for line in on_main},
        difference_of={line[0]: line[2] for line in on_main},
        converged_of={line[0]: line[4] for line in on_main},
        error_on_random={line[0]: line[1] for line in on_random},
        difference_on_random={line[0]: line[2] for line in on_random},
        ended=on_designs,
        overview=overview,
        rarely=f"{sum(2 * good < fits for good, fits in counts)} of {len(counts)}",
        to_plug_in=times(to_plug_in, by_n),
        to_network=times(to_network, list(map(str, converging.INPUTS))),
        designs_met=times(to_plug_in, list(DESIGNS)),
        users=[epoch for epoch in users if epoch.error != NOT_RUN],
        matter=mattering,
        counting_above=above_printed(converging.PLUG_IN),
        by_truth_above=above_printed(converging.PUBLIC_BEST),
        median_below=f"{sum(below)} of {len(below)}",
        ours_above=above_printed(converging.ORACLE),
        likelihood_above=above_printed(converging.LIKELIHOOD),
        with_ten=of_networks if len(mattering) == len(MATTER) else [],
        default_with_ten=of_default if NOT_RUN not in of_default and len(of_default) > 2 else [],
        dropped=[k for k, line in of_tests.items() if line and line["value"] == 1.0],
        converged=converged(by_n, *ours),
        margin=f"{converging.MARGIN:.0f}",
        sets=converging.SETS,
        input_sets=converging.INPUT_SETS,
        fewest=converging.ALL_SETS_ABOVE,
        by_truth=error(main, *converging.PUBLIC_BEST),
        by_truth_at_largest=error(by_n[-1], *converging.PUBLIC_BEST),
        plug_in=error(main, *converging.PLUG_IN),
        ours=error(main, *ours),
        trajectories=TRAJECTORIES,
    )


@dataclass(frozen=True)
class Digits:
    """Numbers that the paper prints outside Table 1, and those that come out to the last digit."""

    printed: int
    brackets: int
    exact: int
    found: int  # of the exact: helped to find a seed or the digits
    entries: int  # of Table 1
    quantities: int  # distinct ones that are exact, which are these three:
    scored: int  # in the scorecard
    inputs: int  # rewards of the design
    bracketed: int


def digits(numbers: Numbers) -> Digits:
    """By the rules of `origins.csv`, whatever was run; the scorecard's are those of its lines."""
    counts, entries = origins.counts(), origins.shares()["entries"]
    exact, found = counts["exact"], counts["exact, found from it"]
    given = numbers.verdicts[numbers.verdicts["verdict"].eq(Comparison.GIVEN)]
    given = given[given["provenance"].eq("exact") & given["exhibit"].ne(origins.NOT_COUNTED)]
    return Digits(
        printed=counts["all"]["numbers"] - entries,
        brackets=counts["all"]["brackets"],
        exact=exact["numbers"] + found["numbers"],
        found=found["numbers"],
        entries=entries,
        quantities=exact["distinct"] + found["distinct"],
        scored=sum(line.exact for line in scored(numbers)),
        inputs=given["quantity"].nunique(),
        bracketed=exact["brackets"] + found["brackets"],
    )


def scored(numbers: Numbers) -> list[Part]:
    """The scorecard of our counterparts of printed numbers."""
    return [line for line in scorecard.group_counts(numbers.verdicts) if line.rule != FEASIBLE]


def ours_scored(numbers: Numbers) -> list[Part]:
    """The scorecard of our own estimator beside the printed GLADIUS."""
    return [line for line in scorecard.group_counts(numbers.verdicts) if line.rule == FEASIBLE]


def accounts(numbers: Numbers) -> list[Account]:
    """The owners of printed numbers, GLADIUS first, and all together."""
    lines = scorecard.accounts(numbers.verdicts)
    sums = np.sum([line[1:] for line in lines], axis=0)
    return [*lines, Account("all", *sums)]


@dataclass(frozen=True)
class TableA1:
    """Utils within which a training on the public data is of Table A1's r(s, a0), rounded up."""

    often: float  # mileages 1 to 5
    rare: float  # 6 to 10


def table_a1(numbers: Numbers) -> TableA1:
    """The public start's distances."""
    key = ("table_2_author", "50", "procedure", "author")
    names = (f"largest distance from Table A1, mileages {of}" for of in ("1 to 5", "6 to 10"))
    return TableA1(*(math.ceil(100 * numbers.value(*key, name)) / 100 for name in names))


@dataclass(frozen=True)
class Procedure:
    """Tests of the printed GLADIUS against the author's code, re-implemented, on fresh data."""

    errors: int  # of Table 2
    with_zero: int  # intervals around them that contain zero
    unclear_errors: int
    levels: int  # of Q
    unclear_levels: int
    far: list[str]  # exhibits by mileage with numbers that differ, and the mileages
    far_mileages: list[int]
    tests: dict[str, int]  # as `scorecard.tests_of` counts them


def procedure(numbers: Numbers) -> Procedure:
    """Those lines of verdicts.csv."""
    frame = numbers.verdicts[numbers.verdicts["rule"].eq(PROCEDURE)]
    errors = frame[frame["exhibit"].eq("table_2") & frame["half_width"].notna()]
    levels = frame[frame["statistic"].str.startswith("Q")]
    far = frame[frame["exhibit"].isin(MILEAGE_TABLES) & frame["verdict"].eq(Comparison.DIFFERS)]
    return Procedure(
        errors=len(errors),
        with_zero=int((errors["half_width"] >= errors["yardstick"]).sum()),
        unclear_errors=int(errors["verdict"].eq(Comparison.UNCLEAR).sum()),
        levels=len(levels),
        unclear_levels=int(levels["verdict"].eq(Comparison.UNCLEAR).sum()),
        far=list(far["exhibit"].unique()),
        far_mileages=list(map(int, far["row"])),
        tests=scorecard.tests_of(frame),
    )


@dataclass(frozen=True)
class LunarLander:
    """Table 4's scores of GLADIUS there: printed, and means of the public procedure."""

    printed: list[float]
    ours: list[float]  # those of two trajectories beside one, as it was logged
    medians: list[float]  # of ours
    last: list[float]  # means of the last epoch
    alone: float  # the mean of ours from one trajectory


def lunar_lander(numbers: Numbers) -> LunarLander:
    """Those lines of verdicts.csv."""
    frame = numbers.verdicts[numbers.verdicts["rule"].eq(PROCEDURE)]
    frame = frame[frame["exhibit"].eq("table_4") & frame["row"].str.startswith("LunarLander")]
    published, ours = (
        list(frame[x].str.split().str[0].astype(float)) for x in ("published", "ours")
    )

    def found(epoch: str, statistic: str = "% optimality") -> list[float]:
        """From one trajectory, and from as many as `ours`."""
        key = "LunarLander*", frame["column"].iloc[0], f"author table {epoch}", statistic
        return list(numbers.lines("table_4", *key)["value"])

    medians = found("best", "% optimality median")[1:]
    return LunarLander(published, ours, medians, found("last")[1:], found("best")[0])


@dataclass(frozen=True)
class Expert:
    """An expert's printed return beside the nearest of the rules that we tried."""

    environment: str
    printed: tuple[str, str]  # mean, standard deviation
    rule: str
    mean: float
    sd: float
    episodes: float
    z: float  # NaN where neither return varies
    tried: int  # rules

    @property
    def game(self) -> str:
        """The environment without its version."""
        return self.environment.rpartition("-")[0]

    @property
    def is_equal(self) -> bool:
        """Whether nothing varies, so that there is no z."""
        return math.isnan(self.z)

    @property
    def is_other_version(self) -> bool:
        """Whether the paper has another version of the environment."""
        return self.environment == LUNAR_LANDER


def experts(numbers: Numbers) -> list[Expert]:
    """One for each environment of Table 4."""
    found = []
    for name, (text, rule) in table_4.EXPERTS.items():
        mean, sd = text.rstrip(")").split(" (")
        line = numbers.line("table_4", name, "Expert", "measured", f"return, {rule}")
        episodes = line["repetitions"]
        error = math.hypot(line["se"], float(sd) / episodes**0.5)
        found.append(
            Expert(
                environment=name,
                printed=(mean, sd),
                rule=rule,
                mean=line["value"],
                sd=line["se"] * episodes**0.5,
                episodes=episodes,
                z=(line["value"] - float(mean)) / error if error else math.nan,
                tried=len(numbers.lines("table_4", name, "Expert", "measured", "return, *")),
            )
        )
    return found


@dataclass(frozen=True)
class Scale:
    """How far our implementations of methods go that the paper says do not scale."""

    samq: int  # the most trajectories
    dummies: list[float]  # the most, of Rust and of ML-IRL


def scale(numbers: Numbers) -> Scale:
    """From Tables 1 and 2."""
    samq = numbers.lines("table_2", "*", "SAmQ", "leak_free ward 5")
    largest = [
        numbers.value("table_1", method, "Scalability", "measured", "largest K")
        for method in ("NFXP", "ML-IRL")
    ]
    return Scale(samq["row"][samq["status"].eq("ok")].astype(int).max(), largest)


def benchmarks(_: Numbers) -> list[list[str]]:
    """Lines of a table: what grows, its size, observations, the fit, CPU-s, times reading."""
    frame = pd.read_csv(BENCHMARKS)
    frame["what"] = frame["what"].where(~frame["what"].duplicated(), "")
    frame["times"] = frame["cpu"] / frame["read"]
    of = {"size": "{:,}".format, "rows": "{:,}".format, "cpu": two_digits, "times": two_digits}
    columns = ["what", "size", "rows", "fit", "cpu", "times"]
    return [
        [of.get(name, str)(x) for name, x in zip(columns, line, strict=True)]
        for line in frame[columns].to_numpy().tolist()
    ]


def old_code(_: Numbers) -> list[list[str]]:
    """Lines of a table: digest and label, the number furthest from the stored one, how far, %."""
    frame = pd.read_csv(OLD_CODE)
    doubled = frame["label"].str.startswith(PUBLIC_K) & (frame["relative_difference"] >= 1)
    found = {
        "both codes give the same bits": str(frame["same_by_both_codes"].all()),
        "they are those stored": str(frame["same_as_stored"].any()),
        "an error of Figure 1 doubled": str(doubled.any()),
    }
    stated(found, dict(zip(found, ("True", "False", "True"), strict=True)))
    lines = frame.sort_values("relative_difference", ascending=False)
    columns = ["cell", "label", "furthest", "relative_difference"]
    return [
        [cell[:DIGITS], *names, two_digits(100 * x)]
        for cell, *names, x in lines[columns].to_numpy().tolist()
    ]


def two_digits(x: float) -> str:
    """Two significant digits, without an exponent."""
    return f"{float(f'{x:.2g}'):,g}"


# a template calls these by their names
FACTS = (
    *(convergence, descent, double_sampling, figure_1, table_2),
    *(
        accounts,
        accuracy,
        as_printed,
        benchmarks,
        brackets,
        digits,
        exact_step,
        experts,
        gumbel,
        ledger,
        letter,
        lunar_lander,
        old_code,
        ours_scored,
        procedure,
        scale,
        scored,
        side_by_side,
    ),
    table_a1,
)
