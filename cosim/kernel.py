"""The run's kernel: its clock, its spans, and resources that keep causes."""

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Protocol

from cosim.clock import Clock
from cosim.spans import NO_CAUSE, CausalityError, Span, SpanLog
from firmware_model.events import Awaited, Pause
from rtl.contract.kernel import Cause

__all__ = ["BOOT_PS", "CausalResource", "Kernel"]

BOOT_PS = 1_000_000
"""Host and firmware start here; every RTL unit has left reset by then."""


class Kernel:
    """Simulated time and spans of one run; see ``rtl.contract.kernel.Kernel`` for the contract."""

    def __init__(self) -> None:
        self.env = Clock(BOOT_PS)
        self.spans = SpanLog()
        self.resources: list[Waited] = []
        """All that were made on this kernel."""

    def reserve(self) -> int:
        return self.spans.reserve()

    def record(
        self,
        unit: str,
        stage: str,
        start_ps: int,
        end_ps: int,
        cause: Cause,
        *,
        request: int = 0,
        ready_ps: int | None = None,
        payload_bytes: int = 0,
        overhead_bytes: int = 0,
        kind: str = "",
        span: int | None = None,
    ) -> Cause:
        if cause.at_ps != start_ps:
            raise CausalityError(
                f"Span {unit} {stage} must start when its cause {cause.span} released it "
                f"({cause.at_ps} ps), not at {start_ps} ps"
            )
        fields = (
            unit,
            stage,
            start_ps,
            end_ps,
            cause.span,
            start_ps if ready_ps is None else ready_ps,
            request,
            kind,
            payload_bytes,
            overhead_bytes,
        )
        if span is None:
            return self.spans.append(fields)
        return self.spans.add(Span(span, *fields))

    def origin(self, unit: str, stage: str) -> Cause:
        return self.record(
            unit, stage, int(self.env.now), int(self.env.now), Cause(int(self.env.now), NO_CAUSE)
        )

    def resource(self, name: str, capacity: int = 1) -> "CausalResource":
        return CausalResource(self, name, capacity)


class Waited(Protocol):
    """What keeps count of its waits."""

    name: str
    waits: int


class CausalResource:
    """Up to ``capacity`` users at a time, first come first served; waits name what ended them.

    It is given to the next one when all is over that was due as it was released. This is the order
    of a SimPy resource, whose requests and releases, events of their own, cost several times more.
    """

    def __init__(self, kernel: Kernel, name: str, capacity: int = 1) -> None:
        self.name = name
        self.waits = 0
        """Users that had to wait: an arbitration happened."""
        kernel.resources.append(self)
        self._kernel = kernel
        self._free = capacity
        self._queue: deque[Awaited] = deque()
        self._released = Cause(-1, NO_CAUSE)

    def use(
        self,
        stage: str,
        duration_ps: int | Callable[[int], int],
        cause: Cause,
        *,
        request: int = 0,
        payload_bytes: int = 0,
        overhead_bytes: int = 0,
        kind: str = "",
        unit: str | None = None,
    ) -> Generator[Any, Any, Cause]:
        """Hold the resource; ``unit`` is whose span it is, else the resource's own.

        How long may depend on when it is granted.
        """
        env = self._kernel.env
        ready_ps = env.now
        if self._free and not self._queue and env.is_next():
            self._free -= 1
        else:
            grant = Awaited()
            self._queue.append(grant)
            self._grant()
            yield grant
        start_ps = env.now
        if start_ps != ready_ps:
            self.waits += 1
            cause = self._released
        held_ps = duration_ps if isinstance(duration_ps, int) else duration_ps(start_ps)
        yield Pause(env, held_ps)
        self._released = done = self._kernel.record(
            self.name if unit is None else unit,
            stage,
            start_ps,
            env.now,
            cause,
            request=request,
            ready_ps=ready_ps,
            payload_bytes=payload_bytes,
            overhead_bytes=overhead_bytes,
            kind=kind,
        )
        self._free += 1
        if self._queue:
            env.call(self._hand_over)
        return done

    def _grant(self) -> None:
        """Let in who is next, as far as there is room."""
        env = self._kernel.env
        while self._free and self._queue:
            self._free -= 1
            self._queue.popleft().happen(env)

    def _hand_over(self, _: None) -> None:
        """The same, after a release."""
        env = self._kernel.env
        if self._free == 1 and self._queue and env.is_next():
            self._free = 0
            self._queue.popleft().happen_now()
        else:
            self._grant()
