"""Ready and busy of one LUN of a die; simulation only."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS, ArrayDone

__all__ = ["DieLun"]


class DieLun(wiring.Component):
    """Counts tWB, says when the array operation begins, and waits for its end.

    ::

        edge     n    n+1  ...  n+tWB        k
        start   _-_____________________________
        begin   _____________-_________________
        ready   -------------__________---------

    ``k`` is the first edge after the kernel's answer. Until n + tWB the LUN still looks ready, as
    a real one may: whoever looks too early is deceived.

    Parameters
    ----------
    busy_cycles : int
        Clocks from ``start`` to ``begin`` (tWB), at least 1.
    row_bits : int
        Width of a row address within the LUN.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    start, row : In
        The confirm cycle of a read; ignored unless the LUN is idle.
    abort : In(1)
        Ready at the next edge; the operation number moves on, so that a late answer is stale.
    done : In(ArrayDone)
        The kernel's answer; dropped unless its number is that of the operation under way.
    begin, number, begin_row : Out
        The array operation begins at this edge.
    ready : Out(1)
        What R/B# and the status byte show at this edge.
    idle : Out(1)
        Ready, and no start is waiting for its tWB.
    unseen : Out(1)
        An answer has come that no edge has taken yet.
    deadline : Out(48)
        Edge of the next ``begin``; all ones if there is none.
    """

    def __init__(self, *, busy_cycles, row_bits):
        if not isinstance(busy_cycles, int) or busy_cycles < 1:
            raise ValueError(f"busy_cycles must be a positive integer, not {busy_cycles!r}")
        self._busy_cycles = busy_cycles
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "start": In(1),
                "row": In(row_bits),
                "abort": In(1),
                "done": In(ArrayDone),
                "begin": Out(1),
                "number": Out(8),
                "begin_row": Out(row_bits),
                "ready": Out(1),
                "idle": Out(1),
                "unseen": Out(1),
                "deadline": Out(STAMP_BITS, init=-1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        busy = Signal()
        armed = Signal()
        toggle = Signal()
        finished = Signal()
        m.d.comb += [
            self.unseen.eq(self.done.toggle != toggle),
            finished.eq(self.unseen & (self.done.number == self.number)),
            self.begin.eq(armed & (self.now == self.deadline)),
            self.ready.eq(~self.begin & (~busy | finished)),
            self.idle.eq(self.ready & ~armed),
        ]
        with m.If(self.unseen):
            m.d.sync += toggle.eq(self.done.toggle)
            with m.If(finished):
                m.d.sync += busy.eq(0)
        with m.If(self.begin):
            m.d.sync += [busy.eq(1), armed.eq(0), self.deadline.eq(-1)]
        with m.If(self.start & self.idle):
            m.d.sync += [
                armed.eq(1),
                self.deadline.eq(self.now + self._busy_cycles),
                self.begin_row.eq(self.row),
                self.number.eq(self.number + 1),
            ]
        with m.If(self.abort):
            m.d.sync += [
                busy.eq(0),
                armed.eq(0),
                self.deadline.eq(-1),
                self.number.eq(self.number + 1),
            ]
        return m
