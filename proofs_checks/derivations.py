"""Derivations of claims that hold, checked step by step as identities of rational functions.

A step says that its goal is a sum: multiples, not negative, of assumptions, and terms that nobody
doubts (squares, products of non-negative symbols). SymPy checks the identity and the signs. What a
step uses is found by leaving each assumption out: the identity must then fail. An expectation is
linear, so that V^k stands for its k-th moment, whatever the law; sums over states are linear too,
so that a step for one term, or with the sums as symbols, is one for any number of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sympy as sp

from gladius.checks import InputError


@dataclass(frozen=True)
class Step:
    """One line of a derivation.

    Attributes:
        goal: what is to be at least zero, or zero if `equation`.
        uses: by name: (multiplier, what is assumed to be at least zero); a multiplier of any sign
            where the name starts with "=", what is assumed to be zero.
        rest: terms that are visibly not negative.
        equation: whether the goal is an equation.
    """

    goal: Any
    uses: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    rest: Sequence[Any] = ()
    equation: bool = False

    def holds(self, without: str = "") -> bool:
        """Whether the identity and all signs are right, `without` one assumption."""
        kept = {name: use for name, use in self.uses.items() if name != without}
        known = sum((a * b for a, b in kept.values()), sum(self.rest, sp.Integer(0)))
        if sp.cancel(sp.expand(self.goal - known)) != 0:
            return False
        free = [name.startswith("=") for name in kept]
        if self.equation:
            return all(free) and not self.rest
        signs = [a for (a, _), any_sign in zip(kept.values(), free, strict=True) if not any_sign]
        return all(sp.sympify(term).is_nonnegative for term in (*signs, *self.rest))


@dataclass(frozen=True)
class Derivation:
    """The steps of a claim, and what joins them, in a sentence."""

    steps: tuple[Step, ...]
    joined: str

    @property
    def holds(self) -> bool:
        return all(step.holds() for step in self.steps)

    @property
    def used(self) -> dict[str, bool]:
        """Whether a derivation fails when an assumption is switched off, by its name."""
        names = {name for step in self.steps for name in step.uses}
        return {
            name: any(not step.holds(name) for step in self.steps if name in step.uses)
            for name in sorted(names)
        }

    @property
    def needed(self) -> list[str]:
        """The assumptions without which it fails."""
        return [name for name, needed in self.used.items() if needed]


_DERIVATIONS: dict[str, Callable[..., Derivation]] = {}


def _of(id_: str) -> Callable[[Callable[..., Derivation]], Callable[..., Derivation]]:
    def register(build: Callable[..., Derivation]) -> Callable[..., Derivation]:
        if id_ in _DERIVATIONS:
            raise InputError("derivation", id_, "it is there already")
        _DERIVATIONS[id_] = build
        return build

    return register


def builders() -> Mapping[str, Callable[..., Derivation]]:
    """By id of the claim; their options are the constants, to be changed by tests."""
    return _DERIVATIONS


@cache
def derivation(id_: str) -> Derivation | None:
    """The derivation of a claim, or None."""
    return _DERIVATIONS[id_]() if id_ in _DERIVATIONS else None


# --- symbols: real ones, and non-negative or positive ones
r, q, v, z, h, t, x, y, rho = sp.symbols("r q v z h t x y rho", real=True)
beta, G, T, C, W, L, N, S, D, K, P, Q = sp.symbols("beta G T C W L N S D K P Q", nonnegative=True)
mu, gamma, kappa, n, m, M, A, u, p, least, low, high, alpha = sp.symbols(
    "mu gamma kappa n m M A u p p_- omega_- omega_+ alpha", positive=True
)
omega = sp.Symbol("omega", positive=True)
HALF = sp.Rational(1, 2)
m1, m2 = sp.symbols("m1 m2", real=True)  # moments of V


def mean(expression: Any) -> Any:
    """E of a polynomial in V of degree two at most."""
    terms = sp.Poly(sp.expand(expression), v).all_coeffs()[::-1]
    return sum(c * moment for c, moment in zip(terms, (1, m1, m2), strict=False))


TARGET, BACKUP = r + beta * v, r + beta * m1  # T-hat Q and T Q


def _equation(left: Any, right: Any, **uses: tuple[Any, Any]) -> Step:
    named = {f"= {name.replace('_', ' ')}": use for name, use in uses.items()}
    return Step(left - right, named, equation=True)


# --- the Bellman error and its forms
@_of("lem:expTD=BE")
def _expected_td(factor: Any = 1) -> Derivation:
    steps = [_equation(mean(TARGET - s), factor * BACKUP - s) for s in (0, q)]
    return Derivation(tuple(steps), "The operator, then the error; any law of s'.")


@_of("eq:double-sampling")
def _double_sampling(power: int = 2) -> Derivation:
    extra = beta**power * mean((m1 - v) ** 2)
    a, b, c = sp.symbols("a b c", real=True)
    half = HALF
    td = half * (half * (half * b - a) ** 2 + half * (half * c - a) ** 2)
    td += (half * b - b) ** 2 / 4 + (1 + half * c - c) ** 2 / 4
    there = {a: half, b: half, c: 3 * half}
    error = half * (half * (b + c) / 2 - a) ** 2 + (b**2 + (2 - c) ** 2) / 16
    return Derivation(
        (
            _equation(mean((TARGET - q) ** 2), (BACKUP - q) ** 2 + extra),
            *(_equation(sp.diff(td, s).subs(there), 0) for s in (a, b, c)),
            _equation(error.subs(there), sp.Rational(1, 32)),
        ),
        "The decomposition for any law; a world whose TD minimiser has Bellman error 1/32.",
    )


@_of("eq:biconjugate")
def _biconjugate(factor: Any = 2) -> Derivation:
    above = Step(x**2 - (factor * x * h - h**2), rest=[(x - h) ** 2])
    return Derivation((above,), "Zero at h = x, the mean TD error, and nowhere else.")


@_of("eq:SBEED")
def _sbeed(factor: Any = 1) -> Derivation:
    form = mean((TARGET - q) ** 2 - (TARGET - rho) ** 2)
    right = (BACKUP - q) ** 2 - factor * (rho - BACKUP) ** 2
    return Derivation((_equation(form, right),), "So rho = TQ is the one maximiser.")


@_of("lem:OurBiconj.a")
def _biconj_a(power: int = 2) -> Derivation:
    form = mean((TARGET - q) ** 2) - beta**power * mean((v - z) ** 2)
    right = (BACKUP - q) ** 2 - beta**2 * (z - m1) ** 2
    return Derivation((_equation(form, right),), "D(Q) is the deviation at zeta = E V.")


@_of("lem:OurBiconj.b")
def _biconj_b(factor: Any = 1) -> Derivation:
    least_at_mean = Step(mean((v - z) ** 2) - mean((v - m1) ** 2), rest=[(z - m1) ** 2])
    reward = _equation(q - factor * beta * m1, r, Bellman_equation=(1, q - r - beta * m1))
    return Derivation((least_at_mean, reward), "zeta* is the mean of V*; then Q* = r + beta zeta*.")


@_of("def:ERM.finite-states")
def _grouped(power: int = 2) -> Derivation:
    s1, s2 = sp.symbols("s1 s2", real=True)  # sums of V and of V^2 over the n rows of a pair
    rows = n * (r - q) ** 2 + 2 * beta * (r - q) * s1 + beta**2 * s2
    rows -= beta**power * (s2 - s1**2 / n)
    right = n * (r + beta * s1 / n - q) ** 2
    return Derivation((_equation(rows, right),), "For each pair; zeta-bar is the mean s1/n.")


@_of("alg:estimation_deterministic")
def _certain(factor: Any = 1) -> Derivation:
    spread = _equation(mean((v - m1) ** 2), 0, certain_moves=(1, m2 - m1**2))
    term = (r + beta * v - q) ** 2 - beta**2 * (v - z) ** 2
    same = _equation(sp.diff(term, v).subs(z, v), sp.diff((r + beta * v - q) ** 2, v))
    reward = _equation(q - factor * beta * v, r, Bellman_equation=(1, q - r - beta * v))
    return Derivation((spread, same, reward), "Value, slope at zeta = V(s'), and the reward.")


# --- the softmax and the entropy
@_of("eq:softmax-lower-bound")
def _softmax(factor: Any = 1) -> Derivation:
    uses = {"u >= exp(Q_-)": (A * M, u - m), "sum <= |A| exp(Q_+)": (m, A * M - S)}
    return Derivation((Step(A * M * u - factor * m * S, uses),), "u/S >= m/(A M), any |A|.")


@_of("eq:KL-chi-square")
def _kl(factor: Any = 1) -> Derivation:
    ratio, log = sp.Symbol("ratio", positive=True), sp.Symbol("log", real=True)
    slope = sp.diff(ratio - 1 - sp.log(ratio), ratio)
    pi = sp.Symbol("pi", nonnegative=True)
    bound = factor * p * (ratio - 1) ** 2
    return Derivation(
        (
            Step(
                bound - p * (ratio * log - ratio + 1),
                {"log t <= t - 1": (p * ratio, ratio - 1 - log)},
            ),
            _equation(slope, (ratio - 1) / ratio),  # of t - 1 - log t, which is 0 at 1
            Step(
                (pi - p) ** 2 / least - (pi - p) ** 2 / p,
                {"p >= p_-": ((pi - p) ** 2 / (p * least), p - least)},
            ),
        ),
        "Summed over actions with t = pi/p: the terms of KL, as both add up to one.",
    )


@_of("rem:BC-superset")
def _shift(factor: Any = 1) -> Derivation:
    residual = x - beta * y - factor * (1 - beta) * x  # x = max c, y = E c(s')
    return Derivation(
        (Step(residual, {"x is the largest": (beta, x - y)}),), "At the largest c, or for -c."
    )


# --- contraction, coercivity, overlap
@_of("thm:MagnacThesmar.contraction")
def _contraction(factor: Any = 1) -> Derivation:
    uses = {"= P adds up to one": (beta * x, 1 - P), "f_1 - f_2 <= x": (beta, x * P - y)}
    return Derivation((Step(factor * beta * x - beta * y, uses),), "y = sum p d, x = max |d|.")


@_of("lem:bellman_shift_coercivity")
def _coercivity(power: int = 1) -> Derivation:
    agree, total, square = sp.symbols("agree total square", real=True)
    signs = {"signs agree at most wholly": (beta * m, 1 - agree)}  # agree = sum_x P_x s_x s_j
    return Derivation(
        (
            Step(m * (1 - beta * agree) - (1 - beta) ** power * m, signs),
            Step(square - total**2 / n, {"pairs of squares": (1 / n, n * square - total**2)}),
        ),
        "s'(E - beta T)'u >= (1 - beta)|u|_1 term by term, s = sign u; |w|_2 >= |w|_1/sqrt(X)"
        " (Cauchy and Schwarz), |u|_1 >= |u|_2, and a block's mean has 1/sqrt(A) of the length.",
    )


@_of("lem:anchor_overlap_logit")
def _overlap(factor: Any = 1) -> Derivation:
    first, others = sp.symbols("first others", nonnegative=True)
    flow = first + beta * S * (p * P + others)  # one state s of weight S, a target y
    uses = {"pi(a_s|s) >= p_A": (beta * S * P, p - least)}
    goal = flow - factor * beta * least * S * P
    return Derivation(
        (Step(goal, uses, [first, beta * S * others]), *_softmax().steps), "Summed over s."
    )


# --- PL
ABC = (kappa**2 + 1) * 2


@_of("eq:abc-inequality")
def _abc(factor: Any = 1) -> Derivation:
    a, b, c, d = sp.symbols("a b c d", real=True)  # |a|^2, |b|^2, |c|^2, <a, b>
    lead = sp.cancel(1 - factor / ABC)
    left = sp.cancel(1 + 1 / (2 * kappa**2) - 1 / lead)
    return Derivation(
        (
            Step(
                a + 2 * d + b + c - factor * a / ABC - c / 2,
                {
                    "|b| <= kappa |c|": (1 / (2 * kappa**2), kappa**2 * c - b),
                    "|lead a + b|^2 >= 0": (1 / lead, lead**2 * a + 2 * lead * d + b),
                    "|b|^2 >= 0": (left, b),
                },
            ),
        ),
        "Any dimension: only lengths and one inner product occur.",
    )


def _weights() -> Step:
    return Step(
        omega**2 - low**2 / high * omega,
        {
            "omega >= omega_-": (omega, omega - low),
            "omega_+ >= omega_-": (omega * low / high, high - low),
        },
    )


@_of("lem:BE_PL")
def _be_pl(factor: Any = 2) -> Derivation:
    ratio = low**2 / high
    uses = {
        "J J' >= mu I": (HALF, G - mu * C),
        "coercivity": (mu / 2, C - 4 * gamma**2 * W),
        "sum omega^2 Psi^2 >= ratio L_BE": (2 * mu * gamma**2, W - ratio * L),
    }
    goal = G / 2 - factor * mu * gamma**2 * ratio * L
    return Derivation((_weights(), Step(goal, uses)), "G, C, W: |grad|^2, |A'..|^2, |W Psi|^2.")


@_of("lem:NLL_PL")
def _nll_pl(factor: Any = HALF) -> Derivation:
    state = Step(
        omega**2 * D - least * low * omega * K,
        {
            "omega >= omega_-": (omega * D, omega - low),
            "p_- KL <= |p - pi|^2": (omega * low, D - least * K),
        },
    )
    uses = {"J J' >= mu I": (HALF, G - mu * S), "states": (mu / 2, S - least * low * N)}
    goal = G / 2 - factor * mu * least * low * N
    return Derivation((state, Step(goal, uses), *_kl().steps), "S = sum omega^2 D, N the gap.")


@_of("lem:auto_cancellation_control")
def _cancel(factor: Any = 2) -> Derivation:
    ratio = low**2 / high
    uses = {
        "abc": (1, T - N / ABC - C / 2),
        "coercivity": (HALF, C - 4 * gamma**2 * W),
        "sum omega^2 Psi^2 >= ratio L_BE": (2 * gamma**2, W - ratio * L),
    }
    goal = T - N / ABC - factor * gamma**2 * ratio * L
    return Derivation((*_abc().steps, _weights(), Step(goal, uses)), "N = |grad NLL|^2.")


@_of("thm:bothPL")
def _both(factor: Any = 4) -> Derivation:
    a, b, c = sp.symbols("a_NLL a_BE c", positive=True)
    uses = {
        "J J' >= mu I": (HALF, G - mu * T),
        "cancellation": (mu / 2, T - a * S - b * L),
        "NLL is PL": (mu * a / 2, S - 2 * alpha * N),
        "c <= mu a_NLL alpha_NLL": (N, mu * a * alpha - c),
        "c <= mu a_BE / 2": (L, mu * b / 2 - c),
    }
    constants = _equation(
        least * low / 2 / ABC, least * low / (factor * (1 + kappa**2))
    )  # alpha_NLL a_NLL
    return Derivation((Step(G / 2 - c * (N + L), uses), constants), "S, N, L: as in the lemmas.")


@_of("lem:zeta_empirical_pl")
def _zeta_pl(factor: Any = 2) -> Derivation:
    uses = {"omega >= omega_-": (2 * beta**4 * omega * D, omega - low)}
    group = Step(2 * beta**4 * omega**2 * D - factor * beta**2 * low * beta**2 * omega * D, uses)
    whole = Step(
        G / 2 - 2 * beta**2 * mu * low * N,
        {"J J' >= mu I": (HALF, G - mu * S), "groups": (mu, S / 2 - 2 * beta**2 * low * N)},
    )
    return Derivation((group, whole), "D = (zeta - mean)^2 of a group, S = |grad|^2 in outputs.")


@_of("lem:finite_output_pl_transfer")
def _transfer(power: int = 1) -> Derivation:
    uses = {"J J' >= mu I": (HALF, G - mu * S), "PL in outputs": (mu, S / 2 - alpha * N)}
    return Derivation((Step(G / 2 - alpha * mu**power * N, uses),), "grad L = J' grad phi.")


@_of("lem:NNenjoysPL.output-transform")
def _transformed(power: int = 2) -> Derivation:
    lam, slope, floor = sp.symbols("lambda slope floor", positive=True)
    entry = Step(
        slope**2 * x**2 - floor**power * x**2,
        {"|sigma'| >= rho": (x**2 * (slope + floor), slope - floor)},
    )
    uses = {"K-tilde >= lambda I": (1, Q - lam * D), "entries": (lam, D - floor**2 * N)}
    return Derivation((entry, Step(Q - lam * floor**2 * N, uses)), "D = |D v|^2, N = |v|^2.")


# --- the rest
@_of("fn:sum-of-PL")
def _sum_of_pl(depth: Any = 1) -> Derivation:
    first, second = y**2, (y - x**2 + depth) ** 2
    steps = [
        Step(
            (sp.diff(f, x) ** 2 + sp.diff(f, y) ** 2) / 2 - 2 * f,
            rest=[sp.factor(sp.diff(f, x) ** 2 / 2)],
        )
        for f in (first, second)
    ]
    stuck = {x: 0, y: -HALF}
    both = first + second
    flat = [_equation(sp.diff(both, s).subs(stuck), 0) for s in (x, y)]
    values = [_equation(both.subs(stuck), HALF), _equation(both.subs({x: 1, y: 0}), 0)]
    return Derivation((*steps, *flat, *values), "PL each, with constant 2; stuck at 1/2 > 0.")


@_of("thm:distributional_q_bound.algebra")
def _roots(power: int = 2) -> Derivation:
    a, b, c = sp.symbols("a b c", nonnegative=True)
    cross = [2 * a * b, 2 * b * c, 2 * a * c]
    step = Step((a + b + c) ** power - a**2 - b**2 - c**2, rest=cross)
    return Derivation((step,), "a, b, c: the roots of the three parts.")


@_of("lem:sharingsol")
def _sharing(factor: Any = 1) -> Derivation:
    f, g, least_f, least_g = sp.symbols("f g least_f least_g", real=True)
    uses = {
        "x minimises f + g": (1, least_f + least_g - f - g),
        "g >= least_g": (1, g - least_g),
    }
    return Derivation((Step(factor * (least_f - f), uses),), "And the same for g.")
