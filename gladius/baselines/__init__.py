"""The other methods of the paper's Table 1, one method a file, and three parts that they share.

They import what was observed, the model and the solvers; some start from another. Start with
`nfxp`, the nested fixed point of Rust (1987).
"""
