"""Algorithm 1 with networks on the public data: its start, its rule, and how it ended."""

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from gladius.designs.bus import BusEngine
from gladius.model.estimate import Diagnostics, Estimate
from gladius.panel.anchor import Anchor
from gladius.paper import algorithm, rows
from gladius.paper.training import SEPARATE, Layout, iterate, training
from reproduce.cells import printed_trainings, public_baselines
from reproduce.cells.printed_trainings import LEVELS, RATES, compute, held_out_loss
from reproduce.engine.nouns import Record, Result, drawn
from reproduce.engine.view import View
from reproduce.exhibits import figure_1
from reproduce.paper import compare, published
from reproduce.paper.verdicts import Comparison
from tests.reproduce.smoke_results import stored, written

BUS = BusEngine()
DATA = BUS.simulate(20, 3)


def test_a_start_at_a_level_is_one_at_zero_with_another_reward_of_the_anchor() -> None:
    """After 50 steps of both kinds the outputs differ by the level, and r-hat by its share."""
    level, beta = LEVELS[1], BUS.discount
    shift = (1 - beta) * level
    layout = Layout(SEPARATE, 1, (10, 10), 2, True)
    start = np.random.default_rng(0).normal(size=layout.size) / 3
    shifted = start.copy()
    model = layout.blocks(shifted)
    for net in (model.zeta, model.q):
        net.level[:] += level
    found = []
    for vector, reward in ((shifted, BUS.anchor_reward), (start, BUS.anchor_reward - shift)):
        whole = rows.whole_batch(DATA, Anchor(BUS.anchor_action, reward))
        whole = whole._replace(states=whole.states / 10 - 0.5)
        learner = training(layout, vector, len(whole.states), is_adam=False)
        options = BUS.anchor_action, beta, rows.PRINTED, 1, 0.1, 0.1, 50, algorithm.BLOW_UP
        assert iterate(learner, whole, *options)[0] == 50
        algorithm.gradient(learner, whole, 1, BUS.anchor_action, beta, rows.PRINTED)
        found.append((learner.at.q.copy(), learner.at.zeta.copy()))
        assert np.abs(learner.parameters - vector).max() > 1e-2
    (q, zeta), (q_0, zeta_0) = found
    np.testing.assert_allclose(q, q_0 + level, rtol=1e-10)
    np.testing.assert_allclose(q - beta * zeta, q_0 - beta * zeta_0 + shift, rtol=0, atol=1e-9)


def planted(noise: float, status: str = "ok") -> Estimate:
    """The true Q and r with noise on both."""
    rng = np.random.default_rng(1)
    tables = [x + noise * rng.normal(size=x.shape) for x in (BUS.mdp.solution.q, BUS.mdp.reward)]
    q, r = (lambda states, x=x: x[states[:, 0].astype(int) - 1] for x in tables)
    extra: dict[str, Any] = {}
    return Estimate(
        "planted", q, r, 1, Diagnostics(True, 4, 0, 0, 0, 0, status=status, extra=extra)
    )


def test_the_loss_is_that_of_the_public_code() -> None:
    """From Q, zeta and V as the paper has them: td^2 - beta^2 dev^2."""
    fit, beta = planted(0.5), BUS.discount
    anchor = Anchor(BUS.anchor_action, BUS.anchor_reward)
    q, at = fit.q(DATA.states), (np.arange(len(DATA)), DATA.actions)
    zeta = (q - fit.reward_function(DATA.states)) / beta
    v = logsumexp(fit.q(DATA.next_states), axis=1)
    td, dev = BUS.anchor_reward + beta * v - q[at], v - zeta[at]
    term = np.abs(td**2 - beta**2 * dev**2)[DATA.actions == BUS.anchor_action]
    expected = np.mean(logsumexp(q, axis=1) - q[at]) + term.mean()
    assert held_out_loss(fit, DATA, anchor, beta) == pytest.approx(expected, rel=1e-12)
    assert held_out_loss(planted(0.5, "diverged"), DATA, anchor, beta) == np.inf


def test_the_rate_of_least_held_out_loss_is_trained_to_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noises, asked = {0.1: 0.3, 0.01: 0.1, 0.001: 0.2}, []

    def fit(data: Any, anchor: Any, discount: float, **options: Any) -> list[Estimate]:
        asked.append((options["tau_1"], options["tau_2"], options["iterations"]))
        return [planted(noises[options["tau_1"]], statuses.get(options["tau_1"], "ok"))]

    monkeypatch.setattr(algorithm, "fit", fit)
    statuses: dict[float, str] = {}
    cell = printed_trainings.training(0, "gradient", 0.0)
    result = compute(cell)
    assert asked == [(rate, rate, 2_000) for rate in RATES] + [(0.01, 0.01, 20_000)]
    assert result.records[1] == Record("rate", 0.01)
    assert np.argmin(result.replications["loss"]) == 1
    statuses |= dict.fromkeys(RATES, "diverged")
    assert compute(cell).records[1] == Record("rate", 0.001, status="diverged")


def test_a_training_that_leaves_the_limit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = printed_trainings.training(0, "gradient", -55.0, smoke=True)
    assert cell.settings["long"]
    result = compute(cell)
    assert {x.status for x in result.records} == {"not_converged"}
    assert 0 < result.records[0].value < 1e3
    monkeypatch.setattr(printed_trainings, "RATES", (1e3,))
    failed = compute(cell)
    assert {x.status for x in failed.records} == {"diverged"}
    assert failed.replications["loss"] == [np.inf]


def test_figure_1_names_its_short_form_and_compares_none(tmp_path: Any) -> None:
    """Where no training of hours is stored; else the short form is not drawn."""
    listed = figure_1.EXHIBIT.checked_entries(False)
    ends = {name: [8.0] for name, _ in figure_1.ENDS.values()}
    of_baselines = [statistic for statistic, _ in public_baselines.ENDS.values()]
    records = (Record(name, 8.0, status="not_converged") for name in ("MAPE", *of_baselines))
    score = Result(tuple(records), {"MAPE": [8.0] * 2, **ends})
    for is_long in (False, True):
        entries = drawn(listed, lambda cell, is_long=is_long: is_long)
        results = View(entries, [stored(score) for _ in entries], False, figure_1.EXHIBIT.view)
        frame = written(figure_1.EXHIBIT, results, tmp_path)
        of_table = (tmp_path / "figure_1.md").read_text("utf-8")
        assert ("short form, 1,500 epochs" in of_table) is not is_long
        assert frame["protocol"].str.contains("short form, 1,500 epochs").any() != is_long
        compared = compare.compare(figure_1.EXHIBIT, tmp_path)
        assert not compared["protocol"].str.contains("short form").any()
    own = compared[compared["protocol"].str.startswith(published.PRINTED)]
    assert len(own) == 4 * 5
    assert set(own["verdict"]) == {Comparison.SAME_DATA}
    assert not own["counted"].any()
    table = (tmp_path / "figure_1_printed.md").read_text("utf-8")
    assert table.count("8.00†") == 5 * 5
