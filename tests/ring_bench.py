# amaranth: UnusedElaboratable=no
"""The front end of descriptor rings, with a core that answers from a script and a DRAM of bytes."""

import random
from dataclasses import dataclass

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import connect

from rtl.axi4 import Axi4Write
from rtl.contract.codec import unpack
from rtl.contract.gather import GatherStatus
from rtl.contract.gather_rings import (
    RING_LAUNCH,
    CardRegister,
    RingCompletion,
    RingRegister,
    ring_offset,
)
from rtl.gather.axi_checker import AxiWriteChecker
from rtl.gather.rings import GatherRings
from tests.gather_bench import simulate
from tests.scenarios.gather_rings import Run, set_up, words_of

__all__ = [
    "COMPLETIONS",
    "SERVE",
    "START",
    "TARGET_WORDS",
    "RingBench",
    "begin",
    "bells",
    "register",
]

COMPLETIONS = 0x8000
TARGET_WORDS = 9


SERVE = (CardRegister.CONTROL, 1)
START = 60
"""Clock at which rings are served; all registers are written by then."""


def register(ring, name, value):
    return ring_offset(ring, RingRegister[name]), value


def begin(rings, *, completion_log2=4, enable=0xFFFF_FFFF):
    writes = set_up(rings, completions=COMPLETIONS, completion_log2=completion_log2, enable=enable)
    return [(0, *write) for write in writes]


def bells(rings):
    return [(0, *register(number, "TAIL", ring.tail)) for number, ring in enumerate(rings)]


@dataclass
class Place:
    """Where results of a launch were to land."""

    ring: int
    first: int
    room: int


class Wired(wiring.Component):
    """The front end behind the write port's checker."""

    def __init__(self, axi, front):
        self.front = front
        self.checker = AxiWriteChecker(axi)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.front, m.submodules.checker = self.front, self.checker
        connect(m, self.front.axi, self.checker.manager)
        return m


class RingBench:
    """Plays (clock, offset, value) writes; keeps launches, entries, interrupts and their clocks.

    ``rings`` say what each descriptor gives. ``pace`` is most clocks between words; ``stalls`` of
    the DRAM's port; ``refuse`` are numbers of entries that the DRAM answers with an error.
    """

    def __init__(self, rings, writes=(), *, quantum=4, room=256, pace=0, stalls=0, refuse=(),
                 completion_log2=4, seed=0, data_bits=512):  # fmt: skip
        axi = Axi4Write(64, data_bits, 2)
        self.front = GatherRings(
            axi, id=1, rings=len(rings), quantum=quantum, result_words=room,
            max_fan_out=TARGET_WORDS - 1,
        )  # fmt: skip
        self.dut = Wired(axi, self.front)
        self.rings = rings
        self.writes = sorted(writes, key=lambda write: write[0])
        self.size, self._width = 1 << completion_log2, data_bits // 8
        self.runs, self.started, self.ended, self.places = [], [], [], []
        self.entries, self.posted, self.interrupts = [], [], []
        self.words = [[] for _ in rings]
        self.on_entry = lambda fields: []
        """Writes that the host makes once it has seen an entry."""
        self.clock = 0
        self.aborted = []
        self.watched, self.seen = 0, []
        """A register's offset, and the values that it has had."""
        self.at_rest = None
        """Coroutine to run when all has come to rest."""
        self._pace, self._stalls, self._refuse = pace, stalls, set(refuse)
        self._random = random.Random(seed)
        self._answered = 0

    def run(self, until=None, quiet=200, limit=20_000):
        """Run until nothing has happened for ``quiet`` clocks; ``until``: nothing before it."""
        self._quiet, self._until = quiet, until or 0
        simulate(
            self.dut, self._host, background=(self._core, self._dram, self._count),
            limit_cycles=limit,
        )  # fmt: skip
        return self

    async def _count(self, ctx):
        front, checker = self.front, self.dut.checker
        ctx.set(front.read_offset, self.watched)
        while True:
            _, _, interrupt, cause, rule, value = await ctx.tick().sample(
                front.interrupt, front.cause, checker.rule, front.read_value
            )
            if not self.seen or self.seen[-1] != value:
                self.seen.append(value)
            self.clock += 1
            assert rule == 0, f"AXI rule {rule} broken"
            if interrupt:
                self.interrupts.append((self.clock, cause))

    async def _host(self, ctx):
        writes, idle = self.front.writes, 0
        while idle < self._quiet or self.writes or self.clock < self._until:
            due = bool(self.writes) and self.writes[0][0] <= self.clock
            ctx.set(writes.valid, due)
            if due:
                _, offset, value = self.writes.pop(0)
                ctx.set(writes.payload, {"offset": offset, "value": value})
            _, _, busy = await ctx.tick().sample(self.front.busy)
            idle = 0 if busy or due else idle + 1
            ctx.set(writes.valid, 0)
        if self.at_rest is not None:
            await self.at_rest(ctx)

    async def read(self, ctx, offset):
        ctx.set(self.front.read_offset, offset)
        await ctx.tick().repeat(2)
        return ctx.get(self.front.read_value)

    async def _core(self, ctx):
        launches, done = self.front.launches, self.front.done
        while True:
            for _ in range(self._random.randint(0, self._pace)):
                await ctx.tick()
            ctx.set(launches.ready, 1)
            _, _, valid, given, place = await ctx.tick().sample(
                launches.valid, launches.payload, self.front.place
            )
            ctx.set(launches.ready, 0)
            if not valid:
                continue
            number = given.tag & 15
            assert given.tag == RING_LAUNCH | number
            ring = self.rings[number]
            index = (given.descriptor_address - ring.base) // 32
            self.runs.append(Run(number, given.descriptor_address, given.count))
            self.started.append(self.clock)
            assert place.ring == number
            self.places.append(Place(number, place.first, place.room))
            outcomes = [ring.outcome(index + n) for n in range(given.count)]
            status, words = await self._words(ctx, outcomes)
            self.words[number] += words
            ctx.set(done.payload, {"words": len(words), "status": status, "tag": given.tag})
            ctx.set(done.valid, 1)
            while not (await ctx.tick().sample(done.ready))[2]:
                pass
            ctx.set(done.valid, 0)
            self.ended.append(self.clock)

    async def _words(self, ctx, outcomes):
        """Deliver targets one after the other; given up, what is left is one ABORTED target."""
        status, taken = GatherStatus.OK, []
        for number, outcome in enumerate(outcomes):
            for word in words_of([outcome]):
                for _ in range(self._random.randint(0, self._pace)):
                    await ctx.tick()
                await self._word(ctx, word)
                taken.append(word)
            status = status or outcome[0]
            if ctx.get(self.front.abort):
                self.aborted.append((len(self.runs) - 1, number + 1))
                if number + 1 < len(outcomes):
                    (word,) = words_of([(GatherStatus.ABORTED, 0)])
                    await self._word(ctx, word)
                    return GatherStatus.ABORTED, [*taken, word]
        return status, taken

    async def _word(self, ctx, word):
        ctx.set(self.front.word0, word)
        ctx.set(self.front.count, 1)
        await ctx.tick()
        ctx.set(self.front.count, 0)

    async def _dram(self, ctx):
        """Takes addresses and data, keeps the bytes, answers; reads each entry as a host would."""
        bus = self.dut.checker.subordinate
        addresses, size = [], self.size
        while True:
            ctx.set(bus.aw.ready, self._random.randint(0, self._stalls) == 0)
            ctx.set(bus.w.ready, self._random.randint(0, self._stalls) == 0)
            _, _, aw, aw_ready, address, w, w_ready, beat = await ctx.tick().sample(
                bus.aw.valid, bus.aw.ready, bus.aw.payload,
                bus.w.valid, bus.w.ready, bus.w.payload,
            )  # fmt: skip
            if aw and aw_ready:
                assert (address.len, address.size, address.burst, address.id) == (0, 5, 1, 1)
                addresses.append(address.addr)
            if w and w_ready:
                ctx.set(bus.w.ready, 0)
                await self._answer(ctx, bus, addresses.pop(0), beat, size)

    async def _answer(self, ctx, bus, at, beat, size):
        width = self._width
        lane = at % width
        assert beat.strb == 0xFFFF_FFFF << lane
        refused = self._answered in self._refuse
        self._answered += 1
        raw = int(beat.data).to_bytes(width, "little")[lane : lane + 32]
        ctx.set(bus.aw.ready, 0)
        for _ in range(self._random.randint(0, self._stalls)):
            await ctx.tick()
        ctx.set(bus.b.payload, {"resp": 3 if refused else 0, "id": 1})
        ctx.set(bus.b.valid, 1)
        while not (await ctx.tick().sample(bus.b.ready))[2]:
            pass
        ctx.set(bus.b.valid, 0)
        if refused:
            return
        index = (at - COMPLETIONS) // 32
        assert (at - COMPLETIONS) % 32 == 0
        number = len(self.entries)
        assert index == number % size, "entries come in the order of their places"
        view = unpack(RingCompletion, raw)
        assert view.phase == (number // size + 1) % 2
        assert (view.reserved0, view.reserved1, view.reserved2) == (0, 0, 0)
        names = ("ring", "consumed", "words", "first_bad", "landed", "head", "status", "flags")
        fields = {name: int(getattr(view, name)) for name in names}
        self.entries.append(fields)
        self.posted.append(self.clock)
        for delay, offset, value in self.on_entry(fields):
            self.writes.append((self.clock + delay, offset, value))
        self.writes.sort(key=lambda write: write[0])
