"""Joins the SimPy kernel and an RTL engine in conservative lock-step.

The kernel knows the time of its next event; the engine runs the RTL up to that time, or to the
first edge at which the RTL has something to say. See ``docs/architecture.md``, "Time".
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from simpy.events import Event, EventPriority

from cosim.kernel import Kernel

__all__ = ["Deadlock", "Engine", "LockStep", "Report"]

RTL_PRIORITY = EventPriority(-1)
"""Before everything that the kernel itself schedules for the same time."""


class Deadlock(Exception):
    """Nothing is scheduled, all units are asleep, and what is waited for has not happened."""


class Report(NamedTuple):
    """What unit ``unit`` said at the clock edge at ``edge_ps``: its event word."""

    unit: int
    edge_ps: int
    word: int


class Engine(Protocol):
    """Who executes the RTL."""

    async def advance(self, until_ps: int | None) -> list[Report]:
        """Run all edges up to and including ``until_ps``, or to the first one with an event."""

    async def settle(self, at_ps: int) -> None:
        """Get ready for writes that the kernel makes at ``at_ps``."""

    def post(self) -> None:
        """Make what was written visible to the units, at their next edges."""


class RtlEvent(Event):
    """A report on its way into the kernel."""

    def __init__(self, env: Any, report: Report, deliver: Callable[[Report], None]) -> None:
        super().__init__(env)
        self._ok = True
        self._value = report
        self.callbacks.append(lambda _: deliver(report))
        env.schedule(self, priority=RTL_PRIORITY, delay=report.edge_ps - env.now)


class LockStep:
    """The loop.

    Parameters
    ----------
    kernel : Kernel
        Whose environment is stepped; nobody else may step it.
    engine : Engine
        Already at the kernel's time.
    """

    def __init__(self, kernel: Kernel, engine: Engine) -> None:
        self.kernel = kernel
        self.rtl_ties = 0
        """Edges at which several units had something to say."""
        self.kernel_ties = 0
        """Edges of such news at which something was due in the kernel, too."""
        self.on_step: Callable[[], None] | None = None
        """Called when all that happens at one time has happened, and then only to look."""
        self._engine = engine
        self._deliver: dict[int, Callable[[Report], None]] = {}
        self._waiting: list[Callable[[], Sequence[str]]] = []
        self._posts: list[Callable[[], None]] = []

    def attach(
        self,
        units: Sequence[int],
        deliver: Callable[[Report], None],
        waiting: Callable[[], Sequence[str]],
    ) -> None:
        """Send reports of ``units`` to ``deliver``; ``waiting`` names what is outstanding there."""
        for unit in units:
            if unit in self._deliver:
                raise ValueError(f"Unit {unit} must have one receiver")
            self._deliver[unit] = deliver
        self._waiting.append(waiting)

    def post(self, write: Callable[[], None]) -> None:
        """Make a write into the RTL now: it is seen at the first edge strictly after now."""
        self._posts.append(write)

    async def run(self, until: Event) -> Any:
        """Run until ``until`` has happened; returns its value, or raises it if it failed.

        Raises
        ------
        Deadlock
            Naming what is outstanding.
        """
        env = self.kernel.env
        while not until.processed:
            upcoming = env.peek()
            now_ps = None if upcoming == float("inf") else int(upcoming)
            reports = await self._engine.advance(now_ps)
            for report in reports:
                RtlEvent(env, report, self._deliver[report.unit])
            if reports:
                self.rtl_ties += len(reports) > 1
                self.kernel_ties += now_ps == reports[0].edge_ps
                now_ps = reports[0].edge_ps
            if now_ps is None:
                raise Deadlock(self._describe())
            while env.peek() == now_ps:
                env.step()
            await self._flush(now_ps)
            if self.on_step is not None:
                self.on_step()
        if isinstance(until.value, BaseException) and not until.ok:
            raise until.value
        return until.value

    async def _flush(self, now_ps: int) -> None:
        if self._posts:
            await self._engine.settle(now_ps)
            for write in self._posts:
                write()
            self._posts.clear()
            self._engine.post()

    def _describe(self) -> str:
        waiting = [name for names in self._waiting for name in names()]
        listed = ", ".join(waiting) if waiting else "nothing in the RTL"
        return f"Nothing can happen any more at {self.kernel.env.now} ps; outstanding: {listed}"
