"""The order in which requests came, and which of them is the oldest."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["OldestFirst"]


class OldestFirst(wiring.Component):
    """Picks the request that has waited longest; of those of one clock the lowest number.

    Parameters
    ----------
    count : int
        Requests.

    Members
    -------
    waiting : In(count)
        A request is as old as its bit has been set.
    requests : In(count)
        Those of ``waiting`` that may be picked.
    oldest : Out(count)
        The one picked, if there is any; follows within the clock.
    """

    def __init__(self, count):
        self._count = count
        super().__init__({"waiting": In(count), "requests": In(count), "oldest": Out(count)})

    def elaborate(self, platform):
        m = Module()
        known, new = Signal(self._count), Signal(self._count)
        m.d.comb += new.eq(self.waiting & ~known)
        m.d.sync += known.eq(self.waiting)
        for number in range(self._count):
            older = Signal(self._count, name=f"older{number}")
            lower = (1 << number) - 1
            now = self.waiting & Mux(new[number], known | new & lower, older)
            m.d.sync += older.eq(now)
            m.d.comb += self.oldest[number].eq(self.requests[number] & ~(now & self.requests).any())
        return m
