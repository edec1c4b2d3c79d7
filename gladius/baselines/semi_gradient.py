"""Linear semi-gradient temporal differences (Adusumilli and Eckardt 2019, version of 2025).

The limit of semi-gradient steps with basis functions phi(a, x) is the fixed point of the projected
recursion. One matrix solve finds it; with phi' = phi(a', x') and means over SARSA tuples,

    h = z + phi'w,   w  = E_n[phi (phi - beta phi')']^-1 E_n[phi beta z'],
    g = phi'xi,      xi = E_n[phi (phi - beta phi')']^-1 E_n[phi beta e'].

See td_ccp.py for theta and the implementation choices. Here h and g share one basis, in which every
action has coefficients of its own; the authors' first-order polynomial is `basis="polynomial",
degree=1`. Where the basis spans z, h is the paper's; elsewhere z is kept exact, not projected.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from gladius.baselines import td_ccp
from gladius.baselines.sarsa import SarsaTuples
from gladius.model.estimate import Estimate, StateFunction
from gladius.model.reward_form import LinearReward
from gladius.panel.anchor import Anchor, NearestState
from gladius.panel.record import Transitions
from gladius.solvers.newton import SINGULAR
from gladius.validate import Array, InputError, check_choice, check_whole

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
        reward: the form, z and the given part of the reward.
        basis: auto, one_hot or polynomial; see td_ccp.py.
        degree: of a polynomial basis.

    `extra` holds theta and the basis (`learner`). `iterations` are Newton steps of the second step.
    """
    check_choice("basis", basis, BASES)
    check_whole("degree", degree, 1)
    degrees = {"auto": None, "one_hot": td_ccp.ONE_HOT, "polynomial": degree}
    return td_ccp.two_step("semi_gradient", data, anchor, discount, reward, learn, degrees[basis])


def learn(recursions: Sequence[td_ccp.Recursion]) -> list[td_ccp.FirstStep]:
    """The first step of each data set, one matrix solve each."""
    return [projected_fixed_point(recursion) for recursion in recursions]


def projected_fixed_point(recursion: td_ccp.Recursion) -> td_ccp.FirstStep:
    """The solution of both projected recursions; least squares where the system is singular."""
    data, beta = recursion.data, recursion.discount
    basis = make_basis(recursion)
    functions = at_pairs(basis, data)
    difference = data.departures[:, None] * functions - beta * (data.successions @ functions)
    system = functions.T @ difference / data.size
    target = data.departures[:, None] * recursion.backup(0.0)
    right = functions.T @ target / data.size
    try:
        coefficients = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        coefficients = np.linalg.lstsq(system, right, rcond=SINGULAR)[0]
    continuation = partial(combination, basis, np.asarray(coefficients, dtype=np.float64))
    return td_ccp.FirstStep(continuation, True, 0, 0, td_ccp.basis_name(recursion.degree))


Basis = tuple[StateFunction, ...]  # for each action a block of functions of the state, (n, k_a)


def make_basis(recursion: td_ccp.Recursion) -> Basis:
    """The basis of a recursion, on the first pairs of its tuples.

    Raises:
        InputError: where an action is in no tuple, so that its value is not identified, or there
            are too many pairs for indicators.
    """
    data, degree = recursion.data, recursion.degree
    rows = [(data.departures > 0) & (data.actions == a) for a in range(data.number_of_actions)]
    for action, taken in enumerate(rows):
        if not np.any(taken):
            hint = "it is never seen with what follows it, but its value is needed: add data"
            raise InputError("actions", action, hint)
    if degree != td_ccp.ONE_HOT:
        states, weights = data.states, data.departures
        return tuple(td_ccp.make_powers(states, states[r], weights[r], degree) for r in rows)
    pairs = sum(int(taken.sum()) for taken in rows)
    if pairs > LARGEST_ONE_HOT:
        hint = f"there are {pairs} distinct pairs, too many for indicators: take a polynomial"
        raise InputError("basis", "one_hot", hint)
    return tuple(NearestState(data.states[r], np.eye(r.sum())) for r in rows)


def combination(basis: Basis, coefficients: Array, states: Array) -> Array:
    """(n, A, c) values of a basis with (K, c) coefficients, the blocks of the actions in turn."""
    blocks = [block(states) for block in basis]
    ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
    pairs = zip(blocks, np.split(coefficients, ends), strict=True)
    return np.stack([block @ weights for block, weights in pairs], axis=1)


def at_pairs(basis: Basis, data: SarsaTuples) -> Array:
    """(P, K) all functions of a basis at all pairs, zero in the blocks of other actions."""
    taken = data.actions[:, None] == np.arange(len(basis))
    return np.hstack([block(data.states) * taken[:, [a]] for a, block in enumerate(basis)])
