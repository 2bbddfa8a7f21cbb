"""Reference model of one way of the bus: what a die does, clock by clock, in plain Python."""

from dataclasses import dataclass, field

from rtl.contract.nand_part import cycles
from rtl.contract.onfi import Opcode, StatusBit, split_row


@dataclass
class LunModel:
    """State of one LUN; ``busy_from`` is an edge, ``None`` if no operation is under way."""

    page: bytes = b""
    number: int = 0
    busy_from: int | None = None
    row: int = 0
    done: list = field(default_factory=list)
    """(edge, number) of the answers to come, by the edge that sees them."""

    def busy(self, edge):
        return self.busy_from is not None and edge >= self.busy_from


class DieModel:
    """One way with its LUNs. ``step`` is called once a clock, in order, with the pins' levels."""

    def __init__(self, part, period_ps, way, phases=2):
        self.part = part
        self.way = way
        self.phases = phases
        self.luns = [LunModel(bytes(part.raw_page_bytes)) for _ in range(part.luns)]
        self.begins = []
        """(edge, lun, number, row) of each array operation."""
        self._wb = cycles(part.t_wb_ps, period_ps)
        response_ps = part.t_dqsre_ps if part.sdr is None else part.sdr.t_rea_ps
        self._delay = cycles(response_ps, period_ps)
        self._write_low = False
        self._sequence = []
        self._mode = None
        self._lun = 0
        self._column = 0
        self._strobes = [None] * self._delay
        self._level = None
        self._before = [(False, False)] * part.luns
        """(busy, busy or about to be) of each LUN, one clock ago."""

    def answer(self, lun, edge, number):
        """Let an ``ArrayDone`` be seen at ``edge``."""
        self.luns[lun].done.append((edge, number))

    def step(self, edge, pins):
        """Levels of this die's pins in the clock that ``edge`` ends."""
        for index, lun in enumerate(self.luns):
            if lun.busy_from == edge:
                self.begins.append((edge, index, lun.number, lun.row))
            for seen, number in lun.done:
                if seen == edge and number == lun.number and lun.busy(edge):
                    lun.busy_from = None
        outputs = self._put_out()
        self._before = [(lun.busy(edge), lun.busy_from is not None) for lun in self.luns]
        outputs["rb_n"] = int(not any(busy for busy, _ in self._before))
        selected = not pins["ce_n"] >> self.way & 1
        self._write(edge, pins, selected)
        self._ask(pins, selected)
        return outputs

    def _put_out(self):
        strobe = self._strobes[0]
        outputs = {"oe": int(strobe is not None), "dqs_i": strobe or 0, "dq_i": 0}
        if strobe is None:
            self._level = None
            return outputs
        for phase in range(self.phases):
            level = strobe >> phase & 1
            if self._level is not None and level != self._level:
                outputs["dq_i"] |= self._next_byte() << 8 * phase
            if self._level is not None or not level:
                self._level = level
        return outputs

    def _next_byte(self):
        # The byte is fetched one clock before it is on the pins.
        busy, pending = self._before[self._lun]
        if self._mode == "status":
            ready = 0 if busy else StatusBit.RDY | StatusBit.ARDY
            return int(StatusBit.WP_N | ready)
        lun = self.luns[self._lun]
        column, self._column = self._column, self._column + 1
        if busy or pending or column >= len(lun.page):
            return 0
        return lun.page[column]

    def _ask(self, pins, selected):
        idle = pins["re_n"] == (1 << self.phases) - 1
        bursting = self._strobes[-1] is not None
        asked = pins["re_n"] if selected and (bursting or not idle) else None
        self._strobes = [*self._strobes[1:], asked]

    def _write(self, edge, pins, selected):
        rising = self._write_low and pins["we_n"]
        self._write_low = selected and not pins["we_n"]
        byte = pins["dq_o"] & 0xFF
        if rising and pins["cle"]:
            self._command(edge, byte)
        elif rising and pins["ale"]:
            self._sequence.append(byte)
            if self._sequence[0] == Opcode.READ_STATUS_ENHANCED and len(self._sequence) == 4:
                lun, _ = split_row(self.part, int.from_bytes(self._sequence[1:], "little"))
                if lun < len(self.luns):
                    self._mode, self._lun = "status", lun

    def _command(self, edge, byte):
        first, self._sequence = self._sequence, [byte]
        column = int.from_bytes(first[1:3], "little")
        lun, row = split_row(self.part, int.from_bytes(first[3:6], "little"))
        addressed = len(first) == 6 and lun < len(self.luns)
        if byte == Opcode.READ_CONFIRM and addressed and first[0] == Opcode.READ:
            self._mode, self._lun, self._column = "data", lun, column
            target = self.luns[lun]
            if target.busy_from is None:
                target.number = (target.number + 1) % 256
                target.row = row
                target.busy_from = edge + self._wb
        elif byte == Opcode.CHANGE_READ_COLUMN_CONFIRM and addressed and first[0] == 0x05:
            self._mode, self._lun, self._column = "data", lun, column
        elif byte == Opcode.READ_STATUS:
            self._mode = "status"
        elif byte == Opcode.RESET:
            for target in self.luns:
                target.busy_from = None
                target.number = (target.number + 1) % 256
