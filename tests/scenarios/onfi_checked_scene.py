"""Scenes of all operations for the bus checker, with dies that are busy when told."""

from dataclasses import dataclass, field

from rtl.contract.nand_part import cycles
from rtl.contract.onfi import Opcode, StatusBit, row_address, split_row
from tests.scenarios.onfi_bus import PERIOD_PS
from tests.scenarios.onfi_die import DieModel
from tests.scenarios.onfi_operations import FULL, OperationBus
from tests.scenarios.onfi_scene import CONTENT, WAYS, Scene

ADDRESSES = {0x00: 5, 0x05: 5, 0x06: 5, 0x80: 5, 0x85: 2, 0x60: 3, 0x78: 3}
ADDRESSES |= dict.fromkeys((0x90, 0xEC, 0xEE, 0xEF), 1)
CONFIRMS = {0x30, 0x31, 0x32, 0x3F, 0x10, 0x11, 0x15, 0xD0, 0xD1}


class BusyDie(DieModel):
    """A die that is busy from any confirm cycle on until it is told that it is ready."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.rests = []
        """(edge, LUN) at which the array behind a cache has done its work."""
        self._works = [False] * self.part.luns
        self._holds = [None] * self.part.luns
        """Opcode that would resume what the LUN holds."""
        suspend = self.part.suspend
        self._resumed_by = {}
        if suspend is not None:
            self._resumed_by = {
                suspend.program_suspend: suspend.program_resume,
                suspend.erase_suspend: suspend.erase_resume,
            }
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
        rests = not (busy or self._works[self._lun] or self._holds[self._lun])
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
            if len(self._addresses) == ADDRESSES.get(self._opcode, 3):
                self._addressed(edge)

    def _addressed(self, edge):
        if len(self._addresses) >= 3:
            address = int.from_bytes(self._addresses[-3:], "little")
            lun, _ = split_row(self.part, address)
            self._lun = min(lun, self.part.luns - 1)
        if self._opcode == Opcode.READ_STATUS_ENHANCED:
            self._mode = "status"
        elif self._opcode in self._resumed_by:
            self._holds[self._lun] = self._resumed_by[self._opcode]
        elif self._opcode == self._holds[self._lun]:
            self._holds[self._lun] = None
            self._begin(edge, [self._lun])
        elif self._opcode in (Opcode.READ_PARAMETER_PAGE, Opcode.GET_FEATURES):
            self._begin(edge, range(self.part.luns))

    def _command(self, edge, byte):
        if byte in {*ADDRESSES, *self._resumed_by, *self._resumed_by.values()}:
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
            self._holds = [None] * self.part.luns
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
        self.wait(self.bus.sense(way, lun, row, confirm=confirm), way, lun)

    def begin(self, confirm):
        """Wait until what was confirmed has begun; returns when."""
        self.bus.until(confirm + self.bus.limit("wb") + 1)

    def erase(self, way, lun, row, confirm=Opcode.BLOCK_ERASE_CONFIRM):
        self.wait(self.bus.erase(way, lun, row, confirm), way, lun)

    def program(self, way, lun, row, confirm=Opcode.PROGRAM_CONFIRM):
        self.wait(self.bus.program(way, lun, row, confirm=confirm), way, lun)

    def suspend(self, way, lun, row, opcode):
        """Suspend what the LUN does, and ask for its status once it is ready."""
        self.wait(self.bus.suspend(way, lun, row, opcode), way, lun)
        self.bus.status_enhanced(way, lun, 0)

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


def scene(part=FULL, **sizes):
    return CheckedScene(OperationBus(part, **sizes))


def erased(part=FULL, lun=0, **sizes):
    """A scene in which the block of row 0 of LUN ``lun`` of way 1 has been erased."""
    made = scene(part, **sizes)
    made.erase(1, lun, 0)
    return made
