"""Which command a flash channel gets next, where classes of work and idle LUNs go first."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

from firmware_model.flash_queues import (
    ChannelQueues,
    FlashClass,
    LunQueue,
    Read,
    Routines,
    WayQueues,
)
from rtl.contract.channel import COMMANDS_PER_LUN
from rtl.contract.kernel import Cause
from rtl.contract.striping import PhysicalPage

__all__ = ["ORDERS", "PRIORITIES", "ChannelChoice", "FlashOrder", "channel_queues"]

ORDERS = ("round-robin", "idle-first")
PRIORITIES: dict[str, dict[FlashClass, int]] = {
    "equal": dict.fromkeys(FlashClass, 0),
    **{
        " ".join(kind.name.lower() for kind in kinds): {
            kind: rank for rank, kind in enumerate(kinds)
        }
        for kinds in permutations(FlashClass)
    },
}
"""Rank of each class, 0 first, by the name of the order."""
RANKS = len(FlashClass)


@dataclass(frozen=True, kw_only=True)
class FlashOrder:
    """Who goes first on a channel.

    Parameters
    ----------
    order : str
        One of :data:`ORDERS`: LUNs in turn, or among them those without a command first.
    priority : str
        One of :data:`PRIORITIES`.
    patience : int
        So many commands in a row go by ``order`` and ``priority``; the next one is that which has
        waited longest, as soon as its LUN has room.

    Raises
    ------
    ValueError
        If one of them is something else.
    """

    order: str = ORDERS[0]
    priority: str = "equal"
    patience: int = 8

    def __post_init__(self) -> None:
        for name, known in (("order", ORDERS), ("priority", PRIORITIES)):
            value = getattr(self, name)
            if value not in known:
                raise ValueError(f"flash_{name} must be one of {', '.join(known)}, not {value!r}")
        if self.patience < 1:
            raise ValueError(f"flash_patience must be positive, not {self.patience!r}")

    @property
    def is_plain(self) -> bool:
        """LUNs with room in turn, and nothing else: the ring of :class:`ChannelQueues`."""
        return self.order == ORDERS[0] and self.priority == "equal"


def channel_queues(env: Any, ways: int, luns: int, order: FlashOrder) -> ChannelQueues:
    """Queues of one channel that go by ``order``."""
    if order.is_plain:
        return ChannelQueues(env, ways, luns)
    return ChannelChoice(env, ways, luns, order)


class Chosen(NamedTuple):
    """A choice: the order, and how the firmware came to it."""

    read: Read
    is_due: bool
    """Enough commands went by rank: whoever has waited longest was looked at."""
    is_oldest: bool
    """And goes, as its LUN has room."""
    rank: int
    """Of the class; classes before it had nothing for a LUN with room."""


class ChannelChoice(ChannelQueues):
    """LUNs of one channel, each with a queue for every rank of work.

    Ranks go first to last. Of the LUNs that have work of a rank, and room, those without a command
    go first (``idle-first``), and among equals the next one in turn, from the last one served with
    work of that rank. Every so often (``patience``) the order that has waited longest goes first.

    That bounds every wait: an order with k older ones on its channel has at most
    (k + 1) x patience + k others before it, not counting commands that are given while the oldest
    order's LUN has no room. In one LUN, orders of one rank keep the order in which they came.
    """

    routines = Routines("flash_queue_choice", "flash_issue_choice", "flash_complete_choice")
    again = (
        {"due": 0, "oldest": 0, "rank": 0},
        {},
    )

    def __init__(self, env: Any, ways: int, luns: int, order: FlashOrder) -> None:
        super().__init__(env, ways, luns)
        self._order = order
        self._ranks = PRIORITIES[order.priority]
        self._places = tuple(self.luns.values())
        self._waiting: dict[LunQueue, tuple[deque[Read], ...]] = {
            lun: tuple(deque() for _ in range(RANKS)) for lun in self._places
        }
        self.oldest: dict[Read, None] = {}
        """All orders that wait, in the order in which they came."""
        self.turn = 0
        """Commands given since the oldest order was the next one."""
        self.next = [0] * RANKS
        """By rank, the LUN whose turn it is."""
        self._chosen: Chosen | None = None

    def queues(self, lun: LunQueue) -> Sequence[Sequence[Read]]:
        """What waits for a LUN, by rank."""
        return self._waiting[lun]

    @property
    def has_work(self) -> bool:
        return any(self._has_room(lun) and any(self._waiting[lun]) for lun in self._places)

    def queue_work(self, place: PhysicalPage, kind: FlashClass) -> dict[str, int]:
        return {"first": int(not self._waiting[self.lun(place)][self._ranks[kind]])}

    def issue_work(self, lun: LunQueue) -> dict[str, int]:
        chosen = self._chosen
        assert chosen is not None, "its order was taken"
        return {
            "due": int(chosen.is_due),
            "oldest": int(chosen.is_oldest),
            "rank": 0 if chosen.is_oldest else chosen.rank,
        }

    def completion_work(self, place: PhysicalPage) -> dict[str, int]:
        return {}

    def put(self, read: Read) -> bool:
        lun = self.lun(read.place)
        self._waiting[lun][self._ranks[read.kind]].append(read)
        self.oldest[read] = None
        self.waiting.change(1)
        if self._has_room(lun):
            self._tell()
        return not lun.full

    def take(self) -> tuple[Read, LunQueue]:
        chosen = self._choose()
        read = chosen.read
        lun = self.lun(read.place)
        self._waiting[lun][self._ranks[read.kind]].popleft()
        del self.oldest[read]
        self.waiting.change(-1)
        lun.outstanding += 1
        if not chosen.is_oldest:
            if not chosen.is_due:
                self.turn += 1
            self.next[chosen.rank] = (self._places.index(lun) + 1) % len(self._places)
        else:
            self.turn = 0
        self._chosen = chosen
        return read, lun

    def has_more(self, lun: LunQueue) -> bool:
        return any(self._waiting[lun])

    def end(self, place: PhysicalPage, cause: Cause) -> None:
        lun = self.lun(place)
        lun.outstanding -= 1
        lun.freed = cause
        if self._has_room(lun) and self.has_more(lun):
            self._tell()

    def hold(self, way: WayQueues) -> None:
        way.held = True

    def release(self, way: WayQueues, cause: Cause) -> None:
        way.held = False
        for lun in way.luns:
            lun.freed = cause
            if self.has_more(lun):
                self._tell()

    def _has_room(self, lun: LunQueue) -> bool:
        return lun.outstanding < COMMANDS_PER_LUN and not lun.way.held

    def _choose(self) -> Chosen:
        is_due = self.turn >= self._order.patience
        if is_due:
            oldest = next(iter(self.oldest))
            if self._has_room(self.lun(oldest.place)):
                return Chosen(oldest, True, True, self._ranks[oldest.kind])
        for rank in range(RANKS):
            ready = [
                number
                for number, lun in enumerate(self._places)
                if self._waiting[lun][rank] and self._has_room(lun)
            ]
            if not ready:
                continue
            if self._order.order == "idle-first":
                idle = [number for number in ready if not self._places[number].outstanding]
                ready = idle or ready
            later = [number for number in ready if number >= self.next[rank]]
            place = (later or ready)[0]
            read = self._waiting[self._places[place]][rank][0]
            return Chosen(read, is_due, False, rank)
        raise RuntimeError("A command must be taken only where one waits for a LUN with room")
