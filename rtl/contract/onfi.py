"""ONFI command opcodes and status bits of the read path.

Ref: Open NAND Flash Interface Specification 3.1, table 60 (command set) and section 5.13 (status).
"""

from amaranth.lib import enum

__all__ = [
    "COLUMN_CYCLES",
    "ROW_CYCLES",
    "Opcode",
    "StatusBit",
    "row_address",
    "row_bits",
    "split_row",
]

COLUMN_CYCLES = 2
ROW_CYCLES = 3


class Opcode(enum.IntEnum, shape=8):
    """First or second cycle of a command."""

    READ = 0x00
    READ_CONFIRM = 0x30
    CHANGE_READ_COLUMN_ENHANCED = 0x05
    """With five address cycles (column and row), closed by E0h."""
    CHANGE_READ_COLUMN_CONFIRM = 0xE0
    READ_STATUS = 0x70
    READ_STATUS_ENHANCED = 0x78
    RESET = 0xFF


class StatusBit(enum.IntFlag, shape=8):
    """Status byte, bit by bit."""

    FAIL = 0x01
    FAILC = 0x02
    ARDY = 0x20
    RDY = 0x40
    WP_N = 0x80


def row_bits(part):
    """Block and page bits of a row address; the LUN's bits lie above them (ONFI 3.1, section 3.1)."""
    return (part.rows - 1).bit_length()


def row_address(part, lun, row):
    """24-bit row address on the bus of page ``row`` of LUN ``lun``; integers or Amaranth values."""
    return row | lun << row_bits(part)


def split_row(part, address):
    """LUN and page of a row address on the bus: the inverse of :func:`row_address`."""
    return address >> row_bits(part), address & (1 << row_bits(part)) - 1
