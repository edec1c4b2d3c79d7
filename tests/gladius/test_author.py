"""The fast `author` protocol against a slow, plain one: autograd, raw rows, torch's own AdamW."""

import math

import numpy as np
import pytest
import torch
from bus_engine import rngs

from gladius.designs.bus import BusEngine
from gladius.designs.metrics import mape
from gladius.model.estimate import Estimate
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.paper import author
from gladius.paper.author_network import Layout
from gladius.solvers.compiled import IS_COMPILED
from gladius.validate import InputError
from reproduce.cells.by_observation import Network, loss, rows_of, train

ANCHOR, DISCOUNT, REWARD = 1, 0.95, -5.0
ANCHORED = Anchor(ANCHOR, REWARD)
BUS = BusEngine(horizon=12)


def starting_nets(number: int, units: int, level: float) -> list[Network]:
    layout = Layout(1, (units, units), 2)
    starts = (layout.blocks(layout.initial(level, rng)) for rng in rngs(number))
    return [Network(start, torch.float64) for start in starts]


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("level", [True, False])
def test_whole_sequence_of_steps_is_that_of_the_plain_implementation(
    absolute: bool, level: bool, uncompiled: None
) -> None:
    data = BUS.simulate(11, rngs(2, seed=5))  # 4 batches of 3, 3, 3, 2 trajectories
    result = author.run(
        data,
        ANCHORED,
        DISCOUNT,
        rngs=rngs(2),
        level_from_truth=level,
        absolute=absolute,
        epochs=6,
        units=7,
        batch_trajectories=3,
        dtype=np.float64,
    )
    nets = starting_nets(2, 7, -55.0 if level else 0.0)
    for r, net in enumerate(nets):
        before = net(torch.tensor(result.counts.states))[0].detach().numpy()
        assert len(list(train(net, data[r], 6, 3, BUS, absolute))) == 6
        q, zeta = (x.detach().numpy() for x in net(torch.tensor(result.counts.states)))
        assert np.abs(q - before).max() > 1e-3  # it moved
        np.testing.assert_allclose(result.last.q[r], q, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(result.last.zeta[r], zeta, rtol=1e-9, atol=1e-9)
        net.zero_grad()
        loss(net, rows_of(data[r], torch.float64), True, BUS, absolute).backward()
        steepest = max(float(p.grad.abs().max()) for p in net.parameters() if p.grad is not None)
        assert result.last.gradient[r] == pytest.approx(steepest, rel=1e-8)


@pytest.mark.parametrize("absolute", [True, False])
def test_a_pass_is_the_plain_training_and_the_next_continues_it(
    absolute: bool, uncompiled: None, split: tuple[list[Transitions], list[Transitions]]
) -> None:
    train_sets, test_sets = split
    data, test, epochs = train_sets[0], test_sets[0], 5
    layout = Layout(1, (7, 7), 2)
    start = layout.initial(-55.0, rngs(1)[0])
    found = author.passes(
        data,
        ANCHORED,
        DISCOUNT,
        author.Oracle([test], BUS.reward),
        start=start,
        repetitions=2,
        absolute=absolute,
        epochs=epochs,
        units=7,
        batch_trajectories=4,
    )
    net = Network(layout.blocks(start), torch.float64)
    states, paths = torch.tensor(test.states), []
    tables = []
    for _ in train(net, data, epochs, 4, BUS, absolute, repetitions=2):
        q, zeta = (x.detach().numpy() for x in net(states))
        chosen = (q - DISCOUNT * zeta)[np.arange(len(test)), test.actions]
        truth = BUS.reward(test.states, test.actions)
        paths.append(100 * np.mean(np.abs((chosen - truth) / truth)))
        tables.append(q)
    assert np.ptp(paths) > 1e-3  # it moved
    # 40 steps of AdamW of at most .001 each amplify rounding of 1e-16 far less than 1e-9
    np.testing.assert_allclose(np.concatenate([one.trace for one in found]), paths, rtol=1e-9)
    for one, of in zip(found, (paths[:epochs], paths[epochs:]), strict=True):
        best, last = (int(at.epoch[0]) for at in (one.best, one.last))
        assert (best, last) == (int(np.argmin(of)), epochs - 1)
    for at, number in ((found[1].best, epochs + np.argmin(paths[epochs:])), (found[1].last, -1)):
        q = at.combination(0, 0.0, test.states)
        np.testing.assert_allclose(q, tables[number], rtol=1e-9)


@pytest.mark.skipif(not IS_COMPILED, reason="numba is not installed")
def test_compiled_and_plain_trainings_are_equal_to_rounding(
    split: tuple[list[Transitions], list[Transitions]], request: pytest.FixtureRequest
) -> None:
    found = run_short(*split, epochs=4)
    request.getfixturevalue("uncompiled")
    expected = run_short(*split, epochs=4)
    assert found.oracle is not None
    assert expected.oracle is not None
    np.testing.assert_array_equal(found.oracle.epoch, expected.oracle.epoch)
    for one, other in ((found.last, expected.last), (found.oracle, expected.oracle)):
        np.testing.assert_allclose(one.q, other.q, rtol=1e-6)
        rewards = (selection.q - DISCOUNT * selection.zeta for selection in (one, other))
        np.testing.assert_allclose(*rewards, atol=2e-5)  # five units of -55


@pytest.fixture(scope="module")
def split() -> tuple[list[Transitions], list[Transitions]]:
    sets = [one.split(0.8) for one in BUS.simulate(20, rngs(3, seed=9))]
    return [s[0] for s in sets], [s[1] for s in sets]


def run_short(
    train: list[Transitions], test: list[Transitions] | None, **options: object
) -> author.AuthorResult:
    oracle = None if test is None else author.Oracle(test, BUS.reward)
    settings = {"epochs": 30, "units": 8, "batch_trajectories": 4, **options}
    return author.run(
        train,
        ANCHORED,
        DISCOUNT,
        rngs=rngs(3),
        oracle=oracle,
        **settings,  # type: ignore[arg-type]
    )


def test_oracle_takes_the_epoch_of_smallest_true_error(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    train, test = split
    result = run_short(train, test)
    assert result.oracle is not None
    path = np.zeros((29, 3))
    for i in range(29):
        early = run_short(train, None, epochs=i + 1)
        path[i] = errors(author.estimates(early, ANCHORED, DISCOUNT, "last"), test)
    reported = errors(author.estimates(result, ANCHORED, DISCOUNT, "oracle"), test)
    is_trained = result.oracle.epoch > 0  # else the untrained network is better than all others
    assert is_trained.any()
    np.testing.assert_array_equal(result.oracle.epoch[is_trained], 1 + path.argmin(0)[is_trained])
    np.testing.assert_allclose(reported[is_trained], path.min(0)[is_trained], rtol=1e-4)
    assert np.all(reported <= path.min(0) * (1 + 1e-4))
    assert result.oracle.gradient.shape == (3,)


def errors(estimates: list[Estimate], test: list[Transitions]) -> np.ndarray:
    """Test MAPEs; 4 test trajectories are one batch, so that the code's mean is the overall one."""
    return np.array([mape(e, t, BUS.reward) for e, t in zip(estimates, test, strict=True)])


def test_estimates_extend_to_unseen_states_and_tell_divergence(
    split: tuple[list[Transitions], list[Transitions]],
) -> None:
    train, _ = split
    result = run_short(train, None, epochs=2)
    estimate = author.estimates(result, ANCHORED, DISCOUNT, "last")[1]
    assert estimate.q(np.array([[20.0], [31.5]])).shape == (2, 2)
    np.testing.assert_allclose(estimate.q(result.counts.states), result.last.q[1], rtol=1e-6)
    assert estimate.diagnostics.status == "not_converged"
    assert not estimate.diagnostics.converged
    choices = -np.log(estimate.policy(train[1].states)[np.arange(len(train[1])), train[1].actions])
    assert estimate.diagnostics.nll == pytest.approx(choices.mean(), rel=1e-6)
    result.last.q[1, 0, 0] = math.nan
    broken = author.estimates(result, ANCHORED, DISCOUNT, "last")
    found = [e.diagnostics.status for e in broken]
    assert found == ["not_converged", "diverged", "not_converged"]


def test_bad_input_is_named(split: tuple[list[Transitions], list[Transitions]]) -> None:
    train, test = split
    with pytest.raises(InputError, match="rngs"):
        author.run(train, ANCHORED, DISCOUNT, rngs=rngs(2))
    with pytest.raises(InputError, match=r"oracle\.test"):
        run_short(train, test[:1])
    never = Transitions(
        train[0].states, np.zeros_like(train[0].actions), train[0].next_states, train[0].trajectory
    )
    with pytest.raises(InputError, match="start"):
        author.passes(
            train[0], ANCHORED, DISCOUNT, author.Oracle(test[:1], BUS.reward), start=np.zeros(3)
        )
    with pytest.raises(InputError, match="never occurs"):
        author.run([never], ANCHORED, DISCOUNT, rngs=rngs(1), batch_trajectories=4)
    with pytest.raises(InputError, match="equal numbers"):
        author.run(
            [train[0], BUS.simulate(3, rngs(1))[0]],
            ANCHORED,
            DISCOUNT,
            rngs=rngs(2),
            batch_trajectories=4,
        )
