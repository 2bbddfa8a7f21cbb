"""A flash channel with an ECC decoder: what comes back, when, and what the bus does meanwhile."""

import random
from dataclasses import replace

import numpy as np
import pytest
from amaranth.sim import Simulator

from rtl.contract.bch import BchCode
from rtl.contract.channel import ChannelStatus
from rtl.nand.correction import Correction
from tests.nand_bench import FIELDS, UnitBench
from tests.scenarios.bch import codewords, weights
from tests.scenarios.nand import TINY, TINY_TWO_LUNS
from tests.scenarios.nand_reads import Read, page_image

pytestmark = pytest.mark.slow

CODE = BchCode(m=9, t=3, chunk_bytes=44)
SIZE = CODE.codeword_bytes
PAGE_CODEWORDS = TINY.raw_page_bytes // SIZE
RAW_CLOCKS = 8
"""Through the decoder, of a word that is no codeword's."""


def latency(phases=2):
    """Clocks through the decoder: a codeword in, 4 t + 2 for its locator, five registers."""
    return SIZE // phases + 4 * CODE.t + 6 + 6


def clean_image(part, way, lun, row):
    """Codewords, then fill."""
    whole = codewords(CODE, PAGE_CODEWORDS, seed=(way * part.luns + lun) * part.rows + row)
    return whole.tobytes() + page_image(part, way, lun, row)[whole.size :]


def errors_of(part, way, lun, row):
    """Wrong bits of each codeword of a page: 0 to one more than can be corrected."""
    return (np.arange(PAGE_CODEWORDS) + row + way + lun) % (CODE.t + 2)


def dirty_image(part, way, lun, row):
    clean = clean_image(part, way, lun, row)
    whole = np.frombuffer(clean[: PAGE_CODEWORDS * SIZE], np.uint8).reshape(-1, SIZE)
    wrong = weights(CODE, whole, errors_of(part, way, lun, row), seed=row + 1)
    return wrong.tobytes() + clean[wrong.size :]


def unit_bench(part=TINY, ways=1, **options):
    options = {"code": CODE, "image": dirty_image} | options
    return UnitBench(part, ways, fields=(*FIELDS, "received", "corrected", "failed"), **options)


def read(*, edge=8, first=0, count=1, **fields):
    fields = {"way": 0, "lun": 0, "row": 5, "tag": 1} | fields
    return Read(edge=edge, column=first * SIZE, length=count * SIZE, **fields)


def check(bench, reads):
    """Play ``reads``; whatever can be corrected is, and the rest is said."""
    part = bench.part
    found = {done["tag"]: done for done in bench.run(reads)}
    assert bench.violations == []
    for one in reads:
        place = (part, one.way, one.lun, one.row)
        span = slice(one.column, one.column + one.length)
        first, count = one.column // SIZE, one.length // SIZE
        errors = errors_of(*place)[first : first + count]
        good = errors <= CODE.t
        done = found[one.tag]
        if one.is_raw:
            assert bench.data[one.tag] == dirty_image(*place)[span]
            assert (done["status"], done["corrected"], done["failed"]) == (0, 0, 0)
            continue
        for number in range(count):
            word = slice(number * SIZE, (number + 1) * SIZE)
            if good[number]:
                assert bench.data[one.tag][word] == clean_image(*place)[span][word]
        assert done["corrected"] == errors[good].sum()
        assert done["failed"] == (~good).sum()
        expected = ChannelStatus.OK if good.all() else ChannelStatus.UNCORRECTABLE
        assert done["status"] == expected
        assert done["last"] == done["received"] + latency(bench.phases)
    return found


def random_reads(seed, part, ways, count, spacing=100):
    """Whole codewords from any of a page, one in four raw."""
    rng = random.Random(seed)
    reads, edge = [], 8
    for tag in range(count):
        edge += rng.randint(1, spacing)
        first = rng.randrange(PAGE_CODEWORDS)
        reads.append(
            read(
                edge=edge,
                tag=tag,
                way=rng.randrange(ways),
                lun=rng.randrange(part.luns),
                row=rng.randrange(part.rows),
                first=first,
                count=rng.randint(1, PAGE_CODEWORDS - first),
                is_raw=int(rng.random() < 0.25),
            )
        )
    return reads


@pytest.mark.parametrize("phases", [1, 2])
def test_a_page_is_corrected_a_fixed_time_after_it_was_read(phases):
    bench = unit_bench(phases=phases)
    done = check(bench, [read(count=PAGE_CODEWORDS)])[1]
    assert done["edge"] == done["last"] + 1
    assert done["failed"] > 0
    assert bench.counters["corrected"] == sum(
        0 < errors <= CODE.t for errors in errors_of(TINY, 0, 0, 5)
    )
    assert bench.counters["uncorrectable"] == done["failed"]


def test_the_bus_is_the_same_with_and_without_a_decoder():
    reads = [read(tag=tag, way=tag, edge=8 + tag) for tag in range(3)]
    plain = {done["tag"]: done for done in unit_bench(ways=3, slots=3, code=None).run(reads)}
    found = check(unit_bench(ways=3, slots=3), reads)
    for tag, done in found.items():
        for name in ("accepted", "command", "issued", "ready", "transfer", "received"):
            assert done[name] == plain[tag][name], name
        assert plain[tag]["last"] == plain[tag]["received"]
    assert found[1]["transfer"] < found[0]["last"]


def test_a_raw_read_passes_as_it_came():
    done = check(unit_bench(), [read(is_raw=1)])[1]
    assert done["last"] == done["received"] + RAW_CLOCKS


def test_a_landing_slot_is_not_used_again_before_its_data_has_come():
    reads = [read(tag=tag, way=tag, edge=8 + tag) for tag in range(2)]
    found = check(unit_bench(ways=2, slots=1, free_delay=1), reads)
    assert found[1]["transfer"] > found[0]["edge"]


def test_a_refused_command_does_not_wait_for_the_decoder():
    bench = unit_bench()
    good = read(count=PAGE_CODEWORDS)
    alone = unit_bench().run([good])[0]
    bad = replace(good, tag=2, way=1, edge=alone["received"] + 1)
    completions = bench.run([good, bad])
    assert [done["tag"] for done in completions] == [2, 1]
    assert completions[0]["status"] == ChannelStatus.BAD_COMMAND
    assert completions[1] == alone


@pytest.mark.parametrize("gap", [-1, 0])
def test_completions_of_one_moment_come_one_an_edge(gap):
    good = read()
    (alone,) = unit_bench().run([good])
    (bad,) = unit_bench().run([replace(good, way=1)])
    edge = good.edge + alone["edge"] - bad["edge"] + gap
    completions = unit_bench().run([good, replace(good, tag=2, way=1, edge=edge)])
    assert sorted(done["tag"] for done in completions) == [1, 2]
    assert completions[0]["edge"] < completions[1]["edge"] <= completions[0]["edge"] + 2


def test_a_completion_that_was_offered_stays_until_it_is_taken():
    """One of another command is offered first, then a transfer's; neither is taken for long."""
    dut = Correction(CODE, phases=2, slots=1)
    words = codewords(CODE, 1, seed=1).tobytes()
    offered, taken = [], []

    async def bench(ctx):
        ctx.set(dut.is_coded, 1)
        for clock in range(3 * latency()):
            index = 2 * clock
            ctx.set(dut.words.valid, index < SIZE)
            ctx.set(dut.words.payload.word, int.from_bytes(words[index : index + 2], "little"))
            ctx.set(dut.words.payload.last, index == SIZE - 2)
            ctx.set(dut.is_transfer, index == SIZE)
            ctx.set(dut.ended.payload.tag, 1 if index == SIZE else 2)
            ctx.set(dut.ended.valid, index == SIZE or (index > SIZE and 2 not in taken))
            ctx.set(dut.completions.ready, clock >= 2 * latency())
            if ctx.get(dut.completions.valid):
                offered.append(ctx.get(dut.completions.payload.tag))
                if ctx.get(dut.completions.ready):
                    taken.append(offered[-1])
            await ctx.tick()
        assert ctx.get(dut.quiet)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert taken == [2, 1]
    assert offered == [2] * (len(offered) - 1) + [1]
    assert len(offered) > latency()


@pytest.mark.parametrize("stopping", [False, True])
@pytest.mark.parametrize(("part", "ways"), [(TINY, 3), (TINY_TWO_LUNS, 2)])
def test_random_reads(part, ways, stopping):
    reads = random_reads(7, part, ways, count=24)
    check(unit_bench(part, ways, slots=3, stopping=stopping), reads)


def test_stopped_clock_changes_nothing():
    reads = random_reads(8, TINY, 2, count=10, spacing=800)
    running, stopped = (unit_bench(ways=2, stopping=stopping) for stopping in (False, True))
    assert check(stopped, reads) == check(running, reads)
    assert stopped.counters["clock_stops"] >= 3
    for bench in (running, stopped):
        del bench.counters["clock_stops"]
    assert stopped.counters == running.counters
