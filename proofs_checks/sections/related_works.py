"""Section 2, Related works: the constraints of Su and Judd, and policy invariance."""

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st

from gladius.model.mdp import TabularMDP, action_values, soft_bellman
from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims.claims import (
    CheckResult,
    assumed,
    at_least,
    at_most,
    claim,
    equal,
    weakest,
)
from proofs_checks.claims.instances import (
    MILD,
    REWARDS,
    absorbing,
    distributions,
    tables,
    tabular_mdps,
)
from proofs_checks.claims.under_check import WHY

# The world with the first reward, a second (S, A), what is added to log sum exp of the two (2, S),
# 0 for solutions, and the share of the first in the mixture.
Mixture = namedtuple("Mixture", "mdp reward above share")


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    mdp = draw(tabular_mdps(4, 3))
    states, actions = mdp.reward.shape
    reward = draw(tables((states, actions), REWARDS))
    above = draw(tables((2, states), st.integers(0, 8).map(float)))
    return Mixture(mdp, reward, above, draw(st.sampled_from([0.5, 0.1, 0.0])))


def _mixed(mixture: Mixture, above: Array) -> tuple[Array, Array, Array, float]:
    """(log sum exp of the right side, V, V*) at the mixture of two points, and a tolerance.

    Each point is a reward and the V that solves V = log sum exp(r + beta P V) + above.
    """
    world = (mixture.mdp.transition, mixture.mdp.discount)
    rewards = (mixture.mdp.reward, mixture.reward)
    lifted = [soft_bellman(r + up[:, None], *world).v for r, up in zip(rewards, above, strict=True)]
    r, v = (mixture.share * x + (1 - mixture.share) * y for x, y in (rewards, lifted))
    scale = max(1.0, *(float(np.max(np.abs(x))) for x in lifted))
    right = value(action_values(r, *world, v))
    return right, v, soft_bellman(r, *world).v, 4e-12 * scale / (1 - mixture.mdp.discount)


def inequalities_are_convex(mixture: Mixture, sign: int = 1) -> CheckResult:
    r"""Where $r_\theta$ is linear, the soft Bellman inequalities $V \geq \log \sum \exp(r_\theta +
    \beta P V)$ form a convex set of $(\theta, V)$. It is not polyhedral where two actions of a
    state differ in features or moves. For each $\theta$ its least $V$ is the solution. The
    equations themselves are nonlinear constraints.

    Decided: log sum exp is convex and not piecewise linear; $V \to \log \sum \exp(r + \beta P V)$
    is monotone and a contraction, so all that lies above its image lies above $V^*$. Measured:
    mixtures of points with and without slack satisfy the inequality and lie above $V^*$ (library).
    """
    right, v, least, tolerance = _mixed(mixture, mixture.above)
    gaps = (sign * (right - v), least - v)
    return weakest(*(at_most(np.max(gap), 0.0, tolerance, WHY) for gap in gaps))


@claim.imprecise(
    "related.polyhedral",
    instances=mixtures(),
    counterexample=lambda: Mixture(
        absorbing([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.zeros((2, 1)), 0.5
    ),
    text=(
        r"One state, two actions, $\beta = 1/2$, $r_\theta = (\theta, 1 - \theta)$. Both $\theta "
        r"= 1$ and $\theta = 0$ have $V = 2 \log(1 + e) = {observed:.6f}$.",
        r"The midpoint $\theta = 1/2$ with that $V$ violates $V = \log(2 \exp(1/2 + V/2))$, "
        "whose right side is {bound:.6f}.",
        r"With max for log sum exp likewise: $V = 2$, 2, and $V = \max(1/2, 1/2) + V/2$ gives 1.",
    ),
    corrected=inequalities_are_convex,
    broken="the inequality the other way, V <= log sum exp(r + beta P V)",
    rejected={"sign": -1},
)
def equations_are_polyhedral(mixture: Mixture) -> CheckResult:
    r"""The "Bellman equations constitute a convex polyhedral constraint set". In the variables
    $(\theta, V)$ of Su and Judd's programme, mixtures of two solutions of the equations $V = \log
    \sum \exp(r_\theta + \beta P V)$ are solutions.

    Where: Section 2, on Su and Judd (2012). It says that their nonlinear programme is "a nested
    linear programming problem with Bellman equations as constraints of a linear program".

    Assumes: $r_\theta$ linear in $\theta$, the case most favourable to the statement; $P$ and
    $\beta$ fixed.

    Decided: the sentence is about other work, and nothing rests on it. The equation is that of the
    graph of a strictly convex function. For fixed $\theta$ the set is a single point and the
    statement is empty. The linear programme for plain dynamic programming has the constraint $V
    \geq \max_a(r + \beta P V)$. This constraint is polyhedral, but is neither an equation nor that
    of the DDC model.
    """
    right, v, _, tolerance = _mixed(mixture, np.zeros_like(mixture.above))
    return equal(v, right, tolerance, WHY)


# A world, another kernel (A, S, S), an intervention (S, A) on the reward, potentials (S,).
Shaped = namedtuple("Shaped", "mdp moves intervention potential")


@st.composite
def shaped(draw: st.DrawFn) -> Shaped:
    mdp = draw(tabular_mdps(4, 3, rewards=MILD))
    moves = draw(distributions(mdp.transition.shape, self_loops=True))
    intervention = draw(tables(mdp.reward.shape, MILD))
    return Shaped(mdp, moves, intervention, draw(tables(len(mdp.initial), MILD)))


def _equivalent(case: Shaped, factor: float = 1.0) -> Array:
    """A reward with the policy of the world's own: r + beta E[phi(s')] - phi(s)."""
    ahead = np.einsum("aij,j->ia", case.mdp.transition, case.potential)
    return np.asarray(
        case.mdp.reward + factor * case.mdp.discount * ahead - case.potential[:, None]
    )


def _policies(case: Shaped, moves: Array, *rewards: Array) -> tuple[list[Array], float]:
    solved = [soft_bellman(r, moves, case.mdp.discount) for r in rewards]
    scale = max(1.0, *(float(np.abs(s.v).max()) for s in solved), float(np.ptp(case.potential)))
    return [s.q - s.v[:, None] for s in solved], 8e-12 * scale / (1 - case.mdp.discount)


def invariance_keeps_reward_counterfactuals(case: Shaped, factor: float = 1.0) -> CheckResult:
    r"""Where the reward changes and $P$ does not, every reward that is equivalent up to policy
    invariance predicts the same counterfactual policy. Where $P$ changes to $P'$, $r'$ predicts the
    policy of $r + \beta E_P[\phi(s')] - \beta E_{P'}[\phi(s')]$, in general another one.

    Decided: $r + \Delta$ and $r' + \Delta$ differ by a potential of the same $P$. The log policies
    of the library at both, under $P$ with $\Delta$ and under $P'$.
    """
    base, other = case.mdp.reward + case.intervention, _equivalent(case, factor) + case.intervention
    (first, second), tolerance = _policies(case, case.mdp.transition, base, other)
    change = np.einsum("aij,j->ia", case.mdp.transition - case.moves, case.potential)
    shaped = case.mdp.reward + case.mdp.discount * change
    (there, then), wider = _policies(case, case.moves, shaped, _equivalent(case, factor))
    return weakest(
        equal(first, second, tolerance, WHY),
        equal(there, then, wider, WHY),
    )


def _subsidy() -> Shaped:
    moves = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    mdp = TabularMDP(np.array([[0.0, 1.0], [2.0, 0.0]]), moves, 0.5, np.array([1.0, 0.0]))
    subsidy = np.array([[1.0, 0.0], [0.0, 0.0]])
    case = Shaped(mdp, moves[::-1], subsidy, np.array([1.0, 3.0]))
    (own, same), tolerance = _policies(case, mdp.transition, mdp.reward, _equivalent(case))
    assumed(np.abs(own - same).max() < tolerance, "both rewards have the same policy")
    assumed(np.abs(_equivalent(case) - mdp.reward).min() > 0.1, "and differ at every pair")
    return case


@claim.holds_if(
    "related.policy-invariance",
    condition="the counterfactual changes the transitions $P$ (or asks for values, not choices)",
    instances=shaped(),
    counterexample=_subsidy,
    text=(
        r"Two states, a0 stays, a1 switches, $\beta = 1/2$; $r$ and $r' = r + \phi(s')/2 - "
        r"\phi(s)$, $\phi = (1, 3)$, have one policy.",
        r"With a subsidy of 1 for (0, a0), $Q' = Q - \phi(s)$ solves the equation of $r'$ "
        "whenever $Q$ does that of $r$: one policy again.",
        "Largest difference of the two log policies: {observed:.0g}; to be impossible to "
        "predict it would have to be above {bound:g}.",
    ),
    corrected=invariance_keeps_reward_counterfactuals,
    broken="potentials not discounted, r + E[phi(s')] - phi(s)",
    rejected={"factor": 2.0},
)
def invariance_prevents_counterfactuals(case: Shaped) -> CheckResult:
    r"""Methods that "identify rewards only up to policy invariance" cannot predict counterfactual
    choices: two such rewards predict different policies after a change.

    Where: Section 2, on GAN approaches, "which implies that counterfactual analysis is impossible".

    Assumes: policy invariance as in Ng et al. (1999), $r + \beta E[\phi(s')] - \phi(s)$; here the
    change is one of the reward, the paper's own example of a coupon (Sections 1 and 3).

    Decided: shaping by a potential commutes with adding $\Delta$ to the reward; it does not with
    changing $P$. The counterexample has the same counterfactual policy under both rewards.
    """
    base, other = case.mdp.reward + case.intervention, _equivalent(case) + case.intervention
    (first, second), tolerance = _policies(case, case.mdp.transition, base, other)
    return at_least(np.abs(first - second).max(), 1e-6, tolerance, WHY)
