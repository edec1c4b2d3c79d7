"""Our estimator where states do not repeat: terms are selected, or networks are fitted.

This room imports the model, the solvers and what was observed. Start with `sparse`.
"""
