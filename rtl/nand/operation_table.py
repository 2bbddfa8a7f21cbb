"""All LUNs of a channel whose part does more than plain reads."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from rtl.contract.channel import STAMP_BITS, ChannelOperation, ChannelStatus
from rtl.contract.onfi import StatusBit
from rtl.contract.operations import AddressCycles, Finish
from rtl.nand.intake import CommandIntake
from rtl.nand.lun_orders import order_kind
from rtl.nand.lun_table import LunTable
from rtl.nand.operation_sets import is_any
from rtl.nand.operation_states import SUSPEND_STROBES, OperationStates

__all__ = ["OperationTable", "Order"]


class Order(data.Struct):
    """What is kept of a command beside its :class:`CommandContext`."""

    operation: ChannelOperation
    slot: 8
    """Launch slot."""


class StatusReading(data.Struct):
    """A status byte, and the edges from which its poll was on the bus and at which it was read."""

    began: STAMP_BITS
    read: STAMP_BITS
    byte: 8


class OperationTable(LunTable):
    """As :class:`LunTable`, for all operations.

    A phase that a command does not have ends when the one before it does, so its stamp repeats
    that; a command that issues nothing has its phases from when its LUN takes it up. If the poll
    that finds a LUN ready also brings the status that was asked for, ``transfer`` and ``last`` are
    the edge of that byte.

    Parameters
    ----------
    part, timing, ways
        As in :class:`LunTable`.
    slots : int
        Launch slots.
    watchdog : int or None
        As in :class:`OperationStates`.
    suspends : int
        As in :class:`OperationStates`.

    Members
    -------
    completions : Out(ways * luns)
        LUNs whose command ends without any further use of the bus.
    targets, urgent : Out(ways * luns)
        LUNs whose active command is about the whole way; is a read.
    order : Out(Order)
        Of the active command, with ``context``.
    is_busy : In(1)
        With ``issue``: the operation makes the LUN busy.
    status_byte : In(8)
        With ``status_valid``.
    suspends, resumes : Out(ways * luns)
        LUNs that ask for these. Only if there are suspends, as the following.
    suspend, suspended, resumed : In(1)
        Strobes: a suspend of LUN ``index`` was decided; its last cycle is being latched, or that of
        a resume.
    put_aside : Out(1)
        Strobe: a program or erase is held, by a LUN's status byte.
    """

    def __init__(self, part, timing, ways, *, slots, watchdog=None, suspends=0):
        self._slots = slots
        self._watchdog = watchdog
        self._suspends = suspends
        luns = ways * part.luns
        members = {}
        if suspends:
            members = {"suspends": Out(luns), "resumes": Out(luns), "put_aside": Out(1)}
            members |= {name: In(1) for name in SUSPEND_STROBES}
        super().__init__(
            part,
            timing,
            ways,
            members=members
            | {
                "completions": Out(luns),
                "targets": Out(luns),
                "urgent": Out(luns),
                "order": Out(Order),
                "is_busy": In(1),
                "status_byte": In(8),
            },
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.intake = intake = CommandIntake(self._part, self._ways, self._slots)
        m.submodules.states = states = OperationStates(
            self._timing,
            self._ways,
            self._part.luns,
            watchdog=self._watchdog,
            suspends=self._suspends,
        )
        chosen = self._connect(m, intake, states)
        operation = intake.command.operation
        m.d.comb += [
            *(states.kind[name].eq(is_so) for name, is_so in order_kind(operation).items()),
            states.is_busy.eq(self.is_busy),
            states.is_rdy.eq((self.status_byte & StatusBit.RDY).any()),
            self.completions.eq(states.wants_completion),
            self.targets.eq(states.is_target),
            self.urgent.eq(states.is_read),
        ]
        with m.If(self.status_valid):
            m.d.comb += states.answered.eq(chosen)
        self._keep_commands(m, intake, states)
        self._keep_orders(m, intake, states)
        self._keep_ready_edges(m, states.became_ready)
        place, per_lun = self.index, 1
        if self._suspends:
            # The two commands of a LUN may both be under way.
            place, per_lun = Cat(states.head.bit_select(self.index, 1), self.index), 2
            self._suspend(m, intake, states, chosen)
        self._keep_poll_counts(m, place, per_lun)
        stamps = self._keep_stamps(m, place, per_lun)
        reading = self._keep_readings(m, (states.ready & chosen).any())
        self._open(m, states, stamps, reading)
        return m

    def _suspend(self, m, intake, states, chosen):
        """Let states suspend and resume; find reads of the block that they would wait for."""
        m.d.comb += [
            self.suspends.eq(states.wants_suspend),
            self.resumes.eq(states.wants_resume),
            self.put_aside.eq(states.put_aside.any()),
            states.is_ardy.eq((self.status_byte & StatusBit.ARDY).any()),
        ]
        for name in SUSPEND_STROBES:
            with m.If(getattr(self, name)):
                m.d.comb += getattr(states, name).eq(chosen)
        bits = exact_log2(self._part.pages_per_block)
        blocks = self._part.blocks_per_lun
        write, read = self._store(m, "blocks", range(max(blocks, 2)), per_lun=2)
        own = intake.command.row >> bits
        m.d.comb += [
            write.addr.eq(Cat(states.tail.bit_select(intake.index, 1), intake.index)),
            write.en.eq(intake.accept.any()),
            write.data.eq(own),
            read.addr.eq(Cat(states.head.bit_select(intake.index, 1), intake.index)),
        ]
        conflicts = Signal(self._ways * self._part.luns)
        m.d.comb += states.conflicts.eq(conflicts)
        with m.If(intake.accept.any()):
            others = conflicts & ~intake.accept
            m.d.sync += conflicts.eq(Mux(read.data == own, others | intake.accept, others))

    def _row_cycles(self, command):
        is_byte = is_any(command.operation, lambda steps: steps.address is AddressCycles.ONE)
        return Mux(is_byte, command.row, super()._row_cycles(command))

    def _keep_orders(self, m, intake, states):
        write, read = self._store(m, "orders", Order, per_lun=2)
        m.d.comb += [
            write.addr.eq(Cat(states.tail.bit_select(intake.index, 1), intake.index)),
            write.en.eq(intake.accept.any()),
            write.data.operation.eq(intake.command.operation),
            write.data.slot.eq(intake.command.slot),
            read.addr.eq(Cat(states.head.bit_select(self.index, 1), self.index)),
        ]
        self._look_up(m, self.order, read.data)

    def _keep_poll_counts(self, m, place, per_lun):
        """A decision is a poll or the command's last, after which the count begins anew."""
        write, read = self._store(m, "poll_counts", 16, per_lun)
        m.d.comb += [
            write.addr.eq(place),
            write.en.eq(self.poll | self.take),
            write.data.eq(Mux(self.poll, self.opening.polls + 1, 0)),
            read.addr.eq(place),
        ]
        polls = self._look_up(m, Signal(16, name="polls"), read.data)
        m.d.comb += self.opening.polls.eq(polls)

    def _keep_readings(self, m, is_apart):
        """Keep the last status of each LUN; returns that of LUN ``index``.

        A poll of a LUN that had been found ready (``is_apart``) has a time of its own.
        """
        write, read = self._store(m, "readings", StatusReading)
        m.d.comb += [
            write.addr.eq(self.index),
            write.en.eq(self.status_valid),
            write.data.began.eq(Mux(is_apart, self.command_edge, self.now)),
            write.data.read.eq(self.now),
            write.data.byte.eq(self.status_byte),
            read.addr.eq(self.index),
        ]
        return self._look_up(m, Signal(StatusReading, name="reading"), read.data)

    def _open(self, m, states, stamps, reading):
        """What the completion of LUN ``index`` is to say."""
        opening, operation = self.opening, self.order.operation
        was_issued, timed_out = (
            self._look_up(m, Signal(name=name), getattr(states, name).bit_select(self.index, 1))
            for name in ("was_issued", "timed_out")
        )
        loads = is_any(operation, lambda steps: steps.data_in)
        has_status = Signal()
        m.d.comb += [
            has_status.eq(
                is_any(operation, lambda steps: steps.finish is Finish.STATUS) & ~timed_out
            ),
            opening.tag.eq(self.context.tag),
            opening.status.eq(ChannelStatus.OK),
            opening.slot.eq(Mux(loads, self.order.slot, 0)),
            opening.accepted.eq(self.context.accepted),
            opening.command.eq(Mux(was_issued, stamps.command, opening.ready)),
            opening.issued.eq(Mux(was_issued, stamps.issued, opening.ready)),
            opening.transfer.eq(Mux(has_status, reading.began, opening.ready)),
            opening.received.eq(Mux(has_status, reading.read, opening.ready)),
            opening.last.eq(opening.received),
        ]
        with m.If(opening.polls != 0):
            m.d.comb += opening.nand_status.eq(reading.byte)
        with m.If(timed_out):
            m.d.comb += opening.status.eq(ChannelStatus.TIMEOUT)
        with m.Elif(has_status):
            m.d.comb += opening.status.eq(self._verdict(reading.byte, operation))

    @staticmethod
    def _verdict(byte, operation):
        """How a command ended, by its status byte.

        While the array still works (ARDY low) FAIL has no meaning, and FAILC has one after a
        program only (ONFI 3.1, section 5.13).
        """
        is_program = is_any(operation, lambda steps: steps.programs)
        failed = ((byte & StatusBit.FAIL) != 0) & ((byte & StatusBit.ARDY) != 0)
        previous_failed = ((byte & StatusBit.FAILC) != 0) & is_program
        return Mux(
            failed,
            ChannelStatus.FAILED,
            Mux(previous_failed, ChannelStatus.PREVIOUS_FAILED, ChannelStatus.OK),
        )
