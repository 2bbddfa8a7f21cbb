"""How a command, or a part of it, ended."""

from collections.abc import Generator, Iterable
from typing import Any, NamedTuple

from rtl.contract.kernel import Cause, latest
from rtl.contract.nvme import Status

__all__ = ["CommandError", "Outcome", "Stop", "settle"]


class CommandError(Exception):
    """Ends a command with ``status``; ``cause`` is the step that found the reason, now."""

    def __init__(self, status: Status, cause: Cause) -> None:
        super().__init__(status, cause)
        self.status = status
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.status.name} at {self.cause.at_ps} ps"


class Stop:
    """A mark that a command is to end early with ``status``.

    The firmware sees it where it takes the end of a DMA descriptor, beside the mark of one that
    has failed.
    """

    def __init__(self) -> None:
        self.status = Status.SUCCESS

    def check(self, cause: Cause) -> None:
        """Raise :exc:`CommandError` if the mark is there; ``cause`` is the step that looks."""
        if self.status != Status.SUCCESS:
            raise CommandError(self.status, cause)


class Outcome(NamedTuple):
    """Value of a process that works on one part of a command."""

    cause: Cause
    status: Status = Status.SUCCESS


def settle(env: Any, cause: Cause, processes: Iterable[Any]) -> Generator[Any, Any, Cause]:
    """Wait until all parts have ended, whatever their outcome; the last finisher is the cause.

    Each process's value is an :class:`Outcome`.

    Raises
    ------
    CommandError
        With the status of the first part, in the order given, that did not succeed.
    """
    running = list(processes)
    yield env.all_of(running)
    outcomes: list[Outcome] = [process.value for process in running]
    end = latest([cause, *(outcome.cause for outcome in outcomes)])
    for outcome in outcomes:
        if outcome.status != Status.SUCCESS:
            raise CommandError(outcome.status, end)
    return end
