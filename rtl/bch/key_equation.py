"""From a remainder to the error locator: syndromes, then Berlekamp and Massey's iteration."""

from functools import reduce
from operator import xor

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.bch.gf import WORD_BITS, Field, LinearMap, Products, elements

__all__ = ["KeyEquation", "solving_clocks"]


def solving_clocks(code):
    """Clocks from ``start`` to ``done``: syndromes in two, then four for each of t steps."""
    return 2 + 4 * code.t


class KeyEquation(wiring.Component):
    """Finds the error locator of one codeword in :func:`solving_clocks`, whatever its errors are.

    The iteration is the one without inversion, and of its 2 t steps a binary code needs every
    second one only (Lin and Costello, Error Control Coding, 2nd ed., section 6.3; Burton, IEEE
    Trans. Inf. Theory 17, 1971, for the form without inversion). A step takes four clocks that
    share t + 1 multipliers, whose products are registers::

        clock     MULTIPLY            DISCREPANCY          SCALE               SUM
        factors   locator, syndromes  locator, divisor     discrepancy, shifted
        products                      their sum is kept    kept as scaled      added to scaled

    Parameters
    ----------
    code : BchCode
        With t of at least 2.
    tables : bool
        Form, see :class:`LinearMap`.

    Members
    -------
    start : In(1)
        Strobe: take ``remainder``. Not while a codeword is being worked on.
    remainder : In(parity_bits)
        Of the received word modulo the generator polynomial; not 0.
    done : Out(1)
        Strobe: ``locator`` and ``errors`` are there, until the next start.
    locator : Out(m).array(t + 1)
        Coefficients from that of x^0 on, times any constant but 0.
    errors : Out(range(2 * t))
        Errors that the locator claims; more than t are a failure, and the locator is void.
    """

    def __init__(self, code, *, tables=True):
        self._code = code
        self._field = Field(code.m)
        self._tables = tables
        super().__init__(
            {
                "start": In(1),
                "remainder": In(code.parity_bits),
                "done": Out(1),
                "locator": Out(code.m).array(code.t + 1),
                "errors": Out(range(2 * code.t)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        field, t = self._field, self._code.t
        m.submodules.multipliers = multipliers = Products(field, t + 1, tables=self._tables)
        # At step r place k holds S_(2r+1-k), k modulo 2 t - 1. Where that wraps, k exceeds the
        # locator's degree at step r.
        syndromes = elements(field, 2 * t - 1, "syndromes")
        locator, shifted, scaled, products = (
            elements(field, t + 1, name) for name in ("locator", "shifted", "scaled", "products")
        )
        divisor, discrepancy = Signal(field.m), Signal(field.m)
        step = Signal(range(t))
        grows = Signal()
        m.d.comb += grows.eq((discrepancy != 0) & (self.errors <= step))

        def assign(targets, values):
            m.d.sync += [target.eq(value) for target, value in zip(targets, values, strict=True)]

        m.d.comb += [port.eq(one) for port, one in zip(self.locator, locator, strict=True)]
        m.d.sync += self.done.eq(0)
        odd = self._odd_syndromes(m)
        is_working = Signal()
        factors = Signal(range(3))
        m.d.comb += is_working.eq(1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += is_working.eq(0)
                with m.If(self.start):
                    assign([*locator, *shifted], [1, *[0] * t, 0, 1, *[0] * (t - 1)])
                    m.d.sync += [divisor.eq(1), self.errors.eq(0), step.eq(0)]
                    m.next = "LOAD"
            with m.State("LOAD"):
                self._load(m, odd, syndromes)
                m.next = "MULTIPLY"
            with m.State("MULTIPLY"):
                m.d.comb += factors.eq(0)
                m.next = "DISCREPANCY"
            with m.State("DISCREPANCY"):
                m.d.comb += factors.eq(1)
                m.d.sync += discrepancy.eq(reduce(xor, products))
                m.next = "SCALE"
            with m.State("SCALE"):
                m.d.comb += factors.eq(2)
                assign(scaled, products)
                m.next = "SUM"
            with m.State("SUM"):
                assign(locator, [one ^ other for one, other in zip(scaled, products, strict=True)])
                kept = [Mux(grows, *both) for both in zip(locator, shifted, strict=True)]
                assign(shifted, [0, 0, *kept[:-2]])
                assign(syndromes, [syndromes[k - 2] for k in range(2 * t - 1)])
                m.d.sync += step.eq(step + 1)
                with m.If(grows):
                    m.d.sync += [
                        divisor.eq(discrepancy),
                        self.errors.eq(2 * step + 1 - self.errors),
                    ]
                m.next = "MULTIPLY"
                with m.If(step == t - 1):
                    m.d.sync += self.done.eq(1)
                    m.next = "IDLE"
        with m.If(is_working):
            for index in range(t + 1):
                right = Mux(factors == 0, syndromes[index], Mux(factors == 1, divisor, discrepancy))
                left = Mux(factors == 2, shifted[index], locator[index])
                m.d.comb += [multipliers.left[index].eq(left), multipliers.right[index].eq(right)]
            assign(products, multipliers.output)
        return m

    def _odd_syndromes(self, m):
        """S_1, S_3, ...: the remainder at alpha, alpha^3, ..., one clock after ``start``."""
        code, field = self._code, self._field
        numbers = range(1, 2 * code.t, 2)
        values = {}
        share = WORD_BITS // code.m
        for first in range(0, code.t, share):
            part = numbers[first : first + share]
            columns = [
                sum(field.power(n * bit) << code.m * index for index, n in enumerate(part))
                for bit in range(code.parity_bits)
            ]
            width = code.m * len(part)
            evaluate = LinearMap(columns, width, tables=self._tables)
            m.submodules[f"evaluate{first}"] = evaluate
            m.d.comb += [evaluate.input.eq(self.remainder), evaluate.enable.eq(self.start)]
            kept = Signal(width, name=f"odd{first}")
            with m.If(self.start):
                m.d.sync += kept.eq(evaluate.output)
            values |= {n: kept.word_select(index, code.m) for index, n in enumerate(part)}
        return values

    def _load(self, m, odd, syndromes):
        """All syndromes: S_2j is the square of S_j, hence a repeated square of one in ``odd``."""
        for number in range(1, 2 * self._code.t):
            times = (number & -number).bit_length() - 1
            square = LinearMap(self._field.squaring(times), self._code.m, tables=self._tables)
            m.submodules[f"square{number}"] = square
            m.d.comb += square.input.eq(odd[number >> times])
            m.d.sync += syndromes[(1 - number) % len(syndromes)].eq(square.output)
