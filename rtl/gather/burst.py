"""Fetches stretches of DRAM as AXI4 bursts and hands out their beats in order."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.axi import BOUNDARY_BYTES, Burst
from rtl.gather.queue import Queue

__all__ = ["DEPTH", "BurstReader", "Stretch"]

DEPTH = 16
"""Beats of a reader that can be in flight or kept, where it is not made for another number."""


class Stretch(data.Struct):
    """``beats`` bus-wide words from the beat-aligned ``address`` on; at least one."""

    address: 64
    beats: 32


class BurstReader(wiring.Component):
    """Reads stretches ahead of their use; a burst is planned, finds room, and is asked for.

    Bursts are at most ``burst`` beats long and never cross a 4 KB boundary. A burst is requested
    only when there is room for all of it, so ``axi.r`` never waits.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.
    id : int
        AXI ID of all bursts.
    burst, depth : int
        Longest burst, and beats that can be in flight or kept; powers of two, ``depth`` is at least
        twice ``burst``.

    Members
    -------
    stretches : In(stream of Stretch)
        What to read.
    cancel : In(1)
        Give up all that has been asked for and not handed out. What is on the bus is waited for
        before the next stretch is taken; a burst on offer stays on offer.
    axi : Out(Axi4Read)
        The bus.
    settled : Out(1)
        Nothing that was given up is on the bus any more.
    beats : Out(stream of data, error)
        Their words, in order; ``error`` where the bus answered with one.
    """

    def __init__(self, axi, *, id, burst=8, depth=DEPTH):
        if burst & burst - 1 or not 1 <= burst <= BOUNDARY_BYTES * 8 // axi.data_bits:
            raise ValueError(f"Burst must be a power of two of beats within 4 KB, not {burst!r}")
        if depth < 2 * burst:
            raise ValueError(f"Depth must be at least twice the burst of {burst}, not {depth!r}")
        if not 0 <= id < 1 << axi.id_bits:
            raise ValueError(f"ID must fit in {axi.id_bits} bits, not {id!r}")
        self._axi = axi
        self._id = id
        self._burst = burst
        self._depth = depth
        self._beat = data.StructLayout({"data": axi.data_bits, "error": 1})
        super().__init__(
            {
                "stretches": In(stream.Signature(Stretch)),
                "cancel": In(1),
                "axi": Out(axi),
                "settled": Out(1),
                "beats": Out(stream.Signature(self._beat)),
            }
        )

    @property
    def burst(self):
        return self._burst

    @property
    def depth(self):
        return self._depth

    def elaborate(self, platform):
        m = Module()
        m.submodules.kept = kept = Queue(self._beat, self._depth, can_fill=False)
        free = Signal(range(self._depth + 1), init=self._depth)
        beats, final = Signal(range(self._burst + 1)), Signal()
        to_boundary = Signal(range(self._burst + 1))
        stretch, idle, planned, dropping = Signal(Stretch), Signal(init=1), Signal(), Signal()
        ar, r = self.axi.ar, self.axi.r
        beat_bits = (self._axi.data_bits // 8).bit_length() - 1
        begins_at = self.stretches.payload.address[beat_bits:][: self._burst.bit_length() - 1]
        offered, issued, taken = Signal(), Signal(), Signal()
        m.d.comb += [
            ar.valid.eq(offered),
            ar.payload.addr.eq(stretch.address),
            ar.payload.len.eq(beats - 1),
            ar.payload.size.eq(beat_bits),
            ar.payload.burst.eq(Burst.INCR),
            ar.payload.id.eq(self._id),
            issued.eq(ar.valid & ar.ready),
            taken.eq(kept.head.valid & kept.head.ready),
            self.stretches.ready.eq(idle & ~dropping),
        ]
        # What is left behind a burst is summed up before it can be taken.
        behind = Signal(Stretch)
        m.d.sync += [
            behind.address.eq(stretch.address + (beats << beat_bits)),
            behind.beats.eq(stretch.beats - beats),
        ]
        # Both are counted a clock later; the next burst looks at what is free two clocks later.
        came_back, went = Signal(), Signal.like(beats)
        m.d.sync += [
            came_back.eq(taken),
            went.eq(Mux(issued, beats, 0)),
            free.eq((free + came_back) - went),
        ]
        with m.If(self.cancel):
            m.d.sync += [
                dropping.eq(1),
                planned.eq(ar.valid & ~ar.ready),
                offered.eq(ar.valid & ~ar.ready),
                idle.eq(~(ar.valid & ~ar.ready)),
                final.eq(1),
            ]
        with m.Elif(issued):
            m.d.sync += [
                planned.eq(0),
                offered.eq(0),
                idle.eq(final),
                stretch.eq(behind),
                to_boundary.eq(self._burst),
            ]
        with m.Elif(planned):
            # What is free does not become less before the burst is taken.
            m.d.sync += offered.eq(free >= beats)
        with m.Elif(~idle):
            left = stretch.beats[: len(beats)]
            ends = (left <= to_boundary) & (stretch.beats[len(beats) :] == 0)
            m.d.sync += [
                beats.eq(Mux(ends, left, to_boundary)),
                final.eq(ends),
                planned.eq(1),
            ]
        with m.Else():
            # A burst is what is left, up to the longest one and to the 4 KB boundary. A length that
            # divides the boundary makes one limit of both: the next multiple of it, where each
            # burst behind the first one begins.
            m.d.sync += [
                stretch.eq(self.stretches.payload),
                to_boundary.eq(self._burst - begins_at),
            ]
            with m.If(self.stretches.valid & self.stretches.ready):
                m.d.sync += idle.eq(0)
        with m.If(~self.cancel & idle & (free == self._depth) & (went == 0)):
            m.d.sync += dropping.eq(0)
        m.d.comb += [
            kept.entries.valid.eq(r.valid),
            kept.entries.payload.eq(Cat(r.payload.data, r.payload.resp[1])),
            r.ready.eq(1),
            self.settled.eq(~dropping),
            self.beats.valid.eq(kept.head.valid & ~dropping),
            self.beats.payload.eq(kept.head.payload),
            kept.head.ready.eq(self.beats.ready | dropping),
        ]
        return m
