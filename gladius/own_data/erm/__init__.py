"""Our own estimator of the paper's risk: zeta is solved exactly, and the level of Q in closed form.

This room imports the model, the solvers and what was observed. Start with `estimator`, which says
which class of functions is used when; the paper's own algorithms are in `gladius.paper`.
"""
