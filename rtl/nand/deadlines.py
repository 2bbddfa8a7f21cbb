"""Deadlines of a set of units, as edge numbers."""

from amaranth.hdl import Cat, Signal

from rtl.contract.channel import STAMP_BITS
from rtl.nand.earliest import earliest

__all__ = ["NEVER", "keep_deadlines"]

NEVER = (1 << STAMP_BITS) - 1


def keep_deadlines(m, name, *, now, start, following, cancel):
    """Registers with a deadline for each bit of ``start``: set to ``following`` where that is high.

    A deadline is gone once its edge has come, or where ``cancel`` is high. Returns a vector of
    those whose edge ends this clock, and the earliest of all.
    """
    deadlines = [
        Signal(STAMP_BITS, name=f"{name}{number}", init=NEVER) for number in range(len(start))
    ]
    due = Signal(len(start), name=f"{name}_due")
    m.d.comb += due.eq(Cat(*(deadline == now for deadline in deadlines)))
    for number, deadline in enumerate(deadlines):
        with m.If(start[number]):
            m.d.sync += deadline.eq(following)
        with m.Elif(due[number] | cancel[number]):
            m.d.sync += deadline.eq(NEVER)
    return due, earliest(deadlines)
