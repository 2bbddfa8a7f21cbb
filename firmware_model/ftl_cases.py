"""Writes and collection of the translation layer in C beside the model's: one random story."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from firmware_model.arm_machine import CORES, SOURCES, ArmProgram
from firmware_model.fits import Rows
from firmware_model.ftl.block_entry import BlockState
from firmware_model.ftl.block_work import (
    collect_work,
    copy_work,
    free_work,
    move_work,
    next_work,
    pick_work,
)
from firmware_model.ftl.blocks import Stream
from firmware_model.ftl.core import Ftl
from firmware_model.ftl.geometry import Block
from firmware_model.ftl_tables import (
    PAGES,
    empty_array,
)
from firmware_model.ftl_write_cases import (
    LAYOUT,
    METADATA_BYTES,
    PARAMETERS,
    SHAPES,
    WriteStory,
)
from firmware_model.mismatch import equal, words
from firmware_model.tables import NONE
from rtl.contract.page import metadata_chunk
from rtl.contract.striping import PhysicalPage, Striping

__all__ = ["gc_rows", "next_rows", "tell", "write_rows"]

GOOD, STALE, LOST = range(3)


@dataclass
class _Copy:
    """A page that a collector moves."""

    page: int
    old: PhysicalPage
    sequence: int
    copies: int
    place: PhysicalPage | None = None


class FtlStory(WriteStory):
    """The same with a collector."""

    def __init__(
        self, writes: ArmProgram, collection: ArmProgram, mapping: ArmProgram, seed: int
    ) -> None:
        super().__init__(writes, collection, mapping, seed)
        self.victim: Block | None = None
        self.start = 0
        self.copy: _Copy | None = None
        self.scope = 0
        self.is_late = seed % 3 > 0
        """Whether the collectors work before there is no place for the host."""

    @property
    def is_short(self) -> bool:
        """Whether the host finds no free block, or did before a block was begun to be reclaimed."""
        unit, *_ = self.ftl.blocks.host_unit()
        return unit is None or self.victim is not None

    def pick(self) -> None:
        self.scope = int(self.generator.integers(self.ftl.blocks.scopes))
        counts = pick_work(self.ftl.blocks, self.scope)
        run = self.ftl_step(self.collection, "gc_pick", counts, "table:array", self.scope)
        self.victim = self.ftl.blocks.victim(self.scope)
        self.start = 0
        found = NONE if self.victim is None else self._name(self.victim)
        equal("block of gc_pick", run.value, found)

    def next(self) -> None:
        """The next page of the victim, or its end."""
        assert self.victim is not None
        blocks = self.ftl.blocks
        counts = next_work(blocks, self.victim, self.start)
        name = self._name(self.victim)
        run = self.ftl_step(self.collection, "gc_next", counts, "table:array", name, self.start)
        old = blocks.next_valid(self.victim, self.start)
        if old is None:
            equal("page of gc_next", run.value, NONE)
            self._erase(self.victim)
            return
        _, page = self.parameters.block(old)
        equal("page of gc_next", run.value, page)
        self.start = page + 1
        self.copy = _Copy(*self.metadata[old][:1], old, *self.metadata[old][1:])

    def move(self) -> None:
        """The page has come."""
        copy, chance = self.copy, self.generator.random()
        assert copy is not None
        ok, is_whole = chance > 0.03, chance > 0.06
        chunk = metadata_chunk(copy.page, copy.sequence, METADATA_BYTES, copies=copy.copies)
        if not is_whole:
            chunk = bytes([chunk[0] ^ 1]) + chunk[1:]
        counts = move_work(self.ftl.blocks, copy.old, ok=ok, is_whole=is_whole)
        run = self.ftl_step(
            self.collection,
            "gc_move",
            counts,
            "table:array",
            "page_buffer:metadata",
            self._number(copy.old),
            int(ok),
            "table:version",
            "table:crcs",
            page_buffer_metadata=chunk,
            table_version=bytes(16),
        )
        if not self.ftl.blocks.is_valid(copy.old):
            equal("result of gc_move", run.value, STALE)
            self.copy = None
        elif not is_whole:
            equal("result of gc_move", run.value, LOST)
            block, _ = self.parameters.block(copy.old)
            self.retire(block, copy=False)
            self.ftl.blocks.give_up(block)
            self.copy = self.victim = None
        else:
            equal("result of gc_move", run.value, GOOD)
            copy.copies += 1
            version = words(copy.page, copy.sequence, 0, copy.copies)
            equal("version of a copy", run.memory["table:version"], version)
            self._place_copy(copy)

    def _place_copy(self, copy: _Copy) -> None:
        counts = collect_work(self.ftl.blocks, self.scope)
        version = copy.page, copy.sequence, copy.copies
        run = self._placing("gc_place", counts, version, self.scope)
        copy.place = self.ftl.allocate(Stream.COLLECTOR, self.scope)
        self._check_place(run, copy.place, version)
        if copy.place is None:
            self.copy = self.victim = None

    def copied(self) -> None:
        """The copy is programmed."""
        copy = self.copy
        assert copy is not None
        assert copy.place is not None
        new = copy.place
        run = self.ftl_step(
            self.collection,
            "gc_commit",
            copy_work(self.ftl, copy.page, copy.old, new),
            "table:map",
            "table:array",
            "page_buffer:cache",
            copy.page,
            self._number(copy.old),
            self._number(new),
        )
        counts = self.ftl.commit_move(copy.page, copy.old, new)
        equal("result of gc_commit", run.value, GOOD if counts else STALE)
        self.copy = None

    def _erase(self, block: Block) -> None:
        self.victim = None
        blocks = self.ftl.blocks
        if blocks.state(block) is BlockState.BAD:
            return
        name = self._name(block)
        run = self.ftl_step(
            self.collection,
            "gc_erase",
            {},
            "table:array",
            name,
            "table:command",
            table_command=bytes(24),
        )
        self._check_command(run, self.parameters.page(block, 0))
        is_done = bool(self.generator.random() > 0.04)
        if is_done:
            counts = free_work(blocks, block)
            self.ftl_step(self.collection, "gc_free", counts, "table:array", name)
        else:
            self.retire(block, copy=True)
        self.ftl.erased(block, is_done=is_done)


def _some_page(story: FtlStory) -> int:
    """A page of the host, often one of a few."""
    pages = story.map.pages
    if story.generator.random() < 0.5:
        return int(story.generator.integers(pages // 8 + 1))
    return int(story.generator.integers(pages))


def _turn(story: FtlStory) -> bool:
    """One random step; says whether there was any to take."""
    generator, table = story.generator, story.map
    free = [page for page in story.begun if page not in story.placed]
    absent = [n for n in range(table.map_pages) if not table.is_cached(n)]
    kinds = ["begin", "place", "commit", "map", "room"]
    # Some devices run out of free blocks before they collect.
    if story.is_late or story.is_short:
        kinds += ["collect"] * 3
    match generator.choice(kinds):
        case "begin" if len(story.begun) < 12:
            page = _some_page(story)
            if page in story.begun:
                return False
            story.begin(page)
        case "place" if free:
            story.place(int(generator.choice(free)))
        case "commit" if story.placed:
            story.commit(int(generator.choice([*story.placed])))
        case "collect":
            _collect(story)
        case "map" if story.rooms and absent:
            story.load(int(generator.choice(absent)))
            while story.pinned:
                story.find(story.pinned.pop(), held=True)
        case "room" if len(story.rooms) + len(story.leaving) < 2:
            before = set(story.leaving)
            story.room()
            for index in set(story.leaving) - before:
                story.begin(table.pages + index)
        case _:
            return False
    return True


def _collect(story: FtlStory) -> None:
    if story.copy is not None and story.copy.place is not None:
        story.copied()
    elif story.copy is not None:
        story.move()
    elif story.victim is not None:
        story.next()
    else:
        story.pick()


@cache
def _programs(core: str) -> tuple[ArmProgram, ArmProgram, ArmProgram]:
    sources = "ftl_write", "ftl_gc", "ftl_map"
    writes, collection, mapping = (
        ArmProgram(SOURCES / f"{source}.c", CORES[core]) for source in sources
    )
    return writes, collection, mapping


@cache
def tell(core: str, seed: int, steps: int) -> dict[str, Rows]:
    """A story of ``steps`` random steps on a core; the counts and runs of each routine."""
    story = FtlStory(*_programs(core), seed)
    for _ in range(steps):
        if _turn(story):
            story.compare()
    return story.rows


def ftl_rows(
    program: ArmProgram, routines: Sequence[str], seeds: Sequence[int] = range(2 * len(SHAPES))
) -> dict[str, Rows]:
    """Rows of some of the routines."""
    rows: dict[str, Rows] = {}
    for seed in seeds:
        story = tell(program.core.name, seed, 1200)
        for routine in routines:
            rows.setdefault(routine, []).extend(story.get(routine, ()))
    return rows


def next_rows(program: ArmProgram) -> Rows:
    """Valid pages of large blocks, one after the other."""
    generator, rows = np.random.default_rng(4), []
    striping = Striping(channels=1, ways=1, luns=1, rows=16 * PAGES)
    parameters = replace(PARAMETERS, pages_per_block=PAGES)
    for share in (0, 0.01, 0.02, 0.1, 0.5, 1):
        ftl, block = Ftl(parameters, LAYOUT, striping, 40), Block(0, 0, 0, 3)
        valid = np.packbits(generator.random(PAGES) < share, bitorder="little")
        ftl.blocks.adopt(block, int.from_bytes(valid.tobytes(), "little"))
        ftl.blocks.start_found()
        array = empty_array(ftl)
        array["blocks"]["valid"][0, 3] = valid.view("<u4")
        start = 0
        while True:
            counts = next_work(ftl.blocks, block, start)
            run = program.run(
                "gc_next", "table:array", 3, start, objects={"table:array": array.tobytes()}
            )
            place = ftl.blocks.next_valid(block, start)
            expected = NONE if place is None else ftl.parameters.block(place)[1]
            equal("page of gc_next", run.value, expected)
            rows.append((counts, run))
            if place is None:
                break
            start = expected + 1
    return rows


def write_rows(program: ArmProgram) -> dict[str, Rows]:
    """Rows of the routines that write."""
    return ftl_rows(program, ("write_begin", "write_place", "gc_place", "write_commit"))


def gc_rows(program: ArmProgram) -> dict[str, Rows]:
    """Rows of the routines that collect."""
    names = "gc_pick", "gc_move", "gc_commit", "gc_erase", "gc_free", "block_retire"
    return {**ftl_rows(program, names), "gc_next": next_rows(program)}
