"""Table 3: estimated rewards and frequencies of action 0, 1,000 trajectories."""

from __future__ import annotations

from reproduce.exhibits import _mileage

EXHIBIT = _mileage.make_table(
    "table_3", "3", trajectories=1000, quantity="r", actions=(0,), truth="True reward"
)
