"""Numerical methods that know nothing of rewards: Newton steps, networks, loops in machine code.

This room imports `gladius.panel` for its records of counts, and `gladius.validate`. Start with
`newton`, by which likelihoods with few parameters are maximised.
"""
