"""From a remainder to the error locator: syndromes, then Berlekamp and Massey's iteration."""

from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.bch.gf import WORD_BITS, Field, LinearMap, Products, elements

__all__ = ["KeyEquation", "solving_clocks"]


EVALUATION = 4
"""Clocks in which the odd syndromes are worked out."""


def solving_clocks(code):
    """Clocks from ``start`` to ``done``: syndromes in six, then four for each of t steps."""
    return EVALUATION + 2 + 4 * code.t


class KeyEquation(wiring.Component):
    """Finds the error locator of one codeword in :func:`solving_clocks`, whatever its errors are.

    The iteration is the one without inversion, and of its 2 t steps a binary code needs every
    second one only (Lin and Costello, Error Control Coding, 2nd ed., section 6.3; Burton, IEEE
    Trans. Inf. Theory 17, 1971, for the form without inversion). A step takes four clocks that
    share t + 1 multipliers, whose factors and products are registers::

        clock     MULTIPLY            DISCREPANCY          SCALE               SUM
        factors   locator, syndromes  locator, divisor     discrepancy, shifted
        products                      their sum is kept    kept as scaled      added to scaled

    The trees work the syndromes out by Horner's rule, a part of the remainder a clock, from the
    highest power down.

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
        Of the received word modulo the generator polynomial. If it is 0 nothing more is done.
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
        syndromes = elements(field.m, 2 * t - 1, "syndromes")
        locator, shifted, left, right = (
            elements(field.m, t + 1, name) for name in ("locator", "shifted", "left", "right")
        )
        scaled, products = (elements(field.m, t + 1, name) for name in ("scaled", "products"))
        divisor, discrepancy, found = (
            Signal(field.m, name=name) for name in ("divisor", "discrepancy", "found")
        )
        step = Signal(range(t))
        grows = Signal()
        m.d.comb += found.eq(reduce(xor, products))

        def assign(targets, values):
            m.d.sync += [target.eq(value) for target, value in zip(targets, values, strict=True)]

        m.d.comb += [port.eq(one) for port, one in zip(self.locator, locator, strict=True)]
        m.d.comb += [port.eq(one) for port, one in zip(multipliers.left, left, strict=True)]
        m.d.comb += [port.eq(one) for port, one in zip(multipliers.right, right, strict=True)]
        m.d.sync += self.done.eq(0)
        is_working, is_evaluating = Signal(), Signal()
        evaluated = Signal(range(EVALUATION))
        rest, odd = self._odd_syndromes(m, is_evaluating)
        m.d.comb += is_working.eq(1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += is_working.eq(0)
                with m.If(self.start):
                    assign([*locator, *shifted], [1, *[0] * t, 0, 1, *[0] * (t - 1)])
                    assign(left, [1, *[0] * t])
                    m.d.sync += [divisor.eq(1), self.errors.eq(0), step.eq(0), evaluated.eq(0)]
                    m.next = "EVALUATE"
            with m.State("EVALUATE"):
                m.d.comb += [is_working.eq(0), is_evaluating.eq(1)]
                m.d.sync += evaluated.eq(evaluated + 1)
                with m.If(evaluated == EVALUATION - 1):
                    m.next = "LOAD"
                with m.If((evaluated == 0) & ~rest.any()):
                    m.next = "IDLE"
            with m.State("LOAD"):
                m.d.comb += is_working.eq(0)
                loaded = self._all_syndromes(m, odd)
                assign(syndromes, loaded)
                assign(right, loaded[: t + 1])
                m.next = "MULTIPLY"
            with m.State("MULTIPLY"):
                assign(right, [divisor] * (t + 1))
                m.next = "DISCREPANCY"
            with m.State("DISCREPANCY"):
                m.d.sync += discrepancy.eq(found)
                assign(right, [found] * (t + 1))
                assign(left, shifted)
                m.next = "SCALE"
            with m.State("SCALE"):
                assign(scaled, products)
                m.d.sync += grows.eq((discrepancy != 0) & (self.errors <= step))
                m.next = "SUM"
            with m.State("SUM"):
                sums = [one ^ other for one, other in zip(scaled, products, strict=True)]
                assign(locator, sums)
                assign(left, sums)
                kept = [Mux(grows, *both) for both in zip(locator, shifted, strict=True)]
                assign(shifted, [0, 0, *kept[:-2]])
                following = [syndromes[k - 2] for k in range(2 * t - 1)]
                assign(syndromes, following)
                assign(right, following[: t + 1])
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
            assign(products, multipliers.output)
        return m

    def _odd_syndromes(self, m, is_evaluating):
        """What is left of the remainder, whole a clock after ``start``; and S_n by odd n.

        The syndromes are there when ``is_evaluating`` has been high for :data:`EVALUATION` clocks.
        """
        share = -(-self._code.parity_bits // EVALUATION)
        rest = Signal(EVALUATION * share)
        with m.If(self.start):
            m.d.sync += rest.eq(self.remainder)
        numbers = range(1, 2 * self._code.t, 2)
        if self._tables:
            return rest, self._look_up(m, numbers)
        values = {n: Signal(self._code.m, name=f"odd{n}") for n in numbers}
        with m.If(is_evaluating):
            m.d.sync += rest.eq(rest << share)
        for n, value in values.items():
            columns = [self._field.power(n * bit) for bit in range(share)]
            columns += self._field.scaling(n * share)
            m.submodules[f"evaluate{n}"] = evaluate = LinearMap(columns, self._code.m, tables=False)
            m.d.comb += evaluate.input.eq(Cat(rest[-share:], value))
            with m.If(self.start):
                m.d.sync += value.eq(0)
            with m.Elif(is_evaluating):
                m.d.sync += value.eq(evaluate.output)
        return rest, values

    def _look_up(self, m, numbers):
        """The same from tables, at once, for a remainder that is not 0."""
        code, field = self._code, self._field
        values = {}
        share = WORD_BITS // code.m
        is_needed = self.start & self.remainder.any()
        for first in range(0, code.t, share):
            part = numbers[first : first + share]
            columns = [
                sum(field.power(n * bit) << code.m * index for index, n in enumerate(part))
                for bit in range(code.parity_bits)
            ]
            width = code.m * len(part)
            m.submodules[f"evaluate{first}"] = evaluate = LinearMap(columns, width, tables=True)
            m.d.comb += [evaluate.input.eq(self.remainder), evaluate.enable.eq(is_needed)]
            kept = Signal(width, name=f"odd{first}")
            with m.If(is_needed):
                m.d.sync += kept.eq(evaluate.output)
            values |= {n: kept.word_select(index, code.m) for index, n in enumerate(part)}
        return values

    def _all_syndromes(self, m, odd):
        """By places. S_2j is the square of S_j, hence a repeated square of one in ``odd``."""
        values = [None] * (2 * self._code.t - 1)
        for number in range(1, 2 * self._code.t):
            times = (number & -number).bit_length() - 1
            square = LinearMap(self._field.squaring(times), self._code.m, tables=self._tables)
            m.submodules[f"square{number}"] = square
            m.d.comb += square.input.eq(odd[number >> times])
            values[(1 - number) % len(values)] = square.output
        return values
