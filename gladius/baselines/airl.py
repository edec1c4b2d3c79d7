"""Model-enhanced AIRL (Zhan et al. 2024) and plain AIRL (Fu, Luo and Levine 2018), tabular.

A discriminator D = exp f / (exp f + pi) learns to tell the data from roll-outs of a generator pi,
by minimising -E_data[ln D] - E_rollouts[ln(1 - D)]; the generator is paid ln D - ln(1 - D) =
f - ln pi, so it is the soft-optimal policy for the reward f.

    model-enhanced   f(s, a)     = g(s, a) + beta E_T-hat[phi(s') | s, a] - phi(s)
    plain            f(s, a, s') = g(s, a) + beta h(s') - h(s)

The reward is read off as g. At the optimum f = ln pi_E, the expert's log choice probabilities, and
for the model-enhanced f any phi whatever fits: g = ln pi_E + phi - beta E[phi]. Which of them comes
out is decided by the start of the optimiser and nothing in the data (`start_spread`). For plain
AIRL f cannot vary with s', so h is constant over overlapping successors and g is the advantage
ln pi_E up to a few constants. Neither is the reward: Fu et al. show recovery up to a constant for
deterministic moves with a state-only reward alone. `anchored=True` is a different, identified
estimator: it fixes g(., anchor) at the anchor's reward, which leaves one phi (V*) and one g (r).

What had to be decided (the text of the model-enhanced original was not at hand; f follows its
abstract):

- Tables in place of networks, the same for g, phi and T-hat; no weight decay, no clipping.
- Roll-outs in T-hat: one for each path of the data, from its first state and as long (as the
  longest path where it ended by itself), their expected counts computed exactly, then scaled to as
  many rows as the data have. Rows count alike in both classes (no beta^t), as in the original code.
- PSEUDO_COUNT rows are added to every (s, a) of the data, and as many rows in each state, chosen
  by the generator's policy, to the roll-outs, which biases nothing at the point where they match.
  An unseen action would else have no finite minimiser f.
- The alternation: generator exactly soft-optimal for f, discriminator exactly minimised against it,
  f moved a share of the way to that minimiser: 1/2 at most, halved when the gradient grew (the
  original takes few gradient steps, and keeps roll-outs of old generators, to the same end).
- Converged: with the generator soft-optimal for f, the discriminator's gradient at the roll-outs
  of that generator is below TOLERANCE in every cell, relative to the rows there.
- Off the grid g is that of the nearest state; if anchored, the log-odds are.

`extra`: objective is the discriminator's cross-entropy, ln 4 where f is free and the data and the
roll-outs are alike (a game's value: it says nothing about g); occupancy_tv the total variation of
data and roll-outs, pseudo rows left out; log_policy_gap the largest difference, over states seen,
of the generator's log policy from the smoothed log frequencies of the data; g, phi on `states`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from gladius.anchor import Anchor, check_anchor_support
from gladius.baselines.plug_in import choice_frequencies
from gladius.checks import Array, InputError, check_finite, check_whole, generators
from gladius.estimate import Estimate, StateFunction
from gladius.linear_reward import KnownTransitions
from gladius.mdp import soft_bellman
from gladius.parametric import Grid, NearestRow, grid_estimates, make_grid, positions
from gladius.transition_probabilities import from_choices
from gladius.transitions import Counts, Integers, Transitions

TITLE, NEEDS = "Model-enhanced AIRL", ("next", "transitions")
PSEUDO_COUNT = 0.5
TOLERANCE = 1e-9  # on the discriminator's relative gradient against its own generator
FIRST_STEP = 0.5  # share of the way to the discriminator's minimiser
SMALLEST_STEP = 2.0**-10
GROWTH = 1.05  # of the share after a round in which the gradient fell
NO_END = 1e-9  # rows that sum to one within this never end the path
DAMPING = 1e-10  # of a step of g(s), relative to a unit diagonal: flat directions do not move
STEPS = 50  # of g(s) a round of the game; what is left the next round takes up
SINGULAR = 1e-9  # smallest singular value, relative, of the map from (g(s), phi) to f

REPORTED = ("inner_iterations", "objective", "occupancy_tv", "log_policy_gap", "g", "phi")

Blocks = list[tuple[int, Array]]  # (periods, (S,) paths started), the longest paths first


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    transition: KnownTransitions | None = None,
    state_only: bool = False,
    plain: bool = False,
    anchored: bool = False,
    start_spread: float = 0.0,
    rng: int | Sequence[np.random.Generator] = 0,
    max_iterations: int = 2000,
) -> list[Estimate]:
    """AIRL on each data set.

    Args:
        data: replications.
        anchor: used by the fit only if `anchored`; its Bellman error is reported.
        discount: beta.
        transition: the true T, an oracle's knowledge; Q is then defined on its grid only. By
            default T-hat is the frequencies of each data set.
        state_only: g(s) in place of g(s, a).
        plain: shape with h(s') at the successor met, without a model (AIRL of 2018).
        anchored: g(., anchor) = the anchor's reward. Not AIRL as published: it identifies r.
        start_spread: standard deviation of normal draws where g and phi start; 0: at zero.
        rng: of those draws: a seed, or one generator for each data set.
        max_iterations: rounds of the game.

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    if anchored and (state_only or plain):
        clash = "state_only" if state_only else "plain"
        raise InputError("anchored", True, f"the anchored form has no {clash} version")
    check_whole("max_iterations", max_iterations, 1)
    rngs = generators(rng, len(data))
    if float(check_finite("start_spread", start_spread)) < 0:
        raise InputError("start_spread", start_spread, "give a number, 0 or more")
    flags = {"plain": plain, "state_only": state_only, "anchored": anchored}
    name = "_".join(["airl", *(flag for flag, is_set in flags.items() if is_set)])
    level = anchor if anchored else None
    results = []
    for replication, generator in zip(data, rngs, strict=True):
        started = time.process_time()
        grid = make_grid([replication], discount, transition)
        if anchored and not grid.is_known:
            check_anchor_support(grid.counts, anchor.action)
        visits = grid.visits[0]
        equilibrium = fit_counts(
            grid.states,
            visits,
            grid.transition[0],
            path_starts(replication, grid.states),
            grid.discount,
            state_only=state_only,
            plain=plain,
            anchor=level,
            start=(
                start_spread * generator.standard_normal(visits.shape),
                start_spread * generator.standard_normal(len(visits)),
            ),
            max_iterations=max_iterations,
        )
        results += grid_estimates(
            name,
            grid,
            anchor,
            equilibrium.g[None],
            equilibrium.v[None],
            [_functions(grid, equilibrium, level)],
            converged=[equilibrium.status == "ok"],
            iterations=[equilibrium.iterations],
            gradient_norm=[equilibrium.gradient],
            status=[equilibrium.status],
            seconds=time.process_time() - started,
            extra=[
                {"states": grid.states} | {name: getattr(equilibrium, name) for name in REPORTED}
            ],
        )
    return results


def _functions(
    grid: Grid, equilibrium: Equilibrium, anchor: Anchor | None
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) of any features: tables of the nearest state, carried on by the Bellman equation."""
    if anchor is not None and not grid.is_known:
        advantage = equilibrium.q - equilibrium.q[:, [anchor.action]]
        table = NearestRow(grid.states, advantage)
        return from_choices(table, equilibrium.v, grid.p_hat, 0, anchor, grid.discount)
    reward = NearestRow(grid.states, equilibrium.g)
    return grid.q_function(0, reward, equilibrium.v), reward


@dataclass(frozen=True)
class Equilibrium:
    """Where neither player can gain."""

    f: Array  # (S, A) the discriminator's f, its mean over s' under T-hat if plain
    g: Array  # (S, A) a part of f
    phi: Array  # (S,) the other part; h if plain
    q: Array  # (S, A) of the reward g in T-hat; softmax(q) is the generator
    v: Array  # (S,) of the same
    gradient: float  # largest entry of the discriminator's, per row
    objective: float  # this and the next two: see the module
    occupancy_tv: float
    log_policy_gap: float
    iterations: int  # rounds of the game
    inner_iterations: int  # steps of the generator's planning and of the discriminator
    status: str  # ok, not_converged or diverged


def fit_counts(
    states: Array,
    visits: Array,
    transition: Array,
    paths: Blocks,
    discount: float,
    *,
    state_only: bool = False,
    plain: bool = False,
    anchor: Anchor | None = None,
    pseudo_count: float = PSEUDO_COUNT,
    start: tuple[Array, Array] | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = 2000,
) -> Equilibrium:
    """The alternation from counts.

    Args:
        states: (S, d) features.
        visits: (S, A) rows of the data.
        transition: (A, S, S) T-hat.
        paths: what the roll-outs are: see `expected_rows`.
        start: g (S, A) and phi (S,); by default zero.
        pseudo_count, tolerance: 0 and less than the defaults in a population.
        The rest as in `fit`, the anchor for the anchored form alone.
    """
    counts = Counts(states, visits[None], transition[None, :, :, :0])
    log_expert = np.log(choice_frequencies(counts, pseudo_count)[0])
    seen, pseudo = visits.sum(axis=1), visits.shape[1] * pseudo_count
    expert = (seen + pseudo)[:, None] * np.exp(log_expert)
    g, phi = start or (np.zeros(visits.shape), np.zeros(len(states)))
    side = discriminator(transition, discount, state_only, plain)
    parameters, v = side.start(g, phi), np.zeros(len(states))
    residual, step = np.inf, FIRST_STEP
    rounds = inner = 0
    while True:
        planned = soft_bellman(side.reward(parameters), transition, discount, start=v)
        v, inner = planned.v, inner + planned.iterations
        flow = np.einsum("ia,aij->ij", planned.policy, transition)
        rolled = expected_rows(paths, flow, seen.sum()) + pseudo
        rows = Rows(expert, rolled, planned.q - v[:, None])
        slope, weight = side.gradient(parameters, rows)
        last, residual = residual, relative(slope, weight)
        converged = residual <= tolerance and planned.converged
        if converged or not np.isfinite(residual) or rounds == max_iterations:
            break
        best, steps = side.minimise(parameters, rows, tolerance / 10)
        factor = 0.5 if residual > last else GROWTH
        step = float(np.clip(factor * step, SMALLEST_STEP, FIRST_STEP))
        parameters = parameters + step * (best - parameters)
        inner, rounds = inner + steps, rounds + 1
    f = side.reward(parameters)
    if anchor is None:
        g, phi = side.split(parameters, g, phi)
    else:
        level = anchor.values(states) - f[:, anchor.action]
        phi = np.linalg.solve(np.eye(len(v)) - discount * transition[anchor.action], level)
        g = f - side.shaping(phi)
    v = v + phi  # shaping by phi shifts the value by it
    policy = np.exp(rows.log_policy)
    apart = seen[:, None] * np.exp(log_expert) - (rolled - pseudo)[:, None] * policy
    unfinished = "not_converged" if np.isfinite(residual) else "diverged"
    return Equilibrium(
        f=f,
        g=g,
        phi=phi,
        q=g + discount * np.einsum("aij,j->ia", transition, v),
        v=v,
        gradient=float(np.max(np.abs(slope)) / expert.sum()),
        objective=side.cross_entropy(parameters, rows),
        occupancy_tv=float(np.abs(apart).sum() / (2 * seen.sum())),
        log_policy_gap=float(np.abs(rows.log_policy - log_expert)[seen > 0].max()),
        iterations=rounds,
        inner_iterations=inner,
        status="ok" if converged else unfinished,
    )


@dataclass(frozen=True)
class Rows:
    """What a discriminator sees."""

    expert: Array  # (S, A) rows of the data
    rolled: Array  # (S,) rows of the roll-outs
    log_policy: Array  # (S, A) of the generator, a known part of D


@dataclass(frozen=True)
class Discriminator:
    """f = columns @ parameters in each cell: a pair (s, a), or a triple (s, a, s').

    The parameters are f(s, a) itself, or u = g - phi and phi where g is of the state alone.
    """

    pair: Integers  # (n,) s A + a of each cell
    share: Array  # (n,) of the rows of the pair that fall into the cell
    columns: csr_array  # (n, p), none negative
    transition: Array  # (A, S, S) T-hat
    discount: float  # beta
    state_only: bool  # g(s) in the place of g(s, a)
    plain: bool  # shape with h at the sampled s', not with its mean

    def shaping(self, phi: Array) -> Array:
        """(S, A) beta E[phi(s')] - phi(s)."""
        following = np.einsum("aij,j->ia", self.transition, phi)
        return np.asarray(self.discount * following - phi[:, None])

    def start(self, g: Array, phi: Array) -> Array:
        """Parameters from g (S, A) and phi (S,)."""
        if self.state_only:
            return np.concatenate([g.mean(axis=1) - phi, phi])
        return np.asarray((g + self.shaping(phi)).ravel())

    def reward(self, parameters: Array) -> Array:
        """(S, A) E[f given s, a] under T-hat, which the generator plans with."""
        actions, states = self.transition.shape[:2]
        f = self.share * (self.columns @ parameters)
        total = np.bincount(self.pair, weights=f, minlength=states * actions)
        return np.asarray(total.reshape(states, actions))

    def cells(self, parameters: Array, rows: Rows) -> tuple[Array, Array, Array]:
        """(n,) f - log pi, rows of the data and rows of the roll-outs in each cell."""
        generator = rows.rolled[:, None] * np.exp(rows.log_policy)
        gap = self.columns @ parameters - rows.log_policy.flat[self.pair]
        expert, rolled = (self.share * n.flat[self.pair] for n in (rows.expert, generator))
        return gap, expert, rolled

    def gradient(self, parameters: Array, rows: Rows) -> tuple[Array, Array]:
        """dL / dparameters, and the number of rows that each entry is a sum over."""
        gap, expert, generator = self.cells(parameters, rows)
        d = expit(gap)
        slope = self.columns.T @ (generator * d - expert * (1 - d))
        return slope, self.columns.T @ (expert + generator)

    def cross_entropy(self, parameters: Array, rows: Rows) -> float:
        """L over the rows of one class."""
        gap, expert, generator = self.cells(parameters, rows)
        loss = expert * np.logaddexp(0, -gap) + generator * np.logaddexp(0, gap)
        return float(loss.sum() / expert.sum())

    def minimise(self, parameters: Array, rows: Rows, tolerance: float) -> tuple[Array, int]:
        """The minimiser of L, and the steps it took."""
        if not self.state_only:
            # ln pi + ln(e / n), n = pi times the rows of the state: no division by a tiny pi
            return (np.log(rows.expert) - np.log(rows.rolled)[:, None]).ravel(), 0
        for steps in range(STEPS):
            slope, weight = self.gradient(parameters, rows)
            if relative(slope, weight) <= tolerance:
                return parameters, steps
            gap, expert, generator = self.cells(parameters, rows)
            size = np.maximum(np.abs(gap), 1e-6)
            curvature = (expert + generator) * np.tanh(size / 2) / (2 * size)
            hessian = (self.columns.T @ (self.columns * curvature[:, None])).toarray()
            root = np.sqrt(np.diagonal(hessian))
            scale = np.where(root > 0, root, 1.0)
            unit = hessian / scale[:, None] / scale + DAMPING * np.eye(len(scale))
            parameters = parameters - np.linalg.solve(unit, slope / scale) / scale
        return parameters, STEPS

    def split(self, parameters: Array, g: Array, phi: Array) -> tuple[Array, Array]:
        """The g (S, A) and phi (S,) of f nearest to the start g, phi."""
        actions, states = self.transition.shape[:2]
        if self.state_only:
            first = np.concatenate([g.mean(axis=1), phi])
            now, after = np.hsplit(self.columns.toarray(), 2)
            design = np.concatenate([now, after - now], axis=1)
            target = self.columns @ parameters - design @ first
            nearest = first + np.linalg.lstsq(design, target, rcond=SINGULAR)[0]
            return np.repeat(nearest[:states, None], actions, axis=1), nearest[states:]
        f, eye = parameters.reshape(states, actions), np.eye(states)
        basis = constant_over_successors(self.transition) if self.plain else eye
        columns = np.concatenate((self.discount * self.transition - eye) @ basis)
        normal = basis.T @ basis + columns.T @ columns
        right = basis.T @ phi + columns.T @ (f - g).T.ravel()
        phi = basis @ np.linalg.solve(normal, right)
        return f - self.shaping(phi), phi


def discriminator(
    transition: Array, discount: float, state_only: bool, plain: bool
) -> Discriminator:
    """The class of f; T-hat (A, S, S)."""
    actions, states = transition.shape[:2]
    pair = np.arange(states * actions)
    share, columns = np.ones(len(pair)), eye_array(len(pair), format="csr")
    if state_only:
        following = np.swapaxes(transition, 0, 1).reshape(len(pair), states)
        if plain:
            cells = np.concatenate([following, ends(following)], axis=1)
            pair, after = np.nonzero(cells)
            share, following = cells[pair, after], np.eye(states + 1, states)[after]
        now = np.eye(states)[pair // actions]
        columns = hstack([csr_array(now), csr_array(discount * following)], format="csr")
    return Discriminator(pair, share, columns, transition, discount, state_only, plain)


def ends(rows: Array) -> Array:
    """(n, 1) probability that a path ends, from rows (n, S) of its moves."""
    missing = np.maximum(1.0 - rows.sum(axis=1, keepdims=True), 0.0)
    return np.asarray(missing * (missing > NO_END))


def constant_over_successors(transition: Array) -> Array:
    """(S, K) indicators of the sets over which h must be constant for beta h(s') not to vary.

    Plain f(s, a, s') does not depend on s' at the minimum. Where a path may end, h counts as 0
    there, and so it is 0 on the set that the end belongs to.
    """
    size = transition.shape[-1]
    rows = transition.reshape(-1, size)
    reached = np.concatenate([rows, ends(rows)], axis=1) > 0
    pair, state = np.nonzero(reached)
    lead = reached.argmax(axis=1)[pair]  # all successors of a pair join its first one
    links = csr_array((np.ones(len(pair)), (lead, state)), shape=(size + 1, size + 1))
    number, label = connected_components(links, directed=False)
    free = np.arange(number) != label[-1]
    return np.asarray((label[:-1, None] == np.arange(number)[free]).astype(float))


def relative(gradient: Array, weight: Array) -> float:
    """Largest gradient per row of its own cell: rare cells count as much as others."""
    return float(np.max(np.abs(gradient) / np.where(weight > 0, weight, 1.0)))


def expected_rows(paths: Blocks, flow: Array, total: float) -> Array:
    """(S,) expected visits of roll-outs, scaled to a total.

    With n_h the (S,) starts of paths of more than h periods the visits are sum_h (P')^h n_h, by
    Horner's rule: x -> n_h + P' x from the last period to the first, where n_h is constant over
    a block of periods, so that its repeats are composed in the logarithm of their number. `flow`
    (S, S) are the probabilities of the moves of a policy.
    """
    x = np.zeros(len(flow))
    for periods, starts in paths:
        shift, matrix = starts.astype(float), flow.T
        left = periods
        while left:
            if left % 2:
                x = shift + matrix @ x
            left //= 2
            if left:
                shift, matrix = shift + matrix @ shift, matrix @ matrix
    return np.asarray(x * (total / x.sum()))


def path_starts(data: Transitions, grid: Array) -> Blocks:
    """First states and lengths of the paths of a data set, as `expected_rows` takes them.

    A path that ended by itself is rolled out as long as the data set's longest one.
    """
    _, first, label, length = np.unique(
        data.trajectory, return_index=True, return_inverse=True, return_counts=True
    )
    ended = np.bincount(label.reshape(-1), weights=data.done, minlength=len(first)) > 0
    length[ended] = length.max()
    place = positions(grid, data.states[first])
    lengths = np.unique(length)[::-1]
    blocks = []
    for longest, following in zip(lengths, [*lengths[1:], 0], strict=True):
        starts = np.bincount(place[length >= longest], minlength=len(grid)).astype(float)
        blocks.append((int(longest - following), starts))
    return blocks
