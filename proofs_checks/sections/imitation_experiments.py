"""Section 8, Imitation Learning experiments: Table 4."""

import math
from fractions import Fraction

from hypothesis import strategies as st

from proofs_checks.claims.claims import CheckResult, at_least, at_most, claim, equal, weakest
from proofs_checks.claims.printed_tables import cell, printed, rows

Game = tuple[str, float]  # a row of Table 4, and the critical value of a test of its two means
GAMES = rows("table_4")
BEYOND_NOISE = {"LunarLander-v2/1": -1, "LunarLander-v2/7": 1}  # sign of BC's lead


def _lead(row: str) -> Fraction:
    """By how much BC is ahead of Gladius, in per cent of optimality; Acrobot: smaller is better."""
    bc, ours = (cell("table_4", row, method, "% optimality").value for method in ("BC", "Gladius"))
    return (ours - bc) if row.startswith("Acrobot") else (bc - ours)


def _score(row: str, episodes: int) -> float:
    """BC's lead over its standard error; where all episodes are equal both are zero."""
    deviations = (cell("table_4", row, name, "% optimality sd").value for name in ("BC", "Gladius"))
    error = math.hypot(*map(float, deviations)) / math.sqrt(episodes)
    lead = float(_lead(row))
    return lead and lead / error


def bc_mostly_ahead(game: Game, episodes: int = 100) -> CheckResult:
    r"""Of the 15 cells of Table 4, BC is ahead of ERM-IRL in 8, equal in 5 (Cartpole) and behind in
    2. Beyond the noise of 100 episodes, at 5 %, it is ahead in one cell (Lunar Lander, 7
    trajectories). It is behind in one (Lunar Lander, 1 trajectory).

    Decided: differences over $\sqrt{(\text{sd}^2 + \text{sd}^2) / 100}$: 2.55 and -2.27 at these
    two, at most 1.47 elsewhere, so the same at any level from 2.4 to 14 %. How much one training
    run differs from the next, the paper does not report.
    """
    (row, critical), leads = game, [_lead(row) for row in GAMES]
    ahead, behind = sum(d > 0 for d in leads), sum(d < 0 for d in leads)
    score, double = _score(row, episodes), "double precision"
    return weakest(
        equal(Fraction(ahead), Fraction(8), 0, "whole numbers"),
        equal(Fraction(behind), Fraction(2), 0, "whole numbers"),
        at_least(BEYOND_NOISE[row] * score, critical, 1e-12, double)
        if row in BEYOND_NOISE
        else at_most(abs(score), critical, 1e-12, double),
    )


@claim.fails(
    "text.bc-consistently-better",
    instances=st.tuples(st.sampled_from(GAMES), st.floats(1.48, 2.26)),
    counterexample=lambda: ("LunarLander-v2/1", 1.96),
    text=(
        "Lunar Lander, 1 trajectory: Gladius 107.30 (in bold), BC 103.38, larger is better.",
        "BC's lead: {observed:.2f}, 2.27 standard errors of 100 episodes; with 3 trajectories "
        "-2.18.",
        "Cartpole: equal in all five cells.",
    ),
    corrected=bc_mostly_ahead,
    broken="the deviations of episodes taken for standard errors of their mean",
    rejected={"episodes": 1},
    rejected_at=lambda: ("LunarLander-v2/7", 1.96),
)
def bc_consistently_better(game: Game) -> CheckResult:
    """In Table 4, BC is at least as good as ERM-IRL in every cell.

    Where: Section 8.2, "BC consistently outperforms ERM-IRL in terms of % optimality"; Section 8,
    "BC consistently achieves better performance in terms of ... policy accuracy".

    Assumes: "consistently outperforms" allows ties; larger is better in Lunar Lander and Cartpole,
    smaller in Acrobot, as the table says.

    Decided: from the printed means; the table itself sets Gladius in bold in two cells.
    """
    return at_least(_lead(game[0]), Fraction(0), 0, "exact fractions of the printed digits")


# A table, one of its rows, and a method beside GLADIUS.
Rival = tuple[str, str, str]


def _rivals(table: str) -> list[Rival]:
    others = {"table_2": ["Rust", "ML-IRL", "SAmQ", "IQ-learn", "BC"]}
    names = others.get(table, ["SAmQ", "IQ-learn", "BC"])
    return [(table, row, m) for row in rows(table) for m in names if printed(table, row, m)]


@claim.holds(
    "abstract.outperforms",
    condition="of the printed means, Table 2 and Figure 1",
    instances=st.sampled_from(_rivals("table_2") + _rivals("figure_1")),
    broken="by at least one of its own (SE)",
    rejected={"errors": 1},
    rejected_at=lambda: ("table_2", "50", "Rust"),
)
def consistently_outperforms(rival: Rival, errors: int = 0) -> CheckResult:
    """ "Through a series of synthetic experiments, we demonstrate that our approach consistently
    outperforms benchmark methods and state-of-the-art alternatives". This is decided of the printed
    means alone. In every row of Table 2 and of the table of Figure 1, GLADIUS has the smallest
    printed mean, oracles included. Whether the experiments demonstrate it is another question.

    Where: Abstract; Section 1, "a series of simulations: (1) The Rust bus engine ... (2) A
    high-dimensional variant"; Section 7.3, "at least on par with ... Oracle baselines".

    Assumes: printed means, whatever their noise; the experiments are those that Section 1 names.

    Decided: the printed means of all 40 pairs, 28 and 12. It is no statement beyond noise: with 50
    trajectories the lead over Rust is a seventh of GLADIUS's "(SE)". Nor is it one on the method:
    finding 1 in the README says what the means of Table 2 rest on. In Table 4 BC is ahead in 8 of
    15 cells.
    """
    table, row, name = rival
    ours, theirs = (cell(table, row, m, "MAPE").value for m in ("GLADIUS", name))
    lead = theirs - ours - errors * cell(table, row, "GLADIUS", "MAPE", which="se").value
    return at_least(lead, Fraction(0), 0, "exact fractions of the printed digits")
