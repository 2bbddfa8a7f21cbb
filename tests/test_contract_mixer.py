"""The mixer: its published constants, its arithmetic done over, its statistics."""

import numpy as np
import pytest

from rtl.contract.mixer import (
    draw,
    list_key,
    list_keys,
    mix,
    position_table,
    positions,
)

SEED = 0x0123_4567_89AB_CDEF


def finalise(value):
    """lowbias32 as its author prints it, on unbounded integers, reduced at the end of each step."""
    value = (value ^ (value // 2**16)) % 2**32
    value = (value * 0x7FEB352D) % 2**32
    value = (value ^ (value // 2**15)) % 2**32
    value = (value * 0x846CA68B) % 2**32
    return (value ^ (value // 2**16)) % 2**32


def unfinalise(value):
    """Its inverse: lowbias32_r, with the inverse multipliers modulo 2^32 and shifts undone."""
    value ^= value >> 16
    value = value * pow(0x846CA68B, -1, 2**32) % 2**32
    value ^= (value >> 15) ^ (value >> 30)
    value = value * pow(0x7FEB352D, -1, 2**32) % 2**32
    return value ^ (value >> 16)


def by_hand_key(seed, batch, hop, slot):
    """The documented chain: key = finalise((key + golden) xor word), from 0 over five words."""
    key = 0
    for word in (seed % 2**32, seed // 2**32, batch, hop, slot):
        key = finalise((key + 0x9E3779B9) % 2**32 ^ word)
    return key


def random_words(count, seed=1):
    return np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint32)


def test_zero_is_a_fixed_point_and_one_is_worked_out():
    # 1 xor 0 = 1; times 7FEB352Dh is itself; >> 15 is FFD6h, the xor 7FEBCAFBh. Times 846CA68Bh
    # by halves: CAFBh * A68Bh = 840CF849h; CAFBh * 846Ch + 7FEBh * A68Bh = 68FF0DE4h + 5337D699h
    # = BC36E47Dh, of which E47Dh lies in the upper half: E47D0000h + 840CF849h = 6889F849h (the
    # carry is beyond 32 bits). >> 16 is 6889h; F849h xor 6889h = 90C0h.
    assert (mix(0), mix(1)) == (0, 0x6889_90C0)


def test_equals_plain_arithmetic():
    words = [0, 1, 2**31, 2**32 - 1, *map(int, random_words(2000))]
    assert [mix(word) for word in words] == [finalise(word) for word in words]
    assert mix(np.array(words, dtype=np.uint32)).tolist() == [finalise(word) for word in words]
    assert mix(np.uint32(2**32 - 1)) == finalise(2**32 - 1)


def test_is_a_bijection():
    words = random_words(10_000, seed=2)
    assert [unfinalise(int(word)) for word in mix(words)] == words.tolist()


def test_every_input_bit_flips_half_of_the_output_bits():
    words = random_words(20_000, seed=3)
    for bit in range(32):
        changed = mix(words) ^ mix(words ^ np.uint32(1 << bit))
        flips = np.unpackbits(changed.view(np.uint8)).reshape(-1, 32).mean(axis=0)
        # 20,000 draws of a fair coin: sigma 0.0035; 32 x 32 of them stay within 6 sigma.
        assert np.abs(flips - 0.5).max() < 0.022, bit


def test_array_arguments_stay_as_they_were():
    words = random_words(10)
    before = words.copy()
    mix(words)
    assert np.array_equal(words, before)


def test_keys_follow_the_documented_chain():
    for seed, batch, hop, slot in [
        (0, 0, 0, 0),
        (SEED, 3, 1, 77),
        (2**64 - 1, 2**32 - 1, 2**32 - 1, 2**32 - 1),
    ]:
        assert list_key(seed, batch, hop, slot) == by_hand_key(seed, batch, hop, slot)


def test_every_bit_of_every_word_enters_the_key():
    base = (SEED, 5, 1, 9)
    keys = {list_key(*base)}
    for place, bits in enumerate((64, 32, 32, 32)):
        for bit in range(bits):
            words = list(base)
            words[place] ^= 1 << bit
            keys.add(list_key(*words))
    assert len(keys) == 1 + 64 + 3 * 32


def test_keys_of_many_slots():
    slots = np.array([0, 1, 1000, 2**32 - 1])
    keys = list_keys(SEED, 3, 2, slots)
    assert keys.dtype == np.uint32
    assert keys.tolist() == [by_hand_key(SEED, 3, 2, int(slot)) for slot in slots]
    assert list_keys(SEED, 3, 2, []).shape == (0,)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((2**64, 0, 0, 0), r"seed must be in 0 to 2\^64 - 1, not 18446744073709551616"),
        ((-1, 0, 0, 0), r"seed must be in 0 to 2\^64 - 1, not -1"),
        ((0, 2**32, 0, 0), r"batch must be in 0 to 2\^32 - 1, not 4294967296"),
        ((0, 0, -1, 0), r"hop must be in 0 to 2\^32 - 1, not -1"),
        ((0, 0, 0, 2**32), r"slot must be in 0 to 2\^32 - 1, not 4294967296"),
        ((0, 0, 0, -1), r"slot must be in 0 to 2\^32 - 1, not -1"),
    ],
)
def test_words_that_do_not_fit(words, message):
    with pytest.raises(ValueError, match=message):
        list_key(*words)
    with pytest.raises(ValueError, match=message):
        list_keys(*words[:3], np.array([7, words[3]]))


@pytest.mark.parametrize("degree", [1, 2, 3, 25, 28_554, 2**32 - 1])
def test_positions_are_draws_scaled_down(degree):
    for key in (0, 1, 0xDEADBEEF, 2**32 - 1):
        draws = [finalise((key + 0x9E3779B9 * (index + 1)) % 2**32) for index in range(40)]
        assert [draw(key, index) for index in range(40)] == draws
        found = positions(key, degree, 40)
        assert found.dtype == np.uint32
        assert found.tolist() == [word * degree // 2**32 for word in draws]
        assert found.max() < degree


def test_an_empty_list_gives_nothing():
    assert positions(123, 0, 10).tolist() == []
    assert positions(123, 5, 0).tolist() == []


def test_a_shorter_fan_out_takes_the_same_first_positions():
    assert positions(99, 1000, 25)[:10].tolist() == positions(99, 1000, 10).tolist()


def test_many_lists_at_once():
    keys = random_words(50, seed=4)
    degrees = np.random.default_rng(5).integers(1, 2**32, 50)
    degrees[7] = 0
    table = position_table(keys, degrees, 12)
    assert (table.shape, table.dtype) == ((50, 12), np.uint32)
    for row, key, degree in zip(table, keys, degrees, strict=True):
        if degree:
            assert row.tolist() == positions(int(key), int(degree), 12).tolist()


@pytest.mark.parametrize("degree", [2, 7, 10, 60, 1000])
def test_positions_are_uniform(degree):
    # A million draws as a run makes them: 40,000 consecutive slots, 25 draws each.
    keys = list_keys(SEED, 1, 1, np.arange(40_000))
    counts = np.bincount(
        position_table(keys, np.full(40_000, degree), 25).ravel(), minlength=degree
    )
    expected = 1_000_000 / degree
    statistic = ((counts - expected) ** 2 / expected).sum()
    # Chi-square with d = degree - 1 has mean d and variance 2 d. Within 4 sigma on both sides: a
    # sample that is too even is no random one (where d is small only the upper side can fail).
    freedom = degree - 1
    assert len(counts) == degree
    assert freedom - 4 * (2 * freedom) ** 0.5 < statistic < freedom + 4 * (2 * freedom) ** 0.5


def test_neighbouring_slots_and_draws_are_uncorrelated():
    keys = list_keys(SEED, 1, 1, np.arange(40_000))
    table = position_table(keys, np.full(40_000, 2**20), 25) / 2**20
    for left, right in ((table[:-1], table[1:]), (table[:, :-1], table[:, 1:])):
        # The correlation of a million independent pairs has sigma 0.001.
        assert abs(np.corrcoef(left.ravel(), right.ravel())[0, 1]) < 0.004
