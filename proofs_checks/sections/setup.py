"""Section 3, Problem set-up: both agents, their equivalence, the states reached, the TD error."""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import logsumexp

from gladius.model.mdp import TabularMDP, action_values
from gladius.model.risk import value
from gladius.validate import Array
from proofs_checks.claims import instances
from proofs_checks.claims.claims import CheckResult, at_most, claim, equal, weakest
from proofs_checks.claims.under_check import WHY, rounding, zero
from proofs_checks.oracle import soft_bellman as oracle

Rival = tuple[TabularMDP, Array]  # a world and another policy (S, A)


@st.composite
def rivals(draw: st.DrawFn) -> Rival:
    """Policies anywhere, pure ones included, or within 1e-3 of the best."""
    mdp = draw(instances.tabular_mdps(4, 3))
    share = draw(st.sampled_from([1.0, 1e-3]))
    other = draw(instances.distributions(mdp.reward.shape))
    return mdp, share * other + (1 - share) * mdp.solution.policy


@claim.holds(
    "setup.softmax-policy",
    instances=rivals(),
    broken="the return of pi* counted without its entropy",
    rejected={"entropy": 0.0},
    rejected_at=lambda: (instances.absorbing([[1.0, 0.0]]), np.array([[0.5, 0.5]])),
)
def softmax_policy(rival: Rival, entropy: float = 1.0) -> CheckResult:
    r"""$V^*(s) = \log \sum_a \exp Q^*(s, a)$ and $\pi^*(a \mid s) = \exp(Q^*(s, a) - V^*(s))$ solve
    the entropy-regularised problem $(\lambda = 1)$.

    Where: Section 3, set-up of MaxEnt-IRL, "Further, we can show that".

    Assumes: finitely many actions, $\beta$ in (0, 1); here finitely many states.

    Decided: $V^* - V^\pi = E_\pi \sum_h \beta^h \mathrm{KL}(\pi \| \pi^*)$ for every stationary
    $\pi$: sum the definition of $Q^*$ along the path. So no policy is better from any state, and
    from $\nu_0$ the maximiser is unique on the states it reaches. Off them any policy is a
    maximiser, and the paper means $\pi^*$. Measured: returns of $\pi^*$ and of drawn policies,
    summed period by period, against the library.
    """
    mdp, policy = rival
    star, world = mdp.solution, (mdp.transition, mdp.discount)
    best = oracle.policy_value(star.policy, mdp.reward, *world, entropy)
    other = oracle.policy_value(policy, mdp.reward, *world)
    loss = oracle.shortfall(policy, star.q - star.v[:, None], *world)
    tolerance = rounding(mdp, loss)
    gain = at_most(np.max(other - star.v), 0.0, tolerance, WHY)
    return weakest(zero(best - star.v, tolerance), gain, zero(star.v - other - loss, tolerance))


def _swapped(q: Array, reward: Array, transition: Array, discount: float) -> Array:
    """The Bellman operator with log sum exp outside the expectation."""
    mean = np.einsum("aij,jb->iab", transition, q)
    return np.asarray(reward + discount * logsumexp(mean, axis=2))


@claim.holds(
    "eq:QBellman",
    instances=instances.fitted(),
    cost=3,
    broken="log sum exp taken of the expected Q(s', .)",
    rejected={"operator": _swapped},
    rejected_at=lambda: instances.Fitted(
        instances.uniform([[0.0, 1.0], [1.0, 0.0]], 0.5, [1, 0]), np.zeros((2, 2))
    ),
)
def soft_bellman_equation(
    guess: instances.Fitted, operator: Callable[[Array, Array, Array, float], Array] = oracle.backup
) -> CheckResult:
    r"""$Q^*(s, a) = r(s, a) + \beta E[\log \sum_b \exp Q^*(s', b) \mid s, a]$, and $Q^*$ is its
    only bounded solution.

    Where: Section 3, Equation (QBellman), and "$Q^*$ is the unique solution to $TQ - Q = 0$".

    Assumes: $\beta$ in (0, 1), $Q$ and $r$ bounded; here finitely many states. Without a bound on
    $r$ no bounded solution need exist (the paper takes $Q^*$ in $Q$ from Rust; see
    setup.Q-star-bounded).

    Decided: $T$ is a $\beta$-contraction in sup norm. Measured: the library's $Q^*$ (Newton's
    method) is a fixed point of $T$ written anew. For $n = 1$ and 300, $T^n$ brings an arbitrary
    table to a distance from $Q^*$ of at most $\beta^n$ times its first one.
    """
    mdp, best, steps = guess.mdp, guess.mdp.solution.q, 300
    world = (mdp.reward, mdp.transition, mdp.discount)
    tolerance = rounding(mdp, guess.q)
    results = [zero(operator(best, *world) - best, tolerance)]
    q = guess.q
    for _ in range(steps):
        q = operator(q, *world)
    for n, then in ((1, operator(guess.q, *world)), (steps, q)):
        far = mdp.discount**n * float(np.max(np.abs(guess.q - best)))
        results.append(at_most(np.max(np.abs(then - best)), far, tolerance, WHY))
    return weakest(*results)


# --- the dynamic discrete choice agent
EULER = float(np.euler_gamma)


def policies_that_see_the_noise(guess: instances.Fitted, location: float = -EULER) -> CheckResult:
    r"""The maximum is over stationary policies that see $(s, \epsilon)$, maps from $S \times
    \mathbb{R}^A$ to $A$; its value is $V^*(s) = E_\epsilon \max_a \{r(s, a) + \epsilon_a + \beta
    E[V^*(s') \mid s, a]\}$.

    Decided: dynamic programming on the state $(s, \epsilon)$. For given choice shares $\pi(\cdot
    \mid s)$ no rule has $E[\epsilon_a]$ above $H(\pi(\cdot \mid s))$, which ties the maximum to the
    entropy-regularised one. Measured: the agent who takes the largest $\text{index}(s, a) +
    \epsilon_a$ earns $V^*$ (library) at index $Q^*$ and no more at a drawn index; shares and mean
    noise by quadrature, returns summed over periods.
    """
    mdp, star = guess.mdp, guess.mdp.solution
    world = (mdp.reward, mdp.transition, mdp.discount, location)
    best, _ = oracle.with_noise(star.q, *world)
    other, _ = oracle.with_noise(guess.q, *world)
    tolerance = rounding(mdp, guess.q)
    gain = at_most(np.max(other - star.v), 0.0, tolerance, WHY)
    return weakest(zero(best - star.v, tolerance), gain)


@claim.misprint(
    "setup.ddc-policy-class",
    instances=instances.fitted(max_states=3),
    counterexample=lambda: instances.Fitted(instances.absorbing([[0.0, 0.0]]), np.zeros((1, 2))),
    text=(
        r"One state, two actions, $r = 0$, $\beta = 1/2$. The displayed Bellman equation gives "
        r"$V = \log 2 + V/2 = {observed:.6f}$.",
        r"A policy $\pi(a \mid s)$ draws $a$ without seeing $\epsilon$, so $E \epsilon_a = 0$ in "
        "every period",
        "and each policy is worth {bound:g}.",
    ),
    corrected=policies_that_see_the_noise,
    broken="noise of mean gamma (delta = 0)",
    rejected={"location": 0.0},
)
def policies_blind_to_the_noise(guess: instances.Fitted) -> CheckResult:
    r"""max over $\pi$ in $\Delta_A^S$ of $E_\pi[\sum_h \beta^h (r(s_h, a_h) + \epsilon_{a_h}) \mid
    s_0 = s]$ is the $V^*(s) = E_\epsilon \max_a \{r(s, a) + \epsilon_a + \beta E[V^*(s') \mid s,
    a]\}$ of the displayed equation.

    Where: Section 3, set-up of DDC (twice), and Appendix B, Assumption optimaldecision.

    Assumes: $\epsilon_a$ independent $\mathrm{Gumbel}(-\gamma, 1)$, of mean 0; $a_h$ drawn from
    $\pi(\cdot \mid s_h)$ (Section 3).

    Decided: a policy in $\Delta_A^S$ depends on $s$ alone, so $\epsilon$ drops out in expectation.
    The maximum is then the plain optimum, found here by trying all pure policies. What is meant is
    evident: the displayed equation maximises inside $E_\epsilon$.
    """
    mdp = guess.mdp
    displayed = mdp.solution.v
    blind = oracle.best_blind(mdp.reward, mdp.transition, mdp.discount)
    return equal(displayed, blind, rounding(mdp), WHY)


# --- the equivalence
class Noisy(namedtuple("Noisy", "mdp delta scale", defaults=[1.0])):
    """A world, and the location delta and scale lambda of the DDC agent's Gumbel noise.

    lambda is also the weight of the MaxEnt agent's entropy.
    """

    @property
    def at_one(self) -> TabularMDP:
        """The world with rewards r / lambda, where lambda is one."""
        mdp: TabularMDP = self.mdp
        return replace(mdp, reward=mdp.reward / self.scale)

    @property
    def ahead(self) -> float:
        """lambda (delta + gamma)/(1 - beta), what the noise's mean is worth from now on."""
        return float(self.scale * (self.delta + EULER) / (1 - self.mdp.discount))


LOCATIONS = st.just(-EULER) | instances.quarters(12)
SCALES = st.sampled_from([1.0, 0.5, 2.0]) | st.floats(0.25, 4.0)


@claim.holds(
    "sec:DDCIRLequiv",
    instances=st.builds(Noisy, instances.tabular_mdps(3, 3), LOCATIONS, SCALES),
    broken="the shift of V, (delta + gamma)/(1 - beta), taken for that of Q",
    rejected={"exponent": 0},
    rejected_at=lambda: Noisy(instances.absorbing([[0.0, 1.0]]), 0.0),
)
def equivalence(agents: Noisy, exponent: int = 1) -> CheckResult:
    r"""At $\lambda = 1$ and $\delta = -\gamma$ the DDC agent has the MaxEnt agent's $Q^*$ and
    $\pi^*$. At another $\delta$ its $Q$ is $Q^* + \beta (\delta + \gamma)/(1 - \beta)$ and $\pi^*$
    is the same. At another $\lambda$ all of it holds for $Q^*/\lambda$ and $r/\lambda$, where the
    DDC agent's noise is $\lambda \epsilon_a$.

    Where: Section 3, "DDC -- MaxEnt-IRL equivalence", and Appendix B.

    Assumes: $\epsilon_a$ independent $\mathrm{Gumbel}(\delta, 1)$ over actions and periods, seen
    before acting; $\lambda > 0$, and "extend directly to any $\lambda$" read as $\lambda$ times the
    noise.

    Decided: $E \max_a \{Q(s, a) + \epsilon_a\} = \log \sum \exp Q + \delta + \gamma$, and the
    chosen $a$ is the softmax of $Q$; dividing either objective by $\lambda$ leaves the one at
    $\lambda = 1$. The mean of the maximum and the choices are measured by quadrature over the
    noise, at $\lambda$ times the library's $Q^*$ for $r/\lambda$. Also measured: that the MaxEnt
    agent's return with $\lambda H$ is $\lambda V^*$, and that of the uniform policy less by
    $\lambda \mathrm{KL}$.
    """
    mdp, star, scale = agents.mdp, agents.at_one.solution, agents.scale
    world = (mdp.transition, mdp.discount)
    even = np.full_like(star.policy, 1 / star.policy.shape[1])
    log_best = star.q - star.v[:, None]
    best, other = (
        oracle.policy_value(policy, mdp.reward, *world, scale) for policy in (star.policy, even)
    )
    loss = scale * oracle.shortfall(even, log_best, *world)
    q: Array = scale * star.q + mdp.discount**exponent * agents.ahead
    largest = scale * oracle.expected_largest(q / scale, agents.delta)
    following = np.stack([moves @ largest for moves in mdp.transition], axis=1)
    _, log_p = oracle.with_noise(q / scale, mdp.reward, *world, agents.delta)
    tolerance = max(1.0, scale) * rounding(agents.at_one, q / scale, loss)
    return weakest(
        zero(best - scale * star.v, tolerance),
        zero(best - other - loss, tolerance),
        zero(mdp.reward + mdp.discount * following - q, tolerance),
        zero(log_p - log_best, tolerance),
    )


# --- boundedness
Window = tuple[TabularMDP, float]  # a closed set of states, and a bound claimed for |Q*| on it


def _largest(mdp: TabularMDP, bound: float) -> CheckResult:
    return at_most(np.max(np.abs(mdp.solution.q)), bound, rounding(mdp), WHY)


def bounded_rewards_bound_q(window: Window, entropy: float = 1.0) -> CheckResult:
    r"""If $|r|$ is bounded, then $|Q^*| \leq (\sup|r| + \beta \log|A|)/(1 - \beta)$.

    Decided: $|V_Q| \leq |Q| + \log|A|$ in sup norm, so $|Q^*| \leq \sup|r| + \beta (|Q^*| +
    \log|A|)$; constant $r \geq 0$ attains it. The bound does not mention the number of states.
    """
    mdp, _ = window
    ahead = entropy * mdp.discount * np.log(mdp.reward.shape[1])
    return _largest(mdp, (np.max(np.abs(mdp.reward)) + ahead) / (1 - mdp.discount))


@claim.holds_if(
    "setup.Q-star-bounded",
    condition="the reward is bounded (as it is where there are finitely many states)",
    instances=instances.tabular_mdps().map(lambda mdp: (mdp, np.inf)),
    # the state s = 10^6 of S = {0, 1, 2, ...}, r(s) = s
    counterexample=lambda: (instances.absorbing([[1e6]]), 1e6),
    text=(
        r"$S = \{{0, 1, 2, \dots\}}$, one action, every state absorbing, $r(s) = s$, $\beta = "
        "1/2$: $Q^*(s) = 2s$.",
        "Whatever bound $M$ is named, the state $s = M$ exceeds it: for $M = {bound:.0f}$, "
        "$Q^*(M) = {observed:.0f}$.",
    ),
    corrected=bounded_rewards_bound_q,
    broken="the entropy's share beta log|A| left out",
    rejected={"entropy": 0.0},
    rejected_at=lambda: (instances.absorbing([[1.0, 1.0]]), np.inf),
)
def discounting_bounds_q(window: Window) -> CheckResult:
    r"""$\beta < 1$ implies that $Q^*$ is bounded: some $M$ has $|Q^*| \leq M$ on $S \times A$.

    Where: Section 3, "By Rust (1994), $\beta < 1$ (discount factor less than one) implies $Q^*$ in
    $Q$".

    Assumes: $S$ any state space, $r$ in $\mathbb{R}^{S \times A}$, $A$ finite, $\beta$ in (0, 1).

    Decided: a bound on $r$ is needed (Rust assumes one). On the infinite state space of the
    counterexample no $M$ will do.
    """
    return _largest(*window)


# --- where the expert goes
def covered(mdp: TabularMDP) -> list[CheckResult]:
    """The expert's state distribution gives weight to each state of S-bar, and to no other state.

    The library's occupancy against visits summed period by period, and these against the
    probability of the likeliest path into the state, which is positive on S-bar alone.
    """
    star, world = mdp.solution, (mdp.transition, mdp.discount, mdp.initial)
    mass = oracle.visits(star.policy, *world)
    log_floor = oracle.log_likeliest(star.q - star.v[:, None], *world)
    floor, reached = np.exp(log_floor), oracle.reachable(mdp.initial, mdp.transition)
    short = (floor > 1e-280) & (mass < (1 - 1e-9) * floor)  # below, products underflow
    wrong = np.sum(short | (reached != np.isfinite(log_floor)))
    gap = mdp.discounted_occupancy().sum(axis=1) - mass
    why = "a linear system of condition 2/(1 - beta)"
    return [zero(gap, 1e-13 / (1 - mdp.discount), why), equal(wrong, 0.0, 0.0, "a count of states")]


class Track:
    """Where the expert goes in `mdp`, whose states among `intervals` stand for an interval.

    Over such an interval, entered uniformly, everything is constant; the other states are points.
    """

    mdp: TabularMDP
    intervals: tuple[int, ...]

    @property
    def reached(self) -> NDArray[np.bool_]:
        """(S,) where d*, the expert's state distribution, has mass: S-bar, if all are points."""
        return oracle.reachable(self.mdp.initial, self.mdp.transition)

    @property
    def points(self) -> NDArray[np.bool_]:
        """(S,) S-bar as printed: the states s with Pr(s_h = s) > 0 for some h."""
        return self.reached & ~np.isin(np.arange(len(self.mdp.initial)), self.intervals)


# A finite model, and which of its states (S,) are unit intervals entered uniformly, not points.
# Reward and transition probabilities are the same all over an interval.
Cells = tuple[TabularMDP, NDArray[np.bool_]]


@st.composite
def cells(draw: st.DrawFn) -> Cells:
    discounts = st.sampled_from([0.5, 0.9, 0.99])
    mdp = draw(instances.tabular_mdps(rewards=instances.MILD, discounts=discounts))
    return mdp, draw(arrays(np.bool_, len(mdp.initial)))


def _carried(mdp: TabularMDP, carrier: NDArray[np.bool_]) -> CheckResult:
    return equal(mdp.discounted_occupancy()[carrier].sum(), 1.0, rounding(mdp), WHY)


def support_carries_data(space: Cells) -> CheckResult:
    r"""$\bar S$ = the support of the expert's state distribution ($S$ a separable metric space). It
    is the smallest closed set of states that holds $s_0$, $s_1$, ... with probability one.
    Equalities "for all $s$ in $\bar S$" hold almost everywhere. On a countable (discrete) $S$ this
    is the printed set.

    Decided: on a separable metric space the support has full measure. Measured: the expert's
    occupancy (library) of the states that a search reaches; each has at least the mass of its
    likeliest path.
    """
    mdp, _ = space
    return weakest(_carried(mdp, oracle.reachable(mdp.initial, mdp.transition)), *covered(mdp))


def _chain() -> Cells:
    move = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    mdp = TabularMDP(np.zeros((3, 1)), move, 0.5, np.array([1.0, 0.0, 0.0]))
    return mdp, np.zeros(3, dtype=bool)


@claim.holds_if(
    "setup.reachable-set",
    condition="the state space is countable (or the expert's state distribution purely atomic)",
    instances=cells(),
    counterexample=lambda: (instances.absorbing([[0.0, 0.0]]), np.array([True])),
    text=(
        "$S = [0, 1]$, $s_0$ uniform, and $s'$ uniform whatever $(s, a)$: $P(s_h = s) = 0$ for "
        "every $s$ and $h$.",
        r"So $\bar S$ is empty: the data lie in it with probability {observed:g}, not {bound:g},",
        r"and what is claimed 'for all $s$ in $\bar S$' claims nothing.",
    ),
    corrected=support_carries_data,
    broken="only periods 0 and 1 counted",
    rejected=lambda space: _carried(
        space[0], oracle.reachable(space[0].initial, space[0].transition, 1)
    ),
    rejected_at=_chain,
)
def atoms_carry_data(space: Cells) -> CheckResult:
    r"""$\bar S = \{s: P(s_h = s) > 0 \text{ for some } h \geq 0\}$ carries the expert's data:
    $P(s_h \in \bar S) = 1$.

    Where: Section 3, Definition IRLproblem ("the dataset $D$ only contains information about states
    visited under $\pi^*$"); Section 4. Section 6 is "formulated for continuous state spaces".

    Assumes: $S$ any state space, $A$ finite, the expert plays $\pi^*$.

    Decided: $P(s_h = s) > 0$ holds for at most countably many $s$. With densities it holds for
    none, and the identification results become empty.
    """
    mdp, spread = space
    return _carried(mdp, oracle.reachable(mdp.initial, mdp.transition) & ~spread)


# --- Lemma expTD=BE
@claim.holds(
    "lem:expTD=BE",
    instances=instances.fitted(),
    broken="both sides squared: the mean squared TD error against the squared Bellman error",
    rejected={"power": 2},
    rejected_at=lambda: instances.Fitted(
        instances.uniform(np.zeros((2, 1)), 0.5, [1, 0]), np.array([[0.0], [1.0]])
    ),
)
def mean_td_error(guess: instances.Fitted, power: int = 1) -> CheckResult:
    r"""$E_{s'}[\hat T Q(s, a, s')] = TQ(s, a)$ and $E_{s'}[\delta_Q(s, a, s')] = TQ(s, a) - Q(s,
    a)$.

    Where: Section 3, Lemma expTD=BE.

    Assumes: $s'$ from $P(\cdot \mid s, a)$, $Q$ bounded.

    Decided: the expectation is linear and $r$ and $Q$ do not depend on $s'$. Measured: the TD
    errors averaged successor by successor against the library's Bellman operator.
    """
    mdp, q = guess.mdp, guess.q
    risk = instances.population(guess)
    mean = risk.mean((risk.target - q[:, :, None]) ** power)
    error = action_values(mdp.reward, mdp.transition, mdp.discount, value(q)) - q
    scale = float(np.max(np.abs(mdp.reward)) + 2 * np.max(np.abs(q)) + 2) ** power
    return zero(mean - error**power, 1e-14 * scale, "rounding of sums of numbers of this size")
