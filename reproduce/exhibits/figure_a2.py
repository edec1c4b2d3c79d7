"""Figure A2: error of the estimated reward by mileage, 1,000 trajectories."""

from __future__ import annotations

from reproduce.exhibits.figure_a1 import make_figure

EXHIBIT = make_figure("figure_a2", "A2", trajectories=1000, table="table_a3")
