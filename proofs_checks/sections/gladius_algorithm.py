"""Section 5, GLADIUS: the steps of Algorithms 1 and 2, and the bookkeeping of their listing."""

from collections import namedtuple
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from gladius.model.mdp import TabularMDP
from gladius.model.risk import conditional_mean, grouped_risk, value
from gladius.panel.record import Counts
from gladius.validate import Array
from proofs_checks.claims.claims import CheckResult, assumed, claim, equal, weakest
from proofs_checks.claims.instances import DISCOUNTS, REWARDS, one_state, tables, whole_numbers
from proofs_checks.claims.under_check import Complex, ascent_slope, descent, zero
from proofs_checks.oracle.risk import Sample, complex_gradient


class Step(namedtuple("Step", "sample phi chi theta eta")):
    """A data set and linear classes: Q = phi theta and zeta = chi eta on S x A, flattened."""

    def table(self, features: Array, parameters: Array) -> Array:
        """(S, A)."""
        return np.asarray((features @ parameters).reshape(self.sample.visits.shape))


@st.composite
def data_sets(draw: st.DrawFn, states: int, actions: int) -> Sample:
    """Up to six rows, and an anchor that is the same in every state."""
    number = draw(st.integers(1, 6))
    s, after = (draw(whole_numbers(number, states - 1)) for _ in "ab")
    a = draw(whole_numbers(number, actions - 1))
    reward = draw(tables(states, REWARDS))
    moves = np.zeros((states, actions, states))
    np.add.at(moves, (s, a, after), 1.0)
    return Sample(
        moves, np.full(states, draw(st.integers(0, actions - 1))), reward, draw(DISCOUNTS)
    )


@st.composite
def steps(draw: st.DrawFn) -> Step:
    states, actions = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    small = st.integers(-2, 2).map(float)
    phi, chi = (draw(tables((states * actions, draw(st.integers(1, 3))), small)) for _ in "Qz")
    theta, eta = (draw(tables(x.shape[1])) for x in (phi, chi))
    return Step(draw(data_sets(states, actions)), phi, chi, theta, eta)


def counts_of(sample: Sample) -> Counts:
    """The data as the library holds them."""
    features = np.arange(len(sample.reward), dtype=float)[:, None]
    return Counts(features, sample.visits[None], np.swapaxes(sample.moves, 0, 1)[None])


def _ascent(iterate: Step, anchor_rows_only: bool) -> tuple[Array, Array]:
    """(printed direction of eta, -grad of D; gradient of f-hat_N in eta), Q fixed."""
    sample, phi, chi = iterate.sample, iterate.phi, iterate.chi
    q, zeta = iterate.table(phi, iterate.theta), iterate.table(chi, iterate.eta)
    batch = counts_of(sample)
    if anchor_rows_only:
        anchored = (np.arange(q.shape[1]) == sample.anchor[0]).astype(float)
        batch = Counts(batch.states, batch.visits * anchored, batch.moves * anchored[:, None, None])
    direction = -chi.T @ ascent_slope(zeta[None], value(q)[None], batch).ravel()
    slope = complex_gradient(lambda eta: sample.f_hat(q, iterate.table(chi, eta)), iterate.eta)
    return direction, slope


def _descent(iterate: Step) -> tuple[Array, Array]:
    """(printed direction of theta, -gradient of f-hat_N in theta), zeta fixed."""
    sample, phi = iterate.sample, iterate.phi
    q, zeta = iterate.table(phi, iterate.theta), iterate.table(iterate.chi, iterate.eta)
    batch = counts_of(sample)
    given = batch, batch, int(sample.anchor[0]), sample.reward, sample.discount
    direction = -phi.T @ descent(q[None], zeta[None], *given).slope.ravel()
    slope = complex_gradient(lambda x: sample.f_hat(iterate.table(phi, x), zeta), iterate.theta)
    return direction, -slope


def _off_the_ray(iterate: Step, direction: Array, ray: Array, factor: float | None) -> CheckResult:
    """How far the direction is from factor ray; without a factor, from the whole ray."""
    if factor is None:
        square = float(ray @ ray)
        factor = max(0.0, float(direction @ ray) / square) if square > 0 else 0.0
    sides = (iterate.theta, iterate.eta, iterate.sample.reward)
    size = 1.0 + sum(float(np.abs(x).sum()) for x in sides)
    entries = float(np.abs(iterate.phi).sum() + np.abs(iterate.chi).sum() + 1.0) ** 2
    why = "rounding in sums over rows of features times r, Q, V and zeta"
    return zero(direction - factor * ray, 1e-13 * iterate.sample.size * size * entries, why)


def gda_with_indicator(iterate: Step, power: int = 2) -> CheckResult:
    r"""On $B_1 = B_2 = D$ the descent step is $-\tau N \nabla_\theta \hat f_N$. The ascent step is
    $+\tau (N/\beta^2) \nabla_\phi \hat f_N$ if $D$ carries the indicator $\mathbf{1}\{a = a_s\}$.
    Without the indicator this holds if the parameters of $\zeta$ at anchor pairs act at no other
    pair, and then for those parameters. With the indicator nothing fits $\zeta$ at the other
    actions, where the last line of Algorithm 1 needs it. Fit it there too, by parameters of its own
    or by a second regression.

    Decided: the library's printed slopes on all of $D$ against complex-step gradients of $\hat f_N$
    written row by row, for linear classes with shared parameters (indicator) and tabular $\zeta$.
    """
    size = iterate.sample.size
    factor = size / iterate.sample.discount**power
    tabular = iterate._replace(chi=np.eye(len(iterate.phi)), eta=iterate.chi @ iterate.eta)
    direction, slope = _ascent(tabular, anchor_rows_only=False)
    there = np.arange(len(slope)) % iterate.sample.visits.shape[1] == iterate.sample.anchor[0]
    return weakest(
        _off_the_ray(iterate, direction[there], slope[there], factor),
        _off_the_ray(iterate, *_ascent(iterate, anchor_rows_only=True), factor),
        _off_the_ray(iterate, *_descent(iterate), size),
    )


def _opposed() -> Step:
    iterate = Step(
        one_state([1, 1]),
        phi=np.eye(2),
        chi=np.array([[1.0, 0.0], [1.0, 1.0]]),
        theta=np.full(2, -np.log(2.0)),
        eta=np.array([-1.0, 4.0]),
    )
    for features, which in ((iterate.chi, "zeta"), (iterate.phi, "Q")):
        least = np.linalg.eigvalsh(features @ features.T)[0]
        assumed(least > 0.3, f"J J' >= mu I for {which}")
    return iterate


@claim.holds_if(
    "alg:estimation1.is-GDA",
    condition=r"the parameters of $\zeta$ at anchor pairs act at no other pair",
    instances=steps(),
    counterexample=_opposed,
    text=(
        r"$V = 0$; observations $(s, 0)$, the anchor, and $(s, 1)$; $\zeta$'s parameters $e = "
        r"(-1, 4)$: $\zeta = (e_1, e_1 + e_2) = (-1, 3)$.",
        r"$\hat f_N$ rises with $e_1$ and ignores $e_2$; line 5 moves $e$ by $-2 \tau (-1 + 3, "
        "3)$: $e_1$ falls.",
        "Largest entry off the ray of the gradient: {observed:.0f}; it must be {bound:.0f}.",
    ),
    corrected=gda_with_indicator,
    broken="the factor of the ascent taken as N, without 1/beta^2",
    rejected={"power": 0},
    cost=2,
)
def is_gda(iterate: Step) -> CheckResult:
    r"""On $B_1 = B_2 = D$ the updates of Algorithm 1 are steps along $-\nabla_\theta \hat f_N$ and
    $+\nabla_\phi \hat f_N$, up to a positive factor for each block.

    Where: Section 5, Algorithm 1; Section 6.2, Equation `eq:empirical_minimax_gladius`, "the
    empirical minimax objective optimized by GLADIUS".

    Assumes: $D$ in place of batches, as the text allows; $\zeta$'s class has $J J' \geq \mu I$ on
    all pairs.

    Decided: sums for means and the missing $\beta^2$ are positive factors of a block and are
    forgiven. $D$ runs over all pairs, $\hat f_N$'s $\zeta$ term over anchor pairs: where parameters
    are shared, the printed step can lower $\hat f_N$. For fixed $Q$ it still converges to the
    regression over all pairs (Definition ERM's $\bar\zeta$). But it is no gradient of $\hat f_N$,
    for which the rate is claimed.
    """
    pairs = (_ascent(iterate, anchor_rows_only=False), _descent(iterate))
    return weakest(*(_off_the_ray(iterate, *pair, factor=None) for pair in pairs))


# --- Algorithm 2
# A world of certain moves, and rows on it; Q is arbitrary.
Certain = namedtuple("Certain", "mdp sample q")


@st.composite
def certain_worlds(draw: st.DrawFn) -> Certain:
    states, actions = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    sample = draw(data_sets(states, actions))
    target = draw(whole_numbers((actions, states), states - 1))
    reward = draw(tables((states, actions), REWARDS))
    return _certain(target, reward, sample, draw(tables(reward.shape)))


def _certain(target: NDArray[np.int64], reward: Array, sample: Sample, q: Array) -> Certain:
    states = len(reward)
    mdp = TabularMDP(reward, np.eye(states)[target], sample.discount, np.full(states, 1 / states))
    moves = sample.visits[:, :, None] * np.swapaxes(mdp.transition, 0, 1)
    return Certain(mdp, replace(sample, moves=moves, reward=reward[:, sample.anchor[0]]), q)


def _swap() -> Certain:
    """Two states; action 0, the anchor, stays, action 1 changes; one row of each action."""
    moves = np.zeros((2, 2, 2))
    moves[0, :, 0] = 1.0
    sample = Sample(moves, np.zeros(2, int), np.zeros(2), 0.5)
    reward = np.array([[0.0, 1.0], [0.0, 1.0]])
    return _certain(np.array([[0, 1], [1, 0]]), reward, sample, np.array([[0.0, 1.0], [2.0, 0.0]]))


@claim.holds(
    "alg:estimation_deterministic",
    instances=certain_worlds(),
    broken="the TD error summed over all actions, not over the anchor's rows",
    rejected={"anchored": False},
    rejected_at=_swap,
    cost=2,
)
def algorithm_2(world: Certain, anchored: bool = True) -> CheckResult:
    r"""Under deterministic transitions $R_{\mathrm{emp}}(Q)$ is the mean of $-\log p_Q(a \mid s) +
    \mathbf{1}\{a = a_s\} (\hat T Q - Q)^2$ for every $Q$, Algorithm 2 descends it, and $r = Q^* -
    \beta V^*(s')$.

    Where: Section 5, "Special Case: Deterministic Transitions", Algorithm 2.

    Assumes: $s'$ is a function of $(s, a)$, and $\zeta$ ranges over $\mathbb{R}^{S \times A}$, as
    in Definition ERM. $\hat r$ is asked for at pairs whose $s'$ is known, those of the data.

    Decided: all observations of a pair have the same $V_Q(s')$, which is then $\bar\zeta$. The
    library's $R_{\mathrm{emp}}$ is compared with the mean over the observations, and the slope of
    Algorithm 2 with a complex-step gradient of $R_{\mathrm{emp}}$, $\bar\zeta$ included. $r$ is
    compared at the observed pairs of a solved world. A restricted class of $\zeta$ that does not
    contain $V_Q(s'(s, a))$ would leave the orange term non-zero. Algorithm 2 shares the loop of
    Algorithm 1, which tests $t$ and counts `iteration`.
    """
    mdp, sample, q = world
    data, anchor = counts_of(sample), int(sample.anchor[0])
    given = anchor, sample.reward, sample.discount
    total = grouped_risk(q[None], data, *given).total()
    step = descent(q[None], None, data, data, *given)

    def empirical_risk(outputs: Complex) -> Any:
        table = outputs.reshape(q.shape)
        return sample.f_hat(table, sample.zeta_bar(table))

    slope = sample.size * complex_gradient(empirical_risk, q.ravel())
    summed = [anchor] if anchored else range(q.shape[1])
    by_action = (
        replace(sample, anchor=0 * sample.anchor + a, reward=mdp.reward[:, a]) for a in summed
    )
    bound = sample.nll(q) + sum(of_action.td(q) for of_action in by_action)
    star = mdp.solution
    seen = data.visits[0] > 0
    reward = star.q - sample.discount * conditional_mean(star.v[None], data)[0]
    size = 1.0 + float(np.abs(sample.reward).max()) + 3 * float(np.abs(q).max())
    gap = np.abs(step.slope.ravel() - slope).max()
    rounding = "rounding in sums over rows of squares of r, Q and V"
    solved = 1e-11 * (1.0 + float(np.abs(star.q).max()))
    return weakest(
        equal(total[0], bound, 1e-13 * size**2, rounding),
        equal(gap, 0.0, 1e-12 * sample.size * size, rounding),
        zero((reward - mdp.reward)[seen], solved, "Q* to 1e-12"),
    )


# --- the bookkeeping of Algorithm 1, read line by line
@dataclass(frozen=True)
class Listing:
    """What Algorithm 1 and the text around it print."""

    counted: str = "iteration"  # the variable that lines 1 and the last of the loop set
    tested: str = "t"  # the one that line 2 compares with T
    # the batches of the ascent, D, and of the two losses of the descent in the box
    box: tuple[str, str, str] = ("B_2", "B_2", "B_1")
    # those of the ascent and of the descent in the enumerated steps
    text: tuple[str, str] = ("B_1", "B_2")
    # start and closing: parameters of Q and of zeta in line 1 and in the sentence after the loop
    start: tuple[str, str] = ("theta_2", "theta_1")
    closing: tuple[str, str] = ("theta_1", "theta_2")

    @property
    def slips(self) -> int:
        """In how many ways the listing and its text differ."""
        ascent, *losses = self.box
        names = (self.tested != self.counted) + (self.start != self.closing)
        return names + (ascent != self.text[0]) + (set(losses) != {self.text[1]})

    def iterations(self, limit: int, budget: int) -> int:
        """Passes through the loop for T = limit, stopped after `budget`; unset names stay at 1."""
        values, passes = {self.counted: 1, self.tested: 1}, 0
        while values[self.tested] <= limit and passes < budget:
            values[self.counted] += 1
            passes += 1
        return passes


CORRECTED = Listing(tested="iteration", box=("B_1", "B_2", "B_2"), closing=("theta_2", "theta_1"))


def consistent_listing(limit: int, listing: Listing = CORRECTED) -> CheckResult:
    r"""Test `iteration <= T`. Sum $D$ over $B_1$ and both losses of the descent over $B_2$, as the
    text says. After the loop write $Q_{\theta_2}$ and $\zeta_{\theta_1}$.

    Decided: the corrected lines are run and compared as the printed ones are. (The library's
    Algorithm 1, which counts one variable, makes $T$ iterations:
    `tests/gladius/test_algorithm.py`.)
    """
    passes, reason = listing.iterations(limit, budget=1000 * limit), "whole numbers"
    return weakest(equal(passes, limit, 0.0, reason), equal(listing.slips, 0, 0.0, reason))


@claim.misprint(
    "alg:estimation1.bookkeeping",
    instances=st.integers(1, 60),
    counterexample=lambda: 10,
    text=(
        r'$T = 10$. Line 1 sets "iteration $\leftarrow 1$", line 2 loops "while $t \leq T$", the '
        "last line of the",
        r'loop is "iteration $\leftarrow$ iteration + 1": $t$ is never set and never changes.',
        "Stopped by us after {observed:.0f} iterations; it must be {bound:.0f}.",
    ),
    corrected=consistent_listing,
    broken="D still summed over B_2",
    rejected={"listing": replace(CORRECTED, box=("B_2", "B_2", "B_2"))},
    cost=2,
)
def bookkeeping(limit: int) -> CheckResult:
    r"""Algorithm 1 stops after $T$ iterations and uses the batches and names that its text says.

    Where: Section 5, Algorithm 1 and the paragraphs after it; the loop of Algorithm 2 likewise.

    Assumes: the lines are executed as printed; $t$ starts at 1.

    Decided: the printed lines have four slips. The loop tests $t$ and counts `iteration`. The box
    has $D$ on $B_2$, where the text has the ascent on $B_1$. The box has the descent on $B_2$ and
    $B_1$, where the text has it on $B_2$. After the loop it prints $Q_{\theta_1}$ and
    $\zeta_{\theta_2}$. Not counted: $\tau_1$ in both steps (Theorem linConvergence has one stepsize
    too), sums for means, $a^*_s$ for $a_s$.
    """
    return consistent_listing(limit, Listing())


# --- its last line
# Two worlds of certain moves (target states (A, S)) that agree where the data are, and Q (S, A).
Twins = namedtuple("Twins", "first second visits q discount")


@st.composite
def twins(draw: st.DrawFn) -> Twins:
    states, actions = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    visits = draw(whole_numbers((states, actions), 2))
    first, other = (draw(whole_numbers((actions, states), states - 1)) for _ in range(2))
    second = np.where(visits.T > 0, first, other)
    return Twins(first, second, visits, draw(tables(visits.shape)), draw(DISCOUNTS))


def _rewards(case: Twins) -> tuple[Array, Array]:
    """r = Q - beta V_Q(s') in both worlds, in each of which Q is Q*."""
    v = value(case.q)
    first, second = (case.q - case.discount * v[target.T] for target in (case.first, case.second))
    return np.asarray(first), np.asarray(second)


def reward_where_seen(case: Twins, unseen: bool = False) -> CheckResult:
    r"""$\hat r(s, a) = \hat Q(s, a) - \beta V(s')$ with the $s'$ of an observation of $(s, a)$, for
    pairs in the data.

    Decided: certain moves make all rows of a pair agree. Measured: the library's conditional mean
    over the data against either world's reward, at the pairs seen.
    """
    eye, first = np.eye(len(case.q)), _rewards(case)[0]
    moves = case.visits.T[:, :, None] * eye[case.first]
    counts = Counts(eye, case.visits[None].astype(float), moves[None])
    estimate = case.q - case.discount * conditional_mean(value(case.q)[None], counts)[0]
    there = np.ones(case.q.shape, dtype=bool) if unseen else case.visits > 0
    size = 1e-14 * (1 + float(np.abs(case.q).max()))
    gap = (estimate - first)[there] if there.any() else np.zeros(1)  # where no pair was seen
    return zero(gap, size, "rounding of r, Q and V")


def _one_row() -> Twins:
    """States 0 and 1; action 0 stays and was seen; action 1 stays in one world, moves in the
    other."""
    stays, moves = np.array([[0, 1], [0, 1]]), np.array([[0, 1], [1, 0]])
    return Twins(stays, moves, np.array([[1, 0], [1, 0]]), np.array([[0.0, 0.0], [1.0, 1.0]]), 0.5)


@claim.holds_if(
    "alg:estimation_deterministic.last-line",
    condition="$(s, a)$ has an observation in the data, or $s'(s, a)$ is known",
    instances=twins(),
    counterexample=_one_row,
    text=(
        r"Two states, $\beta = 1/2$, data $(s, a0, s)$ only; a1 stays in one world and switches "
        "in the other.",
        r"The data are the same, and $Q(s, \cdot) = s$ is $Q^*$ of both. $V(1) - V(0) = 1$, so "
        "$r(0, a1)$ is {observed:.4f}",
        "in one and {bound:.4f} in the other. The last line does not say whose $s'$ it has.",
    ),
    corrected=reward_where_seen,
    broken="asked for at pairs without a row too",
    rejected={"unseen": True},
)
def reward_of_every_pair(case: Twins) -> CheckResult:
    r"""$\hat r(s, a) \leftarrow \hat Q(s, a) - \beta \log \sum \exp \hat Q(s', \cdot)$ gives $\hat
    r$ as a function of $(s, a)$.

    Where: Section 5, Algorithm 2, last line; no $s'$ is bound there.

    Assumes: deterministic transitions, $\hat Q = Q^*$.

    Decided: the reward at a pair without an observation is no function of the data. Two worlds
    agree on the data and on $Q^*$, and have different rewards there. Algorithm 1 has $\zeta$ there.
    """
    first, second = _rewards(case)
    return equal(first, second, 1e-14 * (1 + float(np.abs(case.q).max())), "rounding of r, Q and V")
