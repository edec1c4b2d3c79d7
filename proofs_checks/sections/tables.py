"""Tables A1 to A4: whether the printed r and Q satisfy the Bellman equation of the bus engine."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from hypothesis import strategies as st

from gladius import BusEngine
from gladius.checks import Array
from proofs_checks.claims import CheckResult, Control, Counterexample, claim, worst
from proofs_checks.oracle import tables as oracle
from proofs_checks.printed_tables import (
    ACTIONS,
    MILEAGES,
    TABLES,
    cell,
    column,
)

HALF = Fraction(1, 2000)  # half a unit of the third decimal
# A value iteration in single precision: near 55 the numbers are 3.8e-6 apart, 1/(1 - beta) = 20.
SINGLE = 1e-4


@dataclass(frozen=True)
class Pair:
    """One (mileage, action) of the tables for 50 or 1,000 trajectories."""

    trajectories: int
    mileage: int
    action: int


@dataclass(frozen=True)
class Method:
    """One method's column in the tables for 50 or 1,000 trajectories."""

    trajectories: int
    name: str


PAIRS = [Pair(*p) for p in product(TABLES, MILEAGES, ACTIONS)]


@cache
def _truth() -> Array:
    return oracle.solve(oracle.linear_reward((1.0, 5.0)))


def _truth_cell(at: Pair, moved: int = 0) -> CheckResult:
    printed = column(at.trajectories, "Ground Truth")
    i, a = at.mileage - 1, at.action
    q = printed.q[i][a].moved(moved)
    r, stated = printed.reward[i][a].value, Fraction(-5 if a else -at.mileage)
    if at.trajectories == 1000 and a == 0:
        r = cell("table_3", at.mileage, "True reward", "r a0").value if r == stated else r
    if r != stated:
        return CheckResult(r, "==", stated, 0, "both are whole numbers")
    reason, half = "half a unit of the last digit", float(q.unit / 2)
    solutions = (_truth()[i, a], BusEngine().mdp.solution.q[i, a])
    return worst(CheckResult(float(q.value), "==", float(v), half, reason) for v in solutions)


@claim(
    "tab.truth",
    verdict="holds",
    instances=st.sampled_from(PAIRS),
    control=Control(
        broken="a printed Q* off by a unit of its last digit (-62.073 for -62.074)",
        check=lambda at: _truth_cell(at, moved=1),
        make=lambda: Pair(1000, 10, 0),
    ),
)
def truth(at: Pair) -> CheckResult:
    """The columns "Ground Truth" print r = -x, -5 and the Q* of the bus engine of Section 7.

    Where: Tables A1 to A4 (and 3), columns "Ground Truth r", "Ground Truth Q", "True reward".

    Assumes: theta = (1, 5), beta = 0.95, moves of 1 to 4 with probability 1/4, the cap at 20.

    Decided: by value iteration written anew and by the library, each within half a unit of the
    third decimal at all 40 cells (furthest 0.0004). The cap matters little at these mileages.
    """
    return _truth_cell(at)


@cache
def _distance(at: Method, moved: tuple[int, int, int] | None = None) -> float:
    """How far r and Q together are from the nearest (theta_0, theta_1), in sup norm."""
    printed = column(at.trajectories, at.name)
    q = printed.values("q")
    if moved:
        x, a, units = moved
        q[x - 1, a] = float(printed.q[x - 1][a].moved(units).value)
    return oracle.fit(q, printed.values("reward"))[1]


def _same_parameters(at: Method, moved: tuple[int, int, int] | None = None) -> CheckResult:
    return CheckResult(
        observed=_distance(at, moved),
        relation="<=",
        bound=float(HALF) + SINGLE,
        tolerance=1e-8,
        reason="the linear programme's accuracy; the bound is half a unit of the third decimal and "
        "1e-4, what value iteration in single precision leaves",
    )


@claim(
    "tab.rust-r-versus-Q",
    verdict="holds",
    instances=st.sampled_from([Method(n, "Rust") for n in TABLES]),
    control=Control(
        broken="one printed Q off by a unit of its last digit (-53.020 for -53.019)",
        check=lambda at: _same_parameters(at, moved=(1, 0, -1)),
        make=lambda: Method(1000, "Rust"),
    ),
)
def rust_r_versus_q(at: Method) -> CheckResult:
    """Rust's printed r and Q satisfy the Bellman equation of the bus engine.

    Where: Tables A1 and A2, A3 and A4, columns "Rust".

    Assumes: r(x, a0) = -theta_0 x, r(x, a1) = -theta_1 and the true law, which Rust is told.

    Decided: some (theta_0, theta_1) must give all 40 printed numbers to their last digit. They
    exist: (0.96531, 4.81249) is within 0.000495 everywhere, (1.01166, 5.03260) within 0.000402.
    """
    return _same_parameters(at)


# With 50 trajectories the parameters of both columns, with 1,000 those of the Q column alone.
ML_IRL_THETA = {50: (0.958922, 4.777533), 1000: (1.012541, 5.041611)}


@cache
def _ml_irl_q(theta: tuple[float, float]) -> Array:
    return oracle.solve(oracle.linear_reward(theta))


def _ml_irl_parameters(at: Method, theta: tuple[float, float], reward: bool) -> CheckResult:
    printed = column(at.trajectories, at.name)
    gaps = [np.abs(_ml_irl_q(theta)[:10] - printed.values("q")).max()]
    if reward:
        gaps.append(np.abs(oracle.linear_reward(theta)[:10] - printed.values("reward")).max())
    return CheckResult(
        observed=float(max(gaps)),
        relation="<=",
        bound=float(HALF) + SINGLE,
        tolerance=1e-9,
        reason="double precision; the bound is half a unit of the third decimal and 1e-4, what "
        "value iteration in single precision leaves",
    )


def ml_irl_parameters(at: Method) -> CheckResult:
    """ML-IRL's Q solves the Bellman equation for (theta_0, theta_1) = (0.95892, 4.77753), whose
    rewards are printed, with 50 trajectories; and for (1.01254, 5.04161) with 1,000, where the
    printed rewards are those of (1.0130, 5.043).

    Decided: by solving the bus engine at these parameters.
    """
    few = at.trajectories == 50
    return _ml_irl_parameters(at, ML_IRL_THETA[at.trajectories], reward=few)


def _settled() -> list[tuple[int, int]]:
    """Pairs whose next states are printed: with a0 one moves on by up to four."""
    return [(x, a) for x in MILEAGES for a in ACTIONS if a == 1 or x <= 6]


def _residuals(at: Method) -> CheckResult:
    printed = column(at.trajectories, at.name)
    r, q = printed.values("reward"), printed.values("q")
    found = [abs(oracle.residual(r[x - 1, a], q, x, a)) for x, a in _settled()]
    return CheckResult(
        observed=max(found),
        relation="<=",
        bound=float(oracle.rounding(HALF)) + SINGLE,
        tolerance=1e-12,
        reason="double precision; the bound is (2 + beta) half units of the third decimal and "
        "1e-4, what value iteration in single precision leaves",
    )


@claim(
    "tab.mlirl-r-versus-Q",
    verdict="fails",
    instances=st.sampled_from([Method(n, "ML-IRL") for n in TABLES]),
    counterexample=Counterexample(
        make=lambda: Method(1000, "ML-IRL"),
        text="Tables A3, A4, (mileage 6, a0): mean V(7..10) = -55.3999, -6.078 + 0.95 (-55.3999) = "
        "-58.7079; printed Q = -58.705.\n"
        "Difference {observed:.4f}; rounding (and single precision) explains {bound:.4f}.",
    ),
    corrected=ml_irl_parameters,
    control=Control(
        broken="theta_0 as the r column of Table A3 prints it (1.0130)",
        check=lambda at: _ml_irl_parameters(at, (1.0130, 5.041611), reward=False),
        make=lambda: Method(1000, "ML-IRL"),
    ),
    inferred="expected of Tables A1 to A4, as ML-IRL's Q solves the Bellman equation of its r",
)
def ml_irl_r_versus_q(at: Method) -> CheckResult:
    """ML-IRL's printed r and Q satisfy the Bellman equation of the bus engine.

    Where: Tables A1 and A2 (50 trajectories), A3 and A4 (1,000), columns "ML-IRL".

    Assumes: the true law, which ML-IRL is told.

    Decided: largest of the 16 residuals whose next states are printed. With 1,000 trajectories it
    is twice what rounding explains, and no constant error of Q (a value iteration stopped early)
    explains it: r and Q come from slightly different parameters. With 50 they agree.
    """
    return _residuals(at)


def _relative_residuals(at: Method, share: Fraction) -> CheckResult:
    printed = column(at.trajectories, at.name)
    r, q = printed.values("reward"), printed.values("q")
    found = [
        (abs(oracle.residual(r[x - 1, a], q, x, a)) + float(oracle.rounding(HALF)))
        / abs(r[x - 1, a])
        for x, a in _settled()
    ]
    return CheckResult(
        observed=max(found),
        relation="<=",
        bound=float(share),
        tolerance=1e-12,
        reason="double precision; the printed digits' rounding is added to the residual",
    )


def consistent_to_seven_thousandths(at: Method) -> CheckResult:
    """GLADIUS's r = Q - beta zeta with a fitted zeta: the printed r and Q satisfy the Bellman
    equation to 0.70 % of |r| with 50 trajectories and to 0.37 % with 1,000, and no closer.

    Decided: at the 16 pairs of each whose next states are printed, rounding included.
    """
    return _relative_residuals(at, Fraction(70 if at.trajectories == 50 else 37, 10_000))


@claim(
    "tab.gladius-r-versus-Q",
    verdict="fails",
    instances=st.sampled_from([Method(n, "GLADIUS") for n in TABLES]),
    counterexample=Counterexample(
        make=lambda: Method(50, "GLADIUS"),
        text="Tables A1, A2, (mileage 2, a0): mean V(3..6) = -55.0572, -1.978 + 0.95 (-55.0572) = "
        "-54.2824; printed Q = -54.270.\n"
        "Difference {observed:.4f}; rounding (and single precision) explains {bound:.4f}.",
    ),
    corrected=consistent_to_seven_thousandths,
    control=Control(
        broken="0.6 % with 50 trajectories",
        check=lambda at: _relative_residuals(at, Fraction(60, 10_000)),
        make=lambda: Method(50, "GLADIUS"),
    ),
    inferred="the standard to which the other columns are held; an estimate of zeta cannot meet it",
)
def gladius_r_versus_q(at: Method) -> CheckResult:
    """GLADIUS's printed r and Q satisfy the Bellman equation of the bus engine, to the digit.

    Where: Tables A1 and A2, A3 and A4, columns "GLADIUS"; r = Q - beta zeta (Algorithm 1).

    Assumes: nothing of the law, which GLADIUS is not told.

    Decided: at the 32 pairs whose next states are printed: r(x, a1) needs V(1), r(x, a0) needs
    V(x+1), .., V(x+4), so x <= 6. Nothing is wrong with the table: the residual is beta times the
    error of the fitted zeta. The largest, -0.0124 (50 trajectories, mileage 2, a0), is one standard
    error of the 40 training trajectories' moves there; 0.003 at mileages 5 and 6 (1,000) and
    0.005 at (10, a1), where the move is certain, are network error.
    """
    return _residuals(at)
