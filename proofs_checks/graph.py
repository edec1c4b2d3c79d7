"""Which statement of the paper rests on which, and how far an error reaches: table and figure.

uses.csv says what the paper's statements and proofs refer to, and where.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from proofs_checks.numbering import Statement, statements

TABLE = Path(__file__).with_name("uses.csv")
NAME = "theorems"  # of the figure's files
GOALS = ("prop:linConvergence", "thm:distributional_q_bound")
GRAVE = ("", "constant", "theorem")  # what an error reaches, the gravest last
VERDICTS = ("", "holds", "misprint", "holds-if", "fails")  # the worst last; "": no claim about it
# Column and row of each statement from which a goal is reached. Edges run downwards.
PLACES = {
    "ass:IRLoptimaldecision": (0.0, 0),
    "ass:anchor": (0.8, 0),
    "lem:completeMetric": (1.6, 0),
    "lem:linPolyNonsingular": (2.7, 0),
    "lem:NNenjoysPL": (3.5, 0),
    "lem:minMLE": (0.0, 1),
    "thm:MagnacThesmar": (0.8, 1),
    "lem:sharingsol": (1.6, 1),
    "ass:nonSingularJac": (3.1, 1),
    "lem:finite_output_pl_transfer": (3.95, 1),
    "lem:bellman_shift_coercivity": (4.75, 1),
    "thm:mainopt": (0.8, 2),
    "lem:OurBiconj": (1.7, 2),
    "lem:zeta_empirical_pl": (3.15, 2),
    "lem:NLL_PL": (3.95, 2),
    "lem:auto_cancellation_control": (4.75, 2),
    "lem:anchor_overlap_logit": (0.0, 3),
    "thm:algoEQ": (1.08, 3),
    "thm:bothPL": (3.6, 3),
    "def:ERM": (1.6, 4),
    "lem:EmpLipschitz": (4.7, 4),
    "lem:erm_ddc_quant_identification": (0.3, 5),
    "alg:estimation1": (1.8, 5),
    "ass:realizability": (2.7, 5),
    "lem:lipsSmooth": (4.4, 5),
    "prop:linConvergence": (3.3, 6),
    "thm:distributional_q_bound": (1.9, 7),
}
SHORT = {"Theorem": "Thm.", "Lemma": "Lem.", "Assumption": "Asm.", "Definition": "Def."}
# fill and ink of a box: the worse, the darker, so that a grey copy keeps the order
SHADES = {
    "": ("white", "black"),
    "holds": ("white", "black"),
    "misprint": ("#E4ECF4", "black"),
    "holds-if": ("#F2BE5C", "black"),
    "fails": ("#9C3A00", "white"),
}
LINES: dict[str, dict[str, Any]] = {
    "": {"linewidth": 0.6, "color": "0.55"},
    "constant": {"linewidth": 1.1, "color": "black", "linestyle": (0, (3, 1.5))},
    "theorem": {"linewidth": 1.5, "color": "black"},
}
KEYS = {
    "theorem": "carries an error that\nreaches a theorem",
    "constant": "carries an error that\nreaches a constant",
    "": "carries none",
}
ACROSS, DOWN, WIDE, HIGH = 0.595, 0.49, 0.45, 0.28  # inches
FONT = 6.5  # points


@dataclass(frozen=True)
class Node:
    """A statement and what is known of it.

    Attributes:
        statement: the paper's.
        verdict: the worst of the claims about it that the paper prints, of which one with a
            cosmetic error counts as a misprint at most; empty without claims.
        severity: the gravest that an error in it reaches: "theorem", "constant" or nothing.
        arriving: the gravest of it and of all that it rests on.
    """

    statement: Statement
    verdict: str
    severity: str
    arriving: str


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


@cache
def uses() -> tuple[tuple[str, str], ...]:
    """Pairs of labels: a statement, and one that it or its proof refers to."""
    return tuple((row["statement"], row["uses"]) for row in _rows())


def uncited() -> list[str]:
    """What gives a statement its constants, though its proof does not cite it."""
    return [row["uses"] for row in _rows() if row["where"].endswith("not cited")]


@cache
def below(label: str) -> frozenset[str]:
    """All that a statement rests on, itself left out."""
    direct = frozenset(used for user, used in uses() if user == label)
    return direct.union(*(below(used) for used in direct))


def shown() -> frozenset[str]:
    """The goals and all that they rest on."""
    return frozenset(GOALS).union(*(below(goal) for goal in GOALS))


@cache
def edges() -> list[tuple[str, str]]:
    """(statement, what it rests on) among those shown, less what a longer path says already."""
    return [
        (user, used)
        for user, used in uses()
        if user in shown()
        and not any(used in below(other) for other in (u for s, u in uses() if s == user))
    ]


def nodes(verdicts: Mapping[str, str], severities: Mapping[str, str]) -> dict[str, Node]:
    """Label to node, for every statement with a label.

    Args:
        verdicts: of the claims that the paper prints, by id.
        severities: by id, what an error reaches; cosmetic ones do not count.
    """
    by_label = {statement.label: statement for statement in statements() if statement.label}
    verdict: dict[str, str] = {}
    severity: dict[str, str] = {}
    for label, statement in by_label.items():
        about = [id_ for id_ in verdicts if statement.has(id_)]
        said = [
            min(verdicts[id_], "misprint", key=VERDICTS.index)
            if severities.get(id_) == "cosmetic"
            else verdicts[id_]
            for id_ in about
        ]
        verdict[label] = max(said, key=VERDICTS.index, default="")
        reached = [severities.get(id_, "") for id_ in about]
        severity[label] = max((s for s in reached if s in GRAVE), key=GRAVE.index, default="")
    return {
        label: Node(
            statement,
            verdict[label],
            severity[label],
            max((severity[part] for part in {label, *below(label)}), key=GRAVE.index),
        )
        for label, statement in by_label.items()
    }


def described(known: Mapping[str, Node]) -> str:
    """All that the figure shows, as it is kept inside the picture."""
    boxes = {label: [node.verdict, node.arriving] for label, node in known.items()}
    return json.dumps({"boxes": {k: boxes[k] for k in PLACES}, "edges": edges(), "places": PLACES})


def draw(known: Mapping[str, Node]) -> Figure:
    """The statements as boxes, the arrows from what is used to what uses it; at column width."""
    figure = Figure(figsize=(3.5, 4.05))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 3.5), ylim=(0, 4.05))
    axes.axis("off")
    for user, used in edges():
        (x, y), (x_user, y_user) = _place(used), _place(user)
        style = LINES[known[used].arriving]
        arrow = {"arrowstyle": "-|>", "mutation_scale": 6, "shrinkA": 0, "shrinkB": 0, **style}
        start, end = (x, y - HIGH / 2), (x_user, y_user + HIGH / 2)
        axes.annotate("", end, start, arrowprops=arrow)
    for label in PLACES:
        _box(axes, _place(label), known[label])
    for row, (reach, words) in enumerate(KEYS.items()):
        y = 0.62 - 0.22 * row
        axes.plot([2.1, 2.35], [y, y], **LINES[reach])
        axes.text(2.42, y, words, fontsize=FONT - 0.5, va="center", linespacing=0.95)
    return figure


def _box(axes: Any, place: tuple[float, float], node: Node) -> None:
    (x, y), (fill, ink) = place, SHADES[node.verdict]
    kind = SHORT.get(node.statement.kind, node.statement.kind[:3] + ".")
    style: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=0.04", "zorder": 3}
    style |= {"facecolor": fill, "edgecolor": "black", "linewidth": 0.6}
    corner = (x - WIDE / 2, y - HIGH / 2)

    axes.add_patch(FancyBboxPatch(corner, WIDE, HIGH, **style))
    words: dict[str, Any] = {"color": ink, "ha": "center", "va": "center", "zorder": 4}
    name = f"{kind} {node.statement.number}"
    axes.text(x, y + 0.062, name, fontsize=FONT - 0.4, fontweight="bold", **words)
    axes.text(x, y - 0.068, node.verdict or "assumed", fontsize=FONT - 0.5, **words)


def _place(label: str) -> tuple[float, float]:
    column, row = PLACES[label]
    return 0.25 + ACROSS * column, 3.88 - DOWN * row


def save(known: Mapping[str, Node], out: Path) -> None:
    """theorems.pdf and theorems.png, which say inside what they show."""
    figure = draw(known)
    figure.savefig(out / f"{NAME}.pdf", metadata={"CreationDate": None})
    figure.savefig(out / f"{NAME}.png", dpi=250, metadata={"Description": described(known)})


def errors(known: Mapping[str, Node]) -> Iterator[tuple[Node, list[str]]]:
    """Each statement with an error that is not cosmetic, and the goals that it reaches."""
    for label, node in known.items():
        if node.severity:
            yield node, [goal for goal in GOALS if label == goal or label in below(goal)]
