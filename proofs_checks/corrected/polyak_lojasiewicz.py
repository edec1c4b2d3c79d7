"""PL of the profile with a constant that the search reaches, and where linear classes lose it."""

from collections import namedtuple
from functools import cache

import numpy as np
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from gladius.validate import Array
from proofs_checks.claims import instances, under_check
from proofs_checks.claims.claims import CheckResult, at_least, claim, equal, weakest
from proofs_checks.claims.under_check import ROUNDING, objective_rounding, sample_risk
from proofs_checks.corrected import CHAIN
from proofs_checks.corrected.coordinates import reached
from proofs_checks.corrected.search import least_ratio
from proofs_checks.oracle import polyak, separated
from proofs_checks.oracle.risk import Sample
from proofs_checks.sections import _fits as fits

# Frequencies (A,), positive, log-odds (A,), and the level over their KL, at least 1.
Choice = namedtuple("Choice", "pi logits above", defaults=[1.0])


@st.composite
def choices(draw: st.DrawFn) -> Choice:
    actions = draw(st.integers(2, 4))
    weights = draw(instances.tables(actions, st.integers(1, 100).map(float)))
    above = draw(st.sampled_from([1.0, 2.0, 10.0]) | st.floats(1.0, 100.0))
    return Choice(weights / weights.sum(), draw(instances.tables(actions)), above)


def certain(odds: float) -> Choice:
    """A choice that is nearly certain, and one that is more so."""
    return Choice(softmax(np.array([0.0, 8.0])), np.array([0.0, odds]))


@claim.holds(
    "corrected.alpha",
    instances=choices(),
    broken="the closed form without its 1/2",
    rejected={"half": 1.0},
    rejected_at=lambda: certain(308.0),
    adversary=instances.tightest(certain, "corrected.alpha", 9.0, 400.0),
    inferred=CHAIN,
)
def gradient_domination(choice: Choice, half: float = 0.5) -> CheckResult:
    r"""$(1/2) |p - \pi|^2 \geq \alpha \mathrm{KL}(\pi \| p)$ where $\mathrm{KL} \leq \delta$. Here
    $\alpha(\delta) \geq \lambda_0 (1 - \exp(-T)) / (2 T)$, with $T$ the root of $\exp(-T) - 1 + T =
    2 \delta / \lambda_0$. The number $\lambda_0$ is the least $\mathrm{Var}_\pi(v)$ over all $v$
    with $|v| = 1$ and sum 0. A gradient step of length 2 lowers KL by the factor $1 - 2 \alpha$.

    Where: corrected.md, 3 and 5.

    Assumes: $\pi$ positive; for two actions $\alpha$ is the least of $\lambda_0$ and the two ends'
    ratios.

    Decided: along a line the third derivative is at most the second times the span of the
    direction. The closed form is tight for nearly certain choices, loses 2 near $\pi$ and, of two
    actions, at most 4.44 ($\pi = 1/2$, $\delta = 1.5$). KL is 1/2-smooth: the step gains $|p -
    \pi|^2$. Measured: the closed form at the level of the point, whose slack is reported. Also
    measured: the step, and $\alpha$ at a level drawn above it, so that the ends are of other
    points.
    """
    log_p = log_softmax(choice.logits)
    apart = np.exp(log_p) - choice.pi
    kl, square = float(separated.divergence(choice.pi, log_p)), float(apart @ apart)
    alpha = separated.alpha(choice.pi, kl * choice.above)
    below = separated.alpha_bound(choice.pi, kl, half)
    stepped = log_softmax(log_p - 2 * apart)
    after = float(separated.divergence(choice.pi, stepped))
    why = "rounding of KL and of the root at its level"
    return weakest(
        at_least(square / 2, below * kl, 1e-14 + 1e-9 * below * kl, why),
        # both may be tight for reasons that say nothing of the closed form: no slack is reported
        equal(max(0.0, alpha * kl - square / 2), 0.0, 1e-14 + 1e-9 * alpha * kl, why),
        equal(max(0.0, after - (1 - 2 * alpha) * kl), 0.0, 1e-14 + 1e-11 * kl, why),
    )


# --- the profile
@st.composite
def classes(draw: st.DrawFn) -> fits.Fit:
    sample = draw(reached())
    q = draw(instances.tables(sample.visits.shape, instances.quarters(20)))
    tables = fits.tabular(sample, q)
    return tables if draw(st.booleans()) else fits.Fit(sample, draw(fits.linear_outputs(q)))


def after_reset(choices: Array) -> Sample:
    """Of n(x, a) (X, 2), where the anchor, action 1, leads to the first state: the bus engine."""
    states = np.arange(len(choices))
    moves = np.zeros((len(choices), 2, len(choices)))
    moves[:, 1, 0] = choices[:, 1]
    moves[states, 0, np.minimum(states + 2, states[-1])] = choices[:, 0]
    return Sample(moves, np.ones_like(states), np.full(len(states), -5.0), 0.95)


@cache
def reset() -> Sample:
    """Ten mileages, some trajectories."""
    free = [4000, 700, 540, 300, 130, 13, 3, 1, 1, 1]
    replaced = [410, 270, 630, 980, 1240, 410, 240, 110, 35, 4]
    return after_reset(np.column_stack([free, replaced]))


@cache
def worst(level: float) -> fits.Fit:
    """The table with the least PL ratio that the search finds below a level."""
    return fits.tabular(reset(), least_ratio(reset(), level)[1])


@claim.holds(
    "corrected.pl",
    instances=classes(),
    broken="1.15 times the constant",
    rejected={"factor": 1.15},
    rejected_at=lambda: worst(1e-2),
    adversary=lambda: worst(1e-2),
    cost=2,
    inferred=CHAIN,
)
def profile_pl(fit: fits.Fit, factor: float = 1.0) -> CheckResult:
    r"""Let $J J' \geq \mu$, and let $g^*$ be the infimum over all tables. At every $\theta$ with $g
    - g^* \leq \Delta$, $(1/2) |\nabla_\theta g|^2 \geq c (g - g^*)$ with $c = \mu \inf_s \sup_m
    \inf_p (1 + s'm) \lambda_{\min}(D^{-1/2} G G' D^{-1/2})$. Here $G = d(h, e) / dq$ and $D =
    \mathrm{diag}((1 + m_x) / (w_x \alpha_x(s_x \Delta / w_x)), 1 / (2 b_j))$. The first infimum is
    over shares $s \geq 0$ with $\sum s \leq 1$, the supremum over $m \geq 0$. The last infimum is
    over the choices $p$ in $G$ with $\mathrm{KL}(\hat\pi_x \| p_x) \leq s_x \Delta / w_x$.

    Where: corrected.md, 3.

    Assumes: every action in every state with observations, $J$ of full row rank.

    Decided: $(1/2) y' D y \geq (1 + s'm)(g - g^*)$, $y$ the gradient in $(h, e)$, and $\nabla g =
    J' G' y$. The infimum is at corners of a box, for $G$ has a right inverse affine in $p$. Each
    instance has $\Delta = g - g^*$, and the library's gradient. The adversary is a search on counts
    like the bus engine's; on its data sets see the exhibit constants.
    """
    sample, q, jacobian = fit.sample, fit.table, fit.jacobian
    gap = separated.gap(sample, q)
    constant = separated.pl_constant(sample, gap) * polyak.least_eigenvalue(jacobian)
    gradient = under_check.complex_slope(
        lambda theta: sample_risk(sample, fit.q.outputs(theta)).total(), fit.q.theta
    )
    tolerance = objective_rounding(sample, q) * np.linalg.norm(jacobian, 2) ** 2 * 1e-3
    tolerance += 1e-9 * constant * gap
    bound = factor * constant * gap
    return at_least(gradient @ gradient / 2, bound, tolerance, ROUNDING + ", and the root of KL")
