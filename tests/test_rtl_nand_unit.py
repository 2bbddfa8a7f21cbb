"""The flash-channel unit against its transaction-level twin, edge by edge."""

from dataclasses import replace

import pytest

from tests.nand_bench import UnitBench
from tests.scenarios.nand import TINY, TINY_SDR, TINY_TWO_LUNS, ChannelTwin
from tests.scenarios.nand_reads import Read, bad_fields, page_image, random_reads, saturating_reads

CHANNELS = {
    "one die": (TINY, 1),
    "three ways": (TINY, 3),
    "two LUNs a way": (TINY_TWO_LUNS, 2),
}


def play(part, ways, reads, **options):
    """Run bench and twin; everything that both know must be equal, and no rule broken."""
    stopping = options.pop("stopping", False)
    bench = UnitBench(part, ways, stopping=stopping, **options)
    twin = ChannelTwin(part, ways, **options)
    assert bench.run(reads) == twin.run(reads)
    assert bench.violations == []
    assert bench.begins == twin.begins
    assert {name: bench.counters[name] for name in twin.counters} == twin.counters
    for read in reads:
        if read.is_good(part, ways):
            image = page_image(part, read.way, read.lun, read.row)
            assert bench.data[read.tag] == image[read.column : read.column + read.length], read
        else:
            assert read.tag not in bench.data
    return bench


def test_one_page_takes_the_time_of_the_data_sheet():
    """Every stamp of one read, added up by hand from TINY's times at 10 ns a clock."""
    read = Read(edge=8, way=0, lun=0, row=5, column=6, length=100, tag=0x1234)
    bench = UnitBench(TINY, 1)
    accepted = 8 + 2  # one edge in the mailbox, one to be checked
    # Asked, chosen, looked up, begun; then CE# low one clock before WE#: tCS 3, tWP 2.
    command = accepted + 4 + 1
    # Seven WE# pulses of 2 + 1 clocks (tCALS 15 ns, tWC 25 ns); the die latches one edge later.
    issued = command + 2 + 6 * 3 + 1
    begin = issued + 10  # tWB
    ready = begin + 200 + 1  # tR 2003 ns: the first edge strictly after it
    transfer = ready + 4 + 1  # asked, chosen, looked up, begun; CE#
    rising = transfer + 2 + 6 * 3
    first_data = rising + 10 + 2  # tCCS, then tRPRE
    last = first_data + 49 + 1 + 3 + 1  # 50 words, on the bus, tDQSRE, captured and handed over
    assert bench.run([read]) == [
        {
            "tag": 0x1234,
            "status": 0,
            "slot": 0,
            "accepted": accepted,
            "command": command,
            "issued": issued,
            "ready": ready,
            "transfer": transfer,
            "last": last,
            "polls": 0,
            "edge": last + 1,
        }
    ]
    assert bench.begins == [(begin, 0, 0, 5)]
    assert bench.data[0x1234] == page_image(TINY, 0, 0, 5)[6:106]
    assert bench.violations == []


def test_status_polls_come_at_the_times_of_the_part():
    """Polled LUN: first poll 150 clocks after 30h, the next 34 after that, until tR is over."""
    part = replace(TINY_TWO_LUNS, poll_period_ps=340_000)
    read = Read(edge=8, way=0, lun=1, row=2, column=0, length=2, tag=7)
    bench = UnitBench(part, 1)
    (done,) = bench.run([read])
    issued = 10 + 5 + 2 + 6 * 3 + 1
    polls = [issued + 150, issued + 184, issued + 218, issued + 252]
    array_ready = issued + 10 + 200 + 1
    # Three clocks to begin, CE#; 78h and three row cycles; tWHR, tRPRE; the die looks up its status
    # two clocks later.
    looks = [poll + 3 + 1 + 2 + 3 * 3 + 6 + 2 + 3 for poll in polls]
    first_ready = next(n for n, look in enumerate(looks) if look >= array_ready)
    assert (done["issued"], done["polls"]) == (issued, first_ready + 1)
    assert done["ready"] == looks[first_ready] + 2
    assert bench.counters["polls"] == first_ready + 1
    assert bench.counters["polls_busy"] == first_ready
    assert bench.violations == []


def test_each_kind_of_bad_command_is_refused_alone():
    """Every one-field fault of a good command, with good ones at the limits between them."""
    good = Read(edge=3, way=1, lun=0, row=TINY.rows - 1, column=302, length=2, tag=0)
    faults = [replace(good, **fields) for fields in bad_fields(TINY, 2)]
    reads = [good, *faults, replace(good, column=0, length=304)]
    reads = [replace(read, edge=3 + tag, tag=tag) for tag, read in enumerate(reads)]
    bench = play(TINY, 2, reads)
    assert bench.counters["commands"] == 2
    assert bench.counters["bad_commands"] == len(faults)


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.slow
def test_random_reads_are_those_of_the_twin(channel, seed):
    part, ways = CHANNELS[channel]
    bench = play(part, ways, random_reads(seed, part, ways, count=8, bad=0.25))
    assert bench.counters["commands"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("channel", CHANNELS)
def test_many_random_reads_are_those_of_the_twin(channel, seed):
    part, ways = CHANNELS[channel]
    play(part, ways, random_reads(seed, part, ways, count=60))


@pytest.mark.slow
@pytest.mark.parametrize("phases", [1, 4])
def test_one_byte_a_clock_and_four(phases):
    play(TINY, 2, random_reads(4, TINY, 2, count=16), phases=phases)
    play(TINY_TWO_LUNS, 1, random_reads(4, TINY_TWO_LUNS, 1, count=12), phases=phases)


@pytest.mark.slow
@pytest.mark.parametrize("luns", [1, 2])
@pytest.mark.parametrize("stopping", [False, True])
def test_a_byte_a_pulse(luns, stopping):
    part = replace(TINY_SDR, luns=luns)
    ways = 3 - luns
    reads = random_reads(6, part, ways, count=8, spacing=400)
    play(part, ways, reads, phases=1, stopping=stopping)


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.slow
def test_stopped_clock_changes_nothing(channel):
    part, ways = CHANNELS[channel]
    reads = random_reads(5, part, ways, count=8, spacing=400)
    stopped = play(part, ways, reads, stopping=True)
    assert stopped.counters["clock_stops"] >= 3
    assert len(stopped.edges) < 0.9 * stopped.edges[-1]


@pytest.mark.slow
def test_short_turn_round():
    """Where tRHW is over early, the bus still waits for the status byte before it decides."""
    part = replace(TINY_TWO_LUNS, t_rhw_ps=10_000, t_rpst_ps=10_000)
    play(part, 2, random_reads(6, part, 2, count=8))


@pytest.mark.slow
def test_every_kind_of_waiting_is_reached():
    """A slow taker of landed data, one slot: ties, conflicts, pending commands, full landing."""
    reads = saturating_reads(TINY_TWO_LUNS, 2, rounds=2)
    bench = play(TINY_TWO_LUNS, 2, reads, slots=1, free_delay=700, stopping=True)
    of_others = {"bad_commands", "programs", "erases", "failed", "timeouts"}
    of_others |= {"corrected", "uncorrectable", "suspends"}
    assert min(bench.counters[name] for name in bench.counters.keys() - of_others) > 0


@pytest.mark.slow
def test_saturated_bus_is_nearly_always_busy():
    """One LUN a way: what a page costs beside its data is two command sequences and tCCS."""
    part = replace(TINY, page_bytes=2048, t_r_ps=10_000_000)
    bench = UnitBench(part, 4)
    done = bench.run(saturating_reads(part, 4, rounds=2))
    span = done[-1]["last"] - done[0]["last"]
    data = (len(done) - 1) * part.raw_page_bytes // 2
    overhead = (span - data) / (len(done) - 1)
    assert overhead < 2 * 7 * 3 + 10 + 40
