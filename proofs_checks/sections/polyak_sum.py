"""Two functions that satisfy the PL inequality, while their sum does not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from proofs_checks.claims import CheckResult, Control, claim, worst


@dataclass(frozen=True)
class Valleys:
    """f1 = (y - u(x))^2 and f2 = (y - u(x) - scale (x^2 - root^2))^2, u(x) = tilt x + bow x^2.

    Exact fractions; `at` is a point at which the two PL inequalities are tried.
    """

    scale: Fraction
    root: Fraction
    tilt: Fraction
    bow: Fraction
    at: tuple[Fraction, Fraction]


def _valley(of: Valleys, x: Fraction, y: Fraction, rise: bool, bend: bool) -> list[Fraction]:
    """Value, x- and y-derivative of f1, or of f2 (`rise`); `bend` False makes f2's floor straight.

    The straight floor touches that of f2 in one of the common minimisers, x = root.
    """
    floor, steep = of.tilt * x + of.bow * x * x, of.tilt + 2 * of.bow * x
    if rise and bend:
        floor += of.scale * (x * x - of.root**2)
        steep += 2 * of.scale * x
    elif rise:
        floor += 2 * of.scale * of.root * (x - of.root)
        steep += 2 * of.scale * of.root
    gap = y - floor
    return [gap * gap, -2 * gap * steep, 2 * gap]


def _sum_of_valleys(of: Valleys, bend: bool = True) -> CheckResult:
    """Both are PL with constant 2; the sum has a stationary point above its least value, 0.

    Five relations in exact arithmetic, of which the one that fails, or else the tighter of the two
    PL inequalities, is returned.
    """
    why = "exact arithmetic in fractions"
    found = []
    for rise in (False, True):
        value, along, across = _valley(of, *of.at, rise, bend)
        found.append(CheckResult((along**2 + across**2) / 2, ">=", 2 * value, 0.0, why))
    middle = -of.scale * of.root**2 / 2  # half-way between the floors at x = 0
    first, second = (_valley(of, Fraction(0), middle, rise, bend) for rise in (False, True))
    stuck = (first[1] + second[1]) ** 2 + (first[2] + second[2]) ** 2
    found.append(CheckResult(stuck, "==", Fraction(0), 0.0, why))
    meeting = of.tilt * of.root + of.bow * of.root**2
    least = sum(_valley(of, of.root, meeting, rise, bend)[0] for rise in (False, True))
    found.append(CheckResult(least, "==", Fraction(0), 0.0, why))
    high = first[0] + second[0]
    found.append(CheckResult(high, "==", of.scale**2 * of.root**4 / 2, 0.0, why))
    return worst(found)


def _plain() -> Valleys:
    """f1 = y^2 and f2 = (y - x^2 + 1)^2."""
    one, none = Fraction(1), Fraction(0)
    return Valleys(one, one, none, none, (one, 2 * one))


_PARTS = st.fractions(-3, 3, max_denominator=8)
_POSITIVE = st.fractions(Fraction(1, 8), 3, max_denominator=8)


@claim(
    "fn:sum-of-PL",
    verdict="holds",
    instances=st.builds(Valleys, _POSITIVE, _POSITIVE, _PARTS, _PARTS, st.tuples(_PARTS, _PARTS)),
    control=Control(
        broken="both valleys straight: the sum of two such quadratics is PL",
        check=lambda of: _sum_of_valleys(of, bend=False),
        make=_plain,
    ),
)
def sum_of_pl(of: Valleys) -> CheckResult:
    """The sum of two PL functions is not necessarily PL.

    Where: Section 1, footnote to the second contribution.

    Assumes: nothing.

    Decided: f1 = y^2 and f2 = (y - x^2 + 1)^2 have (1/2)|grad f|^2 = 2 f (1 + slope^2) >= 2 f, so
    both are PL with constant 2, and both are zero at (1, 0) and (-1, 0). At (0, -1/2) the gradients
    are (0, -1) and (0, 1): the sum is stationary at 1/2, above its least value 0, so no constant
    will do. Tried on a family of such valleys in exact arithmetic.
    """
    return _sum_of_valleys(of)
