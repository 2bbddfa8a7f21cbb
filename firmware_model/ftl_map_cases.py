"""The map of the translation layer in C beside the model's: one random story, told to both.

After each step the tables of both must say the same: which map pages are cached, in which order
they leave, their entries, hash chains, and what the log has.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.fits import Rows
from firmware_model.ftl.page_map import NOWHERE, MapMiss, PageMap
from firmware_model.ftl.work import find_work, keep_work, load_work, log_work, room_work
from firmware_model.ftl_tables import SLOTS, empty_map
from firmware_model.mismatch import equal, words
from firmware_model.tables import NONE, listed

__all__ = ["MapStory", "compare_map", "map_rows", "tell"]

CAPACITY = 8
SIZES = (190, 64), (500, 64), (250, 32), (120, 32), (500, 32), (1500, 128)
"""Pages of the host, and bytes of a map page: of few entries, so that the log is soon long."""


class MapStory:
    """Both maps, and the flash as a dictionary of map pages."""

    def __init__(self, program: ArmProgram, seed: int, table: PageMap) -> None:
        self.program = program
        self.generator = np.random.default_rng(seed)
        self.map = table
        self.memory = empty_map(self.map)
        self.cache = np.full((SLOTS, self.map.entries_per_page), 7, "<u4")
        self.slot_of: dict[int, int] = {}
        self.free = [*range(table.capacity)]
        self.rooms: list[int] = []
        """Slots that were taken for pages which are to come."""
        self.flash: dict[int, bytes] = {}
        self.leaving: dict[int, bytes] = {}
        self.pinned: list[int] = []
        """Pages that are to be looked up once more."""
        self.rows: dict[str, Rows] = {}

    def step(
        self, routine: str, counts: dict[str, int], *arguments: str | int, **objects: bytes
    ) -> Run:
        run = self.program.run(
            routine,
            *arguments,
            objects={
                "table:map": self.memory.tobytes(),
                "page_buffer:cache": self.cache.tobytes(),
                **{":".join(name.rsplit("_", 1)): content for name, content in objects.items()},
            },
        )
        self.memory = np.frombuffer(run.memory["table:map"], self.memory.dtype).copy()
        found = np.frombuffer(run.memory["page_buffer:cache"], "<u4")
        self.cache = found.reshape(self.cache.shape).copy()
        self.rows.setdefault(routine, []).append((counts, run))
        return run

    def find(self, page: int, *, held: bool = False) -> bool:
        """Whether the entry is at hand."""
        run = self.step(
            "map_find",
            find_work(self.map, page),
            "table:map",
            "page_buffer:cache",
            page,
            int(held),
            "table:place",
            table_place=words(7),
        )
        try:
            place = self.map.find(page)
        except MapMiss:
            equal("result of map_find", run.value, 1)
            return False
        equal("result of map_find", run.value, 0)
        equal("place of a page", run.memory["table:place"], words(place))
        self.map.pins[self.map.index(page)] -= held
        return True

    def room(self) -> None:
        """Take a slot, or begin to write back the page in it."""
        counts = room_work(self.map, has_room=bool(self.free))
        run = self.step("map_room", counts, "table:map")
        if self.free:
            slot = run.value >> 1
            self.free.remove(slot)
            self.rooms.append(slot)
            equal("result of map_room", run.value & 1, 0)
            return
        index = self.map.oldest()
        if index is None:
            equal("result of map_room", run.value, NONE)
            return
        dirty = index in self.map.dirty
        equal("result of map_room", run.value, self.slot_of[index] << 1 | dirty)
        if dirty:
            self.leaving[index] = self.map.snapshot(index)
        else:
            self.map.drop(index)
            self.rooms.append(self.slot_of.pop(index))

    def load(self, index: int) -> None:
        """A map page comes into the slot that was taken last, for some who wait."""
        slot, raw = self.rooms.pop(), self.flash.get(index)
        if raw is not None:
            self.cache[slot] = np.frombuffer(raw, "<u4")
        waiters = int(self.generator.integers(3))
        self.step(
            "map_load",
            load_work(self.map, index, is_new=raw is None),
            "table:map",
            "page_buffer:cache",
            index,
            slot,
            waiters,
            int(raw is None),
        )
        self.map.install(index, raw)
        self.map.pins[index] += waiters
        self.pinned += [index * self.map.entries_per_page] * waiters
        self.slot_of[index] = slot

    def written(self, index: int) -> None:
        """A write-back ends well; the collector's story has that step."""
        self.flash[index] = self.leaving.pop(index)
        self.map.drop(index)
        slot = self.slot_of.pop(index)
        self._forget(slot)
        self.rooms.append(slot)

    def keep(self, index: int) -> None:
        """A write-back has failed."""
        self.leaving.pop(index)
        slot = self.slot_of[index]
        counts = keep_work(self.map, index)
        self.step("map_keep", counts, "table:map", "page_buffer:cache", slot)
        self.map.keep(index)

    def pick(self) -> None:
        """Which map page is to come for its entries in the log."""
        run = self.step("log_pick", log_work(self.map), "table:map")
        most = self.map.most_logged()
        equal("result of log_pick", run.value, NONE if most is None else most)

    def _forget(self, slot: int) -> None:
        """Take a slot off its lists, by hand."""
        table = self.memory[0]
        entry = table["slots"][slot]
        chain = int(entry["index"]) & int(table["slot_mask"])
        rest = listed(table["slots"], int(table["slot_chains"][chain]), "chain")
        rest.remove(slot)
        table["slot_chains"][chain], *links = [*rest, NONE]
        for at, other in zip(rest, links, strict=True):
            table["slots"][at]["chain"] = other
        older, newer = int(entry["older"]), int(entry["newer"])
        table["slots"][older]["newer"], table["slots"][newer]["older"] = newer, older

    def set(self, page: int, place: int) -> None:
        """An entry changes, by hand: steps that do it are those of another story."""
        table, index = self.memory[0], self.map.index(page)
        logs = not self.map.is_cached(index) or index in self.leaving
        if self.map.is_cached(index):
            slot = self.slot_of[index]
            self.cache[slot, page % self.map.entries_per_page] = place
            table["slots"][slot]["dirty"] = 1
        if logs:
            if page in self.map.log:
                chain = int(table["log_chains"][page & int(table["log_mask"])])
                same = listed(table["log"], chain, "chain")
                (entry,) = (at for at in same if int(table["log"][at]["page"]) == page)
            else:
                entry = int(table["free_logged"])
                one, directory = table["log"][entry], table["directory"][index]
                head = page & int(table["log_mask"])
                table["free_logged"] = one["chain"]
                one["page"], one["chain"] = page, table["log_chains"][head]
                table["log_chains"][head] = entry
                one["next"], directory["first"] = directory["first"], entry
                directory["count"] += 1
                table["logged"] += 1
            table["log"][entry]["place"] = place
        self.map.set(page, place)

    def compare(self) -> None:
        """All that both keep."""
        compare_map(self.memory[0], self.cache, self.map, self.slot_of)


def compare_map(table: Any, cache: Any, model: PageMap, slot_of: dict[int, int]) -> None:
    """Refuse tables of the C code that are not the model's."""
    slots = table["slots"]
    uses = listed(slots, int(slots[SLOTS]["newer"]), "newer", SLOTS)
    equal("cached map pages by use", [int(slots[at]["index"]) for at in uses], model.uses)
    for index, slot in slot_of.items():
        entry = slots[slot]
        equal("pins of a map page", int(entry["pins"]), model.pins[index])
        equal("change of a map page", bool(entry["dirty"]), index in model.dirty)
        equal("leave of a map page", bool(entry["leaving"]), index in model.leaving)
        equal("entries of a map page", cache[slot].tobytes(), model.entries(index))
        chain = listed(slots, int(table["slot_chains"][index & model.hashes.mask]), "chain")
        pages = [int(slots[at]["index"]) for at in chain]
        equal("chain of map pages", pages, list(model.hashes.chain(index)))
    log = table["log"]
    equal("length of the log", int(table["logged"]), len(model.log))
    for index, directory in enumerate(table["directory"][: model.map_pages]):
        found = listed(log, int(directory["first"]), "next")
        equal("length of a map page's log", int(directory["count"]), len(found))
        pages = [int(log[at]["page"]) for at in found]
        equal("log of a map page", pages[::-1], model.logged.get(index, []))
        for at in found:
            page = int(log[at]["page"])
            equal("entry of the log", int(log[at]["place"]), model.log[page])
            chain = listed(log, int(table["log_chains"][page & model.log_hashes.mask]), "chain")
            pages = [int(log[one]["page"]) for one in chain]
            equal("chain of the log", pages, list(model.log_hashes.chain(page)))


def _some(generator: Any, table: PageMap, count: int) -> list[int]:
    """Pages of the host, half of them in map pages that leave, if there are any."""
    pages = generator.integers(table.pages, size=count).tolist()
    for number, index in enumerate([*table.leaving][:count]):
        pages[number] = index * table.entries_per_page + pages[number] % table.entries_per_page
    return [page for page in pages if page < table.pages]


def tell(program: ArmProgram, seed: int, steps: int) -> dict[str, Rows]:
    """A story of ``steps`` random steps; the counts and runs of each routine."""
    pages, page_bytes = SIZES[seed % len(SIZES)]
    story = MapStory(program, seed, PageMap(pages, page_bytes, CAPACITY))
    generator, table = story.generator, story.map
    for _ in range(steps):
        page = int(generator.integers(pages))
        absent = [n for n in range(table.map_pages) if not table.is_cached(n)]
        match generator.choice(["find", "set", "room", "load", "write", "held", "pick"]):
            case "find":
                story.find(page)
            case "set":
                for page in _some(generator, table, int(generator.integers(1, 5))):
                    story.set(page, int(generator.integers(NOWHERE)))
            case "room" if len(story.rooms) + len(story.leaving) < CAPACITY - 1:
                story.room()
            case "load" if story.rooms:
                story.load(int(generator.choice(absent)))
            case "write" if story.leaving and generator.random() < 0.5:
                index = next(iter(story.leaving))
                story.written(index) if generator.random() < 0.6 else story.keep(index)
            case "held" if story.pinned:
                assert story.find(story.pinned.pop(), held=True), "what is pinned stays"
            case "pick":
                story.pick()
            case _:
                continue
        story.compare()
    return story.rows


def map_rows(program: ArmProgram, seeds: Sequence[int] = range(len(SIZES))) -> dict[str, Rows]:
    """Rows of all routines of the map."""
    rows: dict[str, Rows] = {}
    for seed in seeds:
        for routine, some in tell(program, seed, 400).items():
            rows.setdefault(routine, []).extend(some)
    return rows
