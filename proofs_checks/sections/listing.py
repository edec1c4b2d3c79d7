"""Section 5: the bookkeeping of Algorithm 1 as printed, read line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from gladius import printed
from gladius.anchor import Anchor
from gladius.transitions import Counts
from proofs_checks.claims import CheckResult, Control, Counterexample, claim, worst


@dataclass(frozen=True)
class Listing:
    r"""What Algorithm 1 and the text around it print; LaTeX without \boldsymbol and colours.

    Attributes:
        start, test, step: lines 1, 2 and the last of the loop.
        losses: the box's D (ascent) and the two losses of the descent.
        text: the enumerated steps, ascent first.
        closing: the sentence that follows the loop.
    """

    start: str = r"Initialize $Q_{\theta_2}$, $\zeta_{\theta_1}$, $\text{iteration} \gets 1$"
    test: str = r"\While{$t \leq T$}"
    step: str = r"$\text{iteration} \gets \text{iteration} + 1$"
    losses: tuple[str, ...] = (
        r"$D_{\theta_1} \gets \sum_{(s, a, s^\prime)\in B_2}",
        r"$\overline{\mathcal{L}_{NLL}} \gets \sum_{(s, a, s^\prime)\in B_2}",
        r"$\overline{\mathcal{L}_{\mathrm{BE}}} \gets \sum_{(s, a, s^\prime)\in B_1}",
    )
    text: tuple[str, ...] = (
        r"Gradient Ascent: For sampled batch data $B_1\subseteq \mathcal{D}$",
        r"Gradient Descent: For sampled batch data $B_2\subseteq \mathcal{D}$",
    )
    closing: str = (
        r"After a fixed number of gradient steps of $Q_{\theta_1}$ and $\zeta_{\theta_2}$"
    )

    def names(self) -> set[str]:
        """Names that are given a value by whole-number assignments."""
        return set(re.findall(r"text\{(\w+)\} \\gets", self.start + self.step))

    def slips(self) -> list[str]:
        """What the listing and its text say differently."""
        found = []
        (tested,) = re.findall(r"\$\\?(?:text\{)?(\w+)\}? \\leq T", self.test)
        if tested not in self.names():
            found.append(f"the loop tests {tested}, which is never set; {self.names()} counts")
        said = [re.findall(r"B_\d", line)[0] for line in self.text]
        used = [re.findall(r"B_\d", line)[0] for line in self.losses]
        if used[0] != said[0]:
            found.append(f"the ascent is on {used[0]} in the box, on {said[0]} in the text")
        if set(used[1:]) != {said[1]}:
            found.append(f"the descent is on {used[1:]} in the box, on {said[1]} in the text")
        pairs = [
            set(re.findall(r"(Q|zeta)_\{\\theta_(\d)\}", x)) for x in (self.start, self.closing)
        ]
        if pairs[0] != pairs[1]:
            found.append("theta_1 and theta_2 change places after the loop")
        return found

    def iterations(self, limit: int, budget: int) -> int:
        """Passes through the loop for T = limit, stopped after `budget`; unset names stay at 1."""
        (tested,) = re.findall(r"\$\\?(?:text\{)?(\w+)\}? \\leq T", self.test)
        known = dict.fromkeys({tested, *self.names()}, 1)
        (counted,) = re.findall(r"text\{(\w+)\} \+ 1", self.step)
        passes = 0
        while known[tested] <= limit and passes < budget:
            known[counted] += 1
            passes += 1
        return passes


PRINTED = Listing()
MENDED = replace(
    PRINTED,
    test=r"\While{$\text{iteration} \leq T$}",
    losses=tuple(
        line[:-2] + batch for line, batch in zip(PRINTED.losses, ("1}", "2}", "2}"), strict=True)
    ),
    closing=r"After a fixed number of gradient steps of $Q_{\theta_2}$ and $\zeta_{\theta_1}$",
)


def _books(limit: int, listing: Listing) -> CheckResult:
    """Iterations of the listing for T = limit, with a budget of 1,000 T; then its slips."""
    passes = listing.iterations(limit, 1000 * limit)
    reason = "whole numbers"
    return worst(
        [
            CheckResult(passes, "==", limit, 0.0, reason),
            CheckResult(len(listing.slips()), "==", 0, 0.0, reason),
        ]
    )


def _library_passes(limit: int) -> CheckResult:
    """Iterations of the library's Algorithm 1 for T = limit on one transition."""
    counts = Counts(np.zeros((1, 1)), np.array([[[1.0, 0.0]]]), np.array([[[[1.0]], [[0.0]]]]))
    options = printed.Options("tabular", iterations=limit, tolerance=0.0)
    rngs = [np.random.default_rng(0)]
    found = printed.run(counts, Anchor(0, 1.0), 0.5, options, rngs)
    return CheckResult(int(found.iteration[0]), "==", limit, 0.0, "whole numbers")


def consistent_listing(limit: int) -> CheckResult:
    """Test `iteration <= T`; sum D over B_1 and both losses of the descent over B_2, as the text
    says; after the loop write Q_theta_2 and zeta_theta_1.

    Decided: the mended lines are run and compared as the printed ones are; the library's Algorithm
    1, which counts one variable, makes T iterations too.
    """
    return worst([_books(limit, MENDED), _library_passes(limit)])


@claim(
    "alg:estimation1.bookkeeping",
    verdict="misprint",
    instances=st.integers(1, 60),
    counterexample=Counterexample(
        make=lambda: 10,
        text='T = 10. Line 1 sets "iteration <- 1", line 2 loops "while t <= T", the last line of '
        'the\nloop is "iteration <- iteration + 1": t is never set and never changes.\n'
        "Stopped by us after {observed:.0f} iterations; it must be {bound:.0f}.",
    ),
    corrected=consistent_listing,
    control=Control(
        broken="D still summed over B_2",
        check=lambda limit: _books(
            limit, replace(MENDED, losses=(PRINTED.losses[0], *MENDED.losses[1:]))
        ),
        make=lambda: 10,
    ),
    cost=2,
)
def bookkeeping(limit: int) -> CheckResult:
    """Algorithm 1 stops after T iterations and uses the batches and names that its text says.

    Where: Section 5, Algorithm 1 and the paragraphs after it; the loop of Algorithm 2 likewise.

    Assumes: the lines are executed as printed; t starts at 1.

    Decided: four slips, found by comparing the printed lines: t is tested, `iteration` counted; the
    box has D on B_2 where the text has the ascent on B_1; the box has the descent on B_2 and B_1,
    the text on B_2; after the loop it is Q_theta_1 and zeta_theta_2. Not counted: tau_1 in both
    steps (Theorem linConvergence has one stepsize too), sums for means, a*_s for a_s.
    """
    return _books(limit, PRINTED)
