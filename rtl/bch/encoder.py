"""BCH encoder of a flash channel: puts the parity behind each chunk of a stream of words."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.bch.remainder import RemainderStep, high_first
from rtl.contract.page import FILL

__all__ = ["BchEncoder", "encoder_word"]


def encoder_word(phases):
    """A word of a transfer: ``word`` has its bytes, the first in the low bits."""
    return data.StructLayout({"word": 8 * phases, "last": 1})


class BchEncoder(wiring.Component):
    """Turns chunks into codewords at one word a clock, without a gap between them.

    A transfer is whole chunks, ``last`` with the last word of the last one. Codewords leave one
    after the other, from the first byte of a transfer on; where they do not fill its last word,
    FILL does. While a word comes in per clock as asked for (``chunks.ready``), one goes out per
    clock; the first is there one clock after the first came in.

    Parameters
    ----------
    code : BchCode
    phases : int
        Bytes of a word: 1, 2 or 4.
    tables : bool
        Look-up tables, for simulation, in place of trees of XORs, for synthesis; else the same.

    Members
    -------
    chunks : In(stream.Signature(encoder_word(phases)))
        Data.
    codewords : Out(stream.Signature(encoder_word(phases)))
        Data and parity.

    Raises
    ------
    ValueError
        If ``phases`` is none of the three, chunks are not whole words, or the parity is shorter
        than a word.
    """

    def __init__(self, code, phases=2, *, tables=True):
        if phases not in (1, 2, 4):
            raise ValueError(f"Phases must be 1, 2 or 4, not {phases!r}")
        if code.chunk_bytes % phases:
            raise ValueError(
                f"Chunks must be whole words of {phases} bytes, not {code.chunk_bytes} bytes"
            )
        if code.parity_bits < 8 * phases:
            raise ValueError(
                f"Parity must be at least {8 * phases} bits, those of a word, "
                f"not {code.parity_bits}"
            )
        self._code = code
        self._phases = phases
        self._tables = tables
        word = encoder_word(phases)
        super().__init__(
            {"chunks": In(stream.Signature(word)), "codewords": Out(stream.Signature(word))}
        )

    @property
    def code(self):
        return self._code

    @property
    def phases(self):
        return self._phases

    def elaborate(self, platform):
        m = Module()
        code, phases = self._code, self._phases
        chunks, codewords = self.chunks, self.codewords
        # Bytes of the section, a chunk or its parity, that are still to go out.
        left = Signal(range(max(code.chunk_bytes, code.parity_bytes) + 1), init=code.chunk_bytes)
        is_parity, is_ending = Signal(), Signal()
        # Data that came in with a word of before; never as much as a word.
        held, held_bytes = Signal(8 * phases), Signal(range(phases))

        # A word is ``split`` bytes of this section, then the first bytes of the next.
        is_turn, is_last = Signal(), Signal()
        split, data_bytes, parity_bytes = (
            Signal(range(phases + 1), name=name) for name in ("split", "data_bytes", "parity_bytes")
        )
        m.d.comb += [
            is_turn.eq(left <= phases),
            is_last.eq(is_parity & is_turn & is_ending),
            split.eq(Mux(is_turn, left, phases)),
            data_bytes.eq(Mux(is_parity, Mux(is_last, 0, phases - split), split)),
            parity_bytes.eq(Mux(is_parity, split, phases - split)),
        ]
        can_go, takes, goes = Signal(), Signal(), Signal()
        m.d.comb += [
            can_go.eq(~codewords.valid | codewords.ready),
            takes.eq(held_bytes < data_bytes),
            goes.eq(can_go & (chunks.valid | ~takes)),
            chunks.ready.eq(can_go & takes),
        ]
        available = Signal(16 * phases)
        m.d.comb += available.eq(held | Mux(takes, chunks.payload.word << _bits(held_bytes), 0))
        is_first = is_parity | (left == code.chunk_bytes)
        parity = self._parity(m, goes, takes, is_first, parity_bytes)
        ours, theirs = Signal(8 * phases), Signal(8 * phases)
        fill = Const(FILL, 8).replicate(phases)
        m.d.comb += [
            ours.eq(Mux(is_parity, parity, available)),
            theirs.eq(Mux(is_last, fill, Mux(is_parity, available, parity))),
        ]
        with m.If(can_go):
            m.d.sync += codewords.valid.eq(goes)
        with m.If(goes):
            kept = Cat((split > lane).replicate(8) for lane in range(phases))
            m.d.sync += [
                codewords.payload.word.eq((ours & kept) | (theirs << _bits(split))),
                codewords.payload.last.eq(is_last),
                held.eq(available >> _bits(data_bytes)),
                held_bytes.eq(held_bytes + Mux(takes, phases, 0) - data_bytes),
                is_ending.eq(~is_last & (is_ending | (takes & chunks.payload.last))),
                left.eq(left - phases),
            ]
            with m.If(is_last):
                m.d.sync += [is_parity.eq(0), left.eq(code.chunk_bytes)]
            with m.Elif(is_turn):
                section = Mux(is_parity, code.chunk_bytes, code.parity_bytes)
                m.d.sync += [is_parity.eq(~is_parity), left.eq(section - phases + split)]
        return m

    def _parity(self, m, goes, takes, is_first, parity_bytes):
        """Next bytes of the parity, which a chunk's words make and words with parity use up."""
        code, phases = self._code, self._phases
        m.submodules.step = step = RemainderStep(code, phases, ahead=True, tables=self._tables)
        remainder = Signal(code.parity_bits)
        m.d.comb += [
            step.remainder.eq(Mux(is_first, 0, remainder)),
            step.word.eq(self.chunks.payload.word),
        ]
        with m.If(goes):
            m.d.sync += remainder.eq(Mux(takes, step.output, remainder << _bits(parity_bytes)))
        return high_first(remainder[-8 * phases :], phases)


def _bits(count):
    """Bits of ``count`` bytes."""
    return count << 3
