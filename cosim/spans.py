"""Spans of simulated time with one cause each, and the critical path through them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from rtl.contract.kernel import Cause

__all__ = ["CausalityError", "Segment", "Span", "SpanLog", "critical_path", "stage_totals"]

NO_CAUSE = -1
new_tuple = tuple.__new__
"""Makes a named tuple twice as fast as a call of its class."""


class CausalityError(Exception):
    """Time that no span owns, or a cause that cannot have released its effect."""


class Span(NamedTuple):
    """One named interval of simulated time. ``cause`` is a span number, or -1 for an origin."""

    number: int
    unit: str
    stage: str
    start_ps: int
    end_ps: int
    cause: int
    ready_ps: int
    request: int
    kind: str
    payload_bytes: int
    overhead_bytes: int


@dataclass(frozen=True, slots=True)
class Segment:
    """The part of one span that lies on a critical path."""

    span: Span
    start_ps: int
    end_ps: int


WIDTH = len(Span._fields) - 1
"""Fields of a span behind its number."""
START, END = (Span._fields[1:].index(name) for name in ("start_ps", "end_ps"))
"""Places among these."""
RESERVED = (None,) * WIDTH
"""Stands where a span with a reserved number has not ended yet."""


class SpanLog:
    """All spans of one run, by number. Numbers are given in the order of :meth:`reserve`.

    Their fields lie in one list, span after span: an object a span would cost more than all else,
    and Python's collector of garbage would look at each of them.
    """

    def __init__(self) -> None:
        self._fields: list[Any] = []
        self._missing = 0
        """Reserved numbers whose spans have not ended yet."""

    def reserve(self) -> int:
        number = self._numbers
        self._fields += RESERVED
        self._missing += 1
        return number

    def add(self, span: Span) -> Cause:
        """Keep a span with a reserved number; returns it as a cause at its end.

        Raises
        ------
        CausalityError
            If it ends before it starts, or its number is taken or was never reserved.
        """
        number = span.number
        if not 0 <= number < self._numbers or self._row(number) is not None:
            raise CausalityError(f"Span number {number} must be reserved once and used once")
        if span.end_ps < span.start_ps:
            raise _backwards(span)
        self._fields[number * WIDTH : (number + 1) * WIDTH] = span[1:]
        self._missing -= 1
        return Cause(span.end_ps, number)

    def append(self, fields: tuple[Any, ...]) -> Cause:
        """Keep a span with the next number; ``fields`` are its others, in their order.

        Raises
        ------
        CausalityError
            If it ends before it starts.
        """
        kept = self._fields
        number = len(kept) // WIDTH
        end_ps = fields[END]
        if end_ps < fields[START]:
            raise _backwards(Span(number, *fields))
        kept.extend(fields)
        return new_tuple(Cause, (end_ps, number))

    @property
    def _numbers(self) -> int:
        """Numbers that were given."""
        return len(self._fields) // WIDTH

    def _row(self, number: int) -> Span | None:
        fields = self._fields[number * WIDTH : (number + 1) * WIDTH]
        return None if fields[END] is None else Span(number, *fields)

    def __getitem__(self, number: int) -> Span:
        span = self._row(number) if 0 <= number < self._numbers else None
        if span is None:
            raise CausalityError(f"Span {number} is named as a cause but never ended")
        return span

    def __len__(self) -> int:
        return self._numbers - self._missing

    def __iter__(self) -> Iterator[Span]:
        rows = (self._row(number) for number in range(self._numbers))
        return (span for span in rows if span is not None)


def _backwards(span: Span) -> CausalityError:
    return CausalityError(
        f"Span {span.unit} {span.stage} must end at or after {span.start_ps} ps, "
        f"not {span.end_ps} ps"
    )


def critical_path(log: SpanLog, end: Cause, start_ps: int) -> list[Segment]:
    """Segments that own every instant from ``start_ps`` to ``end.at_ps``, first to last.

    Walks back from span ``end.span`` along causes. A span owns the time from its start until its
    effect's start (or ``end``): where two overlap, the later-starting one owns. Time before
    ``start_ps`` is clipped.

    Raises
    ------
    CausalityError
        Where a cause ended before its effect began (a gap), began after it, or is missing before
        ``start_ps`` was reached.
    """
    path: list[Segment] = []
    cursor = end.at_ps
    span = log[end.span]
    while True:
        if not span.start_ps <= cursor <= span.end_ps:
            raise CausalityError(
                f"Span {span.number} ({span.unit} {span.stage}, "
                f"{span.start_ps} to {span.end_ps} ps) "
                f"must own the time just before {cursor} ps"
            )
        owned_from = max(span.start_ps, start_ps)
        if owned_from < cursor:
            path.append(Segment(span, owned_from, cursor))
        if span.start_ps <= start_ps:
            return path[::-1]
        if span.cause == NO_CAUSE:
            raise CausalityError(
                f"Span {span.number} ({span.unit} {span.stage}) at {span.start_ps} ps "
                f"has no cause, and the request began at {start_ps} ps"
            )
        cursor = span.start_ps
        span = log[span.cause]


def stage_totals(path: Iterable[Segment]) -> dict[str, int]:
    """Picoseconds per stage of a critical path, in order of first appearance."""
    totals: dict[str, int] = {}
    for segment in path:
        stage = segment.span.stage
        totals[stage] = totals.get(stage, 0) + segment.end_ps - segment.start_ps
    return totals
