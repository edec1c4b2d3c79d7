"""Why a printed tick of Table 1 and our measurement differ; facts from the methods' own papers."""

from __future__ import annotations

from reproduce.exhibits._table_1_columns import (
    BELLMAN,
    FREE,
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
    ("Ours", FREE, "no"): (
        "ours takes the exact inner maximum, over frequencies; see the line of Algorithm 1"
    ),
    ("SAmQ", FREE, "no"): "solves on its cells with their transition frequencies",
    ("Model-enhanced AIRL", FREE, "no"): "it is defined by an estimated transition model",
    ("", GRADIENT, "yes"): "Newton's method uses gradients and Hessians; the paper means descent",
    ("Semi-gradient", GRADIENT, "no"): "computed by one linear system and a logit",
    ("Clare", GRADIENT, "no"): "ours solves the tabular fixed point; the original trains networks",
    ("ML-IRL", SCALE, "no"): "our model is a table; the paper too leaves it out in high dimension",
    ("Clare", SCALE, "no"): "our model is a table; the original's are networks",
    ("Model-enhanced AIRL", SCALE, "no"): "our model is a table; the original's is a network",
    ("Ours", SCALE, "no"): "our estimator works on counts; the sampled form is not written yet",
    ("AVI", SCALE, "yes"): "its regressions are networks; the two rows of its paper look swapped",
    ("SAmQ", BELLMAN, "no"): "5 cells are fewer than the states: the bias of aggregation stays",
    ("", BELLMAN, "no"): "sampling error at N = 5,000 is above the limit: see the rate",
    ("Semi-gradient", RATE, "yes"): "its paper proves root N, with a locally robust correction",
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
