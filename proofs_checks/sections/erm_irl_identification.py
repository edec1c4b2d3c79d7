"""Section 4.1, Identification via expected risk minimisation: Theorem mainopt, and cloning."""

from collections import namedtuple
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax

from gladius.model.mdp import TabularMDP, action_values
from gladius.model.risk import sampled_risk, value
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
    absorbing,
    full_samples,
    leaving_zero,
    one_state,
    tables,
    tabular_mdps,
)
from proofs_checks.claims.under_check import (
    WHY,
    observed,
    population_risk,
    rounding,
    sample_risk,
    zero,
)
from proofs_checks.oracle import ccp, gumbel, polyak
from proofs_checks.oracle import soft_bellman as oracle
from proofs_checks.oracle.risk import Sample
from proofs_checks.sections import equivalence
from proofs_checks.sections.setup import Track

Excess = namedtuple("Excess", "weight floor reached log_ratio distance residual terms")


def excess_over(mdp: TabularMDP, q: Array) -> Excess:
    """How Q differs from Q* in the likelihood and at the anchor, action 0 in every state.

    weight: (S,) the expert's occupancy, summed period by period; floor: (S,) no more than that, the
    chance of the likeliest path, discounted; reached: (S,) S-bar; log_ratio: (S, A) log p-hat_Q -
    log pi*; distance: (S,) sum of |p-hat_Q - pi*|; residual: (S,) TQ - Q at the anchor; parts: (S,)
    what a state adds to the risk above its value at Q*, per unit of weight.
    """
    choices, log_policy = mdp.solution.policy, log_softmax(mdp.solution.q, axis=1)
    world = (mdp.transition, mdp.discount, mdp.initial)
    log_ratio = log_softmax(q, axis=1) - log_policy
    residual = (oracle.backup(q, mdp.reward, mdp.transition, mdp.discount) - q)[:, 0]
    divergence = -np.sum(choices * log_ratio, axis=1)  # KL(pi* || p-hat_Q)
    return Excess(
        weight=oracle.visits(choices, *world),
        floor=np.exp(oracle.log_likeliest(log_policy, *world)),
        reached=oracle.reachable(mdp.initial, mdp.transition),
        log_ratio=log_ratio,
        distance=np.sum(np.abs(softmax(q, axis=1) - choices), axis=1),
        residual=residual,
        terms=divergence + choices[:, 0] * residual**2,
    )


class Candidate(namedtuple("Candidate", "mdp change level intervals", defaults=[()]), Track):
    """A world, a change (S, A) of Q* and a common change (S,) of all actions' values in a state."""

    def shifted_on(self, inside: NDArray[np.bool_]) -> Array:
        """Q* + level on the states `inside`, and anything elsewhere."""
        best: Array = self.mdp.solution.q
        return np.asarray(best + np.where(inside[:, None], self.level[:, None], self.change))


@st.composite
def partly_solved(draw: st.DrawFn, mdp: TabularMDP, q: Array) -> Array:
    """`q`, or what solves the CCP and anchor equations in some states and is `q` in the others."""
    region = draw(st.sampled_from(["none", "first states", "any"]))
    if region == "none":
        return q
    inside = mdp.initial > 0 if region == "first states" else draw(arrays(np.bool_, len(q)))
    return ccp.extended(observed(mdp, np.zeros(len(q), dtype=np.int64)), q, inside)


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    """Changes that include constants, which are the hardest to see, and none at all.

    Where the equations are solved in the first states alone, only later ones tell Q from Q*.
    """
    mdp = draw(tabular_mdps(4, 3))
    change = draw(tables(mdp.reward.shape))
    best = mdp.solution.q
    change = draw(partly_solved(mdp, best + change)) - best
    return Candidate(mdp, change, draw(tables(len(change))))


def off_track() -> Candidate:
    """Two absorbing states of which the second is never reached, and a Q that is wrong there."""
    mdp = replace(absorbing(np.zeros((2, 2))), initial=np.array([1.0, 0.0]))
    return Candidate(mdp, np.array([[0.0, 0.0], [0.0, 2.0]]), np.ones(2))


def _as_far_as_can_be() -> Candidate:
    """One state: no anchor residual, log p-hat - log pi* = (-1, 1), and so Q - Q* = 2 + (-1, 1)."""
    first = np.expm1(1) / (2 * np.sinh(1))  # pi*(0): exp(-1) pi*(0) + exp(1) pi*(1) = 1
    mdp = absorbing([[float(np.log(first)), float(np.log1p(-first))]])  # V* = 0
    return Candidate(mdp, np.array([[1.0, 3.0]]), np.zeros(1))


@claim.holds(
    "thm:mainopt",
    instances=candidates(),
    adversary=_as_far_as_can_be,
    broken="Q* claimed off S-bar as well",
    rejected={"everywhere": True},
    rejected_at=off_track,
)
def expected_risk_identifies(candidate: Candidate, everywhere: bool = False) -> CheckResult:
    r"""The minimiser of the expected risk $E[-\log \hat p_Q(a \mid s) + \mathbf{1}\{a = a_s\} (TQ -
    Q)(s, a)^2]$ is $Q^*$ on $\bar S \times A$, and $r = Q - \beta E[V_Q(s')]$ there.

    Where: Section 4, Theorem mainopt.

    Assumes: Assumptions IRLoptimaldecision and anchor, $Q$ bounded; $S$ any state space; here
    finite and the anchor action 0 (relabel the actions state by state).

    Decided: the risk exceeds its value at $Q^*$ by $E[\mathrm{KL}(\pi^* \| \hat p_Q) + \pi^*(a_s
    \mid s) \Psi^2]$, with $\Psi$ the anchor's residual. This is zero only if $\Psi$ and $D =
    \max|\log \hat p_Q - \log \pi^*|$ vanish $d^*$-almost everywhere. The bound $|Q - Q^*| \leq
    (|\Psi| + D)/(1 - \beta) + D$ holds $d^*$-almost everywhere, since $V_Q - V^*$ solves $v = \beta
    P_a v - \Psi - \log(\hat p/\pi^*)$. The states of $\bar S$ are the atoms of $d^*$, so $S$ need
    not be countable, though the proof's steps (MagnacThesmar, minMLE) need it. Measured: both, the
    risk by the library; $\bar S$ is what $d^*$ charges, each $s$ at least with its likeliest path.
    $r$ follows.
    """
    mdp, best = candidate.mdp, candidate.mdp.solution.q
    other = best + candidate.change
    tolerance = rounding(mdp, other)
    excess = excess_over(mdp, other)
    gain = float((population_risk(mdp, other).total() - population_risk(mdp, best).total())[0])
    inside = excess.reached
    ratio = float(np.max(np.abs(excess.log_ratio[inside])))
    residual = float(np.max(np.abs(excess.residual[inside])))
    claimed = np.ones_like(inside) if everywhere else inside
    furthest = np.max(np.abs(candidate.change[claimed]))
    bound = (residual + ratio) / (1 - mdp.discount) + ratio
    squared = float(np.max(np.abs(other)) + np.max(np.abs(mdp.reward)) + 1) ** 2
    apart = tolerance + 1e-13 * squared
    why = WHY + "; squares of residuals, which come as a difference of squares"
    return weakest(
        equal(gain, excess.weight @ excess.terms, apart, why),
        at_least(gain, np.max(excess.floor * excess.terms), apart, why),
        at_most(furthest, bound, tolerance / (1 - mdp.discount), WHY),
    )


# --- cloning
def exponential_choice(q: Array) -> CheckResult:
    r"""$\hat p_Q(a \mid s) = \exp(Q(s, a)) / \sum_{a'} \exp(Q(s, a'))$.

    Decided: $-\log \hat p$ is what the library's empirical risk takes as the negative
    log-likelihood of one row; compared, for every action, with -log of the probability that $Q(s,
    a)$ plus Gumbel noise is largest, by quadrature. The $\hat p$ of Section 6 has exp.
    """
    row, zeros, done = q[None], np.zeros(1), np.zeros(1, dtype=bool)
    given = 0, zeros, 0.5, zeros
    nll = [sampled_risk(row, row, np.array([a]), done, *given).nll for a in range(len(q))]
    return equivalence.chosen(-np.array(nll, dtype=float), q, equivalence.quadrature_error(q))


@claim.misprint(
    "eq:BC.p-hat",
    instances=equivalence.LOCATIONS,
    counterexample=lambda: np.array([1.0, -2.0]),
    text=(
        r"One state, $Q(s, \cdot) = (1, -2)$: the printed $\hat p$ is $(1/(-1), -2/(-1)) = (-1, "
        r"2)$, and $\log(-1)$ in Equation BC is undefined.",
        "With exp: $e/(e + e^{{-2}}) = "
        f"{expit(3):.4f}"
        "$ and "
        f"{expit(-3):.4f}"
        ". (Shown: {observed:.0f}, not {bound:.4f}.)",
        r"For $Q(s, \cdot) = (1, -1)$ the printed ratio divides by zero.",
    ),
    corrected=exponential_choice,
    broken="the largest Q subtracted against overflow in the numerator only",
    rejected=lambda q: _claimed(q, np.exp(q - np.max(q) - value(q))),
)
def ratio_of_q(q: Array) -> CheckResult:
    r"""$\hat p_Q(a \mid s) = Q(s, a) / \sum_{a'} Q(s, a')$.

    Where: Section 4, the line under Equation BC.

    Assumes: $Q$ is a bounded function on $S \times A$.

    Decided: $\hat p$ is a distribution of actions whose negative log-likelihood Equation BC
    minimises. Under it Lemma minMLE recovers differences of $Q$. The ratio has neither property.
    Read as a slip for the definition in Section 6, it is a misprint.
    """
    return _claimed(q, q / q.sum(axis=-1, keepdims=True))


def _claimed(q: Array, probability: Array) -> CheckResult:
    return equal(probability, np.exp(gumbel.largest(q)[0]), 1e-12, equivalence.QUADRATURE)


@claim.holds(
    "rem:BC-superset",
    instances=candidates(),
    broken="the bound without discounting: |c| for (1 - beta)|c|",
    rejected={"factor": 1.0},
    rejected_at=off_track,
)
def cloning_has_more_solutions(candidate: Candidate, factor: float | None = None) -> CheckResult:
    r"""The solution set of behavioural cloning contains that of the IRL/DDC problem, strictly.

    Where: Section 4, remark "Comparison with imitation learning".

    Assumes: as in Theorem mainopt; $\hat p_Q$ the softmax (the display there prints a ratio of
    $Q$).

    Decided: cloning is one of the two conditions. It also admits $Q^* + c(s)$ for any bounded $c$,
    whose anchor Bellman error $\beta E[c(s')] - c(s)$ is at least $(1 - \beta) \max|c|$ somewhere
    on $\bar S$. Measured: likelihood and Bellman error by the library at $Q^* + c$; equality where
    $c$ is constant.
    """
    mdp, q = candidate.mdp, candidate.shifted_on(candidate.reached)
    tolerance = rounding(mdp, q)
    inside = candidate.reached
    excess = population_risk(mdp, q).nll - population_risk(mdp, mdp.solution.q).nll
    error = action_values(mdp.reward, mdp.transition, mdp.discount, value(q)) - q
    strength = 1 - mdp.discount if factor is None else factor
    bound = strength * float(np.max(np.abs(candidate.level[inside])))
    return weakest(
        zero(excess, tolerance),
        at_least(np.max(np.abs(error[inside, 0])), bound, tolerance, WHY),
    )


def cloning_is_no_harder(pair: tuple[Sample, Array, Array], bellman: int = 0) -> CheckResult:
    """Imitation is no harder. Where every action was taken in every state seen, the minimisers of
    the empirical risk have exactly the choice probabilities of cloning, the observed shares. What
    is easier is the computation: the negative log-likelihood is convex in $Q$, and the Bellman term
    is not.

    Decided: both terms can be least at once (closed form), so the IRL minimiser minimises the
    likelihood. Measured: its shares and its likelihood by the library; the midpoint inequality of
    the likelihood at drawn $Q$. (The control asks it of the Bellman term too.)
    """
    sample, first, second = pair
    q = polyak.solution(sample)
    risk = sample_risk(sample, np.stack([first, second, (first + second) / 2, q]))
    term = risk.nll + bellman * risk.bellman
    size = (
        1e-11 * (1 + np.abs(np.stack([first, second, q])).max() + np.abs(sample.reward).max()) ** 2
    )
    why = "rounding in sums of squares; levels solved with condition 2/(1 - beta)"
    tolerance = size / (1 - sample.discount)
    return weakest(
        equal(softmax(q, axis=1), sample.choices, tolerance, why),
        equal(risk.nll[3], sample.entropy(), tolerance, why),
        at_most(term[2], (term[0] + term[1]) / 2, size, why),
    )


@claim.holds_if(
    "rem:BC-superset.easier",
    condition="the paper gives no statistical comparison, and with every action seen both"
    " estimators return the same policy: 'easier' means 'no harder' at most",
    instances=full_samples(3, 2).flatmap(
        lambda sample: st.tuples(st.just(sample), *[tables(sample.visits.shape)] * 2)
    ),
    counterexample=lambda: (
        one_state([1, 1], -10.0, 0.9),
        np.array([[0.0, 3.0]]),
        np.array([[0.0, -3.0]]),
    ),
    text=(
        "One state, two actions, each taken once: cloning gives (1/2, 1/2). ERM-IRL's minimiser "
        "has",
        "the same shares, as $V$ is free to solve the anchor's Bellman equation.",
        "Both estimators return the same policy.",
    ),
    corrected=cloning_is_no_harder,
    broken="the Bellman term called convex too",
    rejected={"bellman": 1},
)
def cloning_is_strictly_easier(pair: tuple[Sample, Array, Array]) -> CheckResult:
    """Imitation is strictly easier than IRL/DDC statistically: cloning's policy is estimated with
    "significantly lower ... statistical complexity" than the policy of the IRL estimate.

    Where: Section 4, remark "Comparison with imitation learning"; Sections 1 and 8, "a strictly
    easier problem".

    Assumes: tables; every action taken in every state seen; the error is that of the policy.

    Decided: there the two estimators have one and the same policy, so that neither is easier for
    imitation. IRL asks for more (the reward), and its solution set is strictly smaller too; that is
    no statement on the error of the policy.
    """
    sample = pair[0]
    gap = np.abs(softmax(polyak.solution(sample), axis=1) - sample.choices).max()
    return at_least(gap, 1e-6, 0.0, "anything above rounding would do")


# --- which Q have no anchor Bellman error
def _solved_on(candidate: Candidate, inside: NDArray[np.bool_], weight: Array) -> list[CheckResult]:
    """A Q without anchor residual on `inside`: its expected error is the least, zero."""
    mdp = candidate.mdp
    star, seen = mdp.solution, observed(mdp, np.zeros(len(inside), dtype=np.int64))
    q = ccp.extended(seen, star.q + candidate.change, inside)
    error = weight @ excess_over(mdp, q).residual ** 2
    size = 1 + float(np.abs(q).max() + np.abs(star.q).max())
    return [equal(error, 0.0, 1e-20 * size**2 / (1 - mdp.discount) ** 2, WHY + "; squared")]


def no_error_almost_everywhere(candidate: Candidate, floor_for: float = 1.0) -> CheckResult:
    r"""$\{Q: L_{\mathrm{BE}}(Q)(s, a_s) = 0 \text{ for } d^*\text{-almost every } s\} =
    \mathrm{argmin}$ of $E[\mathbf{1}\{a = a_s\} L_{\mathrm{BE}}(Q)(s, a)]$, $d^*$ the expert's
    state distribution; on a countable $S$ this is the printed set.

    Decided: the expectation is $\sum_s d^*(s) \pi^*(a_s \mid s) \Psi(s)^2$, with positive weights
    where $d^*$ has mass. Measured: at a $Q$ solved there the expected error is zero; at a drawn $Q$
    it is at least each state's part, at the weight of the likeliest path.
    """
    mdp, q = candidate.mdp, candidate.mdp.solution.q + candidate.change
    excess, choices = excess_over(mdp, q), mdp.solution.policy[:, 0]
    error = float(population_risk(mdp, q).bellman[0])
    term = float(np.max(excess.floor * choices * excess.residual**2)) * floor_for
    size = 1e-13 * (1 + float(np.abs(q).max() + np.abs(mdp.reward).max())) ** 2
    zeros = _solved_on(candidate, candidate.reached, excess.weight * choices)
    return weakest(*zeros, at_least(error, term, size + rounding(mdp, q), WHY))


def _free_off_zero() -> Candidate:
    mdp = leaving_zero(actions=2)
    candidate = Candidate(mdp, np.array([[0.0, 0.0], [1.0, 1.0]]), np.zeros(2), intervals=(1,))
    assumed(np.all(candidate.points == [True, False]), "S-bar = {0}")
    return candidate


@claim.holds_if(
    "sec:ERM.anchor-argmin",
    condition=r"$S$ is countable, or '$d^*$-almost everywhere' stands for 'on $\bar S$'",
    instances=candidates(),
    counterexample=_free_off_zero,
    text=(
        r"$S = [0, 1]$, two actions, $r = 0$, $\beta = 1/2$; $s_0 = 0$, then $s'$ uniform on "
        r"$(0, 1]$: $\bar S = \{{0\}}$.",
        "Raise $Q^*$ by 1 off 0 and solve the anchor's equation at 0. The Bellman error is 0 on "
        r"$\bar S$, and -1/2 off it.",
        "Half of the (discounted) data are off it: the expectation is {observed:.4f}, the least "
        "one {bound:g}.",
    ),
    corrected=no_error_almost_everywhere,
    broken="each state's part counted twice",
    rejected={"floor_for": 2.0},
    rejected_at=lambda: Candidate(absorbing([[0.0]], 0.1), np.ones((1, 1)), np.zeros(1)),
)
def no_error_on_s_bar(candidate: Candidate) -> CheckResult:
    r"""$\{Q: L_{\mathrm{BE}}(Q)(s, a_s) = 0 \text{ for all } s \in \bar S\} = \mathrm{argmin}_Q
    E[\mathbf{1}\{a = a_s\} L_{\mathrm{BE}}(Q)(s, a)]$.

    Where: Section 4, the second display after the definition of $\bar S$.

    Assumes: $(s, a)$ from the expert's occupancy, $Q$ bounded, $S$ any state space, $\bar S$ the
    states $s$ with $\mathrm{Pr}(s_h = s) > 0$ for some $h$.

    Decided: the right-hand side sees all of $d^*$, the left-hand side its atoms
    (setup.reachable-set).
    """
    weight = excess_over(candidate.mdp, candidate.mdp.solution.q).weight
    share = weight * candidate.mdp.solution.policy[:, 0]
    return _solved_on(candidate, candidate.points, share)[0]
