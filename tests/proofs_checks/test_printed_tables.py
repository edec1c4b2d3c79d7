"""Printed numbers as intervals, and what the paper prints twice."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gladius.checks import InputError
from proofs_checks.printed_tables import (
    Printed,
    cell,
    load,
    rows,
)


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


def test_an_unknown_table_is_an_error():
    with pytest.raises(InputError, match="use one of: figure_1, table_1"):
        load("table_9")


def test_digits_are_decimal():
    with pytest.raises(InputError):
        _ = Printed("nan").unit


def test_rows_are_in_the_printed_order():
    assert rows("figure_1") == ("2", "5", "20", "50", "100")
