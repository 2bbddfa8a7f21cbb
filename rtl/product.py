"""A product between registers, in the multiplier of the FPGA if the platform has one to give."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["FACTOR_BITS", "PRODUCT_CLOCKS", "Product"]

FACTOR_BITS = 16
"""Bits of a factor: what fits the multipliers of FPGAs, unsigned."""
PRODUCT_CLOCKS = 2
"""Clocks from the factors to their product."""


class Product(wiring.Component):
    """Multiplies two unsigned numbers; a product a clock, :data:`PRODUCT_CLOCKS` clocks later.

    Factors have a register, and so has the product. A platform with a method ``get_product(self)``
    says what is put in place: the registers that multipliers of FPGAs have inside are not always
    found by tools. Registers have no reset.

    Members
    -------
    left, right : In
        Factors.
    product : Out
        Their product.
    """

    left: In(FACTOR_BITS)
    right: In(FACTOR_BITS)
    product: Out(2 * FACTOR_BITS)

    def elaborate(self, platform):
        if hasattr(platform, "get_product"):
            return platform.get_product(self)
        m = Module()
        left, right = (Signal(FACTOR_BITS, reset_less=True, name=name) for name in ("a", "b"))
        product = Signal(2 * FACTOR_BITS, reset_less=True)
        m.d.sync += [left.eq(self.left), right.eq(self.right), product.eq(left * right)]
        m.d.comb += self.product.eq(product)
        return m
