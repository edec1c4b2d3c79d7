"""Our estimator where states do not repeat: terms are selected, or networks are fitted.

It imports `gladius.own_data.erm`'s penalty and test of misfit, and what that room imports. Start
with `sparse`.
"""
