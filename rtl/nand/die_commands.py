"""What the cycles on the command and address pins ask of a die: all operations; simulation only."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import ArrayOperation
from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, Opcode, split_row

__all__ = ["DieCommands", "DieRequest", "row_width"]

COLUMN_BITS = 8 * COLUMN_CYCLES
PAGE_CYCLES = COLUMN_CYCLES + ROW_CYCLES
ADDRESS_CYCLES = {
    Opcode.READ: PAGE_CYCLES,
    Opcode.CHANGE_READ_COLUMN_ENHANCED: PAGE_CYCLES,
    Opcode.CHANGE_READ_COLUMN_PLANE: PAGE_CYCLES,
    Opcode.PROGRAM: PAGE_CYCLES,
    Opcode.CHANGE_WRITE_COLUMN: COLUMN_CYCLES,
    Opcode.BLOCK_ERASE: ROW_CYCLES,
}
"""Address cycles between a first command cycle and what follows it."""
PROGRAMS = {
    Opcode.PROGRAM_CONFIRM: ArrayOperation.PROGRAM,
    Opcode.PROGRAM_CACHE: ArrayOperation.PROGRAM_CACHE,
    Opcode.PROGRAM_MULTI_PLANE: ArrayOperation.PROGRAM_PLANE,
}
READS = {
    Opcode.READ_CONFIRM: ArrayOperation.READ,
    Opcode.READ_MULTI_PLANE: ArrayOperation.READ_PLANE,
}
ERASES = {
    Opcode.BLOCK_ERASE_CONFIRM: ArrayOperation.ERASE,
    Opcode.BLOCK_ERASE_MULTI_PLANE: ArrayOperation.ERASE_PLANE,
}
SUSPENDS = (ArrayOperation.PROGRAM_SUSPEND, ArrayOperation.ERASE_SUSPEND)
RESUMES = (ArrayOperation.PROGRAM_RESUME, ArrayOperation.ERASE_RESUME)
TARGET = {"lun": 0, "row": 0}
"""Where operations of the whole target are done."""
PLANE_CONFIRMS = (
    Opcode.READ_MULTI_PLANE,
    Opcode.PROGRAM_MULTI_PLANE,
    Opcode.BLOCK_ERASE_MULTI_PLANE,
)


class DieRequest(enum.Enum, shape=4):
    """A complete command, or as much of it as the die acts on."""

    NONE = 0
    ARRAY = 1
    """Last cycle of ``operation``: begin it."""
    SELECT = 2
    """E0h: put page register of ``row`` out from ``column`` on."""
    STATUS = 3
    """70h: put out the status of the LUN used last."""
    STATUS_LUN = 4
    """Last address cycle of 78h: put out the status of ``lun``."""
    RESUME = 5
    """00h: after a status, go on with what was put out before."""
    LOAD = 6
    """Last address cycle of 80h: data for page ``row`` comes, from ``column`` on."""
    LOAD_MORE = 7
    """Last address cycle of 85h: it goes on at ``column``."""
    IDENTIFY = 8
    """Address cycle of 90h: put out the identifier at address ``row``."""
    SET_FEATURES = 9
    """Address cycle of EFh: four bytes for feature ``row`` come."""


def suspend_commands(part):
    """Array operations that suspend and resume, by their opcodes."""
    if part.suspend is None:
        return {}
    operations = sorted((*SUSPENDS, *RESUMES))
    return {getattr(part.suspend, operation.name.lower()): operation for operation in operations}


def row_width(part):
    """Bits of a page's row, and of an address of one byte, which travels in its place."""
    return max(8, (part.rows - 1).bit_length())


class DieCommands(wiring.Component):
    """Turns WE# cycles of one die into requests, each in the clock that samples WE# high.

    A cycle counts if CE# was low while WE# was. Unknown opcodes, confirm cycles without their
    first cycle and exactly its addresses, and LUNs that the part lacks do nothing. 31h is random
    after 00h and a page address, sequential after 00h alone or anything else. The confirm cycle of
    a program needs an 80h that was addressed to an idle LUN, and after it nothing but 85h. What
    suspends and resumes has three row addresses and no confirm cycle.
    Ref: ONFI 3.1, table 60 and sections 5.3 to 5.28.

    Parameters
    ----------
    part : NandPart
        Where LUN and plane lie in a row address, and how many there are.

    Members
    -------
    ce_n, cle, ale, we_n, dq : In
        The pins; ``dq`` is the byte of the command or address cycle.
    idle : In(luns)
        LUNs that take data.
    request : Out(DieRequest)
        A command that is complete in this clock.
    operation : Out(ArrayOperation)
        Of ``ARRAY``.
    lun, row, column : Out
        Its addresses, as far as it has any; an address of one byte is in ``row``, of LUN 0.
    sets_features : Out(1)
        The data that may come is that of EFh.
    takes_data : Out(1)
        Data may come: the last cycle was the last address cycle of 80h, 85h or EFh.
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
                "idle": In(part.luns),
                "request": Out(DieRequest),
                "operation": Out(ArrayOperation),
                "lun": Out(range(max(part.luns, 2))),
                "row": Out(row_width(part)),
                "column": Out(COLUMN_BITS),
                "sets_features": Out(1),
                "takes_data": Out(1),
                "active": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # One register for all that write cycles leave behind: the die is simulated many times over.
        layout = {
            "opcode": 8,
            "cycle": range(PAGE_CYCLES + 2),
            "address": 8 * PAGE_CYCLES,
            "loading": 1,
        }
        latched = Signal(data.StructLayout(layout), init={"opcode": Opcode.RESET})
        m.d.comb += self.sets_features.eq(latched.opcode == Opcode.SET_FEATURES)
        m.d.sync += self.active.eq(~self.ce_n & ~self.we_n)
        with m.If(self.active & self.we_n & (self.cle ^ self.ale)):
            m.d.sync += self.takes_data.eq(0)
            with m.If(self.cle):
                m.d.sync += [latched.opcode.eq(self.dq), latched.cycle.eq(0)]
                with m.If(self.dq != Opcode.CHANGE_WRITE_COLUMN):
                    m.d.sync += latched.loading.eq(0)
                self._take_command(m, latched)
            with m.Else():
                shifted = Cat(latched.address[8:], self.dq)
                m.d.sync += latched.address.eq(shifted)
                with m.If(latched.cycle <= PAGE_CYCLES):
                    m.d.sync += latched.cycle.eq(latched.cycle + 1)
                self._take_address(m, latched, shifted)
        return m

    def _ask(self, m, request, address, **outputs):
        """Make ``request`` of the page that ``address``, five bytes or the last three, leads to."""
        lun, row = split_row(self._part, address[COLUMN_BITS:])
        outputs = {"lun": lun, "row": row, "column": address[:COLUMN_BITS]} | outputs
        m.d.comb += self.request.eq(request)
        m.d.comb += [getattr(self, name).eq(value) for name, value in outputs.items()]

    def _exists(self, address):
        lun, _ = split_row(self._part, address[COLUMN_BITS:])
        return lun < self._part.luns

    def _take_command(self, m, latched):
        address = latched.address
        follows = {
            opcode: (latched.opcode == opcode) & (latched.cycle == count)
            for opcode, count in ADDRESS_CYCLES.items()
        }
        exists = self._exists(address)
        is_read = follows[Opcode.READ] & exists
        is_erase = follows[Opcode.BLOCK_ERASE] & exists
        is_choice = exists & (
            follows[Opcode.CHANGE_READ_COLUMN_ENHANCED] | follows[Opcode.CHANGE_READ_COLUMN_PLANE]
        )
        is_loaded = latched.loading & (
            follows[Opcode.PROGRAM] | follows[Opcode.CHANGE_WRITE_COLUMN]
        )
        groups = ((READS, is_read), (PROGRAMS, is_loaded), (ERASES, is_erase))
        with m.Switch(self.dq):
            for confirms, follows_its_first in groups:
                for opcode, operation in confirms.items():
                    if self._part.planes == 1 and opcode in PLANE_CONFIRMS:
                        continue
                    with m.Case(opcode), m.If(follows_its_first):
                        self._ask(m, DieRequest.ARRAY, address, operation=operation)
            with m.Case(Opcode.READ_CACHE):
                with m.If(is_read):
                    operation = ArrayOperation.READ_CACHE_RANDOM
                    self._ask(m, DieRequest.ARRAY, address, operation=operation)
                with m.Elif((latched.opcode != Opcode.READ) | (latched.cycle == 0)):
                    operation = ArrayOperation.READ_CACHE_SEQUENTIAL
                    self._ask(m, DieRequest.ARRAY, address, operation=operation)
            with m.Case(Opcode.READ_CACHE_END):
                operation = ArrayOperation.READ_CACHE_END
                self._ask(m, DieRequest.ARRAY, address, operation=operation)
            with m.Case(Opcode.CHANGE_READ_COLUMN_CONFIRM), m.If(is_choice):
                self._ask(m, DieRequest.SELECT, address)
            with m.Case(Opcode.READ_STATUS):
                m.d.comb += self.request.eq(DieRequest.STATUS)
            with m.Case(Opcode.RESET):
                self._ask(m, DieRequest.ARRAY, address, operation=ArrayOperation.RESET, **TARGET)
            with m.Case(Opcode.READ):
                m.d.comb += self.request.eq(DieRequest.RESUME)

    def _take_address(self, m, latched, shifted):
        """Act on the last address cycle of what needs no confirm cycle."""
        lun, _ = split_row(self._part, shifted[COLUMN_BITS:])
        byte = TARGET | {"row": self.dq}
        with m.Switch(Cat(latched.opcode, latched.cycle)):
            with m.Case(self._last(latched, Opcode.READ_STATUS_ENHANCED, ROW_CYCLES)):
                with m.If(self._exists(shifted)):
                    self._ask(m, DieRequest.STATUS_LUN, shifted)
            for opcode, operation in suspend_commands(self._part).items():
                with m.Case(self._last(latched, opcode, ROW_CYCLES)), m.If(self._exists(shifted)):
                    self._ask(m, DieRequest.ARRAY, shifted, operation=operation)
            with m.Case(self._last(latched, Opcode.PROGRAM, PAGE_CYCLES)):
                with m.If(self._exists(shifted) & self.idle.bit_select(lun, 1)):
                    m.d.sync += [latched.loading.eq(1), self.takes_data.eq(1)]
                    self._ask(m, DieRequest.LOAD, shifted)
            with m.Case(self._last(latched, Opcode.CHANGE_WRITE_COLUMN, COLUMN_CYCLES)):
                with m.If(latched.loading):
                    m.d.sync += self.takes_data.eq(1)
                    self._ask(m, DieRequest.LOAD_MORE, shifted, column=shifted[-COLUMN_BITS:])
            with m.Case(self._last(latched, Opcode.SET_FEATURES, 1)):
                with m.If(self.idle.all()):
                    m.d.sync += self.takes_data.eq(1)
                    self._ask(m, DieRequest.SET_FEATURES, shifted, **byte)
            with m.Case(self._last(latched, Opcode.READ_ID, 1)):
                self._ask(m, DieRequest.IDENTIFY, shifted, **byte)
            with m.Case(self._last(latched, Opcode.READ_PARAMETER_PAGE, 1)):
                operation = ArrayOperation.PARAMETER_PAGE
                self._ask(m, DieRequest.ARRAY, shifted, operation=operation, **byte)
            with m.Case(self._last(latched, Opcode.GET_FEATURES, 1)):
                operation = ArrayOperation.GET_FEATURES
                self._ask(m, DieRequest.ARRAY, shifted, operation=operation, **byte)

    @staticmethod
    def _last(latched, opcode, count):
        """Pattern of the last of ``count`` address cycles after ``opcode``."""
        return int(opcode) | (count - 1) << len(latched.opcode)
