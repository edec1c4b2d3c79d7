"""What is computed: each function here makes the result of one kind of cell.

This room imports `engine`, the library and the claims' formulas, and no printed number. Start with
`fits`, the fit of a method on simulated data sets; `engine.register` names the functions.
"""
