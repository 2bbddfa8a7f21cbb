"""Answers that wait for their time, sorted by it. Simulation only."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from rtl.gather.dram_places import TIME_BITS
from rtl.gather.queue import Queue

__all__ = ["AnswerQueue"]


class AnswerQueue(wiring.Component):
    """Takes entries as they are planned, gives them as they are done; those of one ID in order.

    A new entry goes in front of those of other IDs that are done later, of the last ``reorder``.

    Parameters
    ----------
    beat : data.Layout
        Of an entry, with a field ``id``.
    depth : int
        Entries that can wait; a power of two.
    reorder : int
        How many an entry may pass.

    Members
    -------
    entries : In(stream of done and beat)
        Entries in; ``done`` is a time.
    head : Out(stream of the same)
        The next entry out; at the earliest one clock after it went in.
    """

    def __init__(self, beat, depth, reorder):
        self._entry = data.StructLayout({"done": TIME_BITS, "beat": beat})
        self._depth = depth
        self._reorder = reorder
        super().__init__(
            {
                "entries": In(stream.Signature(self._entry)),
                "head": Out(stream.Signature(self._entry)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.settled = settled = Queue(self._entry, self._depth)
        if not self._reorder:
            connect(m, wiring.flipped(self.entries), settled.entries)
            connect(m, settled.head, wiring.flipped(self.head))
            return m
        late = [Signal(self._entry, name=f"late{n}") for n in range(self._reorder)]
        level, total = Signal(range(self._reorder + 1)), Signal(range(self._depth + 1))
        put, take, first, spill = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            self.entries.ready.eq(total != self._depth),
            put.eq(self.entries.valid & self.entries.ready),
            self.head.valid.eq(total != 0),
            self.head.payload.eq(Mux(settled.head.valid, settled.head.payload, late[0])),
            take.eq(self.head.valid & self.head.ready),
            settled.head.ready.eq(self.head.ready),
            first.eq(take & ~settled.head.valid),
            spill.eq(put & ~first & (level == self._reorder)),
            settled.entries.valid.eq(spill),
        ]
        merged = self._merge(m, late, level, put)
        m.d.comb += settled.entries.payload.eq(merged[0])
        with m.If(first | spill):
            m.d.sync += [place.eq(entry) for place, entry in zip(late, merged[1:], strict=True)]
        with m.Else():
            m.d.sync += [place.eq(entry) for place, entry in zip(late, merged, strict=False)]
        m.d.sync += [level.eq(level + put - first - spill), total.eq(total + put - take)]
        return m

    def _merge(self, m, late, level, put):
        """What waits, with the new entry in its place among it."""
        new = self.entries.payload
        where, passes = Signal(range(len(late) + 1)), Const(1)
        m.d.comb += where.eq(level)
        for place in reversed(range(len(late))):
            here = late[place]
            mine = (here.done > new.done) & (here.beat.id != new.beat.id)
            passes = passes & ((level <= place) | mine)
            with m.If(passes & (level > place)):
                m.d.comb += where.eq(place)
        merged = [Signal(self._entry, name=f"merged{n}") for n in range(len(late) + 1)]
        for place, entry in enumerate(merged):
            here = late[min(place, len(late) - 1)]
            before = late[max(place - 1, 0)]
            with m.If(~put | (where > place)):
                m.d.comb += entry.eq(here)
            with m.Elif(where == place):
                m.d.comb += entry.eq(new)
            with m.Else():
                m.d.comb += entry.eq(before)
        return merged
