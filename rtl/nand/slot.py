"""What the controller knows of one LUN: its two commands, and whether the array is busy."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS

__all__ = ["LunSlot"]


class LunSlot(wiring.Component):
    """One active and one pending command of a LUN, and the state of the active one.

    ``edge`` is the one deadline of a LUN: while it senses, the first edge at which ready may be
    looked at (R/B#, or the next poll); from then on the edge at which it was found ready.

    Parameters
    ----------
    timing : BusTiming
    is_polled : bool
        Ready is learnt from status polls rather than from R/B#.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    accept, issue, poll, take : In(1)
        Strobes: a command came in; the active one's 30h is being latched; a poll was decided; its
        transfer was decided, which frees the slot.
    status_valid, status_ready : In(1)
        A poll's answer.
    rb_n : In(1)
        Ready/busy of the way.
    has_room : Out(1)
        Less than two commands.
    head, tail : Out(1)
        Places of the active command and of the next one to come in.
    is_second : Out(1)
        The next command to come in will be pending.
    wants_issue, wants_poll, wants_transfer : Out(1)
        What the LUN asks of the bus.
    is_changing : Out(1)
        The next edge changes the state without any strobe.
    edge : Out(48)
        See above.
    wake_edge : Out(48)
        Deadline that is still to come; all ones if there is none.
    polls : Out(16)
        Polls of the active command.
    """

    def __init__(self, timing, *, is_polled):
        self._timing = timing
        self._is_polled = is_polled
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "accept": In(1),
                "issue": In(1),
                "poll": In(1),
                "take": In(1),
                "status_valid": In(1),
                "status_ready": In(1),
                "rb_n": In(1),
                "has_room": Out(1),
                "head": Out(1),
                "tail": Out(1),
                "is_second": Out(1),
                "wants_issue": Out(1),
                "wants_poll": Out(1),
                "wants_transfer": Out(1),
                "is_changing": Out(1),
                "edge": Out(STAMP_BITS),
                "wake_edge": Out(STAMP_BITS, init=-1),
                "polls": Out(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        count = Signal(range(3))
        sensing = Signal()
        ready = Signal()
        due = Signal()
        found = Signal()
        m.d.comb += [
            self.has_room.eq(count < 2),
            self.is_second.eq(count == 1),
            self.tail.eq(self.head ^ count[0]),
            due.eq(self.now >= self.edge),
            self.wants_issue.eq((count != 0) & ~sensing & ~ready),
            self.wants_transfer.eq(ready),
            self.wake_edge.eq(Mux(sensing & ~due, self.edge, ~0)),
        ]
        m.d.sync += count.eq(count + self.accept - self.take)
        with m.If(self.issue):
            wait = self._timing.poll_first if self._is_polled else self._timing.busy_wait
            m.d.sync += [sensing.eq(1), self.edge.eq(self.now + wait)]
        with m.If(found):
            m.d.sync += [sensing.eq(0), ready.eq(1), self.edge.eq(self.now)]
        with m.If(self.take):
            m.d.sync += [ready.eq(0), self.head.eq(~self.head)]
        if self._is_polled:
            m.d.comb += self.wants_poll.eq(sensing & due)
            m.d.comb += found.eq(self.status_valid & self.status_ready)
            with m.If(self.issue):
                m.d.sync += self.polls.eq(0)
            with m.If(self.poll):
                m.d.sync += self.polls.eq(self.polls + 1)
                m.d.sync += self.edge.eq(self.now + self._timing.poll_period)
        else:
            m.d.comb += found.eq(sensing & due & self.rb_n)
            m.d.comb += self.is_changing.eq(found)
        return m
