# amaranth: UnusedElaboratable=no
"""A launch that is given up: it ends soon, its targets whole or without ids; the unit goes on."""

import random
import struct

import pytest

from rtl.axi4 import Axi4Read
from rtl.contract.gather import GatherMode, GatherStatus
from rtl.gather.burst import BurstReader
from rtl.gather.positions import PositionFetcher
from tests.gather_bench import ReadMemory, Stalls, collect, feed, get, put, simulate
from tests.gather_core_bench import GatherBench, header
from tests.scenarios.gather import (
    GatherScenario,
    Launch,
    given_up,
    random_scenario,
    reference,
    targets,
)

pytestmark = pytest.mark.slow

ABORTED = GatherStatus.ABORTED


def check(bench, number):
    """A given-up launch has the first targets of the reference, each whole or ABORTED."""
    launch = bench.scenario.launches[number]
    expected = targets(reference(bench.scenario, launch)[0])
    found, done = targets(bench.words[number]), bench.done[number]
    assert done.words == len(bench.words[number])
    assert bench.last[number] == [0] * (len(bench.last[number]) - 1) + [1]
    if number not in bench.aborted or bench.aborted[number] >= done.last:
        assert (found, done.status) == (expected, reference(bench.scenario, launch)[1])
        return 0
    assert done.status == ABORTED
    return given_up(found, expected)


def pairs(count, **options):
    """A scenario whose two launches take turns, ``count`` times each."""
    scenario = random_scenario(4, targets=10, **options)
    scenario.max_distinct = 40
    long, short = scenario.launches
    scenario.launches = [long, Launch(short.address, 2)] * count
    return scenario


@pytest.mark.parametrize(("stalls", "latency"), [(0, 0), (0, 25), (2, 3)])
def test_any_moment_will_do(stalls, latency):
    count = 8
    rng = random.Random(latency)
    scenario = pairs(count)
    moments = {2 * n: rng.randint(1, 20 * (n + 1) + latency) for n in range(count)}
    bench = GatherBench(scenario, stalls=stalls, latency=latency, abort=moments).run(60_000)
    counts = [check(bench, number) for number in range(2 * count)]
    assert sum(n > 0 for n in counts) > count // 2
    assert not any(counts[1::2]), "the launch behind is whole"
    for number, clock in bench.aborted.items():
        assert bench.done[number].last < clock + (latency + 40) * (1 + stalls) + 40 * 24


def test_every_clock_of_a_short_launch():
    scenario = long_scenario(2, fan_out=3)
    scenario.launches = scenario.launches[:1] * 90
    moments = {number: number + 1 for number in range(90)}
    bench = GatherBench(scenario, latency=3, abort=moments).run()
    assert {check(bench, number) for number in range(90)} == {0, 1, 2}
    whole = [number for number in range(90) if bench.done[number].status == GatherStatus.OK]
    assert 0 < len(whole) < 40


def draws(count, degree=1000, fan_out=40):
    fields = {"mode": GatherMode.DRAW, "fan_out": fan_out, "degree": degree}
    return [{**fields, "list_address": 0x8000, "key": key} for key in range(count)]


def long_scenario(count=500, fan_out=40):
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(1000), 8)
    scenario.launch(0x1000, draws(count, fan_out=fan_out))
    scenario.launch(0x6000, draws(3))
    return scenario


def test_the_end_does_not_wait_for_descriptors_that_were_not_fetched():
    bench = GatherBench(long_scenario(), latency=20, abort={0: 300}).run()
    assert check(bench, 0) > 0
    assert check(bench, 1) == 0
    assert len(targets(bench.words[0])) < 60
    # What is on the bus, a clock a job between fetcher and requests, and the words behind.
    assert bench.done[0].last - bench.aborted[0] < 20 + 2 * 24 + 80
    assert bench.done[1].status == GatherStatus.OK


def test_the_first_clock_of_a_launch_is_early_enough():
    bench = GatherBench(long_scenario(), latency=5, abort={0: 1}).run()
    assert bench.words[0] == [header(0, ABORTED)]
    assert bench.done[0].status == ABORTED
    assert check(bench, 1) == 0


def test_it_waits_for_its_words_to_be_taken():
    bench = GatherBench(long_scenario(), latency=2, hold=600, abort={0: 300}).run()
    assert check(bench, 0) > 0
    assert check(bench, 1) == 0


def test_a_failed_target_keeps_its_status():
    scenario = long_scenario()
    scenario.faulty = [range(0x8000, 0x8000 + 8000)]
    bench = GatherBench(scenario, latency=20, abort={0: 300}).run()
    found = {status for status, _ in targets(bench.words[0])}
    assert found == {GatherStatus.BUS_ERROR, ABORTED}
    assert bench.done[0].status == ABORTED
    assert check(bench, 1) == 0


def test_nothing_to_give_up():
    """Asked in every clock in which the unit rests."""
    bench = GatherBench(long_scenario(2))
    dut = bench.dut

    async def ask(ctx):
        ctx.set(dut.abort, 1)
        while True:
            await ctx.tick()
            ctx.set(dut.abort, ~ctx.get(dut.busy) & 1)

    bench._abort = ask
    bench.run()
    bench.check()


@pytest.mark.parametrize("stalls", [0, 4])
def test_cancelled_beats_are_not_handed_out_later(stalls):
    """Stretches of which some are cancelled at any clock: requests stay until they are taken."""
    scenario = GatherScenario(size=1 << 14)
    scenario.store_list(0, range(1 << 11), 8)
    axi = Axi4Read(64, 512, 2)
    dut = BurstReader(axi, id=1)
    memory = ReadMemory(dut.axi, scenario, stalls=stalls, latency=4, seed=1)
    rng = random.Random(stalls)

    async def drive(ctx):
        for _ in range(60):
            first, beats = rng.randrange(200), rng.randint(1, 30)
            await put(ctx, dut.stretches, {"address": 64 * first, "beats": beats})
            taken = await collect(ctx, dut.beats, rng.randint(0, beats), Stalls(stalls, seed=3))
            for number, beat in enumerate(taken):
                expected = scenario.image[64 * (first + number) :][:64]
                assert beat.data == int.from_bytes(expected, "little")
            for _ in range(rng.randint(0, 9)):
                await ctx.tick()
            ctx.set(dut.cancel, 1)
            await ctx.tick()
            ctx.set(dut.cancel, 0)

    simulate(dut, drive, background=(memory.serve,), limit_cycles=30_000)
    assert len(memory.requests) < 60 * 4


def explicit_scenario(count, fan_out):
    """Lists of explicit positions: most of what is read is positions."""
    scenario = GatherScenario(size=1 << 14, beat_bytes=8)
    scenario.store_list(0x1000, range(100), 8)
    fields = {"mode": GatherMode.EXPLICIT, "fan_out": fan_out, "degree": 100}
    places = [0x2000 + 4 * fan_out * number for number in range(count)]
    for number, place in enumerate(places):
        positions = ((31 * number + 7 * k) % 100 for k in range(fan_out))
        scenario.store(place, struct.pack(f"<{fan_out}I", *positions))
    descriptors = [
        {**fields, "list_address": 0x1000, "positions_address": place} for place in places
    ]
    scenario.launch(0x200, descriptors)
    scenario.launch(0x200, descriptors[:3])
    return scenario


@pytest.mark.parametrize(("moment", "stalls"), [(60, 0), (150, 1)])
def test_no_positions_are_asked_for_behind_an_abort(moment, stalls):
    scenario = explicit_scenario(10, 90)
    bench = GatherBench(scenario, latency=90, outstanding=4, stalls=stalls, abort={0: moment}).run()
    assert check(bench, 0) > 0
    assert check(bench, 1) == 0
    given, last = bench.aborted[0], bench.done[0].last
    # One burst in the reader, two in the arbiter's queue; three clocks until it is known.
    later = [one for one in bench.memory.requests if given + 3 < one[0] <= last and one[1] == 1]
    assert len(later) <= 3
    assert sum(one[3] for one in bench.memory.requests if one[0] > last and one[1] == 1) == 135


@pytest.mark.parametrize("moment", range(4, 40, 5))
def test_a_fetcher_that_gives_up_makes_positions_up(moment):
    """All cuts get their beats; behind the end positions are read again, and are the right ones."""
    scenario = explicit_scenario(8, 31)
    dut = PositionFetcher(Axi4Read(64, 64, 2), id=1)
    memory = ReadMemory(dut.axi, scenario, stalls=1, latency=6, seed=moment)
    jobs = [
        {"read": 1, "count": 31, "positions_address": 0x2000 + 4 * 31 * number}
        for number in range(8)
    ]
    clock, when = 0, []

    async def count(ctx):
        nonlocal clock
        while True:
            await ctx.tick()
            clock += 1

    async def ask(ctx):
        await feed(ctx, dut.jobs, jobs, Stalls(0, seed=1))

    async def take(ctx):
        while clock < moment:
            await collect(ctx, dut.beats, 1, Stalls(1, seed=2))
        ctx.set(dut.aborting, 1)
        when.append(clock)
        for _ in range(len(jobs)):
            await get(ctx, dut.fetched)
            await get(ctx, dut.cuts)
        made_up = await collect(ctx, dut.beats, 140, Stalls(0, seed=2))
        assert all(beat.error for beat in made_up[-100:])
        ctx.set(dut.aborting, 0)
        when.append(clock)
        for _ in range(60):
            await ctx.tick()
        assert ctx.get(dut.settled)
        assert not ctx.get(dut.beats.valid)
        await put(ctx, dut.jobs, jobs[4])
        place = jobs[4]["positions_address"] // 8
        for number, beat in enumerate(await collect(ctx, dut.beats, 15, Stalls(2, seed=2))):
            expected = int.from_bytes(scenario.read(8 * (place + number), 8), "little")
            assert (beat.data, beat.error) == (expected, 0)

    simulate(dut, ask, take, background=(memory.serve, count), limit_cycles=3000)
    given, ended = when
    assert sum(given + 2 < one[0] <= ended for one in memory.requests) <= 1
