"""Who may use the bus between the pieces of a page."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["BusReservation"]


class BusReservation(wiring.Component):
    """Keeps the bus for a LUN from a piece of a page to that LUN's next command.

    Commands about a whole way are exempt: they wait for its other LUNs, which must be served.

    Parameters
    ----------
    luns : int
        LUNs of the channel.

    Members
    -------
    keep : In(1)
        Strobe: the bus is kept for LUN ``index``.
    begin : In(1)
        Strobe: a bus operation of LUN ``index`` begins.
    index : In
    targets : In(luns)
        LUNs whose active command is about a whole way.
    allowed : Out(luns)
        LUNs that may be served.
    """

    def __init__(self, luns):
        self._luns = luns
        super().__init__(
            {
                "keep": In(1),
                "begin": In(1),
                "index": In(range(luns)),
                "targets": In(luns),
                "allowed": Out(luns),
            }
        )

    def elaborate(self, platform):
        m = Module()
        kept = Signal(self._luns)
        m.d.comb += self.allowed.eq(Mux((kept & ~self.targets).any(), kept, ~0))
        with m.If(self.keep):
            m.d.sync += kept.eq(1 << self.index)
        with m.Elif(self.begin & kept.bit_select(self.index, 1)):
            m.d.sync += kept.eq(0)
        return m
