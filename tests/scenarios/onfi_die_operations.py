"""Reference model of a die that does all operations, clock by clock, in plain Python.

Written from ONFI 3.1, sections 4.2 (data input), 5.13 (status) and the operations of section 5. The
kernel's part, array times and page contents, comes in as :class:`Answer`.
"""

from rtl.contract.channel import ArrayOperation
from rtl.contract.nand_part import cycles
from rtl.contract.onfi import plane, split_row
from tests.scenarios.onfi_die import DieModel
from tests.scenarios.onfi_die_luns import FOR_ALL, KINDS, RESUMES, SUSPENDS, Begin, Lun

ADDRESSES = {0x00: 5, 0x05: 5, 0x06: 5, 0x80: 5, 0x85: 2, 0x60: 3}
PLANE_CONFIRMS = {0x32, 0x11, 0xD1}
PROGRAMS = {
    0x10: ArrayOperation.PROGRAM,
    0x15: ArrayOperation.PROGRAM_CACHE,
    0x11: ArrayOperation.PROGRAM_PLANE,
}


class OperatedDieModel(DieModel):
    """One way with its LUNs, as :class:`DieModel`; ``luns`` are of another kind.

    ``registers`` holds the page registers by LUN, plane and number. ``answer`` takes an edge and an
    :class:`Answer`.
    """

    def __init__(self, part, period_ps, way, phases=2, identity=b""):
        super().__init__(part, period_ps, way, phases)
        planes = range(part.planes)
        self.luns = [
            Lun(cache=dict.fromkeys(planes, 0), sensed=dict.fromkeys(planes, 0))
            for _ in range(part.luns)
        ]
        self.registers = {
            (lun, number, register): bytearray(part.raw_page_bytes)
            for lun in range(part.luns)
            for number in planes
            for register in (0, 1)
        }
        self._identity = identity
        self._for_all = False
        self._answers = {}
        self._opcode, self._addresses, self._loading = 0xFF, b"", False
        self._plane, self._row, self._source, self._shows_status = 0, 0, "data", False
        self._taking, self._opens_from, self._strobe_level = None, 0, 0
        self._receiver, self._half = None, 0
        self._adl = cycles(part.extended.t_adl_ps, period_ps)
        self._ccs = cycles(part.t_ccs_ps, period_ps)
        self._wpre = cycles(part.extended.t_wpre_ps, period_ps)
        self._wpst = cycles(part.extended.t_wpst_ps, period_ps)
        self._suspends = {}
        if part.suspend is not None:
            self._suspends = {
                getattr(part.suspend, operation.name.lower()): operation
                for operation in (*SUSPENDS, *RESUMES)
            }
        self._before = [(False, False, 0xE0)] * part.luns

    def answer(self, edge, answer):
        """Let an :class:`Answer` be seen at ``edge``."""
        self._answers.setdefault(edge, []).append(answer)

    def step(self, edge, pins):
        """Levels of this die's pins in the clock that ``edge`` ends."""
        self._begin(edge)
        for answer in self._answers.pop(edge, ()):
            self._take_answer(answer)
        self._suspend(edge)
        outputs = self._put_out()
        self._before = [self._state(lun) for lun in self.luns]
        outputs["rb_n"] = int(not any(busy for busy, _, _ in self._before))
        selected = not pins["ce_n"] >> self.way & 1
        self._data_in(edge, pins, selected)
        self._write(edge, pins, selected)
        self._ask(pins, selected)
        return outputs

    def _begin(self, edge):
        for index, lun in enumerate(self.luns):
            if lun.starts == edge and lun.start[0] not in SUSPENDS:
                operation, row, register = lun.start
                if operation == ArrayOperation.RESET:
                    for other in self.luns:
                        other.is_busy = False
                lun.starts, lun.is_busy = None, True
                lun.is_held &= operation not in RESUMES
                self.begins.append(Begin(edge, index, lun.number, operation, row, register))

    def _suspend(self, edge):
        """Begin to put aside what is not over yet."""
        for index, lun in enumerate(self.luns):
            if lun.starts == edge:
                lun.starts, lun.is_suspending = None, lun.is_busy
                if lun.is_busy:
                    self.begins.append(Begin(edge, index, lun.number, *lun.start))

    def _take_answer(self, answer):
        for (number, register), raw in answer.pages.items():
            self.registers[answer.lun, number, register][: len(raw)] = raw
        lun = self.luns[answer.lun]
        waits = lun.starts is not None
        if answer.number == lun.number and (lun.is_busy or (lun.works and not waits)):
            lun.is_held |= lun.is_suspending and answer.is_cached
            lun.works = answer.is_cached and not lun.is_suspending
            lun.is_busy = lun.is_suspending = False
        elif answer.number == (lun.number - 1) % 256 and lun.works and (waits or lun.is_busy):
            lun.works = False
        else:
            return
        lun.fail, lun.failc = answer.fail, answer.failc

    def _state(self, lun):
        """(busy, busy or about to be, status byte)"""
        first = self.luns[0]
        busy = lun.is_busy or (self._for_all and first.is_busy)
        taken = busy or lun.starts is not None or (self._for_all and first.starts is not None)
        rests = not (busy or lun.works or lun.is_held)
        status = 0x80 | 0x40 * (not busy) | 0x20 * rests
        return busy, taken, status | 2 * lun.failc | 1 * lun.fail

    def _is_idle(self, index):
        return not self._state(self.luns[index])[1]

    def _is_free(self, index):
        """It takes more than a read."""
        return self._is_idle(index) and not self.luns[index].is_held

    def _all_free(self):
        return all(self._is_free(index) for index in range(len(self.luns)))

    # Data out

    def _next_byte(self):
        _, taken, status = self._before[self._lun]
        if self._shows_status:
            return status
        column, self._column = self._column, self._column + 1
        if self._source == "identity":
            known = {0x00: self._identity, 0x20: b"ONFI"}.get(self._row, b"")
            return known[column] if column < len(known) else 0
        page = self.registers[self._lun, self._plane, self.luns[self._lun].cache[self._plane]]
        return 0 if taken or column >= len(page) else page[column]

    # Data in

    def _data_in(self, edge, pins, selected):
        if not (selected and pins["dqs_oe"]):
            self._receiver, self._strobe_level, self._half = None, 0, 0
            return
        before = self._strobe_level
        self._strobe_level = pins["dqs_o"] >> self.phases - 1
        is_free = not pins["cle"] and not pins["ale"] and pins["we_n"]
        is_free = is_free and pins["re_n"] == (1 << self.phases) - 1
        if not (is_free and self._taking and self._is_idle(self._lun) and edge >= self._opens_from):
            self._receiver = None
            return
        if self._receiver is None:
            self._receiver = {"clocks": 0, "held": None, "rest": 0}
        receiver = self._receiver
        if receiver["clocks"] < self._wpre:
            receiver["clocks"] += 1
            return
        receiver["rest"] += 1
        for phase in range(self.phases):
            level = pins["dqs_o"] >> phase & 1
            byte = pins["dq_o"] >> 8 * phase & 0xFF if pins["dq_oe"] else 0
            if level and not before:
                self._half, receiver["rest"] = byte, 0
            if before and not level:
                self._keep(edge)
                receiver["held"], receiver["rest"] = bytes([self._half, byte]), 0
            before = level
        if receiver["rest"] == self._wpst:
            self._keep(edge)

    def _keep(self, edge):
        pair, self._receiver["held"] = self._receiver["held"], None
        if pair is None:
            return
        column, self._column = self._column, self._column + 2
        page = self.registers[self._lun, self._plane, self.luns[self._lun].cache[self._plane]]
        if column < len(page):
            page[column : column + 2] = pair
        if self._taking == "features" and column == 2:
            register = self.luns[0].cache[0]
            self._start(edge, 0, ArrayOperation.SET_FEATURES, self._row, register)

    # Commands and addresses

    def _write(self, edge, pins, selected):
        rising = self._write_low and pins["we_n"]
        self._write_low = selected and not pins["we_n"]
        if not rising or pins["cle"] == pins["ale"]:
            return
        byte = pins["dq_o"] & 0xFF if pins["dq_oe"] else 0
        self._taking = None
        if pins["cle"]:
            self._command(edge, byte)
        else:
            self._addresses += bytes([byte])
            self._addressed(edge, byte)

    def _place(self):
        """Column, LUN and row of the addresses; None if there is no such LUN."""
        raw = self._addresses
        column = int.from_bytes(raw[:-3], "little")
        lun, row = split_row(self.part, int.from_bytes(raw[-3:], "little"))
        return (
            (column & ~1 if self.phases > 1 else column, lun, row) if lun < len(self.luns) else None
        )

    def _addressed(self, edge, byte):
        opcode, count = self._opcode, len(self._addresses)
        if opcode == 0x78 and count == 3 and self._place():
            self._shows_status, self._lun = True, self._place()[1]
        elif opcode == 0x80 and count == 5 and self._place():
            column, lun, row = self._place()
            if self._is_free(lun):
                self._loading = True
                self._column, self._lun, self._row = column, lun, row
                self._plane = plane(self.part, row)
                self._taking, self._opens_from = "page", edge + self._adl
        elif opcode == 0x85 and count == 2 and self._loading:
            self._column = int.from_bytes(self._addresses, "little")
            if self.phases > 1:
                self._column &= ~1
            self._taking, self._opens_from = "page", edge + self._ccs
        elif opcode in self._suspends and count == 3 and self._place():
            self._put_aside(edge, self._suspends[opcode], *self._place()[1:])
        elif count == 1 and opcode in (0x90, 0xEC, 0xEE, 0xEF) and self._all_free():
            self._column = 0
            if opcode in (0x90, 0xEF):
                self._row = byte
            if opcode == 0x90:
                self._source, self._shows_status = "identity", False
            else:
                self._lun, self._plane = 0, 0
            if opcode == 0xEF:
                self._taking, self._opens_from = "features", edge + self._adl
            if opcode in (0xEC, 0xEE):
                self._source, self._shows_status = "data", False
                page = opcode == 0xEC
                operation = ArrayOperation.PARAMETER_PAGE if page else ArrayOperation.GET_FEATURES
                self._start(edge, 0, operation, byte, self.luns[0].cache[0])

    def _command(self, edge, byte):
        opcode, count = self._opcode, len(self._addresses)
        place = self._place() if count in (3, 5) else None
        is_complete = ADDRESSES.get(opcode) == count
        if is_complete and place is None and opcode != 0x85:
            is_complete = False
        loaded = self._loading and is_complete and opcode in (0x80, 0x85)
        self._confirm(edge, byte, opcode if is_complete else None, loaded, place)
        if byte != 0x85:
            self._loading = False
        self._opcode, self._addresses = byte, b""

    def _confirm(self, edge, byte, first, loaded, place):
        if byte in PLANE_CONFIRMS and self.part.planes == 1:
            return
        if byte == 0xFF:
            self._reset(edge)
        elif byte == 0x70:
            self._shows_status = True
        elif byte == 0x00:
            self._shows_status &= not self._is_idle(self._lun)
        elif byte == 0xE0 and first in (0x05, 0x06) and self._is_idle(place[1]):
            self._choose(*place)
        elif byte in (0x30, 0x32) and first == 0x00 and self._is_idle(place[1]):
            self._choose(*place)
            self._sense(edge, byte, place[1], place[2])
        elif byte == 0x31 and first == 0x00:
            self._go_on(edge, ArrayOperation.READ_CACHE_RANDOM, place[1], place[2])
        elif byte == 0x31 and (self._opcode != 0x00 or not self._addresses):
            row = self.luns[self._lun].last_row + 1
            self._go_on(edge, ArrayOperation.READ_CACHE_SEQUENTIAL, self._lun, row)
        elif byte == 0x3F:
            row = self.luns[self._lun].last_row
            self._go_on(edge, ArrayOperation.READ_CACHE_END, self._lun, row)
        elif byte in PROGRAMS and loaded and self._is_free(self._lun):
            self._program(edge, PROGRAMS[byte])
        elif byte in (0xD0, 0xD1) and first == 0x60 and self._is_free(place[1]):
            self._erase(edge, byte, place[1], place[2])

    def _choose(self, column, lun, row):
        self._column, self._lun, self._plane = column, lun, plane(self.part, row)
        self._source, self._shows_status = "data", False

    def _start(self, edge, index, operation, row, register):
        lun = self.luns[index]
        lun.number = (lun.number + (operation not in SUSPENDS)) % 256
        if not lun.is_held and operation not in SUSPENDS:
            lun.kind = operation
        lun.starts, lun.start, lun.last_row = edge + self._wb, (operation, row, register), row
        if index == 0:
            self._for_all = operation in FOR_ALL
        if operation in FOR_ALL or operation in (
            ArrayOperation.PROGRAM,
            ArrayOperation.ERASE,
        ):
            self._settle(lun)
            lun.reads = False

    @staticmethod
    def _settle(lun):
        """No page is being sensed ahead, and no plane waits."""
        lun.queued, lun.sensed = set(), dict(lun.cache)

    def _sense(self, edge, byte, index, row):
        lun, own = self.luns[index], plane(self.part, row)
        if byte == 0x32:
            self._start(edge, index, ArrayOperation.READ_PLANE, row, 1 - lun.sensed[own])
            lun.queued.add(own)
            return
        self._start(edge, index, ArrayOperation.READ, row, lun.cache[own])
        for queued in lun.queued:
            lun.cache[queued] = 1 - lun.sensed[queued]
        self._settle(lun)
        lun.reads = True

    def _go_on(self, edge, operation, index, row):
        lun = self.luns[index]
        if not (lun.reads and self._is_free(index)):
            return
        self._lun, self._plane = index, plane(self.part, lun.last_row)
        self._column, self._source, self._shows_status = 0, "data", False
        row %= 1 << max(8, (self.part.rows - 1).bit_length())
        own = plane(self.part, row)
        if operation == ArrayOperation.READ_CACHE_END:
            self._start(edge, index, operation, row, lun.sensed[own])
        else:
            self._start(edge, index, operation, row, 1 - lun.sensed[own])
        lun.cache = dict(lun.sensed)
        if operation != ArrayOperation.READ_CACHE_END:
            for ahead in lun.queued | {own}:
                lun.sensed[ahead] = 1 - lun.sensed[ahead]
        lun.queued = set()
        lun.reads = operation != ArrayOperation.READ_CACHE_END

    def _program(self, edge, operation):
        lun = self.luns[self._lun]
        self._start(edge, self._lun, operation, self._row, lun.cache[self._plane])
        lun.reads = False
        if operation == ArrayOperation.PROGRAM_PLANE:
            lun.queued.add(self._plane)
            lun.sensed = dict(lun.cache)
        if operation == ArrayOperation.PROGRAM_CACHE:
            for programmed in lun.queued | {self._plane}:
                lun.cache[programmed] = 1 - lun.cache[programmed]
            self._settle(lun)

    def _erase(self, edge, byte, index, row):
        lun, own = self.luns[index], plane(self.part, row)
        self._lun = index
        if byte == 0xD0:
            self._start(edge, index, ArrayOperation.ERASE, row, lun.cache[own])
        else:
            self._start(edge, index, ArrayOperation.ERASE_PLANE, row, lun.cache[own])
            lun.queued.add(own)
            lun.sensed, lun.reads = dict(lun.cache), False

    def _put_aside(self, edge, operation, index, row):
        """Suspend, or resume."""
        lun = self.luns[index]
        if operation in SUSPENDS:
            is_ours = lun.is_busy and lun.starts is None
            takes = is_ours and not (lun.works or lun.is_held or lun.is_suspending)
        else:
            takes = self._is_idle(index) and lun.is_held
        if takes and operation in KINDS.get(lun.kind, ()):
            self._lun = index
            register = lun.cache[plane(self.part, row)]
            self._start(edge, index, operation, row, register)
            self._settle(lun)
            lun.reads = False

    def _reset(self, edge):
        for lun in self.luns:
            lun.kind, lun.is_held, lun.is_suspending = None, False, False
            lun.number = (lun.number + 1) % 256
            lun.starts, lun.works, lun.fail, lun.failc = None, False, False, False
            lun.cache = dict.fromkeys(lun.cache, 0)
            self._settle(lun)
            lun.reads = False
        self.luns[0].number -= 1
        self._start(edge, 0, ArrayOperation.RESET, 0, 0)
