"""Technical proofs, Lemma minMLE: what the minimisers of the expected likelihood are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from gladius.checks import Array
from gladius.mdp import TabularMDP
from proofs_checks.claims import CheckResult, Control, Counterexample, assume_stated, claim, worst
from proofs_checks.sections.minimiser import Excess, Moved, moved, off_track, population
from proofs_checks.sections.setup import WHY, rounding, zero
from proofs_checks.sections.state_space import covered


def _likelihood(
    at: Moved, inside: NDArray[np.bool_], weigh: Callable[[Excess], Array] = lambda e: e.weight
) -> CheckResult:
    mdp, best = at.mdp, at.mdp.solution.q
    least = float(population(mdp, best).nll[0])
    other = best + at.change
    tolerance = rounding(mdp, other)
    members = float(population(mdp, at.shifted_on(inside)).nll[0]) - least
    gain = float(population(mdp, other).nll[0]) - least
    excess = Excess.of(mdp, other)
    pinsker = excess.distance**2 / 2
    alone = float(np.max(excess.floor * pinsker))
    return worst(
        [
            zero(np.array([members]), tolerance),
            CheckResult(gain, ">=", float(weigh(excess) @ pinsker), tolerance, WHY),
            CheckResult(gain, ">=", alone, tolerance, WHY),
            *covered(mdp),
        ]
    )


def minimisers_almost_everywhere(at: Moved) -> CheckResult:
    """argmin_Q E[-log p-hat_Q(a | s)] = {Q: p-hat_Q = pi* for d*-almost every s} = {Q: Q(s, a_1)
    - Q(s, a_2) = Q*(s, a_1) - Q*(s, a_2) for d*-almost every s}, d* the expert's discounted law of
    s. Where S is countable, this is the same as: for all s in S-bar.

    Decided: the excess is E KL(pi* || p-hat_Q), at least E |p-hat_Q - pi*|_1^2 / 2 (Pinsker); on a
    countable S every s in S-bar has weight, at least that of one path there. Measured: the
    library's likelihood under the library's occupancy is unchanged by levels c(s) and by anything
    where d* has no mass, and exceeds the minimum by Pinsker's bound, with visits summed period by
    period as weights, and by each state's part of it at the weight of its likeliest path.
    """
    return _likelihood(at, at.charged)


def _fits_at_zero() -> Moved:
    """s_0 = 0, then s' uniform on (0, 1]; r = 0, and Q = Q* at 0, (log 3, 0) above Q* beyond."""
    mdp = TabularMDP(
        np.zeros((2, 2)), np.array([[[0.0, 1.0], [0.0, 1.0]]] * 2), 0.5, np.array([1.0, 0.0])
    )
    at = Moved(mdp, np.array([[0.0, 0.0], [np.log(3), 0.0]]), np.zeros(2), intervals=(1,))
    assume_stated(0 < mdp.discount < 1, "beta in (0, 1)")
    assume_stated(bool(np.all(at.points == [True, False])), "S-bar = {0}")
    assume_stated(bool(np.all(np.isfinite(at.shifted_on(at.points)))), "Q bounded")
    fitted = log_softmax(at.shifted_on(at.points)[0])
    assume_stated(bool(np.allclose(fitted, np.log(0.5))), "p-hat_Q = pi* on S-bar")
    return at


@claim(
    "lem:minMLE",
    verdict="holds-if",
    condition="S is countable, or 'd*-almost everywhere' stands for 'on S-bar'",
    instances=moved(),
    counterexample=Counterexample(
        make=_fits_at_zero,
        text="S = [0, 1], r = 0, two actions, beta = 1/2; s_0 = 0, then s' uniform on (0, 1]: "
        "S-bar = {{0}}, pi* = 1/2.\nQ(0, .) = (0, 0) and Q(s, .) = (log 3, 0) for s > 0 is in both "
        "right-hand sets, and in half\nthe (discounted) data has p-hat = (3/4, 1/4): it loses "
        "log(4/3)/4 = {observed:.6f}, not {bound:g}.",
    ),
    corrected=minimisers_almost_everywhere,
    control=Control(
        broken="all states weighed alike, those never reached included",
        check=lambda at: _likelihood(
            at, at.charged, lambda e: np.full_like(e.weight, 1 / len(e.weight))
        ),
        make=off_track,
    ),
)
def minimisers_of_the_likelihood(at: Moved) -> CheckResult:
    """argmin_Q E[-log p-hat_Q(a | s)] = {Q: p-hat_Q = pi* for all s in S-bar a.e.} = {Q: Q(s, a_1)
    - Q(s, a_2) = Q*(s, a_1) - Q*(s, a_2) for all s in S-bar}.

    Where: Technical proofs, Lemma minMLE; used in Section 4.

    Assumes: (s, a) from the expert's law, Q bounded; S any state space (Section 3), S-bar the
    states s with Pr(s_h = s) > 0 for some h.

    Decided: where the law of s_h has a part without atoms, S-bar does not carry the data, and the
    right-hand sets leave Q free where there are data; the printed "a.e." quantifies over S-bar and
    does not help. On a countable S the lemma holds as printed.
    """
    return _likelihood(at, at.points)
