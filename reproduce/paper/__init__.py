"""The paper's own numbers, and the rules by which ours are judged beside them.

This room imports `engine`, and the names of statistics from `cells`; it computes no estimate. Start
with `published`, then `judge` for the rule of a verdict.
"""
