"""What an observer of the bus knows about one LUN: busy since when, ready since when."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.nand.checks.rules import stamp

__all__ = ["LunShadow"]


class LunShadow(wiring.Component):
    """Busy from a confirm cycle until R/B# is high after tWB, or a status byte says ready.

    Parameters
    ----------
    busy_cycles : int
        tWB in clocks.

    Members
    -------
    now, rb_n : In
        Number of the edge that ends this clock, and the level of the way's R/B# at it.
    confirm, reset, status_ready : In(1)
        The LUN was told to read (and obeys unless it is busy), to reset, or says in a status byte
        that it is ready.
    busy : Out(1)
        The LUN is not known to be ready.
    window : Out(48)
        Edge tWB after the last confirm cycle; 0 if there was none.
    ready_edge : Out(48)
        Edge at which the LUN was last seen to become ready.
    late : Out(1)
        R/B# is still high at ``window`` (rule T_WB_BUSY).
    """

    def __init__(self, *, busy_cycles):
        self._busy_cycles = busy_cycles
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "rb_n": In(1),
                "confirm": In(1),
                "reset": In(1),
                "status_ready": In(1),
                "busy": Out(1),
                "window": Out(STAMP_BITS),
                "ready_edge": Out(STAMP_BITS),
                "late": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        held, waiting = Signal(), Signal()
        ready_edge = stamp("ready_since")
        m.d.comb += [self.busy.eq(held), self.ready_edge.eq(ready_edge)]
        with m.If(held):
            with m.If(waiting):
                with m.If(self.now >= self.window):
                    m.d.sync += waiting.eq(0)
                    m.d.comb += self.late.eq(self.rb_n)
            with m.Elif(self.rb_n | self.status_ready):
                m.d.sync += [held.eq(0), ready_edge.eq(self.now)]
                m.d.comb += [self.busy.eq(0), self.ready_edge.eq(self.now)]
        with m.If(self.confirm & ~self.busy):
            m.d.sync += [
                held.eq(1),
                waiting.eq(1),
                self.window.eq(self.now + self._busy_cycles),
            ]
        with m.If(self.reset):
            m.d.sync += [held.eq(0), waiting.eq(0), self.window.eq(0)]
        return m
