"""The exhibit `gradients`: its steps are Algorithm 1's, its slopes those of the Hessian."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gladius.algorithm import Options, algorithm_1
from gladius.anchor import Anchor
from gladius.transitions import Counts
from proofs_checks.oracle import polyak
from reproduce.exhibits import gradients as exhibit
from reproduce.gradients import DECADE, PREDICTED, STEPS, Tables, decade, follow
from reproduce.landscape import Landscape, centre
from reproduce.spec import Array
from tests.reproduce.shown import failed, resized, results_of, written

LINES, REQUIREMENTS = exhibit.entries(True)


@cache
def tables(beta: float) -> Tables:
    return Tables.of(resized(LINES, beta=beta, trajectories=200).cell)[0]


def visits_hessian(data: Tables) -> Array:
    """M^-1/2 H M^-1/2 of R_emp at its minimiser, from the appendix's grouped notation."""
    sample, q = data.sample, centre(data.sample)
    hessian = polyak.share(sample) * Landscape(sample, "L_BE", q).hessian(q.ravel())
    hessian += Landscape(sample, "L_NLL", q).hessian(q.ravel())
    root = np.repeat(np.sqrt(sample.visits.sum(axis=1) / sample.size), 2)
    return np.asarray(hessian / root[:, None] / root)


def test_the_printed_steps_are_the_librarys() -> None:
    data = tables(0.95)
    sample = data.sample
    moves = np.swapaxes(sample.moves, 0, 1)[None]
    counts = Counts(np.arange(len(data.rows))[:, None] + 1.0, sample.visits[None], moves)
    told = {"tau_1": 0.3, "tau_2": 0.5, "iterations": 40, "tolerance": 0.0}
    options = Options(function_class="tabular", **told)  # type: ignore[arg-type]  # as they are
    rng = [np.random.default_rng(0)]
    run = algorithm_1(counts, Anchor(1, -5.0), 0.95, options, rng)
    step, both = data.printed(0.3, 0.5, False, False), np.zeros_like(data.minimiser)
    for _ in range(40):
        both = step(both)
    np.testing.assert_allclose(both[..., :2], run.q, atol=1e-10)
    np.testing.assert_allclose(both[..., 2:], run.zeta, atol=1e-10)


def test_every_step_rests_at_the_minimiser() -> None:
    data = tables(0.95)
    steps = (
        *(
            data.printed(0.3, 0.5, up, down)
            for up, down in ((False, False), (True, False), (True, True))
        ),
        *(data.exact(0.3, level) for level in (False, True)),
        *(data.solved, data.natural(0.5)),
    )
    for step in steps:
        np.testing.assert_allclose(step(data.minimiser), data.minimiser, atol=1e-9)
    assert data.distance(data.minimiser)[0] < 1e-12
    last, _ = data.newton(15)
    assert data.distance(last)[0] < 1e-8
    sample = data.sample
    gradient = Landscape(sample, "L_NLL", last[0, :, :2]).gradient(last[0, :, :2].ravel())
    assert np.abs(gradient).max() < 1e-8


@pytest.mark.parametrize("kind", ["zeta exact", "level closed", "V closed"])
def test_slopes_are_those_of_the_hessian(kind: str) -> None:
    """Eigenvalues of the Hessian, of its Schur complement off the level, and p (1 - p)."""
    data, tau = tables(0.8), 0.3
    hessian, root = visits_hessian(data), np.sqrt(data.sample.visits.sum(axis=1) / data.sample.size)
    step = {
        "zeta exact": data.exact(tau, False),
        "level closed": data.exact(tau, True),
        "V closed": data.solved,
    }[kind]
    near = data.minimiser + 0.01 * np.sin(np.arange(data.minimiser.size)).reshape(1, -1, 4)
    if (
        kind == "V closed"
    ):  # the states are apart, and the slowest is too rare to show beside others
        near = data.minimiser.copy()
        near[0, np.prod(data.sample.choices, axis=1).argmin(), 0] += 0.1
        rate = 4 * (data.sample.choices[:, 0] * data.sample.choices[:, 1]).min()
    else:
        shift = np.repeat(root, 2)  # a common shift of Q, in these coordinates
        if kind == "level closed":
            ahead = hessian @ shift
            hessian = hessian - np.outer(ahead, ahead) / (shift @ ahead)
        rate = tau * np.linalg.eigvalsh(hessian)[1 if kind == "level closed" else 0]
    predicted = -np.log(10) / np.log1p(-rate)
    start = data.with_zeta(near[..., :2])
    path = follow(data, step, start, last=int(12 * predicted))
    assert path.decade() == pytest.approx(predicted, rel=0.1)
    assert decade(data, step) == pytest.approx(predicted, rel=0.02)
    assert path.decade() != pytest.approx(2 * predicted, rel=0.1)


def test_files_and_their_numbers(tmp_path: Path) -> None:
    frame = written(exhibit.EXHIBIT, results_of(exhibit.EXHIBIT), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"gradients.png", "gradients_steps.tex"}
    value = frame.set_index(["row", "statistic"])["value"]
    rates = [value[name, f"{DECADE}, {PREDICTED}"] for name in ("zeta exact", "level closed")]
    assert rates[0] > 10 * rates[1] > 0
    predicted = value["V closed", f"{DECADE}, {PREDICTED}"]
    assert value["V closed", DECADE] == pytest.approx(predicted, rel=0.1)
    status = frame[frame["statistic"] == STEPS].set_index("row")["status"]
    assert status["plain, step 0.9, ratio 0.5"] == "diverged"  # below 2 beta - 1
    assert status["by visits, step 0.3, ratio 1"] == "not_converged"  # in 4,000 steps
    said = "Algorithm 1 diverges at 1 of 2 settings of its two steps, by visits at 0 of 2"
    assert exhibit.verdict(tmp_path).startswith(said)


def test_nothing_is_drawn_where_nothing_was_computed(tmp_path: Path) -> None:
    assert written(exhibit.EXHIBIT, failed(exhibit.EXHIBIT), tmp_path)["value"].isna().all()
