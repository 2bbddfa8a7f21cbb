# amaranth: UnusedElaboratable=no
"""A bare trace asks for its addresses, in order, as fast as the bus takes them."""

import pytest

from rtl.axi4 import Axi4Read
from rtl.gather.trace import DramTraceUnit, TracePlayer
from tests.gather_bench import ReadMemory, simulate
from tests.scenarios.dram import DDR4
from tests.scenarios.gather import GatherScenario

pytestmark = pytest.mark.slow

ADDRESSES = [[0x40, 0x40, 0x1FC0, 0, 0x8000], [0x100], [0x40 * number for number in range(30)]]


@pytest.mark.parametrize(("stalls", "latency"), [(0, 0), (3, 5)])
def test_addresses_in_order(stalls, latency):
    dut = TracePlayer(Axi4Read(64, 512, 2), 64)
    memory = ReadMemory(dut.axi, GatherScenario(), stalls=stalls, latency=latency, seed=1)
    answered, over = [], []

    async def count(ctx):
        while True:
            _, _, valid, last = await ctx.tick().sample(dut.axi.r.valid, dut.last)
            answered.append(valid)
            over.append(last)

    async def play(ctx):
        for addresses in ADDRESSES:
            memory.requests.clear()
            for place, address in enumerate(addresses):
                ctx.set(dut.storage.data[place], address)
            ctx.set(dut.start, 1)
            ctx.set(dut.count, len(addresses))
            await ctx.tick()
            ctx.set(dut.start, 0)
            before = sum(answered)
            while ctx.get(dut.busy):
                await ctx.tick()
            await ctx.tick()
            assert [(address, beats) for *_, address, beats in memory.requests] == [
                (address, 1) for address in addresses
            ]
            assert sum(answered) - before == len(addresses)
            clocks = [clock for clock, *_ in memory.requests]
            if not stalls:
                assert clocks[-1] - clocks[0] == len(addresses) - 1

    simulate(dut, play, background=(memory.serve, count))
    assert sum(over) == len(ADDRESSES)


def test_the_unit_tells_when_its_last_beat_came():
    dut = DramTraceUnit(times=DDR4, window_bytes=1 << 17, places=64)
    beats = []

    async def run(ctx):
        for place in range(20):
            ctx.set(dut.player.storage.data[place], 0x2000 * (place % 8))
        for edge in range(1, 400):
            ctx.set(dut.now, edge)
            if edge == 10:
                assert ctx.get(dut.quiet)
                ctx.set(dut.trace, 20)
                ctx.set(dut.trace_toggle, 1)
            _, _, valid = await ctx.tick().sample(dut.player.axi.r.valid)
            if valid:
                beats.append(edge)
        event = ctx.get(dut.event)
        assert (event.started, event.last) == (10, beats[-1])
        assert ctx.get(dut.event_toggle) == ctx.get(dut.quiet) == 1
        assert ctx.get(dut.counters) == len(beats) == 20

    simulate(dut, run, limit_cycles=500)
