"""What a fit costs by rows, states, columns and epochs, beside reading its data as a file.

`tox -e bench` writes BENCHMARKS, from which METHODS.md has its table: processor seconds of one
thread, of a data frame's way to the estimate, the least of three where that is cheap. Where
econirl is installed, its NFXP is beside ours, on frequencies that are counted here; its time
includes JAX's compiling. Ten times as many rows are marked `deep`: `tox -e bench -- -m deep`.
"""

import csv
import os
import sys
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gladius
from gladius.designs.bus import BUS_REWARD
from gladius.solvers.networks import Training

BENCHMARKS = Path(__file__).parents[3] / "reproduce" / "templates" / "benchmarks.csv"
LEVELS, PERIODS, EPOCHS = 20, 100, 10
KNOWN: dict[str, Any] = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
LARGE = pytest.param(10_000_000, marks=pytest.mark.deep)
OF_FORM: dict[str, Any] = {"reward": BUS_REWARD}
TRAINERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Algorithm 1": ("gladius", {"protocol": "printed", "iterations": 1_000, "batch": 1_000}),
    "the author's procedure": ("gladius", {"protocol": "author", "epochs": EPOCHS}),
    "profiled ERM, mlp": ("profiled_erm", {"function_class": "mlp", "steps": EPOCHS * 40}),
    "BC": ("bc", {"training": Training(steps=EPOCHS * 100, batch=1_000)}),
}
Fit = Callable[[pd.DataFrame], Any]


def bus(rows: int, columns: int = 1) -> pd.DataFrame:
    """Bus engines as one table: mileage, and columns that do not matter."""
    engine = gladius.BusEngine(dummies=columns - 1)
    frame = engine.simulate(rows // PERIODS, np.random.default_rng(0)).to_frame()
    return frame[[name for name in frame if "next" not in name and name != "done"]]


def chain(states: int) -> pd.DataFrame:
    """Paths on a chain of states, 1 to 20, that are replaced more often the further they are."""
    rng, paths = np.random.default_rng(0), max(200, 40 * states // PERIODS)
    level, frames = rng.integers(0, states, paths), list[pd.DataFrame]()
    for period in range(PERIODS):
        action = rng.uniform(size=paths) < 0.05 + 0.5 * level / states
        known = {"id": np.arange(paths), "period": period, "action": action.astype(int)}
        frames.append(pd.DataFrame({**known, "s0": 1 + 19 * level / (states - 1)}))
        level = np.minimum(np.where(action, 0, level) + rng.integers(0, 4, paths), states - 1)
    return pd.concat(frames).sort_values(["id", "period"])


def ours(method: str, **options: Any) -> Fit:
    """From a frame to the estimate."""

    def fit(frame: pd.DataFrame) -> Any:
        state = [name for name in frame if name[0] == "s"]
        names = {"action": "action", "id": "id", "time": "period"}
        data = gladius.Transitions.from_frame(frame, state=state, **names)
        return gladius.fit(data, method, **(KNOWN | options))

    return fit


def econirl(frame: pd.DataFrame) -> Any:
    """Its NFXP, which numbers states and takes no further columns."""
    from econirl.core.reward_spec import RewardSpec
    from econirl.estimators import NFXP

    state, action = frame["s0"].to_numpy(int) - 1, frame["action"].to_numpy(int)
    followed = frame["id"].to_numpy()[1:] == frame["id"].to_numpy()[:-1]
    moves = np.zeros((2, LEVELS, LEVELS))
    np.add.at(moves, (action[:-1][followed], state[:-1][followed], state[1:][followed]), 1.0)
    moves[moves.sum(axis=2) == 0] = 1 / LEVELS
    features = np.zeros((LEVELS, 2, 2))
    features[:, 0, 0], features[:, 1, 1] = -np.arange(1.0, LEVELS + 1), -1.0
    spec = RewardSpec.state_action_dependent(features, names=["theta_0", "theta_1"])
    model = NFXP(n_states=LEVELS, n_actions=2, discount=KNOWN["discount"], utility=spec)
    table, moves = frame.assign(state=state, action=action), moves / moves.sum(axis=2)[..., None]
    model.fit(table, state="state", action="action", id="id", transitions=moves)
    return model


@pytest.fixture
def measure(benchmark: Any, tmp_path: Path) -> Callable[..., Any]:
    """Times a fit to a frame, and the reading of that frame."""

    def timed(what: str, size: int | str, name: str, frame: pd.DataFrame, fit: Fit) -> Any:
        is_dear = name == "econirl" or what == "epochs" or len(frame) > 500_000
        path, rounds = tmp_path / "data.csv", 1 if is_dear else 3
        frame.to_csv(path, index=False)
        clock = {"number": 1, "repeat": 3, "timer": time.process_time}
        reading = min(timeit.repeat(lambda: pd.read_csv(path), **clock))
        benchmark.extra_info.update(what=what, size=size, fit=name, rows=len(frame), read=reading)
        warmup = int(name != "econirl")
        return benchmark.pedantic(fit, args=(frame,), rounds=rounds, warmup_rounds=warmup)

    return timed


@pytest.mark.parametrize("method", ["profiled_erm", "nfxp", "econirl"])
@pytest.mark.parametrize("rows", [100_000, 1_000_000, LARGE])
def test_rows(measure: Any, rows: int, method: str) -> None:
    if method == "econirl":
        pytest.importorskip("econirl.estimators")
        model = measure("rows", rows, method, bus(rows), econirl)
        assert model.params_["theta_0"] == pytest.approx(1.0, abs=0.1)
        return
    fit = ours(method, **OF_FORM if method == "nfxp" else {})
    estimate = measure("rows", rows, method, bus(rows), fit)
    assert estimate.reward(np.array([[5.0]]), 0) == pytest.approx(-5.0, abs=0.5)


@pytest.mark.parametrize("method", ["plug_in", "nfxp", "ccp"])
@pytest.mark.parametrize("states", [20, 200, 1_000, 20_000])
def test_states(measure: Any, states: int, method: str) -> None:
    options = {} if method == "plug_in" else OF_FORM
    estimate = measure("states", states, method, chain(states), ours(method, **options))
    assert np.isfinite(estimate.reward(np.array([[1.0]]), 0)).all()


@pytest.mark.parametrize("columns", [4, 21])
def test_columns(measure: Any, columns: int) -> None:
    frame = bus(100_000, columns)
    estimate = measure("columns", columns, "profiled_erm", frame, ours("profiled_erm"))
    near = np.zeros((1, columns))
    near[0, 0] = 5.0
    assert estimate.reward(near, 0) == pytest.approx(-5.0, abs=0.5)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_epochs(measure: Any, trainer: str) -> None:
    method, options = TRAINERS[trainer]
    estimate = measure("epochs", EPOCHS, trainer, bus(100_000, 4), ours(method, **options))
    assert np.isfinite(estimate.q(np.ones((1, 4)))).all()


class Writer:
    """Writes what METHODS.md shows."""

    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        found = [x["extra_info"] | {"cpu": x["stats"]["min"]} for x in output_json["benchmarks"]]
        with BENCHMARKS.open("w", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(file, found[0], lineterminator="\n")
            lines.writeheader()
            lines.writerows({**x, **{k: f"{x[k]:.3g}" for k in ("read", "cpu")}} for x in found)


if __name__ == "__main__":
    options = ["-p", "benchmark", "--benchmark-timer=time.process_time", "-W", "ignore"]
    options += [f"--benchmark-json={os.devnull}", "--benchmark-columns=min", __file__]
    sys.exit(pytest.main([*options, *(sys.argv[1:] or ["-m", "not deep"])], plugins=[Writer()]))
