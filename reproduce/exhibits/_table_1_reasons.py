"""Why a printed tick of Table 1 and our measurement differ; facts from the methods' own papers."""

from __future__ import annotations

ONE_SHOT = "One-shot Optimization"
FREE = "Transition Estimation-Free"
GRADIENT = "Gradient-Based"
SCALE = "Scalability"
BELLMAN = "Bellman Equation"
GLOBAL = "Global Optimality"
RATE = "Statistical Complexity"

# (method, or "" for every other one, column) -> why printed and measured differ
REASONS = {
    ("", ONE_SHOT): "no loop inside a step: linear solves only",
    ("MPEC", ONE_SHOT): "no inner loop: the Bellman equations are constraints of one programme",
    ("", FREE): "a transition law is formed",
    ("SAmQ", FREE): "solves on its cells with their transition frequencies",
    ("Model-enhanced AIRL", FREE): "the method is defined by an estimated transition model",
    (
        "Ours",
        FREE,
    ): ("ours takes the exact inner maximum from counts; Algorithm 1 on batches needs none"),
    ("", GRADIENT): "Newton's method uses gradients and Hessians; the paper means descent",
    ("Semi-gradient", GRADIENT): "computed by one linear system and a logit",
    ("Clare", GRADIENT): "ours solves the tabular fixed point; the original trains networks",
    ("", SCALE): "finishes, or not, in this implementation: see K",
    ("Clare", SCALE): "our model is a table; the original's are networks",
    ("ML-IRL", SCALE): "our model is a table; the paper too excludes it in high dimension",
    ("Model-enhanced AIRL", SCALE): "our model is a table; the original's is a network",
    ("Ours", SCALE): "our estimator works on counts; the sampled form is not written yet",
    ("AVI", SCALE): "its regressions are networks; the two rows of its paper look swapped",
    ("", BELLMAN): "see the two errors",
    (
        "Semi-gradient",
        BELLMAN,
    ): ("at the truth its value function is Q*; one-hot, it solves AVI's equation"),
    ("", GLOBAL): "every start ends in the same reward on this world, which is no theorem",
    ("Semi-gradient", GLOBAL): "a linear system and a concave logit: nothing to start from",
    ("", RATE): "the slope's interval includes -1/2",
}
