"""What is known of a block, and the lists in which the collector finds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from firmware_model.ftl.geometry import Block

__all__ = ["BlockLists", "BlockState", "Entry"]


class BlockState(Enum):
    """Of a block that the table knows; all others are free and were never used."""

    FREE = "free"
    OPEN = "open"
    SEALED = "sealed"
    """Full, or not to be written any more; may be reclaimed."""
    BAD = "bad"
    """A program or an erase failed: never written again."""


@dataclass
class Entry:
    """One block."""

    state: BlockState
    written: int = 0
    """Pages of an open block that were handed out."""
    valid: int = 0
    """Bit mask of the pages that the map leads to."""
    erases: int = 0
    programs: int = 0
    """Pages handed out whose program has not ended."""
    readers: int = 0

    @property
    def is_listed(self) -> bool:
        """Whether the collector may find it: it is sealed, and nothing is programmed there."""
        return self.state is BlockState.SEALED and not self.programs


class BlockLists:
    """Sealed blocks of each scope by how many of their pages are valid.

    Blocks of one list are in the order in which they have come to that number.
    """

    def __init__(self, scopes: int) -> None:
        self._lists: list[dict[int, dict[Block, None]]] = [{} for _ in range(scopes)]

    def add(self, scope: int, block: Block, valid: int) -> None:
        self._lists[scope].setdefault(valid, {})[block] = None

    def remove(self, scope: int, block: Block, valid: int) -> None:
        blocks = self._lists[scope][valid]
        del blocks[block]
        if not blocks:
            del self._lists[scope][valid]

    def of(self, scope: int) -> Mapping[int, Mapping[Block, None]]:
        """The lists of a scope that are not empty, by valid pages."""
        return self._lists[scope]
