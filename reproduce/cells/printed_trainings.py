"""Algorithm 1 as the paper prints it, with networks, on the public code's data with K dummies.

The loop is that of the paper's box (`gladius.paper.algorithm`): the Bellman term has its printed
sign, Q and zeta are a network each with the paper's two hidden layers of 10 units, and B1 and B2
are drawn afresh. The paper gives no batch size, rate, number of iterations or start, so that a rule
has to. It was written before any such training was run:

- B1 and B2 are BATCH transitions each. Both steps have one rate, as both are printed with tau_1.
- The step is the printed one (`gradient`), or Adam's (`adam`).
- The output biases start at 0, or at the level of -55, at which the public code starts. A user does
  not know that level, because the true reward sets it.
- The rate is that of RATES with the least held-out loss after a tenth of the iterations, among
  those at which the training has not diverged by then; the smallest if it has at each. The loss is
  that of `public_trainings`: mean -log pi + mean over anchor observations of
  |td^2 - beta^2 dev^2|, on the test split without its rewards.
- The error is that after the last iteration, or where the training left the limit. No epoch is
  chosen.

No data end, so a start at the level c is one at 0 for Q - c and zeta - c: V is then smaller by c,
the anchor's reward and r-hat by (1 - beta) c, and the losses are the same.
"""

import math
import time

import numpy as np
from scipy.special import logsumexp

from gladius.designs.bus import BusEngine
from gladius.designs.metrics import percentage_error
from gladius.model.estimate import Estimate
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.paper import algorithm
from reproduce.cells.public_data import SEED, networks_data
from reproduce.engine.nouns import Cell, Record, Result

TRAJECTORIES, BATCH = 1_000, 250
ITERATIONS, SMOKE_ITERATIONS = 20_000, 20
PILOT = 10  # the rate is chosen after this fraction of the iterations
RATES = (0.1, 0.01, 0.001)
UPDATES, LEVELS = ("gradient", "adam"), (0.0, -55.0)
ERROR = "MAPE"


def training(dummies: int, update: str, level: float, smoke: bool = False) -> Cell:
    """The cell of one training with K dummies, of UPDATES and from a level; with --long alone."""
    settings = {
        "trajectories": TRAJECTORIES,
        "dummies": dummies,
        "update": update,
        "level": level,
        "iterations": SMOKE_ITERATIONS if smoke else ITERATIONS,
        "seed": SEED,
        "long": True,
    }
    return Cell("printed_training", settings, f"Algorithm 1 by {update}, K = {dummies}")


def compute(cell: Cell) -> Result:
    """ERROR in per cent on the test split, and the rate, its iterations and its largest gradient.

    Settings: those of `training`; `seed` is of the weights and batches. Replications: `loss`, the
    held-out loss of the pilot at each of RATES, infinite where it has diverged.
    """
    settings = cell.settings
    world = BusEngine(dummies=settings["dummies"])
    train, test = networks_data(settings["trajectories"], settings["dummies"])
    shift = (1.0 - world.discount) * settings["level"]
    anchor = Anchor(world.anchor_action, world.anchor_reward - shift)

    def trained(rate: float, iterations: int) -> Estimate:
        options = {"optimiser": settings["update"], "tau_1": rate, "tau_2": rate, "batch": BATCH}
        options |= {"function_class": "mlp", "iterations": iterations}
        fits = algorithm.fit([train], anchor, world.discount, rngs=settings["seed"], **options)
        return fits[0]

    pilots = [trained(rate, max(settings["iterations"] // PILOT, 1)) for rate in RATES]
    losses = [held_out_loss(one, test, anchor, world.discount) for one in pilots]
    rate = RATES[int(np.argmin(losses))] if np.isfinite(losses).any() else min(RATES)
    start_time = time.process_time()
    found = trained(rate, settings["iterations"])
    seconds = time.process_time() - start_time
    diagnostics, pairs = found.diagnostics, test.pairs()
    truth = world.reward(pairs.states, pairs.actions)
    estimated = found.reward(pairs.states, pairs.actions) + shift
    numbers = {
        ERROR: percentage_error(estimated, truth, pairs.weights),
        "rate": rate,
        "iterations": float(diagnostics.iterations),
        "largest gradient": float(diagnostics.gradient_norm),
    }
    records = (Record(name, x, status=diagnostics.status) for name, x in numbers.items())
    return Result(tuple(records), {"loss": losses}, cpu_seconds=seconds)


def held_out_loss(fit: Estimate, data: Transitions, anchor: Anchor, discount: float) -> float:
    """Mean -log pi plus the mean |e g| of anchor observations; infinite for a diverged fit.

    With r-hat = Q - beta zeta the factors of `gladius.paper.rows` are e = r-hat - r and
    g = 2 Q - r-hat - r - 2 beta V(s').
    """
    if fit.diagnostics.status == "diverged":
        return math.inf
    q, own = fit.q(data.states), np.arange(len(data))
    chosen, estimated = q[own, data.actions], fit.reward(data.states, data.actions)
    ahead = logsumexp(fit.q(data.next_states), axis=1)
    given = anchor.values(data.states)
    term = (estimated - given) * (2 * chosen - estimated - given - 2 * discount * ahead)
    used = data.actions == anchor.action
    return float(np.mean(logsumexp(q, axis=1) - chosen) + np.mean(np.abs(term[used])))
