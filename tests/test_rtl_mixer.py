# amaranth: UnusedElaboratable=no
import random

import numpy as np
import pytest
from amaranth.hdl import unsigned

from rtl.contract.mixer import GOLDEN, mix, positions
from rtl.mixer import PositionMixer
from tests.gather_bench import Stalls, collect, feed, simulate

MASK = 0xFFFF_FFFF


def run(entries, *, stalls=0, limit_cycles=20_000):
    """Positions and tags for (word, degree, bypass) entries, tagged 0, 1, 2, ..."""
    dut = PositionMixer(unsigned(16))
    out = []

    async def drive(ctx):
        payloads = [
            {"word": word, "degree": degree, "bypass": bypass, "tag": tag & 0xFFFF}
            for tag, (word, degree, bypass) in enumerate(entries)
        ]
        await feed(ctx, dut.words, payloads, Stalls(stalls, seed=1))

    async def watch(ctx):
        taken = await collect(ctx, dut.positions, len(entries), Stalls(stalls, seed=2))
        out.extend((entry.position, entry.tag) for entry in taken)

    simulate(dut, drive, watch, limit_cycles=limit_cycles)
    return out


@pytest.mark.parametrize("stalls", [0, 3])
def test_draws_equal_the_reference(stalls):
    rng = random.Random(7)
    entries, expected = [], []
    for _ in range(60):
        key, degree = rng.getrandbits(32), rng.choice([1, 2, 60, 28_554, MASK, rng.getrandbits(32)])
        entries += [((key + GOLDEN * (i + 1)) & MASK, degree, 0) for i in range(25)]
        expected += positions(key, degree, 25).tolist()
    out = run(entries, stalls=stalls)
    assert [position for position, _ in out] == expected
    assert [tag for _, tag in out] == list(range(len(entries)))


def test_mixed_words_at_the_extremes():
    words = [0, 1, MASK, 1 << 31, GOLDEN, 0xFFFF, 0xFFFF_0000]
    out = run([(word, MASK, 0) for word in words])
    assert [p for p, _ in out] == [mix(word) * MASK >> 32 for word in words]


def test_bypass_keeps_the_word_and_the_order():
    rng = random.Random(9)
    entries = [(rng.getrandbits(32), rng.getrandbits(32), rng.getrandbits(1)) for _ in range(500)]
    expected = [w if bypass else mix(w) * d >> 32 for w, d, bypass in entries]
    out = run(entries, stalls=2)
    assert [p for p, _ in out] == expected


def test_one_draw_a_clock():
    entries = [(i, MASK, 0) for i in range(400)]
    run(entries, limit_cycles=400 + PositionMixer(1).latency + 2)


def test_thousands_of_random_words_are_spread_over_the_list():
    rng = np.random.default_rng(3)
    words = rng.integers(0, 1 << 32, 3000, dtype=np.uint32)
    out = run([(int(w), 10, 0) for w in words])
    expected = (mix(words).astype(np.uint64) * np.uint64(10)) >> np.uint64(32)
    assert [p for p, _ in out] == expected.tolist()
