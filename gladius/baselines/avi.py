"""Approximate value iteration (Adusumilli and Eckardt 2019, version of 2025; their Algorithm 1).

The recursions of h and g are iterated, each step a regression on (a, x) in a class F:

    h_{j+1} = argmin_{f in F} E_n[(z + beta h_j(a', x') - f(a, x))^2],
    g_{j+1} = argmin_{f in F} E_n[(beta e(a', x') + beta g_j(a', x') - f(a, x))^2],

from h_1 = E_n[z] / (1 - beta), g_1 = beta E_n[e'] / (1 - beta), for J = 20 steps or until the
change eps_j^2 = E_n|h_{j+1} - h_j|^2 / E_n|h_j - E_n h_j|^2 has eps_j < 0.01; theta maximises the
pseudo-likelihood of softmax_a(h'theta + g). r = z'theta is read off.

This evaluates the observed policy, a beta-contraction: with least squares in one-hot functions the
iterates converge to the semi-gradient's solution at rate beta^(J-1).

Needs the form z of the reward, and next periods; no transition probabilities and no anchor.

What had to be decided, besides the list in td_ccp.py:

- F. The authors' simulations take random forests; here it is a network by default (their theory
  covers networks), or least squares in one_hot functions.
- One network has an output for each action and each column of h and g, and starts from the weights
  of the step before. Adam moves all layers; then the output layer is solved for, with the weight of
  one observation on what Adam left: an action never taken in a state, whose value the second step
  needs, would otherwise be extrapolated wildly.
- Both rules for J together: at most `iterations` (J - 1 regressions), fewer where eps_j is below
  `tolerance` for every column. Only that counts as converged. eps_j compares neighbouring steps; it
  does not bound the distance to the fixed point, nor is theta unsettled wherever eps_j is large.
- lambda is iterated in the same class: lambda_{j+1} = psi + beta (sum over the pairs before of
  lambda_j, per occurrence), from E_n[psi] / (1 - beta). Without stationarity this is the adjoint
  that the moment needs; under it, the paper's conditional mean of the past. `converged` speaks of
  h and g, not of lambda, on which the standard errors rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gladius import networks as nets
from gladius.anchor import Anchor
from gladius.baselines.semi_gradient import at_pairs, combination, make_basis
from gladius.baselines.td_ccp import ONE_HOT, Learnt, Problem, rung_name, two_step
from gladius.checks import Array, check_choice, check_positive, check_whole, generators
from gladius.estimate import Estimate, StateFunction
from gladius.linear_reward import LinearReward
from gladius.transitions import Transitions

TITLE, NEEDS = "AVI", ("next", "form")
CLASSES = ("network", "one_hot")
HIDDEN, ACTIVATION = (20, 20), "tanh"
LEARNING_RATE = 0.01  # of Adam, falling linearly to zero over the steps of each regression
FULL_BATCH, BATCH = 2048, 512  # up to so many pairs a step sees all of them, else a batch
RIDGE = 1.0  # observations that say that the output layer is what Adam left


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    regression: str = "network",
    iterations: int = 20,
    tolerance: float = 0.01,
    steps: int = 50,
    rng: int | Sequence[np.random.Generator] = 0,
) -> list[Estimate]:
    """The estimator by approximate value iteration of each data set.

    Args:
        data: replications; rows of a trajectory in order of time.
        anchor: its reward must not contradict the form; used in the diagnostics besides.
        discount: beta.
        reward: the form, z and the known part of the reward.
        regression: network, or least squares in one_hot functions.
        iterations: J, counting the start.
        tolerance: stop once the relative change is below it.
        steps: of Adam in each regression.
        rng: a seed, or one generator for each data set, for the networks.

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance.
        `iterations` are the value iterations, `inner_iterations` the training steps in them.

    Raises:
        InputError: for bad options, or data in which no period follows another.
    """
    check_choice("regression", regression, CLASSES)
    is_network = regression == "network"
    check_whole("iterations", iterations, 2)
    check_whole("steps", steps, 1)
    check_positive("tolerance", tolerance)
    rngs = tuple(generators(rng, len(data)))
    learner = ValueIteration(is_network, iterations, tolerance, steps, rngs)
    rung = None if is_network else ONE_HOT
    return two_step("avi", data, anchor, discount, reward, learner, rung)


@dataclass(frozen=True)
class ValueIteration:
    """The iteration, as the learner of the first step; see `fit` for the attributes."""

    is_network: bool
    iterations: int
    tolerance: float
    steps: int
    rngs: tuple[np.random.Generator, ...]

    def learn(self, problems: Sequence[Problem]) -> list[Learnt]:
        """h - z and g - offset of each data set."""
        starts = []
        for problem in problems:
            level = problem.mean(problem.present)
            level[-1] = problem.mean(problem.discount * problem.data.ahead(problem.gain))[-1]
            level /= 1 - problem.discount
            begin = level - problem.present
            begin[:, -1] = level[-1]  # g is constant at the start, the offset not in it
            starts.append(begin)

        def forward(r: int, ahead: Array) -> Array:
            return problems[r].discount * problems[r].data.ahead(problems[r].gain + ahead)

        regressor = self._regressor(problems, [problem.gain for problem in problems])
        known = [problem.present for problem in problems]
        learnt = []
        runs = self._iterate(problems, forward, starts, known, regressor)
        for problem, (function, converged, taken) in zip(problems, runs, strict=True):
            name = "network" if self.is_network else rung_name(problem.rung)
            inner = taken * self.steps * self.is_network
            learnt.append(Learnt(function, converged, taken, inner, name))
        return learnt

    def adjoints(
        self, problems: Sequence[Problem], sources: Sequence[Array]
    ) -> list[StateFunction]:
        """lambda of each data set from psi = (P, k) sources."""

        def backward(r: int, values: Array) -> Array:
            return sources[r] + problems[r].discount * problems[r].data.behind(values)

        starts = [
            np.broadcast_to(problem.mean(source) / (1 - problem.discount), source.shape)
            for problem, source in zip(problems, sources, strict=True)
        ]
        regressor = self._regressor(problems, sources)
        known = [np.zeros_like(source) for source in sources]
        runs = self._iterate(problems, backward, starts, known, regressor)
        return [function for function, _, _ in runs]

    def _iterate(
        self,
        problems: Sequence[Problem],
        step: Callable[[int, Array], Array],
        starts: Sequence[Array],
        known: Sequence[Array],
        regressor: LeastSquares | Networks,
    ) -> list[tuple[StateFunction, bool, int]]:
        """Fitted iteration f_{j+1} = known + regression of step(f_j - known), each set on its own.

        The function of the state, whether it ended by the rule, and after how many regressions;
        `step` maps r and (P, c) f_j - known at the pairs to the targets of the next regression.
        """
        current = list(starts)
        active = np.ones(len(problems), dtype=bool)
        converged = ~active
        taken = np.zeros(len(problems), dtype=np.int64)
        for _ in range(self.iterations - 1):
            if not np.any(active):
                break
            targets = [step(r, values) for r, values in enumerate(current)]
            fitted = regressor.fit(targets, active)
            taken += active
            for r in np.flatnonzero(active).tolist():
                change = relative_change(problems[r], known[r] + current[r], fitted[r] - current[r])
                current[r] = fitted[r]
                converged[r] = change < self.tolerance
                active[r] = not converged[r] and bool(np.all(np.isfinite(fitted[r])))
        ends = regressor.functions(), converged.tolist(), taken.tolist()
        return list(zip(*ends, strict=True))

    def _regressor(
        self, problems: Sequence[Problem], columns: Sequence[Array]
    ) -> LeastSquares | Networks:
        """A fresh regressor for columns of about these sizes."""
        if not self.is_network:
            return LeastSquares(problems)
        rngs = [rng.spawn(1)[0] for rng in self.rngs]
        return Networks(problems, columns, self.steps, rngs)


def relative_change(problem: Problem, before: Array, change: Array) -> float:
    """The largest eps_j over the columns; infinite where f_j is constant and moves."""
    moved = problem.mean(change**2)
    spread = problem.mean((before - problem.mean(before)) ** 2)
    ratios = np.where(moved > 0, moved / np.where(spread > 0, spread, np.nan), 0.0)
    return float(np.sqrt(np.max(np.where(np.isnan(ratios), np.inf, ratios))))


class LeastSquares:
    """Weighted least squares in each data set's basis; pairs count as often as they are left."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.bases = [make_basis(problem.data, problem.rung) for problem in problems]
        self.values, self.solvers = [], []
        for problem, basis in zip(problems, self.bases, strict=True):
            values = at_pairs(basis, problem.data)
            weighted = problem.data.left[:, None] * values
            self.values.append(values)
            self.solvers.append(np.linalg.pinv(values.T @ weighted) @ weighted.T)
        self.coefficients = [np.empty(0)] * len(problems)

    def fit(self, targets: Sequence[Array], active: NDArray[np.bool_]) -> list[Array]:
        """(P, c) fitted values at all pairs from (P, c) targets; what is not active stays."""
        for r in np.flatnonzero(active).tolist():
            self.coefficients[r] = self.solvers[r] @ targets[r]
        return [v @ w for v, w in zip(self.values, self.coefficients, strict=True)]

    def functions(self) -> list[StateFunction]:
        """What was fitted last, as maps from features to (n, A, c)."""
        return [
            partial(combination, *pair) for pair in zip(self.bases, self.coefficients, strict=True)
        ]


def scaled(network: nets.Network, centre: Array, scale: Array, states: Array) -> Array:
    """(n, A, c) values of a network whose (n, A c) outputs are standardised."""
    raw = network(states).reshape(len(states), -1, len(centre))
    return np.asarray(centre + scale * raw)


class Networks:
    """One network a data set, all trained as one batch; an output for each action and column.

    Targets are taken about their mean, anew in each fit: the level of a value function moves most
    from one iteration to the next, and the network need not learn it.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        columns: Sequence[Array],
        steps: int,
        rngs: Sequence[np.random.Generator],
    ) -> None:
        self.steps, self.rngs = steps, rngs
        data = [problem.data for problem in problems]
        self.sizes = [len(tuples.actions) for tuples in data]
        self.scalings = [nets.scaling(tuples.states, True) for tuples in data]
        self.x = nets.pad([tuples.states for tuples in data], self.scalings)
        self.share = nets.pad([tuples.left / tuples.size for tuples in data])
        self.actions = nets.pad([tuples.actions for tuples in data])
        centred = [v - p.mean(v) for p, v in zip(problems, columns, strict=True)]
        spread = [np.sqrt(p.mean(v**2)) for p, v in zip(problems, centred, strict=True)]
        self.scale = np.where(np.stack(spread) > 0, np.stack(spread), 1.0)
        self.centre = np.zeros_like(self.scale)
        self.number = data[0].number_of_actions
        self.theta = nets.start(rngs, (self.x.shape[2], *HIDDEN, self.number * self.scale.shape[1]))
        observation = torch.tensor([1 / tuples.size for tuples in data], dtype=torch.float64)
        self.ridge = RIDGE * observation[:, None, None] * torch.eye(HIDDEN[-1] + 1)

    def fit(self, targets: Sequence[Array], active: NDArray[np.bool_]) -> list[Array]:
        """(P, c) fitted values at all pairs from (P, c) targets; what is not active stays."""
        padded = nets.pad(targets).numpy()
        mean = np.einsum("rn,rnc->rc", self.share.numpy(), padded)
        self.centre[active] = mean[active]
        wanted = torch.from_numpy((padded - self.centre[:, None]) / self.scale[:, None])
        moments = nets.no_moments(self.theta)
        for t in range(self.steps):
            x, share, actions, y = self._sample(wanted)
            leaves = [p.detach().requires_grad_() for p in self.theta]
            errors = self._chosen(nets.outputs(leaves, x, ACTIVATION), actions) - y
            loss = (share[..., None] * errors**2).sum()
            gradient = list(torch.autograd.grad(loss, leaves))
            rate = torch.from_numpy(active * LEARNING_RATE * (1 - t / self.steps))
            nets.adam(self.theta, moments, gradient, rate[:, None, None], t + 1)
        self._solve_output_layer(wanted, torch.from_numpy(active))
        raw = self._chosen(nets.outputs(self.theta, self.x, ACTIVATION), self.actions)
        values = self.centre[:, None] + self.scale[:, None] * raw.numpy()
        return [values[r, :size] for r, size in enumerate(self.sizes)]

    def functions(self) -> list[StateFunction]:
        """What was fitted last, as maps from features to (n, A, c)."""
        trained = nets.networks(self.theta, ACTIVATION, self.scalings)
        return [
            partial(scaled, *parts) for parts in zip(trained, self.centre, self.scale, strict=True)
        ]

    def _solve_output_layer(self, wanted: Tensor, active: Tensor) -> None:
        """Least squares of each action's pairs in the last hidden signals, but for the ridge."""
        hidden = nets.signals(self.theta, self.x, ACTIVATION)[-2]
        width, columns = hidden.shape[2], wanted.shape[2]
        hidden = torch.cat([hidden, torch.ones_like(hidden[..., :1])], dim=2)
        for a in range(self.number):
            share = (self.share * (self.actions == a))[..., None]
            gram = hidden.mT @ (share * hidden)
            mine = slice(a * columns, (a + 1) * columns)
            before = torch.cat([self.theta[-2][..., mine], self.theta[-1][..., mine]], dim=1)
            right = hidden.mT @ (share * wanted) - gram @ before
            move = torch.linalg.solve(gram + self.ridge, right)
            move *= active[:, None, None]
            self.theta[-2][..., mine] += move[:, :width]
            self.theta[-1][..., mine] += move[:, width:]

    def _chosen(self, values: Tensor, actions: Tensor) -> Tensor:
        """(R, n, c) outputs of each pair's action from (R, n, A c)."""
        table = values.reshape(*values.shape[:2], self.number, -1)
        index = actions[..., None, None].expand(-1, -1, 1, table.shape[-1])
        return torch.gather(table, 2, index)[:, :, 0]

    def _sample(self, wanted: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All pairs with their shares, or as many as a batch drawn by their shares."""
        if self.x.shape[1] <= FULL_BATCH:
            return self.x, self.share, self.actions, wanted
        columns = self.x, self.share, self.actions, wanted
        x, share, actions, y = nets.draw(self.share, self.rngs, BATCH, *columns)
        return x, torch.full_like(share, 1 / BATCH), actions, y
