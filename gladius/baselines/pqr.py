"""PQR, deep PQR (Geng, Nassif, Manzanares, Reppen and Sircar 2020): policy, Q, reward, in turn.

With an anchor action a_s whose reward is given in every state, h(s) = Q(s, a_s) and
g(s) = -log pi(a_s | s), so that V = h + g:

    P  pi-hat by maximum likelihood of the choices
    Q  h(s) = r(s, a_s) + beta E[h(s') + g(s') | s, a_s], a contraction: fitted iteration on the
       anchor's rows;  Q(s, a) = h(s) + log pi(a | s) - log pi(a_s | s)
    R  r(s, a) = Q(s, a) - beta E[h(s') + g(s') | s, a], by regression on (s, a)

It needs the anchor; no transition law (the regressions stand in for it) and no form of r. The
reward is read off the R step, at the anchor too.

What had to be decided:
- Regressions: `network` (the original's, two hidden layers of 10) or `tabular`, in which they are
  means over counts and the estimate is the plug-in's (one linear system).
- P step: plain maximum likelihood; tabular frequencies have `pseudo_count` added and states
  without choices take those of the nearest state, as the plug-in's. Original not read: its
  adversarial P step of later wrappers is not here.
- Q step: `fitted` as the paper; `residual` as its authors' code, which differentiates the target
  too. That pays for the variance of h(s') (double sampling) and is wrong wherever the anchor's
  moves are random; where they are certain, as after a replacement, both agree.
- The level of a network h is solved for at every new target, see pqr_network.py. The authors'
  clamp of networks to +-50 is left out: the paper's Q* lies beyond it.
- R step: `regression` returns the regression itself, `linear` a least-squares line in the
  features for each action (the authors' code reports its slopes).
- Training: see pqr_steps.default_training; a validation share only where states hardly repeat.

`converged` needs all three steps to meet their rules; the objective reported is the P step's. Of a
bad choice of anchor it says nothing; `extra["extrapolated"]` does: from 0 to 1, by how much an
error of h where the anchor was never taken is an error of h on average, see anchor_support.py. On
the bus engine it is 0 where the anchor is to replace and .9 where it is to maintain, whose level
rests on mileages at which nobody maintains: MAPE up to hundreds from steps that all converge.
`inner_iterations` is 0: fitted iteration is one loop.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from gladius.anchor import Anchor
from gladius.baselines.bc import Training
from gladius.baselines.pqr_steps import invert
from gladius.checks import check_discount, generators
from gladius.estimate import Diagnostics, Estimate
from gladius.transitions import Transitions

TITLE, NEEDS = "PQR", ("next", "anchor")


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    regression: str = "network",
    q_step: str = "fitted",
    read_off: str = "regression",
    pseudo_count: float = 0.5,
    rng: int | Sequence[np.random.Generator] = 0,
    training: Training | None = None,
) -> list[Estimate]:
    """PQR of each data set.

    Args:
        data: replications.
        anchor: the action whose reward is given, and its reward.
        discount: beta.
        regression: network or tabular.
        q_step: fitted or residual.
        read_off: regression or linear.
        pseudo_count: tabular only; added to n(s, a), as the plug-in's.
        rng: networks only; a seed, or one generator for each data set.
        training: networks only; by default `pqr_steps.default_training` of each data set.

    Raises:
        InputError: for a bad option; for data with too many distinct states for a table.
    """
    started = time.process_time()
    beta = check_discount(discount)
    found = invert(
        data,
        anchor,
        beta,
        regression=regression,
        q_step=q_step,
        read_off=read_off,
        pseudo_count=pseudo_count,
        rngs=generators(rng, len(data)),
        training=training,
    )
    name = f"pqr[{regression}]" if q_step == "fitted" else f"pqr[{regression},{q_step}]"
    seconds = (time.process_time() - started) / len(data)
    estimates = []
    for one, inversion in zip(data, found, strict=True):
        assert inversion.reward is not None
        anchored = one.states[one.actions == anchor.action]
        error = inversion.reward(anchored)[:, anchor.action] - anchor.values(anchored)
        diagnostics = Diagnostics(
            converged=inversion.converged,
            iterations=inversion.iterations,
            gradient_norm=inversion.gradient_norm,
            nll=inversion.nll,
            bellman_error=float(error @ error / len(one)),
            cpu_seconds=seconds,
            status=inversion.status,
            extra={
                "inner_iterations": 0,
                "objective": inversion.nll,
                "q_loss": inversion.q_loss,
                "r_loss": inversion.r_loss,
                "extrapolated": inversion.extrapolated,
            },
        )
        width = one.states.shape[1]
        estimates.append(Estimate(name, inversion.q, inversion.reward, width, diagnostics))
    return estimates
