"""Linear semi-gradient temporal differences (Adusumilli and Eckardt 2019, version of 2025).

The limit of semi-gradient steps with basis functions phi(a, x) is the fixed point of the projected
recursion, found by one matrix solve: with phi' = phi(a', x') and means over SARSA tuples,

    h = z + phi'w,   w = E_n[phi (phi - beta phi')']^-1 E_n[phi beta z'],
    g = rr'xi,       xi = E_n[rr (rr - beta rr')']^-1 E_n[rr beta e'],

and theta maximises the pseudo-likelihood of softmax_a(h'theta + g). r = z'theta is read off.

Needs the form z of the reward, and next periods; no transition probabilities and no anchor.

What had to be decided, besides the list in td_ccp.py:

- phi and rr are one basis, in which every action has coefficients of its own and no feature is
  known to matter; the rule for its size stands in td_ccp.py. The authors' first-order polynomial is
  `basis="polynomial", degree=1`.
- w is that of h - z. Where the basis spans z (it does for the bus engine's form) h is the paper's,
  E_n[phi (phi - beta phi')']^-1 E_n[phi z]; elsewhere z is kept exact instead of projected.
- lambda has a closed form, phi'c with E_n[(phi - beta phi') phi'] c = E_n[phi psi], which needs no
  stationarity. With it E_n[lambda delta] = 0: the corrected theta is the plain one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gladius.anchor import Anchor, nearest
from gladius.baselines import td_ccp
from gladius.checks import Array, InputError, check_choice, check_whole
from gladius.estimate import Estimate, StateFunction
from gladius.linear_reward import LinearReward
from gladius.sarsa import SarsaTuples
from gladius.transitions import Transitions

TITLE, NEEDS = "Semi-gradient", ("next", "form")
BASES = ("auto", "one_hot", "polynomial")
LARGEST_ONE_HOT = 5_000  # pairs; the table of indicators is dense


def fit(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    *,
    reward: LinearReward | None = None,
    basis: str = "auto",
    degree: int = 2,
) -> list[Estimate]:
    """The linear semi-gradient estimator of each data set.

    Args:
        data: replications; rows of a trajectory in order of time.
        anchor: its reward must not contradict the form; used in the diagnostics besides.
        discount: beta.
        reward: the form, z and the known part of the reward.
        basis: auto, one_hot or polynomial; see td_ccp.py.
        degree: of a polynomial basis.

    Returns:
        One Estimate for each data set; `diagnostics.extra` holds theta, se, covariance and the
        basis (`learner`). `iterations` are the Newton steps of the second step.

    Raises:
        InputError: for bad options, or data in which no period follows another.
    """
    check_choice("basis", basis, BASES)
    check_whole("degree", degree, 1)
    rung = {"auto": None, "one_hot": td_ccp.ONE_HOT, "polynomial": ("polynomial", degree)}[basis]
    return td_ccp.two_step("semi_gradient", data, anchor, discount, reward, SemiGradient(), rung)


@dataclass(frozen=True)
class SemiGradient:
    """The closed form, as the learner of the first step."""

    def learn(self, problems: Sequence[td_ccp.Problem]) -> list[td_ccp.Learnt]:
        """One matrix solve for each data set."""
        learnt = []
        for problem in problems:
            basis, functions, system = projected(problem)
            target = problem.discount * problem.data.ahead(problem.gain)
            ahead = solve(basis, system, functions, problem, target)
            learnt.append(td_ccp.Learnt(ahead, True, 0, 0, td_ccp.rung_name(problem.rung)))
        return learnt

    def adjoints(
        self, problems: Sequence[td_ccp.Problem], sources: Sequence[Array]
    ) -> list[StateFunction]:
        """lambda of each data set from psi = (P, k) sources."""
        adjoints: list[StateFunction] = []
        for problem, source in zip(problems, sources, strict=True):
            basis, functions, system = projected(problem)
            adjoints.append(solve(basis, system.T, functions, problem, source))
        return adjoints


def projected(problem: td_ccp.Problem) -> tuple[Basis, Array, Array]:
    """The basis, its functions at the pairs (P, K), and E_n[phi (phi - beta phi')'], (K, K)."""
    basis = make_basis(problem.data, problem.rung)
    functions = at_pairs(basis, problem.data)
    difference = problem.data.follows @ functions  # (P, K) sums over the next pairs
    difference *= -problem.discount
    difference += problem.data.left[:, None] * functions
    return basis, functions, functions.T @ difference / problem.data.size


def solve(
    basis: Basis, system: Array, functions: Array, problem: td_ccp.Problem, values: Array
) -> StateFunction:
    """The combination with coefficients system^-1 E_n[phi values], for (P, c) values at the pairs.

    Least squares where rounding makes the system singular.
    """
    right = functions.T @ (problem.data.left[:, None] * values) / problem.data.size
    try:
        coefficients = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        coefficients = np.linalg.lstsq(system, right, rcond=None)[0]
    return partial(combination, basis, np.asarray(coefficients, dtype=np.float64))


# --- bases


Basis = tuple[StateFunction, ...]  # a block of functions (n, k_a) of the state for each action


def indicators(cells: Array, states: Array) -> Array:
    """(n, n_a) of the (n_a, d) states in which an action was taken, a single one in each row."""
    table = np.zeros((len(states), len(cells)))
    table[np.arange(len(states)), nearest(cells, states)] = 1.0
    return table


def polynomials(
    terms: tuple[tuple[int, ...], ...], low: Array, high: Array, transform: Array, states: Array
) -> Array:
    """(n, k_a) monomials of features scaled to [-1, 1], orthonormal in an action's own data.

    Beyond the range of the data a feature counts as at its end: polynomials must not extrapolate.
    """
    return np.asarray(td_ccp.monomials(states, low, high, terms) @ transform)


def combination(basis: Basis, coefficients: Array, states: Array) -> Array:
    """(n, A, c) values of a basis with (K, c) coefficients, the actions' blocks in turn."""
    blocks = [block(states) for block in basis]
    ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
    parts = zip(blocks, np.split(coefficients, ends), strict=True)
    return np.stack([block @ weights for block, weights in parts], axis=1)


def make_basis(data: SarsaTuples, rung: td_ccp.Rung) -> Basis:
    """The basis of a rung on the earlier pairs of the tuples.

    Raises:
        InputError: where an action is in no tuple, for nothing tells what follows it.
    """
    rows = [(data.left > 0) & (data.actions == a) for a in range(data.number_of_actions)]
    for action, taken in enumerate(rows):
        if not np.any(taken):
            hint = "it is never seen with what follows it, but its value is needed: add data"
            raise InputError("actions", action, hint)
    name, degree = rung
    if rung == td_ccp.ONE_HOT:
        cells = sum(int(taken.sum()) for taken in rows)
        if cells > LARGEST_ONE_HOT:
            hint = f"there are {cells} distinct pairs, too many for indicators: take a polynomial"
            raise InputError("basis", name, hint)
        return tuple(partial(indicators, data.states[taken]) for taken in rows)
    terms = td_ccp.terms_of(name, degree, data.states.shape[1])
    low, high = data.states.min(axis=0), data.states.max(axis=0)
    basis = []
    for taken in rows:
        raw = td_ccp.monomials(data.states[taken], low, high, terms)
        transform = td_ccp.orthonormal(raw, data.left[taken])
        basis.append(partial(polynomials, terms, low, high, transform))
    return tuple(basis)


def at_pairs(basis: Basis, data: SarsaTuples) -> Array:
    """(P, K) all functions of a basis at all pairs, zero in the blocks of other actions."""
    taken = data.actions[:, None] == np.arange(len(basis))
    return np.hstack([block(data.states) * taken[:, [a]] for a, block in enumerate(basis)])
