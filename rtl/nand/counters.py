"""Event counters of a channel, and what in a controller is an event."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import NEVER, STAMP_BITS, ChannelCounters, ChannelStatus
from rtl.contract.onfi import Opcode
from rtl.nand.operation_sets import is_any

__all__ = ["EventCounters", "count_events", "count_operations"]

NAMES = [name for name, _ in data.Layout.cast(ChannelCounters)]
STROBES = data.StructLayout(dict.fromkeys(NAMES, 1))


class EventCounters(wiring.Component):
    """Counts the clocks in which each strobe is high; the count follows at the next edge.

    Members
    -------
    strobes : In
        One bit for each field of :class:`ChannelCounters`, under the same name.
    counters : Out(ChannelCounters)
    """

    strobes: In(STROBES)
    counters: Out(ChannelCounters)

    def elaborate(self, platform):
        m = Module()
        for name in NAMES:
            with m.If(self.strobes[name]):
                m.d.sync += self.counters[name].eq(self.counters[name] + 1)
        return m


def count_events(m, events, table, arbiter, record, now, landing_take):
    """What the parts of a controller of any part say of a clock."""
    expected = Signal(STAMP_BITS, init=NEVER)
    was_tie, was_conflict = Signal(), Signal()
    m.d.sync += expected.eq(now + 1)
    m.d.sync += [was_tie.eq(arbiter.is_tie), was_conflict.eq(arbiter.is_conflict)]
    m.d.comb += [
        events.strobes.commands.eq(table.accepted),
        events.strobes.bad_commands.eq(record.refused_taken),
        events.strobes.polls.eq(table.poll),
        events.strobes.polls_busy.eq(table.status_valid & ~table.status_ready),
        events.strobes.transfers.eq(landing_take.any()),
        events.strobes.ties.eq(table.look_up & was_tie),
        events.strobes.class_conflicts.eq(table.look_up & was_conflict),
        events.strobes.pending_full.eq(table.is_second),
        events.strobes.clock_stops.eq((expected != NEVER) & (now != expected)),
    ]


def count_operations(m, events, table, ends):
    """Programs and erases, and what became of them; ``ends`` is the strobe of a command's end."""
    operation, status = table.order.operation, table.opening.status
    failures = (ChannelStatus.FAILED, ChannelStatus.PREVIOUS_FAILED)
    programs = is_any(operation, lambda steps: steps.programs)
    erases = is_any(operation, lambda steps: steps.first is Opcode.BLOCK_ERASE)
    m.d.comb += [
        events.strobes.programs.eq(table.issue & programs),
        events.strobes.erases.eq(table.issue & erases),
        events.strobes.failed.eq(ends & status.matches(*failures)),
        events.strobes.timeouts.eq(ends & (status == ChannelStatus.TIMEOUT)),
    ]
