"""Counting semaphore whose waits keep their causes."""

from collections import deque
from collections.abc import Generator
from typing import Any

from firmware_model.depths import DepthLog
from firmware_model.events import Awaited
from rtl.contract.kernel import Cause

__all__ = ["Slots"]


class Slots:
    """``capacity`` equal units (table entries, bytes), first come first served.

    Unlike a kernel resource a slot is held over any number of steps. Who waited goes on with the
    cause of the release that let it in.
    """

    def __init__(self, env: Any, name: str, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"{name} must have a positive capacity, not {capacity!r}")
        self.name = name
        self.capacity = capacity
        self.free = capacity
        self.waits = 0
        """How many had to wait."""
        self.used = DepthLog(env)
        """Units that are taken."""
        self.waiting = DepthLog(env)
        """Those who wait, however much each asks for."""
        self._env = env
        self._queue: deque[tuple[int, Awaited]] = deque()

    def acquire(self, cause: Cause, amount: int = 1) -> Generator[Any, Any, Cause]:
        """Take ``amount`` units; returns ``cause``, or that of the release waited for."""
        if not 0 < amount <= self.capacity:
            raise ValueError(f"{self.name} must be asked for 1 to {self.capacity}, not {amount}")
        if not self._queue and amount <= self.free:
            self._take(amount)
            return cause
        self.waits += 1
        self.waiting.change(1)
        turn = Awaited()
        self._queue.append((amount, turn))
        granted: Cause = yield turn
        return granted

    def release(self, cause: Cause, amount: int = 1) -> None:
        """Give units back; ``cause`` is what ended their use.

        Raises
        ------
        RuntimeError
            If that did not happen now, or more comes back than was taken.
        """
        if cause.at_ps != self._env.now:
            raise RuntimeError(f"{self.name} must be given back when {cause} happened")
        self.free += amount
        if self.free > self.capacity:
            raise RuntimeError(f"{self.name} must not get back more than was taken")
        self.used.change(-amount)
        while self._queue and self._queue[0][0] <= self.free:
            amount, turn = self._queue.popleft()
            self.waiting.change(-1)
            self._take(amount)
            turn.happen(self._env, cause)

    def _take(self, amount: int) -> None:
        self.free -= amount
        self.used.change(amount)
