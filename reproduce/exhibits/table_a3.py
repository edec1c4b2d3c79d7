"""Table A3: estimated reward by mileage and action, 1,000 trajectories."""

from __future__ import annotations

from reproduce.exhibits.table_3 import make_table

EXHIBIT = make_table(
    "table_a3", "A3", trajectories=1000, quantity="r", actions=(0, 1), true="Ground Truth"
)
