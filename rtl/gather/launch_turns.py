"""Shares the gather core between the kernel's own launches and those of descriptor rings."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.gather import GatherDone, GatherLaunch

__all__ = ["LaunchTurns"]


class LaunchTurns(wiring.Component):
    """Lets one launch at a time to the core, by turns where both offer one, without delay.

    Members
    -------
    single, ring : In(stream of GatherLaunch)
        Launches of either side.
    launches : Out(stream of GatherLaunch)
        To the core.
    done : In(stream of GatherDone)
        From the core.
    ring_done : Out(stream of GatherDone)
        Ends of launches of rings; others are not held up.
    is_ring : Out(1)
        The launch on offer, and then the one in the core, is of a ring.
    running : Out(1)
        One is in the core.
    """

    single: In(stream.Signature(GatherLaunch))
    ring: In(stream.Signature(GatherLaunch))
    launches: Out(stream.Signature(GatherLaunch))
    done: In(stream.Signature(GatherDone))
    ring_done: Out(stream.Signature(GatherDone))
    is_ring: Out(1)
    running: Out(1)

    def elaborate(self, platform):
        m = Module()
        chosen, offered, start = Signal(), Signal(), Signal()
        with m.If(self.running | offered):
            m.d.comb += self.is_ring.eq(chosen)
        with m.Else():
            # ``chosen`` is who was served last.
            m.d.comb += self.is_ring.eq(self.ring.valid & ~(self.single.valid & chosen))
        wants = Mux(self.is_ring, self.ring.valid, self.single.valid)
        m.d.comb += [
            self.launches.valid.eq(wants & ~self.running),
            self.launches.payload.eq(
                Mux(
                    self.is_ring,
                    self.ring.payload.as_value(),
                    self.single.payload.as_value(),
                )
            ),
            self.ring.ready.eq(self.is_ring & self.launches.ready & ~self.running),
            self.single.ready.eq(~self.is_ring & self.launches.ready & ~self.running),
            start.eq(self.launches.valid & self.launches.ready),
            self.ring_done.payload.eq(self.done.payload),
            self.ring_done.valid.eq(self.done.valid & self.running & chosen),
            self.done.ready.eq(~chosen | self.ring_done.ready),
        ]
        m.d.sync += offered.eq(self.launches.valid & ~start)
        with m.If(self.launches.valid):
            m.d.sync += chosen.eq(self.is_ring)
        with m.If(start):
            m.d.sync += self.running.eq(1)
        with m.Elif(self.done.valid & self.done.ready):
            m.d.sync += self.running.eq(0)
        return m
