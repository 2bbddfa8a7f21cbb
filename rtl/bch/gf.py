"""GF(2^m) in hardware: linear maps over GF(2) as XOR trees or as tables, and products.

Elements are m-bit values in the polynomial basis, bit i for alpha^i, alpha a root of the field's
primitive polynomial (:data:`rtl.contract.bch.PRIMITIVE_POLYNOMIALS`).

Every block has two equal forms. XOR trees are what one synthesises. Tables are what one simulates:
a word-wide look-up replaces hundreds of XORs of single bits. For simulation, too, registers are of
up to :data:`WORD_BITS`, and each map that is not needed in every clock feeds one register only,
under a condition: a simulator then skips what it does not need.
"""

from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.bch import field_tables

__all__ = ["WORD_BITS", "Field", "LinearMap", "Product", "Products", "elements"]

TABLE_BITS = 6
"""Input bits of one look-up of a linear map: small tables stay in the processor's first cache."""

SUM_TERMS = 10
"""Entries that are added in one expression: Verilator takes longer ones apart."""

WORD_BITS = 64
"""What a simulator takes in one piece."""


class Field:
    """Constants of GF(2^``m``) for circuits."""

    def __init__(self, m):
        self.m = m
        self._powers, self._logarithms = field_tables(m)

    @property
    def order(self):
        """Of the multiplicative group: alpha^order is 1."""
        return len(self._powers)

    def power(self, exponent):
        """alpha^exponent, for any integer."""
        return self._powers[exponent % self.order]

    def logarithm(self, element):
        """Exponent below ``order`` that gives ``element``, which is not 0."""
        return self._logarithms[element]

    def scaling(self, exponent):
        """Columns of the linear map that multiplies by alpha^exponent."""
        return [self.power(exponent + bit) for bit in range(self.m)]

    def squaring(self, times):
        """Columns of the linear map that squares ``times`` times."""
        return [self.power(bit << times) for bit in range(self.m)]

    def reduced(self, polynomial):
        """The element that a polynomial of any degree stands for, as a tree of XORs."""
        columns = [self.power(place) for place in range(len(polynomial))]
        return _map(columns, polynomial, self.m)


def elements(width, count, name):
    """``count`` registers of ``width`` bits each, packed into words of up to :data:`WORD_BITS`.

    A simulator keeps and copies a word as quickly as an element.
    """
    share = WORD_BITS // width
    parts = []
    for first in range(0, count, share):
        size = min(share, count - first)
        word = Signal(size * width, name=f"{name}{first}")
        parts += [word[index * width : (index + 1) * width] for index in range(size)]
    return parts


class LinearMap(wiring.Component):
    """Combinational linear map over GF(2).

    Parameters
    ----------
    columns : sequence of int
        What each bit of the input, from bit 0 on, contributes to the output.
    width : int
        Bits of the output.
    tables : bool
        Form: look-ups of :data:`TABLE_BITS` input bits each, or a tree of XORs for each output bit.

    Members
    -------
    input : In(len(columns))
    enable : In(1)
        Low: nobody looks at the output, which is then anything; a simulator looks nothing up.
    output : Out(width)
    """

    def __init__(self, columns, width, *, tables):
        self._columns = tuple(columns)
        self._width = width
        self._tables = tables
        super().__init__(
            {"input": In(len(self._columns)), "enable": In(1, init=1), "output": Out(width)}
        )

    def elaborate(self, platform):
        m = Module()
        if not self._tables:
            m.d.comb += self.output.eq(_map(self._columns, self.input, self._width))
            return m
        entries = [self._look_up(m, start) for start in range(0, len(self._columns), TABLE_BITS)]
        sums = []
        for start in range(0, len(entries), SUM_TERMS):
            sums.append(Signal(self._width, name=f"sum{start}"))
            with m.If(self.enable):
                m.d.comb += sums[-1].eq(reduce(xor, entries[start : start + SUM_TERMS]))
        m.d.comb += self.output.eq(reduce(xor, sums))
        return m

    def _look_up(self, m, start):
        """What the input bits from ``start`` on contribute."""
        columns = self._columns[start : start + TABLE_BITS]
        contents = [0]
        for column in columns:
            contents += [entry ^ column for entry in contents]
        table = memory.Memory(shape=self._width, depth=len(contents), init=contents)
        m.submodules[f"table{start}"] = table
        port = table.read_port(domain="comb")
        m.d.comb += port.addr.eq(self.input[start : start + len(columns)])
        return port.data


class Product(wiring.Component):
    """Product of two polynomials over GF(2), combinational.

    Parameters
    ----------
    size : int
        Coefficients of a factor.

    Members
    -------
    left, right : In(size)
    output : Out(2 * size - 1)
    """

    def __init__(self, size):
        self._size = size
        super().__init__({"left": In(size), "right": In(size), "output": Out(2 * size - 1)})

    def elaborate(self, platform):
        m = Module()
        size = self._size
        sums = (
            Cat(
                self.left[i] & self.right[place - i] for i in range(size) if 0 <= place - i < size
            ).xor()
            for place in range(2 * size - 1)
        )
        m.d.comb += self.output.eq(Cat(sums))
        return m


class Products(wiring.Component):
    """``count`` independent products of two field elements each, combinational.

    Parameters
    ----------
    field : Field
    count : int
    tables : bool
        Form: by sums of logarithms, or by :class:`Product` and :meth:`Field.reduced`.

    Members
    -------
    left, right : In(m).array(count)
        Factors.
    output : Out(m).array(count)
    """

    def __init__(self, field, count, *, tables):
        self._field = field
        self._count = count
        self._tables = tables
        super().__init__(
            {
                "left": In(field.m).array(count),
                "right": In(field.m).array(count),
                "output": Out(field.m).array(count),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if self._tables:
            self._by_logarithms(m)
            return m
        for index, output in enumerate(self.output):
            m.submodules[f"product{index}"] = product = Product(self._field.m)
            m.d.comb += [
                product.left.eq(self.left[index]),
                product.right.eq(self.right[index]),
                output.eq(self._field.reduced(product.output)),
            ]
        return m

    def _by_logarithms(self, m):
        field = self._field
        bits = (2 * field.order - 1).bit_length()
        m.submodules.logs = logs = memory.Memory(
            shape=field.m,
            depth=1 << field.m,
            init=[0, *map(field.logarithm, range(1, 1 << field.m))],
        )
        m.submodules.antilogs = antilogs = memory.Memory(
            shape=field.m,
            depth=1 << bits,
            init=[field.power(exponent) for exponent in range(1 << bits)],
        )
        for left, right, output in zip(self.left, self.right, self.output, strict=True):
            ports = [logs.read_port(domain="comb") for _ in range(2)]
            power = antilogs.read_port(domain="comb")
            m.d.comb += [
                ports[0].addr.eq(left),
                ports[1].addr.eq(right),
                power.addr.eq(ports[0].data + ports[1].data),
                output.eq(Mux(left.any() & right.any(), power.data, 0)),
            ]


def _map(columns, value, width):
    """The linear map of ``value`` by ``columns``, one tree of XORs for each output bit."""
    masks = (
        sum(1 << index for index, column in enumerate(columns) if column >> place & 1)
        for place in range(width)
    )
    return Cat((value & Const(mask, len(columns))).xor() for mask in masks)
