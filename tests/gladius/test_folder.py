"""Data sets on disk: what is written is read, in part and exactly, and faults are told."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import gladius
from gladius import folder
from gladius.anchor import Anchor
from gladius.checks import Array, InputError
from gladius.distinct import compress, count_distinct, factorised
from gladius.screen import Choice, Inputs, NextValue, Residuals, robust_test, select
from gladius.specification import LeftOut
from gladius.transitions import Transitions, index_rows
from gladius.worlds.bus import BusEngine
from gladius.worlds.continuous_bus import ContinuousBus

SMALL = st.integers(-9, 9).map(float)
WHOLES = st.integers(-(2**40), 2**40).map(float)
SINGLES = st.floats(-(2.0**50), 2.0**50, width=32)
NUMBERS = st.one_of(st.just(SMALL), st.just(WHOLES), st.just(SINGLES), st.just(st.floats(-9, 9)))
COLUMNS = ("states", "next_states", "actions", "trajectory", "done")


@st.composite
def data_sets(draw: Callable[[Any], Any]) -> Transitions:
    rows, width = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    entries = draw(NUMBERS).filter(lambda x: abs(x) < 2**53)
    states, after = (draw(arrays(float, (rows, width), elements=entries)) for _ in range(2))
    labels = st.integers(0, 3) | st.just(7)
    return Transitions(
        states,
        draw(arrays(np.int64, rows, elements=st.integers(0, 2))),
        after,
        draw(arrays(np.int64, rows, elements=labels)),
        draw(arrays(bool, rows)),
        3,
    )


def opened(data: Transitions, path: Path) -> Transitions:
    data.to_folder(path)
    return Transitions.open(path)


@given(st.lists(data_sets(), min_size=1, max_size=3))
def test_what_is_written_in_parts_is_read_as_a_whole(parts: list[Transitions]) -> None:
    parts = [part for part in parts if part.states.shape[1] == parts[0].states.shape[1]]
    with tempfile.TemporaryDirectory() as path:
        folder.write(Path(path, "x"), iter(parts))
        back = Transitions.open(Path(path, "x"))
        for name in COLUMNS:
            whole = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_array_equal(np.asarray(getattr(back, name)), whole)
        assert (back.number_of_actions, back.feature_names) == (3, parts[0].feature_names)
        assert folder.on_disk(back.states)
        assert not back.actions.flags.owndata  # no copy of what is on disk
        assert not back.done.flags.owndata
        assert [p.name for p in Path(path).iterdir()] == ["x"]  # nothing is left beside it


@given(arrays(float, (4, 2), elements=st.one_of(SMALL, WHOLES, SINGLES, st.floats(-9, 9))))
def test_the_type_on_disk_is_the_smallest_exact_one(values: Array) -> None:
    def holds(kind: Any, x: float) -> bool:
        if kind not in folder.WHOLE:
            return float(kind(x)) == x
        return x.is_integer() and np.iinfo(kind).min <= x <= np.iinfo(kind).max

    kinds = (*folder.WHOLE, np.float32, np.float64)
    exact = [kind for kind in kinds if all(holds(kind, x) for x in values.flatten().tolist())]
    assert folder.exact_type(values) is exact[0]


def test_columns_on_disk_behave_as_the_array(tmp_path: Path) -> None:
    """Arithmetic is that of float64: 100 x 100 does not wrap around as it would in int8."""
    states = np.array([[100.0, -3.0], [7.0, 2.0], [0.0, 0.0]])
    data = opened(Transitions(states, np.array([0, 1, 0]), states[::-1]), tmp_path / "x")
    columns = data.states
    assert columns.stored.dtype == np.int8  # type: ignore[attr-defined]  # of Columns
    np.testing.assert_array_equal(columns * columns, states * states)
    np.testing.assert_array_equal(columns[1:, [1]], states[1:, [1]])
    np.testing.assert_array_equal(columns.sum(axis=0), states.sum(axis=0))
    np.testing.assert_array_equal(np.concatenate([columns, states]), np.tile(states, (2, 1)))
    np.testing.assert_array_equal(Anchor(0, lambda s: s[:, 0] ** 2).values(columns), [1e4, 49, 0])
    taken = data.take(np.array([True, False, True]))
    np.testing.assert_array_equal(taken.states, states[[0, 2]])
    assert len(data.pairs().weights) == 3
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(data)).states * 1, states)


def written(path: Path) -> Path:
    data = BusEngine(dummies=1).simulate(2, np.random.default_rng(0))
    data.to_folder(path)
    return path


def truncate(path: Path) -> None:
    file = path / "states.npy"
    file.write_bytes(file.read_bytes()[:-9])


def shorten(path: Path) -> None:
    np.save(path / "actions.npy", np.zeros(3, dtype=np.int64))


def poison(path: Path) -> None:
    states = np.load(path / "states.npy").astype(float)
    states[150, 1] = np.nan
    np.save(path / "states.npy", states)


def misplace(path: Path) -> None:
    np.save(path / "actions.npy", np.full(200, 5))


FAULTS = {
    "incomplete: done.npy cannot be read": lambda path: (path / "done.npy").unlink(),
    "incomplete: states.npy cannot be read": truncate,
    "rows.json cannot be read": lambda path: (path / "rows.json").write_text('{"rows": 2'),
    "rows.json cannot be read (KeyError)": lambda path: (path / "rows.json").write_text("{}"),
    "actions.npy = (3,): rows.json says (200,)": shorten,
    "states[150, 1] = nan: remove NaN": poison,
    "actions = 5: actions are counted from 0 to 1": misplace,
}


@pytest.mark.parametrize("told", FAULTS)
def test_a_folder_with_a_fault_is_refused(told: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x")
    FAULTS[told](path)
    with pytest.raises(InputError) as caught:
        Transitions.open(path)
    assert told in str(caught.value)


def test_no_folder_and_one_that_exists(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        Transitions.open(tmp_path / "none")
    path = written(tmp_path / "x")
    with pytest.raises(InputError, match="it exists"):
        written(path)
    with pytest.raises(InputError, match="cannot write there"):
        written(tmp_path / "none" / "x")
    with pytest.raises(InputError, match="at least one part"):
        folder.write(tmp_path / "y", [])
    parts = [BusEngine(dummies=k).simulate(2, np.random.default_rng(0)) for k in (0, 1)]
    with pytest.raises(InputError, match=r"parts\[1\]"):
        folder.write(tmp_path / "y", parts)
    days = np.array([date(2026, 1, 1), date(2026, 1, 2)], dtype=object)
    odd = Transitions(np.zeros(2), np.array([0, 1]), np.zeros(2), days)
    with pytest.raises(InputError, match="numbers or text"):
        odd.to_folder(tmp_path / "y")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x"]


def test_labels_that_are_text_are_kept(tmp_path: Path) -> None:
    labels = np.array(["bus 1", "bus 22"], dtype=object)
    data = Transitions(np.zeros(2), np.array([0, 1]), np.zeros(2), labels)
    assert opened(data, tmp_path / "x").trajectory.tolist() == labels.tolist()


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    def parts() -> Any:
        yield BusEngine().simulate(2, np.random.default_rng(0))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder.write(tmp_path / "x", parts())
    assert list(tmp_path.iterdir()) == []
    staging = tmp_path / ".x-killed"  # what a write that was killed leaves is no data set
    staging.mkdir()
    with pytest.raises(InputError, match="incomplete"):
        Transitions.open(staging)
    written(tmp_path / "x")


def test_a_users_own_read_only_map_is_not_copied(tmp_path: Path) -> None:
    states = np.random.default_rng(0).normal(size=(50, 2))
    np.save(tmp_path / "s.npy", states)
    mapped = np.load(tmp_path / "s.npy", mmap_mode="r")
    data = Transitions(mapped, np.arange(50) % 2, mapped)
    assert folder.on_disk(data.states)
    assert np.shares_memory(data.states.stored, mapped)
    writable = np.load(tmp_path / "s.npy", mmap_mode="r+")
    assert not folder.on_disk(Transitions(writable, np.arange(50) % 2, states).states)


FITS = [
    (BusEngine(dummies=4), 120, {"function_class": "sparse"}),
    (ContinuousBus(2, tuple(0.4 * np.arange(-10, 11) / 10)), 60, {"function_class": "sparse"}),
    (BusEngine(), 60, {}),  # counts, from the folder too
    (BusEngine(dummies=2), 60, {}),  # the door chooses rows
]


@pytest.mark.parametrize(("world", "trajectories", "options"), FITS)
def test_the_estimate_is_that_from_memory(
    world: Any, trajectories: int, options: dict[str, Any], tmp_path: Path
) -> None:
    data = world.simulate(trajectories, np.random.default_rng(1))
    fits = [
        gladius.fit(
            part,
            anchor_action=world.anchor_action,
            anchor_reward=lambda s: np.full(len(s), world.anchor_reward),
            discount=world.discount,
            **options,
        )
        for part in (data, opened(data, tmp_path / "x"))
    ]
    assert fits[0].method == fits[1].method
    ours, theirs = (fit.q(data.states[:200]) for fit in fits)
    np.testing.assert_allclose(theirs, ours, rtol=1e-9)
    rewards = [fit.reward(data.states[:200], 0) for fit in fits]
    np.testing.assert_allclose(rewards[1], rewards[0], rtol=1e-9, atol=1e-9)


def test_a_fit_never_holds_the_features_of_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every array of floats that it takes from the disk is a chunk, never the whole."""
    data = opened(BusEngine(dummies=9).simulate(200, np.random.default_rng(6)), tmp_path / "x")
    sizes: list[int] = []
    read = folder.Columns.__getitem__

    def watched(columns: folder.Columns, key: Any) -> Any:
        part = read(columns, key)
        sizes.append(part.size)
        return part

    def refused(*_: object, **__: object) -> Any:
        raise AssertionError("all rows were asked for")

    monkeypatch.setattr(folder.Columns, "__getitem__", watched)
    monkeypatch.setattr(folder.Columns, "__array__", refused)
    monkeypatch.setattr("gladius.screen.KEPT", 40_000)
    monkeypatch.setattr("gladius.screen.SAMPLE", 1_000)
    monkeypatch.setattr("gladius.anchor.pieces", lambda states: folder.pieces(states, 40_000))
    gladius.fit(
        data,
        anchor_action=1,
        anchor_reward=lambda s: np.full(len(s), -5.0),
        discount=0.95,
        function_class="sparse",
    )
    monkeypatch.undo()
    assert 0 < max(sizes) <= 40_000 < data.states.size
    monkeypatch.setattr(folder.Columns, "__array__", refused)
    with pytest.raises(AssertionError, match="all rows"):  # the watch would have seen it
        np.asarray(data.states)


def test_chunks_and_cells_do_not_change_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    data = BusEngine(dummies=3).simulate(40, np.random.default_rng(2))

    def chosen() -> dict[int, float]:
        fit = gladius.fit(
            data, anchor_action=1, anchor_reward=-5.0, discount=0.95, function_class="sparse"
        )
        p_values: Any = fit.diagnostics.extra["p_values"]
        return dict(p_values)

    whole = chosen()
    for name, value in (("KEPT", 100), ("CHUNK", 333), ("FEW_CELLS", 10**9)):
        monkeypatch.setattr(f"gladius.screen.{name}", value)
        assert chosen() == pytest.approx(whole, rel=1e-6)


# The test of a direction, row by row --------------------------------------------------------------


def plain_p_value(
    design: Array, errors: Array, weights: Array, new: Array, expected: Array
) -> Array:
    """(m p,) squared t of directions, from (n, m) errors and (n, m, m) weights, row by row.

    `expected`: (n, m, m) variances of the errors under the model; the larger variance counts.
    """
    m = errors.shape[1]
    left = np.stack([np.kron(np.eye(m), x) for x in design])  # (n, m, m q)
    right = np.stack([np.kron(np.eye(m), x) for x in new])
    inner = np.einsum("nai,nab,nbj->ij", left, weights, left)
    cross = np.einsum("nai,nab,nbj->ij", left, weights, right)
    projected = right - left @ np.linalg.solve(inner, cross)
    influence = np.einsum("na,naj->nj", errors, projected)
    of_model = np.einsum("naj,nab,nbj->j", projected, expected, projected)
    variance = np.maximum((influence**2).sum(axis=0), of_model)
    return np.asarray(influence.sum(axis=0) ** 2 / variance)


@pytest.mark.parametrize("actions", [2, 3])
@pytest.mark.parametrize("of_choice", [True, False])
def test_the_statistic_from_cells_is_that_from_rows(actions: int, of_choice: bool) -> None:
    rng = np.random.default_rng(3)
    states = np.stack([rng.integers(0, 5, 600), rng.integers(-2, 3, 600)], axis=1).astype(float)
    taken, value = rng.integers(0, actions, 600), rng.normal(size=600) + 50.0
    inputs = Inputs.of(states)
    outcome: Any = (
        Choice(torch.tensor(taken), tuple(range(actions)))
        if of_choice
        else NextValue(torch.tensor(value).__getitem__, torch.tensor(taken), actions)
    )
    residuals = Residuals.of(outcome, inputs.cells([0]))
    finer = inputs.refined(residuals.cells, 1)
    _, squared = robust_test(residuals, finer, lambda z: z[:, 1:] * z[:, :1])
    place = residuals.cells.place.long()
    design, fitted = residuals.design[place].numpy(), residuals.fitted[place].numpy()
    hot = np.eye(actions)[taken]
    if of_choice:
        errors = hot[:, :-1] - fitted
        weights = np.einsum("na,ab->nab", fitted, np.eye(actions - 1))
        weights = weights - fitted[:, :, None] * fitted[:, None, :]
    else:
        errors, weights = hot * (value[:, None] - fitted), np.stack([np.diag(h) for h in hot])
    z = (states - states.mean(axis=0)) / states.std(axis=0)
    expected = weights
    if not of_choice:
        expected = weights * ((errors**2).sum(axis=0) / hot.sum(axis=0))[None, None]
    plain = plain_p_value(design, errors, weights, z[:, 1:] * z[:, :1], expected)
    np.testing.assert_allclose(squared.numpy(), plain, rtol=1e-6)
    np.testing.assert_allclose(residuals.errors(slice(None)).numpy(), errors, atol=1e-12)
    assert select(inputs, outcome, of_choice=of_choice).inputs == ()  # noise


# Places among distinct numbers --------------------------------------------------------------------

CODES = arrays(np.int64, st.integers(1, 20), elements=st.integers(0, 40))


@given(CODES, st.sampled_from([41, 10**6]))
def test_codes_are_compressed_and_counted(codes: NDArray[np.int64], span: int) -> None:
    distinct, counts = np.unique(codes, return_counts=True)
    places, kept = compress(codes, span)
    np.testing.assert_array_equal(kept, distinct)
    np.testing.assert_array_equal(kept[places], codes)
    for again, expected in zip(count_distinct(codes, span), (distinct, counts), strict=True):
        np.testing.assert_array_equal(again, expected)


@given(arrays(st.sampled_from([np.int8, np.int16, np.int32, np.float64]), st.integers(1, 12)))
def test_values_are_factorised(values: NDArray[Any]) -> None:
    values = np.nan_to_num(values)
    places, levels = factorised(values)
    np.testing.assert_array_equal(levels, np.unique(values))
    np.testing.assert_array_equal(levels[places], values)


def test_grouping_stops_where_states_are_too_many() -> None:
    rows = np.random.default_rng(4).integers(0, 9, (500, 6)).astype(float)
    assert len(index_rows([rows], most=50)[0]) < len(index_rows([rows])[0])


def test_a_tail_that_cannot_be_held_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = ContinuousBus(2, tuple(np.zeros(21))).simulate(20, np.random.default_rng(5))
    monkeypatch.setattr("gladius.sparse.TAIL", 1.0)  # every tail is significant
    monkeypatch.setattr("gladius.sparse.LARGEST_TAIL", 10)
    monkeypatch.setattr(
        "gladius.sparse.examine", lambda *_: (LeftOut((1, 2), 1e-9, np.ones(1), 0.1), ())
    )
    with pytest.warns(UserWarning, match="matter together"):
        fit = gladius.fit(
            data, anchor_action=1, anchor_reward=-5.0, discount=0.95, function_class="sparse"
        )
    assert not fit.diagnostics.extra["tail"]
