"""Figure A1: error of the estimated reward by mileage, 50 trajectories."""

from __future__ import annotations

from reproduce.exhibits import _mileage_figure

EXHIBIT = _mileage_figure.make_figure("figure_a1", "A1", trajectories=50, table="table_a1")
