"""What the cycles on a die's command and address pins ask of it; simulation only."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, Opcode, split_row

__all__ = ["DieDecoder", "DieRequest"]

COLUMN_BITS = 8 * COLUMN_CYCLES
ADDRESS_CYCLES = COLUMN_CYCLES + ROW_CYCLES


class DieRequest(enum.Enum, shape=3):
    """A complete command."""

    NONE = 0
    READ = 1
    """30h: sense page ``row`` of ``lun``, then put it out from ``column`` on."""
    SELECT = 2
    """E0h: put ``lun``'s page register out from ``column`` on."""
    STATUS = 3
    """70h: put out the status of the LUN used last."""
    STATUS_LUN = 4
    """Last address cycle of 78h: put out the status of ``lun``."""
    RESET = 5
    """FFh: abort what any LUN does."""


class DieDecoder(wiring.Component):
    """Turns WE# cycles of one die into requests, each in the clock that samples WE# high.

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
    request : Out(DieRequest)
        A command that is complete in this clock.
    lun, row, column : Out
        Its addresses, as far as it has any.
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
                "request": Out(DieRequest),
                "lun": Out(range(max(part.luns, 2))),
                "row": Out(range(max(part.rows, 2))),
                "column": Out(COLUMN_BITS),
                "active": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # One register for all that write cycles leave behind: the die is simulated many times over.
        layout = {"opcode": 8, "cycle": range(ADDRESS_CYCLES + 2), "address": 8 * ADDRESS_CYCLES}
        latched = Signal(data.StructLayout(layout), init={"opcode": Opcode.RESET})
        lun, row = split_row(self._part, latched.address[COLUMN_BITS:])
        m.d.comb += [
            self.lun.eq(lun),
            self.row.eq(row),
            self.column.eq(latched.address[:COLUMN_BITS]),
        ]
        m.d.sync += self.active.eq(~self.ce_n & ~self.we_n)
        with m.If(self.active & self.we_n):
            with m.If(self.cle & ~self.ale):
                m.d.sync += [latched.opcode.eq(self.dq), latched.cycle.eq(0)]
                is_addressed = (lun < self._part.luns) & (latched.cycle == ADDRESS_CYCLES)
                self._take_command(m, latched.opcode, is_addressed)
            with m.Elif(self.ale & ~self.cle):
                self._take_address(m, latched)
        return m

    def _take_command(self, m, opcode, is_addressed):
        with m.Switch(self.dq):
            with m.Case(Opcode.READ_CONFIRM):
                with m.If((opcode == Opcode.READ) & is_addressed):
                    m.d.comb += self.request.eq(DieRequest.READ)
            with m.Case(Opcode.CHANGE_READ_COLUMN_CONFIRM):
                with m.If((opcode == Opcode.CHANGE_READ_COLUMN_ENHANCED) & is_addressed):
                    m.d.comb += self.request.eq(DieRequest.SELECT)
            with m.Case(Opcode.READ_STATUS):
                m.d.comb += self.request.eq(DieRequest.STATUS)
            with m.Case(Opcode.RESET):
                m.d.comb += self.request.eq(DieRequest.RESET)

    def _take_address(self, m, latched):
        shifted = Cat(latched.address[8:], self.dq)
        m.d.sync += latched.address.eq(shifted)
        with m.If(latched.cycle <= ADDRESS_CYCLES):
            m.d.sync += latched.cycle.eq(latched.cycle + 1)
        is_last = latched.cycle == ROW_CYCLES - 1
        with m.If((latched.opcode == Opcode.READ_STATUS_ENHANCED) & is_last):
            lun, _ = split_row(self._part, shifted[COLUMN_BITS:])
            m.d.comb += self.lun.eq(lun)
            with m.If(lun < self._part.luns):
                m.d.comb += self.request.eq(DieRequest.STATUS_LUN)
