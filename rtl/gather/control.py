"""Launches one at a time: begun, watched, given up, and their end told."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.gather import GatherDone, GatherLaunch, GatherStatus
from rtl.gather.descriptors import DescriptorRun

__all__ = ["LaunchControl"]


class LaunchControl(wiring.Component):
    """Takes one launch at a time, starts its descriptors, watches its results, reports its end.

    A launch of no descriptors, or at an address that is not 32-byte aligned (BAD_DESCRIPTOR), gives
    no words; its ``first`` and ``last`` are its ``started``.

    Members
    -------
    now : In(48)
        Edge number.
    launches : In(stream of GatherLaunch)
        Launches.
    runs : Out(stream of DescriptorRun)
        To the descriptor fetcher.
    leaves : In(1)
        Result words are handed over in this clock.
    words : In
        And how many.
    header, last : In(1)
        The first of them is a header; the last of them is the launch's last.
    status : In(8)
        Status of that header.
    done : Out(stream of GatherDone)
        Ends, in order.
    busy : Out(1)
        A launch is in the unit.
    settled : In(1)
        Nothing that was given up is on the bus any more.
    abort : In(1)
        Give up the launch that is in the unit, if there is one whose last word has not left.
    cut, aborting : Out(1)
        The launch is given up in this clock; it has been.
    """

    now: In(48)
    launches: In(stream.Signature(GatherLaunch))
    runs: Out(stream.Signature(DescriptorRun))
    leaves: In(1)
    words: In(4)
    header: In(1)
    last: In(1)
    status: In(8)
    done: Out(stream.Signature(GatherDone))
    busy: Out(1)
    settled: In(1)
    abort: In(1)
    cut: Out(1)
    aborting: Out(1)

    def elaborate(self, platform):
        m = Module()
        launch, done = self.launches.payload, self.done.payload
        aligned, void = launch.descriptor_address[:5] == 0, Signal()
        # Of the launch that is in the unit: no words so far; all of them good.
        fresh, good = Signal(), Signal()
        m.d.comb += [
            self.runs.payload.address.eq(launch.descriptor_address),
            self.runs.payload.count.eq(launch.count),
        ]
        with m.FSM():
            with m.State("IDLE"):
                # Whether it is taken does not depend on what it is: that takes long to see. What is
                # kept of it does not depend on whether it is taken, for the same reason.
                m.d.comb += [
                    void.eq(~aligned | (launch.count == 0)),
                    self.runs.valid.eq(self.launches.valid & ~void),
                    self.launches.ready.eq(self.runs.ready),
                ]
                m.d.sync += [
                    done.eq(0),
                    done.tag.eq(launch.tag),
                    done.status.eq(Mux(aligned, GatherStatus.OK, GatherStatus.BAD_DESCRIPTOR)),
                    done.started.eq(self.now),
                    done.first.eq(self.now),
                    done.last.eq(self.now),
                    fresh.eq(1),
                    good.eq(1),
                ]
                with m.If(self.launches.valid & self.launches.ready):
                    with m.If(void):
                        m.next = "DONE"
                    with m.Else():
                        m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self.busy.eq(1)
                # The last of the edges up to the first word, and of those up to the last one.
                m.d.sync += done.last.eq(self.now)
                with m.If(fresh):
                    m.d.sync += done.first.eq(self.now)
                with m.If(self.leaves):
                    m.d.sync += [fresh.eq(0), done.words.eq(done.words + self.words)]
                    with m.If(self.header & good):
                        m.d.sync += [
                            done.status.eq(self.status),
                            good.eq(self.status == GatherStatus.OK),
                        ]
                    with m.If(self.last):
                        m.next = "SETTLE"
                        with m.If(self.settled):
                            m.next = "DONE"
                with m.If(self.abort & ~self.aborting & ~(self.leaves & self.last)):
                    m.d.comb += self.cut.eq(1)
                    m.d.sync += [
                        self.aborting.eq(1),
                        done.status.eq(GatherStatus.ABORTED),
                        good.eq(0),
                    ]
            with m.State("SETTLE"):
                m.d.comb += self.busy.eq(1)
                with m.If(self.settled):
                    m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += [self.busy.eq(1), self.done.valid.eq(1)]
                m.d.sync += self.aborting.eq(0)
                with m.If(self.done.ready):
                    m.next = "IDLE"
        return m
