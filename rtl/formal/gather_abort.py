"""The part of the gather unit that ends jobs, between neighbours that act in any clock."""

from amaranth.hdl import Assert, ClockDomain, ClockSignal, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from rtl.formal.monitors import claim_calm, transfers

__all__ = ["PickerCheck"]

COUNT_BITS = 2


class PickerCheck(wiring.Component):
    """A picker that is given jobs and positions, asked, and told to abort, in any clock.

    Jobs are as the checker makes them, of up to 3 positions.

    Claims: each job gives one word a position, or one that stands for none, the last one of them
    is ``last``; while ``aborting`` is set the word on offer of any job but an explicit one is
    there, and ``last``; explicit ones take all of their positions and no others. The target of a
    job goes out as the job is taken, which is not before the end of the one before. After
    ``settle`` clocks without stalls and new jobs a job has ended.

    Parameters
    ----------
    picker : Picker
        What is checked.
    settle : int
        In clocks.
    """

    clk: In(1)
    offer: In(1)
    count: In(COUNT_BITS)
    read: In(1)
    whole: In(1)
    distinct: In(1)
    last: In(1)
    given: In(1)
    started: In(1)
    taken: In(1)
    aborting: In(1)

    def __init__(self, picker, *, settle):
        self._picker = picker
        self._settle = settle
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.picker = picker = self._picker
        fetched, words, job = picker.fetched, picker.words, picker.fetched.payload
        none, left, is_read, is_none = Signal(), Signal(COUNT_BITS), Signal(), Signal()
        m.d.comb += [
            ClockSignal().eq(self.clk),
            none.eq(self.count == 0),
            fetched.valid.eq(self.offer),
            job.count.eq(self.count),
            job.none.eq(none),
            job.read.eq(self.read & ~none),
            job.whole.eq(self.whole & ~self.read),
            job.distinct.eq(self.distinct & ~self.whole & ~self.read),
            job.last.eq(self.last),
            picker.given.valid.eq(self.given),
            picker.started.ready.eq(self.started),
            words.ready.eq(self.taken),
            picker.aborting.eq(self.aborting),
            Assert(transfers(picker.started) == transfers(fetched)),
            Assert(transfers(picker.given) == (transfers(words) & is_read)),
        ]
        ends, is_open = Signal(), left != 0
        tag = words.payload.tag
        m.d.comb += ends.eq((left == 1) | (self.aborting & ~is_read))
        with m.If(transfers(words)):
            m.d.sync += left.eq(Mux(ends, 0, left - 1))
        with m.If(transfers(fetched)):
            m.d.comb += Assert((left == 0) | (transfers(words) & ends))
            m.d.sync += [left.eq(Mux(none, 1, self.count)), is_read.eq(job.read), is_none.eq(none)]
        m.d.comb += Assert(words.valid == (is_open & (~is_read | self.given)))
        with m.If(words.valid):
            m.d.comb += [Assert(tag.last == ends), Assert(tag.none == is_none)]
        with m.If(picker.started.valid):
            m.d.comb += Assert(picker.started.payload.last == self.last)
        calm = ~self.offer & self.given & self.taken
        claim_calm(m, calm, self._settle, left == 0)
        return m
