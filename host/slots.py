"""A number of equal slots (command tags, reads in flight) whose waits keep their causes."""

from collections import deque
from collections.abc import Generator
from typing import Any

from rtl.contract.kernel import Cause, Kernel

__all__ = ["Slots"]


class Slots:
    """``count`` slots, handed out first come first served.

    Attributes
    ----------
    waits
        Users that had to wait.

    Raises
    ------
    ValueError
        If there is not at least one slot.
    """

    def __init__(self, kernel: Kernel, count: int, name: str) -> None:
        if count < 1:
            raise ValueError(f"{name} must be at least 1, not {count!r}")
        self.waits = 0
        self._env = kernel.env
        self._free = count
        self._waiting: deque[Any] = deque()

    def acquire(self, cause: Cause) -> Generator[Any, Any, Cause]:
        """Take a slot; returns ``cause``, or after a wait what released the slot."""
        if self._free:
            self._free -= 1
            return cause
        self.waits += 1
        event = self._env.event()
        self._waiting.append(event)
        released: Cause = yield event
        return released

    def release(self, cause: Cause) -> None:
        """Give a slot back; ``cause`` (now) is what released it."""
        if self._waiting:
            self._waiting.popleft().succeed(cause)
        else:
            self._free += 1
