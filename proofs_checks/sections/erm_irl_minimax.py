"""Section 4.2, Estimation via minimax: double sampling, biconjugate, OurBiconj, algoEQ."""

from dataclasses import replace
from functools import cache

import numpy as np
from hypothesis import strategies as st

from gladius.model.mdp import TabularMDP, action_values
from gladius.model.risk import Risk, bi_conjugate, conditional_mean, grouped_risk, value
from gladius.panel.record import Counts
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
    Fitted,
    absorbing,
    coin,
    fitted,
    population,
    tables,
    tabular_mdps,
)
from proofs_checks.claims.under_check import population_risk, zero
from proofs_checks.oracle import risk as oracle
from proofs_checks.oracle.soft_bellman import reachable
from proofs_checks.sections.erm_irl_identification import excess_over, partly_solved


@st.composite
def probes(draw: st.DrawFn) -> Fitted:
    world = draw(fitted())
    return world._replace(dual=draw(tables(world.q.shape)))


def by_pair(guess: Fitted, zeta: Array | None = None) -> Risk:
    """The library's terms (S, A), each pair on its own: a data set that visits it alone.

    The expectation over s' is a data set whose counts are the probabilities.
    """
    mdp, (states, actions) = guess.mdp, guess.q.shape
    alone = np.eye(guess.q.size).reshape(states, actions, states, actions)
    terms = []
    for a in range(actions):
        moves = np.einsum("ksb,bst->kbst", alone[:, a], mdp.transition)
        counts = Counts(mdp.features, alone[:, a], moves)
        q = np.broadcast_to(guess.q, counts.visits.shape)
        dual = None if zeta is None else np.broadcast_to(zeta, q.shape)
        risk = grouped_risk(q, counts, a, mdp.reward[:, a], mdp.discount, dual)
        terms.append((risk.nll, risk.td, risk.deviation))
    nll, td, deviation = np.moveaxis(np.array(terms), 0, 2)
    return Risk(nll, td, deviation, mdp.discount)


def backup(guess: Fitted) -> Array:
    """T Q by the library."""
    return action_values(guess.mdp.reward, guess.mdp.transition, guess.mdp.discount, value(guess.q))


SQUARED = "rounding in a dozen operations on squares of r, Q, V and the dual"


def agree(guess: Fitted, observed: Array, bound: Array) -> CheckResult:
    """Whether two tables agree."""
    sides = (guess.mdp.reward, guess.q, value(guess.q), guess.dual)
    size = 1.0 + sum(float(np.abs(x).max()) for x in sides)
    return equal(observed, bound, 1e-13 * size**2, SQUARED)


# --- double sampling
@cache
def _td_misleads() -> CheckResult:
    """A world in which the minimiser of the TD loss has a Bellman error of 1/32.

    In `coin` with one action (V = Q) and rewards 0, 0, 1, with discounted weights (1/2, 1/4, 1/4)
    the TD loss is least at Q = (1/2, 1/2, 3/2); the Bellman error is zero at (1/2, 0, 2) alone.
    """
    mdp = replace(coin(1), reward=np.array([[0.0], [0.0], [1.0]]))
    weight = mdp.discounted_occupancy()
    (s, after), eye = np.nonzero(mdp.transition[0]), np.eye(3)
    root = np.sqrt(np.array([0.5, 0.25, 0.25])[s] * mdp.transition[0, s, after])
    rows = root[:, None] * (mdp.discount * eye[after] - eye[s])
    q = np.linalg.lstsq(rows, -root * mdp.reward[s, 0], rcond=None)[0]
    why = "rounding in a least-squares problem of six rows"
    return equal(np.sum(weight * by_pair(Fitted(mdp, q[:, None])).bellman), 1 / 32, 1e-13, why)


@claim.holds(
    "eq:double-sampling",
    instances=fitted(),
    broken="the variance term is that of V(s'), not of T-hat Q: beta^2 is missing",
    rejected={"power": 2},
    rejected_at=lambda: Fitted(coin(1), np.array([[0.0], [0.0], [2.0]])),
)
def double_sampling(guess: Fitted, power: int = 0) -> CheckResult:
    r"""$E[L_{\mathrm{TD}}(Q)(s, a, s')] = L_{\mathrm{BE}}(Q)(s, a) + E[(TQ(s, a) - \hat T Q(s, a,
    s'))^2]$; minimising the TD loss does not minimise the Bellman error in general.

    Where: Section 4, unnumbered display before "double sampling problem".

    Assumes: $Q$ bounded; the expectation is over $s'$ given $(s, a)$.

    Decided: $\hat T Q$ has mean TQ, so this is the decomposition of a mean square about $Q$; both
    sides are summed at every pair. The second half needs one world of three states
    (`_td_misleads`). There the minimiser of the TD loss has a mean squared Bellman error of 1/32,
    not 0.
    """
    model = population(guess)
    variance = model.mean((model.backup()[:, :, None] - model.target) ** 2)
    bound = model.bellman() + variance / guess.mdp.discount**power
    return weakest(agree(guess, by_pair(guess).td, bound), _td_misleads())


# --- the biconjugate, in h, zeta and rho
@claim.holds(
    "eq:biconjugate",
    instances=fitted(),
    broken="E[delta] h - h^2: the factor 2 of the conjugate is missing",
    rejected={"factor": 1.0},
    rejected_at=lambda: Fitted(coin(1), np.array([[0.0], [0.0], [2.0]])),
)
def biconjugate(guess: Fitted, factor: float = 2.0) -> CheckResult:
    r"""$L_{\mathrm{BE}}(Q)(s, a) = E[\delta_Q \mid s, a]^2 = \max$ over $h$ of $2 E[\delta_Q \mid
    s, a] h - h^2$.

    Where: Section 4, display of the "Bi-Conjugate Trick"; the square is that of the expectation.

    Assumes: $Q$ bounded.

    Decided: $2x h - h^2 = x^2 - (x - h)^2$. The maximum is searched for by golden section and
    compared with the squared Bellman error summed over the successors.
    """
    delta = factor / 2 * (backup(guess) - guess.q)
    reach = 2 * np.abs(delta) + 1.0
    best = oracle.golden_maximum(lambda h: bi_conjugate(delta, h), -reach, reach)
    return agree(guess, best, population(guess).bellman())


def zeta_with_beta(probe: Fitted, power: int = 1) -> CheckResult:
    r"""With $\zeta = (h - r(s, a) + Q(s, a))/\beta$, that is $\rho = h + Q = r + \beta \zeta$, the
    biconjugate $2 E[\delta] h - h^2$ is $E[L_{\mathrm{TD}}] - \beta^2 E[(V_Q(s') - \zeta)^2]$, for
    every $\zeta$.

    Decided: by substitution, $E[(\hat T Q - Q)^2 - (\hat T Q - \rho)^2]$ with $\hat T Q - \rho =
    \beta (V_Q(s') - \zeta)$; compared at arbitrary $\zeta$, not at the maximum alone.
    """
    h = probe.mdp.reward + probe.mdp.discount**power * probe.dual - probe.q
    dual = 2 * (population(probe).backup() - probe.q) * h - h**2
    return agree(probe, by_pair(probe, probe.dual).bellman, dual)


@claim.misprint(
    "eq:zeta-reparametrisation",
    instances=probes(),
    counterexample=lambda: Fitted(absorbing([[0.0]]), np.zeros((1, 1)), np.ones((1, 1))),
    text=(
        r"One state, one action, $r = 0$, $\beta = 1/2$, $Q = 0$, hence $V = 0$, and $\zeta = "
        "1$.",
        r"Lemma OurBiconj's objective is $-\beta^2 \zeta^2 = {observed:.2f}$;",
        r"the printed $h = \zeta + r - Q = 1$ gives $2 E[\delta] h - h^2 = {bound:.2f}$.",
    ),
    corrected=zeta_with_beta,
    broken="rho = r + beta^2 zeta",
    rejected={"power": 2},
)
def zeta_reparametrisation(probe: Fitted) -> CheckResult:
    r"""Re-parametrising $h$ by $\zeta = h - r(s, a) + Q(s, a)$ turns $2 E[\delta] h - h^2$ into the
    objective of Lemma OurBiconj, $E[L_{\mathrm{TD}}] - \beta^2 E[(V_Q(s') - \zeta)^2]$.

    Where: Section 4, "By further re-parametrizing $h$ using $\zeta = h - r(s,a) + Q(s,a)$, after
    some algebra, we arrive at Lemma OurBiconj".

    Assumes: $Q$ bounded, $0 < \beta < 1$.

    Decided: a factor $\beta$ is lost: the printed $\zeta$ is the appendix's $\rho - r = \beta
    \zeta$, and its optimum $\beta E[V]$ would give $r = Q^* - \zeta^*$, against Lemma OurBiconj
    (b). The appendix has it right $(\rho = r + \beta \zeta)$.
    """
    return zeta_with_beta(probe, power=0)


def rho_form(probe: Fitted, target: Array) -> CheckResult:
    """The rho form at target + t against L_BE - t^2, for a drawn t at each pair."""
    zeta = (target + probe.dual - probe.mdp.reward) / probe.mdp.discount
    bound = population(probe).bellman() - probe.dual**2
    return agree(probe, by_pair(probe, zeta).bellman, bound)


# --- Lemma OurBiconj
@claim.holds(
    "lem:OurBiconj.a",
    instances=fitted(),
    broken="beta D(Q) in place of beta^2 D(Q)",
    rejected={"power": 1},
    rejected_at=lambda: Fitted(coin(1), np.array([[0.0], [0.0], [2.0]])),
)
def our_biconj_a(guess: Fitted, power: int = 2) -> CheckResult:
    r"""$L_{\mathrm{BE}}(Q)(s, a) = E[L_{\mathrm{TD}}(Q)(s, a, s')] - \beta^2 D(Q)(s, a)$, where
    $D(Q)(s, a)$ is the least $E[(V_Q(s') - \zeta)^2 \mid s, a]$ over $\zeta$.

    Where: Section 4, Lemma OurBiconj (a).

    Assumes: $Q$ bounded.

    Decided: $\hat T Q - TQ = \beta (V_Q(s') - E[V_Q(s')])$. Twice: with the library's risk, whose
    $\zeta$ is the conditional mean, and with a minimum over $\zeta$ searched for by golden section.
    """
    model, risk = population(guess), by_pair(guess)
    beta = guess.mdp.discount
    return weakest(
        agree(guess, replace(risk, discount=beta ** (power / 2)).bellman, model.bellman()),
        agree(guess, (backup(guess) - guess.q) ** 2, model.td() - beta**power * model.deviation()),
    )


@claim.holds(
    "lem:OurBiconj.b",
    instances=tabular_mdps(),
    broken="r = Q* - zeta*, which the zeta of the text (without 1/beta) would give",
    rejected={"power": 0},
    rejected_at=lambda: absorbing([[1.0]]),
)
def our_biconj_b(mdp: TabularMDP, power: int = 1) -> CheckResult:
    r"""$r(s, a) = Q^*(s, a) - \beta \zeta^*(s, a)$, where $\zeta^*(s, a)$ is the minimiser over
    $\zeta$ of $E[(V^*(s') - \zeta)^2 \mid s, a]$.

    Where: Section 4, Lemma OurBiconj (b).

    Assumes: $Q^*$ solves Equation QBellman at every pair.

    Decided: $\zeta^* = E[V^*(s') \mid s, a]$ and $Q^* = r + \beta E[V^*(s') \mid s, a]$. $Q^*$ is
    solved for, $\zeta^*$ found from values of the objective alone and by the library's conditional
    mean; $r$ is given.
    """
    guess = Fitted(mdp, mdp.solution.q)
    model = population(guess)
    centre = np.full(guess.q.shape, float(np.mean(model.v)))
    step = max(1.0, float(np.ptp(model.v)))
    low, high = model.spread(centre - step), model.spread(centre + step)
    vertex = centre + (low - high) / (4 * step)  # the second derivative is 2
    counts = Counts(mdp.features, np.ones((1, *guess.q.shape)), mdp.transition[None])
    mean = conditional_mean(value(guess.q)[None], counts)[0]
    tolerance = 1e-11 * (1.0 + float(np.abs(guess.q).max()))
    why = "Q* is solved to a relative Bellman residual of 1e-12"
    sides = (guess.q - mdp.discount**power * zeta for zeta in (mean, vertex))
    return weakest(*(equal(side, mdp.reward, tolerance, why) for side in sides))


# --- Theorem algoEQ; the anchor is action 0
def _scale(probe: Fitted) -> float:
    star = probe.mdp.solution
    sides = (probe.mdp.reward, probe.q, value(probe.q), star.q, star.v, probe.dual)
    return 1.0 + sum(float(np.abs(x).max()) for x in sides)


@st.composite
def _candidates(draw: st.DrawFn) -> Fitted:
    """Any Q, or one that only states after the first can tell from Q*."""
    probe = draw(probes())
    return probe._replace(q=draw(partly_solved(probe.mdp, probe.q)))


_TABLE = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]])


@claim.holds(
    "thm:algoEQ",
    instances=_candidates(),
    broken="term 3 without the indicator of the anchor: D(Q) subtracted at every pair",
    rejected={"anchored": False},
    rejected_at=lambda: Fitted(coin(2), _TABLE, np.zeros((3, 2))),
    cost=2,
)
def algo_eq(probe: Fitted, anchored: bool = True) -> CheckResult:
    r"""min over $Q$ of $R_{\exp}(Q)$ equals min over $Q$ of max over $\zeta$ of $E[-\log p_Q(a \mid
    s) + \mathbf{1}\{a = a_s\} \{(\hat T Q - Q)^2 - \beta^2 (V_Q(s') - \zeta(s, a))^2\}]$. The
    min-max problem identifies $Q^*$ on $\bar S \times A$, and $r = Q^* - \beta \zeta^*$ with the
    $\zeta^*$ of Lemma OurBiconj.

    Where: Section 4, Theorem algoEQ; "on $\bar S \times A$" is added here: the theorem prints
    "$Q^*$ is uniquely identified", and Theorem mainopt, on which it rests, says where.

    Assumes: data follow $\pi^*$ from $\nu_0$ (here discounted); the anchor's reward is known; $Q$
    bounded.

    Decided: at every $Q$, not at the minimum alone, the maximum over $\zeta$ is $R_{\exp}(Q)$, and
    other $\zeta$ give less. $Q - Q^*$ on $\bar S$ is rebuilt from the two terms that the risk
    measures, $\log p_Q - \log \pi^*$ and the anchor residual. Where both vanish, $Q = Q^*$. The
    risk exceeds its value at $Q^*$ by at least either term at any $s$ of $\bar S$, weighed by the
    likeliest path to $s$. Measured with visits summed period by period as weights, the library's
    risk with the library's. The min-max leaves $\zeta$ free at pairs other than the anchor's; $r$
    needs the $\zeta^*$ of the lemma, as the theorem says.
    """
    mdp, star, scale = probe.mdp, probe.mdp.solution, _scale(probe)
    model, excess = population(probe), excess_over(mdp, probe.q)
    weight = excess.weight[:, None] * star.policy
    log_p = probe.q - model.v[:, None]
    residual = (model.backup() - probe.q)[:, 0]
    expected = float(-np.sum(weight * log_p) + weight[:, 0] @ residual**2)  # R_exp as defined
    best = float(population_risk(mdp, probe.q).total()[0])
    if not anchored:
        best -= mdp.discount**2 * float(np.sum((weight * model.deviation())[:, 1:]))
    some = float(population_risk(mdp, probe.q, probe.dual).total()[0])
    least = float(population_risk(mdp, star.q).total()[0])
    # uniqueness: log p - log pi* and the anchor residual on S-bar give back Q - Q* there
    there = np.flatnonzero(reachable(mdp.initial, mdp.transition))
    ratio = (log_p - (star.q - star.v[:, None]))[there]
    system = np.eye(len(there)) - mdp.discount * model.transition[there, 0][:, there]
    shift = np.linalg.solve(system, -residual[there] - ratio[:, 0])
    gap = (probe.q - star.q)[there] - (ratio + shift[:, None])
    solved = 1e-11 * scale / (1 - mdp.discount)
    square = 1e-13 * scale**2
    rounding = "rounding in squares of r, Q, V and zeta"
    why = rounding + "; Q* to 1e-12, condition 1/(1 - beta)"
    return weakest(
        equal(best, expected, square, rounding),
        at_least(expected - some, 0.0, square, rounding),
        at_least(best - least, np.max(excess.floor * excess.terms), square + solved, why),
        zero(gap, solved, "Q* to 1e-12, condition 1/(1 - beta)"),
        our_biconj_b(mdp),
    )


# --- which regression zeta-tilde solves
def _below(probe: Fitted, observed: float, least: float) -> CheckResult:
    tolerance, why = 1e-13 * _scale(probe) ** 2, "rounding in squares of V and zeta"
    return at_most(observed - least, 0.0, tolerance, why)


def all_pairs_minimiser(probe: Fitted, shared: bool = False) -> CheckResult:
    r"""Every minimiser of $E[(V_Q(s') - \zeta(s, a))^2]$ also minimises $E[\mathbf{1}\{a = a_s\}
    (V_Q(s') - \zeta(s, a))^2]$, so the former may stand in Equation modifiedExpRM; the converse is
    false.

    Decided: both sums split over pairs, and the pairs of the second are among those of the first.
    The all-pairs minimiser, each pair's mean of $V_Q(s')$, is put into the anchor-only sum.
    """
    # `shared`: one zeta a state.
    model, weight = population(probe), probe.mdp.discounted_occupancy()
    zeta = model.mean(model.v)
    if shared:
        seen = np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
        zeta = np.broadcast_to((weight * zeta / seen).sum(axis=1, keepdims=True), zeta.shape)
    least = float(weight[:, 0] @ model.deviation()[:, 0])
    return _below(probe, float(population_risk(probe.mdp, probe.q, zeta).deviation[0]), least)


def _two_actions() -> Fitted:
    probe = Fitted(absorbing([[0.0, 0.0]]), np.zeros((1, 2)), np.ones((1, 2)))
    zeta = population(probe).mean(population(probe).v)
    anchor_only = population_risk(probe.mdp, probe.q, zeta).deviation[0]
    assumed(anchor_only < 1e-25, "zeta-tilde minimises the anchor-only regression")
    return probe


@claim.fails(
    "eq:expzeta",
    instances=probes(),
    counterexample=_two_actions,
    text=(
        r"One state, two actions, $Q = 0$, so $V = \log 2$ always and $\pi = (1/2, 1/2)$; anchor "
        "0.",
        r"$\zeta = (\log 2, \log 2 + 1)$ has anchor-only loss 0, the least. Over all pairs its "
        "loss is",
        "$1/2 (0)^2 + 1/2 (1)^2$, {observed:.2f} above the least; it must be {bound:.0f} above.",
    ),
    corrected=all_pairs_minimiser,
    broken="zeta a function of the state alone, shared by the actions",
    rejected={"shared": True},
    rejected_at=lambda: Fitted(coin(2), _TABLE, np.zeros((3, 2))),
    cost=2,
)
def expzeta(probe: Fitted) -> CheckResult:
    r"""Every $\zeta$ in $\mathrm{argmin}\, E[\mathbf{1}\{a = a_s\} (V_Q(s') - \zeta(s, a))^2]$ is
    also in $\mathrm{argmin}\, E[(V_Q(s') - \zeta(s, a))^2]$.

    Where: Section 4, Equation expzeta: "But such $\tilde\zeta$ also satisfies ... because".

    Assumes: $\zeta$ ranges over all of $\mathbb{R}^{S \times A}$; every pair of $\bar S$ has
    positive probability.

    Decided: the first objective does not read $\zeta$ at other pairs than the anchor's, where
    $\zeta$ is then arbitrary. The substitution that the paper makes needs only the converse, which
    is true.
    """
    model = population(probe)
    zeta = model.mean(model.v)
    zeta[:, 1:] += probe.dual[:, 1:]
    actions = range(probe.q.shape[1])
    risks = (population_risk(probe.mdp, probe.q, zeta, anchor=a) for a in actions)
    least = float(np.sum(probe.mdp.discounted_occupancy() * model.deviation()))
    return _below(probe, sum(float(risk.deviation[0]) for risk in risks), least)
