"""Raw bit errors: the rate by its formula, draws by their distribution, and what they depend on."""

from fractions import Fraction

import numpy as np
import pytest

from cosim.bit_errors import BitErrors, CellState
from rtl.contract.striping import PhysicalPage

RAW_BYTES = 2_752
"""Nine codewords of 277 bytes, and fill."""
CODEWORD_BYTES = 277
PLACE = PhysicalPage(1, 0, 1, 37)
WORN = {
    "cycles": 4_000,
    "age_hours": 4_000,
    "fresh_rate_ppt": 5 * 10**6,
    "worn_rate_ppt": 20 * 10**6,
    "aged_rate_ppt": 300 * 10**6,
    "cycles_exponent": Fraction(3, 2),
    "age_exponent": Fraction(1, 2),
    "level_shares_ppm": (10**6, 4 * 10**5, 0),
    "die_spread_ppm": 0,
    "seed": 3,
}


def state(**changes):
    return CellState(**WORN | changes)


def errors(**changes):
    return BitErrors(state(**changes), RAW_BYTES)


def wrong_bits(drawn, place=PLACE, level=0):
    """Places of the ones that a page of zeros reads as."""
    raw = np.frombuffer(drawn.flip(bytes(RAW_BYTES), place, level), np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))


@pytest.mark.parametrize(
    ("changes", "rate_ppm"),
    [
        # 4000 cycles to the power of 1.5 are eight thousands', 4000 hours to that of 0.5 two.
        ({}, 5 + 8 * (20 + 2 * 300)),
        ({"cycles": 0}, 5),
        ({"cycles": 1000}, 5 + 20 + 2 * 300),
        ({"age_hours": 0}, 5 + 8 * 20),
        ({"age_hours": 1000}, 5 + 8 * (20 + 300)),
        ({"fresh_rate_ppt": 0}, 8 * (20 + 2 * 300)),
        ({"worn_rate_ppt": 0}, 5 + 8 * 2 * 300),
        ({"aged_rate_ppt": 0}, 5 + 8 * 20),
        ({"cycles_exponent": Fraction(1)}, 5 + 4 * (20 + 2 * 300)),
        ({"age_exponent": Fraction(1)}, 5 + 8 * (20 + 4 * 300)),
        ({"die_spread_ppm": 10**5, "seed": 9}, 5 + 8 * (20 + 2 * 300)),
    ],
)
def test_rate_of_the_formula(changes, rate_ppm):
    assert state(**changes).rate_ppt(0) == rate_ppm * 10**6


def test_levels_leave_their_share_of_the_errors_of_age():
    rates = [state().rate_ppt(level) // 10**6 for level in range(4)]
    assert rates == [5 + 8 * (20 + 600), 5 + 8 * (20 + 240), 5 + 8 * 20, 5 + 8 * 20]


def test_number_of_errors_of_a_codeword_is_binomial():
    drawn = errors()
    rate, bits = state().rate_ppt(0) / 1e12, 8 * CODEWORD_BYTES
    pages = [wrong_bits(drawn, PhysicalPage(0, 0, 0, row)) for row in range(500)]
    counts = np.concatenate(
        [np.bincount(page // bits, minlength=RAW_BYTES * 8 // bits + 1)[:9] for page in pages]
    )
    mean, variance = bits * rate, bits * rate * (1 - rate)
    # Five standard errors of 4,500 codewords' mean and variance.
    assert abs(counts.mean() - mean) < 5 * (variance / counts.size) ** 0.5
    assert abs(counts.var() - variance) < 5 * variance * (2 / counts.size) ** 0.5
    assert drawn.drawn == sum(map(len, pages))


def test_every_bit_is_wrong_as_often():
    """Chi-squared of 500 pages' errors over 64 parts of a page, and over the bits of a byte."""
    drawn = errors()
    found = np.concatenate([wrong_bits(drawn, PhysicalPage(0, 0, 0, row)) for row in range(500)])
    for kind, parts in ((found * 64 // (8 * RAW_BYTES), 64), (found % 8, 8)):
        observed = np.bincount(kind, minlength=parts)
        expected = found.size / parts
        squared = ((observed - expected) ** 2 / expected).sum()
        assert squared < parts - 1 + 5 * (2 * (parts - 1)) ** 0.5


def test_many_errors_are_as_many_different_bits():
    """Half of all bits, the most that there may be: places that come twice are drawn again."""
    drawn = errors(cycles=0, fresh_rate_ppt=5 * 10**11)
    found = wrong_bits(drawn)
    assert found.size == drawn.drawn
    assert abs(found.size - 4 * RAW_BYTES) < 5 * (2 * RAW_BYTES) ** 0.5


def test_same_place_and_number_of_reads_same_bits():
    one, other = errors(), errors()
    first, second = wrong_bits(one), wrong_bits(one)
    wrong_bits(other, PLACE._replace(row=1))  # what others draw is of no importance
    assert np.array_equal(first, wrong_bits(other))
    assert np.array_equal(second, wrong_bits(other))
    assert not np.array_equal(first, second)


def test_a_read_at_another_level_counts_as_a_read():
    one, other = errors(), errors()
    wrong_bits(one, level=2)
    wrong_bits(other, level=0)
    assert np.array_equal(wrong_bits(one), wrong_bits(other))


@pytest.mark.parametrize("field", PhysicalPage._fields)
def test_each_part_of_the_place_matters(field):
    other = PLACE._replace(**{field: getattr(PLACE, field) + 1})
    assert not np.array_equal(wrong_bits(errors()), wrong_bits(errors(), other))


@pytest.mark.parametrize("seed", [4, 3 + 2**32])
def test_the_seed_matters(seed):
    assert not np.array_equal(wrong_bits(errors()), wrong_bits(errors(seed=seed)))


def test_dies_differ_by_their_spread_and_their_luns_do_not():
    spread = 300_000
    drawn = errors(die_spread_ppm=spread)
    plain = 8 * RAW_BYTES * state().rate_ppt(0) / 1e12
    means = {
        (channel, way, lun): np.mean(
            [wrong_bits(drawn, PhysicalPage(channel, way, lun, row)).size for row in range(100)]
        )
        / plain
        for channel in range(2)
        for way in range(4)
        for lun in range(2)
    }
    assert all(0.68 < mean < 1.32 for mean in means.values())
    dies = [means[channel, way, 0] for channel in range(2) for way in range(4)]
    assert min(dies) < 0.85 < 1.15 < max(dies)
    # 100 pages of some 110 errors: a standard error of 1 % of the mean.
    for (channel, way, lun), mean in means.items():
        assert abs(mean - means[channel, way, 1 - lun]) < 0.07


def test_no_rate_no_error():
    drawn = errors(cycles=0, fresh_rate_ppt=0)
    image = bytes(range(256))
    assert drawn.flip(image, PLACE, 0) is image
    assert drawn.drawn == 0


def test_a_level_without_errors_reads_as_the_cells_are():
    drawn = errors(fresh_rate_ppt=0, worn_rate_ppt=0)
    assert wrong_bits(drawn, level=2).size == 0
    assert wrong_bits(drawn, level=0).size > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cycles": -1}, "cycles must not be negative, not -1"),
        ({"seed": -1}, "seed must not be negative, not -1"),
        ({"level_shares_ppm": ()}, r"must be at least one share, none below 0, not \[\]"),
        (
            {"die_spread_ppm": 10**6 + 1},
            "die_spread_ppm must be at most 1000000 millionths, not 1000001",
        ),
        (
            {"cycles": 0, "fresh_rate_ppt": 10**12 // 2 + 1},
            "must leave at most half of all bits wrong, not 0.5 of them",
        ),
        ({"cycles": 10**6}, "must leave at most half of all bits wrong, not 19.6 of them"),
        ({"cycles": 10**6, "cycles_exponent": Fraction(999)}, "not more of them than can be"),
        ({"cycles": 10**400}, "not more of them than can be computed"),
        ({"cycles": 0, "fresh_rate_ppt": 26 * 10**10, "die_spread_ppm": 10**6}, "0.26 of them"),
    ],
)
def test_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        state(**changes)
