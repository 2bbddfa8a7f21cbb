"""The map from logical to physical pages: pages on flash, some of them cached in DRAM."""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_model.hash_chains import HashChains

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
    not cached, or while it is being written, is kept in ``log`` until it comes again.

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
        self.leaving: set[int] = set()
        """Cached map pages that are being written, and leave then."""
        self.pins: Counter[int] = Counter()
        """Look-ups that wait for a map page, or have, and need it once more."""
        self.hashes = HashChains(capacity)
        """In which cached map pages are found."""
        self.log_hashes = HashChains(2 * self.entries_per_page)
        self.logged: dict[int, list[int]] = {}
        """Pages in the log by map page, oldest first."""
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
        if entries is not None:
            entries[page % self.entries_per_page] = physical
            self.dirty.add(index)
        if entries is None or index in self.leaving:
            self._note(page, physical)

    def _note(self, page: int, physical: int) -> None:
        """Keep an entry in the log."""
        if page not in self.log:
            self.log_hashes.add(page)
            self.logged.setdefault(self.index(page), []).append(page)
        self.log[page] = physical

    def _take_log(self, index: int) -> dict[int, int]:
        """Take all entries of a map page out of the log."""
        pages = self.logged.pop(index, [])
        for page in pages:
            self.log_hashes.remove(page)
        return {page: self.log.pop(page) for page in pages}

    # The cache

    @property
    def is_log_long(self) -> bool:
        """Whether the log is longer than a map page."""
        return len(self.log) > self.entries_per_page

    def most_logged(self) -> int | None:
        """If the log is long: the map page that has the most entries in it."""
        if not self.is_log_long:
            return None
        return min(self.logged, key=lambda index: (-len(self.logged[index]), index))

    def is_cached(self, index: int) -> bool:
        return index in self._cache

    def entries(self, index: int) -> bytes:
        """Those of a cached map page."""
        return bytes(self._cache[index].tobytes())

    @property
    def uses(self) -> list[int]:
        """Cached map pages, the one that was used longest ago first."""
        return list(self._cache)

    def oldest(self) -> int | None:
        """The cached map page that was used longest ago, those apart that nobody may take."""
        free = (i for i in self._cache if i not in self.leaving and not self.pins[i])
        return next(free, None)

    def install(self, index: int, raw: bytes | None) -> None:
        """Put a map page as read from flash into the cache; None if it was never written."""
        if raw is None:
            entries = np.full(self.entries_per_page, NOWHERE, "<u4")
        else:
            entries = np.frombuffer(raw, "<u4", self.entries_per_page).copy()
        first = index * self.entries_per_page
        logged = self._take_log(index)
        for page, physical in logged.items():
            entries[page - first] = physical
        if logged:
            self.dirty.add(index)
        self._cache[index] = entries
        self.hashes.add(index)

    def snapshot(self, index: int) -> bytes:
        """Bytes of a cached map page that is to leave, to be written to flash.

        It is clean then; what changes in it until :meth:`drop` goes to the log as well.
        """
        self.dirty.discard(index)
        self.leaving.add(index)
        return bytes(self._cache[index].tobytes().ljust(self.page_bytes, b"\xff"))

    def keep(self, index: int) -> None:
        """A map page could not be written: it stays."""
        self.leaving.discard(index)
        self.dirty.add(index)
        self._take_log(index)

    def drop(self, index: int) -> None:
        """Take a map page out of the cache that is as on flash, but for what is in the log."""
        del self._cache[index]
        self.hashes.remove(index)
        self.leaving.discard(index)
        self.dirty.discard(index)

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
                self._note(page, found.get(page, NOWHERE))
