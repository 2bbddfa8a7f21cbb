"""What descriptor rings must do, from their registers' description alone; free of any simulator."""

from dataclasses import dataclass, field

from rtl.contract.codec import pack
from rtl.contract.gather import GatherStatus, ResultHeader
from rtl.contract.gather_rings import (
    MORE,
    NO_INDEX,
    CardRegister,
    RingControl,
    RingRegister,
    ring_offset,
)

__all__ = ["Ring", "RingReference", "Run", "entry_of", "set_up", "words_of"]

OK, ABORTED = GatherStatus.OK, GatherStatus.ABORTED


@dataclass(frozen=True)
class Run:
    """``count`` descriptors of ``ring`` from DRAM ``address`` on."""

    ring: int
    address: int
    count: int


@dataclass
class Ring:
    """A ring of ``1 << log2`` descriptors; ``outcomes`` are (status, ids) by index."""

    base: int
    log2: int
    outcomes: dict = field(default_factory=dict)
    head: int = 0
    tail: int = 0
    landed: int = 0

    @property
    def size(self):
        return 1 << self.log2

    def outcome(self, index):
        return self.outcomes.get(index % self.size, (OK, 1))

    def runs_to(self, goal, quantum):
        """(index, count) of the runs from the head to ``goal``."""
        index = self.head
        while index != goal:
            end = goal if goal > index else self.size
            count = min(quantum, end - index)
            yield index, count
            index = (index + count) % self.size


def words_of(outcomes):
    """Result words of targets, (status, ids) each; ids are numbers."""
    words = []
    for status, ids in outcomes:
        count = ids if status == OK else 0
        words.append(int.from_bytes(pack(ResultHeader, count=count, status=status), "little"))
        words += range(1000, 1000 + count)
    return words


def entry_of(ring, number, outcomes, *, given_up=0, flags=0):
    """Fields of an entry about targets with ``outcomes``, then ``given_up`` left out."""
    statuses = [status for status, _ in outcomes] + [ABORTED] * given_up
    bad = [index for index, status in enumerate(statuses) if status != OK]
    worst = next((status for status in statuses if status != OK), OK)
    words = sum(1 + (ids if status == OK else 0) for status, ids in outcomes)
    return {
        "ring": number,
        "consumed": len(statuses),
        "words": words,
        "first_bad": bad[0] if bad else NO_INDEX,
        "landed": ring.landed,
        "head": ring.head,
        "status": ABORTED if ABORTED in statuses else worst,
        "flags": flags,
    }


class RingReference:
    """Runs and entries of doorbells that all came before the rings are served.

    ``room`` is the result words of a ring, of which nothing is taken; then a batch that does not
    fit stays where it is. ``target_words`` is the most that a descriptor can give.
    """

    def __init__(self, rings, *, quantum, room, target_words):
        self.rings = rings
        self.quantum = quantum
        self.room = room
        self.target_words = target_words

    def serve(self):
        """(runs, entries), each in order."""
        last, runs, entries, batches = -1, [], [], {}
        for number, ring in enumerate(self.rings):
            batches[number] = [*ring.runs_to(ring.tail, self.quantum)], []
        while True:
            turn = [*range(last + 1, len(self.rings)), *range(last + 1)]
            able = [n for n in turn if batches[n][0] and self._fits(n, batches[n][0][0][1])]
            if not able:
                return runs, entries
            last = number = able[0]
            ring, (left, done) = self.rings[number], batches[number]
            index, count = left.pop(0)
            runs.append(Run(number, ring.base + 32 * index, count))
            here = [ring.outcome(index + n) for n in range(count)]
            done += here
            ring.head = (index + count) % ring.size
            ring.landed += len(words_of(here))
            stuck = left and not self._fits(number, left[0][1])
            if not left or stuck:
                flags = MORE if stuck else 0
                entries.append(entry_of(ring, number, done, flags=flags))
                done.clear()

    def _fits(self, number, count):
        return self.rings[number].landed + count * self.target_words <= self.room


def set_up(rings, *, completions, completion_log2, enable=0xFFFF_FFFF):
    """Register writes (offset, value) that make ``rings`` ready, short of CONTROL's bit 0."""
    writes = [
        (CardRegister.COMPLETION_BASE, completions & 0xFFFF_FFFF),
        (CardRegister.COMPLETION_BASE_HIGH, completions >> 32),
        (CardRegister.COMPLETION_SIZE, completion_log2),
        (CardRegister.INTERRUPT_ENABLE, enable),
    ]
    for number, ring in enumerate(rings):
        writes += [
            (ring_offset(number, RingRegister.BASE), ring.base & 0xFFFF_FFFF),
            (ring_offset(number, RingRegister.BASE_HIGH), ring.base >> 32),
            (ring_offset(number, RingRegister.SIZE), ring.log2),
            (ring_offset(number, RingRegister.CONTROL), RingControl.ENABLE),
        ]
    return writes
