"""A small gather unit before a memory that takes requests, and answers them, in any clock."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Cat, ClockDomain, ClockSignal, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from rtl.axi4 import Axi4Read
from rtl.contract.axi import Response
from rtl.contract.gather import DESCRIPTOR_MAGIC, GatherDescriptor, GatherMode
from rtl.formal.monitors import transfers

__all__ = [
    "ADDRESS_BITS",
    "LIST_BIT",
    "MOST_IDS",
    "TABLE",
    "TARGETS",
    "Choice",
    "FreeReads",
    "GatherCheck",
    "Pause",
]

TABLE = 0x0FE0
"""Where descriptors are: a second one is in another 4 KB block."""
LIST_BIT, POSITION_BIT = 16, 17
"""Address bits that tell lists, and explicit positions, from descriptors."""
ADDRESS_BITS = 18
LIST_BASE, POSITION_BASE = 0x10FC0, 0x20FE0
"""First address of a list, and of positions; they go on into another 4 KB block."""
MOST_IDS = 2
TARGETS = 2
CLOCK_BITS, PAUSE_BITS = 7, 2
TAG_BITS, BEAT_BITS = 6, 4
"""Of an address in words, and in beats, that tell all from each other that may be read."""
TABLE_BITS = 5


class Choice(data.Struct):
    """What the model checker chooses of a descriptor; list and positions begin at any word."""

    explicit: 1
    wide: 1
    bad_magic: 1
    fan_out: 2
    degree: 2
    list_word: 4
    positions_word: 3


class Pause(wiring.Component):
    """One pause: from a clock on, and for a number of clocks, that the model checker chooses.

    Members: ``clock`` in; ``goes`` out, low in the pause.
    """

    clock: In(CLOCK_BITS)
    goes: wiring.Out(1)

    def elaborate(self, platform):
        m = Module()
        begin, length = Signal(CLOCK_BITS), Signal(PAUSE_BITS)
        m.d.comb += [
            begin.eq(AnyConst(CLOCK_BITS)),
            length.eq(AnyConst(PAUSE_BITS)),
            self.goes.eq((self.clock < begin) | (self.clock >= begin + length)),
        ]
        return m


class _Flights(wiring.Component):
    """Up to two bursts of an AXI ID: address of the next beat, and whether it ends its burst."""

    put: In(1)
    address: In(ADDRESS_BITS)
    length: In(8)
    beat: In(1)
    room: wiring.Out(1)
    due: wiring.Out(1)
    next: wiring.Out(ADDRESS_BITS)
    last: wiring.Out(1)

    def __init__(self, beat_bytes):
        self._beat_bytes = beat_bytes
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        burst = data.StructLayout({"address": ADDRESS_BITS, "left": 8})
        head, after, level = Signal(burst), Signal(burst), Signal(2)
        ends = Signal()
        m.d.comb += [
            self.room.eq(level != 2),
            self.due.eq(level != 0),
            self.next.eq(head.address),
            self.last.eq(head.left == 0),
            ends.eq(self.beat & self.last),
        ]
        m.d.sync += level.eq(level + self.put - ends)
        with m.If(ends):
            m.d.sync += head.eq(after)
        with m.Elif(self.beat):
            m.d.sync += [
                head.address.eq(head.address + self._beat_bytes),
                head.left.eq(head.left - 1),
            ]
        with m.If(self.put):
            into = Signal()
            m.d.comb += into.eq((level == 0) | ((level == 1) & ends))
            for place, chosen in ((head, into), (after, ~into)):
                with m.If(chosen):
                    m.d.sync += [place.address.eq(self.address), place.left.eq(self.length)]
        return m


class FreeReads(wiring.Component):
    """Answers reads: those of an ID in order, beat by beat, those of different IDs in any order.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.

    Members
    -------
    axi : In(Axi4Read)
        The port. Data and response of a beat are set from outside.
    take, answer, choice : In
        Whether a request is taken, whether a beat is offered, and the ID that goes before others.
    address : Out
        That of the beat on offer.
    """

    def __init__(self, axi):
        self._axi = axi
        super().__init__(
            {
                "axi": In(axi),
                "take": In(1),
                "answer": In(1),
                "choice": In(axi.id_bits),
                "address": wiring.Out(ADDRESS_BITS),
                "data": In(axi.data_bits),
                "resp": In(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ar, r = self.axi.ar, self.axi.r
        flights = [_Flights(self._axi.data_bits // 8) for _ in range(1 << self._axi.id_bits)]
        held, held_id, id = Signal(), Signal(self._axi.id_bits), Signal(self._axi.id_bits)
        room, due = Signal(len(flights)), Signal(len(flights))
        for number in reversed(range(len(flights))):
            with m.If(due[number]):
                m.d.comb += id.eq(number)
        with m.If(due.bit_select(self.choice, 1)):
            m.d.comb += id.eq(self.choice)
        with m.If(held):
            m.d.comb += id.eq(held_id)
        takeable = room.bit_select(ar.payload.id, 1)
        m.d.comb += [
            ar.ready.eq(self.take & takeable),
            r.valid.eq(due.any() & (self.answer | held)),
            r.payload.id.eq(id),
            r.payload.data.eq(self.data),
            r.payload.resp.eq(self.resp),
        ]
        m.d.sync += [held.eq(r.valid & ~r.ready), held_id.eq(id)]
        for number, flight in enumerate(flights):
            m.submodules[f"flight{number}"] = flight
            m.d.comb += [
                room[number].eq(flight.room),
                due[number].eq(flight.due),
                flight.put.eq(transfers(ar) & (ar.payload.id == number)),
                flight.address.eq(ar.payload.addr),
                flight.length.eq(ar.payload.len),
                flight.beat.eq(transfers(r) & (id == number)),
            ]
            with m.If(id == number):
                m.d.comb += [self.address.eq(flight.next), r.payload.last.eq(flight.last)]
        return m


class GatherCheck(wiring.Component):
    """A gather unit before a memory that answers at once, results taken at once, but for pauses.

    Requests, answers, result words and ends each have one pause of up to three clocks, in any clock
    (:class:`Pause`). Launches are always on offer, all of the same descriptors. The model checker
    chooses the pauses, how many descriptors, what is in them (:class:`Choice`), which beat of the
    memory cannot be read, and which AXI ID is answered before others. A word of a list is made of
    its address, a position of its address and a constant.

    Parameters
    ----------
    unit : GatherUnit
        What is checked; of ``max_fan_out`` and ``max_distinct`` 2.
    claim : callable
        ``claim(m, check)`` adds what must hold.
    aborts : bool
        In one clock, which the model checker chooses, the abort input is high.
    """

    clk: In(1)

    def __init__(self, unit, claim, *, aborts=False):
        self.unit = unit
        self._claim = claim
        self._aborts = aborts
        self._axi = Axi4Read(64, unit.axi.r.payload.data.shape().width, len(unit.axi.ar.payload.id))
        self.reads = FreeReads(self._axi)
        self.targets = Signal(range(TARGETS + 1))
        self.choices = [Signal(Choice, name=f"choice{n}") for n in range(TARGETS)]
        self.is_bad, self.bad_beat = Signal(), Signal(BEAT_BITS + 2)
        super().__init__()

    @property
    def beat_bytes(self):
        return self._axi.data_bits // 8

    def fails(self, address):
        """Whether the beat that holds ``address`` cannot be read."""
        low = self.beat_bytes.bit_length() - 1
        beat = Cat(address[low : low + BEAT_BITS], address[LIST_BIT:ADDRESS_BITS])
        return self.is_bad & (beat == self.bad_beat)

    @staticmethod
    def id_word(address):
        """The 32-bit word of a list at ``address``."""
        return address[2 : 2 + TAG_BITS]

    def position(self, address):
        """The explicit position at ``address``."""
        return address[2:4] ^ self._salt

    @staticmethod
    def list_address(choice):
        return LIST_BASE | choice.list_word << 2

    @staticmethod
    def positions_address(choice):
        return POSITION_BASE | choice.positions_word << 2

    @staticmethod
    def degree(choice):
        """A list that is not of explicit positions is taken whole: nothing is drawn."""
        is_free = choice.explicit | (choice.degree < choice.fan_out)
        return Mux(is_free, choice.degree, choice.fan_out)

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.unit = unit = self.unit
        m.submodules.reads = reads = self.reads
        clock = Signal(CLOCK_BITS)
        m.d.sync += clock.eq(clock + 1)
        m.d.comb += [ClockSignal().eq(self.clk), unit.now.eq(clock)]
        if self._aborts:
            m.d.comb += unit.abort.eq(clock == AnyConst(CLOCK_BITS))
        for name, goes in {
            "take": reads.take,
            "answer": reads.answer,
            "results": unit.results.ready,
            "done": unit.done.ready,
        }.items():
            m.submodules[f"{name}_pause"] = pause = Pause()
            m.d.comb += [pause.clock.eq(clock), goes.eq(pause.goes)]
        wiring.connect(m, unit.axi, reads.axi)
        m.d.comb += reads.choice.eq(AnyConst(self._axi.id_bits))
        self._choose(m)
        self._offer(m, unit.launches)
        self._answer(m, reads)
        self._claim(m, self)
        return m

    def _choose(self, m):
        self._salt = AnyConst(2)
        m.d.comb += [
            self.targets.eq(1 + AnyConst(1)),
            self.is_bad.eq(AnyConst(1)),
            self.bad_beat.eq(AnyConst(BEAT_BITS + 2)),
            *(choice.as_value().eq(AnyConst(len(choice.as_value()))) for choice in self.choices),
        ]

    def _offer(self, m, launches):
        number = Signal.like(launches.payload.tag)
        m.d.sync += number.eq(number + transfers(launches))
        m.d.comb += [
            launches.valid.eq(1),
            launches.payload.descriptor_address.eq(TABLE),
            launches.payload.count.eq(self.targets),
            launches.payload.tag.eq(number),
        ]

    def _answer(self, m, reads):
        low = self.beat_bytes.bit_length() - 1
        tables = [Signal(GatherDescriptor, name=f"descriptor{n}") for n in range(TARGETS)]
        for table, choice in zip(tables, self.choices, strict=True):
            m.d.comb += [
                table.magic.eq(DESCRIPTOR_MAGIC ^ choice.bad_magic),
                table.mode.eq(Mux(choice.explicit, GatherMode.EXPLICIT, GatherMode.DRAW_DISTINCT)),
                table.id_log2.eq(2 + choice.wide),
                table.fan_out.eq(choice.fan_out),
                table.degree.eq(self.degree(choice)),
                table.list_address.eq(self.list_address(choice)),
                table.positions_address.eq(self.positions_address(choice)),
            ]
        # The first of them ends its 4 KB block.
        first, second = (table.as_value() for table in tables)
        for lane in range(self._axi.data_bits // 32):
            address = Cat(Const(0, 2), Const(lane, low - 2), reads.address[low:])
            rows = [
                Mux(address[TABLE_BITS], first, second).word_select(number, 32)
                for number in range(8)
            ]
            word = reads.data.word_select(lane, 32)
            m.d.comb += word.eq(Array(rows)[address[2:TABLE_BITS]])
            with m.If(reads.address[LIST_BIT]):
                m.d.comb += word.eq(self.id_word(address))
            with m.Elif(reads.address[POSITION_BIT]):
                m.d.comb += word.eq(self.position(address))
        m.d.comb += reads.resp.eq(Mux(self.fails(reads.address), Response.SLVERR, Response.OKAY))
