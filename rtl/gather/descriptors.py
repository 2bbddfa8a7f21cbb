"""From a launch to its descriptors: they are fetched ahead, and cut out of beats."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.contract.codec import byte_size
from rtl.contract.gather import GatherDescriptor
from rtl.gather.burst import BurstReader

__all__ = ["BURST", "DEPTH", "DescriptorFetcher", "DescriptorRun", "FetchedDescriptor"]

DESCRIPTOR_BYTES = byte_size(GatherDescriptor)
BURST = 16
"""Beats of a burst: rows that ids have closed since the last one are opened once for each."""
DEPTH = 2 * BURST
"""Beats of descriptors that can be in flight or kept."""


class DescriptorRun(data.Struct):
    """``count`` descriptors, at least one, from the 32-byte aligned ``address`` on."""

    address: 64
    count: 32


class FetchedDescriptor(data.Struct):
    """A descriptor as it came; ``error``: the bus failed. ``last``: of its launch.

    ``cut``: it stands for all that are not fetched any more, and holds none of them.
    """

    descriptor: GatherDescriptor
    error: 1
    cut: 1
    last: 1


class DescriptorFetcher(wiring.Component):
    """Reads the descriptors of a run and hands them out, up to one a clock, in order.

    Members: ``runs`` in, ``axi`` (a BurstReader's port), ``descriptors`` out; ``abort`` in, one
    clock: end the run with one descriptor that is ``cut``; ``settled`` out: no beat that was given
    up is on the bus any more.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port; a descriptor is several beats of a narrow one.
    id : int
        AXI ID.
    """

    def __init__(self, axi, *, id):
        if axi.data_bits < 64:
            raise ValueError(f"Data width must be 64 bits at least, not {axi.data_bits}")
        self._axi = axi
        self._id = id
        super().__init__(
            {
                "runs": In(stream.Signature(DescriptorRun)),
                "axi": Out(axi),
                "abort": In(1),
                "settled": Out(1),
                "descriptors": Out(stream.Signature(FetchedDescriptor)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = BurstReader(self._axi, id=self._id, burst=BURST, depth=DEPTH)
        connect(m, reader.axi, flipped(self.axi))
        each = max(self._axi.data_bits // (8 * DESCRIPTOR_BYTES), 1)
        beats = max(8 * DESCRIPTOR_BYTES // self._axi.data_bits, 1)
        left, run, out = Signal(32), self.runs, self.descriptors
        some, one = Signal(), Signal()
        fire, done, cut = Signal(), Signal(), Signal()
        first, stretch = Signal(range(max(each, 2))), reader.stretches.payload
        if each > 1:
            m.d.comb += first.eq(run.payload.address[5 : 4 + each.bit_length()])
        # In two steps, each of few bits or of one sum.
        bits = each.bit_length() - 1
        small = Signal(bits + 2)
        m.d.comb += [
            small.eq(run.payload.count[:bits] + first + (each - 1)),
            fire.eq(out.valid & out.ready),
            done.eq(fire & one),
            reader.stretches.valid.eq(run.valid & ~some),
            run.ready.eq(reader.stretches.ready & ~some),
            stretch.address.eq(run.payload.address & -(self._axi.data_bits // 8)),
            stretch.beats.eq((run.payload.count * beats)[bits:] + small[bits:]),
            out.payload.cut.eq(cut),
            out.payload.last.eq(one),
            self.settled.eq(reader.settled),
        ]
        begin, begun = Signal(), Signal()
        m.d.comb += begin.eq(run.valid & run.ready)
        m.d.sync += begun.eq(begin)
        if each > 1:
            self._cut(m, reader.beats, each, first, begin, some, one, cut)
        else:
            self._join(m, reader.beats, beats, begin, some, cut)
        with m.If(fire):
            m.d.sync += [left.eq(left - 1), some.eq(~one), one.eq(left == 2)]
        with m.If(done):
            m.d.sync += cut.eq(0)
        with m.If(~some):
            m.d.sync += [left.eq(run.payload.count), some.eq(begin)]
        with m.If(begun):
            # No descriptor can be there yet.
            m.d.sync += one.eq(left == 1)
        with m.If(self.abort & some):
            # Behind the last descriptor nothing is left to give up, and it does no harm.
            m.d.comb += reader.cancel.eq(1)
            with m.If(~done):
                m.d.sync += [cut.eq(1), one.eq(1)]
        return m

    def _cut(self, m, beats, each, first, begin, some, one, cut):
        """Several descriptors out of a beat."""
        out, lane = self.descriptors, Signal(range(each))
        words = data.ArrayLayout(GatherDescriptor, each)
        m.d.comb += [
            out.valid.eq((beats.valid & some) | cut),
            out.payload.descriptor.eq(data.View(words, beats.payload.data)[lane]),
            out.payload.error.eq(beats.payload.error),
            beats.ready.eq(some & out.ready & ((lane == each - 1) | one)),
        ]
        with m.If(begin):
            m.d.sync += lane.eq(first)
        with m.Elif(out.valid & out.ready):
            m.d.sync += lane.eq(lane + 1)

    def _join(self, m, beats, count, begin, some, cut):
        """A descriptor out of ``count`` beats, the last of which is not kept."""
        out, number = self.descriptors, Signal(range(max(count, 2)))
        width, last = self._axi.data_bits, Signal()
        kept, failed = Signal(max((count - 1) * width, 1)), Signal()
        m.d.comb += [
            last.eq(number == count - 1),
            out.valid.eq((beats.valid & last & some) | cut),
            out.payload.descriptor.eq(
                Cat(kept, beats.payload.data) if count > 1 else beats.payload.data
            ),
            out.payload.error.eq(beats.payload.error | failed),
            beats.ready.eq(some & (~last | out.ready) & ~cut),
        ]
        with m.If(begin | cut):
            m.d.sync += [number.eq(0), failed.eq(0)]
        with m.Elif(beats.valid & beats.ready):
            m.d.sync += [
                number.eq(Mux(last, 0, number + 1)),
                failed.eq(~last & (failed | beats.payload.error)),
            ]
            if count > 1:
                m.d.sync += kept.eq(Cat(kept, beats.payload.data)[width:])
