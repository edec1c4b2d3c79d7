"""Whether increments have one distribution in all states, as `PooledIncrements` assumes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency

from gladius.model.increments import DECIMALS, PooledIncrements
from gladius.panel.record import Integers, Transitions, index_rows
from gladius.validate import InputError, check_whole


def p_value(option: PooledIncrements, data: Transitions, ranges: int) -> float:
    """See `PooledIncrements.p_value`."""
    number, live = check_whole("ranges", ranges, 2), data.followed & ~data.done
    if not live.any() or not set(option.own) < set(range(data.states.shape[1])):
        raise InputError("transition.own", option.own, "some feature must move by increments")
    states, actions = data.states[live], data.actions[live]
    start = option.starts(states, data.number_of_actions)[actions, np.arange(len(states))]
    moving = [k for k in range(states.shape[1]) if k not in option.own]
    shift = np.round((data.next_states[live] - start)[:, moving], DECIMALS)
    _, (label,) = index_rows([shift])
    found = []
    for group in [0] if option.common else np.unique(actions):
        rows = (actions == group) | option.common
        for x in states[rows][:, moving].T:
            value = np.unique(x, return_inverse=True)[1]
            interval = _merged(value, rows.sum() / number)
            smallest = np.min(np.unique(interval, return_counts=True)[1])
            least = max(5 * rows.sum() / smallest, rows.sum() / number)
            table = pd.crosstab(interval, _merged(label[rows], least))
            if min(table.shape) > 1:
                found.append(chi2_contingency(table, correction=False, lambda_="log-likelihood"))
    return float(min([1.0, *(len(found) * test.pvalue for test in found)]))


def _merged(label: Integers, least: float) -> Integers:
    """Labels in order, neighbours merged until each occurs so often: a chi-square needs five."""
    times = np.bincount(label)
    merged, total, current = np.zeros(len(times), dtype=np.int64), 0, 0
    for value, count in enumerate(times.tolist()):
        merged[value], total = current, total + count
        if total >= least:
            current, total = current + 1, 0
    merged[merged == current] = max(current - 1, 0)
    return np.asarray(merged[label])
