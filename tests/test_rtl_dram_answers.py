# amaranth: UnusedElaboratable=no
"""Answers leave as they are done, those of one ID in order, against a plain list."""

import random

import pytest
from amaranth.lib import data

from rtl.gather.dram_answers import AnswerQueue
from tests.gather_bench import simulate

DEPTH = 8


class Waiting:
    """The list: an entry goes in front of the later ones of other IDs, of the last few."""

    def __init__(self, reorder):
        self._reorder = reorder
        self.entries = []
        self.passed = 0

    def put(self, entry):
        place = len(self.entries)
        while place and len(self.entries) - place < self._reorder:
            done, id, _ = self.entries[place - 1]
            if done <= entry[0] or id == entry[1]:
                break
            place -= 1
        self.passed += len(self.entries) - place
        self.entries.insert(place, entry)


@pytest.mark.parametrize("reorder", [0, 1, 3])
def test_random_answers(reorder):
    beat = data.StructLayout({"id": 2, "number": 16})
    dut, rng = AnswerQueue(beat, DEPTH, reorder), random.Random(reorder)
    waiting, fullest = Waiting(reorder), 0

    async def bench(ctx):
        nonlocal fullest
        for number in range(700):
            done, id = number + rng.randrange(12), rng.randrange(4)
            put, take = rng.random() < 0.7, rng.random() < 0.6
            head = dut.head.payload
            if waiting.entries and waiting.entries[0][0] > number:
                take = 0
            ctx.set(dut.entries.payload, {"done": done, "beat": {"id": id, "number": number}})
            ctx.set(dut.entries.valid, put)
            ctx.set(dut.head.ready, take)
            assert ctx.get(dut.head.valid) == bool(waiting.entries)
            assert ctx.get(dut.entries.ready) == (len(waiting.entries) < DEPTH)
            if waiting.entries:
                found = ctx.get(head.done), ctx.get(head.beat.id), ctx.get(head.beat.number)
                assert found == waiting.entries[0]
            room = len(waiting.entries) < DEPTH
            if take and waiting.entries:
                waiting.entries.pop(0)
            if put and room:
                waiting.put((done, id, number))
            fullest = max(fullest, len(waiting.entries))
            await ctx.tick()

    simulate(dut, bench)
    assert fullest == DEPTH
    assert waiting.passed >= 50 * reorder
