# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""Front end of the gather unit that serves descriptor rings by turns. Synthesisable."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.contract.gather import MAX_FAN_OUT, GatherDone, GatherLaunch
from rtl.contract.gather_rings import (
    MAX_RINGS,
    RING_BASE,
    RING_LAUNCH,
    RING_STRIDE,
    CardRegister,
    RingRegister,
    RingWrite,
)
from rtl.gather.ring import DescriptorRing, RingRun, RunTally
from rtl.gather.ring_completions import CompletionWriter
from rtl.gather.ring_watch import TargetWatch

__all__ = ["QUANTUM", "GatherRings", "RingPlace", "RingTurns"]

QUANTUM = 64
"""Descriptors of a run, where the front end is not made for another number."""

STRIDE_BITS = (RING_STRIDE - 1).bit_length()
ERRORS = 16
"""First bit of the errors in INTERRUPT_CAUSE."""


class RingPlace(data.Struct):
    """Where results of a launch land: from word ``first`` of the results of ``ring``."""

    ring: 4
    first: 32
    room: 32


class RingTurns(wiring.Component):
    """Picks the next after the one picked last that asks; combinational but for that.

    Members: ``requests`` in; ``take`` in: the pick is carried out; ``valid``, ``index`` out.
    """

    def __init__(self, count):
        self._count = count
        super().__init__(
            {
                "requests": In(count),
                "take": In(1),
                "valid": Out(1),
                "index": Out(range(max(count, 2))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Ones from bit 0 up to the one picked last.
        served = Signal(self._count)
        ahead, field, first = (Signal(self._count) for _ in range(3))
        m.d.comb += [
            self.valid.eq(self.requests != 0),
            ahead.eq(self.requests & ~served),
            field.eq(Mux(ahead != 0, ahead, self.requests)),
            first.eq(field & ~(field - 1)),
        ]
        for number in range(self._count):
            with m.If(first[number]):
                m.d.comb += self.index.eq(number)
        with m.If(self.take):
            m.d.sync += served.eq(first | (first - 1))
        return m


class GatherRings(wiring.Component):
    """Serves up to 16 descriptor rings; see ``rtl.contract.gather_rings`` for what they look like.

    A run of at most ``quantum`` descriptors of one ring is one launch; the next run is of the ring
    that comes next in turn among those that can go on. So a ring waits for at most one run of each
    of the others. A ring whose results have no room for all that a run could give, or whose entry
    waits for a place, does not take part, and keeps nobody else.

    Parameters
    ----------
    axi : Axi4Write
        Signature of the port to the DRAM.
    id : int
        AXI ID of its writes.
    rings : int
        1 to 16.
    quantum : int
        Most descriptors of a run.
    result_words : int
        Room for results of each ring; a power of two, at least what a run can need.
    max_fan_out : int
        That of the core.
    lanes : int
        Result words of a transfer.

    Members
    -------
    writes : In(stream of RingWrite)
        Writes to registers; always taken.
    read_offset, read_value :
        The register at a byte offset; the value shows a clock after the offset.
    launches, done :
        To and from the core.
    place : Out(RingPlace)
        Where results of the launch on offer land.
    abort : Out(1)
        To the core: give up the launch, which is one of these.
    word0, word1, ..., count : In
        Result words of these launches that are handed over in this clock.
    axi : Out(Axi4Write)
        To the DRAM.
    interrupt : Out(1)
        One clock: a bit of ``cause`` was set whose interrupt is enabled.
    cause : Out(32)
        INTERRUPT_CAUSE.
    busy : Out(1)
        Something is under way that waits for nobody outside.
    """

    def __init__(
        self,
        axi,
        *,
        id=0,
        rings=1,
        quantum=QUANTUM,
        result_words=1 << 17,
        max_fan_out=MAX_FAN_OUT,
        lanes=1,
    ):
        if not isinstance(rings, int) or not 1 <= rings <= MAX_RINGS:
            raise ValueError(f"Rings must be 1 to {MAX_RINGS}, not {rings!r}")
        self._quantum = quantum
        self._lanes = lanes
        self._rings = [
            DescriptorRing(quantum=quantum, result_words=result_words, target_words=1 + max_fan_out)
            for _ in range(rings)
        ]
        self._writer = CompletionWriter(axi, id=id)
        self._watch = TargetWatch(lanes)
        super().__init__(
            {
                "writes": In(stream.Signature(RingWrite)),
                "read_offset": In(12),
                "read_value": Out(32),
                "launches": Out(stream.Signature(GatherLaunch)),
                "done": In(stream.Signature(GatherDone)),
                "place": Out(RingPlace),
                "abort": Out(1),
                **{f"word{lane}": In(64) for lane in range(lanes)},
                "count": In(range(lanes + 1)),
                "axi": Out(axi),
                "interrupt": Out(1),
                "cause": Out(32),
                "busy": Out(1),
            }
        )

    @property
    def rings(self):
        return len(self._rings)

    @property
    def quantum(self):
        return self._quantum

    def elaborate(self, platform):
        m = Module()
        for number, ring in enumerate(self._rings):
            m.submodules[f"ring{number}"] = ring
        m.submodules.writer, m.submodules.watch = self._writer, self._watch
        connect(m, self._writer.axi, flipped(self.axi))
        active = self._serve(m)
        posting = self._complete(m)
        enable = Signal(32)
        self._write(m, enable)
        self._read(m, enable)
        m.d.comb += self.busy.eq(
            active
            | posting
            | self._writer.busy
            | self.writes.valid
            | self.interrupt
            | Cat(ring.busy for ring in self._rings).any()
        )
        return m

    def _serve(self, m):
        """Launch runs by turns; returns whether one is under way or could be."""
        rings, watch = self._rings, self._watch
        m.submodules.turns = turns = RingTurns(len(rings))
        number, run = Signal(range(max(len(rings), 2))), Signal(RingRun)
        tally, active = Signal(RunTally), Signal(init=1)
        m.d.comb += [
            turns.requests.eq(Cat(ring.wants for ring in rings)),
            self.launches.payload.descriptor_address.eq(run.address),
            self.launches.payload.count.eq(run.count),
            self.launches.payload.tag.eq(RING_LAUNCH | number),
            self.place.ring.eq(number),
            self.place.first.eq(run.first),
            self.place.room.eq(run.room),
            watch.start.eq(self.launches.valid),
            watch.count.eq(self.count),
            *(getattr(watch, f"word{n}").eq(getattr(self, f"word{n}")) for n in range(self._lanes)),
            *(ring.tally.eq(tally) for ring in rings),
        ]
        with m.FSM():
            with m.State("IDLE"):
                may = turns.valid & self._writer.enabled
                m.d.comb += [active.eq(may), turns.take.eq(may)]
                m.d.sync += number.eq(turns.index)
                with m.If(may):
                    m.d.sync += run.eq(Array(ring.run for ring in rings)[turns.index])
                    m.d.comb += Array(ring.granted for ring in rings)[turns.index].eq(1)
                    m.next = "LAUNCH"
            with m.State("LAUNCH"):
                m.d.comb += self.launches.valid.eq(1)
                with m.If(self.launches.ready):
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += [
                    self.abort.eq(Array(ring.abort for ring in rings)[number]),
                    self.done.ready.eq(1),
                ]
                m.d.sync += [
                    tally.words.eq(self.done.payload.words),
                    tally.status.eq(self.done.payload.status),
                ]
                with m.If(self.done.valid):
                    m.next = "LOOK"
            with m.State("LOOK"):
                m.d.sync += [tally.bad.eq(watch.bad), tally.index.eq(watch.index)]
                m.next = "TELL"
            with m.State("TELL"):
                m.d.comb += Array(ring.over for ring in rings)[number].eq(1)
                m.next = "IDLE"
        return active

    def _complete(self, m):
        """Hand the entries that are due to the writer, by turns; returns whether one is found."""
        rings, entry = self._rings, self._writer.entries
        m.submodules.due = due = RingTurns(len(rings))
        number, held = Signal(range(max(len(rings), 2))), Signal()
        names = ("consumed", "words", "first_bad", "landed", "head", "status", "flags")
        m.d.comb += [
            due.requests.eq(Cat(ring.due for ring in rings)),
            due.take.eq(~held & due.valid),
            entry.valid.eq(held),
            entry.payload.ring.eq(number),
            *(
                entry.payload[name].eq(Array(getattr(ring, name) for ring in rings)[number])
                for name in names
            ),
        ]
        with m.If(due.take):
            m.d.sync += [held.eq(1), number.eq(due.index)]
        with m.If(held & entry.ready):
            m.d.comb += [
                Array(ring.posted for ring in rings)[number].eq(1),
                Array(ring.failed for ring in rings)[number].eq(self._writer.lost),
            ]
            m.d.sync += held.eq(0)
        return due.take

    def _write(self, m, enable):
        """Registers written, and the causes of interrupts."""
        given, writer = self.writes.payload, self._writer
        is_ring = given.offset >= RING_BASE
        ring_number = (given.offset - RING_BASE)[STRIDE_BITS:]
        m.d.comb += [
            self.writes.ready.eq(1),
            writer.write.eq(self.writes.valid & ~is_ring),
            writer.offset.eq(given.offset),
            writer.value.eq(given.value),
        ]
        for number, ring in enumerate(self._rings):
            m.d.comb += [
                ring.write.eq(self.writes.valid & is_ring & (ring_number == number)),
                ring.offset.eq(given.offset[:STRIDE_BITS]),
                ring.value.eq(given.value),
            ]
        cleared, new = Signal(32), Signal(32)
        with m.If(writer.write & (given.offset == CardRegister.INTERRUPT_ENABLE)):
            m.d.sync += enable.eq(given.value)
        with m.If(writer.write & (given.offset == CardRegister.INTERRUPT_CAUSE)):
            m.d.comb += cleared.eq(given.value)
        m.d.comb += [
            *(new[n].eq(ring.posted & ~ring.failed) for n, ring in enumerate(self._rings)),
            *(new[ERRORS + n].eq(ring.erred) for n, ring in enumerate(self._rings)),
        ]
        remaining = self.cause & ~cleared
        m.d.sync += [
            self.cause.eq(remaining | new),
            self.interrupt.eq((new & ~remaining & enable).any()),
        ]

    def _read(self, m, enable):
        """What registers read as."""
        writer, value = self._writer, self.read_value
        with m.Switch(self.read_offset):
            for register, read in (
                (CardRegister.IDENTITY, len(self._rings) | self._quantum << 16),
                (CardRegister.CONTROL, writer.enabled),
                (CardRegister.INTERRUPT_ENABLE, enable),
                (CardRegister.INTERRUPT_CAUSE, self.cause),
                (CardRegister.COMPLETION_TAIL, writer.tail),
                (CardRegister.COMPLETION_HEAD, writer.head),
                (CardRegister.COMPLETION_STATUS, writer.error),
            ):
                with m.Case(register):
                    m.d.sync += value.eq(read)
            for number, ring in enumerate(self._rings):
                for register, read in (
                    (RingRegister.HEAD, ring.head),
                    (RingRegister.CONTROL, ring.enabled),
                    (RingRegister.STATUS, ring.error),
                    (RingRegister.LANDED, ring.landed),
                ):
                    with m.Case(RING_BASE + RING_STRIDE * number + register):
                        m.d.sync += value.eq(read)
            with m.Default():
                m.d.sync += value.eq(0)
