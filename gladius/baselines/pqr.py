"""PQR, deep PQR (Geng, Nassif, Manzanares, Reppen and Sircar 2020): policy, Q, reward, in turn.

An anchor action a_s has a given reward in every state; with h(s) = Q(s, a_s) and
g(s) = -log pi(a_s | s), V = h + g:

    P  pi-hat by maximum likelihood of the choices
    Q  h(s) = r(s, a_s) + beta E[h(s') + g(s') | s, a_s], a contraction: fitted iteration on the
       anchor's observations;  Q(s, a) = h(s) + log pi(a | s) - log pi(a_s | s)
    R  r(s, a) = Q(s, a) - beta E[h(s') + g(s') | s, a], by regression on (s, a)

No transition probabilities and no form of r are needed.

Implementation choices:

- Networks with two hidden layers of 10. With means over counts instead the fixed point is a linear
  system, that of the plug-in (`model/inversion.py`).
- Q step: fitted iteration as in the paper. Its authors' code differentiates the target too, which
  is wrong wherever the anchor's transitions are random (double sampling). Their clamp of networks
  to +-50 is left out: the paper's Q* lies beyond it.
- R step: the regression itself; the authors' code reports a line through it for each action.
- `converged` does not detect an anchor that leads to states where it was never taken: there h is
  extrapolated (on the bus engine MAPE is hundreds with the anchor to maintain).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp
from torch import Tensor

from gladius.baselines import bc
from gladius.model.estimate import Estimate, Fit, StateFunction, row_estimates, row_losses
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions, distinct_moves
from gladius.solvers import networks as nets
from gladius.solvers.networks import Training
from gladius.validate import Array, generators

TITLE, NEEDS = "PQR", ("next", "anchor")

REFRESH = 25  # Adam steps between two targets of the fitted iteration, and between two checks


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    rng: int | Sequence[np.random.Generator] = 0,
    training: Training | None = None,
) -> list[Estimate]:
    """PQR of each data set; `training` is by default `default_training` of each."""
    rngs = generators(rng, len(data))
    fits = []
    inverted = invert(data, anchor, discount, rngs, training, with_reward=True)
    for transitions, fitted in zip(data, inverted, strict=True):
        nll, _ = row_losses(fitted.q, transitions, anchor, discount)
        fits.append(replace(fitted, extra={"objective": nll}))  # of the P step
    return row_estimates("pqr", fits, data, anchor, discount)


def default_training(data: Transitions) -> Training:
    """Networks of ReLU units; steps on all observations where states repeat, else on batches.

    Batches reach gradients of a larger tolerance only.
    """
    how = replace(bc.default_training(data), activation="relu")
    if how.batch is None:
        return replace(how, steps=5_000, tolerance=1e-4)
    return replace(how, steps=3_000, tolerance=2e-3)


def invert(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    rngs: Sequence[np.random.Generator],
    training: Training | None,
    *,
    with_reward: bool,
) -> list[Fit]:
    """The fits by the P and the Q step, and the R step if asked; arguments as in `fit`.

    Without the R step, as SAmQ takes them, `reward` only repeats Q.
    """

    def together(
        data: Sequence[Transitions], how: Training, rngs: Sequence[np.random.Generator]
    ) -> list[Fit]:
        """The steps on data sets with one setting, in one batched program."""
        clones = bc.train(data, how, rngs)
        levels, level_fit = fit_levels(data, clones, anchor, discount, how, rngs)
        qs = [partial(network_q, *pair, anchor.action) for pair in zip(levels, clones, strict=True)]
        converged = level_fit.converged & [clone.converged for clone in clones]
        norm = level_fit.gradient_norm
        rewards: Sequence[StateFunction] = qs
        if with_reward:
            rewards, reward_fit = fit_rewards(data, qs, discount, how, rngs)
            converged = converged & reward_fit.converged
            norm = np.maximum(norm, reward_fit.gradient_norm)
        fits = []
        for r, (q, reward) in enumerate(zip(qs, rewards, strict=True)):
            never = np.setdiff1d(np.arange(data[r].number_of_actions), data[r].actions)
            status = "ok" if converged[r] else "not_converged"
            if with_reward and len(never):
                status = f"failed: action {never[-1]} never occurs, its reward is NaN"
            status = status if np.isfinite(norm[r]) else "diverged"
            fits.append(Fit(q, reward, status, int(level_fit.steps[r]), float(norm[r])))
        return fits

    return bc.train_in_groups(together, data, rngs, training, default_training)


def network_q(level: nets.Network, clone: bc.Clone, anchor_action: int, states: Array) -> Array:
    """(n, A) Q(s, a) = h(s) + log pi(a | s) - log pi(a_s | s), h the network `level`."""
    log_policy = log_softmax(clone.network(states), axis=1)
    return np.asarray(level(states) + log_policy - log_policy[:, [anchor_action]])


def fit_levels(
    data: Sequence[Transitions],
    clones: Sequence[bc.Clone],
    anchor: Anchor,
    discount: float,
    how: Training,
    rngs: Sequence[np.random.Generator],
) -> tuple[list[nets.Network], nets.TrainingResult]:
    """h with h(s) = E[r(s, a_s) + beta g(s') + beta h(s') | s, a_s] over the anchor's observations.

    Fitted iteration: the target holds h as of the last REFRESH. At every refresh the level of h is
    solved for exactly (the mean residual is zero), since a fitted iteration by itself only removes
    1 - beta of its error; the fixed point is the same.
    """
    a = anchor.action
    moves = [distinct_moves(transitions.take(transitions.actions == a)) for transitions in data]
    targets = [
        anchor.values(m.states)
        - discount * ~m.done * log_softmax(clone.network(m.next_states), axis=1)[:, a]
        for (m, _), clone in zip(moves, clones, strict=True)
    ]
    scalings = [nets.scaling(transitions.states) for transitions in data]
    first = make_sample(moves, targets, scalings)
    next_states = nets.pad([m.next_states for m, _ in moves], scalings)
    discounts = discount * nets.pad([(~m.done).astype(float) for m, _ in moves])
    slope = (first.share * (1.0 - discounts)).sum(dim=1)  # of the mean residual in the level
    sample = replace(first, output=torch.zeros_like(first.output), target=first.target.clone())
    theta = nets.start(rngs, (first.states.shape[2], *nets.HIDDEN, 1))

    def refresh(active: NDArray[np.bool_]) -> None:
        target = first.target + discounts * nets.outputs(theta, next_states, how.activation)[..., 0]
        residual = target - nets.outputs(theta, first.states, how.activation)[..., 0]
        level = (first.share * residual).sum(dim=1) / slope
        level = torch.where(torch.as_tensor(active), level, 0.0)[:, None]
        theta[-1] += level[:, None]
        sample.target.copy_(target + discounts * level)

    loss = partial(squared_error, activation=how.activation)
    fitted = nets.adam_descent(theta, loss, sample, how, rngs, REFRESH, refresh)
    return nets.networks(theta, how.activation, scalings), fitted


def fit_rewards(
    data: Sequence[Transitions],
    qs: Sequence[StateFunction],
    discount: float,
    how: Training,
    rngs: Sequence[np.random.Generator],
) -> tuple[list[nets.Network], nets.TrainingResult]:
    """r with r(s, a) = E[Q(s, a) - beta V(s') | s, a], NaN for an action that never occurs.

    The training starts from the mean target of each action.
    """
    moves = [distinct_moves(transitions) for transitions in data]
    targets = [
        q(m.states)[np.arange(len(m)), m.actions]
        - discount * ~m.done * logsumexp(q(m.next_states), axis=1)
        for (m, _), q in zip(moves, qs, strict=True)
    ]
    scalings = [nets.scaling(transitions.states) for transitions in data]
    sample = make_sample(moves, targets, scalings)
    theta = nets.start(rngs, (sample.states.shape[2], *nets.HIDDEN, data[0].number_of_actions))
    shares = [sample.share * (sample.output == a) for a in range(data[0].number_of_actions)]
    for a, share in enumerate(shares):
        total = share.sum(dim=1).clamp_min(1e-300)
        theta[-1][:, 0, a] += (share * sample.target).sum(dim=1) / total
    loss = partial(squared_error, activation=how.activation)
    fitted = nets.adam_descent(theta, loss, sample, how, rngs, REFRESH)
    for a, share in enumerate(shares):
        theta[-1][share.sum(dim=1) == 0, 0, a] = torch.nan
    return nets.networks(theta, how.activation, scalings), fitted


def make_sample(
    moves: Sequence[tuple[Transitions, Array]],
    targets: Sequence[Array],
    scalings: Sequence[tuple[Array, Array]],
) -> nets.RegressionSample:
    """The regression of targets (n,) on distinct transitions with their shares."""
    return nets.RegressionSample(
        nets.pad([share for _, share in moves]),
        nets.pad([m.states for m, _ in moves], scalings),
        nets.pad([m.actions for m, _ in moves]),
        nets.pad(targets),
    )


def squared_error(theta: nets.Parameters, sample: nets.RegressionSample, activation: str) -> Tensor:
    """(R,) half the mean squared error of the outputs."""
    table = nets.outputs(theta, sample.states, activation)
    output = torch.take_along_dim(table, sample.output[..., None], dim=2)[..., 0]
    return (0.5 * (sample.target - output) ** 2 * sample.share).sum(dim=1)
