"""From an instance of a claim's check to the values of the names of its formal statement.

A map returns (the instance for the check, the values), or None where the instance lies outside the
statement. The instance may be changed on the way to one that the statement speaks of, as from a
pair seen n times to one seen once. Statements with a written step have no map: they are an extract
of what the check computes.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
from scipy.special import softmax

from proofs_checks.certificates import verify
from proofs_checks.claims import printed_tables as paper
from proofs_checks.claims import under_check
from proofs_checks.claims.claims import check
from proofs_checks.claims.instances import one_state
from proofs_checks.oracle import ccp, networks, occupancy, polyak
from proofs_checks.oracle import soft_bellman as oracle
from proofs_checks.sections import (
    equivalence_occupancy,
    gladius_algorithm,
    introduction,
)
from proofs_checks.sections.erm_irl_minimax import population
from proofs_checks.sections.guarantees_jacobian import FLOOR
from proofs_checks.sections.imitation_experiments import GAMES

Values = Mapping[str, Any]
MAPS: dict[str, Callable[[Any], tuple[Any, Values] | None]] = {}
WIDEST = 300.0  # of |Q|, whose exponentials a float holds


def formal(id_: str) -> Callable[[Any], Any]:
    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        MAPS[id_] = function
        return function

    return register


def numbers(value: Any) -> Any:
    """Nested arrays, lists and numbers as verify.py has them; floats stay floats."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(numbers(item) for item in value)
    return verify.number(value)


def model(mdp: Any) -> dict[str, Any]:
    """beta, r (S, A) and P (S, A, S) of a world."""
    return {
        "beta": mdp.discount,
        "r": mdp.reward,
        "P": np.swapaxes(mdp.transition, 0, 1),
    }


def moderate(*tables: Any) -> bool:
    return all(float(np.abs(table).max()) < WIDEST for table in tables)


# --- Section 3 and Appendix B
@formal("lem:telescoping")
def _telescoping(function: Any) -> Any:
    world, policy, f, (s, a) = function
    names = {
        "beta": world.discount,
        "r": world.reward,
        "P": np.swapaxes(world.moves, 0, 1),
        "pi": policy,
        "f": f,
        "s0": s,
        "a0": a,
        "Q": occupancy.action_values(world, policy),
        "d": occupancy.occupancy_given(world, policy, s, a),
    }
    return function, names


@formal("app.value-function-discount")
def _value(period: Any) -> Any:
    mdp, time = period
    star = mdp.solution
    if not moderate(star.q):
        return None
    return period, {**model(mdp), "h": time, "pi": star.policy, "W": star.v}


@formal("setup.Q-star-bounded")
def _bounded(window: Any) -> Any:
    mdp, _ = window
    if not moderate(mdp.solution.q):
        return None
    return (mdp, 8.25), {**model(mdp), "M": 8.25, "Q": mdp.solution.q}


@formal("setup.ddc-policy-class")
def _blind(guess: Any) -> Any:
    mdp = guess.mdp
    if not moderate(mdp.solution.q):
        return None
    world, pi = (mdp.reward, mdp.transition, mdp.discount), softmax(guess.q, axis=1)
    names = {
        **model(mdp),
        "Q": mdp.solution.q,
        "W": oracle.best_blind(*world),
        "pi": pi,
        "U": oracle.policy_value(pi, *world),
    }
    return guess, names


@formal("thm:MagnacThesmar.proof-step")
def _fixed_point(problem: Any) -> Any:
    mdp = problem.mdp
    if not moderate(mdp.solution.q):
        return None
    every = tuple(range(mdp.reward.shape[1]))
    other = ccp.nearest(problem.table, *ccp.system(problem.observed, every))
    return problem, {
        **model(mdp),
        "anchor": problem.anchor,
        "Q": mdp.solution.q,
        "other": other,
    }


@formal("rem:counterfactual-without-P")
def _conservative(experiment: Any) -> Any:
    """With a penalty, in worlds of which every state is reached."""
    mdp = experiment.mdp
    if not np.all(oracle.reachable(mdp.initial, mdp.transition)):
        return None
    joint = mdp.solution.policy[:, :, None] * np.swapaxes(mdp.transition, 0, 1)
    s, a, after = np.nonzero(joint)
    label = (mdp.reward + experiment.intervention)[s, a]
    rows = (s, a, after, joint[s, a, after])
    early, learned = (
        oracle.offline(experiment.start, rows, label, mdp.discount, 0.25, sweeps)
        for sweeps in (400, 800)
    )
    if np.abs(early - learned).max() > 1e-9:
        return None
    changed = introduction.TabularMDP(
        mdp.reward + experiment.intervention, mdp.transition, mdp.discount, mdp.initial
    )
    return experiment._replace(conservatism=0.25), {
        **model(mdp),
        "Delta": experiment.intervention,
        "alpha": 0.25,
        "Q": mdp.solution.q,
        "N": changed.solution.q,
        "C": learned,
    }


@formal("app.pi-star-ratio")
def _policy_ratio(mdp: Any) -> Any:
    q = mdp.solution.q
    if not moderate(q) or np.abs(q.sum(axis=1)).min() < 1e-3:
        return None
    return mdp, {**model(mdp), "Q": q}


@formal("lem:logsumexp_Shannon.proof-step")
def _programme(programme: Any) -> Any:
    if np.ptp(programme.x) / programme.tau > WIDEST or not moderate(programme.x / programme.tau):
        return None
    return programme, {"x": programme.x, "tau": programme.tau}


# --- Sections 1, 2 and 4
@formal("intro.reward-no-extra-cost")
def _seen_once(pair: Any) -> Any:
    once = pair._replace(visits=1)
    mdp, q = introduction._world(once)
    names = {"beta": once.discount, "chance": once.chances, "v": once.v}
    return once, {**names, "q": q[0, 1], "r": mdp.reward[0, 1]}


@formal("intro.true-parameter")
def _parameter(family: Any) -> Any:
    theta = introduction._minimiser(family)
    steps = np.linalg.lstsq(family.features.T, theta - family.start, rcond=None)[0]
    names = {"Phi": family.features, "truth": family.truth, "start": family.start}
    return family, {**names, "steps": steps, "theta": theta}


@formal("intro.unique-saddle")
def _saddle(candidate: Any) -> Any:
    mdp, shift = candidate
    q = mdp.solution.q
    if not moderate(q, q + shift):
        return None
    d = mdp.discounted_occupancy()
    names = {**model(mdp), "nu": mdp.initial, "anchor": 0, "Q": q, "d": d, "other": q + shift}
    return candidate, names


@formal("related.polyhedral")
def _mixture(mixture: Any) -> Any:
    mdp, other = mixture.mdp, mixture.mdp.__class__
    second = other(mixture.reward, mdp.transition, mdp.discount, mdp.initial)
    if not moderate(mdp.solution.q, second.solution.q):
        return None
    names = {"beta": mdp.discount, "P": model(mdp)["P"], "r1": mdp.reward, "r2": mixture.reward}
    values = {"V1": mdp.solution.v, "V2": second.solution.v, "weight": mixture.share}
    return mixture, {**names, **values}


@formal("eq:zeta-reparametrisation")
def _zeta(probe: Any) -> Any:
    return probe, {**model(probe.mdp), "Q": probe.q, "zeta": probe.dual}


@formal("eq:BC.p-hat")
def _ratio(q: Any) -> Any:
    return None if not moderate(q) or abs(q.sum()) < 1e-3 else (q, {"q": q})


@formal("eq:expzeta")
def _regression(probe: Any) -> Any:
    mdp = probe.mdp
    if not moderate(mdp.solution.q):
        return None
    target = population(probe)
    zeta = target.mean(target.v)
    zeta[:, 1:] += probe.dual[:, 1:]
    names = {**model(mdp), "nu": mdp.initial, "Qstar": mdp.solution.q, "anchor": 0}
    return probe, {**names, "d": mdp.discounted_occupancy(), "Q": probe.q, "zeta": zeta}


# --- Section 6 and the technical proofs
@formal("remark.full-column-rank")
def _spanning(family: Any) -> Any:
    every = family.gradients
    if networks.least_response(every) <= FLOOR:
        return None
    seen = np.flatnonzero(np.repeat(family.visited, family.actions))
    return family, {"all-rows": every, "points": seen}


@formal("lem:anchor_overlap_logit.finite-horizon")
def _periods(problem: Any) -> Any:
    mdp = problem.mdp
    if not moderate(2 * mdp.solution.q):
        return None
    flow = np.einsum("sa,ast->st", mdp.solution.policy, mdp.transition)
    distributions = [mdp.initial]
    for _ in range(problem.horizon):
        distributions.append(distributions[-1] @ flow)
    anchored = mdp.transition[problem.anchor, np.arange(len(mdp.initial))]
    nu = np.mean(distributions[:-1], axis=0) @ anchored
    if np.any((nu > 0) & (nu < 1e-5)):
        return None
    names = {**model(mdp), "anchor": problem.anchor, "Q": mdp.solution.q}
    return problem, {**names, "H": problem.horizon, "states": np.array(distributions)}


def data(sample: Any) -> dict[str, Any]:
    """beta, n (X, A, X), the anchors and their rewards of a data set."""
    return {
        "beta": sample.discount,
        "n": sample.moves,
        "anchor": sample.anchor,
        "r": sample.reward,
    }


def everywhere(sample: Any, at_pairs: Any) -> Any:
    """What is given at the states with anchor rows, 0 at the others."""
    whole = np.zeros((len(sample.moves), *at_pairs.shape[1:]))
    whole[sample.be_states] = at_pairs
    return whole


def steepest(matrix: Any) -> Any:
    """The unit vector along which a symmetric matrix is largest in size."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors[:, np.argmax(np.abs(values))]


@formal("prop:linConvergence.two-sided-PL")
def _fixed_zeta(point: Any) -> Any:
    sample, q, zeta = point
    tables = {"theta": q.ravel(), "other": (q + 1).ravel(), "mu": 1e-9, "radius-squared": 1}
    return point, {**data(sample), "zeta": zeta, **tables}


@formal("prop:linConvergence.single-stepsize")
def _steps(problem: Any) -> Any:
    """One state, one action and r = 0, as the statement has them."""
    beta, scale = problem.sample.discount, problem.scale
    here, square = 2 * (2 * beta - 1), 2 * beta**2
    if abs((here + square * scale**2) ** 2 - 4 * (square * scale) ** 2) < 1e-3:
        return None  # a double root: the check's differences leave the root of their error
    return problem._replace(sample=one_state([1], discount=beta)), {"beta": beta, "scale": scale}


@formal("prop:linConvergence.strong-concavity")
def _auxiliary(regression: Any) -> Any:
    sample, features = regression.sample, regression.features
    gram = float(np.linalg.eigvalsh(features @ features.T)[0])
    if gram < 1e-9 or np.array_equal(regression.phi, regression.other):
        return None
    names = {"features": everywhere(sample, features), "phi": regression.phi}
    names |= {"other": regression.other, "pairs": sample.be_states, "Q": regression.q}
    return regression, {**data(sample), **names, "rho": polyak.strong_concavity(sample) * gram}


@formal("lem:lipsSmooth.hessian-of-V")
def _second_derivative(outputs: Any) -> Any:
    q, gradients = outputs
    p = softmax(q)
    mean = p @ gradients
    missed = np.outer(mean, mean) - gradients.T * p**2 @ gradients
    return outputs, {"q": q, "G": gradients, "h": steepest(missed)}


def _curved(point: Any, which: str) -> Any:
    sizes, width = point.sizes, point.slopes.shape[2]
    if point.q.size > 4 or not (np.any(point.slopes) and np.any(point.hessians)):
        return None  # small ones: second derivatives are slow

    def term(d: Any) -> Any:
        risk = under_check.sample_risk(point.sample, point.outputs(d))
        return risk.nll if which == "nll" else risk.total()

    moves = 1e-5 * np.eye(width)
    ends = ((under_check.complex_slope(term, s * m) for s in (1, -1)) for m in moves)
    hessian = np.stack([(up - down) / 2e-5 for up, down in ends])
    largest = np.abs(point.sample.reward[point.sample.be_states]).max()
    names = {"q": point.q, "slopes": point.slopes, "bends": point.hessians, "B": sizes.slope}
    names |= {"largest-reward": largest, "corners": np.zeros((1, width)), "B2": sizes.curvature}
    names |= {"weights": [1]}
    names |= {"h": steepest((hessian + hessian.T) / 2), "M": sizes.residual}
    return point, {**data(point.sample), **names}


formal("lem:lipsSmooth.NLL-bound")(lambda point: _curved(point, "nll"))
formal("lem:lipsSmooth.L-theta")(lambda point: _curved(point, "risk"))
formal("lem:EmpLipschitz")(lambda point: _curved(point, "risk"))


@formal("lem:lipsSmooth.L-zeta")
def _duals(pair: Any) -> Any:
    sample, q = pair.data
    first, second = (everywhere(sample, zeta) for zeta in (pair.first, pair.second))
    return pair, {**data(sample), "Q": q, "first": first, "second": second}


@formal("sec:occupancy.conclusion")
def _matching(imitation: Any) -> Any:
    """The matching policy that misreads the reward at most pairs, of those certain of an action."""
    world, pi, _ = imitation
    certain = occupancy.exact(np.eye(world.reward.shape[1]))
    choices = product(certain, repeat=len(world.reward))
    rivals = [equivalence_occupancy._matching(imitation, occupancy.exact(c)) for c in choices]
    rival = max(rivals, key=lambda policy: equivalence_occupancy._wrong(imitation, policy))
    if equivalence_occupancy._wrong(imitation, rival) == 0:
        return None
    names = {"beta": world.discount, "r": world.reward, "P": np.swapaxes(world.moves, 0, 1)}
    names |= {"nu": world.initial, "pi": pi, "rival": rival}
    d = occupancy.occupancy(world, pi, world.initial)
    return imitation, {**names, "d": d, "Q": occupancy.action_values(world, rival)}


# --- the printed tables: prelude.lisp has their numbers, and the instances say which are meant
METHODS = ("GLADIUS", "Rust", "ML-IRL")


def table(trajectories: int) -> int:
    """0 for those of 50 trajectories, 1 for those of 1,000."""
    return list(paper.TABLES).index(trajectories)


@formal("tab.mlirl-r-versus-Q")
def _printed_r_and_q(method: Any) -> Any:
    return method, {"n": table(method.trajectories), "theta": [1, 5]}


@formal("tab.gladius-r-versus-Q")
@formal("tab.mape-from-tables")
def _column(method: Any) -> Any:
    return method, {"n": table(method.trajectories), "method": METHODS.index(method.name)}


@formal("text.who-is-better-where")
def _near(method: Any) -> Any:
    return method, {"n": table(method.trajectories), "oracle": METHODS.index(method.name)}


@formal("text.action-zero")
def _replacement(row: Any) -> Any:
    if check("text.action-zero", row).observed < -11:
        return None  # the check shows Q
    return row, {"x": row[1] - 1}


formal("text.state-space-size")(lambda dummies: (dummies, {"limit": 10, "K": dummies}))


formal("text.bc-consistently-better")(lambda game: (game, {"i": GAMES.index(game[0])}))


# --- Algorithm 1
@formal("alg:estimation1.is-GDA")
def _ascent(iterate: Any) -> Any:
    if check("alg:estimation1.is-GDA", iterate).holds:
        return None  # the check may show the descent
    names = {"phi": iterate.phi, "chi": iterate.chi, "theta": iterate.theta, "eta": iterate.eta}
    return iterate, {**data(iterate.sample), **names}


@formal("alg:estimation1.bookkeeping")
def _listing(limit: int) -> Any:
    """The check's own function, of other listings than the printed one; T = 0 has the slips."""
    draw = np.random.default_rng(limit).integers
    limit *= limit % 2
    counted, tested = draw(0, 2, 2)
    names = {"box": draw(1, 3, 3), "text": draw(1, 3, 2)}
    names |= {"start": draw(1, 3, 2), "closing": draw(1, 3, 2)}
    spelled = {name: tuple(map(str, batches)) for name, batches in names.items()}
    listing = gladius_algorithm.Listing(str(counted), str(tested), **spelled)
    names |= {"limit": limit, "budget": 1000 * limit, "counted": counted, "tested": tested}
    return gladius_algorithm.consistent_listing(limit, listing), names
