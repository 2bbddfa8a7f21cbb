"""Reads that wait for one flash channel: a queue a LUN, and the ring of LUNs that can go on."""

from collections import deque
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from firmware_model.depths import DepthLog
from rtl.contract.channel import COMMANDS_PER_LUN, ChannelOperation
from rtl.contract.kernel import Cause
from rtl.contract.striping import PhysicalPage

__all__ = ["ChannelQueues", "FlashClass", "LunQueue", "Read", "Routines", "WayQueues"]


class FlashClass(IntEnum):
    """Whose work a flash command is."""

    HOST = 0
    """An ordinary read, and reads of the map for it."""
    SAMPLING = 1
    """A page that a gather needs, and reads of the map for it."""
    BACKGROUND = 2
    """Writes, garbage collection, and what the translation layer does of its own accord."""


class Routines(NamedTuple):
    """Names of the three steps of a command in the cost tables."""

    queue: str
    issue: str
    complete: str


@dataclass(eq=False)
class Read:
    """``length`` raw bytes from ``column`` of a page; ``done`` is a SimPy event.

    Other operations wait in the same queues: programs, whose ``data`` goes to ``column``, and
    erases. ``is_plain`` is a read that is taken as it comes, without another try.
    """

    place: PhysicalPage
    column: int
    length: int
    cause: Cause
    request: int
    done: Any
    operation: ChannelOperation = ChannelOperation.READ
    data: bytes = b""
    is_plain: bool = False
    kind: FlashClass = FlashClass.BACKGROUND


class LunQueue:
    """Reads waiting for one LUN, and how many commands it has."""

    def __init__(self, way: "WayQueues") -> None:
        self.way = way
        self.waiting: deque[Read] = deque()
        self.outstanding = 0
        self.freed: Cause | None = None
        """What last made room: a completion, or the end of a hold."""

    @property
    def full(self) -> bool:
        return self.outstanding == COMMANDS_PER_LUN


class WayQueues:
    """LUNs that share a die; while it is ``held`` none of them gets a command."""

    def __init__(self, luns: int) -> None:
        self.luns = tuple(LunQueue(self) for _ in range(luns))
        self.held = False
        self.failed: list[Read] = []
        """Reads that wait for another read level."""
        self.hung: Read | None = None
        """A read whose LUN did not become ready: the way is to be reset."""

    @property
    def is_idle(self) -> bool:
        """No command is under way."""
        return not any(lun.outstanding for lun in self.luns)


class ChannelQueues:
    """LUNs of one channel; ``ready`` are those that have both a read waiting and room for it.

    They are a ring: the LUN that has been in it longest gets the next command. ``news`` is an event
    that comes when there is a ready one again.
    """

    routines = Routines("flash_queue", "flash_issue", "flash_complete")
    again: tuple[dict[str, int], dict[str, int]] = {"more": 0, "ring": 0}, {"full": 0, "ring": 0}
    """What issue and completion cost of a read whose LUN has no other, waiting or under way."""

    def __init__(self, env: Any, ways: int, luns: int) -> None:
        self.ways = tuple(WayQueues(luns) for _ in range(ways))
        self.luns = {
            (number, lun): queue
            for number, way in enumerate(self.ways)
            for lun, queue in enumerate(way.luns)
        }
        self.waiting = DepthLog(env)
        """Commands that have not been given to the channel."""
        self.ready: deque[LunQueue] = deque()
        self.news = env.event()

    def lun(self, place: PhysicalPage) -> LunQueue:
        """The queue of the LUN that ``place`` is in."""
        return self.luns[place.way, place.lun]

    @property
    def has_work(self) -> bool:
        """Whether :meth:`take` has something to take."""
        return bool(self.ready)

    def has_more(self, lun: LunQueue) -> bool:
        """Whether more is waiting for a LUN."""
        return bool(lun.waiting)

    def queue_work(self, place: PhysicalPage, kind: FlashClass) -> dict[str, int]:
        """What the cost of queueing depends on.

        ``first`` says that no read waits, ``ring`` that the LUN comes into the ring.
        """
        lun = self.lun(place)
        first = not lun.waiting
        return {"first": int(first), "ring": int(first and not lun.full)}

    def issue_work(self, lun: LunQueue) -> dict[str, int]:
        """The same of the issue, after its read was taken; ``more`` reads are waiting."""
        more = bool(lun.waiting)
        return {"more": int(more), "ring": int(more and not lun.full)}

    def completion_work(self, place: PhysicalPage) -> dict[str, int]:
        """The same of the completion, before its command is counted off."""
        lun = self.lun(place)
        return {"full": int(lun.full), "ring": int(lun.full and bool(lun.waiting))}

    def put(self, read: Read) -> bool:
        """Queue a read; says whether its LUN has room for one more command."""
        lun = self.lun(read.place)
        lun.waiting.append(read)
        self.waiting.change(1)
        if len(lun.waiting) == 1 and not lun.full:
            self._make_ready(lun)
        return not lun.full

    def take(self) -> tuple[Read, LunQueue]:
        """The oldest read of the LUN whose turn it is, counted as that LUN's command."""
        lun = self.ready.popleft()
        read = lun.waiting.popleft()
        self.waiting.change(-1)
        lun.outstanding += 1
        if lun.waiting and not lun.full:
            self._make_ready(lun)
        return read, lun

    def end(self, place: PhysicalPage, cause: Cause) -> None:
        """A command has ended: its LUN has room."""
        lun = self.lun(place)
        if lun.full and lun.waiting:
            self._make_ready(lun)
        lun.outstanding -= 1
        lun.freed = cause

    def hold(self, way: WayQueues) -> None:
        """Give the LUNs of ``way`` no command until :meth:`release`."""
        way.held = True
        self.ready = deque(lun for lun in self.ready if lun.way is not way)

    def release(self, way: WayQueues, cause: Cause) -> None:
        """``cause`` has ended what ``way`` was held for; it has no command under way."""
        way.held = False
        for lun in way.luns:
            lun.freed = cause
            if lun.waiting:
                self._make_ready(lun)

    def _make_ready(self, lun: LunQueue) -> None:
        if lun.way.held:
            return
        self.ready.append(lun)
        self._tell()

    def _tell(self) -> None:
        if not self.news.triggered:
            self.news.succeed()
