"""The class `sparse` on observations (s, a, s'): many inputs, states that never repeat.

Score tests (`select_inputs`) select the inputs A of the reward and A_z of zeta. With z the
standardised inputs, and zeta(., a) in the class Z_a = span{1, z, cos(w'z + c)} of A_z,

    zeta_Q(., a) = argmin over Z_a of  sum over observations of a of (V_Q(s') - zeta(s))^2
                   + kappa_a |coefficients|^2,                             V_Q = logsumexp Q,
    Q = r_theta + beta zeta_Q,      r_theta(., a) = monomials(z)'b_a + cosines(z)'u_a,

the anchor's reward as given. At the anchor's observations r + beta V' - Q = beta (V' - zeta), so
the Bellman term is zero one by one, and the risk is the negative log-likelihood. The estimator is

    min over theta of  NLL(Q) + (lambda / 2) |u|^2,

a restriction of r to a class: over every Q and every zeta the minimum is the plug-in's.

Implementation choices:
- The point that Fisher scoring (`risk`) reaches is stationary; that it is the global minimum is not
  proved. `fit_form` chooses monomials, and `add_curvature` lambda by the rules of `smooth`.
- Where no path ends, a constant added to all rewards changes V by a constant. The fit is therefore
  of rewards less the anchor's mean, so that its constant decides nothing. At discount factors above
  NEAR_ONE further fits lower them until V is near 0, where steps are best conditioned. The last is
  not ok if it moves r by MOVED, or if one before was likelier. r and Q are raised again.
- Where choices or next values differ from the fit along an input, or in the cells of a pair of
  columns (`misfit`), r and zeta get its cells and the fit is repeated, at most MOST_TOGETHER times.
- Intervals come from the minimum with the features and terms that were left out (`widest`). Its
  covariance counts what theta moves by at a tenth of the ridge of zeta: its bias and its choice.
- Constants were tuned on other seeds than the exhibits use. FALSE_SHARE, the undersmoothing and the
  price of a curve in a new input were tuned after an exhibit had shown a fault.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from gladius.model.estimate import Estimate, Fit
from gladius.model.state_anchor import StateAnchor, own_actions
from gladius.own_data.erm import misfit as trust
from gladius.own_data.erm.history import path_of
from gladius.own_data.erm.level import DISAGREES, Level
from gladius.own_data.erm.observations.features import (
    Features,
    FirstColumns,
    Inputs,
    Logs,
    Rows,
    make_features,
    sampled,
)
from gladius.own_data.erm.observations.risk import (
    ObservationRisk,
    RiskMinimum,
    covariance,
    level_test,
)
from gladius.own_data.erm.observations.score_tests import (
    Choice,
    InputSelection,
    NextValue,
    select_inputs,
)
from gladius.own_data.erm.observations.selection import (
    MOST_CROSSED,
    OF_CELL,
    add_curvature,
    add_ends,
    fit_form,
    make_zeta,
    reward_inputs,
    ridge_shift,
    widened,
    with_all_cells,
    with_own_ridge,
)
from gladius.own_data.erm.together import MANY, MOST_ROWS, p_value_of_many
from gladius.panel.anchor import Anchor
from gladius.panel.record import Integers, Transitions
from gladius.panel.ties import TIE, ranking
from gladius.validate import Array, InputError

DIFFERS = (
    "{}: choices along it differ from the fit (p = {:.1g}): if its values are a code, give a"
    " column for each; else r may jump or bend"
)
TOGETHER = (
    "{}: choices or next values along both differ from the fit (p = {:.1g}): r may depend on both"
    " at once in a way that it does not allow for; join them to one column in categorical"
)
OF_MANY = (
    "{}: choices or next values differ from the fit along a sum of them (p = {:.1g}): r may be a"
    " function of many at once, which no sum of functions of them is: compare with the class mlp"
)
MOST_TOGETHER = 3  # inputs or pairs along which choices differ, that r and zeta get in cells
JOINED = (2, 4)  # inputs of zeta that are joined where the level of V is rejected
ROUNDS = 4  # of the selection of zeta's inputs
NO_EFFECT = "r-hat does not depend on {}: no test finds that it does; a method with a form keeps it"
LONELY = (
    "anchor_action: in {:.0%} of the rows it is all but never chosen, less than once in as many"
    " rows as there are: how large r is there follows from the form of r alone"
)
UNSEEN = 0.1  # of the rows, from which that is reported
NEAR_ONE = 0.99  # discount factor
LEVELS = 3  # fits at most whose V is near 0
MOVED = 0.1  # standard errors by which the last of them may move r
BEATEN = 0.1  # nats by which an earlier one may be likelier
LEAST = 1e-300  # probability, whose logarithm is finite
FEW_FEATURES = 3  # up to which one without an effect on r is reported


@dataclass(frozen=True)
class RowFunction:
    """(n, d) states -> (n, A): r, or Q where zeta is given."""

    reward: Features
    theta: Array
    anchor: Anchor
    covariance: Array
    zeta: tuple[Features, ...] = ()
    coefficients: Array | None = None
    discount: float = 0.0
    logs: Logs = field(default_factory=Logs)  # what the features have beside the states
    further: Array | None = None  # (A,) variance of each action, by what the level of V is off

    def __call__(self, states: Array) -> Array:
        tensor = torch.tensor(self.logs.beside(states), dtype=torch.float64)
        values: Array = self.reward(tensor).numpy(force=True) @ self.theta.T
        values[np.arange(len(states)), own_actions(self.anchor, states)] = self.anchor.values(
            states
        )
        if self.coefficients is not None:
            for a, features in enumerate(self.zeta):
                values[:, a] += self.discount * (
                    features(tensor).numpy(force=True) @ self.coefficients[a]
                )
        return values

    def errors(self, states: Array) -> Array:
        """(n, A) standard errors of r by `covariance` (M, M); 0 for the anchor."""
        tensor = torch.tensor(self.logs.beside(states), dtype=torch.float64)
        psi = self.reward(tensor).numpy(force=True)
        size, found = self.reward.size, np.zeros((len(states), len(self.theta)))
        for i, a in enumerate(self.estimated):
            own = slice(i * size, (i + 1) * size)
            found[:, a] = np.sqrt(np.einsum("nk,kl,nl->n", psi, self.covariance[own, own], psi))
        if self.further is not None:
            found = np.sqrt(found**2 + self.further)
        found[np.arange(len(states)), own_actions(self.anchor, states)] = 0.0
        return found

    @property
    def estimated(self) -> Integers:
        """The actions that have coefficients: all, if each is free in some state."""
        every = np.arange(len(self.theta))
        is_all = len(self.covariance) == self.theta.size
        return every if is_all else np.delete(every, self.anchor.action)


@dataclass(frozen=True)
class Options:
    """The options of a user.

    Attributes:
        inputs: columns of the state on which r may depend, by name or position; by default those
            that the screen selects.
        zeta_inputs: columns on which zeta may depend; likewise. What is left out of those given is
            not tested.
    """

    inputs: Sequence[int | str] | None = None
    zeta_inputs: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        for name in ("inputs", "zeta_inputs"):
            value = getattr(self, name)
            is_list = isinstance(value, Iterable) and not isinstance(value, str)
            if value is None:
                continue
            if not (is_list and all(isinstance(k, (Integral, str)) for k in value)):
                hint = "give a list of columns of the state, by name or by position from 0"
                raise InputError(name, value, hint)
            object.__setattr__(self, name, tuple(value))


def column_indices(data: Transitions, field: str, options: Options) -> tuple[int, ...] | None:
    """Sorted columns of the state that an option names; None where it names none.

    Raises:
        InputError: one is no column of the state.
    """
    value = getattr(options, field)
    if value is None:
        return None
    names = list(data.feature_names)
    columns = {names.index(k) if k in names else k for k in value}
    if not columns <= set(range(len(names))):
        hint = f"the state's columns are {names}, or 0 to {len(names) - 1}"
        raise InputError(field, list(value), hint)
    return tuple(sorted(int(k) for k in columns))


def fit_rows(data: Transitions, anchor: Anchor, discount: float, options: Options) -> Estimate:
    """The estimate of one data set.

    Raises:
        InputError: an input is no column of the state.
    """
    anchor = known_anchor(data, anchor)
    of_reward, of_zeta = (column_indices(data, n, options) for n in ("inputs", "zeta_inputs"))
    given, own_anchor, width = data, anchor, data.states.shape[1]
    logs = Logs() if isinstance(anchor, StateAnchor) else Logs.of(data)
    if logs.columns:
        data = logs.of_data(data)
        asked = (of_reward, of_zeta)
        of_reward, of_zeta = (k if k is None else logs.with_own(k, width) for k in asked)
        if callable(anchor.reward):
            anchor = replace(anchor, reward=FirstColumns(anchor.reward, width))
    inputs = Inputs.of(data.states)
    actions = torch.tensor(data.actions)
    others = [a for a in range(data.number_of_actions) if a != anchor.action]
    choice = select_inputs(inputs, Choice(actions, (*others, anchor.action)), of_reward)
    if of_reward is None:
        choice = with_anchor(choice, inputs, anchor)
    level = 0.0
    if not data.done.any():  # whatever constant the anchor's reward has, the fit is the same
        level = float(np.mean(anchor.values(data.states))) / (1 - discount)
    together: tuple[tuple[int, ...], ...] = ()
    while True:
        fit, transition, level, is_settled, has_level = settle_level(
            data, inputs, choice, (of_reward, of_zeta), anchor, discount, level, together
        )
        curved = add_ends(add_curvature(fit, inputs, together), inputs)
        fit = curved if curved is fit else with_own_ridge(curved)  # its V is another
        policy = torch.softmax(fit.q, dim=1).numpy(force=True)
        chosen = logs.origins(choice.inputs, width)
        misfit, doubtful = misfits(fit, inputs.first(width), given, policy, chosen)
        open_to = set(range(data.states.shape[1]) if of_reward is None else of_reward)
        joinable = [of for key, of in doubtful.items() if not is_of_many(key)]
        new = [one for one in joinable if one not in together and set(one) <= open_to]
        off, joint = level_test(fit), tuple(fit.risk.zeta[0].inputs)
        is_joinable = JOINED[0] <= len(joint) <= JOINED[1] and joint not in together
        if not new and off.is_rejected and is_joinable:
            new = [joint]
        if not new or len(together) == MOST_TOGETHER:
            break
        together = (*together, new[0])
        every = tuple(dict.fromkeys((*choice.inputs, *(k for k in new[0] if k in open_to))))
        choice = InputSelection(every, choice.p_values)
    for key in doubtful:
        if misfit[key] >= trust.REJECTED:  # below, the status says so
            text, name = DIFFERS, data.feature_names[key] if isinstance(key, int) else ""
            if isinstance(key, tuple):
                text, name = OF_MANY if is_of_many(key) else TOGETHER, " and ".join(key)
            warnings.warn(text.format(name, misfit[key]), stacklevel=2)
    rows = fit.risk.rows
    of_anchor = np.sum((1 - rows.is_free.numpy(force=True)) * policy, axis=1)
    seen, is_closed = rows.seen.numpy(force=True), (rows.closed != 0).numpy(force=True)
    is_lonely = of_anchor < 1 / seen.sum()  # of a choice set without the anchor `fit` has warned
    is_lonely &= ~np.any((rows.is_free.numpy(force=True) == 0) & is_closed, axis=1)
    unseen = float(seen @ is_lonely / seen.sum())
    used = logs.origins(reward_inputs(fit.risk.reward), width)
    dropped = np.setdiff1d(np.flatnonzero(inputs.varies[:width]), used)
    if len(dropped) and width <= FEW_FEATURES:
        names = ", ".join(data.feature_names[k] for k in dropped)
        warnings.warn(NO_EFFECT.format(names), stacklevel=2)
    extra: dict[str, object] = {
        "reward_inputs": used,
        "zeta_inputs": logs.origins(fit.risk.zeta[0].inputs, width),
        "p_values": choice.p_values,
        "zeta_p_values": transition.p_values,
        "zeta_ridges": fit.risk.kappas,
        "penalty": float(fit.penalty.max()),
        "inputs_settled": is_settled,
        "level_settled": has_level,
        "misfit_p_values": misfit,
        "misfit_inputs": tuple(key for key in doubtful if misfit[key] < trust.REJECTED),
        "level_shift": off.shift,
        "level_z": off.z,
        "anchor_unseen": unseen,
    }
    wide = widest(fit, inputs, data, anchor, level, of_reward)
    found = estimate(fit, wide, anchor, level, off, policy, extra)
    if unseen > UNSEEN and found.diagnostics.status == "ok":  # else the status says more
        warnings.warn(LONELY.format(unseen), stacklevel=2)
    if not logs.columns:
        return found
    q, reward, basis = (
        replace(cast("RowFunction", one), anchor=own_anchor, logs=logs)
        for one in (found.q_function, found.reward_function, found.basis)
    )
    return replace(found, q_function=q, reward_function=reward, basis=basis, features=width)


def known_anchor(data: Transitions, anchor: Anchor) -> Anchor:
    """The anchor, or the only action that it is in these data.

    Raises:
        InputError: some action is never taken where its reward is not given.
    """
    if not isinstance(anchor, StateAnchor):
        return anchor
    own, after = (own_actions(anchor, states) for states in (data.states, data.next_states))
    if len(np.union1d(own, after)) == 1:
        return Anchor(int(own[0]), anchor.reward)
    never = np.setdiff1d(np.arange(data.number_of_actions), data.actions[data.actions != own])
    if len(never):
        hint = f"action {never[0]} is never taken where its reward is not given, so that the data"
        hint += " say nothing of it there: give another anchor in those states, or leave them out"
        raise InputError("anchor_action", "by state", hint)
    return replace(anchor, action=int(np.bincount(data.actions).argmax()))


def widest(
    fit: RiskMinimum,
    inputs: Inputs,
    data: Transitions,
    anchor: Anchor,
    level: float,
    asked: Sequence[int] | None,
) -> RiskMinimum:
    """The minimum that intervals come from: r may depend on every feature, where these are few.

    A feature that no test selects may matter a little. The other features are left out where the
    user named the inputs. Where some action is too rare for that many terms they are penalised.
    """
    rows, own = fit.risk.rows, fit.risk.reward.inputs
    columns = sorted({*own, *np.flatnonzero(inputs.varies).tolist()})
    terms = (len(columns) + 1) * (len(columns) + 2) // 2
    is_rare = float(rows.visits.sum(dim=0).min()) < trust.PER_COEFFICIENT * terms
    if asked is not None or len(columns) > MOST_CROSSED:
        columns = list(own)
    elif len(columns) > len(own):
        used = sorted({*columns, *fit.risk.zeta[0].inputs})
        rows = Rows.of(data, used, anchor, rows.discount, (1 - rows.discount) * level)
    penalty = OF_CELL if is_rare else 0.0
    return with_all_cells(widened(fit, rows, inputs, columns, penalty), inputs)


def misfits(
    fit: RiskMinimum,
    inputs: Inputs,
    data: Transitions,
    policy: Array,
    selected: Sequence[int],
) -> tuple[dict[Any, float], dict[Any, tuple[int, ...]]]:
    """p-values by input, and by the names of columns; and the doubtful ones, with their inputs.

    They are of two columns and, where there are MANY, of all; of more than MOST_PAIRED, of those
    selected. The doubtful are in order. Those of several columns are dropped if one of their inputs
    is doubtful alone, with a p-value no larger. `policy` is (S, A).
    """
    rows, phi, seen = fit.risk.rows, fit.risk.block.phi, data.followed
    at, actions = policy[rows.state_index.numpy(force=True)], data.actions
    found: dict[Any, float] = dict(trust.misfit_p_values(inputs, actions, at, rows.others))
    bars: dict[Any, float] = dict.fromkeys(found, trust.DOUBTFUL / len(found))
    members: dict[Any, tuple[int, ...]] = {k: (k,) for k in found}
    alone = {k for k, p in found.items() if p < bars[k]}
    zeta = torch.stack([phi[a] @ fit.point.zeta[a] for a in rows.actions], dim=1)
    own = zeta[rows.state_index, torch.tensor(actions)]
    residual = (fit.v[rows.next_index] * rows.continues - own).numpy(force=True)
    columns = data.features_of_columns
    tested = [name for name, of in columns.items() if np.any(inputs.varies[list(of)])]
    choices = trust.deviations(actions, at, rows.others)

    def of(some: slice | Integers) -> trust.Deviations:
        followed = seen[some]
        e = residual[some][followed]
        return trust.Deviations(
            np.ones(len(followed)),
            [(error[some], variance[some]) for error, variance in choices],
            np.flatnonzero(followed),
            actions[some][followed],
            (np.ones(len(e)), e, e**2),
            rows.discount,
        )

    pairs = trust.pair_p_values(
        inputs,
        [columns[name] for name in tested],
        of(slice(None)),
        sampled(len(actions)),
        lambda: [e for e, _ in choices] + [seen * residual * (actions == a) for a in rows.actions],
        [i for i, name in enumerate(tested) if set(columns[name]) & set(selected)],
    )
    number = max(1, len(tested) * (len(tested) - 1) // 2)
    for (i, j), p in pairs.items():
        pair = tested[i], tested[j]
        found[pair], bars[pair] = p, trust.DOUBTFUL / number
        members[pair] = (*columns[pair[0]], *columns[pair[1]])
    is_few = len(tested) <= trust.MOST_PAIRED
    many = tuple(name for name in tested if is_few or {*columns[name]} & {*selected})
    every = [k for name in many for k in columns[name]]
    if len(many) >= MANY:
        some = np.arange(0, len(actions), -(-len(actions) // MOST_ROWS))
        path = path_of(data.trajectory)
        half = path % 2 == 0 if path.any() else np.arange(len(path)) < len(path) // 2
        taken = [np.asarray(actions == a, dtype=float) for a in rows.others]
        next_value = own.numpy(force=True) + seen * residual
        outcomes = [*taken, next_value, *(error for error, _ in choices), seen * residual]
        log_at = np.log(np.maximum(at[some], LEAST))
        bars[many], members[many] = trust.DOUBTFUL, tuple(every)
        found[many] = p_value_of_many(
            (inputs.states[some][:, every] - inputs.center[every]) / inputs.scale[every],
            half[some],
            [y[some] for y in outcomes],
            [log_at[:, a] - log_at[:, rows.anchor] for a in rows.others],
            lambda asked: of(some[asked]),
        )
    keys = [key for key in found if found[key] < bars[key]]
    keys = [keys[i] for i in ranking([found[key] for key in keys])] if keys else []
    hidden = {k for k in keys if any(found[j] <= found[k] for j in alone & set(members[k]) - {k})}
    return found, {key: members[key] for key in keys if key not in hidden}


def is_of_many(key: object) -> bool:
    """Whether a p-value is of more columns than two."""
    return isinstance(key, tuple) and len(key) >= MANY


def settle_level(
    data: Transitions,
    inputs: Inputs,
    choice: InputSelection,
    asked: tuple[Sequence[int] | None, Sequence[int] | None],
    anchor: Anchor,
    discount: float,
    level: float,
    together: Sequence[tuple[int, ...]],
) -> tuple[RiskMinimum, InputSelection, float, bool, bool]:
    """`settle` with the level of V; the level, and whether inputs and level settled."""
    given = data, inputs, choice, asked, anchor, discount
    fit, transition, is_settled = settle(*given, level, together)
    if discount <= NEAR_ONE or data.done.any():
        return fit, transition, level, is_settled, True
    best, shift = fit, np.inf
    for _ in range(LEVELS):
        seen = fit.risk.rows.seen
        before, levels = fit, (level, level + float(seen @ fit.v / seen.sum()))
        level = levels[1]
        fit, transition, is_settled = settle(*given, level, together)
        shift = difference((before, fit), levels, data, replace(anchor, reward=0.0))
        best = min(best, fit, key=lambda one: one.point.nll if one.converged else np.inf)
        if shift <= MOVED:
            break
    is_beaten = fit.point.nll > best.point.nll + BEATEN
    return fit, transition, level, is_settled, shift <= MOVED and not is_beaten


def difference(
    fits: tuple[RiskMinimum, RiskMinimum],
    levels: tuple[float, float],
    data: Transitions,
    anchor: Anchor,
) -> float:
    """Root mean square move of r over the observations, in standard errors; inf if there are none.

    The moves are those of every action against the anchor, whose reward is 0 in both. By `levels`
    the V of the fits are lower.
    """
    if not (fits[0].converged and fits[1].converged):
        return np.inf
    of_fits = [reward_function(one, anchor, by) for one, by in zip(fits, levels, strict=True)]
    shift = of_fits[1](data.states) - of_fits[0](data.states)
    errors = of_fits[1].errors(data.states)
    is_free = np.arange(errors.shape[1]) != own_actions(anchor, data.states)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt(np.mean((shift[is_free] / errors[is_free]) ** 2)))


def settle(
    data: Transitions,
    inputs: Inputs,
    choice: InputSelection,
    asked: tuple[Sequence[int] | None, Sequence[int] | None],
    anchor: Anchor,
    discount: float,
    level: float,
    together: Sequence[tuple[int, ...]],
) -> tuple[RiskMinimum, InputSelection, bool]:
    """The fit, the inputs of zeta, and whether their choice settled.

    Args:
        data, anchor, discount: as in `fit_rows`.
        inputs: standardised.
        choice: of the inputs of r.
        asked: inputs of r and of zeta that the user named.
        level: a constant by which the V of the fit is lower.
        together: sets of inputs that matter together, which zeta has too.
    """
    of_reward, of_zeta = asked
    by, used = (1 - discount) * level, tuple(sorted(choice.inputs))
    rows = Rows.of(data, used, anchor, discount, by)
    zeta = make_zeta(rows, inputs, choice.inputs)
    *_, value = ObservationRisk(rows, make_features(choice.inputs, inputs), zeta).start()
    rounds: list[tuple[int, ...]] = []
    is_settled = False
    while len(rounds) < ROUNDS and not is_settled:
        next_value = value[rows.next_index] * rows.continues
        observed = torch.tensor(data.actions), torch.tensor(data.followed).double()
        outcome = NextValue(next_value, *observed, data.number_of_actions)
        transition = select_inputs(inputs, outcome, of_zeta)
        further = [k for one in together for k in one] if of_zeta is None else []
        rounds.append(tuple(sorted({*transition.inputs, *further})))
        is_settled = rounds[-1] in rounds[:-1]
        if is_settled:  # of rounds that repeat, zeta has the inputs of all
            repeated = rounds[rounds.index(rounds[-1]) :]
            rounds[-1] = tuple(sorted({k for one in repeated for k in one}))
            if rounds[-1] == rounds[-2]:
                break
        united = tuple(sorted({*choice.inputs, *rounds[-1]}))
        if united != used:
            rows, used = Rows.of(data, united, anchor, discount, by), united
        of_r = used if of_reward is None else choice.inputs
        joint = [one for one in together if set(one) <= set(rounds[-1])]
        fit = fit_form(rows, inputs, of_r, rounds[-1], joint)
        value = fit.v
    return fit, transition, is_settled


def with_anchor(choice: InputSelection, inputs: Inputs, anchor: Anchor) -> InputSelection:
    """The choice's inputs and those of the anchor's reward, which r must offset elsewhere.

    An input is one of the reward's if the reward changes where each observation gets the input of
    another.

    Raises:
        InputError: the reward cannot be computed there.
    """
    if not callable(anchor.reward):
        return choice
    reward, of_anchor = anchor.values(inputs.sample), []
    for k in range(inputs.sample.shape[1]):
        mixed = inputs.sample.copy()
        mixed[:, k] = np.random.default_rng(k).permutation(mixed[:, k])
        try:
            if np.max(np.abs(anchor.values(mixed) - reward)) > TIE * np.max(np.abs(reward)):
                of_anchor.append(k)
        except Exception as error:  # whatever a user's function raises off the data
            hint = "it cannot be computed where inputs are exchanged: name those of r in inputs="
            raise InputError("anchor_reward", type(error).__name__, hint) from error
    return InputSelection(tuple(dict.fromkeys((*choice.inputs, *of_anchor))), choice.p_values)


def reward_function(
    fit: RiskMinimum, anchor: Anchor, level: float, shift: Tensor | None = None
) -> RowFunction:
    """r of a minimum, raised by (1 - beta) `level`; errors are NaN where it is none.

    `shift` (M,) of theta adds its square to the covariance.
    """
    rows, size = fit.risk.rows, fit.risk.reward.size
    theta = np.zeros((len(rows.actions), size))
    theta[rows.estimated] = fit.point.theta.reshape(-1, size).numpy(force=True)
    theta[:, 0] += (1 - rows.discount) * level
    variance = covariance(fit).numpy(force=True)
    if shift is not None:
        variance += torch.outer(shift, shift).numpy(force=True)
    return RowFunction(
        fit.risk.reward, theta, anchor, variance if fit.converged else variance * np.nan
    )


def estimate(
    fit: RiskMinimum,
    wide: RiskMinimum,
    anchor: Anchor,
    level: float,
    off: Level,
    policy: Array,
    extra: Mapping[str, object],
) -> Estimate:
    """The fit as an Estimate; `policy` is (S, A) at its states, `level` is added to its V.

    Intervals are of the `wide` minimum, and allow for what the level of V is `off` by.
    """
    risk, rows, point = fit.risk, fit.risk.rows, fit.point
    visits, free = rows.visits.numpy(force=True), risk.free
    size, monomials = float(visits.sum()), len(risk.reward.terms)
    in_free = (visits * rows.is_free.numpy(force=True)).sum(axis=0)[rows.estimated]
    rarest = min(visits.sum(axis=0).min(), in_free.min())
    reasons = {
        "the steps did not converge": not fit.converged,
        "the steps that chose the form of r did not converge": not fit.is_sound,
        "the choice of zeta's inputs did not settle": not extra["inputs_settled"],
        "the level of V did not settle": not extra["level_settled"],
        "choices or next values are far from the fit along misfit_inputs": bool(
            extra["misfit_inputs"]
        ),
        DISAGREES: off.is_rejected,
        "too few observations for the coefficients of r": size < trust.PER_COEFFICIENT * free,
        trust.RARE: rarest < trust.PER_COEFFICIENT * monomials,
        **trust.of_choices(visits, policy, point.nll),
    }
    not_ok = tuple(reason for reason, holds in reasons.items() if holds)
    reward = reward_function(fit, anchor, level)
    followed = rows.followed.sum(dim=0)
    times = torch.zeros_like(followed).index_add_(0, rows.action, rows.times)
    continuing = (times / followed).numpy(force=True)  # share of each action's moves
    centre = replace(
        reward_function(wide, anchor, level, ridge_shift(wide)),
        further=(1 - rows.discount * continuing) ** 2 * off.square,
    )
    zeta = torch.stack([w @ c for w, c in zip(risk.factor, point.zeta, strict=True)])
    coefficients = zeta.numpy(force=True)
    coefficients[:, 0] += level
    q = replace(reward, zeta=risk.zeta, coefficients=coefficients, discount=rows.discount)
    residual, bellman = risk.regress(fit.v) - point.zeta, 0.0
    for a in rows.given:  # there the error is that of zeta
        gap = rows.discount * (risk.block.phi[a] @ residual[a])
        bellman += float((rows.followed * (1 - rows.is_free))[:, a] @ gap**2)
    found = Fit(
        q,
        reward,
        status="not_converged" if not_ok else "ok",
        iterations=fit.steps,
        gradient_norm=float(fit.gradient.abs().max()) / size,
        extra={**extra, "not_ok_because": not_ok},
        basis=centre,
    )
    return found.estimate(
        "profiled_erm sparse", rows.states.shape[1], point.nll / size, bellman / size
    )
