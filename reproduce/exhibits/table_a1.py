"""Table A1: estimated reward by mileage and action, 50 trajectories."""

from __future__ import annotations

from reproduce.exhibits.table_3 import make_table

EXHIBIT = make_table(
    "table_a1", "A1", trajectories=50, quantity="r", actions=(0, 1), true="Ground Truth"
)
