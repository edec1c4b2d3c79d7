"""Appendix B.6, IRL with occupancy matching: telescoping, the Lemma on the gap, its conclusion.

Here Q^pi and T^pi carry no entropy, as in that appendix. Worlds of rational numbers are solved
exactly, so tolerances are zero.
"""

import math
from collections import namedtuple
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy.special import softmax

from gladius.model.mdp import TabularMDP
from gladius.validate import Array
from proofs_checks.claims.claims import CheckResult, assumed, at_least, claim, equal, weakest
from proofs_checks.claims.instances import absorbing, distributions, tabular_mdps
from proofs_checks.claims.under_check import EPS
from proofs_checks.oracle import occupancy as oracle
from proofs_checks.oracle.occupancy import Exact, World, exact, shares

EXACT = "rational arithmetic"
HALF = Fraction(1, 2)
NUMBERS = st.integers(-12, 12).map(lambda n: Fraction(n, 4)) | st.integers(-100, 100).map(Fraction)
RATES = st.sampled_from([HALF, Fraction(9, 10), Fraction(99, 100), Fraction(999, 1000)]) | (
    st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)
)


@st.composite
def rational_tables(draw: st.DrawFn, states: int, actions: int) -> Exact:
    row = st.lists(NUMBERS, min_size=actions, max_size=actions)
    return exact([draw(row) for _ in range(states)])


@st.composite
def policies(draw: st.DrawFn, states: int, actions: int) -> Exact:
    row = st.lists(st.integers(0, 4), min_size=actions, max_size=actions).map(shares)
    return exact([draw(row) for _ in range(states)])


@st.composite
def rational_worlds(draw: st.DrawFn, outside: int = 0) -> World:
    """Worlds of one state and one action upwards; the last `outside` states are never entered
    from the others, nor first."""
    inside, actions = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    states = inside + outside

    def row(s: int) -> Exact:
        width = inside if s < inside else states
        weights = draw(st.lists(st.integers(0, 4), min_size=width, max_size=width))
        return shares([*weights, *[0] * (states - width)], otherwise=s)

    first = draw(st.lists(st.integers(0, 4), min_size=inside, max_size=inside))
    return World(
        reward=draw(rational_tables(states, actions)),
        moves=exact([[row(s) for s in range(states)] for _ in range(actions)]),
        initial=shares([*first, *[0] * outside]),
        discount=draw(RATES),
    )


# --- Lemma telescoping
# A world, a policy, a function f[s][a] and a first pair.
Function = namedtuple("Function", "world policy f pair")


@st.composite
def functions(draw: st.DrawFn) -> Function:
    world = draw(rational_worlds())
    states, actions = world.reward.shape
    pair = (draw(st.integers(0, states - 1)), draw(st.integers(0, actions - 1)))
    policy = draw(policies(states, actions))
    return Function(world, policy, draw(rational_tables(states, actions)), pair)


def telescoping_discounted(
    function: Function, power: int = 1, inside: Fraction | None = None
) -> CheckResult:
    r"""$Q^\pi(s_0, a_0) - f(s_0, a_0) = (1/(1 - \beta)) E_{d^\pi}[(T^\pi f - f)(s, a) \mid s_0,
    a_0]$ with $T^\pi f(s, a) := r(s, a) + \beta E[f(s', a') \mid s, a]$.

    Decided: $Q^\pi$ solves the evaluation equation and $d^\pi$ given the first pair the adjoint
    one, both in rational arithmetic; the two sides are equal to the last digit. The proof writes
    the $\beta$ that the statement lacks. The library's occupancy is the same one.
    """
    (world, policy, f, (s, a)), beta = function, function.world.discount
    q = oracle.action_values(world, policy)
    target = oracle.backup(world, policy, f, beta if inside is None else inside)
    d = oracle.occupancy_given(world, policy, s, a)
    right = (d * (target - f)).sum() / (1 - beta) ** power
    visits = _occupancy_given(_in_floats(world), policy.astype(float), function.pair)
    solved = equal(visits, d.astype(float), 1e-9, "the library solves a linear system in floats")
    return weakest(equal(q[s, a] - f[s, a], right, 0.0, EXACT), solved)


def _in_floats(world: World) -> TabularMDP:
    """The world for the library."""
    reward, moves, initial = (x.astype(float) for x in world[:3])
    return TabularMDP(reward, moves, float(world.discount), initial)


def _occupancy_given(mdp: TabularMDP, policy: Array, pair: tuple[int, int]) -> Array:
    """(S, A) d^pi given the first pair, of the library's occupancy from the next state on."""
    s, a = pair
    later = replace(mdp, initial=mdp.transition[a, s])
    visits = mdp.discount * later.discounted_occupancy(policy)
    visits[s, a] += 1 - mdp.discount
    return visits


def _one_state() -> Function:
    certain = exact([[1]])
    world = World(exact([[0]]), exact([[[1]]]), exact([1]), HALF)
    function = Function(world, certain, certain, (0, 0))
    assumed(0 < world.discount < 1, "beta in (0, 1)")
    rows = (*world.moves[0], *function.policy)
    probable = all(row.sum() == 1 and row.min() >= 0 for row in rows)
    assumed(probable, "P and pi are probabilities")
    d = oracle.occupancy_given(world, function.policy, *function.pair)
    assumed(d.sum() == 1, "d^pi is normalised by 1 - beta")
    return function


@claim.misprint(
    "lem:telescoping",
    instances=functions(),
    counterexample=_one_state,
    text=(
        r"One state, one action, $r = 0$, $\beta = 1/2$, $f = 1$: $Q^\pi = 0$, so the left side "
        "is {observed}.",
        r"The printed $T^\pi f = 0 + 1$, so $T^\pi f - f = 0$ and the right side is {bound}.",
        r"With $\beta$, $T^\pi f - f = 1/2 - 1$ and the right side is $2(-1/2) = -1$.",
    ),
    corrected=telescoping_discounted,
    broken="the factor 1/(1 - beta) left out",
    rejected={"power": 0},
)
def telescoping(function: Function) -> CheckResult:
    r"""$Q^\pi(s_0, a_0) - f(s_0, a_0) = (1/(1 - \beta)) E_{d^\pi}[(T^\pi f - f)(s, a) \mid s_0,
    a_0]$ with $T^\pi f(s, a) := r(s, a) + E[f(s', a') \mid s, a]$.

    Where: Appendix B, Lemma telescoping.

    Assumes: finite states and actions, $\beta$ in (0, 1); $d^\pi$ normalised by $1 - \beta$.

    Decided: without $\beta$ inside $T^\pi$ nothing telescopes. The terms of $f$ at $t$ and $t + 1$
    carry $\beta^t$ and $\beta^t$ in place of $\beta^t$ and $\beta^{t+1}$.
    """
    return telescoping_discounted(function, inside=Fraction(1))


# --- Lemma occp=naiveBE
# A world with its expert, another policy (S, A) and a first pair.
Rival = namedtuple("Rival", "mdp policy pair")


@st.composite
def rivals(draw: st.DrawFn) -> Rival:
    mdp = draw(tabular_mdps(max_states=3))
    states, actions = mdp.reward.shape
    pair = (draw(st.integers(0, states - 1)), draw(st.integers(0, actions - 1)))
    return Rival(mdp, draw(distributions((states, actions))), pair)


def _rational(table: Array) -> Exact:
    rows = exact(table)
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


@claim.holds(
    "cor:occp=naiveBE",
    instances=rivals(),
    broken="E_d[r | s_0, a_0] taken as Q(s_0, a_0), as in the proof's first line",
    rejected={"power": 1},
    rejected_at=lambda: Rival(absorbing([[0.0, 1.0]]), np.array([[1.0, 0.0]]), (0, 0)),
)
def gap_is_average_bellman_error(rival: Rival, power: int = 0) -> CheckResult:
    r"""$E_{d^*}[r \mid s_0, a_0] - E_{d^\pi}[r \mid s_0, a_0] = E_{d^*}[(T^* Q^\pi - Q^\pi)(s, a)
    \mid s_0, a_0]$.

    Where: Appendix B, Lemma occp=naiveBE.

    Assumes: finite states and actions. The expert follows the entropy-regularised optimum $\pi^*$.
    $T^*$ is the Bellman operator of $\pi^*$, with the $\beta$ that the printed Lemma telescoping
    lacks.

    Decided: the left side by the library's occupancies from the distribution of $s_1$, the right
    side from exact rational values and occupancies. The statement stands; the proof's first line
    equates $E_d[r \mid s_0, a_0]$, which is $(1 - \beta) Q(s_0, a_0)$, with $Q$ at $(s, a)$. That
    line is not used.
    """
    mdp = rival.mdp
    expert = softmax(mdp.solution.q, axis=1)  # sums to one to the last digit, however large Q
    moves, initial, followed = map(_rational, (mdp.transition, mdp.initial, expert))
    world = World(exact(mdp.reward), moves, initial, Fraction(mdp.discount))
    q = oracle.action_values(world, _rational(rival.policy))
    d = oracle.occupancy_given(world, followed, *rival.pair)
    visits = (_occupancy_given(mdp, policy, rival.pair) for policy in (expert, rival.policy))
    first, second = (float(np.sum(of * mdp.reward)) for of in visits)
    rounding = EPS * float(np.max(np.abs(mdp.reward), initial=1e-300))
    return equal(
        (first - second) / (1 - mdp.discount) ** power,
        (d * oracle.bellman_error(world, followed, q)).sum(),
        64 * rounding / (1 - mdp.discount),
        "the library solves two systems with condition 2/(1 - beta); the oracle is exact",
    )


# --- what is concluded from the Lemma
# A world, the expert's policy in it, and a policy to follow where the expert never goes.
Match = namedtuple("Match", "world expert elsewhere")


@st.composite
def matches(draw: st.DrawFn) -> Match:
    world = draw(rational_worlds(outside=draw(st.integers(0, 2))))
    states, actions = world.reward.shape
    return Match(world, draw(policies(states, actions)), draw(policies(states, actions)))


def _expert_occupancy(imitation: Match) -> Exact:
    return oracle.occupancy(imitation.world, imitation.expert, imitation.world.initial)


def _matching(imitation: Match, elsewhere: Exact) -> Exact:
    """A policy with the expert's occupancy d*: d*(s, a)/d*(s) where d*(s) > 0, else as given.

    There is no other: d^pi(s, a) = d^pi(s) pi(a | s).
    """
    d = _expert_occupancy(imitation)
    policy = exact([shares(row) if any(row) else e for row, e in zip(d, elsewhere, strict=True)])
    reached = oracle.occupancy(imitation.world, policy, imitation.world.initial)
    assumed(np.array_equal(reached, d), "d^pi = d*")
    return policy


def _errors(imitation: Match, policy: Exact) -> Exact:
    """(T* Q^pi - Q^pi)(s, a) of all pairs.

    The reward read off by the Bellman equation of pi*, Q^pi - beta E_pi*[Q^pi], misses r by it.
    """
    q = oracle.action_values(imitation.world, policy)
    return oracle.bellman_error(imitation.world, imitation.expert, q)


def _on_support(imitation: Match, policy: Exact) -> CheckResult:
    inside = _expert_occupancy(imitation) > 0
    return equal(np.abs(_errors(imitation, policy)[inside]).sum(), Fraction(0), 0.0, EXACT)


def _wrong(imitation: Match, policy: Exact) -> Fraction:
    """The number of pairs at which the reward is read off wrongly."""
    return Fraction(int(np.count_nonzero(_errors(imitation, policy))))


def _unresolved(imitation: Match) -> CheckResult | None:
    """Where the condition is met: an exactly matching policy with a Bellman error somewhere.

    The condition: pi* never visits u, some pair leads to u, and Q^pi*(u, .) is not constant on
    pi*'s own actions. Following the better action at u alone then raises Q^pi there.
    """
    world, d = imitation.world, _expert_occupancy(imitation)
    q = oracle.action_values(world, imitation.expert)
    for u, row in enumerate(q):
        entered = np.any(world.moves[:, :, u])
        chosen = set(row[imitation.expert[u] > 0])
        if not any(d[u]) and entered and len(chosen) > 1:
            elsewhere = imitation.expert.copy()
            elsewhere[u] = shares([0] * len(row), otherwise=int(np.argmax(row)))
            wrong = _wrong(imitation, _matching(imitation, elsewhere))
            return at_least(wrong, Fraction(1), 0.0, EXACT)
    return None


def errors_only_outside_the_support(imitation: Match) -> CheckResult:
    r"""If $d^\pi = d^*$, then $T^* Q^\pi = Q^\pi$, and $r = Q^\pi - \beta E_{\pi^*}[Q^\pi(s',
    a')]$, at every pair in the support of $d^*$. Errors can remain only at pairs outside the
    support. They do remain for some matching $\pi$ if a state never visited can be entered and its
    actions differ in $Q^{\pi^*}$. Equality of $E[r]$ for the one $r$, a zero gap in the Lemma, does
    not make the errors zero.

    Decided: $d^\pi = d^*$ forces $\pi = \pi^*$ at every visited state, and pairs in the support
    lead only to visited states. Exact solves: no error on the support whatever $\pi$ does
    elsewhere; and where the condition is met, a policy better at one unvisited state leaves an
    error at a pair that leads there. The control matches $E[r]$ alone, which leaves errors on the
    support.
    """
    results = [_on_support(imitation, _matching(imitation, imitation.elsewhere))]
    unresolved = _unresolved(imitation)
    return weakest(*[*results, unresolved] if unresolved else results)


def _alternating() -> Match:
    """From any first pair with s_0 = 0 `elsewhere` earns E[r] as pi*."""
    swap = [[[0, 1], [1, 0]]] * 2
    world = World(exact([[0, math.log(3)]] * 2), exact(swap), exact([1, 0]), HALF)
    imitation = Match(world, exact([[0.25, 0.75]] * 2), exact([[0.75, 0.25], [0, 1]]))
    chosen = _in_floats(world).solution.policy
    gap = float(np.max(np.abs(chosen - imitation.expert.astype(float))))
    assumed(gap < 1e-14, "the expert follows the entropy-regularised optimal policy of r")
    return imitation


def _one_reward_matched(imitation: Match) -> CheckResult:
    """The corrected statement with E_{d*}[r] = E_{d^pi}[r] for the one r in place of d^pi = d*."""
    q, q_expert = (
        oracle.action_values(imitation.world, p) for p in (imitation.elsewhere, imitation.expert)
    )
    assumed(np.array_equal(q[0], q_expert[0]), "E[r | s_0, a_0] is the same")
    return _on_support(imitation, imitation.elsewhere)


@claim.holds_if(
    "sec:occupancy.conclusion",
    condition="$r$ is asked for at pairs outside the support of $d^*$ too. On the support, "
    "where the paper seeks $r$, exact matching leaves no error",
    instances=matches(),
    counterexample=_alternating,
    text=(
        r"Two states, each action leads to the other state, $\beta = 1/2$, $s_0 = 0$, $r(s, "
        r"\cdot) = (0, \log 3)$: $\pi^* = (1/4, 3/4)$, $d^* = ((1/6, 1/2), (1/12, 1/4))$.",
        r"$d^\pi = d^*$ forces $\pi(a \mid s) = d^*(s, a)/d^*(s) = \pi^*(a \mid s)$, so $T^* "
        r"Q^\pi = T^\pi Q^\pi = Q^\pi$ and $r = Q^\pi - \beta E_{{\pi^*}}[Q^\pi]$ at all four "
        "pairs.",
        "Pairs at which $r$ is read off wrongly, the most over all matching policies: "
        "{observed:.0f}; needed: {bound:.0f} or more.",
    ),
    corrected=errors_only_outside_the_support,
    broken="the expected reward matched, from every first pair with s_0 = 0, not the measure",
    rejected=_one_reward_matched,
)
def matching_leaves_errors(imitation: Match) -> CheckResult:
    r""" "$r$ cannot be inferred from $Q$ using the Bellman equation after deriving $Q$ using
    occupancy matching". That is, nothing guarantees that $r$, read off $Q^\pi$, is right at every
    pair.

    Where: Appendix B, after Lemma occp=naiveBE, "This implies that $r$ cannot be inferred ...".

    Assumes: finite states and actions; the expert follows $\pi^*$; $d^\pi = d^*$; $Q$ is $Q^\pi$
    and the Bellman operator $T^*$, as in the Lemma.

    Decided: the paper infers the statement from the sentence before. That sentence says that
    matching "does not necessarily imply Bellman errors being 0 for every state and action". So the
    paper denies a general guarantee, and does not say that $r$ is wrong in every world. The denial
    is right for pairs off the support of $d^*$. It is right for all pairs if "matching" means a
    zero gap in the Lemma, which is about the expected reward of the one $r$. But the paper seeks
    $r$ on the support (Definition IRLproblem). There exact matching leaves no error, in any world.
    So the guarantee exists where every pair is in the support. The check counts the pairs, on the
    support or off it, at which $r$ is read off wrongly. It takes the largest count over all
    matching policies that are certain of one action wherever the expert never goes. (Of a $Q$ known
    only through $\mathrm{softmax}(Q) = \pi$, another object than the Lemma's $Q^\pi$, a shift by
    state stays free and $r$ is indeed not identified.)
    """
    states, actions = imitation.world.reward.shape
    certain = exact(np.eye(actions))
    matching = (_matching(imitation, exact(choice)) for choice in product(certain, repeat=states))
    most = max(_wrong(imitation, policy) for policy in matching)
    return at_least(most, Fraction(1), 0.0, EXACT)


# --- the first line of the Lemma's proof
def mean_reward_without_its_weight(function: Function, power: int = 1) -> CheckResult:
    r"""$E_{d^*}[r \mid s_0, a_0] = (1 - \beta) \sum_t \beta^t E_{d_t^*}[r \mid s_0, a_0] = (1 -
    \beta) Q(s_0, a_0)$.

    Decided: $d = (1 - \beta) \sum_t \beta^t d_t$. Exact solves of the occupancy and of $Q$.
    """
    (world, policy, _, (s, a)), beta = function, function.world.discount
    mean = (oracle.occupancy_given(world, policy, s, a) * world.reward).sum()
    return equal(mean, (1 - beta) ** power * oracle.action_values(world, policy)[s, a], 0.0, EXACT)


def _earning() -> Function:
    function = _one_state()
    return function._replace(world=function.world._replace(reward=exact([[1]])))


@claim.misprint(
    "cor:occp=naiveBE.proof-step",
    instances=functions(),
    counterexample=_earning,
    text=(
        r"One state, one action, $r = 1$, $\beta = 1/2$: $E_d[r] = {observed:g}$, the reward "
        "itself;",
        r"$\sum_t \beta^t = Q = {bound:g}$. (The line's right side also has $(s, a)$ for $(s_0, "
        "a_0)$.)",
    ),
    corrected=mean_reward_without_its_weight,
    broken="the weight 1 - beta twice",
    rejected={"power": 2},
)
def mean_reward_as_value(function: Function) -> CheckResult:
    r"""$E_{d^*}[r \mid s_0, a_0] = \sum_t \beta^t E_{d_t^*}[r \mid s_0, a_0] = Q^*(s_0, a_0)$.

    Where: Appendix B, proof of Lemma occp=naiveBE, first line; it prints $Q^*(s, a)$.

    Assumes: $d = (1 - \beta) \sum_t \beta^t d_t$, as defined there.

    Decided: $1 - \beta$ is lost; the second line has it again, so that the Lemma stands.
    """
    return mean_reward_without_its_weight(function, power=0)
