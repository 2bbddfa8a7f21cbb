"""All LUNs of a channel: their slots, and a small memory of their commands and stamps."""

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS, ChannelCommand
from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, row_address
from rtl.nand.earliest import earliest
from rtl.nand.intake import CommandIntake
from rtl.nand.slot import LunSlot

__all__ = ["CommandContext", "IssueStamps", "LunTable"]


class CommandContext(data.Struct):
    """What is kept of a command; ``row`` is as on the bus."""

    row: 8 * ROW_CYCLES
    column: 8 * COLUMN_CYCLES
    length: 16
    tag: 16
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
        LUN looked at: ``context``, ``stamps``, ``ready_edge`` and ``poll_count`` of its active
        command follow within the clock.
    poll, take : In(1)
        Strobes: a poll, or the transfer, of LUN ``index`` was decided.
    current : In
        LUN of the bus operation under way; the following are about it.
    issue, command_edge : In
        Strobe: its 30h is being latched; 00h was on the bus from ``command_edge`` on.
    status_valid, status_ready : In(1)
        A poll's answer.
    accepted, is_second : Out(1)
        Strobes: a command was taken; it is its LUN's second.
    refused_valid, refused_taken, refused_tag, refused_edge
        As in :class:`CommandIntake`.
    is_changing, wake_edge : Out
        As in :class:`LunSlot`, over all LUNs.
    """

    def __init__(self, part, timing, ways):
        self._part = part
        self._timing = timing
        self._ways = ways
        luns = ways * part.luns
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "rb_n": In(ways),
                "commands": In(stream.Signature(ChannelCommand)),
                "reads": Out(luns),
                "polls": Out(luns),
                "transfers": Out(luns),
                "index": In(range(luns)),
                "context": Out(CommandContext),
                "stamps": Out(IssueStamps),
                "ready_edge": Out(STAMP_BITS),
                "poll_count": Out(16),
                "poll": In(1),
                "take": In(1),
                "current": In(range(luns)),
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
                "wake_edge": Out(STAMP_BITS, init=-1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.intake = intake = CommandIntake(self._part, self._ways)
        wiring.connect(m, wiring.flipped(self.commands), intake.commands)
        slots = self._slots(m, intake)
        m.d.comb += [
            intake.now.eq(self.now),
            intake.has_room.eq(Cat(*(slot.has_room for slot in slots))),
            intake.refused_taken.eq(self.refused_taken),
            self.refused_valid.eq(intake.refused_valid),
            self.refused_tag.eq(intake.refused_tag),
            self.refused_edge.eq(intake.refused_edge),
            self.accepted.eq(intake.accept.any()),
            self.is_second.eq((intake.accept & Cat(*(slot.is_second for slot in slots))).any()),
            self.reads.eq(Cat(*(slot.wants_issue for slot in slots))),
            self.polls.eq(Cat(*(slot.wants_poll for slot in slots))),
            self.transfers.eq(Cat(*(slot.wants_transfer for slot in slots))),
            self.is_changing.eq(Cat(*(slot.is_changing for slot in slots)).any()),
            self.wake_edge.eq(earliest([slot.wake_edge for slot in slots])),
            self.ready_edge.eq(Array(slot.edge for slot in slots)[self.index]),
            self.poll_count.eq(Array(slot.polls for slot in slots)[self.index]),
        ]
        self._keep_commands(m, intake, slots)
        self._keep_stamps(m, len(slots))
        return m

    def _slots(self, m, intake):
        luns = self._part.luns
        slots = []
        for lun in range(self._ways * luns):
            slot = LunSlot(self._timing, is_polled=luns > 1)
            m.submodules[f"slot{lun}"] = slot
            slots.append(slot)
            is_chosen = self.index == lun
            is_current = self.current == lun
            m.d.comb += [
                slot.now.eq(self.now),
                slot.rb_n.eq(self.rb_n[lun // luns]),
                slot.accept.eq(intake.accept[lun]),
                slot.poll.eq(self.poll & is_chosen),
                slot.take.eq(self.take & is_chosen),
                slot.issue.eq(self.issue & is_current),
                slot.status_valid.eq(self.status_valid & is_current),
                slot.status_ready.eq(self.status_ready),
            ]
        return slots

    def _keep_commands(self, m, intake, slots):
        """Two places a LUN; which is the active one's and which is next, the slot says."""
        m.submodules.commands = store = memory.Memory(
            shape=CommandContext, depth=2 * len(slots), init=[]
        )
        write = store.write_port()
        read = store.read_port(domain="comb")
        tails = Cat(*(slot.tail for slot in slots))
        heads = Cat(*(slot.head for slot in slots))
        command = self.commands.payload
        row = Signal(8 * ROW_CYCLES)
        m.d.comb += [
            row.eq(row_address(self._part, command.lun, command.row)),
            write.addr.eq(Cat(tails.bit_select(intake.index, 1), intake.index)),
            write.en.eq(intake.accept.any()),
            write.data.row.eq(row),
            write.data.column.eq(command.column),
            write.data.length.eq(command.length),
            write.data.tag.eq(command.tag),
            write.data.accepted.eq(self.now),
            read.addr.eq(Cat(heads.bit_select(self.index, 1), self.index)),
            self.context.eq(read.data),
        ]

    def _keep_stamps(self, m, luns):
        m.submodules.stamps = store = memory.Memory(shape=IssueStamps, depth=luns, init=[])
        write = store.write_port()
        read = store.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.current),
            write.en.eq(self.issue),
            write.data.command.eq(self.command_edge),
            write.data.issued.eq(self.now),
            read.addr.eq(self.index),
            self.stamps.eq(read.data),
        ]
