"""Remainder of a byte stream modulo the generator polynomial, several bytes a clock."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.bch.gf import LinearMap

__all__ = ["RemainderStep", "high_first"]


def high_first(word, count):
    """Bytes of a bus word, the first in its low bits, as a polynomial, the first at its top."""
    return Cat(word[8 * index : 8 * index + 8] for index in reversed(range(count)))


class RemainderStep(wiring.Component):
    """One step, combinational: the remainder of (polynomial so far, ``count`` more bytes).

    With ``ahead`` the remainder is that of the polynomial times x^parity_bits, as an encoder needs
    it; bytes then enter at the top of the register, not at its foot.

    Parameters
    ----------
    code : BchCode
        Of at least ``count`` bytes of parity.
    count : int
        Bytes of a step.
    ahead, tables : bool
        See above; form, see :class:`LinearMap`.

    Members
    -------
    remainder : In(parity_bits)
        So far.
    word : In(8 * count)
        What follows, first byte in the low bits.
    output : Out(parity_bits)
        The new remainder.
    """

    def __init__(self, code, count, *, ahead=False, tables=True):
        self._code = code
        self._count = count
        self._ahead = ahead
        self._tables = tables
        bits = code.parity_bits
        super().__init__({"remainder": In(bits), "word": In(8 * count), "output": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        bits, step = self._code.parity_bits, 8 * self._count
        m.submodules.fold = fold = LinearMap(self._columns(), bits, tables=self._tables)
        fresh = high_first(self.word, self._count)
        top = self.remainder[bits - step :]
        rest = self.remainder[: bits - step] << step
        if self._ahead:
            m.d.comb += [fold.input.eq(top ^ fresh), self.output.eq(rest ^ fold.output)]
        else:
            m.d.comb += [fold.input.eq(top), self.output.eq(rest ^ fresh ^ fold.output)]
        return m

    def _columns(self):
        """x^parity_bits and the powers above it, modulo the generator."""
        degree, generator = self._code.parity_bits, self._code.generator
        columns = [generator ^ 1 << degree]
        while len(columns) < 8 * self._count:
            following = columns[-1] << 1
            columns.append(following ^ generator if following >> degree else following)
        return columns
