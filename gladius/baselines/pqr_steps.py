"""The steps of PQR on one or several data sets: what PQR reports and SAmQ starts from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from gladius.anchor import Anchor, check_anchor_support
from gladius.baselines import bc
from gladius.baselines.anchor_support import extrapolated_weight, weight_of_data
from gladius.baselines.bc import Training
from gladius.baselines.plug_in import choice_frequencies
from gladius.baselines.pqr_network import Outcome, anchor_network, make_rows, reward_network
from gladius.baselines.pqr_tabular import (
    Table,
    anchor_loss,
    fitted_iteration,
    linear_read_off,
    residual_minimiser,
)
from gladius.checks import Array, InputError
from gladius.estimate import StateFunction
from gladius.networks import networks, scaling
from gladius.transition_probabilities import empirical_transition_probabilities
from gladius.transitions import Counts, Transitions, group

REGRESSIONS = ("network", "tabular")
Q_STEPS = ("fitted", "residual")
READ_OFFS = ("regression", "linear")
FEW_STATES = 2_000  # distinct states up to which every Adam step sees all rows
ENTRIES = 40_000_000  # of network inputs at once, 320 MB: replications beyond go in turn
TABULAR_TOLERANCE = 1e-13  # of fitted iteration with exact regressions
TABULAR_STEPS = 100_000


@dataclass(frozen=True)
class Inversion:
    """What PQR found in one data set.

    Attributes:
        q: (n, d) features -> (n, A).
        reward: the same for r; None where the R step was not asked for.
        nll: of the P step, per observation.
        q_loss, r_loss: mean squared residual of the Q step over anchor rows and of the R step
            over all rows; NaN where there is none.
        converged: all steps met their rules.
        diverged: a loss is not finite.
        iterations: of the Q step: fitted iterations (tabular) or Adam steps (network).
        gradient_norm: largest of the steps' gradients; tabular: relative error left in h.
        extrapolated: by how much an error of one in h at states where the anchor was never taken
            is an error of h, on average; see anchor_support.py.
    """

    q: StateFunction
    reward: StateFunction | None
    nll: float
    q_loss: float
    r_loss: float
    converged: bool
    diverged: bool
    iterations: int
    gradient_norm: float
    extrapolated: float

    @property
    def status(self) -> str:
        """As in Diagnostics."""
        return "diverged" if self.diverged else "ok" if self.converged else "not_converged"


def invert(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    regression: str,
    q_step: str,
    read_off: str | None,
    pseudo_count: float,
    rngs: Sequence[np.random.Generator],
    training: Training | None,
) -> list[Inversion]:
    """The steps of PQR; P and Q alone where `read_off` is None. Arguments as in pqr.fit."""
    if regression not in REGRESSIONS:
        raise InputError("regression", regression, f"choose one of {REGRESSIONS}")
    if q_step not in Q_STEPS:
        raise InputError("q_step", q_step, f"choose one of {Q_STEPS}")
    if read_off is not None and read_off not in READ_OFFS:
        raise InputError("read_off", read_off, f"choose one of {READ_OFFS}")
    if training is not None and not isinstance(training, Training):
        raise InputError("training", training, "give a Training")
    if regression == "tabular":
        return invert_counts(
            group(data),
            anchor,
            discount,
            q_step=q_step,
            read_off=read_off,
            pseudo_count=pseudo_count,
        )
    found: list[Inversion | None] = [None] * len(data)
    for how, members in _batches(data, training):
        part = _networks(
            [data[r] for r in members],
            anchor,
            discount,
            q_step == "residual",
            read_off,
            how,
            [rngs[r] for r in members],
        )
        for r, inversion in zip(members, part, strict=True):
            found[r] = inversion
    return [inversion for inversion in found if inversion is not None]


def invert_counts(
    counts: Counts,
    anchor: Anchor,
    discount: float,
    *,
    q_step: str = "fitted",
    read_off: str | None = "regression",
    pseudo_count: float = 0.5,
) -> list[Inversion]:
    """Tabular PQR of grouped data, with exact regressions; arguments as in pqr.fit."""
    check_anchor_support(counts, anchor.action)
    a, given = anchor.action, anchor.values(counts.states)
    p_hat = empirical_transition_probabilities(counts)
    log_policy = np.log(choice_frequencies(counts, pseudo_count))
    surprise, law = -log_policy[:, :, a], p_hat.transition[:, a]
    if q_step == "fitted":
        h, taken, left = fitted_iteration(
            given, surprise, law, discount, TABULAR_TOLERANCE, TABULAR_STEPS
        )
    else:
        h = residual_minimiser(
            counts.visits[:, :, a], counts.moves[:, a], given, surprise, law, discount
        )
        taken, left = np.zeros(len(h), dtype=np.int64), np.zeros(len(h))
    q_loss = anchor_loss(h, counts, given, surprise, discount, a)
    nll = -np.sum(counts.visits * log_policy, axis=(1, 2)) / counts.size
    found = []
    for r, seen in enumerate(counts.seen > 0):
        table = Table(h[r], log_policy[r], seen, p_hat, r, anchor, discount)
        reward: StateFunction | None = None if read_off is None else table.reward
        if read_off == "linear":
            reward = linear_read_off(counts.states, table.reward(counts.states), counts.visits[r])
        converged = bool(left[r] <= TABULAR_TOLERANCE)
        found.append(
            Inversion(
                table.q,
                reward,
                float(nll[r]),
                float(q_loss[r]),
                float("nan"),
                converged,
                not bool(np.isfinite(q_loss[r])),
                int(taken[r]),
                float(left[r]),
                _extrapolated(counts, r, a, discount),
            )
        )
    return found


def _extrapolated(counts: Counts, r: int, action: int, discount: float) -> float:
    moves = counts.moves[r, action]
    now, after = np.nonzero(moves)
    taken = counts.visits[r, :, action]
    return extrapolated_weight(counts.seen[r], taken, now, after, moves[now, after], discount)


def default_training(data: Transitions) -> Training:
    """Networks 10-10-ReLU with standardised inputs, Adam 0.01 falling to zero by the last step.

    Up to FEW_STATES distinct states 5,000 steps see all rows, as counts. Beyond, states hardly
    repeat: 3,000 batches of 1,000, a tenth of the trajectories held out to stop the P step early,
    and a tolerance for gradients that such batches can reach.
    """
    if len(data.pairs().weights) <= FEW_STATES * data.number_of_actions:
        return Training(standardise=True, tolerance=1e-4)
    trajectories = len(np.unique(data.trajectory))
    held_out = 0.1 if trajectories > 4 else 0.0
    return Training(standardise=True, steps=3_000, batch=1_000, tolerance=2e-3, validation=held_out)


def _batches(
    data: Sequence[Transitions], training: Training | None
) -> list[tuple[Training, list[int]]]:
    """Data sets trained together: of one setting, and small enough to be held at once."""
    groups: dict[Training, list[int]] = defaultdict(list)
    for r, one in enumerate(data):
        groups[training or default_training(one)].append(r)
    found = []
    for how, members in groups.items():
        largest = max(2 * data[r].states.size for r in members)
        size = len(members) if how.batch is None else max(1, ENTRIES // largest)
        found += [(how, members[i : i + size]) for i in range(0, len(members), size)]
    return found


def _networks(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    residual: bool,
    read_off: str | None,
    how: Training,
    rngs: Sequence[np.random.Generator],
) -> list[Inversion]:
    """P, Q and R with networks, R data sets at once."""
    policies, p_outcomes = bc.train(data, how, rngs)
    scalings = [scaling(one.states, how.standardise) for one in data]
    a = anchor.action

    def log_policy(r: int, states: Array) -> Array:
        return np.asarray(log_softmax(policies[r](states), axis=1))

    rows = make_rows(data, scalings, a)
    constant = [
        anchor.values(now) - discount * alive.numpy()[: len(now)] * log_policy(r, then)[:, a]
        for r, (now, then, alive) in enumerate(
            zip(rows.states, rows.next_states, rows.alive, strict=True)
        )
    ]
    theta, q_outcomes = anchor_network(rows, rows.pad(constant), discount, how, rngs, residual)
    levels = networks(theta, how.activation, scalings)
    del rows

    def q_of(r: int) -> StateFunction:
        def q(states: Array) -> Array:
            logs = log_policy(r, states)
            return np.asarray(levels[r](states) + logs - logs[:, [a]])

        return q

    qs = [q_of(r) for r in range(len(data))]
    rewards: list[StateFunction | None] = [None] * len(data)
    nothing = Outcome(True, False, 0, 0.0, float("nan"))
    r_outcomes = [nothing] * len(data)
    if read_off is not None:
        rows = make_rows(data, scalings)
        targets = []
        for r, (now, then, alive, actions) in enumerate(
            zip(rows.states, rows.next_states, rows.alive, rows.actions, strict=True)
        ):
            n = len(now)
            value = levels[r](then)[:, 0] - log_policy(r, then)[:, a]
            chosen = qs[r](now)[np.arange(n), actions.numpy()[:n]]
            targets.append(chosen - discount * alive.numpy()[:n] * value)
        if read_off == "linear":
            for r, (now, target) in enumerate(zip(rows.states, targets, strict=True)):
                n = len(now)
                weights = np.zeros((n, data[r].number_of_actions))
                weights[np.arange(n), rows.actions[r, :n].numpy()] = rows.share[r, :n].numpy()
                table = np.broadcast_to(target[:, None], weights.shape)
                rewards[r] = linear_read_off(now, table, weights)
        else:
            phi, r_outcomes = reward_network(
                rows, rows.pad(targets), data[0].number_of_actions, how, rngs
            )
            unseen = [
                np.bincount(one.actions, minlength=one.number_of_actions) == 0 for one in data
            ]
            for r, network in enumerate(networks(phi, how.activation, scalings)):
                rewards[r] = _known(network, unseen[r])
    found = []
    for r, (p, q, last) in enumerate(zip(p_outcomes, q_outcomes, r_outcomes, strict=True)):
        pairs = data[r].pairs()
        logs = log_policy(r, pairs.states)[np.arange(len(pairs.actions)), pairs.actions]
        found.append(
            Inversion(
                qs[r],
                rewards[r],
                -float(np.average(logs, weights=pairs.weights)),
                2 * q.loss,
                2 * last.loss,
                p.converged and q.converged and last.converged,
                q.diverged or last.diverged,
                q.steps,
                max(q.gradient_norm, last.gradient_norm),
                weight_of_data(data[r], a, discount),
            )
        )
    return found


def _known(network: StateFunction, unseen: Array) -> StateFunction:
    """The network, NaN at actions that never occur."""
    return lambda states: np.where(unseen, np.nan, network(states))
