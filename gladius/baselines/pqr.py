"""PQR, deep PQR (Geng, Nassif, Manzanares, Reppen and Sircar 2020): policy, Q, reward, in turn.

With an anchor action a_s whose reward is given in every state, h(s) = Q(s, a_s) and
g(s) = -log pi(a_s | s), so that V = h + g:

    P  pi-hat by maximum likelihood of the choices
    Q  h(s) = r(s, a_s) + beta E[h(s') + g(s') | s, a_s], a contraction: fitted iteration on the
       anchor's rows;  Q(s, a) = h(s) + log pi(a | s) - log pi(a_s | s)
    R  r(s, a) = Q(s, a) - beta E[h(s') + g(s') | s, a], by regression on (s, a)

The regressions stand in for transition probabilities, and there is no form of r.

What had to be decided:
- Regressions: networks, the original's, with two hidden layers of 10. With means over counts in
  their place the fixed point is a linear system: the plug-in's (plug_in.py).
- P step: plain maximum likelihood (the original was not read; later wrappers have an adversarial
  one).
- Q step: fitted iteration as the paper. Its authors' code differentiates the target too, which
  pays for the variance of h(s') (double sampling) and is wrong wherever the anchor's moves are
  random. The level of the network h is solved for at every new target, see `level_network`. The
  authors' clamp of networks to +-50 is left out: the paper's Q* lies beyond it.
- R step: the regression itself; the authors' code reports a line through it for each action.

`converged` needs all three steps to meet their rules, and every action to occur, for else its
reward is NaN; the objective reported is the P step's. Of a bad choice of anchor it says nothing,
`extra["extrapolated"]` does, see `extrapolated_weight`: on the bus engine it is 0 where the anchor
is to replace and .9 where it is to maintain (MAPE up to hundreds from steps that all converge).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp
from torch import Tensor

from gladius import networks as nets
from gladius.anchor import Anchor
from gladius.baselines import bc
from gladius.baselines.bc import Training
from gladius.checks import Array, InputError, check_discount, generators
from gladius.estimate import Estimate, StateFunction, assess
from gladius.transitions import Transitions, distinct_moves, index_rows

TITLE, NEEDS = "PQR", ("next", "anchor")

FEW_STATES = 2_000  # distinct states up to which every Adam step sees all rows
REFRESH = 25  # Adam steps between two targets of the fitted iteration, and between two checks
ACCURACY = 1e-3  # of a weight from 0 to 1


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    rng: int | Sequence[np.random.Generator] = 0,
    training: Training | None = None,
) -> list[Estimate]:
    """PQR of each data set.

    Args:
        data: replications.
        anchor: the action whose reward is given, and its reward.
        discount: beta.
        rng: a seed, or one generator for each data set.
        training: by default `default_training` of each data set.

    Raises:
        InputError: for a bad option.
    """
    started = time.process_time()
    beta = check_discount(discount)
    rngs = generators(rng, len(data))
    inversions = invert(data, anchor, beta, rngs, training, with_reward=True)
    weights = [extrapolated_weight(transitions, anchor.action, beta) for transitions in data]
    seconds = (time.process_time() - started) / len(data)
    estimates = []
    for transitions, weight, inversion in zip(data, weights, inversions, strict=True):
        assert inversion.reward is not None
        extra: dict[str, object] = {"inner_iterations": 0, "extrapolated": weight}
        estimate = assess(
            "pqr",
            inversion.q,
            inversion.reward,
            transitions,
            anchor,
            status=inversion.status,
            iterations=inversion.iterations,
            gradient_norm=inversion.gradient_norm,
            seconds=seconds,
            extra=extra,
        )
        extra["objective"] = estimate.diagnostics.nll  # of the P step
        estimates.append(estimate)
    return estimates


@dataclass(frozen=True)
class Inversion:
    """What the steps tell of one data set."""

    q: StateFunction  # (n, d) features -> (n, A)
    reward: StateFunction | None  # the same for r; None where the R step was not asked for
    status: str  # as in Diagnostics, the worst of the steps'
    iterations: int  # Adam steps of the Q step, 0 in a table
    gradient_norm: float  # largest entry of the gradients of the Q and the R step


def invert(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    rngs: Sequence[np.random.Generator],
    training: Training | None,
    *,
    with_reward: bool,
) -> list[Inversion]:
    """The P and the Q step, where SAmQ starts, and the R step if asked; arguments as in `fit`."""
    if training is not None and not isinstance(training, Training):
        raise InputError("training", training, "give a Training")
    inversions: dict[int, Inversion] = {}
    for how, members in bc.batches(data, training, default_training):
        sets, streams = [data[r] for r in members], [rngs[r] for r in members]
        fitted = invert_by_networks(sets, anchor, discount, with_reward, how, streams)
        inversions |= dict(zip(members, fitted, strict=True))
    return [inversions[r] for r in range(len(data))]


def default_training(data: Transitions) -> Training:
    """Networks 10-10-ReLU with standardised inputs, Adam 0.01 falling to zero by the last step.

    Up to FEW_STATES distinct states 5,000 steps see all rows, as counts. Beyond, states hardly
    repeat: 3,000 batches of 1,000, a tenth of the trajectories held out to stop the P step early,
    and a tolerance for gradients that such batches can reach.
    """
    network = Training(activation="relu", standardise=True)
    if len(data.pairs().weights) <= FEW_STATES * data.number_of_actions:
        return replace(network, steps=5_000, tolerance=1e-4)
    held_out = 0.1 if len(np.unique(data.trajectory)) > 4 else 0.0
    return replace(network, steps=3_000, batch=1_000, tolerance=2e-3, validation=held_out)


def network_q(
    level: nets.Network, logits: nets.Network, anchor_action: int, states: Array
) -> Array:
    """(n, A) Q(s, a) = h(s) + log pi(a | s) - log pi(a_s | s), h the network `level`."""
    log_policy = log_softmax(logits(states), axis=1)
    return np.asarray(level(states) + log_policy - log_policy[:, [anchor_action]])


def invert_by_networks(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    with_reward: bool,
    how: Training,
    rngs: Sequence[np.random.Generator],
) -> list[Inversion]:
    """The three steps with networks, R data sets in one batch."""
    a, actions = anchor.action, data[0].number_of_actions
    policies, outcomes = bc.train(data, how, rngs)
    scalings = [nets.scaling(transitions.states, how.standardise) for transitions in data]
    anchored = [distinct_moves(transitions.take(transitions.actions == a)) for transitions in data]
    targets = [
        anchor.values(moves.states)
        - discount * ~moves.done * log_softmax(logits(moves.next_states), axis=1)[:, a]
        for (moves, _), logits in zip(anchored, policies, strict=True)
    ]
    after = nets.pad([m.next_states for m, _ in anchored], scalings)
    goes_on = nets.pad([(~m.done).astype(float) for m, _ in anchored])
    rows = Rows.of(anchored, targets, scalings)
    level_fit = level_network(rows, after, discount * goes_on, how, rngs)
    levels = nets.networks(level_fit.theta, how.activation, scalings)
    qs = [
        partial(network_q, level, logits, a) for level, logits in zip(levels, policies, strict=True)
    ]
    converged = level_fit.converged & [outcome.converged for outcome in outcomes]
    norm = level_fit.gradient_norm
    failed: dict[int, str] = {}
    rewards: list[nets.Network | None] = [None] * len(data)
    if with_reward:
        observed = [distinct_moves(transitions) for transitions in data]
        targets = [
            q(moves.states)[np.arange(len(moves)), moves.actions]
            - discount * ~moves.done * logsumexp(q(moves.next_states), axis=1)
            for (moves, _), q in zip(observed, qs, strict=True)
        ]
        rows = Rows.of(observed, targets, scalings)
        reward_fit = reward_network(rows, actions, how, rngs)
        converged = converged & reward_fit.converged
        norm = np.maximum(norm, reward_fit.gradient_norm)
        for r, transitions in enumerate(data):
            for never in np.setdiff1d(np.arange(actions), transitions.actions).tolist():
                reward_fit.theta[-1][r, 0, never] = torch.nan  # nothing is known of its reward
                failed[r] = f"failed: action {never} never occurs, its reward is NaN"
        rewards = [*nets.networks(reward_fit.theta, how.activation, scalings)]
    inversions = []
    for r, (q, reward) in enumerate(zip(qs, rewards, strict=True)):
        status = "ok" if converged[r] else "not_converged"
        status = failed.get(r, status) if np.isfinite(norm[r]) else "diverged"
        inversions.append(Inversion(q, reward, status, int(level_fit.steps[r]), float(norm[r])))
    return inversions


class Rows(NamedTuple):
    """A regression for each of R data sets, padded with rows of share zero."""

    x: Tensor  # (R, n, d) scaled features
    output: Tensor  # (R, n) the network's output that a row is about
    share: Tensor  # (R, n) of the observations; sums to one
    target: Tensor  # (R, n) what that output should be on average

    @classmethod
    def of(
        cls,
        moves: Sequence[tuple[Transitions, Array]],
        targets: Sequence[Array],
        scalings: Sequence[tuple[Array, Array]],
    ) -> Rows:
        """From `distinct_moves` transitions; a row is about its action."""
        x = nets.pad([part.states for part, _ in moves], scalings)
        output = nets.pad([part.actions for part, _ in moves])
        return cls(x, output, nets.pad([share for _, share in moves]), nets.pad(targets))

    def draw(self, rngs: Sequence[np.random.Generator], size: int) -> Rows:
        """`size` rows of each data set, drawn by their shares, which then count alike."""
        drawn = Rows(*nets.draw(self.share, rngs, size, *self))
        return drawn._replace(share=torch.full_like(drawn.share, 1 / size))


def level_network(
    rows: Rows,
    after: Tensor,
    discounts: Tensor,
    how: Training,
    rngs: Sequence[np.random.Generator],
) -> nets.Descent:
    """h with h(s) = E[target + discount h(s') | s, a_s] over the anchor's rows.

    Fitted iteration: what is regressed holds h as of the last REFRESH. At every refresh the level
    of h is solved for exactly (the mean residual is zero), since a fitted iteration by itself takes
    away only 1 - beta of its error; the fixed point is the same. The rows' target is
    r(s, a_s) + beta g(s'), `after` (R, n, d) the scaled s', `discounts` (R, n) 0 after an end.
    """
    theta = nets.start(rngs, (rows.x.shape[2], *how.hidden, 1))
    held = rows._replace(output=torch.zeros_like(rows.output), target=torch.zeros_like(rows.target))
    slope = (rows.share * (1.0 - discounts)).sum(dim=1)  # of the mean residual in the level

    def refresh(active: NDArray[np.bool_]) -> None:
        target = rows.target + discounts * nets.outputs(theta, after, how.activation)[..., 0]
        gap = target - nets.outputs(theta, rows.x, how.activation)[..., 0]
        level = (rows.share * gap).sum(dim=1) / slope
        level = torch.where(torch.from_numpy(active), level, 0.0)[:, None]
        theta[-1] += level[:, None]
        held.target.copy_(target + discounts * level)

    return least_squares(theta, held, how, rngs, refresh)


def reward_network(
    rows: Rows, actions: int, how: Training, rngs: Sequence[np.random.Generator]
) -> nets.Descent:
    """r with r(s, a) = E[target | s, a], from the mean target of each action."""
    theta = nets.start(rngs, (rows.x.shape[2], *how.hidden, actions))
    for a in range(actions):
        share = rows.share * (rows.output == a)
        theta[-1][:, 0, a] += (share * rows.target).sum(dim=1) / share.sum(dim=1).clamp_min(1e-300)
    return least_squares(theta, rows, how, rngs)


def least_squares(
    theta: nets.Parameters,
    rows: Rows,
    how: Training,
    rngs: Sequence[np.random.Generator],
    refresh: nets.Refresh = lambda active: None,
) -> nets.Descent:
    """Least squares, `theta` in place; `refresh` and the rest as in `adam_descent`."""

    def gradient(part: Rows) -> nets.Parameters:
        def loss(leaves: nets.Parameters) -> Tensor:
            table = nets.outputs(leaves, part.x, how.activation)
            gap = part.target - torch.take_along_dim(table, part.output[..., None], dim=2)[..., 0]
            return 0.5 * gap**2 * part.share

        return nets.gradient(theta, loss)

    def drawn() -> nets.Parameters:
        return gradient(rows if how.batch is None else rows.draw(rngs, how.batch))

    limits = how.steps, how.learning_rate, how.tolerance
    return nets.adam_descent(theta, lambda: gradient(rows), drawn, *limits, REFRESH, refresh)


def extrapolated_weight(data: Transitions, action: int, discount: float) -> float:
    """By how much h rests on states where the anchor was never taken, from 0 to 1.

    With the anchor action taken for ever, from state s, let tau be the number of moves until a
    state where the data never take it. Then h(s) = Q(s, a_s) is

        h(s) = E[what the anchor's rows tell up to tau] + E[beta^tau h(s_tau)],

    and h(s_tau) is told by no row: a network extrapolates it, a table borrows it. E[beta^tau],
    moves by the frequencies of the anchor's rows, is by how much an error of one there is an error
    of h(s); returned is its mean over observations. A path that ends first has no such state and
    counts as 0. Where states do not repeat every state but the first is new and the weight is about
    beta: all rests on the regression's generalisation.
    """
    grid, (now, after) = index_rows([data.states, data.next_states])
    anchored = data.actions == action
    goes_on = anchored & ~data.done
    seen = np.bincount(now, minlength=len(grid))
    taken = np.bincount(now[anchored], minlength=len(grid))
    weight = np.where(taken > 0, 0.0, 1.0)
    for _ in range(int(np.ceil(np.log(ACCURACY) / np.log(discount)))):
        total = np.bincount(now[goes_on], weight[after[goes_on]], minlength=len(grid))
        new = np.where(taken > 0, discount * total / np.maximum(taken, 1), 1.0)
        change, weight = np.max(np.abs(new - weight)), new
        if change <= ACCURACY * (1 - discount):
            break
    return float(seen @ weight / seen.sum())
