"""Algorithms 1 and 2 against autograd on raw rows, and the stability of their steps."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from bus_engine import KNOWN, rngs
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import transitions

import gladius
from gladius.designs.bus import BusEngine
from gladius.model.mdp import TabularMDP
from gladius.model.risk import grouped_risk
from gladius.panel.anchor import Anchor
from gladius.panel.record import Counts, Transitions, group
from gladius.paper import algorithm, rows, stability
from gladius.paper.function_classes import MLP
from gladius.validate import Array, InputError
from proofs_checks.claims.under_check import ascent_slope, descent

Tensor = torch.Tensor
BUS = BusEngine(horizon=20)
ANCHOR = Anchor(BUS.anchor_action, BUS.anchor_reward)
TABLES = st.floats(-5, 5)


def raw_rows(data: Transitions, states: Array) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Positions of s and s' on the grid, actions and ends, row by row."""

    def at(x: Array) -> Tensor:
        return torch.tensor([int(np.flatnonzero(np.all(states == row, axis=1))[0]) for row in x])

    return (
        at(data.states),
        torch.tensor(data.actions),
        at(data.next_states),
        torch.tensor(data.done),
    )


def dual_loss(q: Tensor, zeta: Tensor, batch: tuple[Tensor, ...]) -> Tensor:
    """D of the box, a sum over rows."""
    s, a, after, done = batch
    v = torch.where(done, 0.0, torch.logsumexp(q[after], 1))
    return ((v.detach() - zeta[s, a]) ** 2).sum()


def main_loss(
    q: Tensor,
    zeta: Tensor | None,
    first: tuple[Tensor, ...],
    second: tuple[Tensor, ...],
    anchor: Anchor,
    beta: float,
) -> Tensor:
    """L-bar_NLL over B2 plus L-bar_BE over B1, sums over rows; zeta None is Algorithm 2."""
    s, a, *_ = second
    nll = -torch.log_softmax(q[s], 1)[torch.arange(len(s)), a].sum()
    s, a, after, done = first
    v = torch.where(done, 0.0, torch.logsumexp(q[after], 1))
    assert isinstance(anchor.reward, float)
    term = (anchor.reward + beta * v - q[s, a]) ** 2
    if zeta is not None:
        term = term - beta**2 * (v - zeta[s, a].detach()) ** 2
    return nll + term[a == anchor.action].sum()


@settings(max_examples=60)
@given(
    data=st.data(), first=transitions(width=1), second=transitions(width=1), beta=st.floats(0, 1)
)
def test_written_slopes_are_those_of_autograd(
    data: st.DataObject, first: Transitions, second: Transitions, beta: float
) -> None:
    both = group([first, second])
    batches = [Counts(both.states, both.visits[i : i + 1], both.moves[i : i + 1]) for i in (0, 1)]
    plain = [raw_rows(one, both.states) for one in (first, second)]
    tables = data.draw(arrays(np.float64, (2, *both.visits.shape[1:]), elements=TABLES))
    q, zeta = (torch.tensor(x, requires_grad=True) for x in tables)
    anchor = Anchor(data.draw(st.integers(0, 2)), -1.25)
    reward = anchor.values(both.states)
    (slope,) = torch.autograd.grad(dual_loss(q, zeta, plain[1]), zeta)
    v = torch.logsumexp(q, 1).detach().numpy()[None]
    np.testing.assert_allclose(
        ascent_slope(tables[1:], v, batches[1])[0], slope.numpy(), atol=1e-10
    )
    for dual in (zeta, None):
        loss = main_loss(q, dual, plain[0], plain[1], anchor, beta)
        ours = descent(
            tables[:1],
            None if dual is None else tables[1:],
            batches[0],
            batches[1],
            anchor.action,
            reward,
            beta,
        )
        (slope,) = torch.autograd.grad(loss, q)
        assert float(ours.nll[0] + ours.bellman[0]) == pytest.approx(
            loss.item(), rel=1e-9, abs=1e-8
        )
        np.testing.assert_allclose(ours.slope[0], slope.numpy(), rtol=1e-9, atol=1e-8)
    risk = grouped_risk(tables[:1], batches[0], anchor.action, reward, beta, tables[1:])
    with_zeta = descent(tables[:1], tables[1:], batches[0], batches[1], anchor.action, reward, beta)
    np.testing.assert_allclose(with_zeta.bellman / batches[0].size, risk.bellman, atol=1e-9)


def network(theta: Tensor, x: Tensor, hidden: tuple[int, ...]) -> Tensor:
    """The tanh network from its flat parameters, as anyone would write it."""
    widths, at = (x.shape[1], *hidden, 2), 0
    for i, (fan_in, fan_out) in enumerate(pairwise(widths)):
        weight = theta[at : at + fan_in * fan_out].view(fan_in, fan_out)
        at += fan_in * fan_out
        x = x @ weight + theta[at : at + fan_out]
        at += fan_out
        x = torch.tanh(x) if i < len(hidden) else x
    return x


@pytest.mark.parametrize("optimiser", ["gradient", "adam"])
@pytest.mark.parametrize("function_class", ["tabular", "mlp"])
@pytest.mark.parametrize("deterministic", [False, True])
def test_iterations_are_those_of_a_plain_implementation(
    optimiser: str, function_class: str, deterministic: bool
) -> None:
    data = BUS.simulate(8, rngs(1, seed=4))[0]
    options = algorithm.Options(
        function_class=function_class,
        optimiser=optimiser,
        tau_1=0.05,
        tau_2=0.03,
        ascents=2,
        iterations=7,
        deterministic=deterministic,
    )
    whole, n = rows.whole_batch(data, ANCHOR), len(data)
    plain = raw_rows(data, whole.states)
    mean, spread = data.states.mean(axis=0), data.states.std(axis=0)
    x = torch.tensor((whole.states - mean) / spread)
    inputs = whole if function_class == "tabular" else whole._replace(states=x.numpy())
    result = algorithm.run(inputs, 2, ANCHOR.action, 0.9, options, rngs(1)[0])
    assert result.iterations == 7
    if function_class == "tabular":
        thetas = [torch.zeros((len(x), 2), dtype=torch.float64) for _ in range(2)]
    else:
        start = rngs(1)[0]
        thetas = [torch.tensor(MLP(1, 2).init([start])[0]) for _ in range(2)]

    def table(theta: Tensor) -> Tensor:
        return theta if function_class == "tabular" else network(theta, x, (10, 10))

    steppers = [
        (torch.optim.Adam if optimiser == "adam" else torch.optim.SGD)([theta], lr=tau)
        for theta, tau in zip(thetas, (0.03, 0.05), strict=True)
    ]
    for theta in thetas:
        theta.requires_grad_()
    for _ in range(7):
        for _ in range(0 if deterministic else 2):
            steppers[1].zero_grad()
            loss = dual_loss(table(thetas[0]), table(thetas[1]), plain) / n
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
            steppers[1].step()
        steppers[0].zero_grad()
        dual = None if deterministic else table(thetas[1])
        loss = main_loss(table(thetas[0]), dual, plain, plain, ANCHOR, 0.9) / n
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
        steppers[0].step()
    np.testing.assert_allclose(result.q, table(thetas[0]).detach(), rtol=1e-7, atol=1e-9)
    if not deterministic:
        np.testing.assert_allclose(result.zeta, table(thetas[1]).detach(), rtol=1e-7, atol=1e-9)


def small_world(beta: float, certain: bool) -> TabularMDP:
    reward = np.array([[-1.0, -0.5], [0.4, -0.5], [-0.3, -0.5]])
    stay = [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]]
    law = np.array(
        [np.roll(np.eye(3), 1, axis=1) if certain else stay, np.tile([1.0, 0, 0], (3, 1))]
    )
    if not certain:
        law[1] = [0.6, 0.2, 0.2]
    return TabularMDP(reward, law, beta, np.full(3, 1 / 3))


@pytest.mark.parametrize("deterministic", [False, True])
def test_it_finds_the_truth_where_it_is_stable(deterministic: bool) -> None:
    world = small_world(0.6, certain=deterministic)
    options = algorithm.Options(
        function_class="tabular",
        tau_1=1.0,
        tau_2=0.5,
        iterations=20_000,
        tolerance=1e-9,
        deterministic=deterministic,
    )
    whole = rows.of_counts(stability.expected_counts(world, 10), 0, Anchor(1, -0.5))
    result = algorithm.run(whole, 2, 1, 0.6, options, rngs(1)[0])
    assert result.status == "ok"
    zeta = result.zeta
    if deterministic:  # every pair has one next state
        zeta = algorithm.ObservedNext.of(whole, np.log(np.exp(result.q).sum(axis=1)), 2)(
            whole.states
        )
    np.testing.assert_allclose(result.q, world.solution.q, atol=1e-5)
    np.testing.assert_allclose(result.q - 0.6 * zeta, world.reward, atol=1e-5)


def test_where_zeta_lags_it_diverges_and_says_so() -> None:
    data = BUS.simulate(10, rngs(2))
    data[1] = data[0]
    settings: dict[str, Any] = {"protocol": "printed", "function_class": "tabular", "tau_2": 0.1}
    fits = gladius.fit(data, "gladius", iterations=2_000, tau_1=0.02, **settings, **KNOWN)
    for estimate in fits:
        assert estimate.diagnostics.status == "diverged"
        assert not estimate.diagnostics.converged
        assert 0 < estimate.diagnostics.iterations < 2_000
        assert abs(estimate.reward(np.array([[1.0]]), 0)[0]) > 100  # kept, not hidden
    steady = gladius.fit(data, "gladius", iterations=2_000, tau_1=1.0, **settings, **KNOWN)
    assert {e.diagnostics.status for e in steady} == {"not_converged"}
    track = steady[0].diagnostics.extra["trace_bellman"]
    assert np.abs(np.asarray(track)).max() < 100


def test_algorithm_2_reads_the_reward_off_the_observed_successor() -> None:
    data = BUS.simulate(6, rngs(1))
    (estimate,) = algorithm.fit(
        data, ANCHOR, 0.95, deterministic=True, function_class="tabular", tau_2=0.1, iterations=200
    )
    q = estimate.q(np.array([[1.0], [2.0]]))
    after = np.log(np.exp(q[0]).sum())  # replacing leads to mileage 1
    assert estimate.reward(np.array([[2.0]]), 1)[0] == pytest.approx(q[1, 1] - 0.95 * after)


def test_map_agrees_with_the_algorithm_run_cell_by_cell() -> None:
    world = small_world(0.9, certain=False)
    counts, anchor = stability.expected_counts(world, 10), Anchor(1, -0.5)
    ratios, repeats, betas = [0.1, 3.0], [1, 2], [0.4, 0.9]
    found = stability.stability(counts, anchor, ratios, repeats, betas, tau_2=0.2, iterations=700)
    assert found.diverged.any()
    assert not found.diverged.all()
    for i, beta in enumerate(betas):
        for j, ascents in enumerate(repeats):
            for k, ratio in enumerate(ratios):
                options = algorithm.Options(
                    function_class="tabular",
                    tau_1=0.2 * ratio,
                    tau_2=0.2,
                    ascents=ascents,
                    iterations=700,
                    tolerance=0.0,
                )
                whole = rows.of_counts(counts, 0, anchor)
                cell = algorithm.run(whole, 2, 1, beta, options, rngs(1)[0])
                assert (cell.status == "diverged") == found.diverged[i, j, k]
                assert cell.iterations == found.iterations[i, j, k]


def test_growth_is_the_rate_at_which_a_small_error_grows() -> None:
    counts, anchor = stability.expected_counts(small_world(0.9, certain=False), 10), Anchor(1, -0.5)
    tau, ratio, beta = 0.1, 0.2, 0.9
    found = stability.stability(counts, anchor, [ratio], [1], [beta], tau_2=tau, iterations=1)
    q, zeta = stability.stationary_point(counts, anchor, np.array([beta]))
    reward = anchor.values(counts.states)
    goal, size = q.copy(), counts.size[0]
    q = q + 1e-10
    gaps = []
    for _ in range(3_000):
        v = np.log(np.exp(q).sum(axis=2))
        zeta = zeta - tau * ratio * ascent_slope(zeta, v, counts) / size
        q = q - tau * descent(q, zeta, counts, counts, 1, reward, beta).slope / size
        gaps.append(np.abs(q - goal).max())
    measured = np.log(gaps[-1] / gaps[-1_501]) / 1_500 / tau
    assert found.growth[0, 0, 0] > 0.05
    assert found.growth[0, 0, 0] == pytest.approx(measured, rel=0.02)


def test_map_needs_every_action_everywhere() -> None:
    with pytest.raises(InputError, match="counts"):
        stability.stability(group(BUS.simulate(2, rngs(1))), ANCHOR, [1.0], [1], [0.9])
