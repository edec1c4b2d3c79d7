"""AIRL's game: roll-outs of the generator, and the alternation until neither side can gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gladius.baselines.airl_discriminator import Discriminator, Rows, relative
from gladius.checks import Array
from gladius.mdp import soft_bellman
from gladius.transitions import Integers, Transitions, index_rows

FIRST_STEP = 0.5  # share of the way to the discriminator's minimiser
SMALLEST_STEP = 2.0**-10
GROWTH = 1.05  # of the share after a round in which the gradient fell

Blocks = list[tuple[int, Array]]  # (periods, (R, S) paths started), the longest paths first


@dataclass(frozen=True)
class Game:
    """The two players, R replications.

    Attributes:
        side: the discriminator.
        law: (R, A, S, S) T-hat.
        expert: (R, S, A) rows of the data, pseudo rows among them.
        pseudo: (R, S) pseudo rows of each state.
        paths: of the roll-outs, see `expected_rows`.
        discount: beta.
    """

    side: Discriminator
    law: Array
    expert: Array
    pseudo: Array
    paths: Blocks
    discount: float

    def take(self, replications: Integers) -> Game:
        """The game of some of the replications."""
        paths = [(periods, starts[replications]) for periods, starts in self.paths]
        expert, pseudo = self.expert[replications], self.pseudo[replications]
        law, side = self.law[replications], self.side.take(replications)
        return Game(side, law, expert, pseudo, paths, self.discount)

    def respond(self, parameters: Array, v: Array) -> tuple[Rows, Array, int, bool]:
        """The generator's best reply: rows, its V (from a first guess), steps, whether solved."""
        reward = self.side.reward(parameters)
        planned = soft_bellman(reward, self.law, self.discount, start=v)
        flow = np.einsum("ria,raij->rij", planned.policy, self.law)
        total = self.expert.sum(axis=(1, 2)) - self.pseudo.sum(axis=1)
        rolled = expected_rows(self.paths, flow, total) + self.pseudo
        log_policy = planned.q - planned.v[..., None]
        rows = Rows(self.expert, rolled, log_policy)
        return rows, planned.v, planned.iterations, planned.converged


@dataclass(frozen=True)
class Played:
    """How the game ended.

    Attributes:
        parameters: of the discriminator.
        v: (R, S) of the generator, for the reward f.
        rows: that the discriminator saw last, from the generator that f implies.
        residual: (R,) what the tolerance is about.
        gradient: (R,) largest entry of the discriminator's gradient, per row of the data.
        iterations: (R,) rounds.
        inner_iterations: (R,) steps of the generator's planning and of the discriminator.
        converged: (R,).
    """

    parameters: Array
    v: Array
    rows: Rows
    residual: Array
    gradient: Array
    iterations: Integers
    inner_iterations: Integers
    converged: NDArray[np.bool_]


def play(game: Game, parameters: Array, tolerance: float, max_iterations: int) -> Played:
    """Alternate from the discriminator's `parameters`; each replication stops on its own.

    Converged: the generator solves its Bellman equation for f, and the discriminator's gradient
    against that generator's roll-outs is within the tolerance in every cell (`relative`).
    """
    p, (reps, states, actions) = parameters.copy(), game.expert.shape
    v, rolled = np.zeros((2, reps, states))
    log_policy = np.zeros((reps, states, actions))
    residual, slope = np.full((2, reps), np.inf)
    step = np.full(reps, FIRST_STEP)
    rounds, inner = np.zeros((2, reps), dtype=np.int64)
    converged = np.zeros(reps, dtype=bool)
    active = np.arange(reps)
    for round_ in range(max_iterations + 1):
        here = game.take(active)
        rows, v[active], planning, solved = here.respond(p[active], v[active])
        rolled[active], log_policy[active] = rows.rolled, rows.log_policy
        gradient, weight = here.side.gradient(p[active], rows)
        last, now = residual[active], relative(gradient, weight)
        residual[active] = now
        slope[active] = _largest(gradient) / rows.expert.sum(axis=(1, 2))
        inner[active] += planning
        converged[active] = (now <= tolerance) & solved
        going = ~converged[active] & np.isfinite(now)
        if round_ == max_iterations or not np.any(going):
            break
        target, steps = here.side.minimise(p[active], rows, tolerance / 10)
        factor = np.where(now > last, 0.5, GROWTH)
        step[active] = np.clip(factor * step[active], SMALLEST_STEP, FIRST_STEP)
        share = (going * step[active]).reshape(-1, *[1] * (p.ndim - 1))
        p[active] += share * (target - p[active])
        inner[active] += going * steps
        rounds[active] += going
        active = active[going]
    seen = Rows(game.expert, rolled, log_policy)
    return Played(p, v, seen, residual, slope, rounds, inner, converged)


def _largest(array: Array) -> Array:
    return np.asarray(np.abs(array).reshape(len(array), -1).max(axis=1))


def expected_rows(paths: Blocks, flow: Array, total: Array) -> Array:
    """(R, S) expected visits of roll-outs, scaled to a total of (R,).

    With n_h the (S,) starts of paths of more than h periods the visits are sum_h (P')^h n_h, by
    Horner's rule: x -> n_h + P' x from the last period to the first, where n_h is constant over
    a block of periods, so that its repeats are composed in the logarithm of their number.

    Args:
        paths: (periods, (R, S) starts of the paths at least as long as the periods from here on).
        flow: (R, S, S) law of the moves of a policy.
        total: (R,) rows.
    """
    x = np.zeros(flow.shape[:2])
    for periods, starts in paths:
        shift, matrix = starts.astype(float), np.swapaxes(flow, 1, 2)
        left = periods
        while left:
            if left % 2:
                x = shift + np.einsum("rij,rj->ri", matrix, x)
            left //= 2
            if left:
                shift = shift + np.einsum("rij,rj->ri", matrix, shift)
                matrix = matrix @ matrix
    return np.asarray(x * (total / x.sum(axis=1))[:, None])


def path_starts(data: Sequence[Transitions], grid: Array) -> Blocks:
    """First states and lengths of the paths of each data set, as `expected_rows` takes them.

    A path that ended by itself is rolled out as long as the data set's longest one.
    """
    every = []
    for one in data:
        _, first, label, length = np.unique(
            one.trajectory, return_index=True, return_inverse=True, return_counts=True
        )
        ended = np.bincount(label.reshape(-1), weights=one.done, minlength=len(first)) > 0
        length[ended] = length.max()
        _, (known, asked) = index_rows([grid, one.states[first]])
        every.append((np.argsort(known)[asked], length))  # the grid holds every state once
    lengths = np.unique(np.concatenate([length for _, length in every]))[::-1]
    blocks = []
    for longest, next_ in zip(lengths, [*lengths[1:], 0], strict=True):
        starts = [
            np.bincount(at[length >= longest], minlength=len(grid)).astype(float)
            for at, length in every
        ]
        blocks.append((int(longest - next_), np.stack(starts)))
    return blocks
