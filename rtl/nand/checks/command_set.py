"""The commands of ONFI's table 60 that the bus checker knows, by what completes them."""

from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, Opcode
from rtl.nand.checks.request import Request

__all__ = [
    "ADDRESSES",
    "AFTER_DATA",
    "BY_ADDRESS",
    "CLOSED_BY",
    "FIRST",
    "KEEPS_OUTPUT",
    "ON_PLANES",
    "RESUMES",
    "SIGNATURE_ADDRESS",
    "SUSPENDS",
    "TAKES_DATA",
    "TARGET",
    "WITH_PAGE",
    "WITH_ROW",
    "suspend_commands",
]

PAGE_ADDRESS_CYCLES = COLUMN_CYCLES + ROW_CYCLES

ADDRESSES = {
    Opcode.READ: PAGE_ADDRESS_CYCLES,
    Opcode.CHANGE_READ_COLUMN_ENHANCED: PAGE_ADDRESS_CYCLES,
    Opcode.CHANGE_READ_COLUMN_PLANE: PAGE_ADDRESS_CYCLES,
    Opcode.PROGRAM: PAGE_ADDRESS_CYCLES,
    Opcode.CHANGE_WRITE_COLUMN: COLUMN_CYCLES,
    Opcode.BLOCK_ERASE: ROW_CYCLES,
    Opcode.READ_STATUS_ENHANCED: ROW_CYCLES,
    Opcode.READ_ID: 1,
    Opcode.READ_PARAMETER_PAGE: 1,
    Opcode.GET_FEATURES: 1,
    Opcode.SET_FEATURES: 1,
}
"""Address cycles of the commands that have any."""
FIRST = tuple(opcode for opcode in ADDRESSES if opcode is not Opcode.CHANGE_WRITE_COLUMN)
"""Opcodes that begin a command with addresses; 85h goes on with what 80h began."""
CLOSED_BY = {
    (Opcode.READ,): {
        Opcode.READ_CONFIRM: Request.READ,
        Opcode.READ_MULTI_PLANE: Request.READ_PLANE,
    },
    (Opcode.CHANGE_READ_COLUMN_ENHANCED, Opcode.CHANGE_READ_COLUMN_PLANE): {
        Opcode.CHANGE_READ_COLUMN_CONFIRM: Request.CHOOSE
    },
    (Opcode.BLOCK_ERASE,): {
        Opcode.BLOCK_ERASE_CONFIRM: Request.ERASE,
        Opcode.BLOCK_ERASE_MULTI_PLANE: Request.ERASE_PLANE,
    },
}
"""By what a command may begin with: cycles that end it after its addresses."""
AFTER_DATA = {
    Opcode.PROGRAM_CONFIRM: Request.PROGRAM,
    Opcode.PROGRAM_CACHE: Request.PROGRAM_CACHE,
    Opcode.PROGRAM_MULTI_PLANE: Request.PROGRAM_PLANE,
}
"""Cycles that end a program after its data."""
BY_ADDRESS = {
    Opcode.READ_STATUS_ENHANCED: Request.STATUS_LUN,
    Opcode.PROGRAM: Request.LOAD,
    Opcode.CHANGE_WRITE_COLUMN: Request.LOAD_MORE,
    Opcode.READ_ID: Request.IDENTIFY,
    Opcode.READ_PARAMETER_PAGE: Request.PARAMETERS,
    Opcode.GET_FEATURES: Request.GET_FEATURES,
    Opcode.SET_FEATURES: Request.FEATURE_ADDRESS,
}
"""What is complete with its last address."""
SUSPENDS = (Request.PROGRAM_SUSPEND, Request.ERASE_SUSPEND)
RESUMES = (Request.PROGRAM_RESUME, Request.ERASE_RESUME)
TAKES_DATA = (Opcode.PROGRAM, Opcode.CHANGE_WRITE_COLUMN, Opcode.SET_FEATURES)
ON_PLANES = (
    Opcode.READ_MULTI_PLANE,
    Opcode.PROGRAM_MULTI_PLANE,
    Opcode.BLOCK_ERASE_MULTI_PLANE,
)
"""Known to parts of several planes only."""
WITH_PAGE = (
    Request.READ,
    Request.READ_PLANE,
    Request.READ_CACHE,
    Request.CHOOSE,
    Request.LOAD,
)
WITH_ROW = (
    *WITH_PAGE,
    *(Request.STATUS_LUN, Request.ERASE, Request.ERASE_PLANE),
    *SUSPENDS,
    *RESUMES,
)
"""With a row address of their own."""
TARGET = (
    Request.RESET,
    Request.IDENTIFY,
    Request.PARAMETERS,
    Request.GET_FEATURES,
    Request.FEATURE_ADDRESS,
)
"""About a whole way."""
KEEPS_OUTPUT = (Opcode.READ_STATUS, Opcode.READ_STATUS_ENHANCED, Opcode.READ)
"""After these a die may go on with what it put out before."""
SIGNATURE_ADDRESS = 0x20
"""Of 90h: where a die says ONFI (section 5.6)."""


def suspend_commands(part):
    """What the part's own opcodes ask for after three row cycles: a vendor's, none of ONFI's."""
    if part.suspend is None:
        return {}
    return {
        getattr(part.suspend, request.name.lower()): request for request in (*SUSPENDS, *RESUMES)
    }
