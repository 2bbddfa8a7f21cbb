# amaranth: UnusedElaboratable=no
"""The flash-channel controller's parts as waveforms, and its streams with stalls at every end."""

import random
from dataclasses import replace

import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from rtl.contract.channel import ChannelStatus
from rtl.nand.arbiter import BusArbiter
from rtl.nand.burst import ReadBurst, ReadCapture
from rtl.nand.command_cycles import BusOperationKind, CommandCycles
from rtl.nand.controller import FlashChannelController
from rtl.nand.die import NandDie
from rtl.nand.landing import Landing
from rtl.nand.timing import BusTiming
from tests.nand_bench import completion_fields, write_page
from tests.scenarios.nand import PERIOD_PS, TINY, TINY_TWO_LUNS
from tests.scenarios.nand_reads import Read, bad_fields, page_image

TIMING = BusTiming(TINY, PERIOD_PS)


def simulate(dut, *benches):
    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


def levels(samples):
    return "".join("_-"[sample] for sample in samples)


def record(dut, cycles, names, drive):
    """Levels of one-bit members in each clock, after ``drive(ctx, clock)``."""
    seen = {name: [] for name in names}

    async def bench(ctx):
        for clock in range(cycles):
            drive(ctx, clock)
            for name in names:
                seen[name].append(ctx.get(getattr(dut, name)))
            await ctx.tick()

    simulate(dut, bench)
    return seen


def test_cycles_of_a_poll():
    """78h and three row cycles: WE# low 2 clocks (tCALS), high 1, at the end 2 (tCH)."""
    dut = CommandCycles(TIMING)

    def drive(ctx, clock):
        ctx.set(dut.start, clock == 1)
        ctx.set(dut.operation.kind, BusOperationKind.POLL)
        ctx.set(dut.operation.row, 0x332211)

    seen = record(dut, 19, ["cle", "ale", "we_n", "began", "latched", "done", "dq_oe"], drive)
    assert {name: levels(samples) for name, samples in seen.items()} == {
        "cle": "___---_____________",
        "ale": "______----------___",
        "we_n": "---__-__-__-__-----",
        "began": "__-________________",
        "latched": "______________-____",
        "done": "_______________-___",
        "dq_oe": "___-------------___",
    }


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (BusOperationKind.ISSUE, [0x00, 0xBB, 0xAA, 0x11, 0x22, 0x33, 0x30]),
        (BusOperationKind.TRANSFER, [0x05, 0xBB, 0xAA, 0x11, 0x22, 0x33, 0xE0]),
        (BusOperationKind.POLL, [0x78, 0x11, 0x22, 0x33]),
    ],
)
def test_bytes_latched_by_the_die(kind, expected):
    dut = CommandCycles(TIMING)
    latched, before = [], 1

    async def bench(ctx):
        nonlocal before
        ctx.set(dut.operation.kind, kind)
        ctx.set(dut.operation.row, 0x332211)
        ctx.set(dut.operation.column, 0xAABB)
        for clock in range(40):
            ctx.set(dut.start, clock == 0)
            we_n = ctx.get(dut.we_n)
            if we_n and not before:
                latched.append((ctx.get(dut.dq_o), ctx.get(dut.cle), ctx.get(dut.ale)))
            before = we_n
            await ctx.tick()

    simulate(dut, bench)
    assert [byte for byte, _, _ in latched] == expected
    is_command = [0] if kind is BusOperationKind.POLL else [0, len(expected) - 1]
    assert [cle for _, cle, _ in latched] == [int(n in is_command) for n in range(len(expected))]
    assert all(cle != ale for _, cle, ale in latched)


@pytest.mark.parametrize(
    ("phases", "length", "clocks"),
    [
        (1, 4, [1, 0, 1, 0]),
        (2, 2, [0b01]),
        (2, 6, [0b01] * 3),
        (4, 8, [0b0101] * 2),
        (4, 6, [0b0101, 0b0001]),
    ],
)
def test_burst_asks_for_every_byte(phases, length, clocks):
    """tWHR, then tRPRE low, two levels a pair of bytes, then tRPST low until idle."""
    dut = ReadBurst(TIMING, phases)
    idle = (1 << phases) - 1

    def drive(ctx, clock):
        ctx.set(dut.start, clock == 1)
        ctx.set(dut.is_status, 1)
        ctx.set(dut.length, length)

    # WE# is high from clock 1 on: RE# falls tWHR, 6 clocks, later.
    expected = [idle] * 7 + [0] * 2 + clocks + [0] * 3 + [idle]
    seen = record(dut, len(expected), ["re_n", "done"], drive)
    assert seen["re_n"] == expected
    assert seen["done"] == [0] * (len(expected) - 2) + [1, 0]


@pytest.mark.parametrize(("phases", "length"), [(1, 6), (2, 2), (2, 10), (4, 8), (4, 10)])
def test_capture_takes_the_bytes_at_the_edges(phases, length):
    dut = ReadCapture(phases)
    data = bytes(range(1, length + 1)) + bytes(phases)
    words = [int.from_bytes(data[at : at + phases], "little") for at in range(0, length, phases)]
    taken = []

    async def bench(ctx):
        for clock in range(12 + len(words)):
            ctx.set(dut.start, clock == 1)
            ctx.set(dut.length, length)
            place = clock - 5  # two clocks of preamble, at rest before
            ctx.set(dut.dq_i, 0xEE)
            ctx.set(dut.dqs_i, 0)
            if 0 <= place < len(words):
                left = length - place * phases
                strobe = ~left & 1 if phases == 1 else 0b0101 if left > 2 else 0b01
                ctx.set(dut.dqs_i, strobe & ((1 << phases) - 1))
                ctx.set(dut.dq_i, words[place])
            if ctx.get(dut.valid):
                taken.append((clock, ctx.get(dut.word), ctx.get(dut.last)))
            await ctx.tick()

    simulate(dut, bench)
    assert taken == [(6 + n, word, int(n == len(words) - 1)) for n, word in enumerate(words)]


@pytest.mark.parametrize("luns", [1, 2, 5, 16])
def test_arbiter_serves_classes_in_order_and_luns_in_turn(luns):
    dut = BusArbiter(luns)
    rng = random.Random(luns)

    async def bench(ctx):
        last = {"reads": -1, "polls": -1, "transfers": -1}
        for _ in range(300):
            asked = {name: rng.getrandbits(luns) & -(rng.random() < 0.5) for name in last}
            serve = rng.random() < 0.7
            for name, bits in asked.items():
                ctx.set(getattr(dut, name), bits)
            ctx.set(dut.serve, serve)
            classes = [name for name, bits in asked.items() if bits]
            assert ctx.get(dut.valid) == bool(classes)
            if classes:
                name = classes[0]
                order = [*range(last[name] + 1, luns), *range(last[name] + 1)]
                index = next(lun for lun in order if asked[name] >> lun & 1)
                assert ctx.get(dut.kind) == list(last).index(name)
                assert ctx.get(dut.index) == index
                assert ctx.get(dut.is_tie) == (asked[name].bit_count() > 1)
                assert ctx.get(dut.is_conflict) == (len(classes) > 1)
                if serve:
                    last[name] = index
            await ctx.tick()

    simulate(dut, bench)


@pytest.mark.parametrize("length", [2, 126, 128, 130, 304])
def test_landing_keeps_byte_order_and_slots(length):
    dut = Landing(transfer_bytes=304, slots=2)

    async def bench(ctx):
        for slot in (1, 0, 1):
            data = random.Random(slot).randbytes(length)
            ctx.set(dut.take, 1 << slot)
            await ctx.tick()
            ctx.set(dut.take, 0)
            assert ctx.get(dut.ready) == 0b11 ^ 1 << slot
            for at in range(0, length, 2):
                ctx.set(dut.data.valid, 1)
                ctx.set(dut.data.payload.word, int.from_bytes(data[at : at + 2], "little"))
                ctx.set(dut.data.payload.slot, slot)
                ctx.set(dut.data.payload.last, at + 2 == length)
                await ctx.tick()
            ctx.set(dut.data.valid, 0)
            words = range(slot * dut.slot_words, (slot + 1) * dut.slot_words)
            raw = b"".join(ctx.get(dut.storage.data[n]).to_bytes(128, "little") for n in words)
            assert raw[:length] == data
            ctx.set(dut.free, ctx.get(dut.free) ^ 1 << slot)
            assert not ctx.get(dut.quiet)
            await ctx.tick()
            assert ctx.get(dut.quiet)
            assert ctx.get(dut.ready) == 0b11

    simulate(dut, bench)


class Harness(wiring.Component):
    """Controller and dies, with the controller's streams open."""

    def __init__(self, part, ways, slots):
        self.controller = FlashChannelController(part, period_ps=PERIOD_PS, ways=ways, slots=slots)
        self.dies = [NandDie(part, period_ps=PERIOD_PS, ways=ways) for _ in range(ways)]
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.controller = controller = self.controller
        phy, dies = controller.phy, self.dies
        bus, strobe = 0, 0
        for way, die in enumerate(dies):
            m.submodules[f"die{way}"] = die
            m.d.comb += [die.way.eq(way), die.now.eq(controller.now)]
            m.d.comb += die.phy.ce_n.eq(phy.ce_n[way])
            for name in ("cle", "ale", "we_n", "re_n", "dq_o", "dq_oe"):
                m.d.comb += getattr(die.phy, name).eq(getattr(phy, name))
            bus, strobe = bus | die.phy.dq_i, strobe | die.phy.dqs_i
        m.d.comb += [
            phy.dq_i.eq(bus),
            phy.dqs_i.eq(strobe),
            phy.rb_n.eq(Cat(*(die.phy.rb_n for die in dies))),
        ]
        return m


async def play(ctx, harness, part, reads, stalls, slots, limit=20_000):
    """Drive the streams with pauses drawn from ``stalls``; returns completions and data by tag.

    Commands come whenever the controller takes them, completions are taken late, and a landing
    slot comes back only some time after its completion.
    """
    controller = harness.controller
    waiting, done, data, words, held = list(reads), [], {}, [], None
    numbers, answers, freed = {}, {}, {}
    ctx.set(controller.landing_ready, (1 << slots) - 1)
    for edge in range(limit):
        ctx.set(controller.now, edge)
        for way, lun, row, number in answers.pop(edge, ()):
            toggle = numbers[way, lun] = 1 - numbers.get((way, lun), 0)
            write_page(ctx, harness.dies[way], lun, page_image(part, way, lun, row))
            word = ctx.get(harness.dies[way].array_done) & ~(0xFFFF << 16 * lun)
            ctx.set(harness.dies[way].array_done, word | (number | toggle << 8) << 16 * lun)
        for slot in freed.pop(edge, ()):
            ctx.set(controller.landing_ready, ctx.get(controller.landing_ready) | 1 << slot)
        if waiting and not ctx.get(controller.commands.valid) and stalls.random() < 0.5:
            for name in ("operation", "way", "lun", "row", "column", "length", "tag"):
                ctx.set(getattr(controller.commands.payload, name), getattr(waiting[0], name))
            ctx.set(controller.commands.valid, 1)
        ctx.set(controller.completions.ready, stalls.random() < 0.02)
        took = ctx.get(controller.commands.valid) and ctx.get(controller.commands.ready)
        if ctx.get(controller.completions.valid):
            offered = completion_fields(ctx.get(controller.completions.payload))
            assert held in (None, offered), "a completion must stay until it is taken"
            held = offered
            if ctx.get(controller.completions.ready):
                done.append(offered)
                held = None
                if offered["status"] == ChannelStatus.OK:
                    data[offered["tag"]] = b"".join(words)
                    words = []
                    back = edge + 1 + stalls.randint(0, 600)
                    freed.setdefault(back, []).append(offered["slot"])
        take = ctx.get(controller.landing_take)
        if take:
            assert take & ctx.get(controller.landing_ready) == take
        if ctx.get(controller.data.valid):
            words.append(ctx.get(controller.data.payload.word).to_bytes(2, "little"))
        for die in harness.dies:
            if ctx.get(die.begin_valid):
                begin = ctx.get(die.begin)
                at = edge + 200 + stalls.randint(1, 300)
                place = (int(begin.way), int(begin.lun), int(begin.row), int(begin.number))
                answers.setdefault(at, []).append(place)
        is_quiet = ctx.get(controller.quiet) and ctx.get(controller.wake_edge) > edge
        counters = ctx.get(controller.counters.as_value())
        await ctx.tick()
        if is_quiet:
            assert ctx.get(controller.quiet), "quiet lasts until an input or wake_edge"
            assert ctx.get(controller.counters.as_value()) == counters
        if take:
            ctx.set(controller.landing_ready, ctx.get(controller.landing_ready) & ~take)
        if took:
            waiting.pop(0)
            ctx.set(controller.commands.valid, 0)
        if len(done) == len(reads):
            return done, data
    raise AssertionError(f"{len(done)} of {len(reads)} done at edge {limit}")


@pytest.mark.parametrize("part", [TINY, TINY_TWO_LUNS], ids=lambda part: part.name)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_streams_with_stalls_at_every_end(part, seed):
    """More commands than slots for them, late completions, slots that come back late."""
    rng = random.Random(seed)
    harness = Harness(part, 2, slots=2)
    reads = []
    for tag in range(16):
        read = Read(
            0, rng.randrange(2), rng.randrange(part.luns), rng.randrange(part.rows), 0, 0, tag
        )
        column = 2 * rng.randrange(100)
        read = replace(read, column=column, length=2 * rng.randint(1, 50))
        reads.append(replace(read, **rng.choice(bad_fields(part, 2))) if tag % 4 == 3 else read)

    async def bench(ctx):
        done, data = await play(ctx, harness, part, reads, rng, 2)
        assert sorted(completion["tag"] for completion in done) == list(range(16))
        for completion in done:
            read = reads[completion["tag"]]
            if not read.is_good(part, 2):
                assert completion["status"] == ChannelStatus.BAD_COMMAND
                continue
            raw = data[read.tag]
            image = page_image(part, read.way, read.lun, read.row)
            assert raw == image[read.column : read.column + read.length]
            stamps = ["accepted", "command", "issued", "ready", "transfer", "last"]
            assert sorted(stamps, key=completion.__getitem__) == stamps
        counters = ctx.get(harness.controller.counters)
        assert (int(counters.commands), int(counters.bad_commands)) == (12, 4)
        assert int(counters.transfers) == 12
        assert counters.pending_full > 0
        assert counters.landing_full > 0

    simulate(harness, bench)


@pytest.mark.parametrize("period", [0, 9_999, -2, 1e4, None])
def test_period_is_checked(period):
    message = f"Period must be a positive, even integer of picoseconds, not {period!r}"
    with pytest.raises(TypeError, match=message):
        FlashChannelController(TINY, period_ps=period, ways=1)


@pytest.mark.parametrize("slots", [0, 257, "2"])
def test_slots_are_checked(slots):
    with pytest.raises(ValueError, match=f"Slots must be an integer from 1 to 256, not {slots!r}"):
        FlashChannelController(TINY, period_ps=PERIOD_PS, ways=1, slots=slots)


def test_pages_must_be_addressable():
    with pytest.raises(ValueError, match="A page must be at most 65536 bytes, not 65584"):
        FlashChannelController(replace(TINY, page_bytes=65_536), period_ps=PERIOD_PS, ways=1)
    with pytest.raises(ValueError, match="must fit in 24 address bits"):
        FlashChannelController(
            replace(TINY_TWO_LUNS, blocks_per_lun=1 << 22), period_ps=PERIOD_PS, ways=1
        )
