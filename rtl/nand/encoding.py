# amaranth: UnusedElaboratable=no
# (The encoder is made in the constructor, which must refuse what it refuses.)
"""Parity for page data on its way from the launch buffer to the bus."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.bch.encoder import BchEncoder
from rtl.contract.page import FILL

__all__ = ["Encoding"]


class Encoding(wiring.Component):
    """Makes codewords of a transfer's chunks, through a :class:`BchEncoder`, or lets it pass.

    Of a coded transfer the launch slot has the chunks alone, one after the other. As many codewords
    as fit into ``length`` bytes leave, and FILL behind them. Its reader takes all of ``length``,
    without a pause once it has begun. What passes as it is does so in the same clock; a coded
    transfer begins one clock after its first word came.

    Parameters
    ----------
    code : BchCode
    phases : int
        Bytes of a word: 1, 2 or 4.
    tables : bool
        As of the :class:`BchEncoder`.

    Members
    -------
    start : In(1)
        Strobe: a transfer begins; no word of it comes before the next clock.
    is_coded : In(1)
        With ``start``: the transfer is chunks.
    length : In(16)
        With ``start``: bytes of the transfer on the bus.
    launch : In(stream.Signature(8 * phases))
        As from the launch buffer.
    data : Out(stream.Signature(8 * phases))
        As the bus takes it.

    Raises
    ------
    ValueError
        As from the :class:`BchEncoder`.
    """

    def __init__(self, code, *, phases, tables=True):
        self._code = code
        self._phases = phases
        self._encoder = BchEncoder(code, phases, tables=tables)
        words = stream.Signature(8 * phases)
        super().__init__(
            {
                "start": In(1),
                "is_coded": In(1),
                "length": In(16),
                "launch": In(words),
                "data": Out(words),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.encoder = encoder = self._encoder
        chunks, codewords = encoder.chunks, encoder.codewords
        coded, more, filling = Signal(), Signal(), Signal()
        m.d.comb += [
            chunks.valid.eq(more & self.launch.valid),
            chunks.payload.word.eq(self.launch.payload),
            codewords.ready.eq(self.data.ready & ~filling),
        ]
        with m.If(coded):
            fill = Const(FILL, 8).replicate(self._phases)
            m.d.comb += [
                self.launch.ready.eq(more & chunks.ready),
                self.data.valid.eq(codewords.valid | filling),
                self.data.payload.eq(Mux(filling, fill, codewords.payload.word)),
            ]
        with m.Else():
            wiring.connect(m, wiring.flipped(self.launch), wiring.flipped(self.data))
        self._count(m, chunks, more)
        with m.If(codewords.valid & codewords.ready & codewords.payload.last):
            m.d.sync += filling.eq(1)
        with m.If(self.start):
            fits = self.length >= self._code.codeword_bytes
            m.d.sync += [
                coded.eq(self.is_coded),
                more.eq(self.is_coded & fits),
                filling.eq(~fits),
            ]
        return m

    def _count(self, m, chunks, more):
        """Follow the chunks as they go in: the last one that fits ends the transfer."""
        size, words = self._code.codeword_bytes, self._code.chunk_bytes // self._phases
        # Bytes of the bus from the codeword on whose chunk goes in. Whether it is the last one is
        # known a clock later, long before the chunk has ended.
        left, place, is_final = Signal(16), Signal(range(words)), Signal()
        ends = Signal()
        m.d.comb += [
            ends.eq(chunks.valid & chunks.ready & (place == words - 1)),
            chunks.payload.last.eq(ends & is_final),
        ]
        m.d.sync += is_final.eq(left < 2 * size)
        with m.If(chunks.valid & chunks.ready):
            m.d.sync += place.eq(Mux(place == words - 1, 0, place + 1))
        with m.If(ends):
            m.d.sync += left.eq(left - size)
            with m.If(is_final):
                m.d.sync += more.eq(0)
        with m.If(self.start):
            m.d.sync += left.eq(self.length)
