"""Bus driver for what a part does beyond plain reads: data in, and cycles of all operations."""

from dataclasses import replace

from rtl.contract.nand_array import SuspendOpcodes
from rtl.contract.nand_part import ExtendedTimes, cycles
from rtl.contract.onfi import Opcode, row_address
from tests.scenarios.onfi_bus import PART, PERIOD_PS, OnfiBus, strobe_levels

TIMES = ExtendedTimes(
    t_adl_ps=145_000,
    t_wpre_ps=15_000,
    t_wpst_ps=25_000,
    t_prog_ps=900_000,
    t_bers_ps=2_000_000,
    t_cbsy_ps=90_000,
    t_rcbsy_ps=80_000,
    t_dbsy_ps=70_000,
    t_feat_ps=60_000,
    t_rst_ps=500_000,
)
FULL = replace(PART, extended=TIMES)
"""Two LUNs of three blocks of four pages; rows are four bits."""
PLANES = replace(FULL, blocks_per_lun=4, planes=2)
"""Two LUNs of two planes: rows 0 to 3 and 8 to 11 are plane 0's."""

SUSPEND = SuspendOpcodes(
    program_suspend=0x84,
    program_resume=0x13,
    erase_suspend=0x61,
    erase_resume=0xD2,
    t_program_suspend_ps=110_000,
    t_erase_suspend_ps=120_000,
)
SUSPENDING = replace(FULL, suspend=SUSPEND)


def piece(count):
    """Some data of that length."""
    return bytes(range(0x5A, 0x5A + count))


EIGHT = piece(8)


class OperationBus(OnfiBus):
    """Builds a waveform of any operation of a part with ``extended`` times.

    As in :class:`OnfiBus`, a method returns the edge of its last cycle if nothing else is said, and
    every time is at its limit unless a keyword gives other clocks.
    """

    def __init__(self, part=FULL, period_ps=PERIOD_PS, ways=2, phases=2):
        super().__init__(part, period_ps, ways, phases)
        strobe = {"dqs_o": 0, "dqs_oe": 0}
        self.pins |= strobe
        self.clocks = [clock | strobe for clock in self.clocks]
        self.last_write = -1000
        """Clock of the last edge of the last data to a die."""

    def limit(self, name):
        """Clocks of one of the part's times, ``extended`` ones included."""
        times = self.part if hasattr(self.part, f"t_{name}_ps") else self.part.extended
        return cycles(getattr(times, f"t_{name}_ps"), self._period_ps)

    def data_in(self, raw, *, gap=None, wpre=None, wpst=None):
        """``gap`` (tADL) after the last cycle: preamble, bytes, postamble.

        Returns the first clock of the data.
        """
        self.until(self.rise + (self.limit("adl") if gap is None else gap))
        self.tick(self.limit("wpre") if wpre is None else wpre, dqs_oe=1)
        first = self.edge
        levels = strobe_levels(len(raw), self.phases)
        for index, level in enumerate(levels):
            word = raw[self.phases * index : self.phases * (index + 1)]
            self.tick(dqs_o=level, dq_o=int.from_bytes(word, "little"), dq_oe=1)
        self.last_write = self.edge - 1
        self.pins.update(dqs_o=0, dq_o=0, dq_oe=0)
        self.tick(self.limit("wpst") if wpst is None else wpst)
        self.pins.update(dqs_oe=0)
        return first

    def load(self, way, lun, row, column=0, raw=EIGHT, **times):
        """80h, five addresses, data; leaves CE# low; returns as :meth:`data_in`."""
        self.begin(way)
        self.command(Opcode.PROGRAM)
        self.page(lun, row, column)
        return self.data_in(raw, **times)

    def load_more(self, column, raw=EIGHT, **times):
        """85h, two addresses, data tCCS later; leaves CE# low; returns as :meth:`data_in`."""
        self.command(Opcode.CHANGE_WRITE_COLUMN)
        self.address(column, 2)
        return self.data_in(raw, **{"gap": self.limit("ccs")} | times)

    def end(self, opcode):
        """A command cycle that ends an operation, then CE# high."""
        rise = self.command(opcode)
        self.deselect()
        return rise

    def program(self, way, lun, row, column=0, raw=EIGHT, confirm=Opcode.PROGRAM_CONFIRM, **times):
        """80h, five addresses, data, 10h (15h, 11h)."""
        self.load(way, lun, row, column, raw, **times)
        return self.end(confirm)

    def erase(self, way, lun, row, confirm=Opcode.BLOCK_ERASE_CONFIRM):
        """60h, three addresses, D0h (D1h)."""
        self.begin(way)
        self.command(Opcode.BLOCK_ERASE)
        self.address(row_address(self.part, lun, row), 3)
        return self.end(confirm)

    def sense(self, way, lun, row, column=0, confirm=Opcode.READ_CONFIRM):
        """00h, five addresses, 30h (31h, 32h)."""
        self.begin(way)
        self.command(Opcode.READ)
        self.page(lun, row, column)
        return self.end(confirm)

    def suspend(self, way, lun, row, opcode):
        """A suspend or a resume: an opcode and three addresses."""
        self.begin(way)
        self.command(opcode)
        rise = self.address(row_address(self.part, lun, row), 3)
        self.deselect()
        return rise

    def single(self, way, opcode):
        """A command of one cycle: 31h, 3Fh, 00h, FFh."""
        self.begin(way)
        return self.end(opcode)

    def ask(self, way, opcode, address=0):
        """90h, ECh or EEh with an address byte."""
        self.begin(way)
        self.command(opcode)
        rise = self.address(address, 1)
        self.deselect()
        return rise

    def set_features(self, way, address=0x10, raw=EIGHT[:4], **times):
        """EFh, an address byte, data; returns the edge that ends the postamble."""
        self.begin(way)
        self.command(Opcode.SET_FEATURES)
        self.address(address, 1)
        self.data_in(raw, **times)
        end = self.edge - 1
        self.deselect()
        return end

    def output(self, way, count, *, whr=None):
        """A burst without a choice; returns the first clock with RE# low.

        It begins tRHW after the last burst and ``whr`` (tWHR) after the last cycle.
        """
        setup = self.limit("cs")
        gap = self.limit("whr") if whr is None else whr
        self.deselect()
        self.until(max(self.last_data + self.limit("rhw"), self.rise + gap - setup))
        self.tick(setup, ce_n=self._none & ~(1 << way))
        return self.burst(count)

    def status_bytes(self, way, lun=None, count=2):
        """70h, or 78h of a LUN, and a burst; returns the first clock with RE# low."""
        if lun is None:
            return self.status(way, count=count)
        return self.status_enhanced(way, lun, 0, count=count)
