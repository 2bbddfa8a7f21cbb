"""Parts of the gather unit that give a launch up, in any clock, each for itself."""

from amaranth.hdl import Assert, ClockDomain, ClockSignal, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from rtl.contract.gather import GatherStatus
from rtl.formal.monitors import claim_calm, claim_stable, transfers

__all__ = ["ControlCheck", "PickerCheck"]

COUNT_BITS = 2
WORDS = 2


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


class ControlCheck(wiring.Component):
    """Launch control among launches, result words, ends and aborts in any clock.

    Words come while a launch runs, behind its start and none behind its last.

    Claims: each launch of descriptors starts one run of them, others none; each ends once, in the
    clock after its last word has left and nothing given up is on the bus, with the number of its
    words. An abort before its last word gives it up, once, in that clock, and it ends with ABORTED;
    without one it ends with the status of its first header that is not OK. The end on offer is
    stable.

    Parameters
    ----------
    control : LaunchControl
        What is checked.
    """

    clk: In(1)
    offer: In(1)
    count: In(1)
    place: In(6)
    tag: In(1)
    run: In(1)
    words: In(range(WORDS + 1))
    header: In(1)
    last: In(1)
    status: In(2)
    settled: In(1)
    abort: In(1)
    done: In(1)

    def __init__(self, control):
        self._control = control
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.control = control = self._control
        launches, runs, done = control.launches, control.runs, control.done
        launch = launches.payload
        words, total = Signal(range(WORDS + 1)), Signal(32)
        is_running, is_settling, is_over = Signal(), Signal(), Signal()
        is_aborted, status, tag = Signal(), Signal(8), Signal()
        is_aligned, is_void = self.place[:5] == 0, Signal()
        m.d.comb += [
            ClockSignal().eq(self.clk),
            is_void.eq(~is_aligned | (self.count == 0)),
            words.eq(Mux(is_running & (self.words <= WORDS), self.words, 0)),
            launches.valid.eq(self.offer),
            launch.descriptor_address.eq(self.place),
            launch.count.eq(self.count),
            launch.tag.eq(self.tag),
            runs.ready.eq(self.run),
            control.leaves.eq(words != 0),
            control.words.eq(words),
            control.header.eq(self.header),
            control.last.eq(self.last),
            control.status.eq(self.status),
            control.settled.eq(self.settled),
            control.abort.eq(self.abort),
            done.ready.eq(self.done),
        ]
        is_last, gives_up = Signal(), Signal()
        m.d.comb += [
            is_last.eq((words != 0) & self.last),
            gives_up.eq(self.abort & is_running & ~is_last & ~is_aborted),
            Assert(control.cut == gives_up),
            Assert(transfers(runs) == (transfers(launches) & ~is_void)),
            Assert(control.busy == (is_running | is_settling | is_over)),
            Assert(~launches.ready | ~control.busy),
            Assert(done.valid == is_over),
        ]
        claim_stable(m, done)
        with m.If(is_running):
            m.d.comb += Assert(control.aborting == is_aborted)
            m.d.sync += total.eq(total + words)
            with m.If((words != 0) & self.header & (status == GatherStatus.OK)):
                m.d.sync += status.eq(self.status)
            with m.If(is_last):
                m.d.sync += [
                    is_running.eq(0),
                    is_settling.eq(~self.settled),
                    is_over.eq(self.settled),
                ]
            with m.If(gives_up):
                m.d.sync += is_aborted.eq(1)
        with m.If(is_settling & self.settled):
            m.d.sync += [is_settling.eq(0), is_over.eq(1)]
        with m.If(transfers(done)):
            m.d.sync += is_over.eq(0)
        with m.If(transfers(launches)):
            m.d.sync += [
                is_running.eq(~is_void),
                is_over.eq(is_void),
                is_aborted.eq(0),
                total.eq(0),
                tag.eq(self.tag),
                status.eq(Mux(is_aligned, GatherStatus.OK, GatherStatus.BAD_DESCRIPTOR)),
            ]
        with m.If(is_over):
            m.d.comb += [
                Assert(done.payload.tag == tag),
                Assert(done.payload.words == total),
                Assert(done.payload.status == Mux(is_aborted, GatherStatus.ABORTED, status)),
            ]
        return m
