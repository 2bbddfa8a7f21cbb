"""From descriptors to jobs: each is judged, and becomes what a lane has to do."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.gather import DESCRIPTOR_MAGIC, GatherMode, GatherStatus
from rtl.contract.mixer import GOLDEN
from rtl.gather.descriptors import FetchedDescriptor
from rtl.gather.queue import QUEUED, RunUp

__all__ = ["DescriptorChecker", "Job"]

HALF = 32
"""Bits of half an address."""
STEPS = 4
"""Registers of a descriptor: as taken, looked at, summed, judged."""


class Job(data.Struct):
    """A judged descriptor: ``count`` positions to take; ``none`` where there are none.

    ``read``: they are read from ``positions_address``. ``whole``: they are 0 to ``count`` - 1.
    ``distinct``: they are drawn without replacement. ``range`` is the number of positions among
    which the first one is drawn, ``word`` what is mixed for it. ``wide``: ids have 8 bytes, not 4.
    """

    list_address: 64
    positions_address: 64
    degree: 32
    range: 32
    word: 32
    count: 16
    status: 8
    none: 1
    read: 1
    whole: 1
    distinct: 1
    wide: 1
    last: 1


class Looked(data.Struct):
    """A descriptor and what its fields say, each for itself; low halves of sums with carry."""

    valid: 1
    given: FetchedDescriptor
    wide: 1
    explicit: 1
    distinct: 1
    small: 1
    within: 1
    magic_good: 1
    kind_good: 1
    fan_out_good: 1
    list_aligned: 1
    positions_aligned: 1
    list_low: HALF + 1
    list_more: 3
    positions_low: HALF + 1
    less: 16
    word: 32


class Summed(data.Struct):
    """A job before its verdict; high halves of the ends of list and positions, with carry."""

    valid: 1
    error: 1
    cut: 1
    explicit: 1
    empty: 1
    good: 1
    positions_good: 1
    list_end: HALF + 1
    list_whole: 1
    positions_end: HALF + 1
    positions_whole: 1
    job: Job


class Judged(data.Struct):
    """A job, and what is wrong with it.

    ``good``: nothing that came with the descriptor, or is in its fields. ``void``: there are no
    positions, or something is. ``list_over``, ``positions_over``: the end is beyond the address
    space.
    """

    valid: 1
    error: 1
    cut: 1
    explicit: 1
    empty: 1
    good: 1
    void: 1
    list_over: 1
    positions_over: 1
    job: Job


class DescriptorChecker(wiring.Component):
    """Judges descriptors; one a clock, in :attr:`latency` clocks.

    Refused with BAD_DESCRIPTOR: a wrong magic, mode or id_log2, a fan-out of 0 or above
    ``max_fan_out``, or above ``max_distinct`` to be drawn without replacement, a list not aligned
    to its ids, explicit positions not aligned to 4 bytes, a list or positions that run over the end
    of the address space. What the bus could not read is BUS_ERROR, what is cut is ABORTED. A
    well-formed descriptor of degree 0 becomes a job of no positions.

    What has been taken runs through without a stop, into a queue. Sums of addresses are made in
    halves, one a clock.

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
        For counters: a descriptor was judged in this clock, and what it was.
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

    @property
    def latency(self):
        """Clocks from a descriptor to its job: the registers, and the queue."""
        return STEPS + QUEUED

    def elaborate(self, platform):
        m = Module()
        m.submodules.run_up = run_up = RunUp(Job, STEPS)
        m.d.comb += [
            run_up.asked.eq(self.descriptors.valid),
            self.descriptors.ready.eq(run_up.ready),
            self.jobs.payload.eq(run_up.head.payload),
            self.jobs.valid.eq(run_up.head.valid),
            run_up.head.ready.eq(self.jobs.ready),
        ]
        taken = Signal(data.StructLayout({"valid": 1, "given": FetchedDescriptor}))
        m.d.sync += [
            taken.valid.eq(self.descriptors.valid & self.descriptors.ready),
            taken.given.eq(self.descriptors.payload),
        ]
        looked = self._look(m, taken)
        summed = self._sum(m, looked)
        judged = self._judge(m, summed)
        self._finish(m, run_up, judged)
        return m

    def _look(self, m, taken):
        """Second register: fields looked at one by one, low halves of the ends."""
        looked = Signal(Looked)
        given = taken.given.descriptor
        wide, distinct, explicit = Signal(), Signal(), Signal()
        # Of those that are not refused; one bit, so that sums need not wait for a comparison.
        of_8_bytes = given.id_log2[0]
        m.d.comb += [
            wide.eq(given.id_log2 == 3),
            explicit.eq(given.mode == GatherMode.EXPLICIT),
            distinct.eq(given.mode == GatherMode.DRAW_DISTINCT),
        ]
        m.d.sync += [
            looked.valid.eq(taken.valid),
            looked.given.eq(taken.given),
            looked.wide.eq(wide),
            looked.explicit.eq(explicit),
            looked.distinct.eq(distinct),
            looked.small.eq(given.degree[16:] == 0),
            looked.within.eq(given.degree[:16] <= given.fan_out),
            looked.magic_good.eq(given.magic == DESCRIPTOR_MAGIC),
            looked.kind_good.eq(
                (explicit | distinct | (given.mode == GatherMode.DRAW))
                & (wide | (given.id_log2 == 2))
            ),
            looked.fan_out_good.eq(
                (given.fan_out != 0)
                & (given.fan_out <= self._max_fan_out)
                & (~distinct | (given.fan_out <= self._max_distinct))
            ),
            looked.list_aligned.eq(
                Mux(of_8_bytes, given.list_address[:3] == 0, given.list_address[:2] == 0)
            ),
            looked.positions_aligned.eq(given.positions_address[:2] == 0),
            looked.list_low.eq(
                given.list_address[:HALF]
                + Mux(of_8_bytes, given.degree << 3, given.degree << 2)[:HALF]
            ),
            looked.list_more.eq(Mux(of_8_bytes, given.degree >> 29, given.degree >> 30)),
            looked.positions_low.eq(given.positions_address[:HALF] + (given.fan_out << 2)),
            looked.less.eq(Mux(distinct, given.fan_out - 1, 0)),
            looked.word.eq(given.key + GOLDEN),
        ]
        return looked

    def _sum(self, m, looked):
        """Third register: high halves of the ends."""
        summed = Signal(Summed)
        given = looked.given.descriptor
        whole = looked.distinct & looked.small & looked.within
        m.d.sync += [
            summed.valid.eq(looked.valid),
            summed.error.eq(looked.given.error),
            summed.cut.eq(looked.given.cut),
            summed.explicit.eq(looked.explicit),
            summed.empty.eq(given.degree == 0),
            summed.good.eq(
                looked.magic_good & looked.kind_good & looked.fan_out_good & looked.list_aligned
            ),
            summed.positions_good.eq(~looked.explicit | looked.positions_aligned),
            summed.list_end.eq(
                given.list_address[HALF:] + looked.list_more + looked.list_low[HALF]
            ),
            summed.list_whole.eq(looked.list_low[:HALF] == 0),
            summed.positions_end.eq(given.positions_address[HALF:] + looked.positions_low[HALF]),
            summed.positions_whole.eq(looked.positions_low[:HALF] == 0),
            summed.job.list_address.eq(given.list_address),
            summed.job.positions_address.eq(given.positions_address),
            summed.job.degree.eq(given.degree),
            summed.job.range.eq(given.degree - looked.less),
            summed.job.word.eq(looked.word),
            summed.job.count.eq(Mux(whole, given.degree[:16], given.fan_out)),
            summed.job.whole.eq(whole),
            summed.job.distinct.eq(looked.distinct & ~whole),
            summed.job.wide.eq(looked.wide),
            summed.job.last.eq(looked.given.last),
        ]
        return summed

    def _judge(self, m, summed):
        """Fourth register: which rules hold."""
        judged = Signal(Judged)
        # The end of the address space itself is not beyond it.
        list_over = summed.list_end[HALF] & ((summed.list_end[:HALF] != 0) | ~summed.list_whole)
        positions_over = summed.positions_end[HALF] & (
            (summed.positions_end[:HALF] != 0) | ~summed.positions_whole
        )
        good, status = Signal(), Signal(GatherStatus)
        with m.If(summed.cut):
            m.d.comb += status.eq(GatherStatus.ABORTED)
        with m.Elif(summed.error):
            m.d.comb += status.eq(GatherStatus.BUS_ERROR)
        with m.Elif(~(summed.good & summed.positions_good)):
            m.d.comb += status.eq(GatherStatus.BAD_DESCRIPTOR)
        with m.Else():
            m.d.comb += good.eq(1)
        m.d.sync += [
            judged.valid.eq(summed.valid),
            judged.error.eq(summed.error),
            judged.cut.eq(summed.cut),
            judged.explicit.eq(summed.explicit),
            judged.empty.eq(summed.empty),
            judged.good.eq(good),
            judged.void.eq(~good | summed.empty),
            judged.list_over.eq(list_over),
            judged.positions_over.eq(summed.explicit & positions_over),
            judged.job.eq(summed.job),
            judged.job.status.eq(status),
        ]
        return judged

    def _finish(self, m, run_up, judged):
        """The job, and what is counted; of few bits each, for the way into the queue is long."""
        job = run_up.arrived
        over = judged.list_over | judged.positions_over
        m.d.comb += [
            job.eq(judged.job),
            job.status.eq(Mux(judged.good & over, GatherStatus.BAD_DESCRIPTOR, judged.job.status)),
            job.none.eq(judged.void | over),
            job.read.eq(judged.explicit & ~job.none),
            job.count.eq(Mux(job.none, 0, judged.job.count)),
            self.seen.eq(judged.valid & ~judged.cut),
            self.refused.eq(self.seen & ~judged.error & (~judged.good | over)),
            self.empty.eq(self.seen & judged.good & ~over & judged.empty),
        ]
