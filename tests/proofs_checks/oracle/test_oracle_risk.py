"""A grouped data set's weights and terms by hand.

The gradients that the claims take from the library are those of the oracle; the other risks are
compared with the library's in the claims that rest on them.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import logsumexp

from proofs_checks.claims.instances import Empirical, empirical
from proofs_checks.claims.under_check import complex_slope, residual
from proofs_checks.oracle.risk import Sample
from proofs_checks.sections import _fits as fits
from proofs_checks.sections.guarantees_pl import Regression, auxiliary_gradient, regressions


def test_a_state_that_only_follows_another_action_is_not_evaluated() -> None:
    moves = np.zeros((2, 2, 2))
    moves[0, 0, 0] = moves[0, 1, 1] = 1
    sample = Sample(moves, np.zeros(2, dtype=np.int64), np.zeros(2), 0.5)
    assert sample.evaluated.tolist() == [True, False]


@given(empirical(max_states=3))
def test_the_entropy_is_the_least_likelihood_loss(drawn: Empirical) -> None:
    sample, best = drawn.sample, np.zeros_like(drawn.q)
    assert sample.nll(drawn.q) >= sample.entropy() - 1e-9
    best[sample.nll_states] = np.log(np.maximum(sample.choices, 1e-300))
    assert sample.nll(best) == pytest.approx(sample.entropy(), abs=1e-9)


# --- the library's gradients, which the claims use
@given(empirical())
def test_the_librarys_residual_has_the_oracles_jacobian(drawn: Empirical) -> None:
    sample, q = drawn
    rows = complex_slope(lambda x: residual(sample, x.reshape(-1, *q.shape)), q.ravel())
    assert rows == pytest.approx(sample.residual_jacobian(q).T, rel=0, abs=1e-13)
    assert not np.any(rows.T.reshape(-1, *q.shape)[:, ~sample.evaluated])
    assert not np.any(sample.nll_gradient(q)[~sample.evaluated])


@given(regressions())
@settings(max_examples=50, deadline=None)
def test_the_librarys_auxiliary_gradient_is_that_of_the_outputs(regression: Regression) -> None:
    (sample, q), family = regression
    jacobian, zeta = family.jacobian(), family.outputs(family.theta[None])[0]
    in_outputs = 2 * sample.discount**2 * sample.be_weight * (zeta - sample.target(q))
    largest = 1 + np.abs(logsumexp(q, axis=1)).max() + np.abs(zeta).max()
    rounding = 1e-13 * largest * np.linalg.norm(jacobian, 2)
    gradient = auxiliary_gradient(regression)
    assert gradient == pytest.approx(jacobian.T @ in_outputs, rel=0, abs=rounding)


@given(fits.fits() | fits.sharp_fits())
@settings(max_examples=50, deadline=None)
def test_the_librarys_gradients_are_those_of_the_outputs(fit: fits.Fit) -> None:
    sample, table, jacobian = fit.sample, fit.table, fit.q.jacobian()
    largest = 1 + np.abs(sample.reward).max() + 2 * np.abs(table).max()
    rounding = 1e-13 * largest * np.linalg.norm(jacobian, 2)
    of_terms = sample.nll_gradient(table).ravel(), sample.bellman_gradient(table).ravel()
    for terms in ((1, 0), (0, 1), (1, 1)):
        expected = jacobian.T @ (terms[0] * of_terms[0] + terms[1] * of_terms[1])
        assert fits.gradient(fit, terms) == pytest.approx(expected, rel=0, abs=rounding)


@given(empirical(max_states=3, max_actions=2))
@settings(max_examples=50, deadline=None)
def test_the_objective_is_a_mean_over_rows(drawn: Empirical) -> None:
    """f-hat_N written out row by row, at some zeta and at its maximiser."""
    (sample, q), beta = drawn, drawn.sample.discount
    v, mean = logsumexp(q, axis=1), sample.zeta_bar(q)
    for zeta in (np.ones_like(q), mean):
        terms, errors, ahead = [], [], np.zeros_like(q)
        for s, a, after in np.argwhere(sample.moves):
            for _ in range(int(sample.moves[s, a, after])):
                td = (sample.reward[s] + beta * v[after] - q[s, a]) ** 2 * (a == sample.anchor[s])
                spread = (v[after] - zeta[s, a]) ** 2 * (a == sample.anchor[s])
                terms.append(v[s] - q[s, a] + td - beta**2 * spread)
                errors.append(td)
                ahead[s, a] += v[after] / sample.visits[s, a]
        assert sample.f_hat(q, zeta) == pytest.approx(np.mean(terms), rel=1e-9, abs=1e-9)
        assert sample.td(q) == pytest.approx(np.mean(errors))
        assert mean == pytest.approx(ahead)
