"""The public code's IQ-learn and BC on the data of its seed: its log, cells and exhibits."""

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

from gladius.designs.bus import BusEngine
from gladius.paper import author, author_baselines
from gladius.paper.author_baselines import BC, EARLIER_MILES, IQ_LEARN
from reproduce.cells import public_baselines
from reproduce.cells.public_baselines import ENDS, REPORTED, training
from reproduce.cells.public_data import networks_data
from reproduce.cells.public_trainings import BEST, BEST_EPOCH, FIRST, LAST, initial_weights
from reproduce.engine.nouns import Cell, Entry, Result
from reproduce.exhibits import figure_1, table_2
from reproduce.paper import published

LAYOUT = author.layout_of(networks_data(2)[0], author.Options(units=50))
# N -> error of the first Q of the last periods' states, as Zurcher/IQlearnlog.txt has it
LOGGED_Q = {50: 5.401474, 250: 3.885928, 500: 4.465001}
LOGGED_Q |= {1000: 4.727322, 2500: 4.775916, 5000: 4.247903}


@pytest.mark.parametrize("trajectories", LOGGED_Q)
def test_the_log_of_iq_learn_is_of_these_data_and_of_this_network(trajectories: int) -> None:
    """The mean over test trajectories of the squared distance of Q less its least."""
    world, (_, test) = BusEngine(), networks_data(trajectories)
    q = author.ReluHead(*LAYOUT.blocks(initial_weights(1)).q)(world.mdp.features)
    true = world.mdp.solution.q
    gaps = (q - q.min(axis=1, keepdims=True)) - (true - true.min(axis=1, keepdims=True))
    last = test.states[world.horizon - 1 :: world.horizon, 0].astype(int) - 1
    found = np.square(gaps[last]).sum() / len(last)
    assert found == pytest.approx(LOGGED_Q[trajectories], rel=2e-6)  # spacing of float32 at 55


@pytest.mark.parametrize(
    ("trajectories", "epoch", "logged"),
    [(1000, 0, 3.9642037), (1000, 6, 9.1195680), (250, 3, 5.1600620), (50, 12, 13.5603455)],
)
def test_errors_are_those_of_the_log(trajectories: int, epoch: int, logged: float) -> None:
    """The log's code divided sums over test batches by the number of trajectories."""
    train, test = networks_data(trajectories)
    start = initial_weights(1).astype(np.float32)
    how: dict[str, Any] = {"epochs": epoch + 1, "miles": EARLIER_MILES}
    trace, _ = author_baselines.train(
        IQ_LEARN, train, 0.95, LAYOUT, start, test, BusEngine().reward, **how
    )
    number = trajectories // 5
    found = trace[0, -1] * -(-number // 32) / number
    assert found == pytest.approx(logged, rel=5e-6)  # rounding, amplified by up to 84 steps


@pytest.mark.parametrize(("trajectories", "printed"), [(250, "112.86"), (500, "113.27")])
def test_two_printed_errors_of_iq_learn_are_those_before_any_step(
    trajectories: int, printed: str
) -> None:
    result = public_baselines.compute(training(IQ_LEARN, trajectories, True))
    column = published.load("table_2").query("column == 'IQ-learn'").set_index("row")
    assert column["value"][str(trajectories)] == printed
    assert f"{result.replications[FIRST][0]:.2f}" == printed
    assert result.replications[BEST_EPOCH][0] == 0
    reported = result.records[-1]
    assert (reported.statistic, len(result.replications[BEST])) == (REPORTED, 5)
    counted = np.array(result.replications[BEST_EPOCH]) > 0
    expected = np.array(result.replications[BEST])[counted].mean() if counted.any() else np.nan
    assert reported.value == pytest.approx(expected, nan_ok=True)


@pytest.mark.deep  # makes 5,000 trajectories with dummies
@pytest.mark.parametrize(
    ("dummies", "printed", "is_cut"),
    [(5, "192.2", False), (20, "180.1", False), (50, "282.2", True)],
)
def test_errors_of_figure_1_are_those_before_any_step_on_5000_trajectories(
    dummies: int, printed: str, is_cut: bool
) -> None:
    """Not those on the figure's 1,000; one of them only if its digits are cut."""
    column = published.load("figure_1").query("column == 'IQ-learn'").set_index("row")
    assert column["value"][str(dummies)] == printed
    world, (train, _) = BusEngine(dummies=dummies), networks_data(50, dummies)
    layout = author.layout_of(train, author.Options(units=50))
    start = initial_weights(1, 1 + dummies).astype(np.float32)
    first = {}
    for trajectories in (1000, 5000):
        _, test = networks_data(trajectories, dummies)
        trace, _ = author_baselines.train(
            IQ_LEARN, train, 0.95, layout, start, test, world.reward, epochs=1
        )
        error = np.floor(10 * trace[0, 0]) / 10 if is_cut else trace[0, 0]
        first[trajectories] = f"{error:.1f}"
    assert first[5000] == printed != first[1000]


def test_bc_learns_the_choices_and_not_the_level() -> None:
    train, test = networks_data(1000)
    start = initial_weights(1)
    trace, losses = author_baselines.train(
        BC, train, 0.95, LAYOUT, start, test, BusEngine().reward, epochs=400
    )
    q = BusEngine().mdp.solution.q
    entropy = -log_softmax(q, axis=1)[train.states[:, 0].astype(int) - 1, train.actions].mean()
    assert losses[0, -1] == pytest.approx(entropy, abs=2e-3)  # of .23; the sampling error is 1e-3
    assert trace[0].min() > 50


def planted(cell: Cell) -> Result:
    values = {FIRST: [9.0], BEST: [1.0], BEST_EPOCH: [3.0], LAST: [2.0], REPORTED: [4.0]}
    records = tuple(
        public_baselines.Record(name, x[0], status="not_converged") for name, x in values.items()
    )
    return Result(records, values)


@pytest.mark.parametrize("exhibit", [table_2, figure_1])
def test_every_printed_number_of_both_has_a_training_of_the_public_code(exhibit: Any) -> None:
    printed = published.load(exhibit.NAME)
    rows = {(x.row, x.column) for x in printed.itertuples() if x.column in ("IQ-learn", "BC")}
    entries = exhibit.EXHIBIT.checked_entries(False)
    mine = [x for x in entries if x.protocol == published.PUBLIC and (x.row, x.column) in rows]
    assert {(x.row, x.column) for x in mine} == rows
    for entry in mine:
        settings, with_inputs = entry.cell.settings, exhibit is figure_1
        assert settings["baseline"] == {"IQ-learn": IQ_LEARN, "BC": BC}[entry.column]
        assert settings["dummies" if with_inputs else "trajectories"] == int(entry.row)
        assert settings.get("long", False) == with_inputs
        records = exhibit.view(entry, planted(entry.cell))
        found = {record.protocol: (record.statistic, record.value) for record in records}
        values = dict(zip(ENDS, (9.0, 1.0, 2.0, 4.0), strict=True))
        assert found == {f"{published.PUBLIC} {end}": ("MAPE", x) for end, x in values.items()}
        counterpart = published.COUNTERPARTS[exhibit.NAME][entry.column]
        assert counterpart == f"{published.PUBLIC} best"
        assert exhibit.reason(entry.row, entry.column, counterpart).endswith("level is identified")


def test_the_figure_has_iq_learn_at_the_configured_and_at_its_own_number_of_trajectories() -> None:
    entries = figure_1.EXHIBIT.checked_entries(False)
    of_iq: list[Entry] = [x for x in entries if x.cell.settings.get("baseline") == IQ_LEARN]
    assert {(x.protocol, x.cell.settings["trajectories"]) for x in of_iq} == {
        ("author public", 5000),
        ("author public N = 1000", 1000),
    }
    assert {x.cell.settings["epochs"] for x in of_iq} == {1000}
    assert not any("author public N = 1000" in x for x in published.COUNTERPARTS["figure_1"])
