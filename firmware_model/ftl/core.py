"""The flash translation layer as a state machine, without time and without flash."""

from dataclasses import dataclass
from typing import NamedTuple

from firmware_model.ftl.blocks import BlockTable, Stream
from firmware_model.ftl.geometry import Block, FtlParameters
from firmware_model.ftl.page_map import NOWHERE, PageMap
from firmware_model.hash_chains import HashChains
from rtl.contract.page import PageLayout
from rtl.contract.striping import PhysicalPage, Striping

__all__ = ["WRITE_CHAINS", "Ftl", "FtlCounters", "Write"]

WRITE_CHAINS = 64
"""Of the hash table of pages that are being written."""


@dataclass
class FtlCounters:
    """What has happened since the device was made."""

    host_pages: int = 0
    """Pages written for the host."""
    map_pages_written: int = 0
    moved_pages: int = 0
    """Pages that garbage collection has copied."""
    stale_moves: int = 0
    """Of these, pages that the host wrote anew meanwhile."""
    map_hits: int = 0
    map_misses: int = 0
    """Look-ups that waited for a map page."""
    map_pages_read: int = 0
    collected_blocks: int = 0
    block_erases: int = 0
    bad_blocks: int = 0
    failed_programs: int = 0
    space_waits: int = 0
    """Pages that waited for a free block."""


class Write(NamedTuple):
    """A page on its way to flash."""

    page: int
    sequence: int
    place: PhysicalPage


class Ftl:
    """Where each logical page lies, where the next one goes, which block is reclaimed next.

    A write is begun, given a place, programmed by the caller and then committed; only then the map
    leads to it and the place before is invalid. Of a logical page one write at a time may be under
    way. The collector's copy keeps the sequence number of what it copies: it is no new version.

    Parameters
    ----------
    parameters : FtlParameters
    layout, striping : PageLayout, Striping
    pages : int
        Logical pages of the host.

    Raises
    ------
    ValueError
        If the host's pages and the map leave too little of the array for the collector to go on
        forever.
    """

    def __init__(
        self, parameters: FtlParameters, layout: PageLayout, striping: Striping, pages: int
    ) -> None:
        self.parameters = parameters
        self.layout = layout
        self.striping = striping
        self.map = PageMap(pages, layout.page_bytes, parameters.map_cache_pages)
        self.blocks = BlockTable(parameters, striping)
        self.counters = FtlCounters()
        self.sequence = 1
        """Of the next page that is written."""
        self.writing: dict[int, int] = {}
        """Pages on their way to flash, and where each lies until then."""
        self.write_hashes = HashChains(WRITE_CHAINS)
        self._check_room()

    def _check_room(self) -> None:
        parameters, striping = self.parameters, self.striping
        per_lun, rest = divmod(striping.rows, parameters.pages_per_block)
        if rest or per_lun % parameters.planes:
            raise ValueError(
                f"Rows of a LUN must be whole blocks of {parameters.pages_per_block} pages in "
                f"{parameters.planes} planes, not {striping.rows}"
            )
        units = len(parameters.units(striping))
        blocks = per_lun * striping.channels * striping.ways * striping.luns
        kept = units + self.blocks.scopes * (2 + parameters.gc_free_blocks)
        most = (blocks - kept) * parameters.pages_per_block - 1
        if self.map.all_pages > most:
            raise ValueError(
                f"Host pages and their {self.map.map_pages} map pages must be at most {most}, so "
                f"that {kept} of {blocks} blocks can be open or free, not {self.map.all_pages}"
            )

    # Loading

    def load(self, first_page: int, pages: int) -> range:
        """Host pages that lie at their identity places, before anything is written.

        Returns the logical pages of the map that must lie on flash for that, at their identity
        places too (:class:`~firmware_model.ftl.images.MapImage` has their bytes).

        Raises
        ------
        ValueError
            If pages were loaded before: a map page would be of both.
        """
        if self.sequence > 1:
            raise ValueError("Pages must be loaded at once, not some more")
        if first_page < 0 or pages < 1 or first_page + pages > self.map.pages:
            raise ValueError(
                f"An extent must lie in pages 0 to {self.map.pages - 1}, "
                f"not {first_page} to {first_page + pages - 1}"
            )
        self.blocks.load(first_page, pages)
        first, last = self.map.index(first_page), self.map.index(first_page + pages - 1)
        self.map.load(range(first, last + 1))
        found = range(self.map.pages + first, self.map.pages + last + 1)
        self.blocks.load(found.start, len(found))
        self.sequence += pages + len(found)
        return found

    # Places

    def find(self, page: int) -> PhysicalPage | None:
        """Place of a logical page; None if it was never written; MapMiss as from PageMap."""
        number = self.map.find(page)
        return None if number == NOWHERE else self.striping.physical(number)

    def _number(self, place: PhysicalPage) -> int:
        return int(self.striping.logical(*place))

    # Writes

    def begin(self, page: int, sequence: int | None = None) -> int:
        """A write of a page begins, whose map entry can be found now; returns its sequence number.

        Raises
        ------
        MapMiss
            If it cannot.
        """
        assert page not in self.writing, f"page {page} must be written once at a time"
        self.writing[page] = self.map.find(page)
        self.write_hashes.add(page)
        if sequence is None:
            sequence, self.sequence = self.sequence, self.sequence + 1
        return sequence

    def allocate(self, stream: Stream, scope: int | None = None) -> PhysicalPage | None:
        """A place for one page, or None if there is none now."""
        return self.blocks.allocate(stream, scope)

    def commit(self, write: Write) -> None:
        """The page is programmed: the map leads to it."""
        old = self.writing.pop(write.page)
        self.write_hashes.remove(write.page)
        self.blocks.programmed(write.place)
        if self.map.is_map_page(write.page):
            self.counters.map_pages_written += 1
        else:
            self.counters.host_pages += 1
        if old != NOWHERE:
            self.blocks.set_valid(self.striping.physical(old), is_valid=False)
        self.map.set(write.page, self._number(write.place))
        self.blocks.set_valid(write.place, is_valid=True)

    def fail(self, place: PhysicalPage) -> None:
        """A program has failed: its block is retired, the page needs another place."""
        self.blocks.programmed(place)
        self.counters.failed_programs += 1
        self._retire(self.parameters.block(place)[0])

    def give_up(self, page: int) -> None:
        """The write ends without another place; the page is as before."""
        del self.writing[page]
        self.write_hashes.remove(page)

    # Collection

    def commit_move(self, page: int, old: PhysicalPage, new: PhysicalPage) -> bool:
        """The collector's copy is programmed; says whether it counts.

        It does not if the host has written the page anew meanwhile.
        """
        self.blocks.programmed(new)
        self.counters.moved_pages += 1
        if not self.blocks.is_valid(old):
            self.counters.stale_moves += 1
            return False
        number = self._number(new)
        if page in self.writing:
            self.writing[page] = number
        self.blocks.set_valid(old, is_valid=False)
        self.map.set(page, number)
        self.blocks.set_valid(new, is_valid=True)
        return True

    def erased(self, block: Block, *, is_done: bool) -> None:
        """The erase of a block without valid pages has ended."""
        self.counters.block_erases += 1
        if is_done:
            self.blocks.erased(block)
        else:
            self._retire(block)

    def needs_collection(self, scope: int) -> bool:
        """Whether the free blocks of a scope are few."""
        return self.blocks.free(scope) <= self.parameters.gc_free_blocks

    def _retire(self, block: Block) -> None:
        if block not in self.blocks.bad:
            self.counters.bad_blocks += 1
        self.blocks.retire(block)
