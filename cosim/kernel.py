"""The run's clock: one SimPy environment, its spans, and resources that keep causes."""

from collections.abc import Callable, Generator
from typing import Any, Protocol

import simpy

from cosim.spans import NO_CAUSE, CausalityError, Span, SpanLog
from rtl.contract.kernel import Cause

__all__ = ["BOOT_PS", "CausalResource", "Kernel"]

BOOT_PS = 1_000_000
"""Host and firmware start here; every RTL unit has left reset by then."""


class Kernel:
    """Simulated time and spans of one run; see ``rtl.contract.kernel.Kernel`` for the contract."""

    def __init__(self) -> None:
        self.env = simpy.Environment(initial_time=BOOT_PS)
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
        return self.spans.add(
            Span(
                number=self.spans.reserve() if span is None else span,
                unit=unit,
                stage=stage,
                start_ps=start_ps,
                end_ps=end_ps,
                cause=cause.span,
                ready_ps=start_ps if ready_ps is None else ready_ps,
                request=request,
                kind=kind,
                payload_bytes=payload_bytes,
                overhead_bytes=overhead_bytes,
            )
        )

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
    """A SimPy resource whose waits name the span that ended them."""

    def __init__(self, kernel: Kernel, name: str, capacity: int = 1) -> None:
        self.name = name
        self.waits = 0
        """Users that had to wait: an arbitration happened."""
        kernel.resources.append(self)
        self._kernel = kernel
        self._resource = simpy.Resource(kernel.env, capacity)
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
        ready_ps = int(env.now)
        with self._resource.request() as grant:
            yield grant
            start_ps = int(env.now)
            if start_ps != ready_ps:
                self.waits += 1
                cause = self._released
            held_ps = duration_ps if isinstance(duration_ps, int) else duration_ps(start_ps)
            yield env.timeout(held_ps)
            done = self._kernel.record(
                self.name if unit is None else unit,
                stage,
                start_ps,
                int(env.now),
                cause,
                request=request,
                ready_ps=ready_ps,
                payload_bytes=payload_bytes,
                overhead_bytes=overhead_bytes,
                kind=kind,
            )
            self._released = done
        return done
