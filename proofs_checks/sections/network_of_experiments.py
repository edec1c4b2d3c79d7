"""Assumption nonSingularJac (ii) for the network and the data of the paper's experiments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from gladius.checks import Array
from gladius.function_classes import MLP
from gladius.worlds.bus import BusEngine
from proofs_checks.claims import CheckResult, Control, Counterexample, claim
from proofs_checks.oracle.jacobian import evaluation_points, parameters

HIDDEN = (10, 10)


@dataclass(frozen=True)
class Run:
    """A data set of the bus engine and a random start of the 2 x 10 network, by number."""

    dummies: int
    trajectories: int
    number: int

    def data(self) -> tuple[Array, int]:
        """X_Q of the training trajectories (80 %), standardised, and M."""
        world = BusEngine(dummies=self.dummies)
        rng = np.random.default_rng([self.number, self.dummies])
        kept = world.simulate(max(1, self.trajectories * 4 // 5), rng)
        after = kept.next_states[kept.actions == world.anchor_action]
        states = np.unique(np.concatenate([kept.states, after]), axis=0)
        spread: Array = (states - states.mean(axis=0)) / states.std(axis=0)
        return spread, evaluation_points(kept.states, after, kept.number_of_actions)

    def rank(self, states: Array) -> tuple[int, int]:
        """Rank of J_Q on these states at the random start, by the library, and its rows."""
        network = MLP(1 + self.dummies, 2, HIDDEN)
        theta = network.init([np.random.default_rng([7, self.number])])
        rows = network.jacobian(theta, states)[1].reshape(-1, network.size)
        return int(np.linalg.matrix_rank(rows, tol=1e-12 * np.linalg.norm(rows))), len(rows)


RANKS = "ranks: singular values below 1e-12 of the norm are rounding"


def _by_counting(run: Run, actions: int = 2) -> CheckResult:
    states, points = run.data()
    size = parameters(1 + run.dummies, HIDDEN, 2)
    rank, rows = run.rank(states[: size // 2 + 1])
    return CheckResult(float(rank == rows), "==", float(points * actions / 2 <= size), 0.0, RANKS)


def more_parameters_than_points(run: Run) -> CheckResult:
    """(ii) needs as many parameters as evaluation points: on the paper's data it can hold for K = 0
    only (M <= 40 < 152 = d), where it does at a random tanh start; for K = 2 to 100 M exceeds d.

    Decided: J_Q has M rows and d = 10 K + 152 columns. Whether the library's Jacobian at a random
    start has full row rank (on as many states as show a deficient rank), against a count of
    parameters, distinct states and actions, on data sets as in the paper.
    """
    return _by_counting(run)


@claim(
    "exp.jacobian-condition",
    verdict="fails",
    instances=st.builds(Run, st.just(0), st.sampled_from([50, 250, 500, 1000]), st.integers(0, 99))
    | st.builds(Run, st.sampled_from([2, 5, 20, 50, 100]), st.just(50), st.integers(0, 99)),
    cost=20,
    counterexample=Counterexample(
        make=lambda: Run(2, 1000, 0),
        text="K = 2, 1,000 trajectories, 800 of them for training: over 3,600 distinct states, two"
        " outputs at each.\nThe network has 3 x 10 + 10 + 10 x 10 + 10 + 10 x 2 + 2 = 172"
        " parameters, so J J' has rank 172 at most.\nRank {observed:.0f} at a random start; (ii)"
        " needs {bound:,.0f}.",
    ),
    corrected=more_parameters_than_points,
    control=Control(
        broken="M counted as states, not as pairs of state and action",
        check=lambda run: _by_counting(run, actions=1),
        make=lambda: Run(2, 1, 0),
    ),
    inferred="the experiments of Section 7 follow the guarantees of Section 6, which assume it",
)
def condition_in_the_experiments(run: Run) -> CheckResult:
    """The network and data of the experiments satisfy Assumption nonSingularJac (ii), K = 0 to 100.

    Where: Section 7, "two hidden layers and 10 perceptrons for each hidden layer", with
    the guarantees of Section 6. The paper does not say that they satisfy it, nor that they do not.

    Assumes: one output of Q for each action; inputs standardised (raw ones make J_Q worse).

    Decided: by counting rows and columns. With the action as an input d is 10 K + 151, no better.
    For K = 0 the condition holds at a random tanh start, but a ball that contains a minimiser and
    its copies with hidden units permuted contains their mean, where J has rank 8 at most.
    """
    states, points = run.data()
    return CheckResult(run.rank(states)[0], "==", points, 0.0, RANKS)
