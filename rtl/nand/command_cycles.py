"""Command and address cycles of one bus operation."""

from dataclasses import replace

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import ChannelOperation
from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, Opcode
from rtl.contract.operations import OPERATIONS, AddressCycles, OperationSteps
from rtl.nand.operation_sets import is_any
from rtl.nand.timing import Work

__all__ = ["BusOperation", "BusOperationKind", "CommandCycles"]

FIRST_COLUMN = 1
FIRST_ROW = FIRST_COLUMN + COLUMN_CYCLES
CONFIRM = FIRST_ROW + ROW_CYCLES
"""Cycles are numbered as those of a page command: 0 is the first command cycle."""

ADDRESS_RANGES = {
    AddressCycles.NONE: (CONFIRM, 0),
    AddressCycles.ONE: (FIRST_ROW, FIRST_ROW),
    AddressCycles.COLUMN: (FIRST_COLUMN, FIRST_ROW - 1),
    AddressCycles.ROW: (FIRST_ROW, CONFIRM - 1),
    AddressCycles.PAGE: (FIRST_COLUMN, CONFIRM - 1),
}
"""First and last address cycle; without any, the confirm cycle follows cycle 0."""


class BusOperationKind(enum.IntEnum, shape=3):
    """What the bus does between two decisions."""

    ISSUE = 0
    """The cycles of a command's operation, with its data if that goes to the die."""
    POLL = 1
    """78h, row, or 70h, then a burst of two status bytes."""
    TRANSFER = 2
    """05h (06h on a part of several planes), column, row, E0h, then a burst of data; or the burst
    alone, for an operation whose data comes without a choice.
    """
    COMPLETE = 3
    """Nothing: a command ends that has no use for the bus any more."""
    SUSPEND = 4
    """The part's opcode that puts aside what the LUN is at, with its row."""
    RESUME = 5


class BusOperation(data.Struct):
    """One bus operation; ``row`` is as on the bus, with the LUN's bits on top."""

    kind: BusOperationKind
    operation: ChannelOperation
    row: 8 * ROW_CYCLES
    column: 8 * COLUMN_CYCLES


class CycleSteps(data.Struct):
    """Cycles of one bus operation: a row of the table."""

    first: 8
    following: range(CONFIRM + 1)
    """Cycle after the first."""
    last_address: range(CONFIRM)
    last: range(CONFIRM + 1)
    data_in: 1
    has_confirm: 1
    confirm: 8


def cycle_steps(steps):
    """Row of the table for an operation, as a constant."""
    following, last_address = ADDRESS_RANGES[steps.address]
    return CycleSteps.const(
        {
            "first": steps.first,
            "following": following,
            "last_address": last_address,
            "last": CONFIRM if steps.confirm is not None or steps.data_in else last_address,
            "data_in": steps.data_in,
            "has_confirm": steps.confirm is not None,
            "confirm": steps.confirm or 0,
        }
    )


POLL = OperationSteps(first=Opcode.READ_STATUS_ENHANCED, address=AddressCycles.ROW)
"""Cycles of a status poll."""
TARGET_POLL = OperationSteps(first=Opcode.READ_STATUS)
"""The same of an operation that ``needs_single_lun``."""


SUSPENSIONS = {BusOperationKind.SUSPEND: "suspend", BusOperationKind.RESUME: "resume"}


def suspension(part, work, word):
    """Row of the table for a suspend or resume, by the ``word``, of some work."""
    opcode = getattr(part.suspend, f"{work.value}_{word}")
    return cycle_steps(OperationSteps(first=opcode, address=AddressCycles.ROW))


def choice(part):
    """Cycles that choose a LUN's data for output, of the form that the part takes."""
    is_plain = part.planes == 1
    return OperationSteps(
        first=Opcode.CHANGE_READ_COLUMN_ENHANCED if is_plain else Opcode.CHANGE_READ_COLUMN_PLANE,
        address=AddressCycles.PAGE,
        confirm=Opcode.CHANGE_READ_COLUMN_CONFIRM,
    )


def issued(part):
    """Cycles of the operations that a part may be given, by operation.

    Where LUNs share a way, a command without an address goes to the LUN that was addressed last,
    so its row is put before it, with 78h, whose answer nobody reads.
    """
    if part.extended is None:
        return {ChannelOperation.READ: OPERATIONS[ChannelOperation.READ]}
    found = {code: steps for code, steps in OPERATIONS.items() if steps.first is not None}
    for code, steps in found.items():
        if part.luns > 1 and steps.address is AddressCycles.NONE and not steps.is_target:
            found[code] = replace(POLL, confirm=steps.first)
    return found


class CommandCycles(wiring.Component):
    """Plays the command and address cycles of an operation; all bus outputs are registers.

    ::

        start     -__________________________
        began     ___-_______________________   (setup = 3)
        cle       ____-------________________   first cycle; setup before WE# rises, hold after
        we_n      ------___----___----...
        latched   _________________...-______   the last cycle's byte is being latched
        done      _________________...___-___   tail clocks after the last rising WE#

    Data that goes to the die is somebody else's to drive: after the address the latch enables and
    DQ are released until ``loaded``, and the confirm cycle, if there is one, follows at once.

    Parameters
    ----------
    timing : BusTiming
        Lengths of ``setup``, ``low``, ``high`` and ``tail``; its part says which operations there
        are beyond the read.
    phases : int
        Transfers a clock; bytes go out in the low bits of ``dq_o``.

    Members
    -------
    start : In(1)
        Begin ``operation`` in the next clock; its row and column must stay. Only while nothing is
        under way.
    began, latched, done : Out(1)
        Strobes in the clock before the edge at which WE# first falls; at which the die latches the
        last cycle, or has taken all data if no cycle follows it; and at which CE# may rise.
    load : Out(1)
        Strobe in the clock in which the last address cycle before data is being latched.
    loaded : In(1)
        Strobe: WE# may fall at the next edge, the data is with the die.
    cle, ale, we_n, dq_o, dq_oe : Out
        As in :class:`PhySignature`.
    """

    def __init__(self, timing, phases=2):
        self._timing = timing
        super().__init__(
            {
                "start": In(1),
                "operation": In(BusOperation),
                "began": Out(1),
                "latched": Out(1),
                "done": Out(1),
                "load": Out(1),
                "loaded": In(1),
                "cle": Out(1),
                "ale": Out(1),
                "we_n": Out(1, init=1),
                "dq_o": Out(8 * phases),
                "dq_oe": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        timing = self._timing
        longest = max(timing.setup, timing.low, timing.high, timing.tail)
        wait = Signal(range(longest))
        index = Signal(range(CONFIRM + 1))
        steps, found = Signal(CycleSteps), self._look_up(m)
        is_last = Signal()
        rose = Signal()
        m.d.comb += [
            is_last.eq(index == steps.last),
            self.latched.eq(rose & is_last),
        ]
        m.d.sync += rose.eq(0)
        is_extended = timing.part.extended is not None
        is_loading = Signal()
        if is_extended:
            m.d.comb += is_loading.eq(steps.data_in & (index == steps.last_address))
            m.d.comb += self.load.eq(rose & is_loading)
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += [steps.eq(found), wait.eq(timing.setup - 1), index.eq(0)]
                m.next = "SETUP"
            with m.State("SETUP"), m.If(wait == 0):
                m.d.comb += self.began.eq(1)
                self._present(m, steps, index)
                m.d.sync += [self.we_n.eq(0), self.dq_oe.eq(1), wait.eq(timing.low - 1)]
                m.next = "LOW"
            with m.State("LOW"), m.If(wait == 0):
                m.d.sync += [self.we_n.eq(1), rose.eq(1)]
                m.d.sync += wait.eq(Mux(is_last, timing.tail, timing.high) - 1)
                m.next = "HIGH"
            with m.State("HIGH"), m.If(wait == 0):
                with m.If(is_last):
                    m.d.comb += self.done.eq(1)
                    m.d.sync += [self.cle.eq(0), self.ale.eq(0), self.dq_oe.eq(0)]
                    m.next = "IDLE"
                if is_extended:
                    with m.Elif(is_loading):
                        m.d.sync += [self.cle.eq(0), self.ale.eq(0), self.dq_oe.eq(0)]
                        m.next = "LOAD"
                with m.Else():
                    following = Signal.like(index)
                    m.d.comb += following.eq(
                        Mux(
                            index == 0,
                            steps.following,
                            Mux(index == steps.last_address, CONFIRM, index + 1),
                        )
                    )
                    self._present(m, steps, following)
                    m.d.sync += [index.eq(following), self.we_n.eq(0), wait.eq(timing.low - 1)]
                    m.next = "LOW"
            if is_extended:
                with m.State("LOAD"), m.If(self.loaded):
                    m.d.sync += index.eq(CONFIRM)
                    with m.If(steps.has_confirm):
                        self._present(m, steps, Const(CONFIRM))
                        m.d.sync += [self.we_n.eq(0), self.dq_oe.eq(1), wait.eq(timing.low - 1)]
                        m.next = "LOW"
                    with m.Else():
                        m.d.sync += [rose.eq(1), wait.eq(timing.tail - 1)]
                        m.next = "HIGH"
        return m

    def _look_up(self, m):
        """Steps of ``operation``."""
        part = self._timing.part
        operations = issued(part)
        steps = Signal(CycleSteps, name="found")
        with m.Switch(self.operation.kind):
            with m.Case(BusOperationKind.POLL):
                m.d.comb += steps.eq(cycle_steps(POLL))
                if part.extended is not None and part.luns == 1:
                    operation = self.operation.operation
                    with m.If(is_any(operation, lambda steps: steps.needs_single_lun)):
                        m.d.comb += steps.eq(cycle_steps(TARGET_POLL))
            with m.Case(BusOperationKind.TRANSFER):
                m.d.comb += steps.eq(cycle_steps(choice(part)))
            if part.suspend is not None:
                is_erase = self.operation.operation == ChannelOperation.ERASE
                for kind, word in SUSPENSIONS.items():
                    with m.Case(kind):
                        program, erase = (suspension(part, work, word) for work in Work)
                        m.d.comb += steps.eq(Mux(is_erase, erase, program))
            with m.Default(), m.Switch(self.operation.operation):
                *others, last = operations
                for code in others:
                    with m.Case(code):
                        m.d.comb += steps.eq(cycle_steps(operations[code]))
                with m.Default():
                    m.d.comb += steps.eq(cycle_steps(operations[last]))
        return steps

    def _present(self, m, steps, index):
        """Drive the byte of cycle ``index``, and its latch enable, from the next edge on."""
        with m.Switch(index):
            with m.Case(0):
                m.d.sync += [self.dq_o.eq(steps.first), self.cle.eq(1), self.ale.eq(0)]
            for byte in range(COLUMN_CYCLES):
                with m.Case(FIRST_COLUMN + byte):
                    m.d.sync += self.dq_o.eq(self.operation.column.word_select(byte, 8))
                    m.d.sync += [self.cle.eq(0), self.ale.eq(1)]
            for byte in range(ROW_CYCLES):
                with m.Case(FIRST_ROW + byte):
                    m.d.sync += self.dq_o.eq(self.operation.row.word_select(byte, 8))
                    m.d.sync += [self.cle.eq(0), self.ale.eq(1)]
            with m.Default():
                m.d.sync += [self.dq_o.eq(steps.confirm), self.cle.eq(1), self.ale.eq(0)]
