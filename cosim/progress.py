"""How long work tells what it is doing, within a process and from a simulator to its parent."""

import os
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol, Self

__all__ = ["NoProgress", "Progress", "ProgressFile", "Reached", "read_progress"]

INTERVAL_S = 0.5
_FIELD_DIGITS = 20
_FIELDS = 2


class Progress(Protocol):
    """Told by the one who works; never asked."""

    def begin(self, what: str, total: int | None = None) -> None:
        """A new step begins, of ``total`` units, or of no known number."""

    def advance(self, units: int = 1) -> None:
        """``units`` more of the step are done."""

    def tell(self, where: str) -> None:
        """Where the step is, in words that replace those before."""


class NoProgress:
    """Tells nobody."""

    def begin(self, what: str, total: int | None = None) -> None:
        pass

    def advance(self, units: int = 1) -> None:
        pass

    def tell(self, where: str) -> None:
        pass


class Reached(NamedTuple):
    """How far a simulation is: mini-batches that it has finished, and simulated time."""

    batches: int
    at_ps: int


class ProgressFile:
    """Keeps :class:`Reached` of a simulation in a file, for the process that started it.

    The file always has the same size and is written at once, so that a reader sees all or nothing.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        self._batches = -1
        self._next_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def write(self, reached: Reached) -> None:
        """Note ``reached``: at once if a mini-batch has ended, else a few times a second."""
        now_s = time.monotonic()
        if reached.batches == self._batches and now_s < self._next_s:
            return
        self._batches, self._next_s = reached.batches, now_s + INTERVAL_S
        os.pwrite(self._file, b"".join(b"%*d" % (_FIELD_DIGITS, each) for each in reached), 0)


def read_progress(path: Path) -> Reached:
    """What the file at ``path`` has; nothing reached where there is none yet."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = b""
    if len(content) != _FIELDS * _FIELD_DIGITS:
        return Reached(0, 0)
    return Reached(int(content[:_FIELD_DIGITS]), int(content[_FIELD_DIGITS:]))
