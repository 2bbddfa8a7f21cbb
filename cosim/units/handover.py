"""Hand-overs to a mailbox that takes one word an edge."""

from collections.abc import Callable
from typing import Any

from cosim.lockstep import LockStep

__all__ = ["HandOver"]


class HandOver:
    """Writes to one mailbox, in order: the first of each clock period now, others in later ones.

    Parameters
    ----------
    lockstep : LockStep
        Takes the writes.
    period_ps : int
        Of the unit's clock.
    """

    def __init__(self, lockstep: LockStep, period_ps: int) -> None:
        self.delayed = 0
        """Writes that had to wait for an edge."""
        self._lockstep = lockstep
        self._env: Any = lockstep.kernel.env
        self._period_ps = period_ps
        self._free_ps = 0

    def put(self, write: Callable[[], None]) -> None:
        """Make ``write`` as soon as the mailbox can take a word."""
        now_ps = int(self._env.now)
        at_ps = max(now_ps, self._free_ps)
        self._free_ps = (at_ps // self._period_ps + 1) * self._period_ps
        if at_ps == now_ps:
            self._lockstep.post(write)
            return
        self.delayed += 1
        timeout = self._env.timeout(at_ps - now_ps)
        timeout.callbacks.append(lambda _: self._lockstep.post(write))
