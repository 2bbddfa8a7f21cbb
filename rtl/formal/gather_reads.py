"""Burst reader and read arbiter of the gather unit, on a bus that acts in any clock."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Cat, ClockDomain, ClockSignal, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from rtl.axi4 import Axi4Read
from rtl.contract.axi import BOUNDARY_BYTES, Burst
from rtl.formal.monitors import claim_calm, claim_stable, transfers

__all__ = ["ARBITER_AXI", "READ_AXI", "ArbiterCheck", "BurstCheck"]

READ_AXI = Axi4Read(64, 64, 1)
ARBITER_AXI = Axi4Read(4, 32, 2)
BEAT_BITS = 3
"""Address bits within a beat."""
COUNT_BITS = 4
STRETCH_BITS, PLACE_BITS = 3, 10
"""Of the length of a stretch, and of its first beat's number, around the end of a 4 KB block."""
DATA_BITS = 2
"""Of a beat that are free."""


def in_flight(m, axi, answer):
    """Answer beats that are due where ``answer`` is set; returns how many are due."""
    due = Signal(8, name="due_beats")
    asked = Mux(transfers(axi.ar), axi.ar.payload.len + 1, 0)
    m.d.comb += axi.r.valid.eq(answer & (due != 0))
    m.d.sync += due.eq(due + asked - transfers(axi.r))
    return due


class BurstCheck(wiring.Component):
    """A burst reader that is offered stretches and answers, and asked for beats, in any clock.

    Stretches are of 1 to 7 beats, and begin up to 4 KB before or behind the end of a 4 KB block.

    Claims: bursts are INCR, of whole aligned beats, no longer than ``burst``, and within a 4 KB
    block; they are stable; together they are the stretch, in order, before the next one is taken;
    beats come out as they came, each once, with their errors, and never wait on the bus; after
    ``settle`` clocks without stalls and new stretches all have come out. After ``cancel`` no other
    burst is offered than one that is on offer already, and no beat comes out, of those before it,
    from the next clock on; while any may come, no stretch is taken.

    Parameters
    ----------
    reader : BurstReader
        What is checked; AXI ID 1.
    burst, depth : int
        Its parameters.
    settle : int
        In clocks.
    cancels : bool
        ``cancel`` is high in any clock; otherwise never.
    """

    clk: In(1)
    offer: In(1)
    place: In(PLACE_BITS)
    beats: In(STRETCH_BITS)
    cancel: In(1)
    take: In(1)
    answer: In(1)
    word: In(1)
    error: In(1)
    taken: In(1)

    def __init__(self, reader, *, burst, depth, settle, cancels=False):
        self._reader = reader
        self._burst = burst
        self._depth = depth
        self._settle = settle
        self._cancels = cancels
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.reader = reader = self._reader
        ar, r = reader.axi.ar, reader.axi.r
        m.d.comb += [
            ClockSignal().eq(self.clk),
            reader.stretches.valid.eq(self.offer & (self.beats != 0)),
            reader.stretches.payload.address.eq(self.place << BEAT_BITS),
            reader.stretches.payload.beats.eq(self.beats),
            reader.cancel.eq(self.cancel if self._cancels else 0),
            ar.ready.eq(self.take),
            r.payload.data.eq(self.word),
            r.payload.resp.eq(self.error << 1),
            r.payload.id.eq(1),
            reader.beats.ready.eq(self.taken),
            Assert(r.ready),
        ]
        due = in_flight(m, reader.axi, self.answer)
        left = self._claim_bursts(m, reader)
        given_up = self._claim_cancel(m, reader, due)
        self._claim_beats(m, reader, given_up)
        calm = ~self.offer & self.take & (self.answer | (due == 0)) & self.taken & ~reader.cancel
        over = (left == 0) & (due == 0) & ~reader.beats.valid & reader.stretches.ready
        claim_calm(m, calm, self._settle, over)
        return m

    def _claim_bursts(self, m, reader):
        stretches, ar = reader.stretches, reader.axi.ar
        request = ar.payload
        left, next = Signal(STRETCH_BITS), Signal(64)
        count, end = request.len + 1, Signal(16)
        claim_stable(m, ar)
        m.d.comb += end.eq(request.addr[:12] + (count << BEAT_BITS))
        with m.If(transfers(ar)):
            m.d.sync += [left.eq(left - count), next.eq(next + (count << BEAT_BITS))]
        with m.If(transfers(stretches)):
            m.d.comb += Assert(left == 0)
            m.d.sync += [
                left.eq(stretches.payload.beats),
                next.eq(stretches.payload.address),
            ]
        with m.If(reader.cancel):
            # What is on offer stays; all else is given up.
            m.d.sync += left.eq(Mux(ar.valid & ~ar.ready, count, 0))
        with m.If(ar.valid):
            m.d.comb += [
                Assert(request.size == BEAT_BITS),
                Assert(request.burst == Burst.INCR),
                Assert(request.id == 1),
                Assert(request.addr == next),
                Assert(count <= self._burst),
                Assert(count <= left),
                Assert(end <= BOUNDARY_BYTES),
            ]
        return left

    def _claim_cancel(self, m, reader, due):
        """Returns whether what was given up is still waited for."""
        given_up = Signal()
        with m.If(reader.cancel):
            m.d.sync += given_up.eq(1)
        with m.Elif(reader.settled):
            m.d.sync += given_up.eq(0)
        with m.If(given_up):
            m.d.comb += Assert(~reader.beats.valid)
            with m.If(reader.settled):
                m.d.comb += Assert((due == 0) & ~reader.axi.ar.valid)
        with m.If(reader.stretches.ready):
            m.d.comb += Assert(reader.settled)
        return given_up

    def _claim_beats(self, m, reader, given_up):
        r, beats = reader.axi.r, reader.beats
        followed, came, gone = AnyConst(COUNT_BITS), Signal(COUNT_BITS), Signal(COUNT_BITS)
        kept = Signal.like(beats.payload)
        m.d.sync += [came.eq(came + transfers(r)), gone.eq(gone + transfers(beats))]
        with m.If(given_up | reader.cancel):
            m.d.sync += [came.eq(0), gone.eq(0)]
        with m.If(transfers(r) & (came == followed)):
            m.d.sync += [kept.data.eq(r.payload.data), kept.error.eq(r.payload.resp[1])]
        with m.If(~given_up):
            m.d.comb += [
                Assert(beats.valid == (came != gone)),
                Assert((came - gone)[:COUNT_BITS] <= self._depth),
            ]
        with m.If(beats.valid & (gone == followed)):
            m.d.comb += Assert(beats.payload.as_value() == kept.as_value())


class ArbiterCheck(wiring.Component):
    """An arbiter whose ports ask, and whose bus takes requests and gives beats, in any clock.

    The model checker chooses the port that is followed, and which of its requests.

    Claims: requests leave in the order of their port, each once and unchanged; none is on offer
    that no port has made, and one is, as long as one is inside; a request on offer is stable. A
    beat of the bus is at the port that its ID names a clock later, unchanged, and at no other.

    Parameters
    ----------
    arbiter : ReadArbiter
        What is checked, of :data:`ARBITER_AXI`.
    ids : sequence of range
        AXI IDs of each port.
    """

    def __init__(self, arbiter, *, ids):
        self._arbiter = arbiter
        self._ids = ids
        self._ports = ports = len(ids)
        id_bits = ARBITER_AXI.id_bits
        super().__init__(
            {
                "clk": In(1),
                "ask": In(ports),
                "address": In(ARBITER_AXI.address_bits * ports),
                "asked_id": In(id_bits),
                "take": In(1),
                "answer": In(1),
                "id": In(id_bits),
                "data": In(DATA_BITS),
                "error": In(1),
                "last": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.arbiter = arbiter = self._arbiter
        ports = [getattr(arbiter, f"port{number}") for number in range(self._ports)]
        r = arbiter.axi.r
        m.d.comb += [
            ClockSignal().eq(self.clk),
            arbiter.axi.ar.ready.eq(self.take),
            r.valid.eq(self.answer & self._is_known(self.id)),
            r.payload.id.eq(self.id),
            r.payload.data.eq(self.data),
            r.payload.resp.eq(self.error << 1),
            r.payload.last.eq(self.last),
            Assert(r.ready),
        ]
        for number, port in enumerate(ports):
            self._ask(m, number, port.ar)
        self._claim_requests(m, arbiter.axi.ar, [port.ar for port in ports])
        self._claim_beats(m, r, [port.r for port in ports])
        return m

    def _ask(self, m, number, ar):
        """A port keeps to what it has asked for."""
        held, kept, now = (
            Signal(name=f"held{number}"),
            Signal.like(ar.payload),
            Signal.like(ar.payload),
        )
        ids = self._ids[number]
        m.d.comb += [
            now.addr.eq(self.address.word_select(number, ARBITER_AXI.address_bits)),
            now.id.eq(ids.start),
            ar.valid.eq(held | self.ask[number]),
            ar.payload.eq(Mux(held, kept, now)),
        ]
        with m.If(self._is_of(self.asked_id, number)):
            m.d.comb += now.id.eq(self.asked_id)
        m.d.sync += [held.eq(ar.valid & ~ar.ready), kept.eq(ar.payload)]

    def _is_of(self, id, number):
        return (id >= self._ids[number].start) & (id < self._ids[number].stop)

    def _is_known(self, id):
        return Cat(self._is_of(id, number) for number in range(self._ports)).any()

    def _claim_requests(self, m, out, asked):
        inside, entered = Signal(COUNT_BITS), Signal(COUNT_BITS)
        port, followed = AnyConst(range(self._ports)), AnyConst(COUNT_BITS)
        came, gone, kept = Signal(COUNT_BITS), Signal(COUNT_BITS), Signal(out.payload.shape())
        mine = Array(asked)[port]
        claim_stable(m, out)
        m.d.comb += [
            entered.eq(sum(transfers(ar) for ar in asked)),
            Assert(out.valid == (inside != 0)),
            Assert(entered <= 1),
        ]
        m.d.sync += inside.eq(inside + entered - transfers(out))
        enters = Signal()
        m.d.comb += enters.eq(Array([transfers(ar) for ar in asked])[port])
        with m.If(enters):
            m.d.sync += came.eq(came + 1)
            with m.If(came == followed):
                m.d.sync += kept.eq(mine.payload)
        with m.If(out.valid):
            m.d.comb += Assert(self._is_known(out.payload.id))
        is_mine = Array([self._is_of(out.payload.id, number) for number in range(self._ports)])
        with m.If(out.valid & is_mine[port]):
            m.d.comb += Assert(came != gone)
            with m.If(gone == followed):
                m.d.comb += Assert(out.payload.as_value() == kept.as_value())
            with m.If(out.ready):
                m.d.sync += gone.eq(gone + 1)

    def _claim_beats(self, m, r, given):
        valid, before = Signal(), Signal.like(r.payload)
        m.d.sync += [valid.eq(transfers(r)), before.eq(r.payload)]
        for number, port in enumerate(given):
            m.d.comb += Assert(port.valid == (valid & self._is_of(before.id, number)))
            with m.If(port.valid):
                m.d.comb += Assert(port.payload.as_value() == before.as_value())
