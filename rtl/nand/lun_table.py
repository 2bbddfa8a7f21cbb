"""All LUNs of a channel: their states, and small memories of their commands and stamps."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS, ChannelCommand, ChannelCompletion, ChannelStatus
from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, row_address
from rtl.nand.intake import CommandIntake
from rtl.nand.lun_states import LunStates

__all__ = ["CommandContext", "IssueStamps", "LunTable"]


class CommandContext(data.Struct):
    """What is kept of a command; ``row`` is as on the bus."""

    row: 8 * ROW_CYCLES
    column: 8 * COLUMN_CYCLES
    length: 16
    tag: 16
    is_raw: 1
    accepted: STAMP_BITS


class IssueStamps(data.Struct):
    """Edges of a command's 00h and 30h."""

    command: STAMP_BITS
    issued: STAMP_BITS


class LunTable(wiring.Component):
    """Knows of every LUN what it asks of the bus and what its commands are.

    Parameters
    ----------
    part : NandPart
    timing : BusTiming
    ways : int

    Members
    -------
    now, rb_n, commands : In
        As in :class:`FlashChannelController`.
    reads, polls, transfers : Out(ways * luns)
        LUNs that ask for each kind of bus operation.
    index : In
        LUN of the decision: from its choice to the end of the bus operation. All below is about it.
    look_up : In(1)
        Strobe: what follows is of its active command from the next edge on.
    context, opening : Out
        What is kept of the command, and what its completion is to say if it is taken.
    poll, take : In(1)
        Strobes in the clock after ``look_up``: its poll, or its transfer, is decided.
    issue, command_edge : In
        Strobe: its 30h is being latched; 00h was on the bus from ``command_edge`` on.
    status_valid, status_ready : In(1)
        A poll's answer.
    accepted, is_second : Out(1)
        Strobes: a command was taken; it is its LUN's second.
    refused_valid, refused_taken, refused_tag, refused_edge
        As in :class:`CommandIntake`.
    is_changing, calm, wake_is_known, wake_edge
        As in :class:`LunStates`.
    """

    def __init__(self, part, timing, ways, *, members=None):
        self._part = part
        self._timing = timing
        self._ways = ways
        luns = ways * part.luns
        super().__init__(
            (members or {})
            | {
                "now": In(STAMP_BITS),
                "rb_n": In(ways),
                "commands": In(stream.Signature(ChannelCommand)),
                "reads": Out(luns),
                "polls": Out(luns),
                "transfers": Out(luns),
                "index": In(range(luns)),
                "context": Out(CommandContext),
                "opening": Out(ChannelCompletion),
                "look_up": In(1),
                "poll": In(1),
                "take": In(1),
                "issue": In(1),
                "command_edge": In(STAMP_BITS),
                "status_valid": In(1),
                "status_ready": In(1),
                "accepted": Out(1),
                "is_second": Out(1),
                "refused_valid": Out(1),
                "refused_taken": In(1),
                "refused_tag": Out(16),
                "refused_edge": Out(STAMP_BITS),
                "is_changing": Out(1),
                "calm": In(1),
                "wake_is_known": Out(1),
                "wake_edge": Out(STAMP_BITS, init=-1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        luns = self._part.luns
        is_polled = luns > 1
        m.submodules.intake = intake = CommandIntake(self._part, self._ways)
        m.submodules.states = states = LunStates(
            self._timing, self._ways * luns, is_polled=is_polled
        )
        chosen = self._connect(m, intake, states)
        with m.If(self.status_valid & self.status_ready):
            m.d.comb += states.status_ready.eq(chosen)
        self._keep_commands(m, intake, states)
        stamps = self._keep_stamps(m, self.index)
        m.d.comb += [
            self.opening.tag.eq(self.context.tag),
            self.opening.status.eq(ChannelStatus.OK),
            self.opening.accepted.eq(self.context.accepted),
            self.opening.command.eq(stamps.command),
            self.opening.issued.eq(stamps.issued),
        ]
        if is_polled:
            self._keep_poll_results(m)
        else:
            self._keep_ready_edges(m, states.found)
        return m

    def _connect(self, m, intake, states):
        """Join what every table has; returns LUN ``index`` as a mask."""
        luns = self._part.luns
        wiring.connect(m, wiring.flipped(self.commands), intake.commands)
        chosen = Signal(self._ways * luns)
        m.d.comb += [
            chosen.eq(1 << self.index),
            intake.now.eq(self.now),
            intake.will_have_room.eq(states.will_have_room),
            intake.refused_taken.eq(self.refused_taken),
            self.refused_valid.eq(intake.refused_valid),
            self.refused_tag.eq(intake.refused_tag),
            self.refused_edge.eq(intake.refused_edge),
            states.now.eq(self.now),
            states.rb_n.eq(Cat(*(ready.replicate(luns) for ready in self.rb_n))),
            states.accept.eq(intake.accept),
            self.accepted.eq(intake.accept.any()),
            self.is_second.eq((intake.accept & states.is_second).any()),
            self.reads.eq(states.wants_issue),
            self.polls.eq(states.wants_poll),
            self.transfers.eq(states.wants_transfer),
            self.is_changing.eq(states.is_changing | intake.busy),
            states.calm.eq(self.calm),
            self.wake_is_known.eq(states.wake_is_known),
            self.wake_edge.eq(states.wake_edge),
        ]
        for name in ("issue", "poll", "take"):
            with m.If(getattr(self, name)):
                m.d.comb += getattr(states, name).eq(chosen)
        return chosen

    def _keep_commands(self, m, intake, states):
        """Two places a LUN; which is the active one's and which is next, its state says.

        The active one of LUN ``index`` is ``context``.
        """
        write, read = self._store(m, "commands", CommandContext, per_lun=2)
        command = intake.command
        row = Signal(8 * ROW_CYCLES)
        m.d.comb += [
            row.eq(self._row_cycles(command)),
            write.addr.eq(Cat(states.tail.bit_select(intake.index, 1), intake.index)),
            write.en.eq(intake.accept.any()),
            write.data.row.eq(row),
            write.data.column.eq(command.column),
            write.data.length.eq(command.length),
            write.data.tag.eq(command.tag),
            write.data.is_raw.eq(command.is_raw),
            write.data.accepted.eq(self.now),
            read.addr.eq(Cat(states.head.bit_select(self.index, 1), self.index)),
        ]
        self._look_up(m, self.context, read.data)

    def _look_up(self, m, register, value):
        """Keep ``value`` of LUN ``index`` for the decision, and return the register."""
        with m.If(self.look_up):
            m.d.sync += register.eq(value)
        return register

    def _row_cycles(self, command):
        """The row address of a command on the bus."""
        return row_address(self._part, command.lun, command.row)

    def _keep_stamps(self, m, place, per_lun=1):
        """Returns the stamps at ``place``, of LUN ``index``."""
        write, read = self._store(m, "stamps", IssueStamps, per_lun)
        m.d.comb += [
            write.addr.eq(place),
            write.en.eq(self.issue),
            write.data.command.eq(self.command_edge),
            write.data.issued.eq(self.now),
            read.addr.eq(place),
        ]
        return self._look_up(m, Signal(IssueStamps, name="stamps"), read.data)

    def _keep_poll_results(self, m):
        """Polls are one at a time, so their count and the edge of the last are memories too."""
        write, read = self._store(m, "poll_counts", 16)
        m.d.comb += [
            write.addr.eq(self.index),
            write.en.eq(self.issue | self.poll),
            write.data.eq(Mux(self.issue, 0, self.opening.polls + 1)),
            read.addr.eq(self.index),
        ]
        polls = self._look_up(m, Signal(16, name="polls"), read.data)
        m.d.comb += self.opening.polls.eq(polls)
        write, read = self._store(m, "ready_edges", STAMP_BITS)
        m.d.comb += [
            write.addr.eq(self.index),
            write.en.eq(self.status_valid),
            write.data.eq(self.now),
            read.addr.eq(self.index),
        ]
        ready = self._look_up(m, Signal(STAMP_BITS, name="ready"), read.data)
        m.d.comb += self.opening.ready.eq(ready)

    def _keep_ready_edges(self, m, found):
        """Any number of LUNs may become ready at one edge, so each has a register."""
        edges = Array(Signal(STAMP_BITS, name=f"ready_edge{lun}") for lun in range(len(found)))
        ready = self._look_up(m, Signal(STAMP_BITS, name="ready"), edges[self.index])
        m.d.comb += self.opening.ready.eq(ready)
        for lun, edge in enumerate(edges):
            with m.If(found[lun]):
                m.d.sync += edge.eq(self.now)

    def _store(self, m, name, shape, per_lun=1):
        """Ports of a memory with words for each LUN: writing at the edge, reading in the clock."""
        m.submodules[name] = store = memory.Memory(
            shape=shape, depth=per_lun * self._ways * self._part.luns, init=[]
        )
        return store.write_port(), store.read_port(domain="comb")
