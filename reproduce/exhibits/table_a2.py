"""Table A2: estimated Q by mileage and action, 50 trajectories."""

from __future__ import annotations

from reproduce.exhibits import _mileage

EXHIBIT = _mileage.make_table(
    "table_a2", "A2", trajectories=50, quantity="Q", actions=(0, 1), truth="Ground Truth"
)
