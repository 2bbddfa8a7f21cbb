"""The staging writer between requests and a memory that act in any clock."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, ClockDomain, ClockSignal, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.axi import BOUNDARY_BYTES, Burst
from rtl.formal.monitors import claim_stable, transfers

__all__ = ["StagingCheck", "TaggedStorage"]

COUNT_BITS = 6
BEAT_BITS = 3
"""Address bits within a beat."""
ADDRESS_BITS = 6
ADDRESS_BASE = 0xFE0
"""First address; those behind the first beats are in another 4 KB block."""
LENGTH_BITS = 6
TAG_BITS = 2


class TaggedStorage(wiring.Component):
    """In place of the staging memory: what is read at an address is the address.

    Members: those of a ``SimMemory`` that is read.
    """

    read_address: In(32)
    read_enable: In(1)
    read_data: Out(64)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.read_enable):
            m.d.sync += self.read_data.eq(self.read_address)
        return m


class StagingCheck(wiring.Component):
    """A staging writer that is given requests, and whose bus takes and answers, in any clock.

    Requests are of any length up to 63 bytes, at any address around the end of a 4 KB block; one on
    offer stays. A response comes in any clock behind the last beat of its burst, good or bad, and
    stays. The model checker chooses the beat and the request that are followed.

    Claims: bursts are INCR, of whole aligned beats and within a 4 KB block; those of a good request
    are together what it asks for, in order; a bad one, of no or too many bytes or of parts of
    beats, has none. The beats of a burst are those of its place in its slot, each once and in
    order, ``last`` with the last; none comes before its address was taken. Addresses and beats on
    offer are stable. Requests are over in their order, each once and behind its last response, with
    their tag, and ``error`` if bad or if a response was.

    Parameters
    ----------
    writer : StagingWriter
        What is checked; 64 bits, ID of one bit. Its storage is replaced by :class:`TaggedStorage`.
    """

    clk: In(1)
    offer: In(1)
    address: In(ADDRESS_BITS)
    length: In(LENGTH_BITS)
    tag: In(TAG_BITS)
    take_address: In(1)
    take_beat: In(1)
    answer: In(1)
    fails: In(1)

    def __init__(self, writer):
        self._writer = writer
        writer.storage = TaggedStorage()
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.writer = writer = self._writer
        axi = writer.axi
        m.d.comb += [
            ClockSignal().eq(self.clk),
            axi.aw.ready.eq(self.take_address),
            axi.w.ready.eq(self.take_beat),
        ]
        claim_stable(m, axi.aw)
        claim_stable(m, axi.w)
        self._offer(m, writer.requests)
        self._respond(m, axi)
        self._claim_bursts(m, writer)
        self._claim_beats(m, axi.w)
        self._claim_ends(m, writer)
        return m

    def _offer(self, m, requests):
        held, now, kept = Signal(), Signal.like(requests.payload), Signal.like(requests.payload)
        m.d.comb += [
            now.address.eq(ADDRESS_BASE + self.address),
            now.length.eq(self.length),
            now.tag.eq(self.tag),
            requests.valid.eq(held | self.offer),
            requests.payload.eq(Mux(held, kept, now)),
        ]
        m.d.sync += [held.eq(requests.valid & ~requests.ready), kept.eq(requests.payload)]

    def _respond(self, m, axi):
        due, held, failed = Signal(COUNT_BITS), Signal(), Signal()
        ended = transfers(axi.w) & axi.w.payload.last
        self._fails = Signal()
        m.d.comb += [
            axi.b.valid.eq(held | (self.answer & (due != 0))),
            self._fails.eq(Mux(held, failed, self.fails)),
            axi.b.payload.resp.eq(self._fails << 1),
        ]
        m.d.sync += [
            due.eq(due + ended - transfers(axi.b)),
            held.eq(axi.b.valid & ~axi.b.ready),
            failed.eq(self._fails),
        ]

    def _claim_bursts(self, m, writer):
        """What is asked for; which words the followed beat and request are."""
        aw, requests = writer.axi.aw, writer.requests
        given, request = requests.payload, aw.payload
        done, beats, place = Signal(COUNT_BITS), Signal(9), Signal(64)
        base = Signal(COUNT_BITS)
        asked, self._followed = Signal(COUNT_BITS), AnyConst(COUNT_BITS)
        self._asked, self._word, self._last = asked, Signal(32), Signal()
        is_bad = Signal()
        m.d.comb += [
            is_bad.eq(
                (given.length == 0)
                | (given.length > writer.slot_bytes)
                | (given.length[:BEAT_BITS] != 0)
                | (given.address[:BEAT_BITS] != 0)
            ),
            beats.eq(request.len + 1),
            place.eq(given.address + (done << BEAT_BITS)),
            base.eq((given.tag & (writer.slots - 1)) * (writer.slot_bytes >> BEAT_BITS) + done),
        ]
        with m.If(aw.valid):
            m.d.comb += [
                Assert(requests.valid & ~is_bad),
                Assert(request.addr == place),
                Assert(request.size == BEAT_BITS),
                Assert(request.burst == Burst.INCR),
                Assert(request.id == 0),
                Assert(place[:12] + (beats << BEAT_BITS) <= BOUNDARY_BYTES),
            ]
        after = Signal(COUNT_BITS)
        m.d.comb += after.eq(done + Mux(transfers(aw), beats, 0))
        m.d.sync += done.eq(after)
        with m.If(transfers(requests)):
            m.d.sync += done.eq(0)
            m.d.comb += Assert(is_bad | ((after << BEAT_BITS) == given.length))
        with m.If(transfers(aw)):
            behind = Signal(COUNT_BITS)
            m.d.comb += behind.eq(self._followed - asked)
            m.d.sync += asked.eq(asked + beats)
            with m.If((self._followed >= asked) & (behind < beats)):
                m.d.sync += [self._word.eq(base + behind), self._last.eq(behind == beats - 1)]
        self._follow_request(m, writer, is_bad, done == 0)

    def _claim_beats(self, m, w):
        count = Signal(COUNT_BITS)
        with m.If(w.valid):
            m.d.comb += [Assert(count != self._asked), Assert(w.payload.strb.all())]
            with m.If(count == self._followed):
                m.d.comb += [
                    Assert(w.payload.data == self._word),
                    Assert(w.payload.last == self._last),
                ]
        m.d.sync += count.eq(count + transfers(w))

    def _follow_request(self, m, writer, is_bad, is_first):
        """Which bursts are those of the followed request, and what became of them."""
        axi, requests = writer.axi, writer.requests
        self._request, self._came, bursts = (
            AnyConst(COUNT_BITS),
            Signal(COUNT_BITS),
            Signal(COUNT_BITS),
        )
        self._tag, self._bad, self._has_ended = Signal(TAG_BITS), Signal(), Signal()
        begin, self._end, self._answered = (Signal(COUNT_BITS) for _ in range(3))
        self._failed = Signal()
        is_followed = self._came == self._request
        m.d.sync += [
            bursts.eq(bursts + transfers(axi.aw)),
            self._came.eq(self._came + transfers(requests)),
            self._answered.eq(self._answered + transfers(axi.b)),
        ]
        with m.If(is_followed & transfers(axi.aw) & is_first):
            m.d.sync += begin.eq(bursts)
        with m.If(is_followed & transfers(requests)):
            m.d.sync += [
                self._tag.eq(requests.payload.tag),
                self._bad.eq(is_bad),
                self._end.eq(bursts + transfers(axi.aw)),
                self._has_ended.eq(1),
            ]
        is_mine = (self._answered >= begin) & (~self._has_ended | (self._answered < self._end))
        is_begun = self._has_ended | (is_followed & ~is_first)
        self._fails_now = Signal()
        m.d.comb += self._fails_now.eq(
            transfers(axi.b) & is_mine & is_begun & ~self._bad & self._fails
        )
        with m.If(self._fails_now):
            m.d.sync += self._failed.eq(1)

    def _claim_ends(self, m, writer):
        over = Signal(COUNT_BITS)
        m.d.sync += over.eq(over + writer.staged)
        with m.If(writer.staged):
            m.d.comb += Assert(over != self._came)
            with m.If(over == self._request):
                answered = self._answered + transfers(writer.axi.b)
                m.d.comb += [
                    Assert(writer.tag == self._tag),
                    Assert(writer.error == (self._bad | self._failed | self._fails_now)),
                    Assert(self._bad | (answered == self._end)),
                ]
