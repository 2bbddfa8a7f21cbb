"""Rules about commands of all operations: opcodes, their order, addresses and data."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.contract.onfi import ROW_CYCLES, Opcode, split_row
from rtl.nand.checks.command_set import (
    ADDRESSES,
    AFTER_DATA,
    BY_ADDRESS,
    CLOSED_BY,
    FIRST,
    KEEPS_OUTPUT,
    ON_PLANES,
    SIGNATURE_ADDRESS,
    TAKES_DATA,
    TARGET,
    WITH_PAGE,
    WITH_ROW,
    suspend_commands,
)
from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import rule_bits
from rtl.nand.checks.sequence import COLUMN_BITS, PAGE_ADDRESS_CYCLES

__all__ = ["OperationSequence"]


class Stage(enum.Enum, shape=2):
    """What belongs to the open command next."""

    CLOSED = 0
    ADDRESS = 1
    """More addresses, or the cycle that ends it."""
    DATA = 2


class OperationSequence(wiring.Component):
    """Rules OPCODE to COLUMN, and TARGET_ADDRESS, for all operations; finds the complete commands.

    As :class:`rtl.nand.checks.sequence.SequenceCheck`. A program's pieces, 80h or 85h with
    addresses and data, may have pauses between them, but no other command before the last one's
    confirm cycle. 31h and 3Fh without an address go to the LUN of the channel's last row address,
    which must be of their way where LUNs share it. 00h alone, before a burst, shows data again
    after a status. ONFI 3.1, section 5.1 (table 60) and those of the commands.

    Members
    -------
    written, cle, ale, byte, way, now, reading, writing : In
        As in :class:`rtl.nand.checks.sequence.SequenceCheck`.
    burst_start, data_done, data_end : In(1)
        RE# falls for a burst; data to a die is complete with its postamble; DQS is released.
    request, lun, row, column : Out
        A complete command with its address, for one clock; never with a LUN that does not exist.
        The row of a confirm cycle is that of its 80h; EFh's data has none.
    begun, opened, broken : Out
        As in :class:`rtl.nand.checks.sequence.SequenceCheck`.
    keeps_output : Out(1)
        With ``begun``: a die goes on with its output after this command.
    resumes : Out(1)
        00h was the last cycle of this way.
    takes_data, is_more, is_feature : Out(1)
        Data to this way is what comes next; it is that of 85h, or of EFh.
    """

    def __init__(self, part, *, ways):
        self._part = part
        own = suspend_commands(part)
        self._by_address = BY_ADDRESS | own
        self._addresses = ADDRESSES | dict.fromkeys(own, ROW_CYCLES)
        self._first = (*FIRST, *own)
        super().__init__(
            {
                "written": In(1),
                "cle": In(1),
                "ale": In(1),
                "byte": In(8),
                "way": In(range(max(ways, 2))),
                "now": In(STAMP_BITS),
                "reading": In(1),
                "writing": In(1),
                "burst_start": In(1),
                "data_done": In(1),
                "data_end": In(1),
                "request": Out(Request),
                "lun": Out(range(max(part.luns, 2))),
                "row": Out(range(max(part.rows, 2))),
                "column": Out(COLUMN_BITS),
                "begun": Out(1),
                "keeps_output": Out(1),
                "resumes": Out(1),
                "opened": Out(STAMP_BITS),
                "takes_data": Out(1),
                "is_more": Out(1),
                "is_feature": Out(1),
                "broken": Out(rule_bits()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        command = Signal(
            data.StructLayout(
                {
                    "stage": Stage,
                    "opcode": 8,
                    "owner": self.way.shape(),
                    "count": range(PAGE_ADDRESS_CYCLES + 1),
                    "loaded": 1,
                    "page": 8 * ROW_CYCLES,
                }
            )
        )
        addresses = Signal(8 * PAGE_ADDRESS_CYCLES)
        start = Signal(STAMP_BITS)
        asked, row_address = Signal(Request), Signal(8 * ROW_CYCLES)
        is_ours = command.owner == self.way
        is_data = command.stage == Stage.DATA
        m.d.comb += [
            self.column.eq(addresses),
            self.opened.eq(start),
            self.takes_data.eq(is_data & is_ours),
            self.is_more.eq(command.opcode == Opcode.CHANGE_WRITE_COLUMN),
            self.is_feature.eq(command.opcode == Opcode.SET_FEATURES),
            self.resumes.eq(
                (command.stage == Stage.ADDRESS)
                & (command.opcode == Opcode.READ)
                & (command.count == 0)
                & is_ours
            ),
            row_address.eq(addresses[COLUMN_BITS:]),
        ]
        with m.If(self.reading & self.writing):
            m.d.comb += self.broken.sequence.eq(1)
        with m.If(self.written & self.cle):
            m.d.comb += self.begun.eq(1)
            m.d.sync += start.eq(self.now)
            self._take_command(m, command, is_ours, asked, row_address)
        with m.Elif(self.written & self.ale):
            self._take_address(m, command, is_ours, addresses, asked, row_address)
        if self._part.sdr is None:
            # In SDR it is data.
            with m.Elif(self.written):
                m.d.comb += self.broken.sequence.eq(1)
        with m.Elif(self.data_done & is_data & self.is_feature):
            m.d.comb += asked.eq(Request.SET_FEATURES)
        with m.Elif(self.data_end & is_data):
            m.d.sync += [command.stage.eq(Stage.CLOSED), command.loaded.eq(~self.is_feature)]
        with m.Elif(self.burst_start & self.resumes):
            m.d.sync += command.stage.eq(Stage.CLOSED)
        self._check_address(m, asked, row_address)
        return m

    def _take_command(self, m, command, is_ours, asked, row_address):
        """One command byte: open, close, or neither; ``asked`` is what it completes."""
        is_open = command.stage != Stage.CLOSED
        goes_on = command.loaded & is_ours & ~is_open
        m.d.sync += [
            command.opcode.eq(self.byte),
            command.owner.eq(self.way),
            command.count.eq(0),
            command.loaded.eq(0),
            command.stage.eq(Stage.CLOSED),
        ]
        m.d.comb += [
            self.broken.sequence.eq(is_open),
            self.keeps_output.eq(self.byte.matches(*KEEPS_OUTPUT)),
        ]

        def close(request, is_right):
            with m.If(is_right):
                m.d.comb += [self.broken.sequence.eq(0), asked.eq(request)]
            with m.Else():
                m.d.comb += self.broken.sequence.eq(1)

        with m.Switch(self.byte):
            with m.Case(*self._first):
                m.d.sync += command.stage.eq(Stage.ADDRESS)
            with m.Case(Opcode.CHANGE_WRITE_COLUMN):
                with m.If(goes_on):
                    m.d.sync += [command.stage.eq(Stage.ADDRESS), command.loaded.eq(1)]
                with m.Else():
                    m.d.comb += self.broken.sequence.eq(1)
            for firsts, confirms in CLOSED_BY.items():
                for opcode, request in self._known(confirms):
                    with m.Case(opcode):
                        close(request, self._is_addressed(command, firsts) & is_ours)
            for opcode, request in self._known(AFTER_DATA):
                with m.Case(opcode):
                    close(request, goes_on)
                    m.d.comb += row_address.eq(command.page)
            with m.Case(Opcode.READ_CACHE):
                with m.If(self._is_addressed(command, (Opcode.READ,)) & is_ours):
                    m.d.comb += [self.broken.sequence.eq(0), asked.eq(Request.READ_CACHE)]
                with m.Elif(~is_open):
                    m.d.comb += asked.eq(Request.READ_NEXT)
            with m.Case(Opcode.READ_CACHE_END), m.If(~is_open):
                m.d.comb += asked.eq(Request.READ_END)
            with m.Case(Opcode.READ_STATUS):
                m.d.comb += asked.eq(Request.STATUS)
            with m.Case(Opcode.RESET):
                m.d.comb += [asked.eq(Request.RESET), self.broken.sequence.eq(0)]
            with m.Default():
                m.d.comb += self.broken.opcode.eq(1)

    def _known(self, confirms):
        return [
            (opcode, request)
            for opcode, request in confirms.items()
            if self._part.planes > 1 or opcode not in ON_PLANES
        ]

    @staticmethod
    def _is_addressed(command, firsts):
        """The open command began with one of ``firsts`` and has its addresses."""
        (cycles,) = {ADDRESSES[first] for first in firsts}
        is_complete = (command.stage == Stage.ADDRESS) & (command.count == cycles)
        return command.opcode.matches(*firsts) & is_complete

    def _take_address(self, m, command, is_ours, addresses, asked, row_address):
        count = Signal.like(command.count)
        shifted = Cat(addresses[8:], self.byte)
        with m.Switch(command.opcode):
            for opcode, cycles in self._addresses.items():
                with m.Case(opcode):
                    m.d.comb += count.eq(cycles)
        with m.If((command.stage != Stage.ADDRESS) | ~is_ours | (command.count == count)):
            m.d.comb += self.broken.sequence.eq(1)
            m.d.sync += command.stage.eq(Stage.CLOSED)
        with m.Else():
            m.d.sync += [command.count.eq(command.count + 1), addresses.eq(shifted)]
            with m.If(command.count == count - 1):
                m.d.comb += row_address.eq(shifted[COLUMN_BITS:])
                with m.Switch(command.opcode):
                    for opcode, request in self._by_address.items():
                        with m.Case(opcode):
                            m.d.comb += asked.eq(request)
                            stage = Stage.DATA if opcode in TAKES_DATA else Stage.CLOSED
                            m.d.sync += command.stage.eq(stage)
                with m.If(command.opcode == Opcode.PROGRAM):
                    m.d.comb += self.column.eq(shifted)
                    m.d.sync += command.page.eq(row_address)
                with m.If(command.opcode == Opcode.CHANGE_WRITE_COLUMN):
                    m.d.comb += self.column.eq(shifted[-COLUMN_BITS:])

    def _check_address(self, m, asked, row_address):
        part = self._part
        lun, row = split_row(part, row_address)
        addressed = Signal(data.StructLayout({"way": self.way.shape(), "lun": len(self.lun)}))
        is_addressed = Signal(init=part.luns == 1)
        is_known = lun < part.luns
        m.d.comb += [self.lun.eq(lun), self.row.eq(row), self.request.eq(asked)]
        with m.Switch(asked):
            with m.Case(*WITH_ROW):
                m.d.comb += self.broken.row.eq(~is_known | (row >= part.rows))
                m.d.sync += [addressed.way.eq(self.way), addressed.lun.eq(lun)]
                m.d.sync += is_addressed.eq(1)
                with m.If(~is_known):
                    m.d.comb += self.request.eq(Request.NONE)
            with m.Case(Request.READ_NEXT, Request.READ_END):
                m.d.comb += [self.lun.eq(addressed.lun), self.opened.eq(self.now)]
                if part.luns > 1:
                    with m.If(~is_addressed | (addressed.way != self.way)):
                        m.d.comb += [self.broken.sequence.eq(1), self.request.eq(Request.NONE)]
            with m.Case(Request.STATUS):
                m.d.comb += self.opened.eq(self.now)
            with m.Case(*TARGET), m.If(addressed.way == self.way):
                m.d.sync += is_addressed.eq(0)
        with m.Switch(asked):
            with m.Case(*WITH_PAGE, Request.LOAD_MORE):
                beyond = self.column >= part.raw_page_bytes
                m.d.comb += self.broken.column.eq(self.column[0] | beyond)
            with m.Case(Request.IDENTIFY):
                known = row_address[-8:].matches(0, SIGNATURE_ADDRESS)
                m.d.comb += self.broken.target_address.eq(~known)
            with m.Case(Request.PARAMETERS):
                m.d.comb += self.broken.target_address.eq(row_address[-8:] != 0)
