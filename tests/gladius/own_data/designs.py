"""The designs of `attack`: 35 that others tried on 0.4.0, and ten of ours.

What ends a name tells what is broken there: an assumption that the manual names, or none.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from worlds import Array, Frame, World, grid, linear, near, one, steps, together, walk

Generator = np.random.Generator
UP = ((0, 1, 2), (0.3, 0.4, 0.3))
TWO = ((0, 1, 2), (0.4, 0.4, 0.2))


def mileage(n: int = 15, slope: float = -0.3) -> World:
    """Engines are kept or replaced (the anchor, at -4)."""
    x = np.arange(n)
    states = grid(x)
    moves = np.stack([steps(x, *UP), steps(0 * x, *UP)])
    reward = linear(states, 1, -4.0, (0, 0, slope), (0, one, 0.0), actions=2)
    return World(["x"], states, *reward, moves, 0.95, (x == 0) * 1.0, 1)


def rare() -> World:
    x = np.arange(40)
    jumps = ((1, 2, 7), (0.7, 0.26, 0.04))
    moves = np.stack([steps(x, *jumps), steps(0 * x, *jumps)])
    states = grid(x)
    square = (0, lambda s: s[:, 0] ** 2 / 100, -0.9)
    reward = linear(states, 1, -4.0, (0, 0, -0.1), square, actions=2)
    return World(["x"], states, *reward, moves, 0.95, (x == 0) * 1.0, 1)


def two(kind: str, size: tuple[int, int] = (250, 40)) -> World:
    """Two parts wear out; r is of the sum, the larger or the product."""
    x = np.arange(9)
    states = grid(x, x)
    up, new = steps(x, *TWO), steps(0 * x, *TWO)
    pairs = ((up, up), (new, up), (up, new), (new, new))
    moves = np.concatenate([together(i[None], j[None]) for i, j in pairs])
    of: dict[str, Callable[[Array], Array]] = {
        "sum": lambda s: s.sum(axis=1) / 2,
        "max": lambda s: s.max(axis=1),
        "product": lambda s: s.prod(axis=1) / 4,
    }
    spec = ((0, of[kind], -0.4), (1, one, -1.2), (1, 1, -0.25), (2, one, -1.6), (2, 0, -0.25))
    reward = linear(states, 3, -3.0, *spec, actions=4)
    return World(["x", "y"], states, *reward, moves, 0.92, (np.arange(81) == 0) * 1.0, 3, size)


def useless() -> World:
    """`two("sum")` with ten columns on which nothing depends."""

    def widen(f: Frame, rng: Generator) -> Frame:
        before = f.groupby("id").shift(1).fillna(0)
        f["x1"], f["y1"], f["a1"] = before["x"], before["y"], before["action"]
        f["u0"], f["u1"] = f["x"] + rng.normal(size=len(f)), f["y"] + rng.normal(size=len(f))
        f["mean"] = f.groupby("id")["x"].cumsum() / (f["t"] + 1)
        for j in range(4):
            f[f"z{j}"] = rng.normal(size=len(f)) if j < 2 else rng.integers(0, 5, len(f))
        return f

    names = ["x", "y", "x1", "y1", "a1", "u0", "u1", "mean", "z0", "z1", "z2", "z3"]
    return replace(two("sum"), edit=widen, seen=names)


def two_continuous() -> World:
    g = np.linspace(-2.03, 2.11, 27)
    states = grid(g, g)
    x = np.stack(
        [near(g, 0.9 * g - 0.1, 0.3), near(g, 0.9 * g + 0.35, 0.3), near(g, 0 * g - 0.8, 0.3)]
    )
    y = np.stack([near(g, 0.8 * g, 0.45)] * 3)
    spec = ((0, 0, 0.4), (0, 1, 0.3), (0, product, 0.5))
    spec += ((1, one, -0.7), (1, 0, 0.4), (1, 1, -0.2), (1, product, 0.5))
    reward = linear(states, 2, 0.0, *spec, actions=3)
    return World(["x", "y"], states, *reward, together(x, y), 0.9, uniform(states), 2)


def product(s: Array) -> Array:
    return np.asarray(s[:, 0] * s[:, 1])


def uniform(states: Array) -> Array:
    return np.full(len(states), 1 / len(states))


def exits() -> World:
    """The anchor ends the path."""
    x, y = np.arange(12), np.arange(4)
    states = grid(x, y)
    first = together(walk(12, 0.35, 0.25)[None], walk(4, 0.2, 0.2)[None])
    second = together(steps(x, (0, 1, 2, 3), (0.2, 0.4, 0.3, 0.1))[None], walk(4, 0.2, 0.2)[None])
    moves = np.concatenate([first, second, 0 * first])
    spec = ((0, one, -0.5), (0, 0, 0.12), (0, 1, -0.2), (1, one, -1.2), (1, 0, 0.12), (1, 1, -0.1))
    reward = linear(states, 2, 1.0, *spec, actions=3)
    return World(["x", "y"], states, *reward, moves, 0.9, uniform(states), 2, (800, 40))


def rows_after_exit() -> World:
    """`exits`, but the table goes on to the end of the panel: x = -1, the anchor."""

    def go_on(f: Frame, rng: Generator) -> Frame:
        last = f[f["done"]]
        extra = last.loc[last.index.repeat(39 - last["t"])].copy()
        extra["t"] += 1 + extra.groupby("id").cumcount()
        extra["x"], extra["y"] = -1.0, 0.0
        table = Frame(np.concatenate([f, extra]), columns=f.columns).infer_objects()
        table["done"] = False
        return table.sort_values(["id", "t"]).reset_index(drop=True)

    return replace(exits(), edit=go_on)


def anchor_by_state() -> World:
    x, d = np.arange(10), np.arange(5)
    states = grid(x, d)
    up = (0.3, 0.5, 0.2)
    base = (steps(x, (0, 1, 2), up), steps(np.maximum(x - 3, 0), (0, 1, 2), up))
    chain = np.stack([*base, steps(0 * x, (0, 1), (0.8, 0.2))])
    moves = together(chain, np.stack([walk(5, 0.2, 0.2)] * 3))
    spec = ((0, 0, -0.3), (0, 1, 0.2), (1, one, -1.0), (1, 0, -0.1), (1, 1, 0.1))
    reward = linear(states, 2, known(states), *spec, actions=3)
    own = {"anchor_reward": known}
    return World(["x", "d"], states, *reward, moves, 0.93, uniform(states), 2, fit=own)


def known(s: Array) -> Array:
    return np.asarray(-1.0 - 0.15 * s[:, 0] + 0.4 * s[:, 1])


def inventory(loss: float) -> World:
    """Orders of a shop; an empty stock costs `loss`."""
    k, d = np.arange(12), np.arange(4)
    states = grid(k, d)
    demand = (
        (0.6, 0.3, 0.1, 0),
        (0.3, 0.4, 0.2, 0.1),
        (0.1, 0.3, 0.4, 0.2),
        (0.05, 0.15, 0.4, 0.4),
    )
    regime, moves = walk(4, 0.15, 0.15), np.zeros((4, 48, 48))
    for i, (stock, now) in enumerate(states):
        for a, order in enumerate((0, 2, 5, None)):
            for sold, chance in enumerate(demand[int(now)]):
                left = 0 if order is None else min(max(stock + order - sold, 0), 11)
                moves[a, i, int(left) * 4 : int(left) * 4 + 4] += chance * regime[int(now)]
    out = [(a, lambda s: (s[:, 0] == 0) * 1.0, -loss) for a in range(3)]
    spec = [*out, *((a, 0, -0.08) for a in range(3)), (0, 1, 0.15), (1, 1, 0.15), (2, 1, 0.1)]
    spec += [(1, one, -0.6), (2, one, -1.2)]
    reward = linear(states, 3, -2.0, *spec, actions=4)
    return World(["k", "d"], states, *reward, moves, 0.95, uniform(states), 3)


def law_of_both() -> World:
    """What comes next depends on two columns at once."""
    x, v = np.arange(12), np.arange(3)
    states = grid(x, v)
    laws = (((0, 1), (0.8, 0.2)), UP, ((1, 2, 4), (0.3, 0.4, 0.3)))
    kind, moves = walk(3, 0.05, 0.05), np.zeros((3, 36, 36))
    for a, base in enumerate((x, np.maximum(x - 4, 0), 0 * x)):
        for now, law in enumerate(laws):
            chain = steps(base, *law)
            moves[a, now::3] = np.einsum("ij,k->ijk", chain, kind[now]).reshape(12, 36)
    spec = ((0, 0, -0.3), (1, one, -1.5), (1, 0, -0.15))
    reward = linear(states, 2, -4.0, *spec, actions=3)
    return World(["x", "v"], states, *reward, moves, 0.95, uniform(states), 2)


def wiggle() -> World:
    x, g = np.arange(10), np.linspace(-3, 3.1, 41)
    states = grid(x, g)
    up = ((0, 1, 2), (0.3, 0.5, 0.2))
    chain = np.stack([steps(x, *up), steps(0 * x, *up)])
    moves = together(chain, np.stack([near(g, 0.7 * g, 0.8)] * 2))
    wave = (0, lambda s: np.sin(1.7 * s[:, 1]), 1.3)
    reward = linear(states, 1, -3.5, (0, 0, -0.3), wave, actions=2)
    return World(["x", "y"], states, *reward, moves, 0.93, uniform(states), 1)


def grades() -> World:
    g, h = np.arange(12), np.arange(2)
    states = grid(g, h)
    levels = (0.1, 0.1, 0.3, 0.9, 1.0, 1.1, 2.0, 2.1, 2.1, 3.5, 3.6)
    down = steps(np.maximum(g - 3, 0), (-1, 0, 1), (0.2, 0.6, 0.2))
    chain = np.stack([steps(g, (0, 1, 2), (0.35, 0.45, 0.2)), down])
    spec = [(0, lambda s, i=i: (s[:, 0] == i) * 1.0, -v) for i, v in enumerate(levels, 1)]
    reward = linear(states, 1, -2.5, *spec, (0, 1, 0.5), (0, one, 0.2), actions=2)
    moves = together(chain, np.stack([np.eye(2)] * 2))
    return World(["grade", "cohort"], states, *reward, moves, 0.9, uniform(states), 1)


def heavy_tail(*, is_raw: bool) -> World:
    """A size from .2 to 900; r is linear in its log, or in itself."""
    g, y = np.exp(np.linspace(np.log(0.2), np.log(900), 60)), np.arange(4)
    states, i = grid(g, y), np.arange(60)
    first = steps(i, (-3, -1, 0, 1, 3), (0.1, 0.25, 0.3, 0.25, 0.1))
    second = steps(i, (0, 1, 2, 4), (0.2, 0.3, 0.3, 0.2))
    last = steps(0 * i + 12, (-4, -2, 0, 2, 4), (0.2,) * 5)
    moves = together(np.stack([first, second, last]), np.stack([walk(4, 0.2, 0.2)] * 3))

    def log(s: Array) -> Array:
        return np.log(s[:, 0])

    if is_raw:
        spec = ((0, one, -0.4), (0, 0, 0.003), (1, one, -1.2), (1, 0, 0.0025))
    else:
        spec = ((0, one, -0.8), (0, log, 0.35), (1, one, -1.8), (1, log, 0.3))
    reward = linear(states, 2, 0.0, *spec, (0, 1, -0.3), (1, 1, 0.1), actions=3)
    return World(["size", "y"], states, *reward, moves, 0.9, uniform(states), 2)


def three_together() -> World:
    """Mileage costs more in the summer, which is at another time in the south."""
    x, m, h = np.arange(12), np.arange(12), np.arange(2)
    states = grid(x, m, h)
    chain = np.stack([steps(x, *TWO), steps(0 * x, *TWO)])
    moves = together(
        chain, np.stack([np.roll(np.eye(12), 1, axis=1)] * 2), np.stack([np.eye(2)] * 2)
    )

    def south(s: Array) -> Array:
        return s[:, 0] * np.isin(s[:, 1], (5, 6, 7, 8)) * (s[:, 2] == 1)

    def north(s: Array) -> Array:
        return s[:, 0] * np.isin(s[:, 1], (11, 0, 1, 2)) * (s[:, 2] == 0)

    reward = linear(states, 1, -4.0, (0, 0, -0.15), (0, south, -0.25), (0, north, -0.25), actions=2)
    start = (states[:, 0] == 0) / 24
    return World(["x", "month", "south"], states, *reward, moves, 0.95, start, 1, (250, 60))


def impossible(which: int) -> World:
    """Keeping (0) cannot be chosen from 10 on, or the anchor (1) below 3."""
    world = mileage()
    is_out = np.zeros((15, 2), dtype=bool)
    is_out[slice(10, None) if which == 0 else slice(3), which] = True
    terms = np.where(is_out[..., None], 0.0, world.terms)
    fixed = np.where(is_out, -60.0, world.fixed)
    return replace(world, terms=terms, fixed=fixed, valid=~is_out * 1.0)


def sets_of_choices() -> World:
    """`two("sum")`; two actions, the anchor among them, cannot be chosen everywhere."""
    world = two("sum")
    is_out = np.zeros((81, 4), dtype=bool)
    is_out[:, 2], is_out[:, 3] = world.x[:, 1] < 2, world.x.sum(axis=1) < 3
    terms = np.where(is_out[..., None], 0.0, world.terms)
    return replace(
        world, terms=terms, fixed=np.where(is_out, -200.0, world.fixed), valid=~is_out * 1.0
    )


def hidden(kind: str, size: tuple[int, int] = (250, 40)) -> World:
    """Mileage with a column that the user lacks: types, a shock that lasts, or the last action."""
    base, x = mileage(), np.arange(15)
    if kind == "shock":
        u = np.array([-1.3, 0.0, 1.3])
        of_u = np.array([[0.92, 0.08, 0], [0.04, 0.92, 0.04], [0, 0.08, 0.92]])
        slopes = np.full(3, -0.3)
    elif kind == "types":
        u, of_u, slopes = np.zeros(2), np.eye(2), np.array([-0.1, -0.7])
    else:
        u, of_u, slopes = np.array([0.0, -0.9]), np.eye(2), np.full(2, -0.3)
    states = grid(x, np.arange(len(u)))
    moves = together(base.moves, np.stack([of_u] * 2))
    if kind == "last":  # column 1 is the last action
        moves = together(base.moves, np.stack([np.eye(2)[[a, a]] for a in (0, 1)]))
    k = states[:, 1].astype(int)
    reward = linear(states, 1, -4.0, (0, lambda s: slopes[k] * s[:, 0] + u[k], 1.0), actions=2)
    start = (states[:, 0] == 0) * ((k == 0) if kind == "last" else 1 / len(u))
    return World(["x", "u"], states, *reward, moves, 0.95, start, 1, size, ["x"])


def mismeasured() -> World:
    def blur(f: Frame, rng: Generator) -> Frame:
        f["x"] = np.clip(f["x"] + rng.choice([-1, 0, 1], len(f), p=[0.25, 0.5, 0.25]), 0, 14)
        return f

    return replace(mileage(), edit=blur)


def lost(by: str) -> World:
    """Rows are lost: after keeping at more than 4, or with a mileage of 3 or more of their own."""

    def after_keeping(f: Frame, rng: Generator) -> Frame:
        cut = (f["action"] == 0) & (f["x"] > 4) & (rng.random(len(f)) < 0.15)
        return f[~(cut.groupby(f["id"]).cumsum().groupby(f["id"]).shift(1).fillna(0) > 0)]

    def of_their_own(f: Frame, rng: Generator) -> Frame:
        return f[~((f["x"] >= 3) & (rng.random(len(f)) < 0.5))]

    edit = after_keeping if by == "action" else of_their_own
    return replace(mileage(), edit=edit, size=(400, 60))


REPORTED: dict[str, Callable[[], World]] = {
    "mileage": mileage,
    "mileage, 30 x 10": lambda: replace(mileage(), size=(30, 10)),
    "rare jumps": rare,
    "keeping impossible": lambda: impossible(0),
    "rows lost after an action": lambda: lost("action"),
    "sum of two": lambda: two("sum"),
    "larger of two": lambda: two("max"),
    "product of two": lambda: two("product"),
    "ten useless columns": useless,
    "two continuous columns": two_continuous,
    "exits": exits,
    "anchor's reward by state": anchor_by_state,
    "finite horizon, hidden": lambda: replace(mileage(), horizon=20, size=(500, 20)),
    "moves by two columns at once": law_of_both,
    "wiggle": wiggle,
    "twelve grades": grades,
    "sum of two, 30 x 10": lambda: two("sum", (30, 10)),
    "rows lost by the next state": lambda: lost("next"),
    "inventory": lambda: inventory(1.5),
    "inventory, loss 3": lambda: inventory(3.0),
    "inventory, no loss": lambda: inventory(0.0),
    "log of a size": lambda: heavy_tail(is_raw=False),
    "a size itself": lambda: heavy_tail(is_raw=True),
    "three columns at once": three_together,
    "anchor impossible": lambda: impossible(1),
    "choice sets": sets_of_choices,
    "rows after the exit": rows_after_exit,
    "shock that lasts": lambda: hidden("shock"),
    "types": lambda: hidden("types"),
    "types, six periods": lambda: hidden("types", (1600, 6)),
    "measured with error": mismeasured,
    "last action left out": lambda: hidden("last"),
    "wrong beta": lambda: replace(mileage(), told=0.8),
    "mileage, 1500 paths": lambda: replace(mileage(), size=(1500, 40)),
    "larger of two, 1500 paths": lambda: two("max", (1500, 40)),
}


def brands() -> World:
    """Marketing: a stock of loyalty to brand 1, which buying raises, and the price of brand 2."""
    g, p = np.arange(9), np.arange(5)
    states = grid(g, p)
    down = steps(g, (0, -1), (0.6, 0.4))
    loyalty = np.stack(
        [down, steps(g, (0, 1, 2), (0.2, 0.6, 0.2)), steps(g, (0, -1, -2), (0.2, 0.5, 0.3))]
    )
    moves = together(loyalty, np.stack([walk(5, 0.25, 0.25)] * 3))
    root = (1, lambda s: np.sqrt(s[:, 0]), 0.5)
    spec = ((1, one, -1.2), root, (2, one, 0.3), (2, 1, -0.35))
    reward = linear(states, 0, 0.0, *spec, actions=3)
    return World(["loyalty", "price"], states, *reward, moves, 0.9, uniform(states), 0)


def promotions() -> World:
    """Marketing: packs are bought ahead at low prices; an empty shelf at home costs."""
    k, p = np.arange(10), np.arange(3)
    states = grid(k, p)
    eat = (0, -1, -2), (0.2, 0.6, 0.2)
    stock = np.stack([steps(np.minimum(k + n, 9), *eat) for n in (0, 1, 4)])
    price = np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]])
    spec = [(a, 1, -0.5 * n) for a, n in ((1, 1), (2, 2.5))]
    spec += [(a, 0, -0.12) for a in (1, 2)] + [(1, one, 0.5), (2, one, 0.6)]
    reward = linear(states, 0, shelf(states), *spec, actions=3)
    moves = together(stock, np.stack([price] * 3))
    own = {"anchor_reward": shelf}
    return World(["stock", "price"], states, *reward, moves, 0.93, uniform(states), 0, fit=own)


def shelf(s: Array) -> Array:
    return np.asarray(-0.06 * s[:, 0] - 1.2 * (s[:, 0] == 0))


def subscription() -> World:
    """Marketing: minutes of use span three orders; a customer stays, upgrades, or cancels."""
    u, q = np.exp(np.linspace(0, np.log(900), 30)), np.arange(3)
    states, i = grid(u, q), np.arange(30)
    use = np.stack(
        [
            steps(i, (-2, 0, 1), (0.3, 0.4, 0.3)),
            steps(i, (-1, 0, 2), (0.2, 0.4, 0.4)),
            0 * np.eye(30),
        ]
    )
    plan = np.stack([walk(3, 0.1, 0.2), steps(np.arange(3), (1, 0), (0.8, 0.2)), np.eye(3)])

    def log(s: Array) -> Array:
        return np.log(s[:, 0])

    spec = ((0, one, -0.9), (0, log, 0.3), (0, 1, 0.1), (1, one, -1.6), (1, log, 0.3), (1, 1, -0.2))
    reward = linear(states, 2, 0.5, *spec, actions=3)
    moves = together(use, plan)
    return World(["minutes", "plan"], states, *reward, moves, 0.9, uniform(states), 2, (1000, 30))


def occupations() -> World:
    """Labour: two kinds of experience, which wear off where they are not used; home is known."""
    x = np.arange(9)
    states = grid(x, x)
    up, off = steps(x, (0, 1), (0.3, 0.7)), steps(x, (0, -1), (0.75, 0.25))
    moves = np.concatenate(
        [together(i[None], j[None]) for i, j in ((up, off), (off, up), (off, off))]
    )
    root = (0, lambda s: np.sqrt(s[:, 0]), 0.6)
    spec = ((0, one, -1.4), root, (1, one, -0.9), (1, 1, 0.22), (1, 0, -0.05))
    reward = linear(states, 2, 0.0, *spec, actions=3)
    return World(["white", "blue"], states, *reward, moves, 0.9, uniform(states), 2)


def search() -> World:
    """Labour: search, train, or accept an offer (the anchor, worth its log), which ends search."""
    w, d = np.exp(np.linspace(np.log(5), np.log(700), 25)), np.arange(8)
    states, i = grid(w, d), np.arange(25)
    draws = near(i * 1.0, 0 * i + 9.0, 5.0)
    offers = np.stack([draws, near(i * 1.0, 0 * i + 12.0, 5.0), 0 * draws])
    spell = np.stack([steps(d, (1,), (1.0,))] * 3)
    spec = ((0, one, 0.2), (0, 1, -0.12), (1, one, -0.5), (1, 1, -0.05))
    reward = linear(states, 2, offer(states), *spec, actions=3)
    start = (states[:, 1] == 0) / 25
    own = {"anchor_reward": offer}
    moves = together(offers, spell)
    return World(["offer", "spell"], states, *reward, moves, 0.9, start, 2, (2500, 12), fit=own)


def offer(s: Array) -> Array:
    return np.asarray(1.2 * np.log(s[:, 0]) - 3.0)


def retirement() -> World:
    """Labour: full time, part time, or retire (the anchor), by health and age over 50."""
    t, h = np.arange(16), np.arange(4)
    states = grid(t, h)
    older = steps(t, (1,), (1.0,))
    health = np.stack([walk(4, 0.15, 0.2), walk(4, 0.2, 0.15), np.eye(4)])
    moves = together(np.stack([older, older, 0 * older]), health)
    spec = ((0, one, 0.6), (0, 0, -0.1), (0, 1, 0.25), (1, one, 0.2), (1, 0, -0.06), (1, 1, 0.15))
    reward = linear(states, 2, 1.0, *spec, actions=3)
    return World(["age", "health"], states, *reward, moves, 0.9, uniform(states), 2, (1500, 20))


def last_age() -> World:
    """Labour: training by age, up to a last one at which every path ends; the horizon is finite."""
    t, h = np.arange(15), np.arange(4)
    states = grid(t, h)
    older = np.stack([steps(t, (1,), (1.0,))] * 2)
    skill = np.stack([steps(h, (1, 0), (0.7, 0.3)), steps(h, (0, -1), (0.8, 0.2))])
    spec = ((0, one, -0.8), (0, 1, -0.3))
    reward = linear(states, 1, 0.5 * states[:, 1], *spec, actions=2)
    start = (states[:, 0] == 0) / 4
    own = {"anchor_reward": skilled}
    return World(
        ["age", "skill"],
        states,
        *reward,
        together(older, skill),
        0.95,
        start,
        1,
        (600, 15),
        horizon=15,
        fit=own,
    )


def skilled(s: Array) -> Array:
    return np.asarray(0.5 * s[:, 1])


def dosing() -> World:
    """Health: no treatment (known), a low or a high dose, by symptoms and side effects."""
    s, e = np.arange(9), np.arange(5)
    states = grid(s, e)
    symptoms = np.stack(
        [walk(9, 0.4, 0.1), walk(9, 0.2, 0.4), steps(s, (0, -1, -3), (0.2, 0.4, 0.4))]
    )
    effects = np.stack([walk(5, 0.05, 0.5), walk(5, 0.3, 0.2), walk(5, 0.6, 0.05)])
    square = (1, lambda x: x[:, 1] ** 2, -0.12)
    spec = ((1, one, -0.6), (1, 0, -0.1), square, (2, one, -1.2), (2, 0, -0.05), (2, 1, -0.45))
    reward = linear(states, 0, ill(states), *spec, actions=3)
    own = {"anchor_reward": ill}
    moves = together(symptoms, effects)
    return World(["symptoms", "effects"], states, *reward, moves, 0.92, uniform(states), 0, fit=own)


def ill(s: Array) -> Array:
    return np.asarray(-0.35 * s[:, 0])


def smoking() -> World:
    """Health: a stock of addiction makes smoking better, and more so for the poor."""
    k, y = np.arange(11), np.arange(5)
    states = grid(k, y)
    habit = np.stack([steps(k, (0, -1, -2), (0.3, 0.5, 0.2)), steps(k, (0, 1), (0.4, 0.6))])
    moves = together(habit, np.stack([walk(5, 0.1, 0.1)] * 2))
    spec = ((1, one, -1.6), (1, 0, 0.3), (1, 1, -0.1), (1, product, -0.05))
    reward = linear(states, 0, crave(states), *spec, actions=2)
    own = {"anchor_reward": crave}
    return World(["habit", "income"], states, *reward, moves, 0.9, uniform(states), 0, fit=own)


def crave(s: Array) -> Array:
    return np.asarray(-0.08 * s[:, 0])


def deductible() -> World:
    """Health: a visit is cheaper once five were paid; what was paid is forgotten each January."""
    paid, m = np.arange(10), np.arange(12)
    states = grid(paid, m)
    moves = np.zeros((2, 120, 120))
    for i, (k, month) in enumerate(states.astype(int)):
        for a, ways in ((0, ((0, 1.0),)), (1, ((1, 0.7), (2, 0.3)))):
            for more, chance in ways:
                after = 0 if month == 11 else min(k + more, 9)
                moves[a, i, after * 12 + (month + 1) % 12] += chance
    cheap = (1, lambda s: (s[:, 0] >= 5) * 1.0, 1.1)
    winter = (1, lambda s: np.isin(s[:, 1], (0, 1, 11)) * 1.0, 0.5)
    reward = linear(states, 0, 0.0, (1, one, -1.3), cheap, winter, actions=2)
    start = (states[:, 0] == 0) / 12
    return World(["paid", "month"], states, *reward, moves, 0.95, start, 0, (400, 36))


OURS: dict[str, Callable[[], World]] = {
    "brands": brands,
    "promotions": promotions,
    "subscription": subscription,
    "occupations": occupations,
    "search": search,
    "retirement": retirement,
    "last age": last_age,
    "dosing": dosing,
    "smoking": smoking,
    "deductible": deductible,
}
DESIGNS = REPORTED | OURS
