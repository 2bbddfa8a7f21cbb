"""What each clock of a flash bus is spent on: causes that exclude each other and leave nothing."""

from amaranth.lib import enum

__all__ = ["IDLE", "BusCause"]


class BusCause(enum.IntEnum, shape=5):
    """Use of one clock of the bus, or the reason why it was not used.

    Times are those of ONFI 3.1, section 4.15; how their clocks are told apart when they overlap is
    in :class:`rtl.nand.bus_monitor.BusMonitor`.
    """

    DATA = 0
    """Bytes of a page."""
    STATUS_DATA = 1
    """Bytes of a status."""
    READ_COMMAND = 2
    """Cycles of 00h-30h, and CE# low after the last."""
    TRANSFER_COMMAND = 3
    """Cycles of 05h-E0h, up to the last rising edge of WE#."""
    POLL_COMMAND = 4
    """Cycles of 78h or 70h, up to the last rising edge of WE#."""
    OTHER_COMMAND = 5
    """Cycles of anything else."""
    SELECT = 6
    """CE# low before WE# first falls (what tCS asks beyond the first WE# low)."""
    T_CCS = 7
    """After E0h, until RE# falls."""
    T_WHR = 8
    """After a status command, until RE# falls."""
    T_RPRE = 9
    """Preamble: RE# low before the first data edge."""
    T_RPST = 10
    """Postamble: RE# low after the last data edge."""
    T_RHW = 11
    """Turn-round: the rest of tRHW, in which nothing may be written to a die."""
    DECISION = 12
    """Idle, though there was something to do: the controller decides, or waits by itself."""
    NOT_POLLED = 13
    """Idle: pages are ready, but no status poll has said so yet."""
    NO_LANDING_SLOT = 14
    """Idle: pages are ready, but there is no room for one."""
    SENSING = 15
    """Idle: all LUNs that have a command sense."""
    NO_COMMAND = 16
    """Idle: no LUN has a command."""


IDLE = (
    BusCause.DECISION,
    BusCause.NOT_POLLED,
    BusCause.NO_LANDING_SLOT,
    BusCause.SENSING,
    BusCause.NO_COMMAND,
)
"""Causes in which the bus does nothing, and no rule of the bus asks it to."""
