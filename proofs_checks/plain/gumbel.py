"""Gumbel identities of Appendix B.1, each by its formula and by summing the densities.

`G_1, G_2, ...` are independent, and G_i ~ Gumbel(nu_i, 1): P(G_i <= x) = exp(-exp(-(x - nu_i))).

True as printed:
- Lemma 14: "Z = max G_i. Then Z ~ Gumbel(log sum_i exp(nu_i), 1)".
- Corollary 15: "P(G_k > max_{i != k} G_i) = exp(nu_k) / sum_i exp(nu_i)".
- Corollary 17: "E[G_k | G_k = max G_i] = gamma + nu_k - log(exp(nu_k) / sum_i exp(nu_i))".

Three misprints, on which no later result rests, because what follows each is right:
- Lemma 16: "E[G_1 | G_1 >= G_2] = gamma + log(1 + exp(-(nu_1 - nu_2)))", where nu_1 is missing
  before the logarithm. The last line of its proof has it (E51).
- The same proof replaces x by log z, z = exp(-x), where it is -log z (E52).
- The proof of Corollary 17 divides by exp(-nu_k) in place of exp(nu_k) in its third line (E53).
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
GAMMA = np.euler_gamma
STEP = 0.01
x = np.arange(-8.0, 60.0, STEP)  # all terms vanish at its ends: sums are exact to rounding


def check(text: str, observed: float, relation: str, other: float) -> None:
    """Print a line, and end with an error where the relation that it states is false."""
    same = abs(observed - other) <= 1e-9 * max(abs(observed), abs(other)) + 1e-14
    true = {"=": same, "!=": not same}[relation]
    print(f"{text}: {observed:.8g} {relation} {other:.8g}{'' if true else ' IS FALSE'}")
    if not true:
        raise SystemExit(f"false: {text}")


def cdf(nu: float) -> Array:
    """P(G <= x) on the grid."""
    return np.exp(-np.exp(-(x - nu)))


def largest(nu: Array) -> tuple[Array, Array]:
    """P(G_k is the largest) and E[G_k | G_k is the largest]: sums of f_k times the others' F_i."""
    terms = np.empty((len(nu), len(x)))
    for k, location in enumerate(nu):
        terms[k] = np.exp(-(x - location)) * cdf(location)  # the density f_k
        for other in np.delete(nu, k):
            terms[k] *= cdf(other)
    mass = STEP * terms.sum(axis=1)
    return mass, STEP * (terms @ x) / mass


nu = np.array([0.5, -1.0, 2.0])
probability, mean = largest(nu)
log_sum = float(np.log(np.exp(nu).sum()))
of_all = cdf(nu[0]) * cdf(nu[1]) * cdf(nu[2])  # P(G_1 <= x, G_2 <= x, G_3 <= x)
check("Lemma 14, largest gap of both cdfs", float(np.abs(of_all - cdf(log_sum)).max()), "=", 0.0)
for k in range(3):
    check(f"Corollary 15, k = {k + 1}", np.exp(nu[k] - log_sum), "=", probability[k])
    check(f"Corollary 17, k = {k + 1}", GAMMA + nu[k] - (nu[k] - log_sum), "=", mean[k])
without = float(np.exp(nu[2]) / np.exp(nu[:2]).sum())
check("control: Corollary 15 with k out of the sum", without, "!=", probability[2])

two = np.array([1.0, 1.0])  # nu_1 = nu_2 = 1: by symmetry the mean is that of the larger one
larger = float(largest(two)[1][0])
shift = float(np.log(1 + np.exp(-(two[0] - two[1]))))
check("Lemma 16 with nu_1", GAMMA + two[0] + shift, "=", larger)
check("Lemma 16 as printed", GAMMA + shift, "!=", larger)
third = float(np.log(1 + np.exp(two[1]) / np.exp(-two[0])))
check("Corollary 17, third line as printed", GAMMA + two[0] + third, "!=", larger)

density, z = np.exp(-x) * cdf(0.0), np.exp(-x)  # nu_1 = nu_2, a = 1; dz = -z dx
in_x = STEP * float(np.sum(x * cdf(0.0) * density))
in_z = STEP * float(np.sum(np.log(z) * np.exp(-2 * z) * z))
check("proof of Lemma 16, x by -log z", in_x, "=", -in_z)
check("proof of Lemma 16, x by log z as printed", in_x, "!=", in_z)
