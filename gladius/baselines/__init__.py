"""The other methods of the paper's Table 1, one method a file, read from top to bottom.

They import what was observed, the model and the solvers, and never each other's results. Start with
`nfxp`, the nested fixed point of Rust (1987).
"""
