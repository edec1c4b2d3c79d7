"""Every checkable claim of the paper, decided numerically, each check with a negative control.

    >>> import proofs_checks
    >>> proofs_checks.check("lem:lipsSmooth.hessian-of-V").holds
    False

`python -m proofs_checks` decides all claims and writes the ledger. See claims/ for what a claim is,
sections/ for the checks, and oracle/ for solutions that share no code with the library.
"""

from proofs_checks.claims.claims import Check, CheckResult, Claim, check, find

__all__ = ["Check", "CheckResult", "Claim", "check", "find"]
