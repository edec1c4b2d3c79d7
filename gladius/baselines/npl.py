"""Nested pseudo-likelihood (Aguirregabiria and Mira 2002) of R replications; see ccp.py.

A stage values the CCPs it is given, W = (I - beta P_pi)^-1 applied to rewards and surprises, and
fits the logit softmax_a(h'theta + e); its choice probabilities are the next stage's CCPs. The
first stage alone is the two-step estimator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from gladius.baselines.choice_logit import LogitFit, maximise
from gladius.checks import Array
from gladius.transitions import Integers

STAGE_TOLERANCE = 1e-10  # of theta (relative) and of every choice probability, between stages


@dataclass(frozen=True)
class CcpFit:
    """The last stage's logit, and V of the CCPs that it was given.

    Attributes:
        logit: theta, covariance, ... and `converged` of the logits of all stages.
        v: (R, S) at the estimated theta.
        stages: (R,) logits fitted.
        newton: (R,) Newton steps over all stages.
        settled: (R,) theta and pi moved less than STAGE_TOLERANCE in the last stage.
    """

    logit: LogitFit
    v: Array
    stages: Integers
    newton: Integers
    settled: NDArray[np.bool_]


def nested_pseudo_likelihood(
    visits: Array,
    policy: Array,
    law: Array,
    design: Array,
    offset: Array,
    discount: float,
    *,
    stages: int = 1,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> CcpFit:
    """At most `stages` stages from first-step CCPs; a replication stops when nothing moves.

    Args:
        visits: (R, S, A) n(s, a).
        policy: (R, S, A) pi-hat.
        law: (A, S, S) or (R, A, S, S).
        design, offset: (S, A, k), (S, A) of the reward.
        discount: beta.
        stages: at most.
        tolerance, max_iterations: of each logit.
    """
    sets, states = visits.shape[:2]
    every = np.arange(sets)
    used, newton, settled = np.zeros(sets, int), np.zeros(sets, int), np.zeros(sets, bool)
    v = np.zeros((sets, states))
    found: LogitFit | None = None
    active, given = every, policy
    for _ in range(stages):
        laws = law[active] if law.ndim == 4 else law
        slopes, level = valuation(given, laws, design, offset, discount)
        following = laws @ np.concatenate([slopes, level[..., None]], axis=2)[:, None]
        following = discount * np.moveaxis(following, 1, 2)
        fitted = maximise(
            visits[active],
            design + following[..., :-1],
            offset + following[..., -1],
            start=None if found is None else found.theta[active],
            tolerance=tolerance,
            max_iterations=max_iterations,
        )
        moved = np.full(len(active), np.inf)
        if found is not None:
            gap = np.abs(fitted.theta - found.theta[active]) / (1 + np.abs(fitted.theta))
            moved = gap.max(axis=1)
        reached = np.exp(fitted.log_policy)
        moved = np.maximum(moved, np.abs(reached - given).max(axis=(1, 2)))
        v[active] = level + np.einsum("rsk,rk->rs", slopes, fitted.theta)
        used[active] += 1
        newton[active] += fitted.iterations
        settled[active] = moved <= STAGE_TOLERANCE
        found = fitted if found is None else _update(found, fitted, active)
        go = ~settled[active] & fitted.converged
        active, given = active[go], reached[go]
        if len(active) == 0:
            break
    assert found is not None  # stages >= 1
    return CcpFit(found, v, used, newton, settled)


def valuation(
    policy: Array, law: Array, design: Array, offset: Array, discount: float
) -> tuple[Array, Array]:
    """(R, S, k) and (R, S): V of those who choose by `policy` is slopes theta + level."""
    flow = np.einsum("rsa,...ast->rst" if law.ndim == 3 else "rsa,rast->rst", policy, law)
    now = np.einsum("rsa,sak->rsk", policy, design)
    surprise = np.sum(policy * offset - xlogy(policy, policy), axis=2)
    right = np.concatenate([now, surprise[..., None]], axis=2)
    both = np.linalg.solve(np.eye(flow.shape[1]) - discount * flow, right)
    return both[..., :-1], both[..., -1]


def _update(old: LogitFit, new: LogitFit, rows: Integers) -> LogitFit:
    """`old` with the replications `rows` replaced."""
    fields = {name: getattr(old, name).copy() for name in vars(old)}
    for name, values in fields.items():
        values[rows] = getattr(new, name)
    return LogitFit(**fields)
