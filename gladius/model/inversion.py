"""The tabular plug-in: choice frequencies and transition frequencies, and one linear system.

The non-parametric estimator in closed form (Hotz and Miller 1993, with an anchor). With CCPs pi-hat
and empirical P-hat, V = (I - beta P_a_s)^-1 (r(., a_s) - log pi-hat(a_s | .)),
Q = V + log pi-hat and r = Q - beta P-hat V. It has zero Bellman error, and at pi* and P it returns
the true reward (Lemma MagnacThesmar of the paper). PSEUDO_COUNT, Jeffreys' 1/2, is added to n(s, a)
in every cell of every state with observations. The status is not ok where most observations are in
states with fewer than FEWEST of the anchor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gladius.model.estimate import Estimate, Fit, StateFunction, counts_estimates
from gladius.model.frequencies import (
    TransitionProbabilities,
    anchored_value,
    check_support,
    from_choices,
)
from gladius.model.state_anchor import (
    NearestChoices,
    StateAnchor,
    on_counts,
    transition_probabilities,
)
from gladius.panel.anchor import (
    LARGEST_BORROWED_SHARE,
    Anchor,
    NearestState,
    check_anchor_support,
    nearest,
)
from gladius.panel.record import Counts, Transitions, group
from gladius.validate import Array, InputError

TITLE, NEEDS = "Plug-in", ("next", "transitions", "anchor")
PSEUDO_COUNT = 0.5
FEWEST = 5  # observations of the anchor, or of a pair with an interval, that a state needs


@dataclass(frozen=True)
class FreeBasis:
    """What errors follow from where each reward is a parameter of its own, on one data set.

    Attributes:
        counts, p_hat, anchor, discount: what was fitted.
        q: (S, A) of the fit at which intervals are centred.
        centre: its r-hat, of any state.
        pseudo_count: what the criterion adds to the choices of each pair.
        roughness: (S, S) second derivative of a penalty on an action's reward; by default none.
        fewest: observations that a number needs of (s, a), and of the anchor in each state whose
            error counts in it; by default none.
    """

    counts: Counts
    p_hat: TransitionProbabilities
    anchor: Anchor
    discount: float
    q: Array
    centre: StateFunction
    pseudo_count: float = 0.0
    roughness: Array | None = None
    fewest: int = 0


def fit(data: Sequence[Transitions], anchor: Anchor, discount: float) -> list[Estimate]:
    """The plug-in of each data set.

    Raises:
        InputError: for an anchor that is not taken in the states of half of the observations.
    """
    counts = group(data)
    check_support(counts)
    return on_counts(fit_counts, counts, anchor, discount)


def fit_counts(
    counts: Counts, anchor: Anchor, discount: float, pseudo_count: float = PSEUDO_COUNT
) -> list[Estimate]:
    """The plug-in of every replication of grouped data; the rest as in `fit`."""
    check_anchor_support(counts, anchor.action)
    counts.check_taken()
    p_hat, visits, states = transition_probabilities(counts, anchor), counts.visits, counts.states
    change = anchor.exchange if isinstance(anchor, StateAnchor) else None
    if change is not None:
        visits = change.table(states, visits)
    policy = choice_frequencies(visits, states, pseudo_count)
    if change is not None:
        policy = change.table(states, policy)
    if np.any(policy == 0):
        raise InputError("pseudo_count", pseudo_count, "give a positive number: a cell is empty")
    functions = invert(np.log(policy), counts.seen > 0, p_hat, anchor, discount)
    rare = counts.seen * (counts.visits[:, :, anchor.action] < FEWEST)
    fits = []
    shares = rare.sum(axis=1) / counts.size
    for r, ((q, reward), share) in enumerate(zip(functions, shares, strict=True)):
        not_ok = ("the anchor is too rare in most states",) * int(share > LARGEST_BORROWED_SHARE)
        status, extra = "not_converged" if not_ok else "ok", {"not_ok_because": not_ok}
        fitted = counts.of(r), p_hat.of(r), anchor, discount, q(counts.states), reward
        basis = FreeBasis(*fitted, pseudo_count=pseudo_count, fewest=FEWEST)
        fits.append(Fit(q, reward, status=status, extra=extra, basis=basis))
    return counts_estimates("plug_in", fits, counts, anchor, discount)


def invert(
    log_policy: Array,
    is_source: NDArray[np.bool_],
    p_hat: TransitionProbabilities,
    anchor: Anchor,
    discount: float,
) -> list[tuple[StateFunction, StateFunction]]:
    """(Q, r) of R replications from (R, S, A) log choice probabilities, as functions of any state.

    `is_source` (R, S) are the states whose log-odds any other state takes from the nearest of them.
    """
    a = anchor.action
    anchor_reward = anchor.values(p_hat.states)
    v = anchored_value(log_policy[..., a], p_hat.transition[:, a], anchor_reward, discount)
    log_odds = log_policy - log_policy[..., [a]]
    functions = []
    for r, source in enumerate(is_source):
        advantage: StateFunction = NearestState(p_hat.states[source], log_odds[r, source])
        if isinstance(anchor, StateAnchor):
            states, change = p_hat.states[source], anchor.exchange
            own = NearestState(states, change.table(states, log_odds[r, source]))
            advantage = NearestChoices(change, own)
        functions.append(from_choices(advantage, v[r], p_hat, r, anchor, discount))
    return functions


def choice_frequencies(visits: Array, states: Array, pseudo_count: float = 0.0) -> Array:
    """(R, S, A) pi-hat(a | s) = (n(s, a) + c) / (n(s) + c A), where a state has observations.

    Any other state has the frequencies of the nearest state with observations.
    """
    cells = visits + pseudo_count
    policy = np.empty_like(cells)
    for r, is_observed in enumerate(visits.sum(axis=2) > 0):
        source = np.flatnonzero(is_observed)[nearest(states[is_observed], states)]
        policy[r] = cells[r, source]
    return np.asarray(policy / policy.sum(axis=2, keepdims=True))
