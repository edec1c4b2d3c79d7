"""Algorithm 1's two steps on mini-batches of rows, preconditioned, with the level in closed form.

For a form of r and a ridge of zeta that are given (see `sparse` and `rows`), a batch B of rows,
weighted so that its sums estimate those over all rows, takes, with V' = V(s') and rate rho,

    ascent in zeta    w_a += rho S_a^-1 [Phi_a'(V' - phi'w_a) - kappa_a D w_a],
    level             every intercept += rho mean(V' - zeta) / (1 - beta),
    descent in Q      theta -= rho H^-1 gradient,    w += (dw / dtheta) change of theta,

S_a the matrix of the ridge regression, H Fisher's information, a running mean over batches.
dw / dtheta is a regression of the same kind, learnt by the same steps: with it the descent follows
the gradient of the risk at the inner maximum, where the printed step lags behind zeta and can
diverge. A common shift of Q moves the Bellman error by 1 - beta only, hence the closed form; zeta
and Q are shifted together.

A row of large leverage in S_a (a state that was seen once) makes S_a^-1 Phi_B'Phi_B of its batch
large and the ascent unstable; it enters in several parts, dealt to different batches.

A round has one rate, and its result is the mean of theta over its second half, whole epochs where
they are short enough: errors of sampling without replacement cancel over an epoch. A full pass
judges it: zeta is made exact there, and the step H^-1 gradient that is left may change r by SETTLED
at most. If it may not, the next round starts there with a smaller rate; after the last the fit has
not converged, and says so. What diverges is stopped, and the result is that of the round before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from gladius.rows import Block, Minimum, Risk
from gladius.screen import solve

BATCH = 2_000  # rows
ROUNDS = ((0.5, 400), (0.2, 800), (0.1, 1_600), (0.04, 2_400))  # rho, batches
REST = 40  # batches in which theta rests while zeta and dw / dtheta are learnt
MEMORY = 0.05  # weight of a batch in H, from the twentieth on
CLAMP = 0.2  # of the root mean square change of the log-odds, weighted by their variance
LEVERAGE = 0.25  # most that a part of a row may weigh in the regression of its batch
SETTLED = 0.001  # of |r|, mean over visits: half of what the fit may be off
WIDEST = 70  # coefficients of r: a batch costs their square, a hundred batches full passes
BLOWN_UP = 1e12  # of a coefficient of zeta


class Observations(NamedTuple):
    """Distinct rows, and the parts in which they are dealt out.

    Attributes:
        origin, target, action: (G,) s, s' and a; s' is arbitrary where the path ends.
        going: (G,) whether it does not.
        weight: (G,) rows that each part stands for.
        label: (n,) which of the G each part belongs to.
    """

    origin: Tensor
    target: Tensor
    action: Tensor
    going: Tensor
    weight: Tensor
    label: Tensor

    @classmethod
    def of(cls, risk: Risk, batch: int) -> Observations:
        """A part for each row, and more where LEVERAGE asks for them."""
        rows = risk.rows
        moved = torch.zeros_like(rows.visits)
        moved.index_put_((rows.origin, rows.action), rows.times, accumulate=True)
        ended, how = torch.nonzero(rows.visits > moved, as_tuple=True)
        origin, action = torch.cat([rows.origin, ended]), torch.cat([rows.action, how])
        times = torch.cat([rows.times, (rows.visits - moved)[ended, how]])
        going = torch.arange(len(times), device=times.device) < len(rows.times)
        leverage = torch.zeros_like(times)  # what ends a path has no V
        for a in rows.actions:
            phi = risk.block.phi[a][origin]
            leverage += (going & (action == a)) * (phi * phi).sum(dim=1)
        parts = times
        for _ in range(2):  # more parts are more batches, of which each is weighted more
            batches = torch.ceil(parts.sum() / batch)
            parts = torch.maximum(times, torch.ceil(times * leverage * batches / LEVERAGE))
        label = torch.arange(len(times), device=times.device).repeat_interleave(parts.long())
        target = torch.cat([rows.target, torch.zeros_like(ended)])
        return cls(origin, target, action, going, times / parts, label)

    def stream(self, size: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
        """For ever: distinct observations of a batch, and rows that each stands for.

        Batches of about `size` parts, drawn without replacement within an epoch.
        """
        generator = torch.Generator().manual_seed(seed)
        number = self.batches(size)
        while True:
            order = torch.randperm(len(self.label), generator=generator).to(self.label.device)
            for places in torch.tensor_split(order, number):
                which, times = torch.unique(self.label[places], return_counts=True)
                yield which, number * times * self.weight[which]

    def batches(self, size: int) -> int:
        """In an epoch."""
        return -(-len(self.label) // size)


@dataclass
class Chain:
    """The iterate of the two steps.

    Attributes:
        risk: the risk, its ridge given.
        penalty: (M,) of each squared coefficient, halved.
        theta: (M,).
        inner: (A, p, 1 + M) w and dw / dtheta.
        information: (M, M) H.
        batches: used so far.
    """

    risk: Risk
    penalty: Tensor
    theta: Tensor
    inner: Tensor
    information: Tensor
    batches: int = 0

    def __post_init__(self) -> None:
        rows, risk = self.risk.rows, self.risk
        self.gram: list[Tensor] = []  # Phi_a'Phi_a over the moves
        self.totals: list[Tensor] = []  # Phi_a'1 over them
        self.inertia = 0.0  # what a common shift of zeta by 1 takes off the sum of the residuals
        self.shift = torch.zeros_like(self.inner[..., 0])  # of the coefficients, that is such a one
        for a in rows.actions:
            part, phi = rows.action == a, risk.block.phi[a]
            times = torch.zeros_like(rows.anchor_reward)
            times.index_add_(0, rows.origin[part], rows.times[part])
            self.gram.append(phi.T @ (times[:, None] * phi))
            total = phi.T @ times
            self.totals.append(total)
            self.inertia += float(times.sum() - rows.discount * total @ total)
            if not bool(risk.factor[a].any()):  # every row of the action ends the path: zeta is 0
                continue
            constant = torch.zeros_like(total)
            constant[0] = 1.0
            self.shift[a] = torch.linalg.solve(risk.factor[a], constant)

    def slopes(self, block: Block) -> Tensor:
        """(n, A, M) dQ / dtheta."""
        rows, size = self.risk.rows, self.risk.reward.size
        slopes = torch.stack(
            [rows.discount * (block.phi[a] @ self.inner[a, :, 1:]) for a in rows.actions], dim=1
        )
        for i, c in enumerate(rows.others):
            slopes[:, c, i * size : (i + 1) * size] += block.psi
        return slopes

    def ascend(self, data: Observations, which: Tensor, weight: Tensor, rate: float) -> None:
        """The step in zeta and in its derivative, and the level of both."""
        risk, rows = self.risk, self.risk.rows
        ahead = risk.block.take(data.target[which])
        q = risk.q(ahead, self.theta, self.inner[..., 0])
        value = torch.logsumexp(q, dim=1, keepdim=True)
        mean_slope = torch.einsum("na,nam->nm", torch.exp(q - value), self.slopes(ahead))
        after = torch.cat([value, mean_slope], dim=1)
        change, total = torch.empty_like(self.inner), torch.zeros_like(self.inner[0, 0])
        for a in rows.actions:
            part = torch.nonzero(data.going[which] & (data.action[which] == a))[:, 0]
            phi, now = risk.block.phi[a][data.origin[which[part]]], self.inner[a]
            score = phi.T @ (weight[part, None] * (after[part] - phi @ now))
            # S is the identity here, and holds the ridge: all rows' gram matrix leaves w less it
            change[a] = score + self.gram[a] @ now - now
            total += self.totals[a] @ change[a]
        self.inner = self.inner + rate * change
        if self.inertia > 0:  # not where every path ends at once
            self.inner += rate * self.shift[..., None] * (total / self.inertia)

    def descend(self, data: Observations, which: Tensor, weight: Tensor, rate: float) -> None:
        """The step in theta; at rate 0 only H is learnt."""
        here = self.risk.block.take(data.origin[which])
        policy = torch.softmax(self.risk.q(here, self.theta, self.inner[..., 0]), dim=1)
        slopes, surplus = self.slopes(here), policy.clone()
        surplus[torch.arange(len(which), device=which.device), data.action[which]] -= 1.0
        gradient = torch.einsum("na,nam->m", weight[:, None] * surplus, slopes)
        gradient += self.penalty * self.theta
        slopes -= torch.einsum("na,nam->nm", policy, slopes)[:, None]
        flat, share = slopes.flatten(0, 1), (weight[:, None] * policy).reshape(-1, 1)
        self.batches += 1
        newest = max(1 / self.batches, MEMORY)
        self.information = torch.lerp(self.information, flat.T @ (share * flat), newest)
        if not rate:
            return
        step = -rate * solve(self.information + torch.diag(self.penalty), gradient)
        mean_square = step @ self.information @ step / self.risk.rows.visits.sum()
        step = step * (CLAMP / torch.sqrt(mean_square)).clamp(max=1.0)
        self.theta = self.theta + step
        self.inner[..., 0] += self.inner[..., 1:] @ step


class Refit(NamedTuple):
    """What the two steps reached.

    Attributes:
        minimum: with zeta exact at theta.
        status: ok, not_converged, or diverged where a coefficient passed BLOWN_UP.
        batches: used.
        change: of r that a full step would still make, mean over visits, relative to mean |r|.
        distance: length of that step in standard errors.
        inner: Newton steps for zeta of the pass that judged it.
    """

    minimum: Minimum
    status: str
    batches: int
    change: float
    distance: float
    inner: int


def refit(
    fit: Minimum, seed: int, rounds: Sequence[tuple[float, int]] = ROUNDS, batch: int = BATCH
) -> Refit:
    """The minimum of the same risk and penalty, from the plug-in, by the two steps.

    Args:
        fit: what chose the form of r and lambda; of its theta nothing is used.
        seed: of the order in which rows are drawn.
        rounds: (rho, batches) of each.
        batch: rows.
    """
    risk, penalty = fit.risk, fit.penalty
    data = Observations.of(risk, batch)
    stream, number = data.stream(batch, seed), data.batches(batch)
    reward, none = risk.reward, slice(0)
    frequencies, removed = reward.frequencies[:, none], reward.removed[:, none]
    bare = replace(reward, frequencies=frequencies, phases=reward.phases[none], removed=removed)
    start = risk.with_reward(bare).start()  # the cosines start at zero
    table = start.theta.new_zeros((len(risk.rows.others), reward.size))
    table[:, : bare.size] = start.theta.reshape(-1, bare.size)
    theta = table.reshape(-1)
    slope = theta.new_zeros((*start.zeta.shape, len(theta)))
    zeta = risk.regress(start.v)
    inner = torch.cat([zeta[..., None], slope], dim=2)
    chain = Chain(risk, penalty, theta, inner, theta.new_zeros((len(theta), len(theta))))
    for _ in range(REST):
        which, weight = next(stream)
        chain.ascend(data, which, weight, rounds[0][0])
        chain.descend(data, which, weight, 0.0)
    result = judge(chain, theta, zeta)
    for rate, least in rounds:
        epochs = max(1, round(least / number)) if number <= least else 0
        late = (epochs + 1) // 2 * number if epochs else least // 2
        theta_sum, zeta_sum = torch.zeros_like(theta), torch.zeros_like(start.zeta)
        for left in reversed(range(epochs * number or least)):
            which, weight = next(stream)
            chain.ascend(data, which, weight, rate)
            if not bool(chain.inner.abs().max() <= BLOWN_UP):  # false of nan
                return result._replace(status="diverged", batches=chain.batches)
            chain.descend(data, which, weight, rate)
            if left < late:
                theta_sum += chain.theta / late
                zeta_sum += chain.inner[..., 0] / late
        judged = judge(chain, theta_sum, zeta_sum)
        result = judged._replace(inner=result.inner + judged.inner)
        if result.status == "ok":
            break
        point = result.minimum.point
        chain.theta = point.theta
        if point.exact:
            chain.inner = torch.cat([point.zeta[..., None], point.slope], dim=2)
    return result


def judge(chain: Chain, theta: Tensor, zeta: Tensor) -> Refit:
    """The iterate with zeta exact, and how far a full pass says that it is from the minimum."""
    risk, (point, inner) = chain.risk, chain.risk.settled(theta, zeta)
    slope = point.gradient + chain.penalty * theta
    step = -solve(point.information + torch.diag(chain.penalty), slope)
    decrement = -0.5 * float(slope @ step)
    visits, others = risk.rows.visits.sum(dim=1), len(risk.rows.others)
    reward, change = (risk.block.psi @ part.reshape(others, -1).T for part in (theta, step))
    left = float((visits @ change.abs()).sum() / (visits @ reward.abs()).sum())
    minimum = Minimum(risk, chain.penalty, point, chain.batches, decrement)
    status = "ok" if point.exact and left <= SETTLED else "not_converged"
    distance = (2 * max(decrement, 0.0)) ** 0.5
    return Refit(minimum, status, chain.batches, left, distance, inner)
