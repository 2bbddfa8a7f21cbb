"""What the host's code costs, and the worker's core on which it runs."""

from collections.abc import Generator
from dataclasses import dataclass, fields
from typing import Any

from rtl.contract.kernel import Cause, Kernel

__all__ = ["HostCosts", "HostCpu"]


@dataclass(frozen=True, kw_only=True)
class HostCosts:
    """Times of the host's steps in picoseconds; the values, with sources, are in platform files.

    A sequencer on the card that takes the host's part has the same steps, and times of its own.

    Raises
    ------
    ValueError
        If one of them is not a whole number of at least 0.
    """

    submit_ps: int
    """Prepare one NVMe command: system call, block layer or ioctl, queue entry, PRPs."""
    interrupt_ps: int
    """Enter and leave the interrupt handler, once an interrupt."""
    complete_ps: int
    """Take one completion entry and wake its submitter."""
    key_ps: int
    """Derive the key of one list."""
    draw_ps: int
    """Draw one position and store it; one of a list that is taken whole costs the same."""
    compare_ps: int
    """Compare a drawn position with an earlier one, where none may come twice."""
    build_target_ps: int
    """Look up one target's row pointers and write its body entry or descriptor."""
    map_block_ps: int
    """Find the block of one position, and its place in the card's window."""
    parse_target_ps: int
    """Read one target's count from a result."""
    parse_id_ps: int
    """Move one id from a result to the next frontier."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or value < 0:
                raise ValueError(
                    f"{field.name} must be a whole number of picoseconds of at least 0, "
                    f"not {value!r}"
                )


class HostCpu:
    """One core of the host, on which a worker and the interrupts of its queue take turns.

    Steps are not preempted: an interrupt waits for the end of the step that is running. ``name`` is
    that of the core, and ``family`` begins the names of its spans.
    """

    def __init__(
        self, kernel: Kernel, costs: HostCosts, name: str = "host-cpu", family: str = "host"
    ) -> None:
        self.costs = costs
        self._core = kernel.resource(name)
        self._family = family

    def work(
        self, what: str, duration_ps: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """Spend ``duration_ps`` on the core as span ``host.<what>``; nothing if it is 0."""
        if duration_ps == 0:
            return cause
        return (yield from self.move(what, duration_ps, 0, cause, request=request, kind=""))

    def move(
        self,
        what: str,
        duration_ps: int,
        payload_bytes: int,
        cause: Cause,
        *,
        request: int,
        kind: str,
    ) -> Generator[Any, Any, Cause]:
        """Likewise for a step by which bytes pass, which takes no time perhaps."""
        return self._core.use(
            f"{self._family}.{what}",
            duration_ps,
            cause,
            request=request,
            payload_bytes=payload_bytes,
            kind=kind,
        )
