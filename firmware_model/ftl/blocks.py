"""Blocks of the array: which are free, which is written next, what is valid, which are bad."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from heapq import heappop, heappush

from firmware_model.ftl.geometry import RESERVE, Block, FtlParameters, Unit
from rtl.contract.striping import PhysicalPage, Striping

__all__ = ["BlockState", "BlockTable", "Stream"]


class Stream(Enum):
    """Who writes a page: they have open blocks of their own."""

    HOST = "host"
    COLLECTOR = "collector"


class BlockState(Enum):
    """Of a block that the table knows; all others are free and were never used."""

    FREE = "free"
    OPEN = "open"
    SEALED = "sealed"
    """Full, or not to be written any more; may be reclaimed."""
    BAD = "bad"
    """A program or an erase failed: never written again."""


@dataclass
class _Entry:
    state: BlockState
    written: int = 0
    """Pages of an open block that were handed out."""
    valid: int = 0
    """Bit mask of the pages that the map leads to."""
    erases: int = 0
    programs: int = 0
    """Pages handed out whose program has not ended."""
    readers: int = 0


class BlockTable:
    """State of all blocks, kept for those alone that were written or have lost a page.

    Bulk-loaded pages lie at their identity places: blocks in their rows begin as sealed, and are
    known from their extent alone until something changes in them.

    Parameters
    ----------
    parameters : FtlParameters
    striping : Striping
    """

    def __init__(self, parameters: FtlParameters, striping: Striping) -> None:
        self._parameters = parameters
        self._striping = striping
        self._units = parameters.units(striping)
        self._per_unit = striping.rows // parameters.pages_per_block // parameters.planes
        self._entries: dict[Block, _Entry] = {}
        self._loaded: list[tuple[int, int]] = []
        self._base: list[tuple[int, int]] = []
        """Numbers of blocks with loaded pages, first and last, in order."""
        self._edges: set[int] = set()
        self._unused: dict[Unit, Iterator[int]] = {}
        self._unused_left: dict[Unit, int] = {}
        self._freed: dict[Unit, list[tuple[int, int]]] = {unit: [] for unit in self._units}
        self._open: dict[tuple[Stream, object], Block] = {}
        self._cursor = 0
        self._free = [0] * (striping.channels if parameters.gc_scope == "channel" else 1)
        self._is_started = False
        self._bad: dict[Block, bool] = {}
        """Retired blocks, and whether their pages are to be copied elsewhere."""

    # What is there from the start

    def load(self, first_page: int, pages: int) -> None:
        """Pages at their identity places hold data; before anything is written.

        Raises
        ------
        ValueError
            If anything was written before.
        """
        if self._is_started:
            raise ValueError("Pages must be loaded before any is written")
        ends = first_page, first_page + pages - 1
        self._loaded.append(ends)
        rows = [self._striping.physical(page).row for page in ends]
        first, last = (row // self._parameters.pages_per_block for row in rows)
        self._edges |= {first, last}
        self._base.append((first, last))

    def start(self) -> None:
        """Count what is free; no page is loaded any more."""
        if self._is_started:
            return
        self._is_started = True
        self._base.sort()
        for unit in self._units:
            numbers = range(unit.plane, self._per_unit * self._parameters.planes)
            step = self._parameters.planes
            taken = set()
            for first, last in self._base:
                taken.add((-(-(first - unit.plane) // step), (last - unit.plane) // step))
            used = _length(taken)
            self._unused_left[unit] = self._per_unit - used
            self._unused[unit] = self._unused_of(numbers[::step])
            self._free[self._parameters.scope(unit.channel)] += self._unused_left[unit]
        for number in sorted(self._edges):
            for channel in range(self._striping.channels):
                for way in range(self._striping.ways):
                    for lun in range(self._striping.luns):
                        self._touch(Block(channel, way, lun, number))

    def _unused_of(self, numbers: range) -> Iterator[int]:
        for number in numbers:
            if not self._in_base(number):
                yield number

    def _in_base(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self._base)

    def _is_loaded(self, place: PhysicalPage) -> bool:
        page = self._striping.logical(*place)
        return any(first <= page <= last for first, last in self._loaded)

    def _touch(self, block: Block) -> _Entry:
        """The entry of a block, made for a loaded one from its extent."""
        entry = self._entries.get(block)
        if entry is None:
            entry = _Entry(BlockState.SEALED)
            for page, place in enumerate(self._parameters.pages(block)):
                entry.valid |= self._is_loaded(place) << page
            self._entries[block] = entry
        return entry

    # What a rebuild finds

    def adopt(self, block: Block, valid: int) -> None:
        """A block that is not free, as found after a loss of power; before :meth:`start_found`."""
        self._entries[block] = _Entry(BlockState.SEALED, valid=valid)

    def start_found(self) -> None:
        """As :meth:`start`, after a rebuild: all that was not adopted is free."""
        self._is_started = True
        for unit in self._units:
            numbers = range(unit.plane, self._per_unit * self._parameters.planes)
            free = [
                number
                for number in numbers[:: self._parameters.planes]
                if Block(*unit[:3], number) not in self._entries
            ]
            self._unused_left[unit] = len(free)
            self._unused[unit] = iter(free)
            self._free[self._parameters.scope(unit.channel)] += len(free)

    # Writing

    def free(self, scope: int) -> int:
        """Free blocks that a collector counts."""
        self.start()
        return self._free[scope]

    @property
    def scopes(self) -> int:
        """Collectors."""
        return len(self._free)

    def allocate(self, stream: Stream, scope: int | None = None) -> PhysicalPage | None:
        """The next page to write, or None if there is no room now.

        The host's pages go round the units; it leaves the last free blocks to the collector,
        which has one open block for each scope.
        """
        self.start()
        if stream is Stream.COLLECTOR:
            assert scope is not None, "a collector writes within its scope"
            return self._allocate_in((stream, scope), partial(self._collector_unit, scope))
        for _ in self._units:
            unit = self._units[self._cursor]
            self._cursor = (self._cursor + 1) % len(self._units)
            place = self._allocate_in((stream, unit), partial(self._host_unit, unit))
            if place is not None:
                return place
        return None

    def _allocate_in(
        self, key: tuple[Stream, object], choose: Callable[[], Unit | None]
    ) -> PhysicalPage | None:
        block = self._open.get(key)
        if block is None:
            unit = choose()
            if unit is None:
                return None
            block = self._open_block(unit)
            self._open[key] = block
        entry = self._entries[block]
        place = self._parameters.page(block, entry.written)
        entry.written += 1
        entry.programs += 1
        if entry.written == self._parameters.pages_per_block:
            self._seal(block)
        return place

    def _host_unit(self, unit: Unit) -> Unit | None:
        has_more = self._free[self._parameters.scope(unit.channel)] > RESERVE
        return unit if has_more and self._has_free(unit) else None

    def _collector_unit(self, scope: int) -> Unit | None:
        """The unit with the most free blocks."""
        units = [unit for unit in self._units if self._parameters.scope(unit.channel) == scope]
        unit = max(units, key=lambda one: self._unused_left[one] + len(self._freed[one]))
        return unit if self._has_free(unit) else None

    def _has_free(self, unit: Unit) -> bool:
        return bool(self._unused_left[unit] or self._freed[unit])

    def _open_block(self, unit: Unit) -> Block:
        """Of the free blocks one that was never used here, else the one erased least."""
        if self._unused_left[unit]:
            self._unused_left[unit] -= 1
            number, erases = next(self._unused[unit]), 0
        else:
            erases, number = heappop(self._freed[unit])
        self._free[self._parameters.scope(unit.channel)] -= 1
        block = Block(*unit[:3], number)
        self._entries[block] = _Entry(BlockState.OPEN, erases=erases)
        return block

    def _seal(self, block: Block) -> None:
        entry = self._entries[block]
        if entry.state is BlockState.OPEN:
            entry.state = BlockState.SEALED
        self._open = {key: other for key, other in self._open.items() if other != block}

    def programmed(self, place: PhysicalPage) -> None:
        """The program of a page that was handed out has ended, well or not."""
        self._entries[self._parameters.block(place)[0]].programs -= 1

    def set_valid(self, place: PhysicalPage, *, is_valid: bool) -> None:
        """The map leads to this page now, or does no more."""
        block, page = self._parameters.block(place)
        entry = self._touch(block)
        assert entry.valid >> page & 1 != is_valid, f"{place} must change"
        entry.valid ^= 1 << page

    def retire(self, block: Block) -> None:
        """A program or an erase of the block has failed."""
        self._seal(block)
        self._entries[block].state = BlockState.BAD
        self._bad.setdefault(block, True)

    def give_up(self, block: Block) -> None:
        """A page of the block cannot be copied: it stays as it is, and so does what is in it."""
        self.retire(block)
        self._bad[block] = False

    def has_bad(self, scope: int) -> bool:
        """Whether a retired block has pages that are to be copied elsewhere."""
        return any(
            waits and self._entries[block].valid
            for block, waits in self._bad.items()
            if self._parameters.scope(block.channel) == scope
        )

    # Reclaiming

    def read(self, place: PhysicalPage, change: int) -> None:
        """A read of this page begins (``change`` 1) or has ended (-1)."""
        block, _ = self._parameters.block(place)
        entry = self._touch(block)
        entry.readers += change

    def is_read(self, block: Block) -> bool:
        """Whether a read of one of its pages is under way."""
        return self._entries[block].readers > 0

    def candidates(self, scope: int) -> list[Block]:
        """Blocks that could be reclaimed: bad ones with pages left, and sealed ones."""
        self.start()
        ready = (BlockState.SEALED, BlockState.BAD)
        return [
            block
            for block, entry in self._entries.items()
            if entry.state in ready
            and not entry.programs
            and self._parameters.scope(block.channel) == scope
            and (entry.state is BlockState.SEALED or (entry.valid and self._bad[block]))
        ]

    def victim(self, scope: int) -> Block | None:
        """The block to reclaim next, or None if there is nothing to gain.

        A bad block with pages left goes first; then the one with the fewest valid pages, among
        those the one erased least, then the lowest.
        """
        found = self.candidates(scope)
        if not found:
            return None

        def rank(block: Block) -> tuple[bool, int, int, Block]:
            entry = self._entries[block]
            good = entry.state is not BlockState.BAD
            return good, entry.valid.bit_count() if good else 0, entry.erases, block

        best = min(found, key=rank)
        entry = self._entries[best]
        if (
            entry.state is BlockState.SEALED
            and self.valid(best) == self._parameters.pages_per_block
        ):
            return None
        return best

    def valid(self, block: Block) -> int:
        """How many pages of a block the map leads to."""
        return self._entries[block].valid.bit_count()

    def valid_pages(self, block: Block) -> list[PhysicalPage]:
        """Those pages."""
        mask = self._entries[block].valid
        return [
            place for page, place in enumerate(self._parameters.pages(block)) if mask >> page & 1
        ]

    def is_valid(self, place: PhysicalPage) -> bool:
        """Whether the map leads to this page."""
        block, page = self._parameters.block(place)
        entry = self._entries.get(block)
        if entry is None:
            return self._is_loaded(place)
        return bool(entry.valid >> page & 1)

    def state(self, block: Block) -> BlockState | None:
        """None of a block that is as it was loaded, or was never used."""
        entry = self._entries.get(block)
        return None if entry is None else entry.state

    def erased(self, block: Block) -> None:
        """The block is erased: it is free."""
        entry = self._entries[block]
        assert not entry.valid, f"{block} must hold nothing"
        self._entries[block] = _Entry(BlockState.FREE, erases=entry.erases + 1)
        unit = Unit(block.channel, block.way, block.lun, block.number % self._parameters.planes)
        heappush(self._freed[unit], (entry.erases + 1, block.number))
        self._free[self._parameters.scope(unit.channel)] += 1

    @property
    def erases(self) -> dict[Block, int]:
        """How often each block was erased, if ever."""
        return {block: entry.erases for block, entry in self._entries.items() if entry.erases}

    @property
    def bad(self) -> list[Block]:
        """Blocks that were retired."""
        return list(self._bad)

    def __len__(self) -> int:
        """Blocks that something is kept of."""
        return len(self._entries)


def _length(ranges: set[tuple[int, int]]) -> int:
    """How many numbers lie in any of some ranges, ends included."""
    total, end = 0, -1
    for first, last in sorted(ranges):
        total += max(0, last - max(first, end + 1) + 1)
        end = max(end, last)
    return total
