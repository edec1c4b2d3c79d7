"""Table A2: estimated Q by mileage and action, 50 trajectories."""

from __future__ import annotations

from reproduce.exhibits.table_3 import make_table

EXHIBIT = make_table(
    "table_a2", "A2", trajectories=50, quantity="Q", actions=(0, 1), true="Ground Truth"
)
