"""The tabular plug-in: choice frequencies and transition frequencies, and one linear system.

The non-parametric estimator in closed form (Hotz and Miller 1993, with an anchor): with CCPs
pi-hat and empirical P-hat, V = (I - beta P_a_s)^-1 (r(., a_s) - log pi-hat(a_s | .)),
Q = V + log pi-hat and r = Q - beta P-hat V. It has zero Bellman error, and at pi* and P returns
the true reward (Lemma MagnacThesmar of the paper). No truth, no tuning, nothing iterated
(`inner_iterations` is 0).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from gladius.anchor import Anchor, NearestState, check_anchor_support
from gladius.baselines.ccp import frequencies
from gladius.checks import Array, InputError, check_discount
from gladius.estimate import Estimate, conclude
from gladius.objective import grouped_risk
from gladius.transition_probabilities import (
    anchored_value,
    check_support,
    empirical_transition_probabilities,
    from_choices,
)
from gladius.transitions import Counts, Transitions, group

TITLE, NEEDS = "Plug-in", ("next", "transitions", "anchor")


def fit(
    data: Sequence[Transitions], anchor: Anchor, discount: float, *, pseudo_count: float = 0.5
) -> list[Estimate]:
    """The plug-in of each data set.

    Args:
        data: replications.
        anchor: the action whose reward is given.
        discount: beta.
        pseudo_count: added to n(s, a) in every cell of every state seen; 1/2 is Jeffreys' rule.
            States never seen, on the grid or off it, take the CCPs of the nearest state seen.

    Raises:
        InputError: for a bad pseudo-count, among them 0 where a seen state lacks an action; for
            an anchor that is not taken in the states of half of the observations.
    """
    counts = group(data)
    check_support(counts)
    return fit_counts(counts, anchor, check_discount(discount), pseudo_count=pseudo_count)


def fit_counts(
    counts: Counts, anchor: Anchor, discount: float, *, pseudo_count: float = 0.5
) -> list[Estimate]:
    """The plug-in of every replication of grouped data; the rest as in `fit`."""
    started = time.process_time()
    check_anchor_support(counts, anchor.action)
    p_hat = empirical_transition_probabilities(counts)
    policy, given = choice_frequencies(counts, pseudo_count), anchor.values(counts.states)
    chosen = policy[:, :, anchor.action]
    v = anchored_value(chosen, p_hat.transition[:, anchor.action], given, discount)
    log_policy = np.log(policy)
    risk = grouped_risk(log_policy + v[..., None], counts, anchor.action, given, discount)
    seconds = (time.process_time() - started) / len(v)
    log_odds = log_policy - log_policy[..., [anchor.action]]
    estimates = []
    for r, seen in enumerate(counts.seen > 0):
        advantage = NearestState(counts.states[seen], log_odds[r, seen])
        estimate = conclude(
            "plug_in",
            *from_choices(advantage, v[r], p_hat, r, anchor, discount),
            counts.states.shape[1],
            risk.nll[r],
            risk.bellman[r],
            status="ok",  # a closed form has no other outcome
            iterations=0,
            gradient_norm=0.0,
            seconds=seconds,
            extra={"inner_iterations": 0},
        )
        estimates.append(estimate)
    return estimates


def choice_frequencies(counts: Counts, pseudo_count: float) -> Array:
    """(R, S, A) pi-hat(a | s) = (n(s, a) + c) / (n(s) + c A), borrowed where n(s) = 0."""
    is_number = isinstance(pseudo_count, int | float) and not isinstance(pseudo_count, bool)
    if not is_number or not 0 <= pseudo_count < np.inf:
        raise InputError("pseudo_count", pseudo_count, "give a finite number, 0 or more")
    policy = frequencies(counts.visits, counts.states, pseudo_count).policy
    if np.any(policy == 0):
        r, s, a = (int(i) for i in np.argwhere(policy == 0)[0])
        where = f"action {a} never occurs in state {counts.states[s].tolist()} of data set {r}"
        raise InputError("pseudo_count", pseudo_count, f"{where}: give a positive number")
    return policy
