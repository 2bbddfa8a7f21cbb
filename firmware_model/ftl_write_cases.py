"""Writes of the translation layer in C beside the model's: what a story has that is told to both.

After each step the tables of both must say the same: those of the map, the pages under way, and of
each block its state, its valid pages and the list that it is in.
"""

from dataclasses import replace

import numpy as np

from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.ftl.block_entry import BlockState
from firmware_model.ftl.block_work import (
    begin_work,
    commit_work,
    place_work,
    retire_work,
)
from firmware_model.ftl.blocks import Stream
from firmware_model.ftl.core import Ftl, Write
from firmware_model.ftl.geometry import Block, FtlParameters
from firmware_model.ftl.page_map import MapMiss
from firmware_model.ftl_map_cases import MapStory, compare_map
from firmware_model.ftl_tables import (
    ARRAY,
    BLOCKS,
    CRCS,
    LISTS,
    empty_array,
    number_of_block,
)
from firmware_model.hash_chains import HashChains
from firmware_model.mismatch import equal, words
from firmware_model.tables import NONE, listed
from rtl.contract.page import PageLayout, metadata_chunk
from rtl.contract.striping import PhysicalPage, Striping

__all__ = ["LAYOUT", "METADATA_BYTES", "PARAMETERS", "SHAPES", "WriteStory"]

LAYOUT = PageLayout(page_bytes=64, spare_bytes=96, chunk_bytes=32, lba_bytes=64)
"""A map page has 16 entries."""
PARAMETERS = FtlParameters(pages_per_block=4, planes=2, map_cache_pages=4)
METADATA_BYTES = 28
GOOD, STALE, LOST = range(3)
STATES = {None: 0, BlockState.FREE: 0, BlockState.OPEN: 1, BlockState.SEALED: 2, BlockState.BAD: 3}
SHAPES = (
    (PARAMETERS, Striping(channels=2, ways=1, luns=2, rows=64), 90),
    (replace(PARAMETERS, gc_scope="channel"), Striping(channels=2, ways=2, luns=1, rows=64), 70),
    (replace(PARAMETERS, pages_per_block=8), Striping(channels=1, ways=2, luns=1, rows=128), 60),
    (replace(PARAMETERS, planes=1), Striping(channels=4, ways=1, luns=1, rows=32), 40),
)
"""Parameters, array, and pages of the host."""


class WriteStory(MapStory):
    """Both translation layers, and the flash as a dictionary of metadata."""

    def __init__(self, writes: ArmProgram, collection: ArmProgram, mapping: ArmProgram, seed: int):
        parameters, striping, pages = SHAPES[seed % len(SHAPES)]
        self.ftl = Ftl(parameters, LAYOUT, striping, pages)
        # Few chains, so that they are long.
        self.ftl.write_hashes, self.ftl.map.log_hashes = HashChains(4), HashChains(8)
        self.ftl.map.hashes = HashChains(2 + seed % 2)
        super().__init__(mapping, seed, self.ftl.map)
        self.writes, self.collection = writes, collection
        self.parameters, self.striping = parameters, striping
        self.ftl.blocks.start()
        self.array = empty_array(self.ftl)
        self.memory[0]["write_mask"] = self.ftl.write_hashes.mask
        self.metadata: dict[PhysicalPage, tuple[int, int, int]] = {}
        self.begun: dict[int, int] = {}
        """Sequence numbers of pages that are to be programmed."""
        self.placed: dict[int, PhysicalPage] = {}

    def ftl_step(
        self,
        program: ArmProgram,
        routine: str,
        counts: dict[str, int],
        *arguments: str | int,
        **objects: bytes,
    ) -> Run:
        """A step of the routines that write and collect."""
        mapping, self.program = self.program, program
        run = self.step(
            routine,
            counts,
            *arguments,
            table_array=self.array.tobytes(),
            table_crcs=CRCS,
            **objects,
        )
        self.program = mapping
        self.array = np.frombuffer(run.memory["table:array"], ARRAY).copy()
        return run

    def _number(self, place: PhysicalPage) -> int:
        return int(self.striping.logical(*place))

    def _name(self, block: Block) -> int:
        return number_of_block(self.striping, block)

    def _check_command(self, run: Run, place: PhysicalPage) -> None:
        command = words(place.way, place.lun, place.row, 0, 0, 0)
        equal("command", run.memory["table:command"], command)

    # Writes

    def begin(self, page: int) -> None:
        counts = begin_work(self.ftl, page)
        run = self.ftl_step(
            self.writes,
            "write_begin",
            counts,
            "table:map",
            "page_buffer:cache",
            page,
            0,
            "table:version",
            table_version=bytes(16),
        )
        try:
            sequence = self.ftl.begin(page)
        except MapMiss:
            equal("result of write_begin", run.value, 1)
            return
        equal("result of write_begin", run.value, 0)
        equal("version of a page", run.memory["table:version"], words(page, sequence, 0, 0))
        self.begun[page] = sequence

    def place(self, page: int) -> None:
        version = page, self.begun[page], 0
        run = self._placing("write_place", place_work(self.ftl.blocks), version)
        place = self.ftl.allocate(Stream.HOST)
        self._check_place(run, place, version)
        if place is not None:
            self.placed[page] = place

    def _placing(
        self, routine: str, counts: dict[str, int], version: tuple[int, int, int], *scope: int
    ) -> Run:
        page, sequence, copies = version
        return self.ftl_step(
            self.writes,
            routine,
            counts,
            "table:array",
            *scope,
            "table:version",
            "page_buffer:metadata",
            "table:crcs",
            "table:command",
            table_command=bytes(24),
            table_version=words(page, sequence, 0, copies),
            page_buffer_metadata=bytes(METADATA_BYTES),
        )

    def _check_place(
        self, run: Run, place: PhysicalPage | None, version: tuple[int, int, int]
    ) -> None:
        if place is None:
            equal("place of a page", run.value, NONE)
            return
        equal("place of a page", run.value, self._number(place))
        page, sequence, copies = version
        expected = metadata_chunk(page, sequence, METADATA_BYTES, copies=copies)
        equal("metadata", run.memory["page_buffer:metadata"], expected)
        self._check_command(run, place)
        self.metadata[place] = version

    def commit(self, page: int) -> None:
        place = self.placed.pop(page)
        if self.generator.random() < 0.05:
            self.retire(self.parameters.block(place)[0], copy=True, programs=1)
            self.ftl.fail(place)
            return
        table = self.ftl.map
        index = page - table.pages
        slot = self.slot_of[index] if index >= 0 else NONE
        self.ftl_step(
            self.writes,
            "write_commit",
            commit_work(self.ftl, page, place),
            "table:map",
            "table:array",
            "page_buffer:cache",
            page,
            self._number(place),
            slot,
        )
        self.ftl.commit(Write(page, self.begun.pop(page), place))
        if index >= 0:
            self.flash[index] = self.leaving.pop(index)
            self.map.drop(index)
            self.rooms.append(self.slot_of.pop(index))

    def retire(self, block: Block, *, copy: bool, programs: int = 0) -> None:
        name, table = self._name(block), self.array[0]
        units = table["units"][: len(self.ftl.blocks.units)]
        is_open = [int(unit["open"]) == name for unit in units]
        owners = [int(scope["open"]) == name for scope in table["scopes"]]
        run = self.ftl_step(
            self.collection,
            "block_retire",
            retire_work(self.ftl.blocks, block, copy=copy),
            "table:array",
            name,
            int(copy),
            programs,
            "table:open",
            table_open=words(name),
        )
        open_block = int.from_bytes(run.memory["table:open"], "little")
        if any(is_open):
            self.array[0]["units"][is_open.index(True)]["open"] = open_block
        if any(owners):
            self.array[0]["scopes"][owners.index(True)]["open"] = open_block

    # Both

    def compare(self) -> None:
        """All that both keep."""
        memory = self.memory[0]
        compare_map(memory, self.cache, self.map, self.slot_of)
        for chain in range(self.ftl.write_hashes.mask + 1):
            found = listed(memory["writes"], int(memory["write_chains"][chain]), "chain")
            pages = [int(memory["writes"][at]["page"]) for at in found]
            equal("pages under way", pages, list(self.ftl.write_hashes.chain(chain)))
            old = [int(memory["writes"][at]["old"]) for at in found]
            equal("where they were", old, [self.ftl.writing[page] for page in pages])
        self._compare_blocks()

    def _compare_blocks(self) -> None:
        table, blocks = self.array[0], self.ftl.blocks
        for block in self.blocks():
            entry, state = table["blocks"][self._name(block)], blocks.state(block)
            equal(f"state of {block}", int(entry["state"]), STATES[state])
            if state is None:
                continue
            equal("valid pages", int(entry["count"]), blocks.valid(block))
            equal("valid bits", int(entry["valid"][0]), blocks.valid_mask(block))
            equal("erases", int(entry["erases"]), blocks.erases.get(block, 0))
            equal("programs under way", int(entry["programs"]), blocks.programs(block))
        most = self.parameters.pages_per_block
        for scope in range(blocks.scopes):
            equal("free blocks of a scope", int(table["scopes"][scope]["free"]), blocks.free(scope))
            anchor = BLOCKS + scope * LISTS
            for valid in range(most + 1):
                found = listed(
                    table["blocks"],
                    int(table["blocks"][anchor + valid]["newer"]),
                    "newer",
                    anchor + valid,
                )
                expected = [self._name(block) for block in blocks.listed(scope, valid)]
                equal(f"blocks with {valid} valid pages", found, expected)
        for number, unit in enumerate(blocks.units):
            found = listed(table["blocks"], int(table["units"][number]["freed"]), "newer")
            plane = [Block(*unit[:3], at) for _, at in blocks.freed(unit)]
            equal("blocks that were erased", found, [self._name(block) for block in plane])
            free = int(table["units"][number]["free"])
            equal("free blocks of a unit", free, blocks.free_blocks(unit))

    def blocks(self) -> list[Block]:
        """All of the array."""
        units, step = self.striping, self.parameters.pages_per_block
        return [
            Block(channel, way, lun, number)
            for channel in range(units.channels)
            for way in range(units.ways)
            for lun in range(units.luns)
            for number in range(units.rows // step)
        ]
