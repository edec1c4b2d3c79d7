"""The first author's procedure on the data of his public code's seeds, from its initial weights.

Facts from github.com/Enoch-H-Kang/DDC-DPT, commit 71f8c08, which states no licence; no line is
carried over. One network is trained on one data set, and a repetition continues it. Batches are 32
trajectories, 5 at N = 50. The test MAPE, which uses the true reward, is logged before each epoch.
The epoch of the smallest counts; a user without the true reward has the last.

Rounding decides much of such a training, so that ranges are quoted: over initial networks, over
repetitions, and over starts that differ by PERTURBATION. No precision gives the public numbers. In
float32 a training by observation (`by_observation`) leaves that in float64 by 1 % after 50 to 60
epochs. On counts a gradient in float32 has errors of the same size as by observation, and in
float64 the training is that by observation until rounding has grown, after some 700 epochs.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from gladius.designs.bus import BusEngine
from gladius.panel.anchor import Anchor
from gladius.paper import author
from reproduce.cells.public_data import SEED, networks_data
from reproduce.engine.nouns import Array, Cell, Record, Result

EPOCHS, SMOKE_EPOCHS = 20_000, 20
UNITS = 50
SMALL, SMALL_BATCH, BATCH = 50, 5, 32  # N, its trajectories a batch, those of all others
# precision -> standard deviation of a relative change of every initial weight
PERTURBATION = {"float64": 1e-12, "float32": 1e-7}
BLOCK = 100  # epochs of which the stored trace has the smallest, median and largest error
FIRST, BEST, LAST, MEDIAN = "MAPE first", "MAPE best", "MAPE last", "MAPE median"
BEST_EPOCH = "epoch of the best"
NOT_CONVERGED = "not_converged"  # no training has a stopping rule


def training(trajectories: int, smoke: bool, **settings: int | str) -> Cell:
    """The cell of a network at one N; only a run with --long computes others than seed SEED's.

    Args:
        trajectories: N.
        smoke: few epochs.
        settings: any of `seed` (torch's, of the initial weights), `perturbation` (seed of a change
            of them), `repetitions` (trainings, each from where the one before ended) and
            `precision` (of PERTURBATION, by default float64).
    """
    epochs = SMOKE_EPOCHS if smoke else EPOCHS
    given = {"trajectories": trajectories, "epochs": epochs, "seed": SEED, **settings}
    given |= {"long": True} if settings else {}
    return Cell("public_training", given, f"public procedure, N = {trajectories}")


def by_observation(
    trajectories: int, smoke: bool, dummies: int = 0, precision: str = "float32"
) -> Cell:
    """The cell of seed SEED's network by observation, which only a run with --long computes."""
    settings = {"trajectories": trajectories, "dummies": dummies, "precision": precision}
    settings |= {"epochs": SMOKE_EPOCHS if smoke else EPOCHS, "seed": SEED, "long": True}
    return Cell("by_observation", settings, f"by observation, N = {trajectories}, K = {dummies}")


def initial_weights(
    seed: int, features: int = 1, perturbation: int = 0, scale: float = PERTURBATION["float64"]
) -> Array:
    """The vector of `Layout` with torch's weights in the public order of draws; levels at -55.

    A layer draws torch's own weights and biases first, which the Xavier-normal ones replace.
    """
    import torch  # takes a second

    drawn = []
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for inputs, outputs in ((features, UNITS), (UNITS, UNITS), (UNITS, 2), (UNITS, 2)):
            layer = torch.nn.Linear(inputs, outputs)
            torch.nn.init.xavier_normal_(layer.weight)
            drawn.append(layer.weight.detach().numpy().astype(np.float64))
    first, second, q, zeta = drawn
    level, off = np.full(2, author.LEVEL), np.zeros(UNITS)
    start = np.concatenate(
        [x.ravel() for x in (zeta, level, first.T, off, second.T, off, q, level)]
    )
    change = np.random.default_rng(perturbation).standard_normal(len(start))
    return np.asarray(start * (1.0 + scale * change * (perturbation > 0)))


def batch_of(trajectories: int) -> int:
    """Trajectories a batch."""
    return SMALL_BATCH if trajectories == SMALL else BATCH


def compute(cell: Cell) -> Result:
    """The passes of one network, on counts in float64: see `result_of`.

    Further arrays: `reward best`, `q best`, `reward last` and `q last` (repetitions, S, A) at the
    world's mileages, in utils.
    """
    settings, world = cell.settings, BusEngine()
    precision, changed = settings.get("precision", "float64"), settings.get("perturbation", 0)
    train, test = networks_data(settings["trajectories"])
    found = author.passes(
        train,
        Anchor(world.anchor_action, world.anchor_reward),
        world.discount,
        author.Oracle([test], world.reward),
        start=initial_weights(settings["seed"], 1, changed, PERTURBATION[precision]),
        repetitions=settings.get("repetitions", 1),
        epochs=settings["epochs"],
        units=UNITS,
        batch_trajectories=batch_of(settings["trajectories"]),
        dtype=np.float32 if precision == "float32" else np.float64,
    )
    arrays: dict[str, Array] = {}
    for name, weight in (("q", 0.0), ("reward", -world.discount)):
        best = [one.best.combination(0, weight, world.mdp.features) for one in found]
        last = [one.last.combination(0, weight, world.mdp.features) for one in found]
        arrays |= {f"{name} best": np.array(best), f"{name} last": np.array(last)}
    return result_of([one.trace for one in found], arrays, found[0].cpu_seconds)


def result_of(traces: Sequence[Array], arrays: Mapping[str, Array], seconds: float) -> Result:
    """FIRST, BEST, LAST, MEDIAN (per cent) and BEST_EPOCH of each pass, and `trace`.

    The records are those of the last pass. `trace` (passes, blocks, 3) has the smallest, median and
    largest error of each BLOCK epochs, per cent.
    """
    passes: dict[str, list[float]] = {
        FIRST: [float(x[0]) for x in traces],
        BEST: [float(x.min()) for x in traces],
        BEST_EPOCH: [float(x.argmin()) for x in traces],
        LAST: [float(x[-1]) for x in traces],
        MEDIAN: [float(np.median(x)) for x in traces],
    }
    records = (Record(name, x[-1], status=NOT_CONVERGED) for name, x in passes.items())
    size = min(BLOCK, len(traces[0]))
    blocks = np.stack([x[: len(x) // size * size].reshape(-1, size) for x in traces])
    summaries = [blocks.min(axis=2), np.median(blocks, axis=2), blocks.max(axis=2)]
    thinned = {"trace": np.stack(summaries, axis=2)}
    return Result(tuple(records), passes, {**arrays, **thinned}, seconds)
