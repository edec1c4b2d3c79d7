"""The `leak_free` protocol: GLADIUS from the training split, the anchor's reward and beta alone.

The estimator is the minimiser of the paper's empirical risk over a stated class, plus a stated
roughness penalty, divided by N:

    R_emp(Q) + (lambda / 2N) ||D2 r_Q||^2,   r_Q = Q - beta zeta,   zeta exact.

Classes: `smooth` (see smooth.py); `mlp`, the paper's network of 2 x 10 hidden units, and
`polynomial` and `tabular`, whose outputs f give Q = f + c(s) with the level function c in closed
form (`level="function"`), or Q = f + c with one number c (`level="scalar"`, the risk as printed
with its Bellman weight). lambda is that of smooth.py, REML with two rules, found from the training
split. Without a roughness (several features, or fewer than three states) lambda is zero and each
cell of a visited state gets PSEUDO_COUNT, so that the minimum is attained.

`extra["inner_iterations"]`: the Bellman iterations nested in the fit of `smooth`, which also finds
lambda for `mlp` and `tabular`. Their own fit has no nested loop: the level is a linear system.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gladius.anchor import Anchor, check_anchor_support, nearest
from gladius.approximators import MLP, FunctionClass, Linear
from gladius.checks import InputError, check_widths
from gladius.estimate import Diagnostics, Estimate, StateFunction
from gladius.mdp import Array
from gladius.objective import Risk, closed_form_level, grouped_risk
from gladius.output_risk import LevelFunction, ScalarLevel
from gladius.smooth import DECREMENT, PENALTIES, Smooth, fit_smooth, roughness_rows
from gladius.solver import Fit, levenberg_marquardt
from gladius.transition_probabilities import (
    TransitionProbabilities,
    empirical_transition_probabilities,
    from_choices,
    from_reward,
)
from gladius.transitions import Counts, Integers, Transitions, group

CLASSES = ("smooth", "mlp", "polynomial", "tabular")
LEVELS = ("function", "scalar")
PSEUDO_COUNT = 0.5
STARTS = 4  # of a network, at most: a replication stops at its first converged one
STAGE = 1e4  # lambda first stops here on its way up: a cold start at 1e7 can stall


@dataclass(frozen=True)
class Options:
    """What a user may set; the defaults are the estimator we stand behind.

    Attributes:
        function_class: smooth, mlp, polynomial or tabular.
        hidden: widths of the network's hidden layers (mlp).
        degree: of the polynomial.
        level: function or scalar (not for smooth).
        weight: of the Bellman term (scalar level only; with a level function it is zero anyway).
        penalty: lambda, where there is a roughness; None chooses it as smooth.py says.
        seed: of the network's start, the same for every replication.
    """

    function_class: str = "smooth"
    hidden: tuple[int, ...] = (10, 10)
    degree: int = 3
    level: str = "function"
    weight: float = 1.0
    penalty: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.function_class not in CLASSES:
            raise InputError("function_class", self.function_class, f"choose one of {CLASSES}")
        if self.level not in LEVELS:
            raise InputError("level", self.level, f"choose one of {LEVELS}")
        if self.function_class == "smooth" and self.level != "function":
            raise InputError("level", self.level, "the smooth class has its level by construction")
        if not (np.isfinite(self.weight) and self.weight > 0):
            raise InputError("weight", self.weight, "give a positive number; the paper's is 1")
        if self.weight != 1.0 and self.level == "function":
            raise InputError(
                "weight", self.weight, "with level='function' it has no effect: use 'scalar'"
            )
        if self.penalty is not None and not (np.isfinite(self.penalty) and self.penalty > 0):
            raise InputError("penalty", self.penalty, "give a positive number, or None for REML")
        if not isinstance(self.degree, int | np.integer) or self.degree < 0:
            raise InputError("degree", self.degree, "give a whole number, 0 or more")
        check_widths("hidden", self.hidden)


def fit(
    data: Sequence[Transitions], anchor: Anchor, discount: float, options: Options
) -> list[Estimate]:
    """Fit every data set; see the module for the estimator and Options for its settings."""
    counts = group(data)
    return fit_counts(counts, anchor, discount, options)


def fit_counts(counts: Counts, anchor: Anchor, discount: float, options: Options) -> list[Estimate]:
    """Fit every replication of grouped data: the cost does not depend on N."""
    began = time.process_time()
    rough = _is_penalised(options, counts)
    check_anchor_support(counts, anchor.action)
    p_hat = empirical_transition_probabilities(counts)
    given = anchor.values(counts.states)
    penalties = PENALTIES if options.penalty is None else np.array([options.penalty])
    if options.function_class == "smooth":
        smooth = fit_smooth(counts, p_hat.transition, anchor.action, given, discount, penalties)
        pieces = _smooth_pieces(counts, p_hat, anchor, discount, smooth)
    elif not rough:
        pieces = _class_pieces(counts, p_hat, anchor, discount, options, None)
    else:
        smooth = fit_smooth(counts, p_hat.transition, anchor.action, given, discount, penalties)
        pieces = _class_pieces(counts, p_hat, anchor, discount, options, smooth)
    seconds = (time.process_time() - began) / len(pieces)
    return [
        replace(piece, diagnostics=replace(piece.diagnostics, cpu_seconds=seconds))
        for piece in pieces
    ]


def _is_penalised(options: Options, counts: Counts) -> bool:
    """Whether there is a roughness; an error where the class or a penalty does not fit the data."""
    name, features = options.function_class, counts.states.shape[1]
    if name in ("smooth", "polynomial") and features > 1:
        hint = f"it takes one feature, the data have {features}: choose 'mlp' or 'tabular'"
        raise InputError("function_class", name, hint)
    enough = features == 1 and bool(np.all(counts.present.sum(axis=1) >= 3))
    rough = enough and name != "polynomial"
    if options.penalty is not None and not rough and name != "smooth":
        hint = "here no roughness is penalised, so it has no effect: leave it out"
        raise InputError("penalty", options.penalty, hint)
    return rough


def _beats_chance(risk: Risk, r: int, counts: Counts) -> bool:
    """Whether the choices are likelier than equal odds make them; a fit that fails this is none."""
    return bool(risk.nll[r] <= np.log(counts.visits.shape[2]) * (1 + 1e-9))


def _smooth_pieces(
    counts: Counts, p_hat: TransitionProbabilities, anchor: Anchor, discount: float, fitted: Smooth
) -> list[Estimate]:
    risk = grouped_risk(fitted.q, counts, anchor.action, anchor.values(counts.states), discount)
    pieces = []
    for r in range(len(fitted.q)):
        own = counts.present[r]
        line = _line(counts.states[own, 0], fitted.reward[r][own])

        def reward(states: Array, line: StateFunction = line) -> Array:
            table = line(states)
            table[:, anchor.action] = anchor.values(states)
            return table

        q, reward_function = from_reward(reward, fitted.v[r], p_hat, r, discount)
        done = bool(abs(fitted.decrement[r]) <= DECREMENT) and _beats_chance(risk, r, counts)
        diagnostics = Diagnostics(
            converged=done,
            iterations=int(fitted.iterations[r]),
            gradient_norm=float(fitted.slope[r] / counts.size[r]),
            nll=float(risk.nll[r]),
            bellman_error=float(risk.bellman[r]),
            cpu_seconds=0.0,
            status="ok" if done else "not_converged",
            extra={
                "inner_iterations": int(fitted.inner_iterations[r]),
                "penalty": float(fitted.penalty[r]),
                "freedom": float(fitted.freedom[r]),
                "decrement": float(fitted.decrement[r]),
            },
        )
        pieces.append(Estimate("gladius smooth", q, reward_function, 1, diagnostics))
    return pieces


def _line(x: Array, table: Array) -> StateFunction:
    """Linear between the states, and beyond them along the last two."""

    def evaluate(states: Array) -> Array:
        at = np.clip(np.searchsorted(x, states[:, 0]) - 1, 0, len(x) - 2)
        share = ((states[:, 0] - x[at]) / (x[at + 1] - x[at]))[:, None]
        return (1 - share) * table[at] + share * table[at + 1]

    return evaluate


def _class_pieces(
    counts: Counts,
    p_hat: TransitionProbabilities,
    anchor: Anchor,
    discount: float,
    options: Options,
    smooth: Smooth | None,
) -> list[Estimate]:
    reps, n, actions = counts.visits.shape
    order = [anchor.action, *(a for a in range(actions) if a != anchor.action)]
    back = np.argsort(order)
    given = anchor.values(counts.states)
    visits, law = counts.visits[:, :, order], p_hat.transition[:, order]
    if smooth is None:
        rough, penalty, inner = np.zeros((reps, 0, n)), np.zeros(reps), np.zeros(reps)
        if options.function_class != "polynomial":
            visits = visits + PSEUDO_COUNT * (counts.seen > 0)[..., None]
    else:
        rough, penalty, inner = roughness_rows(counts), smooth.penalty, smooth.inner_iterations
    free = options.level == "scalar"
    full: LevelFunction | ScalarLevel
    if free:
        full = ScalarLevel(visits, law, given, discount, rough, penalty, options.weight)
    else:
        full = LevelFunction(visits, law, given, discount, rough, penalty)
    inputs = _Inputs(counts, options)
    family = inputs.family(actions)
    fitted = _best_of_starts(full, family, inputs.grid, free, counts.size, options.seed)
    q, v, _ = full.tables(fitted.outputs)
    risk = grouped_risk(q[..., back], counts, anchor.action, given, discount)
    pieces = []
    for r in range(reps):
        outputs_of = inputs.predictor(family, fitted, r, back)
        if free:
            q_of, r_of = _plain(outputs_of, v[r], p_hat, r, discount)
        else:
            q_of, r_of = from_choices(
                _advantage(outputs_of, anchor.action), v[r], p_hat, r, anchor, discount
            )
        done = bool(fitted.converged[r]) and _beats_chance(risk, r, counts)
        diagnostics = Diagnostics(
            converged=done,
            iterations=int(fitted.iterations[r]),
            gradient_norm=float(fitted.slope[r]),
            nll=float(risk.nll[r]),
            bellman_error=float(risk.bellman[r]),
            cpu_seconds=0.0,
            status="ok" if done else "not_converged",
            extra={
                "inner_iterations": int(inner[r]),
                "penalty": float(penalty[r]),
                "gap": float(fitted.gap[r]),
                "objective": float(fitted.value[r]),
            },
        )
        name = f"gladius {options.function_class}"
        pieces.append(Estimate(name, q_of, r_of, counts.states.shape[1], diagnostics))
    return pieces


def _best_of_starts(
    full: LevelFunction | ScalarLevel,
    family: FunctionClass,
    x: Array,
    free: bool,
    size: Array,
    seed: int,
) -> Fit:
    """Up to STARTS starts: the first that converges, or else the lowest end."""
    reps = len(full.penalty)
    best: Fit | None = None
    left = np.arange(reps)
    for start in range(STARTS):
        theta = np.tile(family.init([np.random.default_rng([seed, start])]), (len(left), 1))
        inputs = x[left] if len(x) == reps and x.ndim == 3 else x
        part = full.take(left)
        level = _level(part, family.outputs(theta, inputs)) if free else np.zeros(len(left))
        eased = replace(part, penalty=np.minimum(part.penalty, STAGE))
        near = levenberg_marquardt(
            eased, family, theta, inputs, level, free, size[left], tolerance=0.1, max_iterations=40
        )
        found = levenberg_marquardt(part, family, near.theta, inputs, near.level, free, size[left])
        found = replace(found, iterations=near.iterations + found.iterations)
        best = found if best is None else best.improved(left, found)
        left = np.flatnonzero(~best.converged)
        if len(left) == 0 or not isinstance(family, MLP):
            break
    assert best is not None
    return best


def _level(risk: LevelFunction | ScalarLevel, outputs: Array) -> Array:
    """(R,) the level that minimises the Bellman term of outputs + level."""
    _, _, reward = risk.tables(outputs)
    return closed_form_level(
        risk.anchor_reward - reward[..., 0], risk.visits[..., 0], risk.discount
    )


def _advantage(outputs_of: StateFunction, action: int) -> StateFunction:
    def advantage(states: Array) -> Array:
        f = outputs_of(states)
        return f - f[:, [action]]

    return advantage


def _plain(
    outputs_of: StateFunction, v: Array, p_hat: TransitionProbabilities, r: int, discount: float
) -> tuple[StateFunction, StateFunction]:
    def reward(states: Array) -> Array:
        return outputs_of(states) - discount * (p_hat.rows(r, states) @ v).T

    return outputs_of, reward


class _Inputs:
    """Features scaled to [-1, 1] over each replication's own states, or one-hot (tabular)."""

    def __init__(self, counts: Counts, options: Options) -> None:
        self.options = options
        self.states = counts.states
        self.one_hot = options.function_class == "tabular"
        self.present = counts.present
        present = counts.present[..., None]
        self.low = np.min(np.where(present, counts.states, np.inf), axis=1, keepdims=True)
        high = np.max(np.where(present, counts.states, -np.inf), axis=1, keepdims=True)
        self.half = np.where(high > self.low, (high - self.low) / 2, 1.0)
        self.grid = (
            np.eye(len(counts.states)) if self.one_hot else self._scaled(counts.states[None])
        )

    def _scaled(self, states: Array, rows: slice | list[int] = slice(None)) -> Array:
        scaled: Array = (states - self.low[rows]) / self.half[rows] - 1.0
        return scaled

    def family(self, actions: int) -> FunctionClass:
        """The class over these inputs."""
        if self.one_hot:
            return Linear(len(self.states), actions)
        if self.options.function_class == "polynomial":
            return Linear(self.states.shape[1], actions, self.options.degree)
        return MLP(self.states.shape[1], actions, tuple(self.options.hidden))

    def predictor(
        self, family: FunctionClass, fitted: Fit, r: int, back: Integers
    ) -> StateFunction:
        """Outputs of replication r at any state, actions in the data's order."""
        own = np.flatnonzero(self.present[r])

        def outputs(states: Array) -> Array:
            if self.one_hot:
                x = self.grid[own[nearest(self.states[own], states)]]
            else:
                x = self._scaled(states, [r])
            found: Array = family.outputs(fitted.theta[[r]], x)[0] + fitted.level[r]
            return found[:, back]

        return outputs
