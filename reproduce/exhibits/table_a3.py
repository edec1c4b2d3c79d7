"""Table A3: estimated reward by mileage and action, 1,000 trajectories."""

from __future__ import annotations

from reproduce.exhibits import _mileage

EXHIBIT = _mileage.make_table(
    "table_a3", "A3", trajectories=1000, quantity="r", actions=(0, 1), truth="Ground Truth"
)
