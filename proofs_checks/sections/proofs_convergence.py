"""Technical proofs of Theorem linConvergence: two-sided PL, and PL to quadratic growth."""

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st

from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims import under_check
from proofs_checks.claims.claims import CheckResult, assumed, at_least, claim, equal, weakest
from proofs_checks.claims.instances import empirical, full_samples, one_state, tables
from proofs_checks.claims.under_check import ROUNDING, objective, objective_rounding
from proofs_checks.oracle import polyak as oracle
from proofs_checks.oracle.risk import Sample

Fixed = tuple[Sample, Array, Array]  # a data set, outputs q (X, A) and zeta (X,) on it


@st.composite
def fixed(draw: st.DrawFn) -> Fixed:
    data = draw(empirical(3, 2))
    return data.sample, data.q, draw(tables(len(data.q)))


def _curvature(point: Fixed, expected: float) -> CheckResult:
    sample, q, zeta = point
    up, down, here = (objective(sample, q + c, zeta) for c in (1.0, -1.0, 0.0))
    tolerance = 4 * objective_rounding(sample, np.abs(q) + 1, zeta)
    return equal(up + down - 2 * here, expected, tolerance, ROUNDING + ", in each of four terms")


def primal_pl(point: Fixed) -> CheckResult:
    r"""$\hat f_N$ is PL in $\phi$ for each $\theta$. Its profile $\hat g_N$ is PL in $\theta$, if
    $B_\zeta$ holds the best $\phi$ for every $\theta$ in $B_Q$. The proof of Yang et al.'s Theorem
    3.3 uses this primal-PL. For fixed $\phi$, $\hat f_N$ need not be PL in $\theta$. Along a common
    shift of $Q$ it is a parabola of curvature $2 (1 - 2 \beta) N_{\mathrm{BE}} / N$, unbounded
    below for $\beta > 1/2$. Other data defeat PL at any $\beta$.

    Decided: second differences of the library's $\hat f_N$ along $Q + c$ on every instance, and the
    PL inequality of $\hat g_N$ with the constant of Theorem bothPL, $\omega_j^{\mathrm{BE}} = m_j /
    N$.
    """
    sample, q, _ = point
    p = np.exp(q - value(q)[:, None])[sample.nll_states]
    modulus = oracle.pl_constant(sample, float(p.min()), oracle.share(sample))
    gap = oracle.profile(sample, q) - sample.entropy()
    gradient = under_check.descent_slope(sample, q)
    pl = at_least(
        0.5 * float(np.sum(gradient**2)),
        modulus * gap,
        objective_rounding(sample, q) * (modulus + float(np.abs(gradient).max())),
        ROUNDING + ", times the constant and times the gradient",
    )
    # Q + c moves V(s') and Q(s, a_s) by c, the NLL not at all: (1 - beta)^2 - beta^2 = 1 - 2 beta
    return weakest(_curvature(point, 2 * (1 - 2 * sample.discount) * oracle.share(sample)), pl)


def _at_the_solution() -> Fixed:
    beta = 0.95
    # r such that Q* = 0: V = log 2 and 0 = r + beta log 2
    sample = one_state([1, 1], -beta * np.log(2), beta)
    q = oracle.solution(sample)
    zeta = oracle.zeta_at(sample, q)
    assumed(np.all(sample.visits > 0), "the empirical minimiser exists, in B_Q")
    assumed(abs(oracle.profile(sample, q) - sample.entropy()) < 1e-15, "q minimises g-hat_N")
    slope = np.abs(under_check.descent_slope(sample, q, zeta)).max()
    assumed(slope < 1e-15, "theta is realisable: Q*")
    for c in (1.0, 1e-3):
        drop = objective(sample, q, zeta) - objective(sample, q + c, zeta)
        assumed(abs(drop - 0.45 * c**2) < 1e-14, "Q* + c lowers f by .45 c^2: any B_Q")
    return sample, q, zeta


@claim.fails(
    "prop:linConvergence.two-sided-PL",
    instances=fixed(),
    counterexample=_at_the_solution,
    text=(
        r"One state, observations $(s,0,s)$ and $(s,1,s)$, anchor 0, $\beta = .95$, $r = -\beta "
        r"\log 2$. $Q^* = 0$ and $\zeta^* = \log 2$ solve it, so the gradient of $f$ in $\theta$ "
        r"at $(Q^*, \zeta^*)$ is 0.",
        r"For fixed $\zeta^*$, $f(Q^* + c, \zeta^*) - f(Q^*, \zeta^*) = (c^2/2)((1 - \beta)^2 - "
        r"\beta^2) = (1 - 2 \beta) c^2/2 = -0.45 c^2$. So $Q^*$ does not minimise $f(\cdot, "
        r"\zeta^*)$, however small the ball (here $c = 1$).",
        r"Half the squared gradient is {observed:.1e}. It is not $\geq \mu$ times 0.45 for any "
        r"$\mu > 0$ (here $\mu = 10^{{-9}}$: {bound:.1e}).",
    ),
    corrected=primal_pl,
    broken="zeta moving with Q: curvature 2 (1 - beta)^2 N_BE / N, that of the profile",
    rejected=lambda point: _curvature(
        point, 2 * (1 - point[0].discount) ** 2 * oracle.share(point[0])
    ),
)
def two_sided_pl(point: Fixed) -> CheckResult:
    r"""The empirical min-max objective $\hat f_N(\theta, \phi)$ has the two-sided PL structure of
    Yang et al. (2020): for some $\mu > 0$, $(1/2) |\nabla_\theta f|^2 \geq \mu (f - \min_\theta f)$
    for every $\phi$, and likewise in $\phi$.

    Where: Technical proofs, proof of Theorem linConvergence, part 1 ("Consequently, the empirical
    minimax objective has the two-sided PL structure required by Theorem 3.3"); Section 1.

    Assumes: Assumptions realizability and nonSingularJac.

    Decided: the proof shows PL of the profile (Theorem bothPL), not of $f$ for each $\phi$. At a
    solution the gradient in $\theta$ is zero. Yet a common shift by $c$ changes $f$ by $(1 - 2
    \beta) c^2 N_{\mathrm{BE}} / N < 0$ for $\beta > 1/2$, in any ball around it. Small $\beta$ is
    no general cure, although one state with one action is PL at $\beta = .3$. Take observations
    $(x,0,y)$ and $(x,1,y)$, and none that starts at $y$. Then the shifts $\beta$ at $x$ and 1 at
    $y$ change $f$ by $-\beta^2 N_{\mathrm{BE}} / N$, at any $\beta$.
    """
    sample, q, zeta = point
    return at_least(
        0.5 * float(np.sum(under_check.descent_slope(sample, q, zeta) ** 2)),
        1e-9 * (objective(sample, q, zeta) - objective(sample, q + 1, zeta)),
        1e-20,
        "the gradient, a difference of numbers below one, is zero to 1e-15; squared",
    )


class Growth(
    namedtuple("Growth", "sample features theta radius_squared constant", defaults=[np.inf, 1.0])
):
    """A linear class on a data set.

    Every action is taken in every state; features (X A, d) are of full row rank: (ii). The radius
    is that of the ball B_Q around zero, and c_qg is the constant that is tried.
    """

    @property
    def q(self) -> Array:
        """(X, A)."""
        return np.asarray((self.features @ self.theta).reshape(self.sample.visits.shape))


@st.composite
def growths(draw: st.DrawFn) -> Growth:
    sample = draw(full_samples(2, 2))
    size = sample.visits.size
    more = draw(tables((size, draw(st.integers(0, 2))), st.integers(-2, 2)))
    features = np.hstack([np.eye(size), more])
    near = draw(tables(features.shape[1], st.integers(-8, 8))) / 8
    centre = np.linalg.pinv(features) @ oracle.solution(sample).ravel()
    return Growth(sample, features, centre + near)


def _risk(point: Growth) -> float:
    """R-hat_Q, whose Bellman term has the weights m_j / N_BE."""
    return float(
        under_check.sample_risk(point.sample, point.q).total(1 / oracle.share(point.sample))[0]
    )


def _grows(point: Growth, constant: float, in_the_ball: bool) -> CheckResult:
    """R-hat_Q above its minimum against constant x squared distance from the minimisers."""
    inverse = np.linalg.pinv(point.features)
    centre = inverse @ oracle.solution(point.sample).ravel()  # the minimiser of least norm
    off = point.theta - centre
    along = off - inverse @ (point.features @ off)
    apart = float(np.sum((off - along) ** 2))
    if in_the_ball:  # the minimisers in it are centre + n, n in the kernel, |n| <= room
        room = np.sqrt(max(point.radius_squared - float(centre @ centre), 0.0))
        apart += max(float(np.linalg.norm(along)) - room, 0.0) ** 2
    tolerance = objective_rounding(point.sample, point.q) / oracle.share(point.sample)
    return at_least(_risk(point) - point.sample.entropy(), constant * apart, tolerance, ROUNDING)


def growth_on_sublevel_sets(point: Growth, share: float = 0.5) -> CheckResult:
    r"""Let PL with constant $c$ hold on the sublevel set $\{\hat R_Q \leq \hat R_Q(\theta)\}$, or
    on the ball enlarged by $(2 \max (\hat R_Q - R^*) / c)^{1/2}$. Let $S$ be all minimisers there,
    inside $B_Q$ or not. Then $\hat R_Q(\theta) - R^* \geq (c / 2) \mathrm{dist}(\theta, S)^2$.

    Decided: the gradient flow from $\theta$ stays in its sublevel set and ends in $S$ after a path
    of length at most $(2 (\hat R_Q - R^*) / c)^{1/2}$. Checked with Theorem bothPL's constant on
    the sublevel set, for linear classes of full row rank.
    """
    # on the sublevel set n(x, a)/N times -log p is at most the risk
    exponent = _risk(point) * point.sample.size / float(point.sample.visits.min())
    gram = float(np.linalg.eigvalsh(point.features @ point.features.T)[0])
    constant = gram * oracle.pl_constant(point.sample, float(np.exp(-exponent)), 1.0)
    return _grows(point, share * constant, in_the_ball=False)


def _tangent() -> Growth:
    # Q* = -1 for both actions: -1 = r + beta (log 2 - 1)
    sample = one_state([1, 1], -0.5 - 0.5 * np.log(2))
    theta = np.array([-10193, -10193, 808]) / 10209  # -k, -k, (2 - 2 k^2)^(1/2)
    point = Growth(sample, np.eye(2, 3), theta, 2.0, 1e-2)
    why = "an empirical minimiser, (-1, -1, 0), and Q*, the same, are in B_Q = {|theta|^2 <= 2}"
    assumed(np.abs(oracle.solution(sample) + 1).max() < 1e-14, why)
    assumed(float(theta @ theta) <= 2 + 1e-15, "theta is in B_Q")
    assumed(np.all(point.features @ point.features.T == np.eye(2)), "(ii) with mu_Q = 1")
    return point


@claim.holds_if(
    "prop:linConvergence.quadratic-growth",
    condition="PL where the gradient flow goes (a sublevel set, or an enlarged ball), and the"
    " distance taken to all minimisers there",
    instances=growths(),
    counterexample=_tangent,
    text=(
        r"One state, observations $(s,0,s)$ and $(s,1,s)$, $\beta = 1/2$, $r = -(1 + \log 2)/2$, "
        r"$Q(s,a) = \theta_a$, $\theta$ in $\mathbb{{R}}^3$, $|\theta|^2 \leq 2$: minimisers "
        "(-1, -1, any); the ball holds only (-1, -1, 0).",
        r"At $(-k, -k, (2 - 2k^2)^{{1/2}})$: $R - R^* = (1 - \beta)^2 (1 - k)^2$, "
        r"$\mathrm{{dist}}^2 = 4 (1 - k)$, ratio $(1 - k)/16 \to 0$ as $k \to 1$.",
        r"$k = 10193/10209$: {observed:.2e}, but $c_{{\mathrm{{qg}}}} \mathrm{{dist}}^2$ is "
        r"{bound:.2e} for $c_{{\mathrm{{qg}}}} = .01$; so for any $c_{{\mathrm{{qg}}}} > 0$.",
    ),
    corrected=growth_on_sublevel_sets,
    broken="c for c / 2",
    rejected={"share": 1.0},
    rejected_at=lambda: Growth(one_state([1], 1.0), np.ones((1, 2)), np.array([3.0, 2.0])),
)
def quadratic_growth(point: Growth) -> CheckResult:
    r"""If $\hat R_Q$ is $C^2$ and PL on $B_Q$, there is $c_{\mathrm{qg}} > 0$ with $\hat
    R_Q(\theta) - R^* \geq c_{\mathrm{qg}} \mathrm{dist}(\theta, S)^2$ on $B_Q$, $S$ the minimisers
    over $B_Q$.

    Where: Technical proofs, proof of Theorem linConvergence, part 1 ("the local
    PL--quadratic-growth equivalence for $C^2$ functions gives a constant $c_{\mathrm{qg}} > 0$").

    Assumes: Assumption nonSingularJac on the closed ball $B_Q$, which has an empirical minimiser.

    Decided: the equivalence is local, and its proof follows the gradient flow, which may leave the
    ball. Where the set of minimisers touches the sphere, growth measured to $S$ is of order four. A
    ball that cuts the set transversally has some $c_{\mathrm{qg}}$, which tends to zero with the
    cut. The sentence of the proof is about all $\theta$ in $B_Q$. The theorem's display is about
    the iterates. In this instance descent from the centre stays where the third coordinate is 0,
    and there growth holds. So the display is not refuted.
    """
    return _grows(point, point.constant, in_the_ball=True)
