"""Section 7, Offline IRL/DDC experiments: the network, and sentences against the tables."""

import math
from collections import namedtuple
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import mpmath
import numpy as np
from hypothesis import strategies as st

from gladius.designs.bus import DUMMY_LIMIT, BusEngine
from gladius.designs.efficiency import Bounds, bounds
from gladius.validate import Array
from proofs_checks.claims import printed_tables as paper
from proofs_checks.claims.claims import CheckResult, at_least, at_most, claim, equal, weakest
from proofs_checks.claims.printed_tables import (
    EXACT,
    HALF,
    Interval,
    Method,
    implied_mape,
    reported,
)
from proofs_checks.claims.under_check import MLP
from proofs_checks.oracle import tables as oracle

HIDDEN = (10, 10)


class Run(namedtuple("Run", "dummies trajectories number")):
    """A data set of the bus engine and a random start of the 2 x 10 network, by number."""

    def data(self) -> tuple[Array, int]:
        """X_Q of the training trajectories (80 %), standardised, and M."""
        world = BusEngine(dummies=self.dummies)
        rng = np.random.default_rng([self.number, self.dummies])
        training = world.simulate(max(1, self.trajectories * 4 // 5), rng)
        after = training.next_states[training.actions == world.anchor_action]
        states = np.unique(np.concatenate([training.states, after]), axis=0)
        spread: Array = (states - states.mean(axis=0)) / states.std(axis=0)
        return spread, len(states) * training.number_of_actions

    def rank(self, states: Array) -> tuple[int, int]:
        """Rank of J_Q on these states at the random start, by the library, and its rows."""
        network = MLP(1 + self.dummies, 2, HIDDEN)
        theta = network.init([np.random.default_rng([7, self.number])])
        rows = network.jacobian(theta, states)[1].reshape(-1, network.size)
        return int(np.linalg.matrix_rank(rows, tol=1e-12 * np.linalg.norm(rows))), len(rows)


RANKS = "ranks: singular values below 1e-12 of the norm are rounding"


def more_parameters_than_points(run: Run, actions: int = 2) -> CheckResult:
    r"""(ii) needs as many parameters as evaluation points. On the paper's data it can hold for $K =
    0$ only $(M \leq 40 < 152 = d)$, and does at a random tanh start. For $K = 2$ to 100, $M$
    exceeds $d$.

    Decided: $J_Q$ has $M$ rows and $d = 10 K + 152$ columns. Whether the library's Jacobian at a
    random start has full row rank (on as many states as show a deficient rank), against a count of
    parameters, distinct states and actions, on data sets as in the paper.
    """
    states, points = run.data()
    size = MLP(1 + run.dummies, 2, HIDDEN).size
    rank, rows = run.rank(states[: size // 2 + 1])
    return equal(rank == rows, points * actions / 2 <= size, 0.0, RANKS)


@claim.does_not_hold(
    "exp.jacobian-condition",
    instances=st.builds(Run, st.just(0), st.sampled_from([50, 250, 500, 1000]), st.integers(0, 99))
    | st.builds(Run, st.sampled_from([2, 5, 20, 50, 100]), st.just(50), st.integers(0, 99)),
    cost=20,
    counterexample=lambda: Run(2, 1000, 0),
    text=(
        "$K = 2$, 1,000 trajectories, 800 of them for training: over 3,600 distinct states, two "
        "outputs at each.",
        r"The network has $3 \times 10 + 10 + 10 \times 10 + 10 + 10 \times 2 + 2 = 172$ "
        "parameters, so $J J'$ has rank 172 at most.",
        "Rank {observed:.0f} at a random start; (ii) needs {bound:,.0f}.",
    ),
    corrected=more_parameters_than_points,
    broken="M counted as states, not as pairs of state and action",
    rejected={"actions": 1},
    rejected_at=lambda: Run(2, 1, 0),
    inferred="the experiments follow guarantees that assume Assumption nonSingularJac (ii)",
)
def condition_in_the_experiments(run: Run) -> CheckResult:
    """The network and data of the experiments satisfy Assumption nonSingularJac (ii), $K = 0$ to
    100.

    Where: Section 7, "two hidden layers and 10 perceptrons for each hidden layer", with the
    guarantees of Section 6. The paper does not say that they satisfy it, nor that they do not.

    Assumes: one output of $Q$ for each action; inputs standardised (raw ones make $J_Q$ worse).

    Decided: by counting rows and columns. With the action as an input $d$ is $10 K + 151$, no
    better. For $K = 0$ the condition holds at a random tanh start. On a ball see
    asmp:nonSingularJac.networks.
    """
    states, points = run.data()
    return equal(run.rank(states)[0], points, 0.0, RANKS)


# --- who is better where
def _near(method: Method, actions: range, weighted: bool = True) -> tuple[CheckResult, CheckResult]:
    """GLADIUS's error at mileages 1 to 5 surely below an oracle's; surely above it."""
    ours = implied_mape(Method(method.trajectories, "GLADIUS"), range(1, 6), actions, weighted)
    theirs = implied_mape(method, range(1, 6), actions, weighted)
    return (at_most(ours[1], theirs[0], 0, EXACT), at_least(ours[0], theirs[1], 0, EXACT))


def better_by_action(method: Method, weighted: bool = True) -> CheckResult:
    """With 1,000 trajectories GLADIUS's predictions at mileages 1-5 are better than Rust's and
    ML-IRL's: 0.35 % off against 0.98 and 1.13. With 50 they are better than ML-IRL's and worse than
    Rust's: 3.68 % off against 4.24 and 3.60. The gap to Rust's is small beside Table 2's bracket of
    1.28. Of maintenance alone they are worse than both with 50 trajectories: 6.13 % off against
    Rust's 3.49 and ML-IRL's 4.10. Of replacement they are better throughout.

    Decided: frequency-weighted errors of Tables A1 and A3, for all values that round to the printed
    digits. The reward of replacement is all but exact (0.02 and 0.06 % off) in the GLADIUS columns,
    as that of an anchor, which the method is given and the oracles estimate.
    """
    few = method.trajectories == 50
    return weakest(
        _near(method, paper.ACTIONS, weighted)[few and method.name == "Rust"],
        _near(method, range(1), weighted)[few],
        _near(method, range(1, 2), weighted)[0],
    )


@claim.holds_if(
    "text.who-is-better-where",
    condition="1,000 trajectories (with 50, GLADIUS is worse than Rust at mileages 1-5)",
    instances=st.sampled_from([Method(n, m) for n, m in product(paper.TABLES, paper.ORACLES)]),
    counterexample=lambda: Method(50, "Rust"),
    text=(
        r"Table A1, (1, a0), 412 of 1,000 pairs: $|\hat r - r| = 0.074$ for GLADIUS, 0.035 for "
        "Rust.",
        "Mean error at mileages 1-5, frequency-weighted: GLADIUS at least {observed:.3f} %, "
        "Rust at most {bound:.3f} %.",
        "At mileages 6-10: 0.83 and 3.74 %; GLADIUS's lead in the total (3.45 against 3.61 %) "
        "comes from there.",
    ),
    corrected=better_by_action,
    broken="the mileages not weighted by their frequencies",
    rejected={"weighted": False},
    rejected_at=lambda: Method(50, "ML-IRL"),
)
def who_is_better_where(method: Method) -> CheckResult:
    """At mileages 1-5 the oracles' predictions of $r$ are slightly worse than GLADIUS's.

    Where: Section 7.3, "This makes Oracle baseline predictions for states with mileage 1-5 slightly
    worse than GLADIUS" and "GLADIUS's weakness in extrapolation for mileage 6-10 matters less",
    with Table 3 and Appendix A cited for it.

    Assumes: "worse" on average over the pairs of mileages 1-5, weighted as the MAPE weights them.
    Pair by pair this is false at both sizes (Table 3, mileage 2: 0.065 against Rust's 0.023).

    Decided: by exact interval arithmetic. True with 1,000 trajectories, and with 50 of ML-IRL. The
    gap to Rust with 50, 0.08 points, is one repetition's and far within its noise ("(SE)" 1.28). So
    the tables cited do not bear the sentence out there, but they do not show that Rust is better.
    """
    surely_above = _near(method, paper.ACTIONS)[1]
    return at_most(surely_above.observed, surely_above.bound, 0, EXACT)


def _lead_at(method: Method, mileages: range) -> Interval:
    """What these mileages contribute to GLADIUS's lead over an oracle, in points of the MAPE."""
    counts = [sum(row) for row in paper.frequencies(method.trajectories)]
    share = Fraction(sum(counts[x - 1] for x in mileages), sum(counts))
    ours, theirs = (implied_mape(m, mileages) for m in (Method(method[0], "GLADIUS"), method))
    return share * (theirs[0] - ours[1]), share * (theirs[1] - ours[0])


def because_of_the_frequent(method: Method, alone: bool = False) -> CheckResult:
    """With 1,000 trajectories, and against ML-IRL with 50, most of GLADIUS's lead in the MAPE comes
    from mileages 1 to 5. Against Rust with 50, all of it comes from mileages 6 to 10.

    Decided: the two contributions add up to the lead, in interval arithmetic on the printed digits.
    """
    near, far = _lead_at(method, range(1, 6)), _lead_at(method, range(6, 11))
    if method == Method(50, "Rust"):
        return weakest(at_most(near[1], 0, 0, EXACT), at_least(far[0], 0, 0, EXACT))
    return at_most(far[1], 0, 0, EXACT) if alone else at_least(near[0], far[1], 0, EXACT)


@claim.holds_if(
    "text.who-is-better-where.because",
    condition="1,000 trajectories, or the oracle is ML-IRL",
    instances=st.sampled_from([Method(n, m) for n, m in product(paper.TABLES, paper.ORACLES)]),
    counterexample=lambda: Method(50, "Rust"),
    text=(
        "Tables A1, 50 trajectories, lead over Rust in the MAPE, in points: mileages 1-5 "
        "contribute {observed:.3f} at most,",
        "mileages 6-10 {bound:.3f} at least. At 6-10 GLADIUS errs by 0.83 %, Rust by 3.74 %.",
    ),
    corrected=because_of_the_frequent,
    broken="with 1,000 too, all of the lead from mileages 1-5",
    rejected={"alone": True},
    rejected_at=lambda: Method(1000, "Rust"),
)
def because_better_at_frequent_pairs(method: Method) -> CheckResult:
    """GLADIUS's lead in the MAPE is due to mileages 1-5: they contribute more of it than 6-10.

    Where: Section 7.3, items 1 and 2, as the reason for "why do the Oracle baselines ... not beat
    our approach", and Appendix A, "This is because it overall outperforms ... that appear most
    frequently".

    Assumes: the MAPE is the mean over pairs weighted by the printed frequencies.

    Decided: exact fractions. The lead over Rust with 50 trajectories is within the noise of one
    repetition. So the tables do not bear the reason out, but they do not refute it in general.
    """
    near, far = _lead_at(method, range(1, 6)), _lead_at(method, range(6, 11))
    return at_least(near[1], far[0], 0, EXACT)


# --- Table 2 and an efficiency bound
@cache
def _bounds(trajectories: float) -> Bounds:
    bus = BusEngine()
    return bounds(bus.mdp, bus.horizon, [trajectories], bus.anchor_action)


def _gladius_mape(trajectories: int) -> Fraction:
    """Table 2's MAPE of GLADIUS, the largest number that is printed so."""
    return reported(Method(trajectories, "GLADIUS"))[0].interval[1]


ASYMPTOTIC = "rounding of a 20 x 20 linear solve; the printed digits are taken at their largest"


def below_every_bound(trajectories: int, bound: str = "affine_known_p") -> CheckResult:
    """Each of Table 2's six MAPEs of GLADIUS lies below the least expected MAPE of a regular
    estimator, to first order. It learns from the training split. This is so even for one that knows
    the transition probabilities, the anchor's reward, and that $r(x, a0)$ is affine in $x$. The
    expectation is over data sets. What it means for one data set is open.

    Decided: that bound is 4.51, 2.02, 1.43, 1.01, 0.64 and 0.45 %, against 3.44, 0.84, 0.55, 0.52,
    0.13 and 0.12. The unit of replication is not known. The paper says "20 repetitions". The public
    code has one data set for each size, smaller ones inside larger ones, and goes on training one
    network. One data set can have an error below the expected one by chance. Control: an estimator
    that knows the intercept too has a smaller bound, which no printed error is below.
    """
    expected = getattr(_bounds(0.8 * trajectories), bound)[0]
    return at_most(_gladius_mape(trajectories), expected, 1e-6, ASYMPTOTIC)


@claim.does_not_hold(
    "text.below-the-bound",
    instances=st.sampled_from([50, 250, 500, 1000, 2500, 5000]),
    counterexample=lambda: 2500,
    text=(
        "The paper does not claim this; we compare Table 2 with a bound.",
        "$N = 2,500$: MAPE 0.13, so at most {observed:.3f} % before rounding.",
        r"Least first-order expected MAPE with 2,000 training trajectories and $r(\cdot, a0)$ "
        "free: {bound:.3f} %.",
    ),
    corrected=below_every_bound,
    broken="the bound for an estimator that knows the intercept too",
    rejected={"bound": "known_p_slope"},
    rejected_at=lambda: 250,
    inferred="we compare Table 2 with a bound",
)
def below_the_bound(trajectories: int) -> CheckResult:
    r"""The GLADIUS column of Table 2 is the expected error of some regular estimator. That
    estimator learns from the training split, the anchor's reward and $\beta$.

    Where: Table 2, with "we keep 80% of the trajectories in any experiment for training/learning
    the reward function, and the remaining 20% is used for evaluation/testing".

    Assumes: $r(\cdot, a0)$ and the transitions unrestricted, as for a network; the printed numbers
    are read as expected errors. "Regular" is our word.

    Decided: by the semiparametric efficiency bound at the true reward, which is of first order. It
    does not bind the error on one data set. Nor does it bind an estimator whose epoch the true
    reward chooses, or one that starts at the true level of $Q$.
    """
    bound = _bounds(0.8 * trajectories).tabular[0]
    return at_least(_gladius_mape(trajectories), bound, 1e-6, ASYMPTOTIC)


# --- which action replaces
Row = tuple[int, int]  # 50 or 1,000 trajectories, whose tables are meant, and a mileage


def action_one_replaces(row: Row, action: int = 1) -> CheckResult:
    r"""The replacement action (action 1) resets the mileage to 1.

    Decided: in Tables A1 to A4, action a1 has $r = -\theta_1$ and $Q = -\theta_1 + \beta V(1)$ at
    every mileage. At mileage 5 only $Q$ tells the actions apart: both rewards are -5.
    """
    trajectories, mileage = row
    r, q = (paper.values(trajectories, "Ground Truth", symbol) for symbol in "rQ")
    reset = -5.0 + oracle.DISCOUNT * math.log(sum(math.exp(x) for x in q[0]))
    return weakest(
        equal(r[mileage - 1, action], -5.0, 0, "both are whole numbers"),
        equal(q[mileage - 1, action], reset, 2 * HALF, "rounding of Q and, by beta, of V"),
    )


@claim.misprint(
    "text.action-zero",
    instances=st.sampled_from(list(product(paper.TABLES, paper.MILEAGES))),
    counterexample=lambda: (1000, 1),
    text=(
        r"Section 7.1: $d = 1$ denotes replacement; $r = -\theta_1 = -5$, and it leads to "
        "mileage 1.",
        "Tables 3, A1, A3: $r(1, a0) = {observed:.0f}$, the maintenance cost, not {bound:.0f}.",
    ),
    corrected=action_one_replaces,
    broken="the column of a0 read for that of a1",
    rejected={"action": 0},
    rejected_at=lambda: (50, 5),
)
def action_zero(row: Row) -> CheckResult:
    """The replacement action (action 0) resets the mileage to 1.

    Where: Section 7.3, item 1: "the replacement action (action 0) resets the mileage to 1".

    Assumes: the labels of Section 7.1 ("$d = 1$ denotes replacement") and of the tables.

    Decided: action 0 is printed with the rewards -1 to -10, the maintenance costs, and Table 3's
    caption calls those "for action 0".
    """
    return action_one_replaces(row, action=0)


# --- how many states
def states_of_21_values(dummies: int, values: int = 21) -> CheckResult:
    r"""Each dummy variable has 21 possible values: $21^{10} = 1.7 \times 10^{13}$ configurations of
    10 dummies and $21^{100} = 1.7 \times 10^{132}$ of 100.

    Decided: by exact whole numbers. The mileage multiplies the number of states by 20.
    """
    with mpmath.workdps(50):
        exact = mpmath.log10(len(range(-DUMMY_LIMIT, DUMMY_LIMIT + 1)) ** dummies)
        stated = dummies * mpmath.log10(values)
    return equal(exact, stated, 1e-12 * dummies, "50 digits, then double precision")


@claim.misprint(
    "text.state-space-size",
    instances=st.integers(1, 100),
    counterexample=lambda: 100,
    text=(
        r"$\{{-10, -9, \dots, 9, 10\}}$ has 21 elements; $21^{{100}} = "
        f"{21**100:.3g}"
        "$, $20^{{100}} = "
        f"{20**100:.3g}"
        "$.",
        "Powers of ten: {observed:.2f}, printed {bound:.2f}.",
    ),
    corrected=states_of_21_values,
    broken="20 values, zero or an end left out",
    rejected={"values": 20},
    rejected_at=lambda: 1,
)
def state_space_size(dummies: int) -> CheckResult:
    r"""Each dummy variable has 20 possible values: $20^{10} \sim 10^{13}$ and $20^{100} \sim
    10^{130}$ states.

    Where: Section 7.3, "Each dummy variable is of dimension 20", "10 dummy variables with 20
    possible values each", "$20^{100} \sim 10^{130}$ distinct configurations".

    Assumes: "each $s^k$ is an i.i.d. random draw from $\{-10, -9, \dots, 9, 10\}$" (Section 7.1).

    Decided: that set has 21 elements. $20^{10} = 1.02 \times 10^{13}$ and $20^{100} = 1.27 \times
    10^{130}$ are right as powers. For 10 dummies the order of magnitude stands. For 100 the true
    number is $(21/20)^{100} = 131.5$ times $20^{100}$, and 166.7 times the rounded $10^{130}$.
    """
    return states_of_21_values(dummies, values=20)


# --- MAPE against the number of dummies
def _figure_1(dummies: object) -> paper.Printed:
    return paper.cell("figure_1", dummies, "GLADIUS", "MAPE")


@claim.holds(
    "text.about-ten-percent",
    instances=st.fractions(*_figure_1(100).interval),
    broken="about 20 %",
    rejected={"stated": 20},
    rejected_at=lambda: _figure_1(100).value,
)
def about_ten_percent(value: Fraction, stated: int = 10) -> CheckResult:
    r"""With $K = 100$ dummies, GLADIUS's MAPE rises only to about 10 %.

    Where: Section 7.3; the table of Figure 1 has 11.35 (4.24) at $K = 100$, 9.76 at $K = 50$.

    Assumes: "about 10 %" is a figure to one significant digit, to the nearest ten.

    Decided: from the printed digits. To two digits it is 11, but the word is "about". The standard
    error is 4.24, or $4.24 / \sqrt{10} = 1.34$ if "(SE)" is a standard deviation. So the number
    itself may be below 10.
    """
    return at_most(abs(value - stated), Fraction(5), 0, EXACT)


@claim.holds(
    "text.sub-linear",
    instances=st.sampled_from(list(combinations(map(int, paper.rows("figure_1")), 2))),
    broken="growth like the root of K claimed",
    rejected={"limit": 0.5},
    rejected_at=lambda: (2, 5),
)
def sub_linear(pair: tuple[int, int], limit: float = 1.0) -> CheckResult:
    r"""GLADIUS's MAPE grows sub-linearly with the size of the state space.

    Where: Section 7.3, "(note the logarithmic x-axis)", whose $x$ is the number $K$ of dummies.

    Assumes: the printed means; their "(SE)", a third of them, would also allow other powers.

    Decided: from row to row MAPE grows like $K$ to the power 0.77, 0.64, 0.52 and 0.22. All are
    below 1 and falling, so the growth is sub-linear in $K$, the stricter reading. In the number of
    states, $20 \times 21^K$, the powers are below 0.08. The growth is not logarithmic in $K$ up to
    $K = 50$: the curve on the logarithmic axis gets steeper.
    """
    low, high = _figure_1(pair[0]).interval[0], _figure_1(pair[1]).interval[1]
    slope = math.log(high / low) / math.log(pair[1] / pair[0])
    return at_most(slope, limit, 1e-14, "double precision; digits rounded against it")
