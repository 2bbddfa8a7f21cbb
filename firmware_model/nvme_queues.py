"""State of NVMe queues in the controller, and who is served next.

Ref: NVM Express Base Specification 1.4, sections 4.1 (queues), 4.6.1 (phase tag) and 4.13 (round
robin arbitration).
"""

from collections.abc import Iterator
from typing import Any

from firmware_model.depths import DepthLog
from firmware_model.slots import Slots
from rtl.contract.codec import byte_size, pack
from rtl.contract.kernel import Cause
from rtl.contract.nvme import CompletionEntry, Status, SubmissionEntry

__all__ = [
    "COMPLETION_BYTES",
    "SUBMISSION_BYTES",
    "CompletionQueue",
    "RoundRobin",
    "SubmissionQueue",
]

SUBMISSION_BYTES = byte_size(SubmissionEntry)
COMPLETION_BYTES = byte_size(CompletionEntry)


class CompletionQueue:
    """Where completions of one or more submission queues go.

    They are announced by interrupts with ``vector``, where that is not None.
    """

    def __init__(
        self, env: Any, number: int, address: int, entries: int, vector: int | None = 0
    ) -> None:
        self.number = number
        self.address = address
        self.entries = entries
        self.vector = vector
        self.post = 0
        """Place of the next entry."""
        self.phase = 1
        self.taken = 0
        """Head, as last rung by the host."""
        self.room = Slots(env, "completion queue", entries - 1)

    def post_entry(
        self, submission: "SubmissionQueue", cid: int, status: Status, result: int = 0
    ) -> tuple[int, bytes]:
        """The next entry and its address; the place behind it is next then."""
        address = self.address + COMPLETION_BYTES * self.post
        raw = pack(
            CompletionEntry,
            result=result,
            sqhd=submission.head,
            sqid=submission.number,
            cid=cid,
            status={"phase": self.phase, "status": int(status)},
        )
        self.post = (self.post + 1) % self.entries
        self.phase ^= not self.post
        return address, raw

    def ring(self, head: int, cause: Cause) -> bool:
        """The host has taken entries up to ``head``; whether that can be."""
        moved = (head - self.taken) % self.entries
        used = (self.post - self.taken) % self.entries
        if not 0 <= head < self.entries or moved > used:
            return False
        if moved:
            self.taken = head
            self.room.release(cause, moved)
        return True


class SubmissionQueue:
    """Commands of the host, and where their completions go."""

    def __init__(
        self, env: Any, number: int, address: int, entries: int, completions: CompletionQueue
    ) -> None:
        self.number = number
        self.address = address
        self.entries = entries
        self.completions = completions
        self.head = 0
        """Next entry to fetch."""
        self.tail = 0
        """As last rung by the host."""
        self.waits = DepthLog(env)
        """Entries that the host has put there and the device has not fetched."""
        self.rung_cause: Cause | None = None
        self.deleted = False

    @property
    def waiting(self) -> bool:
        """There is an entry to fetch."""
        return self.head != self.tail and not self.deleted

    @property
    def head_address(self) -> int:
        """Of the next entry."""
        return self.address + SUBMISSION_BYTES * self.head

    def fetched(self) -> None:
        """The entry at the head is taken."""
        self.head = (self.head + 1) % self.entries
        self._count()

    def ring(self, tail: int, cause: Cause) -> bool:
        """The host has put entries up to ``tail``; whether that can be."""
        if not 0 <= tail < self.entries:
            return False
        self.tail, self.rung_cause = tail, cause
        self._count()
        return True

    def delete(self) -> None:
        """Nothing is fetched from it any more."""
        self.deleted = True
        self._count()

    def _count(self) -> None:
        left = 0 if self.deleted else (self.tail - self.head) % self.entries
        self.waits.change(left - self.waits.depth)


class RoundRobin:
    """Chooses the queue whose entry is fetched next: in turn, up to ``burst`` of one in a row.

    ``burst`` is 0 where there is no limit.
    """

    def __init__(self, env: Any, burst: int = 1) -> None:
        self.burst = burst
        self._env = env
        self._queues: list[SubmissionQueue] = []
        self._turn = 0
        self._row = 0
        self._rung: Any = env.event()

    def __iter__(self) -> Iterator[SubmissionQueue]:
        return iter(self._queues)

    def add(self, queue: SubmissionQueue) -> None:
        """Serve one more queue, after all others."""
        self._queues.append(queue)

    def remove(self, queue: SubmissionQueue) -> None:
        """Serve it no more."""
        place = self._queues.index(queue)
        del self._queues[place]
        if place < self._turn:
            self._turn -= 1
        elif place == self._turn:
            self._row = 0

    def choose(self) -> SubmissionQueue | None:
        """The queue of the next fetch, or none if none has an entry."""
        if self._queues:
            self._turn %= len(self._queues)
            here = self._queues[self._turn]
            if not here.waiting or (self._row and self._row == self.burst):
                self._advance()
        if not self._queues or not self._queues[self._turn].waiting:
            return None
        self._row += 1
        return self._queues[self._turn]

    def _advance(self) -> None:
        """To the next queue that has an entry, this one last; where none has, stay."""
        self._row = 0
        size = len(self._queues)
        for step in range(1, size + 1):
            if self._queues[(self._turn + step) % size].waiting:
                self._turn = (self._turn + step) % size
                return

    def rung(self) -> None:
        """A tail was rung."""
        if not self._rung.triggered:
            self._rung.succeed()

    def wait(self) -> Any:
        """Event of the next ring."""
        self._rung = self._env.event()
        return self._rung
