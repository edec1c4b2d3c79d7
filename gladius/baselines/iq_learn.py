"""IQ-Learn (Garg et al. 2021), offline with the chi-square penalty: one Q, no anchor, no law.

The original maximises over Q, with V = log sum_a exp Q, phi(x) = x - x^2/(4 alpha) and the expert's
data D,  E_D[phi(Q(s, a) - beta E V(s'))] - E_D[V(s) - beta V(s')], that is

    min_Q  E_D[V(s) - Q(s, a)] + (1/(4 alpha)) E_D[(Q(s, a) - beta E[V(s') | s, a])^2]:

the negative log-likelihood plus an L2 penalty on the reward that Q implies. Without the penalty it
is behavioural cloning. The reward is read off by the inverse Bellman operator, r = Q - beta V(s'),
averaged over the observed s' of a pair. Q solves the Bellman equation of that r exactly, whatever Q
is, so nothing about the truth follows: shaping r by any c(s) - beta E c(s') leaves the choices as
they are, and the penalty takes the smallest such reward. No anchor enters; a true reward of -1 to
-10 is out of reach, and MAPE stays near the 100 of r = 0.

Two classes:

    table     Q free in every state that occurs, Newton's method (iq_learn_newton). Cost free of N.
    network   Adam on rows (iq_learn_network), for states that do not repeat, dummies say.

Two targets:

    sampled   (Q - beta V(s'))^2 row by row, as in the original's code; it adds the conditional
              variance, beta^2 Var V / (4 alpha). Only observed s' enter: no transition law is
              formed, in either class (the table adds rows up by their counts).
    mean      (Q - beta mean V(s'))^2, as in the original's formula. The mean is over the s'
              observed after the pair, so the frequencies n(s, a, s')/n(s, a), an empirical law, are
              formed for the penalty. Only in the table, for it needs pairs that repeat.

Needs: nothing but the data. What had to be decided:

- Temperature 1 and the given discount, as in the model (the original: .01 or .001, and .99).
- alpha = .5 is the original's. With alpha the policy tends to behavioural cloning's and r to the
  smallest reward of that policy; as alpha falls to 0 so does r, and the policy is biased.
- The original has its objective concave in Q (Proposition 3.5). With the softmax of Q as the
  policy this needs a non-decreasing phi, which x - x^2/(4 alpha) is not past 2 alpha: where rewards
  exceed 2 alpha the objective can bend the wrong way (an example is among the tests). The table's
  solver allows for it; `extra["global_minimum"]` says whether the proof that the point found is the
  global minimum went through, `extra["flat_directions"]` how many levels of Q the rows leave open,
  which then stay at the start's (see iq_learn_newton).
- `pseudo_count`, 1/2 (Jeffreys) in the likelihood of each cell of the table, not in the penalty: a
  pair never seen would send Q to minus infinity. Data without such cells can have 0.
- Pairs never seen have no s' of their own: they take the mean V(s') of the nearest state where the
  action was, and states never seen the Q of the nearest one that was.
- `start`, the spread of a random start of the table, is for showing that the start does not matter.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gladius.anchor import Anchor, nearest
from gladius.baselines.bc import negative_log_likelihood, read_off
from gladius.baselines.iq_learn_network import Training, train
from gladius.baselines.iq_learn_newton import TARGETS, certificate, make_problem, minimise
from gladius.checks import Array, InputError, check_whole, generators
from gladius.estimate import Diagnostics, Estimate, StateFunction
from gladius.mdp import check_discount
from gladius.transitions import Counts, Integers, Transitions, group

TITLE, NEEDS = "IQ-Learn", ("next",)

CLASSES = ("table", "network")


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    function_class: str = "table",
    target: str | None = None,
    alpha: float = 0.5,
    pseudo_count: float = 0.5,
    start: float = 0.0,
    rng: int | Sequence[np.random.Generator] = 0,
    tolerance: float = 1e-8,
    max_iterations: int = 200,
    training: Training | None = None,
) -> list[Estimate]:
    """IQ-Learn on each data set.

    Args:
        data: replications.
        anchor: not used by the method; the Bellman error of its rows is reported.
        discount: beta.
        function_class: one of CLASSES.
        target: "mean" or "sampled"; by default the table's is "mean", the network's "sampled".
        alpha: the penalty's weight is 1/(4 alpha).
        pseudo_count: table only; added to n(s, a) in the likelihood.
        start: table only; standard deviation of normal draws added to the starting table, the
            log-frequencies of the choices.
        rng: a seed, or one generator for each data set, for the start or for the network.
        tolerance: table only; of Q at convergence, see `iq_learn_newton.minimise`.
        max_iterations: table only; Newton steps.
        training: network only; by default `Training()`.

    Raises:
        InputError: for a bad option; for the table where states are too many to count.
    """
    started = time.process_time()
    discount = check_discount(discount)
    if function_class not in CLASSES:
        raise InputError("function_class", function_class, f"choose one of {CLASSES}")
    if target is None:
        target = "mean" if function_class == "table" else "sampled"
    if target not in TARGETS:
        raise InputError("target", target, f"choose one of {TARGETS}")
    for name, number in [("alpha", alpha), ("tolerance", tolerance)]:
        _check_number(name, number, positive=True)
    for name, number in [("pseudo_count", pseudo_count), ("start", start)]:
        _check_number(name, number, positive=False)
    check_whole("max_iterations", max_iterations, 1)
    rngs = generators(rng, len(data))
    if function_class == "table":
        if training is not None:
            raise InputError("training", training, "the table takes none: function_class='network'")
        fits = _table(
            data, discount, target, alpha, pseudo_count, start, rngs, tolerance, max_iterations
        )
    else:
        if target == "mean":
            raise InputError("target", target, "a network sees rows, not pairs: give 'sampled'")
        if training is not None and not isinstance(training, Training):
            raise InputError("training", training, "give a Training")
        fits = _network(data, discount, alpha, training or Training(), rngs)
    functions = [
        read_off(one.q, rows, discount, "network") for one, rows in zip(fits, data, strict=True)
    ]
    seconds = (time.process_time() - started) / len(data)
    label = f"iq_learn[{function_class}, {target}]"
    settings = {"alpha": float(alpha), "target": target, "inner_iterations": 0}
    estimates = []
    for one, rows, (q, reward) in zip(fits, data, functions, strict=True):
        anchored = rows.states[rows.actions == anchor.action]
        error = reward(anchored)[:, anchor.action] - anchor.values(anchored)
        diagnostics = Diagnostics(
            converged=one.converged,
            iterations=one.iterations,
            gradient_norm=one.gradient_norm,
            nll=_nll(q, rows),
            bellman_error=float(error @ error / len(rows)),
            cpu_seconds=seconds,
            status=_status(one),
            extra={**settings, **one.extra, "objective": one.objective},
        )
        estimates.append(Estimate(label, q, reward, rows.states.shape[1], diagnostics))
    return estimates


@dataclass(frozen=True)
class _Fitted:
    """One replication's Q and how it was found, in either class."""

    q: StateFunction
    converged: bool
    iterations: int
    gradient_norm: float
    objective: float
    extra: dict[str, object]


def _table(
    data: Sequence[Transitions],
    discount: float,
    target: str,
    alpha: float,
    pseudo_count: float,
    start: float,
    rngs: Sequence[np.random.Generator],
    tolerance: float,
    max_iterations: int,
) -> list[_Fitted]:
    counts = _group(data)
    problem = make_problem(counts, alpha, discount, target, pseudo_count)
    q = _start(counts, problem.choices, start, rngs)
    found = minimise(problem, q, tolerance, max_iterations)
    proven = certificate(problem, found.q) & found.converged
    fits = []
    for r, present in enumerate(counts.present):
        fits.append(
            _Fitted(
                _Lookup(counts.states[present], found.q[r, present], counts.seen[r, present] > 0),
                bool(found.converged[r]),
                int(found.iterations[r]),
                float(found.gradient_norm[r]),
                float(found.objective[r]),
                {
                    "pseudo_count": float(pseudo_count),
                    "newton_step": float(found.step[r]),
                    "global_minimum": bool(proven[r]),
                    "flat_directions": int(found.flat[r]),
                },
            )
        )
    return fits


def _group(data: Sequence[Transitions]) -> Counts:
    """The counts, or an error that says which class does without them."""
    try:
        return group(data)
    except InputError as error:
        if error.field != "states":
            raise
        hint = "too many to count: function_class='network', or coarsen the features"
        raise InputError("states", error.value, hint) from None


def _start(
    counts: Counts, choices: Array, spread: float, rngs: Sequence[np.random.Generator]
) -> Array:
    """log-frequencies with V = 0, plus noise of each replication's own in its own states."""
    cells = choices + (~counts.present)[..., None]  # padding: uniform choices, read by no one
    q: Array = np.log(cells / cells.sum(axis=2, keepdims=True))
    if spread:
        for r, (own, generator) in enumerate(zip(counts.present, rngs, strict=True)):
            q[r, own] += spread * generator.normal(size=q[r, own].shape)
    return q


@dataclass(frozen=True)
class _Lookup:
    """Q of known states; of any other, that of the nearest state that was seen as the current one.

    States that were only reached, at the end of a path, have Q of their own for V(s'), but no
    choices to pass on.
    """

    states: Array
    table: Array
    seen: Integers

    def __call__(self, states: Array) -> Array:
        at = nearest(self.states, states)
        unknown = np.any(self.states[at] != states, axis=1)
        if np.any(unknown):
            lenders = np.flatnonzero(self.seen)
            at[unknown] = lenders[nearest(self.states[lenders], states[unknown])]
        return self.table[at]


def _network(
    data: Sequence[Transitions],
    discount: float,
    alpha: float,
    training: Training,
    rngs: Sequence[np.random.Generator],
) -> list[_Fitted]:
    fitted, outcomes = train(data, discount, alpha, training, rngs)
    return [
        _Fitted(
            network,
            one.converged,
            one.steps,
            one.gradient_norm,
            one.objective,
            {"training": training},
        )
        for network, one in zip(fitted, outcomes, strict=True)
    ]


def _status(one: _Fitted) -> str:
    if not np.isfinite(one.objective):
        return "diverged"
    return "ok" if one.converged else "not_converged"


def _nll(q: StateFunction, data: Transitions) -> float:
    pairs = data.pairs()
    choices = np.zeros((len(pairs.actions), data.number_of_actions))
    choices[np.arange(len(pairs.actions)), pairs.actions] = pairs.weights
    return negative_log_likelihood(q(pairs.states), choices)


def _check_number(name: str, value: float, positive: bool) -> None:
    least = "a finite number above 0" if positive else "a finite number of at least 0"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InputError(name, value, f"give {least}")
    if not 0 <= value < np.inf or (positive and value == 0):
        raise InputError(name, value, f"give {least}")
