"""The id reader of a lane before a memory that takes and answers in any clock."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, ClockDomain, ClockSignal, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from rtl.axi4 import Axi4Read
from rtl.contract.axi import Response
from rtl.contract.gather import GatherStatus
from rtl.formal.gather import FreeReads
from rtl.formal.monitors import claim_calm, claim_stable, transfers

__all__ = ["ID_AXI", "IdReaderCheck"]

ID_AXI = Axi4Read(64, 64, 1)
COUNT_BITS = 4
WORD_BITS = 3
"""Of an address, in words of 32 bits, that are free."""


class IdReaderCheck(wiring.Component):
    """An id reader that is offered requests, credit and answers, and held up, in any clock.

    A word of the memory is its number; one beat, or none, cannot be read. Beats of an AXI ID come
    in order, those of different IDs in any. A shared request is in the beat of the read before it.
    The model checker chooses which request is followed.

    Claims: outcomes are those of the requests, in order, each once; an id is the one at its
    address, a shared one, too; an error of its beat is told; after ``settle`` clocks without stalls
    and new requests all have come out. A request on the bus is stable.

    Parameters
    ----------
    reader : IdReader
        What is checked; of :data:`ID_AXI`, ``result_words`` 1.
    settle : int
        In clocks.
    """

    clk: In(1)
    offer: In(1)
    word: In(WORD_BITS)
    status: In(2)
    read: In(1)
    shared: In(1)
    wide: In(1)
    end: In(1)
    last: In(1)
    credit: In(1)
    hold: In(1)
    take: In(1)
    answer: In(1)
    choice: In(1)

    def __init__(self, reader, *, settle):
        self._reader = reader
        self._settle = settle
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.reader = reader = self._reader
        m.submodules.reads = reads = FreeReads(ID_AXI)
        wiring.connect(m, reader.axi, reads.axi)
        self._bad, self._is_bad = AnyConst(WORD_BITS - 1), AnyConst(1)
        beat = reads.address[3 : 2 + WORD_BITS]
        m.d.comb += [
            ClockSignal().eq(self.clk),
            reader.credit.eq(self.credit),
            reader.hold.eq(self.hold),
            reads.take.eq(self.take),
            reads.answer.eq(self.answer),
            reads.choice.eq(self.choice),
            reads.data.word_select(0, 32).eq(beat << 1),
            reads.data.word_select(1, 32).eq(beat << 1 | 1),
            reads.resp.eq(Mux(self._fails(beat), Response.SLVERR, Response.OKAY)),
            Assert(reads.axi.r.ready),
        ]
        claim_stable(m, reader.axi.ar)
        self._offer(m, reader.requests)
        self._follow(m, reader)
        return m

    def _fails(self, beat):
        return self._is_bad & (beat == self._bad)

    def _offer(self, m, requests):
        """Requests as the requester makes them; one on offer stays."""
        held, kept, now = Signal(), Signal.like(requests.payload), Signal.like(requests.payload)
        newest, known = Signal(WORD_BITS - 1), Signal()
        beat, word = Signal(WORD_BITS - 1), Signal(WORD_BITS)
        m.d.comb += [
            # A shared one lies where the read before it did.
            now.shared.eq(self.shared & self.read & known),
            beat.eq(Mux(now.shared, newest, self.word[1:])),
            word.eq(beat << 1 | (self.word[0] & ~self.wide)),
            now.address.eq(word << 2),
            now.read.eq(self.read),
            now.status.eq(Mux(self.read, 0, self.status)),
            now.wide.eq(self.wide),
            now.end.eq(self.end),
            now.last.eq(self.end & self.last),
            requests.valid.eq(held | self.offer),
            requests.payload.eq(Mux(held, kept, now)),
        ]
        m.d.sync += [held.eq(requests.valid & ~requests.ready), kept.eq(requests.payload)]
        with m.If(transfers(requests) & requests.payload.read):
            m.d.sync += [known.eq(1), newest.eq(requests.payload.address[3 : 2 + WORD_BITS])]

    def _follow(self, m, reader):
        requests, outcome = reader.requests, reader.outcome
        followed, came, gone = AnyConst(COUNT_BITS), Signal(COUNT_BITS), Signal(COUNT_BITS)
        kept = Signal.like(requests.payload, name="followed_request")
        m.d.sync += [came.eq(came + transfers(requests)), gone.eq(gone + reader.outcome_valid)]
        with m.If(transfers(requests) & (came == followed)):
            m.d.sync += kept.eq(requests.payload)
        calm = ~requests.valid & self.take & self.answer & ~self.hold
        claim_calm(m, calm, self._settle, came == gone)
        word = kept.address[2 : 2 + WORD_BITS]
        fails = self._fails(word[1:])
        with m.If(reader.outcome_valid):
            m.d.comb += Assert(came != gone)
        with m.If(reader.outcome_valid & (gone == followed)):
            m.d.comb += [
                Assert(outcome.read == kept.read),
                Assert(outcome.end == kept.end),
                Assert(outcome.last == kept.last),
            ]
            with m.If(~kept.read):
                m.d.comb += Assert(outcome.status == kept.status)
            with m.Elif(fails):
                m.d.comb += Assert(outcome.status == GatherStatus.BUS_ERROR)
            with m.Else():
                m.d.comb += [
                    Assert(outcome.status == GatherStatus.OK),
                    Assert(outcome.id[:32] == word),
                    Assert(outcome.id[32:] == Mux(kept.wide, word | 1, 0)),
                ]
