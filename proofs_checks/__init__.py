"""Every checkable claim of the paper, decided numerically, each check with a negative control.

    >>> import proofs_checks
    >>> proofs_checks.check("lem:lipsSmooth.hessian-of-V").holds
    False

`python -m proofs_checks` decides all claims and writes the ledger. The rooms, from the ground up,
each with the others that it may import. `claims`, `sections` and `corrected` import what checks the
paper in `gladius` too:

- `oracle`: solutions that share no code with the library; no other room;
- `certificates`: proofs and counterexamples, and the verifier, which runs alone; no other room;
- `coq`: theorems, which Coq compiles (`tox -e coq`); no Python, and `certificates` has their list;
- `claims`: what a claim is and how it is decided; `oracle` and `certificates`; **start here**;
- `sections`: the checks, a file for a section of the paper; `claims` and `oracle`;
- `corrected`: our own chain of theorems; `sections` too;
- `ledger`: the rows, pages and errata; `claims` and `certificates`, and no check by its name;
- `plain`: the main results again, for readers who trust none of it; it imports NumPy alone.
"""

from proofs_checks.claims.claims import Check, CheckResult, Claim, check, find

__all__ = ["Check", "CheckResult", "Claim", "check", "find"]
