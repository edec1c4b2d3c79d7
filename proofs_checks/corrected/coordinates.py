"""The coordinates (l, e), and what they say of the estimator's error."""

import math
from collections import namedtuple

import numpy as np
from hypothesis import strategies as st
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import binom

from gladius.model.mdp import TabularMDP
from gladius.validate import Array
from proofs_checks.claims import instances, under_check
from proofs_checks.claims.claims import CheckResult, at_least, at_most, claim, equal, weakest
from proofs_checks.claims.instances import full_samples
from proofs_checks.claims.under_check import ROUNDING, Complex, objective, objective_rounding
from proofs_checks.corrected import CHAIN
from proofs_checks.oracle import polyak, separated
from proofs_checks.oracle.risk import Sample, Whole
from proofs_checks.sections.proofs_quantitative_identification import (
    identification_constant,
    inverse_norm,
)

# A data set, log-odds (X, A), residuals (B,) at its anchor pairs, and V (X,) for the other states.
Point = namedtuple("Point", "sample logits residual rest")


@st.composite
def reached(draw: st.DrawFn, max_states: int = 3, max_actions: int = 3) -> Sample:
    """Data sets in which a state with rows has every action; one may be seen as s' only."""
    sample = draw(full_samples(max_states, max_actions))
    moves = sample.moves.copy()
    if len(moves) > 1 and draw(st.booleans()):
        moves[-1] = 0.0
        moves[0, draw(st.integers(0, moves.shape[1] - 1)), -1] += 1
    return Sample(moves, sample.anchor, sample.reward, sample.discount)


@st.composite
def points(draw: st.DrawFn) -> Point:
    sample = draw(reached())
    logits = draw(instances.tables(sample.visits.shape))
    residual = draw(instances.tables(len(sample.be_states), instances.MILD))
    return Point(sample, logits, residual, draw(instances.tables(len(logits), instances.MILD)))


@claim.holds(
    "corrected.coordinates",
    instances=points(),
    broken="V = c + beta P c for V = (I - beta P)^-1 c, c = r - l_a - e",
    rejected={"resolvent": False},
    rejected_at=lambda: Point(
        instances.one_state([1, 1]), np.zeros((1, 2)), np.ones(1), np.zeros(1)
    ),
    inferred=CHAIN,
)
def coordinates(point: Point, resolvent: bool = True) -> CheckResult:
    r"""$(l, e) \leftrightarrow Q$ is a bijection of tables: $V = (I - \beta P)^{-1} (r - l_a - e)$,
    $Q = V + l$; and $\hat g_N(Q) = H + \sum_x w_x \mathrm{KL}(\hat\pi_x \| p_x) + \sum_j b_j
    e_j^2$, without a mixed term.

    Where: corrected.md, 1.

    Assumes: the anchor's moves stay in states with anchor observations, or $V$ is given elsewhere.

    Decided: $e = r + \beta P V - V - l_a$ is linear in $V$. The cross-entropy is the entropy plus
    KL. The profile over $\zeta$ of the observations' squared errors is the square of the mean
    error. Observed are the library's objective and residual at the $Q$ that $(l, e)$ give.
    """
    sample, rest = point.sample, point.rest
    log_p = log_softmax(point.logits, axis=1)
    q = separated.table(sample, log_p, point.residual, rest)
    if not resolvent:
        rows = sample.be_states
        v = rest.copy()
        v[rows] = sample.reward[rows] - log_p[rows, sample.anchor[rows]] - point.residual
        v[rows] += sample.discount * sample.transition @ v
        q = log_p + v[:, None]
    off = separated.divergence(sample.choices, log_p[sample.nll_states])
    square = separated.anchor_weight(sample) @ point.residual**2
    tolerance = objective_rounding(sample, q)
    risk = objective(sample, q) - sample.entropy()
    residual = under_check.residual(sample, q[None])[0] - point.residual
    return weakest(
        under_check.zero(residual, tolerance, ROUNDING),
        equal(risk, sample.nll_weight @ off + square, tolerance, ROUNDING),
    )


# --- the error of the minimiser
# A world, an anchor action for each state, and the data's n(s, a, s') (S, A, S).
Study = namedtuple("Study", "mdp anchor moves")


@st.composite
def studies(draw: st.DrawFn) -> Study:
    """Any counts with every pair in them, whether or not the world could have drawn them."""
    sample = draw(full_samples(3, 3))
    states, actions = sample.visits.shape
    mdp = TabularMDP(
        draw(instances.tables((states, actions), instances.MILD)),
        draw(instances.distributions((actions, states, states), self_loops=True)),
        sample.discount,
        np.full(states, 1 / states),
    )
    return Study(mdp, sample.anchor, sample.moves)


def _coin() -> Study:
    mdp = instances.absorbing([[0.0, 1.0], [1.0, 0.0]], 0.9)
    moves = np.array([[[1.0, 2.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]])
    return Study(mdp, np.zeros(2, dtype=np.int64), moves)


@claim.holds(
    "corrected.error-identity",
    instances=studies(),
    broken="the true (I - beta P)^-1 in place of the data's",
    rejected={"own": False},
    rejected_at=_coin,
    inferred=CHAIN,
)
def error_identity(study: Study, own: bool = True) -> CheckResult:
    r"""Exactly, $\hat Q - Q^* = dl - (I - \beta \hat P)^{-1} [dl_a - \beta (\hat P - P) V^*]$, with
    $dl = \log \hat\pi - \log \pi^*$. The second part is the same for all actions.

    Where: corrected.md, 6.

    Assumes: every action in every state of the data; $\hat P$ and $P$ over the anchor's moves.

    Decided: $V^* = r - l^*_a + \beta P V^*$ is $(I - \beta \hat P) V^* = r - l^*_a - \beta (\hat P
    - P) V^*$; subtract it from $(I - \beta \hat P) \hat V = r - \hat l_a$. Observed: the minimiser
    by the oracle less the library's $Q^*$.
    """
    mdp, anchor = study.mdp, study.anchor
    every = np.arange(len(anchor))
    sample = Sample(study.moves, anchor, mdp.reward[every, anchor], mdp.discount)
    truth, estimate = mdp.solution, polyak.solution(sample)
    transition = mdp.transition[anchor, every]
    off = np.log(sample.choices) - log_softmax(truth.q, axis=1)
    inner = off[every, anchor] - mdp.discount * (sample.transition - transition) @ truth.v
    system = np.eye(len(anchor)) - mdp.discount * (sample.transition if own else transition)
    formula = off - np.linalg.solve(system, inner)[:, None]
    tolerance = under_check.rounding(mdp, estimate, off) / (1 - mdp.discount)
    return under_check.zero(estimate - truth.q - formula, tolerance, under_check.WHY + ", twice")


# --- its variance
class Design(namedtuple("Design", "weight logits transition anchor discount rows")):
    """Shares w (X,) of the rows, log-odds (X, 2), P (X, X) of the anchor's moves, and rows n."""

    @property
    def policy(self) -> Array:
        """pi (X, 2)."""
        return np.asarray(softmax(self.logits, axis=1))

    @property
    def joint(self) -> Array:
        """d (X, 2): shares of the pairs."""
        return np.asarray(self.weight[:, None] * self.policy)

    @property
    def anchored(self) -> Array:
        """pi(x, a_x) (X,)."""
        return np.asarray(self.policy[np.arange(len(self.weight)), self.anchor])

    @property
    def spread(self) -> Array:
        """Var V*(y) (X,) after the anchor, r = 0 there."""
        v = logsumexp(self.solution(self.policy, self.transition), axis=1)
        return np.asarray(np.maximum(self.transition @ v**2 - (self.transition @ v) ** 2, 0.0))

    def solution(self, policy: Complex, transition: Complex) -> Complex:
        """(X, 2) the minimiser of these frequencies, r = 0 at the anchor; they may be complex."""
        log_p, every = np.log(policy), np.arange(len(transition))
        system = np.eye(len(transition)) - self.discount * transition
        v = np.linalg.solve(system, -log_p[every, self.anchor])
        return np.asarray(v[:, None] + log_p)


@st.composite
def designs(draw: st.DrawFn) -> Design:
    states = draw(st.integers(1, 3))
    weight = draw(instances.tables(states, st.integers(1, 5).map(float)))
    logits = draw(instances.tables((states, 2), instances.quarters(8)))
    anchor: Whole = draw(instances.anchors(states, 2))
    certain = st.lists(st.integers(0, states - 1), min_size=states, max_size=states)
    matrices = instances.distributions((states, states)) | certain.map(
        lambda to: np.eye(states)[to]
    )
    discount = draw(st.sampled_from([0.5, 0.9, 0.95, 0.99]))
    design = Design(weight / weight.sum(), logits, draw(matrices), anchor, discount, 1)
    rarest = draw(st.sampled_from([2_000, 5_000]))  # rows of the rarest pair, in the mean
    return design._replace(rows=math.ceil(rarest / design.joint.min()))


def _log_moments(p: float, rows: int) -> tuple[Array, Array]:
    """Mean (2,) and second moments (2, 2) of log(k / n) - log p and of the other action's.

    k is Binomial(n, p), given that both actions occur. By Bernstein's inequality counts beyond 12
    standard deviations have a probability below 1e-25 where a pair has 2,000 rows: left out.
    """
    spread = 12 * (rows * p * (1 - p)) ** 0.5
    k = np.arange(max(1, int(rows * p - spread)), min(rows - 1, int(rows * p + spread)) + 1)
    mass = binom.pmf(k, rows, p)
    mass /= mass.sum()
    off = np.stack([np.log(k / rows / p), np.log1p(-k / rows) - np.log1p(-p)])
    return off @ mass, (off * mass) @ off.T


def _squares(design: Design) -> tuple[float, float, float]:
    """v by its formula, by the Cramer-Rao bound, and N E[|Q-hat - Q*|^2 | (F)], NaN if P is not
    0/1.
    """
    policy, transition, beta, w = design.policy, design.transition, design.discount, design.weight
    states, d, anchor_weight = len(w), design.joint.ravel(), w * design.anchored
    chosen = np.eye(2 * states)[2 * np.arange(states) + design.anchor]
    resolvent = np.linalg.inv(np.eye(states) - beta * transition)
    linear = np.eye(2 * states) - np.repeat(resolvent, 2, axis=0) @ chosen  # dl -> dQ
    blocks = np.kron(np.eye(states), np.ones((2, 2)))  # pairs of one state
    noise = np.diag(1 / d) - blocks / np.repeat(w, 2)  # N Cov(dl)
    formula = d @ np.einsum("ij,jk,ik->i", linear, noise, linear)
    formula += beta**2 * w @ resolvent**2 @ (design.spread / anchor_weight)
    bound, step = 0.0, under_check.STEP
    for x in range(states):
        for block, size in ((policy, w[x]), (transition, anchor_weight[x])):
            rows = []
            for move in np.eye(block.shape[1]):
                shifted = block.astype(complex)
                shifted[x] += 1j * step * move
                pi, ahead = (shifted, transition) if block is policy else (policy, shifted)
                rows.append(design.solution(pi, ahead).imag.ravel() / step)
            p, slope = block[x], np.array(rows)
            spread_p = np.diag(p) - np.outer(p, p)
            bound += d @ np.einsum("ja,jk,ka->a", slope, spread_p, slope) / size
    if np.any(transition % 1):
        return float(formula), float(bound), np.nan
    mean, second = np.zeros(2 * states), np.zeros((2 * states, 2 * states))
    for x in range(states):
        here = slice(2 * x, 2 * x + 2)
        mean[here], second[here, here] = _log_moments(policy[x, 0], round(design.rows * w[x]))
    off = second + (1 - blocks) * np.outer(mean, mean)  # states are independent
    exact = design.rows * d @ np.einsum("ij,jk,ik->i", linear, off, linear)
    return float(formula), float(bound), float(exact)


def _by_identification(design: Design) -> float:
    """C_id times the mean of the limit of N x excess risk: of KL 1/2 a state, and of e^2."""
    kappa = inverse_norm(design.transition, design.weight, design.discount)
    identified = identification_constant(kappa, design.anchored.min(), 0.0)
    excess = len(design.weight) / 2 + design.discount**2 * design.spread.sum()
    return float(identified * excess)


@claim.holds(
    "corrected.efficiency",
    instances=designs(),
    broken="the constant of identification times the excess risk, in place of v",
    rejected={"by_identification": True},
    rejected_at=lambda: Design(
        np.array([0.5, 0.5]), np.zeros((2, 2)), np.eye(2)[[0, 0]], np.zeros(2, int), 0.95, 20_000
    ),
    cost=4,
    inferred=CHAIN,
)
def efficiency(design: Design, by_identification: bool = False) -> CheckResult:
    r"""$N |\hat Q - Q^*|^2$ in $L_2(d)$ tends in distribution to a weighted chi-squared with mean
    $v$. Here $v = \sum d N \mathrm{Var}(dl - R (dl_a - \beta (\hat P - P) V^*))$ with $R = (I -
    \beta P)^{-1}$. It is the sum, weighted by $d$, of the Cramer-Rao bounds of $Q^*(s, a)$ in the
    saturated model. Given that every pair occurs, (F), the mean of $N |\hat Q - Q^*|^2$ tends to
    $v$. The constant of identification times the excess risk is at least $v$.

    Where: corrected.md, 6; without (F) there is no minimiser, and at no $N$ a mean over all
    samples.

    Assumes: $N$ observations, $N w_x$ of each state $x$, choices drawn independently from $\pi^*$,
    which is positive, and the anchor's moves from $P$.

    Decided: the $\delta$ method on the error identity; frequencies are the maximum likelihood. Two
    actions. $v$ is compared with the bound by complex steps through the minimiser. Where the
    anchor's moves are certain, it is also compared with $N$ times the exact expectation given (F)
    over binomial counts. The two differ by terms of relative order $1 / (N w_x \pi(x, a))$.
    """
    formula, bound, exact = _squares(design)
    identified = _by_identification(design)
    results = [at_least(identified, formula, 1e-8 * bound, "solves with R up to 100")]
    if by_identification:
        formula = identified
    results.append(equal(formula, bound, 1e-8 * bound, "complex steps and solves, R up to 100"))
    if not np.isnan(exact):
        rarest = float(design.rows * design.joint.min())
        why = "the next term of the expansion, of order 1 / rarest"
        results.append(at_most(abs(exact / formula - 1), 5 / rarest, 0.0, why))
    return weakest(*results)
