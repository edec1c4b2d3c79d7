"""Gumbel variables by quadrature of the definition, without the closed forms of the paper.

A Gumbel(nu, 1) variable has the density exp(-(x - nu) - exp(-(x - nu))). Everything here is an
integral of such densities. With M the largest location, all but 1e-18 of the mass of the maximum,
relative to each variable's own share, lies in [M - 5, M + 45]; there eight Gauss-Legendre panels
of 24 nodes leave a relative error below 1e-13 (tests/proofs_checks/oracle/test_oracle_gumbel.py).
"""

import numpy as np

from proofs_checks.oracle import Array

EDGES = np.array([-5.0, -3.0, -1.0, 1.0, 4.0, 8.0, 16.0, 28.0, 45.0])
NODES, SHARES = np.polynomial.legendre.leggauss(24)  # of a panel [-1, 1]
HALF = np.diff(EDGES)[:, None] / 2
OFFSETS = (EDGES[:-1, None] + HALF * (NODES + 1)).ravel()
WEIGHTS = (HALF * SHARES).ravel()
LONG = np.polynomial.legendre.leggauss(200)


def cdf(x: float, nu: Array) -> Array:
    """(N,) P(G_i <= x): the density integrated from nu_i - 5 (less below: e^-148) to x."""
    points, weights = LONG
    half = np.clip(x - nu + 5, 0, 50) / 2
    y = -5 + half[:, None] * (points + 1)
    return np.asarray(half * (np.exp(-y - np.exp(-y)) @ weights))


def largest(nu: Array) -> tuple[Array, Array]:
    """(log P(G_k is the largest), E[G_k | G_k is the largest]), each (N,), of independent G.

    The integrals over x of f_k(x) and x f_k(x), times the product of the others' F_i(x).
    """
    top = np.max(nu)
    tails = np.exp(-(OFFSETS[:, None] + (top - nu)))  # exp(-(x - nu_i)), at most e^5
    log_f = -OFFSETS[:, None] - tails  # of G_k, times exp(top - nu_k) so that nothing underflows
    density = np.exp(log_f - (tails.sum(axis=1, keepdims=True) - tails))
    mass = WEIGHTS @ density
    return np.log(mass) - (top - nu), top + (WEIGHTS * OFFSETS) @ density / mass
