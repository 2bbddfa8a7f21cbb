"""Bus driver for what a part does beyond plain reads: data in, and cycles of all operations."""

from dataclasses import replace

from rtl.contract.nand_part import ExtendedTimes, cycles
from rtl.contract.onfi import Opcode, row_address
from tests.scenarios.onfi_bus import PART, PERIOD_PS, OnfiBus

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
"""Two LUNs of three blocks; rows are four bits."""
PLANES = replace(FULL, blocks_per_lun=4, planes=2)
"""Two LUNs of two planes: rows 0 to 3 and 8 to 11 are plane 0's."""


class OperationBus(OnfiBus):
    """Builds a waveform of any operation of a part with ``extended`` times."""

    def __init__(self, part=FULL, period_ps=PERIOD_PS, ways=2, phases=2):
        super().__init__(part, period_ps, ways, phases)
        strobe = {"dqs_o": 0, "dqs_oe": 0}
        self.pins |= strobe
        self.clocks = [clock | strobe for clock in self.clocks]

    def limit(self, name):
        """Clocks of one of the part's times, ``extended`` ones included."""
        times = self.part if hasattr(self.part, f"t_{name}_ps") else self.part.extended
        return cycles(getattr(times, f"t_{name}_ps"), self._period_ps)

    def page_address(self, lun, row, column):
        return column | row_address(self.part, lun, row) << 16

    def data_in(self, raw, *, wait=None, wpre=None, wpst=None):
        """tADL after the last cycle: preamble, bytes, postamble; returns the first data clock."""
        self.until(self.rise + (self.limit("adl") if wait is None else wait))
        self.tick(self.limit("wpre") if wpre is None else wpre, dqs_oe=1, dqs_o=0)
        first = self.edge
        for index in range(0, len(raw), self.phases):
            word = int.from_bytes(raw[index : index + self.phases], "little")
            level = 0b01 if self.phases == 2 else 1 - index % 2
            self.tick(dqs_o=level, dq_o=word, dq_oe=1)
        rest = self.limit("wpst") if wpst is None else wpst
        self.pins.update(dqs_o=0, dq_o=0, dq_oe=0)
        self.tick(rest)
        self.pins.update(dqs_oe=0)
        return first

    def load(self, way, lun, row, column, raw, **times):
        """80h, five addresses, data; leaves CE# low."""
        self.begin(way)
        self.command(Opcode.PROGRAM)
        self.address(self.page_address(lun, row, column), 5)
        return self.data_in(raw, **times)

    def load_more(self, column, raw, **times):
        """85h, two addresses, data tCCS later; leaves CE# low."""
        self.command(Opcode.CHANGE_WRITE_COLUMN)
        self.address(column, 2)
        return self.data_in(raw, **{"wait": self.limit("ccs")} | times)

    def confirm(self, opcode):
        """A command cycle that ends an operation; returns its edge."""
        rise = self.command(opcode)
        self.deselect()
        return rise

    def program(self, way, lun, row, column, raw, confirm=Opcode.PROGRAM_CONFIRM, **times):
        """80h, five addresses, data, 10h (15h, 11h); returns the edge of the last cycle."""
        self.load(way, lun, row, column, raw, **times)
        return self.confirm(confirm)

    def erase(self, way, lun, row, confirm=Opcode.BLOCK_ERASE_CONFIRM):
        """60h, three addresses, D0h (D1h); returns the edge of the last cycle."""
        self.begin(way)
        self.command(Opcode.BLOCK_ERASE)
        self.address(row_address(self.part, lun, row), 3)
        return self.confirm(confirm)

    def sense(self, way, lun, row, column=0, confirm=Opcode.READ_CONFIRM):
        """00h, five addresses, 30h (31h, 32h); returns the edge of the last cycle."""
        self.begin(way)
        self.command(Opcode.READ)
        self.address(self.page_address(lun, row, column), 5)
        return self.confirm(confirm)

    def single(self, way, opcode):
        """A command of one cycle: 31h, 3Fh, 00h, FFh; returns its edge."""
        self.begin(way)
        return self.confirm(opcode)

    def ask(self, way, opcode, address):
        """90h, ECh or EEh with an address byte; returns the edge of the last cycle."""
        self.begin(way)
        self.command(opcode)
        rise = self.address(address, 1)
        self.deselect()
        return rise

    def set_features(self, way, address, raw, **times):
        """EFh, an address byte, data; returns the edge that ends the postamble."""
        self.begin(way)
        self.command(Opcode.SET_FEATURES)
        self.address(address, 1)
        self.data_in(raw, **times)
        end = self.edge - 1
        self.deselect()
        return end

    def choose(self, way, lun, row, column, opcode=Opcode.CHANGE_READ_COLUMN_PLANE):
        """06h (05h), five addresses, E0h; leaves CE# low; returns the edge of the last cycle."""
        self.begin(way)
        self.command(opcode)
        self.address(self.page_address(lun, row, column), 5)
        return self.command(Opcode.CHANGE_READ_COLUMN_CONFIRM)

    def output(self, way, count, **times):
        """A burst without a choice; returns the first clock with RE# low."""
        self.begin(way)
        self.until(self.edge + self.limit("whr"))
        return self.burst(count, **times)

    def status_bytes(self, way, lun=None, count=2):
        """70h, or 78h of a LUN, and a burst; returns the first clock with RE# low."""
        if lun is None:
            return self.status(way, count=count)
        return self.status_enhanced(way, lun, 0, count=count)
