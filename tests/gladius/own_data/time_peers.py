"""Time, memory and error of a fit by the number of observations, beside reading the file.

`tox -e peers` prints the table of your_data.md, as Markdown. A fit has a process of its own, and
starts from the data frame. econirl's is its NFXP, on frequencies of the transitions that are
counted here; its time includes JAX's compiling. Sizes follow as arguments.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import gladius
from gladius.designs.bus import BUS_REWARD

SIZES = 10_000, 100_000, 1_000_000, 10_000_000
LEVELS, DISCOUNT, PERIODS = 20, 0.95, 100
ANCHOR = {"anchor_action": 1, "anchor_reward": -5.0, "discount": DISCOUNT}
LIMIT = 900  # seconds of a fit
GB = 2**20  # of `ru_maxrss`, which Linux gives in kB
GRID = np.arange(1.0, LEVELS + 1)


def panel(size: int, features: int) -> pd.DataFrame:
    """Bus engines as one table: mileage and features that do not matter."""
    engine = gladius.BusEngine(dummies=features - 1)
    frame = engine.simulate(size // PERIODS, np.random.default_rng(0)).to_frame()
    return frame[[name for name in frame if "next" not in name and name != "done"]]


def ours(method: str, frame: pd.DataFrame) -> np.ndarray:
    """(20,) r-hat of maintaining at each mileage, the other features at 0."""
    states = [name for name in frame if name[0] == "s"]
    names = {"action": "action", "id": "id", "time": "period"}
    data = gladius.Transitions.from_frame(frame, state=states, **names)
    given = {"reward": BUS_REWARD} if method == "nfxp" else ANCHOR
    estimate = gladius.fit(data, method, **(ANCHOR | given))
    grid = np.pad(GRID[:, None], ((0, 0), (0, len(states) - 1)))
    return estimate.reward(grid, 0)


def econirl(frame: pd.DataFrame) -> np.ndarray:
    """(20,) the same by econirl's NFXP, which has numbers of states and no dummies."""
    from econirl.core.reward_spec import RewardSpec
    from econirl.estimators import NFXP

    state, action = frame["s0"].to_numpy(int) - 1, frame["action"].to_numpy(int)
    followed = frame["id"].to_numpy()[1:] == frame["id"].to_numpy()[:-1]
    moves = np.zeros((2, LEVELS, LEVELS))
    np.add.at(moves, (action[:-1][followed], state[:-1][followed], state[1:][followed]), 1.0)
    moves[moves.sum(axis=2) == 0] = 1 / LEVELS
    moves /= moves.sum(axis=2, keepdims=True)
    features = np.zeros((LEVELS, 2, 2))
    features[:, 0, 0], features[:, 1, 1] = -GRID, -1.0
    spec = RewardSpec.state_action_dependent(features, names=["theta_0", "theta_1"])
    model = NFXP(n_states=LEVELS, n_actions=2, discount=DISCOUNT, utility=spec)
    table = frame.assign(state=state, action=action)
    model.fit(table, state="state", action="action", id="id", transitions=moves)
    return -model.params_["theta_0"] * GRID


FITS: dict[str, Callable[[pd.DataFrame], np.ndarray]] = {
    "profiled_erm": lambda frame: ours("profiled_erm", frame),
    "nfxp": lambda frame: ours("nfxp", frame),
    "econirl": econirl,
}


def measured(fit: str, file: str) -> dict[str, float]:
    """Seconds of reading and of the fit, the peak of memory, and the error of r-hat."""
    start = time.perf_counter()
    frame = pd.read_csv(file)
    read = time.perf_counter()
    found = FITS[fit](frame)
    end = time.perf_counter()
    visits = np.bincount(frame["s0"], minlength=LEVELS + 1)[1:]
    error = np.sqrt(np.average((found + GRID) ** 2, weights=visits))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GB
    return {"read": read - start, "fit": end - read, "memory": memory, "error": float(error)}


def line(fit: str, file: str) -> str:
    """The cells of a fit: how often reading's time, memory, error."""
    command = [sys.executable, "-W", "ignore", __file__, "measure", fit, file]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    except subprocess.TimeoutExpired:
        return f"over {LIMIT} s | | | "
    x = json.loads(done.stdout.splitlines()[-1])
    times = f"{x['fit']:.1f} s | {x['fit'] / x['read']:,.0f}"
    return f"{times} | {x['memory']:.1f} GB | {x['error']:.2g}"


def main(sizes: list[int]) -> None:
    print("| observations | features | fit | time | over reading | memory | error of r |")
    print("| ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            for features, fits in ((1, list(FITS)), (6, ["profiled_erm"])):
                file = Path(folder, f"{size}-{features}.csv")
                panel(size, features).to_csv(file, index=False)
                for fit in fits:
                    row = f"| {size:,} | {features} | `{fit}` | {line(fit, str(file))} |"
                    print(row, flush=True)
                file.unlink()


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measured(*sys.argv[2:])))
    else:
        main([int(x) for x in sys.argv[1:]] or list(SIZES))
