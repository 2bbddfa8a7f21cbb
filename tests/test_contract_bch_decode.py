"""Correction by the reference, against two independent libraries and by counting."""

import itertools

import galois
import numpy as np
import pytest

from rtl.contract.bch import BchCode
from tests.scenarios.bch import (
    COSMOS,
    DOUBLE,
    PADDED,
    TRIPLE,
    WIDE,
    by_bchlib,
    codewords,
    decodable_share,
    flip,
    weights,
    zero_sum,
)

CODES = [
    pytest.param(COSMOS, id="m12-t14-256"),
    pytest.param(WIDE, id="m13-t8-512"),
    pytest.param(PADDED, id="m13-t9-512-three-pad-bits"),
    pytest.param(DOUBLE, id="m8-t2-16"),
]


def check(code, good, received):
    """``received`` is decoded as bchlib does; returns counts and ok."""
    corrected, counts, ok = code.decode(received)
    expected, expected_counts = by_bchlib(code, received)
    assert np.array_equal(np.where(ok, counts, -1), expected_counts)
    assert np.array_equal(corrected[ok], expected[ok])
    assert code.check(corrected[ok]).all()
    within = np.unpackbits(good ^ received, axis=1).sum(axis=1) <= code.t
    assert ok[within].all()
    assert np.array_equal(corrected[within], good[within])
    # What is given up is left alone but for false roots of a locator of at most t.
    changed = np.unpackbits(corrected ^ received, axis=1).sum(axis=1)
    assert (counts[~ok] == 0).all()
    assert (changed[~ok] < code.t).all()
    return counts, ok


@pytest.mark.parametrize("code", CODES)
def test_every_weight_as_bchlib(code):
    chosen = np.arange(10 * (code.t + 6)) % (code.t + 6)
    good = codewords(code, len(chosen), seed=1)
    counts, ok = check(code, good, weights(code, good, chosen, seed=2))
    within = chosen <= code.t
    assert np.array_equal(counts[within], chosen[within])
    assert not ok[~within].all()


@pytest.mark.parametrize("code", CODES)
def test_errors_in_the_parity_alone(code):
    chosen = np.arange(code.t + 3)
    good = codewords(code, len(chosen), seed=3)
    check(code, good, weights(code, good, chosen, seed=4, first=8 * code.chunk_bytes))


@pytest.mark.parametrize("code", CODES)
def test_bursts_across_every_part(code):
    bits = 8 * code.chunk_bytes + code.parity_bits
    starts = [0, 7, 8 * code.chunk_bytes - 1, bits - code.t]
    good = codewords(code, len(starts), seed=5)
    counts, _ = check(code, good, flip(good, [range(at, at + code.t) for at in starts]))
    assert counts.tolist() == [code.t] * len(starts)


@pytest.mark.parametrize("code", [*CODES, pytest.param(TRIPLE, id="m8-t3-18")])
def test_errors_whose_first_syndrome_is_zero(code):
    """The locator's length is ahead of the iteration, and waits for it."""
    draws = np.random.default_rng(11)
    good = codewords(code, 100, seed=12)
    check(code, good, flip(good, [zero_sum(code, draws) for _ in good]))


def test_what_claims_more_than_t_errors_is_left_as_it_came():
    """Words of a code of t = 2 with one error more: as a single error, but in the third syndrome.

    The locator then has more coefficients than there is room for; those that are left have roots.
    """
    weak = BchCode(m=8, t=2, chunk_bytes=19)
    assert weak.codeword_bytes == TRIPLE.codeword_bytes
    words = codewords(weak, 3000, seed=13)
    others = ~TRIPLE.check(words)
    received = flip(words, [[n % (8 * weak.codeword_bytes)] for n in range(len(words))])
    corrected, counts, ok = TRIPLE.decode(received)
    assert others.sum() > 2900
    assert not ok[others].any()
    assert not counts[others].any()
    assert np.array_equal(corrected[others], received[others])


@pytest.mark.slow
@pytest.mark.parametrize("code", [COSMOS, WIDE])
def test_every_weight_as_galois(code):
    reference = galois.BCH(code.length_bits, d=2 * code.t + 1)
    chosen = np.arange(code.t + 3)
    good = codewords(code, len(chosen), seed=6)
    received = weights(code, good, chosen, seed=7)
    words, counts = reference.decode(
        np.unpackbits(received, axis=1), output="codeword", errors=True
    )
    corrected, ours, ok = code.decode(received)
    # It corrects in the whole length; a bit in the part that was cut off has no place here.
    assert np.array_equal(np.where(ok, ours, -1), counts)
    expected = np.packbits(np.asarray(words).astype(np.uint8), axis=1)
    assert np.array_equal(corrected[ok], expected[ok])


def test_small_code_corrects_all_patterns_of_up_to_two_bits():
    code = BchCode(m=8, t=2, chunk_bytes=2)
    places = [p for weight in range(3) for p in itertools.combinations(range(32), weight)]
    good = codewords(code, len(places), seed=8)
    corrected, counts, ok = code.decode(flip(good, places))
    assert len(places) == 1 + 32 + 496
    assert ok.all()
    assert np.array_equal(corrected, good)
    assert counts.tolist() == [len(p) for p in places]


def test_share_of_random_words_that_become_codewords_is_that_of_the_spheres():
    draws = np.random.default_rng(9)
    words = draws.integers(0, 256, (20_000, DOUBLE.codeword_bytes), dtype=np.uint8)
    corrected, _, ok = DOUBLE.decode(words)
    share = decodable_share(DOUBLE)
    assert share == (1 + 144 + 10_296) / 2**16
    deviation = (len(words) * share * (1 - share)) ** 0.5
    assert abs(ok.sum() - len(words) * share) < 4 * deviation
    assert DOUBLE.check(corrected).sum() == ok.sum()


def test_miscorrections_beyond_t_are_as_rare_as_the_spheres_are_small():
    # Five errors leave any syndrome equally likely, near enough: d is 5, so 3 and 4 are special.
    good = codewords(DOUBLE, 20_000, seed=10)
    received = weights(DOUBLE, good, [5] * len(good), seed=11)
    corrected, _, ok = DOUBLE.decode(received)
    assert not np.array_equal(corrected, good)
    assert ok.mean() == pytest.approx(decodable_share(DOUBLE), rel=0.05)


def test_cosmos_miscorrects_practically_never():
    assert decodable_share(COSMOS) == pytest.approx(2.04e-15, rel=0.001)
    good = codewords(COSMOS, 200, seed=12)
    assert not COSMOS.decode(weights(COSMOS, good, [15] * 200, seed=13))[2].any()


def test_pad_bits_are_cleared_and_do_not_count():
    good = codewords(PADDED, 2, seed=14)
    received = weights(PADDED, good, [0, PADDED.t], seed=15)
    received[:, -1] ^= 0b101
    corrected, counts, ok = PADDED.decode(received)
    assert np.array_equal(corrected, good)
    assert (counts.tolist(), ok.tolist()) == ([0, PADDED.t], [True, True])


def test_the_received_words_stay_as_they_are():
    received = weights(DOUBLE, codewords(DOUBLE, 1, seed=16), [2], seed=17)
    before = received.copy()
    DOUBLE.decode(received)
    assert np.array_equal(received, before)


def test_no_codewords():
    corrected, counts, ok = COSMOS.decode(np.empty((0, 277), np.uint8))
    assert (corrected.shape, counts.shape, ok.shape) == ((0, 277), (0,), (0,))


def test_refuses_other_shapes():
    with pytest.raises(ValueError, match=r"codewords must be uint8\[n, 277\], not "):
        COSMOS.decode(np.zeros((1, 256), np.uint8))
