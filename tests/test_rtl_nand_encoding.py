# amaranth: UnusedElaboratable=no
"""Codewords of chunks that go to a die: of a transfer alone, and through a whole channel."""

import random

import pytest

from rtl.contract.page import FILL
from rtl.nand.encoding import Encoding
from tests.gather_bench import simulate
from tests.scenarios.bch import SHORT, coded_page

CODE = SHORT
SIZE = CODE.codeword_bytes


class EncodingBench:
    """Plays transfers (length, is_coded, bytes of the slot) one after the other.

    ``gap`` is how many clocks pass before the slot's first word, ``pace`` how often the bus takes
    one, where it does not take them in each clock.
    """

    def __init__(self, transfers, *, phases=2, gap=2, pace=None):
        self.dut = Encoding(CODE, phases=phases)
        self._transfers, self._phases, self._gap, self._pace = transfers, phases, gap, pace
        self._random = random.Random(phases)
        self.found, self.pauses, self.delays = [], [], []
        simulate(self.dut, self._run)

    async def _run(self, ctx):
        for transfer in self._transfers:
            await self._play(ctx, *transfer)

    async def _play(self, ctx, length, is_coded, raw):
        dut, words = self.dut, self._split(raw)
        ctx.set(dut.start, 1)
        ctx.set(dut.is_coded, is_coded)
        ctx.set(dut.length, length)
        await ctx.tick()
        ctx.set(dut.start, 0)
        # Until now there may have been a word of the slot before.
        ctx.set(dut.launch.valid, 0)
        # They count with the strobe alone.
        ctx.set(dut.is_coded, not is_coded)
        ctx.set(dut.length, 2)
        for _ in range(self._gap):
            await ctx.tick()
        taken, delay, pauses, place = b"", None, 0, 0
        for clock in range(40 * length):
            ctx.set(dut.launch.valid, place < len(words))
            ctx.set(dut.launch.payload, words[place] if place < len(words) else 0)
            takes = self._pace is None or self._random.random() < self._pace
            # A bus begins when there is a first word.
            ctx.set(dut.data.ready, takes and (bool(taken) or bool(ctx.get(dut.data.valid))))
            is_word, is_taken = ctx.get(dut.data.valid), ctx.get(dut.launch.ready)
            if is_word and delay is None:
                delay = clock
            if taken and takes and not is_word:
                pauses += 1
            if is_word and ctx.get(dut.data.ready):
                taken += int(ctx.get(dut.data.payload)).to_bytes(self._phases, "little")
            place += bool(is_taken and place < len(words))
            await ctx.tick()
            ctx.set(dut.data.ready, 0)
            if len(taken) >= length:
                break
        self.found.append(taken[:length])
        self.pauses.append(pauses)
        self.delays.append(delay)

    def _split(self, raw):
        size = self._phases
        return [int.from_bytes(raw[at : at + size], "little") for at in range(0, len(raw), size)]


def slot(length, seed):
    return random.Random(seed).randbytes(length + 64)


LENGTHS = (2, SIZE - 1, SIZE, SIZE + 1, 3 * SIZE + 1, 2 * SIZE, 4 * SIZE + 30, 60)


@pytest.mark.parametrize("pace", [None, 0.4])
@pytest.mark.parametrize("phases", [1, 2, 4])
def test_chunks_become_codewords_and_the_rest_passes(phases, pace):
    rng = random.Random(3)
    transfers = [
        (length + (length % 2 if phases > 1 else 0), rng.random() < 0.7, slot(length, seed))
        for seed, length in enumerate(LENGTHS * 3)
    ]
    assert {coded for _, coded, _ in transfers} == {True, False}
    bench = EncodingBench(transfers, phases=phases, pace=pace)
    for found, (length, is_coded, raw) in zip(bench.found, transfers, strict=True):
        assert found == (coded_page(CODE, raw, length) if is_coded else raw[:length])
    assert bench.pauses == [0] * len(transfers)


def test_the_first_word_is_a_clock_later():
    whole = 2 * SIZE + SIZE % 2
    transfers = [(whole, is_coded, slot(whole, 1)) for is_coded in (False, True, True, False)]
    assert EncodingBench(transfers).delays == [0, 1, 1, 0]


def test_less_than_a_codeword_is_fill():
    (found,) = EncodingBench([(SIZE - SIZE % 2 - 2, True, slot(SIZE, 2))]).found
    assert set(found) == {FILL}


def test_what_the_encoder_is_not_made_for_is_refused():
    with pytest.raises(ValueError, match="Phases must be 1, 2 or 4, not 3"):
        Encoding(CODE, phases=3)
