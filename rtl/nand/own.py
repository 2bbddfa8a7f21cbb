# amaranth: UnusedElaboratable=no
# (The block is made in the constructor, which must refuse what it refuses.)
"""A user's block in place of the flash-channel controller, and what can be counted at its ports."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from rtl.block import join
from rtl.contract.channel import NEVER, STAMP_BITS, ChannelStatus
from rtl.nand.counters import EventCounters

__all__ = ["PORT_COUNTERS", "OwnController", "controller_signature"]

PORT_COUNTERS = ("commands", "bad_commands", "failed", "timeouts", "transfers", "clock_stops")
"""Counters that another block has, too; the others are of what goes on inside our controller."""


def controller_signature(ours):
    """The documented ports: those of ``ours`` without its counters."""
    return wiring.Signature(
        {name: member for name, member in ours.signature.members.items() if name != "counters"}
    )


class OwnController(wiring.Component):
    """A :class:`FlashChannelController` to all around it, and another block inside.

    ``commands`` counts when they complete; counters that are not of :data:`PORT_COUNTERS` stay 0.

    Parameters
    ----------
    ours : FlashChannelController
        The controller whose place it takes.
    own : object
        ``own.component(signature, arguments)`` makes the block of :func:`controller_signature`.
    arguments : dict
        What ours was made with.
    """

    def __init__(self, ours, own, arguments):
        self._ports = controller_signature(ours)
        self.block = own.component(self._ports, arguments)
        super().__init__(ours.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = self.block
        m.submodules.events = events = EventCounters()
        m.d.comb += join(self._ports, self, self.block)
        completions = self.completions
        status = completions.payload.status
        ends, is_refused = Signal(), Signal()
        expected = Signal(STAMP_BITS, init=NEVER)
        m.d.sync += expected.eq(self.now + 1)
        m.d.comb += [
            ends.eq(completions.valid & completions.ready),
            is_refused.eq(status == ChannelStatus.BAD_COMMAND),
            self.counters.eq(events.counters),
            events.strobes.commands.eq(ends & ~is_refused),
            events.strobes.bad_commands.eq(ends & is_refused),
            events.strobes.failed.eq(
                ends & status.matches(ChannelStatus.FAILED, ChannelStatus.PREVIOUS_FAILED)
            ),
            events.strobes.timeouts.eq(ends & (status == ChannelStatus.TIMEOUT)),
            events.strobes.transfers.eq(self.landing_take.any()),
            events.strobes.clock_stops.eq((expected != NEVER) & (self.now != expected)),
        ]
        return m
