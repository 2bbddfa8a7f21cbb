"""Positions pass what random ones pass, in a reduced form; and what is not random does not."""

import numpy as np
import pytest

import rtl.contract.mixer
import tests.randomness
from rtl.contract.mixer import position_table
from tests.chi_square import fit, upper_tail
from tests.randomness import FALSE_ALARM, TESTS, failures, run, shares, table

DRAWS = 300_000


@pytest.mark.parametrize(
    ("freedom", "share", "critical"),
    [
        (1, 0.05, 3.841),
        (1, 0.001, 10.828),
        (10, 0.05, 18.307),
        (10, 0.95, 3.940),
        (50, 0.01, 76.154),
        (100, 0.05, 124.342),
        (100, 0.99, 70.065),
    ],
)
def test_tails_are_those_of_the_published_table(freedom, share, critical):
    """NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4: three decimals."""
    above, below = (upper_tail(critical + step, freedom) for step in (0.0005, -0.0005))
    assert above <= share <= below


def test_a_statistic_by_hand():
    found = fit([10, 20, 30], 20)
    assert (found.statistic, found.freedom) == (10.0, 2)
    assert found.upper == pytest.approx(np.exp(-5))
    assert found.p == pytest.approx(2 * np.exp(-5))
    assert fit([20, 20, 20], 20).lower == 0
    assert fit([10, 20, 30], 20, scale=0.5).statistic == 5.0
    with pytest.raises(ValueError, match="Cells must expect at least 10, not 9"):
        fit([9, 9], 9)


def test_shares_count_the_words_of_a_cell():
    assert shares(2, 2).tolist() == [0.5, 0.5]
    # Positions 0 and 3 of 5 have a word more than the others: 2^32 is 5 * 858993459 + 1.
    words = shares(5, 5) * 2**32
    assert words.sum() == 2**32
    assert sorted(words) == [858993459] * 4 + [858993460]
    # The word with the last position of a cell, and the one behind it.
    first = int(shares(99_991, 1000)[0] * 2**32)
    assert [(word * 99_991 >> 32) * 1000 // 99_991 for word in (first - 1, first)] == [0, 1]


def test_positions_are_as_good_as_random_ones():
    outcomes = run(DRAWS)
    assert [one.name for one in outcomes] == list(TESTS)
    assert failures(outcomes) == []
    assert table(outcomes).count("\n") == len(TESTS) + 2


def consecutive(keys, degrees, fan_out):
    """Each position is as likely as any other, but those of a list are neighbours."""
    first = position_table(keys, degrees, 1).astype(np.int64)
    return ((first + np.arange(fan_out)) % degrees[:, None]).astype(np.uint32)


@pytest.mark.parametrize(
    ("name", "module", "wrong", "found"),
    [
        ("mix", rtl.contract.mixer, lambda word: word, "positions, degree 7"),
        ("mix", rtl.contract.mixer, lambda word: word & 0x7FFF_FFFF, "positions, degree 2"),
        ("GOLDEN", rtl.contract.mixer, 0, "successive draws, degree 5"),
        ("position_table", tests.randomness, consecutive, "successive draws, degree 99,991"),
        ("distinct_table", tests.randomness, consecutive, "sets, 4 of 8"),
        ("distinct_table", tests.randomness, consecutive, "two of a list, 10 of 30"),
    ],
)
def test_what_is_not_random_is_found(monkeypatch, name, module, wrong, found):
    monkeypatch.setattr(module, name, wrong)
    outcomes = run(DRAWS, [found])
    assert [one.name for one in failures(outcomes)] == [found]
    assert outcomes[0].fit.p < FALSE_ALARM / 1e6


@pytest.mark.parametrize("of", ["positions, degree 1,000", "without replacement, 25 of 50"])
def test_that_positions_alone_do_not_tell(monkeypatch, of):
    """Why there are tests of pairs and sets, too."""
    monkeypatch.setattr(tests.randomness, "position_table", consecutive)
    monkeypatch.setattr(tests.randomness, "distinct_table", consecutive)
    assert run(DRAWS, [of])[0].fit.upper > 1e-6
