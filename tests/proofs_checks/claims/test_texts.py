"""Numbers typed into a counterexample's text are those that the published tables give."""

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gladius.validate import InputError
from proofs_checks.claims import under_check
from proofs_checks.claims.claims import claims
from proofs_checks.claims.instances import one_state
from proofs_checks.claims.printed_tables import (
    Printed,
    cell,
    load,
    rows,
)

PUBLISHED = Path(__file__).parents[3] / "paper_tables" / "published"
DISCOUNT = 0.95


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(PUBLISHED / f"{name}.csv", dtype=str).set_index(
        ["row", "column", "statistic"]
    )


def column(name: str, method: str, symbol: str) -> np.ndarray:
    """(10, 2): a symbol by mileage and action; a frequency that is not printed counts 0."""
    values = table(name)["value"]
    cells = [[values[str(x), method, f"{symbol} a{a}"] for a in (0, 1)] for x in range(1, 11)]
    return np.array([[float(cell) if cell != "N/A" else 0.0 for cell in row] for row in cells])


def digits(name: str, row: int | str, method: str, statistic: str, of: str = "value") -> str:
    return str(table(name).loc[(str(row), method, statistic), of])


def far(method: str, first: int = 6) -> float:
    """Frequency-weighted error of Table A1's r in per cent, from a mileage on."""
    true, r = (column("table_a1", name, "r")[first - 1 :] for name in ("Ground Truth", method))
    weights = column("table_a1", "Frequency", "frequency")[first - 1 :]
    return float(100 * (weights * np.abs(r / true - 1)).sum() / weights.sum())


def backup(rewards: str, levels: str, method: str, mileage: int) -> list[str]:
    """Mean V of the four next mileages, r + beta V, and the printed r and Q."""
    q = column(levels, method, "Q")
    v = np.log(np.exp(q).sum(axis=1))[mileage : mileage + 4].mean()
    r = digits(rewards, mileage, method, "r a0")
    both = f"{r} + {DISCOUNT} ({v:.4f}) = {float(r) + DISCOUNT * v:.4f}"
    return [f"= {v:.4f}, {both}", f"printed Q = {digits(levels, mileage, method, 'Q a0')}"]


def who_is_better() -> list[str]:
    gaps = [abs(float(digits("table_a1", 1, m, "r a0")) - -1) for m in ("GLADIUS", "Rust")]
    frequency = digits("table_a1", 1, "Frequency", "frequency a0")
    return [
        f"{frequency} of 1,000 pairs",
        f"{gaps[0]:.3f} for GLADIUS, {gaps[1]:.3f} for Rust",
        f"mileages 6-10: {far('GLADIUS'):.2f} and {far('Rust'):.2f} %",
        f"({far('GLADIUS', 1):.2f} against {far('Rust', 1):.2f} %)",
    ]


def ml_irl() -> list[str]:
    true, r = (column("table_a3", name, "r") for name in ("Ground Truth", "ML-IRL"))
    counts = column("table_a3", "Frequency", "frequency")
    means = 100 * ((r / true - 1) * counts).sum(axis=0) / counts.sum(axis=0)
    return [
        f"{means[0]:.2f} % too negative for a0 ({counts[:, 0].sum():,.0f} pairs)",
        f"{means[1]:.2f} % for a1 ({counts[:, 1].sum():,.0f})",
        f"reports {digits('table_2', 1000, 'ML-IRL', 'MAPE')} %",
    ]


def extrapolation() -> list[str]:
    counts = column("table_a1", "Frequency", "frequency")[8:, 1]
    ours = [digits("table_a1", x, "GLADIUS", "r a1") for x in (9, 10)]
    return [
        f"({counts[0]:.0f} observations and {counts[1]:.0f})",
        f"prints {ours[0]} and {ours[1]}, an error",
        f"Rust prints {digits('table_a1', 9, 'Rust', 'r a1')}",
    ]


def lunar_lander() -> list[str]:
    def returns(row: int, statistic: str) -> list[str]:
        where = f"LunarLander-v2/{row}"
        return [digits("table_4", where, m, f"% optimality{statistic}") for m in ("Gladius", "BC")]

    ours, theirs = returns(1, "")
    lead = float(theirs) - float(ours)
    error = math.hypot(*map(float, returns(1, " sd"))) / 10  # of means of 100 episodes
    third = [float(x) for x in returns(3, "")]
    return [
        f"Gladius {ours} (in bold), BC {theirs}",
        f"{abs(lead) / error:.2f} standard errors",
        f"with 3 trajectories {third[1] - third[0]:.2f}.",
    ]


def frequency() -> list[str]:
    few, many = (column(t, "Frequency", "frequency") for t in ("table_a1", "table_a3"))
    return [
        f"Table A3 add up to {many.sum():,.0f}, those of Table A1 to {few.sum():,.0f}.",
        f"there, {many[6:, 0].sum():.0f} times",
    ]


def below_the_bound() -> list[str]:
    where = ("table_2", 2500, "GLADIUS", "MAPE")
    return [f"MAPE {digits(*where)}, so at most"]


EXPECTED: dict[str, Callable[[], list[str]]] = {
    "text.who-is-better-where": who_is_better,
    "text.who-is-better-where.because": lambda: [
        f"errs by {far('GLADIUS'):.2f} %, Rust by {far('Rust'):.2f} %"
    ],
    "text.below-the-bound": below_the_bound,
    "tab.mlirl-r-versus-Q": lambda: backup("table_a3", "table_a4", "ML-IRL", 6),
    "tab.gladius-r-versus-Q": lambda: backup("table_a1", "table_a2", "GLADIUS", 2),
    "tab.frequency": frequency,
    "tab.mape-from-tables": ml_irl,
    "app.extrapolation": extrapolation,
    "text.bc-consistently-better": lunar_lander,
    "prop:linConvergence.two-sided-PL": lambda: [
        rf"(1 - 2 \beta) c^2/2 = {(1 - 2 * DISCOUNT) / 2:.2f} c^2",
        rf"\mu times {(2 * DISCOUNT - 1) / 2:.2f} for any \mu",
    ],
}


@pytest.mark.parametrize("id_", EXPECTED)
def test_the_numbers_typed_into_a_counterexample_are_the_tables(id_: str) -> None:
    text = " ".join(claims()[id_].text).replace("$", "")
    missing = [number for number in EXPECTED[id_]() if number not in text]
    assert missing == [], text


@given(st.floats(-10, 10), st.floats(-10, 10))
def test_one_state_with_one_action_is_two_sided_pl_at_a_small_discount_factor(q, zeta):
    """f = (.75 Q)^2 - (Q - zeta)^2 / 16 has second derivatives 1 in Q and -1/8 in zeta."""
    sample = one_state([1], discount=0.25)
    point = np.full((1, 1), q), np.full(1, zeta)
    here, least = (
        under_check.objective(sample, np.full((1, 1), x), point[1]) for x in (q, -zeta / 8)
    )
    most = under_check.objective(sample, point[0], point[0][0])  # zeta = V(Q) = Q
    slope = under_check.descent_slope(sample, *point).item()
    rounding = under_check.objective_rounding(sample, *point)
    assert abs(slope**2 / 2 - 1.0 * (here - least)) <= 4 * rounding
    assert abs((q - zeta) ** 2 / 128 - (most - here) / 8) <= rounding  # (df/dzeta)^2 / 2


def test_a_printed_number_is_an_interval():
    printed = Printed("-1.013")
    assert printed.value == Fraction(-1013, 1000)
    assert printed.interval == (Fraction(-10135, 10000), Fraction(-10125, 10000))
    assert Printed("412").interval == (Fraction(823, 2), Fraction(825, 2))
    assert printed.changed(-1) == Printed("-1.014")
    assert Printed("3.60").changed() == Printed("3.61")


@given(st.decimals(-100, 100, places=3), st.integers(-3, 3))
def test_moving_keeps_the_decimals(number, units):
    printed = Printed(str(number))
    shifted = printed.changed(units)
    assert shifted.unit == printed.unit == Fraction(1, 1000)
    assert shifted.value - printed.value == units * printed.unit


@pytest.mark.parametrize(
    ("table", "row", "method", "statistic"),
    [
        ("figure_1", 20, "SAmQ", "MAPE"),  # N/A
        ("table_2", 51, "Rust", "MAPE"),
        ("table_2", 50, "Rust", "mape"),
    ],
)
def test_a_cell_without_a_number_is_an_error(table, row, method, statistic):
    with pytest.raises(InputError, match="no number is printed there"):
        cell(table, row, method, statistic)


def test_standard_errors_are_beside_the_numbers():
    assert cell("table_2", 2500, "GLADIUS", "MAPE", which="se") == Printed("0.06")
    with pytest.raises(InputError):
        cell("table_3", 1, "GLADIUS", "r a0", which="se")
    with pytest.raises(InputError):  # digits are decimal
        _ = Printed("nan").unit


def test_an_unknown_table_is_an_error():
    with pytest.raises(InputError, match="use one of: figure_1, table_1"):
        load("table_9")


def test_rows_are_in_the_printed_order():
    assert rows("figure_1") == ("2", "5", "20", "50", "100")
