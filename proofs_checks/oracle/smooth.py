"""The bounds of Lemmas EmpLipschitz and lipsSmooth, as printed and as they follow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """What the bounds are made of.

    Attributes:
        actions: |A|.
        discount: beta.
        slope: B, bound of |grad Q|.
        bend: B_2, bound of |Hess Q|.
        residual: M = R_max + beta V_max + Q_max.
    """

    actions: int
    discount: float
    slope: float
    bend: float
    residual: float

    def lipschitz(self, choice: float = 2.0) -> float:
        """(2 + 2 M (1 + beta)) B; printed with 1 in the place of the first 2."""
        return (choice + 2 * self.residual * (1 + self.discount)) * self.slope

    @property
    def choice_printed(self) -> float:
        """2 B_2 + |A| B^2 / 4."""
        return 2 * self.bend + self.actions / 4 * self.slope**2

    def choice(self, variance: float = 1.0) -> float:
        """2 B_2 + B^2."""
        return 2 * self.bend + variance * self.slope**2

    @property
    def theta_printed(self) -> float:
        """L_theta as printed.

        2 B_2 + |A| B^2 / 4 + 2 (1 + 2 beta) M B_2 + (2 (1 + beta)^2 + beta |A| M / 2) B^2.
        """
        beta, m = self.discount, self.residual
        linear = 2 * (1 + 2 * beta) * m * self.bend
        square = 2 * (1 + beta) ** 2 + beta * self.actions / 2 * m
        return self.choice_printed + linear + square * self.slope**2

    def theta(self, product: float = 2.0) -> float:
        """2 B_2 + B^2 + 2 (1 + beta)^2 B^2 + 2 M ((1 + beta) B_2 + beta B^2)."""
        beta = self.discount
        of_residual = (1 + beta) * self.bend + beta * self.slope**2
        square = 2 * (1 + beta) ** 2 * self.slope**2
        return self.choice() + square + product * self.residual * of_residual
