"""What is behind the measured ticks of Table 1; facts from the methods' own papers."""

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

# (line, or "" for every other one, column, what was measured) -> what is behind it. Keyed by what
# was measured too: a reason for one direction is none for the other.
REASONS = {
    ("CCP", ONE_SHOT, "yes"): (
        "linear solves only; where they are simulated, as the paper's definition has it, no"
    ),
    ("", ONE_SHOT, "yes"): "no loop inside a step: linear solves only",
    ("MPEC", ONE_SHOT, "yes"): "the Bellman equations are constraints of one programme",
    ("Ours", ONE_SHOT, "no"): "the steps that find its smoothing have a Bellman fixed point each",
    ("Ours", FREE, "no"): "ours takes the exact inner maximum, over frequencies",
    ("SAmQ", FREE, "no"): "in our form its cells have transition frequencies",
    ("SAmQ, 5 cells", FREE, "no"): "in our form its cells have transition frequencies",
    ("Model-enhanced AIRL", FREE, "no"): "it is defined by an estimated transition model",
    ("Semi-gradient", GRADIENT, "no"): "computed by one linear system and a logit",
    ("Semi-gradient, linear basis", GRADIENT, "no"): "computed by one linear system and a logit",
    ("Clare", GRADIENT, "no"): "ours solves the tabular fixed point; the original trains networks",
    ("ML-IRL", GRADIENT, "no"): "ours takes Newton steps; the original Adam's",
    ("Ours", GRADIENT, "no"): "ours takes Newton steps; Algorithm 1 descends",
    ("Model-enhanced AIRL", GRADIENT, "no"): (
        "agrees, but only because ours solves tables: the original's parts are trained by gradients"
    ),
    ("AVI", SCALE, "yes"): "any regression will do, here networks",
    ("SAmQ", SCALE, "yes"): (
        "agrees, against the paper's own figure, which has N/A from K = 20: ours needs no table"
    ),
    ("ML-IRL", SCALE, "no"): "our model is a table; the paper too leaves it out in high dimension",
    ("Clare", SCALE, "no"): "our model is a table; the original's are networks",
    ("Model-enhanced AIRL", SCALE, "no"): "our model is a table; the original's is a network",
    ("Ours", SCALE, "no"): "it works on a table of counts; no sampled form yet",
    ("Ours, Algorithm 1", SCALE, "no"): "its sums are over a table of counts; no sampled form yet",
    ("Semi-gradient", BELLMAN, "yes"): (
        "with a function a state it solves AVI's equation, whose tick is printed"
    ),
    (
        "IQ-Learn",
        BELLMAN,
        "no",
    ): "agrees, but its Q and r solve the equation: the anchor is missing",
    ("Ours, Algorithm 1", BELLMAN, "no"): "not converged after 10,000 of our steps of .01",
    ("AVI", GLOBAL, "no"): (
        "its networks stop at .01; with one-hot functions it is a linear system, nothing is random"
    ),
    ("SAmQ", GLOBAL, "yes"): "with a cell a state it is NFXP, whatever its inversion finds",
    ("IQ-Learn", GLOBAL, "no"): "agrees, for its network; in a table its objective is concave",
    ("Clare", GLOBAL, "yes"): "its tabular fixed point is unique; its reward is not the true one",
    ("Ours, Algorithm 1", GLOBAL, "no"): "not converged after 10,000 of our steps of .01",
    ("AVI", RATE, "yes"): "the paper gives rates only to methods with global optimality",
    ("Semi-gradient", RATE, "yes"): "the paper gives rates only to methods with global optimality",
    ("ML-IRL", RATE, "yes"): "the paper gives rates only to methods with global optimality",
    ("SAmQ", RATE, "yes"): "with a cell a state it is maximum likelihood; with 5 the bias stays",
    ("Ours, Algorithm 1", RATE, "no"): "not converged after 10,000 of our steps of .01",
}
UNKNOWN = "not known"


def known(line: str, column: str, measured: str) -> bool:
    """Whether there is a word on this very line, be the tick borne out or not."""
    return (line, column, measured) in REASONS


def reason(line: str, column: str, measured: str) -> str:
    """What is behind a measured tick, "not known" where nobody has looked."""
    for name in (line, ""):
        if (name, column, measured) in REASONS:
            return REASONS[name, column, measured]
    return UNKNOWN
