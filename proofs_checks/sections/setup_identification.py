"""Section 3.4, Identification: what CCPs, transitions and an anchor say of Q* and r."""

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from gladius.model.mdp import TabularMDP, soft_bellman
from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims import instances
from proofs_checks.claims.claims import CheckResult, assumed, claim, equal, weakest
from proofs_checks.claims.under_check import WHY, observed, rounding, zero
from proofs_checks.oracle import ccp
from proofs_checks.oracle import soft_bellman as oracle
from proofs_checks.sections.setup import Track

Actions = NDArray[np.int64]


class Anchored(namedtuple("Anchored", "mdp anchor table intervals", defaults=[()]), Track):
    """A world, the anchor action a_s of each state, and a table (S, A) whose use the check says."""

    @property
    def here(self) -> tuple[Actions, Actions]:
        """Index of the anchor's entries of a table."""
        return np.arange(len(self.anchor)), self.anchor

    @property
    def observed(self) -> ccp.Observed:
        """What identification may use."""
        return observed(self.mdp, self.anchor)


@st.composite
def anchored(
    draw: st.DrawFn, values: st.SearchStrategy[float] = instances.VALUES, discount: float = 0.999
) -> Anchored:
    """Anchors that differ between states, unreached states, choices certain to the last digit."""
    betas = st.sampled_from([0.5, 0.9, discount]) | st.floats(0.01, discount)
    mdp = draw(instances.tabular_mdps(4, 3, discounts=betas))
    states, actions = mdp.reward.shape
    anchor = draw(instances.anchors(states, actions))
    return Anchored(mdp, anchor, draw(instances.tables((states, actions), values)))


def _two_anchors() -> Anchored:
    """Two states that follow each other, with different anchors and unequal choices."""
    swap = np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]]])
    mdp = TabularMDP(np.array([[1.0, 0.0], [0.0, 2.0]]), swap, 0.5, np.array([1.0, 0.0]))
    return Anchored(mdp, np.array([0, 1]), np.array([[3.0, -1.0], [0.0, 1.0]]))


# --- any anchor will do
@claim.holds(
    "asmp:anchor.invariance",
    instances=anchored(instances.REWARDS, discount=0.99),
    broken="the anchor's reward replaced and the other rewards unchanged",
    rejected={"others_unchanged": True},
    rejected_at=_two_anchors,
)
def any_anchor_rationalises(problem: Anchored, others_unchanged: bool = False) -> CheckResult:
    r"""Whatever the anchor actions $a_s$ and whatever (bounded) rewards they are given, some $r$
    with those values has $\pi^*$ as its optimal policy.

    Where: Section 3, after Assumption anchor: "the optimal policy remains the same irrespective of
    the choice of the anchor action $a_s$ and the reward value".

    Assumes: $\pi^*$ is optimal for some bounded reward, $P$ and $\beta$ known.

    Decided: $V = (I - \beta P_a)^{-1} (r(\cdot, a_s) - \log \pi^*(a_s \mid \cdot))$, $Q = V + \log
    \pi^*$, $r = Q - \beta P V$ has $\log \sum \exp Q = V$, hence $Q$ solves its Bellman equation.
    Measured: the library's policy at that $r$, and $r$ at the anchors. Read as "changing $r(s,
    a_s)$ alone leaves $\pi^*$", the statement is wrong.
    """
    mdp, given = problem.mdp, problem.table[problem.here]
    reward = ccp.solve(problem.observed._replace(given=given))[1]
    if others_unchanged:
        reward = mdp.reward.copy()
        reward[problem.here] = given
    new, old = soft_bellman(reward, mdp.transition, mdp.discount), mdp.solution
    choices = (new.q - new.v[:, None]) - (old.q - old.v[:, None])
    gaps = (choices, reward[problem.here] - given)
    return weakest(*(zero(gap, rounding(mdp, new.q)) for gap in gaps))


# --- Lemma MagnacThesmar
def _unique(problem: Anchored, seen: ccp.Observed, inside: NDArray[np.bool_]) -> CheckResult:
    """Q and r on `inside` from the equations there, at the solution nearest to a drawn table."""
    mdp = problem.mdp
    q = ccp.nearest(problem.table, *ccp.system(seen, inside=inside))
    r = q - mdp.discount * np.einsum("aij,j->ia", mdp.transition, np.logaddexp.reduce(q, axis=1))
    tolerance, reason = 10 * rounding(mdp, problem.table), WHY + "; least squares, ten times that"
    gaps = (q - mdp.solution.q, r - mdp.reward)
    return weakest(*(zero(inside[:, None] * gap, tolerance, reason) for gap in gaps))


def identified_almost_everywhere(problem: Anchored, anchored_moves: bool = True) -> CheckResult:
    r"""Let $Q$ and $Q^*$ be bounded, and $d^*$ the expert's discounted state distribution. Suppose
    that $\hat p_Q(\cdot \mid s) = \pi^*(\cdot \mid s)$ and that $Q$ solves the anchor's Bellman
    equation, for $d^*$-almost every $s$. Then $Q(s, \cdot) = Q^*(s, \cdot)$ and $r(s, \cdot) =
    Q^*(s, \cdot) - \beta E[V_{Q^*}(s') \mid s, \cdot]$ for $d^*$-almost every $s$. Where $S$ is
    countable, this is so for all $s$ in $\bar S$.

    Decided: $\pi^* > 0$, so for $d^*$-almost every $s$ no action leaves a set that carries $d^*$,
    and the system closes; $V(s) = Q(s, a_s) - \log \pi^*(a_s \mid s)$ turns it into the affine $f =
    T_f f$, a contraction. Without "bounded" it fails on infinite $S$: on $s \to s + 1$, $Q^* +
    \beta^{-s}$ is a second solution. Measured: the library leads from $r$ to $Q^*$ and $\pi^*$;
    back to $Q$ and $r$ lead sums over periods of what is observed where $d^*$ has mass, and the
    solution there, of all that the linear system has, nearest to a drawn table: the same for every
    table only if there is one.
    """
    mdp, seen, inside = problem.mdp, problem.observed, problem.reached
    if not anchored_moves:
        first = np.broadcast_to(seen.transition[0], seen.transition.shape)
        seen = seen._replace(transition=first)
    q, r = ccp.solve(seen.restricted(inside))
    gaps = (q - mdp.solution.q[inside], r - mdp.reward[inside])
    sums = [zero(gap, rounding(mdp)) for gap in gaps]
    return weakest(*sums, _unique(problem, seen, inside))


def _uniform_after_zero() -> Anchored:
    mdp = instances.leaving_zero(actions=1)
    problem = Anchored(mdp, np.zeros(2, dtype=np.int64), np.array([[1.0], [2.0]]), intervals=(1,))
    assumed(np.all(problem.points == [True, False]), "S-bar = {0}")
    assumed(np.all(np.isfinite(problem.table)), "Q bounded")
    matrix, right = ccp.system(problem.observed, inside=problem.points)
    solves = np.array_equal(matrix @ problem.table.ravel(), right)
    assumed(solves, "Q solves the printed system for all s in S-bar")
    return problem


@claim.holds_if(
    "thm:MagnacThesmar",
    condition=r"$S$ is countable, or the equations hold $d^*$-almost everywhere, not on $\bar S$ "
    "alone",
    instances=anchored(),
    counterexample=_uniform_after_zero,
    text=(
        r"$S = [0, 1]$, one action, $r = 0$, $\beta = 1/2$; $s_0 = 0$, then $s'$ uniform on $(0, "
        r"1]$: $\bar S = \{{0\}}$, $Q^* = 0$.",
        r"On $\bar S$ the system is $Q(0) = E[Q(s')]/2$ (the CCP is 1). $Q(0) = 1$ and $Q = 2$ "
        "off 0 solve it:",
        "$Q(0) = {observed:g}$ is not $Q^*(0) = {bound:g}$.",
    ),
    corrected=identified_almost_everywhere,
    broken="the moves of action 0 in every state, not those of the anchor action",
    rejected={"anchored_moves": False},
    rejected_at=_two_anchors,
)
def magnac_thesmar(problem: Anchored) -> CheckResult:
    r"""The CCPs and the anchors' Bellman equations on $\bar S$ determine $Q^*$ on $\bar S \times
    A$, and $r = Q^* - \beta E[V_{Q^*}(s')]$ there.

    Where: Section 3, Lemma MagnacThesmar.

    Assumes: $\pi^*$ optimal, $r(s, a_s)$ known, $P$ and $\beta$ known, $Q$ bounded (the set $Q$ of
    Section 3). $S$ is any state space, and $\bar S$ the states $s$ with $\mathrm{Pr}(s_h = s) > 0$
    for some $h$ (Section 3).

    Decided: where the distribution of $s'$ is not purely atomic, it has mass off $\bar S$. There
    the printed system leaves $Q$ free, and $E[V_Q(s')]$ with it. The proof writes the system "for
    all $s$ in $S$", with which the lemma holds; on a countable $S$ it holds as printed (see
    setup.reachable-set). Measured: the solution, of those with the CCPs everywhere, nearest to the
    instance's table.
    """
    return _unique(problem, problem.observed, problem.points)


# --- counterfactuals from relabelled data
# The expert's world, an intervention Delta (S, A) on the reward, an offline method's first guess
# (S, A), which stays where there are no data, and alpha of conservative Q-learning, 0 without it.
Relabelled = namedtuple("Relabelled", "mdp intervention start conservatism")


@st.composite
def relabelled(draw: st.DrawFn) -> Relabelled:
    """Without a penalty; with states the expert never reaches."""
    mdp = draw(instances.tabular_mdps(4, 3, st.sampled_from([0.5, 0.8, 0.9]), instances.MILD))
    intervention = draw(instances.tables(mdp.reward.shape, instances.MILD))
    start = draw(instances.tables(mdp.reward.shape))
    return Relabelled(mdp, intervention, start, conservatism=0.0)


def _counterfactual(experiment: Relabelled, conservatism: float) -> tuple[Array, Array, float]:
    """The policy an offline method learns and the true one, both (S-bar, A), and a tolerance.

    Infinitely many rows, as shares: s in S-bar, a from pi*, s' from P(. | s, a).
    """
    mdp = experiment.mdp
    inside = oracle.reachable(mdp.initial, mdp.transition)
    joint = mdp.solution.policy[:, :, None] * np.swapaxes(mdp.transition, 0, 1)
    s, a, after = np.nonzero((joint > 0) & inside[:, None, None])
    rows = (s, a, after, joint[s, a, after])
    seen = observed(mdp, np.zeros(len(inside), dtype=np.int64))
    recovered = np.zeros_like(mdp.reward)
    recovered[inside] = ccp.solve(seen.restricted(inside))[1]
    label = (recovered + experiment.intervention)[s, a]
    q = oracle.offline(experiment.start, rows, label, mdp.discount, conservatism)
    truth = soft_bellman(mdp.reward + experiment.intervention, mdp.transition, mdp.discount)
    learned = np.exp(q - value(q)[:, None])
    remainder = 2 * mdp.discount**400 * float(np.max(np.abs(experiment.start)))
    return learned[inside], truth.policy[inside], rounding(mdp, truth.q) + remainder


WHY_LEARNED = WHY + "; 400 sweeps leave beta^400 of the first distance"


def consistent_offline_learning(experiment: Relabelled, conservatism: float = 0.0) -> CheckResult:
    r"""Use entropy-regularised Q-learning on the relabelled data, without a conservatism penalty.
    It yields the counterfactual optimal policy on $\bar S$, without an estimate of $P$, as the
    observations of each $(s, a)$ in $\bar S \times A$ become many. All pairs of $\bar S \times A$
    have positive probability, since $\pi^* > 0$.

    Decided: no action leaves $\bar S$, so the fixed point of the logged backups is that of the soft
    Bellman equation there. Measured: fitted iteration on rows $(s, a, \hat r + \Delta, s')$ of
    $\bar S$, $\hat r$ recovered from the same rows, against the library's solution of the changed
    world.
    """
    learned, truth, tolerance = _counterfactual(experiment, conservatism)
    return zero(learned - truth, tolerance, WHY_LEARNED)


def _coupon() -> Relabelled:
    mdp = instances.absorbing([[0.0, 0.0]])
    assumed(np.all(mdp.solution.policy > 0), "every action has mass on S-bar")
    change = np.array([[1 + np.log(3.0), 0.0]])
    return Relabelled(mdp, change, np.zeros((1, 2)), conservatism=1.0)


@claim.holds_if(
    "rem:counterfactual-without-P",
    condition="the method's fixed point solves the soft Bellman equation (no fixed conservatism "
    r"penalty, entropy-regularised backups) and every pair of $\bar S \times A$ has "
    "many observations",
    instances=relabelled(),
    cost=4,
    counterexample=_coupon,
    text=(
        r"One state, $r = 0$, $\pi^* = (1/2, 1/2)$, $\beta = 1/2$, $\Delta = (1 + \log 3, 0)$: "
        "the new policy takes action 0 with odds $3e : 1$, share {bound:.4f}.",
        r"CQL, $\alpha = 1$, infinite data: its log-odds $x$ solve $x = 1 + \log 3 - 2 (2 p(x) - "
        "1)$ with $p(x) = 1/(1 + e^{{-x}})$,",
        r"so $x = \log 3$, $p(x) = 3/4$: share {observed:.4f}.",
    ),
    corrected=consistent_offline_learning,
    broken="CQL's penalty fixed at alpha = 0.01",
    rejected={"conservatism": 0.01},
)
def any_offline_method(experiment: Relabelled) -> CheckResult:
    r"""On data relabelled with $\hat r + \Delta$, "any standard modern offline-RL algorithm (e.g.,
    Conservative Q-Learning) can be applied ... to obtain the counterfactual optimal policy without
    requiring an explicit estimate of the transition function $P$".

    Where: Section 3, remark "Counterfactual policy optimization without estimating $P$".

    Assumes: $\hat r = r$, infinitely many observations, every action with mass on $\bar S$, $P$
    unchanged. CQL is entropy-regularised, which is closest to the model. The greedy form is further
    off.

    Decided: CQL's stationary point is $Q = TQ - \alpha (\pi_Q/\pi_{\text{data}} - 1)$; averaged
    over $\pi_{\text{data}}$ it shows that for no $\alpha > 0$ is $\pi_Q$ the counterfactual policy,
    unless that is $\pi_{\text{data}}$ itself. That $P$ need not be estimated is right. With finite
    data the answer is that of the empirical kernel, and pairs without an observation are left to
    chance.
    """
    learned, truth, tolerance = _counterfactual(experiment, experiment.conservatism)
    return equal(learned, truth, tolerance, WHY_LEARNED)
