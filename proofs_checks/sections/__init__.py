"""The checks: one file a section of the paper, named by it, split by subsection where it is long.

`guarantees_*` is Section 6, `equivalence*` Appendix B, `proofs_*` the technical proofs. This room
imports the claims and the oracles. Start with `guarantees_pl`, the paper's Theorem 11.
"""
