"""Our own estimator of the paper's risk: zeta is solved exactly, and the level of Q in closed form.

This room imports the model, the solvers and what was observed. Start with `estimator`, which says
which class of functions is used when; the paper's own algorithms are in `gladius.paper`.
"""

# function classes of "profiled_erm" that work on observations -> module with `Options`, and
# `fit_rows(transitions, anchor, discount, options)` of one data set
ROW_CLASSES = {
    "sparse": "gladius.own_data.erm.observations.sparse",
    "mlp": "gladius.own_data.erm.observations.network",
}
