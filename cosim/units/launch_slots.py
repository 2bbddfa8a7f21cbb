"""Who holds the slots of a channel's launch buffer, and who waits for one."""

from collections import deque
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
        self._held: dict[tuple[int, int], int] = {}
        """Slots of commands of each LUN that have been started."""
        self._waiting: deque[AnyLaunched] = deque()

    def enter(self, command: AnyLaunched) -> None:
        """Start ``command`` now, or when slots come back."""
        behind = any(_lun(command) == _lun(other) for other in self._waiting)
        if behind or not self._take(command):
            self.waits += 1
            self._waiting.append(command)
            return
        self._start(command, None)

    def leave(self, command: AnyLaunched, cause: Cause) -> None:
        """Take back the slot of a command that has completed; ``cause`` (now) is its last span."""
        slot, lun = command.launch_slot, _lun(command)
        if slot is None:
            return
        self._held[lun] -= 1
        if OPERATIONS[command.operation].keeps_bus and not self._held[lun]:
            self._kept[lun] = slot
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
        if not command.data:
            return True
        if lun in self._kept:
            command.launch_slot = self._kept.pop(lun)
        elif self._free:
            command.launch_slot = min(self._free)
            self._free.remove(command.launch_slot)
        else:
            return False
        self._held[lun] = self._held.get(lun, 0) + 1
        return True

    def _forget(self, command: AnyLaunched) -> None:
        """Free what was kept for pages that ``command`` gives up."""
        is_reset = command.operation == ChannelOperation.RESET
        for lun in [lun for lun in self._kept if lun[0] == command.way]:
            if is_reset or lun == _lun(command):
                self._free.append(self._kept.pop(lun))


def _lun(command: Launched) -> tuple[int, int]:
    return command.way, command.lun
