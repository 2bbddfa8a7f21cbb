# amaranth: UnusedElaboratable=no
"""Registers of the descriptor rings, the watch for bad targets, and parameters that cannot be."""

import random
from pathlib import Path

import pytest

from rtl.axi4 import Axi4Write
from rtl.contract.gather import GatherStatus
from rtl.contract.gather_rings import CardRegister, RingError, RingRegister, ring_offset
from rtl.gather.ring_watch import TargetWatch
from rtl.gather.rings import GatherRings
from tests.gather_bench import simulate
from tests.ring_bench import SERVE, START, RingBench, begin, bells, register
from tests.scenarios.gather_rings import Ring, words_of

OK, BAD = GatherStatus.OK, GatherStatus.BAD_DESCRIPTOR

pytestmark = pytest.mark.slow
DOCUMENTATION = Path(__file__).parents[1] / "docs" / "gather.md"


ERRORS = [
    ([register(0, "CONTROL", 0), register(0, "BASE", 0x1_0010), register(0, "CONTROL", 1)],
     RingError.MISALIGNED),
    ([register(0, "CONTROL", 0), register(0, "SIZE", 0), register(0, "CONTROL", 1)],
     RingError.SIZE),
    ([register(0, "CONTROL", 0), register(0, "SIZE", 17), register(0, "CONTROL", 1)],
     RingError.SIZE),
    ([register(0, "CONTROL", 0), register(0, "SIZE", 0x103), register(0, "CONTROL", 1)],
     RingError.SIZE),
    ([register(0, "TAIL", 8)], RingError.BEYOND),
    ([register(0, "TAIL", 0x1_0001)], RingError.BEYOND),
    ([register(0, "CONTROL", 0), register(0, "TAIL", 1)], RingError.DISABLED),
    ([register(0, "CONTROL", 0), register(0, "TAKEN", 0)], RingError.DISABLED),
    ([register(0, "TAKEN", 1)], RingError.NOT_LANDED),
    ([register(0, "TAKEN", 0xFFFF_FFFF)], RingError.NOT_LANDED),
    ([register(0, "BASE", 0)], RingError.BUSY),
    ([register(0, "SIZE", 4)], RingError.BUSY),
    ([(CardRegister.COMPLETION_HEAD, 16)], RingError.BEYOND),
    ([(CardRegister.COMPLETION_BASE, 0)], RingError.BUSY),
    ([(CardRegister.COMPLETION_SIZE, 1)], RingError.BUSY),
    ([(CardRegister.CONTROL, 0), (CardRegister.COMPLETION_BASE, 16), SERVE], RingError.MISALIGNED),
    ([(CardRegister.CONTROL, 0), (CardRegister.COMPLETION_SIZE, 99), SERVE], RingError.SIZE),
    ([(CardRegister.CONTROL, 0), (CardRegister.COMPLETION_HEAD, 1)], RingError.DISABLED),
]  # fmt: skip


@pytest.mark.parametrize(("writes", "error"), ERRORS)
def test_write_that_is_refused(writes, error):
    """It has no effect but the error, which a write clears; an interrupt tells of a ring's."""
    ring = Ring(0x1_0000, 3)
    of_ring = any(offset >= 0x100 for offset, _ in writes)
    status = ring_offset(0, RingRegister.STATUS) if of_ring else CardRegister.COMPLETION_STATUS
    actions = [*begin([ring]), (START, *SERVE)]
    actions += [(100 + n, *write) for n, write in enumerate(writes)]
    actions += [(200, status, 0)]
    bench = RingBench([ring], actions)
    bench.watched = status
    bench.run(until=300)
    assert bench.seen == [RingError.NONE, error, RingError.NONE]
    assert [cause for _, cause in bench.interrupts] == [1 << 16] * of_ring
    assert bench.runs == []


def test_registers_read_as_described():
    ring = Ring(0x1_0000, 3, tail=5)
    bench = RingBench([ring], [*begin([ring]), *bells([ring]), (START, *SERVE)])
    seen = {}

    async def read(ctx):
        for offset in (*CardRegister, *(ring_offset(0, name) for name in RingRegister)):
            seen[int(offset)] = await bench.read(ctx, offset)

    bench.at_rest = read
    bench.run(until=300)
    expected = dict.fromkeys(seen, 0) | {
        CardRegister.IDENTITY: 1 | 4 << 16,
        CardRegister.CONTROL: 1,
        CardRegister.INTERRUPT_ENABLE: 0xFFFF_FFFF,
        CardRegister.INTERRUPT_CAUSE: 1,
        CardRegister.COMPLETION_TAIL: 1,
        ring_offset(0, RingRegister.HEAD): 5,
        ring_offset(0, RingRegister.CONTROL): 1,
        ring_offset(0, RingRegister.LANDED): 10,
    }
    assert seen == expected


def test_every_register_is_in_the_documentation():
    page = DOCUMENTATION.read_text()
    for one in CardRegister:
        assert f"`{one.name}` | 0x{one:03X} |" in page
    for one in RingRegister:
        assert f"`{one.name}` | 0x{one:02X} |" in page


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_watch_finds_the_first_bad_target_whatever_the_transfers(lanes):
    rng = random.Random(lanes)
    for _ in range(6):
        outcomes = [(rng.choice([OK] * 4 + [BAD]), rng.choice([0, 1, 2, 7, 20])) for _ in range(12)]
        bad = [n for n, (status, _) in enumerate(outcomes) if status != OK]
        assert watched(lanes, words_of(outcomes), rng) == (bad[:1] or None)


def watched(lanes, words, rng):
    """The target that a watch finds, in a list; None where there is none."""
    dut, found = TargetWatch(lanes), []

    async def bench(ctx):
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        place = 0
        while place < len(words):
            count = min(rng.randint(0, lanes), len(words) - place)
            for lane in range(lanes):
                # Beyond the count anything may stand.
                word = words[place + lane] if lane < count else rng.getrandbits(64)
                ctx.set(getattr(dut, f"word{lane}"), word)
            ctx.set(dut.count, count)
            place += count
            await ctx.tick()
        found.append([ctx.get(dut.index)] if ctx.get(dut.bad) else None)

    simulate(dut, bench)
    return found[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rings": 17}, "Rings must be 1 to 16, not 17"),
        ({"rings": 0}, "Rings must be 1 to 16, not 0"),
        ({"quantum": 0}, "Quantum must be 1 to 65535, not 0"),
        ({"result_words": 1000}, "Result words must be a power of two, not 1000"),
        (
            {"quantum": 64, "result_words": 16384},
            "Result words must be at least 16448 for a quantum of 64, not 16384",
        ),
        ({"id": 4}, "ID must fit in 2 bits, not 4"),
        ({"lanes": 0}, "Lanes must be at least 1, not 0"),
    ],
)
def test_refuses_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        GatherRings(Axi4Write(64, 512, 2), **change)
