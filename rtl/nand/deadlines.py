"""Deadlines of a set of units, as edge numbers."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Signal

from rtl.contract.channel import NEVER, STAMP_BITS

__all__ = ["keep_deadlines"]


def keep_deadlines(m, name, *, now, waits, cancel):
    """Registers with a deadline for each unit, set by pairs of a vector of strobes and a wait.

    Where a strobe is high the deadline comes ``wait`` clocks, at least 2, after the edge that ends
    this clock; of several waits the first counts. A deadline is gone after its edge, or where
    ``cancel`` is high. Registers hold the edge before, so that the comparison has a clock to
    itself. Returns a vector of those whose edge ends this clock, and the registers.
    """
    start = reduce(or_, (strobes for strobes, _ in waits))
    following = [Signal(STAMP_BITS, name=f"{name}_in{wait}") for _, wait in waits]
    deadlines = [
        Signal(STAMP_BITS, name=f"{name}{number}", init=NEVER) for number in range(len(start))
    ]
    come, due = (Signal(len(start), name=f"{name}_{word}") for word in ("come", "due"))
    m.d.comb += [
        edge.eq(now + (wait - 1)) for edge, (_, wait) in zip(following, waits, strict=True)
    ]
    m.d.comb += come.eq(Cat(deadline == now for deadline in deadlines))
    m.d.sync += due.eq(come & ~start & ~cancel)
    for number, deadline in enumerate(deadlines):
        with m.If(due[number] | cancel[number]):
            m.d.sync += deadline.eq(NEVER)
        for edge, (strobes, _) in reversed(list(zip(following, waits, strict=True))):
            with m.If(strobes[number]):
                m.d.sync += deadline.eq(edge)
    return due, deadlines
