"""What a claim is, what it is tried on, and how it is decided.

This room imports the oracles, and from the certificates what the verifier and Coq say of a claim.
Start with `claims`. `numbering` has the paper's statements and the tables beside it, `instances`
draws, `under_check` is the library's side of a check, and `decide` has the rule of a verdict.
"""
