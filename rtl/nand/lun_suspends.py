"""Programs and erases that a controller puts aside, so that a read need not wait for them."""

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.nand.deadlines import keep_deadlines

__all__ = ["LunSuspends"]

INS = (
    *("begins", "found", "expired", "take"),
    *("busy", "can_suspend", "next_reads", "conflicts", "blocked"),
    *("suspend", "resumed", "answered"),
)
OUTS = ("wants_suspend", "put_aside", "suspending", "reads", "returns")


class LunSuspends(wiring.Component):
    """Decides which LUNs suspend, and follows them until they have resumed.

    ::

        busy      --------____________________------------    with a program or erase
        suspend   ___-____________________________________    decided
        suspending____-----_______________________________    until a status byte tells
        put_aside ________-_______________________________    it is held, and the read goes first
        reads     _________------------___________________
        take      ____________________-___________________    the read's transfer is decided
        returns   _____________________--------___________    wants its resume
        resumed   ____________________________-___________    latched; busy again

    A LUN suspends while a read waits behind what it does, for another block: tWB after that has
    begun, and at most ``limit`` times, so that writes come to their end however many reads there
    are. An operation of several planes is not suspended, as the blocks of its other planes are not
    known. It may be over when the suspend comes; then the status byte has ARDY, and all is as
    without it.

    Parameters
    ----------
    luns : int
        LUNs of the channel.
    limit : int
        Suspends of one operation, at least 1.
    settle : int
        Clocks from a last cycle until a suspend may follow it.
    has_planes : bool
        LUNs have several planes.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    begins, found, expired, take, busy : In(luns)
        As in :class:`OperationStates`.
    queues_plane : In(1)
        With ``begins``: another plane's operation follows.
    can_suspend, next_reads, conflicts : In(luns)
        The active command is a program or erase that can be suspended; the one behind it is a read;
        and that is of the same block.
    blocked : In(luns)
        The way waits for its LUNs to have done.
    suspend, resumed : In(luns)
        Strobes: a suspend was decided; the last cycle of a resume is being latched.
    answered, is_rdy, is_ardy : In
        Strobe: the LUN's status byte is being handed over, and its bits.
    wants_suspend : Out(luns)
    put_aside : Out(luns)
        Strobe: the active command is held, and the other one becomes active.
    suspending, reads, returns : Out(luns)
        See above.
    due : Out(1)
        The next edge changes the state without any strobe.
    edges : Out
        All deadlines.
    """

    def __init__(self, luns, *, limit, settle, has_planes):
        self._luns = luns
        self._has_planes = has_planes
        self._limit = limit
        self._settle = settle
        super().__init__(
            {"now": In(STAMP_BITS), "queues_plane": In(1), "is_rdy": In(1), "is_ardy": In(1)}
            | {name: In(luns) for name in INS}
            | {name: Out(luns) for name in OUTS}
            | {"due": Out(1), "edges": Out(STAMP_BITS, init=-1).array(luns)}
        )

    def elaborate(self, platform):
        m = Module()
        ends_work = self.take & ~self.reads
        settled, spent = self._settled(m), self._spent(m, ends_work)
        m.d.comb += [
            self.wants_suspend.eq(
                (self.busy & settled & self.can_suspend & self.next_reads)
                & ~(self.conflicts | self.blocked | self._joined(m) | spent | self.suspending)
            ),
            self.put_aside.eq(
                self.answered
                & self.suspending
                & (self.is_rdy & ~self.is_ardy).replicate(self._luns)
            ),
        ]
        told = self.answered & self.is_rdy.replicate(self._luns)
        m.d.sync += [
            self.suspending.eq((self.suspending | self.suspend) & ~(told | self.take)),
            self.reads.eq((self.reads | self.put_aside) & ~self.take),
            self.returns.eq((self.returns | self.take & self.reads) & ~(self.resumed | ends_work)),
        ]
        return m

    def _settled(self, m):
        """LUNs whose last cycle was tWB ago."""
        settled, starts, ends = (Signal(self._luns) for _ in range(3))
        m.d.comb += [starts.eq(self.begins | self.resumed), ends.eq(self.found | self.expired)]
        waits = [(starts, self._settle)]
        due, edges = keep_deadlines(m, "settle", now=self.now, waits=waits, cancel=ends)
        m.d.comb += self.due.eq(due.any())
        m.d.comb += [port.eq(edge) for port, edge in zip(self.edges, edges, strict=True)]
        m.d.sync += settled.eq((settled | due) & ~(starts | ends))
        return settled

    def _spent(self, m, ends_work):
        """LUNs that have suspended as often as they may."""
        before = Const((1 << self._luns) - 1, self._luns)
        for count in range(self._limit):
            reached = Signal(self._luns, name=f"suspends{count + 1}")
            m.d.sync += reached.eq((reached | self.suspend & before) & ~ends_work)
            before = reached
        return before

    def _joined(self, m):
        """LUNs whose operation is the last of several planes."""
        if not self._has_planes:
            return Const(0, self._luns)
        queued, joined = Signal(self._luns), Signal(self._luns)
        with m.If(self.begins.any()):
            m.d.sync += joined.eq(joined & ~self.begins | queued & self.begins)
            queues = self.begins & self.queues_plane.replicate(self._luns)
            m.d.sync += queued.eq(queued & ~self.begins | queues)
        return joined
