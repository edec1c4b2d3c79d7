"""The score test against its formula, observation by observation, and what screening selects."""

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from gladius.checks import Array
from gladius.rows.data import Inputs
from gladius.rows.screen import (
    Choice,
    NextValue,
    Residuals,
    group_rows,
    score_test,
    select_inputs,
)


def p_value(errors: Array, information: Array, x: Array, d: Array, expected: Array) -> float:
    """U' var(U)^-1 U with d* = d - x I_xx^-1 I_xd, from (n, m) errors and (n, m, m) weights."""
    m = errors.shape[1]

    def stacked(f: Array) -> Array:  # (n, m, m f): the functions in each column of the outcome
        return np.einsum("np,ac->nacp", f, np.eye(m)).reshape(len(f), m, -1)

    design, new = stacked(x), stacked(d)
    inner, cross = (np.einsum("nak,nac,ncl->kl", design, information, f) for f in (design, new))
    projected = new - design @ np.linalg.lstsq(inner, cross, rcond=None)[0]
    influence = np.einsum("na,nak->nk", errors, projected)
    score, statistics = influence.sum(axis=0), []
    model = np.einsum("nak,nac,ncl->kl", projected, expected, projected)
    for variance in (influence.T @ influence, model):
        statistics.append(score @ np.linalg.solve(variance, score))
    return float(chi2.sf(min(statistics), len(score)))


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("of_choice", [True, False])
def test_grouped_sums_give_the_score_test_of_the_observations(
    of_choice: bool, repeats: bool
) -> None:
    rng = np.random.default_rng(7)
    states = rng.integers(-2, 3, (600, 2)).astype(float) if repeats else rng.normal(size=(600, 2))
    actions = rng.integers(0, 3, 600)
    values = states[:, 0] + 0.1 * states[:, 1] + rng.normal(size=600)
    inputs, tensor = Inputs.of(states), torch.tensor(actions)
    outcome = Choice(tensor, (0, 2, 1)) if of_choice else NextValue(torch.tensor(values), tensor, 3)
    residuals = Residuals.of(outcome, group_rows(inputs, [0]))
    finer = group_rows(inputs, [1], residuals.groups)
    found, _ = score_test(residuals, finer, finer.z[:, 1:] ** torch.tensor([1.0, 2.0]))
    group = residuals.groups.group
    fitted, x = residuals.fitted[group].numpy(), residuals.design[group].numpy()
    errors = residuals.errors(slice(None)).numpy()
    if of_choice:
        information = (
            np.einsum("na,ac->nac", fitted, np.eye(2)) - fitted[:, :, None] * fitted[:, None]
        )
        expected = information
    else:
        taken = actions[:, None] == np.arange(3)
        variance = (errors**2).sum(axis=0) / taken.sum(axis=0)
        information, expected = (
            np.einsum("na,ac->nac", w, np.eye(3)) for w in (taken, taken * variance)
        )
    z = (states[:, 1:] - inputs.center[1]) / inputs.scale[1]
    plain = p_value(errors, information, x, np.hstack([z, z**2]), expected)
    assert found == pytest.approx(plain, rel=1e-5)


@pytest.mark.parametrize("rare", [0.5, 0.1, 0.03])
@pytest.mark.parametrize("skewed", [False, True])
def test_noise_is_not_selected(rare: float, skewed: bool) -> None:
    """Where few observations weigh much and an action is rare, robust variances let noise in."""
    selected = []
    for seed in range(6):
        rng = np.random.default_rng([26, seed])
        draws = rng.exponential(size=(2_000, 24)) if skewed else rng.normal(size=(2_000, 24))
        actions = torch.tensor((rng.uniform(size=2_000) < rare).astype(np.int64))
        selected.append(select_inputs(Inputs.of(draws), Choice(actions, (1, 0))).inputs)
    assert selected == [()] * 6
