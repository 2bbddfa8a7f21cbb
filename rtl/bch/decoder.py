"""BCH decoder of a flash channel: corrects a stream of words, a fixed number of clocks later."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.bch.framer import Framer, frame_layout, longest_window
from rtl.bch.key_equation import KeyEquation, solving_clocks
from rtl.bch.queue import WordQueue
from rtl.bch.search import ErrorSearch
from rtl.bch.verdict import TransferVerdict, Verdicts, codeword_verdict

__all__ = ["BchDecoder", "decoder_word"]

STAGES = 5
"""Registers between the delay line and the output: chosen, evaluated, found, corrected and counted,
out."""


def decoder_word(phases, tag):
    """A word of a transfer: ``word`` has its bytes, the first in the low bits."""
    return data.StructLayout({"word": 8 * phases, "last": 1, "tag": tag})


class BchDecoder(wiring.Component):
    """Corrects transfers of whole codewords at one word a clock, without ever holding one up.

    A transfer is codewords one after the other, from its first byte on; ``last`` marks its last
    word. Codewords may end inside a word, words may have pauses between them, and transfers may
    follow each other without a gap. What follows the last whole codeword of a transfer (a byte that
    makes its length even) passes as it came. Pad bits are cleared.

    Where words come clock by clock, every word of a codeword goes out :attr:`latency` clocks after
    it came in, whatever its errors, with parity, layout and tag as before. After a pause the first
    word of a codeword goes out as long after the codeword's last word as it does without, its
    others in the clocks that follow; a word that ends a codeword and begins one waits for both.
    :attr:`latency` is the words that a codeword touches (:func:`longest_window`), the time of the
    key equation (:func:`solving_clocks`), and six registers. Two codewords are in flight: one
    comes in while the one before it is solved, searched, and goes out.

    A codeword with more than t errors is flagged, and goes out as it came but for up to t - 1 bits
    at false roots: it has begun to go out when that shows. As with every such code a few patterns
    of more than t errors look like up to t others; ``BchCode.decode`` is the exact reference.

    One codeword of five words, latency 9 (not to scale), in a transfer of its own::

        input.valid       _-----__________
        input.last        _____-__________
        quiet             -______________-
        output.valid      __________-----_
        output.last       ______________-_
        codeword_valid    ______________-_

    Parameters
    ----------
    code : BchCode
    phases : int
        Bytes of a word: 1, 2 or 4.
    tag : ShapeLike
        What travels beside each word, unchanged.
    tables : bool
        Look-up tables, for simulation, in place of trees of XORs, for synthesis; else the same.

    Members
    -------
    input : In(stream.Signature(decoder_word(phases, tag), always_ready=True))
        As received.
    enable : In(1)
        Low with each word of a transfer that has no codewords; it passes as it came, in eight
        clocks if nothing is before it.
    output : Out(stream.Signature(decoder_word(phases, tag), always_ready=True))
        Corrected.
    codeword_valid, codeword : Out
        With the word in which a codeword ends: what became of it. See :func:`codeword_verdict`.
    transfer : Out(TransferVerdict)
        Counts of the transfer's codewords that have ended; complete with its last word.
    quiet : Out(1)
        No word is inside, and none comes in: no clock edge would change anything.

    Raises
    ------
    ValueError
        If ``phases`` is none of the three, or the code has too little parity (a word's bytes), too
        few bytes (a locator must be found while the next codeword comes in) or t below 2.
    """

    def __init__(self, code, phases=2, *, tag=0, tables=True):
        if phases not in (1, 2, 4):
            raise ValueError(f"Phases must be 1, 2 or 4, not {phases!r}")
        if code.t < 2:
            raise ValueError(f"t must be at least 2, not {code.t}")
        if code.parity_bits < 8 * phases:
            raise ValueError(
                f"Parity must be at least {8 * phases} bits, those of a word, "
                f"not {code.parity_bits}"
            )
        self._code = code
        self._phases = phases
        self._tables = tables
        least = phases * (solving_clocks(code) + 2)
        if code.codeword_bytes < least:
            raise ValueError(
                f"Codewords must have at least {least} bytes for t = {code.t} at {phases} bytes a "
                f"clock, not {code.codeword_bytes}"
            )
        self._word = decoder_word(phases, tag)
        super().__init__(
            {
                "input": In(stream.Signature(self._word, always_ready=True)),
                "enable": In(1, init=1),
                "output": Out(stream.Signature(self._word, always_ready=True)),
                "codeword_valid": Out(1),
                "codeword": Out(codeword_verdict(code)),
                "transfer": Out(TransferVerdict),
                "quiet": Out(1),
            }
        )

    @property
    def code(self):
        return self._code

    @property
    def phases(self):
        return self._phases

    @property
    def latency(self):
        """Clocks from a word at ``input`` to the same at ``output``."""
        return self._delay + STAGES + 1

    @property
    def _delay(self):
        """Clocks in the delay line: from a codeword's first word to the load of its locator."""
        return longest_window(self._code, self._phases) + solving_clocks(self._code)

    def elaborate(self, platform):
        m = Module()
        code, phases, tables = self._code, self._phases, self._tables
        m.submodules.framer = framer = Framer(code, phases, tables=tables)
        m.submodules.key_equation = key_equation = KeyEquation(code, tables=tables)
        entry = data.StructLayout({"frame": frame_layout(phases), "payload": self._word})
        m.submodules.queue = queue = WordQueue(
            entry, delay=solving_clocks(code) + 1, depth=self.latency
        )
        m.d.comb += [
            framer.valid.eq(self.input.valid),
            framer.word.eq(self.input.payload.word),
            framer.last.eq(self.input.payload.last),
            framer.enable.eq(self.enable),
            key_equation.start.eq(framer.start),
            key_equation.remainder.eq(framer.remainder),
            queue.write.eq(self.input.valid),
            queue.word.frame.eq(framer.frame),
            queue.word.payload.eq(self.input.payload),
            queue.word.payload.word.eq(framer.clean),
            queue.resolves.eq(framer.resolves),
            queue.late.eq(framer.late),
        ]
        stages = [(queue.valid, queue.passing)]
        for number in range(1, STAGES):
            valid, word = Signal(name=f"valid{number}"), Signal(entry, name=f"word{number}")
            m.d.sync += [valid.eq(stages[-1][0]), word.eq(stages[-1][1])]
            stages.append((valid, word))
        self._correct(m, stages, key_equation)
        # The head of the queue is a register, too.
        moving = Signal(STAGES + 1)
        is_moving = self.input.valid | ~queue.empty
        m.d.sync += moving.eq(Cat(is_moving, moving[:-1]))
        m.d.comb += self.quiet.eq(~is_moving & ~moving.any())
        return m

    def _correct(self, m, stages, key_equation):
        """Search, correct and count; ``stages`` has the words at each register from the line on."""
        m.submodules.search = search = ErrorSearch(self._code, self._phases, tables=self._tables)
        m.submodules.verdicts = verdicts = Verdicts(self._code, self._phases)
        (valid, passing), *_, (is_found, found), (is_corrected, corrected) = stages
        # The key equation is done in the clock before the codeword's first word passes.
        is_wrong = Signal(STAGES - 1)
        claimed = Signal.like(key_equation.errors)
        m.d.sync += is_wrong.eq(Cat(key_equation.done, is_wrong[:-1]))
        with m.If(key_equation.done):
            m.d.sync += claimed.eq(key_equation.errors)
        is_opening = Signal()
        m.d.comb += [
            is_opening.eq(Cat(valid & word.frame.opens for valid, word in stages[1:]).any()),
            search.load.eq(key_equation.done & (key_equation.errors <= self._code.t)),
            *(
                one.eq(other)
                for one, other in zip(search.locator, key_equation.locator, strict=True)
            ),
            search.valid.eq(valid),
            search.frame.eq(passing.frame),
            search.stop.eq(verdicts.is_found & ~is_opening),
            verdicts.valid.eq(is_found),
            verdicts.frame.eq(found.frame),
            verdicts.last.eq(found.payload.last),
            verdicts.errors.eq(search.errors),
            verdicts.is_wrong.eq(is_wrong[-1]),
            verdicts.claimed.eq(claimed),
            self.codeword_valid.eq(verdicts.codeword_valid),
            self.codeword.eq(verdicts.codeword),
            self.transfer.eq(verdicts.transfer),
        ]
        m.d.sync += [
            corrected.payload.word.eq(found.payload.word ^ search.errors),
            self.output.valid.eq(is_corrected),
        ]
        with m.If(is_corrected):
            m.d.sync += self.output.payload.eq(corrected.payload)
