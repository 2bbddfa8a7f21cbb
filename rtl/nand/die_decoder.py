"""What the cycles on a die's command and address pins ask of it; simulation only."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, Opcode, split_row

__all__ = ["DieDecoder"]

COLUMN_BITS = 8 * COLUMN_CYCLES
ADDRESS_CYCLES = COLUMN_CYCLES + ROW_CYCLES


class DieDecoder(wiring.Component):
    """Turns WE# cycles of one die into pulses, each in the clock that samples WE# high.

    A cycle counts if CE# was low while WE# was. Unknown opcodes, confirm cycles without their
    first cycle and their five addresses, and LUNs that the part lacks do nothing: the bus checker
    is the one to report them.

    Parameters
    ----------
    part : NandPart
        Where the LUN lies in a row address, and how many there are.

    Members
    -------
    ce_n, cle, ale, we_n, dq : In
        The pins; ``dq`` is the byte of the command or address cycle.
    read : Out(1)
        30h: sense page ``row`` of ``lun``, then put it out from ``column`` on.
    select : Out(1)
        E0h: put ``lun``'s page register out from ``column`` on.
    status : Out(1)
        70h: put out the status of the LUN used last.
    status_lun : Out(1)
        Last address cycle of 78h: put out the status of ``lun``.
    reset : Out(1)
        FFh: abort what any LUN does.
    lun, row, column : Out
        Addresses, valid with the pulses that use them.
    active : Out(1)
        A write cycle is going on.
    """

    def __init__(self, part):
        self._part = part
        super().__init__(
            {
                "ce_n": In(1, init=1),
                "cle": In(1),
                "ale": In(1),
                "we_n": In(1, init=1),
                "dq": In(8),
                "read": Out(1),
                "select": Out(1),
                "status": Out(1),
                "status_lun": Out(1),
                "reset": Out(1),
                "lun": Out(range(max(part.luns, 2))),
                "row": Out(range(max(part.rows, 2))),
                "column": Out(COLUMN_BITS),
                "active": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        opcode = Signal(8, init=Opcode.RESET)
        cycle = Signal(range(ADDRESS_CYCLES + 2))
        address = Signal(8 * ADDRESS_CYCLES)
        shifted = Cat(address[8:], self.dq)
        row_address = Signal(8 * ROW_CYCLES)
        known_lun = Signal()
        lun, row = split_row(self._part, row_address)
        m.d.comb += [
            row_address.eq(address[COLUMN_BITS:]),
            known_lun.eq(lun < self._part.luns),
            self.lun.eq(lun),
            self.row.eq(row),
            self.column.eq(address[:COLUMN_BITS]),
        ]
        with m.If(~self.ce_n | self.active):
            m.d.sync += self.active.eq(~self.ce_n & ~self.we_n)
        addressed = Signal()
        m.d.comb += addressed.eq(known_lun & (cycle == ADDRESS_CYCLES))
        with m.If(self.active & self.we_n & self.cle & ~self.ale):
            m.d.sync += [opcode.eq(self.dq), cycle.eq(0)]
            with m.Switch(self.dq):
                with m.Case(Opcode.READ_CONFIRM):
                    m.d.comb += self.read.eq((opcode == Opcode.READ) & addressed)
                with m.Case(Opcode.CHANGE_READ_COLUMN_CONFIRM):
                    enhanced = opcode == Opcode.CHANGE_READ_COLUMN_ENHANCED
                    m.d.comb += self.select.eq(enhanced & addressed)
                with m.Case(Opcode.READ_STATUS):
                    m.d.comb += self.status.eq(1)
                with m.Case(Opcode.RESET):
                    m.d.comb += self.reset.eq(1)
        with m.Elif(self.active & self.we_n & self.ale & ~self.cle):
            m.d.sync += address.eq(shifted)
            with m.If(cycle <= ADDRESS_CYCLES):
                m.d.sync += cycle.eq(cycle + 1)
            with m.If((opcode == Opcode.READ_STATUS_ENHANCED) & (cycle == ROW_CYCLES - 1)):
                m.d.comb += [
                    row_address.eq(shifted[COLUMN_BITS:]),
                    self.status_lun.eq(known_lun),
                ]
        return m
