"""Waveforms of all operations for the bus checker: a driver, and dies that are busy when told."""

from dataclasses import dataclass, field, replace

from rtl.contract.nand_part import ExtendedTimes, cycles
from rtl.contract.onfi import Opcode, StatusBit, row_address, split_row
from tests.scenarios.onfi_bus import PART, PERIOD_PS, OnfiBus
from tests.scenarios.onfi_die import DieModel
from tests.scenarios.onfi_scene import CONTENT, WAYS, Scene

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
WHOLE = replace(PART, extended=TIMES)
"""Two LUNs of three blocks of four pages; every time is no multiple of a clock."""
PLANES = replace(WHOLE, blocks_per_lun=4, planes=2)
"""Rows 0 to 3 and 8 to 11 are of plane 0."""
ONE_LUN = replace(WHOLE, luns=1)

ADDRESSES = {0x00: 5, 0x05: 5, 0x06: 5, 0x80: 5, 0x85: 2, 0x60: 3, 0x78: 3}
ADDRESSES |= dict.fromkeys((0x90, 0xEC, 0xEE, 0xEF), 1)
CONFIRMS = {0x30, 0x31, 0x32, 0x3F, 0x10, 0x11, 0x15, 0xD0, 0xD1}


class CheckedBus(OnfiBus):
    """As :class:`OnfiBus`, with data to a die and all operations; returns edges as that does."""

    def __init__(self, part=WHOLE, **sizes):
        super().__init__(part, **sizes)
        strobe = {"dqs_o": 0, "dqs_oe": 0}
        self.pins |= strobe
        self.clocks = [clock | strobe for clock in self.clocks]
        self.last_write = -1000
        """Clock of the last edge of the last data to a die."""

    def limit(self, name):
        times = self.part if hasattr(self.part, f"t_{name}_ps") else self.part.extended
        return cycles(getattr(times, f"t_{name}_ps"), PERIOD_PS)

    def page(self, lun, row, column=0):
        """The five address cycles of a page."""
        return self.address(column | row_address(self.part, lun, row) << 16, 5)

    def end(self, opcode):
        """A last command cycle, then CE# high."""
        confirm = self.command(opcode)
        self.deselect()
        return confirm

    def alone(self, way, opcode):
        """A command without addresses."""
        self.begin(way)
        return self.end(opcode)

    def sense(self, way, lun, row, confirm=Opcode.READ_CONFIRM):
        """00h, five addresses, 30h, 31h or 32h."""
        self.begin(way)
        self.command(Opcode.READ)
        self.page(lun, row)
        return self.end(confirm)

    def data(self, count, *, gap=None, wpre=None, wpst=None):
        """Data to a die, ``gap`` clocks (tADL) after the last address cycle."""
        self.until(self.rise + (self.limit("adl") if gap is None else gap))
        self.tick(self.limit("wpre") if wpre is None else wpre, dqs_oe=1)
        for index in range(count // self.phases):
            level = 0b01 if self.phases == 2 else 1 - index % 2
            self.tick(dqs_o=level, dq_oe=1, dq_o=0x5A + index)
        self.last_write = self.edge - 1
        self.pins.update(dqs_o=0, dq_oe=0, dq_o=0)
        self.tick(self.limit("wpst") if wpst is None else wpst)
        self.pins.update(dqs_oe=0)

    def load(self, way, lun, row, column=0, count=8, **times):
        """80h, five addresses, data; leaves CE# low."""
        self.begin(way)
        self.command(Opcode.PROGRAM)
        self.page(lun, row, column)
        self.data(count, **times)

    def load_more(self, column, count=8, **times):
        """85h, two addresses, data; leaves CE# low."""
        self.command(Opcode.CHANGE_WRITE_COLUMN)
        self.address(column, 2)
        self.data(count, **{"gap": self.limit("ccs")} | times)

    def program(self, way, lun, row, confirm=Opcode.PROGRAM_CONFIRM, **load):
        self.load(way, lun, row, **load)
        return self.end(confirm)

    def erase(self, way, lun, row, confirm=Opcode.BLOCK_ERASE_CONFIRM):
        """60h, three addresses, D0h or D1h."""
        self.begin(way)
        self.command(Opcode.BLOCK_ERASE)
        self.address(row_address(self.part, lun, row), 3)
        return self.end(confirm)

    def ask(self, way, opcode, address=0):
        """90h, ECh or EEh with its address; returns the edge of that."""
        self.begin(way)
        self.command(opcode)
        rise = self.address(address, 1)
        self.deselect()
        return rise

    def set_feature(self, way, count=4, **times):
        """EFh, an address, data; returns the edge at which the data is complete."""
        self.begin(way)
        self.command(Opcode.SET_FEATURES)
        self.address(0x10, 1)
        self.data(count, **times)
        self.deselect()
        return self.last_write + self.limit("wpst")

    def output(self, way, count, *, cs=None):
        """A burst without a choice; returns its first clock."""
        self.deselect()
        self.until(self.last_data + self.limit("rhw"))
        self.tick(self.limit("cs") if cs is None else cs, ce_n=self._none & ~(1 << way))
        return self.burst(count)


class BusyDie(DieModel):
    """A die that is busy from any confirm cycle on until it is told that it is ready."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.rests = []
        """(edge, LUN) at which the array behind a cache has done its work."""
        self._works = [False] * self.part.luns
        self._opcode, self._addresses = 0xFF, []
        self._idle_for = 0
        self._wpst = cycles(self.part.extended.t_wpst_ps, PERIOD_PS)

    def step(self, edge, pins):
        for when, lun in self.rests:
            if when == edge:
                self._works[lun] = False
        return super().step(edge, pins)

    def _next_byte(self):
        if self._mode != "status":
            self._column = (self._column + 1) % 256
            return self._column
        busy, _ = self._before[self._lun]
        rests = not busy and not self._works[self._lun]
        bits = (0 if busy else StatusBit.RDY) | (StatusBit.ARDY if rests else 0)
        return int(StatusBit.WP_N | bits)

    def _write(self, edge, pins, selected):
        rising = self._write_low and pins["we_n"]
        self._write_low = selected and not pins["we_n"]
        self._idle_for = 0 if pins["dqs_o"] else self._idle_for + 1
        if self._opcode == Opcode.SET_FEATURES and selected and pins["dqs_oe"]:
            if self._addresses and self._idle_for == self._wpst and self._taking:
                self._begin(edge, range(self.part.luns))
            self._taking = self._taking or bool(pins["dqs_o"])
        byte = pins["dq_o"] & 0xFF
        if rising and pins["cle"]:
            self._command(edge, byte)
        elif rising and pins["ale"]:
            self._addresses.append(byte)
            if len(self._addresses) == ADDRESSES.get(self._opcode):
                self._addressed(edge)

    def _addressed(self, edge):
        if len(self._addresses) >= 3:
            address = int.from_bytes(self._addresses[-3:], "little")
            lun, _ = split_row(self.part, address)
            self._lun = min(lun, self.part.luns - 1)
        if self._opcode == Opcode.READ_STATUS_ENHANCED:
            self._mode = "status"
        elif self._opcode in (Opcode.READ_PARAMETER_PAGE, Opcode.GET_FEATURES):
            self._begin(edge, range(self.part.luns))

    def _command(self, edge, byte):
        if byte in ADDRESSES:
            self._opcode, self._addresses, self._taking = byte, [], False
        self._mode = "status" if byte == Opcode.READ_STATUS else "data"
        if byte in CONFIRMS:
            self._begin(edge, [self._lun])
            caches = (Opcode.READ_CACHE, Opcode.PROGRAM_CACHE)
            plane = (Opcode.READ_MULTI_PLANE, Opcode.PROGRAM_MULTI_PLANE)
            if byte not in plane:
                self._works[self._lun] = byte in caches
        if byte == Opcode.RESET:
            for lun in self.luns:
                lun.busy_from = None
            self._works = [False] * self.part.luns
            self._begin(edge, range(self.part.luns))

    def _begin(self, edge, luns):
        for lun in luns:
            if self.luns[lun].busy_from is None:
                self.luns[lun].busy_from = edge + self._wb


@dataclass
class CheckedScene(Scene):
    """As :class:`Scene`; an answer (edge, way, LUN) makes a LUN ready."""

    rests: list = field(default_factory=list)
    """(edge, way, LUN) at which an array behind a cache has done its work."""

    def dies(self):
        bus = self.bus
        dies = [BusyDie(bus.part, PERIOD_PS, way, bus.phases) for way in range(WAYS)]
        for edge, way, lun in self.answers:
            dies[way].luns[lun].page = CONTENT
            dies[way].answer(lun, edge, 0)
        for edge, way, lun in self.rests:
            dies[way].rests.append((edge, lun))
        return dies

    def wait(self, confirm, way, lun=None, *, clocks=12):
        """Have a LUN, or a way, ready ``clocks`` after its R/B# fell, and wait until it is seen."""
        ready = confirm + self.bus.limit("wb") + clocks
        luns = range(self.bus.part.luns) if lun is None else [lun]
        self.answers += [(ready, way, number) for number in luns]
        self.bus.until(ready + self.bus.limit("rr") + 1)
        return ready

    def read(self, way, lun, row, confirm=Opcode.READ_CONFIRM):
        """Read a page, and wait."""
        self.wait(self.bus.sense(way, lun, row, confirm), way, lun)

    def erase(self, way, lun, row, confirm=Opcode.BLOCK_ERASE_CONFIRM):
        self.wait(self.bus.erase(way, lun, row, confirm), way, lun)

    def program(self, way, lun, row, confirm=Opcode.PROGRAM_CONFIRM, **load):
        self.wait(self.bus.program(way, lun, row, confirm, **load), way, lun)

    def rest(self, way, lun):
        """Let the array come to rest, and a status byte say so."""
        self.rests.append((self.bus.edge, way, lun))
        self.bus.tick(2)
        self.bus.status_enhanced(way, lun, 0)

    def alone(self, way, lun, opcode):
        """31h or 3Fh; where LUNs share the way its row goes before it."""
        self.bus.begin(way)
        if self.bus.part.luns > 1:
            self.bus.command(Opcode.READ_STATUS_ENHANCED)
            self.bus.address(row_address(self.bus.part, lun, 0), 3)
        self.wait(self.bus.end(opcode), way, lun)


def scene(part=WHOLE, **sizes):
    return CheckedScene(CheckedBus(part, **sizes))


def erased(part=WHOLE, lun=0, **sizes):
    """A scene in which the block of row 0 of LUN ``lun`` of way 1 has been erased."""
    made = scene(part, **sizes)
    made.erase(1, lun, 0)
    return made
