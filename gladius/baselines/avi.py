"""Approximate value iteration (Adusumilli and Eckardt 2019, version of 2025; their Algorithm 1).

The recursions of h and g are iterated, each step a regression on (a, x) in a class F:

    h_{j+1} = argmin_{f in F} E_n[(z + beta h_j(a', x') - f(a, x))^2],
    g_{j+1} = argmin_{f in F} E_n[(beta e(a', x') + beta g_j(a', x') - f(a, x))^2],

from h_1 = E_n[z] / (1 - beta), g_1 = beta E_n[e'] / (1 - beta), for J = 20 steps or until the
change eps_j^2 = E_n|h_{j+1} - h_j|^2 / E_n|h_j - E_n h_j|^2 has eps_j < 0.01. The iteration is a
beta-contraction: with one-hot functions it converges to the semi-gradient's solution.

Implementation choices, besides the list in td_ccp.py:

- F is a network. The authors' simulations take random forests; their theory covers networks.
- One network has an output for each action and each column of h and g, and starts from the weights
  of the step before. After Adam the output layer is solved for, with the weight of one observation
  on Adam's solution, which limits the extrapolation to actions never taken.
- Only eps_j below `tolerance` counts as converged; it does not bound the distance to the fixed
  point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gladius.baselines.td_ccp import FirstStep, Recursion, two_step
from gladius.model.estimate import Estimate, StateFunction
from gladius.model.reward_form import LinearReward
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.solvers import networks as nets
from gladius.validate import Array, check_positive, check_whole, generators

TITLE, NEEDS = "AVI", ("next", "form")
HIDDEN = (20, 20)
TRAINING = nets.Training(steps=50, tolerance=1e-300)  # of each regression, units tanh
FULL_BATCH, BATCH = 2048, 512  # up to so many pairs a step uses all of them, else a batch
RIDGE = 1.0  # weight of Adam's output layer in its least squares, in observations


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    iterations: int = 20,
    tolerance: float = 0.01,
    rng: int | Sequence[np.random.Generator] = 0,
) -> list[Estimate]:
    """Approximate value iteration of each data set; `extra` holds theta.

    Args:
        reward: the form, z and the given part of the reward.
        iterations: J, counting the start.
        tolerance: stop once the relative change is below it.
        rng: for the networks.
    """
    check_whole("iterations", iterations, 2)
    check_positive("tolerance", tolerance)
    rngs = [generator.spawn(1)[0] for generator in generators(rng, len(data))]

    def learner(recursions: Sequence[Recursion]) -> list[FirstStep]:
        return iterate(recursions, Networks(recursions, rngs), iterations, tolerance)

    return two_step("avi", data, anchor, discount, reward, learner, None)


def iterate(
    recursions: Sequence[Recursion],
    regression: Networks,
    iterations: int,
    tolerance: float,
) -> list[FirstStep]:
    """h - z and g - offset of each data set by fitted iteration; each stops on its own."""
    current = [first_values(recursion) for recursion in recursions]
    active = np.ones(len(recursions), dtype=bool)
    converged, steps = ~active, np.zeros(len(recursions), dtype=np.int64)
    for _ in range(iterations - 1):
        if not np.any(active):
            break
        pairs = zip(recursions, current, strict=True)
        targets = [recursion.backup(values) for recursion, values in pairs]
        fitted = regression.fit(targets, active)
        steps += active
        for r in np.flatnonzero(active).tolist():
            converged[r] = relative_change(recursions[r], current[r], fitted[r]) < tolerance
            current[r] = fitted[r]
            active[r] = not converged[r] and bool(np.all(np.isfinite(fitted[r])))
    ends = zip(regression.functions(), converged.tolist(), steps.tolist(), strict=True)
    return [FirstStep(f, end, n, n * regression.steps, regression.name) for f, end, n in ends]


def first_values(recursion: Recursion) -> Array:
    """(P, k + 1) h_1 - z and the constant g_1 at the pairs."""
    level = recursion.mean(recursion.flow)
    level[-1] = recursion.mean(recursion.backup(0.0))[-1]
    level /= 1 - recursion.discount
    values = level - recursion.flow
    values[:, -1] = level[-1]  # the offset is not in it
    return np.asarray(values)


def relative_change(recursion: Recursion, before: Array, after: Array) -> float:
    """The largest eps_j over the columns of f_j - z, (P, c); infinite if a constant f_j changes."""
    square = recursion.mean((after - before) ** 2)
    f = recursion.flow + before
    variance = recursion.mean((f - recursion.mean(f)) ** 2)
    ratios = np.where(square > 0, square / np.where(variance > 0, variance, np.nan), 0.0)
    return float(np.sqrt(np.max(np.where(np.isnan(ratios), np.inf, ratios))))


def rescaled(network: nets.Network, centre: Array, scale: Array, states: Array) -> Array:
    """(n, A, c) values of a network with (n, A c) standardised outputs."""
    outputs = network(states).reshape(len(states), -1, len(centre))
    return np.asarray(centre + scale * outputs)


class Networks:
    """One network a data set, all trained as one batch; an output for each action and column.

    Targets are taken about their mean, anew in each fit: the level of a value function moves most
    from one iteration to the next, and the network need not learn it.
    """

    steps, name = TRAINING.steps, "network"

    def __init__(
        self, recursions: Sequence[Recursion], rngs: Sequence[np.random.Generator]
    ) -> None:
        data = [recursion.data for recursion in recursions]
        self.rngs, self.number = rngs, data[0].number_of_actions
        self.scalings = [nets.scaling(tuples.states) for tuples in data]
        self.sample = nets.RegressionSample(
            nets.pad([tuples.departures / tuples.size for tuples in data]),
            nets.pad([tuples.states for tuples in data], self.scalings),
            nets.pad([tuples.actions for tuples in data]),
            nets.pad([recursion.gain for recursion in recursions]),
        )
        deviations = [p.gain - p.mean(p.gain) for p in recursions]
        spread = [np.sqrt(p.mean(d**2)) for p, d in zip(recursions, deviations, strict=True)]
        self.scale = np.where(np.stack(spread) > 0, np.stack(spread), 1.0)
        self.centre = np.zeros_like(self.scale)
        outputs = self.number * self.scale.shape[1]
        self.theta = nets.start(rngs, (data[0].states.shape[1], *HIDDEN, outputs))
        weight = torch.tensor([RIDGE / tuples.size for tuples in data], dtype=torch.float64)
        self.ridge = weight[:, None, None] * torch.eye(HIDDEN[-1] + 1)

    def fit(self, targets: Sequence[Array], active: NDArray[np.bool_]) -> list[Array]:
        """(P, c) fitted values at all pairs from (P, c) targets; inactive data sets stay."""
        padded = nets.pad(targets).numpy(force=True)
        mean = np.einsum("rn,rnc->rc", self.sample.share.numpy(force=True), padded)
        self.centre[active] = mean[active]
        standardised = (padded - self.centre[:, None]) / self.scale[:, None]
        sample = replace(self.sample, target=torch.as_tensor(standardised))
        is_large = padded.shape[1] > FULL_BATCH
        how = replace(TRAINING, batch=BATCH) if is_large else TRAINING

        def restrict(running: NDArray[np.bool_]) -> None:
            running &= active

        nets.adam_descent(self.theta, self.loss, sample, how, self.rngs, how.steps, restrict)
        self.solve_output_layer(sample, torch.as_tensor(active))
        raw = self.values(self.theta, sample).numpy(force=True)
        values = self.centre[:, None] + self.scale[:, None] * raw
        return [values[r, : len(target)] for r, target in enumerate(targets)]

    def functions(self) -> list[StateFunction]:
        """The last fit as maps from features to (n, A, c)."""
        trained = nets.networks(self.theta, TRAINING.activation, self.scalings)
        fits = zip(trained, self.centre, self.scale, strict=True)
        return [partial(rescaled, *fit) for fit in fits]

    def values(self, theta: nets.Parameters, sample: nets.RegressionSample) -> Tensor:
        """(R, n, c) outputs of each pair's action."""
        outputs = nets.outputs(theta, sample.states, TRAINING.activation)
        table = outputs.reshape(*outputs.shape[:2], self.number, -1)
        index = sample.output[..., None, None].expand(-1, -1, 1, table.shape[-1])
        return torch.gather(table, 2, index)[:, :, 0]

    def loss(self, theta: nets.Parameters, sample: nets.RegressionSample) -> Tensor:
        """(R,) weighted squares of the residuals."""
        residual = self.values(theta, sample) - sample.target
        return (sample.share[..., None] * residual**2).sum(dim=(1, 2))

    def solve_output_layer(self, sample: nets.RegressionSample, active: Tensor) -> None:
        """Least squares of each action's pairs in the last hidden signals, but for the ridge."""
        hidden = torch.tanh(nets.outputs(self.theta[:-2], sample.states, TRAINING.activation))
        width, columns = hidden.shape[2], sample.target.shape[2]
        hidden = torch.cat([hidden, torch.ones_like(hidden[..., :1])], dim=2)
        for a in range(self.number):
            share = (sample.share * (sample.output == a))[..., None]
            gram = hidden.mT @ (share * hidden)
            block = slice(a * columns, (a + 1) * columns)
            before = torch.cat([self.theta[-2][..., block], self.theta[-1][..., block]], dim=1)
            right = hidden.mT @ (share * sample.target) - gram @ before
            change = torch.linalg.solve(gram + self.ridge, right) * active[:, None, None]
            self.theta[-2][..., block] += change[:, :width]
            self.theta[-1][..., block] += change[:, width:]
