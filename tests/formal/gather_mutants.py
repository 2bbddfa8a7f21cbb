# amaranth: UnusedElaboratable=no
"""Gather units that are broken at their ports, so that the mutants outlive a change inside."""

from amaranth.hdl import Signal

from rtl.formal.gather_properties import gather_unit
from tests.formal.meddled import Meddled

__all__ = ["GATHER_MUTANTS"]


def meddled(meddle):
    return lambda: Meddled(gather_unit(), meddle)


def one_more_beat(m, inner, ours):
    """All bursts are a beat longer."""
    m.d.comb += ours.axi.ar.payload.len.eq(inner.axi.ar.payload.len + 1)


def request_withdrawn(m, inner, ours):
    """A request that is not taken at once is withdrawn for a clock."""
    withdrawn = Signal()
    m.d.sync += withdrawn.eq(ours.axi.ar.valid & ~ours.axi.ar.ready)
    with m.If(withdrawn):
        m.d.comb += [ours.axi.ar.valid.eq(0), inner.axi.ar.ready.eq(0)]


def word_moves(m, inner, ours):
    """Something is always on offer, and counts the clocks."""
    clocks = Signal(8)
    m.d.sync += clocks.eq(clocks + 1)
    m.d.comb += ours.results.valid.eq(1)
    m.d.comb += ours.results.payload.words[0][:8].eq(inner.results.payload.words[0] ^ clocks)


def end_moves(m, inner, ours):
    """The last stamp of an end on offer goes on."""
    m.d.comb += ours.done.payload.last.eq(inner.now)


def end_repeated(m, inner, ours):
    again = Signal()
    with m.If(ours.done.valid & ours.done.ready):
        m.d.sync += again.eq(~again)
    m.d.comb += inner.done.ready.eq(ours.done.ready & again)


def end_too_early(m, inner, ours):
    """An end is on offer, of whatever launch, before there was one."""
    m.d.comb += ours.done.valid.eq(1)


def wrong_tag(m, inner, ours):
    m.d.comb += ours.done.payload.tag.eq(inner.done.payload.tag + 1)


GATHER_MUTANTS = {
    "gather-results-stable": {
        "a word moves": meddled(word_moves),
        "an end moves": meddled(end_moves),
    },
    "gather-ends-once": {
        "repeated": meddled(end_repeated),
        "too early": meddled(end_too_early),
        "another tag": meddled(wrong_tag),
    },
    "gather-reads-legal": {
        "one more beat": meddled(one_more_beat),
        "withdrawn": meddled(request_withdrawn),
    },
}
