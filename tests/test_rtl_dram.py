# amaranth: UnusedElaboratable=no
"""DRAM times by hand and against the plain model; ports, errors and bandwidth."""

import random
from dataclasses import replace

import pytest

from cosim.config.build import dram_times
from cosim.config.load import load_platform
from rtl.contract.axi import Burst, Response
from rtl.contract.dram import DramTimes
from rtl.gather.dram import SimDram
from rtl.gather.dram_planner import DramPlanner
from tests.gather_bench import get, put, simulate
from tests.scenarios.dram import DDR4, PLANNED, DramModel, planned

pytestmark = pytest.mark.slow

# Round numbers, so that the sums below can be followed.
ROUND = DramTimes(
    banks=4,
    groups=1,
    row_bytes=1024,
    t_beat_ps=4_000,
    t_ccd_l_ps=4_000,
    t_cl_ps=14_000,
    t_cwl_ps=10_000,
    t_rcd_ps=13_000,
    t_rp_ps=12_000,
    t_ras_ps=32_000,
    t_rtp_ps=7_000,
    t_wr_ps=15_000,
    t_rrd_ps=3_000,
    t_rrd_l_ps=3_000,
    t_faw_ps=21_000,
    t_refi_ps=1_000_000,
    t_rfc_ps=100_000,
    t_wtr_s_ps=2_000,
    t_wtr_l_ps=6_000,
    t_rtw_ps=1_000,
    t_controller_ps=0,
    turn=1,
    reorder=0,
)
PERIOD = 4_000
BANK, ROW = 1024, 4096  # bytes from a bank to the next, and from a row to the next of its bank


def plan(times, accesses):
    """(done, hit) of (time, address, write[, id]) accesses, one a clock."""
    dut, out = DramPlanner(times), []

    async def bench(ctx):
        ctx.set(dut.enable, 1)
        for time, address, write, *id in accesses:
            ctx.set(dut.time, time)
            ctx.set(dut.address, address)
            ctx.set(dut.write, write)
            ctx.set(dut.id, *(id or [0]))
            out.append((ctx.get(dut.done), ctx.get(dut.hit)))
            await ctx.tick()

    simulate(dut, bench)
    return out


def ends(times, accesses):
    """When they are done, by the circuit and by the model."""
    model = DramModel(times)
    modelled = [
        model.access(time, address, write=bool(write), **dict(zip(["id"], id, strict=False)))
        for time, address, write, *id in accesses
    ]
    return [end for end, _ in plan(times, accesses)], modelled


@pytest.mark.parametrize(
    ("accesses", "done"),
    [
        # closed: tRCD 13 + tCL 14 + beat 4
        ([(0, 0, 0)], [31_000]),
        ([(0, 0, 1)], [27_000]),
        # open row: tCL + beat from its own time on; the bus alone where it comes at once
        ([(0, 0, 0), (100_000, 64, 0)], [31_000, 118_000]),
        ([(0, 0, 0), (4_000, 64, 0)], [31_000, 35_000]),
        # row conflict, bank long quiet: tRP 12 + 31
        ([(0, 0, 0), (100_000, ROW, 0)], [31_000, 143_000]),
        # at once: tRAS 32 first
        ([(0, 0, 0), (4_000, ROW, 0)], [31_000, 32_000 + 43_000]),
        # a late read of the row: its column command at 30, tRTP 7 to 37
        ([(0, 0, 0), (30_000, 64, 0), (31_000, ROW, 0)], [31_000, 48_000, 37_000 + 43_000]),
        # a write: data ends at 27, tWR 15 to 42
        ([(0, 0, 1), (4_000, ROW, 0)], [27_000, 42_000 + 43_000]),
        # another bank: activates side by side, data in order of the bus
        ([(0, 0, 0), (1_000, BANK, 0)], [31_000, 35_000]),
        # a write behind a read: the bus turns for 1 between their data
        ([(0, 0, 0), (0, BANK, 1)], [31_000, 36_000]),
        # a read behind a write: tWTR 6 after its data, then tCL
        ([(0, 0, 1), (0, 64, 0)], [27_000, 27_000 + 6_000 + 14_000 + 4_000]),
        # five activates: the fifth at tFAW 21 after the first
        (
            [
                (0, 0, 0),
                (0, BANK, 0),
                (0, 2 * BANK, 0),
                (0, 3 * BANK, 0),
                (100_000, ROW, 0),
                (100_000, ROW + BANK, 0),
                (100_000, ROW + 2 * BANK, 0),
                (100_000, ROW + 3 * BANK, 0),
                (100_000, 2 * ROW, 0),
            ],
            # conflicts at 112 (tRP), 115, 118, 121; bank 0 then waits tRAS: 112 + 32 + 12
            [31_000, 35_000, 39_000, 43_000, 143_000, 147_000, 151_000, 155_000, 187_000],
        ),
        # refresh at 1,000,000 closes the row: its end 1,100 + 31
        ([(0, 0, 0), (1_050_000, 64, 0)], [31_000, 1_131_000]),
        ([(0, 0, 0), (1_200_000, 64, 0)], [31_000, 1_231_000]),
        # does not fit before it: after it. 986 + 14 + 4 = 1,004 is too late; 982 fits exactly
        ([(0, 0, 0), (982_000, 64, 0)], [31_000, 1_000_000]),
        ([(0, 0, 0), (982_002, 64, 0)], [31_000, 1_131_000]),
        # and what comes behind, still before it, is a hit on the row opened after it
        ([(0, 0, 0), (982_002, 64, 0), (982_004, 128, 0)], [31_000, 1_131_000, 1_135_000]),
        # many refreshes slept through
        ([(0, 0, 0), (57_500_000, 64, 0)], [31_000, 57_531_000]),
    ],
)
def test_times_by_hand(accesses, done):
    assert ends(ROUND, accesses) == (done, done)


GROUPED = replace(
    ROUND, banks=8, groups=2, t_ccd_l_ps=5_000, t_rrd_l_ps=9_000, t_wtr_l_ps=9_000, reorder=2
)
SECOND = 2 * BANK  # bytes to the next bank, where a row of each of two groups lies before it


@pytest.mark.parametrize(
    ("accesses", "done"),
    [
        # 64 bytes on is the other group; its row is opened tRRD_S 3 later, its data need not wait
        ([(0, 0, 0), (0, 64, 0)], [31_000, 35_000]),
        # the same row of the same group: tCCD_L 5
        ([(0, 0, 0), (0, 128, 0)], [31_000, 36_000]),
        # the other bank of the group: tRRD_L 9
        ([(0, 0, 0), (0, SECOND, 0)], [31_000, 40_000]),
        # behind a write, a read of the other group (tWTR_S 2), and one of the same (tWTR_L 9)
        ([(0, 0, 1), (0, 64, 0)], [27_000, 27_000 + 2_000 + 18_000]),
        ([(0, 0, 1), (0, 128, 0)], [27_000, 27_000 + 9_000 + 18_000]),
        # a write of the other group in between: tWTR_L 9 still counts from the first
        ([(0, 0, 1), (0, 64, 1), (0, 128, 0)], [27_000, 31_000, 27_000 + 9_000 + 18_000]),
    ],
)
def test_groups_by_hand(accesses, done):
    assert ends(GROUPED, accesses) == (done, done)


LATE, ROWS = 200_000, 8 * BANK  # all is quiet by then; bytes from a row to the next of its bank


def conflict(id, bank=0):
    """An access at ``LATE`` to another row of a bank: tRP 12 + 31."""
    return (LATE, ROWS + SECOND * bank, 0, id)


@pytest.mark.parametrize(
    ("accesses", "done"),
    [
        # a row that is open goes before one that must be opened, with another ID: tCL + beat
        ([conflict(0), (LATE, 64, 0, 1)], [243_000, 218_000]),
        # with the same ID behind it
        ([conflict(0), (LATE, 64, 0, 0)], [243_000, 247_000]),
        # a write has an order of its own: tCWL + beat
        ([conflict(0), (LATE, 64, 1, 0)], [243_000, 214_000]),
        # a write fits before the late read: from 219 (the bus turns) tWTR_S 2 + tCL 14 to 239
        (
            [conflict(0), (LATE, 64, 0, 1), (LATE, 192, 1, 2), (LATE, 192, 1, 3)],
            [243_000, 218_000, 223_000, 248_000],
        ),
        # two may be passed, not three
        ([conflict(0), conflict(1), (LATE, 64, 0, 3)], [243_000, 248_000, 218_000]),
        (
            [conflict(0), conflict(1), conflict(2), (LATE, 64, 0, 3)],
            [243_000, 248_000, 253_000, 257_000],
        ),
        # activates, too: bank 1 is closed, so its row is opened at once; bank 0 waits tRP
        ([conflict(0), conflict(1, bank=1)], [243_000, 231_000]),
    ],
)
def test_reordering_by_hand(accesses, done):
    """Behind two accesses that open the first row of two groups."""
    both = ends(GROUPED, [(0, 0, 0), (0, 64, 0), *accesses])
    assert [found[2:] for found in both] == [done, done]


def test_four_activate_window_by_hand():
    times = replace(ROUND, banks=8, t_beat_ps=1_000, t_ccd_l_ps=1_000, t_faw_ps=40_000)
    accesses = [(0, bank * BANK, 0) for bank in range(6)]
    # Activates at 0, 3, 6, 9 (tRRD), then 40 and 43 (tFAW after the first and the second).
    activates = [0, 3_000, 6_000, 9_000, 40_000, 43_000]
    assert [end for end, _ in plan(times, accesses)] == [a + 28_000 for a in activates]


@pytest.mark.parametrize("times", PLANNED, ids=lambda times: f"{times.groups}-{times.reorder}")
def test_random_accesses_equal_the_model(times):
    accesses, expected, model = planned(times, 400, seed=1)
    assert plan(times, accesses) == expected
    assert min(model.hits, model.misses) > 50
    assert min(model.refreshes, model.turns) > 5
    assert bool(model.passed) == bool(times.reorder)


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
