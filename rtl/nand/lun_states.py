"""What the controller knows of its LUNs: their commands' places, who senses, who is ready."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import NEVER, STAMP_BITS
from rtl.nand.deadlines import keep_deadlines
from rtl.nand.earliest import EarliestEdge

__all__ = ["LunStates"]


class LunStates(wiring.Component):
    """One active and one pending command of each LUN, and the state of the active one.

    Everything is a vector with a bit a LUN, so that a simulator handles all LUNs in one operation;
    only the deadlines are numbers: the first edge at which a LUN that senses may be looked at
    (by R/B#, or by its next poll).

    Parameters
    ----------
    timing : BusTiming
    luns : int
        LUNs of the channel.
    is_polled : bool
        Ready is learnt from status polls rather than from R/B#.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    accept, issue, poll, take : In(luns)
        Strobes: a command came in; the active one's 30h is being latched; a poll was decided; its
        transfer was decided, which frees its place.
    status_ready : In(luns)
        Strobe: a poll found the LUN ready.
    rb_n : In(luns)
        Ready/busy of the LUN's way.
    will_have_room : Out(luns)
        Less than two commands in the next clock.
    is_second : Out(luns)
        A command that comes in will be pending.
    head, tail : Out(luns)
        Places of the active command and of the next one to come in.
    wants_issue, wants_poll, wants_transfer : Out(luns)
        What each LUN asks of the bus.
    found : Out(luns)
        Strobe: the LUN is found ready at this edge.
    is_changing : Out(1)
        The next edge changes the state without any strobe.
    calm, wake_is_known : In(1), Out(1)
        As ``calm`` and ``known`` of :class:`EarliestEdge`.
    wake_edge : Out(48)
        An edge just before the earliest deadline to come; all ones if there is none.
    """

    def __init__(self, timing, luns, *, is_polled):
        self._timing = timing
        self._luns = luns
        self._is_polled = is_polled
        ins = ("accept", "issue", "poll", "take", "status_ready", "rb_n")
        outs = ("will_have_room", "is_second", "head", "tail", "found")
        wants = ("wants_issue", "wants_poll", "wants_transfer")
        super().__init__(
            {"now": In(STAMP_BITS), "calm": In(1), "wake_is_known": Out(1)}
            | {name: In(luns) for name in ins}
            | {name: Out(luns) for name in (*outs, *wants)}
            | {"is_changing": Out(1), "wake_edge": Out(STAMP_BITS, init=NEVER)}
        )

    def elaborate(self, platform):
        m = Module()
        occupied, full, will_be_full = (Signal(self._luns) for _ in range(3))
        sensing, ready, may_look = (Signal(self._luns) for _ in range(3))
        due = Signal(self._luns)
        m.d.comb += [
            will_be_full.eq((full | self.accept & occupied) & ~self.take),
            self.will_have_room.eq(~will_be_full),
            self.is_second.eq(occupied & ~full),
            self.tail.eq(self.head ^ occupied),
            self.wants_issue.eq(occupied & ~sensing & ~ready),
            self.wants_transfer.eq(ready),
        ]
        m.d.sync += [
            occupied.eq(occupied & ~(self.take & ~full) | self.accept),
            full.eq(will_be_full),
            self.head.eq(self.head ^ self.take),
            sensing.eq((sensing | self.issue) & ~self.found),
            ready.eq((ready | self.found) & ~self.take),
            may_look.eq((may_look | due) & ~(self.issue | self.poll | self.found)),
        ]
        self._keep_deadlines(m, due)
        if self._is_polled:
            m.d.comb += self.wants_poll.eq(may_look | due)
            m.d.comb += self.found.eq(self.status_ready)
        else:
            m.d.comb += self.found.eq((may_look | due) & self.rb_n)
        m.d.comb += self.is_changing.eq((self.found | due).any())
        return m

    def _keep_deadlines(self, m, due):
        """Set a deadline at 30h and at each poll; it is gone at its edge, or once ready."""
        timing = self._timing
        first = timing.poll_first if self._is_polled else timing.busy_wait
        waits = ((self.issue, first), (self.poll, timing.poll_again))
        come, deadlines = keep_deadlines(
            m, "deadline", now=self.now, waits=waits, cancel=self.found
        )
        m.submodules.earliest = earliest = EarliestEdge(self._luns)
        m.d.comb += [
            *(edge.eq(deadline) for edge, deadline in zip(earliest.edges, deadlines, strict=True)),
            due.eq(come),
            earliest.calm.eq(self.calm),
            self.wake_is_known.eq(earliest.known),
            self.wake_edge.eq(earliest.edge),
        ]
