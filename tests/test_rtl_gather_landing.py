# amaranth: UnusedElaboratable=no
"""Result words land one after the other, however many a transfer has."""

import random

import pytest

from rtl.contract.gather import RESULT_WORDS, result_transfer
from rtl.gather.landing import ResultLanding
from tests.gather_bench import Stalls, simulate


def transfers(count, width, seed):
    """``count`` words in transfers of 1 to ``width``; what is not valid is ones."""
    rng, left = random.Random(seed), [rng_word(seed, n) for n in range(count)]
    words = [*left]
    cut = []
    while left:
        some, left = left[: (size := rng.randint(1, width))], left[size:]
        full = [*some, *[(1 << 64) - 1] * (width - len(some))]
        cut.append({"words": full, "count": len(some), "last": not left})
    return words, cut


def rng_word(seed, number):
    return random.Random(f"{seed} {number}").getrandbits(64)


def land(cut, *, stalls=0, **parameters):
    """Memory words after two launches of the same transfers; clocks with an overflow."""
    dut = ResultLanding(**parameters)
    overflows, rows = [], []

    async def drive(ctx):
        pauses = Stalls(stalls, seed=1)
        for toggle in (1, 0):
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            for transfer in cut:
                ctx.set(dut.results.payload, transfer)
                for valid in (*[0] * pauses(), 1):
                    ctx.set(dut.results.valid, valid)
                    _, _, over = await ctx.tick().sample(dut.overflow)
                    overflows.append(over)
            ctx.set(dut.results.valid, 0)
            # What is kept is written in the clock behind the last transfer.
            await ctx.tick()
            if toggle:
                ctx.set(dut.free, 1)
                await ctx.tick()
        rows.extend(int(ctx.get(dut.storage.data[n])) for n in range(dut.storage.depth))

    simulate(dut, drive)
    each = dut.storage.width // 64
    words = [row >> 64 * n & (1 << 64) - 1 for row in rows for n in range(each)]
    return words, sum(overflows)


@pytest.mark.parametrize("stalls", [0, 2])
@pytest.mark.parametrize("data_bits", [64, 128, 512])
@pytest.mark.parametrize("result_words", RESULT_WORDS)
def test_words_land_in_order(result_words, data_bits, stalls):
    words, cut = transfers(61, result_words, seed=result_words)
    landed, overflows = land(
        cut, stalls=stalls, capacity_bytes=512, data_bits=data_bits, result_words=result_words
    )
    assert landed[:61] == words
    assert overflows == 0


@pytest.mark.parametrize("result_words", RESULT_WORDS)
def test_a_full_memory_keeps_what_fits(result_words):
    words, cut = transfers(40, result_words, seed=9)
    landed, overflows = land(cut, capacity_bytes=256, result_words=result_words, data_bits=512)
    assert landed == words[:32]
    fits = sum(sum(one["count"] for one in cut[: n + 1]) <= 32 for n in range(len(cut)))
    assert overflows == 2 * (len(cut) - fits)


@pytest.mark.parametrize("result_words", RESULT_WORDS)
def test_the_payload_is_words_count_last(result_words):
    layout = result_transfer(result_words)
    assert [name for name, _ in layout] == ["words", "count", "last"]
    assert layout["words"].width == 64 * result_words
    assert layout["count"].offset == 64 * result_words
    assert 1 << layout["count"].width > result_words


@pytest.mark.parametrize("result_words", [0, 3, 16])
def test_other_widths_are_refused(result_words):
    with pytest.raises(ValueError, match=f"must be 1, 2, 4 or 8, not {result_words}"):
        result_transfer(result_words)


@pytest.mark.parametrize("result_words", RESULT_WORDS)
def test_words_of_a_ring_go_round_in_its_part(result_words):
    """Behind 128 words for launches, 32 for each of two rings; ring 1 goes on at its word 27."""
    words, cut = transfers(20, result_words, seed=3)
    dut = ResultLanding(capacity_bytes=1024, rings=2, ring_bytes=256, result_words=result_words)
    rows = []

    async def drive(ctx):
        ctx.set(dut.start, 1)
        ctx.set(dut.is_of_ring, 1)
        ctx.set(dut.place, {"ring": 1, "first": 27, "room": 20})
        await ctx.tick()
        ctx.set(dut.start, 0)
        for transfer in cut:
            ctx.set(dut.results.payload, transfer)
            ctx.set(dut.results.valid, 1)
            _, _, over = await ctx.tick().sample(dut.overflow)
            assert not over
        ctx.set(dut.results.valid, 0)
        await ctx.tick()
        assert not ctx.get(dut.occupied)
        rows.extend(int(ctx.get(dut.storage.data[n])) for n in range(dut.storage.depth))

    simulate(dut, drive)
    found = [row >> 64 * n & (1 << 64) - 1 for row in rows for n in range(8)]
    assert found[:160] == [0] * 160
    assert found[160:] == [*words[5:], *[0] * 12, *words[:5]]
