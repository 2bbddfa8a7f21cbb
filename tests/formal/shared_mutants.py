# amaranth: UnusedElaboratable=no
"""Controllers that are broken only while commands share the channel."""

from amaranth.hdl import Signal

from rtl.formal.channel_part import controller
from rtl.formal.monitors import transfers
from tests.formal.meddled import Meddled

__all__ = ["SHARED_MUTANTS"]


def meddled(meddle):
    return lambda part, **arguments: Meddled(controller(part, **arguments), meddle)


def in_flight(m, ours):
    """Commands that were taken and have not completed."""
    level = Signal(4)
    m.d.sync += level.eq(level + transfers(ours.commands) - transfers(ours.completions))
    return level


def tag_of_another(m, inner, ours):
    """While two are in flight, a completion has the other one's tag; the last one has its own."""
    with m.If(in_flight(m, ours) > 1):
        m.d.comb += ours.completions.payload.tag.eq(inner.completions.payload.tag ^ 1)


def tags_exchanged(m, inner, ours):
    """Once two have been in flight, both completions have each other's tags."""
    level, exchanged = in_flight(m, ours), Signal()
    with m.If(level > 1):
        m.d.sync += exchanged.eq(1)
    with m.If((level > 1) | exchanged):
        m.d.comb += ours.completions.payload.tag.eq(inner.completions.payload.tag ^ 1)


def completes_again(m, inner, ours):
    """A completion is offered once more if another command is in flight."""
    level, again = in_flight(m, ours), Signal()
    ended = transfers(ours.completions)
    m.d.sync += again.eq(ended & (level > 1) & ~again)
    with m.If((level > 1) & ~again):
        m.d.comb += inner.completions.ready.eq(0)


def is_swallowed(m, inner, ours):
    """A command that comes while another is in flight is taken, and goes no further."""
    with m.If(in_flight(m, ours) != 0):
        m.d.comb += [inner.commands.valid.eq(0), ours.commands.ready.eq(1)]


SHARED_MUTANTS = {
    "shared-reached": {"one is swallowed": meddled(is_swallowed)},
    "shared-completes-once": {
        "repeated": meddled(completes_again),
        "by the other's tag": meddled(tag_of_another),
    },
    "shared-in-order": {"tags exchanged": meddled(tags_exchanged)},
    "shared-completes-in-time": {"one is swallowed": meddled(is_swallowed)},
}
"""By property: what is wrong, and who makes such a design."""
