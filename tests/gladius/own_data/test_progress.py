"""Long work shows that it goes on: a bar on a terminal after a while, and lines on request."""

import io
import time
from typing import Any

import numpy as np
import pytest

import gladius
from gladius.designs.bus import BUS_REWARD
from gladius.own_data.results import progress as module
from gladius.own_data.results.progress import progress

KNOWN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
DATA = gladius.BusEngine().simulate(10, np.random.default_rng(4))


class Terminal(io.StringIO):
    """What a bar is drawn on."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error from now on: a fixture would lose it to pytest's own before the test."""
    found = Terminal()
    monkeypatch.setattr("sys.stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    return found


def worked(seconds: float, verbose: bool | None) -> None:
    """Work of two steps."""
    with progress("counting", 2, verbose) as advance:
        for _ in range(2):
            time.sleep(seconds / 2)
            advance(1)
        time.sleep(0.15)  # rich draws ten times a second


def test_a_bar_appears_after_a_while_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    found = terminal(monkeypatch)
    worked(1.0, None)
    assert "counting" in found.getvalue()
    assert "━" in found.getvalue()
    drawn = len(found.getvalue())
    time.sleep(0.3)
    assert len(found.getvalue()) == drawn, "nothing is drawn once the work has ended"


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.PATIENCE == 5
    found = terminal(monkeypatch)
    worked(0.0, None)
    assert found.getvalue() == ""


def test_who_wants_no_bar_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    found = terminal(monkeypatch)
    worked(0.2, False)
    assert found.getvalue() == ""


def test_a_file_gets_no_bar_and_lines_where_they_are_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    worked(0.0, None)
    assert capsys.readouterr().err == ""
    worked(0.0, True)
    first, last = capsys.readouterr().err.splitlines()
    assert first == "counting: started"
    assert last.startswith("counting: done after 0.")


def test_an_error_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    found = terminal(monkeypatch)

    def failing() -> None:
        with progress("dividing", None, None):
            time.sleep(0.5)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    drawn = len(found.getvalue())
    time.sleep(0.3)
    assert len(found.getvalue()) == drawn > 0


def test_fits_bootstraps_and_folds_have_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = gladius.fit(DATA, "nfxp", **KNOWN, reward=BUS_REWARD, verbose=True)
    found.bootstrap(draws=2, verbose=True)
    found.cross_val_score(2, verbose=True)
    gladius.compare([found, found], cv=2, verbose=True)
    starts = [line for line in capsys.readouterr().err.splitlines() if line.endswith("started")]
    folds = "cross-validation of nfxp: started"
    expected = [
        "nfxp, 1,000 observations: started",
        "bootstrap of nfxp: started",
        folds,
        folds,
        folds,
    ]
    assert starts == expected
    assert capsys.readouterr().err == ""


def test_each_step_advances_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []

    class Counted:
        def __enter__(self) -> Any:
            return steps.append

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(
        "gladius.own_data.results.results.progress", lambda name, total, verbose: Counted()
    )
    found = gladius.fit(DATA, "nfxp", **KNOWN, reward=BUS_REWARD)
    found.bootstrap(draws=23)
    assert sum(steps) == 23
    assert len(steps) > 1, "batches of twenty"
