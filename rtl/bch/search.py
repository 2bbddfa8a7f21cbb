"""Chien search: the places of a codeword at which its error locator vanishes, a word a clock."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.bch.framer import frame_layout, longest_window
from rtl.bch.gf import WORD_BITS, Field, LinearMap, elements

__all__ = ["ErrorSearch"]


class ErrorSearch(wiring.Component):
    """Says for each bit of each word whether it is an error, three clocks after the word's frame.

    Words and locators meet on time: a codeword's locator is taken at the edge before its first
    word. One set of evaluators serves a word that ends one codeword and begins the next: each byte
    takes the locator of its own.

    Ref: Lin and Costello, Error Control Coding, 2nd ed., section 6.2 (Chien's procedure).

    Parameters
    ----------
    code : BchCode
    phases : int
        Bytes of a word.
    tables : bool
        Form, see :class:`LinearMap`.

    Members
    -------
    load : In(1)
        Take ``locator``: the next word's frame opens the codeword that it belongs to.
    locator : In(m).array(t + 1)
        As :class:`KeyEquation` has it.
    valid, frame : In
        A word passes. One that opens without a ``load`` before it opens a codeword to leave alone.
    stop : In(1)
        All errors are found. A circuit that is told so is idle, and else does the same.
    errors : Out(8 * phases)
        Error bits of the word of three clocks before; those of pad bits and strange bytes are 0.
    """

    def __init__(self, code, phases, *, tables=True):
        self._code = code
        self._phases = phases
        self._tables = tables
        self._field = Field(code.m)
        super().__init__(
            {
                "load": In(1),
                "locator": In(code.m).array(code.t + 1),
                "valid": In(1),
                "frame": In(frame_layout(phases)),
                "stop": In(1),
                "errors": Out(8 * phases),
            }
        )

    def elaborate(self, platform):
        m = Module()
        phases = self._phases
        terms = self._code.t + 1
        current, following = (
            elements(self._code.m, terms, name) for name in ("current", "following")
        )
        is_current, is_following = Signal(), Signal()
        begins = Signal(phases)

        start = self._scaled(m, "start", self.locator, -8 * phases * self._words_before_last)
        m.d.sync += is_following.eq(self.load)
        with m.If(self.load):
            m.d.sync += [part.eq(value) for part, value in zip(following, start, strict=True)]

        frame = self.frame
        m.d.comb += begins.eq(
            Cat(frame.opens & ~(frame.closes & (frame.split > lane)) for lane in range(phases))
        )
        is_searching = Signal()
        m.d.comb += is_searching.eq(self.valid & (is_current | is_following))
        chosen = [elements(self._code.m, terms, f"chosen{lane}_") for lane in range(phases)]
        with m.If(is_searching):
            for lane in range(phases):
                for part, old, new in zip(chosen[lane], current, following, strict=True):
                    m.d.comb += part.eq(Mux(begins[lane], new, old))
        advanced = self._scaled(m, "advance", chosen[-1], 8 * phases)
        places = data.StructLayout({"owned": phases, "padded": phases})
        seen, told = Signal(places), Signal(places)
        m.d.sync += [seen.owned.eq(0), told.owned.eq(seen.owned)]
        with m.If(is_searching):
            m.d.sync += [
                seen.owned.eq(self._owned(begins, is_current, is_following)),
                seen.padded.eq(Cat(frame.closes & (frame.split == j + 1) for j in range(phases))),
                *(part.eq(value) for part, value in zip(current, advanced, strict=True)),
            ]
            with m.If(frame.opens):
                m.d.sync += is_current.eq(is_following)
            with m.Elif(frame.closes | self.stop):
                m.d.sync += is_current.eq(0)
        zeros = self._look_up if self._tables else self._work_out
        bits = [
            zero
            for lane in range(phases)
            for zero in zeros(m, lane, chosen[lane], is_searching, seen.owned.any())
        ]
        with m.If(seen.owned.any()):
            m.d.sync += told.padded.eq(seen.padded)
        m.d.sync += self.errors.eq(0)
        with m.If(told.owned.any()):
            m.d.sync += self.errors.eq(Cat(bits) & self._mask(told.owned, told.padded))
        return m

    @property
    def _words_before_last(self):
        return longest_window(self._code, self._phases) - 1

    def _scaled(self, m, name, locator, exponent):
        """Coefficients of the polynomial in x times alpha^exponent."""
        scaled = []
        for power, coefficient in enumerate(locator):
            columns = self._field.scaling(power * exponent)
            m.submodules[f"{name}{power}"] = part = LinearMap(
                columns, self._code.m, tables=self._tables
            )
            m.d.comb += part.input.eq(coefficient)
            scaled.append(part.output)
        return scaled

    def _columns(self, lane, places, powers):
        """Linear map of coefficients of these powers to the sums of their terms, bit by bit."""
        field, size = self._field, self._code.m
        behind = 8 * (self._phases - 1 - lane)
        return [
            sum(
                field.power(bit - power * (behind + place)) << index * size
                for index, place in enumerate(places)
            )
            for power in powers
            for bit in range(size)
        ]

    def _look_up(self, m, lane, locator, is_searching, was_searching):
        """Whether the polynomial was zero at each bit of a byte, bit 0 first, two clocks before."""
        size = self._code.m
        share = min(8, WORD_BITS // size)
        found, zeros = [], Signal(8, name=f"zeros{lane}")
        for first in range(0, 8, share):
            places = range(first, min(8, first + share))
            width = size * len(places)
            columns = self._columns(lane, places, range(len(locator)))
            m.submodules[f"lane{lane}_{first}"] = part = LinearMap(columns, width, tables=True)
            m.d.comb += [part.input.eq(Cat(locator)), part.enable.eq(is_searching)]
            values = Signal(width, name=f"values{lane}_{first}")
            with m.If(is_searching):
                m.d.sync += values.eq(part.output)
            found += [~values.word_select(i, size).any() for i in range(len(places))]
        with m.If(was_searching):
            m.d.sync += zeros.eq(Cat(found))
        return zeros

    def _work_out(self, m, lane, locator, is_searching, was_searching):
        """The same by trees, between registers: the choice, halves of the sums, and their zeros."""
        size, terms = self._code.m, len(locator)
        kept = Signal(size * terms, name=f"kept{lane}")
        with m.If(is_searching):
            m.d.sync += kept.eq(Cat(locator))
        halves = []
        for powers in (range(terms // 2), range(terms // 2, terms)):
            columns = self._columns(lane, range(8), powers)
            part = LinearMap(columns, 8 * size, tables=False)
            m.submodules[f"lane{lane}_{powers.start}"] = part
            m.d.comb += part.input.eq(kept[size * powers.start : size * powers.stop])
            halves.append(Signal(8 * size, name=f"half{lane}_{powers.start}"))
            with m.If(was_searching):
                m.d.sync += halves[-1].eq(part.output)
        return [halves[0].word_select(i, size) == halves[1].word_select(i, size) for i in range(8)]

    def _owned(self, begins, is_current, is_following):
        """Bytes that belong to a codeword whose locator is here."""
        closes, split = self.frame.closes, self.frame.split
        return Cat(
            Mux(begins[lane], is_following, is_current & (~closes | (split > lane)))
            for lane in range(self._phases)
        )

    def _mask(self, owned, padded):
        """Bits of the owned bytes, without pad bits."""
        pad = 8 * self._code.parity_bytes - self._code.parity_bits
        return Cat(
            Cat((owned[lane] & ~padded[lane]).replicate(pad), owned[lane].replicate(8 - pad))
            for lane in range(self._phases)
        )
