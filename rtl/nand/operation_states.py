"""States of the LUNs of a part that does more than plain reads."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import NEVER, STAMP_BITS
from rtl.nand.deadlines import keep_deadlines
from rtl.nand.earliest import EarliestEdge
from rtl.nand.lun_orders import LunOrders, OrderKind
from rtl.nand.lun_suspends import LunSuspends
from rtl.nand.timing import Work

__all__ = ["SUSPEND_STROBES", "OperationStates"]

INS = ("accept", "issue", "poll", "take", "answered", "rb_n")
SUSPEND_STROBES = ("suspend", "suspended", "resumed")
STATES = ("put_aside", "suspending", "reads", "returns")
"""Of :class:`LunSuspends`."""
SUSPEND_INS = (*SUSPEND_STROBES, "conflicts")
SUSPEND_OUTS = ("wants_suspend", "wants_resume", "put_aside")
OUTS = (
    "will_have_room",
    "is_second",
    "head",
    "tail",
    "ready",
    "became_ready",
    "was_issued",
    "timed_out",
)
WANTS = ("wants_issue", "wants_poll", "wants_transfer", "wants_completion")


class OperationStates(wiring.Component):
    """As :class:`LunStates`, for all operations.

    An active command goes through: waiting (to be issued), busy, ready (its finishing bus operation
    may be decided), gone. Commands that issue nothing, or that leave the LUN ready, skip states.

    An operation about a whole way waits until no other LUN of it is busy or ready, keeps the others
    from beginning meanwhile, and learns from R/B# that it is done. A LUN that is busy for
    ``watchdog`` clocks is lost: its command ends, and all further ones end without bus activity, as
    do those about the way, but for a reset, and for 70h, which tells whether it still is busy. A
    reset that is done brings back all LUNs of its way.

    With ``suspends`` a program or erase may be put aside for a read that waits behind it: the read
    becomes the active command, and when it has gone the other one is, again, and wants its resume.
    See :class:`LunSuspends`.

    Parameters
    ----------
    timing : BusTiming
    ways, luns : int
        Ways of the channel, and LUNs of each.
    watchdog : int or None
        Clocks from the last cycle of a command until its LUN is given up; None is never.
    suspends : int
        Times that a program or erase may be put aside.

    Members
    -------
    now, accept, poll, take, rb_n, will_have_room, is_second, head, tail
        As in :class:`LunStates`; ``take`` frees the place of a command that completes, too.
    kind : In(OrderKind)
        Of the command that comes in.
    issue, is_busy : In
        Strobe: the last cycle of the active command is being latched, and whether it makes the LUN
        busy.
    answered, is_rdy : In
        Strobe: the LUN's status byte is being handed over; its RDY bit.
    wants_issue, wants_poll, wants_transfer : Out
        What each LUN asks of the bus.
    wants_completion : Out
        LUNs whose command ends without any further use of the bus.
    is_target, is_read : Out
        LUNs whose active command is about the whole way; is a read.
    ready : Out
        LUNs that have been found ready.
    became_ready : Out
        Strobe: from the next edge on the LUN is one of them.
    was_issued : Out
        The active command has been on the bus.
    timed_out : Out
        The active command ends because its LUN is lost.
    suspend, suspended, resumed : In
        Strobes: a suspend of the active command was decided; its last cycle is being latched, or
        that of a resume. Only with ``suspends``, as the following.
    conflicts, is_ardy : In
        The command that waits is for the block of the active one; with ``answered``: the ARDY bit.
    wants_suspend, wants_resume : Out
        What a LUN asks of the bus, too.
    put_aside : Out
        Strobe: the active command is put aside.
    is_changing : Out(1)
        The next edge changes the state without any strobe.
    calm, wake_is_known, wake_edge
        As in :class:`LunStates`.
    """

    def __init__(self, timing, ways, luns, *, watchdog=None, suspends=0):
        self._timing = timing
        self._ways = ways
        self._luns_of_way = luns
        self._luns = luns = ways * luns
        self._watchdog = watchdog
        self._aside = None
        members = {}
        if suspends:
            self._aside = LunSuspends(
                luns,
                limit=suspends,
                settle=timing.busy_wait,
                has_planes=timing.part.planes > 1,
            )
            members = {"is_ardy": In(1)} | {name: In(luns) for name in SUSPEND_INS}
            members |= {name: Out(luns) for name in SUSPEND_OUTS}
        super().__init__(
            members
            | {"now": In(STAMP_BITS), "kind": In(OrderKind), "is_busy": In(1), "is_rdy": In(1)}
            | {"calm": In(1), "wake_is_known": Out(1)}
            | {name: In(luns) for name in INS}
            | {name: Out(luns) for name in (*OUTS, *WANTS, "is_target", "is_read")}
            | {"is_changing": Out(1), "wake_edge": Out(STAMP_BITS, init=NEVER)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.orders = orders = self._make_orders()
        occupied, busy, begins, found, expired = (Signal(self._luns) for _ in range(5))
        aside, settles = self._connect_aside(m, orders, busy, begins, found, expired)
        put_aside, resumed = aside["put_aside"], aside["resumed"]
        full = self._keep_places(m, occupied, put_aside)
        looks, by_pin, due, look_edges = self._look(m, orders, busy, begins, found, expired, aside)
        watch_edges = self._watch(m, busy, begins, found, expired, aside)
        skipped = self._begin(m, orders, occupied, busy, found, expired, aside)
        checked, has_skipped = Signal(self._luns), Signal()
        if self._aside is not None:
            watch_edges = [*watch_edges, *self._aside.edges]
            m.d.comb += self._aside.next_reads.eq(full & orders.next_may_overtake)
        m.d.comb += [
            orders.accept.eq(self.accept),
            orders.head.eq(self.head),
            orders.tail.eq(self.tail),
            orders.kind.eq(self.kind),
            self.is_target.eq(occupied & orders.is_target),
            self.is_read.eq(occupied & orders.is_read),
            begins.eq(self.issue & self.is_busy.replicate(self._luns)),
            self.became_ready.eq(found | expired | skipped | self.issue & ~begins),
            self.wants_transfer.eq(self.ready & orders.moves_data & ~self.timed_out),
            self.wants_poll.eq(
                looks | self.ready & orders.needs_status & ~checked & ~self.timed_out
            ),
            self.wants_completion.eq(
                self.ready
                & (self.timed_out | ~orders.moves_data & (checked | ~orders.needs_status))
            ),
            self.is_changing.eq(has_skipped | (by_pin | due | expired).any() | settles),
        ]
        # What lets a LUN skip the bus is a change itself, so that it is early enough a clock later.
        m.d.sync += has_skipped.eq(skipped.any())
        self._wake(m, [*look_edges, *watch_edges])
        m.d.sync += [
            busy.eq((busy | begins | resumed) & ~(found | expired | put_aside)),
            self.ready.eq((self.ready | self.became_ready) & ~(self.take | put_aside)),
            checked.eq((checked | self.answered & (self.ready | found)) & ~(self.take | put_aside)),
            self.was_issued.eq(
                (self.was_issued | self.issue) & ~(self.take | put_aside)
                | self.take & aside["reads"]
            ),
        ]
        return m

    def _make_orders(self):
        part, more, next_of = self._timing.part, (), ()
        if self._aside is not None or part.program_poll or part.erase_poll:
            more = ("is_program", "is_erase")
        if self._aside is not None:
            more, next_of = (*more, "may_overtake", "queues_plane"), ("may_overtake",)
        return LunOrders(self._luns, more=more, next_of=next_of)

    def _connect_aside(self, m, orders, busy, begins, found, expired):
        """Follow what is put aside; returns its vectors, and whether the next edge changes them."""
        if self._aside is None:
            return dict.fromkeys((*SUSPEND_STROBES, *STATES, "stops"), Const(0, self._luns)), 0
        m.submodules.aside = aside = self._aside
        for name in ("now", "take", "suspend", "resumed", "answered", "is_rdy", "is_ardy"):
            m.d.comb += getattr(aside, name).eq(getattr(self, name))
        m.d.comb += [
            aside.begins.eq(begins),
            aside.found.eq(found),
            aside.expired.eq(expired),
            aside.busy.eq(busy),
            aside.queues_plane.eq((begins & orders.queues_plane).any()),
            aside.can_suspend.eq(orders.is_program | orders.is_erase),
            aside.conflicts.eq(self.conflicts),
            aside.blocked.eq(self._in_way(self.is_target, but_itself=True)),
            self.wants_suspend.eq(aside.wants_suspend),
            self.put_aside.eq(aside.put_aside),
        ]
        vectors = {name: getattr(self, name) for name in SUSPEND_STROBES}
        # A LUN that has been found ready meanwhile is not looked at again.
        vectors["stops"] = self.suspended & busy
        return vectors | {name: getattr(aside, name) for name in STATES}, aside.due

    def _keep_places(self, m, occupied, put_aside):
        """Two commands a LUN, the active one at ``head``; returns the LUNs that have both."""
        full, will_be_full = Signal(self._luns), Signal(self._luns)
        m.d.comb += [
            will_be_full.eq((full | self.accept & occupied) & ~self.take),
            self.will_have_room.eq(~will_be_full),
            self.is_second.eq(occupied & ~full),
            self.tail.eq(self.head ^ occupied),
        ]
        m.d.sync += [
            occupied.eq(occupied & ~(self.take & ~full) | self.accept),
            full.eq(will_be_full),
            self.head.eq(self.head ^ (self.take | put_aside)),
        ]
        return full

    def _look(self, m, orders, busy, begins, found, expired, aside):
        """Find busy LUNs ready by R/B# or status.

        Returns those that are due for a poll, those that R/B# shows ready, those that may be looked
        at from this edge on, and all deadlines.
        """
        is_polled = self._luns_of_way > 1
        may_look, by_pin, again, over = (Signal(self._luns) for _ in range(4))
        waits = self._polls if is_polled else self._looks
        due, deadlines = keep_deadlines(
            m, "look", now=self.now, waits=waits(orders, begins, again, aside), cancel=over
        )
        looks = may_look | due
        m.d.sync += may_look.eq(looks & ~(begins | again | aside["resumed"] | over))
        m.d.comb += again.eq(self.poll & busy)
        m.d.comb += over.eq(found | expired | aside["suspend"] | aside["put_aside"])
        if not is_polled:
            m.d.comb += [by_pin.eq(looks & self.rb_n), found.eq(by_pin)]
            return Const(0, self._luns), by_pin, due, deadlines
        answers = self.answered & self.is_rdy.replicate(self._luns)
        m.d.comb += by_pin.eq(looks & orders.is_target & self.rb_n)
        m.d.comb += found.eq(by_pin | answers & busy & ~aside["put_aside"])
        return looks & ~orders.is_target, by_pin, due, deadlines

    def _looks(self, orders, begins, again, aside):
        """When R/B# may be looked at."""
        starts = begins | aside["stops"] | aside["resumed"]
        return [(starts, self._timing.busy_wait)]

    def _polls(self, orders, begins, again, aside):
        """When a LUN may be polled: first, and again, by what it is busy with."""
        timing = self._timing
        waits = [(begins & orders.is_target, timing.busy_wait)]
        kinds = [(None, Const((1 << self._luns) - 1, self._luns))]
        for kind in (Work.ERASE, Work.PROGRAM):
            if timing.has_polls(kind):
                kinds.insert(0, (kind, getattr(orders, f"is_{kind.value}")))
        if self._aside is not None:
            waits += [
                (aside["stops"] & orders.is_erase, timing.suspend_poll(Work.ERASE)),
                (aside["stops"], timing.suspend_poll(Work.PROGRAM)),
                (again & aside["suspending"], timing.next_poll(None)),
                *((aside["resumed"] & luns, timing.next_poll(kind)) for kind, luns in kinds),
            ]
        waits += [(begins & luns, timing.first_poll(kind)) for kind, luns in kinds]
        return waits + [(again & luns, timing.next_poll(kind)) for kind, luns in kinds]

    def _watch(self, m, busy, begins, found, expired, aside):
        """Give up LUNs that are busy for too long; returns all deadlines."""
        if self._watchdog is None:
            return []
        waits = [(begins | aside["resumed"], self._watchdog)]
        due, deadlines = keep_deadlines(
            m, "watchdog", now=self.now, waits=waits, cancel=found | aside["put_aside"]
        )
        m.d.comb += expired.eq(due & busy & ~found)
        return deadlines

    def _wake(self, m, deadlines):
        """Say when the next deadline is."""
        m.submodules.earliest = earliest = EarliestEdge(len(deadlines))
        m.d.comb += [
            *(edge.eq(deadline) for edge, deadline in zip(earliest.edges, deadlines, strict=True)),
            earliest.calm.eq(self.calm),
            self.wake_is_known.eq(earliest.known),
            self.wake_edge.eq(earliest.edge),
        ]

    def _begin(self, m, orders, occupied, busy, found, expired, aside):
        """Let waiting commands begin; returns those that skip the bus."""
        waiting, skipped, lost, is_lost_cause = (Signal(self._luns) for _ in range(4))
        is_aside = aside["reads"] | aside["returns"]
        others_engaged = self._in_way(busy | self.ready | is_aside, but_itself=True)
        others_claim = self._in_way(self.is_target, but_itself=True)
        may_begin = self.is_target & ~others_engaged | ~self.is_target & ~others_claim | is_aside
        if self._aside is not None:
            m.d.comb += self.wants_resume.eq(waiting & ~skipped & aside["returns"])
        m.d.comb += [
            waiting.eq(occupied & ~busy & ~self.ready & may_begin),
            is_lost_cause.eq((lost | orders.is_target & self._in_way(lost)) & ~orders.serves_lost),
            skipped.eq(waiting & (orders.is_silent | is_lost_cause)),
            self.wants_issue.eq(waiting & ~skipped & ~aside["returns"]),
        ]
        m.d.sync += [
            # Of what serves a lost LUN only a reset makes it busy, and so has it found ready.
            lost.eq((lost | expired) & ~self._in_way(found & orders.serves_lost)),
            self.timed_out.eq((self.timed_out | expired | skipped & is_lost_cause) & ~self.take),
        ]
        return skipped

    def _in_way(self, luns, *, but_itself=False):
        """Where any LUN of the same way has its bit set; or any other than the LUN itself."""
        ways = (luns.word_select(way, self._luns_of_way) for way in range(self._ways))
        if not but_itself:
            return Cat(*(way.any().replicate(self._luns_of_way) for way in ways))
        return Cat(*((way & ~(1 << lun)).any() for way in ways for lun in range(self._luns_of_way)))
