"""Entries of SimPy's queue that are less than its events, and so cost a fraction of them.

They keep their place among all that happens at one time, exactly as events do.
"""

from collections.abc import Callable
from typing import Any

__all__ = ["Awaited", "Pause", "Turn"]


class Turn:
    """Calls ``act`` with itself, ``delay_ps`` from now, after all that is due then already.

    It has no value, and nobody can wait for it.

    Parameters
    ----------
    env : simpy.Environment
    act : callable
    delay_ps : int
    """

    __slots__ = ("callbacks",)
    _ok = True

    def __init__(self, env: Any, act: Callable[[Any], None], delay_ps: int = 0) -> None:
        self.callbacks = (act,)
        env.schedule(self, delay=delay_ps)


class Awaited:
    """What one process waits for, by ``yield``; it happens once, and never fails."""

    __slots__ = ("_value", "callbacks")
    _ok = True

    def __init__(self) -> None:
        self.callbacks: Any = []

    def happen(self, env: Any, value: Any = None) -> None:
        """Have the process go on with ``value``, after all that is due now already."""
        self._value = value
        env.schedule(self)

    def happen_now(self, value: Any = None) -> None:
        """The same at once; for whom it is the last thing to do, where ``env.is_next()``."""
        self._value = value
        (resume,), self.callbacks = self.callbacks, None
        resume(self)


class Pause(Awaited):
    """A time-out without a value."""

    __slots__ = ()

    def __init__(self, env: Any, delay_ps: int) -> None:
        self.callbacks = []
        self._value = None
        env.schedule(self, delay=delay_ps)
