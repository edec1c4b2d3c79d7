"""The public procedure for a stack of networks in torch, so that a GPU steps all of them at once.

`gladius.paper.author` trains one network after another, in machine code on the CPU. Here R networks
take each step together: those of R data sets, or of R seeds of one. A batch has the rows and states
of the largest of the R, and a network the most hidden units of them. What only fills such a place
has weight zero, so that it changes no number. A data set that has fewer batches takes no step while
the others end their epoch.

The rows, the starts and the steps are those of the CPU, but the gradients are torch's own. So the
numbers agree up to rounding, which grows with the steps of such a training: see `author`.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.paper import author, rows
from gladius.paper.long_work import progress_line
from gladius.paper.training import EPSILON, MEMORY_1, MEMORY_2, ZETA, Layout, Q, training
from gladius.validate import Array, InputError, check_discount, generators

CPU_ALONE = ("oracle", "checkpoint", "risk_every", "repetitions")  # options of the CPU's trainings


class PaddedBatch(NamedTuple):
    """Batch i of each of R data sets, padded to S states and M distinct transitions."""

    states: Tensor  # (R, S, d)
    state: Tensor  # (R, M) positions of the states
    pair: Tensor  # (R, M) positions of (state, action) in a table of S by A, row by row
    following: Tensor  # (R, M) positions of the next states; 0 at ends
    continues: Tensor  # (R, M) 1, or 0 at ends
    reward: Tensor  # (R, M) the anchor's
    ascent: Tensor  # (R, M) weights in the three losses of `rows`; 0 where a row only pads
    choice: Tensor
    bellman: Tensor
    takes: Tensor  # (R, 1) whether the data set has a batch i


def run(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    options: author.Options,
    rngs: int | np.random.Generator | Sequence[np.random.Generator],
    device: str,
    progress: bool,
    given: Mapping[str, Any],
) -> list[author.Pass]:
    """The training of each data set, as `author.run` has it.

    Args:
        data, anchor, discount, options, rngs, progress: see `author.fit`.
        device: "cuda".
        given: options by name, of which those of CPU_ALONE are refused.

    Raises:
        InputError: the device does not exist, or a stack cannot train so on these data.
    """
    for name in CPU_ALONE:
        if given.get(name) not in (None, getattr(author.Options, name, None)):
            raise InputError(name, given[name], "leave it out, or train with device='cpu'")
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("device", device, "this build of torch sees no GPU: use cpu")
    sizes = [(one.states.shape[1], one.number_of_actions) for one in data]
    if len(set(sizes)) > 1:
        hint = "the data sets of a stack have the same features and actions"
        raise InputError("data", f"(features, actions) {sizes}", hint)
    level = author.LEVEL if options.level_from_truth else 0.0
    starts = [
        author.initial(author.layout_of(one, options), level, rng)
        for one, rng in zip(data, generators(rngs, len(data)), strict=True)
    ]
    return train(data, anchor, discount, options, starts, device, progress)


def train(
    data: Sequence[Transitions],
    anchor: Anchor,
    discount: float,
    options: author.Options,
    starts: Sequence[Array],
    device: str,
    progress: bool = False,
) -> list[author.Pass]:
    """The training of each data set from its initial weights, as `author.train` has it.

    There is no test split: no trace and no losses. The processor time is an equal share of all.
    """
    beta, start_time = options.dtype(check_discount(discount)), time.process_time()
    found = [author._batches(one, anchor, options) for one in data]
    own = [author.layout_of(one, options) for one in data]
    vectors = [np.array(start, options.dtype) for start in starts]
    for r, one in enumerate(found):
        if one.rows.states.min() > 0:
            own[r], vectors[r] = author.without_dead_units(own[r], vectors[r])
    units = max(layout.units[0] for layout in own), options.units
    wide, epochs = replace(own[0], units=units), options.epochs
    stacked = np.stack([_moved(x, a, wide) for a, x in zip(own, vectors, strict=True)])
    before = theta = torch.from_numpy(stacked).to(device).requires_grad_()
    slices = [slice(*ends) for ends in wide.ends]
    moments = [[torch.zeros_like(theta[:, of]) for _ in range(2)] for of in slices]
    done = [torch.zeros_like(theta[:, :1], dtype=torch.float64) for _ in slices]
    batches = _steps(found, wide.actions, device)
    with progress_line("stack" * progress, epochs) as advance, _one_order():
        for epoch in range(epochs):
            before = theta.detach().clone()
            rate = author.LEARNING_RATE / (1.0 + author.DECAY * epoch)
            for i, batch in enumerate(batches):
                which = i % 2
                loss = losses(wide, theta, batch, which, float(beta), options.absolute).sum()
                (slope,) = torch.autograd.grad(loss, theta)
                with torch.no_grad():
                    state = theta[:, slices[which]], *moments[which], done[which]
                    _descend(state, slope[:, slices[which]], batch.takes, which, rate)
            advance(1)
    seconds = (time.process_time() - start_time) / len(data)
    ends = [x.numpy(force=True) for x in (before.detach(), theta.detach())]
    passes = []
    for r, (layout, one) in enumerate(zip(own, found, strict=True)):
        learner = training(layout, vectors[r], int(np.diff(one.state_ends).max()))
        of_loss = anchor.action, beta, rows.ABSOLUTE if options.absolute else rows.PRINTED
        last = [_moved(x[r], wide, layout) for x in ends]
        selections = [
            author.Selection(epoch, author._steepest(learner, x, one, *of_loss), layout, x)  # type: ignore[arg-type]  # beta in its precision
            for epoch, x in zip((epochs - 1, epochs), last, strict=True)
        ]
        none = np.zeros(epochs), np.zeros((0, 2, 3))
        passes.append(author.Pass(none[0], selections[1], selections[0], None, none[1], seconds))
    return passes


def losses(
    layout: Layout, theta: Tensor, batch: PaddedBatch, own: int, beta: float, absolute: bool
) -> Tensor:
    """(R, M) terms of the loss in whose gradient ZETA or Q steps."""
    sizes = [int(np.prod(shape)) for shape in layout.shapes]
    blocks = zip(theta.split(sizes, dim=1), layout.shapes, strict=True)
    zeta_head, zeta_level, weight_1, bias_1, weight_2, bias_2, q_head, q_level = (
        block.reshape(len(theta), -1, shape[-1]) for block, shape in blocks
    )
    hidden = torch.baddbmm(bias_1, batch.states, weight_1).relu()
    hidden = torch.baddbmm(bias_2, hidden, weight_2).relu()
    zeta, q = torch.baddbmm(zeta_level, hidden, zeta_head), torch.baddbmm(q_level, hidden, q_head)
    value = q.logsumexp(dim=2)
    ahead = batch.continues * value.gather(1, batch.following)
    expected = zeta.flatten(1).gather(1, batch.pair)
    if own == ZETA:
        return batch.ascent * (ahead.detach() - expected) ** 2
    chosen, expected = q.flatten(1).gather(1, batch.pair), beta * expected.detach()
    e = chosen - batch.reward - expected
    term = e * (e + 2 * (expected - beta * ahead))
    term = term.abs() if absolute else term
    return batch.choice * (value.gather(1, batch.state) - chosen) + batch.bellman * term


def _descend(
    state: tuple[Tensor, ...], slope: Tensor, takes: Tensor, own: int, rate: float
) -> None:
    """A step of AdamW, as `training.descend` has it, of the networks that take one, in place."""
    theta, mean, square, done = state
    slope = slope.clamp(-author.CLIP, author.CLIP) if own == Q else slope
    mean_after = mean + (1.0 - MEMORY_1) * (slope - mean)
    square_after = MEMORY_2 * square + (1.0 - MEMORY_2) * slope * slope
    size, root = rate / (1.0 - MEMORY_1 ** (done + 1)), (1.0 - MEMORY_2 ** (done + 1)).rsqrt()
    spread = root.to(theta.dtype) * square_after.sqrt() + EPSILON
    change = size.to(theta.dtype) * mean_after / spread
    theta_after = (1.0 - rate * author.WEIGHT_DECAY) * theta - change
    after = theta_after, mean_after, square_after, done + 1
    for old, new in zip(state, after, strict=True):
        old.copy_(torch.where(takes, new, old))


def _steps(found: Sequence[rows.Batches], actions: int, device: str) -> list[PaddedBatch]:
    """All batches on the device; where a data set has no batch i, its last stands in."""
    numbers, made = np.array([len(one.row_ends) - 1 for one in found]), []
    for i in range(numbers.max()):
        fields = []
        for one, number in zip(found, numbers, strict=True):
            batch = rows.cut(one, min(i, int(number) - 1))
            ahead = batch.following, (batch.following != rows.END).astype(batch.number.dtype)
            fields.append(
                (
                    batch.states,
                    batch.state,
                    batch.state * actions + batch.action,
                    np.maximum(ahead[0], 0),
                    ahead[1],
                    batch.reward[batch.state],
                    batch.share[rows.ASCENT] * batch.number,
                    batch.share[rows.CHOICE] * batch.number,
                    batch.share[rows.BELLMAN] * batch.anchored,
                )
            )
        columns = *(_padded(column) for column in zip(*fields, strict=True)), numbers[:, None] > i
        made.append(PaddedBatch(*(torch.from_numpy(column).to(device) for column in columns)))
    return made


def _padded(arrays: Sequence[Array]) -> Array:
    """(R, n, ...) of R arrays of n or fewer rows, with zeros below them."""
    shape = len(arrays), max(map(len, arrays)), *arrays[0].shape[1:]
    found = np.zeros(shape, arrays[0].dtype)
    for row, array in zip(found, arrays, strict=True):
        row[: len(array)] = array
    return found


def _moved(parameters: Array, of: Layout, into: Layout) -> Array:
    """The vector in a layout of more first hidden units, which are then zero, or of fewer."""
    found = np.zeros(into.size, parameters.dtype)
    for mine, theirs in zip(into.blocks(found)[2:], of.blocks(parameters)[2:], strict=True):
        for target, source in zip(mine, theirs, strict=True):
            block = tuple(
                slice(min(sizes)) for sizes in zip(target.shape, source.shape, strict=True)
            )
            target[block] = source[block]
    return found


@contextmanager
def _one_order() -> Iterator[None]:
    """Each sum has one order on the device, so that the same seed gives the same numbers."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read at the first CUDA product
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
