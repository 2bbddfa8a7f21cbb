"""Blocks of the array: which are free, which is written next, what is valid, which are bad."""

from collections.abc import Iterator
from enum import Enum
from heapq import heappop, heappush

from firmware_model.ftl.block_entry import BlockLists, BlockState, Entry
from firmware_model.ftl.geometry import RESERVE, Block, FtlParameters, Unit
from firmware_model.ftl.loaded import LoadedPages
from rtl.contract.striping import PhysicalPage, Striping

__all__ = ["BlockState", "BlockTable", "Stream"]


class Stream(Enum):
    """Who writes a page: they have open blocks of their own."""

    HOST = "host"
    COLLECTOR = "collector"


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
        self.pages_per_block = parameters.pages_per_block
        self.scope = parameters.scope
        self._striping = striping
        self.units = parameters.units(striping)
        """In the order in which the host writes them."""
        self._per_unit = striping.rows // parameters.pages_per_block // parameters.planes
        self._entries: dict[Block, Entry] = {}
        self._loaded = LoadedPages(parameters, striping)
        self._unused: dict[Unit, Iterator[int]] = {}
        self._unused_left: dict[Unit, int] = {}
        self._freed: dict[Unit, list[tuple[int, int]]] = {unit: [] for unit in self.units}
        self._open: dict[tuple[Stream, object], Block] = {}
        self._cursor = 0
        self._free = [0] * (striping.channels if parameters.gc_scope == "channel" else 1)
        self._lists = BlockLists(len(self._free))
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
        self._loaded.add(first_page, pages)

    def start(self) -> None:
        """Count what is free; no page is loaded any more."""
        if self._is_started:
            return
        self._is_started = True
        for unit in self.units:
            numbers = range(unit.plane, self._per_unit * self._parameters.planes)
            self._unused_left[unit] = self._per_unit - self._loaded.blocks_of(unit.plane)
            self._unused[unit] = self._unused_of(numbers[:: self._parameters.planes])
            self._free[self.scope(unit.channel)] += self._unused_left[unit]
        for number in sorted(self._loaded.edges):
            for channel in range(self._striping.channels):
                for way in range(self._striping.ways):
                    for lun in range(self._striping.luns):
                        self._touch(Block(channel, way, lun, number))

    def _unused_of(self, numbers: range) -> Iterator[int]:
        for number in numbers:
            if not self._loaded.has_block(number):
                yield number

    def _touch(self, block: Block) -> Entry:
        """The entry of a block, made for a loaded one from its extent."""
        entry = self._entries.get(block)
        if entry is None:
            entry = Entry(BlockState.SEALED)
            for page, place in enumerate(self._parameters.pages(block)):
                entry.valid |= self._loaded.has_page(place) << page
            self._entries[block] = entry
            self._list(block, entry)
        return entry

    def _list(self, block: Block, entry: Entry) -> None:
        """The collector may find the block, if it is sealed."""
        if entry.is_listed:
            scope = self.scope(block.channel)
            self._lists.add(scope, block, entry.valid.bit_count())

    def _unlist(self, block: Block, entry: Entry) -> None:
        """Before anything of that changes."""
        if entry.is_listed:
            scope = self.scope(block.channel)
            self._lists.remove(scope, block, entry.valid.bit_count())

    # What a rebuild finds

    def adopt(self, block: Block, valid: int) -> None:
        """A block that is not free, as found after a loss of power; before :meth:`start_found`."""
        entry = self._entries[block] = Entry(BlockState.SEALED, valid=valid)
        self._list(block, entry)

    def start_found(self) -> None:
        """As :meth:`start`, after a rebuild: all that was not adopted is free."""
        self._is_started = True
        for unit in self.units:
            numbers = range(unit.plane, self._per_unit * self._parameters.planes)
            free = [
                number
                for number in numbers[:: self._parameters.planes]
                if Block(*unit[:3], number) not in self._entries
            ]
            self._unused_left[unit] = len(free)
            self._unused[unit] = iter(free)
            self._free[self.scope(unit.channel)] += len(free)

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
            unit = self.collector_unit(scope)
            return self._allocate_in((stream, scope), unit)
        unit, *passed = self.host_unit()
        self._cursor = (self._cursor + sum(passed) + (unit is not None)) % len(self.units)
        return None if unit is None else self._allocate_in((stream, unit), unit)

    def host_unit(self) -> tuple[Unit | None, int, int]:
        """Where the host's next page goes; and of the units that it passes over, none open.

        Those are, first, the ones whose last free blocks are the collector's, and ones without any.
        """
        self.start()
        reserved = empty = 0
        for number in range(len(self.units)):
            unit = self.units[(self._cursor + number) % len(self.units)]
            is_open = (Stream.HOST, unit) in self._open
            if not is_open and self._free[self.scope(unit.channel)] <= RESERVE:
                reserved += 1
            elif not is_open and not self.free_blocks(unit):
                empty += 1
            else:
                return unit, reserved, empty
        return None, reserved, empty

    def collector_unit(self, scope: int) -> Unit | None:
        """Where a collector's open block is, or else the unit with the most free blocks, if any."""
        block = self.open_block(Stream.COLLECTOR, scope)
        if block is not None:
            return self.unit(block)
        units = [unit for unit in self.units if self.scope(unit.channel) == scope]
        unit = max(units, key=self.free_blocks)
        return unit if self.free_blocks(unit) else None

    def open_block(self, stream: Stream, owner: object) -> Block | None:
        """What is written for the host in a unit, or by the collector of a scope."""
        return self._open.get((stream, owner))

    def written(self, block: Block) -> int:
        """Pages of a block that were handed out."""
        return self._entries[block].written

    def freed(self, unit: Unit) -> list[tuple[int, int]]:
        """Free blocks of a unit that were written before: erases and number, the next one first."""
        return sorted(self._freed[unit])

    def free_blocks(self, unit: Unit) -> int:
        """These, and the ones that never were, which are opened before them."""
        return self._unused_left[unit] + len(self._freed[unit])

    def unit(self, block: Block) -> Unit:
        """The plane that a block is in."""
        return Unit(*block[:3], block.number % self._parameters.planes)

    def _allocate_in(self, key: tuple[Stream, object], unit: Unit | None) -> PhysicalPage | None:
        block = self._open.get(key)
        if block is None:
            if unit is None:
                return None
            block = self._open_block(unit)
            self._open[key] = block
        entry = self._entries[block]
        place = self._parameters.page(block, entry.written)
        entry.written += 1
        entry.programs += 1
        if entry.written == self.pages_per_block:
            self._seal(block)
        return place

    def _open_block(self, unit: Unit) -> Block:
        """Of the free blocks one that was never used here, else the one erased least."""
        if self._unused_left[unit]:
            self._unused_left[unit] -= 1
            number, erases = next(self._unused[unit]), 0
        else:
            erases, number = heappop(self._freed[unit])
        self._free[self.scope(unit.channel)] -= 1
        block = Block(*unit[:3], number)
        self._entries[block] = Entry(BlockState.OPEN, erases=erases)
        return block

    def _seal(self, block: Block) -> None:
        entry = self._entries[block]
        if entry.state is BlockState.OPEN:
            entry.state = BlockState.SEALED
            self._list(block, entry)
        self._open = {key: other for key, other in self._open.items() if other != block}

    def programmed(self, place: PhysicalPage) -> None:
        """The program of a page that was handed out has ended, well or not."""
        block, _ = self._parameters.block(place)
        entry = self._entries[block]
        entry.programs -= 1
        self._list(block, entry)

    def set_valid(self, place: PhysicalPage, *, is_valid: bool) -> None:
        """The map leads to this page now, or does no more."""
        block, page = self._parameters.block(place)
        entry = self._touch(block)
        assert entry.valid >> page & 1 != is_valid, f"{place} must change"
        self._unlist(block, entry)
        entry.valid ^= 1 << page
        self._list(block, entry)

    def retire(self, block: Block) -> None:
        """A program or an erase of the block has failed."""
        self._seal(block)
        entry = self._entries[block]
        self._unlist(block, entry)
        entry.state = BlockState.BAD
        self._bad.setdefault(block, True)

    def give_up(self, block: Block) -> None:
        """A page of the block cannot be copied: it stays as it is, and so does what is in it."""
        self.retire(block)
        self._bad[block] = False

    def bad_blocks(self, scope: int) -> list[Block]:
        """Retired blocks whose pages are to be copied elsewhere, in the order of their fate."""
        found = (bad for bad, waits in self._bad.items() if waits)
        return [bad for bad in found if self.scope(bad.channel) == scope]

    def has_bad(self, scope: int) -> bool:
        """Whether one of them has such pages."""
        return any(self._entries[block].valid for block in self.bad_blocks(scope))

    def is_listed(self, block: Block) -> bool:
        """Whether the collector may find a block by its number of valid pages."""
        return self._touch(block).is_listed

    def programs(self, block: Block) -> int:
        """Pages of a block whose program has not ended."""
        return self._entries[block].programs

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
        bad = [one for one in self.bad_blocks(scope) if self.can_copy(one)]
        return bad + [block for blocks in self._lists.of(scope).values() for block in blocks]

    def can_copy(self, bad: Block) -> bool:
        """Whether a bad block has pages left, and none is being programmed."""
        entry = self._entries[bad]
        return bool(entry.valid) and not entry.programs

    def sparsest(self, scope: int) -> tuple[int, list[Block]]:
        """The fewest valid pages of sealed blocks that are not full, and those blocks."""
        self.start()
        lists, full = self._lists.of(scope), self.pages_per_block
        valid = min(lists, default=full)
        return (valid, [*lists[valid]]) if valid < full else (full, [])

    def listed(self, scope: int, valid: int) -> list[Block]:
        """Sealed blocks with so many valid pages, in the order in which they came to them."""
        return [*self._lists.of(scope).get(valid, ())]

    def wear(self, block: Block) -> tuple[int, int, int, int, int]:
        """Erases, then what tells blocks apart."""
        channel, way, lun, number = block
        return self._entries[block].erases, number, lun, way, channel

    def victim(self, scope: int) -> Block | None:
        """The block to reclaim next, or None if there is nothing to gain.

        A bad block with pages left goes first; then the one with the fewest valid pages, among
        those the one erased least, then the lowest.
        """
        bad = next((one for one in self.bad_blocks(scope) if self.can_copy(one)), None)
        _, blocks = self.sparsest(scope)
        return bad or min(blocks, key=self.wear, default=None)

    def valid(self, block: Block) -> int:
        """How many pages of a block the map leads to."""
        return self._entries[block].valid.bit_count()

    def valid_mask(self, block: Block) -> int:
        """A bit for each of them."""
        return self._entries[block].valid

    def valid_pages(self, block: Block) -> list[PhysicalPage]:
        """Those pages."""
        mask = self._entries[block].valid
        return [
            place for page, place in enumerate(self._parameters.pages(block)) if mask >> page & 1
        ]

    def next_valid(self, block: Block, start: int) -> PhysicalPage | None:
        """The first of them from page ``start`` on."""
        rest = self._entries[block].valid >> start
        page = start + (rest & -rest).bit_length() - 1
        return self._parameters.page(block, page) if rest else None

    def is_valid(self, place: PhysicalPage) -> bool:
        """Whether the map leads to this page."""
        block, page = self._parameters.block(place)
        entry = self._entries.get(block)
        if entry is None:
            return self._loaded.has_page(place)
        return bool(entry.valid >> page & 1)

    def state(self, block: Block) -> BlockState | None:
        """None of a block that is as it was loaded, or was never used."""
        entry = self._entries.get(block)
        return None if entry is None else entry.state

    def erased(self, block: Block) -> None:
        """The block is erased: it is free."""
        entry = self._entries[block]
        assert not entry.valid, f"{block} must hold nothing"
        self._unlist(block, entry)
        self._entries[block] = Entry(BlockState.FREE, erases=entry.erases + 1)
        unit = self.unit(block)
        heappush(self._freed[unit], (entry.erases + 1, block.number))
        self._free[self.scope(unit.channel)] += 1

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
