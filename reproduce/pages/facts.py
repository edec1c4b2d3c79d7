"""What the pages say in numbers: a class for each passage, made of the results by one function.

A template prints the fields. Where it chooses between sentences, it does so by a field that is true
or false, or that may be empty; the rule stands here. A sentence that is right only as long as the
results say so is guarded by `stated`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from reproduce.cells import public_fits
from reproduce.cells.public_trainings import EPOCHS, batch_of
from reproduce.pages import trainings
from reproduce.pages.numbers import Numbers, printed, ratios
from reproduce.pages.trainings import Size
from reproduce.paper.judge import TESTED

Sizes = tuple[int, ...]  # numbers of trajectories
NO_BIAS = 1e-20  # of a loss at Q*: rounding alone


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
    """Errors of r over the printed ones, by number of dummies: one public training, and ours."""

    best: tuple[float, ...]  # at the epoch that the true reward chooses
    held_out: tuple[float, ...]  # at the epoch with the least held-out loss
    ours: tuple[float, ...]  # of profiled ERM, means


def figure_1(numbers: Numbers) -> Figure1:
    """Figure 1 in ratios."""

    def times(column: str, protocol: str) -> tuple[float, ...]:
        series = numbers.series("figure_1", "*", column, protocol)
        return tuple(ratios(series, printed("figure_1", "GLADIUS")).values())

    return Figure1(
        best=times("GLADIUS", "author public best"),
        held_out=times("GLADIUS", "author public held-out"),
        ours=times("Profiled ERM", "leak_free sparse"),
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
    fresh: list[str]  # `k of n` printed errors that agree, differ, cannot tell; last epoch
    held_out: tuple[float, ...]  # times the printed errors of Figure 1, by a user's rule
    time: str

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
        fresh=[numbers.agreeing("table_2", "author last", word) for word in TESTED],
        held_out=figure_1(numbers).held_out,
        time=numbers.time([trainings.NAME], True),
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
    unstable = growth_rates["row"][growth_rates["status"].eq("diverged")].iloc[-1]
    until = "steps to a distance of 0.01"
    steps = numbers.lines("stability", "plain, step *, ratio 1", "Algorithm 1", "measured", until)
    step_sizes = steps["row"].str.extract("step (.*),", expand=False)

    def until_near(start: str) -> tuple[float, ...]:
        series = numbers.series("table_2_author", "*", "Algorithm 1", f"printed {start}", until)
        return tuple(float(f"{steps:.2g}") for steps in series.values())

    return Descent(
        runs=int(failed["repetitions"].sum()),
        converged=round((failed["repetitions"] - failed["value"]).sum()),
        diverged=round((diverged["value"] * diverged["repetitions"]).sum()),
        iterations=numbers.lines("stability", *runs, "iterations")["value"].max(),
        unstable=unstable.split()[-1],
        step=public_fits.STEP,
        from_zero=until_near("from 0"),
        from_level=until_near("from -55"),
        by_status={word: list(step_sizes[steps["status"].eq(word)]) for word in steps["status"]},
        public=(descents(250), descents(5000)),
        time=numbers.time(["stability", "table_2_author"]),
    )


def descents(trajectories: int) -> int:
    """Descent steps in a training of the public code: every other batch of an epoch is for Q."""
    trained = 0.8 * trajectories
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


FACTS = (convergence, descent, double_sampling, figure_1, table_2)
