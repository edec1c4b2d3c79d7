"""The data of the public code's seeds: literal loops, digests, logged states, printed counts."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from gladius import InputError
from gladius.panel.record import Transitions
from proofs_checks.claims import printed_tables
from reproduce.cells.public_data import networks_data, oracles_data

# folder beside the checkout with files of the public repository, where there is one
AUTHOR = [f / "shared" / "data" / "author" for f in Path(__file__).parents]
# (N, K, cap) -> the first 12 digits of SHA-256 over states, actions and next states as int32
DIGESTS = {
    (50, 0, 20): "b0adcf4ae444",
    (50, 0, 10): "b0adcf4ae444",  # no bus passes mileage 10
    (250, 0, 20): "9c98041845a8",
    (500, 0, 20): "0979932c91d8",
    (1000, 0, 20): "de99ed78286c",
    (1000, 0, 10): "20ea2f3660a3",
    (2500, 0, 20): "063d64639859",
    (5000, 0, 20): "93e2378cc230",
    (10000, 0, 20): "f3d1973588ab",
    (1000, 2, 20): "656580afffb8",
    (1000, 100, 20): "b02b61dc7809",
}
# public file -> N, seed and cap of its data, and the beginning of the SHA-256 of its bytes
FILES = {
    "data_bus50_test.txt": (50, 1739239177, 10, "6852aa54edd4950a"),
    "data_bus50_test_ba3f821.txt": (50, 1738970831, 10, "3842e7b4aa75ce96"),
    "data_bus100_test.txt": (100, 1738888488, 200, "bcc60ecad0cc9968"),
    "data_bus250_test.txt": (250, 1736130697, 200, "b71270bdd43d721b"),
    "data_bus500_test.txt": (500, 1736055316, 200, "1b928f0329dca199"),
    "data_bus1000_test.txt": (1000, 1736461194, 200, "dd0d6b4676bc8057"),
}


def replacement(max_mileage: int) -> np.ndarray:
    """Probabilities at mileages 0 to the cap, by value iteration; none of 0 is ever used."""
    s = np.arange(max_mileage + 1)
    v = np.zeros(len(s))
    for _ in range(1000):
        ahead = sum(v[np.minimum(s + k, max_mileage)] for k in (1, 2, 3, 4)) / 4
        keep, replace = -s + 0.95 * ahead, -5 + 0.95 * v[1]
        v = np.logaddexp(keep, replace)
    return np.asarray(np.exp(replace - v))


@pytest.mark.parametrize(("number", "dummies", "cap"), [(20, 0, 20), (6, 3, 20), (25, 1, 4)])
def test_networks_data_are_those_of_the_literal_loop(number: int, dummies: int, cap: int) -> None:
    rng, p = np.random.RandomState(1), replacement(cap)
    train, test = networks_data(number, dummies, max_mileage=cap)
    assert len(train) == 100 * int(0.8 * number)
    states, actions, next_states = (
        np.concatenate([getattr(train, name), getattr(test, name)])
        for name in ("states", "actions", "next_states")
    )
    for row in range(100 * number):
        if row % 100 == 0:
            mileage, noise = 1, rng.randint(-10, 11, dummies)
        assert states[row].tolist() == [mileage, *noise]
        action = rng.choice([0, 1], p=np.array([1 - p[mileage], p[mileage]]))
        assert actions[row] == action
        mileage = min(mileage + rng.randint(1, 5), cap) if action == 0 else 1
        noise = rng.randint(-10, 11, dummies)
        assert next_states[row].tolist() == [mileage, *noise]


def test_oracles_data_are_those_of_the_literal_loop() -> None:
    rng, p = np.random.RandomState(7), replacement(200)
    data, mileage = oracles_data(12, 7), 1
    for row in range(1200):
        mileage = 1 if row % 100 == 0 else mileage
        assert data.states[row, 0] == mileage
        action = rng.binomial(1, p[mileage])
        assert data.actions[row] == action
        if action == 0:
            mileage = rng.choice([mileage + 1, mileage + 2, mileage + 3, mileage + 4], p=[0.25] * 4)
        else:
            mileage = 1
        assert data.next_states[row, 0] == mileage


@pytest.mark.parametrize("which", DIGESTS)
def test_digests_of_the_networks_data(which: tuple[int, int, int]) -> None:
    number, dummies, cap = which
    digest = hashlib.sha256()
    for half in networks_data(number, dummies, max_mileage=cap):
        for x in (half.states, half.actions, half.next_states):
            digest.update(x.astype("<i4").tobytes())
    assert digest.hexdigest()[:12] == DIGESTS[which]


def counts(data: Transitions) -> list[list[int]]:
    table = np.zeros((20, 2), dtype=int)
    np.add.at(table, (data.states[:, 0].astype(int) - 1, data.actions), 1)
    return table[:10].tolist()


def test_printed_frequencies_are_those_of_test_splits() -> None:
    small, large = (list(map(list, printed_tables.frequencies(n))) for n in (50, 1000))
    assert counts(networks_data(50)[1]) == small
    assert counts(networks_data(1000, 2)[1]) == large
    others = [networks_data(50, 2)[1], networks_data(50)[0], networks_data(50, seed=2)[1]]
    assert small not in map(counts, others)
    others = [networks_data(1000, k)[1] for k in (0, 5)] + [
        networks_data(1000, 2, max_mileage=10)[1]
    ]
    assert large not in map(counts, others)


@pytest.mark.parametrize(
    ("number", "last"),  # of the first ten test trajectories, from logs of the public repository
    [(250, "1315513155"), (500, "1511151111"), (1000, "2161511211")],
)
def test_logged_states_of_the_last_period(number: int, last: str) -> None:
    states = networks_data(number)[1].states[99::100, 0]
    assert "".join(f"{x:.0f}" for x in states[:10]) == last


def test_less_data_are_the_first_of_more() -> None:
    small, large = networks_data(50, 2), networks_data(250, 2)
    n = len(small[0])
    for name in ("states", "actions", "next_states"):
        assert np.array_equal(getattr(small[0], name), getattr(large[0], name)[:n])
    assert not np.array_equal(small[1].states, large[1].states[: len(small[1])])


def text(data: Transitions) -> str:
    """The file of the parametric data: two lines a period, one for each choice."""
    lines = []
    for row, (x, action) in enumerate(
        zip(data.states[:, 0].astype(int), data.actions, strict=True)
    ):
        start = f"{row // 100},{row % 100}"
        lines += [f"{start},{choice},{x},{int(choice == action)}\n" for choice in (0, 1)]
    return "".join(lines)


@pytest.mark.parametrize("name", FILES)
def test_bytes_of_public_files(name: str) -> None:
    number, seed, cap, digest = FILES[name]
    ours = text(oracles_data(number, seed, max_mileage=cap)).encode()
    assert hashlib.sha256(ours).hexdigest().startswith(digest)
    for folder in AUTHOR:
        if folder.is_dir():
            assert (folder / name).read_bytes() == ours


@pytest.mark.parametrize(
    ("number", "seed", "name"), [(2500, 1736055339, "01bf3a9b"), (5000, 1736055357, "9a974a47")]
)
def test_git_names_of_public_files_that_are_not_at_hand(number: int, seed: int, name: str) -> None:
    ours = text(oracles_data(number, seed)).encode()
    assert hashlib.sha1(b"blob %d\0" % len(ours) + ours).hexdigest().startswith(name)


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="trajectories"):
        networks_data(1)
    with pytest.raises(InputError, match="trajectories"):
        oracles_data(0, 1)
    with pytest.raises(InputError, match="dummies"):
        networks_data(2, -1)
