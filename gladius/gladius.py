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

The class `smooth` leaves Q free in every state. Its coordinates are the log-odds
eta(s, a) = log pi(a | s) - log pi(a_s | s): with P-hat the grouped counts and the anchor's Bellman
equation solved for the level,

    V = (I - beta P_A)^-1 (r_A - log pi_A),   Q = V + log pi,   r = Q - beta P-hat V,

every eta has Bellman error zero, so R_emp is the negative log-likelihood of eta and the estimator

    min over eta of  NLL(eta) + (lambda / 2) ||D2 r(eta)||^2,

NLL the sum over the training data, D2 the second (divided) differences along the feature in units
of its mean spacing. No fixed point is nested in it: `inner_iterations` is 0. With several
features, or fewer than three states, there is no roughness: eta are the log-odds of the counts
with PSEUDO_COUNT in each cell of a visited state, and `extra["smoothed"]` is False.

The class `mlp` is the paper's network of 2 x 10 hidden units, whose outputs f give Q = f + c(s)
with c in closed form (`level="function"`), or Q = f + c with one number c (`level="scalar"`, the
risk as printed with its Bellman weight); its lambda is that of `smooth`.

lambda rises by half decades to the affine end and is chosen by restricted maximum likelihood
(REML, Laplace's approximation in r), with two rules on top:

- the affine end is kept unless REML gains CRITICAL over it: nominally the 5 % point of the
  boundary test of an infinite lambda (half a point mass at 0, half a chi-square with one degree of
  freedom); that mixture is an approximation for a single curve;
- once the affine end is left, lambda is taken UNDERSMOOTHING_STEPS (a decade) below REML's choice,
  so that the bias stays below the plug-in's sampling error.

Both rules were settled after errors on development data sets had been seen, of the truths -x,
-x - .6 sin x and -.25 x^1.7 (without the second rule the third truth lost 1.5 % to the plug-in).
Seeds of development are no seeds of an exhibit, but the truths are; the exhibit `accuracy` has two
that were not.
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
from scipy.special import log_softmax, xlogy

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
from gladius.estimate import FAR_OFF, Estimate, StateFunction, conclude
from gladius.function_classes import MLP, AnchoredLine, NetworkOutputs
from gladius.levenberg_marquardt import OutputRisk, fit_network
from gladius.newton import minimise
from gladius.objective import grouped_risk
from gladius.transition_probabilities import (
    Continuation,
    Sum,
    TransitionProbabilities,
    check_support,
    empirical_transition_probabilities,
    from_choices,
    from_reward,
    regular_solve,
)
from gladius.transitions import Counts, Integers, Transitions, group

TITLE, NEEDS = "GLADIUS", ("next", "anchor")
CLASSES = ("smooth", "mlp")  # of counts
LEVELS = ("function", "scalar")

PSEUDO_COUNT = 0.5
CRITICAL = 2.71
UNDERSMOOTHING_STEPS = 2  # half decades
PENALTIES = 10.0 ** np.arange(7.0, -1.25, -0.5)
RIDGE = 1e-8  # identifies r where the data say nothing and the roughness is silent
DECREMENT = 1e-5  # nats: a thousandth of what one observation can move the likelihood by
LAST_STEP = 3e-3  # standard errors
MAX_STEPS = 60  # at each lambda


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


@dataclass(frozen=True)
class Problem:
    """What every class is fitted to: counts, P-hat on their states, the anchor and beta."""

    counts: Counts
    p_hat: TransitionProbabilities
    anchor: Anchor
    discount: float

    @property
    def anchor_reward(self) -> Array:
        """(S,) r(s, a_s)."""
        return self.anchor.values(self.counts.states)

    @property
    def order(self) -> list[int]:
        """The actions, the anchor first; np.argsort of it leads back."""
        free = (a for a in range(self.counts.visits.shape[2]) if a != self.anchor.action)
        return [self.anchor.action, *free]

    def value_of(self, log_anchor: Array) -> Array:
        """(R, S) V = (I - beta P_A)^-1 (r_A - L) from L = log pi(anchor | .)."""
        system = self.discount * self.p_hat.transition[:, self.anchor.action]
        return regular_solve(np.eye(system.shape[1]) - system, self.anchor_reward - log_anchor)


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


@dataclass(frozen=True)
class SmoothRisk:
    """The penalised risk in the log-odds eta (R, F S), F = A - 1 actions beside the anchor.

    With L = log pi(anchor | .) and B_b = beta (P_A - P_b)(I - beta P_A)^-1,

        r_b = Q_b - beta P_b V = eta_b + r_A + B_b (r_A - L),

    linear in eta but for L. Newton's steps are taken in coordinates u_b = C r_b of the reward: its
    scaled second differences, and its values at the two ends. There the roughness is diagonal, so
    that no lambda spoils the condition, and the likelihood is nearly quadratic.

    Attributes:
        visits: (R, A, S), anchor first.
        influence: (R, F, S, S) B.
        anchor_reward: (R, F, S) r_A + B r_A.
        coordinates: (R, S, S) C.
        inverse: (R, S, S) C^-1.
        weights: (R, S) of u_b^2 in ||D2 r||^2.
    """

    visits: Array
    influence: Array
    anchor_reward: Array
    coordinates: Array
    inverse: Array
    weights: Array

    @classmethod
    def of(cls, problem: Problem) -> SmoothRisk:
        """The risk of a problem with one feature."""
        transition = problem.p_hat.transition[:, problem.order]
        system = np.eye(transition.shape[2]) - problem.discount * transition[:, 0]
        influence = transition[:, :1] - transition[:, 1:]
        influence = problem.discount * influence @ np.linalg.inv(system)[:, None]
        rows = roughness_rows(problem.counts)
        scale = np.max(np.abs(rows), axis=2)
        is_free = scale == 0  # the two ends, and states that only other replications hold
        coordinates = rows / np.where(is_free, 1.0, scale)[..., None]
        coordinates[is_free] = np.broadcast_to(np.eye(rows.shape[1]), rows.shape)[is_free]
        return cls(
            visits=np.swapaxes(problem.counts.visits[..., problem.order], 1, 2),
            influence=influence,
            anchor_reward=problem.anchor_reward + influence @ problem.anchor_reward,
            coordinates=coordinates,
            inverse=np.linalg.inv(coordinates).astype(np.float64),
            weights=scale**2,
        )

    def rewards(self, rows: Integers, eta: Array, log_anchor: Array) -> Array:
        """(n, F, S) r_b at (n, F, S) log-odds, of which (n, S) L follows."""
        drop = (self.influence[rows] @ log_anchor[:, None, :, None])[..., 0]
        return np.asarray(eta + self.anchor_reward[rows] - drop)

    def choices(self, flat: Array) -> tuple[Array, Array, Array]:
        """eta (n, F, S), L (n, S) and the probabilities of the free actions (n, F, S)."""
        eta = flat.reshape(len(flat), -1, self.visits.shape[2])
        log_anchor = -np.logaddexp.reduce(eta, axis=1, initial=0.0)
        return eta, log_anchor, np.exp(eta + log_anchor[:, None])

    def expand(self, rows: Integers, flat: Array, penalty: Array) -> tuple[Array, Array, Array]:
        """Value (n,), gradient (n, p) and Fisher's Hessian (n, p, p) in u at (n, p = F S) eta."""
        visits, weights = self.visits[rows], penalty[:, None] * self.weights[rows]
        eta, log_anchor, policy = self.choices(flat)
        seen = visits.sum(axis=1)
        value = -np.sum(visits[:, 1:] * eta, axis=(1, 2)) - np.sum(seen * log_anchor, axis=1)
        differences = self.rewards(rows, eta, log_anchor) @ np.swapaxes(
            self.coordinates[rows], 1, 2
        )
        bent = weights[:, None] * differences
        value += 0.5 * np.sum(bent * differences, axis=(1, 2))
        slope, slope_anchor = self._slopes(rows, policy)
        expected = seen[:, None] * policy
        surplus = (expected - visits[:, 1:]).reshape(len(rows), 1, -1)
        gradient = (surplus @ slope)[:, 0] + bent.reshape(flat.shape)
        hessian = np.swapaxes(slope, 1, 2) @ (expected.reshape(*flat.shape, 1) * slope)
        hessian -= np.swapaxes(slope_anchor, 1, 2) @ (seen[..., None] * slope_anchor)
        diagonal = np.arange(flat.shape[1])
        hessian[:, diagonal, diagonal] += np.tile(weights, (1, eta.shape[1])) + RIDGE
        return value, gradient, hessian

    def _slopes(self, rows: Integers, policy: Array) -> tuple[Array, Array]:
        """d eta / d u (n, F S, F S) and d(-L) / d u (n, S, F S); see step_to for the latter."""
        replications, actions, states = policy.shape
        inverse, influence = self.inverse[rows], self.influence[rows]
        shares = np.swapaxes(policy[..., None] * inverse[:, None], 1, 2)
        slope_anchor = self._resolvent(rows, policy) @ shares.reshape(replications, states, -1)
        slope = -(influence @ slope_anchor[:, None])
        for b in range(actions):
            slope[:, b, :, b * states : (b + 1) * states] += inverse
        return slope.reshape(replications, actions * states, -1), slope_anchor

    def _resolvent(self, rows: Integers, policy: Array) -> Array:
        """(n, S, S) (I + sum_b pi_b B_b)^-1, which is (I - beta P_A)(I - beta P_pi)^-1."""
        turned = np.sum(policy[..., None] * self.influence[rows], axis=1)
        return np.asarray(np.linalg.inv(np.eye(policy.shape[2]) + turned))

    def step_to(self, rows: Integers, flat: Array, step: Array) -> Array:
        """The log-odds whose rewards are C^-1 step away, to second order in the step.

        d eta_b = d r_b + B_b dL and dL = -sum_b pi_b d eta_b give dL to first order; at the point
        that this leads to L is off by `miss`, and the same system corrects it once.
        """
        eta, log_anchor, policy = self.choices(flat)
        resolvent, influence = self._resolvent(rows, policy), self.influence[rows]
        target = eta + step.reshape(eta.shape) @ np.swapaxes(self.inverse[rows], 1, 2)
        rise = resolvent @ np.sum(policy * (target - eta), axis=1)[..., None]  # of -L
        moved = target - (influence @ rise[:, None])[..., 0]
        miss = rise[..., 0] - log_anchor - np.logaddexp.reduce(moved, axis=1, initial=0.0)
        moved += (influence @ (resolvent @ miss[..., None])[:, None])[..., 0]
        return np.asarray(moved.reshape(flat.shape))


@dataclass(frozen=True)
class Smooth:
    """Fits of R replications.

    Attributes:
        reward, q: (R, S, A).
        v: (R, S).
        penalty: (R,) lambda.
        reml: (R,) criterion at lambda, up to a constant (twice a log-likelihood; lower is better).
        decrement: (R,) Newton decrement at the end, nats.
        slope: (R,) largest entry of the penalised gradient at the end.
        iterations: (R,) Newton steps over the whole path of lambda.
        freedom: (R,) effective degrees of freedom.
        underfits: (R,) whether the path ended before the data could be fitted (`is_beaten`). A
            stray state far away (a code of missing values) does this, for it stretches the unit of
            the roughness.
    """

    reward: Array
    q: Array
    v: Array
    penalty: Array
    reml: Array
    decrement: Array
    slope: Array
    iterations: Integers
    freedom: Array
    underfits: NDArray[np.bool_]


def fit_smooth(problem: Problem, penalties: Array = PENALTIES) -> Smooth:
    """Fit every replication along the path of lambda and choose by REML and the two rules.

    Args:
        problem: with one feature, and three states or more in each replication.
        penalties: lambda from the affine end down, by one ratio; a single one is not chosen.
    """
    risk, everyone = SmoothRisk.of(problem), np.arange(len(problem.counts.visits))
    path = penalties
    if len(penalties) > 1:
        ratio, steps = penalties[-1] / penalties[-2], np.arange(1, UNDERSMOOTHING_STEPS + 1)
        path = np.append(penalties, penalties[-1] * ratio**steps)
    start = np.log(risk.visits + PSEUDO_COUNT)
    eta = (start[:, 1:] - start[:, :1]).reshape(len(everyone), -1)
    iterations = np.zeros(len(everyone), dtype=np.int64)
    fits, reml = np.empty((len(path), *eta.shape)), np.empty((len(path), len(everyone)))
    rank = (len(problem.order) - 1) * np.sum(risk.weights > 0, axis=1)
    for i in reversed(range(len(path))):

        def objective(rows: Integers, flat: Array, i: int = i) -> tuple[Array, Array, Array]:
            return risk.expand(rows, flat, np.full(len(rows), path[i]))

        minimum = minimise(
            objective,
            eta,
            tolerance=LAST_STEP,
            short_step=np.inf,
            max_iterations=MAX_STEPS,
            step_to=risk.step_to,
        )
        eta = fits[i] = minimum.x
        iterations += minimum.iterations
        value, _, hessian = objective(everyone, eta)
        reml[i] = 2 * value + np.linalg.slogdet(hessian)[1] - rank * np.log(path[i])
    lowest = np.argmin(reml[: len(penalties)], axis=0)
    leaves = (reml[lowest, everyone] < reml[0] - CRITICAL) & (lowest > 0)
    chosen = np.where(leaves, lowest + UNDERSMOOTHING_STEPS, 0)
    flat, penalty = fits[chosen, everyone], path[chosen]
    _, gradient, hessian = risk.expand(everyone, flat, penalty)
    held = np.tile(penalty[:, None] * risk.weights, (1, len(problem.order) - 1)) + RIDGE
    share_held = np.sum(held * np.diagonal(np.linalg.inv(hessian), 0, 1, 2), axis=1)
    eta, log_anchor, _ = risk.choices(flat)
    v = problem.value_of(log_anchor)
    odds = np.concatenate([np.zeros_like(eta[:, :1]), eta], axis=1)
    reward = np.broadcast_to(problem.anchor_reward, odds.shape).copy()
    reward[:, 1:] = risk.rewards(everyone, eta, log_anchor)
    log_policy = odds + log_anchor[:, None]
    back = np.argsort(problem.order)
    q = np.swapaxes((log_policy + v[:, None])[:, back], 1, 2)
    return Smooth(
        reward=np.swapaxes(reward[:, back], 1, 2),
        q=q,
        v=v,
        penalty=penalty,
        reml=reml[chosen, everyone],
        decrement=0.5 * np.sum(gradient * regular_solve(hessian, gradient), axis=1),
        slope=np.max(np.abs(gradient), axis=1),
        iterations=iterations,
        freedom=flat.shape[1] - share_held,
        underfits=(len(path) > 1) & is_beaten(problem.counts, q),
    )


def is_beaten(counts: Counts, q: Array) -> NDArray[np.bool_]:
    """(R,) whether the choices' frequencies are likelier than Q by far more than chance explains.

    Twice the gain is compared with a chi-square that has as many degrees of freedom as there are
    pairs seen beyond one a state.
    """
    visits, seen = counts.visits, counts.seen
    deviance = np.sum(xlogy(visits, visits) - visits * log_softmax(q, axis=2), axis=(1, 2))
    deviance -= np.sum(xlogy(seen, seen), axis=1)
    cells = np.sum(visits > 0, axis=(1, 2)) - np.sum(seen > 0, axis=1)
    return np.asarray(2 * deviance > cells + FAR_OFF * np.sqrt(2 * cells))


def roughness_rows(counts: Counts) -> Array:
    """(R, S, S) rows D2 of each replication: divided second differences over its own states.

    Distances are in units of the mean spacing. Row s is centred at state s and is zero at the
    two ends and at states that the replication never saw.
    """
    states, present = counts.states, counts.present
    rows = np.zeros((*present.shape, len(states)))
    for pattern in np.unique(present, axis=0):
        kept = np.flatnonzero(pattern)
        x = states[kept, 0]
        gap = np.diff(x) / np.mean(np.diff(x))
        left, middle, right = kept[:-2], kept[1:-1], kept[2:]
        width = 2.0 / (gap[:-1] + gap[1:])
        block = np.zeros((len(states), len(states)))
        block[middle, left] = width / gap[:-1]
        block[middle, right] = width / gap[1:]
        block[middle, middle] = -block[middle, left] - block[middle, right]
        rows[np.all(present == pattern, axis=1)] = block
    return rows
