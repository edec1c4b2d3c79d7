"""Assumption nonSingularJac: how it compares with full column rank; classes linear in features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gladius.checks import Array
from gladius.function_classes import Linear
from proofs_checks.claims import (
    CheckResult,
    Control,
    Counterexample,
    assume_stated,
    claim,
    worst,
)
from proofs_checks.oracle.jacobian import (
    gram_below,
    least_response,
    rank,
    smallest_eigenvalue,
)

# --- full column rank against full row rank
SMALL = st.integers(-2, 2).map(float)


@dataclass(frozen=True)
class LinearClass:
    """Q_theta(s, a) = theta_a' x(s): features x (n, w) of the states S, and which are in X_Q."""

    features: Array
    visited: tuple[bool, ...]
    actions: int

    @property
    def gradients(self) -> Array:
        """(n A, d_theta) over S x A, by the library."""
        family = Linear(self.features.shape[1], self.actions)
        rows = family.jacobian(np.zeros((1, family.size)), self.features)[1]
        flat: Array = rows.reshape(-1, family.size)
        return flat

    @property
    def empirical(self) -> Array:
        """J_Q(theta; Z_Q), (M, d_theta)."""
        rows: Array = self.gradients[np.repeat(self.visited, self.actions)]
        return rows


@st.composite
def linear_classes(draw: st.DrawFn) -> LinearClass:
    states, width = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    visited = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    visited[0] = True  # a data set visits some state
    features = draw(arrays(np.float64, (states, width), elements=SMALL))
    return LinearClass(features, tuple(visited), draw(st.integers(1, 2)))


def _least_kernel_eigenvalue(rows: Array) -> float:
    return float(np.linalg.eigvalsh(rows @ rows.T)[0])


FLOOR = 1e-9  # least eigenvalues of the drawn whole-number matrices are 0 or above 1e-4


def _agree(quantity: float, exact: bool) -> CheckResult:
    """Whether a quantity is positive exactly where elimination says so."""
    reason = "yes or no: the quantities of whole-number matrices are 0 to rounding or above 1e-4"
    return CheckResult(float(quantity > FLOOR), "==", float(exact), 0.0, reason)


def _not_comparable(at: LinearClass, row_rank_is: str = "M") -> CheckResult:
    every, seen = at.gradients, at.empirical
    points, width = len(seen), every.shape[1]
    column, row = least_response(every), _least_kernel_eigenvalue(seen)
    spans = rank(every) == width
    free = rank(seen) == (points if row_rank_is == "M" else width)
    idle = (
        np.pad(every, ((0, 0), (0, 1))),
        np.pad(seen, ((0, 0), (0, 1))),
    )  # a parameter without use
    twin = np.vstack([every, seen[:1]]), np.vstack([seen, seen[:1]])  # (s, a) with z_1's gradient
    return worst(
        [
            _agree(column, spans),
            _agree(row, free),
            _agree(least_response(idle[0]), False),
            _agree(_least_kernel_eigenvalue(idle[1]), free),
            _agree(least_response(twin[0]), spans),
            _agree(_least_kernel_eigenvalue(twin[1]), False),
        ]
    )


def not_comparable(at: LinearClass) -> CheckResult:
    """The two conditions are not comparable: the first says that the gradients over S x A span
    R^d, the second that those at the M points of Z_Q are linearly independent.

    Decided: the infimum (from all vertices of the dual polytope) and lambda_min are positive
    exactly where exact elimination finds these ranks. On every instance a parameter that Q does
    not use ends the first condition and leaves the second, and one more point with a gradient
    already there ends the second and leaves the first. Both together need M <= d <= |S x A|.
    """
    return _not_comparable(at)


def _square_features() -> LinearClass:
    world = LinearClass(np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), (True, False, True), 2)
    assume_stated(least_response(world.gradients) > 0, "full column rank over S x A")
    assume_stated(
        len(world.empirical) <= world.gradients.shape[1], "no more points than parameters"
    )
    return world


@claim(
    "remark.full-column-rank",
    verdict="fails",
    instances=linear_classes(),
    counterexample=Counterexample(
        make=_square_features,
        text="S = [-1, 1], A = {{0, 1}}, Q(s, a) = theta_a0 + theta_a1 s^2, data at s = -1 and"
        " s = 1: d = M = 4.\nThe gradients at s = 0 and s = 1 span R^4, at -1 and 1 they are equal,"
        " so J J' is singular.\nRank of J {observed:.0f}; (ii) needs {bound:.0f}.",
    ),
    corrected=not_comparable,
    control=Control(
        broken="(ii) read as full column rank of the empirical Jacobian, d in place of M",
        check=lambda at: _not_comparable(at, row_rank_is="d"),
        make=lambda: LinearClass(np.array([[1.0, 2.0]]), (True,), 2),
    ),
)
def full_column_rank(at: LinearClass) -> CheckResult:
    """inf over |h| = 1 of sup over S x A of |h' grad Q_theta(s, a)| > 0 is stronger than condition
    (ii), J_Q J_Q' >= mu_Q I_M on the M points of the data.

    Where: Section 6, "The proof also avoids the stronger full-column-rank condition [...]
    Instead, the analysis uses empirical-output Jacobian conditioning".

    Assumes: stronger means that it implies (ii).

    Decided: the condition bounds d from above by |S x A|, (ii) bounds d from below by M, so
    neither implies the other. In particular (ii) is the one that a class with few parameters
    cannot satisfy (Q = theta, one state, two actions: J J' is the matrix of ones). The
    counterexample has d = M, so that it is not a matter of counting.
    """
    needed = len(at.empirical) if least_response(at.gradients) > FLOOR else 0
    found = int(np.linalg.matrix_rank(at.empirical))
    return CheckResult(found, ">=", needed, 0.0, "ranks are whole numbers")


# --- linear classes
@dataclass(frozen=True)
class LinearPair:
    """Feature rows of Q (M, d) and of zeta (G, d'), each with two parameters of its ball (2, .)."""

    phi: Array
    chi: Array
    theta: Array
    theta_zeta: Array


@st.composite
def _independent_rows(draw: st.DrawFn) -> Array:
    """Feature rows of full row rank: a triangle, more columns, in a drawn order of columns."""
    points, more = draw(st.integers(1, 4)), draw(st.integers(0, 2))
    rows = np.tril(draw(arrays(np.float64, (points, points), elements=SMALL)))
    scale = st.sampled_from([0.25, 0.5, 1.0, 3.0, -1.0])
    np.fill_diagonal(rows, draw(arrays(np.float64, points, elements=scale)))
    wide = np.hstack([rows, draw(arrays(np.float64, (points, more), elements=SMALL))])
    return np.array(wide[:, draw(st.permutations(range(points + more)))])


@st.composite
def linear_pairs(draw: st.DrawFn) -> LinearPair:
    phi, chi = draw(_independent_rows()), draw(_independent_rows())
    at = [draw(arrays(np.float64, (2, rows.shape[1]), elements=SMALL)) for rows in (phi, chi)]
    return LinearPair(phi, chi, at[0], at[1])


def _linear_block(features: Array, points: Array, gram: float) -> CheckResult:
    """(i) and (ii) or (iii) for one class, from differences of the library's outputs."""
    family = Linear(features.shape[1], 1)
    step = np.eye(family.size)
    found = []
    size = max(1.0, float(np.abs(features).max())) ** 2 * features.size
    eps = 64 * np.finfo(float).eps * size
    for theta in points:
        up, down = (family.outputs(theta + s * step, features)[..., 0] for s in (1.0, -1.0))
        middle = family.outputs(theta[None], features)[..., 0]
        jacobian = ((up - down) / 2).T
        least = _least_kernel_eigenvalue(jacobian)
        found.append(CheckResult(least, ">=", gram, eps, "rounding, 64 eps |phi|^2 M d"))
        bend = float(np.abs(up - 2 * middle + down).max())
        found.append(CheckResult(bend, "<=", 0.0, eps, "rounding, 64 eps |phi|^2 M d"))
    return worst(found)


@claim(
    "lem:linPolyNonsingular",
    verdict="holds",
    instances=linear_pairs(),
    control=Control(
        broken="the Gram matrix taken over features, Phi' Phi (d x d), as in least squares",
        check=lambda at: _linear_block(at.phi, at.theta, smallest_eigenvalue(at.phi.T)),
        make=lambda: LinearPair(
            np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.eye(1), np.zeros((2, 2)), np.eye(1)
        ),
    ),
)
def linear_classes_satisfy_it(at: LinearPair) -> CheckResult:
    """If the Gram matrices Phi Phi' on Z_Q and X X' on Z_zeta are positive definite, a linear class
    satisfies Assumption nonSingularJac, with their smallest eigenvalues as mu_Q and mu_zeta.

    Where: Section 6, Lemma linPolyNonsingular; its proof in the technical proofs.

    Assumes: Gram matrix means the M x M matrix of the proof, not the d x d matrix Phi' Phi. Balls
    "containing the initial point, optimization iterates, and the empirical minimizers" are closed
    balls of any radius with the minimisers on the ball: those over R^d may not exist (an action
    never taken) or fill a flat that no ball contains (d > M).

    Decided: J_Q = Phi at every theta and the Hessian is 0. The Jacobian and the second
    differences are taken from the library's outputs at two parameters of the ball, the
    eigenvalue of Phi Phi' from the singular values of Phi. Phi Phi' can be positive definite
    only if d >= M: a polynomial in the mileage needs a coefficient for every mileage in the data.
    """
    return worst(
        [
            _linear_block(at.phi, at.theta, smallest_eigenvalue(at.phi)),
            _linear_block(at.chi, at.theta_zeta, smallest_eigenvalue(at.chi)),
        ]
    )


# --- random features
@dataclass(frozen=True)
class RandomFeatures:
    """M rows in R^d: entries 0 or +-1/sqrt(nonzero), whole rows 0 with chance 1 - present."""

    rows: int
    columns: int
    nonzero: float = 1.0
    present: float = 1.0


C, WIDTH, RATE = 1 / 4, 160, 1 / 200


def _gram_bound(at: RandomFeatures, share: float = C) -> CheckResult:
    return CheckResult(
        gram_below(at.rows, at.columns, at.nonzero, at.present, share * at.columns),
        "<=",
        math.exp(-RATE * at.columns),
        1e-14,
        "binomial probabilities to 1e-14",
    )


@st.composite
def random_features(draw: st.DrawFn) -> RandomFeatures:
    rows = draw(st.integers(1, 2))
    columns = draw(st.integers(WIDTH * rows, 4 * WIDTH * rows))
    chances = st.sampled_from([1 / 3, 0.5, 2 / 3]) | st.floats(1 / 3, 1)
    return RandomFeatures(rows, columns, draw(chances) if rows == 1 else 1.0)


def independent_entries(at: RandomFeatures) -> CheckResult:
    """If moreover the entries are independent with E exp(t x) <= exp(t^2 / 2) and d >= 160 M, then
    Phi Phi' >= (d / 4) I_M with probability at least 1 - exp(-d / 200).

    Decided: u' Phi has d independent entries X of variance 1 for a unit u, and E X^4 <= 3; the
    chance that |sum X^2 - d| exceeds 3 d / 8 is at most 2 exp(-(3/8)^2 d / 6); a 1/4-net of 9^M
    directions bounds |Phi Phi' / d - I| by 3/4. The probability itself is exact: a binomial sum
    for one row of three-point entries, a random walk for two rows of signs. Instead of
    independent entries, |phi(z)|^2 = d for every row does as well (other constants).
    """
    return _gram_bound(at)


def _absent_rows() -> RandomFeatures:
    at = RandomFeatures(1, 1000, 1.0, 0.5)
    # phi = sqrt(2) b e, b in {0, 1} fair, e in {-1, 1}^d fair: moments by hand and by listing d = 2
    rows = math.sqrt(2) * np.array(
        [[b * x, b * y] for b in (0, 1) for x in (-1, 1) for y in (-1, 1)]
    )
    assume_stated(np.allclose(rows.mean(axis=0), 0), "centred rows")
    assume_stated(np.allclose(rows.T @ rows / len(rows), np.eye(2)), "isotropic rows")
    t = np.linspace(-6, 6, 241)
    # along any unit u: E exp(t u'phi) <= (1 + exp(t^2)) / 2; here u = e_1 and u = 1 / sqrt(d)
    for spread in (1, at.columns):
        logs = spread * np.log(np.cosh(t * math.sqrt(2 / spread)))
        bounded = np.all(np.logaddexp(0, logs) - math.log(2) <= t**2 + 1e-12)
        assume_stated(bool(bounded), "sub-Gaussian rows, with a norm free of d")
    assume_stated(at.columns >= WIDTH * at.rows, "d >= C M")
    return at


@claim(
    "rem:sub-gaussian-features",
    verdict="holds-if",
    condition="the entries within a row are independent too (as in the theorem cited), or every"
    " row has norm sqrt(d)",
    instances=random_features(),
    counterexample=Counterexample(
        make=_absent_rows,
        text="phi = sqrt(2) b e, b in {{0, 1}} and e in {{-1, 1}}^d fair coins: centred,"
        " E phi phi' = I, E exp(t u'phi) <= exp(t^2).\nM = 1: phi = 0 with probability 1/2 whatever"
        " d, c, c', C are; d = 1000 here, c' = 1/200.\nProbability of failure"
        " {observed:.3f}; at most {bound:.4f} is claimed.",
    ),
    corrected=independent_entries,
    control=Control(
        broken="the expectation d I taken for Phi Phi' itself, c = 1",
        check=lambda at: _gram_bound(at, share=1.0),
        make=lambda: RandomFeatures(2, 2 * WIDTH),
    ),
)
def sub_gaussian_features(at: RandomFeatures) -> CheckResult:
    """For independent centred isotropic sub-Gaussian rows phi(z_1), ..., phi(z_M) in R^d, d >= C M,
    Phi Phi' >= c d I_M with probability at least 1 - exp(-c' d), constants from the norm only.

    Where: Technical proofs, the remark after the proof of Lemma linPolyNonsingular.

    Assumes: rows independent, centred, isotropic (E phi phi' = I_d), with a sub-Gaussian norm
    that does not depend on d.

    Decided: isotropy fixes the mean of |phi|^2, not its law, and the first diagonal entry of the
    Gram matrix is |phi(z_1)|^2. The theorem cited (Rudelson and Vershynin) has independent entries.
    """
    return _gram_bound(at)
