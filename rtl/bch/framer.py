"""Input side of the decoder: where codewords lie in a stream of words, and their remainders."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.bch.remainder import RemainderStep, high_first

__all__ = ["Framer", "frame_layout", "longest_window"]


def frame_layout(phases):
    """What a word has to do with codewords.

    With ``closes`` a codeword ends in it, before byte ``split``; with ``opens`` one begins, at byte
    ``split`` if another ends here, else at byte 0. A word can close one and open the next.
    """
    return data.StructLayout({"opens": 1, "closes": 1, "split": range(phases + 1)})


def longest_window(code, phases):
    """Words that a codeword touches at most, wherever in a word it begins."""
    return max(_windows(code, phases))


def _windows(code, phases):
    """Words touched by the codewords of an endless stream, by the byte in which they begin."""
    length = code.codeword_bytes
    return [-(-(length * turn % phases + length) // phases) for turn in range(phases)]


class Framer(wiring.Component):
    """Cuts transfers into codewords and divides each by the generator polynomial.

    A codeword is taken as the polynomial of all words that it touches, whose other bytes, and its
    pad bits, count as zero. Zeros in front change nothing; zeros behind shift the powers, so that
    bits keep their place in the words. A codeword that touches a word less than others gets one
    more word of zeros: the polynomial always has ``longest_window`` words.

    Parameters
    ----------
    code : BchCode
    phases : int
        Bytes of a word.
    tables : bool
        Form, see :class:`LinearMap`.

    Members
    -------
    valid, word, last : In
        A word of a transfer; ``last`` ends the transfer.
    enable : In(1)
        Low: the word is no part of a codeword.
    frame : Out(frame_layout(phases))
        Of the word, combinational.
    clean : Out(8 * phases)
        The word without the pad bits of a codeword that ends in it, combinational.
    resolves, late : Out(1)
        The open codeword ends in this word, or will not, since the transfer does; ``late`` with the
        ends of short codewords, which ``start`` a clock later, and with those that will not.
    start : Out(1)
        Strobe: ``remainder`` is that of the codeword that ended, in the clock before last if it
        was short of a word, else in the last clock.
    remainder : Out(parity_bits)
        Holds until the next codeword ends.
    """

    def __init__(self, code, phases, *, tables=True):
        self._code = code
        self._phases = phases
        self._tables = tables
        super().__init__(
            {
                "valid": In(1),
                "word": In(8 * phases),
                "last": In(1),
                "enable": In(1),
                "frame": Out(frame_layout(phases)),
                "clean": Out(8 * phases),
                "resolves": Out(1),
                "late": Out(1),
                "start": Out(1),
                "remainder": Out(code.parity_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        code, phases = self._code, self._phases
        m.submodules.step = step = RemainderStep(code, phases, tables=self._tables)
        left = Signal(range(code.codeword_bytes + 1), init=code.codeword_bytes)
        running = Signal(code.parity_bits)
        is_end = Signal()
        split = Signal(range(phases + 1))
        carried = Signal(8 * phases)
        is_at_start = left == code.codeword_bytes
        m.d.comb += [
            is_end.eq(left <= phases),
            split.eq(Mux(is_end, left, 0)),
            self.frame.closes.eq(self.enable & is_end),
            self.frame.split.eq(split),
            self.frame.opens.eq(
                self.enable & ~self.last & (is_at_start | (is_end & (left != phases)))
            ),
            self.resolves.eq(self.valid & self.enable & (is_end | (self.last & ~is_at_start))),
            step.remainder.eq(running),
            self.clean.eq(Mux(self.frame.closes, self.word & ~self._pad(split), self.word)),
            step.word.eq(Mux(is_end, self.clean & self._lanes(split), self.word)),
            carried.eq(self.word & ~self._lanes(split)),
        ]
        m.d.sync += self.start.eq(0)
        with m.If(self.valid):
            with m.If(self.last):
                m.d.sync += [left.eq(code.codeword_bytes), running.eq(0)]
            with m.Elif(is_end):
                m.d.sync += [
                    left.eq(code.codeword_bytes - phases + split),
                    running.eq(high_first(carried, phases)),
                ]
            with m.Else():
                m.d.sync += [left.eq(left - phases), running.eq(step.output)]
            with m.If(self.frame.closes):
                m.d.sync += self.remainder.eq(step.output)
        self._start(m, split)
        return m

    def _start(self, m, split):
        """Strobe when the remainder is that of ``longest_window`` words."""
        ends = self.valid & self.frame.closes
        is_short = Cat(split == value for value in self._short_splits()).any()
        m.d.comb += self.late.eq(~self.frame.closes | is_short)
        if not self._short_splits():
            m.d.sync += self.start.eq(ends)
            return
        was_short = Signal()
        m.submodules.more = more = RemainderStep(self._code, self._phases, tables=self._tables)
        m.d.comb += more.remainder.eq(self.remainder)
        m.d.sync += [was_short.eq(ends & is_short), self.start.eq((ends & ~is_short) | was_short)]
        with m.If(was_short):
            m.d.sync += self.remainder.eq(more.output)

    def _short_splits(self):
        """Ends, as bytes of the last word, of the codewords that touch a word less than others."""
        length, phases = self._code.codeword_bytes, self._phases
        longest = longest_window(self._code, phases)
        begins = {length * turn % phases for turn in range(phases)}
        return sorted(
            (begin + length - 1) % phases + 1
            for begin in begins
            if -(-(begin + length) // phases) < longest
        )

    def _lanes(self, split):
        """All ones in the bytes before ``split``."""
        return Cat((split > lane).replicate(8) for lane in range(self._phases))

    def _pad(self, split):
        """The pad bits of a codeword that ends there."""
        pad = 8 * self._code.parity_bytes - self._code.parity_bits
        return Cat(
            Cat((split == lane + 1).replicate(pad), Const(0, 8 - pad))
            for lane in range(self._phases)
        )
