"""ML-IRL: offline inverse RL as maximum likelihood in an estimated model (Zeng et al. 2023).

The problem is bi-level: maximise the discounted likelihood of the expert's choices over theta,

    L(theta) = E_E[ sum_t beta^t log pi_theta(a_t | s_t) ],
    pi_theta soft-optimal for the reward r_theta under P-hat.

This is NFXP's likelihood with beta^t of each choice in the place of 1, and nfxp.py maximises it.
The form identifies theta: L of a table of rewards is flat along potential shaping.

Implementation choices:

- L itself is maximised, and not the originals' surrogate (Zeng et al. 2022, Equations 8-9), which
  on paths cut off at H has a bias that no N removes.
- Visits are discounted, as in the objective of the paper, and not as in the authors' public code.
- P-hat is the frequencies of all moves, in the place of 7 to 12 networks and a penalty on r for
  what they do not know. The soft Bellman equation is solved at every theta.
- `finite_dependence` is what the paper's column ML-IRL computes: the CCP estimator of Arcidiacono
  and Miller (ccp.py), not weighted by beta^t, and another method.
- r is linear, for which L is concave.
"""

from collections.abc import Sequence
from dataclasses import replace

from gladius.baselines import ccp, nfxp
from gladius.baselines.discounted import discounted_paths
from gladius.model.estimate import Estimate
from gladius.model.parametric import FormBasis, TransitionModel, check_start, make_model
from gladius.model.reward_form import LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.validate import Array, InputError, check_choice

TITLE, NEEDS = "ML-IRL", ("next", "transitions", "form")
INNER = ("exact", "finite_dependence")
MAX_STEPS = 500  # of Newton


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    transition: TransitionModel | None = None,
    inner: str = "exact",
    start: Array | None = None,
) -> list[Estimate]:
    """ML-IRL of each data set, whose trajectories are in order of time.

    Args:
        reward, transition, start: as in `nfxp.fit`.
        inner: exact or finite_dependence (which has no `start`).

    `extra` holds theta and objective, -L over the discounted number of observations.
    """
    check_choice("inner", inner, INNER)
    if inner == "finite_dependence":
        if start is not None:
            raise InputError("start", start, "not with inner='finite_dependence'")
        renewed = ccp.fit(
            data,
            anchor,
            discount,
            reward=reward,
            transition=transition,
            stages=1,
            finite_dependence=True,
        )
        return [replace(estimate, method="ml_irl[finite_dependence]") for estimate in renewed]
    models = [make_model([rows], anchor, discount, reward, transition) for rows in data]
    first = check_start(start, (len(data), models[0].design.shape[2]))
    estimates = []
    for rows, model, theta in zip(data, models, first, strict=True):
        weights = discounted_paths(rows, model.states, model.discount).weights
        fitted = nfxp.fit_counts(
            weights.visits[None],
            model.transition,
            model.design,
            model.offset,
            model.discount,
            start=theta[None],
            max_iterations=MAX_STEPS,
        )
        fit = fitted.fit(0, model)
        objective = -float(fitted.log_likelihood[0]) / weights.visits.sum()
        basis = FormBasis(model, weights=weights)
        extra = {"theta": fitted.theta[0], "objective": objective}
        fit = replace(fit, extra=extra, basis=basis)
        estimates += model.estimates("ml_irl[exact]", [fit], anchor)
    return estimates
