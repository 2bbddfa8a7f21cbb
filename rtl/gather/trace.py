# amaranth: UnusedElaboratable=no
# (The parts are made in the constructor, which must refuse what they refuse.)
"""A bare trace of reads through the simulation DRAM: what is the most that it gives."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect

from rtl.axi4 import Axi4Read
from rtl.contract.axi import Burst
from rtl.contract.gather import AXI_ID_BITS
from rtl.gather.dram import SimDram
from rtl.sim_memory import SimMemory

__all__ = ["DramTraceUnit", "TraceDone", "TracePlayer"]

NEVER = (1 << 48) - 1


class TraceDone(data.Struct):
    """Edges at which the trace was begun and at which its last beat was taken."""

    started: 48
    last: 48


class TracePlayer(wiring.Component):
    """Reads single beats at addresses from a memory, one a clock where the bus takes them.

    They have all AXI IDs by turns, so that the memory may answer them in its own order, and as many
    are in flight as the bus takes.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.
    places : int
        Addresses that the memory holds; a power of two.
    emitted : bool
        As of :class:`SimMemory`.

    Members
    -------
    start : In(1)
        Begin with the first address; nothing must be under way.
    count : In(32)
        How many, in that clock; at least one.
    axi : Out(Axi4Read)
        The bus.
    busy : Out(1)
        Beats are still to come.
    last : Out(1)
        The last of them is taken in this clock.
    """

    def __init__(self, axi, places, *, emitted=False):
        self._axi = axi
        self.storage = SimMemory(depth=places, width=64, emitted=emitted)
        super().__init__(
            {
                "start": In(1),
                "count": In(32),
                "axi": Out(axi),
                "busy": Out(1),
                "last": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = self.storage
        ar, r = self.axi.ar, self.axi.r
        place, unread, due, move = Signal(32), Signal(32), Signal(32), Signal()
        m.d.comb += [
            move.eq((unread != 0) & (~ar.valid | ar.ready)),
            self.storage.read_address.eq(place),
            self.storage.read_enable.eq(move),
            ar.payload.id.eq(place - 1),
            ar.payload.addr.eq(self.storage.read_data),
            ar.payload.size.eq((self._axi.data_bits // 8).bit_length() - 1),
            ar.payload.burst.eq(Burst.INCR),
            r.ready.eq(1),
            self.busy.eq(due != 0),
            self.last.eq(r.valid & (due == 1)),
        ]
        with m.If(self.start):
            m.d.sync += [place.eq(0), unread.eq(self.count), due.eq(self.count)]
        with m.Else():
            m.d.sync += [place.eq(place + move), unread.eq(unread - move), due.eq(due - r.valid)]
        with m.If(move):
            m.d.sync += ar.valid.eq(1)
        with m.Elif(ar.ready):
            m.d.sync += ar.valid.eq(0)
        return m


class DramTraceUnit(wiring.Component):
    """One clock domain of a benchmark: a player before a DRAM like that of the gather unit.

    Parameters
    ----------
    times : DramTimes
        The DRAM.
    period_ps, data_bits, window_bytes, emitted
        As of :class:`SimDram`.
    places : int
        As of :class:`TracePlayer`.

    Members
    -------
    now : In(48)
        Edge number.
    trace : In(32), trace_toggle : In(1)
        Mailbox: how many addresses to play.
    event : Out(TraceDone), event_toggle : Out(1)
        A trace is over.
    quiet, wake_edge :
        As of every unit.
    counters : Out(32)
        Beats read since reset.
    """

    def __init__(
        self,
        *,
        times,
        period_ps=4000,
        data_bits=512,
        window_bytes=1 << 24,
        places=1 << 16,
        emitted=False,
    ):
        id_bits = AXI_ID_BITS
        self.dram = SimDram(
            period_ps=period_ps,
            times=times,
            data_bits=data_bits,
            id_bits=id_bits,
            window_bytes=window_bytes,
            emitted=emitted,
        )
        self.player = TracePlayer(Axi4Read(64, data_bits, id_bits), places, emitted=emitted)
        super().__init__(
            {
                "now": In(48),
                "trace": In(32),
                "trace_toggle": In(1),
                "event": Out(TraceDone),
                "event_toggle": Out(1),
                "quiet": Out(1),
                "wake_edge": Out(48, init=NEVER),
                "counters": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.dram, m.submodules.player = dram, player = self.dram, self.player
        connect(m, player.axi, dram.read)
        seen = Signal()
        m.d.sync += seen.eq(self.trace_toggle)
        m.d.comb += [
            player.start.eq(seen != self.trace_toggle),
            player.count.eq(self.trace),
            dram.now.eq(self.now),
            self.quiet.eq(~player.busy & ~player.start & ~dram.busy),
        ]
        with m.If(player.start):
            m.d.sync += self.event.started.eq(self.now)
        with m.If(player.axi.r.valid):
            m.d.sync += self.counters.eq(self.counters + 1)
        with m.If(player.last):
            m.d.sync += [self.event.last.eq(self.now), self.event_toggle.eq(~self.event_toggle)]
        return m
