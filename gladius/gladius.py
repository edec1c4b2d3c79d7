"""GLADIUS: our estimator (`leak_free`), and the door to the protocols `printed` and `author`.

Its classes `smooth` and `mlp` work on grouped counts and stand here; `sparse` works on rows, in a
module of its own. By default it is `smooth` for one feature and `sparse` for several, whose table
of frequencies nothing smooths; and `sparse` wherever the data do not support counts: where the
pairs (s, a) that were seen are too many for the rows (`check_support`), or their table too large.
`mlp` with several features, or where the data do not support counts, is a network on rows
(`row_networks`), which `mlp_rows` asks for by name.

`leak_free` sees the training split, the anchor's reward and beta. It is the minimiser of the
paper's empirical risk over a stated class plus a stated roughness penalty, divided by N:

    R_emp(Q) + (lambda / 2N) ||D2 r_Q||^2,   r_Q = Q - beta zeta,   zeta exact.

It is found in the coordinates in which the risk separates (the claim `corrected.coordinates`): the
log-odds, of which R_emp is a Kullback-Leibler divergence, and the anchor's Bellman residuals, which
are solved to zero, V in closed form. No step of Q and zeta chases the other.

The class `smooth` (in a module of its own) leaves Q free in every state. With several features, or
fewer than three states, there is no roughness: the log-odds are those of the counts with
PSEUDO_COUNT in each cell of a visited state, and `extra["smoothed"]` is False.

The class `mlp` is the paper's network of 2 x 10 hidden units, whose outputs f give Q = f + c(s)
with c in closed form (`level="function"`), or Q = f + c with one number c (`level="scalar"`, the
risk as printed with its Bellman weight); its lambda is that of `smooth`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gladius.anchor import Anchor, NearestState, check_anchor_support
from gladius.baselines import PROTOCOLS, ROW_CLASSES
from gladius.checks import (
    Array,
    InputError,
    check_choice,
    check_options,
    check_positive,
    check_whole,
    check_widths,
)
from gladius.estimate import Estimate, StateFunction, conclude
from gladius.function_classes import MLP, AnchoredLine, NetworkOutputs
from gladius.levenberg_marquardt import OutputRisk, fit_network
from gladius.objective import grouped_risk
from gladius.smooth import (
    DECREMENT,
    PENALTIES,
    PSEUDO_COUNT,
    Problem,
    Smooth,
    fit_smooth,
    is_beaten,
    roughness_rows,
)
from gladius.transition_probabilities import (
    Continuation,
    Sum,
    check_support,
    empirical_transition_probabilities,
    from_choices,
    from_reward,
)
from gladius.transitions import Counts, Integers, Transitions, group

TITLE, NEEDS = "GLADIUS", ("next", "anchor")
CLASSES = ("smooth", "mlp")  # of counts
LEVELS = ("function", "scalar")


@dataclass(frozen=True)
class Options:
    """What a user may set; the defaults are the estimator we stand behind.

    Attributes:
        function_class: smooth or mlp (with one feature).
        hidden: widths of the network's hidden layers (mlp).
        level: function or scalar (not for smooth).
        weight: of the Bellman term (scalar level only; with a level function it is zero anyway).
        penalty: lambda, where there is a roughness; None chooses it by REML and the two rules.
        seed: of the network's start, the same for every replication.
    """

    function_class: str = "smooth"
    hidden: tuple[int, ...] = (10, 10)
    level: str = "function"
    weight: float = 1.0
    penalty: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("function_class", self.function_class, CLASSES)
        check_choice("level", self.level, LEVELS)
        if self.function_class == "smooth" and self.level != "function":
            raise InputError("level", self.level, "the smooth class has its level by construction")
        check_positive("weight", self.weight, "give a positive number; the paper's is 1")
        if self.weight != 1.0 and self.level == "function":
            hint = "with level='function' it has no effect: use 'scalar'"
            raise InputError("weight", self.weight, hint)
        if self.penalty is not None:
            check_positive("penalty", self.penalty, "give a positive number, or None for REML")
        check_whole("seed", self.seed, 0)
        check_widths("hidden", self.hidden)


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    protocol: str = "leak_free",
    **options: Any,
) -> list[Estimate]:
    """Estimate Q* and r under a protocol.

    Args:
        data: replications.
        anchor: action and reward.
        discount: beta.
        protocol: leak_free; printed, the algorithm to the letter; or author, what the first
            author's code does, including its use of the truth.
        options: of the protocol; for leak_free `function_class` and the fields of its Options, here
            (smooth, mlp), in `sparse` or in `row_networks`.

    `extra["inner_iterations"]` is 0 for `author`: steps of Q and of zeta alternate.
    """
    if protocol in PROTOCOLS:
        results: list[Estimate] = import_module(PROTOCOLS[protocol]).fit(
            data, anchor, discount, **options
        )
        return results
    check_choice("protocol", protocol, ("leak_free", *PROTOCOLS))
    began = time.process_time()
    has_one_feature = data[0].states.shape[1] == 1
    function_class = options.get("function_class") or ("smooth" if has_one_feature else "sparse")
    check_choice("function_class", function_class, tuple({**dict.fromkeys(CLASSES), **ROW_CLASSES}))
    either = function_class == "mlp"  # of counts, or of rows
    if function_class not in ROW_CLASSES or (either and has_one_feature):
        check_options(Options, options)
        chosen = Options(**options)
        counts = _counts(data, choose=either or not options)
        if counts is not None:
            return fit_counts(counts, anchor, discount, chosen, began)
        function_class = "mlp" if either else "sparse"
    of_rows = {name: value for name, value in options.items() if name != "function_class"}
    return _on_rows(import_module(ROW_CLASSES[function_class]), data, anchor, discount, of_rows)


def _on_rows(
    module: ModuleType,
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    options: dict[str, Any],
) -> list[Estimate]:
    """Each data set by itself, by the `fit_rows` of a module with the fields of its Options.

    Raises:
        InputError: for a bad option, or an action that a data set lacks.
    """
    check_options(module.Options, options)
    chosen = module.Options(**options)
    for r, part in enumerate(data):
        never = np.setdiff1d(np.arange(part.number_of_actions), part.actions)
        if len(never):
            hint = f"action {never[0]} never occurs in data set {r}, which says nothing of it"
            raise InputError("actions", np.unique(part.actions).tolist(), hint)
    return [module.fit_rows(part, anchor, discount, chosen) for part in data]


def _counts(data: Sequence[Transitions], *, choose: bool) -> Counts | None:
    """The grouped data; None where they do not support counts and there is a choice."""
    try:
        counts = group(data)
        check_support(counts)
    except InputError as error:
        if choose and error.field == "states":
            return None
        raise
    return counts


class Fitted(NamedTuple):
    """R fits of one class: Q and r as functions of any state, Q (R, S, A), and how they ended."""

    functions: list[tuple[StateFunction, StateFunction]]
    q: Array
    converged: NDArray[np.bool_]
    iterations: Integers
    gradient_norm: Array
    extras: list[dict[str, object]]


def fit_counts(
    counts: Counts, anchor: Anchor, discount: float, options: Options, began: float | None = None
) -> list[Estimate]:
    """Fit every replication of grouped data: the cost does not depend on N.

    Args:
        counts: R replications.
        anchor: action and reward.
        discount: beta.
        options: of the estimator.
        began: processor time when the work on them began, the grouping; by default now.
    """
    began = time.process_time() if began is None else began
    has_roughness = counts.states.shape[1] == 1 and bool(np.all(counts.present.sum(axis=1) >= 3))
    if options.penalty is not None and not has_roughness:
        hint = "here no roughness is penalised, so it has no effect: leave it out"
        raise InputError("penalty", options.penalty, hint)
    if options.function_class == "mlp" and not has_roughness:
        hint = "a network on counts needs one feature and three states or more: use 'smooth'"
        raise InputError("function_class", "mlp", hint)
    check_anchor_support(counts, anchor.action)
    problem = Problem(counts, empirical_transition_probabilities(counts), anchor, discount)
    penalties = PENALTIES if options.penalty is None else np.array([options.penalty])
    if not has_roughness:
        fitted = _table(problem)
    else:
        smooth = fit_smooth(problem, penalties)
        is_network = options.function_class == "mlp"
        fitted = _network(problem, options, smooth) if is_network else _curve(problem, smooth)
    risk = grouped_risk(fitted.q, counts, anchor.action, problem.anchor_reward, discount)
    even_odds = np.log(counts.visits.shape[2]) * (1 + 1e-9)  # a fit that is worse is none
    converged = fitted.converged & (risk.nll <= even_odds)
    seconds = (time.process_time() - began) / len(converged)
    name, features = f"gladius {options.function_class}", counts.states.shape[1]
    return [
        conclude(
            name,
            *functions,
            features,
            risk.nll[r],
            risk.bellman[r],
            status="ok" if converged[r] else "not_converged",
            iterations=int(fitted.iterations[r]),
            gradient_norm=float(fitted.gradient_norm[r]),
            seconds=seconds,
            extra={"inner_iterations": 0, "smoothed": has_roughness, **fitted.extras[r]},
        )
        for r, functions in enumerate(fitted.functions)
    ]


def _curve(problem: Problem, smooth: Smooth) -> Fitted:
    """The class `smooth` where there is a roughness: r linear between the states."""
    counts, functions = problem.counts, []
    extras: list[dict[str, object]] = []
    for r, kept in enumerate(counts.present):
        line = AnchoredLine(counts.states[kept, 0], smooth.reward[r][kept], problem.anchor)
        functions.append(from_reward(line, smooth.v[r], problem.p_hat, r, problem.discount))
        names = ("penalty", "freedom", "decrement")
        extras.append({name: float(getattr(smooth, name)[r]) for name in names})
    converged = (np.abs(smooth.decrement) <= DECREMENT) & ~smooth.underfits
    slope = smooth.slope / counts.size
    return Fitted(functions, smooth.q, converged, smooth.iterations, slope, extras)


def _table(problem: Problem) -> Fitted:
    """The class `smooth` without a roughness, in closed form: log-odds of filled counts."""
    counts, anchor, functions = problem.counts, problem.anchor, []
    seen = counts.seen[..., None] > 0
    visits = np.where(seen, counts.visits + PSEUDO_COUNT, 1.0)  # even odds where unseen
    log_policy = np.log(visits / visits.sum(axis=2, keepdims=True))
    v = problem.value_of(log_policy[..., anchor.action])
    odds = log_policy - log_policy[..., [anchor.action]]
    for r, kept in enumerate(counts.present):
        advantage = NearestState(counts.states[kept], odds[r][kept])
        functions.append(from_choices(advantage, v[r], problem.p_hat, r, anchor, problem.discount))
    zeros = np.zeros(len(visits))
    is_exact, steps = np.ones(len(visits), dtype=bool), np.zeros(len(visits), dtype=np.int64)
    extras: list[dict[str, object]] = [{"penalty": 0.0} for _ in functions]
    return Fitted(functions, v[..., None] + log_policy, is_exact, steps, zeros, extras)


def _network(problem: Problem, options: Options, smooth: Smooth) -> Fitted:
    """The class `mlp`, at the lambda of `smooth`."""
    counts, p_hat, anchor = problem.counts, problem.p_hat, problem.anchor
    replications, _, actions = counts.visits.shape
    order = problem.order
    risk = OutputRisk(
        visits=counts.visits[:, :, order],
        transition=p_hat.transition[:, order],
        anchor_reward=problem.anchor_reward,
        discount=problem.discount,
        roughness=roughness_rows(counts),
        penalty=smooth.penalty,
        bellman_weight=options.weight if options.level == "scalar" else None,
    )
    present = counts.present[..., None]
    low = np.min(np.where(present, counts.states, np.inf), axis=1)
    high = np.max(np.where(present, counts.states, -np.inf), axis=1)
    half = np.where(high > low, (high - low) / 2, 1.0)
    centre = low + half
    x = (counts.states - low[:, None]) / half[:, None] - 1.0
    family = MLP(counts.states.shape[1], actions, tuple(options.hidden))
    fit = fit_network(risk, family, x, counts.size, options.seed)
    q, v, _ = risk.tables(fit.outputs)
    back = np.argsort(order)
    functions: list[tuple[StateFunction, StateFunction]] = []
    extras: list[dict[str, object]] = []
    for r in range(replications):
        level = float(fit.level[r])
        outputs = NetworkOutputs(family, fit.theta[r], centre[r], half[r], level, back)
        if options.level == "scalar":
            continuation = Continuation(p_hat, r, v[r], problem.discount)
            functions.append((outputs, Sum(outputs, continuation, -1.0)))
        else:
            odds = replace(outputs, less=anchor.action)
            functions.append(from_choices(odds, v[r], p_hat, r, anchor, problem.discount))
        gap, objective = float(fit.gap[r]), float(fit.value[r])
        extras.append({"penalty": float(smooth.penalty[r]), "gap": gap, "objective": objective})
    q = q[..., back]
    stuck = is_beaten(counts, q)  # where the frequencies do not beat a given lambda's curve too
    if options.penalty is not None:
        stuck &= ~is_beaten(counts, smooth.q)
    return Fitted(functions, q, fit.converged & ~stuck, fit.iterations, fit.slope, extras)
