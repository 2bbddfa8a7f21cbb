# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""Error correction of page data on its way from the bus to the landing buffer."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.bch.decoder import BchDecoder
from rtl.contract.channel import STAMP_BITS, ChannelCompletion, ChannelStatus

__all__ = ["Correction", "data_word"]

MOST_FAILED = 255


def data_word(phases, slots):
    """Layout of the data stream: bytes, phase 0 lowest; the landing slot; end of the transfer."""
    return data.StructLayout({"word": 8 * phases, "slot": range(max(2, slots)), "last": 1})


class Correction(wiring.Component):
    """Sends transfers through a :class:`BchDecoder`; their completions wait for their data.

    A transfer's completion comes in after its last word has, and goes out in the clock after that
    word was handed over, with its ``last``, ``corrected`` and ``failed``, and as ``UNCORRECTABLE``
    if a codeword failed. Completions of other commands pass by them, in the clock in which they
    come unless one of a transfer is offered.

    Each transfer holds its landing slot until its completion was taken, so that there are never
    more of them than slots; what is kept of them has room for all.

    Parameters
    ----------
    code, phases, slots, tables
        As in :class:`FlashChannelController`.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    words : In(stream.Signature(data_word(...), always_ready=True))
        As received, without a pause within a transfer.
    is_coded : In(1)
        With each word: the transfer is codewords from its first byte on. If not, it passes as it
        came.
    ended : In(stream.Signature(ChannelCompletion))
        Completions as far as they are known without the data.
    is_transfer : In(1)
        With ``ended``: the words of the transfer have come in before.
    data : Out(stream.Signature(data_word(...), always_ready=True))
        Corrected, parity and layout as received.
    completions : Out(stream.Signature(ChannelCompletion))
    is_corrected, is_failed : Out(1)
        Strobes: a codeword has been corrected; could not be.
    quiet : Out(1)
        No word is inside and no completion waits.
    """

    def __init__(self, code, *, phases, slots, tables=True):
        self._slots = slots
        self._decoder = BchDecoder(code, phases, tag=range(max(2, slots)), tables=tables)
        words = stream.Signature(data_word(phases, slots), always_ready=True)
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "words": In(words),
                "is_coded": In(1),
                "ended": In(stream.Signature(ChannelCompletion)),
                "is_transfer": In(1),
                "data": Out(words),
                "completions": Out(stream.Signature(ChannelCompletion)),
                "is_corrected": Out(1),
                "is_failed": Out(1),
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = self._decoder
        received, result = self.words.payload, decoder.output.payload
        m.d.comb += [
            decoder.input.valid.eq(self.words.valid),
            decoder.input.payload.word.eq(received.word),
            decoder.input.payload.last.eq(received.last),
            decoder.input.payload.tag.eq(received.slot),
            decoder.enable.eq(self.is_coded),
            self.data.valid.eq(decoder.output.valid),
            self.data.payload.word.eq(result.word),
            self.data.payload.slot.eq(result.tag),
            self.data.payload.last.eq(result.last),
            self.is_corrected.eq(decoder.codeword_valid & (decoder.codeword.corrected != 0)),
            self.is_failed.eq(decoder.codeword_valid & decoder.codeword.uncorrectable),
        ]
        decided = self._decide(m, decoder)
        self._merge(m, decided)
        m.d.comb += self.quiet.eq(decoder.quiet & ~decided.valid & ~self.ended.valid)
        return m

    def _decide(self, m, decoder):
        """Completions of transfers whose last word has been handed over, in order."""
        outcome = data.StructLayout({"last": STAMP_BITS, "corrected": 16, "failed": 8})
        decided = stream.Signature(ChannelCompletion).create()
        m.submodules.waiting = waiting = fifo.SyncFIFO(
            width=ChannelCompletion.as_shape().size, depth=self._slots
        )
        m.submodules.outcomes = outcomes = fifo.SyncFIFO(width=outcome.size, depth=self._slots)
        into, out = Signal(outcome), data.View(outcome, outcomes.r_data)
        failed = decoder.transfer.uncorrectable
        # A register, since it chooses what is offered: many bits, far apart.
        is_decided = Signal()
        m.d.sync += is_decided.eq(_holds_next(waiting) & _holds_next(outcomes))
        m.d.comb += [
            waiting.w_data.eq(self.ended.payload),
            waiting.w_en.eq(self.ended.valid & self.is_transfer),
            into.last.eq(self.now),
            into.corrected.eq(decoder.transfer.corrected),
            into.failed.eq(Mux(failed > MOST_FAILED, MOST_FAILED, failed)),
            outcomes.w_data.eq(into),
            outcomes.w_en.eq(decoder.output.valid & decoder.output.payload.last),
            decided.valid.eq(is_decided),
            decided.payload.eq(waiting.r_data),
            decided.payload.last.eq(out.last),
            decided.payload.corrected.eq(out.corrected),
            decided.payload.failed.eq(out.failed),
            waiting.r_en.eq(decided.valid & decided.ready),
            outcomes.r_en.eq(decided.valid & decided.ready),
        ]
        with m.If(out.failed != 0):
            m.d.comb += decided.payload.status.eq(ChannelStatus.UNCORRECTABLE)
        return decided

    def _merge(self, m, decided):
        """Offer transfers first; but a completion that was offered stays until it is taken."""
        is_other, other_first = Signal(), Signal()
        m.d.comb += is_other.eq(
            self.ended.valid & ~self.is_transfer & (other_first | ~decided.valid)
        )
        m.d.sync += other_first.eq(is_other & ~self.completions.ready)
        m.d.comb += [
            self.completions.valid.eq(decided.valid | is_other),
            self.completions.payload.eq(Mux(is_other, self.ended.payload, decided.payload)),
            decided.ready.eq(self.completions.ready & ~is_other),
            self.ended.ready.eq(self.is_transfer | (is_other & self.completions.ready)),
        ]


def _holds_next(queue):
    """Whether the queue, read only when it holds something, will do so in the next clock."""
    return queue.w_en | (queue.level > queue.r_en)
