"""The seam between the models and the co-simulation kernel: causes, spans, resources.

``host`` and ``firmware_model`` take a :class:`Kernel` in their constructors and never import
``cosim``. Every interval of simulated time they spend is recorded as a span that names its cause.
"""

from collections.abc import Generator, Iterable
from typing import Any, NamedTuple, Protocol

__all__ = ["Cause", "Kernel", "Resource", "latest"]


class Cause(NamedTuple):
    """What released the next step: span ``span``, at ``at_ps`` (its end, or its first word)."""

    at_ps: int
    span: int


def latest(causes: Iterable[Cause]) -> Cause:
    """The last finisher of a join; among those that finish together, the lowest span number."""
    return max(causes, key=lambda cause: (cause.at_ps, -cause.span))


class Resource(Protocol):
    """Something of which only ``capacity`` users at a time can make use, first come first served."""

    name: str

    def use(
        self,
        stage: str,
        duration_ps: int,
        cause: Cause,
        *,
        request: int = 0,
        payload_bytes: int = 0,
        overhead_bytes: int = 0,
        kind: str = "",
    ) -> Generator[Any, Any, Cause]:
        """Wait for a turn, hold it for ``duration_ps``, record the span, return it as a cause.

        If there was no wait the span's cause is ``cause``, whose ``at_ps`` must be now; after a
        wait it is the span that released the resource.
        """


class Kernel(Protocol):
    """Simulated time, spans and resources of one run."""

    env: Any
    """The ``simpy.Environment``; integers of picoseconds."""

    def resource(self, name: str, capacity: int = 1) -> Resource:
        """Make a named resource whose waits keep their causes."""

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
        """Record a span that has ended and return it as a cause (at its end).

        ``cause.at_ps`` must equal ``start_ps``: a gap is an error, raised here. ``ready_ps`` is
        when the work was asked for (``start_ps`` if absent). ``span`` is a number taken with
        :meth:`reserve` by a span that released others before it ended.
        """

    def reserve(self) -> int:
        """Take the next span number."""

    def origin(self, unit: str, stage: str) -> Cause:
        """Record a span of no length, without a cause, now: the start of everything that follows."""
