"""The one trainer against autograd on raw rows: rows, slopes, gradients, draws and long work."""

from pathlib import Path

import numpy as np
import plain_training as plain
import pytest
import torch
from bus_engine import rngs
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from interrupted import check_that_it_goes_on
from strategies import transitions

from gladius.designs.bus import BusEngine
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions, group
from gladius.paper import author, box, rows, training
from gladius.paper.algorithm import Options, fit, run
from gladius.paper.training import SEPARATE, TABLES, TRUNK, ZETA, Layout, Q
from gladius.validate import InputError

TERMS = {rows.PRINTED: "printed", rows.ABSOLUTE: "absolute", rows.DETERMINISTIC: "deterministic"}
BUS = BusEngine(horizon=12)
ANCHOR = Anchor(1, -5.0)


def mileage_reward(states: np.ndarray) -> np.ndarray:
    return np.asarray(-1.0 - states[:, 0] ** 2 / 8)


@settings(max_examples=40)
@given(
    data=st.data(),
    one=transitions(elements=st.integers(-2, 2).map(float) | st.floats(-2, 2)),
    kind=st.sampled_from([TABLES, TRUNK, SEPARATE]),
    is_tanh=st.booleans(),
    per_anchor=st.booleans(),
    term=st.sampled_from(list(TERMS)),
    beta=st.floats(0, 1),
)
def test_gradients_of_every_loss_are_those_of_autograd(
    data: st.DataObject,
    one: Transitions,
    kind: int,
    is_tanh: bool,
    per_anchor: bool,
    term: int,
    beta: float,
) -> None:
    """Ends of paths, three actions and an anchor's reward that depends on the state included."""
    anchor = Anchor(int(data.draw(st.sampled_from(sorted(set(one.actions))))), mileage_reward)
    label = np.zeros(len(one), dtype=np.int64)
    batch = rows.cut(rows.batches(one, label, anchor, per_anchor=per_anchor), 0)
    features = len(batch.states) if kind == TABLES else one.states.shape[1]
    layout = Layout(kind, features, (3, 2), 3, is_tanh)
    numbers = arrays(np.float64, layout.size, elements=st.floats(-2, 2))
    theta = data.draw(numbers)
    learner = training.training(layout, theta, len(batch.states))
    of, whole = plain.rows_of(one, anchor), torch.tensor(theta, requires_grad=True)
    if kind == TABLES:
        grid = [(x[:, None] == batch.states).all(axis=2) for x in (one.states, one.next_states)]
        states, following = (torch.tensor(x.astype(float)) for x in grid)
        of = of._replace(states=states, next_states=following)
    nll, terms = plain.descent(layout, whole, of, anchor, beta, TERMS[term])
    mean = len(terms) if per_anchor else len(one)
    losses = {
        ZETA: plain.ascent(layout, whole, of).sum() / (1 if per_anchor else len(one)),
        Q: nll.mean() + terms.sum() / mean,
    }
    for own, loss in losses.items():
        part = slice(*layout.ends[own])
        returned = training.gradient(learner, batch, own, anchor.action, beta, term)
        (slope,) = torch.autograd.grad(loss, whole, retain_graph=True)
        scale = max(1.0, float(slope.abs().max()))
        np.testing.assert_allclose(learner.gradient[part], slope[part], atol=1e-10 * scale)
        if own == Q:
            value = (
                loss.item() if term != rows.ABSOLUTE else (nll.mean() + terms.sum() / mean).item()
            )
            found = returned[0] + returned[2 if term == rows.ABSOLUTE else 1]
            assert found == pytest.approx(value, rel=1e-10, abs=1e-10)


@given(one=transitions(), data=st.data())
def test_rows_hold_every_observation_once(one: Transitions, data: st.DataObject) -> None:
    number = data.draw(st.integers(1, 3))
    label = data.draw(arrays(np.int64, len(one), elements=st.integers(0, number - 1)))
    label = np.unique(label, return_inverse=True)[1]
    found = rows.batches(one, label, Anchor(0, -1.0), per_anchor=True)
    for i in range(label.max() + 1):
        batch, of = rows.cut(found, i), label == i
        after = np.where(one.done[:, None], np.nan, one.next_states)
        expected = np.column_stack([one.states, one.actions, after])[of]
        ends = np.where(batch.following[:, None] < 0, np.nan, batch.states[batch.following])
        mine = np.column_stack([batch.states[batch.state], batch.action, ends])
        mine = np.repeat(mine, batch.number.astype(int), axis=0)
        for x in (expected, mine):
            x[np.isnan(x)] = 1e9
        assert sorted(map(tuple, mine)) == sorted(map(tuple, expected))
        assert batch.anchored.sum() == np.sum(one.actions[of] == 0)
        used = np.concatenate([batch.state, batch.following[batch.following >= 0]])
        assert np.array_equal(np.unique(used), np.arange(len(batch.states)))


@given(one=transitions(width=1))
def test_counts_and_observations_are_the_same_rows(one: Transitions) -> None:
    anchor = Anchor(0, mileage_reward)
    first, second = rows.whole_batch(one, anchor), rows.of_counts(group([one]), 0, anchor)

    def sorted_rows(batch: rows.Batch) -> list[tuple[float, ...]]:
        after = np.where(batch.following < 0, 1e9, batch.states[batch.following, 0])
        columns = batch.states[batch.state, 0], batch.action, after, batch.number, batch.anchored
        return sorted(map(tuple, np.column_stack([*columns, batch.reward[batch.state]])))

    assert sorted_rows(first) == sorted_rows(second)
    np.testing.assert_allclose(first.share, second.share)


@given(one=transitions(), size=st.integers(1, 40), seed=st.integers(0, 99), all_=st.booleans())
def test_batches_are_drawn_from_what_was_observed(
    one: Transitions, size: int, seed: int, all_: bool
) -> None:
    whole = rows.whole_batch(one, ANCHOR)
    ends = np.cumsum(whole.number)
    for is_one in (True, False):
        rng = np.random.default_rng(seed)
        batch = rows.draw(whole, ends, size, rng, keep_states=all_, is_one=is_one)
        is_drawn_anchor = batch.action == ANCHOR.action
        if is_one:  # Algorithm 2 has one batch
            assert np.array_equal(batch.anchored[is_drawn_anchor], batch.number[is_drawn_anchor])
    assert batch.number.sum() == size
    assert batch.anchored.sum() <= size
    assert not np.any(batch.anchored[batch.action != ANCHOR.action])
    seen = {
        (*one.states[i], one.actions[i], *(one.next_states[i] * ~one.done[i]))
        for i in range(len(one))
    }
    for m in range(len(batch.number)):
        after = batch.states[batch.following[m]] * (batch.following[m] >= 0)
        assert (*batch.states[batch.state[m]], batch.action[m], *after) in seen
    assert len(batch.states) == len(whole.states) or not all_


def test_drawn_batches_have_the_frequencies_of_the_data() -> None:
    """Each of 4,000 draws of 50; five standard errors of a mean of Poisson-like numbers."""
    whole = rows.whole_batch(BUS.simulate(20, 0), ANCHOR)
    total, rng = np.zeros((2, len(whole.number))), np.random.default_rng(1)
    key = {x: m for m, x in enumerate(zip(whole.state, whole.action, whole.following, strict=True))}
    for _ in range(4_000):
        batch = rows.draw(whole, np.cumsum(whole.number), 50, rng, keep_states=True)
        at = [key[x] for x in zip(batch.state, batch.action, batch.following, strict=True)]
        total[:, at] += batch.number, batch.anchored
    expected = np.stack([whole.number, whole.anchored]) / whole.number.sum() * 4_000 * 50
    assert np.all(np.abs(total - expected) <= 5 * np.sqrt(expected) + 1e-9)


def test_the_box_is_algorithm_1() -> None:
    data, iterations = BUS.simulate(40, 3), 500
    whole = rows.whole_batch(data, ANCHOR)
    s, z = (np.searchsorted(whole.states[:, 0], x[:, 0]) for x in (data.states, data.next_states))
    steps = {"tau_1": 0.5, "tau_2": 0.4, "iterations": iterations}
    r, q, zeta = box.gladius(
        s,
        data.actions,
        z,
        np.full(len(whole.states), -5.0),
        anchor=1,
        discount=0.95,
        actions=2,
        batch=len(s),
        rng=rngs(1)[0],
        **steps,
    )
    found = run(whole, 2, 1, 0.95, Options("tabular", **steps), rngs(1)[0])
    assert np.abs(q).max() > 1
    np.testing.assert_allclose(found.q, q, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.zeta, zeta, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.q - 0.95 * found.zeta, r, rtol=1e-9, atol=1e-9)


def test_the_box_draws_its_batches_from_the_data() -> None:
    """One iteration from zero tables on a batch of one: V = log 2, pi = 1/2, by hand."""
    s, a, z = np.array([0, 1]), np.array([0, 1]), np.array([1, 0])
    given_ = {"anchor": 1, "discount": 0.5, "actions": 2, "tau_1": 1.0, "tau_2": 1.0}
    ends = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        reward = np.array([0.0, -1.0])
        _, q, zeta = box.gladius(s, a, z, reward, iterations=1, batch=1, rng=rng, **given_)
        ends.add((tuple(q.ravel().round(6)), tuple(zeta.ravel().round(6))))
    v = np.log(2.0)
    # B2 is the first row or the second: zeta of its pair moves to 2 V, Q by the likelihood
    likelihood = {0: [0.5, -0.5, 0.0, 0.0], 1: [0.0, 0.0, -0.5, 0.5]}
    expected = set()
    for b1 in (0, 1):
        for b2 in (0, 1):
            q, zeta = np.array(likelihood[b2]), np.zeros(4)
            zeta[[0, 3][b2]] = 2 * v
            if b1 == 1:  # the anchor's row, from state 1 to state 0
                td, dev = -1.0 + 0.5 * v, v - zeta[3]
                q[3] += 2 * td
                q[:2] -= (2 * 0.5 * td - 2 * 0.25 * dev) / 2
            expected.add((tuple(q.round(6)), tuple(zeta.round(6))))
    assert ends == expected


@pytest.mark.parametrize("protocol", ["author", "printed", "printed, drawn"])
def test_an_interrupted_training_goes_on_to_the_same_bits(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = BUS.simulate(12, 5)

    def trained(checkpoint: Path | None) -> bytes:
        if protocol == "author":
            options = {"epochs": 9, "units": 6, "batch_trajectories": 4, "dtype": np.float64}
            (found,) = author.fit([data], ANCHOR, 0.95, checkpoint=checkpoint, **options)
        else:
            options = {"iterations": 250, "batch": 20 if "drawn" in protocol else None}
            (found,) = fit([data], ANCHOR, 0.95, checkpoint=checkpoint, **options)
        return found.q(data.states).tobytes() + found.reward_function(data.states).tobytes()

    assert check_that_it_goes_on(trained, tmp_path, monkeypatch, 2) <= 1
    assert [x.name for x in tmp_path.iterdir()] == ["training_0.npz"]


def test_a_checkpoint_of_another_training_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    data = BUS.simulate(6, 5)
    options = {"epochs": 2, "units": 4, "batch_trajectories": 2, "dtype": np.float64}
    author.fit([data], ANCHOR, 0.95, checkpoint=tmp_path, **options)
    with pytest.raises(InputError, match="other data or options"):
        author.fit([data], ANCHOR, 0.9, checkpoint=tmp_path, **options)
    with pytest.raises(InputError, match="other data or options"):
        author.fit([data], ANCHOR, 0.95, checkpoint=tmp_path, **options | {"epochs": 3})
    file = tmp_path / "training_0.npz"
    array = tmp_path / "array.npy"
    np.save(array, np.zeros(3))
    for damage in (file.read_bytes()[:-40], b"", b"no archive", array.read_bytes()):
        file.write_bytes(damage)
        with pytest.raises(InputError, match=r"training_0\.npz.*damaged"):
            author.fit([data], ANCHOR, 0.95, checkpoint=tmp_path, **options)
        assert file.read_bytes() == damage  # nothing is lost
    for folder in (file, 3):
        with pytest.raises(InputError, match=r"checkpoint.*name a folder"):
            author.fit([data], ANCHOR, 0.95, checkpoint=folder, **options)


def test_a_checkpoint_is_of_the_data_and_not_of_where_they_are_in_memory(tmp_path: Path) -> None:
    """Ids as text are objects; another test split is another training."""
    data, test = BUS.simulate(6, 5), BUS.simulate(3, 6)
    options = author.Options(epochs=2, units=4, batch_trajectories=2, risk_every=1)
    start = author.initial(author.layout_of(data, options), 0.0, rngs(1)[0])
    file = tmp_path / "training_0.npz"

    def trained(test: Transitions) -> author.Pass:
        names = np.array([f"bus {i}" for i in data.trajectory], dtype=object)
        one = Transitions(data.states, data.actions, data.next_states, names)
        return author.train(one, ANCHOR, 0.95, options, start, test=test, checkpoint=file)[0]

    assert trained(test).risks.tobytes() == trained(test).risks.tobytes()
    with pytest.raises(InputError, match="other data or options"):
        trained(BUS.simulate(3, 7))


def test_a_run_that_diverged_stays_as_it_ended(tmp_path: Path) -> None:
    data = BUS.simulate(12, 5)
    for batch in (None, 16):
        folder = tmp_path / str(batch)
        options = {"tau_2": 300.0, "function_class": "tabular", "batch": batch}
        fits = [fit([data], ANCHOR, 0.95, checkpoint=folder, **options)[0] for _ in range(2)]
        assert {x.diagnostics.status for x in fits} == {"diverged"}
        first, second = (x.reward_function(data.states).tobytes() for x in fits)
        assert first == second
        assert fits[0].diagnostics.iterations == fits[1].diagnostics.iterations


def test_a_line_shows_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is gone in the end; steps count as they are made."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    steps: list[float] = []
    monkeypatch.setattr(
        "rich.progress.Progress.advance", lambda self, task, advance: steps.append(advance)
    )
    data = BUS.simulate(6, 5)
    options = {"epochs": 3, "units": 4, "batch_trajectories": 2, "progress": True}
    author.fit([data], ANCHOR, 0.95, **options)
    fit([data], ANCHOR, 0.95, iterations=250, progress=True)
    assert steps == [1, 1, 1, 100, 100, 50]
