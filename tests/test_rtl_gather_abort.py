"""A launch that is given up: it ends soon, its targets whole or without ids; the unit goes on."""

import random

import pytest

from rtl.contract.codec import unpack
from rtl.contract.gather import GatherMode, GatherStatus, ResultHeader
from tests.gather_core_bench import GatherBench, header
from tests.scenarios.gather import GatherScenario, Launch, random_scenario, reference

ABORTED = GatherStatus.ABORTED


def targets(words):
    """Result words cut into targets: (status, ids)."""
    cut, place = [], 0
    while place < len(words):
        head = unpack(ResultHeader, words[place].to_bytes(8, "little"))
        cut.append((int(head.status), words[place + 1 : place + 1 + head.count]))
        place += 1 + head.count
    assert place == len(words)
    return cut


def check(bench, number):
    """A given-up launch has the first targets of the reference, each whole or ABORTED."""
    launch = bench.scenario.launches[number]
    expected = targets(reference(bench.scenario, launch)[0])
    found, done = targets(bench.words[number]), bench.done[number]
    assert done.words == len(bench.words[number])
    assert bench.last[number] == [0] * (done.words - 1) + [1]
    if number not in bench.aborted or found == expected:
        assert found == expected
        assert number not in bench.aborted or done.status in (ABORTED, done.status)
        return 0
    assert done.status == ABORTED
    given_up = [place for place, one in enumerate(found) if one == (ABORTED, [])]
    for place, one in enumerate(found):
        assert place in given_up or one == expected[place], place
    assert given_up
    assert len(found) == len(expected) or found[-1] == (ABORTED, [])
    return len(given_up)


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
    given_up = [check(bench, number) for number in range(2 * count)]
    assert sum(n > 0 for n in given_up) > count // 2
    assert not any(given_up[1::2]), "the launch behind is whole"
    for number, clock in bench.aborted.items():
        assert bench.done[number].last < clock + (latency + 40) * (1 + stalls) + 40 * 24


def draws(count, degree=1000, fan_out=40):
    fields = {"mode": GatherMode.DRAW, "fan_out": fan_out, "degree": degree}
    return [{**fields, "list_address": 0x8000, "key": key} for key in range(count)]


def long_scenario(count=500):
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(1000), 8)
    scenario.launch(0x1000, draws(count))
    scenario.launch(0x1000, draws(3))
    return scenario


def test_the_end_does_not_wait_for_descriptors_that_were_not_fetched():
    bench = GatherBench(long_scenario(), latency=20, abort={0: 300}).run()
    assert check(bench, 0) > 0
    assert check(bench, 1) == 0
    assert len(targets(bench.words[0])) < 60
    # What is on the bus, and a clock a position of the jobs between fetcher and requests.
    assert bench.done[0].last - bench.aborted[0] < 20 + 40 * 24
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
    """Asked while the unit rests, and while the end is on offer."""
    scenario = long_scenario(2)
    bench = GatherBench(scenario, abort={0: 100_000})
    dut = bench.dut

    async def ask(ctx):
        ctx.set(dut.abort, 1)
        while True:
            _, _, word, last = await ctx.tick().sample(dut.results.valid, dut.results.payload.last)
            ctx.set(dut.abort, 1 - ctx.get(dut.busy))
            if word and last:
                ctx.set(dut.abort, 1)

    bench._abort = ask
    bench.run()
    bench.check()
