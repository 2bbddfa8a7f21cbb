"""The rules of sampling: Floyd's method by its own words, its fairness, walks that go alone."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from rtl.contract.mixer import list_keys, positions
from rtl.contract.sampling import (
    Sampling,
    comparisons,
    distinct_positions,
    distinct_table,
    taken,
    taken_positions,
    taken_table,
    walk_key,
)
from tests.host_scenarios import lowbias32, slow_places

DISTINCT = Sampling.DISTINCT
GOLDEN = 0x9E37_79B9
KEYS = [0, 1, 0xDEAD_BEEF, 0xFFFF_FFFF]


def test_a_small_case_by_hand():
    # Key 0, three of five: words 1 to 3 are lowbias32 of 9E3779B9h, 3C6EF372h and DAA66D2Bh.
    words = [lowbias32(GOLDEN * number % 2**32) for number in (1, 2, 3)]
    chosen = []
    for word, last in zip(words, (2, 3, 4), strict=True):
        drawn = word * (last + 1) // 2**32
        chosen.append(last if drawn in chosen else drawn)
    assert distinct_positions(0, 5, 3).tolist() == chosen
    assert len(set(chosen)) == 3


@pytest.mark.parametrize("fan_out", [1, 2, 10, 64])
@pytest.mark.parametrize("degree", [0, 1, 2, 9, 10, 11, 64, 65, 1000, 2**32 - 1])
def test_positions_are_those_of_the_rule(degree, fan_out):
    for key in KEYS:
        found = distinct_positions(key, degree, fan_out)
        assert found.dtype == np.uint32
        assert found.tolist() == slow_places("without-replacement", key, degree, fan_out)
        assert len(set(found.tolist())) == len(found) == min(degree, fan_out)
        assert all(position < degree for position in found)


def test_many_lists_at_once():
    generator = np.random.default_rng(3)
    keys = generator.integers(0, 1 << 32, 400, dtype=np.uint32)
    degrees = generator.choice([0, 1, 5, 11, 12, 13, 20, 40, 2**32 - 1], 400)
    table = distinct_table(keys, degrees, 12)
    compared, repeated = comparisons(keys, degrees, 12)
    rows = zip(table, keys.tolist(), degrees.tolist(), compared, repeated, strict=True)
    for row, key, degree, compares, again in rows:
        expected = slow_places("without-replacement", key, degree, 12)
        assert row.tolist() == expected + [0] * (12 - len(expected))
        assert (compares, again) == slow_counts(key, degree, 12, expected)
    assert repeated.max() > 3


def slow_counts(key, degree, fan_out, chosen):
    """Comparisons and repeated draws of one list."""
    if degree <= fan_out:
        return 0, 0
    compares = again = 0
    for i in range(fan_out):
        word = lowbias32(key + GOLDEN * (i + 1) & 0xFFFF_FFFF)
        drawn = word * (degree - fan_out + i + 1) >> 32
        for earlier in chosen[:i]:
            compares += 1
            if earlier == drawn:
                again += 1
                break
    return compares, again


def test_every_set_is_equally_likely():
    keys = list_keys(5, 0, 0, np.arange(60_000))
    table = np.sort(distinct_table(keys, np.full(len(keys), 6), 3), axis=1)
    counts = Counter(map(tuple, table.tolist()))
    assert set(counts) == set(combinations(range(6), 3))
    expected = len(keys) / 20
    statistic = sum((count - expected) ** 2 / expected for count in counts.values())
    # Chi-square of 19 degrees of freedom: mean 19, within 4 sigma of sqrt(38).
    assert 0 < statistic < 19 + 4 * 38**0.5


@pytest.mark.parametrize(("degree", "fan_out"), [(11, 10), (60, 25), (1000, 25)])
def test_every_position_and_pair_is_equally_likely(degree, fan_out):
    lists = 40_000
    table = distinct_table(list_keys(9, 1, 1, np.arange(lists)), np.full(lists, degree), fan_out)
    counts = np.bincount(table.ravel(), minlength=degree)
    share = fan_out / degree
    # Each list takes a position or not: variance share (1 - share), and counts of one list add up.
    statistic = ((counts - lists * share) ** 2).sum() / (lists * share * (1 - share))
    freedom = degree - 1
    statistic *= freedom / degree
    assert freedom - 4 * (2 * freedom) ** 0.5 < statistic < freedom + 4 * (2 * freedom) ** 0.5
    both = ((table == 0).any(axis=1) & (table == degree - 1).any(axis=1)).mean()
    pair = share * (fan_out - 1) / (degree - 1)
    assert abs(both - pair) < 5 * (pair * (1 - pair) / lists) ** 0.5


def test_how_many_ids_a_list_yields():
    degrees = np.array([0, 1, 4, 5, 6])
    assert taken(Sampling.REPLACEMENT, degrees, 5).tolist() == [0, 5, 5, 5, 5]
    assert taken(DISTINCT, degrees, 5).tolist() == [0, 1, 4, 5, 5]
    assert taken(Sampling.WALK, degrees, 1).tolist() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("sampling", Sampling)
def test_one_list_and_many_are_the_same(sampling):
    degrees = np.array([0, 1, 3, 700])
    keys = np.array([7, 8, 9, 10], dtype=np.uint32)
    table = taken_table(sampling, keys, degrees, 4)
    for row, key, degree in zip(table, keys.tolist(), degrees.tolist(), strict=True):
        one = taken_positions(sampling, key, degree, 4)
        assert row[: len(one)].tolist() == one.tolist()
        assert len(one) == taken(sampling, degree, 4)


def test_the_steps_of_a_walk_are_the_draws_of_one_key():
    for key in KEYS:
        draws = positions(key, 1 << 20, 9).tolist()
        steps = [positions(walk_key(key, step), 1 << 20, 1)[0] for step in range(9)]
        assert steps == draws
    many = walk_key(np.array(KEYS, dtype=np.uint32), 5)
    assert many.dtype == np.uint32
    assert many.tolist() == [walk_key(key, 5) for key in KEYS]
