"""What a fit is held against: the choices along each input, their certainty, and frequencies."""

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, log_softmax, xlogy

from gladius.own_data.erm import misfit as trust
from gladius.own_data.erm.observations.features import Inputs, sampled
from gladius.panel.record import Counts, index_rows
from gladius.validate import Array, Integers


def misfits(states: np.ndarray, actions: np.ndarray, policy: np.ndarray) -> tuple[int, ...]:
    found = trust.misfit_p_values(Inputs.of(states), actions, policy, [0])
    return tuple(k for k, p in found.items() if p < trust.REJECTED)


def test_choices_drawn_from_the_fit_are_no_misfit_and_those_along_an_input_are_one() -> None:
    rng = np.random.default_rng(1)
    states = np.column_stack([rng.normal(size=4_000), rng.integers(0, 16, 4_000)])
    of_first = 1 / (1 + np.exp(-states[:, 0]))
    policy = np.column_stack([of_first, 1 - of_first])
    drawn = (rng.uniform(size=4_000) > of_first).astype(np.int64)
    assert misfits(states, drawn, policy) == ()
    assert misfits(states, drawn, np.full((4_000, 2), 0.5)) == (0,)


def test_each_of_few_values_has_a_bin_of_its_own() -> None:
    """Ten values are rare, and their effects cancel in neighbours.

    In bins between quantiles, which neighbours share, the statistic is 36.5 on 14 degrees of
    freedom, and was no misfit. Neighbours joined by hand show none either.
    """
    x = np.repeat(np.arange(18.0), [240] * 10 + [700] * 8)
    share = np.where(x < 10, np.where(x % 2, 0.6, 0.4), 0.5)
    drawn = (np.random.default_rng(0).uniform(size=len(x)) < share).astype(np.int64)
    for values, expected in ((x, (0,)), (x // 2, ())):
        assert misfits(values[:, None], drawn, np.full((len(x), 2), 0.5)) == expected


@settings(max_examples=30)
@given(
    arrays(np.int64, (7, 100), elements=st.integers(0, 2))
    | arrays(np.int64, (20, 60), elements=st.integers(0, 2)),
    st.sampled_from([(0,), (0, 2)]),
)
def test_p_values_are_those_of_pearson(actions: Any, others: Any) -> None:
    """Of scipy for each action but the anchor, on a table of values x 2, with chances by action."""
    values, each = actions.shape
    chances = np.array([0.3, 0.5, 0.2])
    states = np.repeat(np.arange(float(values)), each)[:, None]
    policy = np.tile(chances, (actions.size, 1))
    found = trust.misfit_p_values(Inputs.of(states), actions.ravel(), policy, others)[0]
    statistic = 0.0
    for a in others:
        taken = np.sum(actions == a, axis=1)
        expected = each * np.array([chances[a], 1 - chances[a]])
        table = np.column_stack([taken, each - taken])
        statistic += stats.chisquare(table, expected, axis=1).statistic.sum()
    p = stats.chi2.sf(statistic, values * len(others))
    expected_p = p if statistic > trust.MISFIT * actions.size else 1.0
    assert found == pytest.approx(expected_p, rel=1e-9, abs=1e-300)  # the order of a sum


@pytest.mark.parametrize(("chosen", "expected"), [(1, ()), (10, (0,))])
def test_one_choice_where_few_are_expected_is_no_misfit(chosen: int, expected: Any) -> None:
    """20 values with 10 rows, in which 1/1000 of a choice is expected.

    One choice over its own variance would be a chi-square of 998 on 20 degrees of freedom.
    """
    x, is_first = np.repeat(np.arange(20.0), 10), np.arange(200) < chosen
    policy = np.tile([1e-4, 1 - 1e-4], (200, 1))
    assert misfits(x[:, None], np.where(is_first, 0, 1), policy) == expected


@pytest.mark.parametrize("rare", [-1.0, 1.0])
def test_what_a_nearly_constant_input_rarely_is_has_a_bin_apart(rare: float) -> None:
    """Pooled with the usual value, the 180 choices that are all wrong would drown in noise."""
    is_rare = np.arange(6_000) % 33 == 7
    states = np.where(is_rare, rare, 0.0)[:, None]
    actions = np.where(is_rare, 0, np.arange(6_000) % 2)
    assert misfits(states, actions, np.full((6_000, 2), 0.5)) == (0,)


def test_a_misfit_that_does_not_matter_is_not_reported() -> None:
    """Log-odds off by .01 are far from chance in 10^7 observations, and negligible."""
    size = 10_000_000
    states = np.repeat([0.0, 1.0], size // 2)[:, None]
    policy = np.full((size, 2), 0.5)
    for shift, expected in ((0.0025, ()), (0.02, (0,))):
        actions = np.ones(size, dtype=np.int64)
        for start, share in ((0, 0.5 + shift), (size // 2, 0.5 - shift)):
            actions[start : start + int(share * size / 2)] = 0
        assert misfits(states, actions, policy) == expected


def test_choices_that_are_certain_or_worse_than_chance_are_reasons_against_a_fit() -> None:
    visits = np.array([[30.0, 10.0], [20.0, 20.0]])
    for odds, reasons in ((1.0, []), (-2.0, [1]), (20.0, [0, 1])):
        policy = np.array([[1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds))]] * 2)
        nll = -np.sum(visits * np.log(policy))
        holds = list(trust.of_choices(visits, policy, nll).values())
        assert [i for i, is_so in enumerate(holds) if is_so] == reasons


PAIR = arrays(np.int64, (2, 60), elements=st.integers(0, 3))


@settings(max_examples=50)
@given(PAIR, arrays(np.int64, 60, elements=st.integers(-30, 30)), st.floats(0, 0.99))
def test_zeta_is_compared_with_next_values_in_cells(
    rows: Any, tenths: Any, discount: float
) -> None:
    """Against a loop over cells and actions."""
    (cells, actions), residual = rows, tenths / 10
    noise = {a: np.mean(residual[actions == a] ** 2) for a in actions}
    statistic = bias = 0.0
    pairs = set(zip(cells.tolist(), actions.tolist(), strict=True))
    for cell, a in pairs:
        e = residual[(cells == cell) & (actions == a)]
        bias += discount**2 * (e.sum() ** 2 - e @ e) / len(e)
        if e.any():
            statistic += e.sum() ** 2 / max(e @ e, len(e) * noise[a])
    matters = bias > trust.BIAS**2 * 60
    expected = stats.chi2.sf(statistic, len(pairs)) if matters else 1.0
    given = cells, actions, np.ones(60), residual, residual**2, discount
    found = trust.value_p_value(*given)
    assert found == pytest.approx(expected, rel=1e-9)


def test_pairs_have_a_cell_for_each_of_few_values_and_their_tests_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Columns of 12 values, 13 values in six bins, and two dummies of one category.

    Of choices there is a test in finer cells too, with a bin for each of the 13 values.
    """
    rng = np.random.default_rng(0)
    third = rng.integers(0, 3, 5_000)
    columns = [rng.integers(0, 12, 5_000), rng.integers(0, 13, 5_000), third == 1, third == 2]
    sizes: list[int] = []

    def test(cells: Any) -> float:
        sizes.append(len(np.unique(cells)))
        return 0.2

    states = np.stack(columns, axis=1).astype(float)
    for repeats in (0, 5_001):  # sums over pairs of values, and observations
        sizes.clear()
        monkeypatch.setattr(trust, "REPEATS", repeats)
        monkeypatch.setattr(trust.Deviations, "p_of_choices", lambda _, cells: test(cells))
        monkeypatch.setattr(trust.Deviations, "p_of_values", lambda *_: 0.3)
        found = pairs(states, third == 0, [(0,), (1,), (2, 3)])
        assert found == pytest.approx({(0, 1): 0.6, (0, 2): 0.6, (1, 2): 0.6})
        assert sizes[0] in (72, 84)  # 13 values in bins: values on an edge have one of their own
        assert sizes[::2] == [sizes[0], 36, sizes[0] // 4]
        assert sizes[1::2] == [12 * 13, 36, 13 * 3]


def pairs(states: np.ndarray, choices: Any, columns: Any = ((0,), (1,))) -> Any:
    """p-values of pairs at the uniform policy, with next values that zeta fits."""
    n, policy = len(states), np.full((len(states), 2), 0.5)
    actions, none = np.asarray(choices).astype(np.int64), np.zeros(len(states))
    given = np.arange(n), actions, (none + 1, none, none), 0.9
    rows = trust.Deviations(none + 1, trust.deviations(actions, policy, [0]), *given)
    return trust.pair_p_values(Inputs.of(states), columns, rows, sampled(n))


SOME = arrays(np.int64, (4, 60), elements=st.integers(0, 3))


@settings(max_examples=50)
@given(SOME, arrays(np.int64, 60, elements=st.integers(-30, 30)), st.booleans())
def test_sums_over_groups_have_the_p_values_of_observations(
    drawn: Any, tenths: Any, is_grouped_twice: bool
) -> None:
    group, of, actions, followed = drawn
    policy = np.full((60, 4), 0.25)
    seen, residual = np.flatnonzero(followed), tenths / 2
    own = residual[seen]
    given = actions[seen], (np.ones(len(seen)), own, own**2), 0.95
    rows = trust.Deviations(np.ones(60), trust.deviations(actions, policy, [0, 2]), seen, *given)
    assume(len(seen) > 0)
    bins = of[:4]  # of each of four groups
    grouped = rows.by(group + 4 * actions, 16).by(np.arange(16) % 4, 4)
    if not is_grouped_twice:
        grouped = rows.by(group, 4)
    choices = trust.deviations(actions, policy, [0, 2])
    expected = trust.p_value(bins[group], choices, excess=True)
    assert grouped.p_of_choices(bins) == pytest.approx(expected, rel=1e-9)
    cells = bins[group][seen]
    expected = trust.value_p_value(cells, actions[seen], np.ones(len(seen)), own, own**2, 0.95)
    assert grouped.p_of_values(bins) == pytest.approx(expected, rel=1e-9)


NUMBERS = st.integers(-9, 9).map(float) | st.sampled_from([0.1, 0.3, 1 / 3, -2.7])


@given(arrays(float, st.tuples(st.integers(2, 30), st.just(2)), elements=NUMBERS))
def test_bins_of_sums_are_those_of_the_observations(states: np.ndarray) -> None:
    """Whether they are found for pairs of values or for observations, and by a plain count."""
    inputs = Inputs.of(states)
    ratio, expected = inputs.scale[0] / inputs.scale[1], []
    for slope in (1.0, -1.0, ratio, -ratio):
        x = states[:, 0] + slope * states[:, 1]
        of = np.arange(1, trust.BINS_ALONG) / trust.BINS_ALONG
        edges = np.quantile(x, of, method="inverted_cdf")[:, None]
        both = np.sum(edges < x, axis=0), np.sum(edges <= x, axis=0)
        is_rising = np.all(np.diff(edges[:, 0]) > 0)
        expected.append((both[0] if is_rising else sum(both) // 2).tolist())
    found = trust.sums(*states.T, ratio, slice(None), None)
    assert [bins.tolist() for bins in found] == expected
    (x, (of_x,)), (y, (of_y,)) = (index_rows([states[:, [k]]]) for k in (0, 1))
    pair = of_x * len(y) + of_y
    times = np.bincount(pair, minlength=len(x) * len(y))
    values = np.repeat(x[:, 0], len(y)), np.tile(y[:, 0], len(x))
    found = trust.sums(*values, ratio, slice(None), times)
    assert [bins[pair].tolist() for bins in found] == expected


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(("sd", "unit"), [(0.7, 1.0), (100.0, 100.0)])
def test_a_thin_band_is_seen_along_a_sum_or_a_difference(
    sign: float, sd: float, unit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in no cell alone: the least p-value was above 1e-4.

    With the columns as given, whatever their spreads are; in other units, with both standardised.
    Choices that are drawn from the fit are no misfit, and the tests of the pair are counted.
    """
    rng = np.random.default_rng(7)
    x, y, chance = rng.normal(size=5_000), sd * rng.normal(size=5_000), rng.uniform(size=5_000)
    states, in_band = np.stack([x, y], axis=1), np.abs(x + sign * y / unit - 0.2) < 0.1

    def found(choices: Any) -> float:
        return float(pairs(states, choices)[0, 1])

    assert found(chance < np.where(in_band, 0.85, 0.48)) < trust.REJECTED
    assert found(chance < 0.5) > 0.01
    monkeypatch.setattr(trust.Deviations, "p_of_choices", lambda *_: 0.01)
    assert found(chance < 0.5) == pytest.approx(0.07)


def sixty(seed: int) -> Array:
    """Half of them normal and half of three values, one with a heavy tail."""
    rng = np.random.default_rng(seed)
    x = np.append(rng.normal(size=(5_000, 30)), rng.integers(0, 3, (5_000, 30)), axis=1)
    x[:, 5] = np.exp(2 * x[:, 5])
    return x


def of_pairs(
    x: Array, chance: Array, expected: Array, seed: int, always: Any = (0, 1)
) -> dict[tuple[int, int], float]:
    """p-values of pairs of columns where (n,) chances of action 0 are those of a fit of 1/2."""
    rng = np.random.default_rng(seed)
    actions = (rng.random(len(x)) >= chance).astype(np.int64)
    residual = rng.normal(size=len(x)) + expected
    choices = trust.deviations(actions, np.full((len(x), 2), 0.5), [0])
    n = len(x)
    of_rows = trust.Deviations(
        np.ones(n),
        choices,
        np.arange(n),
        actions,
        (np.ones(n), residual, residual**2),
        0.95,
    )
    columns = [(k,) for k in range(x.shape[1])]
    residuals = [choices[0][0], *(residual * (actions == a) for a in (0, 1))]
    return trust.pair_p_values(
        Inputs.of(x), columns, of_rows, sampled(n), lambda: residuals, always
    )


@pytest.mark.parametrize("kind", ["product", "corner", "band", "next value"])
def test_of_sixty_columns_the_pair_that_matters_is_found(kind: str) -> None:
    """It was not looked at where neither column was selected."""
    x = sixty(3)
    chance, expected = np.full(len(x), 0.5), np.zeros(len(x))
    pair = {"product": (7, 23), "corner": (7, 57), "band": (7, 11), "next value": (29, 31)}[kind]
    one, other = x[:, pair].T
    if kind == "product":
        chance = expit(-0.4 * one * other)
    elif kind == "corner":
        chance = np.where((one > 0) != (other > 1), 0.57, 0.46)
    elif kind == "band":
        chance = np.where(np.abs(one - other) < 0.1, 0.85, 0.48)
    else:
        expected = 0.3 * np.sign(one) * (other - 1)
    found = of_pairs(x, chance, expected, 4)
    assert len(found) == 40 * 39 // 2  # as many as of forty columns
    assert (0, 1) in found  # selected, whatever they say
    assert min(found, key=lambda one: found[one]) == pair
    assert found[pair] < trust.DOUBTFUL / (60 * 59 // 2)


def test_of_sixty_selected_columns_all_pairs_are_tested() -> None:
    x = sixty(3)
    equal = x[:, 58] == x[:, 59]
    found = of_pairs(x, np.where(equal, 0.7, 0.4), np.zeros(len(x)), 4, range(60))
    assert len(found) == 60 * 59 // 2
    assert min(found, key=lambda one: found[one]) == (58, 59)


@pytest.mark.parametrize("place", [10, 40])
def test_a_rare_dummy_that_the_sample_lacks_takes_no_pair_from_others(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column that varies, but has one bin, in the middle or last; a sample is of half the rows.

    The score of the pair that matters is 0.1 / 0.5 * 4,800**0.5 = 14 of its standard deviations.
    """
    monkeypatch.setattr("gladius.own_data.erm.observations.features.SAMPLE", 2_000)
    x = np.random.default_rng(5).normal(size=(4_800, 41))
    x[:, place] = 0.0
    x[[1, 3, 5], place] = 1.0  # every other row is in the sample
    chance = expit(-0.4 * x[:, 7] * x[:, 11])
    found = of_pairs(x, chance, np.zeros(len(x)), 4)
    assert min(found, key=lambda one: found[one]) == (7, 11)
    assert not any(place in pair for pair in found)


def test_of_sixty_columns_no_pair_of_a_right_fit_is_doubtful() -> None:
    """Three data sets at a ten-thousandth each: one in 3,000 such tests would fail by chance."""
    half, none = np.full(5_000, 0.5), np.zeros(5_000)
    least = [min(of_pairs(sixty(seed), half, none, seed).values()) for seed in range(3)]
    assert min(least) > trust.DOUBTFUL / (60 * 59 // 2)


@given(arrays(np.int64, (40, 3), elements=st.integers(0, 3)), arrays(float, 40, elements=NUMBERS))
def test_products_are_a_chi_square_of_values_and_the_order_of_blocks_does_not_matter(
    codes: Any, e: Array
) -> None:
    """Of categories it is the sum over cells of squared residuals; by a plain loop."""
    bins = [np.unique(column, return_inverse=True)[1] for column in codes.T]
    assume(all(bins_of.max() > 0 for bins_of in bins) and np.any(e))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trust, "BLOCK", 7)
        found = trust.products(bins, [True] * 3, [e])
    for i, j in ((0, 1), (0, 2), (1, 2)):
        x, y = bins[i], bins[j]
        total = 0.0
        for a, b in product(range(x.max() + 1), range(y.max() + 1)):
            f, g = (x == a) - np.mean(x == a), (y == b) - np.mean(y == b)
            total += (e @ (f * g)) ** 2 / (np.mean(x == a) * np.mean(y == b))
        freedom = x.max() * y.max()
        expected = (total / (e @ e) - freedom) / np.sqrt(2 * freedom)
        assert found[i, j] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_frequencies_are_likelier_beyond_ten_deviations_of_a_chi_square(share: float) -> None:
    """Two states with 3 and 2 visited actions have 3 degrees of freedom."""
    visits = np.array([[40.0, 30.0, 30.0], [20.0, 80.0, 0.0]])
    frequencies = visits / visits.sum(axis=1, keepdims=True)

    def q(shift: float) -> Any:
        return np.log(np.maximum(frequencies, 1e-9)) + np.array([shift, 0.0, 0.0])

    def gain(shift: float) -> float:
        """Twice that of the frequencies over a policy with other odds of action 0."""
        return 2 * float(
            np.sum(xlogy(visits, frequencies) - visits * log_softmax(q(shift), axis=1))
        )

    bar = 3 + 10 * np.sqrt(2 * 3)
    shift = brentq(lambda x: gain(x) - share * bar, 0.0, 5.0)
    counts = Counts(np.arange(2.0)[:, None], visits[None], np.zeros((1, 3, 2, 2)))
    assert trust.is_worse_than_frequencies(counts, q(shift)[None]).tolist() == [share > 1]


def test_frequencies_beat_a_policy_that_is_far_from_them() -> None:
    visits = np.array([[[80.0, 20.0], [30.0, 70.0], [50.0, 50.0]]])
    counts = Counts(np.arange(3.0)[:, None], visits, np.zeros((1, 2, 3, 3)))
    near = np.log(visits + np.array([2.0, -2.0]))
    assert not trust.is_worse_than_frequencies(counts, near).any()
    assert trust.is_worse_than_frequencies(counts, np.zeros((1, 3, 2))).all()


def test_the_tests_of_pairs_take_memory_for_columns_and_not_for_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four more columns are 26 more pairs, whose cells would be 8 bytes a row each, if kept."""
    rows, rng = 10_000, np.random.default_rng(0)
    states, policy = rng.normal(size=(rows, 9)), np.full((rows, 2), 0.5)
    actions = rng.integers(2, size=rows)
    residual, choices = rng.normal(size=rows), trust.deviations(actions, policy, [0])
    values = np.ones(rows), residual, residual**2
    of_rows = trust.Deviations(np.ones(rows), choices, np.arange(rows), actions, values, 0.9)

    def peak(columns: int) -> int:
        inputs = Inputs.of(states[:, :columns])
        tracemalloc.start()
        found = trust.pair_p_values(
            inputs, [[k] for k in range(columns)], of_rows, sampled(len(states))
        )
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(found) == columns * (columns - 1) // 2
        return most

    most = 4 * 32 * rows  # a column's values, which of them, and two kinds of bins: 24 bytes
    assert peak(9) - peak(5) < most
    kept, test = list[Integers](), trust.value_p_value

    def keeping(cells: Integers, *given: Any) -> float:
        kept.append(cells)
        return test(cells, *given)

    monkeypatch.setattr(trust, "value_p_value", keeping)
    few = peak(5)
    kept.clear()
    assert peak(9) - few > most, "control"
