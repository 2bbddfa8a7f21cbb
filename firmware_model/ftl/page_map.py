"""The map from logical to physical pages: pages on flash, some of them cached in DRAM."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ENTRY_BYTES", "NOWHERE", "MapMiss", "PageMap"]

ENTRY_BYTES = 4
NOWHERE = 0xFFFF_FFFF
"""Entry of a page that was never written."""

Entries = NDArray[Any]


class MapMiss(Exception):
    """The map page ``index`` must be read first."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class PageMap:
    """Entries of map pages that are cached, and the directory of where map pages lie.

    An entry is the number of a physical page in four bytes, little-endian. Map page m holds the
    entries of logical pages from m * ``entries_per_page`` on, and is itself the logical page
    ``pages`` + m, which the directory maps and no map page does. What changes in a map page that is
    not cached is kept in ``log`` until it is.

    Parameters
    ----------
    pages : int
        Logical pages of the host.
    page_bytes : int
        Of a map page.
    capacity : int
        Map pages in the cache.
    """

    def __init__(self, pages: int, page_bytes: int, capacity: int) -> None:
        self.pages = pages
        self.page_bytes = page_bytes
        self.entries_per_page = page_bytes // ENTRY_BYTES
        self.map_pages = -(-pages // self.entries_per_page)
        self.capacity = capacity
        self.log: dict[int, int] = {}
        self.dirty: set[int] = set()
        self._cache: OrderedDict[int, Entries] = OrderedDict()
        self._directory: dict[int, int] = {}
        self._loaded: list[range] = []

    def __len__(self) -> int:
        """Map pages in the cache."""
        return len(self._cache)

    @property
    def all_pages(self) -> int:
        """Logical pages of the host and of the map."""
        return self.pages + self.map_pages

    def is_map_page(self, page: int) -> bool:
        """Whether a logical page is one of the map."""
        return page >= self.pages

    def index(self, page: int) -> int:
        """The map page that a page of the host is in."""
        return page // self.entries_per_page

    def load(self, indices: range) -> None:
        """These map pages lie on flash at their identity places."""
        self._loaded.append(indices)

    def find(self, page: int) -> int:
        """Physical page of a logical one, or NOWHERE.

        Raises
        ------
        MapMiss
            If that is neither cached nor in the log.
        """
        if self.is_map_page(page):
            return self._find_map_page(page)
        index = self.index(page)
        entries = self._cache.get(index)
        if entries is not None:
            self._cache.move_to_end(index)
            return int(entries[page % self.entries_per_page])
        if page in self.log:
            return self.log[page]
        raise MapMiss(index)

    def _find_map_page(self, page: int) -> int:
        index = page - self.pages
        if index in self._directory:
            return self._directory[index]
        return page if any(index in loaded for loaded in self._loaded) else NOWHERE

    def set(self, page: int, physical: int) -> None:
        """Let a logical page lie somewhere else."""
        if self.is_map_page(page):
            self._directory[page - self.pages] = physical
            return
        index = self.index(page)
        entries = self._cache.get(index)
        if entries is None:
            self.log[page] = physical
        else:
            entries[page % self.entries_per_page] = physical
            self.dirty.add(index)

    # The cache

    def most_logged(self) -> int | None:
        """If the log is longer than a map page: the map page that has the most entries in it."""
        if len(self.log) <= self.entries_per_page:
            return None
        counts = Counter(map(self.index, self.log))
        return min(counts, key=lambda index: (-counts[index], index))

    def is_cached(self, index: int) -> bool:
        return index in self._cache

    def oldest(self, leaving: Iterable[int] = ()) -> int | None:
        """The cached map page that was used longest ago, those that leave already apart."""
        kept = set(leaving)
        return next((index for index in self._cache if index not in kept), None)

    def install(self, index: int, raw: bytes | None) -> None:
        """Put a map page as read from flash into the cache; None if it was never written."""
        if raw is None:
            entries = np.full(self.entries_per_page, NOWHERE, "<u4")
        else:
            entries = np.frombuffer(raw, "<u4", self.entries_per_page).copy()
        first = index * self.entries_per_page
        logged = [page for page in self.log if self.index(page) == index]
        for page in logged:
            entries[page - first] = self.log.pop(page)
        if logged:
            self.dirty.add(index)
        self._cache[index] = entries

    def snapshot(self, index: int) -> bytes:
        """Bytes of a cached map page to be written to flash; it is clean then."""
        self.dirty.discard(index)
        return bytes(self._cache[index].tobytes().ljust(self.page_bytes, b"\xff"))

    def drop(self, index: int, written: bytes | None = None) -> None:
        """Take a map page out of the cache; what changed since ``written`` goes to the log.

        ``written`` is what lies on flash, None for a page that is clean.
        """
        entries = self._cache.pop(index)
        self.dirty.discard(index)
        if written is None:
            return
        old = np.frombuffer(written, "<u4", self.entries_per_page)
        first = index * self.entries_per_page
        for number in np.flatnonzero(entries != old):
            self.log[first + int(number)] = int(entries[number])

    # After a loss of power

    def restore(self, directory: Mapping[int, int]) -> None:
        """Where the newest version of each map page lies."""
        self._directory = dict(directory)

    def correct(self, index: int, raw: bytes | None, found: Mapping[int, int]) -> None:
        """Log the entries of a map page, as on flash, that are not as ``found``."""
        entries = None if raw is None else np.frombuffer(raw, "<u4", self.entries_per_page)
        first = index * self.entries_per_page
        for page in range(first, min(first + self.entries_per_page, self.pages)):
            known = NOWHERE if entries is None else int(entries[page - first])
            if found.get(page, NOWHERE) != known:
                self.log[page] = found.get(page, NOWHERE)
