"""Technical proofs, Lemmas EmpLipschitz and lipsSmooth: bounds on derivatives of the risk.

The printed bounds take the choice probabilities' term of Hess V for |A| B^2 / 4. It is a covariance
of gradients of length at most B, hence at most B^2, which opposed gradients attain: the printed
bound is too small for two and three actions (the paper's bus engine has two). The lemmas do not
assume nonSingularJac (ii): adding delta times a parameter of its own to each output gives (ii)
with mu = delta^2, and changes the numbers by O(delta).
"""

import math
from collections import namedtuple
from dataclasses import replace
from typing import Literal

import numpy as np
from hypothesis import strategies as st

from gladius.model.mdp import TabularMDP
from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims import instances
from proofs_checks.claims.claims import CheckResult, assumed, at_most, claim
from proofs_checks.claims.under_check import Complex, complex_slope, risk_at_anchors, sample_risk
from proofs_checks.oracle.polyak import Sizes
from proofs_checks.oracle.risk import Sample


class Curved(namedtuple("Curved", "sample q slopes hessians residual")):
    """Q(z) = q_z + slopes_z' d + d' hessians_z d / 2 of d = theta - theta_0, looked at where d = 0.

    q is (X, A), slopes (X, A, P), hessians (X, A, P, P) symmetric; the residual M is at least what
    the point itself gives.
    """

    def outputs(self, d: Complex) -> Complex:
        """(R, X, A) at (R, P)."""
        straight = np.einsum("xap,rp->rxa", self.slopes, d)
        outputs = straight + np.einsum("xapk,rp,rk->rxa", self.hessians, d, d) / 2
        return np.asarray(self.q + outputs)

    @property
    def sizes(self) -> Sizes:
        """B and B_2 at theta_0, M as given."""
        evaluated = self.sample.evaluated
        return Sizes(
            actions=self.q.shape[1],
            discount=self.sample.discount,
            slope=float(np.linalg.norm(self.slopes[evaluated], axis=2).max()),
            curvature=float(np.linalg.norm(self.hessians[evaluated], 2, axis=(2, 3)).max()),
            residual=self.residual,
        )


def local(point: Curved) -> Curved:
    """The same with M of its own: the suprema of |r|, |V| and |Q| taken at this point alone."""
    sample, q = point.sample, point.q[point.sample.evaluated]
    highest, largest = (float(np.abs(x).max()) for x in (value(q), q))
    reward = float(np.abs(sample.reward[sample.be_states]).max())
    return point._replace(residual=reward + sample.discount * highest + largest)


@st.composite
def curved(draw: st.DrawFn) -> Curved:
    """Points with M of their own, which is the least it can be."""
    data = draw(instances.empirical(max_states=3, max_actions=4))
    width = draw(st.integers(1, 2))
    slopes = draw(instances.tables((*data.q.shape, width), instances.quarters(8)))
    hessians = draw(instances.tables((*data.q.shape, width, width), instances.quarters(8)))
    hessians = (hessians + np.swapaxes(hessians, 2, 3)) / 2
    return local(Curved(data.sample, data.q, slopes, hessians, 0.0))


def _transition(slopes: Array, theta: Array, *, reward: float, residual: float) -> Curved:
    """One (s, anchor 0, s') where s and s' are the states 0 and 1; Q is linear; beta = .95."""
    _, actions, width = slopes.shape
    counts = np.zeros((2, actions, 2))
    counts[0, 0, 1] = 1.0
    sample = Sample(counts, np.zeros(2, dtype=np.int64), np.array([reward, 0.0]), 0.95)
    return Curved(sample, slopes @ theta, slopes, np.zeros((2, actions, width, width)), residual)


def assume_realisable(point: Curved, theta_star: Array, corners: Array) -> None:
    """Every pair leads to s', and the rewards make Q at theta_star the Q* of that world.

    M must be R_max + beta V_max + Q_max over the box of parameters with these corners: Q is affine
    and V convex, so that both are largest at a corner, and V >= max Q >= -Q_max.
    """
    states, actions = point.q.shape
    transition = np.zeros((actions, states, states))
    transition[:, :, 1] = 1.0
    best = point.outputs(theta_star[None])[0]
    reward = best - point.sample.discount * value(best)[1]
    world = TabularMDP(reward, transition, point.sample.discount, np.eye(states)[0])
    gap = np.abs(world.solution.q - best).max()
    assumed(gap < 1e-9, "Q* = Q_theta* for some theta* (realisability)")
    gap = abs(point.sample.reward[0] - reward[0, 0])
    assumed(gap < 1e-12, "the given reward of the anchor is the true one")
    reached = point.outputs(corners)
    largest = np.abs(reached).max()
    highest = max(value(reached).max(), largest)
    size = np.abs(reward).max() + point.sample.discount * highest + largest
    assumed(abs(point.residual - size) < 1e-12, "M = R_max + beta V_max + Q_max")
    assumed(point.sizes.slope <= 1 + 1e-15, "|grad Q| <= B = 1")


def bounded(point: Curved, which: Literal["risk", "nll"], bound: float) -> CheckResult:
    """Spectral norm of the Hessian at d = 0 of R_emp or of its likelihood term, at most a bound."""
    step = 1e-4 / max(1.0, point.sizes.slope)

    def function(d: Complex) -> Complex:
        risk = sample_risk(point.sample, point.outputs(d))
        return risk.nll if which == "nll" else risk.total()

    columns = []
    for move in step * np.eye(point.slopes.shape[2]):
        ahead, behind = (complex_slope(function, side) for side in (move, -move))
        columns.append((ahead - behind) / (2 * step))
    why = "central differences of exact slopes, step 1e-4 / B: error of order 1e-8 of the bound"
    tolerance = 1e-6 * (1 + point.sizes.theta())
    return at_most(np.linalg.norm(np.stack(columns), 2), bound, tolerance, why)


# --- Lemma EmpLipschitz
ALIGNED = np.array([[[-1.0], [1.0]], [[1.0], [1.0]]])  # Q(s, .) = (-theta, theta), Q(s', .) = theta


def _realised_slope() -> Curved:
    """|theta| <= 1, and rewards whose Q* is at theta = -1."""
    beta = 0.95
    reward, residual = 1 + beta - beta * math.log(2), 2 * (1 + beta)
    point = _transition(ALIGNED, np.ones(1), reward=reward, residual=residual)
    assume_realisable(point, np.array([-2.0]), np.array([[-2.0], [0.0]]))
    return point


def _aligned(high: float) -> Curved:
    """theta = high, r = 0 and beta = .1: the likelihood's term tends to 2 B with theta."""
    point = _transition(ALIGNED, np.array([high]), reward=0.0, residual=0.0)
    return local(point._replace(sample=replace(point.sample, discount=0.1)))


def _without_value(point: Curved) -> CheckResult:
    """M without beta V_max."""
    residual = float(np.abs(point.sample.reward).max() + np.abs(point.q).max())
    return empirical_lipschitz_both(point, replace(point.sizes, residual=residual).lipschitz())


def empirical_lipschitz_both(point: Curved, bound: float | None = None) -> CheckResult:
    r"""$R_{\mathrm{emp}}$ is Lipschitz in $\theta$ with constant $(2 + 2 M (1 + \beta)) B$.

    Decided: the proof's own bounds: $2 B$ for the likelihood's gradient, $2 M (1 + \beta) B$ for
    the Bellman term's. Sharp: all three inequalities are approached at once.
    """
    width = point.slopes.shape[2]
    gradient = complex_slope(
        lambda d: sample_risk(point.sample, point.outputs(d)).total(), np.zeros(width)
    )
    largest = 1 + np.abs(point.sample.reward).max() + 2 * np.abs(point.q).max()
    size = float(largest * np.linalg.norm(point.slopes.reshape(-1, width), 2))
    tolerance, why = 1e-5 * math.sqrt(1e-13) * size, "rounding of a gradient by complex steps"
    most = point.sizes.lipschitz() if bound is None else bound
    return at_most(np.linalg.norm(gradient), most, tolerance, why)


@claim.fails(
    "lem:EmpLipschitz",
    instances=curved(),
    counterexample=_realised_slope,
    text=(
        r"$A = 2$, $\beta = .95$, $Q(s, \cdot) = (-\theta, \theta)$, $Q(s', \cdot) = (\theta, "
        r"\theta)$, $|\theta| \leq 1$, $B = 1$; one observation $(s, 0, s')$.",
        r"The $Q^*$ of $r(s, 0) = 1 + \beta - \beta \log 2$ is $\theta = -1$; $R_{{\max}} = 1 + "
        r"\beta - \beta \log 2$, $V_{{\max}} = 1 + \log 2$, $Q_{{\max}} = 1$: $M = 2 (1 + \beta) "
        f"= {2 * 1.95:.1f}$.",
        r"At $\theta = 1$, $\Psi = M$, $p(1 \mid s) = "
        f"{1 / (1 + math.exp(-2)):.4f}"
        r"$: $\nabla = 2 M (1 + \beta) + 2 p(1 "
        r"\mid s) = {observed:.4f}$; printed: $2 M (1 + \beta) + 1 = {bound:.4f}$.",
    ),
    corrected=empirical_lipschitz_both,
    broken="M = R_max + Q_max, beta V_max left out",
    rejected=_without_value,
    adversary=instances.tightest(_aligned, "lem:EmpLipschitz", 0, 20),
    cost=2,
)
def empirical_lipschitz(point: Curved) -> CheckResult:
    r"""$R_{\mathrm{emp}}$ is Lipschitz in $\theta$ with constant $(1 + 2 M (1 + \beta)) B$.

    Where: Technical proofs, Lemma EmpLipschitz.

    Assumes: $|\nabla Q| \leq B$, $M = R_{\max} + \beta V_{\max} + Q_{\max}$; $\zeta$ exact, as
    $R_{\mathrm{emp}}$ is defined.

    Decided: the proof bounds the likelihood's gradient by $2 B$, and then adds $B$. The instance,
    whose $Q^*$ is in the class, has a gradient above the printed constant. With a larger range of
    $\theta$ the gradient comes as close to $(2 + 2 M (1 + \beta)) B$ as one likes.
    """
    return empirical_lipschitz_both(point, point.sizes.lipschitz(choice=1.0))


# --- Lemma lipsSmooth: the likelihood
def _opposed(actions: int = 2) -> Curved:
    """Q(s, .) = (theta, -theta) at theta = 0, more actions far below."""
    slopes = np.zeros((2, actions, 1))
    slopes[0, :2, 0] = 1.0, -1.0
    point = _transition(slopes, np.zeros(1), reward=0.0, residual=100.0)
    point.q[0, 2:] = -30.0
    assumed(point.sizes.slope == 1, "|grad Q| <= B = 1")
    assumed(point.sizes.curvature == 0, "|Hess Q| <= B_2 = 0")
    return point


def choice_curvature_by_variance(point: Curved) -> CheckResult:
    r"""$\|\nabla^2 L_{\mathrm{NLL}}\| \leq 2 B_2 + B^2$.

    Decided: $\nabla^2 L_{\mathrm{NLL}}(s, a) = -\nabla^2 Q_a + \sum_b p_b \nabla^2 Q_b +
    \mathrm{Cov}_p(\nabla Q)$, and the variance of $h' \nabla Q_b$, which lies in $[-B, B]$, is at
    most $B^2$. Sharp: opposed gradients, equal probabilities.
    """
    return bounded(point, "nll", point.sizes.choice())


@claim.fails(
    "lem:lipsSmooth.NLL-bound",
    instances=curved(),
    counterexample=_opposed,
    text=(
        r"$A = 2$, $Q(s, \cdot) = (\theta, -\theta)$, one observation $(s, 0)$: "
        r"$L_{{\mathrm{{NLL}}}} = \log(2 \cosh \theta) - \theta$;",
        r"$B = 1$, $B_2 = 0$. At $\theta = 0$ its second derivative is $1 / \cosh^2(0) = "
        "{observed:.6g}$;",
        "the printed bound is $|A| / 4 = {bound:.3g}$.",
    ),
    corrected=choice_curvature_by_variance,
    broken="(1 - 1 / |A|) B^2, the largest of the printed sum of p (1 - p)",
    rejected=lambda point: bounded(point, "nll", point.sizes.choice(1 - 1 / point.sizes.actions)),
    rejected_at=lambda: _opposed(4),
    adversary=_opposed,  # two actions, for which the printed constant is too small
    cost=2,
)
def choice_curvature(point: Curved) -> CheckResult:
    r"""$\|\nabla^2 L_{\mathrm{NLL}}\| \leq 2 B_2 + |A| B^2 / 4$.

    Where: Technical proofs, Lemma lipsSmooth, the display after the bound of $T_3$.

    Assumes: $|\nabla Q| \leq B$, $|\nabla^2 Q| \leq B_2$.

    Decided: the bound follows from the wrong display of $\nabla^2 V$ (lem:lipsSmooth.hessian-of-V).
    It is true for one action, and for four and more, where $|A| / 4 \geq 1$. For two and three
    actions the covariance of opposed gradients, up to $B^2$, exceeds it: $B^2 / 2$ and $3 B^2 / 4$.
    """
    return bounded(point, "nll", point.sizes.choice_printed)


# --- the risk in theta
def _tall(reward: float, high: float, residual: float) -> Curved:
    """theta = (u, w): Q(s, .) = (-w, w), Q(s', .) = (u, -u), at (0, high)."""
    slopes = np.array([[[0.0, -1.0], [0.0, 1.0]], [[1.0, 0.0], [-1.0, 0.0]]])
    return _transition(slopes, np.array([0.0, high]), reward=reward, residual=residual)


def _realised_curvature() -> Curved:
    """|u| <= 1, |w| <= 20, and rewards whose Q* is at (0, -20)."""
    high, beta = 20.0, 0.95
    reward = high - beta * np.log(2)
    largest = high + beta * np.log(2)  # of the reward of the other action at s
    highest = high + np.log1p(np.exp(-2 * high))
    point = _tall(reward, high, largest + beta * highest + high)
    corners = np.array([[u, w] for u in (-1.0, 0.0, 1.0) for w in (-high, high)])
    assume_realisable(point, np.array([0.0, -2 * high]), corners - [0.0, high])
    assumed(point.sizes.curvature == 0, "|Hess Q| <= B_2 = 0")
    return point


def risk_curvature_by_variance(point: Curved) -> CheckResult:
    r"""$\|\nabla^2 R_{\mathrm{emp}}\| \leq L_\theta = 2 B_2 + B^2 + 2 (1 + \beta)^2 B^2 + 2 M ((1 +
    \beta) B_2 + \beta B^2)$.

    Decided: as printed, with $\|\nabla^2 V\| \leq B_2 + B^2$ in place of $2 B_2 + |A| B^2 / 4$.
    Sharp as the reward, and with it $M$, grows.
    """
    return bounded(point, "risk", point.sizes.theta())


@claim.fails(
    "lem:lipsSmooth.L-theta",
    instances=curved(),
    counterexample=_realised_curvature,
    text=(
        r"$A = 2$, $\beta = .95$, $Q(s, \cdot) = (-w, w)$, $Q(s', \cdot) = (u, -u)$, $|u| \leq "
        r"1$, $|w| \leq 20$: $B = 1$, $B_2 = 0$.",
        r"Data: $(s, 0, s')$. The $Q^*$ of $r(s, 0) = 20 - \beta \log 2$ is $(u, w) = (0, -20)$. "
        r"$R_{{\max}} = 20 + \beta \log 2$, $V_{{\max}} = Q_{{\max}} = 20$: $M = "
        f"{59 + 0.95 * math.log(2):.2f}"
        "$.",
        r"At (0, 20), $\Psi = 40$: $\partial^2 R/\partial u^2 = 2 \Psi \beta = {observed:.4f}$; "
        r"printed: $1/2 + 2 (1 + \beta)^2 + \beta M = {bound:.4f}$.",
    ),
    corrected=risk_curvature_by_variance,
    broken="M in place of 2 M, the factor of the square lost",
    rejected=lambda point: bounded(point, "risk", point.sizes.theta(product=1.0)),
    # the anchor's reward makes M the residual up to a constant
    adversary=instances.tightest(
        lambda reward: local(_tall(reward, 1.0, 0.0)), "lem:lipsSmooth.L-theta", 0, 1000
    ),
    cost=2,
)
def risk_curvature(point: Curved) -> CheckResult:
    r"""$\|\nabla^2 R_{\mathrm{emp}}\| \leq L_\theta = 2 B_2 + |A| B^2 / 4 + 2 (1 + 2 \beta) M B_2 +
    (2 (1 + \beta)^2 + \beta |A| M / 2) B^2$.

    Where: Technical proofs, Lemma lipsSmooth, last display.

    Assumes: $|\nabla Q| \leq B$, $|\nabla^2 Q| \leq B_2$, $M = R_{\max} + \beta V_{\max} +
    Q_{\max}$; $\zeta$ exact.

    Decided: fails for two and three actions where $M$ is large, as the likelihood's term does.
    Holds for one action, and for four and more, where $|A| / 4 \geq 1$. The instance has $Q^*$ in
    the class too.
    """
    return bounded(point, "risk", point.sizes.theta_printed)


# --- the risk in zeta
# A data set, Q on its states, and two zeta (B,) at its anchor states.
Duals = namedtuple("Duals", "data first second")


@st.composite
def duals(draw: st.DrawFn) -> Duals:
    data = draw(instances.empirical())
    first, second = (
        draw(instances.tables(len(data.sample.be_states), instances.REWARDS)) for _ in range(2)
    )
    return Duals(data, first, second)


def dual_smoothness_by_square(pair: Duals, factor: float = 2.0, power: int = 2) -> CheckResult:
    r"""$\|\nabla_\zeta R_{\mathrm{emp}}(\zeta_1) - \nabla_\zeta R_{\mathrm{emp}}(\zeta_2)\| \leq 2
    \beta^2 \|\zeta_1 - \zeta_2\|$.

    Decided: the term $-\beta^2 (V - \zeta)^2$ has second derivative $-2 \beta^2$, weighted by the
    share of the pair in the data, at most 1. Attained by one pair. In the parameters $\phi$ of a
    class there are further factors, $|J_\zeta|^2$ and the curvature of $\zeta$.
    """
    sample, q = pair.data
    slopes = [
        complex_slope(lambda zeta: risk_at_anchors(sample, q, zeta).bellman, at)
        for at in (pair.first, pair.second)
    ]
    bound = factor * sample.discount**power * float(np.linalg.norm(pair.first - pair.second))
    largest = 1 + np.abs(q).max() + np.abs(pair.first).max() + np.abs(pair.second).max()
    why = "rounding of two gradients of size |V| + |zeta|"
    return at_most(np.linalg.norm(slopes[0] - slopes[1]), bound, 1e-14 * largest, why)


@claim.fails(
    "lem:lipsSmooth.L-zeta",
    instances=duals(),
    counterexample=lambda: Duals(
        instances.Empirical(instances.one_state([60, 40], discount=0.95), np.zeros((1, 2))),
        np.zeros(1),
        np.ones(1),
    ),
    text=(
        r"60 anchor observations of 100, $\beta = .95$: $R = \dots - .6 \beta^2 (V - \zeta)^2$.",
        r"The gradients at $\zeta = 0$ and 1 differ by $1.2 \beta^2 = {observed:.4f}$; the "
        r"printed bound is $\beta = {bound:.4f}$.",
        r"It fails wherever a pair has more than $N / (2 \beta)$ of the $N$ observations.",
    ),
    corrected=dual_smoothness_by_square,
    broken="beta^2, the factor of the square lost",
    rejected={"factor": 1.0},
)
def dual_smoothness(pair: Duals) -> CheckResult:
    r"""$\|\nabla_\zeta R_{\mathrm{emp}}(\zeta_1) - \nabla_\zeta R_{\mathrm{emp}}(\zeta_2)\| \leq
    L_\zeta \|\zeta_1 - \zeta_2\|$ with $L_\zeta = \beta$.

    Where: Technical proofs, Lemma lipsSmooth, the last two displays ("the Lipschitz smoothness in
    $\beta$ is trivial").

    Assumes: $\zeta$ as the vector of its values at the pairs, as printed.

    Decided: $2 \beta^2$ exceeds $\beta$ once $\beta > 1/2$; $2 \beta^2 m / N$ once $m / N > 1 / (2
    \beta)$.
    """
    return dual_smoothness_by_square(pair, factor=1.0, power=1)
