"""Entries of SimPy's queue that are less than its events, and so cost a fraction of them.

They keep their place among all that happens at one time, exactly as events do.
"""

from collections.abc import Generator
from typing import Any

from simpy.events import URGENT

__all__ = ["Awaited", "Errand", "Landing", "Pause"]


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


class Landing(Awaited):
    """What any number of processes wait for, or none; who asks later goes on at once."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        """Once it has happened."""
        return self._value

    def happen(self, env: Any, value: Any = None) -> None:
        self._value = value
        if self.callbacks:
            env.schedule(self)
        else:
            self.callbacks = None


class Pause(Awaited):
    """A time-out without a value."""

    __slots__ = ()

    def __init__(self, env: Any, delay_ps: int) -> None:
        self.callbacks = []
        env.call(self.happen_now, None, delay_ps)


class Errand:
    """A process of SimPy whose end nobody waits for, and that nobody interrupts.

    An exception that it does not catch ends the run.
    """

    __slots__ = ("_steps", "callbacks")
    _ok = True
    _value = None

    def __init__(self, env: Any, steps: Generator[Any, Any, None]) -> None:
        self._steps = steps
        self.callbacks = (self._go_on,)
        env.schedule(self, URGENT)

    def _go_on(self, event: Any) -> None:
        try:
            while True:
                if event._ok:
                    event = self._steps.send(event._value)
                else:
                    event._defused = True
                    event = self._steps.throw(event._value)
                if event.callbacks is not None:
                    event.callbacks.append(self._go_on)
                    return
        except StopIteration:
            pass
