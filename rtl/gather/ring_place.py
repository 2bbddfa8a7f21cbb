"""Where a ring lies in the DRAM: registers that all rings have, and what they must be."""

from contextlib import contextmanager

from amaranth.hdl import Const, Mux, Signal

from rtl.contract.gather_rings import MAX_SIZE_LOG2, RingError

__all__ = ["RingPlace"]


class RingPlace:
    """Base address and size of a ring of entries; part of the component that makes it.

    Parameters
    ----------
    shift : int
        Bytes of an entry, as a power of two: the base is aligned to it.

    Attributes
    ----------
    base : Signal(64)
    last : Signal
        Index of the last entry, a mask; set when the ring is enabled.
    """

    def __init__(self, shift):
        self._shift = shift
        self.base, self._size = Signal(64, name="base"), Signal(5, name="size")
        self.last = Signal(MAX_SIZE_LOG2, name="last")

    def address(self, index):
        """Of an entry."""
        return self.base + (index << self._shift)

    def cases(self, m, registers, value, error, *, locked):
        """Cases of writes to ``registers`` (base, its high half, size), in a Switch of offsets."""
        size = Mux(value > MAX_SIZE_LOG2, 0, value)
        targets = (self.base[:32], value), (self.base[32:], value), (self._size, size)
        for register, (target, bits) in zip(registers, targets, strict=True):
            with m.Case(register):
                with m.If(locked):
                    m.d.comb += error.eq(RingError.BUSY)
                with m.Else():
                    m.d.sync += target.eq(bits)

    @contextmanager
    def enabling(self, m, error, *, busy):
        """What is done in this context is done if the ring can be enabled."""
        with m.If(busy):
            m.d.comb += error.eq(RingError.BUSY)
        with m.Elif(self.base[: self._shift] != 0):
            m.d.comb += error.eq(RingError.MISALIGNED)
        with m.Elif(self._size == 0):
            m.d.comb += error.eq(RingError.SIZE)
        with m.Else():
            m.d.sync += self.last.eq((Const(1, MAX_SIZE_LOG2 + 1) << self._size) - 1)
            yield
