"""Writes completion entries to their ring in the DRAM, one at a time."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.axi import Burst
from rtl.contract.gather_rings import (
    COMPLETION_BYTES,
    MAX_SIZE_LOG2,
    CardRegister,
    RingCompletion,
    RingError,
)
from rtl.gather.ring_place import RingPlace

__all__ = ["CompletionWriter"]

ENTRY_SHIFT = (COMPLETION_BYTES - 1).bit_length()


class CompletionWriter(wiring.Component):
    """The completion ring: its registers, and a write of one beat for each entry.

    An entry waits while the ring is full. Its index moves on when the DRAM has answered.

    Parameters
    ----------
    axi : Axi4Write
        Signature of the port.
    id : int
        AXI ID of all writes.

    Members
    -------
    write, offset, value : In
        A write to a register of :class:`CardRegister`; those that are not the ring's are ignored.
    enabled : Out(1)
        Rings are served.
    tail, head, error : Out
        What the registers read as.
    entries : In(stream of RingCompletion)
        Entries, ``phase`` left open; taken when one is written or lost.
    lost : Out(1)
        The entry that is taken was refused by the DRAM.
    axi : Out(Axi4Write)
        To the DRAM.
    busy : Out(1)
        An entry is on its way, or could be.
    """

    def __init__(self, axi, *, id):
        if not 0 <= id < 1 << axi.id_bits:
            raise ValueError(f"ID must fit in {axi.id_bits} bits, not {id!r}")
        self._axi = axi
        self._id = id
        super().__init__(
            {
                "write": In(1),
                "offset": In(12),
                "value": In(32),
                "enabled": Out(1),
                "tail": Out(MAX_SIZE_LOG2),
                "head": Out(MAX_SIZE_LOG2),
                "error": Out(8),
                "entries": In(stream.Signature(RingCompletion)),
                "lost": Out(1),
                "axi": Out(axi),
                "busy": Out(1),
            }
        )
        self._place = RingPlace(ENTRY_SHIFT)
        self._phase, self._is_writing = Signal(), Signal()

    def elaborate(self, platform):
        m = Module()
        self._post(m)
        error = Signal(RingError)
        with m.If(self.write):
            self._registers(m, error)
        with m.If((error != RingError.NONE) & (self.error == RingError.NONE)):
            m.d.sync += self.error.eq(error)
        return m

    def _registers(self, m, error):
        value = self.value
        with m.Switch(self.offset):
            registers = (
                CardRegister.COMPLETION_BASE,
                CardRegister.COMPLETION_BASE_HIGH,
                CardRegister.COMPLETION_SIZE,
            )
            self._place.cases(m, registers, value, error, locked=self.enabled | self._is_writing)
            with m.Case(CardRegister.COMPLETION_HEAD):
                with m.If(~self.enabled):
                    m.d.comb += error.eq(RingError.DISABLED)
                with m.Elif(value > self._place.last):
                    m.d.comb += error.eq(RingError.BEYOND)
                with m.Else():
                    m.d.sync += self.head.eq(value)
            with m.Case(CardRegister.COMPLETION_STATUS):
                m.d.sync += self.error.eq(RingError.NONE)
            with m.Case(CardRegister.CONTROL):
                self._control(m, error)

    def _control(self, m, error):
        with m.If(~self.value[0]):
            m.d.sync += self.enabled.eq(0)
        with m.Elif(~self.enabled):
            with self._place.enabling(m, error, busy=self._is_writing):
                m.d.sync += [
                    self.enabled.eq(1),
                    Cat(self.tail, self.head).eq(0),
                    self._phase.eq(1),
                ]

    def _post(self, m):
        aw, w, b, entry = self.axi.aw, self.axi.w, self.axi.b, self.entries
        beat_bytes = self._axi.data_bits // 8
        each = beat_bytes // COMPLETION_BYTES
        full, word = Signal(), Signal(RingCompletion)
        address = Signal(64)
        lane = address[ENTRY_SHIFT : beat_bytes.bit_length() - 1]
        m.d.comb += [
            full.eq(((self.tail + 1) & self._place.last) == self.head),
            word.eq(entry.payload),
            word.phase.eq(self._phase),
            address.eq(self._place.address(self.tail)),
            aw.payload.addr.eq(address),
            aw.payload.size.eq(ENTRY_SHIFT),
            aw.payload.burst.eq(Burst.INCR),
            aw.payload.id.eq(self._id),
            w.payload.data.eq(word.as_value().replicate(each)),
            w.payload.strb.word_select(lane, COMPLETION_BYTES).eq((1 << COMPLETION_BYTES) - 1),
            w.payload.last.eq(1),
        ]
        with m.FSM():
            with m.State("IDLE"):
                may = entry.valid & self.enabled & ~full
                m.d.comb += self.busy.eq(may)
                with m.If(may):
                    m.next = "ADDRESS"
            with m.State("ADDRESS"):
                m.d.comb += [self.busy.eq(1), self._is_writing.eq(1), aw.valid.eq(1)]
                with m.If(aw.ready):
                    m.next = "DATA"
            with m.State("DATA"):
                m.d.comb += [self.busy.eq(1), self._is_writing.eq(1), w.valid.eq(1)]
                with m.If(w.ready):
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += [
                    self.busy.eq(1),
                    self._is_writing.eq(1),
                    b.ready.eq(1),
                    entry.ready.eq(b.valid),
                    self.lost.eq(b.valid & b.payload.resp[1]),
                ]
                with m.If(b.valid):
                    m.next = "IDLE"
                    with m.If(~self.lost):
                        m.d.sync += self.tail.eq((self.tail + 1) & self._place.last)
                        with m.If(self.tail == self._place.last):
                            m.d.sync += self._phase.eq(~self._phase)
