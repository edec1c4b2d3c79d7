"""CLARE, conservative model-based offline inverse RL (Yue et al. 2023), for a table of rewards.

Alternates, in a learned model of the moves, an entropy-regularised policy for the reward r with

    min_r  Z E_rho[r] - E_D[w r] - E_E[r] + eta Z mean(r^2),        Z = 1 + E_D[w],

where rho is what the policy visits in the model, E the expert's data, D all data (the expert's and,
ideally, other, diverse data) and the mean is over as many model as data points. The weights w tell
where the model is to be trusted: with c in [0, 1] the spread of an ensemble over its maximum,
w = -N/N_E at expert points with c > u, and what was taken off there is spread evenly over all
points with c < u. As coded (the authors' public code), n_large counts expert points, so E_D[w] = 0
and Z = 1 where any point is below u.

r is read off directly. For a table, with d the law of D, the reward step has the closed form
r = (rho_E + w d - Z rho) / (eta Z (rho + d)); with no more than the expert's data and w = 0

    r = (rho_E - rho) / (eta (rho_E + rho)),         so |r| <= 1/eta :

at eta = 1, the default, rewards of -1 to -10 are out of reach. Nothing anchors the level either: as
eta -> 0, r tends to the minimum-norm representative of the rewards with the expert's policy, which
is IQ-Learn's limit, not the truth.

Needs: beta and the law of s' (its frequencies, or given); no form, no anchor.

What had to be decided:
- Alternation: both steps solved exactly and iterated to a fixed point, of which there is exactly
  one (clare_fixed_point.py), in the place of 10 rounds of soft actor-critic and 5 reward steps with
  rate 5e-5: that stops far from anything that can be checked.
- Policy step: the soft Bellman equation at temperature 1, that of the logit agents. The code's term
  of .25 times the negative log-likelihood of the expert's actions supports a policy network; an
  exact step needs none, and it is left out.
- Occupancies are discounted, as in the theory: rho from the expert's first states, rho_E of the
  paths observed, scaled up for what lies beyond H (beta^H = .6 % at H = 100, beta = .95). The
  code's batches are undiscounted and its roll-outs are of 5 periods from the expert's states.
- The model: frequencies. The ensemble: 7 bootstrap samples of the transitions, all kept (the code
  drops the 2 worst of 7 networks, but a table of frequencies cannot fail to train).
- c: `disagreement` by default, the largest distance of an ensemble member's mean next state from
  the mean of them all (features over their range). The code's default is `aleatoric`, the spread of
  the next state itself, which takes noise for ignorance: on the bus engine every maintenance is
  noisy and no replacement is, so all of the expert's maintenance loses its weight.
- With a given law nothing is uncertain and w = 0; so it is with u = 1.
- Pairs never observed get -1/eta, the reward step's limit; states off the data take the nearest.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from gladius.anchor import Anchor, nearest
from gladius.baselines.clare_fixed_point import FixedPoint, Game, fixed_point
from gladius.baselines.clare_weights import KINDS, conservative, uncertainty
from gladius.baselines.discounted import Discounted, discounted
from gladius.checks import Array, InputError, check_finite, check_whole, generators
from gladius.estimate import Diagnostics, Estimate, StateFunction
from gladius.objective import grouped_risk
from gladius.parametric import Model, TableFunction, make_model, positions
from gladius.transition_probabilities import from_reward
from gladius.transitions import Transitions, group

TITLE, NEEDS = "Clare", ("next", "transitions")


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    eta: float = 1.0,
    u: float = 0.5,
    uncertainty_mode: str = "disagreement",
    models: int = 7,
    diverse: Sequence[Transitions] | None = None,
    transition: Array | None = None,
    grid: Array | None = None,
    start: TableFunction | None = None,
    rng: int | Sequence[np.random.Generator] = 0,
    tolerance: float = 1e-8,
    max_iterations: int = 500,
) -> list[Estimate]:
    """CLARE of each data set, all in one batch.

    Args:
        data: replications of the expert's data; the rows of a trajectory in order of time.
        anchor: not used by the method; the Bellman error of its rows is reported.
        discount: beta.
        eta: of the regulariser on r.
        u: threshold of the uncertainty, in [0, 1].
        uncertainty_mode: disagreement or aleatoric.
        models: bootstrap samples in the ensemble, at least 2.
        diverse: other data, one data set for each of the expert's; by default none.
        transition: (A, S, S) the true law over `grid`, an oracle's knowledge; a row loses the
            probability of an end.
        grid: (S, d) features of the states that `transition` is about.
        start: maps (n, d) features to the first rewards (n, A); by default 0.
        rng: a seed, or one generator for each data set, for the ensemble.
        tolerance: on the largest |r - t(r)|, in units of reward.
        max_iterations: Newton steps.

    Returns:
        One Estimate for each data set; `diagnostics.gradient_norm` is the residual, `extra` holds
        objective (the reward step's), inner_iterations, occupancy_gap (total variation between rho
        and rho_E), weighted_share (of the expert's mass at c > u).

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    started = time.process_time()
    _check(eta, u, uncertainty_mode, models, tolerance, max_iterations)
    rngs = generators(rng, len(data))
    everything = _joined(data, diverse)
    actions = data[0].number_of_actions
    model = make_model(
        everything,
        anchor,
        discount,
        transition=transition,
        grid=grid,
        design=lambda states: np.zeros((len(states), actions, 1)),  # a table has no form
    )
    paths = discounted(data, model.states, model.discount)
    expert = masses(paths, model.discount)
    law_of_data = expert
    if diverse is not None:
        others = masses(discounted(diverse, model.states, model.discount), model.discount)
        share = np.array([len(e) / len(a) for e, a in zip(data, everything, strict=True)])
        law_of_data = expert * share[:, None, None] + others * (1 - share)[:, None, None]
    spread = np.zeros_like(expert)
    if not model.known:
        spread = uncertainty(model.counts, uncertainty_mode, models, rngs)
    weighted, scale = conservative(expert, law_of_data, spread, u)
    game = Game(expert + weighted, law_of_data, scale, paths.first, model.law, model.discount, eta)
    found = fixed_point(game, _start(start, model), tolerance, max_iterations)
    extra = [
        {
            "objective": float(loss),
            "inner_iterations": int(inner),
            "occupancy_gap": float(np.abs(rho - seen).sum() / 2),
            "weighted_share": float(np.sum(seen * (c > u)) / seen.sum()),
        }
        for loss, inner, rho, seen, c in zip(
            game.loss(found.reward, found.rho),
            found.inner_iterations,
            found.rho,
            expert,
            spread,
            strict=True,
        )
    ]
    seconds = (time.process_time() - started) / len(data)
    return _estimates(data, model, found, extra, seconds)


def masses(paths: Discounted, discount: float) -> Array:
    """(R, S, A) discounted state-action law of the paths, as if they went on as they were.

    It sums to one where no path is done; a path that is done has no mass beyond its end.
    """
    observed = paths.visits.sum(axis=(1, 2))
    missing = paths.last.sum(axis=1) / (1 - discount)
    factor = (1 - discount) * (observed + missing) / observed
    return np.asarray(paths.visits * factor[:, None, None])


def _estimates(
    data: Sequence[Transitions],
    model: Model,
    found: FixedPoint,
    extra: Sequence[dict[str, float]],
    seconds: float,
) -> list[Estimate]:
    beta = model.discount
    counts = group(data)
    at = positions(model.states, counts.states)
    q = found.reward + beta * np.einsum("raij,rj->ria", model.laws, found.v)
    given = model.anchor.values(counts.states)
    risk = grouped_risk(q[:, at], counts, model.anchor.action, given, beta)
    estimates = []
    for r in range(len(data)):
        diagnostics = Diagnostics(
            converged=bool(found.converged[r]),
            iterations=int(found.iterations[r]),
            gradient_norm=float(found.residual[r]),
            nll=float(risk.nll[r]),
            bellman_error=float(risk.bellman[r]),
            cpu_seconds=seconds,
            status="ok" if found.converged[r] else "not_converged",
            extra=extra[r],
        )
        present = model.p_hat.present
        own = np.ones(len(model.states), dtype=bool) if present is None else present[r]
        reward = _Nearest(model.states[own], found.reward[r, own])
        q_function, _ = from_reward(reward, found.v[r], model.p_hat, 0 if model.known else r, beta)
        if model.known:
            q_function = _on_grid(q_function, model.states)
        estimates.append(Estimate("clare", q_function, reward, model.states.shape[1], diagnostics))
    return estimates


class _Nearest:
    """A table's row of the nearest state."""

    def __init__(self, states: Array, table: Array) -> None:
        self.states, self.table = states, table

    def __call__(self, states: Array) -> Array:
        return np.asarray(self.table[nearest(self.states, states)])


def _on_grid(function: StateFunction, grid: Array) -> StateFunction:
    """The function, where the given law says something."""

    def checked(states: Array) -> Array:
        positions(grid, states)
        return function(states)

    return checked


def _joined(
    data: Sequence[Transitions], diverse: Sequence[Transitions] | None
) -> list[Transitions]:
    """Each data set with its diverse data behind it."""
    if diverse is None:
        return list(data)
    if len(diverse) != len(data) or not all(isinstance(d, Transitions) for d in diverse):
        raise InputError("diverse", len(diverse), f"give {len(data)} data sets, one for each")
    joined = []
    for own, other in zip(data, diverse, strict=True):
        if other.states.shape[1] != own.states.shape[1]:
            hint = f"the expert's data have {own.states.shape[1]} features"
            raise InputError("diverse", other.states.shape, hint)
        if other.number_of_actions != own.number_of_actions:
            hint = f"the expert's data have {own.number_of_actions} actions"
            raise InputError("diverse", other.number_of_actions, hint)
        joined.append(
            Transitions(
                np.concatenate([own.states, other.states]),
                np.concatenate([own.actions, other.actions]),
                np.concatenate([own.next_states, other.next_states]),
                done=np.concatenate([own.done, other.done]),
                number_of_actions=own.number_of_actions,
            )
        )
    return joined


def _start(start: TableFunction | None, model: Model) -> Array:
    if start is None:
        return np.zeros(model.visits.shape)
    first = check_finite("start", start(model.states))
    if first.shape != model.visits.shape[1:]:
        raise InputError("start", first.shape, f"return shape {model.visits.shape[1:]}")
    return np.array(np.broadcast_to(first, model.visits.shape))


def _check(
    eta: float, u: float, mode: str, models: int, tolerance: float, max_iterations: int
) -> None:
    if check_finite("eta", eta).shape != () or not eta > 0:
        raise InputError("eta", eta, "give a positive number")
    if check_finite("u", u).shape != () or not 0 <= u <= 1:
        raise InputError("u", u, "give a number from 0 to 1")
    if mode not in KINDS:
        raise InputError("uncertainty_mode", mode, f"choose one of {KINDS}")
    check_whole("models", models, 2)
    if check_finite("tolerance", tolerance).shape != () or not tolerance > 0:
        raise InputError("tolerance", tolerance, "give a positive number")
    check_whole("max_iterations", max_iterations, 1)
