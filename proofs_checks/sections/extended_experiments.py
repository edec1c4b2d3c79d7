"""Appendix A, Extended experiment discussions: what Tables A1 to A4 print."""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from hypothesis import strategies as st

from gladius.designs.bus import BusEngine
from gladius.validate import Array
from proofs_checks.claims import printed_tables as paper
from proofs_checks.claims.claims import CheckResult, at_least, at_most, claim, equal, weakest
from proofs_checks.claims.printed_tables import (
    EXACT,
    HALF,
    Interval,
    Method,
    implied_mape,
    reported,
)
from proofs_checks.oracle import tables as oracle

# A value iteration in single precision: near 55 the numbers are 3.8e-6 apart, 1/(1 - beta) = 20.
SINGLE = 1e-4
ACCURACY = "accuracy of the solution; the bound is three decimals and 1e-4, single precision"

Pair = tuple[int, int, int]  # 50 or 1,000 trajectories, whose tables are meant, mileage, action
PAIRS: list[Pair] = list(product(paper.TABLES, paper.MILEAGES, paper.ACTIONS))


# --- the true reward and the oracles
@cache
def _bus_q(theta: tuple[float, float]) -> Array:
    return oracle.solve(oracle.linear_reward(theta))


@claim.holds(
    "tab.truth",
    instances=st.sampled_from(PAIRS),
    broken="a printed Q* off by a unit of its last digit (-62.073 for -62.074)",
    rejected={"units": 1},
    rejected_at=lambda: (1000, 10, 0),
)
def truth(pair: Pair, units: int = 0) -> CheckResult:
    r"""The columns "Ground Truth" print $r = -x$, -5 and the $Q^*$ of the bus engine of Section 7.

    Where: Tables A1 to A4 (and 3), columns "Ground Truth $r$", "Ground Truth $Q$", "True reward".

    Assumes: $\theta = (1, 5)$, $\beta = 0.95$, moves of 1 to 4 with probability 1/4, the cap at 20.

    Decided: by value iteration written anew and by the library, each within half a unit of the
    third decimal at all 40 cells.
    """
    trajectories, mileage, a = pair
    i, column = mileage - 1, (trajectories, "Ground Truth")
    q = paper.grid(*column, "Q")[i][a].changed(units)
    r, stated = paper.grid(*column, "r")[i][a].value, Fraction(-5 if a else -mileage)
    if trajectories == 1000 and a == 0:
        r = paper.cell("table_3", mileage, "True reward", "r a0").value if r == stated else r
    if r != stated:
        return equal(r, stated, 0, "both are whole numbers")
    reason, half = "half a unit of the last digit", float(q.unit / 2)
    solutions = (_bus_q((1.0, 5.0))[i, a], BusEngine().mdp.solution.q[i, a])
    return weakest(*(equal(q.value, v, half, reason) for v in solutions))


@claim.holds(
    "tab.rust-r-versus-Q",
    instances=st.sampled_from([Method(n, "Rust") for n in paper.TABLES]),
    broken="one printed Q off by a unit of its last digit (-53.020 for -53.019)",
    rejected={"units": -1},
    rejected_at=lambda: Method(1000, "Rust"),
)
def rust_r_versus_q(method: Method, units: int = 0) -> CheckResult:
    r"""Rust's printed $r$ and $Q$ satisfy the Bellman equation of the bus engine.

    Where: Tables A1 and A2, A3 and A4, columns "Rust".

    Assumes: $r(x, a0) = -\theta_0 x$, $r(x, a1) = -\theta_1$, and Rust has the true transitions.

    Decided: some $(\theta_0, \theta_1)$ must give all 40 printed numbers to their last digit. They
    exist: (0.96531, 4.81249) is within 0.000495 everywhere, (1.01166, 5.03260) within 0.000402.
    """
    q = paper.values(*method, "Q")
    q[0, 0] = float(paper.grid(*method, "Q")[0][0].changed(units).value)
    distance = oracle.fit(q, paper.values(*method, "r"))[1]
    return at_most(distance, float(HALF) + SINGLE, 1e-8, ACCURACY)


# With 50 trajectories the parameters of both columns, with 1,000 those of the Q column alone.
ML_IRL_THETA = {50: (0.958922, 4.777533), 1000: (1.012541, 5.041611)}


def ml_irl_parameters(method: Method, theta_0: float | None = None) -> CheckResult:
    r"""With 50 trajectories ML-IRL's $Q$ solves the Bellman equation for $(\theta_0, \theta_1) =
    (0.95892, 4.77753)$, whose rewards are printed. With 1,000 it solves that for (1.01254,
    5.04161), while the printed rewards are those of (1.0130, 5.043), from another estimator.

    Decided: by solving the bus engine at these parameters.
    """
    theta = ML_IRL_THETA[method.trajectories]
    theta = (theta_0 or theta[0], theta[1])
    gaps = [np.abs(_bus_q(theta)[:10] - paper.values(*method, "Q")).max()]
    if method.trajectories == 50:
        gaps.append(np.abs(oracle.linear_reward(theta)[:10] - paper.values(*method, "r")).max())
    return at_most(max(gaps), float(HALF) + SINGLE, 1e-9, ACCURACY)


def _residuals(method: Method) -> list[tuple[float, float]]:
    """(|r|, Bellman residual) of the pairs whose next states are printed: a0 moves on by 1 to 4."""
    r, q = paper.values(*method, "r"), paper.values(*method, "Q")
    pairs = [(x, a) for x in paper.MILEAGES for a in paper.ACTIONS if a == 1 or x <= 6]
    return [(abs(r[x - 1, a]), abs(oracle.residual(r[x - 1, a], q, x, a))) for x, a in pairs]


def _solves(method: Method) -> CheckResult:
    largest = max(residual for _, residual in _residuals(method))
    return at_most(largest, float(oracle.rounding(HALF)) + SINGLE, 1e-12, ACCURACY)


@claim.does_not_hold(
    "tab.mlirl-r-versus-Q",
    instances=st.sampled_from([Method(n, "ML-IRL") for n in paper.TABLES]),
    counterexample=lambda: Method(1000, "ML-IRL"),
    text=(
        r"Tables A3, A4, (mileage 6, a0): mean $V(7\dots10) = -55.3999$, $-6.078 + 0.95 "
        "(-55.3999) = -58.7079$; printed $Q = -58.705$.",
        "Difference {observed:.4f}; rounding (and single precision) explains {bound:.4f}.",
    ),
    corrected=ml_irl_parameters,
    broken="theta_0 as the r column of Table A3 prints it (1.0130)",
    rejected={"theta_0": 1.0130},
    inferred="expected, as the method's $Q$ solves the Bellman equation of its $r$",
)
def ml_irl_r_versus_q(method: Method) -> CheckResult:
    """ML-IRL's printed $r$ and $Q$ satisfy the Bellman equation of the bus engine.

    Where: Tables A1 and A2 (50 trajectories), A3 and A4 (1,000), columns "ML-IRL".

    Assumes: the true transition probabilities, which ML-IRL is given.

    Decided: largest of the 16 residuals whose next states are printed. With 1,000 trajectories it
    is twice what rounding explains: the public code has two estimators, with estimated and with
    known transition probabilities.
    """
    return _solves(method)


# --- GLADIUS
def consistent_to_seven_thousandths(method: Method, few: int = 70) -> CheckResult:
    r"""GLADIUS's $r$ is $Q - \beta \zeta$ with a fitted $\zeta$. So the printed $r$ and $Q$ satisfy
    the Bellman equation only to 0.70 % of $|r|$ with 50 trajectories, and to 0.37 % with 1,000.

    Decided: at the 16 pairs of each whose next states are printed, rounding included.
    """
    digits = float(oracle.rounding(HALF))
    share = max((residual + digits) / size for size, residual in _residuals(method))
    why = "double precision; the printed digits' rounding is added to the residual"
    bound = Fraction(few if method.trajectories == 50 else 37, 10_000)
    return at_most(share, bound, 1e-12, why)


@claim.holds_if(
    "tab.gladius-r-versus-Q",
    condition=r"to the error of the fitted $\zeta$, 0.70 % of $|r|$ at most",
    instances=st.sampled_from([Method(n, "GLADIUS") for n in paper.TABLES]),
    counterexample=lambda: Method(50, "GLADIUS"),
    text=(
        r"Tables A1, A2, (mileage 2, a0): mean $V(3\dots6) = -55.0572$, $-1.978 + 0.95 "
        "(-55.0572) = -54.2824$; printed $Q = -54.270$.",
        "Difference {observed:.4f}; rounding (and single precision) explains {bound:.4f}.",
    ),
    corrected=consistent_to_seven_thousandths,
    broken="0.6 % with 50 trajectories",
    rejected={"few": 60},
    inferred="the standard of the other columns",
)
def gladius_r_versus_q(method: Method) -> CheckResult:
    r"""GLADIUS's printed $r$ and $Q$ satisfy the Bellman equation of the bus engine, to the digit.

    Where: Tables A1 and A2, A3 and A4, columns "GLADIUS"; $r = Q - \beta \zeta$ (Algorithm 1).

    Assumes: nothing about the transition probabilities, which GLADIUS does not have.

    Decided: at the 32 pairs whose next states are printed: $r(x, a1)$ needs $V(1)$, $r(x, a0)$
    needs $V(x+1)$, .., $V(x+4)$, so $x \leq 6$. Nothing is wrong with the table: an estimate of
    $\zeta$ cannot meet the standard of the other columns. The residual is $\beta$ times the error
    of the fitted $\zeta$. The largest, -0.0124 (50 trajectories, mileage 2, a0), is one standard
    error of the 40 training trajectories' transitions there.
    """
    return _solves(method)


# --- the frequencies, and the errors that they weight
RESOLVED = 1e-10  # smaller probabilities are rounding and count as this
# Trajectories, and the (mileage, action) that is counted in a table, or None: mileages up to 10.
Count = tuple[int, tuple[int, int] | None]


def counts_of_test_split(
    tally: Count, horizon: int = 100, share: Fraction = Fraction(1, 5)
) -> CheckResult:
    """The frequencies count the pairs of the test split: 20 % of the trajectories, 100 periods.

    Decided: against the exact distribution of each of the 40 counts and the two totals (a pair's
    count in one trajectory by forward recursion, then convolution). The least probability is 0.011.
    """
    trajectories, pair = tally
    inside = np.zeros((oracle.CAP, 2), dtype=bool)
    inside[:10] = pair is None
    if pair:
        inside[pair[0] - 1, pair[1]] = True
    count = int(np.array(paper.frequencies(trajectories))[inside[:10]].sum())
    chance = oracle.count_probability(inside, count, int(share * trajectories), horizon)
    why = "rounding of a discrete Fourier transform of up to 100,001 terms"
    return at_least(max(chance, RESOLVED), 1e-4, RESOLVED, why)


@claim.holds_if(
    "tab.frequency",
    condition="the counts are those of the test split (20 % of the trajectories)",
    instances=st.sampled_from(
        [(n, (x, a)) for n, x, a in PAIRS] + [(n, None) for n in paper.TABLES]
    ),
    cost=2,
    counterexample=lambda: (1000, None),
    text=(
        "The counts of Table A3 add up to 19,997, those of Table A1 to 1,000.",
        "1,000 (50) trajectories of 100 periods have 100,000 (5,000) pairs, a fifth of them "
        "20,000 (1,000).",
        "The others would be above mileage 10. Only maintenance at mileages 7 to 10 leads "
        "there, 9 times, for less than 100 periods each. That makes {bound:,.0f} pairs in all "
        "at most, not {observed:,.0f}.",
    ),
    corrected=counts_of_test_split,
    broken="the state after the last period counted too (101 periods)",
    rejected={"horizon": 101},
    inferred='Table 3 has "frequency values for 1,000 trajectories"; the captions name no split',
)
def frequency(tally: Count) -> CheckResult:
    r"""The frequencies count the pairs of the 50 (1,000) trajectories.

    Where: Table 3, "frequency values for 1,000 trajectories"; Tables A1 to A4, "appearance
    frequencies", which the text reads as "rarely observed or entirely missing from the dataset".

    Assumes: the design of Section 7: 100 periods from mileage 1, choices by $\pi^*$.

    Decided: the totals by counting transitions, whatever the choices are; each pair's count by its
    exact distribution. Mileages above 10 are reached by maintenance (a0, 1 to 4 up) at the last
    four mileages alone. Each stay there is shorter than 100 periods, since one starts at mileage 1
    and replacement leads back to it.
    """
    trajectories, pair = tally
    if pair is not None:
        return counts_of_test_split(tally, share=Fraction(1))
    counts = paper.frequencies(trajectories)
    above = 100 * sum(row[0] for row in counts[-4:])
    return at_most(100 * trajectories, sum(map(sum, counts)) + above, 0, EXACT)


def one_repetition(method: Method, repetitions: float = 1) -> CheckResult:
    """If Table 2 has MAPEs, each $r$ column of Tables A1 and A3 comes from one repetition. Its MAPE
    is within 1.96 times Table 2's bracket of Table 2's mean.

    Decided: in interval arithmetic; the furthest (ML-IRL, 1,000) is at 0.98 of that. In public
    files Table 2's numbers of Rust and ML-IRL are mean errors of two parameters, and no MAPEs. Then
    this says nothing of averages.
    """
    (low, high), (mean, spread) = implied_mape(method), reported(method)
    least, most = mean.interval
    bound = 1.96 * float(spread.interval[0]) / repetitions**0.5
    return at_most(max(high - least, most - low), bound, 0, EXACT)


@claim.holds_if(
    "tab.mape-from-tables",
    condition="the $r$ columns are one repetition's estimates, not averages over the repetitions",
    instances=st.sampled_from(
        [Method(n, m) for n in paper.TABLES for m in (*paper.ORACLES, "GLADIUS")]
    ),
    counterexample=lambda: Method(1000, "ML-IRL"),
    text=(
        "Table A3, ML-IRL: $r$ is 1.30 % too negative for a0 (11,324 pairs), 0.86 % for a1 "
        "(8,673).",
        "Their weighted mean is at least {observed:.3f} % up to rounding, and above 0.8 % "
        "whatever the weights; Table 2 reports 0.64 %.",
    ),
    corrected=one_repetition,
    broken="the spread of a repetition divided by the root of 20 repetitions",
    rejected={"repetitions": 20},
    inferred="Appendix A explains Table 2's MAPE by these columns",
)
def mape_from_tables(method: Method) -> CheckResult:
    """Tables A1 and A3 show estimates that are averaged over the repetitions. They are the
    estimates whose MAPE Table 2 reports for 50 and 1,000 trajectories.

    Where: Appendix A, "present the estimated results ... as we saw in the main text's Table 2,
    GLADIUS achieves par or lower MAPE ... This is because it overall outperforms ...".

    Assumes: the MAPE is a mean over the test split, whose frequencies the tables print. Table 2 has
    this MAPE, as its caption says.

    Decided: by Jensen's inequality the MAPE of averaged estimates is at most the average MAPE. Both
    oracles with 1,000 trajectories and ML-IRL with 50 are above it: no averages.
    """
    (low, _), (mean, _) = implied_mape(method), reported(method)
    return at_most(low, mean.interval[1], 0, EXACT)


# --- Table 3, and mileages 6 to 10
COLUMNS = {"Frequency": "frequency", "True reward": "r", "ML-IRL": "r", "Rust": "r", "GLADIUS": "r"}
Cell = tuple[int, str]  # a mileage and a column of Table 3


@claim.holds(
    "tab.table-3",
    instances=st.sampled_from(list(product(paper.MILEAGES, COLUMNS))),
    broken="Table 3 compared with Table A1",
    rejected={"table": "table_a1"},
    rejected_at=lambda: (1, "Rust"),
    inferred="the MAPE means something only if no reward is near 0",
)
def table_3_repeats(entry: Cell, table: str = "table_a3") -> CheckResult:
    """Table 3 repeats the columns of Table A3 for a0. No printed true reward is nearer to 0 than 1,
    so that no absolute percentage error divides by a small number.

    Where: Tables 3 and A3.

    Assumes: nothing.

    Decided: all 50 cells and all 20 rewards, as fractions of the printed digits.
    """
    mileage, column = entry
    symbol = f"{COLUMNS[column]} a0"
    twin = paper.cell(table, mileage, column.replace("True reward", "Ground Truth"), symbol)
    rewards = [abs(c.value) for c in paper.grid(1000, "Ground Truth", "r")[mileage - 1]]
    return weakest(
        equal(paper.cell("table_3", mileage, column, symbol).value, twin.value, 0, EXACT),
        at_least(min(rewards), Fraction(1), 0, EXACT),
    )


Far = tuple[Method, int]  # a column of an oracle, and an action


def _errors(case: Far, mileages: range) -> tuple[Interval, Interval]:
    """Mean error of GLADIUS's rewards of an action at these mileages, and of the oracle's."""
    method, action = case
    pair = (Method(method.trajectories, "GLADIUS"), method)
    ours, theirs = (implied_mape(m, mileages, range(action, action + 1), False) for m in pair)
    return ours, theirs


def worse_at_maintenance(case: Far, mileages: range = range(6, 11)) -> CheckResult:
    """At mileages 6-10 GLADIUS's reward of maintenance (a0) is further off than the oracles'. It is
    25 % off against 3.5 and 4.1 with 50 trajectories, and 4.3 % off against 1.2 and 1.3 with 1,000.
    Its reward of replacement (a1) is nearer: 0.02 and 0.06 % off against 0.66 to 4.5.

    Decided: means over the five mileages, by interval arithmetic on the printed digits. The reward
    of a1 is that of the anchor, which GLADIUS is given and the oracles estimate.
    """
    ours, theirs = _errors(case, mileages)
    if case[1] == 1:
        return at_most(ours[1], theirs[0], 0, EXACT)
    return at_least(ours[0], theirs[1], 0, EXACT)


@claim.holds_if(
    "app.extrapolation",
    condition="the pairs of maintenance (a0), which Appendix A's word 'extrapolation' fits",
    instances=st.sampled_from(
        [(Method(n, m), a) for n, m, a in product(paper.TABLES, paper.ORACLES, paper.ACTIONS)]
    ),
    counterexample=lambda: (Method(50, "Rust"), 1),
    text=(
        "Table A1, a1 at mileages 9 and 10 (2 observations and 1): the true reward is -5.",
        "GLADIUS prints -5.001 and -5.002, an error of {observed:.3f} % at most.",
        "Rust prints -4.812, an error of {bound:.2f} % at least.",
    ),
    corrected=worse_at_maintenance,
    broken="the same claimed of mileages 1-5",
    rejected={"mileages": range(1, 6)},
    rejected_at=lambda: (Method(1000, "Rust"), 0),
)
def worse_at_high_mileages(case: Far) -> CheckResult:
    """For the pairs of mileages 6-10 "that are rarely observed or entirely missing from the
    dataset" the oracles' rewards are nearer to the true ones than GLADIUS's, which "struggles".

    Where: Appendix A, first paragraph; Section 7.3, item 2, "weakness in extrapolation".

    Assumes: a mean over the pairs of an action, not weighted by frequencies.

    Decided: from Tables A1 and A3; replacement is rare at 9 and 10 only, its reward an estimate.
    """
    ours, theirs = _errors(case, range(9 if case[1] else 6, 11))
    return at_least(ours[1], theirs[0], 0, EXACT)


@claim.holds(
    "text.most-states-1-5",
    instances=st.sampled_from(sorted(paper.TABLES)),
    broken="mileages 2 to 5",
    rejected={"first": 2},
    rejected_at=lambda: 1000,
)
def most_states(trajectories: int, first: int = 1) -> CheckResult:
    """Most states observed in the expert data are within mileage 1-5.

    Where: Section 7.3, item 1; the frequencies of Tables A1 and A3.

    Assumes: "most" is more than half.

    Decided: 92.2 and 91.7 % of the printed counts, and 91.6 % by the exact state distribution.
    """
    counts = [sum(row) for row in paper.frequencies(trajectories)]
    printed = Fraction(sum(counts[first - 1 : 5]), sum(counts))
    bus = BusEngine()
    mass = bus.mdp.occupancy(bus.horizon).sum(axis=1)
    return weakest(
        at_least(printed, Fraction(1, 2), 0, EXACT),
        at_least(float(mass[first - 1 : 5].sum()), 0.5, 1e-12, "a sum of 100 matrix products"),
    )
