# amaranth: UnusedElaboratable=no
"""The simulation DRAM at its ports: order, times, errors and bandwidth."""

import random
from dataclasses import replace

import pytest

from cosim.config.build import dram_times
from cosim.config.load import load_platform
from rtl.contract.axi import Burst, Response
from rtl.gather.dram import SimDram
from tests.gather_bench import get, put, simulate
from tests.scenarios.dram import DDR4, ROUND

pytestmark = pytest.mark.slow

PERIOD = 4_000


class DramBench:
    """The memory with its edge number, and clocked access to both ports."""

    def __init__(self, times=ROUND, **parameters):
        parameters = {"window_bytes": 1 << 14, "data_bits": 512, **parameters}
        self.dut = SimDram(period_ps=PERIOD, times=times, **parameters)

    async def count(self, ctx):
        edge = 0
        while True:
            await ctx.tick()
            edge += 1
            ctx.set(self.dut.now, edge)

    def run(self, *benches, limit_cycles=10_000):
        simulate(self.dut, *benches, background=(self.count,), limit_cycles=limit_cycles)

    async def read(self, ctx, address, *, beats=1, size=6, burst=Burst.INCR, id=1):
        await put(
            ctx,
            self.dut.read.ar,
            {"addr": address, "len": beats - 1, "size": size, "burst": burst, "id": id},
        )
        got = [await get(ctx, self.dut.read.r) for _ in range(beats)]
        assert [beat.last for beat in got] == [0] * (beats - 1) + [1]
        assert {beat.id for beat in got} == {id}
        return got

    async def write(self, ctx, address, words, *, strobes=(1 << 64) - 1, id=2, **fields):
        fields = {"size": 6, "burst": Burst.INCR, **fields}
        await put(
            ctx, self.dut.write.aw, {"addr": address, "len": len(words) - 1, "id": id, **fields}
        )
        for number, word in enumerate(words):
            last = number == len(words) - 1
            await put(ctx, self.dut.write.w, {"data": word, "strb": strobes, "last": last})
        answer = await get(ctx, self.dut.write.b)
        assert answer.id == id
        return answer.resp


def test_what_was_written_is_read():
    bench = DramBench()
    rng = random.Random(1)
    words = [rng.getrandbits(512) for _ in range(16)]

    async def story(ctx):
        assert await bench.write(ctx, 0xC00, words) == Response.OKAY
        got = await bench.read(ctx, 0xC00, beats=16)
        assert [(beat.data, beat.resp) for beat in got] == [(word, 0) for word in words]
        assert await bench.write(ctx, 0xC40, [(1 << 512) - 1], strobes=0xF0) == Response.OKAY
        (merged,) = await bench.read(ctx, 0xC40)
        mask = 0xFFFF_FFFF << 32
        assert merged.data == words[1] & ~mask | mask
        (narrow,) = await bench.read(ctx, 0xC88, size=3)
        assert narrow.data == words[2]

    bench.run(story)


@pytest.mark.parametrize(
    ("change", "clocks"),
    [
        # Taken at edge n, planned at n + 1. A closed row is done 31 ns later, 7.75 clocks: the beat
        # is on the port after n + 9 and taken at n + 10. An open row takes 18 ns, 4.5 clocks.
        ({}, [10, 7]),
        # 32 ns are 8 clocks: the same edge.
        ({"t_rcd_ps": 14_000}, [10, 7]),
        # 29 ns, and 16 ns, 4 clocks.
        ({"t_cl_ps": 12_000}, [10, 6]),
        ({"t_controller_ps": 2}, [10, 7]),
        ({"t_controller_ps": 1_002}, [11, 7]),
    ],
)
def test_latency_on_the_port_is_the_first_edge_at_or_after_the_end(change, clocks):
    bench, asked, taken = DramBench(replace(ROUND, **change)), [], []
    ar, r = bench.dut.read.ar, bench.dut.read.r

    async def story(ctx):
        await bench.read(ctx, 0)
        await bench.read(ctx, 64)

    async def watch(ctx):
        ports = (ar.valid, ar.ready, r.valid, r.ready, bench.dut.now)
        while True:
            _, _, ar_valid, ar_ready, r_valid, r_ready, now = await ctx.tick().sample(*ports)
            if ar_valid and ar_ready:
                asked.append(now)
            if r_valid and r_ready:
                taken.append(now)

    simulate(bench.dut, story, background=(bench.count, watch))
    assert [end - start for start, end in zip(asked, taken, strict=True)] == clocks


@pytest.mark.parametrize(
    ("fields", "response"),
    [
        ({"address": 1 << 14}, Response.DECERR),
        ({"address": 1 << 40}, Response.DECERR),
        ({"address": 0, "beats": 2, "size": 3}, Response.SLVERR),
        ({"address": 0, "beats": 2, "burst": Burst.FIXED}, Response.SLVERR),
        ({"address": 0, "beats": 4, "burst": Burst.WRAP}, Response.SLVERR),
        ({"address": 0, "size": 7}, Response.SLVERR),
    ],
)
def test_errors(fields, response):
    bench = DramBench()

    async def story(ctx):
        got = await bench.read(ctx, **fields)
        assert {beat.resp for beat in got} == {response}
        (good,) = await bench.read(ctx, 64)
        assert good.resp == Response.OKAY
        beats = fields.pop("beats", 1)
        assert await bench.write(ctx, fields.pop("address"), [5] * beats, **fields) == response
        assert await bench.write(ctx, 64, [5]) == Response.OKAY

    bench.run(story)


def test_a_burst_that_leaves_the_window_fails_from_there_on():
    bench = DramBench()

    async def story(ctx):
        got = await bench.read(ctx, (1 << 14) - 128, beats=4)
        assert [beat.resp for beat in got] == [0, 0, Response.DECERR, Response.DECERR]
        assert await bench.write(ctx, (1 << 14) - 64, [1, 2]) == Response.DECERR
        # The last beat is good here: the address wraps.
        assert await bench.write(ctx, (1 << 64) - 64, [1, 2]) == Response.DECERR

    bench.run(story)


def sequential_clocks(times, beats):
    """Clocks from the first to the last of ``beats`` beats of one long read."""
    bench, edges = DramBench(times, window_bytes=1 << 18), []

    async def ask(ctx):
        for first in range(0, beats, 64):
            await put(
                ctx, bench.dut.read.ar, {"addr": 64 * first, "len": 63, "size": 6, "burst": 1}
            )

    async def take(ctx):
        ctx.set(bench.dut.read.r.ready, 1)
        while len(edges) < beats:
            _, _, valid, now = await ctx.tick().sample(bench.dut.read.r.valid, bench.dut.now)
            if valid:
                edges.append(now)

    bench.run(ask, take)
    return edges[-1] - edges[0]


@pytest.mark.parametrize("t_beat_ps", [4_156, 8_312])
def test_sequential_rate_is_the_bus(t_beat_ps):
    times = replace(DDR4, t_beat_ps=t_beat_ps)
    beats = 512  # before the first refresh
    clocks = sequential_clocks(times, beats)
    assert clocks * PERIOD == pytest.approx((beats - 1) * t_beat_ps, abs=PERIOD)


def test_refresh_takes_its_share_of_the_sequential_rate():
    beats = 2048
    clocks = sequential_clocks(DDR4, beats)
    bus = (beats - 1) * 4_156
    # 8.5 us hold one refresh at 7.8 us; what does not fit before it and the reopening come on top.
    assert 350_000 <= clocks * PERIOD - bus <= 350_000 + 14_160 + 14_160 + 4_156 + PERIOD


def test_card_gives_the_sequential_rate_of_its_source():
    """15,419 MB/s by a kernel of UG1382, over refreshes and reopened rows; at most 16 GB/s."""
    times = dram_times(load_platform("smartssd"))
    beats = 2 * times.t_refi_ps // times.t_beat_ps
    clocks = sequential_clocks(times, beats)
    assert 64 * beats / (clocks * PERIOD) * 1e6 == pytest.approx(15_419, rel=0.005)


def test_a_beat_passes_a_late_one_of_another_id():
    bench, answers = DramBench(replace(ROUND, reorder=2)), []
    reads = [(0, 0), (4096, 1), (1024, 2), (1088, 2), (1152, 1)]

    async def ask(ctx):
        for address, id in reads:
            await put(ctx, bench.dut.read.ar, {"addr": address, "size": 6, "burst": 1, "id": id})

    async def take(ctx):
        ctx.set(bench.dut.read.r.ready, 1)
        r, order = bench.dut.read.r, bench.dut.order
        while len(answers) < len(reads):
            _, _, valid, beat, number = await ctx.tick().sample(r.valid, r.payload, order)
            if valid:
                answers.append((beat.id, number, beat.data))

    async def story(ctx):
        for address, _ in reads:
            ctx.set(bench.dut.storage.data[address // 64], address)
        await ask(ctx)

    bench.run(story, take)
    # 4096 is another row of the bank of 0 and must wait; 1024 and 1088 need not. 1152 need not
    # either, but it has the ID of 4096.
    assert answers == [(0, 0, 0), (2, 0, 1024), (2, 1, 1088), (1, 0, 4096), (1, 1, 1152)]


@pytest.mark.parametrize("turn", [1, 4])
def test_ports_take_turns(turn):
    bench, winners, accesses = DramBench(replace(ROUND, turn=turn)), [], []

    async def reads(ctx):
        for number in range(4):
            await bench.read(ctx, 256 * number, beats=16)

    async def writes(ctx):
        await bench.write(ctx, 0x2000, list(range(64)))

    async def watch(ctx):
        ports = (bench.dut.tie, bench.dut.write.w.ready, bench.dut.hit, bench.dut.miss)
        while True:
            _, _, tie, wrote, hit, miss = await ctx.tick().sample(*ports)
            accesses.append(hit + miss)
            if tie:
                winners.append("write" if wrote else "read")

    simulate(bench.dut, reads, writes, background=(bench.count, watch))
    assert len(winners) > 8
    turns = ["read"] * turn + ["write"] * turn
    assert winners == (turns * len(winners))[: len(winners)]
    assert sum(accesses) == 128


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t_rcd_ps": 0}, "t_rcd_ps must be an integer from 1 up, not 0"),
        ({"t_controller_ps": -1}, "t_controller_ps must be an integer from 0 up, not -1"),
        ({"banks": 12}, "banks must be a power of two from 2 up, not 12"),
        ({"t_refi_ps": 400_000}, "t_refi_ps must be at least 428636"),
        ({"t_rfc_ps": 20_000}, "t_rfc_ps must be at least t_faw_ps, not 20000 < 21000"),
        ({"groups": 3}, "groups must be a power of two from 1 up, not 3"),
        ({"groups": 32}, "groups must be at most 16, not 32"),
        ({"turn": 0}, "turn must be an integer from 1 up, not 0"),
        ({"reorder": 17}, "reorder must be at most 16, not 17"),
        ({"t_ccd_l_ps": 30_000}, "t_ccd_l_ps must be at most 20780, not 30000"),
        ({"t_wtr_l_ps": 30_000}, "t_wtr_l_ps must be at most 19124, not 30000"),
        ({"t_rrd_l_ps": 30_000}, "t_rrd_l_ps must be at most 16665, not 30000"),
        ({"t_rrd_ps": 5_000}, "t_rrd_ps must be at most t_rrd_l_ps, not 5000 > 4900"),
        ({"t_wtr_s_ps": 8_000}, "t_wtr_s_ps must be at most t_wtr_l_ps, not 8000 > 7500"),
    ],
)
def test_refuses_times(change, message):
    with pytest.raises(ValueError, match=message):
        replace(DDR4, **change)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"period_ps": 4_001}, ValueError, "Clock period must be an even number of ps, not 4001"),
        ({"times": None}, TypeError, "Times must be DramTimes, not None"),
        ({"window_bytes": 3 << 20}, ValueError, "DRAM window must be a power of two of bytes"),
    ],
)
def test_refuses_parameters(change, error, message):
    with pytest.raises(error, match=message):
        SimDram(**{"period_ps": PERIOD, "times": ROUND, **change})
