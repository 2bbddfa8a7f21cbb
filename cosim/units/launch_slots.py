"""Who holds the slots of a channel's launch buffer, and who waits for one."""

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from rtl.contract.channel import ChannelOperation
from rtl.contract.kernel import Cause
from rtl.contract.operations import OPERATIONS

__all__ = ["LaunchSlots"]

GOES_ON = (ChannelOperation.LOAD_MORE, ChannelOperation.PROGRAM_MORE)
"""Further pieces of a page that LOAD has begun."""


class Launched(Protocol):
    """What a command must be."""

    operation: ChannelOperation
    way: int
    lun: int
    data: bytes
    launch_slot: int | None


AnyLaunched = TypeVar("AnyLaunched", bound=Launched)


class LaunchSlots(Generic[AnyLaunched]):
    """Starts commands in the order of their LUN, each once it has the slot that it needs.

    The last free slot is for LUNs that have nothing under way: a command that must wait for its LUN
    keeps its slot for long, and others' data could go meanwhile.

    The channel's bus is kept for a LUN between the pieces of a page, so that commands of others,
    and their slots, may wait for the next piece. Therefore that LUN keeps a slot from each piece to
    the next one.

    Parameters
    ----------
    slots : int
        Of the launch buffer.
    start : callable
        Takes a command that has its slot, and what it waited for: None if it did not wait.
    """

    def __init__(self, slots: int, start: Callable[[AnyLaunched, Cause | None], None]) -> None:
        self.waits = 0
        """Commands that had to wait."""
        self._start = start
        self._free = list(range(slots))
        self._kept: dict[tuple[int, int], int] = {}
        self._under_way: dict[tuple[int, int], list[AnyLaunched]] = defaultdict(list)
        """Commands of each LUN that have been started."""
        self._waiting: deque[AnyLaunched] = deque()

    def enter(self, command: AnyLaunched) -> None:
        """Start ``command`` now, or when slots come back."""
        behind = any(_lun(command) == _lun(other) for other in self._waiting)
        if behind or not self._take(command):
            self.waits += 1
            self._waiting.append(command)
            return
        self._start(command, None)

    def sent(self, command: AnyLaunched, cause: Cause) -> None:
        """Take back the slot of a command whose data is on the die; ``cause`` (now) has sent it."""
        if command.launch_slot is not None:
            self._free.append(command.launch_slot)
            command.launch_slot = None
            self._serve(cause)

    def leave(self, command: AnyLaunched, cause: Cause) -> None:
        """Take back what a command has that has completed; ``cause`` (now) is its last span."""
        under_way = self._under_way[_lun(command)]
        under_way.remove(command)
        slot, command.launch_slot = command.launch_slot, None
        if slot is not None:
            others = any(other.launch_slot is not None for other in under_way)
            if OPERATIONS[command.operation].keeps_bus and not others:
                self._kept[_lun(command)] = slot
            else:
                self._free.append(slot)
        self._serve(cause)

    def _serve(self, cause: Cause) -> None:
        """Start all that can, in order, but none before an earlier one of its LUN."""
        left: deque[AnyLaunched] = deque()
        blocked: set[tuple[int, int]] = set()
        for command in self._waiting:
            if _lun(command) in blocked or not self._take(command):
                blocked.add(_lun(command))
                left.append(command)
            else:
                self._start(command, cause)
        self._waiting = left

    def _take(self, command: AnyLaunched) -> bool:
        """Give ``command`` a slot if it needs one; returns whether it has what it needs."""
        lun = _lun(command)
        if command.operation not in GOES_ON:
            self._forget(command)
        if OPERATIONS[command.operation].data_in:
            if lun in self._kept:
                command.launch_slot = self._kept.pop(lun)
            elif len(self._free) > bool(self._under_way[lun]):
                command.launch_slot = min(self._free)
                self._free.remove(command.launch_slot)
            else:
                return False
        self._under_way[lun].append(command)
        return True

    def _forget(self, command: AnyLaunched) -> None:
        """Free what was kept for pages that ``command`` gives up."""
        is_reset = command.operation == ChannelOperation.RESET
        for lun in [lun for lun in self._kept if lun[0] == command.way]:
            if is_reset or lun == _lun(command):
                self._free.append(self._kept.pop(lun))


def _lun(command: Launched) -> tuple[int, int]:
    return command.way, command.lun
