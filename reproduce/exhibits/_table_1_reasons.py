"""Why a printed tick of Table 1 and our measurement differ; facts from the methods' own papers."""

from __future__ import annotations

from reproduce.exhibits._table_1_columns import (
    BELLMAN,
    FREE,
    GLOBAL,
    GRADIENT,
    ONE_SHOT,
    RATE,
    SCALE,
)

# (method, or "" for every other one, column, what was measured) -> why the printed tick differs.
# Keyed by what was measured too: a reason for one direction is none for the other.
REASONS = {
    ("", ONE_SHOT, "yes"): "no loop inside a step: linear solves only",
    ("MPEC", ONE_SHOT, "yes"): "the Bellman equations are constraints of one programme",
    ("Ours", ONE_SHOT, "no"): "the steps that find its smoothing have a Bellman fixed point each",
    ("Ours", FREE, "no"): "ours takes the exact inner maximum, over frequencies",
    ("SAmQ", FREE, "no"): "solves on its cells with their transition frequencies",
    ("Model-enhanced AIRL", FREE, "no"): "it is defined by an estimated transition model",
    ("", GRADIENT, "yes"): "Newton's method uses gradients and Hessians; the paper means descent",
    ("Semi-gradient", GRADIENT, "no"): "computed by one linear system and a logit",
    ("Clare", GRADIENT, "no"): "ours solves the tabular fixed point; the original trains networks",
    ("ML-IRL", SCALE, "no"): "our model is a table; the paper too leaves it out in high dimension",
    ("Clare", SCALE, "no"): "our model is a table; the original's are networks",
    ("Model-enhanced AIRL", SCALE, "no"): "our model is a table; the original's is a network",
    ("Ours", SCALE, "no"): "it works on counts; no sampled form yet",
    ("Ours, Algorithm 1", SCALE, "no"): "its batches are drawn from counts; no sampled form yet",
    ("AVI", SCALE, "yes"): "its regressions are networks; the two rows of its paper look swapped",
    ("Ours, Algorithm 1", BELLMAN, "no"): "as printed it has not converged after 10,000 steps",
    ("Ours, Algorithm 1", GLOBAL, "no"): "no start has converged after 10,000 steps",
    ("Clare", GLOBAL, "yes"): "its tabular fixed point is unique; its reward is not the true one",
    ("Ours, Algorithm 1", RATE, "no"): "not converged: more data do not move the level of Q",
    ("AVI", RATE, "yes"): "its paper proves root N, with a locally robust correction",
    ("ML-IRL", RATE, "yes"): "a maximum likelihood estimator of two parameters",
}
UNKNOWN = "not known"


def reason(method: str, column: str, measured: str) -> str:
    """Why a printed tick is not what was measured, "not known" where nobody has looked."""
    for name in (method, ""):
        if (name, column, measured) in REASONS:
            return REASONS[name, column, measured]
    return UNKNOWN
