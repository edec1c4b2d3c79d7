"""How often a fit accuses right data, and sees what is wrong, in worlds that a seed draws.

    python tests/gladius/own_data/drawn_worlds.py [--worlds 280] [--first 0]

A world has one or two columns, two to four actions, and a policy that nobody chose; the last action
is the anchor. Each has one data set and one method, in turn, of which those with a form get one
that is linear, whatever r is. Most worlds are right; for one in seven there are three more, with
two types that the user does not see, a shock that lasts, or a cost that depends on the last action.

Of the 280 right worlds from seed 0 on, 266 were fitted and `ok`, and in none did a fit speak of
types, memory, the level of V or the anchor's path; 10 were refused and 4 not ok, because the anchor
was hardly ever taken, or states hardly repeat. The z of the level has a standard deviation of 1.02
(standard error .06), and 3.0 at most. Of 40 worlds each, 32 with types, 18 with a shock and 31 with
a last action were found. No threshold was chosen on these worlds, but a pilot on seeds 900 to 927
showed a refusal of right data, of rows after an absorbing state, which was mended before this run.
"""

import argparse
import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from attack import known
from designs import uniform
from worlds import World, grid, linear, one, steps, together, walk

import gladius
from gladius.model.reward_form import linear_in_features

METHODS = ("profiled_erm", "sparse", "smooth", "plug_in", "nfxp", "ccp", "mpec")
HIDDEN = ("", "types", "shock", "last")
SAID = {
    "choices of a path": "types",
    "a choice depends": "memory",
    "what fixes the level": "anchor's path",
    "all but never": "anchor rare",
}


def drawn_world(seed: int, hidden: str = "", columns: int = 0) -> World:
    """A world by a seed; what is hidden changes r by about half of its spread."""
    rng = np.random.default_rng([11, seed])
    number, actions = columns or int(rng.integers(1, 3)), int(rng.integers(2, 5))
    sizes = (int(rng.integers(8, 24)),) if number == 1 else tuple(rng.integers(4, 10, 2))
    x = np.arange(sizes[0])
    up = rng.dirichlet(np.ones(3), actions)
    base = [np.maximum(x - int(rng.integers(0, 3)), 0) for _ in range(actions - 1)] + [0 * x]
    moves = np.stack([steps(b, (0, 1, 2), p) for b, p in zip(base, up, strict=True)])
    if number == 2:
        other = [walk(sizes[1], *rng.uniform(0.1, 0.4, 2)) for _ in range(actions)]
        moves = together(moves, np.stack(other))
    states = grid(*map(np.arange, sizes))
    spec: list[Any] = [(a, one, rng.normal(0, 0.7)) for a in range(actions - 1)]
    for k in range(number):
        spec += [(a, k, rng.normal(-1.0, 1.0) / sizes[k]) for a in range(actions - 1)]
    spec.append((0, lambda s: (s**2).sum(axis=1), rng.normal(0, 1.0) / max(sizes) ** 2))
    fixed = rng.uniform(-4, 0)
    size = (int(rng.integers(60, 600)), int(rng.integers(6, 40)))
    size = (min(size[0], 12_000 // size[1]), size[1])
    names = ["x", "y"][:number]
    discount = float(rng.choice([0.8, 0.9, 0.95]))
    if hidden:
        change = {"types": np.eye(2), "shock": np.array([[0.9, 0.1], [0.1, 0.9]])}
        of_u = np.stack([change.get(hidden, np.eye(2))] * actions)
        if hidden == "last":  # whether the last action was 0
            of_u = np.stack([np.eye(2)[[int(a == 0)] * 2] for a in range(actions)])
        moves, states = together(moves, of_u), grid(*map(np.arange, sizes), np.arange(2))
        spec = [(a, (lambda s, f=f: f(s[:, :-1])) if callable(f) else f, c) for a, f, c in spec]
        spec.append((0, lambda s: s[:, -1] - 0.5, 1.2))
    reward = linear(states, actions - 1, fixed, *spec, actions=actions)
    world = World(names, states, *reward, moves, discount, uniform(states), actions - 1, size)
    return replace(world, names=[*names, "u"], seen=names) if hidden else world


def attempt(world: World, method: str, seed: int) -> tuple[Counter[str], float]:
    """What the fit says, and the z of the level."""
    frame, seen = world.sample(10_000 + seed), list(world.seen or world.names)
    told = known(world)
    if method in ("sparse", "smooth"):
        told["function_class"], method = method, "profiled_erm"
    if method in ("nfxp", "ccp", "mpec"):
        form = world.terms.shape[1], world.anchor, told["anchor_reward"], seen
        told["reward"] = linear_in_features(*form)
    said = Counter[str]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = gladius.Transitions.from_frame(frame, state=seen, action="action", id="id", time="t")
        try:
            fit = gladius.fit(data, method, **told)
        except gladius.InputError as error:
            return Counter([f"refused: {str(error)[:60]}"]), np.nan
    for shown in caught:
        said.update(name for text, name in SAID.items() if text in str(shown.message))
    extra = fit.diagnostics.extra
    if fit.diagnostics.status != "ok":
        reasons: Any = extra.get("not_ok_because", (fit.diagnostics.status,))
        said.update(f"not ok: {reason[:50]}" for reason in reasons)
    said.update(["tested"] if "types_z" in extra else [])
    return said, float(extra.get("level_z", np.nan))  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description="what fits say of worlds that a seed draws")
    parser.add_argument("--worlds", type=int, default=280)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    for hidden in HIDDEN:
        total, z, number = Counter[str](), [], given.worlds if not hidden else given.worlds // 7
        of_method: dict[str, Counter[str]] = {name: Counter() for name in METHODS}
        for seed in range(given.first, given.first + number):
            method = METHODS[seed % len(METHODS)]
            columns = 1 if method == "smooth" else 0
            said, level = attempt(drawn_world(seed, hidden, columns), method, seed)
            z.append(level)
            of_method[method] += said
            total += said
        print(f"{hidden or 'right'}: {number} worlds, {dict(total)}")
        print(f"  level: sd {np.nanstd(z):.2f}, largest {np.nanmax(np.abs(z)):.1f}")
        for name, said in of_method.items():
            print(f"  {name}: {dict(said)}", flush=True)


if __name__ == "__main__":
    main()
