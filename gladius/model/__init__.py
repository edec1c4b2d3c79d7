"""The paper's model and its estimated parts: risk, transition probabilities, forms of r.

This room imports `gladius.panel`. Start with `mdp` for the soft Bellman
equations and with `risk` for the empirical risk of the paper.
"""
