"""GLADIUS in Table 4: its demonstrations, its choice of a network, and what is compared."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from gladius.designs.experts import LEGS
from gladius.designs.gym import ACROBOT, CARTPOLE, LUNAR_LANDER, environment
from gladius.paper.imitation import EARLIER, FINAL
from reproduce.cells import demonstrations, gym_trainings
from reproduce.cells.gym_trainings import BEST, BEST_EPOCH, LAST, ROWS, SHORT, TABLE, training
from reproduce.engine.nouns import SHORT_FORM, Result, short_form
from reproduce.engine.view import View
from reproduce.exhibits import table_4
from reproduce.paper import compare, published
from reproduce.paper.verdicts import Comparison
from tests.reproduce.smoke_results import stored, written

gymnasium_needed = pytest.mark.skipif(not find_spec("gymnasium"), reason="gymnasium not installed")
box2d_needed = pytest.mark.skipif(not find_spec("Box2D"), reason="Box2D not installed")


@gymnasium_needed
@pytest.mark.parametrize("name", [CARTPOLE.name, ACROBOT.name])
def test_demonstrations_are_those_of_the_other_methods_and_time_limits_end(name: str) -> None:
    world = environment(name)
    data = gym_trainings.demonstrate(world, 2, np.random.default_rng(1))
    others = demonstrations.demonstrations(world, 2, np.random.default_rng(1))
    for ours, theirs in (
        (data.states, others.states),
        (data.action, others.actions),
        (data.following, others.next_states),
    ):
        np.testing.assert_array_equal(ours, theirs)
    last = np.flatnonzero(np.diff(others.trajectory, append=-1))
    np.testing.assert_array_equal(np.flatnonzero(data.ended), last)
    np.testing.assert_array_equal(data.anchored, (data.action == 0) | data.ended)
    assert others.done.sum() == (0 if name == CARTPOLE.name else 2)
    reward = np.where(others.done, 0.0, -1.0) if name == ACROBOT.name else np.ones(len(others))
    np.testing.assert_array_equal(data.reward, reward)


@gymnasium_needed
@box2d_needed
def test_lunar_lander_stops_when_both_legs_are_on_the_ground() -> None:
    world = environment(LUNAR_LANDER.name)
    data = gym_trainings.demonstrate(world, 2, np.random.default_rng(2))
    others = demonstrations.demonstrations(world, 2, np.random.default_rng(2))
    landed = np.all(data.states[:, LEGS] == 1.0, axis=1)
    np.testing.assert_array_equal(landed, data.ended)
    assert landed.sum() == 2
    assert len(data.action) < len(others)
    assert (data.action[landed] == 0).all()
    assert (data.reward[landed] == 100.0).all()
    np.testing.assert_array_equal(data.following[landed], data.states[landed])
    first = slice(int(np.flatnonzero(landed)[0]))
    np.testing.assert_array_equal(data.states[first], others.states[first])
    np.testing.assert_array_equal(data.action[first], others.actions[first])
    np.testing.assert_array_equal(data.anchored, (data.action == 2) | data.ended)


@gymnasium_needed
@pytest.mark.skipif(not find_spec("numba"), reason="the loops take a minute in Python")
def test_the_best_network_is_chosen_by_episodes_of_its_own() -> None:
    cell = short_form(training(CARTPOLE.name, 1, TABLE), **SHORT | {"episodes": 30})
    result = gym_trainings.compute(cell)
    choice = result.arrays["choice"].mean(axis=2)
    assert choice.shape == (2, EARLIER.checkpoints)
    best = choice.argmax(axis=1)
    epochs = [20.0 * (k + 1) for k in best]
    assert result.replications[BEST_EPOCH] == epochs
    for end in (BEST, LAST):
        returns = result.arrays[end].mean(axis=1)
        assert result.replications[f"return {end}"] == pytest.approx(returns.tolist())
    is_last = best == EARLIER.checkpoints - 1
    same = (result.arrays[BEST] == result.arrays[LAST]).all(axis=1)
    np.testing.assert_array_equal(same, is_last)
    used = set(demonstrations.evaluation_seeds(CARTPOLE.name, 100).tolist())
    assert not used & set(gym_trainings.choice_seeds(CARTPOLE.name).tolist())


def test_every_printed_number_has_a_long_cell_of_its_configuration() -> None:
    entries = [e for e in table_4.entries(False) if e.column == table_4.GLADIUS]
    assert len(entries) == 4 * 16 + 1
    for entry in entries:
        settings = entry.cell.settings
        if entry.protocol == table_4.SHORT_PROTOCOL:
            assert "long" not in settings
            assert SHORT_FORM in entry.cell.label
            continue
        assert settings["long"]
        loss, is_logged = table_4.TRAININGS[entry.protocol]
        is_final = settings["configuration"] == "final"
        is_cartpole = settings["environment"] == CARTPOLE.name
        assert is_final == (is_logged != is_cartpole)
        assert settings["loss"] == loss
        assert settings["epochs"] == (FINAL if is_final else EARLIER).epochs
        full = is_logged or (is_final and loss == TABLE)
        assert entry.cell.repetitions == (10 if full else 1)


def made_up(value: float, size: int) -> Result:
    """A training whose best network has this return, and the last half of it."""
    returns = (value + np.linspace(-0.5, 0.5, size)).tolist()
    found = {"return best": returns, "return last": [x / 2 for x in returns]}
    return Result((), found | {BEST_EPOCH: [1e3] * size}, {"choice": np.zeros(1)})


def test_the_best_network_is_compared_and_the_short_form_is_not(tmp_path: Path) -> None:
    """On CartPole 499.9 of 500 agrees with 100 %; half of it differs."""
    entries = [e for e in table_4.entries(False) if e.row == "CartPole-v1/1"]
    entries = [e for e in entries if e.column == table_4.GLADIUS]
    results = [made_up(499.9 if e.protocol == f"author {TABLE}" else 250.0, 10) for e in entries]
    frame = written(
        table_4.EXHIBIT,
        View(entries, [stored(x) for x in results], False, table_4.view),
        tmp_path,
    )
    table = compare.compare(table_4.EXHIBIT, tmp_path)
    table = table[table["row"].eq("CartPole-v1/1") & table["column"].eq(table_4.GLADIUS)]
    verdicts = table.set_index("protocol")["verdict"]
    protocol = published.COUNTERPARTS["table_4"][table_4.GLADIUS]
    assert verdicts[protocol] == Comparison.AGREES
    assert verdicts[f"author {TABLE} {LAST}"] == Comparison.DIFFERS
    assert verdicts[f"author {ROWS} {BEST}"] == Comparison.DIFFERS
    (line,) = table[table["counted"]].to_dict("records")
    assert line["protocol"] == protocol
    assert line["repetitions"] == 10
    assert "5,000 epochs" in line["reason"]
    assert frame["protocol"].str.startswith(table_4.SHORT_PROTOCOL).any()
    assert not verdicts.index.str.startswith(table_4.SHORT_PROTOCOL).any()
    text = (tmp_path / "table_4.md").read_text()
    assert "99.980" in text
