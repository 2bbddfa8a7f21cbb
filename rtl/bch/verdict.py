"""Judges codewords: the errors that were found against those that the locator claims."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.bch.framer import frame_layout

__all__ = ["TransferVerdict", "Verdicts", "codeword_verdict"]

COUNT_BITS = 16
ONES = Const(sum(nibble.bit_count() << 3 * nibble for nibble in range(16)), 48)
"""Ones of each nibble, in three bits: a look-up is one level of logic, a sum of bits is many."""


def codeword_verdict(code):
    """What became of a codeword: ``corrected`` bits, 0 if it is ``uncorrectable``."""
    return data.StructLayout({"corrected": range(code.t + 1), "uncorrectable": 1})


class TransferVerdict(data.Struct):
    """Of the codewords of a transfer: corrected bits, and how many are uncorrectable."""

    corrected: COUNT_BITS
    uncorrectable: COUNT_BITS


class Verdicts(wiring.Component):
    """Counts along a stream of words; outputs are two clocks behind.

    Parameters
    ----------
    code : BchCode
    phases : int
        Bytes of a word.

    Members
    -------
    valid, frame, last, errors : In
        A word, and the error bits in it.
    is_wrong : In(1)
        The codeword that the word opens, or that is open, has errors; ``claimed`` is their number,
        above t if no locator was found.
    claimed : In(range(2 * t))
        Of the codeword that the word opens; must hold for one clock more.
    is_found : Out(1)
        No more errors are to be found in the open codeword.
    codeword : Out(codeword_verdict(code))
    codeword_valid : Out(1)
        Strobe: the word closed a codeword, and ``codeword`` is about that.
    transfer : Out(TransferVerdict)
        Counts since the first word of the transfer, this one included.
    """

    def __init__(self, code, phases):
        self._code = code
        self._phases = phases
        super().__init__(
            {
                "valid": In(1),
                "frame": In(frame_layout(phases)),
                "last": In(1),
                "errors": In(8 * phases),
                "is_wrong": In(1),
                "claimed": In(range(2 * code.t)),
                "is_found": Out(1),
                "codeword": Out(codeword_verdict(code)),
                "codeword_valid": Out(1),
                "transfer": Out(TransferVerdict),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = 8 * self._phases
        # First clock: errors of the codeword that was open, and of the one that opens.
        valid, last, opens, closes, is_wrong = (
            Signal(name=name) for name in ("valid1", "last1", "opens1", "closes1", "is_wrong1")
        )
        before, behind = Signal(range(bits + 1)), Signal(range(bits + 1))
        lanes = range(self._phases)
        is_before = Signal(self._phases)
        m.d.comb += is_before.eq(
            Mux(
                self.frame.closes,
                Cat(self.frame.split > lane for lane in lanes),
                (~self.frame.opens).replicate(self._phases),
            )
        )
        m.d.sync += [valid.eq(self.valid), last.eq(self.last)]
        with m.If(self.valid):
            m.d.sync += [
                opens.eq(self.frame.opens),
                closes.eq(self.frame.closes),
                is_wrong.eq(self.is_wrong),
                before.eq(0),
                behind.eq(0),
            ]
            with m.If(self.errors.any()):
                m.d.sync += [
                    before.eq(self._ones(is_before)),
                    behind.eq(self._ones(~is_before)),
                ]

        # Second clock: the open codeword's account.
        was_wrong, left, total = (
            Signal(),
            Signal(self.claimed.shape()),
            Signal(self.claimed.shape()),
        )
        is_first = Signal(init=1)
        verdict = Signal(codeword_verdict(self._code))
        with m.If(closes & was_wrong):
            m.d.comb += verdict.uncorrectable.eq(left != before)
            with m.If(left == before):
                m.d.comb += verdict.corrected.eq(total)
        m.d.comb += self.is_found.eq(left == 0)
        m.d.sync += self.codeword_valid.eq(valid & closes)
        with m.If(valid):
            m.d.sync += [self.codeword.eq(verdict), is_first.eq(last)]
            with m.If(opens):
                m.d.sync += [
                    was_wrong.eq(is_wrong),
                    left.eq(Mux(is_wrong, self.claimed - behind, 0)),
                    total.eq(self.claimed),
                ]
            with m.Else():
                m.d.sync += left.eq(left - before)
            for name in ("corrected", "uncorrectable"):
                count = getattr(self.transfer, name)
                m.d.sync += count.eq(Mux(is_first, 0, count) + verdict[name])
        return m

    def _ones(self, lanes):
        """Errors in these bytes, added in pairs."""
        wanted = Cat(lane.replicate(8) for lane in lanes)
        masked = self.errors & wanted
        counts = [ONES.word_select(masked.word_select(n, 4), 3) for n in range(2 * len(lanes))]
        while len(counts) > 1:
            counts = [one + other for one, other in zip(counts[::2], counts[1::2], strict=True)]
        return counts[0]
