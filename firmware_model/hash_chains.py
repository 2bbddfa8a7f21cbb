"""Hash tables of the firmware: pages in chains."""

from collections.abc import Sequence

__all__ = ["HashChains"]


class HashChains:
    """The hash table in which entries are found by page: chains of pages, new ones first.

    There is a power of two of chains, at least one an entry; the low bits of a page number choose.
    """

    def __init__(self, entries: int) -> None:
        self.mask = (1 << (entries - 1).bit_length()) - 1
        self._chains: dict[int, list[int]] = {}

    def chain(self, page: int) -> Sequence[int]:
        """Pages of the chain in which ``page`` is, or would be."""
        return self._chains.get(page & self.mask, ())

    def add(self, page: int) -> None:
        self._chains.setdefault(page & self.mask, []).insert(0, page)

    def remove(self, page: int) -> None:
        self._chains[page & self.mask].remove(page)
