"""Claims about a gather unit; each adds its assertions to a :class:`GatherCheck`, or to a unit."""

from amaranth.hdl import Assert, Signal

from rtl.contract.axi import BOUNDARY_BYTES, Burst
from rtl.formal.monitors import claim_stable, transfers

__all__ = ["launches_end_once", "reads_are_legal", "results_are_stable"]


def reads_are_legal(m, check):
    """A request stays until it is taken; it is whole, aligned beats of one 4 KB block, INCR."""
    ar = check.unit.axi.ar
    claim_stable(m, ar)
    size = check.beat_bytes.bit_length() - 1
    request, end = ar.payload, Signal(16)
    m.d.comb += end.eq(request.addr[:12] + ((request.len + 1) << size))
    with m.If(ar.valid):
        m.d.comb += [
            Assert(request.size == size),
            Assert(request.burst == Burst.INCR),
            Assert(request.addr[:size] == 0),
            Assert(end <= BOUNDARY_BYTES),
        ]


def results_are_stable(m, unit):
    """A result word, and the end of a launch, on offer stay until they are taken."""
    claim_stable(m, unit.results)
    claim_stable(m, unit.done)
    m.d.comb += Assert(unit.agree)


def launches_end_once(m, unit):
    """One launch at a time is in the unit, and ends once, by its tag; ``busy`` says so."""
    launches, done = unit.launches, unit.done
    is_open, tag = Signal(), Signal.like(done.payload.tag)
    with m.If(transfers(done)):
        m.d.sync += is_open.eq(0)
    with m.If(transfers(launches)):
        m.d.sync += [is_open.eq(1), tag.eq(launches.payload.tag)]
        m.d.comb += Assert(~is_open)
    m.d.comb += [Assert(unit.busy == is_open), Assert(~done.valid | is_open)]
    with m.If(is_open):
        m.d.comb += Assert(done.payload.tag == tag)
