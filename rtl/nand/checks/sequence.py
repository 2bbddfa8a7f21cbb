"""Rules about commands: opcodes, their order, and their addresses."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, Opcode, split_row
from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import rule_bits, rules_of

__all__ = ["COLUMN_BITS", "PAGE_ADDRESS_CYCLES", "SequenceCheck"]

COLUMN_BITS = 8 * COLUMN_CYCLES
PAGE_ADDRESS_CYCLES = COLUMN_CYCLES + ROW_CYCLES


CLOSED_BY = {
    Opcode.READ: (Opcode.READ_CONFIRM, Request.READ),
    Opcode.CHANGE_READ_COLUMN_ENHANCED: (Opcode.CHANGE_READ_COLUMN_CONFIRM, Request.CHOOSE),
}
"""Opcode that ends a command after its five address cycles, and what it then asks for."""


class SequenceCheck(wiring.Component):
    """Rules OPCODE to COLUMN ; finds the complete commands.

    A channel carries one command at a time: another way's cycles before the confirm cycle break
    SEQUENCE too. FFh may come at any time. ONFI 3.1, section 5.1 (table 60) and section 3.1
    (addressing).

    Members
    -------
    written, cle, ale, byte, way, now : In
        A write cycle of ``way`` ends in this clock.
    reading : In(1)
        RE# is not idle.
    writing : In(1)
        WE# is low, or CLE or ALE is high.
    request, lun, column : Out
        A complete command with its address, for one clock; never with a LUN that does not exist.
    begun : Out(1)
        A command byte is latched: what was chosen for output no longer is.
    opened : Out(48)
        Edge of the first cycle of ``request``.
    broken : Out
        Rules broken in this clock.
    """

    def __init__(self, part, *, ways):
        self._part = part
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
                "request": Out(Request),
                "lun": Out(range(max(part.luns, 2))),
                "column": Out(COLUMN_BITS),
                "begun": Out(1),
                "opened": Out(STAMP_BITS),
                "broken": Out(rule_bits(rules_of(part))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        opcode = Signal(8)
        is_open = Signal()
        owner = Signal.like(self.way)
        count = Signal(range(PAGE_ADDRESS_CYCLES + 1))
        address = Signal(8 * PAGE_ADDRESS_CYCLES)
        start = Signal(STAMP_BITS)
        asked = Signal(Request)
        row_address = Signal(8 * ROW_CYCLES)
        strange = Signal()
        m.d.comb += [
            strange.eq(is_open & (owner != self.way)),
            row_address.eq(address[COLUMN_BITS:]),
            self.column.eq(address[:COLUMN_BITS]),
            self.opened.eq(start),
            self.broken.sequence.eq(self.reading & self.writing),
        ]
        with m.If(self.written & self.cle):
            m.d.comb += self.begun.eq(1)
            m.d.sync += [count.eq(0), opcode.eq(self.byte), owner.eq(self.way)]
            m.d.sync += [start.eq(self.now), is_open.eq(0)]
            self._take_command(m, opcode, is_open, count, asked, strange)
        with m.Elif(self.written & self.ale):
            with m.If(~is_open | strange | (count == PAGE_ADDRESS_CYCLES)):
                m.d.comb += self.broken.sequence.eq(1)
                m.d.sync += is_open.eq(0)
            with m.Else():
                shifted = Cat(address[8:], self.byte)
                m.d.sync += [count.eq(count + 1), address.eq(shifted)]
                last = count == ROW_CYCLES - 1
                with m.If((opcode == Opcode.READ_STATUS_ENHANCED) & last):
                    m.d.sync += is_open.eq(0)
                    m.d.comb += [
                        asked.eq(Request.STATUS_LUN),
                        row_address.eq(shifted[COLUMN_BITS:]),
                    ]
        with m.Elif(self.written):
            m.d.comb += self.broken.sequence.eq(1)
        self._check_address(m, asked, row_address)
        return m

    def _take_command(self, m, opcode, is_open, count, asked, strange):
        """One command byte: open, close, or neither; ``asked`` is what it completes."""
        m.d.comb += self.broken.sequence.eq(is_open)
        with m.Switch(self.byte):
            for first, (confirm, request) in CLOSED_BY.items():
                with m.Case(first):
                    m.d.sync += is_open.eq(1)
                with m.Case(confirm):
                    complete = is_open & ~strange & (opcode == first)
                    with m.If(complete & (count == PAGE_ADDRESS_CYCLES)):
                        m.d.comb += [self.broken.sequence.eq(0), asked.eq(request)]
                    with m.Else():
                        m.d.comb += self.broken.sequence.eq(1)
            with m.Case(Opcode.READ_STATUS_ENHANCED):
                m.d.sync += is_open.eq(1)
            with m.Case(Opcode.READ_STATUS):
                m.d.comb += [asked.eq(Request.STATUS), self.opened.eq(self.now)]
            with m.Case(Opcode.RESET):
                m.d.comb += [asked.eq(Request.RESET), self.broken.sequence.eq(0)]
            with m.Default():
                m.d.comb += self.broken.opcode.eq(1)

    def _check_address(self, m, asked, row_address):
        lun, row = split_row(self._part, row_address)
        known = lun < self._part.luns
        m.d.comb += [self.lun.eq(lun), self.request.eq(asked)]
        with m.Switch(asked):
            with m.Case(Request.READ, Request.CHOOSE, Request.STATUS_LUN):
                m.d.comb += self.broken.row.eq(~known | (row >= self._part.rows))
                with m.If(~known):
                    m.d.comb += self.request.eq(Request.NONE)
        with m.Switch(asked):
            with m.Case(Request.READ, Request.CHOOSE):
                beyond = self.column >= self._part.raw_page_bytes
                m.d.comb += self.broken.column.eq(self.column[0] | beyond)
