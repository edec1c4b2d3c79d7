"""The chain from identification to a rate, corrected: our statements, not the paper's.

`corrected.md` states them in order, with proofs; every statement there is a claim `corrected.*`
that is decided like the paper's own, and the modules here hold the checks. What the coordinates
and constants are made of is in oracle/separated.py. This room imports the claims, the oracles and
the sections. Start with `corrected.md`.
"""

CHAIN = "a step of the corrected chain, see `proofs_checks/corrected/corrected.md`"
