"""Which page leaves the page buffer: replacement policies.

A policy keeps the pages that have frames in an order of its own. Pages in use (a read into the
frame under way is a use, too) never leave; a page that nobody uses is idle. The counts are what a
step has to do for the policy, beside :mod:`firmware_model.buffer_work`'s; all take the state before
the step.

=============  ======================================================================
``held``       pages in use that are passed over in the search for one that may leave
``spared``     CLOCK: idle pages that are passed over, since they were used
``turn``       CLOCK: times that the hand comes behind the last frame, and goes to the first one
``second``     2Q: the queue that should give a page has no idle one; the other one does
``young``      2Q: the page that leaves was in A1in, and is remembered in A1out
``drop``       2Q: A1out is full, and forgets its oldest page
``drop_walk``  2Q: pages before that one in the hash chain that it leaves
``hot``        2Q: the page that is used is in Am
``ghost``      2Q: other pages of A1out's hash chain that are looked at
``recall``     2Q: the page is in A1out
``deep``       2Q: and not the first one of its hash chain
=============  ======================================================================
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar

from firmware_model.hash_chains import HashChains

__all__ = ["POLICIES", "Clock", "LeastRecentlyUsed", "Replacement", "TwoQueues"]

Counts = dict[str, int]


class Replacement(ABC):
    """Chooses among ``frames`` frames; pages come and go as the page buffer says.

    Of 2Q and CLOCK a page's use is its claim, of LRU its release.
    """

    claim_counts: ClassVar[tuple[str, ...]] = ()
    """What a claim's cost depends on beside what it does with every policy."""
    release_counts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, frames: int) -> None:
        self.frames = frames
        self.no_claim = dict.fromkeys(self.claim_counts, 0)
        """The counts of a claim that has nothing to do for the policy."""
        self.no_release = dict.fromkeys(self.release_counts, 0)

    @property
    @abstractmethod
    def has_idle(self) -> bool:
        """Whether some page may leave."""

    @abstractmethod
    def enter(self, page: int) -> None:
        """``page`` has got a fresh frame, and is used."""

    @abstractmethod
    def use(self, page: int) -> None:
        """``page`` was found in its frame, idle or used already."""

    @abstractmethod
    def rest(self, page: int) -> None:
        """``page`` is idle from now on."""

    @abstractmethod
    def leaver(self) -> int:
        """The page that the next :meth:`replace` takes; some page must be idle."""

    @abstractmethod
    def replace(self, page: int) -> int:
        """``page`` gets the frame of :meth:`leaver`, which is returned, and is used."""

    @abstractmethod
    def hand_over(self, leaver: int, page: int) -> None:
        """``page`` gets the frame of ``leaver``, the one page that is used no more."""

    def use_work(self, page: int) -> Counts:
        """Counts of :meth:`use`."""
        return {}

    def replace_work(self, page: int) -> Counts:
        """Counts of :meth:`replace`."""
        return {}

    def hand_over_work(self, leaver: int, page: int) -> Counts:
        """Counts of :meth:`hand_over`."""
        return {}


class LeastRecentlyUsed(Replacement):
    """The page leaves that has been idle longest."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.idle: OrderedDict[int, None] = OrderedDict()
        """Idle pages, the one that leaves next first."""

    @property
    def has_idle(self) -> bool:
        return bool(self.idle)

    def enter(self, page: int) -> None:
        pass

    def use(self, page: int) -> None:
        self.idle.pop(page, None)

    def rest(self, page: int) -> None:
        self.idle[page] = None

    def leaver(self) -> int:
        return next(iter(self.idle))

    def replace(self, page: int) -> int:
        leaver, _ = self.idle.popitem(last=False)
        return leaver

    def hand_over(self, leaver: int, page: int) -> None:
        pass


class Clock(Replacement):
    """A hand goes round the frames, in the order in which they were first taken.

    A used page gets a mark. The hand passes pages in use as they are; it takes marks off idle
    pages, and the first idle page without one leaves. The hand then stands behind its frame.
    """

    claim_counts = ("held", "spared", "turn")

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.pages: list[int] = []
        """By frame."""
        self.marked: set[int] = set()
        self.idle: set[int] = set()
        self.hand = 0

    @property
    def has_idle(self) -> bool:
        return bool(self.idle)

    def enter(self, page: int) -> None:
        self.pages.append(page)
        self.marked.add(page)

    def use(self, page: int) -> None:
        self.idle.discard(page)
        self.marked.add(page)

    def rest(self, page: int) -> None:
        self.idle.add(page)

    def leaver(self) -> int:
        return self.pages[self._search()[0]]

    def replace(self, page: int) -> int:
        frame, _, spared = self._search()
        leaver = self.pages[frame]
        self.marked.difference_update(spared)
        self.hand = (frame + 1) % self.frames
        self.idle.remove(leaver)
        self.pages[frame] = page
        self.marked.add(page)
        return leaver

    def hand_over(self, leaver: int, page: int) -> None:
        self.pages[self.pages.index(leaver)] = page
        self.marked.discard(leaver)
        self.marked.add(page)

    def replace_work(self, page: int) -> Counts:
        _, held, spared = self._search()
        passed = held + len(spared) + 1
        turns = (self.hand + passed) // self.frames
        return {"held": held, "spared": len(spared), "turn": turns}

    def _search(self) -> tuple[int, int, list[int]]:
        """The frame whose page leaves, how many in use are passed, and who loses its mark."""
        frame, held, spared = self.hand, 0, dict[int, None]()
        while True:
            page = self.pages[frame]
            if page not in self.idle:
                held += 1
            elif page in self.marked and page not in spared:
                spared[page] = None
            else:
                return frame, held, [*spared]
            frame = (frame + 1) % self.frames


class TwoQueues(Replacement):
    """2Q, the full version, with the sizes that its authors propose.

    Ref: T. Johnson and D. Shasha, "2Q: A Low Overhead High Performance Buffer Management
    Replacement Algorithm", VLDB 1994.

    A page enters A1in, a queue in which its uses change nothing. If it leaves from there its number
    is remembered in A1out, and if it is claimed while it is remembered it enters Am, which is in
    order of use. The oldest page of A1in leaves when there are more than ``young_limit`` in it, a
    quarter of the frames; else the one of Am that was used longest ago, and is forgotten. A1out
    remembers half as many pages as there are frames, and forgets the oldest first.

    Pages in use stay in their queue, and count there; the search passes over them, and goes on in
    the other queue if all of a queue are in use. A page that waits for a frame has entered none.
    """

    release_counts = ("young", "drop", "drop_walk", "ghost", "recall", "deep")
    claim_counts = ("hot", "held", "second", *release_counts)

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.young_limit = max(1, frames // 4)
        self.ghost_limit = max(1, frames // 2)
        self.young: OrderedDict[int, None] = OrderedDict()
        """A1in, the oldest first."""
        self.hot: OrderedDict[int, None] = OrderedDict()
        """Am, the one that was used longest ago first."""
        self.ghosts: OrderedDict[int, None] = OrderedDict()
        """A1out, the oldest first."""
        self.ghost_hashes = HashChains(self.ghost_limit)
        self.idle: set[int] = set()

    @property
    def has_idle(self) -> bool:
        return bool(self.idle)

    def enter(self, page: int) -> None:
        self.young[page] = None

    def use(self, page: int) -> None:
        self.idle.discard(page)
        if page in self.hot:
            self.hot.move_to_end(page)

    def rest(self, page: int) -> None:
        self.idle.add(page)

    def leaver(self) -> int:
        return self._search()[0]

    def replace(self, page: int) -> int:
        leaver = self.leaver()
        self.idle.remove(leaver)
        self.hand_over(leaver, page)
        return leaver

    def hand_over(self, leaver: int, page: int) -> None:
        recalled = page in self.ghosts
        if recalled:
            del self.ghosts[page]
            self.ghost_hashes.remove(page)
        if leaver in self.young:
            del self.young[leaver]
            self._remember(leaver)
        else:
            del self.hot[leaver]
        (self.hot if recalled else self.young)[page] = None

    def _remember(self, page: int) -> None:
        if len(self.ghosts) == self.ghost_limit:
            oldest, _ = self.ghosts.popitem(last=False)
            self.ghost_hashes.remove(oldest)
        self.ghosts[page] = None
        self.ghost_hashes.add(page)

    def use_work(self, page: int) -> Counts:
        return {"hot": int(page in self.hot)}

    def replace_work(self, page: int) -> Counts:
        leaver, held, second = self._search()
        return {"held": held, "second": second} | self.hand_over_work(leaver, page)

    def hand_over_work(self, leaver: int, page: int) -> Counts:
        chain = self.ghost_hashes.chain(page)
        recall, young = page in self.ghosts, leaver in self.young
        counts = {
            "ghost": chain.index(page) if recall else len(chain),
            "recall": int(recall),
            "deep": int(recall and chain[0] != page),
            "young": int(young),
        }
        if young and not recall and len(self.ghosts) == self.ghost_limit:
            oldest = next(iter(self.ghosts))
            counts |= {"drop": 1, "drop_walk": self.ghost_hashes.chain(oldest).index(oldest)}
        return counts

    def _search(self) -> tuple[int, int, int]:
        """The page that leaves, how many in use are passed, and whether in both queues."""
        queues: tuple[Iterable[int], ...] = (self.hot, self.young)
        if len(self.young) > self.young_limit:
            queues = (self.young, self.hot)
        held = 0
        for second, queue in enumerate(queues):
            for page in queue:
                if page in self.idle:
                    return page, held, second
                held += 1
        raise RuntimeError("Some page must be idle for one to leave")


POLICIES: Mapping[str, Callable[[int], Replacement]] = MappingProxyType(
    {"lru": LeastRecentlyUsed, "clock": Clock, "2q": TwoQueues}
)
"""By the names that platforms give them."""
