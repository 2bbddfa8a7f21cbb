"""From a launch to checked jobs: the descriptors are fetched ahead, cut out of beats and judged."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.contract.codec import byte_size
from rtl.contract.gather import (
    DESCRIPTOR_MAGIC,
    GatherDescriptor,
    GatherMode,
    GatherStatus,
)
from rtl.gather.burst import BurstReader

__all__ = ["DescriptorChecker", "DescriptorFetcher", "DescriptorRun", "FetchedDescriptor", "Job"]

DESCRIPTOR_BYTES = byte_size(GatherDescriptor)


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


class Job(data.Struct):
    """A judged descriptor: ``count`` positions to take, none where ``status`` is bad.

    ``explicit``: they are read from ``positions_address``. ``whole``: they are 0 to ``count`` - 1.
    ``distinct``: they are drawn without replacement. ``range`` is the number of positions among
    which the first one is drawn. ``wide``: ids have 8 bytes, not 4.
    """

    list_address: 64
    positions_address: 64
    degree: 32
    range: 32
    key: 32
    count: 16
    status: 8
    explicit: 1
    whole: 1
    distinct: 1
    wide: 1
    last: 1


class DescriptorFetcher(wiring.Component):
    """Reads the descriptors of a run and hands them out one a clock, in order.

    Runs follow one another without a gap. Members: ``runs`` in, ``axi`` (a BurstReader's port),
    ``descriptors`` out; ``abort`` in, one clock: end the run with one descriptor that is ``cut``.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.
    id : int
        AXI ID.
    """

    def __init__(self, axi, *, id):
        if axi.data_bits < 8 * DESCRIPTOR_BYTES:
            raise ValueError(f"Data width must hold a descriptor (256 bits), not {axi.data_bits}")
        self._axi = axi
        self._id = id
        super().__init__(
            {
                "runs": In(stream.Signature(DescriptorRun)),
                "axi": Out(axi),
                "abort": In(1),
                "descriptors": Out(stream.Signature(FetchedDescriptor)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = BurstReader(self._axi, id=self._id)
        connect(m, reader.axi, flipped(self.axi))
        beat_bytes = self._axi.data_bits // 8
        each = beat_bytes // DESCRIPTOR_BYTES
        lane, left = Signal(range(max(each, 2))), Signal(32)
        run, stretches = self.runs, reader.stretches
        first = Signal(range(max(each, 2)))
        accept, done, fire, cut = Signal(), Signal(), Signal(), Signal()
        if each > 1:
            m.d.comb += first.eq(run.payload.address[5 : beat_bytes.bit_length() - 1])
        m.d.comb += [
            fire.eq(self.descriptors.valid & self.descriptors.ready),
            done.eq(fire & (left == 1)),
            accept.eq((left == 0) | done),
            stretches.valid.eq(run.valid & accept),
            run.ready.eq(stretches.ready & accept),
            stretches.payload.address.eq(run.payload.address & -beat_bytes),
            stretches.payload.beats.eq((run.payload.count + first + (each - 1)) // each),
        ]
        beats = reader.beats
        words = data.ArrayLayout(GatherDescriptor, each)
        beat_used = Signal()
        m.d.comb += [
            self.descriptors.valid.eq((beats.valid & (left != 0)) | cut),
            self.descriptors.payload.cut.eq(cut),
            self.descriptors.payload.descriptor.eq(data.View(words, beats.payload.data)[lane]),
            self.descriptors.payload.error.eq(beats.payload.error),
            self.descriptors.payload.last.eq(left == 1),
            beat_used.eq((lane == each - 1) | (left == 1)),
            beats.ready.eq((left != 0) & self.descriptors.ready & beat_used),
        ]
        with m.If(fire):
            m.d.sync += [lane.eq(Mux(lane == each - 1, 0, lane + 1)), left.eq(left - 1)]
        with m.If(done):
            m.d.sync += cut.eq(0)
        with m.If(run.valid & run.ready):
            m.d.sync += [lane.eq(first), left.eq(run.payload.count)]
        with m.If(self.abort & (left != 0) & ~done):
            m.d.comb += reader.cancel.eq(1)
            m.d.sync += [cut.eq(1), left.eq(1)]
        return m


class DescriptorChecker(wiring.Component):
    """Judges descriptors; one a clock, one clock of latency.

    Refused with BAD_DESCRIPTOR: a wrong magic, mode or id_log2, a fan-out of 0 or above
    ``max_fan_out``, or above ``max_distinct`` to be drawn without replacement, a list not aligned
    to its ids, explicit positions not aligned to 4 bytes, a list or positions that run over the end
    of the address space. What the bus could not read is BUS_ERROR, what is cut is ABORTED. A
    well-formed descriptor of degree 0 becomes a job of no positions.

    Parameters
    ----------
    max_fan_out, max_distinct : int
        1 to 65,535.

    Members
    -------
    descriptors : In(stream of FetchedDescriptor)
        What came.
    jobs : Out(stream of Job)
        What is to be done.
    seen, refused, empty : Out(1)
        For counters: a descriptor was taken in this clock, and what it was.
    """

    descriptors: In(stream.Signature(FetchedDescriptor))
    jobs: Out(stream.Signature(Job))
    seen: Out(1)
    refused: Out(1)
    empty: Out(1)

    def __init__(self, max_fan_out, max_distinct):
        for name, most in (
            ("Largest fan-out", max_fan_out),
            ("Largest fan-out without replacement", max_distinct),
        ):
            if not isinstance(most, int) or not 1 <= most < 1 << 16:
                raise ValueError(f"{name} must be 1 to 65535, not {most!r}")
        self._max_fan_out = max_fan_out
        self._max_distinct = max_distinct
        super().__init__()

    @property
    def max_fan_out(self):
        return self._max_fan_out

    @property
    def max_distinct(self):
        return self._max_distinct

    def _good(self, m, given, wide, explicit, distinct):
        """Whether every rule holds."""
        list_end, positions_end = Signal(65), Signal(65)
        limit = 1 << 64
        m.d.comb += [
            list_end.eq(given.list_address + Mux(wide, given.degree << 3, given.degree << 2)),
            positions_end.eq(given.positions_address + (given.fan_out << 2)),
        ]
        positions_good = (given.positions_address[:2] == 0) & (positions_end <= limit)
        return (
            (given.magic == DESCRIPTOR_MAGIC)
            & (explicit | distinct | (given.mode == GatherMode.DRAW))
            & (wide | (given.id_log2 == 2))
            & (given.fan_out != 0)
            & (given.fan_out <= self._max_fan_out)
            & (~distinct | (given.fan_out <= self._max_distinct))
            & Mux(wide, given.list_address[:3] == 0, given.list_address[:2] == 0)
            & (list_end <= limit)
            & (~explicit | positions_good)
        )

    def elaborate(self, platform):
        m = Module()
        taken, job = self.descriptors.payload, Signal(Job)
        given = taken.descriptor
        wide, explicit, good = Signal(), Signal(), Signal()
        fire = Signal()
        distinct, whole, count = Signal(), Signal(), Signal(16)
        status = Signal(GatherStatus)
        m.d.comb += [
            wide.eq(given.id_log2 == 3),
            explicit.eq(given.mode == GatherMode.EXPLICIT),
            distinct.eq(given.mode == GatherMode.DRAW_DISTINCT),
            whole.eq(distinct & (given.degree <= given.fan_out)),
            good.eq(self._good(m, given, wide, explicit, distinct)),
            self.descriptors.ready.eq(~self.jobs.valid | self.jobs.ready),
            fire.eq(self.descriptors.valid & self.descriptors.ready),
            self.seen.eq(fire & ~taken.cut),
            self.refused.eq(self.seen & ~taken.error & ~good),
            self.empty.eq(self.seen & ~taken.error & good & (given.degree == 0)),
            job.list_address.eq(given.list_address),
            job.positions_address.eq(given.positions_address),
            job.degree.eq(given.degree),
            job.range.eq(given.degree - Mux(distinct, given.fan_out - 1, 0)),
            job.key.eq(given.key),
            job.explicit.eq(explicit),
            job.whole.eq(whole),
            job.distinct.eq(distinct & ~whole),
            job.wide.eq(wide),
            job.last.eq(taken.last),
            job.status.eq(status),
            count.eq(Mux(whole | (given.degree == 0), given.degree, given.fan_out)),
            job.count.eq(Mux(status == GatherStatus.OK, count, 0)),
        ]
        with m.If(taken.cut):
            m.d.comb += status.eq(GatherStatus.ABORTED)
        with m.Elif(taken.error):
            m.d.comb += status.eq(GatherStatus.BUS_ERROR)
        with m.Elif(~good):
            m.d.comb += status.eq(GatherStatus.BAD_DESCRIPTOR)
        with m.If(fire):
            m.d.sync += [self.jobs.payload.eq(job), self.jobs.valid.eq(1)]
        with m.Elif(self.jobs.ready):
            m.d.sync += self.jobs.valid.eq(0)
        return m
