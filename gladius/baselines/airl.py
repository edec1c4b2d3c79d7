"""Model-enhanced AIRL (Zhan et al. 2024) and plain AIRL (Fu, Luo and Levine 2018), tabular.

Adversarial inverse reinforcement learning. A discriminator D = exp f / (exp f + pi) learns to tell
the data from roll-outs of a generator pi, by minimising -E_data[ln D] - E_rollouts[ln(1 - D)]; the
generator is paid ln D - ln(1 - D) = f - ln pi, so it is the soft-optimal policy for the reward f.

    model-enhanced   f(s, a)     = g(s, a) + beta E_T-hat[phi(s') | s, a] - phi(s)
    plain            f(s, a, s') = g(s, a) + beta h(s') - h(s)

The reward is read off as g. At the optimum f = ln pi_E, the expert's log choice probabilities, and
for the model-enhanced f any phi whatever fits: g = ln pi_E + phi - beta E[phi]. Which of them comes
out is decided by the start of the optimiser and nothing in the data (`start_spread`). For plain
AIRL f cannot vary with s', so h is constant over overlapping successors and g is the advantage
ln pi_E up to a few constants. Neither is the reward: Fu et al. show recovery up to a constant for
deterministic laws with a state-only reward alone. `anchored=True` is a different, identified
estimator: it fixes g(., anchor) at the anchor's reward, which leaves one phi (V*) and one g (r).

Needs: a law of the moves, estimated by frequencies (transition_probabilities.py) or given; roll-outs, here in T-hat;
no form of r; no anchor unless `anchored`.

What had to be decided (the originals are on-line, with networks; the text of the model-enhanced one
was not at hand, its f follows its abstract, its hyper-parameters are not known here):

- Tables in place of networks, the same for g, phi and T-hat; no weight decay, no clipping.
- Whole roll-outs: one for each path of the data, from its first state and as long (as the longest
  path where it ended by itself), their expected counts computed exactly in T-hat, then scaled to
  as many rows as the data have. `horizon=k`: k periods from every observed state instead;
  with k = 1 the states are the data's and f = ln pi-hat at once.
- Rows count alike in both classes (no beta^t), as in the code of the original.
- `pseudo_count` rows are added to every (s, a) of the data, and as many rows in each state, chosen
  by the generator's policy, to the roll-outs. An unseen action would else have no finite
  minimiser f. As the classes get as much each, nothing is biased at the point where they match.
- The alternation: generator exactly soft-optimal for f, discriminator exactly minimised against it,
  f moved a share of the way to that minimiser: 1/2 at most, halved when the gradient grew (the
  original takes few gradient steps, and keeps roll-outs of old generators, to the same end).
- Converged: with the generator soft-optimal for f (Bellman residual 1e-12), the discriminator's
  gradient at the very roll-outs of that generator is below `tolerance` in every cell, relative
  to the rows there. So neither side has anything left to gain.
- (g, phi) is what gradient steps from the start would reach (airl_discriminator.py); start: zero.
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
from numpy.typing import NDArray

from gladius.anchor import Anchor, check_anchor_support, nearest
from gladius.baselines.airl_discriminator import Discriminator, Rows, Tabular
from gladius.baselines.airl_game import Blocks, Game, expected_rows, path_starts, play
from gladius.baselines.airl_state_only import StateOnly
from gladius.baselines.plug_in import choice_frequencies
from gladius.checks import Array, InputError, check_finite, check_whole, generators
from gladius.estimate import Diagnostics, Estimate, StateFunction
from gladius.objective import grouped_risk
from gladius.parametric import Model, make_model, positions
from gladius.transition_probabilities import from_choices, from_reward
from gladius.transitions import Counts, Integers, Transitions

TITLE, NEEDS = "Model-enhanced AIRL", ("next", "transitions")


@dataclass(frozen=True)
class AirlFit:
    """The adversarial fixed point of R replications.

    Attributes:
        f: (R, S, A) the discriminator's f, its mean over s' under T-hat if plain.
        g, phi: (R, S, A), (R, S) its parts; phi is h if plain.
        q, v: (R, S, A), (R, S) of the reward g in T-hat; softmax(q) is the generator.
        rows: what the discriminator saw last.
        residual: (R,) what `tolerance` is about; gradient: (R,) largest entry, per row.
        objective: (R,) the cross-entropy. occupancy_tv, log_policy_gap: (R,), see the module.
        iterations, inner_iterations: (R,) rounds of the game; steps of the generator's planning
            and of the discriminator.
        converged: (R,).
        status: R times ok, not_converged or diverged.
    """

    f: Array
    g: Array
    phi: Array
    q: Array
    v: Array
    rows: Rows
    residual: Array
    gradient: Array
    objective: Array
    occupancy_tv: Array
    log_policy_gap: Array
    iterations: Integers
    inner_iterations: Integers
    converged: NDArray[np.bool_]
    status: tuple[str, ...]


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    transition: Array | None = None,
    grid: Array | None = None,
    state_only: bool = False,
    plain: bool = False,
    anchored: bool = False,
    pseudo_count: float = 0.5,
    horizon: int | None = None,
    start_spread: float = 0.0,
    rng: int | Sequence[np.random.Generator] = 0,
    tolerance: float = 1e-9,
    max_iterations: int = 2000,
) -> list[Estimate]:
    """AIRL on each data set, all in one batch.

    Args:
        data: replications.
        anchor: used by the fit only if `anchored`; its Bellman error is reported.
        discount: beta.
        transition: (A, S, S) the true law over `grid`, an oracle's knowledge; a row loses the
            probability of an end. By default T-hat is the frequencies of each data set.
        grid: (S, d) features of the states that `transition` is about; Q is defined there only,
            g elsewhere is that of the nearest of them.
        state_only: g(s) in place of g(s, a).
        plain: shape with h(s') at the successor met, without a model (AIRL of 2018).
        anchored: g(., anchor) = the anchor's reward. Not AIRL as published: it identifies r.
        pseudo_count: rows added to every (s, a) of the data, see the module.
        horizon: periods of a roll-out from each observed state; None: the paths of the data.
        start_spread: standard deviation of normal draws where g and phi start; 0: at zero.
        rng: of those draws: a seed, or one generator for each data set.
        tolerance: on the discriminator's relative gradient against its own generator.
        max_iterations: rounds of the game.

    Raises:
        InputError: for options that do not fit together or do not fit the data.
    """
    started = time.process_time()
    _check(anchored, state_only, plain, tolerance, max_iterations)
    rngs = generators(rng, len(data))
    if float(check_finite("start_spread", start_spread)) < 0:
        raise InputError("start_spread", start_spread, "give a number, 0 or more")
    actions = data[0].number_of_actions
    model = make_model(
        data,
        anchor,
        discount,
        transition=transition,
        grid=grid,
        design=lambda states: np.zeros((len(states), actions, 1)),  # only counts and law are used
    )
    if anchored and not model.known:
        check_anchor_support(model.counts, anchor.action)
    if horizon is not None:
        check_whole("horizon", horizon, 1)
    paths = path_starts(data, model.states) if horizon is None else None
    present = model.p_hat.present
    if present is None:
        present = np.ones(model.visits.shape[:2], dtype=bool)
    found = fit_counts(
        model.states,
        model.visits,
        model.laws,
        [(horizon or 1, model.visits.sum(axis=2))] if paths is None else paths,
        model.discount,
        present=present,
        state_only=state_only,
        plain=plain,
        anchor=anchor if anchored else None,
        pseudo_count=pseudo_count,
        start=_starts(rngs, present, model.visits.shape[2], start_spread),
        tolerance=tolerance,
        max_iterations=max_iterations,
    )
    name = ["airl", *(["plain"] * plain + ["state_only"] * state_only + ["anchored"] * anchored)]
    seconds = (time.process_time() - started) / len(data)
    return _estimates("_".join(name), model, found, present, anchored, seconds)


def fit_counts(
    states: Array,
    visits: Array,
    law: Array,
    paths: Blocks,
    discount: float,
    *,
    present: NDArray[np.bool_] | None = None,
    state_only: bool = False,
    plain: bool = False,
    anchor: Anchor | None = None,
    pseudo_count: float = 0.5,
    start: tuple[Array, Array] | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 2000,
) -> AirlFit:
    """The fixed point from counts.

    Args:
        states: (S, d) features.
        visits: (R, S, A) rows of the data.
        law: (R, A, S, S) T-hat.
        paths: what the roll-outs are: see `expected_rows`.
        discount: beta.
        present: (R, S) states that a replication holds; by default all.
        anchor: for the anchored form.
        start: g (R, S, A) and phi (R, S); by default zero.
        The rest as in `fit`.
    """
    _check(anchor is not None, state_only, plain, tolerance, max_iterations)
    own = np.ones(visits.shape[:2], dtype=bool) if present is None else present
    log_expert = np.log(choice_frequencies(Counts(states, visits, law[..., :0]), pseudo_count))
    seen, extra = visits.sum(axis=2), visits.shape[2] * pseudo_count * own
    if pseudo_count == 0:
        anyhow = expected_rows(paths, law.mean(axis=1), seen.sum(axis=1))
        lonely = own & ((seen == 0) | (anyhow == 0))
        if np.any(lonely):
            where = states[np.argwhere(lonely)[0, 1]].tolist()
            hint = f"state {where} is only in the data or only in roll-outs: give a positive number"
            raise InputError("pseudo_count", pseudo_count, hint)
    expert = (seen + extra)[..., None] * np.exp(log_expert)
    given = None if anchor is None else (anchor.action, anchor.values(states))
    side: Discriminator
    if state_only:
        side = StateOnly(law, own, discount, plain)
    else:
        side = Tabular(law, own, discount, plain, given)
    g, phi = start or (np.zeros(visits.shape), np.zeros(own.shape))
    game = Game(side, law, expert, extra, paths, discount)
    end = play(game, side.start(g, phi), tolerance, max_iterations)
    g, phi = side.split(end.parameters, g, phi)
    v = end.v + phi  # shaping by phi shifts the value by it
    gap = np.abs(end.rows.log_policy - log_expert).max(axis=2)
    rolled = (end.rows.rolled - extra)[..., None] * np.exp(end.rows.log_policy)
    data = seen[..., None] * np.exp(log_expert)
    fine = zip(end.converged, np.isfinite(end.residual), strict=True)
    return AirlFit(
        f=side.reward(end.parameters),
        g=g,
        phi=phi,
        q=g + discount * np.einsum("raij,rj->ria", law, v),
        v=v,
        rows=end.rows,
        residual=end.residual,
        gradient=end.gradient,
        objective=side.cross_entropy(end.parameters, end.rows),
        occupancy_tv=np.abs(data - rolled).sum(axis=(1, 2)) / (2 * seen.sum(axis=1)),
        log_policy_gap=(gap * (seen > 0)).max(axis=1),
        iterations=end.iterations,
        inner_iterations=end.inner_iterations,
        converged=end.converged,
        status=tuple("ok" if c else "not_converged" if f else "diverged" for c, f in fine),
    )


def _check(
    anchored: bool, state_only: bool, plain: bool, tolerance: float, max_iterations: int
) -> None:
    if anchored and (state_only or plain):
        clash = "state_only" if state_only else "plain"
        raise InputError("anchored", True, f"the anchored form has no {clash} version")
    if not float(check_finite("tolerance", tolerance)) > 0:
        raise InputError("tolerance", tolerance, "give a positive number")
    check_whole("max_iterations", max_iterations, 1)


def _starts(
    rngs: Sequence[np.random.Generator], present: NDArray[np.bool_], actions: int, spread: float
) -> tuple[Array, Array]:
    """g (R, S, A) and phi (R, S), each replication's from its own generator and own states."""
    g, phi = np.zeros((*present.shape, actions)), np.zeros(present.shape)
    for r, (rng, own) in enumerate(zip(rngs, present, strict=True)):
        g[r, own] = spread * rng.standard_normal((own.sum(), actions))
        phi[r, own] = spread * rng.standard_normal(own.sum())
    return g, phi


def _estimates(
    name: str,
    model: Model,
    found: AirlFit,
    present: NDArray[np.bool_],
    identified: bool,
    seconds: float,
) -> list[Estimate]:
    given, beta = model.anchor.values(model.counts.states), model.discount
    risk = grouped_risk(found.q[:, model.at], model.counts, model.anchor.action, given, beta)
    estimates = []
    for r, own in enumerate(present):
        extra = {
            name: getattr(found, name)[r].item()
            for name in ("inner_iterations", "objective", "occupancy_tv", "log_policy_gap")
        }
        diagnostics = Diagnostics(
            converged=bool(found.converged[r]),
            iterations=int(found.iterations[r]),
            gradient_norm=float(found.gradient[r]),
            nll=float(risk.nll[r]),
            bellman_error=float(risk.bellman[r]),
            cpu_seconds=seconds,
            status=found.status[r],
            extra={
                **extra,
                "states": model.states[own],
                "g": found.g[r, own],
                "phi": found.phi[r, own],
            },
        )
        functions = _functions(model, found, r, own, identified)
        estimates.append(Estimate(name, *functions, model.states.shape[1], diagnostics))
    return estimates


def _functions(
    model: Model, found: AirlFit, r: int, own: NDArray[np.bool_], identified: bool
) -> tuple[StateFunction, StateFunction]:
    """(Q, r) of any features: tables of the nearest state, carried on by the Bellman equation."""
    place, beta, v = 0 if model.known else r, model.discount, found.v[r]
    held = model.states[own]

    def table(values: Array) -> StateFunction:
        return lambda states: np.asarray(values[own][nearest(held, states)])

    if identified and not model.known:
        action = model.anchor.action
        advantage = table(found.q[r] - found.q[r][:, [action]])
        return from_choices(advantage, v, model.p_hat, place, model.anchor, beta)
    reward = table(found.g[r])
    q, _ = from_reward(reward, v, model.p_hat, place, beta)

    def on_grid(states: Array) -> Array:
        positions(model.states, states)
        return q(states)

    return on_grid if model.known else q, reward
