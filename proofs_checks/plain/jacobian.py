"""Assumption 5 (ii), "J_Q J_Q' >= mu_Q I_M" at the M pairs of the data, for tables and networks.

True as printed:
- Lemma 6: linear classes satisfy it if their "empirical feature Gram matrices" Phi Phi' on Z_Q "are
  positive definite". The least eigenvalue is mu_Q. Tables have Phi = I and mu_Q = 1.
- Lemma 7: "sufficiently wide feedforward neural networks with C^2 hidden activations" satisfy it
  with high probability (one is shown). It leaves out that polynomials are excluded (E14).

Remarks on the wording, for which no theorem is wrong:
- The "stronger full-column-rank condition" of Section 6 does not imply (ii), nor (ii) it (E26).
- "The empirical minimizers" in the ball are those on it: a ball with all of them has the mean of a
  network's copies with hidden units permuted, at which the rank is 8 at most (E15).

What the theorems cover: (ii) needs as many parameters as pairs. The networks of Section 7, "two
hidden layers and 10 perceptrons for each hidden layer", have 152 + 10 K. For K = 0 they can satisfy
it (M <= 40), with a small mu_Q: 2e-9 at the best of the seeds 0 to 11, used below. For K = 2 to
100 they cannot (E7). The paper does not say that they do.
"""

from itertools import pairwise
from typing import Any

import numpy as np


def check(text: str, observed: float, relation: str, other: float) -> None:
    """Print a line, and end with an error where the relation that it states is false."""
    same = abs(observed - other) <= 1e-9 * max(abs(observed), abs(other)) + 1e-14
    true = {"=": same, ">=": same or observed > other, "<": not same and observed < other}[relation]
    print(f"{text}: {observed:.8g} {relation} {other:.8g}{'' if true else ' IS FALSE'}")
    if not true:
        raise SystemExit(f"false: {text}")


def layers(sizes: list[int], theta: Any) -> list[Any]:
    """Each layer's weights (inputs + 1, outputs), the biases last."""
    ends = np.cumsum([(i + 1) * o for i, o in pairwise(sizes)])
    return [w.reshape(-1, o) for w, o in zip(np.split(theta, ends)[:-1], sizes[1:], strict=True)]


def jacobian(sizes: list[int], theta: Any, x: Any, sigma: Any = np.tanh) -> Any:
    """(M, d) of a network's outputs at the inputs x, by complex steps."""
    columns, h = [], x
    for e in np.eye(len(theta)):
        for i, w in enumerate(layers(sizes, theta + 1e-30j * e)):
            h = (sigma(h) if i else x) @ w[:-1] + w[-1]
        columns.append(h.imag.ravel() / 1e-30)
    return np.array(columns).T


def rank(rows: Any) -> int:
    """Singular values below 1e-12 of the norm are rounding."""
    return int(np.linalg.matrix_rank(rows, tol=1e-12 * np.linalg.norm(rows)))


phi = np.array([[1.0, 2, 0, 1, 0], [0, 1, 1, 0, 2], [1, 0, 0, 3, 1], [2, 0, 1, 0, 1]])
check("Lemma 6", np.linalg.eigvalsh(phi @ phi.T)[0], "=", np.linalg.svd(phi)[1][-1] ** 2)
tall = np.array([[1.0, 0], [1, 1], [1, 2]])  # three pairs, two parameters: Phi' Phi > 0
check("control: Lemma 6 with Phi' Phi, rank of J J'", rank(tall @ tall.T), "<", 3)
rng, points = np.random.default_rng(0), np.array([[s, a] for s in (0, 1, 2.0) for a in (0, 1)])
wide = [2, 200, 1], rng.normal(size=801), points
check("Lemma 7, rank at six pairs, tanh", rank(jacobian(*wide)), "=", 6)
check("Lemma 7, rank at six pairs, identity", rank(jacobian(*wide, np.copy)), "<", 6)
square = np.kron([[1.0, 1], [1, 0], [1, 1]], np.eye(2))  # Q = theta_a0 + theta_a1 s^2; s = -1, 0, 1
check("rank over all pairs, four parameters", rank(square), "=", 4)
check("rank at the four pairs of s = -1 and s = 1", rank(square[[0, 1, 4, 5]]), "<", 4)

theta, mileage = np.random.default_rng(11).normal(size=152), np.linspace(-1.6, 1.6, 20)[:, None]
rows = jacobian([1, 10, 10, 2], theta, mileage)
check("K = 0, rank at 40 pairs", rank(rows), "=", 40)
check("K = 0, mu_Q", np.linalg.svd(rows)[1][-1] ** 2, "<", 1e-8)
middle = layers([1, 10, 10, 2], theta.copy())  # the mean of all copies: equal units in each layer
for before, after in pairwise(middle):
    before[:] = before.mean(axis=1, keepdims=True)
    after[:-1] = after[:-1].mean(axis=0)
mean = np.concatenate([w.ravel() for w in middle])
check("K = 0, the mean of its copies", rank(jacobian([1, 10, 10, 2], mean, mileage)), "<", 8 + 1)
two = jacobian([3, 10, 10, 2], rng.normal(size=172), rng.normal(size=(200, 3)))
check("K = 2, rank at 400 pairs", rank(two), "=", 152 + 10 * 2)
check("K = 2, rank that (ii) needs", rank(two), "<", len(two))
