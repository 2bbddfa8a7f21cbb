"""Event counters of a channel."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import ChannelCounters

__all__ = ["EventCounters"]

NAMES = [name for name, _ in data.Layout.cast(ChannelCounters)]
STROBES = data.StructLayout(dict.fromkeys(NAMES, 1))


class EventCounters(wiring.Component):
    """Counts the clocks in which each strobe is high; the count follows at the next edge.

    Members
    -------
    strobes : In
        One bit for each field of :class:`ChannelCounters`, under the same name.
    counters : Out(ChannelCounters)
    """

    strobes: In(STROBES)
    counters: Out(ChannelCounters)

    def elaborate(self, platform):
        m = Module()
        for name in NAMES:
            with m.If(self.strobes[name]):
                m.d.sync += self.counters[name].eq(self.counters[name] + 1)
        return m
