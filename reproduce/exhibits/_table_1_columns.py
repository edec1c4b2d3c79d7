"""The columns of Table 1, as the paper spells them."""

from __future__ import annotations

ONE_SHOT = "One-shot Optimization"
FREE = "Transition Estimation-Free"
GRADIENT = "Gradient-Based"
SCALE = "Scalability"
BELLMAN = "Bellman Equation"
GLOBAL = "Global Optimality"
RATE = "Statistical Complexity"
