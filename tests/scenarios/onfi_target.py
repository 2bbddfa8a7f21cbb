"""A channel's dies as a flash controller sees them: pins in, pins out, and a list of what happened.

Written from ONFI 3.1 (sections 4.2 and 5) for tests of the controller alone; it knows nothing of
the RTL but the names of ``PhySignature``. Every time is counted in clocks: a level of clock e is
what edge e samples.
"""

from collections import deque
from dataclasses import dataclass, field

__all__ = ["BusLog", "Target"]

STATUS_READY = 0xE0
"""WP#, RDY and ARDY."""
STATUS_BUSY = 0x80
ADDRESSES = {0x00: 5, 0x80: 5, 0x05: 5, 0x06: 5, 0x85: 2, 0x60: 3, 0x78: 3}
ADDRESSES |= dict.fromkeys((0x90, 0xEC, 0xEE, 0xEF), 1)
MAKES_BUSY = {0x30, 0x31, 0x32, 0x3F, 0x10, 0x11, 0x15, 0xD0, 0xD1, 0xFF}


@dataclass
class BusLog:
    """One operation, from CE# low to CE# high.

    ``text`` has the command bytes, ``.`` and each address byte, ``<`` and the data bytes to the die
    ``>``, and ``out`` with the number of bytes read. ``falls`` and ``rises`` are the edges at which
    WE# is sampled so; ``marks`` the edges of the other levels.
    """

    way: int
    begin: int
    text: str = ""
    falls: list = field(default_factory=list)
    rises: list = field(default_factory=list)
    marks: dict = field(default_factory=dict)


@dataclass
class Lun:
    row: int = 0
    busy_from: int = 0
    busy_until: int = 0
    status: int = STATUS_READY
    """Status byte once it is ready."""


class Target:
    """Dies of a channel.

    Parameters
    ----------
    ways, luns, row_bits
        Ways, LUNs of each, and the bits of a row address below those of the LUN.
    phases : int
        Transfers a clock, 1 or 2.
    delay, busy_delay : int
        Clocks from RE# to DQS, and from a confirm cycle to R/B# low.
    busy : dict
        Clocks busy by the opcode of the last command cycle (EFh for set features), 100 if absent.
    read : callable
        ``read(kind, lun, row, column, count)``: what the die puts out, ``kind`` the opcode that it
        was asked with: E0h, 90h, ECh or EEh.
    """

    def __init__(self, *, ways, luns, row_bits, phases, delay, busy_delay, busy, read):
        self.luns = {(way, lun): Lun() for way in range(ways) for lun in range(luns)}
        self.log, self.faults = [], []
        self.status = {}
        """Status bytes to come, by the opcode of the last command cycle, once ready."""
        self._ways, self._row_bits, self._phases = ways, row_bits, phases
        self._busy_delay, self._busy, self._read = busy_delay, busy, read
        self._delayed = deque([None] * delay)
        self._was = {"ce_n": (1 << ways) - 1, "we_n": 1, "re_n": (1 << phases) - 1, "dqs_oe": 0}
        self._operation, self._taken = None, bytearray()
        self._asked, self._addresses, self._source = 0, [], None
        self._row, self._column, self._out = 0, 0, 0

    def ready_lines(self, edge):
        """R/B# of the ways in clock ``edge``."""
        lines = (1 << self._ways) - 1
        for (way, _), lun in self.luns.items():
            if lun.busy_from <= edge < lun.busy_until:
                lines &= ~(1 << way)
        return lines

    def clock(self, edge, pins):
        """Take the pins of clock ``edge``; returns (dqs_i, dq_i) of the same clock."""
        was, self._was = self._was, dict(pins)
        none = (1 << self._ways) - 1
        if pins["ce_n"] != none and was["ce_n"] == none:
            way = (~pins["ce_n"] & none).bit_length() - 1
            self._operation = BusLog(way, edge)
            self.log.append(self._operation)
        if pins["ce_n"] == none and was["ce_n"] != none:
            self._operation.marks["end"] = edge
        if self._operation is not None:
            self._write(edge, pins, was)
            self._data_in(edge, pins, was)
        self._delayed.append(self._data_out(edge, pins, was))
        return self._delayed.popleft() or (0, 0)

    def _write(self, edge, pins, was):
        if was["we_n"] and not pins["we_n"]:
            self._operation.falls.append(edge)
            if pins["dqs_oe"]:
                self.faults.append(f"WE# falls in a data burst at edge {edge}")
        if was["we_n"] or not pins["we_n"]:
            return
        self._operation.rises.append(edge)
        byte = pins["dq_o"] & 0xFF
        if pins["cle"] == pins["ale"] or not pins["dq_oe"]:
            self.faults.append(f"neither command nor address at edge {edge}")
        if pins["cle"]:
            self._add(f"{byte:02X}")
            self._command(edge, byte)
        else:
            self._add(f".{byte:02X}")
            self._addresses.append(byte)
            if len(self._addresses) == ADDRESSES[self._asked]:
                self._addressed(edge)

    def _add(self, word):
        self._operation.text = f"{self._operation.text} {word}".strip()

    def _command(self, edge, byte):
        if byte in ADDRESSES:
            self._asked, self._addresses = byte, []
        if byte == 0x70:
            self._source = ("status", 0x70)
        if byte == 0xE0:
            self._source = ("data", 0xE0)
        if byte == 0xFF:
            for (way, _), lun in self.luns.items():
                if way == self._operation.way:
                    lun.busy_until = 0
            self._row = 0
        if byte in MAKES_BUSY:
            self._make_busy(edge, byte)

    def _addressed(self, edge):
        value = sum(byte << 8 * place for place, byte in enumerate(self._addresses))
        if len(self._addresses) == 5:
            self._column, self._row = value & 0xFFFF, value >> 16
        elif len(self._addresses) == 3:
            self._row = value
        elif len(self._addresses) == 2:
            self._column = value
        else:
            self._row = 0
            self._column = value
        if self._asked == 0x78:
            self._source = ("status", 0x78)
        if self._asked in (0x90, 0xEC, 0xEE):
            self._source = ("data", self._asked)
            if self._asked != 0x90:
                self._make_busy(edge, self._asked)

    def _lun(self):
        return self._operation.way, self._row >> self._row_bits

    def _make_busy(self, edge, byte):
        lun = self.luns[self._lun()]
        if lun.busy_from <= edge < lun.busy_until:
            self.faults.append(f"{byte:02X} to a busy LUN at edge {edge}")
        lun.busy_from = edge + self._busy_delay
        lun.busy_until = lun.busy_from + self._busy.get(byte, 100)
        coming = self.status.get(byte)
        lun.status = coming.pop(0) if coming else STATUS_READY

    def _data_in(self, edge, pins, was):
        marks = self._operation.marks
        if pins["dqs_oe"] and not was["dqs_oe"]:
            marks["dqs_on"] = edge
            marks.setdefault("rise_before", self._operation.rises[-1])
            self._taken = bytearray()
        if pins["dqs_oe"]:
            if pins["cle"] or pins["ale"] or not pins["we_n"]:
                self.faults.append(f"latches or WE# in a data burst at edge {edge}")
            level = was["dqs_o"] >> self._phases - 1 if was["dqs_oe"] else 0
            changes = 0
            for phase in range(self._phases):
                now = pins["dqs_o"] >> phase & 1
                if now != level:
                    self._taken.append(pins["dq_o"] >> 8 * phase & 0xFF)
                    changes += 1
                level = now
            if changes:
                if not pins["dq_oe"]:
                    self.faults.append(f"nobody drives data at edge {edge}")
                marks.setdefault("first_in", edge)
                if marks.get("last_in", edge - 1) != edge - 1:
                    self.faults.append(f"a data burst pauses before edge {edge}")
                marks["last_in"] = edge
        elif was["dqs_oe"]:
            marks["dqs_off"] = edge
            self._add(f"<{self._taken.hex()}>")
            if self._asked == 0xEF:
                # Complete in the last clock of a postamble that is no longer than tWPST.
                self._make_busy(edge - 1, 0xEF)

    def _data_out(self, edge, pins, was):
        if self._operation is None or "end" in self._operation.marks:
            return None
        marks = self._operation.marks
        if "re_fall" not in marks:
            if pins["re_n"] != 0:
                return None
            marks["re_fall"] = edge
            self._out = 0
        level = was["re_n"] >> self._phases - 1
        if "first_out" not in marks:
            level = 0
        count = 0
        for phase in range(self._phases):
            now = pins["re_n"] >> phase & 1
            count += now != level
            level = now
        if not count:
            return None
        marks.setdefault("first_out", edge)
        return pins["re_n"], self._next_bytes(edge, count)

    def _next_bytes(self, edge, count):
        operation, (kind, opcode) = self._operation, self._source
        lun = self.luns[self._lun()] if kind == "status" else None
        if kind == "status":
            busy = lun.busy_from <= edge < lun.busy_until
            raw = bytes([STATUS_BUSY if busy else lun.status]) * count
        else:
            way, number = self._lun()
            row = self._row & (1 << self._row_bits) - 1
            raw = self._read(opcode, (way, number), row, self._column + self._out, count)
        self._out += count
        before = operation.text.rpartition(" out ")[0] if " out " in operation.text else None
        if operation.text.startswith("out "):
            before = ""
        operation.text = f"{operation.text if before is None else before} out {self._out}".strip()
        return int.from_bytes(raw, "little")
