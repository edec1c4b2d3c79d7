"""Simulation designs, and whatever else knows the truth: errors of an estimate, efficiency bounds.

This room imports the model and what was observed. No estimator imports it. Start with `bus`, the
bus engine of the paper's Section 7.
"""
