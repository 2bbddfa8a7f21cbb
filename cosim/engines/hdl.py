"""A running HDL simulation as an engine: run to a time or to the first event, then write."""

from collections.abc import Callable, Sequence
from typing import Any

from cocotb.triggers import Timer
from cocotb.utils import get_sim_time

from cosim.engines.design import MOST_UNITS
from cosim.engines.memory import WordMemory
from cosim.engines.trigger import ChangeOrTime
from cosim.lockstep import Report

__all__ = ["HdlEngine", "Mailbox"]

_NO_DELAY = 3  # cocotb's code for a write that takes effect at once
_TIME_BITS = 64
_NEVER = (1 << _TIME_BITS) - 1
_STRIDE_PS = 100_000_000  # how far to run when only the RTL can tell what comes next; even
_PATIENCE_PS = 10_000_000_000  # far more than any burst or poll takes
_INT_BITS = MOST_UNITS  # of values that the VPI takes and gives as a plain integer


class Mailbox:
    """An input word of a unit; holds what was written last.

    What is written is handed to the unit by the engine's next :meth:`HdlEngine.post`.
    """

    def __init__(self, handle: Any, on_write: Callable[[], None]) -> None:
        self.value = 0
        self._handle = handle._handle
        self._bits = len(handle)
        self._on_write = on_write

    def set(self, value: int) -> None:
        if not 0 <= value < 1 << self._bits:
            raise ValueError(f"A mailbox of {self._bits} bits must hold its value, not {value:#x}")
        self.value = value
        if self._bits <= _INT_BITS:
            self._handle.set_signal_val_int(_NO_DELAY, value)
        else:
            self._handle.set_signal_val_binstr(_NO_DELAY, format(value, f"0{self._bits}b"))
        self._on_write()

    def flip(self, bit: int = 0) -> None:
        """Change one toggle bit."""
        self.set(self.value ^ (1 << bit))


class HdlEngine:
    """The units of ``csd_top`` in an HDL simulator under cocotb.

    The simulator is only ever left at odd times. All of its clock edges are at even ones, so what
    Python reads has settled and what it writes is seen at the next edge.

    Parameters
    ----------
    dut : cocotb handle
        ``csd_top``.
    units : sequence of str
        Names of the units, in the order of the top's vectors.
    stop_clocks : bool
        Whether units' clocks stop while they are quiet.
    """

    def __init__(self, dut: Any, units: Sequence[str], *, stop_clocks: bool = True) -> None:
        self.units = tuple(units)
        self.now_ps = 0
        self.advances = 0
        """Times the simulator was entered."""
        self.skips = 0
        """Times it was not, since all clocks stood still."""
        self._stop_clocks = stop_clocks
        self._events = dut.events._handle
        self._stopped = dut.stopped._handle
        self._asleep = dut.asleep._handle
        self._due = dut.due._handle
        self._domains = [getattr(dut, name) for name in units]
        self._words = [domain.event._handle for domain in self._domains]
        self._posts = [domain.post._handle for domain in self._domains]
        self._post_values = [0] * len(self.units)
        self._written: set[int] = set()
        self._posted: set[int] = set()
        """Units to which something was handed over since the simulator last ran."""
        self._all = (1 << len(self.units)) - 1
        self._seen = 0
        self._next_due: int | None = None
        """Earliest time at which a stopped clock starts by itself; None while any clock runs."""
        self._wait = ChangeOrTime(dut.events)
        if len(self.units) > MOST_UNITS:
            raise ValueError(f"units must be at most {MOST_UNITS}, not {len(self.units)}")

    async def start(self, boot_ps: int) -> None:
        """Take the simulation out of reset and up to ``boot_ps``.

        Raises
        ------
        RuntimeError
            If it has run already, or a unit has an event before that or is undefined after it.
        """
        if get_sim_time("step") != 0:
            raise RuntimeError("The simulation must be at time 0 when the engine starts")
        await Timer(1, "step")
        self.now_ps = 1
        if not self._stop_clocks:
            for domain in self._domains:
                domain.stop_enable._handle.set_signal_val_int(_NO_DELAY, 0)
        reports = await self.advance(boot_ps)
        for signal in (self._events, self._asleep):
            bits = signal.get_signal_val_binstr()
            if set(bits.lower()) - {"0", "1"}:
                raise RuntimeError(
                    f"Units must be defined after reset, not {bits} (last unit first)"
                )
        if reports:
            raise RuntimeError(f"Unit {self.units[reports[0].unit]} must be silent before boot")

    def mailbox(self, unit: int, name: str) -> Mailbox:
        handle = getattr(self._domains[unit], f"{name}_next")
        return Mailbox(handle, lambda: self._written.add(unit))

    def memory(self, unit: int, path: str) -> WordMemory:
        """The memory at ``path`` (instance names with dots) below a unit."""
        handle = self._domains[unit].unit
        for name in path.split("."):
            handle = getattr(handle, name)
        return WordMemory(handle)

    def counters(self, unit: int) -> int:
        """The unit's ``counters`` as one number."""
        return int(self._domains[unit].counters.value)

    async def advance(self, until_ps: int | None) -> list[Report]:
        """Run all clock edges up to and including ``until_ps``, or to the first edge with an event.

        With ``until_ps`` None: to the first edge with an event; an empty list then means that
        there can be none any more. Events of one edge come in the order of units.

        Raises
        ------
        RuntimeError
            If the RTL alone goes on and on and never has an event.
        """
        patience_ps = self.now_ps + _PATIENCE_PS
        while True:
            due_ps = self._next_due
            if due_ps is not None and due_ps > (_NEVER - 1 if until_ps is None else until_ps):
                self.skips += 1
                return []
            target_ps = self._target(until_ps)
            if target_ps <= self.now_ps:
                return []
            if await self._run(target_ps):
                return self._reports()
            if until_ps is not None or self._is_asleep():
                return []
            if self.now_ps > patience_ps:
                raise RuntimeError(
                    f"The RTL must have an event or fall asleep within {_PATIENCE_PS} ps; "
                    f"units awake at {self.now_ps} ps: {', '.join(self._awake())}"
                )

    async def settle(self, at_ps: int) -> None:
        """Bring the simulator to just after ``at_ps``, so that writes made now belong to it.

        Raises
        ------
        RuntimeError
            If it is already past that, or an event comes on the way (a broken promise of quiet).
        """
        target_ps = at_ps | 1
        if target_ps < self.now_ps:
            raise RuntimeError(f"Writes of {at_ps} ps came when the RTL was at {self.now_ps} ps")
        if target_ps > self.now_ps and await self._run(target_ps):
            raise RuntimeError(f"A unit that called itself quiet had an event at {self.now_ps} ps")
        self._next_due = None

    def post(self) -> None:
        """Hand what was written into mailboxes over to their units, and restart their clocks.

        Where one run ends and another begins at the same time, this comes twice before the
        simulator runs again; a unit sees one change of its ``post``, and all that was written.
        """
        for unit in sorted(self._written - self._posted):
            self._post_values[unit] ^= 1
            self._posts[unit].set_signal_val_int(_NO_DELAY, self._post_values[unit])
        self._posted |= self._written
        self._written.clear()

    def _target(self, until_ps: int | None) -> int:
        if until_ps is not None:
            return until_ps | 1
        if self._next_due is not None:
            return self._next_due | 1
        return self.now_ps + _STRIDE_PS

    async def _run(self, target_ps: int) -> bool:
        self.advances += 1
        self._posted.clear()
        await self._wait.arm(target_ps - self.now_ps)
        changed = self._wait.changed
        self.now_ps = int(get_sim_time("step")) if changed else target_ps
        self._next_due = None
        if self._stopped.get_signal_val_long() == self._all:
            dues = int(self._due.get_signal_val_binstr(), 2)
            self._next_due = min(
                dues >> _TIME_BITS * unit & _NEVER for unit in range(len(self.units))
            )
        return changed

    def _is_asleep(self) -> bool:
        return bool(self._asleep.get_signal_val_long() == self._all)

    def _awake(self) -> list[str]:
        asleep = self._asleep.get_signal_val_long()
        return [name for unit, name in enumerate(self.units) if not asleep >> unit & 1]

    def _reports(self) -> list[Report]:
        toggles = self._events.get_signal_val_long()
        changed = toggles ^ self._seen
        self._seen = toggles
        edge_ps = self.now_ps - 1
        return [
            Report(unit, edge_ps, int(word.get_signal_val_binstr(), 2))
            for unit, word in enumerate(self._words)
            if changed >> unit & 1
        ]
