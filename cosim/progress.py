"""How long work tells what it is doing."""

from typing import Protocol

__all__ = ["NoProgress", "Progress"]


class Progress(Protocol):
    """Told by the one who works; never asked."""

    def begin(self, what: str, total: int | None = None) -> None:
        """A new step begins, of ``total`` units, or of no known number."""

    def advance(self, units: int = 1) -> None:
        """``units`` more of the step are done."""


class NoProgress:
    """Tells nobody."""

    def begin(self, what: str, total: int | None = None) -> None:
        pass

    def advance(self, units: int = 1) -> None:
        pass
