"""CLARE, conservative model-based offline inverse RL (Yue et al. 2023), for a table of rewards.

Alternates, in a learned model of the moves, an entropy-regularised policy for the reward r with

    min_r  Z E_rho[r] - E_D[w r] - E_E[r] + eta Z mean(r^2),        Z = 1 + E_D[w],

where rho is what the policy visits in the model, E the expert's data, D all data (here the
expert's) and the mean is over as many model as data points. The weights w tell where the model is
to be trusted: with c in [0, 1] the spread of an ensemble over its maximum, w = -N/N_E at expert
points with c > u, and what was taken off there is spread evenly over all points with c < u. As
coded by the authors n_large counts expert points, so E_D[w] = 0 and Z = 1 where any point is below
u. Where every point is above u nothing is left to fit, and u is refused.

With d = rho_E the discounted frequencies of D, the reward step for a table has the closed form
r = (rho_E + w d - Z rho) / (eta Z (rho + d)); with w = 0

    r = (rho_E - rho) / (eta (rho_E + rho)),         so |r| <= 1/eta :

at eta = 1, the default, rewards of -1 to -10 are out of reach. As eta -> 0, r tends to the
minimum-norm representative of the rewards with the expert's policy: IQ-Learn's limit.

Both steps solved, r is sought with F(r) = r - t(r) = 0, t the closed form at rho_r, the occupancy
of the soft-optimal policy of r. Where d = 0 t = -1/eta whatever rho is: the unknowns are the pairs
of the data. There, with c = rho_E + w d,

    dF/dr = I + diag[(Z d + c) / (eta Z (rho + d)^2)] K,     K = d rho / d r,

and K is a Hessian (of (1 - beta) E V(s_0)), hence symmetric and positive semi-definite. A positive
diagonal times K has no negative eigenvalue, so dF/dr is regular everywhere; t is bounded, so F is
proper. By Hadamard's theorem F is one-to-one: there is exactly one fixed point, |F|^2 has no other
stationary point, and its Gauss-Newton steps are Newton's for F = 0. Plain iteration r <- t(r) need
not converge: |dt/dr| exceeds 1 for small eta.

What had to be decided:
- Alternation: the fixed point, in the place of 10 rounds of soft actor-critic and 5 reward steps.
  The policy step is the soft Bellman equation at temperature 1; the code's .25 times the negative
  log-likelihood of the expert's actions supports a policy network, and is left out.
- Occupancies are discounted, as in the theory: rho from the expert's first states, rho_E of the
  paths observed, scaled up for what lies beyond their ends. The code's batches are undiscounted and
  its roll-outs are of 5 periods from the expert's states.
- The model: frequencies. The ensemble: 7 bootstrap samples of the transitions, all kept (the code
  drops the 2 worst of 7 networks, but a table of frequencies cannot fail to train).
- c: the largest distance of an ensemble member's mean next state from the mean of them all
  (features over their range). The code's default, `aleatoric`, is the spread of the next state
  itself, which takes noise for ignorance.
- With given P nothing is uncertain and w = 0; so it is with u = 1.
- Pairs never observed get -1/eta, the reward step's limit; states off the data take the nearest.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gladius.anchor import Anchor, NearestState
from gladius.baselines.discounted import Paths, discounted_paths, state_occupancy
from gladius.checks import Array, InputError, check_finite, check_positive, generators
from gladius.estimate import Estimate
from gladius.linear_reward import KnownTransitions, TableFunction
from gladius.mdp import soft_bellman
from gladius.newton import Expansion, minimise
from gladius.parametric import check_start, grid_estimate, make_grid
from gladius.transition_probabilities import empirical_transition_probabilities
from gladius.transitions import Counts, Integers, Transitions

TITLE, NEEDS = "Clare", ("next", "transitions")
MODELS = 7  # in the ensemble
ROUNDING = 1e-7  # of features over their range: a variance of 1e-14 or less is none
RESIDUAL = 1e-8  # largest |r - t(r)| of a fixed point, in units of reward
MAX_STEPS = 500  # of Newton
TOLERANCE = 1e-9  # of the solver: |F| before its last step
NOTHING = 1e-12  # share of the expert's mass: less is rounding


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    eta: float = 1.0,
    u: float = 0.5,
    transition: KnownTransitions | None = None,
    start: TableFunction | None = None,
    rng: int | Sequence[np.random.Generator] = 0,
) -> list[Estimate]:
    """CLARE of each data set.

    Args:
        data: replications of the expert's data; the rows of a trajectory in order of time.
        anchor: not used by the method; the Bellman error of its rows is reported.
        discount: beta.
        eta: of the regulariser on r.
        u: threshold of the uncertainty, in [0, 1].
        transition: the true P, an oracle's knowledge.
        start: maps (n, d) features to the first rewards (n, A); by default 0.
        rng: a seed, or one generator for each data set, for the ensemble.

    Returns:
        One Estimate for each data set; `diagnostics.gradient_norm` is the residual, `extra` holds
        objective (the reward step's), inner_iterations, occupancy_gap (total variation between rho
        and rho_E), weighted_share (of the expert's mass at c > u).

    Raises:
        InputError: for options that do not fit together or do not fit the data; for u where the
            model is trusted at none of the expert's pairs.
    """
    check_positive("eta", eta)
    if check_finite("u", u).shape != () or not 0 <= u <= 1:
        raise InputError("u", u, "give a number from 0 to 1")
    results = []
    for replication, generator in zip(data, generators(rng, len(data)), strict=True):
        started = time.process_time()
        grid = make_grid([replication], discount, transition)
        (paths,) = discounted_paths([replication], grid.states, grid.discount)
        expert = mass(paths, grid.discount)
        spread = np.zeros_like(expert)
        if not grid.is_known:
            spread = uncertainty(grid.counts, generator)
        weighted, scale = conservative(expert, spread, u)
        probabilities = grid.transition[0]
        target = expert + weighted
        game = Game(target, expert, scale, paths.first, probabilities, grid.discount, eta)
        first = check_start(None if start is None else start(grid.states), expert.shape)
        end = fixed_point(game, first)
        reward = NearestState(grid.states, end.reward)
        estimate = grid_estimate(
            "clare",
            grid,
            0,
            anchor,
            end.reward,
            end.v,
            grid.q_function(0, reward, end.v),
            reward,
            status="ok" if end.converged else "not_converged",
            iterations=end.iterations,
            gradient_norm=end.residual,
            seconds=time.process_time() - started,
            extra={
                "objective": game.loss(end.reward, end.rho),
                "inner_iterations": end.inner_iterations,
                "occupancy_gap": float(np.abs(end.rho - expert).sum() / 2),
                "weighted_share": float(expert[spread > u].sum() / expert.sum()),
            },
        )
        results.append(estimate)
    return results


def mass(paths: Paths, discount: float) -> Array:
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
    ended = visits - moves.sum(axis=2).T
    cells = np.concatenate([moves.ravel(), ended.ravel()])
    kept, total_rows = np.flatnonzero(cells), int(cells.sum())
    means = []
    for _ in range(MODELS):
        drawn = np.zeros(len(cells))
        drawn[kept] = rng.multinomial(total_rows, cells[kept] / total_rows)
        new_moves = drawn[: moves.size].reshape(moves.shape)
        new_visits = new_moves.sum(axis=2).T + drawn[moves.size :].reshape(ended.shape)
        resampled = Counts(counts.states, new_visits[None], new_moves[None])
        transition = empirical_transition_probabilities(resampled).transition[0]
        # a path that may end has less than all of its mass on next states
        total = np.maximum(transition.sum(axis=2, keepdims=True), np.finfo(float).tiny)
        means.append(transition / total @ features)
    distance = np.linalg.norm(np.stack(means) - np.mean(means, axis=0), axis=3).max(axis=0)
    spread = np.where(visits > 0, distance.T, 0.0)
    spread[spread <= ROUNDING] = 0.0
    return spread / (spread.max() if spread.max() > 0 else 1.0)


def conservative(expert: Array, spread: Array, u: float) -> tuple[Array, float]:
    """w d, the masses (S, A) that the weights move, and Z.

    With masses in the place of the counts of points, -N/N_E times the expert's share of d is
    -rho_E, taken off where c > u and given back where c < u in proportion to d. `expert` (S, A) is
    rho_E and d, `spread` (S, A) c.

    Raises:
        InputError: where every pair of the expert is above u.
    """
    if expert[spread <= u].sum() <= NOTHING * expert.sum():
        least = spread[expert > 0].min()
        hint = f"the model is trusted at none of the expert's pairs: give more than {least:.2g}"
        raise InputError("u", u, hint)
    removed = np.where(spread > u, expert, 0.0)
    trusted = np.where(spread < u, expert, 0.0)
    share = removed.sum() / trusted.sum() if trusted.sum() > 0 else 0.0
    weighted = share * trusted - removed
    return weighted, 1.0 + float(weighted.sum())


@dataclass(frozen=True)
class Game:
    """What the reward step weighs."""

    target: Array  # (S, A) c, masses of the expert and the weights
    data: Array  # (S, A) d, of the data; positive wherever c is
    scale: float  # Z
    entry: Array  # (S,) shares of the first states
    transition: Array  # (A, S, S)
    discount: float  # beta
    eta: float  # of the regulariser

    def answer(self, rho: Array) -> Array:
        """(S, A) t, the reward step's minimum at the occupancy rho."""
        total = np.where(rho + self.data > 0, rho + self.data, 1.0)
        ratio = (self.target - self.scale * rho) / (self.eta * self.scale * total)
        return np.where(self.data > 0, ratio, -1 / self.eta)

    def loss(self, reward: Array, rho: Array) -> float:
        """What the reward step minimises over r."""
        z = self.scale
        fit = z * np.sum(rho * reward) - np.sum(self.target * reward)
        return float(fit + self.eta * z / 2 * np.sum((rho + self.data) * reward**2))


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
        z, total = game.scale, rho.flat[pairs] + game.data.flat[pairs]
        slope = (z * game.data.flat[pairs] + game.target.flat[pairs]) / (game.eta * z * total**2)
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


def occupancy_derivative(
    policy: Array, transition: Array, states: Array, discount: float, pairs: Integers
) -> Array:
    """(n, n) d rho / d r among the pairs s A + a, of the soft-optimal policy (S, A).

    `states` (S,) is their occupancy.
    """
    flow = np.einsum("sa,ast->st", policy, transition)
    state, action = np.divmod(pairs, policy.shape[1])
    inverse = np.linalg.inv(np.eye(len(policy)) - discount * flow)
    dv = inverse[:, state] * policy[state, action]  # d V(s) / d r(pair)
    dq = discount * np.moveaxis(transition @ dv, 0, 1)
    dq[state, action, np.arange(len(pairs))] += 1.0
    root = np.sqrt(np.maximum(states, 0.0)[:, None] * policy)
    centred = (root[..., None] * (dq - dv[:, None])).reshape(policy.size, -1)
    return np.asarray(centred.T @ centred)
