"""IQ-Learn: what its objective is, where its minimum lies, and that no anchor pins its reward."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from bus_engine import ANCHOR, BUS, MDP, Array
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import logsumexp
from strategies import transitions

from gladius.baselines import iq_learn
from gladius.baselines.iq_learn import make_table, minimum
from gladius.designs.bus import BusEngine
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions, group
from gladius.solvers import networks
from gladius.validate import InputError

GRID = MDP.features
ALPHAS = st.sampled_from([0.1, 0.5, 2.0, 50.0])
QUARTERS = st.integers(-12, 12).map(lambda n: n / 4)
FEW = transitions(
    max_rows=12, elements=st.integers(0, 3).map(float), actions=2, max_trajectories=1, width=1
)
NETWORK: dict[str, Any] = {"function_class": "network"}


def fitted(data: Transitions, **options: Any) -> Any:
    return iq_learn.fit([data], ANCHOR, 0.95, **options)[0]


def plain_objective(
    q: Array, grid: Array, data: Transitions, alpha: float, beta: float, extra: float
) -> float:
    """N f by a walk over the rows, written from the formula; q (S, A) on the sorted grid (S,)."""
    rows = [
        (int(np.searchsorted(grid, s)), int(a), int(np.searchsorted(grid, t)), bool(end))
        for s, a, t, end in zip(
            data.states[:, 0], data.actions, data.next_states[:, 0], data.done, strict=True
        )
    ]
    v = np.array([np.log(np.sum(np.exp(x - x.max()))) + x.max() for x in q])
    total = extra * float(np.sum(v[:, None] - q))
    for s, a, _, _ in rows:
        after = np.mean([0.0 if f else v[u] for x, b, u, f in rows if (x, b) == (s, a)])
        total += v[s] - q[s, a] + (q[s, a] - beta * after) ** 2 / (4 * alpha)
    return float(total)


def tables(data: Transitions) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (len(group(data).states), 2), elements=QUARTERS)


@settings(max_examples=80)
@given(FEW, ALPHAS, st.sampled_from([0.0, 0.5]), st.data())
def test_the_objective_is_the_sum_over_rows(
    data: Transitions, alpha: float, extra: float, draw: st.DataObject
) -> None:
    counts = group(data)
    assume(extra > 0 or np.all(counts.visits > 0))
    q = draw.draw(tables(data))
    expected = plain_objective(q, counts.states[:, 0], data, alpha, 0.9, extra)
    objective = make_table(counts, 0.9, alpha, extra).objective(torch.from_numpy(q)).item()
    assert objective == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_start_does_not_matter() -> None:
    data = BUS.simulate(20, np.random.default_rng(1))
    plain = fitted(data)
    counts = group(data)
    table = make_table(counts, 0.95)
    start = table.start.numpy()
    for seed in range(8):
        first = start + 5.0 * np.random.default_rng(seed).normal(size=start.shape)
        end = minimum(table, first)
        assert end.converged[0]
        assert end.iterations[0] > plain.diagnostics.iterations, "control: the starts are far"
        np.testing.assert_allclose(end.x.reshape(-1, 2), plain.q(counts.states), atol=1e-7)


def test_states_never_left_lend_no_choices() -> None:
    states, after = np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0, 1.0, 9.0])
    data = Transitions(states, np.array([0, 1, 0, 1, 1]), after, number_of_actions=2)
    ours = iq_learn.fit([data], Anchor(0, 0.0), 0.9)[0]
    np.testing.assert_allclose(ours.policy(np.array([9.0])), 0.5, atol=1e-6)
    far = np.array([8.0, 20.0])
    np.testing.assert_array_equal(ours.q(far), ours.q(np.array([1.0, 1.0])))
    assert np.all(np.isfinite(ours.reward_function(np.array([[8.0], [9.0], [-3.0]]))))


def test_the_network_minimises_its_sum_over_rows() -> None:
    data = BUS.simulate(100, np.random.default_rng(7))
    network = fitted(data, **NETWORK)
    q, after = network.q(data.states), logsumexp(network.q(data.next_states), axis=1)
    chosen = q[np.arange(len(data)), data.actions]
    plain = logsumexp(q, axis=1) - chosen + (chosen - 0.95 * after) ** 2 / 2
    assert network.diagnostics.extra["objective"] == pytest.approx(plain.mean(), rel=1e-9)
    assert network.diagnostics.converged
    assert network.diagnostics.gradient_norm <= iq_learn.TRAINING.tolerance
    # the variance that rows add to the penalty, over 4 alpha = 2, moves the minimum by little
    table = fitted(data)
    gap = np.abs(network.q(GRID[:5]) - table.q(GRID[:5])).max()
    assert gap > 0.02
    np.testing.assert_allclose(network.policy(GRID[:5]), table.policy(GRID[:5]), atol=0.05)


def test_a_level_that_the_rows_leave_open_is_reported_and_stays() -> None:
    """One row from 0 to 1: its reward is 0 at any level of V(0) and V(1) that fits together."""
    data = Transitions(np.zeros(1), np.zeros(1, dtype=int), np.ones(1), number_of_actions=2)
    ours = iq_learn.fit([data], Anchor(0, 0.0), 0.9)[0]
    assert ours.diagnostics.converged
    assert ours.diagnostics.extra["flat_directions"] == 1
    np.testing.assert_allclose(ours.policy(np.zeros(1))[0, 0], 0.75, atol=0.1)
    table = make_table(group(data), 0.9)
    first = torch.from_numpy(ours.q(np.arange(2.0)))
    shift = torch.tensor([[0.9], [1.0]]).double()  # V(0) = .9 V(1)
    assert table.objective(first + 3.0 * shift) == pytest.approx(table.objective(first))
    assert (shift * (first - table.start)).sum().item() == pytest.approx(0.0, abs=1e-8)
    full = fitted(BUS.simulate(10, np.random.default_rng(0)))
    assert full.diagnostics.extra["flat_directions"] == 0


def test_a_sample_drawn_stands_for_all_observations() -> None:
    """The mean of the losses of drawn transitions is the full loss, up to sampling error."""
    sample = iq_learn.stack([BUS.simulate(20, np.random.default_rng(9))])
    theta = [torch.tensor([[[0.1, -0.2]]]).double(), torch.tensor([[[1.0, 0.5]]]).double()]
    drawn = sample.draw([np.random.default_rng(0)], 40_000)
    skewed = replace(sample, share=sample.share**0 / sample.share.numel())
    full, other, wrong = (iq_learn.losses(theta, x, 0.95).item() for x in (sample, drawn, skewed))
    assert other == pytest.approx(full, rel=0.02)
    assert wrong != pytest.approx(full, rel=0.02)


def test_the_network_works_where_the_table_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    data = BusEngine(dummies=3).simulate(60, np.random.default_rng(0))
    with pytest.raises(InputError, match=r"^states ="):
        fitted(data)
    ends = []
    for steps in (1, 150):
        monkeypatch.setattr(iq_learn, "TRAINING", replace(iq_learn.TRAINING, steps=steps))
        ends.append(fitted(data, **NETWORK).diagnostics)
    assert ends[1].status == "not_converged"
    assert ends[1].iterations == 150
    assert ends[1].extra["objective"] < ends[0].extra["objective"] - 0.1
    monkeypatch.setattr(networks, "LEARNING_RATE", 1e200)
    assert fitted(data, **NETWORK).diagnostics.status == "diverged"


@settings(max_examples=80)
@given(
    arrays(np.float64, (4, 2), elements=QUARTERS),
    arrays(np.float64, (4, 2), elements=QUARTERS),
    arrays(np.int64, 4, elements=st.integers(0, 1)),
    arrays(np.bool_, 4),
    ALPHAS,
)
def test_the_network_loss_is_the_formula(
    q: Array, q_next: Array, actions: NDArray[np.int64], done: NDArray[np.bool_], alpha: float
) -> None:
    """Features that are the Q-values themselves, through the identity network."""
    data = Transitions(q, actions, q_next, done=done, number_of_actions=2)
    sample = iq_learn.stack([data])
    identity = [torch.eye(2, dtype=torch.float64)[None], torch.zeros(1, 1, 2, dtype=torch.float64)]
    loss = iq_learn.losses(identity, sample, 0.9, alpha)[0].item()
    each = []
    for i, a in enumerate(actions):
        after = 0.0 if done[i] else np.log(np.exp(q_next[i]).sum())
        each.append(
            np.log(np.exp(q[i]).sum()) - q[i, a] + (q[i, a] - 0.9 * after) ** 2 / (4 * alpha)
        )
    assert loss == pytest.approx(np.mean(each), rel=1e-9, abs=1e-12)
