"""Waits for a change of one signal or a time, whichever is first, in one step of the event loop.

``First(ValueChange(signal), Timer(...))`` makes tasks and registers two callbacks for each wait,
which costs more than the simulation between two events of a busy kernel. This trigger registers a
timer only and keeps the value-change callback over many waits. It uses cocotb's own base class of
simulator triggers, so a new minor version of cocotb needs a look at this file.
"""

from typing import Any

from cocotb import simulator
from cocotb._gpi_triggers import GPITrigger

__all__ = ["ChangeOrTime"]

_SETTLE_STEPS = 1


class ChangeOrTime(GPITrigger):
    """Await it after :meth:`arm`; :attr:`changed` then says which of the two it was.

    On a change it fires one step (1 ps) later, when everything of that time has settled.

    Parameters
    ----------
    signal : cocotb handle
        What to watch.
    """

    def __init__(self, signal: Any) -> None:
        super().__init__()
        self.changed = False
        self._signal = signal._handle
        self._watch: Any = None
        self._steps = 0

    def arm(self, steps: int) -> "ChangeOrTime":
        """Set the time limit, in simulator steps from now (at least 1)."""
        self._steps = steps
        self.changed = False
        return self

    def _prime(self) -> None:
        self._cbhdl = simulator.register_timed_callback(self._steps, self._react)
        if self._watch is None:
            self._watch = simulator.register_value_change_callback(
                self._signal, self._on_change, simulator.VALUE_CHANGE
            )

    def _on_change(self) -> None:
        self._watch = None
        if self._cbhdl is None:
            return
        self.changed = True
        self._cbhdl.deregister()
        self._cbhdl = simulator.register_timed_callback(_SETTLE_STEPS, self._react)

    def _react(self) -> None:
        self._cbhdl = None
        super()._react()
