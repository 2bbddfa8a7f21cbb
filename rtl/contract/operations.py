"""What a flash channel does for each operation: bus cycles, wait, and what follows the wait.

One declaration for the controller, its documentation and the models; the bus checker has rules of
its own. Ref: ONFI 3.1, section 5 (command definition, table 60 and the subsections named below).
"""

from dataclasses import dataclass

from amaranth.lib import enum

from rtl.contract.channel import ChannelOperation
from rtl.contract.onfi import Opcode

__all__ = ["OPERATIONS", "AddressCycles", "Finish", "OperationSteps"]


class AddressCycles(enum.Enum, shape=3):
    """Address cycles after the first command cycle."""

    NONE = 0
    ONE = 1
    """One byte, the low byte of ``row``: identifier, parameter page or feature address."""
    COLUMN = 2
    """Two column cycles."""
    ROW = 3
    """Three row cycles."""
    PAGE = 4
    """Two column cycles, then three row cycles."""


class Finish(enum.Enum, shape=2):
    """What the controller does once the LUN is ready (or at once, if nothing makes it busy)."""

    NONE = 0
    """It completes."""
    STATUS = 1
    """A status byte (``status``) is read and decides the completion's status."""
    TRANSFER = 2
    """``length`` bytes from ``column`` are chosen (05h or 06h, E0h) and read into a landing slot;
    they pass the ECC decoder unless the command says otherwise.
    """
    OUTPUT = 3
    """``length`` bytes are read as they come, without a choice and without ECC."""


@dataclass(frozen=True, kw_only=True)
class OperationSteps:
    """Bus cycles of one operation; see :data:`OPERATIONS`."""

    first: Opcode | None = None
    """First command cycle; None where nothing is issued."""
    address: AddressCycles = AddressCycles.NONE
    data_in: bool = False
    """``length`` bytes of a launch slot go to the die: tADL (after 85h: tCCS) after the address."""
    confirm: Opcode | None = None
    """Command cycle after address and data."""
    is_busy: bool = True
    """The last cycle makes the LUN busy: tWB, then R/B# or polls."""
    finish: Finish = Finish.NONE
    status: Opcode = Opcode.READ_STATUS_ENHANCED
    """What asks for the byte of ``Finish.STATUS``: 78h and the row, or 70h alone."""
    is_target: bool = False
    """It is about the whole way: all its LUNs must be idle, and ready is read from R/B#."""

    @property
    def keeps_bus(self):
        """The command is not complete on the bus: only this LUN's next command may follow."""
        return self.data_in and self.confirm is None and not self.is_busy

    @property
    def programs(self):
        """It has a page programmed."""
        return self.data_in and self.confirm is not None

    @property
    def queues_plane(self):
        """It makes sense on a part of several planes only: another plane's operation follows."""
        return self.confirm in (
            Opcode.READ_MULTI_PLANE,
            Opcode.PROGRAM_MULTI_PLANE,
            Opcode.BLOCK_ERASE_MULTI_PLANE,
        )

    @property
    def needs_single_lun(self):
        """It does not say whose status it asks for: not where LUNs share a way."""
        return self.status is Opcode.READ_STATUS


def _read(confirm, finish):
    page = AddressCycles.PAGE
    return OperationSteps(first=Opcode.READ, address=page, confirm=confirm, finish=finish)


def _program(first, address, confirm, finish):
    return OperationSteps(
        first=first, address=address, data_in=True, confirm=confirm, finish=finish
    )


def _load(first, address):
    return OperationSteps(first=first, address=address, data_in=True, is_busy=False)


def _erase(confirm, finish):
    return OperationSteps(
        first=Opcode.BLOCK_ERASE, address=AddressCycles.ROW, confirm=confirm, finish=finish
    )


def _target(first, **steps):
    return OperationSteps(first=first, is_target=True, **steps)


OPERATIONS = {
    # 5.14 to 5.16: reads. The data that follows 31h and 3Fh is that of the read before.
    ChannelOperation.READ: _read(Opcode.READ_CONFIRM, Finish.TRANSFER),
    ChannelOperation.SENSE: _read(Opcode.READ_CONFIRM, Finish.NONE),
    ChannelOperation.SENSE_PLANE: _read(Opcode.READ_MULTI_PLANE, Finish.NONE),
    ChannelOperation.TRANSFER: OperationSteps(is_busy=False, finish=Finish.TRANSFER),
    ChannelOperation.READ_CACHE_RANDOM: _read(Opcode.READ_CACHE, Finish.TRANSFER),
    ChannelOperation.READ_CACHE_SEQUENTIAL: OperationSteps(
        first=Opcode.READ_CACHE, finish=Finish.TRANSFER
    ),
    ChannelOperation.READ_CACHE_END: OperationSteps(
        first=Opcode.READ_CACHE_END, finish=Finish.TRANSFER
    ),
    # 5.18 to 5.20: programs; LOAD and LOAD_MORE fill the page register piece by piece (85h).
    ChannelOperation.PROGRAM: _program(
        Opcode.PROGRAM, AddressCycles.PAGE, Opcode.PROGRAM_CONFIRM, Finish.STATUS
    ),
    ChannelOperation.PROGRAM_CACHE: _program(
        Opcode.PROGRAM, AddressCycles.PAGE, Opcode.PROGRAM_CACHE, Finish.STATUS
    ),
    ChannelOperation.PROGRAM_PLANE: _program(
        Opcode.PROGRAM, AddressCycles.PAGE, Opcode.PROGRAM_MULTI_PLANE, Finish.NONE
    ),
    ChannelOperation.LOAD: _load(Opcode.PROGRAM, AddressCycles.PAGE),
    ChannelOperation.LOAD_MORE: _load(Opcode.CHANGE_WRITE_COLUMN, AddressCycles.COLUMN),
    ChannelOperation.PROGRAM_MORE: _program(
        Opcode.CHANGE_WRITE_COLUMN, AddressCycles.COLUMN, Opcode.PROGRAM_CONFIRM, Finish.STATUS
    ),
    # 5.9: erase.
    ChannelOperation.ERASE: _erase(Opcode.BLOCK_ERASE_CONFIRM, Finish.STATUS),
    ChannelOperation.ERASE_PLANE: _erase(Opcode.BLOCK_ERASE_MULTI_PLANE, Finish.NONE),
    # 5.12, 5.13: status (78h) of a LUN on its own.
    ChannelOperation.READ_STATUS: OperationSteps(is_busy=False, finish=Finish.STATUS),
    # 5.13: status (70h) of a way, which is that of its only LUN.
    ChannelOperation.READ_TARGET_STATUS: OperationSteps(
        is_busy=False, finish=Finish.STATUS, status=Opcode.READ_STATUS
    ),
    # 5.3, 5.6, 5.7, 5.26, 5.27: what is asked of a target.
    ChannelOperation.RESET: _target(Opcode.RESET),
    ChannelOperation.READ_ID: _target(
        Opcode.READ_ID, address=AddressCycles.ONE, is_busy=False, finish=Finish.OUTPUT
    ),
    ChannelOperation.READ_PARAMETER_PAGE: _target(
        Opcode.READ_PARAMETER_PAGE, address=AddressCycles.ONE, finish=Finish.OUTPUT
    ),
    ChannelOperation.GET_FEATURES: _target(
        Opcode.GET_FEATURES, address=AddressCycles.ONE, finish=Finish.OUTPUT
    ),
    ChannelOperation.SET_FEATURES: _target(
        Opcode.SET_FEATURES, address=AddressCycles.ONE, data_in=True
    ),
}
"""Steps of every operation."""
