"""Table A4: estimated Q by mileage and action, 1,000 trajectories."""

from __future__ import annotations

from reproduce.exhibits.table_3 import make_table

EXHIBIT = make_table(
    "table_a4", "A4", trajectories=1000, quantity="Q", actions=(0, 1), true="Ground Truth"
)
