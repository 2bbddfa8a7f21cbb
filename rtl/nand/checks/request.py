"""What a complete command asks of a die."""

from amaranth.lib import enum

__all__ = ["Request"]


class Request(enum.Enum, shape=5):
    """A complete command, or as much of one as a die acts on."""

    NONE = 0
    READ = 1
    CHOOSE = 2
    STATUS = 3
    STATUS_LUN = 4
    RESET = 5

    # Of parts that do more than plain reads.
    READ_PLANE = 6
    """32h."""
    READ_CACHE = 7
    """31h after the address of a page."""
    READ_NEXT = 8
    """31h alone."""
    READ_END = 9
    """3Fh."""
    LOAD = 10
    """Last address of 80h."""
    LOAD_MORE = 11
    """Last address of 85h."""
    PROGRAM = 12
    PROGRAM_CACHE = 13
    """15h."""
    PROGRAM_PLANE = 14
    """11h."""
    ERASE = 15
    ERASE_PLANE = 16
    """D1h."""
    IDENTIFY = 17
    """Address of 90h."""
    PARAMETERS = 18
    """Address of ECh."""
    GET_FEATURES = 19
    """Address of EEh."""
    FEATURE_ADDRESS = 20
    """Address of EFh."""
    SET_FEATURES = 21
    """End of the postamble of the data of EFh."""

    # Of parts with opcodes of their own to suspend.
    PROGRAM_SUSPEND = 22
    PROGRAM_RESUME = 23
    ERASE_SUSPEND = 24
    ERASE_RESUME = 25
