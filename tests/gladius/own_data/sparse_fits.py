"""Fits of the class `sparse` on the bus engine, and a risk on few rows with a plain double."""

from typing import Any

import numpy as np
import torch
from bus_engine import KNOWN
from scipy.special import logsumexp

import gladius
from gladius.own_data.erm.observations.features import Inputs, Rows, make_features
from gladius.own_data.erm.observations.regression import LINEAR_RIDGE
from gladius.own_data.erm.observations.risk import ObservationRisk, Point
from gladius.own_data.erm.observations.sparse import make_zeta
from gladius.panel.anchor import Anchor
from gladius.panel.record import Transitions
from gladius.validate import Array

ANCHOR = Anchor(1, -5.0)
KAPPA = 0.3  # ridge of the small risk


def fit_sparse(data: Transitions, **options: Any) -> gladius.Estimate:
    return gladius.fit(data, function_class="sparse", **KNOWN, **options)


class PlainRisk:
    """NLL(theta) row by row, zeta by repeated ridge regressions: nothing grouped, no derivative."""

    def __init__(self, data: Transitions, risk: ObservationRisk) -> None:
        states, next_states = torch.tensor(data.states), torch.tensor(data.next_states)
        self.data = data
        self.psi, self.psi_next = (risk.reward(s).numpy() for s in (states, next_states))
        self.phi = [features(states).numpy() for features in risk.zeta]
        self.phi_next = [features(next_states).numpy() for features in risk.zeta]
        kappa = ridge(self.phi[0].shape[1])
        taken = [phi[data.actions == a] for a, phi in enumerate(self.phi)]
        self.regression = [np.linalg.solve(phi.T @ phi + kappa, phi.T) for phi in taken]

    def __call__(self, theta: Array) -> float:
        data, zeta = self.data, np.zeros((2, self.phi[0].shape[1]))
        for _ in range(250):
            r = np.stack([self.psi_next @ theta, np.full(len(data), -5.0)], axis=1)
            ahead = np.stack([self.phi_next[a] @ zeta[a] for a in (0, 1)], axis=1)
            value = logsumexp(r + 0.9 * ahead, axis=1) * ~data.done
            new = np.stack([self.regression[a] @ value[data.actions == a] for a in (0, 1)])
            change, zeta = np.max(np.abs(new - zeta)), new
            if change < 1e-10:
                break
        q = [self.psi @ theta + 0.9 * self.phi[0] @ zeta[0], -5.0 + 0.9 * self.phi[1] @ zeta[1]]
        table = np.stack(q, axis=1)
        return float(np.sum(logsumexp(table, axis=1) - table[np.arange(len(data)), data.actions]))


def small_risk(data: Transitions) -> ObservationRisk:
    return ridged_risk(Rows.of(data, [0], ANCHOR, 0.9), Inputs.of(data.states))


def ridged_risk(rows: Rows, scaling: Inputs) -> ObservationRisk:
    risk = ObservationRisk(rows, make_features([0], scaling), make_zeta(rows, scaling, [0]))
    factor = []
    for a, phi in enumerate(risk.block.phi):
        gram = phi.T @ (rows.followed[:, [a]] * phi)
        inverse = torch.linalg.inv(gram + torch.tensor(ridge(phi.shape[1])))
        factor.append(torch.linalg.cholesky(inverse))
    return ObservationRisk(risk.rows, risk.reward, risk.zeta, tuple(factor))


def ridge(size: int) -> Array:
    """(p, p) kappa D of the small risk."""
    return KAPPA * np.diag([0.0, LINEAR_RIDGE, *[1.0] * (size - 2)])


def solved_point(risk: ObservationRisk, theta: torch.Tensor, zeta: torch.Tensor) -> Point:
    """The risk at theta with zeta_Q, by Newton's iteration from `zeta`."""
    point = risk.point(theta, zeta)
    for _ in range(30):
        point = risk.point(theta, point.zeta)
    return point


def few_rows(ended: bool) -> Transitions:
    data = gladius.BusEngine(discount=0.9).simulate(6, np.random.default_rng(1))
    done = np.random.default_rng(2).uniform(size=len(data)) < 0.1 * ended
    return Transitions(data.states, data.actions, data.next_states, data.trajectory, done, 2)
