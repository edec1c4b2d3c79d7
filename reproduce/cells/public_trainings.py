"""The first author's procedure on the data of his public code's seeds, from its initial weights.

Facts from github.com/Enoch-H-Kang/DDC-DPT, commit 71f8c08, which states no licence; no line is
carried over. One network is trained on one data set, and a repetition continues it. Batches are 32
trajectories, 5 at N = 50. The test MAPE, which uses the true reward, is logged before each epoch.
The epoch of the smallest counts; a user without the true reward has the last.

Rounding decides much of such a training, so that ranges are quoted: over initial networks, over
repetitions, and over starts that differ by PERTURBATION. No precision gives the public numbers: in
float32 a training leaves that in float64 by 1 % after 50 to 60 epochs.

A user without the true reward can also choose the epoch of the least loss. The rule was written
before any such training was run: from epoch FROM on, every RISK_EVERY-th epoch, the loss that the
public code minimises, mean -log pi + mean over anchor observations of |td^2 - beta^2 dev^2|, on the
training split, or on the test split without its rewards. Both are stored for each network.
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
# the error at the epoch of the least loss on the test split and on the training split
HELD_OUT, TRAINED = "MAPE least held-out loss", "MAPE least training loss"
RISK_EVERY, FROM = (
    10,
    2_500,
)  # epochs between two evaluations of the loss, and the first that counts
NOT_CONVERGED = "not_converged"  # no training has a stopping rule


def training(trajectories: int, smoke: bool, **settings: int | str) -> Cell:
    """The cell of a network at one N; only a run with --long computes others than seed SEED's.

    Args:
        trajectories: N.
        smoke: few epochs.
        settings: any of `seed` (torch's, of the initial weights), `perturbation` (seed of a change
            of them), `repetitions` (trainings, each from where the one before ended), `dummies` (K)
            and `precision` (of PERTURBATION, by default float64).
    """
    epochs = SMOKE_EPOCHS if smoke else EPOCHS
    given = {"trajectories": trajectories, "epochs": epochs, "seed": SEED, **settings}
    given |= {"long": True} if settings else {}
    dummies = f", K = {settings['dummies']}" if "dummies" in settings else ""
    return Cell("public_training", given, f"public procedure, N = {trajectories}{dummies}")


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
        [x.ravel() for x in (zeta.T, level, first.T, off, second.T, off, q.T, level)]
    )
    change = np.random.default_rng(perturbation).standard_normal(len(start))
    return np.asarray(start * (1.0 + scale * change * (perturbation > 0)))


def batch_of(trajectories: int) -> int:
    """Trajectories a batch."""
    return SMALL_BATCH if trajectories == SMALL else BATCH


def compute(cell: Cell) -> Result:
    """The passes of one network: see `result_of`.

    Further arrays: `reward best`, `q best`, `reward last` and `q last` (repetitions, S, A) at the
    world's mileages, in utils, without dummies.
    """
    settings, dummies = cell.settings, cell.settings.get("dummies", 0)
    precision, changed = settings.get("precision", "float64"), settings.get("perturbation", 0)
    world, train, test = (
        BusEngine(dummies=dummies),
        *networks_data(settings["trajectories"], dummies),
    )
    scale = PERTURBATION[precision]
    passes = author.train(
        train,
        Anchor(world.anchor_action, world.anchor_reward),
        world.discount,
        author.Options(
            repetitions=settings.get("repetitions", 1),
            epochs=settings["epochs"],
            units=UNITS,
            batch_trajectories=batch_of(settings["trajectories"]),
            dtype=np.float32 if precision == "float32" else np.float64,
            absolute=settings.get("absolute", True),
            risk_every=RISK_EVERY,
        ),
        initial_weights(settings["seed"], 1 + dummies, changed, scale),
        test=test,
        truth=world.reward,
    )
    arrays: dict[str, Array] = {}
    for name, weight in (("q", 0.0), ("reward", -world.discount)):
        for which in ("best", "before_last") if not dummies else ():
            functions = (getattr(one, which).combination(weight) for one in passes)
            tables = np.array([function(world.mdp.features) for function in functions])
            arrays[f"{name} {which.removeprefix('before_')}"] = tables
    return result_of(passes, arrays)


def result_of(passes: Sequence[author.Pass], arrays: Mapping[str, Array]) -> Result:
    """FIRST, BEST, LAST, MEDIAN, HELD_OUT, TRAINED (per cent) and BEST_EPOCH of each pass.

    The records are those of the last pass. Arrays: `trace` (passes, blocks, 3) has the smallest,
    median and largest error of each BLOCK epochs, per cent; `losses` (passes, L, 2) the loss on the
    training and the test split, and `errors` (passes, L) the error, every RISK_EVERY epochs.
    """
    traces = [one.trace for one in passes]
    losses = np.array([one.risks[:, :, 0] + one.risks[:, :, 2] for one in passes])
    errors = np.array([x[::RISK_EVERY] for x in traces])
    first = FROM // RISK_EVERY if losses.shape[1] > FROM // RISK_EVERY else 0
    chosen = first + np.nan_to_num(losses[:, first:], nan=np.inf).argmin(axis=1)
    legal = np.take_along_axis(errors, chosen.reshape(len(errors), -1), axis=1)
    found: dict[str, list[float]] = {
        FIRST: [float(x[0]) for x in traces],
        BEST: [float(x.min()) for x in traces],
        BEST_EPOCH: [float(x.argmin()) for x in traces],
        LAST: [float(x[-1]) for x in traces],
        MEDIAN: [float(np.median(x)) for x in traces],
        TRAINED: legal[:, 0].tolist(),
        HELD_OUT: legal[:, 1].tolist(),
    }
    records = (Record(name, x[-1], status=NOT_CONVERGED) for name, x in found.items())
    size = min(BLOCK, len(traces[0]))
    blocks = np.stack([x[: len(x) // size * size].reshape(-1, size) for x in traces])
    summaries = [blocks.min(axis=2), np.median(blocks, axis=2), blocks.max(axis=2)]
    stored = {"trace": np.stack(summaries, axis=2), "losses": losses, "errors": errors}
    return Result(tuple(records), found, {**arrays, **stored}, passes[0].cpu_seconds)
