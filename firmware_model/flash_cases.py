"""Translation and the flash queues in C beside the model's, on random pages and orders."""

from collections import deque
from typing import Any

import numpy as np
import simpy

from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.events import Landing
from firmware_model.fits import Rows
from firmware_model.flash_choice import FlashOrder, channel_queues
from firmware_model.flash_queues import FlashClass, Read
from firmware_model.mismatch import equal, words
from firmware_model.page_buffer import Fill
from firmware_model.tables import NONE, empty_tables, entries, listed
from firmware_model.translation import ExtentMap, UnmappedPage
from rtl.contract.channel import ChannelCommand, ChannelCompletion, ChannelStatus
from rtl.contract.codec import pack
from rtl.contract.kernel import Cause
from rtl.contract.page import PageLayout
from rtl.contract.striping import Striping

__all__ = ["Story", "flash_rows", "tell", "translate_rows"]

LAYOUT = PageLayout(page_bytes=16384, spare_bytes=1664)
STRIPING = Striping(channels=8, ways=8, luns=2, rows=64)
BITS = 3, 3, 1
"""Of channel, way and LUN in a word of the map."""
GEOMETRY = words(*BITS, LAYOUT.pair_bytes)
MAPPED = range(100, 4000)
NOW = Cause(0, 0)


def translate_rows(program: ArmProgram) -> dict[str, Rows]:
    """Look up pages of an extent, and beyond it."""
    extents = ExtentMap(LAYOUT, STRIPING)
    extents.load(MAPPED.start, len(MAPPED))
    pages = np.arange(STRIPING.pages)
    table = np.full(len(pages), NONE, "<u4")
    for page in MAPPED:
        place = extents.physical(page)
        word = place.row
        for bits, unit in zip(reversed(BITS), (place.lun, place.way, place.channel), strict=True):
            word = word << bits | unit
        table[page] = word
    memory = empty_tables(8, 7)
    rows: Rows = []
    for page in (0, MAPPED.start - 1, MAPPED.start, 101, 777, 2345, MAPPED.stop - 1, MAPPED.stop):
        free = int(memory[0]["free_job"])
        run = program.run(
            "translate",
            "table",
            "table:map",
            "table:geometry",
            "table:job",
            objects={
                "table": memory.tobytes(),
                "table:map": table.tobytes(),
                "table:geometry": GEOMETRY,
                "table:job": words(page, 0b101, 3, 9),
            },
        )
        try:
            expected = tuple(extents.physical(page))
        except UnmappedPage:
            equal("entry of a page that was never written", run.value, NONE)
            continue
        memory = np.frombuffer(run.memory["table"], memory.dtype).copy()
        job = memory[0]["jobs"][free]
        equal("entry of translate", run.value, free)
        found = tuple(int(job[name]) for name in ("channel", "way", "lun", "row"))
        equal("place of a page", found, expected)
        equal("job of translate", (int(job["page"]), int(job["pairs"])), (page, 0b101))
        rows.append(({}, run))
    return {"translate": rows}


class Story:
    """Reads of one channel, in C and in the model.

    ``order`` is how the channel chooses.
    """

    def __init__(self, program: ArmProgram, order: FlashOrder, channel: int = 3) -> None:
        self.program = program
        self.channel = channel
        self.queues = channel_queues(simpy.Environment(), STRIPING.ways, STRIPING.luns, order)
        self.memory = empty_tables(8, 7)
        self.memory[0]["free_fill"] = 0
        self.read_of: dict[Read, int] = {}
        self.rows: Rows = []
        self.flying: deque[Read] = deque()
        self.places = [(way, lun) for way in range(STRIPING.ways) for lun in range(STRIPING.luns)]

    def run(self, routine: str, *arguments: str | int, **objects: bytes) -> Run:
        named = {name.replace("_", ":", 1): content for name, content in objects.items()}
        run = self.program.run(
            routine,
            *arguments,
            objects={"table": self.memory.tobytes(), "table:geometry": GEOMETRY, **named},
        )
        self.memory = np.frombuffer(run.memory["table"], self.memory.dtype).copy()
        return run

    def queue_step(self, number: int, kind: FlashClass) -> Run:
        """Run the routine that queues a read."""
        return self.run("flash_queue", "table", "table:geometry", number)

    def issue_step(self, **objects: bytes) -> Run:
        """Run the one that hands a command over."""
        return self.run("flash_issue", "registers", "table", self.channel, **objects)

    def complete_step(self, **objects: bytes) -> Run:
        """Run the one that takes a completion."""
        return self.run(
            "flash_complete",
            *("registers", "table", "table:geometry", self.channel, "table:corrected"),
            **objects,
        )

    def put(
        self, place: tuple[int, int], row: int, fill: Fill, kind: FlashClass
    ) -> tuple[dict[str, int], Run]:
        """Queue a read of the codeword pairs of ``fill``."""
        table = self.memory[0]
        number = len(self.read_of)
        way, lun = place
        entry = table["fills"][number]
        entry["pairs"], entry["job"] = fill.pairs, number
        for name, value in zip(
            ("channel", "way", "lun", "row"), (self.channel, *place, row), strict=True
        ):
            table["jobs"][number][name] = value
        page = STRIPING.physical(STRIPING.logical(self.channel, way, lun, row))
        size = LAYOUT.pair_bytes
        read = Read(page, fill.first * size, fill.count * size, NOW, 0, None, kind=kind)
        counts = self.queues.queue_work(page, read.kind)
        self.read_of[read] = number
        run = self.queue_step(number, kind)
        self.queues.put(read)
        made = self.memory[0]["fills"][number]["read"]
        found = tuple(int(made[name]) for name in ("way", "lun", "row", "column", "length", "tag"))
        equal("read of flash_queue", found, (way, lun, row, read.column, read.length, number))
        self.compare()
        return counts, run

    def issue(self) -> tuple[dict[str, int], Run]:
        """Hand over the next command."""
        read, lun = self.queues.take()
        run = self.issue_step(registers=bytes(16) + words(1))
        equal("read of flash_issue", run.value, self.read_of[read])
        command = pack(
            ChannelCommand,
            way=read.place.way,
            lun=read.place.lun,
            row=read.place.row,
            column=read.column,
            length=read.length,
            tag=self.read_of[read],
        )
        equal("command of flash_issue", run.memory["registers"][:16], command)
        self.flying.append(read)
        self.compare()
        return self.queues.issue_work(lun), run

    def complete(self, status: ChannelStatus, corrected: int) -> tuple[dict[str, int], Run]:
        """Take the completion of the oldest command."""
        read = self.flying.popleft()
        counts = self.queues.completion_work(read.place)
        words_of = pack(
            ChannelCompletion,
            tag=self.read_of[read],
            status=status,
            slot=1,
            corrected=corrected,
            nand_status=0xE0,
            failed=2,
        )[:8]
        run = self.complete_step(
            registers=bytes(32) + words_of + bytes(4), table_corrected=words(5)
        )
        self.queues.end(read.place, NOW)
        good = status == ChannelStatus.OK
        equal("read of flash_complete", run.value, self.read_of[read] << 1 | good)
        equal("corrected bits", run.memory["table:corrected"], words(5 + corrected))
        equal("notice of flash_complete", run.memory["registers"][40:], words(1))
        self.compare()
        return counts, run

    def compare(self) -> None:
        """All LUNs and the ring."""
        table = self.memory[0]
        names = {lun: place for place, lun in self.queues.luns.items()}
        for (way, lun), queue in self.queues.luns.items():
            entry: Any = table["luns"][(self.channel * STRIPING.ways + way) * STRIPING.luns + lun]
            equal("commands of a LUN", int(entry["outstanding"]), queue.outstanding)
            reads = listed(table["fills"], int(entry["first"]), "queued")
            equal("reads of a LUN", reads, [self.read_of[read] for read in queue.waiting])
        ring = [
            divmod(place, STRIPING.luns) for place in entries(table["ready_luns"][self.channel])
        ]
        equal("ring of a channel", ring, [names[lun] for lun in self.queues.ready])


def tell(story: Story, steps: int) -> dict[str, Rows]:
    """A random order of reads: rows of all three routines."""
    generator = np.random.default_rng(9)
    queue, issue, complete = story.queues.routines
    rows: dict[str, Rows] = {}
    for _ in range(steps):
        choice = int(generator.integers(3))
        if choice == 0 or not (story.queues.has_work or story.flying):
            # A few LUNs get most reads.
            place = story.places[int(generator.integers(16)) ** 2 // 16]
            first = int(generator.integers(LAYOUT.codewords // 2))
            count = int(generator.integers(1, LAYOUT.codewords // 2 - first + 1))
            row = int(generator.integers(64))
            kind = FlashClass(row % len(FlashClass))
            told = story.put(place, row, Fill(first, count, Landing()), kind)
            rows.setdefault(queue, []).append(told)
        elif choice == 1 and story.queues.has_work:
            rows.setdefault(issue, []).append(story.issue())
        elif story.flying:
            bad = generator.random() < 0.2
            status = ChannelStatus.UNCORRECTABLE if bad else ChannelStatus.OK
            told = story.complete(status, int(generator.integers(100)))
            rows.setdefault(complete, []).append(told)
    return rows


def flash_rows(program: ArmProgram, steps: int = 600) -> dict[str, Rows]:
    """The story of LUNs in turn."""
    return tell(Story(program, FlashOrder()), steps)
