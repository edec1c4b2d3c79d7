"""econirl's GLADIUS is judged on the study's data and by its score; econirl is not needed here."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gladius.panel.record import Transitions
from reproduce.cells import converging as cells
from reproduce.engine.nouns import Array
from reproduce.engine.provenance import ROOT
from reproduce.engine.store import Archive
from reproduce.exhibits import converging as exhibit
from reproduce.run import CELLS
from tests.reproduce import peer_gladius as peer

SHARED = ("design", "inputs", "trajectories", "seeds", "seeds_row")


def table() -> Array:
    """(11, 2) some r-hat."""
    return np.random.default_rng(0).normal(-5.0, 1.0, (11, 2))


@pytest.mark.parametrize("trajectories", peer.SETS)
def test_its_data_sets_are_the_study_s_first_ones(trajectories: int) -> None:
    (entry,) = (
        e
        for e in exhibit.entries(False)
        if (e.row, e.column, e.protocol) == (exhibit.size_row(trajectories), *exhibit.ORACLE)
    )
    own = peer.study_cell(trajectories)
    assert own.repetitions <= entry.cell.repetitions
    for name in SHARED:
        assert own.settings[name] == entry.cell.settings[name]


def test_its_data_and_score_are_the_study_s(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The study's `compute` on another stream, both with one r-hat in place of a fit."""
    seen: list[Transitions] = []
    ended = SimpleNamespace(status="ok", extra={})

    def by_method(world: Any, cell: Any, data: list[Transitions], options: Any) -> list[Any]:
        def reward_function(states: Array) -> Array:
            return table()[states[:, 0].astype(int).clip(max=11) - 1]

        seen.extend(data)
        return [SimpleNamespace(reward_function=reward_function, diagnostics=ended)]

    def fitted(train: Transitions, setting: dict[str, Any]) -> peer.Fitted:
        policy = np.full((11, 2), 0.5)
        return peer.Fitted(table(), 0.9 * table(), policy, np.zeros(11), True, 7)

    monkeypatch.setattr(cells, "by_method", by_method)
    monkeypatch.setattr(peer, "fitted", fitted)
    monkeypatch.setattr(peer, "version", str)
    cell = cells.fitting("gladius", 2, True)
    expected = cells.compute(cell).replications["MAPE"]
    for number, (data, theirs) in enumerate(zip(peer.drawn(cell), seen, strict=True)):
        for name in ("states", "actions", "next_states", "trajectory"):
            np.testing.assert_array_equal(getattr(data[0], name), getattr(theirs, name))
        peer.line("fresh", peer.DEFAULTS, number, data)
    lines = [text.split(",") for text in capsys.readouterr().out.splitlines()]
    np.testing.assert_allclose([float(x[4]) for x in lines], expected, atol=1e-4)
    assert {(*x[:2], *x[3:4], x[8]) for x in lines} == {("fresh", "50", '"defaults"', "7")}


def test_the_criterion_is_the_joint_objective_row_by_row() -> None:
    """Likelihood, zeta's squared error and the anchor's term, each a mean over its own rows."""
    rng = np.random.default_rng(1)
    q, zeta = rng.normal(-50.0, 1.0, (2, 11, 2))
    v = np.log(np.exp(q).sum(axis=1))
    policy = np.exp(q - v[:, None])
    found = peer.Fitted(q - 0.95 * zeta, q, policy, v, True, 1)
    (data, _), *_ = peer.drawn(cells.fitting("gladius", 1, True))
    of_all, of_anchor = [], []
    for x, a, y in zip(data.states[:, 0], data.actions, data.next_states[:, 0], strict=True):
        here, after = min(int(x), 11) - 1, min(int(y), 11) - 1
        of_all.append(-np.log(policy[here, a]) + (zeta[here, a] - v[after]) ** 2)
        if a == 1:
            td = q[here, a] + 5.0 - 0.95 * v[after]
            of_anchor.append(abs(td**2 - 0.9025 * (v[after] - zeta[here, a]) ** 2))
    assert peer.held_out(found, data) == pytest.approx(np.mean(of_all) + np.mean(of_anchor))


def stored(path: Path, left_out: str = "") -> None:
    """Development fits in which the one with the least error has the largest criterion."""
    names = [name for name in peer.SETTINGS if name != left_out]
    columns = {"setting": names, "held_out": np.arange(len(names), 0.0, -1.0)}
    frame = pd.DataFrame(columns).assign(data="development", error=np.arange(len(names)))
    frame.to_csv(path, index=False)


def test_the_criterion_alone_chooses_and_not_before_all_were_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(peer, "STORED", tmp_path / "fits.csv")
    stored(peer.STORED)
    assert peer.chosen() == list(peer.SETTINGS)[-1]
    stored(peer.STORED, peer.DEFAULTS)
    with pytest.raises(ValueError, match="not tried yet"):
        peer.main("fresh")


def test_the_manual_s_table_is_of_the_stored_fits() -> None:
    fits = pd.read_csv(peer.STORED).query("data == 'fresh'")
    page = (ROOT / "gladius" / "own_data" / "your_data.md").read_text("utf-8")
    names = {
        peer.DEFAULTS: "defaults",
        peer.chosen(): "chosen by held-out data",
        peer.AUTHORS: "its author's recipe, without the true reward",
    }
    assert set(fits["setting"]) == set(names)
    for (n, setting), of in fits.groupby(["N", "setting"]):
        error, se = of["error"].mean(), of["error"].sem()
        if n == min(peer.SETS):
            cells = f"{error:.1f} ({se:.1f}) | {of['error'].median():.1f}"
            cells += f" | {of['projected'].mean():.1f} | {of['seconds'].mean():.0f} s"
            assert f"| {names[setting]} | {cells} |" in page
        elif setting == peer.AUTHORS:
            projected = f"{of['projected'].mean():.1f}"
            assert f"the recipe has {error:.1f} %, and {projected} % projected" in page
    cells, size = Archive(CELLS), peer.SETS[min(peer.SETS)]
    for (column, protocol), words in (
        (exhibit.ORACLE, "step (ours) has"),
        (exhibit.PLUG_IN, "counting"),
    ):
        (cell,) = (
            e.cell
            for e in exhibit.entries(False)
            if (e.row, e.column, e.protocol) == (exhibit.size_row(min(peer.SETS)), column, protocol)
        )
        stored = cells.load(cell)
        assert stored is not None
        errors = pd.Series(stored.result.replications["MAPE"][:size])
        assert f"{words} {errors.mean():.1f} ({errors.sem():.1f}) %" in page


def test_the_stored_fits_are_of_the_rule() -> None:
    fits = pd.read_csv(peer.STORED)
    assert list(fits) == peer.HEAD.split(",")
    assert set(fits["econirl"]) == {"0.1.1"}
    assert not fits.duplicated(["data", "N", "set", "setting"]).any()
    assert set(fits["setting"]) <= set(peer.SETTINGS)
    development = fits["data"] == "development"
    seed, size = peer.DEVELOPMENT
    assert set(fits.loc[development, "N"]) == {size}
    assert set(fits.loc[development, "set"]) == {seed}
    for (n, _), sets in fits[~development].groupby(["N", "setting"])["set"]:
        assert list(sets) == list(range(len(sets)))
        assert len(sets) <= peer.SETS[n]
    names = set(fits.loc[~development, "setting"])
    assert not names or names <= {peer.DEFAULTS, peer.chosen(), peer.AUTHORS}
