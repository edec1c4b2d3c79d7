"""CLARE, conservative model-based offline inverse RL (Yue et al. 2023), for a table of rewards.

It alternates, under estimated transition probabilities, an entropy-regularised policy for r with

    min_r  E_rho[r] - E_D[w r] - E_E[r] + eta mean(r^2),

where rho is what the policy visits, E the expert's data and D all data (here the expert's). With c
in [0, 1] the spread of an ensemble over its maximum, the weights are w = -N/N_E at expert points
with c > u; what was removed there is spread evenly over all points with c < u. With d = rho_E the
discounted frequencies of D, the reward step has the closed form

    t(rho) = (rho_E + w d - rho) / (eta (rho + d)).

With w = 0, |r| <= 1/eta: at eta = 1 rewards of -1 to -10 are out of reach. Both steps solved, r
solves F(r) = r - t(rho_r) = 0. With c = rho_E + w d and K = d rho / d r, which is positive
semi-definite, dF/dr = I + diag[(d + c) / (eta (rho + d)^2)] K is regular everywhere, and F is
proper. So there is exactly one fixed point, and |F|^2 has no other stationary point (Hadamard).

Implementation choices:

- The fixed point, by least squares on F, replaces 10 rounds of soft actor-critic and 5 reward
  steps. The policy step is the soft Bellman equation at temperature 1.
- rho starts from the expert's first states. rho_E of the observed paths is scaled up for what lies
  beyond their ends.
- The ensemble is MODELS bootstrap samples of the transition frequencies. With given P, w = 0.
- Pairs without observations get -1/eta; states off the data take the nearest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gladius.baselines.discounted import (
    DiscountedPaths,
    discounted_paths,
    occupancy_derivative,
    state_occupancy,
)
from gladius.model.estimate import Estimate, Fit
from gladius.model.frequencies import empirical_transition_probabilities
from gladius.model.mdp import soft_bellman
from gladius.model.parametric import check_start, make_grid
from gladius.model.reward_form import KnownTransitions, TableFunction
from gladius.panel.anchor import Anchor, NearestState
from gladius.panel.moves import Table, check_square, departures, entries, tabulated
from gladius.panel.record import Counts, Integers, Transitions
from gladius.solvers.newton import Expansion, minimise
from gladius.validate import Array, InputError, generators

TITLE, NEEDS = "Clare", ("next", "transitions")
MODELS = 7  # in the ensemble
ETA = 1.0  # of the regulariser on r
UNCERTAIN = 0.5  # u, the threshold of c
LEAST_RANGE = 1e-7  # of features over their range: a variance of 1e-14 or less is none
RESIDUAL = 1e-8  # largest |r - t(r)| of a fixed point, in units of reward
MAX_STEPS = 500  # of Newton
TOLERANCE = 1e-9  # of the solver: |F| before its last step


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    transition: KnownTransitions | None = None,
    start: TableFunction | None = None,
    rng: int | Sequence[np.random.Generator] = 0,
) -> list[Estimate]:
    """CLARE of each data set, whose trajectories are in order of time.

    Args:
        transition: the true P, an oracle's knowledge.
        start: maps (n, d) features to the first rewards (n, A); by default 0.
        rng: for the ensemble.

    `gradient_norm` is the residual; `extra` holds the reward step's objective.
    """
    results = []
    for replication, generator in zip(data, generators(rng, len(data)), strict=True):
        grid = make_grid([replication], discount, transition)
        paths = discounted_paths(replication, grid.states, grid.discount)
        expert = mass(paths, grid.discount)
        hint = "CLARE's steps are Newton's in all observed pairs (s, a): coarsen the features"
        check_square(int(np.count_nonzero(expert)), len(expert), hint)
        spread = 0 * expert if grid.is_known else uncertainty(grid.counts, generator)
        target = expert + conservative(expert, spread)
        game = Game(target, expert, paths.first, grid.transition[0], grid.discount)
        first = check_start(None if start is None else start(grid.states), expert.shape)
        end = fixed_point(game, first)
        reward = NearestState(grid.states, end.reward)
        fitted = Fit(
            grid.q_function(0, reward, end.v),
            reward,
            status="ok" if end.converged else "not_converged",
            iterations=end.iterations,
            gradient_norm=end.residual,
            inner_iterations=end.inner_iterations,
            extra={"objective": game.loss(end.reward, end.rho)},
        )
        results += grid.estimates("clare", [fitted], anchor)
    return results


def mass(paths: DiscountedPaths, discount: float) -> Array:
    """(S, A) discounted state-action frequencies of the paths, as if they went on as they were.

    They sum to one where no path is done; a path that is done has no mass beyond its end.
    """
    observed = paths.visits.sum()
    missing = paths.beyond.mean() / (1 - discount)
    return np.asarray(paths.visits * (1 - discount) * (observed + missing) / observed)


def uncertainty(counts: Counts, rng: np.random.Generator) -> Array:
    """(S, A) c in [0, 1], relative to the largest at a pair of the data; 0 off the data."""
    width = np.ptp(counts.states, axis=0)
    features = (counts.states - counts.states.min(axis=0)) / np.where(width > 0, width, 1.0)
    moves, visits = counts.moves[0], counts.visits[0]
    ended = visits - departures(moves).T
    (action, state, after), number = entries(moves)
    row, last = np.ravel_multi_index((action, state), moves.shape[:2]), np.nonzero(ended)
    occupied = np.append(number, ended[last])
    total = int(occupied.sum())
    means = []
    for _ in range(MODELS):
        drawn = rng.multinomial(total, occupied / total).astype(float)
        new_moves = tabulated(row, after, drawn[: len(row)], moves.shape)
        new_visits = departures(new_moves).T
        new_visits[last] += drawn[len(row) :]
        resampled = Counts(counts.states, new_visits[None], new_moves[None])
        transition = empirical_transition_probabilities(resampled).transition[0]
        # a path that may end has less than all of its mass on next states
        mass_next = np.maximum(departures(transition), np.finfo(float).tiny)
        means.append(transition @ features / mass_next[..., None])
    distance = np.linalg.norm(np.stack(means) - np.mean(means, axis=0), axis=3).max(axis=0)
    spread = np.where(visits > 0, distance.T, 0.0)
    spread[spread <= LEAST_RANGE] = 0.0
    return spread / (spread.max() if spread.max() > 0 else 1.0)


def conservative(expert: Array, spread: Array) -> Array:
    """w d, the masses (S, A) that the weights add or remove.

    With masses in the place of the counts of points, -N/N_E times the expert's share of d is
    -rho_E. `expert` (S, A) is rho_E and d, `spread` (S, A) c.

    Raises:
        InputError: where the model is uncertain at every pair of the expert.
    """
    removed = np.where(spread > UNCERTAIN, expert, 0.0)
    trusted = np.where(spread < UNCERTAIN, expert, 0.0)
    if not np.any(trusted):
        hint = "the transitions of all of the expert's pairs are uncertain: add data"
        raise InputError("transitions", f"{np.count_nonzero(expert)} pairs", hint)
    return np.asarray(removed.sum() / trusted.sum() * trusted - removed)


@dataclass(frozen=True)
class Game:
    """What the reward step weighs."""

    target: Array  # (S, A) c, masses of the expert and the weights
    data: Array  # (S, A) d, of the data; positive wherever c is
    entry: Array  # (S,) shares of the first states
    transition: Table  # (A, S, S)
    discount: float  # beta
    eta: float = ETA  # of the regulariser

    def answer(self, rho: Array) -> Array:
        """(S, A) t, the reward step's minimum at the occupancy rho."""
        total = np.where(rho + self.data > 0, rho + self.data, 1.0)
        ratio = (self.target - rho) / (self.eta * total)
        return np.where(self.data > 0, ratio, -1 / self.eta)

    def loss(self, reward: Array, rho: Array) -> float:
        """What the reward step minimises over r."""
        mismatch = np.sum((rho - self.target) * reward)
        return float(mismatch + self.eta / 2 * np.sum((rho + self.data) * reward**2))


@dataclass(frozen=True)
class FixedPoint:
    """Where the alternation rests."""

    reward: Array  # (S, A) r
    v: Array  # (S,) V of the generator
    rho: Array  # (S, A) its occupancy
    residual: float  # largest |r - t(r)|
    iterations: int  # Newton steps
    inner_iterations: int  # Bellman iterations
    converged: bool  # whether the residual is one of rounding and the Bellman equation is solved


def fixed_point(game: Game, start: Array) -> FixedPoint:
    """The fixed point from `start` (S, A), by least squares on F over the pairs of the data."""
    pairs = np.flatnonzero(game.data)
    reward = np.where(game.data > 0, start, -1 / game.eta)
    v, inner_iterations = np.zeros(len(start)), 0

    def solve(x: Array) -> tuple[Array, Array, Array, bool]:
        """(rho, policy, F over the pairs, whether the Bellman equation is solved) at r = x."""
        nonlocal v, inner_iterations
        reward.flat[pairs] = x
        solution = soft_bellman(reward, game.transition, game.discount, v)
        v, inner_iterations = solution.v, inner_iterations + solution.iterations
        entry = (1 - game.discount) * game.entry
        states = state_occupancy(solution.policy, game.transition, entry, game.discount)
        rho = states[:, None] * solution.policy
        return rho, solution.policy, x - game.answer(rho).flat[pairs], solution.converged

    def squares(replications: Integers, x: Array) -> Expansion:
        rho, policy, gap, _ = solve(x[0])
        k = occupancy_derivative(policy, game.transition, rho.sum(axis=1), game.discount, pairs)
        mass = (game.data + game.target).flat[pairs]
        slope = mass / (game.eta * (rho + game.data).flat[pairs] ** 2)
        jacobian = np.eye(len(pairs)) + slope[:, None] * k
        value = np.array([gap @ gap / 2])
        return value, (jacobian.T @ gap)[None], (jacobian.T @ jacobian)[None]

    first = reward.flat[pairs][None]
    minimum = minimise(squares, first, tolerance=TOLERANCE, max_iterations=MAX_STEPS)
    rho, _, gap, is_solved = solve(minimum.x[0])
    residual = float(np.max(np.abs(gap)))
    converged = is_solved and residual <= RESIDUAL
    steps = int(minimum.iterations[0])
    return FixedPoint(reward, v, rho, residual, steps, inner_iterations, converged)
