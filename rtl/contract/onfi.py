"""ONFI command opcodes, status bits, row addresses, and the rules of the bus.

Ref: Open NAND Flash Interface Specification 3.1, table 60 (command set) and section 5.13 (status).
"""

from amaranth.lib import enum

__all__ = [
    "COLUMN_CYCLES",
    "FEATURE_BYTES",
    "READ_LEVEL_FEATURE",
    "ROW_CYCLES",
    "BusRule",
    "Opcode",
    "StatusBit",
    "plane",
    "row_address",
    "row_bits",
    "split_row",
]

COLUMN_CYCLES = 2
ROW_CYCLES = 3
FEATURE_BYTES = 4
"""Of SET FEATURES and GET FEATURES (sections 5.26 and 5.27)."""
READ_LEVEL_FEATURE = 0x89
"""Feature whose first byte is the level at which a die senses, 0 after power-up: a vendor's.

Ref: Linux, include/linux/mtd/onfi.h, ONFI_FEATURE_ADDR_READ_RETRY (Micron's and Macronix's parts).
"""


class Opcode(enum.IntEnum, shape=8):
    """First or second cycle of a command."""

    READ = 0x00
    READ_CONFIRM = 0x30
    CHANGE_READ_COLUMN_ENHANCED = 0x05
    """With five address cycles (column and row), closed by E0h, as Toggle-mode parts take it: the
    row selects the LUN. ONFI's own opcode of that form is 06h; 05h has column cycles alone there.
    """
    CHANGE_READ_COLUMN_CONFIRM = 0xE0
    READ_STATUS = 0x70
    READ_STATUS_ENHANCED = 0x78
    RESET = 0xFF

    # Beyond the plain read. The read path above comes first, as it came first.
    CHANGE_READ_COLUMN_PLANE = 0x06
    """ONFI's opcode with five address cycles, for parts of several planes; closed by E0h."""
    READ_MULTI_PLANE = 0x32
    READ_CACHE = 0x31
    READ_CACHE_END = 0x3F
    PROGRAM = 0x80
    PROGRAM_CONFIRM = 0x10
    PROGRAM_CACHE = 0x15
    PROGRAM_MULTI_PLANE = 0x11
    CHANGE_WRITE_COLUMN = 0x85
    BLOCK_ERASE = 0x60
    BLOCK_ERASE_CONFIRM = 0xD0
    BLOCK_ERASE_MULTI_PLANE = 0xD1
    READ_ID = 0x90
    READ_PARAMETER_PAGE = 0xEC
    GET_FEATURES = 0xEE
    SET_FEATURES = 0xEF


class StatusBit(enum.IntFlag, shape=8):
    """Status byte, bit by bit."""

    FAIL = 0x01
    """The last program or erase failed."""
    FAILC = 0x02
    """The program before the last one failed (cached programs)."""
    ARDY = 0x20
    """No array operation is under way."""
    RDY = 0x40
    """The LUN takes commands."""
    WP_N = 0x80


class BusRule(enum.IntEnum, shape=8):
    """What the bus checker watches; of several broken in a clock the lowest number is reported."""

    CE_ONE_LOW = 1
    """At most one chip enable is low."""
    NO_TARGET = 2
    """WE# and RE# stay high while no chip enable is low."""
    LATCH_BOTH = 3
    """CLE and ALE are never high together."""
    T_WP = 4
    """WE# is low for tWP."""
    T_WH = 5
    """WE# is high for tWH."""
    T_WC = 6
    """Rising edges of WE# are tWC apart."""
    T_CALS = 7
    """CLE, ALE and driven DQ are stable for tCALS before the rising edge of WE#."""
    T_CAH = 8
    """CLE, ALE and driven DQ are stable for tCAH after the rising edge of WE#."""
    T_CS = 9
    """CE# is low for tCS before the first rising edge of WE# or falling edge of RE#."""
    T_CH = 10
    """CE# stays low for tCH after the last rising edge of WE# or the last edge of data."""
    OPCODE = 11
    """Every command byte is one that the part is used with."""
    SEQUENCE = 12
    """Each command has its addresses, its data and its confirm, and nothing comes between."""
    ROW = 13
    """Row addresses lie in the part."""
    COLUMN = 14
    """Column addresses are even and lie in the page."""
    BUSY = 15
    """A busy LUN gets nothing but 70h, 78h, FFh and a suspend."""
    T_WB_ACCESS = 16
    """For tWB after its confirm cycle a LUN gets nothing but FFh: its status means nothing yet."""
    T_WB_BUSY = 17
    """R/B# is low at tWB after a confirm cycle."""
    T_RR = 18
    """RE# falls tRR after the LUN became ready."""
    T_WHR = 19
    """RE# falls tWHR after the last cycle of a status command."""
    T_CCS = 20
    """RE# falls tCCS after E0h."""
    T_RHW = 21
    """WE# falls tRHW after the last data edge of RE#."""
    T_RPRE = 22
    """RE# is low for tRPRE before the first data edge."""
    T_RPST = 23
    """RE# is low for tRPST after the clock of the last data edge."""
    BURST_SOURCE = 24
    """Data is read from the LUN chosen by 05h-E0h, is the status after 70h or 78h, or is what 90h,
    ECh or EEh asked for.
    """
    BURST_LENGTH = 25
    """A burst has a whole, even number of bytes, at least two."""
    BURST_PAUSE = 26
    """A burst does not pause."""
    PAGE_END = 27
    """A burst ends within the page."""
    DIE_DRIVES = 28
    """At most one die drives, and it is the one whose CE# is low, or was tDQSRE ago."""
    CONTENTION = 29
    """Controller and die never drive together."""
    T_DQSRE = 30
    """DQS repeats RE# tDQSRE later, and is low while no die drives."""

    # Of parts that do more than plain reads.
    T_ADL = 31
    """DQS is driven tADL after the last address cycle of 80h or EFh."""
    T_CCS_WRITE = 32
    """DQS is driven tCCS after the last address cycle of 85h."""
    T_WPRE = 33
    """DQS is low for tWPRE before the first edge of data to a die."""
    T_WPST = 34
    """DQS is driven low for tWPST after the clock of the last edge."""
    WRITE_SOURCE = 35
    """DQS is driven only for data of 80h, 85h or EFh, to their way, once."""
    WRITE_ALONE = 36
    """While DQS is driven CE# stays low, the latch enables low, WE# and RE# high."""
    WRITE_DRIVEN = 37
    """DQ is driven at each edge of data to a die."""
    WRITE_LENGTH = 38
    """A burst to a die has a whole, even number of bytes, at least two; a feature has four."""
    WRITE_PAUSE = 39
    """A burst to a die does not pause."""
    WRITE_PAGE_END = 40
    """A burst to a die ends within the page."""
    LOAD_LEFT = 41
    """A LUN with data of a program gets the rest of it, or FFh, before any other command."""
    TARGET_IDLE = 42
    """90h, ECh, EEh and EFh come only while no LUN of the way has anything to do."""
    TARGET_ADDRESS = 43
    """The address after 90h is 00h or 20h, after ECh 00h."""
    CACHE_ORDER = 44
    """31h follows a read, 3Fh a 31h; 31h without an address stays in its block."""
    ARRAY_BUSY = 45
    """While the array works on behind 31h or 15h the LUN gets only what goes on with it."""
    PLANE_ORDER = 46
    """After 32h, 11h or D1h comes the same with another plane, for pages of the same number."""
    PAGE_REGISTER = 47
    """Data is chosen from planes that have a page read, not overwritten since."""
    PROGRAM_ORDER = 48
    """The pages of a block are programmed in ascending order."""
    PROGRAM_ERASED = 49
    """A page is programmed once after its block was erased."""
    STATUS_BITS = 50
    """ARDY comes with RDY, and RDY without ARDY only after 31h, 15h or a suspend; unused bits are
    zero.
    """

    # Of parts that have commands to suspend.
    SUSPEND_ORDER = 51
    """A suspend goes to a LUN at that kind of work, a resume to one that said that it holds it."""
    SUSPENDED = 52
    """A suspended LUN gets nothing but reads, its resume, status commands and FFh."""
    SUSPENDED_ROW = 53
    """A read of a suspended LUN is not of the page, or the block, under work."""

    # Of an SDR bus.
    T_RC = 54
    """Falling edges of RE# are tRC apart."""
    T_RP = 55
    """RE# is low for tRP."""
    T_REH = 56
    """RE# is high for tREH between two bytes."""
    T_REA = 57
    """The die drives tREA after RE# has fallen."""
    READ_WINDOW = 58
    """A byte still holds tREA after RE# has fallen, when it must be captured."""


def row_bits(part):
    """Block and page bits of a row address; the LUN's lie above them (ONFI 3.1, section 3.1)."""
    return (part.rows - 1).bit_length()


def row_address(part, lun, row):
    """24-bit row address on the bus of page ``row`` of LUN ``lun``; integers or Amaranth values."""
    return row | lun << row_bits(part)


def split_row(part, address):
    """LUN and page of a row address on the bus: the inverse of :func:`row_address`."""
    return address >> row_bits(part), address & (1 << row_bits(part)) - 1


def plane(part, row):
    """Plane of page ``row`` of a LUN: the lowest bits of its block (ONFI 3.1, section 3.1)."""
    return row // part.pages_per_block % part.planes
