"""GLADIUS on rows (s, a, s'): the class `sparse`, for many inputs and states that never repeat.

The inputs A of the reward and A_z of zeta are chosen by score tests (`screen`). With z the
standardised inputs, and zeta(., a) in the class Z_a = span{1, z, cos(w'z + c)} of A_z,

    zeta_Q(., a) = argmin over Z_a of  sum over rows with action a of (V_Q(s') - zeta(s))^2
                   + kappa_a |coefficients|^2,                             V_Q = logsumexp Q,
    Q = r_theta + beta zeta_Q,      r_theta(., a) = fixed(z)'b_a + smooth(z)'u_a,

the anchor's reward as given. The inner maximum of the paper's risk is thus a linear solve, and at
the anchor's rows r + beta V' - Q = beta (V' - zeta): the squared TD error less beta^2 times zeta's
is zero row by row, and the risk is the negative log-likelihood. The estimator is

    min over theta of  NLL(Q) + (lambda / 2) |u|^2,

a restriction of r to a class: over every Q and every zeta the minimum is the plug-in's. It is
reached by Fisher scoring with the exact derivative of zeta_Q, in passes over the data that are sums
over states; each pass takes zeta a Newton step on as well, so that no fixed point is nested in the
loop. With kappa > 0 zeta is the ridge solution, and the point that is reached is stationary;
that it is the global minimum is not shown.

kappa_a is chosen by generalised cross-validation. The monomials of r are thinned out by BIC. lambda
is chosen by restricted maximum likelihood (REML, Laplace's approximation at the current fit,
repeated until lambda rests) and kept at infinity unless REML gains CRITICAL; once it is finite it
is taken UNDERSMOOTHING_STEPS below REML's choice: the two rules of the class `smooth`. If the
scores of the inputs left out are significant together, they enter r linearly as one more ridge
block, whose penalty is the inverse of their estimated variance (the dense tail). `specification`
then says whether the fit is to be trusted.

Rows may be memory-mapped (`Transitions.open`): the screens read them in chunks, and everything
else works on the distinct states in the inputs chosen, so that memory is a matter of how many
there are. The dense tail makes every row a state of its own; where that would be more than
LARGEST_TAIL numbers it is left out, with a warning.

The constants below, in `screen` and in `specification` were settled on data sets of the bus engine
with dummies and of the worlds linear, moves, slope, product, persistent, three, even and eight of
the exhibit `relevant_inputs`, on seeds that no exhibit uses; its other worlds came afterwards.
Three choices were adopted after the exhibit had shown a fault, and then checked on seeds of no
exhibit: that lambda is taken below REML's choice (r = -.25 x^1.7 was worse than in `smooth`, which
does so), the screen's FALSE_SHARE (`eight` missed inputs) and the price of bending r in a new input
(`moves` had false ones).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from numbers import Integral

import numpy as np
import torch
from scipy.special import chdtrc
from torch import Tensor

from gladius.anchor import Anchor
from gladius.checks import Array, InputError, check_choice, check_whole
from gladius.curvature import curvature
from gladius.estimate import Estimate, conclude
from gladius.networks import check_device
from gladius.rows import (
    Features,
    Minimum,
    Point,
    Risk,
    Rows,
    Start,
    make_features,
    minimise,
)
from gladius.screen import (
    Inputs,
    NextValue,
    Selection,
    choice_outcome,
    select,
    solve,
)
from gladius.smooth import CRITICAL, UNDERSMOOTHING_STEPS
from gladius.specification import LeftOut, examine, faults
from gladius.stochastic import WIDEST, refit
from gladius.transitions import Transitions

SUPPORT = (0.0005, 0.9995)  # quantiles between which an action counts as seen
LAMBDAS = 10.0 ** np.arange(4.0, -2.25, -0.5)
FEW = 2  # inputs up to which all products are tried and two may bend together
TERM = 0.001  # level of the test of a product, where there are more inputs than FEW
TAIL = 0.01  # level of the test of the inputs left out
LARGEST_TAIL = 400_000_000  # numbers of the tail's refit, whose states hardly repeat: 3.2 GB
CODE = 20.0  # spreads: a value so far out is most often a code
ROUNDS = 4  # of the choice of zeta's inputs


# The form of r ------------------------------------------------------------------------------------


def fit_form(rows: Rows, scaling: Inputs, inputs: Sequence[int], of_zeta: Sequence[int]) -> Minimum:
    """The monomials of r: all inputs and products that pass, thinned out by BIC."""
    places = range(len(inputs))
    pairs = list(combinations(places, 2))
    terms: list[tuple[int, ...]] = [(), *((i,) for i in places)]
    if len(inputs) <= FEW:
        terms += pairs
    zeta = make_zeta(rows, scaling, of_zeta)
    risk = Risk(rows, make_features(inputs, scaling, terms), zeta)
    fit = settle(risk.start())
    if len(inputs) > FEW:
        passing = significant_products(fit, pairs)
        if passing:
            risk = Risk(rows, make_features(inputs, scaling, [*terms, *passing]), zeta)
            fit = settle(risk.start())
    return drop_terms(fit)


def settle(start: Start) -> Minimum:
    """The minimum without a penalty, the ridge of zeta following the V of a first one."""
    none = torch.zeros_like(start.theta)
    fit = minimise(start.risk, none, start.theta, start.zeta)
    risk = fit.risk.with_ridge(fit.v)
    return minimise(risk, none, fit.point.theta, risk.regress(fit.v), fit)


def make_zeta(rows: Rows, scaling: Inputs, inputs: Sequence[int]) -> tuple[Features, ...]:
    """The functions of zeta(., a) for each action, clipped to where the action was seen."""
    chosen = [int(k) for k in inputs]
    terms: list[tuple[int, ...]] = [(), *((i,) for i in range(len(chosen)))]
    z = (rows.states[:, chosen].cpu().numpy() - scaling.center[chosen]) / scaling.scale[chosen]
    features = []
    for visits in rows.visits.T.cpu().numpy():
        box = np.empty((2, len(chosen)))
        for k, column in enumerate(z.T):
            order = np.argsort(column, kind="stable")
            share = np.cumsum(visits[order]) / visits.sum()
            box[:, k] = column[order][np.searchsorted(share, SUPPORT).clip(0, len(z) - 1)]
        features.append(make_features(chosen, scaling, terms, curved=chosen, box=(box[0], box[1])))
    return tuple(features)


def significant_products(fit: Minimum, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Products of two inputs whose score passes at TERM."""
    reward, actions = fit.risk.reward, len(fit.risk.rows.others)
    terms = (*reward.terms, *pairs)
    wider = replace(reward, terms=terms, removed=np.zeros((len(terms), 0)))
    point = extend(fit, fit.risk.with_reward(wider))
    place = torch.arange(actions * len(terms)).reshape(actions, -1)
    old, passing = place[:, : len(reward.terms)].flatten(), []
    for j, pair in enumerate(pairs, len(reward.terms)):
        new, information = place[:, j], point.information
        cross = information[old][:, new]
        left = information[new][:, new] - cross.T @ solve(information[old][:, old], cross)
        score = point.gradient[new]
        if chdtrc(actions, float(score @ solve(left, score))) <= TERM:
            passing.append(pair)
    return passing


def extend(fit: Minimum, wider: Risk) -> Point:
    """The fit's theta as a point of a risk whose r has further functions, zero there."""
    actions = len(wider.rows.others)
    table = fit.point.theta.new_zeros((actions, wider.reward.size))
    table[:, : fit.risk.reward.size] = fit.point.theta.reshape(actions, -1)
    return wider.point(table.reshape(-1), fit.point.zeta)


def drop_terms(fit: Minimum) -> Minimum:
    """Drop the monomial with the smallest Wald statistic while BIC falls; 1 always stays."""
    while True:
        risk, point = fit.risk, fit.point
        actions, size = len(risk.rows.others), risk.reward.size
        price = actions * risk.rows.log_size
        eye = torch.eye(risk.free, dtype=point.theta.dtype, device=point.theta.device)
        covariance = solve(point.information, eye)
        walds = []
        for j in range(1, size):
            place = [c * size + j for c in range(actions)]
            part = point.theta[place]
            walds.append(float(part @ solve(covariance[place][:, place], part)))
        if not walds or min(walds) > 2 * price:
            return fit
        kept = [j for j in range(size) if j != 1 + int(np.argmin(walds))]
        smaller = risk.with_reward(risk.reward.keep(kept))
        place = [c * size + j for c in range(actions) for j in kept]
        trial = minimise(smaller, fit.penalty[place], point.theta[place], point.zeta, fit)
        if 2 * (trial.point.nll - point.nll) >= price:
            return fit
        fit = trial


def bend(fit: Minimum, scaling: Inputs) -> Minimum:
    """The fit with cosines of one or two inputs, a block at a time while REML gains enough.

    CRITICAL is for one set of inputs. More sets have to gain more, and BIC's price is paid for each
    input beyond the first or with no part in r so far: where zeta bends in it, noise has zeta's
    error to add to.
    """
    rows, inputs = fit.risk.rows, fit.risk.reward.inputs
    sizes = (1, 2) if len(inputs) <= FEW else (1,)
    sets = [curved for size in sizes for curved in combinations(inputs, size)]
    weighted = fit.risk.reward(rows.states) * rows.visits.sum(dim=1)[:, None]
    gram = weighted.T @ fit.risk.reward(rows.states)
    while True:
        best, chosen, known = 0.0, fit, reward_inputs(fit.risk.reward)
        taken: tuple[int, ...] = ()
        for curved in sets:
            fresh = make_features(inputs, scaling, fit.risk.reward.terms, curved=curved)
            cosines = fresh(rows.states)[:, len(fresh.terms) :]
            removed = solve(gram, weighted.T @ cosines).cpu().numpy()
            wider = with_cosines(fit.risk.reward, replace(fresh, removed=removed))
            gain, bent = smooth_fit(fit, fit.risk.with_reward(wider))
            further = max(len(curved) - 1, len(set(curved) - set(known)))
            gain -= CRITICAL + rows.log_size * further + 2 * float(np.log(len(sets)))
            if gain > best:
                best, chosen, taken = gain, bent, curved
        fit, sets = chosen, [curved for curved in sets if not set(curved) <= set(taken)]
        if not taken or not sets:
            return fit


def with_cosines(reward: Features, fresh: Features) -> Features:
    """The functions of r, and behind them the cosines of other functions of the same inputs."""
    return replace(
        reward,
        frequencies=np.concatenate([reward.frequencies, fresh.frequencies], axis=1),
        phases=np.concatenate([reward.phases, fresh.phases]),
        removed=np.concatenate([reward.removed, fresh.removed], axis=1),
    )


def smooth_fit(fit: Minimum, wider: Risk) -> tuple[float, Minimum]:
    """The fit in the wider class at REML's lambda, and what twice REML gains over infinity.

    lambda is that of the functions that are new; the others keep theirs.
    """
    actions, size = len(wider.rows.others), wider.reward.size
    is_new = torch.arange(size, device=fit.point.theta.device) >= fit.risk.reward.size
    held = is_new.repeat(actions)
    known = fit.penalty.new_zeros(len(held))
    known[~held] = fit.penalty
    point, lambdas, bent = extend(fit, wider), [], fit
    while True:
        gains = [reml_gain(point, held, known, strength) for strength in LAMBDAS]
        strength = float(LAMBDAS[int(np.argmax(gains))])
        if max(gains) <= CRITICAL:
            return max(gains), bent
        if strength in lambdas:
            rougher = LAMBDAS[strength >= LAMBDAS][: UNDERSMOOTHING_STEPS + 1][-1]
            penalty = known + float(rougher) * held.double()
            return max(gains), minimise(wider, penalty, point.theta, point.zeta, bent)
        lambdas.append(strength)
        penalty = known + strength * held.double()
        bent = minimise(wider, penalty, point.theta, point.zeta, bent)
        point = bent.point


def reml_gain(point: Point, held: Tensor, known: Tensor, strength: float) -> float:
    """Twice the restricted log-likelihood at lambda less that at infinity, by the quadratic model.

    The model of the NLL is its gradient and Fisher's information at the point; `known` is the
    penalty of the functions that are not held.
    """
    working = point.information @ point.theta - point.gradient
    information = point.information + torch.diag(known)  # its inverse times it is the minimiser

    def criterion(matrix: Tensor, right: Tensor) -> float:
        return float(right @ solve(matrix, right) - torch.linalg.slogdet(matrix)[1])

    free = ~held
    straight = criterion(information[free][:, free], working[free])
    bent = criterion(information + torch.diag(strength * held.double()), working)
    return bent + float(held.sum()) * float(np.log(strength)) - straight


# The dense tail -----------------------------------------------------------------------------------


def wants_tail(fit: Minimum, rest: LeftOut, rows: int) -> bool:
    """Whether the inputs left out matter together, and the refit with them can be held."""
    if rest.p_value > TAIL or not rest.variance.any():
        return False
    functions = [fit.risk.reward, *fit.risk.zeta]
    numbers = 2 * rows * (len(rest.inputs) + sum(part.size for part in functions))
    if numbers > LARGEST_TAIL:
        told = f"the inputs left out matter together (p = {rest.p_value:.2g}), but a refit with "
        warnings.warn(f"{told}them would hold {numbers:.1e} numbers: left out", stacklevel=2)
    return numbers <= LARGEST_TAIL


def with_tail(
    fit: Minimum, rest: LeftOut, data: Transitions, scaling: Inputs, anchor: Anchor
) -> Minimum:
    """The fit with the inputs left out as one more, linear block of r under a ridge."""
    risk, old = fit.risk, fit.risk.reward
    used = (*old.inputs, *rest.inputs)
    rows = Rows.of(data, risk.used + rest.inputs, anchor, risk.rows.discount, scaling.device)
    tail = tuple((len(old.inputs) + i,) for i in range(len(rest.inputs)))
    zeros = np.zeros((len(rest.inputs), len(old.phases)))
    reward = replace(
        old,
        inputs=used,
        center=scaling.center[list(used)],
        scale=scaling.scale[list(used)],
        terms=(*old.terms, *tail),
        frequencies=np.concatenate([old.frequencies, zeros]),
        low=np.full(len(used), -np.inf),
        high=np.full(len(used), np.inf),
        removed=np.concatenate([old.removed, zeros]),
    )
    actions, before = len(rows.others), len(old.terms)
    table = fit.point.theta.new_zeros((2, actions, reward.size))
    for new, values in zip(table, (fit.point.theta, fit.penalty), strict=True):
        values = values.reshape(actions, -1)
        new[:, :before] = values[:, :before]
        new[:, before + len(tail) :] = values[:, before:]
    ridge = 1 / torch.as_tensor(np.maximum(rest.variance, 1e-12), dtype=table.dtype)
    table[1, :, before : before + len(tail)] = ridge[:, None].to(table.device)
    theta, penalty = table.reshape(2, -1)
    return minimise(replace(risk, rows=rows, reward=reward), penalty, theta, fit.point.zeta, fit)


# The estimator ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowFunction:
    """(n, d) states -> (n, A): r, or Q where zeta is given."""

    reward: Features
    theta: Array
    anchor: Anchor
    zeta: tuple[Features, ...] = ()
    coefficients: Array | None = None
    discount: float = 0.0

    def __call__(self, states: Array) -> Array:
        given = torch.tensor(states, dtype=torch.float64)
        values: Array = self.reward(given).numpy() @ self.theta.T
        values[:, self.anchor.action] = self.anchor.values(states)
        if self.coefficients is not None:
            for a, features in enumerate(self.zeta):
                values[:, a] += self.discount * (features(given).numpy() @ self.coefficients[a])
        return values


@dataclass(frozen=True)
class Options:
    """What a user may set.

    Attributes:
        inputs: columns of the state on which r may depend, by name or place; by default those that
            the screen finds.
        zeta_inputs: columns on which zeta may depend; likewise. What is left out of those given is
            not tested.
        tail: whether the inputs left out may enter r as a ridge block.
        device: where the sums over rows are computed, cpu or cuda.
        wide_check: whether a wide network of all inputs is trained for comparison; it costs
            as much time as tens of fits, and nothing is chosen by it.
        solver: of the last fit, with r's form and lambda chosen: full passes, or stochastic,
            where r has no more than WIDEST coefficients.
        seed: of the stochastic solver.
    """

    inputs: Sequence[int | str] | None = None
    zeta_inputs: Sequence[int | str] | None = None
    tail: bool = True
    device: str = "cpu"
    wide_check: bool = False
    solver: str = "full"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("inputs", "zeta_inputs"):
            given = getattr(self, name)
            several = isinstance(given, Iterable) and not isinstance(given, str)
            if given is None:
                continue
            if not (several and all(isinstance(k, (Integral, str)) for k in given)):
                hint = "give a list of columns of the state, by name or by place from 0"
                raise InputError(name, given, hint)
            object.__setattr__(self, name, tuple(given))
        for name in ("tail", "wide_check"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(name, getattr(self, name), "give True or False")
        check_choice("solver", self.solver, ("full", "stochastic"))
        check_whole("seed", self.seed, 0)
        check_device(self.device)


def columns(
    data: Transitions, field: str, given: Sequence[int | str] | None
) -> tuple[int, ...] | None:
    """Places of the columns that an option names, in order.

    Raises:
        InputError: one is no column of the state.
    """
    if given is None:
        return None
    names = list(data.feature_names)
    places = {names.index(k) if k in names else k for k in given}
    if not places <= set(range(len(names))):
        hint = f"the state's columns are {names}, or 0 to {len(names) - 1}"
        raise InputError(field, list(given), hint)
    return tuple(sorted(int(k) for k in places))


def fit_rows(data: Transitions, anchor: Anchor, discount: float, options: Options) -> Estimate:
    """Fit one data set.

    Raises:
        InputError: for an input that is no column of the state.
    """
    given = [columns(data, name, getattr(options, name)) for name in ("inputs", "zeta_inputs")]
    of_choice, of_transitions = given
    began = time.process_time()
    scaling = Inputs.of(data.states, options.device)
    for k in np.flatnonzero(scaling.farthest > CODE):
        name, far = data.feature_names[k], scaling.farthest[k]
        message = f"{name}: a value {far:.0f} spreads from the median; if it is a code,"
        warnings.warn(f"{message} for a missing value perhaps, remove it", stacklevel=2)
    actions = torch.tensor(data.actions.astype(np.int32), device=options.device)
    size = data.number_of_actions
    if of_choice is None:
        choice = select(scaling, choice_outcome(actions, size, anchor.action), of_choice=True)
        choice = with_anchor(choice, scaling, anchor)
    else:
        choice = Selection(of_choice)
    grouped = tuple(sorted(choice.inputs))
    rows = Rows.of(data, grouped, anchor, discount, options.device)
    value = first_value(rows, scaling, choice.inputs)
    transition = Selection(of_transitions or ())
    tried: list[tuple[int, ...]] = []
    is_settled = False
    while len(tried) < ROUNDS:
        if of_transitions is None:
            outcome = NextValue(rows.next_values(value), actions, size)
            transition = select(scaling, outcome, of_choice=False)
        of_zeta = tuple(sorted(set(transition.inputs)))
        if of_zeta in tried:
            is_settled = of_zeta == tried[-1]
            break
        tried.append(of_zeta)
        used = tuple(sorted({*choice.inputs, *of_zeta}))
        if used != grouped:
            rows, grouped = Rows.of(data, used, anchor, discount, options.device), used
        of_reward = used if of_choice is None else choice.inputs
        minimum = fit_form(rows, scaling, of_reward, of_zeta)
        value = minimum.v
    minimum = bend(minimum, scaling)
    rest, misfit = examine(minimum, scaling, actions, len(choice.inputs))
    extra: dict[str, object] = {
        "reward_inputs": reward_inputs(minimum.risk.reward),
        "zeta_inputs": tuple(minimum.risk.zeta[0].inputs),
        "p_values": choice.p_values,
        "zeta_p_values": transition.p_values,
        "penalty": float(minimum.penalty.max()),
        "left_out_p_value": rest.p_value,
        "detectable": rest.detectable,
        "inputs_settled": is_settled,
        "tail": options.tail and of_choice is None and wants_tail(minimum, rest, len(data)),
    }
    if extra["tail"]:
        minimum = with_tail(minimum, rest, data, scaling, anchor)
        _, misfit = examine(minimum, scaling, actions, len(choice.inputs))
    if options.wide_check:
        from gladius.row_networks import against_wide_network  # which imports this module

        alone = replace(options, wide_check=False)
        again = partial(fit_rows, anchor=anchor, discount=discount, options=alone)
        extra |= against_wide_network(data, anchor, discount, again, options.device)
    extra["misfit_inputs"] = misfit
    status, is_sound = "ok" if minimum.converged else "not_converged", minimum.is_sound
    extra["solver"] = options.solver
    if options.solver == "stochastic" and minimum.risk.free > WIDEST:
        wide = f"r has {minimum.risk.free} coefficients, more than {WIDEST}, where mini-batches"
        warnings.warn(f"{wide} cost more than full passes: these were used", stacklevel=2)
        extra["solver"] = "full"
    elif options.solver == "stochastic":
        is_sound = is_sound and minimum.converged
        minimum, status, *told = refit(minimum, options.seed)
        extra |= dict(
            zip(("batches", "change_left", "distance", "inner_iterations"), told, strict=True)
        )
    minimum = minimum._replace(is_sound=is_sound)
    extra |= curvature(minimum, status == "ok")._asdict()
    extra["not_ok_because"] = faults(minimum, status == "ok", is_settled, misfit)
    if status == "ok" and extra["not_ok_because"]:
        status = "not_converged"
    return estimate(minimum, anchor, status, time.process_time() - began, extra)


def with_anchor(choice: Selection, scaling: Inputs, anchor: Anchor) -> Selection:
    """The choice's inputs and those of the anchor's reward, which r must offset elsewhere.

    An input is one of the reward's if the reward changes where each row is given the input of
    another.

    Raises:
        InputError: the reward cannot be computed there.
    """
    if not callable(anchor.reward):
        return choice
    sample = scaling.sample
    before, moved = anchor.values(sample), []
    for k in range(sample.shape[1]):
        mixed = sample.copy()
        mixed[:, k] = np.random.default_rng(k).permutation(mixed[:, k])
        try:
            if not np.array_equal(anchor.values(mixed), before):
                moved.append(k)
        except Exception as error:  # whatever a user's function raises off the data
            hint = "it cannot be computed where inputs are exchanged: name those of r in inputs="
            raise InputError("anchor_reward", type(error).__name__, hint) from error
    return Selection(tuple(dict.fromkeys((*choice.inputs, *moved))), choice.p_values)


def first_value(rows: Rows, scaling: Inputs, inputs: Sequence[int]) -> Tensor:
    """(S,) V of the plug-in whose zeta depends on all the inputs of the choice."""
    form = make_features(inputs, scaling, [(), *((i,) for i in range(len(inputs)))])
    return Risk(rows, form, make_zeta(rows, scaling, inputs)).start().v


def reward_inputs(reward: Features) -> tuple[int, ...]:
    """The inputs on which r depends."""
    bent = np.flatnonzero(np.any(reward.frequencies != 0, axis=1)) if reward.phases.size else ()
    places = {*(i for term in reward.terms for i in term), *(int(i) for i in bent)}
    return tuple(sorted(reward.inputs[i] for i in places))


def estimate(
    fit: Minimum, anchor: Anchor, status: str, seconds: float, extra: Mapping[str, object]
) -> Estimate:
    """The fit, whose solver ended with `status`, as an Estimate."""
    risk, rows, point = fit.risk, fit.risk.rows, fit.point
    theta = np.zeros((len(rows.actions), risk.reward.size))
    theta[rows.others] = point.theta.reshape(-1, risk.reward.size).cpu().numpy()
    reward = RowFunction(risk.reward, theta, anchor)
    zeta = torch.stack([w @ c for w, c in zip(risk.factor, point.zeta, strict=True)])
    q = replace(reward, zeta=risk.zeta, coefficients=zeta.cpu().numpy(), discount=rows.discount)
    total = float(rows.visits.sum())
    slope = point.gradient + fit.penalty * point.theta
    left = risk.regress(fit.v)[rows.anchor] - point.zeta[rows.anchor]
    anchored = rows.visits[:, rows.anchor]  # there the Bellman error is that of zeta
    gap = rows.discount * (risk.block.phi[rows.anchor] @ left)
    return conclude(
        "gladius sparse",
        q,
        reward,
        rows.states.shape[1],
        point.nll / total,
        float(anchored @ gap**2) / total,
        status=status,
        iterations=fit.steps,
        gradient_norm=float(slope.abs().max()) / total,
        seconds=seconds,
        extra={"inner_iterations": 0, **extra},
    )
